/* net/keys_test.c - key pairs, and the folders that they are in. */
#include "net/place.h"
#include "net/refused.h"

#include <zmq.h>

#include "base/alloc.h"
#include "base/error.h"
#include "net/keys.h"

#define HEX "00112233445566778899aabbccddeeff00112233445566778899AABBCCDDEEFF"
#define HEX_LOWER "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

enum { ANOTHER_USER = 65534 };

TestSuite(keys, .init = place_make, .fini = place_remove);
TestSuite(keys_files, .init = place_make, .fini = place_remove);

/** Make a key folder. */
static const char *make_folder(dcli_keypair *pair_out)
{
    static char folder[512];
    snprintf(folder, sizeof folder, "%s", at("keys"));
    cr_assert_eq(dcli_keys_make(folder, pair_out), DCL_OK, "%s", dcl_error());
    return folder;
}

static void read_text(const char *path, char text_out[512])
{
    FILE *file = fopen(path, "r");
    cr_assert_not_null(file, "%s", path);
    size_t length = fread(text_out, 1, 511, file);
    text_out[length] = '\0';
    fclose(file);
}

/* ---- text ---- */

struct parse_case {
    char what[32], text[80];
    bool fits;
};

ParameterizedTestParameters(keys_text, parses)
{
    static struct parse_case cases[] = {
        {"both cases", HEX, true},
        {"lower case", HEX_LOWER, true},
        {"a digit more", HEX "0", false},
        {"a digit less", "0112233445566778899aabbccddeeff00112233445566778899aabbccddeeff", false},
        {"nothing", "", false},
        {"a blank behind", HEX " ", false},
        {"a blank before", " " HEX, false},
        {"no digit", "g0112233445566778899aabbccddeeff00112233445566778899aabbccddeeff", false},
        {"0x before", "0x" HEX, false},
    };
    return cr_make_param_array(struct parse_case, cases, sizeof cases / sizeof cases[0]);
}

ParameterizedTest(struct parse_case *c, keys_text, parses)
{
    char key[DCLI_KEY_Z85], hex[DCLI_KEY_HEX];
    if (!c->fits) {
        EXPECT_REFUSED(dcli_key_parse(c->text, key), DCL_ERR_INVALID, "expected 64 hexadecimal digits");
        return;
    }
    cr_assert_eq(dcli_key_parse(c->text, key), DCL_OK, "%s: %s", c->what, dcl_error());
    dcli_key_text(key, hex);
    cr_expect_str_eq(hex, HEX_LOWER, "%s", c->what);
}

Test(keys_text, z85_is_that_of_the_specification)
{
    /* RFC 32/Z85: 86 4F D2 6F B5 59 F7 5B is "HelloWorld"; four times make a key */
    char key[DCLI_KEY_Z85];
    cr_assert_eq(dcli_key_parse("864fd26fb559f75b864fd26fb559f75b864fd26fb559f75b864fd26fb559f75b", key), DCL_OK);
    cr_expect_str_eq(key, "HelloWorldHelloWorldHelloWorldHelloWorld");
}

Test(keys_text, pairs_are_new_and_belong_together)
{
    dcli_keypair one, other;
    char derived[DCLI_KEY_Z85];
    cr_assert_eq(dcli_keypair_make(&one), DCL_OK, "%s", dcl_error());
    cr_assert_eq(dcli_keypair_make(&other), DCL_OK, "%s", dcl_error());
    cr_expect_str_neq(one.secret_key, other.secret_key);
    cr_assert_eq(zmq_curve_public(derived, one.secret_key), 0);
    cr_expect_str_eq(derived, one.public_key);
    static const dcli_keypair wiped;
    dcli_keypair_wipe(&one);
    cr_expect_eq(memcmp(&one, &wiped, sizeof wiped), 0);
}

/* ---- making and reading the own pair ---- */

Test(keys, are_made_with_their_modes_whatever_the_umask)
{
    static const mode_t masks[] = {0, 022, 0777};
    for (int i = 0; i < 3; i++) {
        char folder[512], path[1024];
        snprintf(folder, sizeof folder, "%s/keys%d", place, i);
        umask(masks[i]);
        dcl_status status = dcli_keys_make(folder, NULL);
        umask(022);
        cr_assert_eq(status, DCL_OK, "%s", dcl_error());
        cr_expect_eq(mode_of(folder), 0700);
        snprintf(path, sizeof path, "%s/own.secret", folder);
        cr_expect_eq(mode_of(path), 0600, "umask %03o", masks[i]);
        snprintf(path, sizeof path, "%s/own.public", folder);
        cr_expect_eq(mode_of(path), 0644, "umask %03o", masks[i]);
        snprintf(path, sizeof path, "%s/allowed", folder);
        cr_expect_eq(mode_of(path), 0700, "umask %03o", masks[i]);
    }
}

