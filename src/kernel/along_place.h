/* kernel/along_place.h - the indices of minima and maxima along axes: `low(i) min= A(i,j);` with DCL_RESULT_AT. Pure functions on text.
 *
 * After the reduction, a second one finds the least number of an index that has the value of the element. Numbers count the reduced
 * indices from their first ones, the last index fastest. */
#ifndef DCLI_KERNEL_ALONG_PLACE_H
#define DCLI_KERNEL_ALONG_PLACE_H

#include "kernel/body.h"

/** Names of the library's arguments begin with this. A name is followed by the number of the result or of the reduced index. */
#define DCLI_PLACE "place_"
#define DCLI_PLACE_NUMBER DCLI_PLACE "n" /* arrays of longs: the numbers; LONG_MAX if there is none */
#define DCLI_PLACE_VALUE DCLI_PLACE "v"  /* the outputs of the reduction, as inputs */
#define DCLI_PLACE_FIRST DCLI_PLACE "f"  /* longs: the first value of a reduced index */
#define DCLI_PLACE_COUNT DCLI_PLACE "c"  /* and how many it has */

/** Generate the second reduction of a parsed reduction along axes.
 *  @param placed  set of results: bit r.
 *  @return the text, freed with dcli_free(); NULL: DCL_ERR_NOMEM, or DCL_ERR_BODY: a result is no minimum or maximum, or the text
 *          has names that begin with DCLI_PLACE. */
char *dcli_along_place(const dcli_body *body, unsigned placed);
/** Generate the body that turns numbers (DCLI_PLACE_NUMBER "0") into indices, or -1 if there is none.
 *  @param rank      of the reduction's output. @param count  of the reduced indices; if more than one, the array of indices has one
 *                   more axis, the last one, with one element for each.
 *  @param integer   the type of the array.
 *  @return the text, freed with dcli_free(); NULL: DCL_ERR_NOMEM. */
char *dcli_along_indices(int rank, int count, dcl_type integer);

#endif
