/* device/strided.c - strided copies and fills by kernels of our own: copy.cl.
 *
 * Axes are sorted so that writes run along memory, and merged where both sides allow it. Work-items cover the innermost
 * axis (x), the one that is innermost in the source (y), and all others counted through (z); they stride on where there
 * are more elements than work-items, so no driver's limit on launches matters. */
#include "device/program.h"

#include <stdlib.h>
#include <string.h>

#include <dcl/grid.h>

#include "base/check.h"
#include "base/error.h"
#include "segment/transfer.h"

enum { X = DCL_MAX_RANK - 1, Y = DCL_MAX_RANK - 2, MOST_X = 1 << 16, MOST_Y = 1 << 12, MOST_Z = 1 << 12 };

static const char *const kernel_names[DCLI_COPY_KERNELS] = {"dcl_copy_1", "dcl_copy_2", "dcl_copy_4", "dcl_copy_8",
                                                            "dcl_fill_1", "dcl_fill_2", "dcl_fill_4", "dcl_fill_8"};

/* The loops of a copy, in the kernels' format. */
struct walk {
    int64_t target, source;
    int64_t count[DCL_MAX_RANK], target_step[DCL_MAX_RANK], source_step[DCL_MAX_RANK];
};

static bool is_empty(int rank, const int64_t count[])
{
    int d = 0;
    while (d < rank && count[d] > 0)
        d++;
    return d < rank;
}

/* Choose the second axis: the one with the smallest step in the source. */
static void choose_second(int rank, dcli_loop loops[])
{
    int best = rank - 2;
    for (int d = 0; d < rank - 1; d++)
        if (llabs(loops[d].from) < llabs(loops[best].from))
            best = d;
    if (best < 0)
        return;
    dcli_loop second = loops[best];
    memmove(&loops[best], &loops[best + 1], (size_t)(rank - 2 - best) * sizeof loops[0]);
    loops[rank - 2] = second;
}

static struct walk make_walk(int rank, const dcli_loop loops[], int64_t target_offset, int64_t source_offset)
{
    struct walk walk = {.target = target_offset, .source = source_offset};
    for (int d = 0; d < DCL_MAX_RANK; d++)
        walk.count[d] = 1;
    for (int d = 0; d < rank; d++) {
        int at = DCL_MAX_RANK - rank + d;
        walk.count[at] = loops[d].count;
        walk.target_step[at] = loops[d].to;
        walk.source_step[at] = loops[d].from;
    }
    return walk;
}

static size_t round_up(int64_t count, int64_t most, size_t to)
{
    return ((size_t)dcli_min(count, most) + to - 1) / to * to;
}

static dcl_status launch_walk(dcli_device *device, dcli_direction direction, int kernel, dcli_argument arguments[3],
                              const struct walk *walk)
{
    if (device->copy_program == NULL) {
        dcl_status status = dcli_program_build_own(device, dcli_cl_copy, DCLI_COPY_KERNELS, kernel_names,
                                                   &device->copy_program, NULL, NULL);
        if (status != DCL_OK)
            return status;
    }
    bool flat = walk->count[Y] < 4;
    const size_t local[3] = {flat ? 256 : 32, flat ? 1 : 8, 1};
    int64_t outer = 1;
    for (int d = 0; d < Y; d++)
        outer *= walk->count[d];
    const size_t global[3] = {round_up(walk->count[X], MOST_X, local[0]), round_up(walk->count[Y], MOST_Y, local[1]),
                              (size_t)dcli_min(outer, MOST_Z)};
    arguments[2] = (dcli_argument){.value = walk, .bytes = sizeof *walk};
    return dcli_launch_in(device, direction, device->copy_program, kernel, 3, arguments, 3, global, local, NULL);
}

/* Number of the kernel for this element size. */
static int kernel_of(size_t element_bytes)
{
    for (int n = 0; n < 4; n++)
        if (element_bytes == (size_t)1 << n)
            return n;
    return -1;
}

static dcl_status check_element(size_t element_bytes)
{
    if (kernel_of(element_bytes) >= 0)
        return DCL_OK;
    return DCLI_FAIL(DCL_ERR_INTERNAL, "elements of %zu bytes were to be copied; expected 1, 2, 4 or 8", element_bytes);
}

/* Whether the loops are one contiguous run on the target's side. */
static bool is_run(int rank, const dcli_loop loops[]) { return rank == 0 || (rank == 1 && loops[0].to == 1); }

/* The queue for a copy: PACK if it goes to the scratch memory of a slot, UNPACK if it comes from there, else
 * COMPUTE. */
static dcli_direction queue_of(const dcli_memory *target, const dcli_memory *source)
{
    return target->in_slot ? DCLI_PACK : source->in_slot ? DCLI_UNPACK : DCLI_COMPUTE;
}

