/* test/resmap/reshape_test.c - grids of another shape whose elements stay where they are. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "resmap/map_text.h"
#include "resmap/model.h"

/* ---- rows --------------------------------------------------------------------------------------------------------- */

struct shape_case {
    char what[40];
    int nodes;
    char map[40], from[24], to[24]; /* extents as "3x4" */
    char found[112];                /* the map of the new shape, or words of the refusal */
};

ParameterizedTestParameters(reshape, shapes)
{
    static struct shape_case cases[] = {
        {"one node: any shape", 3, "*,*;nodes=1", "6x4", "2x3x4", "*,*,*"},
        {"one of three nodes", 3, "block,*;nodes=1", "6x4", "24", "*"},
        {"one node, axis 1 divided on more", 1, "block,block", "6x4", "24", "the map divides axis 1"},
        {"one node, runs may be no rows on more", 1, "block", "24", "6x4", "depends on the number of nodes"},
        {"rows, flat", 2, "block,*", "6x4", "24", "cyclic(12)"},
        {"rows, of half the length", 2, "block,*", "6x4", "12x2", "cyclic(6),*"},
        {"rows, of twice the length", 2, "block(4),*", "8x4", "4x8", "cyclic(2),*"},
        {"flat to rows", 2, "block(12)", "24", "6x4", "cyclic(3),*"},
        {"flat to rows, of any number of nodes", 2, "block", "24", "6x4", "use dcl_reshape_copy()"},
        {"axes behind the first joined", 3, "block,*,*", "7x2x3", "7x6", "block,*"},
        {"cyclic rows", 3, "cyclic(2),*", "12x5", "60", "cyclic(10)"},
        {"the last run is cut", 3, "cyclic(2),*", "11x5", "55", "cyclic(10)"},
        {"dealt rows", 2, "rows:cyclic(2x4)", "7x4", "28", "rows:cyclic(8)"},
        {"dealt in blocks, to planes", 2, "columns:block(4x6)", "12x6", "6x3x4", "columns:block(2x3x4)"},
        {"no elements", 3, "block", "0x4", "5x0x2", "rows:cyclic(1x1x1)"},
        {"other numbers of elements", 2, "block,*", "6x4", "25", "the new shape has 25 elements and the array 24"},
        {"both axes divided", 4, "block,block", "6x4", "24", "the map divides axis 1"},
        {"columns divided", 2, "*,block", "6x4", "24", "the map divides axis 1"},
        {"pieces of half a row", 2, "rows:cyclic(2x2)", "6x4", "24", "the map divides axis 1"},
        {"runs that are no rows", 2, "block(3),*", "6x4", "3x8",
         "nodes have runs of 12 elements, which are no whole rows of 8"},
        {"dealt: pieces that are no rows", 2, "rows:cyclic(3)", "24", "6x4",
         "nodes have runs of 3 elements, which are no whole rows of 4"},
        {"uneven runs", 2, "block,*", "7x4", "28", "splits(16)"},
        {"uneven runs, longer rows", 2, "block,*", "7x4", "4x7", "depends on the number of nodes, and may be no whole"},
        {"split points", 3, "splits(1,4),*", "6x4", "12x2", "splits(2,8),*"},
        {"shares", 3, "weighted(1:2:1),*", "8x3", "24", "weighted(2:4:2)"},
        {"a share of nothing", 3, "weighted(1:0:1),*", "8x3", "24", "weighted(4:0:4)"},
        {"split points behind the end", 2, "splits(4,9,12),*", "8x3", "24", "splits(12)"},
        {"all split points behind the end", 2, "splits(9,12),*", "8x3", "24", "cyclic(24)"},
        {"shuffled rows", 2, "rows:hash(2x4)", "6x4", "24", "rows:hash(8)"},
        {"owners from a list", 2, "rows:table(2x4);owners=1,0*2", "6x4", "12x2", "the map is a list"},
        {"a list of boxes", 2, "boxes:[0:6]@0,[6:12]@1", "12", "3x4", "the map is a list"},
        {"copies", 2, "replicated", "12", "3x4", "the map has copies of elements at several nodes"},
        {"padded rows", 2, "block,*", "4x512", "2048", "rows of 512 elements lie 528 apart in memory"},
        {"rows that a map would pad", 3, "cyclic(512)", "2048", "4x512", "rows:cyclic(1x512)"},
        {"rows that a map would pad, one node", 1, "*", "2048", "4x512", "rows:cyclic(4x512)"},
        {"planes to rows that would be padded", 3, "block,*,*", "7x4x128", "7x512", "rows:block(1x512)"},
        {"uneven runs, padded", 3, "block,*,*", "10x8x128", "20x512", "rows of 512 elements would lie 528 apart"},
        {"uneven runs, padded, on one node", 1, "block,*,*", "10x8x128", "20x512", "would lie 528 apart"},
        {"split points, padded, on one node", 1, "splits(1024)", "2048", "4x512", "would lie 528 apart"},
        {"split points, on one node", 1, "splits(3)", "24", "6x4", "nodes have runs of 3 elements"},
        {"split points, padded", 2, "splits(1024)", "2048", "4x512", "rows of 512 elements would lie 528 apart"},
    };
    return cr_make_param_array(struct shape_case, cases, sizeof cases / sizeof cases[0]);
}

