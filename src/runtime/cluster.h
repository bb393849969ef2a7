/* runtime/cluster.h - internals of a cluster and of an array, shared by the files of the runtime. */
#ifndef DCLI_RUNTIME_CLUSTER_H
#define DCLI_RUNTIME_CLUSTER_H

#include <pthread.h>
#include <stdatomic.h>

#include <dcl/array.h>
#include <dcl/forall.h>
#include <dcl/image.h>

#include "base/error.h"
#include "base/log.h"
#include "fleet/guard.h"
#include "fleet/worker_pool.h"
#include "kernel/leaves.h"
#include "resmap/layout.h"
#include "runtime/balance.h"
#include "runtime/choices.h"
#include "store/new_file.h"
#include "worker/worker.h"
#include "workqueue/operation.h"
#include "workqueue/overlap.h"
#include "workqueue/plan.h"

/** State of a storage as the program records it. dcl_swap() exchanges these between handles. */
typedef struct dcli_storage_state {
    int64_t id;
    int64_t last_use;       /* last operation that touches it */
    int64_t overwritten_at; /* last operation that overwrites all of it */
    int64_t failed_at;      /* operation after which its contents are undefined; it has failed while this is >=
                               overwritten_at and > 0 */
    bool lost;              /* a part of it was on a lost node: failed for good */
    bool had_replicas;      /* nodes may have replicas of it */
    dcli_valid_lines lines; /* valid lines around the nodes' parts */
    dcl_status status;
    char *text;         /* error text of the failure; NULL: one of the cluster's `causes` has it */
    int64_t strayed_at; /* last operation that wrote it and accessed elements outside its grid; valid while >=
                           overwritten_at and > 0 */
    char *stray;        /* text of the report on that access; NULL: unknown */
} dcli_storage_state;

/** An array, or a view of one: a view has only `base` and `view` of its own. */
struct dcl_array {
    dcl_cluster *cluster;
    dcl_map *map;
    void *lent_map; /* handle of the map that dcl_map_of() returned; NULL: not requested yet */
    dcli_layout layout;
    dcli_storage_state *state;
    bool keeps;                       /* replicas are retained when the array is read */
    dcl_steal_policy steal;           /* policy for calls whose first output this array is */
    char name[DCLI_MOST_NAME + 1];    /* its name in the last body that used it; "": none yet */
    int view_count;                   /* number of its views */
    bool hidden;                      /* kept by the library for its own use: the program is not told of it */
    bool lines_known;                 /* `whole` is set; it was computed for `layout`, without a view */
    unsigned whole;                   /* the axes along which all tiles have all indices (nest_lines.h) */
    bool released;                    /* released by the program, but still used by its views */
    struct dcl_array *base;           /* base of a view, which is not a view itself; NULL: this is an array */
    dcli_transform view;              /* how it shows the base; if `reshaped`, the base in another shape */
    bool reshaped;                    /* `layout` is the layout of the base in that shape, as of the view's last use */
    struct dcl_array *before, *after; /* list of all arrays of the cluster, or of all views */
};

/** The array that stores a handle's elements. */
static inline dcl_array *dcli_array_base(const dcl_array *array)
{
    return array->base != NULL ? array->base : (dcl_array *)array;
}

/** The grid of a handle. */
static inline const dcl_grid *dcli_array_grid(const dcl_array *array)
{
    return array->base != NULL ? &array->view.grid : &array->layout.grid;
}

static inline dcli_storage_state *dcli_array_state(const dcl_array *array) { return dcli_array_base(array)->state; }

enum { DCLI_CHECKED_CALLS = 2 }; /* two, because a program may exchange two arrays after each call */

/** A body that the program has used with a given list of parameters. */
typedef struct dcli_known_body {
    uint64_t hash;
    int64_t number;  /* number of the body at the workers; 0: they do not have it */
    dcli_body *body; /* the parsed body; its texts and parameters are the key of this record */
    size_t bytes;    /* memory that this record takes, with the body */
    bool prints;     /* its kernels call printf */
    bool gathers;    /* its first call is one whose nodes may gather inputs */
    int answers_due; /* compilations that were not answered yet */
    dcl_status status;
    char *text;             /* error text if the compiler refused it */
    char *shown;            /* the program's text, for errors, if the library has made the body's text from it; else
                               NULL */
    bool blamed;            /* the body caused the loss of a node: never evicted; there are at most as many such
                               bodies as nodes */
    int holds;              /* number of calls that are using it */
    int64_t used;           /* value of cluster->bodies.clock at its last call */
    int64_t last_operation; /* number of the last operation that runs it */
    struct dcli_known_body *next;
    bool scalars_in_subscripts; /* whether a call is valid depends on its scalars, too */
    int next_checked;           /* position in `checked` for the next call */
    int64_t checked[]; /* [DCLI_CHECKED_CALLS][param_count] storages of the last calls over whole grids, without
                          views and declarations, that were found valid */
} dcli_known_body;

enum { DCLI_BODY_BUCKETS = 256, DCLI_RECENT_BODIES = 4 };

