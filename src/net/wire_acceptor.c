/* net/wire_acceptor.c - listeners that know which connection has ended.
 *
 * libzmq reports connections by descriptor (events) and messages by routing id and descriptor (ZMQ_SRCFD). A descriptor
 * is reused after its connection has ended. The following makes that harmless:
 * - A connection is recorded with its cookie, a number that the system gives each socket and never reuses. Before
 *   anything is done to a descriptor, its cookie is compared. A record whose descriptor has another cookie is one of a
 *   connection that has ended.
 * - The event of an end is sent before the descriptor is closed. So if the events have been drained, the records made by
 *   earlier events have the cookies of their own connections.
 * - Different threads of libzmq accept and read. So the event that a connection has ended may come before the event that
 *   it was accepted: then its descriptor has been closed, and nothing is recorded, or it belongs to a later connection,
 *   which is recorded early. And the first message of a connection may arrive before the event that it was accepted. As
 *   long as the descriptor is a connection of this listener, that event will come, and is waited for.
 * - A received message names the descriptor and the routing id of its connection, which may have ended, while the
 *   descriptor belongs to a later one. So the later one must be authenticated, as only then it can have sent messages,
 *   and a message to the routing id must be accepted. For a moment after its descriptor was closed, the pipe of the
 *   ended connection still accepts: the command that ends it passes through the queues of libzmq's threads. With one
 *   thread of libzmq, as a worker's listener has, this command is ahead of the answer that authenticates the later
 *   connection. With more threads, in sessions, a message may still be ascribed to a later authenticated connection.
 * - To end a connection, the descriptor is duplicated, the duplicate's cookie compared, and the duplicate shut down.
 *   libzmq sees the end and closes its own descriptor.
 *
 * libzmq limits the bytes of a frame and the number of whole messages that wait. But it stores the frames of an
 * unfinished message without limit, with an object of 64 bytes for each empty frame of 2. So this file asks the system
 * how many bytes a connection has received (tcp(7), TCP_INFO). A connection that receives too many without a complete
 * message is ended; if all together are too many, those with the most. Handshake frames may be as large as those of
 * messages. Therefore a connection in the handshake, which is recognised by how little it was sent, may receive only
 * little. An edge-triggered epoll, which the owner of the listener polls, reports arriving bytes. The receive buffer is
 * small (ZMQ_RCVBUF), because libzmq reads what the system has received even after the end. */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "net/wire_socket.h"

/* ---- opening ------------------------------------------------------------------------------------------------------ */

static dcl_status bind_failed(const char *text)
{
    if (zmq_errno() == EADDRINUSE)
        return DCLI_FAIL(
            DCL_ERR_NETWORK,
            "address %s is in use; expected a port that nobody listens at; end the other program, or choose "
            "another port",
            text);
    return DCLI_FAIL(DCL_ERR_NETWORK, "zmq_bind(%s): %s; expected an address of this machine; correct it", text,
                     zmq_strerror(zmq_errno()));
}

/** Bind the first free port of the range. */
static dcl_status bind_in_range(dcli_acceptor *acceptor, const dcli_resolved *resolved, int first, int last)
{
    char text[DCLI_MOST_ADDRESS + 1];
    if (first < 1 || last > 65535 || first > last)
        return DCLI_FAIL(DCL_ERR_INVALID,
                         "the range of ports is %d-%d; expected two of 1..65535, the smaller one first; "
                         "correct it",
                         first, last);
    for (int port = first; port <= last; port++) {
        dcli_resolved_text(resolved, port, text);
        if (zmq_bind(acceptor->router, text) == 0)
            return DCL_OK;
        if (zmq_errno() != EADDRINUSE)
            return bind_failed(text);
    }
    return DCLI_FAIL(
        DCL_ERR_NETWORK,
        "all ports %d-%d of %s are in use; expected a free one for each process of a session; give a larger "
        "range",
        first, last, resolved->host);
}

