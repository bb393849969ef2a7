/* loop/excess.c - compares the number of elements that an operation reads of an array with that of the box around
 * them, because nodes exchange boxes. They are equal for rows, columns and tiles; a diagonal, a band or every tenth
 * element have much larger boxes. */
#include <inttypes.h>
#include <isl/ilp.h>
#include <isl/val.h>

#include "base/check.h"
#include "loop/inside.h"

enum {
    MOST_SLICES = 24,    /* indices of a dimension at which elements are counted; the rest is extrapolated */
    MOST_SCANNED = 32768 /* longest line in which irregular gaps are counted; longer ones are assumed to have none */
};

static bool take(__isl_take isl_val *value, int64_t *out)
{
    bool is_int = isl_val_is_int(value) == isl_bool_true;
    *out = is_int ? isl_val_get_num_si(value) : 0;
    isl_val_free(value);
    return is_int;
}

/* The values of dimension d of a set: low, low + stride, ..., high at most. @return false: it is empty */
static bool find_values(const isl_set *set, int d, int64_t *low_out, int64_t *high_out, int64_t *stride_out)
{
    isl_set *all = (isl_set *)set;
    return isl_set_is_empty(all) == isl_bool_false &&
           take(isl_pw_aff_min_val(isl_set_dim_min(isl_set_copy(all), d)), low_out) &&
           take(isl_pw_aff_max_val(isl_set_dim_max(isl_set_copy(all), d)), high_out) &&
           take(isl_set_get_stride(all, d), stride_out) && *stride_out > 0;
}

static isl_stat add_line(isl_basic_set *part, void *user)
{
    double *total = user;
    bool has_gaps = isl_basic_set_dim(part, isl_dim_div) > 0;
    isl_set *line = isl_set_from_basic_set(part);
    int64_t low, high, stride, count;
    if (find_values(line, (int)isl_set_dim(line, isl_dim_set) - 1, &low, &high, &stride)) {
        count = (high - low) / stride + 1;
        if (has_gaps && stride == 1 && count <= MOST_SCANNED)
            take(isl_set_count_val(line), &count);
        *total += (double)count;
    }
    isl_set_free(line);
    return isl_stat_ok;
}

/* Count the elements of a set whose first d indices are fixed. @param set  taken. @param estimated  set to true if
 * not all were counted. */
static double count_from(isl_set *set, int d, bool *estimated)
{
    int64_t low, high, stride;
    double total = 0;
    if (d == (int)isl_set_dim(set, isl_dim_set) - 1) {
        set = isl_set_make_disjoint(set);
        isl_set_foreach_basic_set(set, add_line, &total);
    } else if (find_values(set, d, &low, &high, &stride)) {
        int64_t all = (high - low) / stride + 1, slices = dcli_min(all, MOST_SLICES);
        for (int64_t k = 0; k < slices; k++) {
            int64_t at =
                low + stride * (slices == all ? k : (int64_t)(((double)k + 0.5) * (double)all / (double)slices));
            total += count_from(isl_set_fix_val(isl_set_copy(set), isl_dim_set, (unsigned)d,
                                                isl_val_int_from_si(isl_set_get_ctx(set), (long)at)),
                                d + 1, estimated);
        }
        *estimated |= slices < all;
        total *= (double)all / (double)slices;
    }
    isl_set_free(set);
    return total;
}

/* Count the elements of the grid in the box around a set; the box has the strides of the set. */
static double count_box(const dcl_grid *grid, const isl_set *set)
{
    double count = 1;
    for (int r = 0; r < grid->rank; r++) {
        int64_t low, high, stride;
        if (!find_values(set, r, &low, &high, &stride))
            return 0;
        low = dcli_max(low, grid->origin[r]);
        high = dcli_min(high, grid->origin[r] + grid->extent[r] - 1);
        count *= high >= low ? (double)((high - low) / stride + 1) : 0;
    }
    return count;
}

