/* fleet/process.h - worker processes as their parent handles them: starting, monitoring, ending.
 * The parent holds a pidfd of each process, so it can never signal another one. The kernel ends a process when the
 * thread that started it ends (PR_SET_PDEATHSIG). */
#ifndef DCLI_FLEET_PROCESS_H
#define DCLI_FLEET_PROCESS_H

#include <sys/types.h>

#include "worker/status.h"

typedef struct dcli_process {
    pid_t pid;         /* process id; 0: there is no process */
    int pidfd;         /* becomes readable when the process has ended */
    int status_memory; /* memfd of the page */
    dcli_status_page *page;
    int64_t beats, looked_ns; /* the beats at the last look, and the time of that look */
    int64_t silent_ns;        /* time during which looks saw no new beat */
    bool ended;
    int wait_status; /* status of waitid(), after it has ended */
    int wait_code;
} dcli_process;

/** Raise this process's limit of descriptors. Each connection of a supervisor needs one, even a stranger's until it is
 *  refused, and libzmq aborts the process if there is none left. */
void dcli_process_raise_limit(void);
/** Raise this process's limit of descriptors if it has not as many more, and may have them. @return DCL_OK or
 *  DCL_ERR_NETWORK. */
dcl_status dcli_process_allow_descriptors(int more);
/** Find the dcl command: `program` if it is set, else beside or above the library, else the name "dcl", which
 *  dcli_process_start() looks for in PATH. @return DCL_OK, or DCL_ERR_FILE: `program` is not an executable file. */
dcl_status dcli_process_program(const char *program, char path_out[4096]);

/** Start `program worker --process TERMS`. Its standard input is /dev/null.
 *  @param terms        one argument, passed as it is.
 *  @param variables    its environment; NULL: that of this process.
 *  @param output       descriptor of its standard output and error.
 *  @param descriptors  [count] that it inherits under the same numbers; all others are closed in it. */
dcl_status dcli_process_start(const char *program, const char *terms, char *const variables[], int output, int count,
                              const int descriptors[], dcli_process *process_out);
/** Make the status page for a process before it is started; it inherits the memfd. Fills status_memory and page. */
dcl_status dcli_process_prepare(dcli_process *process_out);

/** Whether the process has ended; does not wait. */
bool dcli_process_has_ended(dcli_process *process);
/** Check whether the process's beats have not changed for `silence_ms`. A new process has at least 10 s. One check
 *  counts for at most half a second, so that time in which everything was stopped does not count. */
bool dcli_process_is_silent(dcli_process *process, int64_t now_ns, int64_t silence_ms);
/** Describe how a process ended, or that it does not answer, as part of a sentence: "was killed by signal 11 (SIGSEGV) while
 *  it ran `C(i,j) = ...`". */
void dcli_process_why(dcli_process *process, char *text_out, size_t capacity);
/** Describe why a thread node hangs, from its status page: "its kernel took longer than ... while it ran `...`". */
void dcli_page_why(const dcli_status_page *page, char *text_out, size_t capacity);
/** Wait `grace_ms` for it to end by itself, then kill it; reap it and free everything. Safe on {0}. */
void dcli_process_end(dcli_process *process, int grace_ms);
/** dcli_process_end() for several processes, which share the grace time. @param process  [count]. */
void dcli_process_end_all(int count, dcli_process *const process[], int grace_ms);
/** Kill it without waiting; dcli_process_has_ended() tells when dcli_process_end() will return at once. Safe on {0}. */
void dcli_process_kill(dcli_process *process);

#endif
