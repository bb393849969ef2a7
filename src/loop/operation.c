/* loop/operation.c - decide whether statements can be one operation, each thread of which computes one element.
 *
 * The element that a statement writes determines its thread. A loop whose counter follows from the element has one
 * iteration in a thread; the others run in order. That is a legal order if all dependences stay within threads.
 * There is one exception: an element that another thread writes later may be read from a copy that is made before
 * the operation. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "loop/inside.h"
#include "segment/box.h"

/* ---- sets with host counters -------------------------------------------------------------------------------------- */

void dcli_loops_put_parameters(dcli_text *out, const dcli_loops_hosts *hosts)
{
    if (hosts->count == 0)
        return;
    for (int k = 0; k < hosts->count; k++)
        dcli_text_put(out, "%sp%d", k > 0 ? "," : "[", k);
    dcli_text_put(out, "] -> ");
}

int dcli_loops_depth_in(const dcli_loops_tree *tree, int s, int loop)
{
    int d = tree->loop[loop].depth;
    return d < tree->statement[s].depth && tree->statement[s].loop[d] == loop ? d : -1;
}

isl_set *dcli_loops_at(dcli_loops_sets *sets, int s, const dcli_loops_hosts *hosts)
{
    if (hosts->count == 0)
        return isl_set_copy(sets->domain[s]);
    bool known = sets->at[s] != NULL && sets->at_count[s] == hosts->count;
    for (int k = 0; k < hosts->count; k++)
        known = known && sets->at_depth[s][k] == hosts->depth[k][s];
    if (known)
        return isl_set_copy(sets->at[s]);
    dcli_text text = {0};
    dcli_loops_put_parameters(&text, hosts);
    dcli_text_put(&text, "{ ");
    dcli_loops_put_space(&text, sets, s);
    dcli_text_put(&text, " : 0 = 0");
    for (int k = 0; k < hosts->count; k++)
        dcli_text_put(&text, " and c%d = p%d", hosts->depth[k][s], k);
    dcli_text_put(&text, " }");
    isl_set_free(sets->at[s]);
    sets->at[s] = isl_set_intersect(dcli_loops_read_set(sets, &text), isl_set_copy(sets->domain[s]));
    sets->at_count[s] = hosts->count;
    for (int k = 0; k < hosts->count; k++)
        sets->at_depth[s][k] = hosts->depth[k][s];
    return isl_set_copy(sets->at[s]);
}

isl_map *dcli_loops_both_at(dcli_loops_sets *sets, isl_map *map, int s, int t, const dcli_loops_hosts *hosts)
{
    map = isl_map_intersect_domain(map, dcli_loops_at(sets, s, hosts));
    return isl_map_intersect_range(map, dcli_loops_at(sets, t, hosts));
}

int64_t dcli_loops_step_run(const dcli_loops_loop *loop)
{
    const dcli_loops_linear *first = loop->step > 0 ? &loop->low[0] : &loop->high[0];
    bool whole = loop->step <= INT16_MAX && loop->step >= -INT16_MAX; /* most that a loop of a body may count */
    for (int d = 0; d < DCLI_LOOPS_DEPTH; d++)
        whole &= first->coef[d] == 0;
    if (whole)
        return loop->step;
    return loop->step > 0 ? 1 : -1;
}

/* Add the values of the counter at depth d of statement s to a set, which is taken; NULL: empty. */
static isl_set *add_counter(dcli_loops_sets *sets, isl_set *all, int s, int d, const dcli_loops_hosts *hosts)
{
    isl_set *set = isl_set_reset_tuple_id(dcli_loops_at(sets, s, hosts));
    int depth = sets->tree->statement[s].depth;
    set = isl_set_project_out(set, isl_dim_set, (unsigned)d + 1, (unsigned)(depth - d - 1));
    set = isl_set_project_out(set, isl_dim_set, 0, (unsigned)d);
    return all == NULL ? set : isl_set_union(all, set);
}

isl_set *dcli_loops_counter(dcli_loops_sets *sets, dcli_loops_mask statements, const dcli_loops_hosts *inside, int k,
                            const dcli_loops_hosts *hosts)
{
    isl_set *all = NULL;
    for (int s = 0; s < sets->tree->statement_count; s++)
        if (dcli_loops_in(statements, s))
            all = add_counter(sets, all, s, inside->depth[k][s], hosts);
    sets->failed |= all == NULL;
    return all;
}

isl_set *dcli_loops_range(dcli_loops_sets *sets, dcli_loops_mask statements, int loop, const dcli_loops_hosts *hosts)
{
    isl_set *all = NULL;
    for (int s = 0; s < sets->tree->statement_count; s++)
        if (dcli_loops_in(statements, s) && dcli_loops_depth_in(sets->tree, s, loop) >= 0)
            all = add_counter(sets, all, s, dcli_loops_depth_in(sets->tree, s, loop), hosts);
    sets->failed |= all == NULL;
    return all;
}