/* ---- one iteration of the program's loops ----------------------------------------------------------------------------- */

/* Choose an iteration of the host loops in which a statement runs: near the middle of each loop. */
static bool choose_hosts(const dcli_loops_sets *sets, int s, const dcli_loops_hosts *hosts, int64_t counter_out[])
{
    isl_set *set = isl_set_copy(sets->domain[s]);
    bool found = true;
    for (int k = 0; k < hosts->count && found; k++) {
        int64_t low, high, stride;
        unsigned d = (unsigned)hosts->depth[k][s];
        found = find_values(set, (int)d, &low, &high, &stride);
        counter_out[k] = found ? low + (high - low) / stride / 2 * stride : 0;
        isl_set *middle =
            isl_set_fix_val(isl_set_copy(set), isl_dim_set, d, isl_val_int_from_si(sets->ctx, (long)counter_out[k]));
        if (found && isl_set_is_empty(middle) == isl_bool_true) {
            counter_out[k] = low;
            isl_set_free(middle);
            middle = isl_set_fix_val(isl_set_copy(set), isl_dim_set, d, isl_val_int_from_si(sets->ctx, (long)low));
        }
        isl_set_free(set);
        set = middle;
    }
    isl_set_free(set);
    return found;
}

/* Fix the parameters of a set at the counters of the host loops. @param set  taken. */
static isl_set *fix_hosts(isl_set *set, const dcli_loops_hosts *hosts, const int64_t counter[])
{
    for (int k = 0; k < hosts->count; k++) {
        char name[] = {'p', (char)('0' + k), '\0'};
        int p = isl_set_find_dim_by_name(set, isl_dim_param, name);
        if (p >= 0)
            set = isl_set_fix_val(set, isl_dim_param, (unsigned)p,
                                  isl_val_int_from_si(isl_set_get_ctx(set), (long)counter[k]));
    }
    return isl_set_project_out_all_params(set);
}

/* The first statement of an operation that writes an array. */
static int first_writer(const dcli_loops_sets *sets, const dcli_loops_operation *operation)
{
    int s = 0;
    while (s < sets->tree->statement_count &&
           (!dcli_loops_in(operation->statements, s) || !sets->tree->statement[s].target.is_array))
        s++;
    return s;
}

/* The number of threads in the box of an operation. */
static double threads_of(const dcli_loops_operation *operation, const int64_t counter[])
{
    double count = 1;
    isl_set *box = fix_hosts(isl_set_copy(operation->box), &operation->hosts, counter);
    for (int r = 0; r < operation->rank; r++) {
        int64_t low, high, stride;
        count *= find_values(box, r, &low, &high, &stride) ? (double)(high - low + 1) : 0;
    }
    isl_set_free(box);
    return count;
}

bool dcli_loops_box_is_larger(dcli_loops_sets *sets, const dcli_loops_operation *together,
                              const dcli_loops_operation *a, const dcli_loops_operation *b)
{
    isl_set *parts = isl_set_union(isl_set_copy(a->box), isl_set_copy(b->box));
    isl_set *more = isl_set_subtract(isl_set_copy(together->box), parts);
    int64_t counter[DCLI_LOOPS_DEPTH];
    int s = first_writer(sets, together);
    return !dcli_loops_no_set(sets, more) && s < sets->tree->statement_count &&
           choose_hosts(sets, s, &together->hosts, counter) &&
           threads_of(together, counter) > 2 * (threads_of(a, counter) + threads_of(b, counter));
}

/* ---- reads ------------------------------------------------------------------------------------------------------------- */

