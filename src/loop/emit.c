/* loop/emit.c - generate the body of an operation: what a thread runs for its element.
 *
 * The body walks through the tree in the program's order. A fixed loop becomes its one iteration, a free one a loop
 * over the values that its counter has in any thread, so that DCL can derive what the body reads. Conditions restrict
 * both where a thread has fewer iterations. The element is kept in a variable and written at the end.
 *
 * Names: i, j, ... are the indices of the element; a<n>_A is argument n, e<n>_A its element, o<n>_A its other
 * elements, k<n>_A the copy of it; s<n>_x a scalar argument, f<r>_i, z<r>_i the first and last index of axis r,
 * t<n>_x a variable of the nest; c<n>_x, l<n>_x, u<n>_x the counter of loop n and its bounds; h<k>_x the counter of
 * host loop k. Names of the nest follow an underscore, so they differ from all names of OpenCL C. */
#include <inttypes.h>
#include <isl/ilp.h>
#include <isl/val.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "loop/writer.h"

enum { SHORT_LOOP = 9 }; /* iterations of a loop that kernels unroll */

static const char index_letters[] = "ijklmnop";

/* ---- arguments ---------------------------------------------------------------------------------------------------- */

dcli_loops_operand *dcli_loops_add_operand(dcli_loops_writer *writer, const char *prefix, int number, const char *name,
                                           dcl_access access, int symbol, int64_t value)
{
    dcli_loops_operation *operation = writer->operation;
    dcli_loops_operand made = {.access = access, .of_copy = prefix[0] == 'k', .symbol = symbol, .value = value};
    snprintf(made.name, sizeof made.name, "%s%d_%s", prefix, number, name);
    for (int k = 0; k < operation->operand_count; k++)
        if (strcmp(operation->operand[k].name, made.name) == 0) {
            writer->uses |= (uint64_t)1 << k;
            return &operation->operand[k];
        }
    if (operation->operand_count == DCLI_LOOPS_OPERANDS) {
        writer->out->failed = true;
        return NULL;
    }
    writer->uses |= (uint64_t)1 << operation->operand_count;
    operation->operand[operation->operand_count] = made;
    return &operation->operand[operation->operand_count++];
}

/* ---- counters ----------------------------------------------------------------------------------------------------- */

static int host_of(const dcli_loops_operation *operation, int loop)
{
    return operation->run[loop].way == DCLI_LOOPS_HOSTED ? operation->run[loop].row : -1;
}

/* Put the loops around a loop, and the loop itself, by depth. */
static void list_loops(const dcli_loops_tree *tree, int loop, int loops_out[])
{
    for (; loop >= 0; loop = tree->loop[loop].parent)
        loops_out[tree->loop[loop].depth] = loop;
}

/* Put the value of a counter, of type long. */
static void put_counter(dcli_loops_writer *writer, int loop)
{
    const dcli_loops_run *run = &writer->operation->run[loop];
    const char *name = writer->tree->loop[loop].name;
    int host = host_of(writer->operation, loop);
    if (host >= 0) {
        dcli_loops_add_operand(writer, "h", host, name, DCL_ACCESS_VALUE, -1, -1 - host);
        dcli_text_put(writer->out, "h%d_%s", host, name);
    } else if (run->way == DCLI_LOOPS_FREE) {
        dcli_text_put(writer->out, "c%d_%s", loop, name);
    } else {
        bool plain = run->sign > 0 && run->rest.constant == 0;
        for (int d = 0; d < DCLI_LOOPS_DEPTH; d++)
            plain &= run->rest.coef[d] == 0;
        if (plain) {
            dcli_text_put(writer->out, "%c", index_letters[run->row]);
            return;
        }
        dcli_text_put(writer->out, run->sign > 0 ? "(%c - " : "((-%c) + ", index_letters[run->row]);
        dcli_loops_put_counters(writer, &run->rest, writer->tree->statement[run->statement].loop);
        dcli_text_put(writer->out, ")");
    }
}

void dcli_loops_put_counters(dcli_loops_writer *writer, const dcli_loops_linear *linear, const int loop[])
{
    dcli_text_put(writer->out, "(%" PRId64, linear->constant);
    for (int d = 0; d < DCLI_LOOPS_DEPTH; d++) {
        if (linear->coef[d] == 0)
            continue;
        dcli_text_put(writer->out, " + ");
        if (linear->coef[d] != 1)
            dcli_text_put(writer->out, "(%" PRId64 ") * ", linear->coef[d]);
        put_counter(writer, loop[d]);
    }
    dcli_text_put(writer->out, ")");
}

/* ---- expressions -------------------------------------------------------------------------------------------------- */

static void put_expr(dcli_loops_writer *writer, const dcli_loops_expr *expr, bool in_subscript);
static void put_comparison_text(dcli_loops_writer *writer, const dcli_loops_expr *condition);

static bool is_output(const dcli_loops_operation *operation, int array)
{
    for (int k = 0; k < operation->output_count; k++)
        if (operation->output[k] == array)
            return true;
    return false;
}

