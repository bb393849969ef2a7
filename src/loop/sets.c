/* loop/sets.c - computes the sets of a nest: its iterations, what they access, and which depend on each other. */
#include "loop/sets.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <isl/flow.h>
#include <isl/options.h>
#include <isl/point.h>
#include <isl/space.h>
#include <isl/union_map.h>
#include <isl/union_set.h>
#include <isl/val.h>
#include <isl/version.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"

/* Compilers inside of OpenCL drivers contain an isl of their own, whose functions have the same names. */
dcl_status dcli_loops_check_isl(void)
{
    Dl_info info;
    const char *version = isl_version();
    if (dladdr((const void *)(uintptr_t)&isl_version, &info) != 0 && info.dli_fname != NULL &&
        strstr(info.dli_fname, "LLVM") != NULL)
        return DCLI_FAIL(
            DCL_ERR_UNSUPPORTED,
            "the functions of isl are those of %s; expected libisl's, against which libdcl is linked; load "
            "libdcl before that library",
            info.dli_fname);
    int major = 0, minor = 0;
    if (sscanf(version, "isl-%d.%d", &major, &minor) == 2 && (major > 0 || minor >= 25))
        return DCL_OK;
    return DCLI_FAIL(DCL_ERR_UNSUPPORTED, "the version of isl is %.40s; expected isl-0.25 or later", version);
}

/* ---- texts of sets ------------------------------------------------------------------------------------------------ */

void dcli_loops_put_linear(dcli_text *out, const dcli_loops_linear *linear)
{
    dcli_text_put(out, "(%" PRId64, linear->constant);
    for (int d = 0; d < DCLI_LOOPS_DEPTH; d++)
        if (linear->coef[d] != 0)
            dcli_text_put(out, " + %" PRId64 "*c%d", linear->coef[d], d);
    dcli_text_put(out, ")");
}

void dcli_loops_put_space(dcli_text *out, const dcli_loops_sets *sets, int s)
{
    dcli_text_put(out, "S%d[", s);
    for (int d = 0; d < sets->tree->statement[s].depth; d++)
        dcli_text_put(out, "%sc%d", d > 0 ? "," : "", d);
    dcli_text_put(out, "]");
}

static void put_comparison(dcli_text *out, const dcli_loops_tree *tree, const dcli_loops_expr *expr, bool negated)
{
    static const char *const signs[][3] = {{"<", "<", ">="},  {"<=", "<=", ">"}, {">", ">", "<="},
                                           {">=", ">=", "<"}, {"==", "=", "!="}, {"!=", "!=", "="}};
    dcli_loops_linear left, right;
    dcli_loops_linear_read(tree, expr->first, NULL, "condition", &left);
    dcli_loops_linear_read(tree, expr->first->next, NULL, "condition", &right);
    for (size_t k = 0; k < sizeof signs / sizeof signs[0]; k++)
        if (strcmp(expr->text, signs[k][0]) == 0) {
            dcli_loops_put_linear(out, &left);
            dcli_text_put(out, " %s ", signs[k][1 + negated]);
            dcli_loops_put_linear(out, &right);
        }
}

void dcli_loops_put_test(dcli_text *out, const dcli_loops_tree *tree, const dcli_loops_expr *condition, bool negated)
{
    if (condition->kind == DCLI_LOOPS_EXPR_UNARY) { /* ! */
        dcli_loops_put_test(out, tree, condition->first, !negated);
        return;
    }
    bool both = strcmp(condition->text, "&&") == 0;
    dcli_text_put(out, "(");
    if (both || strcmp(condition->text, "||") == 0) {
        dcli_loops_put_test(out, tree, condition->first, negated);
        dcli_text_put(out, both != negated ? " and " : " or ");
        dcli_loops_put_test(out, tree, condition->first->next, negated);
    } else {
        put_comparison(out, tree, condition, negated);
    }
    dcli_text_put(out, ")");
}

void dcli_loops_put_tests(dcli_text *out, const dcli_loops_tree *tree, int count, const dcli_loops_test test[])
{
    for (int k = 0; k < count; k++) {
        dcli_text_put(out, " and ");
        dcli_loops_put_test(out, tree, test[k].condition, test[k].negated);
    }
}

