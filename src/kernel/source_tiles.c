/* kernel/source_tiles.c - generate the program of a tile kernel: the user's text inside a kernel, after macros for the
 * elements and numbers of each array. The same for all kinds of devices; one launch per box of a tile.
 *
 * The text is in the outermost block of the kernel, because OpenCL C requires that for __local variables. */
#include "base/check.h"
#include "kernel/cl.h"
#include "kernel/emit.h"
#include "kernel/inside.h"
#include "kernel/tile_kernel.h"

enum {
    CPU_GROUP = 64,    /* work-group size on a CPU, whose compiler makes a loop of a group */
    GPU_GROUP = 256,   /* default work-group size on a GPU */
    LARGE_GROUP = 512, /* work-group size if the default one gives too many groups */
    MOST_GROUPS = DCLI_MOST_GROUPS,
    MOST_DEEP = 64 /* most work-items of a group along dimension 2 */
};

bool dcli_tile_row_is_unit(const dcli_body *body, const int64_t row[])
{
    for (int a = 0; a < body->access_count; a++) {
        int last = body->params[body->access[a].param].rank - 1;
        const int64_t *high = row + dcli_row_at(body, DCLI_ROW_HIGH, a);
        const int64_t *low = row + dcli_row_at(body, DCLI_ROW_LOW, a);
        /* Whether the step from one local index to the next is ever used. */
        bool stepped = high[last] - low[last] > 1 || low[last] != 0;
        if (stepped && row[dcli_row_at(body, DCLI_ROW_STEP, a) + last] != 1)
            return false;
    }
    return true;
}

/* ---- launches ----------------------------------------------------------------------------------------------------- */

/* Number of work-items along a dimension: dimension 2 combines all axes but the last two. */
static int64_t items_along(const dcli_body *body, const int64_t count[], int dimension)
{
    int rank = body->space_rank;
    if (body->items.count[dimension] > 0)
        return body->items.count[dimension];
    if (dimension < 2)
        return rank > dimension ? count[rank - 1 - dimension] : 1;
    int64_t items = 1;
    for (int m = 0; m < rank - 2; m++)
        items *= count[m];
    return items;
}

/* Choose the work-group sizes: as wide as the rows, and as high and deep as needed for few enough groups. For example,
 * 65536 images of 16 x 16 bytes are a tile of default size. */
static void choose_group(const dcli_body *body, dcli_form form, const int64_t items[], int64_t group[])
{
    group[0] = group[1] = group[2] = 1;
    if (form == DCLI_FORM_CPU) {
        group[0] = body->items.count[0] > 0 ? 1 : CPU_GROUP;
        return;
    }
    int64_t wide = GPU_GROUP, deep = 1;
    while (wide > 1 && wide / 2 >= items[0])
        wide /= 2;
    while (wide > 1 && dcli_ceil_div(items[1], GPU_GROUP / wide) > MOST_GROUPS)
        wide /= 2;
    int64_t high = GPU_GROUP / wide;
    while (high > 1 && high / 2 >= items[1]) {
        high /= 2;
        deep *= 2;
    }
    while (deep > 1 && deep / 2 >= items[2])
        deep /= 2;
    deep = dcli_min(deep, MOST_DEEP);
    while (deep < MOST_DEEP && wide * high * deep < LARGE_GROUP && dcli_ceil_div(items[2], deep) > MOST_GROUPS)
        deep *= 2;
    group[0] = wide;
    group[1] = high;
    group[2] = deep;
}

void dcli_tile_launch_size(const dcli_body *body, dcli_form form, const int64_t count[],
                           size_t global_out[DCLI_ITEM_DIMENSIONS], size_t local_out[DCLI_ITEM_DIMENSIONS])
{
    int64_t items[DCLI_ITEM_DIMENSIONS], group[DCLI_ITEM_DIMENSIONS];
    for (int d = 0; d < DCLI_ITEM_DIMENSIONS; d++) {
        items[d] = items_along(body, count, d);
        group[d] = body->items.group[d];
    }
    if (!dcli_items_grouped(&body->items))
        choose_group(body, form, items, group);
    for (int d = 0; d < DCLI_ITEM_DIMENSIONS; d++) {
        local_out[d] = (size_t)group[d];
        global_out[d] = (size_t)(dcli_ceil_div(items[d], group[d]) * group[d]);
    }
}

