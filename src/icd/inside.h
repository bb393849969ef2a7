/* icd/inside.h - shared by the files of the driver: an OpenCL platform whose devices are those of workers.
 *
 * One lock, icd.lock, guards all objects. A call takes it at its entry and never holds it while it waits, sends or
 * calls the program. The connection to a server (a worker, or the processes of `local:N`) has a lock of its own,
 * `serving`: a thread of the server holds it, or one of the program that waits (turn.c). "This thread alone" in
 * comments on transfers means its holder. */
#ifndef DCLI_ICD_INSIDE_H
#define DCLI_ICD_INSIDE_H

#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_0_APIS
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#define CL_USE_DEPRECATED_OPENCL_2_0_APIS
#define CL_USE_DEPRECATED_OPENCL_2_1_APIS
#define CL_USE_DEPRECATED_OPENCL_2_2_APIS
#include <CL/cl.h>
#include <CL/cl_ext.h>
#include <CL/cl_icd.h>

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "net/buffers.h"
#include "net/facts.h"
#include "net/net.h"
#include "net/span.h"

enum {
    ICD_MOST_SERVERS = 64,
    ICD_MOST_DEVICES = 256,           /* of a context */
    ICD_MOST_PLATFORM_DEVICES = 1024, /* of all servers, which may have one session */
    ICD_CHUNK = 1 << 20,
    ICD_COPIED = 256 << 10, /* a blocking write of at most so many bytes is copied before it is sent */
    ICD_SEEN_BYTES = 256    /* of what the process monitor has seen of a loss */
};

/* ---- handles: handles.c ---- */

typedef enum icd_kind {
    ICD_PLATFORM = 1,
    ICD_DEVICE,
    ICD_CONTEXT,
    ICD_QUEUE,
    ICD_MEM,
    ICD_PROGRAM,
    ICD_KERNEL,
    ICD_EVENT
} icd_kind;

/** What a handle points to. Cells are never unmapped, and a freed cell rests before it is used again, so a handle that
 *  has ended is recognised. The loader reads the first field of every handle that it is given. */
typedef struct icd_cell {
    const cl_icd_dispatch *dispatch;
    icd_kind kind; /* 0: the cell is free */
    uint32_t generation;
    struct icd_object *object;
    struct icd_cell *next_free;
} icd_cell;

/** The beginning of every object. */
typedef struct icd_object {
    icd_kind kind;
    int refs;
    int owned; /* of these, references that the program has: it cannot release more */
    icd_cell *cell;
} icd_object;

/** Make an object of `bytes` with one reference, the program's, and a handle. @return NULL: no memory. */
void *icd_make(icd_kind kind, size_t bytes);
/** The object of a handle. @return NULL: it is none of this kind, or has ended. */
void *icd_find(const void *handle, icd_kind kind);
/** The handle of an object. */
#define ICD_HANDLE(type, of) ((type)(void *)(of)->object.cell)
void *icd_hold(void *object);
/** Drop a reference. The last one frees the object, and drops its references to other objects. NULL is accepted. */
void icd_drop(void *object);

/* ---- objects ---- */

typedef struct icd_device icd_device;
typedef struct icd_server icd_server;
typedef struct icd_context icd_context;
typedef struct icd_queue icd_queue;
typedef struct icd_mem icd_mem;
typedef struct icd_program icd_program;
typedef struct icd_kernel icd_kernel;
typedef struct icd_event icd_event;
typedef struct icd_transfer icd_transfer;
typedef struct icd_question icd_question;

/** Commands that have not been sent. Their arrays and texts lie in `pool`. */
typedef struct icd_batch {
    struct icd_batch *next;
    int count;
    size_t used;
    dcli_msg_command command[DCLI_MOST_COMMANDS];
    int64_t pool[8192];
    char *text[DCLI_MOST_COMMANDS]; /* to free; NULL: none */
} icd_batch;

