/* loop/plan.c - plan a nest: which statements are an operation together, and which loops the program runs around them.
 *
 * Statements that depend on each other in a cycle stay together; the others are separate steps, in an order that keeps
 * all dependences, as near to the program's as possible. Statements are one operation if loop/operation.c agrees.
 * Otherwise the program runs a loop around them, and their iterations in one iteration of this loop are planned in the
 * same way.
 * Source: R. Allen, K. Kennedy, "Automatic translation of FORTRAN programs to vector form", ACM TOPLAS 9 (1987). */
#include "loop/plan.h"

#include <inttypes.h>
#include <isl/ilp.h>
#include <isl/options.h>
#include <isl/point.h>
#include <isl/val.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "loop/inside.h"

enum {
    MOST_OPERATIONS_OF_ISL = 60 * 1000 * 1000, /* a second or two */
    MOST_TESTS_BESIDE = 400, /* pairs of statements that are tested for loops that run beside each other */
    MOST_ATTEMPTS_BESIDE = 6,
    MOST_BESIDE = 8,         /* most statements whose loops run beside each other */
    MOST_COUNTER = 1 << 30,  /* greatest index of a variable that becomes an array */
    MOST_ELEMENTS = 1 << 28, /* most elements of such an array */
    /* Most operations of one thread that the program starts for a loop: some tenths of a second. */
    MOST_IN_ORDER = 16384
};

struct planner {
    dcli_loops_plan *plan;
    dcli_loops_sets *sets;
    const dcli_loops_tree *tree;
    dcli_loops_failure failure;
    bool strict; /* refuse plans with a part in which nothing runs in parallel */
    bool flat;   /* with `strict`: refuse plans in which the program runs further loops, too */
};

/* Statements that are planned together: those that depend on each other, by a mask for each. */
struct graph {
    dcli_loops_mask after[DCLI_LOOPS_STATEMENTS]; /* the statements that depend on it directly */
    dcli_loops_mask reach[DCLI_LOOPS_STATEMENTS]; /* those that depend on it directly or not */
};

/* The steps that are being made, and the operation to which statements can still be added. */
struct sequence {
    dcli_loops_step *first, **end;
    dcli_loops_operation *open;
    bool parallel; /* the threads of some operation take the place of a loop */
};

static bool plan_region(struct planner *planner, dcli_loops_mask statements, const dcli_loops_hosts *hosts,
                        struct sequence *out);

/* ---- steps -------------------------------------------------------------------------------------------------------- */

static void free_steps(dcli_loops_step *step)
{
    while (step != NULL) {
        dcli_loops_step *next = step->next;
        free_steps(step->first);
        isl_pw_aff_free(step->low);
        isl_pw_aff_free(step->high);
        dcli_free(step);
        step = next;
    }
}

static dcli_loops_step *add_step(struct planner *planner, struct sequence *sequence, dcli_loops_mask statements,
                                 const dcli_loops_hosts *hosts)
{
    dcli_loops_step *step = dcli_calloc(1, sizeof *step);
    if (step == NULL) {
        planner->sets->failed = true;
        return NULL;
    }
    *step = (dcli_loops_step){.operation = -1, .loop = -1, .hosts = *hosts, .statements = statements};
    *sequence->end = step;
    sequence->end = &step->next;
    return step;
}

/* Add the open operation to the steps. One without outputs computes nothing that is used, and is left out. */
static void close_open(struct planner *planner, struct sequence *sequence)
{
    dcli_loops_operation *operation = sequence->open;
    dcli_loops_plan *plan = planner->plan;
    sequence->open = NULL;
    if (operation == NULL)
        return;
    if (plan->operation_count == DCLI_LOOPS_OPERATIONS)
        planner->sets->failed = true;
    if (operation->output_count == 0 || planner->sets->failed) {
        dcli_loops_operation_free(operation);
        return;
    }
    dcli_loops_step *step = add_step(planner, sequence, operation->statements, &operation->hosts);
    if (step == NULL) {
        dcli_loops_operation_free(operation);
        return;
    }
    step->operation = plan->operation_count;
    plan->operation[plan->operation_count++] = operation;
    sequence->parallel |= operation->parallel;
}

/* ---- which statements belong together ----------------------------------------------------------------------------- */

static void find_graph(struct planner *planner, dcli_loops_mask statements, const dcli_loops_hosts *hosts,
                       struct graph *graph)
{
    dcli_loops_sets *sets = planner->sets;
    memset(graph, 0, sizeof *graph);
    for (int64_t n = 0; n < sets->dependence_count; n++) {
        const dcli_loops_dependence *d = &sets->dependence[n];
        if (!dcli_loops_in(statements, d->source) || !dcli_loops_in(statements, d->sink) ||
            dcli_loops_in(graph->after[d->source], d->sink))
            continue;
        if (!dcli_loops_no_map(sets, dcli_loops_both_at(sets, isl_map_copy(d->map), d->source, d->sink, hosts)))
            graph->after[d->source] |= (dcli_loops_mask)1 << d->sink;
    }
    for (int64_t n = 0; n < sets->flow_count; n++) { /* in the same operation */
        const dcli_loops_flow *f = &sets->flow[n];
        if (!dcli_loops_in(statements, f->source) || !dcli_loops_in(statements, f->sink))
            continue;
        graph->after[f->source] |= (dcli_loops_mask)1 << f->sink;
        graph->after[f->sink] |= (dcli_loops_mask)1 << f->source;
    }
    memcpy(graph->reach, graph->after, sizeof graph->reach);
    for (int k = 0; k < DCLI_LOOPS_STATEMENTS; k++)
        for (int s = 0; s < DCLI_LOOPS_STATEMENTS; s++)
            if (dcli_loops_in(graph->reach[s], k))
                graph->reach[s] |= graph->reach[k];
}

