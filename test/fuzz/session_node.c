/* fuzz/session_node.c - a node: all that a worker process does from its device on, with a device that is none. */
#include "fuzz/session.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz/expected.h"
#include "fuzz/null_device.h"
#include "fuzz/program.h"
#include "worker/peer.h"
#include "worker/serve.c" /* NOLINT: its functions begin behind a process that has been started */

typedef struct fuzz_peer {
    int64_t done, ready;
} fuzz_peer;

/* What the other peers have done. */
typedef struct others {
    fuzz_session session; /* first: the transport knows it by this address */
    dcli_serving *serving;
    fuzz_program program;
    fuzz_peer peer[FUZZ_MOST_NODES];
    int64_t epoch;
    int early; /* events before SETUP */
    bool set_up, is_tree;
} others;

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

void __wrap_dcli_watch_limits(dcli_watch *watch, int64_t build_ms, int64_t kernel_ms);
void __wrap_dcli_watch_limits(dcli_watch *watch, int64_t build_ms, int64_t kernel_ms)
{
    (void)watch;
    fuzz_demand(build_ms <= INT64_MAX / 1000000 && kernel_ms <= INT64_MAX / 1000000, "a deadline overflows");
}

/* ---- events ------------------------------------------------------------------------------------------------------- */

/* One of the peers: the host every now and then. */
static int choose_peer(others *others) { return fuzz_below(&others->session.input, others->session.nodes + 1); }

static int choose_node(others *others)
{
    int node = fuzz_below(&others->session.input, others->session.nodes);
    return node == others->session.self ? (node + 1) % others->session.nodes : node;
}

static dcl_status set_up(others *others, bool twisted, dcli_incoming *incoming)
{
    static dcli_msg_peer peers[FUZZ_MOST_NODES];
    fuzz_session *session = &others->session;
    int bits = fuzz_byte(&session->input);
    for (int p = 0; p < session->nodes; p++)
        peers[p] = (dcli_msg_peer){.present = session->present[p],
                                   .in_place = !others->serving->is_wire && (bits >> p & 1) != 0,
                                   .address = "tcp://127.0.0.1:7"};
    dcli_message message = {.kind = DCLI_MSG_SETUP,
                            .setup = {.self = session->self,
                                      .peer_count = session->nodes,
                                      .peer = peers,
                                      .first_operation = 1 + others->program.operations,
                                      .tile_bytes = 64,
                                      .chunk_bytes = (bits & 0x40) != 0 ? 8 : 64,
                                      .pool_bytes = (bits & 0x80) != 0 ? 64 : 4096,
                                      .quota_bytes = (bits & 0x20) != 0 ? 2000 : 0,
                                      .silence_ms = 1000,
                                      .build_ms = 1000,
                                      .kernel_ms = 1000,
                                      .fanout = 1 + (bits & 1),
                                      .tree_nodes = (bits & 2) != 0 ? session->nodes : 0,
                                      .fault = (bits & 0x10) != 0 ? "alloc node=0 count=1" : ""}};
    if (twisted)
        fuzz_twist(&session->input, &message);
    message.setup.log = 0;
    others->is_tree = message.setup.tree_nodes > message.setup.fanout;
    others->set_up = true;
    return fuzz_deliver(session, session->nodes, &message, 0, -1, incoming);
}

static dcl_status tell_kernel(others *others, dcli_message *message)
{
    static dcli_msg_parameter parameters[DCLI_MOST_OPERANDS];
    return fuzz_kernel(&others->program, &others->session.input, &message->kernel, parameters) ? DCL_OK
                                                                                               : DCL_ERR_TIMEOUT;
}

static dcl_status tell_operations(others *others, dcli_message *message)
{
    enum { MOST = 4 };
    static dcli_msg_operation operations[MOST];
    static dcli_msg_operand operands[MOST][DCLI_MOST_OPERANDS];
    int wanted = 1 + fuzz_below(&others->session.input, MOST), count = 0;
    while (wanted-- > 0)
        count += fuzz_operation(&others->program, &others->session.input, &operations[count], operands[count]);
    message->operations = (dcli_msg_operations){.count = count, .operation = operations, .epoch = others->epoch};
    return count > 0 ? DCL_OK : DCL_ERR_TIMEOUT;
}

