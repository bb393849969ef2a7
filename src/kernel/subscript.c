/* kernel/subscript.c - compute the subscripts of a body for one call, whose scalars have values. */
#include "base/error.h"
#include "kernel/inside.h"

dcl_status dcli_body_subscripts(const dcli_body *body, int a, const dcli_scalar values[], dcli_subscripts *out)
{
    const dcli_body_access *access = &body->access[a];
    const dcli_param *param = &body->params[access->param];
    dcli_subscripts subscripts = {
        .reach = access->reach, .space_rank = body->space_rank, .rank = param->rank, .inner_rank = body->inner_rank};
    for (int d = 0; access->reach == DCLI_REACH_AFFINE && d < param->rank; d++) {
        int64_t coef[DCL_MAX_RANK];
        if (!dcli_affine_evaluate(dcli_inside_subscript(body, a, d), body, values, &subscripts.axis[d].constant, coef))
            return dcli_token_fail(&body->inside->tokens, dcli_inside_first_token(body, a),
                                   "subscript %d of %s (line %d, column %d) overflows 64 bits with the scalars of this "
                                   "call; pass smaller ones",
                                   d + 1, param->name, access->line, access->column);
        for (int m = 0; m < body->space_rank + body->inner_rank; m++)
            subscripts.axis[d].coef[m] = coef[body->index_of_axis[m]];
    }
    *out = subscripts;
    return DCL_OK;
}

static bool names_scalar(const dcli_affine *affine, int k)
{
    for (int t = 0; t < affine->count; t++)
        for (int s = 0; s < affine->term[t].scalars; s++)
            if (affine->term[t].scalar[s] == k)
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

bool dcli_body_subscripts_use(const dcli_body *body, int k)
{
    for (int a = 0; a < body->access_count; a++)
        for (int d = 0; body->access[a].reach == DCLI_REACH_AFFINE && d < body->params[body->access[a].param].rank; d++)
            if (names_scalar(dcli_inside_subscript(body, a, d), k))
                return true;
    return false;
}
