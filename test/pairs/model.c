/* pairs/model.c - see model.h. */
#include "pairs/model.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char test_wrong[1024];

bool test_failed(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    if (test_wrong[0] == '\0')
        vsnprintf(test_wrong, sizeof test_wrong, format, list);
    va_end(list);
    return false;
}

bool test_done(const char *call, dcl_status status)
{
    return status == DCL_OK || test_failed("%s: %s: %s", call, dcl_status_name(status), dcl_error());
}

int64_t test_between(uint64_t *random, int64_t low, int64_t high)
{
    uint64_t z = *random += 0x9E3779B97F4A7C15;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return low + (int64_t)((z ^ (z >> 31)) % (uint64_t)(high - low + 1));
}

void test_index(const dcl_grid *grid, int64_t e, int64_t index_out[])
{
    for (int d = grid->rank - 1; d >= 0; d--) {
        index_out[d] = grid->origin[d] + e % grid->extent[d];
        e /= grid->extent[d];
    }
}

int64_t test_element(const dcl_grid *grid, const int64_t index[])
{
    int64_t e = 0;
    for (int d = 0; d < grid->rank; d++) {
        int64_t x = index[d] - grid->origin[d];
        if (x < 0 || x >= grid->extent[d])
            return -1;
        e = e * grid->extent[d] + x;
    }
    return e;
}

/* ---- arrays ------------------------------------------------------------------------------------------------------- */

bool test_model_make(test_model *model, const char *name, const dcl_grid *grid, const dcl_map *map, int64_t fill_value)
{
    *model = (test_model){.name = name, .grid = *grid, .total = dcl_grid_count(grid), .fill_value = fill_value};
    model->value = calloc((size_t)model->total + 1, sizeof *model->value);
    model->owner = calloc((size_t)model->total + 1, sizeof *model->owner);
    model->array = dcl_agile(*grid, (dcl_map *)map);
    model->copied = test_keeps_copies(map, grid);
    if (model->array == NULL)
        return test_failed("array %s: %s", name, dcl_error());
    for (int64_t e = 0; e < model->total; e++) {
        int64_t index[DCL_MAX_RANK], offset;
        test_index(grid, e, index);
        if (!test_done("dcl_map_locate", dcl_map_locate(map, grid, index, &model->owner[e], &offset)))
            return false;
        model->value[e] = model->owner[e] < 0 ? fill_value : 0;
    }
    return true;
}

bool test_is_partial(const test_model *model)
{
    bool partial = false;
    for (int64_t e = 0; e < model->total; e++)
        partial |= model->owner[e] < 0;
    return partial;
}

void test_model_end(test_model *model)
{
    dcl_release(model->array);
    free(model->value);
    free(model->owner);
    *model = (test_model){0};
}

bool test_is_replicated(const dcl_map *map)
{
    static const char word[] = "replicated";
    char text[sizeof word];
    dcl_map_print(map, text, sizeof text);
    return strcmp(text, word) == 0;
}

bool test_keeps_copies(const dcl_map *map, const dcl_grid *grid)
{
    dcl_map_properties properties = {.copies = 0};
    return dcl_map_describe(map, grid, &properties) == DCL_OK && (properties.copies > 0 || properties.halo);
}

/* ---- elements of any type ----------------------------------------------------------------------------------------- */

static void put(dcl_type type, void *at, int64_t value)
{
    switch (type) {
    case DCL_INT16:
        *(int16_t *)at = (int16_t)value;
        break;
    case DCL_INT32:
        *(int32_t *)at = (int32_t)value;
        break;
    case DCL_FLOAT:
        *(float *)at = (float)value;
        break;
    default:
        *(double *)at = (double)value;
    }
}

/* As a floating-point number: what a wrong element holds may be anything. */
static double get(dcl_type type, const void *at)
{
    switch (type) {
    case DCL_INT16:
        return *(const int16_t *)at;
    case DCL_INT32:
        return *(const int32_t *)at;
    case DCL_FLOAT:
        return *(const float *)at;
    default:
        return *(const double *)at;
    }
}

