/* kernel/sweep.c - sweeps: the steps of a body's long loops are run for many elements at once. Recognizes the bodies, and generates the
 * loops.
 *
 * The text of a sweep is a tree: plain statements, long loops, and conditions around long loops. A series of plain statements is a loop
 * over the elements. A long loop is a loop around what it contains; its limits are computed for all elements first, so that the steps that
 * all elements run need no test. The elements of a condition are run in ranges of equal value of the condition.
 *
 * While statements are emitted for line r of a sweep, macros give the body's variables, and the index of the axis before the innermost
 * one, the names dcl_y<r>_NAME. The arrays that keep variables are dcl_z<r>_NAME. Elements [dcl_a<d>, dcl_b<d>) are run at depth d of
 * the tree, and dcl_all<d> says that all of them run it. */
#include "kernel/sweep.h"

#include <stdio.h>
#include <string.h>

#include "kernel/block.h"
#include "kernel/guard.h"
#include "kernel/inner.h"
#include "kernel/names.h"
#include "kernel/parser.h"
#include "kernel/rewrite.h"

enum {
    MOST_VARIABLES = 16,
    MOST_TESTS = 12,    /* conditions and limits around a statement */
    MOST_COPIES = 64,   /* of a statement in unrolled loops */
    STACKED_STEPS = 4,  /* steps of a loop at once, of several lines: their factors stay in registers */
    SINGLE_STEPS = 8,   /* of one line */
    AT_ENDS = 16,       /* elements at once that run steps which not all elements of a strip have in common */
    AT_EDGES = 32,      /* most elements at an end of a strip that are not in the range of all of its lines */
    STACKED_BYTES = 64, /* of vectors, where several lines share what they read */
    SINGLE_BYTES = 32   /* of two vectors at once */
};

static const char numbers[] = "char short int long uchar ushort uint ulong float double bool";

/* A condition around statements: tokens [first, end); negated: it is a limit of a loop, and true where a step is left out. */
struct test {
    int first, end;
    bool negated;
};

struct sweep {
    const dcli_body *body;
    const dcli_tokens *tokens;
    int names;
    struct {
        int type, name; /* tokens */
        bool is_const;
    } variable[MOST_VARIABLES];
    bool has_loop;  /* there is a long loop */
    bool is_uneven; /* a limit or condition names the innermost index */
    bool has_test;  /* there is a limit or condition */
    /* of the text that is being generated: */
    dcli_nest *nest, unit; /* nest: of the kernel; unit: the same, with steps 1 where dcl_unit has them */
    int lines;
    /* strips contain elements that are not in the ranges of all lines: they are computed, but not stored */
    bool ragged;
    int distance; /* on GPUs: between elements of a line; 0 on CPUs */
    int depths;   /* how many depths of the tree have a number */
    int tests;
    struct test test[MOST_TESTS];
};

/* ---- recognizing ---------------------------------------------------------------------------------------------------- */

static bool same_name(const dcli_tokens *tokens, int a, int b)
{
    const dcli_token *x = &tokens->token[a], *y = &tokens->token[b];
    return x->kind == DCLI_TOKEN_NAME && y->kind == DCLI_TOKEN_NAME && x->length == y->length &&
           memcmp(tokens->text + x->start, tokens->text + y->start, (size_t)x->length) == 0;
}

static bool is_named(const dcli_tokens *tokens, int t, const char *name)
{
    const dcli_token *token = &tokens->token[t];
    return token->kind == DCLI_TOKEN_NAME && token->length == (int)strlen(name) &&
           memcmp(tokens->text + token->start, name, (size_t)token->length) == 0;
}

static int variable_at(const struct sweep *s, int t)
{
    for (int v = 0; v < s->names; v++)
        if (same_name(s->tokens, s->variable[v].name, t))
            return v;
    return -1;
}

/* Whether the variable of inner axis q is in a subscript: the macros of the loop's bounds are defined then only. */
static bool is_in_subscript(const dcli_body *body, int q)
{
    for (int a = 0; a < body->access_count; a++)
        for (int k = 0; k < body->inside->access_inner_count[a]; k++)
            if (body->inside->access_inner[a][k] == q)
                return true;
    return false;
}

/* The inner axis whose loop begins at token t, if its variable is in a subscript and the loop is not unrolled; -1: none. */
static int long_at(const dcli_body *body, int t)
{
    for (int q = 0; q < (int)body->inside->inner_count; q++)
        if (body->inside->inner[q].keyword == t)
            return is_in_subscript(body, q) && dcli_inner_copies(body, q) > MOST_COPIES ? q : -1;
    return -1;
}

static bool is_unrolled_at(const dcli_body *body, int t)
{
    for (int q = 0; q < (int)body->inside->inner_count; q++)
        if (body->inside->inner[q].keyword == t)
            return dcli_inner_copies(body, q) <= MOST_COPIES;
    return false;
}

/* Whether the tokens [t, end) contain a loop that is not unrolled. */
static bool has_long(const struct sweep *s, int t, int end)
{
    for (; t < end; t++)
        if (dcli_token_is(s->tokens, t, "for") && !is_unrolled_at(s->body, t))
            return true;
    return false;
}

/* Whether a variable's name has no other meaning in the body: a macro replaces all of its occurrences. */
static bool is_own_name(const struct sweep *s, int name)
{
    const dcli_body *body = s->body;
    for (int p = 0; p < body->param_count; p++)
        if (is_named(s->tokens, name, body->params[p].name))
            return false;
    for (int m = 0; m < body->space_rank; m++)
        if (is_named(s->tokens, name, dcli_index_name(body->index_of_axis[m])))
            return false;
    for (int64_t q = 0; q < body->inside->inner_count; q++)
        if (same_name(s->tokens, name, body->inside->inner[q].name))
            return false;
    for (int t = 0; t < (int)s->tokens->count; t++)
        if (same_name(s->tokens, name, t) && dcli_token_is(s->tokens, t + 1, "("))
            return false;
    return true;
}

static bool add_variable(struct sweep *s, int type, int name, bool is_const)
{
    if (dcli_token_kind_of(s->tokens, name) != DCLI_TOKEN_NAME || !dcli_token_in(s->tokens, name + 1, "= , ;") ||
        variable_at(s, name) >= 0 || s->names == MOST_VARIABLES || !is_own_name(s, name))
        return false;
    s->variable[s->names].type = type;
    s->variable[s->names].name = name;
    s->variable[s->names++].is_const = is_const;
    return true;
}

