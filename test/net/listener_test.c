/* net/listener_test.c - clients and the listener they call: who is let in, who is told what, and who is hung up on. */
#include "net/listener.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <pthread.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "net/stranger.h"
#include "net/wire_socket.h"
#include "net/wire_text.h"

enum { LONG = 20000 /* milliseconds: a test that waits so long has failed */, MOST_CLIENTS = 4, MOST_STRANGERS = 64 };

typedef struct office {
    dcli_net *net;
    dcli_authenticator *authenticator;
    dcli_keypair own; /* of the listener */
    dcli_listener *listener;
} office;

static office open_office(bool keys, int64_t idle_ms)
{
    office o = {0};
    cr_assert_eq(dcli_net_open_io(1, &o.net), DCL_OK, "%s", dcl_error());
    cr_assert_eq(dcli_authenticator_open(o.net, NULL, &o.authenticator), DCL_OK, "%s", dcl_error());
    if (keys) {
        cr_assert_eq(dcli_keypair_make(&o.own), DCL_OK, "%s", dcl_error());
        cr_assert_eq(dcli_authenticator_add_keys(o.authenticator, "listener"), DCL_OK, "%s", dcl_error());
    } else {
        cr_assert_eq(dcli_authenticator_add_password(o.authenticator, "listener", "sesame"), DCL_OK, "%s", dcl_error());
    }
    dcli_listener_terms terms = {.net = o.net,
                                 .address = "tcp://127.0.0.1:*",
                                 .authenticator = o.authenticator,
                                 .domain = "listener",
                                 .own = keys ? &o.own : NULL,
                                 .silence_ms = 30000,
                                 .most_clients = MOST_CLIENTS,
                                 .most_strangers = MOST_STRANGERS,
                                 .idle_ms = idle_ms};
    cr_assert_eq(dcli_listener_open(&terms, &o.listener), DCL_OK, "%s", dcl_error());
    return o;
}

static void close_office(office *o)
{
    dcli_listener_close(o->listener);
    dcli_authenticator_close(o->authenticator);
    dcli_net_close(o->net);
}

static dcli_control_terms password_terms(const office *o, const char *password)
{
    return (dcli_control_terms){.net = o->net,
                                .address = dcli_listener_address(o->listener),
                                .server_key = "",
                                .password = password,
                                .silence_ms = 30000};
}

static dcli_control *call_with(const dcli_control_terms *terms)
{
    dcli_control *call;
    cr_assert_eq(dcli_control_open(terms, &call), DCL_OK, "%s", dcl_error());
    return call;
}

static dcli_control *call_office(const office *o)
{
    dcli_control_terms terms = password_terms(o, "sesame");
    return call_with(&terms);
}

static void say_hello(dcli_control *call)
{
    dcli_message hello = {.kind = DCLI_MSG_HELLO, .hello = {"a client", 3}};
    cr_assert_eq(dcli_control_send(call, &hello), DCL_OK, "%s", dcl_error());
}

/** @return the client's number. */
static uint32_t expect_kind(office *o, dcli_message_kind kind)
{
    dcli_received received = {0};
    uint32_t client = 0;
    cr_assert_eq(dcli_listener_receive(o->listener, LONG, &received, &client), DCL_OK, "%s", dcl_error());
    cr_assert_eq(received.message.kind, kind, "kind %d", (int)received.message.kind);
    cr_expect(client > 0);
    dcli_received_free(&received);
    return client;
}

static void expect_quiet(office *o, int milliseconds)
{
    dcli_received received = {0};
    uint32_t client = 0;
    cr_expect_eq(dcli_listener_receive(o->listener, milliseconds, &received, &client), DCL_ERR_TIMEOUT,
                 "client %" PRIu32 ": %s", client, dcl_error());
}

static void expect_client_lost(office *o, uint32_t client)
{
    dcli_received received = {0};
    uint32_t number = 0;
    cr_assert_eq(dcli_listener_receive(o->listener, LONG, &received, &number), DCL_ERR_NODE_LOST, "%s", dcl_error());
    cr_expect_eq(number, client);
    cr_expect(strstr(dcl_error(), "127.0.0.1") != NULL, "%s", dcl_error());
}