/* Put the constraints on the counter at depth d. */
static void put_loop(dcli_text *out, const dcli_loops_loop *loop, int d)
{
    for (int n = 0; n < loop->low_count; n++) {
        dcli_text_put(out, " and c%d >= ", d);
        dcli_loops_put_linear(out, &loop->low[n]);
    }
    for (int n = 0; n < loop->high_count; n++) {
        dcli_text_put(out, " and c%d <= ", d);
        dcli_loops_put_linear(out, &loop->high[n]);
    }
    if (loop->step == 1 || loop->step == -1)
        return;
    dcli_text_put(out, " and (exists e%d : c%d = %" PRId64 "*e%d + ", d, d, loop->step, d);
    dcli_loops_put_linear(out, loop->step > 0 ? &loop->low[0] : &loop->high[0]);
    dcli_text_put(out, ")");
}

isl_set *dcli_loops_read_set(dcli_loops_sets *sets, dcli_text *text)
{
    isl_set *set = text->failed ? NULL : isl_set_read_from_str(sets->ctx, text->bytes);
    sets->failed |= set == NULL;
    dcli_text_free(text);
    return set;
}

isl_map *dcli_loops_read_map(dcli_loops_sets *sets, dcli_text *text)
{
    isl_map *map = text->failed ? NULL : isl_map_read_from_str(sets->ctx, text->bytes);
    sets->failed |= map == NULL;
    dcli_text_free(text);
    return map;
}

bool dcli_loops_no_map(dcli_loops_sets *sets, isl_map *map)
{
    isl_bool empty = isl_map_is_empty(map);
    isl_map_free(map);
    sets->failed |= empty == isl_bool_error;
    return empty != isl_bool_false;
}

bool dcli_loops_no_set(dcli_loops_sets *sets, isl_set *set)
{
    isl_bool empty = isl_set_is_empty(set);
    isl_set_free(set);
    sets->failed |= empty == isl_bool_error;
    return empty != isl_bool_false;
}

/* ---- iterations and accesses -------------------------------------------------------------------------------------- */

static void make_domain(dcli_loops_sets *sets, int s)
{
    const dcli_loops_statement *statement = &sets->tree->statement[s];
    dcli_text text = {0};
    dcli_text_put(&text, "{ ");
    dcli_loops_put_space(&text, sets, s);
    dcli_text_put(&text, " : 0 = 0");
    for (int d = 0; d < statement->depth; d++)
        put_loop(&text, &sets->tree->loop[statement->loop[d]], d);
    dcli_loops_put_tests(&text, sets->tree, statement->test_count, statement->test);
    dcli_text_put(&text, " }");
    sets->domain[s] = dcli_loops_read_set(sets, &text);
}

/* The time of an iteration: at each depth the place of its loop, or of the statement, in the text, then the loop's
 * counter, with another sign if the loop counts down. */
static void make_order(dcli_loops_sets *sets, int s)
{
    const dcli_loops_statement *statement = &sets->tree->statement[s];
    dcli_text text = {0};
    dcli_text_put(&text, "{ ");
    dcli_loops_put_space(&text, sets, s);
    dcli_text_put(&text, " -> [");
    for (int d = 0; d < sets->depth; d++) {
        const dcli_loops_loop *loop = d < statement->depth ? &sets->tree->loop[statement->loop[d]] : NULL;
        if (loop != NULL)
            dcli_text_put(&text, "%d, %sc%d, ", loop->node->order, loop->step < 0 ? "-" : "", d);
        else
            dcli_text_put(&text, "%d, 0, ", d == statement->depth ? statement->node->order : 0);
    }
    dcli_text_put(&text, "%d] }", statement->depth == sets->depth ? statement->node->order : 0);
    sets->order[s] = dcli_loops_read_map(sets, &text);
}

