/* net/shared_memory.c - sealed memfds and their mappings. Source: memfd_create(2), fcntl(2) "File Sealing". */
#include "net/shared_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"

enum { FRONT_BYTES = 4096, HUGE_BYTES = 2 << 20 };

static dcl_status fail(const char *call, size_t length)
{
    int code = errno;
    bool descriptors = code == EMFILE || code == ENFILE;
    const char *name = strerrorname_np(code);
    return DCLI_FAIL(DCL_ERR_NOMEM, "%s: %s, %s, for %zu bytes of shared memory; expected %s", call,
                     name != NULL ? name : "unknown", strerror(code), length,
                     descriptors ? "a free descriptor; raise the limit of open files with `ulimit -n`"
                                 : "as much to be free; use smaller arrays or close other programs");
}

static size_t whole_pages(size_t bytes) { return (bytes + FRONT_BYTES - 1) / FRONT_BYTES * FRONT_BYTES; }

/* Reserve addresses for `length` bytes and the page before them. The alignment is chosen here because the system aligns
 * mappings of memfds for huge pages only where these are always used. @return NULL: errno. */
static unsigned char *reserve(size_t length)
{
    size_t align = length >= HUGE_BYTES ? HUGE_BYTES : FRONT_BYTES;
    size_t wanted = whole_pages(length), total = wanted + align + FRONT_BYTES;
    unsigned char *all = mmap(NULL, total, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (all == MAP_FAILED)
        return NULL;
    uintptr_t start = ((uintptr_t)all + FRONT_BYTES + align - 1) / align * align;
    unsigned char *bytes = all + (start - (uintptr_t)all);
    size_t before = (size_t)(bytes - all) - FRONT_BYTES, after = total - before - FRONT_BYTES - wanted;
    if (before > 0)
        munmap(all, before);
    if (after > 0)
        munmap(bytes + wanted, after);
    return bytes;
}

/* Close memory after a call has failed, whose errno stays. */
static void close_after(dcli_sealed *memory)
{
    int code = errno;
    dcli_sealed_close(memory);
    errno = code;
}

/* Map a memfd. @return the call that failed, with errno; or NULL. */
static const char *map(int descriptor, size_t length, int protection, dcli_sealed *mapped_out)
{
    unsigned char *bytes = reserve(length);
    if (bytes == NULL)
        return "mmap";
    *mapped_out = (dcli_sealed){bytes, length, -1};
    if (mmap(bytes, length, protection, MAP_SHARED | MAP_FIXED, descriptor, 0) == MAP_FAILED ||
        mprotect(bytes - FRONT_BYTES, FRONT_BYTES, PROT_READ | PROT_WRITE) != 0) {
        close_after(mapped_out);
        return "mmap";
    }
    if (length >= HUGE_BYTES)
        madvise(bytes, length, MADV_HUGEPAGE); /* optional: without huge pages the memory is only slower */
    return NULL;
}

dcl_status dcli_sealed_make(size_t length, dcli_sealed_for use, dcli_sealed *made_out)
{
    int descriptor = memfd_create("dcl", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (descriptor < 0)
        return fail("memfd_create", length);
    const char *call = dcli_memory_size(descriptor, length);
    if (call == NULL)
        call = map(descriptor, length, PROT_READ | PROT_WRITE, made_out);
    if (call == NULL) {
        dcli_memory_make_huge(descriptor, made_out->bytes, length);
        call = dcli_memory_reserve(descriptor, 0, length);
        if (call != NULL)
            close_after(made_out);
    }
    if (call != NULL) {
        dcl_status status = fail(call, length);
        close(descriptor);
        return status;
    }
    made_out->descriptor = descriptor;
    int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL | (use == DCLI_SEALED_READABLE ? F_SEAL_FUTURE_WRITE : 0);
    if (fcntl(descriptor, F_ADD_SEALS, seals) == 0)
        return DCL_OK;
    dcli_sealed_close(made_out);
    return DCLI_FAIL(DCL_ERR_UNSUPPORTED,
                     "fcntl(F_ADD_SEALS): %s; expected a system that can protect shared memory: "
                     "Linux 5.1 or newer",
                     strerror(errno));
}

/* Check the seals before mapping. Without them, its maker could remove pages while they are read, which kills the
 * reader. */
dcl_status dcli_sealed_map(int descriptor, size_t length, dcli_sealed_for use, dcli_sealed *mapped_out)
{
    struct stat found;
    int seals = fcntl(descriptor, F_GET_SEALS);
    if (seals < 0 || (seals & F_SEAL_SHRINK) == 0 || fstat(descriptor, &found) != 0)
        return DCLI_FAIL(DCL_ERR_PROTOCOL, "a descriptor of memory is of something that can shrink; expected a sealed "
                                           "memfd; let all processes run the same version of DCL");
    if (length == 0 || (uintmax_t)found.st_size != length)
        return DCLI_FAIL(DCL_ERR_PROTOCOL,
                         "shared memory has %" PRIdMAX
                         " bytes; expected %zu; let all processes run the same version of "
                         "DCL",
                         (intmax_t)found.st_size, length);
    const char *call =
        map(descriptor, length, use == DCLI_SEALED_WRITABLE ? PROT_READ | PROT_WRITE : PROT_READ, mapped_out);
    return call == NULL ? DCL_OK : fail(call, length);
}

bool dcli_sealed_is_writable(int descriptor)
{
    int seals = fcntl(descriptor, F_GET_SEALS);
    return seals >= 0 && (seals & (F_SEAL_WRITE | F_SEAL_FUTURE_WRITE)) == 0;
}

void dcli_sealed_close(dcli_sealed *memory)
{
    if (memory->bytes != NULL) {
        munmap(memory->bytes - FRONT_BYTES, FRONT_BYTES + whole_pages(memory->length));
        if (memory->descriptor >= 0)
            close(memory->descriptor);
    }
    *memory = (dcli_sealed){0};
}
