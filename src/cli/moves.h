/* cli/moves.h - what a body moves between nodes, and drawing it. */
#ifndef CLI_MOVES_H
#define CLI_MOVES_H

#include <dcl.h>

#include "cli/map_request.h"

/** An array of the body as it is laid out. */
typedef struct cli_moved_array {
    char name[CLI_NAME_BYTES];
    dcl_grid grid;
    dcl_map *map;
    char *text; /* of the map */
    dcl_access access;
    dcl_array *array;
} cli_moved_array;

/** What moves between two nodes; they are places in the list of those that take part. */
typedef struct cli_move {
    int from, to;
    int64_t bytes;
} cli_move;

typedef struct cli_moves {
    const char *body;
    int nodes;       /* of the cluster */
    int array_count; /* outputs first */
    cli_moved_array array[CLI_MAP_MOST];
    int taking_part; /* nodes that compute or give something */
    int *node;       /* [taking_part] their numbers, rising */
    int move_count;
    cli_move *move;        /* [move_count] by from, then to */
    int64_t bytes, blocks; /* as planned, in all: what an array gives and takes counts once there */
    int64_t largest;       /* bytes of a move */
    dcl_report *report;    /* what was asked */
} cli_moves;

/** Find the arrays of the body that a request gives and ask the library what moves. Names with a capital before a
 *  parenthesis are arrays, and those that are assigned to or named in the request; other names there are functions.
 *  Shapes that are not given are inferred, or that of the first output.
 *  @param cluster  that only plans.
 *  @return CLI_OK, or CLI_USAGE or CLI_FAILURE after a sentence. End it with cli_moves_free() before the cluster. */
int cli_moves_make(const cli_map_request *request, dcl_cluster *cluster, cli_moves *moves_out);
void cli_moves_free(cli_moves *moves);

/** Draw the moves to stdout: a line for each, or, when these are many, a square of shades. */
void cli_moves_draw(const cli_moves *moves);
/** Draw the arrays and the moves: arrows between nodes, or, when these are many, a square of shades.
 *  @param path  a file; "-": stdout. @return CLI_OK, or CLI_FAILURE after a sentence. */
int cli_moves_svg(const cli_moves *moves, const char *path);

#endif
