/* workqueue/builder.h - growing a plan: lists, needs, chunks. Used by the files of the plan only. */
#ifndef DCLI_WORKQUEUE_BUILDER_H
#define DCLI_WORKQUEUE_BUILDER_H

#include <string.h>

#include "resmap/elements.h"
#include "segment/image.h"
#include "workqueue/plan.h"

/** Elements of a peer's part that this batch reads (or writes), before they are put into chunks. */
typedef struct dcli_need {
    bool written;
    int peer, operand;
    int64_t stage; /* the stage they are for; -1: any stage of the batch, found by intersection */
    dcli_region region;
} dcli_need;

/** A need of a single element, small: there may be millions. */
typedef struct dcli_point {
    int peer;
    int16_t operand;
    bool written;
    int64_t number; /* of the element in the array's grid, row-major */
    int64_t offset; /* where the peer stores it */
    int64_t stage;  /* -1: none */
} dcli_point;

/** A footprint that must be in a stage. */
typedef struct dcli_want {
    int64_t stage;
    bool content;    /* elements are copied in */
    bool written;    /* elements are copied out */
    int64_t sources; /* kept copies that were there before: of builder->source the first */
    dcl_box box;     /* a part of the stage's */
} dcli_want;

/** What is known of one array operand while a forall is planned. */
typedef struct dcli_seen {
    bool keeps;                   /* this node makes copies of it */
    bool copied;                  /* and had some before the operation: they are used */
    bool unique;                  /* no element can be needed twice: one injective access */
    dcli_box_set set;             /* else: what was needed so far, */
    dcli_box_set arrived;         /* what items have of it that are received, one box for each, */
    int64_t *item, item_capacity; /* and their numbers */
    dcli_block_set *blocks;       /* [node_count] blocks touched, per owner */
} dcli_seen;

/** A kept copy as a source of this plan's stages; where its box goes beyond an axis that is periodic, an image of it. */
typedef struct dcli_source {
    int operand;
    dcl_box box;      /* of the copy */
    dcli_image image; /* the elements: all of the box, or a part */
} dcli_source;

typedef struct dcli_builder {
    dcli_plan *plan;
    const dcli_operation *operation;
    const dcli_plan_terms *terms;
    int self;
    dcli_need *need; /* of the batch being planned */
    int64_t need_count, need_capacity;
    dcli_point *point; /* the same; a plan uses either points or needs */
    int64_t point_count, point_capacity;
    dcli_want *want; /* of the batch being planned, in the order of its stages */
    int64_t want_count, want_capacity;
    int64_t *item_stage; /* per item of the plan: stage, or -1 */
    int64_t item_stage_capacity;
    int64_t items_noted;    /* items that are in their operand's `arrived` where they belong there */
    int64_t *stream_length; /* [2 * (node_count + 1)] chunks so far per stream and peer */
    dcli_seen seen[DCLI_MAX_PARAMS];
    bool wraps[DCLI_MAX_ACCESSES];                 /* may find elements beyond an axis that is periodic */
    bool leaves[DCLI_MAX_ACCESSES];                /* may read outside its grid, somewhere */
    dcl_grid grid[DCLI_MAX_ACCESSES];              /* dcli_access_grid() */
    dcli_subscripts own[DCLI_MAX_ACCESSES];        /* as in the body: on the grid that is seen */
    dcli_subscripts subscripts[DCLI_MAX_ACCESSES]; /* on the array's grid: the same where there is no view */
    dcli_region_list regions, tiles;               /* scratch */
    dcli_box_list fresh;
    dcli_source *source; /* kept copies: those there are, and those this plan makes */
    int64_t source_count, source_capacity;
    int64_t kept_bytes; /* of copies this plan makes */
    bool *owners;       /* [node_count] scratch */
} dcli_builder;

/* Append a zeroed entry and return it, or NULL (DCL_ERR_NOMEM recorded). Earlier pointers into the list become stale. */
dcli_batch *dcli_builder_batch(dcli_builder *builder);
dcli_work *dcli_builder_work(dcli_builder *builder);
dcli_binding *dcli_builder_bindings(dcli_builder *builder, int count);
dcli_stage *dcli_builder_stage(dcli_builder *builder);
dcli_piece *dcli_builder_piece(dcli_builder *builder);
dcli_piece *dcli_builder_pieces(dcli_builder *builder, int64_t count);
/** Make room for so many works of a FORALL: lists that double are copied, and touch twice the memory. */
dcl_status dcli_builder_reserve(dcli_builder *builder, int64_t works);
/** Limits of a binding, not filled in. Such pointers stay valid. */
dcli_limits *dcli_builder_limits(dcli_builder *builder);
void dcli_limits_free(dcli_limits_block *blocks);
dcl_status dcli_builder_need(dcli_builder *builder, const dcli_need *need);
/** A plan uses either points or needs, never both. */
dcl_status dcli_builder_point(dcli_builder *builder, const dcli_point *point);
dcl_status dcli_builder_want(dcli_builder *builder, const dcli_want *want);

/** Put the needs of the current (last) batch into chunks, peer after peer, and empty the list of needs. */
dcl_status dcli_builder_chunks(dcli_builder *builder);

_Static_assert(sizeof(bool) == 1, "flags are searched as bytes");

/** The first node from `from` on that is set in builder->owners; `end` when there is none below. A plan of few out of
 *  thousands of nodes looks here most of its time: a search of bytes takes many at once. */
static inline int dcli_next_owner(const dcli_builder *builder, int from, int end)
{
    const bool *found = from < end ? memchr(builder->owners + from, true, (size_t)(end - from)) : NULL;
    return found != NULL ? (int)(found - builder->owners) : end;
}

/** Bytes of one element of an operand. */
static inline int64_t dcli_builder_bytes(const dcli_builder *builder, int operand)
{
    return (int64_t)dcl_type_bytes(builder->operation->operand[operand].layout->grid.type);
}

#endif
