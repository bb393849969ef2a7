/* kernel/lanes.c - recognize bodies with one loop of unknown length, and generate the loops over blocks of their elements. */
#include "kernel/lanes.h"

#include <stdio.h>
#include <string.h>

#include "kernel/guard.h"
#include "kernel/inner.h"
#include "kernel/names.h"
#include "kernel/parser.h"
#include "kernel/rewrite.h"

enum {
    STEPS = 4,          /* of the loop, between two looks at whether some element goes on */
    MOST_VARIABLES = 24 /* so that a block's arrays stay in the first-level cache */
};

static const char integers[] = "char short int long uchar ushort uint ulong";
static const char numbers[] = "char short int long uchar ushort uint ulong float double";

/** Tokens [first, end). */
struct range {
    int first, end;
};

struct variable {
    int type, name; /* tokens */
    bool is_const;
    bool inside; /* declared by the loop itself */
};

/** A body that is run in lanes. */
struct lanes {
    const dcli_body *body;
    const dcli_tokens *tokens;
    struct range before, init, test, leave, step, statement, after; /* leave: the condition of `if (...) break;` */
    struct variable variable[MOST_VARIABLES];
    int variables;
};

/* ---- recognizing ---------------------------------------------------------------------------------------------------- */

static bool same_name(const dcli_tokens *tokens, int a, int b)
{
    const dcli_token *x = &tokens->token[a], *y = &tokens->token[b];
    return x->length == y->length && memcmp(tokens->text + x->start, tokens->text + y->start, (size_t)x->length) == 0;
}

/* The number of the variable that token t names; -1: none. */
static int variable_at(const struct lanes *l, int t)
{
    for (int v = 0; v < l->variables; v++)
        if (dcli_token_kind_of(l->tokens, t) == DCLI_TOKEN_NAME && same_name(l->tokens, l->variable[v].name, t))
            return v;
    return -1;
}

static bool add_variable(struct lanes *l, int type, int name, bool is_const)
{
    if (dcli_token_kind_of(l->tokens, name) != DCLI_TOKEN_NAME || !dcli_token_in(l->tokens, name + 1, "= , ;") ||
        variable_at(l, name) >= 0 || l->variables == MOST_VARIABLES)
        return false;
    l->variable[l->variables++] = (struct variable){.type = type, .name = name, .is_const = is_const};
    return true;
}

/* Whether a declaration begins at token t. */
static bool is_declaration(const dcli_tokens *tokens, int t)
{
    const dcli_token *token = &tokens->token[t];
    return token->kind == DCLI_TOKEN_NAME &&
           (dcli_name_is_type(tokens->text + token->start, (size_t)token->length) ||
            (!dcli_token_is(tokens, t + 1, "(") && dcli_token_kind_of(tokens, t + 1) == DCLI_TOKEN_NAME));
}

/* Add the variables of a declaration that ends with the semicolon at token `end`. @return false: not all of them are numbers. */
static bool add_declaration(struct lanes *l, int first, int end)
{
    bool is_const = dcli_token_is(l->tokens, first, "const");
    int type = first + is_const;
    if (!dcli_token_in(l->tokens, type, numbers) || !add_variable(l, type, type + 1, is_const))
        return false;
    for (int t = type + 1; t < end; t++) {
        if (l->tokens->token[t].partner > t)
            t = l->tokens->token[t].partner;
        else if (dcli_token_is(l->tokens, t, ",") && !add_variable(l, type, t + 1, is_const))
            return false;
    }
    return true;
}

/* Whether the divisor that begins at token t may be an integer that is not a literal: compilers divide these one by one. */
static bool divides_slowly(const struct lanes *l, int t)
{
    int end = l->tokens->token[t].partner > t ? l->tokens->token[t].partner : t + 1;
    if (l->tokens->token[t].kind == DCLI_TOKEN_NUMBER)
        return false;
    bool real = false, whole = false;
    for (; t < end; t++) {
        int v = variable_at(l, t);
        whole |= v >= 0 && dcli_token_in(l->tokens, l->variable[v].type, integers);
        real |= v >= 0 && !dcli_token_in(l->tokens, l->variable[v].type, integers);
    }
    return whole || !real;
}

