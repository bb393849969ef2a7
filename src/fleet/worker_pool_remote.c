/* fleet/worker_pool_remote.c - workers on other hosts: calling their listeners, and processing what the listeners send
 * during the session. */
#include "fleet/worker_pool_inside.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "fleet/addresses.h"
#include "net/wire_address.h"

static const char domain[] = "session";

/* ---- calling ------------------------------------------------------------------------------------------------------ */

static dcl_status server_key(const dcl_config *config, const dcli_worker_address *worker, char key_out[DCLI_KEY_HEX])
{
    dcli_address address;
    char key[DCLI_KEY_Z85];
    snprintf(key_out, DCLI_KEY_HEX, "%s", worker->key);
    if (key_out[0] != '\0')
        return DCL_OK;
    dcl_status status = dcli_address_parse(worker->text, DCLI_TO_CALL, &address);
    if (status == DCL_OK)
        status = dcli_keys_find(config->keys, address.host, key);
    if (status == DCL_OK)
        dcli_key_text(key, key_out);
    return status;
}

/* Find the token of a worker on loopback. The token file is named after the numeric address, whatever name the worker
 * was given. */
static dcl_status find_token(const char *worker, const dcli_resolved *resolved, char token_out[DCLI_TOKEN])
{
    char text[DCLI_MOST_ADDRESS + 1];
    snprintf(text, sizeof text, "%s", worker);
    if (resolved->loopback)
        dcli_resolved_text(resolved, resolved->port, text);
    return dcli_token_find(text, token_out);
}

/* Check who owns the listening socket before the token is shown. Beyond loopback the call itself refuses tokens. */
static dcl_status check_listener(const dcli_resolved *resolved)
{
    return resolved->loopback ? dcli_token_listener_is_ours(resolved->host, resolved->port) : DCL_OK;
}

/* Resolve the name once, so that the program and the other workers use the same address. */
static dcl_status look_up(const dcli_worker_address *worker, dcli_resolved *resolved_out)
{
    dcli_address address;
    dcl_status status = dcli_address_parse(worker->text, DCLI_TO_CALL, &address);
    return status == DCL_OK ? dcli_address_resolve(&address, resolved_out) : status;
}

dcl_status dcli_contact_call(dcli_net *net, const dcl_config *config, const dcli_worker_address *worker,
                             dcli_resolved *resolved_out, dcli_control **call_out)
{
    char address[DCLI_MOST_ADDRESS + 1];
    char key[DCLI_KEY_HEX] = "", token[DCLI_TOKEN] = "";
    dcli_keypair own;
    bool has_keys = config->keys != NULL;
    dcl_status status = look_up(worker, resolved_out);
    if (status == DCL_OK && has_keys)
        status = dcli_keys_read(config->keys, &own);
    if (status != DCL_OK)
        return status;
    dcli_resolved_text(resolved_out, resolved_out->port, address);
    if (has_keys)
        status = server_key(config, worker, key);
    else if (config->token != NULL)
        status = dcli_token_read(config->token, token);
    else
        status = find_token(worker->text, resolved_out, token);
    if (status == DCL_OK && !has_keys)
        status = check_listener(resolved_out);
    dcli_control_terms terms = {.net = net,
                                .address = address,
                                .own = has_keys ? &own : NULL,
                                .server_key = key,
                                .password = has_keys ? NULL : token,
                                .silence_ms = (int64_t)config->silence_ms};
    if (status == DCL_OK)
        status = dcli_control_open(&terms, call_out);
    if (has_keys)
        dcli_keypair_wipe(&own);
    explicit_bzero(token, sizeof token);
    return status;
}

dcl_status dcli_contact_greet(dcli_control *call)
{
    char program[128];
    snprintf(program, sizeof program, "DCL %s, process %d", DCL_VERSION, (int)getpid());
    return dcli_control_send(call, &(dcli_message){.kind = DCLI_MSG_HELLO, .hello = {.program = program}});
}

static int64_t beat_ms(const dcli_worker_pool *pool)
{
    enum { SHORTEST = 1000 / (DCLI_LISTENER_RATE - 10), LONGEST = DCLI_LISTENER_IDLE_MS / 4 };
    int64_t period = (int64_t)pool->terms.config->silence_ms / 8;
    return period < SHORTEST ? SHORTEST : period > LONGEST ? LONGEST : period;
}

