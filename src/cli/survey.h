/* cli/survey.h - how a map divides a grid, found by visiting the boxes of every node once. */
#ifndef CLI_SURVEY_H
#define CLI_SURVEY_H

#include <dcl.h>

typedef struct cli_survey {
    int nodes;                     /* number of nodes that the map uses */
    bool complete;                 /* false: the visit was ended because of too many boxes, and `owned` is too small */
    int *node;                     /* [nodes] their numbers, in the map's order */
    int largest;                   /* the largest of these numbers */
    int64_t *owned;                /* [nodes] number of elements that each node owns */
    int64_t *storage;              /* [nodes] elements of storage that a node needs */
    int64_t grain[DCL_MAX_RANK];   /* every border between boxes is a multiple of this */
    int64_t border[DCL_MAX_RANK];  /* every border between owners on some lines along the axis is a multiple of this */
    int64_t longest[DCL_MAX_RANK]; /* longest run of one owner on these lines */
} cli_survey;

/** Survey a map. @return CLI_OK, or CLI_FAILURE after a sentence. Free the result with cli_survey_free(). */
int cli_survey_make(const dcl_map *map, const dcl_grid *grid, cli_survey *survey_out);
void cli_survey_free(cli_survey *survey);

#endif
