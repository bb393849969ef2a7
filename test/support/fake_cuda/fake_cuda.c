/* support/fake_cuda/fake_cuda.c - see fake_cuda.h. */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

/* Codes of cuda.h. */
enum { SUCCESS = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, INVALID_DEVICE = 101, INVALID_HANDLE = 400 };
enum { MOST_RULES = 16, MOST_MEMORIES = 1024, RULE_BYTES = 128, GRAIN = 2 << 20, FIRST_DEVICE = 7 };

#define FUNCTIONS(X)                                                                                \
    X(cuInit), X(cuDeviceGetCount), X(cuDeviceGet), X(cuDeviceGetUuid_v2), X(cuDeviceGetAttribute), \
        X(cuMemGetAllocationGranularity), X(cuMemCreate), X(cuMemExportToShareableHandle), X(cuMemRelease)

#define X(name) IS_##name
enum { FUNCTIONS(X), NAMES };
#undef X
#define X(name) #name
static const char *const names[NAMES] = {FUNCTIONS(X)};
#undef X

struct rule {
    int name, first, code;
    bool and_after;
};

static struct {
    pthread_mutex_t lock; /* what follows */
    bool read;            /* TEST_CUDA has been looked at, or a plan set */
    int gpus;
    bool plain, strangers, initialized;
    size_t grain;
    struct rule rule[MOST_RULES];
    int rule_count, calls[NAMES];
    int memory[MOST_MEMORIES]; /* memfd + 1; 0: free */
} fake = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* CUmemAllocationProp, as DCL fills it. */
struct properties {
    int type, handle_type, location_type, location;
    void *unused;
    unsigned char flags[8];
};

EXPORT void fake_cuda_plan(const char *plan);
EXPORT int fake_cuda_calls(const char *function);
EXPORT const char *fake_cuda_function(int number);
EXPORT int fake_cuda_left(void);
EXPORT int cuInit(unsigned flags);
EXPORT int cuDeviceGetCount(int *count);
EXPORT int cuDeviceGet(int *device, int number);
EXPORT int cuDeviceGetUuid_v2(unsigned char uuid[16], int device);
EXPORT int cuDeviceGetAttribute(int *value, int attribute, int device);
EXPORT int cuMemGetAllocationGranularity(size_t *bytes, const struct properties *properties, int option);
EXPORT int cuMemCreate(unsigned long long *memory, size_t bytes, const struct properties *properties,
                       unsigned long long flags);
EXPORT int cuMemExportToShareableHandle(void *descriptor, unsigned long long memory, int type,
                                        unsigned long long flags);
EXPORT int cuMemRelease(unsigned long long memory);
EXPORT int cuGetErrorName(int code, const char **name);

/* ---- the plan ------------------------------------------------------------------------------------------------- */

static int find_name(const char *name)
{
    for (int n = 0; n < NAMES; n++)
        if (strcmp(names[n], name) == 0)
            return n;
    return -1;
}

static bool add_fail(const char *name, const char *number, int code)
{
    char *end;
    struct rule rule = {.name = find_name(name), .code = code, .first = (int)strtol(number, &end, 10)};
    rule.and_after = *end == '+';
    if (rule.name < 0 || rule.first < 1 || code <= 0 || end[rule.and_after] != '\0' || fake.rule_count == MOST_RULES)
        return false;
    fake.rule[fake.rule_count++] = rule;
    return true;
}

static void add_rule(const char *text)
{
    char first[16] = "", second[64] = "", third[16] = "", more;
    int code = 0, words = sscanf(text, "%15s %63s %15s %d %c", first, second, third, &code, &more);
    bool taken = words <= 0;
    if (words == 1 && strcmp(first, "plain") == 0)
        taken = fake.plain = true;
    else if (words == 1 && strcmp(first, "strangers") == 0)
        taken = fake.strangers = true;
    else if (words == 2 && strcmp(first, "gpus") == 0)
        taken = (fake.gpus = atoi(second)) >= 0;
    else if (words == 2 && strcmp(first, "grain") == 0)
        taken = (fake.grain = (size_t)atoll(second)) > 0;
    else if (words == 4 && strcmp(first, "fail") == 0)
        taken = add_fail(second, third, code);
    if (taken)
        return;
    fprintf(stderr, "fake CUDA: \"%s\" is no rule; expected such as \"fail cuMemCreate 3 2\"\n", text);
    abort();
}

