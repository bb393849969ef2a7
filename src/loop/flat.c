/* loop/flat.c - find the axes of arrays that a nest subscripts as if they had one, as in b[i*n + j].
 *
 * The subscript is a linear form f of the counters, which counts elements in row-major order. For axes of n0, n1, ..., it is divided into one form
 * per axis: f = f0 * n1 + f1, where 0 <= f1 < n1 for all iterations of the statement, so that f0 and f1 are the quotient and the
 * remainder. The factors of f1 are those of f modulo n1, of which those nearest to 0 are tried first. The constant follows from
 * the least value of the rest of f1. The last axis is divided off first, then the one before it, and so on. If f1 leaves 0..n1-1
 * for all factors that are tried, the subscript is not divided.
 *
 * An argument of one axis may have any shape if it is memory of the program. Its axes are taken from the factors of counters: if
 * the nest has b[i*n + j], rows may have n elements. */
#include <inttypes.h>
#include <isl/ilp.h>
#include <isl/val.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/check.h"
#include "loop/sets.h"

enum { MOST_FLIPS = 6 /* most factors of a subscript for which both signs are tried */ };

/* The accesses of a tree to an array. */
struct flat {
    dcli_loops_tree *tree;
    dcli_loops_sets *sets; /* only the iterations of statements */
    int array;
    dcl_grid shape; /* the axes that are tried */
};

/* ---- dividing a subscript ------------------------------------------------------------------------------------------ */

static bool read_val(isl_val *value, int64_t *out)
{
    bool known = value != NULL && isl_val_is_int(value) == isl_bool_true && isl_val_cmp_si(value, INT64_MAX) < 0 &&
                 isl_val_cmp_si(value, INT64_MIN) > 0;
    *out = known ? isl_val_get_num_si(value) : 0;
    isl_val_free(value);
    return known;
}

/* Find the least and the greatest value of a linear form in the iterations of statement s that evaluate an access; 0 and 0 if there are
 * none. @return false: they are not known */
static bool find_range(struct flat *flat, int s, const dcli_loops_access *access, const dcli_loops_linear *form,
                       int64_t *low_out, int64_t *high_out)
{
    dcli_text text = {0};
    dcli_text_put(&text, "{ ");
    dcli_loops_put_space(&text, flat->sets, s);
    dcli_text_put(&text, " -> [");
    dcli_loops_put_linear(&text, form);
    dcli_text_put(&text, "] : 0 = 0");
    dcli_loops_put_tests(&text, flat->tree, access->test_count, access->test);
    dcli_text_put(&text, " }");
    isl_map *map = dcli_loops_read_map(flat->sets, &text);
    isl_set *range = isl_map_range(isl_map_intersect_domain(map, isl_set_copy(flat->sets->domain[s])));
    *low_out = *high_out = 0;
    if (dcli_loops_no_set(flat->sets, isl_set_copy(range))) {
        isl_set_free(range);
        return !flat->sets->failed;
    }
    return read_val(isl_set_dim_min_val(isl_set_copy(range), 0), low_out) &
           read_val(isl_set_dim_max_val(range, 0), high_out);
}

/* What is left of `factor` if the multiple of `extent` that is nearest to it is taken away. */
static int64_t nearest_rest(int64_t factor, int64_t extent)
{
    int64_t rest = dcli_mod(factor, extent);
    return rest > extent / 2 ? rest - extent : rest;
}

/* Try to divide off an axis: *form = *quotient_out * extent + *rest_out.
 * @param flips  bit n: the n-th factor of the rest that is large gets the other sign. */
