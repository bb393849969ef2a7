/* loop/partition.c - find space partitions: by Farkas' lemma, with isl's scheduler, and among the loops as they are written.
 *
 * Each statement s gets a form f_s(x) = b + g p + a x of its counters x and of those of the hosts, p. For each dependence from x
 * of s to y of t, f_t(y) - f_s(x) is to be 0 on the whole polyhedron of pairs. By the affine form of Farkas' lemma, a form is not
 * negative on a polyhedron if and only if it is a constant that is not negative plus a sum of its constraints with such factors.
 * isl_set_coefficients() eliminates the factors, so what is left are conditions on a, g and b. A thread's number is not to be
 * negative for any iteration, which is one more condition of this kind. The smallest solution is taken that is independent of
 * those found before, until there is none.
 * Sources: P. Feautrier, "Some efficient solutions to the affine scheduling problem", International Journal of Parallel
 * Programming 21 (1992); A. W. Lim, M. S. Lam, "Maximizing parallelism and minimizing synchronization with affine partitions",
 * Parallel Computing 24 (1998). */
#include "loop/partition.h"

#include <inttypes.h>
#include <isl/constraint.h>
#include <isl/ilp.h>
#include <isl/options.h>
#include <isl/point.h>
#include <isl/schedule.h>
#include <isl/schedule_node.h>
#include <isl/union_map.h>
#include <isl/union_set.h>
#include <isl/val.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/check.h"

enum { MOST_OPERATIONS = 4 * 1000 * 1000 }; /* of isl, for one partition */

/* Pairs of iterations that are to run in one thread. */
struct pair {
    int source, sink;
    isl_map *map; /* in one iteration of the hosts */
};

struct search {
    dcli_loops_sets *sets;
    const dcli_loops_tree *tree;
    const dcli_loops_hosts *hosts;
    int64_t pair_count, pair_capacity;
    struct pair *pair;
    dcli_loops_partition *found;
    dcli_loops_mask component;                        /* whose numbers are searched */
    int base[DCLI_LOOPS_STATEMENTS], forms, unknowns; /* see unknown() */
};

/* ---- which iterations belong together ------------------------------------------------------------------------------- */

static void add_pair(struct search *search, const isl_map *map, int s, int t)
{
    isl_map *here = dcli_loops_both_at(search->sets, isl_map_copy((isl_map *)map), s, t, search->hosts);
    if (dcli_loops_no_map(search->sets, isl_map_copy(here)) ||
        dcli_grow(&search->pair, search->pair_count, &search->pair_capacity, sizeof *search->pair) != 0) {
        isl_map_free(here);
        return;
    }
    search->pair[search->pair_count++] = (struct pair){s, t, here};
}

static void find_pairs(struct search *search, const dcli_loops_operation *operation)
{
    const dcli_loops_sets *sets = search->sets;
    dcli_loops_mask statements = search->found->statements;
    for (int64_t n = 0; n < sets->dependence_count; n++) {
        const dcli_loops_dependence *d = &sets->dependence[n];
        bool copied = operation != NULL && d->source_read >= 0 && operation->copied[d->source][d->source_read];
        if (dcli_loops_in(statements, d->source) && dcli_loops_in(statements, d->sink) && !copied)
            add_pair(search, d->map, d->source, d->sink);
    }
    for (int64_t n = 0; n < sets->flow_count; n++) {
        const dcli_loops_flow *f = &sets->flow[n];
        if (dcli_loops_in(statements, f->source) && dcli_loops_in(statements, f->sink))
            add_pair(search, f->map, f->source, f->sink);
    }
}

/* Number the components by their first statements. */
static void find_components(struct search *search)
{
    int *component = search->found->component;
    bool changed = true;
    for (int s = 0; s < DCLI_LOOPS_STATEMENTS; s++)
        component[s] = s;
    while (changed) {
        changed = false;
        for (int64_t n = 0; n < search->pair_count; n++) {
            int *a = &component[search->pair[n].source], *b = &component[search->pair[n].sink];
            changed |= *a != *b;
            *a = *b = *a < *b ? *a : *b;
        }
    }
}

/* ---- numbers as sets ------------------------------------------------------------------------------------------------ */

/* Put a form of statement s, whose counters have the names <letter><depth>. */
static void put_form(dcli_text *out, const dcli_loops_linear *form, char letter)
{
    dcli_text_put(out, "(%" PRId64, form->constant);
    for (int d = 0; d < DCLI_LOOPS_DEPTH; d++)
        if (form->coef[d] != 0)
            dcli_text_put(out, " + %" PRId64 "*%c%d", form->coef[d], letter, d);
    dcli_text_put(out, ")");
}

