/* worker/exec_copies.h - copies into the stages of a batch, joined where they go on. */
#ifndef DCLI_WORKER_EXEC_COPIES_H
#define DCLI_WORKER_EXEC_COPIES_H

#include "worker/peer.h"

/** Whether a piece is copied by dcli_copies_run(): what comes from parts into a stage that ends with its batch. */
bool dcli_copies_have(const dcli_stage *stage, const dcli_piece *piece);

/** Find these copies of a batch whose stages have their places. @return DCL_OK or DCL_ERR_NOMEM. */
dcl_status dcli_copies_prepare(const dcli_entry *entry, const dcli_plan *plan, const dcli_batch *batch,
                               dcli_prepared *prepared);

/** Make them. */
dcl_status dcli_copies_run(dcli_worker *worker, const dcli_entry *entry, const dcli_prepared *prepared,
                           dcli_memory *arena);

#endif
