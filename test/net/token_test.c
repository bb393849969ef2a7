/* net/token_test.c - tokens, and the files and folders that they are in. */
#include "net/place.h"
#include "net/refused.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/error.h"
#include "net/token.h"

static const char sample[] = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
static const char sample_line[] = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff\n";

enum { ANOTHER_USER = 65534 };

TestSuite(token, .init = place_make, .fini = place_remove);

Test(token, are_64_digits_and_never_the_same)
{
    char one[DCLI_TOKEN], other[DCLI_TOKEN];
    cr_assert_eq(dcli_token_make(one), DCL_OK);
    cr_assert_eq(dcli_token_make(other), DCL_OK);
    cr_expect_eq(strlen(one), 64);
    cr_expect_eq(strspn(one, "0123456789abcdef"), 64);
    cr_expect_str_neq(one, other);
}

struct equal_case {
    char what[32], given[8], expected[8];
    bool equal;
};

ParameterizedTestParameters(token_text, compares)
{
    static struct equal_case cases[] = {
        {"the same", "abc", "abc", true},
        {"another at the end", "abd", "abc", false},
        {"another at the start", "xbc", "abc", false},
        {"shorter", "ab", "abc", false},
        {"longer", "abcc", "abc", false},
        {"twice", "abcabc", "abc", false},
        {"nothing given", "", "abc", false},
        {"nothing expected", "a", "", false},
        {"nothing at all", "", "", true},
    };
    return cr_make_param_array(struct equal_case, cases, sizeof cases / sizeof cases[0]);
}

ParameterizedTest(struct equal_case *c, token_text, compares)
{
    cr_expect_eq(dcli_token_equal(c->given, c->expected), c->equal, "%s", c->what);
}

struct path_case {
    char address[48], name[64];
};

ParameterizedTestParameters(token_text, file_names)
{
    static struct path_case cases[] = {
        {"tcp://127.0.0.1:7700", "/tcp-127.0.0.1-7700.token"},
        {"tcp://localhost:7700", "/tcp-127.0.0.1-7700.token"},
        {"tcp://localhost5:7700", "/tcp-localhost5-7700.token"},
        {"tcp://[::1]:7700", "/tcp-1-7700.token"},
        {"../../etc/passwd", "/etc-passwd.token"},
        {"", "/.token"},
    };
    return cr_make_param_array(struct path_case, cases, sizeof cases / sizeof cases[0]);
}

ParameterizedTest(struct path_case *c, token_text, file_names)
{
    char path[256], folder[64];
    snprintf(folder, sizeof folder, "/tmp/dcl-%u", geteuid());
    cr_assert_eq(dcli_token_path(c->address, path, sizeof path), DCL_OK, "%s", dcl_error());
    size_t length = strlen(path), end = strlen(c->name);
    cr_expect(length > end && strcmp(path + length - end, c->name) == 0, "%s: %s", c->address, path);
    cr_expect(strncmp(path, folder, strlen(folder)) == 0 || strncmp(path, "/run/user/", 10) == 0, "%s", path);
}

Test(token_text, paths_that_are_too_long_are_refused)
{
    char address[400], path[64];
    memset(address, 'a', sizeof address);
    address[sizeof address - 1] = '\0';
    EXPECT_REFUSED(dcli_token_path(address, path, sizeof path), DCL_ERR_INVALID, "expected less than 64");
    char longer[256];
    cr_expect_eq(dcli_token_path(address, longer, sizeof longer), DCL_OK, "a long address is cut");
}

/* ---- writing ---- */

Test(token, is_written_where_only_its_user_can_read_it)
{
    umask(0);
    cr_assert_eq(dcli_token_write(at("made/a.token"), sample), DCL_OK, "%s", dcl_error());
    cr_expect_eq(mode_of(at("made")), 0700);
    cr_expect_eq(mode_of(at("made/a.token")), 0600);
    umask(0777); /* nor does a umask get in the way */
    cr_assert_eq(dcli_token_write(at("other/a.token"), sample), DCL_OK, "%s", dcl_error());
    cr_expect_eq(mode_of(at("other")), 0700);
    cr_expect_eq(mode_of(at("other/a.token")), 0600);
    umask(022);
    char found[DCLI_TOKEN];
    cr_assert_eq(dcli_token_read(at("made/a.token"), found), DCL_OK, "%s", dcl_error());
    cr_expect_str_eq(found, sample);
    cr_expect_eq(entries_of(at("made")), 1);
}

