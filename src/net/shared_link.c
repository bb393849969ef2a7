/* net/shared_link.c - making, opening and ending the links between processes of one host. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "net/shared.h"

static void close_if_open(int *descriptor)
{
    if (*descriptor >= 0)
        close(*descriptor);
    *descriptor = -1;
}

/* ---- making ------------------------------------------------------------------------------------------------------- */

static const char more_descriptors[] = "raise the limit of open descriptors with `ulimit -n`";

static dcl_status make_ends(dcli_shared_link ends_out[2])
{
    dcli_sealed memory;
    dcl_status status = dcli_sealed_make(sizeof(dcli_ring_pair), DCLI_SEALED_WRITABLE, &memory);
    if (status != DCL_OK)
        return status;
    for (int side = 0; side < 2; side++)
        ends_out[side] = (dcli_shared_link){-1, fcntl(memory.descriptor, F_DUPFD_CLOEXEC, 0), side};
    int code = errno;
    dcli_sealed_close(&memory);
    if (ends_out[0].memory >= 0 && ends_out[1].memory >= 0)
        return DCL_OK;
    errno = code;
    return dcli_net_fail(DCL_ERR_NETWORK, "fcntl(F_DUPFD_CLOEXEC)", more_descriptors);
}

dcl_status dcli_shared_link_make(dcli_shared_link ends_out[2])
{
    int sockets[2];
    dcl_status status = dcli_net_check_descriptors();
    if (status != DCL_OK)
        return status;
    dcli_shared_link ends[2] = {{-1, -1, 0}, {-1, -1, 1}};
    status = make_ends(ends);
    if (status == DCL_OK && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, sockets) != 0)
        status = dcli_net_fail(DCL_ERR_NETWORK, "socketpair", more_descriptors);
    for (int side = 0; side < 2; side++) {
        if (status != DCL_OK)
            close_if_open(&ends[side].memory);
        else {
            ends[side].socket = sockets[side];
            ends_out[side] = ends[side];
        }
    }
    return status;
}

void dcli_shared_link_close(dcli_shared_link *end)
{
    if (end->socket >= 0)
        close_if_open(&end->memory);
    close_if_open(&end->socket);
}

/* ---- opening and closing ------------------------------------------------------------------------------------------ */

static dcl_status check_end(const dcli_shared_link *end)
{
    int type = 0;
    socklen_t length = sizeof type;
    if (end->side != 0 && end->side != 1)
        return DCLI_FAIL(DCL_ERR_INVALID,
                         "side of a link is %d; expected 0 or 1; give each process one of the two ends", end->side);
    if (getsockopt(end->socket, SOL_SOCKET, SO_TYPE, &type, &length) != 0 || type != SOCK_SEQPACKET)
        return DCLI_FAIL(DCL_ERR_PROTOCOL,
                         "descriptor %d is no socket of a link; expected one of type SOCK_SEQPACKET; "
                         "let all processes run the same version of DCL",
                         end->socket);
    if (fcntl(end->socket, F_SETFD, FD_CLOEXEC) != 0 || fcntl(end->socket, F_SETFL, O_NONBLOCK) != 0)
        return dcli_net_fail(DCL_ERR_NETWORK, "fcntl", "check that the descriptor is open");
    return DCL_OK;
}

void dcli_link_attend(dcli_link *link)
{
    dcli_shared *shared = link->endpoint->link;
    if (link->attended >= 0 || link->state == DCLI_LINK_GONE || link->state == DCLI_LINK_NONE)
        return;
    link->attended = shared->attended_count;
    link->idle_looks = 0;
    shared->attended[shared->attended_count++] = link;
    if (link->memory.bytes == NULL)
        return;
    if (shared->armed) { /* another thread is in poll(): the writer must wake it */
        dcli_ring_sleep(&link->in);
        if (dcli_ring_seems_filled(&link->in)) /* the writer has seen nobody asleep */
            dcli_endpoint_wake(link->endpoint);
    } else
        (void)dcli_ring_awake(&link->in); /* epoll reports a packet that is still on its way */
}

void dcli_link_neglect(dcli_link *link)
{
    dcli_shared *shared = link->endpoint->link;
    if (link->attended < 0)
        return;
    dcli_link *last = shared->attended[--shared->attended_count];
    shared->attended[link->attended] = last;
    last->attended = link->attended;
    link->attended = -1;
}

void dcli_links_sweep(dcli_endpoint *endpoint)
{
    dcli_shared *shared = endpoint->link;
    int others = shared->open_count - shared->attended_count;
    for (int n = 0; n < DCLI_SHARED_SWEEP && n < others; n++) {
        shared->swept = (shared->swept + 1) % shared->open_count;
        dcli_link *link = shared->open[shared->swept];
        if (link->attended < 0 && (dcli_ring_seems_filled(&link->in) || endpoint->lost[link->peer]))
            dcli_link_attend(link);
    }
}

