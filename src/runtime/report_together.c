/* runtime/report_together.c - advise on the map that the first output shares with other arrays: another one for all of
 * them together. Movement between neighbours, above all with single elements dealt in turn, cannot be reduced by
 * changing one array's map. Tried by planning. */
#include <inttypes.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/check.h"
#include "runtime/report.h"

/* The arrays, by operand, that change their maps together. */
struct group {
    bool has[DCLI_MAX_PARAMS];
    bool all; /* all arrays of the operation are in the group */
};

/* A candidate map and its result. */
struct candidate {
    dcli_map_rule rule;
    int64_t bytes; /* -1: not tried, or no remedy */
};

static int first_of(const dcli_planned *planned) { return planned->operation->body->owner; }

static const dcli_layout *space_of(const dcli_planned *planned)
{
    return planned->operation->operand[first_of(planned)].layout;
}

/* ---- arrays with the same map ------------------------------------------------------------------------------------- */

/* Whether an operand has the map of the first output, apart from grains. */
static bool has_map_of_first(const dcli_planned *planned, int k)
{
    const dcli_operand *operand = &planned->operation->operand[k];
    if (operand->layout->partial || operand->reshaped || operand->layout->grid.rank != space_of(planned)->grid.rank)
        return false;
    dcli_map_rule rule = dcl_map_of(planned->array[k])->rule,
                  first = dcl_map_of(planned->array[first_of(planned)])->rule;
    rule.block_rank = rule.tile_rank = first.block_rank = first.tile_rank = 0;
    return dcli_map_rule_equal(&rule, &first);
}

/* Find the group. @return whether it can get another map: none of its arrays has another role in the operation. */
static bool find_group(const dcli_planned *planned, struct group *group_out)
{
    const dcli_operation *operation = planned->operation;
    *group_out = (struct group){.all = true};
    if (operation->operand[first_of(planned)].view != NULL || space_of(planned)->rule.copies > 0)
        return false;
    for (int k = 0; k < operation->operand_count; k++)
        if (operation->operand[k].layout != NULL) {
            group_out->has[k] = has_map_of_first(planned, k);
            group_out->all &= group_out->has[k];
        }
    for (int k = 0; k < operation->operand_count; k++)
        for (int other = 0; other < k; other++)
            if (operation->operand[k].layout != NULL && group_out->has[k] != group_out->has[other] &&
                operation->operand[k].storage == operation->operand[other].storage)
                return false;
    return group_out->has[first_of(planned)];
}

/* List the names of the group's arrays: "C, A". */
static void print_names(const dcli_report *report, const struct group *group, char *text, size_t capacity)
{
    size_t used = 0;
    for (int row = 0; row < report->seen.array_count && used < capacity; row++)
        if (group->has[report->param[row]])
            used +=
                (size_t)snprintf(text + used, capacity - used, "%s%s", used > 0 ? ", " : "", report->array[row].name);
}

/* ---- trying ------------------------------------------------------------------------------------------------------- */

/* A map with even blocks along these axes; the others are whole. */
static dcli_map_rule blocks_along(const dcli_layout *space, unsigned axes)
{
    dcli_map_rule rule = dcli_report_rule(space, DCLI_MAP_AXES, space->grid.rank);
    for (int d = 0; d < rule.rank; d++)
        rule.axes[d] = (dcl_axis){.kind = (axes >> d & 1) != 0 ? DCL_AXIS_BLOCK : DCL_AXIS_WHOLE};
    rule.rank = rule.rank == 1 ? 0 : rule.rank; /* prints as "block" */
    dcli_report_keep_edges(space, &rule);
    return rule;
}

/* Change the layouts of the group. @param layouts  [operand_count] zeros. @return whether the map fits all arrays. */
static bool bind_group(const struct group *group, const dcli_map_rule *rule, dcli_operation *operation,
                       dcli_layout layouts[])
{
    for (int k = 0; k < operation->operand_count; k++)
        if (group->has[k]) {
            if (dcli_layout_bind(rule, &operation->operand[k].layout->grid, &layouts[k]) != DCL_OK)
                return false;
            operation->operand[k].layout = &layouts[k];
        }
    return true;
}

/* Plan with a candidate. If little moves only because few nodes compute, it is no remedy. Existing replicas would be
 * dropped with another map. */
static dcl_status try_bound(const dcli_report *report, const dcli_planned *planned, const dcli_operation *operation,
                            int64_t *bytes_out)
{
    const dcli_layout *space = operation->operand[first_of(planned)].layout;
    dcli_plan_terms terms = dcli_report_terms(planned->cluster, false);
    double share;
    terms.directory = NULL;
    dcl_status status = dcli_report_share(operation, space, &share);
    if (status != DCL_OK || (share > DCLI_NOTICED_IMBALANCE && share > report->seen.imbalance_elements) ||
        dcli_layout_same(space, space_of(planned)))
        return status;
    dcl_counters sum;
    status = dcli_report_try(planned, operation, &terms, &sum);
    *bytes_out = status == DCL_OK ? sum.bytes_moved : -1;
    return status;
}

