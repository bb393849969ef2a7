/* fuzz/node_says.c - messages of the host and of the other nodes. */
#include "fuzz/node_says.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/check.h"
#include "fuzz/expected.h"
#include "worker/stealing.h"

int fuzz_choose_peer(fuzz_others *others) { return fuzz_below(&others->session.input, others->session.nodes + 1); }

int fuzz_choose_node(fuzz_others *others)
{
    int node = fuzz_below(&others->session.input, others->session.nodes);
    return node == others->session.self ? (node + 1) % others->session.nodes : node;
}

dcl_status fuzz_say_setup(fuzz_others *others, bool twisted, dcli_incoming *incoming)
{
    static dcli_msg_peer peers[FUZZ_MOST_NODES];
    fuzz_session *session = &others->session;
    int bits = fuzz_byte(&session->input);
    for (int p = 0; p < session->nodes; p++)
        peers[p] = (dcli_msg_peer){.present = session->present[p],
                                   .can = !others->serving->is_wire && (bits >> p & 1) != 0 ? DCLI_CAN_ALL : 0,
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
                                      .plan_ms = 1000,
                                      .fanout = 1 + (bits & 1),
                                      .trace_bytes = (bits & 8) != 0 ? 4096 : 0,
                                      .steal = (bits & 4) != 0 ? DCL_STEAL_ALWAYS : DCL_STEAL_NEVER,
                                      .tree_nodes = (bits & 2) != 0 ? session->nodes : 0,
                                      .fault = (bits & 0x10) != 0 ? "alloc node=0 count=1" : ""}};
    if (twisted)
        fuzz_twist(&session->input, &message);
    message.setup.log = 0;
    others->is_tree = message.setup.tree_nodes > message.setup.fanout;
    others->set_up = true;
    others->lends = message.setup.steal > DCL_STEAL_NEVER;
    return fuzz_deliver(session, session->nodes, &message, 0, -1, incoming);
}

dcl_status fuzz_say_kernel(fuzz_others *others, dcli_message *message)
{
    static dcli_msg_parameter parameters[DCLI_MOST_OPERANDS];
    return fuzz_kernel(&others->program, &others->session.input, &message->kernel, parameters) ? DCL_OK
                                                                                               : DCL_ERR_TIMEOUT;
}

/* Repeat the last operation of a message. */
static void repeat_last(fuzz_program *program, int times, dcli_msg_operations *message)
{
    static int64_t order[DCLI_MOST_ORDER];
    memset(order, 0, sizeof order);
    for (int n = 0; n < times; n++)
        order[message->count + n] = message->count;
    message->order = order;
    message->order_count = times > 0 ? message->count + times : 0;
    program->operations += times;
}

dcl_status fuzz_say_operations(fuzz_others *others, dcli_message *message)
{
    enum { MOST = 4 };
    static dcli_msg_operation operations[MOST];
    static dcli_msg_operand operands[MOST][DCLI_MOST_OPERANDS];
    int byte = fuzz_byte(&others->session.input), wanted = 1 + byte % MOST, count = 0;
    while (wanted-- > 0)
        count += fuzz_operation(&others->program, &others->session.input, &operations[count], operands[count]);
    message->operations = (dcli_msg_operations){.count = count, .operation = operations, .epoch = others->epoch};
    if (count > 0 && operations[count - 1].kind == DCLI_OP_FORALL)
        repeat_last(&others->program, byte / 32, &message->operations);
    return count > 0 ? DCL_OK : DCL_ERR_TIMEOUT;
}

dcl_status fuzz_say_known(fuzz_others *others, dcli_message *message)
{
    static dcli_msg_operation operation;
    static dcli_msg_operand operands[DCLI_MOST_OPERANDS];
    operation = (dcli_msg_operation){.operand = operands};
    if (!fuzz_create(&others->program, &others->session.input, &operation, operands))
        return DCL_ERR_TIMEOUT;
    message->operations = (dcli_msg_operations){.count = 1, .operation = &operation};
    return DCL_OK;
}

const dcli_node *fuzz_node_of(const fuzz_others *others)
{
    return others->serving->worker != NULL ? others->serving->worker->node : NULL;
}

/* Bytes of the chunk that is meant, if there is one. */
static size_t chunk_bytes(const fuzz_others *others, int from, const dcli_msg_chunk *chunk)
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

/* A message of lending, from `from`. @param bytes_out  of its payload */
static void make_loan(fuzz_others *others, int from, dcli_message *message, size_t *bytes_out)
{
    fuzz_input *input = &others->session.input;
    int bits = fuzz_byte(input);
    int64_t question = 1 + (bits >> 3 & 3), batch = bits >> 5 & 3;
    int64_t operation = dcli_max(1, fuzz_near(&others->program, input));
    *bytes_out = 0;
    message->kind = (dcli_message_kind)(DCLI_MSG_HUNGRY + fuzz_below(input, DCLI_MSG_RETURNED - DCLI_MSG_HUNGRY + 1));
    switch (message->kind) {
    case DCLI_MSG_HUNGRY:
        question = ++others->questions[from % FUZZ_MOST_NODES] - ((bits & 7) == 0);
        message->hungry = (dcli_msg_hungry){.question = question,
                                            .first = 1,
                                            .upto = operation,
                                            .bytes = INT64_C(1) << fuzz_below(input, 16),
                                            .kind = others->serving->worker != NULL &&
                                                            others->serving->worker->as_node->stealing != NULL
                                                        ? others->serving->worker->as_node->stealing->kind
                                                        : 0};
        break;
    case DCLI_MSG_NOTHING:
        message->nothing.question = question;
        break;
    case DCLI_MSG_LENT:
        message->lent = (dcli_msg_lent){question, operation, batch, 1 + (bits & 3), 0, bits >> 2 & 3};
        break;
    case DCLI_MSG_LOAN:
        message->loan = (dcli_msg_loan){question, operation, batch, (bits & 1) != 0, bits >> 1 & 3};
        *bytes_out = (size_t)8 << fuzz_below(input, 5);
        break;
    case DCLI_MSG_RECALL:
        message->recall = (dcli_msg_recall){question, operation, batch};
        break;
    case DCLI_MSG_RESULT:
        message->result = (dcli_msg_result){question, operation, batch, 1000, 1000};
        break;
    default:
        message->returned = (dcli_msg_returned){question, operation, batch};
        break;
    }
}

