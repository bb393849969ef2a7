/* fleet/serve_wire.c - a worker process of a session over tcp. Its terms hold secrets, so they come through a socket
 * from its parent; through the same socket it reports where it listens. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "fleet/control.h"
#include "fleet/serving.h"
#include "net/wire_address.h"

static const char domain[] = "session";

/* Log of refused connections, at the worker's level and not the session's: it is for the worker's owner. */
static dcli_log refusals;

/* ---- terms -------------------------------------------------------------------------------------------------------- */

dcl_status dcli_serving_read_wire_terms(dcli_serving *serving)
{
    dcli_wire_order *order = &serving->order;
    ssize_t got = recv(serving->control, order, sizeof *order, 0);
    if (got != (ssize_t)sizeof *order || order->magic != DCLI_WIRE_ORDER || order->nodes < 1 ||
        order->nodes > DCLI_MOST_NODES || order->self < 0 || order->self >= order->nodes || order->chunk_bytes < 0)
        return DCLI_FAIL(DCL_ERR_INVALID,
                         "the parent of this process has given it no terms; worker processes are started "
                         "by `dcl worker`");
    serving->self = order->self;
    serving->node_count = order->nodes;
    serving->session = order->session;
    serving->device_number = order->device;
    serving->quota_bytes = order->quota_bytes;
    serving->is_opencl = order->opencl;
    order->files[sizeof order->files - 1] = '\0';
    serving->log.level = refusals.level = order->log;
    return DCL_OK;
}

/* ---- opening ------------------------------------------------------------------------------------------------------ */

/* Make the authentication domain. With keys, all nodes of a session share one key pair that nobody else has, so each
 * admits all others from the beginning, in any order. The host has another pair, whose secret no node knows. Without
 * keys, on loopback, the nodes share a password, and the host has another one. */
static dcl_status make_domain(dcli_serving *serving)
{
    const dcli_wire_order *order = &serving->order;
    char host[DCLI_KEY_Z85];
    if (order->key[0] == '\0') {
        dcl_status added = dcli_authenticator_add_password(serving->authenticator, domain, order->password);
        return added == DCL_OK ? dcli_authenticator_add_host(serving->authenticator, domain, order->host) : added;
    }
    serving->has_keys = true;
    dcl_status status = dcli_key_parse(order->key, serving->own.public_key);
    if (status == DCL_OK)
        status = dcli_key_parse(order->host, host);
    if (status == DCL_OK)
        status = dcli_key_parse(order->password, serving->own.secret_key);
    if (status == DCL_OK)
        status = dcli_authenticator_add_keys(serving->authenticator, domain);
    if (status == DCL_OK)
        status = dcli_authenticator_allow(serving->authenticator, domain, serving->own.public_key);
    return status == DCL_OK ? dcli_authenticator_allow(serving->authenticator, domain, host) : status;
}

/* Largest payload that members of a session send each other; strangers cannot make this process store more either. */
static int64_t most_payload(const dcli_wire_order *order)
{
    const int64_t most = DCLI_MOST_PAYLOAD - DCLI_MOST_ELEMENT;
    return (order->chunk_bytes < most ? order->chunk_bytes : most) + DCLI_MOST_ELEMENT;
}

static dcl_status open_endpoint(dcli_serving *serving)
{
    const dcli_wire_order *order = &serving->order;
    dcli_wire_terms terms = {.net = serving->net,
                             .self = serving->self,
                             .peer_count = serving->node_count + 1,
                             .bind = order->bind,
                             .first_port = order->first_port,
                             .last_port = order->last_port,
                             .authenticator = serving->authenticator,
                             .domain = domain,
                             .own = serving->has_keys ? &serving->own : NULL,
                             .password = serving->has_keys ? NULL : order->password,
                             .silence_ms = order->silence_ms,
                             .most_message_bytes = most_payload(order),
                             .log = &refusals};
    dcl_status status = dcli_endpoint_open_wire(&terms, &serving->endpoint);
    const char *host = serving->has_keys ? order->host : "";
    return status == DCL_OK
               ? dcli_endpoint_expect_host(serving->endpoint, serving->node_count, host, serving->order.host_name)
               : status;
}

