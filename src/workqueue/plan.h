/* workqueue/plan.h - plan(operation, node): its tasks and its transfers. Pure: the same on every process.
 *
 * A node's tiles are grouped into batches: what is staged, granted and launched at once. The index space of a batch is cut
 * into works: boxes in which every access is affine in one storage. An access is bound to the node's own part, to a peer's
 * part read in place, or to a stage: a packed copy of the footprint, filled from own part, peers' parts or chunks. */
#ifndef DCLI_WORKQUEUE_PLAN_H
#define DCLI_WORKQUEUE_PLAN_H

#include "base/ways.h"
#include "segment/transfer.h"
#include "workqueue/kept.h"

/** What planning depends on beside the operation; the same on all nodes of a session. Peer number node_count is the
 *  host. */
typedef struct dcli_plan_terms {
    int node_count;
    const dcli_node_ways *ways; /* [node_count] */
    int64_t batch_bytes;        /* size aimed at for the first output's part of a batch; tiles much larger are cut */
    int64_t chunk_bytes;        /* most bytes of a chunk, unless the pool is small or one element is larger */
    int64_t pool_bytes;         /* most bytes of chunks a node holds */
    int64_t kept_bytes;         /* most bytes of kept copies a node holds, without what lies between their rows */
    const dcli_kept *kept;      /* what nodes have kept before this operation; NULL: nothing */
    bool detailed;              /* FORALL, MOVE: plan->detail is made, too: for reports */
    bool no_points;             /* for tests: plan_points.c is not used */
    bool streams;               /* only what others exchange with the planned node: see dcli_plan_make() */
} dcli_plan_terms;

/** What kernels check the indices of an access against, per axis of the array. */
typedef struct dcli_limits {
    int64_t low[DCL_MAX_RANK], count[DCL_MAX_RANK]; /* indices that are there */
    /* HALO, CROSS: as declared; BOX, FUNCTION: stride of the indices that are there; others: 0. */
    int64_t width[DCL_MAX_RANK];
} dcli_limits;

/** Where one access of one work finds its elements. */
typedef struct dcli_binding {
    dcli_space_kind kind;
    int where;                  /* PEER: node; STAGE, REPLICA: number in plan->stage */
    int64_t offset;             /* elements, of the first index of the work (AFFINE) or of low[] (others) */
    int64_t step[DCL_MAX_RANK]; /* AFFINE: per loop axis; others: per axis of the array */
    const dcli_limits *limits;  /* NULL for AFFINE accesses of loop bodies: dcli_limits_of() finds them anew */
} dcli_binding;

/** A box of the index space run by one kind of kernel. */
typedef struct dcli_work {
    dcl_box box;
    bool checked;          /* some read may be outside its grid */
    int64_t first_binding; /* plan->binding, one per access of the body */
} dcli_work;

/** Elements that are copied into (or, for outputs, out of) a stage. */
typedef struct dcli_piece {
    dcli_space_kind kind; /* any but STAGE */
    int where;            /* the number in it: PEER: node; REPLICA: in plan->stage; CHUNK: in plan->chunk */
    dcli_region region;   /* in that storage; CHUNK: in the chunk, offset in elements from byte_offset */
    int64_t byte_offset;  /* CHUNK: where in the chunk */
} dcli_piece;

/** What becomes of a stage. */
typedef enum dcli_stage_kept {
    DCLI_STAGE_PASSING, /* ends with its batch */
    DCLI_STAGE_KEEP,    /* filled by this batch, or by several one after the other, and kept */
    DCLI_STAGE_KEPT     /* filled by an operation before, or an earlier batch: the copy of this very box */
} dcli_stage_kept;

/** A temporary: `box` as dcli_region_padded() lays it. It may go beyond an axis of the array that is periodic. Boxes of pieces
 *  that are copied in are as the stage's. */
typedef struct dcli_stage {
    int operand;
    dcl_box box;
    int64_t elements; /* of its memory, those between rows included */
    bool rest;        /* elements that are stored nowhere are read: all get the layout's rest before the pieces */
    int64_t first_in, in_count;   /* pieces copied in before the launch */
    int64_t first_out, out_count; /* outputs: pieces copied out after it (OWN; CHUNK: into U chunks) */
    dcli_stage_kept kept;
    dcli_policy policy; /* KEEP: by which the replica is kept */
    bool unfinished;    /* KEEP: a later batch copies more into it */
} dcli_stage;

