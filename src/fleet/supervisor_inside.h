/* fleet/supervisor_inside.h - what the files of the supervisor share. */
#ifndef DCLI_FLEET_SUPERVISOR_INSIDE_H
#define DCLI_FLEET_SUPERVISOR_INSIDE_H

#include "base/token_bucket.h"
#include "fleet/cgroup.h"
#include "fleet/control.h"
#include "fleet/output.h"
#include "fleet/process.h"
#include "fleet/supervisor.h"
#include "net/listener.h"
#include "net/token.h"
#include "store/files.h"

enum {
    DCLI_MOST_DEVICES_OFFERED = 64,
    DCLI_SESSIONS_REMEMBERED = 4096,
    DCLI_PLACE_MS = 2000,         /* a client waits as long for a session of another one to end */
    DCLI_MOST_SILENCE_MS = 600000 /* limit on a client's silence_ms: what a lost client leaves behind would stay as
                                     long */
};

/** A process of a session, with its output. */
typedef struct dcli_child {
    dcli_process process;
    int control; /* our end of the socket to it; -1: closed */
    dcli_output output;
    dcli_token_bucket log_bytes; /* rate limit of its lines in the worker's log */
    int64_t due;                 /* bytes of its output that must be sent before the client's `flush` is answered */
    bool answered, gone;
    dcli_wire_answer answer;
} dcli_child;

/** A client's session. */
typedef struct dcli_supervised {
    uint32_t client;
    uint64_t session;
    int64_t silence_ms, heard_ms, opened_ms;
    bool opened; /* the client has been told its processes */
    uint64_t rises;
    int64_t rests_ms;       /* while draining: `rises` is the sum of the processes' counters, `rests_ms` the time
                               since which it has not changed */
    int64_t printed, shown; /* number of PRINTED sent, and of those that the client has taken */
    int64_t flush;          /* number of the flush that the client waits for; 0: none */
    int64_t printed_ms;     /* time of the last PRINTED */
    int speaker;            /* index of the process whose output was last looked at: processes send it in turn */
    int count;
    dcli_child child[DCLI_MOST_DEVICES_OFFERED];
    struct dcli_supervised *next;
} dcli_supervised;

/** A client that waits until there is a place for its session. */
typedef struct dcli_waiting {
    uint32_t client;
    int64_t until_ms;
    dcli_received received; /* its OPEN */
    struct dcli_waiting *next;
} dcli_waiting;

typedef struct dcli_supervisor {
    const dcl_worker_config *config;
    const dcli_log *log;
    int stop_fd;
    char program[4096];
    char files_name[4096]; /* real path of the folder in `files` */
    dcli_files files;      /* folder that sessions may use; its descriptor is held open throughout */
    char cache[4096];      /* folder that contains the clients' cache folders */
    bool cache_is_temporary, contain;
    bool draining;      /* no new sessions; existing ones end when they are idle */
    int64_t drained_ms; /* time at which they end in any case */
    int port[2][2];     /* two ranges of ports, each {first, last}, 0: none. [0]: at which this worker's processes
                           listen; [1]: to which they may connect at other workers */
    dcli_cgroups groups;
    bool has_strays;                  /* a process of a session has ended, so processes that it started may be our
                                         children now */
    char bind[DCLI_MOST_ADDRESS + 1]; /* address of worker processes, without their port */
    char token_path[4096], token[DCLI_TOKEN];
    int devices[DCLI_MOST_DEVICES_OFFERED], device_count;
    dcl_device_info info[DCLI_MOST_DEVICES_OFFERED];
    dcli_net *net;
    dcli_authenticator *authenticator;
    dcli_keypair own;
    bool has_keys;
    dcli_listener *listener;
    dcli_supervised *sessions;
    int session_count;
    dcli_waiting *waiting; /* in the order of their calls */
    dcli_process *dying;   /* [dying_count] killed but not reaped yet; nobody waits for them while clients are served */
    int64_t dying_count, dying_capacity;
    uint64_t remembered[DCLI_SESSIONS_REMEMBERED]; /* numbers of recent sessions: none is opened twice */
    int64_t remembered_count;
    char text[DCLI_MOST_TEXT + 1]; /* memory for the text of a PRINTED message */
} dcli_supervisor;

