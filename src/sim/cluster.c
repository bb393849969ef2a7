/* sim/cluster.c - set up a simulated cluster, run it, and collect its figures. */
#include <inttypes.h>

#include "base/alloc.h"
#include "base/check.h"
#include "base/error.h"
#include "sim/state.h"

void dcl_sim_defaults(dcl_sim_settings *settings_out)
{
    *settings_out = (dcl_sim_settings){.program = DCL_SIM_ADD,
                                       .nodes = 4,
                                       .steps = 10,
                                       .elements = 64 << 20,
                                       .tiles = 16,
                                       .fanout = 16,
                                       .tile_bytes = 16 << 20,
                                       .chunk_bytes = 1 << 20,
                                       .bandwidth = 12.5e9,
                                       .copy_rate = 50e9,
                                       .element_ns = 0.1,
                                       .latency_ns = 5000,
                                       .message_ns = 1000,
                                       .launch_ns = 10000,
                                       .plan_ns = 15000,
                                       .cost = DCL_SIM_RAMP,
                                       .steal = DCL_STEAL_NEVER,
                                       .seed = 1};
}

/* ---- checking ----------------------------------------------------------------------------------------------------- */

static dcl_status check_count(const char *what, int64_t value, int64_t least, int64_t most)
{
    if (value >= least && value <= most)
        return DCL_OK;
    return DCLI_FAIL(DCL_ERR_INVALID, "%s is %" PRId64 "; expected %" PRId64 "..%" PRId64 "; choose one in this range",
                     what, value, least, most);
}

static dcl_status check_number(const char *what, double value, double least, double most)
{
    if (value >= least && value <= most)
        return DCL_OK;
    return DCLI_FAIL(DCL_ERR_INVALID, "%s is %g; expected %g..%g; choose one in this range", what, value, least, most);
}

static dcl_status check_slow(const dcl_sim_settings *settings)
{
    dcl_status status = check_count("the number of slow nodes", settings->slow_count, 0, DCL_SIM_MOST_SLOW);
    for (int n = 0; n < settings->slow_count && status == DCL_OK; n++) {
        status = check_number("the factor of a slow node", settings->slow[n].factor, 0.001, 1e6);
        if (status == DCL_OK && (settings->slow[n].node < 0 || settings->slow[n].node >= settings->nodes))
            status = DCLI_FAIL(DCL_ERR_INVALID, "the slow node is %d; expected 0..%d; there are %d nodes",
                               settings->slow[n].node, settings->nodes - 1, settings->nodes);
    }
    return status;
}

static dcl_status check(const dcl_sim_settings *settings)
{
    const struct {
        const char *what;
        int64_t value, least, most;
    } counts[] = {{"the program", settings->program, 0, DCL_SIM_PROGRAMS - 1},
                  {"the policy of stealing", settings->steal, DCL_STEAL_NEVER, DCL_STEAL_ALWAYS},
                  {"the number of nodes", settings->nodes, 1, DCL_SIM_MOST_NODES},
                  {"the number of steps", settings->steps, 1, DCL_SIM_MOST_STEPS},
                  {"the number of the failing step", settings->failing_step, 0, settings->steps},
                  {"the number of the failing node", settings->failing_node, -1, settings->nodes - 1},
                  {"the number of elements", settings->elements, 1, INT64_C(1) << 50},
                  {"the number of tiles per node", settings->tiles, 1, 4096},
                  {"the number of children in the tree", settings->fanout, 1, 256},
                  {"the size of a tile", settings->tile_bytes, 64, INT64_C(1) << 40},
                  {"the size of a chunk", settings->chunk_bytes, 64, DCLI_MOST_CHUNK},
                  {"the latency in ns", settings->latency_ns, 0, INT64_C(1) << 40},
                  {"the time of a message in ns", settings->message_ns, 0, INT64_C(1) << 40},
                  {"the time of a launch in ns", settings->launch_ns, 0, INT64_C(1) << 40},
                  {"the time of a plan in ns", settings->plan_ns, 0, INT64_C(1) << 40}};
    const struct {
        const char *what;
        double value, least, most;
    } numbers[] = {{"the bandwidth in bytes per second", settings->bandwidth, 1e3, 1e15},
                   {"the rate of copying in bytes per second", settings->copy_rate, 1e3, 1e15},
                   {"the time of an element in ns", settings->element_ns, 0, 1e12},
                   {"the jitter", settings->jitter, 0, 100}};
    dcl_status status = DCL_OK;
    for (size_t n = 0; n < sizeof counts / sizeof counts[0] && status == DCL_OK; n++)
        status = check_count(counts[n].what, counts[n].value, counts[n].least, counts[n].most);
    for (size_t n = 0; n < sizeof numbers / sizeof numbers[0] && status == DCL_OK; n++)
        status = check_number(numbers[n].what, numbers[n].value, numbers[n].least, numbers[n].most);
    return status == DCL_OK ? check_slow(settings) : status;
}

/* ---- setting up --------------------------------------------------------------------------------------------------- */

