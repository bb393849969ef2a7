/* cli/trace_events.h - the contents of a trace file. */
#ifndef CLI_TRACE_EVENTS_H
#define CLI_TRACE_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

/** Rows of a timeline, in the order in which they are drawn. */
typedef enum cli_track { CLI_COMPUTE, CLI_IN, CLI_OUT, CLI_WIRE, CLI_WAITING, CLI_PREPARING, CLI_TRACKS } cli_track;

typedef struct cli_event {
    int64_t begin, end; /* ns since the trace's time 0 */
    int64_t operation;  /* 0: none */
    int64_t part;       /* number of the batch or chunk; -1: none */
    int64_t loan;       /* chunk of a lent batch: number of the loan, from 1 on; else 0 */
    int64_t batch;      /* number of the batch; -1: none */
    int64_t bytes;
    int peer;  /* index of the process that recorded it */
    int other; /* index of the one that it names; -1: none */
    cli_track track;
    const char *kind; /* its `cat` */
    const char *name;
    bool written;    /* a chunk: the sender computed the elements */
    bool sent_known; /* a chunk on the wire: the trace says when it was sent, and by which process */
} cli_event;

/** A process of the trace: the program or a node. */
typedef struct cli_peer {
    const char *name, *device;
    const char *missing; /* why it has no events; "": it has them */
    int64_t dropped;
    double clock_error_us;
    int64_t recorded_from; /* ns: its first event, if those before it were dropped; else trace.begin */
    int64_t count;
    cli_event *event; /* [count] by track, then by begin */
} cli_peer;

typedef struct cli_timeline {
    const char *path;
    int peer_count;
    cli_peer *peer;     /* [peer_count] the program comes last */
    int64_t begin, end; /* of its first and last event, ns */
    int64_t count;      /* events of all peers */
    char *text;         /* the file; strings point into it */
    cli_event *events;  /* those of all peers */
} cli_timeline;

extern const char *const cli_track_names[CLI_TRACKS];

/** Read a trace that DCL has written. @return CLI_OK, or CLI_FAILURE after a sentence that says at which line and
 *  column the file is invalid. */
int cli_trace_read(const char *path, cli_timeline *trace_out);
void cli_trace_free(cli_timeline *trace);
/** Reduce a trace to the time from..to, in ns: remove the events outside, and shorten those that lie partly outside.
 *  @return CLI_OK, or CLI_FAILURE after a sentence if from..to does not overlap the time of the trace. */
int cli_trace_cut(cli_timeline *trace, int64_t from, int64_t to);

/** What a process does at a time. If it does several things at once, the first of these in this order counts. */
typedef enum cli_activity {
    CLI_COMPUTES, /* its own batches */
    CLI_STEALS,   /* batches of other nodes */
    CLI_MOVES,
    CLI_PREPARES,
    CLI_WAITS,
    CLI_IDLES,
    CLI_ACTIVITIES,
    CLI_DROPPED = CLI_ACTIVITIES /* not known: the events of the time were dropped */
} cli_activity;
/** The activity that an event shows. CLI_IDLES: the event does not show what its process does (a chunk that is on the
 *  wire). */
cli_activity cli_activity_of(const cli_event *event);

/** For whom a process waited. */
typedef struct cli_awaited {
    int peer;  /* peer_count: nobody in particular */
    double ns; /* 0: this one and those after it are not used */
} cli_awaited;

enum { CLI_MOST_AWAITED = 3 };

/** Where a process's time went. */
typedef struct cli_spent {
    int64_t ns[CLI_ACTIVITIES];            /* together the time from recorded_from to trace.end */
    cli_awaited awaited[CLI_MOST_AWAITED]; /* parts of CLI_WAITS, the longest first */
} cli_spent;

/** Divide the time of each process among its activities. @return [peer_count]; free() it. */
cli_spent *cli_spent_make(const cli_timeline *trace);

/** A stretch of the critical path. */
typedef struct cli_step {
    int peer;
    const cli_event *event; /* NULL: nothing is recorded of this time */
    int64_t begin, end;
} cli_step;

/** Find what determined the total time. The path goes back from the last event, always to the work on which the present
 *  one depended: from a message to the packing of its elements; from kernels to their launch, if the launch had not
 *  ended before them; from a batch of another node that a node without work took, to what that node did at that time;
 *  otherwise to the work that ended last, on the same process or on the one from which a message came or that was waited
 *  for.
 *  @return [*count_out] the last step first; free() it. */
cli_step *cli_trace_path(const cli_timeline *trace, int *count_out);

/** Print what cli_spent_make() and cli_trace_path() find, and a timeline. */
void cli_trace_print(const cli_timeline *trace);
/** Draw the timeline. @return CLI_OK, or CLI_FAILURE after a sentence. */
int cli_trace_draw(const cli_timeline *trace, const char *path);
/** For each of `columns` equal parts of the trace's time: what a process does for most of it, or
 *  CLI_DROPPED. */
void cli_trace_mostly(const cli_timeline *trace, int peer, int columns, cli_activity mostly_out[]);
/** For each of `columns` equal parts of the trace's time: the share of it that a track's events take, 0..1.
 *  @param kind       only events of this kind; NULL: of all.
 *  @param share_out  [columns]. @return whether there is any such event. */
bool cli_trace_shares(const cli_timeline *trace, int peer, cli_track track, const char *kind, int columns,
                      double share_out[]);

#endif