/* Read the plan from its text, and count calls from the beginning. The lock is held. */
static void set_plan(const char *text)
{
    fake.read = true;
    fake.gpus = 2;
    fake.plain = fake.strangers = false;
    fake.grain = GRAIN;
    fake.rule_count = 0;
    memset(fake.calls, 0, sizeof fake.calls);
    while (text != NULL && *text != '\0') {
        char rule[RULE_BYTES];
        size_t length = strcspn(text, ";");
        snprintf(rule, sizeof rule, "%.*s", (int)length, text);
        add_rule(rule);
        text += length + (text[length] == ';');
    }
}

/* Begin a call: the lock is held afterwards. @return the code that it is to fail with. */
static int meet(int name)
{
    pthread_mutex_lock(&fake.lock);
    if (!fake.read)
        set_plan(getenv("TEST_CUDA"));
    int call = ++fake.calls[name];
    for (int n = 0; n < fake.rule_count; n++) {
        const struct rule *rule = &fake.rule[n];
        if (rule->name == name && (call == rule->first || (rule->and_after && call > rule->first)))
            return rule->code;
    }
    return SUCCESS;
}

static int end(int code)
{
    pthread_mutex_unlock(&fake.lock);
    return code;
}

void fake_cuda_plan(const char *plan)
{
    pthread_mutex_lock(&fake.lock);
    set_plan(plan);
    pthread_mutex_unlock(&fake.lock);
}

int fake_cuda_calls(const char *function)
{
    int name = find_name(function);
    pthread_mutex_lock(&fake.lock);
    int calls = name < 0 ? -1 : fake.calls[name];
    pthread_mutex_unlock(&fake.lock);
    return calls;
}

const char *fake_cuda_function(int number) { return number >= 0 && number < NAMES ? names[number] : NULL; }

int fake_cuda_left(void)
{
    int left = 0;
    pthread_mutex_lock(&fake.lock);
    for (int n = 0; n < MOST_MEMORIES; n++)
        left += fake.memory[n] != 0;
    pthread_mutex_unlock(&fake.lock);
    return left;
}

/* ---- GPUs ----------------------------------------------------------------------------------------------------- */

/* Handles of GPUs are not their numbers, so that these are not mistaken for each other. */
static bool is_device(int device) { return device >= FIRST_DEVICE && device < FIRST_DEVICE + fake.gpus; }

int cuInit(unsigned flags)
{
    int code = meet(IS_cuInit);
    if (code == SUCCESS)
        fake.initialized = true;
    return end(flags == 0 ? code : INVALID_VALUE);
}

int cuDeviceGetCount(int *count)
{
    int code = meet(IS_cuDeviceGetCount);
    if (code == SUCCESS && !fake.initialized)
        code = 3; /* CUDA_ERROR_NOT_INITIALIZED */
    if (code == SUCCESS)
        *count = fake.gpus;
    return end(code);
}

int cuDeviceGet(int *device, int number)
{
    int code = meet(IS_cuDeviceGet);
    if (code == SUCCESS && (number < 0 || number >= fake.gpus))
        code = INVALID_DEVICE;
    if (code == SUCCESS)
        *device = FIRST_DEVICE + number;
    return end(code);
}

int cuDeviceGetUuid_v2(unsigned char uuid[16], int device)
{
    int code = meet(IS_cuDeviceGetUuid_v2);
    if (code == SUCCESS && !is_device(device))
        code = INVALID_DEVICE;
    if (code == SUCCESS) {
        memset(uuid, fake.strangers ? 'S' : 'G', 16);
        uuid[15] = (unsigned char)(device - FIRST_DEVICE);
    }
    return end(code);
}

