/* cli/drawing.c - draw cells as rectangles in their node's colour, with lines above them.
 * A plane is a group with its upper left corner at (0, 0). Attributes for programs: pixels per cell (data-cell),
 * elements per cell down and across (data-steps), index of its first element (data-first). Rectangles are as large as
 * node and segment allow, so that the file stays small. */
#include "cli/drawing.h"

#include <inttypes.h>
#include <stdlib.h>

#include "cli/amount.h"
#include "cli/palette.h"
#include "cli/report.h"

enum { LARGEST_CELL = 34, LEAST_CELL = 22, MOST_NUMBERED = 400, GAP = 22, LABEL = 11 };

static const double weights[CLI_EDGES] = {0, 0.7, 1.6, 3.2};
static const char line_colour[] = "#222222";
static const cli_font label_font = {LABEL, "#555555", false, false, CLI_LEFT};

/* ---- rectangles ---- */

/* The size of a cell, in pixels. */
struct size {
    int width, height;
};

struct cells {
    const cli_sheet *sheet;
    const cli_plane *plane;
    struct size size;
    bool *covered; /* [rows][columns] */
};

static const cli_cell *cell_at(const struct cells *cells, int64_t row, int64_t column)
{
    return &cells->plane->cell[row * cells->plane->columns + column];
}

/* Whether a cell may share a rectangle with another: they have the same node, and no line between them is heavier than
 * that of a block. */
static bool belongs(const struct cells *cells, const cli_cell *first, int64_t row, int64_t column)
{
    const cli_cell *cell = cell_at(cells, row, column);
    bool same = cell->node == first->node && cli_edge_between(cells->sheet, first, cell) <= CLI_EDGE_BLOCK;
    return same && !cells->covered[row * cells->plane->columns + column];
}

static void write_number(cli_svg *svg, double x, double y, double width, double height, int node)
{
    const cli_colour *colour = cli_node_colour(node);
    double size = height < width / cli_digits(node) ? height : width / cli_digits(node);
    cli_font font = {size > 24 ? 14 : size > 16 ? 12 : 9, colour->ink, false, false, CLI_MIDDLE};
    if (height < 11 || width < cli_svg_width(&font, (size_t)cli_digits(node)) + 2)
        return;
    if (node >= 0)
        cli_svg_textf(svg, x + width / 2, y + height / 2 + font.size * 0.36, &font, "%d", node);
}

/* A range of cells; ends are excluded. */
struct rectangle {
    int64_t top, left, bottom, right;
};

/* The rectangle that grows from a cell first to the right as far as possible, then down. */
static struct rectangle rectangle_from(struct cells *cells, int64_t row, int64_t column)
{
    const cli_plane *plane = cells->plane;
    const cli_cell *first = cell_at(cells, row, column);
    int64_t right = column, bottom = row;
    while (right < plane->columns && belongs(cells, first, row, right))
        right++;
    for (bool whole = true; whole; bottom += whole) {
        whole = bottom < plane->rows;
        for (int64_t c = column; c < right && whole; c++)
            whole = belongs(cells, first, bottom, c);
    }
    for (int64_t r = row; r < bottom; r++)
        for (int64_t c = column; c < right; c++)
            cells->covered[r * plane->columns + c] = true;
    return (struct rectangle){row, column, bottom, right};
}

static void write_rectangle(cli_svg *svg, const struct cells *cells, const struct rectangle *at)
{
    int64_t width = cells->size.width, height = cells->size.height;
    fprintf(svg->body,
            "<rect x=\"%" PRId64 "\" y=\"%" PRId64 "\" width=\"%" PRId64 "\" height=\"%" PRId64 "\" fill=\"%s\"/>\n",
            at->left * width, at->top * height, (at->right - at->left) * width, (at->bottom - at->top) * height,
            cli_node_colour(cell_at(cells, at->top, at->left)->node)->fill);
}

typedef void rectangle_fn(cli_svg *svg, const struct cells *cells, const struct rectangle *at);

