/* resmap/nodes.c - the nodes that a map uses, as a short list of ranges of node numbers. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/check.h"
#include "base/error.h"
#include "base/search.h"
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
        right = range->first >= 0 && range->first < DCLI_MOST_MAP_NODES && range->count >= 1 &&
                range->count <= DCLI_MOST_MAP_NODES - range->first &&
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
        DCLI_NODE_RANGES, rule->node_count, DCLI_MOST_MAP_NODES);
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

/* ---- lists of nodes ---------------------------------------------------------------------------------------------- */

static bool is_smaller(const void *nodes, int64_t i, int64_t node) { return ((const int *)nodes)[i] < node; }

/* The index in the list of the first node that is not smaller. */
static int64_t find_node(const dcli_node_list *list, int node)
{
    return dcli_lower_bound(list->node, list->count, node, is_smaller);
}

bool dcli_node_list_has(const dcli_node_list *list, int node)
{
    int64_t at = find_node(list, node);
    return at < list->count && list->node[at] == node;
}

dcl_status dcli_node_list_add(dcli_node_list *list, int node)
{
    int64_t at = list->count;
    if (at > 0 && list->node[at - 1] >= node) {
        at = find_node(list, node);
        if (list->node[at] == node)
            return DCL_OK;
    }
    if (dcli_grow(&list->node, list->count, &list->capacity, sizeof *list->node) != 0)
        return DCL_ERR_NOMEM;
    memmove(list->node + at + 1, list->node + at, (size_t)(list->count - at) * sizeof *list->node);
    list->node[at] = node;
    list->count++;
    return DCL_OK;
}

dcl_status dcli_node_list_add_all(dcli_node_list *list, const dcli_node_list *more, int except)
{
    enum { WORTH = 8 }; /* a search among more listed nodes than this for each added one is cheaper than a walk */
    bool walk = list->count <= WORTH * more->count;
    dcl_status status = DCL_OK;
    for (int64_t n = 0, at = 0; n < more->count && status == DCL_OK; n++) {
        while (walk && at < list->count && list->node[at] < more->node[n])
            at++;
        bool listed = walk && at < list->count && list->node[at] == more->node[n];
        if (!listed && more->node[n] != except)
            status = dcli_node_list_add(list, more->node[n]);
    }
    return status;
}

void dcli_node_list_take(dcli_node_list *list, int64_t index)
{
    list->count--;
    memmove(list->node + index, list->node + index + 1, (size_t)(list->count - index) * sizeof *list->node);
}

void dcli_node_list_drop(dcli_node_list *list, int node)
{
    int64_t at = find_node(list, node);
    if (at < list->count && list->node[at] == node)
        dcli_node_list_take(list, at);
}

void dcli_node_list_free(dcli_node_list *list)
{
    dcli_free(list->node);
    *list = (dcli_node_list){0};
}

static int by_number(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

/* Sort a list of places below MOST_MARKED by marking each of them in a set of bits, which needs no comparison and drops
 * duplicates. @return false: the places are too far apart for that, and the list is unchanged. */
static bool sort_by_marking(dcli_node_list *list)
{
    enum { MOST_MARKED = 32768, BITS = 64 };
    uint64_t marked[MOST_MARKED / BITS];
    int largest = 0;
    int64_t kept = 0;
    for (int64_t n = 0; n < list->count; n++)
        largest = dcli_max(largest, list->node[n]);
    if (largest >= MOST_MARKED || largest / BITS > list->count)
        return false;
    memset(marked, 0, (size_t)(largest / BITS + 1) * sizeof marked[0]);
    for (int64_t n = 0; n < list->count; n++)
        marked[list->node[n] / BITS] |= UINT64_C(1) << list->node[n] % BITS;
    for (int word = 0; word <= largest / BITS; word++)
        for (uint64_t left = marked[word]; left != 0; left &= left - 1)
            list->node[kept++] = word * BITS + __builtin_ctzll(left);
    list->count = kept;
    return true;
}

void dcli_places_sort(dcli_node_list *list)
{
    bool rising = true;
    int64_t kept = 0;
    for (int64_t n = 1; n < list->count && rising; n++)
        rising = list->node[n] > list->node[n - 1];
    if (rising || sort_by_marking(list))
        return;
    qsort(list->node, (size_t)list->count, sizeof *list->node, by_number);
    for (int64_t n = 0; n < list->count; n++)
        if (kept == 0 || list->node[n] != list->node[kept - 1])
            list->node[kept++] = list->node[n];
    list->count = kept;
}

dcl_status dcli_places_append(dcli_node_list *list, int place)
{
    if (list->count > 0 && list->node[list->count - 1] == place)
        return DCL_OK;
    if (list->count == list->capacity) {
        dcli_places_sort(list);
        if (list->count >= list->capacity / 2 && /* else enough is free until the next time */
            dcli_reserve(&list->node, list->capacity, 1, &list->capacity, sizeof *list->node) != 0)
            return DCL_ERR_NOMEM;
    }
    list->node[list->count++] = place;
    return DCL_OK;
}

void dcli_nodes_convert(const dcli_map_rule *rule, dcli_node_list *list)
{
    bool rising = true;
    if (rule->range_count == 0)
        return;
    for (int64_t n = 0; n < list->count; n++) {
        list->node[n] = dcli_map_rule_node(rule, list->node[n]);
        rising &= n == 0 || list->node[n] > list->node[n - 1];
    }
    if (!rising)
        qsort(list->node, (size_t)list->count, sizeof *list->node, by_number);
}
