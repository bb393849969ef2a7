/* cli/sheet.c - choose the planes and cells of a picture, and ask the map about each cell. */
#include "cli/sheet.h"

#include <stdlib.h>

#include "cli/report.h"

enum { MOST_TILE_BOXES = 200000 };

/* ---- choice of planes ---- */

static int column_axis(const dcl_grid *grid) { return grid->rank - 1; }

/* Plan a grid of rank 1: stretches of the line; a very long line is scaled to one stretch. */
static void plan_line(cli_sheet *sheet, const cli_survey *survey, const cli_limits *limits)
{
    int64_t extent = sheet->grid->extent[0];
    sheet->rows = (cli_scale){.extent = 1, .step = 1, .cells = 1};
    sheet->columns = (cli_scale){.extent = extent, .step = 1, .cells = extent};
    if (extent > limits->across * limits->planes)
        sheet->columns = cli_scale_make(extent, limits->columns, survey->border[0], survey->longest[0]);
    else if (extent > limits->across)
        sheet->columns.cells = limits->across;
    sheet->all_planes = sheet->columns.step > 1 ? 1 : (extent - 1) / sheet->columns.cells + 1;
}

static void plan_planes(cli_sheet *sheet, const cli_survey *survey, const cli_limits *limits)
{
    const dcl_grid *grid = sheet->grid;
    int row = grid->rank - 2, column = grid->rank - 1;
    sheet->rows = cli_scale_make(grid->extent[row], limits->rows, survey->border[row], survey->longest[row]);
    sheet->columns =
        cli_scale_make(grid->extent[column], limits->columns, survey->border[column], survey->longest[column]);
    sheet->all_planes = 1;
    for (int d = 0; d < row; d++) {
        sheet->depth[d] = survey->grain[d];
        sheet->all_planes *= (grid->extent[d] - 1) / survey->grain[d] + 1;
    }
}

/* Set the first index of plane number p; planes are counted row-major. */
static void place_plane(const cli_sheet *sheet, int64_t p, cli_plane *plane)
{
    const dcl_grid *grid = sheet->grid;
    plane->rows = sheet->rows.cells;
    plane->columns = sheet->columns.cells;
    if (grid->rank == 1) {
        plane->index[0] = p * sheet->columns.cells;
        int64_t rest = (grid->extent[0] - plane->index[0] - 1) / sheet->columns.step + 1;
        plane->columns = rest < plane->columns ? rest : plane->columns;
    }
    for (int d = grid->rank - 3; d >= 0; d--) {
        int64_t count = (grid->extent[d] - 1) / sheet->depth[d] + 1;
        plane->index[d] = p % count * sheet->depth[d];
        p /= count;
    }
}

/* ---- cells ---- */

static int fill_cells(const cli_sheet *sheet, const dcl_map *map, const cli_plane *plane)
{
    const dcl_grid *grid = sheet->grid;
    int64_t index[DCL_MAX_RANK], offset;
    for (int d = 0; d < grid->rank; d++)
        index[d] = plane->index[d];
    for (int64_t c = 0; c < plane->rows * plane->columns; c++) {
        cli_cell *cell = &plane->cell[c];
        if (grid->rank > 1)
            index[grid->rank - 2] = c / plane->columns * sheet->rows.step;
        int column = column_axis(grid);
        index[column] = plane->index[column] + c % plane->columns * sheet->columns.step;
        if (dcl_map_locate(map, grid, index, &cell->node, &offset) != DCL_OK ||
            dcl_map_grains(map, grid, index, &cell->segment, &cell->block) != DCL_OK)
            return cli_library_failed();
        cell->tile = -1;
    }
    return CLI_OK;
}

/* ---- tiles ---- */

struct painting {
    cli_sheet *sheet;
    int64_t boxes;
};

/* Whether index x of an axis lies in a box. */
static bool holds(const dcl_box *box, int d, int64_t x)
{
    int64_t from = x - box->start[d];
    return from >= 0 && from % box->stride[d] == 0 && from / box->stride[d] < box->count[d];
}

