/* security/member.c - a member of a session that has turned hostile, against the process of another node of it:
 *
 *   member tcp://HOST:PORT token:FILE|keys:FOLDER host    it says that it is the host
 *   member ... says                                       it says what only the host may say, one member per kind of
 *                                                         message
 *   member ... passes                                     it is the parent in the tree, and makes and changes what it
 *                                                         passes on
 *
 * This program is the true host too: it opens the session, node 1 of which the worker's process becomes, and hears what
 * that node tells of the others. A line for each attempt; ends with status 1 after the first that was not refused. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <dcl/forall.h>

#include "base/error.h"
#include "net/authenticator.h"
#include "net/endpoint.h"
#include "net/listener.h"
#include "net/proof.h"
#include "net/token.h"
#include "net/wire_socket.h"

enum { VICTIM = 1, FIRST = 2, NODES = 16, HOST = NODES, SILENCE_MS = 60000, PATIENCE_MS = 60000 };

static uint64_t session;
static dcli_net *net;
static dcli_authenticator *authenticator;
static dcli_control *call;
static bool has_keys;
static dcli_keypair host_pair, nodes_pair;
static char nodes_key[DCLI_KEY_HEX], host_key[DCLI_KEY_HEX], password[DCLI_TOKEN];
static dcli_secret secret;
static char address[DCLI_MOST_ADDRESS + 1]; /* of the victim */
static dcli_endpoint *host;

static void check(dcl_status status, const char *what)
{
    if (status == DCL_OK)
        return;
    printf("member: %s: %s: %s\n", what, dcl_status_name(status), dcli_error_sentence());
    fflush(stdout);
    _Exit(EXIT_FAILURE);
}

static void demand(bool holds, const char *what)
{
    if (holds)
        return;
    printf("member: %s\n", what);
    fflush(stdout);
    _Exit(EXIT_FAILURE);
}

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* ---- the session -------------------------------------------------------------------------------------------------- */

static void dial(const char *worker, const char *how)
{
    static char token[DCLI_TOKEN], key[DCLI_KEY_Z85], server[DCLI_KEY_HEX];
    static dcli_keypair own;
    const char *path = strchr(how, ':') + 1;
    has_keys = how[0] == 'k';
    check(has_keys ? dcli_keys_read(path, &own) : dcli_token_read(path, token), path);
    if (has_keys) {
        check(dcli_keys_find(path, "127.0.0.1", key), path);
        dcli_key_text(key, server);
    }
    dcli_control_terms terms = {.net = net,
                                .address = worker,
                                .own = has_keys ? &own : NULL,
                                .server_key = server,
                                .password = has_keys ? NULL : token,
                                .silence_ms = SILENCE_MS};
    check(dcli_control_open(&terms, &call), "the listener");
    check(dcli_control_send(call, &(dcli_message){.kind = DCLI_MSG_HELLO, .hello = {.program = "member"}}), "HELLO");
}

/* Wait for an answer. The listener hangs up on clients without a session that say nothing for 10 s. */
static dcli_received answer(dcli_message_kind kind)
{
    enum { BEAT_MS = 1000 };
    dcli_received received;
    int64_t until = now_ms() + PATIENCE_MS, beats = 0;
    for (;;) {
        dcl_status status = dcli_control_receive(call, BEAT_MS, &received);
        if (status == DCL_ERR_TIMEOUT && now_ms() < until) {
            check(dcli_control_send(call, &(dcli_message){.kind = DCLI_MSG_BEAT, .beat = {++beats}}), "a beat");
            continue;
        }
        check(status, "the listener's answer");
        if (received.message.kind == DCLI_MSG_REFUSED)
            printf("member: refused: %s\n", received.message.refused.sentence);
        if (received.message.kind == kind)
            return received;
        demand(received.message.kind != DCLI_MSG_REFUSED, "the listener refuses");
        dcli_received_free(&received);
    }
}

