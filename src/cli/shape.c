/* cli/shape.c - parse and print shapes. */
#include "cli/shape.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/report.h"

bool cli_shape_meant(const char *text)
{
    return text[strspn(text, "0123456789xX*,- ")] == '\0' && strpbrk(text, "0123456789") != NULL;
}

static int not_a_shape(const char *command, const char *what, const char *text)
{
    return cli_usage(command, "%s '%s' is not a shape; expected 1 to %d whole numbers joined by x, such as 100x200",
                     what, text, DCL_MAX_RANK);
}

int cli_shape_parse(const char *command, const char *what, const char *text, dcl_grid *grid_out)
{
    dcl_grid grid = {.type = grid_out->type};
    for (const char *rest = text;;) {
        if (!isdigit((unsigned char)*rest) || grid.rank == DCL_MAX_RANK)
            return not_a_shape(command, what, text);
        char *end;
        errno = 0;
        grid.extent[grid.rank++] = strtoimax(rest, &end, 10);
        if (errno != 0)
            return cli_usage(command, "axis %d of %s '%s' is too long; expected at most %" PRId64 " elements",
                             grid.rank - 1, what, text, INT64_MAX);
        if (*end == '\0')
            break;
        if (*end != 'x')
            return not_a_shape(command, what, text);
        rest = end + 1;
    }
    *grid_out = grid;
    return CLI_OK;
}

const char *cli_shape_print(const dcl_grid *grid, char text_out[CLI_SHAPE_BYTES])
{
    size_t used = 0;
    text_out[0] = '\0';
    for (int d = 0; d < grid->rank; d++)
        used +=
            (size_t)snprintf(text_out + used, CLI_SHAPE_BYTES - used, "%s%" PRId64, d > 0 ? "x" : "", grid->extent[d]);
    return text_out;
}
