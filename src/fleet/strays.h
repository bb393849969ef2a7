/* fleet/strays.h - processes that a kernel of a session has started, and that outlive it. */
#ifndef DCLI_FLEET_STRAYS_H
#define DCLI_FLEET_STRAYS_H

#include <stdbool.h>
#include <sys/types.h>

/** Become the parent of descendants whose own parent has ended. */
void dcli_strays_adopt(void);
/** Kill the children of this process that were adopted: those that have given up privileges or system calls that this
 *  process has, as all processes of sessions do, and that are not expected; then those that they have left, and so on.
 *  @param is_expected  whether this child was started by us.
 *  @return whether some may be left. */
bool dcli_strays_end(bool (*is_expected)(const void *owner, pid_t pid), const void *owner);

#endif
