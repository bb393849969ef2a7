/* Files written beside others and put in their place: what reaches the disk in which order, and what is left when something
 * goes wrong or somebody interferes. */
#include "store/new_file.h"

#include <criterion/criterion.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "store/folder.h"
#include "store/npy.h"
#include "support/mount.h"

/* ---- calls of the system, noted ----------------------------------------------------------------------------------- */

static char calls[256];
static int failing_sync; /* the n-th fails, with EIO */

static void note(const char *what) { snprintf(calls + strlen(calls), sizeof calls - strlen(calls), "%s ", what); }

/* These take the place of the C library's in this program. */
int fsync(int fd)
{
    struct stat about;
    note(fstat(fd, &about) == 0 && S_ISDIR(about.st_mode) ? "folder" : "file");
    if (failing_sync > 0 && --failing_sync == 0) {
        errno = EIO;
        return -1;
    }
    return (int)syscall(SYS_fsync, fd);
}

int renameat(int from_folder, const char *from, int to_folder, const char *to)
{
    note("rename");
    return (int)syscall(SYS_renameat2, from_folder, from, to_folder, to, 0);
}

/* ---- tests -------------------------------------------------------------------------------------------------------- */

/* Replace `name` with a text, and return how that went. */
static dcl_status replace(const char *name, const char *text, dcl_status status)
{
    dcli_new_file file;
    calls[0] = '\0';
    if (dcli_new_file_make(test_path(name), &file) != DCL_OK)
        return DCL_ERR_FILE;
    cr_assert_eq(write(file.fd, text, strlen(text)), (ssize_t)strlen(text));
    return dcli_new_file_end(&file, (int64_t)strlen(text), status);
}

static void expect_text(const char *name, const char *text)
{
    char found[64] = "";
    FILE *file = fopen(test_path(name), "r");
    cr_assert_not_null(file, "%s is gone", name);
    cr_expect(fgets(found, sizeof found, file) != NULL || text[0] == '\0');
    fclose(file);
    cr_expect_str_eq(found, text);
}

static int files_in(const char *name)
{
    int count = 0;
    DIR *folder = opendir(test_path(name));
    cr_assert_not_null(folder);
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;)
        count += entry->d_name[0] != '.';
    closedir(folder);
    return count;
}

Test(new_file, reaches_the_disk_before_its_name_does, .init = test_files, .fini = test_files_end)
{
    test_write_file("a.npy", "old", 3);
    cr_expect_eq(replace("a.npy", "new", DCL_OK), DCL_OK, "%s", dcl_error());
    cr_expect_str_eq(calls, "file rename folder ");
    expect_text("a.npy", "new");
    cr_expect_eq(files_in("."), 1, "other files are left");
}

Test(new_file, leaves_the_old_one_where_something_fails, .init = test_files, .fini = test_files_end)
{
    test_write_file("a.npy", "old", 3);
    cr_expect_eq(replace("a.npy", "new", DCL_ERR_NODE_LOST), DCL_ERR_NODE_LOST);
    cr_expect_str_eq(calls, "");
    failing_sync = 1;
    cr_expect_eq(replace("a.npy", "new", DCL_OK), DCL_ERR_FILE);
    cr_expect(strstr(dcl_error(), "cannot be written to the disk: Input/output error; "), "%s", dcl_error());
    cr_expect_str_eq(calls, "file ");
    expect_text("a.npy", "old");
    cr_expect_eq(files_in("."), 1, "other files are left");
    failing_sync = 2;
    cr_expect_eq(replace("a.npy", "new", DCL_OK), DCL_ERR_FILE);
    cr_expect(strstr(dcl_error(), "its folder is not known to be on the disk: Input/output error"), "%s", dcl_error());
    expect_text("a.npy", "new");
    cr_assert_eq(mkdir(test_path("folder"), 0700), 0);
    cr_expect_eq(replace("folder", "new", DCL_OK), DCL_ERR_FILE);
    cr_expect(strstr(dcl_error(), "cannot be renamed to "), "%s", dcl_error());
    cr_expect_eq(replace("none/a.npy", "new", DCL_OK), DCL_ERR_FILE);
    cr_expect(strstr(dcl_error(), "cannot be made: No such file or directory; expected a folder"), "%s", dcl_error());
    char name[300];
    snprintf(name, sizeof name, "%0250d", 0);
    cr_expect_eq(replace(name, "new", DCL_OK), DCL_ERR_FILE);
    cr_expect(strstr(dcl_error(), "File name too long"), "%s", dcl_error());
    cr_expect_eq(files_in("."), 2, "other files are left");
}

