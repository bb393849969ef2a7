/* runtime/balance.h - how the work of a body would be divided evenly among nodes, by the times that they have measured.
 * Pure: no I/O, no locks, no clock. */
#ifndef DCLI_RUNTIME_BALANCE_H
#define DCLI_RUNTIME_BALANCE_H

#include "net/message.h"

/** What one node has measured of a body; the fields of dcli_msg_counts. */
typedef struct dcli_node_times {
    int axis;
    int64_t first, count; /* count 0: nothing */
    int64_t calls;
    int seen, stolen;
    int64_t work[4 * DCLI_MSG_WORK_PARTS];
    int thief_count;
    int64_t thief[3 * DCLI_MSG_WORK_THIEVES];
} dcli_node_times;

/** What all nodes have measured of a body. */
typedef struct dcli_times {
    int64_t kernel; /* number of the body */
    int node_count;
    dcli_node_times row[]; /* [node_count] */
} dcli_times;

/** Make an empty table of the nodes' times for a body. @return NULL: DCL_ERR_NOMEM. Free with dcli_free(). */
dcli_times *dcli_times_make(int node_count, int64_t kernel);
/** Note a node's answer, unless it is about another body. */
void dcli_times_note(dcli_times *work, int node, const dcli_msg_counts *counts);

/** A better division of the work. */
typedef struct dcli_balance {
    int axis;
    int victim;       /* the node whose batches other nodes compute most */
    int seen, stolen; /* others have computed batches of `victim` in `stolen` of its last `seen` calls */
    double lent;      /* share of the victim's work that others have computed, 0..1 */
    double now_ns;    /* time of a call at the node that has most to do, without stealing */
    double then_ns;   /* the same with the division that dcli_balance_find() has found */
} dcli_balance;

/** Find out whether a node has lastingly too much to do, and how many indices of each node would divide the work
 *  evenly.
 *
 *  Lasting means: other nodes have computed batches of the node in at least three quarters of its last 8 or more calls.
 *  The cost of an index is the measured time of the part that it is in, divided by the slowness of the node that
 *  measured it. How slow nodes are, compared with each other, follows from batches of the same parts that both have
 *  computed; nodes that have computed none for others are taken to be as fast as those that have. The new division
 *  gives each node consecutive indices that take it equally long.
 *  @param start, extent  the indices of the axis.
 *  @param nodes          [node_count] in the order in which the nodes get their indices.
 *  @param length_out     [node_count] how many indices each of them gets.
 *  @return DCL_OK: balance_out and length_out are set; DCL_ERR_INVALID, without a sentence: nothing better is known, or
 *          it would save less than a tenth; DCL_ERR_NOMEM. */
dcl_status dcli_balance_find(const dcli_times *work, int axis, int64_t start, int64_t extent, int node_count,
                             const int nodes[], dcli_balance *balance_out, int64_t length_out[]);

#endif
