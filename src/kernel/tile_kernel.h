/* kernel/tile_kernel.h - a tile kernel: OpenCL C for one work-item, run for every tile, with local indices and without
 * checks.
 *
 * It is a dcli_body with `tile_kernel` set, with one access per array, in the order of the parameters. Outputs, and
 * inputs with DCL_ACCESS_IN, have the box of the tile, like affine accesses at the plain indices. Elements that an
 * output's kernel does not write keep their values, so all outputs are conditional. Other inputs have their declared
 * reach. */
#ifndef DCLI_KERNEL_TILE_KERNEL_H
#define DCLI_KERNEL_TILE_KERNEL_H

#include "kernel/body.h"

/** Parse and check a tile kernel; parameters and errors as in dcli_body_parse().
 *  @param items  sizes of 0 or more; of a group none or all are 0. */
dcl_status dcli_tile_kernel_parse(const char *text, const char *prelude, int count, const dcli_param params[],
                                  const dcli_items *items, dcli_body **body_out);

/** Whether DCL_GROUP was given. */
static inline bool dcli_items_grouped(const dcli_items *items) { return items->group[0] > 0; }

/** Whether dcl_unit may run a row: along their last axes all arrays are contiguous. (Kernels of both forms get a row by
 *  value, after the arguments common to all kernels, and then the report.) */
bool dcli_tile_row_is_unit(const dcli_body *body, const int64_t row[]);

enum { DCLI_MOST_GROUPS = 65535 }; /* limit of GPUs for dimensions 1 and 2 of a launch */

/** Find the size of the launch for one box, which always has three dimensions. @param count  [space_rank] of the
 *  box. */
void dcli_tile_launch_size(const dcli_body *body, dcli_form form, const int64_t count[],
                           size_t global_out[DCLI_ITEM_DIMENSIONS], size_t local_out[DCLI_ITEM_DIMENSIONS]);

#endif
