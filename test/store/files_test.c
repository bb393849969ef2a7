/* Which files may be used, and tokens. */
#include "store/files.h"

#include <criterion/criterion.h>

#include <string.h>

#include "store/folder.h"

/* In the test's folder: given/a.npy, given/inner/, other/b.npy, given-too/, and links. */
static void make_folders(void)
{
    test_files();
    const char *const folders[] = {"given", "given/inner", "other", "given-too"};
    for (int n = 0; n < 4; n++)
        cr_assert_eq(mkdir(test_path(folders[n]), 0700), 0);
    test_write_file("given/a.npy", "a", 1);
    test_write_file("other/b.npy", "b", 1);
    cr_assert_eq(symlink("../other/b.npy", test_path("given/out.npy")), 0);
    cr_assert_eq(symlink("a.npy", test_path("given/in.npy")), 0);
    cr_assert_eq(symlink("../other/none.npy", test_path("given/dangling.npy")), 0);
    cr_assert_eq(symlink("../other", test_path("given/away")), 0);
    cr_assert_eq(symlink("given", test_path("link")), 0);
}

static void remove_folders(void)
{
    const char *const names[] = {"given/a.npy", "given/out.npy", "given/in.npy", "given/dangling.npy",
                                 "given/away",  "given/inner",   "given",        "other/b.npy",
                                 "other",       "given-too"};
    for (size_t n = 0; n < sizeof names / sizeof names[0]; n++)
        cr_expect_eq(remove(test_path(names[n])), 0, "%s", names[n]);
    test_files_end();
}

Test(files, may_be_used_inside_the_given_folder, .init = make_folders, .fini = remove_folders)
{
    static const struct {
        const char *root, *path, *words; /* words NULL: it may be used */
    } rows[] = {
        {"given", "given/a.npy", NULL},
        {"given", "given/new.npy", NULL},
        {"given", "given/inner/new.npy", NULL},
        {"given", "given/in.npy", NULL},
        {"given", "given/inner/../a.npy", NULL},
        {"given", "link/a.npy", NULL}, /* the same folder by another name */
        {"link", "given/a.npy", NULL},
        {"given/", "given/a.npy", NULL},
        {"given", "other/b.npy", "the folder this worker was given"},
        {"given", "other/new.npy", "lies outside"},
        {"given", "given/out.npy", "lies outside"},
        {"given", "given/dangling.npy", "nothing can be found there"},
        {"given", "given/away/b.npy", "lies outside"},
        {"given", "given/away/new.npy", "lies outside"},
        {"given", "given/../other/b.npy", "lies outside"},
        {"given", "given/../new.npy", "lies outside"},
        {"given", "given-too/new.npy", "lies outside"}, /* begins with the same letters */
        {"given", "given/none/new.npy", "nothing can be found there: No such file"},
        {"given", "given/none/..", "nothing can be found there"},
        {"none", "given/a.npy", "of this worker's files is not there: No such file"},
    };
    for (size_t n = 0; n < sizeof rows / sizeof rows[0]; n++) {
        dcl_status status = dcli_files_allowed(test_path(rows[n].root), test_path(rows[n].path));
        cr_expect_eq(status, rows[n].words == NULL ? DCL_OK : DCL_ERR_FILE, "%s: %s", rows[n].path, dcl_error());
        cr_expect(rows[n].words == NULL || strstr(dcl_error(), rows[n].words), "%s: %s", rows[n].path, dcl_error());
    }
    cr_expect_eq(dcli_files_allowed("/", test_path("other/b.npy")), DCL_OK, "%s", dcl_error());
    cr_expect_eq(dcli_files_allowed("/", "/new.npy"), DCL_OK, "%s", dcl_error());
    cr_expect_eq(dcli_files_allowed(NULL, test_path("given/a.npy")), DCL_ERR_FILE);
    cr_expect(strstr(dcl_error(), "this worker may use no files; start it with --files DIR"), "%s", dcl_error());
    cr_expect_eq(dcli_files_allowed("/", "a.npy"), DCL_ERR_FILE);
    cr_expect(strstr(dcl_error(), "it is relative; expected an absolute path"), "%s", dcl_error());
}

