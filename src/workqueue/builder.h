/* workqueue/builder.h - the unfinished plan: its lists, the needs of the current batch, and their packing into chunks.
 * Its functions are used only by builder.c and the plan*.c files. */
#ifndef DCLI_WORKQUEUE_BUILDER_H
#define DCLI_WORKQUEUE_BUILDER_H

#include "resmap/elements.h"
#include "segment/image.h"
#include "workqueue/plan.h"

/** A need: elements of a peer's part that this batch reads (or writes), before they are put into chunks. */
typedef struct dcli_need {
    bool written;
    int peer, operand;
    int64_t stage; /* the stage that needs them; -1: every stage, of this or a later batch, whose box meets theirs
                      (host transfers: none) */
    dcli_region region;
} dcli_need;

/** A need of a single element, in a small record: there may be millions. */
typedef struct dcli_point {
    int peer;
    int16_t operand;
    bool written;
    int64_t number; /* row-major number of the element in the array's grid */
    int64_t offset; /* where it is in the peer's part, in elements */
    int64_t stage;  /* the stage that needs it; -1: none */
} dcli_point;

/** A footprint for which a stage is needed. */
typedef struct dcli_want {
    int64_t stage;
    bool content;    /* elements of the array are copied into the stage before the batch runs */
    bool written;    /* the stage is for output */
    int64_t sources; /* number of entries of builder->source that may fill the stage: those that existed when the
                        want was added */
    dcl_box box;     /* the elements: all or a part of the stage's box */
} dcli_want;

/** What a plan has found so far of one owner's elements of an operand. */
struct dcli_owned {
    int owner;
    dcli_block_set blocks; /* the blocks that were touched, so that each counts once */
    dcli_box_set needed;   /* unless dcli_seen.unique: the elements that were needed */
};

/** The part of an array on a node whose regions are looked up for every work. */
struct dcli_home {
    bool known, one;    /* whether the part was looked up; whether it is one region: dcli_layout_one_region() */
    dcli_region region; /* if `one` */
};

/** State of one array operand while a FORALL is planned. A planner keeps the memory of its sets for the next plan. */
typedef struct dcli_seen {
    bool keeps;                   /* received elements may become replicas at this node */
    bool copied;                  /* this node has replicas of it from earlier operations, and the plan reads from
                                     them */
    bool unique;                  /* no element is needed twice: one access reads it, which is injective, and there
                                     are no replicas */
    dcli_box_set set;             /* elements of this node's replicas, which are not requested again: those from
                                     before, and, for a move, those that it makes */
    dcli_box_set asked;           /* unless `unique`: the footprints so far; what lies in them is in `needed` of its
                                     owners */
    dcli_box_set arrived;         /* unless `unique`: boxes of the items that the plan's batches receive so far */
    int64_t *item, item_capacity; /* [item_capacity] for each box of `arrived`, the number of its item in plan->item */
    struct dcli_owned *owned;     /* [owned_count] by owner, ascending */
    int64_t owned_count, owned_ready, owned_capacity; /* entries owned_count to owned_ready - 1 are empty, but keep the
                                                         memory of their sets for more owners */
    struct dcli_home own, with; /* the parts of the planned node and, in a plan for a pair, of the other node; kept with
                                   the first operand that has the layout */
} dcli_seen;

/** A replica as a source for stages; if its box extends beyond a periodic axis, one of its images. */
typedef struct dcli_source {
    int operand;
    dcl_box box;      /* box of the whole replica */
    dcli_image image; /* elements of the replica whose box lies in the grid, and the shift from there to the
                         replica's own indices */
} dcli_source;

/** What a node's part has of a footprint. */
typedef struct dcli_found {
    int node;    /* -1: nothing is known */
    bool covers; /* `largest` contains the footprint, and kernels can be bound to it */
    dcl_box foot, seen;
    dcli_region largest; /* the largest region of the footprint in the part; box.rank 0: there is none */
} dcli_found;

/** Which indices of a loop body are planned. */
typedef enum dcli_share {
    DCLI_SHARE_ALL,
    DCLI_SHARE_OWN,   /* those that touch elements of this node only */
    DCLI_SHARE_OTHERS /* all others */
} dcli_share;

