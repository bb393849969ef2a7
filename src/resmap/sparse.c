/* resmap/sparse.c - constructors of maps that store only some elements. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/check.h"
#include "base/error.h"
#include "resmap/parts.h"

/* A piece that the caller lists as stored, and its owner. */
struct named {
    int64_t piece;
    int node;
};

static int by_piece(const void *a, const void *b)
{
    int64_t x = ((const struct named *)a)->piece, y = ((const struct named *)b)->piece;
    return (x > y) - (x < y);
}

static dcl_status check_pieces(int64_t all, int64_t count, const int64_t pieces[])
{
    if (count < 1)
        return DCLI_FAIL(DCL_ERR_INVALID, "%" PRId64 " pieces are named; expected at least one that is stored", count);
    if (pieces == NULL)
        return DCLI_FAIL(DCL_ERR_INVALID, "pieces is NULL; expected the numbers of the pieces that are stored");
    if (all < 1 || all > DCLI_MOST_EXTENT)
        return DCLI_FAIL(DCL_ERR_INVALID, "the grid has %" PRId64 " pieces; expected 1..%" PRId64, all,
                         DCLI_MOST_EXTENT);
    if (count > all) /* check the count before the list is read: a wrong one would read beyond it */
        return DCLI_FAIL(DCL_ERR_INVALID,
                         "%" PRId64 " pieces are named; the grid has %" PRId64 "; expected every piece at most once",
                         count, all);
    for (int64_t k = 0; k < count; k++)
        if (pieces[k] < 0 || pieces[k] >= all)
            return DCLI_FAIL(DCL_ERR_INVALID,
                             "pieces[%" PRId64 "] is %" PRId64 "; expected 0..%" PRId64 ", for the grid has %" PRId64
                             " pieces",
                             k, pieces[k], all - 1, all);
    return DCL_OK;
}

/* Write the table of owners of a sparse map: pairs (number of pieces, node), with DCL_NOWHERE for the pieces that are
 * not stored. @param all  number of pieces of the grid. @param named  [count] sorted by piece. @param pairs  [4 * count
 * + 2] @param runs_out  how many pairs. @return DCL_OK, or DCL_ERR_INVALID: a piece is named twice. */
static dcl_status list_runs(int64_t all, int64_t count, const struct named named[], int64_t pairs[], int64_t *runs_out)
{
    int64_t next = 0, *at = pairs;
    for (int64_t k = 0; k <= count; k++) {
        int64_t piece = k < count ? named[k].piece : all;
        if (piece < next)
            return DCLI_FAIL(DCL_ERR_INVALID, "piece %" PRId64 " is named twice; expected every piece once", piece);
        if (piece > next) {
            *at++ = piece - next;
            *at++ = DCL_NOWHERE;
        }
        if (k < count) {
            *at++ = 1;
            *at++ = named[k].node;
        }
        next = piece + 1;
    }
    *runs_out = (at - pairs) / 2;
    return DCL_OK;
}

/* Give the rule a table of owners in which the stored pieces are dealt to the places in turn. */
static dcl_status deal_named(dcli_map_rule *rule, int64_t all, int64_t count, const int64_t pieces[])
{
    struct named *named = dcli_calloc((size_t)count, sizeof named[0]);
    int64_t *pairs = dcli_calloc((size_t)count + 1, 4 * sizeof pairs[0]), runs = 0;
    dcl_status status = named != NULL && pairs != NULL ? DCL_OK : DCL_ERR_NOMEM;
    for (int64_t k = 0; k < count && status == DCL_OK; k++)
        named[k] = (struct named){.piece = pieces[k], .node = dcli_map_rule_node(rule, (int)(k % rule->node_count))};
    if (status == DCL_OK) {
        qsort(named, (size_t)count, sizeof named[0], by_piece);
        status = list_runs(all, count, named, pairs, &runs);
    }
    if (status == DCL_OK)
        status = dcli_map_rule_set_owners(rule, runs, pairs);
    dcli_free(pairs);
    dcli_free(named);
    return status;
}

static dcl_map *make_sparse(dcl_cluster *cluster, dcl_order order, int rank, const int64_t piece[], int64_t all,
                            int64_t count, const int64_t pieces[])
{
    dcli_map_rule rule;
    if (dcli_map_rule_for(cluster, &rule) != DCL_OK)
        return NULL;
    rule.kind = DCLI_MAP_DEALT;
    rule.order = order;
    rule.deal = DCL_DEAL_TABLE;
    rule.rank = rank;
    for (int d = 0; d < rank; d++)
        rule.piece[d] = piece != NULL ? piece[d] : 1;
    dcl_status status = deal_named(&rule, all, count, pieces);
    dcl_map *map = status == DCL_OK ? dcli_map_new(cluster, &rule) : NULL;
    dcli_map_rule_release(&rule);
    return map;
}

dcl_map *dcl_map_sparse(dcl_cluster *cluster, dcl_order order, int rank, const int64_t piece[], int64_t all,
                        int64_t count, const int64_t pieces[])
{
    dcli_error_enter_constructor(__func__);
    if (cluster == NULL)
        return NULL;
    dcl_status status = dcli_map_check_rank(rank);
    if (status == DCL_OK)
        status = check_pieces(all, count, pieces);
    return status == DCL_OK ? make_sparse(cluster, order, rank, piece, all, count, pieces) : NULL;
}

dcl_map *dcl_map_every(const dcl_map *map, int rank, const int64_t step[])
{
    dcli_error_enter_constructor(__func__);
    if (map == NULL)
        return NULL;
    dcl_status status = dcli_map_check_rank(rank);
    if (status == DCL_OK && step == NULL)
        status = DCLI_FAIL(DCL_ERR_INVALID, "step is NULL; expected a step for each axis, rank of them");
    if (status != DCL_OK)
        return NULL;
    dcli_map_rule rule = map->rule;
    rule.every_rank = rank;
    for (int d = 0; d < rank; d++)
        rule.every[d] = step[d];
    dcli_every_settle(&rule);
    return dcli_map_new(map->cluster, &rule);
}

dcl_map *dcl_map_with_rest(const dcl_map *map, double fill_value)
{
    dcli_error_enter_constructor(__func__);
    if (map == NULL)
        return NULL;
    dcli_map_rule rule = map->rule;
    rule.fill_value = isnan(fill_value) ? (double)NAN : fill_value;
    return dcli_map_new(map->cluster, &rule);
}