static bool try_axis(struct flat *flat, int s, const dcli_loops_access *access, const dcli_loops_linear *form,
                     int64_t extent, unsigned flips, dcli_loops_linear *quotient_out, dcli_loops_linear *rest_out)
{
    dcli_loops_linear rest = {0};
    int large = 0;
    for (int d = 0; d < DCLI_LOOPS_DEPTH; d++) {
        rest.coef[d] = nearest_rest(form->coef[d], extent);
        if (rest.coef[d] != 0 && llabs(rest.coef[d]) >= extent / 4 && large < MOST_FLIPS && (flips >> large++ & 1) != 0)
            rest.coef[d] -= rest.coef[d] > 0 ? extent : -extent;
    }
    int64_t low, high, sum;
    if (flips >> large != 0 || !find_range(flat, s, access, &rest, &low, &high) ||
        !dcli_add(form->constant, low, &sum) || !dcli_sub(dcli_mod(sum, extent), low, &rest.constant) ||
        !dcli_add(high, rest.constant, &sum) || sum >= extent)
        return false;
    dcli_loops_linear quotient = {0};
    bool fits = dcli_sub(form->constant, rest.constant, &quotient.constant);
    quotient.constant /= extent;
    for (int d = 0; d < DCLI_LOOPS_DEPTH && fits; d++) {
        fits = dcli_sub(form->coef[d], rest.coef[d], &quotient.coef[d]);
        quotient.coef[d] /= extent;
    }
    if (fits) {
        *quotient_out = quotient;
        *rest_out = rest;
    }
    return fits;
}

/* Divide a subscript among the axes of the shape. @param axis_out  if that fails: the axis which it leaves.
 * @return whether all but the first axis are proved to fit */
static bool divide(struct flat *flat, int s, const dcli_loops_access *access, dcli_loops_linear out[DCL_MAX_RANK],
                   int *axis_out)
{
    dcli_loops_linear form = access->subscript[0];
    for (int d = flat->shape.rank - 1; d > 0; d--) {
        bool done = false;
        for (unsigned flips = 0; flips < 1u << MOST_FLIPS && !done && !flat->sets->failed; flips++)
            done = try_axis(flat, s, access, &form, flat->shape.extent[d], flips, &form, &out[d]);
        *axis_out = d;
        if (!done)
            return false;
    }
    out[0] = form;
    return true;
}

/* ---- all accesses to an array ---------------------------------------------------------------------------------------- */

/* @return whether the walk is to go on */
typedef bool visit_fn(struct flat *flat, int s, dcli_loops_access *access, void *user);

static bool visit(struct flat *flat, visit_fn *function, void *user)
{
    for (int s = 0; s < flat->tree->statement_count; s++) {
        dcli_loops_statement *statement = &flat->tree->statement[s];
        if (statement->target.is_array && statement->target.symbol == flat->array &&
            !function(flat, s, &statement->target, user))
            return false;
        for (int r = 0; r < statement->read_count; r++)
            if (statement->read[r].is_array && statement->read[r].symbol == flat->array &&
                !function(flat, s, &statement->read[r], user))
                return false;
    }
    return true;
}

static bool is_divided(struct flat *flat, int s, dcli_loops_access *access, void *user)
{
    dcli_loops_linear out[DCL_MAX_RANK];
    int64_t low, high;
    (void)user;
    return divide(flat, s, access, out, &(int){0}) && find_range(flat, s, access, &out[0], &low, &high) && low >= 0 &&
           high < flat->shape.extent[0];
}

static bool complain_of(struct flat *flat, const dcli_loops_access *access, int axis, dcli_loops_complaints *complaints)
{
    const char *name = flat->tree->name[flat->array].name;
    dcli_loops_complain(complaints, access->place, "rank",
                        "%s has 1 subscript for its %d axes, whose part along axis %d is not within 0..%" PRId64
                        " for all iterations",
                        name, flat->shape.rank, axis + 1, flat->shape.extent[axis] - 1);
    dcli_loops_note(complaints, "pass %s with one axis of all its elements, or write one pair of brackets per axis",
                    name);
    return false;
}

static bool divide_access(struct flat *flat, int s, dcli_loops_access *access, void *user)
{
    dcli_loops_linear out[DCL_MAX_RANK];
    int axis = 0;
    if (!access->is_flat)
        return true;
    if (!divide(flat, s, access, out, &axis))
        return flat->sets->failed || complain_of(flat, access, axis, user);
    memcpy(access->subscript, out, (size_t)flat->shape.rank * sizeof *out);
    return true;
}

/* ---- expressions ----------------------------------------------------------------------------------------------------- */

static dcli_loops_expr *make(dcli_loops_tree *tree, const dcli_loops_expr *like, dcli_loops_expr_kind kind)
{
    dcli_loops_expr *made = dcli_calloc(1, sizeof *made);
    if (made == NULL)
        return NULL;
    *made = (dcli_loops_expr){.kind = kind, .place = like->place, .symbol = -1, .read = -1, .made = tree->exprs};
    tree->exprs = made;
    return made;
}

