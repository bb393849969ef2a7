/* remote/inside.h - shared by the files of the remote room. */
#ifndef DCLI_REMOTE_INSIDE_H
#define DCLI_REMOTE_INSIDE_H

#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>

#include <pthread.h>
#include <stdatomic.h>

#include "net/span.h"
#include "remote/remote.h"

enum {
    DCLI_MOST_REMOTE_OBJECTS = 1 << 20, /* objects, events and transfers of a session at a time */
    DCLI_MOST_REMOTE_TASKS = 1 << 18,   /* commands that wait for others */
    DCLI_MOST_REMOTE_ARGUMENTS = 512,   /* of a kernel */
    DCLI_FEW_ARGUMENTS = 8,             /* of a launch that needs no memory for them */
    DCLI_REPORTS_LATE_MS = 2,           /* ends of unobserved commands are noticed and reported at most so late */
    /* Ends of unobserved commands are noticed at most so late while an observed command runs, whose end wakes the server
     * anyway. A timer that is due before Linux's next tick, which comes every 4 ms, costs 14 us in a virtual machine. */
    DCLI_UNNOTICED_MS = 8,
    DCLI_PEER_PATIENCE_MS = 2,           /* contents of a small transfer are awaited for so long, then it is granted */
    DCLI_PEER_EAGER = 64 << 10,          /* a transfer of at most so many bytes is sent to another server at once */
    DCLI_PEER_EAGER_SESSION = 4 << 20,   /* bytes of such transfers that the other servers have not taken */
    DCLI_PEER_LEAST = 64,                /* as many as a smaller one counts, and a message that has come early */
    DCLI_MOST_STORED = 1 << 30,          /* bytes of all transfers that are held as a whole */
    DCLI_MOST_REMOTE_SUB_DEVICES = 1024, /* of a session at a time */
    DCLI_TOLD = 1024                     /* ends of unknown events, told by other servers, that are remembered */
};

/* ---- objects ---- */

typedef enum dcli_object_kind {
    DCLI_OBJECT_BUFFER = 1,
    DCLI_OBJECT_QUEUE,
    DCLI_OBJECT_PROGRAM,
    DCLI_OBJECT_SUB_DEVICE,
    DCLI_OBJECT_CONTEXT,
    DCLI_OBJECT_KERNEL,
    DCLI_OBJECT_EVENT,
    DCLI_OBJECT_TRANSFER
} dcli_object_kind;

/** Blocks of one size that were given back, to be taken again: a launch takes some, and the heap's lock is shared with the threads of
 *  the device's driver. */
typedef struct dcli_spares {
    void *first;
    int count;
} dcli_spares;

typedef struct dcli_task dcli_task;
typedef struct dcli_kernel_output dcli_kernel_output;
typedef struct dcli_chunk dcli_chunk;
typedef struct dcli_builder dcli_builder;
typedef struct dcli_loan dcli_loan;

/** A context of the device's driver. */
typedef struct dcli_scope {
    cl_context context;
    cl_uint count;
    cl_device_id *device; /* [count] */
} dcli_scope;

/** A value that an argument was set to; it does not change. */
typedef struct dcli_value {
    int refs;
    int kind; /* a dcli_argument_kind */
    size_t bytes;
    struct dcli_object *buffer; /* NULL: none, or a null pointer */
    unsigned char value[];      /* [bytes] of a DCLI_ARGUMENT_VALUE */
} dcli_value;

