/* remote/open.c - opening and closing the device of a server. */
#include <stdio.h>

#include "base/alloc.h"
#include "base/error.h"
#include "device/device.h"
#include "remote/inside.h"

static dcl_status failed(const char *call, cl_int code)
{
    return DCLI_FAIL(DCL_ERR_DEVICE, "%s fails with OpenCL error %d; expected a device that works; see `dcl devices`",
                     call, (int)code);
}

static dcl_status open_device(dcli_remote *remote, int number)
{
    void *platform, *id;
    dcl_status status = dcli_device_identify(number, &remote->info, &platform, &id);
    if (status != DCL_OK)
        return status;
    remote->platform = platform;
    remote->device = id;
    cl_int code;
    const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM, (cl_context_properties)(intptr_t)platform, 0};
    remote->context = clCreateContext(properties, 1, &remote->device, NULL, NULL, &code);
    if (remote->context == NULL)
        return failed("clCreateContext", code);
    cl_bool unified = CL_FALSE;
    cl_device_type type = 0;
    clGetDeviceInfo(remote->device, CL_DEVICE_HOST_UNIFIED_MEMORY, sizeof unified, &unified, NULL);
    clGetDeviceInfo(remote->device, CL_DEVICE_TYPE, sizeof type, &type, NULL);
    remote->polls = (type & CL_DEVICE_TYPE_CPU) == 0;
    remote->in_place = unified || (type & CL_DEVICE_TYPE_CPU) != 0;
    return DCL_OK;
}

dcl_status dcli_remote_open(int number, const dcli_log *log, dcli_watch *watch, dcli_remote **remote_out)
{
    dcli_remote *remote = dcli_calloc(1, sizeof *remote);
    if (remote == NULL)
        return DCL_ERR_NOMEM;
    remote->log = log;
    remote->watch = watch;
    dcl_status status = open_device(remote, number);
    if (status != DCL_OK) {
        dcli_remote_close(remote);
        return status;
    }
    *remote_out = remote;
    return DCL_OK;
}

const dcl_device_info *dcli_remote_about(const dcli_remote *remote) { return &remote->info; }

bool dcli_remote_in_place(const dcli_remote *remote) { return remote->in_place; }

void dcli_remote_close(dcli_remote *remote)
{
    if (remote == NULL)
        return;
    if (remote->context != NULL)
        clReleaseContext(remote->context);
    dcli_free(remote->ended);
    dcli_free(remote);
}
