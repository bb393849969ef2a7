/* runtime/cluster.h - the insides of a cluster and of an array, shared by the files of the runtime. */
#ifndef DCLI_RUNTIME_CLUSTER_H
#define DCLI_RUNTIME_CLUSTER_H

#include <pthread.h>
#include <stdatomic.h>

#include <dcl/array.h>
#include <dcl/forall.h>

#include "base/error.h"
#include "base/log.h"
#include "fleet/crew.h"
#include "fleet/guard.h"
#include "resmap/layout.h"
#include "worker/worker.h"
#include "workqueue/operation.h"
#include "workqueue/plan.h"

/** What the program knows of a storage. Handles exchange these in dcl_swap(). */
typedef struct dcli_books {
    int64_t id;
    int64_t last_use;       /* last operation that touches it */
    int64_t overwritten_at; /* last operation that writes all of it anew */
    int64_t failed_at;      /* operation after which it may hold anything; failed while >= overwritten_at and > 0 */
    bool lost;              /* a part of it is lost: failed for good */
    bool was_kept;          /* there may be copies of it */
    dcl_status status;
    char *text;         /* sentence of that failure; NULL: see the cluster's causes */
    int64_t strayed_at; /* operation that wrote it and read or wrote outside; counts while >= overwritten_at and > 0 */
    char *stray;        /* the report on that */
} dcli_books;

/** An array, or a view of one: then `base` and `view` are all that it has of its own. */
struct dcl_array {
    dcl_cluster *cluster;
    dcl_map *map;
    void *lent_map; /* its handle, as dcl_map_of() gives it; NULL: nobody has asked */
    dcli_layout layout;
    dcli_books *books;
    bool keeps;                       /* copies of what it is read for are kept */
    char name[DCLI_MOST_NAME + 1];    /* by which a body last called it; "": none yet */
    int view_count;                   /* views of it */
    bool released;                    /* the program has given it up; it lives on behind its views */
    struct dcl_array *base;           /* what this is a view of: no view itself; NULL: an array */
    dcli_transform view;              /* of the base, or of its elements in another shape: */
    bool reshaped;                    /* then `layout` is theirs, as the base's was when it was last used */
    struct dcl_array *before, *after; /* all arrays of the cluster, or all views */
};

/** The array whose elements a handle stands for. */
static inline dcl_array *dcli_array_base(const dcl_array *array)
{
    return array->base != NULL ? array->base : (dcl_array *)array;
}

/** The grid that a handle shows. */
static inline const dcl_grid *dcli_array_grid(const dcl_array *array)
{
    return array->base != NULL ? &array->view.grid : &array->layout.grid;
}

static inline dcli_books *dcli_array_books(const dcl_array *array) { return dcli_array_base(array)->books; }

/** A body the program has used with parameters of one shape. */
typedef struct dcli_known_body {
    uint64_t hash;
    int64_t number;  /* the workers know it by this one; 0: they do not have it */
    dcli_body *body; /* its texts and parameters are the key */
    size_t bytes;    /* that it takes here */
    bool prints;     /* it calls printf */
    int answers_due; /* compilations not yet answered */
    dcl_status status;
    char *text;             /* sentence, when the compiler refused it */
    bool blamed;            /* a node was lost by it: never forgotten, and there are not more of these than nodes */
    int holds;              /* calls that are using it */
    int64_t used;           /* cluster->bodies.clock at its last call */
    int64_t last_operation; /* that runs it */
    struct dcli_known_body *next;
} dcli_known_body;

enum { DCLI_BODY_BUCKETS = 256 };

/** The bodies that a program uses. */
typedef struct dcli_bodies {
    dcli_known_body *known[DCLI_BODY_BUCKETS];
    int64_t numbers;    /* given so far */
    int64_t clock;      /* calls so far */
    size_t bytes;       /* of all */
    size_t most_bytes;  /* exceeded only by bodies in use */
    int64_t *forgotten; /* [forgotten_count] numbers of bodies that the workers have and are not told to forget yet */
    int64_t forgotten_count, forgotten_capacity;
} dcli_bodies;

/** How an operation somebody waits for has failed. */
typedef struct dcli_outcome {
    int64_t operation;
    dcl_status status;
    char *text;
    dcli_lent *lent; /* READ, WRITE: memory that the waiting call takes back when it asks for the outcome */
    bool withdrawn;  /* the call has ended because the cluster is being closed */
    struct dcli_outcome *next;
} dcli_outcome;