/* ---- text --------------------------------------------------------------------------------------------------------- */

static const dcli_param *param_of(const dcli_body *body, int a) { return &body->params[body->access[a].param]; }

/* Write the pointer type of an array. */
static void put_pointer(dcli_text *out, const dcli_body *body, int a)
{
    dcli_text_put(out, "__global %s%s *", body->access[a].written ? "" : "const ",
                  dcli_kernel_type(param_of(body, a)->type));
}

static void put_subscripts(dcli_text *out, int rank, const char *before)
{
    for (int d = 0; d < rank; d++)
        dcli_text_put(out, "%s%sdcl_e%d", d > 0 ? ", " : "", before, d);
}

/* Emit the condition that the element with local indices dcl_e is present. For a cross, an element may be in the halo
 * along one axis only. */
static void emit_condition(dcli_text *out, const dcli_body *body, int a)
{
    int rank = param_of(body, a)->rank;
    for (int d = 0; d < rank; d++)
        dcli_text_put(out, "%sdcl_e%d >= dcl_r->dcl_v[%d] && dcl_e%d < dcl_r->dcl_v[%d]", d > 0 ? " && " : "", d,
                      dcli_row_at(body, DCLI_ROW_LOW, a) + d, d, dcli_row_at(body, DCLI_ROW_HIGH, a) + d);
    if (body->access[a].reach != DCLI_REACH_CROSS)
        return;
    dcli_text_put(out, " && ");
    for (int d = 0; d < rank; d++)
        dcli_text_put(out, "%s(dcl_e%d < 0 || dcl_e%d >= dcl_r->dcl_v[%d])", d > 0 ? " + " : "", d, d,
                      dcli_row_at(body, DCLI_ROW_COUNT, a) + d);
    dcli_text_put(out, " <= 1");
}

/* Emit dcl_at<a>, which finds an element by its local indices: it returns its address or, if it is not present, that of
 * a substitute, and reports it. */
static void emit_finder(dcli_text *out, const dcli_body *body, int a)
{
    int rank = param_of(body, a)->rank;
    dcli_text_put(out, "static ");
    put_pointer(out, body, a);
    dcli_text_put(out, "dcl_at%d(", a);
    put_pointer(out, body, a);
    dcli_text_put(out, "dcl_p, const dcl_row *dcl_r, __global long *dcl_report, ");
    put_subscripts(out, rank, "const long ");
    dcli_text_put(out, ")\n{\n    if (");
    emit_condition(out, body, a);
    dcli_text_put(out, ")\n        return dcl_p");
    for (int d = 0; d < rank; d++)
        dcli_text_put(out, " + dcl_e%d * dcl_r->dcl_v[%d]", d, dcli_row_at(body, DCLI_ROW_STEP, a) + d);
    dcli_text_put(out, ";\n    if (dcl_is_first(dcl_report)) {\n        dcl_report[1] = %d;\n", a);
    for (int d = 0; d < rank; d++) /* the indices may be any numbers, so unsigned arithmetic is used */
        dcli_text_put(
            out,
            "        dcl_report[%d] = (long)((ulong)dcl_r->dcl_v[%d] + (ulong)dcl_e%d * (ulong)dcl_r->dcl_v[%d]);\n",
            d + 2, dcli_row_at(body, DCLI_ROW_FIRST, a) + d, d, dcli_row_at(body, DCLI_ROW_BY, a) + d);
    dcli_text_put(out, "    }\n    return (");
    put_pointer(out, body, a);
    dcli_text_put(out, ")(dcl_report + %d);\n}\n", body->access[a].written ? DCLI_REPORT_SPARE : DCLI_REPORT_ZERO);
}

/* Emit the beginning of the definition of a macro, the array's name with a suffix, after undefining a macro of the
 * prelude with that name. */
static void define(dcli_text *out, const dcli_body *body, int a, const char *suffix)
{
    dcli_text_put(out, "#undef %s%s\n#define %s%s", param_of(body, a)->name, suffix, param_of(body, a)->name, suffix);
}

