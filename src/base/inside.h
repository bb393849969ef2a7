/* base/inside.h - included first in every source of the library. It renames public functions, so that inside the
 * library they take objects instead of handles.
 *
 * A program calls the functions of runtime/front_*.c, which have the public names. They resolve handles (base/handle.h)
 * and call the function that takes the object; its linker name is dcli_in_.... For the compiler, debuggers and __func__
 * both have the public name. A public function that takes or returns a cluster, a map or an array needs a line here and
 * a row in runtime/front_*.c; or a function there, and a declaration in runtime/front.h. */
#ifndef DCLI_FRONT
#pragma redefine_extname dcl_open dcli_in_open
#pragma redefine_extname dcl_open_plan dcli_in_open_plan
#pragma redefine_extname dcl_close dcli_in_close
#pragma redefine_extname dcl_node_count dcli_in_node_count
#pragma redefine_extname dcl_node_name dcli_in_node_name
#pragma redefine_extname dcl_node_is_alive dcli_in_node_is_alive
#pragma redefine_extname dcl_add_workers dcli_in_add_workers
#pragma redefine_extname dcl_status_of dcli_in_status_of
#pragma redefine_extname dcl_clear_error dcli_in_clear_error
#pragma redefine_extname dcl_wait dcli_in_wait
#pragma redefine_extname dcl_wait_all dcli_in_wait_all
#pragma redefine_extname dcl_map_axes dcli_in_map_axes
#pragma redefine_extname dcl_map_dealt dcli_in_map_dealt
#pragma redefine_extname dcl_map_hash dcli_in_map_hash
#pragma redefine_extname dcl_map_table dcli_in_map_table
#pragma redefine_extname dcl_map_function dcli_in_map_function
#pragma redefine_extname dcl_map_weighted dcli_in_map_weighted
#pragma redefine_extname dcl_measure_shares dcli_in_measure_shares
#pragma redefine_extname dcl_map_replicated dcli_in_map_replicated
#pragma redefine_extname dcl_map_sparse dcli_in_map_sparse
#pragma redefine_extname dcl_map_listed dcli_in_map_listed
#pragma redefine_extname dcl_map_block_cyclic dcli_in_map_block_cyclic
#pragma redefine_extname dcl_map_block dcli_in_map_block
#pragma redefine_extname dcl_map_default dcli_in_map_default
#pragma redefine_extname dcl_map_parse dcli_in_map_parse
#pragma redefine_extname dcl_map_with_grains dcli_in_map_with_grains
#pragma redefine_extname dcl_map_every dcli_in_map_every
#pragma redefine_extname dcl_map_with_rest dcli_in_map_with_rest
#pragma redefine_extname dcl_map_halo dcli_in_map_halo
#pragma redefine_extname dcl_map_on dcli_in_map_on
#pragma redefine_extname dcl_map_retain dcli_in_map_retain
#pragma redefine_extname dcl_map_release dcli_in_map_release
#pragma redefine_extname dcl_map_node_count dcli_in_map_node_count
#pragma redefine_extname dcl_map_node dcli_in_map_node
#pragma redefine_extname dcl_map_print dcli_in_map_print
#pragma redefine_extname dcl_map_equal dcli_in_map_equal
#pragma redefine_extname dcl_map_locate dcli_in_map_locate
#pragma redefine_extname dcl_map_storage dcli_in_map_storage
#pragma redefine_extname dcl_map_describe_sized dcli_in_map_describe_sized
#pragma redefine_extname dcl_map_boxes dcli_in_map_boxes
#pragma redefine_extname dcl_map_grains dcli_in_map_grains
#pragma redefine_extname dcl_map_tiles dcli_in_map_tiles
#pragma redefine_extname dcl_agile dcli_in_agile
#pragma redefine_extname dcl_array_release dcli_in_array_release
#pragma redefine_extname dcl_grid_of dcli_in_grid_of
#pragma redefine_extname dcl_map_of dcli_in_map_of
#pragma redefine_extname dcl_cluster_of dcli_in_cluster_of
#pragma redefine_extname dcl_fill dcli_in_fill
#pragma redefine_extname dcl_write dcli_in_write
#pragma redefine_extname dcl_read dcli_in_read
#pragma redefine_extname dcl_swap dcli_in_swap
#pragma redefine_extname dcl_keep dcli_in_keep
#pragma redefine_extname dcl_wait_for dcli_in_wait_for
#pragma redefine_extname dcl_load_npy dcli_in_load_npy
#pragma redefine_extname dcl_save_npy dcli_in_save_npy
#pragma redefine_extname dcl_save_npy_order dcli_in_save_npy_order
#pragma redefine_extname dcl_transpose dcli_in_transpose
#pragma redefine_extname dcl_permute dcli_in_permute
#pragma redefine_extname dcl_slice dcli_in_slice
#pragma redefine_extname dcl_sub dcli_in_sub
#pragma redefine_extname dcl_shift dcli_in_shift
#pragma redefine_extname dcl_broadcast dcli_in_broadcast
#pragma redefine_extname dcl_reshape dcli_in_reshape
#pragma redefine_extname dcl_flatten dcli_in_flatten
#pragma redefine_extname dcl_reshape_copy dcli_in_reshape_copy
#pragma redefine_extname dcl_take dcli_in_take
#pragma redefine_extname dcl_remap dcli_in_remap
#pragma redefine_extname dcl_remap_with dcli_in_remap_with
#pragma redefine_extname dcl_copy dcli_in_copy
#pragma redefine_extname dcl_call_run dcli_in_call_run
#pragma redefine_extname dcl_forall_n dcli_in_forall_n
#pragma redefine_extname dcl_call_explain_sized dcli_in_call_explain_sized
#pragma redefine_extname dcl_call_report dcli_in_call_report
#pragma redefine_extname dcl_stats_sized dcli_in_stats_sized
#pragma redefine_extname dcl_tiles dcli_in_tiles
#pragma redefine_extname dcl_move dcli_in_move
#endif
