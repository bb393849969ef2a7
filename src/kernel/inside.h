/* kernel/inside.h - data of a parsed body that only the kernel room uses. */
#ifndef DCLI_KERNEL_INSIDE_H
#define DCLI_KERNEL_INSIDE_H

#include "kernel/body.h"
#include "kernel/boundary.h"
#include "kernel/token.h"

/** A place: one occurrence of an access in the text (not docs/design.md's place). The places of a body are in text
 *  order; places inside a place's subscripts follow it. */
typedef struct dcli_place {
    int access;
    int name, close; /* numbers of the tokens that are the array's name and the closing parenthesis */
} dcli_place;

/** An edit: tokens of the text that are replaced, besides accesses. */
typedef struct dcli_edit {
    int first, last; /* the tokens; last < first: text is inserted before token `first` */
    char text[128];
} dcli_edit;

enum { DCLI_MOST_GUARDS = 4 };

/** A guard: tokens [first, end) of the text (kernel/guard.h). */
typedef struct dcli_guard {
    int first, end;
    bool usual; /* its value at most indices */
} dcli_guard;

enum { DCLI_MOST_COMPARISONS = 12 };

/** A comparison: tokens [first, end) of the text (kernel/stretch.h). */
typedef struct dcli_comparison {
    int first, end;
} dcli_comparison;

/** A body that is a contraction: one statement, `C(i,j) += scalars * A(i,k) * B(k,j);`, with indices of C in both A and B, all of
 *  one floating-point type. */
typedef struct dcli_contraction {
    int first, end;  /* tokens of all factors but the last: [first, end); end 0: the body is none */
    int left, right; /* the accesses; right: the last factor */
    bool minus;      /* -= */
} dcli_contraction;

enum { DCLI_INNER_LIMITS = 4 };

/** A limit at the beginning of a loop: where the loop's variable is less than `sum` (low), or greater (not low), the rest of the loop's
 *  statement is not executed. */
typedef struct dcli_inner_limit {
    dcli_affine sum; /* of indices, literals and signed scalars */
    int first, end;  /* its tokens: [first, end) */
    bool low;
} dcli_inner_limit;

/** An inner axis: a loop of the body whose variable may stand in affine subscripts (kernel/inner.h). */
typedef struct dcli_inner {
    int keyword, name;            /* tokens: `for`, and the loop's variable */
    int begin, end;               /* the tokens of the loop: begin .. end - 1 */
    int first_at[2], limit_at[2]; /* first and last token of the bounds */
    int type;                     /* of the variable: a number in inner.c's list */
    dcli_affine first, limit;     /* the bounds, without indices */
    bool inclusive;               /* the limit belongs to the loop */
    int64_t step;                 /* not 0 */
    int limit_count;
    dcli_inner_limit limits[DCLI_INNER_LIMITS];
} dcli_inner;

/** A bound of DCL_OVER: `sum` is not negative. */
typedef struct dcli_bound {
    dcli_affine sum;
    int index; /* the index that it is a bound of */
    int token; /* of DCL_OVER's text, where it begins */
} dcli_bound;

/** DCL_OVER (kernel/over.c). */
typedef struct dcli_over {
    dcli_tokens tokens;
    dcli_bound *bound;
    int64_t count, capacity;
} dcli_over;

struct dcli_body_inside {
    dcli_tokens tokens;
    char *joined; /* the prelude, with lines joined that end with a backslash: it may split words */
    dcli_over over;
    dcli_contraction contraction;
    dcli_place *place;
    int64_t place_count, place_capacity;
    dcli_edit *edit; /* in the order of the text */
    int64_t edit_count, edit_capacity;
    dcli_affine *subscript; /* subscripts of the affine accesses, axis after axis */
    int64_t subscript_count, subscript_capacity;
    dcli_boundary *boundary; /* all different */
    int64_t boundary_count, boundary_capacity;
    int first_subscript[DCLI_MAX_ACCESSES]; /* index in subscript[] of each access's first subscript; -1: it has a
                                               declared reach */
    dcli_inner *inner;                      /* in the order of the text */
    int64_t inner_count, inner_capacity;
    signed char access_inner[DCLI_MAX_ACCESSES][DCL_MAX_RANK]; /* the inner axes that the subscripts of an affine access
                                                                  use, ascending */
    int access_inner_count[DCLI_MAX_ACCESSES];
    int axis_of_index[DCL_MAX_RANK]; /* by number of the index name (i = 0): its loop axis; -1: the body's
                                               loops have no such index */
    dcli_guard guard[DCLI_MOST_GUARDS];
    int guard_count;
    dcli_comparison comparison[DCLI_MOST_COMPARISONS];
    int comparison_count;
    bool has_loop;
    bool scattered;                                     /* dcli_scattered_find() */
    bool has_condition;                                 /* the text contains if, switch, ?:, && or || */
    int16_t row_at[DCLI_MAX_ACCESSES][DCLI_ROW_FIELDS]; /* index of each field in a row; -1: the access does not have
                                                           it */
    int row_length;
};

/** Compute the layout of a body's rows, once its accesses are known. */
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

/** The place whose name is token t; NULL: none. */
static inline const dcli_place *dcli_inside_place(const dcli_body *body, int t)
{
    const struct dcli_body_inside *inside = body->inside;
    for (int64_t p = 0; p < inside->place_count; p++)
        if (inside->place[p].name == t)
            return &inside->place[p];
    return NULL;
}

/** Whether the body is a contraction: its sum is a chain of fused multiply-adds. */
static inline bool dcli_inside_is_chain(const dcli_body *body) { return body->inside->contraction.end > 0; }

/** Whether an affine access depends on a loop axis. */
static inline bool dcli_inside_depends(const dcli_body *body, int a, int axis)
{
    for (int d = 0; d < body->params[body->access[a].param].rank; d++)
        if (dcli_affine_uses(dcli_inside_subscript(body, a, d), body->index_of_axis[axis]))
            return true;
    return false;
}

#endif
