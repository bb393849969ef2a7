/* fleet/control.h - messages between a supervisor and a process that it starts: one order, one answer, over a private
 * SEQPACKET socket. Both run the same program on the same machine, so the messages are plain structs. */
#ifndef DCLI_FLEET_CONTROL_H
#define DCLI_FLEET_CONTROL_H

#include "net/keys.h"
#include "net/message.h"

enum {
    DCLI_WIRE_ORDER = 0x64636c31,
    DCLI_MOST_ELEMENT = 4096,                         /* a chunk has at least one element */
    DCLI_MOST_PAYLOAD = (1 << 30) + DCLI_MOST_ELEMENT /* largest chunk that DCL_CHUNK_BYTES allows */
};

typedef struct dcli_wire_order {
    int magic;
    int self, nodes, device, io_threads, first_port, last_port, log;
    uint64_t session;
    int64_t silence_ms, quota_bytes, chunk_bytes;
    int64_t most_kernel_ms;              /* upper limit, whatever the session asks for */
    int sharers;                         /* number of processes of all open sessions, including this one */
    bool opencl;                         /* serve an OpenCL driver: remote/remote.h */
    bool contain;                        /* restrict the process (fleet/confine.h) */
    int first_peer_port, last_peer_port; /* port range of other workers' processes; 0: only first_port..last_port */
    char bind[DCLI_MOST_ADDRESS + 1];    /* address at which the process listens: tcp://HOST:* */
    char key[DCLI_MOST_KEY + 1];         /* public key of the nodes; "": they use a password */
    char password[DCLI_MOST_KEY + 1];    /* password of the nodes; if `key` is set, their secret key */
    char host[DCLI_MOST_KEY + 1];        /* public key of the host; or the password that it uses for this process
                                            only */
    char host_name[DCLI_MOST_KEY + 1];   /* by which this process alone recognises the host's connection */
    char files[4096];                    /* name of the shared folder, whose descriptor is sent along; "": none */
    char cache[4096];                    /* cache folder of this client only; "": none */
} dcli_wire_order;

typedef struct dcli_wire_answer {
    int magic;
    dcl_status status;
    char address[DCLI_MOST_ADDRESS + 1], key[DCLI_KEY_HEX];
    char problem[DCLI_MOST_SENTENCE];
} dcli_wire_answer;

#endif
