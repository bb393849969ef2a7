/* store/npy.h - .npy files: headers, and parts of arrays read and written by region. */
#ifndef DCLI_STORE_NPY_H
#define DCLI_STORE_NPY_H

#include <dcl/array.h>

#include "device/device.h"
#include "segment/region.h"

/** Parse and check a header; see dcl_npy_inspect(), which only adds its name to the error. */
dcl_status dcli_npy_inspect(const char *path, dcl_npy_info *info_out);

/** Read a node's part: `regions` (offsets in the part's memory), disjoint boxes of info->grid's index space shifted by
 *  `origin` (the array's origin; the file counts from 0). Reads the file in large pieces with pread, only the stretches it needs,
 *  swapping bytes where info->swapped.
 *  @return DCL_OK, DCL_ERR_FILE (with path and the system's reason, or truncated meanwhile), DCL_ERR_NOMEM. */
dcl_status dcli_npy_load(const char *path, const dcl_npy_info *info, const int64_t origin[],
                         const dcli_region_list *regions, dcli_device *device, dcli_memory *memory);

/** Make `path` (a new file beside the target) with header and the final length reserved on disk.
 *  @param info_out  what dcli_npy_save() of each node needs. */
dcl_status dcli_npy_create(const char *path, const dcl_grid *grid, bool fortran_order, dcl_npy_info *info_out);
/** Write a node's part into a file made by dcli_npy_create(); nodes write at the same time, each its own elements only. */
dcl_status dcli_npy_save(const char *path, const dcl_npy_info *info, const int64_t origin[],
                         const dcli_region_list *regions, dcli_device *device, dcli_memory *memory);

#endif