/** A property of a device, as its server has reported it. */
typedef struct icd_fact {
    int64_t key;
    size_t bytes;
    void *value;
} icd_fact;

enum { ICD_BUCKETS = 256 };

/* Limits on the commands of a device that have not ended. From ICD_MANY_PENDING on, calls that enqueue wait until some
 * have ended, unless these may wait for the program. From ICD_MOST_PENDING on, which is less than a server's limit,
 * calls that enqueue fail. */
enum { ICD_MANY_PENDING = 100000, ICD_MOST_PENDING = 250000 };

/** A device or a sub-device. Of a sub-device, the fields after `fact_count` are unused: its commands are those of `root`. */
struct icd_device {
    icd_object object;
    icd_device *root;   /* of a sub-device: the device of which it is a part; else itself */
    icd_device *parent; /* reference, of a sub-device: what was partitioned; NULL: a root device */
    int64_t number;     /* of a sub-device, on the server; 0: a root device */
    icd_server *server;
    int node;
    bool described; /* its server has said what it is */
    bool lost;
    char why[512];  /* how it was lost */
    icd_fact *fact; /* [fact_count] of a sub-device: only those in which it differs from `root` */
    int64_t fact_count;
    icd_batch *first, **last; /* commands to send */
    icd_batch *spare;
    bool has_posted;                     /* one of them has a command other than DCLI_CL_FORGET_EVENT */
    bool awaited;                        /* the thread that sends them has been woken */
    icd_event *pending, **pending_last;  /* events that its server has to end, in the order of their commands */
    int64_t pending_count, unsent_count; /* their number; of which it has not been sent */
    icd_transfer *transfers[ICD_BUCKETS];
    int64_t transfer_count[2];               /* of them: reads, writes */
    icd_transfer *outgoing, **outgoing_last; /* writes that have bytes to send */
    int64_t eager_bytes;                     /* bytes of writes that were sent before they were granted */
    icd_question *questions;
    icd_queue *queues;
    int64_t printed, printed_told; /* bytes that its kernels have printed; of which its server knows */
    int64_t work_queue;            /* number of the queue for moves of buffers; 0: not made */
};

struct icd_server {
    char name[300];
    dcl_config config;
    dcli_log log;
    dcli_net *net;
    dcli_buffers *buffers;
    struct dcli_worker_pool *pool;
    dcli_endpoint *endpoint;
    uint64_t session;
    int client;    /* our number as a peer */
    bool shares;   /* its processes are on this host, and can share memory */
    bool encrypts; /* its connections have keys */
    bool stores;   /* transfers are stored and forwarded, for comparison: DCL_FAULT=store */
    pthread_t thread;
    pthread_mutex_t serving; /* held by the thread that uses the connection: locked before icd.lock, or tried */
    pthread_cond_t rested;   /* the own thread is to serve */
    bool taken;              /* `taker`, a thread of the program, serves, or is about to */
    pthread_t taker;
    int64_t taken_ns, left_ns; /* when it began and ceased to serve */
    bool lingers, summoned;    /* the own thread waits after that; it is to cease waiting */
    bool resting, parked;      /* it waits for `rested`; without a time limit */
    int waiters;               /* threads of the program that wait while another one serves */
    int64_t spin_ns;           /* how long they poll before they sleep; 0: as usual */
    int device_count;
    icd_device *device[ICD_MOST_PLATFORM_DEVICES];
    bool *apart; /* [device_count][device_count] the servers of two devices cannot reach each other */
    bool has_losses;
    bool reported[ICD_MOST_PLATFORM_DEVICES]; /* losses that the process monitor has reported, not yet handled */
    char seen[ICD_MOST_PLATFORM_DEVICES][ICD_SEEN_BYTES];
};

