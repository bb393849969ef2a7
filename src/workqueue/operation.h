/* workqueue/operation.h - one call of the program as every node sees it. */
#ifndef DCLI_WORKQUEUE_OPERATION_H
#define DCLI_WORKQUEUE_OPERATION_H

#include "kernel/body.h"
#include "resmap/layout.h"
#include "segment/view.h"

typedef enum dcli_op_kind {
    DCLI_OP_CREATE = 1,
    DCLI_OP_RELEASE,
    DCLI_OP_FORALL,
    DCLI_OP_FILL,
    DCLI_OP_WRITE, /* host memory -> array */
    DCLI_OP_READ,  /* array -> host memory */
    DCLI_OP_LOAD,  /* file -> array, by the owners */
    DCLI_OP_SAVE,  /* array -> file, by the owners */
    DCLI_OP_MOVE,  /* elements -> copies at one node, ahead of use */
    DCLI_OP_DROP,  /* copies end, at all nodes */
    DCLI_OP_KIND_COUNT
} dcli_op_kind;

/** An array (or scalar) of an operation. */
typedef struct dcli_operand {
    int64_t storage;            /* number of the storage; -1: a scalar or prelude */
    const dcli_layout *layout;  /* borrowed; NULL for scalars */
    const dcli_transform *view; /* borrowed; what the operation sees of the array; NULL: the array as it is */
    bool reshaped;              /* the layout is of another shape than the storage was made with */
    dcli_declared declared;     /* FORALL: what the call declares of what is read; borrowed */
    bool reads, writes;         /* what is written perhaps is read too: the rest is kept */
    bool overwrites;            /* writes every element of the storage without reading it: heals a failed one */
    int64_t kept;               /* copies of it at other nodes are used, of this generation; 0: none are */
    bool keeps;                 /* and what nodes receive of it becomes copies */
} dcli_operand;

/** A descriptor, ready to be planned. For FORALL operand k is parameter k of the body; otherwise operand 0 is the array, as it is.
 *  Everything it points to outlives it. */
typedef struct dcli_operation {
    int64_t number; /* 1, 2, ... in the program's order */
    dcli_op_kind kind;
    int operand_count;
    dcli_operand operand[DCLI_MAX_PARAMS];
    const dcli_body *body;              /* FORALL */
    dcli_scalar value[DCLI_MAX_PARAMS]; /* FORALL: scalars, by parameter */
    dcl_box box;                        /* FORALL: index space; READ, WRITE, FILL, MOVE: the elements */
    int node;                           /* MOVE: where to */
} dcli_operation;

/** Whether what nodes receive of an operand may become copies: as the call asks, or where it is in the halo of the map. */
static inline bool dcli_makes_copies(const dcli_operand *operand)
{
    return operand->keeps || (operand->kept > 0 && operand->layout->rule.halo_rank > 0);
}

/** Bytes of an element of an operand. */
static inline size_t dcli_element_bytes(const dcli_operation *operation, int operand)
{
    return dcl_type_bytes(operation->operand[operand].layout->grid.type);
}

/** The grid that an operation sees of an array. */
static inline const dcl_grid *dcli_operand_grid(const dcli_operand *operand)
{
    return operand->view != NULL ? &operand->view->grid : &operand->layout->grid;
}

/** The subscripts of access `a` of a FORALL as they stand in the body, and on the grid of the array behind the view (the same
 *  without one). @return DCL_OK, or DCL_ERR_BODY: one overflows. */
dcl_status dcli_operation_subscripts(const dcli_operation *operation, int a, dcli_subscripts *own_out,
                                     dcli_subscripts *base_out);

/** The indices by which access `a` of a FORALL finds elements: the grid that the operation sees of its array and, where it
 *  reads along an axis that is periodic, the widths of the halo beyond the edges. */
dcl_grid dcli_access_grid(const dcli_operation *operation, int a);
/** What an access finds there for the indices in `space`: dcli_footprint() of its subscripts as they stand in the body, and the
 *  elements behind that, which on periodic axes may lie beyond the array's grid (segment/image.h).
 *  @return false when nothing is found; both are then empty. */
bool dcli_access_footprint(const dcli_operation *operation, int a, const dcli_subscripts *own, const dcl_box *space,
                           dcl_box *seen_out, dcl_box *footprint_out, bool *cut_out);

/** Fill in what follows from the kind (and for FORALL from the body): reads, writes, overwrites of the operands. */
void dcli_operation_resolve(dcli_operation *operation);

/** FORALL: check what cannot be checked in the text: equal extents of outputs, ranks and types of the parameters, what is
 *  declared of them (segment/declared.h), the box in the first output's grid, subscripts of 64 bits, no element read or
 *  written at two different subscripts while its array is written, no output that is broadcast.
 *  @return DCL_OK, DCL_ERR_INVALID, DCL_ERR_RANGE, DCL_ERR_BODY (alias; proposes a second array and dcl_swap). */
dcl_status dcli_operation_check(const dcli_operation *operation);

#endif
