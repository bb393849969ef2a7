/* processes/kernels.c - a program whose kernel runs wild: kernels crash|endless
 *
 * Once a node was lost by it, the body is not run again: on new arrays over the nodes that are left.
 *
 * It says `lost SECONDS SENTENCE` when it is told, `kept` when what has no part on the lost node is as it was, and
 * `end STATUS`. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <dcl.h>

enum { ELEMENTS = 1000, BAD = 900 };

static const char crash[] =
    "int f(long i, long bad) { if (i == bad) *(volatile global int *)8 = 1; return (int)i * 3; }";
static const char endless[] =
    "int f(long i, long bad) { volatile long x = i; while (i == bad && x == i) ; return (int)i * 3; }";

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void check(dcl_status status)
{
    if (status == DCL_OK)
        return;
    printf("WRONG %s\n", dcl_error());
    exit(EXIT_FAILURE);
}

static dcl_array *make(dcl_map *map)
{
    dcl_array *array = dcl_agile(dcl_grid_1d(DCL_INT32, ELEMENTS), map);
    check(array != NULL ? DCL_OK : dcl_status_of(NULL));
    return array;
}

int main(int count, char **list)
{
    static int32_t found[ELEMENTS];
    const char *prelude = count > 1 && strcmp(list[1], "crash") == 0 ? crash : endless;
    int64_t bad = -1;
    dcl_cluster *cluster = dcl_open(NULL);
    dcl_map *map = dcl_map_block(cluster), *first = dcl_map_on(map, 1, (int[]){0});
    dcl_array *wild = make(map), *kept = make(first);
    static const char body[] = "wild(i) = f(i, bad);";
    check(dcl_forall(cluster, "kept(i) = i * 5;", DCL_OUT(kept)));
    check(dcl_forall(cluster, body, DCL_OUT(wild), DCL_VALUE(bad), DCL_PRELUDE(prelude))); /* compiles it */
    check(dcl_wait(cluster));
    bad = BAD;
    double begin = seconds();
    check(dcl_forall(cluster, body, DCL_OUT(wild), DCL_VALUE(bad), DCL_PRELUDE(prelude)));
    if (dcl_wait(cluster) != DCL_ERR_NODE_LOST)
        check(DCL_ERR_INTERNAL);
    printf("lost %.3f %s\n", seconds() - begin, dcl_error());
    dcl_clear_error(cluster);
    check(dcl_read(kept, NULL, found, NULL));
    for (int i = 0; i < ELEMENTS; i++)
        check(found[i] == i * 5 ? DCL_OK : DCL_ERR_INTERNAL);
    if (dcl_read(wild, NULL, found, NULL) != DCL_ERR_NODE_LOST)
        check(DCL_ERR_INTERNAL);
    dcl_clear_error(cluster);
    dcl_map *left = dcl_map_block(cluster);
    dcl_array *again = make(left);
    if (dcl_forall(cluster, body, DCL_OUT_AS("wild", again), DCL_VALUE(bad), DCL_PRELUDE(prelude)) != DCL_ERR_BODY ||
        strstr(dcl_error(), "a node was lost by this body, which is not run again: node 1 is lost") == NULL)
        check(DCL_ERR_INTERNAL);
    dcl_clear_error(cluster);
    check(dcl_forall(cluster, "kept(i) = i * 5;", DCL_OUT_AS("kept", again)));
    check(dcl_read(again, NULL, found, NULL)); /* nobody else is lost */
    dcl_release(again);
    dcl_map_release(left);
    printf("kept\n");
    dcl_release(wild);
    dcl_release(kept);
    dcl_map_release(first);
    dcl_map_release(map);
    printf("end %s\n", dcl_status_name(dcl_close(cluster)));
    return EXIT_SUCCESS;
}