static dcl_status bind_acceptor(dcli_acceptor *acceptor, const dcli_acceptor_terms *terms)
{
    dcli_address address;
    dcli_resolved resolved;
    dcl_status status = dcli_address_parse(terms->address, DCLI_TO_LISTEN, &address);
    if (status == DCL_OK)
        status = dcli_address_resolve(&address, &resolved);
    if (status == DCL_OK)
        status = dcli_address_check_listener(&address, &resolved, terms->own != NULL);
    if (status == DCL_OK)
        status = dcli_wire_option(acceptor->router, ZMQ_IPV6, resolved.ipv6);
    if (status != DCL_OK)
        return status;
    if (resolved.port == 0 && (terms->first_port != 0 || terms->last_port != 0))
        return bind_in_range(acceptor, &resolved, terms->first_port, terms->last_port);
    char text[DCLI_MOST_ADDRESS + 1];
    dcli_resolved_text(&resolved, resolved.port, text);
    return zmq_bind(acceptor->router, text) == 0 ? DCL_OK : bind_failed(address.text);
}

static dcl_status note_address(dcli_acceptor *acceptor)
{
    size_t length = sizeof acceptor->address, fd_length = sizeof acceptor->fd;
    if (zmq_getsockopt(acceptor->router, ZMQ_LAST_ENDPOINT, acceptor->address, &length) != 0 ||
        zmq_getsockopt(acceptor->router, ZMQ_FD, &acceptor->fd, &fd_length) != 0)
        return dcli_net_fail(DCL_ERR_NETWORK, "zmq_getsockopt", "free descriptors");
    const char *colon = strrchr(acceptor->address, ':');
    acceptor->port = colon != NULL ? atoi(colon + 1) : 0;
    return DCL_OK;
}

static dcl_status dress_acceptor(dcli_acceptor *acceptor, const dcli_acceptor_terms *terms)
{
    dcl_status status = dcli_wire_dress(acceptor->router, terms->silence_ms, terms->most_bytes);
    if (status == DCL_OK && terms->own == NULL)
        status = dcli_wire_stay_in_cache(acceptor->router);
    if (status == DCL_OK)
        status = dcli_wire_option(acceptor->router, ZMQ_ROUTER_MANDATORY, 1);
    if (status == DCL_OK)
        status = dcli_wire_option(acceptor->router, ZMQ_SNDHWM, terms->most_waiting);
    if (status == DCL_OK)
        status = dcli_wire_option(acceptor->router, ZMQ_RCVHWM, terms->most_waiting);
    /* Disable heartbeats of this side. If a client sends so much that libzmq stops reading, and then resets the
     * connection, a heartbeat would meet a state that libzmq considers impossible, and it would abort the process. The
     * other side's heartbeats, which set the allowed silence, remain. */
    if (status == DCL_OK && terms->most_waiting > 0)
        status = dcli_wire_option(acceptor->router, ZMQ_HEARTBEAT_IVL, 0);
    if (status == DCL_OK && terms->most_ahead > 0)
        status = dcli_wire_option(acceptor->router, ZMQ_RCVBUF, (int)(terms->most_ahead / 2)); /* Linux doubles it */
    if (status == DCL_OK && terms->own_id != NULL &&
        zmq_setsockopt(acceptor->router, ZMQ_ROUTING_ID, terms->own_id, DCLI_ROUTING_BYTES) != 0)
        status = dcli_net_fail(DCL_ERR_NETWORK, "zmq_setsockopt", "use libzmq 4.3 or newer");
    return status == DCL_OK
               ? dcli_authenticator_guard_socket(terms->authenticator, acceptor->router, terms->domain, terms->own)
               : status;
}

/** Limit of connections. The other descriptors are for everything else, since libzmq aborts the process if it finds
 *  none. */
static int most_connections(const dcli_acceptor_terms *terms)
{
    struct rlimit limit;
    bool few = getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur / 2 < (rlim_t)terms->most_connections;
    return few ? (int)(limit.rlim_cur / 2) : terms->most_connections;
}

