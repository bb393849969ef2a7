/* worker/worker.h - serving a peer: a thread that processes every operation, plans its share and carries it out.
 *
 * A node's worker has a device and stores parts of arrays. The host's has neither: it runs the program's side of the
 * same protocol, transfers elements between the program's memory and the nodes, and informs the runtime. */
#ifndef DCLI_WORKER_WORKER_H
#define DCLI_WORKER_WORKER_H

#include <dcl/cluster.h>
#include <dcl/forall.h>

#include "base/log.h"
#include "base/ways.h"
#include "device/device.h"
#include "net/buffers.h"
#include "net/net.h"
#include "store/files.h"
#include "worker/lent.h"

typedef struct dcli_worker dcli_worker;

/** The address table: where kernels of this process find parts of the program's nodes, for reading in place. Used by
 *  all threads. */
typedef struct dcli_address_table dcli_address_table;
dcli_address_table *dcli_address_table_open(void);
void dcli_address_table_close(dcli_address_table *addresses);

/** The process data: layouts, bodies and plans that the workers of one process share. Used by all threads. */
typedef struct dcli_process_data dcli_process_data;
/** Open. @param peers  workers of this process, including the host's. @return NULL: DCL_ERR_NOMEM. */
dcli_process_data *dcli_process_data_open(int peers);
/** Before the peers of a process transfer anything: how many of the program's nodes have memory of their own. */
void dcli_process_data_serve(dcli_process_data *process_data, int devices);
/** Close, after all workers. NULL is accepted. */
void dcli_process_data_close(dcli_process_data *process_data);

/** Callbacks of the host's worker to the runtime, from the thread that serves it: the worker's own, or one of the program
 *  in dcli_host_serve_while(). */
typedef struct dcli_host_hooks {
    void *user;
    /** A peer's watermarks and its counters [DCLI_MSG_COUNTERS]; peer node_count: the host itself. With a tree,
     *  only the host's children have marks: the least of their own and of those of all nodes below them, and the counters
     *  of nodes are zeros. */
    void (*marks)(void *user, int peer, int64_t done, int64_t ready, const int64_t counters[]);
    void (*failed)(void *user, const dcli_msg_failed *failed);
    void (*report)(void *user, int node, const dcli_msg_report *report);
    void (*built)(void *user, const dcli_msg_built *built);
    /** The host's worker, or a node that is a thread, cannot continue, for example after a violation of the protocol:
     *  nothing more will complete. (A node that is a process is lost instead.) */
    void (*broken)(void *user, dcl_status status, const char *sentence);
    /** A node's counters, as requested. */
    void (*counted)(void *user, int node, const dcli_msg_counts *counts);
    /** A node's events, as requested. @param received_ns  when the answer arrived. */
    void (*traced)(void *user, int node, const dcli_msg_traced *traced, int64_t received_ns);
    /** A node is lost. The other nodes have been told, and the sentence has been logged: it names the node, and says
     *  how it was lost. */
    void (*lost)(void *user, int node, const char *sentence);
} dcli_host_hooks;

/** Callbacks of workers to the code that runs and monitors the nodes of their session, as threads or as processes. */
typedef struct dcli_fleet_hooks {
    void *user;
    bool is_remote; /* nodes may be on other hosts */
    /** Host's worker: node `node` is lost: make sure that its process no longer runs, and describe the loss in a
     *  sentence. @param seen  how it was noticed. */
    void (*lose)(void *user, int node, const char *seen, char *sentence_out, size_t capacity);
    /* The next two are called by the host's worker, only if nodes are processes. */
    /** A process has described its device. @return NULL, or what is wrong with that. */
    const char *(*described)(void *user, int node, const dcli_msg_device *device);
    /** A process reports that it cannot serve. */
    void (*refused)(void *user, int node, dcl_status status, const char *sentence);
    /* The next two are called only if nodes are threads. */
    /** The thread of a node ends: called by it as its last action. */
    void (*thread_ends)(void *user, int node);
    /** Wait until the thread of a node has ended. @return false: the node is lost, and its thread may run for ever. */
    bool (*await_thread)(void *user, int node);
} dcli_fleet_hooks;