static void put_subscripts(dcli_loops_writer *writer, const dcli_loops_expr *expr)
{
    for (const dcli_loops_expr *item = expr->first; item != NULL; item = item->next) {
        dcli_text_put(writer->out, item == expr->first ? "(" : ", ");
        put_expr(writer, item, true);
    }
    dcli_text_put(writer->out, ")");
}

/* Begin a choice between the thread's own element, as it is now, and another one. */
static void put_own_test(dcli_loops_writer *writer, const dcli_loops_expr *expr)
{
    int r = 0;
    for (const dcli_loops_expr *item = expr->first; item != NULL; item = item->next, r++) {
        dcli_text_put(writer->out, "%s(", r == 0 ? "(" : " && ");
        put_expr(writer, item, true);
        dcli_text_put(writer->out, ") == %c", index_letters[r]);
    }
    dcli_text_put(writer->out, " ? e%d_%s : ", expr->symbol, writer->tree->name[expr->symbol].name);
}

static void put_element(dcli_loops_writer *writer, const dcli_loops_expr *expr)
{
    if (writer->operation->along >= 0) {
        dcli_loops_put_line_element(writer, &writer->tree->statement[writer->statement].read[expr->read], expr->read);
        return;
    }
    const char *name = writer->tree->name[expr->symbol].name;
    bool written = is_output(writer->operation, expr->symbol);
    if (written && writer->operation->own[writer->statement][expr->read]) {
        dcli_text_put(writer->out, "e%d_%s", expr->symbol, name);
        return;
    }
    bool copied = written && writer->operation->copied[writer->statement][expr->read],
         mixed = copied && writer->operation->mixed[writer->statement][expr->read];
    const char *prefix = copied ? "k" : written ? "o" : "a";
    if (mixed)
        put_own_test(writer, expr);
    dcli_loops_operand *operand =
        dcli_loops_add_operand(writer, prefix, expr->symbol, name, DCL_ACCESS_IN, expr->symbol, 0);
    if (operand != NULL && operand->place.line == 0)
        operand->place = expr->place;
    dcli_text_put(writer->out, "%s%d_%s", prefix, expr->symbol, name);
    put_subscripts(writer, expr);
    if (mixed)
        dcli_text_put(writer->out, ")");
}

/* Put a counter as a value of the type that it has in the nest. */
static void put_counter_value(dcli_loops_writer *writer, int loop)
{
    dcli_text_put(writer->out, writer->tree->loop[loop].is_long ? "((long)" : "((int)");
    put_counter(writer, loop);
    dcli_text_put(writer->out, ")");
}

static void put_items(dcli_loops_writer *writer, const dcli_loops_expr *expr, const char *separator, bool in_subscript)
{
    for (const dcli_loops_expr *item = expr->first; item != NULL; item = item->next) {
        put_expr(writer, item, in_subscript);
        if (item->next != NULL)
            dcli_text_put(writer->out, "%s", separator);
    }
}

static void put_binary(dcli_loops_writer *writer, const dcli_loops_expr *expr, bool in_subscript)
{
    char between[8];
    dcli_loops_linear constant;
    if (in_subscript && strchr("/%", expr->text[0]) != NULL && /* of numbers: the parser has refused others */
        dcli_loops_linear_read(writer->tree, expr, NULL, "subscript", &constant)) {
        dcli_text_put(writer->out, "(%" PRId64 ")", constant.constant);
        return;
    }
    snprintf(between, sizeof between, " %.2s ", expr->text);
    dcli_text_put(writer->out, "(");
    put_items(writer, expr, between, in_subscript);
    dcli_text_put(writer->out, ")");
}

static void put_expr(dcli_loops_writer *writer, const dcli_loops_expr *expr, bool in_subscript)
{
    dcli_text *out = writer->out;
    switch (expr->kind) {
    case DCLI_LOOPS_EXPR_NUMBER:
        dcli_text_put(out, "%s", expr->text);
        return;
    case DCLI_LOOPS_EXPR_COUNTER:
        if (in_subscript)
            put_counter(writer, expr->symbol);
        else
            put_counter_value(writer, expr->symbol);
        return;
    case DCLI_LOOPS_EXPR_VALUE:
        if (in_subscript && writer->tree->name[expr->symbol].type == DCL_UINT64) { /* would make the others unsigned */
            dcli_text_put(out, "(%" PRId64 ")", writer->tree->name[expr->symbol].value);
            return;
        }
        dcli_loops_add_operand(writer, "s", expr->symbol, expr->text, DCL_ACCESS_VALUE, expr->symbol, 0);
        dcli_text_put(out, "s%d_%s", expr->symbol, expr->text);
        return;
    case DCLI_LOOPS_EXPR_SCALAR:
        dcli_text_put(out, "t%d_%s%s", expr->symbol, expr->text, writer->in_lanes ? "[q_w]" : "");
        return;
    case DCLI_LOOPS_EXPR_ELEMENT:
        put_element(writer, expr);
        return;
    case DCLI_LOOPS_EXPR_CALL: {
        bool is_abs = strcmp(expr->text, "abs") == 0; /* unsigned in OpenCL C, signed in C */
        dcli_text_put(out, is_abs ? "((long)%s(" : "%s(", expr->text);
        put_items(writer, expr, ", ", false);
        dcli_text_put(out, is_abs ? "))" : ")");
        return;
    }
    case DCLI_LOOPS_EXPR_UNARY:
        dcli_text_put(out, "(%s ", expr->text);
        put_items(writer, expr, "", in_subscript);
        dcli_text_put(out, ")");
        return;
    case DCLI_LOOPS_EXPR_BINARY:
        put_binary(writer, expr, in_subscript);
        return;
    case DCLI_LOOPS_EXPR_CHOICE:
        dcli_text_put(out, "(");
        if (dcli_loops_condition_is_linear(writer->tree, expr->first, NULL))
            put_comparison_text(writer, expr->first);
        else
            put_expr(writer, expr->first, false);
        dcli_text_put(out, " ? ");
        put_expr(writer, expr->first->next, false);
        dcli_text_put(out, " : ");
        put_expr(writer, expr->first->next->next, false);
        dcli_text_put(out, ")");
        return;
    case DCLI_LOOPS_EXPR_CAST:
        dcli_text_put(out, in_subscript ? "(" : "((%s)", expr->text);
        put_items(writer, expr, "", in_subscript);
        dcli_text_put(out, ")");
        return;
    }
}

