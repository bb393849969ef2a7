/* store/npy.h - .npy files: headers, and parts of arrays read and written by region. */
#ifndef DCLI_STORE_NPY_H
#define DCLI_STORE_NPY_H

#include <dcl/array.h>

#include "device/device.h"
#include "segment/region.h"

/* All take a file that is open (store/files.h) and its path, which is for messages only. */

/** Parse and check a header. @return as dcl_npy_inspect(). */
dcl_status dcli_npy_inspect(int fd, const char *path, dcl_npy_info *info_out);

/** Called after each piece of a file, of a few MB at most. NULL in its place: nobody wants to know. */
typedef struct dcli_npy_progress {
    void (*fn)(void *user);
    void *user;
} dcli_npy_progress;

/** Read a node's part: `regions` (offsets in the part's memory), disjoint boxes of info->grid's index space shifted by
 *  `origin` (the array's origin; the file counts from 0). Reads the file in large pieces with pread, only the stretches it needs,
 *  swapping bytes where info->swapped.
 *  @return DCL_OK, DCL_ERR_FILE (with path and the system's reason, or truncated meanwhile), DCL_ERR_NOMEM. */
dcl_status dcli_npy_load(int fd, const char *path, const dcl_npy_info *info, const int64_t origin[],
                         const dcli_region_list *regions, dcli_device *device, dcli_memory *memory,
                         const dcli_npy_progress *progress);

/** Write the header into an empty file and reserve its final length on disk.
 *  @param info_out   what dcli_npy_save() of each node needs.
 *  @param bytes_out  length of the file. */
dcl_status dcli_npy_begin(int fd, const char *path, const dcl_grid *grid, bool fortran_order, dcl_npy_info *info_out,
                          int64_t *bytes_out);
/** Write a node's part into a file begun by dcli_npy_begin(); nodes write at the same time, each its own elements only.
 *  A file that somebody shortens meanwhile is lengthened again. */
dcl_status dcli_npy_save(int fd, const char *path, const dcl_npy_info *info, const int64_t origin[],
                         const dcli_region_list *regions, dcli_device *device, dcli_memory *memory,
                         const dcli_npy_progress *progress);

#endif
