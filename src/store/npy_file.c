/* store/npy_file.c - reading and writing the bytes of .npy files. */
#include "store/npy_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"

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

/* Start writing a large enough range to the disk now, so that the final fsync() waits less. A disk error is reported
 * here, because not every file system reports it again in fsync(). Other errors mean that this kind of file does not
 * support the call. Source: sync_file_range(2). */
static dcl_status begin_writing_out(int fd, const char *path, size_t bytes, int64_t at)
{
    enum { LEAST_BYTES = 1 << 20 };
    if (bytes < LEAST_BYTES || sync_file_range(fd, at, (off_t)bytes, SYNC_FILE_RANGE_WRITE) == 0)
        return DCL_OK;
    if (errno != EIO && errno != ENOSPC && errno != EDQUOT)
        return DCL_OK;
    return DCLI_FAIL(DCL_ERR_FILE,
                     "\"%s\" cannot be written to the disk at byte %" PRId64
                     ": %s; expected a disk with room that works; make room, or save elsewhere",
                     path, at, strerror(errno));
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
    return begin_writing_out(fd, path, bytes, at);
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
