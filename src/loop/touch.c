/* loop/touch.c - which elements of an array a nest reads and writes. */
#include <isl/ilp.h>
#include <isl/local_space.h>
#include <isl/val.h>

#include "base/alloc.h"
#include "base/error.h"
#include "loop/inside.h"

/* Add what an access touches to a set of elements; NULL: none yet. */
static isl_set *add_touched(isl_set *all, isl_map *access, isl_set *domain)
{
    isl_set *set = isl_map_range(isl_map_intersect_domain(isl_map_copy(access), isl_set_copy(domain)));
    return all == NULL ? set : isl_set_union(all, set);
}

/* The elements of an array that are written, or read; NULL: none, or sets->failed. */
static isl_set *touched(const dcli_loops_plan *plan, int array, bool written)
{
    const dcli_loops_sets *sets = plan->sets;
    isl_set *all = NULL;
    for (int s = 0; s < plan->tree->statement_count; s++) {
        const dcli_loops_statement *statement = &plan->tree->statement[s];
        if (written && statement->target.is_array && statement->target.symbol == array)
            all = add_touched(all, sets->write[s], sets->domain[s]);
        for (int r = 0; !written && r < statement->read_count; r++)
            if (statement->read[r].is_array && statement->read[r].symbol == array)
                all = add_touched(all, sets->read[s][r], sets->domain[s]);
    }
    return all;
}

/* The least or the greatest index of a set along an axis. */
static int64_t end_of(dcli_loops_sets *sets, isl_set *set, int axis, bool greatest)
{
    isl_aff *index =
        isl_aff_var_on_domain(isl_local_space_from_space(isl_set_get_space(set)), isl_dim_set, (unsigned)axis);
    isl_val *value = greatest ? isl_set_max_val(set, index) : isl_set_min_val(set, index);
    isl_aff_free(index);
    bool known = value != NULL && isl_val_is_int(value) == isl_bool_true;
    int64_t number = known ? isl_val_get_num_si(value) : 0;
    sets->failed |= !known;
    isl_val_free(value);
    return number;
}

/* Compute what is touched. @return false: sets->failed. */
static bool find(dcli_loops_plan *plan, int array, bool written, dcli_loops_touched *out)
{
    dcli_loops_sets *sets = plan->sets;
    const dcl_grid *grid = &plan->tree->name[array].grid;
    isl_ctx_set_max_operations(sets->ctx, 0); /* the plan was made within its limit */
    isl_set *set = touched(plan, array, written);
    *out = (dcli_loops_touched){.known = true, .all = true, .box.rank = grid->rank};
    for (int d = 0; d < grid->rank; d++)
        out->box.stride[d] = 1;
    if (set != NULL && dcli_loops_no_set(sets, isl_set_copy(set)))
        set = isl_set_free(set);
    if (set != NULL) {
        for (int d = 0; d < grid->rank; d++) {
            out->box.start[d] = end_of(sets, set, d, false);
            out->box.count[d] = end_of(sets, set, d, true) - out->box.start[d] + 1;
        }
        isl_set *box = dcli_loops_box(sets, isl_set_copy(set));
        out->all = dcli_loops_no_set(sets, isl_set_subtract(box, set));
    }
    return !sets->failed;
}

dcl_status dcli_loops_plan_touches(dcli_loops_plan *plan, int array, bool written, dcl_box *box_out, bool *all_out)
{
    if (plan->touched == NULL) {
        plan->touched = dcli_calloc(2 * (size_t)plan->tree->name_count, sizeof *plan->touched);
        if (plan->touched == NULL)
            return DCL_ERR_NOMEM;
    }
    dcli_loops_touched *found = &plan->touched[2 * array + written];
    if (!found->known && !find(plan, array, written, found))
        return DCLI_FAIL(DCL_ERR_NOMEM, "isl has no memory to compute which elements of %s the nest %s",
                         plan->tree->name[array].name, written ? "writes" : "reads");
    *box_out = found->box;
    *all_out = found->all;
    return DCL_OK;
}
