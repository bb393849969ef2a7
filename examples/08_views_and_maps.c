/* 08_views_and_maps.c - an array is asked for in another order than it lies in: the report says what that moves and what would
 * be better, dcl_remap() does it, and what all nodes need is kept where it was read.
 * Built against an installed DCL: cc 08_views_and_maps.c $(pkg-config --cflags --libs dcl) -lm */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <dcl.h>

enum { N = 1024, STEPS = 10 };

static const char body[] = "C(i,j) = weight(i,j) * A(i,j) + Bt(i,j);";

/* Ends the program with the library's sentence when a call failed. */
static void check(dcl_status status, const char *call)
{
    if (status == DCL_OK)
        return;
    fprintf(stderr, "%s: %s: %s\n", call, dcl_status_name(status), dcl_error());
    exit(EXIT_FAILURE);
}

static int64_t bytes_moved(dcl_cluster *cluster)
{
    dcl_counters counters;
    check(dcl_stats(cluster, DCL_ALL_NODES, &counters), "dcl_stats");
    return counters.bytes_moved;
}

/* What a body will move, and what the library would change. @return bytes */
static int64_t ask(dcl_cluster *cluster, const char *when, int count, const dcl_arg args[])
{
    dcl_report *report = dcl_call_report(DCL_CALL_BODY_N(cluster, NULL, body, count, args), DCL_ALL_NODES);
    if (report == NULL)
        check(dcl_status_of(NULL), "dcl_explain_report");
    int64_t bytes = report->planned.bytes_moved;
    printf("%s: %" PRId64 " bytes to move\n", when, bytes);
    for (int a = 0; a < report->advice_count; a++)
        printf("  advice: %s\n", report->advice[a]);
    dcl_report_release(report);
    return bytes;
}

int main(void)
{
    setenv("POCL_DEVICES", "pthread pthread pthread pthread", 0); /* where the CPU serves: as four nodes */
    dcl_cluster *cluster = dcl_open(NULL);
    dcl_grid grid = dcl_grid_2d(DCL_FLOAT, N, N);
    dcl_map *rows = dcl_map_parse(cluster, "block,*"), *columns = dcl_map_parse(cluster, "*,block");
    dcl_map *whole = dcl_map_parse(cluster, "*;nodes=0");
    dcl_array *A = dcl_agile(grid, rows), *B = dcl_agile(grid, rows), *C = dcl_agile(grid, rows);
    dcl_array *W = dcl_agile(dcl_grid_1d(DCL_FLOAT, N), whole), *saved = dcl_agile(grid, columns);
    dcl_array *Bt = dcl_transpose(B), *weight = dcl_broadcast(W, 0, N); /* W(j) for every i */
    check(dcl_status_of(cluster), "making arrays and views");
    check(dcl_forall(cluster, "A(i,j) = (3*i + j) % 16; B(i,j) = (i + 5*j) % 64;", DCL_OUT(A), DCL_OUT(B)), "A and B");
    check(dcl_forall(cluster, "W(i) = i % 4;", DCL_OUT(W)), "W");

    const dcl_arg args[] = {DCL_OUT(C), DCL_IN(A), DCL_IN(Bt), DCL_IN_KEPT(weight)};
    int64_t before = ask(cluster, "B by rows", 4, args), start = bytes_moved(cluster);
    dcl_counters remap;
    check(dcl_call_explain(DCL_CALL_REMAP(B, columns, 0), DCL_ALL_NODES, &remap), "explain remap");
    check(dcl_remap(B, columns), "dcl_remap"); /* Bt is a view of what B is now */
    printf("dcl_remap: %" PRId64 " bytes, once\n", remap.bytes_moved);
    int64_t after = ask(cluster, "B by columns", 4, args);
    for (int step = 0; step < STEPS; step++)
        check(dcl_forall_n(cluster, body, 4, args), body);
    int64_t loop = bytes_moved(cluster) - start;
    printf("remap and %d steps: %" PRId64 " bytes moved: W came once, and was kept\n", STEPS, loop);

    static float found[N][N];
    check(dcl_copy(C, saved), "dcl_copy"); /* to an array of another map */
    check(dcl_read(saved, NULL, found, NULL), "dcl_read");
    double largest = 0;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            largest = fmax(largest, fabs((double)found[i][j] - (j % 4 * ((3 * i + j) % 16) + (j + 5 * i) % 64)));
    printf("largest difference from plain C: %g\n", largest);

    dcl_array *arrays[] = {Bt, weight, A, B, C, W, saved};
    for (int n = 0; n < 7; n++)
        dcl_release(arrays[n]);
    dcl_map *maps[] = {rows, columns, whole};
    for (int n = 0; n < 3; n++)
        dcl_release(maps[n]);
    check(dcl_close(cluster), "dcl_close");
    bool right = largest == 0 && after <= before && loop == remap.bytes_moved + after;
    return right ? EXIT_SUCCESS : EXIT_FAILURE;
}
