/* cli/chart.h - draw curves over an axis of numbers of nodes, as SVG. */
#ifndef CLI_CHART_H
#define CLI_CHART_H

#include <stdbool.h>

enum { CLI_MOST_CURVES = 8, CLI_MOST_POINTS = 64, CLI_CURVE_NAME = 64 };

typedef struct cli_curve {
    char name[CLI_CURVE_NAME];
    bool is_reference; /* drawn thin, dashed and without marks */
    int count;
    double x[CLI_MOST_POINTS], y[CLI_MOST_POINTS]; /* [count] x ascending and positive */
} cli_curve;

typedef struct cli_chart {
    const char *title, *note; /* the note is written below the title */
    const char *x_label, *y_label;
    bool log_y;       /* values are positive; the axis of x is always logarithmic */
    double least_top; /* the axis of y reaches at least this value */
    int count;
    cli_curve curve[CLI_MOST_CURVES];
} cli_chart;

/** Draw into a file; "-": stdout. @return CLI_OK, or CLI_FAILURE after a sentence. */
int cli_chart_draw(const cli_chart *chart, const char *path);

#endif
