/* loop/plan.c - plan a nest: which statements are an operation together, and which loops the program runs around them.
 *
 * Statements that depend on each other in a circle stay together; the others are separate steps, in an order that keeps all
 * dependences, as near to the program's as possible. Statements are one operation if loop/operation.c agrees. Otherwise the
 * program runs a loop around them, and their iterations in one iteration of this loop are planned in the same way.
 * Source: R. Allen, K. Kennedy, "Automatic translation of FORTRAN programs to vector form", ACM TOPLAS 9 (1987). */
#include "loop/plan.h"

#include <inttypes.h>
#include <isl/options.h>
#include <isl/point.h>
#include <isl/val.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "loop/inside.h"

enum { MOST_OPERATIONS_OF_ISL = 60 * 1000 * 1000 /* a second or two */ };

/* Why a part of the nest has no plan. */
struct failure {
    bool known;
    dcli_loops_mask statements;
    dcli_loops_hosts hosts;
    dcli_loops_why why;
};

struct planner {
    dcli_loops_plan *plan;
    dcli_loops_sets *sets;
    const dcli_loops_tree *tree;
    struct failure failure;
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

/* The statements that are in a circle of dependences with s, and s. */
static dcli_loops_mask circle_of(const struct graph *graph, int s)
{
    dcli_loops_mask circle = (dcli_loops_mask)1 << s;
    for (int t = 0; t < DCLI_LOOPS_STATEMENTS; t++)
        if (dcli_loops_in(graph->reach[s], t) && dcli_loops_in(graph->reach[t], s))
            circle |= (dcli_loops_mask)1 << t;
    return circle;
}

/* Whether nothing that remains must run before a circle. */
static bool is_ready(const struct graph *graph, dcli_loops_mask remaining, dcli_loops_mask circle)
{
    for (int s = 0; s < DCLI_LOOPS_STATEMENTS; s++)
        if (dcli_loops_in(remaining & ~circle, s) && (graph->after[s] & circle) != 0)
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
            bool inside = dcli_loops_depth_in(planner->tree, s, l) >= 0;
            around[0] |= inside && dcli_loops_in(a, s);
            around[1] |= inside && dcli_loops_in(b, s);
        }
        if (around[0] && around[1] && !dcli_loops_is_hosted(hosts, l))
            return true;
    }
    return false;
}

/* ---- loops of the program ----------------------------------------------------------------------------------------- */

/* Whether the program may run a loop around statements, in which it need not be the outermost: no dependence leads back along
 * it. */
static bool may_host(struct planner *planner, dcli_loops_mask statements, int loop, const dcli_loops_hosts *hosts)
{
    dcli_loops_sets *sets = planner->sets;
    bool down = planner->tree->loop[loop].step < 0;
    for (int64_t n = 0; n < sets->dependence_count; n++) {
        const dcli_loops_dependence *d = &sets->dependence[n];
        if (!dcli_loops_in(statements, d->source) || !dcli_loops_in(statements, d->sink))
            continue;
        int from = dcli_loops_depth_in(planner->tree, d->source, loop),
            to = dcli_loops_depth_in(planner->tree, d->sink, loop);
        isl_map *map = dcli_loops_both_at(sets, isl_map_copy(d->map), d->source, d->sink, hosts);
        isl_map *back = isl_map_universe(isl_map_get_space(map));
        back = down ? isl_map_order_lt(back, isl_dim_in, from, isl_dim_out, to)
                    : isl_map_order_gt(back, isl_dim_in, from, isl_dim_out, to);
        if (!dcli_loops_no_map(sets, isl_map_intersect(map, back)))
            return false;
    }
    return true;
}

static bool is_around_all(const struct planner *planner, dcli_loops_mask statements, int loop)
{
    for (int s = 0; s < planner->tree->statement_count; s++)
        if (dcli_loops_in(statements, s) && dcli_loops_depth_in(planner->tree, s, loop) < 0)
            return false;
    return true;
}

/* Remove the operations that an attempt has made. */
static void take_back(struct planner *planner, int operation_count)
{
    while (planner->plan->operation_count > operation_count)
        dcli_loops_operation_free(planner->plan->operation[--planner->plan->operation_count]);
}

