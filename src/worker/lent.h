/* worker/lent.h - memory of the program that a READ or WRITE may use until its call returns, even if the operation is
 * not complete then. When the call returns it takes the memory back, which waits for running copies; later copies find
 * none. Thread-safe. Reference-counted: one reference for the call, and one for each holder. */
#ifndef DCLI_WORKER_LENT_H
#define DCLI_WORKER_LENT_H

#include <dcl/base.h>

typedef struct dcli_lent dcli_lent;

/** Lend memory. @return a handle with the call's reference; NULL (recorded). */
dcli_lent *dcli_lend(void *memory);
/** Take the memory back: waits for running copies; from now on nobody accesses the memory. Drops the call's reference.
 *  NULL is accepted. */
void dcli_lent_take_back(dcli_lent *lent);

/** Add a reference. NULL is passed through. */
dcli_lent *dcli_lent_keep(dcli_lent *lent);
/** Drop a reference. NULL is accepted. */
void dcli_lent_release(dcli_lent *lent);
/** Begin a copy; several threads may copy at the same time. @return the memory, valid until dcli_lent_end_use(); NULL:
 *  it was taken back. */
void *dcli_lent_use(dcli_lent *lent);
/** End copying. From any thread. */
void dcli_lent_end_use(dcli_lent *lent);

#endif