/* A storage that there was before the node joined: it has no number. */
static dcl_status tell_known(others *others, dcli_message *message)
{
    static dcli_msg_operation operation;
    static dcli_msg_operand operands[DCLI_MOST_OPERANDS];
    operation = (dcli_msg_operation){.operand = operands};
    if (!fuzz_create(&others->program, &others->session.input, &operation, operands))
        return DCL_ERR_TIMEOUT;
    message->operations = (dcli_msg_operations){.count = 1, .operation = &operation};
    return DCL_OK;
}

static const dcli_node *node_of(const others *others)
{
    return others->serving->worker != NULL ? others->serving->worker->node : NULL;
}

/* Bytes of the chunk that is meant, if there is one. */
static size_t chunk_bytes(const others *others, int from, const dcli_msg_chunk *chunk)
{
    const dcli_worker *worker = others->serving->worker;
    int planned_for = chunk->stream != 0 ? from : others->session.self;
    int other = chunk->stream != 0 ? others->session.self : from;
    const dcli_plan *plan =
        worker != NULL && worker->node != NULL ? dcli_node_plan(worker->node, chunk->operation, planned_for) : NULL;
    for (int64_t c = 0; plan != NULL && c < plan->chunk_count; c++)
        if (plan->chunk[c].peer == other && plan->chunk[c].written == (chunk->stream != 0) &&
            plan->chunk[c].number == chunk->chunk)
            return (size_t)plan->chunk[c].bytes;
    return 8;
}

static dcl_status tell_chunk(others *others, bool twisted, dcli_incoming *incoming)
{
    fuzz_input *input = &others->session.input;
    int from, bits;
    size_t bytes;
    dcli_message message = {.kind = DCLI_MSG_CHUNK};
    if (!twisted) {
        if (!fuzz_expected_chunk(node_of(others), input, &from, &message.chunk, &bytes))
            return DCL_ERR_TIMEOUT;
        return fuzz_deliver(&others->session, from, &message, bytes, -1, incoming);
    }
    from = choose_peer(others);
    bits = fuzz_byte(input);
    message.chunk = (dcli_msg_chunk){.operation = fuzz_near(&others->program, input),
                                     .stream = bits & 1,
                                     .chunk = bits >> 1 & 15,
                                     .status = (bits & 0xe0) == 0xe0 ? DCL_ERR_NOMEM : DCL_OK};
    bytes = message.chunk.status == DCL_OK ? chunk_bytes(others, from, &message.chunk) : 0;
    if (fuzz_flag(input))
        bytes = (size_t)fuzz_byte(input);
    else if (fuzz_flag(input))
        fuzz_twist(input, &message);
    return fuzz_deliver(&others->session, from, &message, bytes, -1, incoming);
}

static void tell_marks(others *others, int from, dcli_message *message)
{
    static fuzz_peer host;
    fuzz_peer *peer = from < others->session.nodes ? &others->peer[from] : &host;
    fuzz_input *input = &others->session.input;
    if (from == others->session.nodes)
        host = (fuzz_peer){0};
    peer->done += fuzz_below(input, 4);
    peer->ready += fuzz_below(input, 4);
    if (peer->ready > peer->done)
        peer->ready = peer->done;
    message->marks = (dcli_msg_marks){.done = peer->done, .ready = peer->ready};
}

static void tell_failed(others *others, int from, dcli_message *message)
{
    static int64_t storages[4];
    fuzz_input *input = &others->session.input;
    int count = fuzz_below(input, 4);
    for (int s = 0; s < count; s++)
        storages[s] = fuzz_storage(&others->program, input);
    message->failed = (dcli_msg_failed){.operation = fuzz_near(&others->program, input),
                                        .node = from,
                                        .status = DCL_ERR_NOMEM,
                                        .cause = true,
                                        .storage_count = count,
                                        .storage = storages,
                                        .sentence = "it failed"};
}