/* Add the variables of a declaration that ends with the semicolon at token `end`. @return false: not all of them are numbers. */
static bool add_declaration(struct sweep *s, int first, int end)
{
    bool is_const = dcli_token_is(s->tokens, first, "const");
    int type = first + is_const;
    if (!dcli_token_in(s->tokens, type, numbers) || !add_variable(s, type, type + 1, is_const))
        return false;
    for (int t = type + 1; t < end; t++) {
        if (s->tokens->token[t].partner > t)
            t = s->tokens->token[t].partner;
        else if (dcli_token_is(s->tokens, t, ",") && !add_variable(s, type, t + 1, is_const))
            return false;
    }
    return true;
}

static bool is_declaration(const struct sweep *s, int t)
{
    const dcli_token *token = &s->tokens->token[t];
    return token->kind == DCLI_TOKEN_NAME && dcli_name_is_type(s->tokens->text + token->start, (size_t)token->length);
}

/* Whether the statement at token t begins as one that declares nothing for those after it. */
static bool may_begin(const struct sweep *s, int t)
{
    for (int64_t p = 0; p < s->body->inside->place_count; p++)
        if (s->body->inside->place[p].name == t)
            return true;
    return variable_at(s, t) >= 0 || dcli_token_in(s->tokens, t, "{ if for ++ -- ;");
}

/* Whether token t is a literal of type int or long. */
static bool is_whole(const dcli_tokens *tokens, int t)
{
    const dcli_token *token = &tokens->token[t];
    const char *text = tokens->text + token->start;
    return token->kind == DCLI_TOKEN_NUMBER && token->length < 19 && (text[0] != '0' || token->length == 1) &&
           strspn(text, "0123456789") >= (size_t)token->length;
}

/* Whether the variable of inner axis q is signed. */
static bool is_signed(const dcli_body *body, int q)
{
    return !dcli_token_is(&body->inside->tokens, body->inside->inner[q].name - 1, "uint");
}

/* Whether the value of tokens [t, end) depends only on indices, scalars and variables of loops around them. It may be computed for
 * elements for which the body does not compute it: then it must not fail.
 * @param whole  it must be a signed integer, too. */
static bool is_pure(struct sweep *s, int t, int end, bool whole)
{
    const dcli_body *body = s->body;
    for (; t < end; t++) {
        if (dcli_token_is(s->tokens, t, "%") && (!is_whole(s->tokens, t + 1) || dcli_token_is(s->tokens, t + 1, "0")))
            return false;
        if (dcli_token_in(s->tokens, t, "( ) + - * % < > <= >= == != && || !") ||
            (whole ? is_whole(s->tokens, t) : s->tokens->token[t].kind == DCLI_TOKEN_NUMBER))
            continue;
        bool known = false;
        for (int m = 0; m < body->space_rank; m++)
            if (is_named(s->tokens, t, dcli_index_name(body->index_of_axis[m]))) {
                known = true;
                s->is_uneven |= m == body->space_rank - 1;
            }
        for (int p = 0; p < body->param_count; p++)
            known |= body->params[p].access == DCL_ACCESS_VALUE && (!whole || body->params[p].type <= DCL_INT64) &&
                     is_named(s->tokens, t, body->params[p].name);
        for (int q = 0; q < (int)body->inside->inner_count; q++)
            known |= body->inside->inner[q].begin < t && t < body->inside->inner[q].end &&
                     same_name(s->tokens, body->inside->inner[q].name, t) && (!whole || is_signed(body, q));
        if (!known)
            return false;
    }
    return true;
}

/* The token after a limit `if (x < E) continue;` or `if (x > E) break;` that begins at token t; -1: there is none. */
static int limit_end(const struct sweep *s, int q, int t)
{
    const dcli_tokens *tokens = s->tokens;
    if (!dcli_token_is(tokens, t, "if") || !same_name(tokens, s->body->inside->inner[q].name, t + 2) ||
        !dcli_token_in(tokens, t + 3, "< >"))
        return -1;
    int close = tokens->token[t + 1].partner;
    bool low = dcli_token_is(tokens, t + 3, "<");
    if (!dcli_token_is(tokens, close + 1, low ? "continue" : "break") || !dcli_token_is(tokens, close + 2, ";"))
        return -1;
    for (int u = t + 4; u < close; u++)
        if (same_name(tokens, s->body->inside->inner[q].name, u) || dcli_token_in(tokens, u, "< > <= >= == != && || !"))
            return -1;
    return close + 3;
}

static bool read_statements(struct sweep *s, int t, int end);

/* The statements of loop q: tokens [*first_out, return value). */
static int statements_of(const struct sweep *s, int q, int *first_out)
{
    const dcli_inner *inner = &s->body->inside->inner[q];
    int at = s->tokens->token[inner->keyword + 1].partner + 1;
    bool block = dcli_token_is(s->tokens, at, "{");
    *first_out = at + block;
    return inner->end - block;
}

/* Whether the elements that are read in [t, end) are the same along the innermost axis, or neighbours in memory. */
static bool accesses_fit(const struct sweep *s, int t, int end)
{
    const dcli_body *body = s->body;
    bool some = false;
    for (int64_t p = 0; p < body->inside->place_count; p++) {
        const dcli_place *place = &body->inside->place[p];
        if (place->name < t || place->name >= end)
            continue;
        if (!dcli_inside_depends(body, place->access, body->space_rank - 1))
            continue;
        if (body->access[place->access].unit_axis != body->space_rank - 1)
            return false;
        some = true;
    }
    return some;
}

static bool read_loop(struct sweep *s, int q)
{
    int at, end = statements_of(s, q, &at);
    if (s->body->inside->inner[q].step != 1 || (!has_long(s, at, end) && !accesses_fit(s, at, end)))
        return false;
    int tests = s->tests;
    for (int next; (next = limit_end(s, q, at)) >= 0; at = next, s->tests++)
        if (s->tests == MOST_TESTS || !is_signed(s->body, q) ||
            !is_pure(s, at + 4, s->tokens->token[at + 1].partner, true))
            return false;
    s->has_test |= s->tests > tests;
    s->has_loop = true;
    bool fine = read_statements(s, at, end);
    s->tests = tests;
    return fine;
}

