/* fleet/worker_pool_output.c - show the program's user what the processes of a session print: read from pipes of local
 * processes, received from listeners for others. */
#include "fleet/worker_pool_inside.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "base/clean.h"
#include "base/clock.h"

enum { BURST_BYTES = 1 << 18, BYTES_PER_S = 1 << 16 }; /* rate limit of what is shown of one node */
/* Minimum time between two SHOWN. It also limits PRINTED, because a listener sends the next PRINTED only after SHOWN
 * has named the last. */
enum { SHOWN_PERIOD_MS = 2 };
static_assert(1000 / SHOWN_PERIOD_MS <= DCLI_LISTENER_SESSION_RATE / 2, "a listener hangs up on clients that say more");

/* ---- lines -------------------------------------------------------------------------------------------------------- */

/* Show one line of a node within its rate limit. @return bytes that are shown. */
static int64_t show_line(dcli_worker_pool *pool, int node, const char *text, size_t length)
{
    char clean[4 * DCLI_OUTPUT_LINE + 1], line[DCLI_PRINTER_LINE];
    const dcli_member *member = &pool->member[node];
    /* Escape control characters: the worker's text is untrusted and must stay one line. */
    dcli_clean(clean, sizeof clean, text, length, "");
    snprintf(line, sizeof line, "node %d (%s): %s", node,
             pool->is_local ? "this host" : pool->contact[member->call].address, clean);
    dcli_printer_put(pool->printer, line);
    return (int64_t)strlen(line) + 1;
}

static void tell_dropped(dcli_worker_pool *pool, int node)
{
    char text[64];
    dcli_allowance *allowance = &pool->member[node].printing;
    if (allowance->dropped == 0)
        return;
    int length = snprintf(text, sizeof text, "(%" PRId64 " bytes dropped)", allowance->dropped);
    show_line(pool, node, text, (size_t)length);
    allowance->dropped = 0;
}

/* Count dropped bytes; a listener may send any number, so the sum saturates. */
static void drop(dcli_allowance *allowance, int64_t bytes)
{
    allowance->dropped += dcli_min(bytes, INT64_MAX - allowance->dropped);
}

static void show(dcli_worker_pool *pool, int node, const char *text, size_t length)
{
    dcli_allowance *allowance = &pool->member[node].printing;
    dcli_token_bucket_fill(&allowance->bytes, dcli_monotonic_ms(), BURST_BYTES, BYTES_PER_S);
    while (length > 0) {
        const char *end = memchr(text, '\n', length);
        size_t bytes = end != NULL ? (size_t)(end - text) : length;
        /* After a drop, resume only when a good part of the limit is available again; otherwise lines and drop notices
         * would alternate. */
        if (allowance->bytes.tokens > (allowance->dropped > 0 ? BYTES_PER_S / 2 : 0)) {
            tell_dropped(pool, node);
            allowance->bytes.tokens -= show_line(pool, node, text, bytes);
        } else {
            drop(allowance, (int64_t)bytes + 1);
        }
        bytes += end != NULL;
        text += bytes;
        length -= bytes;
    }
}

/* ---- local processes ---------------------------------------------------------------------------------------------- */

void dcli_worker_pool_read_output(dcli_worker_pool *pool, int node, dcli_reading reading)
{
    char text[16 * DCLI_OUTPUT_LINE];
    dcli_output *output = &pool->member[node].output;
    if (reading == DCLI_TO_THE_END)
        dcli_output_close(output);
    else
        dcli_output_read(output);
    if (reading == DCLI_WITH_THE_LINE)
        dcli_output_end_line(output);
    while (dcli_output_has_text(output)) {
        int64_t dropped;
        size_t length = dcli_output_take(output, text, sizeof text, &dropped);
        show(pool, node, text, length);
        drop(&pool->member[node].printing, dropped);
    }
    if (reading == DCLI_TO_THE_END) {
        tell_dropped(pool, node);
        dcli_output_free(output);
    }
}

/* ---- processes of listeners ------------------------------------------------------------------------------------------- */

