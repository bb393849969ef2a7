/* fleet/worker_pool_inside.h - shared by the files worker_pool*.c only. */
#ifndef DCLI_FLEET_WORKER_POOL_INSIDE_H
#define DCLI_FLEET_WORKER_POOL_INSIDE_H

#include <poll.h>
#include <pthread.h>

#include "base/error.h"
#include "base/token_bucket.h"
#include "fleet/addresses.h"
#include "fleet/control.h"
#include "fleet/output.h"
#include "fleet/printer.h"
#include "fleet/process.h"
#include "fleet/worker_pool.h"
#include "net/listener.h"
#include "net/proof.h"
#include "net/token.h"
#include "net/wire_address.h"

enum {
    DCLI_START_MS = 20000 /* time limit for a new process to describe its device, and for an answer of a listener */
};

/** Rate limit of what is shown of a node's output. */
typedef struct dcli_allowance {
    dcli_token_bucket bytes; /* bytes that may be shown */
    int64_t dropped;         /* bytes dropped since the last line that was shown */
} dcli_allowance;

/** A node of the session: a process of this host or of another host. */
typedef struct dcli_member {
    dcl_device_info info;
    char kind[512];
    char name[320]; /* "process 123 of this host", "tcp://host:port, process 3" */
    bool heard, lost;
    uint8_t can;                    /* dcli_ability; once heard */
    bool introduced;                /* JOINED was sent to the other nodes */
    bool dismissed;                 /* it was lost, which was reported: its process must end; then the member can be
                                       forgotten */
    char refusal[DCLI_ERROR_BYTES]; /* why it cannot serve; "": it has not said so */
    dcl_status refusal_status;
    dcli_process process; /* local: its process */
    dcli_output output;   /* local: what it prints */
    dcli_allowance printing;
    int call, place; /* tcp: number of its listener, and of the process there */
    bool kill_due;   /* tcp: its listener has still to be told to end it */
    char address[DCLI_MOST_ADDRESS + 1], key[DCLI_MOST_KEY + 1];
    char word_key[DCLI_KEY_HEX]; /* tcp: key by which the node verifies the program's messages that other nodes
                                    forward to it */
    char gone[400];              /* tcp: how its listener reports that the process ended; "": nothing yet */
} dcli_member;

/** The connection to a listener, whose processes are nodes. */
typedef struct dcli_contact {
    dcli_control *call;
    char address[DCLI_MOST_ADDRESS + 1]; /* as it was given */
    dcli_resolved resolved;
    bool lost;
    int first, count; /* its nodes have the numbers first .. first + count - 1 */
    int64_t beats, beat_due_ms, heard_ms;
    int64_t second_ms;
    int in_second;                 /* messages received since second_ms, for the rate limit */
    int64_t printed, acknowledged; /* numbers of the last PRINTED received, and of the last one acknowledged by SHOWN */
    int64_t flush, asked, flushed; /* numbers of flushes (see SHOWN): to be requested, requested, and answered */
    int64_t shown_ms;              /* time of the last SHOWN */
    bool is_late;                  /* it has not answered a flush in time */
} dcli_contact;

/** An order for the process monitor to start processes. The process monitor must start them because they end with the
 *  thread that starts them. */
typedef struct dcli_start_order {
    int first, count;
    bool due;
    dcl_status status;
    char problem[DCLI_ERROR_BYTES];
} dcli_start_order;

struct dcli_worker_pool {
    dcli_worker_pool_terms terms;
    bool is_local;
    int node_count, capacity;
    int tree_nodes;      /* number of nodes when the session began */
    dcli_member *member; /* [capacity] the nodes */
    dcli_net *net;
    dcli_buffers *buffers;
    dcli_endpoint *endpoint; /* endpoint of the host, until it is handed over */
    char program[4096];
    int devices[DCLI_MOST_NODES], device_count; /* local: devices that the processes serve, in turn */
    dcli_shared_link *host_link;                /* [capacity + 1] local: the host's links, until the endpoint takes
                                                   them */
    bool has_keys;
    dcli_keypair own;          /* key pair of this session's host; its secret is never sent. All zeros: none */
    dcli_keypair nodes;        /* key pair of this session's nodes, which get both halves */
    char password[DCLI_TOKEN]; /* password of the nodes, if there are no keys */
    dcli_secret secret;        /* secret of the host: never sent */
    dcli_contact contact[DCLI_MOST_CALLS];
    int contact_count, attended; /* contacts, and how many of them the process monitor already serves */
    pthread_t monitor;
    bool has_monitor;
    int wake_fd;
    dcli_printer *printer;
    /* Guards the fields below; of members: `process`, `lost`, `gone`, `heard`, `output`; of contacts: `flush`. */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool stop;
    bool waits_end; /* the cluster is being closed */
    dcli_start_order order;
    const dcli_pool_user *calls; /* whom losses are reported to */
    void *host;                  /* the first argument of these calls; NULL: nobody yet */
    int64_t flushes;             /* counts the calls that wait for printed lines */
    dcli_fleet_hooks hooks;      /* does not change while there is a host, so it needs no lock */
};

