/* test/support/folder.h - a temporary folder for a test. */
#ifndef TEST_SUPPORT_FOLDER_H
#define TEST_SUPPORT_FOLDER_H

enum { TEST_PATH = 512 };

/** Make an empty folder below TMPDIR, one per process. */
void test_make_folder(void);
/** The name of a file in it. @param path_out  [TEST_PATH] */
void test_path(char *path_out, const char *name);
/** Number of files besides the one called `name`. */
int test_files_left(const char *name);
/** Remove the folder and the files in it. */
void test_remove_folder(void);

#endif
