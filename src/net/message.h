/* net/message.h - the messages. One table (message_table.c) determines struct layout, packing, checking and
 * documentation. */
#ifndef DCLI_NET_MESSAGE_H
#define DCLI_NET_MESSAGE_H

#include <dcl/grid.h>

#include "base/trace.h"

/** Protocol version, first field of every message. */
#define DCLI_PROTOCOL 4

enum {                              /* limits; nearly all are checked before any field of a received message is used */
       DCLI_MOST_MESSAGE = 1 << 20, /* bytes of a message without its payload */
       DCLI_MOST_DEPTH = 8,         /* nesting of arrays; operands of operations need 5 */
       DCLI_MOST_ITEMS =
           1 << 15, /* numbers, strings and arrays: 64 operations of 64 operands, with 128 views, 4,096 numbers of
                     declarations and an order of 256, have 32,648 */
       DCLI_MOST_OPERATIONS = 64, /* descriptors of operations in one message */
       DCLI_MOST_ORDER = 256,     /* operations in one message, with those that repeat an earlier one */
       DCLI_MOST_OPERATION_KIND = 10,
       DCLI_MOST_OPERANDS = 64,
       DCLI_MOST_MARKS_FAILURES = 128,
       DCLI_MOST_LINES = 65537, /* lines around a part that are computed, plus 1 */
       DCLI_MOST_VIEWS = 128,   /* most views that a sender puts into one message */
       DCLI_MOST_DECLARED_NUMBERS =
           4096, /* most numbers of a declaration; about the same limit holds for a message with several operations */
       DCLI_MOST_PEERS = 1 << 16,
       DCLI_MOST_PATH = 4096,        /* bytes of a path, as in the limits of all strings here */
       DCLI_MOST_MAP_TEXT = 1 << 18, /* bytes of a map's text; maps may be lists */
       DCLI_MOST_SHORT_MAP = 4096,   /* an operation with a longer map is sent alone */
       DCLI_MOST_NAME = 63,
       DCLI_MOST_TEXT = 1 << 16,       /* a body or prelude */
       DCLI_MOST_FORGOTTEN = 256,      /* evicted bodies in one KERNEL */
       DCLI_MOST_SENTENCE = 1536,      /* longer error texts are cut, not refused */
       DCLI_MOST_ADDRESS = 255,        /* bytes of "tcp://host:port" */
       DCLI_MOST_KEY = 64,             /* bytes of a key or token as text */
       DCLI_MOST_NODES = 2048,         /* nodes of a session with worker processes */
       DCLI_MOST_MS = 1000000000,      /* limit of times in milliseconds */
       DCLI_MSG_COUNTERS = 17,         /* number of fields of dcl_counters */
       DCLI_MOST_COMMANDS = 64,        /* OpenCL commands in one message */
       DCLI_MOST_COMMAND_KIND = 27,    /* dcli_command_kind */
       DCLI_MOST_COMMAND_NUMBERS = 24, /* numbers of a command */
       DCLI_MOST_COMMAND_WAITS = 256,  /* events that one command waits for; the driver sends more as markers */
       DCLI_MOST_COMMAND_WORDS = 1024, /* words of 8 bytes that a command carries: an argument, a pattern */
       DCLI_MOST_ENDED = 512,          /* events in one EVENTS */
       DCLI_MOST_FACTS = 1024,         /* facts in one ANSWER */
       DCLI_MOST_FACT_WORDS = 8192,    /* words of 8 bytes of a fact */
       DCLI_MSG_WORK_PARTS = 32,       /* parts of a node's indices whose work is measured */
       DCLI_MSG_WORK_THIEVES = 8,      /* other nodes with which the times of a body are compared */
       DCLI_MOST_EVENTS = 2048,        /* events in one TRACED: 13 items each, so that with their names they stay below
                                     DCLI_MOST_ITEMS */
       DCLI_MOST_TRACE = 1 << 30,      /* bytes of recorded events per node; DCL_TRACE_BYTES has the same limit */
       DCLI_MOST_EVENT_NAMES = DCLI_TRACE_NAMES,
       DCLI_MOST_CHUNK = 1 << 30 /* bytes of a chunk; DCL_CHUNK_BYTES has the same limit */
};
#define DCLI_MOST_OPERATION \
    ((int64_t)1 << 62)                     /* largest operation number; at one per microsecond it takes 146,000
                                                  years */
