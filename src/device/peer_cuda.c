/* device/peer_cuda.c - libcuda, loaded at run time. Its types are declared here, as the toolkit's header may be missing. */
#include "device/peer_cuda.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "device/opencl.h"

enum { MOST_GPUS = 64, REASON_BYTES = 256 };

/* Constants of cuda.h: CUresult, CUdevice_attribute, CUmemAllocationType, CUmemAllocationHandleType,
 * CUmemLocationType. */
enum { CUDA_SUCCESS = 0, CUDA_OUT_OF_MEMORY = 2 };
enum { ATTRIBUTE_VIRTUAL_MEMORY = 102, ATTRIBUTE_HANDLE_IS_DESCRIPTOR = 103 };
enum { TYPE_PINNED = 1, HANDLE_IS_DESCRIPTOR = 1, LOCATION_DEVICE = 1, GRANULARITY_LEAST = 0 };

typedef unsigned long long cuda_memory; /* CUmemGenericAllocationHandle of cuda.h */

/* CUmemAllocationProp of cuda.h */
typedef struct cuda_properties {
    int type, handle_type;
    struct {
        int type, number;
    } location;
    void *unused;
    struct {
        unsigned char compression, direct_rdma;
        unsigned short usage;
        unsigned char reserved[4];
    } flags;
} cuda_properties;

/* The functions of libcuda, as a list: X(name, parameters) for each. All return a CUresult. */
#define FUNCTIONS(X)                                                                           \
    X(cuInit, (unsigned flags))                                                                \
    X(cuDeviceGetCount, (int *count))                                                          \
    X(cuDeviceGet, (int *device, int number))                                                  \
    X(cuDeviceGetUuid_v2, (unsigned char uuid[16], int device))                                \
    X(cuDeviceGetAttribute, (int *value, int attribute, int device))                           \
    X(cuMemGetAllocationGranularity, (size_t *, const cuda_properties *, int))                 \
    X(cuMemCreate, (cuda_memory *, size_t, const cuda_properties *, unsigned long long flags)) \
    X(cuMemExportToShareableHandle, (void *, cuda_memory, int type, unsigned long long flags)) \
    X(cuMemRelease, (cuda_memory))

/* libcuda: its functions, and the GPUs that it lists. Written by the initializer of `loaded`, and only read
 * afterwards. */
static struct {
#define X(name, parameters) int(*name) parameters;
    FUNCTIONS(X)
#undef X
    int (*cuGetErrorName)(int code, const char **name_out); /* NULL: errors are reported by number */
    char reason[REASON_BYTES];                              /* why libcuda cannot be used; "": it can */
    int count;
    struct {
        int device;
        unsigned char uuid[16];
    } gpu[MOST_GPUS];
} cuda;

static pthread_once_t loaded = PTHREAD_ONCE_INIT;

static const char *name_of(int code)
{
    const char *name = NULL;
    static const char unknown[] = "an unknown code";
    return cuda.cuGetErrorName != NULL && cuda.cuGetErrorName(code, &name) == CUDA_SUCCESS && name != NULL ? name
                                                                                                           : unknown;
}

/* Check the result of a call of libcuda. @return whether the call succeeded; otherwise its failure is stored in
 * `reason`. */
static bool succeeds(int code, const char *call)
{
    if (code != CUDA_SUCCESS)
        snprintf(cuda.reason, sizeof cuda.reason, "%s: %s (%d)", call, name_of(code), code);
    return code == CUDA_SUCCESS;
}

