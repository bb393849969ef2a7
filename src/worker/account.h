/* worker/account.h - a session's use of a node's memory, by kind, and its limits.
 *
 * The quota limits lasting uses: arrays, replicas, stages and tables, spare memory, plans. Data in transit depends on
 * the speed of peers, so it has limits of its own; otherwise an allocation near the quota would fail at random.
 * Received data and waiting messages are limited separately; data to send is only counted, because readers' grants
 * bound it. See docs/decisions/0040-limits-of-a-sessions-memory.md. Parse trees and known bodies have limits of their
 * own, too. */
#ifndef DCLI_WORKER_ACCOUNT_H
#define DCLI_WORKER_ACCOUNT_H

#include "worker/peer.h"

typedef enum dcli_use {
    /* uses that last; the quota limits them */
    DCLI_USE_ARRAYS,
    DCLI_USE_REPLICAS, /* replicas */
    DCLI_USE_STAGES,   /* stages, tables of kernels, and losses by rounding to pages */
    DCLI_USE_SPARE,    /* memory of the device retained for reuse */
    DCLI_USE_PLANS,
    /* uses of data in transit */
    DCLI_USE_SENT,     /* data packed for others, and its buffer pool. Counted, never checked */
    DCLI_USE_RECEIVED, /* data that was received and not used yet */
    DCLI_USE_WAITING,  /* messages that wait until a member is known */
    DCLI_USES
} dcli_use;

/** Check whether a node may allocate `bytes` more for a use other than DCLI_USE_SENT. If a lasting use does
 *  not fit, first everything is freed that can be made again: stages of running batches (dcli_exec_release_arenas()),
 *  plans without open operations, unused layouts, spare memory.
 *  @param what  the purpose, for the error text.
 *  @return DCL_OK, or DCL_ERR_NOMEM: for a lasting use, the sentence lists each kind with its bytes. Cost: a few loads
 *          if it fits. */
dcl_status dcli_account_check(dcli_worker *worker, dcli_use use, size_t bytes, const char *what);
/** Bytes of each kind. */
void dcli_account_read(const dcli_worker *worker, int64_t bytes_out[DCLI_USES]);

#endif
