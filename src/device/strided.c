/* device/strided.c - strided copies and fills by kernels of our own: copy.cl.
 *
 * Axes are sorted so that writes run along memory, and merged where both sides allow it. If the innermost axis is
 * contiguous on both sides, the kernels copy units of 2, 4, 8 or 16 bytes instead of smaller elements: the largest that
 * every row, on both sides, begins and ends with.
 *
 * Work-items cover the innermost axis (x), a second axis (y), and all others combined (z). In large copies a work-item
 * handles EACH units, so that several reads of it are under way at a time. Work-items continue where there are more units
 * than they cover, so no driver's limit on launches matters. */
#include "device/program.h"

#include <stdlib.h>
#include <string.h>

#include <dcl/grid.h>

#include "base/check.h"
#include "base/error.h"
#include "segment/transfer.h"

enum {
    X = DCL_MAX_RANK - 1,
    Y = DCL_MAX_RANK - 2,
    WIDEST = 16, /* bytes of the largest unit */
    FILLS = 5,   /* number of the first kernel that fills */
    EACH = 4,    /* units of a work-item in large copies, as in copy.cl */
    GROUP = 256, /* work-items of a group */
    WIDE = 32,   /* work-items of a group along x, for long, short and very short rows */
    NARROW = 8,
    NARROWEST = 2,
    HIGH = GROUP / WIDE,
    MOST_GROUPS_X = 1 << 22, /* most groups of a launch along x; beyond that work-items continue */
    MOST_GROUPS = 1 << 15    /* the same along y, and along z */
};

static const char *const kernel_names[DCLI_COPY_KERNELS] = {"dcl_copy_1",  "dcl_copy_2", "dcl_copy_4", "dcl_copy_8",
                                                            "dcl_copy_16", "dcl_fill_1", "dcl_fill_2", "dcl_fill_4",
                                                            "dcl_fill_8",  "dcl_fill_16"};

/* The loops of a copy, in the kernels' format. */
struct walk {
    int64_t target, source;
    int64_t count[DCL_MAX_RANK], target_step[DCL_MAX_RANK], source_step[DCL_MAX_RANK];
    int64_t outer;                  /* product of the counts of z */
    int64_t each, x_apart, y_apart; /* units of a work-item, and their distance along x and y */
};

/* A copy or a fill. Offsets, steps and counts are in units. */
struct copy {
    int rank;
    dcli_loop loops[DCL_MAX_RANK];
    int64_t target, source; /* offsets in the buffers */
    size_t unit;            /* bytes of a unit; at first an element */
};

static bool is_empty(int rank, const int64_t count[])
{
    int d = 0;
    while (d < rank && count[d] > 0)
        d++;
    return d < rank;
}

/* Make the units as large as the alignment of both sides allows. @param from  the innermost step in the source that
 * allows it: 1; for fills 0. @param addresses  bitwise or of the host addresses of both buffers; NULL for others. Only
 * memory of the caller may be aligned to less than WIDEST. */
static void widen_units(struct copy *copy, int64_t from, uintptr_t addresses)
{
    if (copy->rank == 0)
        return;
    dcli_loop *inner = &copy->loops[copy->rank - 1];
    if (inner->to != 1 || inner->from != from)
        return;
    int64_t bits = inner->count | copy->target | copy->source;
    for (int d = 0; d < copy->rank - 1; d++)
        bits |= copy->loops[d].to | copy->loops[d].from;
    while (copy->unit < WIDEST && bits % 2 == 0 && addresses % (2 * copy->unit) == 0) {
        bits /= 2;
        copy->unit *= 2;
        copy->target /= 2;
        copy->source /= 2;
        inner->count /= 2;
        for (int d = 0; d < copy->rank - 1; d++) {
            copy->loops[d].to /= 2;
            copy->loops[d].from /= 2;
        }
    }
    copy->rank -= inner->count == 1;
}

/* Choose the second axis. If reads do not run along the innermost axis, that is the one with the smallest step in the
 * source; otherwise the longest one. */
static void choose_second(int rank, dcli_loop loops[])
{
    int best = rank - 2;
    for (int d = 0; d < rank - 1; d++)
        if (llabs(loops[d].from) < llabs(loops[best].from))
            best = d;
    if (best < 0)
        return;
    if (llabs(loops[best].from) >= llabs(loops[rank - 1].from))
        for (int d = 0; d < rank - 1; d++)
            if (loops[d].count > loops[best].count)
                best = d;
    dcli_loop second = loops[best];
    memmove(&loops[best], &loops[best + 1], (size_t)(rank - 2 - best) * sizeof loops[0]);
    loops[rank - 2] = second;
}

/* The axis of loop d: the last two loops are y and x. The outermost of the others is axis 0, so that the kernel splits
 * off its index without a division. */
static int axis_of(int rank, int d) { return d == 0 && rank > 2 ? 0 : DCL_MAX_RANK - rank + d; }

static struct walk make_walk(const struct copy *copy)
{
    struct walk walk = {.target = copy->target, .source = copy->source, .outer = 1, .each = 1};
    for (int d = 0; d < DCL_MAX_RANK; d++)
        walk.count[d] = 1;
    for (int d = 0; d < copy->rank; d++) {
        int at = axis_of(copy->rank, d);
        walk.count[at] = copy->loops[d].count;
        walk.target_step[at] = copy->loops[d].to;
        walk.source_step[at] = copy->loops[d].from;
        walk.outer *= at < Y ? copy->loops[d].count : 1;
    }
    return walk;
}

/* Choose the width of a group: all of it if there are few rows, less if rows are short. There are only four widths,
 * because PoCL compiles a kernel again for each shape of groups. */
