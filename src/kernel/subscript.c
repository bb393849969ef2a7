/* kernel/subscript.c - compute the subscripts of a body for one call, whose scalars have values. */
#include <assert.h>
#include <inttypes.h>

#include "base/check.h"
#include "base/error.h"
#include "kernel/inner.h"
#include "kernel/inside.h"
#include "kernel/over.h"

static dcl_status fail_overflow(const dcli_body *body, int a, int d)
{
    const dcli_body_access *access = &body->access[a];
    return dcli_token_fail(
        &body->inside->tokens, dcli_inside_first_token(body, a),
        "subscript %d of %s (line %d, column %d) overflows 64 bits with the scalars of this call; pass "
        "smaller ones",
        d + 1, body->params[access->param].name, access->line, access->column);
}

static dcl_status fail_limits(const dcli_body *body, int a, int d, const dcli_subscript *subscript)
{
    const dcli_body_access *access = &body->access[a];
    return dcli_token_fail(&body->inside->tokens, dcli_inside_first_token(body, a),
                           "subscript %d of %s (line %d, column %d): the limits of %s are %" PRId64 " and %" PRId64
                           "; expected the lowest and the highest index of a range that is not empty",
                           d + 1, body->params[access->param].name, access->line, access->column,
                           dcli_boundary_name(dcli_boundary_of(body, dcli_inside_subscript(body, a, d))->kind),
                           subscript->low, subscript->high);
}

/* Add the loops of the body that an access uses to its subscripts, as inner axes. @param coef  [rank][DCLI_INDEX_NAMES] coefficients of the loops'
 * variables; those of their counters are added. */
static dcl_status add_inner(const dcli_body *body, int a, const dcli_scalar values[], int64_t (*coef)[DCLI_INDEX_NAMES],
                            dcli_subscripts *out)
{
    const struct dcli_body_inside *inside = body->inside;
    assert(body->inner_rank == 0 || inside->access_inner_count[a] == 0);
    for (int k = 0; k < inside->access_inner_count[a]; k++) {
        int q = inside->access_inner[a][k];
        int64_t first, more;
        dcl_status status = dcli_inner_range(body, q, values, &first, &out->inner_count[out->inner_rank++]);
        if (status != DCL_OK)
            return status;
        for (int d = 0; d < out->rank; d++)
            if (!dcli_mul(coef[d][DCL_MAX_RANK + q], first, &more) ||
                !dcli_add(out->axis[d].constant, more, &out->axis[d].constant) ||
                !dcli_mul(coef[d][DCL_MAX_RANK + q], inside->inner[q].step, &out->axis[d].coef[body->space_rank + k]))
                return fail_overflow(body, a, d);
    }
    return DCL_OK;
}

dcl_status dcli_body_subscripts(const dcli_body *body, int a, const dcli_scalar values[], dcli_subscripts *out)
{
    const dcli_body_access *access = &body->access[a];
    const dcli_param *param = &body->params[access->param];
    *out = (dcli_subscripts){
        .reach = access->reach, .space_rank = body->space_rank, .rank = param->rank, .inner_rank = body->inner_rank};
    int64_t coef[DCL_MAX_RANK][DCLI_INDEX_NAMES];
    for (int d = 0; access->reach == DCLI_REACH_AFFINE && d < param->rank; d++) {
        if (!dcli_affine_evaluate(dcli_inside_subscript(body, a, d), body, values, &out->axis[d].constant, coef[d]) ||
            !dcli_boundary_evaluate(body, dcli_inside_subscript(body, a, d), values, &out->axis[d]))
            return fail_overflow(body, a, d);
        if (out->axis[d].clamped && out->axis[d].low > out->axis[d].high)
            return fail_limits(body, a, d, &out->axis[d]);
        for (int m = 0; m < body->space_rank + body->inner_rank; m++)
            out->axis[d].coef[m] = coef[d][body->index_of_axis[m]];
    }
    return access->reach == DCLI_REACH_AFFINE ? add_inner(body, a, values, coef, out) : DCL_OK;
}

static bool boundary_names_scalar(const dcli_body *body, const dcli_affine *affine, int k)
{
    const dcli_boundary *boundary = dcli_boundary_of(body, affine);
    for (int n = 0; boundary != NULL && n < boundary->count; n++)
        if (dcli_affine_names(&boundary->limit[n].value, k))
            return true;
    return false;
}

bool dcli_body_writes(const dcli_body *body, int k)
{
    for (int a = 0; a < body->access_count; a++)
        if (body->access[a].param == k && body->access[a].written)
            return true;
    return false;
}

bool dcli_body_wraps(const dcli_body *body, int a, int d)
{
    const dcli_boundary *boundary = body->access[a].reach == DCLI_REACH_AFFINE && !body->tile_kernel
                                        ? dcli_boundary_of(body, dcli_inside_subscript(body, a, d))
                                        : NULL;
    return boundary != NULL && boundary->kind == DCLI_BOUNDARY_WRAP;
}

bool dcli_body_clamps(const dcli_body *body, int a) { return !body->tile_kernel && dcli_boundary_clamps_any(body, a); }

bool dcli_body_subscripts_use(const dcli_body *body, int k)
{
    for (int a = 0; a < body->access_count; a++)
        for (int d = 0; body->access[a].reach == DCLI_REACH_AFFINE && d < body->params[body->access[a].param].rank; d++)
            if (dcli_affine_names(dcli_inside_subscript(body, a, d), k) ||
                boundary_names_scalar(body, dcli_inside_subscript(body, a, d), k))
                return true;
    for (int a = 0; a < body->access_count; a++)
        for (int n = 0; n < body->inside->access_inner_count[a]; n++) {
            const dcli_inner *inner = &body->inside->inner[body->inside->access_inner[a][n]];
            if (dcli_affine_names(&inner->first, k) || dcli_affine_names(&inner->limit, k))
                return true;
            for (int l = 0; l < inner->limit_count; l++)
                if (dcli_affine_names(&inner->limits[l].sum, k))
                    return true;
        }
    return dcli_over_uses(body, k);
}
