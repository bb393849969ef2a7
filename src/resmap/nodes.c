/* resmap/nodes.c - the nodes that a map uses, as a short list of ranges of node numbers. */
#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "base/error.h"
#include "resmap/parts.h"

bool dcli_map_rule_has_room(const dcli_map_rule *rule, int first)
{
    if (rule->range_count < DCLI_NODE_RANGES)
        return true;
    const dcli_node_range *last = &rule->range[rule->range_count - 1];
    return last->first + last->count == first;
}

dcl_status dcli_map_rule_add_nodes(dcli_map_rule *rule, int first, int count)
{
    dcli_node_range *last = rule->range_count > 0 ? &rule->range[rule->range_count - 1] : NULL;
    if (!dcli_map_rule_has_room(rule, first))
        return DCLI_FAIL(DCL_ERR_INVALID,
                         "the nodes of the map make more than %d ranges of neighbouring numbers; expected at most %d; "
                         "leave some nodes out, or take those between them, too",
                         DCLI_NODE_RANGES, DCLI_NODE_RANGES);
    if (last != NULL && last->first + last->count == first)
        last->count += count;
    else
        rule->range[rule->range_count++] = (dcli_node_range){.first = first, .count = count};
    rule->node_count += count;
    return DCL_OK;
}

bool dcli_map_rule_lists(const dcli_map_rule *rule, int first, int count)
{
    for (int r = 0; r < rule->range_count; r++)
        if (rule->range[r].first < first + count && first < rule->range[r].first + rule->range[r].count)
            return true;
    return false;
}

void dcli_map_rule_end_nodes(dcli_map_rule *rule, int nodes)
{
    if (rule->range_count == 1 && rule->range[0].first == 0 && rule->range[0].count == nodes)
        rule->range_count = 0;
}

const char *dcli_map_rule_print_nodes(const dcli_map_rule *rule, char *text_out, size_t capacity)
{
    const dcli_node_range all = {.first = 0, .count = rule->node_count};
    int ranges = rule->range_count > 0 ? rule->range_count : 1;
    size_t used = 0, most = sizeof ",2147483647-2147483647...";
    text_out[0] = '\0';
    for (int r = 0; r < ranges; r++) {
        const dcli_node_range *range = rule->range_count > 0 ? &rule->range[r] : &all;
        const char *comma = r > 0 ? "," : "";
        if (used + most > capacity) {
            snprintf(text_out + used, capacity - used, "...");
            break;
        }
        used += (size_t)(range->count > 1 ? snprintf(text_out + used, capacity - used, "%s%d-%d", comma, range->first,
                                                     range->first + range->count - 1)
                                          : snprintf(text_out + used, capacity - used, "%s%d", comma, range->first));
    }
    return text_out;
}

int dcli_map_rule_node(const dcli_map_rule *rule, int place)
{
    for (int r = 0; r < rule->range_count; r++) {
        if (place < rule->range[r].count)
            return rule->range[r].first + place;
        place -= rule->range[r].count;
    }
    return place;
}

int dcli_map_rule_place(const dcli_map_rule *rule, int node)
{
    if (rule->range_count == 0)
        return node >= 0 && node < rule->node_count ? node : -1;
    for (int r = 0, before = 0; r < rule->range_count; r++) {
        if (node >= rule->range[r].first && node - rule->range[r].first < rule->range[r].count)
            return before + node - rule->range[r].first;
        before += rule->range[r].count;
    }
    return -1;
}

dcl_status dcli_nodes_check(const dcli_map_rule *rule)
{
    if (rule->range_count == 0)
        return DCL_OK;
    bool right = rule->range_count > 0 && rule->range_count <= DCLI_NODE_RANGES;
    int total = 0;
    dcli_map_rule before = {.range_count = 0};
    for (int r = 0; right && r < rule->range_count; r++) {
        const dcli_node_range *range = &rule->range[r];
        right = range->first >= 0 && range->first < DCLI_MOST_NODES && range->count >= 1 &&
                range->count <= DCLI_MOST_NODES - range->first &&
                !dcli_map_rule_lists(&before, range->first, range->count) &&
                (r == 0 || range[-1].first + range[-1].count != range->first);
        before.range[before.range_count++] = *range;
        total += right ? range->count : 0;
    }
    if (right && total == rule->node_count)
        return DCL_OK;
    return DCLI_FAIL(
        DCL_ERR_INVALID,
        "the list of the map's nodes is wrong; expected 1..%d ranges without a node in common, neighbours in one, of "
        "%d nodes in all, numbered below %d",
        DCLI_NODE_RANGES, rule->node_count, DCLI_MOST_NODES);
}

/* The ranges of a rule; a rule without a list has one range of all nodes. */
static int ranges_of(const dcli_map_rule *rule, const dcli_node_range **range_out, dcli_node_range *all)
{
    *all = (dcli_node_range){.first = 0, .count = rule->node_count};
    *range_out = rule->range_count > 0 ? rule->range : all;
    return rule->range_count > 0 ? rule->range_count : 1;
}

bool dcli_nodes_equal(const dcli_map_rule *a, const dcli_map_rule *b)
{
    const dcli_node_range *x, *y;
    dcli_node_range all_a, all_b;
    int count = ranges_of(a, &x, &all_a);
    if (ranges_of(b, &y, &all_b) != count)
        return false;
    for (int r = 0; r < count; r++)
        if (x[r].first != y[r].first || x[r].count != y[r].count)
            return false;
    return true;
}

int dcli_nodes_end(const dcli_map_rule *rule)
{
    if (rule->range_count == 0)
        return rule->node_count;
    int end = 0;
    for (int r = 0; r < rule->range_count; r++)
        end = dcli_max(end, rule->range[r].first + rule->range[r].count);
    return end;
}

static bool is_rising(const dcli_map_rule *rule)
{
    for (int r = 1; r < rule->range_count; r++)
        if (rule->range[r].first < rule->range[r - 1].first)
            return false;
    return true;
}

/* Convert flags by place into flags by node, in place, for a list of ascending ranges. The last range is moved first,
 * so that no range overwrites one that has still to be moved; flags of nodes between the ranges are cleared. */
static void spread_rising(const dcli_map_rule *rule, bool flags[])
{
    int place = rule->node_count;
    for (int r = rule->range_count - 1; r >= 0; r--) {
        const dcli_node_range *range = &rule->range[r];
        int gap = r > 0 ? range[-1].first + range[-1].count : 0;
        place -= range->count;
        memmove(flags + range->first, flags + place, (size_t)range->count * sizeof flags[0]);
        memset(flags + gap, 0, (size_t)(range->first - gap) * sizeof flags[0]);
    }
}

void dcli_nodes_spread(const dcli_map_rule *rule, bool flags[])
{
    if (is_rising(rule)) {
        spread_rising(rule, flags);
        return;
    }
    /* For lists in any order: bits of a flag while flags by place are converted to flags by node. */
    enum { BY_PLACE = 1, BY_NODE = 2 };
    unsigned char *bits = (unsigned char *)flags;
    int end = dcli_nodes_end(rule);
    for (int n = rule->node_count; n < end; n++)
        bits[n] = 0;
    for (int r = 0, place = 0; r < rule->range_count; r++)
        for (int k = 0; k < rule->range[r].count; k++, place++)
            if (bits[place] & BY_PLACE)
                bits[rule->range[r].first + k] |= BY_NODE;
    for (int n = 0; n < end; n++)
        flags[n] = (bits[n] & BY_NODE) != 0;
}
