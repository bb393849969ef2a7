/* fuzz/session_node.c - a node: all that a worker process does from its device on, with a device that is none. */
#include "fuzz/session.h"

#include "fleet/serve.c" /* NOLINT: its functions begin behind a process that has been started */
#include "fuzz/expected.h"
#include "fuzz/node_says.h"
#include "fuzz/null_device.h"

/* ---- what a process would have ------------------------------------------------------------------------------------ */

/* Links and connections of the real transports stay out of it. */
dcl_status __wrap_dcli_endpoint_add_link(dcli_endpoint *endpoint, int peer, const dcli_shared_link *link);
dcl_status __wrap_dcli_endpoint_add_link(dcli_endpoint *endpoint, int peer, const dcli_shared_link *link)
{
    dcli_shared_link end = *link;
    dcli_shared_link_close(&end);
    fuzz_demand(peer >= 0 && peer < endpoint->peer_count, "a link to no peer");
    return DCL_OK;
}

dcl_status __wrap_dcli_endpoint_expect(dcli_endpoint *endpoint, int peer, const char *key);
dcl_status __wrap_dcli_endpoint_expect(dcli_endpoint *endpoint, int peer, const char *key)
{
    (void)key;
    fuzz_demand(peer >= 0 && peer < endpoint->peer_count, "no peer is expected");
    return peer > endpoint->self ? DCL_OK : DCLI_FAIL(DCL_ERR_INVALID, "peer %d cannot be expected", peer);
}

dcl_status __wrap_dcli_endpoint_meet(dcli_endpoint *endpoint, int peer, const char *address, const char *key);
dcl_status __wrap_dcli_endpoint_meet(dcli_endpoint *endpoint, int peer, const char *address, const char *key)
{
    (void)address;
    (void)key;
    return peer < endpoint->self ? DCL_OK : DCLI_FAIL(DCL_ERR_INVALID, "peer %d cannot be met", peer);
}

void __wrap_dcli_watchdog_limits(dcli_watchdog *watchdog, int64_t build_ms, int64_t kernel_ms, int64_t plan_ms);
void __wrap_dcli_watchdog_limits(dcli_watchdog *watchdog, int64_t build_ms, int64_t kernel_ms, int64_t plan_ms)
{
    (void)watchdog;
    fuzz_demand(build_ms <= INT64_MAX / 1000000 && kernel_ms <= INT64_MAX / 1000000 && plan_ms <= INT64_MAX / 1000000,
                "a deadline overflows");
}

/* ---- events ------------------------------------------------------------------------------------------------------- */

enum event {
    KERNEL,
    OPERATIONS,
    MORE_OPERATIONS,
    KNOWN,
    GRANT,
    WRONG_GRANT,
    CHUNK,
    MORE_CHUNKS,
    CREDIT,
    MARKS,
    RISEN,
    FAILED,
    PART,
    LOST,
    JOINED,
    SEES,
    ANYTHING,
    BROKEN,
    PAUSE,
    GONE,
    KERNELS_END,
    DEVICE_FAILS,
    NO_MEMORY,
    STOP,
    EVENTS
};

/* Events that are no message, or one whose company matters. @return DCL_ERR_INTERNAL: another one. */
static dcl_status special_event(fuzz_others *others, enum event event, bool twisted, dcli_incoming *incoming)
{
    fuzz_session *session = &others->session;
    switch (event) {
    case CHUNK:
    case MORE_CHUNKS:
        return fuzz_say_chunk(others, twisted, incoming);
    case WRONG_GRANT:
        return others->lends ? fuzz_say_loan(others, incoming) : DCL_ERR_INTERNAL;
    case PART:
        return fuzz_say_part(others, fuzz_choose_node(others), twisted, incoming);
    case LOST:
        return fuzz_say_lost(others, twisted, incoming);
    case JOINED:
        return fuzz_say_joined(others, twisted, incoming);
    case ANYTHING:
        return fuzz_deliver_any(session, fuzz_choose_peer(others), incoming);
    case PAUSE:
        return DCL_ERR_TIMEOUT;
    case GONE:
        return fuzz_disconnect(session, fuzz_choose_node(others), incoming);
    case KERNELS_END:
        null_device_end();
        return DCL_ERR_TIMEOUT;
    case NO_MEMORY:
        dcli_alloc_fail_after(fuzz_byte(&session->input));
        return DCL_ERR_TIMEOUT;
    case DEVICE_FAILS:
        null_device_fail_after(fuzz_byte(&session->input));
        return DCL_ERR_TIMEOUT;
    default:
        return DCL_ERR_INTERNAL;
    }
}

