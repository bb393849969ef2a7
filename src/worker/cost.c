/* worker/cost.c - estimates the time of one element of a loop body on this node's device, from the times of its
 * batches. */
#include "worker/cost.h"

bool dcli_cost_due(dcli_cost *cost, bool joins)
{
    enum { EVERY = 16, EVERY_JOINED = 256 };
    return cost->samples < DCLI_COST_SAMPLES || ++cost->runs % (joins ? EVERY_JOINED : EVERY) == 0;
}

void dcli_cost_add(dcli_cost *cost, int64_t ns, int64_t elements, int64_t units)
{
    if (ns > 0 && elements > 0)
        cost->sample[cost->samples++ % DCLI_COST_SAMPLES] = (double)ns * (double)units / (double)elements;
}

double dcli_cost_ns(const dcli_cost *cost)
{
    double a = cost->sample[0], b = cost->sample[1], c = cost->sample[2];
    double low = a < b ? a : b, high = a < b ? b : a;
    if (cost->samples < DCLI_COST_SAMPLES)
        return cost->samples < 2 ? 0 : low;
    return c < low ? low : c > high ? high : c;
}

double dcli_cost_least_ns(const dcli_cost *cost)
{
    double least = 0;
    for (int n = 0; n < DCLI_COST_SAMPLES && n < cost->samples && cost->samples >= 2; n++)
        least = n == 0 || cost->sample[n] < least ? cost->sample[n] : least;
    return least;
}
