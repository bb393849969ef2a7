/* kernel/along_place.c - the texts of reductions that find the indices of minima and maxima along axes and by keys. */
#include "kernel/along_place.h"

#include "base/alloc.h"
#include "base/error.h"
#include "kernel/emit.h"
#include "kernel/keyed.h"
#include "kernel/names.h"
#include "kernel/reduced.h"

/* Write an expression for the place of the reduced indices: their number in row-major order. */
static void put_number(dcli_text *out, const dcli_body *body)
{
    for (int q = 0; q < body->inner_rank; q++)
        dcli_text_put(out, "(");
    for (int q = 0; q < body->inner_rank; q++) {
        if (q > 0)
            dcli_text_put(out, " * " DCLI_PLACE_COUNT "%d + ", q);
        dcli_text_put(out, "(%s - " DCLI_PLACE_FIRST "%d))", dcli_index_name(body->index_of_axis[body->space_rank + q]),
                      q);
    }
}

/* Put the condition that the variables DCLI_PLACE "x" and "y" are equal: they have equal bits, or both are not a number. */
static void put_same(dcli_text *out, dcl_type type)
{
    const char *bits = type == DCL_HALF ? "short" : type == DCL_FLOAT ? "int" : "long";
    if (type >= DCL_HALF)
        dcli_text_put(out,
                      "as_%s(" DCLI_PLACE "x) == as_%s(" DCLI_PLACE "y) || (" DCLI_PLACE "x != " DCLI_PLACE
                      "x && " DCLI_PLACE "y != " DCLI_PLACE "y)",
                      bits, bits);
    else
        dcli_text_put(out, DCLI_PLACE "x == " DCLI_PLACE "y");
}

/* Put the statement that finds the number, in place of `low(i) min= value;`. */
static void put_search(dcli_text *out, const dcli_body *body, const dcli_reduced *s)
{
    const dcli_tokens *tokens = &body->inside->tokens;
    int subscripts = s->name + 1, behind = tokens->token[subscripts].partner + 1;
    dcl_type type = body->params[body->result[s->result].param].type;
    const char *name = dcli_kernel_type(type);
    dcli_text_put(out, "{ const %s " DCLI_PLACE "x = ", name);
    dcli_put_tokens(out, tokens, s->value, s->end);
    dcli_text_put(out, "; const %s " DCLI_PLACE "y = " DCLI_PLACE_VALUE "%d", name, s->result);
    dcli_put_tokens(out, tokens, subscripts, behind);
    dcli_text_put(out, "; " DCLI_PLACE_NUMBER "%d", s->result);
    dcli_put_tokens(out, tokens, subscripts, behind);
    dcli_text_put(out, " min= ");
    put_same(out, type);
    dcli_text_put(out, " ? ");
    put_number(out, body);
    dcli_text_put(out, " : LONG_MAX; }");
}

static dcl_status check(const dcli_body *body, unsigned placed)
{
    dcl_status status = dcli_check_prefix(body->text, "body", DCLI_PLACE);
    if (status == DCL_OK)
        status = dcli_check_prefix(body->prelude, "prelude", DCLI_PLACE);
    for (int r = 0; r < body->result_count && status == DCL_OK; r++) {
        const char *name = body->params[body->result[r].param].name;
        if ((placed >> r & 1) != 0 && body->result[r].fold != DCLI_FOLD_MIN && body->result[r].fold != DCLI_FOLD_MAX)
            status =
                DCLI_FAIL(DCL_ERR_BODY,
                          "DCL_RESULT_AT follows %s, which is no minimum or maximum; expected %s(...) min= ...; or "
                          "%s(...) max= ...;, as only these are the value of one index",
                          name, name, name);
    }
    return status;
}

/* Put a statement that evaluates the keys and the value of `n(key) += value;`, but stores nothing. */
static void put_evaluated(dcli_text *out, const dcli_body *body, const dcli_reduced *s)
{
    const dcli_tokens *tokens = &body->inside->tokens;
    int first[DCL_MAX_RANK], end[DCL_MAX_RANK], rank = 0;
    if (body->keyed) /* otherwise the subscripts are plain indices: nothing to evaluate */
        rank = dcli_token_split(tokens, s->name + 1, DCL_MAX_RANK, first, end);
    dcli_text_put(out, "{ ");
    for (int d = 0; d < rank; d++) {
        dcli_text_put(out, "(void)(");
        dcli_put_tokens(out, tokens, first[d], end[d]);
        dcli_text_put(out, "); ");
    }
    dcli_put_evaluated(out, tokens, s);
    dcli_text_put(out, "; }");
}

/* Replace all statements of results. */
static char *replace(const dcli_body *body, unsigned placed,
                     void (*put)(dcli_text *, const dcli_body *, const dcli_reduced *))
{
    const dcli_tokens *tokens = &body->inside->tokens;
    dcli_text out = {0};
    dcli_reduced s;
    int from = 0;
    dcli_text_append(&out, tokens->text, (size_t)tokens->token[0].start);
    for (int t = 0; t < tokens->count; t++) {
        if (!dcli_find_reduced(body, t, &s))
            continue;
        dcli_put_tokens(&out, tokens, from, t);
        ((placed >> s.result & 1) != 0 ? put : put_evaluated)(&out, body, &s);
        t = s.end;
        from = t + 1;
    }
    dcli_put_tokens(&out, tokens, from, tokens->count);
    return dcli_text_take(&out);
}

