/* net/shared_broker.c - links that are made on demand. A session of n processes would need n (n - 1) / 2 links if all
 * were made at its start; most pairs never exchange anything. So each process starts with a link to one peer, the
 * broker. It passes on new links, and requests for them; messages go over the links themselves. */
#include <stdio.h>
#include <unistd.h>

#include "base/error.h"
#include "net/shared.h"

/* Send a record about peer `value` over the link to, or from, the broker. */
static dcl_status send_record(dcli_link *link, dcli_shared_kind kind, int value, int descriptor)
{
    dcli_outgoing outgoing = {.kind = (uint16_t)kind, .value = (uint64_t)value, .descriptor = descriptor};
    return dcli_link_send(link, &outgoing);
}

/* Make a link, keep one end, and send the other to the peer through the broker. If it gets lost on the way, our end
 * sees the end of a process, as if the peer had ended. */
static dcl_status make_link(dcli_endpoint *endpoint, int peer)
{
    dcli_shared *shared = endpoint->link;
    dcli_shared_link ends[2];
    dcl_status status = dcli_shared_link_make(ends);
    if (status != DCL_OK)
        return status;
    status = dcli_shared_link_fold(&ends[1], &ends[0]);
    if (status == DCL_OK)
        status = send_record(&shared->link[shared->broker], DCLI_SHARED_LINK, peer, ends[1].socket);
    if (status == DCL_OK)
        status = dcli_link_open(endpoint, peer, &ends[0]);
    else
        dcli_shared_link_close(&ends[0]);
    dcli_shared_link_close(&ends[1]);
    return status;
}

dcl_status dcli_link_demand(dcli_endpoint *endpoint, int peer)
{
    dcli_shared *shared = endpoint->link;
    if (peer == shared->broker)
        return DCL_OK; /* it has a link from the start, or never */
    dcl_status status = endpoint->self < peer
                            ? make_link(endpoint, peer)
                            : send_record(&shared->link[shared->broker], DCLI_SHARED_WANTED, peer, -1);
    if (shared->link[peer].state == DCLI_LINK_NONE)
        dcli_link_begin(endpoint, peer);
    if (status == DCL_OK)
        return DCL_OK;
    char why[DCLI_SHARED_WHY];
    snprintf(why, sizeof why, "%s", dcli_error_sentence());
    return dcli_link_lose(&shared->link[peer], "there is no link to peer %d: %s", peer, why);
}

/* The broker: pass a record on. A peer that is lost, or has no link yet, gets nothing: the sender sees that the link has
 * ended, or learns from the session that the peer is lost. */
static void pass_on(const dcli_link *from, const dcli_ring_head *head, int descriptor)
{
    const dcli_endpoint *endpoint = from->endpoint;
    dcli_link *to = &((dcli_shared *)endpoint->link)->link[head->value];
    if (to->state == DCLI_LINK_OPEN && !endpoint->lost[to->peer])
        send_record(to, (dcli_shared_kind)head->kind, from->peer, descriptor);
}

/* Take the end of a link that a peer has made. Without a free descriptor for it, or if it is unsound, it is closed: the
 * peer reports that. */
static void take_link(dcli_endpoint *endpoint, int peer, int descriptor)
{
    dcli_link *link = &((dcli_shared *)endpoint->link)->link[peer];
    bool is_new = link->state == DCLI_LINK_NONE || link->state == DCLI_LINK_AWAITED;
    dcli_shared_link end;
    if (!is_new || endpoint->lost[peer])
        close(descriptor);
    else if (dcli_shared_link_adopt(descriptor, &end) == DCL_OK && dcli_link_open(endpoint, peer, &end) == DCL_OK)
        dcli_link_push(link);
}

bool dcli_link_take_brokered(dcli_link *link, const dcli_ring_head *head)
{
    dcli_endpoint *endpoint = link->endpoint;
    dcli_shared *shared = endpoint->link;
    int descriptor = -1;
    if (head->kind == DCLI_SHARED_LINK && (descriptor = dcli_link_take_descriptor(link)) == -1)
        return true; /* the link is broken, with a reason of its own */
    bool is_broker = shared->broker == endpoint->self;
    int above = is_broker ? link->peer : endpoint->self; /* of two peers, the lower one makes the link */
    bool known = shared->broker >= 0 && head->length == 0 && head->value < (uint64_t)endpoint->peer_count &&
                 (is_broker || link->peer == shared->broker) && (int)head->value != shared->broker;
    int peer = known ? (int)head->value : -1;
    bool upwards = is_broker == (head->kind == DCLI_SHARED_LINK);
    known = known && (upwards ? peer > above : peer < above);
    if (known && is_broker)
        pass_on(link, head, descriptor);
    else if (known && head->kind == DCLI_SHARED_LINK && descriptor >= 0) {
        take_link(endpoint, peer, descriptor);
        return true;
    } else if (known && head->kind == DCLI_SHARED_WANTED && shared->link[peer].state == DCLI_LINK_NONE &&
               !endpoint->lost[peer])
        dcli_link_demand(endpoint, peer); /* on failure, receiving reports that the peer is lost */
    if (descriptor >= 0)
        close(descriptor);
    return known;
}
