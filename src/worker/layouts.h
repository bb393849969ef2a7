/* worker/layouts.h - layouts that the peers of one process share: equal grids and maps are one object, so that plans
 * are found by address by all of these peers. Used by all threads. */
#ifndef DCLI_WORKER_LAYOUTS_H
#define DCLI_WORKER_LAYOUTS_H

#include <pthread.h>

#include "resmap/layout.h"

/** A layout that peers share; immutable while it has uses. */
typedef struct dcli_common_layout {
    dcli_layout layout;
    int64_t uses; /* guarded by the lock of dcli_layouts */
    struct dcli_common_layout *next;
} dcli_common_layout;

typedef struct dcli_layouts {
    pthread_mutex_t lock; /* guards the list and the numbers of uses; no other lock is taken under it */
    dcli_common_layout *first;
} dcli_layouts;

void dcli_layouts_init(dcli_layouts *layouts);
/** Free; all uses have ended. */
void dcli_layouts_free(dcli_layouts *layouts);
/** Get the shared layout that equals this one, or share this one; adds a use. Takes it over. @return NULL:
 *  DCL_ERR_NOMEM. */
const dcli_layout *dcli_layouts_share(dcli_layouts *layouts, const dcli_layout *layout);
/** End a use of a shared layout; the last one frees it. */
void dcli_layouts_end_use(dcli_layouts *layouts, const dcli_layout *layout);

#endif