Test(token, replaces_an_old_one)
{
    char token[DCLI_TOKEN], found[DCLI_TOKEN];
    cr_assert_eq(dcli_token_write(at("a.token"), sample), DCL_OK, "%s", dcl_error());
    cr_assert_eq(dcli_token_make(token), DCL_OK);
    cr_assert_eq(dcli_token_write(at("a.token"), token), DCL_OK, "%s", dcl_error());
    cr_assert_eq(dcli_token_read(at("a.token"), found), DCL_OK, "%s", dcl_error());
    cr_expect_str_eq(found, token);
    cr_expect_eq(entries_of(place), 1, "something is left beside it");
}

Test(token, is_not_written_to_a_folder_that_others_can_use)
{
    chmod(place, 0755);
    EXPECT_REFUSED(dcli_token_write(at("a.token"), sample), DCL_ERR_FILE, "has mode 0755");
    cr_expect(strstr(dcl_error(), "chmod 700") != NULL, "%s", dcl_error());
    chmod(place, 0710);
    EXPECT_REFUSED(dcli_token_write(at("a.token"), sample), DCL_ERR_FILE, "has mode 0710");
    cr_expect_eq(entries_of(place), 0);
}

Test(token, is_not_written_through_a_link_or_over_something_else)
{
    cr_assert_eq(mkdir(at("real"), 0700), 0);
    cr_assert_eq(symlink("real", at("link")), 0);
    EXPECT_REFUSED(dcli_token_write(at("link/a.token"), sample), DCL_ERR_FILE, "no symbolic link");
    cr_assert_eq(symlink("/nowhere", at("real/b.token")), 0);
    EXPECT_REFUSED(dcli_token_write(at("real/b.token"), sample), DCL_ERR_FILE, "not a regular file");
    cr_assert_eq(mkdir(at("real/c.token"), 0700), 0);
    EXPECT_REFUSED(dcli_token_write(at("real/c.token"), sample), DCL_ERR_FILE, "not a regular file");
    EXPECT_REFUSED(dcli_token_write(at("none/below/a.token"), sample), DCL_ERR_FILE, "make it first");
    write_text(at("file"), 0600, "");
    EXPECT_REFUSED(dcli_token_write(at("file/a.token"), sample), DCL_ERR_FILE, "expected a folder");
    cr_expect_eq(entries_of(at("real")), 2);
}

Test(token, is_not_written_to_a_folder_of_another_user)
{
    if (geteuid() != 0)
        cr_skip("giving a folder to another user takes root");
    cr_assert_eq(chown(place, ANOTHER_USER, (gid_t)-1), 0);
    EXPECT_REFUSED(dcli_token_write(at("a.token"), sample), DCL_ERR_FILE, "belongs to user 65534; expected user 0");
    cr_assert_eq(chown(place, 0, (gid_t)-1), 0);
    write_text(at("a.token"), 0600, sample_line);
    cr_assert_eq(chown(at("a.token"), ANOTHER_USER, (gid_t)-1), 0);
    EXPECT_REFUSED(dcli_token_write(at("a.token"), sample), DCL_ERR_FILE, "another user's file");
}

/* ---- reading ---- */

struct read_case {
    char what[32], text[96];
    mode_t mode;
    char words[40]; /* "": it is read */
};

ParameterizedTestParameters(token, reading)
{
    static struct read_case cases[] = {
        {"as written", "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff\n", 0600, ""},
        {"without a line's end", "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff", 0600, ""},
        {"read-only", "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff\n", 0400, ""},
        {"for others", "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff\n", 0604, "has mode 0604"},
        {"for the group", "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff\n", 0640, "chmod 600"},
        {"empty", "", 0600, "holds no token"},
        {"a digit less", "0112233445566778899aabbccddeeff00112233445566778899aabbccddeeff\n", 0600, "holds no token"},
        {"a digit more", "000112233445566778899aabbccddeeff00112233445566778899aabbccddeeff\n", 0600, "holds no token"},
        {"no digits", "x0112233445566778899aabbccddeeff00112233445566778899aabbccddeeff\n", 0600, "holds no token"},
        {"two lines", "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff\n\n", 0600, "holds no token"},
    };
    return cr_make_param_array(struct read_case, cases, sizeof cases / sizeof cases[0]);
}

