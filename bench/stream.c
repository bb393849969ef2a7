/* stream.c - loop nests on memory of the program that is four times as large as what a node may use: streamed.
 *
 *     stream [rounds] [name] [rows] [columns]           3 rounds if not given; name: gemm, gauss or jacobi-2d
 *     stream sweep [rounds] [name] [rows] [columns]     also with other numbers of parts than the chosen ones
 *
 * One embedded node on all processors, or the nodes of DCL_WORKERS, of whose time the program knows nothing. DCL_QUOTA_BYTES is such that a
 * node may use a quarter of the arrays' bytes. "bound": the processor time that the streamed call uses, of all
 * threads, divided by the number of processors: a call that keeps them busy all the time takes just that. "unstreamed": the
 * same call where everything fits. The results of both are compared, bit for bit. Medians; the analysis of the nest is not in
 * them, because the first round is not counted.
 *
 * On a device with memory of its own, two more times are printed. "link": copying the same bytes by hand, from and to pinned memory, in
 * both directions and on the devices of all nodes at once. "kernels": the same nest on arrays of the cluster. The longer one is that of the slowest stage. Without a GPU, the
 * driver of test/support/fake_opencl shows the stages: the time that its copies take can be set. Kernels and the copies
 * themselves, which take little of that time, are run by the same processors, one after the other; so the rate must be such that the kernels
 * take much less time than the copies: 100 bytes per microsecond for the stencils, 10 for the product.
 *
 *     OCL_ICD_VENDORS=build/test/fake_opencl.so TEST_OPENCL="apart; gpu; rate clEnqueueReadBuffer 100; rate
 *         clEnqueueWriteBuffer 100" build/bench/stream 3 gauss */
#include <inttypes.h>
#include <sys/resource.h>
#include <unistd.h>

#include "device.h"

enum { MOST_ROUNDS = 31, ARRAYS = 3, MOST_PARTS = 40 };

struct kernel {
    const char *name, *text;
    int64_t rows[ARRAYS], columns[ARRAYS]; /* 0: those of the call */
    int arrays, n, m;
};

static struct kernel kernels[] = {
    {"gemm",
     "for (i = 0; i < n; i++) for (j = 0; j < m; j++) for (k = 0; k < n; k++) A[i][j] += B[i][k] * C[k][j];",
     {0},
     {0},
     3,
     1200,
     1200},
    {"gauss",
     "for (i = 2; i < n - 2; i++) for (j = 2; j < m - 2; j++) {\n"
     "    double s = 0;\n"
     "    for (k = 0; k < 5; k++) s += C[0][k] * (B[i+k-2][j-2] + 4 * B[i+k-2][j-1] + 6 * B[i+k-2][j] + 4 * "
     "B[i+k-2][j+1]\n"
     "                                            + B[i+k-2][j+2]);\n"
     "    A[i][j] = s / 256;\n"
     "}",
     {0, 0, 1},
     {0, 0, 5},
     3,
     4000,
     3000},
    {"jacobi-2d",
     "for (t = 0; t < 4; t++) {\n"
     "    for (i = 1; i < n - 1; i++) for (j = 1; j < m - 1; j++)\n"
     "        A[i][j] = 0.2 * (B[i][j] + B[i][j-1] + B[i][j+1] + B[i+1][j] + B[i-1][j]);\n"
     "    for (i = 1; i < n - 1; i++) for (j = 1; j < m - 1; j++)\n"
     "        B[i][j] = 0.2 * (A[i][j] + A[i][j-1] + A[i][j+1] + A[i+1][j] + A[i-1][j]);\n"
     "}",
     {0},
     {0},
     2,
     3000,
     3000},
};

/* What the log says of the operations of a call. */
static struct {
    int64_t in_bytes, out_bytes;
    char parts[64]; /* of the last operation */
} seen;