/* Read the statements of tokens [t, end). */
static bool read_statements(struct sweep *s, int t, int end)
{
    for (int next; t < end; t = next) {
        next = dcli_statement_end(s->tokens, t);
        bool fine = next >= 0;
        if (!fine)
            return false;
        if (!has_long(s, t, next))
            fine = is_declaration(s, t) ? add_declaration(s, t, next - 1) : may_begin(s, t);
        else if (dcli_token_is(s->tokens, t, "{"))
            fine = read_statements(s, t + 1, next - 1);
        else if (dcli_token_is(s->tokens, t, "for"))
            fine = long_at(s->body, t) >= 0 && read_loop(s, long_at(s->body, t));
        else if (dcli_token_is(s->tokens, t, "if")) {
            int close = s->tokens->token[t + 1].partner;
            fine = s->tests++ < MOST_TESTS && dcli_token_is(s->tokens, close + 1, "{") &&
                   s->tokens->token[close + 1].partner == next - 1 && is_pure(s, t + 2, close, false) &&
                   read_statements(s, close + 2, next - 1);
            s->tests--;
            s->has_test = true;
        } else
            fine = false;
        if (!fine)
            return false;
    }
    return true;
}

/* Whether some word of the body, besides the limits of long loops, makes sweeps impossible. A variable whose address is taken may
 * change where its name is not seen. */
static bool has_foreign_word(const struct sweep *s)
{
    for (int t = 0; t < (int)s->tokens->count; t++) {
        if (s->tokens->token[t].kind == DCLI_TOKEN_TEXT || dcli_takes_address(s->tokens, t) ||
            dcli_token_in(s->tokens, t,
                          "while do switch return goto sizeof . -> __attribute__ __attribute _Pragma struct union enum "
                          "typedef static printf"))
            return true;
        if (!dcli_token_in(s->tokens, t, "break continue"))
            continue;
        bool limit = false;
        for (int q = 0, at, next; q < (int)s->body->inside->inner_count; q++)
            for (statements_of(s, q, &at); (next = limit_end(s, q, at)) >= 0; at = next)
                limit |= next == t + 2 && long_at(s->body, s->body->inside->inner[q].keyword) == q;
        if (!limit)
            return true;
    }
    return false;
}

static bool find(const dcli_body *body, struct sweep *s)
{
    *s = (struct sweep){.body = body, .tokens = &body->inside->tokens};
    if (body->tile_kernel || body->result_count > 0 || body->along || body->inner_rank > 0 ||
        body->inside->inner_count == 0 || body->prelude[0] != '\0' || dcli_transposed_axis(body) >= 0)
        return false;
    for (int a = 0; a < body->access_count; a++) {
        if (body->access[a].reach != DCLI_REACH_AFFINE)
            return false;
        for (int d = 0; d < body->params[body->access[a].param].rank; d++)
            if (dcli_boundary_of(body, dcli_inside_subscript(body, a, d)) != NULL)
                return false;
    }
    return !has_foreign_word(s) && read_statements(s, 0, (int)s->tokens->count) && s->has_loop;
}

bool dcli_sweeps(const dcli_body *body)
{
    struct sweep s;
    return find(body, &s);
}

/* Whether lines or columns of a sweep share what an access reads in a loop. */
static bool is_shared(const dcli_body *body, int a)
{
    int v = body->space_rank - 1;
    return body->inside->access_inner_count[a] > 0 && !body->access[a].written &&
           (!dcli_inside_depends(body, a, v) || !dcli_inside_depends(body, a, v - 1));
}

bool dcli_sweeps_on_gpus(const dcli_body *body)
{
    struct sweep s;
    bool shared = false;
    for (int a = 0; a < body->access_count && body->space_rank > 1; a++)
        shared |= is_shared(body, a);
    return shared && !body->slanted && body->inside->guard_count == 0 && find(body, &s) && !s.has_test;
}

/* ---- lines ---------------------------------------------------------------------------------------------------------- */

static void put_token(const struct sweep *s, int t)
{
    dcli_text_put(s->nest->out, "%.*s", s->tokens->token[t].length, s->tokens->text + s->tokens->token[t].start);
}

/* Whether the tokens [t, end) name variable v; `change`: and may change it. */
static bool uses(const struct sweep *s, int v, int t, int end, bool change)
{
    for (int u = t; u < end; u++)
        if (same_name(s->tokens, s->variable[v].name, u) && (!change || dcli_usage_of(s->tokens, u, u) != DCLI_READS))
            return true;
    return false;
}

static bool declares(const struct sweep *s, int v, int t, int end)
{
    return s->variable[v].name >= t && s->variable[v].name < end;
}

/* Define the macro of an access for line r. @param checked  reads are checked. */
static void put_element(const struct sweep *s, int a, int r, bool checked)
{
    const dcli_nest *nest = checked ? s->nest : &s->unit;
    char offset[160];
    int v = nest->innermost, length;
    dcli_nest_offset(nest, a, v, offset, sizeof offset);
    length = (int)strlen(offset);
    if (r > 0 && v > 0 && dcli_inside_depends(s->body, a, v - 1))
        snprintf(offset + length, sizeof offset - (size_t)length, " + %d * dcl_s%d_%d", r, a, v - 1);
    dcli_emit_element(nest->out, s->body, nest->form, nest->variant, a, offset);
}

/* Define the macros of line r: indices, variables, accesses. */
static void begin_line(const struct sweep *s, int r, bool checked)
{
    dcli_text *out = s->nest->out;
    int m = s->nest->innermost - 1;
    if (m >= 0) {
        const char *index = dcli_index_name(s->body->index_of_axis[m]);
        dcli_text_put(out, "#define %s dcl_y%d_%s\n", index, r, index);
    }
    for (int v = 0; v < s->names; v++) {
        const dcli_token *name = &s->tokens->token[s->variable[v].name];
        const char *text = s->tokens->text + name->start;
        dcli_text_put(out, "#define %.*s dcl_y%d_%.*s\n", name->length, text, r, name->length, text);
    }
    for (int a = 0; a < s->body->access_count; a++)
        put_element(s, a, r, checked);
}

/* Open a block that is run for elements in the range of line r only. */
static void open_range(const struct sweep *s, int r)
{
    if (s->ragged)
        dcli_text_put(s->nest->out, "    if ((ulong)(dcl_v + dcl_k - dcl_from%d) < dcl_wide%d) {\n", r, r);
}

static void end_line(const struct sweep *s)
{
    dcli_text *out = s->nest->out;
    if (s->nest->innermost > 0)
        dcli_text_put(out, "#undef %s\n", dcli_index_name(s->body->index_of_axis[s->nest->innermost - 1]));
    dcli_emit_elements_end(out, s->body);
    for (int v = 0; v < s->names; v++) {
        dcli_text_put(out, "#undef ");
        put_token(s, s->variable[v].name);
        dcli_text_put(out, "\n");
    }
}

static void put_range(const struct sweep *s, int first, int end)
{
    dcli_text_put(s->nest->out, "\n#line 1 \"lanes\"\n");
    dcli_rewrite_range(s->body, s->nest->out, first, end);
    dcli_text_put(s->nest->out, "\n#line 1 \"generated\"\n");
}

