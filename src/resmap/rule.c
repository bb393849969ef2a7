/* resmap/rule.c - rules of maps, independent of grids: checking, comparing, arranging nodes. */
#include <inttypes.h>
#include <string.h>

#include "base/check.h"
#include "base/error.h"
#include "resmap/parts.h"

void dcli_map_rule_retain(const dcli_map_rule *rule)
{
    for (int d = 0; d < DCL_MAX_RANK; d++)
        dcli_table_retain(rule->points[d]);
    dcli_table_retain(rule->list);
}

void dcli_map_rule_release(const dcli_map_rule *rule)
{
    for (int d = 0; d < DCL_MAX_RANK; d++)
        dcli_table_release(rule->points[d]);
    dcli_table_release(rule->list);
}

dcl_status dcli_map_rule_set_points(dcli_map_rule *rule, int d, int64_t count, const int64_t points[])
{
    dcli_table *table = dcli_table_new(count);
    if (table == NULL)
        return DCL_ERR_NOMEM;
    memcpy(table->value, points, (size_t)count * sizeof points[0]);
    rule->points[d] = table;
    rule->axes[d].points = table->value;
    rule->axes[d].count = count;
    return DCL_OK;
}

dcl_status dcli_map_rule_set_owners(dcli_map_rule *rule, int64_t runs, const int64_t pairs[])
{
    dcli_table *table = dcli_table_new(2 * runs);
    if (table == NULL)
        return DCL_ERR_NOMEM;
    int64_t *value = table->value - 2;
    for (int64_t k = 0; k < 2 * runs; k += 2) {
        int64_t sum;
        if (k == 0 || value[1] != pairs[k + 1] || !dcli_add(value[0], pairs[k], &sum)) {
            value += 2;
            sum = pairs[k];
        }
        value[0] = sum;
        value[1] = pairs[k + 1];
    }
    table->count = value + 2 - table->value;
    rule->list = table;
    return DCL_OK;
}

/* Number of axes that a rule lists; if it serves all ranks, it lists one, which stands for all. */
static int listed_axes(const dcli_map_rule *rule) { return rule->rank == 0 ? 1 : rule->rank; }

static dcl_status check_splits(int d, const dcl_axis *axis)
{
    for (int64_t k = 0; k < axis->count; k++) {
        int64_t least = k == 0 ? 1 : axis->points[k - 1] + 1;
        if (axis->points[k] < least || axis->points[k] > DCLI_MOST_EXTENT)
            return DCLI_FAIL(DCL_ERR_INVALID,
                             "axes[%d].points[%" PRId64 "] is %" PRId64 "; expected %" PRId64 "..%" PRId64
                             ": split points rise, and the first run begins without one at 0",
                             d, k, axis->points[k], least, DCLI_MOST_EXTENT);
    }
    return DCL_OK;
}

static dcl_status check_shares(int d, const dcl_axis *axis)
{
    int64_t sum = 0;
    for (int64_t k = 0; k < axis->count; k++) {
        if (axis->points[k] < 0 || axis->points[k] > INT32_MAX - sum)
            return DCLI_FAIL(DCL_ERR_INVALID,
                             "axes[%d].points[%" PRId64 "] is %" PRId64 "; expected a share of at least 0, all "
                             "together at most %d; shares are relative: use smaller ones",
                             d, k, axis->points[k], INT32_MAX);
        sum += axis->points[k];
    }
    if (sum == 0)
        return DCLI_FAIL(DCL_ERR_INVALID, "the shares of axes[%d] are all 0; expected one that is not", d);
    return DCL_OK;
}

static dcl_status check_points(int d, const dcl_axis *axis)
{
    const char *what = axis->kind == DCL_AXIS_SPLITS ? "split points" : "shares";
    if (axis->count < 1 || axis->count > DCLI_MOST_POINTS)
        return DCLI_FAIL(DCL_ERR_INVALID, "axes[%d] has %" PRId64 " %s; expected 1..%d", d, axis->count, what,
                         DCLI_MOST_POINTS);
    if (axis->points == NULL)
        return DCLI_FAIL(DCL_ERR_INVALID, "axes[%d].points is NULL; expected an array of %s, as many as axes[%d].count",
                         d, what, d);
    return axis->kind == DCL_AXIS_SPLITS ? check_splits(d, axis) : check_shares(d, axis);
}

