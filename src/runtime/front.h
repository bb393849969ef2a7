/* runtime/front.h - the public functions: they resolve handles, and pin objects while a call uses them. */
#ifndef DCLI_RUNTIME_FRONT_H
#define DCLI_RUNTIME_FRONT_H

#include <dcl.h>

#include "base/error.h"
#include "base/handle.h"
#include "kernel/body.h"

enum { DCLI_MOST_PINNED = 2 * DCLI_MAX_PARAMS + 4 };

/** A public call that has not returned yet. */
typedef struct dcli_call {
    struct dcli_call *outer; /* the call of the same thread whose callback makes this one */
    dcl_status status;       /* other than DCL_OK: a handle was refused, and the call does nothing */
    bool operates;           /* an operation: its error is also the cluster's */
    const void *cluster;     /* handle of the first pinned cluster; NULL: none yet */
    int count;
    const void *pinned[DCLI_MOST_PINNED]; /* pinned handles, clusters before their objects */
} dcli_call;

void dcli_call_begin(dcli_call *call, const char *function);
/** Begin a call that is an operation: refused handles, and NULLs that a constructor returned, are errors of the
 *  cluster, too. */
void dcli_call_begin_operation(dcli_call *call, const char *function);
/** The object of a parameter, pinned until the call ends. @return NULL: the handle is NULL, or was refused. */
void *dcli_call_cluster(dcli_call *call, const char *name, const dcl_cluster *cluster);
void *dcli_call_map(dcli_call *call, const char *name, const dcl_map *map);
void *dcli_call_array(dcli_call *call, const char *name, const dcl_array *array);
/** Copy the arguments of a body, with objects in place of handles. @param copy  [DCLI_MAX_PARAMS]. @return copy; `args`
 *  if their number is invalid. */
const dcl_arg *dcli_call_args(dcli_call *call, int count, const dcl_arg args[], dcl_arg copy[]);
/** @return status. */
dcl_status dcli_call_end(dcli_call *call, dcl_status status);
/** End a constructor's call. @param object  NULL: it failed. @return the object's handle, or NULL. */
void *dcli_call_made(dcli_call *call, dcli_kind kind, void *object);
/** Whether an outer call of this thread has the cluster pinned. */
bool dcli_call_is_inside(const dcli_call *call, const void *cluster);

/** Unpin a handle, and free its object if the handle has ended meanwhile. */
void dcli_front_leave(const void *handle);
/** Drop a reference to a map, which remains pinned. */
void dcli_front_drop_map(const void *map);

/* The functions inside. */

