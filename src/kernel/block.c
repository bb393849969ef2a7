/* kernel/block.c - inputs turned block by block, outputs stored past the cache.
 *
 * A transposed input is read a cache line at a time and turned in registers: 8 vectors of 8 elements in 3 rounds of
 * interleaving (row r with row r + 4), each of which moves one bit of the row number into the column number. Source:
 * J. O. Eklundh, A Fast Computer Method for Matrix Transposing, IEEE Trans. Computers C-21 (1972). Squares of 16 are no
 * faster (float, AVX-512) and take three times as long to compile.
 *
 * An ordinary store of a line that is not in the cache reads it first. Non-temporal stores of whole lines do not, which
 * saves a third of the traffic of C = A + B; the loop vectorizer does not make them, so lines are gathered in a small
 * buffer and stored from there. */
#include "kernel/block.h"

#include "base/check.h"
#include "kernel/gather.h"
#include "kernel/inside.h"

enum { LINE_BYTES = 64, BLOCK_ROW_BYTES = 1024, WIDEST = 256, LEAST_HEIGHT = 16 };

static int bytes_of(dcl_type type)
{
    static const int bytes[] = {1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 4, 8};
    return bytes[type];
}

static dcl_type type_of(const dcli_body *body, int a) { return body->params[body->access[a].param].type; }

int dcli_block_height(const dcli_body *body)
{
    int height = LEAST_HEIGHT;
    for (int a = 0; a < body->access_count; a++)
        if (dcli_is_transposed(body, a) && LINE_BYTES / bytes_of(type_of(body, a)) > height)
            height = LINE_BYTES / bytes_of(type_of(body, a));
    return height;
}

int dcli_block_width(const dcli_body *body)
{
    int width = WIDEST;
    for (int a = 0; a < body->access_count; a++)
        if (dcli_is_transposed(body, a) && BLOCK_ROW_BYTES / bytes_of(type_of(body, a)) < width)
            width = BLOCK_ROW_BYTES / bytes_of(type_of(body, a));
    return width;
}

bool dcli_is_streamed(const dcli_body *body, int a)
{
    const dcli_body_access *access = &body->access[a];
    return access->written && !access->read && !access->conditional && access->unit_axis == body->space_rank - 1;
}

int dcli_first_streamed(const dcli_body *body)
{
    for (int a = 0; a < body->access_count; a++)
        if (dcli_is_streamed(body, a))
            return a;
    return -1;
}

static void emit_square(dcli_text *out, dcl_type type)
{
    const char *name = dcli_kernel_type(type);
    int rounds = 0;
    dcli_text_put(out,
                  "static void dcl_square_%s(__global const %s *dcl_s, const long dcl_pitch, %s *dcl_d, "
                  "const long dcl_line)\n{\n",
                  name, name, name);
    for (int r = 0; r < DCLI_LANES; r++)
        dcli_text_put(out, "    const %s8 dcl_0_%d = vload8(0, dcl_s + %d * dcl_pitch);\n", name, r, r);
    for (int step = 1; step < DCLI_LANES; step *= 2, rounds++)
        for (int row = 0; row < DCLI_LANES; row++) {
            const char *half = row % 2 == 0 ? "lo" : "hi";
            dcli_text_put(out, "    %s8 dcl_%d_%d;\n", name, rounds + 1, row);
            dcli_text_put(out, "    dcl_%d_%d.even = dcl_%d_%d.%s; dcl_%d_%d.odd = dcl_%d_%d.%s;\n", rounds + 1, row,
                          rounds, row / 2, half, rounds + 1, row, rounds, row / 2 + DCLI_LANES / 2, half);
        }
    for (int r = 0; r < DCLI_LANES; r++)
        dcli_text_put(out, "    vstore8(dcl_%d_%d, 0, dcl_d + %d * dcl_line);\n", rounds, r, r);
    dcli_text_put(out, "}\n");
}

