/* pairs/bodies.h - loops over arrays of a pair of maps, run by the library and by plain loops. */
#ifndef TEST_PAIRS_BODIES_H
#define TEST_PAIRS_BODIES_H

#include "pairs/model.h"

/** Arrays of a case. A and B are under one kind of map, C and D under the other; E, which is written to, as B. */
typedef struct test_pair {
    dcl_cluster *cluster;
    uint64_t random;
    test_model a, b, c, d, e;
} test_pair;

typedef enum test_body {
    TEST_ADD,       /* C(i,j) = A(i,j) + D(i,j) */
    TEST_PERMUTED,  /* C(i,j) = D(i,j) - B(j,i) */
    TEST_SHIFTED,   /* C(i,j) = A(i-s, j-t) where there is such an element, else 5 */
    TEST_SCATTERED, /* C(i,j) = A(i,j) + 1; E(j,i) = 2 * A(i,j) */
    TEST_TILES      /* C(i,j) = A(i,j) - D(i,j), a tile kernel with a work-item per element */
} test_body;

/** Which axis of A axis d of B and E is, and their grid for A's. */
int test_axis(int rank, int d);
dcl_grid test_permuted_grid(const dcl_grid *grid);

/** Explain a body, run it, compare counters, and do the same to the values. @return whether all was right */
bool test_run_body(test_pair *pair, test_body body, const dcl_box *box);

#endif
