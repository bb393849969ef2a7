/* worker/buffers.c - a stock of buffers in classes of powers of two, bounded in bytes. */
#include "worker/buffers.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/error.h"

enum { LEAST_SHIFT = 12, CLASSES = 40, HEADER_BYTES = 64 };
static const size_t most_kept_bytes = (size_t)64 << 20;

/* Stands before the bytes of a buffer. */
struct header {
    dcli_buffers *owner;
    struct header *next;
    int class;
};

struct dcli_buffers {
    pthread_mutex_t lock;
    struct header *kept[CLASSES];
    size_t kept_bytes;
};

static size_t bytes_of(int class) { return (size_t)1 << (LEAST_SHIFT + class); }

dcli_buffers *dcli_buffers_open(void)
{
    dcli_buffers *buffers = dcli_calloc(1, sizeof *buffers);
    if (buffers != NULL)
        pthread_mutex_init(&buffers->lock, NULL);
    return buffers;
}

void dcli_buffers_close(dcli_buffers *buffers)
{
    if (buffers == NULL)
        return;
    for (int c = 0; c < CLASSES; c++)
        while (buffers->kept[c] != NULL) {
            struct header *header = buffers->kept[c];
            buffers->kept[c] = header->next;
            free(header);
        }
    pthread_mutex_destroy(&buffers->lock);
    dcli_free(buffers);
}

static struct header *take_kept(dcli_buffers *buffers, int class)
{
    pthread_mutex_lock(&buffers->lock);
    struct header *header = buffers->kept[class];
    if (header != NULL) {
        buffers->kept[class] = header->next;
        buffers->kept_bytes -= bytes_of(class);
    }
    pthread_mutex_unlock(&buffers->lock);
    return header;
}

void *dcli_buffers_take(dcli_buffers *buffers, size_t bytes)
{
    int class = 0;
    while (class < CLASSES && bytes_of(class) < bytes)
        class ++;
    struct header *header = class < CLASSES ? take_kept(buffers, class) : NULL;
    if (header == NULL && class < CLASSES)
        header = aligned_alloc(HEADER_BYTES, HEADER_BYTES + bytes_of(class));
    if (header == NULL) {
        DCLI_FAIL(DCL_ERR_NOMEM,
                  "out of memory: %zu bytes for data on its way; set DCL_POOL_BYTES to less, or use smaller "
                  "arrays",
                  bytes);
        return NULL;
    }
    *header = (struct header){.owner = buffers, .class = class};
    return (char *)header + HEADER_BYTES;
}

void dcli_buffers_give(void *buffer)
{
    if (buffer == NULL)
        return;
    struct header *header = (struct header *)((char *)buffer - HEADER_BYTES);
    dcli_buffers *buffers = header->owner;
    size_t bytes = bytes_of(header->class);
    pthread_mutex_lock(&buffers->lock);
    bool keep = buffers->kept_bytes + bytes <= most_kept_bytes;
    if (keep) {
        header->next = buffers->kept[header->class];
        buffers->kept[header->class] = header;
        buffers->kept_bytes += bytes;
    }
    pthread_mutex_unlock(&buffers->lock);
    if (!keep)
        free(header);
}
