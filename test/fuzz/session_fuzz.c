/* fuzz/session_fuzz.c - the state machines of a session, fed with messages in any order: of a node, of the host's
 * worker, of a supervisor with its clients, and of a program that calls one. The first byte of an input chooses; what
 * follows is events: messages that are mostly right, some with one field changed or cut to pieces, connections that
 * end, kernels that end or fail, memory that is at an end, time that passes. However it goes: no access aside, no
 * assertion, no leak, no descriptor left, and an end. */
#include "fuzz/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"

/* ---- what is there once ------------------------------------------------------------------------------------------- */

static const char *below_root(const char *name)
{
    static char root[200], path[300];
    if (root[0] == '\0') {
        const char *below = getenv("TMPDIR");
        snprintf(root, sizeof root, "%s/dcl-fuzz-%d", below != NULL ? below : "/tmp", (int)getpid());
    }
    snprintf(path, sizeof path, "%s%s", root, name);
    return path;
}

static void make_file(const char *name, off_t bytes)
{
    FILE *file = fopen(below_root(name), "w");
    if (file == NULL || ftruncate(fileno(file), bytes) != 0)
        perror(below_root(name));
    if (file != NULL)
        fclose(file);
}

/* What nodes load from and save to, which its host has made; and a way out. */
static void make_files(void)
{
    static const char *const folders[] = {"", "/files", "/files/folder", "/outside"};
    for (size_t n = 0; n < sizeof folders / sizeof folders[0]; n++)
        mkdir(below_root(folders[n]), 0700);
    make_file("/files/a.npy", 8192);
    make_file("/files/b.npy", 100);
    make_file("/files/.dcl-1-1.token", 32);
    make_file("/outside/hosts", 0);
    if (symlink("../outside", below_root("/files/out")) != 0)
        perror(below_root("/files/out"));
}

static void remove_files(void)
{
    static const char *const names[] = {"/files/a.npy",   "/files/b.npy",  "/files/.dcl-1-1.token",
                                        "/files/out",     "/files/folder", "/files",
                                        "/outside/hosts", "/outside",      ""};
    for (size_t n = 0; n < sizeof names / sizeof names[0]; n++)
        remove(below_root(names[n]));
}

const char *fuzz_folder(void)
{
    static char folder[300];
    if (folder[0] == '\0')
        snprintf(folder, sizeof folder, "%s", below_root("/files"));
    return folder;
}

static bool is_untouched_outside(void)
{
    struct stat about;
    return stat(below_root("/outside/hosts"), &about) == 0 && about.st_size == 0;
}

dcli_net *fuzz_net(void)
{
    static dcli_net *net;
    if (net == NULL)
        fuzz_demand(dcli_net_open(&net) == DCL_OK, "no net");
    return net;
}

/* ---- the transport ------------------------------------------------------------------------------------------------ */

static dcl_status swallow(dcli_endpoint *endpoint, int to, const void *bytes, size_t length,
                          const dcli_payload *payload, int descriptor)
{
    dcli_arena arena = {0};
    dcli_message message;
    unsigned sum = 0;
    (void)descriptor;
    fuzz_demand(to != endpoint->self, "a peer sends to itself");
    dcl_status status = dcli_message_unpack(bytes, length, &arena, &message);
    fuzz_demand(status == DCL_OK || status == DCL_ERR_NOMEM, "what a peer sends is refused");
    for (size_t b = 0; payload != NULL && b < payload->length; b++)
        sum += ((const unsigned char *)payload->bytes)[b];
    (void)sum;
    dcli_arena_free(&arena);
    if (payload != NULL)
        dcli_release_payload(payload);
    const fuzz_session *session = endpoint->link;
    if (to <= session->nodes && session->ended[to])
        return DCLI_FAIL(DCL_ERR_NETWORK, "peer %d has gone", to);
    return DCL_OK;
}

static dcl_status take(dcli_endpoint *endpoint, dcli_incoming *incoming)
{
    fuzz_session *session = endpoint->link;
    fuzz_forget();
    return session->next(session, incoming);
}

static bool always(const dcli_endpoint *endpoint)
{
    (void)endpoint;
    return true;
}

static bool never_sleep(dcli_endpoint *endpoint)
{
    (void)endpoint;
    return false;
}

static void nothing(dcli_endpoint *endpoint) { (void)endpoint; }

static int none(const dcli_endpoint *endpoint, int descriptors_out[])
{
    (void)endpoint;
    (void)descriptors_out;
    return 0;
}

static const dcli_transport transport = {.send = swallow,
                                         .take = take,
                                         .seems_ready = always,
                                         .arm = never_sleep,
                                         .disarm = nothing,
                                         .descriptors = none,
                                         .close = nothing,
                                         .most_descriptors = 1};

dcli_endpoint *fuzz_endpoint(dcli_net *net, fuzz_session *session)
{
    session->endpoint = dcli_endpoint_new(net, &transport, session->self, session->nodes + 1, 1);
    if (session->endpoint == NULL)
        return NULL;
    dcli_free(session->endpoint->link);
    session->endpoint->link = session;
    return session->endpoint;
}

/* ---- what comes --------------------------------------------------------------------------------------------------- */

/* Bytes of a message and of its payload, of exactly their lengths. */
struct parcel {
    void *message, *payload;
};

static void free_parcel(dcli_frames *frames)
{
    struct parcel *parcel = frames->owner;
    free(parcel->message);
    free(parcel->payload);
    free(parcel);
}

