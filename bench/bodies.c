/* bodies.c - single bodies against OpenMP loops for the same result, taking turns in one run.
 *
 *     bodies [ITEM...]        the items whose names contain one of the words; all if there is none
 *
 * histogram: 64M int keys in 1,024 bins; OpenMP with bins per thread. columns: sums of the columns of 8192 x 8192 floats. permute:
 * three axes of 512 x 512 x 512 floats, OpenMP in squares of 32. convolution: 5 x 5 taps on 8192 x 8192 floats, as one body and in two
 * passes; the best OpenMP is separable, a line at a time. jacobi: 100 sweeps of a five-point stencil on 4096 x 4096 floats, queued, and with
 * a wait after each. checked: a body with declared reads at computed places against the same text as a tile kernel, which checks nothing.
 * On one embedded node and on local:2, default maps; jacobi also with an overlap of 16 lines. Timed: from the first call until the result is complete. Results are
 * compared first. "memory": at what rate all processors read 256 MB in the same rounds, because in virtual machines it changes from minute to minute. */
#include <math.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common.h"

enum { ROUNDS = 11, BINS = 1024, EDGE = 8192, CUBE = 512, HEAT = 4096, SWEEPS = 100, SQUARE = 32, MOST_THREADS = 256 };

static const long elements = (long)EDGE * EDGE;

/* OpenMP's threads spin after their work, and would disturb the next measurement. Each side is measured after a
 * call that is not timed, since processors that have slept take up to 0.2 ms to wake. */
static void rest(void) { nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL); }

static void *allocate(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    check(memory != MAP_FAILED, "mmap");
    madvise(memory, bytes, MADV_HUGEPAGE);
    return memory;
}

/* Arrays in the cluster, and the same numbers in memory. Each item uses some of them. */
struct state {
    dcl_cluster *cluster;
    dcl_array *A, *B, *C, *W;
    float *a, *b, *c, *found;
    int *keys, *bins, *found_bins;
};

static void done(dcl_cluster *cluster, dcl_status status, const char *call)
{
    check(status == DCL_OK && dcl_wait(cluster) == DCL_OK, call);
}

static float tap(long d) { return d == 0 ? 0.375F : d == 1 || d == -1 ? 0.25F : 0.0625F; }

/* ---- histogram ------------------------------------------------------------------------------------------------------- */

static void dcl_histogram(struct state *s)
{
    done(s->cluster, dcl_reduce(s->cluster, "H(key(i)) += 1;", DCL_OUT_AS("H", s->B), DCL_IN_AS("key", s->A)),
         "dcl_reduce");
}

static void plain_histogram(struct state *s)
{
    const int *keys = s->keys;
    int *bins = s->bins;
    memset(bins, 0, BINS * sizeof *bins);
#pragma omp parallel for reduction(+ : bins[:BINS])
    for (long e = 0; e < elements; e++)
        bins[keys[e]]++;
}

static bool same_histogram(struct state *s)
{
    check(dcl_read(s->B, NULL, s->found_bins, NULL) == DCL_OK, "dcl_read");
    return memcmp(s->found_bins, s->bins, BINS * sizeof *s->bins) == 0;
}

/* ---- columns --------------------------------------------------------------------------------------------------------- */

static void dcl_columns(struct state *s)
{
    done(s->cluster, dcl_reduce(s->cluster, "y(j) += A(i,j);", DCL_OUT_AS("y", s->B), DCL_IN_AS("A", s->A)),
         "dcl_reduce");
}

static void plain_columns(struct state *s)
{
    long threads = sysconf(_SC_NPROCESSORS_ONLN);
#pragma omp parallel for schedule(static, 1)
    for (long t = 0; t < threads; t++) {
        long first = EDGE * t / threads, end = EDGE * (t + 1) / threads;
        float *restrict b = s->b;
        const float *restrict a = s->a;
        for (long j = first; j < end; j++)
            b[j] = 0;
        for (long i = 0; i < EDGE; i++)
            for (long j = first; j < end; j++)
                b[j] += a[i * EDGE + j];
    }
}

