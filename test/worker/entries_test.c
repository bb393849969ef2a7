/* test/worker/entries_test.c - open operations in their order. */
#include <criterion/criterion.h>

#include "worker/entries.h"

Test(entries, are_in_order_whichever_ends_first)
{
    dcli_entries entries = {0};
    dcli_entry *entry[3];
    cr_expect_eq(dcli_entries_first_open(&entries), 1);
    for (int n = 0; n < 3; n++) {
        entry[n] = dcli_entries_take(&entries, DCLI_OP_FORALL, 2);
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
    cr_expect_eq(dcli_entries_take(&entries, DCLI_OP_FORALL, 1), entry[0], "an ended one is used again");
    cr_expect_eq(entry[0]->operation.number, 0, "and is empty");
    dcli_entries_give(&entries, entry[0]);
    dcli_entries_remove(&entries, entry[1]);
    dcli_entries_give(&entries, entry[1]);
    cr_expect(entries.first == NULL && entries.last == NULL);
    cr_expect_eq(dcli_entries_first_open(&entries), 4);
    dcli_entries_free(&entries);
}

/* An ended entry is empty, whatever the operation used of its lists. */
Test(entries, are_empty_when_used_again)
{
    static const int counts[] = {DCLI_MAX_PARAMS, DCLI_FEW_OPERANDS + 1, DCLI_FEW_OPERANDS, 2, 1, 0};
    dcli_entries entries = {0};
    for (size_t n = 0; n < sizeof counts / sizeof counts[0]; n++)
        for (int forall = 0; forall < 2; forall++) {
            int kind = forall ? DCLI_OP_FORALL : DCLI_OP_FILL;
            dcli_entry *entry = dcli_entries_take(&entries, kind, counts[n]);
            cr_assert_not_null(entry);
            cr_expect_eq(entry->is_small, forall && counts[n] <= DCLI_FEW_OPERANDS);
            dcli_operation *operation = &entry->operation;
            operation->number = 7;
            operation->kind = (dcli_op_kind)kind;
            operation->node = 1;
            operation->operand_count = counts[n];
            operation->box = dcl_box_nd(1, (int64_t[]){1}, (int64_t[]){2});
            for (int k = 0; k < counts[n]; k++) {
                operation->operand[k] = (dcli_operand){.storage = k + 1, .reads = true};
                operation->value[k].u = 5;
                entry->held[k] = (dcli_known_storage *)&entries; /* never followed */
            }
            if (!forall)
                entry->more->descriptor = (dcli_msg_operation){.number = 7, .element = 3};
            entry->view_count = 1;
            for (int peer = 2; peer >= 0; peer -= 2) {
                cr_assert_eq(dcli_entry_reserve_plan(entry), DCL_OK);
                dcli_entry_add_plan(entry, peer, (dcli_cached_plan *)&entries);
            }
            cr_expect(dcli_entry_plan(entry, 0) != NULL && dcli_entry_plan(entry, 1) == NULL &&
                      dcli_entry_plan(entry, 2) != NULL && dcli_entry_plan(entry, 3) == NULL);
            dcli_entries_give(&entries, entry);
            cr_assert_eq(dcli_entries_take(&entries, kind, counts[n]), entry);
            cr_expect(dcli_entry_plan(entry, 0) == NULL && dcli_entry_plan(entry, 2) == NULL);
            int room = entry->is_small ? DCLI_FEW_OPERANDS : DCLI_MAX_PARAMS;
            const char *bytes = (const char *)entry, *end = (const char *)&operation->operand[room];
            for (const char *b = bytes + offsetof(dcli_entry, next); b < end; b++)
                cr_assert_eq(*b, 0, "byte %d of %d operands", (int)(b - bytes), counts[n]);
            for (int k = 0; k < room; k++)
                cr_assert_null(entry->held[k]);
            cr_expect(entry->more == NULL || entry->more->descriptor.number == 0);
            dcli_entries_give(&entries, entry);
        }
    dcli_entries_free(&entries);
}

Test(entries, are_those_of_their_operations)
{
    dcli_entries entries = {0};
    for (int operands = 1; operands <= DCLI_MAX_PARAMS; operands += DCLI_MAX_PARAMS - 1) {
        dcli_entry *entry = dcli_entries_take(&entries, DCLI_OP_FORALL, operands);
        cr_assert_not_null(entry);
        cr_expect_eq(dcli_entry_of(&entry->operation), entry);
        dcli_entries_give(&entries, entry);
    }
    dcli_entries_free(&entries);
}
