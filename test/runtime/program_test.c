/* test/runtime/program_test.c - random programs on real nodes, beside a model that runs them one call after the other in
 * plain loops. Some with a node that fails to get memory: the model knows which contents are lost. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "segment/random.h"
#include "support/folder.h"
#include "support/nodes.h"

TestSuite(program_on_device, .timeout = TEST_SECONDS);

enum { SIDE = 12, COUNT = SIDE * SIDE, ARRAYS = 6, STEPS = 40 };

struct model {
    int32_t element[SIDE][SIDE];
    bool failed;
};

struct program {
    uint64_t seed;
    test_random random;
    dcl_cluster *cluster;
    dcl_map *map[ARRAYS];
    dcl_array *array[ARRAYS];
    struct model model[ARRAYS];
    int made;     /* arrays so far */
    int fails_at; /* which of them fails on one node; 0: none */
    char path[TEST_PATH];
    char text[4096]; /* what was called */
};

static int pick(struct program *p, int n) { return (int)test_between(&p->random, 0, n - 1); }

static void note(struct program *p, const char *format, int a, int b, int c)
{
    size_t length = strlen(p->text);
    snprintf(p->text + length, sizeof p->text - length, format, a, b, c);
}

/* ---- bodies ------------------------------------------------------------------------------------------------------- */

/* Elements of the outputs C and D from the inputs A and B at loop index (i, j); NULL: not written. */
typedef void body_model(int i, int j, const struct model *A, const struct model *B, struct model *C, struct model *D);

static void add_transposed(int i, int j, const struct model *A, const struct model *B, struct model *C, struct model *D)
{
    (void)D;
    C->element[i][j] = A->element[i][j] + B->element[j][i];
}

static void turn_and_mirror(int i, int j, const struct model *A, const struct model *B, struct model *C,
                            struct model *D)
{
    (void)B, (void)D;
    C->element[j][i] = A->element[SIDE - 1 - i][j] ^ (3 * i + j);
}

static void add_to(int i, int j, const struct model *A, const struct model *B, struct model *C, struct model *D)
{
    (void)B, (void)D;
    C->element[i][j] += A->element[j][i];
}

static void write_two(int i, int j, const struct model *A, const struct model *B, struct model *C, struct model *D)
{
    C->element[i][j] = A->element[i][j] - 1;
    if (A->element[i][j] & 1)
        D->element[j][i] = B->element[i][j];
}

static void gather(int i, int j, const struct model *A, const struct model *B, struct model *C, struct model *D)
{
    (void)D;
    C->element[i][j] = A->element[(5 * i + j) % SIDE][j] + B->element[i][(i * j) % SIDE];
}

static void add_neighbours(int i, int j, const struct model *A, const struct model *B, struct model *C, struct model *D)
{
    (void)B, (void)D;
    C->element[i][j] = (i > 0 ? A->element[i - 1][j] : 0) + (j < SIDE - 1 ? A->element[i][j + 1] : 7);
}

struct body {
    const char *text;
    body_model *run;
    dcl_access access[4]; /* A, B, C, D; 0: not used */
};

static const struct body bodies[] = {
    {"C(i,j) = A(i,j) + B(j,i);", add_transposed, {DCL_ACCESS_IN, DCL_ACCESS_IN, DCL_ACCESS_OUT}},
    {"C(j,i) = A(11 - i, j) ^ (int)(3*i + j);", turn_and_mirror, {DCL_ACCESS_IN, 0, DCL_ACCESS_OUT}},
    {"C(i,j) += A(j,i);", add_to, {DCL_ACCESS_IN, 0, DCL_ACCESS_INOUT}},
    {"C(i,j) = A(i,j) - 1; if (A(i,j) & 1) D(j,i) = B(i,j);",
     write_two,
     {DCL_ACCESS_IN, DCL_ACCESS_IN, DCL_ACCESS_OUT, DCL_ACCESS_OUT}},
    {"C(i,j) = A((5*i + j) % 12, j) + B(i, (i*j) % 12);",
     gather,
     {DCL_ACCESS_IN_ALL, DCL_ACCESS_IN_ROWS, DCL_ACCESS_OUT}},
    {"C(i,j) = (i > 0 ? A(i-1, j) : 0) + (j < 11 ? A(i, j+1) : 7);",
     add_neighbours,
     {DCL_ACCESS_IN, 0, DCL_ACCESS_OUT}},
};

