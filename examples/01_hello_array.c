/* 01_hello_array.c - one array over all nodes: fill it, run a loop body over it, read it back.
 * Built against an installed DCL: cc 01_hello_array.c $(pkg-config --cflags --libs dcl) -lm */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <dcl.h>

enum { COUNT = 1000000 };

/* Ends the program with the library's sentence when a call failed. */
static void check(dcl_status status, const char *call)
{
    if (status == DCL_OK)
        return;
    fprintf(stderr, "%s: %s: %s\n", call, dcl_status_name(status), dcl_error());
    exit(EXIT_FAILURE);
}

/* The same in plain C: the largest difference from what the nodes computed. */
static double largest_difference(const float *x)
{
    double largest = 0;
    for (int64_t i = 0; i < COUNT; i++) {
        float expected = 1.0f + sinf(0.001f * (float)i);
        largest = fmax(largest, fabs((double)x[i] - expected));
    }
    return largest;
}

/* Who owns what: a node's part of a one-dimensional block map is one run of indices. */
static dcl_status print_box(void *user, const dcl_box *box)
{
    const int *node = user;
    printf("node %d owns %" PRId64 " elements from %" PRId64 "\n", *node, box->count[0], box->start[0]);
    return DCL_OK;
}

int main(void)
{
    /* The nodes: every GPU, or the CPU where there is none. DCL_DEVICES selects others. */
    dcl_cluster *cluster = dcl_open(NULL);
    dcl_map *map = dcl_map_parse(cluster, "block");
    dcl_array *X = dcl_agile(dcl_grid_1d(DCL_FLOAT, COUNT), map);
    check(dcl_status_of(cluster), "making the array"); /* constructors pass NULL through: one check will do */

    for (int node = 0; node < dcl_node_count(cluster); node++) {
        dcl_grid grid = dcl_grid_of(X);
        printf("node %d is %s\n", node, dcl_node_name(cluster, node));
        check(dcl_map_boxes(map, &grid, node, print_box, &node), "dcl_map_boxes");
    }

    float one = 1.0f;
    check(dcl_fill(X, &one), "dcl_fill");
    check(dcl_forall(cluster, "X(i) = X(i) + sin(0.001f * i);", DCL_INOUT(X)), "dcl_forall");

    float *x = malloc(COUNT * sizeof *x);
    if (x == NULL)
        return EXIT_FAILURE;
    check(dcl_read(X, NULL, x, NULL), "dcl_read"); /* waits for what was started before */
    double largest = largest_difference(x);
    printf("X(1000) is %f; largest difference from a plain C loop: %g\n", x[1000], largest);
    free(x);

    dcl_release(X);
    dcl_release(map);
    check(dcl_close(cluster), "dcl_close");
    return largest < 1e-6 ? EXIT_SUCCESS : EXIT_FAILURE; /* OpenCL grants sin 4 units in the last place */
}
