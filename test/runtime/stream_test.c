/* test/runtime/stream_test.c - loop nests on memory of the program that is larger than that of the nodes: which steps are run, on
 * devices with memory of their own whose copies take their time. The driver is that of support/fake_opencl. */
#include <criterion/criterion.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/fake_opencl/fake_opencl.h"
#include "support/nodes.h"

TestSuite(stream, .timeout = TEST_SECONDS);

enum { ROWS = 60, COLUMNS = 50, SWEEPS = 3 };

static double A[ROWS][COLUMNS], B[ROWS][COLUMNS], a[ROWS][COLUMNS], b[ROWS][COLUMNS];
static char streamed[64];             /* the parts of the last operation */
static atomic_int measured, together; /* numbers of such lines of the log */
static atomic_long copied_in;         /* bytes that the last operation has copied to the nodes */

static void note_log(void *user, int level, const char *line)
{
    (void)user, (void)level;
    const char *at = strstr(line, "streamed in ");
    if (at != NULL)
        sscanf(at, "streamed in %60[0-9 x]", streamed);
    long bytes;
    const char *copied = strstr(line, "; copied ");
    if (copied != NULL && sscanf(copied, "; copied %ld bytes to the nodes", &bytes) == 1)
        copied_in = bytes;
    measured += strstr(line, "measured a step") != NULL;
    together += strstr(line, "operations together in") != NULL;
}

static dcl_cluster *open_small(int nodes, size_t bytes)
{
    dcl_config config = test_config(nodes);
    config.quota_bytes = bytes;
    config.log = "info";
    config.log_fn = note_log;
    return test_open(&config);
}

static void fill(void)
{
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++) {
            A[i][j] = a[i][j] = (i * 31 + j * 17) % 101 / 7.0;
            B[i][j] = b[i][j] = (i * 13 + j * 41) % 97 / 3.0;
        }
}

/* Sweeps that read five rows up and three down. */
static void sweep_here(void)
{
    for (int t = 0; t < SWEEPS; t++) {
        for (int i = 5; i < ROWS - 3; i++)
            for (int j = 1; j < COLUMNS - 1; j++)
                a[i][j] = 0.25 * (b[i][j - 1] + b[i + 3][j + 1]) + t + a[i][j];
        for (int i = 5; i < ROWS - 3; i++)
            for (int j = 1; j < COLUMNS - 1; j++)
                b[i][j] = 0.5 * (a[i - 5][j] + a[i + 1][j]);
    }
}

static void run_sweeps(dcl_cluster *cluster, const char *what)
{
    const int n = ROWS, m = COLUMNS, sweeps = SWEEPS;
    fill();
    sweep_here();
    TEST_OK(dcl_loops(cluster,
                      "for (t = 0; t < sweeps; t++) {\n"
                      "    for (i = 5; i < n - 3; i++) for (j = 1; j < m - 1; j++)\n"
                      "        A[i][j] = 0.25 * (B[i][j-1] + B[i+3][j+1]) + t + A[i][j];\n"
                      "    for (i = 5; i < n - 3; i++) for (j = 1; j < m - 1; j++)\n"
                      "        B[i][j] = 0.5 * (A[i-5][j] + A[i+1][j]);\n"
                      "}",
                      DCL_HOST_INOUT(A, n, m), DCL_HOST_INOUT(B, n, m), DCL_VALUE(n), DCL_VALUE(m), DCL_VALUE(sweeps)));
    cr_expect_eq(memcmp(A, a, sizeof A), 0, "%s: A differs", what);
    cr_expect_eq(memcmp(B, b, sizeof B), 0, "%s: B differs", what);
}

static void open_fake(const char *plan)
{
    fake_opencl fake = {.plan = NULL};
    fake_opencl_select();
    cr_assert(fake_opencl_find(&fake), "%s", TEST_FAKE_OPENCL);
    fake.plan(plan);
}

/* The first steps of an operation are measured, once for a cluster; what later operations send is what earlier ones have computed. */
Test(stream, steps_are_measured_once)
{
    open_fake("apart; gpu; rate clEnqueueReadBuffer 20; rate clEnqueueWriteBuffer 20; rate dcl_unit 10");
    for (int nodes = 2; nodes >= 1; nodes--) {
        dcl_cluster *cluster = open_small(nodes, 12000);
        atomic_store(&measured, 0);
        run_sweeps(cluster, "measured");
        int first = atomic_load(&measured);
        cr_expect(first > 0 && first <= 2, "%d nodes: measured %d times for 2 bodies", nodes, first);
        run_sweeps(cluster, "known");
        cr_expect_eq(atomic_load(&measured), first, "%d nodes: measured again", nodes);
        TEST_OK(dcl_close(cluster));
    }
}

