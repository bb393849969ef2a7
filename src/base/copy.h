/* base/copy.h - copies of memory that is larger than the caches. */
#ifndef DCLI_BASE_COPY_H
#define DCLI_BASE_COPY_H

#include <stddef.h>

enum {
    DCLI_STREAMED_BYTES = 16 << 20
}; /* from so many bytes on, most of what was copied would have left the caches when it is used */

/** Copy as memcpy() does, with stores that bypass the caches. For the chunks of a transfer of at least DCLI_STREAMED_BYTES. The copy is seen by every thread that sees
 *  what the caller writes afterwards. */
void dcli_copy_streamed(void *restrict target, const void *restrict source, size_t bytes);

#endif
