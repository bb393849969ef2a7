/* worker/gain.c - compares calls of which some was lent with calls of which nothing was. */
#include "worker/gain.h"

void dcli_gain_add(dcli_gain *gain, bool lent, int64_t ns)
{
    dcli_cost_add(lent ? &gain->lent : &gain->kept, ns, 1, 1);
    gain->calls++;
}

bool dcli_gain_lends(const dcli_gain *gain)
{
    enum { EVERY = 64, TRIED = 2 };
    const double worth = 0.95; /* a smaller gain may be an accident */
    double lent_ns = dcli_cost_least_ns(&gain->lent), kept_ns = dcli_cost_least_ns(&gain->kept);
    bool tries = gain->calls % EVERY < TRIED;
    if (lent_ns <= 0 || kept_ns <= 0)
        return lent_ns <= 0 || tries;
    return (lent_ns < worth * kept_ns) != tries;
}
