/* test/workqueue/ops.c - operations for tests; all are kept in one list and freed together. */
#include "workqueue/ops.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

#include "kernel/tile_kernel.h"
#include "resmap/map_text.h"

enum { MOST = 512 };
static void *kept[MOST];
static dcli_body *body[MOST];
static dcli_layout *layouts[MOST];
static int kept_count, body_count, layout_count;

static void *keep(size_t bytes)
{
    cr_assert_lt(kept_count, MOST);
    kept[kept_count] = calloc(1, bytes);
    cr_assert_not_null(kept[kept_count]);
    return kept[kept_count++];
}

void test_ops_free(void)
{
    while (layout_count > 0)
        dcli_layout_release(layouts[--layout_count]);
    while (kept_count > 0)
        free(kept[--kept_count]);
    while (body_count > 0)
        dcli_body_free(body[--body_count]);
}

dcli_layout *test_layout(const char *map, int nodes, const dcl_grid *grid)
{
    dcli_map_rule rule;
    dcli_layout *layout = keep(sizeof *layout);
    cr_assert_eq(dcli_map_rule_parse(map, nodes, &rule), DCL_OK, "%s", dcl_error());
    cr_assert_eq(dcli_map_rule_check(&rule), DCL_OK, "%s", dcl_error());
    cr_assert_eq(dcli_layout_bind(&rule, grid, layout), DCL_OK, "%s", dcl_error());
    dcli_map_rule_release(&rule);
    layouts[layout_count++] = layout;
    return layout;
}

dcli_operation *test_operation(int64_t number, dcli_op_kind kind, int64_t storage, const dcli_layout *layout)
{
    dcli_operation *operation = keep(sizeof *operation);
    *operation = (dcli_operation){.number = number, .kind = kind, .operand_count = 1, .box = dcl_box_of(&layout->grid)};
    operation->operand[0] = (dcli_operand){.storage = storage, .layout = layout, .generation = kind == DCLI_OP_MOVE};
    dcli_operation_resolve(operation);
    return operation;
}

static dcli_operation *make_forall(int64_t number, int count, const test_arg args[], dcli_param param[])
{
    dcli_operation *operation = keep(sizeof *operation);
    *operation = (dcli_operation){.number = number, .kind = DCLI_OP_FORALL, .operand_count = count};
    for (int k = 0; k < count; k++) {
        bool scalar = args[k].access == DCL_ACCESS_VALUE;
        param[k] = (dcli_param){.access = args[k].access, .type = DCL_INT64};
        snprintf(param[k].name, sizeof param[k].name, "%s", args[k].name);
        operation->operand[k] = (dcli_operand){.storage = scalar ? -1 : args[k].storage, .layout = args[k].layout};
        operation->value[k].i = args[k].storage;
        if (!scalar) {
            param[k].rank = args[k].layout->grid.rank;
            param[k].type = args[k].layout->grid.type;
        }
    }
    return operation;
}

static dcli_operation *end_forall(dcli_operation *operation)
{
    operation->body = body[body_count++];
    operation->box = dcl_box_of(&operation->operand[operation->body->owner].layout->grid);
    dcli_operation_resolve(operation);
    return operation;
}

dcli_operation *test_forall(int64_t number, const char *text, int count, const test_arg args[])
{
    dcli_param param[DCLI_MAX_PARAMS];
    dcli_operation *operation = make_forall(number, count, args, param);
    cr_assert_eq(dcli_body_parse(text, "", count, param, &body[body_count]), DCL_OK, "%s", dcl_error());
    return end_forall(operation);
}

dcli_operation *test_forall_tiles(int64_t number, const char *text, const int64_t numbers[], int count,
                                  const test_arg args[])
{
    dcli_items items = {.group = {0}};
    dcli_param param[DCLI_MAX_PARAMS];
    dcli_operation *operation = make_forall(number, count, args, param);
    cr_assert_eq(dcli_tile_kernel_parse(text, "", count, param, &items, &body[body_count]), DCL_OK, "%s", dcl_error());
    for (int k = 0; k < count; k++)
        if (args[k].access == DCL_ACCESS_IN_HALO || args[k].access == DCL_ACCESS_IN_CROSS)
            operation->operand[k].declared = (dcli_declared){.count = param[k].rank, .number = numbers};
    return end_forall(operation);
}