/** Something that the driver has named by a number. */
typedef struct dcli_object {
    int64_t number;
    dcli_object_kind kind;
    int refs; /* one of the table, and one of each task and argument that uses it */
    /* Not CL_SUCCESS: the object could not be made, and commands that use it fail with this status. Of an event: how it has
     * ended; a negative status is known earlier if the event's transfer has failed and has not ended yet. */
    cl_int status;
    int64_t bytes; /* of a buffer, or of a program's text */
    union {
        struct {
            cl_mem mem;
            struct dcli_object *parent; /* of a sub-buffer; NULL: none */
            char *place;                /* its memory, which the driver can map; NULL: it cannot */
            char *memory;               /* its memory, in which the device works; NULL: not known */
            struct dcli_object *later;  /* the next one of dcli_remote.late_first */
            int64_t submitted;          /* dcli_remote.submitted when it was released */
        } buffer;
        struct {
            cl_command_queue queue;
            struct dcli_object *context;    /* reference; NULL: that of the device */
            bool in_order, profiles, dirty; /* dirty: commands were submitted since the last clFlush() */
            int64_t passed; /* number of the last unobserved event that has ended and was not reported; 0: none */
            dcli_task *first, **last;                 /* commands that were not submitted, in order */
            int64_t barriers;                         /* of them */
            struct dcli_object *next;                 /* list of all queues */
            struct dcli_completion *oldest, **newest; /* what the device has not ended, by submission */
        } queue;
        struct {
            cl_program program;
            char *text; /* what has arrived of its text or binary; NULL: none, or no longer needed */
            int64_t arrived;
            bool is_binary;
            int building, used;          /* jobs that build it, and that use it */
            struct dcli_object *context; /* reference; NULL: that of the device */
        } program;
        cl_device_id sub_device;
        dcli_scope scope; /* of a context */
        struct {
            cl_kernel kernel;
            int count;
            bool *takes_object;    /* [count] the argument is a handle to the device's driver: a buffer, a sampler */
            dcli_value **argument; /* [count] as last set; NULL: not set */
            dcli_value **applied;  /* [count] as set in `kernel` */
        } kernel;
        struct {
            cl_event real;                     /* NULL: not submitted, or not an event of the device's */
            bool ended, is_user, was_reported; /* ended: `status` says how */
            bool unobserved;                   /* its end may be reported late */
            bool pending;                      /* the end of `real` has not been handled */
            bool in_order;                     /* so is the queue of its command */
            int owner;                         /* of a user event: 1 more than the server that may end it; 0: none */
            int told_count;
            int *told; /* [told_count] other servers to which its end is sent */
        } event;
        struct {
            dcli_task *task; /* NULL: its command has ended */
            dcli_span span;
            int peer;            /* the driver, or the server that has the other end */
            int64_t eager;       /* to a server: bytes that may be sent before they are granted */
            int64_t chunk_bytes; /* most bytes of a chunk */
            int64_t total, granted, arrived, submitted;
            int64_t due_ns;            /* small, from a server: when it is granted if it has not come; 0: not begun */
            int64_t ended;             /* bytes of a write of which the end was noticed */
            int64_t held;              /* bytes that have arrived before the write has begun */
            bool stored;               /* it is held as a whole between the network and the device */
            bool in_place, copied;     /* the driver copies between its own memory and the buffer's; has copied */
            void *mapped;              /* the buffer's memory, while it is mapped for this */
            dcli_loan *loan;           /* a read that sends the buffer's memory itself; NULL: it does not */
            int64_t lent;              /* its bytes that were sent */
            int outstanding;           /* chunks that the device is copying */
            dcli_chunk *first, **last; /* chunks that have arrived and are not submitted */
            dcli_chunk *sent, **sent_last; /* reads: chunks in order; they are sent in this order */
        } transfer;
    };
} dcli_object;

/** A command that has been accepted, until it has ended. */
struct dcli_task {
    dcli_task *next;
    int kind;                                               /* a dcli_command_kind */
    dcli_object *queue, *object, *other, *event, *transfer; /* references; NULL: none */
    dcli_object **wait;                                     /* [wait_count] references */
    int wait_count;
    int lenient; /* of the first events of `wait`: it does not matter whether they have failed */
    int number_count;
    int64_t number[DCLI_MOST_COMMAND_NUMBERS];
    int argument_count;
    dcli_value **argument;               /* [argument_count] of a launch */
    dcli_value *few[DCLI_FEW_ARGUMENTS]; /* memory for `argument` */
    size_t pattern_bytes;
    unsigned char *pattern;
    bool begun;                       /* a transfer: its first chunk was submitted */
    bool listed;                      /* it is in the list of its queue */
    cl_event first_event, last_event; /* a transfer: of its first and last chunk, for its times; NULL: none */
    cl_int status; /* the first failure: of a transfer's chunks, or of another command's submission */
};

/** A chunk that the device copies, or that waits for its turn. */
struct dcli_chunk {
    dcli_chunk *next;
    dcli_object *transfer; /* reference */
    int64_t offset, length;
    dcli_received received; /* of a write: the message with the bytes */
    void *bytes;            /* of a read: buffer of the pool */
    void *place;            /* the memory of the buffer, in place; NULL: the bytes are sent */
    bool done;
    bool is_last; /* the event of the transfer has the end of this chunk as event.real */
    bool
        untold; /* the device's driver is not to tell its end: it tells that of a later chunk in the same queue in order */
    cl_int status;
};

