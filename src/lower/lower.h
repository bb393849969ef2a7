/* lower/lower.h - lower a batch of a plan for one device: the launches that compute it, and the transfers before and
 * after them. Pure functions. */
#ifndef DCLI_LOWER_LOWER_H
#define DCLI_LOWER_LOWER_H

#include "workqueue/plan.h"

/** The properties of a device, and of its node, that lowering depends on. */
typedef struct dcli_traits {
    int self;            /* number of this node */
    bool is_gpu;         /* its kernels have the form for GPUs, with a launch per set of rows */
    bool in_place;       /* the device works in host memory */
    bool reads_peers;    /* its kernels can read parts of other nodes that lie in those nodes' device memory */
    bool same_addresses; /* its kernels can read host memory at the host's addresses */
    bool check_access;   /* kernels check all reads and writes (DCL_CHECK=access) */
    bool multiplies;     /* a library computes the rows that are products (kernel/product.h) */
    int compute_units;
    int64_t near_bytes;     /* most bytes that a work-item gathers at a time: what the nearest caches hold */
    int64_t shares;         /* number of work-items of a launch, each of which runs a share of its rows or groups; if
                           they gather, each has scratch memory of its own */
    int64_t strip_elements; /* GPUs that read peers: elements of a strip of own or peers' rows (mixed.c) */
    double element_ns;      /* time of one element of the body on one compute unit; 0: unknown */
} dcli_traits;

/** How the elements of an access get to kernels or from them, or how a route copies elements. Decided once, when a
 *  batch is lowered. */
typedef enum dcli_via {
    DCLI_VIA_BINDING, /* in place: own part, a peer's part, a replica, or a stage that is filled */
    DCLI_VIA_GATHER,  /* the kernel itself copies them into scratch memory first: kernel/gather.h */
    DCLI_VIA_HOST,    /* the host copies them, in memory that it shares with the device */
    DCLI_VIA_KERNEL,  /* a kernel of the device copies them, within its memory or out of another GPU's */
    DCLI_VIA_WIRE,    /* they go through a chunk, a message from or to another node */
    DCLI_VIA_COUNT
} dcli_via;

/** Where a gathered piece comes from: the access that reads it, and a node's part. */
typedef struct dcli_origin {
    int access;
    int64_t address; /* index in dcli_lowered.source */
} dcli_origin;

/** A set of rows that a GPU runs in one launch: they differ only in their own numbers (dcli_row_own()). */
typedef struct dcli_row_set {
    int64_t first, count; /* rows first .. first + count - 1 of `own` */
} dcli_row_set;

/** How kernels get their rows. */
typedef enum dcli_row_form {
    DCLI_ROWS_TABLE, /* CPUs: one launch, with a table of all rows; with gathering the table has further sections */
    DCLI_ROWS_SETS,  /* GPUs: one launch per set of rows */
    DCLI_ROWS_EACH   /* tile kernels: a launch per row */
} dcli_row_form;

static inline dcli_row_form dcli_row_form_of(const dcli_traits *traits, const dcli_body *body)
{
    return body->tile_kernel ? DCLI_ROWS_EACH : traits->is_gpu ? DCLI_ROWS_SETS : DCLI_ROWS_TABLE;
}