/* The range of cells of an axis that a box covers: the first cell inside, and the first one beyond. */
static void cells_of(const dcl_box *box, int d, int64_t first, int64_t step, int64_t cells, int64_t *from_out,
                     int64_t *end_out)
{
    int64_t begin = box->start[d] - first, last = begin + (box->count[d] - 1) * box->stride[d];
    *from_out = begin <= 0 ? 0 : (begin - 1) / step + 1;
    *end_out = last < 0 ? 0 : last / step + 1;
    *end_out = *end_out < cells ? *end_out : cells;
}

static void paint_plane(const cli_sheet *sheet, const cli_plane *plane, int64_t tile, const dcl_box *box)
{
    for (int d = 0; d < box->rank - 2; d++)
        if (!holds(box, d, plane->index[d]))
            return;
    int row_axis = box->rank - 2, axis = box->rank - 1;
    int64_t row = 0, row_end = 1, from, end;
    if (box->rank > 1)
        cells_of(box, row_axis, plane->index[row_axis], sheet->rows.step, plane->rows, &row, &row_end);
    cells_of(box, axis, plane->index[axis], sheet->columns.step, plane->columns, &from, &end);
    for (; row < row_end; row++) {
        if (box->rank > 1 && !holds(box, row_axis, plane->index[row_axis] + row * sheet->rows.step))
            continue;
        for (int64_t column = from; column < end; column++)
            if (holds(box, axis, plane->index[axis] + column * sheet->columns.step))
                plane->cell[row * plane->columns + column].tile = tile;
    }
}

static dcl_status paint(void *user, const dcl_tile *tile)
{
    struct painting *painting = user;
    cli_sheet *sheet = painting->sheet;
    painting->boxes += tile->box_count;
    if (painting->boxes > MOST_TILE_BOXES)
        return DCL_ERR_TIMEOUT;
    for (int64_t b = 0; b < tile->box_count; b++)
        for (int p = 0; p < sheet->planes; p++)
            paint_plane(sheet, &sheet->plane[p], tile->number, &tile->box[b]);
    if (tile->number > 0)
        sheet->one_tile = false;
    return DCL_OK;
}

/* Flags by node number: which nodes own a cell. The caller frees them. */
static bool *seen_nodes(const cli_sheet *sheet, const cli_survey *survey)
{
    bool *seen = cli_alloc((size_t)survey->largest + 1, sizeof *seen);
    for (int p = 0; p < sheet->planes; p++) {
        const cli_plane *plane = &sheet->plane[p];
        for (int64_t c = 0; c < plane->rows * plane->columns; c++)
            if (plane->cell[c].node >= 0)
                seen[plane->cell[c].node] = true;
    }
    return seen;
}

static int paint_tiles(cli_sheet *sheet, const dcl_map *map, const cli_survey *survey)
{
    struct painting painting = {.sheet = sheet};
    bool *seen = seen_nodes(sheet, survey);
    int status = CLI_OK;
    sheet->one_tile = sheet->tiles_known = true;
    for (int n = 0; n < survey->nodes && sheet->tiles_known && status == CLI_OK; n++) {
        int node = survey->node[n];
        if (!seen[node] || dcl_map_tiles(map, sheet->grid, node, paint, &painting) == DCL_OK)
            continue;
        sheet->tiles_known = false;
        if (painting.boxes <= MOST_TILE_BOXES)
            status = cli_library_failed();
    }
    free(seen);
    return status;
}

/* ---- lines ---- */

/* Counts of neighbouring cells along one axis that are in different tiles, in different blocks, in different blocks of
 * one segment, ... */
struct tally {
    int64_t pairs, tiles, segments, blocks, inner_blocks;
};

static void count_pair(struct tally *tally, const cli_cell *a, const cli_cell *b)
{
    bool apart = a->node != b->node;
    tally->pairs++;
    tally->tiles += apart || a->tile != b->tile;
    tally->segments += apart || a->segment != b->segment;
    tally->blocks += apart || a->block != b->block;
    tally->inner_blocks += !apart && a->segment == b->segment && a->block != b->block;
}