void dcli_worker_pool_hear_output(dcli_worker_pool *pool, dcli_contact *contact, const dcli_msg_printed *printed)
{
    if (printed->process < contact->count) {
        int node = contact->first + printed->process;
        show(pool, node, printed->text, strlen(printed->text));
        drop(&pool->member[node].printing, printed->dropped);
    }
    contact->printed = printed->number;
    if (printed->flushed <= contact->flushed)
        return;
    contact->flushed = printed->flushed;
    contact->is_late = false;
    pthread_cond_broadcast(&pool->changed);
}

/* Whether to request a flush from a listener. There is one flush at a time: all calls that begin to wait before its
 * answer share the next one. */
static bool is_to_ask(const dcli_contact *contact)
{
    return contact->flush > contact->asked && contact->asked <= contact->flushed;
}

int64_t dcli_worker_pool_shown_due_ms(const dcli_contact *contact)
{
    bool says = is_to_ask(contact) || contact->acknowledged != contact->printed;
    return says && !contact->lost ? contact->shown_ms + SHOWN_PERIOD_MS : INT64_MAX;
}

void dcli_worker_pool_send_shown(dcli_contact *contact)
{
    int64_t now = dcli_monotonic_ms();
    if (now < dcli_worker_pool_shown_due_ms(contact))
        return;
    dcli_message message = {.kind = DCLI_MSG_SHOWN, .shown.number = contact->printed};
    if (is_to_ask(contact))
        message.shown.flush = contact->asked = contact->flush;
    contact->acknowledged = contact->printed;
    contact->shown_ms = now;
    dcli_control_send(contact->call, &message);
}

/* Begin a flush: note that each listener has to be asked for one, and wake the process monitor, which asks. The lock is
 * held. */
static void ask_listeners(dcli_worker_pool *pool)
{
    pool->flushes++;
    for (int c = 0; c < pool->attended; c++)
        pool->contact[c].flush = pool->flushes;
    dcli_process_monitor_wake(pool);
}

static dcli_contact *first_unheard(dcli_worker_pool *pool, int64_t flush)
{
    for (int c = 0; c < pool->attended; c++) {
        dcli_contact *contact = &pool->contact[c];
        if (!contact->lost && !contact->is_late && contact->flush >= flush && contact->flushed < flush)
            return contact;
    }
    return NULL;
}

/* Wait until listeners have answered a flush; the lock is held.
 * @param gives_up  after this call, a listener that has not answered in time is no longer waited for until it answers.
 * @return whether all listeners that are waited for have answered. */
static bool await_listeners(dcli_worker_pool *pool, int64_t flush, int64_t until_ns, bool gives_up)
{
    struct timespec until = dcli_at_ns(until_ns);
    dcli_contact *contact;
    int error = 0;
    while ((contact = first_unheard(pool, flush)) != NULL && !pool->stop)
        if (error == 0)
            error = pthread_cond_timedwait(&pool->changed, &pool->lock, &until);
        else if (gives_up)
            contact->is_late = true;
        else
            return false;
    return true;
}

/* ---- the program -------------------------------------------------------------------------------------------------- */

bool dcli_worker_pool_show_printed(dcli_worker_pool *pool, int milliseconds)
{
    int64_t until_ns = dcli_monotonic_ns() + (int64_t)milliseconds * 1000000;
    bool heard = true;
    if (dcli_printer_shows_here(pool->printer))
        return false;
    pthread_mutex_lock(&pool->lock);
    if (!pool->is_local) {
        ask_listeners(pool);
        heard = await_listeners(pool, pool->flushes, until_ns, milliseconds >= DCLI_WORKER_POOL_SHOW_MS);
    }
    for (int n = 0; n < pool->node_count; n++) {
        if (pool->is_local)
            dcli_worker_pool_read_output(pool, n, DCLI_WITH_THE_LINE);
        tell_dropped(pool, n);
    }
    pthread_mutex_unlock(&pool->lock);
    int64_t left_ns = until_ns - dcli_monotonic_ns();
    return dcli_printer_flush(pool->printer, (int)(dcli_max(left_ns, 0) / 1000000)) && heard;
}
