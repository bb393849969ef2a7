/* test/resmap/relabel_test.c - nodes in any order, and the order that lets most elements stay. */
#include "resmap/relabel.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <string.h>

#include "resmap/fake_cluster.h"
#include "resmap/map_text.h"
#include "segment/random.h"

static dcli_layout bind(const char *text, int nodes, dcl_grid grid)
{
    dcli_map_rule rule;
    dcli_layout layout;
    cr_assert_eq(dcli_map_rule_parse(text, nodes, &rule), DCL_OK, "%s: %s", text, dcl_error());
    cr_assert_eq(dcli_layout_bind(&rule, &grid, &layout), DCL_OK, "%s: %s", text, dcl_error());
    dcli_map_rule_release(&rule);
    return layout;
}

/* ---- nodes in any order ------------------------------------------------------------------------------------------- */

static const char *const rules[] = {"block", "cyclic(2)", "rows:cyclic(2x3)", "columns:block(2x2)", "block,cyclic"};

/* An element is at the same place of the same part, which another node holds. */
static void expect_renamed(const dcli_layout *layout, const dcli_layout *plain, const int name[], const char *what)
{
    int64_t index[2], offset, plain_offset;
    for (index[0] = 0; index[0] < 11; index[0]++)
        for (index[1] = 0; index[1] < 9; index[1]++) {
            int node, plain_node;
            dcli_node_list owners = {0};
            dcli_layout_locate(layout, index, &node, &offset);
            dcli_layout_locate(plain, index, &plain_node, &plain_offset);
            cr_assert(node == name[plain_node] && offset == plain_offset, "%s: (%" PRId64 ",%" PRId64 ")", what,
                      index[0], index[1]);
            cr_assert_eq(dcli_layout_place(layout, node), plain_node, "%s", what);
            dcl_box one = dcl_box_nd(2, index, (int64_t[]){1, 1});
            cr_assert_eq(dcli_layout_owners(layout, &one, &owners), DCL_OK);
            cr_assert(owners.count == 1 && owners.node[0] == node, "%s: (%" PRId64 ",%" PRId64 ")", what, index[0],
                      index[1]);
            dcli_node_list_free(&owners);
        }
}

Test(relabel, nodes_in_any_order_take_the_places_in_that_order)
{
    static const struct {
        const char *nodes;
        int name[4];
    } orders[] = {{";nodes=3,2,1,0", {3, 2, 1, 0}},   {";nodes=2-3,0-1", {2, 3, 0, 1}},
                  {";nodes=1,0,2,3", {1, 0, 2, 3}},   {";nodes=9,4-6", {9, 4, 5, 6}},
                  {";nodes=5,2,11,0", {5, 2, 11, 0}}, {";nodes=2,5,7,9", {2, 5, 7, 9}}};
    dcl_grid grid = dcl_grid_2d(DCL_INT32, 11, 9);
    for (size_t r = 0; r < sizeof rules / sizeof rules[0]; r++)
        for (size_t o = 0; o < sizeof orders / sizeof orders[0]; o++) {
            char text[80];
            snprintf(text, sizeof text, "%s%s", rules[r], orders[o].nodes);
            dcli_layout layout = bind(text, 12, grid), plain = bind(rules[r], 4, grid);
            expect_renamed(&layout, &plain, orders[o].name, text);
            for (int n = 0; n < 12; n++) {
                int place = dcli_layout_place(&layout, n);
                cr_expect_eq(dcli_layout_storage(&layout, n), place < 0 ? 0 : dcli_layout_storage(&plain, place));
                cr_expect_eq(dcli_layout_tile_count(&layout, n), place < 0 ? 0 : dcli_layout_tile_count(&plain, place));
            }
        }
}

/* ---- assignments -------------------------------------------------------------------------------------------------- */

/* The best sum over all ways to give jobs to workers w, w + 1, ... @param taken  bits of the jobs that are gone. */
static int64_t best_sum(int n, const int64_t value[], int w, unsigned taken)
{
    int64_t best = w == n ? 0 : INT64_MIN;
    for (int j = 0; j < n && w < n; j++)
        if (!(taken >> j & 1)) {
            int64_t sum = value[w * n + j] + best_sum(n, value, w + 1, taken | 1U << j);
            best = sum > best ? sum : best;
        }
    return best;
}

