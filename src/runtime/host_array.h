/* runtime/host_array.h - memory of the program as arrays of a loop nest: DCL_HOST_IN and so on. */
#ifndef DCLI_RUNTIME_HOST_ARRAY_H
#define DCLI_RUNTIME_HOST_ARRAY_H

#include "loop/plan.h"
#include "runtime/cluster.h"

/** Memory of the program, and the array that holds its elements while the nest runs. */
typedef struct dcli_host_array {
    const dcl_arg *arg;
    dcl_grid grid;        /* grid of all of the memory, with the axes that the plan gives it */
    dcl_array *array;     /* the array of the elements in `all`; NULL: not made */
    dcl_box in, out, all; /* the elements that are copied to the nodes; those that are copied back; a box around
                             both, perhaps a larger one. Empty: none */
    int64_t in_operation; /* number of the copy to the nodes; 0: none is running */
} dcli_host_array;

/** The array that an argument describes. */
dcl_grid dcli_host_grid(const dcl_arg *arg);
/** Check an argument. @return DCL_OK; DCL_ERR_INVALID; DCL_ERR_UNSUPPORTED: its elements are of type half; or the
 *  failure of dcli_grid_check(). */
dcl_status dcli_host_check(const dcl_arg *arg);
/** Check that the memory of two arguments does not overlap, unless both are only read. @return DCL_OK or
 *  DCL_ERR_INVALID. */
dcl_status dcli_host_check_pair(const dcl_arg *a, const dcl_arg *b);

/** Find what a nest reads and writes of the memory. @param symbol  number of the argument. */
dcl_status dcli_host_array_find(dcli_loops_plan *plan, int symbol, const dcl_arg *arg, dcli_host_array *out);
/** The address of the first element of a box, and the steps between elements along each axis. */
void *dcli_host_address(const dcli_host_array *host, const dcl_box *box, int64_t strides_out[]);
/** Make the array, and start to copy the elements that the nest reads. Takes the lock. @return DCL_OK;
 *  DCL_ERR_UNSUPPORTED: the cluster only plans; or why the array could not be made or written. */
dcl_status dcli_host_array_open(dcl_cluster *cluster, dcli_host_array *host);
/** Make an array without storage, of the same map. Takes the lock. @param number  as of dcli_array_imagine(). */
dcl_status dcli_host_array_imagine(dcl_cluster *cluster, int number, dcli_host_array *host);
/** Wait until the host has sent the elements that the nest reads: afterwards nobody accesses the memory, though the
 *  nodes may not have the elements yet. Takes the lock. */
dcl_status dcli_host_array_copied(dcl_cluster *cluster, dcli_host_array *host);
/** Wait until the nest has computed the array. Takes the lock. */
dcl_status dcli_host_array_wait(dcl_cluster *cluster, dcli_host_array *host);
/** Copy the elements that the nest has written to the memory, and wait for it. Takes the lock. */
dcl_status dcli_host_array_fetch(dcl_cluster *cluster, dcli_host_array *host);
/** Release the array. Takes the lock.
 *  @param imagined  the array has no storage. */
void dcli_host_array_close(dcl_cluster *cluster, dcli_host_array *host, bool imagined);

#endif
