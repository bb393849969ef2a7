/* support/nests.c - random loop nests. */
#include "support/nests.h"

#include <string.h>

const int test_nest_ranks[TEST_NEST_ARRAYS] = {1, 1, 2, 2};
const char *const test_nest_names[TEST_NEST_ARRAYS] = {"a", "b", "C", "D"};

struct maker {
    uint64_t state;
    dcli_text *out;
    int depth, low[4], high[4]; /* of the counters i, j, k, l around: all their values */
    int statements, counters;
    bool has_scalar;
};

static int pick(struct maker *m, int count)
{
    m->state = m->state * 6364136223846793005U + 1442695040888963407U;
    return (int)((m->state >> 33) % (uint64_t)count);
}

/* Put a subscript that stays in 0..8. */
static void put_subscript(struct maker *m)
{
    int c = m->depth > 0 ? pick(m, m->depth) : 0, kind = pick(m, 12);
    if (m->depth == 0 || kind == 0) {
        dcli_text_put(m->out, "[%d]", pick(m, TEST_NEST_EDGE));
    } else if (kind == 1 && m->high[c] - m->low[c] < TEST_NEST_EDGE) {
        dcli_text_put(m->out, "[%d - %c]", m->high[c] + pick(m, TEST_NEST_EDGE - m->high[c] + m->low[c]), "ijkl"[c]);
    } else if (kind == 2 && c > 0 && m->high[0] + m->high[c] - m->low[0] - m->low[c] < TEST_NEST_EDGE) {
        dcli_text_put(m->out, "[i + %c - %d]", "ijkl"[c], m -> low[0] + m -> low[c]);
    } else if (kind == 3 && 2 * (m->high[c] - m->low[c]) < TEST_NEST_EDGE) {
        dcli_text_put(m->out, "[2 * %c - %d]", "ijkl"[c], 2 * m -> low[c]);
    } else {
        int shift = -m->low[c] + pick(m, TEST_NEST_EDGE - m->high[c] + m->low[c]);
        if (pick(m, 3) > 0 && m->low[c] >= 0 && m->high[c] < TEST_NEST_EDGE)
            shift = 0;
        dcli_text_put(m->out, "[%c + %d]", "ijkl"[c], shift);
    }
}

static void put_element(struct maker *m, int array)
{
    dcli_text_put(m->out, "%s", test_nest_names[array]);
    for (int d = 0; d < test_nest_ranks[array]; d++)
        put_subscript(m);
}

static void put_value(struct maker *m)
{
    int terms = 1 + pick(m, 3);
    for (int t = 0; t < terms; t++) {
        dcli_text_put(m->out, "%s", t == 0 ? "" : pick(m, 2) ? " * " : " - ");
        int kind = pick(m, 8);
        if (kind == 0)
            dcli_text_put(m->out, "0.3");
        else if (kind == 1 && m->depth > 0)
            dcli_text_put(m->out, "%c", "ijkl"[pick(m, m->depth)]);
        else if (kind == 2 && m->has_scalar)
            dcli_text_put(m->out, "s");
        else
            put_element(m, pick(m, TEST_NEST_ARRAYS));
    }
}

static void put_statement(struct maker *m)
{
    static const char *const ops[] = {"=", "=", "+=", "-=", "*="};
    m->statements++;
    if (pick(m, 6) == 0 && m->depth > 0)
        dcli_text_put(m->out, "if (%c %s %d) ", "ijkl"[pick(m, m->depth)],
                      pick(m, 2) ? "<" : ">=", pick(m, TEST_NEST_EDGE));
    put_element(m, pick(m, TEST_NEST_ARRAYS));
    dcli_text_put(m->out, " %s ", ops[pick(m, 5)]);
    put_value(m);
    dcli_text_put(m->out, "; ");
}

static void put_loop(struct maker *m)
{
    int d = m->depth, outer = d > 0 && pick(m, 3) == 0 ? pick(m, d) : -1, step = pick(m, 8) == 0 ? 2 : 1;
    char c = "ijkl"[d];
    m->low[d] = pick(m, 3);
    m->high[d] = pick(m, 4) == 0 ? m->low[d] + 2 + pick(m, 2) : TEST_NEST_EDGE - 1 - pick(m, 3); /* some short ones */
    if (outer >= 0 && pick(m, 2) && m->low[outer] >= 0 && m->high[outer] < TEST_NEST_EDGE) {     /* triangles */
        m->low[d] = m->low[outer];
        dcli_text_put(m->out, "for (%c = %c; %c <= %d; %c += %d) { ", c, "ijkl"[outer], c, m -> high[d], c, step);
    } else if (outer >= 0 && m->high[outer] < TEST_NEST_EDGE) {
        m->high[d] = m->high[outer];
        m->low[d] = 0;
        dcli_text_put(m->out, "for (%c = %c; %c >= 0; %c -= %d) { ", c, "ijkl"[outer], c, c, step);
    } else {
        dcli_text_put(m->out, "for (%c = %d; %c <= %d; %c += %d) { ", c, m->low[d], c, m->high[d], c, step);
    }
    m->depth++;
    bool scalar = m->has_scalar;
    if (!scalar && pick(m, 4) == 0) {
        dcli_text_put(m->out, "double s = ");
        put_value(m);
        dcli_text_put(m->out, "; ");
        m->has_scalar = true;
    }
    int parts = 1 + pick(m, 2);
    for (int p = 0; p < parts || m->statements == 0; p++)
        if (m->depth < 4 && pick(m, 2) == 0 && m->statements < 4)
            put_loop(m);
        else
            put_statement(m);
    m->has_scalar = scalar;
    dcli_text_put(m->out, "} ");
    m->depth--;
}

