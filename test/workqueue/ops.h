/* test/workqueue/ops.h - operations for tests, written shortly. */
#ifndef TEST_WORKQUEUE_OPS_H
#define TEST_WORKQUEUE_OPS_H

#include "workqueue/plan.h"

/** A layout for a map in the grammar of dcl_map_parse(). A map that is wrong ends the test. */
dcli_layout *test_layout(const char *map, int nodes, const dcl_grid *grid);

/** An argument of a body. */
typedef struct test_arg {
    dcl_access access;
    const char *name;
    int64_t storage; /* VALUE: its value */
    const dcli_layout *layout;
} test_arg;

/** A FORALL over the whole first output; resolved, not checked. A body that is wrong ends the test. */
dcli_operation *test_forall(int64_t number, const char *text, int count, const test_arg args[]);
#define TEST_FORALL(number, text, ...)                                                         \
    test_forall((number), (text), (int)(sizeof((test_arg[]){__VA_ARGS__}) / sizeof(test_arg)), \
                (test_arg[]){__VA_ARGS__})

/** The same with a tile kernel. @param numbers  [rank of what has a halo] widths of all that have one; NULL: none has. */
dcli_operation *test_forall_tiles(int64_t number, const char *text, const int64_t numbers[], int count,
                                  const test_arg args[]);
#define TEST_TILES(number, text, numbers, ...)                                                                  \
    test_forall_tiles((number), (text), (numbers), (int)(sizeof((test_arg[]){__VA_ARGS__}) / sizeof(test_arg)), \
                      (test_arg[]){__VA_ARGS__})

/** Another operation on one array, over all of it. */
dcli_operation *test_operation(int64_t number, dcli_op_kind kind, int64_t storage, const dcli_layout *layout);

/** Free all that was made by the functions above. */
void test_ops_free(void);

#endif
