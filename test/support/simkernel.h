/* test/support/simkernel.h - what simdata.c and simkernel.c share: memories and copies, loop bodies. */
#ifndef TEST_SUPPORT_SIMKERNEL_H
#define TEST_SUPPORT_SIMKERNEL_H

#include "support/simdata.h"

typedef struct sim_memory {
    int64_t *data;
    int64_t elements;
} sim_memory;

/** Memory nothing was written to. */
int64_t *sim_garbage(int64_t elements);
/** A node's part of operand k, to be read: it must be there. */
sim_memory sim_read_part(sim_data *data, const dcli_operation *operation, int k, int p);
/** The same, to be written: made when making it failed before. */
sim_memory sim_written_part(sim_data *data, const dcli_operation *operation, int k, int p);
/** A chunk from a byte offset on. */
sim_memory sim_chunk_memory(sim_data *data, sim_plan *plan, int64_t c, int64_t byte_offset);
/** Element by element, checked. */
void sim_copy(sim_data *data, const sim_memory *target, const dcli_region *to, const sim_memory *source,
              const dcli_region *from);
void sim_poison(sim_data *data, const sim_memory *target, const dcli_region *region);
/** Memory for the U chunks of a batch. */
void sim_make_chunks(sim_data *data, int p, const dcli_operation *operation, int64_t batch);

/** A batch of a FORALL, or of a MOVE, on node p. */
void sim_kernel(sim_data *data, int p, const dcli_operation *operation, int64_t batch, bool failed);

/** The same of a batch of a FORALL that has not failed, as it is lowered for the device that the node has for this operation. */
void sim_lowered(sim_data *data, int p, const dcli_operation *operation, int64_t batch);

#endif
