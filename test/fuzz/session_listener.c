/* fuzz/session_listener.c - a supervisor with its clients: what clients say and how processes fare comes from the
 * input. No process is started. */
#include "fuzz/session.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "fleet/supervisor.c" /* NOLINT: its loop is driven from within */

enum { MOST_UNTAKEN = 16 /* messages PRINTED */ };
enum { MOST_PROCESSES = 64, MOST_CLIENTS = 8 };

/* A process that is none. */
typedef struct child {
    pid_t pid; /* 0: none */
    int control, output;
    bool killed, ended;
} child;

static struct {
    fuzz_input input;
    child child[MOST_PROCESSES];
    int count;
    int fail_start; /* the n-th process cannot be started; 0: none */
    bool hung_up[MOST_CLIENTS + 1];
    dcli_frames_pool *pool;
    int devices;
} scene;

/* ---- processes ---------------------------------------------------------------------------------------------------- */

dcl_status __wrap_dcli_process_prepare(dcli_process *process_out);
dcl_status __wrap_dcli_process_prepare(dcli_process *process_out)
{
    *process_out = (dcli_process){.pidfd = -1, .status_memory = -1, .page = calloc(1, DCLI_STATUS_BYTES)};
    return DCL_OK;
}

dcl_status __wrap_dcli_process_start(const char *program, const char *terms, char *const variables[], int output,
                                     int count, const int descriptors[], dcli_process *process);
dcl_status __wrap_dcli_process_start(const char *program, const char *terms, char *const variables[], int output,
                                     int count, const int descriptors[], dcli_process *process)
{
    (void)program;
    (void)terms;
    (void)variables;
    fuzz_demand(count == 2 && scene.count < MOST_PROCESSES, "a process is started in another way");
    if (scene.fail_start > 0 && --scene.fail_start == 0)
        return DCLI_FAIL(DCL_ERR_FILE, "a process cannot be started");
    scene.child[scene.count] = (child){.pid = 1000 + scene.count,
                                       .control = fcntl(descriptors[1], F_DUPFD_CLOEXEC, 3),
                                       .output = fcntl(output, F_DUPFD_CLOEXEC, 3)};
    fcntl(scene.child[scene.count].output, F_SETFL, O_NONBLOCK);
    process->pid = scene.child[scene.count++].pid;
    return DCL_OK;
}

static child *child_of(const dcli_process *process)
{
    return process->pid == 0 ? NULL : &scene.child[process->pid - 1000];
}

bool __wrap_dcli_process_has_ended(dcli_process *process);
bool __wrap_dcli_process_has_ended(dcli_process *process)
{
    return child_of(process) == NULL || child_of(process)->ended;
}

void __wrap_dcli_process_why(dcli_process *process, char *text_out, size_t capacity);
void __wrap_dcli_process_why(dcli_process *process, char *text_out, size_t capacity)
{
    snprintf(text_out, capacity, "%s", process->page != NULL ? "ended" : "has not been started");
}

/* It takes until time passes. */
void __wrap_dcli_process_kill(dcli_process *process);
void __wrap_dcli_process_kill(dcli_process *process)
{
    if (child_of(process) != NULL)
        child_of(process)->killed = true;
}

static void let_killed_end(void)
{
    for (int c = 0; c < scene.count; c++)
        scene.child[c].ended |= scene.child[c].killed;
}

void __wrap_dcli_process_end(dcli_process *process, int grace_ms);
void __wrap_dcli_process_end(dcli_process *process, int grace_ms)
{
    (void)grace_ms;
    child *ended = child_of(process);
    if (ended != NULL) {
        close(ended->control);
        close(ended->output);
        *ended = (child){.ended = true};
    }
    free(process->page);
    *process = (dcli_process){.pidfd = -1};
}

/* ---- the listener ----------------------------------------------------------------------------------------------------- */