/* ---- conditions --------------------------------------------------------------------------------------------------- */

static bool is_inside(const dcli_loops_writer *writer, int s, int loop)
{
    return dcli_loops_in(writer->operation->statements, s) && dcli_loops_depth_in(writer->tree, s, loop) >= 0;
}

/* Whether a bound of a loop needs a test: without it, some iteration would run whose counter c<d> of the loop fulfils
 * `c<d> VIOLATED linear`, for the relation `violated`. */
static bool is_needed(dcli_loops_writer *writer, int loop, const char *violated, const dcli_loops_linear *linear)
{
    int d = writer->tree->loop[loop].depth;
    bool needed = false;
    for (int s = 0; s < writer->tree->statement_count; s++) {
        if (!is_inside(writer, s, loop))
            continue;
        dcli_text text = {0};
        dcli_text_put(&text, "{ ");
        dcli_loops_put_space(&text, writer->sets, s);
        dcli_text_put(&text, " : c%d %s ", d, violated);
        dcli_loops_put_linear(&text, linear);
        dcli_text_put(&text, " }");
        isl_map *bad =
            isl_map_intersect_domain(isl_map_copy(writer->unguarded[s]), dcli_loops_read_set(writer->sets, &text));
        needed |= !dcli_loops_no_map(writer->sets, bad);
    }
    return needed;
}

static void put_bound(dcli_loops_writer *writer, int loop, const char *relation, const dcli_loops_linear *linear,
                      const char *then)
{
    int around[DCLI_LOOPS_DEPTH] = {0};
    list_loops(writer->tree, loop, around);
    dcli_text_put(writer->out, "if (");
    put_counter(writer, loop);
    dcli_text_put(writer->out, " %s ", relation);
    dcli_loops_put_counters(writer, linear, around);
    dcli_text_put(writer->out, ") %s", then);
}

/* Put a bound of a fixed loop as a test in the free loop around it, if that is possible: a test that skips an iteration
 * of the free loop, or leaves it. `limit`, with the index added, is not negative where the bound holds.
 * @param row, sign  the index that is added to `limit`, and the sign with which it is added.
 * @return false: the counter of the free loop has another factor in `limit` than 1 and -1; nothing was put. */
static bool put_limit(dcli_loops_writer *writer, int free_loop, int row, int sign, const dcli_loops_linear *limit)
{
    int depth = writer->tree->loop[free_loop].depth, around[DCLI_LOOPS_DEPTH] = {0};
    dcli_loops_linear rest = *limit;
    int64_t factor = rest.coef[depth];
    if (factor != 1 && factor != -1)
        return false;
    rest.coef[depth] = 0;
    list_loops(writer->tree, free_loop, around);
    dcli_text_put(writer->out, "if (");
    put_counter(writer, free_loop);
    dcli_text_put(writer->out, factor > 0 ? " < -(%s%c + " : " > (%s%c + ", sign < 0 ? "-" : "", index_letters[row]);
    dcli_loops_put_counters(writer, &rest, around);
    dcli_text_put(writer->out, factor > 0 ? ")) continue; " : ")) break; ");
    return true;
}

/* Put the bounds of fixed loop `number` as tests that skip iterations of `free_loop`, or leave it. Call it only if the
 * free loop contains nothing but the fixed loop. Does nothing unless both have a step of 1, or if the fixed loop is
 * turned. */
