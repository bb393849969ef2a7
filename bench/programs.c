/* programs.c - whole programs as a new user writes them, with bodies only, against OpenMP loops of the same algorithm, taking turns.
 *
 *     programs [rounds] [name ...]    5 rounds if not given; names: of the programs to run
 *
 * heat: 500 steps on 2048 x 2048 floats, with the sum of squares of the change each 50 steps. gradient: 100 steps of a conjugate
 * gradient for the five-point Laplacian on 1024 x 1024 floats, from a given right side. "fused": OpenMP computes the sums in
 * the loops that compute the summands. kmeans: 5 steps on 1,000,000 points in 8 dimensions, 16 centres. blur: 5 x 5 weights on
 * 4000 x 3000 floats. nbody: accelerations of 16,384 bodies, all pairs, and a step. product: 2048 x 2048 floats. mandelbrot: 2000 x 2000.
 *
 * On one embedded node and on local:2, default maps. Timed: from the first call until the result is in the program's memory, or, of
 * kmeans, blur, nbody, product and mandelbrot, until the nodes have it; arrays made and bodies compiled before. Results are compared
 * first. At the end: the geometric mean of the ratios, without "fused". The loops are compiled with -ffp-contract=off, as DCL rounds each
 * product; "contracted" are the same loops compiled with -ffp-contract=fast, which are measured in the same rounds. */
#include <math.h>

#include "common.h"
#include "programs.h"

enum { MOST_ROUNDS = 31 };

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

static bool same_heat(void *user)
{
    struct heat *h = user;
    check(dcl_read(h->U, NULL, h->found, NULL) == DCL_OK, "dcl_read");
    return fabs(h->dcl_change - h->plain_change) <= 1e-6 * h->plain_change &&
           memcmp(h->found, h->u, (size_t)HEAT * HEAT * sizeof *h->u) == 0;
}

/* ---- conjugate gradient ---------------------------------------------------------------------------------------------- */

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

static bool same_gradient(void *user)
{
    struct gradient *g = user; /* sums differ in their last bits, which a conjugate gradient makes larger */
    return fabs(g->dcl_rho - g->plain_rho) <= 0.05 * g->plain_rho;
}

/* ---- k-means --------------------------------------------------------------------------------------------------------- */

static void dcl_kmeans(void *user)
{
    struct kmeans *k = user;
    dcl_cluster *cluster = k->cluster;
    dcl_array *X = k->X, *label = k->label, *C = k->C, *S = k->S, *n = k->n;
    dcl_forall(cluster, "C(i,j) = (i * 31 + j * 17) % 64;", DCL_OUT(C));
    for (int step = 0; step < GROUPINGS; step++) {
        dcl_forall(cluster,
                   "float least = INFINITY; int best = 0;"
                   "for (int c = 0; c < 16; c++) {"
                   "    float s = 0;"
                   "    for (int d = 0; d < 8; d++) s += (X(i,d) - C(c,d)) * (X(i,d) - C(c,d));"
                   "    if (s < least) { least = s; best = c; }"
                   "}"
                   "label(i) = best;",
                   DCL_OUT(label), DCL_IN(X), DCL_IN(C));
        dcl_reduce(cluster, "S(label(i), j) += X(i,j);", DCL_OUT(S), DCL_IN(label), DCL_IN(X));
        dcl_reduce(cluster, "n(label(i)) += 1;", DCL_OUT(n), DCL_IN(label));
        dcl_forall(cluster, "if (n(i) > 0) C(i,j) = S(i,j) / n(i);", DCL_INOUT(C), DCL_IN(S), DCL_IN(n));
    }
    check(dcl_read(C, NULL, k->found, NULL) == DCL_OK, "dcl_read");
}

static bool same_kmeans(void *user)
{
    struct kmeans *k = user;
    for (int e = 0; e < CENTRES * AXES; e++)
        if (fabsf(k->found[e / AXES][e % AXES] - k->c[e / AXES][e % AXES]) > 1e-3F)
            return false;
    return true;
}

