/* icd/hostile.c - a client of a worker that breaks the protocol, and an honest one beside it. It is linked with the driver, whose insides
 * send what no program could make the driver send.
 *
 *   hostile honest     writes, copies and reads until its standard input ends, and compares; prints "open", then how often
 *   hostile session    opens a session and ends
 *   hostile idle       prints "open", waits until its first device is lost, and uses the second one
 *   hostile reload DRIVER N   loads and unloads the driver N times, 11 at least; prints descriptors, threads and kilobytes of memory after ten
 *                             times and at the end
 *   hostile asks       asks for all properties of all devices; prints how many devices there are, and how many messages the driver has sent
 *   hostile finishes   fills a buffer and calls clFinish(), many times; prints the fewest messages that this has taken
 *   hostile list       prints the names of what can be broken
 *   hostile NAME       breaks it, and prints how its session ended */
#include <dirent.h>
#include <dlfcn.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "icd/entries.h"

enum { BYTES = 1 << 20, SMALL = 64, PATIENCE_MS = 20000 };

static cl_device_id device;
static cl_context context;
static cl_command_queue queue;
static cl_mem mem;

static void check(cl_int status, const char *call)
{
    if (status == CL_SUCCESS)
        return;
    printf("%s: %d\n", call, status);
    fflush(stdout);
    _exit(1);
}

static void open_session(void)
{
    cl_platform_id platform;
    cl_int status;
    check(icd_clIcdGetPlatformIDsKHR(1, &platform, NULL), "clGetPlatformIDs");
    check(icd_clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "clGetDeviceIDs");
    context = icd_clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    check(status, "clCreateContext");
    queue = icd_clCreateCommandQueue(context, device, 0, &status);
    check(status, "clCreateCommandQueue");
    mem = icd_clCreateBuffer(context, 0, BYTES, NULL, &status);
    check(status, "clCreateBuffer");
    unsigned char zero = 0;
    check(icd_clEnqueueFillBuffer(queue, mem, &zero, 1, 0, BYTES, 0, NULL, NULL), "clEnqueueFillBuffer");
    check(icd_clFinish(queue), "clFinish");
}

/* ---- the honest client ---- */

static bool goes_on(void)
{
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    return poll(&input, 1, 2) == 0; /* others need the processors, too */
}

static int be_honest(void)
{
    static unsigned char sent[BYTES], got[BYTES];
    int rounds = 0;
    printf("open\n");
    fflush(stdout);
    cl_int status;
    cl_mem other = icd_clCreateBuffer(context, 0, BYTES, NULL, &status);
    check(status, "clCreateBuffer");
    for (; goes_on(); rounds++) {
        for (size_t i = 0; i < BYTES; i++)
            sent[i] = (unsigned char)(i * 131 + (size_t)rounds);
        check(icd_clEnqueueWriteBuffer(queue, mem, CL_FALSE, 0, BYTES, sent, 0, NULL, NULL), "clEnqueueWriteBuffer");
        check(icd_clEnqueueCopyBuffer(queue, mem, other, 0, 0, BYTES, 0, NULL, NULL), "clEnqueueCopyBuffer");
        check(icd_clEnqueueReadBuffer(queue, other, CL_TRUE, 0, BYTES, got, 0, NULL, NULL), "clEnqueueReadBuffer");
        if (memcmp(sent, got, BYTES) != 0) {
            printf("WRONG in round %d\n", rounds);
            return 1;
        }
    }
    printf("right %d\n", rounds);
    icd_dispatch.clReleaseMemObject(other);
    return 0;
}

/* ---- messages that break the protocol ---- */

static icd_device *inside(void) { return icd_find(device, ICD_DEVICE); }

static bool is_lost(void)
{
    icd_enter();
    bool lost = inside()->lost;
    icd_leave();
    return lost;
}

static int64_t number_of_queue(void) { return ((icd_queue *)icd_find(queue, ICD_QUEUE))->number; }

static void send_command(const dcli_msg_command *command)
{
    icd_enter();
    icd_send(inside(), command);
    icd_post(true);
    icd_leave();
}