/* The strongly connected component of s: s, and the statements that are in a cycle of dependences with it. */
static dcli_loops_mask component_of(const struct graph *graph, int s)
{
    dcli_loops_mask component = (dcli_loops_mask)1 << s;
    for (int t = 0; t < DCLI_LOOPS_STATEMENTS; t++)
        if (dcli_loops_in(graph->reach[s], t) && dcli_loops_in(graph->reach[t], s))
            component |= (dcli_loops_mask)1 << t;
    return component;
}

/* Whether no remaining statement outside a component must run before it. */
static bool is_ready(const struct graph *graph, dcli_loops_mask remaining, dcli_loops_mask component)
{
    for (int s = 0; s < DCLI_LOOPS_STATEMENTS; s++)
        if (dcli_loops_in(remaining & ~component, s) && (graph->after[s] & component) != 0)
            return false;
    return true;
}

/* Whether a loop that the program does not run is around statements of both masks. */
static bool share_loop(const struct planner *planner, dcli_loops_mask a, dcli_loops_mask b,
                       const dcli_loops_hosts *hosts)
{
    for (int l = 0; l < planner->tree->loop_count; l++) {
        bool around[2] = {false, false};
        for (int s = 0; s < planner->tree->statement_count; s++) {
            int d = dcli_loops_depth_in(planner->tree, s, l);
            bool inside = d >= 0 && !dcli_loops_is_hosted(hosts, s, d);
            around[0] |= inside && dcli_loops_in(a, s);
            around[1] |= inside && dcli_loops_in(b, s);
        }
        if (around[0] && around[1])
            return true;
    }
    return false;
}

/* ---- loops of the program ----------------------------------------------------------------------------------------- */

/* Whether no dependence between two statements leads back along the counters at depths c of s and d of t. */
static bool leads_on(struct planner *planner, int s, int c, int t, int d, const dcli_loops_hosts *hosts)
{
    dcli_loops_sets *sets = planner->sets;
    bool down = planner->tree->loop[planner->tree->statement[s].loop[c]].step < 0;
    for (int64_t n = 0; n < sets->dependence_count; n++) {
        const dcli_loops_dependence *dependence = &sets->dependence[n];
        if (dependence->source != s || dependence->sink != t)
            continue;
        isl_map *map = dcli_loops_both_at(sets, isl_map_copy(dependence->map), s, t, hosts);
        isl_map *back = isl_map_universe(isl_map_get_space(map));
        back = down ? isl_map_order_lt(back, isl_dim_in, c, isl_dim_out, d)
                    : isl_map_order_gt(back, isl_dim_in, c, isl_dim_out, d);
        if (!dcli_loops_no_map(sets, isl_map_intersect(map, back)))
            return false;
    }
    return true;
}

/* Whether the program may run a loop around statements, in which it need not be the outermost: no dependence leads
 * back along it. */
static bool may_host(struct planner *planner, dcli_loops_mask statements, int loop, const dcli_loops_hosts *hosts)
{
    int d = planner->tree->loop[loop].depth;
    for (int s = 0; s < planner->tree->statement_count; s++)
        for (int t = 0; t < planner->tree->statement_count; t++)
            if (dcli_loops_in(statements, s) && dcli_loops_in(statements, t) && !leads_on(planner, s, d, t, d, hosts))
                return false;
    return true;
}

/* Whether the program already runs all loops around `loop`, each for all statements at once. Then it may run `loop`
 * next, as in the order of the text. Where it runs different loops of statements as one, it may not. */
static bool is_outermost(const struct planner *planner, dcli_loops_mask statements, int loop,
                         const dcli_loops_hosts *hosts)
{
    for (int d = 0; d < planner->tree->loop[loop].depth; d++) {
        bool hosted = false;
        for (int k = 0; k < hosts->count && !hosted; k++) {
            hosted = true;
            for (int s = 0; s < planner->tree->statement_count; s++)
                hosted &= !dcli_loops_in(statements, s) || hosts->depth[k][s] == d;
        }
        if (!hosted)
            return false;
    }
    return true;
}

/* Whether a loop is around statements, and the program does not run it yet. */
static bool may_be_hosted(const struct planner *planner, dcli_loops_mask statements, int loop,
                          const dcli_loops_hosts *hosts)
{
    for (int s = 0; s < planner->tree->statement_count; s++) {
        int d = dcli_loops_depth_in(planner->tree, s, loop);
        if (dcli_loops_in(statements, s) && (d < 0 || dcli_loops_is_hosted(hosts, s, d)))
            return false;
    }
    return hosts->count < DCLI_LOOPS_DEPTH;
}

