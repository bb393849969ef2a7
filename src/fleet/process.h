/* fleet/process.h - worker processes as their parent sees them: starting, watching, ending.
 * A process is known by a descriptor of its own (pidfd), so that no other one is ever hit; whoever started it is its
 * parent's thread, and when that thread ends, however it ends, the kernel ends the process (PR_SET_PDEATHSIG). */
#ifndef DCLI_FLEET_PROCESS_H
#define DCLI_FLEET_PROCESS_H

#include <sys/types.h>

#include "worker/status.h"

typedef struct dcli_process {
    pid_t pid;         /* 0: none */
    int pidfd;         /* readable when it has ended */
    int status_memory; /* memfd of the page */
    dcli_status_page *page;
    int64_t beats, looked_ns; /* at the last look, and when that was */
    int64_t silent_ns;        /* looked at without a new beat */
    bool ended;
    int wait_status; /* of waitid(), once ended */
    int wait_code;
} dcli_process;

/** Find the dcl command: `program` if it is set, else beside or above the library, else in PATH.
 *  @return DCL_OK, or DCL_ERR_FILE saying where it was looked for. */
dcl_status dcli_process_program(const char *program, char path_out[4096]);

/** Start `program worker --process TERMS`. Its standard input is /dev/null.
 *  @param terms        text, one argument; "%s" style is not interpreted.
 *  @param variables    its environment; NULL: ours.
 *  @param output       where it prints: its standard output and error.
 *  @param descriptors  [count] that it inherits under the same numbers; all others are closed in it. */
dcl_status dcli_process_start(const char *program, const char *terms, char *const variables[], int output, int count,
                              const int descriptors[], dcli_process *process_out);
/** The status page for a process that is to be started: its memfd goes along. Fills status_memory and page. */
dcl_status dcli_process_prepare(dcli_process *process_out);

/** Whether it has ended; does not wait. */
bool dcli_process_has_ended(dcli_process *process);
/** Look at it: whether its beats have not changed for `silence_ms`; to begin with them it has 10 s at least. A look counts
 *  for half a second at most: while everything was stopped nobody was silent. */
bool dcli_process_is_silent(dcli_process *process, int64_t now_ns, int64_t silence_ms);
/** How it ended, as part of a sentence: "was killed by signal 11 (SIGSEGV) while it ran `C(i,j) = ...`". */
void dcli_process_why(dcli_process *process, char *text_out, size_t capacity);
/** Why a node that is a thread of this program hangs, from its page: "its kernel took longer than ... while it ran `...`". */
void dcli_page_why(const dcli_status_page *page, char *text_out, size_t capacity);
/** Wait `grace_ms` for it to end by itself, then kill it; reap it, free everything. Safe on {0}. */
void dcli_process_end(dcli_process *process, int grace_ms);
/** The same for several, which are given that time together. @param process  [count]. */
void dcli_process_end_all(int count, dcli_process *const process[], int grace_ms);
/** Kill it, and wait for nothing: dcli_process_has_ended() tells when it can be ended at once. Safe on {0}. */
void dcli_process_kill(dcli_process *process);

#endif
