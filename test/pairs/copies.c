/* pairs/copies.c - see copies.h. */
#include "pairs/copies.h"

#include "pairs/counts.h"

bool test_copy(const test_model *from, test_model *to)
{
    test_counts counts = test_counts_begin(dcl_cluster_of(from->array));
    for (int64_t e = 0; e < from->total; e++)
        test_counts_element(&counts, to->owner[e], from, e);
    bool good = test_counts_before(&counts);
    for (int n = 0; good && n <= counts.nodes; n++)
        good = test_done("explain copy", dcl_call_explain(DCL_CALL_COPY(from->array, to->array),
                                                          test_counts_node(&counts, n), &counts.planned[n]));
    dcl_report *report = good ? dcl_call_report(DCL_CALL_COPY(from->array, to->array), DCL_ALL_NODES) : NULL;
    good = good && test_counts_report(&counts, report);
    dcl_report_release(report);
    for (int64_t e = 0; e < to->total; e++)
        if (to->owner[e] >= 0)
            to->value[e] = from->value[e];
    return good && test_done("dcl_copy", dcl_copy(from->array, to->array)) && test_counts_agree(&counts);
}

/* The new owners, after what moves from the old ones was counted. */
static bool take_owners(test_counts *counts, test_model *model)
{
    bool good = true;
    for (int64_t e = 0; good && e < model->total; e++) {
        int64_t index[DCL_MAX_RANK], offset;
        int owner = -1;
        test_index(&model->grid, e, index);
        good =
            test_done("dcl_map_locate", dcl_map_locate(dcl_map_of(model->array), &model->grid, index, &owner, &offset));
        test_counts_element(counts, owner, model, e);
        model->owner[e] = owner;
        if (owner < 0)
            model->value[e] = model->fill_value;
    }
    return good;
}

bool test_remap(test_model *model, const test_model *like, unsigned flags)
{
    test_counts counts = test_counts_begin(dcl_cluster_of(model->array));
    dcl_map *map = (dcl_map *)dcl_map_of(like->array);
    bool good = test_counts_before(&counts);
    for (int n = 0; good && n <= counts.nodes; n++)
        good = test_done("explain remap", dcl_call_explain(DCL_CALL_REMAP(model->array, map, flags),
                                                           test_counts_node(&counts, n), &counts.planned[n]));
    dcl_report *report = good ? dcl_call_report(DCL_CALL_REMAP(model->array, map, flags), DCL_ALL_NODES) : NULL;
    if (!good || !test_done("dcl_remap_with", dcl_remap_with(model->array, map, flags))) {
        dcl_report_release(report);
        return false;
    }
    model->fill_value = like->fill_value;
    bool located = take_owners(&counts, model) && test_counts_report(&counts, report);
    dcl_report_release(report);
    model->copied = test_keeps_copies(map, &model->grid);
    return located && test_counts_agree(&counts) &&
           (flags != 0 || dcl_map_equal(dcl_map_of(model->array), map) ||
            test_failed("%s has another map than it was given", model->name));
}