/* Send a message that the driver would not. */
static void send_raw(const dcli_message *message, size_t payload_bytes)
{
    static unsigned char bytes[BYTES];
    icd_server *server = inside()->server;
    dcli_payload payload = {.bytes = bytes, .length = payload_bytes};
    dcli_endpoint_wake(server->endpoint);
    pthread_mutex_lock(&server->serving);
    dcli_endpoint_send(server->endpoint, inside()->node, message, payload_bytes > 0 ? &payload : NULL);
    pthread_mutex_unlock(&server->serving);
    dcli_endpoint_wake(server->endpoint);
}

/* Numbers that the honest client has given to its buffers, which are other numbers here: each session has its own. */
static void use_numbers_of_others(void)
{
    int64_t number[] = {0, SMALL, 1}, word = 77;
    for (int64_t object = 1; object < 40; object++)
        send_command(&(dcli_msg_command){.kind = DCLI_CL_FILL,
                                         .object = object,
                                         .queue = number_of_queue(),
                                         .number_count = 3,
                                         .number = number,
                                         .word_count = 1,
                                         .word = &word});
}

static void release_all_numbers(void)
{
    for (int64_t object = 1; object < 40; object++)
        send_command(&(dcli_msg_command){.kind = DCLI_CL_RELEASE, .object = object});
}

static void speak_of_another_session(void)
{
    send_raw(&(dcli_message){.kind = DCLI_MSG_QUERY, .epoch = 12345, .query = {1, DCLI_ASK_DEVICE, 0}}, 0);
}

static void send_data_of_nothing(void)
{
    send_raw(&(dcli_message){.kind = DCLI_MSG_DATA,
                             .epoch = inside()->server->session,
                             .data = {.transfer = 999999, .offset = 0}},
             BYTES);
}

static void send_message_of_clusters(void)
{
    send_raw(&(dcli_message){.kind = DCLI_MSG_KERNEL,
                             .epoch = inside()->server->session,
                             .kernel = {.kernel = 1, .text = "A(i) = 1"}},
             0);
}

/* A write whose turn does not come, and more of its data than is granted. */
static void send_more_than_granted(void)
{
    enum { MANY = 64 };
    icd_enter();
    int64_t gate = icd_number(), transfer = icd_number(), size = icd_number();
    icd_leave();
    int64_t flags_and_bytes[] = {CL_MEM_READ_WRITE, (int64_t)MANY * BYTES};
    send_command(
        &(dcli_msg_command){.kind = DCLI_CL_BUFFER, .object = size, .number_count = 2, .number = flags_and_bytes});
    send_command(&(dcli_msg_command){.kind = DCLI_CL_USER_EVENT, .event = gate});
    int64_t number[] = {transfer, 0, (int64_t)MANY * BYTES, 1, 1, 0, 0, 0};
    send_command(&(dcli_msg_command){.kind = DCLI_CL_WRITE,
                                     .object = size,
                                     .queue = number_of_queue(),
                                     .number_count = 8,
                                     .number = number,
                                     .wait_count = 1,
                                     .wait = &gate});
    for (int64_t n = 0; n < MANY && !is_lost(); n++)
        send_raw(&(dcli_message){.kind = DCLI_MSG_DATA,
                                 .epoch = inside()->server->session,
                                 .data = {.transfer = transfer, .offset = n * BYTES}},
                 BYTES);
}

static void wait_with_too_many(void)
{
    icd_enter();
    int64_t gate = icd_number(), has_list = 1;
    icd_leave();
    send_command(&(dcli_msg_command){.kind = DCLI_CL_USER_EVENT, .event = gate});
    for (int n = 0; n < 300000 && !is_lost(); n++) {
        icd_enter();
        icd_send(inside(), &(dcli_msg_command){.kind = DCLI_CL_MARKER,
                                               .queue = number_of_queue(),
                                               .number_count = 1,
                                               .number = &has_list,
                                               .wait_count = 1,
                                               .wait = &gate});
        if (n % DCLI_MOST_COMMANDS == 0)
            icd_post(true);
        icd_leave();
    }
}

