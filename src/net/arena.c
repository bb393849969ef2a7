/* net/arena.c - an arena: memory that is taken piece by piece and freed all at once.
 * When the memory is too small, a larger piece is added. Older pieces stay until the reset, so pointers remain
 * valid. */
#include "net/arena.h"

#include "base/alloc.h"

static void free_older(dcli_arena *arena)
{
    while (arena->older != NULL) {
        dcli_arena *older = arena->older;
        arena->older = older->older;
        dcli_free(older->bytes);
        dcli_free(older);
    }
}

void dcli_arena_reset(dcli_arena *arena)
{
    arena->used = 0;
    if (arena->older != NULL)
        free_older(arena);
}

static bool enlarge(dcli_arena *arena, size_t bytes)
{
    size_t capacity = arena->capacity * 2 + bytes + 1024;
    char *larger = dcli_malloc(capacity);
    if (larger == NULL)
        return false;
    if (arena->bytes != NULL) {
        dcli_arena *older = dcli_malloc(sizeof *older);
        if (older == NULL) {
            dcli_free(larger);
            return false;
        }
        *older = *arena;
        arena->older = older;
    }
    arena->bytes = larger;
    arena->capacity = capacity;
    arena->used = 0;
    return true;
}

void *dcli_arena_take(dcli_arena *arena, size_t bytes)
{
    bytes = (bytes + 8) & ~(size_t)7; /* aligned, and never 0 bytes */
    if (bytes > arena->capacity - arena->used && !enlarge(arena, bytes))
        return NULL;
    void *memory = arena->bytes + arena->used;
    arena->used += bytes;
    return memory;
}

void dcli_arena_free(dcli_arena *arena)
{
    free_older(arena);
    dcli_free(arena->bytes);
    *arena = (dcli_arena){0};
}
