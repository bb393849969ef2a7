/* test/support/simkernel.h - shared by simdata.c and simkernel.c: memories and copies, loop bodies. */
#ifndef TEST_SUPPORT_SIMKERNEL_H
#define TEST_SUPPORT_SIMKERNEL_H

#include "support/simdata.h"

typedef struct sim_memory {
    int64_t *data;
    int64_t elements;
} sim_memory;

/** Allocate memory for elements, with a pattern that no kernel computes. */
int64_t *sim_garbage(int64_t elements);
/** A node's part of operand k for reading: it must exist. */
sim_memory sim_read_part(sim_data *data, const dcli_operation *operation, int k, int p);
/** A node's part of operand k for writing: made if making it failed before. */
sim_memory sim_written_part(sim_data *data, const dcli_operation *operation, int k, int p);
/** The part of another node that a batch copies from: as it was when the batch started, if it copied then. */
sim_memory sim_copied_part(sim_data *data, const dcli_operation *operation, int64_t batch, int k, int p, int owner);
/** A batch has run: forget what it copied when it started. */
void sim_drop_early(sim_data *data, int p, const dcli_operation *operation, int64_t batch);
/** The memory of a chunk from a byte offset on. */
sim_memory sim_chunk_memory(sim_data *data, sim_plan *plan, int64_t c, int64_t byte_offset);
/** Copy element by element, with checks. */
void sim_copy(sim_data *data, const sim_memory *target, const dcli_region *to, const sim_memory *source,
              const dcli_region *from);
void sim_poison(sim_data *data, const sim_memory *target, const dcli_region *region);
/** Make memory for the U chunks of a batch. */
void sim_make_chunks(sim_data *data, sim_plan *plan, int64_t batch);

/** Run a batch of a FORALL, or of a MOVE, on node p, by a plan. */
void sim_kernel(sim_data *data, int p, const dcli_operation *operation, sim_plan *plan, int64_t batch, bool failed);

/** Run a batch of a FORALL that has not failed, as it is lowered for the node's device of this operation. */
void sim_lowered(sim_data *data, int p, const dcli_operation *operation, sim_plan *plan, int64_t batch);
/** Whether a batch runs so, if it does not fail; else as it is planned. */
bool sim_is_lowered(const dcli_operation *operation);
/** Whether it reads peers' parts after it has been started, says the lowered batch. */
bool sim_lowered_reads_peers(sim_data *data, int p, const dcli_operation *operation, int64_t batch);

#endif