/* Open a loop over the elements of depth d. */
static void open_elements(const struct sweep *s, int d)
{
    int v = s->nest->innermost;
    if (s->distance > 0)
        dcli_text_put(s->nest->out,
                      "#pragma unroll\n    for (int dcl_k = 0; dcl_k < %d; dcl_k++) {\n"
                      "    const long dcl_t%d = dcl_v + dcl_k * %d;\n",
                      DCLI_GPU_COLUMNS, v, s->distance);
    else
        dcli_text_put(
            s->nest->out,
            "    for (long dcl_k = dcl_a%d; dcl_k < dcl_b%d; dcl_k++) {\n    const long dcl_t%d = dcl_v + dcl_k;\n", d,
            d, v);
    dcli_nest_index(s->nest, v);
}

/* ---- plain statements ----------------------------------------------------------------------------------------------- */

/* Whether statements after tokens [t, end) use variable v, which they declare. */
static bool outlives(const struct sweep *s, int v, int end) { return uses(s, v, end, (int)s->tokens->count, false); }

/* Whether the value of variable v must be loaded before tokens [t, end) are run (`load`), or else stored after them.
 * @param step  the tokens are a step of a loop: variables that they declare end with the step. */
static bool is_passed(const struct sweep *s, int v, int t, int end, bool step, bool load)
{
    if (!uses(s, v, t, end, false))
        return false;
    if (declares(s, v, t, end))
        return !load && !step && outlives(s, v, end);
    return load || uses(s, v, t, end, true);
}

/* Keep or load the variables that tokens [t, end) use for line r. */
static void put_variables(const struct sweep *s, int r, int t, int end, bool step, bool load)
{
    for (int v = 0; v < s->names; v++) {
        if (!is_passed(s, v, t, end, step, load))
            continue;
        const dcli_token *name = &s->tokens->token[s->variable[v].name];
        const char *text = s->tokens->text + name->start;
        dcli_text_put(s->nest->out, "    ");
        if (load) {
            put_token(s, s->variable[v].type);
            dcli_text_put(s->nest->out, " dcl_y%d_%.*s = dcl_z%d_%.*s[dcl_k];\n", r, name->length, text, r,
                          name->length, text);
        } else {
            dcli_text_put(s->nest->out, "dcl_z%d_%.*s[dcl_k] = dcl_y%d_%.*s;\n", r, name->length, text, r, name->length,
                          text);
        }
    }
}

/* Close the block that open_range() has opened around plain statements, tokens [t, end). Variables of other elements become 0, because
 * loops calculate with them, and processors are slow with some numbers that they would contain by chance. */
static void close_range(const struct sweep *s, int r, int t, int end)
{
    if (!s->ragged)
        return;
    dcli_text_put(s->nest->out, "    } else {\n");
    for (int v = 0; v < s->names; v++)
        if (is_passed(s, v, t, end, false, false)) {
            const dcli_token *name = &s->tokens->token[s->variable[v].name];
            dcli_text_put(s->nest->out, "    dcl_z%d_%.*s[dcl_k] = 0;\n", r, name->length,
                          s->tokens->text + name->start);
        }
    dcli_text_put(s->nest->out, "    }\n");
}

static int widest_bytes(const dcli_body *body)
{
    int widest = 4;
    for (int a = 0; a < body->access_count; a++) {
        int bytes = (int)dcl_type_bytes(body->params[body->access[a].param].type);
        widest = bytes > widest ? bytes : widest;
    }
    return widest;
}

/* Emit plain statements, tokens [t, end), for the elements of depth d.
 *  @param q       the loop of which `steps` steps are run, from its counter dcl_c<q> on; -1: none
 *  @param tested  only where all tests hold, and with checks in dcl_checked */
static void put_plain(const struct sweep *s, int t, int end, int d, int q, int steps, bool tested)
{
    dcli_text *out = s->nest->out;
    bool checked = tested && s->nest->variant != DCLI_VARIANT_UNIT;
    const bool step = q >= 0;
    if (!checked && s->distance == 0)
        dcli_text_put(out, "#pragma clang loop vectorize_width(%d) interleave_count(%d)\n",
                      (s->lines > 1 ? STACKED_BYTES : SINGLE_BYTES) / widest_bytes(s->body), s->lines > 1 ? 1 : 2);
    open_elements(s, d);
    for (int r = 0; r < s->lines; r++) {
        begin_line(s, r, checked);
        if (!step)
            open_range(s, r);
        put_variables(s, r, t, end, step, true);
        for (int n = 0; n < steps; n++) {
            if (step) {
                dcli_text_put(out, "    {\n    const ");
                put_token(s, s->body->inside->inner[q].name - 1);
                dcli_text_put(out, " ");
                put_token(s, s->body->inside->inner[q].name);
                dcli_text_put(out, " = dcl_c%d + %d;\n", q, n);
            }
            if (tested && s->tests > 0)
                dcli_text_put(out, "    if (1");
            for (int k = 0; tested && k < s->tests; k++) {
                dcli_text_put(out, s->test[k].negated ? " && !(" : " && (");
                put_range(s, s->test[k].first, s->test[k].end);
                dcli_text_put(out, ")");
            }
            dcli_text_put(out, tested && s->tests > 0 ? ") {\n" : "");
            put_range(s, t, end);
            if (tested && s->tests > 0) {
                put_variables(s, r, t, end, step, false);
                dcli_text_put(out, "    }\n");
            }
            dcli_text_put(out, step ? "    }\n" : "");
        }
        if (!tested || s->tests == 0)
            put_variables(s, r, t, end, step, false);
        if (!step)
            close_range(s, r, t, end);
        end_line(s);
    }
    dcli_text_put(out, "    }\n");
}

/* ---- reads inside --------------------------------------------------------------------------------------------------- */

/* Emit the least or greatest value of an index at depth d. @param q  the loop whose steps are [dcl_low, dcl_high];
 * others have one value. */
