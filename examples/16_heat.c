/* 16_heat.c - a time loop: the heat equation on a plate, whose residual decides on the nodes when the loop ends.
 * With the name of a folder it leaves there pictures of the plate: 16_heat /tmp
 * On several nodes: DCL_WORKERS=local:4 16_heat
 * Built against an installed DCL: cc 16_heat.c $(pkg-config --cflags --libs dcl) -lm */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dcl.h>

enum { EDGE = 128, MOST = 2000, EVERY = 50, FRAME = 500 };

/* What a step needs: the temperatures before and after it, and how much they have changed. */
struct plate {
    dcl_cluster *cluster;
    dcl_array *U, *V, *change;
    const char *folder; /* NULL: no pictures */
};

/* Ends the program with the library's sentence when a call failed. */
static void check(dcl_status status, const char *call)
{
    if (status == DCL_OK)
        return;
    fprintf(stderr, "%s: %s: %s\n", call, dcl_status_name(status), dcl_error());
    exit(EXIT_FAILURE);
}

/* Save a picture, as PNG where DCL can, else as PGM. */
static void save(dcl_array *array, const char *folder, long step)
{
    dcl_image image = {.struct_size = sizeof image, .bits = 8, .white = 100};
    dcl_grid grid = dcl_grid_of(array);
    char path[1024];
    const char *format = dcl_image_check(&grid, "a.png", &image) == DCL_OK ? "png" : "pgm";
    snprintf(path, sizeof path, "%s/heat_%04ld.%s", folder, step, format);
    check(dcl_save_image(array, path, &image), "dcl_save_image");
    printf("%s\n", path);
}

/* One step. Its calls return at once; between nodes only the rows and columns at the edges move. The rim of the plate
 * keeps its temperature. */
static dcl_status step(void *user, int64_t n)
{
    struct plate *plate = user;
    dcl_array *U = plate->U, *V = plate->V, *change = plate->change;
    const dcl_box inside = {.rank = 2, .start = {1, 1}, .count = {EDGE - 2, EDGE - 2}, .stride = {1, 1}};
    dcl_forall_over(plate->cluster, &inside, "V(i,j) = 0.25f * (U(i-1,j) + U(i+1,j) + U(i,j-1) + U(i,j+1));",
                    DCL_OUT(V), DCL_IN(U));
    if ((n + 1) % EVERY == 0)
        dcl_reduce(plate->cluster, "float d = V(i,j) - U(i,j); change(0) += d * d;", DCL_OUT(change), DCL_IN(U),
                   DCL_IN(V));
    if (plate->folder != NULL && n % FRAME == 0)
        save(U, plate->folder, (long)n);
    return dcl_swap(U, V); /* the first error of the calls above is the cluster's: dcl_status_of() */
}

/* The same in a plain loop. Returns the largest difference. */
static double compare(const float *found, int64_t steps)
{
    static float u[EDGE][EDGE], v[EDGE][EDGE];
    double most = 0;
    for (int j = 0; j < EDGE; j++)
        u[0][j] = v[0][j] = 100;
    for (int64_t n = 0; n < steps; n++) {
        for (int i = 1; i < EDGE - 1; i++)
            for (int j = 1; j < EDGE - 1; j++)
                v[i][j] = 0.25F * (u[i - 1][j] + u[i + 1][j] + u[i][j - 1] + u[i][j + 1]);
        memcpy(u, v, sizeof u);
    }
    for (int e = 0; e < EDGE * EDGE; e++)
        most = fmax(most, fabs((double)(found[e] - u[e / EDGE][e % EDGE])));
    return most;
}

int main(int count, char **arguments)
{
    static float found[EDGE * EDGE];
    dcl_cluster *cluster = dcl_open(NULL);
    dcl_map *map = dcl_map_default(cluster);
    dcl_grid grid = dcl_grid_2d(DCL_FLOAT, EDGE, EDGE);
    dcl_array *U = dcl_agile(grid, map), *V = dcl_agile(grid, map);
    dcl_array *change = dcl_agile(dcl_grid_1d(DCL_FLOAT, 1), map);
    struct plate plate = {cluster, U, V, change, count > 1 ? arguments[1] : NULL};
    const float limit = 0.5F;
    int64_t steps;
    check(dcl_forall(cluster, "U(i,j) = V(i,j) = i == 0 ? 100 : 0;", DCL_OUT(U), DCL_OUT(V)), "dcl_forall");

    check(dcl_iterate(cluster, MOST, step, &plate, &steps,
                      DCL_UNTIL(EVERY, "change(0) < limit", DCL_IN(change), DCL_VALUE(limit))),
          "dcl_iterate");
    check(dcl_status_of(cluster), "step");

    float residual;
    check(dcl_read(change, NULL, &residual, NULL), "dcl_read");
    check(dcl_read(plate.U, NULL, found, NULL), "dcl_read");
    double difference = compare(found, steps);
    printf("%ld steps; the last checked one changed the plate by %g; largest difference from a plain loop: %g\n",
           (long)steps, sqrt((double)residual), difference);
    dcl_release(change);
    dcl_release(V);
    dcl_release(U);
    dcl_release(map);
    check(dcl_close(cluster), "dcl_close");
    return difference <= 1e-3 && steps < MOST ? EXIT_SUCCESS : EXIT_FAILURE;
}