static void answer_from(fuzz_input *input)
{
    dcli_wire_answer answer = {.magic = DCLI_WIRE_ORDER, .address = "tcp://127.0.0.1:7"};
    int which = scene.count > 0 ? fuzz_below(input, scene.count) : 0, how = fuzz_below(input, 6);
    if (scene.count == 0 || scene.child[which].pid == 0)
        return;
    if (how == 1)
        answer.status = DCL_ERR_DEVICE;
    if (how == 2)
        memset(answer.address, 'x', sizeof answer - offsetof(dcli_wire_answer, address));
    if (how == 3)
        answer.magic = 0;
    send(scene.child[which].control, &answer, how == 4 ? 1 : sizeof answer, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (how == 5)
        scene.child[which].ended = true;
}

static void print_from(fuzz_input *input)
{
    char text[1 << 16];
    int which = scene.count > 0 ? fuzz_below(input, scene.count) : 0, byte = fuzz_byte(input), how = fuzz_byte(input);
    if (scene.count == 0 || scene.child[which].pid == 0)
        return;
    memset(text, byte, sizeof text);
    for (size_t at = 0; at < sizeof text && how % 7 > 0; at += (size_t)(how % 7) * 50)
        text[at] = '\n';
    for (int n = 0; n <= how / 32; n++)
        if (write(scene.child[which].output, text, (size_t)how << 8) < 0)
            break; /* nobody reads any more */
}

enum event {
    HELLO,
    OPEN,
    MORE_OPEN,
    BEAT,
    GONE,
    ANYTHING,
    HANG_UP,
    ANSWER,
    MORE_ANSWERS,
    PROCESS_ENDS,
    TIME,
    FAIL_START,
    SHOWN,
    PRINT,
    EVENTS
};

static dcli_message make_message(fuzz_input *input, enum event event)
{
    static dcli_msg_host hosts[4] = {{"host", "name"}, {"host", "name"}, {"host", "name"}, {"host", "name"}};
    dcli_message message = {0};
    int bits = fuzz_byte(input);
    switch (event) {
    case HELLO:
        message.kind = DCLI_MSG_HELLO;
        message.hello.program = "fuzz";
        break;
    case BEAT:
        message.kind = DCLI_MSG_BEAT;
        message.beat.number = bits;
        break;
    case GONE:
        message.kind = DCLI_MSG_GONE;
        message.gone.process = bits % 5;
        break;
    case SHOWN:
        message.kind = DCLI_MSG_SHOWN;
        message.shown = (dcli_msg_shown){.number = bits & 15, .flush = bits >> 4};
        break;
    case ANYTHING:
        message.kind = (dcli_message_kind)(1 + bits % (DCLI_MSG_KIND_COUNT - 1));
        fuzz_fill(input, &message);
        break;
    default:
        message.kind = DCLI_MSG_OPEN;
        message.open = (dcli_msg_open){.session = (uint64_t)(bits & 31),
                                       .key = "",
                                       .password = "secret",
                                       .silence_ms = (bits & 0x80) != 0 ? 100 : 30000,
                                       .first = 0,
                                       .nodes = 4,
                                       .chunk_bytes = 4096,
                                       .host_count = scene.devices,
                                       .host = hosts};
        break;
    }
    return message;
}

dcl_status __wrap_dcli_listener_receive(dcli_listener *listener, int milliseconds, dcli_received *received_out,
                                        uint32_t *client_out);
dcl_status __wrap_dcli_listener_receive(dcli_listener *listener, int milliseconds, dcli_received *received_out,
                                        uint32_t *client_out)
{
    (void)listener;
    (void)milliseconds;
    enum { TWISTED = 192 };
    fuzz_input *input = &scene.input;
    int byte = fuzz_byte(input), client = 1 + fuzz_below(input, MOST_CLIENTS);
    enum event event = fuzz_event(byte, EVENTS, TIME);
    fuzz_forget();
    switch (event) {
    case ANSWER:
    case MORE_ANSWERS:
        answer_from(input);
        return DCL_ERR_TIMEOUT;
    case PROCESS_ENDS:
        if (scene.count > 0)
            scene.child[fuzz_below(input, scene.count)].ended = true;
        return DCL_ERR_TIMEOUT;
    case PRINT:
        print_from(input);
        return DCL_ERR_TIMEOUT;
    case FAIL_START:
        scene.fail_start = fuzz_byte(input);
        return DCL_ERR_TIMEOUT;
    case TIME:
        return DCL_ERR_TIMEOUT;
    default:
        break;
    }
    if (scene.hung_up[client])
        return DCL_ERR_TIMEOUT;
    *client_out = (uint32_t)client;
    if (event == HANG_UP) {
        scene.hung_up[client] = true;
        return DCL_ERR_NODE_LOST;
    }
    dcli_message message = make_message(input, event);
    if (byte >= TWISTED)
        fuzz_twist(input, &message);
    return fuzz_receive(scene.pool, &message, received_out);
}

dcl_status __wrap_dcli_listener_send(dcli_listener *listener, uint32_t client, const dcli_message *message);
dcl_status __wrap_dcli_listener_send(dcli_listener *listener, uint32_t client, const dcli_message *message)
{
    (void)listener;
    fuzz_demand(client >= 1 && client <= MOST_CLIENTS, "something is sent to nobody");
    fuzz_demand_sound(message);
    return scene.hung_up[client] ? DCL_ERR_NETWORK : DCL_OK;
}

void __wrap_dcli_listener_hang_up(dcli_listener *listener, uint32_t client);
void __wrap_dcli_listener_hang_up(dcli_listener *listener, uint32_t client)
{
    (void)listener;
    if (client >= 1 && client <= MOST_CLIENTS)
        scene.hung_up[client] = true;
}

const char *__wrap_dcli_listener_caller(const dcli_listener *listener, uint32_t client);
const char *__wrap_dcli_listener_caller(const dcli_listener *listener, uint32_t client)
{
    (void)listener;
    (void)client;
    return "somebody";
}

const char *__wrap_dcli_listener_key(const dcli_listener *listener, uint32_t client);
const char *__wrap_dcli_listener_key(const dcli_listener *listener, uint32_t client)
{
    (void)listener;
    (void)client;
    return "";
}

/* ---- an input ----------------------------------------------------------------------------------------------------- */

static void check_counts(const dcli_supervisor *supervisor)
{
    int count = 0;
    for (const dcli_supervised *session = supervisor->sessions; session != NULL; session = session->next)
        count++;
    for (const dcli_supervised *session = supervisor->sessions; session != NULL; session = session->next)
        fuzz_demand(session->printed >= session->shown && session->printed - session->shown <= MOST_UNTAKEN,
                    "a client is sent more than it takes");
    fuzz_demand(count == supervisor->session_count && count <= supervisor->config->most_sessions,
                "sessions are miscounted");
}

/* @param options  bits 0..1: devices - 1; 2: keys; 3..4: most sessions; */
void fuzz_listener(fuzz_input input, int options)
{
    static dcli_supervisor supervisor;
    static const dcli_log silent;
    dcl_worker_config config = {.struct_size = sizeof config, .most_sessions = 1 + (options >> 3 & 3), .io_threads = 1};
    signal(SIGPIPE, SIG_IGN); /* a process prints although nobody reads any more */
    memset(&supervisor, 0, sizeof supervisor);
    memset(&scene, 0, sizeof scene);
    scene.input = input;
    scene.pool = dcli_frames_pool_new();
    supervisor.config = &config;
    supervisor.log = &silent;
    supervisor.files.folder = -1;
    supervisor.device_count = scene.devices = 1 + (options & 3);
    supervisor.has_keys = (options & 4) != 0;
    int64_t skew = 0;
    while (scene.input.at < scene.input.end && scene.count < MOST_PROCESSES - 4) {
        bool passes = fuzz_event(*scene.input.at, EVENTS, TIME) == TIME;
        dcl_status status = hear_one(&supervisor);
        fuzz_demand(status == DCL_OK || status == DCL_ERR_TIMEOUT || status == DCL_ERR_PROTOCOL,
                    "a supervisor gives up");
        if (passes) {
            skew += fuzz_number(&scene.input, 0, 100000);
            let_killed_end();
        }
        for (dcli_supervised *session = supervisor.sessions, *next; session != NULL; session = next) {
            next = session->next;
            dcli_supervisor_check(&supervisor, session, dcli_monotonic_ms() + skew, status == DCL_ERR_TIMEOUT);
        }
        dcli_supervisor_admit(&supervisor, dcli_monotonic_ms() + skew);
        dcli_supervisor_reap(&supervisor);
        check_counts(&supervisor);
    }
    dcli_supervisor_forget_all(&supervisor);
    while (supervisor.sessions != NULL)
        dcli_supervisor_end(&supervisor, supervisor.sessions, "the input ends");
    check_counts(&supervisor);
    let_killed_end();
    dcli_supervisor_reap(&supervisor);
    for (int c = 0; c < scene.count; c++)
        fuzz_demand(scene.child[c].pid == 0, "a process is left");
    dcli_free(supervisor.dying);
    dcli_frames_pool_close(scene.pool);
}
