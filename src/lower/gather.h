/* lower/gather.h - gathering while a batch is lowered: works whose inputs are copied by the work-items that compute
 * them (kernel/gather.h). */
#ifndef DCLI_LOWER_GATHER_H
#define DCLI_LOWER_GATHER_H

#include "lower/near.h"

/** A work of the batch whose inputs are gathered ("gathering work"). */
typedef struct dcli_gathered {
    const dcli_work *work;
    uint64_t mask; /* bit a: access a is gathered */
    int orders;    /* the orders in which its inputs can be packed: DCLI_SOURCE_ORDER | DCLI_OUTPUT_ORDER */
} dcli_gathered;

/** A part of a gathering work: a box of its box, in positions from 0 per axis. (Other parts are those of arrays.) */
typedef struct dcli_gather_part {
    int64_t number; /* number of the work in dcli_gather.work */
    int64_t lo[DCL_MAX_RANK], count[DCL_MAX_RANK];
} dcli_gather_part;

/** The pieces that a group copies to its scratch memory for one access from one node's part of the array. */
typedef struct dcli_bin {
    int access;
    int64_t address; /* index of that part in dcli_lowered.source */
    dcli_transfers pieces;
} dcli_bin;

/** State of gathering while a batch is lowered. A group is a set of parts of works that one work-item computes at a
 *  time. */
typedef struct dcli_gather {
    const dcli_operation *operation;
    const dcli_plan *plan;
    const dcli_batch *batch;
    const dcli_traits *traits;
    dcli_lowered *lowered;
    bool possible;                                 /* works of this body can gather on this device; false: no work is
                                                      taken */
    bool *took;                                    /* [batch->work_count] whether the work was taken */
    dcli_subscripts subscripts[DCLI_MAX_ACCESSES]; /* per access: the array's indices as functions of the loop's */
    dcli_near *near;     /* [batch->stage_count] index of each stage's pieces, made at first use */
    int output;          /* number of the first access that is written */
    dcli_gathered *work; /* [work_count] the works taken so far */
    int64_t work_count, work_capacity;
    int64_t *row; /* rows of the works in `work`, [work_count][dcli_row_length()], as if all inputs were read in
                     place */
    int64_t row_count, row_capacity;
    dcli_gather_part *part; /* the parts of the current group */
    int64_t part_count, part_capacity;
    int64_t elements; /* loop elements in the parts of the current group */
    int order;        /* DCLI_SOURCE_ORDER or DCLI_OUTPUT_ORDER: how the current group packs its inputs */
    dcli_bin *bin;    /* [bin_count] pieces of the current group; unused entries keep their memory for the next group */
    int64_t bin_count, bin_capacity;
    int far; /* axis along which the current group's parts alternate in the output; -1: they do not */
} dcli_gather;

/** Begin gathering for a batch. `lowered` must not have launches that gather yet. @return DCL_OK or a failure; call
 *  dcli_gather_close() in any case. */
dcl_status dcli_gather_open(dcli_gather *gather, const dcli_operation *operation, const dcli_plan *plan,
                            const dcli_batch *batch, const dcli_traits *traits, dcli_lowered *lowered);
/** Take work number w of the batch, if some input has to be gathered and all of them can be; otherwise nothing changes,
 *  see dcli_gather_took(). @return DCL_OK or DCL_ERR_NOMEM. */
dcl_status dcli_gather_add(dcli_gather *gather, int64_t w);
/** Whether dcli_gather_add() took work number w of the batch. */
bool dcli_gather_took(const dcli_gather *gather, int64_t w);
/** Make the groups and launches of all works taken. @return DCL_OK or DCL_ERR_NOMEM. */
dcl_status dcli_gather_end(dcli_gather *gather);
void dcli_gather_close(dcli_gather *gather);

/** Bytes at the beginning of the arena that the addresses of source parts occupy, in whole cache lines. */
int64_t dcli_gather_address_bytes(const dcli_lowered *lowered);
/** Place the scratch memory of all work-items at the end of the arena. Call after all stages have been placed. */
void dcli_gather_place(const dcli_traits *traits, dcli_lowered *lowered);

#endif
