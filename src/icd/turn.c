/* icd/turn.c - which thread serves the connection to a server.
 *
 * The driver has a thread for every server, the server's *own thread*. A thread of the program that waits for an event or an
 * answer takes its place, so that messages reach it without a second thread. The own thread rests meanwhile, and for
 * LINGER_NS longer, because a program that has waited will probably do so again. A call that enqueues for a device that has
 * nothing to do sends the command itself. */
#include "base/clock.h"
#include "icd/inside.h"

enum {
    LINGER_NS = 300000, /* how long the own thread rests after another thread has served */
    MANY_COMMANDS = 16  /* if this many wait, they are sent even if the device is busy, unless it is very busy */
};

/* ---- the own thread ---- */

/* Whether commands wait to be sent. Events to forget need not be sent soon: they go with the next command, or when the own thread
 * serves again. */
static bool has_unsent(const icd_server *server)
{
    bool has = false;
    for (int d = 0; d < server->device_count; d++)
        has = has || server->device[d]->has_posted;
    return has;
}

/* Wait while another thread serves, and for LINGER_NS after that. A thread that has served for long wakes this thread
 * when it leaves; threads that wait often and briefly do not. If this thread parked whenever it finds another one serving, each of
 * these would have to wake it. icd.lock is held. */
static void rest(icd_server *server)
{
    for (;;) {
        int64_t now_ns = dcli_monotonic_ns(), end_ns = (server->taken ? server->taken_ns : server->left_ns) + LINGER_NS;
        if (!server->taken && (!server->lingers || server->summoned || now_ns >= end_ns))
            break;
        struct timespec end = dcli_at_ns(end_ns);
        server->resting = true;
        server->parked = now_ns >= end_ns;
        if (server->parked)
            pthread_cond_wait(&server->rested, &icd.lock);
        else
            pthread_cond_timedwait(&server->rested, &icd.lock, &end);
        server->resting = server->parked = false;
    }
    server->lingers = server->summoned = false;
}

/* Lock the connection for the own thread, when no other one wants it. */
static void await_turn(icd_server *server)
{
    for (bool taken = true; taken;) {
        pthread_mutex_lock(&icd.lock);
        rest(server);
        pthread_mutex_unlock(&icd.lock);
        pthread_mutex_lock(&server->serving);
        pthread_mutex_lock(&icd.lock);
        taken = server->taken || server->lingers; /* another thread may have served since */
        pthread_mutex_unlock(&icd.lock);
        if (taken)
            pthread_mutex_unlock(&server->serving);
    }
}

void *icd_serve(void *argument)
{
    icd_server *server = argument;
    bool goes_on = true;
    while (goes_on) {
        await_turn(server);
        goes_on = icd_serve_once(server);
        pthread_mutex_unlock(&server->serving);
    }
    return NULL;
}

/* ---- sleeping in the endpoint ---- */

static void fall_asleep(void *user) { pthread_mutex_unlock(&((icd_server *)user)->serving); }

static void wake_up(void *user)
{
    icd_server *server = user;
    pthread_mutex_lock(&icd.lock);
    bool own = server->taken && pthread_equal(server->taker, pthread_self());
    pthread_mutex_unlock(&icd.lock);
    if (own)
        pthread_mutex_lock(&server->serving);
    else
        await_turn(server);
}

dcl_status icd_turn_open(icd_server *server)
{
    pthread_mutex_init(&server->serving, NULL);
    dcli_cond_init(&server->rested);
    return dcli_endpoint_share(server->endpoint, &(dcli_turns){.user = server, .give = fall_asleep, .take = wake_up});
}

/* ---- threads of the program ---- */

/* Have the own thread serve soon. icd.lock is held. */
static void summon(icd_server *server)
{
    server->summoned = true;
    if (server->resting)
        pthread_cond_signal(&server->rested);
}

static void wake(icd_server *server)
{
    if (!server->taken && server->lingers)
        summon(server);
    else
        dcli_endpoint_wake(server->endpoint);
}

void icd_wake(icd_device *device) { wake(device->server); }

/* Send what waits for a device from this thread, if none serves the connection. icd.lock is held, and given up
 * meanwhile. @return false: another thread has the connection, so nothing was sent. */