static dcl_grid read_grid(const char *text)
{
    dcl_grid grid = {.type = DCL_INT64};
    int used = 0;
    while (sscanf(text, "%" SCNd64 "%n", &grid.extent[grid.rank], &used) == 1) {
        grid.rank++;
        text += used;
        text += *text == 'x';
    }
    return grid;
}

static int64_t element_number(const dcl_grid *grid, const int64_t index[])
{
    int64_t number = 0;
    for (int d = 0; d < grid->rank; d++)
        number = number * grid->extent[d] + index[d] - grid->origin[d];
    return number;
}

static void element_index(const dcl_grid *grid, int64_t number, int64_t index[])
{
    for (int d = grid->rank - 1; d >= 0; number /= grid->extent[d--])
        index[d] = grid->origin[d] + number % grid->extent[d];
}

/* All elements lie where they did. */
static void expect_same_places(const char *what, const dcli_layout *before, const dcli_layout *after)
{
    int64_t count = dcl_grid_count(&before->grid);
    for (int64_t e = 0; e < count; e++) {
        int64_t index[DCL_MAX_RANK], offset[2];
        int node[2];
        element_index(&before->grid, e, index);
        dcli_layout_locate(before, index, &node[0], &offset[0]);
        element_index(&after->grid, e, index);
        cr_assert_eq(element_number(&after->grid, index), e);
        dcli_layout_locate(after, index, &node[1], &offset[1]);
        cr_assert(node[0] == node[1] && offset[0] == offset[1],
                  "%s: element %" PRId64 " at node %d, offset %" PRId64 "; was at %d, %" PRId64, what, e, node[1],
                  offset[1], node[0], offset[0]);
    }
    for (int node = 0; node < before->node_end; node++)
        cr_assert_leq(dcli_layout_storage(after, node), dcli_layout_storage(before, node), "%s", what);
}

ParameterizedTest(struct shape_case *c, reshape, shapes)
{
    dcl_grid from = read_grid(c->from), to = read_grid(c->to);
    dcli_map_rule rule;
    dcli_layout before, after;
    cr_assert_eq(dcli_map_rule_parse(c->map, c->nodes, &rule), DCL_OK, "%s: %s", c->what, dcl_error());
    cr_assert_eq(dcli_layout_bind(&rule, &from, &before), DCL_OK, "%s: %s", c->what, dcl_error());
    char text[512];
    dcl_status status = dcli_layout_reshape(&before, &to, &after);
    if (status != DCL_OK)
        snprintf(text, sizeof text, "%s", dcl_error());
    else
        dcli_map_rule_print(&after.rule, text, sizeof text);
    cr_expect(strstr(text, c->found) != NULL, "%s: %s", c->what, text);
    if (status == DCL_OK) {
        expect_same_places(c->what, &before, &after);
        dcli_layout_release(&after);
    }
    dcli_layout_release(&before);
    dcli_map_rule_release(&rule);
}

/* ---- properties --------------------------------------------------------------------------------------------------- */

/* Factors of a count in a random order, as extents of one to three axes. */
static dcl_grid random_shape(test_random *random, const dcl_grid *from)
{
    dcl_grid grid = {.type = from->type, .rank = (int)test_between(random, 1, 3)};
    int64_t left = dcl_grid_count(from);
    for (int d = 0; d < grid.rank; d++) {
        grid.origin[d] = test_between(random, -3, 3);
        grid.extent[d] = left;
        for (int64_t tries = 20; tries > 0 && d < grid.rank - 1; tries--) {
            int64_t factor = test_between(random, 1, left > 0 ? left : 1);
            if (left % factor != 0)
                continue;
            grid.extent[d] = factor;
            break;
        }
        left = grid.extent[d] == 0 ? 0 : left / grid.extent[d];
    }
    if (dcl_grid_count(from) == 0)
        grid.extent[0] = 0;
    return grid;
}

Test(reshape, elements_stay_where_they_are)
{
    static test_model model;
    int done = 0, refused = 0;
    for (uint64_t seed = 1; seed <= 4000; seed++) {
        test_random random = seed;
        dcli_layout after;
        test_model_make(&model, seed);
        dcl_grid to = random_shape(&random, &model.grid);
        dcl_status status = dcli_layout_reshape(&model.layout, &to, &after);
        cr_assert(status == DCL_OK || status == DCL_ERR_UNSUPPORTED, "%s: %s", model.text, dcl_error());
        if (status == DCL_OK) {
            expect_same_places(model.text, &model.layout, &after);
            dcli_layout_release(&after);
        }
        *(status == DCL_OK ? &done : &refused) += 1;
    }
    cr_expect(done > 400 && refused > 400, "%d done, %d refused", done, refused);
}

