/* test/device/scenes.c - the stories of scenes.h. Each looks at its results, too: a call that failed and was passed over
 * must not show in them. */
#include "device/scenes.h"

#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/error.h"
#include "device/opencl.h"

enum { COUNT = 256, BYTES = COUNT * sizeof(int) };

static dcl_status wrong(void)
{
    dcli_error_clear();
    return DCL_ERR_INTERNAL;
}

static dcl_status check(bool right) { return right ? DCL_OK : wrong(); }

static bool all_are(const int values[], int count, int value)
{
    int right = 0;
    for (int n = 0; n < count; n++)
        right += values[n] == value;
    return right == count;
}

/* What every driver must tell; extensions may be missing when asking for them failed. */
static bool same_device(const dcli_found *a, const dcli_found *b)
{
    return a->type == b->type && a->info.compute_units == b->info.compute_units &&
           a->info.memory_bytes == b->info.memory_bytes && a->info.is_default == b->info.is_default &&
           strcmp(a->info.name, b->info.name) == 0 && strcmp(a->info.platform, b->info.platform) == 0 &&
           strcmp(a->info.version, b->info.version) == 0 && strcmp(a->driver, b->driver) == 0 &&
           strcmp(a->platform_version, b->platform_version) == 0 && a->same_name_before == b->same_name_before;
}

static dcl_status enumerate(test_stage *stage)
{
    static dcli_found first[DCLI_MOST_DEVICES], found[DCLI_MOST_DEVICES];
    static int first_count;
    (void)stage;
    int count = 0;
    dcl_status status = dcli_find_devices(found, &count);
    if (status != DCL_OK)
        return status;
    if (first_count == 0) {
        memcpy(first, found, sizeof first);
        first_count = count;
    }
    bool right = count == first_count;
    for (int n = 0; n < count && right; n++)
        right = same_device(&first[n], &found[n]);
    return check(right);
}

static dcl_status open_and_close(test_stage *stage)
{
    (void)stage;
    dcli_device *device = NULL;
    dcl_status status = dcli_device_open_as(0, NULL, DCLI_OPEN_SHARED, &device);
    dcli_device_close(device);
    return status;
}

static dcl_status open_separate(test_stage *stage)
{
    (void)stage;
    dcli_device *device = NULL;
    dcl_status status = dcli_device_open_as(0, NULL, DCLI_OPEN_SEPARATE, &device);
    dcli_device_close(device);
    return status;
}

static dcl_status probe(test_stage *stage)
{
    static int first = -1; /* the answer of the first time */
    dcli_sight sight = {.in_place = false};
    dcli_probe_forget();
    dcl_status status = dcli_probe_sight(stage->device, &sight);
    if (status != DCL_OK)
        return status;
    first = first < 0 ? sight.in_place : first;
    return check(sight.in_place == (first == 1));
}

/* Put and get back; what was not put is zero. */
static dcl_status use_memory(dcli_memory *memory)
{
    int values[COUNT];
    memset(values, 0x11, sizeof values);
    dcl_status status = dcli_memory_put(memory, 4, values, BYTES - 4);
    if (status == DCL_OK)
        status = dcli_memory_get(memory, 0, values, BYTES);
    return status != DCL_OK ? status : check(values[0] == 0 && all_are(values + 1, COUNT - 1, 0x11111111));
}

static dcl_status make_memory(test_stage *stage)
{
    dcli_memory *memory = NULL, *nothing = NULL, *scratch = NULL, *wrapped = NULL;
    int values[COUNT] = {0};
    dcl_status status = dcli_memory_create(stage->device, BYTES, &memory);
    if (status == DCL_OK)
        status = dcli_memory_create(stage->device, 0, &nothing);
    if (status == DCL_OK)
        status = dcli_memory_scratch(stage->device, BYTES, &scratch);
    if (status == DCL_OK && dcli_device_in_place(stage->device))
        status = dcli_memory_wrap(stage->device, values, BYTES, &wrapped);
    if (status == DCL_OK)
        status = use_memory(memory);
    dcli_memory_release(memory);
    dcli_memory_release(nothing);
    dcli_memory_release(scratch);
    dcli_memory_release(wrapped);
    return status;
}

/* To the scratch memory of a slot and back. */
static dcl_status use_slot(dcli_device *device, size_t bytes)
{
    dcli_slot *slot = NULL;
    dcl_status status = dcli_slot_take(device, bytes, &slot);
    if (status != DCL_OK)
        return status;
    char *host = dcli_slot_host(slot);
    memset(host, 7, bytes);
    status = dcli_slot_send(slot, dcli_slot_memory(slot), 0, bytes);
    if (status == DCL_OK)
        status = dcli_slot_finish(slot);
    memset(host, 0, bytes);
    if (status == DCL_OK)
        status = dcli_slot_fetch(slot, dcli_slot_memory(slot), 0, bytes);
    if (status == DCL_OK)
        status = dcli_slot_finish(slot);
    if (status == DCL_OK)
        status = check(host[0] == 7 && host[bytes - 1] == 7);
    dcli_slot_give(slot);
    return status;
}