static void visit_rectangles(cli_svg *svg, struct cells *cells, rectangle_fn *visit)
{
    const cli_plane *plane = cells->plane;
    cells->covered = cli_alloc((size_t)(plane->rows * plane->columns), sizeof *cells->covered);
    for (int64_t r = 0; r < plane->rows; r++)
        for (int64_t c = 0; c < plane->columns; c++)
            if (!cells->covered[r * plane->columns + c]) {
                struct rectangle at = rectangle_from(cells, r, c);
                visit(svg, cells, &at);
            }
    free(cells->covered);
}

/* Write node numbers: in every cell of a small picture, else one per rectangle. */
static void write_numbers(cli_svg *svg, const struct cells *cells, const struct rectangle *at)
{
    const cli_sheet *sheet = cells->sheet;
    int node = cell_at(cells, at->top, at->left)->node;
    double width = cells->size.width, height = cells->size.height;
    bool each = sheet->rows.step == 1 && sheet->columns.step == 1 && width >= 14 && height >= 14 &&
                cells->plane->rows * cells->plane->columns <= MOST_NUMBERED;
    if (!each)
        write_number(svg, (double)at->left * width, (double)at->top * height, (double)(at->right - at->left) * width,
                     (double)(at->bottom - at->top) * height, node);
    for (int64_t r = at->top; each && r < at->bottom; r++)
        for (int64_t c = at->left; c < at->right; c++)
            write_number(svg, (double)c * width, (double)r * height, width, height, node);
}

/* ---- lines ---- */

/* The line above a cell, or left of it. */
static cli_edge edge_before(const struct cells *cells, int64_t row, int64_t column, bool above)
{
    return cli_edge_between(cells->sheet, cell_at(cells, row, column),
                            above ? cell_at(cells, row - 1, column) : cell_at(cells, row, column - 1));
}

/* Merge adjacent lines of equal weight along a row or column into one stroke. */
static void write_strokes(cli_svg *svg, const struct cells *cells, cli_edge edge, bool across)
{
    const cli_plane *plane = cells->plane;
    int64_t lines = across ? plane->rows : plane->columns, length = across ? plane->columns : plane->rows;
    for (int64_t line = 1; line < lines; line++)
        for (int64_t from = 0, at = 0; at <= length; at++) {
            bool drawn = at < length && edge_before(cells, across ? line : at, across ? at : line, across) == edge;
            if (drawn)
                continue;
            int64_t width = cells->size.width, height = cells->size.height;
            if (at > from && across)
                fprintf(svg->body, "M%" PRId64 " %" PRId64 "h%" PRId64, from * width, line * height,
                        (at - from) * width);
            else if (at > from)
                fprintf(svg->body, "M%" PRId64 " %" PRId64 "v%" PRId64, line * width, from * height,
                        (at - from) * height);
            from = at + 1;
        }
}

/* Draw faint lines between cells that are single elements. */
static void write_element_lines(cli_svg *svg, const struct cells *cells)
{
    const cli_plane *plane = cells->plane;
    const struct size *size = &cells->size;
    if (cells->sheet->rows.step > 1 || cells->sheet->columns.step > 1 || size->width < 10 || size->height < 10)
        return;
    fputs("<path fill=\"none\" stroke=\"#ffffff\" stroke-opacity=\"0.6\" d=\"", svg->body);
    for (int64_t r = 1; r < plane->rows; r++)
        fprintf(svg->body, "M0 %" PRId64 "h%" PRId64, r * size->height, plane->columns * size->width);
    for (int64_t c = 1; c < plane->columns; c++)
        fprintf(svg->body, "M%" PRId64 " 0v%" PRId64, c * size->width, plane->rows * size->height);
    fputs("\"/>\n", svg->body);
}

static void write_lines(cli_svg *svg, const struct cells *cells)
{
    write_element_lines(svg, cells);
    cli_edge heaviest = CLI_EDGE_SEGMENT;
    for (cli_edge edge = CLI_EDGE_BLOCK; edge < CLI_EDGES; edge++) {
        if (!cells->sheet->seen[edge])
            continue;
        heaviest = edge > heaviest ? edge : heaviest;
        fprintf(svg->body, "<path fill=\"none\" stroke=\"%s\" stroke-width=\"%g\" d=\"", line_colour, weights[edge]);
        write_strokes(svg, cells, edge, true);
        write_strokes(svg, cells, edge, false);
        fputs("\"/>\n", svg->body);
    }
    fprintf(svg->body,
            "<rect width=\"%" PRId64 "\" height=\"%" PRId64 "\" fill=\"none\" stroke=\"%s\" stroke-width=\"%g\"/>\n",
            cells->plane->columns * cells->size.width, cells->plane->rows * cells->size.height, line_colour,
            weights[heaviest]);
}

