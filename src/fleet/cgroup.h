/* fleet/cgroup.h - control groups (version 2) of sessions: limits of memory and processes for all that a session starts, and
 * one call that ends all of it. There are none where the worker may not make any. */
#ifndef DCLI_FLEET_CGROUP_H
#define DCLI_FLEET_CGROUP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct dcli_cgroups {
    char folder[3072]; /* in which each session has one; "": none */
    bool has_limits;   /* of memory and of processes */
} dcli_cgroups;

/** Find where groups may be made; moves this process into a group of its own, if it is alone in its group. */
void dcli_cgroups_open(dcli_cgroups *groups_out);
/** Make the group of a session. @param memory_bytes  most of all its processes; 0: no limit. */
void dcli_cgroup_make(const dcli_cgroups *groups, uint64_t session, int64_t memory_bytes, int64_t processes);
/** Move a process that has been started for it, and runs nothing of its client's yet, into it. */
void dcli_cgroup_add(const dcli_cgroups *groups, uint64_t session, pid_t pid);
/** Kill all processes in it. */
void dcli_cgroup_kill(const dcli_cgroups *groups, uint64_t session);
/** Remove the groups of ended sessions of this worker, and of workers that were killed: all that nobody is in. */
void dcli_cgroups_sweep(const dcli_cgroups *groups);
void dcli_cgroups_close(dcli_cgroups *groups);

#endif
