/* cli/map_title.h - a map as it is called above a picture. */
#ifndef CLI_MAP_TITLE_H
#define CLI_MAP_TITLE_H

#include <dcl.h>

/** The text of a map that was asked for; the default one, unless DCL_MAP says another, has a limit beside it.
 *  @param given  NULL: `map` is the default. @return the caller's to free. */
char *cli_map_title(const dcl_map *map, const char *given);

#endif