static void send_beat(dcli_worker_pool *pool, dcli_contact *contact)
{
    int64_t now = dcli_monotonic_ms();
    if (now < contact->beat_due_ms)
        return;
    contact->beat_due_ms = now + beat_ms(pool);
    dcli_control_send(contact->call, &(dcli_message){.kind = DCLI_MSG_BEAT, .beat.number = ++contact->beats});
}

/* Send heartbeats to contacts that the process monitor does not serve yet: those called first wait for those called
 * last. */
static void beat_unattended(dcli_worker_pool *pool)
{
    for (int c = pool->attended; c < pool->contact_count; c++)
        send_beat(pool, &pool->contact[c]);
}

/* Receive from a listener. @param pool  its other listeners get heartbeats meanwhile; NULL: none. */
static dcl_status hear(dcli_worker_pool *pool, dcli_control *call, const char *address, dcli_message_kind kind,
                       dcli_received *received_out)
{
    enum { STEP_MS = 10 };
    int64_t until = dcli_monotonic_ms() + DCLI_START_MS;
    for (;;) {
        if (pool != NULL)
            beat_unattended(pool);
        int64_t left = until - dcli_monotonic_ms();
        int wait_ms = pool != NULL && left > STEP_MS ? STEP_MS : (int)left;
        dcl_status status = left <= 0 ? DCL_ERR_TIMEOUT : dcli_control_receive(call, wait_ms, received_out);
        if (status == DCL_ERR_TIMEOUT && left > 0)
            continue;
        if (status == DCL_ERR_TIMEOUT)
            return DCLI_FAIL(DCL_ERR_TIMEOUT,
                             "the worker at %s has not answered within %d s; expected it to be idle "
                             "enough; look at its log",
                             address, DCLI_START_MS / 1000);
        if (status == DCL_ERR_NODE_LOST) { /* the error text already says why */
            return DCLI_FAIL(DCL_ERR_NETWORK, "%s", dcli_error_sentence());
        }
        if (status != DCL_OK || received_out->message.kind == kind)
            return status;
        if (received_out->message.kind == DCLI_MSG_REFUSED) {
            const dcli_msg_refused *refused = &received_out->message.refused;
            status = DCLI_FAIL(refused->status != DCL_OK ? (dcl_status)refused->status : DCL_ERR_NETWORK,
                               "the worker at %s refuses: %s", address, refused->sentence);
            dcli_received_free(received_out);
            return status;
        }
        dcli_received_free(received_out);
    }
}

dcl_status dcli_contact_hear(dcli_control *call, const char *address, dcli_message_kind kind,
                             dcli_received *received_out)
{
    return hear(NULL, call, address, kind, received_out);
}

/* ---- counting: what all listeners offer -------------------------------------------------------------------------------- */

static dcl_status call_one(dcli_worker_pool *pool, const dcli_worker_address *worker, int *devices_out)
{
    dcli_contact *contact = &pool->contact[pool->contact_count];
    dcli_received welcome = {0};
    *contact = (dcli_contact){.heard_ms = dcli_monotonic_ms(), .beat_due_ms = dcli_monotonic_ms() + beat_ms(pool)};
    strcpy(contact->address, worker->text); /* both arrays have the same length */
    dcl_status status = dcli_contact_call(pool->net, pool->terms.config, worker, &contact->resolved, &contact->call);
    if (status != DCL_OK)
        return status;
    pool->contact_count++;
    status = dcli_contact_greet(contact->call);
    if (status == DCL_OK)
        status = hear(pool, contact->call, contact->address, DCLI_MSG_WELCOME, &welcome);
    if (status != DCL_OK)
        return status;
    contact->count = *devices_out = welcome.message.welcome.device_count;
    dcli_received_free(&welcome);
    return *devices_out > 0 ? DCL_OK
                            : DCLI_FAIL(DCL_ERR_DEVICE,
                                        "the worker at %s has no device; expected at least one; start it "
                                        "with other --devices",
                                        contact->address);
}

void dcli_worker_pool_forget_contacts(dcli_worker_pool *pool, int from)
{
    for (int c = from; c < pool->contact_count; c++)
        dcli_control_close(pool->contact[c].call);
    pool->contact_count = from;
}

/* Connect to the listeners of all workers and count their devices. The devices get consecutive node numbers, in the order of the
 * workers. @return number of devices; -1: an error, and no contact is added. */
