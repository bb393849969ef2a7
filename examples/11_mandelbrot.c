/* 11_mandelbrot.c - the Mandelbrot set: work that is uneven, under a map that divides it badly and one that divides it well.
 * With the name of a folder it leaves there a picture of the set, for each map one of which node owns which pixel, and what
 * every node did and when: 11_mandelbrot /tmp && dcl trace /tmp/run.json --svg /tmp/run.svg
 * A node computes the pixels that it owns. When it has finished, it computes pixels of other nodes; the trace shows them apart.
 * On several nodes: DCL_WORKERS=local:4 11_mandelbrot /tmp
 * Built against an installed DCL: cc 11_mandelbrot.c $(pkg-config --cflags --libs dcl) */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dcl.h>

enum { ROWS = 400, COLUMNS = 640, LIMIT = 500, MOST_NODES = 64 };

static const char *folder; /* NULL: no files are written */

/* Ends the program with the library's sentence when a call failed. */
static void check(dcl_status status, const char *call)
{
    if (status == DCL_OK)
        return;
    fprintf(stderr, "%s: %s: %s\n", call, dcl_status_name(status), dcl_error());
    exit(EXIT_FAILURE);
}

/* The number of steps until z = z*z + c leaves the circle of radius 2, for the point c of pixel (i, j). */
static const char body[] = "float u = 0.00390625f * j - 2.0f, v = 0.00390625f * i - 0.5f, x = 0, y = 0, t;"
                           "int n = 0;"
                           "for (; n < limit && x*x + y*y <= 4.0f; n++) {"
                           "    t = x*x - y*y + u;"
                           "    y = 2.0f*x*y + v;"
                           "    x = t;"
                           "}"
                           "S(i,j) = n;";

static uint16_t steps(int i, int j)
{
    float u = 0.00390625f * (float)j - 2.0f, v = 0.00390625f * (float)i - 0.5f, x = 0, y = 0, t;
    int n = 0;
    for (; n < LIMIT && x * x + y * y <= 4.0f; n++) {
        t = x * x - y * y + u;
        y = 2.0f * x * y + v;
        x = t;
    }
    return (uint16_t)n;
}

/* Save a picture in the folder, as PNG where DCL can, else as PGM. */
static void save(dcl_array *array, const char *name, double white)
{
    dcl_image image = {.struct_size = sizeof image, .bits = 8, .white = white};
    dcl_grid grid = dcl_grid_of(array);
    char path[1024];
    if (folder == NULL)
        return;
    const char *format = dcl_image_check(&grid, "a.png", &image) == DCL_OK ? "png" : "pgm";
    snprintf(path, sizeof path, "%s/%s.%s", folder, name, format);
    check(dcl_save_image(array, path, &image), "dcl_save_image");
    printf("%s\n", path);
}

/* Compute the set under a map, compare it with plain C, and say how much of the work is in the pixels of one node. */
static bool draw(dcl_cluster *cluster, const char *text, const char *name, const uint16_t *expected)
{
    static uint16_t found[ROWS * COLUMNS], owner[ROWS * COLUMNS];
    double work[MOST_NODES] = {0}, most = 0, all = 0;
    int nodes = dcl_node_count(cluster), limit = LIMIT, wrong = 0;
    dcl_map *map = dcl_map_parse(cluster, text);
    dcl_grid grid = dcl_grid_2d(DCL_UINT16, ROWS, COLUMNS);
    dcl_array *S = dcl_agile(grid, map), *W = dcl_agile(grid, map);
    check(dcl_forall(cluster, body, DCL_OUT(S), DCL_VALUE(limit)), "dcl_forall");
    check(dcl_read(S, NULL, found, NULL), "dcl_read");
    for (int e = 0; e < ROWS * COLUMNS; e++) {
        int node;
        int64_t offset;
        check(dcl_map_locate(map, &grid, (int64_t[]){e / COLUMNS, e % COLUMNS}, &node, &offset), "dcl_map_locate");
        owner[e] = (uint16_t)(node + 1);
        work[node % MOST_NODES] += found[e];
        wrong += found[e] != expected[e];
    }
    for (int n = 0; n < MOST_NODES; n++) {
        most = work[n] > most ? work[n] : most;
        all += work[n];
    }
    check(dcl_write(W, NULL, owner, NULL), "dcl_write");
    printf("map %s: one of %d nodes owns %.0f %% of the work; %d of %d pixels differ from plain C\n", text, nodes,
           100 * most / all, wrong, ROWS * COLUMNS);
    save(S, "set", 40); /* so that the steps around the set can be told apart */
    save(W, name, nodes);
    dcl_release(S);
    dcl_release(W);
    dcl_release(map);
    return wrong <= ROWS * COLUMNS / 1000; /* a device may round numbers near 0 differently */
}

int main(int count, char **arguments)
{
    static uint16_t expected[ROWS * COLUMNS];
    char trace[1024];
    dcl_config config;
    check(dcl_config_read(&config), "dcl_config_read");
    if (count > 1) {
        folder = arguments[1];
        snprintf(trace, sizeof trace, "%s/run.json", folder);
        config.trace = trace;
    }
    for (int e = 0; e < ROWS * COLUMNS; e++)
        expected[e] = steps(e / COLUMNS, e % COLUMNS);
    dcl_cluster *cluster = dcl_open(&config);
    check(dcl_status_of(cluster), "dcl_open");
    bool right = draw(cluster, "*,block", "block", expected);
    right = draw(cluster, "*,cyclic(16)", "cyclic", expected) && right;
    check(dcl_close(cluster), "dcl_close");
    return right ? EXIT_SUCCESS : EXIT_FAILURE;
}
