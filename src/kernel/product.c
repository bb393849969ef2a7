/* kernel/product.c - rows of contractions as products of matrices that libraries compute. */
#include "kernel/product.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "kernel/inside.h"
#include "kernel/source_chain.h"

bool dcli_body_is_product(const dcli_body *body)
{
    return body->fast && dcli_inside_is_chain(body) && dcli_chain_is_blocked(body);
}

/* A matrix in memory: the elements along its rows and its columns, and the steps between them. */
struct matrix {
    int64_t rows, columns, down, across;
};

static int64_t step_of(const dcli_body *body, const int64_t row[], int a, int axis)
{
    return row[dcli_row_at(body, DCLI_ROW_STEP, a) + axis];
}

/* Find how a library addresses a matrix: its pitch, and whether it is stored transposed. Along an axis of one element, any
 * step will do. */
static bool find_pitch(const struct matrix *matrix, bool *transposed_out, int64_t *pitch_out)
{
    bool along_rows = matrix->across == 1 || matrix->columns == 1;
    int64_t length = along_rows ? matrix->columns : matrix->rows, count = along_rows ? matrix->rows : matrix->columns;
    int64_t pitch = along_rows ? matrix->down : matrix->across;
    *transposed_out = !along_rows;
    *pitch_out = count == 1 ? length : pitch;
    return (along_rows || matrix->down == 1 || matrix->rows == 1) && *pitch_out >= length && *pitch_out <= INT32_MAX;
}

static void add_axis(const dcli_body *body, const int64_t row[], int m, const int access[],
                     dcli_matrix_product *product)
{
    product->count[product->axes] = row[dcli_row_at(body, DCLI_ROW_COUNT, 0) + m];
    for (int n = 0; n < DCLI_PRODUCT_MATRICES; n++)
        product->step[product->axes][n] =
            dcli_inside_depends(body, access[n], m) ? step_of(body, row, access[n], m) : 0;
    product->axes++;
}

bool dcli_row_product(const dcli_body *body, const int64_t row[], dcli_matrix_product *out, int access[])
{
    enum { LEAST_WORK = 1 << 18 }; /* multiply-adds: smaller products take a few microseconds in a kernel */
    dcli_chain_plan plan;
    if (!dcli_body_is_product(body) || !dcli_chain_plan_of(body, &plan))
        return false;
    const int64_t *count = row + dcli_row_at(body, DCLI_ROW_COUNT, 0);
    int64_t depth = row[dcli_row_at(body, DCLI_ROW_INNER_COUNT, 0)];
    int down = plan.down, across = plan.across, low = plan.low, wide = plan.wide;
    if (step_of(body, row, body->home, across) != 1 && count[across] > 1) { /* compute the transposed product */
        down = plan.across;
        across = plan.down;
        low = plan.wide;
        wide = plan.low;
    }
    access[DCLI_PRODUCT_RESULT] = body->home;
    access[DCLI_PRODUCT_LEFT] = low;
    access[DCLI_PRODUCT_RIGHT] = wide;
    const struct matrix matrix[] = {
        {count[down], count[across], step_of(body, row, body->home, down), step_of(body, row, body->home, across)},
        {count[down], depth, step_of(body, row, low, down), step_of(body, row, low, plan.inner)},
        {depth, count[across], step_of(body, row, wide, plan.inner), step_of(body, row, wide, across)}};
    *out = (dcli_matrix_product){.type = body->params[body->owner].type,
                                 .rows = count[down],
                                 .columns = count[across],
                                 .depth = depth,
                                 .added = body->params[body->owner].access == DCL_ACCESS_INOUT ||
                                          row[dcli_row_at(body, DCLI_ROW_INNER_BEFORE, 0)] > 0};
    int64_t work;
    if (!dcli_mul(out->rows, out->columns, &work) || !dcli_mul(work, depth, &work) || work < LEAST_WORK ||
        out->rows > INT32_MAX || out->columns > INT32_MAX || depth > INT32_MAX)
        return false;
    for (int n = 0; n < DCLI_PRODUCT_MATRICES; n++) {
        out->offset[n] = row[dcli_row_at(body, DCLI_ROW_OFFSET, access[n])];
        if (!find_pitch(&matrix[n], &out->transposed[n], &out->pitch[n]))
            return false;
    }
    for (int m = 0; m < body->space_rank; m++)
        if (m != down && m != across)
            add_axis(body, row, m, access, out);
    return !out->transposed[DCLI_PRODUCT_RESULT];
}

static double value_of_number(const dcli_token *token, const char *text)
{
    char number[64] = "";
    memcpy(number, text + token->start, (size_t)dcli_min(token->length, (int)sizeof number - 1));
    bool hexadecimal = number[0] == '0' && (number[1] == 'x' || number[1] == 'X');
    return strpbrk(number, hexadecimal ? "pP" : ".eE") != NULL ? strtod(number, NULL)
                                                               : (double)strtoull(number, NULL, 0);
}

static double value_of_scalar(dcl_type type, dcli_scalar value)
{
    switch (type) {
    case DCL_FLOAT:
        return (float)value.f;
    case DCL_HALF:
    case DCL_DOUBLE:
        return value.f;
    case DCL_UINT8:
    case DCL_UINT16:
    case DCL_UINT32:
    case DCL_UINT64:
        return (double)value.u;
    default:
        return (double)value.i;
    }
}

static double value_of_name(const dcli_body *body, int t, const dcli_scalar values[])
{
    for (int p = 0; p < body->param_count; p++)
        if (body->params[p].access == DCL_ACCESS_VALUE && dcli_token_is(&body->inside->tokens, t, body->params[p].name))
            return value_of_scalar(body->params[p].type, values[p]);
    return 1; /* it is a sign */
}

double dcli_product_scale(const dcli_body *body, const dcli_scalar values[])
{
    const dcli_contraction *contraction = &body->inside->contraction;
    const dcli_tokens *tokens = &body->inside->tokens;
    const dcli_place *left = &body->inside->place[1]; /* place 0 is the output */
    double scale = contraction->minus ? -1 : 1;
    for (int t = contraction->first; t < contraction->end; t++)
        if (t == left->name)
            t = left->close;
        else if (dcli_token_kind_of(tokens, t) == DCLI_TOKEN_NUMBER)
            scale *= value_of_number(&tokens->token[t], tokens->text);
        else
            scale *= value_of_name(body, t, values);
    return scale;
}
