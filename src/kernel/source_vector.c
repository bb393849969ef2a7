/* kernel/source_vector.c - generates sums along an axis whose statements run on vectors (kernel/sum_vector.cl).
 *
 * The statements are the user's text; the accesses in it are macros that load eight neighbouring elements, or one
 * element for all lanes. So the loop can do what compilers do not do when they vectorize one: it prefetches each row, and at its end
 * the row that follows in the next bundle, and keeps sums in lanes for thousands of numbers. */
#include "kernel/source_vector.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "kernel/fold.h"
#include "kernel/inside.h"

enum {
    LANES = 8,
    LINE_BYTES = 64,  /* bytes of each row that a step of the loop reads */
    NEAR_BYTES = 256, /* how far ahead of the loads rows of doubles are fetched, into the first-level cache */
    FAR_BYTES = 2048  /* the same for floats, into the second-level cache: their loops have more to compute per byte */
};

static dcl_type type_of(const dcli_body *body) { return body->params[body->result[0].param].type; }

/* Whether a token is a number that does not change the type, float or double, of the sum that it is in: an integer of
 * few digits, or a number of this type. */
static bool is_number(const dcli_tokens *tokens, int t, bool single)
{
    const dcli_token *token = &tokens->token[t];
    const char *text = tokens->text + token->start;
    int digits = 0;
    if (dcli_token_kind_of(tokens, t) != DCLI_TOKEN_NUMBER)
        return false;
    while (digits < token->length && (isdigit((unsigned char)text[digits]) || text[digits] == '.'))
        digits++;
    bool whole = memchr(text, '.', (size_t)token->length) == NULL;
    if (digits == token->length)
        return whole ? digits < 8 && text[0] != '0' : !single;
    return single && !whole && digits == token->length - 1 && text[digits] == 'f';
}

static bool is_scalar(const dcli_body *body, int t)
{
    for (int p = 0; p < body->param_count; p++)
        if (body->params[p].access == DCL_ACCESS_VALUE && body->params[p].type == type_of(body) &&
            dcli_token_is(&body->inside->tokens, t, body->params[p].name))
            return true;
    return false;
}

/* Whether an access is loaded as a vector along the innermost axis, or once for all lanes. */
static bool loads(const dcli_body *body, int a)
{
    const dcli_body_access *access = &body->access[a];
    int v = body->space_rank;
    return access->reach == DCLI_REACH_AFFINE && body->params[access->param].type == type_of(body) &&
           body->inside->access_inner_count[a] == 0 && !dcli_boundary_clamps_any(body, a) &&
           (access->written || access->unit_axis == v || !dcli_inside_depends(body, a, v));
}

bool dcli_runs_in_vectors(const dcli_body *body)
{
    const struct dcli_body_inside *inside = body->inside;
    bool single = type_of(body) == DCL_FLOAT;
    int64_t place = 0;
    for (int a = 0; a < body->access_count; a++)
        if (!loads(body, a))
            return false;
    for (int t = 0; t < (int)inside->tokens.count; t++) {
        while (place < inside->place_count && inside->place[place].name < t)
            place++;
        if (place < inside->place_count && inside->place[place].name == t)
            t = inside->place[place].close;
        else if (!dcli_token_in(&inside->tokens, t, "( ) + - * += -= ;") && !is_number(&inside->tokens, t, single) &&
                 !is_scalar(body, t))
            return false;
    }
    return true;
}

/* ---- generated text ------------------------------------------------------------------------------------------------- */

/* Whether access a reads a row for each element of a bundle. */
static bool is_fetched(const dcli_nest *nest, int a)
{
    const dcli_body *body = nest->body;
    return !body->access[a].written && dcli_inside_depends(body, a, body->space_rank - 1) &&
           dcli_inside_depends(body, a, nest->innermost);
}

/* How many elements ahead of the loads rows are fetched. */
static int elements_ahead(const dcli_body *body)
{
    return (type_of(body) == DCL_FLOAT ? FAR_BYTES : NEAR_BYTES) / (int)dcl_type_bytes(type_of(body));
}

/* Emit dcl_wrap<a>: the distance of a fetch for the last elements of a row. The row ends before the usual distance, so the
 * beginning of another row is fetched: of the one that takes this row's place in the next bundle. */
