/* device/peer_pieces.c - imports the pieces of peer memory at consecutive addresses, so that kernels see them as one
 * memory; and frees them when the device does not use them any more. */
#include "device/opencl.h"

#include <pthread.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "device/program.h"

/* Constant of cl_khr_external_memory; OpenCL 3.0 headers may be missing. */
enum { HANDLE_OPAQUE_FD = 0x2060 };

/* Held while pieces are imported: another import in between would take an address that is needed. */
static pthread_mutex_t importing = PTHREAD_MUTEX_INITIALIZER;

/* ---- importing ------------------------------------------------------------------------------------------------ */

/* The descriptor stays the caller's, and may be closed afterwards. */
dcl_status dcli_piece_import(dcli_device *device, int descriptor, size_t bytes, cl_mem *buffer_out)
{
    const uint64_t properties[] = {HANDLE_OPAQUE_FD, (uint64_t)descriptor, 0};
    cl_int code;
    cl_mem buffer = device->peers.import(device->context, properties, CL_MEM_READ_WRITE, bytes, NULL, &code);
    if (buffer == NULL)
        return dcli_cl_fail(device, "clCreateBufferWithProperties", code);
    code = device->peers.acquire(device->queue[DCLI_COMPUTE].handle, 1, &buffer, 0, NULL, NULL);
    if (code != CL_SUCCESS) {
        clReleaseMemObject(buffer);
        return dcli_cl_fail(device, "clEnqueueAcquireExternalMemObjectsKHR", code);
    }
    *buffer_out = buffer;
    return DCL_OK;
}

/* ---- addresses ------------------------------------------------------------------------------------------------ */

/* Enqueue a kernel for each buffer that writes the buffer's device address. */
static cl_int ask(cl_command_queue queue, cl_kernel kernel, cl_mem answer, int count, const cl_mem buffers[])
{
    const size_t one = 1;
    cl_int code = clSetKernelArg(kernel, 0, sizeof answer, &answer);
    for (cl_int n = 0; n < count && code == CL_SUCCESS; n++) {
        code = clSetKernelArg(kernel, 1, sizeof n, &n);
        if (code == CL_SUCCESS)
            code = clSetKernelArg(kernel, 2, sizeof buffers[n], &buffers[n]);
        if (code == CL_SUCCESS)
            code = clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, NULL, 0, NULL, NULL);
    }
    return code;
}

/* Get the device addresses of buffers. Uses a queue of its own, so that it waits only for its own small kernels, not
 * for those that the device runs. */
static dcl_status find_addresses(dcli_device *device, int count, const cl_mem buffers[], uint64_t addresses_out[])
{
    static const char *const name = "dcl_address";
    size_t bytes = (size_t)count * sizeof addresses_out[0];
    dcli_program *program = NULL;
    cl_int code = CL_SUCCESS;
    dcl_status status = dcli_program_build(device, dcli_cl_address, 1, &name, &program, NULL, NULL);
    if (status != DCL_OK)
        return status;
    cl_mem answer = NULL;
    cl_command_queue queue = clCreateCommandQueue(device->context, device->id, 0, &code);
    if (queue != NULL)
        answer = clCreateBuffer(device->context, CL_MEM_READ_WRITE, bytes, NULL, &code);
    if (answer != NULL)
        code = ask(queue, program->kernels[0].kernel, answer, count, buffers);
    if (code == CL_SUCCESS)
        code = clEnqueueReadBuffer(queue, answer, CL_TRUE, 0, bytes, addresses_out, 0, NULL, NULL);
    if (code != CL_SUCCESS)
        status = dcli_cl_fail(device, "a kernel that tells addresses", code);
    if (answer != NULL)
        clReleaseMemObject(answer);
    if (queue != NULL)
        clReleaseCommandQueue(queue);
    dcli_program_release(program);
    return status;
}

/* ---- several pieces ------------------------------------------------------------------------------------------- */

dcli_pieces *dcli_pieces_new(int count, size_t bytes)
{
    dcli_pieces *pieces = dcli_calloc(1, sizeof *pieces);
    if (pieces == NULL)
        return NULL;
    *pieces = (dcli_pieces){.count = count, .bytes = bytes};
    pieces->buffer = dcli_calloc((size_t)count, sizeof *pieces->buffer);
    pieces->descriptor = dcli_malloc((size_t)count * sizeof *pieces->descriptor);
    for (int n = 0; n < count && pieces->descriptor != NULL; n++)
        pieces->descriptor[n] = -1;
    if (pieces->buffer != NULL && pieces->descriptor != NULL)
        return pieces;
    dcli_pieces_free(pieces);
    return NULL;
}