static bool same_columns(struct state *s)
{
    check(dcl_read(s->B, NULL, s->found, NULL) == DCL_OK, "dcl_read");
    for (long j = 0; j < EDGE; j++)
        if (fabsf(s->found[j] - s->b[j]) > 1e-3F * fabsf(s->b[j]))
            return false;
    return true;
}

/* ---- permutations ---------------------------------------------------------------------------------------------------- */

/* B(i,j,k) = A(...), in squares of the axis that runs fastest in A and the one that does in B. */
static inline void permute(float *restrict b, const float *restrict a, long first, long second, long third)
{
#pragma omp parallel for collapse(2)
    for (long i = 0; i < CUBE; i++)
        for (long j0 = 0; j0 < CUBE; j0 += SQUARE)
            for (long k0 = 0; k0 < CUBE; k0 += SQUARE)
                for (long j = j0; j < j0 + SQUARE; j++)
                    for (long k = k0; k < k0 + SQUARE; k++)
                        b[(i * CUBE + j) * CUBE + k] = a[i * first + j * second + k * third];
}

static void permute_rows(float *restrict b, const float *restrict a, long first, long second, long third)
{
#pragma omp parallel for
    for (long j = 0; j < CUBE; j++)
        for (long i0 = 0; i0 < CUBE; i0 += SQUARE)
            for (long k0 = 0; k0 < CUBE; k0 += SQUARE)
                for (long i = i0; i < i0 + SQUARE; i++)
                    for (long k = k0; k < k0 + SQUARE; k++)
                        b[(i * CUBE + j) * CUBE + k] = a[i * first + j * second + k * third];
}

static void run_permute(struct state *s, const char *body)
{
    done(s->cluster, dcl_forall(s->cluster, body, DCL_OUT_AS("B", s->B), DCL_IN_AS("A", s->A)), "dcl_forall");
}

static const long wide = (long)CUBE * CUBE;
static void dcl_kij(struct state *s) { run_permute(s, "B(i,j,k) = A(k,i,j);"); }
static void dcl_jki(struct state *s) { run_permute(s, "B(i,j,k) = A(j,k,i);"); }
static void dcl_kji(struct state *s) { run_permute(s, "B(i,j,k) = A(k,j,i);"); }
static void dcl_ikj(struct state *s) { run_permute(s, "B(i,j,k) = A(i,k,j);"); }
static void dcl_jik(struct state *s) { run_permute(s, "B(i,j,k) = A(j,i,k);"); }
static void plain_kij(struct state *s) { permute(s->b, s->a, CUBE, 1, wide); }
static void plain_jki(struct state *s) { permute_rows(s->b, s->a, 1, wide, CUBE); }
static void plain_kji(struct state *s) { permute_rows(s->b, s->a, 1, CUBE, wide); }
static void plain_ikj(struct state *s) { permute(s->b, s->a, wide, 1, CUBE); }
static void plain_jik(struct state *s) { permute(s->b, s->a, CUBE, wide, 1); }

static bool same_cube(struct state *s)
{
    check(dcl_read(s->B, NULL, s->found, NULL) == DCL_OK, "dcl_read");
    return memcmp(s->found, s->b, CUBE * CUBE * CUBE * sizeof *s->b) == 0;
}

/* ---- convolution ----------------------------------------------------------------------------------------------------- */

static const dcl_box inner = {.rank = 2, .start = {2, 2}, .count = {EDGE - 4, EDGE - 4}, .stride = {1, 1}};
static const dcl_box inner_rows = {.rank = 2, .start = {2, 0}, .count = {EDGE - 4, EDGE}, .stride = {1, 1}};

static void dcl_convolution(struct state *s)
{
    done(s->cluster,
         dcl_forall_over(s->cluster, &inner,
                         "float s = 0; for (int y = -2; y <= 2; y++) for (int x = -2; x <= 2; x++) "
                         "s += W(y+2,x+2) * A(i+y,j+x); B(i,j) = s;",
                         DCL_INOUT_AS("B", s->B), DCL_IN_AS("A", s->A), DCL_IN_AS("W", s->W)),
         "dcl_forall_over");
}

