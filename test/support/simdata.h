/* test/support/simdata.h - the memories of a simulated cluster, and the actions that access them.
 *
 * Everything is copied exactly as the plan says: parts, stages and chunks are separate memories, filled with
 * SIM_GARBAGE before they are written and after they are freed. */
#ifndef TEST_SUPPORT_SIMDATA_H
#define TEST_SUPPORT_SIMDATA_H

#include "lower/lower.h"
#include "support/simprogram.h"
#include "workqueue/plan_loan.h"

/** A chunk between two peers. */
typedef struct sim_payload {
    int64_t *data; /* NULL: not made, empty, or freed */
    bool arrived;
    bool dropped; /* the receiver has read it, and its pool has the memory back */
} sim_payload;

typedef struct sim_plan {
    dcli_plan *plan;
    sim_payload *payload; /* [plan->chunk_count]: each chunk of a plan has one sender and one receiver */
    int64_t most;         /* most bytes of received chunks at the same time */
    bool borrowed;        /* it is that of a loan: nothing was copied when the batch started */
} sim_plan;

/** A node's part of a storage. */
typedef struct sim_part {
    int64_t *data;
    int64_t elements;
    bool released;
} sim_part;

/** A replica on a node, for operations from `from` to `until` - 1. */
typedef struct sim_replica {
    int node;
    int64_t storage, from, until;
    dcl_box box;
    int64_t *data; /* NULL: none yet */
    bool filled;   /* according to the actions that the node has got so far */
} sim_replica;

/** A peer's part as it was when a batch started that copies from it then. */
typedef struct sim_early {
    int p, operand, owner;
    int64_t operation, batch;
    int64_t *data, elements;
} sim_early;

typedef struct sim_data {
    sim_program *program;
    dcli_plan_terms terms;
    int peers;
    sim_plan *plan;           /* [steps * peers] */
    sim_part *part;           /* [arrays * nodes] */
    dcli_directory directory; /* while plans are made */
    sim_replica *copy;        /* [copy_count] */
    int64_t copy_count, copy_capacity;
    sim_early *early;
    int64_t early_count, early_capacity;
    bool alike;               /* all devices are CPUs that see memory at the host's addresses */
    bool via[DCLI_VIA_COUNT]; /* the ways in which elements got to kernels or from them */
    dcli_text problem;        /* the first error found */
} sim_data;

void sim_data_open(sim_data *data, sim_program *program, const dcli_plan_terms *terms);
void sim_data_close(sim_data *data);

/** Record an error, unless there is an earlier one. */
void sim_wrong(sim_data *data, const char *format, ...) __attribute__((format(printf, 2, 3)));
static inline bool sim_is_wrong(const sim_data *data) { return data->problem.length > 0; }

/** The plan of an operation for a peer. */
sim_plan *sim_plan_of(sim_data *data, const dcli_operation *operation, int peer);
/** Memory that the peer needs for a chunk that it has granted: none if its plan has failed. */
static inline int64_t sim_granted_bytes(const dcli_plan *plan, int64_t chunk)
{
    return plan->status == DCL_OK ? plan->chunk[chunk].bytes : 0;
}
/** Make all plans again for a pool of this size. */
void sim_set_pool(sim_data *data, int64_t pool_bytes);

/** The nodes with replicas of operand k's elements before an operation, by number of the element; freed by the caller.
 *  NULL: the operation uses none. */
uint64_t *sim_held(const sim_data *data, const dcli_operation *operation, int k);
/** The replica behind a stage of node p's plan. */
sim_replica *sim_replica_of(sim_data *data, int p, const dcli_operation *operation, const dcli_stage *stage);
/** Whether a batch needs a replica that was not made because its operation failed. */
bool sim_lacks_copy(sim_data *data, int p, const dcli_operation *operation, int64_t batch);
/** Before a batch runs: replicas that it completes can be used by later batches. */
void sim_fill_copies(sim_data *data, int p, const dcli_operation *operation, int64_t batch);

/** A batch of p starts, and is run later: have it copy now what it reads of peers' parts.
 *  @return whether it reads no such part when it runs. */
bool sim_reads_early(sim_data *data, int p, const dcli_operation *operation, int64_t batch);

/** Run a borrowed batch on node p. @param plan  of the loan; the result chunks are made. */
void sim_run_borrowed(sim_data *data, int p, const dcli_operation *operation, sim_plan *plan);
/** Pack an input chunk of a loan on the victim p; write a result chunk to its parts. @param payload  [chunks] */
void sim_pack_loan(sim_data *data, int p, const dcli_operation *operation, const dcli_loan *loan, sim_payload payload[],
                   int64_t chunk);
void sim_commit_loan(sim_data *data, int p, const dcli_operation *operation, const dcli_loan *loan,
                     sim_payload payload[], int64_t chunk);

/* Carry out an action of peer p. `failed`: the inputs are invalid, so everything written becomes SIM_POISON. */
void sim_run(sim_data *data, int p, const dcli_operation *operation, int64_t batch, bool failed);
void sim_pack(sim_data *data, int p, const dcli_operation *operation, int peer, int64_t chunk, bool failed);
void sim_commit(sim_data *data, int p, const dcli_operation *operation, int peer, int64_t chunk, bool failed);
void sim_drop(sim_data *data, int p, const dcli_operation *operation, int64_t chunk);
/** Free a chunk that was not read or committed, and will not be. */
void sim_discard(sim_payload *payload);

#endif
