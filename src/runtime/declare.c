/* runtime/declare.c - evaluate what the arguments of a call declare to read: widths, boxes, and functions of the
 * program. The functions are called here for every tile, because functions cannot be sent to nodes. */
#include "runtime/declare.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "segment/declared.h"

void dcli_declarations_begin(dcli_declarations *declarations, int count)
{
    for (int k = 0; k < count && k < DCLI_MAX_PARAMS; k++)
        declarations->of[k] = (dcli_declared){.count = 0};
    declarations->number = NULL;
    declarations->count = declarations->capacity = 0;
}

void dcli_declarations_free(dcli_declarations *declarations)
{
    dcli_free(declarations->number);
    dcli_declarations_begin(declarations, 0);
}

static dcl_status add_number(dcli_declarations *declarations, int64_t number)
{
    if (dcli_grow(&declarations->number, declarations->count, &declarations->capacity, sizeof number) != 0)
        return DCL_ERR_NOMEM;
    declarations->number[declarations->count++] = number;
    return DCL_OK;
}

static dcl_status add_box(dcli_declarations *declarations, const dcl_box *box)
{
    int64_t number[3 * DCL_MAX_RANK];
    dcl_status status = DCL_OK;
    dcli_declared_put(box, number);
    for (int n = 0; n < dcli_declared_box_length(box->rank) && status == DCL_OK; n++)
        status = add_number(declarations, number[n]);
    return status;
}

static dcl_status add_widths(dcli_declarations *declarations, const dcl_arg *arg)
{
    int rank = dcli_array_grid(arg->array)->rank;
    if (arg->width_count != 1 && arg->width_count != rank)
        return DCLI_FAIL(DCL_ERR_INVALID,
                         "the halo of %s has %d widths; expected one for all axes, or %d, one for each", arg->name,
                         arg->width_count, rank);
    dcl_status status = DCL_OK;
    for (int d = 0; d < rank && status == DCL_OK; d++)
        status = add_number(declarations, arg->width[arg->width_count == 1 ? 0 : d]);
    return status;
}

static dcl_status add_rows(dcli_declarations *declarations, const dcl_arg *arg)
{
    const dcl_grid *grid = dcli_array_grid(arg->array);
    dcl_box box = dcl_box_of(grid);
    if (arg->first > arg->last)
        return DCLI_FAIL(DCL_ERR_INVALID,
                         "%s is declared to be read at first subscripts %" PRId64 "..%" PRId64
                         "; expected the least of them, then the greatest",
                         arg->name, arg->first, arg->last);
    if (arg->first < grid->origin[0] || arg->last >= grid->origin[0] + grid->extent[0])
        return DCLI_FAIL(DCL_ERR_RANGE,
                         "%s is declared to be read at first subscripts %" PRId64 "..%" PRId64
                         "; expected indices from %" PRId64 " to below %" PRId64 ", as its grid has",
                         arg->name, arg->first, arg->last, grid->origin[0], grid->origin[0] + grid->extent[0]);
    box.start[0] = arg->first;
    box.count[0] = arg->last - arg->first + 1;
    return add_box(declarations, &box);
}

/* ---- functions ---------------------------------------------------------------------------------------------------- */

/* State of calling a function for all tiles of the first output. */
struct asking {
    dcli_declarations *declarations;
    const dcl_arg *arg;
    dcl_grid grid; /* grid of the array that is read */
    dcli_layout
        layout; /* own copy of the first output's layout at the start of the call; the portions are valid for any
                   other layout, too */
    dcli_transform view; /* how the call views the first output */
    dcl_box box;         /* indices of the call */
    bool approximate;
};

static dcl_status join_boxes(struct asking *asking, int count, const dcl_box given[], dcl_box *reads_out)
{
    dcl_box whole = {.rank = asking->grid.rank};
    int64_t elements = 0;
    for (int d = 0; d < whole.rank; d++)
        whole.stride[d] = 1;
    for (int b = 0; b < count; b++) {
        dcl_status status =
            dcli_declared_check_box(&given[b], &asking->grid, asking->arg->name, "a box that the function gave for");
        if (status != DCL_OK)
            return status;
        dcli_box_bound(&whole, &given[b], &whole);
        elements += dcli_box_elements(&given[b]);
    }
    asking->approximate |= elements < dcli_box_elements(&whole);
    *reads_out = whole;
    return DCL_OK;
}

static dcl_status ask(struct asking *asking, const dcl_box *output)
{
    const dcl_arg *arg = asking->arg;
    int64_t length = dcli_declared_portion_length(output->rank, asking->grid.rank);
    if (asking->declarations->count + length > DCLI_MOST_DECLARED_NUMBERS)
        return DCLI_FAIL(
            DCL_ERR_INVALID,
            "the function of %s would be asked for more tiles than %" PRId64
            ", which is all that fits a call; give the map of the first output larger tiles (;tile=...), or "
            "declare DCL_IN_BOX or DCL_IN_HALO",
            arg->name, asking->declarations->count / length);
    dcl_box given[DCL_MOST_READS], reads;
    memset(given, 0, sizeof given);
    int count = arg->function(arg->user, output, DCL_MOST_READS, given);
    if (count < 0 || count > DCL_MOST_READS)
        return DCLI_FAIL(DCL_ERR_INVALID, "the function of %s returned %d; expected a number of boxes, 0..%d",
                         arg->name, count, DCL_MOST_READS);
    dcl_status status = join_boxes(asking, count, given, &reads);
    if (status == DCL_OK)
        status = add_box(asking->declarations, output);
    return status == DCL_OK ? add_box(asking->declarations, &reads) : status;
}