static void define_list(dcli_text *out, const dcli_body *body, int a, const char *suffix, dcli_row_field field)
{
    define(out, body, a, suffix);
    dcli_text_put(out, "(dcl_d) (dcl_r.dcl_v[%d + (dcl_d)])\n", dcli_row_at(body, field, a));
}

static void define_element(dcli_text *out, const dcli_body *body, int a, dcli_variant variant)
{
    const dcli_param *param = param_of(body, a);
    define(out, body, a, "");
    dcli_text_put(out, "(");
    put_subscripts(out, param->rank, "");
    if (variant == DCLI_VARIANT_CHECKED) {
        dcli_text_put(out, ") (*dcl_at%d(%s_data, &dcl_r, dcl_report, ", a, param->name);
        put_subscripts(out, param->rank, "");
        dcli_text_put(out, "))\n");
        return;
    }
    dcli_text_put(out, ") %s_data[", param->name);
    for (int d = 0; d < param->rank; d++) {
        dcli_text_put(out, "%s(long)(dcl_e%d)", d > 0 ? " + " : "", d);
        if (d < param->rank - 1 || variant != DCLI_VARIANT_UNIT)
            dcli_text_put(out, " * dcl_s%d_%d", a, d);
    }
    dcli_text_put(out, "]\n");
}

static void define_array(dcli_text *out, const dcli_body *body, int a, dcli_variant variant)
{
    int low = dcli_row_at(body, DCLI_ROW_LOW, a), high = dcli_row_at(body, DCLI_ROW_HIGH, a);
    int first = dcli_row_at(body, DCLI_ROW_FIRST, a), by = dcli_row_at(body, DCLI_ROW_BY, a);
    int step = dcli_row_at(body, DCLI_ROW_STEP, a);
    define_element(out, body, a, variant);
    define_list(out, body, a, "_low", DCLI_ROW_LOW);
    define_list(out, body, a, "_high", DCLI_ROW_HIGH);
    define_list(out, body, a, "_first", DCLI_ROW_FIRST);
    define_list(out, body, a, "_step", DCLI_ROW_BY);
    define(out, body, a, "_count");
    dcli_text_put(out, "(dcl_d) (dcl_r.dcl_v[%d + (dcl_d)] - dcl_r.dcl_v[%d + (dcl_d)])\n", high, low);
    define(out, body, a, "_at");
    dcli_text_put(out, "(dcl_d, dcl_e) (dcl_r.dcl_v[%d + (dcl_d)] + (long)(dcl_e) * dcl_r.dcl_v[%d + (dcl_d)])\n",
                  first, by);
    define(out, body, a, "_stride");
    if (variant == DCLI_VARIANT_UNIT)
        dcli_text_put(out, "(dcl_d) ((dcl_d) == %d ? 1L : dcl_r.dcl_v[%d + (dcl_d)])\n", param_of(body, a)->rank - 1,
                      step);
    else
        dcli_text_put(out, "(dcl_d) (dcl_r.dcl_v[%d + (dcl_d)])\n", step);
}

static void emit_pointers(dcli_text *out, const dcli_body *body, dcli_variant variant)
{
    for (int a = 0; a < body->access_count; a++) {
        int rank = param_of(body, a)->rank;
        dcli_text_put(out, "#undef %s_data\n    ", param_of(body, a)->name);
        put_pointer(out, body, a);
        dcli_text_put(out, "const %s_data = dcl_p%d + dcl_r.dcl_v[%d];\n", param_of(body, a)->name, a,
                      dcli_row_at(body, DCLI_ROW_OFFSET, a));
        for (int d = 0; d < rank; d++)
            if (variant == DCLI_VARIANT_ANY || (variant == DCLI_VARIANT_UNIT && d < rank - 1))
                dcli_text_put(out, "    const long dcl_s%d_%d = dcl_r.dcl_v[%d];\n", a, d,
                              dcli_row_at(body, DCLI_ROW_STEP, a) + d);
    }
}

/* Emit dcl_i<m>, the position of the work-item in the tile along axis m, and dcl_item(m). Dimension 2 is split into its
 * axes, the last one fastest; surplus work-items get positions beyond the tile along the first axis. */
