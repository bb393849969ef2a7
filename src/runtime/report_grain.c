/* runtime/report_grain.c - advise on grains of a map that are far too small. */
#include <inttypes.h>

#include "base/text.h"
#include "runtime/report.h"

/* Numbers below these are negligible. */
enum {
    NOTICED_BLOCKS = 256,
    NOTICED_TASKS = 256,
    TASK_BYTES = 4096 /* smallest reasonable amount for a task */
};

/* ---- tiles -------------------------------------------------------------------------------------------------------- */

static dcl_status advise_tiles(dcli_report *report, const dcli_planned *planned)
{
    int first = planned->operation->body->owner;
    const dcl_map *map = dcl_map_of(planned->array[first]);
    const dcli_layout *layout = planned->operation->operand[first].layout;
    int64_t tasks = report->seen.planned.tasks, bytes = 0;
    for (int n = 0; n < report->seen.node_count; n++)
        bytes += report->node[n].elements * (int64_t)dcl_type_bytes(layout->grid.type);
    if (map->rule.tile_rank == 0 || tasks < NOTICED_TASKS || bytes / tasks >= TASK_BYTES)
        return DCL_OK;
    char tile[256];
    dcli_print_numbers(tile, sizeof tile, layout->grid.rank, layout->rule.tile, "x");
    return dcli_report_say(report,
                           "%" PRId64 " tasks compute %" PRId64 " bytes of %s each, as tiles are %s: a task costs more "
                           "than it computes; leave ;tile= out, or give tiles of %d bytes or more",
                           tasks, bytes / tasks, planned->operation->body->params[first].name, tile, TASK_BYTES);
}

/* ---- blocks ------------------------------------------------------------------------------------------------------- */

/* Blocks that would be counted if the array's map gave no block size. @param blocks_out  -1: not tried, as planning
 * takes long. */
static dcl_status try_chosen_blocks(const dcli_report *report, const dcli_planned *planned, int k, int64_t *blocks_out)
{
    const dcli_layout *layout = planned->operation->operand[k].layout;
    dcli_plan_terms terms = dcli_report_terms(planned->cluster, false);
    dcli_map_rule rule = layout->rule;
    dcli_layout other;
    dcl_counters sum;
    *blocks_out = -1;
    rule.block_rank = 0;
    if (!dcli_report_is_small(report, report->works) || dcli_layout_bind(&rule, &layout->grid, &other) != DCL_OK)
        return DCL_OK;
    dcl_status status = dcli_report_try_layout(planned, k, &other, &terms, &sum);
    dcli_layout_release(&other);
    if (status == DCL_OK && sum.bytes_moved >= 0)
        *blocks_out = sum.blocks_moved;
    return status;
}

static dcl_status advise_blocks_of(dcli_report *report, const dcli_planned *planned, int row)
{
    int k = report->param[row];
    const dcli_operand *operand = &planned->operation->operand[k];
    const dcli_layout *layout = operand->layout;
    int64_t bytes = (int64_t)dcl_type_bytes(layout->grid.type), moved = report->seen.planned.blocks_moved, blocks;
    if (dcl_map_of(planned->array[k])->rule.block_rank == 0 || operand->reshaped || layout->empty)
        return DCL_OK;
    for (int d = 0; d < layout->grid.rank; d++)
        bytes *= layout->rule.block[d];
    if (bytes >= DCLI_RUN_BYTES || report->array[row].bytes_moved / bytes < NOTICED_BLOCKS)
        return DCL_OK;
    dcl_status status = try_chosen_blocks(report, planned, k, &blocks);
    if (status != DCL_OK || blocks < 0 || blocks > moved / 2)
        return status;
    char block[256];
    dcli_print_numbers(block, sizeof block, layout->grid.rank, layout->rule.block, "x");
    return dcli_report_say(report,
                           "%s: blocks of %s have %" PRId64 " bytes, so %" PRId64 " are counted as moved for %" PRId64
                           " bytes; leave ;block= out, and %" PRId64 " are, or give blocks of %d bytes or more",
                           report->array[row].name, block, bytes, moved, report->seen.planned.bytes_moved, blocks,
                           DCLI_RUN_BYTES);
}

dcl_status dcli_report_advise_grains(dcli_report *report, const dcli_planned *planned)
{
    dcl_status status = advise_tiles(report, planned);
    for (int row = 0; row < report->seen.array_count && report->seen.node < 0 && status == DCL_OK; row++)
        status = advise_blocks_of(report, planned, row);
    return status;
}
