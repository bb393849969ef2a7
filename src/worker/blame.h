/* worker/blame.h - the body that an error text about a loss blames. Code that runs nodes writes the text, all peers
 * read it. */
#ifndef DCLI_WORKER_BLAME_H
#define DCLI_WORKER_BLAME_H

#include <stdint.h>

/** The number of the body that an error text blames for a loss: one whose kernels alone ran, or that was compiled, when
 *  the process crashed or exceeded a time limit; 0: none. The last number in the text counts, because the text quotes
 *  bodies. */
int64_t dcli_blamed_body(const char *sentence);
/** Remove from a quoted text what dcli_blamed_body() would find in it. */
void dcli_blame_nobody(char *text);

#endif
