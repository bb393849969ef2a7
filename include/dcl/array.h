/* dcl/array.h - distributed arrays: the elements of a grid, stored across nodes by a map. */
#ifndef DCL_ARRAY_H
#define DCL_ARRAY_H

#include <dcl/map.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A distributed array, called agile because its map can be changed (dcl_remap()). Opaque handle; its contents are stored on
 *  the nodes. dcl/base.h says what a failed array is. */
typedef struct dcl_array dcl_array;

/** Make an array: the grid's elements, stored across the map's nodes, all zero.
 *  The nodes allocate the memory later. If a node has too little, the array fails. With DCL_SYNC=1 the call waits for the
 *  nodes; even if the array has failed, the call returns it, not NULL.
 *  @param grid  checked here: type, rank 1..DCL_MAX_RANK, extents >= 0, total bytes within int64_t.
 *  @param map   borrowed; the array keeps what it needs. NULL is passed through.
 *  @return the array, yours: dcl_release(); or NULL: DCL_ERR_INVALID (the grid; map and grid do not fit), DCL_ERR_NOMEM,
 *          DCL_ERR_UNSUPPORTED (half on a device that lacks it), DCL_ERR_NODE_LOST (elements would lie on a node that is
 *          lost: make a new map). Cost: one message per node at most. */
DCL_API dcl_array *dcl_agile(dcl_grid grid, dcl_map *map);

/** Release the array. Operations that were started, and calls of other threads, can still use it until they end. NULL is
 *  accepted. Releasing an array a second time changes nothing and is an error of this thread (dcl_error()). */
DCL_API void dcl_array_release(dcl_array *array);

/** The array's grid; for NULL a grid of rank 0. */
DCL_API dcl_grid dcl_grid_of(const dcl_array *array);
/** The array's map, borrowed, valid until the array is released or remapped. NULL for NULL. */
DCL_API const dcl_map *dcl_map_of(const dcl_array *array);
/** The array's cluster, borrowed. NULL for NULL. */
DCL_API dcl_cluster *dcl_cluster_of(const dcl_array *array);

/** Set every stored element to `*element`, which has the array's type. Started when it returns. */
DCL_API dcl_status dcl_fill(dcl_array *array, const void *element);

/** Write a box of the array: copy its elements from the program's memory.
 *  @param box      within the grid, of its rank; NULL: the whole grid.
 *  @param source   address of the element for the box's first index. Elements that are neighbours along
 *                  axis d of the box are strides[d] elements apart in host memory.
 *  @param strides  [rank] in elements, may be negative; NULL: packed, last axis fastest.
 *  @return DCL_OK, or DCL_ERR_INVALID, DCL_ERR_RANGE (the box leaves the grid, or one of its elements is stored nowhere:
 *          dcl_map_sparse()), DCL_ERR_NOMEM. When the call returns, with whatever status, the program may change or free
 *          `source`. A refused call changes nothing. */
DCL_API dcl_status dcl_write(dcl_array *array, const dcl_box *box, const void *source, const int64_t strides[]);

/** Read a box of the array: copy its elements to the program's memory. Returns when the elements are in `target`.
 *  Parameters are those of dcl_write(). Elements that are stored nowhere have the map's fill value: dcl_map_with_rest().
 *  @return DCL_OK, the errors of dcl_write(), or the error of a failed array. (Elements that are stored nowhere are no
 *          error here.) After an error the contents of `target` are undefined, and DCL does not write to it any more. There
 *          is one exception: if a body that accessed elements outside a grid has computed the array, the elements are in
 *          `target` although the status is DCL_ERR_RANGE. This lasts until the whole array is overwritten or
 *          dcl_clear_error() is called. A box that leaves the grid gives DCL_ERR_RANGE, too, but then nothing is copied;
 *          the error text says which of the two cases it is. */
DCL_API dcl_status dcl_read(dcl_array *array, const dcl_box *box, void *target, const int64_t strides[]);

/** Exchange the contents of two arrays of equal grid, type and map. Complete when it returns; no element is moved.
 *  (dcl_copy() copies between arrays of different maps.)
 *  @return DCL_OK, or DCL_ERR_INVALID when they differ. */
DCL_API dcl_status dcl_swap(dcl_array *a, dcl_array *b);

/** Let nodes retain replicas of elements that they receive. Then an element that a body has read on a node is not moved to this
 *  node again until the element is written or the array released. DCL_IN_KEPT() asks for the same for one argument of one call;
 *  dcl_move() makes replicas ahead of use. Every body that reads the array uses the replicas that exist, no matter which
 *  call made them.
 *
 *  Limits per node: replicas take at most config.kept_bytes. If a node already has 256 replicas of the arrays that a
 *  body reads (of all these arrays together), the body makes no further replica on that node. Elements beyond these
 *  limits are moved each time. (dcl_move() has a higher limit.)
 *
 *  A write drops the replicas that contain an element that it writes. When a node joins, or the program learns that an
 *  operation has failed, all replicas of all arrays are dropped. If an operation fails, some of the replicas that it should
 *  make can be missing. Until the program learns of the failure, later operations that need these replicas may fail, too.
 *  dcl_explain() takes replicas into account.
 *  @param array  borrowed. For a view, its base.
 *  @param keep   true: retain replicas from now on. false: stop, and drop all replicas of the array, also those that other
 *                calls asked for. Operations that were called before still use them.
 *  @return DCL_OK; DCL_ERR_INVALID (NULL). With `false` also DCL_ERR_NOMEM, or the error that broke the cluster (dcl/base.h).
 *          Started when it returns. */
