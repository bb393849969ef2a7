/* runtime/trace.h - the trace of a cluster: what all its peers have recorded, and their clocks. docs/tracing.md. */
#ifndef DCLI_RUNTIME_TRACE_H
#define DCLI_RUNTIME_TRACE_H

#include <stdio.h>

#include "base/trace.h"
#include "runtime/cluster.h"

/** One comparison of a node's clock with the program's: the best of several. */
typedef struct dcli_clock_match {
    int64_t at_ns;     /* by the node's clock; 0: not compared */
    int64_t offset_ns; /* the program's clock less the node's */
    int64_t error_ns;  /* the offset may be wrong by this: half of the time that the messages took */
} dcli_clock_match;

/** What a trace has of a node or of the program. */
typedef struct dcli_traced_peer {
    dcli_trace *ring;   /* of a process: a copy of its ring, made when the trace is gathered; NULL: there is none */
    bool told;          /* of a process: it has answered the current question */
    bool is_same_clock; /* it reads the same clock as the program */
    dcli_clock_match begin, end; /* else: the comparisons at the session's begin (or none), and at its end */
} dcli_traced_peer;

struct dcli_cluster_trace {
    char *path;         /* absolute */
    int64_t opened_ns;  /* the program's clock when the cluster was opened: the file's time 0 */
    int peer_count;     /* peers of `peer`, the program's is the last one that is in use */
    int completed_by;   /* peer whose watermarks completed the last operation; guarded by the cluster's lock */
    int64_t asked_part; /* of the current question to the nodes; guarded, as all that follows, by `lock` */
    bool at_begin;      /* the question belongs to the session's begin */
    int64_t most_kept;  /* most events of a node */
    pthread_mutex_t lock;
    dcli_traced_peer peer[]; /* [peer_count] */
};

/** Convert a time of a peer's clock to one of the program's. */
int64_t dcli_traced_time(const dcli_traced_peer *peer, int64_t time_ns);

/** One peer of a trace file. */
typedef struct dcli_trace_source {
    const char *device;  /* name of its device; "": the program */
    const char *missing; /* why it has no events; "": it has all that it recorded */
    const dcli_traced_peer *peer;
} dcli_trace_source;

/** Write a trace as JSON. The rings record nothing from now on. Source: Trace Event Format, Google, 2016.
 *  @param count    number of peers; the last one is the program.
 *  @param program  the number that events of nodes have as `peer` for the program.
 *  @param zero_ns  the program's clock at the file's time 0.
 *  @return DCL_OK or DCL_ERR_NOMEM; the caller checks the file for errors. */
dcl_status dcli_trace_write(FILE *file, int count, const dcli_trace_source source[], int program, int64_t zero_ns);

#endif
