/* workqueue/overlap.h - several steps of a time loop per exchange, for arrays whose maps have an overlap
 * (resmap/overlap.c).
 *
 * Each node stores, around its part, lines that other nodes own. The program's side records how many of them are
 * *valid*, that is, have the values of their owners. A loop body that reads r lines before or after its own may then
 * run without any exchange where d >= r lines are valid, and also compute d - r lines beyond each node's part. So the
 * output has d - r valid lines around each part, for the next step. If the lines are too few, they are received first
 * (dcli_operand.fresh). Lines are computed by the same body from the same values as at their owners, so they have the
 * same bits.
 *
 * The number of valid lines is the same on all nodes. It is a function of the sequence of operations, known before an
 * operation is issued; explain uses it, too. Pure functions. */
#ifndef DCLI_WORKQUEUE_OVERLAP_H
#define DCLI_WORKQUEUE_OVERLAP_H

#include "workqueue/operation.h"

enum {
    /* A loop of a nest that has fewer iterations is not known to be a time loop. Lines are received twice in the first steps if these
     * write the inner elements only, which takes the time of several exchanges of single lines. */
    DCLI_LEAST_ROUNDS = 8
};

/** How many lines around the parts of a storage are valid. {0}: none. */
typedef struct dcli_valid_lines {
    dcl_box box;             /* where `inside` holds: the box written last, or a box around it that an earlier step
                                wrote, if the last body was no step; rank 0: everywhere */
    int64_t inside, outside; /* number of valid lines, for elements in `box` and for all others. With rank 0 both are
                                equal */
    int64_t steps; /* number of steps of a time loop that led to the contents, counted up to LEAST_STEPS (overlap.c).
                      A step is a body that could use lines, and reads others than its own; a body that could use
                      lines and reads only its own passes the number on */
} dcli_valid_lines;

/** Choose whether a FORALL that is about to be issued uses the lines around parts, and set `overlap` and the operands'
 *  `fresh`. Call it before dcli_operation_resolve().
 *  If the map has an overlap, a body that can use the lines does, unless they are too few for a second such step. If
 *  DCL has reserved them (dcli_layout_reserve()), only a body of a time loop does, from step LEAST_STEPS on. Bodies
 *  that stand alone thus move and lend as without these lines.
 *  @param lines    [operand_count] of the operands' storages; NULL for operands that are no arrays.
 *  @param repeats  it is known to be in a time loop of at least DCLI_LEAST_ROUNDS iterations, so it need not be counted
 *                  as a step first. */
void dcli_overlap_choose(dcli_operation *operation, const dcli_valid_lines *const lines[], bool repeats);
/** Record an operation that was issued, of any kind. @param lines  as of dcli_overlap_choose(); updated. */
void dcli_overlap_record(const dcli_operation *operation, dcli_valid_lines *const lines[]);

/** Check `overlap` and `fresh` of a FORALL that was received. @return DCL_OK or DCL_ERR_PROTOCOL. */
dcl_status dcli_overlap_check_received(const dcli_operation *operation);
/** Whether nodes receive lines for an operation with an overlap. */
bool dcli_overlap_receives(const dcli_operation *operation);
/** Add to a list the nodes with which `self` may exchange lines in an operation with an overlap: the owners of the
 *  lines around its part. @return DCL_OK or DCL_ERR_NOMEM. */
dcl_status dcli_overlap_partners(const dcli_operation *operation, int self, dcli_node_list *partners);

#endif
