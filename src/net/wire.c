/* net/wire.c - the transport over tcp: one bound ROUTER for peers with higher numbers, and one that connects to those
 * with lower numbers. Sending: wire_send.c; receiving and lost peers: wire_take.c; listeners: wire_acceptor.c.
 * Source: zmq_socket(3), zmq_setsockopt(3): ZMQ_CONNECT_ROUTING_ID, ZMQ_PROBE_ROUTER. */
#include "net/wire.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "net/token.h"

/* ---- life --------------------------------------------------------------------------------------------------------- */

static void close_wire(dcli_endpoint *endpoint)
{
    dcli_wire *wire = endpoint->link;
    dcli_acceptor_close(&wire->acceptor);
    if (wire->outgoing != NULL) {
        dcli_monitor_close(&wire->monitor, wire->outgoing);
        zmq_close(wire->outgoing);
    }
    for (int peer = 0; wire->peer != NULL && peer < endpoint->peer_count; peer++) {
        dcli_parcels_free(&wire->peer[peer].to_send);
        dcli_parcels_free(&wire->peer[peer].early);
        dcli_free(wire->peer[peer].address);
    }
    dcli_parcels_free(&wire->ready);
    dcli_keypair_wipe(&wire->pair);
    if (wire->password != NULL)
        explicit_bzero(wire->password, strlen(wire->password));
    dcli_free(wire->password);
    explicit_bzero(&wire->host_secret, sizeof wire->host_secret);
    dcli_free(wire->peer);
    dcli_free(wire);
}

static int descriptors(const dcli_endpoint *endpoint, int descriptors_out[])
{
    dcli_wire_descriptors(endpoint->link, descriptors_out);
    return DCLI_WIRE_SOURCES;
}

static const dcli_transport transport = {.send = dcli_wire_send,
                                         .take = dcli_wire_take,
                                         .seems_ready = dcli_wire_seems_ready,
                                         .arm = dcli_wire_arm,
                                         .descriptors = descriptors,
                                         .found = dcli_wire_found,
                                         .due_ns = dcli_wire_due_ns,
                                         .close = close_wire,
                                         .by_threads = true,
                                         .most_descriptors = DCLI_WIRE_SOURCES};

static dcl_status check_terms(const dcli_wire_terms *terms)
{
    if ((terms->own != NULL) == (terms->password != NULL))
        return DCLI_FAIL(DCL_ERR_INVALID,
                         "%s given to an endpoint over tcp; expected one of the two; give keys, or on "
                         "loopback a password",
                         terms->own != NULL ? "both a key pair and a password are"
                                            : "neither a key pair nor a password is");
    if (terms->bind != NULL && (terms->authenticator == NULL || terms->domain == NULL))
        return DCLI_FAIL(
            DCL_ERR_INVALID,
            "an endpoint is to listen at %s without an authenticator; expected an authenticator and a domain of "
            "it; open the authenticator first",
            terms->bind);
    if (terms->silence_ms < 1 || terms->most_message_bytes < 0)
        return DCLI_FAIL(DCL_ERR_INVALID,
                         "silence_ms or most_message_bytes of an endpoint is not positive; expected the "
                         "session's; set both");
    return DCL_OK;
}

static int64_t most_bytes(const dcli_wire_terms *terms)
{
    const int64_t slack = 1 << 16; /* bytes that encryption may add */
    int64_t most = terms->most_message_bytes > DCLI_MOST_MESSAGE ? terms->most_message_bytes : DCLI_MOST_MESSAGE;
    return most + slack;
}

static dcl_status copy_terms(dcli_endpoint *endpoint, dcli_wire *wire, const dcli_wire_terms *terms)
{
    wire->last_from = wire->host = -1;
    wire->is_host = terms->host_secret != NULL;
    if (wire->is_host)
        wire->host_secret = *terms->host_secret;
    wire->silence_ms = terms->silence_ms;
    wire->log = terms->log;
    wire->peer = dcli_calloc((size_t)endpoint->peer_count, sizeof wire->peer[0]);
    if (terms->password != NULL)
        wire->password = dcli_strdup(terms->password);
    if (wire->peer == NULL || (terms->password != NULL && wire->password == NULL))
        return DCL_ERR_NOMEM;
    for (int peer = 0; peer < endpoint->peer_count; peer++)
        wire->peer[peer].fd = wire->peer[peer].connection = -1;
    if (terms->own != NULL) {
        wire->pair = *terms->own;
        wire->own = &wire->pair;
    }
    return DCL_OK;
}