/* Whether elements whose loop has ended can run these tokens of the loop, too, without an effect. */
static bool is_plain(const struct lanes *l, struct range range)
{
    for (int t = range.first; t < range.end; t++) {
        bool calls = dcli_token_kind_of(l->tokens, t) == DCLI_TOKEN_NAME && dcli_token_is(l->tokens, t + 1, "(");
        if (dcli_token_in(l->tokens, t, "for while do switch break continue return goto sizeof . -> ~ [") ||
            l->tokens->token[t].kind == DCLI_TOKEN_TEXT || dcli_takes_address(l->tokens, t) ||
            (calls && !dcli_token_in(l->tokens, t, "if fabs")) ||
            (dcli_token_in(l->tokens, t, "/ % /= %=") &&
             (divides_slowly(l, t + 1) ||
              (!dcli_token_in(l->tokens, t, "/ /=") && l->tokens->token[t + 1].kind != DCLI_TOKEN_NUMBER))))
            return false;
        bool type = dcli_token_kind_of(l->tokens, t) == DCLI_TOKEN_NAME &&
                    dcli_name_is_type(l->tokens->text + l->tokens->token[t].start, (size_t)l->tokens->token[t].length);
        if (type && !dcli_token_is(l->tokens, t, "const") &&
            (!dcli_token_in(l->tokens, t, numbers) || dcli_token_is(l->tokens, t + 1, "*")))
            return false;
    }
    const struct dcli_body_inside *inside = l->body->inside;
    for (int64_t p = 0; p < inside->place_count; p++)
        if (inside->place[p].name >= range.first && inside->place[p].name < range.end)
            return false;
    return true;
}

/* Whether a condition has no effect. */
static bool is_pure(const struct lanes *l, struct range range)
{
    for (int t = range.first; t < range.end; t++)
        if (dcli_token_in(l->tokens, t, "= += -= *= /= %= &= |= ^= <<= >>= ++ -- ,"))
            return false;
    return is_plain(l, range);
}

/* Read the loop at token t. */
static bool read_loop(struct lanes *l, int t, int end)
{
    const dcli_tokens *tokens = l->tokens;
    int open = t + 1, close = tokens->token[open].partner;
    l->test = (struct range){open + 1, close};
    if (dcli_token_is(tokens, t, "for")) {
        int semicolon[2] = {-1, -1}, found = 0;
        for (int u = open + 1; u < close; u++) {
            if (tokens->token[u].partner > u)
                u = tokens->token[u].partner;
            else if (dcli_token_is(tokens, u, ";") && found < 2)
                semicolon[found++] = u;
        }
        if (found < 2)
            return false;
        l->init = (struct range){open + 1, semicolon[0]};
        l->test = (struct range){semicolon[0] + 1, semicolon[1]};
        l->step = (struct range){semicolon[1] + 1, close};
        int outside = l->variables;
        if (is_declaration(tokens, open + 1) && !add_declaration(l, open + 1, semicolon[0]))
            return false;
        for (int v = outside; v < l->variables; v++)
            l->variable[v].inside = true;
    }
    l->statement = (struct range){close + 1, end};
    if (dcli_token_is(tokens, close + 1, "{") && dcli_token_is(tokens, close + 2, "if")) {
        int after = tokens->token[close + 3].partner + 1;
        if (dcli_token_is(tokens, after, "break") && !dcli_token_is(tokens, after + 2, "else")) {
            l->leave = (struct range){close + 4, after - 1};
            l->statement = (struct range){after + 2, end - 1};
        }
    }
    return l->test.first < l->test.end && is_pure(l, l->test) && is_pure(l, l->leave) && is_plain(l, l->step) &&
           is_plain(l, l->statement);
}

/* Whether the loop at token t has a known number of steps. */
static bool is_inner(const dcli_body *body, int t)
{
    const struct dcli_body_inside *inside = body->inside;
    int64_t q = 0;
    while (q < inside->inner_count && inside->inner[q].keyword != t)
        q++;
    if (q == inside->inner_count)
        return false;
    bool breaks = false;
    for (int u = inside->inner[q].begin; u < inside->inner[q].end; u++)
        breaks |= dcli_token_is(&inside->tokens, u, "break");
    return !breaks;
}

/* Whether there is a loop of unknown length, or a jump, among tokens outside of the loop. */
static bool jumps(const struct lanes *l, struct range range)
{
    for (int t = range.first; t < range.end; t++)
        if (dcli_token_in(l->tokens, t, "while do switch return goto printf") ||
            (dcli_token_is(l->tokens, t, "for") && !is_inner(l->body, t)))
            return true;
    return false;
}

