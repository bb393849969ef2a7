/* worker/recent.c - a ring buffer of the bodies of the batches that were launched alone last. */
#include "worker/recent.h"

/* The body of the batch that was noted `back` batches before the last one. */
static int64_t body_at(const dcli_recent *recent, int64_t back)
{
    return recent->body[(recent->noted - 1 - back) % DCLI_RECENT];
}

/* How many of the last `window` batches run this body. */
static int64_t count(const dcli_recent *recent, int64_t window, int64_t body)
{
    int64_t found = 0;
    for (int64_t back = 0; back < window && back < recent->noted; back++)
        found += body_at(recent, back) == body;
    return found;
}

bool dcli_recent_note(dcli_recent *recent, int64_t body, bool large)
{
    bool is_new_large = count(recent, DCLI_RECENT_LARGE, body) == 0;
    bool is_new_short = is_new_large && count(recent, DCLI_RECENT, body) == 0;
    recent->body[recent->noted++ % DCLI_RECENT] = body;
    if (is_new_large)
        recent->new_large = recent->noted;
    if (is_new_short)
        recent->new_short = recent->noted;
    int64_t window = large ? DCLI_RECENT_LARGE : DCLI_RECENT, since = recent->noted - recent->chosen,
            settled = recent->noted - (large ? recent->new_large : recent->new_short) + 1;
    return since >= 2 * window || (since >= window && settled >= window);
}

int dcli_recent_recurring(const dcli_recent *recent, bool large, int most, int64_t body_out[])
{
    int64_t window = large ? DCLI_RECENT_LARGE : DCLI_RECENT;
    int found = 0;
    for (int64_t back = 0; back < window && back < recent->noted && found < most; back++) {
        int64_t body = body_at(recent, back);
        int at = found;
        while (at > 0 && body_out[at - 1] > body)
            at--;
        if ((at > 0 && body_out[at - 1] == body) || count(recent, window, body) * DCLI_RECENT_RECUR < window)
            continue;
        for (int p = found; p > at; p--)
            body_out[p] = body_out[p - 1];
        body_out[at] = body;
        found++;
    }
    return found;
}

void dcli_recent_done(dcli_recent *recent) { recent->chosen = recent->noted; }
