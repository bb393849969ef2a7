/* kernel/inside.h - what a parsed body keeps for the kernel room alone. */
#ifndef DCLI_KERNEL_INSIDE_H
#define DCLI_KERNEL_INSIDE_H

#include "kernel/affine.h"
#include "kernel/body.h"
#include "kernel/token.h"

/** One occurrence of an access in the text. Those of a body are in the order of the text; the places inside the
 *  subscripts of a place follow it. */
typedef struct dcli_place {
    int access;
    int name, close; /* tokens: the array's name, the closing parenthesis */
} dcli_place;

struct dcli_body_inside {
    dcli_tokens tokens;
    dcli_place *place;
    int64_t place_count, place_capacity;
    dcli_affine *subscript; /* of the affine accesses, axis after axis */
    int64_t subscript_count, subscript_capacity;
    int first_subscript[DCLI_MAX_ACCESSES]; /* of an access: its number in subscript[]; -1: declared reach */
    int axis_of_index[DCL_MAX_RANK];        /* loop axis that an index name runs, -1 for names not in use */
    bool has_loop;
    int16_t row_at[DCLI_MAX_ACCESSES][DCLI_ROW_FIELDS]; /* where the fields of a row begin; -1: there is none */
    int row_length;
};

/** Find the places of all fields of a body's rows, once its accesses are known. */
void dcli_rows_lay_out(dcli_body *body);

/** Subscript d of an affine access. */
static inline const dcli_affine *dcli_inside_subscript(const dcli_body *body, int a, int d)
{
    return &body->inside->subscript[body->inside->first_subscript[a] + d];
}

/** The token where an access occurs first. */
static inline int dcli_inside_first_token(const dcli_body *body, int a)
{
    int64_t p = 0;
    while (body->inside->place[p].access != a)
        p++;
    return body->inside->place[p].name;
}

/** Whether an affine access depends on a loop axis. */
static inline bool dcli_inside_depends(const dcli_body *body, int a, int axis)
{
    for (int d = 0; d < body->params[body->access[a].param].rank; d++)
        if (dcli_affine_uses(dcli_inside_subscript(body, a, d), body->index_of_axis[axis]))
            return true;
    return false;
}

#endif
