/* lower/gather_table.c - build the tables of launches that gather, and place their scratch memory. */
#include <string.h>

#include "base/alloc.h"
#include "base/check.h"
#include "base/hash.h"
#include "kernel/block.h"
#include "lower/group.h"

enum { LINE_BYTES = 64, LAST_SHAPES = 1024 };

static int64_t in_lines(int64_t bytes) { return dcli_ceil_div(bytes, LINE_BYTES) * LINE_BYTES; }

int64_t dcli_gather_address_bytes(const dcli_lowered *lowered)
{
    return in_lines(lowered->source_count * (int64_t)sizeof(uint64_t));
}

int64_t dcli_lowered_scratch_bytes(const dcli_lowered *lowered, const dcli_traits *traits)
{
    return traits->shares * lowered->scratch_bytes;
}

void dcli_gather_place(const dcli_traits *traits, dcli_lowered *lowered)
{
    int64_t most = 0;
    for (int64_t l = 0; l < lowered->launch_count; l++)
        most = dcli_max(most, lowered->launch[l].scratch_bytes);
    lowered->scratch_bytes = in_lines(most);
    lowered->scratch_at = lowered->arena_bytes;
    lowered->arena_bytes += dcli_lowered_scratch_bytes(lowered, traits);
}

/* ---- tables ------------------------------------------------------------------------------------------------------- */

/* The shapes of a launch's pieces, without most duplicates: a shape is compared only with the last one of the same
 * hash. */
struct shapes {
    int64_t *shape, count; /* [count][DCLI_SHAPE_LONGS] */
    int64_t *of;           /* [pieces] number of each piece's shape */
};

static int64_t way_of(const dcli_transfer *piece)
{
    const int last = DCLI_GATHER_AXES - 1;
    if (piece->to.step[last] != 1 || piece->from.step[last - 1] != 1 || piece->from.step[last] == 1)
        return DCLI_SHAPE_LINES;
    bool square = piece->count[last] == DCLI_LANES && piece->count[last - 1] == DCLI_LANES;
    return square && dcli_volume(last - 1, piece->count) == 1 ? DCLI_SHAPE_SQUARE : DCLI_SHAPE_TURNED;
}

static void fill_shape(int access, const dcli_transfer *piece, int64_t shape[])
{
    const size_t bytes = DCLI_GATHER_AXES * sizeof shape[0];
    shape[0] = access;
    shape[1] = way_of(piece);
    memcpy(shape + DCLI_SHAPE_COUNTS, piece->count, bytes);
    memcpy(shape + DCLI_SHAPE_TO, piece->to.step, bytes);
    memcpy(shape + DCLI_SHAPE_FROM, piece->from.step, bytes);
}

/* Number of the shape that was written after the last one: if the last shape of this hash is equal, its number;
 * otherwise the new shape is added. @param last  [LAST_SHAPES] by hash: number of the last shape + 1; 0: none. */
static int64_t number_shape(struct shapes *shapes, int64_t last[])
{
    const int64_t *shape = shapes->shape + shapes->count * DCLI_SHAPE_LONGS;
    uint64_t hash = DCLI_HASH_START;
    for (int n = 0; n < DCLI_SHAPE_LONGS; n++)
        hash = dcli_hash_word(hash, (uint64_t)shape[n]);
    int64_t *known = &last[hash % LAST_SHAPES];
    if (*known == 0 ||
        memcmp(shape, shapes->shape + (*known - 1) * DCLI_SHAPE_LONGS, DCLI_SHAPE_LONGS * sizeof shape[0]) != 0)
        *known = ++shapes->count;
    return *known - 1;
}

