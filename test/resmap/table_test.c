/* test/resmap/table_test.c - the worked example of the maps: 6 x 6 elements numbered by rows, in pieces s1 .. s9 of 2 x 2
 * (s1 = 0 1 6 7, s2 = 2 3 8 9, ...). */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <dcl/map.h>

#include "resmap/fake_cluster.h"

enum { SIDE = 6, ELEMENTS = SIDE * SIDE };

struct table_row {
    char map[32];
    int nodes;
    char elements[256]; /* of each node in the order they are stored; a-b: a, a + 1, ... b */
};

ParameterizedTestParameters(map_table, elements)
{
    static struct table_row rows[] = {
        {"rows:block", 3, "node 0: 0-11; node 1: 12-23; node 2: 24-35"},
        {"rows:block", 4, "node 0: 0-8; node 1: 9-17; node 2: 18-26; node 3: 27-35"},
        {"columns:block(2x2)", 3,
         "node 0: 0-1 6-7 12-13 18-19 24-25 30-31; node 1: 2-3 8-9 14-15 20-21 26-27 32-33; "
         "node 2: 4-5 10-11 16-17 22-23 28-29 34-35"},
        {"rows:cyclic", 3,
         "node 0: 0 3 6 9 12 15 18 21 24 27 30 33; node 1: 1 4 7 10 13 16 19 22 25 28 31 34; "
         "node 2: 2 5 8 11 14 17 20 23 26 29 32 35"},
        {"rows:cyclic", 4,
         "node 0: 0 4 8 12 16 20 24 28 32; node 1: 1 5 9 13 17 21 25 29 33; node 2: 2 6 10 14 18 22 26 30 34; "
         "node 3: 3 7 11 15 19 23 27 31 35"},
        {"rows:cyclic(2x2)", 3,
         "node 0: 0-1 6-7 12-13 18-19 24-25 30-31; node 1: 2-3 8-9 14-15 20-21 26-27 32-33; "
         "node 2: 4-5 10-11 16-17 22-23 28-29 34-35"},
        {"rows:cyclic(2x2)", 4,
         "node 0: 0-1 6-7 14-15 20-21 28-29 34-35; node 1: 2-3 8-9 16-17 22-23; node 2: 4-5 10-11 24-25 30-31; "
         "node 3: 12-13 18-19 26-27 32-33"},
        {"rows:block(2x2)", 3,
         "node 0: 0-1 6-7 2-3 8-9 4-5 10-11; node 1: 12-13 18-19 14-15 20-21 16-17 22-23; "
         "node 2: 24-25 30-31 26-27 32-33 28-29 34-35"},
    };
    return cr_make_param_array(struct table_row, rows, sizeof rows / sizeof rows[0]);
}

/* place[node][offset] = element, -1: none there. */
static void find_places(const dcl_map *map, int place[][ELEMENTS])
{
    dcl_grid grid = dcl_grid_2d(DCL_FLOAT, SIDE, SIDE);
    for (int e = 0; e < ELEMENTS; e++) {
        int64_t index[] = {e / SIDE, e % SIDE}, offset;
        int node;
        cr_assert_eq(dcl_map_locate(map, &grid, index, &node, &offset), DCL_OK, "%s", dcl_error());
        cr_assert(offset >= 0 && offset < ELEMENTS && place[node][offset] == -1);
        place[node][offset] = e;
    }
}

static int print_places(char *text, const int place[ELEMENTS])
{
    int length = 0;
    for (int at = 0; at < ELEMENTS && place[at] >= 0;) {
        int end = at + 1;
        while (end < ELEMENTS && place[end] == place[end - 1] + 1)
            end++;
        length += sprintf(text + length, " %d", place[at]);
        if (end > at + 1)
            length += sprintf(text + length, "-%d", place[end - 1]);
        at = end;
    }
    return length;
}