/** Receive at the call while the listener is served, too. */
static dcl_status receive(office *o, dcli_control *call, dcli_received *received_out)
{
    for (int i = 0; i < LONG; i++) {
        dcli_received ignored;
        uint32_t client;
        dcl_status status = dcli_control_receive(call, 1, received_out);
        if (status != DCL_ERR_TIMEOUT)
            return status;
        if (dcli_listener_receive(o->listener, 0, &ignored, &client) == DCL_OK)
            dcli_received_free(&ignored);
    }
    return DCL_ERR_TIMEOUT;
}

static void expect_call_ends(office *o, dcli_control *call, const char *words)
{
    dcli_received received;
    for (int i = 0; i < 2; i++) { /* it stays so */
        cr_assert_eq(receive(o, call, &received), DCL_ERR_NODE_LOST, "%s", dcl_error());
        cr_expect(strstr(dcl_error(), words) != NULL, "\"%s\" lacks \"%s\"", dcl_error(), words);
    }
    dcli_message beat = {.kind = DCLI_MSG_BEAT};
    cr_expect_eq(dcli_control_send(call, &beat), DCL_ERR_NETWORK);
}

/* ---- conversations ---- */

static void converse(office *o, dcli_control *call)
{
    say_hello(call);
    uint32_t client = expect_kind(o, DCLI_MSG_HELLO);
    cr_expect(strstr(dcli_listener_caller(o->listener, client), "127.0.0.1") != NULL, "%s",
              dcli_listener_caller(o->listener, client));
    dcli_message welcome = {.kind = DCLI_MSG_WELCOME, .welcome = {.program = "a worker", .load_percent = 7}};
    cr_assert_eq(dcli_listener_send(o->listener, client, &welcome), DCL_OK, "%s", dcl_error());
    dcli_received received;
    cr_assert_eq(dcli_control_receive(call, LONG, &received), DCL_OK, "%s", dcl_error());
    cr_expect(received.message.kind == DCLI_MSG_WELCOME && received.message.welcome.load_percent == 7);
    cr_expect_str_eq(received.message.welcome.program, "a worker");
    dcli_received_free(&received);
    cr_expect_eq(dcli_control_receive(call, 0, &received), DCL_ERR_TIMEOUT);
    dcli_control_close(call);
    expect_client_lost(o, client);
    expect_quiet(o, 0);
}

Test(listener, a_client_is_answered_and_missed)
{
    office o = open_office(false, 0);
    converse(&o, call_office(&o));
    close_office(&o);
}

Test(listener, a_client_with_keys_is_answered)
{
    office o = open_office(true, 0);
    dcli_keypair client;
    char key[DCLI_KEY_HEX], mine[DCLI_KEY_HEX];
    cr_assert_eq(dcli_keypair_make(&client), DCL_OK);
    cr_assert_eq(dcli_authenticator_allow(o.authenticator, "listener", client.public_key), DCL_OK, "%s", dcl_error());
    dcli_key_text(o.own.public_key, key);
    dcli_key_text(client.public_key, mine);
    dcli_control_terms terms = {.net = o.net,
                                .address = dcli_listener_address(o.listener),
                                .own = &client,
                                .server_key = key,
                                .silence_ms = 30000};
    dcli_control *call = call_with(&terms);
    say_hello(call);
    uint32_t number = expect_kind(&o, DCLI_MSG_HELLO);
    cr_expect(strstr(dcli_listener_caller(o.listener, number), ", key ") != NULL, "%s",
              dcli_listener_caller(o.listener, number));
    cr_expect(strncmp(strstr(dcli_listener_caller(o.listener, number), ", key ") + 6, mine, 16) == 0);
    dcli_control_close(call);
    expect_client_lost(&o, number);
    converse(&o, call_with(&terms));
    close_office(&o);
}