int dcli_worker_pool_count_remote(dcli_worker_pool *pool, const char *workers)
{
    dcli_worker_address list[DCLI_MOST_CALLS];
    int count = 1, nodes = 0;
    if (pool->terms.address != NULL)
        list[0] = *pool->terms.address;
    else
        count = dcli_addresses_read(workers, list);
    if (count < 0)
        return -1;
    if (pool->net == NULL && dcli_net_open_io((int)pool->terms.config->io_threads, &pool->net) != DCL_OK)
        return -1;
    if (pool->contact_count + count > DCLI_MOST_CALLS) {
        DCLI_FAIL(DCL_ERR_INVALID, "%d workers are named; expected at most %d in all", pool->contact_count + count,
                  DCLI_MOST_CALLS);
        return -1;
    }
    int known = pool->contact_count;
    for (int w = 0; w < count; w++) {
        int devices = 0;
        if (call_one(pool, &list[w], &devices) != DCL_OK) {
            dcli_worker_pool_forget_contacts(pool, known);
            return -1;
        }
        pool->contact[known + w].first = pool->node_count + nodes;
        nodes += devices;
    }
    if (pool->node_count + nodes <= DCLI_MOST_NODES)
        return nodes;
    dcli_worker_pool_forget_contacts(pool, known);
    DCLI_FAIL(DCL_ERR_INVALID, "the workers have %d devices; expected at most %d; name fewer workers", nodes,
              DCLI_MOST_NODES);
    return -1;
}

/* ---- opening ------------------------------------------------------------------------------------------------------ */

/* The address of a worker as other workers reach it. If the program reaches it by loopback, it is on this machine, so
 * other machines use the address by which they reach this machine. */
static dcli_resolved seen_by_others(const dcli_worker_pool *pool, const dcli_contact *contact)
{
    dcli_resolved own;
    for (int c = 0; c < pool->contact_count && contact->resolved.loopback; c++)
        if (!pool->contact[c].resolved.loopback && dcli_address_on_way_to(&pool->contact[c].resolved, &own))
            return own;
    return contact->resolved;
}

/* Record where a process listens: at the host that was called, whatever name the process reports. Other workers get
 * numeric addresses, because serving threads resolve no names. */
static dcl_status note_process(dcli_worker_pool *pool, int contact_number, int place, const dcli_msg_peer *peer)
{
    dcli_contact *contact = &pool->contact[contact_number];
    dcli_member *member = &pool->member[contact->first + place];
    dcli_resolved seen = seen_by_others(pool, contact);
    dcli_address told;
    dcl_status status = dcli_address_parse(peer->address, DCLI_TO_CALL, &told);
    if (status != DCL_OK)
        return status;
    dcli_resolved_text(&seen, told.port, member->address);
    snprintf(member->key, sizeof member->key, "%s", peer->key);
    snprintf(member->name, sizeof member->name, "%.200s, process %d of the session", contact->address, place);
    member->call = contact_number;
    member->place = place;
    return DCL_OK;
}

/* How a node recognises the host: by the public half of its key, or by a password for this node only. */
static void describe_host(const dcli_worker_pool *pool, int node, char key_out[DCLI_KEY_HEX])
{
    if (pool->has_keys)
        dcli_key_text(pool->own.public_key, key_out);
    else
        dcli_secret_derive(&pool->secret, DCLI_HOST_PASSWORD, node, key_out);
}