/** A function of the program that is to be called. */
typedef struct icd_call {
    struct icd_call *next;
    void (*call)(struct icd_call *call);
    union {
        void(CL_CALLBACK *event)(cl_event, cl_int, void *);
        void(CL_CALLBACK *mem)(cl_mem, void *);
        void(CL_CALLBACK *context)(cl_context, void *);
        void(CL_CALLBACK *program)(cl_program, void *);
    } function;
    void *handle;
    void *user;
    cl_int status; /* of an event: that asks for, then that it has */
    void *drop;    /* object to drop after the call; NULL: none */
} icd_call;

struct icd_context {
    icd_object object;
    int device_count;
    icd_device *device[ICD_MOST_DEVICES]; /* [device_count] no sub-devices; numbers in this array are called places */
    int shown_count;
    icd_device
        *shown[ICD_MOST_DEVICES]; /* [shown_count] references: the devices and sub-devices that the program has named */
    int64_t number[ICD_MOST_DEVICES]; /* [device_count] of the context on the server; 0: it has no sub-devices there */
    int64_t work_queue[ICD_MOST_DEVICES]; /* [device_count] as in icd_device, if the place has such a context */
    cl_context_properties *properties;    /* [property_count] with the final 0 */
    size_t property_count;
    icd_call *destructors;
};

struct icd_queue {
    icd_object object;
    icd_context *context;
    icd_device *device; /* no sub-device */
    icd_device *shown;  /* borrowed from the context: the device, or the sub-device */
    int place;          /* of the device in its context */
    cl_command_queue_properties properties;
    cl_queue_properties list[8]; /* as given */
    cl_uint list_count;
    icd_queue *next; /* list of all queues of the device */
    int64_t number;
    uint64_t visit; /* for icd_writers: of the last look at a list that has met a command of this queue */
    cl_int failure; /* of a command without event; reported once */
};

/** A buffer on one device. */
typedef struct icd_copy {
    int64_t number;   /* 0: not made */
    bool valid;       /* it has the newest contents, when `ready` has ended */
    icd_event *ready; /* reference: contents are being moved there; NULL: not */
    int source; /* of the last move: place of the copy that has them; this copy's own place: the initial contents */
} icd_copy;

/** A mapped region. */
typedef struct icd_map {
    struct icd_map *next;
    void *pointer;
    cl_map_flags flags;
    dcli_span span; /* in the buffer */
    size_t row_pitch, slice_pitch;
    size_t allocated;  /* bytes of `pointer`; 0: it is memory of the program */
    icd_event *filled; /* reference: of the mapping */
    icd_mem *
        mem; /* reference, while it is unmapped: the region may be memory of the program, which it frees after the buffer */
} icd_map;

/** Events of commands that may have written a buffer on the device that has its newest contents, by enqueueing: all that have
 *  not ended, except those of a queue in order before a later one of the same queue. */
typedef struct icd_writers {
    int64_t count, capacity, look_at; /* look_at: count at which ended ones are dropped */
    icd_event **event;                /* [count] references */
    icd_device *device;
} icd_writers;

struct icd_mem {
    icd_object object;
    icd_context *context;
    cl_mem_flags flags;
    cl_mem_properties list[8];
    cl_uint list_count;
    size_t bytes;
    void *host;      /* as given with CL_MEM_USE_HOST_PTR */
    icd_mem *parent; /* of a sub-buffer */
    size_t origin;
    icd_copy *copy;      /* [context->device_count] */
    void *initial;       /* contents that no device has been given yet: a copy, or `host`; NULL: none */
    icd_writers writers; /* in a context of several devices */
    icd_map *maps;
    int map_count;
    void *spare; /* memory of the last region that was unmapped, for the next one; NULL: none */
    size_t spare_bytes;
    icd_call *destructors; /* last registered first */
};

/** An argument of a kernel, as its program declares it. */
typedef struct icd_parameter {
    char *name, *type;
    bool known;
    cl_kernel_arg_address_qualifier address;
    cl_kernel_arg_access_qualifier access;
    cl_kernel_arg_type_qualifier qualifiers;
    size_t bytes; /* of a value; 0: unknown */
} icd_parameter;

