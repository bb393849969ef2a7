/* store/npy_stream.h - a .npy file from its start to its end, for a process that stores no part of the array: in
 * stretches of bounded length, each of which holds one box of the array in the order of the file. */
#ifndef DCLI_STORE_NPY_STREAM_H
#define DCLI_STORE_NPY_STREAM_H

#include "store/npy.h"

typedef struct dcli_npy_stream {
    const char *path; /* path of the file, for error texts; borrowed */
    dcl_npy_info info;
    int fd;
    int64_t origin[DCL_MAX_RANK]; /* origin of the array's grid */
    int64_t pitch[DCL_MAX_RANK];  /* distance in the file between neighbours along an axis, in elements */
    int axis[DCL_MAX_RANK];       /* axes, the slowest in the file first */
    int level;                    /* axis[level] is the one that is cut: a stretch has one index of each slower axis
                                     and all indices of each faster one */
    int64_t together;             /* number of indices of axis[level] in a stretch */
    int64_t most;                 /* elements of the longest stretch */
    int64_t at[DCL_MAX_RANK];     /* first index of the next stretch, counted from 0 */
    bool ended;
} dcli_npy_stream;

/** A stretch of the file and the box of the array that it holds. */
typedef struct dcli_npy_stretch {
    dcl_box box;                   /* box of the stretch, in the array's index space */
    int64_t strides[DCL_MAX_RANK]; /* distance in the stretch between neighbours along an axis, in elements */
    int64_t start_bytes, count;    /* position in the file; number of elements */
} dcli_npy_stretch;

/** Begin with the first stretch of a file. The stream owns nothing that must be freed.
 *  @param fd          borrowed, and so is the path.
 *  @param info        from dcli_npy_inspect() or dcli_npy_begin().
 *  @param origin      [rank] of the array; the file counts from 0.
 *  @param most_bytes  length limit of a stretch; it contains at least one element even if that is longer. */
dcli_npy_stream dcli_npy_stream_begin(int fd, const char *path, const dcl_npy_info *info, const int64_t origin[],
                                      int64_t most_bytes);
/** Step to the next stretch, in the order of the file. @return false after the last, or if the array is empty. */
bool dcli_npy_stream_next(dcli_npy_stream *stream, dcli_npy_stretch *stretch_out);
/** Read or write the elements of a stretch; bytes are swapped if the file has the other byte order.
 *  @param elements  [stretch->count] in the order of the file; writing may leave them swapped.
 *  @return DCL_OK or DCL_ERR_FILE. */
dcl_status dcli_npy_stream_read(const dcli_npy_stream *stream, const dcli_npy_stretch *stretch, void *elements);
dcl_status dcli_npy_stream_write(const dcli_npy_stream *stream, const dcli_npy_stretch *stretch, void *elements);

#endif
