/* cli/region.h - the regions of a program: loops between `#pragma dcl loops CLAUSES` and `#pragma dcl end`. */
#ifndef CLI_REGION_H
#define CLI_REGION_H

#include <stdio.h>

#include <dcl.h>

#include "cli/number.h"

enum { CLI_REGION_ARRAYS = 32, CLI_REGION_VALUES = 64, CLI_REGION_COUNTERS = 64 };

/** A part of the tokens of a clause. */
typedef struct cli_part {
    const cli_token *token;
    int count;
} cli_part;

/** An array of a clause: `double A[n][m]`. */
typedef struct cli_region_array {
    dcl_access access; /* IN, INOUT, OUT */
    cli_part type;
    dcl_type element;
    cli_token name;
    int rank;
    cli_part extent[DCL_MAX_RANK];
    bool is_flat; /* the program writes one subscript: A[i*m+j] */
} cli_region_array;

/** A scalar that the loops read. */
typedef struct cli_region_value {
    cli_part type; /* count 0: of a size, or a constant; it is in no clause */
    dcl_type element;
    cli_token name;
} cli_region_value;

/** A counter of the region that is declared outside of it. */
typedef cli_token cli_region_counter;

typedef struct cli_region {
    const cli_token *pragma, *end; /* the two directives; between them are the tokens of the loops */
    cli_token *clause;             /* tokens of the clauses, yours */
    const char *text;              /* the loops: whole lines */
    int length;
    int array_count, value_count, counter_count;
    cli_region_array array[CLI_REGION_ARRAYS];
    cli_region_value value[CLI_REGION_VALUES];
    cli_region_counter counter[CLI_REGION_COUNTERS];
} cli_region;

/** Called for each region without errors, in the order of the text.
 *  @param region     a copy keeps what it points to until region->clause is freed, which is now the callee's.
 *  @param constants  that are known there. */
typedef void cli_region_fn(void *user, const cli_region *region, const cli_constants *constants);

/** Find all regions of a program. Errors are printed, and counted in source->errors.
 *  @return the number of regions, with or without errors. */
int cli_regions_find(cli_source *source, cli_region_fn *found, void *user);

/** Read the clauses of region->pragma. */
bool cli_region_clauses(cli_source *source, cli_region *region);
/** Find out which names the loops of a region use: which are counters, and which scalars that are in no clause. */
bool cli_region_names(cli_source *source, cli_region *region, const cli_constants *constants);
bool cli_region_is_type(const cli_token *token);

/** Write statements that give the counters the values that C's loops leave them.
 *  @param indent  before each line */
void cli_region_write_counters(FILE *out, const cli_region *region, const char *indent);
/** Write a program in which the regions are calls. @param regions  number of `region` */
void cli_regions_write(FILE *out, const cli_source *source, int count, const cli_region region[]);

#endif