static dcl_status order_processes(dcli_worker_pool *pool, int contact_number)
{
    dcli_contact *contact = &pool->contact[contact_number];
    char key[DCLI_KEY_HEX] = "", secret[DCLI_KEY_HEX] = "", hosts[DCLI_MOST_NODES][DCLI_KEY_HEX];
    char names[DCLI_MOST_NODES][DCLI_KEY_HEX];
    dcli_msg_host host[DCLI_MOST_NODES];
    dcli_received opened = {0};
    if (pool->has_keys) {
        dcli_key_text(pool->nodes.public_key, key);
        dcli_key_text(pool->nodes.secret_key, secret);
    }
    for (int p = 0; p < contact->count; p++) {
        describe_host(pool, contact->first + p, hosts[p]);
        dcli_secret_derive(&pool->secret, DCLI_HOST_NAME, contact->first + p, names[p]);
        host[p] = (dcli_msg_host){.key = hosts[p], .name = names[p]};
    }
    dcli_message message = {.kind = DCLI_MSG_OPEN,
                            .open = {.session = pool->terms.session,
                                     .key = key,
                                     .password = pool->has_keys ? secret : pool->password,
                                     .silence_ms = (int64_t)pool->terms.config->silence_ms,
                                     .first = contact->first,
                                     .nodes = pool->capacity,
                                     .chunk_bytes = (int64_t)pool->terms.config->chunk_bytes,
                                     .opencl = pool->terms.opencl,
                                     .host_count = contact->count,
                                     .host = host}};
    dcl_status status = dcli_control_send(contact->call, &message);
    explicit_bzero(secret, sizeof secret);
    explicit_bzero(hosts, sizeof hosts);
    explicit_bzero(names, sizeof names);
    if (status == DCL_OK)
        status = hear(pool, contact->call, contact->address, DCLI_MSG_OPENED, &opened);
    if (status != DCL_OK)
        return status;
    const dcli_msg_opened *list = &opened.message.opened;
    if (list->peer_count != contact->count)
        status = DCLI_FAIL(DCL_ERR_PROTOCOL, "the worker at %s has opened %d processes; expected %d", contact->address,
                           list->peer_count, contact->count);
    for (int p = 0; p < list->peer_count && status == DCL_OK; p++)
        status = note_process(pool, contact_number, p, &list->peer[p]);
    dcli_received_free(&opened);
    return status;
}

static dcl_status open_endpoint(dcli_worker_pool *pool)
{
    dcli_wire_terms terms = {.net = pool->net,
                             .self = pool->capacity,
                             .peer_count = pool->capacity + 1,
                             .domain = domain,
                             .own = pool->has_keys ? &pool->own : NULL,
                             .password = pool->has_keys ? NULL : pool->password,
                             .host_secret = &pool->secret,
                             .silence_ms = (int64_t)pool->terms.config->silence_ms,
                             .most_message_bytes = DCLI_MOST_PAYLOAD,
                             .log = pool->terms.log};
    return dcli_endpoint_open_wire(&terms, &pool->endpoint);
}

/* Hand over the contacts to the process monitor; what they have sent meanwhile has still to be read. */
static void hand_to_monitor(dcli_worker_pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    for (; pool->attended < pool->contact_count; pool->attended++)
        pool->contact[pool->attended].heard_ms = dcli_monotonic_ms();
    pthread_mutex_unlock(&pool->lock);
}

dcl_status dcli_worker_pool_open_remote(dcli_worker_pool *pool, int count)
{
    dcl_status status = DCL_OK;
    pool->has_keys = pool->terms.config->keys != NULL;
    if ((pool->buffers = dcli_buffers_open()) == NULL)
        return DCL_ERR_NOMEM;
    status = dcli_secret_make(&pool->secret);
    if (status == DCL_OK)
        status = pool->has_keys ? dcli_keypair_make(&pool->own) : dcli_token_make(pool->password);
    if (status == DCL_OK && pool->has_keys)
        status = dcli_keypair_make(&pool->nodes);
    for (int c = 0; c < pool->contact_count && status == DCL_OK; c++)
        status = order_processes(pool, c);
    if (status == DCL_OK)
        status = open_endpoint(pool);
    if (status == DCL_OK)
        pool->node_count = count;
    for (int n = 0; n < count && status == DCL_OK; n++)
        status = dcli_endpoint_meet(pool->endpoint, n, pool->member[n].address, pool->member[n].key);
    hand_to_monitor(pool);
    return status;
}

dcl_status dcli_worker_pool_order_remote(dcli_worker_pool *pool)
{
    dcl_status status = DCL_OK;
    for (int c = pool->attended; c < pool->contact_count && status == DCL_OK; c++)
        status = order_processes(pool, c);
    hand_to_monitor(pool);
    return status;
}

/* ---- while the session lasts --------------------------------------------------------------------------------------- */

static void lose_contact(dcli_worker_pool *pool, int contact_number, const char *why)
{
    dcli_contact *contact = &pool->contact[contact_number];
    contact->lost = true;
    for (int n = contact->first; n < contact->first + contact->count; n++) {
        dcli_member *member = &pool->member[n];
        if (member->gone[0] == '\0')
            snprintf(member->gone, sizeof member->gone, "cannot be reached");
        dcli_worker_pool_report(pool, n, why);
    }
    pthread_cond_broadcast(&pool->changed);
}

