/* worker/series.c - collects small batches and launches them together; has programs compiled for the bodies that
 * recur. */
#include "worker/series.h"

#include <stddef.h>
#include <string.h>

#include "base/alloc.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/error.h"
#include "kernel/series.h"
#include "worker/recent.h"
#include "worker/scalar.h"
#include "worker/trace.h"
#include "worker/waves.h"

enum {
    MOST_SETS = 8,
    MOST_STEPS = 64,           /* most launches that a series takes the place of */
    MOST_LONGS = 16 * 64,      /* most longs of all its steps */
    MOST_USES = 32,            /* most memories that it uses */
    MOST_STEP_NS = 10000,      /* a batch is short if it takes at most as long: a launch takes 2000 to 8000 */
    MOST_SERIES_NS = 500000,   /* most time of a series */
    MOST_LARGE_NS = 100000000, /* the same for batches that are run in waves */
    MOST_WAVES_NS = 400000000, /* most time of a series of these */
    MOST_LONELY = 4,           /* series of one large batch in a row after which large ones are launched alone */
    ALONE = 64,                /* this many of them; then series are tried again */
    MOST_AHEAD_NS =
        2000000, /* most time of batches in the device's queue while the program for their wave is being compiled */
    LEAST_UNKNOWN = 1 << 16, /* elements of a batch of unknown cost that may be large */
    FEW_STEPS =
        4 /* a shorter series may have ended because a body was missing: the next batches count as launched alone */
};

_Static_assert(sizeof(int64_t) * DCLI_SERIES_NOW_LONGS == sizeof(((dcli_status_page *)0)->step),
               "what a kernel writes");
_Static_assert(sizeof(int64_t) == offsetof(dcli_status_page, step.text) - offsetof(dcli_status_page, step),
               "where it writes the text");

/** The bodies that one program contains. */
typedef struct dcli_series_set {
    int count;
    int64_t body[DCLI_SERIES_BODIES]; /* their numbers, in the order of the program */
    dcli_program *program;
    int64_t used; /* the clock of the series when it was last used */
} dcli_series_set;

/** What the kernel of a series reads. */
typedef struct dcli_steps {
    struct dcli_steps *next; /* the next spare one */
    dcli_wave_table *tables; /* of its waves */
    int64_t list[2];         /* of a series that is no wave: its only list (kernel/series.h) */
    int64_t text[DCLI_SERIES_BODIES][DCLI_SERIES_TEXT_LONGS];
    int64_t step[MOST_LONGS];
} dcli_steps;

struct dcli_series {
    dcli_series_set set[MOST_SETS];
    int set_count;
    int64_t clock;
    dcli_compiling *compiling; /* the program of `wanted`; NULL: nothing is being compiled */
    dcli_series_set wanted;
    dcli_recent recent; /* bodies of batches that were launched alone, or that count as such, and could have joined the
                           batch before, or been joined by the next one */
    struct {
        int64_t operation, batch; /* the last suitable batch */
        int count; /* of suitable batches in a row, with nothing else for the device between them; at most 2 */
        bool has_first, first_is_large; /* the first one was launched alone; it is noted with the second one */
        int64_t first;                  /* its body */
    } row;
    int last_steps; /* steps of the last series that was launched */
    int lonely; /* how many large series in a row had one batch only; from MOST_LONELY on, batches that were launched
                   alone are added */
    dcli_steps *spare;
    dcli_waves waves;
    /* The series that is not launched yet: */
    const dcli_series_set *open; /* NULL: there is none */
    dcli_steps *steps;
    int step_count, batches; /* its batches are the last ones of as_node->running */
    int64_t longs;
    double ns;  /* predicted time, on one compute unit */
    bool large; /* it is run in waves: the first batch was large, and short ones may follow it */
    dcli_wave_step step[MOST_STEPS];
    unsigned texts; /* bit p: the text of the body at place p is in the table */
    struct {
        dcli_memory *memory;
        bool written;
    } uses[MOST_USES];
    int use_count;
};

/* ---- life ----------------------------------------------------------------------------------------------------------- */

