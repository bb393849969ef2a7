/* Which files may be used, and tokens. */
#include "store/files.h"

#include <criterion/criterion.h>

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/sysmacros.h>
#include <time.h>

#include "store/folder.h"
#include "support/mount.h"

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

/* What is opened there; '-': nothing. */
static char opened(const dcli_files *files, const char *path, const dcli_file_id *id)
{
    char first = '?';
    int fd = dcli_files_open(files, path, false, id);
    if (fd < 0)
        return '-';
    cr_expect_eq(pread(fd, &first, 1, 0), 1);
    close(fd);
    return first;
}

/* A folder whose files may be used, with openat2() or as on kernels without. */
static dcli_files hold(const char *name, bool walks)
{
    dcli_files files = {.folder = -1};
    cr_assert_eq(dcli_files_hold(name, &files), DCL_OK, "%s", dcl_error());
    files.walks |= walks;
    return files;
}

static const bool ways[] = {false, true};

Test(files, may_be_used_inside_the_given_folder, .init = make_folders, .fini = remove_folders)
{
    static const struct {
        const char *root, *path, *words[2]; /* words NULL: it may be used. Of openat2(), of the walk */
    } rows[] = {
        {"given", "given/a.npy", {NULL, NULL}},
        {"given", "given//./a.npy", {NULL, NULL}},
        {"given", "given/in.npy", {NULL, "is a link; expected a .npy file"}},
        {"given", "given/inner/../a.npy", {NULL, "which this kernel cannot follow"}},
        {"given", "link/a.npy", {NULL, NULL}}, /* the same folder by another name */
        {"given", "other/../given/a.npy", {NULL, NULL}},
        {"link", "given/a.npy", {NULL, NULL}},
        {"given/", "given/a.npy", {NULL, NULL}},
        {"given", "given/none.npy", {"nothing can be found there: No such file", "nothing can be found there"}},
        {"given", "other/b.npy", {"the folder this worker was given; use", "the folder this worker was given; use"}},
        {"given", "given/out.npy", {"lies outside", "is a link"}},
        {"given", "given/absolute.npy", {"by a link that leads out of it or is absolute", "is a link"}},
        {"given", "given/dangling.npy", {"lies outside", "is a link"}},
        {"given", "given/away/b.npy", {"lies outside", "lies outside"}},
        {"given", "given/../other/b.npy", {"lies outside", "lies outside"}},
        {"given", "given/inner/../../other/b.npy", {"lies outside", "lies outside"}},
        {"given", "given-too/b.npy", {"lies outside", "lies outside"}}, /* begins with the same letters */
        {"given", "given/none/..", {"nothing can be found there", "nothing can be found there"}},
        {"given", "given", {"lies outside", "lies outside"}},
        {"given", "given/inner", {"is a directory; expected", "is a directory; expected"}},
        {"given", "given/a.npy/b", {"nothing can be found there: Not a dir", "lies outside"}},
    };
    cr_assert_eq(symlink(test_path("given/a.npy"), test_path("given/absolute.npy")), 0);
    for (int w = 0; w < 2; w++)
        for (size_t n = 0; n < sizeof rows / sizeof rows[0]; n++) {
            dcli_files files = hold(test_path(rows[n].root), ways[w]);
            char found = opened(&files, test_path(rows[n].path), NULL);
            const char *words = rows[n].words[w];
            cr_expect_eq(found, words == NULL ? 'a' : '-', "%s: %c: %s", rows[n].path, found, dcl_error());
            cr_expect(words == NULL || strstr(dcl_error(), words), "%s: %s", rows[n].path, dcl_error());
            dcli_files_release(&files);
        }
    cr_assert_eq(unlink(test_path("given/absolute.npy")), 0);
    cr_expect_eq(opened(&dcli_files_everywhere, test_path("other/b.npy"), NULL), 'b', "%s", dcl_error());
    cr_expect_eq(opened(NULL, test_path("given/a.npy"), NULL), '-');
    cr_expect(strstr(dcl_error(), "this worker may use no files; start it with --files DIR"), "%s", dcl_error());
    dcli_files files = hold(test_path("given"), false);
    cr_expect_eq(opened(&files, "a.npy", NULL), '-');
    cr_expect(strstr(dcl_error(), "it is relative; expected an absolute path"), "%s", dcl_error());
    dcli_files_release(&files);
    cr_expect_eq(dcli_files_hold(test_path("none"), &files), DCL_ERR_FILE);
    cr_expect(strstr(dcl_error(), "no folder that can be used (No such file"), "%s", dcl_error());
    cr_expect_eq(dcli_files_hold(test_path("given/a.npy"), &files), DCL_ERR_FILE);
    cr_expect(strstr(dcl_error(), "not a folder"), "%s", dcl_error());
}

