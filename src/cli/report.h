/* cli/report.h - how the command reports errors, with the exit status. */
#ifndef CLI_REPORT_H
#define CLI_REPORT_H

#include <stddef.h>

enum {
    CLI_OK = 0,
    CLI_FAILURE = 1, /* the work could not be done */
    CLI_USAGE = 2    /* the command line is invalid */
};

/** Print "dcl: ..." to stderr. @return CLI_FAILURE */
__attribute__((format(printf, 1, 2))) int cli_fail(const char *format, ...);
/** Print the library's sentence, dcl_error(), without the name of the C function. @return CLI_FAILURE */
int cli_library_failed(void);
/** That sentence. */
const char *cli_library_sentence(void);
/** Print "dcl: COMMAND: ..." and where to find help. @return CLI_USAGE */
__attribute__((format(printf, 2, 3))) int cli_usage(const char *command, const char *format, ...);

/** Allocate zeroed memory; ends the program with a sentence if there is none. Never NULL. */
void *cli_alloc(size_t count, size_t bytes);

#endif
