/* fleet/strays.h - processes that a kernel of a session has started and that outlive the session. */
#ifndef DCLI_FLEET_STRAYS_H
#define DCLI_FLEET_STRAYS_H

#include <stdbool.h>
#include <sys/types.h>

/** Become the parent of descendants whose own parent has ended. */
void dcli_strays_adopt(void);
/** Kill adopted children of this process, and then the orphans that they leave, and so on. A child counts as adopted if
 *  it is not expected and has restrictions that this process has not, as all processes of sessions have.
 *  @param is_expected  whether this process has started that child.
 *  @return whether some may be left. */
bool dcli_strays_end(bool (*is_expected)(const void *owner, pid_t pid), const void *owner);

#endif
