/* test/support/simdata.h - the memories of a simulated cluster, and the actions that touch them.
 *
 * Everything is copied as the plan says and only so: parts, stages and chunks are memories of their own, filled with
 * SIM_GARBAGE until something is written there and after they are given up. */
#ifndef TEST_SUPPORT_SIMDATA_H
#define TEST_SUPPORT_SIMDATA_H

#include "lower/lower.h"
#include "support/simprogram.h"

/** A chunk between two peers. */
typedef struct sim_payload {
    int64_t *data; /* NULL: not made, without contents, or given up */
    bool arrived;
    bool dropped; /* the receiver has read it, and its pool has the memory back */
} sim_payload;

typedef struct sim_plan {
    dcli_plan *plan;
    sim_payload *payload; /* [plan->chunk_count]: a chunk of a plan has one sender and one receiver */
    int64_t most;         /* bytes of received chunks that live at once */
} sim_plan;

/** A node's part of a storage. */
typedef struct sim_part {
    int64_t *data;
    int64_t elements;
    bool released;
} sim_part;

/** A copy of other nodes' elements that a node keeps, for operations from `from` on, below `until`. */
typedef struct sim_kept {
    int node;
    int64_t storage, from, until;
    dcl_box box;
    int64_t *data; /* NULL: none yet */
    bool filled;   /* by what the node has been told to do */
} sim_kept;

typedef struct sim_data {
    sim_program *program;
    dcli_plan_terms terms;
    int peers;
    sim_plan *plan; /* [steps * peers] */
    sim_part *part; /* [arrays * nodes] */
    dcli_kept kept; /* while plans are made */
    sim_kept *copy; /* [copy_count] */
    int64_t copy_count, copy_capacity;
    bool alike;               /* all devices are processors that see memory where the host does */
    bool via[DCLI_VIA_COUNT]; /* ways in which elements got to kernels, or from them */
    dcli_text problem;        /* the first thing that was wrong */
} sim_data;

void sim_data_open(sim_data *data, sim_program *program, const dcli_plan_terms *terms);
void sim_data_close(sim_data *data);

/** Note what is wrong, unless something was before. */
void sim_wrong(sim_data *data, const char *format, ...) __attribute__((format(printf, 2, 3)));
static inline bool sim_is_wrong(const sim_data *data) { return data->problem.length > 0; }

/** The plan of an operation for a peer. */
sim_plan *sim_plan_of(sim_data *data, const dcli_operation *operation, int peer);
/** Make all plans anew, for a pool of this size. */
void sim_set_pool(sim_data *data, int64_t pool_bytes);

/** The nodes that have copies of the elements of operand k before an operation, by number of the element, for the caller to
 *  free; NULL: the operation uses none. */
uint64_t *sim_held(const sim_data *data, const dcli_operation *operation, int k);
/** The copy behind a stage of node p's plan. */
sim_kept *sim_copy_of(sim_data *data, int p, const dcli_operation *operation, const dcli_stage *stage);
/** Whether a batch needs a copy that was not made, as what was to make it failed. */
bool sim_lacks_copy(sim_data *data, int p, const dcli_operation *operation, int64_t batch);
/** A batch is going to run: the copies that it completes can be used by what is started later. */
void sim_fill_copies(sim_data *data, int p, const dcli_operation *operation, int64_t batch);

/* What peer p does. `failed`: nothing can be relied on: everything that would be written gets SIM_POISON. */
void sim_run(sim_data *data, int p, const dcli_operation *operation, int64_t batch, bool failed);
void sim_pack(sim_data *data, int p, const dcli_operation *operation, int peer, int64_t chunk, bool failed);
void sim_commit(sim_data *data, int p, const dcli_operation *operation, int peer, int64_t chunk, bool failed);
void sim_drop(sim_data *data, int p, const dcli_operation *operation, int64_t chunk);
/** A chunk that was not read or committed, and is not going to be. */
void sim_discard(sim_payload *payload);

#endif
