/* sim/program.h - the programs that are simulated: their arrays, operations and descriptors. */
#ifndef DCLI_SIM_PROGRAM_H
#define DCLI_SIM_PROGRAM_H

#include "net/message.h"
#include "sim/sim.h"
#include "workqueue/operation.h"

enum { DCLI_SIM_STORAGES = 3, DCLI_SIM_MOST_MAP = 256 };

typedef struct dcli_sim_program {
    dcl_grid grid;
    dcli_layout layout[2]; /* of all arrays; [1]: of the second array of REMAP */
    int layout_count, storage_count;
    char map[2][DCLI_SIM_MOST_MAP]; /* texts of the layouts' maps */
    dcli_body *body;
    int shapes; /* step s has the same plans as step s - shapes */
    int64_t tile_count;
    double *tile_cost; /* [tile_count] relative cost of each part of the first axis; NULL: all are equal */
    dcli_operation
        *operation; /* [operation_count] number n is at n - 1: first one CREATE per storage, then the steps */
    int operation_count;
} dcli_sim_program;

/** Make a program. @return DCL_OK, or DCL_ERR_INVALID or DCL_ERR_NOMEM. Free it in any case; start with {0}. */
dcl_status dcli_sim_program_make(const dcl_sim_settings *settings, dcli_sim_program *program);
void dcli_sim_program_free(dcli_sim_program *program);

/** The descriptor of an operation as the program's call sends it. @param operands  [DCLI_SIM_STORAGES] memory for it. */
dcli_msg_operation dcli_sim_describe(const dcli_sim_program *program, const dcli_operation *operation, int nodes,
                                     dcli_msg_operand operands[]);
/** Relative cost of a box of indices: the number of its elements, if all cost the same. */
double dcli_sim_cost_of(const dcli_sim_program *program, const dcl_box *box);

/** A random number in [0, 1) that depends on the three numbers alone. */
double dcli_sim_random(uint64_t seed, uint64_t a, uint64_t b);

#endif