/* A map from the iterations of s to their numbers. */
static isl_map *numbers_of(dcli_loops_sets *sets, const dcli_loops_partition *partition, int s)
{
    dcli_text text = {0};
    dcli_text_put(&text, "{ ");
    dcli_loops_put_space(&text, sets, s);
    dcli_text_put(&text, " -> [");
    for (int n = 0; n < partition->rank[partition->component[s]]; n++) {
        dcli_text_put(&text, "%s", n > 0 ? ", " : "");
        put_form(&text, &partition->number[s][n], 'c');
    }
    dcli_text_put(&text, "] }");
    return dcli_loops_read_map(sets, &text);
}

/* Whether pairs of iterations have the same numbers from `first` on. */
static bool pair_agrees(struct search *search, const struct pair *pair, int first)
{
    const dcli_loops_partition *found = search->found;
    int rank = found->rank[found->component[pair->source]];
    for (int n = first; n < rank; n++) {
        dcli_text text = {0};
        dcli_loops_put_pairs(&text, search->sets, pair->source, pair->sink);
        dcli_text_put(&text, " or ");
        put_form(&text, &found->number[pair->source][n], 'c');
        dcli_text_put(&text, " != ");
        put_form(&text, &found->number[pair->sink][n], 'd');
        dcli_text_put(&text, " }");
        isl_map *other = dcli_loops_read_map(search->sets, &text);
        if (!dcli_loops_no_map(search->sets, isl_map_intersect(other, isl_map_copy(pair->map))))
            return false;
    }
    return true;
}

/* Whether the numbers of a statement from `first` on are not negative. */
static bool is_positive(struct search *search, int s, int first)
{
    for (int n = first; n < search->found->rank[search->found->component[s]]; n++) {
        dcli_text text = {0};
        dcli_text_put(&text, "{ ");
        dcli_loops_put_space(&text, search->sets, s);
        dcli_text_put(&text, " : ");
        put_form(&text, &search->found->number[s][n], 'c');
        dcli_text_put(&text, " < 0 }");
        isl_set *below = dcli_loops_read_set(search->sets, &text);
        if (!dcli_loops_no_set(search->sets, isl_set_intersect(below, isl_set_copy(search->sets->domain[s]))))
            return false;
    }
    return true;
}

/* The test of what was found, whatever led to it: no dependence leads from one thread to another, and numbers are not negative. */
static bool verify(struct search *search, int first)
{
    for (int64_t n = 0; n < search->pair_count; n++)
        if (dcli_loops_in(search->component, search->pair[n].source) && !pair_agrees(search, &search->pair[n], first))
            return false;
    for (int s = 0; s < search->tree->statement_count; s++)
        if (dcli_loops_in(search->component, s) && !is_positive(search, s, first))
            return false;
    return !search->sets->failed;
}

/* ---- independent forms ---------------------------------------------------------------------------------------------- */

struct matrix {
    int count;
    int64_t row[DCLI_LOOPS_DEPTH][DCLI_LOOPS_DEPTH];
    int pivot[DCLI_LOOPS_DEPTH]; /* column of the first element of each row; no other row has one there */
};

/* other = factor * other - more * row, without common factors. @return false: overflow */
static bool eliminate(int64_t other[], const int64_t row[], int column)
{
    int64_t factor = row[column], more = other[column], common = 0;
    for (int d = 0; d < DCLI_LOOPS_DEPTH; d++) {
        int64_t a, b;
        if (!dcli_mul(factor, other[d], &a) || !dcli_mul(more, row[d], &b) || !dcli_add(a, -b, &other[d]))
            return false;
        common = dcli_gcd(common, llabs(other[d]));
    }
    for (int d = 0; d < DCLI_LOOPS_DEPTH && common > 1; d++)
        other[d] /= common;
    return true;
}

/* Add a form's factors to a matrix. @return whether they are independent of those in it. */
static bool add_row(struct matrix *matrix, const dcli_loops_linear *form)
{
    int64_t row[DCLI_LOOPS_DEPTH];
    memcpy(row, form->coef, sizeof row);
    for (int k = 0; k < matrix->count; k++)
        if (row[matrix->pivot[k]] != 0 && !eliminate(row, matrix->row[k], matrix->pivot[k]))
            return false;
    int pivot = 0;
    while (pivot < DCLI_LOOPS_DEPTH && row[pivot] == 0)
        pivot++;
    if (pivot == DCLI_LOOPS_DEPTH || matrix->count == DCLI_LOOPS_DEPTH)
        return false;
    for (int k = 0; k < matrix->count; k++)
        if (matrix->row[k][pivot] != 0 && !eliminate(matrix->row[k], row, pivot))
            return false;
    memcpy(matrix->row[matrix->count], row, sizeof row);
    matrix->pivot[matrix->count++] = pivot;
    return true;
}

