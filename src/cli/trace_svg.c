/* cli/trace_svg.c - draw the timeline of a trace: a row per process and track, over an axis of time. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/amount.h"
#include "cli/report.h"
#include "cli/svg.h"
#include "cli/trace_events.h"

enum {
    LEFT = 96,    /* pixels: begin of the axis */
    WIDTH = 1000, /* length of the axis */
    TOP = 64,     /* top of the first process */
    ROW = 18,     /* height of a row */
    BAR = 14,     /* height of a bar in its row */
    HEADING = 22, /* height of a process's name */
    GAP = 8,      /* between processes */
    LEVELS = BAR  /* heights of a bar */
};

static const char ink[] = "#222222", grey[] = "#555555";
static const cli_font name_font = {12, ink, false, true, CLI_LEFT};
static const cli_font row_font = {11, grey, false, false, CLI_RIGHT};
static const cli_font tick_font = {11, grey, false, false, CLI_MIDDLE};
static const cli_font note_font = {11, grey, false, false, CLI_LEFT};

/* Colours of the tracks: each differs from all others in lightness, so also in print without colours. Bars in
 * the colour of CLI_COMPUTE have the names of their kernels on them. */
static const char *const colours[CLI_TRACKS] = {
    [CLI_COMPUTE] = "#0b3c6f", [CLI_IN] = "#4a9fd8",      [CLI_OUT] = "#86c9a7",
    [CLI_WIRE] = "#f3d06a",    [CLI_WAITING] = "#b0302a", [CLI_PREPARING] = "#808080"};
static const char stolen_colour[] = "#7a4fb5"; /* of batches of other nodes, in the row of computing */

/* ---- the axis ------------------------------------------------------------------------------------------------------ */

static double x_of(const cli_timeline *trace, int64_t time)
{
    double span = trace->end > trace->begin ? (double)(trace->end - trace->begin) : 1;
    return LEFT + WIDTH * (double)(time - trace->begin) / span;
}

static void draw_axis(cli_svg *svg, const cli_timeline *trace, double bottom)
{
    static const struct {
        double ns;
        const char *unit;
    } units[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}, {1, "ns"}};
    int64_t tick = (int64_t)fmax(1, round(cli_svg_tick((double)(trace->end - trace->begin))));
    int u = 0;
    while (u < 3 && (double)tick * 5 < units[u].ns)
        u++;
    /* Whole numbers, because a double may be too coarse to be increased by a tick. */
    int64_t first = trace->begin / tick * tick;
    for (int64_t at = first < trace->begin ? first + tick : first; at <= trace->end; at += tick) {
        double x = x_of(trace, at);
        cli_svg_line(svg, x, TOP - 6, x, bottom, 1, "#dddddd");
        cli_svg_textf(svg, x, TOP - 12, &tick_font, "%g", (double)at / units[u].ns);
    }
    cli_svg_textf(svg, LEFT - 24, TOP - 12, &row_font, "time, %s", units[u].unit);
}

/* ---- rows ---------------------------------------------------------------------------------------------------------- */

/* Draw a row as a bar per pixel. A bar's height is the share of the pixel's time in which the track was active. */
static void draw_row(cli_svg *svg, const double share[], const char *colour, double opacity, double y)
{
    for (int c = 0, end; c < WIDTH; c = end) {
        int level = (int)ceil(share[c] * LEVELS - 1e-6);
        level = share[c] > 0 && level < 1 ? 1 : level > LEVELS ? LEVELS : level;
        for (end = c + 1; end < WIDTH; end++) {
            int next = (int)ceil(share[end] * LEVELS - 1e-6);
            next = share[end] > 0 && next < 1 ? 1 : next > LEVELS ? LEVELS : next;
            if (next != level)
                break;
        }
        if (level > 0)
            fprintf(svg->body, "<rect x=\"%d\" y=\"%g\" width=\"%d\" height=\"%d\" fill=\"%s\" fill-opacity=\"%g\"/>\n",
                    LEFT + c, y + BAR - level, end - c, level, colour, opacity);
    }
}

/* Write the names of kernels on those bars that are long enough, where no other name is. */
static void name_kernels(cli_svg *svg, const cli_timeline *trace, int p, double y)
{
    static const cli_font font = {10, "#ffffff", true, false, CLI_LEFT};
    const cli_peer *peer = &trace->peer[p];
    double named = 0;
    for (int64_t n = 0; n < peer->count && peer->event[n].track == CLI_COMPUTE; n++) {
        const cli_event *event = &peer->event[n];
        double x = x_of(trace, event->begin), width = x_of(trace, event->end) - x;
        double needed = cli_svg_width(&font, strlen(event->name)) + 6;
        if (event->name[0] == '\0' || x < named || needed >= width)
            continue;
        cli_svg_text(svg, x + 3, y + BAR - 4, &font, event->name);
        named = x + needed;
    }
}

/* ---- the critical path --------------------------------------------------------------------------------------------- */

/* The part of a row's line that is collected and not drawn yet. */
struct stretch {
    double begin, end; /* pixels; both are 0 before the path comes to the row */
};

static void draw_stretch(cli_svg *svg, const struct stretch *stretch, double row_y)
{
    double y = row_y + BAR + 1.5, length = stretch->end - stretch->begin;
    if (stretch->end > 0)
        cli_svg_line(svg, stretch->begin, y, length < 0.5 ? stretch->begin + 0.5 : stretch->end, y, 2, "#000000");
}

/* Draw a line below each row where the path passes it. Steps of a row that a viewer cannot tell apart are one line, also
 * if the path was in other rows in between, so that a row has at most two lines per pixel. */
