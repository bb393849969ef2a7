/* net/shared_memory.h - memory without a name that is shared by passing its descriptor, and that cannot shrink under those
 * who map it. */
#ifndef DCLI_NET_SHARED_MEMORY_H
#define DCLI_NET_SHARED_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

#include <dcl/base.h>

typedef enum dcli_sealed_for {
    DCLI_SEALED_WRITABLE, /* whoever gets the descriptor may write */
    DCLI_SEALED_READABLE  /* others only read: the mapping of its maker remains the only one for writing */
} dcli_sealed_for;

typedef struct dcli_sealed {
    unsigned char
        *bytes; /* before them lies a private page of this process. Large ones begin at a multiple of a huge page */
    size_t length;
    int descriptor;
} dcli_sealed;

/** New memory of zeros, mapped for writing. @return DCL_OK, DCL_ERR_NOMEM, DCL_ERR_UNSUPPORTED (the system cannot seal). */
dcl_status dcli_sealed_make(size_t length, dcli_sealed_for use, dcli_sealed *made_out);
/** Map memory that another process made, after checking that it has this length and cannot change it. The descriptor stays
 *  the caller's; in `mapped_out` it is -1.
 *  @return DCL_OK, DCL_ERR_PROTOCOL (it is something else), DCL_ERR_NOMEM. */
dcl_status dcli_sealed_map(int descriptor, size_t length, dcli_sealed_for use, dcli_sealed *mapped_out);
/** Unmap, and close the descriptor if there is one. {0} is accepted. */
void dcli_sealed_close(dcli_sealed *memory);

#endif