static dcl_box random_box(struct program *p)
{
    dcl_box box = {.rank = 2};
    for (int d = 0; d < 2; d++) {
        box.start[d] = pick(p, SIDE);
        box.stride[d] = 1 + pick(p, 3);
        box.count[d] = 1 + pick(p, (int)((SIDE - 1 - box.start[d]) / box.stride[d] + 1));
    }
    return box;
}

static bool is_in(const dcl_box *box, const int64_t index[2])
{
    for (int d = 0; d < 2; d++) {
        int64_t t = index[d] - box->start[d];
        if (t < 0 || t % box->stride[d] != 0 || t / box->stride[d] >= box->count[d])
            return false;
    }
    return true;
}

/* The box is one of the first output's grid: body 1 writes C(j,i). */
static void run_model(struct program *p, const struct body *body, const int which[4], const dcl_box *box)
{
    struct model *m = p->model, A = m[which[0]], B = m[which[1]];
    bool lost = (body->access[0] != 0 && A.failed) || (body->access[1] != 0 && B.failed) ||
                (body->access[2] == DCL_ACCESS_INOUT && m[which[2]].failed) ||
                (body->access[3] != 0 && m[which[3]].failed); /* D keeps elements: as if it were read */
    for (int i = 0; i < SIDE; i++)
        for (int j = 0; j < SIDE; j++) {
            int64_t index[] = {body->run == turn_and_mirror ? j : i, body->run == turn_and_mirror ? i : j};
            if (box == NULL || is_in(box, index))
                body->run(i, j, &A, &B, &m[which[2]], &m[which[3]]);
        }
    if (lost || (box == NULL && body->access[2] == DCL_ACCESS_OUT))
        m[which[2]].failed = lost;
    if (lost && body->access[3] != 0)
        m[which[3]].failed = true;
}

static void step_forall(struct program *p)
{
    static const char *const names[] = {"A", "B", "C", "D"};
    const struct body *body = &bodies[pick(p, (int)(sizeof bodies / sizeof bodies[0]))];
    int which[4], count = 0;
    for (int k = 3; k >= 0; k--) { /* outputs are no other array; inputs may be one */
        do
            which[k] = pick(p, ARRAYS);
        while ((k <= 2 && which[k] == which[3]) || (k <= 1 && which[k] == which[2]));
    }
    dcl_arg args[4];
    for (int k = 0; k < 4; k++)
        if (body->access[k] != 0)
            args[count++] = dcl_arg_array(body->access[k], names[k], p->array[which[k]]);
    dcl_box box = random_box(p);
    bool narrowed = pick(p, 4) == 0;
    note(p, narrowed ? "forall over a box %d %d -> %d" : "forall %d %d -> %d", which[0], which[1], which[2]);
    note(p, " and %d (body %d)", which[3], (int)(body - bodies), 0);
    dcl_status status = dcl_call_run(DCL_CALL_BODY_N(p->cluster, narrowed ? &box : NULL, body->text, count, args));
    note(p, status == DCL_OK ? ": started\n" : ": refused\n", 0, 0, 0);
    if (p->fails_at == 0)
        cr_assert_eq(status, DCL_OK, "seed %" PRIu64 ": %s\n%s", p->seed, dcl_error(), p->text);
    if (status == DCL_OK) /* a call that is refused, because the failure was known by then, changes nothing */
        run_model(p, body, which, narrowed ? &box : NULL);
}

/* ---- other calls -------------------------------------------------------------------------------------------------- */

static void make_array(struct program *p, int a)
{
    p->array[a] = dcl_agile(dcl_grid_2d(DCL_INT32, SIDE, SIDE), p->map[a]);
    cr_assert_not_null(p->array[a], "seed %" PRIu64 ": %s", p->seed, dcl_error());
    p->model[a] = (struct model){.failed = ++p->made == p->fails_at};
}

