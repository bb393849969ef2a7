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

/** What a file or folder is kept from. */
typedef enum dcli_guard {
    DCLI_UNWRITABLE, /* others may read it, only its owner may write: mode & 022 is 0; the owner is this user or root */
    DCLI_PRIVATE,    /* others may do nothing: mode & 077 is 0; the owner is this user */
    DCLI_PRIVATE_HERE /* the same, and no symbolic link */
} dcli_guard;

/** Open a folder after checking that it is one and is kept as `guard` says.
 *  @param fd_out  descriptor, the caller's to close; NULL: only check.
 *  @return DCL_OK or DCL_ERR_FILE (missing, no folder, owner, mode: the sentence has what was found and what to do). */
dcl_status dcli_guarded_folder(const char *path, dcli_guard guard, int *fd_out);

/** Make a folder of mode 0700, whatever the umask, unless something of that name is there. Then check as above. */
dcl_status dcli_guarded_folder_make(const char *path, dcli_guard guard, int *fd_out);

/** Read a whole regular file after checking that it is kept as `guard` says. Checked is what was opened, not the name.
 *  @param remedy    what to do when there is no such file: the end of the sentence.
 *  @param text_out  [DCLI_GUARDED_BYTES], '\0'-ended; wipe it when it was secret.
 *  @return DCL_OK or DCL_ERR_FILE (missing, a folder, device or pipe, owner, mode, longer than the limit, no text). */
dcl_status dcli_guarded_read(const char *path, dcli_guard guard, const char *remedy, char *text_out);

/** Make a file of exactly this mode, whatever the umask, with this text. Never an existing one, nor through a symbolic
 *  link; what could not be written whole is removed.
 *  @param folder  a descriptor of the folder that `name` is in, or AT_FDCWD; @param shown  the path for the sentence.
 *  @return DCL_OK or DCL_ERR_FILE. */
dcl_status dcli_guarded_make(int folder, const char *name, const char *shown, mode_t mode, const char *text);

/** Random bytes, as hexadecimal digits. @param hex_out  [2 * bytes + 1].
 *  @return DCL_OK or DCL_ERR_INTERNAL (the system has none). */
dcl_status dcli_random_hex(size_t bytes, char *hex_out);

#endif