Test(listener, clients_are_told_apart)
{
    office o = open_office(false, 0);
    dcli_control *call[MOST_CLIENTS];
    uint32_t client[MOST_CLIENTS];
    for (int i = 0; i < MOST_CLIENTS; i++) {
        call[i] = call_office(&o);
        say_hello(call[i]);
        client[i] = expect_kind(&o, DCLI_MSG_HELLO);
        for (int k = 0; k < i; k++)
            cr_expect_neq(client[i], client[k]);
    }
    for (int i = 0; i < MOST_CLIENTS; i++) {
        dcli_message beat = {.kind = DCLI_MSG_BEAT, .beat = {i}};
        cr_assert_eq(dcli_listener_send(o.listener, client[i], &beat), DCL_OK, "%s", dcl_error());
    }
    for (int i = 0; i < MOST_CLIENTS; i++) {
        dcli_received received;
        cr_assert_eq(dcli_control_receive(call[i], LONG, &received), DCL_OK, "%s", dcl_error());
        cr_expect_eq(received.message.beat.number, i);
        dcli_received_free(&received);
    }
    dcli_control *surplus = call_office(&o); /* one too many */
    say_hello(surplus);
    dcli_received received;
    cr_assert_eq(receive(&o, surplus, &received), DCL_OK, "%s", dcl_error());
    cr_expect_eq(received.message.kind, DCLI_MSG_REFUSED);
    cr_expect(strstr(received.message.refused.sentence, "4 clients are connected") != NULL, "%s",
              received.message.refused.sentence);
    dcli_received_free(&received);
    expect_call_ends(&o, surplus, "the connection has ended");
    dcli_control_close(surplus);
    for (int i = 0; i < MOST_CLIENTS; i++) {
        dcli_control_close(call[i]);
        expect_client_lost(&o, client[i]);
    }
    converse(&o, call_office(&o)) /* there is room again */;
    close_office(&o);
}

Test(listener, hanging_up_lets_the_last_message_arrive)
{
    office o = open_office(false, 0);
    dcli_control *call = call_office(&o);
    say_hello(call);
    uint32_t client = expect_kind(&o, DCLI_MSG_HELLO);
    dcli_message refused = {.kind = DCLI_MSG_REFUSED, .refused = {DCL_ERR_NOMEM, "no memory is left here"}};
    cr_assert_eq(dcli_listener_send(o.listener, client, &refused), DCL_OK);
    dcli_listener_hang_up(o.listener, client);
    dcli_listener_hang_up(o.listener, 999); /* nobody */
    cr_expect_eq(dcli_listener_send(o.listener, client, &refused), DCL_ERR_NETWORK);
    dcli_received received;
    cr_assert_eq(receive(&o, call, &received), DCL_OK, "%s", dcl_error());
    cr_expect_str_eq(received.message.refused.sentence, "no memory is left here");
    dcli_received_free(&received);
    expect_call_ends(&o, call, "the connection has ended");
    expect_quiet(&o, 0); /* it is not said to be lost */
    dcli_control_close(call);
    close_office(&o);
}

Test(listener, who_says_nothing_is_hung_up_on_unless_it_has_a_session)
{
    office o = open_office(false, 2000); /* on a busy machine, a handshake takes some hundred milliseconds */
    dcli_control *idle = call_office(&o), *busy = call_office(&o);
    say_hello(busy);
    uint32_t with_session = expect_kind(&o, DCLI_MSG_HELLO);
    dcli_message opened = {.kind = DCLI_MSG_OPENED};
    cr_assert_eq(dcli_listener_send(o.listener, with_session, &opened), DCL_OK);
    say_hello(idle);
    uint32_t without = expect_kind(&o, DCLI_MSG_HELLO);
    expect_client_lost(&o, without);
    expect_quiet(&o, 300);
    dcli_received received;
    cr_expect_eq(dcli_control_receive(busy, LONG, &received), DCL_OK, "%s", dcl_error());
    dcli_received_free(&received);
    expect_call_ends(&o, idle, "the connection has ended");
    dcli_control_close(idle);
    dcli_control_close(busy);
    expect_client_lost(&o, with_session);
    close_office(&o);
}

/* ---- what is not as it should be ---- */

static void call_raw(const office *o, void *dealer, const void *id, size_t id_bytes)
{
    cr_assert_eq(dcli_present_password(dealer, "sesame"), DCL_OK, "%s", dcl_error());
    if (id_bytes > 0)
        cr_assert_eq(zmq_setsockopt(dealer, ZMQ_ROUTING_ID, id, id_bytes), 0);
    cr_assert_eq(zmq_connect(dealer, dcli_listener_address(o->listener)), 0);
}