/** The cache of bodies that a program uses. */
typedef struct dcli_bodies {
    dcli_known_body *known[DCLI_BODY_BUCKETS];
    dcli_known_body *recent[DCLI_RECENT_BODIES]; /* of `known`, the last ones that were called; NULL: none */
    unsigned next_recent;                        /* where the next one goes, modulo DCLI_RECENT_BODIES */
    int64_t numbers;                             /* number of the last body that has one */
    int64_t clock;                               /* number of calls with a body so far */
    size_t bytes;                                /* bytes of all bodies in `known` */
    size_t most_bytes;                           /* limit; exceeded only by bodies in use or blamed */
    int64_t *forgotten; /* [forgotten_count] numbers of evicted bodies that the workers still have */
    int64_t forgotten_count, forgotten_capacity;
} dcli_bodies;

/** Outcome of an operation that a call waits for. */
typedef struct dcli_outcome {
    int64_t operation;
    dcl_status status;
    char *text;
    dcli_lent *lent; /* READ, WRITE: memory lent to the operation, which the waiting call takes back with the outcome */
    bool withdrawn;  /* the call has returned, with its memory, because the cluster is being closed; a later failure is
                        not recorded here */
    struct dcli_outcome *next;
} dcli_outcome;

/** An operation that changes the record of replicas. */
typedef struct dcli_noted {
    dcli_operation *operation;
    bool drops; /* the operation writes or drops elements that may have replicas */
} dcli_noted;

/** The program's record of replicas, for explaining operations before they run. */
typedef struct dcli_replica_notes {
    int64_t generation;       /* replicas made from now on have this number + 1 as their generation; increased when any
                                 operation fails, because it may have been making some, and when a node joins */
    dcli_directory directory; /* the state after the operations applied so far */
    dcli_noted *noted;        /* later operations that change it, not yet applied */
    int count;
} dcli_replica_notes;

/** Who reads and writes the program's files. */
typedef enum dcli_file_way {
    DCLI_FILES_AUTO,   /* the nodes, if all of them see the file's folder; else the host */
    DCLI_FILES_DIRECT, /* the nodes read and write files */
    DCLI_FILES_STREAM  /* the host reads and writes files */
} dcli_file_way;

typedef struct dcli_file_use {
    dcli_file_way way;
    /** Ask all nodes whether they see the file at `path` with this id and `token`; NULL: they see what this process
     *  sees. Called without the lock, possibly by several threads at once. DCL_ERR_TIMEOUT: some have not answered; the
     *  next attempt may succeed. */
    dcl_status (*sees)(dcli_worker *host, const char *path, const char token[33], const dcli_file_id *id,
                       bool *all_see_out);
    struct dcli_known_folder *folders; /* folders asked about, newest first */
    bool streaming;                    /* `streamer` is in an exclusive call: it streams a file or adds workers */
    pthread_t streamer;
} dcli_file_use;

struct dcl_cluster {
    dcli_map_host for_maps; /* must be first: see dcli_map_host_of() */
    dcl_config config;
    int64_t stretch_bytes; /* bytes of a file that one operation writes or reads, where the host streams it */
    char *fault;           /* DCL_FAULT; NULL: none */
    dcli_log log;
    bool plan_only;
    int host; /* peer number of the host; smaller numbers are for nodes, also for nodes that may join later */
    dcli_node_ways *ways; /* [host] abilities and group of each node */
    bool spins;           /* there are enough processors for waiting threads to poll */
    bool has_gpus;        /* node 0 is a GPU */
    dcli_net *net;
    dcli_address_table *addresses;
    dcli_buffers *buffers;
    dcli_process_data *process_data; /* data shared by thread nodes and the host; NULL: nodes are processes, or only
                                        planned */
    dcli_worker **worker;            /* [host + 1]: nodes that are threads of this program, and the host's */
    dcli_worker_pool *pool;          /* the worker processes; NULL: threads */
    dcli_guard *guard;               /* the guard of thread nodes; NULL: processes, or only planned */
    dcli_host_hooks hooks;
    struct dcli_cluster_trace *trace; /* runtime/trace.h; NULL: nothing is recorded */