static void dcl_passes(struct state *s)
{
    dcl_status first = dcl_forall_over(s->cluster, &inner_rows,
                                       "C(i,j) = 0.0625f * (A(i-2,j) + A(i+2,j)) + 0.25f * (A(i-1,j) + A(i+1,j)) + "
                                       "0.375f * A(i,j);",
                                       DCL_INOUT_AS("C", s->C), DCL_IN_AS("A", s->A));
    check(first == DCL_OK, "dcl_forall_over");
    done(s->cluster,
         dcl_forall_over(s->cluster, &inner,
                         "B(i,j) = 0.0625f * (C(i,j-2) + C(i,j+2)) + 0.25f * (C(i,j-1) + C(i,j+1)) + 0.375f * C(i,j);",
                         DCL_INOUT_AS("B", s->B), DCL_IN_AS("C", s->C)),
         "dcl_forall_over");
}

static void plain_direct(struct state *s)
{
    float w[5][5];
    for (int y = 0; y < 5; y++)
        for (int x = 0; x < 5; x++)
            w[y][x] = tap(y - 2) * tap(x - 2);
#pragma omp parallel for
    for (long i = 2; i < EDGE - 2; i++)
        for (long j = 2; j < EDGE - 2; j++) {
            float sum = 0;
            for (int y = 0; y < 5; y++)
                for (int x = 0; x < 5; x++)
                    sum += w[y][x] * s->a[(i + y - 2) * EDGE + j + x - 2];
            s->b[i * EDGE + j] = sum;
        }
}

static void plain_separable(struct state *s)
{
    const float far = tap(2), near = tap(1), here = tap(0);
#pragma omp parallel
    {
        float line[EDGE];
#pragma omp for
        for (long i = 2; i < EDGE - 2; i++) {
            const float *restrict a = s->a + i * EDGE;
            float *restrict b = s->b + i * EDGE;
            for (long j = 0; j < EDGE; j++)
                line[j] = far * (a[j - 2 * EDGE] + a[j + 2 * EDGE]) + near * (a[j - EDGE] + a[j + EDGE]) + here * a[j];
            for (long j = 2; j < EDGE - 2; j++)
                b[j] = far * (line[j - 2] + line[j + 2]) + near * (line[j - 1] + line[j + 1]) + here * line[j];
        }
    }
}

static bool same_edge(struct state *s)
{
    check(dcl_read(s->B, &inner, s->found, NULL) == DCL_OK, "dcl_read");
    for (long i = 2; i < EDGE - 2; i++)
        for (long j = 2; j < EDGE - 2; j++)
            if (fabsf(s->found[(i - 2) * (EDGE - 4) + j - 2] - s->b[i * EDGE + j]) > 1e-5F * 64)
                return false;
    return true;
}

/* ---- stencil --------------------------------------------------------------------------------------------------------- */

static void dcl_sweeps(struct state *s, bool waits)
{
    const dcl_box inside = {.rank = 2, .start = {1, 1}, .count = {HEAT - 2, HEAT - 2}, .stride = {1, 1}};
    dcl_array *U = s->A, *V = s->B;
    for (int n = 0; n < SWEEPS; n++) {
        check(dcl_forall_over(s->cluster, &inside, "V(i,j) = 0.25f * (U(i-1,j) + U(i+1,j) + U(i,j-1) + U(i,j+1));",
                              DCL_INOUT(V), DCL_IN(U)) == DCL_OK &&
                  (!waits || dcl_wait(s->cluster) == DCL_OK) && dcl_swap(U, V) == DCL_OK,
              "dcl_forall_over");
    }
    check(dcl_wait(s->cluster) == DCL_OK, "dcl_wait");
}

static void dcl_queued(struct state *s) { dcl_sweeps(s, false); }
static void dcl_waited(struct state *s) { dcl_sweeps(s, true); }

static void plain_sweeps(struct state *s)
{
    for (int n = 0; n < SWEEPS; n++) {
        const float *restrict u = s->a;
        float *restrict v = s->b;
#pragma omp parallel for
        for (long i = 1; i < HEAT - 1; i++)
            for (long j = 1; j < HEAT - 1; j++) {
                const float *at = u + i * HEAT + j;
                v[i * HEAT + j] = 0.25F * (at[-HEAT] + at[HEAT] + at[-1] + at[1]);
            }
        float *other = s->a;
        s->a = s->b;
        s->b = other;
    }
}