static void open_session(void)
{
    char own[DCLI_KEY_HEX], name[DCLI_KEY_HEX], secret_key[DCLI_KEY_HEX];
    dcli_received welcome = answer(DCLI_MSG_WELCOME);
    demand(welcome.message.welcome.device_count == 1, "the worker offers another number of devices than 1");
    dcli_received_free(&welcome);
    check(dcli_secret_make(&secret), "a secret");
    check(dcli_token_make(password), "a password");
    check(dcli_keypair_make(&host_pair), "a key pair");
    check(dcli_keypair_make(&nodes_pair), "a key pair");
    dcli_key_text(host_pair.public_key, host_key);
    dcli_key_text(nodes_pair.public_key, nodes_key);
    dcli_key_text(nodes_pair.secret_key, secret_key);
    dcli_secret_derive(&secret, DCLI_HOST_PASSWORD, VICTIM, own);
    dcli_secret_derive(&secret, DCLI_HOST_NAME, VICTIM, name);
    dcli_msg_host known = {.key = has_keys ? host_key : own, .name = name};
    dcli_message open = {.kind = DCLI_MSG_OPEN,
                         .open = {.session = session,
                                  .key = has_keys ? nodes_key : "",
                                  .password = has_keys ? secret_key : password,
                                  .silence_ms = SILENCE_MS,
                                  .first = VICTIM,
                                  .nodes = NODES,
                                  .chunk_bytes = 1 << 20,
                                  .host_count = 1,
                                  .host = &known}};
    check(dcli_control_send(call, &open), "OPEN");
    dcli_received opened = answer(DCLI_MSG_OPENED);
    snprintf(address, sizeof address, "%s", opened.message.opened.peer[0].address);
    dcli_received_free(&opened);
}

/* With what every node of the session is given; as `self`. */
static dcli_endpoint *open_member(int self, const dcli_keypair *pair, const dcli_secret *as_host, bool listens)
{
    dcli_endpoint *endpoint;
    dcli_wire_terms terms = {.net = net,
                             .self = self,
                             .peer_count = NODES + 1,
                             .bind = listens ? "tcp://127.0.0.1:*" : NULL,
                             .authenticator = authenticator,
                             .domain = "session",
                             .own = has_keys ? pair : NULL,
                             .password = has_keys ? NULL : password,
                             .host_secret = as_host,
                             .silence_ms = SILENCE_MS,
                             .most_message_bytes = 1 << 20};
    check(dcli_endpoint_open_wire(&terms, &endpoint), "an endpoint");
    return endpoint;
}

static void meet_victim(dcli_endpoint *endpoint)
{
    check(dcli_endpoint_meet(endpoint, VICTIM, address, has_keys ? nodes_key : ""), "the other node");
}

/* Let an endpoint do what it has to; what it is told is of no interest. */
static void turn(dcli_endpoint *endpoint, int milliseconds)
{
    dcli_received received = {0};
    if (dcli_endpoint_receive(endpoint, milliseconds, &received) == DCL_OK)
        dcli_received_free(&received);
}

static void say(dcli_endpoint *endpoint, int to, dcli_message message)
{
    message.epoch = session;
    check(dcli_endpoint_send(endpoint, to, &message, NULL), dcli_message_name(message.kind));
}

