/* worker/exec_tiles.c - launch a tile kernel. */
#include "worker/exec_tiles.h"

#include <inttypes.h>

#include "base/check.h"
#include "base/error.h"

/* Check the number of work-groups of a launch: GPUs limit it along dimensions 1 and 2; drivers of CPUs count all with
 * 32 bits, and PoCL aborts if there are more. */
static dcl_status check_groups(bool is_gpu, const size_t global[], const size_t local[])
{
    int64_t groups = 1;
    for (int d = 0; d < DCLI_ITEM_DIMENSIONS; d++) {
        int64_t along = (int64_t)(global[d] / local[d]);
        if (is_gpu && d > 0 && along > DCLI_MOST_GROUPS)
            return DCLI_FAIL(
                DCL_ERR_UNSUPPORTED,
                "a tile kernel has %" PRId64
                " work-groups along dimension %d for one tile; GPUs take at most %d there; give the map of "
                "the first output smaller tiles (;tile=...), or larger groups",
                along, d, DCLI_MOST_GROUPS);
        if (!is_gpu && (!dcli_mul(groups, along, &groups) || groups > UINT32_MAX))
            return DCLI_FAIL(
                DCL_ERR_UNSUPPORTED,
                "a tile kernel has %zu x %zu x %zu work-items for one tile, in groups of %zu x %zu x %zu; "
                "processors take fewer than 2^32 groups; give DCL_ITEMS smaller sizes, DCL_GROUP larger ones, or "
                "the map of the first output smaller tiles (;tile=...)",
                global[0], global[1], global[2], local[0], local[1], local[2]);
    }
    return DCL_OK;
}

dcl_status dcli_tile_launch(dcli_worker *worker, dcli_kernel *kernel, dcli_variant variant, const int64_t row[],
                            int count, const dcli_argument arguments[])
{
    const dcli_body *body = kernel->body;
    size_t global[DCLI_ITEM_DIMENSIONS], local[DCLI_ITEM_DIMENSIONS];
    bool is_gpu = dcli_device_is_gpu(worker->as_node->device);
    dcli_tile_launch_size(body, is_gpu ? DCLI_FORM_GPU : DCLI_FORM_CPU, row + dcli_row_at(body, DCLI_ROW_COUNT, 0),
                          global, local);
    dcl_status status = check_groups(is_gpu, global, local);
    if (status != DCL_OK)
        return status;
    return dcli_exec_launch(worker, kernel, variant, count, arguments, DCLI_ITEM_DIMENSIONS, global, local);
}
