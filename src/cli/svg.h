/* cli/svg.h - writing a picture as SVG: what is drawn first, its size and the file at the end.
 * Coordinates are pixels from the upper left corner. Source: W3C, Scalable Vector Graphics (SVG) 1.1, second edition. */
#ifndef CLI_SVG_H
#define CLI_SVG_H

#include <stdbool.h>
#include <stdio.h>

/** A picture that is being drawn. Fields are for svg.c but `body`, to which elements may be written with fprintf(). */
typedef struct cli_svg {
    FILE *body;
    char *text; /* of body */
    size_t length;
    double width, height; /* so far */
} cli_svg;

typedef enum cli_anchor { CLI_LEFT, CLI_MIDDLE, CLI_RIGHT } cli_anchor;

/** How a text is set. */
typedef struct cli_font {
    double size;
    const char *fill; /* "#rrggbb" */
    bool mono, bold;
    cli_anchor anchor; /* what of the text lies at x */
} cli_font;

/** Ends the program with a sentence when there is no memory. */
void cli_svg_begin(cli_svg *svg);
/** Make the picture large enough for this corner. */
void cli_svg_reach(cli_svg *svg, double right, double bottom);
/** Width of a text of so many characters: an estimate, as the fonts of whoever looks are not known. */
double cli_svg_width(const cli_font *font, size_t characters);
/** Write text on the base line y. Characters that XML does not have are replaced. */
void cli_svg_text(cli_svg *svg, double x, double y, const cli_font *font, const char *text);
__attribute__((format(printf, 5, 6))) void cli_svg_textf(cli_svg *svg, double x, double y, const cli_font *font,
                                                         const char *format, ...);
/** A line from one point to another. */
void cli_svg_line(cli_svg *svg, double x0, double y0, double x1, double y1, double weight, const char *stroke);

/** Write the picture and end it.
 *  @param title  what it shows, for those who cannot see it. @param path  a file; "-": stdout.
 *  @return CLI_OK, or CLI_FAILURE after a sentence: the file cannot be written. */
int cli_svg_end(cli_svg *svg, const char *title, const char *path);
/** End a picture that is not wanted any more. */
void cli_svg_drop(cli_svg *svg);

#endif