/* Let the program run a loop around statements. @return false: what is inside has no plan, or no threads. */
static bool host_loop(struct planner *planner, dcli_loops_mask statements, int loop, const dcli_loops_hosts *hosts,
                      struct sequence *sequence)
{
    dcli_loops_hosts more = *hosts;
    more.loop[more.count++] = loop;
    struct sequence inside = {.end = &inside.first};
    int operation_count = planner->plan->operation_count;
    bool planned = plan_region(planner, statements, &more, &inside) && inside.parallel;
    dcli_loops_step *step = planned ? add_step(planner, sequence, statements, hosts) : NULL;
    if (step == NULL) {
        free_steps(inside.first);
        take_back(planner, operation_count);
        return false;
    }
    step->loop = loop;
    step->first = inside.first;
    isl_set *range = dcli_loops_range(planner->sets, statements, loop, hosts);
    dcli_loops_bounds(planner->sets, range, 0, &step->low, &step->high);
    isl_set_free(range);
    sequence->parallel = true;
    return true;
}

static void note_failure(struct planner *planner, dcli_loops_mask statements, const dcli_loops_hosts *hosts,
                         const dcli_loops_why *why)
{
    if (!planner->failure.known)
        planner->failure = (struct failure){true, statements, *hosts, *why};
}

/* Plan statements that are no operation: let the program run the first loop around them inside of which something is parallel. */
static bool host_some_loop(struct planner *planner, dcli_loops_mask statements, const dcli_loops_hosts *hosts,
                           const dcli_loops_why *why, struct sequence *sequence)
{
    bool outermost = true;
    for (int l = 0; l < planner->tree->loop_count && !planner->sets->failed; l++) {
        if (dcli_loops_is_hosted(hosts, l) || hosts->count == DCLI_LOOPS_DEPTH ||
            !is_around_all(planner, statements, l))
            continue;
        bool may = outermost || may_host(planner, statements, l, hosts);
        outermost = false;
        if (may && host_loop(planner, statements, l, hosts, sequence)) {
            planner->failure.known = false;
            return true;
        }
    }
    note_failure(planner, statements, hosts, why);
    return false;
}

/* ---- regions ------------------------------------------------------------------------------------------------------ */

/* Add a circle that is ready to the open operation. @return false: none can be added. */
static bool extend_open(struct planner *planner, const struct graph *graph, dcli_loops_mask *remaining,
                        const dcli_loops_hosts *hosts, struct sequence *sequence)
{
    if (sequence->open == NULL)
        return false;
    for (int s = 0; s < planner->tree->statement_count; s++) {
        dcli_loops_mask circle = circle_of(graph, s), together = circle | sequence->open->statements;
        dcli_loops_why why;
        if (!dcli_loops_in(*remaining, s) || !is_ready(graph, *remaining, circle) ||
            !share_loop(planner, circle, sequence->open->statements, hosts))
            continue;
        dcli_loops_operation *operation = dcli_loops_operation_try(planner->sets, together, hosts, &why);
        if (operation == NULL)
            continue;
        dcli_loops_operation_free(sequence->open);
        sequence->open = operation;
        *remaining &= ~circle;
        return true;
    }
    return false;
}

static bool plan_circle(struct planner *planner, dcli_loops_mask circle, const dcli_loops_hosts *hosts,
                        struct sequence *sequence)
{
    dcli_loops_why why;
    dcli_loops_operation *operation = dcli_loops_operation_try(planner->sets, circle, hosts, &why);
    close_open(planner, sequence);
    sequence->open = operation;
    if (operation != NULL)
        return true;
    return !planner->sets->failed && host_some_loop(planner, circle, hosts, &why, sequence);
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
        while (!dcli_loops_in(remaining, s) || !is_ready(&graph, remaining, circle_of(&graph, s)))
            s++; /* some circle is ready: circles do not depend on each other in a circle */
        dcli_loops_mask circle = circle_of(&graph, s);
        if (!plan_circle(planner, circle, hosts, out))
            break;
        remaining &= ~circle;
    }
    close_open(planner, out);
    return remaining == 0 && !planner->sets->failed;
}