ParameterizedTest(struct read_case *c, token, reading)
{
    char found[DCLI_TOKEN] = "untouched";
    write_text(at("a.token"), c->mode, c->text);
    if (c->words[0] == '\0') {
        cr_expect_eq(dcli_token_read(at("a.token"), found), DCL_OK, "%s: %s", c->what, dcl_error());
        cr_expect_str_eq(found, sample, "%s", c->what);
    } else {
        EXPECT_REFUSED(dcli_token_read(at("a.token"), found), DCL_ERR_FILE, c->words);
        cr_expect_str_eq(found, "untouched", "%s", c->what);
    }
}

Test(token, is_read_from_regular_files_of_its_user_only)
{
    char found[DCLI_TOKEN];
    EXPECT_REFUSED(dcli_token_read(at("none"), found), DCL_ERR_FILE, "expected the token of a running worker");
    write_text(at("real"), 0600, sample_line);
    cr_assert_eq(symlink("real", at("link")), 0);
    EXPECT_REFUSED(dcli_token_read(at("link"), found), DCL_ERR_FILE, "is a symbolic link");
    cr_assert_eq(mkfifo(at("pipe"), 0600), 0);
    EXPECT_REFUSED(dcli_token_read(at("pipe"), found), DCL_ERR_FILE, "not a regular file"); /* and does not wait */
    EXPECT_REFUSED(dcli_token_read(place, found), DCL_ERR_FILE, "is a folder");
    EXPECT_REFUSED(dcli_token_read("/dev/zero", found), DCL_ERR_FILE, "not a regular file");
    char *large = malloc(10000);
    memset(large, 'a', 9999);
    large[9999] = '\0';
    write_text(at("large"), 0600, large);
    free(large);
    EXPECT_REFUSED(dcli_token_read(at("large"), found), DCL_ERR_FILE, "longer than 4095 bytes");
    if (geteuid() != 0)
        cr_skip("giving a file to another user takes root");
    cr_assert_eq(chown(at("real"), ANOTHER_USER, (gid_t)-1), 0);
    EXPECT_REFUSED(dcli_token_read(at("real"), found), DCL_ERR_FILE, "belongs to user 65534; expected user 0");
}

Test(token, another_user_cannot_read_it)
{
    if (geteuid() != 0)
        cr_skip("becoming another user takes root");
    cr_assert_eq(dcli_token_write(at("a.token"), sample), DCL_OK, "%s", dcl_error());
    chmod(place, 0755); /* as if only the file's mode stood between them */
    cr_assert_eq(seteuid(ANOTHER_USER), 0);
    char found[DCLI_TOKEN] = "";
    EXPECT_REFUSED(dcli_token_read(at("a.token"), found), DCL_ERR_FILE, "Permission denied");
    cr_assert_eq(seteuid(0), 0);
}

/* ---- finding and removing ---- */

Test(token, is_found_by_the_address)
{
    char address[64], path[256], found[DCLI_TOKEN], token[DCLI_TOKEN];
    snprintf(address, sizeof address, "tcp://test.%d:7700", (int)getpid());
    EXPECT_REFUSED(dcli_token_find(address, found), DCL_ERR_FILE, "there is no token for tcp://test");
    cr_assert_eq(dcli_token_path(address, path, sizeof path), DCL_OK, "%s", dcl_error());
    cr_assert_eq(dcli_token_make(token), DCL_OK);
    cr_assert_eq(dcli_token_write(path, token), DCL_OK, "%s", dcl_error());
    cr_expect_eq(dcli_token_find(address, found), DCL_OK, "%s", dcl_error());
    cr_expect_str_eq(found, token);
    dcli_token_remove(path, token);
    cr_expect(!is_there(path));
}