static void *raw_dealer(const office *o)
{
    void *dealer = dcli_net_socket(o->net, ZMQ_DEALER);
    cr_assert_not_null(dealer);
    call_raw(o, dealer, NULL, 0);
    return dealer;
}

static void raw_send(void *dealer, const void *bytes, size_t length, int flags)
{
    cr_assert_eq(zmq_send(dealer, bytes, length, flags), (int)length);
}

static void serve(office *o, int64_t until_refused)
{
    for (int i = 0; i < LONG && dcli_listener_refused(o->listener) < until_refused; i++) {
        dcli_received received;
        uint32_t client;
        if (dcli_listener_receive(o->listener, 1, &received, &client) == DCL_OK)
            dcli_received_free(&received);
    }
    cr_assert_eq(dcli_listener_refused(o->listener), until_refused);
}

static const char *words_of_refusal(void *dealer, char text[2048])
{
    zmq_pollitem_t item = {dealer, 0, ZMQ_POLLIN, 0};
    int length = 0;
    while (length == 0 && zmq_poll(&item, 1, LONG) > 0) /* an empty one says that we are connected */
        length = zmq_recv(dealer, text, 2047, 0);
    cr_assert(length > 0 && length < 2048);
    text[length] = '\0';
    for (int i = 0; i < length; i++)
        if (text[i] == '\0')
            text[i] = ' ';
    return text;
}

Test(listener, another_version_is_refused_with_both_numbers)
{
    static const struct {
        const char *bytes;
        size_t length;
        const char *words;
    } cases[] = {
        {"\x92\2\xa5later", 8, "version 2 of the protocol, this worker version " TEST_PROTOCOL},
        {"\xdc\0\3\xcd\1\x2c\xc0\xc0", 8, "version 300 of the protocol, this worker version " TEST_PROTOCOL},
    };
    office o = open_office(false, 0);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[2048];
        void *dealer = raw_dealer(&o);
        raw_send(dealer, cases[i].bytes, cases[i].length, 0);
        serve(&o, (int64_t)i + 1);
        words_of_refusal(dealer, text);
        cr_expect(strstr(text, cases[i].words) != NULL, "\"%s\" lacks \"%s\"", text, cases[i].words);
        zmq_close(dealer);
    }
    converse(&o, call_office(&o)) /* others are served */;
    close_office(&o);
}

Test(listener, malformed_messages_end_the_call)
{
    static const struct {
        const char *what;
        unsigned char bytes[8];
        size_t length;
        int more_frames;
    } cases[] = {
        {"no array", {7}, 1, 0},
        {"a kind that is none", {0x93, DCLI_PROTOCOL, 99, 0}, 4, 0},
        {"a bomb", {0xdd, 0x10, 0, 0, 0}, 5, 0},
        {"two frames", {0x94, DCLI_PROTOCOL, 25, 0, 5}, 5, 1},
        {"hundreds of frames", {0x94, DCLI_PROTOCOL, 25, 0, 5}, 5, 300},
    };
    office o = open_office(false, 0);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        void *dealer = raw_dealer(&o);
        raw_send(dealer, cases[i].bytes, cases[i].length, cases[i].more_frames > 0 ? ZMQ_SNDMORE : 0);
        for (int f = cases[i].more_frames; f > 0; f--)
            raw_send(dealer, "frame", 5, f > 1 ? ZMQ_SNDMORE : 0);
        for (int f = 0; f < 10; f++)
            raw_send(dealer, "\7", 1, 0); /* what follows is not looked at */
        serve(&o, (int64_t)i + 1);
        expect_quiet(&o, 5);
        cr_expect_eq(dcli_listener_refused(o.listener), (int64_t)i + 1, "%s", cases[i].what);
        zmq_close(dealer);
    }
    close_office(&o);
}