static dcl_status check_axis(int d, const dcl_axis *axis)
{
    if ((unsigned)axis->kind > DCL_AXIS_WEIGHTED)
        return DCLI_FAIL(DCL_ERR_INVALID,
                         "axes[%d].kind is %d; expected DCL_AXIS_WHOLE, DCL_AXIS_BLOCK, DCL_AXIS_CYCLIC, "
                         "DCL_AXIS_SPLITS or DCL_AXIS_WEIGHTED",
                         d, (int)axis->kind);
    if ((axis->kind == DCL_AXIS_WHOLE || dcli_has_points(axis)) && axis->size != 0)
        return DCLI_FAIL(DCL_ERR_INVALID,
                         "axes[%d].size is %" PRId64 "; expected 0, for the axis is %s; to divide it by a size, make "
                         "its kind DCL_AXIS_BLOCK or DCL_AXIS_CYCLIC",
                         d, axis->size, axis->kind == DCL_AXIS_WHOLE ? "whole" : "divided by its points");
    if (dcli_has_points(axis))
        return check_points(d, axis);
    if (axis->size < 0)
        return DCLI_FAIL(DCL_ERR_INVALID, "axes[%d].size is %" PRId64 "; expected at least 1 element, or 0 for %s", d,
                         axis->size, axis->kind == DCL_AXIS_BLOCK ? "blocks as even as can be" : "runs of one element");
    return DCL_OK;
}

static dcl_status check_nodes(const dcli_map_rule *rule)
{
    int64_t product = 1;
    for (int d = 0; d < rule->rank; d++) {
        if (rule->nodes[d] < 1)
            return DCLI_FAIL(DCL_ERR_INVALID, "nodes[%d] is %d; expected at least 1 node along every axis", d,
                             rule->nodes[d]);
        if (rule->axes[d].kind == DCL_AXIS_WHOLE && rule->nodes[d] != 1)
            return DCLI_FAIL(DCL_ERR_INVALID,
                             "nodes[%d] is %d; expected 1, for axis %d is whole (`*`); divide the axis with block or "
                             "cyclic",
                             d, rule->nodes[d], d);
        if (rule->axes[d].kind == DCL_AXIS_WEIGHTED && rule->nodes[d] != rule->axes[d].count)
            return DCLI_FAIL(DCL_ERR_INVALID,
                             "nodes[%d] is %d; expected %" PRId64
                             ", for axis %d has as many shares; give one share for "
                             "each node along the axis",
                             d, rule->nodes[d], rule->axes[d].count, d);
        /* limited, so that the product cannot overflow */
        product = dcli_min(product * rule->nodes[d], (int64_t)DCLI_MOST_MAP_NODES + 1);
    }
    if (product != rule->node_count)
        return DCLI_FAIL(DCL_ERR_INVALID,
                         "the arrangement has %s%" PRId64 " nodes; expected %d, the nodes of the map; leave it out to "
                         "have one made",
                         product > DCLI_MOST_MAP_NODES ? "at least " : "", product, rule->node_count);
    return DCL_OK;
}

static bool is_balanced(const dcli_map_rule *rule)
{
    for (int d = 0; d < rule->rank; d++)
        if (rule->nodes[d] != 0)
            return false;
    return true;
}

/* Check weighted axes: each has as many nodes as shares, so the number of nodes must be their product or, if other axes
 * are divided, a multiple of it. */
static dcl_status check_weighted(const dcli_map_rule *rule)
{
    int64_t taken = 1;
    bool others = false, weighted = false;
    for (int d = 0; d < listed_axes(rule); d++) {
        const dcl_axis *axis = &rule->axes[d];
        weighted = weighted || axis->kind == DCL_AXIS_WEIGHTED;
        if (axis->kind == DCL_AXIS_WEIGHTED)
            taken = dcli_min(taken * axis->count, (int64_t)DCLI_MOST_MAP_NODES + 1);
        else
            others = others || axis->kind != DCL_AXIS_WHOLE;
    }
    if (others ? rule->node_count % taken == 0 : rule->node_count == taken || !weighted)
        return DCL_OK;
    return DCLI_FAIL(DCL_ERR_INVALID,
                     "the shares are for %s%" PRId64 " nodes and the map has %d; expected %s; give one share for each "
                     "node along the axis",
                     taken > DCLI_MOST_MAP_NODES ? "at least " : "", taken, rule->node_count,
                     others ? "a divisor of that" : "as many");
}

