/* programs.c - whole programs as a new user writes them, with bodies only, against OpenMP loops of the same algorithm, taking turns.
 *
 *     programs [rounds]        5 if not given
 *
 * heat: 500 steps on 2048 x 2048 floats, with the sum of squares of the change each 50 steps. gradient: 100 steps of a conjugate
 * gradient for the five-point Laplacian on 1024 x 1024 floats, from a given right side. On one embedded node and on local:2, default
 * maps. Timed: from the first call until the result is in the program's memory, arrays made and bodies compiled before. "fused":
 * OpenMP computes the sums in the loops that compute the summands. Results are compared first. */
#include <math.h>

#include "common.h"

enum { HEAT = 2048, HEAT_STEPS = 500, EVERY = 50, EDGE = 1024, STEPS = 100, MOST_ROUNDS = 31 };

static float *new_floats(long count)
{
    float *memory = aligned_alloc(4096, (size_t)count * sizeof *memory);
    check(memory != NULL, "aligned_alloc");
#pragma omp parallel for
    for (long e = 0; e < count; e++)
        memory[e] = 0;
    return memory;
}

/* ---- heat ------------------------------------------------------------------------------------------------------------ */

struct heat {
    dcl_cluster *cluster;
    dcl_array *U, *V, *change;
    float *u, *v, *found;
    double plain_change, dcl_change;
};

static dcl_status heat_step(void *user, int64_t n)
{
    struct heat *h = user;
    dcl_array *U = h->U, *V = h->V, *change = h->change;
    const dcl_box inside = {.rank = 2, .start = {1, 1}, .count = {HEAT - 2, HEAT - 2}, .stride = {1, 1}};
    dcl_forall_over(h->cluster, &inside, "V(i,j) = 0.25f * (U(i-1,j) + U(i+1,j) + U(i,j-1) + U(i,j+1));", DCL_OUT(V),
                    DCL_IN(U));
    if ((n + 1) % EVERY == 0)
        dcl_reduce(h->cluster, "float d = V(i,j) - U(i,j); change(0) += d * d;", DCL_OUT(change), DCL_IN(U), DCL_IN(V));
    return dcl_swap(U, V);
}

static void dcl_heat(void *user)
{
    struct heat *h = user;
    dcl_array *U = h->U, *V = h->V;
    check(dcl_forall(h->cluster, "U(i,j) = V(i,j) = i == 0 ? 100 : 0;", DCL_OUT(U), DCL_OUT(V)) == DCL_OK,
          "dcl_forall");
    check(dcl_iterate(h->cluster, HEAT_STEPS, heat_step, h, NULL, DCL_NEVER) == DCL_OK, "dcl_iterate");
    check(dcl_read(h->change, NULL, &h->dcl_change, NULL) == DCL_OK && dcl_status_of(h->cluster) == DCL_OK, "dcl_read");
}

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

static bool same_heat(void *user)
{
    struct heat *h = user;
    check(dcl_read(h->U, NULL, h->found, NULL) == DCL_OK, "dcl_read");
    return fabs(h->dcl_change - h->plain_change) <= 1e-6 * h->plain_change &&
           memcmp(h->found, h->u, (size_t)HEAT * HEAT * sizeof *h->u) == 0;
}

/* ---- conjugate gradient ---------------------------------------------------------------------------------------------- */

struct gradient {
    dcl_cluster *cluster;
    dcl_array *X, *R, *P, *Q, *rho, *before, *pq;
    float *x, *r, *p, *q;
    double dcl_rho, plain_rho;
};

static dcl_status gradient_step(void *user, int64_t n)
{
    struct gradient *g = user;
    dcl_cluster *cluster = g->cluster;
    dcl_array *X = g->X, *R = g->R, *P = g->P, *Q = g->Q, *rho = g->rho, *before = g->before, *pq = g->pq;
    (void)n;
    dcl_reduce(cluster,
               "Q(i,j) = 4 * P(i,j) - (i > 0 ? P(i-1,j) : 0) - (i < 1023 ? P(i+1,j) : 0)"
               "                    - (j > 0 ? P(i,j-1) : 0) - (j < 1023 ? P(i,j+1) : 0);"
               "pq(0) += P(i,j) * Q(i,j);",
               DCL_OUT(Q), DCL_OUT(pq), DCL_IN(P));
    dcl_swap(rho, before);
    dcl_reduce(cluster,
               "float alpha = before(0) / pq(0);"
               "X(i,j) += alpha * P(i,j); R(i,j) -= alpha * Q(i,j); rho(0) += R(i,j) * R(i,j);",
               DCL_INOUT(X), DCL_INOUT(R), DCL_OUT(rho), DCL_IN(P), DCL_IN(Q), DCL_IN(before), DCL_IN(pq));
    return dcl_forall(cluster, "P(i,j) = R(i,j) + (float)(rho(0) / before(0)) * P(i,j);", DCL_INOUT(P), DCL_IN(R),
                      DCL_IN(rho), DCL_IN(before));
}