static void emit_places(dcli_text *out, const dcli_body *body)
{
    int rank = body->space_rank, count = dcli_row_at(body, DCLI_ROW_COUNT, 0);
    for (int m = rank - 1; m >= 0 && m >= rank - 2; m--)
        dcli_text_put(out, "    const long dcl_i%d = get_global_id(%d);\n", m, rank - 1 - m);
    if (rank > 2)
        dcli_text_put(out, "    const long dcl_z%d = get_global_id(2);\n", rank - 3);
    for (int m = rank - 3; m > 0; m--)
        dcli_text_put(out,
                      "    const long dcl_i%d = dcl_z%d %% dcl_r.dcl_v[%d];\n"
                      "    const long dcl_z%d = dcl_z%d / dcl_r.dcl_v[%d];\n",
                      m, m, count + m, m - 1, m, count + m);
    if (rank > 2)
        dcli_text_put(out, "    const long dcl_i0 = dcl_z0;\n");
    dcli_text_put(out, "#undef dcl_item\n#define dcl_item(dcl_d) (");
    for (int m = 0; m < rank - 1; m++)
        dcli_text_put(out, "(dcl_d) == %d ? dcl_i%d : ", m, m);
    dcli_text_put(out, "dcl_i%d)\n", rank - 1);
}

/* Emit a check that ends surplus work-items, if the library chooses the groups. */
static void emit_guard(dcli_text *out, const dcli_body *body)
{
    int rank = body->space_rank, count = dcli_row_at(body, DCLI_ROW_COUNT, 0);
    if (dcli_items_grouped(&body->items))
        return;
    for (int d = 0; d < DCLI_ITEM_DIMENSIONS; d++) {
        dcli_text_put(out, "    if (get_global_id(%d) >= (ulong)(", d);
        if (body->items.count[d] > 0 || rank <= d)
            dcli_text_put(out, "%d", body->items.count[d] > 0 ? (int)body->items.count[d] : 1);
        else if (d < 2)
            dcli_text_put(out, "dcl_r.dcl_v[%d]", count + rank - 1 - d);
        for (int m = 0; d == 2 && body->items.count[d] == 0 && m < rank - 2; m++)
            dcli_text_put(out, "%sdcl_r.dcl_v[%d]", m > 0 ? " * " : "", count + m);
        dcli_text_put(out, "))\n        return;\n");
    }
}

static void emit_kernel(dcli_text *out, const dcli_body *body, dcli_variant variant)
{
    const int64_t *group = body->items.group;
    if (dcli_items_grouped(&body->items))
        dcli_text_put(out, "__attribute__((reqd_work_group_size(%d, %d, %d)))\n", (int)group[0], (int)group[1],
                      (int)group[2]);
    for (int a = 0; a < body->access_count; a++)
        dcli_text_put(out, "#undef %s\n", param_of(body, a)->name);
    dcli_emit_signature(out, body, DCLI_FORM_GPU, variant);
    dcli_text_put(out, "const dcl_row dcl_r, __global long *dcl_report)\n{\n");
    emit_pointers(out, body, variant);
    emit_places(out, body);
    emit_guard(out, body);
    for (int a = 0; a < body->access_count; a++)
        define_array(out, body, a, variant);
    dcli_text_put(out, "#line 1 \"body\"\n%s\n#line 1 \"generated\"\n}\n", body->text);
}

void dcli_emit_tiles(dcli_text *out, const dcli_body *body, bool watched)
{
    dcli_emit_opening(out, body);
    for (int p = 0; p < body->param_count; p++)
        dcli_text_put(out, "#undef %s\n", body->params[p].name);
    dcli_text_put(out, "typedef struct { long dcl_v[%d]; } dcl_row;\n", dcli_row_length(body));
    emit_kernel(out, body, DCLI_VARIANT_UNIT);
    emit_kernel(out, body, DCLI_VARIANT_ANY);
    if (!watched)
        return;
    dcli_text_put(out, "%s", dcli_cl_report);
    for (int a = 0; a < body->access_count; a++)
        emit_finder(out, body, a);
    emit_kernel(out, body, DCLI_VARIANT_CHECKED);
}
