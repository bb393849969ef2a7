/* net/guarded.c - small files that others must not read, or must not write.
 * A name can refer to another file between a check and its use, so the check is always made on the open file. */
#include "net/guarded.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

static int follow(dcli_guard guard) { return guard == DCLI_PRIVATE_HERE ? O_NOFOLLOW : 0; }

/** Check owner and mode of an open file or folder. */
static dcl_status check_kept(const struct stat *found, dcli_guard guard, const char *path)
{
    const char *what = S_ISDIR(found->st_mode) ? "folder" : "file";
    uid_t self = geteuid();
    if (found->st_uid != self && !(guard == DCLI_UNWRITABLE && found->st_uid == 0))
        return DCLI_FAIL(DCL_ERR_FILE,
                         "\"%s\" belongs to user %u; expected user %u, who runs this; give a %s of your own, or "
                         "change its owner with chown",
                         path, found->st_uid, self, what);
    if (guard == DCLI_UNWRITABLE && (found->st_mode & 022) != 0)
        return DCLI_FAIL(DCL_ERR_FILE,
                         "\"%s\" has mode %04o, so others may write to it; expected a %s that only its owner "
                         "changes; look through it, then run `chmod go-w` on it",
                         path, found->st_mode & 07777, what);
    if (guard != DCLI_UNWRITABLE && (found->st_mode & 077) != 0)
        return DCLI_FAIL(DCL_ERR_FILE,
                         "\"%s\" has mode %04o, so others may use it; expected mode %s; run `chmod %s` on it, and if "
                         "others may have read what is secret there, make it anew",
                         path, found->st_mode & 07777, S_ISDIR(found->st_mode) ? "0700" : "0600",
                         S_ISDIR(found->st_mode) ? "700" : "600");
    return DCL_OK;
}

/* ---- folders ---- */

dcl_status dcli_guarded_folder(const char *path, dcli_guard guard, int *fd_out)
{
    struct stat found;
    /* O_PATH also opens folders that this user may not read. */
    int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC | follow(guard));
    if (fd < 0)
        return DCLI_FAIL(DCL_ERR_FILE, "\"%s\" cannot be opened: %s; expected a folder%s; make one with `mkdir -m 700`",
                         path, strerror(errno), follow(guard) != 0 ? " that is no symbolic link" : "");
    dcl_status status = DCL_OK;
    if (fstat(fd, &found) != 0)
        status = DCLI_FAIL(DCL_ERR_FILE, "\"%s\" cannot be examined: %s; expected a folder", path, strerror(errno));
    else
        status = check_kept(&found, guard, path);
    if (status == DCL_OK && fd_out != NULL)
        *fd_out = fd;
    else
        close(fd);
    return status;
}

dcl_status dcli_guarded_folder_make(const char *path, dcli_guard guard, int *fd_out)
{
    /* A umask can only remove permissions, and the owner's are needed, so the mode is set explicitly. */
    bool made = mkdir(path, 0700) == 0;
    if (!made && errno != EEXIST)
        return DCLI_FAIL(DCL_ERR_FILE,
                         "the folder \"%s\" cannot be made: %s; expected the folder around it to be there "
                         "and writable; make it first",
                         path, strerror(errno));
    if (made && chmod(path, 0700) != 0)
        return DCLI_FAIL(DCL_ERR_FILE, "the mode of \"%s\" cannot be set: %s; expected a file system with modes", path,
                         strerror(errno));
    return dcli_guarded_folder(path, guard, fd_out);
}

/* ---- reading ---- */

static dcl_status open_file(const char *path, dcli_guard guard, const char *remedy, int *fd_out)
{
    /* O_NONBLOCK: opening a pipe must not wait for its other end */
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | follow(guard));
    if (fd < 0 && errno == ELOOP)
        return DCLI_FAIL(DCL_ERR_FILE, "\"%s\" is a symbolic link; expected a regular file; remove it", path);
    if (fd < 0)
        return DCLI_FAIL(DCL_ERR_FILE, "\"%s\" cannot be opened: %s; %s", path, strerror(errno), remedy);
    *fd_out = fd;
    return DCL_OK;
}

