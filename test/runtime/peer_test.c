/* test/runtime/peer_test.c - nodes whose kernels read parts of others in the memory of these others' GPUs. The drivers are those
 * of support/fake_opencl and support/fake_cuda: values are compared, not speeds. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/opencl.h"
#include "support/fake_cuda/fake_cuda.h"
#include "support/fake_opencl/fake_opencl.h"
#include "support/nodes.h"

TestSuite(peer_on_device, .timeout = TEST_SECONDS);

enum { N = 1100, M = 1000, NODES = 2 };

static const char gpus[] = "apart; gpu; peers";

typedef struct scene {
    fake_opencl opencl;
    fake_cuda cuda;
    dcl_cluster *cluster;
    dcl_array *A, *B, *C;
    int32_t a[N * M], found[N * M];
} scene;

static scene stage; /* its arrays are large for a thread's memory */

static void make_arrays(scene *s)
{
    s->A = test_array(s->cluster, "block,*", dcl_grid_2d(DCL_INT32, N, M));
    s->B = test_array(s->cluster, "block,*", dcl_grid_2d(DCL_INT32, M, N));
    s->C = test_array(s->cluster, "*,block", dcl_grid_2d(DCL_INT32, N, M));
}

static atomic_int mixed_launches;

/* Count the launches that read own parts and peers' in turn, as the log has them. */
static void count_mixed(void *user, int level, const char *line)
{
    (void)user;
    (void)level;
    mixed_launches += strstr(line, "dcl_mixed:") != NULL;
}

/* @param tile_bytes  0: the usual. @param log_fn  NULL: nothing is logged */
static scene *open_with(const char *cuda, const char *transfer, size_t tile_bytes, dcl_log_fn *log_fn)
{
    scene *s = &stage;
    fake_opencl_select();
    cr_assert(fake_opencl_find(&s->opencl), "%s", TEST_FAKE_OPENCL);
    cr_assert(fake_cuda_load(&s->cuda), "%s", TEST_FAKE_CUDA);
    s->opencl.plan(gpus);
    s->cuda.plan(cuda);
    dcl_config config = test_config(NODES);
    config.transfer = transfer;
    if (tile_bytes > 0)
        config.tile_bytes = tile_bytes;
    if (log_fn != NULL) {
        config.log = "debug";
        config.log_fn = log_fn;
    }
    s->cluster = test_open(&config);
    make_arrays(s);
    return s;
}

static scene *open_scene(const char *cuda, const char *transfer) { return open_with(cuda, transfer, 0, NULL); }

static void close_scene(scene *s)
{
    char left[200];
    dcl_release(s->A);
    dcl_release(s->B);
    dcl_release(s->C);
    dcl_close(s->cluster);
    s->opencl.plan(NULL);
    cr_expect_str_eq(s->opencl.left(left, sizeof left), "", "not released: %s", left);
    cr_expect_eq(s->cuda.left(), 0, "%d memories of CUDA are not released", s->cuda.left());
}

/* B = A^T, and C of A, its neighbours and B^T: each node reads what the other one owns. */
static dcl_status run(scene *s)
{
    dcl_status status = dcl_forall(s->cluster, "B(i,j) = A(j,i);", DCL_OUT_AS("B", s->B), DCL_IN_AS("A", s->A));
    if (status != DCL_OK)
        return status;
    return dcl_forall(s->cluster, "C(i,j) = A(i,j) + 2 * B(j,i) + (i > 0 ? A(i-1,j) : 0);", DCL_OUT_AS("C", s->C),
                      DCL_IN_AS("A", s->A), DCL_IN_AS("B", s->B));
}

static void play(scene *s, int round)
{
    for (int n = 0; n < N * M; n++)
        s->a[n] = 3 * n + round;
    TEST_OK(dcl_write(s->A, NULL, s->a, NULL));
    TEST_OK(run(s));
    TEST_OK(dcl_read(s->C, NULL, s->found, NULL));
    int wrong = 0;
    for (int n = 0; n < N * M; n++)
        wrong += s->found[n] != 3 * s->a[n] + (n >= M ? s->a[n - M] : 0);
    cr_expect_eq(wrong, 0, "round %d: %d are wrong", round, wrong);
}

static void play_in_place(scene *s)
{
    for (int round = 0; round < 3; round++)
        play(s, round);
    dcl_counters found = test_counters(s->cluster, DCL_ALL_NODES);
    cr_expect_gt(found.bytes_moved, 0);
    cr_expect_eq(found.messages_planned, 0, "%lld messages", (long long)found.messages_planned);
    close_scene(s);
}

Test(peer_on_device, parts_are_read_where_they_lie) { play_in_place(open_scene(NULL, "place")); }