Test(listener, frames_that_are_too_large_end_the_call)
{
    office o = open_office(false, 0);
    dcli_control *call = call_office(&o);
    say_hello(call);
    uint32_t client = expect_kind(&o, DCLI_MSG_HELLO);
    void *dealer = raw_dealer(&o);
    size_t length = DCLI_LISTENER_FRAME + 1;
    char *bytes = calloc(1, length);
    dcli_monitor monitor;
    cr_assert_eq(dcli_monitor_open(o.net, dealer, &monitor), DCL_OK, "%s", dcl_error());
    raw_send(dealer, bytes, length, 0);
    dcli_event event = {0};
    for (int i = 0; i < LONG && event.kind != ZMQ_EVENT_DISCONNECTED; i++)
        if (!dcli_monitor_next(&monitor, &event))
            expect_quiet(&o, 1);
    cr_expect_eq(event.kind, ZMQ_EVENT_DISCONNECTED);
    free(bytes);
    dcli_monitor_close(&monitor, dealer);
    zmq_close(dealer);
    dcli_message beat = {.kind = DCLI_MSG_BEAT};
    cr_expect_eq(dcli_listener_send(o.listener, client, &beat), DCL_OK, "the other is still there");
    dcli_control_close(call);
    close_office(&o);
}

Test(listener, who_sends_too_much_is_hung_up_on)
{
    office o = open_office(false, 0);
    dcli_control *call = call_office(&o);
    say_hello(call);
    uint32_t client = expect_kind(&o, DCLI_MSG_HELLO);
    dcli_message beat = {.kind = DCLI_MSG_BEAT};
    for (int i = 0; i < 4 * DCLI_LISTENER_RATE; i++)
        cr_assert_eq(dcli_control_send(call, &beat), DCL_OK);
    int got = 0;
    dcli_received received;
    uint32_t number = 0;
    dcl_status status;
    while ((status = dcli_listener_receive(o.listener, LONG, &received, &number)) == DCL_OK) {
        got++;
        dcli_received_free(&received);
    }
    cr_expect_eq(status, DCL_ERR_NODE_LOST, "%s", dcl_error());
    cr_expect(number == client && got < 2 * DCLI_LISTENER_RATE, "%d messages", got);
    cr_expect_eq(dcli_listener_refused(o.listener), 1);
    expect_call_ends(&o, call, "the connection has ended");
    dcli_control_close(call);
    close_office(&o);
}

Test(listener, ids_of_a_clients_own_choice_are_not_let_in)
{
    office o = open_office(false, 0);
    void *dealer = dcli_net_socket(o.net, ZMQ_DEALER);
    dcli_monitor monitor;
    dcli_event event = {0};
    cr_assert_eq(dcli_monitor_open(o.net, dealer, &monitor), DCL_OK, "%s", dcl_error());
    call_raw(&o, dealer, "chosen", 6);
    raw_send(dealer, (unsigned char[]){0x94, DCLI_PROTOCOL, 25, 0, 5}, 5, 0);
    for (int i = 0; i < LONG / 10 && event.kind != ZMQ_EVENT_DISCONNECTED; i++) {
        expect_quiet(&o, 10);
        while (event.kind != ZMQ_EVENT_DISCONNECTED && dcli_monitor_next(&monitor, &event))
            continue;
    }
    cr_expect_eq(event.kind, ZMQ_EVENT_DISCONNECTED);
    dcli_monitor_close(&monitor, dealer);
    zmq_close(dealer);
    close_office(&o);
}

static int raw_connection(const office *o) { return test_stranger_connect(dcli_listener_address(o->listener)); }

Test(listener, strangers_that_are_silent_do_not_keep_clients_out)
{
    enum { MANY = 200 };
    office o = open_office(false, 0);
    int fd[MANY], ended = 0;
    for (int i = 0; i < MANY; i++)
        fd[i] = raw_connection(&o);
    for (int i = 0; i < 10; i++)
        expect_quiet(&o, 10);
    converse(&o, call_office(&o));
    for (int i = 0; i < MANY; i++) {
        ended += test_stranger_is_cut(fd[i]);
        close(fd[i]);
    }
    cr_expect(ended >= MANY - MOST_CLIENTS - MOST_STRANGERS - 1, "%d of %d were cut", ended, MANY);
    close_office(&o);
}

