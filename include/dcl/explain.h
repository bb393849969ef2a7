/* dcl/explain.h - reports: what a body, reduction, scan, copy, remap or move would compute, move and need on each node, and
 * which maps would be better. */
#ifndef DCL_EXPLAIN_H
#define DCL_EXPLAIN_H

#include <dcl/forall.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What moves between two nodes: elements that the node `owner` owns and that tasks of the node `user` read or write. */
typedef struct dcl_report_pair {
    int owner, user;
    int64_t blocks;        /**< the part of the user's blocks_moved (dcl_counters) that this owner causes */
    int64_t bytes;         /**< the part of the user's bytes_moved that this owner causes */
    int64_t messages;      /**< as messages_planned: data messages in both directions */
    int64_t bytes_read;    /**< bytes of elements that the owner sends to the user, or that the user reads in place */
    int64_t bytes_written; /**< bytes of elements that the user sends back. An element that is read and written counts
                                once in `bytes` */
    const char *way;       /**< how the user gets what it reads: "place", "slots" or "send", see
                                dcl_config.transfer */
} dcl_report_pair;

/** What one node would do. */
typedef struct dcl_report_node {
    int node;
    const char *name;      /**< as dcl_node_name() */
    dcl_counters planned;  /**< planned counters, as of dcl_call_explain(); the others are 0 */
    int64_t elements;      /**< indices of the first output that its tasks compute */
    int64_t staged_bytes;  /**< maximum memory for the stages of one batch (dcl/base.h) of its tasks; includes padding,
                                but no replicas */
    int64_t arrived_bytes; /**< maximum memory for data messages that have arrived and are still needed, if each batch
                                ends before the next one begins. If batches overlap, a node uses more. Neither this
                                number nor staged_bytes includes the storage of arrays. */
    int64_t copied_bytes;  /**< memory of the replicas that it makes (dcl_keep(), dcl_move()); not the counter
                                bytes_copied */
} dcl_report_node;

/** One array of a call. */
typedef struct dcl_report_array {
    const char *name;    /**< name in the body; of copies and remaps `to` and `from`; of moves the name in the last body
                             that used the array, or `array` if none has */
    const char *map;     /**< as dcl_map_print(); of a view: the map of its base */
    bool read, written;  /**< an output counts as read, too, if the body may leave some elements unwritten */
    int64_t elements;    /**< elements of the grid */
    int64_t stored;      /**< elements that the storage of all nodes has room for, including padding and the unused
                             storage of cut pieces; for a view: the same of its base */
    int64_t bytes_moved; /**< the part of the reported nodes' bytes_moved that this array causes */
} dcl_report_array;

/** An access for which DCL may plan more elements than the body reads, such as A(i+j) (two indices in one subscript) or
 *  A(i,i) (one index in two subscripts). The *footprint* of an access is the set of elements that DCL plans for it. */
typedef struct dcl_report_footprint {
    const char *name;     /**< name of the array */
    int line, column;     /**< where the access is in the body, from 1 */
    int64_t elements;     /**< elements of its footprints. DCL cuts the indices that a batch of tasks computes into
                               boxes; each box has a footprint of its own, and this is the sum over all boxes */
    int64_t read_at_most; /**< upper bound of the number of elements that are really read, computed from how many
                               different values the indices take; equal to `elements` if no better bound is known */
} dcl_report_footprint;

/** An index of a reduction or scan, and its range: first, first + 1, ..., first + count - 1. */
typedef struct dcl_report_index {
    const char *name;
    const char *use; /**< "kept": results have this index; "reduced": values are combined over it; "kept and reduced":
                          both, in a body that writes ordinary outputs beside its results; "scanned" */
    int64_t first, count;
} dcl_report_index;

