/* dcl/local.h - the local global view: an array's tiles by node, and elements brought to a node ahead of use. */
#ifndef DCL_LOCAL_H
#define DCL_LOCAL_H

#include <dcl/call.h>
#include <dcl/grain.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Visit the tiles that the tasks of a node compute when the array is a body's first output. dcl_map_tiles() of the map
 *  and grid that the array has when it is called; what is called in `visit`, also dcl_remap(), does not change the walk.
 *  @param array  borrowed. A view: boxes are in its indices; tiles of the array behind it of which it shows nothing are
 *                not visited, and keep their numbers.
 *  @param node   0..node_count-1, or DCL_ALL_NODES: one after the other.
 *  @param visit  called by this thread, without a lock: it may call anything.
 *  @return DCL_OK, DCL_ERR_INVALID, DCL_ERR_NOMEM, DCL_ERR_UNSUPPORTED (a view of another shape, dcl_reshape(), than the
 *          array's map lets it have by now), or what `visit` returned. */
DCL_API dcl_status dcl_tiles(const dcl_array *array, int node, dcl_tile_fn *visit, void *user);

/** Bring the elements of a box to a node, which keeps copies of those it does not own: bodies that read them there find
 *  them, and move nothing, until the elements are written or the copies dropped (dcl_keep(array, false)). A failed
 *  operation, and a node that joins, drop all copies. What is there already is not moved again; a move of nothing costs no
 *  message.
 *
 *  In the order of the program: the copies are of what was written before. Data is asked for at once and arrives while
 *  calls before still compute; it is copied to its place once the node has started their tasks (docs/local-view.md). The
 *  node starts later tasks after that.
 *  Where most of the box is one piece of the node's own part, copies are of what is around it, else of the whole box, and
 *  take as many bytes. They count against config.kept_bytes (DCL_KEPT_BYTES), but where the map is one that keeps copies
 *  (dcl_map_replicated()). A node has copies of at most 1024 boxes of an array.
 *  dcl_copy() and dcl_remap() move as if there were no copies.
 *  @param array  or a view: not one of another shape (dcl_reshape()).
 *  @param box    in the array's indices; NULL: all of them.
 *  @param node   0..node_count-1.
 *  @return DCL_OK when started; DCL_ERR_INVALID, DCL_ERR_RANGE (the box is not in the grid), DCL_ERR_NOMEM (the copies do
 *          not fit the budget: nothing is moved), DCL_ERR_UNSUPPORTED (another shape), DCL_ERR_NODE_LOST, the error of a
 *          failed array. A node that finds no memory later fails the cluster, as one that fails a body does, and what uses
 *          the copies: contents are not lost by it. */
DCL_API dcl_status dcl_move(dcl_array *array, const dcl_box *box, int node);

/** The description of dcl_move(), to be explained or reported. */
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
