/* cli/moves_svg.c - compose the picture of what a body moves: title, arrays, and the moves beside them. */
#include <inttypes.h>
#include <stdio.h>

#include "cli/amount.h"
#include "cli/drawing.h"
#include "cli/moves_drawing.h"
#include "cli/report.h"
#include "cli/shape.h"

enum {
    LEFT = 16,
    TOP = 16,
    MOST_NODES = 8,
    MOST_ARROWS = 14,
    MOST_ARRAYS = 4,
    MOST_TEXT = 90,
    MOST_NAMES = 24,
    MOST_MAP = 36
};

static const char ink[] = "#222222";
static const cli_font title_font = {15, ink, true, true, CLI_LEFT};
static const cli_font text_font = {12, ink, false, false, CLI_LEFT};
static const cli_font note_font = {12, "#555555", false, false, CLI_LEFT};

/* ---- arrays ---- */

/* Whether two arrays look alike; then they are drawn once. */
static bool alike(const cli_moved_array *a, const cli_moved_array *b)
{
    bool same = a->grid.rank == b->grid.rank && a->grid.type == b->grid.type && dcl_map_equal(a->map, b->map);
    for (int d = 0; d < a->grid.rank && same; d++)
        same = a->grid.extent[d] == b->grid.extent[d];
    return same;
}

static bool is_drawn_before(const cli_moves *moves, int a)
{
    for (int b = 0; b < a; b++)
        if (alike(&moves->array[a], &moves->array[b]))
            return true;
    return false;
}

/* Write the title of an array: "C, A: block" lists all arrays that look alike. */
static void draw_array_title(cli_svg *svg, const cli_moves *moves, int first, double left, double top)
{
    const cli_moved_array *array = &moves->array[first];
    char names[MOST_NAMES + CLI_NAME_BYTES + 8] = "", shape[CLI_SHAPE_BYTES];
    size_t used = 0;
    for (int a = first; a < moves->array_count && used < MOST_NAMES; a++)
        if (a == first || alike(array, &moves->array[a]))
            used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", a > first ? ", " : "",
                                     moves->array[a].name);
    cli_font font = text_font;
    font.mono = true;
    bool longer = snprintf(NULL, 0, "%s", array->text) > MOST_MAP;
    cli_svg_textf(svg, left, top + 12, &font, "%s%s: %.*s%s", names, used >= MOST_NAMES ? ", ..." : "", MOST_MAP,
                  array->text, longer ? " ..." : "");
    cli_svg_textf(svg, left, top + 27, &note_font, "%s %s", cli_shape_print(&array->grid, shape),
                  dcl_type_name(array->grid.type));
}

/* Draw an array small: its first plane is enough to show the pattern. */
static int draw_array(cli_svg *svg, const cli_moves *moves, int a, double left, double top, cli_area *area_out)
{
    const cli_moved_array *array = &moves->array[a];
    cli_survey survey;
    cli_sheet sheet;
    cli_limits limits = {.rows = 24, .columns = 24, .across = 24, .planes = 1};
    draw_array_title(svg, moves, a, left, top);
    *area_out = (cli_area){left, top, left, top + 32};
    if (dcl_grid_count(&array->grid) == 0)
        return CLI_OK;
    int status = cli_survey_make(array->map, &array->grid, &survey);
    if (status != CLI_OK)
        return status;
    status = cli_sheet_make(array->map, &array->grid, &survey, &limits, &sheet);
    cli_survey_free(&survey);
    if (status != CLI_OK)
        return status;
    *area_out = cli_draw_sheet(svg, &sheet, left, top + 32, 144, 0);
    cli_sheet_free(&sheet);
    return CLI_OK;
}

static int draw_arrays(cli_svg *svg, const cli_moves *moves, double left, double top, cli_area *area_out)
{
    cli_area area = {left, top, left, top};
    int shown = 0, left_out = 0;
    for (int a = 0; a < moves->array_count; a++) {
        if (is_drawn_before(moves, a))
            continue;
        if (shown == MOST_ARRAYS) {
            left_out++;
            continue;
        }
        cli_area one;
        int status = draw_array(svg, moves, a, left, area.bottom, &one);
        if (status != CLI_OK)
            return status;
        area.right = one.right > area.right ? one.right : area.right;
        area.bottom = one.bottom + 18;
        shown++;
    }
    if (left_out > 0)
        cli_svg_textf(svg, left, area.bottom + 4, &note_font, "and %d more", left_out);
    *area_out = area;
    return CLI_OK;
}

/* ---- the whole ---- */

static double draw_title(cli_svg *svg, const cli_moves *moves)
{
    char bytes[CLI_AMOUNT_BYTES];
    bool longer = snprintf(NULL, 0, "%s", moves->body) > MOST_TEXT;
    cli_svg_textf(svg, LEFT, TOP + 12, &title_font, "%.*s%s", MOST_TEXT, moves->body, longer ? " ..." : "");
    if (moves->move_count == 0)
        cli_svg_textf(svg, LEFT, TOP + 31, &text_font, "Nothing moves between the %d nodes.", moves->nodes);
    else
        cli_svg_textf(svg, LEFT, TOP + 31, &text_font, "%s move in %" PRId64 " blocks between %d nodes.",
                      cli_amount(moves->bytes, bytes), moves->blocks, moves->nodes);
    return TOP + 48;
}

int cli_moves_svg(const cli_moves *moves, const char *path)
{
    char name[512];
    snprintf(name, sizeof name, "What moves between nodes for %s", moves->body);
    cli_svg svg;
    cli_svg_begin(&svg);
    double top = draw_title(&svg, moves);
    cli_area area;
    int status = draw_arrays(&svg, moves, LEFT, top, &area);
    if (status != CLI_OK) {
        cli_svg_drop(&svg);
        return status;
    }
    double left = area.right + 36 > LEFT + 250 ? area.right + 36 : LEFT + 250;
    if (moves->taking_part <= MOST_NODES && moves->move_count <= MOST_ARROWS)
        cli_draw_arrows(&svg, moves, left, top);
    else
        cli_draw_heat(&svg, moves, left, top);
    return cli_svg_end(&svg, name, path);
}