Test(relabel, assignments_are_as_good_as_the_best_of_all)
{
    test_random random = 1;
    for (int round = 0; round < 400; round++) {
        int n = (int)test_between(&random, 1, 6), job[6];
        int64_t value[36], sum = 0, most = test_between(&random, 0, 1) ? 3 : INT64_C(1) << 50;
        unsigned taken = 0;
        for (int v = 0; v < n * n; v++)
            value[v] = test_between(&random, 0, most);
        cr_assert_eq(dcli_assign(n, value, job), DCL_OK);
        for (int w = 0; w < n; w++) {
            cr_assert(job[w] >= 0 && job[w] < n && !(taken >> job[w] & 1), "round %d: worker %d has job %d", round, w,
                      job[w]);
            taken |= 1U << job[w];
            sum += value[w * n + job[w]];
        }
        cr_assert_eq(sum, best_sum(n, value, 0, 0), "round %d: %" PRId64, round, sum);
    }
}

/* Every worker is worth most, 1000, at one job. */
Test(relabel, assignments_of_many_are_found)
{
    enum { N = 200 };
    static int64_t value[N * N];
    static int job[N];
    for (int w = 0; w < N; w++)
        for (int j = 0; j < N; j++)
            value[w * N + j] = (w + 77) % N == j ? 1000 : (w * 31 + j * 17) % 1000;
    cr_assert_eq(dcli_assign(N, value, job), DCL_OK);
    for (int w = 0; w < N; w++)
        cr_assert_eq(job[w], (w + 77) % N, "worker %d has job %d", w, job[w]);
}

/* ---- overlaps and orders ------------------------------------------------------------------------------------------ */

static int64_t staying(const dcli_layout *from, const dcli_layout *to)
{
    int64_t index[2], offset, count = 0;
    for (index[0] = 0; index[0] < to->grid.extent[0]; index[0]++)
        for (index[1] = 0; index[1] < to->grid.extent[1]; index[1]++) {
            int before, after;
            dcli_layout_locate(from, index, &before, &offset);
            dcli_layout_locate(to, index, &after, &offset);
            count += before == after;
        }
    return count;
}

Test(relabel, overlaps_are_counted_as_element_by_element)
{
    dcl_grid grid = dcl_grid_2d(DCL_INT32, 11, 9);
    for (size_t a = 0; a < sizeof rules / sizeof rules[0]; a++)
        for (size_t b = 0; b < sizeof rules / sizeof rules[0]; b++) {
            dcli_layout from = bind(rules[a], 4, grid), to = bind(rules[b], 4, grid);
            int64_t diagonal = 0, elements[4];
            for (int n = 0; n < 4; n++) {
                cr_assert_eq(dcli_layout_overlap(&to, n, &from, elements), DCL_OK);
                cr_assert_eq(elements[0] + elements[1] + elements[2] + elements[3], dcli_layout_owned(&to, n));
                diagonal += elements[n];
            }
            cr_assert_eq(diagonal, staying(&from, &to), "%s, %s", rules[a], rules[b]);
        }
}

/* The best order of four nodes among all 24, tried one by one. */
static int64_t best_staying(const dcli_layout *from, const char *rule)
{
    int64_t best = 0;
    for (int code = 0; code < 256; code++) {
        int a = code & 3, b = code >> 2 & 3, c = code >> 4 & 3, d = code >> 6;
        if (a == b || a == c || a == d || b == c || b == d || c == d)
            continue;
        char text[80];
        snprintf(text, sizeof text, "%s;nodes=%d,%d,%d,%d", rule, a, b, c, d);
        dcli_layout to = bind(text, 4, from->grid);
        int64_t count = staying(from, &to);
        best = count > best ? count : best;
    }
    return best;
}

Test(relabel, the_order_found_is_as_good_as_the_best_of_all)
{
    dcl_grid grid = dcl_grid_2d(DCL_INT32, 11, 9);
    for (size_t a = 0; a < sizeof rules / sizeof rules[0]; a++)
        for (size_t b = 0; b < sizeof rules / sizeof rules[0]; b++) {
            dcli_map_rule rule;
            char text[80];
            dcli_layout to, from;
            snprintf(text, sizeof text, "%s;nodes=%s", rules[a], b % 2 == 0 ? "3,1,0,2" : "0-3");
            from = bind(text, 4, grid);
            cr_assert_eq(dcli_map_rule_parse(rules[b], 4, &rule), DCL_OK);
            cr_assert_eq(dcli_map_rule_relabel(&from, &rule), DCL_OK, "%s", dcl_error());
            cr_assert_eq(dcli_map_rule_check(&rule), DCL_OK, "%s", dcl_error());
            cr_assert_eq(dcli_layout_bind(&rule, &grid, &to), DCL_OK, "%s", dcl_error());
            cr_assert_eq(staying(&from, &to), best_staying(&from, rules[b]), "%s to %s", text, rules[b]);
        }
}