Test(keys, are_read_as_they_were_made)
{
    dcli_keypair made, found;
    const char *folder = make_folder(&made);
    cr_assert_eq(dcli_keys_read(folder, &found), DCL_OK, "%s", dcl_error());
    cr_expect_eq(memcmp(&made, &found, sizeof made), 0);
    char text[512], hex[DCLI_KEY_HEX], expected[128], key[DCLI_KEY_Z85];
    read_text(at("keys/own.public"), text);
    dcli_key_text(made.public_key, hex);
    snprintf(expected, sizeof expected, "dcl public %s\n", hex);
    cr_expect_str_eq(text, expected);
    cr_assert_eq(dcli_key_read(at("keys/own.public"), key), DCL_OK, "%s", dcl_error());
    cr_expect_str_eq(key, made.public_key);
}

Test(keys, are_never_overwritten)
{
    dcli_keypair made, found;
    const char *folder = make_folder(&made);
    EXPECT_REFUSED(dcli_keys_make(folder, NULL), DCL_ERR_FILE, "own.public\" is there already");
    cr_assert_eq(unlink(at("keys/own.public")), 0);
    EXPECT_REFUSED(dcli_keys_make(folder, NULL), DCL_ERR_FILE, "own.secret\" is there already");
    cr_expect(!is_there(at("keys/own.public")), "half a pair is left");
    cr_expect_eq(dcli_keys_read(folder, &found), DCL_ERR_FILE);
    cr_assert_eq(unlink(at("keys/own.secret")), 0);
    cr_assert_eq(symlink("/nowhere/file", at("keys/own.secret")), 0);
    EXPECT_REFUSED(dcli_keys_make(folder, NULL), DCL_ERR_FILE, "own.secret\" is there already");
}

Test(keys, need_a_folder_that_only_its_owner_changes)
{
    dcli_keypair pair;
    cr_assert_eq(mkdir(at("open"), 0700), 0);
    cr_assert_eq(chmod(at("open"), 0770), 0);
    EXPECT_REFUSED(dcli_keys_make(at("open"), NULL), DCL_ERR_FILE, "has mode 0770, so others may write to it");
    EXPECT_REFUSED(dcli_keys_make(at("none/keys"), NULL), DCL_ERR_FILE, "make it first");
    EXPECT_REFUSED(dcli_keys_read(at("none"), &pair), DCL_ERR_FILE, "No such file");
    write_text(at("file"), 0600, "");
    EXPECT_REFUSED(dcli_keys_make(at("file"), NULL), DCL_ERR_FILE, "expected a folder");
    cr_assert_eq(mkdir(at("readable"), 0755), 0);
    cr_expect_eq(dcli_keys_make(at("readable"), NULL), DCL_OK, "%s", dcl_error());
    cr_expect_eq(dcli_keys_read(at("readable"), &pair), DCL_OK, "%s", dcl_error());
    chmod(at("readable"), 0777);
    EXPECT_REFUSED(dcli_keys_read(at("readable"), &pair), DCL_ERR_FILE, "has mode 0777");
}

struct mode_case {
    char file[16];
    mode_t mode;
    char words[40]; /* "": it is read */
};

ParameterizedTestParameters(keys_files, modes)
{
    static struct mode_case cases[] = {
        {"own.secret", 0600, ""},
        {"own.secret", 0400, ""},
        {"own.secret", 0640, "chmod 600"},
        {"own.secret", 0604, "has mode 0604"},
        {"own.secret", 0620, "has mode 0620"},
        {"own.public", 0600, ""},
        {"own.public", 0644, ""},
        {"own.public", 0664, "chmod go-w"},
        {"own.public", 0646, "has mode 0646"},
    };
    return cr_make_param_array(struct mode_case, cases, sizeof cases / sizeof cases[0]);
}

ParameterizedTest(struct mode_case *c, keys_files, modes)
{
    dcli_keypair pair;
    const char *folder = make_folder(NULL);
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, c->file);
    cr_assert_eq(chmod(path, c->mode), 0);
    if (c->words[0] == '\0')
        cr_expect_eq(dcli_keys_read(folder, &pair), DCL_OK, "%s %03o: %s", c->file, c->mode, dcl_error());
    else
        EXPECT_REFUSED(dcli_keys_read(folder, &pair), DCL_ERR_FILE, c->words);
}