/* The factors of counters alone in the forms of a statement: those of hosts tell no iterations apart. */
static dcli_loops_linear of_counters(const struct search *search, int s, int n)
{
    dcli_loops_linear form = search->found->number[s][n];
    for (int k = 0; k < search->hosts->count; k++)
        form.coef[search->hosts->depth[k][s]] = 0;
    return form;
}

static void fill_matrix(const struct search *search, int s, struct matrix *matrix_out)
{
    matrix_out->count = 0;
    for (int n = 0; n < search->found->rank[search->found->component[s]]; n++) {
        dcli_loops_linear form = of_counters(search, s, n);
        add_row(matrix_out, &form);
    }
}

/* ---- Farkas' form --------------------------------------------------------------------------------------------------- */

/* The place of an unknown of statement s: b; then the factors of its counters by depth. Those of hosted ones stand for the counters of the
 * hosts. */
static int unknown(const struct search *search, int s, int d) { return search->base[s] + 1 + d; }

static void number_unknowns(struct search *search)
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
static void put_unknowns(dcli_text *out, const struct search *search)
{
    dcli_text_put(out, "{ [");
    for (int u = 0; u < search->unknowns; u++)
        dcli_text_put(out, "%su%d", u > 0 ? "," : "", u);
    dcli_text_put(out, "] -> [");
}

/* Put the factors of the host counters and counters of statement s: those of a form that is sign * f_s. */
static void put_factors(dcli_text *out, const struct search *search, int s, const char *sign)
{
    for (int d = 0; d < search->tree->statement[s].depth; d++)
        dcli_text_put(out, ", %su%d", sign, unknown(search, s, d));
}

/* The unknowns for which a form, as given by a map from the unknowns to its factors, is not negative on a set, which is taken. */
static isl_set *not_negative(struct search *search, isl_set *set, dcli_text *factors)
{
    isl_set *all = isl_set_from_basic_set(isl_set_coefficients(isl_set_remove_divs(set)));
    all = isl_set_reset_tuple_id(isl_set_flatten(all));
    isl_multi_aff *map = factors->failed ? NULL : isl_multi_aff_read_from_str(search->sets->ctx, factors->bytes);
    dcli_text_free(factors);
    return isl_set_preimage_multi_aff(all, map);
}

/* Make the counters of hosts, which are equal to counters of the statements, disappear. */
static isl_set *without_parameters(isl_set *set, const struct search *search)
{
    return isl_set_project_out(set, isl_dim_param, 0, (unsigned)search->hosts->count);
}

/* The unknowns for which f_t(y) - f_s(x) is 0 on all pairs: it is not negative, nor is its opposite. Such a form is 0 on the affine hull
 * of the polyhedron, too, which has fewer constraints. */
static isl_set *same_thread(struct search *search, const struct pair *pair)
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

/* The integer points of a set of rational ones, as isl's sets of factors are. The set, one polyhedron, is taken. */
static isl_set *integers_of(isl_set *rational)
{
    isl_set *all = isl_set_universe(isl_set_get_space(rational));
    isl_basic_set *one = isl_set_simple_hull(rational);
    isl_basic_set_foreach_constraint(one, add_constraint, &all);
    isl_basic_set_free(one);
    return all;
}

/* All unknowns that are partitions: forms that dependences keep, with numbers that are not negative. */
static isl_set *find_all(struct search *search)
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

/* Write each factor as p - n with p, n >= 0, and put before them what is to be smallest first: the sum of all, then the negative
 * parts of outer counters before those of inner ones, then the positive parts of inner counters before those of outer ones, then
 * the constants. So a lexicographically smallest point has small factors, positive ones of outer loops if there is a choice. */
static isl_set *in_order_of_size(struct search *search, isl_set *all)
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

/* The dimension of the positive, or of the negative, part of a factor in the order of size. */
static int part(const struct search *search, int s, int d, bool negative)
{
    int before = 0;
    for (int k = 0; k < s; k++)
        if (dcli_loops_in(search->component, k))
            before += search->tree->statement[k].depth;
    return 1 + (negative ? before + d : search->forms + before + search->tree->statement[s].depth - 1 - d);
}

/* The smallest solution whose factors of statement s have a sum, weighted, of at least 1; empty: there is none. */
static isl_set *smallest_with(struct search *search, const isl_set *ordered, int s, const int64_t weight[])
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

