/* icd/platform.c - the platform and its devices: answers to queries about them. */
#include "icd/entries.h"

static const char extensions_of_platform[] = "cl_khr_icd";
#define PLATFORM_VERSION "OpenCL 3.0 DCL " DCL_VERSION

/* ---- the platform ---- */

static cl_platform_id platform(void) { return (cl_platform_id)(void *)icd.platform->cell; }

/* Make the platform, at the first query. It is never released. */
static bool make_platform(void)
{
    if (icd.platform == NULL)
        icd.platform = icd_make(ICD_PLATFORM, sizeof *icd.platform);
    return icd.platform != NULL;
}

cl_int CL_API_CALL icd_clIcdGetPlatformIDsKHR(cl_uint capacity, cl_platform_id *platforms, cl_uint *count_out)
{
    if ((platforms == NULL && count_out == NULL) || (platforms != NULL && capacity == 0))
        return CL_INVALID_VALUE;
    if (!icd_enter())
        return CL_PLATFORM_NOT_FOUND_KHR;
    bool made = make_platform();
    icd_leave();
    if (!made)
        return CL_OUT_OF_HOST_MEMORY;
    if (platforms != NULL)
        platforms[0] = platform();
    if (count_out != NULL)
        *count_out = 1;
    return CL_SUCCESS;
}

cl_int CL_API_CALL icd_clGetPlatformInfo(cl_platform_id handle, cl_platform_info what, size_t size, void *value,
                                         size_t *size_out)
{
    static const cl_name_version extensions[] = {{CL_MAKE_VERSION(1, 0, 0), "cl_khr_icd"}};
    if (!icd_enter())
        return CL_INVALID_PLATFORM;
    bool known = icd_find(handle, ICD_PLATFORM) != NULL;
    icd_leave();
    if (!known)
        return CL_INVALID_PLATFORM;
    switch (what) {
    case CL_PLATFORM_PROFILE:
        return icd_answer_text("FULL_PROFILE", size, value, size_out);
    case CL_PLATFORM_VERSION:
        return icd_answer_text(PLATFORM_VERSION, size, value, size_out);
    case CL_PLATFORM_NUMERIC_VERSION:
        return ICD_ANSWER(cl_version, CL_MAKE_VERSION(3, 0, 0));
    case CL_PLATFORM_NAME:
        return icd_answer_text("DCL", size, value, size_out);
    case CL_PLATFORM_VENDOR:
        return icd_answer_text("DCL", size, value, size_out);
    case CL_PLATFORM_EXTENSIONS:
        return icd_answer_text(extensions_of_platform, size, value, size_out);
    case CL_PLATFORM_EXTENSIONS_WITH_VERSION:
        return icd_answer(extensions, sizeof extensions, size, value, size_out);
    case CL_PLATFORM_ICD_SUFFIX_KHR:
        return icd_answer_text("DCL", size, value, size_out);
    case CL_PLATFORM_HOST_TIMER_RESOLUTION:
        return ICD_ANSWER(cl_ulong, 0);
    default:
        return CL_INVALID_VALUE;
    }
}

/* ---- devices ---- */

static bool is_type(const icd_device *device, int place, cl_device_type type)
{
    cl_device_type own = icd_device_number(device, CL_DEVICE_TYPE) & ~(cl_device_type)CL_DEVICE_TYPE_DEFAULT;
    return (own & type) != 0 || ((type & CL_DEVICE_TYPE_DEFAULT) != 0 && place == 0);
}

cl_int CL_API_CALL icd_clGetDeviceIDs(cl_platform_id handle, cl_device_type type, cl_uint capacity,
                                      cl_device_id *devices, cl_uint *count_out)
{
    const cl_device_type all = CL_DEVICE_TYPE_DEFAULT | CL_DEVICE_TYPE_CPU | CL_DEVICE_TYPE_GPU |
                               CL_DEVICE_TYPE_ACCELERATOR | CL_DEVICE_TYPE_CUSTOM;
    if (!icd_enter())
        return CL_DEVICE_NOT_FOUND;
    bool known = icd_find(handle, ICD_PLATFORM) != NULL;
    icd_leave();
    if (!known)
        return CL_INVALID_PLATFORM;
    if (type != CL_DEVICE_TYPE_ALL && (type == 0 || (type & ~all) != 0))
        return CL_INVALID_DEVICE_TYPE;
    if ((capacity == 0 && devices != NULL) || (devices == NULL && count_out == NULL))
        return CL_INVALID_VALUE;
    icd_open_servers();
    if (!icd_enter())
        return CL_DEVICE_NOT_FOUND;
    cl_uint found = 0;
    for (int d = 0; d < icd.device_count; d++)
        if (is_type(icd.device[d], d, type == CL_DEVICE_TYPE_ALL ? all : type)) {
            if (devices != NULL && found < capacity)
                devices[found] = ICD_HANDLE(cl_device_id, icd.device[d]);
            found++;
        }
    icd_leave();
    if (count_out != NULL)
        *count_out = found;
    return found > 0 ? CL_SUCCESS : CL_DEVICE_NOT_FOUND;
}