/** A box of elements in a chunk: packed, last axis fastest, at byte_offset (aligned to 8). */
typedef struct dcli_item {
    int operand;
    int64_t chunk;      /* number in plan->chunk */
    dcli_region region; /* in the owner's storage */
    int64_t byte_offset;
} dcli_item;

/** An item of one element, as plans keep these: there may be millions. In its chunk each takes 8 bytes. */
typedef struct dcli_spot {
    int64_t number; /* of the element in the array's grid, row-major */
    int64_t offset; /* in the owner's storage */
    int32_t operand, chunk;
} dcli_spot;

/** The grid that numbers of elements belong to. */
typedef struct dcli_spot_grid {
    dcl_grid grid;
    dcli_divisor by_extent[DCL_MAX_RANK];
} dcli_spot_grid;

/** A message of data. Streams: T (peer -> this node, what it reads) and U (this node -> peer, what it writes). Chunks of
 *  one stream and peer are numbered 0, 1, ... in the order of this list. */
typedef struct dcli_chunk {
    bool written; /* U */
    int peer;
    int64_t number;
    int64_t bytes;
    int64_t first_batch, last_batch; /* T: read by; U: both the batch that makes it */
    int64_t first_item, item_count;
} dcli_chunk;

typedef struct dcli_batch {
    int64_t first_tile, tile_count;
    int64_t first_work, work_count;
    int64_t first_stage, stage_count;
    int64_t first_chunk, chunk_count; /* T chunks first read by this batch */
    int64_t first_made, made_count;   /* U chunks it makes */
} dcli_batch;

typedef struct dcli_plan_detail dcli_plan_detail; /* plan_detail.h */

/** Limits stay where they are while a plan grows: they lie in a chain of blocks. */
typedef struct dcli_limits_block dcli_limits_block;

/** A plan. Lists are its own; free with dcli_plan_free(). */
typedef struct dcli_plan {
    int64_t batch_count, work_count, binding_count, stage_count, piece_count, chunk_count, item_count;
    dcli_batch *batch;
    dcli_work *work;
    dcli_binding *binding;
    dcli_stage *stage;
    dcli_piece *piece;
    dcli_chunk *chunk;
    dcli_item *item;           /* read by dcli_plan_item() */
    dcli_spot *spot;           /* instead of `item`, where all items are single elements, */
    dcli_spot_grid *spot_grid; /* [operand_count] of these */
    dcli_limits_block *limits;
    bool *peer_read;          /* [node_count + 1] parts of these peers are read in place */
    bool local;               /* dcli_operation_is_local() */
    int64_t live_bytes;       /* most bytes of received chunks that are needed at once */
    int64_t space[8];         /* capacities of the lists above */
    dcl_counters counters;    /* the planned ones */
    dcli_plan_detail *detail; /* NULL unless asked for */
    dcl_status status;        /* DCL_ERR_NOMEM: a batch needs more than the pool; the sentence is in `problem` */
    char problem[256];
} dcli_plan;

/** Plan `operation` for node `self` (node_count: the host).
 *  With terms->streams the plan has batches, chunks, items, peer_read, live_bytes, status and the copies that are kept as
 *  without; works, bindings, pieces, other stages and counters are left out. That is all that a node uses of the plans of
 *  its peers, and it costs a fraction of the time and memory. (A cluster of one node has none: its batches may be others.)
 *  @return DCL_OK (also when plan->status is not: that is the same on every node), or DCL_ERR_NOMEM for the plan's own
 *          memory. */
dcl_status dcli_plan_make(const dcli_operation *operation, int self, const dcli_plan_terms *terms,
                          dcli_plan **plan_out);
void dcli_plan_free(dcli_plan *plan);
/** Memory that a plan takes, its detail and what is per peer excepted. */
int64_t dcli_plan_bytes(const dcli_plan *plan);

/** Item number i of a plan. */
dcli_item dcli_plan_item(const dcli_plan *plan, int64_t i);
static inline int dcli_plan_item_operand(const dcli_plan *plan, int64_t i)
{
    return plan->spot != NULL ? plan->spot[i].operand : plan->item[i].operand;
}

/** The limits of access `a` of a FORALL over a box of indices. */
dcli_limits dcli_limits_of(const dcli_operation *operation, int a, const dcl_box *box);

/** Whether no node needs anything of another for this operation, found without planning it: then plans of other nodes
 *  need not be made. A "no" may be wrong, a "yes" never is. */
bool dcli_operation_is_local(const dcli_operation *operation);

#endif
