/* runtime/declare.h - what the arguments of a call declare to read, as numbers. */
#ifndef DCLI_RUNTIME_DECLARE_H
#define DCLI_RUNTIME_DECLARE_H

#include "runtime/cluster.h"

/** What a call's arguments declare to read, one entry per parameter of the body. */
typedef struct dcli_declarations {
    dcli_declared of[DCLI_MAX_PARAMS];
    int64_t *number; /* the numbers of all declarations, to which `of` points */
    int64_t count, capacity;
} dcli_declarations;

/** Set the declarations of `count` arguments to none. */
void dcli_declarations_begin(dcli_declarations *declarations, int count);
/** Evaluate the declarations of checked arguments; calls the program's functions. The cluster's lock is not held.
 *  @param box  of the call; NULL: the whole grid.
 *  @return DCL_OK, DCL_ERR_INVALID, DCL_ERR_RANGE, DCL_ERR_NOMEM. Free the declarations in any case. */
dcl_status dcli_declare(dcl_cluster *cluster, const dcl_box *box, int count, const dcl_arg args[],
                        dcli_declarations *declarations);
void dcli_declarations_free(dcli_declarations *declarations);

#endif