/** An operation that changes the books of copies. */
typedef struct dcli_noted {
    dcli_operation *operation;
    bool drops; /* it writes, or drops, what there may be copies of */
} dcli_noted;

/** Kept copies, for those who ask before an operation runs what it would move. */
typedef struct dcli_kept_notes {
    int64_t
        generation; /* of copies made from now on: grows when any operation failed, for it may have been to make some */
    dcli_kept books;   /* up to the operations noted */
    dcli_noted *noted; /* later ones that change something */
    int count;
} dcli_kept_notes;

/** Who reads and writes the program's files. */
typedef enum dcli_file_way {
    DCLI_FILES_AUTO, /* the nodes, where all of them see the file's folder; else the host */
    DCLI_FILES_DIRECT,
    DCLI_FILES_STREAM
} dcli_file_way;

typedef struct dcli_file_use {
    dcli_file_way way;
    /** Ask all nodes whether they see the file at `path`, the one with this id and `token` in it; NULL: they see what this
     *  process sees. Called without the lock, maybe by several threads at once. DCL_ERR_TIMEOUT: some
     *  have not answered, which says nothing about the next time. */
    dcl_status (*sees)(dcli_worker *host, const char *path, const char token[33], const dcli_file_id *id,
                       bool *all_see_out);
    struct dcli_known_folder *folders; /* that were asked about, newest first */
    bool streaming;                    /* by a thread whose call has not ended */
    pthread_t streamer;
} dcli_file_use;

struct dcl_cluster {
    dcli_map_host for_maps; /* first: dcli_map_host_of() */
    dcl_config config;
    char *fault; /* DCL_FAULT; NULL: none */
    dcli_log log;
    bool plan_only;
    int host; /* its peer number: numbers below are for nodes, more of them than nodes where some may join */
    dcli_node_ways *ways; /* [host] */
    bool spins;           /* there are processors to spare for waiting threads */
    dcli_net *net;
    dcli_board *board;
    dcli_buffers *buffers;
    dcli_commons *commons; /* of nodes that are threads, and of the host; NULL: nodes are processes, or only planned */
    dcli_worker **worker;  /* [host + 1]: nodes that are threads of this program, and the host's */
    dcli_crew *crew;       /* nodes that are processes; NULL: threads */
    dcli_guard *guard;     /* of nodes that are threads; NULL: processes, or only planned */
    dcli_host_hooks hooks;

    pthread_mutex_t lock; /* what follows */
    pthread_cond_t changed;
    _Atomic int node_count; /* nodes so far, lost ones too; maps are made without the lock */
    atomic_bool *lost;      /* [host] */
    bool joining;           /* newcomers are on their way: where no node is left, one may come */
    bool has_tree;          /* the nodes' marks come added up, without their counters */
    dcli_file_use files;
    int64_t operations, storages;  /* numbers given so far */
    int64_t *done, *ready;         /* [host + 1]; of lost and absent nodes: infinite */
    dcl_counters *counters;        /* [host + 1] */
    int64_t complete;              /* all operations up to this one */
    int64_t printing, printed;     /* the last one that may print; up to which all that was printed has been shown */
    int64_t awaited, awaited_host; /* first operation a sleeping thread waits for: on all peers, at the host */
    dcl_array *arrays, *views;
    dcli_bodies bodies;
    dcli_kept_notes kept;
    struct dcli_measured *measured; /* what maps by measured shares have timed */
    dcli_outcome *outcomes;         /* of operations that are being waited for */
    dcli_outcome *causes;           /* the last operations that failed by themselves, newest first */
    dcl_status error;               /* the first */
    char error_text[DCLI_ERROR_BYTES];
    dcl_status fresh; /* the first since the last call ended: what DCL_SYNC gives */
    char fresh_text[DCLI_ERROR_BYTES];
    dcl_status broken; /* nothing will complete any more */
    bool interrupted;  /* it is only being closed: then that is what is broken */
    char broken_text[DCLI_ERROR_BYTES];
    struct dcl_cluster *abandoned_before; /* closed, with a thread that hangs */
};

/* ---- making (make.c, open.c, processes.c) ---- */

/** @param host  most numbers there will be for nodes. @return NULL (recorded). */
dcl_cluster *dcli_cluster_make(const dcl_config *config, int node_count, int host);
/** @param capacity  numbers there are for nodes: the host's number. */
void dcli_cluster_resize(dcl_cluster *cluster, int node_count, int capacity);
/** Its threads have ended. */
void dcli_cluster_free(dcl_cluster *cluster);
/** A node reads others' parts in place when every part has an address and its kernels can use it. */
dcl_status dcli_cluster_choose_movement(dcl_cluster *cluster);
/** A cluster whose nodes are the processes that config->workers names. @return NULL (recorded). */
dcl_cluster *dcli_open_processes(const dcl_config *config);

