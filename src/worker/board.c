/* worker/board.c - addresses of parts in this process, by storage and node. */
#include "worker/board.h"

#include <pthread.h>

#include "base/alloc.h"
#include "base/hash.h"

struct entry {
    int64_t storage;
    int node;
    void *address;
    struct entry *next;
};

enum { BUCKETS = 1024 };

struct dcli_board {
    pthread_mutex_t lock;
    struct entry *bucket[BUCKETS];
};

static struct entry **bucket_of(dcli_board *board, int64_t storage, int node)
{
    uint64_t hash = dcli_hash_word(dcli_hash_word(DCLI_HASH_START, (uint64_t)storage), (uint64_t)node);
    return &board->bucket[hash % BUCKETS];
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
            dcli_free(entry);
        }
    pthread_mutex_destroy(&board->lock);
    dcli_free(board);
}

dcl_status dcli_board_put(dcli_board *board, int64_t storage, int node, void *address)
{
    struct entry *fresh = dcli_malloc(sizeof *fresh);
    if (fresh == NULL)
        return DCL_ERR_NOMEM;
    pthread_mutex_lock(&board->lock);
    struct entry **bucket = bucket_of(board, storage, node);
    *fresh = (struct entry){.storage = storage, .node = node, .address = address, .next = *bucket};
    *bucket = fresh;
    pthread_mutex_unlock(&board->lock);
    return DCL_OK;
}

void *dcli_board_get(dcli_board *board, int64_t storage, int node)
{
    void *address = NULL;
    pthread_mutex_lock(&board->lock);
    for (const struct entry *entry = *bucket_of(board, storage, node); entry != NULL; entry = entry->next)
        if (entry->storage == storage && entry->node == node) {
            address = entry->address;
            break;
        }
    pthread_mutex_unlock(&board->lock);
    return address;
}

void dcli_board_drop(dcli_board *board, int64_t storage, int node)
{
    pthread_mutex_lock(&board->lock);
    for (struct entry **at = bucket_of(board, storage, node); *at != NULL; at = &(*at)->next)
        if ((*at)->storage == storage && (*at)->node == node) {
            struct entry *entry = *at;
            *at = entry->next;
            dcli_free(entry);
            break;
        }
    pthread_mutex_unlock(&board->lock);
}