/* Copy contiguous bytes between one buffer of each memory. @param bytes_in_out  in: how many; out: how many of them lie
 * in these buffers. */
static dcl_status copy_buffer(dcli_device *device, dcli_memory *target, size_t target_at, dcli_memory *source,
                              size_t source_at, size_t *bytes_in_out)
{
    cl_mem to = dcli_memory_buffer_at(target, &target_at, bytes_in_out);
    cl_mem from = dcli_memory_buffer_at(source, &source_at, bytes_in_out);
    dcli_direction direction = queue_of(target, source);
    cl_event event = NULL;
    dcli_after after = {0};
    dcli_after_add(&after, source, false);
    dcli_after_add(&after, target, true);
    dcl_status status = dcli_after_find(device, direction, &after);
    if (status != DCL_OK)
        return status;
    cl_int code = clEnqueueCopyBuffer(device->queue[direction].handle, from, to, source_at, target_at, *bytes_in_out,
                                      after.count, dcli_after_list(&after), &event);
    if (code != CL_SUCCESS)
        return dcli_cl_fail(device, "clEnqueueCopyBuffer", code);
    uint64_t ticket = dcli_ticket_add(device, direction, "clEnqueueCopyBuffer", event);
    dcli_memory_touch(source, direction, ticket, false);
    dcli_memory_touch(target, direction, ticket, true);
    return DCL_OK;
}

static dcl_status copy_run(dcli_device *device, dcli_memory *target, int64_t target_offset, dcli_memory *source,
                           int64_t source_offset, int64_t count, size_t bytes)
{
    size_t all = (size_t)count * bytes, target_at = (size_t)target_offset * bytes,
           source_at = (size_t)source_offset * bytes;
    dcl_status status = DCL_OK;
    for (size_t done = 0, stretch; done < all && status == DCL_OK; done += stretch) {
        stretch = all - done;
        status = copy_buffer(device, target, target_at + done, source, source_at + done, &stretch);
    }
    return status;
}

dcl_status dcli_device_copy(dcli_device *device, dcli_memory *target, int64_t target_offset,
                            const int64_t target_step[], dcli_memory *source, int64_t source_offset,
                            const int64_t source_step[], int rank, const int64_t count[], size_t element_bytes)
{
    dcli_loop loops[DCL_MAX_RANK];
    dcl_status status = check_element(element_bytes);
    if (status != DCL_OK || is_empty(rank, count))
        return status;
    int merged = dcli_transfer_loops(rank, count, target_step, source_step, &target_offset, &source_offset, loops);
    target_offset += (int64_t)(target->base / element_bytes);
    source_offset += (int64_t)(source->base / element_bytes);
    if (target->buffer != source->buffer && is_run(merged, loops) && (merged == 0 || loops[0].from == 1))
        return copy_run(device, target, target_offset, source, source_offset, merged == 0 ? 1 : loops[0].count,
                        element_bytes);
    choose_second(merged, loops);
    struct walk walk = make_walk(merged, loops, target_offset, source_offset);
    dcli_argument arguments[3] = {{.memory = target, .written = true}, {.memory = source}};
    return launch_walk(device, queue_of(target, source), kernel_of(element_bytes), arguments, &walk);
}

/* An element in the low bytes of a number: the kernel truncates it again. */
static uint64_t widen(const void *element, size_t bytes)
{
    uint8_t one;
    uint16_t two;
    uint32_t four;
    uint64_t eight;
    switch (bytes) {
    case 1:
        memcpy(&one, element, bytes);
        return one;
    case 2:
        memcpy(&two, element, bytes);
        return two;
    case 4:
        memcpy(&four, element, bytes);
        return four;
    default:
        memcpy(&eight, element, bytes);
        return eight;
    }
}

dcl_status dcli_device_fill(dcli_device *device, dcli_memory *target, int64_t target_offset,
                            const int64_t target_step[], const void *element, int rank, const int64_t count[],
                            size_t element_bytes)
{
    dcli_loop loops[DCL_MAX_RANK];
    int64_t none = 0;
    dcl_status status = check_element(element_bytes);
    if (status != DCL_OK || is_empty(rank, count))
        return status;
    int merged = dcli_transfer_loops(rank, count, target_step, NULL, &target_offset, &none, loops);
    target_offset += (int64_t)(target->base / element_bytes);
    if (is_run(merged, loops))
        return dcli_memory_fill(target, (size_t)target_offset * element_bytes, element, element_bytes,
                                (size_t)(merged == 0 ? 1 : loops[0].count) * element_bytes);
    struct walk walk = make_walk(merged, loops, target_offset, 0);
    uint64_t wide = widen(element, element_bytes);
    dcli_argument arguments[3] = {{.memory = target, .written = true}, {.value = &wide, .bytes = sizeof wide}};
    return launch_walk(device, DCLI_COMPUTE, 4 + kernel_of(element_bytes), arguments, &walk);
}