extern __typeof__(dcl_open) dcli_in_open;
extern __typeof__(dcl_open_plan) dcli_in_open_plan;
extern __typeof__(dcl_close) dcli_in_close;
extern __typeof__(dcl_node_count) dcli_in_node_count;
extern __typeof__(dcl_node_name) dcli_in_node_name;
extern __typeof__(dcl_node_is_alive) dcli_in_node_is_alive;
extern __typeof__(dcl_add_workers) dcli_in_add_workers;
extern __typeof__(dcl_status_of) dcli_in_status_of;
extern __typeof__(dcl_clear_error) dcli_in_clear_error;
extern __typeof__(dcl_wait) dcli_in_wait;
extern __typeof__(dcl_wait_all) dcli_in_wait_all;
extern __typeof__(dcl_map_axes) dcli_in_map_axes;
extern __typeof__(dcl_map_dealt) dcli_in_map_dealt;
extern __typeof__(dcl_map_hash) dcli_in_map_hash;
extern __typeof__(dcl_map_table) dcli_in_map_table;
extern __typeof__(dcl_map_function) dcli_in_map_function;
extern __typeof__(dcl_map_weighted) dcli_in_map_weighted;
extern __typeof__(dcl_measure_shares) dcli_in_measure_shares;
extern __typeof__(dcl_map_replicated) dcli_in_map_replicated;
extern __typeof__(dcl_map_sparse) dcli_in_map_sparse;
extern __typeof__(dcl_map_listed) dcli_in_map_listed;
extern __typeof__(dcl_map_block_cyclic) dcli_in_map_block_cyclic;
extern __typeof__(dcl_map_block) dcli_in_map_block;
extern __typeof__(dcl_map_default) dcli_in_map_default;
extern __typeof__(dcl_map_parse) dcli_in_map_parse;
extern __typeof__(dcl_map_with_grains) dcli_in_map_with_grains;
extern __typeof__(dcl_map_every) dcli_in_map_every;
extern __typeof__(dcl_map_with_rest) dcli_in_map_with_rest;
extern __typeof__(dcl_map_halo) dcli_in_map_halo;
extern __typeof__(dcl_map_on) dcli_in_map_on;
extern __typeof__(dcl_map_retain) dcli_in_map_retain;
extern __typeof__(dcl_map_release) dcli_in_map_release;
extern __typeof__(dcl_map_node_count) dcli_in_map_node_count;
extern __typeof__(dcl_map_node) dcli_in_map_node;
extern __typeof__(dcl_map_print) dcli_in_map_print;
extern __typeof__(dcl_map_equal) dcli_in_map_equal;
extern __typeof__(dcl_map_locate) dcli_in_map_locate;
extern __typeof__(dcl_map_storage) dcli_in_map_storage;
extern __typeof__(dcl_map_describe_sized) dcli_in_map_describe_sized;
extern __typeof__(dcl_map_boxes) dcli_in_map_boxes;
extern __typeof__(dcl_map_grains) dcli_in_map_grains;
extern __typeof__(dcl_map_tiles) dcli_in_map_tiles;
extern __typeof__(dcl_agile) dcli_in_agile;
extern __typeof__(dcl_array_release) dcli_in_array_release;
extern __typeof__(dcl_grid_of) dcli_in_grid_of;
extern __typeof__(dcl_map_of) dcli_in_map_of;
extern __typeof__(dcl_cluster_of) dcli_in_cluster_of;
extern __typeof__(dcl_fill) dcli_in_fill;
extern __typeof__(dcl_write) dcli_in_write;
extern __typeof__(dcl_read) dcli_in_read;
extern __typeof__(dcl_swap) dcli_in_swap;
extern __typeof__(dcl_keep) dcli_in_keep;
extern __typeof__(dcl_wait_for) dcli_in_wait_for;
extern __typeof__(dcl_load_npy) dcli_in_load_npy;
extern __typeof__(dcl_save_npy) dcli_in_save_npy;
extern __typeof__(dcl_save_npy_order) dcli_in_save_npy_order;
extern __typeof__(dcl_transpose) dcli_in_transpose;
extern __typeof__(dcl_permute) dcli_in_permute;
extern __typeof__(dcl_slice) dcli_in_slice;
extern __typeof__(dcl_sub) dcli_in_sub;
extern __typeof__(dcl_shift) dcli_in_shift;
extern __typeof__(dcl_broadcast) dcli_in_broadcast;
extern __typeof__(dcl_reshape) dcli_in_reshape;
extern __typeof__(dcl_flatten) dcli_in_flatten;
extern __typeof__(dcl_reshape_copy) dcli_in_reshape_copy;
extern __typeof__(dcl_take) dcli_in_take;
extern __typeof__(dcl_remap) dcli_in_remap;
extern __typeof__(dcl_remap_with) dcli_in_remap_with;
extern __typeof__(dcl_copy) dcli_in_copy;
extern __typeof__(dcl_call_run) dcli_in_call_run;
extern __typeof__(dcl_forall_n) dcli_in_forall_n;
extern __typeof__(dcl_call_explain_sized) dcli_in_call_explain_sized;
extern __typeof__(dcl_call_report) dcli_in_call_report;
extern __typeof__(dcl_stats_sized) dcli_in_stats_sized;
extern __typeof__(dcl_tiles) dcli_in_tiles;
extern __typeof__(dcl_move) dcli_in_move;

#endif
