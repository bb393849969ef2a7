/* base/handle.c - the table of stubs behind handles (see handle.h). */
#include "base/handle.h"

#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"

enum {
    PLACE_BITS = 24, /* low bits of a handle: the index in the table; the other bits are the generation */
    PER_CHUNK = 1024,
    CHUNKS = (1 << PLACE_BITS) / PER_CHUNK
};

/* The state word of a stub: its generation, a bit that says that the handle has ended or the stub is free, and the
 * number of pins. */
#define ENDED ((uint64_t)1 << (PLACE_BITS - 1))
#define PINS (ENDED - 1)
#define GENERATION(word) ((word) >> PLACE_BITS)

struct stub {
    _Atomic uint64_t state;
    _Atomic(void *) object; /* accessed relaxed: the state word orders the accesses */
    const void *cluster;    /* handle of the cluster to which the object belongs */
    uint32_t next;          /* free stubs: the next free one */
    atomic_int holds;
    uint8_t kind, end;
};

/* The table: data shared by all threads of this process. */
static struct {
    pthread_mutex_t lock; /* guards all fields, but not the contents of the chunks */
    pthread_cond_t left;
    struct stub *_Atomic chunk[CHUNKS];
    uint32_t made;             /* number of stubs so far; index 0 is never used */
    uint32_t first, last;      /* list of free stubs; the one that has been free longest is used first */
    _Atomic(atomic_int *) own; /* points to 1 in the process that made the table; the kernel zeroes it in forked
                                  processes. NULL: DCL was not used yet */
} table = {.lock = PTHREAD_MUTEX_INITIALIZER, .left = PTHREAD_COND_INITIALIZER};

/* ---- processes ---------------------------------------------------------------------------------------------------- */

/* Invalidate all handles in a forked child, on systems where the kernel does not zero the memory (MADV_WIPEONFORK). */
static void forget_all(void)
{
    atomic_store(atomic_load(&table.own), 0);
    atomic_fetch_add(&dcli_ends, 1); /* ends the validity of what seats have cached */
    for (int c = 0; c < CHUNKS; c++)
        if (atomic_load(&table.chunk[c]) != NULL)
            memset((void *)atomic_load(&table.chunk[c]), 0, PER_CHUNK * sizeof(struct stub));
}

/* Memory that the kernel zeroes in processes forked from now on. */
static void *wiped_memory(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return NULL;
    madvise(memory, bytes, MADV_WIPEONFORK); /* works even if a system call forks directly; otherwise forget_all()
                                                does it */
    return memory;
}

static dcl_status mark_own(void)
{
    pthread_mutex_lock(&table.lock);
    atomic_int *own = atomic_load(&table.own);
    if (own == NULL && (own = wiped_memory(sizeof *own)) != NULL) {
        atomic_store(own, 1);
        atomic_store(&table.own, own);
        pthread_atfork(NULL, NULL, forget_all);
    }
    pthread_mutex_unlock(&table.lock);
    return own != NULL ? DCL_OK : DCLI_FAIL(DCL_ERR_NOMEM, "no memory for a page is left; close other programs");
}

bool dcli_handle_is_forked(void)
{
    atomic_int *own = atomic_load_explicit(&table.own, memory_order_acquire);
    return own != NULL && atomic_load_explicit(own, memory_order_relaxed) == 0;
}

static dcl_status refuse_forked(void)
{
    return DCLI_FAIL(DCL_ERR_INVALID,
                     "this process was forked from one that uses DCL, whose clusters, maps and arrays are "
                     "the parent's alone; let the parent make the call, fork before the first call of DCL, or "
                     "execute a program (execve) in the child");
}

dcl_status dcli_handle_process(void)
{
    if (dcli_handle_is_forked())
        return refuse_forked();
    return atomic_load_explicit(&table.own, memory_order_acquire) != NULL ? DCL_OK : mark_own();
}

/* ---- stubs -------------------------------------------------------------------------------------------------------- */

static uint32_t place_of(const void *handle) { return (uint32_t)((uintptr_t)handle & ((1U << PLACE_BITS) - 1)); }

static uint64_t generation_of(const void *handle) { return (uint64_t)(uintptr_t)handle >> PLACE_BITS; }

