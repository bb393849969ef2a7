/* runtime/trace.h - the trace of a cluster: what all its peers have recorded, and their clocks. docs/tracing.md. */
#ifndef DCLI_RUNTIME_TRACE_H
#define DCLI_RUNTIME_TRACE_H

#include <stdio.h>

#include "base/trace.h"
#include "runtime/cluster.h"

/** One comparison of a node's clock with the program's: the best of several. */
typedef struct dcli_clock_match {
    int64_t at_ns;     /* time of the comparison by the node's clock; 0: not compared */
    int64_t offset_ns; /* the program's clock less the node's */
    int64_t error_ns;  /* the offset may be wrong by this much: half of the time that the messages took */
} dcli_clock_match;

/** What a trace contains of a node, or of the program. */
typedef struct dcli_traced_peer {
    dcli_trace *ring;    /* of a process: a copy of its ring, made when the trace is gathered; NULL: there is none */
    int64_t kept, taken; /* of a process: number of events that it says it has, and number of events received */
    bool unrecorded;     /* of a process: it has no ring, for lack of memory */
    bool told;           /* of a process: it has answered the current question */
    bool is_same_clock;  /* the peer reads the same clock as the program */
    dcli_clock_match begin, end; /* of another clock: the comparisons when the session began (or none), and when it
                                    ended */
} dcli_traced_peer;

struct dcli_cluster_trace {
    char *path;              /* absolute */
    bool given_up;           /* the file is not written */
    int64_t opened_ns;       /* the program's clock when the cluster was opened: the file's time 0 */
    int peer_count;          /* peers of `peer`, the program's is the last one that is in use */
    int completed_by;        /* the peer whose watermarks completed the last operation; guarded by the cluster's lock */
    int64_t asked_part;      /* part that the current question to the nodes is about. This and all following fields are
                           guarded by `lock` until the workers have ended */
    int64_t asked_ns;        /* the program's clock before the current question */
    bool at_begin;           /* the question belongs to the begin of the session */
    int64_t most_kept;       /* most events of a node */
    pthread_mutex_t lock;    /* guards the fields from `asked_part` on */
    dcli_traced_peer peer[]; /* [peer_count] */
};

/** Convert a time of a peer's clock to one of the program's. */
int64_t dcli_traced_time(const dcli_traced_peer *peer, int64_t time_ns);

/** Take the events of a node's answer. Those outside the session, which ends at `until_ns` by the program's clock, are
 *  counted as dropped: the node's clock or the node is wrong. @param room  most events of a node. */
void dcli_traced_add(dcli_traced_peer *peer, const dcli_msg_traced *traced, int64_t room, int64_t from_ns,
                     int64_t until_ns);

enum { DCLI_TRACE_MISSING = 128 }; /* bytes of the sentence below */
/** Write why a peer has no events, or not all of them; "": the trace has all that it recorded. */
void dcli_traced_missing(const dcli_traced_peer *peer, bool is_lost, char text_out[DCLI_TRACE_MISSING]);

/** One peer of a trace file. */
typedef struct dcli_trace_source {
    const char *device; /* name of its device; "": the program */
    char missing[DCLI_TRACE_MISSING];
    const dcli_traced_peer *peer;
} dcli_trace_source;

/** Write a trace as JSON. The rings record nothing from now on. Source: Trace Event Format, Google, 2016.
 *  @param count    number of peers; the last one is the program.
 *  @param program  the number that events of nodes have as `peer` for the program.
 *  @param zero_ns  the program's clock at the file's time 0.
 *  @return DCL_OK or DCL_ERR_NOMEM; the caller checks the file for errors. */
dcl_status dcli_trace_write(FILE *file, int count, const dcli_trace_source source[], int program, int64_t zero_ns);

#endif