static bool compare_element(const test_model *model, const char *where, int64_t e, const void *at)
{
    double found = get(model->grid.type, at);
    if (found == (double)model->value[e])
        return true;
    int64_t index[DCL_MAX_RANK];
    char text[200] = "";
    test_index(&model->grid, e, index);
    for (int d = 0; d < model->grid.rank; d++)
        sprintf(text + strlen(text), "%s%" PRId64, d > 0 ? "," : "", index[d]);
    return test_failed("%s: %s(%s) of node %d is %g; expected %" PRId64, where, model->name, text, model->owner[e],
                       found, model->value[e]);
}

/* ---- boxes -------------------------------------------------------------------------------------------------------- */

dcl_box test_random_box(const dcl_grid *grid, uint64_t *random)
{
    dcl_box box = {.rank = grid->rank};
    for (int d = 0; d < box.rank; d++) {
        int64_t extent = grid->extent[d], offset = test_between(random, 0, extent - 1);
        box.start[d] = grid->origin[d] + offset;
        box.stride[d] = test_between(random, 0, 2) == 0 ? test_between(random, 1, 4) : 1;
        box.count[d] = test_between(random, 1, (extent - 1 - offset) / box.stride[d] + 1);
    }
    return box;
}

bool test_box_has(const dcl_box *box, const int64_t index[])
{
    for (int d = 0; d < box->rank; d++) {
        int64_t steps = index[d] - box->start[d];
        if (steps < 0 || steps % box->stride[d] != 0 || steps / box->stride[d] >= box->count[d])
            return false;
    }
    return true;
}

/* Host memory for a box: element t of axis d lies t * stride[d] elements behind `first`. */
struct memory {
    char *bytes;
    size_t size, element;
    int64_t first, stride[DCL_MAX_RANK];
};

static struct memory memory_of(dcl_type type, const dcl_box *box, int way)
{
    struct memory memory = {.element = dcl_type_bytes(type)};
    int64_t step = 1;
    for (int n = 0; n < box->rank; n++) {
        int d = way == 1 ? n : box->rank - 1 - n;
        memory.stride[d] = step;
        step *= box->count[d];
    }
    if (way == 2) {
        memory.first = (box->count[0] - 1) * memory.stride[0];
        memory.stride[0] = -memory.stride[0];
    }
    memory.size = (size_t)step * memory.element;
    memory.bytes = malloc(memory.size + 1);
    memset(memory.bytes, 0x55, memory.size + 1);
    return memory;
}

/* Where the next element of a box lies in memory, and which of the grid's it is; false after the last. */
static bool next_in_box(const test_model *model, const dcl_box *box, const struct memory *memory, int64_t at[],
                        int64_t *e_out, char **place_out)
{
    int64_t index[DCL_MAX_RANK], place = memory->first;
    if (at[0] >= box->count[0])
        return false;
    for (int d = 0; d < box->rank; d++) {
        index[d] = box->start[d] + at[d] * box->stride[d];
        place += at[d] * memory->stride[d];
    }
    *e_out = test_element(&model->grid, index);
    *place_out = memory->bytes + place * (int64_t)memory->element;
    for (int d = box->rank - 1; d >= 0 && ++at[d] >= box->count[d] && d > 0; d--)
        at[d] = 0;
    return true;
}

/* Put new values into memory for a box. @return whether all of them are stored somewhere */
static bool draw_values(const test_model *model, const dcl_box *box, const struct memory *memory, uint64_t *random)
{
    int64_t at[DCL_MAX_RANK] = {0}, e;
    bool stored = true;
    for (char *place; next_in_box(model, box, memory, at, &e, &place);) {
        put(model->grid.type, place, test_between(random, -99, 99));
        stored &= model->owner[e] >= 0;
    }
    return stored;
}

static void take_values(test_model *model, const dcl_box *box, const struct memory *memory)
{
    int64_t at[DCL_MAX_RANK] = {0}, e;
    for (char *place; next_in_box(model, box, memory, at, &e, &place);)
        model->value[e] = (int64_t)get(model->grid.type, place);
}