static struct stub *at(uint32_t place)
{
    struct stub *chunk = atomic_load_explicit(&table.chunk[place / PER_CHUNK], memory_order_acquire);
    return chunk != NULL ? &chunk[place % PER_CHUNK] : NULL;
}

static struct stub *stub_of(const void *handle) { return at(place_of(handle)); }

static void *handle_of(uint32_t place, uint64_t generation)
{
    return (void *)(uintptr_t)(generation << PLACE_BITS | place);
}

/* Index of a stub that was never used. The caller holds the lock. @return 0: there is no memory. */
static uint32_t new_place(void)
{
    uint32_t place = table.made + 1;
    if (place >= (uint32_t)CHUNKS * PER_CHUNK)
        return 0;
    if (at(place) == NULL) {
        struct stub *chunk = wiped_memory(PER_CHUNK * sizeof *chunk);
        if (chunk == NULL)
            return 0;
        atomic_store_explicit(&table.chunk[place / PER_CHUNK], chunk, memory_order_release);
    }
    table.made = place;
    atomic_store(&at(place)->state, (uint64_t)1 << PLACE_BITS | ENDED);
    return place;
}

static uint32_t take_place(void)
{
    uint32_t place = table.first;
    if (place == 0)
        return new_place();
    table.first = at(place)->next;
    if (table.first == 0)
        table.last = 0;
    return place;
}

void *dcli_handle_make(dcli_kind kind, void *object, const void *cluster)
{
    pthread_mutex_lock(&table.lock);
    uint32_t place = take_place();
    pthread_mutex_unlock(&table.lock);
    if (place == 0) {
        DCLI_FAIL(DCL_ERR_NOMEM, "no memory is left for a handle, or %d are in use; release some",
                  CHUNKS * PER_CHUNK - 1);
        return NULL;
    }
    struct stub *stub = at(place);
    uint64_t generation = GENERATION(atomic_load(&stub->state));
    void *handle = handle_of(place, generation);
    atomic_store_explicit(&stub->object, object, memory_order_relaxed);
    stub->cluster = cluster != NULL ? cluster : handle;
    stub->kind = (uint8_t)kind;
    atomic_store(&stub->holds, 1);
    atomic_store_explicit(&stub->state, generation << PLACE_BITS, memory_order_release);
    return handle;
}

void *dcli_handle_cluster(const void *handle)
{
    const struct stub *stub = stub_of(handle);
    return stub != NULL ? (void *)(uintptr_t)stub->cluster : NULL;
}

void *dcli_handle_enter(const void *handle, dcli_kind kind)
{
    struct stub *stub = stub_of(handle);
    if (stub == NULL || generation_of(handle) == 0)
        return NULL;
    uint64_t state = atomic_load_explicit(&stub->state, memory_order_relaxed);
    do {
        if (GENERATION(state) != generation_of(handle) || (state & ENDED) != 0)
            return NULL;
    } while (!atomic_compare_exchange_weak_explicit(&stub->state, &state, state + 1, memory_order_acquire,
                                                    memory_order_relaxed));
    if (stub->kind == (uint8_t)kind)
        return atomic_load_explicit(&stub->object, memory_order_relaxed);
    dcli_handle_leave(handle); /* a handle of another kind: undo the pin */
    return NULL;
}

bool dcli_handle_leave(const void *handle)
{
    uint64_t state = atomic_fetch_sub_explicit(&stub_of(handle)->state, 1, memory_order_acq_rel);
    if ((state & ENDED) == 0)
        return false;
    pthread_mutex_lock(&table.lock); /* signalled with the lock held: a thread may be waiting for the last pin */
    pthread_cond_broadcast(&table.left);
    pthread_mutex_unlock(&table.lock);
    return (state & PINS) == 1;
}

bool dcli_handle_finish(const void *handle)
{
    bool is_first = (atomic_fetch_or_explicit(&stub_of(handle)->state, ENDED, memory_order_acq_rel) & ENDED) == 0;
    atomic_fetch_add_explicit(&dcli_ends, 1, memory_order_release); /* makes threads with a cached look-up repeat it */
    return is_first;
}

