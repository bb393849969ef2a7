/* resmap/map.c - the handle of a map, and the functions that make one. */
#include <inttypes.h>

#include "base/alloc.h"
#include "base/check.h"
#include "base/error.h"
#include "resmap/map_text.h"
#include "resmap/parts.h"

static dcl_status list_live(const dcl_cluster *cluster, dcli_map_rule *rule)
{
    dcli_node_range live[DCLI_NODE_RANGES + 1]; /* one more than a rule can have, so that too many are noticed below */
    int count = dcli_map_host_of(cluster)->live(cluster, DCLI_NODE_RANGES + 1, live);
    if (count == 0)
        return DCLI_FAIL(DCL_ERR_NODE_LOST,
                         "no node of the cluster is left; expected at least one; open a new cluster");
    dcl_status status = DCL_OK;
    for (int r = 0; r < count && status == DCL_OK; r++)
        status = dcli_map_rule_add_nodes(rule, live[r].first, live[r].count);
    dcli_map_rule_end_nodes(rule, dcli_map_host_of(cluster)->node_count(cluster));
    return status;
}

dcl_status dcli_map_rule_for(const dcl_cluster *cluster, dcli_map_rule *rule_out)
{
    const dcl_config *config = dcli_map_host_of(cluster)->config(cluster);
    *rule_out = (dcli_map_rule){.tile_bytes = (int64_t)config->tile_bytes, .block_bytes = (int64_t)config->block_bytes};
    return list_live(cluster, rule_out);
}

dcl_map *dcli_map_new(dcl_cluster *cluster, const dcli_map_rule *rule)
{
    if (dcli_map_rule_check(rule) != DCL_OK)
        return NULL;
    dcl_map *map = dcli_calloc(1, sizeof *map);
    if (map == NULL)
        return NULL;
    *map = (dcl_map){.references = 1, .cluster = cluster, .rule = *rule};
    dcli_map_rule_retain(rule);
    return map;
}

dcl_map *dcli_map_new_unfilled(const dcl_map *map)
{
    dcli_map_rule rule = map->rule;
    rule.fill_value = 0;
    return dcli_map_new(map->cluster, &rule);
}

dcl_status dcli_map_check_rank(int rank)
{
    if (rank < 1 || rank > DCL_MAX_RANK)
        return DCLI_FAIL(DCL_ERR_INVALID, "rank is %d; expected 1..%d, the dimensions of the grids served", rank,
                         DCL_MAX_RANK);
    return DCL_OK;
}

/* Copy the points of checked axes into the rule. */
static dcl_status copy_points(int rank, const dcl_axis axes[], dcli_map_rule *rule)
{
    dcl_status status = DCL_OK;
    for (int d = 0; d < rank && status == DCL_OK; d++)
        if (dcli_has_points(&axes[d]))
            status = dcli_map_rule_set_points(rule, d, axes[d].count, axes[d].points);
    return status;
}

static dcl_map *make_axes(dcl_cluster *cluster, int rank, const dcl_axis axes[], const int nodes[])
{
    if (dcli_map_check_rank(rank) != DCL_OK)
        return NULL;
    if (axes == NULL) {
        DCLI_FAIL(DCL_ERR_INVALID, "axes is NULL; expected %d rules, one for each axis", rank);
        return NULL;
    }
    dcli_map_rule rule;
    if (dcli_map_rule_for(cluster, &rule) != DCL_OK)
        return NULL;
    rule.kind = DCLI_MAP_AXES;
    rule.rank = rank;
    for (int d = 0; d < rank; d++) {
        rule.axes[d] = axes[d];
        rule.nodes[d] = nodes != NULL ? nodes[d] : 0;
        if (nodes != NULL && nodes[d] < 1) { /* 0 must not be accepted here: in a rule it means that nodes are
                                                arranged automatically */
            DCLI_FAIL(
                DCL_ERR_INVALID,
                "nodes[%d] is %d; expected at least 1 node along every axis; pass NULL to have an arrangement made", d,
                nodes[d]);
            return NULL;
        }
    }
    if (dcli_map_rule_check(&rule) != DCL_OK)
        return NULL;
    dcl_status status = copy_points(rank, axes, &rule);
    dcl_map *map = status == DCL_OK ? dcli_map_new(cluster, &rule) : NULL;
    dcli_map_rule_release(&rule);
    return map;
}

dcl_map *dcl_map_axes(dcl_cluster *cluster, int rank, const dcl_axis axes[], const int nodes[])
{
    dcli_error_enter_constructor(__func__);
    return cluster != NULL ? make_axes(cluster, rank, axes, nodes) : NULL;
}

