/* cli/explained.h - showing a report of the library; shared by eval and map. */
#ifndef CLI_EXPLAINED_H
#define CLI_EXPLAINED_H

#include <dcl.h>

/** Read what stands behind --explain=. @param text  NULL: nothing does, and *json_out stays.
 *  @return CLI_OK, or CLI_USAGE after a sentence. */
int cli_explain_parse(const char *command, const char *text, bool *json_out);

/** Print a report to stdout. */
void cli_report_show(const dcl_report *report, bool json);

#endif
