/* cli/eval_results.h - the values to which eval's body reduces arrays. */
#ifndef CLI_EVAL_RESULTS_H
#define CLI_EVAL_RESULTS_H

#include <stdio.h>

#include "cli/eval_request.h"

/** Find the names that the body reduces: no arrays, values or variables of its own. Their type: double, or int64 or uint64 if all
 *  inputs are integers or all uint64. The operands' types are known. @return CLI_OK, or CLI_FAILURE after a sentence. */
int cli_results_find(cli_request *request);
/** The argument for a result. */
dcl_arg cli_result_arg(cli_result *result);
/** Print `name = value` lines, with as many digits as distinguish the value from others of its type. */
void cli_results_lines(const cli_request *request, FILE *file);
/** Print "results": {"name": value, ...}. Values that JSON does not have are strings: "nan", "inf", "-inf". */
void cli_results_json(const cli_request *request, FILE *file);

#endif
