/* golden/draw.c - see draw.h. */
#include "golden/draw.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { BLOCK, BLOCK_SIZED, CYCLIC, CYCLIC_SIZED, SPLITS, WEIGHTED, MIXED, AXIS_KINDS };
enum kind { DEALT = AXIS_KINDS, BOXES, REPLICATED, HALO, PERIODIC, SPARSE, EVERY, KINDS };

/* ---- numbers ------------------------------------------------------------------------------------------------------ */

uint64_t golden_next(uint64_t *random)
{
    uint64_t z = *random += 0x9E3779B97F4A7C15;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return z ^ (z >> 31);
}

int64_t golden_between(uint64_t *random, int64_t low, int64_t high)
{
    return low + (int64_t)(golden_next(random) % (uint64_t)(high - low + 1));
}

bool golden_chance(uint64_t *random, int percent) { return golden_between(random, 0, 99) < percent; }

int64_t golden_one_of(uint64_t *random, const int64_t numbers[])
{
    int count = 0;
    while (numbers[count] != -1)
        count++;
    return numbers[golden_between(random, 0, count - 1)];
}

#define ONE_OF(random, ...) golden_one_of((random), (const int64_t[]){__VA_ARGS__, -1})

static int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

void golden_append(char text[GOLDEN_TEXT], const char *format, ...)
{
    size_t length = strlen(text);
    va_list list;
    va_start(list, format);
    vsnprintf(text + length, GOLDEN_TEXT - length, format, list);
    va_end(list);
}

static void append_sizes(char *text, const char *before, int rank, const int64_t size[], const char *after)
{
    golden_append(text, "%s", before);
    for (int d = 0; d < rank; d++)
        golden_append(text, "%s%" PRId64, d > 0 ? "x" : "", size[d]);
    golden_append(text, "%s", after);
}

/* ---- per axis ----------------------------------------------------------------------------------------------------- */

/* Rising points; some of them may lie at the end of the axis or after it. */
static void append_splits(uint64_t *random, int64_t extent, char *text)
{
    int64_t point = 0, count = golden_between(random, 1, 6);
    golden_append(text, "splits(");
    for (int64_t n = 0; n < count; n++) {
        point += golden_between(random, 1, 1 + 2 * ceil_div(extent, count + 1));
        golden_append(text, "%s%" PRId64, n > 0 ? "," : "", point);
    }
    golden_append(text, ")");
}

static void append_shares(uint64_t *random, int64_t nodes, char *text)
{
    golden_append(text, "weighted(%" PRId64, ONE_OF(random, 1, 1, 2, 5));
    for (int64_t n = 1; n < nodes; n++)
        golden_append(text, ":%" PRId64, ONE_OF(random, 0, 1, 1, 2, 3, 10));
    golden_append(text, ")");
}

static void append_rule(uint64_t *random, int kind, int64_t extent, int64_t nodes, char *text)
{
    static const char *const words[] = {[BLOCK] = "block", [CYCLIC] = "cyclic", [MIXED] = "*"};
    if (kind == BLOCK_SIZED) {
        int64_t least = ceil_div(extent, nodes);
        golden_append(text, "block(%" PRId64 ")", (least > 0 ? least : 1) + ONE_OF(random, 0, 0, 1, 3));
    } else if (kind == CYCLIC_SIZED)
        golden_append(text, "cyclic(%" PRId64 ")", ONE_OF(random, 1, 2, 2, 3, 4, 7, 16));
    else if (kind == SPLITS)
        append_splits(random, extent, text);
    else if (kind == WEIGHTED)
        append_shares(random, nodes, text);
    else
        golden_append(text, "%s", words[kind]);
}

/* An ordered product of `rank` numbers. */
static void arrange(uint64_t *random, int64_t nodes, int rank, int64_t along[])
{
    int first = (int)golden_between(random, 0, rank - 1);
    for (int n = 0; n < rank; n++) {
        int64_t *number = &along[(first + n) % rank];
        do
            *number = n == rank - 1 ? nodes : golden_between(random, 1, nodes);
        while (nodes % *number != 0);
        nodes /= *number;
    }
}

static void append_axes(uint64_t *random, int kind, const dcl_grid *grid, int64_t nodes, char *text)
{
    bool alone = kind == BLOCK || kind == CYCLIC || kind == CYCLIC_SIZED || kind == SPLITS || kind == WEIGHTED;
    if (alone && golden_chance(random, 40)) { /* one word for all axes, or for the first */
        append_rule(random, kind, grid->extent[0], nodes, text);
        return;
    }
    int64_t along[DCL_MAX_RANK];
    arrange(random, nodes, grid->rank, along);
    bool divided = false;
    for (int d = 0; d < grid->rank; d++) {
        int rule = kind;
        if (kind == MIXED) {
            rule = (int)golden_between(random, 0, along[d] == 1 ? MIXED : MIXED - 1);
            if (d == grid->rank - 1 && !divided && rule == MIXED)
                rule = CYCLIC;
        }
        divided |= rule != MIXED;
        golden_append(text, "%s", d > 0 ? "," : "");
        append_rule(random, rule, grid->extent[d], along[d], text);
    }
    append_sizes(text, "@", grid->rank, along, "");
}

