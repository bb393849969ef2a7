/* cli/explained.c - print reports to stdout. */
#include "cli/explained.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/report.h"

int cli_explain_parse(const char *command, const char *text, bool *json_out)
{
    if (text != NULL && strcmp(text, "json") != 0)
        return cli_usage(command, "--explain is '%s'; expected --explain, or --explain=json", text);
    *json_out |= text != NULL;
    return CLI_OK;
}

void cli_report_show(const dcl_report *report, bool json)
{
    dcl_report_format format = json ? DCL_REPORT_JSON : DCL_REPORT_TEXT;
    size_t bytes = dcl_report_print(report, format, NULL, 0) + 1;
    char *text = cli_alloc(bytes, 1);
    dcl_report_print(report, format, text, bytes);
    fputs(text, stdout);
    free(text);
}
