/* 19_shallow_water.c - a time loop of three arrays: waves in a basin, whose walls are mirrors.
 * With the name of a folder it leaves there pictures of the height: 19_shallow_water /tmp
 * On several nodes: DCL_WORKERS=local:4 19_shallow_water
 * Built against an installed DCL: cc 19_shallow_water.c $(pkg-config --cflags --libs dcl) -lm
 *
 * The shallow water equations for height h and momenta m = h u, q = h v, by the method of Lax and Friedrichs:
 * R. LeVeque, "Finite Volume Methods for Hyperbolic Problems" (Cambridge, 2002), sections 4.6 and 13.1. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <dcl.h>

enum { EDGE = 128, STEPS = 400, FRAME = 100 };

/* Water beyond a wall is that before it, mirrored: as high, and the momentum across the wall turned around. So none
 * flows through. */
#define STEP                                                                                                        \
    "const float a = i > 0 ? 1 : -1, b = i < n-1 ? 1 : -1, c = j > 0 ? 1 : -1, d = j < n-1 ? 1 : -1;"               \
    "const float hn = H(symmetric(i-1,0,n-1),j), hs = H(symmetric(i+1,0,n-1),j);"                                   \
    "const float hw = H(i,symmetric(j-1,0,n-1)), he = H(i,symmetric(j+1,0,n-1));"                                   \
    "const float mn = a * M(symmetric(i-1,0,n-1),j), ms = b * M(symmetric(i+1,0,n-1),j);"                           \
    "const float mw = M(i,symmetric(j-1,0,n-1)), me = M(i,symmetric(j+1,0,n-1));"                                   \
    "const float qn = Q(symmetric(i-1,0,n-1),j), qs = Q(symmetric(i+1,0,n-1),j);"                                   \
    "const float qw = c * Q(i,symmetric(j-1,0,n-1)), qe = d * Q(i,symmetric(j+1,0,n-1));"                           \
    "newH(i,j) = 0.25f * (hn + hs + hw + he) - 0.15f * (ms - mn + qe - qw);"                                        \
    "newM(i,j) = 0.25f * (mn + ms + mw + me) - 0.15f * (along(ms, hs) - along(mn, hn) + across(me, qe, he) - "      \
    "across(mw, qw, hw));"                                                                                          \
    "newQ(i,j) = 0.25f * (qn + qs + qw + qe) - 0.15f * (across(ms, qs, hs) - across(mn, qn, hn) + along(qe, he) - " \
    "along(qw, hw));"

/* Fluxes of momentum, in units in which gravity is 1. */
#define FLUXES                                                           \
    "float along(float m, float h) { return m * m / h + 0.5f * h * h; }" \
    "float across(float m, float q, float h) { return m * q / h; }"

/* The water, and that of the next step. */
struct water {
    dcl_cluster *cluster;
    dcl_array *H, *M, *Q, *newH, *newM, *newQ;
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
    dcl_image image = {.struct_size = sizeof image, .bits = 8, .black = 0.9, .white = 1.2};
    dcl_grid grid = dcl_grid_of(array);
    char path[1024];
    const char *format = dcl_image_check(&grid, "a.png", &image) == DCL_OK ? "png" : "pgm";
    snprintf(path, sizeof path, "%s/water_%04ld.%s", folder, step, format);
    check(dcl_save_image(array, path, &image), "dcl_save_image");
    printf("%s\n", path);
}

/* One step. Its calls return at once; between nodes only the rows and columns at the edges move. */
static dcl_status step(void *user, int64_t number)
{
    struct water *water = user;
    dcl_array *H = water->H, *M = water->M, *Q = water->Q;
    dcl_array *newH = water->newH, *newM = water->newM, *newQ = water->newQ;
    const int64_t n = EDGE;
    if (water->folder != NULL && number % FRAME == 0)
        save(H, water->folder, (long)number);
    dcl_forall(water->cluster, STEP, DCL_OUT(newH), DCL_OUT(newM), DCL_OUT(newQ), DCL_IN(H), DCL_IN(M), DCL_IN(Q),
               DCL_VALUE(n), DCL_PRELUDE(FLUXES));
    dcl_swap(H, newH);
    dcl_swap(M, newM);
    return dcl_swap(Q, newQ); /* the first error of the calls above is the cluster's: dcl_status_of() */
}

int main(int count, char **arguments)
{
    dcl_cluster *cluster = dcl_open(NULL);
    dcl_map *map = dcl_map_default(cluster);
    dcl_grid grid = dcl_grid_2d(DCL_FLOAT, EDGE, EDGE);
    dcl_array *H = dcl_agile(grid, map), *M = dcl_agile(grid, map), *Q = dcl_agile(grid, map);
    dcl_array *newH = dcl_agile(grid, map), *newM = dcl_agile(grid, map), *newQ = dcl_agile(grid, map);
    struct water water = {cluster, H, M, Q, newH, newM, newQ, count > 1 ? arguments[1] : NULL};
    /* a drop, not in the middle: a round hill of water at rest */
    check(dcl_forall(cluster,
                     "const float x = i - 40, y = j - 50; H(i,j) = 1 + exp(-(x*x + y*y) / 100); M(i,j) = Q(i,j) = 0;",
                     DCL_OUT(H), DCL_OUT(M), DCL_OUT(Q)),
          "dcl_forall");
    double before, after, low;
    check(dcl_reduce(cluster, "before += (double)H(i,j);", DCL_RESULT(before), DCL_IN(H)), "dcl_reduce");
    check(dcl_iterate(cluster, STEPS, step, &water, NULL, DCL_NEVER), "dcl_iterate");
    check(dcl_status_of(cluster), "step");
    check(dcl_reduce(cluster, "after += (double)H(i,j); low min= (double)H(i,j);", DCL_RESULT(after), DCL_RESULT(low),
                     DCL_IN(H)),
          "dcl_reduce");
    if (water.folder != NULL)
        save(H, water.folder, STEPS);
    printf("%d steps; water before: %.3f, after: %.3f; lowest height: %.3f\n", STEPS, before, after, low);
    dcl_array *arrays[] = {newQ, newM, newH, Q, M, H};
    for (int a = 0; a < 6; a++)
        dcl_release(arrays[a]);
    dcl_release(map);
    check(dcl_close(cluster), "dcl_close");
    return fabs(after - before) <= 1e-4 * before && low > 0.5 ? EXIT_SUCCESS : EXIT_FAILURE;
}