/* ---- while others change names ------------------------------------------------------------------------------------ */

/* Two names that a thread exchanges until told to stop. */
struct swap {
    const char *first, *second;
    atomic_bool stop;
    atomic_int times;
};

static void *keep_swapping(void *argument)
{
    struct swap *swap = argument;
    while (!atomic_load(&swap->stop)) {
        cr_assert_eq(renameat2(AT_FDCWD, swap->first, AT_FDCWD, swap->second, RENAME_EXCHANGE), 0);
        atomic_fetch_add(&swap->times, 1);
    }
    return NULL;
}

/* Open again and again what is exchanged meanwhile. */
static void race(const char *path, const char *first, const char *second, bool walks)
{
    enum { ROUNDS = 4000, MOST_SECONDS = 20 };
    struct swap swap = {.first = first, .second = second};
    int found[256] = {0};
    pthread_t thread;
    dcli_files files = hold(test_path("given"), walks);
    time_t end = time(NULL) + MOST_SECONDS;
    cr_assert_eq(pthread_create(&thread, NULL, keep_swapping, &swap), 0);
    for (int round = 0; (round < ROUNDS || found['a'] == 0 || found['-'] == 0) && time(NULL) < end; round++)
        found[(unsigned char)opened(&files, path, NULL)]++;
    atomic_store(&swap.stop, true);
    pthread_join(thread, NULL);
    dcli_files_release(&files);
    cr_expect_eq(found['b'], 0, "%s: a file outside was opened %d times", path, found['b']);
    cr_expect(found['a'] > 0 && found['-'] > 0, "%s: opened %d times, refused %d times in %d exchanges", path,
              found['a'], found['-'], atomic_load(&swap.times));
}

static const char *const swapped[] = {"given/swap.npy", "given/swap", "given/folder", "given/folder.away"};

static void make_swapped(void)
{
    make_folders();
    test_write_file(swapped[0], "a", 1);
    cr_assert_eq(symlink("../other/b.npy", test_path(swapped[1])), 0);
    cr_assert_eq(mkdir(test_path(swapped[2]), 0700), 0);
    test_write_file("given/folder/b.npy", "a", 1);
    cr_assert_eq(symlink("../other", test_path(swapped[3])), 0);
}

static void remove_swapped(void)
{
    unlink(test_path("given/folder/b.npy"));
    unlink(test_path("given/folder.away/b.npy"));
    for (int n = 0; n < 4; n++)
        remove(test_path(swapped[n]));
    if (access(test_path("other/b.npy"), F_OK) != 0)
        test_write_file("other/b.npy", "b", 1);
    remove_folders();
}

Test(files, that_become_links_are_not_followed_out, .init = make_swapped, .fini = remove_swapped, .timeout = 120)
{
    char path[4][320];
    for (int n = 0; n < 4; n++)
        snprintf(path[n], sizeof path[n], "%s", test_path(swapped[n]));
    for (int w = 0; w < 2; w++)
        race(path[0], path[0], path[1], ways[w]);
}

