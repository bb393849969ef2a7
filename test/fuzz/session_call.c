/* fuzz/session_call.c - a program that calls listeners: what these answer comes from the input. */
#include "fuzz/session.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/error.h"
#include "fleet/supervisor.h"
#include "fleet/worker_pool_inside.h"

static fuzz_answer *answer;
static void *answer_user;

void fuzz_answer_calls(fuzz_answer *with, void *user)
{
    answer = with;
    answer_user = user;
}

/* ---- calls that are none ------------------------------------------------------------------------------------------ */

dcl_status __wrap_dcli_control_open(const dcli_control_terms *terms, dcli_control **call_out);
dcl_status __wrap_dcli_control_open(const dcli_control_terms *terms, dcli_control **call_out)
{
    fuzz_demand(terms->password != NULL && strlen(terms->password) == DCLI_TOKEN - 1, "a call without its token");
    *call_out = dcli_calloc(1, 1);
    return *call_out != NULL ? DCL_OK : DCL_ERR_NOMEM;
}

void __wrap_dcli_control_close(dcli_control *call);
void __wrap_dcli_control_close(dcli_control *call) { dcli_free(call); }

dcl_status __wrap_dcli_control_send(dcli_control *call, const dcli_message *message);
dcl_status __wrap_dcli_control_send(dcli_control *call, const dcli_message *message)
{
    (void)call;
    fuzz_demand_sound(message);
    return DCL_OK;
}

dcl_status __wrap_dcli_control_receive(dcli_control *call, int milliseconds, dcli_received *received_out);
dcl_status __wrap_dcli_control_receive(dcli_control *call, int milliseconds, dcli_received *received_out)
{
    (void)call;
    (void)milliseconds;
    fuzz_forget();
    return answer(answer_user, received_out);
}

/* ---- answers ------------------------------------------------------------------------------------------------------ */

typedef struct caller {
    fuzz_session session; /* first: the transport knows it by this address */
    dcli_frames_pool *pool;
    int devices;
} caller;

static void make_welcome(fuzz_input *input, dcli_msg_welcome *welcome)
{
    static dcli_msg_device devices[4];
    int count = fuzz_below(input, 5);
    for (int d = 0; d < count; d++)
        devices[d] = (dcli_msg_device){.name = "null", .platform = "null", .version = "0", .class = "cpu", .kind = "k"};
    *welcome = (dcli_msg_welcome){.program = "fuzz", .device_count = count, .device = devices};
}

static void make_opened(fuzz_input *input, int count, dcli_msg_opened *opened)
{
    static const char *const addresses[] = {
        "tcp://127.0.0.1:7", "tcp://[::1]:65535", "tcp://host.test:1", "ipc://x", "", "tcp://127.0.0.1:99999"};
    static dcli_msg_peer peers[8];
    for (int p = 0; p < count; p++)
        peers[p] = (dcli_msg_peer){.present = true, .address = addresses[fuzz_below(input, 8) % 6]};
    *opened = (dcli_msg_opened){.peer_count = count, .peer = peers};
}

static dcl_status next_answer(void *user, dcli_received *received_out)
{
    caller *caller = user;
    fuzz_input *input = &caller->session.input;
    dcli_message message = {0};
    if (input->at >= input->end)
        return DCLI_FAIL(DCL_ERR_NODE_LOST, "the listener has gone");
    int byte = fuzz_byte(input);
    switch (byte % 8) {
    case 0:
    case 1:
        message.kind = DCLI_MSG_WELCOME;
        make_welcome(input, &message.welcome);
        caller->devices = message.welcome.device_count;
        break;
    case 2:
    case 3:
        message.kind = DCLI_MSG_OPENED;
        make_opened(input, caller->devices, &message.opened);
        break;
    case 4:
        message.kind = DCLI_MSG_BEAT;
        break;
    case 5:
        message =
            (dcli_message){.kind = DCLI_MSG_REFUSED, .refused = {.status = fuzz_below(input, 12), .sentence = "no"}};
        break;
    case 6:
        return fuzz_flag(input) ? DCLI_FAIL(DCL_ERR_PROTOCOL, "no message") : DCL_ERR_TIMEOUT;
    default:
        message.kind = (dcli_message_kind)(1 + fuzz_below(input, DCLI_MSG_KIND_COUNT - 1));
        fuzz_fill(input, &message);
        break;
    }
    if (byte >= 192)
        fuzz_twist(input, &message);
    return fuzz_receive(caller->pool, &message, received_out);
}

/* The session's endpoint is made in the middle of it. */
static caller *current;

dcl_status __wrap_dcli_endpoint_open_wire(const dcli_wire_terms *terms, dcli_endpoint **endpoint_out);
dcl_status __wrap_dcli_endpoint_open_wire(const dcli_wire_terms *terms, dcli_endpoint **endpoint_out)
{
    current->session.self = terms->self;
    current->session.nodes = terms->peer_count - 1;
    *endpoint_out = fuzz_endpoint(fuzz_net(), &current->session);
    return *endpoint_out != NULL ? DCL_OK : DCL_ERR_NOMEM;
}

/* ---- an input ----------------------------------------------------------------------------------------------------- */

static const char *token_path(void)
{
    static char path[300];
    static const char token[] = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    if (path[0] != '\0')
        return path;
    snprintf(path, sizeof path, "%s/.dcl-1-1.token", fuzz_folder());
    chmod(path, 0600);
    FILE *file = fopen(path, "w");
    fuzz_demand(file != NULL && fputs(token, file) >= 0 && fclose(file) == 0, "no token");
    return path;
}

static void open_worker_pool(const dcl_config *config, int spare)
{
    static const dcli_log silent;
    struct dcli_worker_pool worker_pool = {.terms = {.config = config, .log = &silent, .session = 77}, .wake_fd = -1};
    int count = dcli_worker_pool_count_remote(&worker_pool, config->workers);
    worker_pool.capacity = count + spare < DCLI_MOST_NODES ? count + spare : DCLI_MOST_NODES;
    if (count > 0 &&
        (worker_pool.member = dcli_calloc((size_t)worker_pool.capacity, sizeof *worker_pool.member)) != NULL)
        dcli_worker_pool_open_remote(&worker_pool, count);
    dcli_worker_pool_hang_up(&worker_pool);
    dcli_endpoint_close(worker_pool.endpoint);
    dcli_buffers_close(worker_pool.buffers);
    dcli_net_close(worker_pool.net);
    dcli_free(worker_pool.member);
}

/* @param options  bit 0: only asks; 1: two listeners; 2..3: numbers kept free. */
void fuzz_call(fuzz_input input, int options)
{
    dcl_worker_info info[2];
    int count;
    caller caller = {.session = {.input = input, .number = 77}, .pool = dcli_frames_pool_new()};
    const char *workers = (options & 2) != 0 ? "tcp://127.0.0.1:7,tcp://127.0.0.1:8" : "tcp://127.0.0.1:7";
    dcl_config config = {
        .struct_size = sizeof config, .workers = workers, .token = token_path(), .silence_ms = 1000, .io_threads = 1};
    current = &caller;
    fuzz_answer_calls(next_answer, &caller);
    if ((options & 1) != 0)
        dcli_workers_ask(&config, 2, info, &count);
    else
        open_worker_pool(&config, options >> 2 & 3);
    dcli_frames_pool_close(caller.pool);
}
