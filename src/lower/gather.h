/* lower/gather.h - works whose inputs are gathered by the work-items that compute them (kernel/gather.h). */
#ifndef DCLI_LOWER_GATHER_H
#define DCLI_LOWER_GATHER_H

#include "lower/near.h"

/** A work of the batch whose inputs are gathered. */
typedef struct dcli_gathered {
    const dcli_work *work;
    uint64_t mask; /* bit a: access a is gathered */
    int orders;    /* bits: the orders in which its inputs can be packed */
} dcli_gathered;

/** A part of such a work, in indices of its box. */
typedef struct dcli_gather_part {
    int64_t number; /* number of the work among those that gather */
    int64_t lo[DCL_MAX_RANK], count[DCL_MAX_RANK];
} dcli_gather_part;

/** Pieces of a group that an access copies from one source part to the scratch memory. */
typedef struct dcli_bin {
    int access;
    int64_t address; /* number of the part in the batch's `source` */
    dcli_transfers pieces;
} dcli_bin;

/** State of gathering while a batch is lowered. A group is a set of parts that one work-item runs. */
typedef struct dcli_gather {
    const dcli_operation *operation;
    const dcli_plan *plan;
    const dcli_batch *batch;
    const dcli_traits *traits;
    dcli_lowered *lowered;
    bool possible;                                 /* whether this body can gather on this device */
    bool *took;                                    /* [batch->work_count] */
    dcli_subscripts subscripts[DCLI_MAX_ACCESSES]; /* the elements that each access reads, by loop indices */
    dcli_near *near;     /* [batch->stage_count] index of each stage's pieces, made at first use */
    int output;          /* the first access that is written */
    dcli_gathered *work; /* those taken, */
    int64_t work_count, work_capacity;
    int64_t *row; /* rows of these works, [work_count][dcli_row_length()], as if all inputs were in place */
    int64_t row_count, row_capacity;
    dcli_gather_part *part; /* the parts of the current group */
    int64_t part_count, part_capacity;
    int64_t elements; /* of the loop, in them */
    int order;        /* the order in which they are packed */
    dcli_bin *bin;    /* [bin_count] pieces of the current group; unused entries keep their memory for the next group */
    int64_t bin_count, bin_capacity;
    int far; /* axis along which parts of one shape alternate in the output; -1: none */
} dcli_gather;

/** Begin. The batch must not have other launches that gather. @return DCL_OK or a failure; close it in any case. */
dcl_status dcli_gather_open(dcli_gather *gather, const dcli_operation *operation, const dcli_plan *plan,
                            const dcli_batch *batch, const dcli_traits *traits, dcli_lowered *lowered);
/** Take work number w of the batch, if gathering its inputs is better. */
dcl_status dcli_gather_add(dcli_gather *gather, int64_t w);
bool dcli_gather_took(const dcli_gather *gather, int64_t w);
/** Make the launches of all works taken. */
dcl_status dcli_gather_end(dcli_gather *gather);
void dcli_gather_close(dcli_gather *gather);

/** Bytes of the arena that addresses occupy. */
int64_t dcli_gather_address_bytes(const dcli_lowered *lowered);
/** Place the scratch memory in the arena, after everything else. */
void dcli_gather_place(const dcli_traits *traits, dcli_lowered *lowered);

#endif
