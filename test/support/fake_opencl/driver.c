/* support/fake_opencl/driver.c - how the fake library is placed in front of the real driver, and the loader's
 * queries. */
#include "support/fake_opencl/events.h"
#include "support/fake_opencl/functions.h"
#include "support/fake_opencl/plan.h"

#include <CL/cl_ext.h>

#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT void fake_opencl_plan(const char *plan);
EXPORT cl_int CL_API_CALL clIcdGetPlatformIDsKHR(cl_uint capacity, cl_platform_id platforms[], cl_uint *count_out);
EXPORT cl_int CL_API_CALL clGetPlatformInfo(cl_platform_id platform, cl_platform_info what, size_t bytes, void *value,
                                            size_t *bytes_out);
EXPORT void *CL_API_CALL clGetExtensionFunctionAddress(const char *name);

/* The common beginning of a driver's objects: cl_khr_icd. */
struct object {
    cl_icd_dispatch *table;
};

static struct {
    pthread_once_t once;
    clIcdGetPlatformIDsKHR_fn platforms; /* NULL: there is none */
} driver = {.once = PTHREAD_ONCE_INIT};

/* Get the name of the real driver's library: TEST_OPENCL_DRIVER, or the first line of PoCL's file. */
static bool name_driver(char name_out[256])
{
    const char *given = getenv("TEST_OPENCL_DRIVER");
    if (given != NULL) {
        snprintf(name_out, 256, "%s", given);
        return true;
    }
    FILE *file = fopen("/etc/OpenCL/vendors/pocl.icd", "re");
    bool named = file != NULL && fgets(name_out, 256, file) != NULL;
    if (file != NULL)
        fclose(file);
    if (named)
        name_out[strcspn(name_out, "\r\n")] = '\0';
    return named;
}

/* Write the fake functions into the driver's own table. */
static bool patch(cl_icd_dispatch *table)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), first = (uintptr_t)table / page * page;
    size_t bytes = (uintptr_t)table + sizeof *table - first;
    fake_real = *table;
    if (mprotect((void *)first, bytes, PROT_READ | PROT_WRITE) != 0)
        return false;
    fake_put_functions(table);
    return true;
}

static clIcdGetPlatformIDsKHR_fn find_entrance(void *library)
{
    void *(*address)(const char *);
    clIcdGetPlatformIDsKHR_fn entrance;
    *(void **)&entrance = dlsym(library, "clIcdGetPlatformIDsKHR");
    *(void **)&address = dlsym(library, "clGetExtensionFunctionAddress");
    if (entrance == NULL && address != NULL)
        *(void **)&entrance = address("clIcdGetPlatformIDsKHR");
    return entrance;
}

/* Load the real driver. Without it there are no platforms, as without this library. */
static void load(void)
{
    char name[256];
    fake_plan_set(getenv("TEST_OPENCL"));
    void *library = name_driver(name) ? dlopen(name, RTLD_NOW | RTLD_LOCAL) : NULL;
    clIcdGetPlatformIDsKHR_fn entrance = library == NULL ? NULL : find_entrance(library);
    cl_platform_id platform;
    if (entrance != NULL && entrance(1, &platform, NULL) == CL_SUCCESS && patch(((struct object *)platform)->table))
        driver.platforms = entrance;
    else
        fprintf(stderr, "fake OpenCL: there is no driver to stand before; expected PoCL's, or one that "
                        "TEST_OPENCL_DRIVER names\n");
}

cl_int CL_API_CALL clIcdGetPlatformIDsKHR(cl_uint capacity, cl_platform_id platforms[], cl_uint *count_out)
{
    pthread_once(&driver.once, load);
    if (driver.platforms == NULL || fake_plan_no_platforms())
        return CL_PLATFORM_NOT_FOUND_KHR;
    return driver.platforms(capacity, platforms, count_out);
}

/* A query of the loader itself, which is not counted. */
cl_int CL_API_CALL clGetPlatformInfo(cl_platform_id platform, cl_platform_info what, size_t bytes, void *value,
                                     size_t *bytes_out)
{
    pthread_once(&driver.once, load);
    return fake_real.clGetPlatformInfo(platform, what, bytes, value, bytes_out);
}

void *CL_API_CALL clGetExtensionFunctionAddress(const char *name)
{
    if (strcmp(name, "clIcdGetPlatformIDsKHR") == 0)
        return *(void **)&(clIcdGetPlatformIDsKHR_fn){clIcdGetPlatformIDsKHR};
    return NULL;
}

void fake_opencl_plan(const char *plan)
{
    pthread_once(&driver.once, load);
    fake_plan_set(plan);
    fake_events_end();
}
