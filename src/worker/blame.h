/* worker/blame.h - which body a sentence on a loss blames: those who run nodes write it, all peers read it. */
#ifndef DCLI_WORKER_BLAME_H
#define DCLI_WORKER_BLAME_H

#include <stdint.h>

/** The number of the body that the sentence on a loss blames for it: one whose kernels alone ran, or that was compiled, when
 *  the process crashed or exceeded its time; 0: none. The last one in the sentence counts, as texts of bodies are in it. */
int64_t dcli_blamed_body(const char *sentence);
/** Remove from a text of others, which is to be part of such a sentence, what dcli_blamed_body() would read in it. */
void dcli_blame_nobody(char *text);

#endif
