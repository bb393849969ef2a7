/* net/authenticator_proof.c - the self-test of an authenticator: clients with right and with wrong credentials connect
 * over a real connection. It is needed because libzmq admits everybody, without a warning, if a handler is missing. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "net/authenticator.h"
#include "net/endpoint.h"
#include "net/guarded.h"
#include "net/token.h"
#include "net/wire_socket.h"

enum {
    PATIENCE_S = 10 /* long time limit for something that takes 1 ms, so that a busy machine is not mistaken for a
                       broken authenticator */
};

typedef struct stage {
    dcli_net *net;
    void *server; /* the PULL socket to which visitors connect */
    char domain[DCLI_DOMAIN_BYTES], address[80];
} stage;

/** A test client with a password, a key, or nothing. */
typedef struct visitor {
    const char *what, *password;
    const dcli_keypair *pair;
    const char *server_key;
    bool welcome;
} visitor;

static dcl_status failed(const visitor *visitor, const char *found)
{
    return DCLI_FAIL(DCL_ERR_NETWORK,
                     "the test of who is let in failed: %s %s; expected it to be %s; nothing listens now; "
                     "use an unchanged libzmq 4.3 or newer",
                     visitor->what, found, visitor->welcome ? "let in" : "refused");
}

static dcl_status no_answer(const visitor *visitor)
{
    return DCLI_FAIL(DCL_ERR_NETWORK,
                     "the test of who is let in failed: %s had no answer within %d s; expected it to be %s; nothing "
                     "listens now; try again if this machine was busy, else use an unchanged libzmq 4.3 or newer",
                     visitor->what, PATIENCE_S, visitor->welcome ? "let in" : "refused");
}

/* ---- the stage ---- */

/** Let the handshakes of a socket take longer than the test waits, so that they end only by an answer. Those of other
 *  sockets end after DCLI_HANDSHAKE_MS: a machine that is busy for longer refuses peers, which can come again. */
static dcl_status be_patient(void *socket)
{
    return dcli_wire_option(socket, ZMQ_HANDSHAKE_IVL, 2 * PATIENCE_S * 1000);
}

/** Set up the test on an abstract Unix socket, which needs no port, no file and no loopback device. */
static dcl_status raise_stage(stage *stage, dcli_authenticator *authenticator, const dcli_keypair *own)
{
    stage->server = dcli_net_socket(stage->net, ZMQ_PULL);
    if (stage->server == NULL)
        return dcli_error_status();
    dcl_status status = dcli_authenticator_guard_socket(authenticator, stage->server, stage->domain, own);
    if (status == DCL_OK)
        status = be_patient(stage->server);
    if (status == DCL_OK && zmq_bind(stage->server, stage->address) != 0)
        status = dcli_net_fail(DCL_ERR_NETWORK, "zmq_bind", "the net needs an I/O thread, and Linux");
    if (status != DCL_OK)
        zmq_close(stage->server);
    return status;
}

static dcl_status name_stage(stage *stage)
{
    char random[33];
    dcl_status status = dcli_random_hex(16, random); /* a random name, so that other users cannot interfere */
    snprintf(stage->domain, sizeof stage->domain, "proof-%s", random);
    snprintf(stage->address, sizeof stage->address, "ipc://@dcl-proof-%s", random);
    return status;
}

static void strike_stage(stage *stage)
{
    zmq_unbind(stage->server, stage->address);
    zmq_close(stage->server);
}

/* ---- a visit ---- */

/** Whether the one byte of an admitted client has arrived; a refused client's byte must not. */
static bool byte_came(const stage *stage, bool wait)
{
    zmq_pollitem_t item = {stage->server, 0, ZMQ_POLLIN, 0};
    char byte;
    return zmq_poll(&item, 1, wait ? PATIENCE_S * 1000 : 0) > 0 &&
           zmq_recv(stage->server, &byte, sizeof byte, ZMQ_DONTWAIT) == 1;
}

static dcl_status judge(const stage *stage, const visitor *visitor, dcli_monitor *monitor)
{
    bool bare = visitor->password == NULL && visitor->pair == NULL, let_in;
    dcli_ending ending = dcli_monitor_handshake(monitor, PATIENCE_S * 1000, &let_in);
    if (!let_in && ending == DCLI_NOT_ENDED)
        return no_answer(visitor);
    if (visitor->welcome) {
        if (!let_in || !byte_came(stage, true))
            return failed(visitor, let_in ? "was not heard" : "was not let in");
        return DCL_OK;
    }
    if (let_in || byte_came(stage, false))
        return failed(visitor, "was let in");
    if (bare ? ending != DCLI_END_MISFIT && ending != DCLI_END_SHORT : ending != DCLI_END_REFUSED)
        return failed(visitor, "was not told so");
    return DCL_OK;
}

