/* golden/draw_case.c - draws a case from its number. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "golden/scene.h"

const golden_settings golden_setting[] = {
    {1, "auto", 0, 0, 0, 0},       {1, "auto", 256, 0, 0, 512},     {2, "auto", 0, 0, 0, 0},
    {2, "send", 0, 0, 0, 0},       {2, "send", 256, 128, 32768, 0}, {3, "auto", 0, 0, 0, 0},
    {3, "send", 0, 0, 0, 0},       {3, "auto", 256, 0, 0, 512},     {3, "send", 2048, 512, 262144, 1024},
    {4, "auto", 0, 0, 0, 0},       {4, "send", 0, 0, 0, 0},         {4, "send", 256, 128, 32768, 0},
    {4, "place", 1024, 0, 0, 512},
};
const int golden_setting_count = (int)(sizeof golden_setting / sizeof golden_setting[0]);

#define ONE_OF(random, ...) golden_one_of((random), (const int64_t[]){__VA_ARGS__, -1})

uint64_t golden_hash(uint64_t hash, const void *bytes, size_t count)
{
    const unsigned char *at = bytes;
    for (size_t n = 0; n < count; n++)
        hash = (hash ^ at[n]) * 0x100000001B3;
    return hash;
}

/* ---- grids -------------------------------------------------------------------------------------------------------- */

static int64_t draw_extent(uint64_t *random, int rank)
{
    switch (rank) {
    case 1:
        return golden_chance(random, 30) ? golden_between(random, 1, 1009)
                                         : ONE_OF(random, 1, 2, 3, 7, 13, 61, 127, 1009);
    case 2:
        return golden_chance(random, 30) ? golden_between(random, 1, 37)
                                         : ONE_OF(random, 2, 3, 5, 7, 11, 13, 17, 31, 37);
    case 3:
        return golden_chance(random, 30) ? golden_between(random, 1, 11) : ONE_OF(random, 1, 2, 3, 5, 7, 11);
    default:
        return golden_between(random, 1, 5);
    }
}

/* How many values each index takes. @return whether these are many elements */
static bool draw_extents(uint64_t *random, const golden_body *body, int64_t extent[])
{
    int64_t kind = golden_between(random, 0, 99);
    bool large = kind < 6 && body->rank < 3 && body->most == 0;
    for (int d = 0; d < body->rank; d++) {
        extent[d] = draw_extent(random, body->rank);
        if (large)
            extent[d] = body->rank == 1 ? ONE_OF(random, 4099, 20011) : ONE_OF(random, 61, 101, 150, 257);
        if (body->most > 0 && extent[d] > body->most)
            extent[d] = body->most;
    }
    int axis = (int)golden_between(random, 0, body->rank - 1);
    if (kind >= 6 && kind < 14)
        extent[axis] = 1;
    else if (kind >= 14 && kind < 17)
        extent[axis] = 0;
    else if (kind >= 17 && kind < 21 && body->rank == 2 &&
             body->most == 0) { /* rows that have to be padded, or nearly */
        extent[0] = golden_between(random, 1, 3);
        extent[1] = ONE_OF(random, 508, 512, 1022, 1024, 1026, 2048, 4096);
        return true;
    }
    return large;
}

/* Extents of an operand; the origin of an axis is that of the index it is named after. */
static void find_grid(const golden_operand *operand, const int64_t extent[], const int64_t origin[], int64_t k,
                      dcl_grid *out)
{
    *out = (dcl_grid){.type = operand->type, .rank = operand->rank};
    for (int d = 0; d < operand->rank; d++) {
        char *at;
        int64_t times = strtoll(operand->axis[d], &at, 10);
        if (*at == 'K')
            out->extent[d] = k;
        else if (*at == '\0')
            out->extent[d] = times;
        else {
            out->extent[d] =
                (times > 0 ? times : 1) * extent[*at - 'i'] + (at[1] == '+' ? strtoll(at + 2, NULL, 10) : 0);
            out->origin[d] = origin[*at - 'i'];
        }
    }
}

/* ---- views -------------------------------------------------------------------------------------------------------- */

static golden_view draw_view(uint64_t *random, const golden_operand *operand, const dcl_grid *grid)
{
    bool plain = operand->access != DCL_ACCESS_IN && operand->access != DCL_ACCESS_OUT &&
                 operand->access != DCL_ACCESS_INOUT && operand->access != DCL_ACCESS_MOVE;
    if (plain || dcl_grid_count(grid) == 0 || !golden_chance(random, 14))
        return GOLDEN_PLAIN;
    golden_view view = (golden_view)golden_between(random, GOLDEN_TRANSPOSED, GOLDEN_RESHAPED);
    if ((view == GOLDEN_TRANSPOSED || view == GOLDEN_BROADCAST) && grid->rank < 2)
        return GOLDEN_REVERSED;
    if (view == GOLDEN_TAKEN && grid->rank == 4)
        return GOLDEN_STRIDED;
    return view == GOLDEN_BROADCAST && operand->access != DCL_ACCESS_IN ? GOLDEN_TRANSPOSED : view;
}

