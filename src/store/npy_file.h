/* store/npy_file.h - what reading and writing .npy files share: their bytes, and walking through a part in file order. */
#ifndef DCLI_STORE_NPY_FILE_H
#define DCLI_STORE_NPY_FILE_H

#include "store/npy.h"

enum {
    DCLI_NPY_SLAB_BYTES = 4 << 20, /* of the file, handled at once */
    DCLI_NPY_RUN_BYTES = 4096      /* reading or writing a run costs about as much as copying so many bytes */
};

/** Read or write exactly so many bytes. @return DCL_OK, or DCL_ERR_FILE with the path and the reason. */
dcl_status dcli_npy_pread(int fd, const char *path, void *target, size_t bytes, int64_t at);
dcl_status dcli_npy_pwrite(int fd, const char *path, const void *source, size_t bytes, int64_t at);
/** Reverse the bytes of each element. */
void dcli_npy_swap(void *elements, int64_t count, size_t bytes);
/** @param axis_out   [rank] axes, slowest of the file first.
 *  @param pitch_out  [rank] elements of the file from an index to the next, per axis. */
void dcli_npy_axes(const dcl_npy_info *info, int axis_out[], int64_t pitch_out[]);

/** A part walked through in the order of the file. */
typedef struct dcli_npy_walk {
    const dcl_npy_info *info;
    const dcli_region *region;
    int64_t count;                     /* of regions */
    int64_t origin[DCL_MAX_RANK];      /* of the array */
    int64_t pitch[DCL_MAX_RANK];       /* elements of the file from an index to the next, per axis */
    int axis[DCL_MAX_RANK];            /* slowest of the file first */
    size_t bytes;                      /* of an element */
    int64_t *order;                    /* [count] regions by their first index along the slowest axis */
    int64_t *reach;                    /* [count] largest last index along it of the regions so far */
    const dcli_npy_progress *progress; /* or NULL */
} dcli_npy_walk;

/** A stretch of the file that holds elements of the part, at most DCLI_NPY_SLAB_BYTES long. */
typedef struct dcli_npy_slab {
    const dcli_npy_walk *walk;
    dcli_region file;                 /* the box it was cut for; offsets count from the stretch's first element */
    int64_t start_bytes, bytes;       /* in the file: from the first needed element to the last */
    int64_t needed, runs;             /* elements of the part in it, and contiguous runs they lie in */
    int64_t first_region, end_region; /* among walk->order */
} dcli_npy_slab;

/** Step through the pieces of the part in a slab. Start with *at = slab->first_region.
 *  @param part_out  where the piece lies in the part's memory. @param file_out  where in the stretch. */
bool dcli_npy_next_piece(const dcli_npy_slab *slab, int64_t *at, dcli_region *part_out, dcli_region *file_out);

/** Called with one slab after the other; a value other than DCL_OK ends the walk. */
typedef dcl_status dcli_npy_slab_fn(void *user, const dcli_npy_slab *slab);
/** @return DCL_OK, DCL_ERR_NOMEM, or what `visit` returned. */
dcl_status dcli_npy_walk_slabs(const dcl_npy_info *info, const int64_t origin[], const dcli_region_list *regions,
                               const dcli_npy_progress *progress, dcli_npy_slab_fn *visit, void *user);

/** The contiguous runs of a piece. Start with dcli_npy_runs_of(); offset is where the current run begins. */
typedef struct dcli_npy_runs {
    int64_t length, offset; /* in elements */
    int outer;              /* axes counted through, slowest first */
    int64_t count[DCL_MAX_RANK], step[DCL_MAX_RANK], at[DCL_MAX_RANK];
} dcli_npy_runs;

dcli_npy_runs dcli_npy_runs_of(const dcli_npy_walk *walk, const dcli_region *file);
/** @return false after the last. */
bool dcli_npy_next_run(dcli_npy_runs *runs);
/** The piece packed in the order of the file: its runs one after the other. */
dcli_region dcli_npy_packed(const dcli_npy_walk *walk, const dcl_box *box);

#endif
