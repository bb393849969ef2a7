/* loop/bound.c - evaluates the bounds of operations and loops for the counters of the program's loops.
 *
 * isl takes about a microsecond per value, and running a cached plan needs several values per operation. So a bound
 * is converted when it is first needed: to rows of factors, which give the conditions and the value of each of its
 * pieces. */
#include <isl/constraint.h>
#include <isl/point.h>
#include <isl/val.h>
#include <string.h>

#include "base/alloc.h"
#include "base/check.h"
#include "loop/inside.h"

enum { MOST_ROWS = 64 };

/* constant + sum of factor[k] * counter k */
struct row {
    enum {
        IS_ZERO,     /* a condition: the row's value is 0 */
        IS_POSITIVE, /* a condition: the row's value is not below 0 */
        IS_VALUE     /* the bound is the row's value, if all conditions before it hold */
    } kind;
    int64_t constant, factor[DCLI_LOOPS_DEPTH];
};

struct dcli_loops_bound {
    isl_pw_aff *of;
    int counters; /* number of counters on which the bound may depend: the first ones */
    int count;    /* number of rows; 0: the bound cannot be written as rows, and isl evaluates it */
    struct row *row;
};

/* A bound while it is converted to rows. */
struct writer {
    int counters, count;
    bool fits;
    struct row row[MOST_ROWS + 1]; /* the last row is not used: it takes what does not fit */
    isl_aff *aff;                  /* value of the current piece */
};

static int64_t number_of(struct writer *writer, isl_val *value)
{
    writer->fits &= isl_val_is_int(value) == isl_bool_true && isl_val_cmp_si(value, INT32_MAX) <= 0 &&
                    isl_val_cmp_si(value, -INT32_MAX) >= 0;
    int64_t number = writer->fits ? isl_val_get_num_si(value) : 0;
    isl_val_free(value);
    return number;
}

static struct row *add_row(struct writer *writer)
{
    writer->fits &= writer->count < MOST_ROWS;
    return &writer->row[writer->fits ? writer->count++ : MOST_ROWS];
}

static isl_stat add_condition(isl_constraint *constraint, void *user)
{
    struct writer *writer = user;
    struct row *row = add_row(writer);
    writer->fits &= isl_constraint_dim(constraint, isl_dim_div) == 0;
    row->kind = isl_constraint_is_equality(constraint) == isl_bool_true ? IS_ZERO : IS_POSITIVE;
    row->constant = number_of(writer, isl_constraint_get_constant_val(constraint));
    for (int k = 0; k < writer->counters; k++)
        row->factor[k] = number_of(writer, isl_constraint_get_coefficient_val(constraint, isl_dim_param, k));
    isl_constraint_free(constraint);
    return isl_stat_ok;
}

static isl_stat add_part(isl_basic_set *part, void *user)
{
    struct writer *writer = user;
    isl_basic_set_foreach_constraint(part, add_condition, writer);
    isl_basic_set_free(part);
    struct row *row = add_row(writer);
    row->kind = IS_VALUE;
    row->constant = number_of(writer, isl_aff_get_constant_val(writer->aff));
    for (int k = 0; k < writer->counters; k++)
        row->factor[k] = number_of(writer, isl_aff_get_coefficient_val(writer->aff, isl_dim_param, k));
    return isl_stat_ok;
}

static isl_stat add_piece(isl_set *where, isl_aff *aff, void *user)
{
    struct writer *writer = user;
    writer->aff = aff;
    writer->fits &= isl_aff_dim(aff, isl_dim_div) == 0;
    isl_set_foreach_basic_set(where, add_part, writer);
    isl_aff_free(aff);
    isl_set_free(where);
    return isl_stat_ok;
}

