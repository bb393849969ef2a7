/* fuzz/session_host.c - the host's worker with the program's hooks, and the worker pool as it hears listeners: what
 * nodes and listeners say comes from the input, and so does what the program does. */
#include "fuzz/session.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/trace.h"
#include "fuzz/expected.h"
#include "fuzz/host_world.h"
#include "worker/peer.h"

/* ---- what nodes say ----------------------------------------------------------------------------------------------- */

static size_t chunk_bytes(const fuzz_world *world, int from, const dcli_msg_chunk *chunk)
{
    const dcli_plan *plan = dcli_node_plan(world->host->node, chunk->operation, world->session.nodes);
    for (int64_t c = 0; plan != NULL && c < plan->chunk_count; c++)
        if (plan->chunk[c].peer == from && !plan->chunk[c].written && plan->chunk[c].number == chunk->chunk)
            return (size_t)plan->chunk[c].bytes;
    return 8;
}

static dcl_status tell_chunk(fuzz_world *world, bool twisted, dcli_incoming *incoming)
{
    fuzz_input *input = &world->session.input;
    int from;
    size_t bytes;
    dcli_message message = {.kind = DCLI_MSG_CHUNK};
    if (!twisted) {
        if (!fuzz_expected_chunk(world->host->node, input, &from, &message.chunk, &bytes))
            return DCL_ERR_TIMEOUT;
        return fuzz_deliver(&world->session, from, &message, bytes, -1, incoming);
    }
    from = fuzz_below(input, world->session.nodes);
    int bits = fuzz_byte(input);
    message.chunk = (dcli_msg_chunk){.operation = fuzz_near(&world->program, input),
                                     .stream = (bits & 0x18) == 0x18,
                                     .chunk = bits & 7,
                                     .status = (bits & 0xe0) == 0xe0 ? DCL_ERR_NOMEM : DCL_OK};
    bytes = message.chunk.status == DCL_OK ? chunk_bytes(world, from, &message.chunk) : 0;
    if (fuzz_flag(input))
        bytes = (size_t)fuzz_byte(input);
    else if (fuzz_flag(input))
        fuzz_twist(input, &message);
    return fuzz_deliver(&world->session, from, &message, bytes, -1, incoming);
}

static void tell_marks(fuzz_world *world, int from, dcli_message *message)
{
    fuzz_input *input = &world->session.input;
    int64_t *done = &world->done[from], *ready = &world->ready[from];
    *done += fuzz_below(input, 4);
    *ready += fuzz_below(input, 4);
    if (*ready > *done)
        *ready = *done;
    message->marks = (dcli_msg_marks){.done = *done, .ready = *ready, .counter = {1}};
}

static void tell_failed(fuzz_world *world, int from, dcli_message *message)
{
    static int64_t storages[4];
    fuzz_input *input = &world->session.input;
    int count = fuzz_below(input, 4);
    for (int s = 0; s < count; s++)
        storages[s] = fuzz_storage(&world->program, input);
    message->failed = (dcli_msg_failed){.operation = fuzz_near(&world->program, input),
                                        .node = from,
                                        .status = DCL_ERR_NOMEM,
                                        .cause = fuzz_flag(input),
                                        .storage_count = count,
                                        .storage = storages,
                                        .sentence = "it failed"};
}

static void tell_traced(fuzz_world *world, dcli_message *message)
{
    static dcli_msg_event events[4];
    static dcli_msg_name names[2] = {{"A(i) = 1;"}, {"B(i) = \"\xff\";"}};
    fuzz_input *input = &world->session.input;
    int64_t now = dcli_monotonic_ns();
    int bits = fuzz_byte(input), count = fuzz_below(input, 5);
    for (int e = 0; e < count; e++) {
        int more = fuzz_byte(input);
        events[e] = (dcli_msg_event){.begin_ns = now - more * (int64_t)1000,
                                     .duration_ns = fuzz_byte(input) * (int64_t)500,
                                     .kind = 1 + more % (DCLI_TRACE_KINDS - 1),
                                     .operation = more / 4,
                                     .part = more % 3 - 1,
                                     .peer = more % (world->session.nodes + 1),
                                     .name = more % 4,
                                     .clock = more % DCLI_TRACE_CLOCKS};
    }
    message->kind = DCLI_MSG_TRACED;
    message->traced = (dcli_msg_traced){.number = fuzz_below(input, 3),
                                        .part = (bits & 3) - 1,
                                        .asked_ns = (bits & 4) != 0 ? 0 : now,
                                        .now_ns = now,
                                        .clock_id = (bits & 8) != 0 ? dcli_trace_clock_id() : 1,
                                        .kept = (bits & 16) != 0 ? count : 100,
                                        .dropped = bits >> 5,
                                        .event_count = count,
                                        .event = events,
                                        .name_count = (bits & 3) == 1 ? 2 : 0,
                                        .name = names};
}

