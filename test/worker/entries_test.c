/* test/worker/entries_test.c - open operations in their order. */
#include <criterion/criterion.h>

#include "worker/entries.h"

Test(entries, are_in_order_whichever_ends_first)
{
    dcli_entries entries = {.peers = 2};
    dcli_entry *entry[3];
    cr_expect_eq(dcli_entries_first_open(&entries), 1);
    for (int n = 0; n < 3; n++) {
        entry[n] = dcli_entries_take(&entries);
        cr_assert_not_null(entry[n]);
        entry[n]->operation.number = n + 1;
        dcli_entries_append(&entries, entry[n]);
    }
    cr_expect_eq(entries.last_operation, 3);
    dcli_entries_remove(&entries, entry[2]);
    dcli_entries_give(&entries, entry[2]);
    cr_expect_eq(entries.last, entry[1]);
    dcli_entries_remove(&entries, entry[0]);
    dcli_entries_give(&entries, entry[0]);
    cr_expect_eq(dcli_entries_first_open(&entries), 2);
    cr_expect_eq(dcli_entries_take(&entries), entry[0], "an ended one is used again");
    cr_expect_eq(entry[0]->operation.number, 0, "and is empty");
    dcli_entries_give(&entries, entry[0]);
    dcli_entries_remove(&entries, entry[1]);
    dcli_entries_give(&entries, entry[1]);
    cr_expect(entries.first == NULL && entries.last == NULL);
    cr_expect_eq(dcli_entries_first_open(&entries), 4);
    dcli_entries_free(&entries);
}
