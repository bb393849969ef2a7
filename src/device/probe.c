/* device/probe.c - whether a device uses host memory in place.
 *
 * No property tells: CL_MEM_USE_HOST_PTR allows a driver to keep a copy. So a kernel changes host memory that the host then
 * reads and changes without mapping it, twice. Devices with memory of their own are not asked: there, host memory would
 * be used through the bus. */
#include "device/opencl.h"

#include <pthread.h>

#include "base/log.h"

enum { PROBE_COUNT = 4096, MOST_KNOWN = 64 };

static const char probe_source[] = "__kernel void dcl_probe(__global int *p)\n"
                                   "{\n"
                                   "    size_t n = get_global_id(0);\n"
                                   "    p[n] = 3 * p[n] + 1;\n"
                                   "}\n";

/* A probe costs a compilation, and the answer does not change while the program runs. */
static struct {
    pthread_mutex_t lock;
    int count;
    struct {
        cl_device_id id;
        bool in_place;
    } device[MOST_KNOWN];
} known = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool recall(cl_device_id id, bool *in_place_out)
{
    bool found = false;
    pthread_mutex_lock(&known.lock);
    for (int n = 0; n < known.count; n++)
        if (known.device[n].id == id) {
            found = true;
            *in_place_out = known.device[n].in_place;
        }
    pthread_mutex_unlock(&known.lock);
    return found;
}

static void remember(cl_device_id id, bool in_place)
{
    pthread_mutex_lock(&known.lock);
    if (known.count < MOST_KNOWN) {
        known.device[known.count].id = id;
        known.device[known.count++].in_place = in_place;
    }
    pthread_mutex_unlock(&known.lock);
}

void dcli_probe_forget(void)
{
    pthread_mutex_lock(&known.lock);
    known.count = 0;
    pthread_mutex_unlock(&known.lock);
}

/* The host writes, the kernel changes, the host reads. */
static dcl_status try_once(dcli_device *device, dcli_program *program, dcli_memory *memory, int first,
                           bool *in_place_out)
{
    int *at = dcli_memory_host(memory);
    for (int n = 0; n < PROBE_COUNT; n++)
        at[n] = first + n;
    dcli_argument argument = {.memory = memory, .written = true};
    size_t global = PROBE_COUNT;
    dcl_status status = dcli_device_launch(device, program, 0, 1, &argument, 1, &global, NULL, NULL);
    if (status == DCL_OK)
        status = dcli_memory_settle(memory, true);
    int right = 0;
    for (int n = 0; n < PROBE_COUNT; n++)
        right += at[n] == 3 * (first + n) + 1;
    *in_place_out = right == PROBE_COUNT;
    return status;
}

static dcl_status probe(dcli_device *device, bool *in_place_out)
{
    static const char *const name = "dcl_probe";
    dcli_program *program = NULL;
    dcli_memory *memory = NULL;
    dcl_status status = dcli_memory_create(device, PROBE_COUNT * sizeof(int), &memory);
    if (status == DCL_OK)
        status = dcli_program_build(device, probe_source, 1, &name, &program, NULL, NULL);
    if (status == DCL_OK)
        status = try_once(device, program, memory, 5, in_place_out);
    if (status == DCL_OK && *in_place_out)
        status = try_once(device, program, memory, 1000003, in_place_out);
    dcli_program_release(program);
    dcli_memory_release(memory);
    return status;
}

dcl_status dcli_probe_in_place(dcli_device *device, bool *in_place_out)
{
    bool in_place = false;
    cl_bool unified = CL_FALSE;
    cl_int code = clGetDeviceInfo(device->id, CL_DEVICE_HOST_UNIFIED_MEMORY, sizeof unified, &unified, NULL);
    if (code != CL_SUCCESS)
        return dcli_cl_fail(device, "clGetDeviceInfo", code);
    if (unified != CL_TRUE || recall(device->id, &in_place)) {
        *in_place_out = in_place;
        return DCL_OK;
    }
    device->in_place = true; /* for the memory of the probe */
    dcl_status status = probe(device, &in_place);
    device->in_place = false;
    if (status != DCL_OK) /* says nothing about its memory, but it would fail the program's kernels, too */
        return status;
    *in_place_out = in_place;
    remember(device->id, in_place);
    DCLI_LOG(device->log, DCLI_LOG_INFO, "device %d: \"%s\" %s host memory in place", device->info.number,
             device->info.name, in_place ? "uses" : "does not use");
    return DCL_OK;
}
