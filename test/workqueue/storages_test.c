/* test/workqueue/storages_test.c - which operations find a storage failed, and the table of storages. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "segment/random.h"
#include "workqueue/storages.h"

struct failed_case {
    char what[64];
    int64_t failures[4], overwrites[4]; /* 0: no more */
    int64_t reader;
    bool failed;
};

ParameterizedTestParameters(storages, failed)
{
    static struct failed_case cases[] = {
        {"nothing happened", {0}, {0}, 5, false},
        {"failed before", {3}, {0}, 5, true},
        {"failed by the reader itself", {5}, {0}, 5, false},
        {"failed after", {6}, {0}, 5, false},
        {"overwritten since", {3}, {4}, 5, false},
        {"overwritten before", {3}, {2}, 5, true},
        {"the overwriting failed", {3}, {3}, 5, true},
        {"overwritten by the reader", {3}, {5}, 5, true},
        {"failed again after that", {3, 6}, {4}, 7, true},
        {"read between the failures", {3, 6}, {4}, 6, false},
        {"told late, healed long since", {6, 3}, {4, 7}, 8, false},
        {"told late, in any order", {6, 3}, {4}, 7, true},
        {"two nodes tell of the same", {3, 3}, {4}, 5, false},
    };
    return cr_make_param_array(struct failed_case, cases, sizeof cases / sizeof cases[0]);
}

ParameterizedTest(struct failed_case *c, storages, failed)
{
    dcli_storages table = {0};
    dcli_storage *storage = dcli_storages_get(&table, 1);
    for (int n = 0; n < 4 && c->failures[n] > 0; n++)
        cr_assert_eq(dcli_storage_fail(storage, c->failures[n]), DCL_OK);
    for (int n = 0; n < 4 && c->overwrites[n] > 0; n++)
        cr_assert_eq(dcli_storage_overwrite(storage, c->overwrites[n]), DCL_OK);
    cr_expect_eq(dcli_storage_failed(storage, c->reader), c->failed, "%s", c->what);
    dcli_storages_free(&table);
}

/* Pruning changes no answer for the operations that are still open. */
Test(storages, prune)
{
    for (uint64_t seed = 1; seed <= 200; seed++) {
        test_random random = seed;
        dcli_storages table = {0};
        dcli_storage *kept = dcli_storages_get(&table, 1), *pruned = dcli_storages_get(&table, 2);
        for (int64_t first = 1; first <= 120; first++) {
            int64_t number = dcli_max(1, first + test_between(&random, -3, 5)); /* some are told late */
            bool fails = test_between(&random, 0, 2) == 0;
            dcl_status (*note)(dcli_storage *, int64_t) = fails ? dcli_storage_fail : dcli_storage_overwrite;
            cr_assert(note(kept, number) == DCL_OK && note(pruned, number) == DCL_OK);
            dcli_storage_prune(pruned, first);
            for (int64_t reader = first; reader < first + 8; reader++)
                cr_assert_eq(dcli_storage_failed(kept, reader), dcli_storage_failed(pruned, reader),
                             "seed %" PRIu64 ": reader %" PRId64 " at first %" PRId64, seed, reader, first);
        }
        cr_assert_lt(pruned->failures.count + pruned->overwrites.count, 120);
        dcli_storages_free(&table);
    }
}

/* The table finds exactly what is in it, whatever was dropped before. */
Test(storages, table)
{
    enum { IDS = 300 };
    for (uint64_t seed = 1; seed <= 20; seed++) {
        test_random random = seed;
        dcli_storages table = {0};
        bool there[IDS + 1] = {false};
        for (int n = 0; n < 3000; n++) {
            int64_t id = test_between(&random, 1, IDS);
            if (test_between(&random, 0, 1) == 0) {
                cr_assert_eq(dcli_storages_get(&table, id)->id, id);
                there[id] = true;
            } else {
                dcli_storages_drop(&table, id);
                there[id] = false;
            }
            int64_t asked = test_between(&random, 1, IDS);
            cr_assert_eq(dcli_storages_find(&table, asked) != NULL, there[asked], "seed %" PRIu64 ": storage %" PRId64,
                         seed, asked);
        }
        dcli_storages_free(&table);
    }
}