#define DCLI_MOST_NS ((int64_t)1 << 61)    /* limit of times, and of durations, in nanoseconds */
#define DCLI_MOST_EXACT ((int64_t)1 << 53) /* limit of numbers in a trace file: larger ones may be rounded */
#define DCLI_MOST_POOL ((int64_t)1 << 50)  /* limit of sizes that a session sets, in bytes */

typedef enum dcli_message_kind {
    DCLI_MSG_KERNEL = 1, /* host -> worker: a body to parse; the workers that it names also compile it */
    DCLI_MSG_BUILT,      /* worker -> host: the result of compiling the body of a KERNEL */
    DCLI_MSG_OPERATIONS, /* host -> worker: descriptors of operations, in order */
    DCLI_MSG_GRANT,      /* reader -> owner: the first so many chunks of an operation may be sent */
    DCLI_MSG_CHUNK,      /* owner -> reader, or writer -> owner: packed data, as payload */
    DCLI_MSG_CREDIT,     /* owner -> writer: chunks were committed */
    DCLI_MSG_MARKS,      /* node -> peers and host: watermarks (and counters, for the host; failures, for nodes) */
    DCLI_MSG_FAILED,     /* node -> host: an operation failed here, with its sentence; host -> nodes, along the tree */
    DCLI_MSG_REPORT,     /* node -> host: an access outside a grid, or outside what was declared */
    DCLI_MSG_STOP,       /* host -> worker: the session ends */
    DCLI_MSG_DEVICE,     /* worker -> host, its first message: its device */
    DCLI_MSG_SETUP,      /* host -> worker, its first: the session */
    DCLI_MSG_PART,       /* node -> nodes of its host: location of a part; with the first part in a memory the
                            memory's file descriptor is sent */
    DCLI_MSG_LOST,       /* node -> host: cannot reach a peer; host -> nodes: a peer is gone */
    DCLI_MSG_JOINED,     /* host -> nodes: a peer takes part from now on */
    DCLI_MSG_SEES,       /* host -> worker: can you see this file? */
    DCLI_MSG_SEEN,       /* worker -> host: answer to SEES */
    DCLI_MSG_COUNT,      /* host -> worker: send your counters */
    DCLI_MSG_COUNTS,     /* worker -> host: answer to COUNT */
    DCLI_MSG_HELLO,      /* client -> listener, its first message */
    DCLI_MSG_WELCOME,    /* listener -> client: the devices offered */
    DCLI_MSG_REFUSED,    /* listener -> client: refusal with its reason */
    DCLI_MSG_OPEN,       /* client -> listener: start the processes of a session */
    DCLI_MSG_OPENED,     /* listener -> client: where the processes listen */
    DCLI_MSG_BEAT,       /* client <-> listener: heartbeat */
    DCLI_MSG_GONE,       /* listener -> client: a process has ended; client -> listener: end it */
    DCLI_MSG_RISEN,      /* node -> its parent in the tree: watermarks of all nodes below */
    DCLI_MSG_PRINTED,    /* listener -> client: what a process has printed */
    DCLI_MSG_SHOWN,      /* client -> listener: PRINTED was taken, the next one may be sent */
    DCLI_MSG_FORGET,     /* node -> nodes of its host: shared memory was freed */
    DCLI_MSG_TRACE,      /* host -> worker: send your recorded events */
    DCLI_MSG_TRACED,     /* worker -> host: answer to TRACE */
    /* lending between nodes: workqueue/loan.h */
    DCLI_MSG_HUNGRY,   /* thief -> victim: question: lend me work */
    DCLI_MSG_NOTHING,  /* victim -> thief: the answer no */
    DCLI_MSG_LENT,     /* victim -> thief: the answer yes: run these batches */
    DCLI_MSG_LOAN,     /* victim -> thief, or thief -> victim: inputs or results of a loan, as payload */
    DCLI_MSG_RECALL,   /* victim -> thief: return a loan if you have not begun it */
    DCLI_MSG_RESULT,   /* thief -> victim: all results of a loan were sent */
    DCLI_MSG_RETURNED, /* thief -> victim: a loan was not run */
    /* sessions of the OpenCL driver: docs/remote-opencl.md */
    DCLI_MSG_COMMANDS, /* driver -> server: OpenCL commands, in order */
    DCLI_MSG_DATA,     /* either way: bytes of a transfer, as payload */
    DCLI_MSG_TAKEN,    /* either way: so many bytes of a transfer may be sent */
    DCLI_MSG_EVENTS,   /* server -> driver: events that have ended */
    DCLI_MSG_QUERY,    /* driver -> server: a question */
    DCLI_MSG_ANSWER,   /* server -> driver: its answer */
    DCLI_MSG_PRINTF,   /* server -> driver: what kernels have printed */
    DCLI_MSG_KIND_COUNT
} dcli_message_kind;

