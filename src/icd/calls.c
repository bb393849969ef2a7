/* icd/calls.c - what all entry points share: the lock, answers to queries, and calls of the program's functions. */
#include "icd/inside.h"

struct icd_state icd = {.lock = PTHREAD_MUTEX_INITIALIZER,
                        .changed = PTHREAD_COND_INITIALIZER,
                        .lent = PTHREAD_MUTEX_INITIALIZER,
                        .returned = PTHREAD_COND_INITIALIZER,
                        .called = PTHREAD_COND_INITIALIZER,
                        .calls_last = &icd.calls};

/* ---- the lock ---- */

static void before_fork(void) { pthread_mutex_lock(&icd.lock); }

static void after_fork(void) { pthread_mutex_unlock(&icd.lock); }

static void in_child(void)
{
    static const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;
    icd.lock = fresh; /* the threads that serve the connections are the parent's: nothing works here */
    icd.forked = true;
}

static void prepare(void) { pthread_atfork(before_fork, after_fork, in_child); }

bool icd_enter(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, prepare);
    if (icd.forked)
        return false;
    pthread_mutex_lock(&icd.lock);
    return true;
}

void icd_leave(void)
{
    if (icd.has_posted)
        icd_post(false);
    pthread_mutex_unlock(&icd.lock);
}

int64_t icd_number(void) { return ++icd.last_number; }

int64_t icd_numbers(int count)
{
    icd.last_number += count;
    return icd.last_number - count + 1;
}

/* ---- answers ---- */

cl_int icd_answer(const void *value, size_t bytes, size_t size, void *value_out, size_t *size_out)
{
    if (value_out != NULL && size < bytes)
        return CL_INVALID_VALUE;
    if (value_out != NULL && bytes > 0)
        memcpy(value_out, value, bytes);
    if (size_out != NULL)
        *size_out = bytes;
    return CL_SUCCESS;
}

cl_int icd_answer_text(const char *text, size_t size, void *value_out, size_t *size_out)
{
    return icd_answer(text, strlen(text) + 1, size, value_out, size_out);
}

/* ---- calls of the program's functions ---- */

/* The thread that calls functions of the program. Such a function may run for long, so the threads that serve
 * connections do not call it. */
static void *make_calls(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&icd.lock);
    for (;;) {
        while (icd.calls == NULL)
            pthread_cond_wait(&icd.called, &icd.lock);
        icd_call *call = icd.calls;
        if ((icd.calls = call->next) == NULL)
            icd.calls_last = &icd.calls;
        pthread_mutex_unlock(&icd.lock);
        call->call(call);
        pthread_mutex_lock(&icd.lock);
        icd_drop(call->drop);
        dcli_free(call);
    }
    return NULL;
}

bool icd_can_call(void)
{
    pthread_t thread;
    if (icd.has_caller)
        return true;
    if (pthread_create(&thread, NULL, make_calls, NULL) != 0)
        return false;
    pthread_detach(thread);
    icd.has_caller = true;
    return true;
}

void icd_call_later(icd_call *call)
{
    call->next = NULL;
    *icd.calls_last = call;
    icd.calls_last = &call->next;
    pthread_cond_signal(&icd.called);
}
