/* fleet/confine.h - what a process of a client's session may still do. On a CPU a kernel is native code of the client's in
 * that process: the text of a body is checked for other reasons, this is the boundary (docs/decisions/0028). */
#ifndef DCLI_FLEET_CONFINE_H
#define DCLI_FLEET_CONFINE_H

#include <stddef.h>

#include <dcl/base.h>

enum { DCLI_MOST_PORTS = 4096 }; /* of a range that a process is limited to: a rule each */

/** What the system can enforce; the process that asks is not changed. */
typedef struct dcli_containment {
    int landlock; /* version of its interface; 0: none */
    bool calls;   /* system calls can be filtered */
} dcli_containment;

typedef struct dcli_confine_terms {
    const char *files; /* folder that sessions read and write; NULL: none */
    const char *cache; /* folder of this client alone: kernel caches, temporary files; NULL: none */
    int port[2][2];    /* ranges of ports to listen at and to connect to, first and last; 0: not used */
} dcli_confine_terms;

dcli_containment dcli_containment_of_system(void);
/** Say what cannot be enforced, for the one who starts a worker. @param text_out  "": everything can be. */
void dcli_containment_missing(dcli_containment system, char *text_out, size_t capacity);

/** For all processes of a session, before anything else: no core dump, no tracing by others, no new privileges; orphans of
 *  its children become its own. */
void dcli_confine_basics(void);
/** For their parent, which holds keys: no core dump, no tracing by others. */
void dcli_confine_basics_of_parent(void);
/** Give up, for good, all files, ports and processes that a session does not need, as far as the system can enforce it.
 *  Threads and processes that are started afterwards inherit it, others would not: to be called by the only
 *  thread there is.
 *  @return DCL_OK; DCL_ERR_UNSUPPORTED: the system should enforce it, and refused. */
dcl_status dcli_confine(const dcli_confine_terms *terms);
/** The same for system calls, for all threads: when the device is open and the listener has proved itself, which need some
 *  of them. @return as dcli_confine(). */
dcl_status dcli_confine_calls(void);

#endif
