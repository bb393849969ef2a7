/* loop/verify.c - tests that a plan keeps all dependences, independently of how it was found.
 *
 * Each iteration gets a time: the places of its steps, and the counters of the loops that the program runs. A plan
 * is right if no iteration runs before one on which it depends, if iterations of the same time that depend on each
 * other run in the same thread, and if every iteration runs in a thread. In a thread, iterations run in the
 * program's order, unless a loop is turned: that is tested, too. */
#include <string.h>

#include "loop/inside.h"

/* Where a statement stands in the steps. */
struct spot {
    int count; /* of loops around it */
    int place[DCLI_LOOPS_DEPTH + 1];
    const dcli_loops_step *loop[DCLI_LOOPS_DEPTH];
    int operation; /* -1: none, its value is not used */
};

static void find_spots(const dcli_loops_plan *plan, const dcli_loops_step *step, struct spot *around,
                       struct spot spots[])
{
    for (int place = 0; step != NULL; step = step->next, place++) {
        around->place[around->count] = place;
        around->operation = step->operation;
        for (int s = 0; s < plan->tree->statement_count && step->operation >= 0; s++)
            if (dcli_loops_in(plan->operation[step->operation]->statements, s))
                spots[s] = *around;
        if (step->operation >= 0)
            continue;
        around->loop[around->count++] = step;
        find_spots(plan, step->first, around, spots);
        around->count--;
    }
}

/* Pairs of iterations of s and t, those of t in an earlier step than those of s: the first step in which they
 * differ, or the first counter of a loop around both that differs, decides. */
static isl_map *later(const dcli_loops_plan *plan, int s, int t, const struct spot spots[])
{
    const struct spot *a = &spots[s], *b = &spots[t];
    dcli_text text = {0}, equal = {0};
    dcli_loops_put_pairs(&text, plan->sets, s, t);
    for (int k = 0;; k++) {
        if (a->place[k] > b->place[k])
            dcli_text_put(&text, " or (0 = 0%s)", equal.bytes != NULL ? equal.bytes : "");
        if (a->place[k] != b->place[k] || k == a->count)
            break; /* steps of one place are one step: both statements are in its loop, or in its operation */
        int c = a->loop[k]->inside.depth[k][s], d = a->loop[k]->inside.depth[k][t];
        dcli_text_put(&text, " or (0 = 0%s and c%d %s d%d)", equal.bytes != NULL ? equal.bytes : "", c,
                      plan->tree->loop[a->loop[k]->loop].step > 0 ? ">" : "<", d);
        dcli_text_put(&equal, " and c%d = d%d", c, d);
    }
    dcli_text_put(&text, " }");
    plan->sets->failed |= equal.failed;
    dcli_text_free(&equal);
    return dcli_loops_read_map(plan->sets, &text);
}

/* Whether no sink of a dependence runs before its source.
 * @param wrong  pairs of iterations of the two statements whose sink runs first; made when it is needed first. */
static bool in_order(const dcli_loops_plan *plan, const dcli_loops_dependence *d, const struct spot spots[],
                     isl_map **wrong)
{
    if (*wrong == NULL)
        *wrong = later(plan, d->source, d->sink, spots);
    return dcli_loops_no_map(plan->sets, isl_map_intersect(isl_map_copy(*wrong), isl_map_copy(d->map)));
}

/* Whether source and sink of a dependence within one operation run in one thread, or the source reads from a copy what
 * the sink writes. That the copy has the right value follows from the dependences of the element on writes before,
 * which are in other operations if they are in other threads. */
static bool in_thread(const dcli_loops_plan *plan, const dcli_loops_dependence *d,
                      const dcli_loops_operation *operation)
{
    isl_map *map = dcli_loops_both_at(plan->sets, isl_map_copy(d->map), d->source, d->sink, &operation->hosts);
    map = isl_map_apply_range(isl_map_reverse(isl_map_copy(operation->threads[d->source])), map);
    map = isl_map_apply_range(map, isl_map_copy(operation->threads[d->sink]));
    isl_map *same = isl_map_identity(isl_map_get_space(map));
    if (d->source_read >= 0 && operation->copied[d->source][d->source_read]) {
        isl_map_free(map);
        isl_map_free(same);
        return true;
    }
    return dcli_loops_no_map(plan->sets, isl_map_subtract(map, same));
}

/* Whether threads run the iterations of a dependence in order although they run a loop around the loop in which it
 * is written (`turned`). Both iterations are in the same iteration of the loops around these two. */
