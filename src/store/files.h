/* store/files.h - which files a process that serves others may use, and whether two processes see the same ones. */
#ifndef DCLI_STORE_FILES_H
#define DCLI_STORE_FILES_H

#include <stdbool.h>
#include <stdint.h>

#include <dcl/base.h>

enum {
    DCLI_TOKEN_LENGTH = 32, /* characters: 128 random bits in hexadecimal */
    DCLI_FILES_PATH = 4096, /* bytes of the longest path, with its final '\0' */
    DCLI_FILES_DEVICES = 32 /* file systems whose numbers are known at a time */
};

/** One file whatever its name is, as fstat() gives it. inode 0: no particular file. */
typedef struct dcli_file_id {
    uint64_t device, inode;
} dcli_file_id;

/** A file system by its number in the program and by its number here: hosts number what they mount as they like. */
typedef struct dcli_files_device {
    uint64_t there, here;
} dcli_files_device;

/** The folder whose files may be used. It is held open: whatever is renamed, replaced or linked later, it stays the same
 *  folder, and files are opened beneath this descriptor, not looked up by name and opened afterwards. */
typedef struct dcli_files {
    int folder;       /* -1: no file may be used, unless */
    bool everywhere;  /* all files may be used: the program itself, and processes of its own */
    bool walks;       /* the kernel has no openat2(): neither links nor ".." are followed beneath the folder */
    const char *name; /* of the folder, for messages; borrowed */
    dcli_files_device device[DCLI_FILES_DEVICES]; /* [device_count mod DCLI_FILES_DEVICES] the newest ones */
    int64_t device_count;
} dcli_files;

/** All files may be used. */
extern const dcli_files dcli_files_everywhere;

/** Hold a folder. @param name  borrowed until dcli_files_release(). @return DCL_OK, or DCL_ERR_FILE. */
dcl_status dcli_files_hold(const char *name, dcli_files *files_out);
/** The same with a descriptor that this process has inherited, which is taken over. */
dcli_files dcli_files_adopt(int folder, const char *name);
/** Safe on {.folder = -1}, and on a folder that was released. */
void dcli_files_release(dcli_files *files);

/** Open a regular file; nothing else is opened, not even for a moment.
 *  @param path  absolute unless all files may be used. It may name the folder in any way; what follows is looked up beneath
 *               the descriptor, and links are followed as long as they lead to what lies beneath it.
 *  @param id    the only file it may be, under no link; NULL: any file.
 *  @return its descriptor, or -1 with DCL_ERR_FILE recorded. */
int dcli_files_open(const dcli_files *files, const char *path, bool for_writing, const dcli_file_id *id);
/** @return DCL_OK, or DCL_ERR_FILE. */
dcl_status dcli_files_identify(int fd, const char *path, dcli_file_id *id_out);

/** Make a file in the folder of `path` that only this user can read and that holds a new random token. The caller
 *  removes it.
 *  @param token_path_out  [DCLI_FILES_PATH]; its length is that of the folder of `path` and 32 bytes at most.
 *  @param token_out       [DCLI_TOKEN_LENGTH + 1] @param id_out  the file.
 *  @return false where none can be made: nothing is left then and no error recorded. */
bool dcli_files_make_token(const char *path, char *token_path_out, char *token_out, dcli_file_id *id_out);

/** Does this process see at token_path the file that another made with `token`, and may it use it? Then the number of its
 *  file system is noted. No other files are opened than those with such names. Records no error that anybody has to be told.
 *  @param id  the file as the other process has it; the inode's number must be the same here. */
bool dcli_files_sees(dcli_files *files, const char *token_path, const char *token, const dcli_file_id *id);

#endif
