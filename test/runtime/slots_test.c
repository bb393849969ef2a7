/* test/runtime/slots_test.c - elements between the program's memory and devices with memory of their own: helpers copy them into
 * slots and out of them, whatever maps, boxes, strides and types, and however commands of the device end. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/helpers.h"
#include "support/fake_opencl/fake_opencl.h"
#include "support/nodes.h"

TestSuite(slots_on_device, .timeout = TEST_SECONDS);

enum { ROWS = 700, COLUMNS = 1201, NODES = 2, HELPERS = 3 };

typedef struct scene {
    fake_opencl fake;
    dcl_cluster *cluster;
} scene;

/* Devices with memory of their own, and threads that help. */
static void open_scene(scene *s, size_t chunk_bytes)
{
    fake_opencl_select();
    cr_assert(fake_opencl_find(&s->fake), "%s", TEST_FAKE_OPENCL);
    s->fake.plan("apart");
    dcli_helpers_choose(HELPERS);
    dcl_config config = test_config(NODES);
    config.chunk_bytes = chunk_bytes;
    s->cluster = test_open(&config);
}

static void close_scene(scene *s)
{
    char left[200];
    s->fake.plan(NULL);
    TEST_OK(dcl_close(s->cluster));
    cr_expect_str_eq(s->fake.left(left, sizeof left), "", "not released: %s", left);
}

/* ---- maps, boxes, strides, types --------------------------------------------------------------------------------- */

struct transfer_case {
    char what[40], map[40];
    dcl_type type;
    int64_t start[2], count[2], stride[2]; /* of the box */
    bool turned;                           /* the program's memory has the other axis fastest */
    bool viewed;                           /* through a transposed view */
    size_t chunk_bytes;
};

ParameterizedTestParameters(slots_on_device, are_read_as_written)
{
    enum { M = 1 << 20 };
    static struct transfer_case cases[] = {
        /* what                map                 type         start     count            stride */
        {"whole", "block", DCL_FLOAT, {0, 0}, {ROWS, COLUMNS}, {1, 1}, false, false, 4 * M},
        {"whole, small chunks", "block", DCL_FLOAT, {0, 0}, {ROWS, COLUMNS}, {1, 1}, false, false, M / 2},
        {"columns", "*,block", DCL_DOUBLE, {0, 0}, {ROWS, COLUMNS}, {1, 1}, false, false, 4 * M},
        {"dealt", "rows:cyclic(64x64)", DCL_INT32, {0, 0}, {ROWS, COLUMNS}, {1, 1}, false, false, M},
        {"single elements", "cyclic(1),cyclic(1)", DCL_INT16, {0, 0}, {ROWS, COLUMNS}, {1, 1}, false, false, M},
        {"a part", "block", DCL_INT64, {3, 5}, {ROWS - 10, COLUMNS - 7}, {1, 1}, false, false, M},
        {"every other", "*,block", DCL_FLOAT, {1, 2}, {ROWS / 2, COLUMNS / 3}, {2, 3}, false, false, M},
        {"turned", "block", DCL_FLOAT, {0, 0}, {ROWS, COLUMNS}, {1, 1}, true, false, M},
        {"bytes", "block,block", DCL_INT8, {0, 0}, {ROWS, COLUMNS}, {1, 1}, false, false, M},
        {"viewed", "block", DCL_INT32, {0, 0}, {COLUMNS, ROWS}, {1, 1}, false, true, M},
        {"one element", "block", DCL_DOUBLE, {ROWS - 1, COLUMNS - 1}, {1, 1}, {1, 1}, false, false, M},
    };
    return cr_make_param_array(struct transfer_case, cases, sizeof cases / sizeof cases[0]);
}

/* Element t of the program's memory, as bytes that differ. */
static void set_element(char *at, size_t bytes, int64_t number)
{
    for (size_t b = 0; b < bytes; b++)
        at[b] = (char)(number * 31 + (number >> 8) * 7 + (int64_t)b * 3 + 1);
}

