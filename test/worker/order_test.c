/* test/worker/order_test.c - the operations of a message: those that recur take one byte, and all keep their order. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "worker/order.h"
#include "workqueue/operation.h"

/* The order of a message as text: "1 2 1+ ..." names descriptors by their place, from 1; +: a repetition. */
static const char *order_text(const dcli_msg_operations *message)
{
    static char text[2000];
    size_t at = 0;
    text[0] = '\0';
    for (dcli_ordered ordered = {0}; dcli_order_next(message, &ordered);)
        at += (size_t)snprintf(text + at, sizeof text - at, "%s%d%s", at > 0 ? " " : "", ordered.place + 1,
                               ordered.repeats ? "+" : "");
    return text;
}

/* Two operands each; `body` is a letter. */
static dcli_msg_operation operation_of(char body, int64_t number, dcli_msg_operand operand[2])
{
    operand[0] = (dcli_msg_operand){.storage = body % 3};
    operand[1] = (dcli_msg_operand){.storage = body % 3 + 1};
    return (dcli_msg_operation){
        .number = number, .kind = DCLI_OP_FORALL, .kernel = body, .operand_count = 2, .operand = operand};
}

struct collect_case {
    char what[40];
    char bodies[16]; /* of the calls, in their order */
    char order[64];
};

ParameterizedTestParameters(order, calls)
{
    static struct collect_case cases[] = {
        {"nothing recurs", "abc", "1 2 3"},
        {"one body", "aaaa", "1 1+ 1+ 1+"},
        {"a chain", "ababab", "1 2 1+ 2+ 1+ 2+"},
        {"others between", "abacad", "1 2 1+ 3 1+ 4"},
        {"like one eight descriptors before", "abcdefgha", "1 2 3 4 5 6 7 8 1+"},
        {"like one nine descriptors before", "abcdefghia", "1 2 3 4 5 6 7 8 9 10"},
    };
    return cr_make_param_array(struct collect_case, cases, sizeof cases / sizeof cases[0]);
}

ParameterizedTest(struct collect_case *c, order, calls)
{
    static dcli_collected collected;
    dcli_msg_operand operands[16][2];
    int calls = (int)strlen(c->bodies);
    dcli_collect_begin(&collected);
    for (int n = 0; n < calls; n++) {
        dcli_msg_operation operation = operation_of(c->bodies[n], 7 + n, operands[n]);
        cr_assert(dcli_collect(&collected, &operation));
    }
    dcli_msg_operations message = dcli_collected_message(&collected);
    cr_assert_eq(dcli_order_check(&message), DCL_OK, "%s", dcl_error());
    cr_expect_str_eq(order_text(&message), c->order, "%s: %s", c->what, order_text(&message));
    dcli_ordered at = {0};
    for (int n = 0; dcli_order_next(&message, &at); n++) {
        cr_expect_eq(at.number, 7 + n, "%s: call %d is operation %" PRId64, c->what, n, at.number);
        cr_expect_eq(message.operation[at.place].kernel, c->bodies[n], "%s: body of call %d", c->what, n);
    }
    cr_expect_eq(dcli_order_last(&message), 6 + calls);
}

Test(order, only_what_is_equal_in_all_repeats)
{
    static dcli_collected collected;
    enum { FORMS = 8 };
    dcli_msg_operand operands[FORMS][2];
    dcli_msg_operation form[FORMS];
    dcli_msg_view view = {.operand = 1};
    dcli_msg_reach reach = {.operand = 1};
    for (int n = 0; n < FORMS; n++)
        form[n] = operation_of('a', 1 + n, operands[n]);
    operands[1][1].storage = 9;
    operands[2][1].value = 1;
    operands[3][0].generation = 1;
    form[4].steal = DCL_STEAL_NEVER;
    form[5].box_rank = form[5].box.rank = 1;
    form[6].view = &view;
    form[6].view_count = 1;
    form[7].reach = &reach;
    form[7].reach_count = 1;
    for (int repeated = 0; repeated < FORMS; repeated++)
        for (int like = 0; like < FORMS; like++) {
            dcli_collect_begin(&collected);
            cr_assert(dcli_collect(&collected, &form[like]) && dcli_collect(&collected, &form[repeated]));
            bool repeats = dcli_collected_message(&collected).order_count > 0;
            cr_expect_eq(repeats, like == repeated && like < 6, "form %d after %d", repeated, like);
        }
    dcli_msg_operation fill = {.number = 2, .kind = DCLI_OP_FILL, .operand_count = 1, .operand = operands[0]};
    dcli_collect_begin(&collected);
    cr_assert(dcli_collect(&collected, &fill) && dcli_collect(&collected, &fill));
    cr_expect_eq(dcli_collected_message(&collected).count, 2, "fills are never repeated by reference");
}