static void note_log(void *user, int level, const char *line)
{
    int64_t in, out;
    (void)user;
    (void)level;
    const char *at = strstr(line, "streamed "), *copied = strstr(line, "; copied ");
    if (getenv("DCL_LOG") != NULL)
        fprintf(stderr, "%s\n", line);
    if (at == NULL || copied == NULL ||
        sscanf(copied, "; copied %" SCNd64 " bytes to the nodes and %" SCNd64, &in, &out) != 2)
        return;
    size_t length = strcspn(at + strlen("streamed "), ":;");
    snprintf(seen.parts, sizeof seen.parts, "%.*s", (int)length, at + strlen("streamed "));
    seen.in_bytes += in;
    seen.out_bytes += out;
}

static double cpu_s(void)
{
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return (double)used.ru_utime.tv_sec + (double)used.ru_stime.tv_sec +
           1e-6 * (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

static int64_t rows_of(const struct kernel *k, int a) { return k->rows[a] > 0 ? k->rows[a] : k->n; }
static int64_t columns_of(const struct kernel *k, int a) { return k->columns[a] > 0 ? k->columns[a] : k->m; }

static size_t bytes_of(const struct kernel *k, int a)
{
    return (size_t)(rows_of(k, a) * columns_of(k, a)) * sizeof(double);
}

static void fill(const struct kernel *k, double *memory[])
{
    for (int a = 0; a < k->arrays; a++)
        for (size_t e = 0; e < bytes_of(k, a) / sizeof(double); e++)
            memory[a][e] = (double)((e * 2654435761U + (size_t)a) % 1000) / 7.0;
}

/* @param arrays  NULL: the program's memory. */
static dcl_status run(dcl_cluster *cluster, const struct kernel *k, double *memory[], dcl_array *arrays[])
{
    dcl_arg args[ARRAYS + 2];
    int count = 0;
    static const char *const names[ARRAYS] = {"A", "B", "C"};
    for (int a = 0; a < k->arrays; a++) {
        int64_t extent[] = {rows_of(k, a), columns_of(k, a)};
        bool written = a == 0 || k->arrays == 2;
        if (arrays != NULL)
            args[count++] = dcl_arg_array(written ? DCL_ACCESS_INOUT : DCL_ACCESS_IN, names[a], arrays[a]);
        else
            args[count++] = dcl_arg_host(written ? DCL_ACCESS_HOST_INOUT : DCL_ACCESS_HOST_IN, names[a], DCL_DOUBLE,
                                         memory[a], 2, extent);
    }
    args[count++] = DCL_VALUE_AS("n", k->n);
    args[count++] = DCL_VALUE_AS("m", k->m);
    const dcl_call call = dcl_call_loops(cluster, k->text, count, args);
    return dcl_call_run(&call);
}

/* Time calls. @param cpu_out  median processor time of a call. @return seconds; 0: the nest is refused */
static double time_calls(dcl_cluster *cluster, const struct kernel *k, double *memory[], int rounds, double *cpu_out)
{
    double wall[MOST_ROUNDS], cpu[MOST_ROUNDS];
    for (int r = -1; r < rounds; r++) {
        fill(k, memory);
        memset(&seen, 0, sizeof seen);
        double began = now(), used = cpu_s();
        dcl_status status = run(cluster, k, memory, NULL);
        if (status == DCL_ERR_NOMEM && r < 0)
            return 0;
        check(status == DCL_OK, k->name);
        if (r >= 0) {
            wall[r] = now() - began;
            cpu[r] = cpu_s() - used;
        }
    }
    *cpu_out = median(rounds, cpu);
    return median(rounds, wall);
}

/* ---- stages ------------------------------------------------------------------------------------------------------- */

/* The nest on arrays of the cluster. */
static double time_kernels(dcl_cluster *cluster, const struct kernel *k, double *memory[], int rounds)
{
    double wall[MOST_ROUNDS];
    dcl_array *arrays[ARRAYS];
    dcl_map *map = dcl_map_parse(cluster, "block");
    for (int a = 0; a < k->arrays; a++) {
        arrays[a] = dcl_agile(dcl_grid_2d(DCL_DOUBLE, rows_of(k, a), columns_of(k, a)), map);
        check(arrays[a] != NULL && dcl_write(arrays[a], NULL, memory[a], NULL) == DCL_OK, "arrays");
    }
    for (int r = -1; r < rounds; r++) {
        check(dcl_wait(cluster) == DCL_OK, "dcl_wait");
        double began = now();
        check(run(cluster, k, NULL, arrays) == DCL_OK && dcl_wait(cluster) == DCL_OK, k->name);
        if (r >= 0)
            wall[r] = now() - began;
    }
    for (int a = 0; a < k->arrays; a++)
        dcl_release(arrays[a]);
    dcl_map_release(map);
    return median(rounds, wall);
}

/* What copies by hand use of one device: a queue, pinned memory and memory of the device for each direction. */
enum { PIECE = 16 << 20, DIRECTIONS = 2, MOST_NODES = 8 };

struct end {
    cl_context context;
    cl_command_queue queue[DIRECTIONS];
    cl_mem pinned[DIRECTIONS], memory[DIRECTIONS];
    char *at[DIRECTIONS];
};

static void open_end(struct end *end, cl_device_id device)
{
    cl_int code;
    end->context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
    check(code == CL_SUCCESS, "clCreateContext");
    for (int d = 0; d < DIRECTIONS; d++) {
        end->queue[d] = clCreateCommandQueue(end->context, device, 0, &code);
        check(code == CL_SUCCESS, "clCreateCommandQueue");
        end->pinned[d] = clCreateBuffer(end->context, CL_MEM_ALLOC_HOST_PTR, PIECE, NULL, &code);
        check(code == CL_SUCCESS, "clCreateBuffer");
        end->memory[d] = clCreateBuffer(end->context, CL_MEM_READ_WRITE, PIECE, NULL, &code);
        check(code == CL_SUCCESS, "clCreateBuffer");
        end->at[d] = clEnqueueMapBuffer(end->queue[d], end->pinned[d], CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, PIECE, 0,
                                        NULL, NULL, &code);
        check(code == CL_SUCCESS, "clEnqueueMapBuffer");
        memset(end->at[d], 1, PIECE);
    }
}

static void close_end(struct end *end)
{
    for (int d = 0; d < DIRECTIONS; d++) {
        clEnqueueUnmapMemObject(end->queue[d], end->pinned[d], end->at[d], 0, NULL, NULL);
        clFinish(end->queue[d]);
        clReleaseMemObject(end->pinned[d]);
        clReleaseMemObject(end->memory[d]);
        clReleaseCommandQueue(end->queue[d]);
    }
    clReleaseContext(end->context);
}

/* The time in which numbers of bytes are copied by hand, in pieces, to and from the devices of all nodes at once. Each copies the same
 * share of them. */
static double time_link(const char *device_name, int nodes, int64_t in_bytes, int64_t out_bytes)
{
    enum { TIMES = 3 };
    double least = 0;
    struct end end[MOST_NODES];
    check(nodes <= MOST_NODES, "too many nodes");
    for (int n = 0; n < nodes; n++)
        open_end(&end[n], find_device(device_name, n));
    in_bytes /= nodes;
    out_bytes /= nodes;
    for (int t = 0; t <= TIMES; t++) {
        cl_int code = CL_SUCCESS;
        double began = now();
        for (int64_t done = 0; done < in_bytes || done < out_bytes; done += PIECE)
            for (int n = 0; n < nodes; n++) {
                size_t in = (size_t)(in_bytes - done < PIECE ? in_bytes - done : PIECE),
                       out = (size_t)(out_bytes - done < PIECE ? out_bytes - done : PIECE);
                if (done < in_bytes)
                    code |= clEnqueueWriteBuffer(end[n].queue[0], end[n].memory[0], CL_FALSE, 0, in, end[n].at[0], 0,
                                                 NULL, NULL);
                if (done < out_bytes)
                    code |= clEnqueueReadBuffer(end[n].queue[1], end[n].memory[1], CL_FALSE, 0, out, end[n].at[1], 0,
                                                NULL, NULL);
                code |= clFlush(end[n].queue[0]) | clFlush(end[n].queue[1]);
            }
        for (int n = 0; n < nodes; n++)
            code |= clFinish(end[n].queue[0]) | clFinish(end[n].queue[1]);
        check(code == CL_SUCCESS, "copies by hand");
        double took = now() - began;
        least = t > 0 && (t == 1 || took < least) ? took : least;
    }
    for (int n = 0; n < nodes; n++)
        close_end(&end[n]);
    return least;
}

/* ---- sweep -------------------------------------------------------------------------------------------------------- */

static dcl_cluster *open_little(size_t bytes)
{
    dcl_config config;
    check(dcl_config_read(&config) == DCL_OK, "dcl_config_read");
    config.quota_bytes = bytes;
    config.log = "info";
    config.log_fn = note_log;
    dcl_cluster *cluster = dcl_open(&config);
    check(cluster != NULL, "dcl_open");
    return cluster;
}

/* Numbers of parts, each about `ratio` times the one before. */
static int list_parts(int64_t most, double ratio, int64_t parts[MOST_PARTS])
{
    int count = 0;
    for (double next = 1;
         next <= (double)most && count<MOST_PARTS; next = next * ratio> next + 1 ? next * ratio : next + 1)
        parts[count++] = (int64_t)next;
    return count;
}

/* The fastest of the splits that were tried, written as for DCL_FAULT. */
struct best {
    double seconds; /* 0: none */
    char fault[64];
};

static void try(const struct kernel *k, double *memory[], int rounds, size_t quota, const char *fault,
                struct best *best)
{
    double unused;
    setenv("DCL_FAULT", fault, 1);
    dcl_cluster *cluster = open_little(quota);
    double took = time_calls(cluster, k, memory, rounds, &unused);
    dcl_close(cluster);
    if (took == 0)
        return;
    printf("%s %s: %.2f ms\n", k->name, fault, 1e3 * took);
    if (best->seconds > 0 && took >= best->seconds)
        return;
    best->seconds = took;
    snprintf(best->fault, sizeof best->fault, "%s", fault);
}

/* Time the nest with all numbers of parts, or, if it has several sweeps, with all numbers of them and of rows, and compare the best with
 * what was chosen. */
static void sweep(const struct kernel *k, double *memory[], int rounds, size_t quota)
{
    bool square = strcmp(k->name, "gemm") == 0, sweeps = strcmp(k->name, "jacobi-2d") == 0;
    int64_t parts[2][MOST_PARTS];
    int count[] = {list_parts(square ? 32 : 256, square ? 1.4 : 1.25, parts[0]),
                   list_parts(square ? 32 : 2, square ? 1.4 : 2, parts[1])};
    char fault[80], chosen_parts[64] = "";
    struct best best = {0};
    for (int a = 0; a < count[0]; a++)
        for (int b = 0; b < count[1] && !sweeps; b++)
            for (int c = 1; c <= (square ? 16 : 1); c *= 2) {
                snprintf(fault, sizeof fault, "parts %" PRId64 " x %" PRId64 " x %d", parts[0][a], parts[1][b], c);
                try(k, memory, rounds, quota, fault, &best);
            }
    for (int together = 8; together >= 1 && sweeps; together /= 2)
        for (int64_t rows = k->n / 13; rows >= k->n / 200; rows = rows * 4 / 5) {
            snprintf(fault, sizeof fault, "together %d x %" PRId64, together, rows);
            if (together == 1)
                snprintf(fault, sizeof fault, "parts %" PRId64, k->n / rows);
            try(k, memory, rounds, quota, fault, &best);
        }
    double unused;
    /* The least time of many splits is partly luck: measure the two once more, in turns. */
    double turn[2][MOST_ROUNDS];
    for (int r = 0; r < rounds; r++)
        for (int side = 0; side < 2; side++) {
            side == 0 ? setenv("DCL_FAULT", best.fault, 1) : unsetenv("DCL_FAULT");
            dcl_cluster *cluster = open_little(quota);
            turn[side][r] = time_calls(cluster, k, memory, rounds, &unused);
            snprintf(chosen_parts, sizeof chosen_parts, "%s", seen.parts);
            dcl_close(cluster);
        }
    double least = median(rounds, turn[0]), chosen = median(rounds, turn[1]);
    printf("%s: chosen %s %.2f ms, best of the sweep %s %.2f ms: chosen / best %.2f\n", k->name, chosen_parts,
           1e3 * chosen, best.fault, 1e3 * least, chosen / least);
}

/* ---- all of it ---------------------------------------------------------------------------------------------------- */

static void measure(const struct kernel *k, int rounds, bool sweeps)
{
    size_t all = 0;
    double *memory[ARRAYS], *other[ARRAYS], cpu, unused;
    for (int a = 0; a < k->arrays; a++) {
        all += bytes_of(k, a);
        memory[a] = malloc(bytes_of(k, a));
        other[a] = malloc(bytes_of(k, a));
        check(memory[a] != NULL && other[a] != NULL, "malloc");
    }
    size_t quota = all / 3; /* three quarters of it are used for buffers: a quarter of the arrays */
    dcl_config config;
    check(dcl_config_read(&config) == DCL_OK, "dcl_config_read");
    config.trace = NULL;
    dcl_cluster *large = dcl_open(&config), *little = open_little(quota);
    check(large != NULL, "dcl_open");
    double streamed = time_calls(little, k, memory, rounds, &cpu);
    check(streamed > 0, k->name);
    int64_t in_bytes = seen.in_bytes, out_bytes = seen.out_bytes;
    char parts[sizeof seen.parts];
    snprintf(parts, sizeof parts, "%s", seen.parts);
    double whole = time_calls(large, k, other, rounds, &unused);
    for (int a = 0; a < k->arrays; a++)
        check(memcmp(memory[a], other[a], bytes_of(k, a)) == 0, "results differ");
    int nodes = dcl_node_count(little);
    double bound = cpu / (double)sysconf(_SC_NPROCESSORS_ONLN);
    printf("%s f64, %zu MB in %zu MB, %d nodes, %s, %" PRId64 " MB in, %" PRId64
           " MB out: streamed %.1f ms, bound %.1f ms, bound / streamed %.2f; unstreamed %.1f ms, unstreamed / "
           "streamed %.2f (median of %d)\n",
           k->name, all >> 20, all >> 22, nodes, parts, in_bytes >> 20, out_bytes >> 20, 1e3 * streamed, 1e3 * bound,
           bound / streamed, 1e3 * whole, whole / streamed, rounds);
    if (strcmp(k->name, "gauss") == 0)
        printf("%s: reads %.4f of the image\n", k->name, (double)in_bytes / (double)bytes_of(k, 1));
    const char *name = dcl_node_name(little, 0);
    cl_device_type type = 0;
    check(clGetDeviceInfo(find_device(name, 0), CL_DEVICE_TYPE, sizeof type, &type, NULL) == CL_SUCCESS, name);
    if ((type & CL_DEVICE_TYPE_CPU) == 0) {
        double link = time_link(name, nodes, in_bytes, out_bytes), kernels = time_kernels(large, k, memory, rounds);
        printf("%s: link %.1f ms, kernels %.1f ms, slowest stage / streamed %.2f\n", k->name, 1e3 * link, 1e3 * kernels,
               (link > kernels ? link : kernels) / streamed);
    }
    fflush(stdout);
    dcl_close(little);
    dcl_close(large);
    if (sweeps)
        sweep(k, memory, rounds, quota);
    for (int a = 0; a < k->arrays; a++) {
        free(memory[a]);
        free(other[a]);
    }
}

int main(int argc, char **argv)
{
    bool sweeps = argc > 1 && strcmp(argv[1], "sweep") == 0;
    argc -= sweeps;
    argv += sweeps;
    int rounds = argc > 1 ? atoi(argv[1]) : 3, rows = argc > 3 ? atoi(argv[3]) : 0,
        columns = argc > 4 ? atoi(argv[4]) : rows;
    if (rounds < 1 || rounds > MOST_ROUNDS)
        return 2;
    printf("stream: commit %s\n", bench_commit);
    for (size_t n = 0; n < sizeof kernels / sizeof kernels[0]; n++) {
        struct kernel *k = &kernels[n];
        if (argc > 2 && strcmp(argv[2], k->name) != 0)
            continue;
        k->n = rows > 0 ? rows : k->n;
        k->m = columns > 0 ? columns : k->m;
        measure(k, rounds, sweeps);
    }
    return 0;
}