char *dcli_along_place(const dcli_body *body, unsigned placed)
{
    return check(body, placed) == DCL_OK ? replace(body, placed, put_search) : NULL;
}

/* ---- by keys --------------------------------------------------------------------------------------------------------- */

/* Put the number of the indices that are reduced into result r. */
static void put_keyed_number(dcli_text *out, const dcli_body *body, int r)
{
    unsigned reduced = dcli_keyed_reduced(body, r);
    bool before = false;
    for (int index = 0; index < DCL_MAX_RANK; index++)
        dcli_text_put(out, (reduced >> index & 1) != 0 ? "(" : "");
    for (int index = 0, q = 0; index < DCL_MAX_RANK; index++) {
        if ((reduced >> index & 1) != 0) {
            if (before)
                dcli_text_put(out, " * " DCLI_PLACE_COUNT "%d + ", q);
            dcli_text_put(out, "(%s - " DCLI_PLACE_FIRST "%d))", dcli_index_name(index), q);
            before = true;
        }
        q += (int)(body->indices >> index & 1);
    }
}

/* Put `(place_k0,place_k1)`. */
static void put_keys(dcli_text *out, int rank)
{
    for (int d = 0; d < rank; d++)
        dcli_text_put(out, "%s" DCLI_PLACE "k%d", d == 0 ? "(" : ",", d);
    dcli_text_put(out, ")");
}

/* Put the statement that finds the number, in place of `low(key) min= value;`. Keys outside have been reported by the reduction. */
static void put_keyed_search(dcli_text *out, const dcli_body *body, const dcli_reduced *s)
{
    const dcli_tokens *tokens = &body->inside->tokens;
    int first[DCL_MAX_RANK], end[DCL_MAX_RANK], r = s->result;
    int rank = dcli_token_split(tokens, s->name + 1, DCL_MAX_RANK, first, end);
    dcl_type type = body->params[body->result[r].param].type;
    const char *name = dcli_kernel_type(type);
    dcli_text_put(out, "{ ");
    for (int d = 0; d < rank; d++) {
        dcli_text_put(out, "const long " DCLI_PLACE "k%d = (", d);
        dcli_put_tokens(out, tokens, first[d], end[d]);
        dcli_text_put(out, "); ");
    }
    dcli_text_put(out, "const %s " DCLI_PLACE "x = ", name);
    dcli_put_tokens(out, tokens, s->value, s->end);
    dcli_text_put(out, "; if (");
    for (int d = 0; d < rank; d++)
        dcli_text_put(out,
                      "%s(ulong)" DCLI_PLACE "k%d - (ulong)" DCLI_PLACE_LOW "%d_%d < (ulong)" DCLI_PLACE_EXTENT "%d_%d",
                      d > 0 ? " && " : "", d, r, d, r, d);
    dcli_text_put(out, ") { const %s " DCLI_PLACE "y = " DCLI_PLACE_VALUE "%d", name, r);
    put_keys(out, rank);
    dcli_text_put(out, "; " DCLI_PLACE_NUMBER "%d", r);
    put_keys(out, rank);
    dcli_text_put(out, " min= ");
    put_same(out, type);
    dcli_text_put(out, " ? ");
    put_keyed_number(out, body, r);
    dcli_text_put(out, " : LONG_MAX; } }");
}

char *dcli_keyed_place(const dcli_body *body, unsigned placed)
{
    dcl_status status = check(body, placed);
    for (int r = 0; r < body->result_count && status == DCL_OK; r++)
        if ((placed >> r & 1) != 0 && dcli_keyed_reduced(body, r) == 0)
            status =
                DCLI_FAIL(DCL_ERR_BODY,
                          "DCL_RESULT_AT follows %s, in whose subscripts all indices of the body stand; expected an "
                          "index that is reduced, as i in low(key(i)) min= A(i);",
                          body->params[body->result[r].param].name);
    return status == DCL_OK ? replace(body, placed, put_keyed_search) : NULL;
}

static void put_subscripts(dcli_text *out, int rank)
{
    for (int d = 0; d < rank; d++)
        dcli_text_put(out, "%c%s", d == 0 ? '(' : ',', dcli_index_name(d));
    dcli_text_put(out, ")");
}

char *dcli_along_indices(int rank, int count, dcl_type integer)
{
    const char *last = dcli_index_name(rank);
    dcli_text out = {0};
    dcli_text_put(&out, "long " DCLI_PLACE "x = " DCLI_PLACE_NUMBER "0");
    put_subscripts(&out, rank);
    dcli_text_put(&out, ", " DCLI_PLACE "y = -1;\nif (" DCLI_PLACE "x != LONG_MAX) {\n");
    if (count == 1)
        dcli_text_put(&out, DCLI_PLACE "y = " DCLI_PLACE_FIRST "0 + " DCLI_PLACE "x;\n");
    for (int q = count - 1; q >= 0 && count > 1; q--)
        dcli_text_put(&out,
                      "if (%s == %d)\n    " DCLI_PLACE "y = " DCLI_PLACE_FIRST "%d + " DCLI_PLACE
                      "x %% " DCLI_PLACE_COUNT "%d;\n" DCLI_PLACE "x /= " DCLI_PLACE_COUNT "%d;\n",
                      last, q, q, q, q);
    dcli_text_put(&out, "}\n" DCLI_PLACE "to");
    put_subscripts(&out, rank + (count > 1));
    dcli_text_put(&out, " = (%s)" DCLI_PLACE "y;", dcli_kernel_type(integer));
    return dcli_text_take(&out);
}
