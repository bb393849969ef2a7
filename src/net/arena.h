/* net/arena.h - inside of the memory that a decoded message lives in. */
#ifndef DCLI_NET_ARENA_H
#define DCLI_NET_ARENA_H

#include "net/message.h"

/** Forget what was taken; the largest piece of memory is kept. */
void dcli_arena_reset(dcli_arena *arena);
/** Memory for anything, valid until the next reset. @return NULL (recorded). */
void *dcli_arena_take(dcli_arena *arena, size_t bytes);

#endif
