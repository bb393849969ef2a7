/* loop/slant.c - conditions on the indices of an operation's threads, where the threads do not fill their box: a
 * triangle, a band.
 *
 * They become the ranges of DCL_OVER, so that DCL starts only threads that run an iteration. Conditions that cannot
 * be written as ranges remain tests in the body. */
#include <inttypes.h>
#include <isl/constraint.h>
#include <isl/val.h>

#include "loop/inside.h"

/* What add_condition() needs. */
struct finder {
    dcli_loops_sets *sets;
    dcli_loops_operation *operation;
};

static bool take(__isl_take isl_val *value, int64_t *out)
{
    bool fits = isl_val_is_int(value) == isl_bool_true && isl_val_get_num_si(value) <= INT32_MAX &&
                isl_val_get_num_si(value) >= -INT32_MAX;
    *out = fits ? isl_val_get_num_si(value) : 0;
    isl_val_free(value);
    return fits;
}

/* Convert a condition. @return false: it depends on fewer than two indices, or cannot be written as a range of one. */
static bool read_condition(isl_constraint *condition, int rank, int hosts, dcli_loops_slant *out)
{
    bool fits = isl_constraint_is_equality(condition) == isl_bool_false &&
                isl_constraint_is_div_constraint(condition) == isl_bool_false &&
                isl_constraint_dim(condition, isl_dim_div) == 0;
    int indices = 0;
    *out = (dcli_loops_slant){.axis = -1};
    fits = fits && take(isl_constraint_get_constant_val(condition), &out->constant);
    for (int r = 0; r < rank && fits; r++) {
        fits = take(isl_constraint_get_coefficient_val(condition, isl_dim_set, r), &out->index[r]);
        indices += out->index[r] != 0;
        if (out->index[r] == 1 || out->index[r] == -1)
            out->axis = r; /* the innermost one */
    }
    for (int k = 0; k < hosts && fits; k++)
        fits = take(isl_constraint_get_coefficient_val(condition, isl_dim_param, k), &out->host[k]);
    return fits && indices > 1 && out->axis >= 0;
}

static isl_stat add_condition(__isl_take isl_constraint *condition, void *user)
{
    struct finder *finder = user;
    dcli_loops_operation *operation = finder->operation;
    if (operation->slant_count < DCLI_LOOPS_SLANTS &&
        read_condition(condition, operation->rank, operation->hosts.count, &operation->slant[operation->slant_count]))
        operation->slant_count++;
    isl_constraint_free(condition);
    return isl_stat_ok;
}

/* The indices of all threads that run an iteration. */
static isl_set *threads_of(const dcli_loops_sets *sets, const dcli_loops_operation *operation)
{
    isl_set *all = NULL;
    for (int s = 0; s < sets->tree->statement_count; s++)
        if (dcli_loops_in(operation->statements, s) && sets->tree->statement[s].target.is_array) {
            isl_set *set = isl_map_range(isl_map_copy(operation->threads[s]));
            all = all == NULL ? set : isl_set_union(all, set);
        }
    return all;
}

/* The indices that fulfil the conditions that were found. */
static isl_set *fulfilling(dcli_loops_sets *sets, const dcli_loops_operation *operation)
{
    dcli_text text = {0};
    dcli_loops_put_parameters(&text, &operation->hosts);
    dcli_text_put(&text, "{ [");
    for (int r = 0; r < operation->rank; r++)
        dcli_text_put(&text, "%sx%d", r > 0 ? "," : "", r);
    dcli_text_put(&text, "]");
    for (int n = 0; n < operation->slant_count; n++) {
        const dcli_loops_slant *slant = &operation->slant[n];
        dcli_text_put(&text, "%s %" PRId64, n == 0 ? " :" : " and", slant->constant);
        for (int r = 0; r < operation->rank; r++)
            dcli_text_put(&text, " + %" PRId64 " x%d", slant->index[r], r);
        for (int k = 0; k < operation->hosts.count; k++)
            dcli_text_put(&text, " + %" PRId64 " p%d", slant->host[k], k);
        dcli_text_put(&text, " >= 0");
    }
    dcli_text_put(&text, " }");
    return dcli_loops_read_set(sets, &text);
}

/* The simple hull of a set. isl_basic_set_gist() fails for sets with divisions of unknown value, so these are
 * removed; that can only enlarge the hull. */
static isl_basic_set *simple_hull(const isl_set *set)
{
    return isl_set_simple_hull(isl_set_remove_unknown_divs(isl_set_copy((isl_set *)set)));
}

void dcli_loops_find_slants(dcli_loops_sets *sets, dcli_loops_operation *operation)
{
    if (operation->rank < 2 || operation->along >= 0)
        return;
    struct finder finder = {sets, operation};
    isl_set *threads = threads_of(sets, operation);
    isl_basic_set *hull = simple_hull(threads);
    hull = isl_basic_set_gist(hull, simple_hull(operation->box));
    sets->failed |= hull == NULL || isl_basic_set_foreach_constraint(hull, add_condition, &finder) != isl_stat_ok;
    isl_basic_set_free(hull);
    if (operation->slant_count > 0)
        operation->over = fulfilling(sets, operation);
    isl_set_free(threads);
}

bool dcli_loops_slants_hold(dcli_loops_sets *sets, const dcli_loops_operation *operation)
{
    if (operation->over == NULL)
        return true;
    return dcli_loops_no_set(sets, isl_set_subtract(threads_of(sets, operation), isl_set_copy(operation->over)));
}
