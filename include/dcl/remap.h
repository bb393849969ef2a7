/* dcl/remap.h - change the map of an existing array, and copy between arrays of different maps. */
#ifndef DCL_REMAP_H
#define DCL_REMAP_H

#include <dcl/call.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Change the map of an array; its contents stay. Only elements whose owner changes move, in messages packed per pair
 *  of nodes; the others are copied within their node. An equal map costs nothing.
 *
 *  The new storage is allocated beside the old one, which is released afterwards: for a while a node needs memory for
 *  both. The call waits until every node has allocated the new storage, and therefore until all earlier calls are
 *  complete. Then it starts the copying and returns. Later calls see the new map; views of the array show the same
 *  elements as before. All replicas of the array are dropped (dcl_keep()).
 *
 *  With sparse maps (dcl_map_sparse()): elements that only the old map stored are lost; reading them gives the new map's
 *  fill value. Elements that only the new map stores get the fill value of the old map.
 *  @param array  not a view.
 *  @param map    borrowed, of the array's cluster; the array keeps what it needs. Earlier results of dcl_map_of()
 *                become invalid.
 *  @return DCL_OK when started; DCL_ERR_INVALID (NULL, a view, another cluster, map and grid do not fit), DCL_ERR_NOMEM
 *          (a node has no room for its new part), DCL_ERR_NODE_LOST (elements would lie on a lost node), the error
 *          of a failed array. After these errors the array has its old map and contents. If a node fails later, while it
 *          copies, the array fails, as with dcl_forall(). */
DCL_API dcl_status dcl_remap(dcl_array *array, dcl_map *map);

/** Flags of dcl_remap_with(), combined by `|`. */
enum {
    /** Permute the nodes of the map (as `;nodes=2,0,1` does), so that as many elements as possible keep their owner;
     *  dcl_map_of() returns the map that was chosen. Has no effect on maps over more than 256 nodes, and on
     *  `weighted`, table and box maps. If the best permutation needs more than the 32 ranges of consecutive nodes
     *  that a map can list, the map is used as given. Cost: that of explaining the remap for all nodes, plus a time that
     *  grows with the third power of the number of nodes (256 nodes: 50 ms). */
    DCL_REMAP_RELABEL = 1
};

/** dcl_remap() with flags.
 *  @param flags  0, or DCL_REMAP_RELABEL.
 *  @return as dcl_remap(); DCL_ERR_INVALID (flags). */
DCL_API dcl_status dcl_remap_with(dcl_array *array, dcl_map *map, unsigned flags);

/** Copy all elements of `from` to `to`: the first element to the first, and so on along every axis, whatever the two
 *  origins are. The maps may differ; elements whose owners differ move. Started when it returns. Copying an array to
 *  itself changes nothing. If the map of `to` is sparse, only the elements that it stores are copied.
 *  @param from, to  arrays or views, of one cluster, type, rank and extents; two views of one array must have no
 *               element in common.
 *  @return DCL_OK when started; DCL_ERR_INVALID (they differ), the error of a failed `from`. A call that is refused
 *          changes nothing. */
DCL_API dcl_status dcl_copy(dcl_array *from, dcl_array *to);

/** The description of dcl_remap_with(). Its planned bytes_moved are exactly the bytes of the elements whose owner
 *  changes. With DCL_REMAP_RELABEL, they are those of the permuted map that the remap would choose. */
static inline dcl_call dcl_call_remap(dcl_array *array, dcl_map *map, unsigned flags)
{
    dcl_call call = dcl_call_of(DCL_CALL_IS_REMAP);
    call.array = array;
    call.map = map;
    call.flags = flags;
    return call;
}
#define DCL_CALL_REMAP(array, map, flags) DCLI_CALL(dcl_call_remap((array), (map), (flags)))

/** The description of dcl_copy(). */
static inline dcl_call dcl_call_copy(dcl_array *from, dcl_array *to)
{
    dcl_call call = dcl_call_of(DCL_CALL_IS_COPY);
    call.from = from;
    call.array = to;
    return call;
}
#define DCL_CALL_COPY(from, to) DCLI_CALL(dcl_call_copy((from), (to)))

#ifdef __cplusplus
}
#endif
#endif