void dcli_loops_bounds(dcli_loops_sets *sets, const isl_set *set, int d, isl_pw_aff **low_out, isl_pw_aff **high_out)
{
    *low_out = isl_pw_aff_coalesce(isl_set_dim_min(isl_set_copy((isl_set *)set), d));
    *high_out = isl_pw_aff_coalesce(isl_set_dim_max(isl_set_copy((isl_set *)set), d));
    sets->failed |= *low_out == NULL || *high_out == NULL;
    if (isl_pw_aff_plain_is_equal(*low_out, *high_out) == isl_bool_true) { /* the same pointer: evaluated once */
        isl_pw_aff_free(*high_out);
        *high_out = isl_pw_aff_copy(*low_out);
    }
}

isl_set *dcli_loops_box(dcli_loops_sets *sets, isl_set *set)
{
    isl_set *box = isl_set_universe(isl_set_get_space(set));
    box = isl_set_lower_bound_multi_pw_aff(box, isl_set_min_multi_pw_aff(isl_set_copy(set)));
    box = isl_set_upper_bound_multi_pw_aff(box, isl_set_max_multi_pw_aff(set));
    sets->failed |= box == NULL;
    return box;
}

/* ---- which element is whose --------------------------------------------------------------------------------------- */

/* Derive the counter of a loop from the element and from the counter of the loop inside it, whose factor in the
 * subscript is not 1 or -1: for z[i + 2*j], i = x - 2*j. A thread then runs loop j around loop i, in the direction in
 * which the values of i come in the order as written; so its iterations keep their order.
 * @return false: this is not possible. */
static bool turn(const dcli_loops_tree *tree, const dcli_loops_statement *statement, int r, int inner,
                 const bool taken[], dcli_loops_run run_out[])
{
    const dcli_loops_linear *subscript = &statement->target.subscript[r];
    int outer = inner - 1;
    if (outer < 0 || taken[outer] || (subscript->coef[outer] != 1 && subscript->coef[outer] != -1))
        return false;
    const dcli_loops_loop *around = &tree->loop[statement->loop[outer]], *inside = &tree->loop[statement->loop[inner]];
    if (around->node->first != inside->node || inside->node->next != NULL || (inside->step != 1 && inside->step != -1))
        return false;
    bool against = (subscript->coef[outer] > 0) == (subscript->coef[inner] > 0);
    run_out[outer] = (dcli_loops_run){.way = DCLI_LOOPS_FIXED,
                                      .row = r,
                                      .sign = (int)subscript->coef[outer],
                                      .statement = statement->node->number,
                                      .turned = (around->step > 0) == against ? -1 : 1,
                                      .rest = *subscript};
    run_out[outer].rest.coef[outer] = 0;
    return true;
}

/* Determine how threads run the loops around one statement that writes an array.
 * @param along  the axis of lines; -1: none.
 * @return false: a counter has a factor other than 1 and -1 in a subscript, and its loop cannot be turned. */
static bool find_ways(const dcli_loops_tree *tree, int s, const dcli_loops_hosts *hosts, int along,
                      dcli_loops_run run_out[])
{
    const dcli_loops_statement *statement = &tree->statement[s];
    int rank = tree->name[statement->target.symbol].grid.rank;
    bool hosted[DCLI_LOOPS_DEPTH] = {false}, done[DCLI_LOOPS_DEPTH] = {false}, taken[DCLI_LOOPS_DEPTH];
    for (int k = 0; k < hosts->count; k++)
        hosted[hosts->depth[k][s]] = true;
    for (int d = 0; d < statement->depth; d++)
        run_out[d] = (dcli_loops_run){.way = DCLI_LOOPS_FREE};
    for (int k = 0; k < hosts->count; k++)
        run_out[hosts->depth[k][s]] = (dcli_loops_run){.way = DCLI_LOOPS_HOSTED, .row = k};
    for (int r = 0; r < rank; r++) {
        if (r == along)
            continue;
        const dcli_loops_linear *subscript = &statement->target.subscript[r];
        int deepest = statement->depth - 1; /* the innermost loop, run by the threads, of which the subscript depends */
        while (deepest >= 0 && (hosted[deepest] || subscript->coef[deepest] == 0))
            deepest--;
        if (deepest < 0 || done[deepest])
            continue; /* a condition of the statement */
        if (subscript->coef[deepest] != 1 && subscript->coef[deepest] != -1) {
            for (int d = 0; d < statement->depth; d++)
                taken[d] = hosted[d] || done[d];
            if (!turn(tree, statement, r, deepest, taken, run_out))
                return false;
            done[deepest - 1] = true;
            continue;
        }
        run_out[deepest] = (dcli_loops_run){.way = DCLI_LOOPS_FIXED,
                                            .row = r,
                                            .sign = (int)subscript->coef[deepest],
                                            .statement = s,
                                            .rest = *subscript};
        run_out[deepest].rest.coef[deepest] = 0;
        done[deepest] = true;
    }
    return true;
}

