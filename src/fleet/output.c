/* fleet/output.c - read what a process prints, escape control characters, and limit the amount. */
#include "fleet/output.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clean.h"
#include "base/error.h"

enum {
    CHUNK = 8192,
    MOST_READ = 1 << 20,
    /* Size of a pipe. Large enough that a kernel that prints much rarely waits for the reader; but the pipes of all
     * processes share the 64 MiB of their user (pipe-user-pages-soft), beyond which any new pipe has one or two
     * pages. */
    PIPE_BYTES = 1 << 18,
    MOST_CLEAN = 4 * DCLI_OUTPUT_LINE /* longest escaped line: a byte becomes at most 4, as \x1f */
};

dcl_status dcli_output_open(dcli_output *output, int *end_out)
{
    int ends[2];
    char *text = dcli_malloc(DCLI_OUTPUT_BYTES);
    *output = (dcli_output){.text = text};
    if (text == NULL)
        return DCL_ERR_NOMEM;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return DCLI_FAIL(DCL_ERR_NETWORK, "pipe: %s; raise the limit of open descriptors with `ulimit -n`",
                         strerror(errno));
    fcntl(ends[0], F_SETFL, O_NONBLOCK); /* only this end: the process's end blocks */
    fcntl(ends[0], F_SETPIPE_SZ, PIPE_BYTES);
    output->is_open = true;
    output->pipe = ends[0];
    *end_out = ends[1];
    return DCL_OK;
}

/* ---- lines -------------------------------------------------------------------------------------------------------- */

static bool append(dcli_output *output, const char *line, size_t length)
{
    if (output->length + length + 1 > DCLI_OUTPUT_BYTES)
        return false;
    memcpy(output->text + output->length, line, length);
    output->length += length;
    output->text[output->length++] = '\n';
    return true;
}

/* Append a finished line. After a drop, all further lines are dropped until the text was taken, so that the place of
 * the gap is known. */
static void end_line(dcli_output *output)
{
    char clean[MOST_CLEAN + 1];
    bool kept = output->dropped == 0 &&
                append(output, clean, dcli_clean(clean, sizeof clean, output->line, output->line_length, ""));
    if (!kept)
        output->dropped += (int64_t)output->line_length + 1;
    output->line_length = 0;
}

void dcli_output_end_line(dcli_output *output)
{
    if (output->line_length > 0)
        end_line(output);
}

/* ---- reading ------------------------------------------------------------------------------------------------------ */

static void take_bytes(dcli_output *output, const char *bytes, size_t count)
{
    while (count > 0) {
        const char *end = memchr(bytes, '\n', count);
        size_t length = end != NULL ? (size_t)(end - bytes) : count, room = sizeof output->line - output->line_length;
        bool whole = length <= room;
        if (!whole)
            length = room;
        memcpy(output->line + output->line_length, bytes, length);
        output->line_length += length;
        if (!whole || end != NULL)
            end_line(output);
        length += whole && end != NULL;
        bytes += length;
        count -= length;
    }
}

void dcli_output_read(dcli_output *output)
{
    char bytes[CHUNK];
    for (int n = 0; n < MOST_READ / CHUNK && output->is_open; n++) {
        ssize_t got = read(output->pipe, bytes, sizeof bytes);
        if (got > 0) {
            take_bytes(output, bytes, (size_t)got);
        } else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
            close(output->pipe);
            output->is_open = false;
        } else if (errno == EAGAIN) {
            return;
        }
    }
}

bool dcli_output_is_polled(const dcli_output *output) { return output->is_open && output->dropped == 0; }

void dcli_output_close(dcli_output *output)
{
    dcli_output_read(output);
    dcli_output_end_line(output);
    if (output->is_open)
        close(output->pipe);
    output->is_open = false;
}

/* ---- taking ------------------------------------------------------------------------------------------------------- */

bool dcli_output_has_text(const dcli_output *output) { return output->length > 0 || output->dropped > 0; }

size_t dcli_output_take(dcli_output *output, char *text_out, size_t capacity, int64_t *dropped_out)
{
    size_t length = output->length < capacity ? output->length : capacity - 1;
    while (length > 0 && output->text[length - 1] != '\n')
        length--;
    if (length > 0) {
        memcpy(text_out, output->text, length);
        memmove(output->text, output->text + length, output->length - length);
        output->length -= length;
    }
    text_out[length] = '\0';
    *dropped_out = output->length == 0 ? output->dropped : 0;
    output->dropped -= *dropped_out;
    return length;
}

void dcli_output_free(dcli_output *output)
{
    if (output->is_open)
        close(output->pipe);
    dcli_free(output->text);
    *output = (dcli_output){0};
}