typedef struct icd_declaration {
    char *name, *attributes;
    int count;
    icd_parameter *parameter; /* [count] */
    size_t group, fixed[3], multiple;
    cl_ulong local_bytes, private_bytes;
} icd_declaration;

/** A program on one device. */
typedef struct icd_build {
    int64_t number;   /* 0: not made */
    bool has_headers; /* it was last built with files that it includes */
    bool wanted;      /* the program was made for this device */
    cl_build_status status;
    cl_program_binary_type type;
    char *options, *log;
    int count;
    icd_declaration *declaration; /* [count] */
    size_t binary_bytes;          /* of a program from binaries */
    unsigned char *binary;
} icd_build;

struct icd_program {
    icd_object object;
    icd_context *context;
    char *source;     /* NULL: from binaries, or linked */
    icd_build *build; /* [context->device_count] */
    int kernels;      /* kernels that refer to it */
    int building;
};

/** A value that an argument was set to. */
typedef struct icd_value {
    int kind; /* a dcli_argument_kind; -1: not set */
    size_t bytes;
    void *value;  /* [bytes] of DCLI_ARGUMENT_VALUE */
    icd_mem *mem; /* borrowed: arguments do not hold buffers. `cell` and `generation` tell whether it still exists */
    icd_cell *cell;
    uint32_t generation;
    uint64_t serial; /* grows with each change */
} icd_value;

struct icd_kernel {
    icd_object object;
    icd_program *program;
    char *name;
    const icd_declaration *declaration; /* of the first device for which the program was built */
    icd_value *value;                   /* [declaration->count] */
    struct {
        int64_t number; /* 0: not made */
        uint64_t *sent; /* [declaration->count] serial of the value that the server has */
    } * on;             /* [context->device_count] */
};

/** Memory of the program that is being sent. */
typedef struct icd_loan {
    int count; /* payloads; guarded by icd.lent */
} icd_loan;

struct icd_event {
    icd_object object;
    icd_context *context;
    icd_queue *queue; /* NULL: a user event, or internal */
    icd_device *device;
    cl_command_type type;
    int64_t number;
    cl_int status;
    bool is_user, was_set;
    bool was_sent;    /* its server knows its number */
    bool blocks;      /* the call that makes it waits for its end */
    bool unobserved;  /* the program gets no handle of it, and does not wait for it in the call that makes it */
    int64_t transfer; /* number of the transfer of its command; 0: none */
    icd_loan *loan;   /* of a write that blocks: its memory is sent without being copied; NULL: it is copied */
    int64_t queued_ns, submit_ns, start_ns, end_ns;
    icd_event **wait; /* [wait_count] references, until it has ended */
    int wait_count;
    int lenient; /* of a transfer: of the first events of `wait`, it does not matter whether they have failed */
    icd_call *calls;
    int64_t proxy_count, proxy_capacity;
    icd_device **proxy;               /* devices whose servers have a user event of this number */
    icd_event *next, **back;          /* in the list of its device; back NULL: in none */
    void (*at_end)(icd_event *event); /* with the lock; NULL: none */
    void *at_end_user;
};

/** Data under way between memory of the program and a buffer. */
struct icd_transfer {
    icd_transfer *next, *next_outgoing;
    int64_t number;
    icd_device *device;
    icd_event *gate; /* reference: it must end before bytes can be sent; NULL: none */
    bool in, listed;
    bool in_place;  /* the server may let this side copy in the memory of the buffer */
    dcli_span span; /* in the buffer */
    char *host;     /* of the first byte */
    icd_loan *loan; /* of its event; NULL: `host` is copied before it is sent */
    int64_t host_row_pitch, host_slice_pitch;
    int64_t chunk_bytes;  /* most bytes of a chunk */
    int64_t total, moved; /* bytes: of all; that were sent or received */
    int64_t granted;      /* writes: up to where the server has asked for bytes */
    int64_t eager;        /* writes: bytes that were sent before they were granted */
    int64_t told;         /* reads: of `moved`, as the server was told last */
};

