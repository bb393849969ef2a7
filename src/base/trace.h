/* base/trace.h - recording what a peer does, and when, in a ring of fixed size: docs/tracing.md.
 *
 * Each peer (a node, or the program) has a ring of its own. When it is full, each new event replaces the oldest one, and
 * the replaced ones are counted. Times are those of dcli_monotonic_ns() in the process that records. */
#ifndef DCLI_BASE_TRACE_H
#define DCLI_BASE_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** What an event is. The kind determines its track: dcli_trace_track_of(). */
typedef enum dcli_trace_kind {
    DCLI_TRACE_KERNELS = 1, /* compute: a batch of a loop body or tile kernel on the device */
    DCLI_TRACE_FILL,        /* compute: a part is filled */
    DCLI_TRACE_STAGE,       /* in: the inputs of a batch are copied to where its kernels read them */
    DCLI_TRACE_COMMIT,      /* in: elements that a peer computed for this node's part are written to it */
    DCLI_TRACE_MOVE,        /* in: a batch of dcl_move() copies elements into a replica */
    DCLI_TRACE_LOAD,        /* in: a node reads its part from a file */
    DCLI_TRACE_READ,        /* in: the program unpacks elements that it reads */
    DCLI_TRACE_PACK,        /* out: elements that a peer reads are packed */
    DCLI_TRACE_PASS,        /* out: elements that a batch computed are copied out of its stages */
    DCLI_TRACE_SAVE,        /* out: a node writes its part to a file */
    DCLI_TRACE_WRITE,       /* out: the program packs elements that it writes */
    DCLI_TRACE_SENT,        /* wire: a chunk is given to the transport, for `peer` */
    DCLI_TRACE_ARRIVED,     /* wire: a chunk is taken from the transport, from `peer` */
    DCLI_TRACE_WAIT,        /* waiting: there is nothing to do before `peer` has done something */
    DCLI_TRACE_PLAN,        /* preparing: an operation is planned, or its launches are prepared */
    DCLI_TRACE_COMPILE,     /* preparing: a body is compiled */
    DCLI_TRACE_LAUNCH,      /* preparing: the kernels of a batch are given to the driver, which may compile, too */
    DCLI_TRACE_ALLOCATE,    /* preparing: memory of a part or replica is allocated, and zeroed if need be */
    DCLI_TRACE_KINDS
} dcli_trace_kind;

typedef enum dcli_track {
    DCLI_TRACK_COMPUTE,
    DCLI_TRACK_IN,
    DCLI_TRACK_OUT,
    DCLI_TRACK_WIRE,
    DCLI_TRACK_WAITING,
    DCLI_TRACK_PREPARING,
    DCLI_TRACKS
} dcli_track;

/** How the times of an event were measured. */
typedef enum dcli_trace_clock {
    DCLI_CLOCK_HOST,   /* by the thread that did it, at its begin and end */
    DCLI_CLOCK_DEVICE, /* by the device (OpenCL's profiling), mapped to the host's clock */
    DCLI_CLOCK_SEEN,   /* by the thread that started it: from its launch until it was seen to be complete */
    DCLI_TRACE_CLOCKS
} dcli_trace_clock;

enum {
    DCLI_TRACE_NOBODY = -1,    /* value of dcli_trace_event.peer: no other peer, or several */
    DCLI_TRACE_NAMES = 1000,   /* maximum number of names in a ring */
    DCLI_TRACE_NAME_BYTES = 96 /* bytes of a name, with its '\0' */
};

typedef struct dcli_trace_event {
    int64_t begin_ns, end_ns;
    int64_t operation; /* number of the operation; 0: none */
    int64_t part;      /* number of the batch (KERNELS, STAGE, PASS, FILL, ...) or of the chunk; -1: none */
    int64_t bytes;
    int32_t peer; /* the other peer; DCLI_TRACE_NOBODY: none, or several */
    /* KERNELS: number of tiles, and of kernels that were started. SENT, ARRIVED, PACK, COMMIT of a lent batch
     * (worker/stealing.h): number of the batch, and of the question that it was lent for, from 1 on. Others: 0. */
    int32_t tasks, launches;
    int16_t name; /* number of the name, by dcli_trace_name(); 0: none, the kind is enough */
    uint8_t kind, clock;
    bool written; /* of chunks: true: the sender computed the elements; false: the receiver reads them */
} dcli_trace_event;

dcli_track dcli_trace_track_of(dcli_trace_kind kind);

/** The number of the clock behind CLOCK_MONOTONIC: processes with the same number read the same clock. 0: not known. It
 *  is determined by the first call and then remembered, so that a process can call it before it is confined. */
uint64_t dcli_trace_clock_id(void);

/** A ring. Used by several threads. */
typedef struct dcli_trace dcli_trace;

/** Open a ring. @param bytes  memory for events; pages of it are allocated as they are first written. @return NULL:
 *  DCL_ERR_NOMEM. */
dcli_trace *dcli_trace_open(size_t bytes);
/** NULL is accepted. */
void dcli_trace_close(dcli_trace *trace);
/** Number of events for which this much memory has room. */
int64_t dcli_trace_capacity(size_t bytes);
/** Record an event; the oldest one is dropped if there is no room. */
void dcli_trace_add(dcli_trace *trace, const dcli_trace_event *event);
/** Record several events, in their order. */
void dcli_trace_add_all(dcli_trace *trace, const dcli_trace_event event[], int64_t count);
/** The number of a name: the first line of a text that is not blank, without leading blanks, cut after 95 bytes. Only
 *  the first thousand names get a number. @return 0: there are more names, or the text is blank. */
int16_t dcli_trace_name(dcli_trace *trace, const char *text);
/** The text of a name; "" for 0 and for numbers that are not in use. Valid until dcli_trace_close(). */
const char *dcli_trace_text(dcli_trace *trace, int name);
/** Record nothing from now on, so that the ring can be read in several steps. */
void dcli_trace_stop(dcli_trace *trace);
/** Number of events that were dropped, and number of those in the ring. */
void dcli_trace_count(dcli_trace *trace, int64_t *dropped_out, int64_t *kept_out);
/** Count events that were dropped elsewhere, before they could be added here. */
void dcli_trace_add_dropped(dcli_trace *trace, int64_t count);
/** Copy events in the order of recording. @param first  0: the oldest in the ring. @return their number. */
int64_t dcli_trace_copy(dcli_trace *trace, int64_t first, int64_t capacity, dcli_trace_event events_out[]);

#endif
