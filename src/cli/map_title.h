/* cli/map_title.h - the title of a map's picture. */
#ifndef CLI_MAP_TITLE_H
#define CLI_MAP_TITLE_H

#include <dcl.h>

/** The title: the text of the requested map. The default map, unless DCL_MAP sets it, is followed by its limit. @param
 *  given  NULL: `map` is the default. @return freed by the caller. */
char *cli_map_title(const dcl_map *map, const char *given);

#endif