static isl_map *make_access(dcli_loops_sets *sets, int s, const dcli_loops_access *access)
{
    dcli_text text = {0};
    dcli_text_put(&text, "{ ");
    dcli_loops_put_space(&text, sets, s);
    dcli_text_put(&text, " -> %c%d[", access->is_array ? 'A' : 'V', access->symbol);
    for (int d = 0; access->is_array && d < sets->tree->name[access->symbol].grid.rank; d++) {
        dcli_text_put(&text, "%s", d > 0 ? ", " : "");
        dcli_loops_put_linear(&text, &access->subscript[d]);
    }
    dcli_text_put(&text, "] : 0 = 0");
    dcli_loops_put_tests(&text, sets->tree, access->test_count, access->test);
    dcli_text_put(&text, " }");
    return isl_map_intersect_domain(dcli_loops_read_map(sets, &text), isl_set_copy(sets->domain[s]));
}

/* ---- witnesses ---------------------------------------------------------------------------------------------------- */

static int64_t coordinate(isl_point *point, int d)
{
    isl_val *value = isl_point_get_coordinate_val(point, isl_dim_set, d);
    int64_t number = value != NULL ? isl_val_get_num_si(value) : 0;
    isl_val_free(value);
    return number;
}

bool dcli_loops_first_point(dcli_loops_sets *sets, isl_set *set, int count, int64_t point_out[])
{
    if (dcli_loops_no_set(sets, isl_set_copy(set))) {
        isl_set_free(set);
        return false;
    }
    isl_set *first = isl_set_lexmin(set);
    isl_point *point = isl_set_sample_point(first);
    sets->failed |= point == NULL;
    for (int d = 0; d < count; d++)
        point_out[d] = point != NULL ? coordinate(point, d) : 0;
    bool found = point != NULL;
    isl_point_free(point);
    return found;
}

bool dcli_loops_first_pair(dcli_loops_sets *sets, isl_map *map, int s, int t, int64_t source_out[], int64_t sink_out[])
{
    int64_t both[2 * DCLI_LOOPS_DEPTH];
    int first = sets->tree->statement[s].depth, second = sets->tree->statement[t].depth;
    isl_set *flat = isl_set_flatten(isl_map_wrap(map));
    if (!dcli_loops_first_point(sets, flat, first + second, both))
        return false;
    memcpy(source_out, both, (size_t)first * sizeof *both);
    memcpy(sink_out, both + first, (size_t)second * sizeof *both);
    return true;
}

void dcli_loops_put_iteration(dcli_text *out, const dcli_loops_tree *tree, int s, const int64_t point[])
{
    const dcli_loops_statement *statement = &tree->statement[s];
    for (int d = 0; d < statement->depth; d++)
        dcli_text_put(out, "%s%s = %" PRId64, d > 0 ? ", " : "", tree->loop[statement->loop[d]].name, point[d]);
}

/* ---- checks of accesses ------------------------------------------------------------------------------------------- */

/* Complain if an access leaves its array. */
static void check_shape(dcli_loops_sets *sets, int s, const dcli_loops_access *access, const isl_map *map,
                        dcli_loops_complaints *complaints)
{
    const dcli_loops_name *name = &sets->tree->name[access->symbol];
    for (int d = 0; d < name->grid.rank; d++) {
        dcli_text text = {0}, where = {0};
        int64_t low = name->grid.origin[d], high = low + name->grid.extent[d] - 1, point[DCLI_LOOPS_DEPTH];
        dcli_text_put(&text, "{ A%d[", access->symbol);
        for (int k = 0; k < name->grid.rank; k++)
            dcli_text_put(&text, "%sx%d", k > 0 ? "," : "", k);
        dcli_text_put(&text, "] : x%d < %" PRId64 " or x%d > %" PRId64 " }", d, low, d, high);
        isl_set *outside = dcli_loops_read_set(sets, &text);
        isl_set *bad = isl_map_domain(isl_map_intersect_range(isl_map_copy((isl_map *)map), outside));
        int depth = sets->tree->statement[s].depth;
        if (!dcli_loops_first_point(sets, bad, depth, point))
            continue;
        int64_t index = access->subscript[d].constant;
        for (int k = 0; k < depth; k++)
            index += access->subscript[d].coef[k] * point[k];
        dcli_loops_put_iteration(&where, sets->tree, s, point);
        dcli_loops_complain(complaints, access->place, "out-of-bounds",
                            "subscript %d of %s is %" PRId64 ", outside of %" PRId64 "..%" PRId64, d + 1, name->name,
                            index, low, high);
        dcli_loops_note(complaints, "%s%s; narrow the loop, or put the statement into an if",
                        depth > 0 ? "at " : "this statement is in no loop",
                        depth > 0 && where.bytes != NULL ? where.bytes : "");
        dcli_text_free(&where);
        return;
    }
}

