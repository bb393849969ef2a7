/* test/support/simmap.c - random maps: generated as text, parsed by the library. */
#include "support/simmap.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "resmap/map_text.h"

struct writer {
    test_random *random;
    char *text;
    size_t length, capacity;
};

__attribute__((format(printf, 2, 3))) static void put(struct writer *writer, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    int length = vsnprintf(writer->text + writer->length, writer->capacity - writer->length, format, values);
    va_end(values);
    writer->length += (size_t)length;
    if (writer->length >= writer->capacity)
        abort();
}

static int64_t pick(struct writer *writer, int64_t lo, int64_t hi) { return test_between(writer->random, lo, hi); }

/* Write random sizes up to about an extent; small ones more often. */
static void put_sizes(struct writer *writer, const dcl_grid *grid)
{
    for (int d = 0; d < grid->rank; d++) {
        int64_t most = dcli_max(1, grid->extent[d]);
        if (pick(writer, 0, 2) > 0)
            most = dcli_min(most, 4);
        put(writer, "%s%" PRId64, d > 0 ? "x" : "", pick(writer, 1, most));
    }
}

/* Write a random arrangement: each prime factor of the number of nodes goes to one divided axis. */
static void put_arrangement(struct writer *writer, int rank, const bool divided[], int node_count)
{
    int nodes[DCL_MAX_RANK];
    for (int d = 0; d < rank; d++)
        nodes[d] = 1;
    for (int left = node_count, factor = 2; left > 1;) {
        if (left % factor != 0) {
            factor++;
            continue;
        }
        int d;
        do
            d = (int)pick(writer, 0, rank - 1);
        while (!divided[d]);
        nodes[d] *= factor;
        left /= factor;
    }
    put(writer, "@");
    for (int d = 0; d < rank; d++)
        put(writer, "%s%d", d > 0 ? "x" : "", nodes[d]);
}

static void put_axes(struct writer *writer, const dcl_grid *grid, int node_count)
{
    bool divided[DCL_MAX_RANK], any = false;
    for (int d = 0; d < grid->rank; d++) {
        divided[d] = pick(writer, 0, 3) > 0;
        any |= divided[d];
    }
    divided[0] |= !any;
    for (int d = 0; d < grid->rank; d++) {
        put(writer, "%s", d > 0 ? "," : "");
        int64_t kind = pick(writer, 0, 2);
        if (!divided[d])
            put(writer, "*");
        else if (kind == 0)
            put(writer, "block");
        else if (kind == 1)
            put(writer, "cyclic");
        else
            put(writer, "cyclic(%" PRId64 ")", pick(writer, 1, 5));
    }
    if (pick(writer, 0, 1) == 0)
        put_arrangement(writer, grid->rank, divided, node_count);
}

static void put_dealt(struct writer *writer, const dcl_grid *grid)
{
    put(writer, "%s:%s", pick(writer, 0, 1) == 0 ? "rows" : "columns", pick(writer, 0, 1) == 0 ? "cyclic" : "block");
    if (pick(writer, 0, 4) == 0)
        return;
    put(writer, "(");
    put_sizes(writer, grid);
    put(writer, ")");
}

/* Write a table of owners with a few long runs; some pieces have no owner. */
static void put_table(struct writer *writer, const dcl_grid *grid, int node_count)
{
    int64_t pieces = 1;
    put(writer, "rows:table(");
    for (int d = 0; d < grid->rank; d++) {
        int64_t size = pick(writer, 1, dcli_max(1, grid->extent[d]));
        put(writer, "%s%" PRId64, d > 0 ? "x" : "", size);
        pieces *= dcli_ceil_div(grid->extent[d], size);
    }
    put(writer, ");owners=");
    for (int64_t left = dcli_max(pieces, 1), runs = 0, run; left > 0; left -= run, runs++) {
        run = runs == 5 ? left : pick(writer, 1, left);
        if (pick(writer, 0, 2) == 0)
            put(writer, "%s-*%" PRId64, runs > 0 ? "," : "", run);
        else
            put(writer, "%s%" PRId64 "*%" PRId64, runs > 0 ? "," : "", pick(writer, 0, node_count - 1), run);
    }
}

