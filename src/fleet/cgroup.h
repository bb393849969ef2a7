/* fleet/cgroup.h - control groups (version 2) of sessions: they limit memory and number of processes of everything that
 * a session starts, and can kill all of it at once. If the worker may not make groups, all functions do nothing. */
#ifndef DCLI_FLEET_CGROUP_H
#define DCLI_FLEET_CGROUP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct dcli_cgroups {
    char folder[3072]; /* folder in which each session gets a group; "": groups are not available */
    bool has_limits;   /* whether memory and number of processes can be limited */
} dcli_cgroups;

/** Find the place where groups may be made. If this process is alone in its group, it moves into a new group. */
void dcli_cgroups_open(dcli_cgroups *groups_out);
/** Make the group of a session. @param memory_bytes  limit for all its processes together; 0: no limit.
 *  @param processes  limit of its processes and threads. */
void dcli_cgroup_make(const dcli_cgroups *groups, uint64_t session, int64_t memory_bytes, int64_t processes);
/** Move a process of the session into the group. It must be new, and not have run any code of its client. */
void dcli_cgroup_add(const dcli_cgroups *groups, uint64_t session, pid_t pid);
/** Kill all processes in the group of a session. */
void dcli_cgroup_kill(const dcli_cgroups *groups, uint64_t session);
/** Remove the groups that contain no process: of ended sessions of this worker, and of workers that were killed. */
void dcli_cgroups_sweep(const dcli_cgroups *groups);
void dcli_cgroups_close(dcli_cgroups *groups);

#endif