static bool find_functions(void *library)
{
    *(void **)&cuda.cuGetErrorName = dlsym(library, "cuGetErrorName");
#define X(name, parameters)                                                               \
    if ((*(void **)&cuda.name = dlsym(library, #name)) == NULL) {                         \
        snprintf(cuda.reason, sizeof cuda.reason, "libcuda.so.1 has no function " #name); \
        return false;                                                                     \
    }
    FUNCTIONS(X)
#undef X
    return true;
}

static cuda_properties properties_of(int device)
{
    return (cuda_properties){.type = TYPE_PINNED,
                             .handle_type = HANDLE_IS_DESCRIPTOR,
                             .location = {.type = LOCATION_DEVICE, .number = device}};
}

/* Whether a GPU can allocate memory that can be exported as a descriptor, in sizes that are multiples of
 * DCLI_HUGE_BYTES. */
static bool look_at(int device)
{
    int virtual_memory = 0, descriptors = 0;
    size_t grain = 0;
    cuda_properties properties = properties_of(device);
    if (!succeeds(cuda.cuDeviceGetAttribute(&virtual_memory, ATTRIBUTE_VIRTUAL_MEMORY, device),
                  "cuDeviceGetAttribute") ||
        !succeeds(cuda.cuDeviceGetAttribute(&descriptors, ATTRIBUTE_HANDLE_IS_DESCRIPTOR, device),
                  "cuDeviceGetAttribute"))
        return false;
    if (!virtual_memory || !descriptors) {
        snprintf(cuda.reason, sizeof cuda.reason, "GPU %d makes no memory that can be passed on as a descriptor",
                 device);
        return false;
    }
    if (!succeeds(cuda.cuMemGetAllocationGranularity(&grain, &properties, GRANULARITY_LEAST),
                  "cuMemGetAllocationGranularity"))
        return false;
    if (grain > 0 && DCLI_HUGE_BYTES % grain == 0)
        return true;
    snprintf(cuda.reason, sizeof cuda.reason, "GPU %d makes memory in multiples of %zu bytes; expected a divisor of %d",
             device, grain, DCLI_HUGE_BYTES);
    return false;
}

static bool look_at_all(void)
{
    int count = 0;
    if (!succeeds(cuda.cuInit(0), "cuInit") || !succeeds(cuda.cuDeviceGetCount(&count), "cuDeviceGetCount"))
        return false;
    for (int n = 0; n < count && n < MOST_GPUS; n++) {
        int *device = &cuda.gpu[n].device;
        if (!succeeds(cuda.cuDeviceGet(device, n), "cuDeviceGet") ||
            !succeeds(cuda.cuDeviceGetUuid_v2(cuda.gpu[n].uuid, *device), "cuDeviceGetUuid_v2") || !look_at(*device))
            return false;
        cuda.count++;
    }
    return true;
}

/* Load libcuda. It is never unloaded, because drivers may not survive that. */
static void load(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL)
        snprintf(cuda.reason, sizeof cuda.reason, "libcuda.so.1 cannot be loaded: %s", dlerror());
    else if (find_functions(library) && look_at_all())
        return;
    cuda.count = 0;
}

dcl_status dcli_cuda_count(int *count_out)
{
    pthread_once(&loaded, load);
    if (cuda.reason[0] != '\0')
        return DCLI_FAIL(DCL_ERR_UNSUPPORTED, "%s", cuda.reason);
    *count_out = cuda.count;
    return DCL_OK;
}

int dcli_cuda_find(const unsigned char uuid[16])
{
    for (int n = 0; n < cuda.count; n++)
        if (memcmp(cuda.gpu[n].uuid, uuid, sizeof cuda.gpu[n].uuid) == 0)
            return n;
    return -1;
}

static dcl_status fail(const char *call, int code, int number, size_t bytes)
{
    return DCLI_FAIL(code == CUDA_OUT_OF_MEMORY ? DCL_ERR_NOMEM : DCL_ERR_UNSUPPORTED,
                     "%s: %s (%d): %zu bytes of memory that other GPUs can read were asked for on GPU %d; expected as "
                     "much to be free; use smaller arrays or more nodes, or set DCL_TRANSFER to \"send\"",
                     call, name_of(code), code, bytes, number);
}

/* Exported memory continues to exist after its handle is released here. */
dcl_status dcli_cuda_make(int number, size_t bytes, int *descriptor_out)
{
    cuda_properties properties = properties_of(cuda.gpu[number].device);
    cuda_memory memory;
    int descriptor = -1, code = cuda.cuMemCreate(&memory, bytes, &properties, 0);
    if (code != CUDA_SUCCESS)
        return fail("cuMemCreate", code, number, bytes);
    code = cuda.cuMemExportToShareableHandle(&descriptor, memory, HANDLE_IS_DESCRIPTOR, 0);
    int released = cuda.cuMemRelease(memory);
    if (code == CUDA_SUCCESS && !dcli_descriptor_may_stay(descriptor)) {
        close(descriptor);
        return DCLI_FAIL(
            DCL_ERR_NOMEM,
            "%zu bytes of memory that other GPUs can read were asked for on GPU %d, but few descriptors are "
            "left; expected one for every 256 MB and every large array; raise the limit of open files "
            "(ulimit -n)",
            bytes, number);
    }
    if (code == CUDA_SUCCESS && released == CUDA_SUCCESS) {
        fcntl(descriptor, F_SETFD, FD_CLOEXEC);
        *descriptor_out = descriptor;
        return DCL_OK;
    }
    if (code == CUDA_SUCCESS)
        close(descriptor);
    return code != CUDA_SUCCESS ? fail("cuMemExportToShareableHandle", code, number, bytes)
                                : fail("cuMemRelease", released, number, bytes);
}