/** One operand, an array or scalar, of an operation. */
typedef struct dcli_msg_operand {
    int64_t storage;    /* id of the storage; -1: a scalar or prelude */
    uint64_t value;     /* scalar: its bits */
    int64_t generation; /* generation of its replicas. Positive: use and make them; negative: only use them; 0:
                              neither */
} dcli_msg_operand;

/** How an operation accesses an array through a view: a dcli_transform of segment/view.h. */
typedef struct dcli_msg_view {
    int operand; /* number of the operand that is a view */
    int rank, base_rank;
    int64_t origin[DCL_MAX_RANK], extent[DCL_MAX_RANK];                     /* [rank] grid of the view */
    int64_t axis[DCL_MAX_RANK], constant[DCL_MAX_RANK], step[DCL_MAX_RANK]; /* [base_rank] fields of the
                                                                               dcli_transform */
    int shape_rank; /* 0: the base has the array's grid; else it is reshaped to this rank, with origin 0 */
    int64_t shape[DCL_MAX_RANK];
} dcli_msg_view;

/** A declaration of what a call reads of an array: a dcli_declared of segment/footprint.h. */
typedef struct dcli_msg_reach {
    int operand; /* number of the operand that is declared */
    int count;
    int64_t *number; /* [count] the numbers of a dcli_declared */
    bool approximate;
} dcli_msg_reach;

/** One descriptor of an operation. `kind` determines which fields are used; the others are 0. */
typedef struct dcli_msg_operation {
    int64_t number;
    int kind;       /* 1..DCLI_MOST_OPERATION_KIND, as numbered in the workqueue room */
    int64_t kernel; /* FORALL: number of the body */
    int operand_count;
    dcli_msg_operand *operand; /* [operand_count] the arrays and scalars that the operation uses */
    int box_rank;              /* rank of `box`; 0: the operation covers the whole grid */
    dcl_box box;               /* sent as three arrays of box_rank: start, count, stride */
    uint64_t element;          /* FILL: bits of the element, little-endian in the low bytes */
    const char *path;          /* LOAD, SAVE: path of the file */
    int64_t data_start;
    bool fortran_order, swapped;
    /* CREATE: the grid, and the rule of the map */
    int type, rank;
    int64_t origin[DCL_MAX_RANK], extent[DCL_MAX_RANK];
    const char *map; /* text of the map; the intended sizes follow */
    int64_t tile_bytes, block_bytes, small_bytes;
    int map_nodes; /* CREATE: number of nodes of the cluster when the map was made; 0: all */
    int view_count;
    dcli_msg_view *view; /* [view_count] views through which operands are accessed, in the operands' order. FILL,
                            READ, WRITE: only reshaped views */
    int reach_count;
    dcli_msg_reach *reach;  /* [reach_count] FORALL: declarations, in the operands' order */
    int node;               /* MOVE: the node to which the elements move */
    uint64_t device, inode; /* LOAD, SAVE: identity of the file (dcli_file_id) */
    bool unset;             /* CREATE: the next operation overwrites the whole array; until then its contents are
                               undefined */
    int steal;              /* FORALL: a dcl_steal_policy */
    int overlap;            /* FORALL: as in dcli_operation */
    uint64_t fresh;         /* FORALL: bit k: operand k is fresh */
} dcli_msg_operation;

/** Proof that a forwarded message is from the host: for each node that it has yet to reach, the node's number and the
 *  authentication tag of the message without this proof (proof.h). Empty if the host itself sends it. */
typedef struct dcli_msg_proof {
    int count;
    int64_t *number; /* [count] pairs of a node and its tag */
} dcli_msg_proof;

typedef struct dcli_msg_operations {
    int count;
    dcli_msg_operation *operation;
    int64_t epoch; /* epoch of the host; a receiver with an older epoch waits until it knows all members */
    dcli_msg_proof proof;
    int order_count;
    int64_t *order; /* [order_count] the operations in the program's order. 0: the next one of `operation`; k > 0: a
                       repetition of operation[k - 1], a FORALL, with the number after that of the operation before.
                       Empty: those of `operation` */
} dcli_msg_operations;

typedef struct dcli_msg_parameter {
    const char *name;
    int access, type, rank;
    int turned; /* which axis is contiguous in memory: as in dcli_param */
} dcli_msg_parameter;