Test(new_file, is_not_one_that_somebody_else_has_put_in_its_place, .init = test_files, .fini = test_files_end)
{
    dcli_new_file file;
    test_write_file("a.npy", "old", 3);
    cr_assert_eq(dcli_new_file_make(test_path("a.npy"), &file), DCL_OK, "%s", dcl_error());
    test_write_file("other", "x", 1);
    cr_assert_eq(rename(test_path("other"), file.beside_path), 0);
    cr_expect_eq(dcli_new_file_end(&file, 0, DCL_OK), DCL_ERR_FILE);
    cr_expect(strstr(dcl_error(), "is no longer the file that was written; somebody has removed or replaced it"), "%s",
              dcl_error());
    expect_text("a.npy", "old");
    cr_expect_eq(files_in("."), 2, "what is not ours stays");
    cr_assert_eq(dcli_new_file_make(test_path("a.npy"), &file), DCL_OK, "%s", dcl_error());
    cr_assert_eq(ftruncate(file.fd, 10), 0);
    cr_expect_eq(dcli_new_file_end(&file, 20, DCL_OK), DCL_ERR_FILE);
    cr_expect(strstr(dcl_error(), "has 10 bytes; expected 20; it was shortened or lengthened"), "%s", dcl_error());
    expect_text("a.npy", "old");
}

Test(new_file, stays_in_its_folder_when_that_is_renamed, .init = test_files, .fini = test_files_end)
{
    dcli_new_file file;
    cr_assert_eq(mkdir(test_path("folder"), 0700), 0);
    cr_assert_eq(mkdir(test_path("other"), 0700), 0);
    cr_assert_eq(dcli_new_file_make(test_path("folder/a.npy"), &file), DCL_OK, "%s", dcl_error());
    cr_assert_eq(rename(test_path("folder"), test_path("moved")), 0);
    cr_assert_eq(symlink("other", test_path("folder")), 0);
    cr_expect_eq(dcli_new_file_end(&file, 0, DCL_OK), DCL_OK, "%s", dcl_error());
    cr_expect_eq(files_in("other"), 0);
    cr_expect_eq(files_in("moved"), 1);
    cr_expect_eq(unlink(test_path("moved/a.npy")), 0);
}

/* A relative path is one of the current folder. */
Test(new_file, may_be_of_the_current_folder, .init = test_files, .fini = test_files_end)
{
    dcli_new_file file;
    cr_assert_eq(chdir(test_folder), 0);
    cr_assert_eq(dcli_new_file_make("a.npy", &file), DCL_OK, "%s", dcl_error());
    cr_expect_eq(dcli_new_file_end(&file, 0, DCL_OK), DCL_OK, "%s", dcl_error());
    expect_text("a.npy", "");
}

/* ---- full disks, kills -------------------------------------------------------------------------------------------- */

/* Replace a.npy with `elements` bytes of one value. */
static dcl_status save(int64_t elements, char value)
{
    dcl_npy_info info;
    dcli_new_file file;
    int64_t bytes = 0;
    dcl_grid grid = dcl_grid_1d(DCL_INT8, elements);
    if (dcli_new_file_make(test_path("disk/a.npy"), &file) != DCL_OK)
        return DCL_ERR_FILE;
    cr_expect_eq(fcntl(file.fd, F_GETFL) & O_ACCMODE, O_WRONLY, "network file systems would read and write pages");
    dcl_status status = dcli_npy_begin(file.fd, file.beside_path, &grid, false, &info, &bytes);
    for (int64_t n = 0; status == DCL_OK && n < elements; n += 4096) {
        char piece[4096];
        memset(piece, value, sizeof piece);
        size_t count = (size_t)(elements - n < 4096 ? elements - n : 4096);
        if (pwrite(file.fd, piece, count, info.data_start + n) != (ssize_t)count)
            status = DCL_ERR_INTERNAL;
    }
    return dcli_new_file_end(&file, bytes, status);
}

