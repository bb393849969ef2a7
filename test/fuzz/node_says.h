/* fuzz/node_says.h - what the other peers of a node say, most of it right. */
#ifndef TEST_FUZZ_NODE_SAYS_H
#define TEST_FUZZ_NODE_SAYS_H

#include "fleet/serving.h"
#include "fuzz/program.h"
#include "fuzz/session.h"
#include "workqueue/node.h"

typedef struct fuzz_peer {
    int64_t done, ready;
} fuzz_peer;

/* What the other peers have done. */
typedef struct fuzz_others {
    fuzz_session session; /* first: the transport knows it by this address */
    dcli_serving *serving;
    fuzz_program program;
    fuzz_peer peer[FUZZ_MOST_NODES];
    int64_t epoch;
    int64_t memfds_shown;
    int early; /* events before SETUP */
    bool set_up, is_tree, lends;
    int64_t questions[FUZZ_MOST_NODES]; /* that each node has asked */
} fuzz_others;

/** One of the peers, by its number; a node that is not this one. */
int fuzz_choose_peer(fuzz_others *others);
int fuzz_choose_node(fuzz_others *others);
/** The node's state machine; NULL: not yet. */
const dcli_node *fuzz_node_of(const fuzz_others *others);

/* Fill a message. @return DCL_OK; DCL_ERR_TIMEOUT: there is no such message now. */
dcl_status fuzz_say_kernel(fuzz_others *others, dcli_message *message);
dcl_status fuzz_say_operations(fuzz_others *others, dcli_message *message);
/** A storage that there was before the node joined: it has no number. */
dcl_status fuzz_say_known(fuzz_others *others, dcli_message *message);
void fuzz_say_marks(fuzz_others *others, int from, dcli_message *message);
void fuzz_say_failed(fuzz_others *others, int from, dcli_message *message);
void fuzz_say_sees(fuzz_others *others, dcli_message *message);

/* Deliver a message. @param twisted  it is wrong in some way. @return as a transport's take(). */
dcl_status fuzz_say_setup(fuzz_others *others, bool twisted, dcli_incoming *incoming);
dcl_status fuzz_say_chunk(fuzz_others *others, bool twisted, dcli_incoming *incoming);
/** A message of lending. */
dcl_status fuzz_say_loan(fuzz_others *others, dcli_incoming *incoming);
dcl_status fuzz_say_part(fuzz_others *others, int from, bool twisted, dcli_incoming *incoming);
dcl_status fuzz_say_lost(fuzz_others *others, bool twisted, dcli_incoming *incoming);
dcl_status fuzz_say_joined(fuzz_others *others, bool twisted, dcli_incoming *incoming);

#endif