enum event {
    CALL,
    MORE_CALLS,
    KERNEL,
    JOIN,
    LOSE,
    ASK,
    CHUNK,
    MORE_CHUNKS,
    MARKS,
    MORE_MARKS,
    RISEN,
    GRANT,
    WRONG_GRANT,
    CREDIT,
    FAILED,
    LOST,
    BUILT,
    SEEN,
    ANYTHING,
    BROKEN,
    PAUSE,
    GONE,
    LISTENER,
    NO_MEMORY,
    EVENTS
};

/* @return DCL_ERR_TIMEOUT: nothing comes of it; DCL_ERR_INTERNAL: it is a message. */
static dcl_status special_event(fuzz_world *world, enum event event, bool twisted, dcli_incoming *incoming)
{
    fuzz_session *session = &world->session;
    int node = event >= LOSE ? fuzz_below(&session->input, session->nodes) : 0;
    switch (event) {
    case CALL:
    case MORE_CALLS:
        fuzz_call_operation(world);
        return DCL_ERR_TIMEOUT;
    case KERNEL:
        fuzz_call_kernel(world);
        return DCL_ERR_TIMEOUT;
    case JOIN:
        fuzz_call_join(world);
        return DCL_ERR_TIMEOUT;
    case LOSE:
        dcli_host_report_loss(world->host, node, "the process monitor says so");
        return DCL_ERR_TIMEOUT;
    case ASK:
        fuzz_call_ask(world, twisted);
        return DCL_ERR_TIMEOUT;
    case CHUNK:
    case MORE_CHUNKS:
        return tell_chunk(world, twisted, incoming);
    case ANYTHING:
        return fuzz_deliver_any(session, node, incoming);
    case PAUSE:
        return DCL_ERR_TIMEOUT;
    case GONE:
        return session->present[node] ? fuzz_disconnect(session, node, incoming) : DCL_ERR_TIMEOUT;
    case NO_MEMORY:
        dcli_alloc_fail_after(fuzz_byte(&session->input));
        return DCL_ERR_TIMEOUT;
    case LISTENER:
        world->listener_speaks = true;
        dcli_worker_pool_attend(&world->worker_pool, 0);
        return DCL_ERR_TIMEOUT;
    default:
        return DCL_ERR_INTERNAL;
    }
}

/* @return false: there is no such message now. */
static bool make_message(fuzz_world *world, enum event event, int *sender, dcli_message *message)
{
    static const dcli_message_kind kinds[EVENTS] = {
        [MARKS] = DCLI_MSG_MARKS,       [MORE_MARKS] = DCLI_MSG_MARKS, [GRANT] = DCLI_MSG_GRANT,
        [WRONG_GRANT] = DCLI_MSG_GRANT, [CREDIT] = DCLI_MSG_CREDIT,    [RISEN] = DCLI_MSG_RISEN,
        [FAILED] = DCLI_MSG_FAILED,     [LOST] = DCLI_MSG_LOST,        [BUILT] = DCLI_MSG_BUILT,
        [SEEN] = DCLI_MSG_SEEN};
    fuzz_input *input = &world->session.input;
    int from = *sender;
    message->kind = kinds[event];
    switch (event) {
    case RISEN:
        tell_marks(world, from, message);
        message->risen = (dcli_msg_risen){.done = message->marks.done, .ready = message->marks.ready};
        fuzz_say_notices(world->session.nodes, input, &message->risen);
        break;
    case GRANT:
        return fuzz_expected_grant(world->host->node, input, sender, &message->grant);
    case CREDIT:
        return fuzz_expected_credit(world->host->node, input, sender, &message->credit);
    case WRONG_GRANT:
        message->grant =
            (dcli_msg_grant){.operation = fuzz_near(&world->program, input), .chunks = fuzz_below(input, 20)};
        break;
    case FAILED:
        tell_failed(world, from, message);
        break;
    case LOST:
        message->lost = (dcli_msg_lost){.peer = fuzz_below(input, FUZZ_MOST_NODES + 1), .sentence = "not reached"};
        break;
    case BUILT:
        message->built = (dcli_msg_built){.kernel = fuzz_below(input, FUZZ_KERNELS), .status = fuzz_below(input, 3)};
        break;
    case SEEN:
        if (fuzz_flag(input)) {
            tell_traced(world, message);
            break;
        }
        message->seen = (dcli_msg_seen){.number = fuzz_below(input, 2), .yes = true};
        break;
    default:
        tell_marks(world, from, message);
        break;
    }
    return true;
}