/** A report. dcl_call_report() makes it; end it with dcl_report_release(). Any thread may read it. */
typedef struct dcl_report {
    size_t struct_size;   /**< sizeof(dcl_report) in the library */
    int nodes;            /**< nodes of the cluster, including lost ones */
    int node;             /**< the node reported, or DCL_ALL_NODES */
    dcl_counters planned; /**< sum over the nodes reported */
    /** Load imbalance: largest / mean of `elements` over the nodes of the first output's map. 1: perfectly even, or
     *  nothing is computed. 0: the report is of one node only. */
    double imbalance_elements;
    double imbalance_bytes; /**< the same for bytes_moved */
    int node_count;         /**< rows of `node_row` */
    int64_t pair_count;
    int array_count, footprint_count, advice_count;
    const dcl_report_node *node_row;
    const dcl_report_pair *pair;           /**< pairs with something to move, sorted by user, then owner */
    const dcl_report_array *array;         /**< in the order of the arguments */
    const dcl_report_footprint *footprint; /**< in the order of the text: see dcl_report_footprint */
    const char *const *advice;             /**< sentences: maps, blocks or tiles that are a poor choice */
    const char *all_to_all; /**< NULL, or a sentence that names an access. DCL does not know which elements this access
                                 reads, as with DCL_IN_ALL, so each node plans its exchange with all others. On very
                                 many nodes, that takes long. Always NULL on fewer than three nodes */
    /** In a session that lends (dcl_config.steal): NULL, or a map that would serve better, because other nodes compute a
     *  node's batches of this body again and again. Make the map from this text by dcl_map_parse(), and call dcl_remap()
     *  with it for the first output and the arrays that are laid out like it. A sentence of the advice gives the
     *  reasons. */
    const char *balanced_map;
    int64_t balanced_ns;   /**< predicted time of a call with balanced_map, without stealing; 0 without that map */
    int64_t unbalanced_ns; /**< the same with the present maps; 0 without balanced_map */
    int index_count;       /**< reductions and scans: rows of `index`; else 0 */
    const dcl_report_index *index; /**< those of the results in the order of their axes, then the reduced ones */
    const char *method; /**< reductions and scans: how the values are combined, and what that costs; else NULL */
} dcl_report;

/** Report what a call would do, without running it. The planned counters are those of dcl_call_explain(). The
 *  bytes of all pairs add up to bytes_moved, and so do those of all arrays.
 *    - Copies and remaps have the array rows `to` and `from`. A remap is reported as a copy to a new array of the new
 *      map: while it runs, the nodes need the memory `stored` of both. A remap to an equal map, and a copy of an array
 *      to itself, move nothing.
 *    - The report of a move describes the node that receives the elements. Its only array is the one that is moved; for a
 *      view, its base.
 *    - A scan is reported as the sum of its operations. Rows whose names begin with scan_ are arrays of the library.
 *    - A reduction to values has the array row dcl_partials, an array of the library for the nodes' partial results.
 *    - Only bodies and tile kernels get advice.
 *    - If nodes may lend batches (dcl_config.steal), a report of a body on all nodes first waits until all earlier calls are
 *      complete. Then it asks the nodes how long the last calls of this body took, to find balanced_map. This needs at least
 *      8 calls whose first outputs have the same extents and map.
 *  @param node  0..node_count-1: that node only; DCL_ALL_NODES: all nodes. Ignored for a move.
 *  @return the report, yours: dcl_report_release(); or NULL: the errors of dcl_call_explain(), DCL_ERR_NOMEM. The
 *          cluster's state does not change.
 *  Cost: plans the call for every node that is reported. To find advice, it plans the call for all nodes again with each
 *  alternative map. It skips this on more than 256 nodes, and if the plans would cut the indices of the body into more than
 *  about 100,000 boxes. */
DCL_API dcl_report *dcl_call_report(const dcl_call *call, int node);
/** Report of a body on all nodes: dcl_explain_report(cluster, body, DCL_OUT(C), DCL_IN(A)). */
#define dcl_explain_report(cluster, body, ...) \
    dcl_call_report(DCL_CALL_BODY(cluster, NULL, body, __VA_ARGS__), DCL_ALL_NODES)

/** Output format of a report. */
typedef enum dcl_report_format {
    DCL_REPORT_TEXT, /**< tables and sentences; long tables are cut to their first rows */
    DCL_REPORT_JSON  /**< one JSON object on one line, complete, with the field names above. The counters of all
                          nodes are members of the object; rows are in the lists per_node, pairs, arrays, footprints,
                          indices and advice */
} dcl_report_format;

/** Write a report.
 *  @param text_out  [capacity] receives the text, cut to capacity - 1 characters and ended by '\0'; may be NULL when
 *                   capacity is 0.
 *  @return length of the whole text without '\0', as snprintf() does; 0 for NULL, or when there is no memory. */
DCL_API size_t dcl_report_print(const dcl_report *report, dcl_report_format format, char *text_out, size_t capacity);

/** Release a report. NULL is accepted. */
DCL_API void dcl_report_release(dcl_report *report);

#ifdef __cplusplus
}
#endif
#endif
