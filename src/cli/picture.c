/* cli/picture.c - draw the cells of a map as characters. */
#include "cli/picture.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/amount.h"
#include "cli/palette.h"
#include "cli/report.h"
#include "cli/scale.h"

enum { MOST_PLANES = 4, MOST_LEGEND = 24, MOST_WRAPPED = 16, MOST_COLUMNS = 1024 };

struct picture {
    const dcl_map *map;
    const dcl_grid *grid;
    const cli_canvas *canvas;
    int cell_width, label_width;
};

cli_canvas cli_canvas_of_stdout(void)
{
    cli_canvas canvas = {.columns = 80, .lines = 40, .colour = isatty(STDOUT_FILENO) == 1};
    struct winsize size;
    if (canvas.colour && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 && size.ws_row > 0) {
        canvas.columns = size.ws_col < MOST_COLUMNS ? size.ws_col : MOST_COLUMNS;
        canvas.lines = size.ws_row;
    }
    return canvas;
}

/* Width of a cell: the largest node number and a space. */
static int cell_width(const cli_survey *survey) { return cli_digits(survey->largest) + 1; }

/* ---- cells ---- */

static void print_node(const struct picture *picture, int node)
{
    const cli_colour *colour = cli_node_colour(node);
    char number[16] = "-"; /* stored nowhere */
    if (node >= 0)
        snprintf(number, sizeof number, "%d", node);
    if (picture->canvas->colour)
        printf("\033[38;5;%d;48;5;%dm%*s\033[0m", colour->terminal_ink, colour->terminal, picture->cell_width, number);
    else
        printf("%*s", picture->cell_width, number);
}

static int print_cell(const struct picture *picture, const int64_t index[])
{
    int node = 0;
    int64_t offset = 0;
    if (dcl_map_locate(picture->map, picture->grid, index, &node, &offset) != DCL_OK)
        return cli_library_failed();
    print_node(picture, node);
    return CLI_OK;
}

/* Print column numbers: every one, or every 2nd, 4th, 8th, ... as far as there is room. */
static void print_column_labels(const struct picture *picture, const cli_scale *columns, const char *corner)
{
    int widest = cli_digits((columns->cells - 1) * columns->step) + 1;
    int64_t every = 1;
    while (every * picture->cell_width < widest)
        every *= 2;
    printf("%*s", picture->label_width, corner);
    int64_t used = 0;
    for (int64_t c = 0; c < columns->cells; c += every) {
        int64_t label = c * columns->step, spare = picture->cell_width - cli_digits(label);
        int64_t begin = c * picture->cell_width + (spare > 1 ? spare : 1);
        used += printf("%*s%" PRId64, (int)(begin - used), "", label);
    }
    fputc('\n', stdout);
}

static int print_row(const struct picture *picture, int64_t label, int64_t index[], int64_t *column, int64_t first,
                     const cli_scale *columns)
{
    printf("%*" PRId64, picture->label_width, label);
    for (int64_t c = 0; c < columns->cells; c++) {
        *column = first + c * columns->step;
        if (*column >= columns->extent)
            break;
        if (print_cell(picture, index) != CLI_OK)
            return CLI_FAILURE;
    }
    puts(columns->cropped ? " ..." : "");
    return CLI_OK;
}

/* ---- grids of rank 1, 2 and more ---- */

static int64_t cells_across(const struct picture *picture)
{
    int64_t room = (picture->canvas->columns - picture->label_width - 4) / picture->cell_width;
    return room > 4 ? room : 4;
}

/* Draw a grid of rank 1: a long line continues in the next rows, a very long one is scaled. */
static int draw_line(const struct picture *picture, const cli_survey *survey)
{
    int64_t across = cells_across(picture), extent = picture->grid->extent[0];
    if (across > 10)
        across -= across % 10; /* let rows begin with round numbers */
    cli_scale columns = {.extent = extent, .step = 1, .cells = across};
    int64_t rows = (extent - 1) / across + 1;
    if (rows > MOST_WRAPPED) {
        columns = cli_scale_make(extent, across, survey->border[0], survey->longest[0]);
        rows = 1;
    } else if (extent < across)
        columns.cells = extent;
    if (columns.step > 1)
        printf("1 cell = %" PRId64 " elements, the first one's owner\n", columns.step);
    print_column_labels(picture, &columns, "i");
    for (int64_t r = 0; r < rows; r++) {
        int64_t index[1];
        if (print_row(picture, r * across, index, index, r * across, &columns) != CLI_OK)
            return CLI_FAILURE;
    }
    return CLI_OK;
}

