/* fleet/environment.h - the environment of a session's process: what drivers and the C library read, and no more. */
#ifndef DCLI_FLEET_ENVIRONMENT_H
#define DCLI_FLEET_ENVIRONMENT_H

#include <dcl/base.h>

/** The value of a variable that is no setting of DCL's (those are in base/config.c). NULL: not set. */
const char *dcli_environment_find(const char *name);

/** Variables of ours that a session's process gets, and new ones that keep drivers to its own folder.
 *  @param cache  folder of the session; NULL: none.
 *  @return a list that ends with NULL, given back with dcli_environment_free(); NULL (recorded). */
char **dcli_environment_of_session(const char *cache);
void dcli_environment_free(char **list);

#endif