/* Whether the statement at token t, which is no declaration, may stand outside of the loop: its first word is a variable, an
 * array, or a keyword whose statement declares nothing for those after it. All other words are refused, because variables
 * that are declared with them would not be found. */
static bool may_begin(const struct lanes *l, int t)
{
    const struct dcli_body_inside *inside = l->body->inside;
    int64_t p = 0;
    while (p < inside->place_count && inside->place[p].name != t)
        p++;
    return p < inside->place_count || variable_at(l, t) >= 0 || dcli_token_in(l->tokens, t, "{ if for ++ -- ;");
}

/* Read the statements up to the loop, and the loop. */
static bool read_statements(struct lanes *l)
{
    const dcli_tokens *tokens = l->tokens;
    for (int t = 0, end; t < (int)tokens->count; t = end) {
        end = dcli_statement_end(tokens, t);
        if (end < 0)
            return false;
        bool loop = dcli_token_is(tokens, t, "while") || (dcli_token_is(tokens, t, "for") && !is_inner(l->body, t));
        if (loop) {
            l->before = (struct range){0, t};
            l->after = (struct range){end, (int)tokens->count};
            return read_loop(l, t, end) && !jumps(l, l->before) && !jumps(l, l->init) && !jumps(l, l->after);
        }
        if (is_declaration(tokens, t) ? !add_declaration(l, t, end - 1) : !may_begin(l, t))
            return false;
    }
    return false;
}

static bool find(const dcli_body *body, struct lanes *l)
{
    *l = (struct lanes){.body = body, .tokens = &body->inside->tokens};
    if (body->tile_kernel || body->result_count > 0 || body->along || body->slanted || body->prelude[0] != '\0')
        return false;
    for (int a = 0; a < body->access_count; a++)
        if (body->access[a].reach != DCLI_REACH_AFFINE)
            return false;
    return read_statements(l) && l->variables > 0;
}

bool dcli_lanes_has(const dcli_body *body)
{
    struct lanes lanes;
    return find(body, &lanes);
}

/* ---- generated text ------------------------------------------------------------------------------------------------- */

static void put_range(dcli_text *out, const struct lanes *l, struct range range)
{
    if (range.first < range.end)
        dcli_rewrite_range(l->body, out, range.first, range.end);
}

static void put_token(dcli_text *out, const struct lanes *l, int t)
{
    dcli_text_put(out, "%.*s", l->tokens->token[t].length, l->tokens->text + l->tokens->token[t].start);
}

/* Emit the arrays of a block. */
static void put_arrays(dcli_text *out, const struct lanes *l)
{
    for (int v = 0; v < l->variables; v++) {
        dcli_text_put(out, "    ");
        put_token(out, l, l->variable[v].type);
        dcli_text_put(out, " dcl_of_");
        put_token(out, l, l->variable[v].name);
        dcli_text_put(out, "[%d] __attribute__((aligned(64)));\n", DCLI_LANES_AT_ONCE);
    }
}

/* Declare the variables, with the values of lane dcl_lane. @param inside  also those that the loop itself declares. */
static void put_loads(dcli_text *out, const struct lanes *l, bool inside)
{
    for (int v = 0; v < l->variables; v++) {
        if (!inside && l->variable[v].inside)
            continue;
        dcli_text_put(out, "    %s", l->variable[v].is_const ? "const " : "");
        put_token(out, l, l->variable[v].type);
        dcli_text_put(out, " ");
        put_token(out, l, l->variable[v].name);
        dcli_text_put(out, " = dcl_of_");
        put_token(out, l, l->variable[v].name);
        dcli_text_put(out, "[dcl_lane];\n");
    }
}

/* Keep the variables in lane dcl_lane. @param from  where the values are: "[LANE]" of the arrays; "": in the variables. */
static void put_stores(dcli_text *out, const struct lanes *l, bool constants, const char *from)
{
    for (int v = 0; v < l->variables; v++) {
        if (l->variable[v].is_const && !constants)
            continue;
        dcli_text_put(out, "    dcl_of_");
        put_token(out, l, l->variable[v].name);
        dcli_text_put(out, from[0] != '\0' ? "[dcl_lane] = dcl_of_" : "[dcl_lane] = ");
        put_token(out, l, l->variable[v].name);
        dcli_text_put(out, "%s;\n", from);
    }
}

