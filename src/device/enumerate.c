/* device/enumerate.c - finds the OpenCL devices of this host and numbers them.
 *
 * A GPU may be offered by two platforms (its vendor's and another). It counts once: it is recognised by its bus address
 * or UUID if the drivers report them, else by its name and its index among devices of that name. The CPU devices of a
 * second platform are the same as those of the first. Two devices of one platform are always two. */
#include "device/opencl.h"

#include <ctype.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/check.h"
#include "base/error.h"

enum { MOST_PLATFORMS = 64 };

/* Codes of extensions, defined as numbers so that older headers suffice. */
enum {
    PLATFORM_NOT_FOUND = -1001,    /* error code of the extension cl_khr_icd: there is no platform */
    DEVICE_UUID = 0x106A,          /* query of the extension cl_khr_device_uuid */
    DEVICE_PCI_BUS_INFO = 0x410F,  /* query of the extension cl_khr_pci_bus_info */
    DEVICE_PCI_BUS_ID_NV = 0x4008, /* query of the extension cl_nv_device_attribute_query */
    DEVICE_PCI_SLOT_ID_NV = 0x4009,
    DEVICE_PCI_DOMAIN_ID_NV = 0x400A
};

/* Remove spaces at the beginning and end of a name of a platform or device, and doubled spaces inside. */
static void tidy(char *text)
{
    size_t length = 0;
    for (const char *at = text; *at != '\0'; at++) {
        bool space = isspace((unsigned char)*at);
        if (!space)
            text[length++] = *at;
        else if (length > 0 && text[length - 1] != ' ')
            text[length++] = ' ';
    }
    while (length > 0 && text[length - 1] == ' ')
        length--;
    text[length] = '\0';
}

static cl_int device_text(cl_device_id id, cl_device_info what, char text_out[128])
{
    char text[1024] = "";
    cl_int code = clGetDeviceInfo(id, what, sizeof text, text, NULL);
    text[sizeof text - 1] = '\0';
    tidy(text);
    snprintf(text_out, 128, "%.127s", text);
    return code;
}

static cl_int platform_text(cl_platform_id id, cl_platform_info what, char text_out[128])
{
    char text[1024] = "";
    cl_int code = clGetPlatformInfo(id, what, sizeof text, text, NULL);
    text[sizeof text - 1] = '\0';
    tidy(text);
    snprintf(text_out, 128, "%.127s", text);
    return code;
}

static bool has_extension(cl_device_id id, const char *name)
{
    size_t bytes = 0;
    if (clGetDeviceInfo(id, CL_DEVICE_EXTENSIONS, 0, NULL, &bytes) != CL_SUCCESS || bytes == 0)
        return false;
    char *list = dcli_calloc(bytes + 1, 1);
    if (list == NULL)
        return false;
    bool found = false;
    if (clGetDeviceInfo(id, CL_DEVICE_EXTENSIONS, bytes, list, NULL) == CL_SUCCESS) {
        char *rest = NULL;
        for (char *word = strtok_r(list, " ", &rest); word != NULL && !found; word = strtok_r(NULL, " ", &rest))
            found = strcmp(word, name) == 0;
    }
    dcli_free(list);
    return found;
}

/* Query a number of 4 bytes. @return whether the driver knows it. */
static bool extra_number(cl_device_id id, cl_device_info what, uint32_t *number_out)
{
    return clGetDeviceInfo(id, what, sizeof *number_out, number_out, NULL) == CL_SUCCESS;
}

/* Fill the properties that only some drivers provide. */
static void describe_extras(dcli_found *found)
{
    cl_device_fp_config doubles = 0;
    clGetDeviceInfo(found->id, CL_DEVICE_DOUBLE_FP_CONFIG, sizeof doubles, &doubles, NULL);
    found->info.has_double = doubles != 0;
    found->info.has_half = has_extension(found->id, "cl_khr_fp16");
    if (has_extension(found->id, "cl_khr_device_uuid"))
        found->has_uuid = clGetDeviceInfo(found->id, DEVICE_UUID, sizeof found->uuid, found->uuid, NULL) == CL_SUCCESS;
    found->has_import = has_extension(found->id, "cl_khr_external_memory_opaque_fd");
    if (has_extension(found->id, "cl_khr_pci_bus_info")) {
        found->has_bus =
            clGetDeviceInfo(found->id, DEVICE_PCI_BUS_INFO, sizeof found->bus, found->bus, NULL) == CL_SUCCESS;
    } else if (has_extension(found->id, "cl_nv_device_attribute_query")) {
        uint32_t slot = 0;
        found->has_bus = extra_number(found->id, DEVICE_PCI_SLOT_ID_NV, &slot) &&
                         extra_number(found->id, DEVICE_PCI_DOMAIN_ID_NV, &found->bus[0]) &&
                         extra_number(found->id, DEVICE_PCI_BUS_ID_NV, &found->bus[1]);
        found->bus[2] = slot >> 3; /* PCI packs device and function */
        found->bus[3] = slot & 7;
    }
}