static void put_index(const struct sweep *s, int index, int d, int q, bool last)
{
    dcli_text *out = s->nest->out;
    int v = s->nest->innermost;
    if (index >= DCL_MAX_RANK) {
        const dcli_inner *inner = &s->body->inside->inner[index - DCL_MAX_RANK];
        if (index - DCL_MAX_RANK == q) {
            dcli_text_put(out, last ? "dcl_high" : "dcl_low");
        } else if (dcli_inner_copies(s->body, index - DCL_MAX_RANK) > MOST_COPIES) {
            put_token(s, inner->name);
        } else {
            bool limit = last == (inner->step > 0);
            dcli_affine_print(limit ? &inner->limit : &inner->first, s->body, out);
            dcli_text_put(out, limit && !inner->inclusive ? (last ? " - 1" : " + 1") : "");
        }
        return;
    }
    int m = s->body->inside->axis_of_index[index];
    if (m == v)
        dcli_text_put(out, "dcl_i%d + (dcl_v + %s%d%s) * dcl_d%d", m, last ? "dcl_b" : "dcl_a", d, last ? " - 1" : "",
                      m);
    else if (m == v - 1)
        dcli_text_put(out, "dcl_y%d_%s", last ? s->lines - 1 : 0, dcli_index_name(index));
    else
        dcli_text_put(out, "%s", dcli_index_name(index));
}

/* Write a bound of a sum. */
static void put_bound(const struct sweep *s, const dcli_affine *sum, int d, int q, bool greatest)
{
    dcli_text *out = s->nest->out;
    dcli_text_put(out, "0");
    for (int t = 0; t < sum->count; t++) {
        dcli_affine factor = {.count = 1, .term = {sum->term[t]}};
        factor.term[0].index = -1;
        bool indexed = sum->term[t].index >= 0;
        dcli_text_put(out, !indexed ? " + (" : greatest ? " + dcl_max((long)(" : " + dcl_min((long)(");
        for (int last = 0; last < 1 + indexed; last++) {
            dcli_text_put(out, last ? "), (long)(" : "");
            dcli_affine_print(&factor, s->body, out);
            if (!indexed)
                continue;
            dcli_text_put(out, " * (");
            put_index(s, sum->term[t].index, d, q, last == 1);
            dcli_text_put(out, ")");
        }
        dcli_text_put(out, indexed ? "))" : ")");
    }
}

/* Emit ` && CONDITION` for what dcl_unit assumes, and that the reads in tokens [t, end) stay inside at all steps of loop q that all
 * elements of depth d run. */
static void put_safety(const struct sweep *s, int t, int end, int d, int q)
{
    const dcli_body *body = s->body;
    dcli_text *out = s->nest->out;
    uint64_t seen = 0;
    for (int64_t p = 0; p < body->inside->place_count; p++) {
        int a = body->inside->place[p].access, v = s->nest->innermost;
        if (body->inside->place[p].name < t || body->inside->place[p].name >= end || (seen >> a & 1) != 0)
            continue;
        seen |= (uint64_t)1 << a;
        if (body->access[a].unit_axis == v && dcli_inside_depends(body, a, v))
            dcli_text_put(out, "\n        && dcl_s%d_%d == 1", a, v);
        for (int k = 0; k < body->inside->access_inner_count[a] && body->access[a].unit_axis == v; k++)
            if (dcli_inner_unit(body, a, k) != 0)
                dcli_text_put(out, "\n        && dcl_s%d_%d == %d", a, body->space_rank + k,
                              dcli_inner_unit(body, a, k));
        for (int x = 0; x < body->params[body->access[a].param].rank && !body->access[a].written; x++) {
            const dcli_affine *sum = dcli_inside_subscript(body, a, x);
            dcli_text_put(out, "\n        && ");
            put_bound(s, sum, d, q, false);
            dcli_text_put(out, " >= ");
            dcli_emit_number(out, body, s->nest->form, DCLI_ROW_GRID_LOW, a, x);
            dcli_text_put(out, "\n        && ");
            put_bound(s, sum, d, q, true);
            dcli_text_put(out, " < ");
            dcli_emit_number(out, body, s->nest->form, DCLI_ROW_GRID_END, a, x);
        }
    }
}

/* ---- loops and conditions ------------------------------------------------------------------------------------------- */

static void put_statements(struct sweep *s, int t, int end, int d);

/* Emit, of the steps dcl_begin to dcl_end of loop q, the first and the last one that some element of depth d runs, dcl_lowest and
 * dcl_highest, and those that all run, dcl_low and dcl_high. The limits are tokens [t, end). */
static void put_limits(const struct sweep *s, int q, int t, int end, int d)
{
    dcli_text *out = s->nest->out;
    if (t == end) {
        dcli_text_put(out,
                      "    const long dcl_lowest = dcl_begin, dcl_highest = dcl_end, dcl_low = dcl_begin, dcl_high = "
                      "dcl_end;\n");
        return;
    }
    dcli_text_put(out, "    long dcl_low = dcl_begin, dcl_high = dcl_end;\n"
                       "    long dcl_lowest = LONG_MAX, dcl_highest = LONG_MIN;\n");
    open_elements(s, d);
    for (int r = 0; r < s->lines; r++) {
        begin_line(s, r, false);
        dcli_text_put(out, "    {\n    long dcl_l = dcl_begin, dcl_h = dcl_end;\n");
        for (int at = t, next; at < end; at = next) {
            bool low = dcli_token_is(s->tokens, at + 3, "<");
            next = limit_end(s, q, at);
            dcli_text_put(out, "    {\n    const long dcl_e = (");
            put_range(s, at + 4, s->tokens->token[at + 1].partner);
            dcli_text_put(out, low ? ");\n    dcl_l = dcl_max(dcl_l, dcl_e);\n    }\n"
                                   : ");\n    dcl_h = dcl_min(dcl_h, dcl_e);\n    }\n");
        }
        dcli_text_put(
            out, "    dcl_lowest = dcl_min(dcl_lowest, dcl_l);\n    dcl_low = dcl_max(dcl_low, dcl_l);\n"
                 "    dcl_highest = dcl_max(dcl_highest, dcl_h);\n    dcl_high = dcl_min(dcl_high, dcl_h);\n    }\n");
        end_line(s);
    }
    dcli_text_put(out, "    }\n");
}

/* Emit the steps of loop q, whose statements are tokens [t, end), after put_limits(): a few at once, the rest one by one; with tests where
 * not all elements of depth d run a step. */