static dcl_status prepare(void *client, const visitor *visitor)
{
    int once = -1;
    if (zmq_setsockopt(client, ZMQ_RECONNECT_IVL, &once, sizeof once) != 0)
        return dcli_net_fail(DCL_ERR_NETWORK, "zmq_setsockopt", "this libzmq is not fit for DCL: use 4.3 or newer");
    dcl_status status = be_patient(client);
    if (status != DCL_OK)
        return status;
    if (visitor->password != NULL)
        return dcli_present_password(client, visitor->password);
    return visitor->pair != NULL ? dcli_present_key(client, visitor->pair, visitor->server_key) : DCL_OK;
}

static dcl_status visit(const stage *stage, const visitor *visitor)
{
    void *client = dcli_net_socket(stage->net, ZMQ_PUSH);
    if (client == NULL)
        return dcli_error_status();
    dcli_monitor monitor = {.events = NULL};
    dcl_status status = prepare(client, visitor);
    if (status == DCL_OK)
        status = dcli_monitor_open(stage->net, client, &monitor);
    if (status == DCL_OK && zmq_connect(client, stage->address) != 0)
        status = dcli_net_fail(DCL_ERR_NETWORK, "zmq_connect", "free descriptors");
    if (status == DCL_OK)
        /* Fails if the client was refused already; an admitted client's byte must arrive. */
        zmq_send(client, "", 1, ZMQ_DONTWAIT);
    if (status == DCL_OK)
        status = judge(stage, visitor, &monitor);
    dcli_monitor_close(&monitor, client);
    zmq_close(client);
    return status;
}

/* ---- the proof ---- */

static dcl_status visit_for_passwords(const stage *stage, const char *password)
{
    char wrong[DCLI_TOKEN];
    memcpy(wrong, password, sizeof wrong);
    wrong[DCLI_TOKEN - 2] = wrong[DCLI_TOKEN - 2] == '0' ? '1' : '0';
    const visitor visitors[] = {{.what = "the right password", .password = password, .welcome = true},
                                {.what = "a wrong password", .password = wrong},
                                {.what = "a peer without a password"}};
    dcl_status status = DCL_OK;
    for (size_t i = 0; status == DCL_OK && i < sizeof visitors / sizeof visitors[0]; i++)
        status = visit(stage, &visitors[i]);
    return status;
}

static dcl_status prove_passwords(dcli_authenticator *authenticator, dcli_net *net)
{
    stage stage = {.net = net};
    char password[DCLI_TOKEN];
    dcl_status status = name_stage(&stage);
    if (status == DCL_OK)
        status = dcli_token_make(password);
    if (status == DCL_OK)
        status = dcli_authenticator_add_password(authenticator, stage.domain, password);
    if (status != DCL_OK)
        return status;
    status = raise_stage(&stage, authenticator, NULL);
    if (status == DCL_OK) {
        status = visit_for_passwords(&stage, password);
        strike_stage(&stage);
    }
    dcli_authenticator_remove(authenticator, stage.domain);
    return status;
}

static dcl_status visit_for_keys(const stage *stage, dcli_authenticator *authenticator, const dcli_keypair pair[3])
{
    const char *server_key = pair[0].public_key;
    const visitor known = {.what = "an allowed key", .pair = &pair[1], .server_key = server_key, .welcome = true},
                  unknown = {.what = "an unknown key", .pair = &pair[2], .server_key = server_key},
                  former = {.what = "a key that was forbidden", .pair = &pair[1], .server_key = server_key},
                  bare = {.what = "a peer without a key"};
    dcl_status status = dcli_authenticator_allow(authenticator, stage->domain, pair[1].public_key);
    if (status == DCL_OK)
        status = visit(stage, &known);
    if (status == DCL_OK)
        status = visit(stage, &unknown);
    dcli_authenticator_forbid(authenticator, stage->domain, pair[1].public_key);
    if (status == DCL_OK)
        status = visit(stage, &former);
    return status == DCL_OK ? visit(stage, &bare) : status;
}

static dcl_status prove_keys(dcli_authenticator *authenticator, dcli_net *net)
{
    stage stage = {.net = net};
    dcli_keypair pair[3]; /* key pairs: of the listener, an allowed one, an unknown one */
    dcl_status status = name_stage(&stage);
    for (int i = 0; status == DCL_OK && i < 3; i++)
        status = dcli_keypair_make(&pair[i]);
    if (status == DCL_OK)
        status = dcli_authenticator_add_keys(authenticator, stage.domain);
    if (status != DCL_OK)
        return status;
    status = raise_stage(&stage, authenticator, &pair[0]);
    if (status == DCL_OK) {
        status = visit_for_keys(&stage, authenticator, pair);
        strike_stage(&stage);
    }
    dcli_authenticator_remove(authenticator, stage.domain);
    for (int i = 0; i < 3; i++)
        dcli_keypair_wipe(&pair[i]);
    return status;
}

dcl_status dcli_authenticator_prove(dcli_authenticator *authenticator, dcli_net *net)
{
    dcl_status status = dcli_authenticator_has_keys(authenticator) ? prove_keys(authenticator, net) : DCL_OK;
    return status == DCL_OK ? prove_passwords(authenticator, net) : status;
}
