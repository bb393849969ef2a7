/* cli/nest_moved.c - what a loop nest would move between nodes, by a cluster that only plans. */
#include "cli/nest_moved.h"

#include <dcl.h>
#include <inttypes.h>
#include <stdio.h>

#include "cli/region.h"

/* An argument of the call. The nodes' arrays have the elements that the program's would have.
 * @param made_out  the array, if it is one */
static dcl_arg make_argument(dcl_map *map, const dcl_nest_argument *argument, dcl_array **made_out)
{
    if (argument->access != DCL_ACCESS_VALUE) {
        dcl_grid grid = dcl_grid_nd(argument->type, argument->rank, argument->extent, NULL);
        *made_out = dcl_agile(grid, map);
        return dcl_arg_array(argument->access, argument->name, *made_out);
    }
    if (argument->type == DCL_FLOAT || argument->type == DCL_DOUBLE)
        return dcl_arg_floating(argument->name, argument->type, 1); /* what moves does not depend on it */
    return argument->type >= DCL_UINT8 && argument->type <= DCL_UINT64
               ? dcl_arg_unsigned(argument->name, argument->type, (uint64_t)argument->value)
               : dcl_arg_signed(argument->name, argument->type, argument->value);
}

static dcl_status count_moved(const dcl_call *call, int nodes, dcl_counters *all_out, dcl_counters *most_out,
                              int *at_out)
{
    dcl_status status = dcl_call_explain(call, DCL_ALL_NODES, all_out);
    *most_out = (dcl_counters){0};
    *at_out = 0;
    for (int n = 0; n < nodes && status == DCL_OK; n++) {
        dcl_counters counters;
        status = dcl_call_explain(call, n, &counters);
        if (status != DCL_OK || counters.bytes_moved <= most_out->bytes_moved)
            continue;
        *most_out = counters;
        *at_out = n;
    }
    return status;
}

dcl_status cli_print_moved(const char *nest, int nodes, int count, const dcl_nest_argument arguments[])
{
    dcl_arg args[CLI_REGION_ARRAYS + CLI_REGION_VALUES];
    dcl_array *made[CLI_REGION_ARRAYS + CLI_REGION_VALUES] = {NULL};
    dcl_counters all, most;
    int at;
    dcl_cluster *cluster = dcl_open_plan(nodes);
    dcl_map *map = dcl_map_default(cluster);
    if (map == NULL) {
        dcl_status status = dcl_status_of(NULL);
        dcl_close(cluster);
        return status;
    }
    for (int k = 0; k < count; k++)
        args[k] = make_argument(map, &arguments[k], &made[k]);
    const dcl_call call = dcl_call_loops(cluster, nest, count, args);
    dcl_status status = count_moved(&call, nodes, &all, &most, &at);
    if (status == DCL_OK && nodes == 1)
        printf("on one node, nothing moves\n");
    else if (status == DCL_OK && all.bytes_moved == 0)
        printf("between %d nodes, nothing moves\n", nodes);
    else if (status == DCL_OK)
        printf("between %d nodes, %" PRId64 " bytes move; most concern node %d: %" PRId64 "\n", nodes, all.bytes_moved,
               at, most.bytes_moved);
    for (int k = 0; k < count; k++)
        dcl_release(made[k]);
    dcl_release(map);
    dcl_close(cluster);
    return status;
}
