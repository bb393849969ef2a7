/* workqueue/partners.h - the peers whose plans may name a node, found by arithmetic, without making their plans. */
#ifndef DCLI_WORKQUEUE_PARTNERS_H
#define DCLI_WORKQUEUE_PARTNERS_H

#include "workqueue/operation.h"

/** What a caller that plans has already. */
typedef struct dcli_partner_search {
    const bool *home;               /* [accesses] dcli_access_is_home() */
    const bool *some;               /* [accesses] the operation touches some element by it */
    const dcl_box *foot;            /* [accesses] if `some`: dcli_access_footprint() of all indices of the operation */
    const dcli_region *const *part; /* [accesses] the peer's part of the array, if it is one region; else NULL */
    dcli_region_list *regions;      /* lists whose contents are overwritten */
    dcli_box_list *boxes;
    dcli_node_list *owners;
} dcli_partner_search;

/** Find the partners of a peer in an operation: the peers whose plans may name it, because they read elements of its
 *  part, or write some. They replace the contents of the list. Every peer whose plan names `self` is listed; others may
 *  be, too: if a read has an unknown reach (DCL_IN_ALL, sums of indices), if a map deals single elements by hash, or if
 *  elements are replicas at the peer. If the operation makes replicas, every node that runs a part of it is listed:
 *  each node records the replicas of all others.
 *  @param own, base   FORALL: [accesses] of each access: dcli_operation_subscripts(); others: NULL.
 *  @param node_count  number of nodes; the host is peer node_count.
 *  @param with        what the caller has already; NULL: nothing.
 *  @return DCL_OK or DCL_ERR_NOMEM. Cost: O(regions of the node's part that are read, and their owners in the first
 *          output); no loop over all nodes, unless all are partners. */
dcl_status dcli_find_partners(const dcli_operation *operation, const dcli_subscripts own[],
                              const dcli_subscripts base[], int self, int node_count, const dcli_partner_search *with,
                              dcli_node_list *partners_out);

#endif
