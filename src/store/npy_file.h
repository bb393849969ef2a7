/* store/npy_file.h - shared by reading and writing .npy files: access to their bytes, and iteration over a part in file
 * order. */
#ifndef DCLI_STORE_NPY_FILE_H
#define DCLI_STORE_NPY_FILE_H

#include "store/npy.h"

enum {
    DCLI_NPY_SLAB_BYTES = 4 << 20, /* bytes of the file that are processed at a time */
    DCLI_NPY_RUN_BYTES = 4096      /* the cost of one system call, expressed as bytes copied */
};

/** Read or write exactly `bytes` bytes. @return DCL_OK, or DCL_ERR_FILE with the path and the reason. */
dcl_status dcli_npy_pread(int fd, const char *path, void *target, size_t bytes, int64_t at);
dcl_status dcli_npy_pwrite(int fd, const char *path, const void *source, size_t bytes, int64_t at);
/** Reverse the bytes of each element. */
void dcli_npy_swap(void *elements, int64_t count, size_t bytes);
/** The order and pitches of the axes in a file.
 *  @param axis_out   [rank] axes, the slowest in the file first.
 *  @param pitch_out  [rank] distance in the file between neighbours along an axis, in elements. */
void dcli_npy_axes(const dcl_npy_info *info, int axis_out[], int64_t pitch_out[]);

/** Iteration over a node's part in the order of the file. */
typedef struct dcli_npy_walk {
    const dcl_npy_info *info;
    const dcli_region *region;
    int64_t count;                     /* number of regions that are not empty */
    int64_t origin[DCL_MAX_RANK];      /* origin of the array's grid */
    int64_t pitch[DCL_MAX_RANK];       /* distance in the file between neighbours along an axis, in elements */
    int axis[DCL_MAX_RANK];            /* axes, the slowest in the file first */
    size_t bytes;                      /* bytes of an element */
    int64_t *order;                    /* [count] regions sorted by their first index along the slowest axis */
    int64_t *reach;                    /* [count] largest last index along the slowest axis among the regions up to
                                          this one */
    const dcli_npy_progress *progress; /* NULL: no callback */
} dcli_npy_walk;

/** A slab: a range of the file, at most DCLI_NPY_SLAB_BYTES long, that contains elements of the part. */
typedef struct dcli_npy_slab {
    const dcli_npy_walk *walk;
    dcli_region file;                 /* the box that the slab was cut for, with offsets from the slab's first
                                         element */
    int64_t start_bytes, bytes;       /* position and length in the file, from the first needed element to the last */
    int64_t needed, runs;             /* elements of the part in the slab, and the number of contiguous runs that
                                         they form */
    int64_t first_region, end_region; /* the regions walk->order[first_region .. end_region) may have elements in the
                                         slab */
} dcli_npy_slab;

/** Iterate over the pieces of the part in a slab. Start with *at = slab->first_region. @return false: there are no
 *  more.
 *  @param part_out  the piece in the part's memory.
 *  @param file_out  the piece in the slab. */
bool dcli_npy_next_piece(const dcli_npy_slab *slab, int64_t *at, dcli_region *part_out, dcli_region *file_out);

/** Callback for each slab; a value other than DCL_OK ends the iteration. */
typedef dcl_status dcli_npy_slab_fn(void *user, const dcli_npy_slab *slab);
/** Prepare an iteration; call dcli_npy_walk_end() also if this fails. Info, regions and progress (NULL: none) are
 *  borrowed until then.
 *  @return DCL_OK, DCL_ERR_NOMEM, DCL_ERR_FILE. */
dcl_status dcli_npy_walk_begin(const dcl_npy_info *info, const int64_t origin[], const dcli_region_list *regions,
                               const dcli_npy_progress *progress, dcli_npy_walk *walk);
/** Call `visit` for each slab. @return DCL_OK, or what `visit` returned. */
dcl_status dcli_npy_walk_slabs(const dcli_npy_walk *walk, dcli_npy_slab_fn *visit, void *user);
void dcli_npy_walk_end(dcli_npy_walk *walk);

/** Iteration over the contiguous runs of a piece. Start with dcli_npy_runs_of(); `offset` is the start of the current
 *  run. */
typedef struct dcli_npy_runs {
    int64_t length, offset; /* length and offset in elements */
    int outer;              /* number of axes that are counted through, the slowest first */
    int64_t count[DCL_MAX_RANK], step[DCL_MAX_RANK], at[DCL_MAX_RANK];
} dcli_npy_runs;

dcli_npy_runs dcli_npy_runs_of(const dcli_npy_walk *walk, const dcli_region *file);
/** Step to the next run. @return false after the last. */
bool dcli_npy_next_run(dcli_npy_runs *runs);
/** A region of the piece packed in the order of the file: its runs one after the other. */
dcli_region dcli_npy_packed(const dcli_npy_walk *walk, const dcl_box *box);

#endif
