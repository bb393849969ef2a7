/* device/multiply.c - products of matrices that a library computes, as commands of a device's queue.
 *
 * A CPU device runs a function of the host in its queue (clEnqueueNativeKernel()), so that the thread that serves the node does
 * not wait, and products are in order with kernels. The function gets addresses of host memory, in which the device works. */
#include "device/opencl.h"

#include "device/blas.h"

struct task {
    dcli_matrix_product product;
    void *matrix[DCLI_PRODUCT_MATRICES];
};

static void CL_CALLBACK run(void *argument)
{
    const struct task *task = argument;
    dcli_blas_multiply(&task->product, task->matrix);
}

static bool runs_functions(const dcli_device *device)
{
    cl_device_exec_capabilities can = 0;
    return clGetDeviceInfo(device->id, CL_DEVICE_EXECUTION_CAPABILITIES, sizeof can, &can, NULL) == CL_SUCCESS &&
           (can & CL_EXEC_NATIVE_KERNEL) != 0;
}

bool dcli_device_multiplies(dcli_device *device)
{
    if (!device->asked_multiplies) {
        device->asked_multiplies = true;
        device->multiplies =
            !device->is_gpu && device->sight.in_place && runs_functions(device) && dcli_blas_load(device->log);
    }
    return device->multiplies;
}

void dcli_device_multiply_threads(int count) { dcli_blas_threads(count); }

dcl_status dcli_device_multiply(dcli_device *device, const dcli_matrix_product *product, dcli_memory *const matrix[])
{
    struct task task = {.product = *product};
    dcli_after after = {0};
    for (int n = 0; n < DCLI_PRODUCT_MATRICES; n++) {
        task.matrix[n] = dcli_memory_host(matrix[n]);
        dcli_after_add(&after, matrix[n], n == DCLI_PRODUCT_RESULT);
    }
    dcl_status status = dcli_after_find(device, DCLI_COMPUTE, &after);
    if (status != DCL_OK)
        return status;
    cl_event event = NULL;
    cl_int code = clEnqueueNativeKernel(device->queue[DCLI_COMPUTE].handle, run, &task, sizeof task, 0, NULL, NULL,
                                        after.count, dcli_after_list(&after), &event);
    if (code != CL_SUCCESS)
        return dcli_cl_fail(device, "clEnqueueNativeKernel", code);
    uint64_t ticket = dcli_ticket_add(device, DCLI_COMPUTE, "clEnqueueNativeKernel", event);
    for (int n = 0; n < DCLI_PRODUCT_MATRICES; n++)
        dcli_memory_touch(matrix[n], DCLI_COMPUTE, ticket, n == DCLI_PRODUCT_RESULT);
    return DCL_OK;
}