dcl_status dcli_acceptor_open(const dcli_acceptor_terms *terms, dcli_acceptor *acceptor_out)
{
    dcli_acceptor acceptor = {.most = most_connections(terms),
                              .most_before = terms->most_before,
                              .most_ahead = terms->most_ahead,
                              .most_in_all = terms->most_in_all,
                              .has_keys = terms->own != NULL,
                              .arrivals = -1,
                              .router = dcli_net_socket(terms->net, ZMQ_ROUTER)};
    *acceptor_out = (dcli_acceptor){0};
    if (acceptor.router == NULL)
        return dcli_error_status();
    dcl_status status = dress_acceptor(&acceptor, terms);
    bool limited = acceptor.most_before > 0 || acceptor.most_ahead > 0 || acceptor.most_in_all > 0;
    if (status == DCL_OK && limited && (acceptor.arrivals = epoll_create1(EPOLL_CLOEXEC)) < 0)
        status = DCLI_FAIL(DCL_ERR_NETWORK, "epoll_create1: %s; expected a free descriptor; raise their limit",
                           strerror(errno));
    if (status == DCL_OK)
        status = dcli_monitor_open(terms->net, acceptor.router, &acceptor.monitor);
    if (status == DCL_OK)
        status = bind_acceptor(&acceptor, terms);
    if (status == DCL_OK)
        status = note_address(&acceptor);
    if (status == DCL_OK)
        *acceptor_out = acceptor;
    else
        dcli_acceptor_close(&acceptor);
    return status;
}

void dcli_acceptor_close(dcli_acceptor *acceptor)
{
    if (acceptor->router == NULL)
        return;
    dcli_monitor_close(&acceptor->monitor, acceptor->router);
    zmq_close(acceptor->router);
    if (acceptor->arrivals >= 0)
        close(acceptor->arrivals);
    dcli_free(acceptor->connection);
    *acceptor = (dcli_acceptor){0};
}

/* ---- cutting ------------------------------------------------------------------------------------------------------ */

static uint64_t cookie_of(int fd)
{
    uint64_t cookie = 0;
    socklen_t length = sizeof cookie;
    return getsockopt(fd, SOL_SOCKET, SO_COOKIE, &cookie, &length) == 0 ? cookie : 0;
}

/** Whether a descriptor is a connection of this listener. */
static bool is_of_acceptor(const dcli_acceptor *acceptor, int fd)
{
    struct sockaddr_storage name;
    socklen_t length = sizeof name;
    if (getsockname(fd, (struct sockaddr *)&name, &length) != 0)
        return false;
    if (name.ss_family == AF_INET)
        return ntohs(((const struct sockaddr_in *)(const void *)&name)->sin_port) == acceptor->port;
    return name.ss_family == AF_INET6 &&
           ntohs(((const struct sockaddr_in6 *)(const void *)&name)->sin6_port) == acceptor->port;
}

/** Cookie of the connection of this listener that has the descriptor. @return 0: there is none. */
static uint64_t cookie_in_acceptor(const dcli_acceptor *acceptor, int fd)
{
    uint64_t cookie = cookie_of(fd);
    return cookie != 0 && is_of_acceptor(acceptor, fd) && cookie_of(fd) == cookie ? cookie : 0;
}

static void cut_socket(int fd, uint64_t cookie)
{
    int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (copy < 0)
        return;
    if (cookie_of(copy) == cookie)
        shutdown(copy, SHUT_RDWR);
    close(copy);
}

/** The connection that was recorded last with this descriptor. It may have ended without an event so far. */
static dcli_connection *recorded_with(dcli_acceptor *acceptor, int fd)
{
    for (int64_t i = acceptor->count - 1; i >= 0; i--)
        if (acceptor->connection[i].fd == fd && !acceptor->connection[i].ended)
            return &acceptor->connection[i];
    return NULL;
}

/** The recorded connection with this descriptor, if it still has it: the socket's cookie is compared. @return NULL:
 *  none is recorded, or the descriptor now belongs to another socket. */
static dcli_connection *connection_of_fd(dcli_acceptor *acceptor, int fd)
{
    dcli_connection *connection = recorded_with(acceptor, fd);
    return connection != NULL && cookie_of(fd) == connection->cookie ? connection : NULL;
}

static dcli_connection *connection_of_holder(dcli_acceptor *acceptor, int64_t holder)
{
    for (int64_t i = 0; i < acceptor->count; i++)
        if (acceptor->connection[i].holder == holder)
            return &acceptor->connection[i];
    return NULL;
}

