/* kernel/gather.c - generates the code that copies pieces of inputs into scratch memory, transposed if necessary
 * (gather.cl). */
#include "kernel/gather.h"

#include "kernel/block.h"
#include "kernel/cl.h"

bool dcli_may_gather(const dcli_body *body, int a)
{
    return !body->access[a].written && body->access[a].reach == DCLI_REACH_AFFINE;
}

bool dcli_gathers(const dcli_body *body)
{
    if (!body->blind || body->tile_kernel || body->result_count > 0 || body->space_rank > DCLI_GATHER_AXES)
        return false;
    for (int a = 0; a < body->access_count; a++)
        if (dcli_may_gather(body, a))
            return true;
    return false;
}

bool dcli_gathers_straight(const dcli_body *body) { return dcli_gathers(body) && dcli_transposed_axis(body) >= 0; }

enum { AHEAD = 8 }; /* how many pieces ahead of the current one are prefetched */

static dcl_type type_of(const dcli_body *body, int a) { return body->params[body->access[a].param].type; }

/* Whether some input of this type may be gathered. */
static bool gathers_type(const dcli_body *body, dcl_type type)
{
    for (int a = 0; a < body->access_count; a++)
        if (type_of(body, a) == type && dcli_may_gather(body, a))
            return true;
    return false;
}

void dcli_emit_gather_functions(dcli_text *out, const dcli_body *body)
{
    dcli_text_put(out,
                  "#define DCL_PIECE_COUNTS %d\n#define DCL_PIECE_TO %d\n#define DCL_PIECE_FROM %d\n"
                  "#define DCL_PIECE_TURNED %d\n#define DCL_PIECE_SQUARE %d\n",
                  DCLI_SHAPE_COUNTS, DCLI_SHAPE_TO, DCLI_SHAPE_FROM, DCLI_SHAPE_TURNED, DCLI_SHAPE_SQUARE);
    for (dcl_type type = DCL_INT8; type <= DCL_DOUBLE; type++)
        if (gathers_type(body, type))
            dcli_emit_of_type(out, dcli_cl_gather, type);
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

/* Emit the code that gathers the pieces of inputs of one type. The arena is the argument of the piece's access;
 * arguments of accesses that are not gathered are other memory. There is one call per type, not per access, because
 * compilers inline the functions. */
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