Test(order, messages_are_limited)
{
    static dcli_collected collected;
    static dcli_msg_operand operands[DCLI_MOST_ORDER + 1][2];
    int calls = 0;
    dcli_msg_operation operation = operation_of('a', 1, operands[0]);
    for (dcli_collect_begin(&collected); dcli_collect(&collected, &operation);)
        calls++;
    cr_expect_eq(calls, DCLI_MOST_ORDER);
    calls = 0;
    for (dcli_collect_begin(&collected); operation.kernel = 1 + calls, dcli_collect(&collected, &operation);)
        calls++;
    cr_expect_eq(calls, DCLI_MOST_OPERATIONS);
    operation = operation_of('a', 1, operands[0]);
    cr_expect(dcli_collect(&collected, &(dcli_msg_operation){.kind = DCLI_OP_FORALL,
                                                             .kernel = DCLI_MOST_OPERATIONS,
                                                             .operand_count = 2,
                                                             .operand = operands[0]}),
              "a message full of descriptors still takes repetitions");
    static char map[DCLI_MOST_SHORT_MAP + 2];
    memset(map, 'm', sizeof map - 1);
    dcli_msg_operation create = {.kind = DCLI_OP_CREATE, .operand_count = 1, .operand = operands[0], .map = map};
    dcli_collect_begin(&collected);
    cr_expect(dcli_collect(&collected, &create));
    cr_expect_not(dcli_collect(&collected, &operation), "a long map is alone");
    dcli_collect_begin(&collected);
    cr_expect(dcli_collect(&collected, &operation));
    cr_expect_not(dcli_collect(&collected, &create), "a long map comes first");
}

struct check_case {
    char what[40];
    int order_count;
    int64_t order[4];
    char words[96]; /* of the refusal; "": it is valid */
};

ParameterizedTestParameters(order, checks)
{
    static struct check_case cases[] = {
        {"no order", 0, {0}, ""},
        {"the list", 2, {0, 0}, ""},
        {"a repetition", 4, {0, 0, 1, 1}, ""},
        {"one that comes later", 2, {1, 0}, "order[0] of a message OPERATIONS is 1 after 0 of 2 descriptors"},
        {"one beyond the list", 3, {0, 0, 3}, "order[2] of a message OPERATIONS is 3 after 2 of 2"},
        {"what is no forall", 3, {0, 0, 2}, "or the place of an earlier forall"},
        {"more than there are", 3, {0, 0, 0}, "order[2] of a message OPERATIONS is 0 after 2 of 2"},
        {"fewer than there are", 2, {0, 1}, "names 1 descriptors; expected 2"},
    };
    return cr_make_param_array(struct check_case, cases, sizeof cases / sizeof cases[0]);
}

ParameterizedTest(struct check_case *c, order, checks)
{
    dcli_msg_operation operation[2] = {{.number = 1, .kind = DCLI_OP_FORALL}, {.number = 2, .kind = DCLI_OP_FILL}};
    dcli_msg_operations message = {
        .count = 2, .operation = operation, .order_count = c->order_count, .order = c->order};
    bool valid = c->words[0] == '\0';
    cr_expect_eq(dcli_order_check(&message), valid ? DCL_OK : DCL_ERR_PROTOCOL, "%s", c->what);
    cr_expect(valid || strstr(dcl_error(), c->words) != NULL, "%s: \"%s\" lacks \"%s\"", c->what, dcl_error(),
              c->words);
}
