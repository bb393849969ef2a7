/* loop/tree.h - a loop nest as a tree: loops, conditions, assignments and their expressions, each with its place in the
 * text. Sizes are numbers: a nest is parsed with the values of its integer scalars. */
#ifndef DCLI_LOOPS_TREE_H
#define DCLI_LOOPS_TREE_H

#include <dcl/forall.h>

#include "loop/message.h"

enum {
    DCLI_LOOPS_DEPTH = 10,      /* most loops around a statement */
    DCLI_LOOPS_MOST = 48,       /* most loops of a nest */
    DCLI_LOOPS_STATEMENTS = 48, /* most assignments of a nest */
    DCLI_LOOPS_SCALARS = 32,    /* most variables declared in a nest */
    DCLI_LOOPS_READS = 32,      /* most elements and variables that an assignment reads */
    DCLI_LOOPS_BOUNDS = 4,      /* most arguments of min() or max() in a bound */
    DCLI_LOOPS_TESTS = 12       /* most conditions around a statement or an element */
};

/** An argument of a nest: an array or a scalar. */
typedef struct dcli_loops_name {
    char name[48];
    dcl_access access; /* OUT, IN, INOUT, VALUE */
    dcl_type type;
    dcl_grid grid;   /* of an array */
    unsigned whole;  /* bit d: every tile has all indices of axis d of the array */
    unsigned gather; /* bit d: recurrences along axis d may run in a copy of the array with whole lines */
    bool any_shape;  /* an array of one axis that may be given several (loop/flat.c) */
    bool is_integer; /* of a VALUE: `value` is its value */
    int64_t value;
} dcli_loops_name;

/** constant + sum of coef[d] * counter of the loop at depth d. */
typedef struct dcli_loops_linear {
    int64_t constant, coef[DCLI_LOOPS_DEPTH];
} dcli_loops_linear;

typedef enum dcli_loops_expr_kind {
    DCLI_LOOPS_EXPR_NUMBER,  /* `text` is its spelling */
    DCLI_LOOPS_EXPR_COUNTER, /* loop number `symbol` */
    DCLI_LOOPS_EXPR_VALUE,   /* argument number `symbol`, a scalar */
    DCLI_LOOPS_EXPR_SCALAR,  /* variable number `symbol` */
    DCLI_LOOPS_EXPR_ELEMENT, /* argument number `symbol`, an array; items: subscripts */
    DCLI_LOOPS_EXPR_CALL,    /* function `text`; items: arguments */
    DCLI_LOOPS_EXPR_UNARY,   /* operator `text` */
    DCLI_LOOPS_EXPR_BINARY,  /* operator `text` */
    DCLI_LOOPS_EXPR_CHOICE,  /* items: condition, value if true, value if false */
    DCLI_LOOPS_EXPR_CAST     /* type `text` */
} dcli_loops_expr_kind;

typedef struct dcli_loops_expr {
    dcli_loops_expr_kind kind;
    dcli_loops_place place;
    char text[32];
    int symbol;
    int read;      /* ELEMENT or SCALAR that is read: its number among the reads of its statement */
    dcl_type type; /* CALL in a statement */
    struct dcli_loops_expr *first, *next; /* its first item; the next item of the expression to which it belongs */
    struct dcli_loops_expr *made;         /* the expression made before: for freeing */
} dcli_loops_expr;

/** A condition that holds where a statement, or the value of a ?:, is evaluated. */
typedef struct dcli_loops_test {
    const dcli_loops_expr *condition;
    bool negated;
} dcli_loops_test;

typedef enum dcli_loops_node_kind {
    DCLI_LOOPS_NODE_LOOP,
    DCLI_LOOPS_NODE_IF,
    DCLI_LOOPS_NODE_ASSIGN
} dcli_loops_node_kind;