/* Whether two statements require the same way of running one loop, with the same loops' counters in `rest`. */
static bool same_run(const dcli_loops_tree *tree, const dcli_loops_run *a, const dcli_loops_run *b)
{
    for (int d = 0; d < DCLI_LOOPS_DEPTH && a->way == DCLI_LOOPS_FIXED && b->way == DCLI_LOOPS_FIXED; d++)
        if (a->rest.coef[d] != 0 && b->rest.coef[d] != 0 &&
            tree->statement[a->statement].loop[d] != tree->statement[b->statement].loop[d])
            return false;
    return a->way == b->way && a->row == b->row && a->sign == b->sign && a->turned == b->turned &&
           memcmp(&a->rest, &b->rest, sizeof a->rest) == 0;
}

static void add_output(dcli_loops_operation *operation, int array)
{
    for (int k = 0; k < operation->output_count; k++)
        if (operation->output[k] == array)
            return;
    operation->output[operation->output_count++] = array;
}

/* Note the loops that the program runs. */
static void find_hosted(const dcli_loops_tree *tree, dcli_loops_operation *operation, dcli_loops_mask *known)
{
    for (int s = 0; s < tree->statement_count; s++)
        for (int k = 0; k < operation->hosts.count && dcli_loops_in(operation->statements, s); k++) {
            int loop = tree->statement[s].loop[operation->hosts.depth[k][s]];
            operation->run[loop] = (dcli_loops_run){.way = DCLI_LOOPS_HOSTED, .row = k};
            *known |= (dcli_loops_mask)1 << loop;
        }
}

/* Whether the loops that the program runs around some statements are those that it runs around all of them. */
static bool all_hosted(const dcli_loops_tree *tree, const dcli_loops_operation *operation)
{
    for (int s = 0; s < tree->statement_count; s++)
        for (int d = 0; d < tree->statement[s].depth && dcli_loops_in(operation->statements, s); d++) {
            const dcli_loops_run *run = &operation->run[tree->statement[s].loop[d]];
            bool hosted = run->way == DCLI_LOOPS_HOSTED;
            if (hosted != dcli_loops_is_hosted(&operation->hosts, s, d) ||
                (hosted && operation->hosts.depth[run->row][s] != d))
                return false;
        }
    return true;
}

/* Find the ways of all loops; statements that share a loop must agree. */
static bool agree(dcli_loops_sets *sets, dcli_loops_operation *operation, dcli_loops_why *why)
{
    const dcli_loops_tree *tree = sets->tree;
    dcli_loops_mask known = 0;
    find_hosted(tree, operation, &known);
    for (int s = 0; s < tree->statement_count; s++) {
        const dcli_loops_statement *statement = &tree->statement[s];
        dcli_loops_run run[DCLI_LOOPS_DEPTH];
        if (!dcli_loops_in(operation->statements, s) || !statement->target.is_array)
            continue;
        *why = (dcli_loops_why){.reason = DCLI_LOOPS_STRIDE, .statement = s};
        if (!find_ways(tree, s, &operation->hosts, operation->along, run))
            return false;
        add_output(operation, statement->target.symbol);
        why->reason = DCLI_LOOPS_MIXED;
        if (!dcli_grid_same_shape(&tree->name[statement->target.symbol].grid, &tree->name[operation->output[0]].grid))
            return false;
        for (int d = 0; d < statement->depth; d++) {
            dcli_loops_run *mine = &operation->run[statement->loop[d]];
            if (dcli_loops_in(known, statement->loop[d]) && !same_run(tree, mine, &run[d]))
                return false;
            *mine = run[d];
            known |= (dcli_loops_mask)1 << statement->loop[d];
        }
    }
    if (!all_hosted(tree, operation))
        return false;
    operation->rank = operation->output_count > 0 ? tree->name[operation->output[0]].grid.rank : 0;
    return true;
}

/* ---- threads ------------------------------------------------------------------------------------------------------ */

/* Begin the text of a map from the iterations of s to threads: `[p0] -> { S0[c0,c1] -> [x0,x1] : 0 = 0`, with what
 * fixed loops require. */
static void put_threads(dcli_text *out, dcli_loops_sets *sets, const dcli_loops_operation *operation, int s)
{
    const dcli_loops_statement *statement = &sets->tree->statement[s];
    dcli_loops_put_parameters(out, &operation->hosts);
    dcli_text_put(out, "{ ");
    dcli_loops_put_space(out, sets, s);
    dcli_text_put(out, " -> [");
    for (int r = 0; r < operation->rank; r++)
        dcli_text_put(out, "%sx%d", r > 0 ? "," : "", r);
    dcli_text_put(out, "] : 0 = 0");
    for (int k = 0; k < operation->hosts.count; k++)
        dcli_text_put(out, " and c%d = p%d", operation->hosts.depth[k][s], k);
    for (int d = 0; d < statement->depth; d++) {
        const dcli_loops_run *run = &operation->run[statement->loop[d]];
        if (run->way != DCLI_LOOPS_FIXED)
            continue;
        dcli_text_put(out, " and x%d = %sc%d + ", run->row, run->sign < 0 ? "-" : "", d);
        dcli_loops_put_linear(out, &run->rest);
    }
}

