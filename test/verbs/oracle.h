/* verbs/oracle.h - what a verb computes, by plain loops over indices in the order of their numbers. */
#ifndef TEST_VERBS_ORACLE_H
#define TEST_VERBS_ORACLE_H

#include "verbs/values.h"

enum {
    TEST_MOST_INDICES = 6,
    TEST_WINDOW = 3 /* elements of b that a loop of the body reads at each index */
};

/** An operand: an array read or written at plain indices, each axis `shift` behind the index. */
typedef struct test_operand {
    dcl_type type;
    int rank;                /* 0 with values == NULL: there is none */
    int index[DCL_MAX_RANK]; /* the number of the index along each axis: 0 = i, ... */
    int shift[DCL_MAX_RANK];
    char bound
        [DCL_MAX_RANK]; /* of the subscript: c clamp, n min, x max, w wrapped by %, r reflect, s symmetric, z constant;
                                 0: none */
    dcl_grid grid;
    test_value *values; /* elements by rows, then the constant of z */
} test_operand;

typedef enum test_verb {
    TEST_FORALL, /* out = a OP b, or out = out OP a */
    TEST_VALUE,  /* out OP= a SECOND b; out is a variable */
    TEST_ALONG,  /* the same; out is an array */
    TEST_SCAN,   /* the same, along one index */
    TEST_KEYED,  /* out(KEY, ...) OP= a SECOND b; the keys are the elements of an array */
    TEST_ELEMENT /* out(CONSTANT) OP= a SECOND b */
} test_verb;

/** A range of index x (DCL_OVER): least <= x <= most, and, as `low` and `high` say,
 *  slope * y - below <= x <= slope * y + above. */
typedef struct test_range {
    bool some, low, high;
    int x, y;
    int64_t slope, least, most, below, above;
} test_range;

/** A call. The indices range over `start[x]`, ..., `start[x] + extent[x] - 1`. */
typedef struct test_call {
    test_verb verb;
    test_operator op, second; /* second: TEST_OPERATORS: only a is read */
    int indices;
    int64_t start[TEST_MOST_INDICES], extent[TEST_MOST_INDICES];
    test_operand out, a, b;
    bool inout, exclusive;
    bool boxed; /* not at all indices: along index x only at first[x] + n * step[x], n < count[x] */
    int64_t first[TEST_MOST_INDICES], step[TEST_MOST_INDICES], count[TEST_MOST_INDICES];
    int along;         /* SCAN: the index */
    int key;           /* KEYED, ELEMENT: the number after those of the indices, along one axis of out; else -1 */
    test_operand keys; /* KEYED */
    int64_t element;   /* ELEMENT: the constant */
    bool outside;      /* KEYED: computed; some key is none of an element of out */
    test_range range;
    bool placed;                 /* VALUE, ALONG, KEYED, a minimum or maximum: computed, where it is (DCL_RESULT_AT) */
    int64_t where[DCL_MAX_RANK]; /* VALUE: along the axes of a */
    int inner;                   /* ALONG, KEYED: number of reduced indices */
    int64_t *places;             /* and, for each element of out, their values; -1: none */
    bool chain;                  /* ALONG: a contraction */
    bool window;                 /* FORALL: the sum of a OP b over TEST_WINDOW elements of b along its first axis */
} test_call;

/** The element of an operand at values of all indices, or the number of elements: the constant; -1: outside of its grid, for which a
 *  subscript with a bound never is. */
int64_t test_at(const test_operand *operand, const int64_t index[]);

/** Whether the body is run at these values of all indices. */
bool test_runs_at(const test_call *call, const int64_t index[]);

/** Compute the results into call->out.values. @return whether there was memory */
bool test_compute_call(test_call *call);

#endif