static void step_fill(struct program *p)
{
    int a = pick(p, ARRAYS);
    int32_t value = pick(p, 1000);
    note(p, "fill %d\n", a, 0, 0);
    dcl_fill(p->array[a], &value);
    for (int e = 0; e < COUNT; e++)
        p->model[a].element[e / SIDE][e % SIDE] = value;
    p->model[a].failed = false;
}

static void step_write(struct program *p)
{
    int a = pick(p, ARRAYS), value = pick(p, 1000);
    int32_t memory[COUNT];
    dcl_box box = random_box(p);
    bool whole = pick(p, 2) == 0;
    if (whole)
        box = dcl_box_nd(2, (int64_t[]){0, 0}, (int64_t[]){SIDE, SIDE});
    note(p, whole ? "write %d\n" : "write a box of %d\n", a, 0, 0);
    for (int64_t y = 0; y < box.count[0]; y++)
        for (int64_t x = 0; x < box.count[1]; x++) {
            memory[y * box.count[1] + x] = value;
            p->model[a].element[box.start[0] + y * box.stride[0]][box.start[1] + x * box.stride[1]] = value++;
        }
    dcl_status status = dcl_write(p->array[a], &box, memory, NULL);
    p->model[a].failed &= !whole;
    cr_assert(status == DCL_OK || p->model[a].failed, "seed %" PRIu64 ": %s\n%s", p->seed, dcl_error(), p->text);
}

static void expect_contents(struct program *p, int a)
{
    int32_t memory[SIDE][SIDE];
    dcl_status status = dcl_read(p->array[a], NULL, memory, NULL);
    cr_assert_eq(status != DCL_OK, p->model[a].failed, "seed %" PRIu64 ": array %d: %s\n%s", p->seed, a,
                 status != DCL_OK ? dcl_error() : "its contents were lost, but it was read", p->text);
    for (int e = 0; e < COUNT && status == DCL_OK; e++)
        cr_assert_eq(memory[e / SIDE][e % SIDE], p->model[a].element[e / SIDE][e % SIDE],
                     "seed %" PRIu64 ": array %d: element (%d,%d) is %d; expected %d\n%s", p->seed, a, e / SIDE,
                     e % SIDE, memory[e / SIDE][e % SIDE], p->model[a].element[e / SIDE][e % SIDE], p->text);
}

static void step_read(struct program *p)
{
    int a = pick(p, ARRAYS);
    note(p, "read %d\n", a, 0, 0);
    expect_contents(p, a);
}

static void step_swap(struct program *p)
{
    int a = pick(p, ARRAYS / 2) * 2, b = a + 1; /* two neighbours have the same map */
    note(p, "swap %d %d\n", a, b, 0);
    TEST_OK(dcl_swap(p->array[a], p->array[b]));
    struct model kept = p->model[a];
    p->model[a] = p->model[b];
    p->model[b] = kept;
}

static void step_make_anew(struct program *p)
{
    int a = pick(p, ARRAYS);
    note(p, "release %d, make it anew\n", a, 0, 0);
    dcl_release(p->array[a]);
    make_array(p, a);
}

static void step_file(struct program *p)
{
    int a = pick(p, ARRAYS), b = pick(p, ARRAYS);
    note(p, "save %d, load it into %d\n", a, b, 0);
    dcl_status status = dcl_save_npy_order(p->array[a], p->path, pick(p, 2) == 0);
    cr_assert_eq(status != DCL_OK, p->model[a].failed, "seed %" PRIu64 ": %s\n%s", p->seed, dcl_error(), p->text);
    if (status != DCL_OK)
        return;
    status = dcl_load_npy(p->array[b], p->path);
    cr_assert_eq(status, DCL_OK, "seed %" PRIu64 ": %s\n%s", p->seed, dcl_error(), p->text);
    p->model[b] = p->model[a];
}

/* ---- programs ----------------------------------------------------------------------------------------------------- */