static void draw_path(cli_svg *svg, const cli_timeline *trace, double (*row_y)[CLI_TRACKS])
{
    int count;
    cli_step *step = cli_trace_path(trace, &count);
    struct stretch(*row)[CLI_TRACKS] = cli_alloc((size_t)trace->peer_count, sizeof *row);
    for (int n = 0; n < count; n++) {
        if (step[n].event == NULL)
            continue;
        cli_track track = step[n].event->track;
        struct stretch *stretch = &row[step[n].peer][track];
        double begin = x_of(trace, step[n].begin), end = x_of(trace, step[n].end);
        if (stretch->begin - end >= 0.5 || stretch->end == 0) { /* the path goes backwards */
            draw_stretch(svg, stretch, row_y[step[n].peer][track]);
            stretch->end = end;
        }
        stretch->begin = begin;
    }
    for (int p = 0; p < trace->peer_count; p++)
        for (int t = 0; t < CLI_TRACKS; t++)
            draw_stretch(svg, &row[p][t], row_y[p][t]);
    free(row);
    free(step);
}

/* ---- all ----------------------------------------------------------------------------------------------------------- */

static double draw_peer(cli_svg *svg, const cli_timeline *trace, int p, double y, double row_y[CLI_TRACKS])
{
    const cli_peer *peer = &trace->peer[p];
    double share[WIDTH];
    cli_svg_line(svg, 8, y, LEFT + WIDTH, y, 1, "#bbbbbb");
    cli_svg_text(svg, 8, y + 15, &name_font, peer->name);
    char note[512];
    snprintf(note, sizeof note, "%.200s%s%.200s", peer->device, peer->missing[0] != '\0' ? "; " : "", peer->missing);
    if (peer->dropped > 0)
        snprintf(note + strlen(note), sizeof note - strlen(note), "; its first %lld events were dropped",
                 (long long)peer->dropped);
    cli_svg_text(svg, LEFT, y + 15, &note_font, note);
    y += HEADING;
    for (cli_track track = CLI_COMPUTE; track < CLI_TRACKS; track++) {
        row_y[track] = y;
        if (!cli_trace_shares(trace, p, track, NULL, WIDTH, share))
            continue;
        fprintf(svg->body,
                "<rect x=\"%d\" y=\"%g\" width=\"%d\" height=\"%d\" fill=\"#000000\" fill-opacity=\"0.04\"/>\n", LEFT,
                y, WIDTH, BAR);
        cli_svg_text(svg, LEFT - 10, y + BAR - 3, &row_font, cli_track_names[track]);
        /* pale: the program normally waits for its nodes, so this must not attract attention */
        draw_row(svg, share, colours[track], track == CLI_WAITING && p == trace->peer_count - 1 ? 0.3 : 1, y);
        if (track == CLI_COMPUTE && cli_trace_shares(trace, p, track, "stolen", WIDTH, share))
            draw_row(svg, share, stolen_colour, 1, y);
        if (track == CLI_COMPUTE)
            name_kernels(svg, trace, p, y);
        y += ROW;
    }
    return y + GAP;
}

/* @return where the next entry begins */
static double draw_entry(cli_svg *svg, double x, double y, const char *colour, const char *words)
{
    fprintf(svg->body, "<rect x=\"%g\" y=\"%g\" width=\"12\" height=\"12\" fill=\"%s\"/>\n", x, y, colour);
    cli_svg_text(svg, x + 17, y + 10, &note_font, words);
    return x + 32 + cli_svg_width(&note_font, strlen(words));
}

static void draw_legend(cli_svg *svg, double y)
{
    static const char *const words[CLI_TRACKS] = {"computing",  "moving in",
                                                  "moving out", "messages on the way",
                                                  "waiting",    "preparing: plan, compile, launch, allocate"};
    double x = LEFT;
    for (int t = 0; t < CLI_TRACKS; t++) {
        x = draw_entry(svg, x, y, colours[t], words[t]);
        if (t == CLI_COMPUTE)
            x = draw_entry(svg, x, y, stolen_colour, "computing for another node");
    }
    cli_svg_line(svg, x, y + 6, x + 14, y + 6, 2, "#000000");
    cli_svg_text(svg, x + 19, y + 10, &note_font, "critical path");
}

int cli_trace_draw(const cli_timeline *trace, const char *path)
{
    cli_svg svg;
    char title[256], text[CLI_TIME_BYTES];
    double(*row_y)[CLI_TRACKS] = cli_alloc((size_t)trace->peer_count, sizeof *row_y);
    double y = TOP;
    cli_svg_begin(&svg);
    FILE *body = svg.body;
    char *peers = NULL;
    size_t length = 0;
    /* Drawn into a file of their own, and copied over the lines of the axis, whose length is known only afterwards. */
    svg.body = open_memstream(&peers, &length);
    if (svg.body == NULL) {
        cli_fail("no memory is left for the picture");
        exit(CLI_FAILURE);
    }
    for (int p = 0; p < trace->peer_count; p++)
        y = draw_peer(&svg, trace, p, y, row_y[p]);
    draw_path(&svg, trace, row_y);
    fclose(svg.body);
    svg.body = body;
    snprintf(title, sizeof title, "%.150s: %d nodes, %s", trace->path, trace->peer_count - 1,
             cli_time(trace->end - trace->begin, text));
    cli_svg_text(&svg, 8, 20, &(cli_font){14, ink, false, true, CLI_LEFT}, title);
    draw_axis(&svg, trace, y);
    fwrite(peers, 1, length, svg.body);
    free(peers);
    draw_legend(&svg, y + 8);
    cli_svg_reach(&svg, LEFT + WIDTH + 24, y + 32);
    free(row_y);
    return cli_svg_end(&svg, title, path);
}