/* Several sweeps per copy: a few rows at a time, all rows at once, not all sweeps, and more operations than there are. The rows that
 * an operation computes are up to five times `count` less than those that were sent. */
static void run_sweeps_together(const char *plan, int nodes)
{
    static const struct {
        const char *fault;
        int groups;
    } rows[] = {{"together 2 x 3", 3},
                {"together 4 x 1", 2},
                {"together 6 x 20", 1},
                {"together 5 x 64", 2},
                {"together 64 x 7", 1}};
    open_fake(plan);
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        test_fault(rows[r].fault);
        dcl_cluster *cluster = open_small(nodes, 52000 / (size_t)nodes);
        atomic_store(&together, 0);
        run_sweeps(cluster, rows[r].fault);
        int groups = atomic_load(&together);
        cr_expect_eq(groups, rows[r].groups, "%s: %d groups", rows[r].fault, groups);
        TEST_OK(dcl_close(cluster));
    }
    test_fault(NULL);
}

Test(stream, sweeps_run_together) { run_sweeps_together("", 1); }
Test(stream, sweeps_run_together_on_a_gpu) { run_sweeps_together("apart; gpu", 1); }
Test(stream, sweeps_run_together_on_one_gpu_of_two) { run_sweeps_together("apart; gpu", 2); }

/* What cannot run together runs alone: rows that are read at no fixed distance, an array that is read in another order, two CPUs. A
 * table that all operations read is sent once. */
Test(stream, what_cannot_run_together_runs_alone)
{
    enum { N = 70, TABLE = 5 };
    static double x[N][N], y[N][N], u[N][N], v[N][N], table[TABLE];
    static const struct {
        const char *nest;
        int groups;
    } rows[] = {
        {"for (t = 0; t < 3; t++) {\n"
         "    for (i = 1; i < n - 1; i++) for (j = 0; j < n; j++) X[i][j] = W[1] * Y[i-1][j] + W[t] + Y[i+1][j];\n"
         "    for (i = 1; i < n - 1; i++) for (j = 0; j < n; j++) Y[i][j] = W[4] * X[i][j];\n"
         "}",
         1},
        {"for (t = 0; t < 3; t++) {\n"
         "    for (i = 1; i < n - 1; i++) for (j = 0; j < n; j++) X[i][j] = W[1] * Y[n-1-i][j] + W[t];\n"
         "    for (i = 1; i < n - 1; i++) for (j = 0; j < n; j++) Y[i][j] = W[4] * X[i][j];\n"
         "}",
         0},
    };
    open_fake("");
    test_fault("together 4 x 9");
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++)
        for (int nodes = 2; nodes >= 1; nodes--) {
            dcl_cluster *cluster = open_small(nodes, nodes == 1 ? 60000 : 30000);
            const int n = N, tables = TABLE;
            for (int i = 0; i < N; i++)
                for (int j = 0; j < N; j++)
                    x[i][j] = u[i][j] = i - j, y[i][j] = v[i][j] = (i * 7 + j * 3) % 11;
            for (int k = 0; k < TABLE; k++)
                table[k] = 0.25 * k;
            for (int t = 0; t < 3; t++) {
                for (int i = 1; i < n - 1; i++)
                    for (int j = 0; j < n; j++)
                        u[i][j] = r == 0 ? table[1] * v[i - 1][j] + table[t] + v[i + 1][j]
                                         : table[1] * v[n - 1 - i][j] + table[t];
                for (int i = 1; i < n - 1; i++)
                    for (int j = 0; j < n; j++)
                        v[i][j] = table[4] * u[i][j];
            }
            atomic_store(&together, 0);
            TEST_OK(dcl_loops(cluster, rows[r].nest, DCL_HOST_INOUT_AS("X", &x[0][0], n, n),
                              DCL_HOST_INOUT_AS("Y", &y[0][0], n, n), DCL_HOST_IN_AS("W", table, tables),
                              DCL_VALUE(n)));
            cr_expect_eq(memcmp(x, u, sizeof x), 0, "nest %zu, %d nodes: X differs", r, nodes);
            cr_expect_eq(memcmp(y, v, sizeof y), 0, "nest %zu, %d nodes: Y differs", r, nodes);
            cr_expect_eq(atomic_load(&together) > 0, nodes == 1 && rows[r].groups > 0, "nest %zu, %d nodes: %d groups",
                         r, nodes, atomic_load(&together));
            TEST_OK(dcl_close(cluster));
        }
    test_fault(NULL);
}

