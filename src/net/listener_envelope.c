/* net/listener_envelope.c - one ZeroMQ message of a listener or call: taking it from the socket and unpacking it. */
#include <poll.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "net/listener_inside.h"

dcl_status dcli_envelope_take(void *socket, bool has_id, dcli_frames_pool *pool, dcli_envelope *envelope_out)
{
    zmq_msg_t id;
    zmq_msg_init(&id);
    *envelope_out = (dcli_envelope){.incoming = {.from = -1, .descriptor = -1}};
    if (!dcli_socket_has_input(socket))
        return DCL_ERR_TIMEOUT;
    dcli_frames *frames = dcli_frames_take(pool);
    if (frames == NULL)
        return DCL_ERR_NOMEM;
    frames->end = NULL;
    envelope_out->incoming.frames = frames;
    if (has_id) {
        dcli_receive_frame(&id, socket);
        envelope_out->id_bytes = zmq_msg_size(&id);
        memcpy(envelope_out->id, zmq_msg_data(&id), envelope_out->id_bytes < 256 ? envelope_out->id_bytes : 255);
        zmq_msg_close(&id);
    }
    dcli_take_rest(socket, &envelope_out->incoming);
    return DCL_OK;
}

void dcli_envelope_drop(dcli_envelope *envelope)
{
    dcli_received received = {.frames = envelope->incoming.frames};
    dcli_received_free(&received);
}

bool dcli_envelope_is_greeting(const dcli_envelope *envelope)
{
    return envelope->incoming.length == 0 && envelope->incoming.extra_frames == 0;
}

dcl_status dcli_envelope_open(dcli_envelope *envelope, dcli_received *received_out)
{
    dcli_incoming *incoming = &envelope->incoming;
    dcli_received received = {.from = -1, .descriptor = -1, .frames = incoming->frames};
    dcl_status status = DCL_OK;
    if (incoming->extra_frames > 0)
        status = DCLI_FAIL(DCL_ERR_PROTOCOL, "a message has %d frames; expected 1; the message was dropped",
                           1 + incoming->extra_frames);
    if (status == DCL_OK)
        status = dcli_message_unpack(incoming->bytes, incoming->length, &incoming->frames->arena, &received.message);
    if (status == DCL_OK)
        *received_out = received;
    else
        dcli_envelope_drop(envelope);
    return status;
}

uint64_t dcli_envelope_version(const dcli_envelope *envelope)
{
    return dcli_message_version(envelope->incoming.bytes, envelope->incoming.length);
}

void dcli_envelope_wait(int count, const int descriptors[], int64_t until_ns)
{
    struct pollfd polled[DCLI_LISTENER_DESCRIPTORS];
    for (int d = 0; d < count; d++)
        polled[d] = (struct pollfd){.fd = descriptors[d], .events = POLLIN};
    int64_t left = until_ns - dcli_monotonic_ns();
    struct timespec wait = {.tv_sec = left / 1000000000, .tv_nsec = left % 1000000000};
    if (left > 0)
        (void)ppoll(polled, (nfds_t)count, until_ns == INT64_MAX ? NULL : &wait, NULL);
}
