/* runtime/scan.c - scans: each is one to four operations.
 *
 * The tile kernels of kernel/scan.h compute the totals of the leaves, and then the results. They need inputs at the
 * output's own indices, and the output in few boxes. Other values are stored by a body first, and results for other
 * maps go to an array that is copied then. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/check.h"
#include "base/text.h"
#include "kernel/names.h"
#include "kernel/quote.h"
#include "kernel/scan.h"
#include "runtime/report.h"
#include "segment/declared.h"

enum {
    MOST_ARGS = 56,          /* most arguments of the program; the kernels have a few more */
    LEAST_LEAF = 1024,       /* least elements of a leaf */
    MOST_LEAVES = 1024,      /* most leaves of an axis: every work-item combines the totals before its leaves */
    ITEMS = 64,              /* work-items of a tile on CPUs */
    GPU_ITEMS = 4096,        /* work-items of a tile if some nodes are GPUs */
    STREAM_BYTES = 32 << 20, /* outputs of this size are stored without caching */
    MOST_NUMBERS = 3 * DCLI_MOST_DECLARED_NUMBERS / 4 /* most numbers in the declarations of a call */
};

/* A scan in progress. */
struct scanning {
    dcl_cluster *cluster;
    const char *text; /* of the program */
    dcli_scan scan;
    int count, param_count; /* number of the program's arguments without DCL_ALONG and DCL_EXCLUSIVE; number of those
                               that are parameters */
    dcl_arg args[MOST_ARGS];
    dcli_param params[MOST_ARGS];
    int output;           /* the argument of P */
    const char *operator; /* the program's operator, as dcli_param.name; NULL: none */
    dcl_grid grid;
    int64_t leaf, leaves;
    int inner;  /* the axis along which P is contiguous */
    bool known; /* the totals are computed first */
    bool gpus;
    int64_t tile[DCL_MAX_RANK];           /* the largest tile of P */
    dcl_array *values, *results, *totals; /* arrays of the library; NULL: not needed */
    int imagined;                         /* how many of them have been made without storage */
    const dcli_look *look;                /* the operations are passed to it, not run; NULL: they are run */
    dcli_report_form form;                /* what `look` gets of the scan's indices */
    dcl_report_index index[DCL_MAX_RANK]; /* rows of `form` */
    char method[400];
};

/* ---- arguments ------------------------------------------------------------------------------------------------------- */

static bool has_array(const dcl_arg *arg) { return dcli_arg_has_array(arg); }

static dcl_status check_kind(const dcl_arg *arg)
{
    switch (arg->access) {
    case DCL_ACCESS_INOUT:
        return DCLI_FAIL(
            DCL_ERR_INVALID,
            "argument %s is DCL_INOUT; expected DCL_OUT: a scan does not use the old elements of its output",
            arg->name);
    case DCL_ACCESS_RESULT:
    case DCL_ACCESS_GROUP:
    case DCL_ACCESS_ITEMS:
    case DCL_ACCESS_OVER:
        return dcli_refuse_arg(arg, "a scan takes DCL_OUT, DCL_ALONG, DCL_EXCLUSIVE, DCL_OPERATOR, and the inputs, "
                                    "DCL_VALUE, DCL_PRELUDE and DCL_STEALING of dcl_forall()");
    default:
        return DCL_OK;
    }
}

