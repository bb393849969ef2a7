/* sim/link.c - messages of a simulated cluster: their sizes, the time they take, and the tree of descriptors and
 * watermarks. */
#include <string.h>

#include "base/alloc.h"
#include "base/check.h"
#include "sim/state.h"

/* ---- sizes -------------------------------------------------------------------------------------------------------- */

/* Messages of lending: the fields of the event are explained in sim/state.h. */
static void set_loan(dcli_message *message, const dcli_sim_event *event)
{
    int64_t question = event->question, operation = event->operation, batch = event->number;
    switch (message->kind) {
    case DCLI_MSG_HUNGRY:
        message->hungry = (dcli_msg_hungry){question, operation, event->number, event->chunk, UINT64_MAX / 2, 0};
        break;
    case DCLI_MSG_NOTHING:
        message->nothing = (dcli_msg_nothing){question};
        break;
    case DCLI_MSG_LENT:
        message->lent = (dcli_msg_lent){question, operation, batch, event->chunk, 0, 1};
        break;
    case DCLI_MSG_LOAN:
        message->loan = (dcli_msg_loan){question, operation, batch, event->written, event->chunk};
        break;
    case DCLI_MSG_RECALL:
        message->recall = (dcli_msg_recall){question, operation, batch};
        break;
    case DCLI_MSG_RESULT:
        message->result = (dcli_msg_result){question, operation, batch, event->chunk, 0};
        break;
    default:
        message->returned = (dcli_msg_returned){question, operation, batch};
    }
}

dcli_msg_failed dcli_sim_failed(const dcli_sim *sim, int64_t number, int64_t storages[])
{
    const dcli_operation *operation = dcli_sim_operation(sim, number);
    dcli_msg_failed failed = {.operation = number, .status = DCL_ERR_DEVICE, .storage = storages, .sentence = ""};
    for (int k = 0; k < operation->operand_count; k++)
        if (operation->operand[k].writes)
            storages[failed.storage_count++] = operation->operand[k].storage;
    return failed;
}

static int64_t packed_bytes(dcli_sim *sim, int from, const dcli_sim_event *event)
{
    dcli_msg_operand operands[DCLI_SIM_STORAGES];
    dcli_msg_operation descriptor;
    int64_t storages[DCLI_MAX_PARAMS];
    dcli_message message = {.kind = event->message, .epoch = UINT64_MAX / 2};
    switch (message.kind) {
    case DCLI_MSG_OPERATIONS:
        descriptor = dcli_sim_describe(&sim->program, dcli_sim_operation(sim, event->operation), sim->host, operands);
        message.operations = (dcli_msg_operations){.count = 1, .operation = &descriptor, .epoch = 1};
        break;
    case DCLI_MSG_GRANT:
        message.grant = (dcli_msg_grant){event->operation, event->number, event->failed};
        break;
    case DCLI_MSG_CREDIT:
        message.credit = (dcli_msg_credit){event->number};
        break;
    case DCLI_MSG_CHUNK:
        message.chunk =
            (dcli_msg_chunk){.operation = event->operation, .stream = event->written, .chunk = event->number};
        break;
    case DCLI_MSG_MARKS:
        message.marks = (dcli_msg_marks){.done = event->done, .ready = event->ready};
        if (event->to == sim->host)
            memcpy(message.marks.counter, &sim->node[from].counters, sizeof message.marks.counter);
        break;
    case DCLI_MSG_FAILED:
        message.failed = dcli_sim_failed(sim, event->operation, storages);
        break;
    case DCLI_MSG_RISEN:
        message.risen = (dcli_msg_risen){.done = event->done, .ready = event->ready};
        break;
    default:
        set_loan(&message, event);
    }
    dcli_sim_check(sim, dcli_message_pack_into(&message, &sim->packed));
    return (int64_t)sim->packed.length;
}

/* ---- links -------------------------------------------------------------------------------------------------------- */

static double wire_ns(const dcli_sim *sim, int64_t bytes) { return 1e9 * (double)bytes / sim->settings->bandwidth; }

static void count(dcli_sim *sim, int from, int to, int64_t bytes, bool is_data)
{
    dcl_sim_figures *figures = &sim->figures;
    dcl_sim_traffic *of[] = {is_data ? &figures->data : &figures->control,
                             from == sim->host ? &figures->host_out : NULL, to == sim->host ? &figures->host_in : NULL};
    for (int n = 0; n < 3; n++)
        if (of[n] != NULL) {
            of[n]->messages++;
            of[n]->bytes += bytes;
        }
    sim->node[from].control += !is_data;
    sim->node[to].control += !is_data;
    sim->node[from].bytes_out += is_data ? bytes : 0;
    sim->node[to].bytes_in += is_data ? bytes : 0;
}

static void count_failed(dcli_sim *sim, int64_t operation)
{
    int64_t *messages = &sim->failed[operation - 1];
    sim->figures.failed += *messages == 0;
    sim->figures.failed_most = dcli_max(sim->figures.failed_most, ++*messages);
}

void dcli_sim_send(dcli_sim *sim, int from, int to, dcli_sim_event event, int64_t payload)
{
    dcli_sim_node *node = &sim->node[from];
    event.kind = DCLI_SIM_BEGINS;
    event.from = from;
    event.to = to;
    event.bytes += packed_bytes(sim, from, &event) + payload;
    node->counters.messages_sent++;
    node->counters.bytes_sent += event.bytes;
    if (sim->counts)
        count(sim, from, to, event.bytes, payload > 0);
    if (event.message == DCLI_MSG_FAILED)
        count_failed(sim, event.operation);
    node->clock += sim->settings->message_ns;
    int64_t begin = dcli_max(node->clock, node->out_free);
    node->out_free = dcli_sim_end(sim, begin, wire_ns(sim, event.bytes));
    dcli_sim_check(sim, dcli_sim_clock_post(&sim->clock, &event, begin + sim->settings->latency_ns));
}

