/* test/runtime/copies_test.c - pieces of arrays that cross to a chunk and back as joined patterns: in place, and on
 * devices with memory of their own, against plain loops. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "segment/random.h"
#include "worker/exec_prepare.h"
#include "worker/exec_routes.h"
#include "worker/plans.h"

enum { ROWS = 24, COLUMNS = 36, OPERANDS = 2, CHUNK_NUMBER = 3, MOST_BYTES = 16 * ROWS * COLUMNS };

static const dcl_type types[OPERANDS] = {DCL_INT32, DCL_INT8};

/* Pieces of both arrays of a case: of so many rows and columns, those that were dealt to us. */
struct deal {
    const char *name;
    int64_t rows, columns;
    bool at_random, transposed; /* the chunk has columns of pieces one after the other */
    int64_t most_records;       /* per operand on a device with memory of its own; 0: any */
};

static const struct deal deals[] = {
    {"rows in turn", 2, COLUMNS, false, false, 1}, {"columns in turn", ROWS, 3, false, false, 1},
    {"a chessboard", 4, 6, false, false, 2},       {"a chessboard, columns first", 4, 6, false, true, 4},
    {"odd pieces", 5, 7, false, false, 0},         {"any pieces", 3, 4, true, false, 0},
    {"any elements", 1, 1, true, true, 0},
};

static bool is_ours(const struct deal *deal, int64_t row, int64_t column, test_random *random)
{
    return deal->at_random ? test_between(random, 0, 2) > 0 : (row / deal->rows + column / deal->columns) % 2 == 0;
}

/* What crosses: the library's lists, and the same from loops. */
struct crossing {
    dcli_routes out, in;
    int64_t bytes;
    unsigned char array[OPERANDS][4 * ROWS * COLUMNS], kept[OPERANDS][4 * ROWS * COLUMNS], chunk[MOST_BYTES];
    bool covered[MOST_BYTES];
};

/* One piece, packed at the end of the chunk. */
static void add_piece(const dcli_traits *traits, const dcli_operation *operation, struct crossing *crossing, int k,
                      dcl_box box)
{
    int64_t bytes = (int64_t)dcl_type_bytes(types[k]);
    dcli_region near = {.box = box, .offset = box.start[0] * COLUMNS + box.start[1], .step = {COLUMNS, 1}};
    dcli_region packed = dcli_region_packed(&box, crossing->bytes / bytes);
    const dcli_space own = {DCLI_SPACE_OWN, 0}, chunk = {DCLI_SPACE_CHUNK, CHUNK_NUMBER};
    dcli_route *out =
        dcli_routes_find(&crossing->out, traits, operation, &(dcli_route){.operand = k, .to = chunk, .from = own});
    dcli_route *in =
        dcli_routes_find(&crossing->in, traits, operation, &(dcli_route){.operand = k, .to = own, .from = chunk});
    cr_assert(out != NULL && in != NULL);
    cr_assert_eq(dcli_route_add(out, &packed, &near), DCL_OK);
    cr_assert_eq(dcli_route_add(in, &near, &packed), DCL_OK);
    for (int64_t i = 0; i < box.count[0]; i++) {
        int64_t from = (near.offset + i * COLUMNS) * bytes, length = box.count[1] * bytes;
        memcpy(crossing->kept[k] + from, crossing->array[k] + from, (size_t)length);
        memcpy(crossing->chunk + crossing->bytes + i * length, crossing->array[k] + from, (size_t)length);
        memset(crossing->covered + crossing->bytes + i * length, 1, (size_t)length);
    }
    crossing->bytes += (dcli_box_elements(&box) * bytes + 7) / 8 * 8;
}

static void fill(const dcli_traits *traits, const dcli_operation *operation, const struct deal *deal,
                 struct crossing *crossing)
{
    test_random random = 11;
    int64_t across = deal->transposed ? ROWS : COLUMNS, by = deal->transposed ? deal->rows : deal->columns;
    int64_t along = deal->transposed ? COLUMNS : ROWS, step = deal->transposed ? deal->columns : deal->rows;
    for (int k = 0; k < OPERANDS; k++)
        for (size_t n = 0; n < sizeof crossing->array[k]; n++)
            crossing->array[k][n] = (unsigned char)test_between(&random, 1, 255);
    for (int k = 0; k < OPERANDS; k++)
        for (int64_t x = 0; x < along; x += step)
            for (int64_t y = 0; y < across; y += by) {
                int64_t row = deal->transposed ? y : x, column = deal->transposed ? x : y;
                dcl_box box = {.rank = 2, .start = {row, column}, .stride = {1, 1}};
                box.count[0] = row + deal->rows > ROWS ? ROWS - row : deal->rows;
                box.count[1] = column + deal->columns > COLUMNS ? COLUMNS - column : deal->columns;
                if (is_ours(deal, row, column, &random))
                    add_piece(traits, operation, crossing, k, box);
            }
    cr_assert_leq(crossing->bytes, MOST_BYTES);
    cr_assert_eq(dcli_routes_join(&crossing->out, traits), DCL_OK);
    cr_assert_eq(dcli_routes_join(&crossing->in, traits), DCL_OK);
}

