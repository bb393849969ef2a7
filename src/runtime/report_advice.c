/* runtime/report_advice.c - advise on maps and grains that suit a body badly. A sentence is given only if its remedy
 * was tried and is better. No map is proposed for an array of which some elements are not stored, because another map
 * could store others, nor for a reshaped view, because a map of its shape is not one of the array's. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/check.h"
#include "base/text.h"
#include "runtime/report.h"

/* Amounts below these are negligible. */
enum {
    NOTICED_BYTES = 4096 /* bytes of an array, or bytes wasted */
};
#define NOTICED_WASTE 1.25
#define NOTICED_EXCESS 2

dcl_status dcli_report_say(dcli_report *report, const char *format, ...)
{
    char sentence[1024];
    va_list values;
    va_start(values, format);
    vsnprintf(sentence, sizeof sentence, format, values);
    va_end(values);
    const char *kept = dcli_report_keep(report, sentence);
    if (kept == NULL ||
        dcli_grow(&report->advice, report->seen.advice_count, &report->advice_capacity, sizeof *report->advice) != 0)
        return DCL_ERR_NOMEM;
    report->advice[report->seen.advice_count++] = kept;
    return DCL_OK;
}

static const dcli_layout *layout_of(const dcli_report *report, const dcli_planned *planned, int row)
{
    return planned->operation->operand[report->param[row]].layout;
}

static int64_t element_bytes(const dcli_layout *layout) { return (int64_t)dcl_type_bytes(layout->grid.type); }

/* ---- movement ----------------------------------------------------------------------------------------------------- */

static dcl_status advise_movement(dcli_report *report, const dcli_planned *planned)
{
    dcl_status status = DCL_OK;
    if (planned->operation->overlap > 0)
        return DCL_OK; /* what moves serves several calls */
    for (int row = 0; row < report->seen.array_count && status == DCL_OK; row++)
        if (report->seen.node < 0 && report->array[row].read && !report->array[row].written)
            status = dcli_report_advise_map(report, planned, row);
    return status == DCL_OK ? dcli_report_advise_together(report, planned) : status;
}

/* ---- balance ------------------------------------------------------------------------------------------------------ */

/* A map over the same nodes with even blocks on each axis; or, if only a part of the grid is computed, with short runs
 * along the first axis. */
static dcli_map_rule even_map(const dcli_layout *layout, bool whole)
{
    enum { RUNS = 8 }; /* number of runs of each node */
    dcli_map_rule rule = dcli_report_rule(layout, DCLI_MAP_AXES, whole ? 0 : layout->grid.rank);
    for (int d = 0; d < DCL_MAX_RANK; d++)
        rule.axes[d] = (dcl_axis){.kind = whole ? DCL_AXIS_BLOCK : DCL_AXIS_WHOLE};
    if (!whole)
        rule.axes[0] = (dcl_axis){.kind = DCL_AXIS_CYCLIC,
                                  .size = dcli_max(1, layout->grid.extent[0] / layout->node_count / RUNS)};
    return rule;
}

/* Elements that a node computes of an operation if the first output has this layout. */
static dcl_status elements_at(const dcli_operation *operation, const dcli_layout *layout, int node,
                              dcli_region_list *regions, int64_t *elements_out)
{
    const dcli_transform *view = operation->operand[operation->body->owner].view;
    regions->count = 0;
    *elements_out = 0;
    dcl_status status = dcli_layout_regions(layout, node, view == NULL ? &operation->box : NULL, regions);
    for (int64_t r = 0; r < regions->count; r++) {
        dcl_box seen = regions->region[r].box, common;
        if ((view == NULL || dcli_transform_seen(view, &regions->region[r].box, &seen)) &&
            dcli_box_intersect(&seen, &operation->box, &common))
            *elements_out += dcli_box_elements(&common);
    }
    return status;
}

dcl_status dcli_report_share(const dcli_operation *operation, const dcli_layout *layout, double *share_out)
{
    dcli_region_list regions = {0};
    int64_t largest = 0, sum = 0, elements;
    dcl_status status = DCL_OK;
    for (int p = 0; p < layout->node_count && status == DCL_OK; p++) {
        status = elements_at(operation, layout, dcli_layout_node(layout, p), &regions, &elements);
        largest = dcli_max(largest, elements);
        sum += elements;
    }
    dcli_region_list_free(&regions);
    *share_out = sum == 0 ? 1 : (double)largest * layout->node_count / (double)sum;
    return status;
}

static int busiest(const dcli_report *report)
{
    int row = 0;
    for (int n = 1; n < report->seen.node_count; n++)
        if (report->node[n].elements > report->node[row].elements)
            row = n;
    return report->node[row].node;
}

static bool is_kept_small(const dcli_layout *layout)
{
    return layout->rule.small_bytes > 0 &&
           dcl_grid_count(&layout->grid) < layout->rule.small_bytes / element_bytes(layout);
}