dcl_status dcli_series_open(dcli_worker *worker)
{
    dcli_as_node *own = worker->as_node;
    if (dcli_device_is_gpu(own->device) || !dcli_device_same_addresses(own->device) || worker->terms.check_access)
        return DCL_OK;
    own->series = dcli_calloc(1, sizeof *own->series);
    return own->series != NULL ? DCL_OK : DCL_ERR_NOMEM;
}

static void drop_set(dcli_series *series, int n)
{
    dcli_program_release(series->set[n].program);
    series->set[n] = series->set[--series->set_count];
}

void dcli_series_stop(dcli_worker *worker)
{
    dcli_series *series = worker->as_node->series;
    if (series == NULL)
        return;
    if (series->compiling != NULL) {
        int64_t began_ns = dcli_exec_begin_building(worker, 0, "bodies that recur, for launching them together");
        dcli_program_release(dcli_program_take(series->compiling));
        series->compiling = NULL;
        dcli_exec_watch_beside(worker, 0);
        dcli_exec_end_building(worker, began_ns);
    }
    while (series->set_count > 0)
        drop_set(series, 0);
}

void dcli_series_leave(dcli_worker *worker)
{
    if (worker->as_node->series != NULL)
        dcli_program_leave(worker->as_node->series->compiling);
}

dcli_compiling *dcli_series_compiling(const dcli_as_node *own)
{
    return own->series != NULL ? own->series->compiling : NULL;
}

void dcli_series_give(dcli_as_node *own, dcli_steps *steps)
{
    dcli_series *series = own->series;
    if (steps == NULL)
        return;
    dcli_waves_give(&series->waves, steps->tables);
    steps->tables = NULL;
    steps->next = series->spare;
    series->spare = steps;
}

void dcli_series_free(dcli_as_node *own)
{
    dcli_series *series = own->series;
    if (series == NULL)
        return;
    for (dcli_steps *steps = series->spare, *next; steps != NULL; steps = next) {
        next = steps->next;
        dcli_free(steps);
    }
    dcli_waves_free(&series->waves);
    dcli_free(series->steps);
    dcli_free(series);
    own->series = NULL;
}

/* ---- sets of bodies ------------------------------------------------------------------------------------------------- */

static int place_in(const dcli_series_set *set, int64_t body)
{
    int p = 0;
    while (p < set->count && set->body[p] != body)
        p++;
    return p < set->count ? p : -1;
}

static dcli_series_set *find_set(dcli_series *series, int64_t body)
{
    dcli_series_set *newest = NULL;
    for (int n = 0; n < series->set_count; n++)
        if (place_in(&series->set[n], body) >= 0 && (newest == NULL || series->set[n].used > newest->used))
            newest = &series->set[n];
    return newest;
}

static bool has_set_with(const dcli_series *series, const dcli_series_set *wanted)
{
    for (int n = 0; n < series->set_count; n++) {
        int found = 0;
        for (int p = 0; p < wanted->count; p++)
            found += place_in(&series->set[n], wanted->body[p]) >= 0;
        if (found == wanted->count)
            return true;
    }
    return false;
}

/* Find the bodies that recur among the recent launches. Bodies that the host has evicted are left out.
 * @param large  the last batch was large: judge by the last DCLI_RECENT_LARGE batches instead of DCLI_RECENT. */
static dcli_series_set find_recurring(const dcli_worker *worker, bool large)
{
    int64_t body[DCLI_SERIES_BODIES];
    dcli_series_set found = {0};
    int count = dcli_recent_recurring(&worker->as_node->series->recent, large, DCLI_SERIES_BODIES, body);
    for (int n = 0; n < count; n++) {
        const dcli_kernel *kernel = dcli_kernels_find(&worker->catalog.kernels, body[n]);
        if (kernel != NULL && !kernel->forgotten)
            found.body[found.count++] = body[n];
    }
    return found;
}

