/* cli/operand.c - parse the pairs of eval's command line. */
#include "cli/operand.h"

#include <ctype.h>
#include <errno.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cli/report.h"
#include "cli/shape.h"

char *cli_split_name(char *text, char name_out[CLI_NAME_BYTES])
{
    size_t length = 0;
    while (isalnum((unsigned char)text[length]) || text[length] == '_')
        length++;
    if (length == 0 || length >= CLI_NAME_BYTES || isdigit((unsigned char)text[0]) || text[length] != '=')
        return NULL;
    memcpy(name_out, text, length);
    name_out[length] = '\0';
    return text + length + 1;
}

/* The field after the last colon, or NULL. */
static char *last_field(char *path)
{
    char *colon = strrchr(path, ':');
    return colon != NULL ? colon + 1 : NULL;
}

static int take_shape(cli_operand *operand)
{
    char *shape = last_field(operand->path);
    if (shape == NULL || !cli_shape_meant(shape))
        return CLI_OK;
    char what[CLI_NAME_BYTES + 16];
    snprintf(what, sizeof what, "the shape of %s", operand->name);
    int status = cli_shape_parse("eval", what, shape, &operand->grid);
    shape[-1] = '\0';
    return status;
}

/* Whether a text has this ending, in letters of either case. */
static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text);
    return length >= strlen(end) && strcasecmp(text + length - strlen(end), end) == 0;
}

static bool is_image(const char *path) { return ends_with(path, ".png") || ends_with(path, ".pgm"); }

/* Refuse names of pictures that cannot be written: a .npy file under such a name would be a surprise. */
static int check_name(const cli_operand *operand)
{
    static const char *const others[] = {".jpg", ".jpeg", ".gif", ".bmp", ".tif", ".tiff", ".ppm", ".pbm", ".webp"};
    for (size_t n = 0; n < sizeof others / sizeof others[0]; n++)
        if (ends_with(operand->path, others[n]))
            return cli_usage("eval", "the file of %s is %s; expected a .npy file, or for a picture .png or .pgm",
                             operand->name, operand->path);
    return CLI_OK;
}

static int take_type(cli_operand *operand)
{
    char *type = last_field(operand->path);
    if (type == NULL || cli_shape_meant(type))
        return CLI_OK;
    operand->grid.type = dcl_type_named(type);
    type[-1] = '\0';
    if (operand->grid.type != 0)
        return CLI_OK;
    char *shape = last_field(operand->path);
    bool type_meant = shape != NULL && cli_shape_meant(shape); /* c.npy:100x200:flaot */
    type_meant |= (ends_with(operand->path, ".npy") || is_image(operand->path)) &&
                  type[strcspn(type, "./")] == '\0'; /* c.npy:flaot */
    type[-1] = ':';
    if (type_meant)
        return cli_usage("eval",
                         "type '%s' of %s is not known; expected int8, int16, int32, int64, uint8, uint16, "
                         "uint32, uint64, half, float or double behind the file or its shape",
                         type, operand->name);
    return CLI_OK;
}

int cli_operand_parse(char *text, cli_operand *operand_out)
{
    cli_operand operand = {.path = cli_split_name(text, operand.name)};
    if (operand.path == NULL)
        return cli_usage("eval",
                         "argument '%s' is not NAME=FILE[:SHAPE][:TYPE]; expected something such as A=a.npy or "
                         "C=c.npy:100x200:float behind the body",
                         text);
    int status = take_type(&operand);
    if (status == CLI_OK)
        status = take_shape(&operand);
    if (status != CLI_OK)
        return status;
    if (operand.path[0] == '\0')
        return cli_usage("eval", "%s has no file; expected %s=FILE.npy", operand.name, operand.name);
    operand.image = is_image(operand.path);
    *operand_out = operand;
    return check_name(&operand);
}

static int not_a_value(const char *command, const char *name, const char *text)
{
    return cli_usage(command,
                     "the value of %s is '%s'; expected a whole number such as 3 (int64), 0.5 or 1e-3 (double) "
                     "or 0.5f (float)",
                     name, text);
}

static bool is_hexadecimal(const char *text)
{
    text += *text == '-' || *text == '+';
    return text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
}

static int parse_whole(const char *command, const char *name, const char *text, dcl_arg *arg_out)
{
    char *end;
    errno = 0;
    intmax_t value = strtoimax(text, &end, is_hexadecimal(text) ? 16 : 10);
    if (end == text || *end != '\0')
        return not_a_value(command, name, text);
    if (errno != 0)
        return cli_usage(command, "the value of %s is %s; expected %" PRId64 "..%" PRId64 "; write %s.0 for a double",
                         name, text, INT64_MIN, INT64_MAX, text);
    *arg_out = dcl_arg_signed(name, DCL_INT64, value);
    return CLI_OK;
}

static int parse_floating(const char *command, const char *name, const char *text, dcl_arg *arg_out)
{
    char *end;
    double value = strtod(text, &end);
    bool single = (*end == 'f' || *end == 'F') && end > text;
    end += single;
    if (end == text || *end != '\0')
        return not_a_value(command, name, text);
    bool infinity_meant = strpbrk(text, "iI") != NULL;
    if (!infinity_meant && fabs(value) > (single ? (double)FLT_MAX : DBL_MAX))
        return cli_usage(command, "the value of %s is %s; expected at most %g for a %s", name, text,
                         single ? (double)FLT_MAX : DBL_MAX, single ? "float; leave out the f" : "double");
    *arg_out =
        single ? dcl_arg_floating(name, DCL_FLOAT, strtof(text, NULL)) : dcl_arg_floating(name, DCL_DOUBLE, value);
    return CLI_OK;
}

int cli_value_parse(const char *command, const char *name, const char *text, dcl_arg *arg_out)
{
    if (text[0] == '\0' || isspace((unsigned char)text[0]))
        return not_a_value(command, name, text);
    bool floating = !is_hexadecimal(text) && strpbrk(text, ".eEfFnNiI") != NULL;
    return floating ? parse_floating(command, name, text, arg_out) : parse_whole(command, name, text, arg_out);
}