/* Extensions of the device that the driver passes on: those of the language, which need no support by the driver,
 * and one that adds properties by which programs such as CLBlast choose their kernels. */
static const char *const passed[] = {"cl_khr_byte_addressable_store",
                                     "cl_khr_global_int32_base_atomics",
                                     "cl_khr_global_int32_extended_atomics",
                                     "cl_khr_local_int32_base_atomics",
                                     "cl_khr_local_int32_extended_atomics",
                                     "cl_khr_int64_base_atomics",
                                     "cl_khr_int64_extended_atomics",
                                     "cl_khr_fp16",
                                     "cl_khr_fp64",
                                     "cl_khr_subgroup_ballot",
                                     "cl_khr_subgroup_shuffle",
                                     "cl_khr_integer_dot_product",
                                     "cl_khr_expect_assume",
                                     "cl_khr_extended_bit_ops",
                                     "cl_nv_device_attribute_query"};
enum { PASSED = sizeof passed / sizeof passed[0], MOST_EXTENSIONS_TEXT = PASSED * 40 };

static bool lists(const char *list, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = strstr(list, name); at != NULL; at = strstr(at + 1, name))
        if ((at == list || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0'))
            return true;
    return false;
}

static const char *text_of(const icd_device *device, cl_device_info what)
{
    const icd_fact *fact = icd_device_fact(device, what);
    return fact != NULL ? fact->value : ""; /* values end with 0 */
}

static cl_int answer_extensions(const icd_device *device, bool versions, size_t size, void *value, size_t *size_out)
{
    char text[MOST_EXTENSIONS_TEXT] = "";
    cl_name_version list[PASSED];
    int count = 0;
    for (int e = 0; e < PASSED; e++)
        if (lists(text_of(device, CL_DEVICE_EXTENSIONS), passed[e])) {
            strcat(strcat(text, count > 0 ? " " : ""), passed[e]);
            memset(&list[count], 0, sizeof list[count]);
            list[count].version = CL_MAKE_VERSION(1, 0, 0);
            strcpy(list[count++].name, passed[e]);
        }
    return versions ? icd_answer(list, (size_t)count * sizeof list[0], size, value, size_out)
                    : icd_answer_text(text, size, value, size_out);
}

/* Features of OpenCL C that need images, pipes, queues on the device or shared virtual memory are left out. */
static cl_int answer_features(const icd_device *device, size_t size, void *value, size_t *size_out)
{
    static const char *const hidden[] = {"image", "pipes", "device_enqueue"};
    const icd_fact *fact = icd_device_fact(device, CL_DEVICE_OPENCL_C_FEATURES);
    size_t count = fact != NULL ? fact->bytes / sizeof(cl_name_version) : 0, kept = 0;
    cl_name_version *list = dcli_calloc(count + 1, sizeof *list);
    if (list == NULL)
        return CL_OUT_OF_HOST_MEMORY;
    for (size_t f = 0; f < count; f++) {
        memcpy(&list[kept], (const char *)fact->value + f * sizeof *list, sizeof *list);
        list[kept].name[CL_NAME_VERSION_MAX_NAME_SIZE - 1] = '\0';
        bool shown = true;
        for (size_t h = 0; h < sizeof hidden / sizeof hidden[0]; h++)
            shown = shown && strstr(list[kept].name, hidden[h]) == NULL;
        kept += shown;
    }
    cl_int result = icd_answer(list, kept * sizeof *list, size, value, size_out);
    dcli_free(list);
    return result;
}

/* Answer for features that the driver does not have: no, 0, or an empty list. @return false: it is no such question. */
static bool answer_absent(cl_device_info what, size_t size, void *value, size_t *size_out, cl_int *result)
{
    switch (what) {
    case CL_DEVICE_HOST_UNIFIED_MEMORY:
    case CL_DEVICE_IMAGE_SUPPORT:
    case CL_DEVICE_PIPE_SUPPORT:
    case CL_DEVICE_DEVICE_ENQUEUE_CAPABILITIES: /* a bit field, as long as a cl_ulong */
    case CL_DEVICE_SVM_CAPABILITIES:
        *result = what == CL_DEVICE_DEVICE_ENQUEUE_CAPABILITIES || what == CL_DEVICE_SVM_CAPABILITIES
                      ? ICD_ANSWER(cl_ulong, 0)
                      : ICD_ANSWER(cl_bool, CL_FALSE);
        return true;
    case CL_DEVICE_EXECUTION_CAPABILITIES:
        *result = ICD_ANSWER(cl_device_exec_capabilities, CL_EXEC_KERNEL);
        return true;
    case CL_DEVICE_MAX_READ_IMAGE_ARGS:
    case CL_DEVICE_MAX_WRITE_IMAGE_ARGS:
    case CL_DEVICE_MAX_READ_WRITE_IMAGE_ARGS:
    case CL_DEVICE_MAX_SAMPLERS:
    case CL_DEVICE_IMAGE_PITCH_ALIGNMENT:
    case CL_DEVICE_IMAGE_BASE_ADDRESS_ALIGNMENT:
    case CL_DEVICE_MAX_PIPE_ARGS:
    case CL_DEVICE_PIPE_MAX_ACTIVE_RESERVATIONS:
    case CL_DEVICE_PIPE_MAX_PACKET_SIZE:
    case CL_DEVICE_QUEUE_ON_DEVICE_PREFERRED_SIZE:
    case CL_DEVICE_QUEUE_ON_DEVICE_MAX_SIZE:
    case CL_DEVICE_MAX_ON_DEVICE_QUEUES:
    case CL_DEVICE_MAX_ON_DEVICE_EVENTS:
        *result = ICD_ANSWER(cl_uint, 0);
        return true;
    case CL_DEVICE_IMAGE2D_MAX_WIDTH:
    case CL_DEVICE_IMAGE2D_MAX_HEIGHT:
    case CL_DEVICE_IMAGE3D_MAX_WIDTH:
    case CL_DEVICE_IMAGE3D_MAX_HEIGHT:
    case CL_DEVICE_IMAGE3D_MAX_DEPTH:
    case CL_DEVICE_IMAGE_MAX_BUFFER_SIZE:
    case CL_DEVICE_IMAGE_MAX_ARRAY_SIZE:
        *result = ICD_ANSWER(size_t, 0);
        return true;
    case CL_DEVICE_QUEUE_ON_DEVICE_PROPERTIES:
        *result = ICD_ANSWER(cl_ulong, 0);
        return true;
    case CL_DEVICE_ILS_WITH_VERSION:
    case CL_DEVICE_BUILT_IN_KERNELS_WITH_VERSION:
        *result = icd_answer("", 0, size, value, size_out);
        return true;
    case CL_DEVICE_BUILT_IN_KERNELS:
    case CL_DEVICE_IL_VERSION:
        *result = icd_answer_text("", size, value, size_out);
        return true;
    default:
        return false;
    }
}

/* Answer properties of the driver itself: features it does not support are absent, even if the device has them. */
static bool answer_own(const icd_device *device, cl_device_info what, size_t size, void *value, size_t *size_out,
                       cl_int *result)
{
    switch (what) {
    case CL_DEVICE_PLATFORM:
        *result = ICD_ANSWER(cl_platform_id, platform());
        return true;
    case CL_DEVICE_PARENT_DEVICE:
        *result = ICD_ANSWER(cl_device_id, device->parent != NULL ? ICD_HANDLE(cl_device_id, device->parent) : NULL);
        return true;
    case CL_DEVICE_REFERENCE_COUNT:
        /* The program's references, as PoCL counts; one more if only contexts and queues still need a sub-device. */
        *result = ICD_ANSWER(cl_uint, device->object.owned > 1 ? (cl_uint)device->object.owned : 1);
        return true;
    case CL_DEVICE_AVAILABLE:
        *result = ICD_ANSWER(cl_bool, !device->root->lost);
        return true;
    case CL_DEVICE_TYPE: /* without the bit of default devices: programs compare the type with == */
        *result = ICD_ANSWER(cl_device_type, icd_device_number(device, what) & ~(cl_ulong)CL_DEVICE_TYPE_DEFAULT);
        return true;
    case CL_DEVICE_EXTENSIONS:
    case CL_DEVICE_EXTENSIONS_WITH_VERSION:
        *result = answer_extensions(device, what != CL_DEVICE_EXTENSIONS, size, value, size_out);
        return true;
    case CL_DEVICE_OPENCL_C_FEATURES:
        *result = answer_features(device, size, value, size_out);
        return true;
    default:
        return answer_absent(what, size, value, size_out, result);
    }
}

/* Sizes that the specification gives to properties: what a server reports is passed on only if it has this size. 0:
 * a text or list of any length. */
static size_t size_of(cl_device_info what)
{
    switch (what) {
    case CL_DEVICE_NAME:
    case CL_DEVICE_VENDOR:
    case CL_DRIVER_VERSION:
    case CL_DEVICE_PROFILE:
    case CL_DEVICE_VERSION:
    case CL_DEVICE_OPENCL_C_VERSION:
    case CL_DEVICE_OPENCL_C_ALL_VERSIONS:
    case CL_DEVICE_LATEST_CONFORMANCE_VERSION_PASSED:
    case CL_DEVICE_MAX_WORK_ITEM_SIZES:
    case CL_DEVICE_PARTITION_PROPERTIES:
    case CL_DEVICE_PARTITION_TYPE:
        return 0;
    case CL_DEVICE_MAX_WORK_GROUP_SIZE:
    case CL_DEVICE_MAX_PARAMETER_SIZE:
    case CL_DEVICE_PROFILING_TIMER_RESOLUTION:
    case CL_DEVICE_PRINTF_BUFFER_SIZE:
    case CL_DEVICE_MAX_GLOBAL_VARIABLE_SIZE:
    case CL_DEVICE_GLOBAL_VARIABLE_PREFERRED_TOTAL_SIZE:
    case CL_DEVICE_PREFERRED_WORK_GROUP_SIZE_MULTIPLE:
    case CL_DEVICE_SINGLE_FP_CONFIG:
    case CL_DEVICE_DOUBLE_FP_CONFIG:
    case CL_DEVICE_HALF_FP_CONFIG:
    case CL_DEVICE_MAX_MEM_ALLOC_SIZE:
    case CL_DEVICE_GLOBAL_MEM_CACHE_SIZE:
    case CL_DEVICE_GLOBAL_MEM_SIZE:
    case CL_DEVICE_MAX_CONSTANT_BUFFER_SIZE:
    case CL_DEVICE_LOCAL_MEM_SIZE:
    case CL_DEVICE_QUEUE_ON_HOST_PROPERTIES:
    case CL_DEVICE_ATOMIC_MEMORY_CAPABILITIES:
    case CL_DEVICE_ATOMIC_FENCE_CAPABILITIES:
    case CL_DEVICE_PARTITION_AFFINITY_DOMAIN:
        return sizeof(cl_ulong);
    default:
        return sizeof(cl_uint);
    }
}

static cl_int answer_device(const icd_device *device, cl_device_info what, size_t size, void *value, size_t *size_out)
{
    cl_int result;
    if (answer_own(device, what, size, value, size_out, &result))
        return result;
    const icd_fact *fact = icd_device_fact(device, what);
    if (fact == NULL || (size_of(what) != 0 && fact->bytes != size_of(what)))
        return CL_INVALID_VALUE;
    return icd_answer(fact->value, fact->bytes, size, value, size_out);
}

cl_int CL_API_CALL icd_clGetDeviceInfo(cl_device_id handle, cl_device_info what, size_t size, void *value,
                                       size_t *size_out)
{
    if (!icd_enter())
        return CL_INVALID_DEVICE;
    const icd_device *device = icd_find(handle, ICD_DEVICE);
    cl_int result = device == NULL ? CL_INVALID_DEVICE : answer_device(device, what, size, value, size_out);
    icd_leave();
    return result;
}

static cl_int ask_clocks(cl_device_id handle, cl_ulong *device_out, cl_ulong *host_out)
{
    if (!icd_enter())
        return CL_INVALID_DEVICE;
    icd_device *device = icd_find(handle, ICD_DEVICE);
    icd_leave();
    (void)device_out;
    (void)host_out;
    return device == NULL ? CL_INVALID_DEVICE : CL_INVALID_OPERATION; /* CL_PLATFORM_HOST_TIMER_RESOLUTION is 0 */
}

cl_int CL_API_CALL icd_clGetDeviceAndHostTimer(cl_device_id device, cl_ulong *device_out, cl_ulong *host_out)
{
    return ask_clocks(device, device_out, host_out);
}

cl_int CL_API_CALL icd_clGetHostTimer(cl_device_id device, cl_ulong *host_out)
{
    return ask_clocks(device, NULL, host_out);
}
