/* test/workqueue/lend_count_test.c - the cost rule of lending. Unless a row says otherwise, a batch takes 100 ns at both
 * nodes. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <inttypes.h>

#include "workqueue/lend_count.h"
#include "workqueue/loan.h"

struct rule_case {
    char what[64];
    dcli_lend_case given;
    int64_t lent;
};

#define NEVER DCL_STEAL_NEVER
#define PAYS DCL_STEAL_PAYS
#define ALWAYS DCL_STEAL_ALWAYS

#define SAME .victim_ns = 100, .thief_ns = 100

ParameterizedTestParameters(lend_count, rule)
{
    static struct rule_case cases[] = {
        {"never", {.policy = NEVER, .offered = 8, .waiting = 8, SAME}, 0},
        {"nothing is offered", {.policy = ALWAYS, .offered = 0, .waiting = 8, SAME}, 0},
        {"equal nodes share the rest", {.policy = PAYS, .offered = 8, .waiting = 8, SAME}, 4},
        {"of an odd number, the smaller half", {.policy = PAYS, .offered = 7, .waiting = 7, SAME}, 3},
        {"no more than is offered", {.policy = PAYS, .offered = 2, .waiting = 8, SAME}, 2},
        {"the last batch stays", {.policy = PAYS, .offered = 1, .waiting = 1, SAME}, 0},
        {"unless the device is busy as long", {.policy = PAYS, .offered = 1, .waiting = 1, SAME, .queued_ns = 100}, 1},
        {"busy for almost as long", {.policy = PAYS, .offered = 1, .waiting = 1, SAME, .queued_ns = 99}, 0},
        {"what is queued counts", {.policy = PAYS, .offered = 8, .waiting = 8, SAME, .queued_ns = 200}, 5},

        /* 3 * 300 <= 9 * 100, and 4 * 300 > 8 * 100 */
        {"a slow thief", {.policy = PAYS, .offered = 12, .waiting = 12, .victim_ns = 100, .thief_ns = 300}, 3},
        {"a fast thief gets half", {.policy = PAYS, .offered = 12, .waiting = 12, .victim_ns = 100, .thief_ns = 1}, 6},
        {"an unknown thief is as fast", {.policy = PAYS, .offered = 8, .waiting = 8, .victim_ns = 100}, 4},
        {"or known to be slower",
         {.policy = PAYS, .offered = 12, .waiting = 12, .victim_ns = 100, .thief_times = 3},
         3},
        {"only the thief's time is known", {.policy = PAYS, .offered = 8, .waiting = 8, .thief_ns = 100}, 4},
        {"no time is known", {.policy = PAYS, .offered = 8, .waiting = 8}, 0},
        {"a thief that is busy", {.policy = PAYS, .offered = 8, .waiting = 8, SAME, .thief_busy_ns = 400}, 2},
        {"one more that is back before it would run here",
         {.policy = PAYS, .offered = 4, .waiting = 4, SAME, .queued_ns = 100, .thief_busy_ns = 180},
         2},
        {"not if it is back when it would have been run",
         {.policy = PAYS, .offered = 4, .waiting = 4, SAME, .queued_ns = 100, .thief_busy_ns = 200},
         1},
        {"other batches that wait take less", {.policy = PAYS, .offered = 8, .waiting = 8, SAME, .waiting_ns = 400}, 2},
        {"other batches that wait take more",
         {.policy = PAYS, .offered = 8, .waiting = 8, SAME, .waiting_ns = 1200},
         6},

        /* each takes 100 + 200 * 1 at the thief: 2 * 300 <= 6 * 100 */
        {"inputs are sent",
         {.policy = PAYS, .offered = 8, .waiting = 8, SAME, .input_bytes = 200, .ns_per_byte = 1},
         2},
        {"results are sent",
         {.policy = PAYS, .offered = 8, .waiting = 8, SAME, .result_bytes = 200, .ns_per_byte = 1},
         2},
        {"inputs and results are sent",
         {.policy = PAYS, .offered = 8, .waiting = 8, SAME, .input_bytes = 100, .result_bytes = 100, .ns_per_byte = 1},
         2},
        {"sending costs more than computing",
         {.policy = PAYS, .offered = 8, .waiting = 8, SAME, .input_bytes = 700, .ns_per_byte = 1},
         0},
        {"sending costs as much as the rest",
         {.policy = PAYS, .offered = 8, .waiting = 8, SAME, .input_bytes = 600, .ns_per_byte = 1},
         1},
        /* 2 * 200 + 2 * 100 <= 6 * 100 */
        {"messages take time", {.policy = PAYS, .offered = 8, .waiting = 8, SAME, .message_ns = 200}, 2},
        {"messages take longer than the rest",
         {.policy = PAYS, .offered = 8, .waiting = 8, SAME, .message_ns = 400},
         0},
        {"work that is short beside a message",
         {.policy = PAYS, .offered = 64, .waiting = 64, .victim_ns = 1e3, .thief_ns = 1e3, .message_ns = 50e3},
         0},

        {"always: half", {.policy = ALWAYS, .offered = 8, .waiting = 8}, 4},
        {"always: also the last", {.policy = ALWAYS, .offered = 1, .waiting = 1, SAME}, 1},
        {"always: whatever it costs",
         {.policy = ALWAYS, .offered = 3, .waiting = 8, SAME, .input_bytes = 1 << 20, .ns_per_byte = 1e3},
         3},
        {"numbers that do not fit int64_t when multiplied",
         {.policy = PAYS,
          .offered = INT64_MAX,
          .waiting = INT64_MAX,
          .victim_ns = 1e12,
          .thief_ns = 1e12,
          .input_bytes = INT64_MAX,
          .ns_per_byte = 1e13},
         0},
    };
    return cr_make_param_array(struct rule_case, cases, sizeof cases / sizeof cases[0]);
}