static dcl_status add_arg(struct scanning *s, const dcl_arg *arg, const char **along)
{
    dcl_status status = check_kind(arg);
    if (status != DCL_OK)
        return status;
    if (arg->access == DCL_ACCESS_EXCLUSIVE) {
        s->scan.exclusive = true;
        return DCL_OK;
    }
    if (arg->access == DCL_ACCESS_ALONG) {
        if (arg->name == NULL || *along != NULL)
            return DCLI_FAIL(DCL_ERR_INVALID,
                             "DCL_ALONG is %s; expected the name of one index, such as DCL_ALONG(\"i\")",
                             arg->name == NULL ? "NULL" : "given twice");
        *along = arg->name;
        return DCL_OK;
    }
    if (arg->access == DCL_ACCESS_OPERATOR) {
        if (s->operator!= NULL)
            return DCLI_FAIL(DCL_ERR_INVALID, "DCL_OPERATOR is given twice; expected it once, as a scan has one "
                                              "statement");
        s->operator= arg->name;
        return DCL_OK;
    }
    if (arg->access == DCL_ACCESS_OUT) {
        if (s->output >= 0)
            return DCLI_FAIL(DCL_ERR_INVALID, "%s and %s are DCL_OUT; expected one output; scan twice for two",
                             s->args[s->output].name, arg->name);
        s->output = s->count;
    }
    s->args[s->count++] = *arg;
    return DCL_OK;
}

/* Take the arguments apart. */
static dcl_status take_args(struct scanning *s, const char *text, int count, const dcl_arg args[], const char **along)
{
    if (s->cluster == NULL)
        return DCLI_FAIL_NULL("cluster is NULL; expected one made by dcl_open()");
    if (count < 2 || count > MOST_ARGS || args == NULL)
        return DCLI_FAIL(DCL_ERR_INVALID, "count is %d; expected 2..%d arguments: an output, DCL_ALONG, and inputs",
                         count, MOST_ARGS);
    dcl_status status = DCL_OK;
    s->output = -1;
    for (int k = 0; k < count && status == DCL_OK; k++)
        status = args[k].name == NULL && dcli_arg_is_param(&args[k])
                     ? DCLI_FAIL(DCL_ERR_INVALID, "argument %d has no name; expected the name it has in the body", k)
                     : add_arg(s, &args[k], along);
    if (status == DCL_OK && s->output < 0)
        return DCLI_FAIL(DCL_ERR_INVALID, "no argument is an output; expected one DCL_OUT");
    if (status == DCL_OK && *along == NULL)
        return DCLI_FAIL(DCL_ERR_INVALID, "DCL_ALONG is missing; expected the index that is scanned, such as "
                                          "DCL_ALONG(\"i\")");
    if (status == DCL_OK)
        status = dcli_args_check(s->cluster, text, DCLI_TEXT_BODY, false, s->count, s->args);
    for (int k = 0; k < s->count && status == DCL_OK; k++)
        if (k != s->output && has_array(&s->args[k]) && s->args[k].array == s->args[s->output].array)
            return DCLI_FAIL(
                DCL_ERR_INVALID,
                "%s and %s are the same array; expected a second array for the results; exchange them with "
                "dcl_swap()",
                s->args[s->output].name, s->args[k].name);
    return status;
}

static dcl_status parse(struct scanning *s, const char *text, const char *along)
{
    bool exclusive = s->scan.exclusive;
    dcli_text prelude = {0};
    for (int k = 0; k < s->count; k++)
        if (s->args[k].access == DCL_ACCESS_PRELUDE)
            dcli_text_put(&prelude, "%s\n", s->args[k].name);
    for (int k = 0; k < s->count; k++) {
        const dcl_arg *arg = &s->args[k];
        dcli_param *param = &s->params[s->param_count];
        if (!dcli_arg_is_param(arg))
            continue;
        if (strlen(arg->name) >= sizeof param->name) {
            dcli_text_free(&prelude);
            return DCLI_FAIL(DCL_ERR_INVALID, "argument %d has a name of %zu letters; expected at most %zu", k,
                             strlen(arg->name), sizeof param->name - 1);
        }
        *param = (dcli_param){.access = arg->access, .type = arg->type};
        strcpy(param->name, arg->name);
        if (has_array(arg)) {
            param->type = dcli_array_grid(arg->array)->type;
            param->rank = dcli_array_grid(arg->array)->rank;
        }
        s->param_count++;
    }
    if (s->operator!= NULL) {
        dcli_param *param = &s->params[s->param_count++];
        *param = (dcli_param){.access = DCL_ACCESS_OPERATOR, .type = DCL_INT32};
        if (strlen(s->operator) >= sizeof param->name) {
            dcli_text_free(&prelude);
            return DCLI_FAIL(DCL_ERR_INVALID,
                             "DCL_OPERATOR \"%s\" has %zu letters, with the neutral element; expected at most %zu",
                             s->operator, strlen(s->operator), sizeof param->name - 1);
        }
        strcpy(param->name, s->operator);
    }
    char *all = dcli_text_take(&prelude);
    dcl_status status =
        all != NULL ? dcli_scan_parse(text, all, s->param_count, s->params, along, &s->scan) : DCL_ERR_NOMEM;
    dcli_free(all);
    s->scan.exclusive = exclusive;
    return status;
}

