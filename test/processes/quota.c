/* processes/quota.c - what counts against the quota of a session of worker processes: quota KIND
 *
 * staged: node 0 has an array of 4 MiB, from which node 1 computes one of its own; with DCL_QUOTA_BYTES=20M and another
 *         array of 14 MiB, node 1 has no room to stage it.
 * spare: memory that is only kept to be used again is in nobody's way.
 * readers, reversed, all: several nodes read one node's part at once, so that it sends more than a quarter of the quota.
 * Prints the sentence of the refusal, and `right` once the same call has succeeded with room. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dcl.h>

enum { MIB_INTS = 1 << 18, ELEMENTS = 4 * MIB_INTS };

static int32_t element[ELEMENTS];

static void fail(const char *what)
{
    printf("WRONG %s: %s\n", what, dcl_error());
    exit(EXIT_FAILURE);
}

static void check(dcl_status status, const char *what)
{
    if (status != DCL_OK)
        fail(what);
}

static dcl_array *make(dcl_cluster *cluster, int64_t elements, const char *text)
{
    dcl_map *map = dcl_map_parse(cluster, text);
    dcl_array *array = dcl_agile(dcl_grid_1d(DCL_INT32, elements), map);
    dcl_release(map);
    if (array == NULL)
        fail(text);
    check(dcl_fill(array, &(int32_t){1}), "dcl_fill");
    check(dcl_wait(cluster), text);
    return array;
}

static dcl_status compute(dcl_cluster *cluster, dcl_array *C, dcl_array *A)
{
    dcl_status status = dcl_forall(cluster, "C(i) = A(i) + 2;", DCL_OUT(C), DCL_IN(A));
    return status == DCL_OK ? dcl_wait(cluster) : status;
}

static void expect_threes(dcl_array *C)
{
    memset(element, 0, sizeof element);
    check(dcl_read(C, NULL, element, NULL), "dcl_read");
    for (int64_t e = 0; e < ELEMENTS; e++)
        if (element[e] != 3)
            fail("an element is not what it was computed to be");
}

static void run_staged(dcl_cluster *cluster)
{
    dcl_array *A = make(cluster, ELEMENTS, "block;nodes=0"), *C = make(cluster, ELEMENTS, "block;nodes=1");
    dcl_array *filler = make(cluster, 14 * MIB_INTS, "block;nodes=1");
    if (compute(cluster, C, A) != DCL_ERR_NOMEM)
        fail("a body without room for its stage");
    printf("%s\n", dcl_error());
    dcl_clear_error(cluster);
    dcl_release(filler);
    check(dcl_wait(cluster), "dcl_release");
    check(compute(cluster, C, A), "the same with room");
    expect_threes(C);
    dcl_release(C);
    dcl_release(A);
}

static void run_spare(dcl_cluster *cluster)
{
    for (int64_t size = 10; size < 19; size += 2) {
        dcl_array *array = make(cluster, size * MIB_INTS, "block;nodes=0");
        dcl_release(array);
        check(dcl_wait(cluster), "dcl_release");
    }
}

/* From A, which holds ones. */
static void run_readers(dcl_cluster *cluster, int64_t size, const char *of_A, const char *of_C, const char *body,
                        bool all)
{
    dcl_array *A = make(cluster, size * MIB_INTS, of_A), *C = make(cluster, size * MIB_INTS, of_C);
    for (int round = 0; round < 2; round++) {
        check(dcl_forall(cluster, body, DCL_OUT(C), all ? DCL_IN_ALL(A) : DCL_IN(A)), body);
        check(dcl_wait(cluster), body);
    }
    int32_t last = 0;
    const dcl_box box = {.rank = 1, .start = {size * MIB_INTS - 1}, .count = {1}, .stride = {1}};
    check(dcl_read(C, &box, &last, NULL), "dcl_read");
    if (last != 2)
        fail("the last element is not what it was computed to be");
    dcl_release(C);
    dcl_release(A);
}

int main(int argc, char *argv[])
{
    const char *kind = argc == 2 ? argv[1] : "";
    dcl_cluster *cluster = dcl_open(NULL);
    if (cluster == NULL)
        fail("dcl_open");
    if (strcmp(kind, "staged") == 0)
        run_staged(cluster);
    else if (strcmp(kind, "spare") == 0)
        run_spare(cluster);
    else if (strcmp(kind, "readers") == 0)
        run_readers(cluster, 128, "block;nodes=0", "block;nodes=1-3", "C(i) = A(i) + 1;", false);
    else if (strcmp(kind, "reversed") == 0)
        run_readers(cluster, 400, "block", "block", "C(i) = A(104857599 - i) + 1;", false);
    else if (strcmp(kind, "all") == 0)
        run_readers(cluster, 96, "block", "block", "C(i) = A(i) + 1;", true);
    else
        fail("quota staged | spare | readers | reversed | all");
    printf("right\n");
    dcl_close(cluster);
    return EXIT_SUCCESS;
}