/* Whether the box around a read's elements may be much larger than their number: they may form no box, or have gaps. */
static bool is_suspicious(const dcli_loops_sets *sets, const dcli_loops_operation *operation, int s,
                          const dcli_loops_access *read)
{
    const dcli_loops_statement *statement = &sets->tree->statement[s];
    int terms = 0, counters = 0;
    bool gaps = false, bounded = statement->test_count + read->test_count > 0;
    for (int d = 0; d < statement->depth; d++) {
        const dcli_loops_loop *loop = &sets->tree->loop[statement->loop[d]];
        int uses = 0;
        if (operation->run[statement->loop[d]].way == DCLI_LOOPS_HOSTED)
            continue;
        for (int r = 0; r < sets->tree->name[read->symbol].grid.rank; r++) {
            uses += read->subscript[r].coef[d] != 0;
            gaps |= read->subscript[r].coef[d] > 1 || read->subscript[r].coef[d] < -1;
        }
        terms += uses;
        counters += uses > 0;
        for (int k = 0; k < d; k++) {
            bool hosted = operation->run[statement->loop[k]].way == DCLI_LOOPS_HOSTED;
            for (int n = 0; n < loop->low_count && !hosted; n++)
                bounded |= loop->low[n].coef[k] != 0;
            for (int n = 0; n < loop->high_count && !hosted; n++)
                bounded |= loop->high[n].coef[k] != 0;
        }
    }
    return bounded || terms > counters || (gaps && counters > 1);
}

/* Whether read r of statement s is of this array and can reach elements of other threads. */
static bool reads_others(const dcli_loops_operation *operation, const dcli_loops_tree *tree, int s, int r, int array)
{
    const dcli_loops_access *read = &tree->statement[s].read[r];
    return dcli_loops_in(operation->statements, s) && r < tree->statement[s].read_count && read->is_array &&
           read->symbol == array && !operation->own[s][r];
}

/* The elements of an array that an operation reads in one iteration of the host loops; NULL: none. */
static isl_set *elements_of_all(dcli_loops_sets *sets, const dcli_loops_operation *operation, int array,
                                const int64_t counter[])
{
    isl_set *all = NULL;
    for (int s = 0; s < sets->tree->statement_count; s++)
        for (int r = 0; r < sets->tree->statement[s].read_count; r++)
            if (reads_others(operation, sets->tree, s, r, array)) {
                isl_set *set = fix_hosts(dcli_loops_elements(sets, operation, s, r), &operation->hosts, counter);
                all = all == NULL ? set : isl_set_union(all, set);
            }
    return all;
}

/* Find the suspicious read of an array that has the largest box. @return false: no read is suspicious. */
static bool find_largest(dcli_loops_sets *sets, const dcli_loops_operation *operation, int array,
                         const int64_t counter[], dcli_loops_excess *out)
{
    bool found = false;
    for (int s = 0; s < sets->tree->statement_count; s++)
        for (int r = 0; r < sets->tree->statement[s].read_count; r++) {
            const dcli_loops_access *read = &sets->tree->statement[s].read[r];
            if (!reads_others(operation, sets->tree, s, r, array) || !is_suspicious(sets, operation, s, read))
                continue;
            isl_set *set = fix_hosts(dcli_loops_elements_derived(sets, operation, s, r), &operation->hosts, counter);
            double box = count_box(&sets->tree->name[array].grid, set);
            isl_set_free(set);
            if (found && box <= out->box)
                continue;
            *out = (dcli_loops_excess){.box = box, .place = read->place};
            found = true;
        }
    return found;
}

bool dcli_loops_find_excess(dcli_loops_sets *sets, const dcli_loops_operation *operation, int array,
                            dcli_loops_excess *out)
{
    int64_t counter[DCLI_LOOPS_DEPTH];
    int s = first_writer(sets, operation);
    bool failed = sets->failed;
    bool found = s < sets->tree->statement_count && choose_hosts(sets, s, &operation->hosts, counter) &&
                 find_largest(sets, operation, array, counter, out);
    isl_set *read = found ? elements_of_all(sets, operation, array, counter) : NULL;
    out->read = found ? count_from(read, 0, &out->estimated) : 0;
    found = found && !sets->failed && out->read > 0 && out->box > out->read;
    sets->failed = failed; /* on failure, only this advice is missing */
    return found;
}
