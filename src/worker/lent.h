/* worker/lent.h - memory that the program lends to a READ or WRITE, and takes back when its call returns, whether or not
 * the operation is complete by then. Locked inside: whoever copies holds the lock meanwhile, and taking back waits for it.
 * Has a hold for the call, and one for everyone who keeps it. */
#ifndef DCLI_WORKER_LENT_H
#define DCLI_WORKER_LENT_H

#include <dcl/base.h>

typedef struct dcli_lent dcli_lent;

/** @return the memory with the call's hold; NULL (recorded). */
dcli_lent *dcli_lend(void *memory);
/** The call ends: nobody touches the memory from now on. Ends the call's hold. NULL is accepted. */
void dcli_lent_take_back(dcli_lent *lent);

/** One more hold. NULL is passed through. */
dcli_lent *dcli_lent_keep(dcli_lent *lent);
/** End a hold. NULL is accepted. */
void dcli_lent_release(dcli_lent *lent);
/** Begin to copy. @return the memory, until dcli_lent_end_use(); NULL: it was taken back, and nothing has begun. */
void *dcli_lent_use(dcli_lent *lent);
void dcli_lent_end_use(dcli_lent *lent);

#endif
