/* dcl/array.h - agile arrays: the elements of a grid, stored across nodes by a map. */
#ifndef DCL_ARRAY_H
#define DCL_ARRAY_H

#include <dcl/map.h>

#ifdef __cplusplus
extern "C" {
#endif

/** An agile array. Opaque handle; its contents live on the nodes. */
typedef struct dcl_array dcl_array;

/** Make an array: the grid's elements across the map's nodes, all zero.
 *  The memory is taken asynchronously; a node that has none fails the array (see dcl_status_of()). Also
 *  with DCL_SYNC=1, where that is known at once, the failed array is returned, not NULL.
 *  @param grid  checked here: type, rank 1..DCL_MAX_RANK, extents >= 0, total bytes within int64_t.
 *  @param map   borrowed; the array keeps what it needs. NULL is passed through.
 *  @return the array, yours: dcl_release(); or NULL: DCL_ERR_INVALID (grid, map and grid do not fit), DCL_ERR_NOMEM,
 *          DCL_ERR_UNSUPPORTED (half on a device that lacks it), DCL_ERR_NODE_LOST (a node that the map lays the grid
 *          over: make the map anew). Cost: one message per worker at most. */
DCL_API dcl_array *dcl_agile(dcl_grid grid, dcl_map *map);

/** End your hold on the array; started operations, and calls of other threads, that use it run to their end first. NULL is
 *  accepted. Of an array that has been released: nothing, but an error of this thread (dcl_error()). */
DCL_API void dcl_array_release(dcl_array *array);

/** The array's grid. Of NULL: a grid of rank 0. */
DCL_API dcl_grid dcl_grid_of(const dcl_array *array);
/** The array's map, borrowed, valid until the array is released or remapped. NULL for NULL. */
DCL_API const dcl_map *dcl_map_of(const dcl_array *array);
/** The array's cluster, borrowed. NULL for NULL. */
DCL_API dcl_cluster *dcl_cluster_of(const dcl_array *array);

/** Set every element that is stored to `*element` (one element of the array's type). Started when it returns. */
DCL_API dcl_status dcl_fill(dcl_array *array, const void *element);

/** Copy a box of the array from host memory.
 *  @param box      within the grid, of its rank; NULL: the whole grid.
 *  @param source   element of the box's first index; element t of axis d lies t * stride[d] elements further on.
 *  @param strides  [rank] in elements, may be negative; NULL: packed, last axis fastest.
 *  @return DCL_OK, or DCL_ERR_INVALID, DCL_ERR_RANGE (box outside the grid, or an element of it is stored nowhere:
 *          dcl_map_sparse()), DCL_ERR_NOMEM. Whatever it is, `source` may change again, or be freed. A call that is refused
 *          changes nothing. */
DCL_API dcl_status dcl_write(dcl_array *array, const dcl_box *box, const void *source, const int64_t strides[]);

/** Copy a box of the array to host memory. Waits until it is there. Parameters as dcl_write(). Elements that are stored
 *  nowhere are what the map declares: dcl_map_with_rest().
 *  @return DCL_OK; besides dcl_write()'s errors, the error of a failed array. `target` is then undefined, and
 *          nothing writes to it any more. DCL_ERR_RANGE, with the elements in `target`, as long as they are the result of a
 *          body that read or wrote outside: until the array is overwritten as a whole, or dcl_clear_error(). */
DCL_API dcl_status dcl_read(dcl_array *array, const dcl_box *box, void *target, const int64_t strides[]);

/** Exchange the contents of two arrays of equal grid, type and map, without moving any. At once. (dcl_copy() copies
 *  between arrays of different maps.)
 *  @return DCL_OK, or DCL_ERR_INVALID when they differ. */
DCL_API dcl_status dcl_swap(dcl_array *a, dcl_array *b);

/** Have nodes keep what they receive of an array: what a body has read of it anywhere is not moved there again, until it is
 *  written, or dcl_release()d. DCL_IN_KEPT() says the same of one argument; dcl_move() makes copies ahead of use. Every
 *  body that reads the array uses the copies that are there, whoever asked for them.
 *  A node keeps at most config.kept_bytes, and at most 256 boxes for an operation: what does not fit, or lies in more and
 *  smaller pieces, is moved each time. A write drops the copies that it touches; a failed operation, and a node that joins,
 *  drop all. Operations that were called after one that fails, and before its failure was known, may fail too for want of a
 *  copy. dcl_explain() knows what is kept.
 *  @param array  borrowed; a view: of the array behind it.
 *  @param keep   false: from now on not, and the copies that there are, by whatever call, are dropped in the order of the
 *                program: what was called before still uses them.
 *  @return DCL_OK; DCL_ERR_INVALID (NULL); `false`: what broke the cluster, DCL_ERR_NOMEM. Started when it returns. */
DCL_API dcl_status dcl_keep(dcl_array *array, bool keep);

/** Wait until every operation that writes or reads this array is complete.
 *  @param seconds  longest wait; negative: as long as it takes.
 *  @return DCL_OK, DCL_ERR_TIMEOUT, the error of the failed array, or DCL_ERR_RANGE as dcl_read(). */
DCL_API dcl_status dcl_wait_for(dcl_array *array, double seconds);

/** What a .npy file holds. */
typedef struct dcl_npy_info {
    dcl_grid grid;      /**< type, rank and extents; origin 0 */
    bool fortran_order; /**< first axis fastest in the file */
    bool swapped;       /**< bytes of an element in the order this host does not use */
    int64_t data_start; /**< bytes from the start of the file to the first element */
} dcl_npy_info;

/** Read the header of a .npy file (format 1.0, 2.0 or 3.0) and check that the file is as long as it says.
 *  @return DCL_OK; DCL_ERR_FILE (missing, truncated, not .npy, an element type DCL has not, e.g. object), naming the
 *          path. Source: NumPy Enhancement Proposal 1. */
DCL_API dcl_status dcl_npy_inspect(const char *path, dcl_npy_info *info_out);

/** Load a .npy file; type and shape must be the array's.
 *  Nodes that see the file read it, each its own part: threads of the program, processes of this host, and workers
 *  elsewhere where all were started with a folder of files in which they find it, by the same path. Else the program
 *  reads it and streams it to them. DCL_FILES decides otherwise.
 *  Of a map that stores only some elements these are taken, and the others passed over.
 *  Returns when the file may change: complete.
 *  @return DCL_OK; DCL_ERR_FILE (as dcl_npy_inspect(), or another type or shape), DCL_ERR_INVALID. A call that is refused
 *          changes nothing; one that fails in the middle of the file fails the array. */
DCL_API dcl_status dcl_load_npy(dcl_array *array, const char *path);
/** Save as .npy, C order, little-endian. Waits for the array; writes beside `path` and renames, so that a link or a file
 *  of that name is replaced. Returns when the file and its name are on the disk: whatever is killed, fills up or loses power,
 *  `path` names the old contents or the new ones, whole. The folder must be one that the program may read and write.
 *  Who writes: as dcl_load_npy(); the program also writes what nodes have in short runs only (less than 64 KB of the file
 *  each; of workers over tcp 512 bytes), and arrays of which some elements are stored nowhere, with the declared value for these.
 *  @return DCL_OK; DCL_ERR_FILE, or the error of a failed array: `path` is then as it was, unless the sentence says that the
 *          new file is in its place and only its folder could not be written to the disk; DCL_ERR_RANGE as dcl_read(): the
 *          file is written. */
DCL_API dcl_status dcl_save_npy(dcl_array *array, const char *path);
/** dcl_save_npy() with a choice of order: `fortran_order` true stores the first axis fastest. */
DCL_API dcl_status dcl_save_npy_order(dcl_array *array, const char *path, bool fortran_order);

#ifdef __cplusplus
}
/** End your hold on an array or a map. */
static inline void dcl_release(dcl_array *array) { dcl_array_release(array); }
static inline void dcl_release(dcl_map *map) { dcl_map_release(map); }
#else
/* clang-format off */
/** End your hold on an array or a map: dcl_array_release() or dcl_map_release(). */
#define dcl_release(object) _Generic((object), dcl_array *: dcl_array_release, dcl_map *: dcl_map_release)(object)
/* clang-format on */
#endif
#endif
