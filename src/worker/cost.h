/* worker/cost.h - what an element of a loop body costs on this node's device, from times of its batches. */
#ifndef DCLI_WORKER_COST_H
#define DCLI_WORKER_COST_H

#include <stdbool.h>
#include <stdint.h>

enum { DCLI_COST_SAMPLES = 3 };

/** Start with zeros. */
typedef struct dcli_cost {
    double sample[DCLI_COST_SAMPLES]; /* ns of an element on one compute unit, the oldest is replaced next */
    int64_t samples;                  /* taken so far */
    int64_t runs;                     /* batches started */
} dcli_cost;

/** Count a batch that is about to start. @return whether it should be timed: the first few, then now and then, as costs may
 *  depend on the data. */
bool dcli_cost_due(dcli_cost *cost);
/** Note that `elements` took `ns` on `units` compute units at a time. */
void dcli_cost_add(dcli_cost *cost, int64_t ns, int64_t elements, int64_t units);
/** Nanoseconds of an element on one unit: the median of the last samples; of two, which may have met a busy machine, the
 *  smaller. 0: fewer than two were taken. */
double dcli_cost_ns(const dcli_cost *cost);

#endif
