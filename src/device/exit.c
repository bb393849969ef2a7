/* device/exit.c - exit() of the program waits for compilers in other threads.
 *
 * exit() destroys what LLVM keeps in static variables. A compiler that still runs in a thread then crashes the program. A handler
 * of atexit() may come too late: handlers run in reverse order, and LLVM registers its own when it first uses a static
 * variable, so perhaps within the very compilation that still runs. But exit() first calls the destructors of
 * thread-local objects of its thread (C++17 basic.start.term; glibc, stdlib/exit.c). So the main thread has one. */
#include "device/exit.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/handle.h"
#include "device/device.h"

enum { MAX_WAIT_MS = 10000 }; /* a compiler may hang */

static atomic_int compiling;
static _Thread_local bool
    compiles; /* this thread, which would wait for itself: LLVM calls exit() after a fatal error */
static atomic_bool exiting;

/* The C++ ABI's function behind thread_local objects; not in every C library. */
extern int __cxa_thread_atexit_impl(void (*destructor)(void *), void *object, void *library) __attribute__((weak));
extern void *__dso_handle __attribute__((visibility("hidden")));

/* A child made by fork() has none of the threads, so it waits for nobody. exit() in the main thread calls this twice: the limit
 * holds for both together. */
static void await_compilers(void)
{
    static atomic_llong began_ms;
    if (dcli_handle_is_forked() || compiles)
        return;
    if (!atomic_exchange(&exiting, true))
        atomic_store(&began_ms, dcli_monotonic_ms());
    const int64_t until = atomic_load(&began_ms) + MAX_WAIT_MS;
    while (atomic_load(&compiling) > 0 && dcli_monotonic_ms() < until)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

static void await_compilers_first(void *object)
{
    (void)object;
    await_compilers();
}

void dcli_compilers_end_before_exit(void)
{
    static atomic_bool by_handler, by_main_thread;
    if (!atomic_exchange(&by_handler, true))
        atexit(await_compilers); /* for exit() in another thread */
    if (syscall(SYS_gettid) == getpid() && __cxa_thread_atexit_impl != NULL && !atomic_exchange(&by_main_thread, true))
        __cxa_thread_atexit_impl(await_compilers_first, NULL, &__dso_handle);
}

void dcli_compiler_begin(void)
{
    atomic_fetch_add(&compiling, 1);
    compiles = true;
}

bool dcli_compiler_begin_ahead(void)
{
    atomic_fetch_add(&compiling, 1);
    if (!atomic_load(&exiting))
        return true;
    dcli_compiler_end_ahead();
    return false;
}

void dcli_compiler_end(void)
{
    compiles = false;
    atomic_fetch_sub(&compiling, 1);
}

void dcli_compiler_end_ahead(void) { atomic_fetch_sub(&compiling, 1); }
