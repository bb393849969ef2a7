/* fuzz/session.h - one peer of a session, driven by an input: the messages that it takes are the input's, what it sends
 * is checked and swallowed. */
#ifndef TEST_FUZZ_SESSION_H
#define TEST_FUZZ_SESSION_H

#include "fuzz/input.h"
#include "net/endpoint.h"

enum { FUZZ_MOST_NODES = 4 };

typedef struct fuzz_session fuzz_session;
struct fuzz_session {
    fuzz_input input;
    dcli_endpoint *endpoint;
    uint64_t number;
    int self, nodes;                 /* self == nodes: the host */
    bool present[FUZZ_MOST_NODES];   /* nodes that are there for all that was said */
    bool ended[FUZZ_MOST_NODES + 1]; /* connections that have ended */
    int asked_after_end;
    /** The next event, as a transport's take(). */
    dcl_status (*next)(fuzz_session *session, dcli_incoming *incoming);
};

/** An endpoint that takes what session->next() gives; the session's. NULL: out of memory. */
dcli_endpoint *fuzz_endpoint(dcli_net *net, fuzz_session *session);
/** A message comes. @param payload_bytes  0: none. @param descriptor  -1, or one that is handed over.
 *  @return as a transport's take(); DCL_ERR_TIMEOUT where it cannot be packed: it does not come. */
dcl_status fuzz_deliver(fuzz_session *session, int from, dcli_message *message, size_t payload_bytes, int descriptor,
                        dcli_incoming *incoming);
/** The same, with some bytes changed by the input. */
dcl_status fuzz_deliver_broken(fuzz_session *session, int from, dcli_message *message, dcli_incoming *incoming);
/** A message of any kind with any fields. */
dcl_status fuzz_deliver_any(fuzz_session *session, int from, dcli_incoming *incoming);
/** The connection to a peer has ended. */
dcl_status fuzz_disconnect(fuzz_session *session, int peer, dcli_incoming *incoming);

/** The ways to drive a peer. @param options  byte after the one that has chosen the way. */
void fuzz_node(fuzz_input input, int options);
void fuzz_host(fuzz_input input, int options);
void fuzz_listener(fuzz_input input, int options);
void fuzz_call(fuzz_input input, int options);

/** What listeners that are called say next: as dcli_control_receive(). */
typedef dcl_status fuzz_answer(void *user, dcli_received *received_out);
void fuzz_answer_calls(fuzz_answer *with, void *user);
/** A message as it comes out of a socket. @return DCL_ERR_TIMEOUT where it cannot be packed: it does not come. */
dcl_status fuzz_receive(dcli_frames_pool *pool, const dcli_message *message, dcli_received *received_out);
/** What somebody sends must be a message. */
void fuzz_demand_sound(const dcli_message *message);

/** A folder whose files may be used, and nothing else may. */
const char *fuzz_folder(void);
/** What all sessions share. */
dcli_net *fuzz_net(void);

#endif
