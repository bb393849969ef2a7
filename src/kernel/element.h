/* kernel/element.h - reductions into single elements of arrays: `rho(0) += R(i) * R(i);`. Pure functions on text.
 *
 * The parser treats such an output as a result (DCL_ACCESS_RESULT) that has subscripts, so each node computes partial results
 * as for a variable of the program. Then a body combines them where the element is stored. */
#ifndef DCLI_KERNEL_ELEMENT_H
#define DCLI_KERNEL_ELEMENT_H

#include "kernel/body.h"
#include "kernel/token.h"

/** An output that is an element of an array. */
typedef struct dcli_reduced_element {
    int arg; /* number of the argument */
    int64_t index[DCL_MAX_RANK];
} dcli_reduced_element;

/** Whether the tokens [first, end) are a constant subscript: a number, maybe with a sign, or an integer scalar. */
bool dcli_is_constant(const dcli_tokens *tokens, int first, int end, int count, const dcli_param params[]);

/** Find the outputs of a reduction that are elements: each has constant subscripts, the same at all places. Others must be ordinary
 *  outputs, whose subscripts are all indices of the body.
 *  @param args   [count] of the call, at most DCLI_MAX_PARAMS, checked.
 *  @param ranks  [count] of the arguments' arrays; 0: the argument is none.
 *  @param out    [DCLI_MAX_RESULTS] the elements, in the order of the arguments.
 *  @return number of elements; 0: some output is neither, there are too many, or the text has no tokens. */
int dcli_elements_find(const char *text, int count, const dcl_arg args[], const int ranks[],
                       dcli_reduced_element out[]);

/** The names of the combining body's arguments. */
#define DCLI_ELEMENT \
    "reduce_element" /* the array of the element: DCL_OUT, or DCL_INOUT if it is combined with its value */
#define DCLI_ELEMENT_WORDS "reduce_words" /* the partial results: DCL_IN_ALL */
#define DCLI_ELEMENT_FIRST "reduce_first" /* longs: where the element's first partial result is, */
#define DCLI_ELEMENT_STEP "reduce_step"   /* how far the next one is, */
#define DCLI_ELEMENT_COUNT "reduce_count" /* how many there are, */
#define DCLI_ELEMENT_STAMP "reduce_stamp" /* and the stamp of the slots that count */

/** The numbers of these arguments among the body's parameters. */
enum {
    DCLI_ELEMENT_PARAM_ELEMENT,
    DCLI_ELEMENT_PARAM_WORDS,
    DCLI_ELEMENT_PARAM_FIRST,
    DCLI_ELEMENT_PARAM_STEP,
    DCLI_ELEMENT_PARAM_COUNT,
    DCLI_ELEMENT_PARAM_STAMP,
    DCLI_ELEMENT_PARAMS
};

/** Generate the body that combines partial results, to be run at one index, and its prelude.
 *  @param tree  the partial results are combined already (dcli_tree_source()): row 0 of an array of slots with one result, DCL_IN;
 *               only DCLI_ELEMENT_STAMP is used then.
 *  @param text_out, prelude_out  freed with dcli_free(). @return DCL_OK or DCL_ERR_NOMEM. */
dcl_status dcli_element_source(dcli_fold fold, dcl_type type, int rank, bool added, bool tree, char **text_out,
                               char **prelude_out);

/** Whether a body is one of dcli_element_source(), without `added` and `tree`, and which operator it has. So a node can merge the
 *  partial results by dcli_partial_merge() and dcli_partial_value(), which compute the same bits as the body. */
typedef struct dcli_combines {
    bool known;
    dcli_fold fold;
} dcli_combines;
dcli_combines dcli_element_recognize(const dcli_body *body);

/** The names of the other arguments of a body that combines the partial results of several nodes in one slot: it has those of the
 *  words, the first word, the length of a slot, the number of slots and the stamp, too. */
#define DCLI_TREE "reduce_tree" /* DCL_OUT: a row per node, of 1 + DCLI_PARTIAL_LONGS longs */
#define DCLI_TREE_APART \
    "reduce_part" /* how far the words of a node are from those of the next, or how many rows are between two slots */
#define DCLI_TREE_LAST "reduce_last" /* the last of the words, or of the rows */

/** Generate the body that combines the slots of node i and of those after it in row i, and its prelude. Run at the columns of a slot.
 *  @param rows  the words are rows of another such array; otherwise partial results of reductions, one node after the other.
 *  @return as dcli_element_source(). */
dcl_status dcli_tree_source(dcli_fold fold, dcl_type type, bool rows, char **text_out, char **prelude_out);

#endif