typedef struct dcli_msg_kernel {
    int64_t kernel; /* number of the body, chosen by the host */
    const char *text, *prelude;
    int parameter_count;
    dcli_msg_parameter *parameter;
    int builder_count;
    int64_t *builder;            /* [builder_count] nodes that compile immediately and answer; others compile at
                                    first use */
    int item_count;              /* DCLI_MSG_ITEMS: a tile kernel; 0: a body */
    int64_t items[DCL_MAX_RANK]; /* work-group sizes, then work-items per tile: a dcli_items of kernel/body.h */
    bool along;                  /* a reduction along axes */
    bool fast;                   /* in any order: DCL_FAST */
    bool gathers;                /* its first operation probably gathers inputs */
    const char *over;            /* the text of DCL_OVER; "": there is none */
    int forgotten_count;
    int64_t *forgotten; /* [forgotten_count] bodies to evict: no later operation uses them */
    dcli_msg_proof proof;
} dcli_msg_kernel;
enum { DCLI_MSG_ITEMS = 6 };

typedef struct dcli_msg_built {
    int64_t kernel;
    int status; /* a dcl_status: the result of the compilation */
    const char *sentence;
} dcli_msg_built;

typedef struct dcli_msg_grant {
    int64_t operation;
    int64_t chunks; /* total number of chunks of the stream, from the first, that may be sent */
    bool declined;  /* they are not read: send them empty */
} dcli_msg_grant;

typedef struct dcli_msg_chunk {
    int64_t operation;
    int stream;    /* 0: T, what the receiver reads; 1: U, what the sender wrote for the receiver */
    int64_t chunk; /* number of the chunk in its stream */
    int status;    /* dcl_status; not DCL_OK: no payload, because the storage has failed */
} dcli_msg_chunk;

typedef struct dcli_msg_credit {
    int64_t chunks; /* committed since the last credit */
} dcli_msg_credit;

typedef struct dcli_msg_marks {
    int64_t done, ready;
    int64_t counter[DCLI_MSG_COUNTERS]; /* dcl_counters in the order of its fields; zeros if sent to peers */
    int failure_count;
    int64_t *failure; /* [failure_count], <= DCLI_MOST_MARKS_FAILURES: to nodes: pairs of an operation and a storage
                         whose contents are undefined after it */
} dcli_msg_marks;

typedef struct dcli_msg_failed {
    int64_t operation;
    int node; /* where it failed first */
    int status;
    bool cause; /* true: the failure was found by this node; false: the operation was skipped because of another
                   failure */
    int storage_count;
    int64_t *storage; /* [storage_count], <= DCLI_MOST_OPERANDS: storages whose contents are now undefined */
    const char *sentence;
} dcli_msg_failed;

typedef struct dcli_msg_report {
    int64_t operation;
    int storage_count;
    int64_t *storage;  /* [storage_count], <= DCLI_MOST_OPERANDS: storages that the operation writes */
    const char *array; /* name in the body */
    int rank;
    int64_t index[DCL_MAX_RANK];
    const char *body;     /* first line of the body */
    const char *declared; /* the declaration that was violated; "": the index is outside the grid */
    bool written;
    const char *outputs; /* of a tile kernel: the arrays that it writes, which identify it better than its first
                            line; "": a body */
} dcli_msg_report;

/** A device as its worker describes it. */
typedef struct dcli_msg_device {
    const char *name, *platform, *version, *class, *kind; /* class: "cpu", ...; kind: as dcli_device_kind(), "" in
                                                             WELCOME */
    int number, compute_units;
    bool has_half, has_double, in_place, reads_gpus;
    int64_t memory_bytes;
    int64_t process; /* its process id */
} dcli_msg_device;

/** A peer of a session, in the order of the nodes. */
typedef struct dcli_msg_peer {
    bool present;
    int can, group;      /* abilities of the node and number of its memory group: as in dcli_node_ways */
    const char *address; /* where it listens; "": it is reached by a link */
    const char *key;     /* public key in hexadecimal digits; "": none */
} dcli_msg_peer;

typedef struct dcli_msg_setup {
    int self;
    int peer_count; /* nodes, absent ones too */
    dcli_msg_peer *peer;
    int64_t first_operation; /* first operation in which the receiver takes part */
    int64_t epoch;           /* epoch of this list of members */
    int tree_nodes;          /* number of nodes in the tree; the others are attached to the host */
    int64_t tile_bytes, chunk_bytes, pool_bytes, quota_bytes, kept_bytes;
    int64_t silence_ms, build_ms, kernel_ms, plan_ms;
    int fanout, log;
    const char *fault;
    bool check_access;
    const char *word_key; /* key of the tags of forwarded messages; "": the receiver accepts them without */
    int64_t trace_bytes;  /* memory for recorded events; 0: none are recorded */
    int steal;            /* a dcl_steal_policy: when nodes lend batches */
    bool steal_kinds;     /* also to devices of another kind */
} dcli_msg_setup;

