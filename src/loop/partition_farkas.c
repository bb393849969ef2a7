/* loop/partition_farkas.c - find space partitions by Farkas' lemma.
 *
 * Each statement s gets a form f_s(x) = b + g p + a x of its counters x and of those of the hosts, p. For each
 * dependence from x of s to y of t, f_t(y) - f_s(x) is to be 0 on the whole polyhedron of pairs. By the affine form of
 * Farkas' lemma, a form is not negative on a polyhedron if and only if it is a constant that is not negative plus a sum
 * of its constraints with such factors. isl_set_coefficients() eliminates the factors, so what is left are conditions
 * on a, g and b. A thread's number is not to be negative for any iteration, which is one more condition of this kind.
 * The smallest solution is taken that is independent of those found before, until there is none.
 * Sources: P. Feautrier, "Some efficient solutions to the affine scheduling problem", International Journal of
 * Parallel Programming 21 (1992); A. W. Lim, M. S. Lam, "Maximizing parallelism and minimizing synchronization with
 * affine partitions", Parallel Computing 24 (1998). */
#include <inttypes.h>
#include <isl/constraint.h>
#include <isl/point.h>
#include <isl/val.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "loop/partition_search.h"

/* The unknowns of statement s are b, then the factors of its counters by depth: the number of that at depth d. For a
 * loop that the program runs, the counter is one of the hosts'. */
static int unknown(const dcli_partition_search *search, int s, int d) { return search->base[s] + 1 + d; }

static void number_unknowns(dcli_partition_search *search)
{
    search->unknowns = search->forms = 0;
    for (int s = 0; s < search->tree->statement_count; s++) {
        if (!dcli_loops_in(search->component, s))
            continue;
        search->base[s] = search->unknowns;
        search->unknowns += 1 + search->tree->statement[s].depth;
        search->forms += search->tree->statement[s].depth;
    }
}

/* Put the unknowns, and begin a map from them: `{ [u0,u1] -> [`. */
static void put_unknowns(dcli_text *out, const dcli_partition_search *search)
{
    dcli_text_put(out, "{ [");
    for (int u = 0; u < search->unknowns; u++)
        dcli_text_put(out, "%su%d", u > 0 ? "," : "", u);
    dcli_text_put(out, "] -> [");
}

/* Put the factors of all counters in the form sign * f_s, the hosts' included. */
static void put_factors(dcli_text *out, const dcli_partition_search *search, int s, const char *sign)
{
    for (int d = 0; d < search->tree->statement[s].depth; d++)
        dcli_text_put(out, ", %su%d", sign, unknown(search, s, d));
}

/* The values of the unknowns for which a form is not negative on a set. @param set  taken.
 * @param factors  a map from the unknowns to the form's factors; freed. */
static isl_set *not_negative(dcli_partition_search *search, isl_set *set, dcli_text *factors)
{
    isl_set *all = isl_set_from_basic_set(isl_set_coefficients(isl_set_remove_divs(set)));
    all = isl_set_reset_tuple_id(isl_set_flatten(all));
    isl_multi_aff *map = factors->failed ? NULL : isl_multi_aff_read_from_str(search->sets->ctx, factors->bytes);
    dcli_text_free(factors);
    return isl_set_preimage_multi_aff(all, map);
}

/* Remove the hosts' counters from a set: each is equal to a counter of the statement, which remains. */
static isl_set *without_parameters(isl_set *set, const dcli_partition_search *search)
{
    return isl_set_project_out(set, isl_dim_param, 0, (unsigned)search->hosts->count);
}

/* The values of the unknowns for which f_t(y) - f_s(x) is 0 on all pairs: neither it nor its opposite is negative.
 * The affine hull of the pairs gives the same values, because such a form is 0 on all of it, with fewer constraints. */
static isl_set *same_thread(dcli_partition_search *search, const dcli_partition_pair *pair)
{
    isl_set *both = NULL, *pairs = isl_set_flatten(isl_map_wrap(isl_map_copy(pair->map)));
    pairs = isl_set_from_basic_set(isl_set_affine_hull(without_parameters(pairs, search)));
    for (int side = 0; side < 2; side++) {
        const char *plus = side == 0 ? "" : "-", *minus = side == 0 ? "-" : "";
        dcli_text factors = {0};
        put_unknowns(&factors, search);
        dcli_text_put(&factors, "%su%d %s u%d", plus, search->base[pair->sink], side == 0 ? "-" : "+",
                      search->base[pair->source]);
        put_factors(&factors, search, pair->source, minus);
        put_factors(&factors, search, pair->sink, plus);
        dcli_text_put(&factors, "] }");
        isl_set *one = not_negative(search, isl_set_copy(pairs), &factors);
        both = both == NULL ? one : isl_set_intersect(both, one);
    }
    isl_set_free(pairs);
    return both;
}