/* The true host connects and says what the session is. */
static void set_up(const char *parent, int tree_nodes)
{
    char word_key[DCLI_KEY_HEX];
    dcli_msg_peer peers[NODES] = {0};
    for (int node = 0; node < NODES; node++)
        peers[node] = (dcli_msg_peer){.present = node >= VICTIM || parent != NULL,
                                      .address = node == 0 && parent != NULL ? parent : "",
                                      .key = has_keys ? nodes_key : ""};
    dcli_secret_derive(&secret, DCLI_WORD_KEY, VICTIM, word_key);
    host = open_member(HOST, &host_pair, &secret, false);
    meet_victim(host);
    say(host, VICTIM,
        (dcli_message){.kind = DCLI_MSG_SETUP,
                       .setup = {.self = VICTIM,
                                 .peer_count = NODES,
                                 .peer = peers,
                                 .first_operation = 1,
                                 .tree_nodes = tree_nodes,
                                 .tile_bytes = 1 << 20,
                                 .chunk_bytes = 1 << 20,
                                 .pool_bytes = 1 << 22,
                                 .silence_ms = SILENCE_MS,
                                 .build_ms = 60000,
                                 .kernel_ms = 60000,
                                 .fanout = 1,
                                 .log = 1,
                                 .word_key = word_key}});
}

/* What the victim tells the host, of a kind; LOST: of that peer. `others` go on meanwhile. */
static dcli_received hear(dcli_message_kind kind, int peer, int count, dcli_endpoint *others[])
{
    int64_t until = now_ms() + PATIENCE_MS;
    dcli_received received;
    while (now_ms() < until) {
        for (int n = 0; n < count; n++)
            turn(others[n], 0);
        dcl_status status = dcli_endpoint_receive(host, 10, &received);
        if (status == DCL_ERR_TIMEOUT)
            continue;
        check(status, "the host, which listens to the other node");
        if (received.message.kind == DCLI_MSG_FAILED)
            printf("member: the other node failed: %s\n", received.message.failed.sentence);
        if (received.message.kind == kind && (kind != DCLI_MSG_LOST || received.message.lost.peer == peer))
            return received;
        demand(received.message.kind != DCLI_MSG_FAILED, "the other node has failed");
        dcli_received_free(&received);
    }
    printf("member: the other node does not say %s of peer %d\n", dcli_message_name(kind), peer);
    fflush(stdout);
    _Exit(EXIT_FAILURE);
}

/* It works on: it answers the host. */
static void ask_victim(int count, dcli_endpoint *others[])
{
    say(host, VICTIM, (dcli_message){.kind = DCLI_MSG_COUNT, .count = {.number = 7}});
    dcli_received counts = hear(DCLI_MSG_COUNTS, 0, count, others);
    demand(counts.message.counts.number == 7, "the other node answers another question");
    dcli_received_free(&counts);
    printf("member: the other node works on\n");
}

/* ---- attempts ----------------------------------------------------------------------------------------------------- */

static void pose(const char *how, const dcli_keypair *pair, const dcli_secret *as_host)
{
    dcli_received received;
    int64_t until = now_ms() + PATIENCE_MS;
    dcli_endpoint *endpoint = open_member(HOST, pair, as_host, false);
    meet_victim(endpoint);
    say(endpoint, VICTIM, (dcli_message){.kind = DCLI_MSG_STOP});
    dcl_status status = DCL_ERR_TIMEOUT;
    while (status == DCL_ERR_TIMEOUT && now_ms() < until)
        status = dcli_endpoint_receive(endpoint, 100, &received);
    /* The first that it hears of a node that lets it in is its device. */
    demand(status == DCL_ERR_NODE_LOST, "it was let in as the host");
    printf("member: %s: %s\n", how, dcli_error_sentence());
    dcli_endpoint_close(endpoint);
}

/* Connect with the host's number, as a member may, and say nothing: libzmq would drop the connection of another one with the same
 * routing id in silence. */
static void *sit_in_its_place(void)
{
    char key[DCLI_KEY_Z85];
    unsigned char id[DCLI_ROUTING_BYTES];
    void *socket = dcli_net_socket(net, ZMQ_DEALER);
    demand(socket != NULL, "no socket");
    dcli_routing_id(HOST, id);
    zmq_setsockopt(socket, ZMQ_ROUTING_ID, id, sizeof id);
    if (has_keys) {
        check(dcli_key_parse(nodes_key, key), "the nodes' key");
        check(dcli_present_key(socket, &nodes_pair, key), "the nodes' key");
    } else {
        check(dcli_present_password_as(socket, DCLI_AUTHENTICATOR_USER, password), "the nodes' password");
    }
    dcli_monitor monitor;
    bool up = false;
    check(dcli_monitor_open(net, socket, &monitor), "a monitor");
    demand(zmq_connect(socket, address) == 0, "a silent member cannot connect");
    dcli_monitor_handshake(&monitor, PATIENCE_MS, &up);
    demand(up, "a silent member is not let in");
    dcli_monitor_close(&monitor, socket);
    return socket;
}

