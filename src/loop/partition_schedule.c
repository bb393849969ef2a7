/* loop/partition_schedule.c - find space partitions by isl's scheduler: the coincident dimensions of a schedule,
 * along which no dependence leads, are the numbers of threads. */
#include <isl/ilp.h>
#include <isl/options.h>
#include <isl/schedule.h>
#include <isl/schedule_node.h>
#include <isl/union_map.h>
#include <isl/union_set.h>
#include <isl/val.h>

#include "loop/partition_search.h"

/* Convert a dimension of the schedule to a form of a statement. @return false: it is not affine with integer
 * factors. */
static bool read_form(const dcli_partition_search *search, int s, isl_union_pw_aff *all, dcli_loops_linear *form_out)
{
    isl_pw_aff *piece = isl_union_pw_aff_extract_pw_aff(
        all, isl_space_add_dims(isl_space_from_domain(isl_set_get_space(search->sets->domain[s])), isl_dim_out, 1));
    bool right = isl_pw_aff_isa_aff(piece) == isl_bool_true;
    isl_aff *aff = right ? isl_pw_aff_as_aff(piece) : NULL;
    isl_val *value = right ? isl_aff_get_constant_val(aff) : NULL;
    if (!right)
        isl_pw_aff_free(piece);
    right = right && isl_aff_dim(aff, isl_dim_div) == 0 && isl_val_is_int(value) == isl_bool_true;
    *form_out = (dcli_loops_linear){.constant = right ? isl_val_get_num_si(value) : 0};
    isl_val_free(value);
    for (int d = 0; d < search->tree->statement[s].depth && right; d++) {
        value = isl_aff_get_coefficient_val(aff, isl_dim_in, d);
        right = isl_val_is_int(value) == isl_bool_true;
        form_out->coef[d] = right ? isl_val_get_num_si(value) : 0;
        isl_val_free(value);
    }
    for (int k = 0; k < search->hosts->count && right; k++) {
        dcli_text name = {0};
        dcli_text_put(&name, "p%d", k);
        int p = isl_aff_find_dim_by_name(aff, isl_dim_param, name.bytes);
        value = p >= 0 ? isl_aff_get_coefficient_val(aff, isl_dim_param, p) : NULL;
        form_out->coef[search->hosts->depth[k][s]] += value != NULL ? isl_val_get_num_si(value) : 0;
        isl_val_free(value);
        dcli_text_free(&name);
    }
    isl_aff_free(aff);
    return right;
}

/* Add one constant to form n of all statements of the component, so that the least number is 0. */
static void lift(dcli_partition_search *search, int n)
{
    int64_t least = INT64_MAX;
    for (int s = 0; s < search->tree->statement_count; s++) {
        if (!dcli_loops_in(search->component, s))
            continue;
        dcli_text text = {0};
        dcli_text_put(&text, "{ ");
        dcli_loops_put_space(&text, search->sets, s);
        dcli_text_put(&text, " -> [");
        dcli_partition_put_form(&text, &search->found->number[s][n], 'c');
        dcli_text_put(&text, "] }");
        isl_set *values =
            isl_set_apply(isl_set_copy(search->sets->domain[s]), dcli_loops_read_map(search->sets, &text));
        isl_val *low = isl_pw_aff_min_val(isl_set_dim_min(values, 0));
        if (low != NULL && isl_val_is_int(low) == isl_bool_true && isl_val_get_num_si(low) < least)
            least = isl_val_get_num_si(low);
        isl_val_free(low);
    }
    for (int s = 0; s < search->tree->statement_count; s++)
        if (dcli_loops_in(search->component, s) && least != INT64_MAX)
            search->found->number[s][n].constant -= least;
}

/* Use a coincident member of a band as a number, if it distinguishes iterations that the numbers found before do
 * not. */
static void take_member(dcli_partition_search *search, int component, isl_union_pw_aff *member)
{
    dcli_loops_partition *found = search->found;
    int n = found->rank[component];
    bool right = n < DCLI_LOOPS_NUMBERS, more = false;
    dcli_partition_forms known;
    for (int s = 0; s < search->tree->statement_count && right; s++) {
        if (!dcli_loops_in(search->component, s))
            continue;
        dcli_partition_find_forms(search, s, &known);
        right = read_form(search, s, member, &found->number[s][n]);
        dcli_loops_linear form = dcli_partition_of_counters(search, s, n);
        more |= right && dcli_partition_add_form(&known, &form);
    }
    if (!right || !more)
        return;
    lift(search, n);
    found->rank[component]++;
}

static isl_bool visit_band(isl_schedule_node *node, void *user)
{
    dcli_partition_search *search = user;
    if (isl_schedule_node_get_type(node) != isl_schedule_node_band)
        return isl_bool_true;
    isl_multi_union_pw_aff *band = isl_schedule_node_band_get_partial_schedule(node);
    int component = 0;
    while (!dcli_loops_in(search->component, component))
        component++;
    for (int k = 0; k < isl_schedule_node_band_n_member(node); k++) {
        isl_union_pw_aff *member = isl_multi_union_pw_aff_get_union_pw_aff(band, k);
        if (isl_schedule_node_band_member_get_coincident(node, k) == isl_bool_true)
            take_member(search, component, member);
        isl_union_pw_aff_free(member);
    }
    isl_multi_union_pw_aff_free(band);
    return isl_bool_false; /* do not descend: members of inner bands are coincident only within one iteration of this
                              band */
}

void dcli_partition_by_schedule(dcli_partition_search *search)
{
    isl_ctx *ctx = search->sets->ctx;
    isl_union_set *domain = isl_union_set_empty_ctx(ctx);
    isl_union_map *all = isl_union_map_empty_ctx(ctx);
    for (int s = 0; s < search->tree->statement_count; s++)
        if (dcli_loops_in(search->component, s))
            domain = isl_union_set_union(domain, isl_union_set_from_set(dcli_loops_at(search->sets, s, search->hosts)));
    for (int64_t n = 0; n < search->pair_count; n++)
        if (dcli_loops_in(search->component, search->pair[n].source))
            all = isl_union_map_union(all, isl_union_map_from_map(isl_map_copy(search->pair[n].map)));
    isl_schedule_constraints *constraints = isl_schedule_constraints_on_domain(domain);
    constraints = isl_schedule_constraints_set_validity(constraints, isl_union_map_copy(all));
    constraints = isl_schedule_constraints_set_coincidence(constraints, all);
    isl_options_set_schedule_outer_coincidence(ctx, 1);
    isl_options_set_schedule_whole_component(ctx, 1);
    isl_schedule *schedule = isl_schedule_constraints_compute_schedule(constraints);
    search->sets->failed |= schedule == NULL;
    if (schedule != NULL)
        isl_schedule_foreach_schedule_node_top_down(schedule, visit_band, search);
    isl_schedule_free(schedule);
}
