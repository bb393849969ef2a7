/* fleet/environment.h - the environment of a session's process: what drivers and the C library read, and no more. */
#ifndef DCLI_FLEET_ENVIRONMENT_H
#define DCLI_FLEET_ENVIRONMENT_H

#include <dcl/base.h>

/** The value of a variable that is not one of DCL's settings (those are in base/config.c). NULL: not set. */
const char *dcli_environment_find(const char *name);

/** The environment of a session's process: the allowed variables of this process, and new ones that direct drivers to
 *  the session's own folder.
 *  @param cache  folder of the session; NULL: none.
 *  @return a list that ends with NULL, freed with dcli_environment_free(); NULL (recorded). */
char **dcli_environment_of_session(const char *cache);
void dcli_environment_free(char **list);

/** Let the OpenCL loader of this process find the host's own drivers: if OCL_ICD_VENDORS names dcl.icd, DCL's driver for
 *  programs, it is unset. Where that driver is one of several, it has no devices. For processes that serve devices; before
 *  their first call of OpenCL and their first thread. */
void dcli_environment_use_drivers(void);

/** Let the driver PoCL of this process start only as many threads as its share of the processors, unless POCL_MAX_PTHREAD_COUNT
 *  or POCL_CPU_MAX_CU_COUNT is set: processes that compute at the same time then do not compete for processors. By itself PoCL starts one per
 *  processor of the host, and a kernel ends when the last of them has had its turn. When to call it: as
 *  dcli_environment_use_drivers().
 *  @param processes  number of processes that share the processors that this one may use (taskset, cpusets); at least 1.
 *                    With DCL_PIN only one may be left: a share is at least one processor. */
void dcli_environment_share_processors(int processes);

#endif