/** The end of a command of the device, which a callback of its driver passes to the serving thread, or for which that
 *  thread asks. */
typedef struct dcli_completion {
    struct dcli_completion *next;
    dcli_remote *remote;
    dcli_object *event; /* reference; NULL: a chunk */
    dcli_chunk *chunk;
    cl_event real; /* retained */
    cl_int status;
    bool ended;         /* its callback has been called, or the driver has said so */
    bool unobserved;    /* its callback need not wake the serving thread */
    bool silent;        /* the driver is not to call back: the serving thread asks */
    bool noted;         /* its callback has counted it in `observed_ends` */
    dcli_object *queue; /* reference */
    dcli_object **wait; /* [wait_count] references: the wait list of its command; NULL: a chunk has that of its task */
    int wait_count, lenient;       /* as in dcli_task */
    struct dcli_completion *later; /* the next one of its queue, by submission */
    int64_t number;                /* in the order of submission, of all queues: from 1 */
} dcli_completion;

/** For the end of payloads that are memory of buffers: a thread of ZeroMQ wakes the serving thread, as long as that
 *  serves. */
typedef struct dcli_lender {
    pthread_mutex_t lock;    /* guards `endpoint` and `loans` */
    dcli_endpoint *endpoint; /* NULL: it does not serve any more */
    int64_t loans;           /* payloads that have not been returned */
    pthread_cond_t none;     /* their number is 0 again */
    atomic_bool returned;    /* the last one of a transfer was, and the transfer has not been looked at */
} dcli_lender;

/** Payloads of one transfer that are memory of its buffer. */
struct dcli_loan {
    atomic_int count;
    dcli_lender *lender;
};

/** Memory of a buffer. */
typedef struct dcli_place {
    dcli_remote *remote;
    void *bytes;
    bool mappable; /* by the driver: it comes from the pool of shared buffers */
} dcli_place;

/** The end of an event of another server. */
typedef struct dcli_told {
    int peer;
    int64_t event;
    cl_int status;
} dcli_told;

/** What a server knows of the others of its session: peers.c. */
typedef struct dcli_peers {
    bool *apart;           /* [client] cannot be reached, or not any more */
    int64_t last_transfer; /* number of the latest transfer between servers of which the driver has told */
    int64_t early_count, early_capacity, early_bytes;
    dcli_received *early; /* [early_count] DATA and TAKEN of transfers of which the driver has not told yet */
    int64_t eager_bytes;  /* sent to other servers, which have not taken them */
    int64_t small_due_ns; /* when the first small transfer is granted that has not come; 0: none */
    int64_t told_count;
    dcli_told told[DCLI_TOLD]; /* the latest ends: number n, of told_count, is at n % DCLI_TOLD */
} dcli_peers;

/** Facts of an ANSWER that is being written. */
typedef struct dcli_facts {
    dcli_remote *remote;
    int64_t number;
    cl_int status;
    int count, items;
    size_t bytes;
    dcli_msg_fact fact[DCLI_MOST_FACTS];
    void *memory[2 * DCLI_MOST_FACTS]; /* to free when it is sent */
    int memory_count;
} dcli_facts;

struct dcli_remote {
    const dcli_log *log;
    dcli_watch *watch;
    dcl_device_info info;
    bool in_place;
    bool tried,
        works_in_memory; /* whether the device works in the memory of a buffer that it was given, once that was tried */
    cl_platform_id platform;
    cl_device_id device;
    cl_context context;
    dcli_remote_terms terms;

    dcli_spares tasks, events, completion_memory;
    dcli_object **table; /* [table_size] open addressing; table_size is a power of two, or 0 */
    int64_t table_size, object_count, tomb_count;
    int sub_device_count;
    int64_t task_count;                   /* tasks that are not submitted */
    int64_t submitted;                    /* events and chunks that the device was given, in all */
    int64_t outstanding;                  /* of which it has not ended */
    int64_t used_bytes;                   /* of all buffers */
    int64_t late_bytes;                   /* of the buffers of `late_first` */
    dcli_object *late_first, **late_last; /* buffers to be released when the device does not use them any more */
    int64_t text_bytes;                   /* of all programs that were not made */
    int64_t held_bytes;                   /* of all writes that have not begun */
    int64_t stored_bytes;                 /* of all transfers that are held as a whole */
    dcli_object *queues;                  /* all queues */
    _Atomic(dcli_completion *) completions;
    atomic_int observed_ends; /* callbacks of observed commands that have been called and not handled */
    bool deferred;            /* some ends wait until those for which their commands waited are handled */
    int64_t unobserved_count; /* unobserved commands that the device has not ended */
    bool polls;               /* it is asked for the ends of commands, because its driver calls back late */
    atomic_int callbacks;     /* callbacks that the driver may still call */
    atomic_int places;        /* memory that buffers of the device still use */
    int64_t ended_count, ended_capacity;
    dcli_msg_ended *ended;  /* [ended_count] events to report */
    int64_t passed_count;   /* unobserved events that have ended and that the next report of their queues covers */
    bool reports_now;       /* one of those in `ended` is observed, or has failed */
    int64_t reports_due_ns; /* when they are sent at the latest */
    dcli_facts facts;
    dcli_peers peers;
    dcli_lender *lender; /* NULL: memory of buffers is not sent */
    dcli_builder *builder;
    dcli_kernel_output *printer; /* NULL: what kernels print is not sent */
    bool stuck_dirty;            /* something has changed for which tasks may wait */
};

