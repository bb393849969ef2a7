/* kernel/along_place.h - the indices of minima and maxima that are elements of arrays: `low(i) min= A(i,j);` or
 * `low(key(i)) min= A(i,j);` with DCL_RESULT_AT. Pure functions on text.
 *
 * After the reduction, a second one finds the least number of an index that has the value of the element. Numbers count the reduced
 * indices from their first ones, the last index of the alphabet fastest. */
#ifndef DCLI_KERNEL_ALONG_PLACE_H
#define DCLI_KERNEL_ALONG_PLACE_H

#include "kernel/body.h"

/** Names of the library's arguments begin with this. A name is followed by the number of the result or of the reduced index. */
#define DCLI_PLACE "place_"
#define DCLI_PLACE_NUMBER DCLI_PLACE "n" /* arrays of longs: the numbers; LONG_MAX if there is none */
#define DCLI_PLACE_VALUE DCLI_PLACE "v"  /* the outputs of the reduction, as inputs; read at keys: anywhere */
#define DCLI_PLACE_FIRST DCLI_PLACE "f"  /* longs: the first value of an index that is reduced */
#define DCLI_PLACE_COUNT DCLI_PLACE "c"  /* and how many it has */
#define DCLI_PLACE_LOW DCLI_PLACE "l" /* longs, of keys only: the lowest index of axis d of result r, by name <r>_<d> */
#define DCLI_PLACE_EXTENT DCLI_PLACE "e" /* and how many the axis has */

/** Generate the second reduction of a parsed reduction along axes.
 *  @param placed  set of results: bit r.
 *  @return the text, freed with dcli_free(); NULL: DCL_ERR_NOMEM, or DCL_ERR_BODY: a result is no minimum or maximum, or the text
 *          has names that begin with DCLI_PLACE. */
char *dcli_along_place(const dcli_body *body, unsigned placed);
/** The same of a reduction by keys. DCLI_PLACE_FIRST and DCLI_PLACE_COUNT are numbered by all indices of the body, in the order of their
 *  names. @return also DCL_ERR_BODY if no index is reduced into some placed result. */
char *dcli_keyed_place(const dcli_body *body, unsigned placed);
/** Generate the body that turns numbers (DCLI_PLACE_NUMBER "0") into indices, or -1 if there is none.
 *  @param rank      of the reduction's output. @param count  of the reduced indices; if more than one, the array of indices has one
 *                   more axis, the last one, with one element for each.
 *  @param integer   the type of the array.
 *  @return the text, freed with dcli_free(); NULL: DCL_ERR_NOMEM. */
char *dcli_along_indices(int rank, int count, dcl_type integer);

#endif