static dcl_status check_file(int fd, dcli_guard guard, const char *path)
{
    struct stat found;
    if (fstat(fd, &found) != 0)
        return DCLI_FAIL(DCL_ERR_FILE, "\"%s\" cannot be examined: %s; expected a file", path, strerror(errno));
    if (!S_ISREG(found.st_mode))
        return DCLI_FAIL(DCL_ERR_FILE, "\"%s\" is %s; expected a regular file; give the name of one", path,
                         S_ISDIR(found.st_mode) ? "a folder" : "not a regular file");
    return check_kept(&found, guard, path);
}

static dcl_status read_text(int fd, const char *path, char *text_out)
{
    size_t length = 0;
    while (length < DCLI_GUARDED_BYTES) {
        ssize_t got = read(fd, text_out + length, DCLI_GUARDED_BYTES - length);
        if (got < 0 && errno != EINTR)
            return DCLI_FAIL(DCL_ERR_FILE, "\"%s\" cannot be read: %s; expected a short text", path, strerror(errno));
        if (got == 0)
            break;
        length += got > 0 ? (size_t)got : 0;
    }
    if (length == DCLI_GUARDED_BYTES || memchr(text_out, '\0', length) != NULL)
        return DCLI_FAIL(DCL_ERR_FILE,
                         "\"%s\" is longer than %d bytes or no text; expected a key or token of one line; "
                         "give the name of such a file",
                         path, DCLI_GUARDED_BYTES - 1);
    text_out[length] = '\0';
    return DCL_OK;
}

dcl_status dcli_guarded_read(const char *path, dcli_guard guard, const char *remedy, char *text_out)
{
    int fd = -1;
    dcl_status status = open_file(path, guard, remedy, &fd);
    if (status != DCL_OK)
        return status;
    status = check_file(fd, guard, path);
    if (status == DCL_OK)
        status = read_text(fd, path, text_out);
    if (status != DCL_OK)
        explicit_bzero(text_out, DCLI_GUARDED_BYTES);
    close(fd);
    return status;
}

/* ---- making ---- */

static bool write_all(int fd, const char *text)
{
    size_t left = strlen(text);
    while (left > 0) {
        ssize_t put = write(fd, text, left);
        if (put < 0 && errno != EINTR)
            return false;
        text += put > 0 ? put : 0;
        left -= put > 0 ? (size_t)put : 0;
    }
    return true;
}

dcl_status dcli_guarded_make(int folder, const char *name, const char *shown, mode_t mode, const char *text)
{
    int fd = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
    if (fd < 0 && errno == EEXIST)
        return DCLI_FAIL(DCL_ERR_FILE,
                         "\"%s\" is there already; expected no such file, and it is not overwritten; move "
                         "it away, or choose another folder",
                         shown);
    if (fd < 0)
        return DCLI_FAIL(DCL_ERR_FILE, "\"%s\" cannot be made: %s; expected a folder that this user may write to",
                         shown, strerror(errno));
    bool written = fchmod(fd, mode) == 0 && write_all(fd, text);
    int code = errno;
    if (close(fd) != 0 && written) { /* some network file systems report a full disk only when the file is closed */
        written = false;
        code = errno;
    }
    if (written)
        return DCL_OK;
    unlinkat(folder, name, 0);
    return DCLI_FAIL(DCL_ERR_FILE, "\"%s\" cannot be written: %s; expected room and a file system with modes", shown,
                     strerror(code));
}

dcl_status dcli_random_hex(size_t bytes, char *hex_out)
{
    unsigned char random[64];
    assert(bytes <= sizeof random);
    ssize_t got; /* up to 256 bytes are returned at once, or none if a signal interrupts before the system has any */
    do
        got = getrandom(random, bytes, 0);
    while (got < 0 && errno == EINTR);
    if (got != (ssize_t)bytes)
        return DCLI_FAIL(DCL_ERR_INTERNAL,
                         "getrandom: %s; expected random numbers from the system; use Linux 3.17 or "
                         "newer",
                         strerror(errno));
    for (size_t i = 0; i < bytes; i++) {
        hex_out[2 * i] = "0123456789abcdef"[random[i] >> 4];
        hex_out[2 * i + 1] = "0123456789abcdef"[random[i] & 15];
    }
    hex_out[2 * bytes] = '\0';
    explicit_bzero(random, sizeof random);
    return DCL_OK;
}