static dcl_status try_candidate(const dcli_report *report, const dcli_planned *planned, const struct group *group,
                                struct candidate *candidate)
{
    dcli_operation operation = *planned->operation;
    dcli_layout *layouts = dcli_calloc((size_t)operation.operand_count, sizeof *layouts);
    dcl_status status = layouts != NULL ? DCL_OK : DCL_ERR_NOMEM;
    candidate->bytes = -1;
    if (status == DCL_OK && bind_group(group, &candidate->rule, &operation, layouts))
        status = try_bound(report, planned, &operation, &candidate->bytes);
    for (int k = 0; layouts != NULL && k < operation.operand_count; k++)
        dcli_layout_release(&layouts[k]);
    dcli_free(layouts);
    return status;
}

dcl_status dcli_report_try_for_all(const dcli_report *report, const dcli_planned *planned, const dcli_map_rule *rule,
                                   char *names, size_t capacity, int64_t *bytes_out)
{
    struct group group;
    dcli_operation operation = *planned->operation;
    dcli_plan_terms terms = dcli_report_terms(planned->cluster, false);
    *bytes_out = -1;
    if (!find_group(planned, &group)) {
        group = (struct group){.all = false};
        group.has[first_of(planned)] = true;
    }
    print_names(report, &group, names, capacity);
    dcli_layout *layouts = dcli_calloc((size_t)operation.operand_count, sizeof *layouts);
    dcl_status status = layouts != NULL ? DCL_OK : DCL_ERR_NOMEM;
    dcl_counters sum;
    terms.directory = NULL;
    if (status == DCL_OK && dcli_report_is_small(report, report->works) &&
        bind_group(&group, rule, &operation, layouts) &&
        (status = dcli_report_try(planned, &operation, &terms, &sum)) == DCL_OK)
        *bytes_out = sum.bytes_moved;
    for (int k = 0; layouts != NULL && k < operation.operand_count; k++)
        dcli_layout_release(&layouts[k]);
    dcli_free(layouts);
    return status;
}

/* Try each axis alone, then all of them. */
static dcl_status find_best(const dcli_report *report, const dcli_planned *planned, const struct group *group,
                            struct candidate *best_out)
{
    int rank = space_of(planned)->grid.rank, count = rank > 1 ? rank + 1 : 1;
    dcl_status status = DCL_OK;
    best_out->bytes = -1;
    for (int c = 0; c < count && status == DCL_OK; c++) {
        struct candidate candidate = {.rule = blocks_along(space_of(planned), c < rank ? 1U << c : (1U << rank) - 1)};
        status = try_candidate(report, planned, group, &candidate);
        if (candidate.bytes >= 0 && (best_out->bytes < 0 || candidate.bytes < best_out->bytes))
            *best_out = candidate;
    }
    return status;
}

/* ---- saying ------------------------------------------------------------------------------------------------------- */

/* Whether trying is worthwhile. A map of blocks has few works, even if elements are dealt finely now; but arrays
 * outside of the group may still be cut finely. */
static bool is_worth_it(const dcli_report *report, const dcli_planned *planned, const struct group *group)
{
    const dcli_layout *space = space_of(planned);
    int64_t bytes = dcl_grid_count(&space->grid) * (int64_t)dcl_type_bytes(space->grid.type);
    int64_t works = group->all ? report->seen.nodes + bytes / space->rule.tile_bytes : report->works;
    return dcli_report_is_small(report, works * (space->grid.rank + 1)) && report->promised > 0 &&
           (double)report->promised >= DCLI_LEAST_MOVED * (double)bytes;
}

static dcl_status say(dcli_report *report, const dcli_planned *planned, const struct group *group,
                      const struct candidate *candidate)
{
    char names[256], now[DCLI_REPORT_MAP_TEXT], better[DCLI_REPORT_MAP_TEXT];
    int arrays = 0;
    for (int row = 0; row < report->seen.array_count; row++)
        arrays += group->has[report->param[row]];
    print_names(report, group, names, sizeof names);
    dcli_report_print_map(&dcl_map_of(planned->array[first_of(planned)])->rule, now);
    dcli_report_print_map(&candidate->rule, better);
    return dcli_report_say(
        report, "%s %s laid out by '%s'; with '%s' for %s, %" PRId64 " instead of %" PRId64 " bytes would move", names,
        arrays > 1 ? "are" : "is", now, better, arrays > 1 ? "all of them" : "it", candidate->bytes,
        report->seen.planned.bytes_moved);
}

dcl_status dcli_report_advise_together(dcli_report *report, const dcli_planned *planned)
{
    struct group group;
    struct candidate best;
    if (report->seen.node >= 0 || !find_group(planned, &group) || !is_worth_it(report, planned, &group))
        return DCL_OK;
    dcl_status status = find_best(report, planned, &group, &best);
    if (status != DCL_OK || best.bytes < 0 || best.bytes >= report->promised / 2)
        return status;
    return say(report, planned, &group, &best);
}