    pthread_mutex_t lock; /* guards the fields below */
    pthread_cond_t changed;
    _Atomic int node_count; /* nodes so far, including lost ones; atomic because maps are made without the lock */
    atomic_bool *lost;      /* [host] whether each node is lost, or has not joined */
    bool joining;           /* nodes are joining: if no node is left, one may come */
    bool has_tree;          /* watermarks arrive combined over subtrees, without counters */
    dcli_file_use files;
    int64_t operations, storages; /* number of the last operation, and of the last storage */
    int64_t *done, *ready;        /* [host + 1] watermarks; infinite for lost and absent nodes, and for those whose
                                     parent in the tree reports for them */
    int *speaker;                 /* [speaker_count] the peers whose watermarks are not infinite, in ascending order */
    int speaker_count;
    dcl_counters *counters;        /* [host + 1] counters that arrived with the watermarks */
    int64_t complete;              /* all operations up to this one are complete */
    int64_t printing, printed;     /* last operation that may print; last one whose printed lines have been shown */
    int64_t awaited, awaited_host; /* first operation that a sleeping thread waits for: until all peers have
                                      completed it; until the host's side has */
    dcl_array *arrays, *views;
    struct dcli_partials *partials;        /* kept for later reductions: runtime/reduce.c */
    struct dcli_combination *combinations; /* bodies that combine, kept for later reductions: runtime/combine.c */
    struct dcli_keyed *keyed;              /* keyed reductions that may be incomplete: runtime/keyed.c */
    dcli_choices at_inputs;                /* where reductions along axes are computed: runtime/at_input.c */
    dcli_choices spaces;                   /* which reductions have an index space of their own: runtime/space.c */
    dcli_bodies bodies;
    struct dcli_nest_plan *nest_plans;       /* kept plans of loop nests: runtime/nest_plans.h */
    struct dcli_stream_speed *stream_speeds; /* measured speeds of streamed operations: runtime/stream_speed.h */
    dcli_replica_notes replicas;
    dcli_times *times; /* a report asks the nodes for the times of a body (runtime/balance.h); NULL: none does */
    struct dcli_measured *measured; /* results of timing bodies, for maps by measured shares */
    dcli_outcome *outcomes;         /* outcomes of operations that calls wait for */
    dcli_outcome *causes;           /* the last operations that were the origin of a failure, newest first */
    dcl_status error;               /* the first error since the cluster was opened or dcl_clear_error() */
    char error_text[DCLI_ERROR_BYTES];
    /* More than 0: `error` refuses to use an array that has failed for a reason not known yet. The failure of an
     * operation up to this one, which is reported later, replaces it. */
    int64_t error_cause_upto;
    dcl_status fresh; /* first error since the last call ended: the result with DCL_SYNC */
    char fresh_text[DCLI_ERROR_BYTES];
    dcl_status broken; /* why no operation will complete any more */
    bool interrupted;  /* `broken` only because the cluster is being closed */
    char broken_text[DCLI_ERROR_BYTES];
    struct dcl_cluster *abandoned_before; /* list of closed clusters with a thread that hangs */
};

/* ---- making (make.c, open.c, processes.c) ---- */

/** Allocate a cluster. @param host  most nodes it will have. @return NULL (recorded). */
dcl_cluster *dcli_cluster_make(const dcl_config *config, int node_count, int host);
/** Resize a cluster before its workers are opened; resets the watermarks. @param capacity  count of node numbers, at
 *  most `host` of dcli_cluster_make(); the host has the next number. */
void dcli_cluster_resize(dcl_cluster *cluster, int node_count, int capacity);
/** Free a cluster after its threads have ended. If a node's thread hangs, what the thread may still use is not
 *  freed. */
void dcli_cluster_free(dcl_cluster *cluster);
/** Determine in which way each node gets elements from each other node: by the ways that their devices support and
 *  DCL_TRANSFER allows. It also turns lending off (config.steal = "never") if DCL_STEAL is "pays", without "kinds", and
 *  the device of a node is no processor. @return DCL_OK; DCL_ERR_UNSUPPORTED: DCL_TRANSFER is a way that some node does not have. */
dcl_status dcli_cluster_choose_movement(dcl_cluster *cluster);
/** Open a cluster whose nodes are the processes that config->workers names. @return NULL (recorded). */
dcl_cluster *dcli_open_processes(const dcl_config *config);

/** First step of dcl_close(): from now on calls of other threads return an error, also those that wait. */
void dcli_cluster_interrupt(dcl_cluster *cluster);
/** Second step, after those calls have returned: let the operations that were started before complete. */
void dcli_cluster_resume(dcl_cluster *cluster);

/* ---- nodes (nodes.c) ---- */

/** Description of a node's device. */
const dcl_device_info *dcli_node_device(const dcl_cluster *cluster, int node);
/** Whether a node runs the kernels for GPUs. */
bool dcli_node_is_gpu(const dcl_cluster *cluster, int node);
/** Name, driver and platform version of a node's device as one text (dcli_device_kind()): devices with equal texts can
 *  use the same compiled programs. It is not the `kind` of dcl_device_info. */
const char *dcli_node_kind(const dcl_cluster *cluster, int node);
/** Hook: a node is lost. Takes the lock. */
void dcli_cluster_on_lost(void *user, int node, const char *sentence);

/* ---- waits and errors (wait.c); the lock is held unless said otherwise ---- */

/** Set cluster->hooks, the functions that the host's worker calls for events of the session. Without the lock. */
void dcli_cluster_hooks(dcl_cluster *cluster);
/** List the speakers, the peers whose watermarks are finite. Call it after watermarks have become infinite, or
 *  finite. */
void dcli_cluster_list_speakers(dcl_cluster *cluster);
/** Update `complete` after the nodes' watermarks have changed, and wake the threads that wait for it. */
void dcli_cluster_note_marks(dcl_cluster *cluster);
/** Record an error as the cluster's, if it is its first, and as the result of the current call, if it is the first
 *  since the last call ended. @return status */
dcl_status dcli_cluster_keep(dcl_cluster *cluster, dcl_status status, const char *text);
/** dcli_cluster_keep() with this thread's error, for a call that fails. Nothing is recorded while the cluster is being
 *  closed. @return status */