static void put_limits(dcli_loops_writer *writer, int free_loop, int number)
{
    const dcli_loops_loop *loop = &writer->tree->loop[number];
    const dcli_loops_run *run = &writer->operation->run[number];
    int around = 0;
    if (writer->tree->loop[free_loop].step != 1 || loop->step != 1 || run->rest.coef[loop->depth] != 0 ||
        run->turned != 0)
        return;
    for (int side = 0; side < 2; side++) /* sign * (index - rest) - low, or high - sign * (index - rest) */
        for (int n = 0; n < (side == 0 ? loop->low_count : loop->high_count); n++) {
            const dcli_loops_linear *bound = side == 0 ? &loop->low[n] : &loop->high[n];
            int sign = side == 0 ? run->sign : -run->sign;
            dcli_loops_linear limit = {.constant = -sign * run->rest.constant +
                                                   (side == 0 ? -bound->constant : bound->constant)};
            for (int d = 0; d < DCLI_LOOPS_DEPTH; d++)
                limit.coef[d] = -sign * run->rest.coef[d] + (side == 0 ? -bound->coef[d] : bound->coef[d]);
            if (!is_needed(writer, number, side == 0 ? "<" : ">", bound))
                continue;
            around += put_limit(writer, free_loop, run->row, sign, &limit) ? 0 : 1;
        }
    if (around == 0)
        writer->limited |= (dcli_loops_mask)1 << number;
}

int dcli_loops_put_bounds(dcli_loops_writer *writer, int number)
{
    const dcli_loops_loop *loop = &writer->tree->loop[number];
    bool free = writer->operation->run[number].way == DCLI_LOOPS_FREE && !dcli_loops_in(writer->headed, number);
    int blocks = 0;
    if (dcli_loops_in(writer->limited, number))
        return 0;
    for (int n = 0; n < loop->low_count; n++)
        if (is_needed(writer, number, "<", &loop->low[n])) {
            put_bound(writer, number, free ? "<" : ">=", &loop->low[n],
                      free ? loop->step > 0 ? "continue; " : "break; " : "{ ");
            blocks += !free;
        }
    for (int n = 0; n < loop->high_count; n++)
        if (is_needed(writer, number, ">", &loop->high[n])) {
            put_bound(writer, number, free ? ">" : "<=", &loop->high[n],
                      free ? loop->step < 0 ? "continue; " : "break; " : "{ ");
            blocks += !free;
        }
    if (loop->step == 1 || loop->step == -1 || (free && dcli_loops_step_run(loop) == loop->step))
        return blocks;
    int around[DCLI_LOOPS_DEPTH] = {0};
    list_loops(writer->tree, number, around);
    dcli_text_put(writer->out, "if ((");
    put_counter(writer, number);
    dcli_text_put(writer->out, " - ");
    dcli_loops_put_counters(writer, loop->step > 0 ? &loop->low[0] : &loop->high[0], around);
    dcli_text_put(writer->out, ") %% %" PRId64 " == 0) { ", loop->step < 0 ? -loop->step : loop->step);
    return blocks + 1;
}

static void put_comparison_text(dcli_loops_writer *writer, const dcli_loops_expr *condition)
{
    if (condition->kind == DCLI_LOOPS_EXPR_UNARY) {
        dcli_text_put(writer->out, "!(");
        put_comparison_text(writer, condition->first);
        dcli_text_put(writer->out, ")");
        return;
    }
    bool joins = strcmp(condition->text, "&&") == 0 || strcmp(condition->text, "||") == 0;
    dcli_text_put(writer->out, "(");
    for (const dcli_loops_expr *side = condition->first; side != NULL; side = side->next) {
        if (joins)
            put_comparison_text(writer, side);
        else
            put_expr(writer, side, true); /* integers of 64 bits, as in the analysis */
        if (side->next != NULL)
            dcli_text_put(writer->out, " %s ", condition->text);
    }
    dcli_text_put(writer->out, ")");
}

/* ---- statements --------------------------------------------------------------------------------------------------- */

/* Put the condition that a statement writes the thread's element, as far as its loops do not imply it. */
static int put_element_test(dcli_loops_writer *writer, const dcli_loops_statement *statement)
{
    int blocks = 0, s = writer->statement;
    for (int r = 0; statement->target.is_array && r < writer->operation->rank; r++) {
        if (r == writer->operation->along)
            continue;
        dcli_text text = {0};
        dcli_text_put(&text, "{ ");
        dcli_loops_put_space(&text, writer->sets, s);
        dcli_text_put(&text, " -> [");
        for (int k = 0; k < writer->operation->rank; k++)
            dcli_text_put(&text, "%sx%d", k > 0 ? "," : "", k);
        dcli_text_put(&text, "] : x%d != ", r);
        dcli_loops_put_linear(&text, &statement->target.subscript[r]);
        dcli_text_put(&text, " }");
        isl_map *other =
            isl_map_intersect(isl_map_copy(writer->unguarded[s]), dcli_loops_read_map(writer->sets, &text));
        if (dcli_loops_no_map(writer->sets, other))
            continue;
        dcli_text_put(writer->out, "if (%c == ", index_letters[r]);
        dcli_loops_put_counters(writer, &statement->target.subscript[r], statement->loop);
        dcli_text_put(writer->out, ") { ");
        blocks++;
    }
    return blocks;
}

