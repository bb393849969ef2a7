/* test/runtime/tile_check_test.c - tile kernels that are checked (DCL_CHECK=access): what goes outside is found. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "support/nodes.h"

TestSuite(tile_check_on_device, .timeout = TEST_SECONDS);

enum { N = 12 };

/* The element after the tile's last, and one that a cross does not reach. */
Test(tile_check_on_device, reports_what_is_outside)
{
    static const struct {
        const char *text, *words;
        int in; /* 0: DCL_IN, 1: DCL_IN_CROSS, 2: DCL_IN_ROWS */
    } cases[] = {
        {"const long r = dcl_item(0), c = dcl_item(1);\nC(r + (C_at(0, r) == 5), c) = 1;",
         "is outside of what is declared of it: in the box of its tile (DCL_OUT); nothing was stored; write to "
         "elements "
         "of the tile alone, local indices C_low(d) to C_high(d) - 1 along axis d",
         0},
        {"const long r = dcl_item(0), c = dcl_item(1);\nC(r + (C_at(0, r) == 5), c) = 1;", "node 0: C(6, ", 0},
        {"const long r = dcl_item(0), c = dcl_item(1);\nC(r + (C_at(0, r) == 5), c) = 1;",
         "the tile kernel that writes C, `const long r = dcl_item(0), c = dcl_item(1);`: node 0: C(6, ", 0},
        {"const long r = dcl_item(0), c = dcl_item(1);\nC(r + (C_at(0, r) == 11), c) = 1;",
         "was written, which is outside its grid; nothing was stored; write to elements of the tile alone", 0},
        {"const long r = dcl_item(0), c = dcl_item(1);\nC(r, c) = C_at(0, r) == 7 && C_at(1, c) == 3 ? A(r - 2, c) : "
         "0;",
         "node 1: A(5, 3) was read, which is outside of what is declared of it: in the box of its tile (DCL_IN); 0 was",
         0},
        {"const long r = dcl_item(0), c = dcl_item(1);\nC(r, c) = C_at(0, r) == 6 && c == 11 ? A(r - 1, c + 1) : 0;",
         "node 1: A(5, 12) was read, which is outside its grid; 0 was taken; read local indices A_low(d) to A_high(d) "
         "- 1 "
         "along axis d alone, or leave out elements at the edge with dcl_forall_tiles_over()",
         1},
        {"const long r = dcl_item(0), c = dcl_item(1);\nC(r, c) = C_at(0, r) == 9 && c == 2 ? A(r + 100, -5) : 0;",
         "node 1: A(109, -5) was read, which is outside its grid", 2},
        {"const long r = dcl_item(0), c = dcl_item(1);\nC(r, c) = C_at(0, r) == 2 && c == 2 ? A(r + 5, 7) : 0;",
         "node 0: A(7, 7) was read, which is outside of what is declared of it: in the rows of its tile (DCL_IN_ROWS)",
         2},
    };
    dcl_config config = test_config(2);
    config.check = "access";
    dcl_cluster *cluster = test_open(&config);
    dcl_grid grid = dcl_grid_2d(DCL_INT32, N, N);
    dcl_array *C = test_array(cluster, "block,*", grid), *A = test_array(cluster, "block,*", grid);
    for (size_t n = 0; n < sizeof cases / sizeof cases[0]; n++) {
        dcl_arg in = cases[n].in == 0 ? DCL_IN(A) : cases[n].in == 1 ? DCL_IN_CROSS(A, 2) : DCL_IN_ROWS(A);
        TEST_OK(dcl_forall_tiles(cluster, cases[n].text, DCL_OUT(C), in));
        TEST_REFUSED(dcl_wait(cluster), DCL_ERR_RANGE, cases[n].words);
        dcl_clear_error(cluster);
    }
    dcl_release(A);
    dcl_release(C);
    TEST_OK(dcl_close(cluster));
}

/* Tiles of 4 x 6; at (x, y), and only there, a work-item goes to element (a, b). */
struct stray {
    int kind, x, y, a, b;
};
enum { WRITES = 5, KINDS };
static const dcl_box some_rows = {.rank = 2, .start = {3, 2}, .count = {3, 8}, .stride = {2, 1}};

