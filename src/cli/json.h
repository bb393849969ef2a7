/* cli/json.h - the little of JSON that the command writes. Source: RFC 8259. */
#ifndef CLI_JSON_H
#define CLI_JSON_H

#include <stdio.h>

/** Write a string with its quotation marks. UTF-8 stays as it is; other bytes beyond ASCII are written as the characters
 *  of Latin-1, so that the result is valid whatever they were. */
void cli_json_string(FILE *file, const char *text);

#endif