static dcl_status check_axes(const dcli_map_rule *rule)
{
    bool divided = false;
    for (int d = 0; d < listed_axes(rule); d++) {
        dcl_status status = check_axis(d, &rule->axes[d]);
        if (status != DCL_OK)
            return status;
        divided = divided || rule->axes[d].kind != DCL_AXIS_WHOLE;
    }
    if (rule->copies < 0 || rule->copies > rule->node_count)
        return DCLI_FAIL(DCL_ERR_INVALID, "the map is for copies on %d nodes; expected 1..%d, the nodes of the map",
                         rule->copies, rule->node_count);
    if (divided && rule->copies > 0)
        return DCLI_FAIL(DCL_ERR_INVALID,
                         "an axis is divided and the map is for copies on %d nodes; expected one or "
                         "the other",
                         rule->copies);
    if (!divided && rule->copies == 0 && rule->node_count > 1)
        return DCLI_FAIL(DCL_ERR_INVALID,
                         "every axis is whole (`*`) and there are %d nodes; expected an axis that is divided; make one "
                         "block or cyclic, or lay the map over one node (;nodes=0)",
                         rule->node_count);
    return is_balanced(rule) ? check_weighted(rule) : check_nodes(rule);
}

static dcl_status check_sizes(const char *what, int rank, const int64_t size[])
{
    for (int d = 0; d < rank; d++)
        if (size[d] < 1)
            return DCLI_FAIL(DCL_ERR_INVALID,
                             "%s[%d] is %" PRId64
                             "; expected at least 1 element; to leave axis %d uncut, give its full "
                             "extent",
                             what, d, size[d], d);
    return DCL_OK;
}

static dcl_status check_owners(const dcli_map_rule *rule)
{
    if (rule->deal != DCL_DEAL_TABLE && rule->list != NULL)
        return DCLI_FAIL(DCL_ERR_INVALID, "owners are listed and the map is not a table; expected rows:table or "
                                          "columns:table");
    if (rule->deal != DCL_DEAL_TABLE)
        return DCL_OK;
    if (rule->list == NULL || rule->list->count < 2)
        return DCLI_FAIL(DCL_ERR_INVALID, "the map is a table without owners; expected the node of every piece, as "
                                          "in ;owners=0*3,1");
    int64_t pieces = 0;
    char nodes[DCLI_NODES_TEXT];
    for (int64_t k = 0; k < rule->list->count; k += 2) {
        int64_t run = rule->list->value[k], node = rule->list->value[k + 1];
        if (node != DCL_NOWHERE && dcli_map_rule_place(rule, (int)dcli_min(node, INT32_MAX)) < 0)
            return DCLI_FAIL(DCL_ERR_INVALID,
                             "the owner of piece %" PRId64 " is node %" PRId64
                             "; expected one of the map's nodes: %s; or "
                             "DCL_NOWHERE; it has those of ;nodes=, else those that are alive",
                             pieces, node, dcli_map_rule_print_nodes(rule, nodes, sizeof nodes));
        if (run < 1 || run > DCLI_MOST_EXTENT - pieces)
            return DCLI_FAIL(DCL_ERR_INVALID,
                             "a run of %" PRId64 " pieces stands in the list of owners; expected 1..%" PRId64, run,
                             DCLI_MOST_EXTENT - pieces);
        pieces += run;
    }
    return DCL_OK;
}

static dcl_status check_dealt(const dcli_map_rule *rule)
{
    if ((unsigned)rule->order > DCL_COLUMNS)
        return DCLI_FAIL(DCL_ERR_INVALID, "order is %d; expected DCL_ROWS or DCL_COLUMNS", (int)rule->order);
    if ((unsigned)rule->deal > DCL_DEAL_TABLE)
        return DCLI_FAIL(DCL_ERR_INVALID, "deal is %d; expected DCL_DEAL_CYCLIC, DCL_DEAL_BLOCK or DCL_DEAL_HASH",
                         (int)rule->deal);
    if (rule->seed < 0 || rule->seed > INT32_MAX)
        return DCLI_FAIL(DCL_ERR_INVALID, "seed is %" PRId64 "; expected 0..%d", rule->seed, INT32_MAX);
    if (rule->seed > 0 && rule->deal != DCL_DEAL_HASH)
        return DCLI_FAIL(DCL_ERR_INVALID, "a seed is given, %" PRId64 ", and the pieces are not hashed; expected none",
                         rule->seed);
    dcl_status status = check_owners(rule);
    return status == DCL_OK ? check_sizes("piece", rule->rank, rule->piece) : status;
}