/* @return DCL_ERR_TIMEOUT: there is no such message now. */
static dcl_status make_message(fuzz_others *others, enum event event, dcli_message *message, int *from)
{
    static const dcli_message_kind kinds[EVENTS] = {[KERNEL] = DCLI_MSG_KERNEL,
                                                    [OPERATIONS] = DCLI_MSG_OPERATIONS,
                                                    [MORE_OPERATIONS] = DCLI_MSG_OPERATIONS,
                                                    [KNOWN] = DCLI_MSG_OPERATIONS,
                                                    [GRANT] = DCLI_MSG_GRANT,
                                                    [WRONG_GRANT] = DCLI_MSG_GRANT,
                                                    [CREDIT] = DCLI_MSG_CREDIT,
                                                    [MARKS] = DCLI_MSG_MARKS,
                                                    [RISEN] = DCLI_MSG_RISEN,
                                                    [FAILED] = DCLI_MSG_FAILED,
                                                    [SEES] = DCLI_MSG_SEES,
                                                    [STOP] = DCLI_MSG_STOP};
    fuzz_input *input = &others->session.input;
    message->kind = kinds[event];
    *from = others->session.nodes;
    switch (event) {
    case KERNEL:
        return fuzz_say_kernel(others, message);
    case KNOWN:
        return fuzz_say_known(others, message);
    case SEES:
        fuzz_say_sees(others, message);
        return DCL_OK;
    case GRANT:
        return fuzz_expected_grant(fuzz_node_of(others), input, from, &message->grant) ? DCL_OK : DCL_ERR_TIMEOUT;
    case WRONG_GRANT:
        *from = fuzz_choose_peer(others);
        message->grant =
            (dcli_msg_grant){.operation = fuzz_near(&others->program, input), .chunks = fuzz_below(input, 20)};
        return DCL_OK;
    case CREDIT:
        return fuzz_expected_credit(fuzz_node_of(others), input, from, &message->credit) ? DCL_OK : DCL_ERR_TIMEOUT;
    case MARKS:
        *from = fuzz_choose_node(others);
        fuzz_say_marks(others, *from, message);
        return DCL_OK;
    case RISEN:
        *from = fuzz_choose_node(others);
        message->risen = (dcli_msg_risen){.done = fuzz_near(&others->program, input), .ready = fuzz_below(input, 4)};
        fuzz_say_notices(others->session.nodes, input, &message->risen);
        return DCL_OK;
    case FAILED:
        *from = fuzz_choose_peer(others);
        fuzz_say_failed(others, *from, message);
        return DCL_OK;
    case STOP:
        return DCL_OK;
    default:
        return fuzz_say_operations(others, message);
    }
}

static dcl_status one_event(fuzz_others *others, dcli_incoming *incoming)
{
    enum { TWISTED = 192, ANY_SENDER = 224 };
    fuzz_session *session = &others->session;
    int byte = fuzz_byte(&session->input), from;
    enum event event = fuzz_event(byte, EVENTS, PAUSE);
    bool twisted = byte >= TWISTED;
    dcl_status status = special_event(others, event, twisted, incoming);
    if (status != DCL_ERR_INTERNAL)
        return status;
    dcli_message message = {0};
    bool broken = event == BROKEN;
    if (broken)
        event = (enum event)fuzz_below(&session->input, SEES);
    status = make_message(others, event, &message, &from);
    if (status != DCL_OK)
        return status;
    if (broken)
        return fuzz_deliver_broken(session, from, &message, incoming);
    bool word = message.kind == DCLI_MSG_KERNEL || message.kind == DCLI_MSG_OPERATIONS;
    if ((twisted && byte >= ANY_SENDER) || (word && others->is_tree))
        from = fuzz_choose_peer(others);
    else if (twisted)
        fuzz_twist(&session->input, &message);
    for (int n = 0; message.kind == DCLI_MSG_OPERATIONS && n < message.operations.count; n++)
        fuzz_tame(&message.operations.operation[n]);
    return fuzz_deliver(session, from == session->self ? session->nodes : from, &message, 0, -1, incoming);
}

static dcl_status next_event(fuzz_session *session, dcli_incoming *incoming)
{
    fuzz_others *other = (fuzz_others *)session;
    if (session->input.at < session->input.end) {
        if (!other->set_up && other->early-- <= 0)
            return fuzz_say_setup(other, fuzz_byte(&session->input) >= 224, incoming);
        dcl_status status = one_event(other, incoming);
        if (status == DCL_OK && incoming->from == session->self)
            incoming->from = session->nodes;
        return status;
    }
    null_device_end();
    fuzz_demand(session->asked_after_end++ < 20, "a node goes on without its host");
    return fuzz_disconnect(session, session->nodes, incoming);
}

/* ---- an input ----------------------------------------------------------------------------------------------------- */

/* @param options  bits 0..1: nodes - 1; 2..3: its number; 4..5: nodes that are absent; 6: a slow device; 7: events come before
 *  SETUP; 8: over tcp. */
void fuzz_node(fuzz_input input, int options)
{
    fuzz_others other = {.session = {.input = input, .number = 77, .next = next_event},
                         .program = {.folder = fuzz_folder()},
                         .early = (options & 0x80) != 0 ? 3 : 0};
    fuzz_session *session = &other.session;
    session->nodes = 1 + (options & 3);
    session->self = (options >> 2 & 3) % session->nodes;
    other.program.nodes = session->nodes;
    for (int p = 0; p < session->nodes; p++)
        session->present[p] = p == session->self || p < session->nodes - (options >> 4 & 3);
    dcli_serving *serving = other.serving = dcli_calloc(1, sizeof *serving);
    serving->is_wire = (options & 0x100) != 0;
    serving->session = session->number;
    serving->self = session->self;
    serving->node_count = session->nodes;
    serving->lifeline = serving->control = -1;
    if (dcli_files_hold(fuzz_folder(), &serving->files) != DCL_OK)
        abort();
    serving->buffers = serving->is_wire ? dcli_buffers_open() : dcli_buffers_open_shared();
    serving->endpoint = fuzz_endpoint(fuzz_net(), session);
    null_device_set(&(null_device_terms){.separate = serving->is_wire, .slow = (options & 0x40) != 0});
    if (open_device(serving) == DCL_OK)
        serve(serving);
    null_device_set(&(null_device_terms){0});
    close_serving(serving);
}
