/* cli/map_request.h - what a command line of map asks for. */
#ifndef CLI_MAP_REQUEST_H
#define CLI_MAP_REQUEST_H

#include "cli/operand.h"

enum { CLI_MAP_MOST = 64 }; /* most arrays, and most values, of a body */

/** What the command line says about an array of the body. */
typedef struct cli_map_array {
    char name[CLI_NAME_BYTES];
    dcl_grid grid;   /* the array's grid; rank 0: not given */
    const char *map; /* text of its map; NULL: not given */
} cli_map_array;

typedef struct cli_map_request {
    dcl_grid grid;   /* grid of the picture, or of the first output of the body; rank 0: not given */
    const char *map; /* text of the map to be drawn; NULL: the default */
    int nodes;
    bool owners, all_owners; /* print owners; even if there are many */
    const char *svg;         /* output file; "-": stdout; NULL: draw in the terminal */
    const char *body;        /* NULL: draw a map; else draw the moves of this body */
    bool explain, json;      /* print the body's report instead of a picture; as JSON */
    int array_count, value_count;
    cli_map_array array[CLI_MAP_MOST];
    dcl_arg value[CLI_MAP_MOST]; /* their names are in value_name */
    char value_name[CLI_MAP_MOST][CLI_NAME_BYTES];
} cli_map_request;

/** Parse the command line after "map". The request points into `list`, whose strings are cut into pieces.
 *  @return CLI_OK; CLI_USAGE after a sentence; CLI_HELP after --help. */
int cli_map_request_parse(int count, char **list, cli_map_request *request_out);

#endif
