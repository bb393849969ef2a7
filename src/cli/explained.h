/* cli/explained.h - print a report of the library; shared by eval and map. */
#ifndef CLI_EXPLAINED_H
#define CLI_EXPLAINED_H

#include <dcl.h>

/** Parse the value of --explain=. @param text  NULL: the option has no value, and *json_out is unchanged. @return
 *  CLI_OK, or CLI_USAGE after a sentence. */
int cli_explain_parse(const char *command, const char *text, bool *json_out);

/** Print a report to stdout. */
void cli_report_show(const dcl_report *report, bool json);

#endif
