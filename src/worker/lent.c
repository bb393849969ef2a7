/* worker/lent.c - memory that the program lends and may take back at any time. */
#include "worker/lent.h"

#include <pthread.h>
#include <stdatomic.h>

#include "base/alloc.h"

struct dcli_lent {
    atomic_int holds;
    pthread_mutex_t lock; /* guards `memory`; also held while elements are copied from or to it */
    void *memory;         /* NULL: taken back */
};

dcli_lent *dcli_lend(void *memory)
{
    dcli_lent *lent = dcli_malloc(sizeof *lent);
    if (lent == NULL)
        return NULL;
    atomic_init(&lent->holds, 1);
    pthread_mutex_init(&lent->lock, NULL);
    lent->memory = memory;
    return lent;
}

dcli_lent *dcli_lent_keep(dcli_lent *lent)
{
    if (lent != NULL)
        atomic_fetch_add_explicit(&lent->holds, 1, memory_order_relaxed);
    return lent;
}

void dcli_lent_release(dcli_lent *lent)
{
    if (lent == NULL || atomic_fetch_sub_explicit(&lent->holds, 1, memory_order_acq_rel) > 1)
        return;
    pthread_mutex_destroy(&lent->lock);
    dcli_free(lent);
}

void dcli_lent_take_back(dcli_lent *lent)
{
    if (lent == NULL)
        return;
    pthread_mutex_lock(&lent->lock);
    lent->memory = NULL;
    pthread_mutex_unlock(&lent->lock);
    dcli_lent_release(lent);
}

void *dcli_lent_use(dcli_lent *lent)
{
    pthread_mutex_lock(&lent->lock);
    if (lent->memory != NULL)
        return lent->memory;
    pthread_mutex_unlock(&lent->lock);
    return NULL;
}

void dcli_lent_end_use(dcli_lent *lent) { pthread_mutex_unlock(&lent->lock); }
