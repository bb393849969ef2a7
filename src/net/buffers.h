/* net/buffers.h - a pool of memory for chunks in transit. Reuse matters: fresh pages cost several times what copying
 * into them does. */
#ifndef DCLI_NET_BUFFERS_H
#define DCLI_NET_BUFFERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** A pool of buffers, used by all threads. It outlives the net whose endpoints send from it. */
typedef struct dcli_buffers dcli_buffers;
/** Make a pool of private memory. @return NULL: DCL_ERR_NOMEM. */
dcli_buffers *dcli_buffers_open(void);
/** Make a pool of memory that other processes map, so that payloads in it are sent without being copied. The others
 *  cannot write to it. @return NULL: DCL_ERR_NOMEM. */
dcli_buffers *dcli_buffers_open_shared(void);
/** Let the others write, too, to large buffers in regions that are made from now on, so that their devices can register
 *  these. Only where all processes of the session trust each other; small buffers stay protected, because records of
 *  this process lie between them. Nothing happens if the pool is private. */
void dcli_buffers_let_write(dcli_buffers *buffers);
/** Have a function called before a region is unmapped, by the thread that returns its last buffer. @param drop  gets the
 *  start of the region; false: it stays mapped until the process ends. NULL: none. */
void dcli_buffers_on_drop(dcli_buffers *buffers, bool (*drop)(void *user, const void *bytes), void *user);
/** Free the pool; all buffers must have been returned. NULL is accepted. */
void dcli_buffers_close(dcli_buffers *buffers);

/** Take a buffer of at least `bytes`, with undefined contents, aligned to a cache line. @return NULL: DCL_ERR_NOMEM. */
void *dcli_buffers_take(dcli_buffers *buffers, size_t bytes);
/** Take a buffer that has a region of just its size, begins on a page (2 MB if it has as much) and may be written by others. Its
 *  region is unmapped when it is returned. Only of shared pools. @return NULL (recorded). */
void *dcli_buffers_take_alone(dcli_buffers *buffers, size_t bytes);
/** Return a buffer to its pool. NULL is accepted. */
void dcli_buffers_give(void *buffer);

/** Bytes of all buffers of the pool, both in use and free. */
size_t dcli_buffers_bytes(const dcli_buffers *buffers);

/** Location of bytes in shared memory. */
typedef struct dcli_buffers_place {
    uint64_t region; /* unique number of the region: the pool never uses it again */
    size_t region_bytes;
    size_t offset;
    int descriptor; /* descriptor of the region; the pool's, valid while one of the region's buffers is in use */
} dcli_buffers_place;

/** Find the location of bytes. @return false: they are not in a buffer of this pool, or the pool is not shared. */
bool dcli_buffers_find(dcli_buffers *buffers, const void *bytes, size_t length, dcli_buffers_place *place_out);
/** Whether the pool still has the region with this number. */
bool dcli_buffers_has(dcli_buffers *buffers, uint64_t region);
/** Number of regions that the pool has freed so far. */
uint64_t dcli_buffers_dropped(const dcli_buffers *buffers);

#endif
