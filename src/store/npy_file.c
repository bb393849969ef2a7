/* store/npy_file.c - opening, reading and writing the bytes of .npy files. */
#include "store/npy_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

int dcli_npy_open(const char *path, bool for_writing)
{
    /* O_NONBLOCK: a pipe is refused, not waited for. */
    int fd = open(path, (for_writing ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        DCLI_FAIL(DCL_ERR_FILE, "\"%s\" cannot be opened: %s; expected a .npy file that this process may %s", path,
                  strerror(errno), for_writing ? "write" : "read");
        return -1;
    }
    struct stat stat;
    if (fstat(fd, &stat) == 0 && S_ISREG(stat.st_mode))
        return fd;
    DCLI_FAIL(DCL_ERR_FILE, "\"%s\" is %s; expected a .npy file", path,
              S_ISDIR(stat.st_mode) ? "a directory" : "not a regular file");
    close(fd);
    return -1;
}

dcl_status dcli_npy_pread(int fd, const char *path, void *target, size_t bytes, int64_t at)
{
    for (size_t done = 0; done < bytes;) {
        ssize_t got = pread(fd, (char *)target + done, bytes - done, at + (int64_t)done);
        if (got == 0)
            return DCLI_FAIL(DCL_ERR_FILE,
                             "\"%s\" ends at byte %" PRId64 "; expected %" PRId64 " bytes at least; it was shortened "
                             "while it was read",
                             path, at + (int64_t)done, at + (int64_t)bytes);
        if (got < 0 && errno != EINTR)
            return DCLI_FAIL(DCL_ERR_FILE, "\"%s\" cannot be read at byte %" PRId64 ": %s", path, at + (int64_t)done,
                             strerror(errno));
        done += got > 0 ? (size_t)got : 0;
    }
    return DCL_OK;
}

dcl_status dcli_npy_pwrite(int fd, const char *path, const void *source, size_t bytes, int64_t at)
{
    for (size_t done = 0; done < bytes;) {
        ssize_t put = pwrite(fd, (const char *)source + done, bytes - done, at + (int64_t)done);
        if (put < 0 && errno != EINTR)
            return DCLI_FAIL(DCL_ERR_FILE, "\"%s\" cannot be written at byte %" PRId64 ": %s", path, at + (int64_t)done,
                             strerror(errno));
        done += put > 0 ? (size_t)put : 0;
    }
    return DCL_OK;
}

/* The disk may only now say that it is full (quotas, network file systems). */
dcl_status dcli_npy_close(int fd, const char *path, dcl_status status)
{
    if (close(fd) != 0 && errno != EINTR && status == DCL_OK)
        return DCLI_FAIL(DCL_ERR_FILE, "\"%s\" cannot be written: %s", path, strerror(errno));
    return status;
}

void dcli_npy_swap(void *elements, int64_t count, size_t bytes)
{
    uint16_t *two = elements;
    uint32_t *four = elements;
    uint64_t *eight = elements;
    for (int64_t n = 0; n < count && bytes == 2; n++)
        two[n] = __builtin_bswap16(two[n]);
    for (int64_t n = 0; n < count && bytes == 4; n++)
        four[n] = __builtin_bswap32(four[n]);
    for (int64_t n = 0; n < count && bytes == 8; n++)
        eight[n] = __builtin_bswap64(eight[n]);
}