Test(files, are_seen_where_the_token_is, .init = make_folders, .fini = remove_folders)
{
    char path[DCLI_FILES_PATH], other[DCLI_FILES_PATH], token[DCLI_TOKEN_LENGTH + 1], second[DCLI_TOKEN_LENGTH + 1];
    char given[128];
    snprintf(given, sizeof given, "%s/given", test_folder);
    cr_assert(dcli_files_make_token(test_path("given/a.npy"), path, token));
    cr_assert(dcli_files_make_token(test_path("given/a.npy"), other, second));
    cr_expect_str_neq(path, other);
    cr_expect_str_neq(token, second);
    cr_expect_eq(strlen(token), 32);
    cr_expect_eq(strspn(token, "0123456789abcdef"), 32);
    char begin[128];
    snprintf(begin, sizeof begin, "%s/given/.dcl-%ld-", test_folder, (long)getpid());
    cr_expect_eq(strncmp(path, begin, strlen(begin)), 0, "%s", path);
    struct stat stat;
    cr_expect(lstat(path, &stat) == 0 && (stat.st_mode & 07777) == 0600 && stat.st_size == 32);

    cr_expect(dcli_files_sees(given, path, token));
    cr_expect(dcli_files_sees("/", path, token));
    cr_expect(dcli_files_sees(given, other, second));
    cr_expect_not(dcli_files_sees(given, path, second), "another token");
    cr_expect_not(dcli_files_sees(given, path, ""), "no token");
    token[31] = '\0';
    cr_expect_not(dcli_files_sees(given, path, token), "half a token");
    cr_expect_not(dcli_files_sees(NULL, other, second), "a worker without files");
    cr_expect_not(dcli_files_sees(test_path("other"), other, second), "a worker with another folder");
    cr_expect_eq(rename(path, test_path("given/inner/moved")), 0);
    cr_expect_not(dcli_files_sees(given, path, token), "it is gone");
    cr_expect_eq(unlink(test_path("given/inner/moved")), 0);
    cr_expect_eq(unlink(other), 0);
}

/* Nobody finds out by such questions what is in other files. */
Test(files, are_opened_for_tokens_only, .init = make_folders, .fini = remove_folders)
{
    static const char token[] = "0123456789abcdef0123456789abcdef";
    const char *const names[] = {"given/t", "given/.dcl-1-1.token", "given/.dcl-1-2.token"};
    char given[128];
    snprintf(given, sizeof given, "%s/given", test_folder);
    test_write_file("given/t", token, 32);
    cr_expect_not(dcli_files_sees(given, test_path("given/t"), token), "a file of another name");
    cr_assert_eq(symlink("t", test_path(names[1])), 0);
    cr_expect_not(dcli_files_sees(given, test_path(names[1]), token), "a link");
    test_write_file(names[2], "0123456789abcdef0123456789abcdef\n", 33);
    cr_expect_not(dcli_files_sees(given, test_path(names[2]), token), "a longer file");
    test_write_file(names[2], token, 32);
    cr_expect(dcli_files_sees(given, test_path(names[2]), token));
    for (int n = 0; n < 3; n++)
        cr_expect_eq(unlink(test_path(names[n])), 0);
    cr_assert_eq(mkfifo(test_path(names[1]), 0600), 0);
    cr_expect_not(dcli_files_sees(given, test_path(names[1]), token), "a pipe"); /* nor waits for its other end */
    cr_expect_eq(unlink(test_path(names[1])), 0);
}

Test(files, have_no_token_where_none_can_be_made, .init = make_folders, .fini = remove_folders)
{
    char path[DCLI_FILES_PATH], token[DCLI_TOKEN_LENGTH + 1], long_path[DCLI_FILES_PATH];
    cr_expect_not(dcli_files_make_token(test_path("none/a.npy"), path, token));
    cr_expect_not(dcli_files_make_token("/proc/self/fd/0", path, token));
    memset(long_path, '/', sizeof long_path - 1);
    long_path[sizeof long_path - 1] = '\0';
    cr_expect_not(dcli_files_make_token(long_path, path, token));
}
