/* resmap/relabel.h - the same map with its nodes in another order, so that most elements stay where they are. Pure. */
#ifndef DCLI_RESMAP_RELABEL_H
#define DCLI_RESMAP_RELABEL_H

#include "resmap/layout.h"

enum { DCLI_MOST_RELABELLED = 256 }; /* nodes of a map that is relabelled: the time grows with their third power */

/** Give n workers n jobs, one each, so that the sum of values is as large as can be.
 *  @param value    [n * n] of worker w at job j: value[w * n + j]; 0 .. 2^50.
 *  @param job_out  [n] the job of each worker.
 *  @return DCL_OK or DCL_ERR_NOMEM. Cost: O(n^3).
 *  Source: the Hungarian method, H. W. Kuhn, Naval Research Logistics Quarterly 2 (1955), in the form with shortest
 *  augmenting paths of R. Jonker and A. Volgenant, Computing 38 (1987). */
dcl_status dcli_assign(int n, const int64_t value[], int job_out[]);

/** Count the elements that `node` owns under `to`, by their owners under `from` (layouts of one grid).
 *  @param elements_out  [from->node_end]. @return DCL_OK or DCL_ERR_NOMEM. */
dcl_status dcli_layout_overlap(const dcli_layout *to, int node, const dcli_layout *from, int64_t elements_out[]);

/** Permute which of its nodes takes which place of a rule so that, from `from` to this rule, most elements keep their
 *  owner. The rule stays as it is when none is better, when it is for more than DCLI_MOST_RELABELLED nodes, when the
 *  better order takes more than DCLI_NODE_RANGES ranges of neighbours, and when the rule is about nodes of its own: shares,
 *  tables, boxes.
 *  @param rule  in: checked, fits from->grid; out: relabelled. @return DCL_OK; DCL_ERR_INVALID, DCL_ERR_NOMEM. */
dcl_status dcli_map_rule_relabel(const dcli_layout *from, dcli_map_rule *rule);

#endif
