/* cli/svg.c - write SVG elements, and the file. */
#include "cli/svg.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/report.h"
#include "cli/utf8.h"

enum { MARGIN = 16, MOST_TEXT = 1024 };

void cli_svg_begin(cli_svg *svg)
{
    *svg = (cli_svg){0};
    svg->body = open_memstream(&svg->text, &svg->length);
    if (svg->body == NULL) {
        cli_fail("memory for a picture was refused; expected some to be free; end other programs");
        exit(CLI_FAILURE);
    }
}

void cli_svg_reach(cli_svg *svg, double right, double bottom)
{
    svg->width = right > svg->width ? right : svg->width;
    svg->height = bottom > svg->height ? bottom : svg->height;
}

double cli_svg_width(const cli_font *font, size_t characters)
{
    return (double)characters * font->size * (font->mono ? 0.602 : font->bold ? 0.68 : 0.6);
}

/* Write text escaped for XML. Control characters become spaces; DEL, bytes that are not UTF-8, U+FFFE and U+FFFF become
 * question marks. Source: W3C, Extensible Markup Language (XML) 1.0, fifth edition, section 2.2. */
static void write_escaped(FILE *file, const char *text)
{
    for (const unsigned char *at = (const unsigned char *)text; *at != '\0';) {
        int bytes = cli_utf8_bytes(at);
        bool never = bytes == 3 && at[0] == 0xef && at[1] == 0xbf && at[2] >= 0xbe;
        if (bytes > 0 && !never)
            fwrite(at, 1, (size_t)bytes, file);
        else if (*at == '&' || *at == '<' || *at == '>')
            fputs(*at == '&' ? "&amp;" : *at == '<' ? "&lt;" : "&gt;", file);
        else
            fputc(*at < 0x20 ? ' ' : *at < 0x7f ? *at : '?', file);
        at += bytes > 0 ? bytes : 1;
    }
}

void cli_svg_text(cli_svg *svg, double x, double y, const cli_font *font, const char *text)
{
    static const char *const anchors[] = {"start", "middle", "end"};
    fprintf(svg->body, "<text x=\"%g\" y=\"%g\" font-size=\"%g\" fill=\"%s\"", x, y, font->size, font->fill);
    if (font->mono)
        fputs(" font-family=\"monospace\"", svg->body);
    if (font->bold)
        fputs(" font-weight=\"bold\"", svg->body);
    if (font->anchor != CLI_LEFT)
        fprintf(svg->body, " text-anchor=\"%s\"", anchors[font->anchor]);
    fputs(">", svg->body);
    write_escaped(svg->body, text);
    fputs("</text>\n", svg->body);
    double width = cli_svg_width(font, strlen(text));
    cli_svg_reach(svg, font->anchor == CLI_RIGHT ? x : font->anchor == CLI_MIDDLE ? x + width / 2 : x + width, y + 4);
}

void cli_svg_textf(cli_svg *svg, double x, double y, const cli_font *font, const char *format, ...)
{
    char text[MOST_TEXT];
    va_list values;
    va_start(values, format);
    vsnprintf(text, sizeof text, format, values);
    va_end(values);
    cli_svg_text(svg, x, y, font, text);
}

void cli_svg_line(cli_svg *svg, double x0, double y0, double x1, double y1, double weight, const char *stroke)
{
    fprintf(svg->body, "<path d=\"M%g %gL%g %g\" stroke=\"%s\" stroke-width=\"%g\"/>\n", x0, y0, x1, y1, stroke,
            weight);
    cli_svg_reach(svg, x0 > x1 ? x0 : x1, y0 > y1 ? y0 : y1);
}

double cli_svg_tick(double span)
{
    span = span > 0 ? span : 1;
    double power = pow(10, floor(log10(span / 5)));
    double steps = span / 5 / power;
    return power * (steps >= 5 ? 5 : steps >= 2 ? 2 : 1);
}

void cli_svg_drop(cli_svg *svg)
{
    fclose(svg->body);
    free(svg->text);
    *svg = (cli_svg){0};
}

/* Write the whole picture, on a white background, because the page around it may be dark. */
static void write_picture(const cli_svg *svg, const char *title, FILE *file)
{
    int width = (int)svg->width + MARGIN, height = (int)svg->height + MARGIN;
    fprintf(file,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" role=\"img\" "
            "font-family=\"sans-serif\">\n<title>",
            width, height, width, height);
    write_escaped(file, title);
    fprintf(file, "</title>\n<rect width=\"%d\" height=\"%d\" fill=\"#ffffff\"/>\n", width, height);
    fwrite(svg->text, 1, svg->length, file);
    fputs("</svg>\n", file);
}

static int write_file(const cli_svg *svg, const char *title, const char *path)
{
    FILE *file = fopen(path, "w");
    if (file == NULL)
        return cli_fail("%s cannot be written: %s; expected a path that a file can have", path, strerror(errno));
    write_picture(svg, title, file);
    bool failed = ferror(file) != 0;
    failed = fclose(file) != 0 || failed;
    if (!failed)
        return CLI_OK;
    int error = errno;
    struct stat info;
    if (stat(path, &info) == 0 && S_ISREG(info.st_mode))
        unlink(path); /* an incomplete picture is removed */
    return cli_fail("%s cannot be written: %s; expected room for the picture", path, strerror(error));
}

int cli_svg_end(cli_svg *svg, const char *title, const char *path)
{
    int status = CLI_OK;
    if (fflush(svg->body) != 0)
        status = cli_fail("memory for a picture was refused; expected some to be free; end other programs");
    else if (strcmp(path, "-") == 0)
        write_picture(svg, title, stdout);
    else
        status = write_file(svg, title, path);
    cli_svg_drop(svg);
    return status;
}