static void put_blocks_end(dcli_loops_writer *writer, int blocks)
{
    for (; blocks > 0; blocks--)
        dcli_text_put(writer->out, "} ");
}

static void put_assignment(dcli_loops_writer *writer, int s)
{
    const dcli_loops_statement *statement = &writer->tree->statement[s];
    const dcli_loops_access *target = &statement->target;
    writer->statement = s;
    int blocks = put_element_test(writer, statement);
    if (target->is_array && writer->operation->along >= 0)
        dcli_loops_put_line_element(writer, target, -1);
    else if (target->is_array)
        dcli_text_put(writer->out, "e%d_%s", target->symbol, writer->tree->name[target->symbol].name);
    else
        dcli_text_put(writer->out, "t%d_%s%s", target->symbol, writer->tree->scalar[target->symbol].name,
                      writer->in_lanes ? "[q_w]" : "");
    dcli_text_put(writer->out, " %s ", statement->op);
    put_expr(writer, statement->value, false);
    dcli_text_put(writer->out, "; ");
    put_blocks_end(writer, blocks);
    dcli_text_put(writer->out, "\n");
}

bool dcli_loops_holds(const dcli_loops_writer *writer, const dcli_loops_node *node)
{
    if (node->kind == DCLI_LOOPS_NODE_ASSIGN)
        return dcli_loops_in(writer->operation->statements, node->number);
    for (const dcli_loops_node *inside = node->first; inside != NULL; inside = inside->next)
        if (dcli_loops_holds(writer, inside))
            return true;
    return false;
}

/* The only one of these nodes that contains statements of the operation, if that node is a loop; NULL: it is no loop,
 * or there are several such nodes or none. */
static const dcli_loops_node *only_loop(const dcli_loops_writer *writer, const dcli_loops_node *node)
{
    const dcli_loops_node *found = NULL;
    for (; node != NULL; node = node->next) {
        if (!dcli_loops_holds(writer, node))
            continue;
        if (found != NULL || node->kind != DCLI_LOOPS_NODE_LOOP)
            return NULL;
        found = node;
    }
    return found;
}

/* The value of a bound, if it is the same in all iterations of the hosts. */
static bool is_constant(isl_pw_aff *bound, int64_t *value_out)
{
    isl_val *low = isl_pw_aff_min_val(isl_pw_aff_copy(bound)), *high = isl_pw_aff_max_val(isl_pw_aff_copy(bound));
    bool is_one =
        low != NULL && high != NULL && isl_val_is_int(low) == isl_bool_true && isl_val_eq(low, high) == isl_bool_true;
    *value_out = is_one ? isl_val_get_num_si(low) : 0;
    isl_val_free(low);
    isl_val_free(high);
    return is_one;
}

/* Whether a free loop has iterations whenever the operation has threads, whatever the counters of the program's loops are. */
static bool has_iterations(const dcli_loops_writer *writer, int loop)
{
    isl_set *threads = isl_set_params(isl_set_copy(writer->operation->box));
    isl_set *iterations = isl_set_params(isl_set_copy(writer->operation->run[loop].range));
    return dcli_loops_no_set(writer->sets, isl_set_subtract(threads, iterations));
}

void dcli_loops_put_head(dcli_loops_writer *writer, int number, int64_t step)
{
    const dcli_loops_loop *loop = &writer->tree->loop[number];
    const dcli_loops_run *run = &writer->operation->run[number];
    int64_t low, high;
    const char *name = loop->name;
    char first[80], last[80];
    if (is_constant(run->low, &low) && is_constant(run->high, &high) && high - low < SHORT_LOOP && high >= low &&
        has_iterations(writer, number)) {
        snprintf(first, sizeof first, "%" PRId64, low);
        snprintf(last, sizeof last, "%" PRId64, high);
    } else {
        dcli_loops_add_operand(writer, "l", number, name, DCL_ACCESS_VALUE, -1, 2 * number);
        dcli_loops_add_operand(writer, "u", number, name, DCL_ACCESS_VALUE, -1, 2 * number + 1);
        snprintf(first, sizeof first, "l%d_%s", number, name);
        snprintf(last, sizeof last, "u%d_%s", number, name);
    }
    if (step > 0)
        dcli_text_put(writer->out, "for (long c%d_%s = %s; c%d_%s <= %s; c%d_%s += %" PRId64 ") { ", number, name,
                      first, number, name, last, number, name, step);
    else
        dcli_text_put(writer->out, "for (long c%d_%s = %s; c%d_%s >= %s; c%d_%s -= %" PRId64 ") { ", number, name, last,
                      number, name, first, number, name, -step);
}

