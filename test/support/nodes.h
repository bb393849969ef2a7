/* test/support/nodes.h - clusters of real nodes for tests of the public interface.
 *
 * The nodes are the default devices of dcl_open() if there are enough, else CPU devices; PoCL is asked for as many as
 * the process first needs. If there are not enough, the test is skipped with the reason. */
#ifndef TEST_SUPPORT_NODES_H
#define TEST_SUPPORT_NODES_H

#include <dcl.h>

#include "base/handle.h"

/** Seconds a test may take before it counts as hanging; generous, for sanitized runs on busy machines. */
#define TEST_SECONDS 180

/** Number of nodes that the first call in a process requests. */
enum { TEST_MOST_NODES = 5 };

/** The settings of the environment with `nodes` nodes, 1..TEST_MOST_NODES. Valid until the next call. */
dcl_config test_config(int nodes);
/** Open a cluster; the test fails if that fails. */
dcl_cluster *test_open(const dcl_config *config);
/** Open a cluster: test_open(test_config(nodes)). */
dcl_cluster *open_nodes(int nodes);
/** Set DCL_FAULT, the fault that clusters opened from now on inject. NULL: none. */
void test_fault(const char *fault);
/** Make an array with a map in the grammar of dcl_map_parse(). An invalid map ends the test. */
dcl_array *test_array(dcl_cluster *cluster, const char *map, dcl_grid grid);

/** One of this process's children, the one that was started last or first: 0 if there is none. Children belong to the
 *  thread that started them. */
int test_child(bool last);

/** The object of a handle of this process, for tests that inspect internals. */
#define TEST_INSIDE(handle) ((__typeof__(handle))dcli_handle_object(handle))

/** Fail the test unless the call succeeded; prints the library's error. */
#define TEST_OK(call)                                                                                      \
    do {                                                                                                   \
        dcl_status test_status = (call);                                                                   \
        cr_assert_eq(test_status, DCL_OK, "%s: %s: %s", #call, dcl_status_name(test_status), dcl_error()); \
    } while (0)

/** Fail the test unless the call returned this status and dcl_error() contains these words. */
#define TEST_REFUSED(call, expected, words)                                                                        \
    do {                                                                                                           \
        dcl_status test_status = (call);                                                                           \
        cr_expect_eq(test_status, (expected), "%s: %s: %s", #call, dcl_status_name(test_status), dcl_error());     \
        cr_expect(strstr(dcl_error(), (words)) != NULL, "%s: \"%s\" has not \"%s\"", #call, dcl_error(), (words)); \
    } while (0)

/** Counters of a node, DCL_ALL_NODES or DCL_HOST. */
dcl_counters test_counters(dcl_cluster *cluster, int node);

/** A body that several tests share, because compiling one takes long: C(i) = A(s*i + t) + u, all int32. Started. */
#define TEST_SHIFT "C(i) = A(s*i + t) + u;"
dcl_status test_shift(dcl_array *C, dcl_array *A, int s, int t, int u);

/** Set elements to start, start + step, ... in row-major order. Types: int32, float. */
void test_count_up(dcl_array *array, int64_t start, int64_t step);

/** Make the program regard an array as failed: DCL_ERR_DEVICE. */
void test_fail(dcl_array *array);

#endif
