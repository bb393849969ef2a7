/* kernel/names.h - the names a body and its parameters may use. */
#ifndef DCLI_KERNEL_NAMES_H
#define DCLI_KERNEL_NAMES_H

#include "kernel/body.h"

/** The number of an index name (i = 0, j = 1, ... p = 7), -1 for others. */
int dcli_name_index(const char *name, size_t length);
/** "i" ... "p". */
const char *dcli_index_name(int index);

/** Whether a name (any length, need not end) is a type or a qualifier of OpenCL C: what can begin a declaration. */
bool dcli_name_is_type(const char *name, size_t length);

/** Why a word must not stand in a body, NULL when it may: words that leave the body (return, goto), that work-items do
 *  together (barrier), that ask for the work-item, and names kept for generated code. */
const char *dcli_name_refused(const char *name, size_t length);

/** Check declared parameters: names, types, ranks, an output. @param tile_kernel  index names are names like others there.
 *  @return DCL_OK or DCL_ERR_INVALID. */
dcl_status dcli_params_check(int count, const dcli_param params[], bool tile_kernel);

/** "DCL_OUT" ... "DCL_IN_FUNCTION". */
const char *dcli_access_name(dcl_access access);

#endif