static void put_wraps(const dcli_nest *nest, const char *height)
{
    int ahead = elements_ahead(nest->body);
    for (int a = 0; a < nest->body->access_count; a++)
        if (is_fetched(nest, a))
            dcli_text_put(nest->out, "    const long dcl_wrap%d = %s * dcl_s%d_%d - dcl_n%d + %d;\n", a, height, a,
                          nest->body->space_rank - 1, nest->innermost, ahead);
}

/* Emit dcl_ahead<a>: the element that a step fetches, counted from the first of its row. */
static void put_aheads(const dcli_nest *nest)
{
    int ahead = elements_ahead(nest->body);
    for (int a = 0; a < nest->body->access_count; a++)
        if (is_fetched(nest, a))
            dcli_text_put(
                nest->out,
                "    const long dcl_ahead%d = dcl_v + dcl_k + (dcl_v + dcl_k < dcl_n%d - %d ? %d : dcl_wrap%d);\n", a,
                nest->innermost, ahead, ahead, a);
}

/* Begin a loop over the elements of a bundle, and define how their accesses are loaded: as eight lanes, or as one
 * element.
 * @param ahead  fetch the next lines of rows that differ from element to element. */
static dcli_nest open_elements(const dcli_nest *nest, const char *height, bool vectors, bool ahead)
{
    dcli_nest element = *nest;
    const dcli_body *body = nest->body;
    const char *type = dcli_kernel_type(type_of(body));
    int m = body->space_rank - 1, v = nest->innermost;
    dcli_text_put(nest->out,
                  "    for (int dcl_q = 0; dcl_q < %s; dcl_q++) {\n"
                  "    const long dcl_t%d = dcl_min(dcl_u + dcl_q, dcl_n%d - 1);\n",
                  height, m, m);
    dcli_nest_advance(&element, m);
    for (int a = 0; a < body->access_count && ahead; a++)
        if (is_fetched(nest, a))
            dcli_text_put(nest->out, "    if (dcl_half == 0)\n        DCL_%s(dcl_p%d + dcl_x%d_%d + dcl_ahead%d);\n",
                          type_of(body) == DCL_FLOAT ? "FAR_AHEAD" : "AHEAD", a, a, element.level[a], a);
    dcli_emit_nest_elements(&element);
    for (int a = 0; a < body->access_count && vectors; a++)
        if (!body->access[a].written && dcli_inside_depends(body, a, v))
            dcli_text_put(nest->out, "#undef dcl_a%d\n#define dcl_a%d DCL_LOAD(%s, (dcl_p%d + dcl_x%d_%d)[dcl_t%d])\n",
                          a, a, type, a, a, element.level[a], v);
    return element;
}

static void put_add(const dcli_nest *nest, int r, const char *value, bool narrow)
{
    const char *type = dcli_kernel_type(type_of(nest->body));
    dcli_text_put(nest->out, "    dcl_note_most_%s(&dcl_m%d, %s);\n", type, r, value);
    if (narrow)
        dcli_text_put(nest->out,
                      "    dcl_note_least_%s(&dcl_l%d, %s);\n    dcl_narrow_add(&dcl_v%d[dcl_q], %s, dcl_by%d);\n",
                      type, r, value, r, value, r);
    else
        dcli_text_put(nest->out, "    dcl_vectors_add(&dcl_v%d[dcl_q], DCL_CONVERT(%s, double8), dcl_by%d);\n", r,
                      value, r);
}

static void put_sums(const dcli_nest *nest, const char *height, bool narrow)
{
    const char *type = dcli_kernel_type(type_of(nest->body)), *sums = narrow ? "dcl_narrow" : "dcl_vectors";
    for (int r = 0; r < nest->body->result_count; r++)
        dcli_text_put(nest->out,
                      "    struct %s dcl_v%d[%s], dcl_w%d[%s];\n    dcl_bounds_%s dcl_m%d = 0, dcl_l%d = -1;\n"
                      "    const struct dcl_rounders dcl_by%d = dcl_rounders_of(dcl_top%d);\n"
                      "#pragma unroll\n    for (int dcl_q = 0; dcl_q < %s; dcl_q++)\n"
                      "        dcl_v%d[dcl_q] = (struct %s){0, 0};\n",
                      sums, r, height, r, height, type, r, r, r, r, height, r, sums);
}