/* Map the elements of the outputs to the threads of their lines. */
static isl_map *fold_map(dcli_loops_sets *sets, const dcli_loops_operation *operation)
{
    dcli_text text = {0};
    for (int side = 0; side < 2; side++) {
        dcli_text_put(&text, side == 0 ? "{ [" : "] -> [");
        for (int r = 0; r < operation->rank; r++)
            dcli_text_put(&text, side == 1 && r == operation->along ? "%s0" : "%sx%d", r > 0 ? "," : "", r);
    }
    dcli_text_put(&text, "] }");
    return dcli_loops_read_map(sets, &text);
}

static void find_box(dcli_loops_sets *sets, dcli_loops_operation *operation)
{
    isl_set *all = NULL;
    for (int s = 0; s < sets->tree->statement_count; s++)
        if (dcli_loops_in(operation->statements, s) && sets->tree->statement[s].target.is_array) {
            isl_set *set = isl_map_range(
                isl_map_intersect_domain(isl_map_copy(sets->write[s]), dcli_loops_at(sets, s, &operation->hosts)));
            set = isl_set_reset_tuple_id(set);
            all = all == NULL ? set : isl_set_union(all, set);
        }
    operation->box = dcli_loops_box(sets, all);
    if (operation->along >= 0)
        operation->box = isl_set_apply(operation->box, fold_map(sets, operation));
}

/* The threads that run each iteration: what the generated code does. */
static void find_threads(dcli_loops_sets *sets, dcli_loops_operation *operation)
{
    for (int s = 0; s < sets->tree->statement_count; s++) {
        if (!dcli_loops_in(operation->statements, s))
            continue;
        const dcli_loops_statement *statement = &sets->tree->statement[s];
        dcli_text text = {0};
        put_threads(&text, sets, operation, s);
        for (int r = 0; statement->target.is_array && r < operation->rank; r++) {
            dcli_text_put(&text, " and x%d = ", r);
            if (r == operation->along)
                dcli_text_put(&text, "0");
            else
                dcli_loops_put_linear(&text, &statement->target.subscript[r]);
        }
        dcli_text_put(&text, " }");
        isl_map *map = isl_map_intersect_domain(dcli_loops_read_map(sets, &text), isl_set_copy(sets->domain[s]));
        operation->threads[s] = isl_map_intersect_range(map, isl_set_copy(operation->box));
    }
}

isl_map *dcli_loops_unguarded(dcli_loops_sets *sets, const dcli_loops_operation *operation, int s)
{
    const dcli_loops_statement *statement = &sets->tree->statement[s];
    dcli_text text = {0};
    put_threads(&text, sets, operation, s);
    dcli_text_put(&text, " }");
    isl_map *map = isl_map_intersect_range(dcli_loops_read_map(sets, &text), isl_set_copy(operation->box));
    if (operation->over != NULL)
        map = isl_map_intersect_range(map, isl_set_copy(operation->over));
    for (int d = 0; d < statement->depth; d++) {
        const dcli_loops_run *run = &operation->run[statement->loop[d]];
        if (run->way != DCLI_LOOPS_FREE)
            continue;
        dcli_text counter = {0};
        dcli_text_put(&counter, "{ ");
        dcli_loops_put_space(&counter, sets, s);
        dcli_text_put(&counter, " -> [c%d] }", d);
        isl_map *reverse = isl_map_reverse(dcli_loops_read_map(sets, &counter));
        map = isl_map_intersect_domain(map, isl_set_apply(isl_set_copy(run->range), reverse));
    }
    return map;
}

/* ---- conditions --------------------------------------------------------------------------------------------------- */

/* Restrict a map between iterations of s and t to one iteration of the host loops, and convert it to a map between the
 * threads that run them. @param map  taken. */
static isl_map *between_threads(dcli_loops_sets *sets, const dcli_loops_operation *operation, isl_map *map, int s,
                                int t)
{
    map = dcli_loops_both_at(sets, map, s, t, &operation->hosts);
    map = isl_map_apply_range(isl_map_reverse(isl_map_copy(operation->threads[s])), map);
    return isl_map_apply_range(map, isl_map_copy(operation->threads[t]));
}

/* Remove the pairs of equal threads from a map between threads. */
static isl_map *of_others(isl_map *map) { return isl_map_subtract(map, isl_map_identity(isl_map_get_space(map))); }

