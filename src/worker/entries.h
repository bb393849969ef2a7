/* worker/entries.h - the open and kept operations of a peer, in their order. Used by the thread of its peer. */
#ifndef DCLI_WORKER_ENTRIES_H
#define DCLI_WORKER_ENTRIES_H

#include <assert.h>
#include <stddef.h>

#include "net/message.h"
#include "worker/kernels.h"
#include "worker/lent.h"
#include "worker/plans.h"
#include "worker/storage_table.h"

/** The plans of an operation that were looked up, of this peer and of its partners: by peer, ascending. */
typedef struct dcli_entry_plans {
    struct dcli_peer_plan {
        int peer;
        dcli_cached_plan *plan; /* held */
    } * of;                     /* [count] */
    int64_t count, capacity;
} dcli_entry_plans;

/** The further fields of an entry whose operation is no FORALL. */
typedef struct dcli_entry_more {
    dcli_msg_operation descriptor; /* its strings are copied, its operands are not */
    dcli_region region;            /* with `lent`: the operation's box in that memory; else not set */
} dcli_entry_more;

/** An operation that this peer has begun and not retired, with all that it uses. Programs may be a thousand operations
 *  ahead, so an entry of a loop body takes little memory: most have room for DCLI_FEW_OPERANDS only, so the end of
 *  `operation` is not there. Unless noted otherwise, what an operation does not use is zero. */
typedef struct dcli_entry {
    bool kept;                 /* it is in the list of kept ones */
    bool is_small;             /* it has room for DCLI_FEW_OPERANDS, and no `more` */
    dcli_known_storage **held; /* [operand_count] the storage; NULL: a scalar. The list is part of the entry's memory */
    dcli_entry_more *more;     /* part of the entry's memory; not NULL: the operation may be other than FORALL */
    dcli_entry_plans plans;
    struct dcli_entry *before, *next; /* neighbours in its list */
    dcli_kernel *kernel;              /* its body; NULL: it is no loop body */
    dcli_transform *views;            /* [view_count] views that operands point to */
    dcli_shared_layout **shapes;      /* [view_count] layouts of reshaped views; else NULL */
    int view_count;
    dcl_steal_policy steal;   /* when its batches are lent */
    int64_t *numbers;         /* the numbers of all declarations, to which operands point; NULL: none */
    dcli_lent *lent;          /* host: memory of a READ or WRITE; else NULL */
    char *problem;            /* error text of a failure on this node; NULL: none */
    dcli_operation operation; /* must be last */
} dcli_entry;

enum { DCLI_FEW_OPERANDS = 6 };

/** The entry of an operation that the state machine knows. */
static inline dcli_entry *dcli_entry_of(const dcli_operation *operation)
{
    return (dcli_entry *)((uintptr_t)operation - offsetof(dcli_entry, operation));
}

typedef struct dcli_entries {
    dcli_entry *first, *last;           /* open */
    dcli_entry *kept_first, *kept_last; /* complete here, but batches of them may be borrowed (DCLI_DO_FINISH) */
    dcli_entry *spare[2];               /* ended entries for reuse; [1]: small ones */
    int64_t last_operation;             /* number of the last operation added */
} dcli_entries;

/** Free the list; all entries must have been removed before. */
void dcli_entries_free(dcli_entries *entries);
/** Take an empty entry that is in no list, for an operation of a kind (DCLI_OP_...) with at most `operands` operands.
 *  @return NULL: DCL_ERR_NOMEM. */
dcli_entry *dcli_entries_take(dcli_entries *entries, int kind, int operands);
/** Return an entry that is in no list: frees what it owns, but not the layouts in `shapes`. */
void dcli_entries_give(dcli_entries *entries, dcli_entry *entry);
/** Find the plan of a peer among those that were looked up. @return NULL: it was not. */
dcli_cached_plan *dcli_entry_plan(const dcli_entry *entry, int peer);
/** Make room for one more plan. @return DCL_OK or DCL_ERR_NOMEM. */
dcl_status dcli_entry_reserve_plan(dcli_entry *entry);
/** Add the plan of a peer that has none, with room made before. */
void dcli_entry_add_plan(dcli_entry *entry, int peer, dcli_cached_plan *plan);
/** Hold the plans of another entry, whose operation is the same but for its number. The entry has none. @return DCL_OK
 *  or DCL_ERR_NOMEM. */
dcl_status dcli_entry_copy_plans(dcli_entry *entry, const dcli_entry *from);
/** Append an entry to the list of open ones. */
void dcli_entries_append(dcli_entries *entries, dcli_entry *entry);
/** Move an entry from the list of open ones to the end of the list of kept ones. */
void dcli_entries_keep(dcli_entries *entries, dcli_entry *entry);
/** Remove an entry from its list. */
void dcli_entries_remove(dcli_entries *entries, dcli_entry *entry);
/** Find an open or kept operation by its number. @return NULL: there is none. */
dcli_entry *dcli_entries_find(const dcli_entries *entries, int64_t operation);
/** The first operation of a list, from its last entry on backwards, whose number is greater than `operation`. @return
 *  NULL: there is none. Cost: the number of these operations. */
dcli_entry *dcli_entries_after(dcli_entry *last, int64_t operation);
/** Number of the first open operation, or of the next one if none is open. */
int64_t dcli_entries_first_open(const dcli_entries *entries);

#endif