dcl_status dcli_cluster_failed_call(dcl_cluster *cluster, dcl_status status);
/** If the cluster's error has the text `before`, replace it by this thread's error, which says the same better. Takes the
 *  lock. */
void dcli_cluster_reword(dcl_cluster *cluster, const char *before);
/** dcli_cluster_failed_call() for a call that ends with this error: it is not the result of a later call. Takes the
 *  lock. */
void dcli_cluster_record_refusal(dcl_cluster *cluster);
/** The functions by which maps query a cluster. */
extern const dcli_map_host dcli_cluster_for_maps;
/** The function dcli_map_host.live of a cluster. */
int dcli_cluster_live(const dcl_cluster *cluster, int capacity, dcli_node_range ranges[]);
/** Wait until every peer (`host_only`: the host's own side) has completed an operation, even if it has failed; then
 *  show what kernels have printed. The lock is released meanwhile.
 *  @param seconds  negative: as DCL_WAIT_MS says. @return DCL_OK, DCL_ERR_TIMEOUT, or what broke the cluster. */
dcl_status dcli_cluster_wait(dcl_cluster *cluster, int64_t operation, bool host_only, double seconds);
/** dcli_cluster_wait() for all peers, with the limit DCL_WAIT_MS, without showing printed lines: for calls that use no
 *  results. */
dcl_status dcli_cluster_wait_silently(dcl_cluster *cluster, int64_t operation);
/** Sleep until the cluster's state changes. After 10 seconds return, too, and log that `operation` is still awaited. */
void dcli_cluster_sleep(dcl_cluster *cluster, int64_t operation);
/** Take the outcome of an operation that was waited for: DCL_OK, or its error recorded for this thread. After this
 *  nobody accesses the memory of a READ or WRITE, complete or not. */
dcl_status dcli_cluster_outcome(dcl_cluster *cluster, int64_t operation);
void dcli_outcomes_free(dcli_outcome **first);
/** Wait for an operation, with the limit DCL_WAIT_MS, then take its outcome. */
dcl_status dcli_cluster_end_of(dcl_cluster *cluster, int64_t operation, bool host_only);

/* ---- traces (trace.c); without the lock. All do nothing if the cluster is not traced ---- */

/** Check that the file of config->trace can be written, and prepare recording. @param peers  most peers of the cluster.
 *  @return DCL_OK, DCL_ERR_FILE, DCL_ERR_NOMEM. */
dcl_status dcli_cluster_trace_open(dcl_cluster *cluster, int peers);
/** The ring for a peer of this process; NULL: it is not traced, or (recorded) there is no memory. */
struct dcli_trace *dcli_cluster_ring(dcl_cluster *cluster, int peer);
/** When the session begins: compare the clocks of nodes that are processes with the program's. */
void dcli_cluster_trace_begin(dcl_cluster *cluster);
/** Before the nodes are told to stop: get what nodes that are processes have recorded. */
void dcli_cluster_trace_gather(dcl_cluster *cluster);
/** Do not write the file when the cluster is closed. */
void dcli_cluster_trace_give_up(dcl_cluster *cluster);
/** Write the file, when the cluster is closed: the peers of this process record nothing from now on.
 *  @return DCL_OK, DCL_ERR_FILE, DCL_ERR_NOMEM. */
dcl_status dcli_cluster_trace_write(dcl_cluster *cluster);
void dcli_cluster_trace_free(dcl_cluster *cluster);
/** Hook: a node answers a question about its events. */
void dcli_cluster_on_traced(void *user, int node, const dcli_msg_traced *traced, int64_t received_ns);

/* ---- operations (operations.c); the lock is held ---- */

/** Wait until an operation may be issued: no exclusive operation is running, and the window is not full. The lock is
 *  not released between this and issuing one. @return DCL_OK; DCL_ERR_TIMEOUT: the window was full for longer than
 *  DCL_WAIT_MS; or what broke the cluster. */
dcl_status dcli_cluster_await_room(dcl_cluster *cluster);
/** Whether dcli_cluster_await_room() would not wait. A "no" may be wrong, a "yes" never is. */
bool dcli_cluster_has_room(const dcl_cluster *cluster);
/** Number a descriptor and queue it; record in `states` what it touches and overwrites. Waits while the window of open
 *  operations is full. Meanwhile other threads may exchange storages, so states and ids must be read together.
 *  @param operation  the planned form; operands and kind are set, number is filled in.
 *  @param states     [operation->operand_count], NULL for scalars.
 *  @param waited     keep its outcome for dcli_cluster_outcome().
 *  @param memory     READ, WRITE, which are waited for: address of the element at the box's first index; lent until
 *                    dcli_cluster_outcome().
 *  @param strides    READ, WRITE: as dcli_host_operation().
 *  @return DCL_OK; otherwise nothing is queued: as of dcli_cluster_await_room() or dcli_host_operation(), or
 *          DCL_ERR_NOMEM. */
dcl_status dcli_cluster_issue(dcl_cluster *cluster, dcli_msg_operation *descriptor, dcli_operation *operation,
                              dcli_storage_state *const states[], bool waited, void *memory, const int64_t strides[]);
