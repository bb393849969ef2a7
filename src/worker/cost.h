/* worker/cost.h - the measured cost of a loop body's element on this node's device, from the times of its batches. */
#ifndef DCLI_WORKER_COST_H
#define DCLI_WORKER_COST_H

#include <stdbool.h>
#include <stdint.h>

enum { DCLI_COST_SAMPLES = 3 };

/** The last measured costs of an element. Start with zeros. */
typedef struct dcli_cost {
    double sample[DCLI_COST_SAMPLES]; /* ns of an element on one compute unit; a ring */
    int64_t samples;                  /* number of measurements so far */
    int64_t runs;                     /* batches counted since there are enough samples */
} dcli_cost;

/** Count a batch that is about to start. @return whether to time it: until there are DCLI_COST_SAMPLES measurements,
 *  then every 16th, because costs may depend on the data.
 *  @param joins  it is small, and would otherwise be part of a series: then every 256th only. */
bool dcli_cost_due(dcli_cost *cost, bool joins);
/** Add a measurement: `elements` took `ns` on `units` compute units in parallel. */
void dcli_cost_add(dcli_cost *cost, int64_t ns, int64_t elements, int64_t units);
/** Nanoseconds of an element on one unit: the median of the last samples, or of two the smaller, since one may have met
 *  a busy machine. 0: fewer than two samples. */
double dcli_cost_ns(const dcli_cost *cost);
/** The least of the last samples: a busy machine only adds to them. 0: fewer than two samples. */
double dcli_cost_least_ns(const dcli_cost *cost);

#endif