typedef struct dcli_msg_part {
    int64_t storage, bytes;
    int64_t memfd; /* the sender's number of the memfd, or of this piece of a GPU's memory */
    int64_t offset;
    int64_t piece, piece_bytes; /* for memory of a GPU: number of this piece of it, and bytes of each; else 0 */
} dcli_msg_part;

typedef struct dcli_msg_forget {
    int64_t memfd; /* number of the memory, as in a PART */
} dcli_msg_forget;

typedef struct dcli_msg_lost {
    int peer;
    int64_t epoch; /* epoch of the session after the loss; 0: a node asks the host to act */
    const char *sentence;
} dcli_msg_lost;

typedef struct dcli_msg_joined {
    int peer;
    int64_t epoch, first_operation;
    const char *address, *key;
    int can, group; /* abilities of the node and number of its memory group: as in dcli_node_ways */
} dcli_msg_joined;

typedef struct dcli_msg_sees {
    int64_t number;
    const char *path, *token;
    uint64_t device, inode; /* identity of that file, as the host sees it */
} dcli_msg_sees;

typedef struct dcli_msg_seen {
    int64_t number;
    bool yes;
} dcli_msg_seen;

typedef struct dcli_msg_risen {
    int64_t done, ready;
    int notice_count;
    /* [notice_count] pairs: a node (the sender or one below it), and how many messages FAILED and REPORT it has sent to
     * the host so far. Nodes that have sent none are omitted. */
    int64_t *notice;
} dcli_msg_risen;

typedef struct dcli_msg_count {
    int64_t number;
    int64_t kernel; /* 0, or a body whose work is asked for, too */
} dcli_msg_count;

typedef struct dcli_msg_counts {
    int64_t number;
    int64_t counter[DCLI_MSG_COUNTERS];
    /* What was measured of the last calls of a body, if it was asked for and known: worker/profile.h. */
    int64_t kernel;
    int axis;
    int64_t first, count; /* indices along the axis that are divided into parts */
    int64_t calls;        /* calls in the sums */
    int seen, stolen;     /* the number of last calls that were seen, and of those in which other nodes have computed
                             batches */
    int work_count, thief_count;
    int64_t *work;  /* [work_count] per part: ns and elements computed here, and by other nodes */
    int64_t *thief; /* [thief_count] triples: a node, ns that it took for batches, ns that they would have taken here */
} dcli_msg_counts;

typedef struct dcli_msg_trace {
    int64_t number;
    int64_t part;     /* number of the part of the events that is requested; -1: none, only the time of the clock */
    int64_t asked_ns; /* time of the host's clock when it was sent */
} dcli_msg_trace;

/** A dcli_trace_event. */
typedef struct dcli_msg_event {
    int64_t begin_ns, duration_ns;
    int kind;
    int64_t operation, part;
    int peer;
    int64_t bytes;
    int name, clock;
    bool written;
    int tasks, launches;
} dcli_msg_event;

typedef struct dcli_msg_name {
    const char *text;
} dcli_msg_name;

typedef struct dcli_msg_traced {
    int64_t number;
    int64_t part;             /* the part that was requested */
    int64_t asked_ns, now_ns; /* `asked_ns` of TRACE; the node's clock when it answered */
    uint64_t clock_id;        /* dcli_trace_clock_id() */
    int64_t kept, dropped;    /* number of events that the node has; number of those that it had to drop */
    int event_count;
    dcli_msg_event *event; /* [event_count] oldest first */
    int name_count;
    dcli_msg_name *name; /* [name_count] part 0: the names of the events, from number 1 on */
    bool unrecorded;     /* the node had no memory to record events */
} dcli_msg_traced;

typedef struct dcli_msg_hungry {
    int64_t question;
    int64_t first, upto; /* the sender knows these operations */
    int64_t bytes;       /* memory that it has reserved */
    uint64_t kind;       /* hash of the kind of its device */
    int64_t busy_ns;     /* what it has to do before it can begin */
} dcli_msg_hungry;

typedef struct dcli_msg_nothing {
    int64_t question;
} dcli_msg_nothing;

typedef struct dcli_msg_lent {
    int64_t question, operation;
    int64_t first, count; /* the batches */
    int64_t batch_ns;     /* predicted mean time of one of them at the receiver; 0: it is not known */
    int64_t each;         /* batches per loan (dcli_loan_end()); 0: 1 */
} dcli_msg_lent;