static dcl_status open_outgoing(dcli_endpoint *endpoint, dcli_wire *wire, const dcli_wire_terms *terms,
                                const unsigned char *id)
{
    wire->outgoing = dcli_net_socket(endpoint->net, ZMQ_ROUTER);
    if (wire->outgoing == NULL)
        return dcli_error_status();
    dcl_status status = dcli_wire_dress(wire->outgoing, terms->silence_ms, most_bytes(terms));
    if (status == DCL_OK && wire->own == NULL)
        status = dcli_wire_stay_in_cache(wire->outgoing);
    if (status == DCL_OK)
        status = dcli_wire_option(wire->outgoing, ZMQ_ROUTER_MANDATORY, 1);
    if (status == DCL_OK)
        /* Sends an empty message that identifies the caller. */
        status = dcli_wire_option(wire->outgoing, ZMQ_PROBE_ROUTER, 1);
    size_t length = sizeof wire->outgoing_fd;
    if (status == DCL_OK && (zmq_setsockopt(wire->outgoing, ZMQ_ROUTING_ID, id, DCLI_ROUTING_BYTES) != 0 ||
                             zmq_getsockopt(wire->outgoing, ZMQ_FD, &wire->outgoing_fd, &length) != 0))
        status = dcli_net_fail(DCL_ERR_NETWORK, "zmq_setsockopt", "use libzmq 4.3 or newer");
    return status == DCL_OK ? dcli_monitor_open(endpoint->net, wire->outgoing, &wire->monitor) : status;
}

static dcl_status open_acceptor(dcli_endpoint *endpoint, dcli_wire *wire, const dcli_wire_terms *terms,
                                const unsigned char *id)
{
    dcli_acceptor_terms acceptor = {.net = endpoint->net,
                                    .address = terms->bind,
                                    .first_port = terms->first_port,
                                    .last_port = terms->last_port,
                                    .authenticator = terms->authenticator,
                                    .domain = terms->domain,
                                    .own = wire->own,
                                    .silence_ms = terms->silence_ms,
                                    .most_bytes = most_bytes(terms),
                                    .most_connections = terms->peer_count + DCLI_WIRE_SPARE,
                                    .most_before = DCLI_ACCEPTOR_HANDSHAKE,
                                    .own_id = id};
    return dcli_acceptor_open(&acceptor, &wire->acceptor);
}

static dcl_status open_wire(dcli_endpoint *endpoint, const dcli_wire_terms *terms)
{
    dcli_wire *wire = endpoint->link;
    unsigned char id[DCLI_ROUTING_BYTES];
    dcli_routing_id(endpoint->self, id);
    dcl_status status = copy_terms(endpoint, wire, terms);
    if (status == DCL_OK)
        status = open_outgoing(endpoint, wire, terms, id);
    if (status == DCL_OK && terms->bind != NULL)
        status = open_acceptor(endpoint, wire, terms, id);
    return status;
}

dcl_status dcli_endpoint_open_wire(const dcli_wire_terms *terms, dcli_endpoint **endpoint_out)
{
    dcl_status status = check_terms(terms);
    if (status != DCL_OK)
        return status;
    dcli_endpoint *endpoint =
        dcli_endpoint_new(terms->net, &transport, terms->self, terms->peer_count, sizeof(dcli_wire));
    if (endpoint == NULL)
        return dcli_error_status();
    status = open_wire(endpoint, terms);
    if (status != DCL_OK) {
        dcli_endpoint_close(endpoint);
        return status;
    }
    *endpoint_out = endpoint;
    return DCL_OK;
}

const char *dcli_endpoint_address(const dcli_endpoint *endpoint)
{
    const dcli_wire *wire = endpoint->link;
    return endpoint->transport == &transport ? wire->acceptor.address : "";
}

/* ---- introductions ------------------------------------------------------------------------------------------------ */

static dcl_status check_peer(const dcli_endpoint *endpoint, int peer, int first, int last, const char *verb)
{
    if (endpoint->transport != &transport)
        return DCLI_FAIL(DCL_ERR_INVALID, "peer %d is to %s by peer %d, which is not reached by tcp", peer, verb,
                         endpoint->self);
    if (peer >= first && peer <= last)
        return DCL_OK;
    return DCLI_FAIL(DCL_ERR_INVALID,
                     "peer %d is to %s by peer %d; expected %d..%d: the higher number connects to the "
                     "lower; do it on the other side",
                     peer, verb, endpoint->self, first, last);
}

