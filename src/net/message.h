/* net/message.h - the messages: one table gives struct, packing, checking and documentation (message_table.c). */
#ifndef DCLI_NET_MESSAGE_H
#define DCLI_NET_MESSAGE_H

#include <dcl/grid.h>

/** Protocol version, first field of every message. */
#define DCLI_PROTOCOL 2

enum {                              /* limits every message is checked against before a byte of it is used */
       DCLI_MOST_MESSAGE = 1 << 20, /* bytes of a message; payloads are apart */
       DCLI_MOST_DEPTH = 8,         /* arrays in arrays: operands of operations of a message need 5 */
       DCLI_MOST_ITEMS =
           1
           << 15, /* numbers, strings and arrays: 64 operations of 64 operands, with 128 views and 4,096 numbers of what
                       is declared, have 32,197 */
       DCLI_MOST_OPERATIONS = 64, /* descriptors in one message */
       DCLI_MOST_OPERATION_KIND = 10,
       DCLI_MOST_OPERANDS = 64,
       DCLI_MOST_VIEWS = 128, /* in one message, as far as its sender can see to it: an operation may have 64 */
       DCLI_MOST_DECLARED_NUMBERS =
           4096, /* of what a call declares; in one message, as far as its sender can see to it */
       DCLI_MOST_PEERS = 1 << 16,
       DCLI_MOST_PATH = 4096,        /* bytes, as of all strings */
       DCLI_MOST_MAP_TEXT = 1 << 18, /* bytes: maps may be lists */
       DCLI_MOST_SHORT_MAP = 4096,   /* an operation with a longer map stands alone in its message */
       DCLI_MOST_NAME = 63,
       DCLI_MOST_TEXT = 1 << 16,  /* a body or prelude */
       DCLI_MOST_FORGOTTEN = 256, /* bodies that a message KERNEL says are not used again */
       DCLI_MOST_SENTENCE = 1536, /* longer ones are cut, not refused */
       DCLI_MOST_ADDRESS = 255,   /* bytes of "tcp://host:port" */
       DCLI_MOST_KEY = 64,        /* bytes of a key or token as text */
       DCLI_MOST_NODES = 256,     /* of a session that has processes */
       DCLI_MOST_MS = 1000000000, /* of a time that somebody is given */
       DCLI_MSG_COUNTERS = 11,    /* of dcl_counters */
       DCLI_MOST_CHUNK = 1 << 30  /* bytes of elements in a message; DCL_CHUNK_BYTES has the same limit */
};
#define DCLI_MOST_OPERATION ((int64_t)1 << 62) /* number of an operation; a microsecond each, it takes 146,000 years */
#define DCLI_MOST_POOL ((int64_t)1 << 50)      /* of sizes that a session sets, in bytes */

typedef enum dcli_message_kind {
    DCLI_MSG_KERNEL = 1, /* host -> worker: a body to parse and build */
    DCLI_MSG_BUILT,      /* worker -> host: how that went */
    DCLI_MSG_OPERATIONS, /* host -> worker: descriptors, in order */
    DCLI_MSG_GRANT,      /* reader -> owner: chunks of one operation may be sent */
    DCLI_MSG_CHUNK,      /* owner -> reader, or writer -> owner: packed data behind it */
    DCLI_MSG_CREDIT,     /* owner -> writer: chunks were committed */
    DCLI_MSG_MARKS,      /* node -> peers and host: watermarks (and counters, for the host) */
    DCLI_MSG_FAILED,     /* node -> peers and host: an operation failed here, with its sentence */
    DCLI_MSG_REPORT,     /* node -> host: an access outside a grid, or outside what was declared */
    DCLI_MSG_STOP,       /* host -> worker */
    DCLI_MSG_DEVICE,     /* worker -> host, its first: what it serves */
    DCLI_MSG_SETUP,      /* host -> worker, its first: the session */
    DCLI_MSG_PART, /* node -> nodes of its host: where a part lies; the memory's descriptor beside the first one in it */
    DCLI_MSG_LOST,    /* node -> host: cannot reach a peer; host -> nodes: a peer is gone */
    DCLI_MSG_JOINED,  /* host -> nodes: a peer takes part from now on */
    DCLI_MSG_SEES,    /* host -> worker: is this file there? */
    DCLI_MSG_SEEN,    /* worker -> host: the answer */
    DCLI_MSG_COUNT,   /* host -> worker: send your counters */
    DCLI_MSG_COUNTS,  /* worker -> host: the answer */
    DCLI_MSG_HELLO,   /* client -> desk, its first */
    DCLI_MSG_WELCOME, /* desk -> client: what can be had here */
    DCLI_MSG_REFUSED, /* desk -> client: no, and why */
    DCLI_MSG_OPEN,    /* client -> desk: start the processes of a session */
    DCLI_MSG_OPENED,  /* desk -> client: where they are */
    DCLI_MSG_BEAT,    /* client <-> desk: still there */
    DCLI_MSG_GONE,    /* desk -> client: a process has ended; client -> desk: end it */
    DCLI_MSG_RISEN,   /* node -> its parent in the tree: watermarks of all nodes below */
    DCLI_MSG_PRINTED, /* desk -> client: what a process has printed */
    DCLI_MSG_SHOWN,   /* client -> desk: it was taken: the next may come */
    DCLI_MSG_FORGET,  /* node -> nodes of its host: memory that it has shown is given back */
    DCLI_MSG_KIND_COUNT
} dcli_message_kind;

