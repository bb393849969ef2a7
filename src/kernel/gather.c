/* kernel/gather.c - pieces of inputs copied, and turned where they are read across, into scratch memory. */
#include "kernel/gather.h"

#include "kernel/block.h"

bool dcli_may_gather(const dcli_body *body, int a)
{
    return !body->access[a].written && body->access[a].reach == DCLI_REACH_AFFINE;
}

bool dcli_gathers(const dcli_body *body)
{
    if (!body->blind || body->tile_kernel || body->space_rank > DCLI_GATHER_AXES)
        return false;
    for (int a = 0; a < body->access_count; a++)
        if (dcli_may_gather(body, a))
            return true;
    return false;
}

enum {
    AHEAD = 8,            /* pieces */
    AHEAD_ELEMENTS = 128, /* of a line */
    LINE_BYTES = 64       /* of a cache line */
};

static dcl_type type_of(const dcli_body *body, int a) { return body->params[body->access[a].param].type; }

/* dcl_line_T: `n` elements, d apart where they go and p where they are. */
static void emit_line(dcli_text *out, const char *name)
{
    dcli_text_put(out,
                  "static void dcl_line_%s(__global %s *dcl_t, const long dcl_d, __global const %s *dcl_s, const long "
                  "dcl_p, const long dcl_n)\n{\n"
                  "    long dcl_k = 0;\n"
                  "    if (dcl_d == 1 && dcl_p == 1)\n"
                  "        for (; dcl_k + 8 <= dcl_n; dcl_k += 8)\n"
                  "            vstore8(vload8(0, dcl_s + dcl_k), 0, dcl_t + dcl_k);\n"
                  "    else if (dcl_d == 1 && dcl_p == 2)\n"
                  "        for (; dcl_k + 8 < dcl_n; dcl_k += 8)\n"
                  "            vstore8(vload16(0, dcl_s + 2 * dcl_k).even, 0, dcl_t + dcl_k);\n"
                  "    for (; dcl_k < dcl_n; dcl_k++)\n"
                  "        dcl_t[dcl_k * dcl_d] = dcl_s[dcl_k * dcl_p];\n}\n",
                  name, name, name);
}

/* Of dcl_gather_T: one square, turned in registers. */
static void emit_square(dcli_text *out, const char *name)
{
    dcli_text_put(out,
                  "    if (dcl_z[1] == %d) {\n"
                  "        dcl_square_%s(dcl_s, dcl_pitch, (%s *)(ulong)dcl_d, dcl_line);\n"
                  "        return;\n    }\n",
                  DCLI_SHAPE_SQUARE, name, name);
}

/* Of dcl_gather_T: what its last two axes run over, turned; first, lines of the next such are asked for. */
static void emit_turned(dcli_text *out, const char *name)
{
    const int count = DCLI_SHAPE_COUNTS, from = DCLI_SHAPE_FROM;
    dcli_text_put(
        out,
        "            for (long dcl_r = 0; dcl_v + 1 < dcl_z[%d] && dcl_r < min(dcl_z[%d], 16L); dcl_r++)\n"
        "                DCL_AHEAD(dcl_o + dcl_z[%d] + dcl_r * dcl_pitch + dcl_z[%d] - 1);\n"
        "            if (dcl_z[1] == %d)\n"
        "                dcl_turn_%s(dcl_o, dcl_pitch, (%s *)(ulong)dcl_t, dcl_line, dcl_z[%d], dcl_z[%d]);\n",
        count + 1, count + 3, from + 1, count + 2, DCLI_SHAPE_TURNED, name, name, count + 2, count + 3);
}

/* Of dcl_gather_T: the same, line by line; lines of the one after next are asked for. */
static void emit_lines(dcli_text *out, const char *name)
{
    const int count = DCLI_SHAPE_COUNTS;
    dcli_text_put(out,
                  "            else\n"
                  "                for (long dcl_w = 0; dcl_w < dcl_z[%d]; dcl_w++) {\n"
                  "                    for (long dcl_r = 0; dcl_r < min(dcl_z[%d] * dcl_pitch, %dL); "
                  "dcl_r += %d / (long)sizeof(%s))\n"
                  "                        DCL_AHEAD(dcl_o + (dcl_w + 2) * dcl_pace + dcl_r);\n"
                  "                    dcl_line_%s(dcl_t + dcl_w * dcl_line, dcl_to, dcl_o + dcl_w * dcl_pace, "
                  "dcl_pitch, dcl_z[%d]);\n"
                  "                }\n",
                  count + 2, count + 3, AHEAD_ELEMENTS, LINE_BYTES, name, name, count + 3);
}