/* Rows of 256 bytes, from a slot into the left half of lines of 512 bytes, and from the right half back. */
static dcl_status use_rows(dcli_device *device)
{
    enum { ROWS = 8, LINE = 512, ROW = LINE / 2 };
    const dcli_crossing_rows left = {ROWS, ROW, 0, LINE, 0, ROW}, right = {ROWS, ROW, ROW, LINE, ROWS * ROW, ROW};
    dcli_slot *slot = NULL;
    dcl_status status = dcli_slot_take(device, 2 * ROWS * ROW, &slot);
    if (status != DCL_OK)
        return status;
    char *host = dcli_slot_host(slot);
    memset(host, 7, 2 * ROWS * ROW);
    status = dcli_slot_send_rows(slot, host, dcli_slot_memory(slot), &left);
    if (status == DCL_OK)
        status = dcli_slot_fetch_rows(slot, dcli_slot_memory(slot), &right);
    if (status == DCL_OK)
        status = dcli_slot_finish(slot);
    if (status == DCL_OK)
        status = check(host[0] == 7 && host[ROWS * ROW - 1] == 7);
    dcli_slot_give(slot);
    return status;
}

/* In the ring, and larger than that. */
static dcl_status use_slots(test_stage *stage)
{
    dcl_status status = use_slot(stage->device, 1 << 12);
    if (status == DCL_OK)
        status = use_slot(stage->device, 33 << 20);
    if (status == DCL_OK)
        status = use_rows(stage->device);
    return status;
}

/* Not in the device's cache the next time. */
static dcl_status build(test_stage *stage)
{
    static const char source[] = TEST_ADD_SOURCE "__kernel void other(void) {}\n";
    static const char *const names[] = {"add", "other"};
    dcli_program *program = NULL;
    dcl_status status = dcli_program_build(stage->device, source, 2, names, &program, NULL, NULL);
    dcli_program_release(program);
    dcli_programs_free(stage->device);
    stage->device->program_bytes = 0;
    return status;
}

static dcl_status build_wrong(test_stage *stage)
{
    static const char *const name = "broken";
    dcli_program *program = NULL;
    char *log = NULL;
    dcl_status status = dcli_program_build(stage->device, "__kernel void broken(__global int *p) { p[0] = nowhere; }\n",
                                           1, &name, &program, NULL, &log);
    dcli_free(log);
    return status == DCL_ERR_BODY && strstr(dcl_error(), "refuses the program") != NULL ? DCL_OK : status;
}

static dcl_status add(test_stage *stage, dcli_memory *memory, int n)
{
    const size_t global = COUNT, local = 64;
    dcli_argument arguments[] = {{.memory = memory, .written = true}, {.value = &n, .bytes = sizeof n}};
    return dcli_device_launch(stage->device, stage->program, 0, 2, arguments, 1, &global, &local, NULL);
}

static dcl_status launch(test_stage *stage)
{
    dcli_memory *memory = NULL;
    int values[COUNT];
    dcl_status status = dcli_memory_create(stage->device, BYTES, &memory);
    for (int n = 1; status == DCL_OK && n <= 3; n++)
        status = add(stage, memory, n);
    if (status == DCL_OK)
        status = dcli_memory_get(memory, 0, values, BYTES);
    if (status == DCL_OK)
        status = check(all_are(values, COUNT, 6));
    dcli_memory_release(memory);
    return status;
}

/* Groups that every device takes, for any kernel and for this one. */
static dcl_status ask_for_groups(test_stage *stage)
{
    const int64_t group[3] = {1, 1, 1};
    dcl_status status = dcli_device_check_group(stage->device, NULL, group);
    return status == DCL_OK ? dcli_device_check_group(stage->device, stage->program, group) : status;
}

static dcl_status flush(test_stage *stage)
{
    dcli_memory *memory = NULL;
    dcl_status status = dcli_memory_create(stage->device, BYTES, &memory);
    if (status == DCL_OK)
        status = add(stage, memory, 1);
    if (status == DCL_OK)
        status = dcli_device_flush(stage->device);
    if (status == DCL_OK)
        status = dcli_memory_settle(memory, true);
    dcli_memory_release(memory);
    return status;
}

/* Runs, then strided. */
static dcl_status copy(test_stage *stage)
{
    const int64_t one = 1, two = 2, count = COUNT, half = COUNT / 2;
    int element = 5, values[COUNT];
    dcli_device *device = stage->device;
    dcli_memory *from = NULL, *to = NULL;
    dcl_status status = dcli_memory_create(device, BYTES, &from);
    if (status == DCL_OK)
        status = dcli_memory_create(device, BYTES, &to);
    if (status == DCL_OK)
        status = dcli_device_fill(device, from, 0, &one, &element, 1, &count, sizeof element);
    element = 6;
    if (status == DCL_OK)
        status = dcli_device_fill(device, from, 1, &two, &element, 1, &half, sizeof element);
    if (status == DCL_OK)
        status = dcli_device_copy(device, to, 0, &one, from, 0, &one, 1, &count, sizeof element);
    if (status == DCL_OK)
        status = dcli_device_copy(device, to, 0, &two, from, 1, &two, 1, &half, sizeof element);
    if (status == DCL_OK)
        status = dcli_memory_get(to, 0, values, BYTES);
    if (status == DCL_OK)
        status = check(all_are(values, COUNT, 6));
    dcli_memory_release(from);
    dcli_memory_release(to);
    return status;
}