/* In this message and the next three, `batch` is the first one of a loan. */
typedef struct dcli_msg_loan {
    int64_t question, operation, batch;
    bool written;  /* true: a result; false: an input */
    int64_t chunk; /* its number among those of the loan */
} dcli_msg_loan;

typedef struct dcli_msg_recall {
    int64_t question, operation, batch;
} dcli_msg_recall;

typedef struct dcli_msg_result {
    int64_t question, operation, batch;
    int64_t kernel_ns; /* time of its kernels; 0: not measured */
    int64_t held_ns;   /* other time between the arrival of the last of its inputs and this message */
} dcli_msg_result;

typedef struct dcli_msg_returned {
    int64_t question, operation, batch;
} dcli_msg_returned;

/** Kinds of OpenCL commands, with the meaning of `object`, `number`, `text` and `word`. Numbers of objects and of events
 *  are chosen by the driver and never used twice in a session. */
typedef enum dcli_command_kind {
    DCLI_CL_RELEASE = 1, /* object: any; nothing refers to it in later commands */
    DCLI_CL_BUFFER,      /* object: new buffer; number: flags, bytes; optional: a context, 0: that of the device */
    DCLI_CL_SUB_BUFFER,  /* object: new buffer; number: parent, flags, offset, bytes */
    DCLI_CL_QUEUE,  /* object: new command queue; number: properties; optional: a context and a sub-device of it, 0: the
                              device */
    DCLI_CL_SOURCE, /* object: new program; number: bytes of its text, which DCLI_CL_APPEND brings; optional: a
                              context */
    DCLI_CL_BINARY, /* the same of a program from a binary */
    DCLI_CL_BUILD,  /* object: program; number: question that the ANSWER names, programs of headers, which are
                              included by the names of net/include.h; text: options */
    DCLI_CL_COMPILE,  /* the same, for linking */
    DCLI_CL_LINK,     /* object: new program; number: question, programs to link; text: options */
    DCLI_CL_KERNEL,   /* object: new kernel; number: program; text: name */
    DCLI_CL_ARGUMENT, /* object: kernel; number: index, a dcli_argument_kind, bytes, buffer; word: the value */
    DCLI_CL_LAUNCH,   /* object: kernel; number: axes, then per axis: offset, items, items of a group (0: any) */
    DCLI_CL_MARKER,   /* number: 1: it waits for the events of its list; 0: for all commands before it; optional: so
                             many of the first events of its list may fail, and it goes on */
    DCLI_CL_BARRIER,  /* the same; commands after it wait for it */
    DCLI_CL_WRITE, /* object: buffer; number: transfer, a dcli_span; how (DCLI_IN_CHUNKS, ...; if the driver can copy in place,
                             it sends nothing before it is granted); optional: 1 more than the node whose server sends the data, which has
                             a DCLI_CL_READ of the same transfer; 0 or none: the driver sends them; optional: so many
                             of the first events of its list may fail, and it goes on */
    DCLI_CL_READ,       /* the same, but 1 more than the node whose server gets the data */
    DCLI_CL_COPY,       /* object: source; number: target, offset in the source, in the target, bytes */
    DCLI_CL_COPY_RECT,  /* object: source; number: target, then source origin, target origin, region (3 each), row and
                              slice pitch of the source, of the target */
    DCLI_CL_FILL,       /* object: buffer; number: offset, bytes, bytes of the pattern; word: the pattern */
    DCLI_CL_USER_EVENT, /* event: a new event that DCLI_CL_SET_STATUS ends; optional number: 1 more than the node whose
                              server may end it, too: DCLI_CL_TELL_EVENT */
    DCLI_CL_SET_STATUS, /* event: of DCLI_CL_USER_EVENT; number: 0 (complete) or a negative status */
    DCLI_CL_FORGET_EVENT,  /* number: events that no later command waits for */
    DCLI_CL_APPEND,        /* object: program; number: bytes; word: the next bytes of its text or binary */
    DCLI_CL_TELL_EVENT,    /* event: of an earlier command; number: the node to whose server its end is sent, too */
    DCLI_CL_FAIL_TRANSFER, /* number: a transfer between servers, which fails on the other one; a negative status */
    DCLI_CL_SUB_DEVICES, /* object: a sub-device to partition, 0: the device; number: question that the ANSWER names, number of
                              the first new sub-device (the next ones follow); word: a list of cl_device_partition_property with its
                              final 0 */
    DCLI_CL_CONTEXT /* object: new context; word: its sub-devices, 0: the device itself */
} dcli_command_kind;

