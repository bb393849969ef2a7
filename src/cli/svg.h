/* cli/svg.h - write a picture as SVG: elements first, the size and the file at the end.
 * Coordinates are pixels from the upper left corner. Source: W3C, Scalable Vector Graphics (SVG) 1.1, second
 * edition. */
#ifndef CLI_SVG_H
#define CLI_SVG_H

#include <stdbool.h>
#include <stdio.h>

/** A picture that is being drawn. The fields are for svg.c, except `body`, to which elements may be written with
 *  fprintf(). */
typedef struct cli_svg {
    FILE *body;
    char *text; /* what was written to `body` */
    size_t length;
    double width, height; /* size of the picture so far */
} cli_svg;

typedef enum cli_anchor { CLI_LEFT, CLI_MIDDLE, CLI_RIGHT } cli_anchor;

/** How a text is set. */
typedef struct cli_font {
    double size;
    const char *fill; /* "#rrggbb" */
    bool mono, bold;
    cli_anchor anchor; /* which point of the text is at x */
} cli_font;

/** Begin a picture. Ends the program with a sentence if there is no memory. */
void cli_svg_begin(cli_svg *svg);
/** Extend the picture to include this corner. */
void cli_svg_reach(cli_svg *svg, double right, double bottom);
/** Estimated width of a text of this many characters; the viewer's fonts are unknown. */
double cli_svg_width(const cli_font *font, size_t characters);
/** Write text on the base line y. Characters that XML excludes are replaced. */
void cli_svg_text(cli_svg *svg, double x, double y, const cli_font *font, const char *text);
__attribute__((format(printf, 5, 6))) void cli_svg_textf(cli_svg *svg, double x, double y, const cli_font *font,
                                                         const char *format, ...);
/** A line from one point to another. */
void cli_svg_line(cli_svg *svg, double x0, double y0, double x1, double y1, double weight, const char *stroke);

/** Distance of the marks on an axis of this length: a round number of which 5 to 12 fit. */
double cli_svg_tick(double span);

/** Write the picture to a file and free it. @param title  a description for those who cannot see it. @param path  a
 *  file; "-": stdout. @return CLI_OK, or CLI_FAILURE after a sentence: the file cannot be written. */
int cli_svg_end(cli_svg *svg, const char *title, const char *path);
/** Free a picture without writing it. */
void cli_svg_drop(cli_svg *svg);

#endif
