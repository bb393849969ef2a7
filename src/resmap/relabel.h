/* resmap/relabel.h - permute the nodes of a map so that most elements keep their owner. Pure functions. */
#ifndef DCLI_RESMAP_RELABEL_H
#define DCLI_RESMAP_RELABEL_H

#include "resmap/layout.h"

enum { DCLI_MOST_RELABELLED = 256 }; /* most nodes of a map that is relabelled: the time is cubic in their number */

/** Solve the assignment problem: give n workers n jobs, one each, so that the sum of values is maximal.
 *  @param value    [n * n] of worker w at job j: value[w * n + j]; 0 .. 2^50.
 *  @param job_out  [n] the job of each worker.
 *  @return DCL_OK or DCL_ERR_NOMEM. Cost: O(n^3).
 *  Source: the Hungarian method, H. W. Kuhn, Naval Research Logistics Quarterly 2 (1955), in the form with shortest
 *  augmenting paths of R. Jonker and A. Volgenant, Computing 38 (1987). */
dcl_status dcli_assign(int n, const int64_t value[], int job_out[]);

/** Count the elements that `node` owns under layout `to`, separately for each node that owns them under `from`. Both
 *  are layouts of one grid.
 *  @param elements_out  [from->node_end] by owner under `from`. @return DCL_OK or DCL_ERR_NOMEM. */
dcl_status dcli_layout_overlap(const dcli_layout *to, int node, const dcli_layout *from, int64_t elements_out[]);

/** Permute the nodes of a rule so that, compared with `from`, most elements keep their owner. The rule is unchanged if
 *  no permutation is better, if it has more than DCLI_MOST_RELABELLED nodes, if the better one needs more than
 *  DCLI_NODE_RANGES ranges of consecutive nodes, and if the rule assigns things to nodes by number: shares, tables,
 *  boxes.
 *  @param rule  in: checked, fits from->grid; out: relabelled. @return DCL_OK; DCL_ERR_INVALID, DCL_ERR_NOMEM. */
dcl_status dcli_map_rule_relabel(const dcli_layout *from, dcli_map_rule *rule);

#endif
