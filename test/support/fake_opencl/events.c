/* support/fake_opencl/events.c - see events.h. Events that must fail are retained until another plan is set, so that no
 * other event can get their address. */
#include "support/fake_opencl/events.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT char *fake_opencl_left(char *text_out, size_t bytes);

enum { MOST_EVENTS = 1024 };

static struct {
    pthread_mutex_t lock;
    struct {
        cl_event event;
        cl_int code;
    } doomed[MOST_EVENTS];
    int doomed_count;
    cl_event never[MOST_EVENTS];
    int never_count;
    cl_int inherited; /* for the next event */
} events = {.lock = PTHREAD_MUTEX_INITIALIZER};

static atomic_int holds[FAKE_KINDS];

static void check_room(int count)
{
    if (count < MOST_EVENTS)
        return;
    fprintf(stderr, "fake OpenCL: more than %d events are to fail or hang; expected fewer in one plan\n", MOST_EVENTS);
    abort();
}

void fake_event_doom(cl_event event, cl_int code)
{
    fake_real.clRetainEvent(event);
    pthread_mutex_lock(&events.lock);
    check_room(events.doomed_count);
    events.doomed[events.doomed_count].event = event;
    events.doomed[events.doomed_count++].code = code;
    pthread_mutex_unlock(&events.lock);
}

cl_int fake_event_fate(cl_event event)
{
    cl_int code = CL_SUCCESS;
    pthread_mutex_lock(&events.lock);
    for (int n = 0; n < events.doomed_count; n++)
        if (events.doomed[n].event == event)
            code = events.doomed[n].code;
    pthread_mutex_unlock(&events.lock);
    return code;
}

/* Uses a marker, which ends when everything before it has, as the command would. */
cl_int fake_event_fail_later(cl_command_queue queue, cl_int code, cl_event *event)
{
    if (event == NULL) {
        pthread_mutex_lock(&events.lock);
        events.inherited = code;
        pthread_mutex_unlock(&events.lock);
        return CL_SUCCESS;
    }
    cl_int made = fake_real.clEnqueueMarkerWithWaitList(queue, 0, NULL, event);
    if (made == CL_SUCCESS) {
        fake_event_doom(*event, code);
        fake_hold(FAKE_EVENT_KIND, 1);
    }
    return made;
}

void fake_event_made(const cl_event *event)
{
    if (event == NULL)
        return;
    fake_hold(FAKE_EVENT_KIND, 1);
    pthread_mutex_lock(&events.lock);
    cl_int code = events.inherited;
    events.inherited = CL_SUCCESS;
    pthread_mutex_unlock(&events.lock);
    if (code != CL_SUCCESS)
        fake_event_doom(*event, code);
}

cl_int fake_event_never(cl_command_queue queue, cl_event *never_out)
{
    cl_context context;
    cl_int code = fake_real.clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof context, &context, NULL);
    if (code != CL_SUCCESS)
        return code;
    *never_out = fake_real.clCreateUserEvent(context, &code);
    if (code != CL_SUCCESS)
        return code;
    pthread_mutex_lock(&events.lock);
    check_room(events.never_count);
    events.never[events.never_count++] = *never_out;
    pthread_mutex_unlock(&events.lock);
    return CL_SUCCESS;
}

/* An event, and when it ends. */
struct later {
    cl_event event;
    int microseconds;
};

static void *end_later(void *user)
{
    struct later later = *(struct later *)user;
    free(user);
    nanosleep(&(struct timespec){.tv_sec = later.microseconds / 1000000,
                                 .tv_nsec = (long)(later.microseconds % 1000000) * 1000},
              NULL);
    fake_real.clSetUserEventStatus(later.event, CL_COMPLETE);
    fake_real.clReleaseEvent(later.event);
    return NULL;
}

/* An event that ends later; it is referenced twice. */
static struct later *make_later(cl_command_queue queue, int microseconds, cl_int *code_out)
{
    cl_context context;
    struct later *later = malloc(sizeof *later);
    *code_out = later == NULL ? CL_OUT_OF_HOST_MEMORY : CL_SUCCESS;
    if (later != NULL)
        *code_out = fake_real.clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof context, &context, NULL);
    cl_event event = *code_out == CL_SUCCESS ? fake_real.clCreateUserEvent(context, code_out) : NULL;
    if (event == NULL) {
        free(later);
        return NULL;
    }
    *later = (struct later){.event = event, .microseconds = microseconds};
    fake_real.clRetainEvent(event);
    return later;
}

static void free_later(struct later *later)
{
    fake_real.clReleaseEvent(later->event);
    fake_real.clReleaseEvent(later->event);
    free(later);
}

/* Uses a thread per event: there are few, and they end in any order. */
static bool start(struct later *later)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, end_later, later) != 0)
        return false;
    pthread_detach(thread);
    return true;
}

cl_int fake_event_after(cl_command_queue queue, int milliseconds, cl_event *event_out)
{
    cl_int code;
    struct later *later = make_later(queue, milliseconds * 1000, &code);
    if (later == NULL)
        return code;
    cl_event event = later->event;
    if (!start(later)) {
        free_later(later);
        return CL_OUT_OF_HOST_MEMORY;
    }
    *event_out = event;
    return CL_SUCCESS;
}

static void CL_CALLBACK begin_later(cl_event event, cl_int state, void *user)
{
    (void)state;
    struct later *later = user;
    if (!start(later)) {
        fprintf(stderr, "fake OpenCL: there is no thread that ends an event\n");
        abort();
    }
    fake_real.clReleaseEvent(event);
}

cl_int fake_event_prolong(cl_command_queue queue, int microseconds, cl_event own, cl_event *event_out)
{
    cl_int code;
    cl_event last = NULL;
    struct later *later = make_later(queue, microseconds, &code);
    if (later == NULL) {
        fake_real.clReleaseEvent(own);
        return code;
    }
    cl_event event = later->event;
    code = fake_real.clEnqueueMarkerWithWaitList(queue, 1, &event, &last);
    fake_real.clReleaseEvent(event);
    if (code == CL_SUCCESS)
        code = fake_real.clSetEventCallback(own, CL_COMPLETE, begin_later, later);
    if (code != CL_SUCCESS || event_out == NULL)
        fake_real.clReleaseEvent(last);
    else
        *event_out = last;
    return code;
}

void fake_events_end(void)
{
    pthread_mutex_lock(&events.lock);
    int never_count = events.never_count, doomed_count = events.doomed_count;
    events.never_count = events.doomed_count = 0;
    events.inherited = CL_SUCCESS;
    for (int n = 0; n < never_count; n++) {
        fake_real.clSetUserEventStatus(events.never[n], CL_COMPLETE);
        fake_real.clReleaseEvent(events.never[n]);
    }
    for (int n = 0; n < doomed_count; n++)
        fake_real.clReleaseEvent(events.doomed[n].event);
    pthread_mutex_unlock(&events.lock);
}

void fake_hold(fake_kind kind, int change) { atomic_fetch_add(&holds[kind], change); }

char *fake_opencl_left(char *text_out, size_t bytes)
{
    static const char *const kinds[FAKE_KINDS] = {"cl_context", "cl_command_queue", "cl_mem",
                                                  "cl_program", "cl_kernel",        "cl_event"};
    size_t length = 0;
    text_out[0] = '\0';
    for (int kind = 0; kind < FAKE_KINDS; kind++) {
        int count = atomic_load(&holds[kind]);
        if (count != 0 && length < bytes)
            length += (size_t)snprintf(text_out + length, bytes - length, "%s%d %s", length > 0 ? " " : "", count,
                                       kinds[kind]);
    }
    return text_out;
}