/** The same for an operation whose outcome nobody asks for, without waking the thread that serves the host. After the lock is
 *  released, the caller calls dcli_host_push(), or waits for the operation. */
dcl_status dcli_cluster_issue_deferred(dcl_cluster *cluster, dcli_msg_operation *descriptor, dcli_operation *operation,
                                       dcli_storage_state *const states[]);
/** Issue an operation of any kind that has one array: on the whole array (box NULL), or, a READ or WRITE, on a box of
 *  it. Waits as dcli_cluster_await_room(). An operation on a view becomes one on its base. A READ of a view fills only
 *  the first index of broadcast axes; when it has ended, the caller fills the other indices by dcli_view_repeat(). */
dcl_status dcli_cluster_issue_one(dcl_array *array, dcli_msg_operation *descriptor, const dcl_box *box, bool waited,
                                  void *memory, const int64_t strides[]);
/** Read a box as dcl_read() does, after its checks.
 *  @param box  not empty. @param strides  steps in `target` along each axis. */
dcl_status dcli_array_read(dcl_array *array, const dcl_box *box, void *target, const int64_t strides[]);
/** Check that an array's contents have not failed.
 *  @param use  what the call is to do: "read".
 *  @return DCL_OK, or the array's error, recorded for this thread. */
dcl_status dcli_array_usable(const dcl_array *array, const char *use);
/** Whether the contents of a storage are undefined, as far as the program knows. Records no error. */
bool dcli_storage_state_failed(const dcli_storage_state *state);
/** Record that a storage has failed, unless it was overwritten since or its first cause is known. @param text  NULL:
 *  because one of its inputs had failed. */
void dcli_storage_state_fail(dcli_storage_state *state, int64_t operation, dcl_status status, const char *text);
/** Record that an operation that wrote the storage accessed elements outside. @param text  the report; NULL:
 *  unknown. */
void dcli_storage_state_stray(dcli_storage_state *state, int64_t operation, const char *text);
/** Whether the operation that wrote the contents accessed elements outside. Records no error. */
bool dcli_storage_state_has_strayed(const dcli_storage_state *state);
/** DCL_OK; or DCL_ERR_RANGE, recorded for this thread, if the operation that wrote the contents accessed elements
 *  outside. @param done  what the call has done nevertheless: "the elements were read". */
dcl_status dcli_storage_state_strayed(const dcli_storage_state *state, const char *done);
/** Make an array fail because the call changed only a part of it: its contents are undefined, though no node has
 *  failed. */
void dcli_array_spoil(dcl_array *array, dcl_status status);
/** End a call, and release the lock, which the caller holds. If the call has failed, its error is recorded
 *  (dcli_cluster_failed_call()). Otherwise, with DCL_SYNC, first wait for all operations. @return status; with DCL_SYNC
 *  also an error of that wait, or the first one that came since the last call ended. */
dcl_status dcli_cluster_end_call(dcl_cluster *cluster, dcl_status status);
/** Lay a grid over the nodes by a map, as a new array of the cluster is: where nodes reserve lines around their
 *  parts for time loops (DCL_LINES), the layout has these lines, too. @return DCL_OK, or the failure of
 *  dcli_layout_bind(). */
dcl_status dcli_array_bind(dcl_cluster *cluster, const dcl_grid *grid, const dcl_map *map, dcli_layout *layout_out);
/** Make an array, as dcl_agile() does. Waits while the window of open operations is full. @param unset  its elements
 *  are undefined at first, instead of 0. */
dcl_status dcli_array_make(dcl_cluster *cluster, const dcl_grid *grid, dcl_map *map, bool unset, dcl_array **array_out);
/** Note the name by which a body of the program calls an array; that of a view counts only if the array has none. NULL
 *  is accepted. */
void dcli_array_note_name(dcl_array *array, const char *name);
/** Make the handle of an array that is used in plans only, and has no storage: end it with dcli_array_free(). The lock
 *  is held.
 *  @param number  1, 2, ...: a different number for each array of a call. */
dcl_status dcli_array_imagine(dcl_cluster *cluster, const dcl_grid *grid, dcl_map *map, int number,
                              dcl_array **array_out);
/** End the handle of the map that dcl_map_of() returned (front_array.c). */
void dcli_array_end_loan(dcl_array *array);
/** Free an array or a view in this process; its storage at the nodes is not freed. */
void dcli_array_free(dcl_array *array);
/** Check that an array can be used in a call. The lock must not be held: this may take it. @return DCL_OK;
 *  DCL_ERR_UNSUPPORTED (a cluster that only plans); for NULL, as dcli_error_record_null(). */
dcl_status dcli_array_check(const dcl_array *array);
/** DCL_OK, or the error of an array that has failed for good, recorded for this thread. */
dcl_status dcli_array_whole(const dcl_array *array, const char *use);
/** The descriptor of a storage: the contents of its CREATE. @param map_out  text of its map, yours: dcli_free(). */
dcl_status dcli_describe_storage(const dcl_array *array, char **map_out, dcli_msg_operation *descriptor_out);

/* ---- views (view.c) ---- */