static void launch(const char *name, cl_long n)
{
    static const char *text = "kernel void crash(global int *a, long n) { *(global int *)(a + n) = 1; }\n"
                              "kernel void endless(global int *a, long n)\n"
                              "{ for (volatile long i = 0; i < n; i++) a[0] += i; }\n";
    const size_t one = 1;
    cl_int status;
    cl_program program = icd_clCreateProgramWithSource(context, 1, &text, NULL, &status);
    check(status, "clCreateProgramWithSource");
    check(icd_clBuildProgram(program, 1, &device, "", NULL, NULL), "clBuildProgram");
    cl_kernel kernel = icd_clCreateKernel(program, name, &status);
    check(status, "clCreateKernel");
    check(icd_clSetKernelArg(kernel, 0, sizeof mem, &mem), "clSetKernelArg");
    check(icd_clSetKernelArg(kernel, 1, sizeof n, &n), "clSetKernelArg");
    check(icd_clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, NULL, 0, NULL, NULL), "clEnqueueNDRangeKernel");
    cl_int finished = icd_clFinish(queue);
    if (finished >= 0)
        printf("WRONG: clFinish: %d\n", finished);
    icd_dispatch.clReleaseKernel(kernel);
    icd_dispatch.clReleaseProgram(program);
}

static void launch_a_crash(void) { launch("crash", INT64_C(1) << 44); }

static void launch_without_end(void) { launch("endless", INT64_MAX); }

/* clang-format off */
static const struct {
    const char *name;
    void (*act)(void);
    bool ends; /* the session; otherwise what is wrong is dropped, as what comes late of a transfer that has failed */
} acts[] = {
    {"numbers", use_numbers_of_others,    true},
    {"release", release_all_numbers,      true},
    {"epoch",   speak_of_another_session, true},
    {"data",    send_data_of_nothing,     false},
    {"message", send_message_of_clusters, true},
    {"granted", send_more_than_granted,   true},
    {"many",    wait_with_too_many,       true},
    {"crash",   launch_a_crash,           true},
    {"endless", launch_without_end,       true},
};
/* clang-format on */

enum { ACTS = sizeof acts / sizeof acts[0] };

/* Wait until the session has ended, and print why. */
static int await_loss(void)
{
    int64_t until = dcli_monotonic_ms() + PATIENCE_MS;
    cl_bool available = CL_TRUE;
    while (available && dcli_monotonic_ms() < until) {
        icd_clFlush(queue);
        poll(NULL, 0, 1);
        check(icd_clGetDeviceInfo(device, CL_DEVICE_AVAILABLE, sizeof available, &available, NULL), "clGetDeviceInfo");
    }
    icd_enter();
    printf("%s %s\n", available ? "WRONG: the session goes on" : "ended", inside()->why);
    icd_leave();
    return available;
}

static void close_session(void)
{
    icd_dispatch.clReleaseMemObject(mem);
    icd_dispatch.clReleaseCommandQueue(queue);
    icd_dispatch.clReleaseContext(context);
}

static int go_on(void)
{
    cl_int status = icd_clFinish(queue);
    printf("%s %d\n", status == CL_SUCCESS ? "goes on" : "WRONG: clFinish", status);
    return status != CL_SUCCESS;
}

/* ---- endurance: endure.py ---- */

static int be_idle(void)
{
    printf("open\n");
    fflush(stdout);
    int failed = await_loss();
    icd_enter();
    device = ICD_HANDLE(cl_device_id, icd.device[1]);
    icd_leave();
    cl_int status;
    cl_context second = icd_clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    check(status, "clCreateContext");
    cl_command_queue other = icd_clCreateCommandQueue(second, device, 0, &status);
    check(status, "clCreateCommandQueue");
    check(icd_clFinish(other), "clFinish");
    icd_dispatch.clReleaseCommandQueue(other);
    icd_dispatch.clReleaseContext(second);
    printf("the other goes on\n");
    return failed;
}

/* How many messages the driver has sent. */
static int64_t messages_sent(void)
{
    int64_t sent = 0;
    for (int s = 0; s < icd.server_count; s++) {
        int64_t messages = 0, bytes = 0;
        dcli_endpoint_counts(icd.server[s]->endpoint, &messages, &bytes);
        sent += messages;
    }
    return sent;
}