static void pose_as_host(void)
{
    dcli_keypair other;
    dcli_secret guess;
    check(dcli_keypair_make(&other), "a key pair");
    check(dcli_secret_make(&guess), "a secret");
    pose("as the host, as all nodes are let in", &nodes_pair, NULL);
    if (has_keys)
        pose("as the host, with a key of its own", &other, NULL);
    else
        pose("as the host, with another password", NULL, &guess);
    void *silent = sit_in_its_place();
    set_up(NULL, 0);
    ask_victim(0, NULL);
    zmq_close(silent);
}

static void say_all(void)
{
    dcli_msg_operation operation = {.number = 1, .kind = 10};
    dcli_msg_peer peers[NODES] = {0};
    dcli_message said[] = {
        {.kind = DCLI_MSG_KERNEL, .kernel = {.kernel = 1, .text = "A(i) = 1;"}},
        {.kind = DCLI_MSG_OPERATIONS, .operations = {.count = 1, .operation = &operation}},
        {.kind = DCLI_MSG_STOP},
        {.kind = DCLI_MSG_SETUP,
         .setup = {.self = VICTIM,
                   .peer_count = NODES,
                   .peer = peers,
                   .first_operation = 1,
                   .tile_bytes = 1,
                   .chunk_bytes = 1,
                   .pool_bytes = 1,
                   .silence_ms = 1,
                   .build_ms = 1,
                   .kernel_ms = 1,
                   .fanout = 1}},
        {.kind = DCLI_MSG_LOST, .lost = {.peer = VICTIM, .epoch = 9, .sentence = "you"}},
        {.kind = DCLI_MSG_JOINED,
         .joined = {.peer = 0, .epoch = 9, .first_operation = 1, .address = "tcp://127.0.0.1:9"}},
        {.kind = DCLI_MSG_SEES, .sees = {.number = 1, .path = "/etc/passwd", .token = "x"}},
        {.kind = DCLI_MSG_COUNT, .count = {.number = 1}},
    };
    enum { KINDS = sizeof said / sizeof said[0] };
    dcli_endpoint *hostile[KINDS];
    for (int n = 0; n < KINDS; n++) { /* called first: the other node has not heard of its host yet */
        hostile[n] = open_member(FIRST + n, &nodes_pair, NULL, false);
        meet_victim(hostile[n]);
        say(hostile[n], VICTIM, said[n]);
        turn(hostile[n], 50);
    }
    set_up(NULL, 0);
    for (int n = 0; n < KINDS; n++) {
        dcli_received lost = hear(DCLI_MSG_LOST, FIRST + n, KINDS, hostile);
        printf("member: %s: %s\n", dcli_message_name(said[n].kind), lost.message.lost.sentence);
        char expected[80];
        snprintf(expected, sizeof expected, "peer %d sent a message %s, which it must not send", FIRST + n,
                 dcli_message_name(said[n].kind));
        demand(strstr(lost.message.lost.sentence, expected) != NULL, "the other node gives another reason");
        dcli_received_free(&lost);
    }
    ask_victim(0, NULL);
    for (int n = 0; n < KINDS; n++)
        dcli_endpoint_close(hostile[n]);
}