static void give(dcli_worker *worker, const dcli_entry *entry, const struct crossing *crossing, unsigned char found[])
{
    dcli_slot *slot = NULL;
    size_t bytes = (size_t)crossing->bytes;
    if (dcli_device_in_place(worker->as_node->device)) {
        cr_assert_eq(dcli_routes_give(worker, entry, &crossing->out, CHUNK_NUMBER, NULL, (char *)found), DCL_OK, "%s",
                     dcl_error());
        return;
    }
    cr_assert_eq(dcli_slot_take(worker->as_node->device, bytes, &slot), DCL_OK, "%s", dcl_error());
    cr_assert_eq(dcli_routes_fetch(worker, entry, &crossing->out, CHUNK_NUMBER, NULL, slot, bytes), DCL_OK, "%s",
                 dcl_error());
    cr_assert_eq(dcli_slot_finish(slot), DCL_OK, "%s", dcl_error());
    memcpy(found, dcli_slot_host(slot), bytes);
    dcli_slot_give(slot);
}

/* Out of memory that has the arrays, and into memory that has nothing. */
static void expect_crossing(dcli_worker *worker, dcli_entry *entry, const char *name, struct crossing *crossing)
{
    static unsigned char found[MOST_BYTES];
    dcli_known_storage held[OPERANDS] = {{.id = 1}, {.id = 2}};
    memset(found, 0, sizeof found);
    for (int k = 0; k < OPERANDS; k++) {
        size_t bytes = ROWS * COLUMNS * dcl_type_bytes(types[k]);
        cr_assert_eq(dcli_memory_create(worker->as_node->device, bytes, &held[k].memory), DCL_OK, "%s", dcl_error());
        cr_assert_eq(dcli_memory_put(held[k].memory, 0, crossing->array[k], bytes), DCL_OK, "%s", dcl_error());
        entry->held[k] = &held[k];
    }
    give(worker, entry, crossing, found);
    for (int64_t n = 0; n < crossing->bytes; n++)
        cr_assert(!crossing->covered[n] || found[n] == crossing->chunk[n], "%s: byte %lld of the chunk", name,
                  (long long)n);
    for (int k = 0; k < OPERANDS; k++) {
        size_t bytes = ROWS * COLUMNS * dcl_type_bytes(types[k]);
        dcli_memory_release(held[k].memory);
        cr_assert_eq(dcli_memory_create(worker->as_node->device, bytes, &held[k].memory), DCL_OK, "%s", dcl_error());
        for (int64_t c = 0; c < crossing->in.count; c++)
            if (crossing->in.route[c].operand == k)
                cr_assert_eq(dcli_routes_take(worker, entry, &crossing->in.route[c], held[k].memory,
                                              (const char *)crossing->chunk, NULL),
                             DCL_OK, "%s", dcl_error());
        cr_assert_eq(dcli_memory_get(held[k].memory, 0, found, bytes), DCL_OK, "%s", dcl_error());
        cr_assert_eq(memcmp(found, crossing->kept[k], bytes), 0, "%s: operand %d", name, k);
        dcli_memory_release(held[k].memory);
    }
}

static void cross(const char *mode, int flags)
{
    const dcli_log silent = {0};
    dcli_layout layout[OPERANDS] = {{.grid = dcl_grid_2d(types[0], ROWS, COLUMNS)},
                                    {.grid = dcl_grid_2d(types[1], ROWS, COLUMNS)}};
    dcli_as_node as_node = {0};
    dcli_worker worker = {.as_node = &as_node, .process_data = dcli_process_data_open(1)};
    dcli_known_storage *held[OPERANDS] = {NULL};
    dcli_entry entry = {.held = held, .operation.operand_count = OPERANDS};
    if (dcli_device_open_as(0, &silent, flags, &as_node.device) != DCL_OK)
        cr_skip_test("no device: %s", dcl_error());
    cr_assert_not_null(worker.process_data);
    for (int k = 0; k < OPERANDS; k++)
        entry.operation.operand[k].layout = &layout[k];
    for (size_t n = 0; n < sizeof deals / sizeof deals[0]; n++) {
        struct crossing *crossing = calloc(1, sizeof *crossing);
        const dcli_traits traits = dcli_exec_traits(&worker);
        fill(&traits, &entry.operation, &deals[n], crossing);
        for (int64_t c = 0; deals[n].most_records > 0 && c < crossing->out.count; c++)
            cr_expect(dcli_device_in_place(as_node.device) ||
                          crossing->out.route[c].transfers.count <= deals[n].most_records,
                      "%s, %s: %lld records", mode, deals[n].name, (long long)crossing->out.route[c].transfers.count);
        expect_crossing(&worker, &entry, deals[n].name, crossing);
        dcli_routes_free(&crossing->out);
        dcli_routes_free(&crossing->in);
        free(crossing);
    }
    dcli_device_close(as_node.device);
    dcli_process_data_close(worker.process_data);
}

Test(copies_on_device, as_the_device_works) { cross("as it works", 0); }
Test(copies_on_device, memory_of_its_own) { cross("memory of its own", DCLI_OPEN_SEPARATE); }
