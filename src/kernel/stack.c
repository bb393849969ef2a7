/* kernel/stack.c - stacks: several lines computed together, because neighbouring lines read the same elements. Recognizes the bodies
 * for which this pays, and generates the loop.
 *
 * The variables of the body exist once per line of the stack. While a statement is emitted for a line, macros give them the names of
 * this line, dcl_y<line>_NAME, and do the same with the index of the axis along which lines are stacked.
 *
 * An inner axis y and the index i contribute to the offset of A(i+y,j) with the same step. The offset of line r is therefore written with
 * the sum y + r. Once y is a constant, compilers see that line 1 reads at y = 0 what line 0 reads at y = 1.
 *
 * In `A(i-1,j) + A(i+1,j)`, the accesses are written as elements of the first of them, for the same reason. Whether the memory that
 * they are bound to lies so is tested. */
#include "kernel/stack.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "kernel/block.h"
#include "kernel/guard.h"
#include "kernel/inner.h"
#include "kernel/names.h"
#include "kernel/neighbour.h"
#include "kernel/parser.h"
#include "kernel/rewrite.h"

enum {
    MOST_VARIABLES = 16,
    MOST_COPIES = 64, /* of a statement in unrolled loops: more take long to compile */
    LINE_BYTES =
        2048, /* of a line of the stack that is collected: all lines fit into the first-level cache beside the inputs */
    SHORT_LINE_BYTES =
        512, /* the same where little is done for an element: the next loads begin while lines are being stored */
    MOST_NAMED = 12,    /* accesses */
    LEAST_NAMED = 4096, /* elements of a line, if it is stacked because of accesses that the body names */
    NAMED_BYTES = 4,    /* of an element, at least: conversions of narrower ones take longer than their loads */
    WIDEST_BYTES = 64   /* of vectors */
};

struct stack {
    const dcli_body *body;
    dcli_stacking kind;
    const dcli_tokens *tokens;
    int name[MOST_VARIABLES]; /* tokens: the variables that the body declares */
    int names;
};

/** An inner axis of an access that contributes to its offset as the stacked index does, or (sign -1) opposite to it. */
struct joint {
    int axis; /* number in access_inner[]; -1: none */
    int sign;
};

/* ---- recognizing ---------------------------------------------------------------------------------------------------- */

static bool is_name(const dcli_tokens *tokens, int t, const char *name, int length)
{
    const dcli_token *token = &tokens->token[t];
    return token->kind == DCLI_TOKEN_NAME && token->length == length &&
           memcmp(tokens->text + token->start, name, (size_t)length) == 0;
}

static bool same_name(const dcli_tokens *tokens, int a, int b)
{
    return is_name(tokens, b, tokens->text + tokens->token[a].start, tokens->token[a].length);
}

static int variable_at(const struct stack *s, int t)
{
    for (int v = 0; v < s->names; v++)
        if (same_name(s->tokens, s->name[v], t))
            return v;
    return -1;
}

/* The inner axis whose loop begins at token t; -1: none. */
static int inner_at(const dcli_body *body, int t)
{
    for (int q = 0; q < (int)body->inside->inner_count; q++)
        if (body->inside->inner[q].keyword == t)
            return q;
    return -1;
}

/* Whether a variable's name has no other meaning in the body: a macro replaces all of its occurrences. */
static bool is_own_name(const struct stack *s, int name)
{
    const dcli_body *body = s->body;
    for (int p = 0; p < body->param_count; p++)
        if (is_name(s->tokens, name, body->params[p].name, (int)strlen(body->params[p].name)))
            return false;
    for (int m = 0; m < body->space_rank; m++)
        if (is_name(s->tokens, name, dcli_index_name(body->index_of_axis[m]), 1))
            return false;
    for (int64_t q = 0; q < body->inside->inner_count; q++)
        if (same_name(s->tokens, name, body->inside->inner[q].name))
            return false;
    for (int t = 0; t < (int)s->tokens->count; t++)
        if (same_name(s->tokens, name, t) && dcli_token_is(s->tokens, t + 1, "("))
            return false;
    return true;
}

static bool add_variable(struct stack *s, int name)
{
    if (dcli_token_kind_of(s->tokens, name) != DCLI_TOKEN_NAME || !dcli_token_in(s->tokens, name + 1, "= , ;"))
        return false;
    if (variable_at(s, name) >= 0)
        return true; /* of an inner block: the same macro serves both */
    if (s->names == MOST_VARIABLES || !is_own_name(s, name))
        return false;
    s->name[s->names++] = name;
    return true;
}

