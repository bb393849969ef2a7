/* device/probe.c - finds out whether a device works in host memory, and whether kernels see it at the host's addresses.
 *
 * No property tells this: with CL_MEM_USE_HOST_PTR a driver may use a copy. So a kernel changes host memory; the host
 * reads it and changes it without mapping it; twice. Devices with memory of their own are not probed: they would access
 * host memory over the bus. */
#include "device/program.h"

#include <pthread.h>

#include "base/log.h"

enum { PROBE_COUNT = 4096, MOST_KNOWN = 64 };

/* Results of probes. A probe costs a compilation, and its result does not change while the program runs. */
static struct {
    pthread_mutex_t lock; /* guards the fields below */
    int count;
    struct {
        cl_device_id id;
        dcli_sight sight;
    } device[MOST_KNOWN];
} known = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool recall(cl_device_id id, dcli_sight *sight_out)
{
    bool found = false;
    pthread_mutex_lock(&known.lock);
    for (int n = 0; n < known.count; n++)
        if (known.device[n].id == id) {
            found = true;
            *sight_out = known.device[n].sight;
        }
    pthread_mutex_unlock(&known.lock);
    return found;
}

static void remember(cl_device_id id, dcli_sight sight)
{
    pthread_mutex_lock(&known.lock);
    if (known.count < MOST_KNOWN) {
        known.device[known.count].id = id;
        known.device[known.count++].sight = sight;
    }
    pthread_mutex_unlock(&known.lock);
}

void dcli_probe_forget(void)
{
    pthread_mutex_lock(&known.lock);
    known.count = 0;
    pthread_mutex_unlock(&known.lock);
}

/* One round: the host writes, the kernel changes, the host reads. */
static dcl_status try_once(dcli_device *device, dcli_program *program, dcli_memory *memory, dcli_memory *address,
                           int first, dcli_sight *sight_out)
{
    const uint64_t *seen = dcli_memory_host(address);
    int *at = dcli_memory_host(memory);
    for (int n = 0; n < PROBE_COUNT; n++)
        at[n] = first + n;
    dcli_argument arguments[] = {{.memory = memory, .written = true}, {.memory = address, .written = true}};
    size_t global = PROBE_COUNT;
    dcl_status status = dcli_device_launch(device, program, 0, 2, arguments, 1, &global, NULL, NULL);
    if (status == DCL_OK)
        status = dcli_memory_settle(memory, true);
    int right = 0;
    for (int n = 0; n < PROBE_COUNT; n++)
        right += at[n] == 3 * (first + n) + 1;
    sight_out->in_place = right == PROBE_COUNT;
    sight_out->same_addresses = sight_out->in_place && *seen == (uintptr_t)at;
    return status;
}

static dcl_status probe(dcli_device *device, dcli_sight *sight_out)
{
    static const char *const name = "dcl_probe";
    dcli_program *program = NULL;
    dcli_memory *memory = NULL, *address = NULL;
    dcl_status status = dcli_memory_create(device, PROBE_COUNT * sizeof(int), &memory);
    if (status == DCL_OK)
        status = dcli_memory_create(device, sizeof(uint64_t), &address);
    if (status == DCL_OK)
        status = dcli_program_build(device, dcli_cl_probe, 1, &name, &program, NULL, NULL);
    if (status == DCL_OK)
        status = try_once(device, program, memory, address, 5, sight_out);
    if (status == DCL_OK && sight_out->in_place)
        status = try_once(device, program, memory, address, 1000003, sight_out);
    dcli_program_release(program);
    dcli_memory_release(address);
    dcli_memory_release(memory);
    return status;
}

dcl_status dcli_probe_sight(dcli_device *device, dcli_sight *sight_out)
{
    dcli_sight sight = {.in_place = false};
    cl_bool unified = CL_FALSE;
    cl_int code = clGetDeviceInfo(device->id, CL_DEVICE_HOST_UNIFIED_MEMORY, sizeof unified, &unified, NULL);
    if (code != CL_SUCCESS)
        return dcli_cl_fail(device, "clGetDeviceInfo", code);
    if (unified != CL_TRUE || recall(device->id, &sight)) {
        *sight_out = sight;
        return DCL_OK;
    }
    device->sight.in_place = true; /* needed to make the memory of the probe */
    dcl_status status = probe(device, &sight);
    device->sight.in_place = false;
    if (status != DCL_OK) /* a failed probe says nothing about the device's memory, but the program's kernels would
                             fail, too */
        return status;
    *sight_out = sight;
    remember(device->id, sight);
    DCLI_LOG(device->log, DCLI_LOG_INFO, "device %d: \"%s\" %s host memory in place", device->info.number,
             device->info.name, sight.in_place ? "uses" : "does not use");
    return DCL_OK;
}
