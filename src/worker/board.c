/* worker/board.c - addresses of parts in this process, by storage and node. */
#include "worker/board.h"

#include <pthread.h>
#include <sys/mman.h>

#include "base/alloc.h"
#include "base/hash.h"

struct entry {
    int64_t storage;
    int node;
    void *address;
    size_t mapped_bytes; /* 0: not ours to unmap */
    struct entry *next;
};

enum { BUCKETS = 1024 };

struct dcli_board {
    pthread_mutex_t lock;
    struct entry *bucket[BUCKETS];
};

static struct entry **bucket_of(dcli_board *board, int64_t storage)
{
    return &board->bucket[dcli_hash_word(DCLI_HASH_START, (uint64_t)storage) % BUCKETS];
}

static void free_entry(struct entry *entry)
{
    if (entry->mapped_bytes > 0)
        munmap(entry->address, entry->mapped_bytes);
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

dcl_status dcli_board_put(dcli_board *board, int64_t storage, int node, void *address)
{
    return dcli_board_put_mapped(board, storage, node, address, 0);
}

dcl_status dcli_board_put_mapped(dcli_board *board, int64_t storage, int node, void *address, size_t bytes)
{
    struct entry *fresh = dcli_malloc(sizeof *fresh);
    if (fresh == NULL)
        return DCL_ERR_NOMEM;
    pthread_mutex_lock(&board->lock);
    struct entry **bucket = bucket_of(board, storage);
    *fresh =
        (struct entry){.storage = storage, .node = node, .address = address, .mapped_bytes = bytes, .next = *bucket};
    *bucket = fresh;
    pthread_mutex_unlock(&board->lock);
    return DCL_OK;
}

void *dcli_board_get(dcli_board *board, int64_t storage, int node)
{
    void *address = NULL;
    pthread_mutex_lock(&board->lock);
    for (const struct entry *entry = *bucket_of(board, storage); entry != NULL; entry = entry->next)
        if (entry->storage == storage && entry->node == node) {
            address = entry->address;
            break;
        }
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
