/* worker/lent.h - memory that the program lends to a READ or WRITE, and takes back when its call returns, whether or
 * not the operation is complete. Taking it back waits for running copies. Thread-safe. Reference-counted: one reference
 * for the call, and one for each holder. */
#ifndef DCLI_WORKER_LENT_H
#define DCLI_WORKER_LENT_H

#include <dcl/base.h>

typedef struct dcli_lent dcli_lent;

/** Lend memory. @return a handle with the call's reference; NULL (recorded). */
dcli_lent *dcli_lend(void *memory);
/** Take the memory back: from now on nobody accesses it. Drops the call's reference. NULL is accepted. */
void dcli_lent_take_back(dcli_lent *lent);

/** Add a reference. NULL is passed through. */
dcli_lent *dcli_lent_keep(dcli_lent *lent);
/** Drop a reference. NULL is accepted. */
void dcli_lent_release(dcli_lent *lent);
/** Begin copying; several threads may copy at a time. @return the memory, until dcli_lent_end_use(); NULL: it was taken
 *  back. */
void *dcli_lent_use(dcli_lent *lent);
/** End copying. From any thread. */
void dcli_lent_end_use(dcli_lent *lent);

#endif
