/* test/support/folder.c - a temporary folder for a test. */
#include "support/folder.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[TEST_PATH / 2];

void test_make_folder(void)
{
    const char *temporary = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/dcl-test-XXXXXX", temporary != NULL ? temporary : "/tmp");
    cr_assert_not_null(mkdtemp(folder), "%s cannot be made", folder);
}

void test_path(char *path_out, const char *name) { snprintf(path_out, TEST_PATH, "%s/%s", folder, name); }

static int visit(const char *but, void (*act)(const char *path))
{
    int count = 0;
    DIR *files = opendir(folder);
    cr_assert_not_null(files, "%s cannot be opened", folder);
    for (struct dirent *entry = readdir(files); entry != NULL; entry = readdir(files)) {
        char path[TEST_PATH];
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 || strcmp(entry->d_name, but) == 0)
            continue;
        count++;
        snprintf(path, sizeof path, "%.200s/%.300s", folder, entry->d_name);
        if (act != NULL)
            act(path);
    }
    closedir(files);
    return count;
}

int test_files_left(const char *name) { return visit(name, NULL); }

static void remove_file(const char *path) { unlink(path); }

void test_remove_folder(void)
{
    visit("", remove_file);
    rmdir(folder);
}
