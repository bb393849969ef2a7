/* store/files.c - files that may be used, and tokens by which processes find out that they see the same folder. */
#include "store/files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

#define TOKEN_BEGIN ".dcl-"
#define TOKEN_END ".token"

/* ---- what may be used --------------------------------------------------------------------------------------------- */

/* The folder of an absolute path. @return false when it is too long. */
static bool folder_of(const char *path, char folder_out[PATH_MAX])
{
    size_t length = (size_t)(strrchr(path, '/') - path);
    if (length >= PATH_MAX)
        return false;
    memcpy(folder_out, path, length);
    strcpy(folder_out + length, length == 0 ? "/" : "");
    return true;
}

/* Where a file lies, all links followed; for one that does not exist yet, its folder. */
static bool resolve(const char *path, char real_out[PATH_MAX])
{
    struct stat stat;
    char folder[PATH_MAX];
    if (realpath(path, real_out) != NULL)
        return true;
    return errno == ENOENT && lstat(path, &stat) != 0 && folder_of(path, folder) && realpath(folder, real_out) != NULL;
}

static bool is_inside(const char *root, const char *real)
{
    size_t length = strlen(root);
    if (root[length - 1] == '/')
        return true; /* only "/" still ends so */
    return strncmp(root, real, length) == 0 && (real[length] == '/' || real[length] == '\0');
}

dcl_status dcli_files_allowed(const char *root, const char *path)
{
    char real_root[PATH_MAX], real[PATH_MAX];
    if (root == NULL)
        return DCLI_FAIL(DCL_ERR_FILE, "\"%s\" is not used: this worker may use no files; start it with --files DIR",
                         path);
    if (path[0] != '/')
        return DCLI_FAIL(DCL_ERR_FILE, "\"%s\" is not used: it is relative; expected an absolute path", path);
    if (realpath(root, real_root) == NULL)
        return DCLI_FAIL(DCL_ERR_FILE, "the folder \"%s\" of this worker's files is not there: %s", root,
                         strerror(errno));
    if (!resolve(path, real))
        return DCLI_FAIL(DCL_ERR_FILE, "\"%s\" is not used: nothing can be found there: %s", path, strerror(errno));
    if (!is_inside(real_root, real))
        return DCLI_FAIL(DCL_ERR_FILE,
                         "\"%s\" lies outside \"%s\", the folder this worker was given; use a file inside, or start "
                         "the worker with another --files DIR",
                         path, real_root);
    return DCL_OK;
}

/* ---- tokens ------------------------------------------------------------------------------------------------------- */

static bool make_random(char *token_out)
{
    unsigned char bytes[DCLI_TOKEN_LENGTH / 2];
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return false;
    for (size_t b = 0; b < sizeof bytes; b++)
        sprintf(token_out + 2 * b, "%02x", bytes[b]);
    return true;
}

/* A new file in the folder; other hosts may have made files there under the same process number. */
static int create(int folder_length, const char *path, char *token_path_out)
{
    enum { ATTEMPTS = 100 };
    static atomic_uint number;
    int fd = -1;
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        int length = snprintf(token_path_out, DCLI_FILES_PATH, "%.*s" TOKEN_BEGIN "%ld-%u" TOKEN_END, folder_length,
                              path, (long)getpid(), atomic_fetch_add(&number, 1));
        if (length >= DCLI_FILES_PATH)
            return -1;
        fd = open(token_path_out, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (fd >= 0 || errno != EEXIST)
            break;
    }
    return fd;
}

bool dcli_files_make_token(const char *path, char *token_path_out, char *token_out)
{
    const char *slash = strrchr(path, '/');
    if (!make_random(token_out))
        return false;
    int fd = create(slash != NULL ? (int)(slash - path) + 1 : 0, path, token_path_out);
    if (fd < 0)
        return false;
    bool written = write(fd, token_out, DCLI_TOKEN_LENGTH) == DCLI_TOKEN_LENGTH;
    written &= close(fd) == 0;
    if (!written)
        unlink(token_path_out);
    return written;
}

static bool is_token_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    size_t length = slash != NULL ? strlen(slash + 1) : 0, begin = strlen(TOKEN_BEGIN), end = strlen(TOKEN_END);
    return length > begin + end && strncmp(slash + 1, TOKEN_BEGIN, begin) == 0 &&
           strcmp(slash + 1 + length - end, TOKEN_END) == 0;
}

bool dcli_files_sees(const char *root, const char *token_path, const char *token)
{
    if (strlen(token) != DCLI_TOKEN_LENGTH || !is_token_name(token_path) ||
        dcli_files_allowed(root, token_path) != DCL_OK)
        return false;
    int fd = open(token_path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return false;
    char found[DCLI_TOKEN_LENGTH];
    struct stat stat;
    bool same = fstat(fd, &stat) == 0 && S_ISREG(stat.st_mode) && stat.st_size == DCLI_TOKEN_LENGTH &&
                pread(fd, found, sizeof found, 0) == (ssize_t)sizeof found && memcmp(found, token, sizeof found) == 0;
    close(fd);
    return same;
}
