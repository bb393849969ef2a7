/* kernel/leaves.h - reductions to values and into elements whose results are combined in one order: products of floating-point
 * numbers, and operators of the program. Pure functions on text.
 *
 * Such a reduction is a body that stores the values of all indices in arrays, followed by reductions along axes, from the last axis
 * to the first. An axis of more than DCLI_LEAF elements is cut into leaves of DCLI_LEAF elements, until one is left. */
#ifndef DCLI_KERNEL_LEAVES_H
#define DCLI_KERNEL_LEAVES_H

#include "kernel/body.h"

/** Elements of a leaf. */
#define DCLI_LEAF 1024
/** Names of the library's arguments begin with this. */
#define DCLI_ORDERED "ordered_"
#define DCLI_ORDERED_TO DCLI_ORDERED "to"     /* stages: the output */
#define DCLI_ORDERED_FROM DCLI_ORDERED "from" /* and the input */
#define DCLI_ORDERED_LOW DCLI_ORDERED "low"   /* longs: the first and the last index of the axis that is cut */
#define DCLI_ORDERED_HIGH DCLI_ORDERED "high"

/** A parsed reduction. */
typedef struct dcli_leaves {
    int count;                            /* of the results that are combined in one order */
    dcli_result result[DCLI_MAX_RESULTS]; /* these results */
    int home;                             /* the parameter that gives the indices */
    int index[DCL_MAX_RANK];              /* the number of the index along each of its axes */
    bool plain;    /* the text is one statement, whose value is an element of that parameter, of the result's type */
    char *values;  /* the body that stores the values of result n in array ordered_v<n>, at the subscripts of `home` */
    char *neutral; /* the body that stores neutral elements there */
    char *others;  /* the reduction of the other results; NULL: there are none */
    char letters[DCL_MAX_RANK + 1]; /* indices that are no macros of the prelude */
} dcli_leaves;

/** Parse a reduction to values or into elements.
 *  @param out  count 0: no result is combined in one order, and nothing else is set. End it with dcli_leaves_free().
 *  @return DCL_OK, DCL_ERR_BODY, DCL_ERR_INVALID, DCL_ERR_NOMEM. */
dcl_status dcli_leaves_parse(const char *text, const char *prelude, const char *over, int count,
                             const dcli_param params[], dcli_leaves *out);
void dcli_leaves_free(dcli_leaves *leaves);

/** Generate the reduction of the last axis.
 *  @param rank      of the input, 1..DCL_MAX_RANK.
 *  @param name      of the operator of the program (dcli_param.name); NULL: a product.
 *  @param over_out  NULL: the output does not have the axis, else it has one element per leaf, and this is the text of DCL_OVER.
 *  @return the text, and *over_out, freed with dcli_free(); NULL: DCL_ERR_NOMEM, or DCL_ERR_INVALID: macros leave too few letters. */
char *dcli_leaves_stage(const dcli_leaves *leaves, int rank, const char *name, char **over_out);
/** Generate the body that stores the result, an array of one element, in an element of an array.
 *  @param added  combine it with what the element contains. @return as dcli_leaves_stage(). */
char *dcli_leaves_end(const dcli_leaves *leaves, int rank, const char *name, bool added);

#endif