/** dcl_close(): between these, calls of other threads end with an error. They have ended before the second. */
void dcli_cluster_interrupt(dcl_cluster *cluster);
void dcli_cluster_resume(dcl_cluster *cluster);

/* ---- nodes (nodes.c) ---- */

/** Facts of a node's device. */
const dcl_device_info *dcli_node_device(const dcl_cluster *cluster, int node);
const char *dcli_node_kind(const dcl_cluster *cluster, int node);
/** Hook: a node is lost. */
void dcli_cluster_on_lost(void *user, int node, const char *sentence);

/* ---- waits and errors (wait.c); the lock is held unless said otherwise ---- */

void dcli_cluster_hooks(dcl_cluster *cluster);
/** The nodes' watermarks have changed: see what is complete. */
void dcli_cluster_note_marks(dcl_cluster *cluster);
/** Keep the first error of the cluster. @return status */
dcl_status dcli_cluster_keep(dcl_cluster *cluster, dcl_status status, const char *text);
/** Keep this thread's error as the cluster's (a failing call). @return status */
dcl_status dcli_cluster_failed_call(dcl_cluster *cluster, dcl_status status);
/** This thread's error is that of a call on this cluster, which has ended. Takes the lock. */
void dcli_cluster_refused(dcl_cluster *cluster);
/** What maps ask of a cluster. */
extern const dcli_map_host dcli_cluster_for_maps;
/** dcli_map_host.live of a cluster. */
int dcli_cluster_live(const dcl_cluster *cluster, int capacity, dcli_node_range ranges[]);
/** Wait until every peer (`host_only`: the host's own side) has done with operation n.
 *  @param seconds  negative: as long as it takes. @return DCL_OK, DCL_ERR_TIMEOUT, or what broke the cluster. */
dcl_status dcli_cluster_wait(dcl_cluster *cluster, int64_t operation, bool host_only, double seconds);
/** The same for all peers and as long as it takes; what kernels have printed is not shown before it returns: for calls that
 *  use no results. */
dcl_status dcli_cluster_wait_silently(dcl_cluster *cluster, int64_t operation);
/** Sleep until something changes, for seconds at most; what it takes that long for is logged. */
void dcli_cluster_sleep(dcl_cluster *cluster, int64_t operation);
/** The outcome of an operation that was waited for: DCL_OK, or its error recorded for this thread. Nobody touches the memory
 *  of a READ or WRITE after this, complete or not. */
dcl_status dcli_cluster_outcome(dcl_cluster *cluster, int64_t operation);
void dcli_outcomes_free(dcli_outcome **first);
/** dcli_cluster_wait() as long as it takes, then the outcome. */
dcl_status dcli_cluster_end_of(dcl_cluster *cluster, int64_t operation, bool host_only);

/* ---- operations (operations.c); the lock is held ---- */

/** Wait until an operation may be issued: none that is alone is under way, and the window is not full. The lock is not given
 *  up between this and the issuing of one. @return DCL_OK, or what broke the cluster. */
dcl_status dcli_cluster_await_room(dcl_cluster *cluster);
/** Number a descriptor and queue it; what it touches and overwrites is noted in `books`. Waits while the window of open
 *  operations is full: meanwhile other threads may exchange storages, so books are taken together with their ids.
 *  @param operation  the same, planned form: number is filled in, operands and kind are there.
 *  @param books      [operation->operand_count], NULL for scalars.
 *  @param waited     keep its outcome for dcli_cluster_outcome().
 *  @param memory     READ, WRITE, which are waited for: address of the element at the box's first index; lent until
 *                    dcli_cluster_outcome().
 *  @param strides    READ, WRITE: as dcli_host_operation(). */
dcl_status dcli_cluster_issue(dcl_cluster *cluster, dcli_msg_operation *descriptor, dcli_operation *operation,
                              dcli_books *const books[], bool waited, void *memory, const int64_t strides[]);
/** Issue an operation on one whole array, or on a box of it (READ, WRITE, FILL). Of a view: FILL, READ, WRITE of the
 *  elements behind it; what is read of a broadcast axis is its first index: dcli_view_repeat(). */
dcl_status dcli_cluster_issue_one(dcl_array *array, dcli_msg_operation *descriptor, const dcl_box *box, bool waited,
                                  void *memory, const int64_t strides[]);
