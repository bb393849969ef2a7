/* worker/output.h - what a process prints, its kernels' printf included: lines for a log, which cannot look like its own. */
#ifndef DCLI_WORKER_OUTPUT_H
#define DCLI_WORKER_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <dcl/base.h>

/** Reading end of a pipe that a process has as standard output and error. Start with {.pipe = -1}. */
typedef struct dcli_output {
    int pipe; /* -1: none, or closed by the other side */
    char line[480];
    size_t length;
    int64_t allowed; /* bytes that may be passed on now */
    int64_t seen_ms; /* when that was counted */
    int64_t dropped; /* bytes since the last line that was passed on */
} dcli_output;

/** A line, without its end; it may hold any bytes. */
typedef void dcli_output_fn(void *user, const char *line, size_t length);

/** @param end_out  for the process; close it once the process has it.
 *  @return DCL_OK, or DCL_ERR_NETWORK: no descriptors. */
dcl_status dcli_output_open(dcli_output *output, int *end_out);
/** Read what is there; does not wait. Passes on 64 KiB at once and then 4 KiB a second; says how much it has dropped. */
void dcli_output_read(dcli_output *output, int64_t now_ms, dcli_output_fn *pass, void *user);
/** Whether its pipe should be polled: who is over the limit waits for the next period. */
bool dcli_output_is_polled(const dcli_output *output);
/** Read what is left, also a line without an end, and close. */
void dcli_output_close(dcli_output *output, int64_t now_ms, dcli_output_fn *pass, void *user);

#endif