ParameterizedTest(struct rule_case *c, lend_count, rule)
{
    int64_t lent = dcli_lend_count(&c->given);
    cr_expect_eq(lent, c->lent, "%s: %" PRId64 " are lent, expected %" PRId64, c->what, lent, c->lent);
}

/* Ask again and again: each time, the thief gets what the rule gives, and the victim runs as long as the thief needs.
 * All is run, and no later than a batch after the ideal. */
Test(lend_count, a_sequence_of_loans_balances)
{
    for (int slower = 1; slower <= 4; slower++) {
        double victim_ns = 1000, thief_ns = victim_ns * slower, passed_ns = 0;
        int64_t waiting = 256, lent_all = 0;
        for (;;) {
            int64_t lent = dcli_lend_count(&(dcli_lend_case){
                .policy = PAYS, .offered = waiting, .waiting = waiting, .victim_ns = victim_ns, .thief_ns = thief_ns});
            if (lent == 0)
                break;
            int64_t own = (int64_t)((double)lent * thief_ns / victim_ns);
            cr_assert_leq(own, waiting - lent, "the thief would come back last");
            passed_ns += (double)own * victim_ns;
            waiting -= lent + own;
            lent_all += lent;
        }
        passed_ns += (double)waiting * victim_ns;
        double ideal_ns = 256 * victim_ns * slower / (slower + 1);
        cr_expect_leq(passed_ns, ideal_ns + (slower + 1) * victim_ns, "%d times slower: %g ns for %g", slower,
                      passed_ns, ideal_ns);
        cr_expect_gt(lent_all, 0);
    }
}

Test(lend_count, loans_of_several_batches)
{
    static const struct {
        char what[48];
        dcl_steal_policy policy;
        double batch_ns, waiting_ns;
        int64_t queued_ns, count, each;
    } cases[] = {
        /* what                                  policy  batch_ns waiting_ns queued_ns count each */
        {"not known", PAYS, 0, 0, 0, 8, 1},
        {"400 us of little work", PAYS, 100000, 1000000, 0, 8, 4},
        {"a quarter of 4 ms: 800 us", PAYS, 100000, 4000000, 0, 16, 8},
        {"the same, in the queue of the device", PAYS, 100000, 2000000, 2000000, 16, 8},
        {"a quarter of 6.4 ms", PAYS, 100000, 6400000, 0, 32, 16},
        {"at most 2 ms", PAYS, 100000, 1e9, 0, 32, 16},
        {"four would take longer than 500 us", PAYS, 126000, 1000000, 0, 8, 2},
        {"a power of two", PAYS, 1, 1000000, 0, 7, 4},
        {"one batch", PAYS, 1, 1000000, 0, 1, 1},
        {"a long batch", PAYS, 2000001, 1e9, 0, 8, 1},
        {"for tests, whatever they take", ALWAYS, 1e9, 1e10, 0, 8, 2},
        {"for tests, one batch", ALWAYS, 0, 0, 0, 1, 1},
        {"very many", PAYS, 1, 1e12, 0, INT64_MAX, 1 << 20},
    };
    for (size_t n = 0; n < sizeof cases / sizeof cases[0]; n++) {
        const dcli_lend_case c = {.policy = cases[n].policy,
                                  .victim_ns = cases[n].batch_ns,
                                  .waiting_ns = cases[n].waiting_ns,
                                  .queued_ns = cases[n].queued_ns};
        int64_t each = dcli_lend_each(&c, cases[n].count);
        cr_expect_eq(each, cases[n].each, "%s: %" PRId64, cases[n].what, each);
    }
}

/* Loans of four are divided at 0, 4, 8, ... */
Test(lend_count, loans_begin_at_multiples)
{
    cr_expect_eq(dcli_loan_end(0, 100, 4), 4);
    cr_expect_eq(dcli_loan_end(5, 100, 4), 8);
    cr_expect_eq(dcli_loan_end(97, 99, 4), 99);
    cr_expect_eq(dcli_loan_end(98, 99, 4), 99);
    cr_expect_eq(dcli_loan_end(7, 100, 1), 8);
    cr_expect_eq(dcli_loan_end(7, INT64_MAX, INT64_MAX), INT64_MAX);
}

Test(lend_count, loans_are_made_even)
{
    static const struct {
        char what[48];
        int64_t end, count, each, lent;
    } cases[] = {
        {"they begin at a multiple", 128, 32, 8, 32},
        {"an eighth of them is left out", 128, 26, 8, 24},
        {"more would be, so they begin at a multiple of 4", 128, 31, 8, 28},
        {"or of 2", 98, 7, 4, 6},
        {"of few batches one is left out", 97, 6, 4, 5},
        {"two would be too many", 97, 7, 4, 7},
        {"the only batch is not", 97, 1, 1, 1},
        {"loans of one batch", 97, 6, 1, 6},
    };
    for (size_t n = 0; n < sizeof cases / sizeof cases[0]; n++) {
        int64_t lent = dcli_lend_even(cases[n].end, cases[n].count, cases[n].each);
        cr_expect_eq(lent, cases[n].lent, "%s: %" PRId64, cases[n].what, lent);
    }
}
