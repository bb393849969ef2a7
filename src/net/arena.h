/* net/arena.h - operations on the arena that holds the arrays and strings of a decoded message. */
#ifndef DCLI_NET_ARENA_H
#define DCLI_NET_ARENA_H

#include "net/message.h"

/** Free everything that was taken; the largest piece of memory is retained for reuse. */
void dcli_arena_reset(dcli_arena *arena);
/** Take memory from the arena, valid until the next reset. @return NULL (recorded). */
void *dcli_arena_take(dcli_arena *arena, size_t bytes);

#endif
