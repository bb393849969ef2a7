/* cli/shades.c - draw a heat map of moves with its scale. */
#include "cli/amount.h"
#include "cli/heat.h"
#include "cli/moves_drawing.h"

enum { SIZE = 430, LARGEST = 56 }; /* pixels of the square; most pixels of a cell */

static const char ink[] = "#222222";
static const cli_font text_font = {12, ink, false, false, CLI_LEFT};
static const cli_font note_font = {12, "#555555", false, false, CLI_LEFT};

/* The colour of a share, from white to dark blue. */
static void shade(double share, char text_out[8])
{
    static const int stops[3][3] = {{0xf7, 0xfb, 0xff}, {0x6b, 0xae, 0xd6}, {0x08, 0x30, 0x6b}};
    int from = share < 0.5 ? 0 : 1, colour[3];
    double within = share * 2 - from;
    for (int c = 0; c < 3; c++)
        colour[c] = (int)(stops[from][c] + within * (stops[from + 1][c] - stops[from][c]) + 0.5);
    snprintf(text_out, 8, "#%02x%02x%02x", (unsigned)colour[0] & 255, (unsigned)colour[1] & 255,
             (unsigned)colour[2] & 255);
}

static void draw_heat_cell(cli_svg *svg, const cli_heat *heat, int from, int to, double left, double top, double size)
{
    int64_t bytes = heat->bytes[from][to];
    double share = bytes == 0 ? 0 : 0.06 + 0.94 * (double)bytes / (double)heat->largest;
    char fill[8], text[CLI_AMOUNT_BYTES];
    shade(share, fill);
    fprintf(svg->body, "<rect x=\"%g\" y=\"%g\" width=\"%g\" height=\"%g\" fill=\"%s\"/>\n", left + to * size,
            top + from * size, size, size, bytes == 0 ? "#ffffff" : fill);
    cli_font font = {10, share > 0.55 ? "#ffffff" : "#000000", false, false, CLI_MIDDLE};
    if (bytes == 0 || cli_svg_width(&font, (size_t)snprintf(NULL, 0, "%s", cli_amount(bytes, text))) + 12 > size)
        return;
    cli_svg_text(svg, left + (to + 0.5) * size, top + (from + 0.5) * size + 4, &font, text);
}

static void draw_scale(cli_svg *svg, const cli_heat *heat, double left, double top)
{
    enum { STEPS = 6 };
    char fill[8], text[CLI_AMOUNT_BYTES];
    for (int k = STEPS; k >= 1; k--) {
        double y = top + (STEPS - k) * 22;
        shade(0.06 + 0.94 * k / STEPS, fill);
        fprintf(svg->body, "<rect x=\"%g\" y=\"%g\" width=\"18\" height=\"22\" fill=\"%s\"/>\n", left, y, fill);
        cli_svg_text(svg, left + 24, y + 15, &text_font,
                     cli_amount((int64_t)((double)heat->largest * k / STEPS + 0.5), text));
    }
    fprintf(svg->body, "<rect x=\"%g\" y=\"%g\" width=\"18\" height=\"22\" fill=\"#ffffff\" stroke=\"#999999\"/>\n",
            left, top + STEPS * 22);
    cli_svg_text(svg, left + 24, top + STEPS * 22 + 15, &text_font, "nothing");
}

static void label_heat(cli_svg *svg, const cli_moves *moves, const cli_heat *heat, double left, double top, double size)
{
    cli_font font = {11, "#555555", false, false, CLI_MIDDLE};
    int every = 1, widest = moves->node[moves->taking_part - 1];
    while (cli_svg_width(&font, (size_t)snprintf(NULL, 0, "%d", widest)) + 4 > every * size)
        every *= 2;
    for (int k = 0; k < heat->size; k += every)
        cli_svg_textf(svg, left + (k + 0.5) * size, top - 5, &font, "%d", moves->node[k * heat->nodes]);
    font.anchor = CLI_RIGHT;
    for (int k = 0; k < heat->size; k += every)
        cli_svg_textf(svg, left - 6, top + (k + 0.5) * size + 4, &font, "%d", moves->node[k * heat->nodes]);
    font.bold = true;
    cli_svg_text(svg, left - 6, top - 5, &font, "from\\to");
}

static void draw_heat_lines(cli_svg *svg, int count, double left, double top, double size)
{
    fputs("<path fill=\"none\" stroke=\"#cccccc\" stroke-width=\"0.6\" d=\"", svg->body);
    for (int k = 1; k < count; k++)
        fprintf(svg->body, "M%g %gh%gM%g %gv%g", left, top + k * size, count * size, left + k * size, top,
                count * size);
    fprintf(svg->body,
            "\"/>\n<rect x=\"%g\" y=\"%g\" width=\"%g\" height=\"%g\" fill=\"none\" stroke=\"%s\" "
            "stroke-width=\"1.6\"/>\n",
            left, top, count * size, count * size, ink);
}

void cli_draw_heat(cli_svg *svg, const cli_moves *moves, double left, double top)
{
    cli_heat heat;
    cli_heat_make(moves, CLI_MOST_HEAT, &heat);
    double size = SIZE / heat.size > LARGEST ? LARGEST : SIZE / heat.size;
    double x = left + 56, y = top + 20;
    for (int from = 0; from < heat.size; from++)
        for (int to = 0; to < heat.size; to++)
            draw_heat_cell(svg, &heat, from, to, x, y, size);
    draw_heat_lines(svg, heat.size, x, y, size);
    label_heat(svg, moves, &heat, x, y, size);
    draw_scale(svg, &heat, x + size * heat.size + 24, y);
    double bottom = y + size * heat.size;
    if (heat.nodes > 1)
        cli_svg_textf(svg, x, bottom + 18, &note_font, "1 row or column = %d nodes", heat.nodes);
    cli_svg_reach(svg, x + size * heat.size, bottom);
}
