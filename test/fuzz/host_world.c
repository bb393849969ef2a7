/* fuzz/host_world.c - what the program does, and what its worker is opened with. */
#include "fuzz/host_world.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "runtime/trace.h"
#include "worker/peer.h"
#include "workqueue/operation.h"

const dcli_log fuzz_silent;

enum { MEMORY = 1 << 16 };
static char memory[MEMORY]; /* what the program reads into and writes from */

/* ---- the listener ----------------------------------------------------------------------------------------------------- */

dcl_status fuzz_hear_listener(void *user, dcli_received *received_out)
{
    fuzz_world *world = user;
    fuzz_input *input = &world->session.input;
    dcli_message message = {.kind = DCLI_MSG_GONE,
                            .gone = {.process = fuzz_below(input, FUZZ_MOST_NODES), .sentence = "was killed"}};
    if (!world->listener_speaks)
        return DCL_ERR_TIMEOUT;
    world->listener_speaks = fuzz_flag(input);
    switch (fuzz_below(input, 5)) {
    case 4:
        message = (dcli_message){.kind = DCLI_MSG_PRINTED,
                                 .printed = {.number = 1 + fuzz_byte(input),
                                             .process = fuzz_below(input, FUZZ_MOST_NODES + 1),
                                             .text = "one\ntwo",
                                             .dropped = fuzz_byte(input),
                                             .flushed = fuzz_byte(input)}};
        break;
    case 0:
        message.kind = (dcli_message_kind)(1 + fuzz_below(input, DCLI_MSG_KIND_COUNT - 1));
        fuzz_fill(input, &message);
        break;
    case 1:
        return fuzz_flag(input) ? DCLI_FAIL(DCL_ERR_PROTOCOL, "no message") : DCLI_FAIL(DCL_ERR_NODE_LOST, "gone");
    default:
        break;
    }
    return fuzz_receive(world->pool, &message, received_out);
}

/* ---- what the program does ---------------------------------------------------------------------------------------- */

static int64_t box_strides(const dcli_msg_operation *operation, const dcli_msg_operation *created, int64_t strides[])
{
    int rank = operation->box_rank > 0 ? operation->box_rank : created->rank;
    int64_t elements = 1;
    for (int d = rank - 1; d >= 0; d--) {
        strides[d] = elements;
        elements *= operation->box_rank > 0 ? operation->box.count[d] : created->extent[d];
    }
    return elements;
}

/* As the runtime numbers and queues it. READ and WRITE always name their box. */
void fuzz_call_operation(fuzz_world *world)
{
    static dcli_msg_operation operation, whole;
    static dcli_msg_operand operands[DCLI_MOST_OPERANDS];
    int64_t strides[DCL_MAX_RANK] = {0};
    fuzz_program *program = &world->program;
    if (!fuzz_operation(program, &world->session.input, &operation, operands))
        return;
    bool moves = operation.kind == DCLI_OP_READ || operation.kind == DCLI_OP_WRITE;
    if (moves) {
        fuzz_grid_of(program, operands[0].storage, &whole);
        if (operation.box_rank == 0) {
            operation.box_rank = operation.box.rank = whole.rank;
            for (int d = 0; d < whole.rank; d++) {
                operation.box.start[d] = whole.origin[d];
                operation.box.count[d] = whole.extent[d];
                operation.box.stride[d] = 1;
            }
        }
        fuzz_demand(box_strides(&operation, &whole, strides) * 8 <= MEMORY, "the program's memory is too small");
    }
    dcli_lent *lent = moves ? dcli_lend(memory) : NULL;
    if (moves && lent == NULL) /* no memory is left: the program's call ends here, too */
        return;
    if (dcli_host_operation(world->host, &operation, lent, moves ? strides : NULL, false) == DCL_OK)
        world->cluster.operations++;
    dcli_lent_release(lent);
}

void fuzz_call_kernel(fuzz_world *world)
{
    static dcli_msg_parameter parameters[DCLI_MOST_OPERANDS];
    dcli_message message = {.kind = DCLI_MSG_KERNEL};
    if (fuzz_kernel(&world->program, &world->session.input, &message.kernel, parameters))
        dcli_host_message(world->host, DCL_ALL_NODES, &message);
}

void fuzz_call_ask(fuzz_world *world, bool counts)
{
    dcli_message sees = {.kind = DCLI_MSG_SEES, .sees = {.number = 1, .path = "/a", .token = "x"}},
                 count = {.kind = DCLI_MSG_COUNT, .count.number = 1};
    struct dcli_question *question = &world->host->as_host->question; /* as if a thread waited for the answers */
    pthread_mutex_lock(&question->lock);
    question->asking = true;
    question->number = 1;
    memset(question->answered, 0, (size_t)world->session.nodes * sizeof *question->answered);
    pthread_mutex_unlock(&question->lock);
    for (int n = 0; n < world->session.nodes && world->cluster.trace != NULL; n++)
        world->cluster.trace->peer[n].told = false;
    dcli_host_message(world->host, DCL_ALL_NODES, counts ? &count : &sees);
}