/* ---- how the elements lie -------------------------------------------------------------------------------------------- */

/* Properties of the tiles of an array. */
struct tiling {
    int64_t boxes;
    bool whole; /* each box has all indices of the scanned axis */
};

/* Look at all tiles of P, and set s->tile. */
static dcl_status look_at_tiles(struct scanning *s, struct tiling *tiling)
{
    dcl_array *output = s->args[s->output].array;
    dcli_layout layout;
    dcl_status status = dcli_array_own_layout(output, &layout);
    if (status != DCL_OK)
        return status;
    dcli_transform view = output != dcli_array_base(output) ? output->view : dcli_transform_of(&layout.grid);
    dcli_region_list regions = {0};
    *tiling = (struct tiling){.whole = true};
    for (int p = 0; p < layout.node_count && status == DCL_OK; p++) {
        int node = dcli_layout_node(&layout, p);
        int64_t tiles = dcli_layout_tile_count(&layout, node);
        for (int64_t t = 0; t < tiles && status == DCL_OK; t++) {
            regions.count = 0;
            status = dcli_layout_tiles(&layout, node, t, 1, &regions);
            for (int64_t r = 0; r < regions.count && status == DCL_OK; r++) {
                dcl_box seen;
                if (!dcli_transform_seen(&view, &regions.region[r].box, &seen))
                    continue;
                tiling->boxes++;
                tiling->whole &= seen.count[s->scan.axis] == s->grid.extent[s->scan.axis];
                for (int d = 0; d < seen.rank; d++)
                    s->tile[d] = dcli_max(s->tile[d], seen.count[d]);
            }
        }
    }
    dcli_region_list_free(&regions);
    dcli_layout_release(&layout);
    return status;
}

/* The axis along which the elements of an array are contiguous. */
static int contiguous_axis(const dcl_array *array)
{
    int last = dcli_array_grid(array)->rank - 1;
    if (array->base == NULL)
        return last;
    const dcli_transform *view = &array->view;
    int axis = view->axis[view->base_rank - 1];
    return axis >= 0 ? axis : last;
}

/* Whether the kernels can read all inputs themselves: they are arrays of the output's grid. */
static bool reads_same_grid(const struct scanning *s)
{
    for (int k = 0; k < s->count; k++) {
        if (k == s->output || !has_array(&s->args[k]))
            continue;
        const dcl_grid *grid = dcli_array_grid(s->args[k].array);
        bool same = s->args[k].access == DCL_ACCESS_IN && grid->rank == s->grid.rank;
        for (int d = 0; d < s->grid.rank && same; d++)
            same = grid->origin[d] == s->grid.origin[d] && grid->extent[d] == s->grid.extent[d];
        if (!same)
            return false;
    }
    return true;
}

/* Make an array of the library, without storage if the scan is not run. */
static dcl_status make_array(struct scanning *s, const dcl_grid *grid, dcl_map *map, dcl_array **array_out)
{
    if (s->look != NULL)
        return dcli_array_imagine(s->cluster, grid, map, ++s->imagined, array_out);
    return dcli_array_make(s->cluster, grid, map, true, array_out);
}

/* Make a map for the totals: near the elements of P, in tiles of leaves that correspond to P's. @param like  NULL: by
 * blocks. */