/** DCL_OK, or the error that a view cannot be written, recorded for this thread. */
dcl_status dcli_view_writable(const dcl_array *array);
/** Add an array or view to the cluster's list. */
void dcli_array_link(dcl_array *array);
/** The layout that a handle's view refers to: that of its base, or of the reshaped base with its current map. @return
 *  DCL_OK; DCL_ERR_UNSUPPORTED: with its current map the base cannot have this shape; DCL_ERR_NOMEM. */
dcl_status dcli_array_layout(dcl_array *array, const dcli_layout **layout_out);
/** Copy the layout that a handle's view refers to, for use without the lock while the array may be remapped. @param
 *  layout_out  dcli_layout_release() it, on DCL_OK. */
dcl_status dcli_array_own_layout(const dcl_array *array, dcli_layout *layout_out);
/** Describe a view for a descriptor. @param shape  the grid that it refers to if that is not its base's; or NULL. */
dcli_msg_view dcli_view_describe(int operand, const dcli_transform *view, const dcl_grid *shape);
/** Translate a transfer between the program's memory and a box of a view into one of the view's base. @param base_out
 *  the box of the base. @param strides_out  steps in memory along the base's axes. @return the address in `memory` of
 *  that box's first element; NULL if memory is NULL. */
void *dcli_view_place(const dcl_array *array, const dcl_box *box, void *memory, const int64_t strides[],
                      dcl_box *base_out, int64_t strides_out[]);
/** After a box of a view was read to the program's memory: a read fills only the first index of broadcast axes; copy
 *  its elements to the other indices. Does nothing for an array. */
void dcli_view_repeat(const dcl_array *array, const dcl_box *box, void *memory, const int64_t strides[]);
/** Make a view with the axes of `grid`. Axis `axis` shows the only axis of the array, which has the same indices; all others are
 *  broadcast. The lock is held. */
dcl_status dcli_view_spread(dcl_array *array, int axis, const dcl_grid *grid, dcl_array **view_out);
/** Release a view for the program; with its last view, an array that was released before is freed. */
dcl_status dcli_view_release(dcl_array *array);
/** Let the nodes free the storage of an array, and free the array, even if an error is returned. If the cluster only
 *  plans or is broken, only the array is freed. */
dcl_status dcli_array_end(dcl_array *array);

/* ---- loop bodies (forall.c, counts.c); the lock is held, and given up while waiting ---- */

/** What the text of a call is: a body, or a reduction to values; a tile kernel; a reduction along axes. */
typedef enum dcli_text_kind { DCLI_TEXT_BODY, DCLI_TEXT_TILES, DCLI_TEXT_ALONG } dcli_text_kind;

/** Check the arguments of a call. Needs no lock.
 *  @param kind     what the text is.
 *  @param reduces  the call is a reduction: results may be among its outputs.
 *  @return DCL_OK or DCL_ERR_INVALID; for a cluster or array that is NULL as dcli_error_record_null(). */
dcl_status dcli_args_check(dcl_cluster *cluster, const char *body, dcli_text_kind kind, bool reduces, int count,
                           const dcl_arg args[]);
/** Whether an argument is memory of the program: DCL_HOST_IN and so on. */
bool dcli_arg_is_host(const dcl_arg *arg);
/** dcli_args_check() for a loop nest, whose arguments may be memory of the program. That memory is not checked here. */
dcl_status dcli_nest_args_check(dcl_cluster *cluster, const char *nest, int count, const dcl_arg args[]);
/** Run a scan: dcl_scan(). */
dcl_status dcli_scan_run(dcl_cluster *cluster, const char *text, int count, const dcl_arg args[]);

enum {
    DCLI_INTO_ELEMENT = 1,
    /* dcl_arg.width_count of an input that is read again by the same call, so that its first operation makes no
     * replicas: dcl_call_explain() plans all operations with the replicas from before the call. */
    DCLI_NOT_RETAINED = -1
};
/** Check the arguments of a reduction to values. @return as dcli_args_check(). */
dcl_status dcli_reduction_check(dcl_cluster *cluster, const char *body, int count, const dcl_arg args[]);
/** Issue the operation of a checked reduction. The lock is held.
 *  @param args  a DCL_RESULT without a variable is an array whose rank is width_count; one element of it if width[0] is
 *               DCLI_INTO_ELEMENT.
 *  @param added  the arguments that the parser adds: arrays of partial results that are all 0, and scalars, all named
 *                dcli_partials_name. There are no more than DCLI_MAX_PARAMS arguments in all.
 *  @param results_out  [DCLI_MAX_RESULTS] how each result is reduced, in the order of the arguments.
 *  @param grid_out  that of the array that gives the indices.
 *  @param computing_out  the nodes that own elements at which the body runs: no other has partial results; NULL: not
 *                        wanted. It begins empty. */
dcl_status dcli_reduction_start(dcl_cluster *cluster, const dcl_box *box, const char *body, int count,
                                const dcl_arg args[], int added_count, const dcl_arg added[], dcli_result results_out[],
                                dcl_grid *grid_out, dcli_node_list *computing_out);
