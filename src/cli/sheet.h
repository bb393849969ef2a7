/* cli/sheet.h - the cells of a map's picture: who owns each, and where segments, blocks and tiles end. */
#ifndef CLI_SHEET_H
#define CLI_SHEET_H

#include "cli/scale.h"
#include "cli/survey.h"

/** A cell, represented by its first element. */
typedef struct cli_cell {
    int node;                     /* -1: no node stores it */
    int64_t segment, block, tile; /* numbers of the segment, block and tile that contain it; only compared */
} cli_cell;

/** Kinds of lines between neighbouring cells, from light to heavy. */
typedef enum cli_edge { CLI_EDGE_NONE, CLI_EDGE_BLOCK, CLI_EDGE_SEGMENT, CLI_EDGE_TILE, CLI_EDGES } cli_edge;

/** A plane: some rows and columns of a grid. For rank 1, a stretch, in one row. */
typedef struct cli_plane {
    int64_t index[DCL_MAX_RANK]; /* of its first element */
    int64_t rows, columns;
    cli_cell *cell; /* [rows][columns] */
} cli_plane;

enum { CLI_MOST_PLANES = 16 };

typedef struct cli_sheet {
    const dcl_grid *grid;
    cli_scale rows, columns;     /* scales of all planes; for rank 1 `rows` is one */
    int64_t depth[DCL_MAX_RANK]; /* number of planes that look like the one shown, per axis before the last two */
    int planes;
    int64_t all_planes; /* number of planes, including those that are not drawn */
    cli_plane plane[CLI_MOST_PLANES];
    bool shown[CLI_EDGES]; /* kinds of lines worth drawing: not tiles if each node has only one, ... */
    bool seen[CLI_EDGES];  /* kinds of lines that occur, not covered by heavier ones */
    bool tiles_known;      /* false: there are too many of them */
    bool one_tile;         /* each visible node has one tile */
} cli_sheet;

/** Limits on how much is drawn. */
typedef struct cli_limits {
    int64_t rows, columns; /* cells of a plane */
    int64_t across;        /* rank 1: elements of a stretch */
    int planes;            /* at most CLI_MOST_PLANES */
} cli_limits;

/** Compute the cells of a non-empty grid, which is borrowed. @return CLI_OK, or CLI_FAILURE after a sentence. Free the
 *  sheet with cli_sheet_free(). */
int cli_sheet_make(const dcl_map *map, const dcl_grid *grid, const cli_survey *survey, const cli_limits *limits,
                   cli_sheet *sheet_out);
void cli_sheet_free(cli_sheet *sheet);

/** The line between two cells of a sheet. */
cli_edge cli_edge_between(const cli_sheet *sheet, const cli_cell *a, const cli_cell *b);

#endif