/* Of a map's text on so many nodes. @return DCL_ERR_INVALID: there is no such map on them. */
static dcl_status status_on(int nodes, const char *text, const dcl_grid *from, const dcl_grid *to)
{
    dcli_map_rule rule;
    dcli_layout before, after;
    if (dcli_map_rule_parse(text, nodes, &rule) != DCL_OK)
        return DCL_ERR_INVALID;
    dcl_status status = dcli_layout_bind(&rule, from, &before);
    if (status == DCL_OK) {
        status = dcli_layout_reshape(&before, to, &after);
        if (status == DCL_OK) {
            if (dcl_grid_count(from) <= 64)
                expect_same_places(text, &before, &after);
            dcli_layout_release(&after);
        }
        dcli_layout_release(&before);
    }
    dcli_map_rule_release(&rule);
    return status;
}

/* The first axis by a rule, others whole or not, in text. */
static void print_map(test_random *random, int nodes, uint64_t word, int rank, char *text)
{
    static const char *const rules[] = {
        "block",       "block(8)",  "block(2000)", "cyclic",      "cyclic(2)",    "cyclic(12)", "cyclic(512)",
        "splits(1,4)", "splits(4)", "splits(8)",   "splits(512)", "splits(1024)", "*"};
    enum { RULES = sizeof rules / sizeof rules[0] };
    if (word % (RULES + 2) < RULES)
        text += sprintf(text, "%s", rules[word % (RULES + 2)]);
    else
        for (int n = 0; n < nodes; n++)
            text += sprintf(text, "%s%d%s", n == 0 ? "weighted(" : ":", n == 0 ? 1 : (int)test_between(random, 0, 2),
                            n == nodes - 1 ? ")" : "");
    for (int d = 1; d < rank; d++)
        text += sprintf(text, ",%s", word / 64 % 8 == (uint64_t)d ? "block" : "*");
}

/* Whether elements can stay where they are does not depend on how many nodes there are. */
Test(reshape, has_one_answer_for_any_number_of_nodes)
{
    static const int64_t counts[] = {6, 24, 60, 2048, 4096, 10240};
    static const dcl_type types[] = {DCL_INT8, DCL_FLOAT, DCL_DOUBLE};
    int done = 0, refused = 0;
    for (uint64_t seed = 1; seed <= 6000; seed++) {
        test_random random = seed;
        dcl_grid whole = dcl_grid_1d(types[test_between(&random, 0, 2)], counts[test_between(&random, 0, 5)]);
        dcl_grid from = random_shape(&random, &whole), to = random_shape(&random, &whole);
        uint64_t word = (uint64_t)test_between(&random, 0, 1 << 20);
        dcl_status first = DCL_ERR_INVALID;
        for (int nodes = 1; nodes <= 6; nodes++) {
            char text[256];
            print_map(&random, nodes, word, from.rank, text);
            dcl_status status = status_on(nodes, text, &from, &to);
            if (first == DCL_ERR_INVALID)
                first = status;
            cr_assert(status == first || status == DCL_ERR_INVALID, "seed %d, %s on %d nodes: %s, before %s: %s",
                      (int)seed, text, nodes, dcl_status_name(status), dcl_status_name(first), dcl_error());
        }
        done += first == DCL_OK;
        refused += first == DCL_ERR_UNSUPPORTED;
    }
    cr_expect(done > 400 && refused > 400, "%d done, %d refused", done, refused);
}

/* Whatever rule comes out is one that can be written, read and bound again. */
Test(reshape, gives_a_map)
{
    static test_model model;
    for (uint64_t seed = 1; seed <= 1000; seed++) {
        test_random random = seed;
        dcli_layout after, again;
        dcli_map_rule rule;
        char text[4096];
        test_model_make(&model, seed);
        dcl_grid to = random_shape(&random, &model.grid);
        if (dcli_layout_reshape(&model.layout, &to, &after) != DCL_OK)
            continue;
        cr_assert_eq(dcli_map_rule_check(&after.rule), DCL_OK, "%s: %s", model.text, dcl_error());
        cr_assert_lt(dcli_map_rule_print(&after.rule, text, sizeof text), sizeof text);
        cr_assert_eq(dcli_map_rule_parse(text, model.cluster, &rule), DCL_OK, "%s: %s", text, dcl_error());
        cr_assert_eq(dcli_layout_bind(&rule, &to, &again), DCL_OK, "%s: %s", text, dcl_error());
        dcli_layout_release(&again);
        dcli_map_rule_release(&rule);
        dcli_layout_release(&after);
    }
}