/* Add the variables of a declaration that ends with the semicolon at token `end`. @return false: not all of them are numbers. */
static bool add_declaration(struct stack *s, int first, int end)
{
    int type = first + dcli_token_is(s->tokens, first, "const");
    if (!dcli_token_in(s->tokens, type, "char short int long uchar ushort uint ulong float double bool") ||
        !add_variable(s, type + 1))
        return false;
    for (int t = type + 1; t < end; t++) {
        if (s->tokens->token[t].partner > t)
            t = s->tokens->token[t].partner;
        else if (dcli_token_is(s->tokens, t, ",") && !add_variable(s, t + 1))
            return false;
    }
    return true;
}

static bool is_declaration(const struct stack *s, int t)
{
    const dcli_token *token = &s->tokens->token[t];
    return token->kind == DCLI_TOKEN_NAME && dcli_name_is_type(s->tokens->text + token->start, (size_t)token->length);
}

/* Whether the statement at token t begins as one that declares nothing: with a variable, an array, or a known keyword. */
static bool may_begin(const struct stack *s, int t)
{
    for (int64_t p = 0; p < s->body->inside->place_count; p++)
        if (s->body->inside->place[p].name == t)
            return true;
    return variable_at(s, t) >= 0 || dcli_token_in(s->tokens, t, "if ++ -- ;");
}

/* Read the statements of tokens [t, end), with those in blocks and inner axes, but not those of `if`. */
static bool read_statements(struct stack *s, int t, int end)
{
    for (int next; t < end; t = next) {
        next = dcli_statement_end(s->tokens, t);
        if (next < 0)
            return false;
        bool fine = true;
        if (dcli_token_is(s->tokens, t, "{"))
            fine = read_statements(s, t + 1, next - 1);
        else if (dcli_token_is(s->tokens, t, "for"))
            fine = inner_at(s->body, t) >= 0 && dcli_inner_copies(s->body, inner_at(s->body, t)) <= MOST_COPIES &&
                   read_statements(s, s->tokens->token[t + 1].partner + 1, next);
        else
            fine = is_declaration(s, t) ? add_declaration(s, t, next - 1) : may_begin(s, t);
        if (!fine)
            return false;
    }
    return true;
}

/* The only term of a sum that contains an index, if it is a literal times this index. */
static const dcli_term *term_of(const dcli_affine *sum, int index)
{
    const dcli_term *found = NULL;
    for (int t = 0; t < sum->count; t++)
        if (sum->term[t].index == index) {
            if (found != NULL || sum->term[t].scalars > 0)
                return NULL;
            found = &sum->term[t];
        }
    return found;
}

static struct joint joint_of(const dcli_body *body, int a)
{
    int index = body->index_of_axis[body->space_rank - 2];
    for (int k = 0; k < body->inside->access_inner_count[a] && !body->access[a].written; k++) {
        int q = body->inside->access_inner[a][k];
        for (int d = 0; d < body->params[body->access[a].param].rank; d++) {
            const dcli_affine *sum = dcli_inside_subscript(body, a, d);
            const dcli_term *stacked = term_of(sum, index), *inner = term_of(sum, DCL_MAX_RANK + q);
            if (stacked == NULL || inner == NULL)
                continue;
            int64_t step = inner->factor * (body->inside->inner[q].step > 0 ? 1 : -1);
            if (llabs(body->inside->inner[q].step) == 1 && (step == stacked->factor || step == -stacked->factor))
                return (struct joint){k, step == stacked->factor ? 1 : -1};
        }
    }
    return (struct joint){-1, 1};
}

/** An access as an element of another one: `lines` indices of the stacked axis and `elements` of the innermost one away. */
struct named {
    int base; /* the first access that it is a neighbour of, perhaps itself */
    int64_t lines, elements;
};

static struct named named_of(const dcli_body *body, int a)
{
    int64_t apart[DCL_MAX_RANK];
    for (int b = 0; b < a; b++) {
        if (body->access[a].unit_axis != body->space_rank - 1 || body->access[b].unit_axis != body->space_rank - 1 ||
            !dcli_inside_depends(body, a, body->space_rank - 2) || !dcli_neighbours(body, b, a, apart))
            continue;
        int m = 0;
        while (m < body->space_rank - 2 && apart[m] == 0)
            m++;
        if (m == body->space_rank - 2)
            return (struct named){b, apart[m], apart[m + 1]};
    }
    return (struct named){.base = a};
}