typedef struct dcli_worker_terms {
    dcli_net *net;
    uint64_t session;
    int self, node_count; /* self == node_count: the host */
    int device;           /* number of the device; nodes only */
    dcli_node_ways
        *ways; /* [node_count] outlives the worker; changed by it when somebody joins, but not by the host's */
    const dcl_config *config;
    const char *fault; /* for tests: the fault to inject, as in DCL_FAULT; NULL: none */
    bool check_access; /* kernels check all reads and writes */
    const dcli_log *log;
    struct dcli_trace *trace; /* the ring in which this peer records what it does; NULL: it is not traced. Borrowed */
    dcli_address_table *addresses;
    dcli_process_data *process_data; /* data that all peers of this process share; NULL: the worker makes its own */
    dcli_buffers *buffers;
    const dcli_host_hooks *hooks; /* host only: its callbacks to the runtime */
    /* The following fields are for sessions whose nodes are processes, unless noted otherwise. */
    bool is_process;          /* peers are other processes: they may be lost, and join */
    dcli_endpoint *endpoint;  /* taken over by dcli_worker_open(), also on failure; NULL: it opens one */
    dcli_device *opened;      /* an open device, taken over as `endpoint` is; NULL: it opens number `device`. Nodes
                                 only */
    const bool *absent;       /* [node_count] numbers of nodes that have not joined; NULL: all are there. Borrowed
                                 for the call */
    int fanout, tree_nodes;   /* see tree.h; 0, 0: all nodes are attached to the host */
    int64_t epoch;            /* epoch of the members when it is opened */
    int64_t first_operation;  /* first operation in which the node takes part; 0: from the first */
    int64_t quota_bytes;      /* limit on lasting memory (account.h), in bytes; 0: none */
    int64_t transit_bytes;    /* limit on received messages that wait until a member is known; and a separate one on
                                 received data beyond what peers may send (account.h); 0: none */
    dcli_files *files;        /* files that may be used; processes only, threads have the program's access. Borrowed */
    struct dcli_watch *watch; /* where the serving thread records its progress; NULL: nobody watches */
    const dcli_fleet_hooks *fleet; /* for the host, and for nodes that are threads; nodes that are processes: NULL */
    /* For authentication of forwarded messages: the host's secret; for a node the key derived from it. NULL, "": all
     * are accepted. */
    const struct dcli_secret *word_secret; /* host only: the secret from which each node's `word_key` is derived */
    const char *word_key;                  /* nodes only; NULL is "" */
} dcli_worker_terms;

/** Open the endpoint (and the device). Strings and pointers of `terms` outlive the worker; what `ways` points to may
 *  still change until dcli_worker_start(). @return DCL_OK, or the error of device or network. */
dcl_status dcli_worker_open(const dcli_worker_terms *terms, dcli_worker **worker_out);
/** Start the thread. All workers of the session are open. */
dcl_status dcli_worker_start(dcli_worker *worker);
/** Serve in the calling thread, in two steps: prepare, then serve until the end. @return what broke it, if anything
 *  did. */
dcl_status dcli_worker_prepare(dcli_worker *worker);
dcl_status dcli_worker_serve(dcli_worker *worker);
/** Pass on a message that arrived before the worker was open. Takes it over. */
dcl_status dcli_worker_hear(dcli_worker *worker, dcli_received *received);
/** Wait until the thread has ended, if it was started (nodes: after DCLI_MSG_STOP; the host: after dcli_host_stop()),
 *  or until its node is lost: then the thread may run for ever, and nothing that it uses may be freed. */
void dcli_worker_join(dcli_worker *worker);
/** Free a worker, after all workers of the session were joined. NULL is accepted, here and above. */
void dcli_worker_close(dcli_worker *worker);
/** Description of a node's device: valid until dcli_worker_close(). */
const dcl_device_info *dcli_worker_device(const dcli_worker *worker);
/** What the node can do with others' memory: flags DCLI_CAN_... (base/ways.h). */
uint8_t dcli_worker_can(const dcli_worker *worker);
/** Name, driver and platform version of a node's device as one text (dcli_device_kind()): devices with equal texts can use
 *  the same compiled programs. It is not the `kind` of dcl_device_info. */
const char *dcli_worker_kind(const dcli_worker *worker);

/* ---- the host's worker: any thread may call these functions, which only queue ---- */

/** Queue a descriptor for all nodes (a copy, with its strings and arrays). If several are queued
 *  when the host's worker takes them, up to DCLI_MOST_OPERATIONS are combined into a message.
 *  @param lent     READ, WRITE: address of the element at the box's first index, referenced as long as needed; else
 *                  NULL.
 *  @param strides  [box.rank] elements between neighbours of the box along each axis.
 *  @param defers   wake nobody: the caller soon calls dcli_host_push(), or serves. */