static void put_test(dcli_text *out, const struct lanes *l)
{
    dcli_text_put(out, "(");
    put_range(out, l, l->test);
    dcli_text_put(out, ")");
    if (l->leave.first == l->leave.end)
        return;
    dcli_text_put(out, " && !(");
    put_range(out, l, l->leave);
    dcli_text_put(out, ")");
}

/* Open a loop over lanes from 0 on, in which dcl_k is the element's counter. */
static void open_lanes(dcli_nest *nest, const char *end, void (*index)(dcli_nest *))
{
    dcli_text_put(nest->out,
                  "#pragma clang loop vectorize(enable) unroll(disable)\n"
                  "    for (int dcl_lane = 0; dcl_lane < %s; dcl_lane++) {\n"
                  "    const long dcl_k = dcl_block + (dcl_lane < dcl_end ? dcl_lane : dcl_end - 1);\n",
                  end);
    index(nest);
    dcli_text_put(nest->out, "    {\n#line 1 \"lanes\"\n");
}

/* Emit STEPS steps of the loop, for the lanes whose loop has not ended. */
static void put_steps(dcli_text *out, const struct lanes *l)
{
    for (int n = 0; n < STEPS; n++) {
        dcli_text_put(out, "    if (");
        put_test(out, l);
        dcli_text_put(out, ") {\n    { ");
        put_range(out, l, l->statement);
        dcli_text_put(out, " }\n    ");
        put_range(out, l, l->step);
        dcli_text_put(out, ";\n    }\n");
    }
    dcli_text_put(out, "    dcl_more |= 1 && "); /* the test may be a long, or no integer */
    put_test(out, l);
    dcli_text_put(out, ";\n");
}

/* PoCL's fabs() clears the sign in a way that LLVM does not vectorize. */
static const char fabs_begins[] = "#if defined(__has_builtin) && __has_builtin(__builtin_elementwise_abs)\n"
                                  "#pragma push_macro(\"fabs\")\n#undef fabs\n"
                                  "#define fabs(dcl_x) __builtin_elementwise_abs(dcl_x)\n#endif\n";
static const char fabs_ends[] = "#if defined(__has_builtin) && __has_builtin(__builtin_elementwise_abs)\n"
                                "#pragma pop_macro(\"fabs\")\n#endif\n";

void dcli_emit_lanes(dcli_nest *nest, const char *count, void (*index)(dcli_nest *))
{
    dcli_text *out = nest->out;
    struct lanes l;
    char all[16];
    find(nest->body, &l);
    snprintf(all, sizeof all, "%d", DCLI_LANES_AT_ONCE);
    dcli_text_put(out, "%s", fabs_begins);
    dcli_emit_guards(out, nest->body, DCLI_GUARDS_ASKED);
    dcli_emit_inner_bounds(out, nest->body);
    dcli_text_put(out,
                  "    for (long dcl_block = 0; dcl_block < %s; dcl_block += %d) {\n"
                  "    const int dcl_end = (int)(%s - dcl_block < %d ? %s - dcl_block : %d);\n"
                  "    int dcl_more;\n",
                  count, DCLI_LANES_AT_ONCE, count, DCLI_LANES_AT_ONCE, count, DCLI_LANES_AT_ONCE);
    put_arrays(out, &l);
    open_lanes(nest, "dcl_end", index);
    put_range(out, &l, l.before);
    dcli_text_put(out, "\n    ");
    put_range(out, &l, l.init);
    dcli_text_put(out, ";\n");
    put_stores(out, &l, true, "");
    dcli_text_put(out, "    }\n    }\n    for (int dcl_lane = dcl_end; dcl_lane < %d; dcl_lane++) {\n",
                  DCLI_LANES_AT_ONCE);
    put_stores(out, &l, true, "[dcl_end - 1]"); /* lanes without an element repeat the last one */
    dcli_text_put(out, "    }\n    do {\n    dcl_more = 0;\n");
    open_lanes(nest, all, index);
    put_loads(out, &l, true);
    put_steps(out, &l);
    put_stores(out, &l, false, "");
    dcli_text_put(out, "    }\n    }\n    } while (dcl_more);\n");
    open_lanes(nest, "dcl_end", index);
    put_loads(out, &l, false);
    put_range(out, &l, l.after);
    dcli_text_put(out, "\n#line 1 \"generated\"\n    }\n    }\n    }\n");
    dcli_emit_guards_end(out, nest->body);
    dcli_text_put(out, "%s", fabs_ends);
}
