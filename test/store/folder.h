/* test/store/folder.h - a folder of a test's own for its files. */
#ifndef TEST_STORE_FOLDER_H
#define TEST_STORE_FOLDER_H

#include <criterion/criterion.h>

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/** The folder, made by test_files(), and a file's path in it. */
static char test_folder[64];

static inline void test_files(void)
{
    snprintf(test_folder, sizeof test_folder, "/tmp/dcl-test-XXXXXX");
    cr_assert_not_null(mkdtemp(test_folder));
}

static inline const char *test_path(const char *name)
{
    static char path[4][320];
    static int next;
    char *text = path[next++ % 4];
    snprintf(text, sizeof path[0], "%s/%s", test_folder, name);
    return text;
}

static inline void test_files_end(void)
{
    DIR *folder = opendir(test_folder);
    for (struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;)
        if (entry->d_name[0] != '.')
            remove(test_path(entry->d_name));
    if (folder != NULL)
        closedir(folder);
    cr_expect_eq(rmdir(test_folder), 0, "%s is not empty", test_folder);
}

static inline void test_write_file(const char *name, const void *bytes, size_t length)
{
    FILE *file = fopen(test_path(name), "wb");
    cr_assert_not_null(file);
    cr_assert_eq(fwrite(bytes, 1, length, file), length);
    cr_assert_eq(fclose(file), 0);
}

#endif