dcl_status fuzz_say_loan(fuzz_others *others, dcli_incoming *incoming)
{
    int from = fuzz_choose_peer(others);
    size_t bytes;
    dcli_message message = {0};
    make_loan(others, from, &message, &bytes);
    return fuzz_deliver(&others->session, from, &message, bytes, -1, incoming);
}

dcl_status fuzz_say_chunk(fuzz_others *others, bool twisted, dcli_incoming *incoming)
{
    fuzz_input *input = &others->session.input;
    int from, bits;
    size_t bytes;
    dcli_message message = {.kind = DCLI_MSG_CHUNK};
    if (!twisted) {
        if (!fuzz_expected_chunk(fuzz_node_of(others), input, &from, &message.chunk, &bytes))
            return DCL_ERR_TIMEOUT;
        return fuzz_deliver(&others->session, from, &message, bytes, -1, incoming);
    }
    from = fuzz_choose_peer(others);
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

void fuzz_say_marks(fuzz_others *others, int from, dcli_message *message)
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

void fuzz_say_failed(fuzz_others *others, int from, dcli_message *message)
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

static int64_t part_bytes(const fuzz_others *others, int from, int64_t storage)
{
    const dcli_worker *worker = others->serving->worker;
    const dcli_known_storage *held =
        worker != NULL ? dcli_storage_table_find(&worker->catalog.storage_table, storage) : NULL;
    if (held == NULL || from >= others->session.nodes)
        return 64;
    const dcli_layout *layout = held->shared->layout;
    int64_t bytes = dcli_layout_storage(layout, from) * (int64_t)dcl_type_bytes(layout->grid.type);
    return bytes > 0 ? bytes : 1;
}

dcl_status fuzz_say_part(fuzz_others *others, int from, bool twisted, dcli_incoming *incoming)
{
    fuzz_input *input = &others->session.input;
    int which = twisted ? fuzz_below(input, 5) : 0;
    int64_t storage = fuzz_storage(&others->program, input);
    dcli_message message = {
        .kind = DCLI_MSG_PART,
        .part = {.storage = storage, .bytes = part_bytes(others, from, storage), .memfd = ++others->memfds_shown}};
    if (twisted && fuzz_flag(input))
        fuzz_twist(input, &message);
    if (twisted && which == 4 && fuzz_flag(input)) { /* in memory shown before, or that has ended */
        message.part.memfd = 1 + fuzz_below(input, 8);
        message.part.offset = fuzz_below(input, 3) * 4096;
    }
    if (twisted && fuzz_flag(input))
        message = (dcli_message){.kind = DCLI_MSG_FORGET, .forget.memfd = 1 + fuzz_below(input, 8)};
    int descriptor = which < 4 && message.kind == DCLI_MSG_PART ? fcntl(some_memory(which), F_DUPFD_CLOEXEC, 3) : -1;
    return fuzz_deliver(&others->session, from, &message, 0, descriptor, incoming);
}

dcl_status fuzz_say_lost(fuzz_others *others, bool twisted, dcli_incoming *incoming)
{
    fuzz_session *session = &others->session;
    dcli_message message = {
        .kind = DCLI_MSG_LOST,
        .lost = {.peer = fuzz_choose_node(others), .epoch = ++others->epoch, .sentence = "it is lost"}};
    if (twisted)
        fuzz_twist(&session->input, &message);
    if (message.lost.peer < session->nodes)
        session->present[message.lost.peer] = false;
    return fuzz_deliver(session, session->nodes, &message, 0, -1, incoming);
}

dcl_status fuzz_say_joined(fuzz_others *others, bool twisted, dcli_incoming *incoming)
{
    fuzz_session *session = &others->session;
    int node = fuzz_choose_node(others);
    dcli_message message = {.kind = DCLI_MSG_JOINED,
                            .joined = {.peer = node,
                                       .epoch = ++others->epoch,
                                       .first_operation = others->program.operations + 1,
                                       .address = "tcp://127.0.0.1:7",
                                       .can = fuzz_flag(&session->input) ? DCLI_CAN_ALL : 0}};
    if (twisted)
        fuzz_twist(&session->input, &message);
    session->present[node] = true;
    return fuzz_deliver(session, session->nodes, &message, 0, -1, incoming);
}

void fuzz_say_sees(fuzz_others *others, dcli_message *message)
{
    message->sees = (dcli_msg_sees){.number = 1,
                                    .path = fuzz_path(&others->program, &others->session.input),
                                    .token = "0123456789abcdef0123456789abcdef"};
}
