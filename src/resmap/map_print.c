/* resmap/map_print.c - prints maps as text that resmap/map_text.c can parse. */
#include "resmap/map_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "resmap/parts.h"

/* Writes text as far as there is room and counts its whole length, as snprintf() does. */
struct printer {
    char *text;
    size_t capacity, length;
};

static void put_text(struct printer *printer, const char *text)
{
    size_t length = strlen(text);
    if (printer->length < printer->capacity)
        snprintf(printer->text + printer->length, printer->capacity - printer->length, "%s", text);
    printer->length += length;
}

static void put(struct printer *printer, const char *before, int64_t number, const char *after)
{
    char digits[24];
    snprintf(digits, sizeof digits, "%" PRId64, number);
    put_text(printer, before);
    put_text(printer, digits);
    put_text(printer, after);
}

static void put_sizes(struct printer *printer, const char *before, int count, const int64_t size[], const char *after)
{
    for (int d = 0; d < count; d++)
        put(printer, d == 0 ? before : "x", size[d], d == count - 1 ? after : "");
}

static void put_axis(struct printer *printer, const dcl_axis *axis)
{
    static const char *const words[] = {[DCL_AXIS_WHOLE] = "*",
                                        [DCL_AXIS_BLOCK] = "block",
                                        [DCL_AXIS_CYCLIC] = "cyclic",
                                        [DCL_AXIS_SPLITS] = "splits",
                                        [DCL_AXIS_WEIGHTED] = "weighted"};
    const char *between = axis->kind == DCL_AXIS_SPLITS ? "," : ":";
    put_text(printer, words[axis->kind]);
    if (axis->size > 0)
        put(printer, "(", axis->size, ")");
    for (int64_t k = 0; dcli_has_points(axis) && k < axis->count; k++)
        put(printer, k == 0 ? "(" : between, axis->points[k], k == axis->count - 1 ? ")" : "");
}

static void put_axes(struct printer *printer, const dcli_map_rule *rule)
{
    int64_t nodes[DCL_MAX_RANK];
    bool arranged = false;
    for (int d = 0; d < (rule->rank == 0 ? 1 : rule->rank); d++) {
        put_text(printer, d == 0 ? "" : ",");
        put_axis(printer, &rule->axes[d]);
    }
    for (int d = 0; d < rule->rank; d++) {
        nodes[d] = rule->nodes[d];
        arranged = arranged || nodes[d] != 0;
    }
    if (rule->rank == 1) { /* for rank 1 print the arrangement: a single rule without one would stand for all axes of
                              any rank */
        nodes[0] = rule->node_count;
        arranged = true;
    }
    if (arranged)
        put_sizes(printer, "@", rule->rank, nodes, "");
}

static void put_nodes(struct printer *printer, const dcli_map_rule *rule)
{
    for (int r = 0; r < rule->range_count; r++) {
        const dcli_node_range *range = &rule->range[r];
        char text[32];
        int length = snprintf(text, sizeof text, "%d", range->first);
        if (range->count > 1)
            snprintf(text + length, sizeof text - (size_t)length, "-%d", range->first + range->count - 1);
        put_text(printer, r == 0 ? ";nodes=" : ",");
        put_text(printer, text);
    }
}

static void put_owners(struct printer *printer, const dcli_table *owners)
{
    for (int64_t k = 0; k < owners->count; k += 2) {
        if (owners->value[k + 1] == DCL_NOWHERE)
            put_text(printer, k == 0 ? ";owners=-" : ",-");
        else
            put(printer, k == 0 ? ";owners=" : ",", owners->value[k + 1], "");
        if (owners->value[k] > 1)
            put(printer, "*", owners->value[k], "");
    }
}

static void put_fill_value(struct printer *printer, double fill_value)
{
    char text[32];
    if (dcli_fill_value_equal(fill_value, 0))
        return;
    dcli_fill_value_print(fill_value, text);
    put_text(printer, ";rest=");
    put_text(printer, text);
}

static void put_halo(struct printer *printer, const dcli_map_rule *rule)
{
    bool alike = rule->rank > 0; /* widths that are the same on all axes are printed as one, if the rank is known */
    for (int d = 1; d < rule->halo_rank; d++)
        alike = alike && rule->halo_low[d] == rule->halo_low[0] && rule->halo_high[d] == rule->halo_high[0];
    for (int d = 0; d < (alike && rule->halo_rank > 0 ? 1 : rule->halo_rank); d++) {
        put(printer, d == 0 ? ";halo=" : ",", rule->halo_low[d], "");
        if (rule->halo_high[d] != rule->halo_low[d])
            put(printer, ":", rule->halo_high[d], "");
    }
    const char *before = ";periodic=";
    if (rule->periodic == DCLI_ALL_PERIODIC)
        put_text(printer, ";periodic=*");
    for (int d = 0; d < DCL_MAX_RANK && rule->periodic != DCLI_ALL_PERIODIC; d++)
        if ((rule->periodic >> d & 1) != 0) {
            put(printer, before, d, "");
            before = ",";
        }
}

static void put_boxes(struct printer *printer, const dcli_map_rule *rule)
{
    int rank = rule->rank, length = 1 + 2 * rank;
    for (int64_t k = 0; k < rule->list->count / length; k++) {
        const int64_t *record = rule->list->value + k * length;
        put_text(printer, k == 0 ? "boxes:[" : ",[");
        for (int d = 0; d < rank; d++) {
            put(printer, d == 0 ? "" : ",", record[1 + d], ":");
            put(printer, "", record[1 + d] + record[1 + rank + d], "");
        }
        put(printer, "]@", record[0], "");
    }
}

size_t dcli_map_rule_print(const dcli_map_rule *rule, char *text_out, size_t capacity)
{
    static const char *const deals[] = {
        [DCL_DEAL_CYCLIC] = "cyclic", [DCL_DEAL_BLOCK] = "block", [DCL_DEAL_HASH] = "hash", [DCL_DEAL_TABLE] = "table"};
    struct printer printer = {.text = text_out, .capacity = capacity};
    if (rule->copies > 0) {
        put_text(&printer, "replicated");
        if (rule->copies < rule->node_count)
            put(&printer, "(", rule->copies, ")");
    } else if (rule->kind == DCLI_MAP_AXES) {
        put_axes(&printer, rule);
    } else if (rule->kind == DCLI_MAP_BOXES) {
        put_boxes(&printer, rule);
    } else {
        put_text(&printer, rule->order == DCL_ROWS ? "rows:" : "columns:");
        put_text(&printer, deals[rule->deal]);
        put_sizes(&printer, "(", rule->rank, rule->piece, ")");
        if (rule->seed > 0)
            put(&printer, ";seed=", rule->seed, "");
        if (rule->list != NULL)
            put_owners(&printer, rule->list);
    }
    put_sizes(&printer, ";block=", rule->block_rank, rule->block, "");
    put_sizes(&printer, ";tile=", rule->tile_rank, rule->tile, "");
    put_nodes(&printer, rule);
    put_sizes(&printer, ";every=", rule->every_rank, rule->every, "");
    put_fill_value(&printer, rule->fill_value);
    put_halo(&printer, rule);
    if (rule->overlap > 0)
        put(&printer, ";overlap=", rule->overlap, "");
    return printer.length;
}
