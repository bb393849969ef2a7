/* fleet/crew_inside.h - what the files of the crew share. Used by crew*.c only. */
#ifndef DCLI_FLEET_CREW_INSIDE_H
#define DCLI_FLEET_CREW_INSIDE_H

#include <poll.h>
#include <pthread.h>

#include "base/error.h"
#include "base/token_bucket.h"
#include "fleet/addresses.h"
#include "fleet/control.h"
#include "fleet/crew.h"
#include "fleet/output.h"
#include "fleet/printer.h"
#include "fleet/process.h"
#include "net/desk.h"
#include "net/proof.h"
#include "net/token.h"
#include "net/wire_address.h"

enum {
    DCLI_START_MS = 20000, /* a process that has not described its device by then does not start */
    DCLI_MOST_LOCAL = 64   /* worker processes that a program starts itself */
};

/** What of a node's output is shown. */
typedef struct dcli_allowance {
    dcli_token_bucket bytes; /* that may be shown */
    int64_t dropped;         /* bytes since the last line that was shown */
} dcli_allowance;

/** A node of the session: a process of this host, or of another. */
typedef struct dcli_member {
    dcl_device_info info;
    char kind[512];
    char name[320]; /* "process 123 of this host", "tcp://host:port, process 3" */
    bool in_place, heard, lost;
    bool introduced;                /* the others know of it */
    bool dismissed;                 /* lost, and that has been told: its process is to end, and can be forgotten then */
    char refusal[DCLI_ERROR_BYTES]; /* why it cannot serve; "": it has not said so */
    dcl_status refusal_status;
    dcli_process process; /* local */
    dcli_output output;   /* local: what it prints */
    dcli_allowance printing;
    int *introduction; /* local newcomer: [capacity] sockets of links to it, for the others; NULL: none */
    int call, place;   /* tcp: which desk, and which of its processes */
    bool kill_due;     /* tcp: the desk is to end it */
    char address[DCLI_MOST_ADDRESS + 1], key[DCLI_MOST_KEY + 1];
    char word_key[DCLI_KEY_HEX]; /* tcp: by which it knows what others pass on of the host's */
    char gone[400];              /* tcp: what the desk says of its end; "": nothing yet */
} dcli_member;

/** A desk that workers were got from. */
typedef struct dcli_contact {
    dcli_call *call;
    char address[DCLI_MOST_ADDRESS + 1]; /* as it was given */
    dcli_resolved resolved;
    bool lost;
    int first, count; /* its nodes */
    int64_t beats, beat_due_ms, heard_ms;
    int64_t second_ms;
    int in_second;                 /* messages since second_ms */
    int64_t printed, acknowledged; /* number of the last PRINTED, and of the one that SHOWN has named */
    int64_t flush, asked, flushed; /* to be asked of it, asked already, and answered: see SHOWN */
    int64_t shown_ms;              /* when SHOWN was sent last */
    bool is_late;                  /* it has not answered in time */
} dcli_contact;

/** What the keeper is asked to do: start processes in its own name, so that they end with it. */
typedef struct dcli_start_order {
    int first, count;
    bool due;
    dcl_status status;
    char problem[DCLI_ERROR_BYTES];
} dcli_start_order;

struct dcli_crew {
    dcli_crew_terms terms;
    bool is_local;
    int node_count, capacity;
    int tree_nodes;      /* nodes when the session began */
    dcli_member *member; /* [capacity] */
    dcli_net *net;
    dcli_buffers *buffers;
    dcli_endpoint *endpoint; /* the host's, until it is given away */
    char program[4096];
    int devices[DCLI_MOST_LOCAL], device_count; /* local: what the processes serve, in turn */
    dcli_shared_link *host_link;                /* [capacity + 1] local, until the endpoint has them */
    bool has_keys;
    dcli_keypair own;          /* of the host of this session; its secret stays here. All zeros: none */
    dcli_keypair nodes;        /* of this session's nodes, which are given both halves */
    char password[DCLI_TOKEN]; /* of the nodes, without keys */
    dcli_secret secret;        /* of the host: never sent */
    dcli_contact contact[DCLI_MOST_CALLS];
    int contact_count, attended; /* those before `attended` are the keeper's */
    pthread_t keeper;
    bool has_keeper;
    int wake_fd;
    dcli_printer *printer;
    /* Of what follows; of members `process`, `lost`, `gone`, `heard`, `output`; of contacts `flush`. */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool stop;
    bool waits_end; /* the cluster is being closed */
    dcli_start_order order;
    dcli_worker *host;      /* hears of losses; NULL: nobody yet */
    int64_t flushes;        /* how often somebody has waited for what was printed */
    dcli_fleet_hooks hooks; /* not changed while there is a host; no lock */
};

