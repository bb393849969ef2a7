/* lower/lower.h - a batch of a plan for one device: the launches that compute it, the transfers before and after them. Pure. */
#ifndef DCLI_LOWER_LOWER_H
#define DCLI_LOWER_LOWER_H

#include "workqueue/plan.h"

/** What depends on the device, and on the node that it is. */
typedef struct dcli_traits {
    int self;            /* number of the node */
    bool is_gpu;         /* kernels in the form for GPUs: a launch per set of rows */
    bool in_place;       /* the device uses host memory in place */
    bool same_addresses; /* and kernels see it at the addresses that it has for the host */
    bool check_access;   /* kernels check everything they read and write */
    int compute_units;
    int64_t near_bytes; /* that a work-item gathers at once: as many as its nearest caches hold */
    int64_t shares;     /* work-items that share work of any number of parts: each has scratch memory of its own */
    double element_ns;  /* what an element of the body takes on one compute unit; 0: not known */
} dcli_traits;

/** How the elements of an access get to kernels, or from them: decided once, when a batch is lowered. */
typedef enum dcli_via {
    DCLI_VIA_BINDING, /* kernels use them where they are: own part, a peer's part, a replica, a stage that is filled */
    DCLI_VIA_GATHER,  /* kernels copy them into scratch memory first: kernel/gather.h */
    DCLI_VIA_HOST,    /* the host copies, in memory that it shares with the device */
    DCLI_VIA_KERNEL,  /* a kernel copies, within the device's memory */
    DCLI_VIA_WIRE,    /* a chunk has them, which comes or goes as a message */
    DCLI_VIA_COUNT
} dcli_via;

/** Where a piece is gathered from. */
typedef struct dcli_origin {
    int access;
    int64_t address; /* number in `source` of the batch */
} dcli_origin;

/** Rows that a GPU runs together: they differ in their own numbers alone (dcli_row_own()). */
typedef struct dcli_row_set {
    int64_t first, count; /* in `own` */
} dcli_row_set;

/** What kernels are given their rows by. */
typedef enum dcli_row_form {
    DCLI_ROWS_TABLE, /* processors: a table of all rows; launches that gather have more in it */
    DCLI_ROWS_SETS,  /* GPUs: a launch per set */
    DCLI_ROWS_EACH   /* tile kernels: a launch per row */
} dcli_row_form;

static inline dcli_row_form dcli_row_form_of(const dcli_traits *traits, const dcli_body *body)
{
    return body->tile_kernel ? DCLI_ROWS_EACH : traits->is_gpu ? DCLI_ROWS_SETS : DCLI_ROWS_TABLE;
}

/** Rows of one launch of a batch. */
typedef struct dcli_launch {
    dcli_variant variant;
    int64_t *row; /* [row_count][dcli_row_length()]; where there are sets: the first of each */
    int64_t row_count, row_capacity;
    int64_t *own; /* sets: [row_count] the own numbers of all rows, set by set */
    dcli_row_set *set;
    int64_t set_count, set_capacity;
    dcli_space space[DCLI_MAX_ACCESSES];         /* per access, where kernels find it; STAGE: in the arena */
    dcli_via via[DCLI_MAX_ACCESSES];             /* BINDING or GATHER */
    bool gathers;                                /* some access is gathered: its rows are in groups (gather.c) */
    int64_t *group, group_count, group_capacity; /* [group_count][DCLI_GROUP_LONGS] rows and pieces by number */
    dcli_transfers piece; /* from parts to the scratch memory of a work-item, both counted from their begin */
    dcli_origin *origin;  /* [piece.count] */
    int64_t origin_capacity;
    int64_t scratch_bytes;            /* most that a group gathers */
    int64_t elements, gathered_bytes; /* that are computed, and gathered, in all */
    int64_t next;                     /* of its bucket: number of another launch + 1; 0: none */
} dcli_launch;

enum { DCLI_LAUNCH_BUCKETS = 32 };

/** Where elements are gathered from: the part that a node has of an operand. */
typedef struct dcli_source_part {
    int operand, node;
} dcli_source_part;

/** All transfers of an operand between two spaces. */
typedef struct dcli_route {
    dcli_via via;
    int operand;
    dcli_space to, from; /* STAGE is the arena */
    dcli_transfers transfers;
    int64_t elements;
    int64_t low, end; /* of a chunk: offsets of the first element that is concerned, and behind the last */
} dcli_route;

typedef struct dcli_routes {
    dcli_route *route;
    int64_t count, capacity;
} dcli_routes;

/** A batch that is lowered. Its memory is the arena, which is made for each run, and what plans name. */
typedef struct dcli_lowered {
    dcli_launch *launch;
    int64_t launch_count, launch_capacity;
    int64_t bucket[DCLI_LAUNCH_BUCKETS]; /* launches by variant and bindings: number of the last one + 1; 0: none */
    dcli_routes routes; /* into stages and replicas before the batch runs, and out of stages after it */
    int64_t *stage_at;  /* [stage_count] where each stage begins in the arena, bytes */
    int64_t arena_bytes;
    dcli_source_part *source; /* whose addresses the arena begins with */
    int64_t source_count, source_capacity;
    int64_t scratch_at, scratch_bytes; /* in the arena, behind everything else: where, and how much per work-item */
} dcli_lowered;

/** Find places for the stages of a batch of a loop body, the transfers that fill and empty them, and the rows that kernels run.
 *  The same plan and traits give the same. @param lowered  starts as {0}. @return DCL_OK or DCL_ERR_NOMEM; to be freed in
 *  any case. */
dcl_status dcli_lower(const dcli_operation *operation, const dcli_plan *plan, const dcli_batch *batch,
                      const dcli_traits *traits, dcli_lowered *lowered);
void dcli_lowered_free(dcli_lowered *lowered);
/** Free the rows, groups and pieces of a launch: a table has them. */
void dcli_launch_drop_lists(dcli_launch *launch);
/** Memory that it takes. */
int64_t dcli_lowered_bytes(const dcli_lowered *lowered, const dcli_body *body);

/** Bytes of the arena that the scratch memory of all work-items takes. */
int64_t dcli_lowered_scratch_bytes(const dcli_lowered *lowered, const dcli_traits *traits);
/** The table of a launch that gathers (kernel/gather.h): freed with dcli_free(). @return DCL_OK or DCL_ERR_NOMEM. */
dcl_status dcli_gather_table(const dcli_body *body, const dcli_lowered *lowered, const dcli_launch *launch,
                             int64_t **table_out, size_t *bytes_out);

#endif