static dcl_status check_address_is_new(const dcli_endpoint *endpoint, const char *address)
{
    const dcli_wire *wire = endpoint->link;
    for (int peer = 0; peer < endpoint->self; peer++)
        if (wire->peer[peer].address != NULL && strcmp(wire->peer[peer].address, address) == 0)
            return DCLI_FAIL(DCL_ERR_INVALID,
                             "address %s is peer %d's already; expected an address for each peer; correct "
                             "it",
                             address, peer);
    return DCL_OK;
}

size_t dcli_wire_id(const dcli_wire *wire, int peer, unsigned char id_out[DCLI_HOST_ROUTING_BYTES])
{
    if (peer == wire->host) {
        memcpy(id_out, wire->host_id, sizeof wire->host_id);
        return sizeof wire->host_id;
    }
    dcli_routing_id(peer, id_out);
    return DCLI_ROUTING_BYTES;
}

/** Set the own routing id for a connection: a host has one for each node. */
static dcl_status name_host(const dcli_wire *wire, int peer)
{
    char name[DCLI_KEY_HEX];
    unsigned char id[DCLI_HOST_ROUTING_BYTES];
    dcli_secret_derive(&wire->host_secret, DCLI_HOST_NAME, peer, name);
    dcli_host_routing_id(name, id);
    explicit_bzero(name, sizeof name);
    return zmq_setsockopt(wire->outgoing, ZMQ_ROUTING_ID, id, sizeof id) == 0
               ? DCL_OK
               : dcli_net_fail(DCL_ERR_NETWORK, "zmq_setsockopt", "use libzmq 4.3 or newer");
}

/** Set the credentials for a connection. A host without keys has a password for each node, which no other node
 *  knows. */
static dcl_status present(const dcli_wire *wire, int peer, const char *key)
{
    char password[DCLI_KEY_HEX];
    if (!wire->is_host || wire->own != NULL)
        return dcli_wire_present(wire->outgoing, wire->own, DCLI_AUTHENTICATOR_USER, wire->password, key);
    dcli_secret_derive(&wire->host_secret, DCLI_HOST_PASSWORD, peer, password);
    dcl_status status = dcli_wire_present(wire->outgoing, NULL, DCLI_AUTHENTICATOR_HOST, password, key);
    explicit_bzero(password, sizeof password);
    return status;
}

/** Connect to a peer. Each zmq_connect() captures the current options of the socket. */
static dcl_status connect_to(dcli_wire *wire, int peer, const dcli_resolved *resolved, const char *text,
                             const char *key)
{
    unsigned char id[DCLI_ROUTING_BYTES];
    dcli_routing_id(peer, id);
    dcl_status status = dcli_net_check_descriptors();
    if (status == DCL_OK)
        status = present(wire, peer, key);
    if (status == DCL_OK && wire->is_host)
        status = name_host(wire, peer);
    if (status == DCL_OK)
        status = dcli_wire_option(wire->outgoing, ZMQ_IPV6, resolved->ipv6);
    if (status != DCL_OK)
        return status;
    if (zmq_setsockopt(wire->outgoing, ZMQ_CONNECT_ROUTING_ID, id, sizeof id) != 0 ||
        zmq_connect(wire->outgoing, text) != 0)
        return dcli_net_fail(DCL_ERR_NETWORK, "zmq_connect", "check the address");
    return DCL_OK;
}

dcl_status dcli_endpoint_meet(dcli_endpoint *endpoint, int peer, const char *address, const char *key)
{
    dcli_wire *wire = endpoint->link;
    dcli_address parsed;
    dcli_resolved resolved;
    char text[DCLI_MOST_ADDRESS + 1];
    dcl_status status = check_peer(endpoint, peer, 0, endpoint->self - 1, "be called");
    if (status == DCL_OK && wire->peer[peer].state != DCLI_WIRE_UNKNOWN)
        status = DCLI_FAIL(DCL_ERR_INVALID,
                           "peer %d is met a second time; expected once; a peer that was lost stays lost", peer);
    if (status == DCL_OK)
        status = dcli_address_parse(address, DCLI_TO_CALL, &parsed);
    if (status == DCL_OK)
        status = dcli_address_resolve_within(&parsed, 0, &resolved);
    if (status == DCL_OK)
        status = dcli_address_check_call(&parsed, &resolved, wire->own != NULL);
    if (status != DCL_OK)
        return status;
    dcli_resolved_text(&resolved, resolved.port, text);
    status = check_address_is_new(endpoint, text);
    char *kept = status == DCL_OK ? dcli_strdup(text) : NULL;
    if (kept == NULL)
        return status != DCL_OK ? status : DCL_ERR_NOMEM;
    /* The handshake reveals the password, so the listener's owner is checked before. After the handshake the owner of
     * the other end is checked, too. */
    bool foreign = wire->own == NULL && resolved.loopback &&
                   dcli_token_listener_is_not_foreign(resolved.host, resolved.port) != DCL_OK;
    if (foreign)
        DCLI_LOG(wire->log, DCLI_LOG_WARN, "peer %d: %s", peer, dcli_error_sentence());
    else
        status = connect_to(wire, peer, &resolved, text, key);
    if (status != DCL_OK) {
        dcli_free(kept);
        return status;
    }
    wire->peer[peer].address = kept;
    wire->peer[peer].state = DCLI_WIRE_MET;
    wire->peer[peer].foreign = foreign;
    if (foreign)
        dcli_wire_set(endpoint, peer, DCLI_END_REFUSED);
    dcli_wire_stir_outgoing(wire);
    return DCL_OK;
}

