/* store/files.h - which files a process that serves others may use, and how to find out whether two processes see the
 * same files. */
#ifndef DCLI_STORE_FILES_H
#define DCLI_STORE_FILES_H

#include <stdbool.h>
#include <stdint.h>

#include <dcl/base.h>

enum {
    DCLI_TOKEN_LENGTH = 32, /* characters: 128 random bits in hexadecimal */
    DCLI_FILES_PATH = 4096, /* bytes of the longest path, with its final '\0' */
    DCLI_FILES_DEVICES = 32 /* device numbers that are remembered at a time */
};

/** Identity of a file independent of its name, as fstat() gives it. inode 0: no particular file. */
typedef struct dcli_file_id {
    uint64_t device, inode;
} dcli_file_id;

/** The device number of a file system in the program and in this process: hosts number mounted file systems
 *  differently. */
typedef struct dcli_files_device {
    uint64_t there, here;
} dcli_files_device;

/** The folder whose files may be used. Its descriptor is held open, and files are opened beneath this descriptor. So
 *  renaming, replacing or linking the folder's name later has no effect. */
typedef struct dcli_files {
    int folder;       /* -1: no file may be used, except with `everywhere` */
    bool everywhere;  /* all files may be used: for the program itself and its own processes */
    bool walks;       /* the kernel has no openat2(): paths are walked by component, without links and ".." */
    const char *name; /* name of the folder, for messages; borrowed */
    dcli_files_device device[DCLI_FILES_DEVICES]; /* the newest ones: number n is at n mod DCLI_FILES_DEVICES */
    int64_t device_count;
} dcli_files;

/** All files may be used. */
extern const dcli_files dcli_files_everywhere;

/** Open a folder and hold it. @param name  borrowed until dcli_files_release(). @return DCL_OK, or DCL_ERR_FILE. */
dcl_status dcli_files_hold(const char *name, dcli_files *files_out);
/** Hold a folder whose descriptor this process has inherited; takes over the descriptor. */
dcli_files dcli_files_adopt(int folder, const char *name);
/** Close the folder. Safe on {.folder = -1}, and on a folder that was released. */
void dcli_files_release(dcli_files *files);

/** Open a regular file. Files of other types are refused before they are opened.
 *  @param path  absolute, unless all files may be used. It may name the folder in any way; the rest is looked up
 *               beneath the descriptor, and links are followed as long as they stay beneath it.
 *  @param id    open only this very file, and follow no links; NULL: any file.
 *  @return its descriptor, or -1 with DCL_ERR_FILE recorded. */
int dcli_files_open(const dcli_files *files, const char *path, bool for_writing, const dcli_file_id *id);
/** Get the identity of an open file. @return DCL_OK, or DCL_ERR_FILE. */
dcl_status dcli_files_identify(int fd, const char *path, dcli_file_id *id_out);

/** Make a file in the folder of `path` that only this user can read and that contains a new random token. The caller
 *  removes it.
 *  @param token_path_out  [DCLI_FILES_PATH] path of the new file.
 *  @param token_out       [DCLI_TOKEN_LENGTH + 1]
 *  @param id_out  identity of the new file.
 *  @return false if it cannot be made: no file is left and no error recorded. */
bool dcli_files_make_token(const char *path, char *token_path_out, char *token_out, dcli_file_id *id_out);

/** Whether this process sees the file at token_path that another process made with `token`, and may use it. If so,
 *  remember the device number of its file system. Opens only files whose names are those of token files. It may record
 *  an error, which is to be ignored.
 *  @param id  the file's identity in the other process; the inode number must be the same here. */
bool dcli_files_sees(dcli_files *files, const char *token_path, const char *token, const dcli_file_id *id);

#endif