/* A body that all may parse; `proof`: as the host would make it for the victim. */
static dcli_message word(int64_t kernel, int64_t numbers[2], dcli_msg_proof *proof)
{
    dcli_message message = {
        .kind = DCLI_MSG_KERNEL, .epoch = session, .kernel = {.kernel = kernel, .text = "A(i) = 1;"}};
    static dcli_msg_parameter parameter = {.name = "A", .access = DCL_ACCESS_OUT, .type = DCL_FLOAT, .rank = 1};
    static int64_t builder[1] = {VICTIM};
    message.kernel.parameter = &parameter;
    message.kernel.parameter_count = 1;
    message.kernel.builder = builder;
    message.kernel.builder_count = 1;
    unsigned char digest[DCLI_DIGEST_BYTES];
    char key[DCLI_KEY_HEX];
    void *packed;
    size_t bytes;
    check(dcli_message_pack(&message, &packed, &bytes), "packing");
    dcli_digest(packed, bytes, digest);
    dcli_secret_derive(&secret, DCLI_WORD_KEY, VICTIM, key);
    numbers[0] = VICTIM;
    numbers[1] = (int64_t)dcli_tag(key, digest);
    *proof = (dcli_msg_proof){.count = 2, .number = numbers};
    return message;
}

static void pass_on(const char *how)
{
    int64_t numbers[2];
    dcli_msg_proof proof;
    if (has_keys) {
        check(dcli_authenticator_add_keys(authenticator, "session"), "a domain");
        check(dcli_authenticator_allow(authenticator, "session", nodes_pair.public_key), "a key");
    } else {
        check(dcli_authenticator_add_password(authenticator, "session", password), "a domain");
    }
    dcli_endpoint *parent = open_member(0, &nodes_pair, NULL, true);
    check(dcli_endpoint_expect(parent, VICTIM, has_keys ? nodes_key : ""), "the child");
    set_up(dcli_endpoint_address(parent), 2);
    dcli_message honest = word(1, numbers, &proof); /* the host's own words go through */
    honest.kernel.proof = proof;
    say(parent, VICTIM, honest);
    dcli_received built = hear(DCLI_MSG_BUILT, 0, 1, &parent);
    demand(built.message.built.kernel == 1, "another body was built");
    printf("member: as the host said it: status %d\n", built.message.built.status);
    dcli_received_free(&built);

    dcli_message hostile = word(2, numbers, &proof);
    if (strcmp(how, "made") != 0)
        hostile.kernel.proof = proof;
    if (strcmp(how, "changed") == 0)
        hostile.kernel.text = "A(i) = 2;";
    if (strcmp(how, "guessed") == 0)
        numbers[1] ^= 1;
    if (strcmp(how, "of-another") == 0)
        numbers[0] = FIRST;
    say(parent, VICTIM, hostile);
    dcli_received lost = hear(DCLI_MSG_LOST, 0, 1, &parent);
    printf("member: %s: %s\n", how, lost.message.lost.sentence);
    demand(strstr(lost.message.lost.sentence, "not without the host's proof") != NULL,
           "the child gives another reason");
    dcli_received_free(&lost);
    ask_victim(0, NULL);
    dcli_endpoint_close(parent);
}

int main(int count, char *argument[])
{
    if (count < 4 || strchr(argument[2], ':') == NULL) {
        fprintf(stderr, "member: expected the address of a worker, token:FILE or keys:FOLDER, and what to do\n");
        return 2;
    }
    session = (uint64_t)now_ms(); /* a worker opens none twice */
    check(dcli_net_open_io(1, &net), "net");
    check(dcli_authenticator_open(net, NULL, &authenticator), "authenticator");
    dial(argument[1], argument[2]);
    open_session();
    if (strcmp(argument[3], "host") == 0)
        pose_as_host();
    else if (strcmp(argument[3], "says") == 0)
        say_all();
    else
        pass_on(argument[3]);
    dcli_endpoint_close(host);
    dcli_control_close(call);
    dcli_authenticator_close(authenticator);
    dcli_net_close(net);
    return EXIT_SUCCESS;
}
