/* fleet/supervisor_waiting.c - clients that wait for a session of another one to end.
 *
 * When a program ends, its worker hears of it a moment later. A program that is started right after it may call before that. So an OPEN
 * that would exceed the limits on sessions is kept for a while, and refused only then. */
#include "fleet/supervisor_inside.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"

/* More clients that exceed the limits are refused at once, so that others can connect: dcli_supervisor_open() lets 32 clients connect
 * that have no session. */
enum { MOST_WAITING = 16 };

static int64_t sessions_of_key(const dcli_supervisor *supervisor, const char *key)
{
    int64_t count = 0;
    for (const dcli_supervised *session = supervisor->sessions; session != NULL; session = session->next)
        count += strcmp(dcli_listener_key(supervisor->listener, session->client), key) == 0;
    return count;
}

/* Whether there is a place for one more session. @return DCL_OK, DCL_ERR_NETWORK: no. */
static dcl_status check_place(const dcli_supervisor *supervisor, uint32_t client)
{
    if (supervisor->session_count >= supervisor->config->most_sessions)
        return DCLI_FAIL(DCL_ERR_NETWORK,
                         "%d sessions are open here; expected at most %d; wait until one has ended, or "
                         "start the worker with more --sessions",
                         supervisor->session_count, supervisor->config->most_sessions);
    int64_t of_key =
        supervisor->has_keys ? sessions_of_key(supervisor, dcli_listener_key(supervisor->listener, client)) : -1;
    int most = supervisor->config->most_sessions_per_key;
    if (most == 0) /* if possible, leave some sessions for other keys */
        most = (3 * supervisor->config->most_sessions + 1) / 4;
    if (of_key >= most)
        return DCLI_FAIL(DCL_ERR_NETWORK,
                         "%" PRId64 " sessions of this key are open here; expected at most %d; wait until one has "
                         "ended, or start the worker with more --sessions-per-key",
                         of_key, most);
    return DCL_OK;
}

static dcli_waiting **find(dcli_supervisor *supervisor, uint32_t client)
{
    dcli_waiting **at = &supervisor->waiting;
    while (*at != NULL && (*at)->client != client)
        at = &(*at)->next;
    return at;
}

static void drop(dcli_waiting **at)
{
    dcli_waiting *waiting = *at;
    *at = waiting->next;
    dcli_received_free(&waiting->received);
    dcli_free(waiting);
}

bool dcli_supervisor_waits(dcli_supervisor *supervisor, uint32_t client) { return *find(supervisor, client) != NULL; }

void dcli_supervisor_forget(dcli_supervisor *supervisor, uint32_t client)
{
    dcli_waiting **at = find(supervisor, client);
    if (*at != NULL)
        drop(at);
}

void dcli_supervisor_take(dcli_supervisor *supervisor, uint32_t client, dcli_received *received)
{
    dcli_supervisor_admit(supervisor, dcli_monotonic_ms()); /* whoever waits comes first */
    if (supervisor->draining || check_place(supervisor, client) == DCL_OK) {
        dcli_supervisor_start(supervisor, client, &received->message.open);
        return;
    }
    int count = 0;
    dcli_waiting **last = &supervisor->waiting;
    for (; *last != NULL; last = &(*last)->next)
        count++;
    dcli_waiting *waiting = count < MOST_WAITING ? dcli_calloc(1, sizeof *waiting) : NULL;
    if (waiting == NULL) {
        dcli_supervisor_refuse(supervisor, client, dcli_error_status(), dcli_error_sentence());
        return;
    }
    DCLI_LOG(supervisor->log, DCLI_LOG_INFO, "%s waits until a session ends: %s",
             dcli_listener_caller(supervisor->listener, client), dcli_error_sentence());
    *waiting = (dcli_waiting){.client = client, .until_ms = dcli_monotonic_ms() + DCLI_PLACE_MS, .received = *received};
    *received = (dcli_received){0};
    *last = waiting;
}

void dcli_supervisor_admit(dcli_supervisor *supervisor, int64_t now_ms)
{
    for (dcli_waiting **at = &supervisor->waiting; *at != NULL;) {
        const dcli_waiting *waiting = *at;
        bool has_place = supervisor->draining || check_place(supervisor, waiting->client) == DCL_OK;
        if (has_place)
            dcli_supervisor_start(supervisor, waiting->client, &waiting->received.message.open);
        else if (now_ms >= waiting->until_ms)
            dcli_supervisor_refuse(supervisor, waiting->client, dcli_error_status(), dcli_error_sentence());
        if (has_place || now_ms >= waiting->until_ms)
            drop(at);
        else
            at = &(*at)->next;
    }
}

void dcli_supervisor_forget_all(dcli_supervisor *supervisor)
{
    while (supervisor->waiting != NULL)
        drop(&supervisor->waiting);
}