/** One array (or scalar) of an operation. */
typedef struct dcli_msg_operand {
    int64_t storage; /* -1: a scalar or prelude */
    uint64_t value;  /* bits of a scalar */
    int64_t kept;    /* copies of it are used, of this generation, and made; negative: used only; 0: neither */
} dcli_msg_operand;

/** What an operation sees of an array: a dcli_transform of segment/view.h. */
typedef struct dcli_msg_view {
    int operand; /* its number */
    int rank, base_rank;
    int64_t origin[DCL_MAX_RANK], extent[DCL_MAX_RANK];                     /* [rank] of the view's grid */
    int64_t axis[DCL_MAX_RANK], constant[DCL_MAX_RANK], step[DCL_MAX_RANK]; /* [base_rank] */
    int shape_rank; /* 0: the array's grid is the base; else one of another shape, with origin 0 */
    int64_t shape[DCL_MAX_RANK];
} dcli_msg_view;

/** What a call declares of an array that it reads: a dcli_declared of segment/footprint.h. */
typedef struct dcli_msg_reach {
    int operand; /* its number */
    int count;
    int64_t *number; /* [count] */
    bool approximate;
} dcli_msg_reach;

/** One descriptor. Which fields mean something depends on kind; others are 0. */
typedef struct dcli_msg_operation {
    int64_t number;
    int kind;       /* 1..DCLI_MOST_OPERATION_KIND; the numbers are the workqueue room's */
    int64_t kernel; /* FORALL */
    int operand_count;
    dcli_msg_operand *operand; /* [operand_count] */
    int box_rank;              /* 0: the whole grid */
    dcl_box box;               /* start, count, stride as three arrays of box_rank */
    uint64_t element;          /* FILL: the element's bits, little-endian in the low bytes */
    const char *path;          /* LOAD, SAVE */
    int64_t data_start;
    bool fortran_order, swapped;
    /* CREATE: grid and rule of the map */
    int type, rank;
    int64_t origin[DCL_MAX_RANK], extent[DCL_MAX_RANK];
    const char *map; /* text of the map; sizes aimed at follow */
    int64_t tile_bytes, block_bytes, small_bytes;
    int map_nodes; /* CREATE: nodes of the cluster when the map was made; 0: all */
    int view_count;
    dcli_msg_view *view; /* [view_count] of operands that are not seen as they are, in their order. FILL, READ, WRITE:
                            another shape only */
    int reach_count;
    dcli_msg_reach *reach;  /* [reach_count] FORALL: of operands whose reach has numbers, in their order */
    int node;               /* MOVE: where to */
    uint64_t device, inode; /* LOAD, SAVE: a dcli_file_id */
    bool unset;             /* CREATE: the next operation on it overwrites all of it; until then it may hold anything */
} dcli_msg_operation;

/** That a message passed on by nodes is the host's: of each node that it is still to reach the number, and the tag of the
 *  message without its proof (proof.h). Empty from the host itself. */
typedef struct dcli_msg_proof {
    int count;
    int64_t *number; /* [count] pairs */
} dcli_msg_proof;

typedef struct dcli_msg_operations {
    int count;
    dcli_msg_operation *operation;
    int64_t epoch; /* of the members that the host knew: who knows fewer waits until it has heard of all */
    dcli_msg_proof proof;
} dcli_msg_operations;

typedef struct dcli_msg_parameter {
    const char *name;
    int access, type, rank;
    int turned; /* which axis lies along the memory: as in dcli_param */
} dcli_msg_parameter;