/* ---- table.c ---- */

/** Take a block, set to zero. @param bytes  always the same for these spares. @return NULL: DCL_ERR_NOMEM. */
void *dcli_spares_take(dcli_spares *spares, size_t bytes);
void dcli_spares_give(dcli_spares *spares, void *block);

/** Find an object. @return NULL: there is none of this number and kind. */
dcli_object *dcli_object_find(dcli_remote *remote, int64_t number, dcli_object_kind kind);
/** The object in a place of the table; NULL: none. @param place  0..table_size-1. */
dcli_object *dcli_object_at(const dcli_remote *remote, int64_t place);
/** Make an object with one reference, of the table. @return NULL: DCL_ERR_PROTOCOL (the number is in use, or there are
 *  too many) or DCL_ERR_NOMEM, recorded. */
dcli_object *dcli_object_make(dcli_remote *remote, int64_t number, dcli_object_kind kind);
/** Take an object out of the table, and drop its reference. */
void dcli_object_remove(dcli_remote *remote, dcli_object *object);
dcli_object *dcli_object_hold(dcli_object *object);
/** Drop a reference; the last one frees the object. NULL is accepted. */
void dcli_object_drop(dcli_remote *remote, dcli_object *object);
/** Free all objects at the end of the session. */
void dcli_objects_close(dcli_remote *remote);
void dcli_value_drop(dcli_remote *remote, dcli_value *argument);

/* ---- commands.c ---- */

/** Record that a command breaks the protocol. @param what  that is wrong with it. @return DCL_ERR_PROTOCOL. */
dcl_status dcli_command_broken(const char *what);
/** Carry out a command. @return DCL_ERR_PROTOCOL: it breaks the protocol; DCL_ERR_NOMEM. */
dcl_status dcli_remote_command(dcli_remote *remote, const dcli_msg_command *command);

/* ---- sub_device.c ---- */

/** A context with its devices. @param context  NULL: that of the device. */
dcli_scope dcli_scope_of(dcli_remote *remote, const dcli_object *context);
/** Find the context that a command names by its number at `place`. @param context_out  NULL: the context of the device. @return DCL_OK
 *  or DCL_ERR_PROTOCOL. */
dcl_status dcli_context_find(dcli_remote *remote, const dcli_msg_command *command, int place,
                             dcli_object **context_out);
/** Find the device or sub-device that a command names by its number at `place`. @return NULL: it is unknown. */
cl_device_id dcli_device_find(dcli_remote *remote, const dcli_msg_command *command, int place);
/** Carry out DCLI_CL_SUB_DEVICES and answer. */
dcl_status dcli_sub_devices_make(dcli_remote *remote, const dcli_msg_command *command);
void dcli_sub_device_free(dcli_remote *remote, dcli_object *object);
dcl_status dcli_context_make(dcli_remote *remote, const dcli_msg_command *command);
void dcli_context_free(dcli_object *object);

/* ---- buffer.c ---- */

/** Make the buffer of the device. object->status says whether that has failed. @param context  to which it belongs. */
void dcli_buffer_make(dcli_remote *remote, dcli_object *object, cl_context context, cl_mem_flags flags);
/** Release a buffer to which nothing refers any more; later, if the device may use it now. */
void dcli_buffer_release(dcli_remote *remote, dcli_object *object);
/** Release the buffers for which this was put off. @param all  even those that the device may use: this may wait for it. */
void dcli_buffers_release_late(dcli_remote *remote, bool all);
/** Whether there is room for `bytes` more: all buffers that are not released, and these bytes, are within the quota and within seven
 *  eighths of the device's memory. While there is none, no release is put off. */
