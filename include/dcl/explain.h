/* dcl/explain.h - what a loop body, a copy, a remap or a move will move, compute and need, node by node, before it runs; and
 * what to do better. */
#ifndef DCL_EXPLAIN_H
#define DCL_EXPLAIN_H

#include <dcl/forall.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What the tasks of one node, the user, touch of the elements of another, the owner. */
typedef struct dcl_report_pair {
    int owner, user;
    int64_t blocks;        /**< as blocks_moved of dcl_counters: over the owners they add up to the user's */
    int64_t bytes;         /**< as bytes_moved, in the same way */
    int64_t messages;      /**< as messages_planned: of data, both ways */
    int64_t bytes_read;    /**< of elements that go from the owner to the user, or are read in place */
    int64_t bytes_written; /**< of elements that go from the user to the owner; what is read too counts once in bytes */
} dcl_report_pair;

/** What one node will do. */
typedef struct dcl_report_node {
    int node;
    const char *name;      /**< as dcl_node_name() */
    dcl_counters planned;  /**< as dcl_call_explain(): those that are planned, others are 0 */
    int64_t elements;      /**< indices of the first output that its tasks run */
    int64_t staged_bytes;  /**< most memory of stages of one batch of its tasks, padding included, replicas not */
    int64_t arrived_bytes; /**< most memory of data messages that have come and are still needed, by the order of its
                                batches. Neither has storage of arrays, nor what batches that overlap hold together. */
    int64_t copied_bytes;  /**< memory of the copies that it makes and keeps (dcl_keep(), dcl_move()) */
} dcl_report_node;

/** One array of the call. */
typedef struct dcl_report_array {
    const char
        *name; /**< in the body; of copies and remaps `to` and `from`; of moves that of bodies before, or `array` */
    const char *map;    /**< as dcl_map_print(); of a view: its base's */
    bool read, written; /**< what is perhaps not overwritten is read too */
    int64_t elements;   /**< of the grid */
    int64_t stored;     /**< elements there is room for on all nodes, in slots of cut pieces and padding too; of a view:
                              in its base */
    int64_t bytes_moved; /**< its share in bytes_moved of the nodes reported */
} dcl_report_array;

/** An access whose footprint is a box around what is read, because its subscripts mix indices or repeat one. */
typedef struct dcl_report_footprint {
    const char *name;     /**< of the array */
    int line, column;     /**< of its first occurrence in the body, from 1 */
    int64_t elements;     /**< of its footprints, added up over the boxes that tasks are cut into */
    int64_t read_at_most; /**< of these, no more are read: as many as there are different values of the indices that
                                occur; equal to `elements` where nothing is known */
} dcl_report_footprint;

/** A report. Made by dcl_call_report(), read by anybody; ended with dcl_report_release(). */
typedef struct dcl_report {
    size_t struct_size;   /**< sizeof(dcl_report) of the library */
    int nodes;            /**< of the cluster, lost ones included */
    int node;             /**< the one that is reported, or DCL_ALL_NODES */
    dcl_counters planned; /**< of the nodes reported together */
    /** Largest / mean of `elements` over the nodes of the first output's map; 1: all alike, or nothing is computed; 0: one
     *  node was asked for. */
    double imbalance_elements;
    double imbalance_bytes; /**< the same of bytes_moved */
    int node_count;         /**< rows of `node_row` */
    int64_t pair_count;
    int array_count, footprint_count, advice_count;
    const dcl_report_node *node_row;
    const dcl_report_pair *pair;           /**< with something to move, by user, then owner */
    const dcl_report_array *array;         /**< in the order of the arguments */
    const dcl_report_footprint *footprint; /**< in the order of the text; only those over-estimated or unknown */
    const char *const *advice;             /**< sentences: where a map or a grain is a poor choice for this body */
} dcl_report;

/** What a call would do, without running it. Planned counters are those of dcl_call_explain(), pairs and arrays the same bytes
 *  in detail.
 *   - Of a copy, and of a remap, rows of arrays are `to` and `from`. A remap copies to a new array of the new map; until the old
 *     storage is released, memory for both is needed (`stored` of both rows). An equal map moves nothing, and neither does an
 *     array copied to itself.
 *   - Of a move, the report is of the node that elements move to, and its only array is that behind a view.
 *   - There is advice on bodies and tile kernels only.
 *  @param node  0..node_count-1: what this node does; DCL_ALL_NODES: what all do. Of a move it is not looked at.
 *  @return the report, yours: dcl_report_release(); or NULL: the errors of dcl_call_explain(), DCL_ERR_NOMEM. The cluster's
 *          state does not change.
 *  Cost: every node reported is planned. For advice, all are planned again with every map that is considered instead, where
 *  bodies are not too large for that. */
DCL_API dcl_report *dcl_call_report(const dcl_call *call, int node);
/** The same of a body, on all nodes: dcl_explain_report(cluster, body, DCL_OUT(C), DCL_IN(A)). */
#define dcl_explain_report(cluster, body, ...) \
    dcl_call_report(DCL_CALL_BODY(cluster, NULL, body, __VA_ARGS__), DCL_ALL_NODES)

/** How a report is written. */
typedef enum dcl_report_format {
    DCL_REPORT_TEXT, /**< tables and sentences; of long tables the first rows */
    DCL_REPORT_JSON  /**< one object on one line, with the names of the fields above; all of it. Counters of all
                           nodes stand beside them, rows in the lists per_node, pairs, arrays, footprints and advice */
} dcl_report_format;

/** Write a report.
 *  @param text_out  [capacity] receives the text, cut to capacity - 1 and ended by '\0'; may be NULL when capacity is 0.
 *  @return length of the whole text without '\0', as snprintf() does; 0 for NULL, or when there is no memory. */
DCL_API size_t dcl_report_print(const dcl_report *report, dcl_report_format format, char *text_out, size_t capacity);

/** End your hold on a report. NULL is accepted. */
DCL_API void dcl_report_release(dcl_report *report);

#ifdef __cplusplus
}
#endif
#endif