static void put_loop(dcli_loops_writer *writer, const dcli_loops_node *node)
{
    const dcli_loops_run *run = &writer->operation->run[node->number];
    const dcli_loops_loop *loop = &writer->tree->loop[node->number];
    bool free = run->way == DCLI_LOOPS_FREE && !dcli_loops_in(writer->headed, node->number), turned = false;
    if (free)
        dcli_loops_put_head(writer, node->number, dcli_loops_step_run(loop));
    if (run->turned != 0 &&
        writer->operation->run[dcli_loops_inner(writer->tree, node->number)].way == DCLI_LOOPS_FREE) {
        turned = true;
        writer->headed |= (dcli_loops_mask)1 << dcli_loops_inner(writer->tree, node->number);
        dcli_loops_put_head(writer, dcli_loops_inner(writer->tree, node->number), run->turned);
    }
    int blocks = dcli_loops_put_bounds(writer, node->number);
    const dcli_loops_node *only = only_loop(writer, node->first);
    if (free && blocks == 0 && only != NULL && writer->operation->run[only->number].way == DCLI_LOOPS_FIXED)
        put_limits(writer, node->number, only->number);
    dcli_loops_put_nodes(writer, node->first);
    put_blocks_end(writer, blocks + free + turned);
    dcli_text_put(writer->out, "\n");
}

/* Whether a node does not belong to the share of the body that is generated. */
static bool is_left_out(const dcli_loops_writer *writer, const dcli_loops_node *node)
{
    bool is_loop = node == writer->parts;
    if (writer->share != REST || is_loop)
        return writer->share == HEAD && is_loop;
    while (node != NULL && node != writer->parts)
        node = node->next;
    return node != NULL; /* it stands before the loop */
}

void dcli_loops_put_node(dcli_loops_writer *writer, const dcli_loops_node *node)
{
    if (!dcli_loops_holds(writer, node) || is_left_out(writer, node))
        return;
    if (node->kind == DCLI_LOOPS_NODE_ASSIGN) {
        put_assignment(writer, node->number);
    } else if (node->kind == DCLI_LOOPS_NODE_LOOP) {
        put_loop(writer, node);
    } else {
        dcli_text_put(writer->out, node->test.negated ? "if (!" : "if (");
        put_comparison_text(writer, node->test.condition);
        dcli_text_put(writer->out, ") {\n");
        dcli_loops_put_nodes(writer, node->first);
        dcli_text_put(writer->out, "}\n");
    }
}

void dcli_loops_put_nodes(dcli_loops_writer *writer, const dcli_loops_node *node)
{
    for (; node != NULL; node = node->next)
        dcli_loops_put_node(writer, node);
}

/* ---- bodies ------------------------------------------------------------------------------------------------------- */

const char *dcli_loops_type_name(dcl_type type)
{
    static const char *const names[] = {"?",      "char", "short", "int",  "long",  "uchar",
                                        "ushort", "uint", "ulong", "half", "float", "double"};
    return names[type];
}

static bool writes(const dcli_loops_statement *statement, int array)
{
    return statement->target.is_array && statement->target.symbol == array;
}

/* Whether a statement reads the element of its thread of an array. */
static bool reads_own(const dcli_loops_writer *writer, int s, int array)
{
    const dcli_loops_operation *operation = writer->operation;
    const dcli_loops_statement *statement = &writer->tree->statement[s];
    for (int r = 0; r < statement->read_count; r++)
        if (statement->read[r].is_array && statement->read[r].symbol == array &&
            (operation->own[s][r] || operation->mixed[s][r]))
            return true;
    return false;
}

/* Whether every thread assigns its element of an array before anything else happens to it: by the first statement of
 * the text that touches the array, which has one iteration per thread. Statements are not numbered in the order of the
 * text if assignments to variables were repeated (loop/split.c). */
static bool is_overwritten(dcli_loops_writer *writer, int array)
{
    const dcli_loops_operation *operation = writer->operation;
    const dcli_loops_statement *statement = writer->tree->statement;
    int first = -1;
    for (int s = 0; s < writer->tree->statement_count; s++)
        if (dcli_loops_in(operation->statements, s) && (writes(&statement[s], array) || reads_own(writer, s, array)) &&
            (first < 0 || statement[s].node->order < statement[first].node->order))
            first = s;
    if (first < 0 || !writes(&statement[first], array) || reads_own(writer, first, array))
        return false;
    for (int d = 0; d < statement[first].depth; d++)
        if (operation->run[statement[first].loop[d]].way == DCLI_LOOPS_FREE)
            return false;
    isl_set *written = isl_map_range(isl_map_copy(operation->threads[first]));
    return dcli_loops_no_set(writer->sets, isl_set_subtract(isl_set_copy(operation->box), written));
}

static void put_access(dcli_loops_writer *writer, int array)
{
    dcli_text_put(writer->out, "a%d_%s(", array, writer->tree->name[array].name);
    for (int r = 0; r < writer->operation->rank; r++)
        dcli_text_put(writer->out, "%s%c", r > 0 ? "," : "", index_letters[r]);
    dcli_text_put(writer->out, ")");
}

dcli_loops_place dcli_loops_place_of_output(const dcli_loops_writer *writer, int array)
{
    int s = 0;
    while (!dcli_loops_in(writer->operation->statements, s) || !writer->tree->statement[s].target.is_array ||
           writer->tree->statement[s].target.symbol != array)
        s++;
    return writer->tree->statement[s].target.place;
}