static void forget(dcli_acceptor *acceptor, dcli_connection *connection)
{
    int64_t place = connection - acceptor->connection;
    memmove(connection, connection + 1, (size_t)(acceptor->count - place - 1) * sizeof *connection);
    acceptor->count--;
}

static void cut(dcli_connection *connection)
{
    cut_socket(connection->fd, connection->cookie);
    connection->holder = -1;
    connection->cut = true;
}

void dcli_acceptor_cut(dcli_acceptor *acceptor, int64_t holder)
{
    dcli_connection *connection = connection_of_holder(acceptor, holder);
    if (connection != NULL && connection->ended)
        forget(acceptor, connection);
    else if (connection != NULL)
        cut(connection);
}

/** Note that a connection has ended. dcli_acceptor_next_end() reports it if it has a holder. */
static void end(dcli_acceptor *acceptor, dcli_connection *connection)
{
    if (connection->holder < 0)
        forget(acceptor, connection);
    else
        connection->ended = true;
}

/* ---- floods ------------------------------------------------------------------------------------------------------- */

/** Most bytes that an unauthenticated connection is sent: the greeting, with keys also WELCOME (RFC 25/CURVE: 170 bytes
 *  with its header), and one for the system, which counts the start of the connection as a byte. With a password,
 *  WELCOME follows the password. A connection that has acknowledged more was admitted, and may send messages only after
 *  that. */
static uint64_t most_told(const dcli_acceptor *acceptor)
{
    const uint64_t greeting = 64, welcome = 170;
    return greeting + (acceptor->has_keys ? welcome : 0) + 1;
}

/** Update the number of received bytes, and whether the connection is authenticated. If the kernel does not count bytes,
 *  the number is 0, and there is no limit. @return false: it does not count, or the connection has ended. */
static bool look_at_bytes(const dcli_acceptor *acceptor, dcli_connection *connection)
{
    uint64_t received, acknowledged;
    if (!dcli_wire_brought(connection->fd, &received, &acknowledged) || cookie_of(connection->fd) != connection->cookie)
        return false;
    connection->brought = received;
    connection->let_in = connection->let_in || acknowledged > most_told(acceptor);
    return true;
}

/** Report arriving bytes of a connection by epoll, from now on: earlier arrivals are not reported. If the connection
 *  has ended meanwhile, its descriptor is not this listener's, or belongs to a later connection, which is watched, too.
 *  Arrivals are reported only while there is something to process; if libzmq has already read everything, only
 *  writability is. */
static void watch(dcli_acceptor *acceptor, dcli_connection *connection)
{
    struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLET, .data.fd = connection->fd};
    if (acceptor->arrivals < 0)
        return;
    (void)epoll_ctl(acceptor->arrivals, EPOLL_CTL_ADD, connection->fd, &event);
    (void)look_at_bytes(acceptor, connection);
    acceptor->unseen = true;
}

/** Stop watching a connection that no limit applies to. */
static void unwatch_if_free(const dcli_acceptor *acceptor, const dcli_connection *connection)
{
    if (acceptor->arrivals >= 0 && acceptor->most_ahead == 0 && connection->let_in)
        (void)epoll_ctl(acceptor->arrivals, EPOLL_CTL_DEL, connection->fd, NULL);
}

/** Bytes of a connection that count against a limit. */
static uint64_t ahead_of(const dcli_acceptor *acceptor, const dcli_connection *connection)
{
    if (connection->cut || connection->ended || (connection->let_in && acceptor->most_ahead == 0))
        return 0;
    return connection->brought > connection->taken ? connection->brought - connection->taken : 0;
}

static bool is_beyond(const dcli_acceptor *acceptor, const dcli_connection *connection)
{
    int64_t most = connection->let_in ? acceptor->most_ahead : acceptor->most_before;
    return most > 0 && ahead_of(acceptor, connection) > (uint64_t)most;
}