static dcli_loops_expr *join(dcli_loops_tree *tree, dcli_loops_expr *left, const char *op, dcli_loops_expr *right)
{
    dcli_loops_expr *made = left != NULL && right != NULL ? make(tree, left, DCLI_LOOPS_EXPR_BINARY) : NULL;
    if (made == NULL)
        return NULL;
    strcpy(made->text, op);
    made->first = left;
    left->next = right;
    return made;
}

/* Add a term to a sum. @param sum  NULL: there is no term yet. @param factor  not 0. @param term  NULL: the factor is the term.
 * @return NULL: no memory */
static dcli_loops_expr *add_term(dcli_loops_tree *tree, const dcli_loops_expr *like, dcli_loops_expr *sum,
                                 int64_t factor, dcli_loops_expr *term)
{
    uint64_t amount = factor < 0 ? -(uint64_t)factor : (uint64_t)factor;
    if (term == NULL || amount != 1) {
        dcli_loops_expr *number = make(tree, like, DCLI_LOOPS_EXPR_NUMBER);
        if (number == NULL)
            return NULL;
        snprintf(number->text, sizeof number->text, "%" PRIu64, amount);
        term = term == NULL ? number : join(tree, number, "*", term);
    }
    if (sum != NULL)
        return join(tree, sum, factor < 0 ? "-" : "+", term);
    if (factor > 0 || term == NULL)
        return term;
    dcli_loops_expr *minus = make(tree, like, DCLI_LOOPS_EXPR_UNARY);
    if (minus == NULL)
        return NULL;
    strcpy(minus->text, "-");
    minus->first = term;
    return minus;
}

/* Make the expression of a linear form. Positive terms come before negative ones: i - 1, 69 - j. @return NULL: no memory */
static dcli_loops_expr *make_form(dcli_loops_tree *tree, const dcli_loops_statement *statement,
                                  const dcli_loops_expr *like, const dcli_loops_linear *form)
{
    dcli_loops_expr *sum = NULL;
    bool made = true;
    for (int sign = 1; sign >= -1; sign -= 2) {
        for (int d = 0; d < statement->depth && made; d++) {
            if (form->coef[d] == 0 || (form->coef[d] > 0) != (sign > 0))
                continue;
            dcli_loops_expr *term = make(tree, like, DCLI_LOOPS_EXPR_COUNTER);
            if (term == NULL)
                return NULL;
            term->symbol = statement->loop[d];
            memcpy(term->text, tree->loop[statement->loop[d]].name, sizeof term->text - 1);
            sum = add_term(tree, like, sum, form->coef[d], term);
            made = sum != NULL;
        }
        if (form->constant != 0 && (form->constant > 0) == (sign > 0) && made) {
            sum = add_term(tree, like, sum, form->constant, NULL);
            made = sum != NULL;
        }
    }
    if (sum != NULL || !made)
        return sum;
    dcli_loops_expr *zero = make(tree, like, DCLI_LOOPS_EXPR_NUMBER);
    if (zero != NULL)
        strcpy(zero->text, "0");
    return zero;
}

/* Replace the subscript of an element by those of its axes. @return false: no memory */
static bool replace(struct flat *flat, const dcli_loops_statement *statement, dcli_loops_expr *expr,
                    const dcli_loops_access *access)
{
    dcli_loops_expr *like = expr->first, **end = &expr->first;
    for (int d = 0; d < flat->shape.rank && access->is_flat; d++) {
        *end = make_form(flat->tree, statement, like, &access->subscript[d]);
        if (*end == NULL)
            return false;
        end = &(*end)->next;
    }
    return true;
}

static bool replace_reads(struct flat *flat, const dcli_loops_statement *statement, dcli_loops_expr *expr)
{
    if (expr->kind == DCLI_LOOPS_EXPR_ELEMENT)
        return expr->symbol != flat->array || replace(flat, statement, expr, &statement->read[expr->read]);
    bool done = true;
    for (dcli_loops_expr *item = expr->first; item != NULL && done; item = item->next)
        done = replace_reads(flat, statement, item);
    return done;
}