static void expect_relabelled(const char *from_text, const char *to_text, int nodes, const char *expected)
{
    dcli_layout from = bind(from_text, nodes, dcl_grid_1d(DCL_INT32, 1600));
    dcli_map_rule rule;
    char text[1024];
    cr_assert_eq(dcli_map_rule_parse(to_text, nodes, &rule), DCL_OK, "%s", dcl_error());
    cr_assert_eq(dcli_map_rule_relabel(&from, &rule), DCL_OK, "%s", dcl_error());
    dcli_map_rule_print(&rule, text, sizeof text);
    cr_expect_str_eq(text, expected, "%s to %s: %s; expected %s", from_text, to_text, text, expected);
    dcli_map_rule_release(&rule);
    dcli_layout_release(&from);
}

Test(relabel, orders_by_hand)
{
    expect_relabelled("block;nodes=2,0-1", "block(600)", 3, "block(600);nodes=2,0-1");
    expect_relabelled("block", "cyclic", 4, "cyclic"); /* all orders are alike */
    expect_relabelled("block;nodes=4-5", "block;nodes=5,4", 6, "block;nodes=4-5");
    expect_relabelled("block;nodes=0-1", "block;nodes=2-3", 4, "block;nodes=2-3"); /* nothing can stay */
    expect_relabelled("block;nodes=3", "block;nodes=0", 4, "block;nodes=0");
    expect_relabelled("block;nodes=1,0", "splits(799)", 2, "splits(799);nodes=1,0");
    expect_relabelled("block;nodes=1,0", "weighted(2:3)", 2, "weighted(2:3)"); /* node 0 is to have less */
    expect_relabelled("block;nodes=1,0", "rows:table(800);owners=0,1", 2, "rows:table(800);owners=0,1");
    expect_relabelled("block;nodes=1,0", "boxes:[0:800]@0,[800:1600]@1", 2, "boxes:[0:800]@0,[800:1600]@1");
}

/* 64 nodes in falling order are 64 ranges, more than a map may list: the map stays. */
Test(relabel, an_order_that_cannot_be_written_is_given_up)
{
    dcli_layout from = bind("block(16)", 64, dcl_grid_1d(DCL_INT32, 1024));
    dcli_map_rule rule;
    cr_assert_eq(dcli_map_rule_parse("cyclic(16);nodes=32-63,0-31", 64, &rule), DCL_OK, "%s", dcl_error());
    cr_assert_eq(dcli_map_rule_relabel(&from, &rule), DCL_OK);
    cr_expect_eq(rule.range_count, 1); /* 0-63: place k is node k */
    from = bind("columns:cyclic(1x16)", 64, dcl_grid_2d(DCL_INT32, 1, 1024));
    for (int k = 0; k < 32; k++)
        from.rule.range[k] = (dcli_node_range){.first = 62 - 2 * k, .count = 2};
    from.rule.range_count = 32; /* 62, 63, 60, 61, ... */
    cr_assert_eq(dcli_map_rule_check(&from.rule), DCL_OK, "%s", dcl_error());
    cr_assert_eq(dcli_map_rule_parse("columns:cyclic(1x16)", 64, &rule), DCL_OK);
    cr_assert_eq(dcli_map_rule_relabel(&from, &rule), DCL_OK);
    cr_expect_eq(rule.range_count, 32);
    for (int place = 0; place < 64; place++)
        cr_expect_eq(dcli_map_rule_node(&rule, place), dcli_layout_node(&from, place));
    dcli_layout reversed = from;
    reversed.rule.range_count = 32;
    for (int k = 0; k < 32; k++)
        reversed.rule.range[k] = (dcli_node_range){.first = 63 - 2 * k, .count = 1};
    reversed.rule.node_count = reversed.node_count = 32;
    cr_assert_eq(dcli_map_rule_parse("columns:cyclic(1x16)", 64, &rule), DCL_OK);
    cr_assert_eq(dcli_map_rule_relabel(&reversed, &rule), DCL_OK);
    cr_expect_eq(rule.range_count, 0, "33 ranges or more were needed");
}