static int64_t group_width(int64_t x, int64_t y)
{
    if (y < HIGH)
        return GROUP;
    return x > WIDE / 2 ? WIDE : x > NARROW / 2 ? NARROW : NARROWEST;
}

static size_t groups_for(int64_t count, int64_t per_group, int64_t most)
{
    return (size_t)dcli_min(dcli_ceil_div(count, per_group), most);
}

/* Choose the sizes of a launch, and which units each work-item handles: along y if possible, because fewer work-items
 * then lie beyond the ends of the rows. */
static void size_launch(const dcli_device *device, struct walk *walk, size_t global_out[3], size_t local_out[3])
{
    int64_t enough = (int64_t)EACH * GROUP * device->info.compute_units;
    int64_t x = walk->count[X], y = walk->count[Y], units;
    bool many = !dcli_mul(x, y, &units) || !dcli_mul(units, walk->outer, &units) || units >= enough;
    int along = !many ? -1 : y >= EACH ? Y : x >= EACH ? X : -1;
    int64_t wide = group_width(x, y), high = GROUP / wide;
    walk->each = along < 0 ? 1 : EACH;
    walk->x_apart = along == X ? wide : 0;
    walk->y_apart = along == Y ? high : 0;
    local_out[0] = (size_t)wide;
    local_out[1] = (size_t)high;
    local_out[2] = 1;
    global_out[0] = local_out[0] * groups_for(x, along == X ? wide * EACH : wide, MOST_GROUPS_X);
    global_out[1] = local_out[1] * groups_for(y, along == Y ? high * EACH : high, MOST_GROUPS);
    global_out[2] = groups_for(walk->outer, 1, MOST_GROUPS);
}

/* Number of the kernel for this unit, of those that copy. */
static int kernel_of(size_t unit)
{
    for (int n = 0; n < FILLS; n++)
        if (unit == (size_t)1 << n)
            return n;
    return -1;
}

/* Launch the kernel of a copy or a fill. @param first_kernel  0 to copy, FILLS to fill. */
static dcl_status launch_copy(dcli_device *device, dcli_direction direction, int first_kernel,
                              dcli_argument arguments[3], struct copy *copy)
{
    if (device->copy_program == NULL) {
        dcl_status status = dcli_program_build_own(device, dcli_cl_copy, DCLI_COPY_KERNELS, kernel_names,
                                                   &device->copy_program, NULL, NULL);
        if (status != DCL_OK)
            return status;
    }
    choose_second(copy->rank, copy->loops);
    struct walk walk = make_walk(copy);
    size_t global[3], local[3];
    size_launch(device, &walk, global, local);
    arguments[2] = (dcli_argument){.value = &walk, .bytes = sizeof walk};
    return dcli_launch_in(device, direction, device->copy_program, first_kernel + kernel_of(copy->unit), 3, arguments,
                          3, global, local, NULL);
}

static dcl_status check_element(size_t element_bytes)
{
    if (element_bytes < WIDEST && kernel_of(element_bytes) >= 0)
        return DCL_OK;
    return DCLI_FAIL(DCL_ERR_INTERNAL, "elements of %zu bytes were to be copied; expected 1, 2, 4 or 8", element_bytes);
}

/* Whether the loops are one contiguous run on the target's side. */
static bool is_run(const struct copy *copy) { return copy->rank == 0 || (copy->rank == 1 && copy->loops[0].to == 1); }

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
    struct copy copy = {.target = target_offset, .source = source_offset, .unit = element_bytes};
    dcl_status status = check_element(element_bytes);
    if (status != DCL_OK || is_empty(rank, count))
        return status;
    copy.rank = dcli_transfer_loops(rank, count, target_step, source_step, &copy.target, &copy.source, copy.loops);
    copy.target += (int64_t)(target->base / element_bytes);
    copy.source += (int64_t)(source->base / element_bytes);
    if (target->buffer != source->buffer && is_run(&copy) && (copy.rank == 0 || copy.loops[0].from == 1))
        return copy_run(device, target, copy.target, source, copy.source, copy.rank == 0 ? 1 : copy.loops[0].count,
                        element_bytes);
    widen_units(&copy, 1, (uintptr_t)target->host | (uintptr_t)source->host);
    dcli_argument arguments[3] = {{.memory = target, .written = true}, {.memory = source}};
    return launch_copy(device, queue_of(target, source), 0, arguments, &copy);
}

dcl_status dcli_device_fill(dcli_device *device, dcli_memory *target, int64_t target_offset,
                            const int64_t target_step[], const void *element, int rank, const int64_t count[],
                            size_t element_bytes)
{
    struct copy copy = {.target = target_offset, .unit = element_bytes};
    dcl_status status = check_element(element_bytes);
    if (status != DCL_OK || is_empty(rank, count))
        return status;
    copy.rank = dcli_transfer_loops(rank, count, target_step, NULL, &copy.target, &copy.source, copy.loops);
    copy.target += (int64_t)(target->base / element_bytes);
    if (is_run(&copy))
        return dcli_memory_fill(target, (size_t)copy.target * element_bytes, element, element_bytes,
                                (size_t)(copy.rank == 0 ? 1 : copy.loops[0].count) * element_bytes);
    widen_units(&copy, 0, (uintptr_t)target->host);
    uint64_t repeated; /* a unit of any size begins with it */
    for (size_t at = 0; at < sizeof repeated; at += element_bytes)
        memcpy((char *)&repeated + at, element, element_bytes);
    dcli_argument arguments[3] = {{.memory = target, .written = true}, {.value = &repeated, .bytes = sizeof repeated}};
    return launch_copy(device, DCLI_COMPUTE, FILLS, arguments, &copy);
}