/* Have a program compiled for the bodies that recur, unless there is one. */
static void want_set(dcli_worker *worker, bool large)
{
    dcli_series *series = worker->as_node->series;
    const dcli_body *bodies[DCLI_SERIES_BODIES];
    dcli_series_set wanted = find_recurring(worker, large);
    if (wanted.count == 0 || has_set_with(series, &wanted))
        return;
    for (int p = 0; p < wanted.count; p++)
        bodies[p] = dcli_kernels_find(&worker->catalog.kernels, wanted.body[p])->body;
    char *source = dcli_series_source(wanted.count, bodies);
    if (source == NULL)
        return;
    dcli_exec_watch_beside(worker, 1);
    series->compiling =
        dcli_program_compile(worker->as_node->device, source, 1, (const char *const[]){"dcl_series"}, 1);
    if (series->compiling == NULL)
        dcli_exec_watch_beside(worker, 0);
    series->wanted = wanted;
    dcli_free(source);
}

static int oldest_set(const dcli_series *series)
{
    int oldest = 0;
    for (int n = 1; n < series->set_count; n++)
        if (series->set[n].used < series->set[oldest].used)
            oldest = n;
    return oldest;
}

/* Use a program that was compiled. If the compiler has refused it, its bodies are launched alone from now on. */
static void take_compiled(dcli_worker *worker)
{
    dcli_series *series = worker->as_node->series;
    series->wanted.program = dcli_program_take(series->compiling);
    series->compiling = NULL;
    dcli_exec_watch_beside(worker, 0);
    series->wanted.used = ++series->clock;
    DCLI_LOG(worker->terms.log, DCLI_LOG_DEBUG, "node %d: a series of %d bodies %s", worker->terms.self,
             series->wanted.count, series->wanted.program != NULL ? "is compiled" : "cannot be compiled");
    bool evicted = false;
    for (int p = 0; p < series->wanted.count; p++) {
        dcli_kernel *kernel = dcli_kernels_find(&worker->catalog.kernels, series->wanted.body[p]);
        evicted |= kernel == NULL || kernel->forgotten;
        if (kernel != NULL && series->wanted.program == NULL)
            kernel->alone = true;
    }
    if (evicted)
        dcli_program_release(series->wanted.program);
    if (evicted || series->wanted.program == NULL)
        return;
    if (series->set_count == MOST_SETS)
        drop_set(series, oldest_set(series));
    series->set[series->set_count++] = series->wanted;
}

/* Note a batch that is launched alone. The first one of a row is noted only when another one follows it: if none does,
 * a program for its body would be of no use, and while it is compiled, kernels have fewer processors. */
static void note_alone(dcli_worker *worker, int64_t body, bool large)
{
    dcli_series *series = worker->as_node->series;
    bool due = false;
    if (series->row.count < 2) {
        series->row.has_first = true;
        series->row.first = body;
        series->row.first_is_large = large;
        return;
    }
    if (series->row.has_first)
        due = dcli_recent_note(&series->recent, series->row.first, series->row.first_is_large);
    series->row.has_first = false;
    due = dcli_recent_note(&series->recent, body, large) || due;
    if (!due || series->compiling != NULL)
        return;
    want_set(worker, large);
    dcli_recent_done(&series->recent);
}

void dcli_series_forget(dcli_worker *worker, int count, const int64_t bodies[])
{
    dcli_series *series = worker->as_node != NULL ? worker->as_node->series : NULL;
    if (series == NULL || count == 0)
        return;
    dcli_series_launch(worker);
    for (int b = 0; b < count; b++)
        for (int n = series->set_count - 1; n >= 0; n--)
            if (place_in(&series->set[n], bodies[b]) >= 0)
                drop_set(series, n);
}

/* ---- choice of batches ---------------------------------------------------------------------------------------------- */

static bool may_join(const dcli_job *job, const dcli_prepared *prepared)
{
    const dcli_lowered *lowered = &prepared->lowered;
    const dcli_body *body = job->entry->kernel->body;
    int64_t longs = (DCLI_STEP_HEAD + body->access_count + body->param_count) * lowered->launch_count;
    bool fits = prepared->elements > 0 && dcli_series_takes(body) && job->batch->stage_count == 0 &&
                job->batch->made_count == 0 && lowered->routes.count == 0 && lowered->arena_bytes == 0 &&
                !lowered->reads_peers && lowered->launch_count <= MOST_STEPS && longs <= MOST_LONGS &&
                body->access_count <= MOST_USES;
    for (int64_t l = 0; l < lowered->launch_count && fits; l++) {
        const dcli_launch *launch = &lowered->launch[l];
        fits = !launch->gathers && (launch->variant == DCLI_VARIANT_UNIT || launch->variant == DCLI_VARIANT_ANY);
        for (int a = 0; a < body->access_count && fits; a++)
            fits = launch->space[a].kind == DCLI_SPACE_OWN;
    }
    return fits;
}