static bool replace_all(struct flat *flat)
{
    bool done = true;
    for (int s = 0; s < flat->tree->statement_count && done; s++) {
        dcli_loops_statement *statement = &flat->tree->statement[s];
        if (statement->target.is_array && statement->target.symbol == flat->array)
            done = replace(flat, statement, (dcli_loops_expr *)statement->target_expr, &statement->target);
        done = done && replace_reads(flat, statement, (dcli_loops_expr *)statement->value);
    }
    return done;
}

/* ---- shapes -------------------------------------------------------------------------------------------------------- */

/* The factors of counters in the subscripts of an array that may be the elements of a row, the largest first. */
struct strides {
    int count;
    int64_t stride[2 * DCLI_LOOPS_DEPTH];
};

static bool add_strides(struct flat *flat, int s, dcli_loops_access *access, void *user)
{
    struct strides *strides = user;
    (void)s;
    for (int d = 0; d < DCLI_LOOPS_DEPTH; d++) {
        int64_t factor = access->subscript[0].coef[d], elements = flat->tree->name[flat->array].grid.extent[0];
        if (factor > INT64_MIN && factor < 0)
            factor = -factor;
        if (factor < 2 || factor >= elements || elements % factor != 0)
            continue;
        int at = 0;
        while (at < strides->count && strides->stride[at] > factor)
            at++;
        if ((at < strides->count && strides->stride[at] == factor) || strides->count == 2 * DCLI_LOOPS_DEPTH)
            continue;
        memmove(&strides->stride[at + 1], &strides->stride[at],
                (size_t)(strides->count - at) * sizeof *strides->stride);
        strides->stride[at] = factor;
        strides->count++;
    }
    return true;
}

/* Set axes such that a step along them is by strides first, first + 1, ..., first + count - 1, of which those that do not divide the one before
 * are left out, and by 1. */
static void set_shape(struct flat *flat, const struct strides *strides, int first, int count)
{
    int64_t whole = flat->tree->name[flat->array].grid.extent[0];
    flat->shape.rank = 0;
    for (int k = first; k < first + count && flat->shape.rank < DCL_MAX_RANK - 1; k++)
        if (whole % strides->stride[k] == 0) {
            flat->shape.extent[flat->shape.rank++] = whole / strides->stride[k];
            whole = strides->stride[k];
        }
    flat->shape.extent[flat->shape.rank++] = whole;
}

/* Find axes for an array of one axis, such that all its subscripts are divided among them: by all strides, or by one of them.
 * @return false: there are none */
static bool find_shape(struct flat *flat)
{
    struct strides strides = {0};
    visit(flat, add_strides, &strides);
    bool found = false;
    for (int k = -1; k < strides.count && strides.count > 0 && !found && !flat->sets->failed; k++) {
        set_shape(flat, &strides, k < 0 ? 0 : k, k < 0 ? strides.count : 1);
        found = visit(flat, is_divided, NULL);
    }
    return found;
}

static bool mark(struct flat *flat, int s, dcli_loops_access *access, void *user)
{
    (void)flat, (void)s, (void)user;
    access->is_flat = true;
    return true;
}

static bool unmark(struct flat *flat, int s, dcli_loops_access *access, void *user)
{
    (void)flat, (void)s, (void)user;
    access->is_flat = false;
    return true;
}

static bool is_full(struct flat *flat, int s, dcli_loops_access *access, void *user)
{
    (void)flat, (void)s, (void)user;
    return !access->is_flat;
}

/* @return false: no memory */
static bool give_shape(struct flat *flat)
{
    dcli_loops_tree *tree = flat->tree;
    if (!dcli_loops_tree_own_names(tree))
        return false;
    dcli_loops_name *name = &tree->own_names[flat->array];
    name->grid.rank = flat->shape.rank;
    memcpy(name->grid.extent, flat->shape.extent, sizeof name->grid.extent);
    memset(name->grid.origin, 0, sizeof name->grid.origin);
    name->whole = (name->whole & 1) != 0 ? ~0u : 0; /* one tile has all elements; or it is not known */
    name->gather = 0;
    return visit(flat, mark, NULL);
}