Test(token, is_removed_only_by_the_one_who_wrote_it)
{
    char token[DCLI_TOKEN];
    cr_assert_eq(dcli_token_make(token), DCL_OK);
    cr_assert_eq(dcli_token_write(at("a.token"), token), DCL_OK, "%s", dcl_error());
    dcli_token_remove(at("a.token"), sample);
    cr_expect(is_there(at("a.token")), "a newer listener's token was removed");
    dcli_token_remove(at("a.token"), token);
    cr_expect(!is_there(at("a.token")));
    dcli_token_remove(at("a.token"), token);
}

/* ---- who listens ---- */

/** @return a listener's socket, at any port. */
static int listen_at(const char *host, int *port_out)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST}, *found;
    cr_assert_eq(getaddrinfo(host, "0", &hints, &found), 0);
    int listener = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0), off = 0;
    if (found->ai_family == AF_INET6)
        setsockopt(listener, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    struct sockaddr_storage address;
    socklen_t length = sizeof address;
    if (bind(listener, found->ai_addr, found->ai_addrlen) != 0 || listen(listener, 1) != 0 ||
        getsockname(listener, (struct sockaddr *)(void *)&address, &length) != 0)
        cr_skip("%s is not to be had here", host);
    freeaddrinfo(found);
    *port_out = ntohs(((struct sockaddr_in *)(void *)&address)->sin_port); /* at the same place in both families */
    return listener;
}

struct listener_case {
    char what[32], listens[24], called[24];
    bool others;
    char words[64]; /* "": it is ours */
};

ParameterizedTestParameters(token_listener, whose)
{
    static struct listener_case cases[] = {
        {"ours", "127.0.0.1", "127.0.0.1", false, ""},
        {"ours at all addresses", "0.0.0.0", "127.0.0.1", false, ""},
        {"ours at all of both families", "::", "127.0.0.1", false, ""},
        {"ours, IPv6", "::1", "[::1]", false, ""},
        {"at another address", "127.0.0.2", "127.0.0.1", false, "connection refused"},
        {"of the other family", "127.0.0.1", "[::1]", false, "connection refused"},
        {"another's", "127.0.0.1", "127.0.0.1", true, "is user 65534's; expected a worker of this user, 0"},
        {"another's at all addresses", "0.0.0.0", "127.0.0.1", true, "is user 65534's"},
        {"another's at all of both", "::", "127.0.0.1", true, "is user 65534's"},
        {"another's, IPv6", "::1", "[::1]", true, "is user 65534's"},
        {"a name", "127.0.0.1", "localhost", false, "is no number"},
    };
    return cr_make_param_array(struct listener_case, cases, sizeof cases / sizeof cases[0]);
}

ParameterizedTest(struct listener_case *c, token_listener, whose)
{
    int port;
    if (c->others && geteuid() != 0)
        cr_skip("becoming another user takes root");
    if (c->others)
        cr_assert_eq(seteuid(ANOTHER_USER), 0);
    int listener = listen_at(c->listens, &port);
    if (c->others)
        cr_assert_eq(seteuid(0), 0);
    if (c->words[0] == '\0')
        cr_expect_eq(dcli_token_listener_is_ours(c->called, port), DCL_OK, "%s: %s", c->what, dcl_error());
    else
        EXPECT_REFUSED(dcli_token_listener_is_ours(c->called, port), DCL_ERR_NETWORK, c->words);
    close(listener);
}

Test(token_listener, roots_serves_every_user)
{
    int port;
    if (geteuid() != 0)
        cr_skip("becoming another user takes root");
    int listener = listen_at("127.0.0.1", &port);
    cr_assert_eq(seteuid(ANOTHER_USER), 0);
    cr_expect_eq(dcli_token_listener_is_ours("127.0.0.1", port), DCL_OK, "%s", dcl_error());
    cr_assert_eq(seteuid(0), 0);
    close(listener);
    EXPECT_REFUSED(dcli_token_listener_is_ours("127.0.0.1", port), DCL_ERR_NETWORK, "nobody listens there");
}
