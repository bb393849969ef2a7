/* store/new_file.h - a file that is written beside the one it is to replace, and takes its name when it is on the disk. */
#ifndef DCLI_STORE_NEW_FILE_H
#define DCLI_STORE_NEW_FILE_H

#include <limits.h>

#include "store/files.h"

typedef struct dcli_new_file {
    const char *path;          /* that it will have; borrowed */
    int folder;                /* in which both are: names are looked up in it, whatever the folder is called by then */
    int fd;                    /* open for writing alone; others open it by path and id */
    char beside[NAME_MAX + 1]; /* its name until then */
    char beside_path[DCLI_FILES_PATH];
    dcli_file_id id;
} dcli_new_file;

/** Make an empty file that no one else has made. @param path  borrowed until the end.
 *  @return DCL_OK or DCL_ERR_FILE: nothing is left then. */
dcl_status dcli_new_file_make(const char *path, dcli_new_file *file_out);
/** Have the file and its name on the disk, then its new name: whenever power fails, `path` names the old contents or the
 *  new ones, whole. Where `status` is an error, or one occurs, the file beside is removed.
 *  @param bytes  that it must have. @return `status`, or DCL_ERR_FILE. */
dcl_status dcli_new_file_end(dcli_new_file *file, int64_t bytes, dcl_status status);

#endif
