/* lower/gather.h - works whose inputs are gathered by the work-items that compute them: kernel/gather.h. */
#ifndef DCLI_WORKER_EXEC_GATHER_H
#define DCLI_WORKER_EXEC_GATHER_H

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

/** What is made while a batch is prepared: groups of parts that one work-item runs. */
typedef struct dcli_gather {
    dcli_worker *worker;
    const dcli_entry *entry;
    const dcli_plan *plan;
    const dcli_batch *batch;
    dcli_prepared *prepared;
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
    int far; /* the axis along which parts of one shape take turns in the output, one behind the other; -1: none */
} dcli_gather;

/** Begin. The batch has no other launches that gather. @return DCL_OK or a failure; to be closed in any case. */
dcl_status dcli_gather_open(dcli_gather *gather, dcli_worker *worker, const dcli_entry *entry, const dcli_plan *plan,
                            const dcli_batch *batch, dcli_prepared *prepared);
/** Take work number w of the batch if its inputs are better gathered. */
dcl_status dcli_gather_add(dcli_gather *gather, int64_t w);
bool dcli_gather_took(const dcli_gather *gather, int64_t w);
/** Make launches of all works that were taken. */
dcl_status dcli_gather_end(dcli_gather *gather);
void dcli_gather_close(dcli_gather *gather);

/** Bytes of the arena that addresses take. */
int64_t dcli_gather_address_bytes(const dcli_prepared *prepared);
/** Bytes of the arena that the scratch memory of all work-items takes. */
int64_t dcli_gather_scratch_bytes(const dcli_worker *worker, const dcli_prepared *prepared);
/** Give scratch memory its place behind everything else in the arena. */
void dcli_gather_place(const dcli_worker *worker, dcli_prepared *prepared);
/** Make the table of a launch that gathers; places are known. */
dcl_status dcli_gather_upload(dcli_worker *worker, const dcli_body *body, dcli_prepared *prepared, dcli_launch *launch);

/** Write the addresses of this operation into the arena. */
dcl_status dcli_gather_start(dcli_worker *worker, const dcli_entry *entry, const dcli_prepared *prepared,
                             dcli_memory *arena);
/** Start a launch that gathers. @param count  arguments given so far: room for 3 more. */
dcl_status dcli_gather_launch(dcli_worker *worker, const dcli_entry *entry, const dcli_prepared *prepared,
                              const dcli_launch *launch, dcli_argument arguments[], int count);

#endif
