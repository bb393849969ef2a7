/* cli/moves.h - what a body moves between nodes, and drawing it. */
#ifndef CLI_MOVES_H
#define CLI_MOVES_H

#include <dcl.h>

#include "cli/map_request.h"

/** An array of the body with its map and grid. */
typedef struct cli_moved_array {
    char name[CLI_NAME_BYTES];
    dcl_grid grid;
    dcl_map *map;
    char *text; /* text of the map, for the title */
    dcl_access access;
    dcl_array *array;
} cli_moved_array;

/** What moves between two nodes, given as indices in the list of participating nodes. */
typedef struct cli_move {
    int from, to;
    int64_t bytes;
} cli_move;

typedef struct cli_moves {
    const char *body;
    int nodes;       /* number of nodes of the cluster */
    int array_count; /* outputs first */
    cli_moved_array array[CLI_MAP_MOST];
    int taking_part; /* number of nodes that compute or send something */
    int *node;       /* [taking_part] their numbers, ascending */
    int move_count;
    cli_move *move;        /* [move_count] sorted by from, then to */
    int64_t bytes, blocks; /* planned totals; an element that is both read and written counts once */
    int64_t largest;       /* bytes of the largest move */
    dcl_report *report;    /* the library's report about the body */
} cli_moves;

/** Find the arrays of a request's body, and ask the library what moves. Arrays are: names with a capital letter before
 *  a parenthesis, names that are assigned to, and names in the request; other names before a parenthesis are functions.
 *  Missing shapes are inferred, or taken from the first output.
 *  @param cluster  one that only plans.
 *  @return CLI_OK, or CLI_USAGE or CLI_FAILURE after a sentence. Free the result with cli_moves_free() before the
 *          cluster. */
int cli_moves_make(const cli_map_request *request, dcl_cluster *cluster, cli_moves *moves_out);
void cli_moves_free(cli_moves *moves);

/** Draw the moves to stdout: a line per move, or a heat map if there are many. */
void cli_moves_draw(const cli_moves *moves);
/** Draw the arrays and the moves: arrows between nodes, or a heat map if there are many. @param path  a file; "-":
 *  stdout. @return CLI_OK, or CLI_FAILURE after a sentence. */
int cli_moves_svg(const cli_moves *moves, const char *path);

#endif
