/* net/shared_memory.h - unnamed shared memory, shared by passing its descriptor, that cannot shrink while others map
 * it. */
#ifndef DCLI_NET_SHARED_MEMORY_H
#define DCLI_NET_SHARED_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

#include <dcl/base.h>

typedef enum dcli_sealed_for {
    DCLI_SEALED_WRITABLE, /* every process with the descriptor may write */
    DCLI_SEALED_READABLE  /* others can only read: only its maker has a writable mapping */
} dcli_sealed_for;

typedef struct dcli_sealed {
    unsigned char *bytes; /* start of the memory, aligned to 2 MB if it has as much; the page before it belongs to
                             this process alone */
    size_t length;
    int descriptor;
} dcli_sealed;

/** Make zeroed memory, mapped for writing. @return DCL_OK, DCL_ERR_NOMEM, DCL_ERR_UNSUPPORTED (the system cannot
 *  seal). */
dcl_status dcli_sealed_make(size_t length, dcli_sealed_for use, dcli_sealed *made_out);
/** Map memory that another process made, after checking that it has this length and is sealed. The descriptor remains
 *  the caller's; in `mapped_out` it is -1. @return DCL_OK, DCL_ERR_PROTOCOL (it is something else), DCL_ERR_NOMEM. */
dcl_status dcli_sealed_map(int descriptor, size_t length, dcli_sealed_for use, dcli_sealed *mapped_out);
/** Whether the seals of a descriptor's memory let this process map it for writing. */
bool dcli_sealed_is_writable(int descriptor);
/** Unmap, and close the descriptor if there is one. {0} is accepted. */
void dcli_sealed_close(dcli_sealed *memory);

#endif
