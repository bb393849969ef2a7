/* fleet/control.h - what a supervisor and the processes it starts tell each other: one order, one answer, over a
 * SEQPACKET socket that only they have. Both are the same program on the same machine: plain structs. */
#ifndef DCLI_FLEET_CONTROL_H
#define DCLI_FLEET_CONTROL_H

#include "net/keys.h"
#include "net/message.h"

enum {
    DCLI_WIRE_ORDER = 0x64636c31,
    DCLI_MOST_ELEMENT = 4096,                         /* a chunk has at least one element */
    DCLI_MOST_PAYLOAD = (1 << 30) + DCLI_MOST_ELEMENT /* the largest chunk that DCL_CHUNK_BYTES allows */
};

typedef struct dcli_wire_order {
    int magic;
    int self, nodes, device, io_threads, first_port, last_port, log;
    uint64_t session;
    int64_t silence_ms, quota_bytes, chunk_bytes;
    int64_t most_kernel_ms;              /* whatever the session asks for */
    int sharers;                         /* processes of all sessions that are open, this one included */
    bool contain;                        /* as fleet/confine.h says */
    int first_peer_port, last_peer_port; /* of other workers' processes; 0: none but first_port..last_port */
    char bind[DCLI_MOST_ADDRESS + 1];    /* tcp://HOST:* */
    char key[DCLI_MOST_KEY + 1];         /* public key of the nodes; "": a password */
    char password[DCLI_MOST_KEY + 1];    /* or its secret key */
    char host[DCLI_MOST_KEY + 1];        /* the host's public key; or the password it presents to this process alone */
    char files[4096];                    /* name of the folder whose descriptor goes along; "": none */
    char cache[4096];                    /* of this client alone; "": none */
} dcli_wire_order;

typedef struct dcli_wire_answer {
    int magic;
    dcl_status status;
    char address[DCLI_MOST_ADDRESS + 1], key[DCLI_KEY_HEX];
    char problem[DCLI_MOST_SENTENCE];
} dcli_wire_answer;

#endif
