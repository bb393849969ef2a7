/* cli/chart.c - draw a chart: axes, and curves with their names at the right ends. */
#include "cli/chart.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/svg.h"

enum {
    LEFT = 84, /* pixels: begin of the axis of x */
    TOP = 72,
    WIDTH = 620,
    HEIGHT = 320,
    APART = 16 /* least distance of two names */
};

static const char ink[] = "#222222", grey[] = "#555555", pale[] = "#e4e4e4";
static const cli_font tick_x = {11, grey, false, false, CLI_MIDDLE};
static const cli_font tick_y = {11, grey, false, false, CLI_RIGHT};
static const cli_font label = {12, ink, false, false, CLI_LEFT};

/* Colours that differ in lightness, so also in print without colours. */
static const char *const colours[CLI_MOST_CURVES] = {"#0b3c6f", "#d1742a", "#3f9b6e", "#b0302a",
                                                     "#7aa7d9", "#6a3d9a", "#a08a00", "#000000"};

/* The ranges of the axes. */
struct frame {
    double x_low, x_high, y_low, y_high; /* logarithms of x, and of y if the axis is logarithmic */
    bool log_y;
};

static double x_of(const struct frame *frame, double x)
{
    double span = frame->x_high - frame->x_low;
    return LEFT + WIDTH * (span > 0 ? (log10(x) - frame->x_low) / span : 0.5);
}

static double y_of(const struct frame *frame, double y)
{
    double value = frame->log_y ? log10(y) : y;
    return TOP + HEIGHT * (1 - (value - frame->y_low) / (frame->y_high - frame->y_low));
}

static struct frame frame_of(const cli_chart *chart)
{
    double low = INFINITY, high = chart->least_top, first = INFINITY, last = 0;
    for (int c = 0; c < chart->count; c++)
        for (int n = 0; n < chart->curve[c].count; n++) {
            low = fmin(low, chart->curve[c].y[n]);
            high = fmax(high, chart->curve[c].y[n]);
            first = fmin(first, chart->curve[c].x[n]);
            last = fmax(last, chart->curve[c].x[n]);
        }
    struct frame frame = {log10(first), log10(last), 0, high, chart->log_y};
    double tick = cli_svg_tick(high);
    if (chart->log_y) {
        frame.y_low = floor(log10(low));
        frame.y_high = fmax(ceil(log10(high)), frame.y_low + 1);
    } else {
        frame.y_high = tick * ceil(high / tick - 1e-9);
    }
    return frame;
}

/* ---- axes ---------------------------------------------------------------------------------------------------------- */

static void line_at_y(cli_svg *svg, const struct frame *frame, double y)
{
    double at = y_of(frame, y);
    cli_svg_line(svg, LEFT, at, LEFT + WIDTH, at, 1, pale);
    cli_svg_textf(svg, LEFT - 8, at + 4, &tick_y, "%.10g", y);
}

static void draw_y_axis(cli_svg *svg, const cli_chart *chart, const struct frame *frame)
{
    if (frame->log_y) {
        for (double power = frame->y_low; power <= frame->y_high; power++)
            line_at_y(svg, frame, pow(10, power));
    } else {
        double tick = cli_svg_tick(frame->y_high);
        line_at_y(svg, frame, 0);
        for (int n = 1; n * tick <= frame->y_high * (1 + 1e-9); n++)
            line_at_y(svg, frame, n * tick);
    }
    cli_svg_text(svg, LEFT - 60, TOP - 12, &label, chart->y_label);
}

static int compare(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return a < b ? -1 : a > b;
}

/* Mark the numbers of nodes that have points. A number that would overlap the previous one is left out. */
static void draw_x_axis(cli_svg *svg, const cli_chart *chart, const struct frame *frame)
{
    double x[CLI_MOST_CURVES * CLI_MOST_POINTS], written = 0;
    char text[32];
    int count = 0;
    for (int c = 0; c < chart->count; c++)
        for (int n = 0; n < chart->curve[c].count; n++)
            x[count++] = chart->curve[c].x[n];
    qsort(x, (size_t)count, sizeof *x, compare);
    for (int n = 0; n < count; n++) {
        double at = x_of(frame, x[n]);
        snprintf(text, sizeof text, "%.0f", x[n]);
        double width = cli_svg_width(&tick_x, strlen(text));
        bool is_last = x[n] == x[count - 1],
             hides_last = !is_last && at + width > x_of(frame, x[count - 1]) - width / 2;
        if ((n > 0 && x[n] == x[n - 1]) || at - width / 2 < written || hides_last)
            continue;
        cli_svg_line(svg, at, TOP, at, TOP + HEIGHT, 1, pale);
        cli_svg_text(svg, at, TOP + HEIGHT + 16, &tick_x, text);
        written = at + width / 2 + 6;
    }
    cli_svg_line(svg, LEFT, TOP + HEIGHT, LEFT + WIDTH, TOP + HEIGHT, 1, grey);
    cli_svg_text(svg, LEFT + WIDTH / 2.0, TOP + HEIGHT + 34, &(cli_font){12, ink, false, false, CLI_MIDDLE},
                 chart->x_label);
}

