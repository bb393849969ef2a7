/* cli/progress.h - a line on the terminal for long work: its current part, its rate and the time left. */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

/** When the line is shown. */
typedef enum cli_progress_when {
    CLI_PROGRESS_AUTO,   /* if stderr is a terminal */
    CLI_PROGRESS_ALWAYS, /* also otherwise: then each update is a line of its own, every few seconds */
    CLI_PROGRESS_NEVER
} cli_progress_when;

/** Start: if the work takes longer than a second, the line is shown and updated. */
void cli_progress_begin(cli_progress_when when);
/** Begin a part of the work: set the text of the line, and the progress to 0. */
__attribute__((format(printf, 1, 2))) void cli_progress_say(const char *format, ...);
/** Set how much of the current part is done. The rate is the mean since cli_progress_say().
 *  @param unit  plural, for numbers of them; "B": bytes. */
void cli_progress_count(double done, double total, const char *unit);
/** Stop and remove the line. May be called at any time, also twice. */
void cli_progress_end(void);

#endif
