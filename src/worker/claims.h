/* worker/claims.h - the memory in which the threads of a CPU claim the rows of a launch (kernel/claim.cl). */
#ifndef DCLI_WORKER_CLAIMS_H
#define DCLI_WORKER_CLAIMS_H

#include <stdint.h>

#include "device/device.h"
#include "kernel/body.h"

/** The claims of a device, whose launches run one after the other in its one queue for kernels. */
typedef struct dcli_claims {
    uint64_t *memory, *at; /* what is freed; in it, the first cache line. NULL: work-items divide the rows by number */
    uint64_t turn;         /* number of the last launch */
} dcli_claims;

/** What a launch gets as arguments: `ulong claims_at` and `ulong turn` (kernel/body.h). */
typedef struct dcli_claims_turn {
    uint64_t at, number;
} dcli_claims_turn;

/** Make the claims of a device. If it is no CPU with several compute units whose kernels see host memory at the host's
 *  addresses, no launch uses claims. @return DCL_OK or DCL_ERR_NOMEM. */
dcl_status dcli_claims_open(dcli_claims *claims, const dcli_device *device);
/** Free them. No launch may use them any more. */
void dcli_claims_close(dcli_claims *claims);
/** Begin a launch of `rows` rows, groups or lists: with claims if there is at least one for each thread, at most DCLI_CLAIM_ROWS, and
 *  the body has no sum with DCL_FAST, whose bits must not depend on which thread takes which row.
 *  @param body  NULL: several bodies without results. */
dcli_claims_turn dcli_claims_begin(dcli_claims *claims, const dcli_body *body, int64_t rows);

#endif
