/* kernel/block.c - generates the helper functions of CPU kernels that transpose blocks of inputs (turn.cl) and store
 * outputs without caching them (store.cl).
 *
 * To transpose an input, a kernel reads whole cache lines and transposes squares of 8 x 8 elements in vector registers:
 * in 3 rounds of interleaving (row r with row r + 4) each round exchanges one bit of the row number with one bit of the
 * column number. Source:
 * J. O. Eklundh, A Fast Computer Method for Matrix Transposing, IEEE Trans. Computers C-21 (1972). Squares of 16 are no
 * faster (float, AVX-512) and take three times as long to compile.
 *
 * If the distance of rows is a multiple of 4096 bytes, the lines of one block that begin at the same offset in each row compete for
 * one set of the cache, of some 8 lines: a block of many rows evicts its own lines before they are used. Then blocks are tall: few rows, and
 * 2 KB of each in turn.
 *
 * An ordinary store to a line that is not in the cache reads the line first. A non-temporal store of a whole line does
 * not, which saves a third of the traffic of C = A + B. The compiler's loop vectorizer does not generate such stores;
 * therefore kernels collect a line in a small buffer and store it from there. */
#include "kernel/block.h"

#include "base/check.h"
#include "kernel/cl.h"
#include "kernel/gather.h"
#include "kernel/inside.h"
#include "kernel/source_bundle.h"
#include "kernel/source_chain.h"
#include "kernel/sweep.h"

enum {
    LINE_BYTES = 64,
    BLOCK_ROW_BYTES = 1024,
    WIDEST = 256,
    LEAST_HEIGHT = 16,
    ALONG_TIMES =
        16 /* how many times as high blocks of reductions along axes are: each of their lines is on its own page */
};

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
    return body->along ? ALONG_TIMES * height : height;
}

int dcli_block_width(const dcli_body *body)
{
    int width = WIDEST;
    for (int a = 0; a < body->access_count; a++)
        if (dcli_is_transposed(body, a) && BLOCK_ROW_BYTES / bytes_of(type_of(body, a)) < width)
            width = BLOCK_ROW_BYTES / bytes_of(type_of(body, a));
    return width;
}

int dcli_tall_access(const dcli_body *body)
{
    int found = -1;
    for (int a = 0; a < body->access_count; a++)
        if (dcli_is_transposed(body, a)) {
            if (found >= 0 || body->along)
                return -1;
            found = a;
        }
    return found;
}

bool dcli_is_streamed(const dcli_body *body, int a)
{
    const dcli_body_access *access = &body->access[a];
    return body->result_count == 0 && access->written && !access->read && !access->conditional &&
           access->unit_axis == body->space_rank - 1;
}

int dcli_first_streamed(const dcli_body *body)
{
    for (int a = 0; a < body->access_count; a++)
        if (dcli_is_streamed(body, a))
            return a;
    return -1;
}

bool dcli_body_streams(const dcli_body *body)
{
    return !body->tile_kernel && dcli_first_streamed(body) >= 0 && !dcli_is_bundled(body) &&
           !dcli_chain_is_blocked(body) && !dcli_sweeps(body) && !body->inside->scattered;
}

bool dcli_rows_stream(const dcli_body *body, const int64_t rows[], int64_t count)
{
    if (!dcli_body_streams(body) || count == 0)
        return false;
    int a = dcli_first_streamed(body), length = dcli_row_length(body);
    double bytes = (double)bytes_of(type_of(body, a)), array = bytes, written = 0;
    const int64_t *low = rows + dcli_row_at(body, DCLI_ROW_GRID_LOW, a),
                  *end = rows + dcli_row_at(body, DCLI_ROW_GRID_END, a);
    for (int d = 0; d < dcli_row_field_length(body, DCLI_ROW_GRID_END, a); d++)
        array *= (double)end[d] - (double)low[d];
    for (int64_t r = 0; r < count && array >= DCLI_STREAM_ARRAY_BYTES && written < DCLI_STREAM_LAUNCH_BYTES; r++) {
        const int64_t *counts = rows + r * length + dcli_row_at(body, DCLI_ROW_COUNT, 0);
        double elements = 1;
        for (int m = 0; m < body->space_rank; m++)
            elements *= (double)counts[m];
        written += elements * bytes;
    }
    return array >= DCLI_STREAM_ARRAY_BYTES && written >= DCLI_STREAM_LAUNCH_BYTES;
}

void dcli_emit_of_type(dcli_text *out, const char *text, dcl_type type)
{
    dcli_text_put(out, "#define dcl_T %s\n%s#undef dcl_T\n", dcli_kernel_type(type), text);
}

static void emit_store(dcli_text *out, dcl_type type)
{
    dcli_text_put(out, "#define dcl_lanes %d\n", (int)dcli_min(LINE_BYTES / bytes_of(type), 16));
    dcli_emit_of_type(out, dcli_cl_store, type);
    dcli_text_put(out, "#undef dcl_lanes\n");
}

void dcli_emit_block_functions(dcli_text *out, const dcli_body *body, const char *const names[DCLI_VARIANT_MOST])
{
    bool turned[DCL_DOUBLE + 1] = {false}, stored[DCL_DOUBLE + 1] = {false};
    bool gathers = names[DCLI_VARIANT_GATHERED] != NULL;
    for (int a = 0; a < body->access_count; a++) {
        turned[type_of(body, a)] |= dcli_is_transposed(body, a) || (gathers && dcli_may_gather(body, a));
        stored[type_of(body, a)] |= dcli_is_streamed(body, a) && (gathers || names[DCLI_VARIANT_STREAMED] != NULL);
    }
    for (dcl_type type = DCL_INT8; type <= DCL_DOUBLE; type++) {
        if (turned[type])
            dcli_emit_of_type(out, dcli_cl_turn, type);
        if (stored[type])
            emit_store(out, type);
    }
}