/* Whether lines share what accesses that the body names read. */
static bool names_lines(const dcli_body *body)
{
    bool shared = false;
    if (body->access_count > MOST_NAMED || body->inside->has_condition)
        return false;
    for (int a = 0; a < body->access_count; a++) {
        if (dcl_type_bytes(body->params[body->access[a].param].type) < NAMED_BYTES)
            return false;
        shared |= named_of(body, a).lines != 0;
    }
    return shared;
}

/* Whether all accesses allow stacks, and lines share what one of them reads. */
static bool accesses_fit(const dcli_body *body, dcli_stacking kind)
{
    bool shared = kind == DCLI_STACK_NAMED && names_lines(body), written = false;
    for (int a = 0; a < body->access_count; a++) {
        if (body->access[a].reach != DCLI_REACH_AFFINE)
            return false;
        if (body->access[a].written &&
            (!dcli_is_streamed(body, a) || !dcli_inside_depends(body, a, body->space_rank - 2)))
            return false;
        written |= body->access[a].written;
        shared |= kind == DCLI_STACK_LOOPS && joint_of(body, a).axis >= 0;
    }
    return shared && written;
}

static bool find(const dcli_body *body, struct stack *s)
{
    *s = (struct stack){.body = body,
                        .kind = body->inside->inner_count > 0 ? DCLI_STACK_LOOPS : DCLI_STACK_NAMED,
                        .tokens = &body->inside->tokens};
    if (body->tile_kernel || body->result_count > 0 || body->along || body->slanted || body->space_rank < 2 ||
        body->prelude[0] != '\0' || dcli_transposed_axis(body) >= 0 || !accesses_fit(body, s->kind))
        return false;
    for (int t = 0; t < (int)s->tokens->count; t++)
        if (s->tokens->token[t].kind == DCLI_TOKEN_TEXT ||
            dcli_token_in(s->tokens, t,
                          "while do switch break continue return goto sizeof . -> __attribute__ __attribute "
                          "_Pragma struct union enum typedef static printf"))
            return false;
    return read_statements(s, 0, (int)s->tokens->count);
}

dcli_stacking dcli_stacks(const dcli_body *body)
{
    struct stack s;
    return find(body, &s) ? s.kind : DCLI_STACK_NEVER;
}

/* ---- generated text ------------------------------------------------------------------------------------------------- */

static const char *type_of(const dcli_body *body, int a)
{
    return dcli_kernel_type(body->params[body->access[a].param].type);
}

/* Elements of a line that is collected. */
static int line_elements(const struct stack *s)
{
    const dcli_body *body = s->body;
    size_t most = 1;
    for (int a = 0; a < body->access_count; a++)
        if (body->access[a].written)
            most = dcli_max(most, dcl_type_bytes(body->params[body->access[a].param].type));
    return (s->kind == DCLI_STACK_NAMED ? SHORT_LINE_BYTES : LINE_BYTES) / (int)most;
}

/* Define the macro of an access for line r of the stack. */
static void put_element(const dcli_nest *nest, const struct stack *s, int a, int r)
{
    const dcli_body *body = nest->body;
    int m = nest->innermost - 1;
    if (body->access[a].written) {
        dcli_text_put(nest->out, "#define dcl_a%d dcl_y_o%d[%d][dcl_k]\n", a, a, r);
        return;
    }
    struct named named = s->kind == DCLI_STACK_NAMED ? named_of(body, a) : (struct named){.base = a};
    struct joint joint = joint_of(body, a);
    char offset[96];
    dcli_nest_offset(nest, named.base, nest->innermost, offset, sizeof offset);
    if (s->kind == DCLI_STACK_NAMED && dcli_inside_depends(body, named.base, m)) {
        dcli_text_put(nest->out, "#define dcl_a%d dcl_p%d[%s + %" PRId64 " * dcl_s%d_%d + %" PRId64 "]\n", a,
                      named.base, offset, named.lines + r, named.base, m, named.elements);
        return;
    }
    dcli_text_put(nest->out, "#define dcl_a%d dcl_p%d[%s", a, a, offset);
    dcli_emit_inner_offsets(nest->out, body, nest->variant, a, joint.axis);
    if (joint.axis >= 0) {
        dcli_text_put(nest->out, " + (%d %s ", r, joint.sign > 0 ? "+" : "-");
        dcli_emit_inner_counter(nest->out, body, body->inside->access_inner[a][joint.axis]);
        dcli_text_put(nest->out, ") * dcl_s%d_%d", a, m);
    } else if (dcli_inside_depends(body, a, m))
        dcli_text_put(nest->out, " + %d * dcl_s%d_%d", r, a, m);
    dcli_text_put(nest->out, "]\n");
}

