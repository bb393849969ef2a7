/* kernel/source_gpu_along.c - generates the kernels that reduce along axes on a GPU.
 *
 * If an input is contiguous along the last inner axis, a work-group computes four elements of each output, with 16
 * neighbouring work-items for each. Otherwise it computes 32 neighbouring elements, with eight work-items for each.
 * Work-items of one element take turns at the summands, so that neighbouring work-items read neighbouring elements of the
 * inputs. At the end they merge their values in local memory (group.cl).
 *
 * The summands of contractions are added in order, so a work-item computes an element, where source_chain_gpu.c does not compute
 * tiles.
 *
 * On an H200, of the rate of a copy: sums of the columns of 16384 x 16384 floats read at 0.88, y = A x at 0.85 (of 40960 x 40960 floats 0.91
 * and 0.94). With 32 work-items for each of two elements y = A x takes 4 % more time (1 % of 40960 x 40960 floats), with 64 work-items 10 %,
 * with a group of 128 for an element a third. With 32 summands per turn of a work-item (DCL_EACH), y = A x
 * takes 2 to 6 % less time than with 16, sums of columns 5 to 20 %. Of 8192 x 8192 floats, y = A x takes 84 us, a kernel that does no
 * more than read them by rows 71; eight work-items for each of eight elements take 2 % less there, but 2 % more of 16384 x 16384. */
#include <stdio.h>

#include "base/check.h"
#include "kernel/cl.h"
#include "kernel/fold.h"
#include "kernel/gpu_reduce.h"
#include "kernel/inside.h"
#include "kernel/nest.h"

enum {
    CHAIN = 128,           /* work-items of a group of contractions */
    LINES = 4,             /* elements that a group computes whose inputs are contiguous along the last inner axis */
    LINE = 16,             /* work-items for each of them: a power of two, as group.cl requires */
    COLUMNS = 32,          /* elements that a group computes otherwise */
    LANES = 8,             /* work-items for each of them: a power of two */
    MOST_GROUPS = 1 << 20, /* groups take turns if there are more elements */
};

/* Whether a work-item computes an element. */
static bool is_in_order(const dcli_body *body) { return dcli_inside_is_chain(body) || dcli_body_is_ordered(body); }

/* Whether an input is contiguous along the last inner axis. */
static bool has_lines(const dcli_body *body)
{
    for (int a = 0; a < body->access_count && !is_in_order(body); a++)
        if (!body->access[a].written && body->access[a].reach == DCLI_REACH_AFFINE &&
            body->access[a].unit_axis == body->space_rank + body->inner_rank - 1)
            return true;
    return false;
}

/* How many elements a group computes at a time. */
static int columns_of(const dcli_body *body) { return is_in_order(body) ? CHAIN : has_lines(body) ? LINES : COLUMNS; }

/* The size of a group. */
static int size_of(const dcli_body *body)
{
    return is_in_order(body) ? CHAIN : has_lines(body) ? LINES * LINE : COLUMNS * LANES;
}

/* Emit the number of elements of a row, dcl_row_tiles, and of all rows, dcl_tiles, for dcli_emit_reducing_row(); and of the work-items
 * of an element, dcl_wide, with the work-item's own number among them, dcl_me. */
static void count_elements(dcli_nest *nest)
{
    dcli_text_put(nest->out, "    const long dcl_row_tiles = 1");
    for (int m = 0; m < nest->body->space_rank; m++) {
        dcli_text_put(nest->out, " * ");
        dcli_emit_number(nest->out, nest->body, DCLI_FORM_GPU, DCLI_ROW_COUNT, 0, m);
    }
    int columns = columns_of(nest->body);
    dcli_text_put(nest->out,
                  ";\n    const long dcl_tiles = dcl_each > 0 ? dcl_row_tiles * dcl_rows : dcl_row_tiles;\n"
                  "    const long dcl_wide = get_local_size(0) / %d, dcl_me = get_local_id(0) %c %d;\n",
                  columns, has_lines(nest->body) ? '%' : '/', has_lines(nest->body) ? LINE : columns);
}

