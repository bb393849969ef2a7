/* fleet/output.h - what a process prints, the printf of its kernels included, as lines that others can be shown. */
#ifndef DCLI_FLEET_OUTPUT_H
#define DCLI_FLEET_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <dcl/base.h>

enum {
    DCLI_OUTPUT_BYTES = 1 << 17, /* most that is kept until it is taken; more is dropped, and counted */
    DCLI_OUTPUT_LINE = 1000      /* longer lines are divided */
};

/** The reading end of a pipe that a process has as standard output and error. {0}: there is none. By one thread at a time. */
typedef struct dcli_output {
    bool is_open;
    int pipe;
    char *text; /* [DCLI_OUTPUT_BYTES] lines, each with its end */
    size_t length;
    char line[DCLI_OUTPUT_LINE]; /* that has not ended; any bytes */
    size_t line_length;
    int64_t dropped; /* bytes that nobody has been told of */
} dcli_output;

/** @param end_out  for the process, which waits where nobody reads; close it once the process has it.
 *  @return DCL_OK, DCL_ERR_NETWORK (no descriptors), DCL_ERR_NOMEM; to be freed in any case. */
dcl_status dcli_output_open(dcli_output *output, int *end_out);
/** Read what is there; does not wait, and reads no more than 1 MiB. Where there is no room for it, it is dropped. */
void dcli_output_read(dcli_output *output);
/** Whether to poll the pipe. After a drop it is read once per period only, so that a flood does not keep the reader busy. */
bool dcli_output_is_polled(const dcli_output *output);
/** What was printed last becomes a line, although it does not end as one. */
void dcli_output_end_line(dcli_output *output);
/** Read what is left, end the line, close the pipe. The text stays. Safe on {0}. */
void dcli_output_close(dcli_output *output);

/** Whether there is something to take. */
bool dcli_output_has_text(const dcli_output *output);
/** Take whole lines, as many as there is room for; each ends with a line feed, and has been cleaned (base/clean.h).
 *  @param text_out     [capacity] more than 4 * DCLI_OUTPUT_LINE; ends with '\0'.
 *  @param dropped_out  bytes that were dropped after these lines.
 *  @return its length. */
size_t dcli_output_take(dcli_output *output, char *text_out, size_t capacity, int64_t *dropped_out);
/** Close it without reading, and give its memory back. Safe on {0}. */
void dcli_output_free(dcli_output *output);

#endif