static void count_pairs(const cli_sheet *sheet, struct tally *down, struct tally *across)
{
    for (int p = 0; p < sheet->planes; p++) {
        const cli_plane *plane = &sheet->plane[p];
        for (int64_t c = 0; c < plane->rows * plane->columns; c++) {
            const cli_cell *cell = &plane->cell[c];
            if (c % plane->columns + 1 < plane->columns)
                count_pair(across, cell, cell + 1);
            if (c / plane->columns + 1 < plane->rows)
                count_pair(down, cell, cell + plane->columns);
        }
    }
}

/* Whether drawing this many lines along an axis is useful: if cells stand for several elements, lines between nearly
 * all cells would only show that there are more lines than can be drawn. */
static bool is_telling(const cli_scale *scale, int64_t edges, const struct tally *tally)
{
    return scale->step == 1 || 2 * edges < tally->pairs;
}

static void choose_lines(cli_sheet *sheet)
{
    const cli_scale *rows = &sheet->rows, *columns = &sheet->columns;
    struct tally down = {0}, across = {0};
    count_pairs(sheet, &down, &across);
    sheet->shown[CLI_EDGE_TILE] = sheet->tiles_known && !sheet->one_tile && is_telling(rows, down.tiles, &down) &&
                                  is_telling(columns, across.tiles, &across);
    sheet->shown[CLI_EDGE_SEGMENT] =
        is_telling(rows, down.segments, &down) && is_telling(columns, across.segments, &across);
    sheet->shown[CLI_EDGE_BLOCK] = down.inner_blocks + across.inner_blocks > 0 &&
                                   is_telling(rows, down.blocks, &down) && is_telling(columns, across.blocks, &across);
}

static void note_edges(cli_sheet *sheet)
{
    for (int p = 0; p < sheet->planes; p++) {
        const cli_plane *plane = &sheet->plane[p];
        for (int64_t c = 0; c < plane->rows * plane->columns; c++) {
            const cli_cell *cell = &plane->cell[c];
            if (c % plane->columns + 1 < plane->columns)
                sheet->seen[cli_edge_between(sheet, cell, cell + 1)] = true;
            if (c / plane->columns + 1 < plane->rows)
                sheet->seen[cli_edge_between(sheet, cell, cell + plane->columns)] = true;
        }
    }
}

cli_edge cli_edge_between(const cli_sheet *sheet, const cli_cell *a, const cli_cell *b)
{
    bool apart = a->node != b->node;
    if (sheet->shown[CLI_EDGE_TILE] && (apart || a->tile != b->tile))
        return CLI_EDGE_TILE;
    if (sheet->shown[CLI_EDGE_SEGMENT] && (apart || a->segment != b->segment))
        return CLI_EDGE_SEGMENT;
    return sheet->shown[CLI_EDGE_BLOCK] && (apart || a->block != b->block) ? CLI_EDGE_BLOCK : CLI_EDGE_NONE;
}

int cli_sheet_make(const dcl_map *map, const dcl_grid *grid, const cli_survey *survey, const cli_limits *limits,
                   cli_sheet *sheet_out)
{
    cli_sheet *sheet = sheet_out;
    *sheet = (cli_sheet){.grid = grid};
    if (grid->rank == 1)
        plan_line(sheet, survey, limits);
    else
        plan_planes(sheet, survey, limits);
    sheet->planes = sheet->all_planes < limits->planes ? (int)sheet->all_planes : limits->planes;
    int status = CLI_OK;
    for (int p = 0; p < sheet->planes && status == CLI_OK; p++) {
        cli_plane *plane = &sheet->plane[p];
        place_plane(sheet, p, plane);
        plane->cell = cli_alloc((size_t)(plane->rows * plane->columns), sizeof *plane->cell);
        status = fill_cells(sheet, map, plane);
    }
    if (status == CLI_OK)
        status = paint_tiles(sheet, map, survey);
    if (status != CLI_OK) {
        cli_sheet_free(sheet);
        return status;
    }
    choose_lines(sheet);
    note_edges(sheet);
    return CLI_OK;
}

void cli_sheet_free(cli_sheet *sheet)
{
    for (int p = 0; p < sheet->planes; p++)
        free(sheet->plane[p].cell);
    *sheet = (cli_sheet){0};
}
