/* processes/access.c - a program whose bodies stray from what they declare: access
 *
 * From seeds: an array with some map, what a body says that it reads of it, and one index at which it reads elsewhere. Each
 * must be reported, with the array, the element, the node and the declaration, and the same body without that read must
 * not be. Prints `found N of N` and `quiet N of N`, or `WRONG ...`. */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dcl.h>

enum { N = 24, SEEDS = 100 };

static void fail(const char *what, const char *why)
{
    printf("WRONG %s: %s\n", what, why);
    exit(EXIT_FAILURE);
}

static void check(dcl_status status, const char *what)
{
    if (status != DCL_OK)
        fail(what, dcl_error());
}

static int64_t pick(uint64_t *random, int64_t low, int64_t high)
{
    *random = *random * 6364136223846793005u + 1442695040888963407u;
    return low + (int64_t)((*random >> 33) % (uint64_t)(high - low + 1));
}

/* At (x, y) element (a, b) is read; elsewhere what is right for the kind. `q` is 1 where a guard holds. */
static const char *const bodies[] = {
    /* halo of 2 and 1 */ "long u = i + (i + 1 < 24), v = j - (j > 0); if (i == x && j == y) { u = a; v = b; }\n"
                          "C(i,j) = A(u, v);",
    /* cross of 2 */ "long u = i >= 2 ? i - 2 : i, v = j; if (i == x && j == y) { u = a; v = b; }\nC(i,j) = A(u, v);",
    /* row i */ "long u = i, v = (7 * j) % 24; if (i == x && j == y) { u = a; v = b; }\nC(i,j) = A(u, v);",
    /* column j */ "long u = (5 * i) % 24, v = j; if (i == x && j == y) { u = a; v = b; }\nC(i,j) = A(u, v);",
    /* box */ "long u = 4 + 2 * (i % 3), v = 8 + j % 4; if (i == x && j == y) { u = a; v = b; }\nC(i,j) = A(u, v);",
    /* rows 6..9 */ "long u = 6 + (i + j) % 4, v = j; if (i == x && j == y) { u = a; v = b; }\nC(i,j) = A(u, v);",
    /* function: own tile */ "long u = i, v = j; if (i == x && j == y) { u = a; v = b; }\nC(i,j) = A(u, v);",
    /* affine, outside the grid */ "C(i,j) = i + a < 24 || (i == x && j == y) ? A(i + a, j) : A(i, j);"};
static const char *const said[] = {"within 2, 1 of the same index (DCL_IN_HALO)",
                                   "within 2, 2 of the same index, along one axis at a time (DCL_IN_CROSS)",
                                   "in the rows of its own first index (DCL_IN_ROWS)",
                                   "in the columns of its own last index (DCL_IN_COLUMNS)",
                                   "in [4:10:2, 8:12] (DCL_IN_BOX)",
                                   "in [6:10, 0:24] (DCL_IN_AT)",
                                   "in the boxes that its function gives (DCL_IN_FUNCTION)",
                                   "outside its grid"};
enum { KINDS = sizeof bodies / sizeof bodies[0] };

static const dcl_box box = {.rank = 2, .start = {4, 8}, .count = {3, 4}, .stride = {2, 1}};

static int same(void *user, const dcl_box *output, int most, dcl_box inputs_out[])
{
    (void)user;
    (void)most;
    inputs_out[0] = *output;
    return 1;
}

static dcl_arg declare(int kind, dcl_array *A)
{
    switch (kind) {
    case 0:
        return DCL_IN_HALO(A, 2, 1);
    case 1:
        return DCL_IN_CROSS(A, 2);
    case 2:
        return DCL_IN_ROWS(A);
    case 3:
        return DCL_IN_COLUMNS(A);
    case 4:
        return DCL_IN_BOX(A, &box);
    case 5:
        return DCL_IN_AT(A, 6, 9);
    case 6:
        return DCL_IN_FUNCTION(A, same, NULL);
    default:
        return DCL_IN(A);
    }
}

/* Whether (a, b) is no element that the body may read at (x, y). The tiles of kind 6 are 6 x 6 pieces. */
static bool strays(int kind, int64_t x, int64_t y, int64_t a, int64_t b)
{
    int64_t da = llabs(a - x), db = llabs(b - y);
    switch (kind) {
    case 0:
        return da > 2 || db > 1;
    case 1:
        return da > 2 || db > 2 || (da > 0 && db > 0);
    case 2:
        return a != x;
    case 3:
        return b != y;
    case 4:
        return a < 4 || a > 8 || a % 2 != 0 || b < 8 || b > 11;
    case 5:
        return a < 6 || a > 9;
    case 6:
        return a / 6 != x / 6 || b / 6 != y / 6;
    default:
        return x + a >= N;
    }
}