/* ---- what stands in the way ---------------------------------------------------------------------------------------- */

static const char *name_of(const dcli_loops_tree *tree, const dcli_loops_access *access)
{
    return access->is_array ? tree->name[access->symbol].name : tree->scalar[access->symbol].name;
}

static const dcli_loops_access *access_of(const dcli_loops_tree *tree, int s, int read)
{
    return read < 0 ? &tree->statement[s].target : &tree->statement[s].read[read];
}

/* The innermost loop, not run by the program, that is around both statements; -1: none. */
static int common_loop(const dcli_loops_tree *tree, int s, int t, const dcli_loops_hosts *hosts)
{
    int found = -1;
    for (int d = 0; d < tree->statement[s].depth && d < tree->statement[t].depth; d++) {
        int loop = tree->statement[s].loop[d];
        if (loop == tree->statement[t].loop[d] && !dcli_loops_is_hosted(hosts, loop))
            found = loop;
    }
    return found;
}

static void put_pair(dcli_loops_complaints *complaints, const dcli_loops_tree *tree, const char *first, int s,
                     const int64_t from[], const char *second, int t, const int64_t to[], const char *way)
{
    dcli_text source = {0}, sink = {0};
    dcli_loops_put_iteration(&source, tree, s, from);
    dcli_loops_put_iteration(&sink, tree, t, to);
    dcli_loops_note(complaints, "%s at %s (line %d), %s at %s (line %d)", first,
                    source.bytes != NULL ? source.bytes : "once", tree->statement[s].place.line, second,
                    sink.bytes != NULL ? sink.bytes : "once", tree->statement[t].place.line);
    dcli_loops_note(complaints, "%s", way);
    dcli_text_free(&source);
    dcli_text_free(&sink);
}

/* Complain of a dependence between threads, with a pair of iterations in the first iteration of the hosts that has one. */
static void complain_cross(struct planner *planner, dcli_loops_complaints *complaints)
{
    const dcli_loops_dependence *d = &planner->sets->dependence[planner->failure.why.number];
    const dcli_loops_tree *tree = planner->tree;
    const dcli_loops_access *sink = access_of(tree, d->sink, d->sink_read);
    int loop = common_loop(tree, d->source, d->sink, &planner->failure.hosts);
    int64_t from[DCLI_LOOPS_DEPTH], to[DCLI_LOOPS_DEPTH];
    isl_map *map = dcli_loops_both_at(planner->sets, isl_map_copy(d->map), d->source, d->sink, &planner->failure.hosts);
    map = isl_map_project_out(map, isl_dim_param, 0, (unsigned)planner->failure.hosts.count);
    if (loop >= 0) { /* of different iterations of the loop, if there are */
        int a = dcli_loops_depth_in(tree, d->source, loop), b = dcli_loops_depth_in(tree, d->sink, loop);
        isl_map *equal = isl_map_equate(isl_map_universe(isl_map_get_space(map)), isl_dim_in, a, isl_dim_out, b);
        isl_map *other = isl_map_subtract(isl_map_copy(map), equal);
        if (dcli_loops_no_map(planner->sets, isl_map_copy(other))) {
            isl_map_free(other);
        } else {
            isl_map_free(map);
            map = other;
        }
    }
    dcli_loops_complain(complaints, sink->place, "carried",
                        "%s%s cannot run in parallel: %s is %s by one iteration and %s by "
                        "a later one",
                        loop >= 0 ? "the iterations of loop " : "these statements",
                        loop >= 0 ? tree->loop[loop].name : "", name_of(tree, sink),
                        d->source_read < 0 ? "written" : "read", d->sink_read < 0 ? "written" : "read");
    if (dcli_loops_first_pair(planner->sets, map, d->source, d->sink, from, to))
        put_pair(complaints, tree, d->source_read < 0 ? "written" : "read", d->source, from,
                 d->sink_read < 0 ? "written" : "read", d->sink, to,
                 "write to another array than is read, or change the order of the loops so that an inner loop is free "
                 "of this");
}

