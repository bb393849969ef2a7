/* processes/blame.c - which body is blamed for the end of a node, and what follows: blame killed|skipped
 *
 * killed   the process of node 1 is killed from outside while it computes: it says `running`, is killed, and says
 *          `lost SENTENCE`. The body is innocent, and runs again on the node that is left.
 * skipped  node 1 crashes at once in a body that would crash node 2, too, which waits for elements of node 0 until
 *          then: it says `lost SENTENCE`. Node 2 has heard of the loss before it begins, and lives on.
 *
 * It says `end STATUS` then. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dcl.h>

enum { ELEMENTS = 3000 };

static void check(dcl_status status)
{
    if (status == DCL_OK)
        return;
    printf("WRONG %s\n", dcl_error());
    exit(EXIT_FAILURE);
}

static void expect(int yes, const char *what)
{
    if (yes)
        return;
    printf("WRONG %s: %s\n", what, dcl_error());
    exit(EXIT_FAILURE);
}

static dcl_array *make(dcl_map *map)
{
    dcl_array *array = dcl_agile(dcl_grid_1d(DCL_INT32, ELEMENTS), map);
    check(array != NULL ? DCL_OK : dcl_status_of(NULL));
    return array;
}

static void run_until_killed(dcl_cluster *cluster)
{
    static const char body[] = "wild(i) = f(i, bad);";
    static const char prelude[] =
        "int f(long i, long bad) { volatile long x = i; while (i == bad && x == i) ; return (int)i * 3; }";
    static int32_t found[ELEMENTS];
    int64_t bad = -1;
    dcl_map *map = dcl_map_block(cluster);
    dcl_array *wild = make(map);
    check(dcl_forall(cluster, body, DCL_OUT(wild), DCL_VALUE(bad), DCL_PRELUDE(prelude))); /* compiles it */
    check(dcl_wait(cluster));
    bad = ELEMENTS - 1;
    check(dcl_forall(cluster, body, DCL_OUT(wild), DCL_VALUE(bad), DCL_PRELUDE(prelude)));
    printf("running\n");
    expect(dcl_wait(cluster) == DCL_ERR_NODE_LOST, "after the loss");
    printf("lost %s\n", dcl_error());
    dcl_clear_error(cluster);
    dcl_map *left = dcl_map_block(cluster);
    dcl_array *again = make(left);
    bad = -1;
    check(dcl_forall(cluster, body, DCL_OUT_AS("wild", again), DCL_VALUE(bad), DCL_PRELUDE(prelude)));
    check(dcl_read(again, NULL, found, NULL));
    expect(found[ELEMENTS - 1] == 3 * (ELEMENTS - 1), "the body's result");
    dcl_release(wild);
    dcl_release(again);
    dcl_map_release(left);
    dcl_map_release(map);
}

static void call_wild(dcl_cluster *cluster, dcl_array *wild, dcl_array *from, int64_t bad)
{
    static const char prelude[] =
        "int f(long i, long bad) { if (i == bad) *(volatile global int *)8 = 1; return (int)i; }";
    check(dcl_forall(cluster, "wild(i) = from(i) + f(i, bad);", DCL_OUT(wild), DCL_IN(from), DCL_VALUE(bad),
                     DCL_PRELUDE(prelude)));
}

static void crash_one_of_two(dcl_cluster *cluster)
{
    static const char slow[] =
        "int g(long i, long rounds) { volatile long n = 0; while (i == 0 && n < rounds) n = n + 1; return (int)i; }";
    static int32_t found[ELEMENTS];
    int64_t rounds = 0, bad = -1;
    dcl_map *map = dcl_map_block(cluster), *on[3];
    dcl_array *late, *early, *waiting, *first;
    for (int n = 0; n < 3; n++)
        on[n] = dcl_map_on(map, 1, &n);
    late = make(on[0]), early = make(on[1]), first = make(on[1]), waiting = make(on[2]);
    for (int turn = 0; turn < 2; turn++) { /* all is compiled by the first */
        check(dcl_forall(cluster, "late(i) = g(i, rounds);", DCL_OUT(late), DCL_VALUE(rounds), DCL_PRELUDE(slow)));
        call_wild(cluster, waiting, late, bad);
        call_wild(cluster, first, early, bad);
        dcl_status status = dcl_wait(cluster);
        expect(status == (turn == 0 ? DCL_OK : DCL_ERR_NODE_LOST), dcl_status_name(status));
        bad = ELEMENTS / 3;
        rounds = INT64_C(3000000000);
    }
    printf("lost %s\n", dcl_error());
    dcl_clear_error(cluster);
    dcl_status status = dcl_read(waiting, NULL, found, NULL);
    expect(status != DCL_OK && strstr(dcl_error(), "node 1 is lost") != NULL, "what node 2 has not begun");
    expect(dcl_node_is_alive(cluster, 0) && !dcl_node_is_alive(cluster, 1), "node 1 alone");
    expect(dcl_node_is_alive(cluster, 2), "node 2 had not begun");
    dcl_clear_error(cluster);
    for (int n = 0; n < 3; n++)
        dcl_map_release(on[n]);
    dcl_map_release(map);
}

int main(int count, char **list)
{
    dcl_cluster *cluster = dcl_open(NULL);
    setvbuf(stdout, NULL, _IOLBF, 0);
    check(cluster != NULL ? DCL_OK : dcl_status_of(NULL));
    (count > 1 && strcmp(list[1], "killed") == 0 ? run_until_killed : crash_one_of_two)(cluster);
    printf("end %s\n", dcl_status_name(dcl_close(cluster)));
    return EXIT_SUCCESS;
}