bool dcli_loops_uses_variable(const dcli_loops_writer *writer, int variable)
{
    for (int s = 0; s < writer->tree->statement_count; s++) {
        const dcli_loops_statement *statement = &writer->tree->statement[s];
        if (!dcli_loops_in(writer->operation->statements, s))
            continue;
        if (!statement->target.is_array && statement->target.symbol == variable)
            return true;
        for (int r = 0; r < statement->read_count; r++)
            if (!statement->read[r].is_array && statement->read[r].symbol == variable)
                return true;
    }
    return false;
}

static void put_body(dcli_loops_writer *writer)
{
    const dcli_loops_operation *operation = writer->operation;
    const dcli_loops_tree *tree = writer->tree;
    for (int k = 0; k < operation->output_count; k++) {
        int array = operation->output[k];
        bool overwritten = writer->share != REST && is_overwritten(writer, array);
        dcli_loops_operand *operand = dcli_loops_add_operand(writer, "a", array, tree->name[array].name,
                                                             overwritten ? DCL_ACCESS_OUT : DCL_ACCESS_INOUT, array, 0);
        if (operand != NULL)
            operand->place = dcli_loops_place_of_output(writer, array);
        dcli_text_put(writer->out, "%s e%d_%s", dcli_loops_type_name(tree->name[array].type), array,
                      tree->name[array].name);
        if (!overwritten) {
            dcli_text_put(writer->out, " = ");
            put_access(writer, array);
        }
        dcli_text_put(writer->out, ";\n");
    }
    for (int v = 0; v < tree->scalar_count; v++)
        if (dcli_loops_uses_variable(writer, v))
            dcli_text_put(writer->out, "%s t%d_%s;\n", tree->scalar[v].type, v, tree->scalar[v].name);
    dcli_loops_put_nodes(writer, tree->first);
    for (int k = 0; k < operation->output_count; k++) {
        put_access(writer, operation->output[k]);
        dcli_text_put(writer->out, " = e%d_%s;\n", operation->output[k], tree->name[operation->output[k]].name);
    }
}

/* ---- parts of a loop ---------------------------------------------------------------------------------------------- */

/* Whether threads assign variables that are declared outside of a loop: these may carry values from one iteration to the next. */
static bool assigns_outside(const dcli_loops_writer *writer, int loop)
{
    const dcli_loops_tree *tree = writer->tree;
    int depth = tree->loop[loop].depth;
    for (int s = 0; s < tree->statement_count; s++) {
        const dcli_loops_access *target = &tree->statement[s].target;
        if (!dcli_loops_in(writer->operation->statements, s) || target->is_array)
            continue;
        const dcli_loops_scalar *scalar = &tree->scalar[target->symbol];
        if (scalar->depth <= depth || scalar->loop[depth] != loop)
            return true;
    }
    return false;
}

/* The last of these nodes that contains statements of the operation. */
static const dcli_loops_node *last_node(const dcli_loops_writer *writer, const dcli_loops_node *node)
{
    const dcli_loops_node *found = NULL;
    for (; node != NULL; node = node->next)
        if (dcli_loops_holds(writer, node))
            found = node;
    return found;
}

/* Find a free loop that counts upwards by 1 and is the last thing that a thread runs. Only then may several operations,
 * one after the other, run the statements before the loop and parts of the loop.
 * @param all_out  whether a thread runs nothing but this loop.
 * @return NULL: there is none. */
static const dcli_loops_node *loop_of_parts(const dcli_loops_writer *writer, bool *all_out)
{
    const dcli_loops_run *run = writer->operation->run;
    const dcli_loops_node *node = writer->tree->first, *only = only_loop(writer, node), *last;
    while (only != NULL && run[only->number].way != DCLI_LOOPS_FREE && run[only->number].turned == 0) {
        node = only->first;
        only = only_loop(writer, node);
    }
    last = last_node(writer, node);
    *all_out = only != NULL;
    bool fits = last != NULL && last->kind == DCLI_LOOPS_NODE_LOOP && run[last->number].way == DCLI_LOOPS_FREE &&
                writer->tree->loop[last->number].step == 1 && !assigns_outside(writer, last->number);
    return fits ? last : NULL;
}

/* Note which arguments are the bounds of writer->parts, the loop that runs in parts. */
static void mark_parts(dcli_loops_writer *writer)
{
    dcli_loops_operation *operation = writer->operation;
    for (int k = 0; k < operation->operand_count; k++) {
        dcli_loops_operand *operand = &operation->operand[k];
        bool is_bound = operand->access == DCL_ACCESS_VALUE && operand->symbol < 0 && operand->bound == 0;
        if (is_bound && operand->value >= 0 && operand->value / 2 == writer->parts->number)
            operand->part = 1 + (int)(operand->value % 2);
    }
}

/* Generate a share of the body.
 * @param ranges  bit k: the ranges use operand k. */
static char *put_share(dcli_loops_writer *writer, int share, uint64_t ranges, uint64_t *uses_out)
{
    dcli_text out = {0}, *whole = writer->out;
    writer->share = share;
    writer->out = &out;
    writer->uses = ranges;
    put_body(writer);
    writer->out = whole;
    whole->failed |= out.failed;
    *uses_out = writer->uses;
    return dcli_text_take(&out);
}

