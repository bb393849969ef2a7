/* scan.c - running sums: DCL against OpenMP, taking turns in one run.
 *
 *     scan [count]        elements, 67108864 if not given
 *
 * P(i) = A(0) + ... + A(i) of floats and doubles, on one embedded node and on local:2 with the default map. DCL's result does not
 * depend on nodes and threads. OpenMP's does: each thread but the last adds up its share in 32 sums, which the compiler
 * vectorizes; then each thread goes through its share again. Timed: from the call until P is computed.
 * Bandwidth: bytes of A and P by time. The results are compared first. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <dcl.h>

#include "common.h"

enum { ROUNDS = 11, MOST_THREADS = 256, LANES = 32 };

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

/* The scan of the reference, for an element type. */
#define DEFINE_SCAN(T)                                                                         \
    static void scan_##T(long count, const T *in, T *out)                                      \
    {                                                                                          \
        long threads = sysconf(_SC_NPROCESSORS_ONLN);                                          \
        T before[MOST_THREADS + 1] = {0};                                                      \
        check(threads <= MOST_THREADS, "too many threads");                                    \
        _Pragma("omp parallel for schedule(static, 1)") for (long t = 0; t < threads - 1; t++) \
        {                                                                                      \
            T lane[LANES] = {0}, sum = 0;                                                      \
            long e = count * t / threads, end = count * (t + 1) / threads;                     \
            for (; e + LANES <= end; e += LANES)                                               \
                for (int l = 0; l < LANES; l++)                                                \
                    lane[l] += in[e + l];                                                      \
            for (; e < end; e++)                                                               \
                sum += in[e];                                                                  \
            for (int l = 0; l < LANES; l++)                                                    \
                sum += lane[l];                                                                \
            before[t + 1] = sum;                                                               \
        }                                                                                      \
        for (long t = 1; t < threads; t++)                                                     \
            before[t] += before[t - 1];                                                        \
        _Pragma("omp parallel for schedule(static, 1)") for (long t = 0; t < threads; t++)     \
        {                                                                                      \
            T sum = before[t];                                                                 \
            for (long e = count * t / threads; e < count * (t + 1) / threads; e++)             \
                out[e] = sum += in[e];                                                         \
        }                                                                                      \
    }
DEFINE_SCAN(float)
DEFINE_SCAN(double)

static void run(dcl_cluster *cluster, dcl_array *P, dcl_array *A)
{
    check(dcl_scan(cluster, "P(i) += A(i);", DCL_OUT(P), DCL_IN(A), DCL_ALONG("i")) == DCL_OK, "dcl_scan");
    check(dcl_wait(cluster) == DCL_OK, "dcl_wait");
}

/* Measure an element type. */
#define DEFINE_MEASURE(T, type, name)                                                                                  \
    static void measure_##T(dcl_cluster *cluster, const char *where, long count)                                       \
    {                                                                                                                  \
        dcl_map *map = dcl_map_default(cluster);                                                                       \
        dcl_array *A = dcl_agile(dcl_grid_1d(type, count), map), *P = dcl_agile(dcl_grid_1d(type, count), map);        \
        check(dcl_forall(cluster, "A(i) = (float)(i * 14 % 2048 - 1023) / 128;", DCL_OUT(A)) == DCL_OK, "dcl_forall"); \
        size_t bytes = (size_t)count * sizeof(T);                                                                      \
        T *in = allocate(bytes), *out = allocate(bytes), *found = allocate(bytes);                                     \
        double dcl[ROUNDS], openmp[ROUNDS];                                                                            \
        check(dcl_read(A, NULL, in, NULL) == DCL_OK, "dcl_read");                                                      \
        for (int r = -1; r < ROUNDS; r++) {                                                                            \
            run(cluster, P, A);                                                                                        \
            double began = now_ms();                                                                                   \
            run(cluster, P, A);                                                                                        \
            dcl[r < 0 ? 0 : r] = now_ms() - began;                                                                     \
            rest();                                                                                                    \
            scan_##T(count, in, out);                                                                                  \
            began = now_ms();                                                                                          \
            scan_##T(count, in, out);                                                                                  \
            openmp[r < 0 ? 0 : r] = now_ms() - began;                                                                  \
            rest();                                                                                                    \
        }                                                                                                              \
        check(dcl_read(P, NULL, found, NULL) == DCL_OK, "dcl_read");                                                   \
        for (long e = 0; e < count; e++)                                                                               \
            check((double)found[e] - (double)out[e] <= (sizeof(T) == 4) &&                                             \
                      (double)out[e] - (double)found[e] <= (sizeof(T) == 4),                                           \
                  "the results differ"); /* the loop's floats are rounded */                                           \
        report(name, where, 2.0 * (double)bytes, dcl, openmp);                                                         \
        munmap(in, bytes);                                                                                             \
        munmap(out, bytes);                                                                                            \
        munmap(found, bytes);                                                                                          \
        dcl_release(P);                                                                                                \
        dcl_release(A);                                                                                                \
        dcl_release(map);                                                                                              \
    }

static void report(const char *what, const char *where, double bytes, double dcl[], double openmp[])
{
    double ours = median(ROUNDS, dcl), theirs = median(ROUNDS, openmp);
    printf("%s, %s: dcl %.2f ms, %.1f GB/s, OpenMP %.2f ms, OpenMP / dcl %.2f (median of %d, spread %.0f %%)\n", what,
           where, ours, 1e-6 * bytes / ours, theirs, theirs / ours, ROUNDS, 100 * (dcl[ROUNDS - 2] - dcl[1]) / ours);
    fflush(stdout);
}

DEFINE_MEASURE(float, DCL_FLOAT, "scan f32")
DEFINE_MEASURE(double, DCL_DOUBLE, "scan f64")

int main(int argc, char **argv)
{
    static const char *const places[] = {NULL, "local:2"};
    long count = argc > 1 ? strtol(argv[1], NULL, 10) : 67108864;
    for (int p = 0; p < 2; p++) {
        dcl_config config;
        check(dcl_config_read(&config) == DCL_OK, "dcl_config_read");
        config.workers = places[p];
        dcl_cluster *cluster = dcl_open(&config);
        check(cluster != NULL, "dcl_open");
        measure_float(cluster, p == 0 ? "1 node, threads" : "local:2", count);
        measure_double(cluster, p == 0 ? "1 node, threads" : "local:2", count);
        check(dcl_close(cluster) == DCL_OK, "dcl_close");
    }
    return 0;
}
