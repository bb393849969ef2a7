/* workqueue/storages.h - what a peer records about each storage: who accessed it last, and whether it failed. Pure
 * functions. */
#ifndef DCLI_WORKQUEUE_STORAGES_H
#define DCLI_WORKQUEUE_STORAGES_H

#include <dcl/base.h>

/** A growing list of operation numbers. */
typedef struct dcli_numbers {
    int64_t *number;
    int64_t count, capacity;
} dcli_numbers;

/** For one peer: the last operation seen in which the peer reads our part, and the last in which the peer writes to it;
 *  0: none. */
typedef struct dcli_touch {
    int peer;
    int64_t read, write;
} dcli_touch;

typedef struct dcli_storage {
    int64_t id;         /* id of the storage */
    int64_t last_write; /* last operation seen that writes it, on any node */
    dcli_touch *touch;  /* [touch_count] by peer, ascending: peers that may still access our part */
    int64_t touch_count, touch_capacity;
    int64_t prune_at;        /* dcli_storage_prune() acts when both lists together have over 32 entries more than
                                this */
    dcli_numbers failures;   /* operations after which its contents are undefined */
    int64_t failed_at;       /* for the caller: its number of failures known when the last of these was recorded */
    dcli_numbers overwrites; /* operations that overwrite all of it */
} dcli_storage;

/** A table of storages by id. Start with {0}. */
typedef struct dcli_storages {
    dcli_storage **slot; /* [capacity] a power of two, or 0; NULL: the slot is free */
    int64_t count, capacity;
} dcli_storages;

/** Find or make a storage. NULL: DCL_ERR_NOMEM. */
dcli_storage *dcli_storages_get(dcli_storages *table, int64_t id);
/** The storage, or NULL. */
dcli_storage *dcli_storages_find(const dcli_storages *table, int64_t id);
/** Remove a storage if the table has it. Pointers to other storages stay valid. */
void dcli_storages_drop(dcli_storages *table, int64_t id);
void dcli_storages_free(dcli_storages *table);

/** The entry of a peer; it is added if there is none. NULL: DCL_ERR_NOMEM. Pointers to other entries become invalid. */
dcli_touch *dcli_storage_touch(dcli_storage *storage, int peer);
/** The entry of a peer; an empty one if there is none. */
dcli_touch dcli_storage_touched(const dcli_storage *storage, int peer);

/** Whether its contents are undefined for operation `reader`: the last failure before it was not overwritten. */
bool dcli_storage_failed(const dcli_storage *storage, int64_t reader);
/** Record that its contents are undefined after this operation. No effect if that is recorded. @return DCL_OK or
 *  DCL_ERR_NOMEM. */
dcl_status dcli_storage_fail(dcli_storage *storage, int64_t operation);
/** Record that this operation overwrites all of it. @return DCL_OK or DCL_ERR_NOMEM. */
dcl_status dcli_storage_overwrite(dcli_storage *storage, int64_t operation);
/** Remove what only operations before `first` need, if the lists have grown enough: constant cost per operation on
 *  average. */
void dcli_storage_prune(dcli_storage *storage, int64_t first);

#endif
