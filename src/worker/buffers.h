/* worker/buffers.h - memory for chunks on their way, reused: fresh pages cost several times what copying into them does. */
#ifndef DCLI_WORKER_BUFFERS_H
#define DCLI_WORKER_BUFFERS_H

#include "worker/worker.h"

/** At least `bytes`, holding anything, aligned to a cache line. @return NULL: DCL_ERR_NOMEM. */
void *dcli_buffers_take(dcli_buffers *buffers, size_t bytes);
/** Back to the stock it was taken from. NULL is accepted. */
void dcli_buffers_give(void *buffer);

#endif