Test(files, in_folders_that_become_links_are_not_followed_out, .init = make_swapped, .fini = remove_swapped,
     .timeout = 120)
{
    char path[4][320], inside[336];
    for (int n = 0; n < 4; n++)
        snprintf(path[n], sizeof path[n], "%s", test_path(swapped[n]));
    snprintf(inside, sizeof inside, "%s/b.npy", path[2]);
    for (int w = 0; w < 2; w++)
        race(inside, path[2], path[3], ways[w]);
}

Test(files, are_those_of_the_folder_that_was_given_whatever_it_is_called_later, .init = make_folders,
     .fini = remove_folders)
{
    for (int w = 0; w < 2; w++) {
        dcli_files files = hold(test_path("given"), ways[w]);
        cr_assert_eq(rename(test_path("given"), test_path("moved")), 0);
        cr_assert_eq(symlink("other", test_path("given")), 0);
        cr_expect_eq(opened(&files, test_path("given/b.npy"), NULL), '-');
        cr_expect(strstr(dcl_error(), "lies outside"), "%s", dcl_error());
        cr_expect_eq(opened(&files, test_path("moved/a.npy"), NULL), 'a', "%s", dcl_error());
        cr_assert_eq(unlink(test_path("given")), 0);
        cr_assert_eq(rename(test_path("moved"), test_path("given")), 0);
        dcli_files_release(&files);
    }
}

/* ---- which file --------------------------------------------------------------------------------------------------- */

static dcli_file_id id_of(const char *path)
{
    struct stat about;
    cr_assert_eq(lstat(path, &about), 0, "%s", path);
    return (dcli_file_id){.device = about.st_dev, .inode = about.st_ino};
}

Test(files, are_the_ones_that_were_named, .init = make_folders, .fini = remove_folders)
{
    for (int w = 0; w < 2; w++) {
        dcli_files files = hold(test_path("given"), ways[w]);
        dcli_file_id id = id_of(test_path("given/a.npy")), none = {.device = id.device};
        cr_expect_eq(opened(&files, test_path("given/a.npy"), &id), 'a', "%s", dcl_error());
        cr_expect_eq(opened(&files, test_path("given/a.npy"), &none), '-');
        cr_expect_eq(opened(&files, test_path("given/in.npy"), &id), '-', "by a link");
        cr_expect(strstr(dcl_error(), "is a link; expected"), "%s", dcl_error());
        cr_assert_eq(rename(test_path("given/a.npy"), test_path("given/old.npy")), 0);
        cr_assert_eq(link(test_path("other/b.npy"), test_path("given/a.npy")), 0);
        cr_expect_eq(dcli_files_open(&files, test_path("given/a.npy"), true, &id), -1,
                     "a file from outside took its name");
        cr_expect(strstr(dcl_error(), "is another file here than in the program, or was replaced"), "%s", dcl_error());
        cr_expect_eq(opened(&files, test_path("given/old.npy"), &id), 'a', "under its new name it is the same");
        cr_assert_eq(rename(test_path("given/old.npy"), test_path("given/a.npy")), 0);
        dcli_files_release(&files);
    }
}

/* On a network file system a descriptor that can be read makes its client read and write back whole pages, with what it
 * believes the others' elements to be. */
Test(files, are_opened_for_one_thing, .init = make_folders, .fini = remove_folders)
{
    for (int w = 0; w < 2; w++) {
        dcli_files files = hold(test_path("given"), ways[w]);
        for (int for_writing = 0; for_writing < 2; for_writing++) {
            int fd = dcli_files_open(&files, test_path("given/a.npy"), for_writing, NULL);
            cr_assert_geq(fd, 0, "%s", dcl_error());
            cr_expect_eq(fcntl(fd, F_GETFL) & O_ACCMODE, for_writing ? O_WRONLY : O_RDONLY);
            close(fd);
        }
        dcli_files_release(&files);
    }
}