/* Any number of parts has the same results: few large steps, many small ones, some of other sizes at the ends. */
Test(stream, all_numbers_of_parts_have_the_same_results)
{
    static const char *const parts[] = {"4 x 2", "13 x 1", "5 x 7", "52 x 3"};
    open_fake("apart; gpu");
    for (size_t p = 0; p < sizeof parts / sizeof parts[0]; p++)
        for (int nodes = 2; nodes >= 1; nodes--) {
            char fault[32], expected[32];
            snprintf(fault, sizeof fault, "parts %s", parts[p]);
            snprintf(expected, sizeof expected, "%s ", parts[p]);
            test_fault(fault);
            dcl_cluster *cluster = open_small(nodes, nodes == 1 ? 52000 : 26000);
            streamed[0] = '\0';
            run_sweeps(cluster, parts[p]);
            if (nodes == 1)
                cr_expect_str_eq(streamed, expected, "streamed in %s", streamed);
            TEST_OK(dcl_close(cluster));
        }
    test_fault(NULL);
}

/* Two rows, of which each is a part: the first three steps are no box. After these were measured, the rest is split once more, and no
 * element is computed twice. */
Test(stream, what_was_measured_is_not_computed_again)
{
    enum { N = 100000 };
    static double x[2][N], y[2][N], u[2][N];
    open_fake("apart; gpu; rate clEnqueueReadBuffer 20; rate clEnqueueWriteBuffer 20; rate dcl_unit 1000");
    for (int nodes = 2; nodes >= 1; nodes--) {
        dcl_cluster *cluster = open_small(nodes, 1200000);
        const int n = N;
        for (int i = 0; i < 2; i++)
            for (int j = 0; j < n; j++) {
                x[i][j] = i + 3 * j;
                y[i][j] = i - j;
                u[i][j] = y[i][j] + x[i][j];
            }
        atomic_store(&measured, 0);
        TEST_OK(dcl_loops(cluster, "for (i = 0; i < 2; i++) for (j = 0; j < n; j++) Y[i][j] += X[i][j];",
                          DCL_HOST_IN_AS("X", &x[0][0], 2, n), DCL_HOST_INOUT_AS("Y", &y[0][0], 2, n), DCL_VALUE(n)));
        cr_expect_eq(atomic_load(&measured), 1, "%d nodes", nodes);
        cr_expect_eq(memcmp(y, u, sizeof y), 0, "%d nodes: Y differs", nodes);
        TEST_OK(dcl_close(cluster));
    }
}

/* Rows of F are read from two sides: steps at the ends have others in common than those in the middle, from which the number of buffers
 * is chosen. */
static void read_from_two_sides(const char *plan)
{
    enum { N = 61, M = 32 };
    static float f[N][M], e[N][M], expected[N][M];
    const int n = N, m = M;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            f[i][j] = (float)(i * 31 + j);
    for (int i = 0; 2 * i < n; i++)
        for (int j = 0; j < m; j++)
            expected[i][j] = f[2 * i][j] + f[i][m - 1 - j];
    open_fake(plan);
    for (size_t bytes = 2000; bytes < 14000; bytes += 1000) {
        dcl_cluster *cluster = open_small(1, bytes);
        memset(e, 0, sizeof e);
        TEST_OK(dcl_loops(cluster,
                          "for (i = 0; i < 31; i++) for (j = 0; j < m; j++) E[i][j] = F[2*i][j] + F[i][m-1-j];",
                          DCL_HOST_OUT_AS("E", &e[0][0], n, m), DCL_HOST_IN_AS("F", &f[0][0], n, m), DCL_VALUE(m)));
        cr_expect_eq(memcmp(e, expected, sizeof e), 0, "%zu bytes: E differs", bytes);
        TEST_OK(dcl_close(cluster));
    }
}

