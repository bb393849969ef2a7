/* runtime/foresight.h - what operations that are only looked at would change for those after them.
 *
 * What an operation moves depends on the operations before it, because they determine which lines around parts are valid
 * (workqueue/overlap.h). If several operations are looked at one after the other, as those of a loop nest, nothing is
 * recorded in the states of storages. So it is recorded here. The cluster's lock is held. */
#ifndef DCLI_RUNTIME_FORESIGHT_H
#define DCLI_RUNTIME_FORESIGHT_H

#include "runtime/cluster.h"

/** The valid lines of the storages that were used so far. {0}: none. */
typedef struct dcli_foresight {
    int64_t count, capacity;
    struct dcli_foreseen {
        const dcli_storage_state *state; /* compared only: another thread may have ended it, by dcl_remap() */
        int64_t storage; /* its id: a later state may have its address. Not compared alone, because an array that is
                            made for looking has the id of an array that is made later */
        dcli_valid_lines lines;
    } * of;
} dcli_foresight;

/** Find the valid lines of a storage as the operations so far would leave them. Those of a storage that is new here are the present ones.
 *  @return valid until another storage is new; NULL: no memory */
dcli_valid_lines *dcli_foresight_lines(dcli_foresight *foresight, const dcli_storage_state *state);
void dcli_foresight_free(dcli_foresight *foresight);

#endif