void dcli_handle_await(const void *handle)
{
    struct stub *stub = stub_of(handle);
    pthread_mutex_lock(&table.lock);
    while ((atomic_load_explicit(&stub->state, memory_order_acquire) & PINS) > 1)
        pthread_cond_wait(&table.left, &table.lock);
    pthread_mutex_unlock(&table.lock);
}

static void free_place(uint32_t place, dcli_handle_end end)
{
    struct stub *stub = at(place);
    if (stub == NULL)
        return; /* the handle exists, so this cannot happen */
    uint64_t generation = GENERATION(atomic_load(&stub->state)) + 1;
    atomic_store_explicit(&stub->object, NULL, memory_order_relaxed);
    stub->end = (uint8_t)end;
    stub->next = 0;
    atomic_store_explicit(&stub->state, generation << PLACE_BITS | ENDED, memory_order_release);
    if (table.last != 0)
        at(table.last)->next = place;
    else
        table.first = place;
    table.last = place;
}

void dcli_handle_free(const void *handle, dcli_handle_end end)
{
    pthread_mutex_lock(&table.lock);
    free_place(place_of(handle), end);
    pthread_mutex_unlock(&table.lock);
}

void *dcli_handle_next_array(const void *cluster, uint32_t *at_in_out)
{
    pthread_mutex_lock(&table.lock);
    uint32_t made = table.made;
    pthread_mutex_unlock(&table.lock);
    for (uint32_t place = *at_in_out + 1; place <= made; place++) {
        struct stub *stub = at(place);
        uint64_t state = atomic_load_explicit(&stub->state, memory_order_acquire);
        if ((state & ENDED) != 0 || stub->kind != DCLI_ARRAYS || stub->cluster != cluster)
            continue;
        *at_in_out = place;
        return handle_of(place, GENERATION(state));
    }
    return NULL;
}

void dcli_handle_forget(const void *handle)
{
    atomic_store_explicit(&stub_of(handle)->object, NULL, memory_order_relaxed);
}

void dcli_handle_retain(const void *handle) { atomic_fetch_add(&stub_of(handle)->holds, 1); }

int dcli_handle_drop(const void *handle) { return atomic_fetch_sub(&stub_of(handle)->holds, 1); }

void *dcli_handle_object(const void *handle)
{
    return atomic_load_explicit(&stub_of(handle)->object, memory_order_relaxed);
}

dcli_kind dcli_handle_kind(const void *handle) { return (dcli_kind)stub_of(handle)->kind; }

/* ---- looks --------------------------------------------------------------------------------------------------------- */

/* How to look at an object without pinning it. Each thread has a seat. A thread that looks marks its seat with a plain
 * store. Before an object is freed, a barrier is executed in every thread (membarrier), and then the freeing thread
 * waits until each seat has been seen without a mark. A thread that marked its seat before the barrier is seen; a
 * thread that marks it later sees that the handle has ended. User-space RCU does the same (Desnoyers et al.,
 * "User-level implementations of read-copy update", 2012). Threads that find no free seat pin the object instead, and
 * so do all threads if the system has no such barrier. */
enum { SEATS = 256 };

static struct {
    pthread_once_t made;
    pthread_key_t key; /* its destructor returns the seat when a thread ends */
    dcli_seat *seat;   /* [SEATS], zeroed in forked processes; NULL: seats are not available */
} looks = {.made = PTHREAD_ONCE_INIT};
_Thread_local dcli_seat *dcli_own_seat;
_Atomic uint64_t dcli_ends;

static void leave_seat(void *seat)
{
    dcli_own_seat = NULL;
    atomic_store_explicit(&((dcli_seat *)seat)->taken, false, memory_order_release);
}

static void make_seats(void)
{
    if (syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) != 0)
        return;
    dcli_seat *seat = wiped_memory(SEATS * sizeof *seat);
    if (seat != NULL && pthread_key_create(&looks.key, leave_seat) == 0)
        looks.seat = seat;
    else if (seat != NULL)
        munmap(seat, SEATS * sizeof *seat);
}

/* Runs when the library is unloaded. Threads may still have seats: delete the key, so that their ends do not call
 * leave_seat(), which is gone by then. */
