/* test/lower/sim_test.c - random programs on simulated clusters, whose loop bodies run as they are lowered for several kinds of
 * devices: every element that a program reads or leaves behind is compared with plain loops, and every way in which elements
 * get to kernels occurs often enough. TEST_SEED is the first seed. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

#include "support/simcluster.h"

enum { PROGRAMS = 400, LEAST = 20 };

Test(lowered, programs_compute_what_plain_loops_do)
{
    static const char *const names[DCLI_VIA_COUNT] = {"bound", "gathered", "copied by the host", "copied by a kernel",
                                                      "in chunks"};
    const char *text = getenv("TEST_SEED");
    uint64_t first = text != NULL ? strtoull(text, NULL, 0) : 8000000;
    int programs[DCLI_VIA_COUNT] = {0};
    for (uint64_t n = 0; n < PROGRAMS; n++) {
        sim_settings settings = {.seed = first + n, .nodes = 1 + (int)(n % 5), .steps = 20, .alike = n % 2 == 0};
        sim_figures figures;
        char *wrong = sim_cluster_run(&settings, &figures);
        cr_assert_null(wrong, "%s", wrong);
        for (int v = 0; v < DCLI_VIA_COUNT; v++)
            programs[v] += figures.via[v];
    }
    for (int v = 0; v < DCLI_VIA_COUNT; v++) {
        fprintf(stderr, "lowered: elements are %s in %d of %d programs\n", names[v], programs[v], PROGRAMS);
        cr_expect_geq(programs[v], LEAST, "elements are %s in %d of %d programs", names[v], programs[v], PROGRAMS);
    }
}
