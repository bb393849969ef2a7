/* workqueue/lend_pace.c - how much a node launches at a time, and when it asks. */
#include "workqueue/lend_pace.h"

#include "base/check.h"
#include "workqueue/loan_ask.h"

enum {
    WHOLE_NS = 2000000,    /* an operation that takes at most this long is one launch */
    LAUNCH_NS = 2000000,   /* a launch of a part of an operation takes at most this long. Each further launch, with
                              waking up for it, costs some 10 to 30 us */
    SHORT_NS = 1000000,    /* least time of a launch: the last launches of an operation become shorter, down to this, so
                              that all nodes end at the same time */
    SHARED_NS = 500000,    /* the same if there are more than DCLI_ASK_NEAR other nodes: then more may ask at a time */
    REST_SHARE = 3,        /* a launch takes at most a third of the batches that can start, by time */
    MOST_LAUNCHES = 2,     /* launches in a device's queue that are enough: one that runs, and one that follows it */
    WINDOW_NS = 250000,    /* least time of the launches in a device's queue that is enough */
    BORROWED_NS = 2000000, /* the same if some of them are loans of other nodes */
    LAST_SHARE = 16,       /* the waiting batches are the last ones of an operation if they are at most a sixteenth
                              of its batches */
    AHEAD_NS = 2000000     /* a node asks for work when what it has to do takes less than this */
};

int64_t dcli_lend_launch(int64_t possible, bool all, double batch_ns, int others)
{
    int64_t short_ns = others > DCLI_ASK_NEAR ? SHARED_NS : SHORT_NS;
    double rest_ns = batch_ns * (double)possible;
    if (batch_ns <= 0)
        return 1;
    if (rest_ns <= (double)(all ? WHOLE_NS : short_ns))
        return possible;
    int64_t launch_ns = dcli_min(LAUNCH_NS, dcli_max(short_ns, (int64_t)(rest_ns / REST_SHARE)));
    return dcli_max(1, (int64_t)((double)launch_ns / batch_ns));
}

int64_t dcli_lend_at_once(int others)
{
    enum { SHARED_AT_ONCE = 8 };
    return others > DCLI_ASK_NEAR ? SHARED_AT_ONCE : DCLI_LEND_AT_ONCE;
}

int64_t dcli_lend_queued_ns(int64_t expected_ns) { return expected_ns > 0 ? expected_ns : WINDOW_NS; }

bool dcli_lend_are_last(int64_t waiting, int64_t batches) { return waiting <= batches / LAST_SHARE; }

bool dcli_lend_is_enough(int64_t launches, int64_t ns, bool borrowed, bool last)
{
    return launches >= (last ? 1 : MOST_LAUNCHES) && ns >= (borrowed ? BORROWED_NS : WINDOW_NS);
}

int64_t dcli_lend_busy_ns(const dcli_lend_load *load)
{
    if (load->dry)
        return 0;
    if (load->leaves_others || load->borrowed_ns == INT64_MAX || !dcli_lend_are_last(load->waiting, load->batches) ||
        (load->waiting > 0 && load->batch_ns <= 0))
        return INT64_MAX;
    return load->borrowed_ns + load->queued_ns + (int64_t)((double)load->waiting * load->batch_ns);
}

bool dcli_lend_asks(const dcli_lend_load *load)
{
    int64_t busy_ns = dcli_lend_busy_ns(load);
    bool all_launched = load->launches <= MOST_LAUNCHES && load->waiting == 0 && load->borrowed_ns == 0;
    return busy_ns < AHEAD_NS || (all_launched && busy_ns < INT64_MAX);
}