typedef struct dcli_msg_kernel {
    int64_t kernel; /* number chosen by the host */
    const char *text, *prelude;
    int parameter_count;
    dcli_msg_parameter *parameter;
    int builder_count;
    int64_t *builder;            /* [builder_count] nodes that compile now and answer; others when it is first used */
    int item_count;              /* DCLI_MSG_ITEMS: a tile kernel; 0: a body */
    int64_t items[DCL_MAX_RANK]; /* sizes of a work-group, then work-items of a tile: a dcli_items of kernel/body.h */
    int forgotten_count;
    int64_t *forgotten; /* [forgotten_count] numbers of bodies that no later operation uses */
    dcli_msg_proof proof;
} dcli_msg_kernel;
enum { DCLI_MSG_ITEMS = 6 };

typedef struct dcli_msg_built {
    int64_t kernel;
    int status; /* dcl_status */
    const char *sentence;
} dcli_msg_built;

typedef struct dcli_msg_grant {
    int64_t operation;
    int64_t chunks; /* how many of the stream's chunks, from the first, may be sent in all */
} dcli_msg_grant;

typedef struct dcli_msg_chunk {
    int64_t operation;
    int stream;    /* 0: T, what the receiver reads; 1: U, what the sender wrote for the receiver */
    int64_t chunk; /* number in the stream */
    int status;    /* dcl_status; not DCL_OK: no payload, the storage behind it failed */
} dcli_msg_chunk;

typedef struct dcli_msg_credit {
    int64_t chunks; /* committed since the last credit */
} dcli_msg_credit;

typedef struct dcli_msg_marks {
    int64_t done, ready;
    int64_t counter[DCLI_MSG_COUNTERS]; /* dcl_counters in the order of its fields; zeros to peers */
} dcli_msg_marks;

typedef struct dcli_msg_failed {
    int64_t operation;
    int node; /* where it failed first */
    int status;
    bool cause; /* this node found it; false: skipped because of another failure */
    int storage_count;
    int64_t *storage; /* [storage_count], <= DCLI_MOST_OPERANDS: what may now hold anything */
    const char *sentence;
} dcli_msg_failed;

typedef struct dcli_msg_report {
    int64_t operation;
    int storage_count;
    int64_t *storage;  /* [storage_count], <= DCLI_MOST_OPERANDS: what the operation writes */
    const char *array; /* name in the body */
    int rank;
    int64_t index[DCL_MAX_RANK];
    const char *body;     /* its first line */
    const char *declared; /* what is said of the array; "": the index lies outside its grid */
    bool written;
    const char *outputs; /* of a tile kernel, whose first line says little: the arrays that it writes; "": a body */
} dcli_msg_report;

/** A device as its worker describes it. */
typedef struct dcli_msg_device {
    const char *name, *platform, *version, *class, *kind; /* class: "cpu", ...; kind: compiles alike when equal */
    int number, compute_units;
    bool has_half, has_double, in_place;
    int64_t memory_bytes;
    int64_t process; /* its number on its host */
} dcli_msg_device;

/** A peer of a session, in the order of the nodes. */
typedef struct dcli_msg_peer {
    bool present, in_place;
    const char *address; /* "": reached otherwise */
    const char *key;     /* public, hex; "": none */
} dcli_msg_peer;

typedef struct dcli_msg_setup {
    int self;
    int peer_count; /* nodes, absent ones too */
    dcli_msg_peer *peer;
    int64_t first_operation; /* it takes part from this one on */
    int64_t epoch;           /* of the members named here */
    int tree_nodes;          /* the first so many are a tree; others are children of the host */
    int64_t tile_bytes, chunk_bytes, pool_bytes, quota_bytes, kept_bytes;
    int64_t silence_ms, build_ms, kernel_ms, plan_ms;
    int fanout, log;
    const char *fault;
    bool check_access;
    const char *word_key; /* by which the receiver knows what others pass on of the host's; "": it believes them */
} dcli_msg_setup;

typedef struct dcli_msg_part {
    int64_t storage, bytes;
    int64_t memfd; /* as the sender numbers its memory */
    int64_t offset;
} dcli_msg_part;

typedef struct dcli_msg_forget {
    int64_t memfd;
} dcli_msg_forget;

typedef struct dcli_msg_lost {
    int peer;
    int64_t epoch; /* the session's, after this; 0: a node asks the host to see to it */
    const char *sentence;
} dcli_msg_lost;

typedef struct dcli_msg_joined {
    int peer;
    int64_t epoch, first_operation;
    const char *address, *key;
    bool in_place;
} dcli_msg_joined;

