/* workqueue/plan.h - plan(operation, node): the node's tasks and transfers. A pure function: the same on every process.
 *
 * A node's tiles are grouped into batches: what is staged, granted and launched together. The index space of a batch is
 * cut into works: boxes in which every access is affine in one storage. An access is bound to the node's own part, to a
 * peer's part that is read in place, or to a stage: a copy of the footprint, filled from the own part, peers' parts or
 * chunks. */
#ifndef DCLI_WORKQUEUE_PLAN_H
#define DCLI_WORKQUEUE_PLAN_H

#include "base/ways.h"
#include "segment/transfer.h"
#include "workqueue/directory.h"

/** The usual dcli_plan_terms.early_bytes, 64 KB: copying this much takes less time than a message between two nodes. */
#define DCLI_EARLY_BYTES (INT64_C(64) << 10)

/** The usual dcli_plan_terms.fine_elements of a session that lends. A body without loops computes this many elements
 *  in 1 to 4 ms. Such operations are limited by memory, and more launches would cost 5 to 10 % of their time.
 *  Besides, a CPU writes past its caches only in launches that write at least 4 MB (STREAM_LAUNCH_BYTES in
 *  kernel/source_cpu.c). */
#define DCLI_FINE_ELEMENTS (INT64_C(1) << 22)

/** About how many batches an operation gets on a node if it is cut so that some can be lent: DCLI_FINE_BATCHES. If its
 *  body has loops, an element may take long; then it gets DCLI_FINEST_BATCHES, of at least DCLI_FEW_ELEMENTS each. If
 *  these would have more than DCLI_MANY_ELEMENTS each, it gets up to DCLI_MANY_BATCHES, so that no batch takes a large
 *  part of the time. */
enum {
    DCLI_FINE_BATCHES = 64,
    DCLI_FINEST_BATCHES = 128,
    DCLI_MANY_BATCHES = 512,
    DCLI_FEW_ELEMENTS = 64,
    DCLI_MANY_ELEMENTS = 16384
};

/** What a thread keeps between plans: memory for lists, and facts about the accesses of the last operation. A node plans
 *  each operation several times: for itself, and for each peer. */
typedef struct dcli_planner dcli_planner; /* defined in builder.h */

/** Parameters of planning besides the operation; the same on all nodes of a session, except local_bytes, on which no
 *  exchange depends. Peer number node_count is the host. */
typedef struct dcli_plan_terms {
    int node_count;
    const dcli_node_ways *ways; /* [node_count] the abilities and the group of each node */
    int64_t batch_bytes;        /* intended size of the first output's part of a batch; much larger tiles are cut */
    int64_t chunk_bytes;        /* largest chunk, unless the pool is small or one element is larger */
    int64_t pool_bytes;         /* most bytes of received chunks at a node */
    int64_t kept_bytes;         /* most bytes of replicas at a node, without padding */
    int64_t early_bytes;        /* most bytes of peers' parts that a batch copies when it starts: dcli_stage.early */
    int64_t local_bytes;        /* batches that use own parts only are joined and put before the others (half of
                                   them, if the others only read peers' parts in place). A joined batch has at most
                                   this many bytes of the first output, unless all received elements are in long rows
                                   (receives_rows() in plan_local.c), and at most batch_bytes of stages; 0: neither */
    int64_t fine_elements;      /* more than 0: the nodes lend batches, so a loop body that exchanges nothing is cut
                                   into some DCLI_FINE_BATCHES batches of at least this many elements, into smaller
                                   ones if it may be costly (DCLI_FINEST_BATCHES) or loans have little memory. If it
                                   exchanges elements, but may be costly, those indices are cut that use own parts
                                   only. 0: nothing is cut */
    /* Loans: a part that is read in place may not have been shown to the thief, except by the victim itself; so the
     * victim sends the elements of other nodes' parts along. */
    bool shown_on_demand;
    dcli_planner *planner;           /* NULL: none; the plan is the same */
    const dcli_directory *directory; /* the record of replicas before this operation; NULL: there are none */
    bool detailed;                   /* FORALL, MOVE: make plan->detail, too: for reports */
    bool no_points;                  /* for tests: do not use plan_points.c */
    bool streams;                    /* plan only what others exchange with the planned node: see dcli_plan_make() */
    bool pair;                       /* with `streams`: only what peer `with` exchanges with it */
    int with;
} dcli_plan_terms;

/** The bounds against which kernels check the indices of an access, per axis of the array as the body sees it. */
typedef struct dcli_limits {
    int64_t low[DCL_MAX_RANK], count[DCL_MAX_RANK]; /* first valid index, and number of valid ones */
    /* HALO, CROSS: as declared; BOX, FUNCTION: stride of the valid indices; AFFINE accesses with clamped subscripts:
     * step in memory from one index to the next; others: 0. */
    int64_t width[DCL_MAX_RANK];
} dcli_limits;

