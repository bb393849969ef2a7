/* dcl/local.h - the local view of a distributed array: visit an array's tiles by node, and prefetch elements to a node. */
#ifndef DCL_LOCAL_H
#define DCL_LOCAL_H

#include <dcl/call.h>
#include <dcl/grain.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Visit the tiles that the tasks of a node compute when the array is the first output of a body: dcl_map_tiles() with
 *  the array's map and grid. The walk uses the map at the time of the call, even if `visit` calls dcl_remap().
 *  @param array  borrowed. A view: boxes are in the view's indices. Tiles of its base that the view does not show are
 *                skipped; the others keep their numbers.
 *  @param node   0..node_count-1, or DCL_ALL_NODES: one node after the other.
 *  @param visit  called in this thread, with no lock held: it may call any function except dcl_close() of this
 *                cluster.
 *  @return DCL_OK, DCL_ERR_INVALID, DCL_ERR_NOMEM, DCL_ERR_UNSUPPORTED (a reshaped view whose base now has a map that
 *          no longer fits the new shape: dcl_reshape()), or what `visit` returned. */
DCL_API dcl_status dcl_tiles(const dcl_array *array, int node, dcl_tile_fn *visit, void *user);

/** Prefetch the elements of a box to a node. The node makes replicas of the elements that it does not own. Bodies that
 *  read these elements on this node use the replicas and move nothing, until the elements are written or the replicas
 *  dropped (dcl_keep(array, false)). When an operation fails, or a node joins, all replicas of all arrays are dropped.
 *  Elements that the node already has are not moved again. A call that has nothing to move sends no message.
 *
 *  Order: a move sees the elements as all earlier calls have written them. The node requests the data as soon as it
 *  knows the call, and each owner sends it when the earlier writes are done. Meanwhile the node can compute tasks of
 *  earlier calls. It copies the data into the replica after it has started all tasks of earlier calls, and before it
 *  starts those of later calls (docs/local-view.md).
 *
 *  Memory: if more than half of the box is one contiguous box that the node itself owns, replicas are made of the rest
 *  only. Otherwise the replica contains the whole box, also elements that the node owns. Replicas count against
 *  config.kept_bytes (DCL_KEPT_BYTES), except where the map itself asks for replicas (dcl_map_replicated()). A call that would
 *  give a node replicas of more than 1024 boxes of an array is refused with DCL_ERR_NOMEM. dcl_copy() and
 *  dcl_remap() do not use replicas.
 *  @param array  an array or a view, but not a reshaped one (dcl_reshape()).
 *  @param box    in the array's indices; NULL: all of them.
 *  @param node   0..node_count-1.
 *  @return DCL_OK when started; DCL_ERR_INVALID, DCL_ERR_RANGE (the box is not in the grid), DCL_ERR_NOMEM (the
 *          replicas would exceed DCL_KEPT_BYTES: nothing is moved), DCL_ERR_UNSUPPORTED (a reshaped view),
 *          DCL_ERR_NODE_LOST, the error of a failed array. If the node runs out of memory later, the cluster's error is
 *          set (dcl_status_of()) and operations that use the replicas fail; the array keeps its contents. */
DCL_API dcl_status dcl_move(dcl_array *array, const dcl_box *box, int node);

/** The description of dcl_move(). */
static inline dcl_call dcl_call_move(dcl_array *array, const dcl_box *box, int node)
{
    dcl_call call = dcl_call_of(DCL_CALL_IS_MOVE);
    call.array = array;
    call.box = box;
    call.node = node;
    return call;
}
#define DCL_CALL_MOVE(array, box, node) DCLI_CALL(dcl_call_move((array), (box), (node)))

#ifdef __cplusplus
}
#endif
#endif