/* ---- dealt, boxes ------------------------------------------------------------------------------------------------- */

/* Some of the nodes, by rising number. @return how many */
static int choose_nodes(uint64_t *random, int nodes, int chosen[])
{
    int count = 0;
    for (int n = 0; n < nodes; n++)
        if (golden_chance(random, 60))
            chosen[count++] = n;
    if (count == 0)
        chosen[count++] = (int)golden_between(random, 0, nodes - 1);
    return count;
}

static void append_owners(uint64_t *random, int64_t pieces, int nodes, bool holes, char *text)
{
    int chosen[DCL_MAX_RANK * 8], count = choose_nodes(random, nodes, chosen);
    golden_append(text, ";owners=");
    for (int64_t left = pieces; left > 0;) {
        int64_t length = ONE_OF(random, 1, 1, 2, 3, ceil_div(pieces, 3));
        length = length > left ? left : length;
        golden_append(text, "%s", left < pieces ? "," : "");
        if (holes && golden_chance(random, 40))
            golden_append(text, "-*%" PRId64, length);
        else
            golden_append(text, "%d*%" PRId64, chosen[golden_between(random, 0, count - 1)], length);
        left -= length;
    }
}

enum deal { IN_TURN, IN_RUNS, BY_HASH, BY_TABLE };

static void append_dealt(uint64_t *random, enum deal deal, const dcl_grid *grid, int nodes, bool large, bool holes,
                         const char *listed, char *text)
{
    static const char *const words[] = {"cyclic", "block", "hash", "table"};
    int64_t piece[DCL_MAX_RANK], pieces = 1;
    bool single = !large && golden_chance(random, 40);
    golden_append(text, "%s:%s", golden_chance(random, 50) ? "rows" : "columns", words[deal]);
    for (int d = 0; d < grid->rank; d++) {
        int64_t n = grid->extent[d];
        piece[d] = single ? 1 : ONE_OF(random, 1, 2, 2, 3, 5, ceil_div(n, 3), n + 1);
        piece[d] = piece[d] < 1 ? 1 : large && piece[d] < n / 8 ? n / 8 : piece[d];
        pieces *= ceil_div(n, piece[d]);
    }
    if (!single)
        append_sizes(text, "(", grid->rank, piece, ")");
    golden_append(text, "%s", listed);
    if (deal == BY_HASH && golden_chance(random, 70))
        golden_append(text, ";seed=%" PRId64, golden_between(random, 0, 1000000));
    if (deal == BY_TABLE)
        append_owners(random, pieces, nodes, holes, text);
}

/* Cut a box at random until there are so many, and append them with their nodes. */
static void append_cut(uint64_t *random, const dcl_box *box, int64_t pieces, int count, const int chosen[], char *text)
{
    int axis = (int)golden_between(random, 0, box->rank - 1);
    for (int n = 0; n < box->rank && box->count[axis] < 2; n++)
        axis = (axis + 1) % box->rank;
    if (pieces > 1 && box->count[axis] > 1) {
        dcl_box low = *box, high = *box;
        low.count[axis] = golden_between(random, 1, box->count[axis] - 1);
        high.start[axis] += low.count[axis];
        high.count[axis] -= low.count[axis];
        int64_t left = golden_between(random, 1, pieces - 1);
        bool swapped = golden_chance(random, 50);
        append_cut(random, swapped ? &high : &low, left, count, chosen, text);
        append_cut(random, swapped ? &low : &high, pieces - left, count, chosen, text);
        return;
    }
    golden_append(text, "%s[", text[strlen(text) - 1] == ':' ? "" : ",");
    for (int d = 0; d < box->rank; d++)
        golden_append(text, "%s%" PRId64 ":%" PRId64, d > 0 ? "," : "", box->start[d], box->start[d] + box->count[d]);
    golden_append(text, "]@%d", chosen[golden_between(random, 0, count - 1)]);
}

static void append_boxes(uint64_t *random, const dcl_grid *grid, int nodes, char *text)
{
    int chosen[DCL_MAX_RANK * 8], count = choose_nodes(random, nodes, chosen);
    dcl_box all = dcl_box_of(grid);
    golden_append(text, "boxes:");
    append_cut(random, &all, golden_between(random, 1, 9), count, chosen, text);
}

/* ---- all of it ---------------------------------------------------------------------------------------------------- */

