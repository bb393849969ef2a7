/* workqueue/storages.h - what a peer knows of each storage: who touched it last, and whether it failed. Pure. */
#ifndef DCLI_WORKQUEUE_STORAGES_H
#define DCLI_WORKQUEUE_STORAGES_H

#include <dcl/base.h>

/** A growing list of operation numbers. */
typedef struct dcli_numbers {
    int64_t *number;
    int64_t count, capacity;
} dcli_numbers;

typedef struct dcli_storage {
    int64_t id;              /* 0: a free slot of the table */
    int64_t last_write;      /* last operation seen that writes it, on any node */
    int64_t *last_read_by;   /* [peers] last operation seen in which this peer reads our part */
    int64_t *last_write_by;  /* [peers] last operation seen in which this peer's output goes to our part */
    int64_t prune_at;        /* entries of the lists below that make pruning worth its while */
    dcli_numbers failures;   /* operations after which it may hold anything */
    dcli_numbers overwrites; /* operations that write all of it anew */
} dcli_storage;

/** A table of storages by id. Start with {.peers = n}. */
typedef struct dcli_storages {
    int peers;
    dcli_storage **slot;
    int64_t count, capacity;
} dcli_storages;

/** The storage, made when it is not there. NULL: DCL_ERR_NOMEM. */
dcli_storage *dcli_storages_get(dcli_storages *table, int64_t id);
/** The storage, or NULL. */
dcli_storage *dcli_storages_find(const dcli_storages *table, int64_t id);
void dcli_storages_drop(dcli_storages *table, int64_t id);
void dcli_storages_free(dcli_storages *table);

/** Whether what operation `reader` finds in it may be anything: the last failure before it has not been overwritten. */
bool dcli_storage_failed(const dcli_storage *storage, int64_t reader);
dcl_status dcli_storage_fail(dcli_storage *storage, int64_t operation);
dcl_status dcli_storage_overwrite(dcli_storage *storage, int64_t operation);
/** Now and then, forget what only operations before `first` need: constant cost per operation on the average. */
void dcli_storage_prune(dcli_storage *storage, int64_t first);

#endif