/* ---- crew_local.c */

/** Close what is left of a newcomer's introductions. */
void dcli_crew_forget_introduction(dcli_crew *crew, int node);

/** Prepare `count` processes from number crew->node_count on: their links to the host and to each other.
 *  By the keeper: start them. */
dcl_status dcli_crew_start_local(dcli_crew *crew, int first, int count);
/** "local:N" @return -1 with DCL_ERR_INVALID recorded. */
int dcli_crew_parse_local(const char *text);

/* ---- crew_remote.c */

/** Call the desks that `workers` names. @return how many nodes they offer, or -1 (recorded). */
int dcli_crew_count_remote(dcli_crew *crew, const char *workers);
/** Hang up on those from number `from` on, which the keeper does not attend to. */
void dcli_crew_forget_contacts(dcli_crew *crew, int from);
/** Have them start processes, and connect to these. */
dcl_status dcli_crew_open_remote(dcli_crew *crew, int count);
/** A call, and its first exchange: also for asking what a worker offers. Looks the name up, once. */
dcl_status dcli_contact_call(dcli_net *net, const dcl_config *config, const dcli_worker_address *worker,
                             dcli_resolved *resolved_out, dcli_call **call_out);
dcl_status dcli_contact_greet(dcli_call *call);
/** Wait for a message of a kind; others are passed over, but a refusal, which becomes the error. */
dcl_status dcli_contact_hear(dcli_call *call, const char *address, dcli_message_kind kind, dcli_received *received_out);
/** A device as another process describes it, in text that a terminal bears. (ask.c) */
void dcli_device_note(const dcli_msg_device *device, dcl_device_info *info_out);
/** By the keeper: beat, and hear what desks say. @return whether more may be there: the turn of this one is over. */
bool dcli_crew_attend(dcli_crew *crew, int contact);
void dcli_crew_hang_up(dcli_crew *crew);
/** Descriptors of a contact to be polled. @return how many, at most 4. */
int dcli_crew_polled(dcli_crew *crew, int contact, struct pollfd polled_out[]);
dcl_status dcli_crew_add_remote(dcli_crew *crew, dcli_worker *host, int first, int count);

/* ---- crew_output.c: with the lock */

typedef enum dcli_reading {
    DCLI_LINES,         /* whole ones */
    DCLI_WITH_THE_LINE, /* also one that has not ended */
    DCLI_TO_THE_END     /* the process has ended */
} dcli_reading;

/** Show what a local process has printed. */
void dcli_crew_read_output(dcli_crew *crew, int node, dcli_reading reading);
/** PRINTED of a desk. */
void dcli_crew_hear_output(dcli_crew *crew, dcli_contact *contact, const dcli_msg_printed *printed);
/** By the keeper: send SHOWN, if there is something to acknowledge or to ask, and the last one is old enough. */
void dcli_crew_send_shown(dcli_contact *contact);
/** When that is to be called again. @return INT64_MAX: SHOWN has nothing to say. */
int64_t dcli_crew_shown_due_ms(const dcli_contact *contact);

/* ---- crew.c */

/** A process cannot serve: what it has said, or how it has ended. @return status. */
dcl_status dcli_crew_fail_to_start(dcli_crew *crew, int node, dcl_status status, const char *why);
/** The SETUP of a node. @param peers  [capacity] memory that the message points to. */
dcli_message dcli_crew_describe_session(dcli_crew *crew, int node, const bool in_place[], int64_t first_operation,
                                        dcli_msg_peer peers[]);

/* ---- crew_keeper.c */

dcl_status dcli_keeper_start(dcli_crew *crew);
void dcli_keeper_stop(dcli_crew *crew);
void dcli_keeper_wake(dcli_crew *crew);
/** Have it start local processes; waits until they are started. */
dcl_status dcli_keeper_order(dcli_crew *crew, int first, int count);
/** With the lock: end the process of a node that is lost. Does not wait. */
void dcli_crew_dismiss(dcli_crew *crew, int node);
/** With the lock: tell the host of a loss. */
void dcli_crew_report(dcli_crew *crew, int node, const char *seen);

#endif