/** What planning needs to know about the accesses of an operation. It is the same for all nodes. */
typedef struct dcli_accesses {
    bool known;                                    /* the rest is filled in */
    bool wraps[DCLI_MAX_ACCESSES];                 /* may access elements beyond a periodic axis */
    bool leaves[DCLI_MAX_ACCESSES];                /* may read outside its grid */
    bool home[DCLI_MAX_ACCESSES];                  /* dcli_access_is_home() */
    bool exact[DCLI_MAX_ACCESSES];                 /* dcli_subscripts_exact() of `own` */
    bool single[DCLI_MAX_ACCESSES];                /* `subscripts` are exact, and one index reads one element */
    bool once[DCLI_MAX_ACCESSES];                  /* dcli_subscripts_injective() of `subscripts` */
    dcl_grid grid[DCLI_MAX_ACCESSES];              /* dcli_access_grid() */
    dcli_subscripts own[DCLI_MAX_ACCESSES];        /* subscripts as in the body, for the view's grid */
    dcli_subscripts subscripts[DCLI_MAX_ACCESSES]; /* subscripts for the array's grid: equal to `own` if there is no
                                                      view */
    dcli_shifts shifts[DCLI_MAX_ACCESSES];         /* of `own` */
    bool some[DCLI_MAX_ACCESSES];                  /* the operation's indices touch some element of the array, ... */
    dcl_box foot[DCLI_MAX_ACCESSES];               /* ... and this is the box around all of them */
} dcli_accesses;

/** Memory of a list of a plan, for the next plan. */
struct dcli_spare {
    void *items;
    int64_t capacity;
};

enum { DCLI_PLAN_LISTS = 7 }; /* those of plan->space[] but the spots */

typedef struct dcli_builder {
    /* Lists: a planner keeps their memory for the next plan. */
    dcli_need *need;     /* needs of the current batch */
    dcli_point *point;   /* needs of single elements, instead of `need`, in plan_points.c and some host transfers */
    dcli_want *want;     /* stages wanted by the current batch, in their order */
    int64_t *item_stage; /* per item of the plan: its stage, or -1 */
    dcli_source *source; /* replicas as sources for stages: existing ones, and those that this plan makes */
    int64_t need_capacity, point_capacity, want_capacity, item_stage_capacity, source_capacity;
    dcli_region_list regions, tiles; /* lists that functions reuse */
    dcli_box_list fresh, missing;
    dcli_node_list owners;
    struct dcli_spare spare[DCLI_PLAN_LISTS];
    int seen_used; /* entries of seen[] that are initialized, and without contents between two plans */
    /* What follows is cleared for each plan, up to `seen`. */
    dcli_plan *plan;
    const dcli_operation *operation;
    const dcli_plan_terms *terms;
    dcli_accesses *accesses;
    int self;
    int64_t need_count, point_count, want_count, source_count, early_count;
    int64_t items_noted;              /* number of items already entered into the `arrived` set of their operand */
    bool local;                       /* FORALL: dcli_operation_is_local() */
    dcli_share share;                 /* which of the indices of the tiles are being planned now */
    int64_t panel_first, panel_count; /* dcli_work.panel_first and .panel_count of the works that are being planned */
    int64_t kept_bytes;               /* bytes of the replicas that this plan makes */
    struct dcli_early_read *early;    /* reads in place of the current batch; no more are recorded once they are too
                                         many to copy early (plan_early.c) */
    int64_t early_capacity, early_bytes;
    /* What follows is large, so only the entries that are used are cleared. */
    dcli_seen seen[DCLI_MAX_PARAMS];            /* [operands] */
    bool at_home[DCLI_MAX_ACCESSES];            /* only accesses the node's own part, which is one region */
    const dcli_region *part[DCLI_MAX_ACCESSES]; /* the planned node's part of the array, if it is one region; else
                                                   NULL */
    const dcli_region *with[DCLI_MAX_ACCESSES]; /* in a plan for a pair, of accesses that are not at_home[]: the same of
                                                   the other node */
    dcli_found found[DCLI_MAX_ACCESSES];        /* of the last footprint that was looked for in a part of several
                                                   regions: an access by keys has the same one in all works */
} dcli_builder;