/** A question that a call waits for. */
struct icd_question {
    icd_question *next;
    int64_t number;
    int kind;       /* of a QUERY to send: a dcli_question_kind; 0: a command asks it */
    int64_t object; /* number of the object that the QUERY is about */
    bool answered;
    cl_int status;
    icd_fact *fact; /* [fact_count] texts end with '\0', which `bytes` counts */
    int64_t fact_count, fact_capacity;
    unsigned char *data;
    size_t data_bytes, data_capacity;
    bool failed; /* no memory for the answer, or a malformed one */
};

struct icd_state {
    pthread_mutex_t lock;    /* guards all objects, and all fields but `lent` and `returned` */
    pthread_cond_t changed;  /* an event has ended, or a question was answered */
    pthread_mutex_t lent;    /* guards the counts of loans; taken last, also by threads of ZeroMQ */
    pthread_cond_t returned; /* nothing of a loan is being sent any more */
    bool forked;
    int gates;       /* user events that have no status yet */
    bool has_posted; /* commands were appended since icd_post() */
    icd_object *platform;
    int server_count, device_count;
    icd_server *server[ICD_MOST_SERVERS];
    icd_device *device[ICD_MOST_PLATFORM_DEVICES];
    int64_t last_number;
    icd_call *calls, **calls_last;
    pthread_cond_t called;
    bool has_caller;
};
extern struct icd_state icd;
extern const cl_icd_dispatch icd_dispatch;

/* ---- calls: calls.c ---- */

/** Enter a call: take the lock. @return false: this is a forked process, in which nothing works. */
bool icd_enter(void);
/** Leave a call: see to it that the commands which it has appended are sent (icd_post()), and give up the lock. */
void icd_leave(void);
/** A new number of an object, event, transfer or question. */
int64_t icd_number(void);
/** @return the first of `count` new numbers that follow each other. */
int64_t icd_numbers(int count);
/** Start the thread that calls functions of the program, if there is none. @return false: it cannot be started. */
bool icd_can_call(void);
/** Queue a call of the program's function, for the thread that makes these calls. */
void icd_call_later(icd_call *call);
/** Answer a query: copy `bytes` of `value`. @param size  bytes for which value_out, which may be NULL, has room.
 *  @return CL_SUCCESS, or CL_INVALID_VALUE: it has too few. */
cl_int icd_answer(const void *value, size_t bytes, size_t size, void *value_out, size_t *size_out);
cl_int icd_answer_text(const char *text, size_t size, void *value_out, size_t *size_out);
#define ICD_ANSWER(type, ...) icd_answer(&(type){__VA_ARGS__}, sizeof(type), size, value, size_out)

/* ---- servers: servers.c ---- */

/** Reach the servers that DCL_WORKERS names, once. The lock is not held. */
void icd_open_servers(void);
/** Have the thread of a server handle the loss of a device, from any thread. The lock is not held. @param server  an
 *  icd_server.
 *  @param seen  how it was noticed. */
void icd_report_loss(void *server, int node, const char *seen);
/** Find a property of a device. @return NULL: unknown. */
const icd_fact *icd_device_fact(const icd_device *device, int64_t key);
/** A property of a device that is a number. @return 0: unknown. */
cl_ulong icd_device_number(const icd_device *device, cl_device_info what);

/* ---- sub-devices: sub_device.c; with the lock ---- */

void icd_sub_device_free(icd_device *device);
/** The place of a device or sub-device in a context. @return -1: the context does not have it. */
int icd_place_of(const icd_context *context, cl_device_id handle);
/** The place of a context's device or sub-device number `shown`. */
int icd_place_of_shown(const icd_context *context, int shown);
/** Have the server of a place make a context, if the context has sub-devices there. @return as icd_send(). */
cl_int icd_context_make_on(icd_context *context, int place);

/* ---- connection: connection.c; with the lock ---- */