/** A binding: where one access of one work finds its elements. */
typedef struct dcli_binding {
    dcli_space_kind kind;
    int where;                  /* PEER: number of the node; STAGE, REPLICA: number in plan->stage */
    int64_t offset;             /* where elements are counted from, in elements: AFFINE accesses: the element that
                                   the work's first index reads or writes; accesses with a declared reach: the
                                   element at limits->low[] */
    int64_t step[DCL_MAX_RANK]; /* AFFINE accesses: per loop axis, then per inner axis; others: per axis of
                                   the array */
    dcli_limits *limits;        /* AFFINE accesses of loop bodies have some only if the work is checked and subscripts
                                   are clamped; others are computed by dcli_limits_of() */
} dcli_binding;

/** A work: a box of the index space run by one kind of kernel. */
typedef struct dcli_work {
    dcl_box box;
    /* Contractions in panels: the part of the inner indices, counted from the first of them, whose products are added;
     * count 0: all. */
    int64_t panel_first, panel_count;
    bool checked;          /* some read may be outside its grid */
    int64_t first_binding; /* position in plan->binding, where it has one per access of the body */
} dcli_work;

/** A piece: elements that are copied into (or, for outputs, out of) a stage. */
typedef struct dcli_piece {
    dcli_space_kind kind; /* where its elements are: any space but STAGE */
    int where;            /* number in the space: PEER: node; REPLICA: in plan->stage; CHUNK: in plan->chunk */
    dcli_region region;   /* in that space; CHUNK: offset in elements from byte_offset */
    int64_t byte_offset;  /* CHUNK: where the piece begins in the chunk, in bytes */
} dcli_piece;

/** Whether a stage becomes or is a replica. */
typedef enum dcli_stage_kind {
    DCLI_STAGE_TEMPORARY,   /* ends with its batch */
    DCLI_STAGE_NEW_REPLICA, /* it becomes a replica, filled by this batch, or by several */
    DCLI_STAGE_REPLICA,     /* it is an existing replica of exactly this box, from an earlier operation or batch */
    DCLI_STAGE_AROUND       /* it is in the memory of the node's part: lines around it (plan_overlap.c) */
} dcli_stage_kind;

/** A stage: temporary memory for `box`, in the layout of dcli_region_padded(). It may extend beyond a periodic axis of
 *  the array; boxes of the pieces copied into it have the same indices. */
typedef struct dcli_stage {
    int operand;
    dcl_box box;
    int64_t elements; /* size of its memory, including padding */
    int64_t offset;   /* AROUND: where its first element is in the memory of the part, in elements */
    bool fill_first;  /* elements that are not stored are read: fill it with the layout's fill value before the
                         pieces */
    int64_t first_in, in_count;   /* pieces copied in before the launch */
    int64_t first_out, out_count; /* output stages: pieces copied out after the launch (to OWN, or to a CHUNK, which
                                     is then a U chunk) */
    dcli_stage_kind kind;
    dcli_policy policy; /* NEW_REPLICA: why it is made */
    bool unfinished;    /* NEW_REPLICA: a later batch copies more into it */
    /* TEMPORARY: contains few elements, some of them from parts that are read in place. It is filled before kernels
     * run, so that the owners of these parts need not wait for the end of the batch. */
    bool early;
} dcli_stage;

/** An item: a box of elements in a chunk, packed, last axis fastest, at byte_offset (aligned to 8). */
typedef struct dcli_item {
    int operand;
    int64_t chunk;      /* number in plan->chunk */
    dcli_region region; /* region of its elements in the owner's storage */
    int64_t byte_offset;
} dcli_item;

/** An item of one element, in a small record: there may be millions. In its chunk each takes 8 bytes. */
typedef struct dcli_spot {
    int64_t number; /* row-major number of the element in the array's grid */
    int64_t offset; /* offset in the owner's storage, in elements */
    int32_t operand, chunk;
} dcli_spot;

/** The grid in which `number` of a dcli_spot counts. */
typedef struct dcli_spot_grid {
    dcl_grid grid;
    dcli_divisor by_extent[DCL_MAX_RANK];
} dcli_spot_grid;

/** A chunk: a data message. Streams: T (peer -> this node, what it reads) and U (this node -> peer, what it writes).
 *  Chunks of one stream and peer are numbered 0, 1, ... in the order of this list. */
typedef struct dcli_chunk {
    bool written; /* true: a U chunk; false: a T chunk */
    int peer;
    int64_t number;
    int64_t bytes;
    int64_t first_batch, last_batch; /* T: batches that read it; U: both are the batch that makes it */
    int64_t first_item, item_count;
} dcli_chunk;

typedef struct dcli_batch {
    int64_t first_tile, tile_count;
    int64_t first_work, work_count;
    int64_t first_stage, stage_count;
    int64_t first_chunk, chunk_count; /* T chunks that this batch is the first to read */
    int64_t first_made, made_count;   /* the U chunks that the batch makes */
    bool reads_parts;                 /* it reads parts of peers in place, so these must be ready */
    /* It is small, so that some of its kind can be lent (dcli_plan_terms.fine_elements): it has no stages and no
     * chunks, reads no parts of peers, and can start in any order, also several in one launch. */
    bool fine;
} dcli_batch;

