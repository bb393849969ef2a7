/* base/handle.h - handles of clusters, maps and arrays: what the program holds in place of an object's address.
 *
 * A handle is a number: a stub's place in a table, and the stub's generation. Stubs are never given back to the system, and
 * one that is used again has a higher generation: a handle that has ended, or never was one, is recognised, whenever it is
 * used. While calls use an object they pin it; what ends meanwhile is freed by the call that leaves last.
 * The table is wiped in a process that this one forks: there no handle is valid. */
#ifndef DCLI_BASE_HANDLE_H
#define DCLI_BASE_HANDLE_H

#include <dcl/base.h>
#include <stdatomic.h>

typedef enum dcli_kind { DCLI_CLUSTERS = 1, DCLI_MAPS, DCLI_ARRAYS } dcli_kind;

/** Why a handle has ended. */
typedef enum dcli_handle_end { DCLI_RELEASED, DCLI_CLOSED } dcli_handle_end;

/** DCL_OK, or DCL_ERR_INVALID (recorded): this process was forked from one that uses DCL. From now on processes that this
 *  one forks are refused. First in all that uses devices, threads or handles. */
dcl_status dcli_handle_process(void);
/** The same, asked only: true in such a process. Signal-safe. */
bool dcli_handle_is_forked(void);

/** @param cluster  handle of the cluster that it belongs to; NULL: it is one.
 *  @return the handle; NULL (DCL_ERR_NOMEM recorded). */
void *dcli_handle_make(dcli_kind kind, void *object, const void *cluster);
/** The cluster's handle; anything where this one has ended. */
void *dcli_handle_cluster(const void *handle);

/** Pin. @return the object; NULL: the handle has ended, or is none. */
void *dcli_handle_enter(const void *handle, dcli_kind kind);
/** Record why a handle, or its cluster, is not valid. @param name  of the parameter. @return DCL_ERR_INVALID. */
dcl_status dcli_handle_refuse(const void *handle, dcli_kind kind, const char *name);
/** Unpin. @return true: the handle has ended, and nobody else has it pinned: the caller frees the object, then calls
 *  dcli_handle_free(). */
bool dcli_handle_leave(const void *handle);
/** The handle ends; it is pinned by the caller. @return false: it has ended before. */
bool dcli_handle_finish(const void *handle);
/** Wait until nobody but the caller has it pinned; it has ended. */
void dcli_handle_await(const void *handle);
/** Its stub may be used again. @param end  why, for those who use the handle later. */
void dcli_handle_free(const void *handle, dcli_handle_end end);
/** The next array of a cluster that has a valid handle, from number *at_in_out on, which is 0 at first; NULL: none is left. */
void *dcli_handle_next_array(const void *cluster, uint32_t *at_in_out);
/** Its object is gone already. Pinned. */
void dcli_handle_forget(const void *handle);

/* ---- looking at an object without pinning it, which costs a nanosecond ------------------------------------------- */

/** Where a thread writes that it looks. */
typedef struct dcli_seat {
    _Alignas(64) _Atomic bool taken; /* by a thread */
    _Atomic bool looking;
    /* What was looked at last: it is found again at once while no handle has ended since. */
    const void *handle;
    dcli_kind kind;
    uint64_t ends;
    void *object;
} dcli_seat;
extern _Thread_local dcli_seat *dcli_own_seat __attribute__((tls_model("initial-exec")));
extern _Atomic uint64_t dcli_ends; /* handles that have ended */
/** dcli_handle_look() where the seat does not have the answer. */
void *dcli_handle_look_up(const void *handle, dcli_kind kind);

/** Look at an object, for a short time: until dcli_handle_look_away(), which must follow also when NULL was returned. Between
 *  the two no handle may be entered or ended.
 *  @return the object; NULL: use dcli_handle_enter(), which records what is wrong, if anything is. */
static inline void *dcli_handle_look(const void *handle, dcli_kind kind)
{
    dcli_seat *seat = dcli_own_seat;
    if (seat == NULL || seat->handle != handle || seat->kind != kind)
        return dcli_handle_look_up(handle, kind);
    atomic_store_explicit(&seat->looking, true, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst); /* the other half is in dcli_handle_await_looks() */
    if (seat->ends != atomic_load_explicit(&dcli_ends, memory_order_acquire))
        return dcli_handle_look_up(handle, kind);
    return seat->object;
}

static inline void dcli_handle_look_away(void)
{
    if (dcli_own_seat != NULL)
        atomic_store_explicit(&dcli_own_seat->looking, false, memory_order_release);
}
/** Before an object whose handle has ended is freed: wait until nobody looks at it. @return false: that cannot be known any
 *  more; the object must stay. */
bool dcli_handle_await_looks(void);

/* ---- holds --------------------------------------------------------------------------------------------------------- */

/** Further holds of the program, of maps. Pinned. */
void dcli_handle_retain(const void *handle);
/** @return how many were left before this one ended. */
int dcli_handle_drop(const void *handle);

dcli_kind dcli_handle_kind(const void *handle);
/** The object behind a handle that is pinned, or in tests, which know who else uses it. */
void *dcli_handle_object(const void *handle);

#endif
