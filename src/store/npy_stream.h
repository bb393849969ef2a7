/* store/npy_stream.h - a .npy file passed through from its start to its end, for who has no part of the array: in
 * stretches of bounded length, each of which holds one box of the array in the order of the file. */
#ifndef DCLI_STORE_NPY_STREAM_H
#define DCLI_STORE_NPY_STREAM_H

#include "store/npy.h"

typedef struct dcli_npy_stream {
    const char *path; /* borrowed */
    dcl_npy_info info;
    int fd;
    int64_t origin[DCL_MAX_RANK]; /* of the array */
    int64_t pitch[DCL_MAX_RANK];  /* elements of the file from an index to the next, per axis */
    int axis[DCL_MAX_RANK];       /* slowest of the file first */
    int level;                    /* a stretch has one index of the axes before axis[level], all of those after */
    int64_t together;             /* indices of axis[level] in a stretch */
    int64_t most;                 /* elements of the longest stretch */
    int64_t at[DCL_MAX_RANK];     /* first index of the next stretch, counted from 0 */
    bool ended;
} dcli_npy_stream;

/** A stretch of the file and the box of the array that it holds. */
typedef struct dcli_npy_stretch {
    dcl_box box;                   /* in the array's index space */
    int64_t strides[DCL_MAX_RANK]; /* elements of the stretch from an index to the next, per axis */
    int64_t start_bytes, count;    /* where it begins in the file; elements */
} dcli_npy_stretch;

/** Begin with the first stretch of a file that `info` tells of (dcli_npy_inspect(), dcli_npy_begin()).
 *  @param fd          borrowed, as is the path. Nothing is to be ended.
 *  @param origin      [rank] of the array; the file counts from 0.
 *  @param most_bytes  of a stretch; one element is passed on even where it is longer. */
dcli_npy_stream dcli_npy_stream_begin(int fd, const char *path, const dcl_npy_info *info, const int64_t origin[],
                                      int64_t most_bytes);
/** The next stretch, in the order of the file. @return false after the last; at once where there is no element. */
bool dcli_npy_stream_next(dcli_npy_stream *stream, dcli_npy_stretch *stretch_out);
/** Read or write a stretch; bytes are swapped where the file has them so.
 *  @param elements  [stretch->count] in the order of the file; writing may leave them swapped.
 *  @return DCL_OK or DCL_ERR_FILE. */
dcl_status dcli_npy_stream_read(const dcli_npy_stream *stream, const dcli_npy_stretch *stretch, void *elements);
dcl_status dcli_npy_stream_write(const dcli_npy_stream *stream, const dcli_npy_stretch *stretch, void *elements);

#endif
