/* cli/nest_moved.h - what a loop nest would move between nodes. */
#ifndef CLI_NEST_MOVED_H
#define CLI_NEST_MOVED_H

#include "loop/describe.h"

/** Print how many bytes of a nest's arrays, under the default map, would move between nodes, in all and at most for one node.
 *  It is counted as with DCL_LINES=0: each step of a time loop moves what it reads.
 *  @param nest, arguments  as of dcl_nest_describe(). @param nodes  at least 1. @return a status: see dcl_error() */
dcl_status cli_print_moved(const char *nest, int nodes, int count, const dcl_nest_argument arguments[]);

#endif