typedef struct dcli_plan_detail dcli_plan_detail; /* defined in plan_detail.h */

/** Limits are in a chain of blocks, so that they do not move while a plan grows. */
typedef struct dcli_limits_block dcli_limits_block;

/** A plan. It owns its lists; free it with dcli_plan_free(). */
typedef struct dcli_plan {
    int64_t batch_count, work_count, binding_count, stage_count, piece_count, chunk_count, item_count;
    dcli_batch *batch;
    dcli_work *work;
    dcli_binding *binding;
    dcli_stage *stage;
    dcli_piece *piece;
    dcli_chunk *chunk;
    dcli_item *item;           /* read by dcli_plan_item() */
    dcli_spot *spot;           /* instead of `item`, if all items are single elements */
    dcli_spot_grid *spot_grid; /* [operand_count] grids of the spots */
    dcli_limits_block *limits;
    dcli_node_list reads;     /* peers whose parts are read in place */
    dcli_node_list partners;  /* peers whose plans may name this node: dcli_find_partners(); none with `streams` */
    int64_t fine_count;       /* number of fine batches; they follow each other */
    bool local;               /* no peer exchanges anything: dcli_operation_is_local() */
    int64_t live_bytes;       /* most bytes of received chunks that are needed at the same time */
    int64_t space[8];         /* capacities of the lists above */
    void *memory;             /* holds the lists whose bits are set in `packed` */
    unsigned packed;          /* bit n: that with capacity space[n] */
    dcl_counters counters;    /* the planned counters */
    dcli_plan_detail *detail; /* counts for a report; NULL unless dcli_plan_terms.detailed */
    dcl_status status;        /* DCL_OK; DCL_ERR_NOMEM: a batch needs more than the pool, or the replicas of a MOVE
                                 exceed the budget or are too many; the sentence is in `problem` */
    char problem[256];
} dcli_plan;

/** Plan `operation` for node `self` (node_count: the host).
 *  With terms->streams the plan has the same batches, chunks, items, reads, live_bytes, status and replicas as without;
 *  works, bindings, pieces, other stages and counters are omitted. That is all that a node uses of its peers' plans,
 *  and it costs a fraction of the time and memory. (The batches, and their numbers in chunks, may differ if the node
 *  exchanges no chunks, or if terms->local_bytes or terms->fine_elements is more than 0.)
 *  With terms->pair, too, it has only the chunks that self and peer terms->with exchange, with the same numbers, bytes
 *  and items, and `reads` names no other peer; live_bytes and status are not found. Chunks that others exchange cost
 *  nothing then.
 *  @return DCL_OK (also if plan->status is an error), or DCL_ERR_NOMEM for the plan's own memory. */
dcl_status dcli_plan_make(const dcli_operation *operation, int self, const dcli_plan_terms *terms,
                          dcli_plan **plan_out);
void dcli_plan_free(dcli_plan *plan);
/** Make a planner, for terms->planner. It must not be used by two threads at once. Operations of one number and address
 *  must be equal. @return NULL: DCL_ERR_NOMEM. */
dcli_planner *dcli_planner_new(void);
void dcli_planner_free(dcli_planner *planner);
/** Bytes of a plan's memory, without its detail and without the grids of its spots. */
int64_t dcli_plan_bytes(const dcli_plan *plan);

/** Item number i of a plan. */
dcli_item dcli_plan_item(const dcli_plan *plan, int64_t i);
static inline int dcli_plan_item_operand(const dcli_plan *plan, int64_t i)
{
    return plan->spot != NULL ? plan->spot[i].operand : plan->item[i].operand;
}

/** Compute the limits of access `a` of a FORALL over a box of indices. */
dcli_limits dcli_limits_of(const dcli_operation *operation, int a, const dcl_box *box);

/** Whether no node needs anything of another for this operation, found without planning it: then plans of other nodes
 *  need not be made. A "no" may be wrong, a "yes" never is. */
bool dcli_operation_is_local(const dcli_operation *operation);
/** Whether batches of a node's plan of an operation may be lent, as far as that is found without planning it: the
 *  operation is a loop body without a tile kernel, results and overlap, and the plan may have several batches. A "yes"
 *  may be wrong, a "no" never is. */
bool dcli_may_be_lent(const dcli_operation *operation, int node, const dcli_plan_terms *terms);
/** Whether dcli_may_be_lent() may hold for some node; every node of a session finds the same. Cost: constant. */
bool dcli_may_be_lent_by_any(const dcli_operation *operation, const dcli_plan_terms *terms);
/** Whether an access of a FORALL has the layout and the subscripts of the first output, so that each node accesses only
 *  its own elements. @param base  [accesses] as of dcli_operation_subscripts() */
bool dcli_access_is_home(const dcli_operation *operation, const dcli_subscripts base[], int a);

#endif