/** Write a key as the authenticator reports it: in lower case; without keys, the user name. */
static dcl_status note_key(dcli_wire *wire, const char *key, const char *user, char hex_out[DCLI_KEY_HEX])
{
    char z85[DCLI_KEY_Z85];
    snprintf(hex_out, DCLI_KEY_HEX, "%s", user);
    if ((*key != '\0') != (wire->own != NULL))
        return DCLI_FAIL(DCL_ERR_INVALID,
                         "a peer that is expected has %s; expected %s; all peers of a session have keys, or "
                         "none",
                         *key != '\0' ? "a key" : "no key", *key != '\0' ? "none" : "one");
    if (*key == '\0')
        return DCL_OK;
    dcl_status status = dcli_key_parse(key, z85);
    if (status == DCL_OK)
        dcli_key_text(z85, hex_out);
    return status;
}

static dcl_status expect(dcli_endpoint *endpoint, int peer, const char *key, const char *user)
{
    dcli_wire *wire = endpoint->link;
    char hex[DCLI_KEY_HEX];
    dcl_status status = check_peer(endpoint, peer, endpoint->self + 1, endpoint->peer_count - 1, "be expected");
    if (status == DCL_OK)
        status = note_key(wire, key, user, hex);
    if (status != DCL_OK)
        return status;
    dcli_wire_peer *one = &wire->peer[peer];
    bool early = one->state == DCLI_WIRE_UNEXPECTED;
    if (wire->acceptor.router == NULL || (!early && one->state != DCLI_WIRE_UNKNOWN))
        return DCLI_FAIL(DCL_ERR_INVALID,
                         "peer %d cannot be expected %s; expected once, where this peer listens; a peer that "
                         "was lost stays lost",
                         peer, wire->acceptor.router == NULL ? "here" : "again");
    bool own_key = !early || strcmp(one->key, hex) == 0;
    if (early && !own_key) { /* someone else used its number; its own connection may still come */
        dcli_acceptor_cut(&wire->acceptor, peer);
        dcli_wire_stir_acceptor(wire);
        dcli_parcels_free(&one->early);
        one->fd = -1;
        one->ended = one->malformed = false;
        one->heard = one->sent = one->told = one->view = 0;
        one->direct = false;
        one->broken[0] = '\0';
        endpoint->refused++;
        wire->refused++;
    }
    snprintf(one->key, sizeof one->key, "%s", hex);
    one->state = DCLI_WIRE_EXPECTED;
    if (!early || !own_key)
        return DCL_OK;
    dcli_parcels_join(&wire->ready, &one->early);
    if (one->ended)
        dcli_wire_set(endpoint, peer, DCLI_END_LOST);
    else
        dcli_wire_rise(endpoint, peer);
    return DCL_OK;
}

dcl_status dcli_endpoint_expect(dcli_endpoint *endpoint, int peer, const char *key)
{
    return expect(endpoint, peer, key, DCLI_AUTHENTICATOR_USER);
}

dcl_status dcli_endpoint_expect_host(dcli_endpoint *endpoint, int peer, const char *key, const char *name)
{
    dcli_wire *wire = endpoint->link;
    dcl_status status = expect(endpoint, peer, key, DCLI_AUTHENTICATOR_HOST);
    if (status != DCL_OK)
        return status;
    wire->host = peer;
    dcli_host_routing_id(name, wire->host_id);
    return DCL_OK;
}