static dcl_status ask_node(struct asking *asking, int node, dcli_region_list *regions)
{
    int64_t tiles = dcli_layout_tile_count(&asking->layout, node);
    dcl_status status = DCL_OK;
    for (int64_t t = 0; t < tiles && status == DCL_OK; t++) {
        regions->count = 0;
        status = dcli_layout_tiles(&asking->layout, node, t, 1, regions);
        for (int64_t r = 0; r < regions->count && status == DCL_OK; r++) {
            dcl_box seen, output;
            if (dcli_transform_seen(&asking->view, &regions->region[r].box, &seen) &&
                dcli_box_intersect(&seen, &asking->box, &output))
                status = ask(asking, &output);
        }
    }
    return status;
}

static dcl_status add_portions(dcli_declarations *declarations, dcl_cluster *cluster, const dcl_box *box,
                               dcl_array *output, const dcl_arg *arg, bool *approximate_out)
{
    if (arg->function == NULL)
        return DCLI_FAIL(DCL_ERR_INVALID,
                         "the function of %s is NULL; expected one that gives the boxes a tile reads; see dcl_reads_fn",
                         arg->name);
    struct asking asking = {.declarations = declarations, .arg = arg};
    pthread_mutex_lock(&cluster->lock); /* the lock is not held while the program's function runs */
    dcl_status status = dcli_array_own_layout(output, &asking.layout);
    if (status == DCL_OK) {
        asking.grid = *dcli_array_grid(arg->array);
        asking.view = output != dcli_array_base(output) ? output->view : dcli_transform_of(&asking.layout.grid);
    }
    pthread_mutex_unlock(&cluster->lock);
    if (status != DCL_OK)
        return status;
    asking.box = dcl_box_of(&asking.view.grid);
    status = box != NULL ? dcli_box_check(box, &asking.view.grid) : DCL_OK;
    if (box != NULL)
        asking.box = *box;
    dcli_region_list regions = {0};
    for (int p = 0; p < asking.layout.node_count && status == DCL_OK; p++)
        status = ask_node(&asking, dcli_layout_node(&asking.layout, p), &regions);
    dcli_region_list_free(&regions);
    dcli_layout_release(&asking.layout);
    *approximate_out = asking.approximate;
    return status;
}

/* ---- all ---------------------------------------------------------------------------------------------------------- */

static dcl_status declare_one(dcli_declarations *declarations, dcl_cluster *cluster, const dcl_box *box,
                              dcl_array *output, const dcl_arg *arg, bool *approximate_out)
{
    dcl_status status;
    switch (arg->access) {
    case DCL_ACCESS_IN_HALO:
    case DCL_ACCESS_IN_CROSS:
        return add_widths(declarations, arg);
    case DCL_ACCESS_IN_BOX:
        status = dcli_declared_check_box(arg->box, dcli_array_grid(arg->array), arg->name, "the box of");
        return status == DCL_OK ? add_box(declarations, arg->box) : status;
    case DCL_ACCESS_IN_AT:
        *approximate_out = true;
        return add_rows(declarations, arg);
    case DCL_ACCESS_IN_FUNCTION:
        return add_portions(declarations, cluster, box, output, arg, approximate_out);
    default:
        return DCL_OK;
    }
}

static dcl_array *first_output(int count, const dcl_arg args[])
{
    for (int k = 0; k < count; k++)
        if (args[k].access == DCL_ACCESS_OUT || args[k].access == DCL_ACCESS_INOUT)
            return args[k].array;
    return NULL;
}

dcl_status dcli_declare(dcl_cluster *cluster, const dcl_box *box, int count, const dcl_arg args[],
                        dcli_declarations *declarations)
{
    dcl_status status = DCL_OK;
    int p = 0;
    for (int k = 0; k < count && status == DCL_OK; k++) {
        if (!dcli_arg_is_param(&args[k]))
            continue;
        dcli_declared *declared = &declarations->of[p++];
        int64_t before = declarations->count;
        status = declare_one(declarations, cluster, box, first_output(count, args), &args[k], &declared->approximate);
        declared->count = (int)(declarations->count - before);
        if (status == DCL_OK && declarations->count > DCLI_MOST_DECLARED_NUMBERS)
            status = DCLI_FAIL(DCL_ERR_INVALID,
                               "the arguments of this call declare more than fits one; expected fewer boxes");
    }
    const int64_t *number = declarations->number;
    for (int k = 0; k < p; k++) {
        declarations->of[k].number = number;
        number = number != NULL ? number + declarations->of[k].count : NULL;
    }
    return status;
}
