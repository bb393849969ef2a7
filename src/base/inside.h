/* base/inside.h - included first in every source of the library. It renames public functions, so that inside the
 * library they take objects instead of handles.
 *
 * A program calls the functions of runtime/front_*.c, which have the public names. They resolve handles (base/handle.h)
 * and call the function that takes the object; its linker name is dcli_in_.... For the compiler, debuggers and __func__
 * both have the public name. A public function that takes or returns a cluster, a map or an array is listed here, and
 * has a row or a function in runtime/front_*.c. */

/* clang-format off */
/** X(name) for each of these functions, without "dcl_". */
#define DCLI_FRONT_FUNCTIONS(X) \
    X(open) X(open_plan) X(close) X(node_count) X(node_name) X(node_is_alive) X(add_workers) X(status_of) \
    X(clear_error) X(wait) X(wait_all) \
    X(map_axes) X(map_dealt) X(map_hash) X(map_table) X(map_function) X(map_weighted) X(measure_shares) \
    X(map_replicated) X(map_sparse) X(map_listed) X(map_block_cyclic) X(map_block) X(map_default) X(map_parse) \
    X(map_with_grains) X(map_every) X(map_with_rest) X(map_halo) X(map_overlap) X(map_on) X(map_retain) X(map_release) \
    X(map_node_count) X(map_node) X(map_print) X(map_equal) X(map_locate) X(map_storage) X(map_describe_sized) \
    X(map_boxes) X(map_grains) X(map_tiles) \
    X(agile) X(array_release) X(grid_of) X(map_of) X(cluster_of) X(fill) X(write) X(read) X(swap) X(keep) X(steal) \
    X(wait_for) X(load_npy) X(save_npy) X(save_npy_order) X(save_image) \
    X(transpose) X(permute) X(slice) X(sub) X(shift) X(broadcast) X(reshape) X(flatten) X(reshape_copy) X(take) \
    X(remap) X(remap_with) X(copy) \
    X(sum_to) X(dot_to) X(norm2_to) X(min_to) X(max_to) X(random_to) X(iterate) \
    X(call_run) X(forall_n) X(call_explain_sized) X(call_report) X(stats_sized) X(tiles) X(move)
/* clang-format on */

#ifndef DCLI_FRONT
#define DCLI_PRAGMA(text) _Pragma(#text)
#define DCLI_INSIDE(name) DCLI_PRAGMA(redefine_extname dcl_##name dcli_in_##name)
DCLI_FRONT_FUNCTIONS(DCLI_INSIDE)
#endif
