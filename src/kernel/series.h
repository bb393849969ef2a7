/* kernel/series.h - the program of a series: one kernel that runs launches of several loop bodies, one after the other.
 * For CPUs whose kernels see host memory at the host's addresses.
 *
 * A launch of a small operation costs more than the operation. So one launch of "dcl_series", with a single work-item,
 * takes the place of many: it runs a list of *steps* in order, each as dcl_unit or dcl_any of a body would run it. A step
 * sees what the steps before it in its list have written. Large operations are run by several work-items, each with a list
 * of its own (worker/waves.h).
 *
 * Arguments of the kernel: `ulong lists_at`, the address of two longs per list, of which there are as many as work-items:
 * the address of its first step and the number of its steps; 0: the kernel does nothing; `ulong now_at`, the address of
 * DCLI_SERIES_NOW_LONGS longs, or 0: before each step of the first list the kernel writes there which body runs, so that
 * others can blame that body if the step does not return; `ulong claims_at` and `ulong turn`: how work-items share the
 * lists (kernel/body.h). */
#ifndef DCLI_KERNEL_SERIES_H
#define DCLI_KERNEL_SERIES_H

#include "kernel/body.h"

enum {
    DCLI_SERIES_BODIES = 8,                             /* most bodies of one program */
    DCLI_SERIES_TEXT_LONGS = 32,                        /* length of a body's text that is shown, padded with '\0' */
    DCLI_SERIES_NOW_LONGS = 1 + DCLI_SERIES_TEXT_LONGS, /* number of the running body, 0: none; its text */
    DCLI_SERIES_ARGUMENTS = 4
};

/** The longs of a step. After the head come the addresses of the memory of each access, then the scalars, each in its own
 *  type at the beginning of a long. */
enum {
    DCLI_STEP_LENGTH, /* of this step, in longs */
    DCLI_STEP_CODE,   /* dcli_step_code() */
    DCLI_STEP_BODY,   /* number of the body, written to `now` */
    DCLI_STEP_TEXT,   /* address of its text, [DCLI_SERIES_TEXT_LONGS] */
    DCLI_STEP_TABLE,  /* address of its rows, as the argument `table` of dcl_unit */
    DCLI_STEP_ROWS,   /* number of its rows */
    DCLI_STEP_HEAD
};

/** Which code runs a step: that of the body at place `place` of the program, in a variant. */
static inline int64_t dcli_step_code(int place, dcli_variant variant)
{
    return 2 * place + (variant == DCLI_VARIANT_ANY);
}

/** Whether a body can be part of such a program: it is not a tile kernel; it has no loops, because its cost may then vary
 *  with each call, and a work-item alone should not run what takes long; no prelude, because the names of two preludes may
 *  be the same; no declared reaches, which are always checked; no printf(), whose output has a limit per launch. */
bool dcli_series_takes(const dcli_body *body);

/** Generate the program. Results are the same bits as those of dcl_unit and dcl_any.
 *  @param bodies  [count] for which dcli_series_takes(); count: 1..DCLI_SERIES_BODIES.
 *  @return the text, freed with dcli_free(); NULL: DCL_ERR_NOMEM. */
char *dcli_series_source(int count, const dcli_body *const bodies[]);

#endif
