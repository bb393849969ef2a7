/* cli/json.h - the part of JSON that the command writes. Source: RFC 8259. */
#ifndef CLI_JSON_H
#define CLI_JSON_H

#include <stdio.h>

/** Write a string with quotation marks. Valid UTF-8 is unchanged; other bytes beyond ASCII are written as Latin-1
 *  characters, so that the result is always valid. */
void cli_json_string(FILE *file, const char *text);

#endif