/** What an argument of a kernel is. */
typedef enum dcli_argument_kind {
    DCLI_ARGUMENT_VALUE,  /* bytes in `word` */
    DCLI_ARGUMENT_BUFFER, /* number of a buffer; 0: a null pointer */
    DCLI_ARGUMENT_LOCAL   /* so many bytes of local memory */
} dcli_argument_kind;

/** One OpenCL command. */
typedef struct dcli_msg_command {
    int kind;        /* a dcli_command_kind */
    int64_t object;  /* number of an object; 0: none */
    int64_t queue;   /* number of the command queue; 0: none */
    int64_t event;   /* number by which its end is reported; 0: it is not reported */
    bool unobserved; /* the program has no handle of `event`: its end may be reported some milliseconds late */
    int number_count, wait_count, word_count;
    int64_t *number; /* [number_count] depends on `kind` */
    int64_t *wait;   /* [wait_count] events that must be complete before */
    int64_t *word;   /* [word_count] bytes, 8 in each word */
    const char *text;
} dcli_msg_command;

typedef struct dcli_msg_commands {
    int count;
    dcli_msg_command *command; /* [count] */
} dcli_msg_commands;

typedef struct dcli_msg_data {
    int64_t transfer; /* number that the driver has given to the transfer */
    int64_t offset;   /* of the payload's first byte, from the beginning of the transfer */
} dcli_msg_data;

typedef struct dcli_msg_taken {
    int64_t transfer;
    int64_t granted; /* so many bytes from the beginning of the transfer may be sent */
} dcli_msg_taken;

/** An event that has ended. */
typedef struct dcli_msg_ended {
    int64_t event; /* its number; that of a command queue: a command without event has failed */
    int status;    /* 0: complete; negative: an OpenCL error */
    bool through;  /* so have all unobserved commands before it in its command queue, which are complete */
    int64_t queued_ns, submit_ns, start_ns, end_ns; /* by the device's clock; 0: not known */
} dcli_msg_ended;

typedef struct dcli_msg_events {
    int count;
    dcli_msg_ended *ended; /* [count] */
} dcli_msg_events;

/** Questions. */
typedef enum dcli_question_kind {
    DCLI_ASK_DEVICE = 1, /* the device's properties. Key of each fact: the cl_device_info */
    DCLI_ASK_BINARY,     /* object: a program. Its binary is sent as transfer `number`; fact 1: its bytes */
    DCLI_ASK_CHECK       /* object: a program from a binary. Status: whether the device's driver accepts it; fact 1: its
                            cl_program_binary_type */
} dcli_question_kind;

typedef struct dcli_msg_query {
    int64_t number; /* of the question */
    int kind;       /* a dcli_question_kind */
    int64_t object;
} dcli_msg_query;

/** A part of an answer. */
typedef struct dcli_msg_fact {
    int64_t key;
    int64_t bytes; /* bytes in `word`; unused if there is text */
    const char *text;
    int word_count;
    int64_t *word; /* [word_count] bytes, 8 in each word */
} dcli_msg_fact;

typedef struct dcli_msg_answer {
    int64_t number; /* of the question */
    int status;     /* OpenCL status */
    bool more;      /* further ANSWERs to the same question follow */
    int fact_count;
    dcli_msg_fact *fact; /* [fact_count] */
} dcli_msg_answer;

typedef struct dcli_msg_printf {
    int64_t dropped; /* bytes that were printed after the payload and are lost */
} dcli_msg_printf;

typedef struct dcli_msg_hello {
    const char *program; /* library version and process, for people */
    uint64_t capabilities;
} dcli_msg_hello;

typedef struct dcli_msg_welcome {
    const char *program;
    uint64_t capabilities;
    int device_count;
    dcli_msg_device *device;
    int sessions, processes; /* number of sessions and of processes on this worker now */
    int64_t load_percent;    /* average load of the host's processors over the last minute */
    bool files;
} dcli_msg_welcome;

typedef struct dcli_msg_refused {
    int status;
    const char *sentence;
} dcli_msg_refused;

/** How a process recognises the host of its session. */
typedef struct dcli_msg_host {
    const char *key;  /* public key of the host, hex; or the password that it uses for this process only */
    const char *name; /* its DCLI_HOST_NAME for this process */
} dcli_msg_host;