/** A launch of a batch: a kernel, the memory of its arguments, and the rows that it runs. */
typedef struct dcli_launch {
    dcli_variant variant;
    int64_t *row; /* [row_count][dcli_row_length()]; with sets: only the first row of each set */
    int64_t row_count, row_capacity;
    int64_t *own; /* with sets: [row_count] own numbers of all rows, set by set */
    dcli_row_set *set;
    int64_t set_count, set_capacity;
    dcli_space space[DCLI_MAX_ACCESSES];         /* per access, the memory that is the kernel's argument; STAGE: the
                                                    arena */
    dcli_via via[DCLI_MAX_ACCESSES];             /* per access: read or written in place, or gathered */
    bool streams;                                /* variant UNIT, for which dcl_streamed is better */
    bool multiplies;                             /* each row is a product that a library computes; no kernel runs */
    bool gathers;                                /* some access is gathered: its rows are in groups (gather.c) */
    bool mixed;                                  /* rows with odd numbers use `there` in place of `space` (mixed.c) */
    dcli_space there[DCLI_MAX_ACCESSES];         /* if mixed, per access */
    int64_t *group, group_count, group_capacity; /* [group_count][DCLI_GROUP_LONGS] for each group: its first row,
                                                    number of rows, first piece, number of pieces */
    dcli_transfers piece;                        /* with gathering: transfers from parts of arrays to the scratch
                                                    memory of a work-item */
    dcli_origin *origin;                         /* [piece.count] where each of these pieces comes from */
    int64_t origin_capacity;
    int64_t scratch_bytes;            /* with gathering: most bytes that a group of this launch gathers */
    int64_t elements, gathered_bytes; /* with gathering: elements computed and bytes gathered by all groups */
    int64_t next;                     /* hash table of launches: number of the next launch in this one's bucket + 1;
                                         0: none */
} dcli_launch;

enum { DCLI_LAUNCH_BUCKETS = 32 };

/** A part of an array from which kernels gather: that of `node`, of operand `operand`. */
typedef struct dcli_source_part {
    int operand, node;
} dcli_source_part;

/** A route: all transfers of an operand's elements from one memory (space) to another. */
typedef struct dcli_route {
    dcli_via via;
    int operand;
    dcli_space to, from; /* the two memories; kind STAGE: the arena */
    dcli_transfers transfers;
    int64_t elements;
    int64_t low, end; /* the offsets that the route uses in a chunk: the first, and one past the last */
} dcli_route;

typedef struct dcli_routes {
    dcli_route *route;
    int64_t count, capacity;
} dcli_routes;

/** A lowered batch: launches, and routes before and after them. They use the arena, memory that is allocated each time
 *  the batch runs, and the memory that the plan names. The arena has, in this order: addresses of source parts, stages,
 *  scratch memory. */
typedef struct dcli_lowered {
    dcli_launch *launch;
    int64_t launch_count, launch_capacity;
    int64_t bucket[DCLI_LAUNCH_BUCKETS]; /* hash table of launches by variant and bindings: number of the last one +
                                            1; 0: none */
    dcli_routes routes; /* transfers into stages and replicas, carried out before the launches, and out of stages,
                           carried out after them */
    int64_t *stage_at;  /* [stage_count] offset of each stage in the arena, bytes */
    int64_t arena_bytes;
    dcli_source_part *source; /* the parts of arrays from which kernels gather; the arena begins with their addresses */
    int64_t source_count, source_capacity;
    bool reads_peers; /* kernels, or copies that may end after the batch has been started, read parts of peers */
    int64_t scratch_at, scratch_bytes; /* offset of the scratch memory in the arena; its size for one work-item */
} dcli_lowered;

/** Lower a batch of a loop body: place its stages, find the transfers that fill and empty them, and make the rows that
 *  kernels run. Deterministic for a plan and traits.
 *  @param lowered  starts as {0}.
 *  @return DCL_OK or DCL_ERR_NOMEM; free it in any case. */
dcl_status dcli_lower(const dcli_operation *operation, const dcli_plan *plan, const dcli_batch *batch,
                      const dcli_traits *traits, dcli_lowered *lowered);
void dcli_lowered_free(dcli_lowered *lowered);
/** Free the rows, groups and pieces of a launch, once its table contains them. */
void dcli_launch_drop_lists(dcli_launch *launch);
/** Bytes of host memory that a lowered batch takes. */
int64_t dcli_lowered_bytes(const dcli_lowered *lowered, const dcli_body *body);

/** Bytes of the arena that are scratch memory, of all work-items together. */
int64_t dcli_lowered_scratch_bytes(const dcli_lowered *lowered, const dcli_traits *traits);
/** Build the table of a launch that gathers (kernel/gather.h); freed with dcli_free(). @return DCL_OK or
 *  DCL_ERR_NOMEM. */
dcl_status dcli_gather_table(const dcli_body *body, const dcli_lowered *lowered, const dcli_launch *launch,
                             int64_t **table_out, size_t *bytes_out);

#endif