/* Draw a plane of the last two axes; `index` gives the other indices. */
static int draw_plane(const struct picture *picture, const cli_scale *rows, const cli_scale *columns, int64_t index[])
{
    int row_axis = picture->grid->rank - 2;
    char corner[] = {"ijklmnop"[row_axis], '\\', "ijklmnop"[row_axis + 1], '\0'};
    print_column_labels(picture, columns, corner);
    for (int64_t r = 0; r < rows->cells; r++) {
        index[row_axis] = r * rows->step;
        if (print_row(picture, index[row_axis], index, &index[row_axis + 1], 0, columns) != CLI_OK)
            return CLI_FAILURE;
    }
    if (rows->cropped)
        printf("%*s ...\n", picture->label_width, "");
    return CLI_OK;
}

static void print_plane_label(const struct picture *picture, const cli_survey *survey, const int64_t index[])
{
    printf("plane (");
    for (int d = 0; d < picture->grid->rank - 2; d++) {
        int64_t last = index[d] + survey->grain[d] - 1;
        last = last < picture->grid->extent[d] ? last : picture->grid->extent[d] - 1;
        if (last > index[d])
            printf("%" PRId64 "..%" PRId64 ", ", index[d], last);
        else
            printf("%" PRId64 ", ", index[d]);
    }
    puts("*, *)");
}

/* Step to the next plane that may look different. @return false after the last. */
static bool next_plane(const struct picture *picture, const cli_survey *survey, int64_t index[])
{
    for (int d = picture->grid->rank - 3; d >= 0; d--) {
        index[d] += survey->grain[d];
        if (index[d] < picture->grid->extent[d])
            return true;
        index[d] = 0;
    }
    return false;
}

static int draw_planes(const struct picture *picture, const cli_survey *survey)
{
    const dcl_grid *grid = picture->grid;
    int row_axis = grid->rank - 2;
    int64_t room = picture->canvas->lines - 10 > 12 ? picture->canvas->lines - 10 : 12;
    cli_scale rows = cli_scale_make(grid->extent[row_axis], room, survey->border[row_axis], survey->longest[row_axis]);
    cli_scale columns = cli_scale_make(grid->extent[row_axis + 1], cells_across(picture), survey->border[row_axis + 1],
                                       survey->longest[row_axis + 1]);
    if (rows.step > 1 || columns.step > 1)
        printf("1 cell = %" PRId64 " x %" PRId64 " elements, the first one's owner\n", rows.step, columns.step);
    int64_t index[DCL_MAX_RANK] = {0};
    bool more = true;
    for (int plane = 0; more && plane < MOST_PLANES; plane++) {
        if (plane > 0)
            putchar('\n');
        if (grid->rank > 2)
            print_plane_label(picture, survey, index);
        if (draw_plane(picture, &rows, &columns, index) != CLI_OK)
            return CLI_FAILURE;
        more = next_plane(picture, survey, index);
    }
    if (more)
        puts("\nand more planes");
    return CLI_OK;
}

int cli_picture_draw(const dcl_map *map, const dcl_grid *grid, const cli_survey *survey, const cli_canvas *canvas)
{
    struct picture picture = {.map = map, .grid = grid, .canvas = canvas};
    picture.cell_width = cell_width(survey);
    picture.label_width = cli_digits(grid->extent[grid->rank > 1 ? grid->rank - 2 : 0]);
    if (picture.label_width < 3)
        picture.label_width = 3;
    return grid->rank == 1 ? draw_line(&picture, survey) : draw_planes(&picture, survey);
}

void cli_picture_legend(const dcl_grid *grid, const cli_survey *survey, const cli_canvas *canvas)
{
    struct picture picture = {.canvas = canvas, .cell_width = cell_width(survey)};
    double all = (double)dcl_grid_count(grid);
    printf("\n%8s %14s %8s %14s\n", "node", "elements", "share", "storage");
    for (int n = 0; n < survey->nodes && n < MOST_LEGEND; n++) {
        printf("%*s", 8 - picture.cell_width, ""); /* at most 7 characters */
        print_node(&picture, survey->node[n]);
        if (survey->complete)
            printf(" %14" PRId64 " %6.1f %% ", survey->owned[n], all > 0 ? 100 * (double)survey->owned[n] / all : 0);
        else
            printf(" %14s %8s ", "-", "-");
        printf("%14" PRId64 "\n", survey->storage[n]);
    }
    if (survey->nodes > MOST_LEGEND)
        printf("%8s %d more nodes\n", "...", survey->nodes - MOST_LEGEND);
}