/* ---- blur ------------------------------------------------------------------------------------------------------------ */

static void dcl_blur(void *user)
{
    struct blur *u = user;
    dcl_array *A = u->A, *G = u->G, *B = u->B;
    const int rows = ROWS, columns = COLUMNS;
    dcl_forall(u->cluster,
               "float s = 0;"
               "for (int d = -2; d <= 2; d++)"
               "    for (int e = -2; e <= 2; e++)"
               "        s += G(d+2,e+2) * A(clamp(i+d,0,rows-1),clamp(j+e,0,columns-1));"
               "B(i,j) = s;",
               DCL_OUT(B), DCL_IN(A), DCL_IN(G), DCL_VALUE(rows), DCL_VALUE(columns));
    check(dcl_wait(u->cluster) == DCL_OK, "dcl_wait");
}

static bool same_blur(void *user)
{
    struct blur *u = user;
    check(dcl_read(u->B, NULL, u->found, NULL) == DCL_OK, "dcl_read");
    for (long e = 0; e < (long)ROWS * COLUMNS; e++)
        if (fabsf(u->found[e] - u->b[e]) > 1e-3F)
            return false;
    return true;
}

/* ---- bodies ---------------------------------------------------------------------------------------------------------- */

static void dcl_bodies(void *user)
{
    struct bodies *b = user;
    dcl_array *x = b->x, *y = b->y, *z = b->z, *ax = b->ax, *ay = b->ay, *az = b->az;
    const float soft = 0.001F;
    dcl_reduce(b->cluster,
               "float dx = x(j) - x(i), dy = y(j) - y(i), dz = z(j) - z(i);"
               "float r = dx * dx + dy * dy + dz * dz + soft, weight = 1 / (r * sqrt(r));"
               "ax(i) += weight * dx; ay(i) += weight * dy; az(i) += weight * dz;",
               DCL_OUT(ax), DCL_OUT(ay), DCL_OUT(az), DCL_IN(x), DCL_IN(y), DCL_IN(z), DCL_VALUE(soft));
    check(dcl_wait(b->cluster) == DCL_OK, "dcl_wait");
}

static bool same_bodies(void *user)
{
    struct bodies *b = user;
    check(dcl_read(b->ay, NULL, b->found, NULL) == DCL_OK, "dcl_read");
    float most = 0;
    for (long i = 0; i < BODIES; i++)
        most = fmaxf(most, fabsf(b->pay[i]));
    for (long i = 0; i < BODIES; i++)
        if (fabsf(b->found[i] - b->pay[i]) > 1e-3F * most)
            return false;
    return true;
}

/* ---- product --------------------------------------------------------------------------------------------------------- */

static void dcl_product(void *user)
{
    struct product *p = user;
    dcl_array *A = p->A, *B = p->B, *C = p->C;
    dcl_reduce(p->cluster, "C(i,j) += A(i,k) * B(k,j);", DCL_OUT(C), DCL_IN(A), DCL_IN(B));
    check(dcl_wait(p->cluster) == DCL_OK, "dcl_wait");
}

static bool same_product(void *user)
{
    struct product *p = user;
    check(dcl_read(p->C, NULL, p->found, NULL) == DCL_OK, "dcl_read");
    for (long e = 0; e < (long)ORDER * ORDER; e++)
        if (fabsf(p->found[e] - p->c[e]) > 1e-4F * ORDER)
            return false;
    return true;
}

/* ---- Mandelbrot ------------------------------------------------------------------------------------------------------ */

