/* support/fake_opencl/order.h - whether events order all commands that touch the same bytes.
 *
 * Each command has a vector clock: per queue of its context, the number of the last command that certainly ends before it
 * starts. It follows the commands before it in its own queue, which is in order, those in its wait list, and those whose end
 * the host has seen when it enqueues it. Two commands that touch the same bytes of a buffer, or of host memory, one of them
 * writing, must be ordered; otherwise the process says which they are, and aborts.
 *
 * What a kernel touches is all of each buffer that is its argument, to read it only where the parameter is const. Copies and
 * fills by the kernels of device/copy.cl touch the range of their walk. Accesses through addresses in tables are not seen. */
#ifndef TEST_FAKE_OPENCL_ORDER_H
#define TEST_FAKE_OPENCL_ORDER_H

#include <stdbool.h>
#include <stddef.h>

#include "support/fake_opencl/functions.h"

typedef struct fake_access {
    cl_mem memory;    /* NULL: host memory */
    const void *host; /* its address */
    size_t offset, bytes;
    bool written;
} fake_access;

/** A command was enqueued. @param event  NULL: it has none. */
void fake_order_command(cl_command_queue queue, const char *name, cl_uint count, const cl_event list[],
                        const cl_event *event, int access_count, const fake_access accesses[]);
/** A kernel was launched. */
void fake_order_launch(cl_command_queue queue, cl_kernel kernel, cl_uint count, const cl_event list[],
                       const cl_event *event);
void fake_order_argument(cl_kernel kernel, cl_uint index, size_t bytes, const void *value);
/** The name of a kernel; "" if it cannot be found. */
void fake_order_kernel_name(cl_kernel kernel, char name_out[64]);

/** A buffer was made. @param parent  NULL: it is not part of another; else it begins at `offset` of that. */
void fake_order_memory(cl_mem memory, cl_mem parent, size_t offset, size_t bytes);
/** The host has seen that a command, or all of a queue, has ended. */
void fake_order_event_ended(cl_event event);
void fake_order_queue_ended(cl_command_queue queue);
/** Objects that have no reference any more: their addresses may come again. */
void fake_order_forget_event(cl_event event);
void fake_order_forget_queue(cl_command_queue queue);
void fake_order_forget_kernel(cl_kernel kernel);

#endif