ParameterizedTest(struct transfer_case *c, slots_on_device, are_read_as_written)
{
    scene s;
    open_scene(&s, c->chunk_bytes);
    dcl_array *base = test_array(s.cluster, c->map, dcl_grid_2d(c->type, ROWS, COLUMNS));
    dcl_array *array = c->viewed ? dcl_transpose(base) : base;
    cr_assert_not_null(array, "%s", dcl_error());
    size_t bytes = dcl_type_bytes(c->type);
    int64_t elements = c->count[0] * c->count[1];
    char *source = malloc((size_t)elements * bytes), *found = malloc((size_t)elements * bytes);
    cr_assert(source != NULL && found != NULL);
    dcl_box box = dcl_box_nd(2, c->start, c->count);
    box.stride[0] = c->stride[0];
    box.stride[1] = c->stride[1];
    int64_t turned[] = {1, c->count[0]}, *strides = c->turned ? turned : NULL;
    for (int round = 0; round < 2; round++) {
        for (int64_t n = 0; n < elements; n++)
            set_element(source + (size_t)n * bytes, bytes, n + round);
        memset(found, 0x55, (size_t)elements * bytes);
        TEST_OK(dcl_write(array, &box, source, strides));
        TEST_OK(dcl_read(array, &box, found, strides));
        cr_expect(memcmp(source, found, (size_t)elements * bytes) == 0, "%s, round %d", c->what, round);
    }
    free(source);
    free(found);
    if (c->viewed)
        dcl_release(array);
    dcl_release(base);
    close_scene(&s);
}

/* ---- files -------------------------------------------------------------------------------------------------------- */

struct file_case {
    char map[40];
    dcl_type type;
    bool fortran_order;
};

ParameterizedTestParameters(slots_on_device, are_loaded_as_saved)
{
    static struct file_case cases[] = {
        {"block", DCL_FLOAT, false},
        {"*,block", DCL_FLOAT, false},
        {"*,block", DCL_INT8, true},
        {"block", DCL_INT16, true},
        {"rows:cyclic(100x100)", DCL_INT32, false},
        {"cyclic(1),*", DCL_DOUBLE, false},
        {"block,block", DCL_INT64, false},
    };
    return cr_make_param_array(struct file_case, cases, sizeof cases / sizeof cases[0]);
}

/* Files longer than all stretches that are read at a time. */
ParameterizedTest(struct file_case *c, slots_on_device, are_loaded_as_saved)
{
    enum { HIGH = 2100, WIDE = 1500 };
    scene s;
    char path[] = "/tmp/dcl-slots-XXXXXX";
    int fd = mkstemp(path);
    cr_assert(fd >= 0);
    close(fd);
    open_scene(&s, 1 << 20);
    size_t total = (size_t)HIGH * WIDE * dcl_type_bytes(c->type);
    char *written = malloc(total), *loaded = calloc(total, 1);
    cr_assert(written != NULL && loaded != NULL);
    for (size_t n = 0; n < total; n++)
        written[n] = (char)(n * 7 + (n >> 9));
    dcl_array *A = test_array(s.cluster, c->map, dcl_grid_2d(c->type, HIGH, WIDE));
    dcl_array *B = test_array(s.cluster, c->map, dcl_grid_2d(c->type, HIGH, WIDE));
    TEST_OK(dcl_write(A, NULL, written, NULL));
    TEST_OK(dcl_save_npy_order(A, path, c->fortran_order));
    TEST_OK(dcl_load_npy(B, path));
    TEST_OK(dcl_read(B, NULL, loaded, NULL));
    cr_expect(memcmp(written, loaded, total) == 0, "%s", c->map);
    unlink(path);
    free(written);
    free(loaded);
    dcl_release(A);
    dcl_release(B);
    close_scene(&s);
}

/* ---- ends --------------------------------------------------------------------------------------------------------- */

enum { N = 1500000, BYTES_OF_CHUNK = 512 << 10 };

static int32_t source[N], found[N];

static void count_up(int from)
{
    for (int i = 0; i < N; i++)
        source[i] = i * 3 + from;
}

struct end_case {
    char what[40], plan[120];
    bool fails;
};

ParameterizedTestParameters(slots_on_device, end_late_or_with_an_error)
{
    static struct end_case cases[] = {
        {"what enters ends late", "apart; late clEnqueueWriteBuffer 1+ 5", false},
        {"what leaves ends late", "apart; late clEnqueueReadBuffer 1+ 5", false},
        {"every other of what enters", "apart; late clEnqueueWriteBuffer 1 30; late clEnqueueWriteBuffer 3 30", false},
        {"what enters fails when it runs", "apart; event clEnqueueWriteBuffer 3 -5", true},
        {"what enters is refused", "apart; fail clEnqueueWriteBuffer 4 -5", true},
        {"what leaves fails when it runs", "apart; event clEnqueueReadBuffer 3 -5", true},
        {"what leaves is refused", "apart; fail clEnqueueReadBuffer 2 -5", true},
    };
    return cr_make_param_array(struct end_case, cases, sizeof cases / sizeof cases[0]);
}