/* dcli_planner of plan.h. */
struct dcli_planner {
    dcli_builder builder;
    dcli_accesses accesses;
    const dcli_operation *operation; /* to which `accesses` belongs */
    int64_t number;                  /* its number: another operation may get its address later */
    int node;                        /* the node for which it was found. The nodes of a simulation share a planner, but
                                        not what they know */
};

/* Append a zeroed entry, or `count` of them, to a list of the plan; a new batch refers to the ends of the other lists.
 * @return the (first) entry, or NULL: DCL_ERR_NOMEM. Earlier pointers into the list become invalid. */
dcli_batch *dcli_builder_batch(dcli_builder *builder);
dcli_work *dcli_builder_work(dcli_builder *builder);
dcli_binding *dcli_builder_bindings(dcli_builder *builder, int count);
dcli_stage *dcli_builder_stage(dcli_builder *builder);
dcli_piece *dcli_builder_piece(dcli_builder *builder);
dcli_piece *dcli_builder_pieces(dcli_builder *builder, int64_t count);
/** Reserve memory for `works` more works of a FORALL and their bindings. Growing by doubling would copy the lists, and
 *  touch twice the memory. */
dcl_status dcli_builder_reserve(dcli_builder *builder, int64_t works);
/** Allocate the limits of a binding, not filled in. The pointer stays valid until the plan is freed. NULL:
 *  DCL_ERR_NOMEM. */
dcli_limits *dcli_builder_limits(dcli_builder *builder);
void dcli_limits_free(dcli_limits_block *blocks);
/** Free the lists of a plan. */
void dcli_plan_lists_free(dcli_plan *plan);
/** Append a need of the current batch. @return DCL_OK or DCL_ERR_NOMEM. */
dcl_status dcli_builder_need(dcli_builder *builder, const dcli_need *need);
/** Append a point. A plan uses either points or needs, never both. */
dcl_status dcli_builder_point(dcli_builder *builder, const dcli_point *point);
/** Append a want of the current batch. @return DCL_OK or DCL_ERR_NOMEM. */
dcl_status dcli_builder_want(dcli_builder *builder, const dcli_want *want);

/** Find a node's part of an operand if it is one region. *one_out is NULL if it is not, and for all nodes but the
 *  planned node and, in a plan for a pair, the other node. The region stays valid until the builder is freed. */
dcl_status dcli_builder_one(dcli_builder *builder, int k, int node, const dcli_region **one_out);
/** Find the regions of a box that a node owns: they replace the contents of builder->regions. */
dcl_status dcli_builder_regions(dcli_builder *builder, int k, int node, const dcl_box *box);

/** Put the needs or points of the current (last) batch into chunks, peer by peer, first those that are read; clear
 *  their lists. */
dcl_status dcli_builder_chunks(dcli_builder *builder);
/** At the end: number the chunks of each stream in the order of the plan. */
dcl_status dcli_builder_number_chunks(dcli_builder *builder);

/** Begin a plan. The builder is zeroed up to `plan`, or has the lists of an earlier plan, which was ended. */
void dcli_builder_begin(dcli_builder *builder, dcli_plan *plan, const dcli_operation *operation, int self,
                        const dcli_plan_terms *terms, dcli_accesses *accesses);
/** Copy the lists of the plan, unless they are long, into one block of memory, and keep theirs for the next plan. A node
 *  keeps many plans, most of them of a few entries. */
void dcli_builder_fit(dcli_builder *builder);
/** Free what belongs to this plan only, except the plan, and lists that became long. */
void dcli_builder_end(dcli_builder *builder);
/** Free all but the plan, after dcli_builder_end(). */
void dcli_builder_free(dcli_builder *builder);

/** Whether the plan contains what the planned node exchanges with a peer. */
static inline bool dcli_plans_with(const dcli_builder *builder, int peer)
{
    return !builder->terms->pair || peer == builder->terms->with;
}

/** Bytes of one element of an operand. */
static inline int64_t dcli_builder_bytes(const dcli_builder *builder, int operand)
{
    return (int64_t)dcl_type_bytes(builder->operation->operand[operand].layout->grid.type);
}

#endif