/* Emit tokens [first, end) for line r of the stack. */
static void put_line(const dcli_nest *nest, const struct stack *s, int first, int end, int r)
{
    const dcli_body *body = nest->body;
    const char *index = dcli_index_name(body->index_of_axis[nest->innermost - 1]);
    dcli_text_put(nest->out, "#undef %s\n#define %s dcl_y%d_%s\n", index, index, r, index);
    for (int v = 0; v < s->names; v++) {
        const dcli_token *name = &s->tokens->token[s->name[v]];
        const char *text = s->tokens->text + name->start;
        dcli_text_put(nest->out, "#define %.*s dcl_y%d_%.*s\n", name->length, text, r, name->length, text);
    }
    for (int a = 0; a < body->access_count; a++)
        put_element(nest, s, a, r);
    dcli_text_put(nest->out, "#line 1 \"lanes\"\n");
    dcli_rewrite_range(body, nest->out, first, end);
    dcli_text_put(nest->out, "\n#line 1 \"generated\"\n#undef %s\n", index);
    dcli_emit_elements_end(nest->out, body);
    for (int v = 0; v < s->names; v++) {
        const dcli_token *name = &s->tokens->token[s->name[v]];
        dcli_text_put(nest->out, "#undef %.*s\n", name->length, s->tokens->text + name->start);
    }
}

static void put_statements(const dcli_nest *nest, const struct stack *s, int t, int end)
{
    for (int next; t < end; t = next) {
        next = dcli_statement_end(s->tokens, t);
        if (dcli_token_is(s->tokens, t, "{")) {
            dcli_text_put(nest->out, "{\n");
            put_statements(nest, s, t + 1, next - 1);
            dcli_text_put(nest->out, "}\n");
        } else if (dcli_token_is(s->tokens, t, "for")) {
            int statement = s->tokens->token[t + 1].partner + 1;
            dcli_rewrite_range(s->body, nest->out, t, statement);
            dcli_text_put(nest->out, " {\n");
            put_statements(nest, s, statement, next);
            dcli_text_put(nest->out, "}\n");
        } else
            for (int r = 0; r < DCLI_STACK; r++)
                put_line(nest, s, t, next, r);
    }
}

/* Emit a factor that is 1 if access a lies in memory where its base says it does, and 0 if it does not. */
static void put_named_test(const dcli_nest *nest, const struct named *named, int a)
{
    int m = nest->innermost - 1, b = named->base;
    dcli_text_put(nest->out,
                  " * (dcl_s%d_%d == dcl_s%d_%d && (ulong)(dcl_p%d + dcl_x%d_%d) - (ulong)(dcl_p%d + dcl_x%d_%d) == "
                  "(ulong)((%" PRId64 " * dcl_s%d_%d + %" PRId64 ") * (long)sizeof(%s)))",
                  a, m, b, m, a, a, nest->level[a], b, b, nest->level[b], named->lines, b, m, named->elements,
                  type_of(nest->body, a));
}

/* Open the loop over stacks. It is not entered if an inner axis that joins the stacked index has another step in memory, or a neighbour
 * is elsewhere. */
static void open_stacks(const dcli_nest *nest, const struct stack *s)
{
    const dcli_body *body = nest->body;
    int m = nest->innermost - 1;
    dcli_text_put(nest->out, "    long dcl_u = 0;\n    for (const long dcl_stacked = dcl_n%d", m);
    if (s->kind == DCLI_STACK_NAMED) /* the ends of lines, which are not whole vectors, would take too long */
        dcli_text_put(nest->out, " * (dcl_n%d >= %d)", nest->innermost, LEAST_NAMED);
    for (int a = 0; a < body->access_count; a++) {
        struct joint joint = joint_of(body, a);
        struct named named = named_of(body, a);
        if (s->kind == DCLI_STACK_NAMED && named.base != a)
            put_named_test(nest, &named, a);
        if (joint.axis >= 0)
            dcli_text_put(nest->out, " * (dcl_s%d_%d == %sdcl_s%d_%d)", a, body->space_rank + joint.axis,
                          joint.sign > 0 ? "" : "-", a, m);
    }
    dcli_text_put(nest->out, "; dcl_u + %d <= dcl_stacked; dcl_u += %d) {\n    const long dcl_t%d = dcl_u;\n",
                  DCLI_STACK, DCLI_STACK, m);
}