/* Strips of the own part and of the peer's are run in turn: of B = A^T, and of a copy of rows to columns. */
Test(peer_on_device, own_and_peers_parts_are_read_in_turn)
{
    enum { TILE_BYTES = 64 << 10 };
    setenv("POCL_MAX_PTHREAD_COUNT", "2", 1); /* strips are as thick as the device has compute units */
    play_in_place(open_with(NULL, "place", 0, count_mixed));
    int few = atomic_exchange(&mixed_launches, 0);
    cr_expect_geq(few, 2 * NODES, "%d launches", few);
    play_in_place(open_with(NULL, "place", TILE_BYTES, count_mixed));
    cr_expect_gt(mixed_launches, 0, "batches are joined");
}

/* A border is read between two batches of own elements, which the peer overwrites in the next step. */
Test(peer_on_device, borders_are_read_between_own_elements)
{
    enum { TILE_BYTES = 64 << 10, STEPS = 12 };
    static int32_t old[N * M];
    scene *s = open_with(NULL, "place", TILE_BYTES, NULL);
    dcl_array *other = test_array(s->cluster, "block,*", dcl_grid_2d(DCL_INT32, N, M));
    for (int n = 0; n < N * M; n++)
        s->a[n] = n % 1013;
    TEST_OK(dcl_write(s->A, NULL, s->a, NULL));
    for (int step = 0; step < STEPS; step++) {
        dcl_array *from = step % 2 == 0 ? s->A : other, *to = step % 2 == 0 ? other : s->A;
        TEST_OK(dcl_forall(s->cluster, "C(i,j) = (i > 0 ? A(i-1,j) : 7) + (i < 1099 ? A(i+1,j) : 9) - A(i,j) / 2;",
                           DCL_OUT_AS("C", to), DCL_IN_AS("A", from)));
        memcpy(old, s->a, sizeof old);
        for (int i = 0; i < N; i++)
            for (int j = 0; j < M; j++)
                s->a[i * M + j] =
                    (i > 0 ? old[(i - 1) * M + j] : 7) + (i < N - 1 ? old[(i + 1) * M + j] : 9) - old[i * M + j] / 2;
    }
    TEST_OK(dcl_read(s->A, NULL, s->found, NULL));
    int wrong = 0;
    for (int n = 0; n < N * M; n++)
        wrong += s->found[n] != s->a[n];
    cr_expect_eq(wrong, 0, "%d are wrong", wrong);
    dcl_release(other);
    close_scene(s);
}

Test(peer_on_device, large_parts_lie_in_several_pieces)
{
    dcli_most_piece_bytes = DCLI_HUGE_BYTES; /* less than a part */
    play_in_place(open_scene(NULL, "place"));
}

/* Arrays that are made, used and released in turn lie in the same memory, which is imported once. */
Test(peer_on_device, arrays_made_again_lie_in_the_same_memory)
{
    int made = 0, imported = 0;
    scene *s = open_scene(NULL, "place");
    for (int round = 0; round < 5; round++) {
        play(s, round);
        int made_now = s->cuda.calls("cuMemCreate"), imported_now = s->opencl.calls("clCreateBufferWithProperties");
        if (round == 1)
            made = made_now, imported = imported_now;
        if (round > 1)
            cr_expect(made == made_now && imported == imported_now, "round %d: %d made, then %d; %d imported, then %d",
                      round, made, made_now, imported, imported_now);
        dcl_release(s->A);
        dcl_release(s->C);
        TEST_OK(dcl_wait(s->cluster));
        s->A = test_array(s->cluster, "block,*", dcl_grid_2d(DCL_INT32, N, M));
        s->C = test_array(s->cluster, "*,block", dcl_grid_2d(DCL_INT32, N, M));
    }
    close_scene(s);
}

/* Sets of arrays come, and every second one goes: kernels are never given what was released. */
Test(peer_on_device, sets_of_arrays_come_and_go)
{
    enum { SETS = 6 };
    dcl_array *left[SETS][3];
    int left_count = 0;
    dcli_most_piece_bytes = DCLI_HUGE_BYTES;
    scene *s = open_scene(NULL, "place");
    for (int set = 0; set < SETS; set++) {
        play(s, set);
        dcl_array *arrays[] = {s->A, s->B, s->C};
        for (int n = 0; n < 3; n++) {
            if (set % 2 == 1)
                dcl_release(arrays[n]);
            else
                left[left_count][n] = arrays[n];
        }
        left_count += set % 2 == 0;
        make_arrays(s);
    }
    for (int n = 0; n < 3 * left_count; n++)
        dcl_release(left[n / 3][n % 3]);
    close_scene(s);
}

