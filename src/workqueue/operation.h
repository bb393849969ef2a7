/* workqueue/operation.h - one call of the program as all nodes see it. */
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
    DCLI_OP_MOVE,  /* make replicas of elements at one node */
    DCLI_OP_DROP,  /* drop replicas, at all nodes */
    DCLI_OP_KIND_COUNT
} dcli_op_kind;

/** An operand of an operation: an array or a scalar. */
typedef struct dcli_operand {
    int64_t storage;            /* number of the storage; -1: a scalar or prelude */
    const dcli_layout *layout;  /* layout of the array; borrowed; NULL for scalars */
    const dcli_transform *view; /* the view through which the array is accessed; borrowed; NULL: there is none */
    bool reshaped;              /* the layout is that of a reshaped view, not the storage's own */
    dcli_declared declared;     /* FORALL: the declaration of what is read; borrowed */
    bool reads, writes;         /* whether the operand is read; whether it is written. An operand whose elements may
                                   be left unwritten counts as read, too, because their old values are needed */
    bool overwrites;            /* the operation writes every element of the storage without reading: this makes a
                                   failed storage valid again */
    int64_t generation;         /* generation of the replicas that are used; 0: none are */
    bool keeps;                 /* received elements become replicas */
    bool fresh; /* FORALL with an overlap: the lines around the nodes' parts are received again first; so the operand
                   is written, too */
} dcli_operand;

/** A descriptor, ready to be planned. FORALL: operand k is parameter k of the body; otherwise operand 0 is the array,
 *  without a view. What it points to outlives it. The lists come last, because most of their entries are not used, and
 *  need not be set. */
typedef struct dcli_operation {
    int64_t number; /* 1, 2, ... in the program's order */
    dcli_op_kind kind;
    int operand_count;
    const dcli_body *body; /* FORALL: the loop body */
    dcl_box box;           /* FORALL: the index space; READ, WRITE, FILL, MOVE: the elements */
    int node;              /* MOVE: the node to which the elements move */
    int64_t overlap;       /* FORALL: more than 0: nodes read the lines around their parts in place, and also
                              compute overlap - 1 of them on each side (overlap.h) */
    dcli_scalar value[DCLI_MAX_PARAMS];    /* [operand_count] FORALL: scalars, by parameter */
    dcli_operand operand[DCLI_MAX_PARAMS]; /* [operand_count] */
} dcli_operation;

/** Whether received elements of an operand may become replicas: all of them if the call asks for it; those in the map's
 *  halo if the map has one and the operand is read only, without a reshaped view (then its generation is not 0). */
static inline bool dcli_operand_makes_replicas(const dcli_operand *operand)
{
    return operand->keeps || (operand->generation > 0 && operand->layout->rule.halo_rank > 0);
}

/** Bytes of an element of an operand. */
static inline size_t dcli_element_bytes(const dcli_operation *operation, int operand)
{
    return dcl_type_bytes(operation->operand[operand].layout->grid.type);
}

/** The grid of an operand as the operation sees it. */
static inline const dcl_grid *dcli_operand_grid(const dcli_operand *operand)
{
    return operand->view != NULL ? &operand->view->grid : &operand->layout->grid;
}

/** The subscripts of access `a` of a FORALL, both as in the body, and for the grid of the array behind the view (the
 *  same without a view). Ranges of inner axes and periods are taken into account. @return DCL_OK; DCL_ERR_BODY: one
 *  overflows, or has a period for which the elements that are read cannot be computed; or as of
 *  dcli_operation_inner(). */
dcl_status dcli_operation_subscripts(const dcli_operation *operation, int a, dcli_subscripts *own_out,
                                     dcli_subscripts *base_out);

/** The ranges of a body's inner axes. @param start_out  [inner_rank], as count_out. @return DCL_OK; DCL_ERR_INVALID: an
 *  index has two ranges; DCL_ERR_BODY: as of dcli_over_inner(). */
dcl_status dcli_operation_inner(const dcli_operation *operation, int64_t start_out[], int64_t count_out[]);

/** The valid indices of access `a` of a FORALL: the grid that the operation sees and, for reads along a periodic axis,
 *  the widths of the halo beyond its edges; for a subscript with a period, one period on both sides. */
dcl_grid dcli_access_grid(const dcli_operation *operation, int a);
/** What an access reads for the indices in `space`: dcli_footprint() of its subscripts as in the body, and the box
 *  of the base, which on periodic axes may extend beyond the array's grid (segment/image.h). @param cut_out  as of
 *  dcli_footprint(): for some index it reads outside the grid. @return false if nothing is read; both are then
 *  empty. */
bool dcli_access_footprint(const dcli_operation *operation, int a, const dcli_subscripts *own, const dcl_box *space,
                           dcl_box *seen_out, dcl_box *footprint_out, bool *cut_out);

/** Set what follows from the kind (and for FORALL from the body): reads, writes, overwrites of the operands. */
void dcli_operation_resolve(dcli_operation *operation);

/** FORALL: check what depends on the arrays: equal extents of outputs, ranks and types of the parameters, declarations
 *  (segment/declared.h), the box in the first output's grid, subscripts within 64 bits, no element read or written at
 *  two different subscripts while its array is written, no broadcast output.
 *  @return DCL_OK; DCL_ERR_INVALID; DCL_ERR_RANGE; DCL_ERR_BODY (alias; proposes a second array and dcl_swap);
 *          DCL_ERR_UNSUPPORTED: only some elements of an output are stored, and it is laid out otherwise than the first
 *          output, or the body is reduced over it; DCL_ERR_INTERNAL: an argument does not fit the parsed body. */
dcl_status dcli_operation_check(const dcli_operation *operation);

#endif
