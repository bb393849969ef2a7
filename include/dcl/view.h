/* dcl/view.h - views: arrays without elements of their own. */
#ifndef DCL_VIEW_H
#define DCL_VIEW_H

#include <dcl/array.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A view shows elements of another array, its *base*, under other indices. Views can be used like arrays: loop bodies read
 * and write them, and so do dcl_read(), dcl_write(), dcl_fill(), dcl_load_npy() and dcl_save_npy(). You can make views of
 * views. Making a view copies nothing and sends no message. The owners of the base's elements determine what an operation on
 * a view moves. If the first output of a body is a view, the body runs over the view's grid.
 *
 *   - Writing to a view writes to the base. A view with a broadcast axis cannot be written.
 *   - A body may write some elements of a base and access others, through several views or through a view and the base
 *     itself. For example, it may write the left half and read the right half. But an element that the body writes must be
 *     accessed through one argument only, with the same subscripts everywhere (dcl_forall()). To check this, DCL compares
 *     the boxes that the accesses reach. It cannot compare a reshaped view (dcl_reshape()) with its base or with a view of
 *     another shape, so a body that accesses both may write neither.
 *   - A view follows its base: after dcl_swap() it shows the base's new contents. dcl_swap() itself takes no views.
 *   - If the base has failed, its views have failed. If a view shows every element of the base, one operation that
 *     writes all of the view makes the base valid again.
 *   - A base that is released lives on until its views are released. dcl_release() releases a view.
 *   - An axis of a view is periodic (dcl_map_halo()) if it shows all of a periodic axis of the base in steps of 1 or -1. Axes
 *     that are cut, and those of reshaped views, are not periodic.
 *   - The program itself loads and saves files of views (as with DCL_FILES=stream).
 *
 * All functions return the view, yours; or NULL. With a NULL array they return NULL and leave the error as it is. Errors are
 * DCL_ERR_INVALID, DCL_ERR_RANGE (indices outside the array's grid) and DCL_ERR_NOMEM. Cost: no message; O(rank). Arguments
 * are borrowed. */

/** Reverse the order of the axes: element (i, j) of the view is element (j, i). */
DCL_API dcl_array *dcl_transpose(dcl_array *array);
/** Put the axes into another order. @param axes  [rank] axis n of the view is axis axes[n] of the array; each once. */
DCL_API dcl_array *dcl_permute(dcl_array *array, const int axes[]);
/** Take a strided slice: index t = 0, 1, ... of axis d of the view is index start[d] + t * stride[d] of the array.
 *  @param start   [rank] indices of the array.
 *  @param count   [rank] elements of the view along each axis, >= 0.
 *  @param stride  [rank] not 0; negative strides go backwards; NULL: all 1. */
DCL_API dcl_array *dcl_slice(dcl_array *array, const int64_t start[], const int64_t count[], const int64_t stride[]);
/** Take a part of the grid; its indices stay the same. @param box  of stride 1, in the array's grid. */
DCL_API dcl_array *dcl_sub(dcl_array *array, const dcl_box *box);
/** Number the indices anew: element x of the array is element x + by of the view. @param by  [rank] */
DCL_API dcl_array *dcl_shift(dcl_array *array, const int64_t by[]);
/** Add an axis before axis `axis`, or after the last one if `axis` is the rank. All its indices 0..extent-1 show the same
 *  elements. */
DCL_API dcl_array *dcl_broadcast(dcl_array *array, int axis, int64_t extent);
/** Show all elements, in row-major order, as a grid of another shape, if no element has to move for that. Whether a
 *  reshape is possible does not depend on the number of nodes: it is refused if there is any number of nodes for which
 *  an element would have to move. Here, a *row* is the set of all elements with the same first index. A reshape is
 *  possible in four cases:
 *    - the map divides no axis;
 *    - the map divides only the first axis, by `block(n)`, `cyclic` or `splits`, and each run consists of whole rows of the
 *      new shape;
 *    - the map deals pieces of whole rows by DCL_DEAL_CYCLIC, DCL_DEAL_BLOCK or DCL_DEAL_HASH, and each piece consists of
 *      whole rows of the new shape;
 *    - the map divides only the first axis, by `weighted` or by `block` without a size, so that the runs depend on the
 *      number of nodes; and each row of the old shape consists of whole rows of the new shape.
 *  Under lists of owners or boxes, and under replicated maps, no reshape is possible. Arrays with padded rows
 *  (dcl_map_locate()) cannot be reshaped. A new shape with padded rows is also refused under `weighted` and `splits`.
 *  Under `block` without a size, it is refused if the rows of the new shape have another number of elements than those of
 *  the array. The reason is that the runs of these maps can have different lengths.
 *  @param array   an array, or a view that shows all elements of an array in their order.
 *  @param rank    1..DCL_MAX_RANK.
 *  @param extent  [rank] of the new shape, which must have as many elements as the array. The view's origin is 0.
 *  @return as above. NULL also with DCL_ERR_UNSUPPORTED if the reshape is not possible; the error text says why, and
 *          dcl_reshape_copy() can be used instead. After a dcl_remap() of the base, each use of the view checks this again. */
DCL_API dcl_array *dcl_reshape(dcl_array *array, int rank, const int64_t extent[]);
/** dcl_reshape() to one axis. */
DCL_API dcl_array *dcl_flatten(dcl_array *array);
/** Make a new array of another shape with the same elements in row-major order, for cases that dcl_reshape() refuses.
 *  @param array         an array or view.
 *  @param rank, extent  as for dcl_reshape().
 *  @param map           of the new array; NULL: whole rows, dealt over all nodes.
 *  @return the array, yours; NULL for a NULL array, or with an error: see above and dcl_agile(). Started when it returns.
 *  Cost: each element moves up to three times; meanwhile up to two further arrays of this size exist. */
DCL_API dcl_array *dcl_reshape_copy(dcl_array *array, int rank, const int64_t extent[], dcl_map *map);
/** Fix one index of an axis; the view has one axis less. @param array  of rank 2 or more. */
DCL_API dcl_array *dcl_take(dcl_array *array, int axis, int64_t index);

#ifdef __cplusplus
}
#endif
#endif
