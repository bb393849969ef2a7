/* runtime/remap.h - the steps of copies and remaps, also for explaining them. */
#ifndef DCLI_RUNTIME_REMAP_H
#define DCLI_RUNTIME_REMAP_H

#include "runtime/report.h"

/** Check the arrays of a copy, as far as no lock is needed. */
dcl_status dcli_copy_check(const dcl_array *from, const dcl_array *to);
/** Pass the copying body to `look`; its arrays are `to` and `from`. The lock is held. @param from  is not `to`. */
dcl_status dcli_copy_planned(dcl_array *from, dcl_array *to, dcli_planned_fn *look, void *user);

/** Check the arguments of a remap, as far as no lock is needed. */
dcl_status dcli_remap_check(const dcl_array *array, const dcl_map *map, unsigned flags);
/** Choose the map of a remap. The lock is held. @param map_out  yours. */
dcl_status dcli_remap_choose(const dcl_array *array, dcl_map *map, unsigned flags, dcl_map **map_out);
/** dcli_copy_planned() from the array to itself with the new map. @param map  chosen; not equal to the array's. */
dcl_status dcli_remap_planned(dcl_array *array, dcl_map *map, dcli_planned_fn *look, void *user);

/** Explain or report a copy or a remap. @param node  as of dcl_call_explain(), dcl_call_report(). */
dcl_status dcli_copy_explain(dcl_array *from, dcl_array *to, int node, dcl_counters *counters_out);
dcl_report *dcli_copy_report(dcl_array *from, dcl_array *to, int node);
dcl_status dcli_remap_explain(dcl_array *array, dcl_map *map, unsigned flags, int node, dcl_counters *counters_out);
dcl_report *dcli_remap_report(dcl_array *array, dcl_map *map, unsigned flags, int node);

#endif
