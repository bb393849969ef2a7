/* worker/account.h - what a session has of a node's memory, by kind, and how much it may have.
 *
 * The quota limits what lasts: arrays, copies, stages and tables, spare memory, plans. Data in transit depends on the speed
 * of peers, so it has limits of its own; otherwise a creation near the quota would fail at random. Received data and waiting
 * messages are limited apart, data to send is counted only: readers' grants bound it. See
 * docs/decisions/0040-limits-of-a-sessions-memory.md. Parse trees and known bodies have their own limits, too. */
#ifndef DCLI_WORKER_ACCOUNT_H
#define DCLI_WORKER_ACCOUNT_H

#include "worker/peer.h"

typedef enum dcli_use {
    /* lasting */
    DCLI_USE_ARRAYS,
    DCLI_USE_COPIES,
    DCLI_USE_STAGES, /* and tables of kernels, and what is lost by rounding to pages */
    DCLI_USE_SPARE,  /* memory of the device kept to be used again */
    DCLI_USE_PLANS,
    /* in transit */
    DCLI_USE_SENT,     /* data made or packed for others; the stock of buffers for it. Counted, never checked */
    DCLI_USE_RECEIVED, /* data that has come and is not used up */
    DCLI_USE_WAITING,  /* messages that wait for a member */
    DCLI_USES
} dcli_use;

/** Whether a node may take `bytes` more for a use other than DCLI_USE_SENT. Spare memory is given back first.
 *  @param what  it is for, for people.
 *  @return DCL_OK, or DCL_ERR_NOMEM: the sentence has each kind and its bytes. Cost: a few loads while it fits. */
dcl_status dcli_account_check(dcli_worker *worker, dcli_use use, size_t bytes, const char *what);
/** Bytes of each kind. */
void dcli_account_read(const dcli_worker *worker, int64_t bytes_out[DCLI_USES]);

#endif