static void complain_scalar(struct planner *planner, dcli_loops_complaints *complaints)
{
    const dcli_loops_flow *f = &planner->sets->flow[planner->failure.why.number];
    const dcli_loops_tree *tree = planner->tree;
    const dcli_loops_access *read = NULL;
    int64_t from[DCLI_LOOPS_DEPTH], to[DCLI_LOOPS_DEPTH];
    for (int r = 0; r < tree->statement[f->sink].read_count; r++)
        if (!tree->statement[f->sink].read[r].is_array && tree->statement[f->sink].read[r].symbol == f->scalar)
            read = &tree->statement[f->sink].read[r];
    dcli_loops_complain(complaints, read != NULL ? read->place : tree->statement[f->sink].place, "scalar",
                        "the variable %s carries a value between iterations that would run in parallel",
                        tree->scalar[f->scalar].name);
    if (dcli_loops_first_pair(planner->sets, isl_map_copy(f->map), f->source, f->sink, from, to))
        put_pair(
            complaints, tree, "assigned", f->source, from, "read", f->sink, to,
            "keep the values in an array, as s[i] in place of s, or give the variable its value in the same iteration");
}

static void complain_failure(struct planner *planner, dcli_loops_complaints *complaints)
{
    const dcli_loops_tree *tree = planner->tree;
    const dcli_loops_why *why = &planner->failure.why;
    int s = 0;
    switch (why->reason) {
    case DCLI_LOOPS_CROSS:
        complain_cross(planner, complaints);
        return;
    case DCLI_LOOPS_SCALAR:
        complain_scalar(planner, complaints);
        return;
    case DCLI_LOOPS_STRIDE:
        dcli_loops_complain(complaints, tree->statement[why->statement].target.place, "stride",
                            "the counter in a subscript of %s, which is written, is multiplied by a number",
                            name_of(tree, &tree->statement[why->statement].target));
        dcli_loops_note(complaints, "let the loop count in these steps, as for (i = 0; i < n; i += 2) in place of 2*i");
        return;
    case DCLI_LOOPS_OVERLAP:
        dcli_loops_complain(complaints, tree->statement[why->statement].read[why->read].place, "overlap",
                            "%s is read among the elements that are written at the same time",
                            name_of(tree, &tree->statement[why->statement].read[why->read]));
        dcli_loops_note(complaints,
                        "no element that is read is written, but DCL compares boxes only; write to another array");
        return;
    case DCLI_LOOPS_MIXED:
        while (!dcli_loops_in(planner->failure.statements, s))
            s++;
        dcli_loops_complain(
            complaints, tree->statement[s].place, "mixed",
            "this statement and others depend on each other in a circle, but write elements of arrays of "
            "different shapes, or at different subscripts of the same loops");
        dcli_loops_note(complaints, "split the loops, or give each variable one user");
        return;
    }
}

/* Complain of outer loops none of whose operations has two threads. */
static void complain_sequential(const dcli_loops_plan *plan, dcli_loops_complaints *complaints)
{
    const dcli_loops_tree *tree = plan->tree;
    for (const dcli_loops_node *node = tree->first; node != NULL; node = node->next) {
        bool parallel = false, alone = false;
        for (int o = 0; o < plan->operation_count && node->kind == DCLI_LOOPS_NODE_LOOP; o++)
            for (int s = 0; s < tree->statement_count; s++)
                if (dcli_loops_in(plan->operation[o]->statements, s) &&
                    dcli_loops_depth_in(tree, s, node->number) >= 0) {
                    parallel |= plan->operation[o]->parallel;
                    alone = true;
                }
        if (!alone || parallel)
            continue;
        dcli_loops_complain(
            complaints, node->place, "nothing-parallel",
            "nothing in this loop can run in parallel: in each of its steps a single element is written");
        dcli_loops_note(complaints, "for sums and other reductions to single values, use dcl_reduce()");
    }
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
    if (!planned)
        complain_failure(&planner, complaints);
    else
        complain_sequential(plan, complaints);
    if (complaints->count > 0)
        return DCL_OK;
    if (!plan->sets->failed && !dcli_loops_verify(plan))
        return DCLI_FAIL(DCL_ERR_INTERNAL, "the plan of the nest violates a dependence, so nothing was run; this is an "
                                           "error of DCL: please report the nest");
    for (int o = 0; o < plan->operation_count && !plan->sets->failed; o++) {
        dcl_status status = dcli_loops_emit(plan->sets, plan->operation[o]);
        if (status != DCL_OK)
            return status;
    }
    return plan->sets->failed ? complain_limit(plan, complaints) : DCL_OK;
}

