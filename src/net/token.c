/* net/token.c - random tokens in files that only their user can read. */
#include "net/token.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "net/guarded.h"
#include "net/socket_owner.h"

dcl_status dcli_token_make(char token_out[DCLI_TOKEN]) { return dcli_random_hex((DCLI_TOKEN - 1) / 2, token_out); }

bool dcli_token_equal(const char *given, const char *expected)
{
    size_t length = strlen(expected);
    size_t at = 0; /* stops at the end of `expected`; the rest of `given` is compared with its '\0', so the time does
                      not depend on the contents */
    volatile unsigned char differ = 0;
    for (; *given != '\0'; given++) {
        differ |= (unsigned char)*given ^ (unsigned char)expected[at];
        at += at < length;
    }
    return differ == 0 && expected[at] == '\0';
}

/* ---- where ---- */

/** Make a file name of an address: tcp://localhost:7700 -> tcp-127.0.0.1-7700; unusual characters become one '-'. */
static void name_of(const char *address, char *name_out, size_t bytes)
{
    static const char local[] = "://localhost:", number[] = "-127.0.0.1-";
    size_t length = 0;
    while (*address != '\0' && length + sizeof number < bytes) {
        if (strncmp(address, local, sizeof local - 1) == 0) {
            memcpy(name_out + length, number, sizeof number - 1);
            length += sizeof number - 1;
            address += sizeof local - 1;
            continue;
        }
        bool plain = isalnum((unsigned char)*address) || (*address == '.' && length > 0) || *address == '_';
        if (plain || (length > 0 && name_out[length - 1] != '-'))
            name_out[length++] = plain ? *address : '-';
        address++;
    }
    name_out[length] = '\0';
}

/** The folder that the system provides for a logged-in user. @return whether it exists and is this user's. */
static bool login_folder(char *folder_out, size_t bytes)
{
    struct stat found;
    char around[64];
    snprintf(around, sizeof around, "/run/user/%u", geteuid());
    snprintf(folder_out, bytes, "%s/dcl", around);
    return lstat(around, &found) == 0 && S_ISDIR(found.st_mode) && found.st_uid == geteuid() &&
           (found.st_mode & 077) == 0;
}

static void common_folder(char *folder_out, size_t bytes) { snprintf(folder_out, bytes, "/tmp/dcl-%u", geteuid()); }

static dcl_status join(const char *folder, const char *address, char *path_out, size_t bytes)
{
    char name[160];
    name_of(address, name, sizeof name);
    int length = snprintf(path_out, bytes, "%s/%s.token", folder, name);
    if (length > 0 && (size_t)length < bytes)
        return DCL_OK;
    return DCLI_FAIL(DCL_ERR_INVALID,
                     "the token's path for %s has %d characters; expected less than %zu; use a shorter "
                     "address",
                     address, length, bytes);
}

dcl_status dcli_token_path(const char *address, char *path_out, size_t bytes)
{
    char folder[80];
    if (!login_folder(folder, sizeof folder))
        common_folder(folder, sizeof folder);
    return join(folder, address, path_out, bytes);
}

/* ---- writing ---- */

/** Check the file that rename() would replace. */
static dcl_status check_old(int folder, const char *name, const char *path)
{
    struct stat found;
    if (fstatat(folder, name, &found, AT_SYMLINK_NOFOLLOW) != 0)
        return DCL_OK; /* there is no old token, or rename() will say what is wrong */
    if (S_ISREG(found.st_mode) && found.st_uid == geteuid())
        return DCL_OK;
    return DCLI_FAIL(DCL_ERR_FILE, "\"%s\" is %s; expected a token of this user or nothing; remove it", path,
                     S_ISREG(found.st_mode) ? "another user's file" : "not a regular file");
}

/** Write the token to a temporary file and rename it, so that readers see the whole old or the whole new one. */
static dcl_status replace(int folder, const char *name, const char *path, const char *token)
{
    char random[17], beside[64], text[DCLI_TOKEN + 1];
    dcl_status status = check_old(folder, name, path);
    if (status == DCL_OK)
        status = dcli_random_hex(8, random);
    if (status != DCL_OK)
        return status;
    snprintf(beside, sizeof beside, ".%s.new", random);
    snprintf(text, sizeof text, "%s\n", token);
    status = dcli_guarded_make(folder, beside, path, 0600, text);
    explicit_bzero(text, sizeof text);
    if (status == DCL_OK && renameat(folder, beside, folder, name) != 0) {
        status =
            DCLI_FAIL(DCL_ERR_FILE, "\"%s\" cannot be put in place: %s; expected a file's name", path, strerror(errno));
        unlinkat(folder, beside, 0);
    }
    return status;
}

dcl_status dcli_token_write(const char *path, const char token[DCLI_TOKEN])
{
    char for_folder[DCLI_GUARDED_PATH], for_name[DCLI_GUARDED_PATH];
    if (strlen(path) >= sizeof for_folder)
        return DCLI_FAIL(DCL_ERR_FILE, "the token's path has %zu characters; expected less than %zu; use a shorter one",
                         strlen(path), sizeof for_folder);
    strcpy(for_folder, path); /* dirname() and basename() modify their argument */
    strcpy(for_name, path);
    int folder;
    dcl_status status = dcli_guarded_folder_make(dirname(for_folder), DCLI_PRIVATE_HERE, &folder);
    if (status != DCL_OK)
        return status;
    status = replace(folder, basename(for_name), path, token);
    close(folder);
    return status;
}