static isl_stat add_constraint(isl_constraint *constraint, void *user)
{
    isl_set **all = user;
    bool equality = isl_constraint_is_equality(constraint) == isl_bool_true;
    isl_local_space *space = isl_local_space_from_space(isl_set_get_space(*all));
    isl_constraint *made = equality ? isl_constraint_alloc_equality(space) : isl_constraint_alloc_inequality(space);
    made = isl_constraint_set_constant_val(made, isl_constraint_get_constant_val(constraint));
    for (int u = 0; u < isl_constraint_dim(constraint, isl_dim_set); u++)
        made = isl_constraint_set_coefficient_val(made, isl_dim_set, u,
                                                  isl_constraint_get_coefficient_val(constraint, isl_dim_set, u));
    *all = isl_set_add_constraint(*all, made);
    isl_constraint_free(constraint);
    return isl_stat_ok;
}

/* The integer points of a set, one polyhedron, that isl_set_coefficients() has made: its points are rational. @param
 * rational  taken. */
static isl_set *integers_of(isl_set *rational)
{
    isl_set *all = isl_set_universe(isl_set_get_space(rational));
    isl_basic_set *one = isl_set_simple_hull(rational);
    isl_basic_set_foreach_constraint(one, add_constraint, &all);
    isl_basic_set_free(one);
    return all;
}

/* The values of the unknowns that give a partition: iterations that depend on each other have the same numbers, and
 * no number is negative. */
static isl_set *find_all(dcli_partition_search *search)
{
    dcli_text text = {0};
    put_unknowns(&text, search);
    text.length -= strlen(" -> [");
    dcli_text_put(&text, " }");
    isl_set *all = dcli_loops_read_set(search->sets, &text);
    for (int64_t n = 0; n < search->pair_count; n++)
        if (dcli_loops_in(search->component, search->pair[n].source))
            all = isl_set_intersect(all, same_thread(search, &search->pair[n]));
    for (int s = 0; s < search->tree->statement_count; s++) {
        if (!dcli_loops_in(search->component, s))
            continue;
        dcli_text factors = {0};
        put_unknowns(&factors, search);
        dcli_text_put(&factors, "u%d", search->base[s]);
        put_factors(&factors, search, s, "");
        dcli_text_put(&factors, "] }");
        all = isl_set_intersect(all, not_negative(search, isl_set_copy(search->sets->domain[s]), &factors));
    }
    return integers_of(isl_set_detect_equalities(all));
}

/* Replace each factor by p - n with p, n >= 0, and order the dimensions by what is to be minimized first: the sum of
 * all p and n; then the n of outer counters before those of inner ones; then the p of inner counters before those of
 * outer ones; then the constants. So the lexicographic minimum has small factors, and among equal sums prefers
 * positive ones, of outer loops. */
static isl_set *in_order_of_size(dcli_partition_search *search, isl_set *all)
{
    dcli_text parts = {0}, map = {0}, sum = {0}, bounds = {0};
    dcli_text_put(&parts, "[t");
    for (int side = 0; side < 2; side++)
        for (int s = 0; s < search->tree->statement_count; s++)
            for (int k = 0; k < search->tree->statement[s].depth && dcli_loops_in(search->component, s); k++) {
                int u = unknown(search, s, side == 0 ? k : search->tree->statement[s].depth - 1 - k);
                dcli_text_put(&parts, ",%c%d", "np"[side], u);
                dcli_text_put(&sum, " + %c%d", "np"[side], u);
                dcli_text_put(&bounds, " and %c%d >= 0", "np"[side], u);
            }
    for (int s = 0; s < search->tree->statement_count; s++)
        if (dcli_loops_in(search->component, s))
            dcli_text_put(&parts, ",b%d", search->base[s]);
    dcli_text_put(&parts, "]");
    dcli_text_put(&map, "{ %s -> [", parts.bytes);
    for (int s = 0; s < search->tree->statement_count; s++)
        for (int d = -1; d < search->tree->statement[s].depth && dcli_loops_in(search->component, s); d++) {
            int u = unknown(search, s, d);
            dcli_text_put(&map, d < 0 ? "%s b%d" : "%s p%d - n%d", u > 0 ? "," : "", u, u);
        }
    dcli_text_put(&map, "] }");
    isl_multi_aff *back = map.failed ? NULL : isl_multi_aff_read_from_str(search->sets->ctx, map.bytes);
    dcli_text limits = {0};
    dcli_text_put(&limits, "{ %s : t = 0%s%s }", parts.bytes, sum.bytes != NULL ? sum.bytes : "",
                  bounds.bytes != NULL ? bounds.bytes : "");
    limits.failed |= parts.failed || sum.failed || bounds.failed;
    all = isl_set_intersect(isl_set_preimage_multi_aff(all, back), dcli_loops_read_set(search->sets, &limits));
    dcli_text_free(&parts);
    dcli_text_free(&map);
    dcli_text_free(&sum);
    dcli_text_free(&bounds);
    return all;
}

/* The dimension of p, or of n, of a factor in the set that in_order_of_size() makes. */
static int part(const dcli_partition_search *search, int s, int d, bool negative)
{
    int before = 0;
    for (int k = 0; k < s; k++)
        if (dcli_loops_in(search->component, k))
            before += search->tree->statement[k].depth;
    return 1 + (negative ? before + d : search->forms + before + search->tree->statement[s].depth - 1 - d);
}

