/* runtime/foresight.c - what operations that are only looked at would change for those after them. */
#include "runtime/foresight.h"

#include "base/alloc.h"

dcli_valid_lines *dcli_foresight_lines(dcli_foresight *foresight, const dcli_storage_state *state)
{
    for (int64_t k = 0; k < foresight->count; k++)
        if (foresight->of[k].state == state && foresight->of[k].storage == state->id)
            return &foresight->of[k].lines;
    if (dcli_grow(&foresight->of, foresight->count, &foresight->capacity, sizeof *foresight->of) != DCL_OK)
        return NULL;
    foresight->of[foresight->count] = (struct dcli_foreseen){state, state->id, state->lines};
    return &foresight->of[foresight->count++].lines;
}

void dcli_foresight_free(dcli_foresight *foresight)
{
    dcli_free(foresight->of);
    *foresight = (dcli_foresight){0};
}
