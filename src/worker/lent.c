/* worker/lent.c - memory of the program, lent to a READ or WRITE until the call returns. */
#include "worker/lent.h"

#include <pthread.h>
#include <stdatomic.h>

#include "base/alloc.h"
#include "base/clock.h"

struct dcli_lent {
    atomic_int holds;
    pthread_mutex_t lock; /* guards the following fields */
    pthread_cond_t unused;
    void *memory; /* the program's memory; NULL: it was taken back */
    int uses;     /* number of copies from or to it that are running */
};

dcli_lent *dcli_lend(void *memory)
{
    dcli_lent *lent = dcli_malloc(sizeof *lent);
    if (lent == NULL)
        return NULL;
    atomic_init(&lent->holds, 1);
    pthread_mutex_init(&lent->lock, NULL);
    dcli_cond_init(&lent->unused);
    lent->memory = memory;
    lent->uses = 0;
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
    pthread_cond_destroy(&lent->unused);
    pthread_mutex_destroy(&lent->lock);
    dcli_free(lent);
}

void dcli_lent_take_back(dcli_lent *lent)
{
    if (lent == NULL)
        return;
    pthread_mutex_lock(&lent->lock);
    lent->memory = NULL;
    while (lent->uses > 0)
        pthread_cond_wait(&lent->unused, &lent->lock);
    pthread_mutex_unlock(&lent->lock);
    dcli_lent_release(lent);
}

void *dcli_lent_use(dcli_lent *lent)
{
    pthread_mutex_lock(&lent->lock);
    void *memory = lent->memory;
    lent->uses += memory != NULL;
    pthread_mutex_unlock(&lent->lock);
    return memory;
}

void dcli_lent_end_use(dcli_lent *lent)
{
    pthread_mutex_lock(&lent->lock);
    if (--lent->uses == 0)
        pthread_cond_broadcast(&lent->unused);
    pthread_mutex_unlock(&lent->lock);
}