/* Remove the operations from number `operation_count` on, whose plan was given up. */
static void take_back(struct planner *planner, int operation_count)
{
    while (planner->plan->operation_count > operation_count)
        dcli_loops_operation_free(planner->plan->operation[--planner->plan->operation_count]);
}

/* Let the program run the last loop of `more`, whose other loops are those of `hosts`, around statements.
 * @param why       the reason.
 * @param in_order  run it even if nothing inside is parallel.
 * @return false: the statements inside have no plan or, without `in_order`, nothing in it is parallel. */
static bool host(struct planner *planner, dcli_loops_mask statements, const dcli_loops_hosts *more,
                 const dcli_loops_hosts *hosts, const dcli_loops_why *why, bool in_order, struct sequence *sequence)
{
    struct sequence inside = {.end = &inside.first};
    int operation_count = planner->plan->operation_count;
    bool planned = plan_region(planner, statements, more, &inside) && (inside.parallel || in_order);
    dcli_loops_step *step = planned ? add_step(planner, sequence, statements, hosts) : NULL;
    if (step == NULL) {
        free_steps(inside.first);
        take_back(planner, operation_count);
        return false;
    }
    step->loop = more->loop[hosts->count];
    step->inside = *more;
    step->first = inside.first;
    step->in_order = !inside.parallel;
    step->why = *why;
    isl_set *range = dcli_loops_counter(planner->sets, statements, more, hosts->count, hosts);
    dcli_loops_bounds(planner->sets, range, 0, &step->low, &step->high);
    isl_set_free(range);
    sequence->parallel |= inside.parallel;
    return true;
}

static void note_failure(struct planner *planner, dcli_loops_mask statements, const dcli_loops_hosts *hosts,
                         const dcli_loops_why *why)
{
    if (!planner->failure.known)
        planner->failure = (dcli_loops_failure){true, statements, *hosts, *why};
}

/* Let the program run one loop around statements: see host(). */
static bool host_loop(struct planner *planner, dcli_loops_mask statements, int loop, const dcli_loops_hosts *hosts,
                      const dcli_loops_why *why, bool in_order, struct sequence *sequence)
{
    dcli_loops_hosts more = *hosts;
    more.loop[more.count] = loop;
    for (int s = 0; s < planner->tree->statement_count; s++)
        more.depth[more.count][s] = (int8_t)(dcli_loops_in(statements, s) ? planner->tree->loop[loop].depth : -1);
    more.count++;
    return host(planner, statements, &more, hosts, why, in_order, sequence);
}

/* Loops of different statements that the program might run as one. */
struct beside {
    dcli_loops_mask statements;
    const dcli_loops_hosts *hosts;
    const dcli_loops_why *why;
    struct sequence *sequence;
    dcli_loops_hosts more; /* with the depths that were chosen so far */
    int tests, attempts;
};

/* Whether the counter at depth d of statement s can be the same as those that were chosen for the statements before
 * it. */
static bool fits_beside(struct planner *planner, struct beside *beside, int s, int d)
{
    const dcli_loops_tree *tree = planner->tree;
    int k = beside->hosts->count;
    int64_t step = tree->loop[tree->statement[s].loop[d]].step;
    if (dcli_loops_is_hosted(beside->hosts, s, d) || (step != 1 && step != -1))
        return false;
    beside->more.depth[k][s] = (int8_t)d;
    for (int t = 0; t <= s; t++) {
        if (!dcli_loops_in(beside->statements, t))
            continue;
        int c = beside->more.depth[k][t];
        if (tree->loop[tree->statement[t].loop[c]].step != step || ++beside->tests > MOST_TESTS_BESIDE ||
            !leads_on(planner, s, d, t, c, beside->hosts) || (t != s && !leads_on(planner, t, c, s, d, beside->hosts)))
            return false;
    }
    return true;
}

/* Choose the loops of statement s and later ones, the innermost first, and let the program run them as one. */
static bool host_beside(struct planner *planner, struct beside *beside, int s)
{
    const dcli_loops_tree *tree = planner->tree;
    int k = beside->hosts->count;
    while (s < tree->statement_count && !dcli_loops_in(beside->statements, s))
        s++;
    if (s < tree->statement_count) {
        for (int d = tree->statement[s].depth - 1; d >= 0 && !planner->sets->failed; d--)
            if (fits_beside(planner, beside, s, d) && host_beside(planner, beside, s + 1))
                return true;
        return false;
    }
    beside->more.loop[k] = -1;
    bool one = true; /* the same loop for all: tried before */
    for (int t = 0; t < tree->statement_count; t++)
        if (dcli_loops_in(beside->statements, t)) {
            int loop = tree->statement[t].loop[beside->more.depth[k][t]];
            one &= beside->more.loop[k] < 0 || beside->more.loop[k] == loop;
            beside->more.loop[k] = loop;
        }
    return !one && beside->attempts++ < MOST_ATTEMPTS_BESIDE &&
           host(planner, beside->statements, &beside->more, beside->hosts, beside->why, false, beside->sequence);
}