/* Whether no dependence leads from one thread to another in one iteration of the host loops. Exempt are reads of elements
 * that are written later: they are marked to read a copy. */
static bool stay_in_threads(dcli_loops_sets *sets, dcli_loops_operation *operation, dcli_loops_why *why)
{
    for (int64_t n = 0; n < sets->dependence_count; n++) {
        const dcli_loops_dependence *d = &sets->dependence[n];
        if (!dcli_loops_in(operation->statements, d->source) || !dcli_loops_in(operation->statements, d->sink))
            continue;
        isl_map *map = between_threads(sets, operation, isl_map_copy(d->map), d->source, d->sink);
        if (dcli_loops_no_map(sets, of_others(map)))
            continue;
        if (d->source_read >= 0 && operation->along < 0) {
            operation->copied[d->source][d->source_read] = true;
            continue;
        }
        *why = (dcli_loops_why){.reason = DCLI_LOOPS_CROSS, .number = (int)n};
        return false;
    }
    return true;
}

bool dcli_loops_values_reach(dcli_loops_sets *sets, const dcli_loops_operation *operation, const dcli_loops_flow *flow)
{
    if (!dcli_loops_in(operation->statements, flow->source))
        return false;
    /* the flow in one iteration of the host loops is all of the flow */
    isl_map *here = dcli_loops_both_at(sets, isl_map_copy(flow->map), flow->source, flow->sink, &operation->hosts);
    isl_set *sinks = isl_map_range(
        isl_map_intersect_range(isl_map_copy(flow->map), dcli_loops_at(sets, flow->sink, &operation->hosts)));
    if (!dcli_loops_no_set(sets, isl_set_subtract(sinks, isl_map_range(isl_map_copy(here))))) {
        isl_map_free(here);
        return false;
    }
    /* each thread that uses a value computes it: sink -> threads of the sink, without those of the source */
    isl_map *used = isl_map_apply_range(here, isl_map_copy(operation->threads[flow->sink]));
    isl_map *made = isl_map_copy(operation->threads[flow->source]);
    return dcli_loops_no_map(sets, isl_map_subtract(used, made));
}

static bool values_reach_all(dcli_loops_sets *sets, const dcli_loops_operation *operation, dcli_loops_why *why)
{
    for (int64_t n = 0; n < sets->flow_count; n++) {
        if (!dcli_loops_in(operation->statements, sets->flow[n].sink))
            continue;
        *why = (dcli_loops_why){.reason = DCLI_LOOPS_SCALAR, .number = (int)n};
        if (!dcli_loops_values_reach(sets, operation, &sets->flow[n]))
            return false;
    }
    return true;
}

isl_map *dcli_loops_reached(const dcli_loops_operation *operation, const dcli_loops_sets *sets, int s, int r)
{
    isl_map *access = isl_map_reset_tuple_id(isl_map_copy(sets->read[s][r]), isl_dim_out);
    if (operation->along >= 0)
        access = isl_map_apply_range(access, fold_map((dcli_loops_sets *)sets, operation));
    return isl_map_apply_range(isl_map_reverse(isl_map_copy(operation->threads[s])), access);
}

/* Whether a read is always of the element of the thread that reads. */
static bool is_own(dcli_loops_sets *sets, const dcli_loops_operation *operation, int s, int r)
{
    return dcli_loops_no_map(sets, of_others(dcli_loops_reached(operation, sets, s, r)));
}

/* Whether a read is of the element of the thread that reads in some iteration. */
static bool is_ever_own(dcli_loops_sets *sets, const dcli_loops_operation *operation, int s, int r)
{
    isl_map *map = dcli_loops_reached(operation, sets, s, r);
    isl_map *same = isl_map_identity(isl_map_get_space(map));
    return !dcli_loops_no_map(sets, isl_map_intersect(map, same));
}

static bool writes(const dcli_loops_operation *operation, int array)
{
    for (int k = 0; k < operation->output_count; k++)
        if (operation->output[k] == array)
            return true;
    return false;
}

isl_set *dcli_loops_elements(dcli_loops_sets *sets, const dcli_loops_operation *operation, int s, int r)
{
    isl_set *set = isl_map_range(
        isl_map_intersect_domain(isl_map_copy(sets->read[s][r]), dcli_loops_at(sets, s, &operation->hosts)));
    return isl_set_reset_tuple_id(set);
}

isl_set *dcli_loops_elements_derived(dcli_loops_sets *sets, const dcli_loops_operation *operation, int s, int r)
{
    const dcli_loops_access *access = &sets->tree->statement[s].read[r];
    dcli_text text = {0};
    dcli_text_put(&text, "{ ");
    dcli_loops_put_space(&text, sets, s);
    dcli_text_put(&text, " -> [");
    for (int d = 0; d < sets->tree->name[access->symbol].grid.rank; d++) {
        dcli_text_put(&text, "%s", d > 0 ? ", " : "");
        dcli_loops_put_linear(&text, &access->subscript[d]);
    }
    dcli_text_put(&text, "] }");
    isl_set *iterations = isl_map_domain(dcli_loops_unguarded(sets, operation, s));
    return isl_set_apply(iterations, dcli_loops_read_map(sets, &text));
}

