/* workqueue/lend_count.c - the cost rule of lending. */
#include "workqueue/lend_count.h"

#include <stdbool.h>

#include "base/check.h"

/* The time that all remaining work of the victim takes, in ns, if it lends nothing. */
static double rest_of(const dcli_lend_case *c, double victim_ns)
{
    return (double)c->queued_ns + (c->waiting_ns > 0 ? c->waiting_ns : (double)c->waiting * victim_ns);
}

static double scale_of(const dcli_lend_case *c) { return c->thief_times > 0 ? c->thief_times : 1; }

/* How many batches to lend by DCL_STEAL_PAYS; the caller rounds it down. It is the greatest n with fixed + n * each <=
 * rest - n * victim, so that the results are back while the victim runs the batches that it keeps; or one more; but at
 * most half of `rest`. */
static double most_that_pay(const dcli_lend_case *c)
{
    double victim_ns = c->victim_ns > 0 ? c->victim_ns : c->thief_ns / scale_of(c);
    double thief_ns = c->thief_ns > 0 ? c->thief_ns : victim_ns * scale_of(c);
    double each_ns = thief_ns + ((double)c->input_bytes + (double)c->result_bytes) * c->ns_per_byte;
    double fixed_ns = 2 * c->message_ns + (double)c->thief_busy_ns; /* two messages: the loan and its result */
    double rest_ns = rest_of(c, victim_ns);
    if (victim_ns <= 0)
        return 0;
    double pays = (rest_ns - fixed_ns) / (each_ns + victim_ns), half = rest_ns / 2 / victim_ns;
    if (pays < 0)
        return 0;
    /* one more, if its result is back before the victim would have run that batch, with the time of two messages to
     * spare */
    double n = (double)(int64_t)pays;
    if (fixed_ns + (n + 1) * each_ns + 2 * c->message_ns < rest_ns - n * victim_ns)
        pays = n + 1;
    return pays < half ? pays : half;
}

int64_t dcli_lend_count(const dcli_lend_case *c)
{
    int64_t most = dcli_min(c->offered, c->waiting);
    if (c->policy <= DCL_STEAL_NEVER || most < 1)
        return 0;
    if (c->policy == DCL_STEAL_ALWAYS)
        return dcli_min(most, dcli_max(1, c->waiting / 2));
    double pays = most_that_pay(c);
    return pays < 1 ? 0 : pays < (double)most ? (int64_t)pays : most;
}

int64_t dcli_lend_even(int64_t end, int64_t count, int64_t each)
{
    enum { SHARE = 8 };
    for (int64_t unit = each; unit > 1; unit /= 2) {
        int64_t left_out = dcli_ceil_div(end - count, unit) * unit - (end - count);
        if (left_out < count && left_out <= dcli_ceil_div(count, SHARE))
            return count - left_out;
    }
    return count;
}

int64_t dcli_lend_each(const dcli_lend_case *c, int64_t count)
{
    enum { LEAST_NS = 500000, MOST_NS = 2000000, SHARE = 4, TEST_EACH = 2 };
    bool tests = c->policy == DCL_STEAL_ALWAYS;
    double loan_ns = rest_of(c, c->victim_ns) / SHARE;
    loan_ns = loan_ns < LEAST_NS ? LEAST_NS : loan_ns > MOST_NS ? MOST_NS : loan_ns;
    double most = tests ? TEST_EACH : c->victim_ns > 0 ? loan_ns / c->victim_ns : 1;
    int64_t each = 1;
    while (2 * each <= count && (double)(2 * each) <= most)
        each *= 2;
    return each;
}
