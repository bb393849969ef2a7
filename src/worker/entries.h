/* worker/entries.h - the operations that are open at a peer, in their order. Used by the thread of its peer. */
#ifndef DCLI_WORKER_ENTRIES_H
#define DCLI_WORKER_ENTRIES_H

#include "net/message.h"
#include "worker/holdings.h"
#include "worker/kernels.h"
#include "worker/lent.h"
#include "worker/plans.h"

/** An open operation. */
typedef struct dcli_entry {
    dcli_operation operation;      /* first, so that the address of one is the address of the other */
    dcli_msg_operation descriptor; /* strings copied; operands not */
    dcli_kernel *kernel;
    dcli_held *held[DCLI_MAX_PARAMS];
    dcli_transform *views;       /* [view_count] that operands point to */
    dcli_shared_layout **shapes; /* [view_count] the same, where an array is seen in another shape; else NULL */
    int view_count;
    int64_t *numbers;      /* that operands point to, of what is declared; NULL: none */
    dcli_kept_plan **plan; /* [peers] */
    dcli_lent *lent;       /* host: READ, WRITE; else NULL */
    dcli_region region;    /* host: the box in that memory */
    char *problem;         /* sentence of a failure found here */
    struct dcli_entry *next;
} dcli_entry;

typedef struct dcli_entries {
    int peers;
    dcli_entry *first, *last;
    dcli_entry *spare;      /* ended ones, kept for reuse */
    int64_t last_operation; /* number of the last one that was added */
} dcli_entries;

/** What frees all of it has retired all entries. */
void dcli_entries_free(dcli_entries *entries);
/** An empty entry that is in no list. @return NULL: DCL_ERR_NOMEM. */
dcli_entry *dcli_entries_take(dcli_entries *entries);
/** Give it back: what it owns is freed, but not what its `shapes` name. It is in no list. */
void dcli_entries_give(dcli_entries *entries, dcli_entry *entry);
/** Put it behind all others. */
void dcli_entries_append(dcli_entries *entries, dcli_entry *entry);
/** Take it out of the list. */
void dcli_entries_remove(dcli_entries *entries, dcli_entry *entry);
/** Number of the first one, or of the next one to come where there is none. */
int64_t dcli_entries_first_open(const dcli_entries *entries);

#endif
