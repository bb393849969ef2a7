/* worker/gain.h - whether lending shortens the calls of a loop body, from the times of calls with loans and without.
 *
 * Nodes of one host share its memory. If one node alone can use all of its bandwidth, a second one computes nothing sooner,
 * and results that it returns are copied in addition. The predicted times of batches do not show that, because they grow
 * when both nodes compute. */
#ifndef DCLI_WORKER_GAIN_H
#define DCLI_WORKER_GAIN_H

#include "worker/cost.h"

/** The last times of calls of one body with the same plan. Start with zeros. */
typedef struct dcli_gain {
    dcli_cost lent, kept; /* ns of calls of which some was lent, and of calls of which nothing was */
    int64_t calls;
} dcli_gain;

/** Add the time of a call. @param lent  a node that shares this one's memory has computed some of it. */
void dcli_gain_add(dcli_gain *gain, bool lent, int64_t ns);
/** Whether to lend batches of the next call. At first two calls are lent and two are kept. Then calls are lent if that has taken
 *  less than 0.95 of the time of kept ones; but two calls of every 64 try the other way. */
bool dcli_gain_lends(const dcli_gain *gain);

#endif