ParameterizedTest(struct table_row *row, map_table, elements)
{
    int place[4][ELEMENTS];
    memset(place, -1, sizeof place);
    dcl_map *map = dcl_map_parse(test_cluster(row->nodes), row->map);
    cr_assert_not_null(map, "%s", dcl_error());
    find_places(map, place);
    char text[512];
    int length = 0;
    for (int node = 0; node < row->nodes; node++) {
        length += sprintf(text + length, "%snode %d:", node > 0 ? "; " : "", node);
        length += print_places(text + length, place[node]);
    }
    cr_expect_str_eq(text, row->elements, "%s on %d nodes: %s; expected %s", row->map, row->nodes, text, row->elements);
    dcl_map_release(map);
}

struct boxes_row {
    char map[40];
    int nodes, node;
    char boxes[160];
};

ParameterizedTestParameters(map_table, boxes)
{
    static struct boxes_row rows[] = {
        {"rows:block", 4, 1, "[1:2, 3:6] [2:3, 0:6]"},
        {"rows:block", 3, 1, "[2:4, 0:6]"},
        {"rows:cyclic", 3, 2, "[0:6, 2:8:3]"},
        {"rows:cyclic", 4, 2, "[0:6:2, 2:3] [1:7:2, 0:8:4]"},
        {"columns:block(2x2)", 3, 1, "[0:6, 2:4]"},
        {"rows:cyclic(2x2)", 3, 1, "[0:6, 2:4]"},
        {"rows:cyclic(2x2)", 4, 0, "[0:2, 0:2] [2:4, 2:4] [4:6, 4:6]"},
        {"block", 4, 3, "[3:6, 3:6]"},
        {"block,*", 4, 0, "[0:2, 0:6]"},
        {"block,*", 4, 3, "[5:6, 0:6]"},
        {"cyclic,cyclic", 4, 1, "[0:6:2, 1:7:2]"},
        {"splits(4),splits(1,2)@2x2", 4, 0, "[0:4, 0:1] [0:4, 2:6]"},
        {"splits(4),splits(1,2)@2x2", 4, 3, "[4:6, 1:2]"},
        {"splits(2,9)", 3, 2, ""},
        {"weighted(1:0:4)", 3, 1, ""},
        {"weighted(1:0:4)", 3, 2, "[1:6, 0:6]"},
        {"cyclic(2)@2x2", 4, 0, "[0:2, 0:2] [0:2, 4:6] [4:6, 0:2] [4:6, 4:6]"},
    };
    return cr_make_param_array(struct boxes_row, rows, sizeof rows / sizeof rows[0]);
}

struct boxes_text {
    char text[512];
    size_t length;
};

static dcl_status print_box(void *user, const dcl_box *box)
{
    struct boxes_text *boxes = user;
    char *at = boxes->text + boxes->length;
    boxes->length += (size_t)sprintf(at, "%s[", boxes->length > 0 ? " " : "");
    for (int d = 0; d < box->rank; d++) {
        int64_t end = box->start[d] + box->count[d] * box->stride[d];
        boxes->length += (size_t)sprintf(boxes->text + boxes->length, "%s%" PRId64 ":%" PRId64, d > 0 ? ", " : "",
                                         box->start[d], end);
        if (box->stride[d] > 1)
            boxes->length += (size_t)sprintf(boxes->text + boxes->length, ":%" PRId64, box->stride[d]);
    }
    boxes->length += (size_t)sprintf(boxes->text + boxes->length, "]");
    return DCL_OK;
}

ParameterizedTest(struct boxes_row *row, map_table, boxes)
{
    dcl_grid grid = dcl_grid_2d(DCL_FLOAT, SIDE, SIDE);
    struct boxes_text boxes = {.length = 0};
    dcl_map *map = dcl_map_parse(test_cluster(row->nodes), row->map);
    cr_assert_not_null(map, "%s", dcl_error());
    cr_assert_eq(dcl_map_boxes(map, &grid, row->node, print_box, &boxes), DCL_OK, "%s", dcl_error());
    cr_expect_str_eq(boxes.text, row->boxes, "%s on %d nodes, node %d: %s; expected %s", row->map, row->nodes,
                     row->node, boxes.text, row->boxes);
    dcl_map_release(map);
}