static dcl_status advise_balance(dcli_report *report, const dcli_planned *planned)
{
    const dcli_operation *operation = planned->operation;
    int first = operation->body->owner;
    const dcli_layout *layout = operation->operand[first].layout;
    dcl_box grid = dcl_box_of(&layout->grid);
    bool view = operation->operand[first].view != NULL, whole = !view && dcli_box_equal(&grid, &operation->box);
    double now = report->seen.imbalance_elements, share;
    if (now < DCLI_NOTICED_IMBALANCE || is_kept_small(layout) || layout->partial || operation->operand[first].reshaped)
        return DCL_OK;
    dcli_map_rule rule = even_map(layout, whole);
    dcli_layout other;
    dcli_report_keep_edges(layout, &rule);
    if (dcli_layout_bind(&rule, &layout->grid, &other) != DCL_OK)
        return DCL_OK;
    dcl_status status = dcli_report_share(operation, &other, &share);
    dcli_layout_release(&other);
    if (status != DCL_OK || share - 1 > (now - 1) / 2)
        return status;
    char text[DCLI_REPORT_MAP_TEXT], better[DCLI_REPORT_MAP_TEXT];
    dcli_report_print_map(&dcl_map_of(planned->array[first])->rule, text);
    dcli_report_print_map(&rule, better);
    return dcli_report_say(report,
                           "node %d computes %.2f times the mean of the nodes: %s %s '%s'; with '%s' the largest share "
                           "would be %.2f times the mean",
                           busiest(report), now, operation->body->params[first].name,
                           view    ? "is a view of an array laid out by"
                           : whole ? "is laid out by"
                                   : "is computed in a part that lies unevenly by",
                           text, better, share);
}

/* ---- slots -------------------------------------------------------------------------------------------------------- */

enum { NAMES_BYTES = 256 };

static bool are_alike(const dcli_report *report, const dcli_planned *planned, int a, int b)
{
    const dcli_layout *one = layout_of(report, planned, a), *other = layout_of(report, planned, b);
    return one->grid.type == other->grid.type && dcli_layout_same(one, other);
}

/* The first row whose array has the same layout as that of `row`. */
static int first_alike(const dcli_report *report, const dcli_planned *planned, int row)
{
    int first = 0;
    while (!are_alike(report, planned, first, row))
        first++;
    return first;
}

/* List all arrays with the same layout: "C, A". */
static void print_alike(const dcli_report *report, const dcli_planned *planned, int row, char names[NAMES_BYTES])
{
    size_t used = 0;
    for (int other = row; other < report->seen.array_count && used < NAMES_BYTES; other++)
        if (are_alike(report, planned, row, other))
            used += (size_t)snprintf(names + used, NAMES_BYTES - used, "%s%s", other > row ? ", " : "",
                                     report->array[other].name);
}

/* A piece size near the given one that the grid's edge cuts less: about as many pieces, of even size. */
static void better_piece(const dcli_layout *layout, int64_t piece_out[])
{
    for (int d = 0; d < layout->grid.rank; d++) {
        int64_t extent = layout->grid.extent[d], pieces = (extent + piece_out[d] - 1) / piece_out[d];
        int64_t least = pieces * piece_out[d];
        for (int64_t n = dcli_max(pieces - 1, dcli_min(pieces, 2)); n <= pieces + 1; n++) {
            int64_t piece = (extent + n - 1) / n, stored = (extent + piece - 1) / piece * piece;
            if (stored < least)
                piece_out[d] = piece;
            least = dcli_min(least, stored);
        }
    }
}

static dcl_status advise_slots_of(dcli_report *report, const dcli_planned *planned, int row)
{
    const dcli_layout *layout = layout_of(report, planned, row);
    int64_t elements = dcl_grid_count(&layout->grid), now_stored = report->array[row].stored;
    if ((double)now_stored < NOTICED_WASTE * (double)elements ||
        (now_stored - elements) * element_bytes(layout) < NOTICED_BYTES)
        return DCL_OK;
    dcli_map_rule rule = layout->rule;
    dcli_layout other;
    better_piece(layout, rule.piece);
    rule.tile_rank = rule.block_rank = 0;
    if (dcli_layout_bind(&rule, &layout->grid, &other) != DCL_OK)
        return DCL_OK;
    int64_t stored = dcli_layout_total_storage(&other);
    dcli_layout_release(&other);
    if (2 * (stored - elements) > now_stored - elements)
        return DCL_OK;
    char names[NAMES_BYTES], now[256], better[256];
    print_alike(report, planned, row, names);
    dcli_print_numbers(now, sizeof now, layout->grid.rank, layout->rule.piece, "x");
    dcli_print_numbers(better, sizeof better, layout->grid.rank, rule.piece, "x");
    return dcli_report_say(report,
                           "%s: pieces of %s are cut at the grid's edge and keep their slots, so there is room for "
                           "%" PRId64 " elements where there are %" PRId64 "; pieces of %s take room for %" PRId64,
                           names, now, now_stored, elements, better, stored);
}

/* ---- runs --------------------------------------------------------------------------------------------------------- */

int64_t dcli_report_run_bytes(const dcli_layout *layout)
{
    int64_t run = element_bytes(layout);
    for (int d = layout->grid.rank - 1; d >= 0; d--) {
        run *= layout->rule.piece[d];
        if (layout->rule.piece[d] < layout->grid.extent[d])
            break;
    }
    return run;
}

