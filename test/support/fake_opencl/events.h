/* support/fake_opencl/events.h - events that end with an error or late, kernels that never end, and a count of
 * unreleased objects. */
#ifndef TEST_FAKE_OPENCL_EVENTS_H
#define TEST_FAKE_OPENCL_EVENTS_H

#include "support/fake_opencl/functions.h"

/** Make a new event end with a code. */
void fake_event_doom(cl_event event, cl_int code);
/** The code that an event must end with; CL_SUCCESS: its own. */
cl_int fake_event_fate(cl_event event);
/** Take the place of a command that fails when it runs. */
cl_int fake_event_fail_later(cl_command_queue queue, cl_int code, cl_event *event);
/** Note that a command succeeded, with its event (NULL: none was requested). */
void fake_event_made(const cl_event *event);

/** Make an event that never ends, for the wait list of a kernel. */
cl_int fake_event_never(cl_command_queue queue, cl_event *never_out);
/** Make an event that ends after some milliseconds, for the wait list of a command; the caller releases it. */
cl_int fake_event_after(cl_command_queue queue, int milliseconds, cl_event *event_out);
/** Make a command end so many microseconds after its own event has ended, as also do those behind it in its queue.
 *  @param own  its event, taken over. @param event_out  the event that then ends; NULL: it needs none. */
cl_int fake_event_prolong(cl_command_queue queue, int microseconds, cl_event own, cl_event *event_out);
/** End all such events, and forget which events must fail. */
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
/** Count references to objects. */
void fake_hold(fake_kind kind, int change);

#endif