/* Let the program run the outermost loop around statements inside of which something is parallel. */
static bool host_common(struct planner *planner, dcli_loops_mask statements, const dcli_loops_hosts *hosts,
                        const dcli_loops_why *why, struct sequence *sequence)
{
    for (int l = 0; l < planner->tree->loop_count && !planner->sets->failed; l++) {
        if (!may_be_hosted(planner, statements, l, hosts))
            continue;
        bool may = is_outermost(planner, statements, l, hosts) || may_host(planner, statements, l, hosts);
        if (may && host_loop(planner, statements, l, hosts, why, false, sequence))
            return true;
    }
    return false;
}

/* Let the program run loops of different statements as one. */
static bool host_different(struct planner *planner, dcli_loops_mask statements, const dcli_loops_hosts *hosts,
                           const dcli_loops_why *why, struct sequence *sequence)
{
    struct beside beside = {.statements = statements, .hosts = hosts, .why = why, .sequence = sequence, .more = *hosts};
    beside.more.count++;
    return hosts->count < DCLI_LOOPS_DEPTH && __builtin_popcountll(statements) <= MOST_BESIDE &&
           host_beside(planner, &beside, 0);
}

/* Let the program run as few loops as possible around statements so that everything inside runs in parallel: one
 * loop around all of them or different loops as one; otherwise several. */
static bool host_parallel(struct planner *planner, dcli_loops_mask statements, const dcli_loops_hosts *hosts,
                          const dcli_loops_why *why, struct sequence *sequence)
{
    bool strict = planner->strict, hosted;
    planner->strict = planner->flat = true;
    hosted = host_common(planner, statements, hosts, why, sequence) ||
             host_different(planner, statements, hosts, why, sequence);
    planner->flat = false;
    hosted = hosted || host_common(planner, statements, hosts, why, sequence) ||
             host_different(planner, statements, hosts, why, sequence);
    planner->strict = strict;
    return hosted;
}

/* Plan statements that cannot be one operation: let the program run the first loop around them inside which
 * everything runs in parallel; otherwise the first one inside which something does; otherwise the outermost one. */
static bool host_some_loop(struct planner *planner, dcli_loops_mask statements, const dcli_loops_hosts *hosts,
                           const dcli_loops_why *why, struct sequence *sequence)
{
    bool hosted = !planner->flat && host_parallel(planner, statements, hosts, why, sequence), strict = planner->strict;
    if (!hosted && !strict)
        hosted = host_common(planner, statements, hosts, why, sequence);
    for (int l = 0; l < planner->tree->loop_count && !hosted && !strict && !planner->sets->failed; l++)
        if (may_be_hosted(planner, statements, l, hosts) &&
            (is_outermost(planner, statements, l, hosts) || may_host(planner, statements, l, hosts))) {
            hosted = host_loop(planner, statements, l, hosts, why, true, sequence);
            break;
        }
    if (hosted)
        planner->failure.known = false;
    else
        note_failure(planner, statements, hosts, why);
    return hosted;
}

/* ---- regions ------------------------------------------------------------------------------------------------------ */

/* Whether joining two parts into one operation would start more than twice the threads that the parts need, as for
 * the first and the last column of an array. Statements that use each other's variables are joined all the same. */
static bool has_idle_threads(struct planner *planner, const dcli_loops_operation *together,
                             const dcli_loops_operation *open, dcli_loops_mask component)
{
    dcli_loops_why why;
    for (int64_t n = 0; n < planner->sets->flow_count; n++) {
        const dcli_loops_flow *f = &planner->sets->flow[n];
        if ((dcli_loops_in(component, f->source) && dcli_loops_in(open->statements, f->sink)) ||
            (dcli_loops_in(component, f->sink) && dcli_loops_in(open->statements, f->source)))
            return false;
    }
    dcli_loops_operation *other = dcli_loops_operation_try(planner->sets, component, &together->hosts, &why);
    bool idle = other != NULL && open->box != NULL && other->box != NULL && together->box != NULL &&
                dcli_loops_box_is_larger(planner->sets, together, open, other);
    if (other != NULL)
        dcli_loops_operation_free(other);
    return idle;
}

/* Whether tiles of all arrays that statements write have whole lines along an axis.
 * @param gathered  as tiles of copies may have. */
static bool have_lines(const struct planner *planner, dcli_loops_mask statements, int axis, bool gathered)
{
    bool any = false;
    for (int s = 0; s < planner->tree->statement_count; s++) {
        const dcli_loops_access *target = &planner->tree->statement[s].target;
        if (!dcli_loops_in(statements, s) || !target->is_array)
            continue;
        any = true;
        const dcli_loops_name *name = &planner->tree->name[target->symbol];
        if (((name->whole | (gathered ? name->gather : 0)) >> axis & 1) == 0)
            return false;
    }
    return any;
}

/* Try to make statements one operation on lines, along any axis; lines that are gathered come last. */
static dcli_loops_operation *try_lines(struct planner *planner, dcli_loops_mask statements,
                                       const dcli_loops_hosts *hosts)
{
    dcli_loops_operation *operation = NULL;
    dcli_loops_why why;
    for (int n = 0; n < 2 * DCL_MAX_RANK && operation == NULL && !planner->sets->failed; n++) {
        int axis = n % DCL_MAX_RANK;
        if (have_lines(planner, statements, axis, n >= DCL_MAX_RANK))
            operation = dcli_loops_lines_try(planner->sets, statements, hosts, axis, &why);
    }
    return operation;
}

