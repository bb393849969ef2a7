/* dcl/tile_kernel.h - whole kernels, run once per tile of an array, with local indices and without checks. */
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
 *  The text describes one work-item: OpenCL C statements without preprocessor lines. It may use work-item functions
 *  and, with DCL_GROUP, __local arrays and barriers. Each box of a tile is one launch. With most maps a tile is one
 *  box; with dealt maps it may have one box per piece. Accesses are not checked: the kernel itself
 *  must stay within the elements that are present.
 *
 *  In the text, an array argument C of rank r offers:
 *    C(x, y)        the element at *local* indices, r of them. Where local index 0 lies depends on the argument:
 *                     - outputs, DCL_IN, DCL_MOVE, DCL_IN_KEPT, DCL_IN_HALO, DCL_IN_CROSS: at the first element of the
 *                       tile (so B(x - 1, y) is a neighbour in a halo);
 *                     - DCL_IN_ALL: at the first element of the grid;
 *                     - DCL_IN_ROWS: along the first axis as for DCL_IN, along the others as for DCL_IN_ALL;
 *                     - DCL_IN_COLUMNS: along the last axis as for DCL_IN, along the others as for DCL_IN_ALL;
 *                     - DCL_IN_BOX, DCL_IN_AT, DCL_IN_FUNCTION: at the first element of the box. The box of DCL_IN_AT
 *                       has the first indices lo..hi; that of DCL_IN_FUNCTION is the smallest one that contains the
 *                       boxes that the function returned.
 *    C_low(d), C_high(d)   the local indices that are present along axis d: low to high - 1. A halo ends at the edge of
 *                          the grid unless the axis is periodic (dcl_map_halo()).
 *    C_count(d)     the number of local indices that are present; for an output, the elements of the tile along axis d.
 *    C_first(d)     the grid index of local index 0, even if that element is not present.
 *    C_step(d)      the grid index grows by this from one local index to the next. It is 1 unless the tile's box or a
 *                   declared box is strided; boxes of tiles can be strided under maps that deal single elements or
 *                   small pieces in turn.
 *    C_at(d, x)     the grid index of local index x.
 *    C_data         the address of the element at local indices 0.
 *    C_stride(d)    the distance in memory, in elements, between neighbours along axis d. To call an existing kernel, put
 *                   it as a function into a DCL_PRELUDE, and pass it C_data and C_stride(d).
 *  Numbers are of type long. dcl_item(d) is the position of this work-item along axis d of the first output.
 *
 *  Work-items: by default one per element of the tile's box. Dimension 0 is the last axis, dimension 1 the axis before
 *  it, dimension 2 all other axes together; dcl_item() separates these. DCL_ITEMS(n0, n1, n2) sets other numbers, where
 *  0 means one per element: DCL_ITEMS(1, 0) is one work-item per row of a matrix; DCL_ITEMS(1) is one work-item per
 *  tile, the fast choice on CPUs. DCL_GROUP(n0, n1, n2) sets the work-group sizes. The number of work-items is then
 *  rounded up to a multiple, so the text must skip those with dcl_item(d) >= C_count(d). Without DCL_GROUP there are
 *  exactly as many work-items as requested, in groups of any size, and barriers are refused. A dimension without an
 *  axis has one work-item; if DCL_ITEMS or DCL_GROUP gives it more, dcl_item() is the same for all of them. The sizes
 *  are compiled into the kernel: other sizes need another compilation.
 *
 *  Inputs: DCL_MOVE(C, B), DCL_IN(B) and DCL_IN_KEPT(B) provide the elements of B at the tile's indices. The grid of B
 *  must have the same origin and extents as the grid of the first output. Use DCL_IN_ALL and so on for other reads.
 *  Elements for later tiles are transferred while earlier tiles are computed.
 *
 *  With maps that deal single elements or small pieces, neighbours in a tile are not neighbours in the grid. If an input
 *  has a halo along such an axis, the tile is cut along this axis into single indices (maps of single elements) or pieces
 *  (maps of small pieces), and each of these is a launch of its own. Example: under `cyclic,*` on 2 nodes, node 0 owns rows
 *  0, 2, 4, ...; with DCL_IN_HALO(A, 1, 0) each of these rows is a launch.
 *
 *  Outputs: elements that the kernel does not write keep their values. So DCL_OUT means the same as DCL_INOUT here, and
 *  a failed array is refused as an output, too: overwrite it first, with dcl_fill() for example. All outputs must have
 *  the extents of the first. Elements of a further output that belong to the tile's indices and that other nodes own
 *  are sent to the tile's node, and sent back when the launch has ended. An array that
 *  is written may be passed as one argument only.
 *
 *  With dcl_config.check "access" (DCL_CHECK=access) each C(x, y) is checked. If the element is not present, a read
 *  gives 0 and a write has no effect; the first such access is reported as DCL_ERR_RANGE. Accesses through C_data or an
 *  address are not checked. DCL_VALUE, DCL_PRELUDE, views, failures and compilation are as for bodies: dcl_forall().
 *
 *  dcl_forall_tiles_over(cluster, &box, text, ...) runs the kernel only for the part of each tile that lies in a box of
 *  the first output's grid.
 *
 *  @param cluster  NULL is an error.
 *  @param text     borrowed for the call.
 *  @param ...      1..64 arguments, with at least one DCL_OUT or DCL_INOUT.
 *  @return as dcl_forall(); DCL_ERR_BODY also when a device cannot have work-groups of the requested sizes. */
#define dcl_forall_tiles(cluster, text, ...) dcl_call_run(DCL_CALL_TILES(cluster, NULL, text, __VA_ARGS__))
#define dcl_forall_tiles_over(cluster, box, text, ...) dcl_call_run(DCL_CALL_TILES(cluster, box, text, __VA_ARGS__))
/** Planned counters, summed over all nodes: dcl_explain_tiles(cluster, &counters, text, ...). See
 *  dcl_call_explain(). */
#define dcl_explain_tiles(cluster, counters_out, text, ...) \
    dcl_call_explain(DCL_CALL_TILES(cluster, NULL, text, __VA_ARGS__), DCL_ALL_NODES, (counters_out))
/** The report of a tile kernel on all nodes: see dcl_call_report(). */
#define dcl_explain_report_tiles(cluster, text, ...) \
    dcl_call_report(DCL_CALL_TILES(cluster, NULL, text, __VA_ARGS__), DCL_ALL_NODES)

/** The description of a call that runs a tile kernel.
 *  @param box  in the first output's grid; NULL: all of it. */
#define DCL_CALL_TILES(cluster, box, text, ...) \
    DCLI_CALL(dcl_call_tiles((cluster), (box), (text), DCLI_ARGUMENTS(__VA_ARGS__)))
/** DCL_CALL_TILES with its arguments in an array: the last macro argument is an array of `count` dcl_arg. */
#define DCL_CALL_TILES_N(cluster, box, text, count, ...) \
    DCLI_CALL(dcl_call_tiles((cluster), (box), (text), (count), __VA_ARGS__))

#define DCL_GROUP(...) DCLI_WIDTHS(DCL_ACCESS_GROUP, "DCL_GROUP", NULL, __VA_ARGS__)
#define DCL_ITEMS(...) DCLI_WIDTHS(DCL_ACCESS_ITEMS, "DCL_ITEMS", NULL, __VA_ARGS__)

/** @param args  [count], borrowed until the call was run. */
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
