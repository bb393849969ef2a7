/* runtime/report_map.c - advise on the map of an array that is read. Maps derived from the first output's are tried by
 * planning the operation with them, so the promised number of bytes is exact. */
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/check.h"
#include "resmap/map_text.h"
#include "runtime/report.h"

/* Limits for planning again, so that it takes negligible time. */
enum { MOST_WORKS = 100000, MOST_NODES = 256 };
#define LEAST_OF_OUTPUT 0.1 /* bytes that must move before other maps are tried, as a fraction of the first output's */

static int64_t bytes_in(const dcl_grid *grid) { return dcl_grid_count(grid) * (int64_t)dcl_type_bytes(grid->type); }

static dcli_layout const *space_of(const dcli_planned *planned)
{
    return planned->operation->operand[planned->operation->body->owner].layout;
}

/* For each axis of the array behind its view, the axis of the index space in its first access; -1: none, or several. */
static dcl_status axes_of(const dcli_operation *operation, int k, int rank, int axis_out[])
{
    const dcli_body *body = operation->body;
    int a = 0;
    while (body->access[a].param != k)
        a++;
    dcli_subscripts own, subscripts;
    dcl_status status = dcli_operation_subscripts(operation, a, &own, &subscripts);
    for (int d = 0; d < rank && status == DCL_OK; d++) {
        int found = 0;
        axis_out[d] = -1;
        for (int m = 0; m < subscripts.space_rank && subscripts.reach == DCLI_REACH_AFFINE; m++)
            if (subscripts.axis[d].coef[m] != 0) {
                axis_out[d] = m;
                found++;
            }
        if (found > 1)
            axis_out[d] = -1;
    }
    if (status == DCL_OK && subscripts.reach == DCLI_REACH_ROWS)
        axis_out[0] = 0;
    if (status == DCL_OK && subscripts.reach == DCLI_REACH_COLUMNS)
        axis_out[rank - 1] = subscripts.space_rank - 1;
    return status;
}

dcli_map_rule dcli_report_rule(const dcli_layout *layout, dcli_map_kind kind, int rank)
{
    dcli_map_rule rule = {.kind = kind,
                          .rank = rank,
                          .node_count = layout->rule.node_count,
                          .range_count = layout->rule.range_count,
                          .tile_bytes = layout->rule.tile_bytes,
                          .block_bytes = layout->rule.block_bytes};
    memcpy(rule.range, layout->rule.range, sizeof rule.range);
    return rule;
}

void dcli_report_keep_edges(const dcli_layout *layout, dcli_map_rule *rule)
{
    rule->periodic = layout->rule.periodic;
    rule->halo_rank = layout->rule.halo_rank;
    memcpy(rule->halo_low, layout->rule.halo_low, sizeof rule->halo_low);
    memcpy(rule->halo_high, layout->rule.halo_high, sizeof rule->halo_high);
}

void dcli_report_print_map(const dcli_map_rule *rule, char text[DCLI_REPORT_MAP_TEXT])
{
    static const char dots[] = "...";
    if (dcli_map_rule_print(rule, text, DCLI_REPORT_MAP_TEXT) >= DCLI_REPORT_MAP_TEXT)
        memcpy(text + DCLI_REPORT_MAP_TEXT - sizeof dots, dots, sizeof dots);
}

/* Omit an arrangement that is the default, so that the map prints shorter. */
static void drop_arrangement(dcli_map_rule *rule)
{
    int chosen[DCL_MAX_RANK];
    dcli_map_arrange(rule->node_count, rule->rank, rule->axes, chosen);
    if (memcmp(chosen, rule->nodes, sizeof chosen[0] * (size_t)rule->rank) == 0)
        memset(rule->nodes, 0, sizeof rule->nodes);
}

/* Permute the nodes so that array coordinates are on the node with the same coordinates of the index space: if axes are
 * exchanged, so is the arrangement of the nodes. If an index is on two axes, a node would occur twice, which is not a
 * map. @return whether a list exists. */
static bool follow_nodes(const dcli_layout *space, int rank, const int axis[], int cluster_nodes, dcli_map_rule *rule)
{
    int step[DCL_MAX_RANK], places = rule->node_count;
    for (int m = space->grid.rank - 1, next = 1; m >= 0; next *= space->rule.nodes[m--])
        step[m] = next;
    rule->node_count = rule->range_count = 0;
    for (int place = 0; place < places; place++) {
        int rest = place, there = 0;
        for (int d = rank - 1; d >= 0; rest /= rule->nodes[d--])
            there += axis[d] < 0 ? 0 : rest % rule->nodes[d] * step[axis[d]];
        if (dcli_map_rule_add_nodes(rule, dcli_map_rule_node(&space->rule, there), 1) != DCL_OK)
            return false;
    }
    dcli_map_rule_end_nodes(rule, cluster_nodes);
    return true;
}

