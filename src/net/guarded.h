/* net/guarded.h - small files that others must not read, or must not write: keys and tokens. */
#ifndef DCLI_NET_GUARDED_H
#define DCLI_NET_GUARDED_H

#include <stdbool.h>
#include <sys/types.h>

#include <dcl/base.h>

enum {
    DCLI_GUARDED_BYTES = 4096, /* longest file, with the final '\0' */
    DCLI_GUARDED_PATH = 4096   /* longest path, with the final '\0' */
};

/** How a file or folder must be protected. */
typedef enum dcli_guard {
    DCLI_UNWRITABLE,  /* only its owner may write: mode & 022 is 0; the owner is this user or root */
    DCLI_PRIVATE,     /* others have no access: mode & 077 is 0; the owner is this user */
    DCLI_PRIVATE_HERE /* as DCLI_PRIVATE, and not a symbolic link */
} dcli_guard;

/** Open a folder after checking that it is one and is protected as `guard` says.
 *  @param fd_out  descriptor, the caller's to close; NULL: only check.
 *  @return DCL_OK or DCL_ERR_FILE (missing, not a folder, owner, mode: the sentence has what was found and what to
 *          do). */
dcl_status dcli_guarded_folder(const char *path, dcli_guard guard, int *fd_out);

/** Make a folder of mode 0700, whatever the umask, unless the name exists. Then check it as dcli_guarded_folder(). */
dcl_status dcli_guarded_folder_make(const char *path, dcli_guard guard, int *fd_out);

/** Read a whole regular file after checking that it is protected as `guard` says. The check is made on the open file.
 *  @param remedy    what to do when there is no such file: the end of the error sentence.
 *  @param text_out  [DCLI_GUARDED_BYTES], '\0'-terminated; overwrite it if it was secret.
 *  @return DCL_OK or DCL_ERR_FILE (missing, a folder, device or pipe, owner, mode, longer than the limit, no text). */
dcl_status dcli_guarded_read(const char *path, dcli_guard guard, const char *remedy, char *text_out);

/** Make a file with exactly this mode, whatever the umask, and this text. An existing file is never replaced and a
 *  symbolic link never followed; a file that could not be written completely is removed.
 *  @param folder  a descriptor of the folder that contains `name`, or AT_FDCWD. @param shown  the path for the error
 *                 sentence.
 *  @return DCL_OK or DCL_ERR_FILE. */
dcl_status dcli_guarded_make(int folder, const char *name, const char *shown, mode_t mode, const char *text);

/** Random bytes as hexadecimal digits. @param hex_out  [2 * bytes + 1]. @return DCL_OK or DCL_ERR_INTERNAL (the system
 *  has none). */
dcl_status dcli_random_hex(size_t bytes, char *hex_out);

#endif
