/* fleet/printer.h - shows the program's user what nodes print. It uses a thread of its own, so that a blocked terminal,
 * pipe or log_fn delays no node. */
#ifndef DCLI_FLEET_PRINTER_H
#define DCLI_FLEET_PRINTER_H

#include <stdbool.h>

#include "base/log.h"

enum { DCLI_PRINTER_LINE = 4600 /* most bytes of a line */ };

typedef struct dcli_printer dcli_printer;

/** Make a printer. @param log  where lines go, whatever its level; copied. @return NULL (recorded). */
dcli_printer *dcli_printer_open(const dcli_log *log);
/** Queue a line, already escaped, to be shown. Never waits: if the queue is full, lines are counted and dropped. Any
 *  thread. NULL is accepted, here and below. */
void dcli_printer_put(dcli_printer *printer, const char *line);
/** Wait until all lines queued so far are shown, at most this long. Does not wait if an earlier call has timed out
 *  after 100 ms or more and nothing was shown since.
 *  @return true: all were shown, or nothing takes them; false: the time was too short to tell. */
bool dcli_printer_flush(dcli_printer *printer, int milliseconds);
/** Whether the caller runs inside the program's log_fn on the printing thread: it must not wait for itself. */
bool dcli_printer_shows_here(dcli_printer *printer);
/** Show the remaining lines and end. The thread is abandoned if standard error takes nothing for one second, or not
 *  everything in five. A log_fn of the program is waited for. */
void dcli_printer_close(dcli_printer *printer);

#endif
