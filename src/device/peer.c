/* device/peer.c - peer memory: storage of a GPU that kernels of other GPUs of the host read over their links.
 *
 * CUDA makes the memory and passes it on as a descriptor; OpenCL imports it, on the GPU that it belongs to and on every GPU
 * that reads it (cl_khr_external_memory_opaque_fd). No property tells whether a driver imports memory of another GPU, so
 * this is tried when a device is opened.
 *
 * NVIDIA's driver 580 crashes when it imports 512 MB or more at once: it makes such memory of pages of that size. So memory
 * that is large consists of pieces, imported one after the other until their addresses on the device follow each other. */
#include "device/opencl.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "device/peer_cuda.h"
#include "device/program.h"

/* Of cl_khr_external_memory; OpenCL 3.0 headers may be missing. */
enum { HANDLE_OPAQUE_FD = 0x2060 };

size_t dcli_most_piece_bytes = (size_t)256 << 20;

/* Pieces are imported without others in between, so that their addresses follow each other. */
static pthread_mutex_t importing = PTHREAD_MUTEX_INITIALIZER;

/* ---- one piece ------------------------------------------------------------------------------------------------ */

/* The descriptor stays the caller's, and may be closed afterwards. */
static dcl_status import(dcli_device *device, int descriptor, size_t bytes, cl_mem *buffer_out)
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

/* Where kernels find a buffer. Waits for the device. */
static dcl_status find_address(dcli_device *device, cl_mem buffer, dcli_memory *answer, uint64_t *address_out)
{
    static const char *const name = "dcl_address";
    dcli_memory asked = {.device = device, .buffer = buffer, .serial = ++device->serial};
    dcli_argument arguments[] = {{.memory = answer, .written = true}, {.memory = &asked}};
    const size_t global = 1;
    dcli_program *program = NULL;
    dcl_status status = dcli_program_build(device, dcli_cl_address, 1, &name, &program, NULL, NULL);
    if (status == DCL_OK)
        status = dcli_device_launch(device, program, 0, 2, arguments, 1, &global, NULL, NULL);
    if (status == DCL_OK)
        status = dcli_memory_get(answer, 0, address_out, sizeof *address_out);
    dcli_program_release(program);
    return status;
}

/* ---- several -------------------------------------------------------------------------------------------------- */

static dcli_pieces *new_pieces(int count, size_t bytes)
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

/* Imports that lie elsewhere than they should: they are kept until the others have been made, so as to fill the gaps. */
struct misplaced {
    cl_mem *buffer;
    int64_t count, capacity;
};

static dcl_status misplace(struct misplaced *misplaced, cl_mem *buffer)
{
    if (dcli_grow(&misplaced->buffer, misplaced->count, &misplaced->capacity, sizeof *misplaced->buffer) != 0)
        return DCL_ERR_NOMEM;
    misplaced->buffer[misplaced->count++] = *buffer;
    *buffer = NULL;
    return DCL_OK;
}

/* Import pieces from the last to the first: a driver that maps them gives each one the addresses below the one before. When
 * one lies elsewhere, begin anew. */
static dcl_status import_in_row(dcli_device *device, const int descriptors[], dcli_pieces *pieces, dcli_memory *answer,
                                struct misplaced *misplaced)
{
    enum { MOST_ATTEMPTS = 8 };
    uint64_t above = 0, address = 0;
    dcl_status status = DCL_OK;
    int attempts = 1;
    for (int n = pieces->count - 1; n >= 0 && status == DCL_OK; n--) {
        status = import(device, descriptors[n], pieces->bytes, &pieces->buffer[n]);
        if (status == DCL_OK)
            status = find_address(device, pieces->buffer[n], answer, &address);
        bool follows = n == pieces->count - 1 || above == address + pieces->bytes;
        above = address;
        if (status != DCL_OK || follows)
            continue;
        if (attempts++ == MOST_ATTEMPTS)
            return DCLI_FAIL(DCL_ERR_UNSUPPORTED, "%d pieces of %zu bytes do not get addresses that follow each other",
                             pieces->count, pieces->bytes);
        for (int m = n; m < pieces->count && status == DCL_OK; m++)
            status = misplace(misplaced, &pieces->buffer[m]);
        n = pieces->count;
    }
    return status;
}

static dcl_status import_pieces(dcli_device *device, const int descriptors[], dcli_pieces *pieces)
{
    struct misplaced misplaced = {.buffer = NULL};
    dcli_memory *answer = NULL;
    if (pieces->count == 1)
        return import(device, descriptors[0], pieces->bytes, &pieces->buffer[0]);
    dcl_status status = dcli_memory_scratch(device, sizeof(uint64_t), &answer);
    if (status != DCL_OK)
        return status;
    pthread_mutex_lock(&importing);
    status = import_in_row(device, descriptors, pieces, answer, &misplaced);
    for (int64_t n = 0; n < misplaced.count; n++)
        clReleaseMemObject(misplaced.buffer[n]);
    pthread_mutex_unlock(&importing);
    dcli_free(misplaced.buffer);
    dcli_memory_release(answer);
    return status;
}

/* ---- memory of other devices ---------------------------------------------------------------------------------- */

/* A slab of another device. It outlasts the arrays in it, so it is imported once. */
struct dcli_slab_import {
    int owner;
    int64_t number;
    dcli_pieces *pieces;
    struct dcli_slab_import *next;
};

