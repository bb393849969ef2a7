/* programs.c - the OpenMP loops that bench/programs.c measures DCL against. The build compiles this file once with -ffp-contract=off
 * and once with -ffp-contract=fast; PROGRAMS is the name of the table of either. */
#include "programs.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

static void plain_heat(void *user)
{
    struct heat *h = user;
#pragma omp parallel for
    for (long i = 0; i < HEAT; i++)
        for (long j = 0; j < HEAT; j++)
            h->u[i * HEAT + j] = h->v[i * HEAT + j] = i == 0 ? 100 : 0;
    for (int n = 0; n < HEAT_STEPS; n++) {
        const float *restrict u = h->u;
        float *restrict v = h->v;
#pragma omp parallel for
        for (long i = 1; i < HEAT - 1; i++)
            for (long j = 1; j < HEAT - 1; j++) {
                const float *at = u + i * HEAT + j;
                v[i * HEAT + j] = 0.25F * (at[-HEAT] + at[HEAT] + at[-1] + at[1]);
            }
        if ((n + 1) % EVERY == 0) {
            double sum = 0;
#pragma omp parallel for simd reduction(+ : sum)
            for (long e = 0; e < (long)HEAT * HEAT; e++)
                sum += (double)((v[e] - u[e]) * (v[e] - u[e]));
            h->plain_change = sum;
        }
        float *other = h->u;
        h->u = h->v;
        h->v = other;
    }
}

static inline float laplacian(const float *p, long i, long j)
{
    const float *at = p + i * EDGE + j;
    return 4 * at[0] - (i > 0 ? at[-EDGE] : 0) - (i < EDGE - 1 ? at[EDGE] : 0) - (j > 0 ? at[-1] : 0) -
           (j < EDGE - 1 ? at[1] : 0);
}

static double begin_plain(struct gradient *g)
{
    double rho = 0;
#pragma omp parallel for reduction(+ : rho)
    for (long i = 0; i < EDGE; i++)
        for (long j = 0; j < EDGE; j++) {
            long e = i * EDGE + j;
            g->x[e] = 0;
            g->r[e] = g->p[e] = (float)((7 * i + 13 * j) % 17 - 8);
            rho += (double)(g->r[e] * g->r[e]);
        }
    return rho;
}

static void plain_gradient(void *user)
{
    struct gradient *g = user;
    float *restrict x = g->x, *restrict r = g->r, *restrict p = g->p, *restrict q = g->q;
    double rho = begin_plain(g);
    for (int n = 0; n < STEPS; n++) {
        double pq = 0, next = 0;
#pragma omp parallel for
        for (long i = 0; i < EDGE; i++)
            for (long j = 0; j < EDGE; j++)
                q[i * EDGE + j] = laplacian(p, i, j);
#pragma omp parallel for simd reduction(+ : pq)
        for (long e = 0; e < (long)EDGE * EDGE; e++)
            pq += (double)(p[e] * q[e]);
        float alpha = (float)(rho / pq);
#pragma omp parallel for simd
        for (long e = 0; e < (long)EDGE * EDGE; e++) {
            x[e] += alpha * p[e];
            r[e] -= alpha * q[e];
        }
#pragma omp parallel for simd reduction(+ : next)
        for (long e = 0; e < (long)EDGE * EDGE; e++)
            next += (double)(r[e] * r[e]);
        float beta = (float)(next / rho);
        rho = next;
#pragma omp parallel for simd
        for (long e = 0; e < (long)EDGE * EDGE; e++)
            p[e] = r[e] + beta * p[e];
    }
    g->plain_rho = rho;
}

static void fused_gradient(void *user)
{
    struct gradient *g = user;
    float *restrict x = g->x, *restrict r = g->r, *restrict p = g->p, *restrict q = g->q;
    double rho = begin_plain(g);
    for (int n = 0; n < STEPS; n++) {
        double pq = 0, next = 0;
#pragma omp parallel for reduction(+ : pq)
        for (long i = 0; i < EDGE; i++)
#pragma omp simd reduction(+ : pq)
            for (long j = 0; j < EDGE; j++) {
                q[i * EDGE + j] = laplacian(p, i, j);
                pq += (double)(p[i * EDGE + j] * q[i * EDGE + j]);
            }
        float alpha = (float)(rho / pq);
#pragma omp parallel for simd reduction(+ : next)
        for (long e = 0; e < (long)EDGE * EDGE; e++) {
            x[e] += alpha * p[e];
            r[e] -= alpha * q[e];
            next += (double)(r[e] * r[e]);
        }
        float beta = (float)(next / rho);
        rho = next;
#pragma omp parallel for simd
        for (long e = 0; e < (long)EDGE * EDGE; e++)
            p[e] = r[e] + beta * p[e];
    }
    g->plain_rho = rho;
}