/* As the worker pool introduces a newcomer, when all is over. */
void fuzz_call_join(fuzz_world *world)
{
    int node = world->worker_pool.node_count;
    if (node >= world->session.nodes || world->cluster.complete < world->cluster.operations)
        return;
    dcli_message joined = {
        .kind = DCLI_MSG_JOINED,
        .joined = {
            .peer = node, .epoch = 1, .first_operation = world->program.operations + 1, .address = "", .key = ""}};
    dcli_host_meet(world->host, node, NULL, "tcp://127.0.0.1:7", "");
    for (int p = 0; p < node; p++)
        dcli_host_message(world->host, p, &joined);
    dcli_host_message(world->host, world->session.nodes, &joined);
    world->session.present[node] = true;
    world->worker_pool.node_count = node + 1;
    world->cluster.node_count = node + 1;
    world->cluster.done[node] = world->cluster.ready[node] = world->program.operations;
    dcli_cluster_list_speakers(&world->cluster);
}

/* ---- life --------------------------------------------------------------------------------------------------------- */

void fuzz_open_worker_pool(fuzz_world *world, int nodes, bool is_local)
{
    struct dcli_worker_pool *worker_pool = &world->worker_pool;
    static dcli_member members[FUZZ_MOST_NODES];
    memset(members, 0, sizeof members);
    *worker_pool = (struct dcli_worker_pool){.terms = {.config = &world->config, .log = &fuzz_silent},
                                             .is_local = is_local,
                                             .node_count = nodes,
                                             .capacity = world->session.nodes,
                                             .member = members,
                                             .wake_fd = -1,
                                             .contact_count = 1,
                                             .attended = 1};
    for (int n = 0; n < worker_pool->capacity; n++) {
        strcpy(members[n].gone, "ended"); /* nobody waits for what the listener says of it */
        members[n].heard = true;
        members[n].place = n;
    }
    worker_pool->contact[0] = (dcli_contact){.address = "listener", .count = nodes, .heard_ms = INT64_MAX / 2};
    pthread_mutex_init(&worker_pool->lock, NULL);
    pthread_cond_init(&worker_pool->changed, NULL);
}

/* Nodes say what they have recorded in answer to any question. */
static void open_trace(dcl_cluster *cluster)
{
    int peers = FUZZ_MOST_NODES + 1;
    cluster->config.trace_bytes = 4096;
    cluster->trace = dcli_calloc(1, sizeof *cluster->trace + (size_t)peers * sizeof(dcli_traced_peer));
    if (cluster->trace == NULL)
        return;
    cluster->trace->peer_count = peers;
    cluster->trace->opened_ns = dcli_monotonic_ns();
    pthread_mutex_init(&cluster->trace->lock, NULL);
}

/* Write the events, as when the cluster is closed. */
static void close_trace(dcl_cluster *cluster)
{
    dcli_trace_source source[FUZZ_MOST_NODES + 1];
    FILE *file = fopen("/dev/null", "w");
    for (int n = 0; n <= FUZZ_MOST_NODES && cluster->trace != NULL; n++) {
        source[n] = (dcli_trace_source){.device = "device", .peer = &cluster->trace->peer[n]};
        dcli_traced_missing(source[n].peer, false, source[n].missing);
    }
    if (file != NULL && cluster->trace != NULL)
        dcli_trace_write(file, FUZZ_MOST_NODES + 1, source, cluster->host, cluster->trace->opened_ns);
    if (file != NULL)
        fclose(file);
    dcli_cluster_trace_free(cluster);
}

void fuzz_open_cluster(fuzz_world *world, int nodes)
{
    static dcli_node_ways ways[FUZZ_MOST_NODES];
    static atomic_bool lost[FUZZ_MOST_NODES];
    static int64_t done[FUZZ_MOST_NODES + 1], ready[FUZZ_MOST_NODES + 1];
    static dcl_counters counters[FUZZ_MOST_NODES + 1];
    static int speaker[FUZZ_MOST_NODES + 1];
    dcl_cluster *cluster = &world->cluster;
    for (int n = 0; n < FUZZ_MOST_NODES; n++)
        lost[n] = false;
    memset(done, 0, sizeof done);
    memset(ready, 0, sizeof ready);
    *cluster = (dcl_cluster){.config = world->config,
                             .host = world->session.nodes,
                             .ways = ways,
                             .pool = &world->worker_pool,
                             .node_count = nodes,
                             .lost = lost,
                             .done = done,
                             .ready = ready,
                             .speaker = speaker,
                             .counters = counters,
                             .awaited = INT64_MAX,
                             .awaited_host = INT64_MAX};
    for (int n = nodes; n < cluster->host; n++)
        done[n] = ready[n] = INT64_MAX;
    dcli_cluster_list_speakers(cluster);
    pthread_mutex_init(&cluster->lock, NULL);
    pthread_cond_init(&cluster->changed, NULL);
    open_trace(cluster);
    dcli_cluster_hooks(cluster);
}

void fuzz_close_world(fuzz_world *world)
{
    close_trace(&world->cluster);
    dcli_outcomes_free(&world->cluster.causes);
    dcli_outcomes_free(&world->cluster.outcomes);
    pthread_mutex_destroy(&world->cluster.lock);
    pthread_cond_destroy(&world->cluster.changed);
    pthread_mutex_destroy(&world->worker_pool.lock);
    pthread_cond_destroy(&world->worker_pool.changed);
}