/* ---- reading ---- */

static bool is_token(const char *text)
{
    size_t digits = strspn(text, "0123456789abcdef");
    return digits == DCLI_TOKEN - 1 && (strcmp(text + digits, "\n") == 0 || text[digits] == '\0');
}

dcl_status dcli_token_read(const char *path, char token_out[DCLI_TOKEN])
{
    char text[DCLI_GUARDED_BYTES];
    dcl_status status = dcli_guarded_read(
        path, DCLI_PRIVATE_HERE, "expected the token of a running worker; start it as this user, or use keys", text);
    if (status != DCL_OK)
        return status;
    if (is_token(text)) {
        memcpy(token_out, text, DCLI_TOKEN - 1);
        token_out[DCLI_TOKEN - 1] = '\0';
    } else {
        status = DCLI_FAIL(DCL_ERR_FILE,
                           "\"%s\" holds no token; expected one line of %d hexadecimal digits; start the "
                           "worker anew",
                           path, DCLI_TOKEN - 1);
    }
    explicit_bzero(text, sizeof text);
    return status;
}

dcl_status dcli_token_find(const char *address, char token_out[DCLI_TOKEN])
{
    char folder[2][80], path[2][DCLI_GUARDED_PATH];
    int places = 0;
    if (login_folder(folder[0], sizeof folder[0]))
        places++;
    common_folder(folder[places++], sizeof folder[0]);
    for (int i = 0; i < places; i++) {
        dcl_status status = join(folder[i], address, path[i], sizeof path[i]);
        if (status != DCL_OK)
            return status;
        if (access(path[i], F_OK) == 0)
            return dcli_token_read(path[i], token_out);
    }
    return DCLI_FAIL(DCL_ERR_FILE,
                     "there is no token for %s, neither \"%s\"%s%s%s; expected that of a running worker; "
                     "start it as this user on this machine, or use keys",
                     address, path[0], places > 1 ? " nor \"" : "", places > 1 ? path[1] : "", places > 1 ? "\"" : "");
}

/* ---- the owner of a socket ---- */

/** Find the listener at an address, by the quick way first. @return as dcli_owner_of_listener(). */
static int find_listener(const struct in6_addr *called, int port, unsigned *user_out)
{
    int found = dcli_owner_of_listener(DCLI_OWNER_DIAG, called, port, user_out);
    return found > 0 ? found : dcli_owner_of_listener(DCLI_OWNER_TABLE, called, port, user_out);
}

static dcl_status refuse_foreign(const char *host, int port, unsigned user)
{
    if (user == 0 || user == geteuid())
        return DCL_OK;
    return DCLI_FAIL(
        DCL_ERR_NETWORK,
        "the listener at tcp://%s:%d is user %u's; expected a worker of this user, %u, or of root: to others no "
        "token is shown; start the worker as this user, or use keys",
        host, port, user, geteuid());
}

dcl_status dcli_token_listener_is_ours(const char *host, int port)
{
    struct in6_addr called;
    unsigned user;
    if (!dcli_owner_parse(host, &called))
        return DCLI_FAIL(DCL_ERR_NETWORK, "host \"%s\" is no number; expected an address of loopback", host);
    int found = find_listener(&called, port, &user);
    if (found < 0)
        return DCLI_FAIL(
            DCL_ERR_NETWORK,
            "whose listener is at tcp://%s:%d cannot be told: /proc/net/tcp: %s; expected it to be readable; "
            "mount /proc, or use keys",
            host, port, strerror(errno));
    if (found == 0)
        return DCLI_FAIL(
            DCL_ERR_NETWORK,
            "the worker at tcp://%s:%d: connection refused (ECONNREFUSED): nobody listens there; start it, or "
            "correct the address",
            host, port);
    return refuse_foreign(host, port, user);
}

dcl_status dcli_token_listener_is_not_foreign(const char *host, int port)
{
    struct in6_addr called;
    unsigned user;
    bool found = dcli_owner_parse(host, &called) && find_listener(&called, port, &user) > 0;
    return found ? refuse_foreign(host, port, user) : DCL_OK;
}

dcl_status dcli_token_connection_is_ours(int fd)
{
    unsigned user = 0;
    int found = dcli_owner_of_other_end(DCLI_OWNER_DIAG, fd, &user);
    if (found <= 0)
        found = dcli_owner_of_other_end(DCLI_OWNER_TABLE, fd, &user);
    if (found <= 0 || user == 0 || user == geteuid())
        return DCL_OK; /* if there is no other end, the connection has ended, so nothing can be sent over it */
    struct sockaddr_in6 other = {0};
    socklen_t length = sizeof other;
    (void)getpeername(fd, (struct sockaddr *)&other, &length); /* the port is at the same place in both families */
    return DCLI_FAIL(
        DCL_ERR_NETWORK,
        "the other end of the connection to port %d is user %u's; expected a process of this user, %u, or of "
        "root: others are told nothing without keys; find out who takes the ports of workers here, or use keys",
        ntohs(other.sin6_port), user, geteuid());
}

/* ---- removing ---- */

void dcli_token_remove(const char *path, const char token[DCLI_TOKEN])
{
    char found[DCLI_TOKEN];
    if (access(path, F_OK) != 0 || dcli_token_read(path, found) != DCL_OK)
        return;
    if (dcli_token_equal(found, token))
        unlink(path);
    explicit_bzero(found, sizeof found);
}