typedef struct dcli_loops_node {
    dcli_loops_node_kind kind;
    dcli_loops_place place;
    int number;                           /* LOOP: of the loop; ASSIGN: of the statement */
    int order;                            /* position among all nodes in the order of the text */
    dcli_loops_test test;                 /* IF; an else is an IF of its own, negated */
    struct dcli_loops_node *first, *next; /* LOOP, IF: the first node inside; the next node beside it */
    struct dcli_loops_node *made;
} dcli_loops_node;

/** A loop: counter = each of low[0], low[0] + step, ... or, if step < 0, high[0], high[0] + step, ... while it is at
 *  least all of `low` and at most all of `high`. */
typedef struct dcli_loops_loop {
    char name[48];
    dcli_loops_place place;
    dcli_loops_node *node;
    int depth, parent; /* number of loops around it; the innermost of them, -1: none */
    int64_t step;      /* not 0 */
    int low_count, high_count;
    dcli_loops_linear low[DCLI_LOOPS_BOUNDS], high[DCLI_LOOPS_BOUNDS];
    bool is_long;                         /* its counter was declared long */
    const dcli_loops_expr *first, *limit; /* as they are written: counter = first; counter relation limit */
    char relation[3];
} dcli_loops_loop;

/** A variable declared in the nest. */
typedef struct dcli_loops_scalar {
    char name[48], type[16];
    dcli_loops_place place;
    int depth, loop[DCLI_LOOPS_DEPTH]; /* the loops around its declaration, the outermost first */
    bool is_counter, is_used;          /* it is the counter of loops that do not declare theirs; it is used in
                                          statements */
} dcli_loops_scalar;

/** An element, or a variable, that a statement reads or writes. */
typedef struct dcli_loops_access {
    bool is_array;
    int symbol; /* argument, or variable */
    dcli_loops_place place;
    dcli_loops_linear subscript[DCL_MAX_RANK];
    bool is_flat;   /* subscript[0] counts the elements of an array of several axes, in row-major order */
    int test_count; /* conditions of ?: around it */
    dcli_loops_test test[DCLI_LOOPS_TESTS];
} dcli_loops_access;

/** An assignment: target operator value. */
typedef struct dcli_loops_statement {
    dcli_loops_node *node;
    dcli_loops_place place;
    int depth, loop[DCLI_LOOPS_DEPTH]; /* the loops around it, the outermost first */
    int test_count;
    dcli_loops_test test[DCLI_LOOPS_TESTS]; /* conditions of the ifs around it */
    char op[4];                             /* "=", "+=", ... */
    bool reads_target;
    dcli_loops_access target;
    const dcli_loops_expr *target_expr, *value;
    int read_count;
    dcli_loops_access read[DCLI_LOOPS_READS];
} dcli_loops_statement;

typedef struct dcli_loops_tree {
    const char *text; /* borrowed */
    int name_count;
    const dcli_loops_name *name; /* [name_count], borrowed unless they are own_names */
    dcli_loops_name *own_names;  /* the arguments, and variables that became arrays; NULL: the arguments only */
    dcli_loops_node *first;
    int node_count;
    int loop_count, statement_count, scalar_count;
    dcli_loops_loop loop[DCLI_LOOPS_MOST];
    dcli_loops_scalar scalar[DCLI_LOOPS_SCALARS];
    dcli_loops_statement statement[DCLI_LOOPS_STATEMENTS];
    dcli_loops_expr *exprs; /* the expression that was made last */
    dcli_loops_node *nodes;
} dcli_loops_tree;

/** Parse a nest. Errors are added to `complaints`; the tree is complete only if there are none.
 *  @param names  [count]
 *  @return the tree, yours; NULL: DCL_ERR_NOMEM is recorded. */
dcli_loops_tree *dcli_loops_parse(const char *text, int count, const dcli_loops_name names[],
                                  dcli_loops_complaints *complaints);
void dcli_loops_tree_free(dcli_loops_tree *tree);

/** Give each statement that writes an array variables of its own, by repeating the assignments to them (loop/split.c).
 *  @return false: nothing was to be done, or it was not possible; then the tree may be incomplete. */