/* What would wait, or act when it is opened, is not opened. */
Test(files, are_regular, .init = make_folders, .fini = remove_folders)
{
    cr_assert_eq(mkfifo(test_path("given/pipe"), 0600), 0);
    bool has_device = mknod(test_path("given/device"), S_IFCHR | 0600, makedev(1, 3)) == 0;
    for (int w = 0; w < 2; w++) {
        dcli_files files = hold(test_path("given"), ways[w]);
        cr_expect_eq(dcli_files_open(&files, test_path("given/pipe"), true, NULL), -1);
        cr_expect(strstr(dcl_error(), "is not a regular file"), "%s", dcl_error());
        if (has_device) {
            cr_expect_eq(dcli_files_open(&files, test_path("given/device"), true, NULL), -1);
            cr_expect(strstr(dcl_error(), "is not a regular file"), "%s", dcl_error());
        }
        dcli_files_release(&files);
    }
    cr_expect_eq(dcli_files_open(&dcli_files_everywhere, "/dev/null", true, NULL), -1);
    cr_expect(strstr(dcl_error(), "is not a regular file"), "%s", dcl_error());
    unlink(test_path("given/pipe"));
    unlink(test_path("given/device"));
}

/* What is mounted inside belongs to the folder; its numbers of files are not those of other file systems. */
Test(files, on_what_is_mounted_inside_may_be_used, .init = make_folders, .fini = remove_folders)
{
    test_mount(test_path("given/inner"), "size=1m");
    test_mount(test_path("other"), "size=1m");
    test_write_file("given/inner/m.npy", "a", 1);
    test_write_file("other/m.npy", "b", 1);
    dcli_file_id inside = id_of(test_path("given/inner/m.npy")), outside = id_of(test_path("other/m.npy"));
    cr_expect_neq(inside.device, outside.device);
    for (int w = 0; w < 2; w++) {
        dcli_files files = hold(test_path("given"), ways[w]);
        outside.inode = inside.inode; /* as another file system may have it */
        cr_expect_eq(opened(&files, test_path("given/inner/m.npy"), &inside), 'a', "%s", dcl_error());
        cr_expect_eq(opened(&files, test_path("given/inner/m.npy"), &outside), '-', "one of another file system");
        dcli_files_release(&files);
    }
    cr_expect_eq(umount2(test_path("given/inner"), MNT_DETACH), 0);
    cr_expect_eq(umount2(test_path("other"), MNT_DETACH), 0);
}

/* ---- tokens ------------------------------------------------------------------------------------------------------- */

static bool sees(const char *folder, const char *path, const char *token, const dcli_file_id *id)
{
    dcli_files files = hold(folder, false);
    bool seen = dcli_files_sees(&files, path, token, id);
    dcli_files_release(&files);
    return seen;
}

Test(files, are_seen_where_the_token_is, .init = make_folders, .fini = remove_folders)
{
    char path[DCLI_FILES_PATH], other[DCLI_FILES_PATH], token[DCLI_TOKEN_LENGTH + 1], second[DCLI_TOKEN_LENGTH + 1];
    char given[128];
    dcli_file_id id, second_id, wrong;
    snprintf(given, sizeof given, "%s/given", test_folder);
    cr_assert(dcli_files_make_token(test_path("given/a.npy"), path, token, &id));
    cr_assert(dcli_files_make_token(test_path("given/a.npy"), other, second, &second_id));
    cr_expect_str_neq(path, other);
    cr_expect_str_neq(token, second);
    cr_expect_eq(strlen(token), 32);
    cr_expect_eq(strspn(token, "0123456789abcdef"), 32);
    char begin[128];
    snprintf(begin, sizeof begin, "%s/given/.dcl-%ld-", test_folder, (long)getpid());
    cr_expect_eq(strncmp(path, begin, strlen(begin)), 0, "%s", path);
    struct stat stat;
    cr_expect(lstat(path, &stat) == 0 && (stat.st_mode & 07777) == 0600 && stat.st_size == 32);
    cr_expect(id.device == stat.st_dev && id.inode == stat.st_ino);

    cr_expect(sees(given, path, token, &id));
    cr_expect(sees("/", path, token, &id));
    cr_expect(sees(given, other, second, &second_id));
    cr_expect_not(sees(given, path, second, &id), "another token");
    cr_expect_not(sees(given, path, "", &id), "no token");
    wrong = (dcli_file_id){.device = id.device, .inode = id.inode + 1};
    cr_expect_not(sees(given, path, token, &wrong), "files are numbered otherwise here");
    token[31] = '\0';
    cr_expect_not(sees(given, path, token, &id), "half a token");
    cr_expect_not(dcli_files_sees(NULL, other, second, &second_id), "a worker without files");
    cr_expect_not(sees(test_path("other"), other, second, &second_id), "a worker with another folder");
    cr_expect_eq(rename(path, test_path("given/inner/moved")), 0);
    cr_expect_not(sees(given, path, token, &id), "it is gone");
    cr_expect_eq(unlink(test_path("given/inner/moved")), 0);
    cr_expect_eq(unlink(other), 0);
}