static dcl_map *totals_map(const struct scanning *s, const dcl_map *like)
{
    dcl_map *block = like == NULL ? dcli_map_new_block(s->cluster) : NULL;
    if (like == NULL && block == NULL)
        return NULL;
    dcli_map_rule rule = (like != NULL ? like : block)->rule;
    rule.small_bytes = 0; /* they are small, but the leaves are on many nodes */
    rule.halo_rank = rule.every_rank = rule.block_rank = 0;
    rule.periodic = 0;
    rule.overlap = 0;
    rule.tile_rank = s->grid.rank;
    for (int d = 0; d < s->grid.rank; d++)
        rule.tile[d] = dcli_max(d == s->scan.axis ? s->tile[d] / s->leaf : s->tile[d], 1);
    dcl_map *map = dcli_map_new(s->cluster, &rule);
    dcl_map_release(block);
    return map;
}

static dcl_status make_totals(struct scanning *s)
{
    dcl_array *output = s->results != NULL ? s->results : s->args[s->output].array;
    dcl_grid grid = s->grid;
    grid.origin[s->scan.axis] = 0;
    grid.extent[s->scan.axis] = s->leaves - 1; /* nothing follows the last leaf */
    dcl_status status = DCL_ERR_INVALID;
    for (int other = output->base != NULL || output->layout.partial; other < 2 && status != DCL_OK; other++) {
        dcl_map *map = totals_map(s, other == 0 ? output->map : NULL);
        status = map != NULL ? make_array(s, &grid, map, &s->totals) : dcli_error_status();
        dcl_map_release(map);
    }
    return status;
}

/* Make an array of P's grid by blocks. @param tiles  how many there may be about. */
static dcl_status make_by_blocks(struct scanning *s, int64_t tiles, dcl_array **array_out)
{
    int64_t bytes = dcl_grid_count(&s->grid) * (int64_t)dcl_type_bytes(s->grid.type);
    dcl_map *block = dcli_map_new_block(s->cluster);
    if (block == NULL)
        return dcli_error_status();
    dcli_map_rule rule = block->rule;
    rule.tile_bytes = dcli_max(rule.tile_bytes, dcli_ceil_div(2 * bytes, tiles)); /* tiles may be cut to half of that */
    dcl_map *map = dcli_map_new(s->cluster, &rule);
    dcl_status status = map != NULL ? make_array(s, &s->grid, map, array_out) : dcli_error_status();
    dcl_map_release(map);
    dcl_map_release(block);
    return status;
}

/* Make an array that lies as P does, without P's halo: two operations of the scan read the array, and the second one
 * would find replicas that the first one has left, which explain does not know of. */
static dcl_status make_like_output(struct scanning *s, dcl_array **array_out)
{
    dcli_map_rule rule = s->args[s->output].array->map->rule;
    rule.halo_rank = 0;
    rule.periodic = 0;
    dcl_map *map = dcli_map_new(s->cluster, &rule);
    dcl_status status = map != NULL ? make_array(s, &s->grid, map, array_out) : dcli_error_status();
    dcl_map_release(map);
    return status;
}

/* Make the array of the values at all indices: as P lies, if P's map stores all of its elements and has no view before
 * it. */
static dcl_status make_values(struct scanning *s, int64_t tiles)
{
    const dcl_array *output = s->args[s->output].array;
    if (s->results == NULL && output->base == NULL && !output->layout.partial)
        return make_like_output(s, &s->values);
    return make_by_blocks(s, tiles, &s->values);
}

/* Whether the work-items of a tile are busy if each computes lines as a whole. */
static bool has_many_lines(const struct scanning *s)
{
    int64_t lines = 1;
    for (int d = 0; d < s->grid.rank; d++)
        if (d != s->scan.axis)
            lines *= d == s->inner ? dcli_ceil_div(s->tile[d], DCLI_SCAN_STRIP) : s->tile[d];
    return lines >= (s->gpus ? GPU_ITEMS : ITEMS);
}