static void plain_kmeans(void *user)
{
    struct kmeans *k = user;
    for (int c = 0; c < CENTRES; c++)
        for (int d = 0; d < AXES; d++)
            k->c[c][d] = (float)((c * 31 + d * 17) % 64);
    for (int step = 0; step < GROUPINGS; step++) {
        double sum[CENTRES * AXES] = {0};
        int n[CENTRES] = {0};
#pragma omp parallel for reduction(+ : sum[:CENTRES * AXES], n[:CENTRES])
        for (long i = 0; i < POINTS; i++) {
            const float *x = k->x + i * AXES;
            float least = INFINITY;
            int best = 0;
            for (int c = 0; c < CENTRES; c++) {
                float s = 0;
                for (int d = 0; d < AXES; d++)
                    s += (x[d] - k->c[c][d]) * (x[d] - k->c[c][d]);
                if (s < least) {
                    least = s;
                    best = c;
                }
            }
            for (int d = 0; d < AXES; d++)
                sum[best * AXES + d] += (double)x[d];
            n[best]++;
        }
        for (int e = 0; e < CENTRES * AXES; e++)
            if (n[e / AXES] > 0)
                k->c[e / AXES][e % AXES] = (float)(sum[e] / n[e / AXES]);
    }
}

static inline long limited(long index, long count) { return index < 0 ? 0 : index < count ? index : count - 1; }

static void plain_blur(void *user)
{
    struct blur *u = user;
    const float *restrict a = u->a;
    float *restrict b = u->b;
#pragma omp parallel for
    for (long i = 0; i < ROWS; i++) {
        bool inside = i >= 2 && i < ROWS - 2;
        for (long j = 0; j < COLUMNS; j = inside && j == 1 ? COLUMNS - 2 : j + 1) { /* the edges */
            float s = 0;
            for (int d = -2; d <= 2; d++)
                for (int e = -2; e <= 2; e++)
                    s += u->weight[d + 2][e + 2] * a[limited(i + d, ROWS) * COLUMNS + limited(j + e, COLUMNS)];
            b[i * COLUMNS + j] = s;
        }
        for (long j = 2; j < COLUMNS - 2 && inside; j++) {
            float s = 0;
            for (int d = -2; d <= 2; d++)
                for (int e = -2; e <= 2; e++)
                    s += u->weight[d + 2][e + 2] * a[(i + d) * COLUMNS + j + e];
            b[i * COLUMNS + j] = s;
        }
    }
}

static void plain_bodies(void *user)
{
    struct bodies *b = user;
    const float soft = 0.001F, *restrict x = b->px, *restrict y = b->py, *restrict z = b->pz;
#pragma omp parallel for
    for (long i = 0; i < BODIES; i++) {
        float ax = 0, ay = 0, az = 0;
#pragma omp simd reduction(+ : ax, ay, az)
        for (long j = 0; j < BODIES; j++) {
            float dx = x[j] - x[i], dy = y[j] - y[i], dz = z[j] - z[i];
            float r = dx * dx + dy * dy + dz * dz + soft, weight = 1 / (r * sqrtf(r));
            ax += weight * dx;
            ay += weight * dy;
            az += weight * dz;
        }
        b->pax[i] = ax;
        b->pay[i] = ay;
        b->paz[i] = az;
    }
}

static void plain_product(void *user)
{
    struct product *p = user;
    const float *restrict a = p->a, *restrict b = p->b;
    float *restrict c = p->c;
#pragma omp parallel for
    for (long i = 0; i < ORDER; i++) {
        memset(c + i * ORDER, 0, ORDER * sizeof *c);
        for (long k = 0; k < ORDER; k++)
            for (long j = 0; j < ORDER; j++)
                c[i * ORDER + j] += a[i * ORDER + k] * b[k * ORDER + j];
    }
}

static void plain_mandelbrot(void *user)
{
    struct mandelbrot *m = user;
#pragma omp parallel for schedule(dynamic, 8)
    for (int i = 0; i < PICTURE; i++)
        for (int j = 0; j < PICTURE; j++) {
            const float u = (float)j * 0.0015F - 2.25F, v = (float)i * 0.0015F - 1.5F;
            float x = 0, y = 0;
            int n = 0;
            for (; n < 1000 && x * x + y * y < 4; n++) {
                const float t = x * x - y * y + u;
                y = 2 * x * y + v;
                x = t;
            }
            m->s[(long)i * PICTURE + j] = (uint16_t)n;
        }
}

const struct openmp_programs PROGRAMS = {.heat = plain_heat,
                                         .gradient = plain_gradient,
                                         .fused_gradient = fused_gradient,
                                         .kmeans = plain_kmeans,
                                         .blur = plain_blur,
                                         .bodies = plain_bodies,
                                         .product = plain_product,
                                         .mandelbrot = plain_mandelbrot};