/* ---- planes ---- */

static void write_plane(cli_svg *svg, const cli_sheet *sheet, const cli_plane *plane, double left, double top,
                        struct size size)
{
    struct cells cells = {.sheet = sheet, .plane = plane, .size = size};
    fprintf(svg->body, "<g transform=\"translate(%g %g)\" data-cell=\"%d %d\" data-steps=\"%" PRId64 " %" PRId64 "\"",
            left, top, size.width, size.height, sheet->rows.step, sheet->columns.step);
    for (int d = 0; d < sheet->grid->rank; d++)
        fprintf(svg->body, "%s%" PRId64, d == 0 ? " data-first=\"" : " ", plane->index[d]);
    fputs("\">\n", svg->body);
    visit_rectangles(svg, &cells, write_rectangle);
    write_lines(svg, &cells);
    visit_rectangles(svg, &cells, write_numbers);
    fputs("</g>\n", svg->body);
}

/* Label the columns: every one, or every 2nd, 4th, 8th, ... as far as there is room. */
static void label_columns(cli_svg *svg, const cli_sheet *sheet, const cli_plane *plane, double left, double top,
                          int width)
{
    cli_font font = label_font;
    font.anchor = CLI_MIDDLE;
    int64_t first = plane->index[sheet->grid->rank - 1], every = 1, last = first + sheet->columns.extent;
    while (cli_svg_width(&font, (size_t)cli_digits(last)) + 6 > (double)every * width)
        every *= 2;
    for (int64_t c = 0; c < plane->columns; c += every)
        cli_svg_textf(svg, left + ((double)c + 0.5) * width, top - 5, &font, "%" PRId64,
                      first + c * sheet->columns.step);
    if (sheet->columns.cropped)
        cli_svg_text(svg, left + (double)plane->columns * width + 5, top + 10, &label_font, "...");
}

static void label_rows(cli_svg *svg, const cli_sheet *sheet, const cli_plane *plane, double left, double top,
                       int height)
{
    cli_font font = label_font;
    font.anchor = CLI_RIGHT;
    int64_t every = 1;
    while (LABEL + 3 > every * height)
        every *= 2;
    double first = height < 11 ? 9.5 : height * 0.5 + 4; /* below the letters in the corner */
    for (int64_t r = 0; r < plane->rows; r += every)
        cli_svg_textf(svg, left - 6, top + (double)r * height + first, &font, "%" PRId64, r * sheet->rows.step);
    if (sheet->rows.cropped)
        cli_svg_text(svg, left, top + (double)plane->rows * height + 12, &label_font, "...");
}

/* Label a plane with its indices before the last two axes: "k = 0..3" or "i = 0, j = 0..1". */
static void label_plane(cli_svg *svg, const cli_sheet *sheet, const cli_plane *plane, double left, double top)
{
    char text[DCL_MAX_RANK * 48];
    size_t used = 0;
    for (int d = 0; d < sheet->grid->rank - 2; d++) {
        int64_t first = plane->index[d], last = first + sheet->depth[d] - 1;
        last = last < sheet->grid->extent[d] ? last : sheet->grid->extent[d] - 1;
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%c = %" PRId64, d > 0 ? ", " : "", "ijklmnop"[d],
                                 first);
        if (last > first)
            used += (size_t)snprintf(text + used, sizeof text - used, "..%" PRId64, last);
    }
    cli_font font = label_font;
    font.bold = true;
    font.fill = "#222222";
    cli_svg_text(svg, left, top, &font, text);
}