/* Whether statements that would be an operation of elements concern many elements of a line: these are computed faster
 * there. */
static bool are_better_as_elements(struct planner *planner, dcli_loops_mask statements, const dcli_loops_hosts *hosts,
                                   int along)
{
    dcli_loops_why why;
    dcli_loops_operation *elements = dcli_loops_operation_try(planner->sets, statements, hosts, &why);
    bool better = elements != NULL && elements->output_count > 0 &&
                  (along >= elements->rank || !dcli_loops_is_thin(elements, along));
    dcli_loops_operation_free(elements);
    return better;
}

/* Make the open operation and a component one operation on lines. The open operation must compute lines along the same
 * axis, or elements with one index only along it; and the component must not be faster as an operation of elements.
 * @return NULL: this is not possible. */
static dcli_loops_operation *join_lines(struct planner *planner, dcli_loops_mask component,
                                        const dcli_loops_operation *open, const dcli_loops_hosts *hosts)
{
    dcli_loops_operation *operation = try_lines(planner, component | open->statements, hosts);
    if (operation != NULL &&
        ((open->along >= 0 && open->along != operation->along) ||
         (open->along < 0 && (open->output_count == 0 || !dcli_loops_is_thin(open, operation->along))) ||
         are_better_as_elements(planner, component, hosts, operation->along))) {
        dcli_loops_operation_free(operation);
        return NULL;
    }
    return operation;
}

/* Join a component that is ready to the open operation. @return false: none can
 * be joined. */
static bool extend_open(struct planner *planner, const struct graph *graph, dcli_loops_mask *remaining,
                        const dcli_loops_hosts *hosts, struct sequence *sequence)
{
    if (sequence->open == NULL)
        return false;
    for (int s = 0; s < planner->tree->statement_count; s++) {
        dcli_loops_mask component = component_of(graph, s), together = component | sequence->open->statements;
        dcli_loops_why why;
        if (!dcli_loops_in(*remaining, s) || !is_ready(graph, *remaining, component) ||
            !share_loop(planner, component, sequence->open->statements, hosts))
            continue;
        dcli_loops_operation *operation = dcli_loops_operation_try(planner->sets, together, hosts, &why);
        if (operation != NULL && has_idle_threads(planner, operation, sequence->open, component)) {
            dcli_loops_operation_free(operation);
            continue;
        }
        if (operation == NULL && !planner->sets->failed)
            operation = join_lines(planner, component, sequence->open, hosts);
        if (operation == NULL)
            continue;
        dcli_loops_operation_free(sequence->open);
        sequence->open = operation;
        *remaining &= ~component;
        return true;
    }
    return false;
}

static bool plan_component(struct planner *planner, dcli_loops_mask component, const dcli_loops_hosts *hosts,
                           struct sequence *sequence)
{
    dcli_loops_why why;
    dcli_loops_operation *operation = dcli_loops_operation_try(planner->sets, component, hosts, &why);
    if (operation == NULL && !planner->sets->failed)
        operation = try_lines(planner, component, hosts);
    close_open(planner, sequence);
    sequence->open = operation;
    if (operation != NULL)
        return true;
    return !planner->sets->failed && host_some_loop(planner, component, hosts, &why, sequence);
}

static bool plan_region(struct planner *planner, dcli_loops_mask statements, const dcli_loops_hosts *hosts,
                        struct sequence *out)
{
    struct graph graph;
    dcli_loops_mask remaining = statements;
    find_graph(planner, statements, hosts, &graph);
    while (remaining != 0 && !planner->sets->failed) {
        if (extend_open(planner, &graph, &remaining, hosts, out))
            continue;
        int s = 0;
        while (!dcli_loops_in(remaining, s) || !is_ready(&graph, remaining, component_of(&graph, s)))
            s++; /* some component is ready: components do not depend on each other in a cycle */
        dcli_loops_mask component = component_of(&graph, s);
        if (!plan_component(planner, component, hosts, out))
            break;
        remaining &= ~component;
    }
    close_open(planner, out);
    return remaining == 0 && !planner->sets->failed;
}

/* ---- making ------------------------------------------------------------------------------------------------------- */

static dcl_status complain_limit(dcli_loops_plan *plan, dcli_loops_complaints *complaints)
{
    enum isl_error error = isl_ctx_last_error(plan->sets->ctx);
    if (error == isl_error_quota || plan->operation_count == DCLI_LOOPS_OPERATIONS) {
        dcli_loops_complain(complaints, plan->tree->first->place, "too-large", "this nest is too large to be analysed");
        dcli_loops_note(complaints, "split it into several calls, or simplify subscripts and bounds");
        return DCL_OK;
    }
    if (error == isl_error_alloc || dcli_error_status() == DCL_ERR_NOMEM)
        return DCLI_FAIL(DCL_ERR_NOMEM, "no memory to analyse the nest; simplify it");
    return DCLI_FAIL(DCL_ERR_INTERNAL, "isl: %.200s (%.100s:%d)",
                     isl_ctx_last_error_msg(plan->sets->ctx) != NULL ? isl_ctx_last_error_msg(plan->sets->ctx)
                                                                     : "unknown",
                     isl_ctx_last_error_file(plan->sets->ctx) != NULL ? isl_ctx_last_error_file(plan->sets->ctx) : "",
                     isl_ctx_last_error_line(plan->sets->ctx));
}