/** The error of a failed array, recorded for this thread as refusing its use; DCL_OK when it is not failed. */
dcl_status dcli_array_usable(const dcl_array *array, const char *use);
bool dcli_books_failed(const dcli_books *books);
/** @param text  NULL: the operation failed because of what it was computed from. */
void dcli_books_fail(dcli_books *books, int64_t operation, dcl_status status, const char *text);
/** An operation that writes the array has accessed elements outside. @param text  the report on it; NULL: unknown. */
void dcli_books_stray(dcli_books *books, int64_t operation, const char *text);
/** Whether an operation that wrote the contents has accessed elements outside. Records nothing. */
bool dcli_books_has_strayed(const dcli_books *books);
/** DCL_OK; DCL_ERR_RANGE, recorded for this thread, where what wrote the contents has accessed elements outside.
 *  @param done  what the call has done nevertheless: "the elements were read". */
dcl_status dcli_books_strayed(const dcli_books *books, const char *done);
/** The call failed after it had changed a part of the array: the contents are undefined, though no node has failed. */
void dcli_array_spoil(dcl_array *array, dcl_status status);
/** DCL_SYNC: wait for what was just called. */
dcl_status dcli_cluster_end_call(dcl_cluster *cluster, dcl_status status);
/** Make an array as dcl_agile() does. Waits while the window of open operations is full. */
dcl_status dcli_array_make(dcl_cluster *cluster, const dcl_grid *grid, dcl_map *map, bool unset, dcl_array **array_out);
/** Nobody has the map from dcl_map_of() any more (front_array.c). */
void dcli_array_end_loan(dcl_array *array);
/** Free the handle. */
void dcli_array_free(dcl_array *array);
/** Check that an array can be used in a call. @return DCL_OK, or DCL_ERR_INVALID / DCL_ERR_UNSUPPORTED (plans only). */
dcl_status dcli_array_check(const dcl_array *array);
/** DCL_OK, or the error of an array that can never be used again, recorded for this thread. */
dcl_status dcli_array_whole(const dcl_array *array, const char *use);
/** The descriptor of a storage: what its CREATE says. @param map_out  its map's text, yours: dcli_free(). */
dcl_status dcli_describe_storage(const dcl_array *array, char **map_out, dcli_msg_operation *descriptor_out);

/* ---- views (view.c) ---- */

/** DCL_OK, or the error of a view that cannot be written, recorded for this thread. */
dcl_status dcli_view_writable(const dcl_array *array);
/** Take an array, or a view, into the cluster's list. */
void dcli_array_link(dcl_array *array);
/** The layout that a handle's view is of, its base's or one of another shape, as the base is laid out now.
 *  @return DCL_OK, or DCL_ERR_UNSUPPORTED: by its map of now the base has no such shape any more. */
dcl_status dcli_array_layout(dcl_array *array, const dcli_layout **layout_out);
/** A layout equal to that one, and the caller's own: for looking at it without the lock, while the array may be remapped.
 *  @param layout_out  dcli_layout_release() it, on DCL_OK. */
dcl_status dcli_array_own_layout(const dcl_array *array, dcli_layout *layout_out);
/** A view as it goes into descriptors. @param shape  the grid that it is of, where that is not its base's; or NULL. */
dcli_msg_view dcli_view_describe(int operand, const dcli_transform *view, const dcl_grid *shape);
/** Of a transfer of a view's box to memory: the same of its base. */
void *dcli_view_place(const dcl_array *array, const dcl_box *box, void *memory, const int64_t strides[],
                      dcl_box *base_out, int64_t strides_out[]);
/** Once elements of a box have been read to memory: those of broadcast axes everywhere. Nothing to do for an array. */
void dcli_view_repeat(const dcl_array *array, const dcl_box *box, void *memory, const int64_t strides[]);
/** The program gives a view up; with the last, an array that it has given up before. */
dcl_status dcli_view_release(dcl_array *array);
/** Give up the storage of an array, and the handle, which is gone also when that fails. */
dcl_status dcli_array_end(dcl_array *array);

/* ---- loop bodies (forall.c, counts.c); the lock is held, and given up while waiting ---- */

/** Start a body of the library's own, as dcl_forall() does. Arrays keep the names the program gave them.
 *  @param args  right ones: names, accesses, arrays of this cluster. */
dcl_status dcli_forall_start(dcl_cluster *cluster, const char *body, int count, const dcl_arg args[]);
/** Whether `node` is one that counters are asked of. @param out  checked for NULL. */
dcl_status dcli_check_counted(const dcl_cluster *cluster, int node, const void *out);
/** Free what was timed (weighted.c). */
void dcli_measured_free(struct dcli_measured *measured);