bool dcli_buffers_have_room(const dcli_remote *remote, int64_t bytes);

/* ---- schedule.c ---- */

/** Accept a command for a queue: it is submitted at once if nothing has to come before it. */
dcl_status dcli_task_accept(dcli_remote *remote, const dcli_msg_command *command);
/** Submit the commands that no longer have to wait for anything. */
void dcli_tasks_look(dcli_remote *remote);
/** Take what callbacks have passed on. @return whether there was any. */
bool dcli_completions_take(dcli_remote *remote);
/** Ask the driver which commands have ended of those for which it does not call back. @return whether any has. */
bool dcli_completions_poll(dcli_remote *remote);
/** End an event, and report it. @param real  event of the device, for its times; NULL: none. */
void dcli_event_end(dcli_remote *remote, dcli_object *event, cl_int status, cl_event first, cl_event real);
/** Have the serving thread learn when a real event of a command queue ends. In a queue in order it learns of ends in
 *  the order of these calls, whatever the order of the driver's callbacks. @param task  the command, which gives its wait list away;
 *  NULL: a chunk. */
dcl_status dcli_completion_ask(dcli_remote *remote, dcli_object *queue, cl_event real, dcli_task *task,
                               dcli_chunk *chunk);
/** End a command that is in no list. */
void dcli_task_end(dcli_remote *remote, dcli_task *task, cl_int status);
void dcli_task_free(dcli_remote *remote, dcli_task *task);
/** Events of the device for which a command waits. @param real_out  [wait_count] */
cl_uint dcli_task_waits(const dcli_task *task, cl_event real_out[]);
/** Whether an event of a wait list has failed, except the first `lenient` ones. Not all drivers fail a command whose wait list has a
 *  failed event, so this is asked when the device has ended the command. */
bool dcli_waits_failed(dcli_object *const wait[], int wait_count, int lenient);
/** Send the events that have ended, if one of them is observed, if there are many, or when they are due. */
dcl_status dcli_events_send(dcli_remote *remote);
void dcli_queues_flush(dcli_remote *remote);
/** Report the unobserved events of a queue that have ended, if there are any. */
void dcli_queue_report(dcli_remote *remote, dcli_object *queue);
/** Report that a command without event has failed. */
void dcli_queue_failed(dcli_remote *remote, const dcli_object *queue, cl_int status);

/* ---- transfer.c ---- */

/** Take a DATA message; takes over `received` if it is kept. @param from  its sender: the driver, or another server. */
dcl_status dcli_transfer_data(dcli_remote *remote, int from, dcli_received *received);
dcl_status dcli_transfer_taken(dcli_remote *remote, int from, const dcli_msg_taken *taken);
/** Submit what can be submitted of a transfer. @return true: all of it is submitted, or it has failed: later commands
 *  may follow. */
bool dcli_transfer_go(dcli_remote *remote, dcli_task *task);
/** Handle the end of a copy. */
void dcli_chunk_done(dcli_remote *remote, dcli_chunk *chunk, cl_int status);
void dcli_chunk_free(dcli_remote *remote, dcli_chunk *chunk);
/** Release function of a payload that is a buffer of a pool. */
void dcli_payload_give(void *bytes, void *user);
/** Fail a transfer that has not begun: what arrives of it is dropped. */
void dcli_transfer_fail(dcli_remote *remote, dcli_task *task, cl_int status);
dcl_status dcli_lender_open(dcli_remote *remote);
/** Wait until no memory of buffers is being sent. @return false: not within `milliseconds`. */
bool dcli_lender_await(dcli_remote *remote, int milliseconds);
void dcli_lender_close(dcli_remote *remote);
/** Fail a transfer between servers, whatever its state, because of the other end. */
void dcli_transfer_stop(dcli_remote *remote, dcli_object *transfer, cl_int status);

/* ---- peers.c ---- */

dcl_status dcli_remote_peers_open(dcli_remote *remote);
void dcli_remote_peers_close(dcli_remote *remote);
/** Whether `peer` is the number of another server. */
bool dcli_peer_is_other(const dcli_remote *remote, int64_t peer);
/** Handle a message of another server; takes over `received` if it is kept. A server that breaks the protocol is lost.
 *  @return DCL_OK, DCL_ERR_NOMEM. */