/* Find the least and the greatest element of a set of one dimension, which is taken; 0 and -1: it is empty. */
static void find_extremes(isl_set *range, int64_t *low_out, int64_t *high_out)
{
    isl_val *low = isl_pw_aff_min_val(isl_set_dim_min(isl_set_copy(range), 0)),
            *high = isl_pw_aff_max_val(isl_set_dim_max(range, 0));
    *low_out = low != NULL && isl_val_is_int(low) == isl_bool_true ? isl_val_get_num_si(low) : 0;
    *high_out = high != NULL && isl_val_is_int(high) == isl_bool_true ? isl_val_get_num_si(high) : -1;
    isl_val_free(low);
    isl_val_free(high);
}

/* The number of iterations of a step's loop, those of the loops around it included, as if the loops were a box; at
 * most MOST_IN_ORDER + 1. */
static int64_t count_iterations(dcli_loops_sets *sets, const dcli_loops_step *step)
{
    int64_t count = 1;
    for (int k = 0; k <= step->hosts.count && count <= MOST_IN_ORDER; k++) {
        dcli_loops_hosts none = {0};
        int64_t least, greatest;
        find_extremes(dcli_loops_counter(sets, step->statements, &step->inside, k, &none), &least, &greatest);
        int64_t step_size = sets->tree->loop[step->inside.loop[k]].step, extent = greatest - least + 1;
        extent = (extent + llabs(step_size) - 1) / llabs(step_size);
        count = extent > MOST_IN_ORDER ? MOST_IN_ORDER + 1 : count * (extent > 0 ? extent : 0);
    }
    return count > MOST_IN_ORDER ? MOST_IN_ORDER + 1 : count;
}

/* Add up the iterations of the loops that the program runs though nothing in them is parallel, and complain of those
 * with too many of them. */
static void check_in_order(struct planner *planner, const dcli_loops_step *step, dcli_loops_complaints *complaints)
{
    for (; step != NULL; step = step->next) {
        int64_t count = step->in_order ? count_iterations(planner->sets, step) : 0;
        planner->plan->in_order += count;
        if (count > MOST_IN_ORDER) {
            planner->failure = (dcli_loops_failure){true, step->statements, step->hosts, step->why};
            dcli_loops_blame(planner->sets, &planner->failure, complaints);
            dcli_loops_note(complaints, "the program would have to start more than %d operations of one thread each",
                            MOST_IN_ORDER);
        } else {
            check_in_order(planner, step->first, complaints);
        }
    }
}

/* Plan a tree whose sets are known. */
static dcl_status plan_all(dcli_loops_plan *plan, dcli_loops_complaints *complaints)
{
    struct planner planner = {.plan = plan, .sets = plan->sets, .tree = plan->tree};
    struct sequence sequence = {.end = &sequence.first};
    dcli_loops_hosts none = {0};
    dcli_loops_mask all = ((dcli_loops_mask)1 << plan->tree->statement_count) - 1;
    bool planned = plan_region(&planner, all, &none, &sequence);
    plan->first = sequence.first;
    if (plan->sets->failed)
        return complain_limit(plan, complaints);
    if (!planned) {
        dcli_loops_blame(planner.sets, &planner.failure, complaints);
        plan->failed = planner.failure.statements;
    } else {
        check_in_order(&planner, plan->first, complaints);
    }
    plan->improvable = complaints->count > 0 || plan->in_order > 0;
    return plan->sets->failed ? complain_limit(plan, complaints) : DCL_OK;
}

/* How the variables of a nest are changed before it is planned. */
struct change {
    bool split;        /* each statement that writes an array has variables of its own (loop/split.c) */
    bool cut;          /* loops are cut where statements meet the elements that they read (loop/cut.c) */
    uint32_t folded;   /* bit v: variable v is replaced by its value */
    uint32_t expanded; /* bit v: variable v becomes an array */
    dcl_grid grid[DCLI_LOOPS_SCALARS];
};

/* @return whether the tree was changed, or need not be. */
static bool change_tree(dcli_loops_tree *tree, const struct change *change)
{
    if (change->folded != 0 && !dcli_loops_tree_fold(tree, change->folded))
        return false;
    if (change->expanded != 0 && !dcli_loops_tree_expand(tree, change->expanded, change->grid))
        return false;
    if (change->cut)
        return dcli_loops_tree_cut(tree);
    return !change->split || dcli_loops_tree_split(tree) || (change->expanded | change->folded) != 0;
}

static dcl_status divide_subscripts(dcli_loops_plan *plan, dcli_loops_complaints *complaints)
{
    if (!dcli_loops_has_flat(plan->tree))
        return DCL_OK;
    plan->sets = dcli_loops_sets_begin(plan->tree, MOST_OPERATIONS_OF_ISL);
    if (plan->sets == NULL)
        return DCL_ERR_NOMEM;
    dcl_status status = dcli_loops_divide_flat(plan->tree, plan->sets, complaints);
    if (status == DCL_OK && plan->sets->failed)
        status = complain_limit(plan, complaints);
    dcli_loops_sets_free(plan->sets);
    plan->sets = NULL;
    return status;
}