/* dcl_gather_T: one piece, of place q and shape z. */
static void emit_piece(dcli_text *out, const char *name)
{
    const int count = DCLI_SHAPE_COUNTS, to = DCLI_SHAPE_TO, from = DCLI_SHAPE_FROM;
    dcli_text_put(
        out,
        "static void dcl_gather_%s(__global %s *dcl_d, __global const ulong *dcl_from, __global const long "
        "*dcl_q, __global const long *dcl_z)\n{\n"
        "    __global const %s *const dcl_s = (__global const %s *)dcl_from[dcl_q[2]] + dcl_q[1];\n"
        "    const long dcl_to = dcl_z[%d], dcl_line = dcl_z[%d], dcl_pace = dcl_z[%d], dcl_pitch = dcl_z[%d];\n"
        "    dcl_d += dcl_q[0];\n",
        name, name, name, name, to + 3, to + 2, from + 2, from + 3);
    emit_square(out, name);
    dcli_text_put(out,
                  "    for (long dcl_u = 0; dcl_u < dcl_z[%d]; dcl_u++)\n"
                  "        for (long dcl_v = 0; dcl_v < dcl_z[%d]; dcl_v++) {\n"
                  "            __global %s *const dcl_t = dcl_d + dcl_u * dcl_z[%d] + dcl_v * dcl_z[%d];\n"
                  "            __global const %s *const dcl_o = dcl_s + dcl_u * dcl_z[%d] + dcl_v * dcl_z[%d];\n",
                  count, count + 1, name, to, to + 1, name, from, from + 1);
    emit_turned(out, name);
    emit_lines(out, name);
    dcli_text_put(out, "        }\n}\n");
}

/* dcl_ahead_T: ask for the first lines of a piece that is gathered soon. Its place is not what hardware foresees. */
static void emit_ahead(dcli_text *out, const char *name)
{
    dcli_text_put(
        out,
        "static void dcl_ahead_%s(__global const ulong *dcl_from, __global const long *dcl_q, __global const long "
        "*dcl_z)\n{\n"
        "    __global const %s *const dcl_s = (__global const %s *)dcl_from[dcl_q[2]] + dcl_q[1];\n"
        "    const long dcl_n = min(dcl_z[%d], 8L), dcl_pitch = dcl_z[%d];\n"
        "    for (long dcl_k = 0; dcl_k < dcl_n; dcl_k++)\n"
        "        DCL_AHEAD(dcl_s + dcl_k * dcl_pitch);\n}\n",
        name, name, name, DCLI_SHAPE_COUNTS + 3, DCLI_SHAPE_FROM + 3);
}

/* Whether some input of a type may be gathered. */
static bool gathers_type(const dcli_body *body, dcl_type type)
{
    for (int a = 0; a < body->access_count; a++)
        if (type_of(body, a) == type && dcli_may_gather(body, a))
            return true;
    return false;
}

void dcli_emit_gather_functions(dcli_text *out, const dcli_body *body)
{
    for (dcl_type type = DCL_INT8; type <= DCL_DOUBLE; type++)
        if (gathers_type(body, type)) {
            emit_line(out, dcli_kernel_type(type));
            emit_piece(out, dcli_kernel_type(type));
            emit_ahead(out, dcli_kernel_type(type));
        }
}

void dcli_emit_places(dcli_text *out, const dcli_body *body)
{
    dcli_text_put(out, "    const long dcl_scratch = dcl_table[%d] + dcl_item * dcl_table[%d];\n", DCLI_GATHER_SCRATCH,
                  DCLI_GATHER_BYTES);
    for (int a = 0; a < body->access_count; a++)
        if (dcli_may_gather(body, a))
            dcli_text_put(out, "    const long dcl_h%d = (dcl_table[%d] >> %d & 1) * dcl_scratch / (long)sizeof(%s);\n",
                          a, DCLI_GATHER_MASK, a, dcli_kernel_type(type_of(body, a)));
}

/* The arena as the argument of the piece's access, which alone may be read there; the piece, if that is of a type: once for each
 * type, not for each access, as compilers put the functions in place. */
static void emit_type(dcli_text *out, const dcli_body *body, dcl_type type)
{
    const char *name = dcli_kernel_type(type);
    dcli_text_put(out, "    {\n    __global uchar *dcl_b = 0;\n");
    for (int a = 0; a < body->access_count; a++)
        if (type_of(body, a) == type && dcli_may_gather(body, a))
            dcli_text_put(out, "    dcl_b = dcl_z[0] == %d ? (__global uchar *)dcl_p%d : dcl_b;\n", a, a);
    dcli_text_put(out,
                  "    if (dcl_b != 0) {\n"
                  "        dcl_ahead_%s((__global const ulong *)dcl_b, dcl_y, dcl_table + dcl_y[3]);\n"
                  "        dcl_gather_%s((__global %s *)(dcl_b + dcl_scratch), (__global const ulong *)dcl_b, "
                  "dcl_q, dcl_z);\n"
                  "    }\n    }\n",
                  name, name, name);
}

void dcli_emit_gathering(dcli_text *out, const dcli_body *body)
{
    dcli_text_put(out,
                  "    for (long dcl_c = 0; dcl_c < dcl_g[3]; dcl_c++) {\n"
                  "    __global const long *const dcl_q = dcl_table + dcl_g[2] + dcl_c * %d;\n"
                  "    __global const long *const dcl_z = dcl_table + dcl_q[3];\n"
                  "    __global const long *const dcl_y = dcl_c + %d < dcl_g[3] ? dcl_q + %d : dcl_q;\n",
                  DCLI_PLACE_LONGS, AHEAD, AHEAD * DCLI_PLACE_LONGS);
    for (dcl_type type = DCL_INT8; type <= DCL_DOUBLE; type++)
        if (gathers_type(body, type))
            emit_type(out, body, type);
    dcli_text_put(out, "    }\n");
}