void dcli_serving_answer(dcli_serving *serving, dcl_status status)
{
    dcli_wire_answer answer = {.magic = DCLI_WIRE_ORDER, .status = status};
    if (status == DCL_OK)
        snprintf(answer.address, sizeof answer.address, "%s", dcli_endpoint_address(serving->endpoint));
    else
        snprintf(answer.problem, sizeof answer.problem, "%s", dcli_error_sentence());
    if (serving->has_keys)
        dcli_key_text(serving->own.public_key, answer.key);
    send(serving->control, &answer, sizeof answer, MSG_NOSIGNAL);
}

/* Let malloc reuse freed memory of libzmq's messages instead of returning it to the system, because fresh pages cost
 * more than filling them. Use one arena, since each arena would retain its own memory. */
static void keep_freed_memory(void)
{
    mallopt(M_ARENA_MAX, 1);
    mallopt(M_MMAP_THRESHOLD, 32 << 20); /* the largest value that mallopt() accepts */
    mallopt(M_TRIM_THRESHOLD, 128 << 20);
}

dcl_status dcli_serving_open_wire(dcli_serving *serving)
{
    keep_freed_memory();
    dcl_status status = dcli_net_open_io(serving->order.io_threads, &serving->net);
    if (status == DCL_OK && (serving->buffers = dcli_buffers_open()) == NULL)
        status = DCL_ERR_NOMEM;
    if (status == DCL_OK)
        status = dcli_authenticator_open(serving->net, &refusals, &serving->authenticator);
    if (status == DCL_OK)
        status = make_domain(serving);
    if (status == DCL_OK)
        status = open_endpoint(serving);
    return status;
}

/* ---- meeting ------------------------------------------------------------------------------------------------------ */

static bool is_between(int port, int first, int last) { return first > 0 && port >= first && port <= last; }

/* Check a peer's port against the allowed ranges: connecting would fail without a clear reason. */
static dcl_status check_port(const dcli_serving *serving, int peer, const char *text)
{
    const dcli_wire_order *order = &serving->order;
    dcli_address address;
    dcl_status status = dcli_address_parse(text, DCLI_TO_CALL, &address);
    if (status != DCL_OK || !order->contain || is_between(address.port, order->first_port, order->last_port) ||
        is_between(address.port, order->first_peer_port, order->last_peer_port))
        return status;
    status =
        DCLI_FAIL(DCL_ERR_NETWORK,
                  "node %d listens at port %d; this worker's processes connect to ports %d-%d only; give all workers "
                  "of a cluster the same --ports, or this one --peer-ports",
                  peer, address.port, order->first_port, order->last_port);
    DCLI_LOG(&refusals, DCLI_LOG_WARN, "session %016" PRIx64 ": %s", serving->session, dcli_error_sentence());
    return status;
}

static dcl_status meet(dcli_serving *serving, int p, const dcli_msg_peer *peer)
{
    if (!peer->present || p == serving->self)
        return DCL_OK;
    if (p > serving->self)
        return dcli_endpoint_expect(serving->endpoint, p, peer->key);
    dcl_status status = check_port(serving, p, peer->address);
    return status == DCL_OK ? dcli_endpoint_meet(serving->endpoint, p, peer->address, peer->key) : status;
}

dcl_status dcli_serving_meet_all(dcli_serving *serving, const dcli_msg_setup *setup)
{
    dcl_status status = DCL_OK;
    for (int p = 0; p < serving->node_count && status == DCL_OK; p++)
        status = meet(serving, p, &setup->peer[p]);
    return status;
}

void dcli_serving_meet_each(dcli_serving *serving, const dcli_msg_setup *setup, bool apart_out[])
{
    for (int p = 0; p < serving->node_count; p++)
        apart_out[p] = meet(serving, p, &setup->peer[p]) != DCL_OK || !setup->peer[p].present;
    apart_out[serving->self] = false;
}

void dcli_serving_close_wire(dcli_serving *serving)
{
    dcli_authenticator_close(serving->authenticator);
    dcli_keypair_wipe(&serving->own);
    explicit_bzero(&serving->order, sizeof serving->order);
}
