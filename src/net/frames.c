/* net/frames.c - a pool of the frames that received messages reference, so that a steady loop allocates nothing per
 * message. */
#include "base/alloc.h"
#include "net/endpoint.h"

dcli_frames_pool *dcli_frames_pool_new(void)
{
    dcli_frames_pool *pool = dcli_calloc(1, sizeof *pool);
    if (pool == NULL)
        return NULL;
    pthread_mutex_init(&pool->lock, NULL);
    pool->holders = 1;
    return pool;
}

/** Free the pool. Called for the last reference, so no other thread can use it. */
static void destroy(dcli_frames_pool *pool)
{
    while (pool->unused != NULL) {
        dcli_frames *frames = pool->unused;
        pool->unused = frames->next;
        dcli_arena_free(&frames->arena);
        dcli_free(frames);
    }
    pthread_mutex_destroy(&pool->lock);
    dcli_free(pool);
}

void dcli_frames_pool_close(dcli_frames_pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    bool last = --pool->holders == 0;
    pthread_mutex_unlock(&pool->lock);
    if (last)
        destroy(pool);
}

dcli_frames *dcli_frames_take(dcli_frames_pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    dcli_frames *frames = pool->unused;
    if (frames != NULL) {
        pool->unused = frames->next;
        pool->holders++;
    }
    pthread_mutex_unlock(&pool->lock);
    if (frames != NULL)
        return frames;

    frames = dcli_calloc(1, sizeof *frames);
    if (frames == NULL)
        return NULL;
    frames->pool = pool;
    pthread_mutex_lock(&pool->lock);
    pool->holders++;
    pthread_mutex_unlock(&pool->lock);
    return frames;
}

void dcli_frames_return(dcli_frames *frames)
{
    dcli_frames_pool *pool = frames->pool;
    pthread_mutex_lock(&pool->lock);
    frames->next = pool->unused;
    pool->unused = frames;
    bool last = --pool->holders == 0;
    pthread_mutex_unlock(&pool->lock);
    if (last)
        destroy(pool);
}