static void add_access(isl_union_map **all, const isl_map *map)
{
    *all = isl_union_map_union(*all, isl_union_map_from_map(isl_map_copy((isl_map *)map)));
}

/* Find, for the reads of an array or variable, the last writes before them. */
static isl_union_flow *find_flow(dcli_loops_sets *sets, bool is_array, int symbol)
{
    isl_union_map *reads = isl_union_map_empty_ctx(sets->ctx), *writes = isl_union_map_empty_ctx(sets->ctx),
                  *order = isl_union_map_empty_ctx(sets->ctx);
    for (int s = 0; s < sets->tree->statement_count; s++) {
        const dcli_loops_statement *statement = &sets->tree->statement[s];
        add_access(&order, sets->order[s]);
        if (statement->target.is_array == is_array && statement->target.symbol == symbol)
            add_access(&writes, sets->write[s]);
        for (int r = 0; r < statement->read_count; r++)
            if (statement->read[r].is_array == is_array && statement->read[r].symbol == symbol)
                add_access(&reads, sets->read[s][r]);
    }
    isl_union_access_info *info = isl_union_access_info_from_sink(reads);
    info = isl_union_access_info_set_must_source(info, writes);
    info = isl_union_access_info_set_schedule_map(info, order);
    isl_union_flow *flow = isl_union_access_info_compute_flow(info);
    sets->failed |= flow == NULL;
    return flow;
}

/* The part of a union of maps that leads from s to t. */
static isl_map *part_of(dcli_loops_sets *sets, isl_union_map *all, int s, int t)
{
    isl_space *space =
        isl_space_map_from_domain_and_range(isl_set_get_space(sets->domain[s]), isl_set_get_space(sets->domain[t]));
    return isl_union_map_extract_map(all, space);
}

/* Complain of the first read that no write precedes. */
static void check_assigned(dcli_loops_sets *sets, bool is_array, int symbol, isl_union_map *none,
                           dcli_loops_complaints *complaints)
{
    for (int s = 0; s < sets->tree->statement_count; s++)
        for (int r = 0; r < sets->tree->statement[s].read_count; r++) {
            const dcli_loops_access *access = &sets->tree->statement[s].read[r];
            if (access->is_array != is_array || access->symbol != symbol)
                continue;
            isl_map *bad = isl_union_map_extract_map(none, isl_map_get_space(sets->read[s][r]));
            int64_t point[DCLI_LOOPS_DEPTH];
            bad = isl_map_intersect(bad, isl_map_copy(sets->read[s][r]));
            if (!dcli_loops_first_point(sets, isl_map_domain(bad), sets->tree->statement[s].depth, point))
                continue;
            dcli_text where = {0};
            dcli_loops_put_iteration(&where, sets->tree, s, point);
            const char *name = is_array ? sets->tree->name[symbol].name : sets->tree->scalar[symbol].name;
            dcli_loops_complain(complaints, access->place, "unassigned", "%s is read before the nest assigns it", name);
            dcli_loops_note(complaints, "%s%s; %s", where.length > 0 ? "at " : "here",
                            where.length > 0 ? where.bytes : "",
                            is_array ? "it is a DCL_OUT; pass it as DCL_INOUT to read what it held before"
                                     : "give it a value where it is declared");
            dcli_text_free(&where);
            return;
        }
}

/* Make room for one more object. If that fails, all sets are unusable, because one would be missing. */
static bool has_room(dcli_loops_sets *sets, void *items, int64_t count, int64_t *capacity, size_t bytes)
{
    bool has = dcli_grow(items, count, capacity, bytes) == 0;
    sets->failed |= !has;
    return has;
}