/** Run a reduction and wait for its results: dcl_reduce(). */
dcl_status dcli_reduction_run(dcl_cluster *cluster, const dcl_box *box, const char *body, int count,
                              const dcl_arg args[]);
/** Whether the text of a reduction into arrays is keyed: keyed.c. */
bool dcli_call_is_keyed(const char *text, int count, const dcl_arg args[]);
/** The arguments of a keyed reduction as the parser knows them: outputs are results, and DCL_FAST is left out.
 *  @param args_out  [count]. @return how many are in args_out. */
int dcli_keyed_args(int count, const dcl_arg args[], dcl_arg args_out[]);
/** Run a keyed reduction: dcl_reduce(). */
dcl_status dcli_keyed_run(dcl_cluster *cluster, const dcl_box *box, const char *text, int count, const dcl_arg args[]);
/** Record that an operation has met keys outside, if it is that of a keyed reduction. The lock is held. */
void dcli_keyed_stray(dcl_cluster *cluster, int64_t operation, const char *text);
void dcli_keyed_free(dcl_cluster *cluster);
/** Free the list of arrays that are kept for partial results; the arrays are in cluster->arrays. */
void dcli_partials_free(dcl_cluster *cluster);
void dcli_combinations_free(dcl_cluster *cluster);

/** Start a body of the library's own, as dcl_forall() does. Arrays keep the names that the program gave them.
 *  @param kind  not DCLI_TEXT_TILES. @param args  known to be valid: names, accesses, arrays of this cluster.
 *  @param box  NULL: all indices. */
dcl_status dcli_forall_start(dcl_cluster *cluster, const dcl_box *box, const char *body, dcli_text_kind kind, int count,
                             const dcl_arg args[]);
/** Check a node number for counters. Needs no lock. @param out  checked for NULL. */
dcl_status dcli_check_counted(const dcl_cluster *cluster, int node, const void *out);
/** Free the measured shares (weighted.c). */
void dcli_measured_free(struct dcli_measured *measured);

/* ---- replicas (directory.c); the lock is held ---- */

/** Record an operation that is about to be issued. @return DCL_OK or DCL_ERR_NOMEM. */
dcl_status dcli_cluster_replicas_note(dcl_cluster *cluster, const dcli_operation *operation,
                                      dcli_storage_state *const states[]);
/** Apply the recorded operations to the directory. Call this before the directory is queried, and before a layout or
 *  view of a recorded operation is freed. @return DCL_OK; after an error the remaining operations are dropped, and all
 *  replicas are invalidated. */
dcl_status dcli_cluster_replicas_settle(dcl_cluster *cluster);
/** Apply the recorded operations before a body is freed. */
dcl_status dcli_cluster_replicas_end_body(dcl_cluster *cluster, const dcli_body *body);
/** Invalidate all replicas, because an operation has failed, or a node joins that does not know them. */
void dcli_cluster_replicas_fail(dcl_cluster *cluster);
void dcli_cluster_replicas_free(dcl_cluster *cluster);

/* ---- arrays of which some elements are stored nowhere (partial.c) ---- */

/** Before a box is read to memory: if some elements of the array are not stored, set all of the memory to the fill
 *  value; reading replaces it where elements are stored. */
void dcli_partial_rest(const dcl_array *array, const dcl_box *box, void *memory, const int64_t strides[]);
/** DCL_OK; DCL_ERR_RANGE: an element of the box is not stored, recorded for this thread; DCL_ERR_NOMEM. */
dcl_status dcli_partial_writable(const dcl_array *array, const dcl_box *box);

/* ---- files (file_way.c, stream_file.c); the lock is held, and given up while files are used ---- */

/** Set who uses files. @param files  "auto", "direct" or "stream". */
void dcli_cluster_choose_files(dcl_cluster *cluster, const char *files);
/** Determine whether the nodes use a file themselves. Their answer is cached per folder; if one does not answer in
 *  time, this file is streamed unless the way is DIRECT, and the next call asks again.
 *  @param path       absolute.
 *  @param named_out  whether the nodes know the device numbers of that folder's file systems as the program sees them,
 *                    so that a file can be identified in addition to its name.
 *  @return DCL_OK, or why they could not be asked. */
dcl_status dcli_cluster_sees_files(dcl_cluster *cluster, const char *path, bool *direct_out, bool *named_out);
/** Clear the nodes' cached answers about folders: the nodes have changed, or the cluster ends. */
void dcli_cluster_forget_files(dcl_cluster *cluster);
/** Load a whole open file by sending its elements to the nodes; or save their elements into a file that
 *  dcli_npy_begin() has begun. Complete on return. */
dcl_status dcli_stream_load(dcl_array *array, int fd, const char *path, const dcl_npy_info *info);
dcl_status dcli_stream_save(dcl_array *array, int fd, const char *path, const dcl_npy_info *info);
/** DCL_OK, or DCL_ERR_INVALID or DCL_ERR_FILE: the path is NULL or too long. @param expected  such as "a .npy file". */
dcl_status dcli_file_check_path(const char *path, const char *expected);
/** dcli_new_file_end() without the lock, so that other threads continue while the disk is written. */
dcl_status dcli_file_end(dcl_cluster *cluster, dcli_new_file *file, int64_t bytes, dcl_status status);
/** Begin an exclusive call: calls of other threads wait, even while the lock is released, until
 *  dcli_cluster_end_turn(). */