/** Find a connection that exceeds a limit. @return NULL: there is none. */
static dcli_connection *find_flood(dcli_acceptor *acceptor)
{
    uint64_t all = 0;
    dcli_connection *largest = NULL;
    for (int64_t i = 0; i < acceptor->count; i++) {
        dcli_connection *connection = &acceptor->connection[i];
        if (is_beyond(acceptor, connection))
            return connection;
        all += ahead_of(acceptor, connection);
        if (largest == NULL || ahead_of(acceptor, connection) > ahead_of(acceptor, largest))
            largest = connection;
    }
    return acceptor->most_in_all > 0 && all > (uint64_t)acceptor->most_in_all ? largest : NULL;
}

/* ---- events ------------------------------------------------------------------------------------------------------- */

/** End the oldest connection over which nothing was received, so that silent ones do not keep others out. One that was
 *  admitted is spared, because it will send. */
static void cut_oldest_silent(dcli_acceptor *acceptor)
{
    int64_t open = 0;
    dcli_connection *oldest[2] = {NULL, NULL}; /* [0]: of those not authenticated yet, [1]: of those that are */
    for (int64_t i = 0; i < acceptor->count; i++) {
        dcli_connection *connection = &acceptor->connection[i];
        open += !connection->ended && !connection->cut;
        if (oldest[connection->let_in] == NULL && connection->holder < 0 && !connection->cut && !connection->ended)
            oldest[connection->let_in] = connection;
    }
    if (open <= acceptor->most)
        return;
    if (oldest[false] != NULL)
        cut(oldest[false]);
    else if (oldest[true] != NULL)
        cut(oldest[true]);
}

static void note_accepted(dcli_acceptor *acceptor, int fd)
{
    uint64_t cookie = cookie_in_acceptor(acceptor, fd);
    dcli_connection *former = recorded_with(acceptor, fd);
    if (cookie == 0 || (former != NULL && former->cookie == cookie))
        return; /* it has ended; or it is recorded already */
    if (former != NULL)
        end(acceptor, former);
    if (dcli_grow(&acceptor->connection, acceptor->count, &acceptor->capacity, sizeof *acceptor->connection) != 0) {
        cut_socket(fd, cookie); /* there is no memory to record the connection */
        return;
    }
    dcli_connection *connection = &acceptor->connection[acceptor->count++];
    *connection = (dcli_connection){.fd = fd, .cookie = cookie, .holder = -1, .since_ns = dcli_monotonic_ns()};
    watch(acceptor, connection);
    cut_oldest_silent(acceptor);
}

static void note_event(dcli_acceptor *acceptor, const dcli_event *event)
{
    if (event->kind == ZMQ_EVENT_ACCEPTED) {
        note_accepted(acceptor, event->value);
    } else if (event->kind == ZMQ_EVENT_DISCONNECTED) {
        dcli_connection *connection = recorded_with(acceptor, event->value);
        if (connection != NULL)
            end(acceptor, connection);
    }
}

static void drain(dcli_acceptor *acceptor)
{
    dcli_event event;
    while (dcli_monitor_next(&acceptor->monitor, &event))
        note_event(acceptor, &event);
}

bool dcli_acceptor_next_end(dcli_acceptor *acceptor, int64_t *holder_out)
{
    drain(acceptor);
    for (int64_t i = 0; i < acceptor->count; i++)
        if (acceptor->connection[i].ended) {
            *holder_out = acceptor->connection[i].holder;
            forget(acceptor, &acceptor->connection[i]);
            return true;
        }
    return false;
}

void dcli_acceptor_note_message(dcli_acceptor *acceptor, int64_t holder)
{
    dcli_connection *connection = acceptor->arrivals >= 0 ? connection_of_holder(acceptor, holder) : NULL;
    if (connection == NULL)
        return;
    (void)look_at_bytes(acceptor, connection);
    connection->taken = connection->brought;
}

/** Process reported arrivals. @return whether there were any. */
static bool look_at_arrivals(dcli_acceptor *acceptor)
{
    enum { AT_ONCE = 64 };
    struct epoll_event event[AT_ONCE];
    int count = epoll_wait(acceptor->arrivals, event, AT_ONCE, 0);
    for (int i = 0; i < count; i++) {
        dcli_connection *connection = connection_of_fd(acceptor, event[i].data.fd);
        if (connection == NULL)
            continue;
        (void)look_at_bytes(acceptor, connection);
        unwatch_if_free(acceptor, connection);
    }
    bool any = count > 0 || acceptor->unseen;
    acceptor->unseen = false;
    return any;
}

