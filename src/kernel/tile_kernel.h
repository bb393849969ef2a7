/* kernel/tile_kernel.h - a kernel that is run for every tile: OpenCL C for one work-item, local indices, nothing checked.
 *
 * It is a dcli_body with `tile_kernel` set: one access per array, in the order of the parameters. Outputs and inputs with
 * DCL_ACCESS_IN have the box of the tile, as affine accesses at the plain indices; what an output's kernel leaves alone
 * stays, so they all are conditional. Others have their declared reach. */
#ifndef DCLI_KERNEL_TILE_KERNEL_H
#define DCLI_KERNEL_TILE_KERNEL_H

#include "kernel/body.h"

/** Parse and check; parameters and errors as dcli_body_parse() has them.
 *  @param items  sizes of 0 or more; of a group none or all are 0. */
dcl_status dcli_tile_kernel_parse(const char *text, const char *prelude, int count, const dcli_param params[],
                                  const dcli_items *items, dcli_body **body_out);

/** Whether DCL_GROUP was given. */
static inline bool dcli_items_grouped(const dcli_items *items) { return items->group[0] > 0; }

/* A row (dcli_row_field) is passed by value in either form; then comes the report. */

/** Whether the last axes of all arrays lie contiguously: then dcl_unit may run the row. */
bool dcli_tile_row_is_unit(const dcli_body *body, const int64_t row[]);

enum { DCLI_MOST_GROUPS = 65535 }; /* that GPUs let dimensions 1 and 2 of a launch have */

/** The sizes of the launch of one box, always of three dimensions. @param count  [space_rank] of the box. */
void dcli_tile_launch_size(const dcli_body *body, dcli_form form, const int64_t count[],
                           size_t global_out[DCLI_ITEM_DIMENSIONS], size_t local_out[DCLI_ITEM_DIMENSIONS]);

#endif