bool dcli_loops_tree_split(dcli_loops_tree *tree);
/** Cut loops where a statement writes what its other iterations read (loop/cut.c).
 *  @return false: nothing was to be done, or it was not possible; then the tree may be incomplete. */
bool dcli_loops_tree_cut(dcli_loops_tree *tree);
/** Copy an expression. @param variable, loop  the variables and loops that take the place of others; NULL: the same.
 *  @return NULL: no memory. */
dcli_loops_expr *dcli_loops_expr_copy(dcli_loops_tree *tree, const dcli_loops_expr *expr, const int variable[],
                                      const int loop[]);
/** Number a node, those inside of it and those after it, from `order` on. @return the next number */
int dcli_loops_number_nodes(dcli_loops_node *node, int order);
/** Whether a variable is assigned once, outside of all loops, a value that is computed of numbers, arguments and such variables by
 *  a few operators. */
bool dcli_loops_tree_is_constant(const dcli_loops_tree *tree, int variable);
/** Put the values of constant variables in their places. Their assignments stay, without a use.
 *  @param constants  bit v is variable v. @return false: no memory; then the tree is incomplete. */
bool dcli_loops_tree_fold(dcli_loops_tree *tree, uint32_t constants);
/** Make variables arrays, with an element for each iteration of the loops around their declaration. They follow the
 *  arguments.
 *  @param scalars  bit v is variable v.
 *  @param grids    [DCLI_LOOPS_SCALARS] by variable: the values of these loops' counters; rank 1 and one element if
 *                  there are none. The type is set here.
 *  @return false: no memory, or a variable has a type that arrays do not have; then the tree is incomplete. */
bool dcli_loops_tree_expand(dcli_loops_tree *tree, uint32_t scalars, const dcl_grid grids[]);

/** Whether an array has several axes, but one subscript, so that the subscript counts elements in row-major order. */
bool dcli_loops_is_flat(const dcli_loops_tree *tree, const dcli_loops_expr *element);
/** Complain of the subscripts of an array that are all in its first row: others were forgotten (loop/flat.c). */
void dcli_loops_check_rows(const dcli_loops_tree *tree, dcli_loops_complaints *complaints);
/** Complain of the number of an array's subscripts. */
void dcli_loops_complain_rank(dcli_loops_complaints *complaints, dcli_loops_place place, const dcli_loops_name *name,
                              int count);
/** Copy the arguments, so that the tree can change and add some. @return false: no memory. */
bool dcli_loops_tree_own_names(dcli_loops_tree *tree);

/** Print a tree as one line, for tests: `for i in [0, 9] { S0: C[i] = 1; }`. */
void dcli_loops_tree_print(const dcli_loops_tree *tree, dcli_text *out);
/** Print an expression as it would be written, with all parentheses. */
void dcli_loops_expr_print(const dcli_loops_tree *tree, const dcli_loops_expr *expr, dcli_text *out);
/** Print a linear form with the names of counters: `2*i + j - 1`. @param loop  [depth] the loops around it. */
void dcli_loops_linear_print(const dcli_loops_tree *tree, const dcli_loops_linear *linear, int depth, const int loop[],
                             dcli_text *out);

/** Read an expression as a linear form of the counters.
 *  @param complaints  gets the reason if the expression is no linear form; NULL: the reason is not wanted.
 *  @param what        the role of the expression, for the error: "subscript", "bound". */
bool dcli_loops_linear_read(const dcli_loops_tree *tree, const dcli_loops_expr *expr, dcli_loops_complaints *complaints,
                            const char *what, dcli_loops_linear *out);
/** Whether an expression is a condition on linear forms: comparisons, &&, ||, !. */
bool dcli_loops_condition_is_linear(const dcli_loops_tree *tree, const dcli_loops_expr *expr,
                                    dcli_loops_complaints *complaints);

#endif