void dcli_cluster_begin_turn(dcl_cluster *cluster);
void dcli_cluster_end_turn(dcl_cluster *cluster);
/** Wait while another thread is in an exclusive call: for calls that use or exchange arrays. */
void dcli_cluster_turn(dcl_cluster *cluster);

/* ---- bodies (bodies.c) ---- */

/** Refuse an argument of a kind that a call does not take. @param arg  its access is one of dcl_access.
 *  @param takes  what the call takes, the end of the error. @return DCL_ERR_INVALID. */
dcl_status dcli_refuse_arg(const dcl_arg *arg, const char *takes);

/** Whether an argument is a parameter of the body, not a prelude, sizes or settings. */
static inline bool dcli_arg_is_param(const dcl_arg *arg)
{
    return arg->access != DCL_ACCESS_PRELUDE && arg->access != DCL_ACCESS_GROUP && arg->access != DCL_ACCESS_ITEMS &&
           arg->access < DCL_ACCESS_STEALING;
}

/** Whether an argument is a result of a reduction. */
static inline bool dcli_arg_is_result(const dcl_arg *arg)
{
    return arg->access >= DCL_ACCESS_RESULT && arg->access <= DCL_ACCESS_RESULT_PLACED;
}

/** Whether an argument has an array. */
static inline bool dcli_arg_has_array(const dcl_arg *arg)
{
    return dcli_arg_is_param(arg) && arg->access != DCL_ACCESS_VALUE && arg->access != DCL_ACCESS_OPERATOR &&
           !dcli_arg_is_result(arg);
}

/** The name of the argument for the partial results of a reduction, which the library adds. It is recognized by its
 *  address. */
extern const char dcli_partials_name[];
static inline bool dcli_arg_is_partials(const dcl_arg *arg) { return arg->name == dcli_partials_name; }

/** Set the limits of the cache of bodies. @param copies  of each body in this process: the cluster's, the host's, those
 *  of thread nodes. */
void dcli_bodies_limit(dcl_cluster *cluster, int copies);
/** Find or parse the body of a call; the call holds it until dcli_body_let_go(). Others may be evicted. @return DCL_OK,
 *  DCL_ERR_BODY, DCL_ERR_INVALID, DCL_ERR_NOMEM. */
dcl_status dcli_body_of_call(dcl_cluster *cluster, const char *text, dcli_text_kind kind, int count,
                             const dcl_arg args[], dcli_known_body **known_out);
/** Parse a reduction whose results may be combined in one order (kernel/leaves.h). @param out  end it with
 *  dcli_leaves_free() in any case. @return as dcli_body_of_call(). */
dcl_status dcli_body_leaves(const char *text, int count, const dcl_arg args[], dcli_leaves *out);
/** Find the parameter that gives the indices of a reduction to values, into elements or by keys. @return as
 *  dcli_body_of_call(). */
dcl_status dcli_body_home(const char *text, int count, const dcl_arg args[], int *home_out);
/** Whether no input of such a reduction is read at all of its indices; if so, find their ranges.
 *  @param args    outputs are results, whose arrays may be given: then keys that are indices lie in them.
 *  @param box     of the call; NULL: there is none.
 *  @param always  find the ranges, whether there is such an input or not.
 *  @param space_out    as of dcli_space_find(). @param indices_out  the names of its axes: bit 0 is i.
 *  @return as dcli_body_of_call(), or as dcli_space_find(). */
dcl_status dcli_body_space(const char *text, int count, const dcl_arg args[], const dcl_box *box, bool always,
                           bool *own_space_out, dcl_grid *space_out, unsigned *indices_out);
/** Have errors quote `text`, from which the library has made the body's own text line by line. If there is no memory,
 *  they quote the latter. The lock is held. */
void dcli_body_show(dcli_known_body *known, const char *text);
/** The first line that errors quote of bodies whose own first line is `line`; not ended by '\0' but by its length. */
const char *dcli_body_shown(const dcl_cluster *cluster, const char *line, int *length_out);
/** Release a body that a call holds. @param known  NULL is accepted. */
void dcli_body_let_go(dcli_known_body *known);
/** At its first use, have one node of each kind of device compile a body, and wait for the results; before that, wait
 *  for room if bodies in use exceed the limit. The lock is released while waiting. @return DCL_OK; DCL_ERR_TIMEOUT:
 *  there was no room for longer than DCL_WAIT_MS; the error of a compilation: after DCL_ERR_BODY every later call fails
 *  alike, after any other error the next call tries again; or what broke the cluster. */
dcl_status dcli_body_build(dcl_cluster *cluster, dcli_known_body *known);
/** Whether the node compiles new bodies: it is the first of its kind of device that is not lost. */
bool dcli_body_builder(const dcl_cluster *cluster, int node);
/** Send a body to one more node. The lock is held. */
dcl_status dcli_body_tell(dcl_cluster *cluster, const dcli_known_body *known, int node);
void dcli_bodies_free(dcl_cluster *cluster);

#endif