/** Send what waits, receive at least one message or wake-up, and handle losses. The caller has the connection, and
 *  not the lock. @return false: no device is left. */
bool icd_serve_once(icd_server *server);
/** Send the commands of a device. The caller has the connection, and not the lock. */
void icd_send_batches(icd_device *device);
/** Append a command to the device's batch. icd_leave() starts sending the batch, unless it contains only
 *  DCLI_CL_FORGET_EVENT: these wait for another command. Arrays and text are copied. @return CL_SUCCESS,
 *  CL_OUT_OF_HOST_MEMORY, CL_DEVICE_NOT_AVAILABLE. */
cl_int icd_send(icd_device *device, const dcli_msg_command *command);
/** Whether the processes that serve two different devices can send each other data and ends of events: they belong to one
 *  icd_server, which allows it, and neither device is lost. @param one  NULL: false. */
bool icd_are_joined(const icd_device *one, const icd_device *other);
/** Record that a device is lost: drop its unsent commands, and end its events with an error. */
void icd_lose(icd_device *device, const char *why);
/** Begin a transfer. From then on, `transfer` belongs to the connection. */
void icd_transfer_begin(icd_transfer *transfer);
/** Forget a transfer whose event has ended. */
void icd_transfer_end(icd_device *device, int64_t number);
/** Begin a question, which must not move until icd_question_await(): it is sent as a QUERY if it has a kind; otherwise
 *  the caller sends the command that asks it. */
void icd_question_begin(icd_device *device, icd_question *question);
/** Wait for the answer to a question that has begun, and end the question; the lock is given up meanwhile. @return the
 *  status in the answer; CL_DEVICE_NOT_AVAILABLE: there is none; CL_OUT_OF_HOST_MEMORY: `failed`. */
cl_int icd_question_await(icd_device *device, icd_question *question);
void icd_question_free(icd_question *question);
const icd_fact *icd_question_fact(const icd_question *question, int64_t key);

/* ---- who serves a connection: turn.c; with the lock ---- */

/** Prepare a connection to be served by several threads in turn. */
dcl_status icd_turn_open(icd_server *server);
/** The function of a server's own thread. */
void *icd_serve(void *server);
/** Wake the thread that serves the connection, so that it sends the commands that wait. */
void icd_wake(icd_device *device);
/** See to it that commands that were appended are sent: now, or by a thread that serves. The lock is given up
 *  meanwhile.
 *  @param at_once  also if devices have enough to do. */
void icd_post(bool at_once);
/** Send the commands that wait, and have a thread receive the device's messages from now on: the program expects one,
 *  but does not wait for it in a call.
 *  @param device  NULL: nothing is expected. */
void icd_expect(icd_device *device);
/** Wait until `has_come(what)` is true; it is called with the lock held. Meanwhile this thread serves the connection,
 *  if no other thread of the program does. @param device  whose server causes it; NULL: the program causes it. */
void icd_wait(icd_device *device, bool (*has_come)(const void *what), const void *what);

/* ---- events: event.c; with the lock ---- */

/** Make the event of a command, with one reference, which is the caller's: the program gets it by icd_enqueued().
 *  @param waits  [count] events to wait for, which icd_check_waits() has accepted. @return NULL: no memory. */
icd_event *icd_event_make(icd_context *context, icd_queue *queue, icd_device *device, cl_command_type type,
                          cl_uint count, const cl_event waits[]);
/** End an event, if it has not ended: forget its transfer, tell the servers that have a user event for it, call at_end,
 *  queue the calls of the program's functions, and wake the threads that wait. @param ended  its profiling times; NULL:
 *  they are unknown. */
void icd_event_end(icd_event *event, cl_int status, const dcli_msg_ended *ended);
/** Let the write of an event, for which the calling thread waits, send memory of the program without copying it. */
void icd_event_lend(icd_event *event);
/** Check a wait list. @return CL_SUCCESS, CL_INVALID_EVENT_WAIT_LIST, or CL_INVALID_CONTEXT: an event is of another
 *  context. */