static dcl_status make_plan(const char *text, int count, const dcli_loops_name names[],
                            dcli_loops_complaints *complaints, dcli_loops_plan *plan)
{
    plan->tree = dcli_loops_parse(text, count, names, complaints);
    if (plan->tree == NULL)
        return DCL_ERR_NOMEM;
    if (complaints->count > 0)
        return DCL_OK;
    plan->sets = dcli_loops_sets_make(plan->tree, MOST_OPERATIONS_OF_ISL, complaints);
    if (plan->sets == NULL)
        return DCL_ERR_NOMEM;
    if (plan->sets->failed)
        return complain_limit(plan, complaints);
    return complaints->count > 0 ? DCL_OK : plan_all(plan, complaints);
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
    status = make_plan(text, count, names, &complaints, plan);
    if (status == DCL_OK)
        status = dcli_loops_complaints_end(&complaints);
    dcli_loops_complaints_free(&complaints);
    if (status == DCL_OK)
        *plan_out = plan;
    else
        dcli_loops_plan_free(plan);
    return status;
}

void dcli_loops_plan_free(dcli_loops_plan *plan)
{
    if (plan == NULL)
        return;
    free_steps(plan->first);
    for (int o = 0; o < plan->operation_count; o++)
        dcli_loops_operation_free(plan->operation[o]);
    dcli_loops_sets_free(plan->sets);
    dcli_loops_tree_free(plan->tree);
    dcli_free(plan);
}

/* ---- printing ----------------------------------------------------------------------------------------------------- */

static void print_operation(const dcli_loops_plan *plan, int number, dcli_text *out)
{
    const dcli_loops_operation *operation = plan->operation[number];
    const dcli_loops_tree *tree = plan->tree;
    dcli_text_put(out, "operation %d:", number);
    for (int s = 0; s < tree->statement_count; s++)
        if (dcli_loops_in(operation->statements, s))
            dcli_text_put(out, " S%d", s);
    for (int k = 0; k < operation->output_count; k++)
        dcli_text_put(out, "%s%s", k == 0 ? " writes " : ", ", tree->name[operation->output[k]].name);
    for (int l = 0; l < tree->loop_count; l++) {
        bool used = false;
        for (int s = 0; s < tree->statement_count; s++)
            used |= dcli_loops_in(operation->statements, s) && dcli_loops_depth_in(tree, s, l) >= 0;
        if (!used || operation->run[l].way == DCLI_LOOPS_HOSTED)
            continue;
        dcli_text_put(out, "; %s (line %d) ", tree->loop[l].name, tree->loop[l].place.line);
        dcli_text_put(out, operation->run[l].way == DCLI_LOOPS_FREE ? "in order" : "parallel");
    }
    dcli_text_put(out, "%s\n", operation->parallel ? "" : "; one thread");
}

static void print_steps(const dcli_loops_plan *plan, const dcli_loops_step *step, int indent, dcli_text *out)
{
    for (; step != NULL; step = step->next) {
        dcli_text_put(out, "%*s", indent, "");
        if (step->operation >= 0)
            print_operation(plan, step->operation, out);
        else
            dcli_text_put(out, "program: %s (line %d)\n", plan->tree->loop[step->loop].name,
                          plan->tree->loop[step->loop].place.line);
        print_steps(plan, step->first, indent + 2, out);
    }
}

void dcli_loops_plan_print(const dcli_loops_plan *plan, dcli_text *out) { print_steps(plan, plan->first, 0, out); }