static dcl_status dealt_rule(dcl_cluster *cluster, dcl_order order, dcl_deal deal, int rank, const int64_t piece[],
                             dcli_map_rule *rule_out)
{
    dcl_status status = dcli_map_rule_for(cluster, rule_out);
    rule_out->kind = DCLI_MAP_DEALT;
    rule_out->order = order;
    rule_out->deal = deal;
    rule_out->rank = rank;
    for (int d = 0; d < rank; d++)
        rule_out->piece[d] = piece != NULL ? piece[d] : 1;
    return status;
}

static dcl_map *make_dealt(dcl_cluster *cluster, dcl_order order, dcl_deal deal, int rank, const int64_t piece[])
{
    dcli_map_rule rule;
    if (dealt_rule(cluster, order, deal, rank, piece, &rule) != DCL_OK)
        return NULL;
    return dcli_map_new(cluster, &rule);
}

dcl_map *dcl_map_dealt(dcl_cluster *cluster, dcl_order order, dcl_deal deal, int rank, const int64_t piece[])
{
    dcli_error_enter_constructor(__func__);
    if (cluster == NULL)
        return NULL;
    bool any_rank = rank == 0 && piece == NULL;
    bool right = any_rank || dcli_map_check_rank(rank) == DCL_OK;
    if (right && deal == DCL_DEAL_TABLE) {
        DCLI_FAIL(DCL_ERR_INVALID, "deal is DCL_DEAL_TABLE; expected another, for no owners are given here; call "
                                   "dcl_map_table()");
        right = false;
    }
    return right ? make_dealt(cluster, order, deal, rank, piece) : NULL;
}

dcl_map *dcl_map_hash(dcl_cluster *cluster, dcl_order order, int rank, const int64_t piece[], int64_t seed)
{
    dcli_error_enter_constructor(__func__);
    if (cluster == NULL)
        return NULL;
    dcli_map_rule rule;
    bool any_rank = rank == 0 && piece == NULL;
    bool right = any_rank || dcli_map_check_rank(rank) == DCL_OK;
    if (!right || dealt_rule(cluster, order, DCL_DEAL_HASH, rank, piece, &rule) != DCL_OK)
        return NULL;
    rule.seed = seed;
    return dcli_map_new(cluster, &rule);
}

static dcl_map *make_table(dcl_cluster *cluster, dcl_order order, int rank, const int64_t piece[], int64_t count,
                           const int owners[])
{
    dcli_map_rule rule;
    if (dealt_rule(cluster, order, DCL_DEAL_TABLE, rank, piece, &rule) != DCL_OK)
        return NULL;
    int64_t *pairs = dcli_calloc((size_t)count, 2 * sizeof pairs[0]), runs = 0;
    if (pairs == NULL)
        return NULL;
    for (int64_t k = 0; k < count; k++) {
        runs += k == 0 || owners[k] != owners[k - 1];
        pairs[2 * runs - 2]++;
        pairs[2 * runs - 1] = owners[k];
    }
    dcl_status status = dcli_map_rule_set_owners(&rule, runs, pairs);
    dcli_free(pairs);
    dcl_map *map = status == DCL_OK ? dcli_map_new(cluster, &rule) : NULL;
    dcli_map_rule_release(&rule);
    return map;
}

dcl_map *dcl_map_table(dcl_cluster *cluster, dcl_order order, int rank, const int64_t piece[], int64_t count,
                       const int owners[])
{
    dcli_error_enter_constructor(__func__);
    if (cluster == NULL)
        return NULL;
    dcl_status status = dcli_map_check_rank(rank);
    if (status == DCL_OK && count < 1)
        status = DCLI_FAIL(DCL_ERR_INVALID, "%" PRId64 " owners are given; expected a node for every piece", count);
    if (status == DCL_OK && owners == NULL)
        status = DCLI_FAIL(DCL_ERR_INVALID, "owners is NULL; expected a node for every piece");
    return status == DCL_OK ? make_table(cluster, order, rank, piece, count, owners) : NULL;
}

/* How a grid is cut into pieces: how many along each axis and in all, and the order in which they are numbered. */
struct pieces {
    int rank;
    bool by_rows;
    int64_t along[DCL_MAX_RANK], total;
};