/* Size of a cell: square, but for few rows or columns higher or wider. */
static struct size size_of_cells(const cli_sheet *sheet, double size)
{
    int64_t rows = sheet->rows.cells, columns = sheet->columns.cells;
    int64_t most = sheet->grid->rank == 1 || columns > rows ? columns : rows;
    int square = (int)(size / (double)most);
    square = square > LARGEST_CELL ? LARGEST_CELL : square > 4 ? square : 4;
    int longer = 4 * square > LEAST_CELL ? LEAST_CELL : 4 * square;
    longer = longer > square ? longer : square;
    return (struct size){columns * 6 < rows ? longer : square, rows * 6 < columns ? longer : square};
}

static double row_label_width(const cli_sheet *sheet)
{
    int64_t last = sheet->grid->rank > 1 ? (sheet->rows.cells - 1) * sheet->rows.step : 0;
    return sheet->grid->rank > 1 ? cli_svg_width(&label_font, (size_t)cli_digits(last)) + 10 : 0;
}

/* Write the letters of the axes in the corner of a plane. */
static void label_corner(cli_svg *svg, const cli_sheet *sheet, double left, double top)
{
    int rank = sheet->grid->rank;
    cli_font font = label_font;
    font.anchor = CLI_RIGHT;
    font.bold = true;
    if (rank == 1)
        cli_svg_text(svg, left - 6, top - 5, &font, "i");
    else
        cli_svg_textf(svg, left - 6, top - 5, &font, "%c\\%c", "ijklmnop"[rank - 2], "ijklmnop"[rank - 1]);
}

cli_area cli_draw_sheet(cli_svg *svg, const cli_sheet *sheet, double left, double top, double size, double room)
{
    int rank = sheet->grid->rank;
    struct size cell = size_of_cells(sheet, size);
    double before = row_label_width(sheet) > 22 ? row_label_width(sheet) : 22, above = rank > 2 ? 34 : 18;
    cli_area area = {left, top, left, top};
    double x = left, y = top;
    for (int p = 0; p < sheet->planes; p++) {
        const cli_plane *plane = &sheet->plane[p];
        double width = before + (double)plane->columns * cell.width, height = above + (double)plane->rows * cell.height;
        if (p > 0 && (rank == 1 || x + width > left + room)) {
            x = left;
            y = area.bottom + (rank == 1 ? 6 : GAP);
        }
        if (rank > 2)
            label_plane(svg, sheet, plane, x + before, y + 12);
        label_corner(svg, sheet, x + before, y + above);
        label_columns(svg, sheet, plane, x + before, y + above, cell.width);
        if (rank > 1)
            label_rows(svg, sheet, plane, x + before, y + above, cell.height);
        write_plane(svg, sheet, plane, x + before, y + above, cell);
        area.right = x + width > area.right ? x + width : area.right;
        area.bottom = y + height > area.bottom ? y + height : area.bottom;
        x += width + GAP;
    }
    area.bottom += sheet->rows.cropped ? 14 : 0;
    cli_svg_reach(svg, area.right, area.bottom);
    return area;
}

/* ---- legends ---- */

void cli_draw_swatch(cli_svg *svg, double left, double top, int node)
{
    const cli_colour *colour = cli_node_colour(node);
    double width = cli_digits(node) > 2 ? 7.0 * cli_digits(node) + 6 : 20;
    fprintf(svg->body, "<rect x=\"%g\" y=\"%g\" width=\"%g\" height=\"16\" fill=\"%s\"/>\n", left, top, width,
            colour->fill);
    write_number(svg, left, top, width, 16, node);
    cli_svg_reach(svg, left + width, top + 16);
}

cli_area cli_draw_line_legend(cli_svg *svg, const cli_sheet *sheet, double left, double top)
{
    static const char *const names[CLI_EDGES] = {"", "block, the grain of movement", "segment, a piece as stored",
                                                 "tile, what one task computes"};
    cli_font font = label_font;
    font.size = 12;
    font.fill = "#222222";
    cli_area area = {left, top, left, top};
    for (int edge = CLI_EDGE_TILE; edge > CLI_EDGE_NONE; edge--) {
        if (!sheet->seen[edge])
            continue;
        cli_svg_line(svg, left, area.bottom + 8, left + 28, area.bottom + 8, weights[edge], line_colour);
        cli_svg_text(svg, left + 36, area.bottom + 12, &font, names[edge]);
        area.bottom += 20;
    }
    return area;
}
