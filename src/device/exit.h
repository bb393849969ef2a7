/* device/exit.h - exit() of the program waits for compilers in other threads. */
#ifndef DCLI_DEVICE_EXIT_H
#define DCLI_DEVICE_EXIT_H

#include <stdbool.h>

/** Count this thread as one that compiles, until dcli_compiler_end(). exit() in another thread waits for it, at most 10 s. */
void dcli_compiler_begin(void);
void dcli_compiler_end(void);

/** The same for a compilation that nobody waits for, in a thread that is not started yet. That thread ends it with
 *  dcli_compiler_end_ahead(). @return false: exit() has begun, so do not compile. */
bool dcli_compiler_begin_ahead(void);
void dcli_compiler_end_ahead(void);

#endif