static dcl_status count_pieces(dcl_order order, int rank, const int64_t piece[], const dcl_grid *grid,
                               struct pieces *out)
{
    if (grid == NULL || dcli_grid_check(grid) != DCL_OK)
        return grid != NULL ? DCL_ERR_INVALID
                            : DCLI_FAIL(DCL_ERR_INVALID, "grid is NULL; expected the grid whose pieces are dealt");
    if (grid->rank != rank)
        return DCLI_FAIL(DCL_ERR_INVALID, "the grid has rank %d; expected %d, the rank of the map", grid->rank, rank);
    *out = (struct pieces){.rank = rank, .by_rows = order == DCL_ROWS, .total = 1};
    for (int d = 0; d < rank; d++) {
        int64_t size = piece != NULL ? piece[d] : 1;
        if (size < 1)
            return DCLI_FAIL(DCL_ERR_INVALID, "piece[%d] is %" PRId64 "; expected at least 1 element", d, size);
        out->along[d] = dcli_ceil_div(grid->extent[d], size);
        out->total = dcli_min(out->total * dcli_min(out->along[d], DCLI_MOST_PIECES + 1), DCLI_MOST_PIECES + 1);
    }
    if (out->total > DCLI_MOST_PIECES || out->total < 1)
        return DCLI_FAIL(DCL_ERR_INVALID, "the grid has %s pieces; expected 1..%" PRId64 "; use larger pieces",
                         out->total < 1 ? "no" : "too many", DCLI_MOST_PIECES);
    return DCL_OK;
}

static void ask_owners(const struct pieces *pieces, dcl_owner_fn *owner, void *user, int owners_out[])
{
    for (int64_t number = 0; number < pieces->total; number++) {
        int64_t at[DCL_MAX_RANK] = {0}, rest = number;
        for (int level = pieces->rank - 1; level >= 0; level--) {
            int d = pieces->by_rows ? level : pieces->rank - 1 - level;
            at[d] = rest % pieces->along[d];
            rest /= pieces->along[d];
        }
        owners_out[number] = owner(user, at);
    }
}

static dcl_map *make_function(dcl_cluster *cluster, dcl_order order, int rank, const int64_t piece[],
                              const struct pieces *pieces, dcl_owner_fn *owner, void *user)
{
    int *owners = dcli_calloc((size_t)pieces->total, sizeof owners[0]);
    if (owners == NULL)
        return NULL;
    ask_owners(pieces, owner, user, owners);
    dcl_map *map = make_table(cluster, order, rank, piece, pieces->total, owners);
    dcli_free(owners);
    return map;
}

dcl_map *dcl_map_function(dcl_cluster *cluster, dcl_order order, int rank, const int64_t piece[], const dcl_grid *grid,
                          dcl_owner_fn *owner, void *user)
{
    dcli_error_enter_constructor(__func__);
    if (cluster == NULL)
        return NULL;
    struct pieces pieces = {0};
    dcl_status status = dcli_map_check_rank(rank);
    if (status == DCL_OK && owner == NULL)
        status = DCLI_FAIL(DCL_ERR_INVALID, "owner is NULL; expected a function that gives the node of a piece");
    if (status == DCL_OK)
        status = count_pieces(order, rank, piece, grid, &pieces);
    return status == DCL_OK ? make_function(cluster, order, rank, piece, &pieces, owner, user) : NULL;
}

static dcl_status check_listed(int count, const dcl_box boxes[], const int nodes[])
{
    if (count < 1)
        return DCLI_FAIL(DCL_ERR_INVALID, "%d boxes are given; expected at least one, and a node for each", count);
    if (boxes == NULL || nodes == NULL)
        return DCLI_FAIL(DCL_ERR_INVALID, "%s is NULL; expected boxes, and a node for each",
                         boxes == NULL ? "boxes" : "nodes");
    for (int k = 0; k < count; k++) {
        if (boxes[k].rank != boxes[0].rank || boxes[k].rank < 1 || boxes[k].rank > DCL_MAX_RANK)
            return DCLI_FAIL(DCL_ERR_INVALID, "boxes[%d] has rank %d; expected all of one rank, 1..%d", k,
                             boxes[k].rank, DCL_MAX_RANK);
        for (int d = 0; d < boxes[k].rank; d++)
            if (boxes[k].stride[d] != 1 && boxes[k].count[d] > 1)
                return DCLI_FAIL(DCL_ERR_INVALID,
                                 "boxes[%d].stride[%d] is %" PRId64 "; expected 1: a map has boxes "
                                 "without gaps",
                                 k, d, boxes[k].stride[d]);
    }
    return DCL_OK;
}

static dcl_map *make_listed(dcl_cluster *cluster, int count, const dcl_box boxes[], const int nodes[])
{
    dcli_map_rule rule;
    if (dcli_map_rule_for(cluster, &rule) != DCL_OK)
        return NULL;
    rule.kind = DCLI_MAP_BOXES;
    rule.rank = boxes[0].rank;
    if (dcli_map_rule_set_boxes(&rule, count, boxes, nodes) != DCL_OK)
        return NULL;
    dcl_map *map = dcli_map_new(cluster, &rule);
    dcli_map_rule_release(&rule);
    return map;
}