static void put_steps(const struct sweep *s, int q, int t, int end, int d)
{
    dcli_text *out = s->nest->out;
    int steps = s->lines > 1 ? STACKED_STEPS : SINGLE_STEPS;
    if (s->distance > 0) { /* one by one: what several steps read takes too many registers */
        dcli_text_put(out, "    for (long dcl_c%d = dcl_low; dcl_c%d <= dcl_high; dcl_c%d++) {\n", q, q, q);
        put_plain(s, t, end, d, q, 1, false);
        dcli_text_put(out, "    }\n");
        return;
    }
    dcli_text_put(out, "    const bool dcl_fast = dcl_all%d", d);
    if (s->nest->variant != DCLI_VARIANT_UNIT)
        put_safety(s, t, end, d, q);
    dcli_text_put(out,
                  ";\n    for (long dcl_c%d = dcl_lowest; dcl_c%d <= dcl_highest;) {\n"
                  "    if (dcl_fast && dcl_c%d >= dcl_low && dcl_c%d <= dcl_high) {\n"
                  "    for (; dcl_c%d + %d <= dcl_high; dcl_c%d += %d) {\n",
                  q, q, q, q, q, steps - 1, q, steps);
    put_plain(s, t, end, d, q, steps, false);
    dcli_text_put(out, "    }\n    for (; dcl_c%d <= dcl_high; dcl_c%d++) {\n", q, q);
    put_plain(s, t, end, d, q, 1, false);
    dcli_text_put(out, "    }\n    } else {\n");
    put_plain(s, t, end, d, q, 1, true);
    dcli_text_put(out, "    dcl_c%d++;\n    }\n    }\n", q);
}

/* Emit the steps of loop q in three phases: those before and after the steps that all elements run are run for a few elements at a time,
 * which have most of them in common. @param first  of the tokens [first, t) of the limits. */
static void put_phases(struct sweep *s, int q, int first, int t, int end, int d)
{
    dcli_text *out = s->nest->out;
    int inside = s->depths++;
    dcli_text_put(
        out,
        "    const bool dcl_common = dcl_low <= dcl_high;\n"
        "    const long dcl_from[] = {dcl_lowest, dcl_common ? dcl_low : dcl_highest + 1, dcl_common ? dcl_high + "
        "1 : dcl_highest + 1};\n"
        "    const long dcl_to[] = {dcl_common ? dcl_low - 1 : dcl_highest, dcl_common ? dcl_high : dcl_highest, "
        "dcl_highest};\n"
        "    for (int dcl_phase = 0; dcl_phase < 3; dcl_phase++)\n"
        "    for (long dcl_a%d = dcl_a%d, dcl_b%d; dcl_a%d < dcl_b%d; dcl_a%d = dcl_b%d) {\n"
        "    dcl_b%d = dcl_phase == 1 ? dcl_b%d : dcl_min(dcl_a%d + %d, dcl_b%d);\n"
        "    const bool dcl_all%d = dcl_all%d;\n"
        "    const long dcl_begin = dcl_from[dcl_phase], dcl_end = dcl_to[dcl_phase];\n",
        inside, d, inside, inside, d, inside, inside, inside, d, inside, AT_ENDS, d, inside, d);
    put_limits(s, q, first, t, inside);
    put_steps(s, q, t, end, inside);
    dcli_text_put(out, "    }\n");
}

static void put_loop(struct sweep *s, int q, int d)
{
    const dcli_inner *inner = &s->body->inside->inner[q];
    dcli_text *out = s->nest->out;
    int first, end = statements_of(s, q, &first), at = first, next, tests = s->tests;
    int inside = s->depths++;
    for (; (next = limit_end(s, q, at)) >= 0; at = next)
        s->test[s->tests++] = (struct test){at + 2, s->tokens->token[at + 1].partner, true};
    dcli_text_put(out, "    {\n    const long dcl_begin = dcl_first%d, dcl_end = dcl_limit%d%s;\n", q, q,
                  inner->inclusive ? "" : " - 1");
    put_limits(s, q, first, at, d);
    if (has_long(s, at, end)) {
        dcli_text_put(
            out,
            "    const long dcl_all_low = dcl_low, dcl_all_high = dcl_high;\n"
            "    for (long dcl_c%d = dcl_lowest, dcl_last%d = dcl_highest; dcl_c%d <= dcl_last%d; dcl_c%d++) {\n"
            "    const ",
            q, q, q, q, q);
        put_token(s, inner->name - 1);
        dcli_text_put(out, " ");
        put_token(s, inner->name);
        dcli_text_put(out,
                      " = dcl_c%d;\n    const long dcl_a%d = dcl_a%d, dcl_b%d = dcl_b%d;\n"
                      "    const bool dcl_all%d = dcl_all%d && dcl_c%d >= dcl_all_low && dcl_c%d <= dcl_all_high;\n",
                      q, inside, d, inside, d, inside, d, q, q);
        put_statements(s, at, end, inside);
        dcli_text_put(out, "    }\n");
    } else if (s->is_uneven && first < at) {
        put_phases(s, q, first, at, end, d);
    } else {
        put_steps(s, q, at, end, d);
    }
    dcli_text_put(out, "    }\n");
    s->tests = tests;
}

/* Emit the statement of an `if` at token t for the ranges of elements that run it. */
static void put_if(struct sweep *s, int t, int d)
{
    dcli_text *out = s->nest->out;
    int close = s->tokens->token[t + 1].partner, v = s->nest->innermost, inside = s->depths++, tests = s->tests;
    dcli_text_put(out,
                  "    for (long dcl_a%d = dcl_a%d, dcl_b%d; dcl_a%d < dcl_b%d; dcl_a%d = dcl_b%d) {\n"
                  "    int dcl_some = -1;\n"
                  "    for (dcl_b%d = dcl_a%d; dcl_b%d < dcl_b%d; dcl_b%d++) {\n"
                  "    const long dcl_k = dcl_b%d, dcl_t%d = dcl_v + dcl_k;\n    int dcl_true = 0;\n",
                  inside, d, inside, inside, d, inside, inside, inside, inside, inside, d, inside, inside, v);
    dcli_nest_index(s->nest, v);
    for (int r = 0; r < s->lines; r++) {
        begin_line(s, r, false);
        dcli_text_put(out, "    dcl_true += 0 || (");
        put_range(s, t + 2, close);
        dcli_text_put(out, ");\n");
        end_line(s);
    }
    dcli_text_put(out,
                  "    dcl_true = dcl_true == 0 ? 0 : dcl_true == %d ? 2 : 1;\n"
                  "    if (dcl_some >= 0 && dcl_some != dcl_true)\n        break;\n    dcl_some = dcl_true;\n    }\n"
                  "    if (dcl_some == 0)\n        continue;\n    const bool dcl_all%d = dcl_all%d && dcl_some == 2;\n",
                  s->lines, inside, d);
    s->test[s->tests++] = (struct test){t + 2, close, false};
    put_statements(s, close + 2, s->tokens->token[close + 1].partner, inside);
    dcli_text_put(out, "    }\n");
    s->tests = tests;
}

