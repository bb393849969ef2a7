/* runtime/combine.c - combines the partial results of many nodes up a tree, and keeps the bodies that combine.
 *
 * Each step is an ordinary operation. Of f nodes after each other, the first one combines the slots of all; then of f of these, and so
 * on, until node 0 of the map has one. So the partial results of N nodes take N - 1 messages. */
#include <string.h>

#include "base/alloc.h"
#include "base/check.h"
#include "kernel/element.h"
#include "runtime/partials.h"

/* The text of a body. */
struct dcli_combination {
    dcli_fold fold;
    dcl_type type;
    int rank, how;
    char *text, *prelude;
    struct dcli_combination *next;
};

void dcli_combinations_free(dcl_cluster *cluster)
{
    while (cluster->combinations != NULL) {
        struct dcli_combination *next = cluster->combinations->next;
        dcli_free(cluster->combinations->text);
        dcli_free(cluster->combinations->prelude);
        dcli_free(cluster->combinations);
        cluster->combinations = next;
    }
}

dcl_status dcli_combination_get(dcl_cluster *cluster, dcli_fold fold, dcl_type type, int rank, int how,
                                const char **text_out, const char **prelude_out)
{
    struct dcli_combination *one = cluster->combinations;
    dcl_status status = DCL_OK;
    while (one != NULL && !(one->fold == fold && one->type == type && one->rank == rank && one->how == how))
        one = one->next;
    if (one == NULL) {
        one = dcli_malloc(sizeof *one);
        if (one == NULL)
            return DCL_ERR_NOMEM;
        *one = (struct dcli_combination){fold, type, rank, how, NULL, NULL, cluster->combinations};
        if (how == DCLI_COMBINE_SLOTS || how == DCLI_COMBINE_ROWS)
            status = dcli_tree_source(fold, type, how == DCLI_COMBINE_ROWS, &one->text, &one->prelude);
        else
            status = dcli_element_source(fold, type, rank, (how & DCLI_COMBINE_INTO) != 0,
                                         (how & DCLI_COMBINE_TOP) != 0, &one->text, &one->prelude);
        if (status != DCL_OK) {
            dcli_free(one);
            return status;
        }
        cluster->combinations = one;
    }
    *text_out = one->text;
    *prelude_out = one->prelude;
    return DCL_OK;
}

/* Children of a node in the tree, itself included. */
static int64_t fan(const dcl_cluster *cluster) { return dcli_max((int64_t)cluster->config.fanout, 2); }

int dcli_tree_steps(const dcl_cluster *cluster, int computing)
{
    int steps = 0;
    if (computing <= fan(cluster))
        return 0;
    for (int64_t apart = 1; apart < cluster->node_count; apart *= fan(cluster))
        steps++;
    return steps;
}

/* Make an array of slots with one result, a row per node. */
static dcl_status make_level(const dcli_tree *tree, int number, dcl_array **level_in_out)
{
    if (*level_in_out != NULL)
        return DCL_OK;
    dcl_map *map = dcli_map_new_rows(tree->cluster);
    if (map == NULL)
        return dcli_error_status();
    dcl_grid grid = dcl_grid_2d(DCL_INT64, map->rule.node_count, dcli_slot_longs(1));
    dcl_status status = tree->look != NULL ? dcli_array_imagine(tree->cluster, &grid, map, number, level_in_out)
                                           : dcli_array_make(tree->cluster, &grid, map, false, level_in_out);
    dcl_map_release(map);
    if (status == DCL_OK)
        (*level_in_out)->hidden = true;
    return status;
}

/* Combine the slots of `apart` nodes each to those of `fan` times as many. @param from  partial results if `apart` is 1, else rows. */
static dcl_status climb(const dcli_tree *tree, int r, const dcli_result *result, dcl_type type, int64_t apart,
                        dcl_array *from, dcl_array *to)
{
    const dcl_grid *grid = dcli_array_grid(to);
    bool rows = apart > 1;
    const char *text, *prelude;
    dcl_status status = dcli_combination_get(tree->cluster, result->fold, type, 0,
                                             rows ? DCLI_COMBINE_ROWS : DCLI_COMBINE_SLOTS, &text, &prelude);
    if (status != DCL_OK)
        return status;
    int64_t step = rows ? grid->extent[1] : dcli_slot_longs(tree->results), words = dcli_array_grid(from)->extent[0];
    int64_t part = rows ? apart : words / grid->extent[0];
    dcl_box box = dcl_box_of(grid);
    box.stride[0] = apart * fan(tree->cluster);
    box.count[0] = (grid->extent[0] - 1) / box.stride[0] + 1;
    dcl_arg args[] = {dcl_arg_array(DCL_ACCESS_OUT, DCLI_TREE, to),
                      dcl_arg_array(DCL_ACCESS_IN, DCLI_ELEMENT_WORDS, from),
                      dcl_arg_signed(DCLI_ELEMENT_FIRST, DCL_INT64, rows ? 1 : 1 + (int64_t)r * DCLI_PARTIAL_LONGS),
                      dcl_arg_signed(DCLI_ELEMENT_STEP, DCL_INT64, step),
                      dcl_arg_signed(DCLI_ELEMENT_COUNT, DCL_INT64, fan(tree->cluster) * (rows ? 1 : part / step)),
                      dcl_arg_signed(DCLI_ELEMENT_STAMP, DCL_INT64, tree->stamp),
                      dcl_arg_signed(DCLI_TREE_APART, DCL_INT64, part),
                      dcl_arg_signed(DCLI_TREE_LAST, DCL_INT64, words - 1),
                      dcl_arg_prelude(prelude)};
    int count = sizeof args / sizeof args[0];
    if (tree->look != NULL)
        return dcli_forall_planned(tree->cluster, &box, text, DCLI_TEXT_BODY, count, args, tree->look->on,
                                   tree->look->user);
    return dcli_forall_start(tree->cluster, &box, text, DCLI_TEXT_BODY, count, args);
}

dcl_status dcli_tree_combine(const dcli_tree *tree, int r, const dcli_result *result, dcl_type type,
                             dcl_array *level_in_out[2], dcl_array **top_out)
{
    dcl_array *from = tree->partials;
    int turn = 0;
    for (int64_t apart = 1; apart < tree->partials->layout.rule.node_count; apart *= fan(tree->cluster), turn ^= 1) {
        dcl_status status = make_level(tree, 2 + 2 * r + turn, &level_in_out[turn]);
        if (status == DCL_OK)
            status = climb(tree, r, result, type, apart, from, level_in_out[turn]);
        if (status != DCL_OK)
            return status;
        from = level_in_out[turn];
    }
    *top_out = from;
    return DCL_OK;
}