/* Find the weights of a sum of factors that is 0 for all forms in a matrix: number `column` of them, which is no pivot. */
static bool find_weights(const struct matrix *matrix, int column, int64_t weight_out[])
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

/* Find the smallest solution that is independent of what was found for statement s. @return NULL: there is none. */
static isl_set *smallest_for(struct search *search, const isl_set *ordered, int s)
{
    struct matrix known;
    isl_set *found = NULL;
    int64_t weight[DCLI_LOOPS_DEPTH];
    fill_matrix(search, s, &known);
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

/* Note a solution, which is taken, as one more number of the component. */
static void take(struct search *search, isl_set *smallest, int component)
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

static void search_farkas(struct search *search, int component)
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

/* ---- loops as they are written -------------------------------------------------------------------------------------- */

/* Take counters of loops as numbers, each less the least value that it has, as long as no dependence leads along them. */
static void search_loops(struct search *search, int component)
{
    dcli_loops_partition *found = search->found;
    static const dcli_loops_hosts none = {0};
    for (int l = 0; l < search->tree->loop_count; l++) {
        bool common = true;
        int n = found->rank[component];
        for (int s = 0; s < search->tree->statement_count; s++) {
            int d = dcli_loops_depth_in(search->tree, s, l);
            if (!dcli_loops_in(search->component, s))
                continue;
            common &= d >= 0 && !dcli_loops_is_hosted(search->hosts, s, d);
            found->number[s][n] = (dcli_loops_linear){0};
            if (common)
                found->number[s][n].coef[d] = 1;
        }
        if (!common || n == DCLI_LOOPS_NUMBERS)
            continue;
        isl_set *range = dcli_loops_range(search->sets, search->component, l, &none);
        isl_val *least = isl_pw_aff_min_val(isl_set_dim_min(range, 0));
        int64_t low = least != NULL && isl_val_is_int(least) == isl_bool_true ? isl_val_get_num_si(least) : 0;
        isl_val_free(least);
        for (int s = 0; s < search->tree->statement_count; s++)
            found->number[s][n].constant = dcli_loops_in(search->component, s) ? -low : 0;
        found->rank[component]++;
        found->rank[component] -= !verify(search, n);
    }
}

/* ---- isl's scheduler ------------------------------------------------------------------------------------------------ */

/* Read a form of a statement that the scheduler has made. @return false: it is not affine with integers. */
static bool read_form(const struct search *search, int s, isl_union_pw_aff *all, dcli_loops_linear *form_out)
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

/* Add a constant to the forms of a component such that the least number is 0. */
static void lift(struct search *search, int n)
{
    int64_t least = INT64_MAX;
    for (int s = 0; s < search->tree->statement_count; s++) {
        if (!dcli_loops_in(search->component, s))
            continue;
        dcli_text text = {0};
        dcli_text_put(&text, "{ ");
        dcli_loops_put_space(&text, search->sets, s);
        dcli_text_put(&text, " -> [");
        put_form(&text, &search->found->number[s][n], 'c');
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

/* Take a coincident member of a band as a number, if it tells iterations apart that the others do not. */
static void take_member(struct search *search, int component, isl_union_pw_aff *member)
{
    dcli_loops_partition *found = search->found;
    int n = found->rank[component];
    bool right = n < DCLI_LOOPS_NUMBERS, more = false;
    struct matrix known;
    for (int s = 0; s < search->tree->statement_count && right; s++) {
        if (!dcli_loops_in(search->component, s))
            continue;
        fill_matrix(search, s, &known);
        right = read_form(search, s, member, &found->number[s][n]);
        dcli_loops_linear form = of_counters(search, s, n);
        more |= right && add_row(&known, &form);
    }
    if (!right || !more)
        return;
    lift(search, n);
    found->rank[component]++;
}

static isl_bool visit_band(isl_schedule_node *node, void *user)
{
    struct search *search = user;
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
    return isl_bool_false; /* bands inside run after each other */
}

static void search_schedule(struct search *search)
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

/* ---- all ------------------------------------------------------------------------------------------------------------ */

static void search_component(struct search *search, int component, dcli_loops_path path)
{
    search->component = 0;
    for (int s = 0; s < search->tree->statement_count; s++)
        if (dcli_loops_in(search->found->statements, s) && search->found->component[s] == component)
            search->component |= (dcli_loops_mask)1 << s;
    if (path == DCLI_LOOPS_AS_WRITTEN)
        search_loops(search, component);
    else if (path == DCLI_LOOPS_FARKAS)
        search_farkas(search, component);
    else
        search_schedule(search);
    search->sets->failed |= !verify(search, 0);
}

static void free_pairs(struct search *search)
{
    for (int64_t n = 0; n < search->pair_count; n++)
        isl_map_free(search->pair[n].map);
    dcli_free(search->pair);
}

bool dcli_loops_partition_verify(dcli_loops_sets *sets, const dcli_loops_partition *partition,
                                 const dcli_loops_hosts *hosts, const dcli_loops_operation *operation)
{
    struct search search = {.sets = sets,
                            .tree = sets->tree,
                            .hosts = hosts,
                            .found = (dcli_loops_partition *)partition,
                            .component = partition->statements};
    find_pairs(&search, operation);
    bool right = verify(&search, 0);
    free_pairs(&search);
    return right;
}

dcli_loops_partition *dcli_loops_partition_find(dcli_loops_sets *sets, dcli_loops_mask statements,
                                                const dcli_loops_hosts *hosts, const dcli_loops_operation *operation,
                                                dcli_loops_path path)
{
    struct search search = {.sets = sets, .tree = sets->tree, .hosts = hosts};
    bool failed = sets->failed;
    unsigned long most = isl_ctx_get_max_operations(sets->ctx);
    search.found = dcli_calloc(1, sizeof *search.found);
    if (search.found == NULL)
        return NULL;
    search.found->statements = statements;
    isl_ctx_reset_operations(sets->ctx);
    isl_ctx_set_max_operations(sets->ctx, MOST_OPERATIONS);
    find_pairs(&search, operation);
    find_components(&search);
    for (int s = 0; s < sets->tree->statement_count && !sets->failed; s++)
        if (dcli_loops_in(statements, s) && search.found->component[s] == s)
            search_component(&search, s, path);
    free_pairs(&search);
    isl_ctx_reset_operations(sets->ctx);
    isl_ctx_set_max_operations(sets->ctx, most);
    if (sets->failed && !failed) {
        sets->failed = false; /* a partition is for the report only: its failure is not one of the plan */
        dcli_free(search.found);
        return NULL;
    }
    return search.found;
}

/* Pairs of iterations of s and t with the same numbers. */
static isl_map *together(dcli_loops_sets *sets, const dcli_loops_partition *partition, int s, int t,
                         const dcli_loops_hosts *hosts)
{
    isl_map *map = isl_map_apply_range(numbers_of(sets, partition, s), isl_map_reverse(numbers_of(sets, partition, t)));
    return dcli_loops_both_at(sets, map, s, t, hosts);
}

bool dcli_loops_partition_refines(dcli_loops_sets *sets, const dcli_loops_partition *a, const dcli_loops_partition *b,
                                  const dcli_loops_hosts *hosts)
{
    for (int s = 0; s < sets->tree->statement_count; s++)
        for (int t = s; t < sets->tree->statement_count; t++) {
            if (!dcli_loops_in(a->statements, s) || !dcli_loops_in(a->statements, t) ||
                a->component[s] != a->component[t])
                continue;
            isl_map *first = together(sets, a, s, t, hosts), *second = together(sets, b, s, t, hosts);
            bool within = isl_map_is_subset(first, second) == isl_bool_true;
            isl_map_free(first);
            isl_map_free(second);
            if (!within)
                return false;
        }
    return true;
}

int64_t dcli_loops_partition_threads(dcli_loops_sets *sets, const dcli_loops_partition *partition, int component, int n,
                                     const dcli_loops_hosts *hosts)
{
    isl_set *all = NULL;
    for (int s = 0; s < sets->tree->statement_count; s++) {
        if (!dcli_loops_in(partition->statements, s) || partition->component[s] != component)
            continue;
        dcli_text text = {0};
        dcli_text_put(&text, "{ ");
        dcli_loops_put_space(&text, sets, s);
        dcli_text_put(&text, " -> [");
        put_form(&text, &partition->number[s][n], 'c');
        dcli_text_put(&text, "] }");
        isl_set *set = isl_set_apply(dcli_loops_at(sets, s, hosts), dcli_loops_read_map(sets, &text));
        all = all == NULL ? set : isl_set_union(all, set);
    }
    isl_pw_aff *low = isl_set_dim_min(isl_set_copy(all), 0);
    isl_pw_aff *extent = isl_pw_aff_sub(isl_set_dim_max(all, 0), low);
    isl_val *least = isl_pw_aff_min_val(isl_pw_aff_copy(extent)), *most = isl_pw_aff_max_val(extent);
    bool one = isl_val_is_int(least) == isl_bool_true && isl_val_eq(least, most) == isl_bool_true;
    int64_t count = one ? isl_val_get_num_si(least) + 1 : -1;
    isl_val_free(least);
    isl_val_free(most);
    return count;
}