static bool send_now(icd_device *device)
{
    icd_server *server = device->server;
    if (server->taken || pthread_mutex_trylock(&server->serving) != 0)
        return false;
    pthread_mutex_unlock(&icd.lock);
    icd_send_batches(device);
    dcli_endpoint_look_again(server->endpoint);
    pthread_mutex_unlock(&server->serving);
    pthread_mutex_lock(&icd.lock);
    return true;
}

/* See to it that the commands for a device are sent. @param at_once  even if the device is busy, because the program
 * may wait for their effects without a call of the driver. */
static void post(icd_device *device, bool at_once)
{
    icd_server *server = device->server;
    int64_t sent = device->pending_count -
                   device->unsent_count; /* commands of which the device has not ended, as far as is known */
    bool idle = sent == 0;
    bool many = device->first->next != NULL || (device->first->count >= MANY_COMMANDS && device->first->count >= sent);
    if ((at_once || idle || many) && send_now(device))
        return;
    bool lingers = !server->taken && server->lingers; /* the own thread will look without being asked */
    if (at_once || !(lingers || device->awaited)) {
        device->awaited = true;
        wake(server);
    }
}

void icd_post(bool at_once)
{
    icd.has_posted = false;
    for (int s = 0; s < icd.server_count; s++)
        for (int d = 0; d < icd.server[s]->device_count; d++)
            if (icd.server[s]->device[d]->has_posted)
                post(icd.server[s]->device[d], at_once);
}

void icd_expect(icd_device *device)
{
    icd_post(true);
    if (device != NULL && !device->server->taken && device->server->lingers)
        summon(device->server);
}

/* Wake the threads that serve the other servers: this thread now serves only one. */
static void summon_others(const icd_server *own)
{
    for (int s = 0; s < icd.server_count; s++)
        if (icd.server[s] != own)
            wake(icd.server[s]);
}

/* Stop serving. At entry the connection is locked and icd.lock is not; at return icd.lock is held and the connection
 * is not. */
static void leave(icd_server *server)
{
    pthread_mutex_lock(&icd.lock);
    server->taken = false;
    server->left_ns = dcli_monotonic_ns();
    server->lingers = !server->summoned && !has_unsent(server);
    if (server->parked || !server->lingers)
        pthread_cond_signal(&server->rested);
    if (server->waiters > 0) /* one of them takes the place */
        pthread_cond_broadcast(&icd.changed);
    dcli_endpoint_rouse(server->endpoint, !server->resting);
    pthread_mutex_unlock(&server->serving);
}

/* Serve a connection until what this thread waits for has come. icd.lock is held, and given up meanwhile. */
static void serve_until(icd_server *server, bool (*has_come)(const void *what), const void *what)
{
    server->taken = true;
    server->taker = pthread_self();
    server->taken_ns = dcli_monotonic_ns();
    server->lingers = server->summoned = false;
    pthread_mutex_unlock(&icd.lock);
    if (pthread_mutex_trylock(&server->serving) != 0) {
        dcli_endpoint_wake(server->endpoint);
        pthread_mutex_lock(&server->serving);
    }
    dcli_endpoint_spin(server->endpoint, server->spin_ns); /* the own thread sleeps as usual */
    pthread_mutex_lock(&icd.lock);
    while (!has_come(what)) {
        pthread_mutex_unlock(&icd.lock);
        icd_serve_once(server);
        pthread_mutex_lock(&icd.lock);
    }
    pthread_mutex_unlock(&icd.lock);
    dcli_endpoint_spin(server->endpoint, 0);
    leave(server);
}

void icd_wait(icd_device *device, bool (*has_come)(const void *what), const void *what)
{
    icd_server *server = device != NULL ? device->server : NULL;
    if (icd.server_count > 1 || server == NULL) {
        icd_post(true);
        summon_others(server);
    }
    while (!has_come(what)) {
        if (server != NULL && !server->taken) {
            serve_until(server, has_come, what);
            continue;
        }
        if (server != NULL) {
            dcli_endpoint_wake(server->endpoint); /* the thread that serves sends what this one has enqueued */
            server->waiters++;
        }
        pthread_cond_wait(&icd.changed, &icd.lock);
        if (server != NULL)
            server->waiters--;
    }
}
