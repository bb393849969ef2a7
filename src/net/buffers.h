/* net/buffers.h - memory for chunks on their way, reused: fresh pages cost several times what copying into them does. */
#ifndef DCLI_NET_BUFFERS_H
#define DCLI_NET_BUFFERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** A stock of buffers, used by all threads. It outlives the net whose endpoints send from it. */
typedef struct dcli_buffers dcli_buffers;
/** @return NULL: DCL_ERR_NOMEM. */
dcli_buffers *dcli_buffers_open(void);
/** The same in regions of memory that other processes map: what lies in it is sent to them without being copied. They
 *  cannot write to it. @return NULL: DCL_ERR_NOMEM. */
dcli_buffers *dcli_buffers_open_shared(void);
/** All buffers have been given back. NULL is accepted. */
void dcli_buffers_close(dcli_buffers *buffers);

/** At least `bytes`, holding anything, aligned to a cache line. @return NULL: DCL_ERR_NOMEM. */
void *dcli_buffers_take(dcli_buffers *buffers, size_t bytes);
/** Back to the stock it was taken from. NULL is accepted. */
void dcli_buffers_give(void *buffer);

/** Bytes of all its buffers, those in use and those kept for the next use. */
size_t dcli_buffers_bytes(const dcli_buffers *buffers);

/** Where bytes lie in shared memory. */
typedef struct dcli_buffers_place {
    uint64_t region; /* its number: no other region of this stock has, had or will have it */
    size_t region_bytes;
    size_t offset;
    int descriptor; /* of the region: the stock's, valid as long as one of its buffers is taken */
} dcli_buffers_place;

/** @return false: they do not lie in a buffer of this stock, or it is not shared. */
bool dcli_buffers_find(dcli_buffers *buffers, const void *bytes, size_t length, dcli_buffers_place *place_out);
/** Whether the stock still has a region of this number. */
bool dcli_buffers_has(dcli_buffers *buffers, uint64_t region);
/** How many regions the stock has dropped so far. */
uint64_t dcli_buffers_dropped(const dcli_buffers *buffers);

#endif