/* ---- kept copies (kept.c); the lock is held ---- */

/** An operation is about to be issued. @return DCL_OK or DCL_ERR_NOMEM. */
dcl_status dcli_cluster_kept_note(dcl_cluster *cluster, const dcli_operation *operation, dcli_books *const books[]);
/** Bring the books up to date: before they are asked, and before a layout or view ends that was noted. */
dcl_status dcli_cluster_kept_settle(dcl_cluster *cluster);
/** The same before a body ends. */
dcl_status dcli_cluster_kept_end_body(dcl_cluster *cluster, const dcli_body *body);
/** Some operation has failed: nobody relies on copies made so far. */
void dcli_cluster_kept_fail(dcl_cluster *cluster);
void dcli_cluster_kept_free(dcl_cluster *cluster);

/* ---- arrays of which some elements are stored nowhere (partial.c) ---- */

/** Before elements of a box are read to memory: put into it what those that are stored nowhere read as. */
void dcli_partial_rest(const dcl_array *array, const dcl_box *box, void *memory, const int64_t strides[]);
/** DCL_OK; DCL_ERR_RANGE: an element of the box is stored nowhere, recorded for this thread; DCL_ERR_NOMEM. */
dcl_status dcli_partial_writable(const dcl_array *array, const dcl_box *box);

/* ---- files (file_way.c, stream_file.c); the lock is held, and given up while files are used ---- */

/** @param files  "auto", "direct" or "stream". */
void dcli_cluster_choose_files(dcl_cluster *cluster, const char *files);
/** Whether the nodes are to use the file themselves. What they answer is remembered for its folder.
 *  @param path       absolute.
 *  @param named_out  whether they know the file systems of that folder by the program's numbers: so that they can be told
 *                    which file it is, besides its name.
 *  @return DCL_OK, or why they could not be asked. */
dcl_status dcli_cluster_sees_files(dcl_cluster *cluster, const char *path, bool *direct_out, bool *named_out);
/** Forget the answers: there are other nodes now, or the cluster ends. */
void dcli_cluster_forget_files(dcl_cluster *cluster);
/** Pass a whole open file on to the nodes, or their elements to one that dcli_npy_begin() has begun. Complete when it
 *  returns. */
dcl_status dcli_stream_load(dcl_array *array, int fd, const char *path, const dcl_npy_info *info);
dcl_status dcli_stream_save(dcl_array *array, int fd, const char *path, const dcl_npy_info *info);
/** Between these a call is alone, though the lock is given up. */
void dcli_cluster_begin_turn(dcl_cluster *cluster);
void dcli_cluster_end_turn(dcl_cluster *cluster);
/** Wait while another thread is in the middle of such a call: for calls that use arrays or exchange them. */
void dcli_cluster_turn(dcl_cluster *cluster);

/* ---- bodies (bodies.c) ---- */

/** Whether an argument is a parameter of the body: no prelude, no sizes. */
static inline bool dcli_arg_is_param(const dcl_arg *arg)
{
    return arg->access != DCL_ACCESS_PRELUDE && arg->access != DCL_ACCESS_GROUP && arg->access != DCL_ACCESS_ITEMS;
}

/** Forget bodies that were used longest ago where all take too much memory. @param copies  of each in this process: the
 *  cluster's, the host's, those of nodes that are threads. */
void dcli_bodies_limit(dcl_cluster *cluster, int copies);
/** Find or parse the body of a call, which holds it until dcli_body_let_go(). Others may be forgotten.
 *  @param tiles  it is a tile kernel. @return DCL_OK, DCL_ERR_BODY, DCL_ERR_INVALID, DCL_ERR_NOMEM. */
dcl_status dcli_body_of_call(dcl_cluster *cluster, const char *text, bool tiles, int count, const dcl_arg args[],
                             dcli_known_body **known_out);
/** @param known  NULL is accepted. */
void dcli_body_let_go(dcli_known_body *known);
/** Have it compiled once per kind of device, the first time. The lock is given up while waiting. */
dcl_status dcli_body_build(dcl_cluster *cluster, dcli_known_body *known);
/** Whether the node is the one that compiles bodies for its kind of device. */
bool dcli_body_builder(const dcl_cluster *cluster, int node);
/** Tell one more node of a body. The lock is held. */
dcl_status dcli_body_tell(dcl_cluster *cluster, const dcli_known_body *known, int node);
void dcli_bodies_free(dcl_cluster *cluster);

#endif
