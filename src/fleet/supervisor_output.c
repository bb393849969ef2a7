/* fleet/supervisor_output.c - send what the processes of a session print to its client, one message at a time, the next
 * one after the client has taken the last. The worker's log gets lines printed before the session is open; after that,
 * lines that look like log lines of the library (such as refused connections at their ports); and everything at level
 * debug. */
#include "fleet/supervisor_inside.h"

#include <inttypes.h>
#include <string.h>

#include "base/clock.h"

enum {
    PERIOD_MS = 100,     /* longest time between messages if no flush is waiting */
    MOST_LAST_WORDS = 8, /* messages for ended processes, in addition to the one in transit */
    LOG_BURST_BYTES = 1 << 14,
    LOG_BYTES_PER_S = 1 << 10 /* rate limit of the lines of a process in the worker's log */
};

/* ---- the worker's log --------------------------------------------------------------------------------------------- */

/* Whether a line looks like a log line of the library. A kernel can print such lines, too, so they are marked and
 * limited in rate. */
static bool looks_logged(const char *line, size_t length)
{
    return length > 10 && (memcmp(line, "dcl warn: ", 10) == 0 || memcmp(line, "dcl info: ", 10) == 0);
}

static bool may_be_logged(dcli_child *child, size_t bytes)
{
    int64_t allowed = dcli_token_bucket_fill(&child->log_bytes, dcli_monotonic_ms(), LOG_BURST_BYTES, LOG_BYTES_PER_S);
    bool is_allowed = allowed >= (int64_t)bytes;
    child->log_bytes.tokens -= is_allowed ? (int64_t)bytes : 0;
    return is_allowed;
}

static void log_lines(const dcli_supervisor *supervisor, dcli_supervised *session, int place, const char *text,
                      size_t length)
{
    enum { AROUND = 80 };
    for (const char *line = text, *end; line < text + length; line = end + 1) {
        end = memchr(line, '\n', length - (size_t)(line - text));
        size_t bytes = (size_t)(end - line);
        bool is_due =
            !session->opened || (looks_logged(line, bytes) && may_be_logged(&session->child[place], bytes + AROUND));
        DCLI_LOG(supervisor->log, is_due ? DCLI_LOG_INFO : DCLI_LOG_DEBUG,
                 "session %016" PRIx64 ": process %d prints: %.*s", session->session, place, (int)bytes, line);
    }
}

/* ---- reading ------------------------------------------------------------------------------------------------------ */

static void read_output(const dcli_supervisor *supervisor, dcli_supervised *session, int place,
                        void read(dcli_output *output))
{
    dcli_output *output = &session->child[place].output;
    size_t before = output->length;
    read(output);
    log_lines(supervisor, session, place, output->text + before, output->length - before);
    if (!session->opened) /* before the session is open, only the worker's log can show it */
        output->length = 0;
}

static void read_and_end_line(dcli_output *output)
{
    dcli_output_read(output);
    dcli_output_end_line(output);
}

/* ---- sending ------------------------------------------------------------------------------------------------------ */

static bool is_flushed(const dcli_supervised *session)
{
    for (int p = 0; p < session->count; p++)
        if (session->child[p].due > 0)
            return false;
    return true;
}

/* Send the next part of a process's output. @return whether there was something to send. */
static bool send_output(dcli_supervisor *supervisor, dcli_supervised *session, int place)
{
    char *text = supervisor->text;
    dcli_child *child = &session->child[place];
    int64_t dropped;
    size_t length = dcli_output_take(&child->output, text, sizeof supervisor->text, &dropped);
    child->due -= (int64_t)length;
    bool answers = session->flush > 0 && is_flushed(session);
    if (length == 0 && dropped == 0 && !answers)
        return false;
    dcli_message message = {.kind = DCLI_MSG_PRINTED,
                            .printed = {.number = ++session->printed,
                                        .process = place,
                                        .text = text,
                                        .dropped = dropped,
                                        .flushed = answers ? session->flush : 0}};
    dcli_listener_send(supervisor->listener, session->client, &message); /* the end of a client is noticed elsewhere */
    if (answers)
        session->flush = 0;
    return true;
}

void dcli_supervisor_pass_output(dcli_supervisor *supervisor, dcli_supervised *session, int64_t now_ms)
{
    for (int p = 0; p < session->count; p++)
        if (session->child[p].output.is_open)
            read_output(supervisor, session, p, dcli_output_read);
    if (!session->opened || session->printed > session->shown ||
        (session->flush == 0 && now_ms - session->printed_ms < PERIOD_MS))
        return;
    for (int n = 0; n < session->count; n++) {
        session->speaker = (session->speaker + 1) % session->count; /* in turn */
        if (send_output(supervisor, session, session->speaker)) {
            session->printed_ms = now_ms;
            return;
        }
    }
}

dcl_status dcli_supervisor_shown(const dcli_supervisor *supervisor, dcli_supervised *session,
                                 const dcli_msg_shown *shown)
{
    if (shown->number > session->printed)
        return DCL_ERR_PROTOCOL;
    if (shown->number > session->shown)
        session->shown = shown->number;
    if (shown->flush == 0)
        return DCL_OK;
    session->flush = shown->flush;
    for (int p = 0; p < session->count; p++) {
        if (session->child[p].output.is_open)
            read_output(supervisor, session, p, read_and_end_line);
        session->child[p].due = (int64_t)session->child[p].output.length;
    }
    return DCL_OK;
}

void dcli_supervisor_end_output(dcli_supervisor *supervisor, dcli_supervised *session, int place, bool is_told)
{
    dcli_output *output = &session->child[place].output;
    if (output->text == NULL)
        return;
    read_output(supervisor, session, place, dcli_output_close);
    while (is_told && session->opened && dcli_output_has_text(output) &&
           session->printed - session->shown <= MOST_LAST_WORDS)
        send_output(supervisor, session, place);
    session->child[place].due = 0;
    dcli_output_free(output);
}
