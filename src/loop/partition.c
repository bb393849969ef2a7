/* loop/partition.c - finds space partitions in the loops as they are written; verifies and compares partitions, also
 * those of loop/partition_farkas.c and loop/partition_schedule.c. */
#include "loop/partition.h"

#include <inttypes.h>
#include <isl/ilp.h>
#include <isl/val.h>

#include "base/alloc.h"
#include "loop/partition_search.h"

enum { MOST_OPERATIONS = 4 * 1000 * 1000 }; /* limit of isl's operations while a partition is searched */

/* ---- which iterations belong together ------------------------------------------------------------------------------- */

static void add_pair(dcli_partition_search *search, const isl_map *map, int s, int t)
{
    isl_map *here = dcli_loops_both_at(search->sets, isl_map_copy((isl_map *)map), s, t, search->hosts);
    if (dcli_loops_no_map(search->sets, isl_map_copy(here)) ||
        dcli_grow(&search->pair, search->pair_count, &search->pair_capacity, sizeof *search->pair) != 0) {
        isl_map_free(here);
        return;
    }
    search->pair[search->pair_count++] = (dcli_partition_pair){s, t, here};
}

static void find_pairs(dcli_partition_search *search, const dcli_loops_operation *operation)
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

/* Find the components: statements that are connected by dependences. A component has the number of its first
 * statement. */
static void find_components(dcli_partition_search *search)
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

/* Print a form; the counter at depth d is named <letter><d>. */
void dcli_partition_put_form(dcli_text *out, const dcli_loops_linear *form, char letter)
{
    dcli_text_put(out, "(%" PRId64, form->constant);
    for (int d = 0; d < DCLI_LOOPS_DEPTH; d++)
        if (form->coef[d] != 0)
            dcli_text_put(out, " + %" PRId64 "*%c%d", form->coef[d], letter, d);
    dcli_text_put(out, ")");
}

/* A map from the iterations of s to the numbers of the threads that run them. */
static isl_map *numbers_of(dcli_loops_sets *sets, const dcli_loops_partition *partition, int s)
{
    dcli_text text = {0};
    dcli_text_put(&text, "{ ");
    dcli_loops_put_space(&text, sets, s);
    dcli_text_put(&text, " -> [");
    for (int n = 0; n < partition->rank[partition->component[s]]; n++) {
        dcli_text_put(&text, "%s", n > 0 ? ", " : "");
        dcli_partition_put_form(&text, &partition->number[s][n], 'c');
    }
    dcli_text_put(&text, "] }");
    return dcli_loops_read_map(sets, &text);
}

/* Whether both iterations of each pair have the same numbers, from number `first` on. */
static bool pair_agrees(dcli_partition_search *search, const dcli_partition_pair *pair, int first)
{
    const dcli_loops_partition *found = search->found;
    int rank = found->rank[found->component[pair->source]];
    for (int n = first; n < rank; n++) {
        dcli_text text = {0};
        dcli_loops_put_pairs(&text, search->sets, pair->source, pair->sink);
        dcli_text_put(&text, " or ");
        dcli_partition_put_form(&text, &found->number[pair->source][n], 'c');
        dcli_text_put(&text, " != ");
        dcli_partition_put_form(&text, &found->number[pair->sink][n], 'd');
        dcli_text_put(&text, " }");
        isl_map *other = dcli_loops_read_map(search->sets, &text);
        if (!dcli_loops_no_map(search->sets, isl_map_intersect(other, isl_map_copy(pair->map))))
            return false;
    }
    return true;
}

/* Whether no number of a statement, from number `first` on, is negative. */
static bool is_positive(dcli_partition_search *search, int s, int first)
{
    for (int n = first; n < search->found->rank[search->found->component[s]]; n++) {
        dcli_text text = {0};
        dcli_text_put(&text, "{ ");
        dcli_loops_put_space(&text, search->sets, s);
        dcli_text_put(&text, " : ");
        dcli_partition_put_form(&text, &search->found->number[s][n], 'c');
        dcli_text_put(&text, " < 0 }");
        isl_set *below = dcli_loops_read_set(search->sets, &text);
        if (!dcli_loops_no_set(search->sets, isl_set_intersect(below, isl_set_copy(search->sets->domain[s]))))
            return false;
    }
    return true;
}

/* Verify the component's numbers from number `first` on, whichever way has found them: iterations that depend on
 * each other have the same numbers, and no number is negative. */
static bool verify(dcli_partition_search *search, int first)
{
    for (int64_t n = 0; n < search->pair_count; n++)
        if (dcli_loops_in(search->component, search->pair[n].source) && !pair_agrees(search, &search->pair[n], first))
            return false;
    for (int s = 0; s < search->tree->statement_count; s++)
        if (dcli_loops_in(search->component, s) && !is_positive(search, s, first))
            return false;
    return !search->sets->failed;
}

/* ---- loops as they are written -------------------------------------------------------------------------------------- */

/* Use counters of loops as numbers, each minus its least value: those of loops that all statements of the component
 * share and along which no dependence leads. */
static void search_loops(dcli_partition_search *search, int component)
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
            if (dcli_loops_in(search->component, s))
                found->number[s][n].constant = -low;
        found->rank[component]++;
        found->rank[component] -= !verify(search, n);
    }
}

/* ---- all ------------------------------------------------------------------------------------------------------------ */

static void search_component(dcli_partition_search *search, int component, dcli_loops_path path)
{
    search->component = 0;
    for (int s = 0; s < search->tree->statement_count; s++)
        if (dcli_loops_in(search->found->statements, s) && search->found->component[s] == component)
            search->component |= (dcli_loops_mask)1 << s;
    if (path == DCLI_LOOPS_AS_WRITTEN)
        search_loops(search, component);
    else if (path == DCLI_LOOPS_FARKAS)
        dcli_partition_by_farkas(search, component);
    else
        dcli_partition_by_schedule(search);
    search->sets->failed |= !verify(search, 0);
}

static void free_pairs(dcli_partition_search *search)
{
    for (int64_t n = 0; n < search->pair_count; n++)
        isl_map_free(search->pair[n].map);
    dcli_free(search->pair);
}

bool dcli_loops_partition_verify(dcli_loops_sets *sets, const dcli_loops_partition *partition,
                                 const dcli_loops_hosts *hosts, const dcli_loops_operation *operation)
{
    dcli_partition_search search = {.sets = sets,
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
    dcli_partition_search search = {.sets = sets, .tree = sets->tree, .hosts = hosts};
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

/* Pairs of iterations of s and t that run in the same thread. */
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
        dcli_partition_put_form(&text, &partition->number[s][n], 'c');
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
