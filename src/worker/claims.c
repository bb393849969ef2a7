#include "worker/claims.h"

#include "base/alloc.h"
#include "kernel/claim.h"

enum { LINE_LONGS = 16 }; /* of two cache lines, because processors fetch them in pairs */

dcl_status dcli_claims_open(dcli_claims *claims, const dcli_device *device)
{
    int units = dcli_device_about(device)->compute_units;
    if (dcli_device_is_gpu(device) || !dcli_device_same_addresses(device) || units < 2)
        return DCL_OK;
    claims->memory = dcli_calloc(DCLI_CLAIM_LONGS * ((size_t)units + 1) + LINE_LONGS, sizeof *claims->memory);
    if (claims->memory == NULL)
        return DCL_ERR_NOMEM;
    uintptr_t line = LINE_LONGS * sizeof *claims->memory, past = (uintptr_t)claims->memory % line;
    claims->at = claims->memory + (line - past) % line / sizeof *claims->memory;
    claims->at[0] = (uint64_t)units;
    claims->parts = units;
    return DCL_OK;
}

void dcli_claims_close(dcli_claims *claims)
{
    dcli_free(claims->memory);
    *claims = (dcli_claims){0};
}

dcli_claims_turn dcli_claims_begin(dcli_claims *claims, int64_t rows)
{
    if (claims->at == NULL || rows < claims->parts || rows > DCLI_CLAIM_ROWS)
        return (dcli_claims_turn){0};
    claims->turn =
        claims->turn % DCLI_CLAIM_TURNS + 1; /* each launch takes rows of all parts, so no older turn is left */
    return (dcli_claims_turn){(uintptr_t)claims->at, claims->turn};
}