void dcli_link_begin(dcli_endpoint *endpoint, int peer)
{
    dcli_link *link = &((dcli_shared *)endpoint->link)->link[peer];
    *link = (dcli_link){.endpoint = endpoint,
                        .peer = peer,
                        .state = DCLI_LINK_AWAITED,
                        .attended = -1,
                        .socket = -1,
                        .last = &link->first,
                        .descriptor = -1,
                        .early = -1};
}

dcl_status dcli_link_open(dcli_endpoint *endpoint, int peer, const dcli_shared_link *taken)
{
    dcli_shared *shared = endpoint->link;
    dcli_link *link = &shared->link[peer];
    dcli_shared_link end = *taken;
    dcl_status status = check_end(&end);
    if (status == DCL_OK && link->state != DCLI_LINK_NONE && link->state != DCLI_LINK_AWAITED)
        status = DCLI_FAIL(DCL_ERR_INVALID,
                           "peer %d has, or had, a link; expected one that is new; give it another number", peer);
    dcli_sealed memory = {0};
    if (status == DCL_OK)
        status = dcli_sealed_map(end.memory, sizeof(dcli_ring_pair), DCLI_SEALED_WRITABLE, &memory);
    if (status != DCL_OK) {
        dcli_shared_link_close(&end);
        return status;
    }
    close(end.memory);
    struct epoll_event event = {.events = EPOLLIN, .data = {.ptr = link}};
    if (epoll_ctl(shared->sockets, EPOLL_CTL_ADD, end.socket, &event) != 0) {
        status = dcli_net_fail(DCL_ERR_NETWORK, "epoll_ctl", "raise fs.epoll.max_user_watches (sysctl)");
        dcli_sealed_close(&memory);
        close(end.socket);
        return status;
    }
    dcli_ring_pair *pair = (dcli_ring_pair *)memory.bytes;
    if (link->state == DCLI_LINK_NONE)
        dcli_link_begin(endpoint, peer);
    link->state = DCLI_LINK_OPEN;
    link->socket = end.socket;
    link->memory = memory;
    link->in = dcli_ring_of(pair, 1 - end.side);
    link->out = dcli_ring_of(pair, end.side);
    shared->open[shared->open_count++] = link;
    shared->links++;
    dcli_link_attend(link);
    return DCL_OK;
}

static void remove_open(dcli_shared *shared, const dcli_link *link)
{
    for (int n = 0; n < shared->open_count; n++)
        if (shared->open[n] == link)
            shared->open[n] = shared->open[--shared->open_count];
}

void dcli_link_close(dcli_link *link)
{
    dcli_shared *shared = link->endpoint->link;
    remove_open(shared, link);
    dcli_link_neglect(link);
    if (link->socket >= 0)
        epoll_ctl(shared->sockets, EPOLL_CTL_DEL, link->socket, NULL);
    link->state = DCLI_LINK_GONE;
    dcli_flights_end_all(link);
    while (link->first != NULL)
        dcli_link_pop_waiting(link);
    dcli_views_close(link);
    close_if_open(&link->descriptor);
    close_if_open(&link->early);
    close_if_open(&link->socket);
    dcli_sealed_close(&link->memory);
    dcli_free(link->told);
    dcli_free(link->message);
    link->told = NULL;
    link->message = NULL;
}

/* ---- ends --------------------------------------------------------------------------------------------------------- */

void dcli_link_ended(dcli_link *link)
{
    if (link->state != DCLI_LINK_OPEN)
        return;
    link->state = DCLI_LINK_ENDED;
    dcli_link_attend(link);
    snprintf(
        link->why, sizeof link->why,
        "the process of peer %d has ended; expected it to live as long as its session; nothing can be sent to it any "
        "more",
        link->peer);
}

static void set_why(dcli_link *link, dcli_link_state state, const char *format, va_list arguments)
{
    dcli_shared *shared = link->endpoint->link;
    if (link->state == DCLI_LINK_AWAITED)
        shared->open[shared->open_count++] = link; /* so that its loss is reported */
    else if (link->state != DCLI_LINK_OPEN && link->state != DCLI_LINK_ENDED)
        return; /* keep the first reason */
    link->state = state;
    dcli_link_attend(link);
    vsnprintf(link->why, sizeof link->why, format, arguments);
}

dcl_status dcli_link_lose(dcli_link *link, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    set_why(link, DCLI_LINK_LOST, format, arguments);
    va_end(arguments);
    return DCLI_FAIL(DCL_ERR_NETWORK, "%s", link->why);
}

dcl_status dcli_link_break(dcli_link *link, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    set_why(link, DCLI_LINK_BROKEN, format, arguments);
    va_end(arguments);
    return DCLI_FAIL(DCL_ERR_NETWORK, "%s", link->why);
}
