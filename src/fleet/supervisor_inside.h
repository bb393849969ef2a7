/* fleet/supervisor_inside.h - what the files of the supervisor share. */
#ifndef DCLI_FLEET_SUPERVISOR_INSIDE_H
#define DCLI_FLEET_SUPERVISOR_INSIDE_H

#include "base/token_bucket.h"
#include "fleet/cgroup.h"
#include "fleet/control.h"
#include "fleet/output.h"
#include "fleet/process.h"
#include "fleet/supervisor.h"
#include "net/desk.h"
#include "net/token.h"
#include "store/files.h"

enum {
    DCLI_MOST_DEVICES_OFFERED = 64,
    DCLI_SESSIONS_REMEMBERED = 4096,
    DCLI_MOST_SILENCE_MS = 600000 /* of a client, whatever it asks for: what it left behind would stay as long */
};

/** A process of a session. */
typedef struct dcli_child {
    dcli_process process;
    int control; /* our end; -1: closed */
    dcli_output output;
    dcli_token_bucket log_bytes; /* of it that may be logged */
    int64_t due;                 /* bytes of it to be sent before the client's `flush` is answered */
    bool answered, gone;
    dcli_wire_answer answer;
} dcli_child;

/** A client's session. */
typedef struct dcli_supervised {
    uint32_t client;
    uint64_t session;
    int64_t silence_ms, heard_ms, opened_ms;
    bool opened; /* the client knows its processes */
    uint64_t rises;
    int64_t rests_ms;       /* while the worker drains: of all processes together, and since when none has risen */
    int64_t printed, shown; /* messages PRINTED that were sent, and that the client has taken */
    int64_t flush;          /* what the client waits for an answer to; 0: for nothing */
    int64_t printed_ms;     /* when the last one was sent */
    int speaker;            /* whose it was */
    int count;
    dcli_child child[DCLI_MOST_DEVICES_OFFERED];
    struct dcli_supervised *next;
} dcli_supervised;

typedef struct dcli_supervisor {
    const dcl_worker_config *config;
    const dcli_log *log;
    int stop_fd;
    char program[4096];
    char files_name[4096]; /* real path */
    dcli_files files;      /* that sessions may use: held from the start to the end */
    char cache[4096];      /* folder of the clients' folders for compiled kernels */
    bool cache_is_temporary, contain;
    bool draining;      /* no new sessions; those that there are end when they rest */
    int64_t drained_ms; /* when they end in any case */
    int port[2][2]; /* of processes of sessions: where they listen, and where else others do; first and last, 0: none */
    dcli_cgroups groups;
    bool has_strays;                  /* a process of a session has ended: others that it started may be ours now */
    char bind[DCLI_MOST_ADDRESS + 1]; /* of worker processes */
    char token_path[4096], token[DCLI_TOKEN];
    int devices[DCLI_MOST_DEVICES_OFFERED], device_count;
    dcl_device_info info[DCLI_MOST_DEVICES_OFFERED];
    dcli_net *net;
    dcli_gate *gate;
    dcli_keypair own;
    bool has_keys;
    dcli_desk *desk;
    dcli_supervised *sessions;
    int session_count;
    dcli_process *dying; /* [dying_count] killed, not reaped yet: nobody waits for them while clients are to be heard */
    int64_t dying_count, dying_capacity;
    uint64_t remembered[DCLI_SESSIONS_REMEMBERED]; /* numbers of sessions there were: none is opened twice */
    int64_t remembered_count;
    char text[DCLI_MOST_TEXT + 1]; /* of a message PRINTED */
} dcli_supervisor;

/* ---- supervisor_open.c */

dcl_status dcli_supervisor_open(dcli_supervisor *supervisor);
void dcli_supervisor_close(dcli_supervisor *supervisor);

/* ---- supervisor_cache.c */

/** Where clients' folders are. @return DCL_OK, DCL_ERR_FILE. */
dcl_status dcli_supervisor_find_cache(dcli_supervisor *supervisor);
/** The folder of a client, made if need be. @param path_out  "": none. @return DCL_OK, DCL_ERR_FILE. */
dcl_status dcli_supervisor_cache_of(const dcli_supervisor *supervisor, uint32_t client, char *path_out,
                                    size_t capacity);
void dcli_supervisor_drop_cache(dcli_supervisor *supervisor);

/* ---- supervisor_output.c */

/** Read what processes have printed, and send some of it if the client has taken what was sent before. */
void dcli_supervisor_pass_output(dcli_supervisor *supervisor, dcli_supervised *session, int64_t now_ms);
/** SHOWN. @return DCL_ERR_PROTOCOL, without a sentence: of what was not sent. */
dcl_status dcli_supervisor_shown(const dcli_supervisor *supervisor, dcli_supervised *session,
                                 const dcli_msg_shown *shown);
/** A process has ended, or was killed: its last words. @param is_told  the client is still there to hear them. */
void dcli_supervisor_end_output(dcli_supervisor *supervisor, dcli_supervised *session, int place, bool is_told);

/* ---- supervisor_session.c */

/** OPEN: start the processes. What goes wrong is told to the client. */
void dcli_supervisor_start(dcli_supervisor *supervisor, uint32_t client, const dcli_msg_open *open);
/** Take answers, notice ends and silence; tell the client.
 *  @param all_heard  nothing is left to read that clients have sent: who has said nothing is silent. */
void dcli_supervisor_check(dcli_supervisor *supervisor, dcli_supervised *session, int64_t now_ms, bool all_heard);
/** Kill a process; it is reaped later. Safe on {0}. */
void dcli_supervisor_kill(dcli_supervisor *supervisor, dcli_process *process);
/** Reap those that have died. */
void dcli_supervisor_reap(dcli_supervisor *supervisor);
/** While the worker drains: end a session that rests, or for which there is no more time, and tell its client why. */
void dcli_supervisor_drain(dcli_supervisor *supervisor, dcli_supervised *session, int64_t now_ms);
/** End a session with its processes. */
void dcli_supervisor_end(dcli_supervisor *supervisor, dcli_supervised *session, const char *why);
dcli_supervised *dcli_supervisor_find(dcli_supervisor *supervisor, uint32_t client);
/** Tell a client no. */
void dcli_supervisor_refuse(dcli_supervisor *supervisor, uint32_t client, dcl_status status, const char *sentence);

#endif