static bool same_heat(struct state *s)
{
    check(dcl_read(s->A, NULL, s->found, NULL) == DCL_OK, "dcl_read");
    return memcmp(s->found, s->a, (size_t)HEAT * HEAT * sizeof *s->a) == 0;
}

/* ---- checked reads --------------------------------------------------------------------------------------------------- */

static void dcl_near(struct state *s)
{
    dcl_array *A = s->A, *B = s->B, *C = s->C;
    done(s->cluster,
         dcl_forall(s->cluster, "long r = clamp(i + (long)C(i,j), 0L, 8191L); B(i,j) = A(r,j);", DCL_OUT(B), DCL_IN(C),
                    DCL_IN_HALO(A, 2, 0)),
         "dcl_forall");
}

/* Both sides write B: the first one's result is kept in `found`. */
static void keep_first(struct state *s) { check(dcl_read(s->B, NULL, s->found, NULL) == DCL_OK, "dcl_read"); }

static bool same_as_first(struct state *s)
{
    check(dcl_read(s->B, NULL, s->b, NULL) == DCL_OK, "dcl_read");
    return memcmp(s->found, s->b, (size_t)elements * sizeof *s->b) == 0;
}

static void tile_near(struct state *s)
{
    dcl_array *A = s->A, *B = s->B, *C = s->C;
    done(s->cluster,
         dcl_forall_tiles(s->cluster,
                          "for (long j = 0; j < B_count(1); j++) {\n"
                          "    const long i = dcl_item(0);\n"
                          "    const long r = clamp(i + (long)C(i,j), A_low(0), A_high(0) - 1); B(i,j) = A(r,j);\n}",
                          DCL_OUT(B), DCL_IN(C), DCL_IN_HALO(A, 2, 0), DCL_ITEMS(1, 0)),
         "dcl_forall_tiles");
}

static void dcl_window(struct state *s)
{
    dcl_array *A = s->A, *B = s->B;
    const int radius = 2;
    done(s->cluster,
         dcl_forall(s->cluster,
                    "float s = 0; for (long d = max(i - radius, 0L); d <= min(i + radius, 8191L); d++) s += A(d,j); "
                    "B(i,j) = s;",
                    DCL_OUT(B), DCL_IN_HALO(A, 2, 0), DCL_VALUE(radius)),
         "dcl_forall");
}

static void tile_window(struct state *s)
{
    dcl_array *A = s->A, *B = s->B;
    const int radius = 2;
    done(s->cluster,
         dcl_forall_tiles(s->cluster,
                          "const long i = dcl_item(0);\nfor (long j = 0; j < B_count(1); j++) {\n    float s = 0;\n"
                          "    for (long d = max(i - radius, A_low(0)); d <= min(i + radius, A_high(0) - 1); d++)\n"
                          "        s += A(d,j);\n    B(i,j) = s;\n}",
                          DCL_OUT(B), DCL_IN_HALO(A, 2, 0), DCL_VALUE(radius), DCL_ITEMS(1, 0)),
         "dcl_forall_tiles");
}

/* ---- measuring ------------------------------------------------------------------------------------------------------- */

typedef void function(struct state *);

struct item {
    const char *name, *peer;
    double bytes; /* read and written once */
    function *ours, *theirs;
    bool (*same)(struct state *);
    bool warm; /* each measurement follows an untimed call */
};

/* Read 256 MB of memory by all processors. @return their bits, so that compilers do not omit the loop. */
static unsigned read_memory(const void *memory)
{
    const unsigned *words = memory;
    unsigned bits = 0;
#pragma omp parallel for simd reduction(| : bits)
    for (long e = 0; e < elements; e++)
        bits |= words[e];
    return bits;
}

