/* test/fleet/waiting_test.c - clients that exceed a worker's limit on sessions wait; at most 16 do. */
#include <criterion/criterion.h>

#include "base/clock.h"
#include "base/error.h"
#include "fleet/supervisor_inside.h"

enum { MOST = 16, LAST = MOST + 1 };

/* A worker that may have one session, and has it. No client has the numbers that are used here, so answers are dropped. */
typedef struct scene {
    dcli_supervisor supervisor;
    dcl_worker_config config;
    dcli_log log;
    dcli_net *net;
} scene;

static scene s;

static void open_scene(void)
{
    s.config = (dcl_worker_config){.struct_size = sizeof s.config, .most_sessions = 1};
    s.supervisor.config = &s.config;
    s.supervisor.log = &s.log;
    s.supervisor.session_count = 1;
    cr_assert_eq(dcli_net_open_io(1, &s.net), DCL_OK, "%s", dcl_error());
    cr_assert_eq(dcli_authenticator_open(s.net, NULL, &s.supervisor.authenticator), DCL_OK, "%s", dcl_error());
    cr_assert_eq(dcli_authenticator_add_password(s.supervisor.authenticator, "listener", "sesame"), DCL_OK, "%s",
                 dcl_error());
    dcli_listener_terms terms = {.net = s.net,
                                 .address = "tcp://127.0.0.1:*",
                                 .authenticator = s.supervisor.authenticator,
                                 .domain = "listener",
                                 .silence_ms = 30000,
                                 .most_clients = 4};
    cr_assert_eq(dcli_listener_open(&terms, &s.supervisor.listener), DCL_OK, "%s", dcl_error());
}

static void close_scene(void)
{
    dcli_supervisor_forget_all(&s.supervisor);
    dcli_listener_close(s.supervisor.listener);
    dcli_authenticator_close(s.supervisor.authenticator);
    dcli_net_close(s.net);
}

static void call(uint32_t client)
{
    dcli_received received = {.message = {.kind = DCLI_MSG_OPEN}};
    dcli_supervisor_take(&s.supervisor, client, &received);
    dcli_received_free(&received);
}

/* Have clients 1..LAST call. On a busy machine the first ones may have waited for too long when the last one calls: then their time is
 * set anew. */
static void call_all(void)
{
    for (uint32_t client = 1; client <= LAST; client++) {
        for (dcli_waiting *waiting = s.supervisor.waiting; waiting != NULL; waiting = waiting->next)
            waiting->until_ms = INT64_MAX;
        call(client);
    }
}

Test(waiting, sixteen_clients_wait_and_others_are_refused)
{
    open_scene();
    call_all();
    for (uint32_t client = 1; client <= LAST; client++)
        cr_expect_eq(dcli_supervisor_waits(&s.supervisor, client), client <= MOST, "client %u", client);
    close_scene();
}

Test(waiting, who_leaves_makes_room)
{
    open_scene();
    call_all();
    dcli_supervisor_forget(&s.supervisor, 3);
    call(LAST);
    for (dcli_waiting *waiting = s.supervisor.waiting; waiting != NULL; waiting = waiting->next)
        waiting->until_ms = INT64_MAX; /* the test's own pace does not count */
    call(LAST + 1);
    cr_expect(!dcli_supervisor_waits(&s.supervisor, 3));
    cr_expect(dcli_supervisor_waits(&s.supervisor, LAST));
    cr_expect(!dcli_supervisor_waits(&s.supervisor, LAST + 1));
    close_scene();
}

Test(waiting, who_has_waited_for_too_long_is_refused)
{
    open_scene();
    int64_t before = dcli_monotonic_ms();
    call(1);
    int64_t until = s.supervisor.waiting->until_ms;
    cr_expect(until >= before + DCLI_PLACE_MS && until <= dcli_monotonic_ms() + DCLI_PLACE_MS);
    dcli_supervisor_admit(&s.supervisor, until - 1);
    cr_expect(dcli_supervisor_waits(&s.supervisor, 1));
    dcli_supervisor_admit(&s.supervisor, until);
    cr_expect(!dcli_supervisor_waits(&s.supervisor, 1));
    close_scene();
}