static void find_scalar_flow(dcli_loops_sets *sets, int scalar, dcli_loops_complaints *complaints)
{
    isl_union_flow *flow = find_flow(sets, false, scalar);
    isl_union_map *none = isl_union_flow_get_must_no_source(flow), *all = isl_union_flow_get_must_dependence(flow);
    isl_union_flow_free(flow);
    check_assigned(sets, false, scalar, none, complaints);
    for (int s = 0; s < sets->tree->statement_count; s++)
        for (int t = 0; t < sets->tree->statement_count; t++) {
            isl_map *map = part_of(sets, all, s, t);
            if (dcli_loops_no_map(sets, isl_map_copy(map)) ||
                !has_room(sets, &sets->flow, sets->flow_count, &sets->flow_capacity, sizeof *sets->flow))
                isl_map_free(map);
            else
                sets->flow[sets->flow_count++] = (dcli_loops_flow){s, t, scalar, map};
        }
    isl_union_map_free(none);
    isl_union_map_free(all);
}

static void check_output(dcli_loops_sets *sets, int array, dcli_loops_complaints *complaints)
{
    isl_union_flow *flow = find_flow(sets, true, array);
    isl_union_map *none = isl_union_flow_get_must_no_source(flow);
    isl_union_flow_free(flow);
    check_assigned(sets, true, array, none, complaints);
    isl_union_map_free(none);
}

/* ---- dependences -------------------------------------------------------------------------------------------------- */

void dcli_loops_put_pairs(dcli_text *out, const dcli_loops_sets *sets, int s, int t)
{
    dcli_text_put(out, "{ ");
    dcli_loops_put_space(out, sets, s);
    dcli_text_put(out, " -> S%d[", t);
    for (int d = 0; d < sets->tree->statement[t].depth; d++)
        dcli_text_put(out, "%sd%d", d > 0 ? "," : "", d);
    dcli_text_put(out, "] : 0 = 1");
}

/* Pairs of iterations of s and t, those of s before those of t: the first counter of their common loops that differs
 * decides, and if there is none, the text. */
static isl_map *before(dcli_loops_sets *sets, int s, int t)
{
    const dcli_loops_statement *first = &sets->tree->statement[s], *second = &sets->tree->statement[t];
    dcli_text text = {0};
    int common = 0;
    while (common < first->depth && common < second->depth && first->loop[common] == second->loop[common])
        common++;
    dcli_loops_put_pairs(&text, sets, s, t);
    for (int d = 0; d <= common; d++) {
        if (d == common && first->node->order >= second->node->order)
            break;
        dcli_text_put(&text, " or (0 = 0");
        for (int k = 0; k < d; k++)
            dcli_text_put(&text, " and c%d = d%d", k, k);
        if (d < common)
            dcli_text_put(&text, " and c%d %s d%d", d, sets->tree->loop[first->loop[d]].step > 0 ? "<" : ">", d);
        dcli_text_put(&text, ")");
    }
    dcli_text_put(&text, " }");
    return dcli_loops_read_map(sets, &text);
}

/* @param order  before(sets, s, t), made when it is needed first */
static void add_dependence(dcli_loops_sets *sets, int s, int a, int t, int b, isl_map **order)
{
    const dcli_loops_statement *source = &sets->tree->statement[s], *sink = &sets->tree->statement[t];
    const dcli_loops_access *first = a < 0 ? &source->target : &source->read[a];
    const dcli_loops_access *second = b < 0 ? &sink->target : &sink->read[b];
    if (!first->is_array || !second->is_array || first->symbol != second->symbol || (a >= 0 && b >= 0))
        return;
    isl_map *from = isl_map_copy(a < 0 ? sets->write[s] : sets->read[s][a]);
    isl_map *to = isl_map_copy(b < 0 ? sets->write[t] : sets->read[t][b]);
    if (*order == NULL)
        *order = before(sets, s, t);
    isl_map *map = isl_map_intersect(isl_map_apply_range(from, isl_map_reverse(to)), isl_map_copy(*order));
    if (dcli_loops_no_map(sets, isl_map_copy(map)) || !has_room(sets, &sets->dependence, sets->dependence_count,
                                                                &sets->dependence_capacity, sizeof *sets->dependence))
        isl_map_free(map);
    else
        sets->dependence[sets->dependence_count++] = (dcli_loops_dependence){s, t, a, b, map};
}