static const char *kind_of(cl_device_type type)
{
    if (type & CL_DEVICE_TYPE_GPU)
        return "gpu";
    if (type & CL_DEVICE_TYPE_ACCELERATOR)
        return "accelerator";
    return type & CL_DEVICE_TYPE_CPU ? "cpu" : "other";
}

static cl_int count_same_name(const cl_device_id ids[], cl_uint count, const char *name, int *same_out)
{
    int same = 0;
    for (cl_uint n = 0; n < count; n++) {
        char other[128];
        cl_int code = device_text(ids[n], CL_DEVICE_NAME, other);
        if (code != CL_SUCCESS)
            return code;
        same += strcmp(other, name) == 0;
    }
    *same_out = same;
    return CL_SUCCESS;
}

/* Fill the properties that every driver provides; without them the device could not be chosen correctly. */
static cl_int describe_device(dcli_found *found)
{
    dcl_device_info *info = &found->info;
    cl_uint units = 0;
    cl_ulong bytes = 0;
    cl_int code = clGetDeviceInfo(found->id, CL_DEVICE_TYPE, sizeof found->type, &found->type, NULL);
    if (code == CL_SUCCESS)
        code = clGetDeviceInfo(found->id, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof units, &units, NULL);
    if (code == CL_SUCCESS)
        code = clGetDeviceInfo(found->id, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof bytes, &bytes, NULL);
    if (code == CL_SUCCESS)
        code = device_text(found->id, CL_DEVICE_NAME, info->name);
    if (code == CL_SUCCESS)
        code = device_text(found->id, CL_DEVICE_VERSION, info->version);
    if (code == CL_SUCCESS)
        code = device_text(found->id, CL_DRIVER_VERSION, found->driver);
    snprintf(info->kind, sizeof info->kind, "%s", kind_of(found->type));
    info->compute_units = (int)units;
    info->memory_bytes = bytes > INT64_MAX ? INT64_MAX : (int64_t)bytes;
    return code;
}

/* Describe device number `n` of a platform. */
static dcl_status describe(const cl_device_id ids[], cl_uint n, dcli_found *found)
{
    cl_int code = platform_text(found->platform, CL_PLATFORM_NAME, found->info.platform);
    if (code == CL_SUCCESS)
        code = platform_text(found->platform, CL_PLATFORM_VERSION, found->platform_version);
    if (code != CL_SUCCESS)
        return dcli_cl_fail(NULL, "clGetPlatformInfo", code);
    code = describe_device(found);
    if (code == CL_SUCCESS)
        code = count_same_name(ids, n, found->info.name, &found->same_name_before);
    if (code != CL_SUCCESS)
        return dcli_cl_fail(NULL, "clGetDeviceInfo", code);
    describe_extras(found);
    return DCL_OK;
}

bool dcli_found_same(const dcli_found *a, const dcli_found *b)
{
    if (a->platform == b->platform || strcmp(a->info.kind, b->info.kind) != 0)
        return false;
    if (strcmp(a->info.kind, "cpu") == 0)
        return true;
    if (a->has_uuid && b->has_uuid)
        return memcmp(a->uuid, b->uuid, sizeof a->uuid) == 0;
    if (a->has_bus && b->has_bus)
        return memcmp(a->bus, b->bus, sizeof a->bus) == 0;
    return strcmp(a->info.name, b->info.name) == 0 && a->same_name_before == b->same_name_before;
}

/* Append the devices of a platform that no earlier platform has. The platform of DCL's own OpenCL driver is passed over: its
 * devices are those of other workers (docs/remote-opencl.md). */