/* After a failure, of which somebody is told, everything goes on as before: no slot is lost. */
ParameterizedTest(struct end_case *c, slots_on_device, end_late_or_with_an_error)
{
    enum { ROUNDS = 12 }; /* write more than the slots of a device hold */
    scene s;
    open_scene(&s, BYTES_OF_CHUNK);
    dcl_array *A = test_array(s.cluster, "cyclic(65536)", dcl_grid_1d(DCL_INT32, N));
    count_up(0);
    TEST_OK(dcl_write(A, NULL, source, NULL));
    TEST_OK(dcl_wait(s.cluster));
    s.fake.plan(c->plan);
    dcl_status written = dcl_write(A, NULL, source, NULL), read = dcl_read(A, NULL, found, NULL);
    if (c->fails)
        cr_expect(written != DCL_OK || read != DCL_OK, "%s: nobody was told", c->what);
    else
        cr_expect(written == DCL_OK && read == DCL_OK && memcmp(source, found, sizeof found) == 0, "%s", c->what);
    s.fake.plan("apart");
    dcl_wait(s.cluster);
    for (int round = 0; round < ROUNDS && !c->fails; round++) {
        count_up(round);
        TEST_OK(dcl_write(A, NULL, source, NULL));
        TEST_OK(dcl_read(A, NULL, found, NULL));
        cr_expect(memcmp(source, found, sizeof found) == 0, "%s, then round %d", c->what, round);
    }
    dcl_release(A);
    if (!c->fails)
        close_scene(&s);
    else
        dcl_close(s.cluster); /* gives the failure once more */
}

/* Several threads of a program write and read side by side. */
struct user {
    dcl_cluster *cluster;
    int number, wrong;
};

static void *use(void *argument)
{
    enum { ELEMENTS = 400000, ROUNDS = 8 };
    struct user *user = argument;
    int32_t *ours = malloc(2 * ELEMENTS * sizeof *ours);
    dcl_array *A = test_array(user->cluster, "block", dcl_grid_1d(DCL_INT32, ELEMENTS));
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < ELEMENTS; i++)
            ours[i] = i * 5 + user->number * 1000 + round;
        user->wrong += dcl_write(A, NULL, ours, NULL) != DCL_OK;
        user->wrong += dcl_read(A, NULL, ours + ELEMENTS, NULL) != DCL_OK;
        user->wrong += memcmp(ours, ours + ELEMENTS, ELEMENTS * sizeof *ours) != 0;
    }
    dcl_release(A);
    free(ours);
    return NULL;
}

Test(slots_on_device, are_used_by_several_threads)
{
    enum { USERS = 3 };
    scene s;
    struct user users[USERS];
    pthread_t thread[USERS];
    open_scene(&s, BYTES_OF_CHUNK);
    for (int n = 0; n < USERS; n++) {
        users[n] = (struct user){.cluster = s.cluster, .number = n};
        cr_assert_eq(pthread_create(&thread[n], NULL, use, &users[n]), 0);
    }
    for (int n = 0; n < USERS; n++) {
        pthread_join(thread[n], NULL);
        cr_expect_eq(users[n].wrong, 0, "thread %d", n);
    }
    close_scene(&s);
}

/* The cluster is closed while another thread reads from it, slowly: that call ends, and nobody touches its memory afterwards. */
static void *read_until_closed(void *argument)
{
    while (dcl_read(argument, NULL, found, NULL) == DCL_OK)
        continue;
    return NULL;
}

Test(slots_on_device, are_given_back_when_the_cluster_is_closed)
{
    scene s;
    pthread_t thread;
    open_scene(&s, BYTES_OF_CHUNK);
    dcl_array *A = test_array(s.cluster, "block", dcl_grid_1d(DCL_INT32, N));
    count_up(7);
    TEST_OK(dcl_write(A, NULL, source, NULL));
    s.fake.plan("apart; late clEnqueueReadBuffer 1+ 10");
    cr_assert_eq(pthread_create(&thread, NULL, read_until_closed, A), 0);
    for (int tries = 0; tries < 2000 && s.fake.calls("clEnqueueReadBuffer") == 0; tries++)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    dcl_close(s.cluster);
    pthread_join(thread, NULL);
    char left[200];
    cr_expect_str_eq(s.fake.left(left, sizeof left), "", "not released: %s", left);
    dcl_release(A);
}