static dcl_status one_event(fuzz_world *world, dcli_incoming *incoming)
{
    enum { TWISTED = 192 };
    fuzz_session *session = &world->session;
    int byte = fuzz_byte(&session->input);
    enum event event = fuzz_event(byte, EVENTS, PAUSE);
    bool twisted = byte >= TWISTED, broken = event == BROKEN;
    dcl_status status = special_event(world, event, twisted, incoming);
    if (status != DCL_ERR_INTERNAL)
        return status;
    if (broken)
        event = (enum event)(MARKS + fuzz_below(&session->input, ANYTHING - MARKS));
    int from = fuzz_below(&session->input, session->nodes);
    dcli_message message = {0};
    if (!make_message(world, event, &from, &message))
        return DCL_ERR_TIMEOUT;
    if (broken)
        return fuzz_deliver_broken(session, from, &message, incoming);
    if (twisted)
        fuzz_twist(&session->input, &message);
    return fuzz_deliver(session, from, &message, 0, -1, incoming);
}

/* What is to be decided in a while is due now. */
static void pass_time(dcli_suspects *suspects, int nodes)
{
    for (int p = 0; p < nodes; p++)
        suspects->node[p].due_ns = suspects->node[p].due_ns != 0;
    suspects->gathered_ns = suspects->gathered_ns != 0;
    suspects->next_ns = suspects->next_ns != INT64_MAX ? 1 : INT64_MAX;
}

/* Nodes that have no number yet cannot say anything. Where the input ends everyone goes, and the program stops. */
static dcl_status next_event(fuzz_session *session, dcli_incoming *incoming)
{
    fuzz_world *world = (fuzz_world *)session;
    if (session->input.at >= session->input.end || (session->input.end - session->input.at) % 2 == 0)
        pass_time(&world->host->as_host->suspects, session->nodes);
    if (session->input.at < session->input.end) {
        dcl_status status = one_event(world, incoming);
        if (status != DCL_OK || session->present[incoming->from])
            return status;
        if (incoming->frames->end != NULL)
            incoming->frames->end(incoming->frames);
        incoming->frames->end = NULL;
        return DCL_ERR_TIMEOUT;
    }
    dcli_alloc_fail_after(0);
    if (session->asked_after_end++ >= 40) {
        char *waits = dcli_node_explain(world->host->node);
        fuzz_demand(false, waits);
    }
    for (int p = 0; p < session->nodes; p++)
        if (session->present[p] && !session->ended[p] && !session->endpoint->lost[p])
            return fuzz_disconnect(session, p, incoming);
    if (!world->stopped)
        dcli_host_stop(world->host);
    world->stopped = true;
    return DCL_ERR_TIMEOUT;
}

/* ---- an input ----------------------------------------------------------------------------------------------------- */

/* @param options  bits 0..1: numbers for nodes - 1; 2..3: how many of them are not there yet; 4..5: chunks and memory;
 *                 6: local; 7: a
 *  tree. */
void fuzz_host(fuzz_input input, int options)
{
    static fuzz_world world;
    static dcli_node_ways ways[FUZZ_MOST_NODES];
    bool absent[FUZZ_MOST_NODES];
    world = (fuzz_world){.session = {.input = input, .number = 77, .next = next_event},
                         .program = {.folder = fuzz_folder()}};
    world.pool = dcli_frames_pool_new();
    fuzz_answer_calls(fuzz_hear_listener, &world);
    fuzz_session *session = &world.session;
    session->self = session->nodes = 1 + (options & 3);
    world.program.nodes = session->nodes;
    int nodes = session->nodes - (options >> 2 & 3);
    nodes = nodes < 1 ? 1 : nodes;
    for (int p = 0; p < session->nodes; p++)
        absent[p] = !(session->present[p] = p < nodes);
    world.config = (dcl_config){.struct_size = sizeof world.config,
                                .silence_ms = 86400000,
                                .tile_bytes = 64,
                                .chunk_bytes = (options & 0x10) != 0 ? 8 : 64,
                                .pool_bytes = (options & 0x20) != 0 ? 64 : 4096,
                                .window = 1 << 20};
    fuzz_open_worker_pool(&world, nodes, (options & 0x40) != 0);
    fuzz_open_cluster(&world, nodes);
    world.cluster.has_tree = (options & 0x80) != 0 && nodes > 1;
    dcli_buffers *buffers = dcli_buffers_open();
    dcli_worker_terms terms = {.net = fuzz_net(),
                               .session = session->number,
                               .self = session->self,
                               .node_count = session->nodes,
                               .ways = ways,
                               .config = &world.config,
                               .log = &fuzz_silent,
                               .buffers = buffers,
                               .hooks = &world.cluster.hooks,
                               .is_process = true,
                               .endpoint = fuzz_endpoint(fuzz_net(), session),
                               .absent = absent,
                               .fanout = 1,
                               .tree_nodes = world.cluster.has_tree ? nodes : 0,
                               .fleet = dcli_worker_pool_hooks(&world.worker_pool)};
    if (dcli_worker_open(&terms, &world.host) == DCL_OK && dcli_worker_prepare(world.host) == DCL_OK) {
        dcli_worker_pool_report_to(&world.worker_pool, world.host);
        dcli_worker_serve(world.host);
    }
    dcli_worker_close(world.host);
    dcli_buffers_close(buffers);
    fuzz_close_world(&world);
    dcli_frames_pool_close(world.pool);
}