/* Emit the loop over a group's elements. Work-items beyond the last one reduce that, too, because all have to reach the barriers. */
static void open_elements(dcli_nest *nest)
{
    int columns = columns_of(nest->body);
    dcli_text_put(
        nest->out,
        "    for (long dcl_base = get_group_id(0) * %d; dcl_base < dcl_tiles; dcl_base += get_num_groups(0) * %d) {\n"
        "    const long dcl_here = dcl_base + get_local_id(0) %c %d, dcl_tile = dcl_min(dcl_here, dcl_tiles - 1);\n",
        columns, columns, has_lines(nest->body) ? '/' : '%', has_lines(nest->body) ? LINE : columns);
}

/* Emit the indices of the loop axes. */
static void open_element(dcli_nest *nest)
{
    dcli_text_put(nest->out, "    long dcl_line = dcl_tile - dcl_number * dcl_row_tiles;\n");
    dcli_emit_line_indices(nest, nest->body->space_rank);
}

/* Emit the loop over the summands along the last inner axis. */
static void emit_line(dcli_nest *nest)
{
    int v = nest->innermost;
    if (!dcli_inside_is_chain(nest->body)) {
        dcli_text_put(nest->out,
                      "    for (long dcl_begin = dcl_me; dcl_begin < dcl_n%d; dcl_begin += dcl_wide * DCL_EACH) {\n",
                      v);
        dcli_emit_reducing_tile(nest, has_lines(nest->body) ? LINE : LANES);
        dcli_text_put(nest->out, "    }\n");
        return;
    }
    dcli_emit_nest_elements(nest);
    dcli_text_put(nest->out, "#pragma unroll 8\n    for (long dcl_t%d = 0; dcl_t%d < dcl_n%d; dcl_t%d++) {\n", v, v, v,
                  v);
    dcli_nest_index(nest, v);
    dcli_emit_chain(nest->out, nest->body);
    dcli_text_put(nest->out, "    }\n");
    dcli_emit_elements_end(nest->out, nest->body);
}

static void define_outputs(const dcli_nest *nest, const int level[])
{
    const dcli_body *body = nest->body;
    for (int r = 0; r < body->result_count; r++) {
        int a = body->result[r].access;
        char offset[32];
        snprintf(offset, sizeof offset, "dcl_x%d_%d", a, level[a]);
        dcli_emit_element(nest->out, body, nest->form, nest->variant, a, offset);
    }
}

static void undefine_outputs(const dcli_nest *nest)
{
    for (int r = 0; r < nest->body->result_count; r++)
        dcli_text_put(nest->out, "#undef dcl_a%d\n", nest->body->result[r].access);
}

/* Whether work-items merge a result. */
static bool merges(const dcli_body *body)
{
    for (int r = 0; r < body->result_count && !dcli_inside_is_chain(body); r++)
        if (!dcli_fold_is_ordered(body->result[r].fold, body->params[body->result[r].param].type))
            return true;
    return false;
}

/* Emit the end of an element: work-items of a group merge, and one of them stores. */
static void close_element(dcli_nest *nest)
{
    const dcli_body *body = nest->body;
    for (int r = 0; r < body->result_count; r++) {
        dcl_type type = body->params[body->result[r].param].type;
        const char *name = dcli_kernel_type(type);
        bool summed = dcli_fold_is_summed(body, r);
        if (dcli_fold_is_ordered(body->result[r].fold, type)) {
            dcli_text_put(nest->out, "    if (dcl_here == dcl_tile");
            dcli_emit_over_test(nest->out, body, body->space_rank - 1);
            dcli_text_put(nest->out, ")\n        dcl_a%d = dcl_f%d;\n", body->result[r].access, r);
            continue;
        }
        if (summed && dcli_fold_is_added_to(body, r))
            dcli_text_put(nest->out,
                          "    if (dcl_me == 0) {\n    %s dcl_y%d[DCL_EACH] = {dcl_a%d};\n"
                          "    dcl_lane_add_%s(&dcl_f%d, &dcl_h%d, dcl_y%d);\n    }\n",
                          name, r, body->result[r].access, name, r, r, r);
        dcli_emit_own_partial(nest->out, body, r);
        dcli_text_put(nest->out,
                      "    dcl_group_%d(dcl_own%d, dcl_room, %d, %d);\n    if (dcl_me == 0 && dcl_here == dcl_tile", r,
                      r, has_lines(body) ? LINE : size_of(body), has_lines(body) ? 1 : columns_of(body));
        dcli_emit_over_test(nest->out, body, body->space_rank - 1);
        dcli_text_put(nest->out, ") {\n");
        if (summed)
            dcli_text_put(nest->out, "    const %s dcl_all = dcl_sum_round_%s((struct dcl_sum *)dcl_own%d);\n", name,
                          name, r);
        else if (type >= DCL_HALF)
            dcli_text_put(nest->out,
                          "    const %s dcl_all = dcl_own%d[2] != 0 ? NAN : (%s)as_double(dcl_own%d[1] ^ "
                          "(dcl_own%d[1] >> 63 & LONG_MAX));\n",
                          name, r, name, r, r);
        else
            dcli_text_put(nest->out, "    const %s dcl_all = (%s)dcl_own%d[1];\n", name, name, r);
        dcli_emit_along_store(nest->out, body, r, "dcl_all");
        dcli_text_put(nest->out, "    }\n");
    }
}