static dcl_arg declare(int kind, dcl_array *A)
{
    switch (kind) {
    case 0:
        return DCL_IN_HALO(A, 1, 2);
    case 1:
        return DCL_IN_CROSS(A, 2);
    case 2:
        return DCL_IN_ROWS(A);
    case 3:
        return DCL_IN_COLUMNS(A);
    case 4:
        return DCL_IN_BOX(A, &some_rows);
    default:
        return DCL_IN(A);
    }
}

static int beyond(int index, int first, int count, int width)
{
    return index < first - width || index >= first + count + width;
}

static bool strays(const struct stray *s)
{
    int r = s->x / 4 * 4, c = s->y / 6 * 6;
    switch (s->kind) {
    case 0:
        return beyond(s->a, r, 4, 1) || beyond(s->b, c, 6, 2);
    case 1:
        return beyond(s->a, r, 4, 2) || beyond(s->b, c, 6, 2) || (beyond(s->a, r, 4, 0) && beyond(s->b, c, 6, 0));
    case 2:
        return beyond(s->a, r, 4, 0);
    case 3:
        return beyond(s->b, c, 6, 0);
    case 4:
        return s->a < 3 || s->a > 7 || s->b < 2 || s->b > 9; /* every row between is one of other local indices */
    default:
        return beyond(s->a, r, 4, 0) || beyond(s->b, c, 6, 0);
    }
}

static struct stray make_stray(uint64_t seed)
{
    uint64_t random = seed * 77 + 5;
    int picked[4];
    struct stray stray = {.kind = (int)(seed % KINDS)};
    do {
        for (int n = 0; n < 4; n++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            picked[n] = (int)((random >> 33) % N);
        }
        stray = (struct stray){stray.kind, picked[0], picked[1], picked[2], picked[3]};
    } while (!strays(&stray) || (stray.kind == 4 && stray.a % 2 == 0));
    return stray;
}

Test(tile_check_on_device, finds_all_strays)
{
    static const char *const maps[] = {"block,*;tile=4x6", "rows:cyclic(4x6);tile=4x6"};
    const char *text = "const long r = dcl_item(0), c = dcl_item(1), by = A_step(0);\n"
                       "const bool there = C_at(0, r) == x && C_at(1, c) == y;\n"
                       "if (write)\n"
                       "    C(there ? a - C_first(0) : r, there ? b - C_first(1) : c) = 1;\n"
                       "else\n"
                       "    C(r, c) = there ? A((a - A_first(0)) / by, b - A_first(1)) : 0;";
    dcl_config config = test_config(3);
    config.check = "access";
    dcl_cluster *cluster = test_open(&config);
    dcl_grid grid = dcl_grid_2d(DCL_INT32, N, N);
    for (uint64_t seed = 0; seed < 96; seed++) {
        struct stray stray = make_stray(seed);
        dcl_array *C = test_array(cluster, maps[seed / KINDS % 2], grid),
                  *A = test_array(cluster, maps[seed / 12 % 2], grid);
        dcl_map *map = dcl_map_parse(cluster, maps[seed / KINDS % 2]);
        int a = stray.a, b = stray.b, x = -1, y = stray.y, write = stray.kind == WRITES, node;
        int64_t offset;
        dcl_arg in = declare(stray.kind, A);
        TEST_OK(dcl_map_locate(map, &grid, (int64_t[]){stray.x, stray.y}, &node, &offset));
        for (int time = 0; time < 2; time++, x = stray.x) {
            TEST_OK(dcl_forall_tiles(cluster, text, DCL_OUT(C), in, DCL_VALUE(a), DCL_VALUE(b), DCL_VALUE(x),
                                     DCL_VALUE(y), DCL_VALUE(write)));
            if (time == 0) {
                TEST_OK(dcl_wait(cluster));
                continue;
            }
            char words[64];
            snprintf(words, sizeof words, "node %d: %s(%d, %d) was %s", node, write ? "C" : "A", a, b,
                     write ? "written" : "read");
            TEST_REFUSED(dcl_wait(cluster), DCL_ERR_RANGE, words);
            dcl_clear_error(cluster);
        }
        dcl_release(map);
        dcl_release(A);
        dcl_release(C);
    }
    TEST_OK(dcl_close(cluster));
}