/* Decide which operations are needed, and make the arrays between them. The lock is held. */
static dcl_status prepare(struct scanning *s)
{
    dcl_array *output = s->args[s->output].array;
    dcli_known_body *known = NULL;
    struct tiling tiling;
    dcl_status status = dcli_body_of_call(s->cluster, s->scan.each, DCLI_TEXT_BODY, s->count, s->args, &known);
    if (status == DCL_OK)
        dcli_body_show(known, s->text);
    dcli_body_let_go(known); /* the value has no mistakes that a parser finds */
    if (status == DCL_OK && s->cluster->plan_only && s->look == NULL)
        status = DCLI_FAIL(DCL_ERR_UNSUPPORTED, "this cluster only plans (dcl_open_plan()); use dcl_open() for data");
    if (status == DCL_OK)
        status = look_at_tiles(s, &tiling);
    if (status != DCL_OK)
        return status;
    for (int n = 0; n < s->cluster->node_count && !s->cluster->plan_only; n++)
        s->gpus |= dcli_node_is_gpu(s->cluster, n);
    int inputs = 0;
    for (int k = 0; k < s->count; k++)
        inputs += k != s->output && has_array(&s->args[k]);
    s->scan.plain &= reads_same_grid(s);
    inputs = (s->scan.plain ? inputs : 1) + 1;
    int64_t most = dcli_max(MOST_NUMBERS / (inputs * dcli_declared_portion_length(s->grid.rank, s->grid.rank)),
                            1); /* boxes of tiles */
    if (tiling.boxes > most) {
        status = make_by_blocks(s, most, &s->results);
        memset(s->tile, 0, sizeof s->tile);
        s->args[s->output].array = status == DCL_OK ? s->results : output;
        status = status == DCL_OK ? look_at_tiles(s, &tiling) : status;
    }
    s->inner = contiguous_axis(s->args[s->output].array);
    s->known = s->leaves > 1 && !(tiling.whole && has_many_lines(s));
    s->args[s->output].array = output;
    if (status == DCL_OK && !s->scan.plain)
        status = make_values(s, most);
    if (status == DCL_OK && s->known)
        status = make_totals(s);
    return status;
}

/* ---- what the kernels read ------------------------------------------------------------------------------------------- */

/* The smallest box of stride 1 that contains another. */
static dcl_box bound(const dcl_box *box)
{
    dcl_box all = *box;
    for (int d = 0; d < box->rank; d++) {
        all.stride[d] = 1;
        all.count[d] = (box->count[d] - 1) * box->stride[d] + 1;
    }
    return all;
}

static int read_for_totals(void *user, const dcl_box *output, int most, dcl_box inputs_out[])
{
    const struct scanning *s = user;
    int a = s->scan.axis;
    (void)most;
    inputs_out[0] = bound(output);
    inputs_out[0].start[a] = s->grid.origin[a] + inputs_out[0].start[a] * s->leaf;
    inputs_out[0].count[a] *= s->leaf;
    return 1;
}

static int read_from_leaf(void *user, const dcl_box *output, int most, dcl_box inputs_out[])
{
    const struct scanning *s = user;
    int a = s->scan.axis;
    (void)most;
    inputs_out[0] = bound(output);
    int64_t before = (inputs_out[0].start[a] - s->grid.origin[a]) % s->leaf;
    inputs_out[0].start[a] -= before;
    inputs_out[0].count[a] += before;
    return 1;
}

static int read_totals(void *user, const dcl_box *output, int most, dcl_box inputs_out[])
{
    const struct scanning *s = user;
    int a = s->scan.axis;
    (void)most;
    inputs_out[0] = bound(output);
    int64_t last = inputs_out[0].start[a] + inputs_out[0].count[a] - 1 - s->grid.origin[a];
    inputs_out[0].start[a] = 0;
    inputs_out[0].count[a] = dcli_max(last / s->leaf, 1);
    return 1;
}

/* ---- explained ------------------------------------------------------------------------------------------------------- */