void dcli_emit_along_kernel(dcli_text *out, const dcli_body *body, dcli_variant variant)
{
    dcli_nest nest = dcli_nest_start(out, body, DCLI_FORM_GPU, variant);
    bool chain = dcli_inside_is_chain(body);
    dcli_emit_reducing_signature(out, body, variant);
    if (merges(body))
        dcli_text_put(out, "    __local long dcl_room[%d * DCL_LONGS];\n", size_of(body));
    count_elements(&nest);
    open_elements(&nest);
    dcli_emit_reducing_row(&nest);
    open_element(&nest);
    int level[DCLI_MAX_ACCESSES];
    for (int a = 0; a < body->access_count; a++)
        level[a] = nest.level[a];
    if (chain) {
        define_outputs(&nest, level);
        dcli_emit_along_begin(out, body);
        undefine_outputs(&nest);
    } else {
        dcli_emit_reducing_variables(out, body);
        define_outputs(&nest, level);
        for (int r = 0; r < body->result_count; r++)
            dcli_emit_ordered_begin(out, body, r);
        undefine_outputs(&nest);
    }
    for (int m = body->space_rank; m < nest.innermost; m++) {
        dcli_text_put(out, "    for (long dcl_t%d = 0; dcl_t%d < dcl_n%d; dcl_t%d++) {\n", m, m, m, m);
        dcli_nest_index(&nest, m);
        dcli_nest_advance(&nest, m);
    }
    bool narrowed = dcli_nest_narrow(&nest, nest.innermost, body->space_rank, nest.innermost);
    emit_line(&nest);
    dcli_text_put(out, narrowed ? "    }\n" : "");
    for (int m = body->space_rank; m < nest.innermost; m++)
        dcli_text_put(out, "    }\n");
    define_outputs(&nest, level);
    if (chain) {
        dcli_text_put(out, "    if (dcl_here == dcl_tile");
        dcli_emit_over_test(out, body, body->space_rank - 1);
        dcli_text_put(out, ") {\n");
        dcli_emit_along_end(out, body);
        dcli_text_put(out, "    }\n");
    } else {
        close_element(&nest);
    }
    undefine_outputs(&nest);
    dcli_text_put(out, "    }\n}\n");
}

dcli_launch_size dcli_along_launch_size(const dcli_body *body, const int64_t count[], int64_t rows, bool in_table)
{
    int64_t columns = columns_of(body), most = MOST_GROUPS * columns, elements = dcli_min(rows, most);
    for (int m = 0; m < body->space_rank; m++)
        elements = dcli_min(elements * dcli_min(dcli_max(count[m], 1), most), most);
    int64_t size = size_of(body);
    return (dcli_launch_size){.dimensions = 1,
                              .global = {(size_t)((elements + columns - 1) / columns * size), 1, 1},
                              .local = {(size_t)size, 1, 1},
                              .rows = in_table ? rows : 1,
                              .each = in_table};
}