/* @return DCL_ERR_UNSUPPORTED: the nest cannot be changed in this way. */
static dcl_status make_plan(const char *text, int count, const dcli_loops_name names[], const struct change *change,
                            dcli_loops_complaints *complaints, dcli_loops_plan *plan)
{
    plan->tree = dcli_loops_parse(text, count, names, complaints);
    if (plan->tree == NULL)
        return DCL_ERR_NOMEM;
    dcl_status status = complaints->count == 0 ? divide_subscripts(plan, complaints) : DCL_OK;
    if (status != DCL_OK || complaints->count > 0)
        return status;
    if (!change_tree(plan->tree, change))
        return DCL_ERR_UNSUPPORTED;
    plan->sets = dcli_loops_sets_make(plan->tree, MOST_OPERATIONS_OF_ISL, complaints);
    if (plan->sets == NULL)
        return DCL_ERR_NOMEM;
    if (plan->sets->failed)
        return complain_limit(plan, complaints);
    return complaints->count > 0 ? DCL_OK : plan_all(plan, complaints);
}

/* Find the values of the counters around the declaration of a variable. @return false: the array would be too large. */
static bool find_grid(dcli_loops_sets *sets, int variable, dcl_grid *grid_out)
{
    const dcli_loops_scalar *scalar = &sets->tree->scalar[variable];
    dcli_loops_mask users = 0;
    dcli_loops_hosts none = {0};
    int64_t elements = 1;
    if (scalar->depth > DCL_MAX_RANK)
        return false;
    for (int s = 0; s < sets->tree->statement_count; s++)
        if (scalar->depth > 0 && dcli_loops_depth_in(sets->tree, s, scalar->loop[scalar->depth - 1]) >= 0)
            users |= (dcli_loops_mask)1 << s;
    *grid_out = dcl_grid_1d(DCL_DOUBLE, 1);
    for (int d = 0; d < scalar->depth; d++) {
        int64_t low, high;
        find_extremes(dcli_loops_range(sets, users, scalar->loop[d], &none), &low, &high);
        if (low < -MOST_COUNTER || high > MOST_COUNTER)
            return false;
        grid_out->origin[d] = low;
        grid_out->extent[d] = high >= low ? high - low + 1 : 1;
        grid_out->rank = d + 1;
        if (grid_out->extent[d] > MOST_ELEMENTS / elements)
            return false;
        elements *= grid_out->extent[d];
    }
    return true;
}

/* Record in `change` that variables are replaced by their values, or become arrays, except those whose arrays would be too
 * large. */
static void expand(struct change *change, dcli_loops_plan *plan, uint32_t variables)
{
    for (int v = 0; v < DCLI_LOOPS_SCALARS && plan->sets != NULL; v++)
        if ((variables >> v & 1) != 0 && dcli_loops_tree_is_constant(plan->tree, v))
            change->folded |= (uint32_t)1 << v;
        else if ((variables >> v & 1) != 0 && find_grid(plan->sets, v, &change->grid[v]))
            change->expanded |= (uint32_t)1 << v;
}

/* The variables, as the program has declared them, that statements of a plan assign. */
static uint32_t variables_of(const dcli_loops_plan *plan, dcli_loops_mask statements)
{
    uint32_t all = 0;
    for (int s = 0; s < plan->tree->statement_count; s++) {
        const dcli_loops_access *target = &plan->tree->statement[s].target;
        for (int v = 0; v < plan->tree->scalar_count && dcli_loops_in(statements, s) && !target->is_array; v++)
            if (memcmp(&plan->tree->scalar[v].place, &plan->tree->scalar[target->symbol].place,
                       sizeof plan->tree->scalar[v].place) == 0) {
                all |= (uint32_t)1 << v; /* the first one of this place: the others are repetitions */
                break;
            }
    }
    return all;
}

/* Exchange *plan and another plan of its nest. */
static void exchange(dcli_loops_plan **plan, dcli_loops_plan **other, dcli_loops_complaints *complaints)
{
    dcli_loops_plan *better = *other;
    better->shift = (*plan)->shift;
    memcpy(better->file, (*plan)->file, sizeof better->file);
    *other = *plan;
    *plan = better;
    const char *text = complaints->text;
    dcli_loops_complaints_free(complaints);
    *complaints = (dcli_loops_complaints){.text = text};
}

/* Plan a nest that has no good plan again, with its loops cut. *plan is exchanged if the new plan is better. */
static void plan_cut(const char *text, int count, const dcli_loops_name names[], dcli_loops_complaints *complaints,
                     dcli_loops_plan **plan)
{
    const struct change change = {.cut = true};
    dcli_loops_complaints more = {.text = text};
    dcli_loops_plan *other = dcli_calloc(1, sizeof *other);
    if (other != NULL && make_plan(text, count, names, &change, &more, other) == DCL_OK && more.count == 0 &&
        (complaints->count > 0 || other->in_order < (*plan)->in_order))
        exchange(plan, &other, complaints);
    dcli_loops_complaints_free(&more);
    dcli_loops_plan_free(other);
}