void dcli_sim_receive(dcli_sim *sim, const dcli_sim_event *event)
{
    dcli_sim_node *node = &sim->node[event->to];
    dcli_sim_event arrival = *event;
    arrival.kind = DCLI_SIM_ARRIVES;
    node->in_free = dcli_sim_end(sim, dcli_max(sim->clock.now, node->in_free), wire_ns(sim, event->bytes));
    dcli_sim_check(sim, dcli_sim_clock_post(&sim->clock, &arrival, node->in_free));
}

/* ---- the tree of worker/tree.c, if no node is lost ---------------------------------------------------------------- */

static bool is_tree(const dcli_sim *sim) { return sim->host > sim->settings->fanout; }

/* The children of a node, or of the program: first .. end - 1. */
static void children(const dcli_sim *sim, int node, int *first_out, int *end_out)
{
    int64_t fanout = sim->settings->fanout;
    int64_t first = node == sim->host ? 0 : is_tree(sim) ? fanout * (node + 1) : sim->host;
    int64_t end = node == sim->host && !is_tree(sim) ? sim->host : first + fanout;
    *first_out = (int)dcli_min(first, sim->host);
    *end_out = (int)dcli_min(end, sim->host);
}

static int parent(const dcli_sim *sim, int node)
{
    int fanout = sim->settings->fanout;
    return !is_tree(sim) || node < fanout ? sim->host : node / fanout - 1;
}

int64_t dcli_sim_proof_bytes(int nodes, int fanout, int top)
{
    enum { TAG = 9, SHORT = 15, MEDIUM = 65535 }; /* msgpack: 64 bits; most items of arrays with short heads */
    int64_t items = 0, bytes = 0, first = top, end = (int64_t)top + 1;
    if (nodes <= fanout)
        return 0;
    for (; first < nodes; first = fanout * (first + 1), end = fanout * end + fanout)
        for (int64_t node = first; node < end && node < nodes; node++) {
            if (node < fanout) /* the program's own message needs no tag */
                continue;
            items += 2;
            bytes += TAG + (node < 128 ? 1 : node < 256 ? 2 : 3);
        }
    return bytes + (items == 0 ? 0 : items <= SHORT ? 1 : items <= MEDIUM ? 3 : 5);
}

void dcli_sim_send_down(dcli_sim *sim, int from, dcli_message_kind kind, int64_t operation)
{
    int first, end;
    bool proven = kind == DCLI_MSG_OPERATIONS;
    children(sim, from, &first, &end);
    for (int child = first; child < end; child++)
        dcli_sim_send(
            sim, from, child,
            (dcli_sim_event){.message = (uint8_t)kind,
                             .operation = operation,
                             .bytes = proven ? dcli_sim_proof_bytes(sim->host, sim->settings->fanout, child) : 0},
            0);
}

void dcli_sim_rise(dcli_sim *sim, int n)
{
    dcli_sim_node *node = &sim->node[n];
    int64_t done, ready;
    int first, end;
    node->host_due = false;
    dcli_node_watermarks(node->machine, &done, &ready);
    children(sim, n, &first, &end);
    for (int child = first; child < end; child++) {
        done = dcli_min(done, sim->node[child].done);
        ready = dcli_min(ready, sim->node[child].ready);
    }
    if (is_tree(sim) && done == node->told_done && ready == node->told_ready)
        return;
    node->told_done = done;
    node->told_ready = ready;
    uint8_t kind = is_tree(sim) ? DCLI_MSG_RISEN : DCLI_MSG_MARKS;
    dcli_sim_send(sim, n, parent(sim, n), (dcli_sim_event){.message = kind, .done = done, .ready = ready}, 0);
}

/* The program: record the watermarks of a child for all nodes of its subtree. */
static void note_subtree(dcli_sim *sim, const dcli_sim_event *event)
{
    int64_t fanout = sim->settings->fanout, first = event->from, end = first + 1;
    for (; first < sim->host; first = fanout * (first + 1), end = fanout * end + fanout) {
        for (int64_t node = first; node < end && node < sim->host; node++)
            dcli_sim_check(sim, dcli_node_marks(sim->node[sim->host].machine, (int)node, event->done, event->ready));
        if (!is_tree(sim))
            return;
    }
}

/* The program: note which operations are complete on all nodes. */
static void note_complete(dcli_sim *sim)
{
    int first, end;
    int64_t least = INT64_MAX;
    children(sim, sim->host, &first, &end);
    for (int child = first; child < end; child++)
        least = dcli_min(least, sim->node[child].ready);
    while (sim->complete < least && sim->complete < sim->program.operation_count)
        sim->complete_ns[sim->complete++] = sim->node[sim->host].clock;
}

void dcli_sim_take_risen(dcli_sim *sim, const dcli_sim_event *event)
{
    dcli_sim_node *child = &sim->node[event->from];
    child->done = event->done;
    child->ready = event->ready;
    if (event->to != sim->host) {
        sim->node[event->to].host_due = true;
        return;
    }
    note_subtree(sim, event);
    note_complete(sim);
}