dcl_status dcli_peer_hear(dcli_remote *remote, dcli_received *received);
/** Give up another server that cannot be reached: fail all transfers with it, and tell the driver. @param seen  the
 *  reason, as a sentence. */
void dcli_peer_lose(dcli_remote *remote, int peer, const char *seen);
/** Grant the small transfers that have begun and have not come for DCLI_PEER_PATIENCE_MS. */
void dcli_peer_grant_small(dcli_remote *remote);
/** Begin a transfer with another server: handle its messages that came before the driver's command. */
void dcli_peer_begin(dcli_remote *remote, dcli_object *transfer);
/** Send the end of an event to a server; or, if it has not ended, when it ends. */
dcl_status dcli_peer_tell(dcli_remote *remote, const dcli_msg_command *command);
/** An event has ended: tell the servers that are to know. */
void dcli_peers_tell(dcli_remote *remote, const dcli_object *event);
/** Whether another server has already told the end of an event that is now made. */
bool dcli_peer_has_told(const dcli_remote *remote, const dcli_object *event, cl_int *status_out);

/* ---- serve.c ---- */

/** Handle a received message; takes over `received` if it is kept. @return DCL_ERR_TIMEOUT: the driver ends the
 *  session. */
dcl_status dcli_remote_hear(dcli_remote *remote, dcli_received *received);

/* ---- program.c ---- */

dcl_status dcli_program_append(dcli_remote *remote, const dcli_msg_command *command);
/** Free the text of a program, after it was made or when it ends. */
void dcli_program_free_text(dcli_remote *remote, dcli_object *program);
/** The program, made from its text if that has not been done. @return NULL: program->status says why. */
cl_program dcli_program_of(dcli_remote *remote, dcli_object *program);

/** Append the facts of a built program to an answer. */
void dcli_program_describe(dcli_facts *facts, cl_program program, cl_device_id device, bool has_kernels);
/** Answer whether the device's driver accepts the binary from which a program is to be made. */
dcl_status dcli_program_check(dcli_remote *remote, const dcli_msg_query *query);
/** Send a program's binary in chunks. */
dcl_status dcli_program_send_binary(dcli_remote *remote, int64_t transfer, const unsigned char *binary, size_t length);

/* ---- build.c ---- */

/** Start the thread that compiles. */
dcl_status dcli_builder_open(dcli_remote *remote);
/** Let a program be built, compiled or linked; the answer is sent when that is done. */
dcl_status dcli_program_build_remote(dcli_remote *remote, const dcli_msg_command *command);
/** Let the binary of a program be read; the answer is sent when that is done. */
dcl_status dcli_program_binary(dcli_remote *remote, const dcli_msg_query *query);
/** Send the answers of builds that have ended. */
dcl_status dcli_builder_look(dcli_remote *remote);
/** Whether programs are being built. */
bool dcli_builder_is_busy(const dcli_remote *remote);
/** End the thread that compiles, after its current compilation. Without such a thread, nothing happens. */
void dcli_builder_close(dcli_remote *remote);

/* ---- output.c ---- */

/** Take over the standard output of this process. */
dcl_status dcli_kernel_output_open(dcli_remote *remote);
/** Send what kernels have printed, as far as the driver has room. */
void dcli_kernel_output_send(dcli_remote *remote);
/** Whether something was printed for which the driver has no room yet. */
bool dcli_kernel_output_waits(const dcli_remote *remote);
/** Record how many bytes of what kernels have printed the driver has taken in all. @return false: more than were
 *  sent. */
bool dcli_kernel_output_taken(dcli_remote *remote, int64_t taken);
void dcli_kernel_output_close(dcli_remote *remote);

/* ---- facts.c ---- */

void dcli_facts_begin(dcli_remote *remote, int64_t number);
void dcli_fact_text(dcli_facts *facts, int64_t key, const char *text);
void dcli_fact_bytes(dcli_facts *facts, int64_t key, const void *bytes, size_t length);
void dcli_fact_number(dcli_facts *facts, int64_t key, int64_t number);
/** Append the properties of a device. @param key  is added to each cl_device_info. @param other  only properties are appended
 *  in which the device differs from this one; NULL: all. */
void dcli_facts_of_device(dcli_remote *remote, cl_device_id device, int64_t key, cl_device_id other);
/** Send the answer. */
dcl_status dcli_facts_end(dcli_facts *facts, cl_int status);
dcl_status dcli_remote_answer(dcli_remote *remote, const dcli_msg_query *query);

#endif