/* Memory such as peers show: sealed or not, long enough or not. */
static int some_memory(int which)
{
    static int memory[4] = {-1, -1, -1, -1};
    static const off_t sizes[4] = {16384, 64, 0, 16384};
    if (memory[which] < 0) {
        memory[which] = memfd_create("part", MFD_CLOEXEC | MFD_ALLOW_SEALING);
        fuzz_demand(ftruncate(memory[which], sizes[which]) == 0, "no memory to show");
        if (which != 3)
            fcntl(memory[which], F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW);
    }
    return memory[which];
}

static int64_t part_bytes(const others *others, int from, int64_t storage)
{
    const dcli_worker *worker = others->serving->worker;
    const dcli_held *held = worker != NULL ? dcli_catalog_held(&worker->catalog, storage) : NULL;
    if (held == NULL || from >= others->session.nodes)
        return 64;
    const dcli_layout *layout = &held->shared->layout;
    int64_t bytes = dcli_layout_storage(layout, from) * (int64_t)dcl_type_bytes(layout->grid.type);
    return bytes > 0 ? bytes : 1;
}

static dcl_status show_part(others *others, int from, bool twisted, dcli_incoming *incoming)
{
    fuzz_input *input = &others->session.input;
    int which = twisted ? fuzz_below(input, 5) : 0;
    int64_t storage = fuzz_storage(&others->program, input);
    dcli_message message = {.kind = DCLI_MSG_PART,
                            .part = {.storage = storage, .bytes = part_bytes(others, from, storage)}};
    if (twisted && fuzz_flag(input))
        fuzz_twist(input, &message);
    int descriptor = which < 4 ? fcntl(some_memory(which), F_DUPFD_CLOEXEC, 3) : -1;
    return fuzz_deliver(&others->session, from, &message, 0, descriptor, incoming);
}

static dcl_status tell_lost(others *others, bool twisted, dcli_incoming *incoming)
{
    fuzz_session *session = &others->session;
    dcli_message message = {.kind = DCLI_MSG_LOST,
                            .lost = {.peer = choose_node(others), .epoch = ++others->epoch, .sentence = "it is lost"}};
    if (twisted)
        fuzz_twist(&session->input, &message);
    if (message.lost.peer < session->nodes)
        session->present[message.lost.peer] = false;
    return fuzz_deliver(session, session->nodes, &message, 0, -1, incoming);
}

/* The socket of a link that carries its memory, or one that carries nothing. */
static int some_link(bool right)
{
    dcli_shared_link ends[2];
    fuzz_demand(dcli_shared_link_make(ends) == DCL_OK, "no link");
    if (right)
        right = dcli_shared_link_fold(&ends[1], &ends[0]) == DCL_OK;
    if (!right)
        close(ends[1].memory);
    dcli_shared_link_close(&ends[0]);
    return ends[1].socket;
}

static dcl_status tell_joined(others *others, bool twisted, dcli_incoming *incoming)
{
    fuzz_session *session = &others->session;
    int node = choose_node(others), how = fuzz_below(&session->input, 4);
    dcli_message message = {.kind = DCLI_MSG_JOINED,
                            .joined = {.peer = node,
                                       .epoch = ++others->epoch,
                                       .first_operation = others->program.operations + 1,
                                       .address = "tcp://127.0.0.1:7",
                                       .in_place = fuzz_flag(&session->input)}};
    if (twisted)
        fuzz_twist(&session->input, &message);
    session->present[node] = true;
    bool has_link = !others->serving->is_wire && how > 0;
    return fuzz_deliver(session, session->nodes, &message, 0, has_link ? some_link(how > 1) : -1, incoming);
}