static void count_up(void *user) { atomic_fetch_add((atomic_int *)user, 1); }

/* A notification comes once; none comes when asking for it failed. */
static dcl_status notify(test_stage *stage)
{
    atomic_int calls = 0;
    dcli_memory *memory = NULL;
    dcl_status status = dcli_memory_create(stage->device, BYTES, &memory);
    if (status == DCL_OK)
        status = add(stage, memory, 1);
    bool asked = status == DCL_OK && (status = dcli_device_notify(stage->device, dcli_device_launched(stage->device),
                                                                  count_up, &calls)) == DCL_OK;
    if (asked)
        status = dcli_memory_settle(memory, true);
    dcli_memory_release(memory);
    for (int n = 0; n < 5000 && atomic_load(&stage->device->notices) > 0; n++)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    return atomic_load(&calls) == (asked ? 1 : 0) ? status : wrong();
}

/* A time that the driver does not tell is passed over. */
static dcl_status measure(test_stage *stage)
{
    dcli_memory *memory = NULL;
    dcl_status status = dcli_memory_create(stage->device, BYTES, &memory);
    dcli_device_measure(stage->device, 0);
    if (status == DCL_OK)
        status = add(stage, memory, 1);
    dcli_device_measure(stage->device, -1);
    if (status == DCL_OK)
        status = dcli_device_finish(stage->device, dcli_device_launched(stage->device));
    if (status == DCL_OK)
        status = check(dcli_device_measured_ns(stage->device, 0) >= 0);
    dcli_memory_release(memory);
    return status;
}

/* Asks without waiting until the launch is complete, or the time is over. */
static dcl_status retire(test_stage *stage)
{
    dcli_memory *memory = NULL;
    dcl_status status = dcli_memory_create(stage->device, BYTES, &memory);
    if (status == DCL_OK)
        status = add(stage, memory, 1);
    uint64_t launched = dcli_device_launched(stage->device);
    for (int n = 0; n < 5000 && dcli_device_retired(stage->device) < launched; n++)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    if (status == DCL_OK && dcli_device_retired(stage->device) != launched)
        status = wrong();
    if (status == DCL_OK)
        status = dcli_device_finish(stage->device, launched);
    dcli_memory_release(memory);
    return status;
}

/* A launch that may still be running, and everything that a device holds. */
static dcl_status before_closing(test_stage *stage)
{
    static const char *const name = "other";
    dcli_program *program = NULL;
    const size_t global = COUNT;
    dcl_status status =
        dcli_program_build(stage->device, "__kernel void other(void) {}\n", 1, &name, &program, NULL, NULL);
    if (status == DCL_OK)
        status = use_slot(stage->device, BYTES);
    if (status == DCL_OK)
        status = dcli_device_launch(stage->device, program, 0, 0, NULL, 1, &global, NULL, NULL);
    dcli_program_release(program);
    return status;
}

static dcl_status close_it(test_stage *stage)
{
    dcli_program_release(stage->program);
    dcli_device_close(stage->device);
    *stage = (test_stage){.device = NULL};
    return DCL_OK;
}

#define SEPARATE DCLI_OPEN_SEPARATE
#define AS_GPU DCLI_OPEN_AS_GPU

const test_scene test_scenes[] = {
    /* name               flags              builds play         prepare */
    {"enumerate", -1, false, enumerate, NULL},
    {"open", -1, false, open_and_close, NULL},
    {"probe", SEPARATE, false, probe, NULL},
    {"memory in place", 0, false, make_memory, NULL},
    {"memory shared", DCLI_OPEN_SHARED, false, make_memory, NULL},
    {"memory separate", SEPARATE, false, make_memory, NULL},
    {"slots", SEPARATE, false, use_slots, NULL},
    {"open separate", -1, false, open_separate, NULL},
    {"build", 0, false, build, NULL},
    {"build wrong", 0, false, build_wrong, NULL},
    {"launch", 0, true, launch, NULL},
    {"launch as GPU", SEPARATE | AS_GPU, true, launch, NULL},
    {"groups", 0, true, ask_for_groups, NULL},
    {"flush", 0, true, flush, NULL},
    {"copy", SEPARATE, false, copy, NULL},
    {"notify", 0, true, notify, NULL},
    {"notify as GPU", SEPARATE | AS_GPU, true, notify, NULL},
    {"measure", 0, true, measure, NULL},
    {"retire", AS_GPU, true, retire, NULL},
    {"close", SEPARATE | AS_GPU, true, close_it, before_closing},
};
const int test_scene_count = sizeof test_scenes / sizeof test_scenes[0];