DCL_API dcl_status dcl_keep(dcl_array *array, bool keep);

/** When an idle node may run batches of a loop body for another one (docs/stealing.md). */
typedef enum dcl_steal_policy {
    DCL_STEAL_DEFAULT, /**< as the session's setting, DCL_STEAL */
    DCL_STEAL_NEVER,
    DCL_STEAL_PAYS,  /**< if that is expected to save time */
    DCL_STEAL_ALWAYS /**< whenever there are any batches: for tests */
} dcl_steal_policy;

/** Set the stealing policy of later calls whose first output is `array` or a view of it. DCL_STEALING() in a call overrides
 *  this policy. If the setting DCL_STEAL of the session is "never", nothing is lent, whatever the policy.
 *  @return DCL_OK; DCL_ERR_INVALID (NULL, another policy). Cost: none; no message. */
DCL_API dcl_status dcl_steal(dcl_array *array, dcl_steal_policy policy);

/** Wait until every operation that writes or reads this array is complete.
 *  @param seconds  longest wait; negative: only `wait_ms` limits the wait.
 *  @return DCL_OK, DCL_ERR_TIMEOUT, the error of a failed array, or DCL_ERR_RANGE as for dcl_read(). */
DCL_API dcl_status dcl_wait_for(dcl_array *array, double seconds);

/** The header of a .npy file. */
typedef struct dcl_npy_info {
    dcl_grid grid;      /**< type, rank and extents; origin 0 */
    bool fortran_order; /**< first axis fastest in the file */
    bool swapped;       /**< the byte order of the elements is the reverse of this host's */
    int64_t data_start; /**< bytes from the start of the file to the first element */
} dcl_npy_info;

/** Read the header of a .npy file (format 1.0, 2.0 or 3.0) and check that the file is as long as it says.
 *  @return DCL_OK; DCL_ERR_FILE (missing, truncated, not .npy, an element type that DCL does not have, such as object); the
 *          error text names the path. Source: NumPy Enhancement Proposal 1. */
DCL_API dcl_status dcl_npy_inspect(const char *path, dcl_npy_info *info_out);

/** Load a .npy file of the array's type and shape. Complete when it returns.
 *  Each node reads its own part of the file if all nodes can see the file. Threads of the program and processes of local:N
 *  can. Nodes of workers can if every worker was started with a folder of files (dcl_worker_config.files), and the file is in
 *  this folder, under the same absolute path as on the program's host. Otherwise the program reads the file and sends the
 *  elements to the nodes. DCL_FILES selects one of these two ways. If the map stores only some elements, the others are passed over.
 *  @return DCL_OK; DCL_ERR_FILE (as dcl_npy_inspect(), or another type or shape), DCL_ERR_INVALID. A refused call changes
 *          nothing. A call that fails in the middle of the file fails the array. */
DCL_API dcl_status dcl_load_npy(dcl_array *array, const char *path);
/** Save the array as .npy, in C order and little-endian. Waits for the array. The file is written under another name in the
 *  same folder and then renamed to `path`; an existing file or link of that name is replaced. The call returns when file and
 *  name are on the disk. If a process is killed, the disk is full or the power fails, `path` has either the old contents or
 *  the new ones, never a mixture. The program must be allowed to read and write the folder.
 *  The nodes or the program write the file, chosen as for dcl_load_npy(). In two more cases the program writes it instead
 *  of the nodes:
 *    - the nodes' parts are short runs in the file: less than 64 KB each (less than 512 bytes for workers over tcp);
 *    - some elements are stored nowhere. In the file they have the map's fill value.
 *  @return DCL_OK; DCL_ERR_FILE; DCL_ERR_RANGE (see dcl_read()); the error of a failed array. After an error `path` has
 *          its old contents, except in two cases. After DCL_ERR_RANGE it has the new ones. If only the folder could not be
 *          flushed to the disk, the call returns DCL_ERR_FILE, `path` has the new contents, and the error text says so. */
DCL_API dcl_status dcl_save_npy(dcl_array *array, const char *path);
/** dcl_save_npy() with a choice of order: if `fortran_order` is true, the first axis is fastest in the file. */
DCL_API dcl_status dcl_save_npy_order(dcl_array *array, const char *path, bool fortran_order);

#ifdef __cplusplus
}
/** Release an array or a map. */
static inline void dcl_release(dcl_array *array) { dcl_array_release(array); }
static inline void dcl_release(dcl_map *map) { dcl_map_release(map); }
#else
/* clang-format off */
/** Release an array or a map: dcl_array_release() or dcl_map_release(). */
#define dcl_release(object) _Generic((object), dcl_array *: dcl_array_release, dcl_map *: dcl_map_release)(object)
/* clang-format on */
#endif
#endif