static void ask_for_file(others *others, dcli_message *message)
{
    message->sees = (dcli_msg_sees){.number = 1,
                                    .path = fuzz_path(&others->program, &others->session.input),
                                    .token = "0123456789abcdef0123456789abcdef"};
}

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
static dcl_status special_event(others *others, enum event event, bool twisted, dcli_incoming *incoming)
{
    fuzz_session *session = &others->session;
    switch (event) {
    case CHUNK:
    case MORE_CHUNKS:
        return tell_chunk(others, twisted, incoming);
    case PART:
        return show_part(others, choose_node(others), twisted, incoming);
    case LOST:
        return tell_lost(others, twisted, incoming);
    case JOINED:
        return tell_joined(others, twisted, incoming);
    case ANYTHING:
        return fuzz_deliver_any(session, choose_peer(others), incoming);
    case PAUSE:
        return DCL_ERR_TIMEOUT;
    case GONE:
        return fuzz_disconnect(session, choose_node(others), incoming);
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
static dcl_status make_message(others *others, enum event event, dcli_message *message, int *from)
{
    static const dcli_message_kind kinds[EVENTS] = {[KERNEL] = DCLI_MSG_KERNEL,
                                                    [OPERATIONS] = DCLI_MSG_OPERATIONS,
                                                    [MORE_OPERATIONS] = DCLI_MSG_OPERATIONS,
                                                    [KNOWN] = DCLI_MSG_OPERATIONS,
                                                    [GRANT] = DCLI_MSG_GRANT,
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
        return tell_kernel(others, message);
    case KNOWN:
        return tell_known(others, message);
    case SEES:
        ask_for_file(others, message);
        return DCL_OK;
    case GRANT:
        return fuzz_expected_grant(node_of(others), input, from, &message->grant) ? DCL_OK : DCL_ERR_TIMEOUT;
    case WRONG_GRANT:
        *from = choose_peer(others);
        message->grant =
            (dcli_msg_grant){.operation = fuzz_near(&others->program, input), .chunks = fuzz_below(input, 20)};
        return DCL_OK;
    case CREDIT:
        return fuzz_expected_credit(node_of(others), input, from, &message->credit) ? DCL_OK : DCL_ERR_TIMEOUT;
    case MARKS:
        *from = choose_node(others);
        tell_marks(others, *from, message);
        return DCL_OK;
    case RISEN:
        *from = choose_node(others);
        message->risen = (dcli_msg_risen){.done = fuzz_near(&others->program, input), .ready = fuzz_below(input, 4)};
        return DCL_OK;
    case FAILED:
        *from = choose_peer(others);
        tell_failed(others, *from, message);
        return DCL_OK;
    case STOP:
        return DCL_OK;
    default:
        return tell_operations(others, message);
    }
}

static dcl_status one_event(others *others, dcli_incoming *incoming)
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
        from = choose_peer(others);
    else if (twisted)
        fuzz_twist(&session->input, &message);
    for (int n = 0; message.kind == DCLI_MSG_OPERATIONS && n < message.operations.count; n++)
        fuzz_tame(&message.operations.operation[n]);
    return fuzz_deliver(session, from == session->self ? session->nodes : from, &message, 0, -1, incoming);
}

static dcl_status next_event(fuzz_session *session, dcli_incoming *incoming)
{
    others *other = (others *)session;
    if (session->input.at < session->input.end) {
        if (!other->set_up && other->early-- <= 0)
            return set_up(other, fuzz_byte(&session->input) >= 224, incoming);
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
    others other = {.session = {.input = input, .number = 77, .next = next_event},
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
    serving->files = fuzz_folder();
    serving->buffers = serving->is_wire ? dcli_buffers_open() : dcli_buffers_open_shared();
    serving->endpoint = fuzz_endpoint(fuzz_net(), session);
    null_device_set(&(null_device_terms){.separate = serving->is_wire, .slow = (options & 0x40) != 0});
    if (open_device(serving) == DCL_OK)
        serve(serving);
    null_device_set(&(null_device_terms){0});
    close_serving(serving);
}
