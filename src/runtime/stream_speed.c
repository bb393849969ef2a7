/* runtime/stream_speed.c - a short list of measured speeds, the last one first. */
#include "runtime/stream_speed.h"

#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"

enum { MOST_SPEEDS = 64 };

struct dcli_stream_speed {
    struct dcli_stream_speed *next;
    uint64_t key;
    dcli_tiles_speed speed;
    int nodes; /* for which the operation was split; 0: it was not */
    int64_t most_bytes, parts[DCL_MAX_RANK];
};

uint64_t dcli_stream_key(const dcli_loops_call *operation, const dcli_tiles *tiles)
{
    uint64_t key = dcli_hash_bytes(DCLI_HASH_START, operation->body, strlen(operation->body));
    for (int d = 0; d < operation->box.rank; d++)
        key = dcli_hash_word(key, (uint64_t)operation->box.count[d]);
    if (tiles->inner)
        key = dcli_hash_word(key, (uint64_t)tiles->box.count[tiles->box.rank - 1]);
    for (int a = 0; a < tiles->array_count; a++)
        for (int d = 0; d < tiles->array[a].grid.rank; d++)
            key = dcli_hash_word(key, (uint64_t)tiles->array[a].grid.extent[d]);
    return key;
}

/* Copies of pageable memory on processors, and pinned slots of a GPU; fixed costs are those of the operations of a step. On GPUs the
 * first steps must not be so small that their kernels have another form than those of the steps that are chosen then. */
static dcli_tiles_speed assume(const dcl_cluster *cluster)
{
    const dcli_tiles_speed processors = {.in_s = 1 / 3e9, .out_s = 1 / 3e9, .step_s = 300e-6, .shared = true};
    const dcli_tiles_speed gpus = {.in_s = 1 / 20e9, .out_s = 1 / 20e9, .index_s = 5e-13, .step_s = 100e-6};
    return cluster->has_gpus ? gpus : processors;
}

/* Find the place of a key in the list; if it is not there, that of the last one. */
static struct dcli_stream_speed **find(dcl_cluster *cluster, uint64_t key)
{
    struct dcli_stream_speed **at = &cluster->stream_speeds;
    while (*at != NULL && (*at)->key != key && (*at)->next != NULL)
        at = &(*at)->next;
    return at;
}

bool dcli_stream_speed_find(dcl_cluster *cluster, uint64_t key, dcli_tiles_speed *speed_out)
{
    *speed_out = assume(cluster);
    pthread_mutex_lock(&cluster->lock);
    struct dcli_stream_speed *found = *find(cluster, key);
    bool measured = found != NULL && found->key == key;
    if (measured) {
        *speed_out = found->speed;
    } else if (cluster->stream_speeds != NULL) {
        speed_out->in_s = cluster->stream_speeds->speed.in_s;
        speed_out->out_s = cluster->stream_speeds->speed.out_s;
    }
    pthread_mutex_unlock(&cluster->lock);
    return measured;
}

void dcli_stream_speed_keep(dcl_cluster *cluster, uint64_t key, const dcli_tiles_speed *speed)
{
    pthread_mutex_lock(&cluster->lock);
    int count = 0;
    for (const struct dcli_stream_speed *each = cluster->stream_speeds; each != NULL; each = each->next)
        count++;
    struct dcli_stream_speed **at = find(cluster, key), *kept = *at;
    if (kept != NULL && (kept->key == key || count >= MOST_SPEEDS))
        *at = kept->next; /* it is replaced */
    else
        kept = dcli_calloc(1, sizeof *kept);
    if (kept != NULL) {
        *kept = (struct dcli_stream_speed){.next = cluster->stream_speeds, .key = key, .speed = *speed};
        cluster->stream_speeds = kept;
    }
    pthread_mutex_unlock(&cluster->lock);
}

bool dcli_stream_parts_find(dcl_cluster *cluster, uint64_t key, int nodes, int64_t most_bytes,
                            int64_t parts_out[DCL_MAX_RANK])
{
    pthread_mutex_lock(&cluster->lock);
    const struct dcli_stream_speed *found = *find(cluster, key);
    bool split = found != NULL && found->key == key && found->nodes == nodes && found->most_bytes == most_bytes;
    if (split)
        memcpy(parts_out, found->parts, sizeof found->parts);
    pthread_mutex_unlock(&cluster->lock);
    return split;
}

void dcli_stream_parts_keep(dcl_cluster *cluster, uint64_t key, int nodes, int64_t most_bytes,
                            const int64_t parts[DCL_MAX_RANK])
{
    pthread_mutex_lock(&cluster->lock);
    struct dcli_stream_speed *found = *find(cluster, key);
    if (found != NULL && found->key == key) {
        found->nodes = nodes;
        found->most_bytes = most_bytes;
        memcpy(found->parts, parts, sizeof found->parts);
    }
    pthread_mutex_unlock(&cluster->lock);
}

void dcli_stream_speeds_free(dcl_cluster *cluster)
{
    while (cluster->stream_speeds != NULL) {
        struct dcli_stream_speed *first = cluster->stream_speeds;
        cluster->stream_speeds = first->next;
        dcli_free(first);
    }
}