/* A write that has to be refused changes nothing. */
static bool check_refusal(test_model *model, dcl_status status)
{
    if (status != DCL_ERR_RANGE)
        return test_failed("%s was written where nothing is stored: %s", model->name, dcl_status_name(status));
    dcl_clear_error(dcl_cluster_of(model->array));
    return true;
}

static bool write_box(test_model *model, const dcl_box *box, bool packed, uint64_t *random)
{
    struct memory memory = memory_of(model->grid.type, box, packed ? 0 : (int)test_between(random, 0, 2));
    bool stored = draw_values(model, box, &memory, random);
    if (stored)
        take_values(model, box, &memory);
    dcl_status status = dcl_write(model->array, packed ? NULL : box,
                                  memory.bytes + memory.first * (int64_t)memory.element, packed ? NULL : memory.stride);
    memset(memory.bytes, 0x55, memory.size); /* may change now */
    free(memory.bytes);
    return stored ? test_done("dcl_write", status) : check_refusal(model, status);
}

struct walk {
    test_model *model;
    uint64_t *random;
};

static dcl_status write_stored(void *user, const dcl_box *box)
{
    struct walk *walk = user;
    return write_box(walk->model, box, false, walk->random) ? DCL_OK : DCL_ERR_INTERNAL;
}

bool test_write(test_model *model, const dcl_box *box, uint64_t *random)
{
    dcl_box all = dcl_box_of(&model->grid);
    if (box != NULL || !test_is_partial(model))
        return write_box(model, box != NULL ? box : &all, box == NULL, random);
    bool good = write_box(model, &all, true, random);
    const dcl_map *map = dcl_map_of(model->array);
    struct walk walk = {model, random};
    for (int place = 0; good && place < dcl_map_node_count(map); place++)
        good = dcl_map_boxes(map, &model->grid, dcl_map_node(map, place), write_stored, &walk) == DCL_OK ||
               test_failed("dcl_map_boxes: %s", dcl_error());
    return good;
}

bool test_compare(const test_model *model, const dcl_box *box, uint64_t *random)
{
    dcl_box all = dcl_box_of(&model->grid);
    struct memory memory =
        memory_of(model->grid.type, box != NULL ? box : &all, box != NULL ? (int)test_between(random, 0, 2) : 0);
    bool good = test_done("dcl_read", dcl_read(model->array, box, memory.bytes + memory.first * (int64_t)memory.element,
                                               box != NULL ? memory.stride : NULL));
    int64_t at[DCL_MAX_RANK] = {0}, e;
    for (char *place; good && next_in_box(model, box != NULL ? box : &all, &memory, at, &e, &place);)
        good = compare_element(model, "read", e, place);
    free(memory.bytes);
    return good;
}

bool test_fill(test_model *model, int64_t value)
{
    char element[16];
    put(model->grid.type, element, value);
    for (int64_t e = 0; e < model->total; e++)
        if (model->owner[e] >= 0)
            model->value[e] = value;
    return test_done("dcl_fill", dcl_fill(model->array, element));
}

/* ---- files -------------------------------------------------------------------------------------------------------- */

bool test_save(const test_model *model, const char *path)
{
    if (!test_done("dcl_save_npy", dcl_save_npy(model->array, path)))
        return false;
    size_t element = dcl_type_bytes(model->grid.type), size = (size_t)model->total * element;
    char *bytes = malloc(size);
    FILE *file = fopen(path, "rb");
    bool good = file != NULL && fseek(file, -(long)size, SEEK_END) == 0 && fread(bytes, 1, size, file) == size;
    if (!good)
        test_failed("%s does not hold %zu bytes", path, size);
    for (int64_t e = 0; good && e < model->total; e++)
        good = compare_element(model, "file", e, bytes + (size_t)e * element);
    if (file != NULL)
        fclose(file);
    free(bytes);
    return good;
}

bool test_load(test_model *model, const test_model *from, const char *path)
{
    for (int64_t e = 0; e < model->total; e++)
        if (model->owner[e] >= 0)
            model->value[e] = from->value[e];
    return test_done("dcl_load_npy", dcl_load_npy(model->array, path));
}
