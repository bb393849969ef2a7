/* fleet/output.h - collects what a process prints, including the printf of its kernels, as lines. */
#ifndef DCLI_FLEET_OUTPUT_H
#define DCLI_FLEET_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <dcl/base.h>

enum {
    DCLI_OUTPUT_BYTES = 1 << 17, /* most bytes stored until they are taken; more is dropped and counted */
    DCLI_OUTPUT_LINE = 1000      /* longer lines are divided */
};

/** The reading end of the pipe that is a process's standard output and error. {0}: none. Used by one thread at a
 *  time. */
typedef struct dcli_output {
    bool is_open;
    int pipe;
    char *text; /* [DCLI_OUTPUT_BYTES] complete lines, each with its line feed */
    size_t length;
    char line[DCLI_OUTPUT_LINE]; /* the unfinished last line; any bytes */
    size_t line_length;
    int64_t dropped; /* dropped bytes that were not reported yet */
} dcli_output;

/** Make the pipe. @param end_out  the writing end for the process, which blocks when the pipe is full; close it after
 *  the process has inherited it.
 *  @return DCL_OK, DCL_ERR_NETWORK (no descriptors), DCL_ERR_NOMEM; dcli_output_free() is needed in any case. */
dcl_status dcli_output_open(dcli_output *output, int *end_out);
/** Read what the pipe contains, at most 1 MiB; does not wait. What does not fit is dropped. */
void dcli_output_read(dcli_output *output);
/** Whether to poll the pipe. After a drop it is read only once per period, so that a flood does not keep the reader
 *  busy. */
bool dcli_output_is_polled(const dcli_output *output);
/** End the unfinished last line, if there is one. */
void dcli_output_end_line(dcli_output *output);
/** Read the rest, end the last line and close the pipe. The text remains. Safe on {0}. */
void dcli_output_close(dcli_output *output);

/** Whether there is text or a drop count to take. */
bool dcli_output_has_text(const dcli_output *output);
/** Take whole lines, as many as fit. Each ends with a line feed; control characters are escaped (base/clean.h).
 *  @param text_out     [capacity] more than 4 * DCLI_OUTPUT_LINE; ends with '\0'.
 *  @param dropped_out  bytes that were dropped after these lines.
 *  @return length of the text. */
size_t dcli_output_take(dcli_output *output, char *text_out, size_t capacity, int64_t *dropped_out);
/** Close the pipe without reading it, and free the memory. Safe on {0}. */
void dcli_output_free(dcli_output *output);

#endif
