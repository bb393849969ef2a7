/* lower/gather.h - works whose inputs are gathered by the work-items that compute them: kernel/gather.h. */
#ifndef DCLI_LOWER_GATHER_H
#define DCLI_LOWER_GATHER_H

#include "lower/near.h"

/** A work of the batch whose inputs are gathered. */
typedef struct dcli_gathered {
    const dcli_work *work;
    uint64_t mask; /* bit a: access a is gathered */
    int orders;    /* bits: in which orders they can be packed */
} dcli_gathered;

/** A part of one, in the counting of its box. */
typedef struct dcli_gather_part {
    int64_t number; /* of the work, among those taken */
    int64_t lo[DCL_MAX_RANK], count[DCL_MAX_RANK];
} dcli_gather_part;

/** Pieces of a group that an access gathers from one part: from there to the scratch memory. */
typedef struct dcli_bin {
    int access;
    int64_t address; /* number of the part in the batch's `source` */
    dcli_transfers pieces;
} dcli_bin;

/** What is made while a batch is lowered: groups of parts that one work-item runs. */
typedef struct dcli_gather {
    const dcli_operation *operation;
    const dcli_plan *plan;
    const dcli_batch *batch;
    const dcli_traits *traits;
    dcli_lowered *lowered;
    bool possible;                                 /* for this body on this device */
    bool *took;                                    /* [batch->work_count] */
    dcli_subscripts subscripts[DCLI_MAX_ACCESSES]; /* of the elements of arrays, by loop indices */
    dcli_near *near;     /* [batch->stage_count] their pieces; all this is made when first asked for */
    int output;          /* the first access that is written */
    dcli_gathered *work; /* those taken, */
    int64_t work_count, work_capacity;
    int64_t *row; /* and their rows, [work_count][dcli_row_length()], as if everything were in place */
    int64_t row_count, row_capacity;
    dcli_gather_part *part; /* of the group being made */
    int64_t part_count, part_capacity;
    int64_t elements; /* of the loop, in them */
    int order;        /* in which they are packed */
    dcli_bin *bin;    /* [bin_count] pieces of the group; those behind keep their memory for the next one */
    int64_t bin_count, bin_capacity;
    int far; /* the axis along which parts of one shape take turns in the output, one behind the other; -1: none */
} dcli_gather;

/** Begin. The batch has no other launches that gather. @return DCL_OK or a failure; to be closed in any case. */
dcl_status dcli_gather_open(dcli_gather *gather, const dcli_operation *operation, const dcli_plan *plan,
                            const dcli_batch *batch, const dcli_traits *traits, dcli_lowered *lowered);
/** Take work number w of the batch if its inputs are better gathered. */
dcl_status dcli_gather_add(dcli_gather *gather, int64_t w);
bool dcli_gather_took(const dcli_gather *gather, int64_t w);
/** Make launches of all works that were taken. */
dcl_status dcli_gather_end(dcli_gather *gather);
void dcli_gather_close(dcli_gather *gather);

/** Bytes of the arena that addresses take. */
int64_t dcli_gather_address_bytes(const dcli_lowered *lowered);
/** Give scratch memory its place behind everything else in the arena. */
void dcli_gather_place(const dcli_traits *traits, dcli_lowered *lowered);

#endif