static bool is_large(double ns) { return ns > MOST_STEP_NS; }

/* Whether large batches are collected. Not if each of them would be alone in its series, because the program waits
 * for each call, or data of other nodes arrive between them. */
static bool large_joins(const dcli_as_node *own)
{
    dcli_series *series = own->series;
    if (series->open == NULL && own->running_first == own->running_count)
        return false; /* the device is idle: it should begin at once */
    if (series->lonely < MOST_LONELY)
        return true;
    if (++series->lonely > MOST_LONELY + ALONE)
        series->lonely = 0;
    return false;
}

/* Whether a large batch may gain by a wave. Not if it is a small part of its operation: the batches after it belong
 * to the same one, and have no elements in common with it. Nor if its kernel transposes inputs, in blocks that are
 * wider than a line of a wave. */
static bool suits_waves(const dcli_worker *worker, const dcli_running *running, const dcli_prepared *prepared)
{
    const dcli_body *body = running->job.entry->kernel->body;
    const dcli_layout *layout = running->job.entry->operation.operand[body->owner].layout;
    return dcli_transposed_axis(body) < 0 && 2 * prepared->elements >= dcli_layout_owned(layout, worker->terms.self);
}

/* Whether a batch is of the kind that series contain, whatever its cost. */
static bool is_suitable(const dcli_worker *worker, const dcli_running *running, dcli_prepared *prepared)
{
    if (worker->as_node->series == NULL || running->job.entry->kernel->alone)
        return false;
    if (prepared->joins == DCLI_JOINS_UNKNOWN)
        prepared->joins = may_join(&running->job, prepared) ? DCLI_JOINS_IF_SHORT : DCLI_JOINS_NEVER;
    return prepared->joins != DCLI_JOINS_NEVER;
}

bool dcli_series_delays(dcli_worker *worker, const dcli_running *running, dcli_prepared *prepared)
{
    const dcli_as_node *own = worker->as_node;
    const dcli_kernel *kernel = running->job.entry->kernel;
    int64_t ahead = own->running_count - own->running_first;
    if (ahead < 2 || !is_suitable(worker, running, prepared) || !suits_waves(worker, running, prepared))
        return false;
    double ns = dcli_cost_least_ns(&kernel->cost) * (double)prepared->elements;
    if (ns == 0)
        return own->measuring != 0 && prepared->elements >= LEAST_UNKNOWN;
    const dcli_series *series = own->series;
    bool is_compiling = series->compiling != NULL && place_in(&series->wanted, kernel->number) >= 0 &&
                        !dcli_program_is_compiled(series->compiling);
    return is_compiling && is_large(ns) && ns <= MOST_LARGE_NS &&
           ns * (double)ahead > MOST_AHEAD_NS * (double)dcli_device_about(own->device)->compute_units;
}

/* Count a suitable batch, which may have to wait and then comes again. */
static void count_in_row(dcli_series *series, const dcli_running *running)
{
    if (series->row.count > 0 && running->operation == series->row.operation && running->batch == series->row.batch)
        return;
    series->row.count += series->row.count < 2;
    series->row.operation = running->operation;
    series->row.batch = running->batch;
}

bool dcli_series_joins(dcli_worker *worker, const dcli_running *running, dcli_prepared *prepared)
{
    const dcli_kernel *kernel = running->job.entry->kernel;
    if (!is_suitable(worker, running, prepared)) {
        dcli_series_interrupt(worker);
        return false;
    }
    count_in_row(worker->as_node->series, running);
    double element_ns = dcli_cost_least_ns(&kernel->cost);
    if (element_ns ==
        0) /* not measured, but probably short, too: compile bodies that recur together into one program */
        note_alone(worker, kernel->number, false);
    double ns = element_ns * (double)prepared->elements;
    return element_ns > 0 && ns <= MOST_LARGE_NS &&
           (!is_large(ns) || (suits_waves(worker, running, prepared) && large_joins(worker->as_node)));
}

