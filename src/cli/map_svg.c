/* cli/map_svg.c - compose the picture of a map: title, planes, legend and notes. */
#include "cli/map_svg.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "cli/drawing.h"
#include "cli/palette.h"
#include "cli/report.h"
#include "cli/shape.h"

enum { LEFT = 16, TOP = 16, MOST_NODES = 16, MOST_TITLE = 100, COLUMN = 215 };

static const char ink[] = "#222222";
static const cli_font title_font = {15, ink, true, true, CLI_LEFT};
static const cli_font text_font = {12, ink, false, false, CLI_LEFT};
static const cli_font note_font = {12, "#555555", false, false, CLI_LEFT};

/* Limits on the number of cells; if there are more planes, they are smaller. */
static cli_limits limits_for(int rank)
{
    if (rank == 1)
        return (cli_limits){.rows = 1, .columns = 96, .across = 32, .planes = 12};
    if (rank == 2)
        return (cli_limits){.rows = 64, .columns = 64, .planes = 1};
    return (cli_limits){.rows = 32, .columns = 32, .planes = 8};
}

static double draw_title(cli_svg *svg, const char *title, const dcl_map *map, const dcl_grid *grid)
{
    char shape[CLI_SHAPE_BYTES];
    int nodes = dcl_map_node_count(map);
    bool longer = snprintf(NULL, 0, "%s", title) > MOST_TITLE;
    cli_svg_textf(svg, LEFT, TOP + 12, &title_font, "%.*s%s", MOST_TITLE, title, longer ? " ..." : "");
    cli_svg_textf(svg, LEFT, TOP + 31, &text_font, "%s elements over %d node%s", cli_shape_print(grid, shape), nodes,
                  nodes == 1 ? "" : "s");
    return TOP + 44;
}

/* ---- legend ---- */

static void draw_node(cli_svg *svg, const cli_survey *survey, int n, double all, double left, double top)
{
    cli_draw_swatch(svg, left, top, survey->node[n]);
    if (survey->complete)
        cli_svg_textf(svg, left + 30, top + 12, &text_font, "%" PRId64 " element%s, %.1f %%", survey->owned[n],
                      survey->owned[n] == 1 ? "" : "s", 100 * (double)survey->owned[n] / all);
    else
        cli_svg_textf(svg, left + 30, top + 12, &text_font, "room for %" PRId64, survey->storage[n]);
}

static bool has_holes(const cli_sheet *sheet)
{
    for (int p = 0; p < sheet->planes; p++) {
        const cli_plane *plane = &sheet->plane[p];
        for (int64_t c = 0; c < plane->rows * plane->columns; c++)
            if (plane->cell[c].node < 0)
                return true;
    }
    return false;
}

/* Draw the legend of nodes. @param columns  number of columns for the list. @return y of its lower edge. */
static double draw_legend(cli_svg *svg, const cli_survey *survey, const cli_sheet *sheet, double left, double top,
                          int columns)
{
    cli_font font = text_font;
    font.bold = true;
    cli_svg_text(svg, left, top + 12, &font, "owner");
    top += 20;
    double all = (double)dcl_grid_count(sheet->grid);
    int shown = survey->nodes <= MOST_NODES + 1 ? survey->nodes : MOST_NODES;
    int rows = (shown - 1) / columns + 1;
    for (int n = 0; n < shown; n++)
        draw_node(svg, survey, n, all, left + n / rows * COLUMN, top + n % rows * 20);
    top += rows * 20;
    if (shown < survey->nodes) {
        cli_svg_textf(svg, left, top + 12, &note_font, "and %d more nodes", survey->nodes - shown);
        top += 20;
    }
    if (has_holes(sheet)) {
        cli_draw_swatch(svg, left, top, -1);
        cli_svg_text(svg, left + 30, top + 12, &text_font, "stored nowhere");
        top += 20;
    }
    return cli_draw_line_legend(svg, sheet, left, top + 8).bottom;
}

/* ---- notes below the picture ---- */

struct notes {
    cli_svg *svg;
    double top;
};

__attribute__((format(printf, 2, 3))) static void note(struct notes *notes, const char *format, ...)
{
    char text[256];
    va_list values;
    va_start(values, format);
    vsnprintf(text, sizeof text, format, values);
    va_end(values);
    cli_svg_text(notes->svg, LEFT, notes->top + 12, &note_font, text);
    notes->top += 17;
}

static void note_scale(struct notes *notes, const cli_sheet *sheet)
{
    const cli_scale *rows = &sheet->rows, *columns = &sheet->columns;
    if (sheet->grid->rank == 1 && columns->step > 1)
        note(notes, "1 cell = %" PRId64 " elements; it has the colour of the first one's owner.", columns->step);
    else if (rows->step > 1 || columns->step > 1)
        note(notes, "1 cell = %" PRId64 " x %" PRId64 " elements; it has the colour of the first one's owner.",
             rows->step, columns->step);
    if (sheet->grid->rank == 1 && columns->cropped && columns->step > 1)
        note(notes, "Only the first %" PRId64 " elements are drawn: the pattern is finer than a cell of all would be.",
             columns->cells * columns->step);
    else if (sheet->grid->rank > 1 && (rows->cropped || columns->cropped))
        note(notes,
             "Only the first %" PRId64 " x %" PRId64 " elements are drawn: the pattern is finer than a cell of all "
             "would be.",
             rows->cropped ? rows->cells * rows->step : rows->extent,
             columns->cropped ? columns->cells * columns->step : columns->extent);
}

static void write_notes(struct notes *notes, const cli_sheet *sheet, const cli_survey *survey)
{
    note_scale(notes, sheet);
    if (sheet->planes < sheet->all_planes && sheet->grid->rank > 1)
        note(notes, "%d of %" PRId64 " planes are drawn.", sheet->planes, sheet->all_planes);
    if (!sheet->tiles_known)
        note(notes, "There are more tiles than can be drawn.");
    if (survey->largest >= CLI_COLOURS)
        note(notes, "Colours come again every %d nodes.", CLI_COLOURS);
}

/* ---- the whole ---- */

static void draw(cli_svg *svg, const char *title, const dcl_map *map, const cli_survey *survey, const cli_sheet *sheet)
{
    double top = draw_title(svg, title, map, sheet->grid);
    int rank = sheet->grid->rank;
    double size = rank == 1 ? 768 : rank == 2 ? 420 : 224, room = rank == 2 ? size + 60 : 800;
    cli_area area = cli_draw_sheet(svg, sheet, LEFT, top, size, room);
    double bottom;
    if (rank == 1 || area.right > 560)
        bottom = draw_legend(svg, survey, sheet, LEFT + 22, area.bottom + 12, survey->nodes > 4 ? 4 : 1);
    else
        bottom = draw_legend(svg, survey, sheet, area.right + 28, top + 4, 1);
    struct notes notes = {svg, (bottom > area.bottom ? bottom : area.bottom) + 8};
    write_notes(&notes, sheet, survey);
}

int cli_map_svg(const char *title, const dcl_map *map, const dcl_grid *grid, const cli_survey *survey, const char *path)
{
    cli_limits limits = limits_for(grid->rank);
    cli_sheet sheet;
    int status = cli_sheet_make(map, grid, survey, &limits, &sheet);
    if (status != CLI_OK)
        return status;
    char name[512];
    snprintf(name, sizeof name, "Owners of a grid laid out by %s", title);
    cli_svg svg;
    cli_svg_begin(&svg);
    draw(&svg, title, map, survey, &sheet);
    cli_sheet_free(&sheet);
    return cli_svg_end(&svg, name, path);
}
