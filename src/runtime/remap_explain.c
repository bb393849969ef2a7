/* runtime/remap_explain.c - explain and report copies and remaps. */
#include <dcl/explain.h>
#include <dcl/remap.h>

#include "runtime/remap.h"

/* ---- copies ------------------------------------------------------------------------------------------------------- */

dcl_status dcli_copy_explain(dcl_array *from, dcl_array *to, int node, dcl_counters *counters_out)
{
    dcli_counted counted = {.node = node};
    dcl_status status = dcli_copy_check(from, to);
    if (status == DCL_OK)
        status = dcli_check_counted(to->cluster, node, counters_out);
    if (status != DCL_OK)
        return status;
    pthread_mutex_lock(&to->cluster->lock);
    if (from != to)
        status = dcli_copy_planned(from, to, dcli_count_planned, &counted);
    pthread_mutex_unlock(&to->cluster->lock);
    if (status == DCL_OK)
        *counters_out = counted.sum;
    return status;
}

dcl_report *dcli_copy_report(dcl_array *from, dcl_array *to, int node)
{
    dcli_report_asked asked = {.node = node};
    if (dcli_copy_check(from, to) != DCL_OK || dcli_report_check_node(to->cluster, node) != DCL_OK)
        return NULL;
    pthread_mutex_lock(&to->cluster->lock);
    dcl_status status =
        from == to ? dcli_report_on_nothing(&asked, to) : dcli_copy_planned(from, to, dcli_report_on, &asked);
    pthread_mutex_unlock(&to->cluster->lock);
    return dcli_report_end(&asked, status);
}

/* ---- another map -------------------------------------------------------------------------------------------------- */

dcl_status dcli_remap_explain(dcl_array *array, dcl_map *map, unsigned flags, int node, dcl_counters *counters_out)
{
    dcli_counted counted = {.node = node};
    dcl_status status = dcli_remap_check(array, map, flags);
    if (status == DCL_OK)
        status = dcli_check_counted(array->cluster, node, counters_out);
    if (status != DCL_OK)
        return status;
    dcl_map *chosen = NULL;
    pthread_mutex_lock(&array->cluster->lock);
    status = dcli_remap_choose(array, map, flags, &chosen);
    if (status == DCL_OK && !dcl_map_equal(array->map, chosen))
        status = dcli_remap_planned(array, chosen, dcli_count_planned, &counted);
    dcl_map_release(chosen);
    pthread_mutex_unlock(&array->cluster->lock);
    if (status == DCL_OK)
        *counters_out = counted.sum;
    return status;
}

dcl_report *dcli_remap_report(dcl_array *array, dcl_map *map, unsigned flags, int node)
{
    dcli_report_asked asked = {.node = node};
    if (dcli_remap_check(array, map, flags) != DCL_OK || dcli_report_check_node(array->cluster, node) != DCL_OK)
        return NULL;
    dcl_map *chosen = NULL;
    pthread_mutex_lock(&array->cluster->lock);
    dcl_status status = dcli_remap_choose(array, map, flags, &chosen);
    if (status == DCL_OK)
        status = dcl_map_equal(array->map, chosen) ? dcli_report_on_nothing(&asked, array)
                                                   : dcli_remap_planned(array, chosen, dcli_report_on, &asked);
    dcl_map_release(chosen);
    pthread_mutex_unlock(&array->cluster->lock);
    return dcli_report_end(&asked, status);
}