/* A per-axis map that divides each axis of the array as the first output divides the axis with the same index. @return
 * whether there is one. */
static bool follow_axes(const dcli_layout *space, int rank, const int axis[], int cluster_nodes,
                        dcli_map_rule *rule_out)
{
    dcli_map_rule rule = dcli_report_rule(space, DCLI_MAP_AXES, rank);
    int64_t product = 1;
    for (int d = 0; d < rank; d++) {
        rule.axes[d] = axis[d] < 0 ? (dcl_axis){.kind = DCL_AXIS_WHOLE} : space->rule.axes[axis[d]];
        rule.points[d] = axis[d] < 0 ? NULL : space->rule.points[axis[d]];
        rule.nodes[d] = axis[d] < 0 ? 1 : space->rule.nodes[axis[d]];
        product *= rule.nodes[d];
    }
    if (product != rule.node_count || !follow_nodes(space, rank, axis, cluster_nodes, &rule))
        return false;
    drop_arrangement(&rule);
    *rule_out = rule;
    return true;
}

/* A dealt map with the pieces of the output after exchanging axes: numbered in the other order. */
static bool follow_pieces(const dcli_layout *space, int rank, const int axis[], dcli_map_rule *rule_out)
{
    dcli_map_rule rule = dcli_report_rule(space, DCLI_MAP_DEALT, rank);
    rule.deal = space->rule.deal;
    rule.seed = space->rule.seed;
    rule.list = space->rule.list;
    rule.order = space->rule.order == DCL_ROWS ? DCL_COLUMNS : DCL_ROWS;
    for (int d = 0; d < rank; d++) {
        if (rank != space->grid.rank || axis[d] != rank - 1 - d)
            return false;
        rule.piece[d] = space->rule.piece[axis[d]];
    }
    *rule_out = rule;
    return true;
}

/* Propose the output's own map for an array that is read at the output's indices. @return false: the array is read at
 * other indices. */
static bool follow_all(const dcli_layout *space, int rank, const int axis[], dcli_map_rule *rule_out)
{
    for (int d = 0; d < rank; d++)
        if (rank != space->grid.rank || axis[d] != d)
            return false;
    *rule_out = space->rule;
    rule_out->block_rank = rule_out->tile_rank = 0;
    rule_out->small_bytes = 0;
    if (rule_out->kind == DCLI_MAP_AXES)
        drop_arrangement(rule_out);
    return true;
}

bool dcli_report_is_small(const dcli_report *report, int64_t works)
{
    return works <= MOST_WORKS && report->seen.nodes <= MOST_NODES;
}

dcl_status dcli_report_try(const dcli_planned *planned, const dcli_operation *operation, const dcli_plan_terms *terms,
                           dcl_counters *sum_out)
{
    dcli_operation other = *operation; /* without lines around parts, which the layouts to try do not have */
    other.overlap = 0;
    for (int k = 0; k < other.operand_count; k++) {
        other.operand[k].writes &= !other.operand[k].fresh;
        other.operand[k].fresh = false;
    }
    *sum_out = (dcl_counters){0};
    for (int n = 0; n < planned->cluster->node_count && sum_out->bytes_moved >= 0; n++) {
        dcli_plan *plan;
        dcl_status status = dcli_plan_make(&other, n, terms, &plan);
        if (status != DCL_OK)
            return status;
        dcli_counters_add(sum_out, &plan->counters);
        if (plan->status != DCL_OK)
            sum_out->bytes_moved = -1;
        dcli_plan_free(plan);
    }
    return DCL_OK;
}

dcl_status dcli_report_try_layout(const dcli_planned *planned, int k, const dcli_layout *layout,
                                  const dcli_plan_terms *terms, dcl_counters *sum_out)
{
    dcli_operation operation = *planned->operation;
    operation.operand[k].layout = layout;
    return dcli_report_try(planned, &operation, terms, sum_out);
}

dcl_status dcli_report_try_tile(const dcli_report *report, const dcli_planned *planned, int64_t tile_bytes,
                                int64_t *bytes_out)
{
    dcli_plan_terms terms = dcli_report_terms(planned->cluster, false);
    const dcli_layout *space = space_of(planned);
    dcli_map_rule rule = space->rule;
    dcli_layout other;
    terms.batch_bytes = rule.tile_bytes = tile_bytes;
    rule.tile_rank = 0;
    *bytes_out = -1;
    if (!dcli_report_is_small(report, report->works * DCLI_SMALLER_TILES) ||
        dcli_layout_bind(&rule, &space->grid, &other) != DCL_OK)
        return DCL_OK;
    dcl_counters sum;
    dcl_status status = dcli_report_try_layout(planned, planned->operation->body->owner, &other, &terms, &sum);
    *bytes_out = status == DCL_OK ? sum.bytes_moved : -1;
    dcli_layout_release(&other);
    return status;
}

