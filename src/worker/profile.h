/* worker/profile.h - how much time the parts of a loop body's work take, along one axis of its first output, and which
 * other nodes have computed some of it. The program asks for it, to find a map that divides the work better. Used by the
 * thread of its node, in sessions that lend. */
#ifndef DCLI_WORKER_PROFILE_H
#define DCLI_WORKER_PROFILE_H

#include "worker/peer.h"

struct dcli_lent_out;

/** What a node has measured of a body's last calls. Sums are halved from time to time, so that older calls count less. */
typedef struct dcli_profile dcli_profile; /* an array; freed with dcli_free() */

/** Own batches first .. last of the running ones have ended, and the device took `took_ns` for them: divide this time among
 *  them. */
void dcli_profile_ran(const dcli_as_node *own, int64_t first, int64_t last, int64_t took_ns);
/** The result of a loan has come. @param kernel_ns  time at the thief. */
void dcli_profile_won(dcli_worker *worker, const struct dcli_lent_out *lent, int64_t kernel_ns);

/** Predicted time on this node of consecutive batches of its plan, by the last calls of the same body with the same plan. Of
 *  parts that only other nodes have computed, by their times and speeds. @return 0: it is not known. Cost: 1 us and some 20
 *  ns per batch, of at most 64 */
double dcli_profile_predict(const dcli_entry *entry, const dcli_plan *plan, int64_t batch, int64_t count);
/** How many times as long as this node another one took for batches of the same parts in the last calls. @return 0: it is
 *  not known. */
double dcli_profile_times(const dcli_entry *entry, const dcli_plan *plan, int node);

/** Whether lending batches to a node that shares this one's memory may shorten the call. It is not if memory may limit the body,
 *  and the last calls of it with the same plan were no shorter with loans (worker/gain.h). */
bool dcli_profile_lends(const dcli_entry *entry, const dcli_plan *plan);

/** Room for what dcli_profile_tell() refers to. */
typedef struct dcli_profile_told {
    int64_t work[4 * DCLI_MSG_WORK_PARTS], thief[3 * DCLI_MSG_WORK_THIEVES];
} dcli_profile_told;
/** Add what was measured of a body to the answer to COUNT. @param kernel  0, or the number of a body. */
void dcli_profile_tell(const dcli_worker *worker, int64_t kernel, dcli_msg_counts *counts, dcli_profile_told *told);

#endif
