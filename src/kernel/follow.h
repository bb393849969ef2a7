/* kernel/follow.h - followers: reads of an array at a constant distance from another read of it, such as A(i+1,j) from
 * A(i-1,j).
 *
 * Each access of a kernel has a pointer, an offset and steps of its own, because it may be bound to memory of its own.
 * So compilers cannot see that A(i+1,j) in one line is A(i-1,j) two lines below. If both are in the same memory, a
 * follower is written as an offset from its leader, the first such read. */
#ifndef DCLI_KERNEL_FOLLOW_H
#define DCLI_KERNEL_FOLLOW_H

#include "kernel/nest.h"

/** A read of an array that follows another one at a constant distance. */
typedef struct dcli_follower {
    int leader;                     /* number of the other access, less than its own; -1: there is none */
    int64_t distance[DCL_MAX_RANK]; /* in steps of the leader, along each loop axis */
} dcli_follower;

/** Whether access b is a read at a constant distance from access a, also a read. */
bool dcli_follows(const dcli_body *body, int a, int b, dcli_follower *out);

/** Number of followers of a body. */
int dcli_count_followers(const dcli_body *body);
/** Emit ` && CONDITION`: in this row, all followers are in the same memory as their leaders and at their distance.
 *  Offsets are those emitted last. */
void dcli_emit_followers_test(const dcli_nest *nest);
/** Redefine the macros dcl_a<a> of all followers as elements at a distance from their leaders. For dcl_unit, where the
 *  condition above is true. */
void dcli_emit_followers(const dcli_nest *nest);
/** Emit the element of an affine access; if it is a follower, at a distance from its leader. */
void dcli_put_follower(const dcli_nest *nest, int b);

#endif