Test(keys, of_another_user_are_refused)
{
    if (geteuid() != 0)
        cr_skip("giving a file to another user takes root");
    dcli_keypair pair;
    const char *folder = make_folder(NULL);
    cr_assert_eq(chown(at("keys/own.secret"), ANOTHER_USER, (gid_t)-1), 0);
    EXPECT_REFUSED(dcli_keys_read(folder, &pair), DCL_ERR_FILE, "own.secret\" belongs to user 65534; expected user 0");
    cr_assert_eq(chown(at("keys/own.secret"), 0, (gid_t)-1), 0);
    cr_assert_eq(chown(folder, ANOTHER_USER, (gid_t)-1), 0);
    EXPECT_REFUSED(dcli_keys_read(folder, &pair), DCL_ERR_FILE, "keys\" belongs to user 65534");
    EXPECT_REFUSED(dcli_keys_make(folder, NULL), DCL_ERR_FILE, "keys\" belongs to user 65534");
}

Test(keys, that_are_not_of_one_pair_are_refused)
{
    dcli_keypair pair = {"untouched", ""};
    const char *folder = make_folder(NULL);
    cr_assert_eq(dcli_keys_make(at("other"), NULL), DCL_OK, "%s", dcl_error());
    cr_assert_eq(rename(at("other/own.public"), at("keys/own.public")), 0);
    EXPECT_REFUSED(dcli_keys_read(folder, &pair), DCL_ERR_FILE, "are not of one pair");
    cr_expect_str_eq(pair.public_key, "untouched");
}

/* ---- the format ---- */

struct format_case {
    char what[32], text[256];
    char words[48]; /* "": it is read */
};

ParameterizedTestParameters(keys_files, format)
{
    static struct format_case cases[] = {
        {"one line", "dcl public " HEX "\n", ""},
        {"no line's end", "dcl public " HEX, ""},
        {"comments around", "# node 7\n\n  # of Ada\ndcl public " HEX "  \r\n# end\n", ""},
        {"empty", "", ":1: the file ends without a key"},
        {"comments only", "# a\n# b\n", ":3: the file ends without a key"},
        {"a secret key", "dcl secret " HEX "\n", ":1: the line is malformed"},
        {"no digits", "# a\ndcl public xyz\n", ":2: the line is malformed"},
        {"a digit more", "dcl public 0" HEX "\n", ":1: the line is malformed"},
        {"another word", "ssh public " HEX "\n", ":1: the line is malformed"},
        {"more on the line", "dcl public " HEX " ada\n", ":1: the line is malformed"},
        {"two keys", "dcl public " HEX "\ndcl public " HEX "\n", ":2: the line is a second one"},
    };
    return cr_make_param_array(struct format_case, cases, sizeof cases / sizeof cases[0]);
}

ParameterizedTest(struct format_case *c, keys_files, format)
{
    char key[DCLI_KEY_Z85] = "untouched", hex[DCLI_KEY_HEX];
    write_text(at("a.public"), 0644, c->text);
    if (c->words[0] == '\0') {
        cr_assert_eq(dcli_key_read(at("a.public"), key), DCL_OK, "%s: %s", c->what, dcl_error());
        dcli_key_text(key, hex);
        cr_expect_str_eq(hex, HEX_LOWER, "%s", c->what);
    } else {
        EXPECT_REFUSED(dcli_key_read(at("a.public"), key), DCL_ERR_FILE, c->words);
        cr_expect(strstr(dcl_error(), "00112233") == NULL, "%s: the key is in the message", c->what);
        cr_expect_str_eq(key, "untouched", "%s", c->what);
    }
}

/* ---- keys of others ---- */

Test(keys, allowed_are_those_in_the_folder_by_name)
{
    const char *folder = make_folder(NULL);
    write_text(at("keys/allowed/b.public"), 0644, "dcl public " HEX "\n");
    write_text(at("keys/allowed/a.public"), 0644,
               "dcl public 864fd26fb559f75b864fd26fb559f75b864fd26fb559f75b864fd26fb559f75b\n");
    write_text(at("keys/allowed/README"), 0644, "not a key\n");
    write_text(at("keys/allowed/.public"), 0644, "not a key\n");
    write_text(at("keys/allowed/.b.public"), 0644, "not a key\n");
    dcli_key_list list = {0};
    cr_assert_eq(dcli_keys_allowed(folder, &list), DCL_OK, "%s", dcl_error());
    cr_assert_eq(list.count, 2);
    cr_expect_str_eq(list.key[0], "HelloWorldHelloWorldHelloWorldHelloWorld");
    char hex[DCLI_KEY_HEX];
    dcli_key_text(list.key[1], hex);
    cr_expect_str_eq(hex, HEX_LOWER);
    dcli_key_list_free(&list);
    cr_expect(list.key == NULL && list.count == 0);
}