static void find_base(golden_array *array)
{
    const dcl_grid *grid = &array->grid;
    dcl_grid *base = &array->base;
    int last = grid->rank - 1;
    *base = *grid;
    switch (array->view) {
    case GOLDEN_TRANSPOSED:
        for (int d = 0; d <= last; d++) {
            base->extent[d] = grid->extent[last - d];
            base->origin[d] = grid->origin[last - d];
        }
        break;
    case GOLDEN_STRIDED:
        for (int d = 0; d <= last; d++)
            base->extent[d] = 2 * grid->extent[d] + 1;
        break;
    case GOLDEN_TAKEN:
        base->rank++;
        for (int d = last; d >= 0; d--) {
            base->extent[d + 1] = grid->extent[d];
            base->origin[d + 1] = grid->origin[d];
        }
        base->extent[0] = 3;
        base->origin[0] = 0;
        break;
    case GOLDEN_BROADCAST:
        base->rank--;
        break;
    case GOLDEN_RESHAPED:
        base->rank = 1;
        base->extent[0] = dcl_grid_count(grid);
        base->origin[0] = 0;
        break;
    default:
        break;
    }
}

/* ---- all of it ---------------------------------------------------------------------------------------------------- */

static golden_script draw_script(uint64_t *random)
{
    int64_t draw = golden_between(random, 0, 99);
    return draw < 40   ? GOLDEN_ONCE
           : draw < 52 ? GOLDEN_BOX
           : draw < 64 ? GOLDEN_TWICE
           : draw < 72 ? GOLDEN_KEEP
           : draw < 80 ? GOLDEN_MOVE
           : draw < 90 ? GOLDEN_REMAP
                       : GOLDEN_COPY;
}

void golden_case_draw(int64_t number, golden_case *out)
{
    uint64_t random = (uint64_t)number * 0x2545F4914F6CDD1D + 11;
    golden_operand operand[GOLDEN_ARRAYS];
    int64_t extent[4], origin[4] = {0};
    *out = (golden_case){.number = number};
    out->body = &golden_bodies[number % golden_body_count];
    out->settings = &golden_setting[number / golden_body_count % golden_setting_count];
    out->script = draw_script(&random);
    bool large = draw_extents(&random, out->body, extent);
    if (out->body->shifts && golden_chance(&random, 25))
        for (int d = 0; d < out->body->rank; d++)
            origin[d] = ONE_OF(&random, 1, 5, 100, -7, -1000000000, 1000000000000);
    out->array_count = golden_operands(out->body, operand);
    for (int n = 0; n < out->array_count; n++) {
        golden_array *array = &out->array[n];
        array->operand = operand[n];
        find_grid(&operand[n], extent, origin, 1 + number % 9, &array->grid);
        array->view = draw_view(&random, &operand[n], &array->grid);
        find_base(array);
        golden_draw_map(&random, &array->base, out->settings->nodes, large, array->map);
    }
    out->random = random;
}

static void describe_grid(const dcl_grid *grid, char *text)
{
    golden_append(text, " %s", dcl_type_name(grid->type));
    for (int d = 0; d < grid->rank; d++)
        golden_append(text, "%s%" PRId64, d > 0 ? "x" : " ", grid->extent[d]);
    for (int d = 0; d < grid->rank && grid->origin[0] != 0; d++)
        golden_append(text, "%s%" PRId64, d > 0 ? "," : " from ", grid->origin[d]);
}

void golden_case_describe(const golden_case *scene, char text_out[4 * GOLDEN_TEXT])
{
    static const char *const scripts[] = {"once", "box", "twice", "keep", "move", "remap", "copy"};
    static const char *const views[] = {"",
                                        ", its transpose of",
                                        ", backwards of",
                                        ", every other one of",
                                        ", one plane of",
                                        ", repeated from",
                                        ", reshaped from"};
    const golden_settings *settings = scene->settings;
    char text[GOLDEN_TEXT] = "";
    golden_append(text, "%s", scene->body->text);
    golden_append(text, "\n  %s; %d nodes, move=%s tile=%zu chunk=%zu pool=%zu block=%zu\n", scripts[scene->script],
                  settings->nodes, settings->move, settings->tile, settings->chunk, settings->pool, settings->block);
    int length = snprintf(text_out, 4 * GOLDEN_TEXT, "%s", text);
    for (int n = 0; n < scene->array_count; n++) {
        const golden_array *array = &scene->array[n];
        text[0] = '\0';
        golden_append(text, "  %s", array->operand.name);
        describe_grid(&array->grid, text);
        golden_append(text, "%s", views[array->view]);
        if (array->view != GOLDEN_PLAIN)
            describe_grid(&array->base, text);
        golden_append(text, " [%s]\n", array->map[0] != '\0' ? array->map : "default map");
        length += snprintf(text_out + length, (size_t)(4 * GOLDEN_TEXT - length), "%s", text);
    }
}
