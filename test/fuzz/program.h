/* fuzz/program.h - a program's operations, made of an input: most of them such as a correct program makes. */
#ifndef TEST_FUZZ_PROGRAM_H
#define TEST_FUZZ_PROGRAM_H

#include "fuzz/input.h"

enum { FUZZ_STORAGES = 32, FUZZ_KERNELS = 16 };

/** What the program has done so far. Start with {0}. */
typedef struct fuzz_program {
    int nodes;
    int64_t operations; /* number of the last one */
    int storages;       /* made, numbers 0.. */
    int grid_of[FUZZ_STORAGES];
    bool released[FUZZ_STORAGES];
    int kernels; /* told, numbers 0.. */
    int body_of[FUZZ_KERNELS];
    bool forgotten[FUZZ_KERNELS];
    const char *folder; /* of its files */
} fuzz_program;

/** The next operation. @param operands  [DCLI_MOST_OPERANDS] memory for them. @return false: none that is right. */
bool fuzz_operation(fuzz_program *program, fuzz_input *input, dcli_msg_operation *operation_out,
                    dcli_msg_operand operands[]);
/** A CREATE of a new storage. */
bool fuzz_create(fuzz_program *program, fuzz_input *input, dcli_msg_operation *operation_out,
                 dcli_msg_operand operands[]);
/** A new body. @param parameters  [DCLI_MOST_OPERANDS] memory for its names. @return false: there are enough. */
bool fuzz_kernel(fuzz_program *program, fuzz_input *input, dcli_msg_kernel *kernel_out,
                 dcli_msg_parameter parameters[]);
/** Rank, origin and extent of a storage. */
void fuzz_grid_of(const fuzz_program *program, int64_t storage, dcli_msg_operation *grid_out);
/** A storage it has made, perhaps one more. */
int64_t fuzz_storage(const fuzz_program *program, fuzz_input *input);
/** One of the last operations, or one of the next. */
int64_t fuzz_near(const fuzz_program *program, fuzz_input *input);
/** A file below the folder, or one that must not be used. Valid until the next call. */
const char *fuzz_path(const fuzz_program *program, fuzz_input *input);
/** Keep an operation that was twisted within what can be computed in no time. */
void fuzz_tame(dcli_msg_operation *operation);

#endif
