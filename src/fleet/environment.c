/* fleet/environment.c - the allow-list of environment variables. Clients' kernels must not see tokens and passwords
 * that people put into variables. */
#include "fleet/environment.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/check.h"

extern char **environ;

const char *dcli_environment_find(const char *name)
{
    size_t length = strlen(name);
    for (char **entry = environ; entry != NULL && *entry != NULL; entry++)
        if (strncmp(*entry, name, length) == 0 && (*entry)[length] == '=')
            return *entry + length + 1;
    return NULL;
}

/* Allowed names; one that ends with _ stands for all names that begin with it. */
static const char *const allowed[] = {
    /* the C library and the loader */
    "PATH", "LD_LIBRARY_PATH", "LD_PRELOAD", "LANG", "LANGUAGE", "LC_", "TZ", "MALLOC_", "GLIBC_TUNABLES",
    /* OpenCL: its loader, and drivers */
    "OCL_", "OPENCL_", "POCL_", "CUDA_", "NVIDIA_", "GPU_", "ROCR_", "HIP_", "HSA_", "AMD_", "ONEAPI_", "RUSTICL_",
    "CL_", "IGC_", "OMP_",
    /* sanitizers, and DCL's own tests */
    "ASAN_OPTIONS", "LSAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS", "TEST_"};

/* Variables that name folders; the session gets folders of its own. */
static const char *const replaced[] = {"POCL_CACHE_DIR=%s/pocl", "CUDA_CACHE_PATH=%s/cuda", "TMPDIR=%s/tmp",
                                       "XDG_CACHE_HOME=%s", "HOME=%s"};

enum { ALLOWED = sizeof allowed / sizeof allowed[0], REPLACED = sizeof replaced / sizeof replaced[0] };

static bool is_replaced(const char *entry)
{
    for (int r = 0; r < REPLACED; r++)
        if (strncmp(entry, replaced[r], strcspn(replaced[r], "=") + 1) == 0)
            return true;
    return false;
}

static bool is_allowed(const char *entry)
{
    for (int a = 0; a < ALLOWED; a++) {
        size_t length = strlen(allowed[a]);
        if (strncmp(entry, allowed[a], length) == 0 && (allowed[a][length - 1] == '_' || entry[length] == '='))
            return !is_replaced(entry);
    }
    return false;
}

char **dcli_environment_of_session(const char *cache)
{
    enum { MOST_PATH = 4200 };
    int64_t count = 0, made = 0;
    for (char **entry = environ; entry != NULL && *entry != NULL; entry++)
        count++;
    char **list = dcli_calloc((size_t)count + REPLACED + 1, sizeof *list);
    if (list == NULL)
        return NULL;
    for (int64_t n = 0; n < count; n++)
        if (is_allowed(environ[n]) && (list[made++] = dcli_strdup(environ[n])) == NULL)
            goto free_list;
    for (int r = 0; r < REPLACED && cache != NULL; r++) {
        char text[MOST_PATH];
        snprintf(text, sizeof text, "%.*s%s%s", (int)strcspn(replaced[r], "%"), replaced[r], cache,
                 strchr(replaced[r], '%') + 2);
        if ((list[made++] = dcli_strdup(text)) == NULL)
            goto free_list;
    }
    return list;

free_list:
    dcli_environment_free(list);
    return NULL;
}

void dcli_environment_free(char **list)
{
    for (char **entry = list; entry != NULL && *entry != NULL; entry++)
        dcli_free(*entry);
    dcli_free(list);
}

void dcli_environment_use_drivers(void)
{
    static const char name[] = "dcl.icd";
    const char *vendors = dcli_environment_find("OCL_ICD_VENDORS");
    size_t length = vendors != NULL ? strlen(vendors) : 0, tail = sizeof name - 1;
    if (length >= tail && strcmp(vendors + length - tail, name) == 0 &&
        (length == tail || vendors[length - tail - 1] == '/'))
        unsetenv("OCL_ICD_VENDORS");
    unsetenv("DCL_WORKERS"); /* loaders ask every driver for its devices: DCL's must not call workers from here */
}

void dcli_environment_share_processors(int processes)
{
    static const char *const names[] = {"POCL_MAX_PTHREAD_COUNT",
                                        "POCL_CPU_MAX_CU_COUNT"}; /* up to PoCL 3; from 4 on */
    cpu_set_t allowed;
    char text[16];
    for (size_t n = 0; n < sizeof names / sizeof names[0]; n++)
        if (dcli_environment_find(names[n]) != NULL)
            return;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
        return;
    int64_t share = dcli_max(1, CPU_COUNT(&allowed) / processes);
    if (share >= sysconf(_SC_NPROCESSORS_ONLN))
        return;
    snprintf(text, sizeof text, "%d", (int)share);
    for (size_t n = 0; n < sizeof names / sizeof names[0]; n++)
        setenv(names[n], text, 1);
}