static void dcl_mandelbrot(void *user)
{
    struct mandelbrot *m = user;
    dcl_array *S = m->S;
    dcl_forall(m->cluster,
               "const float u = j * 0.0015f - 2.25f, v = i * 0.0015f - 1.5f;"
               "float x = 0, y = 0; int n = 0;"
               "for (; n < 1000 && x * x + y * y < 4; n++) {"
               "    const float t = x * x - y * y + u;"
               "    y = 2 * x * y + v;"
               "    x = t;"
               "}"
               "S(i,j) = n;",
               DCL_OUT(S));
    check(dcl_wait(m->cluster) == DCL_OK, "dcl_wait");
}

static bool same_mandelbrot(void *user)
{
    struct mandelbrot *m = user;
    check(dcl_read(m->S, NULL, m->found, NULL) == DCL_OK, "dcl_read");
    return memcmp(m->found, m->s, (size_t)PICTURE * PICTURE * sizeof *m->s) == 0;
}

/* ---- measuring ------------------------------------------------------------------------------------------------------- */

struct logarithms { /* of the ratios of a place, summed */
    double separate, contracted;
    int ratios;
};
static struct logarithms sums;

static double time_of(void (*program)(void *), void *user)
{
    double began = now_ms();
    program(user);
    return now_ms() - began;
}

static void rest(void) /* until OpenMP's threads sleep */ { nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL); }

static void compare(const char *what, const char *where, int rounds, void *user, void (*ours)(void *),
                    void (*theirs)(void *), void (*contracted)(void *), bool (*same)(void *))
{
    double dcl[MOST_ROUNDS], openmp[MOST_ROUNDS], others[MOST_ROUNDS];
    for (int r = -1; r < rounds; r++) {
        int at = r < 0 ? 0 : r;
        dcl[at] = time_of(ours, user);
        openmp[at] = time_of(theirs, user);
        rest();
        if (r < 0)
            check(same(user), "the results differ");
        others[at] = time_of(contracted, user);
        rest();
    }
    double mine = median(rounds, dcl), plain = median(rounds, openmp), other = median(rounds, others);
    printf("%s, %s: dcl %.1f ms, OpenMP %.1f ms, dcl / OpenMP %.2f; contracted %.1f ms, %.2f (medians of %d; fastest: "
           "%.1f, "
           "%.1f, %.2f; %.1f, %.2f)\n",
           what, where, mine, plain, mine / plain, other, mine / other, rounds, dcl[0], openmp[0], dcl[0] / openmp[0],
           others[0], dcl[0] / others[0]);
    fflush(stdout);
    if (strstr(what, "fused") != NULL)
        return;
    sums.separate += log(mine / plain);
    sums.contracted += log(mine / other);
    sums.ratios++;
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
    compare("heat", where, rounds, &h, dcl_heat, openmp_separate.heat, openmp_contracted.heat, same_heat);
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
    compare("gradient", where, rounds, &g, dcl_gradient, openmp_separate.gradient, openmp_contracted.gradient,
            same_gradient);
    compare("gradient, OpenMP fused", where, rounds, &g, dcl_gradient, openmp_separate.fused_gradient,
            openmp_contracted.fused_gradient, same_gradient);
    for (size_t k = 0; k < sizeof made / sizeof made[0]; k++)
        dcl_release(made[k]);
    free(g.x);
    free(g.r);
    free(g.p);
    free(g.q);
    dcl_release(map);
}

/* An array and the program's copy of it, with values between -1 and 1. */
static dcl_array *new_random(dcl_grid grid, dcl_map *map, uint64_t seed, float **copy_out)
{
    dcl_array *array = dcl_agile(grid, map);
    *copy_out = new_floats(dcl_grid_count(&grid));
    check(dcl_random(array, seed) == DCL_OK, "dcl_random");
    check(dcl_read(array, NULL, *copy_out, NULL) == DCL_OK, "dcl_read");
    return array;
}

