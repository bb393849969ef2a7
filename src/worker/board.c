/* worker/board.c - addresses of parts in this process, by storage and node. */
#include "worker/board.h"

#include <inttypes.h>
#include <pthread.h>
#include <sys/mman.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/hash.h"

struct entry {
    int64_t storage;
    int node;
    void *address;
    size_t bytes;
    bool mapped; /* ours to unmap */
    struct entry *next;
};

enum { BUCKETS = 1024 };

struct dcli_board {
    pthread_mutex_t lock; /* what follows */
    struct entry *bucket[BUCKETS];
};

static struct entry **bucket_of(dcli_board *board, int64_t storage)
{
    return &board->bucket[dcli_hash_word(DCLI_HASH_START, (uint64_t)storage) % BUCKETS];
}

static void free_entry(struct entry *entry)
{
    if (entry->mapped)
        munmap(entry->address, entry->bytes);
    dcli_free(entry);
}

dcli_board *dcli_board_open(void)
{
    dcli_board *board = dcli_calloc(1, sizeof *board);
    if (board != NULL)
        pthread_mutex_init(&board->lock, NULL);
    return board;
}

void dcli_board_close(dcli_board *board)
{
    if (board == NULL)
        return;
    for (int b = 0; b < BUCKETS; b++)
        for (struct entry *entry = board->bucket[b], *next; entry != NULL; entry = next) {
            next = entry->next;
            free_entry(entry);
        }
    pthread_mutex_destroy(&board->lock);
    dcli_free(board);
}

static struct entry *find(dcli_board *board, int64_t storage, int node)
{
    struct entry *entry = *bucket_of(board, storage);
    while (entry != NULL && (entry->storage != storage || entry->node != node))
        entry = entry->next;
    return entry;
}

static dcl_status put(dcli_board *board, const struct entry *contents)
{
    struct entry *fresh = dcli_malloc(sizeof *fresh);
    if (fresh == NULL)
        return DCL_ERR_NOMEM;
    *fresh = *contents;
    pthread_mutex_lock(&board->lock);
    bool again = find(board, fresh->storage, fresh->node) != NULL;
    struct entry **bucket = bucket_of(board, fresh->storage);
    fresh->next = *bucket;
    if (!again)
        *bucket = fresh;
    pthread_mutex_unlock(&board->lock);
    if (!again)
        return DCL_OK;
    dcli_free(fresh);
    return DCLI_FAIL(DCL_ERR_PROTOCOL, "node %d shows its part of storage %" PRId64 " again", contents->node,
                     contents->storage);
}

dcl_status dcli_board_put(dcli_board *board, int64_t storage, int node, void *address, size_t bytes)
{
    return put(board, &(struct entry){.storage = storage, .node = node, .address = address, .bytes = bytes});
}

dcl_status dcli_board_put_mapped(dcli_board *board, int64_t storage, int node, void *address, size_t bytes)
{
    return put(board,
               &(struct entry){.storage = storage, .node = node, .address = address, .bytes = bytes, .mapped = true});
}

void *dcli_board_get(dcli_board *board, int64_t storage, int node, size_t bytes)
{
    pthread_mutex_lock(&board->lock);
    const struct entry *entry = find(board, storage, node);
    void *address = entry != NULL && entry->bytes >= bytes ? entry->address : NULL;
    pthread_mutex_unlock(&board->lock);
    return address;
}

/* @param node  negative: all. */
static void drop(dcli_board *board, int64_t storage, int node)
{
    pthread_mutex_lock(&board->lock);
    for (struct entry **at = bucket_of(board, storage); *at != NULL;) {
        struct entry *entry = *at;
        if (entry->storage == storage && (node < 0 || entry->node == node)) {
            *at = entry->next;
            free_entry(entry);
        } else {
            at = &entry->next;
        }
    }
    pthread_mutex_unlock(&board->lock);
}

void dcli_board_drop(dcli_board *board, int64_t storage, int node) { drop(board, storage, node); }

void dcli_board_drop_storage(dcli_board *board, int64_t storage) { drop(board, storage, -1); }
