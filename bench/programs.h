/* programs.h - the programs of bench/programs.c as OpenMP loops, and what both kinds of a program work on. */
#ifndef BENCH_PROGRAMS_H
#define BENCH_PROGRAMS_H

#include <stdint.h>

#include <dcl.h>

enum {
    HEAT = 2048,
    HEAT_STEPS = 500,
    EVERY = 50,
    EDGE = 1024,
    STEPS = 100,
    POINTS = 1000000,
    CENTRES = 16,
    AXES = 8,
    GROUPINGS = 5,
    ROWS = 3000,
    COLUMNS = 4000,
    BODIES = 16384,
    ORDER = 2048,
    PICTURE = 2000
};

struct heat {
    dcl_cluster *cluster;
    dcl_array *U, *V, *change;
    float *u, *v, *found;
    double plain_change, dcl_change;
};

struct gradient {
    dcl_cluster *cluster;
    dcl_array *X, *R, *P, *Q, *rho, *before, *pq;
    float *x, *r, *p, *q;
    double dcl_rho, plain_rho;
};

struct kmeans {
    dcl_cluster *cluster;
    dcl_array *X, *label, *C, *S, *n;
    float *x, c[CENTRES][AXES], found[CENTRES][AXES];
};

struct blur {
    dcl_cluster *cluster;
    dcl_array *A, *G, *B;
    float *a, *b, *found, weight[5][5];
};

struct bodies {
    dcl_cluster *cluster;
    dcl_array *x, *y, *z, *ax, *ay, *az;
    float *px, *py, *pz, *pax, *pay, *paz, *found;
};

struct product {
    dcl_cluster *cluster;
    dcl_array *A, *B, *C;
    float *a, *b, *c, *found;
};

struct mandelbrot {
    dcl_cluster *cluster;
    dcl_array *S;
    uint16_t *s, *found;
};

/* The loops, built with one set of compiler options. Each function takes the struct of its program. */
struct openmp_programs {
    void (*heat)(void *), (*gradient)(void *), (*fused_gradient)(void *), (*kmeans)(void *), (*blur)(void *),
        (*bodies)(void *), (*product)(void *), (*mandelbrot)(void *);
};

extern const struct openmp_programs openmp_separate; /* -ffp-contract=off, as DCL computes */
extern const struct openmp_programs
    openmp_contracted; /* -ffp-contract=fast: a product and a sum may be one fused operation */

#endif
