/* dcl/view.h - views: arrays without elements of their own. */
#ifndef DCL_VIEW_H
#define DCL_VIEW_H

#include <dcl/array.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A view is a handle for elements of another array, its *base*, under other indices. It is an array to every function:
 * loop bodies read and write it, dcl_read(), dcl_write(), dcl_fill(), dcl_load_npy() and dcl_save_npy() take it, and a view
 * of a view is a view. Nothing is copied when one is made, and no node hears of it; what an operation moves is decided by
 * where the base's elements are. The index space of a body whose first output is a view is the view's grid.
 *
 *   - What is written to a view is written to the base. A view with a broadcast axis cannot be written.
 *   - One operation may write a view and use others of the same base, or the base, where they have no element in common:
 *     else the rule for one array holds, the same subscripts under one name. With views of other shapes (dcl_reshape())
 *     that is not looked for: they count as having one.
 *   - A view follows its base: after dcl_swap() it shows what the base has become. dcl_swap() itself takes no views.
 *   - A view has its base's failures: writing all of a view heals the base where that is all of the base.
 *   - A base that is released lives on until its views are released. dcl_release() ends a view.
 *   - An axis of a view is periodic (dcl_map_halo()) where it shows all of a periodic axis of the base, by steps of 1 or -1 and
 *     under any numbers. Cut axes, and views of another shape, are not.
 *   - Files of views are always passed on by the program (as with DCL_FILES=stream).
 *
 * All functions here: @return the view, yours; NULL for a NULL array (the error stays), or with an error: DCL_ERR_INVALID,
 * DCL_ERR_RANGE (indices outside the array's grid), DCL_ERR_NOMEM. Cost: no message; O(rank). Arguments are borrowed. */

/** Reverse the order of the axes: element (i, j) of the view is element (j, i). */
DCL_API dcl_array *dcl_transpose(dcl_array *array);
/** Put the axes into another order. @param axes  [rank] axis n of the view is axis axes[n] of the array; each once. */
DCL_API dcl_array *dcl_permute(dcl_array *array, const int axes[]);
/** Every so many-th element: index t of axis d, from 0, stands for start[d] + t * stride[d].
 *  @param start   [rank] indices of the array.
 *  @param count   [rank] elements, >= 0.
 *  @param stride  [rank] not 0, negative ones go backwards; NULL: all 1. */
DCL_API dcl_array *dcl_slice(dcl_array *array, const int64_t start[], const int64_t count[], const int64_t stride[]);
/** A part of the grid under the indices that it has there. @param box  of stride 1, in the array's grid. */
DCL_API dcl_array *dcl_sub(dcl_array *array, const dcl_box *box);
/** Other numbers: element x of the array is element x + by of the view. @param by  [rank] */
DCL_API dcl_array *dcl_shift(dcl_array *array, const int64_t by[]);
/** One more axis, before axis `axis` (`axis` = rank: behind the last), with indices 0..extent-1 that all show the same. */
DCL_API dcl_array *dcl_broadcast(dcl_array *array, int axis, int64_t extent);
/** All elements in their row-major order as a grid of another shape, where no element has to move for that on any number of
 *  nodes: where the map divides nothing, or divides or deals the first axis alone, into runs that are whole rows of the new
 *  shape. Runs of `block` and of shares depend on the nodes: then old rows must be whole new ones. Padded rows
 *  (4 KB and more, pitch near a power of two) cannot be seen otherwise, nor can runs of different lengths be seen as such
 *  rows. It depends on grid and map alone.
 *  @param array   an array; of views, those that show all of one in its order.
 *  @param rank    1..DCL_MAX_RANK. @param extent  [rank], as many elements as the array has. The view's origin is 0.
 *  @return as above; NULL also with DCL_ERR_UNSUPPORTED: elements would have to move, and why: dcl_reshape_copy() moves them. After dcl_remap() of the
 *          base the same is found anew at each use. */
DCL_API dcl_array *dcl_reshape(dcl_array *array, int rank, const int64_t extent[]);
/** dcl_reshape() to one axis. */
DCL_API dcl_array *dcl_flatten(dcl_array *array);
/** A new array of another shape with the elements in their row-major order: where dcl_reshape() and dcl_flatten() are refused.
 *  @param array   an array or view. @param rank, extent  as of dcl_reshape().
 *  @param map     of the new array; NULL: whole rows, dealt over all nodes.
 *  @return the array, yours; NULL for a NULL array, or with an error, see above and dcl_agile(). Started when it returns.
 *          Moves each element up to three times, and has up to two more arrays of this size meanwhile. */
DCL_API dcl_array *dcl_reshape_copy(dcl_array *array, int rank, const int64_t extent[], dcl_map *map);
/** One index of an axis: the view has one axis less. @param array  of rank 2 or more. */
DCL_API dcl_array *dcl_take(dcl_array *array, int axis, int64_t index);

#ifdef __cplusplus
}
#endif
#endif