static dcl_status advise_runs_of(dcli_report *report, const dcli_planned *planned, int row)
{
    const dcli_layout *layout = layout_of(report, planned, row);
    int64_t run = dcli_report_run_bytes(layout);
    if (layout->piece_total == 1 || dcl_grid_count(&layout->grid) * element_bytes(layout) < NOTICED_BYTES ||
        run >= DCLI_RUN_BYTES)
        return DCL_OK;
    char names[NAMES_BYTES], pieces[256];
    print_alike(report, planned, row, names);
    dcli_print_numbers(pieces, sizeof pieces, layout->grid.rank, layout->rule.piece, "x");
    return dcli_report_say(report,
                           "%s: pieces of %s make runs of %" PRId64 " bytes, and loops and copies go run by run; with "
                           "pieces of at least %" PRId64 " elements along the last axis a run fills a cache line",
                           names, pieces, run, DCLI_RUN_BYTES / element_bytes(layout));
}

/* Advise on dealt maps, once for all arrays with equal layouts. */
static dcl_status advise_dealt(dcli_report *report, const dcli_planned *planned)
{
    dcl_status status = DCL_OK;
    for (int row = 0; row < report->seen.array_count && status == DCL_OK; row++) {
        const dcli_layout *layout = layout_of(report, planned, row);
        if (layout->kind != DCLI_MAP_DEALT || layout->empty || layout->partial ||
            planned->operation->operand[report->param[row]].reshaped || first_alike(report, planned, row) < row)
            continue;
        status = advise_slots_of(report, planned, row);
        if (status == DCL_OK)
            status = advise_runs_of(report, planned, row);
    }
    return status;
}

/* ---- footprints --------------------------------------------------------------------------------------------------- */

static int64_t moved_of(const dcli_report *report, int param)
{
    for (int row = 0; row < report->seen.array_count; row++)
        if (report->param[row] == param)
            return report->array[row].bytes_moved;
    return 0;
}

/* A sixteenth of what a node computes in one task now, as a power of two. */
static int64_t smaller_tile(const dcli_report *report, const dcli_planned *planned)
{
    const dcli_layout *space = planned->operation->operand[planned->operation->body->owner].layout;
    int64_t most = element_bytes(space), tile = 1;
    for (int n = 0; n < report->seen.node_count; n++)
        if (report->node[n].planned.tasks > 0)
            most = dcli_max(most, report->node[n].elements * element_bytes(space) / report->node[n].planned.tasks);
    while (tile <= most / DCLI_SMALLER_TILES / 2)
        tile *= 2;
    return tile;
}

static dcl_status advise_footprints(dcli_report *report, const dcli_planned *planned)
{
    const dcli_body *body = planned->operation->body;
    int64_t tile = smaller_tile(report, planned), bytes = -1, now = report->seen.planned.bytes_moved;
    dcl_status status = DCL_OK;
    if (report->seen.node >= 0 || dcl_map_of(planned->array[body->owner])->rule.tile_rank > 0)
        return DCL_OK;
    for (int row = 0; row < report->seen.footprint_count && status == DCL_OK; row++) {
        const dcl_report_footprint *wide = &report->footprint[row];
        int64_t moved = moved_of(report, body->access[report->wide[row]].param);
        if (wide->elements < NOTICED_EXCESS * wide->read_at_most || moved < NOTICED_BYTES)
            continue;
        if (bytes < 0)
            status = dcli_report_try_tile(report, planned, tile, &bytes);
        if (status != DCL_OK || bytes < 0 || 2 * (now - bytes) < moved)
            continue;
        status =
            dcli_report_say(report,
                            "%s at line %d, column %d: the boxes around what is read have %" PRId64
                            " elements, of which at most %" PRId64 " are read; with DCL_TILE_BYTES=%" PRId64
                            " they would be tighter, and %" PRId64 " instead of %" PRId64 " bytes would move",
                            wide->name, wide->line, wide->column, wide->elements, wide->read_at_most, tile, bytes, now);
    }
    return status;
}

/* ---- all of it ---------------------------------------------------------------------------------------------------- */

/* Apply every rule. The errors of maps that were tried and do not fit are dropped. */
dcl_status dcli_report_advise(dcli_report *report, const dcli_planned *planned)
{
    static dcl_status (*const rules[])(dcli_report *, const dcli_planned *) = {
        advise_movement,           advise_balance,   dcli_report_advise_balance, advise_dealt,
        dcli_report_advise_grains, advise_footprints};
    dcl_status before = dcli_error_status(), status = DCL_OK;
    char text[DCLI_ERROR_BYTES];
    snprintf(text, sizeof text, "%s", dcl_error());
    report->promised = report->seen.planned.bytes_moved;
    for (size_t r = 0; r < sizeof rules / sizeof rules[0] && status == DCL_OK; r++)
        status = rules[r](report, planned);
    report->seen.advice = report->advice;
    if (status == DCL_OK)
        dcli_error_adopt(before, text);
    return status;
}