/* Whether a remap is worth trying: much of the array moves, compared with what is computed. */
static bool is_worth_it(const dcli_report *report, const dcli_planned *planned, int row)
{
    int k = report->param[row];
    const dcli_operand *operand = &planned->operation->operand[k];
    double moved = (double)report->array[row].bytes_moved;
    for (int other = 0; other < planned->operation->operand_count; other++)
        if (other != k && planned->operation->operand[other].storage == operand->storage)
            return false; /* the array has another role in this operation, too */
    bool plain = planned->operation->operand[planned->operation->body->owner].view == NULL &&
                 !operand->layout->partial && !space_of(planned)->partial && !operand->reshaped;
    return plain && dcli_report_is_small(report, report->works) && moved > 0 &&
           moved >= DCLI_LEAST_MOVED * (double)bytes_in(&operand->layout->grid) &&
           moved >= LEAST_OF_OUTPUT * (double)bytes_in(&space_of(planned)->grid);
}

/* Whether a layout has long runs: a map that slows down loops is no remedy. */
static bool has_runs(const dcli_layout *layout)
{
    return layout->kind != DCLI_MAP_DEALT || layout->empty || dcli_report_run_bytes(layout) >= DCLI_RUN_BYTES;
}

static dcl_status say(dcli_report *report, const dcli_planned *planned, int row, const dcli_map_rule *rule,
                      int64_t bytes)
{
    const dcli_body *body = planned->operation->body;
    const dcl_report_array *array = &report->array[row];
    const char *output = body->params[body->owner].name;
    const dcl_grid *grid = &planned->operation->operand[report->param[row]].layout->grid;
    char now[DCLI_REPORT_MAP_TEXT], there[DCLI_REPORT_MAP_TEXT], better[DCLI_REPORT_MAP_TEXT];
    dcli_report_print_map(&dcl_map_of(planned->array[report->param[row]])->rule, now);
    dcli_report_print_map(&dcl_map_of(planned->array[body->owner])->rule, there);
    dcli_report_print_map(rule, better);
    return dcli_report_say(report,
                           "%s's owners need %.0f %% of %s from other nodes: %s is laid out by '%s', %s by '%s'; with "
                           "'%s' for %s, %" PRId64 " instead of %" PRId64 " bytes would move",
                           output, 100 * (double)array->bytes_moved / (double)bytes_in(grid), array->name, array->name,
                           now, output, there, better, array->name, bytes, report->seen.planned.bytes_moved);
}

/* Find the map that divides the array as the indices of its first access are divided. @return whether there is one. */
static bool find_map(const dcli_planned *planned, int k, dcli_map_rule *rule_out, dcli_layout *layout_out)
{
    int axis[DCL_MAX_RANK];
    const dcli_layout *space = space_of(planned), *now = planned->operation->operand[k].layout;
    const dcl_grid *grid = &now->grid;
    if (axes_of(planned->operation, k, grid->rank, axis) != DCL_OK)
        return false;
    bool found = follow_all(space, grid->rank, axis, rule_out) ||
                 (space->rule.kind == DCLI_MAP_AXES &&
                  follow_axes(space, grid->rank, axis, planned->cluster->node_count, rule_out)) ||
                 (space->rule.kind == DCLI_MAP_DEALT && follow_pieces(space, grid->rank, axis, rule_out));
    if (found)
        dcli_report_keep_edges(now, rule_out);
    return found && dcli_map_rule_check(rule_out) == DCL_OK && dcli_layout_bind(rule_out, grid, layout_out) == DCL_OK;
}

dcl_status dcli_report_advise_map(dcli_report *report, const dcli_planned *planned, int row)
{
    int k = report->param[row];
    dcli_plan_terms terms = dcli_report_terms(planned->cluster, false);
    dcli_map_rule rule;
    dcli_layout other;
    if (!is_worth_it(report, planned, row) || !find_map(planned, k, &rule, &other))
        return DCL_OK;
    dcl_counters sum = {.bytes_moved = -1};
    dcl_status status = has_runs(&other) ? dcli_report_try_layout(planned, k, &other, &terms, &sum) : DCL_OK;
    int64_t bytes = sum.bytes_moved;
    bool better = status == DCL_OK && bytes >= 0 &&
                  2 * (report->seen.planned.bytes_moved - bytes) >= report->array[row].bytes_moved;
    if (better) {
        report->promised = dcli_min(report->promised, bytes);
        status = say(report, planned, row, &rule, bytes);
    }
    dcli_layout_release(&other);
    return status;
}
