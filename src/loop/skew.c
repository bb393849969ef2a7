/* loop/skew.c - whether a sum of the counters of loops orders all dependences: a loop over it could run first, with iterations
 * that are parallel in each of its steps.
 * Source: L. Lamport, "The parallel execution of DO loops", Communications of the ACM 17 (1974): the hyperplane method. */
#include <isl/constraint.h>

#include "loop/inside.h"

enum { MOST_WEIGHT = 4, MOST_LOOPS = 3 };

/* Whether weight * (counters of the sink - those of the source) is above 0 for all pairs of a map. */
static bool orders(dcli_loops_sets *sets, const isl_map *map, int count, const int depth[], const int sign[],
                   const int weight[])
{
    isl_map *pairs = isl_map_copy((isl_map *)map);
    isl_local_space *space = isl_local_space_from_space(isl_map_get_space(pairs));
    isl_constraint *behind = isl_constraint_alloc_inequality(space); /* weight * (source - sink) >= 0 */
    for (int k = 0; k < count; k++) {
        behind = isl_constraint_set_coefficient_si(behind, isl_dim_in, depth[k], weight[k] * sign[k]);
        behind = isl_constraint_set_coefficient_si(behind, isl_dim_out, depth[k], -weight[k] * sign[k]);
    }
    return dcli_loops_no_map(sets, isl_map_add_constraint(pairs, behind));
}

static bool orders_all(dcli_loops_sets *sets, dcli_loops_mask statements, const dcli_loops_hosts *hosts, int count,
                       const int depth[], const int sign[], const int weight[])
{
    for (int64_t n = 0; n < sets->dependence_count; n++) {
        const dcli_loops_dependence *d = &sets->dependence[n];
        if (!dcli_loops_in(statements, d->source) || !dcli_loops_in(statements, d->sink))
            continue;
        isl_map *map = dcli_loops_both_at(sets, isl_map_copy(d->map), d->source, d->sink, hosts);
        bool ordered = orders(sets, map, count, depth, sign, weight);
        isl_map_free(map);
        if (!ordered)
            return false;
    }
    return true;
}

/* Count weights 1..MOST_WEIGHT up like digits. @return false: all were tried. */
static bool next_weights(int count, int weight[])
{
    for (int k = 0; k < count; k++) {
        if (++weight[k] <= MOST_WEIGHT)
            return true;
        weight[k] = 1;
    }
    return false;
}

/* The loops around all statements of a mask that the program does not run. */
static int common_loops(const dcli_loops_tree *tree, dcli_loops_mask statements, const dcli_loops_hosts *hosts,
                        int loop_out[])
{
    int count = 0;
    for (int l = 0; l < tree->loop_count; l++) {
        bool around = true, any = false;
        for (int s = 0; s < tree->statement_count; s++)
            if (dcli_loops_in(statements, s)) {
                int d = dcli_loops_depth_in(tree, s, l);
                around = around && d >= 0 && !dcli_loops_is_hosted(hosts, s, d);
                any = true;
            }
        if (around && any && count < DCLI_LOOPS_DEPTH)
            loop_out[count++] = l;
    }
    return count;
}

bool dcli_loops_skew(dcli_loops_sets *sets, dcli_loops_mask statements, const dcli_loops_hosts *hosts, dcli_text *out)
{
    const dcli_loops_tree *tree = sets->tree;
    int loop[DCLI_LOOPS_DEPTH], depth[MOST_LOOPS], sign[MOST_LOOPS], weight[MOST_LOOPS] = {1, 1, 1};
    int count = common_loops(tree, statements, hosts, loop);
    if (count < 2 || count > MOST_LOOPS)
        return false;
    for (int k = 0; k < count; k++) {
        depth[k] = tree->loop[loop[k]].depth;
        sign[k] = tree->loop[loop[k]].step > 0 ? 1 : -1;
    }
    bool failed = sets->failed, found = orders_all(sets, statements, hosts, count, depth, sign, weight);
    while (!found && !sets->failed && next_weights(count, weight))
        found = orders_all(sets, statements, hosts, count, depth, sign, weight);
    if (sets->failed || !found) {
        sets->failed = failed; /* it is an advice only */
        return false;
    }
    for (int k = 0; k < count; k++) {
        dcli_text_put(out, "%s", k > 0 ? sign[k] > 0 ? " + " : " - " : sign[k] > 0 ? "" : "-");
        if (weight[k] > 1)
            dcli_text_put(out, "%d*", weight[k]);
        dcli_text_put(out, "%s", tree->loop[loop[k]].name);
    }
    return true;
}
