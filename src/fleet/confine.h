/* fleet/confine.h - containment: what a process of a client's session may still do. On a CPU, a kernel is native
 * code of the client in that process. Checking the body's text is not the security boundary; this is
 * (docs/decisions/0028). */
#ifndef DCLI_FLEET_CONFINE_H
#define DCLI_FLEET_CONFINE_H

#include <stddef.h>

#include <dcl/base.h>

enum { DCLI_MOST_PORTS = 4096 }; /* largest port range; each port needs a Landlock rule */

/** What the system can enforce. Asking does not restrict the calling process. */
typedef struct dcli_containment {
    int landlock; /* version of the Landlock interface; 0: not available */
    bool calls;   /* whether system calls can be filtered (seccomp) */
} dcli_containment;

typedef struct dcli_confine_terms {
    const char *files; /* folder that sessions may read and write; NULL: none */
    const char *cache; /* folder of this client only, for kernel caches and temporary files; NULL: none */
    int port[2][2];    /* two ranges of ports, each {first, last}, 0: not used. [0]: to listen at; [1]: to connect to */
} dcli_confine_terms;

dcli_containment dcli_containment_of_system(void);
/** Describe what cannot be enforced, for the worker's log. @param text_out  "": everything can be. */
void dcli_containment_missing(dcli_containment system, char *text_out, size_t capacity);

/** Basic restrictions of a session's process, set before anything else: no core dump, no tracing by others, no new
 *  privileges, no POSIX message queues, no real-time priority; it becomes the parent of its children's orphans. */
void dcli_confine_basics(void);
/** Basic restrictions of the supervisor, which holds keys: no core dump, no tracing by others. */
void dcli_confine_basics_of_parent(void);
/** Irrevocably give up all files, ports and processes that a session does not need, as far as the system can enforce
 *  it. Only threads and processes that are started afterwards inherit this, so it must be called while there is one
 *  thread.
 *  @return DCL_OK; DCL_ERR_UNSUPPORTED: the system should enforce it, and refused. */
dcl_status dcli_confine(const dcli_confine_terms *terms);
/** Irrevocably give up system calls, for all threads. Called after the device is open and the listener has been tested,
 *  because these need some of the calls. @return as dcli_confine(). */
dcl_status dcli_confine_calls(void);

#endif