/* Emit the loop over whole steps. */
static void put_steps(const dcli_nest *nest, const char *height, bool narrow)
{
    const dcli_body *body = nest->body;
    const char *type = dcli_kernel_type(type_of(body));
    int step = LINE_BYTES / (int)dcl_type_bytes(type_of(body));
    put_wraps(nest, height);
    dcli_text_put(nest->out,
                  "    const long dcl_whole = dcl_m / %d * %d;\n"
                  "    for (long dcl_k = 0; dcl_k < dcl_whole; dcl_k += %d) {\n",
                  step, step, step);
    put_aheads(nest);
    dcli_text_put(nest->out,
                  "#pragma unroll\n    for (int dcl_half = 0; dcl_half < %d; dcl_half += %d) {\n"
                  "    const long dcl_t%d = dcl_v + dcl_k + dcl_half;\n#pragma unroll\n",
                  step, LANES, nest->innermost);
    open_elements(nest, height, true, true);
    for (int r = 0; r < body->result_count; r++)
        dcli_text_put(nest->out, "    %s%d dcl_r%d = (%s)-0.0f;\n", type, LANES, r, type);
    dcli_emit_statements(nest->out, body);
    for (int r = 0; r < body->result_count; r++) {
        char value[24];
        snprintf(value, sizeof value, "dcl_r%d", r);
        put_add(nest, r, value, narrow);
    }
    dcli_text_put(nest->out, "    }\n    }\n    }\n");
}

/* Emit the code for the elements after the last whole step, in vectors that are filled up with zeros. */
static void put_rest(const dcli_nest *nest, const char *height, bool narrow)
{
    const dcli_body *body = nest->body;
    const char *type = dcli_kernel_type(type_of(body));
    dcli_text_put(nest->out, "    for (long dcl_k = dcl_whole; dcl_k < dcl_m; dcl_k += %d) {\n", LANES);
    for (int r = 0; r < body->result_count; r++)
        dcli_text_put(nest->out, "    %s dcl_y%d[%s][%d] = {0};\n", type, r, height, LANES);
    dcli_text_put(nest->out,
                  "    for (int dcl_half = 0; dcl_half < dcl_min(dcl_m - dcl_k, (long)%d); dcl_half++) {\n"
                  "    const long dcl_t%d = dcl_v + dcl_k + dcl_half;\n",
                  LANES, nest->innermost);
    open_elements(nest, height, false, false);
    dcli_emit_neutral(nest->out, body);
    dcli_emit_statements(nest->out, body);
    for (int r = 0; r < body->result_count; r++)
        dcli_text_put(nest->out, "    dcl_y%d[dcl_q][dcl_half] = dcl_r%d;\n", r, r);
    dcli_text_put(nest->out, "    }\n    }\n#pragma unroll\n    for (int dcl_q = 0; dcl_q < %s; dcl_q++) {\n", height);
    for (int r = 0; r < body->result_count; r++) {
        char value[40];
        snprintf(value, sizeof value, "vload8(0, dcl_y%d[dcl_q])", r);
        put_add(nest, r, value, narrow);
    }
    dcli_text_put(nest->out,
                  "    }\n    }\n    const long dcl_count = dcl_whole + (dcl_m - dcl_whole + %d) / %d * %d;\n",
                  LANES - 1, LANES, LANES);
}

void dcli_emit_vector_strip(const dcli_nest *nest, const char *height, bool narrow)
{
    const char *type = dcli_kernel_type(type_of(nest->body));
    dcli_nest strip = *nest;
    strip.pointed = true;
    dcli_text_put(nest->out, "    dcl_widen(0);\n");
    put_sums(&strip, height, narrow);
    put_steps(&strip, height, narrow);
    put_rest(&strip, height, narrow);
    for (int r = 0; r < nest->body->result_count; r++) {
        dcli_text_put(nest->out, "    const dcl_bits_%s dcl_most%d = dcl_largest_%s(dcl_m%d);\n", type, r, type, r);
        if (narrow)
            dcli_text_put(nest->out, "    const dcl_bits_%s dcl_least%d = ~dcl_largest_%s(~dcl_l%d);\n", type, r, type,
                          r);
        /* dcl_v<r> is never in memory, because its indices are constants */
        dcli_text_put(
            nest->out,
            "#pragma unroll\n    for (int dcl_q = 0; dcl_q < %s; dcl_q++)\n        dcl_w%d[dcl_q] = dcl_v%d[dcl_q];\n",
            height, r, r);
    }
}