Test(keys, allowed_are_none_when_one_of_them_is_wrong)
{
    const char *folder = make_folder(NULL);
    dcli_key_list list = {0};
    cr_expect_eq(dcli_keys_allowed(folder, &list), DCL_OK, "%s", dcl_error());
    cr_expect_eq(list.count, 0);
    write_text(at("keys/allowed/a.public"), 0644, "dcl public " HEX "\n");
    write_text(at("keys/allowed/b.public"), 0644, "dcl public\n");
    EXPECT_REFUSED(dcli_keys_allowed(folder, &list), DCL_ERR_FILE, "allowed/b.public:1: the line is malformed");
    cr_expect(list.key == NULL && list.count == 0);
    write_text(at("keys/allowed/b.public"), 0666, "dcl public " HEX "\n");
    EXPECT_REFUSED(dcli_keys_allowed(folder, &list), DCL_ERR_FILE, "b.public\" has mode 0666");
    cr_assert_eq(unlink(at("keys/allowed/b.public")), 0);
    chmod(at("keys/allowed"), 0775);
    EXPECT_REFUSED(dcli_keys_allowed(folder, &list), DCL_ERR_FILE, "allowed\" has mode 0775");
    chmod(at("keys/allowed"), 0755);
    chmod(folder, 0777);
    EXPECT_REFUSED(dcli_keys_allowed(folder, &list), DCL_ERR_FILE, "keys\" has mode 0777");
    chmod(folder, 0755);
    dcli_alloc_fail_after(1);
    cr_expect_eq(dcli_keys_allowed(folder, &list), DCL_ERR_NOMEM);
    dcli_alloc_fail_after(0);
    cr_expect_eq(dcli_keys_allowed(folder, &list), DCL_OK, "%s", dcl_error());
    cr_expect_eq(list.count, 1);
    dcli_key_list_free(&list);
    cr_expect_eq(dcli_keys_allowed(at("none"), &list), DCL_OK, "nobody is allowed: no error");
}

Test(keys, allowed_are_so_many_at_most)
{
    const char *folder = make_folder(NULL);
    for (int i = 0; i <= DCLI_MOST_ALLOWED; i++) {
        char name[64];
        snprintf(name, sizeof name, "keys/allowed/%d.public", i);
        write_text(at(name), 0644, "dcl public " HEX "\n");
    }
    dcli_key_list list = {0};
    EXPECT_REFUSED(dcli_keys_allowed(folder, &list), DCL_ERR_FILE, "more than 4096 keys");
    cr_assert_eq(unlink(at("keys/allowed/17.public")), 0);
    cr_expect_eq(dcli_keys_allowed(folder, &list), DCL_OK, "%s", dcl_error());
    cr_expect_eq(list.count, DCLI_MOST_ALLOWED);
    dcli_key_list_free(&list);
}

Test(keys, of_a_host_are_found_by_its_name)
{
    const char *folder = make_folder(NULL);
    char key[DCLI_KEY_Z85], name[400];
    write_text(at("keys/allowed/node7.public"), 0644,
               "dcl public 864fd26fb559f75b864fd26fb559f75b864fd26fb559f75b864fd26fb559f75b\n");
    cr_assert_eq(dcli_keys_find(folder, "node7", key), DCL_OK, "%s", dcl_error());
    cr_expect_str_eq(key, "HelloWorldHelloWorldHelloWorldHelloWorld");
    EXPECT_REFUSED(dcli_keys_find(folder, "node8", key), DCL_ERR_FILE,
                   "expected the public key of node8; copy its file");
    EXPECT_REFUSED(dcli_keys_find(folder, "", key), DCL_ERR_INVALID, "is no host's name");
    EXPECT_REFUSED(dcli_keys_find(folder, "../own", key), DCL_ERR_INVALID, "is no host's name");
    EXPECT_REFUSED(dcli_keys_find(folder, "a/b", key), DCL_ERR_INVALID, "is no host's name");
    memset(name, 'a', sizeof name);
    name[sizeof name - 1] = '\0';
    EXPECT_REFUSED(dcli_keys_find(folder, name, key), DCL_ERR_INVALID, "is no host's name");
    chmod(at("keys/allowed"), 0777);
    EXPECT_REFUSED(dcli_keys_find(folder, "node7", key), DCL_ERR_FILE, "has mode 0777");
}