static void hand_over(dcli_incoming *incoming, int from, const void *bytes, size_t length, size_t payload_bytes)
{
    struct parcel *parcel = calloc(1, sizeof *parcel);
    parcel->message = malloc(length > 0 ? length : 1);
    memcpy(parcel->message, bytes, length);
    if (payload_bytes > 0)
        parcel->payload = calloc(payload_bytes, 1);
    incoming->from = from;
    incoming->bytes = parcel->message;
    incoming->length = length;
    incoming->payload = parcel->payload;
    incoming->payload_bytes = payload_bytes;
    incoming->extra_frames = payload_bytes > 0;
    incoming->frames->owner = parcel;
    incoming->frames->end = free_parcel;
}

dcl_status fuzz_deliver(fuzz_session *session, int from, dcli_message *message, size_t payload_bytes, int descriptor,
                        dcli_incoming *incoming)
{
    static dcli_pack_buffer packed;
    if (message->epoch == 0)
        message->epoch = session->number;
    bool open = from == session->nodes || !session->ended[from];
    if (!open || dcli_message_pack_into(message, &packed) != DCL_OK) {
        if (descriptor >= 0)
            close(descriptor);
        return DCL_ERR_TIMEOUT;
    }
    hand_over(incoming, from, packed.bytes, packed.length, payload_bytes);
    incoming->descriptor = descriptor;
    return DCL_OK;
}

dcl_status fuzz_deliver_broken(fuzz_session *session, int from, dcli_message *message, dcli_incoming *incoming)
{
    dcl_status status = fuzz_deliver(session, from, message, 0, -1, incoming);
    if (status != DCL_OK || incoming->length == 0)
        return status;
    unsigned char *bytes = ((struct parcel *)incoming->frames->owner)->message;
    for (int changes = 1 + fuzz_below(&session->input, 3); changes > 0; changes--) {
        size_t at = (size_t)fuzz_byte(&session->input) % incoming->length;
        bytes[at] = (unsigned char)fuzz_byte(&session->input);
    }
    incoming->length -= (size_t)fuzz_below(&session->input, 2);
    return DCL_OK;
}

dcl_status fuzz_deliver_any(fuzz_session *session, int from, dcli_incoming *incoming)
{
    dcli_message message = {.kind = (dcli_message_kind)(1 + fuzz_below(&session->input, DCLI_MSG_KIND_COUNT - 1))};
    fuzz_fill(&session->input, &message);
    return fuzz_deliver(session, from, &message, 0, -1, incoming);
}

dcl_status fuzz_disconnect(fuzz_session *session, int peer, dcli_incoming *incoming)
{
    if (session->ended[peer] || session->endpoint->lost[peer])
        return DCL_ERR_TIMEOUT;
    session->ended[peer] = true;
    incoming->from = peer;
    return DCLI_FAIL(DCL_ERR_NODE_LOST, "peer %d has gone", peer);
}

/* ---- calls and listeners ---------------------------------------------------------------------------------------------- */

dcl_status fuzz_receive(dcli_frames_pool *pool, const dcli_message *message, dcli_received *received_out)
{
    static dcli_pack_buffer packed;
    dcli_received received = {.descriptor = -1, .frames = dcli_frames_take(pool)};
    if (received.frames == NULL)
        return DCL_ERR_NOMEM;
    received.frames->end = NULL;
    dcl_status status = dcli_message_pack_into(message, &packed) == DCL_OK ? DCL_OK : DCL_ERR_TIMEOUT;
    if (status == DCL_OK)
        status = dcli_message_unpack(packed.bytes, packed.length, &received.frames->arena, &received.message);
    if (status != DCL_OK)
        dcli_received_free(&received);
    else
        *received_out = received;
    return status;
}

void fuzz_demand_sound(const dcli_message *message)
{
    static dcli_pack_buffer packed;
    static dcli_arena arena;
    dcli_message again;
    dcl_status status = dcli_message_pack_into(message, &packed);
    if (status == DCL_OK)
        status = dcli_message_unpack(packed.bytes, packed.length, &arena, &again);
    fuzz_demand(status == DCL_OK || status == DCL_ERR_NOMEM, "what is sent is no message");
}

/* ---- an input ----------------------------------------------------------------------------------------------------- */

static int free_descriptor(void)
{
    int descriptor = dup(STDERR_FILENO);
    close(descriptor);
    return descriptor;
}

static void run(const uint8_t *data, size_t size)
{
    fuzz_input input = {data, data + size};
    int way = fuzz_below(&input, 5), options = fuzz_byte(&input);
    if (way <= 1)
        fuzz_node(input, way << 8 | options);
    else if (way == 2)
        fuzz_host(input, options);
    else if (way == 3)
        fuzz_listener(input, options);
    else
        fuzz_call(input, options);
    dcli_alloc_fail_after(0);
}

int LLVMFuzzerInitialize(int *count, char ***arguments);
int LLVMFuzzerInitialize(int *count, char ***arguments)
{
    (void)count;
    (void)arguments;
    make_files();
    fuzz_net();
    atexit(remove_files);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int runs;
    int before = free_descriptor();
    run(data, size);
    fuzz_demand(is_untouched_outside(), "a file outside the folder was written");
    /* What is made once and kept may take a descriptor in the first runs. */
    fuzz_demand(free_descriptor() == before || runs < 100, "descriptors are left open");
    runs++;
    return 0;
}
