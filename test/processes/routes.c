/* processes/routes.c - a program on nodes of which some cannot reach each other: routes LOST...
 *
 * Uses all nodes and says `ready`; then waits until the nodes LOST are lost, a while more, and uses those that are left.
 * Where LOST begins with `at-once`, it does not use the nodes first. Ends with `end SECONDS`, from `ready` to the last loss;
 * WRONG and what was found where something is. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <dcl.h>

enum { ELEMENTS = 4000, DEADLINE_S = 30, WHILE_MS = 1500 };

_Noreturn static void wrong(const char *what)
{
    printf("WRONG %s: %s\n", what, dcl_error());
    fflush(stdout);
    _Exit(EXIT_FAILURE);
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Every node reads what lies at another one. */
static bool use(dcl_cluster *cluster)
{
    static int32_t found[ELEMENTS];
    dcl_map *map = dcl_map_block(cluster);
    dcl_grid grid = dcl_grid_1d(DCL_INT32, ELEMENTS);
    dcl_array *A = dcl_agile(grid, map), *B = dcl_agile(grid, map);
    bool right = dcl_fill(A, &(int32_t){5}) == DCL_OK &&
                 dcl_forall(cluster, "B(i) = A(3999 - i) + 1;", DCL_OUT(B), DCL_IN(A)) == DCL_OK &&
                 dcl_read(B, NULL, found, NULL) == DCL_OK;
    for (int e = 0; e < ELEMENTS && right; e++)
        right = found[e] == 6;
    dcl_release(B);
    dcl_release(A);
    dcl_map_release(map);
    return right;
}

static bool is_listed(int node, int count, char **list)
{
    for (int n = 0; n < count; n++)
        if (atoi(list[n]) == node)
            return true;
    return false;
}

static void await_losses(const dcl_cluster *cluster, double since, int count, char **list)
{
    for (int node = 0; node < dcl_node_count(cluster); node++)
        while (is_listed(node, count, list) && dcl_node_is_alive(cluster, node)) {
            if (now() - since > DEADLINE_S) {
                printf("WRONG alive:");
                for (int n = 0; n < dcl_node_count(cluster); n++)
                    if (dcl_node_is_alive(cluster, n))
                        printf(" node %d", n);
                wrong("; a loss is not noticed");
            }
            usleep(1000);
        }
}

int main(int count, char **list)
{
    bool at_once = count > 1 && strcmp(list[1], "at-once") == 0;
    int first = at_once ? 2 : 1;
    dcl_cluster *cluster = dcl_open(NULL);
    if (cluster == NULL)
        wrong("dcl_open");
    if (!at_once && !use(cluster))
        wrong("all nodes");
    printf("ready\n");
    fflush(stdout);
    double since = now();
    await_losses(cluster, since, count - first, list + first);
    double took = now() - since;
    usleep(WHILE_MS * 1000);
    for (int node = 0; node < dcl_node_count(cluster); node++)
        if (dcl_node_is_alive(cluster, node) == is_listed(node, count - first, list + first)) {
            dcl_wait(cluster);
            printf("WRONG node %d is %s; the first error: %s\n", node,
                   dcl_node_is_alive(cluster, node) ? "alive" : "lost", dcl_error());
            fflush(stdout);
            _Exit(EXIT_FAILURE);
        }
    dcl_wait(cluster);
    printf("lost %s\n", dcl_error());
    dcl_clear_error(cluster);
    if (!use(cluster))
        wrong("the nodes that are left");
    dcl_close(cluster);
    printf("end %.3f\n", took);
    return EXIT_SUCCESS;
}