static dcl_status find_shapes(const dcli_launch *launch, struct shapes *shapes)
{
    int64_t last[LAST_SHAPES] = {0};
    shapes->shape = dcli_malloc((size_t)launch->piece.count * DCLI_SHAPE_LONGS * sizeof(int64_t));
    shapes->of = dcli_malloc((size_t)launch->piece.count * sizeof(int64_t));
    if (shapes->shape == NULL || shapes->of == NULL)
        return DCL_ERR_NOMEM;
    for (int64_t p = 0; p < launch->piece.count; p++) {
        dcli_transfer piece = dcli_transfers_get(&launch->piece, p);
        fill_shape(launch->origin[p].access, &piece, shapes->shape + shapes->count * DCLI_SHAPE_LONGS);
        shapes->of[p] = number_shape(shapes, last);
    }
    return DCL_OK;
}

/* The start positions of a table's sections. */
struct table {
    int64_t rows, places, shapes, end;
};

static struct table find_table(const dcli_body *body, const dcli_launch *launch, const struct shapes *shapes)
{
    struct table table = {.rows = DCLI_GATHER_HEAD + launch->group_count * DCLI_GROUP_LONGS};
    table.places = table.rows + launch->row_count * dcli_row_length(body);
    table.shapes = table.places + launch->piece.count * DCLI_PLACE_LONGS;
    table.end = table.shapes + shapes->count * DCLI_SHAPE_LONGS;
    return table;
}

static void fill_head(const dcli_body *body, const dcli_lowered *lowered, const dcli_launch *launch, int64_t head[])
{
    uint64_t mask = 0; /* unsigned, because access number DCLI_MAX_ACCESSES - 1 has the sign bit */
    for (int a = 0; a < body->access_count; a++)
        mask |= (uint64_t)(launch->via[a] == DCLI_VIA_GATHER) << a;
    head[DCLI_GATHER_MASK] = (int64_t)mask;
    head[DCLI_GATHER_SCRATCH] = lowered->scratch_at;
    head[DCLI_GATHER_BYTES] = lowered->scratch_bytes;
    head[DCLI_GATHER_ELEMENTS] = launch->elements;
}

static void fill_table(const dcli_body *body, const dcli_launch *launch, const struct shapes *shapes,
                       const struct table *at, int64_t table[])
{
    int length = dcli_row_length(body);
    for (int64_t g = 0; g < launch->group_count; g++) {
        const int64_t *group = launch->group + g * DCLI_GROUP_LONGS;
        int64_t *to = table + DCLI_GATHER_HEAD + g * DCLI_GROUP_LONGS;
        to[0] = at->rows + group[0] * length;
        to[1] = group[1];
        to[2] = at->places + group[2] * DCLI_PLACE_LONGS;
        to[3] = group[3];
    }
    memcpy(table + at->rows, launch->row, (size_t)(launch->row_count * length) * sizeof table[0]);
    for (int64_t p = 0; p < launch->piece.count; p++) {
        const dcli_transfer piece = dcli_transfers_get(&launch->piece, p);
        int64_t *place = table + at->places + p * DCLI_PLACE_LONGS;
        place[0] = piece.to.offset;
        place[1] = piece.from.offset;
        place[2] = launch->origin[p].address;
        place[3] = at->shapes + shapes->of[p] * DCLI_SHAPE_LONGS;
    }
    memcpy(table + at->shapes, shapes->shape, (size_t)(shapes->count * DCLI_SHAPE_LONGS) * sizeof table[0]);
}

dcl_status dcli_gather_table(const dcli_body *body, const dcli_lowered *lowered, const dcli_launch *launch,
                             int64_t **table_out, size_t *bytes_out)
{
    struct shapes shapes = {0};
    int64_t *table = NULL;
    dcl_status status = find_shapes(launch, &shapes);
    struct table at = find_table(body, launch, &shapes);
    if (status == DCL_OK && (table = dcli_malloc((size_t)at.end * sizeof *table)) == NULL)
        status = DCL_ERR_NOMEM;
    if (status == DCL_OK) {
        fill_head(body, lowered, launch, table);
        fill_table(body, launch, &shapes, &at, table);
        *table_out = table;
        *bytes_out = (size_t)at.end * sizeof *table;
    }
    dcli_free(shapes.shape);
    dcli_free(shapes.of);
    return status;
}