static void find_dependences(dcli_loops_sets *sets)
{
    for (int s = 0; s < sets->tree->statement_count; s++)
        for (int t = 0; t < sets->tree->statement_count; t++) {
            isl_map *order = NULL;
            for (int a = -1; a < sets->tree->statement[s].read_count; a++)
                for (int b = -1; b < sets->tree->statement[t].read_count; b++)
                    add_dependence(sets, s, a, t, b, &order);
            isl_map_free(order);
        }
}

/* ---- all ---------------------------------------------------------------------------------------------------------- */

static void make_all(dcli_loops_sets *sets, dcli_loops_complaints *complaints)
{
    const dcli_loops_tree *tree = sets->tree;
    for (int s = 0; s < tree->statement_count; s++)
        sets->depth = tree->statement[s].depth > sets->depth ? tree->statement[s].depth : sets->depth;
    for (int s = 0; s < tree->statement_count; s++) {
        const dcli_loops_statement *statement = &tree->statement[s];
        make_order(sets, s);
        sets->write[s] = make_access(sets, s, &statement->target);
        if (statement->target.is_array)
            check_shape(sets, s, &statement->target, sets->write[s], complaints);
        for (int r = 0; r < statement->read_count; r++) {
            sets->read[s][r] = make_access(sets, s, &statement->read[r]);
            bool target = statement->reads_target && r == statement->read_count - 1; /* checked above */
            if (statement->read[r].is_array && !target)
                check_shape(sets, s, &statement->read[r], sets->read[s][r], complaints);
        }
    }
    for (int v = 0; v < tree->scalar_count; v++)
        find_scalar_flow(sets, v, complaints);
    for (int a = 0; a < tree->name_count; a++)
        if (tree->name[a].access == DCL_ACCESS_OUT)
            check_output(sets, a, complaints);
    if (complaints->count == 0)
        find_dependences(sets);
}

dcli_loops_sets *dcli_loops_sets_begin(const dcli_loops_tree *tree, unsigned long most)
{
    dcli_loops_sets *sets = dcli_calloc(1, sizeof *sets);
    if (sets == NULL)
        return NULL;
    sets->tree = tree;
    sets->ctx = isl_ctx_alloc();
    if (sets->ctx == NULL) {
        dcli_free(sets);
        DCLI_FAIL(DCL_ERR_NOMEM, "isl has no memory for a context");
        return NULL;
    }
    isl_options_set_on_error(sets->ctx, ISL_ON_ERROR_CONTINUE);
    isl_ctx_set_max_operations(sets->ctx, most);
    for (int s = 0; s < tree->statement_count; s++)
        make_domain(sets, s);
    return sets;
}

dcli_loops_sets *dcli_loops_sets_make(const dcli_loops_tree *tree, unsigned long most,
                                      dcli_loops_complaints *complaints)
{
    dcli_loops_sets *sets = dcli_loops_sets_begin(tree, most);
    if (sets != NULL)
        make_all(sets, complaints);
    return sets;
}

void dcli_loops_sets_free(dcli_loops_sets *sets)
{
    if (sets == NULL)
        return;
    for (int64_t d = 0; d < sets->dependence_count; d++)
        isl_map_free(sets->dependence[d].map);
    for (int64_t f = 0; f < sets->flow_count; f++)
        isl_map_free(sets->flow[f].map);
    for (int s = 0; s < sets->tree->statement_count; s++) {
        isl_set_free(sets->domain[s]);
        isl_map_free(sets->order[s]);
        isl_map_free(sets->write[s]);
        isl_set_free(sets->at[s]);
        for (int r = 0; r < sets->tree->statement[s].read_count; r++)
            isl_map_free(sets->read[s][r]);
    }
    dcli_free(sets->dependence);
    dcli_free(sets->flow);
    isl_ctx_free(sets->ctx);
    dcli_free(sets);
}