/* ---- supervisor_open.c */

dcl_status dcli_supervisor_open(dcli_supervisor *supervisor);
void dcli_supervisor_close(dcli_supervisor *supervisor);

/* ---- supervisor_cache.c */

/** Find or make the folder of the clients' cache folders. @return DCL_OK, DCL_ERR_FILE. */
dcl_status dcli_supervisor_find_cache(dcli_supervisor *supervisor);
/** The cache folder of a client, made if necessary. @param path_out  "": none. @return DCL_OK, DCL_ERR_FILE. */
dcl_status dcli_supervisor_cache_of(const dcli_supervisor *supervisor, uint32_t client, char *path_out,
                                    size_t capacity);
/** Remove the folder of the cache folders, if it is a temporary one. */
void dcli_supervisor_drop_cache(dcli_supervisor *supervisor);

/* ---- supervisor_output.c */

/** Read what the processes have printed, and send some of it if the client has acknowledged the last message. */
void dcli_supervisor_pass_output(dcli_supervisor *supervisor, dcli_supervised *session, int64_t now_ms);
/** Handle SHOWN. @return DCL_ERR_PROTOCOL, without a sentence: it names a message that was not sent. */
dcl_status dcli_supervisor_shown(const dcli_supervisor *supervisor, dcli_supervised *session,
                                 const dcli_msg_shown *shown);
/** Handle the last output of a process that has ended or was killed. @param is_told  the client is still connected. */
void dcli_supervisor_end_output(dcli_supervisor *supervisor, dcli_supervised *session, int place, bool is_told);

/* ---- supervisor_session.c */

/** Start the processes of a session, for which there is a place. Errors are sent to the client. */
void dcli_supervisor_start(dcli_supervisor *supervisor, uint32_t client, const dcli_msg_open *open);
/** Check a session: take answers of its processes, notice ends and silence, and tell the client. May end the session,
 *  which frees it.
 *  @param all_heard  all received messages were read, so a client without a message is silent. */
void dcli_supervisor_check(dcli_supervisor *supervisor, dcli_supervised *session, int64_t now_ms, bool all_heard);
/** Kill a process; it is reaped later. Safe on {0}. */
void dcli_supervisor_kill(dcli_supervisor *supervisor, dcli_process *process);
/** Reap processes that have died. */
void dcli_supervisor_reap(dcli_supervisor *supervisor);
/** While the worker drains: end a session that is idle or out of time, and tell its client why. */
void dcli_supervisor_drain(dcli_supervisor *supervisor, dcli_supervised *session, int64_t now_ms);
/** End a session with its processes. */
void dcli_supervisor_end(dcli_supervisor *supervisor, dcli_supervised *session, const char *why);
/** The session of a client; NULL: it has none. */
dcli_supervised *dcli_supervisor_find(dcli_supervisor *supervisor, uint32_t client);
/** Log the refusal and send REFUSED to a client; if that fails, disconnect it. */
void dcli_supervisor_refuse(dcli_supervisor *supervisor, uint32_t client, dcl_status status, const char *sentence);

/* ---- supervisor_waiting.c */

/** Handle OPEN: start the session, or keep the message until there is a place for it. Errors are sent to the client.
 *  @param received  emptied if it is kept. */
void dcli_supervisor_take(dcli_supervisor *supervisor, uint32_t client, dcli_received *received);
/** Whether a client waits for a place. */
bool dcli_supervisor_waits(dcli_supervisor *supervisor, uint32_t client);
/** Start sessions that have a place now, and refuse those that have waited for too long. */
void dcli_supervisor_admit(dcli_supervisor *supervisor, int64_t now_ms);
/** A client is gone. If it waits, it does not any more. */
void dcli_supervisor_forget(dcli_supervisor *supervisor, uint32_t client);
/** Drop all clients that wait for a place, without an answer. */
void dcli_supervisor_forget_all(dcli_supervisor *supervisor);

#endif