/* Whether the elements that a read reaches have no box in common with what the operation writes. */
static bool is_apart(dcli_loops_sets *sets, const dcli_loops_operation *operation, int s, int r)
{
    isl_set *set = dcli_loops_elements(sets, operation, s, r);
    if (dcli_loops_no_set(sets, isl_set_copy(set))) {
        isl_set_free(set);
        return true;
    }
    isl_set_free(set);
    set = dcli_loops_elements_derived(sets, operation, s, r);
    return dcli_loops_no_set(sets, isl_set_intersect(dcli_loops_box(sets, set), isl_set_copy(operation->box)));
}

/* Determine how threads read the arrays that the operation writes: their own elements, elements outside the box of
 * all that is written, or elements of a copy. */
static void find_reads(dcli_loops_sets *sets, dcli_loops_operation *operation)
{
    for (int s = 0; s < sets->tree->statement_count; s++) {
        const dcli_loops_statement *statement = &sets->tree->statement[s];
        for (int r = 0; dcli_loops_in(operation->statements, s) && r < statement->read_count; r++) {
            if (!statement->read[r].is_array || !writes(operation, statement->read[r].symbol))
                continue;
            operation->own[s][r] = is_own(sets, operation, s, r);
            operation->copied[s][r] =
                !operation->own[s][r] && (operation->copied[s][r] || !is_apart(sets, operation, s, r));
            operation->mixed[s][r] = operation->copied[s][r] && is_ever_own(sets, operation, s, r);
        }
    }
}

/* Make the body of the operation that copies. */
static void name_copy(dcli_loops_copy *copy)
{
    char indices[2 * DCL_MAX_RANK + 1] = "";
    for (int r = 0; r < copy->rank; r++) {
        indices[2 * r] = "ijklmnop"[r];
        indices[2 * r + 1] = r + 1 < copy->rank ? ',' : '\0';
    }
    snprintf(copy->body, sizeof copy->body, "copy(%s) = from(%s);", indices, indices);
}

/* Find the boxes that are copied before the operation. */
static void find_copies(dcli_loops_sets *sets, dcli_loops_operation *operation)
{
    for (int k = 0; k < operation->output_count; k++) {
        isl_set *all = NULL;
        dcli_loops_place place = {0};
        for (int s = 0; s < sets->tree->statement_count; s++)
            for (int r = 0; r < sets->tree->statement[s].read_count; r++)
                if (operation->copied[s][r] && sets->tree->statement[s].read[r].symbol == operation->output[k]) {
                    isl_set *set = dcli_loops_elements(sets, operation, s, r);
                    place = all == NULL ? sets->tree->statement[s].read[r].place : place;
                    all = all == NULL ? set : isl_set_union(all, set);
                }
        if (all == NULL)
            continue;
        dcli_loops_copy *copy = &operation->copy[operation->copy_count++];
        copy->place = place;
        copy->array = operation->output[k];
        copy->rank = operation->rank;
        name_copy(copy);
        for (int r = 0; r < copy->rank; r++)
            dcli_loops_bounds(sets, all, r, &copy->low[r], &copy->high[r]);
        isl_set_free(all);
    }
}

static void find_ranges(dcli_loops_sets *sets, dcli_loops_operation *operation)
{
    for (int l = 0; l < sets->tree->loop_count; l++) {
        bool used = false;
        for (int s = 0; s < sets->tree->statement_count; s++)
            used |= dcli_loops_in(operation->statements, s) && dcli_loops_depth_in(sets->tree, s, l) >= 0;
        if (used && operation->run[l].way == DCLI_LOOPS_FREE)
            operation->run[l].range =
                dcli_loops_box(sets, dcli_loops_range(sets, operation->statements, l, &operation->hosts));
        if (operation->run[l].range != NULL)
            dcli_loops_bounds(sets, operation->run[l].range, 0, &operation->run[l].low, &operation->run[l].high);
    }
    for (int r = 0; r < operation->rank; r++)
        if (r != operation->along)
            dcli_loops_bounds(sets, operation->box, r, &operation->low[r], &operation->high[r]);
}

/* Whether the threads of an operation take the place of a loop. If that loop has one iteration only, there is one
 * thread. */
static bool is_parallel(const dcli_loops_sets *sets, const dcli_loops_operation *operation)
{
    for (int l = 0; l < sets->tree->loop_count; l++)
        if (operation->run[l].way == DCLI_LOOPS_FIXED)
            return true;
    return false;
}

/* ---- lines -------------------------------------------------------------------------------------------------------- */