/* Hosts give what they mount numbers of their own: the token's file system is known by both. */
Test(files, are_named_by_the_other_hosts_number_once_a_token_was_seen, .init = make_folders, .fini = remove_folders)
{
    char path[DCLI_FILES_PATH], token[DCLI_TOKEN_LENGTH + 1];
    dcli_file_id id, there;
    dcli_files files = hold(test_path("given"), false);
    cr_assert(dcli_files_make_token(test_path("given/a.npy"), path, token, &id));
    there = id_of(test_path("given/a.npy"));
    id.device += 100;
    there.device += 100;
    cr_expect_eq(opened(&files, test_path("given/a.npy"), &there), '-');
    for (int round = 0; round < 2 * DCLI_FILES_DEVICES; round++)
        cr_expect(dcli_files_sees(&files, path, token, &id));
    cr_expect_eq(files.device_count, 1);
    cr_expect_eq(opened(&files, test_path("given/a.npy"), &there), 'a', "%s", dcl_error());
    dcli_files_release(&files);
    cr_expect_eq(unlink(path), 0);
}

/* Nobody finds out by such questions what is in other files. */
Test(files, are_opened_for_tokens_only, .init = make_folders, .fini = remove_folders)
{
    static const char token[] = "0123456789abcdef0123456789abcdef";
    const char *const names[] = {"given/t", "given/.dcl-1-1.token", "given/.dcl-1-2.token"};
    char given[128];
    snprintf(given, sizeof given, "%s/given", test_folder);
    test_write_file("given/t", token, 32);
    dcli_file_id id = id_of(test_path("given/t"));
    cr_expect_not(sees(given, test_path("given/t"), token, &id), "a file of another name");
    cr_assert_eq(symlink("t", test_path(names[1])), 0);
    cr_expect_not(sees(given, test_path(names[1]), token, &id), "a link");
    test_write_file(names[2], "0123456789abcdef0123456789abcdef\n", 33);
    id = id_of(test_path(names[2]));
    cr_expect_not(sees(given, test_path(names[2]), token, &id), "a longer file");
    test_write_file(names[2], token, 32);
    cr_expect(sees(given, test_path(names[2]), token, &id));
    for (int n = 0; n < 3; n++)
        cr_expect_eq(unlink(test_path(names[n])), 0);
    cr_assert_eq(mkfifo(test_path(names[1]), 0600), 0);
    id = id_of(test_path(names[1]));
    cr_expect_not(sees(given, test_path(names[1]), token, &id), "a pipe"); /* nor waits for its other end */
    cr_expect_eq(unlink(test_path(names[1])), 0);
}

Test(files, have_no_token_where_none_can_be_made, .init = make_folders, .fini = remove_folders)
{
    char path[DCLI_FILES_PATH], token[DCLI_TOKEN_LENGTH + 1], long_path[DCLI_FILES_PATH];
    dcli_file_id id;
    cr_expect_not(dcli_files_make_token(test_path("none/a.npy"), path, token, &id));
    cr_expect_not(dcli_files_make_token("/proc/self/fd/0", path, token, &id));
    memset(long_path, '/', sizeof long_path - 1);
    long_path[sizeof long_path - 1] = '\0';
    cr_expect_not(dcli_files_make_token(long_path, path, token, &id));
}
