/* dcl/remap.h - the agile operator on arrays that exist: another map for the same contents, and copies. */
#ifndef DCL_REMAP_H
#define DCL_REMAP_H

#include <dcl/call.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Lay the array out by another map; its contents stay. Only elements whose owner changes move, packed per pair of nodes;
 *  the others are copied where they are. An equal map costs nothing. What a sparse map stores nowhere is gone.
 *
 *  Storage for the new map is made beside the old one, which is released afterwards: for a while both are there. Until
 *  the new one is there on every node the call waits, and so for all that was called before; then the copying is started,
 *  and it returns. What is called afterwards sees the new map; views of the array show the same elements as before.
 *  Copies that nodes keep of it (dcl_keep()) end, and none are kept of what moves here.
 *  Elements that the new map stores nowhere (dcl_map_sparse()) are given up, and read as it declares; those that only the
 *  old map stored nowhere become what they were read as.
 *  @param array  no view.
 *  @param map  borrowed, of the array's cluster; the array keeps what it needs. dcl_map_of() results from before end.
 *  @return DCL_OK when started; DCL_ERR_INVALID (NULL, a view, another cluster, map and grid do not fit), DCL_ERR_NOMEM (a node has
 *          no room for its new part), DCL_ERR_NODE_LOST (the map lays the grid over a node that is lost), the error of a
 *          failed array: the array is then as it was, map and contents. What fails on a node later, while it copies, fails
 *          the contents, as with dcl_forall(). */
DCL_API dcl_status dcl_remap(dcl_array *array, dcl_map *map);

/** How dcl_remap_with() takes the map; combined by `|`. */
enum {
    /** Let the map's nodes take its places in another order (a map of `;nodes=2,0,1`), so that the most elements keep
     *  their owner: see dcl_map_of() afterwards. For maps over at most 256 nodes, but those that give shares, pieces or
     *  boxes to nodes by name; where the best order takes more than the 32 ranges of neighbours that a map can list, the
     *  map is taken as it is. Costs as much as explaining the remap for all nodes, and a time that grows with the third
     *  power of their number (256 nodes: 50 ms). */
    DCL_REMAP_RELABEL = 1
};

/** dcl_remap() with a choice. @param flags  0, or DCL_REMAP_RELABEL. @return as dcl_remap(); DCL_ERR_INVALID (flags). */
DCL_API dcl_status dcl_remap_with(dcl_array *array, dcl_map *map, unsigned flags);

/** Copy all elements of `from` to those of `to`, index by index from both origins. Maps may be any; elements whose owners
 *  differ move. Started when it returns. An array copied to itself stays as it is.
 *  Where `to` stores some elements only, these are copied.
 *  @param from, to  arrays or views, of one cluster, type, rank and extents; views of one array have no element in common.
 *  @return DCL_OK when started; DCL_ERR_INVALID (they differ), the error of a failed `from`. A call that is refused
 *          changes nothing. */
DCL_API dcl_status dcl_copy(dcl_array *from, dcl_array *to);

/** The description of dcl_remap_with(), to be explained or reported. bytes_moved are exactly the bytes of the elements whose
 *  owner changes. With DCL_REMAP_RELABEL, explaining chooses the nodes as the remap would. */
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
