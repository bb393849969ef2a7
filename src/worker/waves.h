/* worker/waves.h - launch the steps of a series as waves (lower/wave.h).
 *
 * Large operations that follow each other, as the steps of a time loop, read and write all of their arrays each time. A
 * series of such operations is run by all compute units, in an order in which the arrays stay in the units' caches. */
#ifndef DCLI_WORKER_WAVES_H
#define DCLI_WORKER_WAVES_H

#include "device/device.h"
#include "lower/lower.h"
#include "lower/wave.h"
#include "worker/claims.h"

/** A step of a series: one launch of a body. */
typedef struct dcli_wave_step {
    const dcli_body *body;     /* one for which dcli_series_takes() */
    const dcli_launch *launch; /* its rows; borrowed until the device has run the step */
    const int64_t *step;       /* as the kernel reads it (kernel/series.h), with all rows of the launch; copied */
    bool is_short;             /* a launch of its own would take longer than the step */
} dcli_wave_step;

/** What the kernels of launched waves read; a list. */
typedef struct dcli_wave_table {
    struct dcli_wave_table *next;
    int64_t capacity;
    int64_t longs[];
} dcli_wave_table;

/** Memory that is used again. Zeroed at first. */
typedef struct dcli_waves {
    dcli_wave wave;
    dcli_wave_table *spare;
} dcli_waves;

/** Launch the program of a series. @param lists  [2 * count] as the kernel's argument lists_at. @param now_at  as the
 *  kernel's argument. @return as dcli_device_launch(). */
dcl_status dcli_lists_launch(dcli_device *device, dcli_claims *claims, dcli_program *program, const int64_t *lists,
                             int count, uint64_t now_at);
/** Launch steps in an order that gives the results of one after the other.
 *  @param program      of dcli_series_source(), with the bodies of all steps.
 *  @param now_at       as the kernel's argument. Not used if there are several bodies: then nobody is blamed for a crash.
 *  @param tables_out   the tables that the kernels read, for dcli_waves_give() after their end; set in any case.
 *  @param launches_out how many kernels were started.
 *  @return DCL_OK; DCL_ERR_NOMEM; the errors of dcli_device_launch(). */
dcl_status dcli_waves_launch(dcli_waves *waves, dcli_device *device, dcli_claims *claims, dcli_program *program,
                             int count, const dcli_wave_step steps[], uint64_t now_at, dcli_wave_table **tables_out,
                             int *launches_out);
/** Take back tables. */
void dcli_waves_give(dcli_waves *waves, dcli_wave_table *tables);
void dcli_waves_free(dcli_waves *waves);

#endif