static dcl_status check_look(const dcl_cluster *cluster, const void *user)
{
    const struct scanning *s = user;
    return s->look->check(cluster, s->look->user);
}

static dcl_status look_on(void *user, const dcli_planned *planned)
{
    struct scanning *s = user;
    dcli_planned formed = *planned;
    formed.form = &s->form;
    return s->look->on(s->look->user, &formed);
}

/* Describe the scan for reports. */
static void describe(struct scanning *s)
{
    int operations = 1 + (s->values != NULL) + s->known + (s->results != NULL);
    bool floating = s->scan.type == DCL_FLOAT || s->scan.type == DCL_DOUBLE;
    bool rounds = (floating && (s->scan.fold == DCLI_FOLD_SUM || s->scan.fold == DCLI_FOLD_PRODUCT)) ||
                  s->scan.fold == DCLI_FOLD_OWN;
    for (int d = 0; d < s->grid.rank; d++)
        s->index[d] = (dcl_report_index){.name = dcli_index_name(s->scan.index[d]),
                                         .use = d == s->scan.axis ? "scanned" : "kept",
                                         .first = s->grid.origin[d],
                                         .count = s->grid.extent[d]};
    snprintf(s->method, sizeof s->method, "%s: a scan by fixed leaves of %" PRId64 " elements%s; %d operation%s",
             s->args[s->output].name, s->leaf, rounds ? " and blocks of 16, so only the extent decides the order" : "",
             operations, operations > 1 ? "s" : "");
    s->form = (dcli_report_form){.count = s->grid.rank, .index = s->index, .method = s->method};
}

/* Run an operation, or look at it. */
static dcl_status run_operation(struct scanning *s, const char *text, dcli_text_kind kind, int count,
                                const dcl_arg args[])
{
    if (s->look == NULL)
        return dcli_forall_run(s->cluster, NULL, text, kind, count, args);
    return dcli_forall_look(s->cluster, NULL, text, kind, count, args,
                            &(dcli_look){.check = check_look, .on = look_on, .user = s});
}

/* ---- operations ------------------------------------------------------------------------------------------------------ */

/* Run one of the tile kernels. */
static dcl_status run_tiles(struct scanning *s, bool totals)
{
    dcl_arg args[DCLI_MAX_PARAMS], items = dcl_arg_array(DCL_ACCESS_ITEMS, "DCL_ITEMS", NULL);
    dcl_array *target = s->results != NULL ? s->results : s->args[s->output].array;
    dcli_scan scan = s->scan;
    dcli_param params[MOST_ARGS + 1];
    int count = 0;
    memcpy(params, s->params, sizeof s->params);
    args[count++] = totals ? dcl_arg_array(DCL_ACCESS_OUT, DCLI_SCAN_TOTALS, s->totals)
                           : dcl_arg_array(DCL_ACCESS_OUT, s->args[s->output].name, target);
    dcl_reads_fn *reads = totals ? read_for_totals : read_from_leaf;
    dcli_text value = {0};
    if (s->values != NULL) {
        args[count++] = dcl_arg_function("scan_values", s->values, reads, s);
        scan.input = s->param_count;
        strcpy(params[scan.input].name, "scan_values");
        dcli_text_put(&value, "scan_values");
        for (int d = 0; d < s->grid.rank; d++)
            dcli_text_put(&value, "%c%c", d > 0 ? ',' : '(', 'i' + scan.index[d]);
        dcli_text_put(&value, ")");
        scan.value = value.bytes;
    }
    for (int k = 0; k < s->count; k++) {
        bool prelude = s->args[k].access == DCL_ACCESS_PRELUDE && scan.fold == DCLI_FOLD_OWN;
        if (k == s->output || (s->values != NULL && s->args[k].access != DCL_ACCESS_STEALING && !prelude))
            continue;
        args[count] =
            has_array(&s->args[k]) ? dcl_arg_function(s->args[k].name, s->args[k].array, reads, s) : s->args[k];
        args[count].width_count = totals && has_array(&s->args[k]) ? DCLI_NOT_RETAINED : args[count].width_count;
        count++;
    }
    if (!totals && s->known)
        args[count++] = dcl_arg_function(DCLI_SCAN_TOTALS, s->totals, read_totals, s);
    args[count++] = dcl_arg_signed(DCLI_SCAN_LEAF, DCL_INT64, s->leaf);
    args[count++] = dcl_arg_signed(DCLI_SCAN_ORIGIN, DCL_INT64, s->grid.origin[scan.axis]);
    items.width_count = DCLI_ITEM_DIMENSIONS;
    items.width[0] = s->gpus ? GPU_ITEMS : ITEMS;
    items.width[1] = items.width[2] = 1;
    args[count++] = items;
    int64_t bytes = dcl_grid_count(&s->grid) * (int64_t)dcl_type_bytes(s->grid.type);
    char *functions = dcli_scan_functions(&scan, !s->gpus && bytes >= STREAM_BYTES);
    args[count++] = dcl_arg_prelude(functions);
    dcli_scan_form form = {.totals = totals, .known = s->known, .inner = s->inner, .items = (int)items.width[0]};
    char *text = value.failed ? NULL : dcli_scan_source(&scan, params, &form);
    dcl_status status =
        text != NULL && functions != NULL ? run_operation(s, text, DCLI_TEXT_TILES, count, args) : DCL_ERR_NOMEM;
    dcli_free(text);
    dcli_free(functions);
    dcli_text_free(&value);
    return status;
}