Test(listener, a_handshake_may_not_be_long)
{
    static const struct {
        size_t bytes;
        bool cut;
    } cases[] = {{100, false}, {DCLI_ACCEPTOR_HANDSHAKE - 100, false}, {DCLI_ACCEPTOR_HANDSHAKE, true}, {60000, true}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        office o = open_office(false, 0);
        int fd = raw_connection(&o);
        expect_quiet(&o, 20); /* it is accepted */
        test_stranger_say(fd, cases[i].bytes);
        usleep(20000); /* and read: what has come is no longer in the connection when the listener looks */
        serve(&o, cases[i].cut);
        expect_quiet(&o, 50);
        cr_expect_eq(test_stranger_is_cut(fd), cases[i].cut, "%zu bytes", cases[i].bytes);
        cr_expect_eq(dcli_listener_refused(o.listener), cases[i].cut, "%zu bytes", cases[i].bytes);
        close(fd);
        converse(&o, call_office(&o));
        close_office(&o);
    }
}

Test(listener, who_is_let_in_and_says_nothing_is_hung_up_on)
{
    office o = open_office(false, 150);
    void *dealer = dcli_net_socket(o.net, ZMQ_DEALER);
    dcli_monitor monitor;
    dcli_event event = {0};
    cr_assert_eq(dcli_present_password(dealer, "sesame"), DCL_OK, "%s", dcl_error());
    cr_assert_eq(dcli_monitor_open(o.net, dealer, &monitor), DCL_OK, "%s", dcl_error());
    cr_assert_eq(zmq_connect(dealer, dcli_listener_address(o.listener)), 0);
    serve(&o, 1);
    for (int i = 0; i < LONG && event.kind != ZMQ_EVENT_DISCONNECTED; i++)
        if (!dcli_monitor_next(&monitor, &event))
            expect_quiet(&o, 1);
    cr_expect_eq(event.kind, ZMQ_EVENT_DISCONNECTED);
    dcli_monitor_close(&monitor, dealer);
    zmq_close(dealer);
    close_office(&o);
}

/* ---- calls that fail ---- */

Test(listener, a_wrong_token_is_refused)
{
    office o = open_office(false, 0);
    dcli_control_terms terms = password_terms(&o, "open");
    dcli_control *call = call_with(&terms);
    expect_call_ends(&o, call, "wrong token");
    cr_expect(strstr(dcl_error(), dcli_listener_address(o.listener)) != NULL, "%s", dcl_error());
    dcli_control_close(call);
    close_office(&o);
}

Test(listener, wrong_keys_are_refused)
{
    office o = open_office(true, 0);
    dcli_keypair client, other;
    char right[DCLI_KEY_HEX], wrong[DCLI_KEY_HEX];
    cr_assert_eq(dcli_keypair_make(&client), DCL_OK);
    cr_assert_eq(dcli_keypair_make(&other), DCL_OK);
    dcli_key_text(o.own.public_key, right);
    dcli_key_text(other.public_key, wrong);
    dcli_control_terms unknown = {.net = o.net,
                                  .address = dcli_listener_address(o.listener),
                                  .own = &client,
                                  .server_key = right,
                                  .silence_ms = 30000};
    dcli_control *call = call_with(&unknown);
    expect_call_ends(&o, call, "wrong key");
    dcli_control_close(call);

    cr_assert_eq(dcli_authenticator_allow(o.authenticator, "listener", client.public_key), DCL_OK);
    dcli_control_terms impostor = unknown;
    impostor.server_key = wrong;
    call = call_with(&impostor);
    expect_call_ends(&o, call, "wrong server key");
    dcli_control_close(call);

    dcli_control_terms no_keys = password_terms(&o, "sesame");
    call = call_with(&no_keys);
    expect_call_ends(&o, call, "does not accept a password");
    dcli_control_close(call);
    close_office(&o);
}

Test(listener, keys_where_a_password_is_wanted_are_refused)
{
    office o = open_office(false, 0);
    dcli_keypair client;
    char key[DCLI_KEY_HEX];
    cr_assert_eq(dcli_keypair_make(&client), DCL_OK);
    dcli_key_text(client.public_key, key);
    dcli_control_terms terms = {.net = o.net,
                                .address = dcli_listener_address(o.listener),
                                .own = &client,
                                .server_key = key,
                                .silence_ms = 30000};
    dcli_control *call = call_with(&terms);
    expect_call_ends(&o, call, "does not accept keys");
    dcli_control_close(call);
    close_office(&o);
}