/* Emit the statements of tokens [t, end) for the elements of depth d. */
static void put_statements(struct sweep *s, int t, int end, int d)
{
    for (int next; t < end; t = next) {
        next = dcli_statement_end(s->tokens, t);
        if (!has_long(s, t, next)) {
            while (next < end && !has_long(s, next, dcli_statement_end(s->tokens, next)))
                next = dcli_statement_end(s->tokens, next);
            put_plain(s, t, next, d, -1, 1, true);
        } else if (dcli_token_is(s->tokens, t, "{")) {
            put_statements(s, t + 1, next - 1, d);
        } else if (dcli_token_is(s->tokens, t, "for")) {
            put_loop(s, long_at(s->body, t), d);
        } else {
            put_if(s, t, d);
        }
    }
}

/* ---- sweeps --------------------------------------------------------------------------------------------------------- */

/* Emit the index of each line along the axis before the innermost one. The first line has counter dcl_u. */
static void put_line_indices(const struct sweep *s)
{
    int m = s->nest->innermost - 1;
    for (int r = 0; r < s->lines && m >= 0; r++) {
        const char *index = dcli_index_name(s->body->index_of_axis[m]);
        dcli_text_put(s->nest->out, "    const long dcl_y%d_%s = dcl_i%d + (dcl_u + %d) * dcl_d%d;\n", r, index, m, r,
                      m);
    }
}

/* Emit the arrays that keep variables, and the statements for all elements of a sweep. */
static void put_sweep(struct sweep *s, int elements)
{
    dcli_text *out = s->nest->out;
    for (int r = 0; r < s->lines; r++)
        for (int k = 0; k < s->names; k++) {
            const dcli_token *name = &s->tokens->token[s->variable[k].name];
            dcli_text_put(out, "    ");
            put_token(s, s->variable[k].type);
            dcli_text_put(out, " dcl_z%d_%.*s[%d]%s;\n", r, name->length, s->tokens->text + name->start, elements,
                          s->distance > 0 ? "" : " __attribute__((aligned(64)))");
        }
    s->depths = 1;
    put_statements(s, 0, (int)s->tokens->count, 0);
}

/* Emit the strips of `lines` neighbouring lines, of about equal lengths. The first line has counter dcl_u along the axis before the
 * innermost one.
 * @param first, end  counters of the innermost axis: numbers or variables of the kernel. */
static void put_strips(struct sweep *s, int lines, const char *first, const char *end)
{
    const int lanes = STACKED_BYTES / widest_bytes(s->body);
    s->lines = lines;
    s->unit = *s->nest;
    s->unit.variant = DCLI_VARIANT_UNIT;
    put_line_indices(s);
    dcli_text_put(s->nest->out,
                  "    for (long dcl_v = %s, dcl_m; dcl_v < %s; dcl_v += dcl_m) {\n"
                  "    dcl_m = %s - dcl_v;\n"
                  "    if (dcl_m > %d) {\n    const long dcl_strips = (dcl_m + %d) / %d;\n"
                  "    dcl_m = ((dcl_m + dcl_strips - 1) / dcl_strips + %d) / %d * %d;\n    }\n"
                  "    const long dcl_a0 = 0, dcl_b0 = dcl_m;\n    const bool dcl_all0 = true;\n    dcl_widen(0);\n",
                  first, end, end, DCLI_SWEEP_ELEMENTS, DCLI_SWEEP_ELEMENTS - 1, DCLI_SWEEP_ELEMENTS, lanes - 1, lanes,
                  lanes);
    put_sweep(s, DCLI_SWEEP_ELEMENTS);
    dcli_text_put(s->nest->out, "    }\n");
}

void dcli_emit_gpu_sweep(dcli_nest *nest, int distance)
{
    struct sweep s;
    find(nest->body, &s);
    s.nest = nest;
    s.unit = *nest;
    s.lines = DCLI_GPU_LINES;
    s.distance = distance;
    dcli_emit_inner_bounds(nest->out, nest->body);
    put_line_indices(&s);
    dcli_text_put(nest->out, "    const long dcl_a0 = 0, dcl_b0 = %d;\n    const bool dcl_all0 = true;\n",
                  DCLI_GPU_COLUMNS);
    put_sweep(&s, DCLI_GPU_COLUMNS);
}

/* Emit the ranges of the lines of a group: dcl_from<r> and dcl_wide<r>, first element and length of that of line r; from dcl_shared_low to
 * before dcl_shared_high, the range that all lines have in common; from dcl_least to before dcl_most, the range that contains all. */
static void put_ranges(const struct sweep *s)
{
    dcli_nest *nest = s->nest;
    dcli_text *out = nest->out;
    int v = nest->innermost, m = v - 1;
    const char *index = dcli_index_name(nest->body->index_of_axis[m]);
    dcli_text_put(out,
                  "    long dcl_first[%d] = {0}, dcl_last[%d] = {0};\n"
                  "    long dcl_shared_low = 0, dcl_shared_high = dcl_lines > 1 ? dcl_n%d : 0, dcl_least = dcl_n%d, "
                  "dcl_most = 0;\n"
                  "    for (long dcl_u = dcl_w; dcl_u < dcl_w + dcl_lines; dcl_u++) {\n"
                  "    const long %s = dcl_i%d + dcl_u * dcl_d%d;\n    long dcl_begin%d = 0, dcl_end%d = dcl_n%d;\n",
                  DCLI_SWEEP_LINES, DCLI_SWEEP_LINES, v, v, index, m, m, v, v, v);
    dcli_emit_over_bounds(nest, v, v, v);
    dcli_text_put(out,
                  "    dcl_first[dcl_u - dcl_w] = dcl_begin%d;\n"
                  "    dcl_last[dcl_u - dcl_w] = dcl_max(dcl_begin%d, dcl_end%d);\n"
                  "    dcl_shared_low = dcl_max(dcl_shared_low, dcl_begin%d);\n    dcl_shared_high = "
                  "dcl_min(dcl_shared_high, dcl_end%d);\n"
                  "    dcl_least = dcl_min(dcl_least, dcl_begin%d);\n    dcl_most = dcl_max(dcl_most, dcl_end%d);\n"
                  "    }\n"
                  "    const bool dcl_shared = dcl_shared_low < dcl_shared_high;\n",
                  v, v, v, v, v, v, v);
    for (int r = 0; r < DCLI_SWEEP_LINES; r++)
        dcli_text_put(
            out,
            "    const long dcl_from%d = dcl_first[%d];\n    const ulong dcl_wide%d = dcl_last[%d] - dcl_from%d;\n", r,
            r, r, r, r);
}

/* Whether the loops of a body may run for elements that are not in the index space of an operation. Such elements are in
 * the work's box, and this variant is used only for works that read nothing outside their arrays, so what they read is in
 * memory. But their loops must write no arrays. Nor may they divide, because a division of integers could fail. */