/* What is not written by kernels is told to peers, too, when the device has written it, and not before. */
Test(peer_on_device, peers_wait_for_what_a_device_fills)
{
    const int32_t seven = 7;
    scene *s = open_scene(NULL, "place");
    play(s, 0);
    for (int round = 0; round < 3; round++) {
        const int32_t value = seven + round;
        s->opencl.plan("apart; gpu; peers; late clEnqueueFillBuffer 1+ 60");
        TEST_OK(dcl_fill(s->A, &value));
        TEST_OK(dcl_forall(s->cluster, "C(i,j) = A(i,j);", DCL_OUT_AS("C", s->C), DCL_IN_AS("A", s->A)));
        TEST_OK(dcl_read(s->C, NULL, s->found, NULL));
        int wrong = 0;
        for (int n = 0; n < N * M; n++)
            wrong += s->found[n] != value;
        cr_expect_eq(wrong, 0, "round %d: %d are wrong, the first is %d", round, wrong, s->found[0]);
    }
    s->opencl.plan(gpus);
    close_scene(s);
}

static void play_with_messages(scene *s)
{
    play(s, 0);
    dcl_counters found = test_counters(s->cluster, DCL_ALL_NODES);
    cr_expect_gt(found.messages_planned, 0);
    close_scene(s);
}

Test(peer_on_device, what_cuda_refuses_cannot_be_demanded)
{
    scene *s = open_scene("fail cuMemExportToShareableHandle 1+ 999", "auto");
    dcl_config config = test_config(NODES);
    config.transfer = "place";
    cr_expect_null(dcl_open(&config));
    cr_expect(strstr(dcl_error(), "cannot get elements of node") != NULL, "%s", dcl_error());
    play_with_messages(s);
}

Test(peer_on_device, elements_are_sent_where_that_is_demanded)
{
    scene *s = open_scene(NULL, "send");
    cr_expect_eq(s->cuda.calls("cuInit"), 0, "libcuda is not touched");
    play_with_messages(s);
}

/* ---- worker processes ----------------------------------------------------------------------------------------------- */

/* Two worker processes. @param cuda  the plan of their libcuda. */
static scene *open_processes(const char *cuda, const char *transfer)
{
    char folder[sizeof TEST_FAKE_CUDA] = TEST_FAKE_CUDA;
    scene *s = &stage;
    *strrchr(folder, '/') = '\0';
    fake_opencl_select();
    setenv("POCL_DEVICES", "pthread pthread", 1);
    setenv("TEST_OPENCL", gpus, 1);
    setenv("TEST_CUDA", cuda, 1);
    setenv("LD_LIBRARY_PATH", folder, 1);
    dcl_config config = test_config(NODES);
    config.workers = "local:2";
    config.program = TEST_DCL;
    config.transfer = transfer;
    s->cluster = test_open(&config);
    make_arrays(s);
    return s;
}

struct process_case {
    char cuda[60], transfer[8];
    bool in_place;
};

ParameterizedTestParameters(peer_on_device, processes_choose_it)
{
    static struct process_case cases[] = {
        {"", "auto", true},
        {"", "place", true},
        {"", "slots", false},
        {"", "send", false},
        {"fail cuMemExportToShareableHandle 1+ 999", "auto", false},
        {"gpus 1", "auto", false},
        {"strangers", "auto", false},
    };
    return cr_make_param_array(struct process_case, cases, sizeof cases / sizeof cases[0]);
}

ParameterizedTest(struct process_case *k, peer_on_device, processes_choose_it)
{
    scene *s = open_processes(k->cuda, k->transfer);
    for (int round = 0; round < 2; round++)
        play(s, round);
    dcl_counters found = test_counters(s->cluster, DCL_ALL_NODES);
    cr_expect_gt(found.bytes_moved, 0);
    cr_expect_eq(found.messages_planned == 0, k->in_place, "\"%s\", %s: %lld messages", k->cuda, k->transfer,
                 (long long)found.messages_planned);
    dcl_release(s->A);
    dcl_release(s->B);
    dcl_release(s->C);
    TEST_OK(dcl_close(s->cluster));
}

/* One array that could not be made readable fails where it is read; all else goes on. */
Test(peer_on_device, an_array_that_others_cannot_read)
{
    scene *s = open_scene(NULL, "place");
    dcl_array *before = s->A; /* its memory would be used again */
    s->cuda.plan("fail cuMemCreate 1+ 2");
    s->A = test_array(s->cluster, "block,*", dcl_grid_2d(DCL_INT32, N, M));
    for (int n = 0; n < N * M; n++)
        s->a[n] = n;
    TEST_OK(dcl_write(s->A, NULL, s->a, NULL));
    TEST_OK(dcl_read(s->A, NULL, s->found, NULL));
    cr_expect_eq(memcmp(s->a, s->found, sizeof s->a), 0, "its own node uses it");
    run(s);
    dcl_status status = dcl_wait(s->cluster);
    cr_expect_eq(status, DCL_ERR_NOMEM, "%d: %s", status, dcl_error());
    cr_expect(strstr(dcl_error(), "that can be read here") != NULL, "%s", dcl_error());
    dcl_release(before);
    close_scene(s);
}
