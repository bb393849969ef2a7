/* 15_kmeans.c - k-means: every point is labelled with the nearest centre, then every centre moves to the mean of its points. The labels are
 * keys, by which dcl_reduce() adds the points to sums.
 * On several nodes: DCL_WORKERS=local:4 15_kmeans
 * Built against an installed DCL: cc 15_kmeans.c $(pkg-config --cflags --libs dcl) -lm */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <dcl.h>

enum { POINTS = 20000, CENTRES = 16, AXES = 8, STEPS = 6 };

/* Coordinate j of point i, as C and for the nodes: 24 heaps. All operations are exact. */
#define POINT (float)(i % 24 * (j + 3) % 29) + (float)((i * 7919 + j * 104729) % 1021) * 0.00390625f
#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)

static const char nearest[] = "float least = INFINITY; int best = 0;\n"
                              "for (int c = 0; c < 16; c++) {\n"
                              "    float s = 0;\n"
                              "    for (int d = 0; d < 8; d++) {\n"
                              "        const float e = X(i,d) - C(c,d);\n"
                              "        s += e * e;\n"
                              "    }\n"
                              "    if (s < least) { least = s; best = c; }\n"
                              "}\n"
                              "label(i) = best;";

/* Ends the program with the library's sentence when a call failed. */
static void check(dcl_status status, const char *call)
{
    if (status == DCL_OK)
        return;
    fprintf(stderr, "%s: %s: %s\n", call, dcl_status_name(status), dcl_error());
    exit(EXIT_FAILURE);
}

/* The same in plain loops. */
static void plain(float C[CENTRES][AXES], int32_t n[CENTRES])
{
    static float X[POINTS][AXES];
    for (long i = 0; i < POINTS; i++)
        for (long j = 0; j < AXES; j++)
            X[i][j] = POINT;
    for (long i = 0; i < CENTRES; i++)
        for (long j = 0; j < AXES; j++)
            C[i][j] = POINT;
    for (int step = 0; step < STEPS; step++) {
        double S[CENTRES][AXES] = {{0}};
        for (int c = 0; c < CENTRES; c++)
            n[c] = 0;
        for (int i = 0; i < POINTS; i++) {
            float least = INFINITY;
            int best = 0;
            for (int c = 0; c < CENTRES; c++) {
                float s = 0;
                for (int d = 0; d < AXES; d++)
                    s += (X[i][d] - C[c][d]) * (X[i][d] - C[c][d]);
                best = s < least ? c : best;
                least = fminf(s, least);
            }
            n[best]++;
            for (int j = 0; j < AXES; j++)
                S[best][j] += (double)X[i][j];
        }
        for (int e = 0; e < CENTRES * AXES; e++)
            if (n[e / AXES] > 0)
                C[e / AXES][e % AXES] = (float)(S[e / AXES][e % AXES] / n[e / AXES]);
    }
}

int main(void)
{
    float found[CENTRES][AXES], right[CENTRES][AXES], largest = 0;
    int32_t count[CENTRES], right_count[CENTRES];
    long wrong = 0;
    dcl_cluster *cluster = dcl_open(NULL);
    dcl_map *map = dcl_map_default(cluster);
    dcl_array *X = dcl_agile(dcl_grid_2d(DCL_FLOAT, POINTS, AXES), map);
    dcl_array *label = dcl_agile(dcl_grid_1d(DCL_INT32, POINTS), map);
    dcl_array *C = dcl_agile(dcl_grid_2d(DCL_FLOAT, CENTRES, AXES), map);
    dcl_array *S = dcl_agile(dcl_grid_2d(DCL_DOUBLE, CENTRES, AXES), map);
    dcl_array *n = dcl_agile(dcl_grid_1d(DCL_INT32, CENTRES), map);
    check(dcl_forall(cluster, "X(i,j) = " TEXT(POINT) ";", DCL_OUT(X)), "dcl_forall");
    check(dcl_forall(cluster, "C(i,j) = " TEXT(POINT) ";", DCL_OUT(C)), "dcl_forall");
    /* No call waits. The points stay where they are: only centres and partial sums move between nodes. */
    for (int step = 0; step < STEPS; step++) {
        check(dcl_forall(cluster, nearest, DCL_OUT(label), DCL_IN(X), DCL_IN(C)), "dcl_forall");
        check(dcl_reduce(cluster, "S(label(i), j) += X(i,j);", DCL_OUT(S), DCL_IN(label), DCL_IN(X)), "dcl_reduce");
        check(dcl_reduce(cluster, "n(label(i)) += 1;", DCL_OUT(n), DCL_IN(label)), "dcl_reduce");
        check(dcl_forall(cluster, "if (n(i) > 0) C(i,j) = (float)(S(i,j) / n(i));", DCL_INOUT(C), DCL_IN(S), DCL_IN(n)),
              "dcl_forall");
    }
    check(dcl_read(C, NULL, found, NULL), "dcl_read");
    check(dcl_read(n, NULL, count, NULL), "dcl_read");
    plain(right, right_count);
    for (int c = 0; c < CENTRES; c++) {
        wrong += labs((long)count[c] - right_count[c]);
        for (int j = 0; j < AXES; j++)
            largest = fmaxf(largest, fabsf(found[c][j] - right[c][j]));
    }
    for (int c = 0; c < CENTRES; c++)
        printf("%s%d", c == 0 ? "points per centre: " : " ", (int)count[c]);
    printf("\nlargest difference of a centre from plain loops: %g; points in other groups: %ld\n", (double)largest,
           wrong);
    dcl_release(map);
    check(dcl_close(cluster), "dcl_close"); /* releases the arrays */
    return largest < 0.001f && wrong == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