static void run_kmeans(dcl_cluster *cluster, const char *where, int rounds)
{
    dcl_map *map = dcl_map_default(cluster);
    struct kmeans k = {.cluster = cluster,
                       .X = dcl_agile(dcl_grid_2d(DCL_FLOAT, POINTS, AXES), map),
                       .label = dcl_agile(dcl_grid_1d(DCL_INT32, POINTS), map),
                       .C = dcl_agile(dcl_grid_2d(DCL_FLOAT, CENTRES, AXES), map),
                       .S = dcl_agile(dcl_grid_2d(DCL_DOUBLE, CENTRES, AXES), map),
                       .n = dcl_agile(dcl_grid_1d(DCL_INT32, CENTRES), map),
                       .x = new_floats((long)POINTS * AXES)};
    dcl_array *X = k.X, *made[] = {k.X, k.label, k.C, k.S, k.n};
    check(dcl_forall(cluster, "X(i,j) = i % 24 * (j + 3) % 29 + (i * 7919 + j * 104729) % 1021 * 0.00390625f;",
                     DCL_OUT(X)) == DCL_OK,
          "dcl_forall");
    check(dcl_read(X, NULL, k.x, NULL) == DCL_OK, "dcl_read");
    compare("kmeans", where, rounds, &k, dcl_kmeans, openmp_separate.kmeans, openmp_contracted.kmeans, same_kmeans);
    for (size_t n = 0; n < sizeof made / sizeof made[0]; n++)
        dcl_release(made[n]);
    free(k.x);
    dcl_release(map);
}

static void run_blur(dcl_cluster *cluster, const char *where, int rounds)
{
    dcl_map *map = dcl_map_default(cluster);
    dcl_grid grid = dcl_grid_2d(DCL_FLOAT, ROWS, COLUMNS);
    struct blur u = {.cluster = cluster, .B = dcl_agile(grid, map), .G = dcl_agile(dcl_grid_2d(DCL_FLOAT, 5, 5), map)};
    static const float row[] = {0.0625F, 0.25F, 0.375F, 0.25F, 0.0625F};
    u.A = new_random(grid, map, 1, &u.a);
    u.b = new_floats((long)ROWS * COLUMNS);
    u.found = new_floats((long)ROWS * COLUMNS);
    for (int e = 0; e < 25; e++)
        u.weight[e / 5][e % 5] = row[e / 5] * row[e % 5];
    check(dcl_write(u.G, NULL, u.weight, NULL) == DCL_OK, "dcl_write");
    compare("blur", where, rounds, &u, dcl_blur, openmp_separate.blur, openmp_contracted.blur, same_blur);
    dcl_release(u.A);
    dcl_release(u.B);
    dcl_release(u.G);
    free(u.a);
    free(u.b);
    free(u.found);
    dcl_release(map);
}

static void run_bodies(dcl_cluster *cluster, const char *where, int rounds)
{
    dcl_map *map = dcl_map_default(cluster);
    dcl_grid grid = dcl_grid_1d(DCL_FLOAT, BODIES);
    struct bodies b = {
        .cluster = cluster, .ax = dcl_agile(grid, map), .ay = dcl_agile(grid, map), .az = dcl_agile(grid, map)};
    float **room[] = {&b.pax, &b.pay, &b.paz, &b.found};
    b.x = new_random(grid, map, 1, &b.px);
    b.y = new_random(grid, map, 2, &b.py);
    b.z = new_random(grid, map, 3, &b.pz);
    for (int n = 0; n < 4; n++)
        *room[n] = new_floats(BODIES);
    compare("nbody", where, rounds, &b, dcl_bodies, openmp_separate.bodies, openmp_contracted.bodies, same_bodies);
    dcl_array *made[] = {b.x, b.y, b.z, b.ax, b.ay, b.az};
    float *copies[] = {b.px, b.py, b.pz, b.pax, b.pay, b.paz, b.found};
    for (size_t n = 0; n < sizeof made / sizeof made[0]; n++)
        dcl_release(made[n]);
    for (size_t n = 0; n < sizeof copies / sizeof copies[0]; n++)
        free(copies[n]);
    dcl_release(map);
}