static dcl_status check_grain(const dcli_map_rule *rule, const char *what, int rank, const int64_t size[])
{
    if (rank < 0 || rank > DCL_MAX_RANK)
        return DCLI_FAIL(DCL_ERR_INVALID, "a %s has %d sizes; expected 1..%d", what, rank, DCL_MAX_RANK);
    if (rank != 0 && rule->rank != 0 && rank != rule->rank)
        return DCLI_FAIL(DCL_ERR_INVALID,
                         "a %s has %d sizes and the map divides %d axes; expected one size for each axis", what, rank,
                         rule->rank);
    return check_sizes(what, rank, size);
}

static dcl_status check_grains(const dcli_map_rule *rule)
{
    dcl_status status = check_grain(rule, "block", rule->block_rank, rule->block);
    if (status == DCL_OK)
        status = check_grain(rule, "tile", rule->tile_rank, rule->tile);
    if (status != DCL_OK)
        return status;
    if (rule->block_rank != 0 && rule->tile_rank != 0 && rule->block_rank != rule->tile_rank)
        return DCLI_FAIL(DCL_ERR_INVALID, "the block has %d sizes and the tile %d; expected one size for each axis",
                         rule->block_rank, rule->tile_rank);
    if (rule->tile_bytes < 0 || rule->block_bytes < 0 || rule->small_bytes < 0)
        return DCLI_FAIL(DCL_ERR_INVALID,
                         "tile_bytes, block_bytes, small_bytes are %" PRId64 ", %" PRId64 ", %" PRId64
                         "; expected at least 0 each",
                         rule->tile_bytes, rule->block_bytes, rule->small_bytes);
    return DCL_OK;
}

static dcl_status check_every(const dcli_map_rule *rule)
{
    int rank = rule->every_rank;
    if (rank < 0 || rank > DCL_MAX_RANK || (rank != 0 && rule->rank != 0 && rank != rule->rank))
        return DCLI_FAIL(DCL_ERR_INVALID,
                         "the map stores every so many-th element of %d axes (;every=) and divides %d; expected one "
                         "step for each axis",
                         rank, rule->rank);
    if (rank != 0 && rule->kind == DCLI_MAP_BOXES)
        return DCLI_FAIL(
            DCL_ERR_INVALID,
            "a map of listed boxes is to store every so many-th element only (;every=); expected a map per "
            "axis, or dealt: boxes are of the whole grid");
    for (int d = 0; d < rank; d++)
        if (rule->every[d] < 1)
            return DCLI_FAIL(DCL_ERR_INVALID,
                             "every[%d] is %" PRId64 "; expected a step of at least 1; 1 takes every index of axis %d",
                             d, rule->every[d], d);
    return DCL_OK;
}

dcl_status dcli_map_rule_check(const dcli_map_rule *rule)
{
    if (rule->node_count < 1 || rule->node_count > DCLI_MOST_MAP_NODES)
        return DCLI_FAIL(DCL_ERR_INVALID, "the map is for %d nodes; expected 1..%d", rule->node_count,
                         DCLI_MOST_MAP_NODES);
    if (rule->rank < 0 || rule->rank > DCL_MAX_RANK)
        return DCLI_FAIL(DCL_ERR_INVALID, "rank is %d; expected 1..%d, the dimensions of the grids served", rule->rank,
                         DCL_MAX_RANK);
    dcl_status status = dcli_nodes_check(rule);
    if (status != DCL_OK)
        return status;
    switch (rule->kind) {
    case DCLI_MAP_AXES:
        status = check_axes(rule);
        break;
    case DCLI_MAP_DEALT:
        status = check_dealt(rule);
        break;
    case DCLI_MAP_BOXES:
        status = dcli_boxes_check(rule);
        break;
    default:
        return DCLI_FAIL(DCL_ERR_INVALID, "the map is of kind %d; expected %d (per axis), %d (dealt) or %d (boxes)",
                         (int)rule->kind, DCLI_MAP_AXES, DCLI_MAP_DEALT, DCLI_MAP_BOXES);
    }
    if (status == DCL_OK)
        status = check_every(rule);
    if (status == DCL_OK)
        status = dcli_halo_check(rule);
    if (status == DCL_OK)
        status = dcli_overlap_check(rule);
    return status != DCL_OK ? status : check_grains(rule);
}

/* The smallest divisor of n that is larger than `after`; 0: none. Divisors above the square root are found by their
 * cofactors. */
static int next_divisor(int n, int after)
{
    int64_t d = after + 1;
    for (; d * d <= n; d++)
        if (n % d == 0)
            return (int)d;
    for (d = dcli_min(d, n / (after + 1)); d >= 1; d--)
        if (n % d == 0 && n / d > after)
            return (int)(n / d);
    return 0;
}

