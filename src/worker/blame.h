/* worker/blame.h - the body that caused the loss of a node, as far as the error text about the loss says. The code that
 * runs the nodes writes the text, all peers read it. */
#ifndef DCLI_WORKER_BLAME_H
#define DCLI_WORKER_BLAME_H

#include <stdint.h>

/** Get the number of the body that caused a loss: the only one that was being compiled, or whose kernels alone ran,
 *  when the process crashed or exceeded a time limit; 0: none. The text may quote bodies, so only its last number
 *  counts. */
int64_t dcli_blamed_body(const char *sentence);
/** Change a quoted text so that dcli_blamed_body() finds no number in it. */
void dcli_blame_nobody(char *text);

#endif
