/* runtime/nest_lines.h - operations of loop nests whose work-items compute whole lines of arrays (loop/lines.c). */
#ifndef DCLI_RUNTIME_NEST_LINES_H
#define DCLI_RUNTIME_NEST_LINES_H

#include "loop/plan.h"
#include "runtime/cluster.h"
#include "runtime/report.h"

/** Find the axes along which tiles of an array have all indices. The lock is not held.
 *  @param whole_out  bit d: axis d. None, if that is not known soon. */
dcl_status dcli_lines_find(dcl_array *array, unsigned *whole_out);
/** The same for the program's memory. @param whole_out  none, if that cannot be known before the arrays are made. */
dcl_status dcli_lines_of_host(dcl_cluster *cluster, const dcl_grid *grid, unsigned *whole_out);
/** Find the axes along which lines of an array of several nodes are worth being gathered: each is an operation per step otherwise. None if a
 *  second array of the grid takes more than an eighth of a node's memory.
 *  @param whole  axes along which they need not be. @return bit d: axis d. */
unsigned dcli_lines_gather(const dcl_cluster *cluster, const dcl_grid *grid, unsigned whole);
/** Make a map under which tiles of a grid have all indices of an axis. @return the map, yours; NULL: there is an error. */
dcl_map *dcli_lines_map(dcl_cluster *cluster, const dcl_grid *grid, int axis);
/** Run an operation on lines, or look at it. The lock is not held.
 *  @param args  [operation->operand_count]. @param repeats, look  as of dcli_forall_step(). */
dcl_status dcli_lines_run(dcl_cluster *cluster, const dcli_loops_call *operation, const dcl_arg args[], bool repeats,
                          const dcli_look *look);

#endif