Test(stream, rows_are_read_from_two_sides) { read_from_two_sides(""); }
Test(stream, rows_are_read_from_two_sides_on_a_gpu) { read_from_two_sides("apart; gpu"); }

/* Steps share rows with their neighbours, which are copied once. A node may use a quarter of the arrays' memory. */
static void blur(const char *plan, int nodes)
{
    enum { N = 400, M = 200 };
    static double image[N][M], blurred[N][M], expected[N][M];
    const int n = N, m = M;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            image[i][j] = (i * 31 + j * 17) % 101 / 7.0;
    for (int i = 2; i < n - 2; i++)
        for (int j = 2; j < m - 2; j++) {
            double s = 0;
            for (int k = 0; k < 5; k++)
                for (int l = 0; l < 5; l++)
                    s += image[i + k - 2][j + l - 2] / (1 + k + l);
            expected[i][j] = s;
        }
    open_fake(plan);
    dcl_cluster *cluster = open_small(nodes, 2 * sizeof image / 3);
    memset(blurred, 0, sizeof blurred);
    TEST_OK(dcl_loops(cluster,
                      "for (i = 2; i < n - 2; i++) for (j = 2; j < m - 2; j++) {\n"
                      "    double s = 0;\n"
                      "    for (k = 0; k < 5; k++) for (l = 0; l < 5; l++) s += X[i+k-2][j+l-2] / (1 + k + l);\n"
                      "    Y[i][j] = s;\n"
                      "}",
                      DCL_HOST_IN_AS("X", &image[0][0], n, m), DCL_HOST_INOUT_AS("Y", &blurred[0][0], n, m),
                      DCL_VALUE(n), DCL_VALUE(m)));
    cr_expect_eq(memcmp(blurred, expected, sizeof expected), 0, "%s: another result", plan);
    long bytes = atomic_load(&copied_in);
    cr_expect(bytes >= (long)sizeof image && (double)bytes <= 1.07 * (double)sizeof image,
              "\"%s\", %d nodes, in%s steps: %ld bytes are copied of an image of %zu", plan, nodes, streamed, bytes,
              sizeof image);
    TEST_OK(dcl_close(cluster));
}

Test(stream, a_blur_reads_an_image_once) { blur("", 1); }
Test(stream, a_blur_reads_an_image_once_on_gpus)
{
    for (int nodes = 2; nodes >= 1; nodes--)
        blur("apart; gpu", nodes);
}

/* ---- parts of a loop of the threads ---------------------------------------------------------------------------------- */

enum { SIDE = 40 };

static double P[SIDE][SIDE], Q[SIDE][SIDE], R[SIDE][SIDE], r[SIDE][SIDE];

static void fill_product(void)
{
    for (int i = 0; i < SIDE; i++)
        for (int j = 0; j < SIDE; j++) {
            P[i][j] = (i * 31 + j * 17) % 101 / 7.0;
            Q[i][j] = (i * 13 + j * 41) % 97 / 3.0;
            R[i][j] = r[i][j] = (i * 5 + j * 3) % 11;
        }
}

/* Nests whose threads run a loop, some of them after other statements, with the same loops here. The last one cannot run in parts. */
static const char *const products[] = {
    "for (i = 0; i < n; i++) for (j = 0; j < n; j++) for (k = 0; k < n; k++) R[i][j] += P[i][k] * Q[k][j];",
    "for (k = 0; k < n - 1; k++) for (i = 0; i < n; i++) for (j = 0; j <= i; j++)\n"
    "    R[i][j] = R[i][j] * 0.5 + P[i][k] * Q[j][k+1] + k;",
    "for (i = 0; i < n; i++) for (k = 0; k <= i; k++) {\n"
    "    double s = P[i][k];\n"
    "    if (k > 5) s = s * Q[k][i];\n"
    "    R[0][i] += s; R[0][i] *= 0.75;\n"
    "}",
    "for (i = 0; i < n; i++) for (j = 0; j < n; j++) {\n"
    "    R[i][j] *= 0.5;\n"
    "    for (k = 0; k < n; k++) R[i][j] += P[i][k] * Q[k][j];\n"
    "}",
    "for (i = 0; i < n; i++) for (j = 0; j < n; j++) {\n"
    "    R[i][j] = i - j;\n"
    "    for (k = 0; k <= i; k++) R[i][j] += P[i][k] * Q[k][j];\n"
    "}",
    "for (i = 0; i < n; i++) {\n"
    "    for (j = 0; j <= i; j++) { R[i][j] *= 0.25; R[i][j] -= j; }\n"
    "    for (k = 0; k < n; k++) for (j = 0; j <= i; j++) R[i][j] += P[i][k] * Q[j][k];\n"
    "}",
    "for (i = 0; i < n; i++) for (j = 0; j < n; j++) for (k = 0; k < n; k += 3) R[i][j] += P[i][k] * Q[k][j];",
};
enum { PRODUCTS = sizeof products / sizeof products[0] };

