/* cli/arrows.c - draw moves as arrows between nodes on a circle. */
#include <math.h>

#include "cli/amount.h"
#include "cli/moves_drawing.h"
#include "cli/palette.h"

static const char ink[] = "#222222";

enum { RADIUS = 24, HEAD = 11 };

struct point {
    double x, y;
};

struct circle {
    struct point centre;
    double radius;
    int nodes;
};

/* Position of a node: clockwise from the top; two nodes are side by side. */
static struct point node_at(const struct circle *circle, int place)
{
    double turn = 2 * acos(-1) * place / circle->nodes - acos(-1) * (circle->nodes == 2 ? 1 : 0.5);
    return (struct point){circle->centre.x + circle->radius * cos(turn), circle->centre.y + circle->radius * sin(turn)};
}

static struct point towards(struct point from, struct point to, double length)
{
    double distance = hypot(to.x - from.x, to.y - from.y);
    return (struct point){from.x + (to.x - from.x) * length / distance, from.y + (to.y - from.y) * length / distance};
}

static void write_head(cli_svg *svg, struct point base, struct point tip, double half, const char *fill)
{
    double length = hypot(tip.x - base.x, tip.y - base.y);
    double x = -(tip.y - base.y) / length * half, y = (tip.x - base.x) / length * half;
    fprintf(svg->body, "<polygon points=\"%.1f,%.1f %.1f,%.1f %.1f,%.1f\" fill=\"%s\"/>\n", tip.x, tip.y, base.x + x,
            base.y + y, base.x - x, base.y - y, fill);
}

/* Draw an arrow, bent to the left so that the one in the opposite direction does not cover it. Its width is its share
 * of the largest move. */
static void draw_arrow(cli_svg *svg, const cli_moves *moves, const struct circle *circle, const cli_move *move)
{
    struct point a = node_at(circle, move->from), b = node_at(circle, move->to);
    struct point bow = {(a.x + b.x) / 2 + (b.y - a.y) * 0.17, (a.y + b.y) / 2 - (b.x - a.x) * 0.17};
    double weight = 1.5 + 5.5 * (double)move->bytes / (double)moves->largest;
    struct point start = towards(a, bow, RADIUS), tip = towards(b, bow, RADIUS + 2);
    struct point end = towards(b, bow, RADIUS + 2 + HEAD);
    const char *fill = cli_node_colour(moves->node[move->from])->fill;
    fprintf(svg->body,
            "<path d=\"M%.1f %.1fQ%.1f %.1f %.1f %.1f\" fill=\"none\" stroke=\"%s\" stroke-width=\"%.1f\"/>\n", start.x,
            start.y, bow.x, bow.y, end.x, end.y, fill, weight);
    write_head(svg, end, tip, weight / 2 + 4.5, fill);
}

/* Put the label near the arrow's start: in the middle, labels of crossing arrows would overlap. */
static void label_arrow(cli_svg *svg, const struct circle *circle, const cli_move *move)
{
    struct point a = node_at(circle, move->from), b = node_at(circle, move->to);
    struct point bow = {(a.x + b.x) / 2 + (b.y - a.y) * 0.17, (a.y + b.y) / 2 - (b.x - a.x) * 0.17};
    double t = 0.36, x = (1 - t) * (1 - t) * a.x + 2 * t * (1 - t) * bow.x + t * t * b.x;
    double y = (1 - t) * (1 - t) * a.y + 2 * t * (1 - t) * bow.y + t * t * b.y;
    char text[CLI_AMOUNT_BYTES];
    cli_font font = {11, ink, false, false, CLI_MIDDLE};
    cli_amount(move->bytes, text);
    double width = cli_svg_width(&font, (size_t)snprintf(NULL, 0, "%s", text)) + 6;
    fprintf(svg->body,
            "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"15\" fill=\"#ffffff\" fill-opacity=\"0.85\"/>\n",
            x - width / 2, y - 8, width);
    cli_svg_text(svg, round(x * 10) / 10, round((y + 4) * 10) / 10, &font, text);
}

void cli_draw_arrows(cli_svg *svg, const cli_moves *moves, double left, double top)
{
    double radius = moves->taking_part == 1 ? 0 : 118 + 12 * (moves->taking_part - 2);
    struct circle circle = {{left + radius + RADIUS + 30, top + radius + RADIUS + 12}, radius, moves->taking_part};
    if (moves->taking_part <= 2)
        circle.centre.y = top + 80;
    for (int m = 0; m < moves->move_count; m++)
        draw_arrow(svg, moves, &circle, &moves->move[m]);
    for (int k = 0; k < moves->taking_part; k++) {
        struct point at = node_at(&circle, k);
        const cli_colour *colour = cli_node_colour(moves->node[k]);
        cli_font font = {14, colour->ink, false, true, CLI_MIDDLE};
        fprintf(svg->body,
                "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%d\" fill=\"%s\" stroke=\"%s\" stroke-width=\"1.6\"/>\n", at.x,
                at.y, RADIUS, colour->fill, ink);
        cli_svg_textf(svg, round(at.x * 10) / 10, round((at.y + 5) * 10) / 10, &font, "%d", moves->node[k]);
        cli_svg_reach(svg, at.x + RADIUS + 12, at.y + RADIUS + 8);
    }
    for (int m = 0; m < moves->move_count; m++)
        label_arrow(svg, &circle, &moves->move[m]);
}
