/* test/worker/recent_test.c - which bodies count as recurring, after other bodies ran before. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <stdio.h>
#include <string.h>

#include "worker/recent.h"

enum { NONE = -1 };

/* Note batches of `count` bodies from `first` on, in turns. @return after how many of them it was time to choose; NONE: never. */
static int note(dcli_recent *recent, int64_t first, int count, bool large, int batches)
{
    for (int n = 0; n < batches; n++)
        if (dcli_recent_note(recent, first + n % count, large))
            return n + 1;
    return NONE;
}

/* The bodies that recur, as text. */
static const char *recurring(const dcli_recent *recent, bool large)
{
    static char text[200];
    int64_t body[8];
    int count = dcli_recent_recurring(recent, large, 8, body);
    text[0] = '\0';
    for (int p = 0; p < count; p++)
        snprintf(text + strlen(text), sizeof text - strlen(text), " %d", (int)body[p]);
    return text;
}

/* A program that ran other loop nests before: their batches are among the last ones when a time loop begins. */
struct before_case {
    char what[40];
    int bodies, batches; /* of what ran before */
    int after;           /* batches of the time loop until the choice */
    char found[40];
};

ParameterizedTestParameters(worker_recent, what_ran_before_is_not_chosen)
{
    static struct before_case cases[] = {
        /* what                             bodies batches after found */
        {"nothing", 1, 0, 49, " 100 101"},
        {"nine bodies, five times each", 9, 45, 49, " 100 101"},
        {"so much that a choice is due soon", 60, 90, 6, " 100 101"},
        {"a body for each batch", 400, 46, 49, " 100 101"},
    };
    return cr_make_param_array(struct before_case, cases, sizeof cases / sizeof cases[0]);
}

ParameterizedTest(struct before_case *c, worker_recent, what_ran_before_is_not_chosen)
{
    dcli_recent recent = {.noted = 0};
    cr_assert_eq(note(&recent, 1000, c->bodies, true, c->batches), NONE);
    int after = note(&recent, 100, 2, true, 200);
    cr_expect_eq(after, c->after, "%s: after %d batches", c->what, after);
    cr_expect_str_eq(recurring(&recent, true), c->found, "%s:%s", c->what, recurring(&recent, true));
}

Test(worker_recent, a_loop_has_at_most_sixteen_bodies)
{
    dcli_recent recent = {.noted = 0};
    cr_expect_gt(note(&recent, 0, 16, true, 200), 0);
    cr_expect_str_eq(recurring(&recent, true), " 7 8 9 10 11 12 13 14");
    recent = (dcli_recent){.noted = 0};
    cr_expect_gt(note(&recent, 0, 17, true, 200), 0);
    cr_expect_str_not_empty(recurring(&recent, true), "fourteen of seventeen ran three times");
    recent = (dcli_recent){.noted = 0};
    cr_expect_eq(note(&recent, 0, 60, true, 200), 96, "all are new: it is time to choose nevertheless");
    cr_expect_str_empty(recurring(&recent, true));
}

Test(worker_recent, short_batches_are_chosen_after_more)
{
    dcli_recent recent = {.noted = 0};
    cr_expect_eq(note(&recent, 3, 2, false, 600), 257);
    cr_expect_str_eq(recurring(&recent, false), " 3 4");
    dcli_recent_done(&recent);
    cr_expect_eq(note(&recent, 3, 2, false, 600), 256, "by later batches");
}

Test(worker_recent, short_batches_between_large_ones_are_chosen_with_them)
{
    dcli_recent recent = {.noted = 0};
    int choices = 0;
    for (int step = 0; step < 30 && choices == 0; step++) { /* a large batch and two at the edges */
        choices += dcli_recent_note(&recent, 1, true);
        cr_expect_not(dcli_recent_note(&recent, 2, false));
        cr_expect_not(dcli_recent_note(&recent, 3, false));
    }
    cr_expect_eq(choices, 1);
    cr_expect_str_eq(recurring(&recent, true), " 1 2 3");
}