typedef struct dcli_msg_open {
    uint64_t session;
    const char *key;      /* public key of the session's nodes, hex; "": they use a password */
    const char *password; /* password of the nodes; with `key`: the secret key that they share */
    int host_count;
    dcli_msg_host *host; /* [host_count] one per process */
    int64_t silence_ms;
    int first, nodes;    /* number of the first process's node; count of node numbers in the session */
    int64_t chunk_bytes; /* largest chunk, as in SETUP */
    bool opencl;         /* the session is that of an OpenCL driver: src/remote serves it */
} dcli_msg_open;

typedef struct dcli_msg_opened {
    int peer_count;
    dcli_msg_peer *peer;
} dcli_msg_opened;

typedef struct dcli_msg_beat {
    int64_t number;
} dcli_msg_beat;

typedef struct dcli_msg_gone {
    int process; /* index of the process in OPENED */
    const char *sentence;
} dcli_msg_gone;

typedef struct dcli_msg_printed {
    int64_t number; /* 1, 2, ...; the next one is sent after SHOWN has named this one */
    int process;    /* index of the process in OPENED */
    const char *text;
    int64_t dropped; /* number of bytes printed after this text and dropped */
    int64_t flushed; /* `flush` of the SHOWN that is answered: all text printed before it is sent; 0: no answer */
} dcli_msg_printed;

typedef struct dcli_msg_shown {
    int64_t number; /* number of the last PRINTED that was taken; 0: none */
    int64_t flush;  /* not 0: send everything at once and answer with this number */
} dcli_msg_shown;

/** Any message. Strings and arrays are borrowed: when packing for the call, in a received message from its frames. A
 *  NULL string is sent as ""; received strings are never NULL and contain no '\0' before their end. */
typedef struct dcli_message {
    dcli_message_kind kind;
    uint64_t epoch; /* random number of the session: a message of another session is refused */
    bool
        followed; /* not sent: another message to the same receiver follows soon, so it need not be woken for this one */
    union {
        dcli_msg_kernel kernel;
        dcli_msg_built built;
        dcli_msg_operations operations;
        dcli_msg_grant grant;
        dcli_msg_chunk chunk;
        dcli_msg_credit credit;
        dcli_msg_marks marks;
        dcli_msg_failed failed;
        dcli_msg_report report;
        dcli_msg_device device;
        dcli_msg_setup setup;
        dcli_msg_part part;
        dcli_msg_forget forget;
        dcli_msg_lost lost;
        dcli_msg_joined joined;
        dcli_msg_sees sees;
        dcli_msg_seen seen;
        dcli_msg_risen risen;
        dcli_msg_count count;
        dcli_msg_counts counts;
        dcli_msg_trace trace;
        dcli_msg_traced traced;
        dcli_msg_hungry hungry;
        dcli_msg_nothing nothing;
        dcli_msg_lent lent;
        dcli_msg_loan loan;
        dcli_msg_recall recall;
        dcli_msg_result result;
        dcli_msg_returned returned;
        dcli_msg_commands commands;
        dcli_msg_data data;
        dcli_msg_taken taken;
        dcli_msg_events events;
        dcli_msg_query query;
        dcli_msg_answer answer;
        dcli_msg_printf printf;
        dcli_msg_hello hello;
        dcli_msg_welcome welcome;
        dcli_msg_refused refused;
        dcli_msg_open open;
        dcli_msg_opened opened;
        dcli_msg_beat beat;
        dcli_msg_gone gone;
        dcli_msg_printed printed;
        dcli_msg_shown shown;
    };
} dcli_message;

/** Pack a message. @param bytes_out  freed with dcli_free(). @return DCL_OK, DCL_ERR_NOMEM, or DCL_ERR_INVALID for a
 *  field that its receivers would not accept. */
dcl_status dcli_message_pack(const dcli_message *message, void **bytes_out, size_t *length_out);

/** Memory for the arrays and strings of a decoded message, reused from message to message. Start with {0}. */
typedef struct dcli_arena {
    char *bytes;
    size_t used, capacity;
    struct dcli_arena *older;
} dcli_arena;
void dcli_arena_free(dcli_arena *arena);

/** Check and decode a message; the previous contents of `arena` are freed. First the structure is checked without
 *  allocating (depth, counts, lengths, nothing trailing), then types and ranges of every field against the table. Sets
 *  box.rank beside box_rank. @return DCL_OK, DCL_ERR_PROTOCOL with the field, value and limit, or DCL_ERR_NOMEM. */
dcl_status dcli_message_unpack(const void *bytes, size_t length, dcli_arena *arena, dcli_message *message_out);

/** The name of a message kind in docs/protocol.md. */
const char *dcli_message_name(dcli_message_kind kind);

#endif