/* The value that all of a.npy has; '?': it is not whole. */
static char saved(int64_t elements)
{
    dcl_npy_info info;
    char *data = malloc((size_t)elements), value = '?';
    int fd = open(test_path("disk/a.npy"), O_RDONLY | O_CLOEXEC);
    if (fd >= 0 && dcli_npy_inspect(fd, "a.npy", &info) == DCL_OK && info.grid.extent[0] == elements &&
        pread(fd, data, (size_t)elements, info.data_start) == elements)
        value = data[0];
    for (int64_t n = 1; n < elements && value != '?'; n++)
        value = data[n] == value ? value : '?';
    close(fd);
    free(data);
    return value;
}

Test(new_file, that_does_not_fit_the_disk_leaves_the_old_one, .init = test_files, .fini = test_files_end)
{
    cr_assert_eq(mkdir(test_path("disk"), 0700), 0);
    test_mount(test_path("disk"), "size=1m");
    cr_expect_eq(save(400000, 'a'), DCL_OK, "%s", dcl_error());
    cr_expect_eq(save(800000, 'b'), DCL_ERR_FILE);
    cr_expect(strstr(dcl_error(), "cannot be reserved: No space left on device; free some space"), "%s", dcl_error());
    cr_expect_eq(saved(400000), 'a');
    cr_expect_eq(files_in("disk"), 1, "other files are left");
    cr_expect_eq(save(300000, 'c'), DCL_OK, "%s", dcl_error());
    cr_expect_eq(saved(300000), 'c');
    cr_expect_eq(umount2(test_path("disk"), MNT_DETACH), 0);
}

/* Wait until a.npy is another file than it was, 10 s at most: a busy machine may let the writer begin late. */
static void await_other_file(ino_t before)
{
    struct stat facts = {.st_ino = before};
    for (int ms = 0; ms < 10000 && facts.st_ino == before; ms++) {
        usleep(1000);
        cr_assert_eq(stat(test_path("disk/a.npy"), &facts), 0);
    }
}

/* Killed at any moment, a program leaves the old file or the new one. */
Test(new_file, is_whole_when_its_writer_is_killed, .init = test_files, .fini = test_files_end, .timeout = 120)
{
    enum { ROUNDS = 30, ELEMENTS = 200000 };
    bool seen[256] = {false};
    cr_assert_eq(mkdir(test_path("disk"), 0700), 0);
    cr_assert_eq(save(ELEMENTS, 'a'), DCL_OK, "%s", dcl_error());
    for (int round = 0; round < ROUNDS; round++) {
        struct stat facts;
        cr_assert_eq(stat(test_path("disk/a.npy"), &facts), 0);
        pid_t child = fork();
        if (child == 0)
            for (int n = round + 1;; n++)
                save(ELEMENTS, (char)('a' + n % 26));
        cr_assert(child > 0);
        if (round % 10 == 0)
            await_other_file(facts.st_ino);
        usleep((useconds_t)(500 + round * 701 % 20000));
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        char value = saved(ELEMENTS);
        cr_assert(value >= 'a' && value <= 'z', "round %d: the file is not whole", round);
        seen[(unsigned char)value] = true;
    }
    int values = 0;
    for (int v = 0; v < 256; v++)
        values += seen[v];
    cr_expect(values > 1, "no file was ever replaced");
    DIR *folder = opendir(test_path("disk"));
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;)
        if (entry->d_name[0] != '.')
            unlinkat(dirfd(folder), entry->d_name, 0);
    closedir(folder);
}
