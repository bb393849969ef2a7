/* sim/node.c - a node of a simulated cluster. Its state machine is that of the library; the model gives the virtual time that
 * each of its actions takes. */
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/check.h"
#include "base/error.h"
#include "sim/state.h"

/* ---- plans -------------------------------------------------------------------------------------------------------- */

/* The index of a plan in the sorted list, or the index at which it has to be inserted. */
static int64_t place_of(const dcli_sim_node *node, int64_t shape, int peer)
{
    int64_t low = 0, high = node->known_count;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        const dcli_sim_known *known = &node->known[middle];
        if (known->shape < shape || (known->shape == shape && known->peer < peer))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int64_t shape_of(const dcli_sim *sim, const dcli_operation *operation)
{
    int64_t step = operation->number - sim->program.storage_count - 1;
    return step < 0 ? -operation->number : step % sim->program.shapes;
}

/* Get a plan from the list, or make it. @param key  dcli_sim_known.peer. @return NULL: DCL_ERR_NOMEM */
static dcli_sim_known *know(dcli_sim_node *node, const dcli_operation *operation, int key, int of, bool whole)
{
    int64_t shape = shape_of(node->sim, operation), place = place_of(node, shape, key);
    dcli_sim_known *known = &node->known[place];
    if (place < node->known_count && known->shape == shape && known->peer == key)
        return known;
    dcli_plan_terms terms = node->sim->terms.plan;
    terms.streams = terms.pair = !whole;
    terms.with = node->self;
    if (dcli_grow(&node->known, node->known_count, &node->known_capacity, sizeof *known) != 0)
        return NULL;
    dcli_plan *plan;
    if (dcli_plan_make(operation, of, &terms, &plan) != DCL_OK)
        return NULL;
    known = &node->known[place];
    memmove(known + 1, known, (size_t)(node->known_count - place) * sizeof *known);
    *known = (dcli_sim_known){.shape = shape, .peer = key, .plan = plan};
    node->known_count++;
    node->plans++;
    return known;
}

const dcli_plan *dcli_sim_plan_of(void *user, const dcli_operation *operation, int peer)
{
    dcli_sim_node *node = user;
    int64_t plans = node->plans;
    const dcli_sim_known *known = know(node, operation, peer, peer, peer == node->self);
    node->pairs += peer != node->self && node->plans > plans;
    return known != NULL ? known->plan : NULL;
}

dcli_sim_known *dcli_sim_whole_plan(dcli_sim_node *node, const dcli_operation *operation, int of)
{
    return know(node, operation, of == node->self ? of : node->sim->host + 1 + of, of, true);
}

/* Processor time of this thread. */
static int64_t processor_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Begin an operation: the state machine plans it. The processor time that planning takes here is recorded for the
 * figures only; the virtual clock advances by plan_ns for each new plan. */
static void begin_operation(dcli_sim *sim, int n, int64_t number)
{
    dcli_sim_node *node = &sim->node[n];
    int64_t plans = node->plans;
    node->pairs = 0;
    int64_t begin = processor_ns();
    dcli_sim_check(sim, dcli_node_operation(node->machine, dcli_sim_operation(sim, number)));
    int64_t took = processor_ns() - begin;
    plans = node->plans - plans;
    node->clock += plans * sim->settings->plan_ns;
    node->pairs_most = dcli_max(node->pairs_most, node->pairs);
    if (n == sim->host || !sim->counts)
        return;
    node->lending.seen = number;
    *(plans > 0 ? &node->new_ns : &node->again_ns) += took;
    *(plans > 0 ? &node->new_count : &node->again_count) += 1;
    const dcli_plan *own = dcli_node_plan(node->machine, number, n);
    if (own == NULL)
        return;
    if (own->status != DCL_OK)
        dcli_sim_check(sim, DCLI_FAIL(own->status, "node %d: %s", n, own->problem));
    node->counters.tasks += own->counters.tasks;
    node->counters.blocks_moved += own->counters.blocks_moved;
    node->counters.bytes_moved += own->counters.bytes_moved;
    node->counters.messages_planned += own->counters.messages_planned;
}

/* ---- actions ------------------------------------------------------------------------------------------------------ */

int64_t dcli_sim_queue(const dcli_sim_node *node, int64_t *free_ns, double ns)
{
    *free_ns = dcli_sim_end(node->sim, dcli_max(node->clock, *free_ns), ns);
    return *free_ns;
}

double dcli_sim_copy_ns(const dcli_sim *sim, int64_t bytes) { return 1e9 * (double)bytes / sim->settings->copy_rate; }

void dcli_sim_post(dcli_sim *sim, dcli_sim_event event, int64_t time)
{
    dcli_sim_check(sim, dcli_sim_clock_post(&sim->clock, &event, time));
}

double dcli_sim_box_ns(const dcli_sim *sim, const dcl_box *box)
{
    return dcli_sim_cost_of(&sim->program, box) * sim->settings->element_ns;
}

double dcli_sim_jitter(const dcli_sim *sim, int n, int64_t operation, int64_t batch)
{
    uint64_t which = (uint64_t)operation << 32 | (uint64_t)batch;
    return 1 + sim->settings->jitter * dcli_sim_random(sim->settings->seed, (uint64_t)n + 1, which);
}

/* Time of a batch on a device of normal speed: to copy the received chunks into its stages, and to compute its elements.
 * @param elements_in_out  the number of its elements is added to this */
static double batch_ns(dcli_sim *sim, int n, int64_t operation, int64_t b, int64_t *elements_in_out)
{
    const dcli_plan *own = dcli_node_plan(sim->node[n].machine, operation, n);
    const dcli_batch *batch = &own->batch[b];
    double ns = 0;
    for (int64_t c = batch->first_chunk; c < batch->first_chunk + batch->chunk_count; c++)
        ns += dcli_sim_copy_ns(sim, own->chunk[c].bytes);
    for (int64_t w = batch->first_work; w < batch->first_work + batch->work_count; w++) {
        ns += dcli_sim_box_ns(sim, &own->work[w].box);
        *elements_in_out += dcli_box_elements(&own->work[w].box);
    }
    return ns * dcli_sim_jitter(sim, n, operation, b);
}

static void run(dcli_sim *sim, int n, const dcli_action *action)
{
    dcli_sim_node *node = &sim->node[n];
    int64_t operation = action->operation->number, count = 1, elements = 0;
    double ns = 0;
    if (action->operation->kind == DCLI_OP_FORALL && n != sim->host) {
        count = dcli_sim_share(sim, n, action);
        dcli_node_run_more(node->machine, operation, action->index, count - 1);
        for (int64_t b = action->index; b < action->index + count; b++)
            ns += batch_ns(sim, n, operation, b, &elements);
        if (elements > 0)
            dcli_sim_launched(sim, n, elements);
        node->clock += sim->settings->launch_ns;
        node->counters.launches++;
        node->work_ns += ns;
        node->device_ns += ns * node->slowness;
    }
    dcli_sim_post(sim,
                  (dcli_sim_event){.kind = DCLI_SIM_DONE,
                                   .to = n,
                                   .operation = operation,
                                   .number = action->index,
                                   .bytes = count,
                                   .elements = elements,
                                   .took_ns = (int64_t)(ns * node->slowness)},
                  dcli_sim_queue(node, &node->device_free, ns * node->slowness));
}

/* The chunk that an action of state machine `n` names. @param planned  the node in whose plan it is: n, or the peer */
static const dcli_chunk *chunk_of(const dcli_sim *sim, int n, const dcli_action *action, int planned)
{
    return &dcli_node_plan(sim->node[n].machine, action->operation->number, planned)->chunk[action->chunk];
}

static void move_chunk(dcli_sim *sim, int n, const dcli_action *action)
{
    dcli_sim_node *node = &sim->node[n];
    bool packs = action->kind == DCLI_DO_PACK;
    int64_t bytes = chunk_of(sim, n, action, action->peer)->bytes;
    dcli_sim_post(sim,
                  (dcli_sim_event){.kind = packs ? DCLI_SIM_PACKED : DCLI_SIM_COMMITTED,
                                   .from = action->peer,
                                   .to = n,
                                   .operation = action->operation->number,
                                   .number = action->chunk,
                                   .failed = action->status != DCL_OK},
                  dcli_sim_queue(node, packs ? &node->pack_free : &node->commit_free, dcli_sim_copy_ns(sim, bytes)));
}

static void send_chunk(dcli_sim *sim, int n, int to, int64_t operation, const dcli_chunk *chunk, bool failed)
{
    dcli_sim_send(sim, n, to,
                  (dcli_sim_event){.message = DCLI_MSG_CHUNK,
                                   .operation = operation,
                                   .number = chunk->number,
                                   .written = chunk->written,
                                   .failed = failed},
                  failed ? 0 : chunk->bytes);
}

/* Report that an operation has failed: a node reports it to the program, the program to all nodes. */
static void tell_failed(dcli_sim *sim, int n, int64_t operation)
{
    if (sim->settings->failing_step == 0)
        dcli_sim_check(sim,
                       DCLI_FAIL(DCL_ERR_INTERNAL,
                                 "node %d: operation %" PRId64 " fails in a simulation without faults", n, operation));
    else if (n == sim->host)
        dcli_sim_send_down(sim, n, DCLI_MSG_FAILED, operation);
    else
        dcli_sim_send(sim, n, sim->host, (dcli_sim_event){.message = DCLI_MSG_FAILED, .operation = operation}, 0);
}

static void act(dcli_sim *sim, int n, const dcli_action *action)
{
    int64_t operation = action->operation != NULL ? action->operation->number : 0;
    switch (action->kind) {
    case DCLI_DO_RUN:
        run(sim, n, action);
        break;
    case DCLI_DO_PACK:
    case DCLI_DO_COMMIT:
        move_chunk(sim, n, action);
        break;
    case DCLI_DO_SEND:
        send_chunk(sim, n, action->peer, operation, chunk_of(sim, n, action, n), action->status != DCL_OK);
        break;
    case DCLI_DO_GRANT:
        dcli_sim_send(sim, n, action->peer,
                      (dcli_sim_event){.message = DCLI_MSG_GRANT,
                                       .failed = action->status != DCL_OK,
                                       .operation = operation,
                                       .number = action->index},
                      0);
        break;
    case DCLI_DO_CREDIT:
        dcli_sim_send(sim, n, action->peer, (dcli_sim_event){.message = DCLI_MSG_CREDIT, .number = action->index}, 0);
        break;
    case DCLI_DO_MARKS:
        if (action->peer == sim->host)
            sim->node[n].host_due = true; /* reported when there is nothing else to do, as by dcli_tell_host() */
        else
            dcli_sim_send(sim, n, action->peer,
                          (dcli_sim_event){.message = DCLI_MSG_MARKS, .done = action->done, .ready = action->ready}, 0);
        break;
    case DCLI_DO_FAILED:
        tell_failed(sim, n, operation);
        break;
    case DCLI_DO_SKIP:
    case DCLI_DO_DROP:
    case DCLI_DO_FINISH:
    case DCLI_DO_RETIRE:
    case DCLI_DO_DISCARD: /* memory is freed */
        break;
    default:
        dcli_sim_act_loan(sim, n, action);
    }
}

/* ---- events ------------------------------------------------------------------------------------------------------- */

static void call(dcli_sim *sim, int64_t operation)
{
    begin_operation(sim, sim->host, operation);
    dcli_sim_send_down(sim, sim->host, DCLI_MSG_OPERATIONS, operation);
    if (operation < sim->last_call)
        dcli_sim_post(sim, (dcli_sim_event){.kind = DCLI_SIM_CALL, .to = sim->host, .operation = operation + 1},
                      sim->node[sim->host].clock);
}

static void hear_failed(dcli_sim *sim, const dcli_sim_event *event)
{
    int64_t storages[DCLI_MAX_PARAMS];
    dcli_msg_failed failed = dcli_sim_failed(sim, event->operation, storages);
    dcli_node *machine = sim->node[event->to].machine;
    dcli_failure_report report = {.is_news = sim->host > sim->settings->fanout};
    dcli_sim_check(sim, event->to == sim->host
                            ? dcli_node_reported(machine, event->from, event->operation, &report)
                            : dcli_node_failed(machine, event->from, event->operation, failed.storage_count, storages));
    if (report.is_news)
        dcli_sim_send_down(sim, event->to, DCLI_MSG_FAILED, event->operation);
}

static void hear(dcli_sim *sim, const dcli_sim_event *event)
{
    dcli_node *machine = sim->node[event->to].machine;
    switch (event->message) {
    case DCLI_MSG_OPERATIONS:
        if (sim->host > sim->settings->fanout)
            dcli_sim_send_down(sim, event->to, DCLI_MSG_OPERATIONS, event->operation);
        begin_operation(sim, event->to, event->operation);
        return;
    case DCLI_MSG_GRANT:
        dcli_sim_check(sim, (event->failed ? dcli_node_decline : dcli_node_grant)(machine, event->from,
                                                                                  event->operation, event->number));
        return;
    case DCLI_MSG_CREDIT:
        dcli_sim_check(sim, dcli_node_credit(machine, event->from, event->number));
        return;
    case DCLI_MSG_CHUNK:
        dcli_sim_check(sim, dcli_node_chunk(machine, event->from, event->operation, event->written, event->number,
                                            event->failed ? DCL_ERR_DEVICE : DCL_OK));
        return;
    case DCLI_MSG_FAILED:
        hear_failed(sim, event);
        return;
    case DCLI_MSG_MARKS:
    case DCLI_MSG_RISEN:
        if (event->to == sim->host || event->message == DCLI_MSG_RISEN)
            dcli_sim_take_risen(sim, event);
        else
            dcli_sim_check(sim, dcli_node_marks(machine, event->from, event->done, event->ready));
        return;
    default:
        dcli_sim_hear_loan(sim, event);
    }
}

/* Handle the end of batches. */
static void end(dcli_sim *sim, const dcli_sim_event *event)
{
    const dcl_sim_settings *settings = sim->settings;
    bool is_failing = settings->failing_node < 0 || settings->failing_node == event->to;
    bool fails = is_failing && event->to != sim->host && settings->failing_step > 0 &&
                 event->operation == sim->program.storage_count + settings->failing_step;
    dcl_status status = fails ? DCL_ERR_DEVICE : DCL_OK;
    for (int64_t b = event->number; b < event->number + event->bytes; b++)
        dcli_sim_check(sim, dcli_node_batch_done(sim->node[event->to].machine, event->operation, b, status));
    if (event->elements > 0)
        dcli_sim_measure(sim, event);
}

static void deliver(dcli_sim *sim, const dcli_sim_event *event)
{
    dcli_node *machine = sim->node[event->to].machine;
    int64_t operation = event->operation;
    switch (event->kind) {
    case DCLI_SIM_CALL:
        call(sim, operation);
        break;
    case DCLI_SIM_ARRIVES:
        sim->node[event->to].clock += sim->settings->message_ns;
        hear(sim, event);
        break;
    case DCLI_SIM_DONE:
        end(sim, event);
        break;
    case DCLI_SIM_PACKED:
        send_chunk(sim, event->to, event->from, operation,
                   &dcli_node_plan(machine, operation, event->from)->chunk[event->number], event->failed);
        dcli_sim_check(sim, dcli_node_chunk_done(machine, operation, event->from, false, DCL_OK));
        break;
    case DCLI_SIM_COMMITTED:
        dcli_sim_check(sim, dcli_node_chunk_done(machine, operation, event->from, true, DCL_OK));
        break;
    default:
        dcli_sim_happen_loan(sim, event);
    }
}

static void forget_handled(dcli_sim_node *node)
{
    if (2 * node->first < node->count)
        return;
    node->count -= node->first;
    memmove(node->inbox, node->inbox + node->first, (size_t)node->count * sizeof *node->inbox);
    node->first = 0;
}

/* Let the processor handle the next event of the inbox and perform all actions that it causes. */
static void serve(dcli_sim *sim, int n)
{
    dcli_sim_node *node = &sim->node[n];
    dcli_sim_event event = node->inbox[node->first++];
    dcli_action action;
    forget_handled(node);
    node->busy = true;
    node->clock = sim->clock.now;
    deliver(sim, &event);
    do
        while (sim->status == DCL_OK && dcli_node_next(node->machine, &action))
            act(sim, n, &action);
    while (sim->status == DCL_OK && dcli_sim_decide(sim, n));
    if (node->count == 0 && node->host_due)
        dcli_sim_rise(sim, n);
    dcli_sim_post(sim, (dcli_sim_event){.kind = DCLI_SIM_FREE, .to = n}, node->clock);
}

void dcli_sim_happen(dcli_sim *sim, const dcli_sim_event *event)
{
    dcli_sim_node *node = &sim->node[event->to];
    if (event->kind == DCLI_SIM_BEGINS) {
        dcli_sim_receive(sim, event);
        return;
    }
    if (event->kind == DCLI_SIM_FREE) {
        node->busy = false;
    } else if (dcli_grow(&node->inbox, node->count, &node->capacity, sizeof *event) != 0) {
        dcli_sim_check(sim, DCL_ERR_NOMEM);
        return;
    } else {
        node->inbox[node->count++] = *event;
    }
    if (!node->busy && node->first < node->count)
        serve(sim, event->to);
}