/* Convert a bound to rows. @return NULL: no memory */
static struct dcli_loops_bound *write_down(dcli_loops_plan *plan, isl_pw_aff *of)
{
    struct writer writer = {.counters = (int)isl_pw_aff_dim(of, isl_dim_param), .fits = true};
    writer.fits = writer.counters <= DCLI_LOOPS_DEPTH;
    if (dcli_grow(&plan->bound, plan->bound_count, &plan->bound_capacity, sizeof *plan->bound) != 0)
        return NULL;
    if (writer.fits)
        isl_pw_aff_foreach_piece(of, add_piece, &writer);
    struct dcli_loops_bound *made = &plan->bound[plan->bound_count];
    *made = (struct dcli_loops_bound){.of = of, .counters = writer.counters};
    if (writer.fits && writer.count > 0) {
        made->row = dcli_calloc((size_t)writer.count, sizeof *made->row);
        if (made->row == NULL)
            return NULL;
        memcpy(made->row, writer.row, (size_t)writer.count * sizeof *made->row);
        made->count = writer.count;
    }
    plan->bound_count++;
    return made;
}

/* Find the rows of a bound. Bounds are evaluated in the same order again and again, so the bound that follows the last
 * one found is compared first. */
static struct dcli_loops_bound *find(dcli_loops_plan *plan, isl_pw_aff *of)
{
    for (int64_t n = 0, at = plan->bound_next; n < plan->bound_count; n++, at++) {
        at = at < plan->bound_count ? at : 0;
        if (plan->bound[at].of != of)
            continue;
        plan->bound_next = at + 1;
        return &plan->bound[at];
    }
    return write_down(plan, of);
}

/* @return false: overflow */
static bool evaluate_row(const struct row *row, int count, const int64_t counter[], int64_t *value_out)
{
    int64_t value = row->constant, more;
    for (int k = 0; k < count; k++)
        if (!dcli_mul(row->factor[k], counter[k], &more) || !dcli_add(value, more, &value))
            return false;
    *value_out = value;
    return true;
}

bool dcli_loops_evaluate_by_isl(dcli_loops_plan *plan, isl_pw_aff *bound, int count, const int64_t counter[],
                                int64_t *value_out)
{
    isl_ctx *ctx = plan->sets->ctx;
    isl_point *point = isl_point_zero(isl_pw_aff_get_domain_space(bound));
    for (int k = 0; k < count; k++)
        point = isl_point_set_coordinate_val(point, isl_dim_param, k, isl_val_int_from_si(ctx, (long)counter[k]));
    isl_val *value = isl_pw_aff_eval(isl_pw_aff_copy(bound), point);
    bool is_int = isl_val_is_int(value) == isl_bool_true;
    *value_out = is_int ? isl_val_get_num_si(value) : 0;
    plan->sets->failed |= value == NULL;
    isl_val_free(value);
    return is_int;
}

bool dcli_loops_evaluate(dcli_loops_plan *plan, isl_pw_aff *bound, int count, const int64_t counter[],
                         int64_t *value_out)
{
    const struct dcli_loops_bound *found = find(plan, bound);
    if (found == NULL || found->count == 0 || found->counters > count)
        return dcli_loops_evaluate_by_isl(plan, bound, count, counter, value_out);
    bool holds = true;
    count = found->counters;
    *value_out = 0;
    for (const struct row *row = found->row; row < found->row + found->count; row++) {
        int64_t value;
        if (!holds && row->kind != IS_VALUE)
            continue; /* another condition of this part does not hold */
        if (!evaluate_row(row, count, counter, &value))
            return dcli_loops_evaluate_by_isl(plan, bound, count, counter, value_out);
        if (row->kind == IS_VALUE && holds) {
            *value_out = value;
            return true;
        }
        holds = row->kind == IS_VALUE || (holds && (row->kind == IS_ZERO ? value == 0 : value >= 0));
    }
    return false;
}

void dcli_loops_plan_forget_bounds(dcli_loops_plan *plan)
{
    for (int64_t n = 0; n < plan->bound_count; n++)
        dcli_free(plan->bound[n].row);
    dcli_free(plan->bound);
    plan->bound = NULL;
    plan->bound_count = plan->bound_capacity = plan->bound_next = 0;
}
