/* stream.c - loop nests on memory of the program that is four times as large as what a node may use: streamed.
 *
 *     stream [rounds] [name]        3 rounds if not given; name: gemm, gauss or jacobi-2d
 *
 * One embedded node on all processors, or the nodes of DCL_WORKERS, of whose time the program knows nothing. DCL_QUOTA_BYTES is such that a
 * node may use a quarter of the arrays' bytes. "bound": the processor time that the streamed call uses, of all
 * threads, divided by the number of processors: a call that keeps them busy all the time takes just that. "unstreamed": the
 * same call where everything fits. The results of both are compared, bit for bit. Medians; the analysis of the nest is not in
 * them, because the first round is not counted. */
#include <sys/resource.h>
#include <unistd.h>

#include "common.h"

enum { N = 1200, TALL = 4000, WIDE = 3000, FACE = 3000, MOST_ROUNDS = 31, ARRAYS = 3 };

struct kernel {
    const char *name, *text;
    int64_t rows[ARRAYS], columns[ARRAYS]; /* rows 0: no such array */
    int n, m;
};

static const struct kernel kernels[] = {
    {"gemm",
     "for (i = 0; i < n; i++) for (j = 0; j < n; j++) for (k = 0; k < n; k++) A[i][j] += B[i][k] * C[k][j];",
     {N, N, N},
     {N, N, N},
     N,
     N},
    {"gauss",
     "for (i = 2; i < n - 2; i++) for (j = 2; j < m - 2; j++) {\n"
     "    double s = 0;\n"
     "    for (k = 0; k < 5; k++) s += C[0][k] * (B[i+k-2][j-2] + 4 * B[i+k-2][j-1] + 6 * B[i+k-2][j] + 4 * "
     "B[i+k-2][j+1]\n"
     "                                            + B[i+k-2][j+2]);\n"
     "    A[i][j] = s / 256;\n"
     "}",
     {TALL, TALL, 1},
     {WIDE, WIDE, 5},
     TALL,
     WIDE},
    {"jacobi-2d",
     "for (t = 0; t < 4; t++) {\n"
     "    for (i = 1; i < n - 1; i++) for (j = 1; j < n - 1; j++)\n"
     "        A[i][j] = 0.2 * (B[i][j] + B[i][j-1] + B[i][j+1] + B[i+1][j] + B[i-1][j]);\n"
     "    for (i = 1; i < n - 1; i++) for (j = 1; j < n - 1; j++)\n"
     "        B[i][j] = 0.2 * (A[i][j] + A[i][j-1] + A[i][j+1] + A[i+1][j] + A[i-1][j]);\n"
     "}",
     {FACE, FACE, 0},
     {FACE, FACE, 0},
     FACE,
     FACE},
};

static double cpu_s(void)
{
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return (double)used.ru_utime.tv_sec + (double)used.ru_stime.tv_sec +
           1e-6 * (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

static size_t bytes_of(const struct kernel *k, int a) { return (size_t)(k->rows[a] * k->columns[a]) * sizeof(double); }

static void fill(const struct kernel *k, double *memory[])
{
    for (int a = 0; a < ARRAYS; a++)
        for (size_t e = 0; e < bytes_of(k, a) / sizeof(double); e++)
            memory[a][e] = (double)((e * 2654435761U + (size_t)a) % 1000) / 7.0;
}

static void run(dcl_cluster *cluster, const struct kernel *k, double *memory[])
{
    dcl_arg args[ARRAYS + 2];
    int count = 0;
    static const char *const names[ARRAYS] = {"A", "B", "C"};
    for (int a = 0; a < ARRAYS; a++) {
        int64_t extent[] = {k->rows[a], k->columns[a]};
        if (k->rows[a] > 0)
            args[count++] = dcl_arg_host(a == 0 || k->rows[2] == 0 ? DCL_ACCESS_HOST_INOUT : DCL_ACCESS_HOST_IN,
                                         names[a], DCL_DOUBLE, memory[a], 2, extent);
    }
    args[count++] = DCL_VALUE_AS("n", k->n);
    args[count++] = DCL_VALUE_AS("m", k->m);
    const dcl_call call = dcl_call_loops(cluster, k->text, count, args);
    check(dcl_call_run(&call) == DCL_OK, k->name);
}

/* Time calls. @param cpu_out  median processor time of a call; NULL: not wanted. */
static double time_calls(dcl_cluster *cluster, const struct kernel *k, double *memory[], int rounds, double *cpu_out)
{
    double wall[MOST_ROUNDS], cpu[MOST_ROUNDS];
    for (int r = -1; r < rounds; r++) {
        fill(k, memory);
        double began = now(), used = cpu_s();
        run(cluster, k, memory);
        if (r >= 0) {
            wall[r] = now() - began;
            cpu[r] = cpu_s() - used;
        }
    }
    *cpu_out = median(rounds, cpu);
    return median(rounds, wall);
}

static void measure(const struct kernel *k, int rounds)
{
    size_t all = 0;
    double *memory[ARRAYS], *other[ARRAYS], cpu, unused;
    for (int a = 0; a < ARRAYS; a++) {
        all += bytes_of(k, a);
        memory[a] = malloc(bytes_of(k, a) + 1);
        other[a] = malloc(bytes_of(k, a) + 1);
        check(memory[a] != NULL && other[a] != NULL, "malloc");
    }
    dcl_config config;
    check(dcl_config_read(&config) == DCL_OK, "dcl_config_read");
    dcl_cluster *large = dcl_open(&config);
    config.quota_bytes = all / 3; /* three quarters of it are used for buffers: a quarter of the arrays */
    dcl_cluster *little = dcl_open(&config);
    check(large != NULL && little != NULL, "dcl_open");
    double streamed = time_calls(little, k, memory, rounds, &cpu);
    double whole = time_calls(large, k, other, rounds, &unused);
    for (int a = 0; a < ARRAYS; a++)
        check(memcmp(memory[a], other[a], bytes_of(k, a)) == 0, "results differ");
    int nodes = dcl_node_count(little);
    double bound = cpu / (double)sysconf(_SC_NPROCESSORS_ONLN);
    printf("%s f64, %zu MB in %zu MB, %d nodes: streamed %.1f ms, bound %.1f ms, bound / streamed %.2f; unstreamed "
           "%.1f ms, "
           "unstreamed / streamed %.2f (median of %d)\n",
           k->name, all >> 20, all >> 22, nodes, 1e3 * streamed, 1e3 * bound, bound / streamed, 1e3 * whole,
           whole / streamed, rounds);
    fflush(stdout);
    dcl_close(little);
    dcl_close(large);
    for (int a = 0; a < ARRAYS; a++) {
        free(memory[a]);
        free(other[a]);
    }
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 3;
    if (rounds < 1 || rounds > MOST_ROUNDS)
        return 2;
    printf("stream: commit %s\n", bench_commit);
    for (size_t k = 0; k < sizeof kernels / sizeof kernels[0]; k++)
        if (argc < 3 || strcmp(argv[2], kernels[k].name) == 0)
            measure(&kernels[k], rounds);
    return 0;
}