/* Add what an access touches in an iteration of the host loops to a set of elements; NULL: none yet. */
static isl_set *add_elements(dcli_loops_sets *sets, isl_set *all, isl_map *access, int s, const dcli_loops_hosts *hosts)
{
    isl_set *set = isl_map_range(isl_map_intersect_domain(isl_map_copy(access), dcli_loops_at(sets, s, hosts)));
    set = isl_set_reset_tuple_id(set);
    return all == NULL ? set : isl_set_union(all, set);
}

/* Whether all reads of outputs are of the thread's own line. If so, find the first and the last index of what threads read
 * and write of their lines. */
static bool find_lines(dcli_loops_sets *sets, dcli_loops_operation *operation)
{
    isl_set *all = NULL;
    bool own = true;
    for (int s = 0; s < sets->tree->statement_count && own; s++) {
        const dcli_loops_statement *statement = &sets->tree->statement[s];
        if (!dcli_loops_in(operation->statements, s))
            continue;
        if (statement->target.is_array)
            all = add_elements(sets, all, sets->write[s], s, &operation->hosts);
        for (int r = 0; r < statement->read_count && own; r++)
            if (statement->read[r].is_array && writes(operation, statement->read[r].symbol)) {
                own = operation->own[s][r] = is_own(sets, operation, s, r);
                all = add_elements(sets, all, sets->read[s][r], s, &operation->hosts);
            }
    }
    if (own)
        dcli_loops_bounds(sets, all, operation->along, &operation->low[operation->along],
                          &operation->high[operation->along]);
    isl_set_free(all);
    return own;
}

/* Whether the loops that threads run are few and simple enough for a thread per line: around no statement is more than one loop
 * that runs in order, and the other counters follow from the thread alone. Sums of many terms are better computed
 * element by element. */
static bool are_simple(const dcli_loops_sets *sets, const dcli_loops_operation *operation)
{
    int inputs = 0;
    bool line = false, parallel = false;
    for (int s = 0; s < sets->tree->statement_count; s++) {
        const dcli_loops_statement *statement = &sets->tree->statement[s];
        int in_order = 0;
        if (!dcli_loops_in(operation->statements, s))
            continue;
        inputs += statement->read_count;
        for (int d = 0; d < statement->depth; d++) {
            const dcli_loops_run *run = &operation->run[statement->loop[d]];
            parallel |= run->way == DCLI_LOOPS_FIXED;
            in_order += run->way == DCLI_LOOPS_FREE;
            for (int e = 0; e < DCLI_LOOPS_DEPTH && run->way == DCLI_LOOPS_FIXED; e++)
                if (run->turned != 0 ||
                    (run->rest.coef[e] != 0 &&
                     operation->run[sets->tree->statement[run->statement].loop[e]].way != DCLI_LOOPS_HOSTED))
                    return false;
        }
        if (in_order > 1)
            return false;
        line |= in_order == 1;
    }
    return line && parallel && inputs <= DCLI_LOOPS_REACHES;
}

bool dcli_loops_is_thin(const dcli_loops_operation *operation, int axis)
{
    return operation->low[axis] == operation->high[axis];
}

/* ---- lines that are gathered ---------------------------------------------------------------------------------------- */

/* The elements of an output that an operation writes. */
static isl_set *written_of(dcli_loops_sets *sets, const dcli_loops_operation *operation, int array)
{
    isl_set *all = NULL;
    for (int s = 0; s < sets->tree->statement_count; s++) {
        const dcli_loops_access *target = &sets->tree->statement[s].target;
        if (dcli_loops_in(operation->statements, s) && target->is_array && target->symbol == array)
            all = add_elements(sets, all, sets->write[s], s, &operation->hosts);
    }
    return all;
}

/* The elements of an output that a read reaches in iterations before which the operation has not written them. */
static isl_set *read_before(dcli_loops_sets *sets, const dcli_loops_operation *operation, int s, int r)
{
    isl_set *iterations = dcli_loops_at(sets, s, &operation->hosts);
    for (int64_t n = 0; n < sets->dependence_count; n++) {
        const dcli_loops_dependence *d = &sets->dependence[n];
        if (d->sink != s || d->sink_read != r || d->source_read >= 0 ||
            !dcli_loops_in(operation->statements, d->source))
            continue;
        isl_map *pairs = dcli_loops_both_at(sets, isl_map_copy(d->map), d->source, s, &operation->hosts);
        iterations = isl_set_subtract(iterations, isl_map_range(pairs));
    }
    isl_map *access = isl_map_intersect_domain(isl_map_copy(sets->read[s][r]), iterations);
    return isl_set_reset_tuple_id(isl_map_range(access));
}

/* Add a copy of the box around a set, which is taken. */
static void add_copy(dcli_loops_sets *sets, dcli_loops_operation *operation, enum dcli_loops_copying way, int array,
                     isl_set *set)
{
    dcli_loops_copy *copy = &operation->copy[operation->copy_count++];
    *copy = (dcli_loops_copy){.way = way, .array = array, .rank = operation->rank};
    name_copy(copy);
    for (int r = 0; r < copy->rank; r++)
        dcli_loops_bounds(sets, set, r, &copy->low[r], &copy->high[r]);
    isl_set_free(set);
}