struct stray {
    int kind;
    int64_t x, y, a, b;
    dcl_map *map; /* of C */
    int node;     /* that computes C(x, y) */
};

static dcl_status run(dcl_cluster *cluster, const struct stray *stray, dcl_array *C, dcl_array *A, bool straight)
{
    int x = straight ? -1 : (int)stray->x, y = (int)stray->y, a = (int)stray->a, b = (int)stray->b;
    dcl_arg in = declare(stray->kind, A);
    return dcl_forall(cluster, bodies[stray->kind], DCL_OUT(C), in, DCL_VALUE(x), DCL_VALUE(y), DCL_VALUE(a),
                      DCL_VALUE(b));
}

static void expect_report(const struct stray *stray, dcl_status status)
{
    char element[64], node[16], what[128];
    bool affine = stray->kind == KINDS - 1;
    snprintf(element, sizeof element, "A(%" PRId64 ", %" PRId64 ")", affine ? stray->x + stray->a : stray->a,
             affine ? stray->y : stray->b);
    snprintf(node, sizeof node, "node %d: ", stray->node);
    snprintf(what, sizeof what, "kind %d at (%" PRId64 ", %" PRId64 ") on %sreading %s", stray->kind, stray->x,
             stray->y, node, element);
    if (status != DCL_ERR_RANGE)
        fail(what, "it was not reported");
    const char *words[] = {element, node, said[stray->kind],
                           strchr(bodies[stray->kind], '\n') == NULL ? "`C(i,j)" : "`long u"};
    for (int w = 0; w < 4; w++)
        if (strstr(dcl_error(), words[w]) == NULL)
            fail(what, dcl_error());
}

static struct stray make_stray(uint64_t seed, dcl_map *const maps[], int map_count)
{
    uint64_t random = seed * 77 + 5;
    struct stray stray = {.kind = (int)(seed % KINDS)};
    do {
        stray.x = pick(&random, 0, N - 1);
        stray.y = pick(&random, 0, N - 1);
        stray.a = stray.kind == KINDS - 1 ? pick(&random, 1, 30) : pick(&random, 0, N - 1);
        stray.b = pick(&random, 0, N - 1);
    } while (!strays(stray.kind, stray.x, stray.y, stray.a, stray.b));
    stray.map = maps[stray.kind == 6 ? 0 : pick(&random, 0, map_count - 1)];
    return stray;
}

int main(void)
{
    static const char *const texts[] = {"rows:cyclic(6x6);tile=6x6", "block,*", "*,cyclic", "block,block;tile=5x7",
                                        "columns:block(4x3)"};
    enum { MAPS = sizeof texts / sizeof texts[0] };
    dcl_cluster *cluster = dcl_open(NULL);
    if (cluster == NULL)
        fail("dcl_open", dcl_error());
    dcl_map *maps[MAPS];
    for (int m = 0; m < MAPS; m++)
        maps[m] = dcl_map_parse(cluster, texts[m]);
    int found = 0, quiet = 0;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct stray stray = make_stray(seed, maps, MAPS);
        dcl_grid grid = dcl_grid_2d(DCL_INT32, N, N);
        int64_t offset, index[] = {stray.x, stray.y};
        dcl_array *C = dcl_agile(grid, stray.map), *A = dcl_agile(grid, maps[seed / KINDS % MAPS]);
        check(dcl_map_locate(stray.map, &grid, index, &stray.node, &offset), "dcl_map_locate");
        check(run(cluster, &stray, C, A, true), "a correct body");
        dcl_status status = dcl_wait(cluster);
        if (status != DCL_OK)
            fail("a correct body", dcl_error());
        quiet++;
        check(run(cluster, &stray, C, A, false), "a body that strays");
        expect_report(&stray, dcl_wait(cluster));
        dcl_clear_error(cluster);
        found++;
        dcl_release(A);
        dcl_release(C);
    }
    for (int m = 0; m < MAPS; m++)
        dcl_release(maps[m]);
    check(dcl_close(cluster), "dcl_close");
    printf("found %d of %d\nquiet %d of %d\n", found, SEEDS, quiet, SEEDS);
    return EXIT_SUCCESS;
}