/* Compute the values at all indices. */
static dcl_status run_values(struct scanning *s)
{
    dcl_arg args[MOST_ARGS];
    memcpy(args, s->args, sizeof args);
    args[s->output].array = s->values;
    return run_operation(s, s->scan.each, DCLI_TEXT_BODY, s->count, args);
}

/* Copy the results to P. */
static dcl_status run_copy(struct scanning *s)
{
    char text[2 * (sizeof s->params[0].name + 2 * DCL_MAX_RANK + 8)], subscripts[2 * DCL_MAX_RANK + 2] = "";
    for (int d = 0; d < s->grid.rank; d++)
        snprintf(subscripts + 2 * d, sizeof subscripts - 2 * (size_t)d, "%c%c", d > 0 ? ',' : '(', 'i' + d);
    snprintf(text, sizeof text, "%s%s) = scan_results%s);", s->args[s->output].name, subscripts, subscripts);
    dcl_arg args[] = {s->args[s->output], dcl_arg_array(DCL_ACCESS_IN, "scan_results", s->results)};
    return run_operation(s, text, DCLI_TEXT_BODY, 2, args);
}

static dcl_status run(struct scanning *s)
{
    dcl_status status = s->values != NULL ? run_values(s) : DCL_OK;
    if (status == DCL_OK && s->known)
        status = run_tiles(s, true);
    if (status == DCL_OK)
        status = run_tiles(s, false);
    return status == DCL_OK && s->results != NULL ? run_copy(s) : status;
}

/* Free the arrays of the library; the nodes do so after the operations. */
static void end_arrays(struct scanning *s)
{
    dcl_array *const arrays[] = {s->totals, s->values, s->results};
    for (size_t n = 0; n < sizeof arrays / sizeof arrays[0]; n++)
        if (arrays[n] != NULL && s->look != NULL)
            dcli_array_free(arrays[n]);
        else if (arrays[n] != NULL)
            dcli_array_end(arrays[n]);
}

/* Release the lock. A scan that is only looked at does not change the cluster's state. */
static dcl_status end_locked(struct scanning *s, dcl_status status)
{
    if (s->look == NULL)
        return dcli_cluster_end_call(s->cluster, status);
    pthread_mutex_unlock(&s->cluster->lock);
    return status;
}