dcl_map *dcl_map_listed(dcl_cluster *cluster, int count, const dcl_box boxes[], const int nodes[])
{
    dcli_error_enter_constructor(__func__);
    if (cluster == NULL)
        return NULL;
    bool right = check_listed(count, boxes, nodes) == DCL_OK;
    return right ? make_listed(cluster, count, boxes, nodes) : NULL;
}

dcl_map *dcl_map_block_cyclic(dcl_cluster *cluster, int rank, const int64_t piece[])
{
    dcli_error_enter_constructor(__func__);
    if (cluster == NULL)
        return NULL;
    dcl_status status = dcli_map_check_rank(rank);
    if (status == DCL_OK && piece == NULL)
        status = DCLI_FAIL(DCL_ERR_INVALID, "piece is NULL; expected %d sizes, one for each axis", rank);
    return status == DCL_OK ? make_dealt(cluster, DCL_ROWS, DCL_DEAL_CYCLIC, rank, piece) : NULL;
}

static dcl_map *make_block(dcl_cluster *cluster, int64_t small_bytes)
{
    dcli_map_rule rule;
    if (dcli_map_rule_for(cluster, &rule) != DCL_OK)
        return NULL;
    rule.kind = DCLI_MAP_AXES;
    rule.axes[0].kind = DCL_AXIS_BLOCK;
    rule.small_bytes = small_bytes;
    return dcli_map_new(cluster, &rule);
}

dcl_map *dcl_map_block(dcl_cluster *cluster)
{
    dcli_error_enter_constructor(__func__);
    return cluster != NULL ? make_block(cluster, 0) : NULL;
}

dcl_map *dcli_map_new_block(dcl_cluster *cluster) { return make_block(cluster, 0); }

dcl_map *dcli_map_new_rows(dcl_cluster *cluster)
{
    dcli_map_rule rule;
    if (dcli_map_rule_for(cluster, &rule) != DCL_OK)
        return NULL;
    rule.kind = DCLI_MAP_AXES;
    rule.rank = 2;
    rule.axes[0].kind = DCL_AXIS_BLOCK;
    rule.nodes[0] = rule.node_count;
    rule.nodes[1] = 1;
    return dcli_map_new(cluster, &rule);
}

static dcl_map *make_replicated(dcl_cluster *cluster, int copies)
{
    dcli_map_rule rule;
    if (dcli_map_rule_for(cluster, &rule) != DCL_OK)
        return NULL;
    rule.kind = DCLI_MAP_AXES;
    rule.copies = copies == 0 ? rule.node_count : copies;
    return dcli_map_new(cluster, &rule);
}

dcl_map *dcl_map_replicated(dcl_cluster *cluster, int copies)
{
    dcli_error_enter_constructor(__func__);
    return cluster != NULL ? make_replicated(cluster, copies) : NULL;
}

static dcl_map *make_parsed(dcl_cluster *cluster, const char *text)
{
    if (text == NULL) {
        DCLI_FAIL(DCL_ERR_INVALID, "text is NULL; expected a map such as block or rows:cyclic(2x2)");
        return NULL;
    }
    dcli_map_rule given, rule;
    if (dcli_map_rule_for(cluster, &given) != DCL_OK ||
        dcli_map_rule_parse_over(text, dcli_map_host_of(cluster)->node_count(cluster), &given, &rule) != DCL_OK)
        return NULL;
    rule.tile_bytes = given.tile_bytes;
    rule.block_bytes = given.block_bytes;
    dcl_map *map = dcli_map_new(cluster, &rule);
    dcli_map_rule_release(&rule);
    return map;
}

dcl_map *dcl_map_default(dcl_cluster *cluster)
{
    dcli_error_enter_constructor(__func__);
    if (cluster == NULL)
        return NULL;
    const dcl_config *config = dcli_map_host_of(cluster)->config(cluster);
    return config->map != NULL ? make_parsed(cluster, config->map) : make_block(cluster, (int64_t)config->small_bytes);
}

dcl_map *dcl_map_parse(dcl_cluster *cluster, const char *text)
{
    dcli_error_enter_constructor(__func__);
    return cluster != NULL ? make_parsed(cluster, text) : NULL;
}