static void run_product(dcl_cluster *cluster, const char *where, int rounds)
{
    dcl_map *map = dcl_map_default(cluster);
    dcl_grid grid = dcl_grid_2d(DCL_FLOAT, ORDER, ORDER);
    struct product p = {.cluster = cluster, .C = dcl_agile(grid, map)};
    p.A = new_random(grid, map, 1, &p.a);
    p.B = new_random(grid, map, 2, &p.b);
    p.c = new_floats((long)ORDER * ORDER);
    p.found = new_floats((long)ORDER * ORDER);
    compare("product", where, rounds, &p, dcl_product, openmp_separate.product, openmp_contracted.product,
            same_product);
    dcl_release(p.A);
    dcl_release(p.B);
    dcl_release(p.C);
    free(p.a);
    free(p.b);
    free(p.c);
    free(p.found);
    dcl_release(map);
}

static void run_mandelbrot(dcl_cluster *cluster, const char *where, int rounds)
{
    dcl_map *map = dcl_map_default(cluster);
    const size_t bytes = (size_t)PICTURE * PICTURE * sizeof(uint16_t);
    struct mandelbrot m = {.cluster = cluster,
                           .S = dcl_agile(dcl_grid_2d(DCL_UINT16, PICTURE, PICTURE), map),
                           .s = malloc(bytes),
                           .found = malloc(bytes)};
    check(m.s != NULL && m.found != NULL, "malloc");
    compare("mandelbrot", where, rounds, &m, dcl_mandelbrot, openmp_separate.mandelbrot, openmp_contracted.mandelbrot,
            same_mandelbrot);
    dcl_release(m.S);
    free(m.s);
    free(m.found);
    dcl_release(map);
}

/* Whether a name is among those of the command line, or there are none. */
static bool is_wanted(const char *name, int count, char *const names[])
{
    bool wanted = count <= 0;
    for (int n = 0; n < count && !wanted; n++)
        wanted = strcmp(names[n], name) == 0;
    return wanted;
}

int main(int count, char *arguments[])
{
    static const struct program {
        const char *name;
        void (*run)(dcl_cluster *cluster, const char *where, int rounds);
    } programs[] = {
        {"heat", run_heat},    {"gradient", run_gradient}, {"kmeans", run_kmeans},        {"blur", run_blur},
        {"nbody", run_bodies}, {"product", run_product},   {"mandelbrot", run_mandelbrot}};
    int rounds = count > 1 ? atoi(arguments[1]) : 5;
    check(rounds > 0 && rounds <= MOST_ROUNDS, "rounds");
    for (int n = 2; n < count; n++) {
        bool known = false;
        for (size_t p = 0; p < sizeof programs / sizeof programs[0]; p++)
            known |= strcmp(programs[p].name, arguments[n]) == 0;
        check(known, arguments[n]);
    }
    printf("DCL %s, commit %s, programs\n", dcl_version(), bench_commit);
    static const char *const places[] = {NULL, "local:2"};
    for (int p = 0; p < 2; p++) {
        dcl_config config;
        check(dcl_config_read(&config) == DCL_OK, "dcl_config_read");
        config.workers = places[p];
        dcl_cluster *cluster = dcl_open(&config);
        const char *where = places[p] != NULL ? places[p] : "one node";
        check(cluster != NULL, "dcl_open");
        sums = (struct logarithms){0};
        for (size_t n = 0; n < sizeof programs / sizeof programs[0]; n++)
            if (is_wanted(programs[n].name, count - 2, arguments + 2))
                programs[n].run(cluster, where, rounds);
        printf("geometric mean of %d, %s: dcl / OpenMP %.2f, contracted %.2f\n", sums.ratios, where,
               exp(sums.separate / sums.ratios), exp(sums.contracted / sums.ratios));
        check(dcl_close(cluster) == DCL_OK, "dcl_close");
    }
    return EXIT_SUCCESS;
}