dcl_status dcli_host_operation(dcli_worker *host, const dcli_msg_operation *operation, dcli_lent *lent,
                               const int64_t strides[], bool defers);
/** Report the loss of a node, and how it was noticed. Cannot fail. */
void dcli_host_report_loss(dcli_worker *host, int node, const char *seen);
/** Queue a message for one node, or for all (DCL_ALL_NODES), in order with descriptors. A KERNEL for all
 *  is also for the host's worker; a KERNEL or JOINED for the host's own number is for it alone. */
dcl_status dcli_host_message(dcli_worker *host, int node, const dcli_message *message);
/** Begin or end a hold: items queued during it are taken together when it ends. Only one thread may use holds. */
void dcli_host_hold(dcli_worker *host, bool hold);
/** Queue: connect to a process that will become a node: by a link, which is taken over, or (NULL) an address. */
dcl_status dcli_host_meet(dcli_worker *host, int node, const dcli_shared_link *link, const char *address,
                          const char *key);
/** Whether the host's worker has made progress since the last call, or waits for messages, or plans within plan_ms. By
 *  one thread. */
bool dcli_host_is_alive(dcli_worker *host);
/** Serve the host's worker in the calling thread, in place of the worker's own thread, while `goes_on(user)` is true,
 *  at most until `until_ns` (as dcli_monotonic_ns()). From any thread; the worker's hooks are then called in it. No
 *  driver is called: nodes have threads of their own, so a node whose driver hangs delays nobody else.
 *  @param spin_ns  time to poll for messages before it sleeps; 0: the usual time.
 *  @return false: another thread of the program serves already, the worker has not begun or has ended, or its own
 *          thread was busy until `until_ns`. */
bool dcli_host_serve_while(dcli_worker *host, int64_t until_ns, int64_t spin_ns, bool (*goes_on)(void *user),
                           void *user);
/** Have the operations sent that were queued with `defers`: serve the host's worker once, in the calling thread and without
 *  waiting, or wake the thread that serves it. If the program has queued others just before, nothing is done until there are
 *  enough for one message, or 300 us have passed. Any thread, without a lock that the hooks take. */
void dcli_host_push(dcli_worker *host);
/** Make the thread in dcli_host_serve_while() call `goes_on` at once. */
void dcli_host_look_again(dcli_worker *host);
/** Ask all nodes whether they see the file at `path` with this id and `token`. Waits for the answers; any thread but
 *  the host's. @return also DCL_ERR_TIMEOUT, without a sentence: a node has not answered within 10 s. */
dcl_status dcli_host_sees(dcli_worker *host, const char *path, const char token[], const dcli_file_id *id,
                          bool *all_see_out);
/** Have all nodes send their counters to the hook. @param kernel  a body whose measured times are asked for, too; 0: none.
 *  Waits as dcli_host_sees(). @return also DCL_ERR_TIMEOUT, with a
 *  sentence. */
dcl_status dcli_host_count(dcli_worker *host, int64_t kernel);
/** Have all nodes send part `part` of their events to the hook; -1: only the time of their clocks. Waits as
 *  dcli_host_sees(). @param silent  [node_count] nodes not to wait for; those that do not answer within 10 s are added.
 *  @return false: it makes no sense to ask again: there is no memory, or dcli_host_stop_asking() was called. */
bool dcli_host_trace(dcli_worker *host, int64_t part, bool silent[]);
/** End all waits in dcli_host_sees(), dcli_host_count() and dcli_host_trace(), also of later calls: not all see the
 *  file; dcli_host_count() returns DCL_ERR_TIMEOUT, dcli_host_trace() false. */
void dcli_host_stop_asking(dcli_worker *host);
/** Undo dcli_host_stop_asking(). */
void dcli_host_ask_again(dcli_worker *host);
/** Queue the end: once all that was queued before is done and all operations are complete, or the worker is broken, the
 *  host's worker tells all nodes to stop, and ends. */
void dcli_host_stop(dcli_worker *host);
/** Before dcli_host_stop(): do not wait for incomplete operations; the nodes are processes, which are killed. */
void dcli_host_abandon(dcli_worker *host);

#endif