/* Write a step, so that only some elements are stored. */
static void put_every(struct writer *writer, const dcl_grid *grid)
{
    put(writer, ";every=");
    for (int d = 0; d < grid->rank; d++)
        put(writer, "%s%" PRId64, d > 0 ? "x" : "", pick(writer, 1, 3));
}

/* Write the widths of a halo, on some axes 0; some axes with a halo are periodic. */
static void put_halo(struct writer *writer, const dcl_grid *grid)
{
    unsigned periodic = 0;
    for (int d = 0; d < grid->rank; d++) {
        int64_t low = pick(writer, 0, 2), high = pick(writer, 0, 3), width = dcli_max(low, high);
        put(writer, "%s%" PRId64 ":%" PRId64, d > 0 ? "," : ";halo=", low, high);
        periodic |= (unsigned)(width > 0 && width <= grid->extent[d] && pick(writer, 0, 2) > 0) << d;
    }
    const char *before = ";periodic=";
    for (int d = 0; d < grid->rank; d++)
        if ((periodic >> d & 1) != 0) {
            put(writer, "%s%d", before, d);
            before = ",";
        }
}

/* Write a map. @param all  it is for all nodes of the cluster. */
static void put_map(struct writer *writer, const dcl_grid *grid, int node_count, bool all)
{
    int64_t kind = pick(writer, 0, 9);
    bool some = pick(writer, 0, 4) == 0;
    if (some && all && kind >= 6)
        put_table(writer, grid, node_count);
    else if (kind == 0)
        put(writer, "block");
    else if (kind == 1)
        put(writer, "cyclic(%" PRId64 ")", pick(writer, 1, 6));
    else if (kind < 6)
        put_axes(writer, grid, node_count);
    else
        put_dealt(writer, grid);
    if (some && kind < 6)
        put_every(writer, grid);
    else if (pick(writer, 0, 3) == 0)
        put_halo(writer, grid);
    if (some)
        put(writer, ";rest=%" PRId64, pick(writer, -9, 9));
    if (pick(writer, 0, 3) == 0) {
        put(writer, ";block=");
        put_sizes(writer, grid);
    }
    if (pick(writer, 0, 3) == 0) {
        put(writer, ";tile=");
        put_sizes(writer, grid);
    }
}

/* Pick the nodes of a map: all, or some at random. @return how many; and the text that lists them, if needed. */
static int pick_nodes(test_random *random, int node_count, char *text, size_t capacity)
{
    struct writer writer = {.random = random, .text = text, .capacity = capacity};
    text[0] = 0;
    if (node_count < 2 || test_between(random, 0, 3) > 0)
        return node_count;
    int count = 0, from = (int)test_between(random, 0, node_count - 1);
    for (int ranges = 0; ranges < 3 && from < node_count; ranges++) {
        int to = (int)test_between(random, from, dcli_min(from + 7, node_count - 1));
        put(&writer, "%s%d-%d", ranges == 0 ? ";nodes=" : ",", from, to);
        count += to - from + 1;
        from = to + 1 + (int)test_between(random, 1, 5);
    }
    return count;
}

void sim_map_bind(test_random *random, int node_count, const dcl_grid *grid, char *text_out, size_t capacity,
                  dcli_layout *layout_out)
{
    struct writer writer = {.random = random, .text = text_out, .capacity = capacity};
    dcli_map_rule rule;
    char nodes[64];
    int places = pick_nodes(random, node_count, nodes, sizeof nodes);
    put_map(&writer, grid, places, nodes[0] == 0);
    put(&writer, "%s", nodes);
    if (dcli_map_rule_parse(text_out, node_count, &rule) != DCL_OK) {
        fprintf(stderr, "map %s: %s\n", text_out, dcl_error());
        abort();
    }
    rule.tile_bytes = INT64_C(8) << test_between(random, 0, 9);
    rule.block_bytes = INT64_C(8) << test_between(random, 0, 6);
    if (dcli_map_rule_check(&rule) != DCL_OK || dcli_layout_bind(&rule, grid, layout_out) != DCL_OK) {
        fprintf(stderr, "map %s: %s\n", text_out, dcl_error());
        abort();
    }
    dcli_map_rule_release(&rule);
}
