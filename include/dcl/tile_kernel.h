/* dcl/tile_kernel.h - whole kernels, called for each tile of an array, with local indices and without checks. */
#ifndef DCL_TILE_KERNEL_H
#define DCL_TILE_KERNEL_H

#include <dcl/explain.h>
#include <dcl/forall.h>

#ifdef __cplusplus
extern "C" {
#endif

/** dcl_forall_tiles(cluster, text, ...): run a kernel for every tile of the first output.
 *
 *      dcl_forall_tiles(cluster, "const long x = dcl_item(0); C(x) = A(x - 1) + A(x + 1);", DCL_OUT(C), DCL_IN_HALO(A, 1));
 *
 *  The text is what one work-item does: OpenCL C statements without preprocessor lines, with work-item functions and, given
 *  DCL_GROUP, with __local arrays and barriers. It runs in one launch per box of a tile: tiles of most maps are one box, of
 *  maps that deal pieces perhaps one per piece. No array is checked: the text stays within what is there.
 *
 *  In the text, for an array argument C of rank r:
 *    C(x, y)        its element at *local* indices, r of them. For outputs, DCL_MOVE(C, B), DCL_IN(B), DCL_IN_HALO and
 *                   DCL_IN_CROSS they count from the first element of the tile, so B(x - 1, y) is a neighbour in a halo; for
 *                   DCL_IN_ROWS this holds for the first axis, for DCL_IN_COLUMNS for the last; all else (DCL_IN_ALL,
 *                   DCL_IN_BOX, DCL_IN_AT, DCL_IN_FUNCTION) counts from the first element of the box that is declared: the
 *                   grid, the box, the rows, the smallest box around those that the function gave;
 *    C_low(d), C_high(d)   the local indices of axis d that are there: from low to high - 1; a halo ends at the grid's edge
 *                   unless the axis is periodic (dcl_map_halo());
 *    C_count(d)     how many these are; of an output: elements of the tile;
 *    C_first(d)     index in the grid of local index 0, also where that is not there; C_step(d): from there to the next one,
 *                   which is more than 1 where a map deals single elements or small pieces in turn; C_at(d, x): index of
 *                   local index x;
 *    C_data, C_stride(d)   address of the element at local indices 0, and elements in memory from one to the next along
 *                   axis d: what an existing kernel takes, which is called as a function of a DCL_PRELUDE.
 *  Numbers are of type long. dcl_item(d) is the place of this work-item along axis d of the first output.
 *
 *  Work-items: one per element of the tile's box, with the last axis as dimension 0, the one before it as dimension 1, all
 *  others together as dimension 2 (dcl_item() takes them apart). DCL_ITEMS(n0, n1, n2) gives other numbers, 0 for one per
 *  element: DCL_ITEMS(1, 0) is one work-item per row of a matrix, DCL_ITEMS(1) one for all of a tile, which is what is fast
 *  on processors. DCL_GROUP(n0, n1, n2) are the sizes of a work-group. The number of work-items is rounded up to these: the
 *  text then has to leave out those with dcl_item(d) >= C_count(d). Without DCL_GROUP there are as many as asked for, in
 *  groups of any size, and barriers are refused. A dimension that stands for no axis has one work-item; where DCL_ITEMS or
 *  DCL_GROUP gives it more, dcl_item() is the same for all of them. Sizes belong to the kernel: other ones are compiled anew.
 *
 *  Inputs say what a tile reads: DCL_MOVE(C, B) and DCL_IN(B) (the same here; also DCL_IN_KEPT(B)) have the tile's own box
 *  in B, whose grid must be the first output's; for others there are DCL_IN_ALL and so on. What later tiles need moves
 *  while earlier ones are computed. With maps that deal single elements in turn, tiles are called row by row along axes
 *  with a halo; with maps that deal small pieces, piece by piece. Of all outputs, elements that are not written keep what
 *  they hold: DCL_OUT tells nothing else than DCL_INOUT here, and an array that has failed must be overwritten by other
 *  means. Other outputs have the first one's extents; where others own their elements, these move there and back. An array
 *  that is written has one name.
 *
 *  With dcl_config.check "access" (DCL_CHECK=access) each C(x, y) is checked: an input reads as 0 where it is not there,
 *  what is written to an output there is lost, and the first such access is reported as DCL_ERR_RANGE; what goes through
 *  C_data or an address is not. DCL_VALUE, DCL_PRELUDE, views, failures and compilation are as for bodies: dcl_forall().
 *
 *  dcl_forall_tiles_over(cluster, &box, text, ...) runs it for the part of each tile that is in a box of the first output's
 *  grid.
 *
 *  @param cluster  NULL is an error. @param text  borrowed for the call.
 *  @param ...      1..64 arguments; at least one DCL_OUT or DCL_INOUT.
 *  @return as dcl_forall(); DCL_ERR_BODY also where a device cannot have work-groups of the sizes asked for. */
#define dcl_forall_tiles(cluster, text, ...) dcl_call_run(DCL_CALL_TILES(cluster, NULL, text, __VA_ARGS__))
#define dcl_forall_tiles_over(cluster, box, text, ...) dcl_call_run(DCL_CALL_TILES(cluster, box, text, __VA_ARGS__))
/** Planned counters over all nodes: dcl_explain_tiles(cluster, &counters, text, ...). See dcl_call_explain(). */
#define dcl_explain_tiles(cluster, counters_out, text, ...) \
    dcl_call_explain(DCL_CALL_TILES(cluster, NULL, text, __VA_ARGS__), DCL_ALL_NODES, (counters_out))
/** The same in detail: see dcl_call_report(). */
#define dcl_explain_report_tiles(cluster, text, ...) \
    dcl_call_report(DCL_CALL_TILES(cluster, NULL, text, __VA_ARGS__), DCL_ALL_NODES)

/** The description of a tile kernel. @param box  in the first output's grid; NULL: all of it. */
#define DCL_CALL_TILES(cluster, box, text, ...) \
    DCLI_CALL(dcl_call_tiles((cluster), (box), (text), DCLI_ARGUMENTS(__VA_ARGS__)))
/** The same; the last macro argument is an array of `count` dcl_arg. */
#define DCL_CALL_TILES_N(cluster, box, text, count, ...) \
    DCLI_CALL(dcl_call_tiles((cluster), (box), (text), (count), __VA_ARGS__))

#define DCL_GROUP(...) DCLI_WIDTHS(DCL_ACCESS_GROUP, "DCL_GROUP", NULL, __VA_ARGS__)
#define DCL_ITEMS(...) DCLI_WIDTHS(DCL_ACCESS_ITEMS, "DCL_ITEMS", NULL, __VA_ARGS__)

/** @param args  [count], borrowed until the call has been made. */
static inline dcl_call dcl_call_tiles(dcl_cluster *cluster, const dcl_box *box, const char *text, int count,
                                      const dcl_arg args[])
{
    dcl_call call = dcl_call_body(cluster, box, text, count, args);
    call.kind = DCL_CALL_IS_TILES;
    return call;
}

#ifdef __cplusplus
}

template <size_t N>
inline dcl_call dcl_call_tiles(dcl_cluster *cluster, const dcl_box *box, const char *text,
                               const dcli_arguments<N> &list)
{
    return dcl_call_tiles(cluster, box, text, static_cast<int>(N), list.arg);
}
#endif
#endif