/* Plan a nest that has no good plan again, with other variables. *plan is exchanged if the new plan is better. */
static void plan_again(const char *text, int count, const dcli_loops_name names[], dcli_loops_complaints *complaints,
                       dcli_loops_plan **plan)
{
    struct change change = {.split = true};
    for (int round = 0; round < DCLI_LOOPS_SCALARS; round++) {
        dcli_loops_complaints more = {.text = text};
        dcli_loops_plan *other = dcli_calloc(1, sizeof *other);
        bool made = other != NULL && make_plan(text, count, names, &change, &more, other) == DCL_OK;
        uint32_t expanded = change.expanded, folded = change.folded;
        if (made && more.count == 0 && (complaints->count > 0 || other->in_order < (*plan)->in_order)) {
            exchange(plan, &other, complaints);
        } else if (made && more.count > 0) {
            expand(&change, *plan, variables_of(other, other->failed));
        } else if (complaints->count > 0 && other != NULL) {
            expand(&change, *plan, variables_of(*plan, (*plan)->failed));
        }
        dcli_loops_complaints_free(&more);
        dcli_loops_plan_free(other);
        if (change.expanded == expanded && change.folded == folded)
            return;
    }
}

/* Verify a plan, and generate the bodies of its operations. */
static dcl_status finish(dcli_loops_plan *plan, dcli_loops_complaints *complaints)
{
    for (int o = 0; o < plan->operation_count; o++)
        dcli_loops_find_slants(plan->sets, plan->operation[o]);
    if (!dcli_loops_verify(plan) && !plan->sets->failed)
        return DCLI_FAIL(DCL_ERR_INTERNAL, "the plan of the nest violates a dependence, so nothing was run; this is an "
                                           "error of DCL: please report the nest");
    for (int o = 0; o < plan->operation_count && !plan->sets->failed; o++) {
        dcl_status status = dcli_loops_emit(plan->sets, plan->operation[o]);
        if (status != DCL_OK)
            return status;
    }
    return plan->sets->failed ? complain_limit(plan, complaints) : DCL_OK;
}

dcl_status dcli_loops_plan_make(const char *text, int count, const dcli_loops_name names[], dcli_loops_plan **plan_out)
{
    dcl_status status = dcli_loops_check_isl();
    if (status != DCL_OK)
        return status;
    dcli_loops_plan *plan = dcli_calloc(1, sizeof *plan);
    if (plan == NULL)
        return DCL_ERR_NOMEM;
    dcli_loops_complaints complaints = {.text = text};
    status = make_plan(text, count, names, &(struct change){0}, &complaints, plan);
    plan->shift = complaints.shift;
    memcpy(plan->file, complaints.file, sizeof plan->file);
    if (status == DCL_OK && plan->improvable)
        plan_again(text, count, names, &complaints, &plan);
    if (status == DCL_OK && plan->improvable)
        plan_cut(text, count, names, &complaints, &plan);
    if (status == DCL_OK && complaints.count == 0)
        status = finish(plan, &complaints);
    if (status == DCL_OK)
        status = dcli_loops_complaints_end(&complaints);
    dcli_loops_complaints_free(&complaints);
    if (status == DCL_OK)
        *plan_out = plan;
    else
        dcli_loops_plan_free(plan);
    return status;
}

dcl_status dcli_loops_plan_fail(const dcli_loops_plan *plan, dcli_loops_place place, dcl_status status,
                                const char *code, const char *note, const char *format, ...)
{
    char sentence[400];
    va_list args;
    va_start(args, format);
    vsnprintf(sentence, sizeof sentence, format, args);
    va_end(args);
    dcli_loops_complaints complaints = {.text = plan->tree->text, .shift = plan->shift};
    dcli_text said = {0};
    memcpy(complaints.file, plan->file, sizeof complaints.file);
    dcli_loops_complain(&complaints, place, code, "%s", sentence);
    dcli_loops_note(&complaints, "%s", note);
    dcli_loops_complaints_put(&complaints, "error", &said);
    status = DCLI_FAIL(status, "%s", said.bytes != NULL && !said.failed ? said.bytes : sentence);
    dcli_text_free(&said);
    dcli_loops_complaints_free(&complaints);
    return status;
}

const int *dcli_loops_plan_outputs(const dcli_loops_plan *plan, int operation, int *count_out)
{
    if (operation >= plan->operation_count)
        return NULL;
    *count_out = plan->operation[operation]->output_count;
    return plan->operation[operation]->output;
}

const dcli_loops_name *dcli_loops_plan_name(const dcli_loops_plan *plan, int symbol)
{
    return &plan->tree->name[symbol];
}

void dcli_loops_plan_free(dcli_loops_plan *plan)
{
    if (plan == NULL)
        return;
    dcli_loops_plan_forget_bounds(plan);
    free_steps(plan->first);
    for (int o = 0; o < plan->operation_count; o++)
        dcli_loops_operation_free(plan->operation[o]);
    dcli_loops_sets_free(plan->sets);
    dcli_loops_tree_free(plan->tree);
    dcli_free(plan->touched);
    dcli_free(plan);
}