static bool power_reaches(int64_t base, int exponent, int64_t least)
{
    int64_t power = 1;
    for (int e = 0; e < exponent && power < least; e++)
        power *= base;
    return power >= least;
}

/* Write n as a product of `parts` non-increasing factors of at most `most`: the lexicographically smallest such
 * list. */
static bool split_nodes(int n, int parts, int most, int factor_out[])
{
    if (parts == 1) {
        factor_out[0] = n;
        return n <= most;
    }
    for (int d = next_divisor(n, 0); d != 0 && d <= most; d = next_divisor(n, d))
        if (power_reaches(d, parts, n) && split_nodes(n / d, parts - 1, d, factor_out + 1)) {
            factor_out[0] = d;
            return true;
        }
    return false;
}

/* Whether dcli_map_arrange() chooses the number of nodes along the axis: it is divided, and not by shares. */
static bool is_spread(const dcl_axis *axis) { return axis->kind != DCL_AXIS_WHOLE && axis->kind != DCL_AXIS_WEIGHTED; }

void dcli_map_arrange(int node_count, int rank, const dcl_axis axes[], int nodes_out[])
{
    int divided = 0, factor[DCL_MAX_RANK];
    for (int d = 0; d < rank; d++) {
        nodes_out[d] = axes[d].kind == DCL_AXIS_WEIGHTED ? (int)axes[d].count : 1;
        node_count /= nodes_out[d];
        divided += is_spread(&axes[d]);
    }
    if (divided > 0)
        split_nodes(node_count, divided, node_count, factor);
    for (int d = 0, next = 0; d < rank; d++)
        if (is_spread(&axes[d]))
            nodes_out[d] = factor[next++];
}

/* Bring an axis into one form, so that equal divisions compare equal: a cyclic axis without size has runs of one
 * element. */
static dcl_axis plain_axis(const dcl_axis *axis)
{
    bool ones = axis->kind == DCL_AXIS_CYCLIC && axis->size == 0;
    return (dcl_axis){.kind = axis->kind, .size = ones ? 1 : axis->size};
}

static bool axes_equal(const dcli_map_rule *a, const dcli_map_rule *b)
{
    for (int d = 0; d < listed_axes(a); d++) {
        dcl_axis axis_a = plain_axis(&a->axes[d]), axis_b = plain_axis(&b->axes[d]);
        if (axis_a.kind != axis_b.kind || axis_a.size != axis_b.size || !dcli_table_equal(a->points[d], b->points[d]))
            return false;
    }
    int nodes_a[DCL_MAX_RANK], nodes_b[DCL_MAX_RANK];
    dcli_map_arrange(a->node_count, a->rank, a->axes, nodes_a);
    dcli_map_arrange(b->node_count, b->rank, b->axes, nodes_b);
    bool made_a = is_balanced(a), made_b = is_balanced(b);
    for (int d = 0; d < a->rank; d++)
        if ((made_a ? nodes_a[d] : a->nodes[d]) != (made_b ? nodes_b[d] : b->nodes[d]))
            return false;
    return true;
}

static bool sizes_equal(int rank_a, const int64_t a[], int rank_b, const int64_t b[])
{
    if (rank_a != rank_b)
        return false;
    for (int d = 0; d < rank_a; d++)
        if (a[d] != b[d])
            return false;
    return true;
}

bool dcli_map_rule_equal(const dcli_map_rule *a, const dcli_map_rule *b)
{
    if (a->kind != b->kind || a->rank != b->rank || a->copies != b->copies || !dcli_nodes_equal(a, b))
        return false;
    if (!sizes_equal(a->block_rank, a->block, b->block_rank, b->block) ||
        !sizes_equal(a->tile_rank, a->tile, b->tile_rank, b->tile))
        return false;
    if (!sizes_equal(a->every_rank, a->every, b->every_rank, b->every) ||
        !dcli_fill_value_equal(a->fill_value, b->fill_value))
        return false;
    if (!dcli_halo_equal(a, b) || a->overlap != b->overlap)
        return false;
    if (a->tile_bytes != b->tile_bytes || a->block_bytes != b->block_bytes || a->small_bytes != b->small_bytes)
        return false;
    if (a->kind == DCLI_MAP_AXES)
        return axes_equal(a, b);
    if (a->kind == DCLI_MAP_BOXES)
        return dcli_table_equal(a->list, b->list);
    return a->order == b->order && a->deal == b->deal && a->seed == b->seed && dcli_table_equal(a->list, b->list) &&
           sizes_equal(a->rank, a->piece, b->rank, b->piece);
}