/* What clinfo asks for, and more: every property that the headers name, of every device. */
static int ask(void)
{
    enum { FIRST = 0x1000, LAST = 0x107f, MOST = 64, MOST_BYTES = 1 << 16 };
    static char value[MOST_BYTES];
    cl_device_id devices[MOST];
    cl_uint count = 0;
    cl_platform_id platform;
    int known = 0;
    check(icd_clIcdGetPlatformIDsKHR(1, &platform, NULL), "clGetPlatformIDs");
    check(icd_clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, MOST, devices, &count), "clGetDeviceIDs");
    for (cl_uint d = 0; d < count; d++)
        for (cl_device_info what = FIRST; what <= LAST; what++)
            known += icd_clGetDeviceInfo(devices[d], what, sizeof value, value, NULL) == CL_SUCCESS;
    printf("%u devices, %d properties, %d messages\n", (unsigned)count, known, (int)messages_sent());
    return 0;
}

/* On a busy machine the driver may send more messages in some rounds, so the fewest count. */
static void finish_often(void)
{
    enum { ROUNDS = 300 };
    int64_t fewest = INT64_MAX;
    const unsigned char one = 1;
    for (int n = 0; n < ROUNDS; n++) {
        int64_t before = messages_sent();
        check(icd_clEnqueueFillBuffer(queue, mem, &one, 1, 0, SMALL, 0, NULL, NULL), "clEnqueueFillBuffer");
        check(icd_clFinish(queue), "clFinish");
        int64_t took = messages_sent() - before;
        fewest = took < fewest ? took : fewest;
    }
    printf("%d messages\n", (int)fewest);
}

static int entries_of(const char *path)
{
    DIR *folder = opendir(path);
    int count = 0;
    while (folder != NULL && readdir(folder) != NULL)
        count++;
    if (folder != NULL)
        closedir(folder);
    return count;
}

static int64_t resident_kb(void)
{
    int64_t pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file == NULL || fscanf(file, "%*s %" SCNd64, &pages) != 1)
        pages = -1;
    if (file != NULL)
        fclose(file);
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

static int reload(const char *path, int times)
{
    enum { FIRST = 10 }; /* by then what is allocated once has been */
    for (int n = 0; n < times; n++) {
        void *driver = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        cl_int(CL_API_CALL * get)(cl_uint, cl_platform_id *, cl_uint *) = NULL;
        cl_uint count = 0;
        void *symbol = driver != NULL ? dlsym(driver, "clIcdGetPlatformIDsKHR") : NULL;
        memcpy(&get, &symbol, sizeof get);
        if (get == NULL || get(0, NULL, &count) != CL_SUCCESS || count != 1) {
            printf("WRONG: %s\n", driver == NULL ? dlerror() : "no platform");
            return 1;
        }
        dlclose(driver);
        if (n == FIRST - 1 || n == times - 1)
            printf("%d %d %" PRId64 "\n", entries_of("/proc/self/fd"), entries_of("/proc/self/task"), resident_kb());
    }
    return 0;
}

int main(int argc, char *argv[])
{
    const char *name = argc >= 2 ? argv[1] : "";
    if (strcmp(name, "reload") == 0 && argc == 4)
        return reload(argv[2], (int)strtol(argv[3], NULL, 10));
    if (strcmp(name, "asks") == 0)
        return ask();
    for (int a = 0; strcmp(name, "list") == 0 && a < ACTS; a++)
        printf("%s\n", acts[a].name);
    if (strcmp(name, "list") == 0)
        return 0;
    open_session();
    int failed = 2;
    if (strcmp(name, "honest") == 0)
        failed = be_honest();
    if (strcmp(name, "idle") == 0)
        failed = be_idle();
    if (strcmp(name, "finishes") == 0)
        finish_often();
    if (strcmp(name, "session") == 0 || strcmp(name, "finishes") == 0) /* the client ends */
        failed = 0;
    for (int a = 0; a < ACTS; a++)
        if (strcmp(name, acts[a].name) == 0) {
            acts[a].act();
            failed = acts[a].ends ? await_loss() : go_on();
        }
    close_session();
    return failed;
}