static void open_cluster(struct program *p)
{
    static const char *const moves[] = {"auto", "send"};
    int nodes = 1 + pick(p, TEST_MOST_NODES);
    dcl_config config = test_config(nodes);
    config.transfer = moves[pick(p, 2)];
    config.window = (size_t[]){1, 2, 3, 7, 1024}[pick(p, 5)];
    config.chunk_bytes = (size_t[]){64, 100, 256, 4 << 20}[pick(p, 4)];
    config.tile_bytes = (size_t[]){64, 200, 16 << 20}[pick(p, 3)];
    config.pool_bytes = (size_t[]){4096, 1 << 30}[pick(p, 2)];
    char fault[64];
    if (p->fails_at > 0)
        snprintf(fault, sizeof fault, "alloc node=%d count=%d", pick(p, nodes), p->fails_at);
    test_fault(p->fails_at > 0 ? fault : NULL);
    p->cluster = test_open(&config);
}

static void make_arrays(struct program *p)
{
    static const char *const maps[] = {
        "block",       "block@1x%d",      "rows:cyclic(3x2)", "columns:cyclic(5x4)",      "cyclic(2),*",
        "rows:cyclic", "rows:block(2x3)", "block;tile=5x3",   "rows:cyclic(3x3);tile=2x3"};
    p->text[0] = '\0';
    for (int a = 0; a < ARRAYS; a++) {
        char text[64];
        snprintf(text, sizeof text, maps[pick(p, 9)], dcl_node_count(p->cluster));
        p->map[a] = a % 2 == 1 ? dcl_map_retain(p->map[a - 1]) : dcl_map_parse(p->cluster, text);
        cr_assert_not_null(p->map[a], "seed %" PRIu64 ", %s: %s", p->seed, text, dcl_error());
        make_array(p, a);
    }
}

static void run_program(struct program *p)
{
    static void (*const steps[])(struct program *) = {
        step_forall, step_forall, step_forall, step_forall, step_forall,    step_forall, step_fill,
        step_write,  step_write,  step_read,   step_swap,   step_make_anew, step_file};
    make_arrays(p);
    for (int n = 0; n < STEPS; n++)
        steps[pick(p, (int)(sizeof steps / sizeof steps[0]))](p);
    note(p, "at the end\n", 0, 0, 0);
    for (int a = 0; a < ARRAYS; a++) {
        expect_contents(p, a);
        dcl_release(p->array[a]);
        dcl_release(p->map[a]);
    }
}

/* One cluster, and the programs that run on it. */
static void run_cluster(uint64_t seed, int programs, int fails_at, const char *path)
{
    static struct program program;
    struct program *p = &program;
    *p = (struct program){.seed = seed, .random = seed, .fails_at = fails_at};
    strcpy(p->path, path);
    open_cluster(p);
    for (int n = 0; n < programs; n++)
        run_program(p);
    dcl_status expected = fails_at > 0 && fails_at <= p->made ? DCL_ERR_NOMEM : DCL_OK, status = dcl_close(p->cluster);
    cr_assert_eq(status, expected, "seed %" PRIu64 ": %s\n%s", seed, dcl_error(), p->text);
}

/* TEST_SEED: the first seed; TEST_CLUSTERS: how many. */
static void run_clusters(int clusters, int programs, bool failing)
{
    const char *first = getenv("TEST_SEED"), *count = getenv("TEST_CLUSTERS");
    uint64_t seed = first != NULL ? strtoull(first, NULL, 10) : 1;
    char path[TEST_PATH];
    test_config(TEST_MOST_NODES); /* before a cluster asks for fewer */
    test_make_folder();
    test_path(path, "array.npy");
    for (int n = count != NULL ? atoi(count) : clusters; n > 0; n--, seed++)
        run_cluster(seed, programs, failing ? 1 + (int)(seed % (ARRAYS + 2)) : 0, path);
    test_remove_folder();
}

Test(program_on_device, agrees_with_plain_loops) { run_clusters(4, 8, false); }

Test(program_on_device, loses_only_what_depends_on_a_failure) { run_clusters(6, 1, true); }