static dcl_status add_platform(cl_platform_id platform, dcli_found found[], int *count_in_out)
{
    cl_device_id ids[DCLI_MOST_DEVICES];
    cl_uint id_count = 0;
    char name[128];
    cl_int code = platform_text(platform, CL_PLATFORM_NAME, name);
    if (code != CL_SUCCESS)
        return dcli_cl_fail(NULL, "clGetPlatformInfo", code);
    if (strcmp(name, "DCL") == 0)
        return DCL_OK;
    code = clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, DCLI_MOST_DEVICES, ids, &id_count);
    if (code == CL_DEVICE_NOT_FOUND)
        return DCL_OK;
    if (code != CL_SUCCESS)
        return dcli_cl_fail(NULL, "clGetDeviceIDs", code);
    int count = *count_in_out;
    for (cl_uint n = 0; n < id_count && n < DCLI_MOST_DEVICES && count < DCLI_MOST_DEVICES; n++) {
        dcli_found *next = &found[count];
        *next = (dcli_found){.platform = platform, .id = ids[n], .info.number = count};
        dcl_status status = describe(ids, n, next);
        if (status != DCL_OK)
            return status;
        bool known = false;
        for (int other = 0; other < *count_in_out && !known; other++)
            known = dcli_found_same(&found[other], next);
        count += !known;
    }
    *count_in_out = count;
    return DCL_OK;
}

void dcli_mark_defaults(dcli_found found[], int count)
{
    bool any = false;
    for (int n = 0; n < count; n++) {
        found[n].info.is_default = (found[n].type & (CL_DEVICE_TYPE_GPU | CL_DEVICE_TYPE_ACCELERATOR)) != 0;
        any = any || found[n].info.is_default;
    }
    cl_platform_id platform = NULL; /* platform of the first CPU device */
    for (int n = 0; n < count && !any; n++) {
        bool cpu = (found[n].type & CL_DEVICE_TYPE_CPU) != 0;
        if (cpu && platform == NULL)
            platform = found[n].platform;
        found[n].info.is_default = cpu && found[n].platform == platform;
    }
}

dcl_status dcli_find_devices(dcli_found found_out[], int *count_out)
{
    /* Loaders and drivers initialize in the first call, not all of them safely if two threads call at once. */
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    cl_platform_id platforms[MOST_PLATFORMS];
    cl_uint platform_count = 0;
    int count = 0;
    pthread_mutex_lock(&lock);
    cl_int code = clGetPlatformIDs(MOST_PLATFORMS, platforms, &platform_count);
    dcl_status status = DCL_OK;
    if (code == PLATFORM_NOT_FOUND)
        platform_count = 0;
    else if (code != CL_SUCCESS)
        status = dcli_cl_fail(NULL, "clGetPlatformIDs", code);
    for (cl_uint n = 0; n < platform_count && n < MOST_PLATFORMS && status == DCL_OK; n++)
        status = add_platform(platforms[n], found_out, &count);
    pthread_mutex_unlock(&lock);
    if (status != DCL_OK)
        return status;
    dcli_mark_defaults(found_out, count);
    *count_out = count;
    return DCL_OK;
}

dcl_status dcli_device_enumerate(int capacity, dcl_device_info info_out[], int *count_out)
{
    dcli_found *found = dcli_calloc(DCLI_MOST_DEVICES, sizeof *found);
    if (found == NULL)
        return DCL_ERR_NOMEM;
    int count = 0;
    dcl_status status = dcli_find_devices(found, &count);
    if (status == DCL_OK) {
        for (int n = 0; n < count && n < capacity; n++)
            info_out[n] = found[n].info;
        *count_out = count;
    }
    dcli_free(found);
    return status;
}

dcl_status dcli_device_identify(int number, dcl_device_info *info_out, void **platform_out, void **id_out)
{
    dcli_found *found = dcli_calloc(DCLI_MOST_DEVICES, sizeof *found);
    int count = 0;
    if (found == NULL)
        return DCL_ERR_NOMEM;
    dcl_status status = dcli_find_devices(found, &count);
    if (status == DCL_OK && (number < 0 || number >= count))
        status = DCLI_FAIL(DCL_ERR_DEVICE, "device %d is asked for; expected 0..%d; `dcl devices` lists them", number,
                           count - 1);
    if (status == DCL_OK) {
        *info_out = found[number].info;
        *platform_out = found[number].platform;
        *id_out = found[number].id;
    }
    dcli_free(found);
    return status;
}