static void emit_turn(dcli_text *out, dcl_type type)
{
    const char *name = dcli_kernel_type(type);
    emit_square(out, type);
    dcli_text_put(out,
                  "static void dcl_turn_%s(__global const %s *dcl_s, const long dcl_pitch, %s *dcl_d, "
                  "const long dcl_line, const long dcl_height, const long dcl_width)\n{\n",
                  name, name, name);
    dcli_text_put(out,
                  "    const long dcl_h = dcl_height / 8 * 8, dcl_w = dcl_width / 8 * 8;\n"
                  "    for (long dcl_v = 0; dcl_v < dcl_w; dcl_v += 8) {\n"
                  "        for (long dcl_r = 16; dcl_v + dcl_r < min(dcl_w, dcl_v + 24); dcl_r++)\n"
                  "            DCL_AHEAD(dcl_s + (dcl_v + dcl_r) * dcl_pitch + dcl_height - 1);\n"
                  "        for (long dcl_u = 0; dcl_u < dcl_h; dcl_u += 8)\n"
                  "            dcl_square_%s(dcl_s + dcl_v * dcl_pitch + dcl_u, dcl_pitch, dcl_d + dcl_u * "
                  "dcl_line + dcl_v, dcl_line);\n    }\n",
                  name);
    dcli_text_put(out, "    for (long dcl_v = 0; dcl_v < dcl_width; dcl_v++)\n"
                       "        for (long dcl_u = dcl_v < dcl_w ? dcl_h : 0; dcl_u < dcl_height; dcl_u++)\n"
                       "            dcl_d[dcl_u * dcl_line + dcl_v] = dcl_s[dcl_v * dcl_pitch + dcl_u];\n}\n");
}

static void emit_store(dcli_text *out, dcl_type type)
{
    const char *name = dcli_kernel_type(type);
    int lanes = dcli_min(LINE_BYTES / bytes_of(type), 16);
    dcli_text_put(out,
                  "static void dcl_store_%s(__global %s *dcl_d, const %s *dcl_s, const long dcl_n)\n{\n"
                  "    long dcl_t = 0;\n",
                  name, name, name);
    dcli_text_put(out,
                  "    for (; dcl_t < dcl_n && ((ulong)(dcl_d + dcl_t) & %d) != 0; dcl_t++)\n"
                  "        dcl_d[dcl_t] = dcl_s[dcl_t];\n",
                  lanes * bytes_of(type) - 1);
    dcli_text_put(out,
                  "    for (; dcl_t + %d <= dcl_n; dcl_t += %d)\n"
                  "        DCL_STORE(vload%d(0, dcl_s + dcl_t), (__global %s%d *)(dcl_d + dcl_t));\n",
                  lanes, lanes, lanes, name, lanes);
    dcli_text_put(out, "    for (; dcl_t < dcl_n; dcl_t++)\n        dcl_d[dcl_t] = dcl_s[dcl_t];\n}\n");
}

void dcli_emit_block_functions(dcli_text *out, const dcli_body *body)
{
    bool turned[DCL_DOUBLE + 1] = {false}, stored[DCL_DOUBLE + 1] = {false};
    dcli_text_put(out, "#ifdef __clang__\n#define DCL_AHEAD(place) __builtin_prefetch((const void *)(ulong)(place))\n"
                       "#else\n#define DCL_AHEAD(place)\n#endif\n");
    for (int a = 0; a < body->access_count; a++) {
        turned[type_of(body, a)] |= dcli_is_transposed(body, a) || (dcli_gathers(body) && dcli_may_gather(body, a));
        stored[type_of(body, a)] |= dcli_is_streamed(body, a);
    }
    if (dcli_first_streamed(body) >= 0)
        dcli_text_put(out,
                      "#ifdef __clang__\n#define DCL_STORE(value, place) __builtin_nontemporal_store(value, place)\n"
                      "#else\n#define DCL_STORE(value, place) (*(place) = (value))\n#endif\n");
    for (dcl_type type = DCL_INT8; type <= DCL_DOUBLE; type++) {
        if (turned[type])
            emit_turn(out, type);
        if (stored[type])
            emit_store(out, type);
    }
}