static void hear_of_end(dcli_worker_pool *pool, const dcli_contact *contact, const dcli_msg_gone *gone)
{
    if (gone->process >= contact->count)
        return;
    int node = contact->first + gone->process;
    snprintf(pool->member[node].gone, sizeof pool->member[node].gone, "%s", gone->sentence);
    dcli_worker_pool_report(pool, node, "its host says so");
    pthread_cond_broadcast(&pool->changed);
}

/* Send a heartbeat to a listener, unless the host's serving thread hangs: its silence must be visible. */
static void beat(dcli_worker_pool *pool, dcli_contact *contact)
{
    if (pool->host == NULL || pool->calls->is_alive(pool->host))
        send_beat(pool, contact);
}

static void send_kills(dcli_worker_pool *pool, dcli_contact *contact)
{
    for (int n = contact->first; n < contact->first + contact->count; n++)
        if (pool->member[n].kill_due) {
            pool->member[n].kill_due = false;
            dcli_control_send(
                contact->call,
                &(dcli_message){.kind = DCLI_MSG_GONE, .gone = {.process = pool->member[n].place, .sentence = ""}});
        }
}

/* Limit the rate of a listener's messages: it answers heartbeats and reports ends, so it sends far fewer than a client
 * may. */
static dcl_status note_message(dcli_contact *contact)
{
    contact->heard_ms = dcli_monotonic_ms();
    if (contact->heard_ms - contact->second_ms >= 1000) {
        contact->second_ms = contact->heard_ms;
        contact->in_second = 0;
    }
    if (++contact->in_second <= DCLI_LISTENER_SESSION_RATE)
        return DCL_OK;
    return DCLI_FAIL(
        DCL_ERR_NODE_LOST,
        "the worker at %s sends more than %d messages a second; expected at most as many; run the same release "
        "there, or leave it out of DCL_WORKERS",
        contact->address, DCLI_LISTENER_SESSION_RATE);
}

bool dcli_worker_pool_attend(dcli_worker_pool *pool, int contact_number)
{
    enum { MOST_IN_TURN = 64 };
    dcli_contact *contact = &pool->contact[contact_number];
    pthread_mutex_lock(&pool->lock);
    dcl_status status = contact->lost ? DCL_ERR_TIMEOUT : DCL_OK;
    for (int n = 0; n < MOST_IN_TURN && (status == DCL_OK || status == DCL_ERR_PROTOCOL); n++) {
        dcli_received received = {0};
        status = dcli_control_receive(contact->call, 0, &received);
        bool is_message = status == DCL_OK || status == DCL_ERR_PROTOCOL;
        if (status == DCL_OK && received.message.kind == DCLI_MSG_GONE)
            hear_of_end(pool, contact, &received.message.gone);
        if (status == DCL_OK && received.message.kind == DCLI_MSG_PRINTED)
            dcli_worker_pool_hear_output(pool, contact, &received.message.printed);
        if (received.frames != NULL)
            dcli_received_free(&received);
        if (is_message && note_message(contact) != DCL_OK)
            status = DCL_ERR_NODE_LOST;
    }
    bool more = status == DCL_OK || status == DCL_ERR_PROTOCOL;
    if (!more && status != DCL_ERR_TIMEOUT)
        lose_contact(pool, contact_number, dcli_error_sentence());
    else if (!contact->lost && dcli_monotonic_ms() - contact->heard_ms > (int64_t)pool->terms.config->silence_ms)
        lose_contact(pool, contact_number, "its worker has been silent for longer than DCL_SILENCE_MS");
    if (!contact->lost) {
        beat(pool, contact);
        send_kills(pool, contact);
        dcli_worker_pool_send_shown(contact);
    }
    pthread_mutex_unlock(&pool->lock);
    return more;
}

int dcli_worker_pool_polled(dcli_worker_pool *pool, int contact, struct pollfd polled_out[])
{
    int descriptors[2];
    int count = dcli_control_descriptors(pool->contact[contact].call, descriptors);
    for (int d = 0; d < count; d++)
        polled_out[d] = (struct pollfd){.fd = descriptors[d], .events = POLLIN};
    return count;
}

void dcli_worker_pool_hang_up(dcli_worker_pool *pool)
{
    dcli_worker_pool_forget_contacts(pool, 0);
    explicit_bzero(pool->password, sizeof pool->password);
    explicit_bzero(&pool->secret, sizeof pool->secret);
    dcli_keypair_wipe(&pool->nodes);
}