/* The lexicographic minimum of the solutions for which the weighted sum of the factors of statement s is at least 1;
 * an empty set: there is none. */
static isl_set *smallest_with(dcli_partition_search *search, const isl_set *ordered, int s, const int64_t weight[])
{
    isl_set *set = isl_set_copy((isl_set *)ordered);
    isl_constraint *apart = isl_constraint_alloc_inequality(isl_local_space_from_space(isl_set_get_space(set)));
    apart = isl_constraint_set_constant_si(apart, -1);
    for (int d = 0; d < search->tree->statement[s].depth; d++) {
        if (weight[d] == 0)
            continue;
        apart = isl_constraint_set_coefficient_si(apart, isl_dim_set, part(search, s, d, false), (int)weight[d]);
        apart = isl_constraint_set_coefficient_si(apart, isl_dim_set, part(search, s, d, true), -(int)weight[d]);
    }
    return isl_set_lexmin(isl_set_add_constraint(set, apart));
}

/* Find weights for which the weighted sum of the factors is 0 for each form in a matrix, and not 0 for the counter
 * at depth `column` alone: a form whose sum is not 0 is independent of those in the matrix. @return false: `column`
 * is a pivot, or a weight is too large. */
static bool find_weights(const dcli_partition_forms *matrix, int column, int64_t weight_out[])
{
    int64_t common = 1;
    for (int k = 0; k < matrix->count; k++) {
        if (matrix->pivot[k] == column)
            return false;
        if (!dcli_mul(common, llabs(matrix->row[k][matrix->pivot[k]]), &common) || common > INT16_MAX)
            return false;
    }
    memset(weight_out, 0, DCLI_LOOPS_DEPTH * sizeof *weight_out);
    weight_out[column] = common;
    for (int k = 0; k < matrix->count; k++) {
        int64_t weight = common / matrix->row[k][matrix->pivot[k]];
        if (!dcli_mul(weight, -matrix->row[k][column], &weight_out[matrix->pivot[k]]) ||
            llabs(weight_out[matrix->pivot[k]]) > INT16_MAX)
            return false;
    }
    return true;
}

/* Find the smallest solution whose form for statement s is independent of those found before. @return NULL: there is
 * none. */
static isl_set *smallest_for(dcli_partition_search *search, const isl_set *ordered, int s)
{
    dcli_partition_forms known;
    isl_set *found = NULL;
    int64_t weight[DCLI_LOOPS_DEPTH];
    dcli_partition_find_forms(search, s, &known);
    for (int d = 0; d < search->tree->statement[s].depth; d++) {
        if (dcli_loops_is_hosted(search->hosts, s, d) || !find_weights(&known, d, weight))
            continue;
        for (int side = 0; side < 2; side++) {
            for (int k = 0; k < DCLI_LOOPS_DEPTH && side == 1; k++)
                weight[k] = -weight[k];
            isl_set *one = smallest_with(search, ordered, s, weight);
            found = found == NULL ? one : isl_set_lexmin(isl_set_union(found, one));
        }
    }
    if (found != NULL && dcli_loops_no_set(search->sets, isl_set_copy(found)))
        found = isl_set_free(found);
    return found;
}

static int64_t coordinate(isl_point *point, int dimension)
{
    isl_val *value = isl_point_get_coordinate_val(point, isl_dim_set, dimension);
    int64_t number = value != NULL ? isl_val_get_num_si(value) : 0;
    isl_val_free(value);
    return number;
}

/* Add a solution to the numbers of the component's threads. @param smallest  taken. */
static void take(dcli_partition_search *search, isl_set *smallest, int component)
{
    dcli_loops_partition *found = search->found;
    isl_point *point = isl_set_sample_point(smallest);
    int n = found->rank[component], order = 0;
    search->sets->failed |= point == NULL;
    for (int s = 0; s < search->tree->statement_count && point != NULL; s++) {
        if (!dcli_loops_in(search->component, s))
            continue;
        found->number[s][n] = (dcli_loops_linear){.constant = coordinate(point, 1 + 2 * search->forms + order++)};
        for (int d = 0; d < search->tree->statement[s].depth; d++)
            found->number[s][n].coef[d] =
                coordinate(point, part(search, s, d, false)) - coordinate(point, part(search, s, d, true));
    }
    found->rank[component] += point != NULL;
    isl_point_free(point);
}

void dcli_partition_by_farkas(dcli_partition_search *search, int component)
{
    number_unknowns(search);
    isl_set *ordered = in_order_of_size(search, find_all(search));
    search->sets->failed |= ordered == NULL;
    for (int s = 0; s < search->tree->statement_count && !search->sets->failed; s++) {
        isl_set *smallest = NULL;
        while (dcli_loops_in(search->component, s) && !search->sets->failed &&
               search->found->rank[component] < DCLI_LOOPS_NUMBERS &&
               (smallest = smallest_for(search, ordered, s)) != NULL)
            take(search, smallest, component);
    }
    isl_set_free(ordered);
}