static void dcl_gradient(void *user)
{
    struct gradient *g = user;
    dcl_array *X = g->X, *R = g->R, *P = g->P, *rho = g->rho;
    check(dcl_forall(g->cluster, "X(i,j) = 0; R(i,j) = P(i,j) = (7 * i + 13 * j) % 17 - 8;", DCL_OUT(X), DCL_OUT(R),
                     DCL_OUT(P)) == DCL_OK,
          "dcl_forall");
    check(dcl_reduce(g->cluster, "rho(0) += R(i,j) * R(i,j);", DCL_OUT(rho), DCL_IN(R)) == DCL_OK, "dcl_reduce");
    check(dcl_iterate(g->cluster, STEPS, gradient_step, g, NULL, DCL_NEVER) == DCL_OK, "dcl_iterate");
    check(dcl_read(g->rho, NULL, &g->dcl_rho, NULL) == DCL_OK && dcl_status_of(g->cluster) == DCL_OK, "dcl_read");
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

static bool same_gradient(void *user)
{
    struct gradient *g = user; /* sums differ in their last bits, which a conjugate gradient makes larger */
    return fabs(g->dcl_rho - g->plain_rho) <= 0.05 * g->plain_rho;
}

/* ---- measuring ------------------------------------------------------------------------------------------------------- */

static void compare(const char *what, const char *where, int rounds, void *user, void (*ours)(void *),
                    void (*theirs)(void *), bool (*same)(void *))
{
    double dcl[MOST_ROUNDS], openmp[MOST_ROUNDS];
    for (int r = -1; r < rounds; r++) {
        double began = now_ms();
        ours(user);
        dcl[r < 0 ? 0 : r] = now_ms() - began;
        began = now_ms();
        theirs(user);
        openmp[r < 0 ? 0 : r] = now_ms() - began;
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL); /* until OpenMP's threads sleep */
        if (r < 0)
            check(same(user), "the results differ");
    }
    double mine = median(rounds, dcl), plain = median(rounds, openmp);
    printf("%s, %s: dcl %.1f ms, OpenMP %.1f ms, dcl / OpenMP %.2f (medians of %d; fastest: %.1f, %.1f, %.2f)\n", what,
           where, mine, plain, mine / plain, rounds, dcl[0], openmp[0], dcl[0] / openmp[0]);
    fflush(stdout);
}

static void run_heat(dcl_cluster *cluster, const char *where, int rounds)
{
    dcl_map *map = dcl_map_default(cluster);
    dcl_grid grid = dcl_grid_2d(DCL_FLOAT, HEAT, HEAT);
    struct heat h = {.cluster = cluster,
                     .U = dcl_agile(grid, map),
                     .V = dcl_agile(grid, map),
                     .change = dcl_agile(dcl_grid_1d(DCL_DOUBLE, 1), map),
                     .u = new_floats((long)HEAT * HEAT),
                     .v = new_floats((long)HEAT * HEAT),
                     .found = new_floats((long)HEAT * HEAT)};
    compare("heat", where, rounds, &h, dcl_heat, plain_heat, same_heat);
    free(h.u);
    free(h.v);
    free(h.found);
    dcl_release(h.change);
    dcl_release(h.V);
    dcl_release(h.U);
    dcl_release(map);
}

static void run_gradient(dcl_cluster *cluster, const char *where, int rounds)
{
    dcl_map *map = dcl_map_default(cluster);
    dcl_grid grid = dcl_grid_2d(DCL_FLOAT, EDGE, EDGE), one = dcl_grid_1d(DCL_DOUBLE, 1);
    const long count = (long)EDGE * EDGE;
    struct gradient g = {cluster,
                         dcl_agile(grid, map),
                         dcl_agile(grid, map),
                         dcl_agile(grid, map),
                         dcl_agile(grid, map),
                         dcl_agile(one, map),
                         dcl_agile(one, map),
                         dcl_agile(one, map),
                         new_floats(count),
                         new_floats(count),
                         new_floats(count),
                         new_floats(count),
                         0,
                         0};
    dcl_array *made[] = {g.X, g.R, g.P, g.Q, g.rho, g.before, g.pq};
    compare("gradient", where, rounds, &g, dcl_gradient, plain_gradient, same_gradient);
    compare("gradient, OpenMP fused", where, rounds, &g, dcl_gradient, fused_gradient, same_gradient);
    for (size_t k = 0; k < sizeof made / sizeof made[0]; k++)
        dcl_release(made[k]);
    free(g.x);
    free(g.r);
    free(g.p);
    free(g.q);
    dcl_release(map);
}

int main(int count, char *arguments[])
{
    int rounds = count > 1 ? atoi(arguments[1]) : 5;
    check(rounds > 0 && rounds <= MOST_ROUNDS, "rounds");
    printf("DCL %s, commit %s, programs\n", dcl_version(), bench_commit);
    static const char *const places[] = {NULL, "local:2"};
    for (int p = 0; p < 2; p++) {
        dcl_config config;
        check(dcl_config_read(&config) == DCL_OK, "dcl_config_read");
        config.workers = places[p];
        dcl_cluster *cluster = dcl_open(&config);
        const char *where = places[p] != NULL ? places[p] : "one node";
        check(cluster != NULL, "dcl_open");
        run_heat(cluster, where, rounds);
        run_gradient(cluster, where, rounds);
        check(dcl_close(cluster) == DCL_OK, "dcl_close");
    }
    return EXIT_SUCCESS;
}
