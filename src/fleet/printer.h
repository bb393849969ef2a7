/* fleet/printer.h - shows the program's user what nodes print. A thread of its own does that, so that a terminal, a pipe or a
 * log_fn that takes nothing delays no node. */
#ifndef DCLI_FLEET_PRINTER_H
#define DCLI_FLEET_PRINTER_H

#include <stdbool.h>

#include "base/log.h"

enum { DCLI_PRINTER_LINE = 4600 /* most bytes of a line */ };

typedef struct dcli_printer dcli_printer;

/** @param log  where lines go, whatever its level. Copied. @return NULL (recorded). */
dcli_printer *dcli_printer_open(const dcli_log *log);
/** Show a line; it has been cleaned. Never waits: while more lines wait than there is room for, further ones are counted
 *  instead. Any thread. NULL is accepted, here and below. */
void dcli_printer_put(dcli_printer *printer, const char *line);
/** Wait until all lines that were put so far are shown, no longer than this. Where an earlier call has waited in vain for 100 ms
 *  or more, and nothing was shown since, do not wait.
 *  @return whether all were shown, or are waited for in vain: false where that was too short to tell. */
bool dcli_printer_flush(dcli_printer *printer, int milliseconds);
/** Whether the caller is the thread that shows lines: the program's function, which must not wait for itself. */
bool dcli_printer_shows_here(dcli_printer *printer);
/** Show what is left. The thread is left behind when standard error takes nothing for a second, or not all in five; a function
 *  of the program is waited for. */
void dcli_printer_close(dcli_printer *printer);

#endif