Test(listener, nobody_there_is_told_with_the_address)
{
    office o = open_office(false, 0);
    struct sockaddr_in name = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t length = sizeof name;
    int kept = socket(AF_INET, SOCK_STREAM, 0); /* keeps a port that nobody listens at */
    cr_assert(bind(kept, (struct sockaddr *)&name, length) == 0 &&
              getsockname(kept, (struct sockaddr *)&name, &length) == 0);
    char address[64];
    snprintf(address, sizeof address, "tcp://127.0.0.1:%d", ntohs(name.sin_port));
    dcli_control_terms terms = {
        .net = o.net, .address = address, .server_key = "", .password = "sesame", .silence_ms = 30000};
    dcli_control *call = call_with(&terms);
    dcli_received received;
    cr_expect_eq(dcli_control_receive(call, LONG, &received), DCL_ERR_NODE_LOST);
    cr_expect(strstr(dcl_error(), "connection refused") != NULL && strstr(dcl_error(), address) != NULL, "%s",
              dcl_error());
    dcli_control_close(call);
    close(kept);
    close_office(&o);
}

Test(listener, calls_and_listeners_that_cannot_be_opened_say_why)
{
    office o = open_office(false, 0);
    dcli_keypair pair;
    cr_assert_eq(dcli_keypair_make(&pair), DCL_OK);
    const struct {
        dcli_control_terms terms;
        dcl_status status;
        const char *words;
    } calls[] = {
        {{.address = "tcp://no-such-host.invalid:7700", .password = "p"}, DCL_ERR_NETWORK, "cannot be looked up"},
        {{.address = "tcp://10.0.0.1:7700", .password = "p"}, DCL_ERR_INVALID, "there are no keys; expected keys"},
        {{.address = "tcp://127.0.0.1", .password = "p"}, DCL_ERR_INVALID, "has no port"},
        {{.address = "tcp://127.0.0.1:7700"}, DCL_ERR_INVALID, "neither keys nor a password"},
        {{.address = "tcp://127.0.0.1:7700", .own = &pair, .password = "p"},
         DCL_ERR_INVALID,
         "both keys and a password"},
        {{.address = "tcp://127.0.0.1:7700", .own = &pair, .server_key = ""},
         DCL_ERR_INVALID,
         "no key of the other side"},
        {{.address = "tcp://127.0.0.1:7700", .own = &pair, .server_key = "xyz"}, DCL_ERR_INVALID, "64 hexadecimal"},
    };
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        dcli_control_terms terms = calls[i].terms;
        dcli_control *call;
        terms.net = o.net;
        terms.silence_ms = 1000;
        cr_expect_eq(dcli_control_open(&terms, &call), calls[i].status, "%s", calls[i].words);
        cr_expect(strstr(dcl_error(), calls[i].words) != NULL, "\"%s\" lacks \"%s\"", dcl_error(), calls[i].words);
    }
    dcli_listener *listener;
    dcli_listener_terms terms = {
        .net = o.net, .authenticator = o.authenticator, .domain = "listener", .silence_ms = 1000, .most_clients = 1};
    terms.address = "tcp://0.0.0.0:*";
    cr_expect_eq(dcli_listener_open(&terms, &listener), DCL_ERR_INVALID);
    cr_expect(strstr(dcl_error(), "make them with `dcl keys`") != NULL, "%s", dcl_error());
    terms.address = dcli_listener_address(o.listener);
    cr_expect_eq(dcli_listener_open(&terms, &listener), DCL_ERR_NETWORK);
    cr_expect(strstr(dcl_error(), "is in use") != NULL, "%s", dcl_error());
    terms.address = "tcp://192.0.2.1:*";
    terms.own = &pair;
    terms.domain = "keys";
    cr_assert_eq(dcli_authenticator_add_keys(o.authenticator, "keys"), DCL_OK);
    cr_expect_eq(dcli_listener_open(&terms, &listener), DCL_ERR_NETWORK);
    cr_expect(strstr(dcl_error(), "an address of this machine") != NULL, "%s", dcl_error());
    close_office(&o);
}
