/* 18_nbody.c - bodies that attract each other: accelerations are sums over all other bodies. 18_nbody [BODIES [STEPS]]
 * Built against an installed DCL: cc 18_nbody.c $(pkg-config --cflags --libs dcl) -lm */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <dcl.h>

enum { CHECKED = 16 }; /* bodies whose accelerations are computed by a plain loop, too */

/* Ends the program with the library's sentence when a call failed. */
static void check(dcl_status status, const char *call)
{
    if (status == DCL_OK)
        return;
    fprintf(stderr, "%s: %s: %s\n", call, dcl_status_name(status), dcl_error());
    exit(EXIT_FAILURE);
}

/* An array of random numbers between -1 and 1. */
static dcl_array *drawn(dcl_cluster *cluster, dcl_map *map, int64_t bodies, uint64_t seed)
{
    dcl_array *x = dcl_agile(dcl_grid_1d(DCL_FLOAT, bodies), map);
    check(dcl_random(x, seed), "dcl_random");
    check(dcl_forall(cluster, "x(i) = 2 * x(i) - 1;", DCL_INOUT(x)), "dcl_forall");
    return x;
}

/* The largest difference between some accelerations and those of a plain loop, relative to the largest acceleration. */
static double compare(int64_t bodies, dcl_array *const place[3], dcl_array *const pull[3], float soft)
{
    float *x[3], *a[3];
    double largest = 0, difference = 0;
    for (int d = 0; d < 3; d++) {
        x[d] = malloc((size_t)bodies * sizeof(float));
        a[d] = malloc((size_t)bodies * sizeof(float));
        check(dcl_read(place[d], NULL, x[d], NULL), "dcl_read");
        check(dcl_read(pull[d], NULL, a[d], NULL), "dcl_read");
    }
    for (int64_t n = 0; n < CHECKED && n < bodies; n++) {
        int64_t i = n * bodies / CHECKED;
        double sum[3] = {0};
        for (int64_t j = 0; j < bodies; j++) {
            double u = (double)x[0][j] - x[0][i], v = (double)x[1][j] - x[1][i], w = (double)x[2][j] - x[2][i];
            double r = u * u + v * v + w * w + soft, weight = 1 / (r * sqrt(r)) / (double)bodies;
            sum[0] += weight * u;
            sum[1] += weight * v;
            sum[2] += weight * w;
        }
        for (int d = 0; d < 3; d++) {
            largest = fmax(largest, fabs(sum[d]));
            difference = fmax(difference, fabs(sum[d] - a[d][i]));
        }
    }
    for (int d = 0; d < 3; d++) {
        free(x[d]);
        free(a[d]);
    }
    return difference / largest;
}

int main(int argc, char **argv)
{
    int64_t bodies = argc > 1 ? atoll(argv[1]) : 2000;
    int steps = argc > 2 ? atoi(argv[2]) : 3;
    const float step = 0.01F, soft = 0.001F, mass = 1 / (float)bodies;
    dcl_cluster *cluster = dcl_open(NULL);
    dcl_map *map = dcl_map_block(cluster);
    dcl_array *x = drawn(cluster, map, bodies, 1), *y = drawn(cluster, map, bodies, 2),
              *z = drawn(cluster, map, bodies, 3);
    dcl_array *u = dcl_agile(dcl_grid_1d(DCL_FLOAT, bodies), map), *v = dcl_agile(dcl_grid_1d(DCL_FLOAT, bodies), map);
    dcl_array *w = dcl_agile(dcl_grid_1d(DCL_FLOAT, bodies), map), *ax = dcl_agile(dcl_grid_1d(DCL_FLOAT, bodies), map);
    dcl_array *ay = dcl_agile(dcl_grid_1d(DCL_FLOAT, bodies), map),
              *az = dcl_agile(dcl_grid_1d(DCL_FLOAT, bodies), map);

    double worst = 0;
    for (int n = 0; n < steps; n++) {
        /* The index i stays, because the outputs have it; over j is summed. */
        check(dcl_reduce(cluster,
                         "float dx = x(j) - x(i), dy = y(j) - y(i), dz = z(j) - z(i);"
                         "float r = dx * dx + dy * dy + dz * dz + soft, weight = mass / (r * sqrt(r));"
                         "ax(i) += weight * dx; ay(i) += weight * dy; az(i) += weight * dz;",
                         DCL_OUT(ax), DCL_OUT(ay), DCL_OUT(az), DCL_IN(x), DCL_IN(y), DCL_IN(z), DCL_VALUE(soft),
                         DCL_VALUE(mass)),
              "dcl_reduce");
        if (n == steps - 1) /* before the bodies move on */
            worst = compare(bodies, (dcl_array *[]){x, y, z}, (dcl_array *[]){ax, ay, az}, soft);
        check(dcl_forall(cluster,
                         "u(i) += step * ax(i); v(i) += step * ay(i); w(i) += step * az(i);"
                         "x(i) += step * u(i); y(i) += step * v(i); z(i) += step * w(i);",
                         DCL_INOUT(x), DCL_INOUT(y), DCL_INOUT(z), DCL_INOUT(u), DCL_INOUT(v), DCL_INOUT(w), DCL_IN(ax),
                         DCL_IN(ay), DCL_IN(az), DCL_VALUE(step)),
              "dcl_forall");
    }
    printf("%lld bodies, %d steps; largest relative difference of an acceleration: %g\n", (long long)bodies, steps,
           worst);
    dcl_array *all[] = {x, y, z, u, v, w, ax, ay, az};
    for (size_t n = 0; n < sizeof all / sizeof all[0]; n++)
        dcl_release(all[n]);
    dcl_release(map);
    check(dcl_close(cluster), "dcl_close");
    return worst < 1e-5 ? EXIT_SUCCESS : EXIT_FAILURE;
}
