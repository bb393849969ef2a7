/* net/net.c - what the endpoints of a program share: the ZeroMQ context, and the mailboxes of each session. */
#include "net/net.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "net/endpoint.h"

dcl_status dcli_net_fail(dcl_status status, const char *call, const char *remedy)
{
    int code = zmq_errno();
    const char *name = strerrorname_np(code); /* NULL for libzmq's own codes */
    return DCLI_FAIL(status, "%s: %s, %s; %s", call, name != NULL ? name : "its own error", zmq_strerror(code), remedy);
}

dcl_status dcli_net_check_descriptors(void)
{
    struct rlimit limit;
    int lowest_free = eventfd(0, EFD_CLOEXEC); /* the system assigns the lowest free descriptor */
    if (lowest_free >= 0)
        close(lowest_free);
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return dcli_net_fail(DCL_ERR_NETWORK, "getrlimit", "check the limits of this process");
    if (lowest_free >= 0 && (rlim_t)lowest_free + DCLI_FREE_DESCRIPTORS < limit.rlim_cur)
        return DCL_OK;
    return DCLI_FAIL(DCL_ERR_NETWORK,
                     "the limit of %" PRIu64
                     " open descriptors is nearly reached; expected %d to be free; raise it with "
                     "`ulimit -n`, or use fewer nodes: each pair that exchanges data takes one in either direction",
                     (uint64_t)limit.rlim_cur, DCLI_FREE_DESCRIPTORS);
}

static dcl_status set_option(void *socket, int option, int value)
{
    if (zmq_setsockopt(socket, option, &value, sizeof value) != 0)
        return dcli_net_fail(DCL_ERR_NETWORK, "zmq_setsockopt", "this libzmq is not fit for DCL: use 4.3 or newer");
    return DCL_OK;
}

void *dcli_net_socket(dcli_net *net, int type)
{
    if (dcli_net_check_descriptors() != DCL_OK)
        return NULL;
    void *socket = zmq_socket(net->context, type);
    if (socket == NULL) {
        dcli_net_fail(DCL_ERR_NETWORK, "zmq_socket", "use fewer nodes");
        return NULL;
    }
    if (set_option(socket, ZMQ_LINGER, 0) == DCL_OK && set_option(socket, ZMQ_SNDHWM, 0) == DCL_OK &&
        set_option(socket, ZMQ_RCVHWM, 0) == DCL_OK)
        return socket;
    zmq_close(socket);
    return NULL;
}

/** Raise libzmq's limit of sockets: their number grows with the square of the number of peers. */
static dcl_status allow_sockets(void *context, int io_threads)
{
    int most = zmq_ctx_get(context, ZMQ_SOCKET_LIMIT);
    if (most <= 0 || zmq_ctx_set(context, ZMQ_MAX_SOCKETS, most) != 0 ||
        zmq_ctx_set(context, ZMQ_IO_THREADS, io_threads) != 0)
        return dcli_net_fail(DCL_ERR_NETWORK, "zmq_ctx_set", "this libzmq is not fit for DCL: use 4.3 or newer");
    return DCL_OK;
}

dcl_status dcli_net_open(dcli_net **net_out) { return dcli_net_open_io(0, net_out); }

dcl_status dcli_net_open_io(int io_threads, dcli_net **net_out)
{
    dcl_status status = dcli_net_check_descriptors();
    if (status != DCL_OK)
        return status;
    dcli_net *net = dcli_calloc(1, sizeof *net);
    if (net == NULL)
        return DCL_ERR_NOMEM;
    net->context = zmq_ctx_new();
    if (net->context == NULL) {
        status = dcli_net_fail(DCL_ERR_NETWORK, "zmq_ctx_new", "free memory and descriptors");
        goto free_net;
    }
    status = allow_sockets(net->context, io_threads);
    if (status != DCL_OK)
        goto end_context;
    pthread_mutex_init(&net->lock, NULL);
    *net_out = net;
    return DCL_OK;

end_context:
    zmq_ctx_term(net->context);
free_net:
    dcli_free(net);
    return status;
}

void dcli_net_close(dcli_net *net)
{
    if (net == NULL)
        return;
    assert(net->sessions == NULL && "all endpoints are closed before their net");
    while (zmq_ctx_term(net->context) != 0 && zmq_errno() == EINTR)
        ;
    pthread_mutex_destroy(&net->lock);
    dcli_free(net);
}

static dcli_session *find_or_make(dcli_net *net, uint64_t number, int peer_count)
{
    for (dcli_session *session = net->sessions; session != NULL; session = session->next)
        if (session->number == number)
            return session;
    dcli_session *session = dcli_calloc(1, sizeof *session + (size_t)peer_count * sizeof session->mailbox[0]);
    if (session == NULL)
        return NULL;
    for (int p = 0; p < peer_count; p++)
        session->mailbox[p].descriptor = -1;
    session->number = number;
    session->peer_count = peer_count;
    session->next = net->sessions;
    net->sessions = session;
    return session;
}

dcli_session *dcli_session_enter(dcli_net *net, uint64_t number, int peer_count)
{
    pthread_mutex_lock(&net->lock);
    dcli_session *session = find_or_make(net, number, peer_count);
    if (session != NULL && session->peer_count != peer_count) {
        DCLI_FAIL(DCL_ERR_INVALID,
                  "peer_count is %d; expected %d, as session %" PRIu64 " was made with; choose another "
                  "session",
                  peer_count, session->peer_count, number);
        session = NULL;
    }
    if (session != NULL)
        session->endpoints++;
    pthread_mutex_unlock(&net->lock);
    return session;
}

void dcli_session_leave(dcli_net *net, dcli_session *session)
{
    pthread_mutex_lock(&net->lock);
    bool last = --session->endpoints == 0;
    if (last) {
        dcli_session **link = &net->sessions;
        while (*link != session)
            link = &(*link)->next;
        *link = session->next;
    }
    pthread_mutex_unlock(&net->lock);
    if (!last)
        return;
    for (int p = 0; p < session->peer_count; p++) {
        dcli_mailbox_empty(&session->mailbox[p]);
        if (session->mailbox[p].descriptor >= 0)
            close(session->mailbox[p].descriptor);
    }
    dcli_free(session);
}
