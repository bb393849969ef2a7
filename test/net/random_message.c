/* net/random_message.c - messages with random contents, and their comparison. */
#include "net/random_message.h"

#include <limits.h>
#include <string.h>

#include <dcl/forall.h>

#include "net/random_opencl.h"

uint64_t test_random_bits(test_random *random)
{
    uint64_t z = random->state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

int test_random_below(test_random *random, int limit) { return (int)(test_random_bits(random) % (uint64_t)limit); }

/* ---- values: of all sizes, zero often ---- */

static uint64_t bits(test_random *random)
{
    return test_random_below(random, 4) == 0 ? 0 : test_random_bits(random) >> test_random_below(random, 64);
}

static int64_t natural(test_random *random) { return (int64_t)(bits(random) & INT64_MAX); }
static int64_t positive(test_random *random)
{
    int64_t value = natural(random);
    return value > 0 ? value : 1;
}
static int64_t up_to(test_random *random, int64_t most) { return 1 + natural(random) % most; }
static int64_t milliseconds(test_random *random) { return 1 + natural(random) % DCLI_MOST_MS; }
static int64_t any(test_random *random) { return (int64_t)bits(random) * (test_random_below(random, 2) ? 1 : -1); }
static bool flag(test_random *random) { return test_random_below(random, 2) == 1; }

static struct {
    char text[1 << 20];
    size_t used;
    dcli_msg_operation operation[DCLI_MOST_OPERATIONS];
    dcli_msg_operand operand[DCLI_MOST_OPERATIONS * DCLI_MOST_OPERANDS];
    dcli_msg_view view[DCLI_MOST_VIEWS];
    int view_used;
    dcli_msg_reach reach[DCLI_MOST_OPERATIONS * 2];
    int64_t number[DCLI_MOST_OPERATIONS * 2][16];
    int reach_used;
    dcli_msg_parameter parameter[DCLI_MOST_OPERANDS];
    dcli_msg_event event[DCLI_MOST_EVENTS];
    dcli_msg_name name[64];
    int64_t storage[DCLI_MOST_OPERANDS];
    int64_t forgotten[DCLI_MOST_FORGOTTEN];
    dcli_msg_peer peer[DCLI_MOST_NODES];
    dcli_msg_device device[DCLI_MOST_NODES];
    dcli_msg_host host[DCLI_MOST_NODES];
    int64_t order[DCLI_MOST_ORDER], proof[2 * DCLI_MOST_NODES], notice[2 * DCLI_MOST_NODES];
    int64_t work[4 * DCLI_MSG_WORK_PARTS], thief[3 * DCLI_MSG_WORK_THIEVES];
} pool;

static const char *string(test_random *random, int most)
{
    if (test_random_below(random, 8) == 0)
        return NULL;
    int length = test_random_below(random, most + 1) >> test_random_below(random, 12);
    char *start = pool.text + pool.used;
    for (int i = 0; i < length; i++)
        start[i] = (char)(1 + test_random_below(random, 255));
    start[length] = '\0';
    pool.used += (size_t)length + 1;
    return start;
}

static int few(test_random *random, int most)
{
    return test_random_below(random, most + 1) >> test_random_below(random, 7);
}

/* ---- messages ---- */

static void fill_box(test_random *random, dcli_msg_operation *operation)
{
    operation->box.rank = operation->box_rank = test_random_below(random, DCL_MAX_RANK + 1);
    for (int d = 0; d < operation->box_rank; d++) {
        operation->box.start[d] = any(random);
        operation->box.count[d] = natural(random);
        operation->box.stride[d] = natural(random) | 1;
    }
}

static void fill_file(test_random *random, dcli_msg_operation *operation)
{
    operation->path = string(random, DCLI_MOST_PATH);
    operation->data_start = natural(random);
    operation->fortran_order = flag(random);
    operation->swapped = flag(random);
}

static void fill_grid(test_random *random, dcli_msg_operation *operation)
{
    operation->type = test_random_below(random, DCL_DOUBLE + 1);
    operation->rank = test_random_below(random, DCL_MAX_RANK + 1);
    for (int d = 0; d < operation->rank; d++) {
        operation->origin[d] = any(random);
        operation->extent[d] = natural(random);
    }
    operation->map = string(random, DCLI_MOST_SHORT_MAP);
    operation->tile_bytes = natural(random);
    operation->block_bytes = natural(random);
    operation->small_bytes = natural(random);
    operation->map_nodes = test_random_below(random, DCLI_MOST_PEERS + 1);
    operation->unset = flag(random);
    operation->steal = test_random_below(random, 4);
    operation->overlap = test_random_below(random, DCLI_MOST_LINES + 1);
    operation->fresh = bits(random);
}

static void fill_views(test_random *random, dcli_msg_operation *operation)
{
    int left = DCLI_MOST_VIEWS - pool.view_used;
    operation->view = pool.view + pool.view_used;
    operation->view_count = few(random, left < DCLI_MOST_OPERANDS ? left : DCLI_MOST_OPERANDS);
    pool.view_used += operation->view_count;
    for (int v = 0; v < operation->view_count; v++) {
        dcli_msg_view *view = &operation->view[v];
        *view = (dcli_msg_view){.operand = test_random_below(random, DCLI_MOST_OPERANDS),
                                .rank = test_random_below(random, DCL_MAX_RANK + 1),
                                .base_rank = test_random_below(random, DCL_MAX_RANK + 1)};
        view->shape_rank = flag(random) ? test_random_below(random, DCL_MAX_RANK + 1) : 0;
        for (int d = 0; d < view->shape_rank; d++)
            view->shape[d] = natural(random);
        for (int d = 0; d < view->rank; d++) {
            view->origin[d] = any(random);
            view->extent[d] = natural(random);
        }
        for (int d = 0; d < view->base_rank; d++) {
            view->axis[d] = test_random_below(random, DCL_MAX_RANK + 1) - 1;
            view->constant[d] = any(random);
            view->step[d] = any(random);
        }
    }
}

static void fill_reaches(test_random *random, dcli_msg_operation *operation)
{
    operation->reach = pool.reach + pool.reach_used;
    operation->reach_count = test_random_below(random, 3);
    for (int r = 0; r < operation->reach_count; r++) {
        int64_t *number = pool.number[pool.reach_used++];
        operation->reach[r] = (dcli_msg_reach){.operand = test_random_below(random, DCLI_MOST_OPERANDS),
                                               .count = test_random_below(random, 17),
                                               .number = number,
                                               .approximate = flag(random)};
        for (int n = 0; n < operation->reach[r].count; n++)
            number[n] = any(random);
    }
}

static dcli_msg_operation random_operation(test_random *random, dcli_msg_operand operand[])
{
    dcli_msg_operation operation = {.number = natural(random),
                                    .kind = 1 + test_random_below(random, DCLI_MOST_OPERATION_KIND),
                                    .kernel = natural(random),
                                    .operand_count = few(random, DCLI_MOST_OPERANDS),
                                    .operand = operand};
    for (int i = 0; i < operation.operand_count; i++)
        operand[i] = (dcli_msg_operand){natural(random) - 1, bits(random),
                                        flag(random) ? (flag(random) ? 1 : -1) * natural(random) : 0};
    if (flag(random))
        fill_box(random, &operation);
    if (flag(random))
        operation.element = bits(random);
    if (flag(random))
        fill_file(random, &operation);
    if (flag(random))
        fill_grid(random, &operation);
    if (flag(random))
        fill_views(random, &operation);
    if (flag(random))
        fill_reaches(random, &operation);
    if (flag(random))
        operation.node = test_random_below(random, DCLI_MOST_PEERS + 1);
    if (flag(random)) {
        operation.device = bits(random);
        operation.inode = bits(random);
    }
    return operation;
}

static dcli_msg_proof random_proof(test_random *random)
{
    dcli_msg_proof proof = {few(random, 2 * DCLI_MOST_NODES), pool.proof};
    for (int i = 0; i < proof.count; i++)
        pool.proof[i] = any(random);
    return proof;
}

static dcli_msg_operations random_operations(test_random *random)
{
    dcli_msg_operations operations = {
        few(random, DCLI_MOST_OPERATIONS), pool.operation, natural(random), random_proof(random),
        few(random, DCLI_MOST_ORDER),      pool.order};
    pool.view_used = pool.reach_used = 0;
    for (int i = 0; i < operations.count; i++)
        pool.operation[i] = random_operation(random, pool.operand + (size_t)i * DCLI_MOST_OPERANDS);
    for (int i = 0; i < operations.order_count; i++)
        pool.order[i] = test_random_below(random, DCLI_MOST_OPERATIONS + 1);
    return operations;
}

static dcli_msg_kernel random_kernel(test_random *random)
{
    dcli_msg_kernel kernel = {.kernel = natural(random),
                              .text = string(random, DCLI_MOST_TEXT),
                              .prelude = string(random, DCLI_MOST_TEXT),
                              .parameter_count = few(random, DCLI_MOST_OPERANDS),
                              .parameter = pool.parameter,
                              .builder_count = few(random, DCLI_MOST_OPERANDS),
                              .builder = pool.storage};
    for (int i = 0; i < kernel.builder_count; i++)
        pool.storage[i] = natural(random);
    kernel.forgotten_count = few(random, DCLI_MOST_FORGOTTEN);
    kernel.forgotten = pool.forgotten;
    for (int i = 0; i < kernel.forgotten_count; i++)
        pool.forgotten[i] = natural(random);
    kernel.proof = random_proof(random);
    kernel.along = test_random_below(random, 2) != 0;
    kernel.over = string(random, DCLI_MOST_TEXT);
    kernel.item_count = test_random_below(random, DCL_MAX_RANK + 1);
    for (int i = 0; i < kernel.item_count; i++)
        kernel.items[i] = natural(random);
    for (int i = 0; i < kernel.parameter_count; i++) {
        pool.parameter[i].name = string(random, DCLI_MOST_NAME);
        pool.parameter[i].access = 1 + test_random_below(random, DCL_ACCESS_IN_FUNCTION);
        pool.parameter[i].type = test_random_below(random, DCL_DOUBLE + 1);
        pool.parameter[i].rank = test_random_below(random, DCL_MAX_RANK + 1);
        pool.parameter[i].turned = flag(random) ? test_random_below(random, DCL_MAX_RANK + 1) - 1 : 0;
    }
    return kernel;
}

static dcli_msg_failed random_failed(test_random *random)
{
    dcli_msg_failed failed = {.operation = natural(random),
                              .node = test_random_below(random, DCLI_MOST_PEERS),
                              .status = test_random_below(random, DCL_ERR_INTERNAL + 1),
                              .cause = flag(random),
                              .storage_count = few(random, DCLI_MOST_OPERANDS),
                              .storage = pool.storage,
                              .sentence = string(random, DCLI_MOST_SENTENCE)};
    for (int i = 0; i < failed.storage_count; i++)
        pool.storage[i] = natural(random);
    return failed;
}

static dcli_msg_report random_report(test_random *random)
{
    dcli_msg_report report = {.operation = natural(random),
                              .storage_count = few(random, DCLI_MOST_OPERANDS),
                              .storage = pool.storage,
                              .array = string(random, DCLI_MOST_NAME),
                              .rank = test_random_below(random, DCL_MAX_RANK + 1),
                              .body = string(random, DCLI_MOST_SENTENCE),
                              .declared = string(random, DCLI_MOST_SENTENCE),
                              .written = flag(random),
                              .outputs = string(random, DCLI_MOST_SENTENCE)};
    for (int i = 0; i < report.storage_count; i++)
        pool.storage[i] = natural(random);
    for (int d = 0; d < report.rank; d++)
        report.index[d] = any(random);
    return report;
}

static dcli_msg_marks random_marks(test_random *random)
{
    dcli_msg_marks marks = {.done = natural(random),
                            .ready = natural(random),
                            .failure_count = few(random, DCLI_MOST_OPERANDS),
                            .failure = pool.storage};
    for (int i = 0; i < marks.failure_count; i++)
        pool.storage[i] = natural(random);
    if (flag(random))
        for (int i = 0; i < DCLI_MSG_COUNTERS; i++)
            marks.counter[i] = natural(random);
    return marks;
}

static dcli_msg_device random_device(test_random *random)
{
    return (dcli_msg_device){.name = string(random, DCLI_MOST_ADDRESS),
                             .platform = string(random, DCLI_MOST_ADDRESS),
                             .version = string(random, DCLI_MOST_ADDRESS),
                             .class = string(random, DCLI_MOST_NAME),
                             .kind = string(random, 512),
                             .number = test_random_below(random, 65536),
                             .compute_units = (int)(bits(random) & INT_MAX),
                             .has_half = flag(random),
                             .has_double = flag(random),
                             .in_place = flag(random),
                             .reads_gpus = flag(random),
                             .memory_bytes = natural(random),
                             .process = natural(random)};
}

/** 0..DCLI_MOST_NODES of them. */
static int random_peers(test_random *random)
{
    int count = few(random, DCLI_MOST_NODES);
    for (int i = 0; i < count; i++)
        pool.peer[i] = (dcli_msg_peer){flag(random), test_random_below(random, 8), test_random_below(random, 256),
                                       string(random, DCLI_MOST_ADDRESS), string(random, DCLI_MOST_KEY)};
    return count;
}

static dcli_msg_setup random_setup(test_random *random)
{
    return (dcli_msg_setup){.self = test_random_below(random, DCLI_MOST_NODES),
                            .peer_count = random_peers(random),
                            .peer = pool.peer,
                            .first_operation = up_to(random, DCLI_MOST_OPERATION),
                            .epoch = natural(random),
                            .tree_nodes = test_random_below(random, DCLI_MOST_NODES + 1),
                            .tile_bytes = up_to(random, DCLI_MOST_POOL),
                            .chunk_bytes = up_to(random, DCLI_MOST_CHUNK),
                            .pool_bytes = up_to(random, DCLI_MOST_POOL),
                            .kept_bytes = up_to(random, DCLI_MOST_POOL),
                            .quota_bytes = natural(random),
                            .silence_ms = milliseconds(random),
                            .build_ms = milliseconds(random),
                            .kernel_ms = milliseconds(random),
                            .plan_ms = milliseconds(random),
                            .trace_bytes = up_to(random, DCLI_MOST_TRACE),
                            .fanout = 1 + test_random_below(random, DCLI_MOST_NODES),
                            .log = test_random_below(random, 4),
                            .fault = string(random, DCLI_MOST_ADDRESS),
                            .check_access = flag(random),
                            .word_key = string(random, DCLI_MOST_KEY),
                            .steal = test_random_below(random, 4),
                            .steal_kinds = flag(random)};
}

static dcli_msg_joined random_joined(test_random *random)
{
    return (dcli_msg_joined){.peer = test_random_below(random, DCLI_MOST_NODES),
                             .epoch = positive(random),
                             .first_operation = up_to(random, DCLI_MOST_OPERATION),
                             .address = string(random, DCLI_MOST_ADDRESS),
                             .key = string(random, DCLI_MOST_KEY),
                             .can = test_random_below(random, 8),
                             .group = test_random_below(random, 256)};
}

static dcli_msg_counts random_counts(test_random *random)
{
    dcli_msg_counts counts = {.number = natural(random)};
    if (flag(random)) {
        counts.kernel = natural(random);
        counts.axis = test_random_below(random, DCL_MAX_RANK);
        counts.first = any(random);
        counts.count = natural(random);
        counts.calls = natural(random);
        counts.seen = test_random_below(random, 65);
        counts.stolen = test_random_below(random, 65);
        counts.work_count = few(random, 4 * DCLI_MSG_WORK_PARTS);
        counts.thief_count = few(random, 3 * DCLI_MSG_WORK_THIEVES);
        counts.work = pool.work;
        counts.thief = pool.thief;
        for (int i = 0; i < counts.work_count; i++)
            pool.work[i] = natural(random);
        for (int i = 0; i < counts.thief_count; i++)
            pool.thief[i] = natural(random);
    }
    if (flag(random))
        for (int i = 0; i < DCLI_MSG_COUNTERS; i++)
            counts.counter[i] = natural(random);
    return counts;
}

static dcli_msg_trace random_trace(test_random *random)
{
    return (dcli_msg_trace){
        .number = natural(random), .part = up_to(random, DCLI_MOST_TRACE) - 1, .asked_ns = up_to(random, DCLI_MOST_NS)};
}

static dcli_msg_event random_event(test_random *random)
{
    dcli_msg_event event = {.begin_ns = up_to(random, DCLI_MOST_NS),
                            .duration_ns = up_to(random, DCLI_MOST_NS),
                            .kind = 1 + test_random_below(random, DCLI_TRACE_KINDS - 1)};
    if (!flag(random))
        return event;
    event.operation = up_to(random, DCLI_MOST_EXACT);
    event.part = flag(random) ? up_to(random, DCLI_MOST_EXACT) : -1;
    event.peer = test_random_below(random, DCLI_MOST_PEERS + 2) - 1;
    event.bytes = up_to(random, DCLI_MOST_EXACT);
    event.name = test_random_below(random, DCLI_MOST_EVENT_NAMES + 1);
    event.clock = test_random_below(random, DCLI_TRACE_CLOCKS);
    event.written = flag(random);
    event.tasks = test_random_below(random, INT_MAX);
    event.launches = test_random_below(random, INT_MAX);
    return event;
}

static dcli_msg_traced random_traced(test_random *random)
{
    dcli_msg_traced traced = {.number = natural(random),
                              .part = up_to(random, DCLI_MOST_TRACE) - 1,
                              .asked_ns = up_to(random, DCLI_MOST_NS),
                              .now_ns = up_to(random, DCLI_MOST_NS),
                              .clock_id = bits(random),
                              .kept = up_to(random, DCLI_MOST_TRACE),
                              .dropped = up_to(random, DCLI_MOST_EXACT),
                              .event_count = few(random, DCLI_MOST_EVENTS),
                              .event = pool.event,
                              .name_count = few(random, 64),
                              .name = pool.name,
                              .unrecorded = flag(random)};
    for (int n = 0; n < traced.event_count; n++)
        pool.event[n] = random_event(random);
    for (int n = 0; n < traced.name_count; n++)
        pool.name[n].text = string(random, DCLI_TRACE_NAME_BYTES - 1);
    return traced;
}

static dcli_msg_welcome random_welcome(test_random *random)
{
    dcli_msg_welcome welcome = {.program = string(random, DCLI_MOST_ADDRESS),
                                .capabilities = bits(random),
                                .device_count = few(random, DCLI_MOST_NODES),
                                .device = pool.device,
                                .sessions = (int)(bits(random) & INT_MAX),
                                .processes = (int)(bits(random) & INT_MAX),
                                .load_percent = natural(random),
                                .files = flag(random)};
    for (int i = 0; i < welcome.device_count; i++)
        pool.device[i] = random_device(random);
    return welcome;
}

/** Kinds that processes of a session have, and not only threads. */
static void fill_session_message(test_random *random, dcli_message *message)
{
    switch (message->kind) {
    case DCLI_MSG_DEVICE:
        message->device = random_device(random);
        break;
    case DCLI_MSG_SETUP:
        message->setup = random_setup(random);
        break;
    case DCLI_MSG_PART:
        message->part = (dcli_msg_part){natural(random), positive(random), positive(random),
                                        natural(random), natural(random),  natural(random)};
        break;
    case DCLI_MSG_LOST:
        message->lost = (dcli_msg_lost){test_random_below(random, DCLI_MOST_PEERS + 1), natural(random),
                                        string(random, DCLI_MOST_SENTENCE)};
        break;
    case DCLI_MSG_JOINED:
        message->joined = random_joined(random);
        break;
    case DCLI_MSG_SEES:
        message->sees = (dcli_msg_sees){natural(random), string(random, DCLI_MOST_PATH), string(random, DCLI_MOST_KEY),
                                        bits(random), bits(random)};
        break;
    case DCLI_MSG_SEEN:
        message->seen = (dcli_msg_seen){natural(random), flag(random)};
        break;
    case DCLI_MSG_RISEN:
        message->risen =
            (dcli_msg_risen){natural(random), natural(random), few(random, 2 * DCLI_MOST_NODES), pool.notice};
        for (int i = 0; i < message->risen.notice_count; i++)
            pool.notice[i] = natural(random);
        break;
    case DCLI_MSG_COUNT:
        message->count = (dcli_msg_count){natural(random), natural(random)};
        break;
    case DCLI_MSG_TRACE:
        message->trace = random_trace(random);
        break;
    case DCLI_MSG_TRACED:
        message->traced = random_traced(random);
        break;
    case DCLI_MSG_COUNTS:
        message->counts = random_counts(random);
        break;
    default:
        break;
    }
}

/** Kinds that nodes send each other when they lend. */
static void fill_loan_message(test_random *random, dcli_message *message)
{
    int64_t question = positive(random), operation = up_to(random, DCLI_MOST_OPERATION), batch = natural(random);
    switch (message->kind) {
    case DCLI_MSG_HUNGRY:
        message->hungry = (dcli_msg_hungry){question,
                                            operation,
                                            up_to(random, DCLI_MOST_OPERATION),
                                            up_to(random, DCLI_MOST_POOL),
                                            bits(random),
                                            up_to(random, DCLI_MOST_NS)};
        break;
    case DCLI_MSG_NOTHING:
        message->nothing.question = question;
        break;
    case DCLI_MSG_LENT:
        message->lent = (dcli_msg_lent){
            question, operation, batch, positive(random), up_to(random, DCLI_MOST_NS), positive(random)};
        break;
    case DCLI_MSG_LOAN:
        message->loan = (dcli_msg_loan){question, operation, batch, flag(random), natural(random)};
        break;
    case DCLI_MSG_RECALL:
        message->recall = (dcli_msg_recall){question, operation, batch};
        break;
    case DCLI_MSG_RESULT:
        message->result =
            (dcli_msg_result){question, operation, batch, up_to(random, DCLI_MOST_NS), up_to(random, DCLI_MOST_NS)};
        break;
    case DCLI_MSG_RETURNED:
        message->returned = (dcli_msg_returned){question, operation, batch};
        break;
    default:
        break;
    }
}

static dcli_msg_open random_open(test_random *random)
{
    dcli_msg_open open = {.session = bits(random),
                          .key = string(random, DCLI_MOST_KEY),
                          .password = string(random, DCLI_MOST_KEY),
                          .silence_ms = milliseconds(random),
                          .first = test_random_below(random, DCLI_MOST_NODES),
                          .nodes = 1 + test_random_below(random, DCLI_MOST_NODES),
                          .chunk_bytes = up_to(random, DCLI_MOST_CHUNK),
                          .host_count = few(random, DCLI_MOST_NODES),
                          .host = pool.host,
                          .opencl = flag(random)};
    for (int i = 0; i < open.host_count; i++)
        pool.host[i] = (dcli_msg_host){string(random, DCLI_MOST_KEY), string(random, DCLI_MOST_KEY)};
    return open;
}

/** Kinds between a client and a listener. */
static void fill_listener_message(test_random *random, dcli_message *message)
{
    switch (message->kind) {
    case DCLI_MSG_HELLO:
        message->hello = (dcli_msg_hello){string(random, DCLI_MOST_ADDRESS), bits(random)};
        break;
    case DCLI_MSG_WELCOME:
        message->welcome = random_welcome(random);
        break;
    case DCLI_MSG_REFUSED:
        message->refused =
            (dcli_msg_refused){test_random_below(random, DCL_ERR_INTERNAL + 1), string(random, DCLI_MOST_SENTENCE)};
        break;
    case DCLI_MSG_OPEN:
        message->open = random_open(random);
        break;
    case DCLI_MSG_OPENED:
        message->opened = (dcli_msg_opened){random_peers(random), pool.peer};
        break;
    case DCLI_MSG_BEAT:
        message->beat.number = natural(random);
        break;
    case DCLI_MSG_GONE:
        message->gone = (dcli_msg_gone){test_random_below(random, DCLI_MOST_NODES), string(random, DCLI_MOST_SENTENCE)};
        break;
    case DCLI_MSG_PRINTED:
        message->printed = (dcli_msg_printed){1 + natural(random) / 2, test_random_below(random, DCLI_MOST_NODES),
                                              string(random, DCLI_MOST_TEXT), natural(random), natural(random)};
        break;
    case DCLI_MSG_SHOWN:
        message->shown = (dcli_msg_shown){natural(random), natural(random)};
        break;
    case DCLI_MSG_FORGET:
        message->forget.memfd = positive(random);
        break;
    default:
        break;
    }
}

dcli_message test_random_message(test_random *random, int kind)
{
    dcli_message message = {.kind = (dcli_message_kind)kind, .epoch = bits(random)};
    int status = test_random_below(random, DCL_ERR_INTERNAL + 1);
    pool.used = 0;
    switch (message.kind) {
    case DCLI_MSG_KERNEL:
        message.kernel = random_kernel(random);
        break;
    case DCLI_MSG_BUILT:
        message.built = (dcli_msg_built){natural(random), status, string(random, DCLI_MOST_SENTENCE)};
        break;
    case DCLI_MSG_OPERATIONS:
        message.operations = random_operations(random);
        break;
    case DCLI_MSG_GRANT:
        message.grant = (dcli_msg_grant){natural(random), natural(random), flag(random)};
        break;
    case DCLI_MSG_CHUNK:
        message.chunk = (dcli_msg_chunk){natural(random), flag(random), natural(random), status};
        break;
    case DCLI_MSG_CREDIT:
        message.credit.chunks = natural(random);
        break;
    case DCLI_MSG_MARKS:
        message.marks = random_marks(random);
        break;
    case DCLI_MSG_FAILED:
        message.failed = random_failed(random);
        break;
    case DCLI_MSG_REPORT:
        message.report = random_report(random);
        break;
    default:
        fill_session_message(random, &message);
        fill_listener_message(random, &message);
        fill_loan_message(random, &message);
        test_fill_opencl_message(random, &message);
        break;
    }
    return message;
}

/* ---- comparing ---- */

static bool same_string(const char *a, const char *b) { return strcmp(a != NULL ? a : "", b != NULL ? b : "") == 0; }

static bool same_numbers(const int64_t a[], const int64_t b[], int count)
{
    return count == 0 || memcmp(a, b, (size_t)count * sizeof a[0]) == 0;
}

static const char *different; /* the first difference found */
#define SAME(condition) ((condition) || (different = #condition, false))
#define EQUAL(field) SAME(a->field == b->field)
#define STRINGS(field) SAME(same_string(a->field, b->field))
#define NUMBERS(field, count) SAME(same_numbers(a->field, b->field, a->count))

static bool same_operand(const dcli_msg_operand *a, const dcli_msg_operand *b)
{
    return EQUAL(storage) && EQUAL(value) && EQUAL(generation);
}

static bool same_view(const dcli_msg_view *a, const dcli_msg_view *b)
{
    return EQUAL(operand) && EQUAL(rank) && EQUAL(base_rank) && NUMBERS(origin, rank) && NUMBERS(extent, rank) &&
           NUMBERS(axis, base_rank) && NUMBERS(constant, base_rank) && NUMBERS(step, base_rank) && EQUAL(shape_rank) &&
           NUMBERS(shape, shape_rank);
}

static bool same_reach(const dcli_msg_reach *a, const dcli_msg_reach *b)
{
    return EQUAL(operand) && EQUAL(count) && NUMBERS(number, count) && EQUAL(approximate);
}

static bool same_operation(const dcli_msg_operation *a, const dcli_msg_operation *b)
{
    if (!EQUAL(number) || !EQUAL(kind) || !EQUAL(kernel) || !EQUAL(operand_count) || !EQUAL(box_rank) ||
        !EQUAL(box.rank) || !NUMBERS(box.start, box_rank) || !NUMBERS(box.count, box_rank) ||
        !NUMBERS(box.stride, box_rank) || !EQUAL(element) || !STRINGS(path) || !EQUAL(data_start) ||
        !EQUAL(fortran_order) || !EQUAL(swapped) || !EQUAL(type) || !EQUAL(rank) || !NUMBERS(origin, rank) ||
        !NUMBERS(extent, rank) || !STRINGS(map) || !EQUAL(tile_bytes) || !EQUAL(block_bytes) || !EQUAL(small_bytes) ||
        !EQUAL(map_nodes) || !EQUAL(view_count) || !EQUAL(reach_count) || !EQUAL(node) || !EQUAL(unset) ||
        !EQUAL(steal) || !EQUAL(overlap) || !EQUAL(fresh))
        return false;
    for (int v = 0; v < a->view_count; v++)
        if (!same_view(&a->view[v], &b->view[v]))
            return false;
    for (int r = 0; r < a->reach_count; r++)
        if (!same_reach(&a->reach[r], &b->reach[r]))
            return false;
    for (int i = 0; i < a->operand_count; i++)
        if (!same_operand(&a->operand[i], &b->operand[i]))
            return false;
    return true;
}

static bool same_proof(const dcli_msg_proof *a, const dcli_msg_proof *b)
{
    return EQUAL(count) && NUMBERS(number, count);
}

static bool same_operations(const dcli_msg_operations *a, const dcli_msg_operations *b)
{
    if (!EQUAL(count) || !EQUAL(epoch) || !same_proof(&a->proof, &b->proof) || !EQUAL(order_count) ||
        !same_numbers(a->order, b->order, a->order_count))
        return false;
    for (int i = 0; i < a->count; i++)
        if (!same_operation(&a->operation[i], &b->operation[i]))
            return false;
    return true;
}

static bool same_parameter(const dcli_msg_parameter *a, const dcli_msg_parameter *b)
{
    return STRINGS(name) && EQUAL(access) && EQUAL(type) && EQUAL(rank) && EQUAL(turned);
}

static bool same_event(const dcli_msg_event *a, const dcli_msg_event *b)
{
    return EQUAL(begin_ns) && EQUAL(duration_ns) && EQUAL(kind) && EQUAL(operation) && EQUAL(part) && EQUAL(peer) &&
           EQUAL(bytes) && EQUAL(name) && EQUAL(clock) && EQUAL(written) && EQUAL(tasks) && EQUAL(launches);
}

static bool same_traced(const dcli_msg_traced *a, const dcli_msg_traced *b)
{
    if (!EQUAL(number) || !EQUAL(part) || !EQUAL(asked_ns) || !EQUAL(now_ns) || !EQUAL(clock_id) || !EQUAL(kept) ||
        !EQUAL(dropped) || !EQUAL(event_count) || !EQUAL(name_count))
        return false;
    for (int n = 0; n < a->event_count; n++)
        if (!same_event(&a->event[n], &b->event[n]))
            return false;
    for (int n = 0; n < a->name_count; n++)
        if (!STRINGS(name[n].text))
            return false;
    return true;
}

static bool same_open(const dcli_msg_open *a, const dcli_msg_open *b)
{
    if (!EQUAL(session) || !STRINGS(key) || !STRINGS(password) || !EQUAL(silence_ms) || !EQUAL(first) ||
        !EQUAL(nodes) || !EQUAL(chunk_bytes) || !EQUAL(host_count) || !EQUAL(opencl))
        return false;
    for (int i = 0; i < a->host_count; i++)
        if (!STRINGS(host[i].key) || !STRINGS(host[i].name))
            return false;
    return true;
}

static bool same_kernel(const dcli_msg_kernel *a, const dcli_msg_kernel *b)
{
    if (!EQUAL(kernel) || !STRINGS(text) || !STRINGS(prelude) || !EQUAL(parameter_count) || !EQUAL(builder_count) ||
        !NUMBERS(builder, builder_count) || !EQUAL(item_count) || !EQUAL(along) || !STRINGS(over) ||
        !NUMBERS(items, item_count) || !EQUAL(forgotten_count) || !NUMBERS(forgotten, forgotten_count) ||
        !same_proof(&a->proof, &b->proof))
        return false;
    for (int i = 0; i < a->parameter_count; i++)
        if (!same_parameter(&a->parameter[i], &b->parameter[i]))
            return false;
    return true;
}

static bool same_device(const dcli_msg_device *a, const dcli_msg_device *b)
{
    return STRINGS(name) && STRINGS(platform) && STRINGS(version) && STRINGS(class) && STRINGS(kind) && EQUAL(number) &&
           EQUAL(compute_units) && EQUAL(has_half) && EQUAL(has_double) && EQUAL(in_place) && EQUAL(reads_gpus) &&
           EQUAL(memory_bytes) && EQUAL(process);
}

static bool same_peers(const dcli_msg_peer a[], const dcli_msg_peer b[], int count)
{
    for (int i = 0; i < count; i++)
        if (!SAME(a[i].present == b[i].present && a[i].can == b[i].can && a[i].group == b[i].group) ||
            !SAME(same_string(a[i].address, b[i].address) && same_string(a[i].key, b[i].key)))
            return false;
    return true;
}

static bool same_setup(const dcli_msg_setup *a, const dcli_msg_setup *b)
{
    return EQUAL(self) && EQUAL(peer_count) && same_peers(a->peer, b->peer, a->peer_count) && EQUAL(first_operation) &&
           EQUAL(tile_bytes) && EQUAL(chunk_bytes) && EQUAL(pool_bytes) && EQUAL(kept_bytes) && EQUAL(quota_bytes) &&
           EQUAL(silence_ms) && EQUAL(epoch) && EQUAL(tree_nodes) && EQUAL(build_ms) && EQUAL(kernel_ms) &&
           EQUAL(plan_ms) && EQUAL(fanout) && EQUAL(log) && STRINGS(fault) && EQUAL(check_access) &&
           STRINGS(word_key) && EQUAL(trace_bytes) && EQUAL(steal) && EQUAL(steal_kinds);
}

static bool same_joined(const dcli_msg_joined *a, const dcli_msg_joined *b)
{
    return EQUAL(peer) && EQUAL(epoch) && EQUAL(first_operation) && STRINGS(address) && STRINGS(key) && EQUAL(can) &&
           EQUAL(group);
}

static bool same_welcome(const dcli_msg_welcome *a, const dcli_msg_welcome *b)
{
    if (!STRINGS(program) || !EQUAL(capabilities) || !EQUAL(device_count) || !EQUAL(sessions) || !EQUAL(processes) ||
        !EQUAL(load_percent) || !EQUAL(files))
        return false;
    for (int i = 0; i < a->device_count; i++)
        if (!same_device(&a->device[i], &b->device[i]))
            return false;
    return true;
}

static bool same_listener_contents(const dcli_message *a, const dcli_message *b)
{
    switch (a->kind) {
    case DCLI_MSG_HELLO:
        return STRINGS(hello.program) && EQUAL(hello.capabilities);
    case DCLI_MSG_WELCOME:
        return same_welcome(&a->welcome, &b->welcome);
    case DCLI_MSG_REFUSED:
        return EQUAL(refused.status) && STRINGS(refused.sentence);
    case DCLI_MSG_OPEN:
        return same_open(&a->open, &b->open);
    case DCLI_MSG_OPENED:
        return EQUAL(opened.peer_count) && same_peers(a->opened.peer, b->opened.peer, a->opened.peer_count);
    case DCLI_MSG_BEAT:
        return EQUAL(beat.number);
    case DCLI_MSG_GONE:
        return EQUAL(gone.process) && STRINGS(gone.sentence);
    case DCLI_MSG_PRINTED:
        return EQUAL(printed.number) && EQUAL(printed.process) && STRINGS(printed.text) && EQUAL(printed.dropped) &&
               EQUAL(printed.flushed);
    case DCLI_MSG_SHOWN:
        return EQUAL(shown.number) && EQUAL(shown.flush);
    case DCLI_MSG_FORGET:
        return EQUAL(forget.memfd);
    default:
        return true;
    }
}

static bool same_loan_contents(const dcli_message *a, const dcli_message *b)
{
    switch (a->kind) {
    case DCLI_MSG_HUNGRY:
        return EQUAL(hungry.question) && EQUAL(hungry.first) && EQUAL(hungry.upto) && EQUAL(hungry.bytes) &&
               EQUAL(hungry.kind) && EQUAL(hungry.busy_ns);
    case DCLI_MSG_NOTHING:
        return EQUAL(nothing.question);
    case DCLI_MSG_LENT:
        return EQUAL(lent.question) && EQUAL(lent.operation) && EQUAL(lent.first) && EQUAL(lent.count) &&
               EQUAL(lent.batch_ns);
    case DCLI_MSG_LOAN:
        return EQUAL(loan.question) && EQUAL(loan.operation) && EQUAL(loan.batch) && EQUAL(loan.written) &&
               EQUAL(loan.chunk);
    case DCLI_MSG_RECALL:
        return EQUAL(recall.question) && EQUAL(recall.operation) && EQUAL(recall.batch);
    case DCLI_MSG_RESULT:
        return EQUAL(result.question) && EQUAL(result.operation) && EQUAL(result.batch) && EQUAL(result.kernel_ns) &&
               EQUAL(result.held_ns);
    case DCLI_MSG_RETURNED:
        return EQUAL(returned.question) && EQUAL(returned.operation) && EQUAL(returned.batch);
    default:
        return true;
    }
}

static bool same_session_contents(const dcli_message *a, const dcli_message *b)
{
    switch (a->kind) {
    case DCLI_MSG_DEVICE:
        return same_device(&a->device, &b->device);
    case DCLI_MSG_SETUP:
        return same_setup(&a->setup, &b->setup);
    case DCLI_MSG_PART:
        return EQUAL(part.storage) && EQUAL(part.bytes) && EQUAL(part.memfd) && EQUAL(part.offset) &&
               EQUAL(part.piece) && EQUAL(part.piece_bytes);
    case DCLI_MSG_LOST:
        return EQUAL(lost.peer) && EQUAL(lost.epoch) && STRINGS(lost.sentence);
    case DCLI_MSG_JOINED:
        return same_joined(&a->joined, &b->joined);
    case DCLI_MSG_SEES:
        return EQUAL(sees.number) && STRINGS(sees.path) && STRINGS(sees.token);
    case DCLI_MSG_SEEN:
        return EQUAL(seen.number) && EQUAL(seen.yes);
    case DCLI_MSG_RISEN:
        return EQUAL(risen.done) && EQUAL(risen.ready) && EQUAL(risen.notice_count) &&
               SAME(same_numbers(a->risen.notice, b->risen.notice, a->risen.notice_count));
    case DCLI_MSG_COUNT:
        return EQUAL(count.number) && EQUAL(count.kernel);
    case DCLI_MSG_TRACE:
        return EQUAL(trace.number) && EQUAL(trace.part) && EQUAL(trace.asked_ns);
    case DCLI_MSG_TRACED:
        return same_traced(&a->traced, &b->traced);
    case DCLI_MSG_COUNTS:
        return EQUAL(counts.number) && SAME(same_numbers(a->counts.counter, b->counts.counter, DCLI_MSG_COUNTERS)) &&
               EQUAL(counts.kernel) && EQUAL(counts.axis) && EQUAL(counts.first) && EQUAL(counts.count) &&
               EQUAL(counts.calls) && EQUAL(counts.seen) && EQUAL(counts.stolen) && EQUAL(counts.work_count) &&
               SAME(same_numbers(a->counts.work, b->counts.work, a->counts.work_count)) && EQUAL(counts.thief_count) &&
               SAME(same_numbers(a->counts.thief, b->counts.thief, a->counts.thief_count));
    default:
        return same_loan_contents(a, b) && same_listener_contents(a, b) && test_same_opencl_contents(a, b, &different);
    }
}

static bool same_contents(const dcli_message *a, const dcli_message *b)
{
    switch (a->kind) {
    case DCLI_MSG_KERNEL:
        return same_kernel(&a->kernel, &b->kernel);
    case DCLI_MSG_BUILT:
        return EQUAL(built.kernel) && EQUAL(built.status) && STRINGS(built.sentence);
    case DCLI_MSG_OPERATIONS:
        return same_operations(&a->operations, &b->operations);
    case DCLI_MSG_GRANT:
        return EQUAL(grant.operation) && EQUAL(grant.chunks) && EQUAL(grant.declined);
    case DCLI_MSG_CHUNK:
        return EQUAL(chunk.operation) && EQUAL(chunk.stream) && EQUAL(chunk.chunk) && EQUAL(chunk.status);
    case DCLI_MSG_CREDIT:
        return EQUAL(credit.chunks);
    case DCLI_MSG_MARKS:
        return EQUAL(marks.done) && EQUAL(marks.ready) &&
               SAME(same_numbers(a->marks.counter, b->marks.counter, DCLI_MSG_COUNTERS)) &&
               EQUAL(marks.failure_count) && NUMBERS(marks.failure, marks.failure_count);
    case DCLI_MSG_FAILED:
        return EQUAL(failed.operation) && EQUAL(failed.node) && EQUAL(failed.status) && EQUAL(failed.cause) &&
               EQUAL(failed.storage_count) && NUMBERS(failed.storage, failed.storage_count) && STRINGS(failed.sentence);
    case DCLI_MSG_REPORT:
        return EQUAL(report.operation) && EQUAL(report.storage_count) &&
               NUMBERS(report.storage, report.storage_count) && STRINGS(report.array) && EQUAL(report.rank) &&
               NUMBERS(report.index, report.rank) && STRINGS(report.body) && STRINGS(report.declared) &&
               EQUAL(report.written) && STRINGS(report.outputs);
    default:
        return same_session_contents(a, b);
    }
}

bool test_message_equal(const dcli_message *a, const dcli_message *b, const char **different_out)
{
    different = "nothing";
    bool equal = EQUAL(kind) && EQUAL(epoch) && same_contents(a, b);
    *different_out = different;
    return equal;
}