__attribute__((destructor)) static void forget_seats(void)
{
    if (looks.seat != NULL)
        pthread_key_delete(looks.key);
}

static dcli_seat *take_seat(void)
{
    pthread_once(&looks.made, make_seats);
    for (int s = 0; looks.seat != NULL && s < SEATS; s++) {
        dcli_seat *seat = &looks.seat[s];
        if (atomic_load_explicit(&seat->taken, memory_order_relaxed) ||
            atomic_exchange_explicit(&seat->taken, true, memory_order_acquire))
            continue;
        seat->kind = 0;
        if (pthread_setspecific(looks.key, seat) == 0)
            return dcli_own_seat = seat;
        atomic_store_explicit(&seat->taken, false, memory_order_release);
        return NULL;
    }
    return NULL;
}

static bool has_not_ended(const void *handle)
{
    const struct stub *stub = stub_of(handle);
    return stub != NULL && generation_of(handle) != 0 &&
           (atomic_load_explicit(&stub->state, memory_order_acquire) & ~PINS) == generation_of(handle) << PLACE_BITS;
}

void *dcli_handle_look_up(const void *handle, dcli_kind kind)
{
    dcli_seat *seat = dcli_own_seat != NULL ? dcli_own_seat : take_seat();
    if (seat == NULL)
        return NULL;
    atomic_store_explicit(&seat->looking, true, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst);
    seat->kind = 0; /* no kind: the cached answer is invalid until all fields are filled */
    uint64_t ends = atomic_load_explicit(&dcli_ends, memory_order_acquire);
    if (!has_not_ended(handle) || stub_of(handle)->kind != (uint8_t)kind || !has_not_ended(dcli_handle_cluster(handle)))
        return NULL;
    seat->handle = handle;
    seat->kind = kind;
    seat->ends = ends;
    seat->object = dcli_handle_object(handle);
    return seat->object;
}

bool dcli_handle_await_looks(void)
{
    pthread_once(&looks.made, make_seats);
    if (looks.seat == NULL)
        return true;
    if (syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) != 0)
        return false; /* a filter of system calls was installed meanwhile and blocks the barrier */
    for (int s = 0; s < SEATS; s++)
        while (atomic_load_explicit(&looks.seat[s].looking, memory_order_acquire))
            sched_yield();
    return true;
}

/* ---- refusals ----------------------------------------------------------------------------------------------------- */

static dcl_status refuse_cluster(const char *name, bool is_closing)
{
    return is_closing ? DCLI_FAIL(DCL_ERR_INVALID,
                                  "%s is being closed: another thread has called dcl_close(); expected a "
                                  "cluster that is open",
                                  name)
                      : DCLI_FAIL(DCL_ERR_INVALID, "%s has been closed (dcl_close()); expected one that is open", name);
}

dcl_status dcli_handle_refuse(const void *handle, dcli_kind kind, const char *name)
{
    static const char *const kinds[] = {"", "a cluster", "a map", "an array"};
    if (dcli_handle_is_forked())
        return refuse_forked();
    const struct stub *stub = stub_of(handle);
    uint64_t state = stub != NULL ? atomic_load(&stub->state) : 0;
    uint64_t now = GENERATION(state), its = generation_of(handle);
    bool is_alive = its == now && (state & ENDED) == 0;
    if (its == 0 || its > now || (is_alive && stub->kind != (uint8_t)kind))
        return DCLI_FAIL(DCL_ERR_INVALID,
                         "%s is not %s that DCL has made; expected one of which the program has a hold", name,
                         kinds[kind]);
    if (kind == DCLI_CLUSTERS)
        return refuse_cluster(name, its == now);
    if (is_alive || (its + 1 == now && stub->end == DCLI_CLOSED))
        return DCLI_FAIL(DCL_ERR_INVALID,
                         "the cluster of %s has been closed (dcl_close()); expected %s of one that is open", name,
                         kinds[kind]);
    return DCLI_FAIL(DCL_ERR_INVALID,
                     "%s has been released (dcl_release()); expected %s of which the program has a hold", name,
                     kinds[kind]);
}