bool dcli_acceptor_next_flood(dcli_acceptor *acceptor, int64_t *holder_out)
{
    drain(acceptor);
    while (acceptor->arrivals >= 0 && look_at_arrivals(acceptor)) {
        dcli_connection *connection = find_flood(acceptor);
        if (connection == NULL)
            continue;
        *holder_out = connection->holder;
        cut(connection);
        acceptor->unseen = true; /* there may be more connections over a limit */
        return true;
    }
    return false;
}

int dcli_acceptor_cut_silent(dcli_acceptor *acceptor, int64_t before_ns)
{
    int count = 0;
    for (int64_t i = 0; i < acceptor->count && acceptor->connection[i].since_ns < before_ns; i++) {
        dcli_connection *connection = &acceptor->connection[i];
        if (connection->holder >= 0 || connection->cut)
            continue;
        cut(connection);
        count++;
    }
    return count;
}

int64_t dcli_acceptor_oldest_silent_ns(const dcli_acceptor *acceptor)
{
    for (int64_t i = 0; i < acceptor->count; i++)
        if (acceptor->connection[i].holder < 0 && !acceptor->connection[i].cut)
            return acceptor->connection[i].since_ns;
    return INT64_MAX;
}

/** Send an empty message, which the other side drops. */
static bool send_greeting(void *router, const void *id, size_t id_bytes)
{
    return zmq_send(router, id, id_bytes, ZMQ_DONTWAIT | ZMQ_SNDMORE) >= 0 &&
           zmq_send(router, "", 0, ZMQ_DONTWAIT) >= 0;
}

/** Whether a routing id belongs to a connection that has not ended. */
static bool has_connection(const dcli_acceptor *acceptor, const void *id, size_t id_bytes)
{
    (void)dcli_socket_has_input(acceptor->router); /* processes all commands, which zmq_send() may postpone */
    return send_greeting(acceptor->router, id, id_bytes);
}

/** Whether a message from this routing id came over a connection. The descriptor is that of the message, but the sender
 *  may have had it before. */
static bool is_sender(const dcli_acceptor *acceptor, dcli_connection *connection, const void *id, size_t id_bytes)
{
    bool known = look_at_bytes(acceptor, connection);
    return (!known || connection->let_in) && has_connection(acceptor, id, id_bytes);
}

void dcli_acceptor_cut_stranger(dcli_acceptor *acceptor, int fd, const void *id, size_t id_bytes)
{
    drain(acceptor);
    dcli_connection *connection = connection_of_fd(acceptor, fd);
    if (connection == NULL || connection->holder >= 0 || connection->cut)
        return;
    if (id == NULL || is_sender(acceptor, connection, id, id_bytes))
        cut(connection);
}

static dcli_connection *find_accepted(dcli_acceptor *acceptor, int fd)
{
    enum { PATIENCE_MS = 10, TIMES = 50 };
    zmq_pollitem_t news = {acceptor->monitor.events, 0, ZMQ_POLLIN, 0};
    drain(acceptor);
    dcli_connection *connection = connection_of_fd(acceptor, fd);
    for (int n = 0; n < TIMES && connection == NULL && is_of_acceptor(acceptor, fd); n++) {
        (void)zmq_poll(&news, 1, PATIENCE_MS);
        drain(acceptor);
        connection = connection_of_fd(acceptor, fd);
    }
    return connection;
}

bool dcli_acceptor_claim(dcli_acceptor *acceptor, int fd, const void *id, size_t id_bytes, int64_t holder)
{
    dcli_connection *connection = find_accepted(acceptor, fd);
    if (connection == NULL || connection->holder >= 0 || connection->cut)
        return false;
    if (!is_sender(acceptor, connection, id, id_bytes))
        return false;
    connection->holder = holder;
    connection->let_in = true;
    unwatch_if_free(acceptor, connection);
    return true;
}