/* Divide the subscripts of an array. @return false: no memory, or there is a complaint */
static bool divide_array(struct flat *flat, dcli_loops_complaints *complaints)
{
    const dcli_loops_name *name = &flat->tree->name[flat->array];
    if (name->access == DCL_ACCESS_VALUE)
        return true;
    flat->shape = name->grid;
    if (name->grid.rank == 1 && (!name->any_shape || !find_shape(flat)))
        return true;
    if (name->grid.rank == 1 && !give_shape(flat))
        return false;
    if (visit(flat, is_full, NULL))
        return true;
    if (!visit(flat, divide_access, complaints))
        return false;
    return replace_all(flat) && visit(flat, unmark, NULL);
}

bool dcli_loops_has_flat(const dcli_loops_tree *tree)
{
    bool found = false;
    for (int s = 0; s < tree->statement_count; s++) {
        const dcli_loops_statement *statement = &tree->statement[s];
        for (int r = -1; r < statement->read_count; r++) {
            const dcli_loops_access *access = r < 0 ? &statement->target : &statement->read[r];
            const dcli_loops_name *name = access->is_array ? &tree->name[access->symbol] : NULL;
            found |= access->is_flat;
            for (int d = 0; d < DCLI_LOOPS_DEPTH && name != NULL && name->any_shape && name->grid.rank == 1; d++)
                found |= access->subscript[0].coef[d] < -1 || access->subscript[0].coef[d] > 1;
        }
    }
    return found;
}

dcl_status dcli_loops_divide_flat(dcli_loops_tree *tree, dcli_loops_sets *sets, dcli_loops_complaints *complaints)
{
    struct flat flat = {.tree = tree, .sets = sets};
    bool done = true;
    for (; flat.array < tree->name_count && done && !sets->failed; flat.array++)
        done = divide_array(&flat, complaints);
    return done || complaints->count > 0 || sets->failed ? DCL_OK : DCL_ERR_NOMEM;
}

/* ---- in the parser --------------------------------------------------------------------------------------------------- */

bool dcli_loops_is_flat(const dcli_loops_tree *tree, const dcli_loops_expr *element)
{
    const dcl_grid *grid = &tree->name[element->symbol].grid;
    bool counts = grid->rank > 1 && element->first != NULL && element->first->next == NULL;
    for (int d = 0; d < grid->rank && counts; d++)
        counts = grid->origin[d] == 0 && grid->extent[d] > 0;
    return counts;
}

void dcli_loops_complain_rank(dcli_loops_complaints *complaints, dcli_loops_place place, const dcli_loops_name *name,
                              int count)
{
    dcli_loops_complain(complaints, place, "rank", "%s has %d subscript%s; expected %d, one per axis", name->name,
                        count, count == 1 ? "" : "s", name->grid.rank);
    dcli_loops_note(complaints, "write one pair of brackets per axis%s%s%s", name->grid.rank == 2 ? ", as " : "",
                    name->grid.rank == 2 ? name->name : "", name->grid.rank == 2 ? "[i][j]" : "");
}

/* Whether the multiple of `row` that is nearest to a number is not 0. */
static bool is_beyond(int64_t number, int64_t row) { return number > row / 2 || number < -(row / 2); }

void dcli_loops_check_rows(const dcli_loops_tree *tree, dcli_loops_complaints *complaints)
{
    for (int a = 0; a < tree->name_count; a++) {
        const dcli_loops_name *name = &tree->name[a];
        bool beyond = false;
        for (int pass = 0; pass < 2 && name->access != DCL_ACCESS_VALUE && name->grid.rank > 1; pass++)
            for (int s = 0; s < tree->statement_count; s++) {
                const dcli_loops_statement *statement = &tree->statement[s];
                for (int r = -1; r < statement->read_count - (pass == 1 && statement->reads_target); r++) {
                    const dcli_loops_access *access = r < 0 ? &statement->target : &statement->read[r];
                    if (!access->is_array || access->symbol != a || !access->is_flat)
                        continue;
                    int64_t row = name->grid.extent[name->grid.rank - 1];
                    beyond |= is_beyond(access->subscript[0].constant, row);
                    for (int d = 0; d < DCLI_LOOPS_DEPTH; d++)
                        beyond |= is_beyond(access->subscript[0].coef[d], row);
                    if (pass == 1 && !beyond)
                        dcli_loops_complain_rank(complaints, access->place, name, 1);
                }
            }
    }
}
