/* processes/slow_plan.c - a program whose own planning takes long.
 *
 *   slow_plan MS  writes and reads the corners of larger and larger arrays, whose pieces are found one by one, until a call
 *                 takes longer than so many milliseconds. Says `took MS` of that call, and `end`. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <dcl.h>

enum { FIRST_EXTENT = 4000, LAST_EXTENT = 64000 };

_Noreturn static void wrong(const char *what)
{
    printf("WRONG %s: %s\n", what, dcl_error());
    fflush(stdout);
    _Exit(EXIT_FAILURE);
}

static double now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/* @return milliseconds that reading took. */
static double try(dcl_cluster *cluster, dcl_map *map, int64_t extent)
{
    dcl_box corners = {.rank = 2, .count = {2, 2}, .stride = {extent - 1, extent - 1}};
    const int8_t written[4] = {1, 2, 3, 4};
    int8_t read[4] = {0};
    dcl_array *array = dcl_agile(dcl_grid_2d(DCL_INT8, extent, extent), map);
    if (array == NULL || dcl_write(array, &corners, written, NULL) != DCL_OK)
        wrong("write");
    double begin = now_ms();
    if (dcl_read(array, &corners, read, NULL) != DCL_OK)
        wrong("read");
    double took = now_ms() - begin;
    if (memcmp(read, written, sizeof read) != 0)
        wrong("other elements");
    dcl_release(array);
    if (dcl_wait(cluster) != DCL_OK)
        wrong("wait");
    return took;
}

int main(int count, char **arguments)
{
    double wanted = count > 1 ? strtod(arguments[1], NULL) : 1, took = 0;
    dcl_cluster *cluster = dcl_open(NULL);
    dcl_map *map = dcl_map_parse(cluster, "rows:hash(1x2)");
    if (map == NULL)
        wrong("open");
    for (int64_t extent = FIRST_EXTENT; took < wanted && extent <= LAST_EXTENT; extent += extent / 2)
        took = try(cluster, map, extent);
    printf("took %.0f\n", took);
    dcl_release(map);
    dcl_close(cluster);
    printf("end\n");
    return EXIT_SUCCESS;
}