static dcl_status import_slab(dcli_device *device, const dcli_memory_place *place, cl_mem *whole_out)
{
    struct dcli_slab_import *slab = device->slab_imports;
    while (slab != NULL && (slab->owner != place->owner || slab->number != place->memfd))
        slab = slab->next;
    dcl_status status = DCL_OK;
    if (slab == NULL) {
        slab = dcli_calloc(1, sizeof *slab);
        dcli_pieces *pieces = new_pieces(1, DCLI_SLAB_BYTES);
        status = slab == NULL || pieces == NULL ? DCL_ERR_NOMEM : import_pieces(device, &place->descriptor, pieces);
        if (status != DCL_OK) {
            dcli_pieces_free(pieces);
            dcli_free(slab);
            return status;
        }
        *slab = (struct dcli_slab_import){place->owner, place->memfd, pieces, device->slab_imports};
        device->slab_imports = slab;
    }
    *whole_out = slab->pieces->buffer[0];
    return DCL_OK;
}

void dcli_slab_imports_free(dcli_device *device)
{
    while (device->slab_imports != NULL) {
        struct dcli_slab_import *slab = device->slab_imports;
        device->slab_imports = slab->next;
        dcli_pieces_free(slab->pieces);
        dcli_free(slab);
    }
}

static dcl_status import_small(dcli_device *device, const dcli_memory_place *place, size_t bytes,
                               dcli_memory **memory_out)
{
    cl_mem whole;
    dcli_memory *memory = dcli_calloc(1, sizeof *memory);
    dcl_status status = memory != NULL ? import_slab(device, place, &whole) : DCL_ERR_NOMEM;
    if (status == DCL_OK)
        status = dcli_buffer_cut(device, whole, place->offset, bytes, &memory->buffer);
    if (status == DCL_OK)
        *memory_out = memory;
    else
        dcli_free(memory);
    return status;
}

static dcl_status import_large(dcli_device *device, const dcli_memory_place *place, size_t bytes,
                               dcli_memory **memory_out)
{
    bool several = place->piece_count > 1;
    size_t end = place->offset + bytes, each = several ? place->piece_bytes : end;
    dcli_memory *memory = dcli_calloc(1, sizeof *memory);
    dcli_pieces *pieces = new_pieces((int)((end + each - 1) / each), each);
    dcl_status status = memory == NULL || pieces == NULL ? DCL_ERR_NOMEM : DCL_OK;
    if (status == DCL_OK)
        status = import_pieces(device, several ? place->descriptors : &place->descriptor, pieces);
    if (status == DCL_OK)
        status = dcli_buffer_cut(device, pieces->buffer[0], place->offset, bytes, &memory->buffer);
    if (status != DCL_OK) {
        dcli_pieces_free(pieces);
        dcli_free(memory);
        return status;
    }
    if (several)
        memory->pieces = pieces;
    else
        dcli_pieces_free(pieces);
    *memory_out = memory;
    return DCL_OK;
}

dcl_status dcli_memory_import(dcli_device *device, const dcli_memory_place *place, size_t bytes,
                              dcli_memory **memory_out)
{
    dcli_memory *memory = NULL;
    dcl_status status = (bytes < DCLI_HUGE_BYTES ? import_small : import_large)(device, place, bytes, &memory);
    if (status != DCL_OK)
        return status;
    memory->device = device;
    memory->serial = ++device->serial;
    memory->bytes = bytes;
    memory->imported = true;
    memory->mapping = (dcli_mapping){.number = place->memfd, .offset = place->offset};
    *memory_out = memory;
    return DCL_OK;
}

bool dcli_memory_is_import(const dcli_memory *memory, const dcli_memory_place *place)
{
    return memory->imported && memory->mapping.number == place->memfd && memory->mapping.offset == place->offset;
}

/* ---- making --------------------------------------------------------------------------------------------------- */

static dcl_status make(dcli_device *device, int gpu, int count, size_t bytes, dcli_pieces **pieces_out)
{
    dcli_pieces *pieces = new_pieces(count, bytes);
    dcl_status status = pieces != NULL ? DCL_OK : DCL_ERR_NOMEM;
    for (int n = 0; n < count && status == DCL_OK; n++)
        status = dcli_cuda_make(gpu, bytes, &pieces->descriptor[n]);
    if (status == DCL_OK)
        status = import_pieces(device, pieces->descriptor, pieces);
    if (status == DCL_OK)
        *pieces_out = pieces;
    else
        dcli_pieces_free(pieces);
    return status;
}

/* Of how many bytes pieces are: few large ones, but not so that much of the last one is left over. Halves of the largest
 * size: the driver leaves gaps between others. */
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
    if (status != DCL_OK && device->pool_count > 0) {
        dcli_pool_empty(device);
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

/* The driver keeps the memory until no command uses it. */
void dcli_peers_unmap(const dcli_mapping *mapping) { dcli_pieces_free(mapping->pieces); }

/* ---- opening -------------------------------------------------------------------------------------------------- */

/* Memory of a GPU is imported twice: what is written through one import must be read through the other. */
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
    status = import(device, made->descriptor[0], DCLI_HUGE_BYTES, &again);
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

/* How many GPUs libcuda knows; the device must be one of them. */
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
    dcli_pool_empty(device); /* host memory, of the probe */
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