int cuDeviceGetAttribute(int *value, int attribute, int device)
{
    int code = meet(IS_cuDeviceGetAttribute);
    if (code == SUCCESS && !is_device(device))
        code = INVALID_DEVICE;
    if (code == SUCCESS)
        *value = attribute == 102 || (attribute == 103 && !fake.plain);
    return end(code);
}

/* ---- memory --------------------------------------------------------------------------------------------------- */

static bool is_good(const struct properties *properties)
{
    return properties->type == 1 && properties->handle_type == 1 && properties->location_type == 1 &&
           is_device(properties->location);
}

int cuMemGetAllocationGranularity(size_t *bytes, const struct properties *properties, int option)
{
    int code = meet(IS_cuMemGetAllocationGranularity);
    if (code == SUCCESS && (!is_good(properties) || option != 0))
        code = INVALID_VALUE;
    if (code == SUCCESS)
        *bytes = fake.grain;
    return end(code);
}

static int make_memory(size_t bytes, unsigned long long *memory)
{
    for (int n = 0; n < MOST_MEMORIES; n++) {
        if (fake.memory[n] != 0)
            continue;
        int descriptor = memfd_create("fake-cuda", MFD_CLOEXEC);
        if (descriptor < 0)
            return OUT_OF_MEMORY;
        if (ftruncate(descriptor, (off_t)bytes) != 0) {
            close(descriptor);
            return OUT_OF_MEMORY;
        }
        fake.memory[n] = descriptor + 1;
        *memory = (unsigned long long)n + 1000;
        return SUCCESS;
    }
    return OUT_OF_MEMORY;
}

int cuMemCreate(unsigned long long *memory, size_t bytes, const struct properties *properties, unsigned long long flags)
{
    int code = meet(IS_cuMemCreate);
    if (code == SUCCESS && (!is_good(properties) || flags != 0 || bytes == 0 || bytes % fake.grain != 0))
        code = INVALID_VALUE;
    return end(code == SUCCESS ? make_memory(bytes, memory) : code);
}

static int *find_memory(unsigned long long memory)
{
    bool known = memory >= 1000 && memory < 1000 + MOST_MEMORIES && fake.memory[memory - 1000] != 0;
    return known ? &fake.memory[memory - 1000] : NULL;
}

int cuMemExportToShareableHandle(void *descriptor, unsigned long long memory, int type, unsigned long long flags)
{
    int code = meet(IS_cuMemExportToShareableHandle), *found = find_memory(memory);
    if (code == SUCCESS && (found == NULL || type != 1 || flags != 0))
        code = INVALID_HANDLE;
    if (code == SUCCESS) {
        int copy = dup(*found - 1);
        code = copy >= 0 ? SUCCESS : OUT_OF_MEMORY;
        if (copy >= 0)
            *(int *)descriptor = copy;
    }
    return end(code);
}

/* Release a reference, even if the plan lets the call fail: else a test could not tell what the caller forgot. */
int cuMemRelease(unsigned long long memory)
{
    int code = meet(IS_cuMemRelease), *found = find_memory(memory);
    if (found == NULL)
        return end(code != SUCCESS ? code : INVALID_HANDLE);
    close(*found - 1);
    *found = 0;
    return end(code);
}

int cuGetErrorName(int code, const char **name)
{
    static const struct {
        int code;
        const char *name;
    } known[] = {{SUCCESS, "CUDA_SUCCESS"},
                 {INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE"},
                 {OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY"},
                 {999, "CUDA_ERROR_UNKNOWN"}};
    for (size_t n = 0; n < sizeof known / sizeof known[0]; n++)
        if (known[n].code == code) {
            *name = known[n].name;
            return SUCCESS;
        }
    return INVALID_VALUE;
}