/* ---- worker_pool_local.c */

/** Start `count` processes with numbers from `first` on, each with a link to the host. Called by the process monitor,
 *  because they end with the thread that starts them. */
dcl_status dcli_worker_pool_start_local(dcli_worker_pool *pool, int first, int count);
/** Parse "local:N". @return -1 with DCL_ERR_INVALID recorded. */
int dcli_worker_pool_parse_local(const char *text);

/* ---- worker_pool_remote.c */

/** Call the listeners that `workers` names. @return number of nodes they offer, or -1 (recorded). */
int dcli_worker_pool_count_remote(dcli_worker_pool *pool, const char *workers);
/** Disconnect the contacts from number `from` on, which the process monitor does not serve yet. */
void dcli_worker_pool_forget_contacts(dcli_worker_pool *pool, int from);
/** Tell the listeners to start processes, and connect to these. */
dcl_status dcli_worker_pool_open_remote(dcli_worker_pool *pool, int count);
/** Open a control connection to the listener of a worker, to start processes there or to ask what it offers. The host
 *  name is resolved once. Authenticates with the configured keys, or without keys by a token: the configured one, or
 *  the one that the worker has stored. On this machine, no token is sent to a listener of another user. */
dcl_status dcli_contact_call(dcli_net *net, const dcl_config *config, const dcli_worker_address *worker,
                             dcli_resolved *resolved_out, dcli_control **call_out);
/** Send HELLO, the first message of a control connection. */
dcl_status dcli_contact_greet(dcli_control *call);
/** Wait for a message of a given kind. Others are ignored, except REFUSED, which becomes the error. */
dcl_status dcli_contact_hear(dcli_control *call, const char *address, dcli_message_kind kind,
                             dcli_received *received_out);
/** Copy a device description from another process, with control characters escaped. (ask.c) */
void dcli_device_note(const dcli_msg_device *device, dcl_device_info *info_out);
/** Called by the process monitor: send a heartbeat, and process what the listener has sent. @return whether more may be
 *  waiting, since one call handles a limited number of messages. */
bool dcli_worker_pool_attend(dcli_worker_pool *pool, int contact);
/** Disconnect all contacts, and overwrite the secrets of the session. */
void dcli_worker_pool_hang_up(dcli_worker_pool *pool);
/** Descriptors of a contact for poll(). @return how many, at most 4. */
int dcli_worker_pool_polled(dcli_worker_pool *pool, int contact, struct pollfd polled_out[]);
/** Have the contacts that were counted last start processes, and hand these contacts to the process monitor, which
 *  serves those from pool->attended on only after they are complete. */
dcl_status dcli_worker_pool_order_remote(dcli_worker_pool *pool);

/* ---- worker_pool_output.c: with the lock */

typedef enum dcli_reading {
    DCLI_LINES,         /* read whole lines */
    DCLI_WITH_THE_LINE, /* also show the unfinished last line */
    DCLI_TO_THE_END     /* the process has ended: read all that is left, then close the pipe */
} dcli_reading;

/** Read what a local process has printed, and show it. */
void dcli_worker_pool_read_output(dcli_worker_pool *pool, int node, dcli_reading reading);
/** Handle PRINTED: show what a listener's processes have printed. */
void dcli_worker_pool_hear_output(dcli_worker_pool *pool, dcli_contact *contact, const dcli_msg_printed *printed);
/** Called by the process monitor: send SHOWN if there is something to acknowledge or request, and the last SHOWN is old
 *  enough. */
void dcli_worker_pool_send_shown(dcli_contact *contact);
/** Time at which dcli_worker_pool_send_shown() is due. @return INT64_MAX: there is nothing to send. */
int64_t dcli_worker_pool_shown_due_ms(const dcli_contact *contact);

/* ---- worker_pool.c */

/** Record that a process cannot serve: with its own reason, or how it ended.
 *  @param why  "": describe how its process ended. @return status. */
dcl_status dcli_worker_pool_fail_to_start(dcli_worker_pool *pool, int node, dcl_status status, const char *why);
/** Make the SETUP message of a node. @param peers  [capacity] memory that the message points to. */
dcli_message dcli_worker_pool_describe_session(dcli_worker_pool *pool, int node, const dcli_node_ways ways[],
                                               int64_t first_operation, dcli_msg_peer peers[]);

/* ---- worker_pool_monitor.c */

dcl_status dcli_process_monitor_start(dcli_worker_pool *pool);
void dcli_process_monitor_stop(dcli_worker_pool *pool);
void dcli_process_monitor_wake(dcli_worker_pool *pool);
/** Have the process monitor start local processes; waits until they are started. */
dcl_status dcli_process_monitor_order(dcli_worker_pool *pool, int first, int count);
/** End the process of a lost node; the lock is held. A local process is killed at once; for another one the process
 *  monitor asks its supervisor. Does not wait for the end. */
void dcli_worker_pool_dismiss(dcli_worker_pool *pool, int node);
/** Report a loss to the host; the lock is held. */
void dcli_worker_pool_report(dcli_worker_pool *pool, int node, const char *seen);

#endif
