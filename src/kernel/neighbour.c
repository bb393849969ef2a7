/* kernel/neighbour.c - compares the subscripts of accesses; generates prefetches. */
#include "kernel/neighbour.h"

#include <string.h>

#include "kernel/inside.h"

enum {
    CACHE_LINE_BYTES = 64,
    LEAST_BYTES = 4 /* of an element: lines of narrower ones last longer than their memory takes */
};

static bool is_input(const dcli_body *body, int a)
{
    return body->access[a].reach == DCLI_REACH_AFFINE && !body->access[a].written && !body->access[a].conditional &&
           body->inside->access_inner_count[a] == 0;
}

/* Find by how many indices of a loop axis two subscripts differ. @return false: by something else. */
static bool compare(const dcli_body *body, const dcli_affine *a, const dcli_affine *b, int64_t apart[])
{
    dcli_affine difference = *b;
    if (!dcli_affine_add(&difference, a, -1))
        return false;
    if (difference.count == 0)
        return true;
    if (difference.count > 1 || difference.term[0].index >= 0 || difference.term[0].scalars > 0)
        return false;
    for (int m = 0; m < body->space_rank; m++) {
        int unit = dcli_affine_unit(a, body->index_of_axis[m]);
        if (unit != 0) {
            apart[m] += unit * difference.term[0].factor;
            return true;
        }
    }
    return false;
}

bool dcli_neighbours(const dcli_body *body, int a, int b, int64_t apart_out[])
{
    if (body->access[a].param != body->access[b].param || !is_input(body, a) || !is_input(body, b))
        return false;
    memset(apart_out, 0, (size_t)body->space_rank * sizeof apart_out[0]);
    for (int d = 0; d < body->params[body->access[a].param].rank; d++)
        if (!compare(body, dcli_inside_subscript(body, a, d), dcli_inside_subscript(body, b, d), apart_out))
            return false;
    return true;
}

/* Whether the body has accesses of the same array that read other lines than access a, and all of them read their lines after a has. Of
 * several accesses of one line, this is true of the first one only. */
static bool leads(const dcli_body *body, int a)
{
    bool others = false;
    for (int b = 0; b < body->access_count; b++) {
        int64_t apart[DCL_MAX_RANK];
        if (b == a || body->access[b].param != body->access[a].param)
            continue;
        if (!dcli_neighbours(body, a, b, apart))
            return false;
        int m = 0;
        while (m < body->space_rank - 1 && apart[m] == 0)
            m++;
        bool same_line = m == body->space_rank - 1;
        if (same_line ? b < a : apart[m] > 0)
            return false;
        others |= !same_line;
    }
    return others;
}

void dcli_emit_leading_lines(const dcli_nest *nest, int lines)
{
    const dcli_body *body = nest->body;
    int v = nest->innermost;
    for (int a = 0; a < body->access_count; a++) {
        if (v == 0 || body->access[a].unit_axis != v || !dcli_inside_depends(body, a, v - 1) || !leads(body, a))
            continue;
        int bytes = (int)dcl_type_bytes(body->params[body->access[a].param].type), ahead = DCLI_AHEAD_BYTES / bytes;
        if (bytes < LEAST_BYTES)
            continue;
        dcli_text_put(
            nest->out,
            "    if (dcl_n%d >= %d) {\n    const bool dcl_turns = dcl_v + %d >= dcl_n%d;\n"
            "    const long dcl_f = dcl_v + %d - (dcl_turns ? dcl_n%d : 0);\n"
            "#pragma clang loop unroll(disable)\n"
            "    for (long dcl_line = 0; dcl_line < %d; dcl_line++)\n"
            "#pragma clang loop unroll(disable)\n"
            "        for (long dcl_e = 0; dcl_e < dcl_m; dcl_e += %d)\n"
            "            DCL_FAR_AHEAD(dcl_p%d + dcl_x%d_%d + (dcl_line + (dcl_turns ? %d : 0)) * dcl_s%d_%d + "
            "dcl_f + dcl_e);\n    }\n",
            v, ahead / 2 * 3, ahead, v, ahead, v, lines, CACHE_LINE_BYTES / bytes, a, a, nest->level[a], lines, a,
            v - 1);
    }
}