dcl_map *dcl_map_with_grains(const dcl_map *map, int rank, const int64_t block[], const int64_t tile[])
{
    dcli_error_enter_constructor(__func__);
    if (map == NULL)
        return NULL;
    if (dcli_map_check_rank(rank) != DCL_OK)
        return NULL;
    dcli_map_rule rule = map->rule;
    if (block != NULL)
        rule.block_rank = rank;
    if (tile != NULL)
        rule.tile_rank = rank;
    for (int d = 0; d < rank; d++) {
        if (block != NULL)
            rule.block[d] = block[d];
        if (tile != NULL)
            rule.tile[d] = tile[d];
    }
    return dcli_map_new(map->cluster, &rule);
}

/* Fill a rule's list of nodes from numbers in any order. */
static dcl_status list_nodes(const dcl_cluster *cluster, int count, const int nodes[], dcli_map_rule *rule)
{
    int all = dcli_map_host_of(cluster)->node_count(cluster);
    bool *listed = dcli_calloc((size_t)all, sizeof *listed);
    dcl_status status = listed != NULL ? DCL_OK : DCL_ERR_NOMEM;
    for (int k = 0; k < count && status == DCL_OK; k++) {
        if (nodes[k] < 0 || nodes[k] >= all)
            status = DCLI_FAIL(DCL_ERR_INVALID, "nodes[%d] is %d; expected a node of the cluster, 0..%d", k, nodes[k],
                               all - 1);
        else if (listed[nodes[k]])
            status = DCLI_FAIL(DCL_ERR_INVALID, "nodes[%d] is %d again; expected every node once", k, nodes[k]);
        else
            listed[nodes[k]] = true;
    }
    rule->node_count = rule->range_count = 0;
    for (int node = 0; node < all && status == DCL_OK; node++)
        if (listed[node])
            status = dcli_map_rule_add_nodes(rule, node, 1);
    dcli_map_rule_end_nodes(rule, all);
    dcli_free(listed);
    return status;
}

static dcl_map *make_on(const dcl_map *map, int count, const int nodes[])
{
    if (count < 1 || nodes == NULL) {
        if (count < 1)
            DCLI_FAIL(DCL_ERR_INVALID, "%d nodes are given; expected the numbers of one or more", count);
        else
            DCLI_FAIL(DCL_ERR_INVALID, "nodes is NULL; expected the numbers of nodes");
        return NULL;
    }
    dcli_map_rule rule = map->rule;
    bool all = rule.copies == rule.node_count;
    if (list_nodes(map->cluster, count, nodes, &rule) != DCL_OK)
        return NULL;
    rule.copies = all && rule.copies > 0 ? rule.node_count : rule.copies;
    return dcli_map_new(map->cluster, &rule);
}

dcl_map *dcl_map_on(const dcl_map *map, int count, const int nodes[])
{
    dcli_error_enter_constructor(__func__);
    return map != NULL ? make_on(map, count, nodes) : NULL;
}

dcl_map *dcl_map_retain(dcl_map *map)
{
    if (map != NULL)
        __atomic_fetch_add(&map->references, 1, __ATOMIC_RELAXED);
    return map;
}

void dcl_map_release(dcl_map *map)
{
    if (map == NULL || __atomic_sub_fetch(&map->references, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    while (map->bound != NULL) {
        dcli_bound_layout *bound = map->bound;
        map->bound = bound->next;
        dcli_layout_release(&bound->layout);
        dcli_free(bound);
    }
    dcli_map_rule_release(&map->rule);
    dcli_free(map);
}

int dcl_map_node_count(const dcl_map *map) { return map != NULL ? map->rule.node_count : 0; }

int dcl_map_node(const dcl_map *map, int place)
{
    return map != NULL && place >= 0 && place < map->rule.node_count ? dcli_map_rule_node(&map->rule, place) : -1;
}

/* Print the map's rule. Text without `;nodes=` is parsed as a map over all nodes alive; therefore a map over all nodes
 * is printed with its nodes as soon as some are lost. */
size_t dcl_map_print(const dcl_map *map, char *text_out, size_t capacity)
{
    if (map == NULL)
        return 0;
    dcli_map_rule rule = map->rule;
    dcli_node_range live, all = {.first = 0, .count = rule.node_count};
    if (rule.range_count == 0 &&
        (dcli_map_host_of(map->cluster)->live(map->cluster, 1, &live) != 1 || live.count != all.count))
        rule.range[rule.range_count++] = all;
    return dcli_map_rule_print(&rule, text_out, capacity);
}

bool dcl_map_equal(const dcl_map *a, const dcl_map *b)
{
    return a == b || (a != NULL && b != NULL && dcli_map_rule_equal(&a->rule, &b->rule));
}