/* ---- collecting ----------------------------------------------------------------------------------------------------- */

/* Begin a series with the bodies of a set. @return false: there is no memory. */
static bool begin(dcli_series *series, dcli_series_set *set)
{
    if (series->steps == NULL && series->spare != NULL) {
        series->steps = series->spare;
        series->spare = series->steps->next;
    } else if (series->steps == NULL) {
        series->steps = dcli_calloc(1, sizeof *series->steps);
    }
    if (series->steps == NULL)
        return false;
    set->used = ++series->clock;
    series->open = set;
    return true;
}

static bool has_room(const dcli_series *series, const dcli_body *body, int64_t launches, double ns)
{
    int64_t longs = (DCLI_STEP_HEAD + body->access_count + body->param_count) * launches;
    return series->step_count + launches <= MOST_STEPS && series->longs + longs <= MOST_LONGS &&
           series->use_count + body->access_count <= MOST_USES && (series->large || !is_large(ns)) &&
           series->ns + ns <= (series->large ? MOST_WAVES_NS : MOST_SERIES_NS);
}

static void note_use(dcli_series *series, dcli_memory *memory, bool written)
{
    int u = 0;
    while (u < series->use_count && series->uses[u].memory != memory)
        u++;
    if (u == series->use_count) {
        series->uses[series->use_count].memory = memory;
        series->uses[series->use_count++].written = false;
    }
    series->uses[u].written |= written;
}

static void put_step(dcli_worker *worker, const dcli_entry *entry, const dcli_launch *launch, int place, bool is_short)
{
    dcli_series *series = worker->as_node->series;
    const dcli_body *body = entry->kernel->body;
    int64_t *step = series->steps->step + series->longs;
    int at = DCLI_STEP_HEAD;
    step[DCLI_STEP_CODE] = dcli_step_code(place, launch->variant);
    step[DCLI_STEP_BODY] = entry->kernel->number;
    step[DCLI_STEP_TEXT] = (int64_t)(intptr_t)series->steps->text[place];
    step[DCLI_STEP_TABLE] = (int64_t)(intptr_t)launch->row;
    step[DCLI_STEP_ROWS] = launch->row_count;
    for (int a = 0; a < body->access_count; a++) {
        const dcli_known_storage *held = entry->held[body->access[a].param];
        dcli_memory *memory = held->memory != NULL ? held->memory : worker->as_node->nothing;
        note_use(series, memory, body->access[a].written);
        step[at++] = (int64_t)(intptr_t)dcli_memory_host(memory);
    }
    for (int k = 0; k < body->param_count; k++)
        if (body->params[k].access == DCL_ACCESS_VALUE) {
            dcli_own_scalar scalar = {0};
            dcli_scalar_narrow(body->params[k].type, entry->operation.value[k], &scalar);
            memcpy(&step[at++], &scalar, sizeof scalar);
        }
    step[DCLI_STEP_LENGTH] = at;
    series->longs += at;
    series->step[series->step_count++] =
        (dcli_wave_step){.body = body, .launch = launch, .step = step, .is_short = is_short};
}

/* Choose the set of the series to which a batch is appended; launch the present one if it cannot be appended to that.
 * @return the place of the body in it; -1: there is none. */
static int find_place(dcli_worker *worker, const dcli_running *running, const dcli_prepared *prepared, double ns)
{
    dcli_series *series = worker->as_node->series;
    const dcli_body *body = running->job.entry->kernel->body;
    int place = series->open != NULL ? place_in(series->open, running->kernel) : -1;
    if (place >= 0 && has_room(series, body, prepared->lowered.launch_count, ns))
        return place;
    dcli_series_launch(worker);
    if (series->compiling != NULL && dcli_program_is_compiled(series->compiling))
        take_compiled(worker);
    dcli_series_set *set = find_set(series, running->kernel);
    series->large = is_large(ns);
    if (set == NULL || (series->last_steps < FEW_STEPS && !series->large))
        note_alone(worker, running->kernel, is_large(ns));
    return set != NULL && begin(series, set) ? place_in(set, running->kernel) : -1;
}

