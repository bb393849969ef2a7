/* device/peer.c - peer memory: memory of a GPU that kernels of the host's other GPUs read over the links between them.
 *
 * CUDA allocates the memory and exports it as a descriptor. OpenCL imports the descriptor, both on the GPU that owns
 * the memory and on every GPU that reads it (cl_khr_external_memory_opaque_fd). No property tells whether a driver can
 * import memory of another GPU, so this is tried when a device is opened.
 *
 * NVIDIA's driver 580 crashes when it imports 512 MB or more at once, because such memory consists of pages of 512 MB.
 * Therefore large memory consists of several allocations (pieces). They are imported one after the other until their
 * addresses on the device are consecutive. */
#include "device/opencl.h"

#include <dlfcn.h>

#include "base/error.h"
#include "device/peer_cuda.h"

size_t dcli_most_piece_bytes = (size_t)256 << 20;

/* ---- making --------------------------------------------------------------------------------------------------- */

static dcl_status make(dcli_device *device, int gpu, int count, size_t bytes, dcli_pieces **pieces_out)
{
    dcli_pieces *pieces = dcli_pieces_new(count, bytes);
    dcl_status status = pieces != NULL ? DCL_OK : DCL_ERR_NOMEM;
    for (int n = 0; n < count && status == DCL_OK; n++)
        status = dcli_cuda_make(gpu, bytes, &pieces->descriptor[n]);
    if (status == DCL_OK)
        status = dcli_pieces_import(device, pieces->descriptor, pieces);
    if (status == DCL_OK)
        *pieces_out = pieces;
    else
        dcli_pieces_free(pieces);
    return status;
}

/* Choose the size of pieces: few large ones, without wasting much of the last one. The largest size is divided only by
 * powers of two, because the driver leaves gaps between pieces of other sizes. */
static size_t choose_piece(size_t bytes)
{
    enum { SHARE_LEFT = 16, LEAST_SHARE = 8 };
    if (bytes <= dcli_most_piece_bytes)
        return bytes;
    size_t piece = dcli_most_piece_bytes, least = dcli_most_piece_bytes / LEAST_SHARE;
    while ((piece - bytes % piece) % piece > bytes / SHARE_LEFT && piece / 2 >= least && piece / 2 >= DCLI_HUGE_BYTES)
        piece /= 2;
    return piece;
}

dcl_status dcli_peers_map(dcli_device *device, size_t bytes, dcli_mapping *mapping_out)
{
    size_t piece = choose_piece(bytes);
    int count = (int)((bytes + piece - 1) / piece);
    dcli_mapping mapping = {.bytes = (size_t)count * piece};
    dcl_status status = make(device, device->peers.gpu, count, piece, &mapping.pieces);
    if (status != DCL_OK && (dcli_device_spare_bytes(device) > 0 || device->leaving != NULL)) {
        dcli_device_drop_spare(device);
        status = make(device, device->peers.gpu, count, piece, &mapping.pieces);
    }
    if (status != DCL_OK)
        return status;
    mapping.descriptor = mapping.pieces->descriptor[0];
    mapping.number = device->memfds_made + 1;
    device->memfds_made += count;
    *mapping_out = mapping;
    return DCL_OK;
}

void dcli_peers_unmap(dcli_device *device, const dcli_mapping *mapping) { dcli_pieces_leave(device, mapping->pieces); }

/* ---- opening -------------------------------------------------------------------------------------------------- */

/* Test whether memory of another GPU can be used: import it twice, write through one import, and read through the
 * other. */
static dcl_status try_gpu(dcli_device *device, int gpu)
{
    enum { PATTERN = 0x5DC1, COUNT = 16 };
    cl_command_queue queue = device->queue[DCLI_COMPUTE].handle;
    const uint32_t pattern = PATTERN + (uint32_t)gpu;
    uint32_t found[COUNT] = {0};
    dcli_pieces *made;
    cl_mem again = NULL;
    cl_int code = CL_SUCCESS;
    dcl_status status = make(device, gpu, 1, DCLI_HUGE_BYTES, &made);
    if (status != DCL_OK)
        return status;
    status = dcli_piece_import(device, made->descriptor[0], DCLI_HUGE_BYTES, &again);
    if (status == DCL_OK)
        code = clEnqueueFillBuffer(queue, made->buffer[0], &pattern, sizeof pattern, 0, DCLI_HUGE_BYTES, 0, NULL, NULL);
    if (status == DCL_OK && code == CL_SUCCESS)
        code = clEnqueueReadBuffer(queue, again, CL_TRUE, DCLI_HUGE_BYTES - sizeof found, sizeof found, found, 0, NULL,
                                   NULL);
    if (code != CL_SUCCESS)
        status = dcli_cl_fail(device, "clEnqueueReadBuffer", code);
    for (int n = 0; n < COUNT && status == DCL_OK; n++)
        if (found[n] != pattern)
            status = DCLI_FAIL(DCL_ERR_UNSUPPORTED, "memory of GPU %d is not shared when it is imported", gpu);
    if (again != NULL)
        clReleaseMemObject(again);
    dcli_pieces_free(made);
    return status;
}

static dcl_status find_functions(dcli_device *device, const dcli_found *found)
{
    dcli_peers *peers = &device->peers;
    *(void **)&peers->import = dlsym(RTLD_DEFAULT, "clCreateBufferWithProperties");
    *(void **)&peers->acquire =
        clGetExtensionFunctionAddressForPlatform(found->platform, "clEnqueueAcquireExternalMemObjectsKHR");
    if (peers->import != NULL && peers->acquire != NULL)
        return DCL_OK;
    return DCLI_FAIL(DCL_ERR_UNSUPPORTED, "there is no function %s",
                     peers->import == NULL ? "clCreateBufferWithProperties" : "clEnqueueAcquireExternalMemObjectsKHR");
}

/* Set gpus_out to the number of GPUs that libcuda knows and device->peers.gpu to this device's number among them, and
 * look up the functions that import memory. @return DCL_ERR_UNSUPPORTED: this device is not one of these GPUs, or a
 * function is missing. */
static dcl_status find_gpus(dcli_device *device, const dcli_found *found, int *gpus_out)
{
    dcl_status status = dcli_cuda_count(gpus_out);
    if (status != DCL_OK)
        return status;
    device->peers.gpu = dcli_cuda_find(found->uuid);
    return device->peers.gpu >= 0 ? find_functions(device, found)
                                  : DCLI_FAIL(DCL_ERR_UNSUPPORTED, "libcuda does not know this device");
}

void dcli_peers_open(dcli_device *device, const dcli_found *found)
{
    int gpus = 0;
    if (device->sight.in_place || !found->has_uuid || !found->has_import)
        return;
    dcl_status status = find_gpus(device, found, &gpus);
    if (status == DCL_OK && gpus < 2)
        return;
    for (int gpu = 0; gpu < gpus && status == DCL_OK; gpu++)
        status = try_gpu(device, gpu);
    dcli_pool_empty(device); /* drop the host memory that the probe has used */
    device->peers.on = status == DCL_OK;
    if (device->peers.on)
        DCLI_LOG(device->log, DCLI_LOG_INFO, "device %d: other GPUs can read its memory, and it theirs",
                 device->info.number);
    else
        DCLI_LOG(device->log, DCLI_LOG_INFO, "device %d: other GPUs cannot read its memory, elements are sent: %s",
                 device->info.number, dcli_error_sentence());
    dcli_error_clear();
}

bool dcli_device_reads_peers(const dcli_device *device) { return device->peers.on; }

void dcli_device_forgo_peers(dcli_device *device) { device->peers.on = false; }