/* The terms of a worker process: worker/worker.c. */
static void set_terms(dcli_sim *sim)
{
    enum { POOL = 1 << 30, WINDOW = 16 << 20, MADE = 48 << 20, LEAST_CHUNKS = 4, MOST_CHUNKS = 16 };
    enum { LOANS = 256 << 20, RESULTS = 128 << 20, KEPT = 64 }; /* worker/stealing.c */
    const dcl_sim_settings *settings = sim->settings;
    int64_t tile_bytes = settings->tile_bytes;
    if (settings->program == DCL_SIM_UNEVEN) {
        int64_t tiles = (int64_t)settings->tiles * settings->nodes;
        tile_bytes = dcli_max(64, dcli_ceil_div(sim->program.grid.extent[0], tiles) * (int64_t)sizeof(float));
    }
    sim->terms = (dcli_node_terms){.plan = {.node_count = sim->host,
                                            .ways = sim->ways,
                                            .batch_bytes = tile_bytes,
                                            .chunk_bytes = settings->chunk_bytes,
                                            .pool_bytes = POOL,
                                            .kept_bytes = POOL,
                                            .early_bytes = DCLI_EARLY_BYTES,
                                            .fine_elements = dcli_sim_lends(sim) ? DCLI_FINE_ELEMENTS : 0},
                                   .window_chunks =
                                       dcli_min(MOST_CHUNKS, dcli_max(LEAST_CHUNKS, WINDOW / settings->chunk_bytes)),
                                   .made_bytes = MADE,
                                   .plan_of = dcli_sim_plan_of,
                                   .loan_bytes = LOANS,
                                   .result_bytes = RESULTS,
                                   .loans_running = DCLI_LOANS_RUNNING,
                                   .kept_operations = KEPT};
}

static dcl_status open_nodes(dcli_sim *sim)
{
    for (int n = 0; n <= sim->host; n++) {
        dcli_sim_node *node = &sim->node[n];
        dcli_node_terms terms = sim->terms;
        *node = (dcli_sim_node){.sim = sim, .self = n, .slowness = 1};
        terms.self = n;
        terms.user = node;
        terms.loan_of = dcli_sim_lends(sim) && n != sim->host ? dcli_sim_loan_of : NULL;
        node->machine = dcli_node_open(&terms);
        if (node->machine == NULL)
            return DCL_ERR_NOMEM;
        if (n != sim->host) {
            dcli_asking_limit(&node->lending.asking, terms.loan_bytes);
            dcli_asking_choose(&node->lending.asking, sim->settings->seed, n, sim->host, sim->ways, NULL);
        }
    }
    for (int n = 0; n < sim->settings->slow_count; n++)
        sim->node[sim->settings->slow[n].node].slowness *= sim->settings->slow[n].factor;
    return DCL_OK;
}

static dcl_status open(dcli_sim *sim)
{
    dcl_status status = dcli_sim_program_make(sim->settings, &sim->program);
    if (status != DCL_OK)
        return status;
    sim->host = sim->settings->nodes;
    sim->clock.event_bytes = sizeof(dcli_sim_event);
    sim->ways = dcli_calloc((size_t)sim->host, sizeof *sim->ways); /* every node is a host of its own */
    sim->node = dcli_calloc((size_t)sim->host + 1, sizeof *sim->node);
    sim->complete_ns = dcli_calloc((size_t)sim->program.operation_count, sizeof *sim->complete_ns);
    sim->failed = dcli_calloc((size_t)sim->program.operation_count, sizeof *sim->failed);
    if (sim->ways == NULL || sim->node == NULL || sim->complete_ns == NULL || sim->failed == NULL)
        return DCL_ERR_NOMEM;
    set_terms(sim);
    sim->terms.plan.planner = dcli_planner_new();
    return sim->terms.plan.planner != NULL ? open_nodes(sim) : DCL_ERR_NOMEM;
}

static void forget_plans(dcli_sim_node *node)
{
    for (int64_t k = 0; k < node->known_count; k++) {
        dcli_plan_free(node->known[k].plan);
        dcli_free(node->known[k].size);
    }
    node->known_count = 0;
}

static void close(dcli_sim *sim)
{
    for (int n = 0; sim->node != NULL && n <= sim->host; n++) {
        dcli_sim_node *node = &sim->node[n];
        dcli_node_close(node->machine);
        forget_plans(node);
        dcli_sim_forget_loans(node);
        dcli_free(node->known);
        dcli_free(node->inbox);
    }
    dcli_planner_free(sim->terms.plan.planner);
    dcli_free(sim->node);
    dcli_free(sim->ways);
    dcli_free(sim->complete_ns);
    dcli_free(sim->failed);
    dcli_free(sim->packed.bytes);
    dcli_sim_clock_free(&sim->clock);
    dcli_sim_program_free(&sim->program);
}

/* ---- running ------------------------------------------------------------------------------------------------------ */

