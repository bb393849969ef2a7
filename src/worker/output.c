/* worker/output.c - what a process prints: as much of it as a log bears. */
#include "worker/output.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"

enum { BURST_BYTES = 65536, BYTES_PER_S = 4096, MOST_READS = 16 };

dcl_status dcli_output_open(dcli_output *output, int *end_out)
{
    int ends[2];
    *output = (dcli_output){.pipe = -1, .allowed = BURST_BYTES};
    if (pipe2(ends, O_CLOEXEC) != 0)
        return DCLI_FAIL(DCL_ERR_NETWORK, "pipe: %s; raise the limit of open descriptors with `ulimit -n`",
                         strerror(errno));
    fcntl(ends[0], F_SETFL, O_NONBLOCK); /* the other end is the process's, and waits */
    output->pipe = ends[0];
    *end_out = ends[1];
    return DCL_OK;
}

static void refill(dcli_output *output, int64_t now_ms)
{
    int64_t passed = output->seen_ms > 0 ? now_ms - output->seen_ms : 0;
    int64_t more = passed < 60000 ? passed * BYTES_PER_S / 1000 : BURST_BYTES;
    if (more == 0 && output->seen_ms > 0)
        return; /* keeps fractions */
    output->seen_ms = now_ms;
    output->allowed = output->allowed + more < BURST_BYTES ? output->allowed + more : BURST_BYTES;
}

static void end_line(dcli_output *output, dcli_output_fn *pass, void *user)
{
    char text[64];
    if (output->allowed <= 0) {
        output->dropped += (int64_t)output->length;
    } else {
        if (output->dropped > 0)
            pass(user, text, (size_t)snprintf(text, sizeof text, "(%" PRId64 " bytes dropped)", output->dropped));
        output->dropped = 0;
        output->allowed -= (int64_t)output->length + 80; /* with what the log puts around it */
        pass(user, output->line, output->length);
    }
    output->length = 0;
}

static void take(dcli_output *output, const char *bytes, size_t count, dcli_output_fn *pass, void *user)
{
    for (size_t b = 0; b < count; b++) {
        if (bytes[b] == '\n') {
            end_line(output, pass, user);
            continue;
        }
        if (output->length == sizeof output->line)
            end_line(output, pass, user);
        output->line[output->length++] = bytes[b];
    }
}

void dcli_output_read(dcli_output *output, int64_t now_ms, dcli_output_fn *pass, void *user)
{
    char bytes[4096];
    refill(output, now_ms);
    for (int n = 0; n < MOST_READS && output->pipe >= 0; n++) {
        ssize_t got = read(output->pipe, bytes, sizeof bytes);
        if (got > 0) {
            take(output, bytes, (size_t)got, pass, user);
        } else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
            close(output->pipe);
            output->pipe = -1;
        } else {
            return;
        }
    }
}

bool dcli_output_is_polled(const dcli_output *output) { return output->pipe >= 0 && output->allowed > 0; }

void dcli_output_close(dcli_output *output, int64_t now_ms, dcli_output_fn *pass, void *user)
{
    dcli_output_read(output, now_ms, pass, user);
    if (output->length > 0)
        end_line(output, pass, user);
    if (output->pipe >= 0)
        close(output->pipe);
    output->pipe = -1;
}
