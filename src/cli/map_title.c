/* cli/map_title.c - the title of a map's picture. */
#include "cli/map_title.h"

#include <stdio.h>
#include <stdlib.h>

#include "cli/report.h"

char *cli_map_title(const dcl_map *map, const char *given)
{
    enum { MORE = 96 };
    dcl_config config;
    size_t bytes = dcl_map_print(map, NULL, 0) + 1;
    char *text = cli_alloc(bytes, 1);
    dcl_map_print(map, text, bytes);
    if (given != NULL || dcl_config_read(&config) != DCL_OK || config.map != NULL)
        return text;
    char *title = cli_alloc(bytes + MORE, 1);
    snprintf(title, bytes + MORE, "default (%s; arrays below %zu bytes on one node)", text, config.small_bytes);
    free(text);
    return title;
}
