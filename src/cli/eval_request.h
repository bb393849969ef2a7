/* cli/eval_request.h - what a command line of eval asks for, completed from its body and files. */
#ifndef CLI_EVAL_REQUEST_H
#define CLI_EVAL_REQUEST_H

#include "cli/operand.h"
#include "cli/progress.h"

enum { CLI_MAX_ARGUMENTS = 64 /* most arguments of a body, arrays and values together */, CLI_MAX_RESULTS = 8 };

/** A value that the body reduces to. */
typedef struct cli_result {
    char name[CLI_NAME_BYTES];
    dcl_type type; /* DCL_DOUBLE, DCL_INT64 or DCL_UINT64 */
    union {
        double f;
        int64_t i;
        uint64_t u;
    } value;
} cli_result;

typedef enum cli_file_order { CLI_ORDER_AS_INPUTS, CLI_ORDER_C, CLI_ORDER_FORTRAN } cli_file_order;

typedef struct cli_request {
    const char *body;
    const char *workers, *keys, *trace, *steal; /* NULL: those of the environment */
    int operand_count;
    cli_operand operand[CLI_MAX_ARGUMENTS];
    int value_count;
    dcl_arg value[CLI_MAX_ARGUMENTS]; /* their names are in value_name */
    char value_name[CLI_MAX_ARGUMENTS][CLI_NAME_BYTES];
    dcl_call_kind kind; /* found in the body: DCL_CALL_IS_BODY, REDUCTION or SCAN */
    int result_count;   /* more than 0: a reduction that writes no array */
    cli_result result[CLI_MAX_RESULTS];
    const char *over; /* the ranges of --over; NULL: none */
    const char *scan; /* the index of --scan; NULL: no scan */
    bool exclusive;
    bool explain, stats, json;
    cli_progress_when progress;
    int repeat;
    cli_file_order order;
    bool image_given; /* --bits or --grey */
    dcl_image image;
    /* Options --map, which are assigned to operands at the end: */
    const char *map; /* of all arrays without one of their own; NULL: the default */
    int map_count;
    const char *map_text[CLI_MAX_ARGUMENTS];
    char map_name[CLI_MAX_ARGUMENTS][CLI_NAME_BYTES];
} cli_request;

/** Parse the command line after "eval". The request points into `list`.
 *  @return CLI_OK; CLI_USAGE after a sentence; CLI_HELP after --help. */
int cli_request_parse(int count, char **list, cli_request *request_out);

/** Whether an operand or a scalar has this name. */
bool cli_request_has(const cli_request *request, const char *name);

/** Complete a request: determine how the body uses each array, inspect the input files, infer missing grids, and check
 *  that the output files can be written. Uses no device. @return CLI_OK, or CLI_FAILURE after a sentence. */
int cli_request_resolve(cli_request *request);

#endif
