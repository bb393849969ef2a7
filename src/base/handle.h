/* base/handle.h - handles of clusters, maps and arrays: the program holds a handle instead of an object's address.
 *
 * A handle is a number: the index of a stub in a table, and the stub's generation. Stubs are never freed, and a stub
 * that is used again has a higher generation. So a handle that has ended, or never existed, is recognised whenever it
 * is used. Calls pin an object while they use it; if the handle ends meanwhile, the last call that unpins the object
 * frees it. In a forked process the table is zeroed, so no handle is valid there. */
#ifndef DCLI_BASE_HANDLE_H
#define DCLI_BASE_HANDLE_H

#include <dcl/base.h>
#include <stdatomic.h>

typedef enum dcli_kind { DCLI_CLUSTERS = 1, DCLI_MAPS, DCLI_ARRAYS } dcli_kind;

/** Why a handle is no longer valid. */
typedef enum dcli_handle_end { DCLI_RELEASED, DCLI_CLOSED } dcli_handle_end;

/** Refuse processes that were forked from one that uses DCL: DCL_ERR_INVALID (recorded). In any other process
 *  DCL_OK; processes forked from it later are then refused. Called first by everything that uses devices, threads or
 *  handles. */
dcl_status dcli_handle_process(void);
/** Whether this process was forked from one that uses DCL, so that dcli_handle_process() refuses it. Signal-safe;
 *  changes nothing. */
bool dcli_handle_is_forked(void);

/** Make a handle of an object.
 *  @param cluster  handle of the cluster that the object belongs to; NULL: the object is a cluster.
 *  @return the handle; NULL (DCL_ERR_NOMEM recorded). */
void *dcli_handle_make(dcli_kind kind, void *object, const void *cluster);
/** The handle of the object's cluster; undefined if `handle` has ended. */
void *dcli_handle_cluster(const void *handle);

/** Pin the object of a handle. @return the object; NULL: the handle has ended or never existed. */
void *dcli_handle_enter(const void *handle, dcli_kind kind);
/** Record why a handle, or its cluster, is not valid. @param name  of the parameter. @return DCL_ERR_INVALID. */
dcl_status dcli_handle_refuse(const void *handle, dcli_kind kind, const char *name);
/** Unpin. @return true: the handle has ended and this was the last pin: the caller frees the object, then calls
 *  dcli_handle_free(). */
bool dcli_handle_leave(const void *handle);
/** End a handle that the caller has pinned. @return false: it has already ended. */
bool dcli_handle_finish(const void *handle);
/** Wait until only the caller has the ended handle pinned. */
void dcli_handle_await(const void *handle);
/** Free the stub of a handle for reuse. @param end  the reason given to later users of the handle. */
void dcli_handle_free(const void *handle, dcli_handle_end end);
/** Iterate over the valid arrays of a cluster. @param at_in_out  position; starts at 0. @return the next array's
 *  handle; NULL: none is left. */
void *dcli_handle_next_array(const void *cluster, uint32_t *at_in_out);
/** Set the object of a pinned handle to NULL, because it was already freed. The handle stays pinned. */
void dcli_handle_forget(const void *handle);

/* ---- looking at an object without pinning it, which costs a nanosecond ------------------------------------------- */

/** A thread's seat: the mark that it is looking at an object, and its last look-up. */
typedef struct dcli_seat {
    _Alignas(64) _Atomic bool taken; /* a thread uses this seat */
    _Atomic bool looking;
    /* Cache of the last look-up: valid as long as no handle has ended since. */
    const void *handle;
    dcli_kind kind;
    uint64_t ends;
    void *object;
} dcli_seat;
extern _Thread_local dcli_seat *dcli_own_seat __attribute__((tls_model("initial-exec")));
extern _Atomic uint64_t dcli_ends; /* counts the handles that have ended */
/** The slow path of dcli_handle_look(): the seat's cache does not have the answer. */
void *dcli_handle_look_up(const void *handle, dcli_kind kind);

/** Look at an object for a short time without pinning it. dcli_handle_look_away() must follow, even if NULL was
 *  returned. Between the two calls the thread may not pin or end a handle. @return the object; NULL: use
 *  dcli_handle_enter(), which pins it or records what is wrong. */
static inline void *dcli_handle_look(const void *handle, dcli_kind kind)
{
    dcli_seat *seat = dcli_own_seat;
    if (seat == NULL || seat->handle != handle || seat->kind != kind)
        return dcli_handle_look_up(handle, kind);
    atomic_store_explicit(&seat->looking, true, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst); /* pairs with the barrier in dcli_handle_await_looks() */
    if (seat->ends != atomic_load_explicit(&dcli_ends, memory_order_acquire))
        return dcli_handle_look_up(handle, kind);
    return seat->object;
}

static inline void dcli_handle_look_away(void)
{
    if (dcli_own_seat != NULL)
        atomic_store_explicit(&dcli_own_seat->looking, false, memory_order_release);
}
/** Wait until no thread looks at an object whose handle has ended, before it is freed. @return false: this can no
 *  longer be determined; the object must not be freed. */
bool dcli_handle_await_looks(void);

/* ---- holds --------------------------------------------------------------------------------------------------------- */

/** Count another reference that the program holds on a map. The caller has pinned the handle. */
void dcli_handle_retain(const void *handle);
/** Drop a reference that the program holds on a map. @return how many references there were before. */
int dcli_handle_drop(const void *handle);

dcli_kind dcli_handle_kind(const void *handle);
/** Get the object of a handle that is pinned, or whose users a test knows. */
void *dcli_handle_object(const void *handle);

#endif