/* ---- curves -------------------------------------------------------------------------------------------------------- */

/* References have no mark and no colour of their own. */
static int shape_of(const cli_chart *chart, int curve)
{
    int shape = 0;
    for (int c = 0; c < curve; c++)
        shape += !chart->curve[c].is_reference;
    return shape;
}

/* Draw a mark; the first curves have marks of different shapes. */
static void draw_mark(cli_svg *svg, int shape, double x, double y, const char *colour)
{
    static const char *const paths[] = {"M-4 -4H4V4H-4Z", "M0 -5L5 4H-5Z", "M0 -5L5 0L0 5L-5 0Z", "M0 5L5 -4H-5Z"};
    enum { PATHS = sizeof paths / sizeof paths[0] };
    if (shape % (PATHS + 1) == 0)
        fprintf(svg->body, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" fill=\"%s\"/>\n", x, y, colour);
    else
        fprintf(svg->body, "<path transform=\"translate(%.1f %.1f)\" d=\"%s\" fill=\"%s\"/>\n", x, y,
                paths[shape % (PATHS + 1) - 1], colour);
}

static void draw_curve(cli_svg *svg, const struct frame *frame, const cli_curve *curve, int shape)
{
    const char *colour = curve->is_reference ? grey : colours[shape];
    fprintf(svg->body, "<path d=\"");
    for (int n = 0; n < curve->count; n++)
        fprintf(svg->body, "%s%.1f %.1f", n > 0 ? "L" : "M", x_of(frame, curve->x[n]), y_of(frame, curve->y[n]));
    fprintf(svg->body, "\" fill=\"none\" stroke=\"%s\" stroke-width=\"%s\"%s/>\n", colour,
            curve->is_reference ? "1" : "2", curve->is_reference ? " stroke-dasharray=\"5 4\"" : "");
    for (int n = 0; n < curve->count && !curve->is_reference; n++)
        draw_mark(svg, shape, x_of(frame, curve->x[n]), y_of(frame, curve->y[n]), colour);
}

/* Write the names to the right of the curves' ends, from the top to the bottom, at least APART from each other. */
static void name_curves(cli_svg *svg, const cli_chart *chart, const struct frame *frame)
{
    double y[CLI_MOST_CURVES];
    int order[CLI_MOST_CURVES];
    for (int c = 0; c < chart->count; c++) {
        const cli_curve *curve = &chart->curve[c];
        y[c] = y_of(frame, curve->y[curve->count - 1]);
        int n = c;
        for (; n > 0 && y[order[n - 1]] > y[c]; n--)
            order[n] = order[n - 1];
        order[n] = c;
    }
    for (int n = 1; n < chart->count; n++)
        y[order[n]] = fmax(y[order[n]], y[order[n - 1]] + APART);
    double room = TOP + HEIGHT;
    for (int n = chart->count - 1; n >= 0; n--, room -= APART)
        y[order[n]] = fmin(y[order[n]], room);
    for (int c = 0; c < chart->count; c++) {
        int shape = shape_of(chart, c);
        const char *colour = chart->curve[c].is_reference ? grey : colours[shape];
        if (!chart->curve[c].is_reference)
            draw_mark(svg, shape, LEFT + WIDTH + 16, y[c], colour);
        cli_svg_text(svg, LEFT + WIDTH + 26, y[c] + 4, &(cli_font){12, colour, false, false, CLI_LEFT},
                     chart->curve[c].name);
    }
}

int cli_chart_draw(const cli_chart *chart, const char *path)
{
    cli_svg svg;
    struct frame frame = frame_of(chart);
    cli_svg_begin(&svg);
    cli_svg_text(&svg, LEFT - 60, 20, &(cli_font){14, ink, false, true, CLI_LEFT}, chart->title);
    cli_svg_text(&svg, LEFT - 60, 38, &(cli_font){11, grey, false, false, CLI_LEFT}, chart->note);
    draw_x_axis(&svg, chart, &frame);
    draw_y_axis(&svg, chart, &frame);
    for (int c = 0; c < chart->count; c++)
        draw_curve(&svg, &frame, &chart->curve[c], shape_of(chart, c));
    name_curves(&svg, chart, &frame);
    cli_svg_reach(&svg, LEFT + WIDTH + 40, TOP + HEIGHT + 40);
    return cli_svg_end(&svg, chart->title, path);
}
