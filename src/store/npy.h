/* store/npy.h - .npy files: headers, and parts of arrays read and written by region. */
#ifndef DCLI_STORE_NPY_H
#define DCLI_STORE_NPY_H

#include <dcl/array.h>

#include "base/helpers.h"
#include "device/device.h"
#include "segment/region.h"

/* ---- all functions take an open file (store/files.h), and its path for messages ---- */

/** Parse and check a header. @return as dcl_npy_inspect(). */
dcl_status dcli_npy_inspect(int fd, const char *path, dcl_npy_info *info_out);

/** Callback after each few MB of a file. NULL: no callback. */
typedef struct dcli_npy_progress {
    void (*fn)(void *user);
    void *user;
} dcli_npy_progress;

/** Read a node's part of a file into memory. `regions` are disjoint boxes of info->grid's index space, shifted by
 *  `origin` (the array's origin; the file counts from 0), with their offsets in the part's memory. Reads only the
 *  needed ranges of the file, in large pieces with pread, and swaps bytes if info->swapped. If the device has memory of
 *  its own, its last copies may still run when this returns, in order with launches.
 *  @param helpers  read the file, if the device has memory of its own.
 *  @return DCL_OK, DCL_ERR_FILE (with path and the system's reason, or truncated meanwhile), DCL_ERR_NOMEM. */
dcl_status dcli_npy_load(int fd, const char *path, const dcl_npy_info *info, const int64_t origin[],
                         const dcli_region_list *regions, dcli_device *device, dcli_memory *memory,
                         dcli_helpers *helpers, const dcli_npy_progress *progress);

/** Write the header into an empty file and allocate its final length on the disk.
 *  @param info_out   passed to dcli_npy_save() of each node.
 *  @param bytes_out  length of the file. */
dcl_status dcli_npy_begin(int fd, const char *path, const dcl_grid *grid, bool fortran_order, dcl_npy_info *info_out,
                          int64_t *bytes_out);
/** Write a node's part into a file begun by dcli_npy_begin(). Nodes write at the same time, each only its own elements.
 *  If somebody shortens the file meanwhile, it is lengthened again. */
dcl_status dcli_npy_save(int fd, const char *path, const dcl_npy_info *info, const int64_t origin[],
                         const dcli_region_list *regions, dcli_device *device, dcli_memory *memory,
                         const dcli_npy_progress *progress);

#endif