bool dcli_series_add(dcli_worker *worker, dcli_running *running, const dcli_prepared *prepared)
{
    dcli_series *series = worker->as_node->series;
    const dcli_entry *entry = running->job.entry;
    double ns = dcli_cost_least_ns(&entry->kernel->cost) * (double)prepared->elements;
    int place = find_place(worker, running, prepared, ns);
    if (place < 0)
        return false;
    if ((series->texts & 1U << place) == 0) {
        char *text = (char *)series->steps->text[place];
        strncpy(text, entry->kernel->body->text, sizeof series->steps->text[place] - 1);
        series->texts |= 1U << place;
    }
    for (int64_t l = 0; l < prepared->lowered.launch_count; l++)
        put_step(worker, entry, &prepared->lowered.launch[l], place, !is_large(ns));
    series->ns += ns;
    series->batches++;
    running->ticket = DCLI_NOT_LAUNCHED;
    return true;
}

/* ---- launching ------------------------------------------------------------------------------------------------------ */

static dcl_status launch(dcli_worker *worker, dcli_series *series)
{
    dcli_device *device = worker->as_node->device;
    dcli_steps *steps = series->steps;
    dcli_claims *claims = &worker->as_node->claims;
    uint64_t now_at = (uint64_t)(uintptr_t)dcli_watch_step(worker->terms.watch);
    int launches = 1;
    dcl_status status;
    steps->list[0] = (int64_t)(intptr_t)steps->step;
    steps->list[1] = series->step_count;
    if (series->large)
        status = dcli_waves_launch(&series->waves, device, claims, series->open->program, series->step_count,
                                   series->step, now_at, &steps->tables, &launches);
    else
        status = dcli_lists_launch(device, claims, series->open->program, steps->list, 1, now_at);
    worker->counters.launches += launches;
    dcli_watch_tick(worker->terms.watch);
    for (int u = 0; u < series->use_count && status == DCL_OK; u++)
        (series->uses[u].written ? dcli_device_writes : dcli_device_reads)(series->uses[u].memory);
    return status;
}

void dcli_series_launch(dcli_worker *worker)
{
    dcli_as_node *own = worker->as_node;
    dcli_series *series = own->series;
    if (series == NULL || series->batches == 0)
        return;
    int64_t first = own->running_count - series->batches;
    dcli_traced_batch *traced = worker->terms.trace != NULL ? dcli_trace_launch(worker) : NULL;
    dcli_exec_watch_beside(worker, 0);
    dcl_status status = launch(worker, series);
    if (__builtin_expect(traced != NULL, 0)) {
        traced->launches = worker->counters.launches - traced->launches;
        own->running[first].traced = traced;
        dcli_trace_end(worker, DCLI_TRACE_LAUNCH, traced->launched_ns, own->running[first].job.entry,
                       own->running[first].batch, DCLI_TRACE_NOBODY, 0);
    }
    for (int64_t r = first; r < own->running_count; r++) {
        own->running[r].ticket = dcli_device_launched(own->device);
        own->running[r].status = status;
        if (status != DCL_OK)
            dcli_keep_problem(own->running[r].job.entry);
    }
    own->running[own->running_count - 1].steps = series->steps;
    series->last_steps = series->step_count;
    series->lonely = !series->large || series->batches > 1 ? 0 : series->lonely + 1;
    series->steps = NULL;
    series->open = NULL;
    series->step_count = series->batches = series->use_count = 0;
    series->longs = 0;
    series->ns = 0;
    series->texts = 0;
    if (first == own->running_first)
        dcli_exec_watch(worker);
}

void dcli_series_interrupt(dcli_worker *worker)
{
    dcli_series *series = worker->as_node->series;
    dcli_series_launch(worker);
    if (series != NULL) {
        series->row.count = 0;
        series->row.has_first = false;
    }
}

void dcli_series_offer(dcli_worker *worker, bool idle)
{
    dcli_as_node *own = worker->as_node;
    if (own->series == NULL || own->series->batches == 0)
        return;
    bool computes = own->running_count - own->running_first > own->series->batches;
    if (idle || !computes || own->held.operation != NULL ||
        (worker->terms.node_count > 1 && dcli_node_is_awaited(worker->node)))
        dcli_series_launch(worker);
}
