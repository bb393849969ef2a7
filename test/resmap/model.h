/* test/resmap/model.h - random maps on small random grids, and where everything lies found the slow way: by dealing out
 * elements and pieces one after the other. Knows nothing of the library's arithmetic. */
#ifndef TEST_RESMAP_MODEL_H
#define TEST_RESMAP_MODEL_H

#include "resmap/layout.h"
#include "segment/random.h"

enum { TEST_MOST = 4096, TEST_SIDE = 128 }; /* elements of a grid, and of one axis */
enum { TEST_NODES = 32 };                   /* more than the cluster has */

/** Elements are numbered by rows of the grid. */
typedef struct test_model {
    uint64_t seed;
    test_random random; /* for what a test draws itself */
    dcli_map_rule rule;
    dcl_grid grid;
    dcli_layout layout; /* the library's, under test */
    int nodes[DCL_MAX_RANK];
    int cluster;    /* its nodes: those that the map uses, and others */
    int node_of[8]; /* by place */
    int64_t elements;
    int owner[TEST_MOST];      /* -1: stored nowhere */
    int64_t offset[TEST_MOST]; /* in the owner's storage, for rows too short to be padded */
    int64_t tile[TEST_MOST];   /* number among the owner's tiles, -1: the map gives no tile */
    int64_t block[TEST_MOST];  /* distinct numbers for distinct blocks */
    char text[512];            /* seed, map and grid: for failures */
} test_model;

/** Draw a map and a grid from a seed and lay one over the other. Asserts that binding succeeds. A model begins with zeros
 *  and can be made again and again. */
void test_model_make(test_model *model, uint64_t seed);

/** Give back what it holds. */
void test_model_free(test_model *model);

/** Index of element number e, and the number of an index inside the grid. */
void test_model_index(const test_model *model, int64_t e, int64_t index_out[]);
int64_t test_model_element(const test_model *model, const int64_t index[]);

/** A random box inside the grid, not empty unless the grid is. */
dcl_box test_model_box(test_model *model);

/** Index of the element of a box at place at[]; places start with zeros. */
void test_box_index(const dcl_box *box, const int64_t at[], int64_t index_out[]);
/** Move to the next place, last axis fastest. @return false after the last. */
bool test_box_next(const dcl_box *box, int64_t at[]);

#endif