static bool may_exceed(const struct sweep *s)
{
    const dcli_body *body = s->body;
    for (int q = 0; q < (int)body->inside->inner_count; q++) {
        int first, end = statements_of(s, q, &first);
        for (int t = first; t < end; t++)
            if (dcli_token_in(s->tokens, t, "/ % /= %="))
                return false;
        for (int64_t p = 0; p < body->inside->place_count; p++) {
            const dcli_place *place = &body->inside->place[p];
            if (place->name >= first && place->name < end && body->access[place->access].written)
                return false;
        }
    }
    return true;
}

/* Emit the choice of dcl_whole: whether the elements in the ranges of some lines are run for all lines, if they are few. Then the strip
 * begins and ends at multiples of a vector's size, if these are in the box. */
static void put_choice(const struct sweep *s)
{
    const dcli_nest *nest = s->nest;
    int a = 0;
    while (!nest->body->access[a].written)
        a++;
    const char *type = dcli_kernel_type(nest->body->params[nest->body->access[a].param].type);
    const int lanes = STACKED_BYTES / widest_bytes(s->body);
    dcli_text_put(nest->out,
                  "    const bool dcl_whole = dcl_shared && dcl_shared_low - dcl_least <= %d && "
                  "dcl_most - dcl_shared_high <= %d;\n    if (dcl_whole) {\n"
                  "    const long dcl_lead = ((ulong)(dcl_p%d + dcl_x%d_%d + dcl_least) & %d) / sizeof(%s);\n"
                  "    dcl_shared_low = dcl_least - (dcl_lead <= dcl_least ? dcl_lead : 0);\n"
                  "    dcl_shared_high = dcl_shared_low + (dcl_most - dcl_shared_low + %d) / %d * %d;\n"
                  "    dcl_shared_high = dcl_shared_high <= dcl_n%d ? dcl_shared_high : dcl_most;\n    }\n",
                  AT_EDGES, AT_EDGES, a, a, nest->level[a], STACKED_BYTES - 1, type, lanes - 1, lanes, lanes,
                  nest->innermost);
}

/* Emit the sweeps where bounds of DCL_OVER depend on the axis before the innermost one, so that each line has a
 * range of its own. The range that several lines have in common is computed in strips of all these lines. The few elements
 * before and after it are, too: they are computed for all of these lines, but stored for those in whose range they are. If there are many
 * of them, each line is computed alone instead. */
static void put_slanted(struct sweep *s)
{
    dcli_nest *nest = s->nest, common = *nest;
    dcli_text *out = nest->out;
    int m = nest->innermost - 1;
    bool exceeds = nest->variant == DCLI_VARIANT_UNIT && may_exceed(s); /* others would report reads of such elements */
    dcli_text_put(out,
                  "    for (long dcl_w = 0, dcl_lines; dcl_w < dcl_n%d; dcl_w += dcl_lines) {\n"
                  "    dcl_lines = dcl_n%d - dcl_w >= %d ? %d : 1;\n",
                  m, m, DCLI_SWEEP_LINES, DCLI_SWEEP_LINES);
    put_ranges(s);
    dcli_text_put(out, "    {\n    const long dcl_u = dcl_w, dcl_t%d = dcl_u;\n", m);
    s->nest = &common;
    dcli_nest_advance(&common, m);
    if (exceeds)
        put_choice(s);
    s->ragged = exceeds;
    put_strips(s, DCLI_SWEEP_LINES, "dcl_shared_low", "dcl_shared_high");
    s->ragged = false;
    dcli_text_put(out, "%s    }\n", exceeds ? "    if (dcl_whole)\n        continue;\n" : "");
    dcli_text_put(out,
                  "    for (long dcl_u = dcl_w; dcl_u < dcl_w + dcl_lines; dcl_u++) {\n"
                  "    const long dcl_t%d = dcl_u;\n"
                  "    for (int dcl_side = 0; dcl_side < (dcl_shared ? 2 : 1); dcl_side++) {\n"
                  "    const long dcl_side_low = dcl_side == 0 ? dcl_first[dcl_u - dcl_w] : dcl_shared_high,\n"
                  "        dcl_side_high = dcl_side == 0 && dcl_shared ? dcl_shared_low : dcl_last[dcl_u - dcl_w];\n",
                  m);
    s->nest = nest;
    dcli_nest_advance(nest, m);
    put_strips(s, 1, "dcl_side_low", "dcl_side_high");
    dcli_text_put(out, "    }\n    }\n    }\n");
}

/* Emit the sweeps of a box: of as many lines as possible, then of one line. */
static void put_box(struct sweep *s)
{
    static const int lines[] = {DCLI_SWEEP_LINES, 1};
    dcli_nest *nest = s->nest;
    dcli_text *out = nest->out;
    int m = nest->innermost - 1;
    char end[24];
    snprintf(end, sizeof end, "dcl_n%d", nest->innermost);
    if (m < 0) {
        put_strips(s, 1, "0", end);
        return;
    }
    dcli_text_put(out, "    long dcl_u = 0;\n");
    for (int n = 0; n < 2; n++) {
        dcli_nest line = *nest;
        s->nest = &line;
        dcli_text_put(out, "    for (; dcl_u + %d <= dcl_n%d; dcl_u += %d) {\n    const long dcl_t%d = dcl_u;\n",
                      lines[n], m, lines[n], m);
        dcli_nest_advance(&line, m);
        put_strips(s, lines[n], "0", end);
        dcli_text_put(out, "    }\n");
    }
}

void dcli_emit_sweeps(dcli_nest *nest)
{
    struct sweep s;
    dcli_text *out = nest->out;
    bool narrowed[DCL_MAX_RANK] = {false};
    find(nest->body, &s);
    int v = nest->innermost;
    dcli_emit_guards(out, nest->body, DCLI_GUARDS_ASKED);
    dcli_emit_inner_bounds(out, nest->body);
    for (int axis = 0; axis < v; axis++) {
        narrowed[axis] = dcli_nest_narrow(nest, axis, axis, axis);
        if (axis < v - 1)
            dcli_emit_loop(nest, axis);
    }
    s.nest = nest;
    if (dcli_over_bounds(nest->body, v, v))
        put_slanted(&s);
    else
        put_box(&s);
    for (int axis = v - 1; axis >= 0; axis--)
        dcli_text_put(out, "%s%s", axis < v - 1 ? "    }\n" : "", narrowed[axis] ? "    }\n" : "");
    dcli_emit_guards_end(out, nest->body);
}