static void compare(struct state *s, const struct item *item, const char *where)
{
    double dcl[ROUNDS], other[ROUNDS], memory[ROUNDS];
    for (int r = -1; r < ROUNDS; r++) {
        if (item->warm)
            item->ours(s);
        double began = now_ms();
        item->ours(s);
        dcl[r < 0 ? 0 : r] = now_ms() - began;
        if (r < 0 && item->same == same_as_first)
            keep_first(s);
        rest();
        if (item->warm)
            item->theirs(s);
        began = now_ms();
        item->theirs(s);
        other[r < 0 ? 0 : r] = now_ms() - began;
        check(r >= 0 || item->same(s), "the results differ");
        rest();
        began = now_ms();
        check(read_memory(s->a) != 0, "the input is empty");
        memory[r < 0 ? 0 : r] = now_ms() - began;
        rest();
    }
    double ours = median(ROUNDS, dcl), theirs = median(ROUNDS, other);
    printf("%s, %s: dcl %.2f ms, %.1f GB/s, %s %.2f ms, %.1f GB/s, %s / dcl %.2f (median of %d, spread %.0f %%), "
           "memory %.0f GB/s\n",
           item->name, where, ours, 1e-6 * item->bytes / ours, item->peer, theirs, 1e-6 * item->bytes / theirs,
           item->peer, theirs / ours, ROUNDS, 100 * (dcl[ROUNDS - 2] - dcl[1]) / ours,
           4e-6 * (double)elements / median(ROUNDS, memory));
    fflush(stdout);
}

static bool is_wanted(const char *name, int count, char *words[])
{
    bool wanted = count == 0;
    for (int w = 0; w < count; w++)
        wanted |= strstr(name, words[w]) != NULL;
    return wanted;
}

/* Measure the items of one group whose names are wanted, on arrays of the same shape. @param text  of their map; NULL: the default. */
static void measure(dcl_cluster *cluster, const char *where, const char *text, dcl_grid grid_a, dcl_grid grid_b,
                    bool third, int items, const struct item item[], int count, char *words[])
{
    bool any = false;
    for (int k = 0; k < items; k++)
        any |= is_wanted(item[k].name, count, words);
    if (!any)
        return;
    size_t bytes = (size_t)elements * sizeof(float) * 2; /* the largest array of all groups is half of it */
    dcl_map *map = text != NULL ? dcl_map_parse(cluster, text) : dcl_map_default(cluster);
    struct state s = {.cluster = cluster, .A = dcl_agile(grid_a, map), .B = dcl_agile(grid_b, map)};
    s.C = third ? dcl_agile(grid_a, map) : NULL;
    s.W = dcl_agile(dcl_grid_2d(DCL_FLOAT, 5, 5), map);
    s.a = allocate(bytes);
    s.b = allocate(bytes);
    s.found = allocate(bytes);
    s.keys = (int *)s.a;
    s.bins = (int *)s.b;
    s.found_bins = (int *)s.found;
    const char *fill = grid_a.rank == 1 ? "A(i) = (int)((ulong)i * 2654435761 >> 7) % 1024; if (A(i) < 0) A(i) += 1024;"
                       : grid_a.rank == 3 ? "A(i,j,k) = (i * 7 + j * 3 + k * 11) % 8191;"
                                          : "A(i,j) = (float)((i * 7 + j * 3) % 1024) / 16;";
    check(dcl_forall(cluster, fill, DCL_INOUT_AS("A", s.A)) == DCL_OK && dcl_read(s.A, NULL, s.a, NULL) == DCL_OK,
          "dcl_forall");
    memcpy(s.b, s.a, bytes / 2);
    if (third)
        check(dcl_forall(cluster, "C(i,j) = (i * 3 + j * 5) % 5 - 2;", DCL_OUT_AS("C", s.C)) == DCL_OK, "dcl_forall");
    if (grid_b.rank == 2)
        check(dcl_forall(cluster, "B(i,j) = A(i,j);", DCL_OUT_AS("B", s.B), DCL_IN_AS("A", s.A)) == DCL_OK,
              "dcl_forall");
    float w[25];
    for (int e = 0; e < 25; e++)
        w[e] = tap(e / 5 - 2) * tap(e % 5 - 2);
    check(dcl_write(s.W, NULL, w, NULL) == DCL_OK, "dcl_write");
    for (int k = 0; k < items; k++)
        if (is_wanted(item[k].name, count, words))
            compare(&s, &item[k], where);
    munmap(s.a < s.b ? s.a : s.b, bytes);
    munmap(s.a < s.b ? s.b : s.a, bytes);
    munmap(s.found, bytes);
    dcl_release(s.A);
    dcl_release(s.B);
    dcl_release(s.C);
    dcl_release(s.W);
    dcl_release(map);
}

