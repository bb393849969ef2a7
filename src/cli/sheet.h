/* cli/sheet.h - the cells of a picture of a map: who owns each, and where segments, blocks and tiles end. */
#ifndef CLI_SHEET_H
#define CLI_SHEET_H

#include "cli/scale.h"
#include "cli/survey.h"

/** What a cell stands for: its first element. */
typedef struct cli_cell {
    int node;                     /* -1: no node stores it */
    int64_t segment, block, tile; /* numbers, compared only */
} cli_cell;

/** Lines between neighbouring cells, by falling weight. */
typedef enum cli_edge { CLI_EDGE_NONE, CLI_EDGE_BLOCK, CLI_EDGE_SEGMENT, CLI_EDGE_TILE, CLI_EDGES } cli_edge;

/** Some rows and columns of a grid. Of a grid of rank 1 a plane is a stretch, in one row. */
typedef struct cli_plane {
    int64_t index[DCL_MAX_RANK]; /* of its first element */
    int64_t rows, columns;
    cli_cell *cell; /* [rows][columns] */
} cli_plane;

enum { CLI_MOST_PLANES = 16 };

typedef struct cli_sheet {
    const dcl_grid *grid;
    cli_scale rows, columns;     /* of all planes; of rank 1 `rows` is one */
    int64_t depth[DCL_MAX_RANK]; /* planes alike with the one that is shown, per axis before the last two */
    int planes;
    int64_t all_planes; /* with those left out */
    cli_plane plane[CLI_MOST_PLANES];
    bool shown[CLI_EDGES]; /* lines that tell something: not where every tile is all that its node has, ... */
    bool seen[CLI_EDGES];  /* those that lie between some cells, and under no heavier one */
    bool tiles_known;      /* false: there are too many of them */
    bool one_tile;         /* of each node that is seen */
} cli_sheet;

/** How much is drawn. */
typedef struct cli_limits {
    int64_t rows, columns; /* cells of a plane */
    int64_t across;        /* rank 1: elements of a stretch */
    int planes;            /* at most CLI_MOST_PLANES */
} cli_limits;

/** Fill the cells of a grid that has elements. `grid` is borrowed.
 *  @return CLI_OK, or CLI_FAILURE after a sentence. End it with cli_sheet_free(). */
int cli_sheet_make(const dcl_map *map, const dcl_grid *grid, const cli_survey *survey, const cli_limits *limits,
                   cli_sheet *sheet_out);
void cli_sheet_free(cli_sheet *sheet);

/** The line between two cells of a sheet. */
cli_edge cli_edge_between(const cli_sheet *sheet, const cli_cell *a, const cli_cell *b);

#endif
