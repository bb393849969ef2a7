/* worker/claims.c - allocates the claims of a device, and numbers its launches, so that no launch has to clear what an earlier one
 * has left in them. */
#include "worker/claims.h"

#include "base/alloc.h"
#include "kernel/claim.h"

dcl_status dcli_claims_open(dcli_claims *claims, const dcli_device *device)
{
    int units = dcli_device_about(device)->compute_units;
    if (dcli_device_is_gpu(device) || !dcli_device_same_addresses(device) || units < 2)
        return DCL_OK;
    claims->memory = dcli_calloc(DCLI_CLAIM_LONGS * ((size_t)units + 2), sizeof *claims->memory);
    if (claims->memory == NULL)
        return DCL_ERR_NOMEM;
    uintptr_t line = DCLI_CLAIM_LONGS * sizeof *claims->memory, past = (uintptr_t)claims->memory % line;
    claims->at = claims->memory + (line - past) % line / sizeof *claims->memory;
    claims->at[0] = (uint64_t)units;
    return DCL_OK;
}

void dcli_claims_close(dcli_claims *claims)
{
    dcli_free(claims->memory);
    *claims = (dcli_claims){0};
}

/* Whether the bits of a result depend on how the rows are divided among work-items. */
static bool has_fast(const dcli_body *body)
{
    bool fast = false;
    for (int r = 0; body != NULL && r < body->result_count; r++)
        fast |= body->result[r].fast;
    return fast;
}

dcli_claims_turn dcli_claims_begin(dcli_claims *claims, const dcli_body *body, int64_t rows)
{
    if (claims->at == NULL || has_fast(body) || rows < (int64_t)claims->at[0] || rows > DCLI_CLAIM_ROWS)
        return (dcli_claims_turn){0};
    claims->turn =
        claims->turn % DCLI_CLAIM_TURNS + 1; /* each launch takes rows of all parts, so no older turn is left */
    return (dcli_claims_turn){(uintptr_t)claims->at, claims->turn};
}