void test_nest_put(dcli_text *out, int64_t number)
{
    struct maker maker = {.state = (uint64_t)number * 0x9E3779B97F4A7C15U, .out = out};
    for (int nests = 1 + pick(&maker, 2); nests > 0; nests--)
        put_loop(&maker);
}

/* ---- recurrences along lines ----------------------------------------------------------------------------------------- */

/* Put an element of C or D in line i, at a place along the line; across: in line i + shift. */
static void put_line_element(struct maker *m, int array, bool along_rows, int shift, const char *place)
{
    if (along_rows)
        dcli_text_put(m->out, "%s[i + %d][%s]", test_nest_names[array], shift, place);
    else
        dcli_text_put(m->out, "%s[%s][i + %d]", test_nest_names[array], place, shift);
}

/* Put a value in line i. @param place  along the line; NULL: outside of the inner loop. @param back  the places before it in the order of
 * the loop. @param input  C or D is not written: other lines of it may be read */
static void put_line_value(struct maker *m, bool along_rows, const char *place, const char *const back[2], int input)
{
    for (int t = 0, terms = 1 + pick(m, 3); t < terms; t++) {
        static const char *const others[] = {"a[i]", "b[i + 1]", "0.7", "i"};
        dcli_text_put(m->out, "%s", t == 0 ? "" : pick(m, 2) ? " * " : " - ");
        int kind = pick(m, 8), array = 2 + pick(m, 2);
        if (kind == 0 && m->has_scalar)
            dcli_text_put(m->out, "s");
        else if (place == NULL || kind == 1)
            dcli_text_put(m->out, "%s", others[pick(m, 4)]);
        else if (kind == 2)
            dcli_text_put(m->out, "b[%s]", place);
        else if (array == input)
            put_line_element(m, array, pick(m, 4) ? along_rows : !along_rows, pick(m, 2), back[pick(m, 2)]);
        else
            put_line_element(m, array, along_rows, 0, kind < 5 ? back[0] : kind < 6 ? back[1] : place);
    }
}

static void put_line_statement(struct maker *m, bool along_rows, const char *place, const char *const back[2],
                               int input)
{
    static const char *const ops[] = {"=", "=", "+=", "-=", "*="};
    int array = input == 2 ? 3 : input == 3 ? 2 : 2 + pick(m, 2);
    if (pick(m, 5) == 0)
        dcli_text_put(m->out, "if (%s %s %d) ", pick(m, 2) ? place : "i", pick(m, 2) ? "<" : ">=", 1 + pick(m, 6));
    if (m->has_scalar && pick(m, 4) == 0)
        dcli_text_put(m->out, "s");
    else
        put_line_element(m, array, along_rows, 0, place);
    dcli_text_put(m->out, " %s ", ops[pick(m, 5)]);
    put_line_value(m, along_rows, place, back, input);
    dcli_text_put(m->out, "; ");
}

void test_nest_lines_put(dcli_text *out, int64_t number, bool along_rows)
{
    static const char *const up[2] = {"j - 1", "j - 2"}, *const down[2] = {"j + 1", "j + 2"};
    struct maker maker = {.state = (uint64_t)number * 0x9E3779B97F4A7C15U, .out = out}, *m = &maker;
    bool upwards = pick(m, 2) != 0, triangle = pick(m, 5) == 0;
    int input = pick(m, 4), array = input == 2 ? 3 : 2;
    dcli_text_put(out, "for (i = 0; i <= 7; i++) { ");
    if (pick(m, 2) == 0) {
        dcli_text_put(out, "double s = ");
        put_line_value(m, along_rows, NULL, up, input);
        dcli_text_put(out, "; ");
        maker.has_scalar = true;
    }
    if (pick(m, 2) == 0) {
        put_line_element(m, array, along_rows, 0, upwards ? "1" : "6");
        dcli_text_put(out, " = 0.5; ");
    }
    if (upwards)
        dcli_text_put(out, "for (j = %s; j <= 8; j++) { ", triangle ? "i + 2" : "2");
    else
        dcli_text_put(out, "for (j = 6; j >= %s; j--) { ", triangle ? "i" : "0");
    for (int statements = 1 + pick(m, 3); statements > 0; statements--)
        put_line_statement(m, along_rows, "j", upwards ? up : down, input);
    put_line_element(m, array, along_rows, 0, "j"); /* one statement at least depends on the step before */
    dcli_text_put(out, " -= 0.3 * ");
    put_line_element(m, array, along_rows, 0, (upwards ? up : down)[0]);
    dcli_text_put(out, "; } ");
    if (pick(m, 3) == 0) {
        put_line_element(m, array, along_rows, 0, upwards ? "0" : "8");
        dcli_text_put(out, " = 1.5; ");
    }
    dcli_text_put(out, "}");
}

void test_nest_flatten(dcli_text *out, const char *text)
{
    for (const char *at = text; *at != '\0';) {
        const char *second = (*at == 'C' || *at == 'D') && at[1] == '[' ? strstr(at, "][") : NULL;
        if (second == NULL) {
            dcli_text_append(out, at++, 1);
            continue;
        }
        const char *end = strchr(second + 2, ']');
        dcli_text_put(out, "%c[(%.*s)*%d + (%.*s)]", *at, (int)(second - at - 2), at + 2, TEST_NEST_EDGE,
                      (int)(end - second - 2), second + 2);
        at = end + 1;
    }
}