static void compute_here(int nest)
{
    for (int i = 0; i < SIDE; i++)
        for (int j = 0; j < SIDE; j++) {
            if (nest == 3)
                r[i][j] *= 0.5;
            if (nest == 4)
                r[i][j] = i - j;
            if (nest == 5 && j <= i) {
                r[i][j] *= 0.25;
                r[i][j] -= j;
            }
            for (int k = 0; k < SIDE; k++) {
                if (nest == 0 || nest == 3 || (nest == 4 && k <= i) || (nest == 6 && k % 3 == 0))
                    r[i][j] += P[i][k] * Q[k][j];
                if (nest == 5 && j <= i)
                    r[i][j] += P[i][k] * Q[j][k];
                if (nest == 1 && k < SIDE - 1 && j <= i)
                    r[i][j] = r[i][j] * 0.5 + P[i][k] * Q[j][k + 1] + k;
            }
            if (nest == 2 && j <= i) {
                double s = P[i][j];
                if (j > 5)
                    s = s * Q[j][i];
                r[0][i] += s;
                r[0][i] *= 0.75;
            }
        }
}

static void run_product(dcl_cluster *cluster, int nest, const char *what)
{
    const int n = SIDE;
    fill_product();
    compute_here(nest);
    TEST_OK(dcl_loops(cluster, products[nest], DCL_HOST_IN(P, n, n), DCL_HOST_IN(Q, n, n), DCL_HOST_INOUT(R, n, n),
                      DCL_VALUE(n)));
    cr_expect_eq(memcmp(R, r, sizeof R), 0, "nest %d, %s: R differs", nest, what);
}

/* Threads run their loop in parts; their elements stay on the node between these, and are sent and fetched once. */
static void run_products(const char *plan, int nodes)
{
    static const char *const parts[] = {"5 x 5 x 7", "4 x 5 x 2", "3 x 8 x 20"};
    open_fake(plan);
    for (size_t p = 0; p < sizeof parts / sizeof parts[0]; p++) {
        char fault[32], expected[32];
        snprintf(fault, sizeof fault, "parts %s", parts[p]);
        snprintf(expected, sizeof expected, "%s ", parts[p]);
        test_fault(fault);
        dcl_cluster *cluster = open_small(nodes, 49000 / (size_t)nodes); /* less than P, Q and R have */
        for (int nest = 0; nest < PRODUCTS; nest++) {
            streamed[0] = '\0';
            run_product(cluster, nest, parts[p]);
            if (nest != 2 && nest < PRODUCTS - 1) /* it has one axis */
                cr_expect_str_eq(streamed, expected, "nest %d, parts %s: streamed in %s", nest, parts[p], streamed);
        }
        TEST_OK(dcl_close(cluster));
    }
    test_fault(NULL);
}

Test(stream, loops_of_threads_run_in_parts) { run_products("", 1); }
Test(stream, loops_of_threads_run_in_parts_on_gpus) { run_products("apart; gpu", 2); }

/* After three steps were measured, the elements that they have computed only in part are completed. */
Test(stream, what_was_measured_of_a_loop_is_completed)
{
    open_fake("apart; gpu; rate clEnqueueReadBuffer 200; rate clEnqueueWriteBuffer 200");
    for (int nodes = 2; nodes >= 1; nodes--)
        for (size_t bytes = 6000; bytes < 20000; bytes += 9000) {
            dcl_cluster *cluster = open_small(nodes, bytes);
            atomic_store(&measured, 0);
            for (int nest = 0; nest < 6; nest += 1 + (nest == 0))
                run_product(cluster, nest, "measured");
            cr_expect_gt(atomic_load(&measured), 0);
            run_product(cluster, 0, "known");
            TEST_OK(dcl_close(cluster));
        }
}