cl_int icd_check_waits(const icd_context *context, cl_uint count, const cl_event waits[]);
/** Wait until an event has ended; the lock is given up meanwhile. @return its status. */
cl_int icd_await(icd_event *event);
/** Add an event to those that `event` waits for. @param other  NULL, or complete: nothing is added. @return
 *  CL_SUCCESS or CL_OUT_OF_HOST_MEMORY. */
cl_int icd_event_also(icd_event *event, icd_event *other);

/* ---- buffers: memory.c; with the lock ---- */

/** Make sure that a device has a buffer, with its contents if `reads`; note that it is written if `writes`.
 *  @param event  of the command: it will wait for the contents. @param number_out  of the buffer on that server. */
cl_int icd_mem_use(icd_mem *mem, icd_queue *queue, icd_event *event, bool reads, bool writes, int64_t *number_out);
/** Send the command of a transfer between memory of the program and a buffer, and begin the transfer.
 *  @param in    into the buffer. @param span  in the buffer; the pitches are those of `host`.
 *  @param gate  must end before bytes of a write are sent; NULL: nothing must. @return as icd_command_send(). */
cl_int icd_transfer_enqueue(icd_device *device, int64_t queue_number, int64_t mem_number, icd_event *event, bool in,
                            const dcli_span *span, void *host, int64_t host_row_pitch, int64_t host_slice_pitch,
                            icd_event *gate);
/** Send a command with an event, which the server will end. @return as icd_send(); after an error the event has not
 *  begun. */
cl_int icd_command_send(icd_device *device, int64_t queue_number, icd_event *event, dcli_msg_command *command);
/** Finish an entry point that enqueues. After a success, wait for the event if the call blocks, otherwise until the
 *  device has room for more commands, and pass the event to the program. After a failure, end the event with it. The
 *  caller's reference goes to the program, or is dropped. @param event  NULL with a failure: there is none.
 *  @param event_out  NULL: the program wants none. @return `status`, or the error of an event for which the call has
 *  waited. */
cl_int icd_enqueued(icd_event *event, cl_int status, bool blocks, cl_event *event_out);

/** Memory for a mapped region of a buffer, aligned to a page of 4096 bytes: more than any type of OpenCL C needs.
 *  @param allocated_out  its bytes, maybe more than `bytes`. @return NULL: there is no memory. */
void *icd_map_memory(icd_mem *mem, size_t bytes, size_t *allocated_out);
void icd_aligned_free(void *memory);
/** Free a region that is in no list. */
void icd_map_free(icd_map *map);
/** End of the event of a mapping: drops the buffer in at_end_user. */
void icd_map_filled(icd_event *event);
/** End of the event of an unmapping: frees the icd_map in at_end_user. */
void icd_map_ended(icd_event *event);

/** Whether flags of a memory object are known and do not contradict each other. */
bool icd_are_mem_flags(cl_mem_flags flags);
void icd_mem_free(icd_mem *mem);
void icd_context_free(icd_context *context);
void icd_queue_free(icd_queue *queue);
void icd_program_free(icd_program *program);
void icd_kernel_free(icd_kernel *kernel);
void icd_event_free(icd_event *event);
/** The kernel's number on a device, made if needed, with its arguments as they are now set; their buffers are made
 *  ready by icd_mem_use(). @return CL_SUCCESS, or why it cannot be launched. */
cl_int icd_kernel_prepare(icd_kernel *kernel, icd_queue *queue, icd_event *event, int64_t *number_out);
/** Whether all arguments are set, and their buffers exist. @return CL_SUCCESS or CL_INVALID_KERNEL_ARGS. */
cl_int icd_kernel_complete(const icd_kernel *kernel);
/** Whether a program is built for a device. @return CL_SUCCESS or CL_INVALID_PROGRAM_EXECUTABLE. */
cl_int icd_program_ready(const icd_program *program, int place);

#endif