static bool turned_in_order(const dcli_loops_plan *plan, const dcli_loops_dependence *d,
                            const dcli_loops_operation *operation)
{
    const dcli_loops_tree *tree = plan->tree;
    for (int l = 0; l < tree->loop_count; l++) {
        int outer = tree->loop[l].depth, turned = operation->run[l].turned;
        if (turned == 0 || dcli_loops_depth_in(tree, d->source, l) < 0 || dcli_loops_depth_in(tree, d->sink, l) < 0)
            continue;
        dcli_text text = {0};
        dcli_loops_put_pairs(&text, plan->sets, d->source, d->sink);
        for (int part = 0; part < 2; part++) {
            dcli_text_put(&text, " or (c%d %s d%d", outer + 1, part == 1 ? "=" : turned > 0 ? ">" : "<", outer + 1);
            for (int k = 0; k < outer; k++)
                dcli_text_put(&text, " and c%d = d%d", k, k);
            dcli_text_put(&text, part == 1 ? " and c%d != d%d)" : ")", outer, outer);
        }
        dcli_text_put(&text, " }");
        isl_map *wrong = dcli_loops_read_map(plan->sets, &text);
        isl_map *same = isl_map_apply_range(isl_map_copy(operation->threads[d->source]),
                                            isl_map_reverse(isl_map_copy(operation->threads[d->sink])));
        wrong = isl_map_intersect(isl_map_intersect(wrong, same), isl_map_copy(d->map));
        if (!dcli_loops_no_map(plan->sets, wrong))
            return false;
    }
    return true;
}

/* Whether no read of an array that the operation writes reaches the thread's own element, except reads that are
 * marked `own` or `mixed`. Of operations on lines: whether all of them are of the thread's own line. */
static bool reads_own(const dcli_loops_plan *plan, int s, const dcli_loops_operation *operation)
{
    for (int r = 0; r < plan->tree->statement[s].read_count; r++) {
        bool written = false;
        for (int k = 0; k < operation->output_count; k++)
            written |= plan->tree->statement[s].read[r].is_array &&
                       operation->output[k] == plan->tree->statement[s].read[r].symbol;
        bool lines = operation->along >= 0; /* then all these reads must be of the own line */
        if (!written || (operation->own[s][r] && !lines) || operation->mixed[s][r])
            continue;
        isl_map *map = dcli_loops_reached(operation, plan->sets, s, r);
        isl_map *same = isl_map_identity(isl_map_get_space(map));
        map = lines ? isl_map_subtract(map, same) : isl_map_intersect(map, same);
        if (!dcli_loops_no_map(plan->sets, map))
            return false;
    }
    return true;
}

/* Whether a thread runs each iteration of a statement. */
static bool runs_all(const dcli_loops_plan *plan, int s, const dcli_loops_operation *operation)
{
    isl_set *run = isl_map_domain(isl_map_copy(operation->threads[s]));
    return dcli_loops_no_set(plan->sets, isl_set_subtract(dcli_loops_at(plan->sets, s, &operation->hosts), run));
}

/* Whether the steps and threads of a plan keep all dependences. Those between two statements follow each other. */
static bool all_in_order(const dcli_loops_plan *plan, const struct spot spots[])
{
    isl_map *wrong = NULL;
    bool right = true;
    for (int64_t n = 0; n < plan->sets->dependence_count && right; n++) {
        const dcli_loops_dependence *d = &plan->sets->dependence[n];
        int first = spots[d->source].operation, second = spots[d->sink].operation;
        if (n > 0 && (d->source != d[-1].source || d->sink != d[-1].sink))
            wrong = isl_map_free(wrong);
        if (first >= 0 && second >= 0)
            right = in_order(plan, d, spots, &wrong) &&
                    (first != second ||
                     (in_thread(plan, d, plan->operation[first]) && turned_in_order(plan, d, plan->operation[first])));
    }
    isl_map_free(wrong);
    return right;
}

bool dcli_loops_verify(dcli_loops_plan *plan)
{
    struct spot spots[DCLI_LOOPS_STATEMENTS], around = {0};
    for (int s = 0; s < DCLI_LOOPS_STATEMENTS; s++)
        spots[s].operation = -1;
    find_spots(plan, plan->first, &around, spots);
    for (int s = 0; s < plan->tree->statement_count; s++) {
        if (spots[s].operation >= 0 && plan->tree->statement[s].target.is_array &&
            !runs_all(plan, s, plan->operation[spots[s].operation]))
            return false;
        if (spots[s].operation >= 0 && !reads_own(plan, s, plan->operation[spots[s].operation]))
            return false;
        if (spots[s].operation < 0 && plan->tree->statement[s].target.is_array)
            return false;
    }
    for (int o = 0; o < plan->operation_count; o++)
        if (!dcli_loops_slants_hold(plan->sets, plan->operation[o]))
            return false;
    if (!all_in_order(plan, spots))
        return false;
    for (int64_t n = 0; n < plan->sets->flow_count; n++) {
        int sink = spots[plan->sets->flow[n].sink].operation;
        if (sink >= 0 && !dcli_loops_values_reach(plan->sets, plan->operation[sink], &plan->sets->flow[n]))
            return false;
    }
    return !plan->sets->failed;
}
