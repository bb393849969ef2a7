/* workqueue/operation.h - one call of the program as every node sees it. */
#ifndef DCLI_WORKQUEUE_OPERATION_H
#define DCLI_WORKQUEUE_OPERATION_H

#include "kernel/body.h"
#include "resmap/layout.h"

typedef enum dcli_op_kind {
    DCLI_OP_CREATE = 1,
    DCLI_OP_RELEASE,
    DCLI_OP_FORALL,
    DCLI_OP_FILL,
    DCLI_OP_WRITE, /* host memory -> array */
    DCLI_OP_READ,  /* array -> host memory */
    DCLI_OP_LOAD,  /* file -> array, by the owners */
    DCLI_OP_SAVE,  /* array -> file, by the owners */
    DCLI_OP_KIND_COUNT
} dcli_op_kind;

/** An array (or scalar) of an operation. */
typedef struct dcli_operand {
    int64_t storage;           /* number of the storage; -1: a scalar or prelude */
    const dcli_layout *layout; /* borrowed; NULL for scalars */
    bool reads, writes;        /* what is written perhaps is read too: the rest is kept */
    bool overwrites;           /* writes every element of the storage without reading it: heals a failed one */
} dcli_operand;

/** A descriptor, ready to be planned. For FORALL operand k is parameter k of the body; otherwise operand 0 is the array.
 *  Everything it points to outlives it. */
typedef struct dcli_operation {
    int64_t number; /* 1, 2, ... in the program's order */
    dcli_op_kind kind;
    int operand_count;
    dcli_operand operand[DCLI_MAX_PARAMS];
    const dcli_body *body;              /* FORALL */
    dcli_scalar value[DCLI_MAX_PARAMS]; /* FORALL: scalars, by parameter */
    dcl_box box;                        /* FORALL: index space; READ, WRITE: what is moved */
} dcli_operation;

/** Fill in what follows from the kind (and for FORALL from the body): reads, writes, overwrites of the operands. */
void dcli_operation_resolve(dcli_operation *operation);

/** FORALL: check what cannot be checked in the text: equal extents of outputs, ranks and types of the parameters, the box
 *  in the first output's grid, no array read or written at two different subscripts while it is written.
 *  @return DCL_OK, DCL_ERR_INVALID, DCL_ERR_RANGE, DCL_ERR_BODY (alias; proposes a second array and dcl_swap). */
dcl_status dcli_operation_check(const dcli_operation *operation);

#endif