typedef struct dcli_msg_sees {
    int64_t number;
    const char *path, *token;
    uint64_t device, inode; /* of that file at the host */
} dcli_msg_sees;

typedef struct dcli_msg_seen {
    int64_t number;
    bool yes;
} dcli_msg_seen;

typedef struct dcli_msg_risen {
    int64_t done, ready;
    int notice_count;
    /* [notice_count] pairs: a node, the sender or one below it, and how many messages FAILED and REPORT it has sent to the
     * host so far. Nodes that have sent none are left out. */
    int64_t *notice;
} dcli_msg_risen;

typedef struct dcli_msg_count {
    int64_t number;
} dcli_msg_count;

typedef struct dcli_msg_counts {
    int64_t number;
    int64_t counter[DCLI_MSG_COUNTERS];
} dcli_msg_counts;

typedef struct dcli_msg_hello {
    const char *program; /* library version and process, for people */
    uint64_t capabilities;
} dcli_msg_hello;

typedef struct dcli_msg_welcome {
    const char *program;
    uint64_t capabilities;
    int device_count;
    dcli_msg_device *device;
    int sessions, processes; /* running here now */
    int64_t load_percent;    /* of the host's processors, over the last minute */
    bool files;
} dcli_msg_welcome;

typedef struct dcli_msg_refused {
    int status;
    const char *sentence;
} dcli_msg_refused;

/** How a process knows its session's host. */
typedef struct dcli_msg_host {
    const char *key; /* its public key, hex; or the password that it presents to this process alone */
} dcli_msg_host;

typedef struct dcli_msg_open {
    uint64_t session;
    const char *key;      /* public key of the session's nodes, hex; "": they have a password instead */
    const char *password; /* or their secret key: only nodes of the session have it */
    int host_count;
    dcli_msg_host *host; /* [host_count] one per process */
    int64_t silence_ms;
    int first, nodes;    /* number of the first process's node, numbers there are for nodes in the session */
    int64_t chunk_bytes; /* as SETUP will say */
} dcli_msg_open;

typedef struct dcli_msg_opened {
    int peer_count;
    dcli_msg_peer *peer;
} dcli_msg_opened;

typedef struct dcli_msg_beat {
    int64_t number;
} dcli_msg_beat;

typedef struct dcli_msg_gone {
    int process; /* place in OPENED */
    const char *sentence;
} dcli_msg_gone;

typedef struct dcli_msg_printed {
    int64_t number; /* 1, 2, ...; the next one comes only when SHOWN has named this one */
    int process;    /* place in OPENED */
    const char *text;
    int64_t dropped; /* bytes after it that were printed and are not sent */
    int64_t flushed; /* the last `flush` that is answered: what had been printed when it came was sent; 0: none */
} dcli_msg_printed;

typedef struct dcli_msg_shown {
    int64_t number; /* of the last PRINTED that was taken; 0: none */
    int64_t flush;  /* send at once all that there is now, and answer with this number; 0: no */
} dcli_msg_shown;

/** Any message. Strings and arrays are borrowed: by packing for the call, in a received one from its frames. A string
 *  that is NULL is sent as ""; received ones are never NULL and hold no other '\0' than their last. */
typedef struct dcli_message {
    dcli_message_kind kind;
    uint64_t epoch; /* of the session: a message of another one is refused */
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

/** Bytes of a message. @param bytes_out  freed with dcli_free(). @return DCL_OK, DCL_ERR_NOMEM, or DCL_ERR_INVALID for a
 *  field outside what its receivers accept. */
dcl_status dcli_message_pack(const dcli_message *message, void **bytes_out, size_t *length_out);

/** Memory a decoded message's arrays and strings live in; reused from message to message. Start with {0}. */
typedef struct dcli_arena {
    char *bytes;
    size_t used, capacity;
    struct dcli_arena *older;
} dcli_arena;
void dcli_arena_free(dcli_arena *arena);

/** What `arena` held before is gone. Check bytes against the table (structure first, without allocating: depth, counts, lengths, nothing trailing; then
 *  types and ranges of every field) and decode; box.rank is set beside box_rank. @return DCL_OK, DCL_ERR_PROTOCOL with the field, value and limit, or
 *  DCL_ERR_NOMEM. */
dcl_status dcli_message_unpack(const void *bytes, size_t length, dcli_arena *arena, dcli_message *message_out);

/** As docs/protocol.md calls it. */
const char *dcli_message_name(dcli_message_kind kind);

/** The protocol as text for people, made from the table: a line per field. Freed with dcli_free(). */
char *dcli_message_document(void);

#endif