void dcli_pieces_free(dcli_pieces *pieces)
{
    if (pieces == NULL)
        return;
    for (int n = 0; n < pieces->count; n++) {
        if (pieces->buffer != NULL && pieces->buffer[n] != NULL)
            clReleaseMemObject(pieces->buffer[n]);
        if (pieces->descriptor != NULL && pieces->descriptor[n] >= 0)
            close(pieces->descriptor[n]);
    }
    dcli_free(pieces->buffer);
    dcli_free(pieces->descriptor);
    dcli_free(pieces);
}

/* Imports with unsuitable addresses. They are freed only after the others have been imported, so that these do not get
 * the same addresses. */
struct misplaced {
    cl_mem *buffer;
    int64_t count, capacity;
};

static dcl_status misplace(struct misplaced *misplaced, dcli_pieces *pieces)
{
    for (int n = 0; n < pieces->count; n++) {
        if (dcli_grow(&misplaced->buffer, misplaced->count, &misplaced->capacity, sizeof *misplaced->buffer) != 0)
            return DCL_ERR_NOMEM;
        misplaced->buffer[misplaced->count++] = pieces->buffer[n];
        pieces->buffer[n] = NULL;
    }
    return DCL_OK;
}

/* Import pieces from the last to the first: a driver that maps them gives each one the addresses below the one before. */
static dcl_status import_each(dcli_device *device, const int descriptors[], dcli_pieces *pieces)
{
    dcl_status status = DCL_OK;
    pthread_mutex_lock(&importing);
    for (int n = pieces->count - 1; n >= 0 && status == DCL_OK; n--)
        status = dcli_piece_import(device, descriptors[n], pieces->bytes, &pieces->buffer[n]);
    pthread_mutex_unlock(&importing);
    return status;
}

static bool follow_each_other(const uint64_t addresses[], const dcli_pieces *pieces)
{
    int n = 1;
    while (n < pieces->count && addresses[n] == addresses[n - 1] + pieces->bytes)
        n++;
    return n == pieces->count;
}

/* Import all pieces, again and again, until their addresses are consecutive; at most MOST_ATTEMPTS times. @param
 * addresses  [count] scratch. */
static dcl_status import_in_row(dcli_device *device, const int descriptors[], dcli_pieces *pieces, uint64_t addresses[],
                                struct misplaced *misplaced)
{
    enum { MOST_ATTEMPTS = 8 };
    for (int attempt = 1;; attempt++) {
        dcl_status status = import_each(device, descriptors, pieces);
        if (status == DCL_OK)
            status = find_addresses(device, pieces->count, pieces->buffer, addresses);
        if (status != DCL_OK || follow_each_other(addresses, pieces))
            return status;
        if (attempt == MOST_ATTEMPTS)
            return DCLI_FAIL(DCL_ERR_UNSUPPORTED, "%d pieces of %zu bytes do not get addresses that follow each other",
                             pieces->count, pieces->bytes);
        status = misplace(misplaced, pieces);
        if (status != DCL_OK)
            return status;
    }
}

dcl_status dcli_pieces_import(dcli_device *device, const int descriptors[], dcli_pieces *pieces)
{
    struct misplaced misplaced = {.buffer = NULL};
    if (pieces->count == 1)
        return import_each(device, descriptors, pieces);
    uint64_t *addresses = dcli_malloc((size_t)pieces->count * sizeof *addresses);
    if (addresses == NULL)
        return DCL_ERR_NOMEM;
    dcl_status status = import_in_row(device, descriptors, pieces, addresses, &misplaced);
    for (int64_t n = 0; n < misplaced.count; n++)
        clReleaseMemObject(misplaced.buffer[n]);
    dcli_free(misplaced.buffer);
    dcli_free(addresses);
    return status;
}

/* ---- pieces that are no longer used --------------------------------------------------------------------------- */

/* Free pieces later if commands still use them: a driver retains the buffers that a command names, but not the pieces
 * after the first. */
void dcli_pieces_leave(dcli_device *device, dcli_pieces *pieces)
{
    for (int n = 0; n < DCLI_QUEUES; n++)
        pieces->until[n] = device->queue[n].last;
    pieces->next = device->leaving;
    device->leaving = pieces;
    device->leaving_bytes += pieces->descriptor[0] >= 0 ? (size_t)pieces->count * pieces->bytes : 0;
    dcli_pieces_collect(device, false);
}

void dcli_pieces_collect(dcli_device *device, bool wait)
{
    dcl_status unused;
    for (dcli_pieces **at = &device->leaving; *at != NULL;) {
        dcli_pieces *pieces = *at;
        if (wait)
            dcli_tickets_finish(device, pieces->until);
        if (device->lost || !dcli_tickets_are_complete(device, pieces->until, &unused)) {
            at = &pieces->next;
            continue;
        }
        *at = pieces->next;
        device->leaving_bytes -= pieces->descriptor[0] >= 0 ? (size_t)pieces->count * pieces->bytes : 0;
        dcli_pieces_free(pieces);
    }
}
