/* test/fleet/blame_test.c - which ends of a process blame a body, and which body a sentence blames. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "fleet/process.h"
#include "worker/blame.h"

enum { BUILT = 1 + DCLI_BUILDING, RAN = 1 + DCLI_COMPUTING, PLANNED = 1 + DCLI_PLANNING };

/* How a process ended, what its page says, and the body that the sentence blames. */
struct end_case {
    char what[48];
    int code, status;
    int building, computing; /* numbers of bodies; 0: none, or several */
    int exceeded;
    char farewell[32];
    int blamed;
    int step;   /* number of the body that the step of a series runs; 0: none */
    int beside; /* compilations in other threads */
};

ParameterizedTestParameters(blame, of_an_end)
{
    static struct end_case cases[] = {
        /* clang-format off */
        /* what                                   code        status   build compute exceeded farewell  blamed step beside */
        {"a crash while a kernel runs",           CLD_DUMPED, SIGSEGV, 0,    7,      0,       "",       7,     0,   0},
        {"a division that traps",                 CLD_KILLED, SIGFPE,  0,    7,      0,       "",       7,     0,   0},
        {"an abort of the driver",                CLD_KILLED, SIGABRT, 0,    7,      0,       "",       7,     0,   0},
        {"a crash of the compiler",               CLD_KILLED, SIGSEGV, 5,    0,      0,       "",       5,     0,   0},
        {"killed by others, or for want of memory", CLD_KILLED, SIGKILL, 0,  7,      0,       "",       0,     0,   0},
        {"killed while the compiler runs",        CLD_KILLED, SIGKILL, 5,    0,      0,       "",       0,     0,   0},
        {"told to end",                           CLD_KILLED, SIGTERM, 0,    7,      0,       "",       0,     0,   0},
        {"a crash while nothing runs",            CLD_KILLED, SIGSEGV, 0,    0,      0,       "",       0,     0,   0},
        {"a crash while one runs, one is built",  CLD_KILLED, SIGSEGV, 5,    7,      0,       "",       0,     0,   0},
        {"a kernel beyond its deadline",          CLD_EXITED, 124,     0,    7,      RAN,     "",       7,     0,   0},
        {"a kernel beyond it, one is built",      CLD_EXITED, 124,     5,    7,      RAN,     "",       7,     0,   0},
        {"a compiler beyond its deadline",        CLD_EXITED, 124,     5,    7,      BUILT,   "",       5,     0,   0},
        {"planning beyond its deadline",          CLD_EXITED, 124,     0,    7,      PLANNED, "",       0,     0,   0},
        {"a sanitizer ends it in a kernel",       CLD_EXITED, 1,       0,    7,      0,       "",       7,     0,   0},
        {"the compiler ends it: no disk, perhaps", CLD_EXITED, 1,      5,    0,      0,       "",       0,     0,   0},
        {"it says why it ends",                   CLD_EXITED, 1,       0,    7,      0,       "stopped", 0,     0,   0},
        {"it ends in order",                      CLD_EXITED, 0,       0,    7,      0,       "",       0,     0,   0},
        {"a crash in a step, one is known",       CLD_DUMPED, SIGSEGV, 0,    7,      0,       "",       3,      3,   0},
        {"a crash in a step, several run",        CLD_DUMPED, SIGSEGV, 0,    0,      0,       "",       3,      3,   0},
        {"a step beyond its deadline",            CLD_EXITED, 124,     0,    0,      RAN,     "",       3,      3,   0},
        {"a crash in a step, one is built",       CLD_DUMPED, SIGSEGV, 5,    0,      0,       "",       0,      3,   0},
        {"a crash, one is built beside",          CLD_DUMPED, SIGSEGV, 0,    7,      0,       "",       0,     0,   1},
        {"an abort in a step, one built beside",  CLD_KILLED, SIGABRT, 0,    0,      0,       "",       0,     3,   2},
        {"a crash, one built here, one beside",   CLD_KILLED, SIGSEGV, 5,    0,      0,       "",       0,     0,   1},
        {"beyond its deadline, one built beside", CLD_EXITED, 124,     0,    7,      RAN,     "",       7,     0,   1},
        /* clang-format on */
    };
    return cr_make_param_array(struct end_case, cases, sizeof cases / sizeof cases[0]);
}

ParameterizedTest(struct end_case *c, blame, of_an_end)
{
    static dcli_status_page page;
    char sentence[1024];
    dcli_process process = {.pidfd = -1, .page = &page, .ended = true, .wait_code = c->code, .wait_status = c->status};
    page.activity[DCLI_BUILDING].kernel = c->building;
    page.activity[DCLI_COMPUTING].kernel = c->computing;
    page.step.kernel = c->step;
    page.beside = c->beside;
    snprintf(page.step.text, sizeof page.step.text, "S(i) = 3;");
    page.exceeded = c->exceeded;
    snprintf(page.farewell, sizeof page.farewell, "%s", c->farewell);
    /* The page has the text of what is under way, and that of the last body; several may be. */
    snprintf(page.activity[DCLI_BUILDING].text, sizeof page.activity[DCLI_BUILDING].text, "B(i) = 5;");
    snprintf(page.activity[DCLI_COMPUTING].text, sizeof page.activity[DCLI_COMPUTING].text, "C(i) = 7;");
    page.activity[DCLI_BUILDING].since_ns = c->building > 0;
    page.activity[DCLI_COMPUTING].since_ns = c->computing > 0 || c->step > 0;
    dcli_process_why(&process, sentence, sizeof sentence);
    cr_expect_eq(dcli_blamed_body(sentence), c->blamed, "%s: %s", c->what, sentence);
}

struct sentence_case {
    char what[48], sentence[96];
    int blamed;
};

ParameterizedTestParameters(blame, in_a_sentence)
{
    static struct sentence_case cases[] = {
        /* clang-format off */
        {"none",                               "node 1 is lost: it has been silent",          0},
        {"one",                                "while it ran `C(i) = 1;` (body 7)",           7},
        {"more follows",                       "while it ran `C(i) = 1;` (body 7); arrays",   7},
        {"the last one counts",                "ran `x` (body 3)` (body 12)",                 12},
        {"words of a body, and no blame",      "while it ran `f(body 7)`",                    0},
        {"a number that does not end",         "while it ran `x` (body 7",                    0},
        {"no number",                          "while it ran `x` (body )",                    0},
        /* clang-format on */
    };
    return cr_make_param_array(struct sentence_case, cases, sizeof cases / sizeof cases[0]);
}

ParameterizedTest(struct sentence_case *c, blame, in_a_sentence)
{
    char text[sizeof c->sentence];
    cr_expect_eq(dcli_blamed_body(c->sentence), c->blamed, "%s: %s", c->what, c->sentence);
    snprintf(text, sizeof text, "%s", c->sentence);
    dcli_blame_nobody(text);
    cr_expect_eq(dcli_blamed_body(text), 0, "%s: %s", c->what, text);
}
