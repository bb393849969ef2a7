/* cli/progress.h - one line on the terminal that says what takes so long. */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

/** Start: if stderr is a terminal and the work takes longer than a second, a line is shown and updated. Otherwise
 *  nothing is printed. */
void cli_progress_begin(void);
/** Set the text of the line. */
__attribute__((format(printf, 1, 2))) void cli_progress_say(const char *format, ...);
/** Stop and remove the line. May be called at any time, also twice. */
void cli_progress_end(void);

#endif