int64_t dcli_sim_end(dcli_sim *sim, int64_t begin, double ns)
{
    if (begin < DCLI_SIM_MOST_NS && ns < (double)(DCLI_SIM_MOST_NS - begin))
        return begin + (int64_t)ns;
    dcli_sim_check(sim,
                   DCLI_FAIL(DCL_ERR_INVALID,
                             "the simulated time exceeds %.3g s; expected a program that ends before; choose fewer "
                             "elements or steps, or faster devices and links",
                             1e-9 * (double)DCLI_SIM_MOST_NS));
    return DCLI_SIM_MOST_NS;
}

/* If the cluster stands still, that is a fault of the library: report which node waits, and for which operation. */
static dcl_status check_end(const dcli_sim *sim)
{
    for (int n = 0; n <= sim->host; n++) {
        if (dcli_node_idle(sim->node[n].machine))
            continue;
        char *state = dcli_node_explain(sim->node[n].machine);
        dcl_status status = DCLI_FAIL(DCL_ERR_INTERNAL, "the simulated cluster stands still: %.1000s",
                                      state != NULL ? state : "a node waits");
        dcli_free(state);
        return status;
    }
    return sim->complete >= sim->last_call
               ? DCL_OK
               : DCLI_FAIL(DCL_ERR_INTERNAL, "the program does not learn that operation %d is complete",
                           sim->complete + 1);
}

/* Let the program make its calls up to `last`, and run until no event is left. */
static dcl_status run_calls(dcli_sim *sim, int first, int last)
{
    dcli_sim_event event = {.kind = DCLI_SIM_CALL, .to = sim->host, .operation = first};
    sim->last_call = last;
    dcli_sim_check(sim, dcli_sim_clock_post(&sim->clock, &event, sim->clock.now));
    while (sim->status == DCL_OK && dcli_sim_clock_take(&sim->clock, &event)) {
        sim->figures.events++;
        dcli_sim_happen(sim, &event);
    }
    return sim->status == DCL_OK ? check_end(sim) : sim->status;
}

/* ---- figures ------------------------------------------------------------------------------------------------------ */

static void collect_nodes(dcli_sim *sim)
{
    dcl_sim_figures *figures = &sim->figures;
    double work = 0, speed = 0, bound = 0, wire = 1e9 / sim->settings->bandwidth;
    int64_t new_ns = 0, new_count = 0, again_ns = 0, again_count = 0;
    for (int n = 0; n < sim->host; n++) {
        const dcli_sim_node *node = &sim->node[n];
        double link = wire * (double)dcli_max(node->bytes_in, node->bytes_out);
        double most = node->device_ns > link ? node->device_ns : link;
        bound = most > bound ? most : bound;
        work += node->work_ns;
        speed += 1 / node->slowness;
        new_ns += node->new_ns;
        new_count += node->new_count;
        again_ns += node->again_ns;
        again_count += node->again_count;
        double plan_us = node->new_count > 0 ? 1e-3 * (double)node->new_ns / (double)node->new_count : 0;
        figures->plan_most_us = plan_us > figures->plan_most_us ? plan_us : figures->plan_most_us;
        figures->plans += node->plans;
        figures->pairs_most = dcli_max(figures->pairs_most, node->pairs_most);
        figures->control_most = dcli_max(figures->control_most, node->control);
    }
    figures->bound_ns = (int64_t)(bound / sim->settings->steps);
    figures->balanced_ns = (int64_t)(work / speed / sim->settings->steps);
    figures->plan_us = new_count > 0 ? 1e-3 * (double)new_ns / (double)new_count : 0;
    figures->again_us = again_count > 0 ? 1e-3 * (double)again_ns / (double)again_count : 0;
}

static void collect(dcli_sim *sim, int64_t began_ns)
{
    const dcl_grid *grid = &sim->program.grid;
    int64_t last_ns = sim->complete_ns[sim->program.operation_count - 1];
    sim->figures.elements = grid->extent[0] * (grid->rank > 1 ? grid->extent[1] : 1);
    sim->figures.first_ns = sim->complete_ns[sim->program.storage_count] - began_ns;
    sim->figures.step_ns = (last_ns - began_ns) / sim->settings->steps;
    collect_nodes(sim);
}

dcl_status dcl_sim_run(const dcl_sim_settings *settings, dcl_sim_figures *figures_out)
{
    dcli_error_enter(__func__);
    dcli_sim sim = {.settings = settings};
    dcl_status status = check(settings);
    if (status != DCL_OK)
        return status;
    status = open(&sim);
    int arrays = sim.program.storage_count;
    if (status == DCL_OK)
        status = run_calls(&sim, 1, arrays);
    for (int n = 0; n <= sim.host && status == DCL_OK; n++) { /* all operations so far have ended */
        forget_plans(&sim.node[n]);
        sim.node[n].plans = sim.node[n].pairs_most = 0;
    }
    int64_t began_ns = sim.clock.now;
    sim.counts = true;
    if (status == DCL_OK)
        status = run_calls(&sim, arrays + 1, sim.program.operation_count);
    if (status == DCL_OK) {
        collect(&sim, began_ns);
        *figures_out = sim.figures;
    }
    close(&sim);
    return status;
}
