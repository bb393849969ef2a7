/* support/fake_opencl/events.h - events that end with an error, kernels that do not end, objects not released. */
#ifndef TEST_FAKE_OPENCL_EVENTS_H
#define TEST_FAKE_OPENCL_EVENTS_H

#include "support/fake_opencl/functions.h"

/** Let an event that was just made end with a code. */
void fake_event_doom(cl_event event, cl_int code);
/** The code that an event is to end with; CL_SUCCESS: its own. */
cl_int fake_event_fate(cl_event event);
/** Stand for a command that fails when it runs. */
cl_int fake_event_fail_later(cl_command_queue queue, cl_int code, cl_event *event);
/** Tell of a command that succeeded and was given an event (or NULL: none was asked for). */
void fake_event_made(const cl_event *event);

/** An event that never ends, for the wait list of a kernel. */
cl_int fake_event_never(cl_command_queue queue, cl_event *never_out);
/** An event that ends after so many milliseconds, for the wait list of a command; the caller releases it. */
cl_int fake_event_after(cl_command_queue queue, int milliseconds, cl_event *event_out);
/** End all of these, and forget which events were to fail. */
void fake_events_end(void);

typedef enum fake_kind {
    FAKE_CONTEXT,
    FAKE_QUEUE,
    FAKE_MEM,
    FAKE_PROGRAM,
    FAKE_KERNEL,
    FAKE_EVENT_KIND,
    FAKE_KINDS
} fake_kind;
/** Count holds on objects. */
void fake_hold(fake_kind kind, int change);

#endif