/* Emit the lines of a stack in parts of dcl_m elements from element dcl_v on. After the first part, they begin at a cache line of the
 * first output, if that is stored without caching. */
static void open_parts(const dcli_nest *nest, const struct stack *s)
{
    const dcli_body *body = nest->body;
    int v = nest->innermost, first = dcli_first_streamed(body), elements = line_elements(s);
    dcli_text_put(nest->out,
                  "    for (long dcl_v = 0, dcl_m; dcl_v < dcl_n%d; dcl_v += dcl_m) {\n"
                  "    dcl_m = dcl_min(dcl_n%d - dcl_v, (long)%d);\n",
                  v, v, elements);
    if (nest->streams == DCLI_STREAM_ALWAYS)
        dcli_text_put(nest->out,
                      "    if (dcl_m == %d)\n"
                      "        dcl_m -= ((ulong)(dcl_p%d + dcl_x%d_%d + dcl_v + dcl_m) & 63) / sizeof(%s);\n",
                      elements, first, first, nest->level[first], type_of(body, first));
}

/* Emit a loop that stores the lines: unrolled, it would take long to compile. */
static void put_stores(const dcli_nest *nest, int a)
{
    char target[96];
    snprintf(target, sizeof target, "dcl_p%d + dcl_x%d_%d + dcl_line * dcl_s%d_%d + dcl_v", a, a, nest->level[a], a,
             nest->innermost - 1);
    dcli_text_put(nest->out,
                  "#pragma clang loop unroll(disable)\n    for (long dcl_line = 0; dcl_line < %d; dcl_line++)\n",
                  DCLI_STACK);
    if (nest->streams == DCLI_STREAM_ALWAYS)
        dcli_text_put(nest->out, "        dcl_store_%s(%s, dcl_y_o%d[dcl_line], dcl_m);\n", type_of(nest->body, a),
                      target, a);
    else
        dcli_text_put(nest->out,
                      "        for (long dcl_k = 0; dcl_k < dcl_m; dcl_k++)\n"
                      "            (%s)[dcl_k] = dcl_y_o%d[dcl_line][dcl_k];\n",
                      target, a);
}

void dcli_emit_stacks(dcli_nest *nest)
{
    const dcli_body *body = nest->body;
    dcli_text *out = nest->out;
    dcli_nest line = *nest;
    struct stack s;
    int m = nest->innermost - 1, widest = 4;
    const char *index = dcli_index_name(body->index_of_axis[m]);
    find(body, &s);
    open_stacks(nest, &s);
    dcli_nest_advance(&line, m);
    for (int r = 0; r < DCLI_STACK; r++)
        dcli_text_put(out, "    const long dcl_y%d_%s = dcl_i%d + (dcl_u + %d) * dcl_d%d;\n", r, index, m, r, m);
    for (int a = 0; a < body->access_count; a++) {
        widest = dcli_max(widest, (int)dcl_type_bytes(body->params[body->access[a].param].type));
        if (body->access[a].written)
            dcli_text_put(out, "    %s dcl_y_o%d[%d][%d] __attribute__((aligned(64)));\n", type_of(body, a), a,
                          DCLI_STACK, line_elements(&s));
    }
    dcli_emit_guards(out, body, DCLI_GUARDS_ASKED);
    dcli_emit_inner_bounds(out, body);
    open_parts(&line, &s);
    if (nest->streams == DCLI_STREAM_ALWAYS)
        dcli_emit_leading_lines(&line, DCLI_STACK);
    dcli_text_put(out,
                  "    dcl_widen(0);\n#pragma clang loop vectorize_width(%d) interleave_count(1)\n"
                  "    for (long dcl_k = 0; dcl_k < dcl_m; dcl_k++) {\n    const long dcl_t%d = dcl_v + dcl_k;\n",
                  WIDEST_BYTES / widest, nest->innermost);
    dcli_nest_index(&line, nest->innermost);
    put_statements(&line, &s, 0, (int)s.tokens->count);
    dcli_text_put(out, "    }\n");
    for (int a = 0; a < body->access_count; a++)
        if (body->access[a].written)
            put_stores(&line, a);
    dcli_text_put(out, "    }\n    }\n");
    dcli_emit_guards_end(out, body);
}
