/* store/new_file.h - a file that is written beside the one it will replace, and renamed when its contents are on the
 * disk. */
#ifndef DCLI_STORE_NEW_FILE_H
#define DCLI_STORE_NEW_FILE_H

#include <limits.h>

#include "store/files.h"

typedef struct dcli_new_file {
    const char *path;          /* final path of the file; borrowed */
    int folder;                /* descriptor of the folder of both files, so that renaming the folder has no effect */
    int fd;                    /* open for writing only; other processes open the file by path and id */
    char beside[NAME_MAX + 1]; /* its name until it is renamed */
    char beside_path[DCLI_FILES_PATH];
    dcli_file_id id;
} dcli_new_file;

/** Create an empty temporary file beside `path`. @param path  borrowed until the end. @return DCL_OK or DCL_ERR_FILE:
 *  no file is left then. */
dcl_status dcli_new_file_make(const char *path, dcli_new_file *file_out);
/** Write the file to the disk, rename it to `path`, then write its folder: if power fails at any time, `path` has the
 *  whole old or the whole new contents. If `status` is an error, or an error occurs, the temporary file is removed.
 *  @param bytes  length that the file must have.
 *  @return `status`, or DCL_ERR_FILE. */
dcl_status dcli_new_file_end(dcli_new_file *file, int64_t bytes, dcl_status status);

#endif