/* Let the loop that a thread runs last run in parts, if there is one. */
static void put_parts(dcli_loops_writer *writer, uint64_t ranges)
{
    dcli_loops_operation *operation = writer->operation;
    bool all;
    writer->parts = loop_of_parts(writer, &all);
    if (writer->parts == NULL)
        return;
    mark_parts(writer);
    if (all)
        return;
    operation->head = put_share(writer, HEAD, ranges, &operation->head_uses);
    operation->rest = put_share(writer, REST, ranges, &operation->rest_uses);
}

/* ---- ranges of indices ----------------------------------------------------------------------------------------------- */

/* Print the bound that a condition gives for its axis: the other terms, moved to the other side. */
static void put_slant(dcli_loops_writer *writer, const dcli_loops_slant *slant)
{
    const dcli_loops_operation *operation = writer->operation;
    int64_t sign = slant->index[slant->axis] > 0 ? -1 : 1;
    dcli_text_put(writer->out, "%" PRId64, sign * slant->constant);
    for (int r = 0; r < operation->rank; r++)
        if (r != slant->axis && slant->index[r] != 0)
            dcli_text_put(writer->out, " + (%" PRId64 ") * %c", sign * slant->index[r], index_letters[r]);
    for (int k = 0; k < operation->hosts.count; k++)
        if (slant->host[k] != 0) {
            const char *name = writer->tree->loop[operation->hosts.loop[k]].name;
            dcli_loops_add_operand(writer, "h", k, name, DCL_ACCESS_VALUE, -1, -1 - k);
            dcli_text_put(writer->out, " + (%" PRId64 ") * h%d_%s", sign * slant->host[k], k, name);
        }
}

/* Print the lower or upper limit of an index: the bound of the box, and those of conditions. */
static void put_side(dcli_loops_writer *writer, int r, bool high)
{
    const dcli_loops_operation *operation = writer->operation;
    const char *prefix = high ? "z" : "f", letter[] = {index_letters[r], '\0'};
    dcli_loops_operand *bound = dcli_loops_add_operand(writer, prefix, r, letter, DCL_ACCESS_VALUE, -1, 0);
    if (bound != NULL)
        bound->bound = 1 + 2 * r + high;
    dcli_text_put(writer->out, "%s(%s%d_%s", high ? "min" : "max", prefix, r, letter);
    for (int n = 0; n < operation->slant_count; n++)
        if (operation->slant[n].axis == r && (operation->slant[n].index[r] < 0) == high) {
            dcli_text_put(writer->out, ", ");
            put_slant(writer, &operation->slant[n]);
        }
    dcli_text_put(writer->out, ")");
}

/* Make the text of DCL_OVER. Every index has a range, because DCL would take a missing one from the arrays. */
static void put_ranges(dcli_loops_writer *writer)
{
    dcli_loops_operation *operation = writer->operation;
    dcli_text ranges = {0}, *body = writer->out;
    writer->out = &ranges;
    for (int r = 0; r < operation->rank; r++) {
        dcli_text_put(&ranges, "%s", r > 0 ? ", " : "");
        put_side(writer, r, false);
        dcli_text_put(&ranges, " <= %c <= ", index_letters[r]);
        put_side(writer, r, true);
    }
    writer->out = body;
    body->failed |= ranges.failed;
    operation->ranges = dcli_text_take(&ranges);
    dcli_loops_operand *over = dcli_loops_add_operand(writer, "r", 0, "over", DCL_ACCESS_OVER, -1, 0);
    if (over != NULL)
        over->over = operation->ranges;
}

dcl_status dcli_loops_emit(dcli_loops_sets *sets, dcli_loops_operation *operation)
{
    dcli_text out = {0};
    dcli_loops_writer writer = {.sets = sets, .tree = sets->tree, .operation = operation, .out = &out};
    for (int s = 0; s < sets->tree->statement_count; s++)
        if (dcli_loops_in(operation->statements, s))
            writer.unguarded[s] = dcli_loops_unguarded(sets, operation, s);
    if (operation->along >= 0) {
        dcli_loops_put_lines(&writer);
    } else {
        put_body(&writer);
        writer.uses = 0;
        if (operation->over != NULL)
            put_ranges(&writer);
        put_parts(&writer, writer.uses);
    }
    for (int s = 0; s < sets->tree->statement_count; s++)
        isl_map_free(writer.unguarded[s]);
    if (operation->operand_count == DCLI_LOOPS_OPERANDS) {
        dcli_text_free(&out);
        return DCLI_FAIL(DCL_ERR_BODY,
                         "statements of the nest that run together use %d arrays, scalars and loops; expected "
                         "fewer; split the nest",
                         DCLI_LOOPS_OPERANDS);
    }
    if (out.failed)
        return DCLI_FAIL(DCL_ERR_NOMEM, "no memory for the text of a body");
    operation->body = dcli_text_take(&out);
    return DCL_OK;
}