#define COUNT(array) ((int)(sizeof(array) / sizeof(array)[0]))

int main(int argc, char **argv)
{
    static const double plane = 4.0 * EDGE * EDGE, cube = 4.0 * CUBE * CUBE * CUBE, heat = 4.0 * HEAT * HEAT;
    const struct item histogram[] = {
        {"histogram", "OpenMP", plane, dcl_histogram, plain_histogram, same_histogram, true}};
    const struct item columns[] = {{"columns", "OpenMP", plane, dcl_columns, plain_columns, same_columns, true}};
    const struct item permutations[] = {{"permute kij", "OpenMP", 2 * cube, dcl_kij, plain_kij, same_cube, true},
                                        {"permute jki", "OpenMP", 2 * cube, dcl_jki, plain_jki, same_cube, true},
                                        {"permute kji", "OpenMP", 2 * cube, dcl_kji, plain_kji, same_cube, true},
                                        {"permute ikj", "OpenMP", 2 * cube, dcl_ikj, plain_ikj, same_cube, true},
                                        {"permute jik", "OpenMP", 2 * cube, dcl_jik, plain_jik, same_cube, true}};
    const struct item planes[] = {
        /* the convolution in two passes overwrites C, which the checked row reads */
        {"checked row", "tile kernel", 3 * plane, dcl_near, tile_near, same_as_first, true},
        {"checked window", "tile kernel", 2 * plane, dcl_window, tile_window, same_as_first, true},
        {"convolution", "separable", 2 * plane, dcl_convolution, plain_separable, same_edge, true},
        {"convolution against the same loops", "OpenMP", 2 * plane, dcl_convolution, plain_direct, same_edge, true},
        {"convolution in two passes", "separable", 2 * plane, dcl_passes, plain_separable, same_edge, true}};
    const struct item sweeps[] = {
        {"jacobi", "OpenMP", 2 * SWEEPS * heat, dcl_queued, plain_sweeps, same_heat, false},
        {"jacobi waited", "OpenMP", 2 * SWEEPS * heat, dcl_waited, plain_sweeps, same_heat, false}};
    const struct item overlapped[] = {
        {"jacobi with an overlap", "OpenMP", 2 * SWEEPS * heat, dcl_queued, plain_sweeps, same_heat, false}};
    printf("DCL %s, commit %s, bodies\n", dcl_version(), bench_commit);
    for (int p = 0; p < 2; p++) {
        static const char *const places[] = {NULL, "local:2"};
        const char *where = p == 0 ? "one node" : "local:2";
        dcl_config config;
        check(dcl_config_read(&config) == DCL_OK, "dcl_config_read");
        config.workers = places[p];
        dcl_cluster *cluster = dcl_open(&config);
        check(cluster != NULL, "dcl_open");
        dcl_grid square = dcl_grid_2d(DCL_FLOAT, EDGE, EDGE), small = dcl_grid_2d(DCL_FLOAT, HEAT, HEAT);
        dcl_grid box = dcl_grid_3d(DCL_FLOAT, CUBE, CUBE, CUBE);
        measure(cluster, where, NULL, dcl_grid_1d(DCL_INT32, elements), dcl_grid_1d(DCL_INT32, BINS), false,
                COUNT(histogram), histogram, argc - 1, argv + 1);
        measure(cluster, where, NULL, square, dcl_grid_1d(DCL_FLOAT, EDGE), false, COUNT(columns), columns, argc - 1,
                argv + 1);
        measure(cluster, where, NULL, box, box, false, COUNT(permutations), permutations, argc - 1, argv + 1);
        measure(cluster, where, NULL, square, square, true, COUNT(planes), planes, argc - 1, argv + 1);
        measure(cluster, where, NULL, small, small, false, COUNT(sweeps), sweeps, argc - 1, argv + 1);
        measure(cluster, where, "block;overlap=16", small, small, false, COUNT(overlapped), overlapped, argc - 1,
                argv + 1);
        check(dcl_close(cluster) == DCL_OK, "dcl_close");
    }
    return 0;
}
