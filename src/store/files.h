/* store/files.h - which files a process that serves others may use, and whether two processes see the same ones. */
#ifndef DCLI_STORE_FILES_H
#define DCLI_STORE_FILES_H

#include <stdbool.h>

#include <dcl/base.h>

enum {
    DCLI_TOKEN_LENGTH = 32, /* characters: 128 random bits in hexadecimal */
    DCLI_FILES_PATH = 4096  /* bytes of the longest path, with its final '\0' */
};

/** May a process that was given the folder `root` use the file `path`? Yes, if the file, or the folder in which it would
 *  be made, lies inside once all links are followed. What others change afterwards is not noticed.
 *  @param root  NULL: no file may be used; "/": all may.
 *  @param path  absolute. @return DCL_OK, or DCL_ERR_FILE saying why not. */
dcl_status dcli_files_allowed(const char *root, const char *path);

/** Make a file in the folder of `path` that only this user can read and that holds a new random token. The caller
 *  removes it.
 *  @param token_path_out  [DCLI_FILES_PATH]; its length is that of the folder of `path` and 32 bytes at most.
 *  @param token_out       [DCLI_TOKEN_LENGTH + 1]
 *  @return false where none can be made: nothing is left then and no error recorded. */
bool dcli_files_make_token(const char *path, char *token_path_out, char *token_out);

/** Does this process see at token_path the file that another made with `token`, and may it use it? No other files are
 *  opened than those with such names. Records no error that anybody has to be told. */
bool dcli_files_sees(const char *root, const char *token_path, const char *token);

#endif