/* Find the outputs whose lines are gathered, and what is copied of them. Afterwards the box around all written elements is copied
 * back. So before, its other elements are copied there, and those that are read before they are written. */
static void find_gathered(dcli_loops_sets *sets, dcli_loops_operation *operation)
{
    for (int k = 0; k < operation->output_count; k++) {
        int array = operation->output[k];
        if ((sets->tree->name[array].whole >> operation->along & 1) != 0)
            continue;
        operation->gathered |= 1ul << k;
        isl_set *back = written_of(sets, operation, array);
        isl_set *there = isl_set_subtract(dcli_loops_box(sets, isl_set_copy(back)), isl_set_copy(back));
        for (int s = 0; s < sets->tree->statement_count; s++)
            for (int r = 0; dcli_loops_in(operation->statements, s) && r < sets->tree->statement[s].read_count; r++) {
                const dcli_loops_access *read = &sets->tree->statement[s].read[r];
                if (read->is_array && read->symbol == array)
                    there = isl_set_union(there, read_before(sets, operation, s, r));
            }
        if (dcli_loops_no_set(sets, isl_set_copy(there)))
            isl_set_free(there);
        else
            add_copy(sets, operation, DCLI_LOOPS_THERE, array, there);
        add_copy(sets, operation, DCLI_LOOPS_BACK, array, back);
    }
}

/* ---- trying ------------------------------------------------------------------------------------------------------- */

/* Find the elements that threads of one element read and write. */
static void find_elements(dcli_loops_sets *sets, dcli_loops_operation *operation)
{
    find_reads(sets, operation);
    find_copies(sets, operation);
    operation->parallel = is_parallel(sets, operation);
}

static dcli_loops_operation *try(dcli_loops_sets *sets, dcli_loops_mask statements, const dcli_loops_hosts *hosts,
                                 int along, dcli_loops_why *why_out)
{
    dcli_loops_operation *operation = dcli_calloc(1, sizeof *operation);
    if (operation == NULL) {
        sets->failed = true;
        return NULL;
    }
    operation->statements = statements;
    operation->hosts = *hosts;
    operation->along = along;
    bool possible = agree(sets, operation, why_out) && (along < 0 || operation->output_count > 0);
    if (possible && operation->output_count > 0) {
        possible = along < 0 || (along < operation->rank && are_simple(sets, operation));
        if (possible) {
            find_box(sets, operation);
            find_threads(sets, operation);
            possible = stay_in_threads(sets, operation, why_out) && values_reach_all(sets, operation, why_out);
        }
        if (possible)
            find_ranges(sets, operation);
        if (possible && along < 0)
            find_elements(sets, operation);
        else if (possible)
            possible = operation->parallel = find_lines(sets, operation);
        if (possible && along >= 0)
            find_gathered(sets, operation);
    }
    if (possible && !sets->failed)
        return operation;
    dcli_loops_operation_free(operation);
    return NULL;
}

dcli_loops_operation *dcli_loops_operation_try(dcli_loops_sets *sets, dcli_loops_mask statements,
                                               const dcli_loops_hosts *hosts, dcli_loops_why *why_out)
{
    return try(sets, statements, hosts, -1, why_out);
}

dcli_loops_operation *dcli_loops_lines_try(dcli_loops_sets *sets, dcli_loops_mask statements,
                                           const dcli_loops_hosts *hosts, int along, dcli_loops_why *why_out)
{
    return try(sets, statements, hosts, along, why_out);
}

void dcli_loops_operation_free(dcli_loops_operation *operation)
{
    if (operation == NULL)
        return;
    for (int l = 0; l < DCLI_LOOPS_MOST; l++) {
        isl_set_free(operation->run[l].range);
        isl_pw_aff_free(operation->run[l].low);
        isl_pw_aff_free(operation->run[l].high);
    }
    for (int r = 0; r < DCL_MAX_RANK; r++) {
        isl_pw_aff_free(operation->low[r]);
        isl_pw_aff_free(operation->high[r]);
    }
    for (int k = 0; k < operation->copy_count; k++)
        for (int r = 0; r < operation->copy[k].rank; r++) {
            isl_pw_aff_free(operation->copy[k].low[r]);
            isl_pw_aff_free(operation->copy[k].high[r]);
        }
    for (int s = 0; s < DCLI_LOOPS_STATEMENTS; s++)
        isl_map_free(operation->threads[s]);
    isl_set_free(operation->box);
    isl_set_free(operation->over);
    dcli_free(operation->ranges);
    dcli_free(operation->body);
    dcli_free(operation->head);
    dcli_free(operation->rest);
    dcli_free(operation);
}