static void append_halo(uint64_t *random, const dcl_grid *grid, bool periodic, char *text)
{
    char axes[32] = "";
    golden_append(text, ";halo=");
    for (int d = 0; d < grid->rank; d++) {
        int64_t low = golden_between(random, 0, 2), high = golden_between(random, 0, 3);
        golden_append(text, "%s%" PRId64 ":%" PRId64, d > 0 ? "," : "", low, high);
        int64_t most = low > high ? low : high;
        if (periodic && most > 0 && most <= grid->extent[d])
            snprintf(axes + strlen(axes), sizeof axes - strlen(axes), "%s%d", axes[0] != '\0' ? "," : "", d);
    }
    if (axes[0] != '\0')
        golden_append(text, ";periodic=%s", axes);
}

/* Some of the nodes as a suffix, by rising number or not; often all of them. @return how many */
static int draw_nodes(uint64_t *random, int nodes, char *listed)
{
    int chosen[DCL_MAX_RANK * 8], count = nodes;
    if (nodes == 1 || golden_chance(random, 70))
        return nodes;
    count = choose_nodes(random, nodes, chosen);
    bool backwards = golden_chance(random, 40);
    for (int n = 0; n < count; n++)
        golden_append(listed, "%s%d", n == 0 ? ";nodes=" : ",", chosen[backwards ? count - 1 - n : n]);
    return count;
}

static void append_grains(uint64_t *random, int rank, char *text)
{
    int64_t size[DCL_MAX_RANK];
    for (int turn = 0; turn < 2; turn++) {
        if (!golden_chance(random, 30))
            continue;
        for (int d = 0; d < rank; d++)
            size[d] = ONE_OF(random, 1, 2, 3, 5, 8, 64);
        append_sizes(text, turn == 0 ? ";block=" : ";tile=", rank, size, "");
    }
}

static void append_plain(uint64_t *random, const dcl_grid *grid, int nodes, bool large, char *text)
{
    if (golden_chance(random, 50))
        append_axes(random, (int)golden_between(random, 0, AXIS_KINDS - 1), grid, nodes, text);
    else
        append_dealt(random, (enum deal)golden_between(random, IN_TURN, BY_TABLE), grid, nodes, large, false, "", text);
}

static void append_every(uint64_t *random, const dcl_grid *grid, int nodes, char *text)
{
    dcl_grid stored = *grid;
    int64_t step[DCL_MAX_RANK];
    for (int d = 0; d < grid->rank; d++) {
        step[d] = ONE_OF(random, 1, 2, 3);
        stored.extent[d] = ceil_div(grid->extent[d], step[d]);
        stored.origin[d] = 0;
    }
    append_plain(random, &stored, nodes, false, text);
    append_sizes(text, ";every=", grid->rank, step, "");
}

void golden_draw_map(uint64_t *random, const dcl_grid *grid, int nodes, bool large, char text_out[GOLDEN_TEXT])
{
    char listed[64] = "";
    bool empty = dcl_grid_count(grid) == 0;
    int64_t draw = golden_between(random, 0, 99);
    enum kind kind = draw < 38   ? BLOCK
                     : draw < 70 ? DEALT
                     : draw < 78 ? BOXES
                     : draw < 82 ? REPLICATED
                     : draw < 88 ? HALO
                     : draw < 93 ? PERIODIC
                     : draw < 96 ? SPARSE
                     : draw < 98 ? EVERY
                                 : KINDS;
    text_out[0] = '\0';
    if (empty || (large && kind != DEALT)) {
        append_axes(random, (int)golden_between(random, 0, CYCLIC_SIZED), grid, nodes, text_out);
        return;
    }
    switch (kind) {
    case DEALT: {
        int used = draw_nodes(random, nodes, listed);
        append_dealt(random,
                     used == nodes ? (enum deal)golden_between(random, IN_TURN, BY_TABLE)
                                   : (enum deal)golden_between(random, IN_TURN, BY_HASH),
                     grid, nodes, large, false, listed, text_out);
        break;
    }
    case BOXES:
        append_boxes(random, grid, nodes, text_out);
        break;
    case REPLICATED:
        golden_append(text_out, golden_chance(random, 50) || nodes == 1 ? "replicated" : "replicated(2)");
        break;
    case HALO:
    case PERIODIC:
        append_plain(random, grid, nodes, false, text_out);
        append_halo(random, grid, kind == PERIODIC, text_out);
        return;
    case SPARSE:
        append_dealt(random, BY_TABLE, grid, nodes, false, true, "", text_out);
        golden_append(text_out, ";rest=%" PRId64, golden_between(random, 0, 9));
        return;
    case EVERY:
        append_every(random, grid, nodes, text_out);
        return;
    case KINDS:
        return; /* the default map */
    default: {
        int axes = (int)golden_between(random, 0, AXIS_KINDS - 1), used = draw_nodes(random, nodes, listed);
        append_axes(random, axes, grid, used, text_out);
        golden_append(text_out, "%s", listed);
    }
    }
    append_grains(random, grid->rank, text_out);
}