static dcl_status start(struct scanning *s, const char *text, int count, const dcl_arg args[])
{
    const char *along = NULL;
    dcl_status status = take_args(s, text, count, args, &along);
    if (status == DCL_OK)
        status = parse(s, text, along);
    if (status != DCL_OK)
        return status;
    s->grid = *dcli_array_grid(s->args[s->output].array);
    int64_t extent = s->grid.extent[s->scan.axis];
    for (s->leaf = LEAST_LEAF; dcli_ceil_div(extent, s->leaf) > MOST_LEAVES;)
        s->leaf *= 2;
    s->leaves = dcli_ceil_div(extent, s->leaf);
    pthread_mutex_lock(&s->cluster->lock);
    status = end_locked(s, prepare(s));
    if (status == DCL_OK) {
        describe(s);
        status = run(s);
    }
    pthread_mutex_lock(&s->cluster->lock);
    end_arrays(s);
    return end_locked(s, status);
}

/* ---- errors ---------------------------------------------------------------------------------------------------------- */

/* A kernel of the scan does not compile, and the error quotes what was generated around the value. If the value does not
 * compile as a loop body either, record that error instead. */
static void compile_value(struct scanning *s)
{
    dcli_known_body *known = NULL;
    dcli_error_set_aside(true);
    pthread_mutex_lock(&s->cluster->lock);
    dcl_status status = dcli_body_of_call(s->cluster, s->scan.each, DCLI_TEXT_BODY, s->count, s->args, &known);
    if (status == DCL_OK)
        status = dcli_body_build(s->cluster, known);
    char *sentence = status == DCL_ERR_BODY ? dcli_strdup(dcli_error_sentence()) : NULL;
    dcli_body_let_go(known);
    pthread_mutex_unlock(&s->cluster->lock);
    dcli_error_set_aside(false);
    if (sentence != NULL)
        dcli_error_record(DCL_ERR_BODY, "%s", sentence);
    dcli_free(sentence);
}

/* Where an error quotes the body that was made from the program's text, quote the program: their lines and columns are
 * the same. */
static void quote_program(struct scanning *s)
{
    int line, column;
    char before[DCLI_ERROR_BYTES];
    if (s->scan.each == NULL)
        return; /* the text was not parsed: it is quoted itself */
    snprintf(before, sizeof before, "%s", dcl_error());
    if (s->values == NULL && s->look == NULL)
        compile_value(s);
    const char *sentence = dcli_error_sentence(), *end = strchr(sentence, '\n');
    if (end != NULL && sscanf(sentence, "line %d, column %d: ", &line, &column) == 2) {
        dcli_text quoted = {0};
        dcli_text_append(&quoted, sentence, (size_t)(end - sentence));
        dcli_quote(&quoted, s->text, line, column);
        char *whole = dcli_text_take(&quoted);
        if (whole != NULL)
            dcli_error_record(DCL_ERR_BODY, "%s", whole);
        dcli_free(whole);
    }
    dcli_cluster_reword(s->cluster, before);
}

/* Run a scan, or let `look` see its operations. @param look  NULL: run it */
static dcl_status scan(dcl_cluster *cluster, const char *text, int count, const dcl_arg args[], const dcli_look *look)
{
    struct scanning *s = dcli_calloc(1, sizeof *s);
    if (s == NULL)
        return DCL_ERR_NOMEM;
    s->cluster = cluster;
    s->text = text;
    s->look = look;
    dcl_status status = start(s, text, count, args);
    if (status == DCL_ERR_BODY)
        quote_program(s);
    dcli_scan_free(&s->scan);
    dcli_free(s);
    return status;
}

dcl_status dcli_scan_run(dcl_cluster *cluster, const char *text, int count, const dcl_arg args[])
{
    return scan(cluster, text, count, args, NULL);
}

dcl_status dcli_scan_look(dcl_cluster *cluster, const char *text, int count, const dcl_arg args[],
                          const dcli_look *look)
{
    dcl_status status = cluster != NULL ? look->check(cluster, look->user) : DCL_OK;
    return status == DCL_OK ? scan(cluster, text, count, args, look) : status;
}
