/* fleet/serving.h - state of a worker process, shared by serve.c and, for tcp, serve_wire.c. */
#ifndef DCLI_FLEET_SERVING_H
#define DCLI_FLEET_SERVING_H

#include "fleet/control.h"
#include "fleet/watchdog.h"
#include "net/authenticator.h"
#include "remote/remote.h"
#include "worker/worker.h"

typedef struct dcli_serving {
    bool is_wire, may_read_gpus;
    bool is_opencl;      /* the session is that of an OpenCL driver */
    dcli_remote *remote; /* its device, if so */
    uint64_t session;
    int self, node_count, device_number;
    int processes; /* of this host, which share the processors */
    int status_memory, lifeline;
    dcli_status_page *page;
    dcli_watchdog *watchdog;
    dcli_watch *watch;          /* watch of `watchdog`; NULL until there is one */
    dcli_shared_link host_link; /* between processes of one host: the link to the program */
    dcli_net *net;
    dcli_buffers *buffers;
    dcli_address_table *addresses;
    dcli_endpoint *endpoint; /* until the worker takes it over */
    dcli_device *device;     /* until the worker takes it over */
    dcli_worker *worker;
    struct dcli_trace *trace; /* NULL: the session is not traced */
    dcli_log log;
    dcl_config config;
    bool check_access;
    char *fault;
    dcli_files files;
    int64_t quota_bytes, transit_bytes, epoch;
    int tree_nodes;
    char word_key[DCLI_MOST_KEY + 1];
    dcli_node_ways ways[DCLI_MOST_NODES];
    bool absent[DCLI_MOST_NODES];
    dcli_received *early; /* [early_count] messages that arrived before SETUP */
    int64_t early_count, early_capacity;
    /* The fields below are used over tcp only. */
    dcli_authenticator *authenticator;
    int control; /* a socket whose other end the parent holds */
    dcli_wire_order order;
    bool has_keys;
    dcli_keypair own;
} dcli_serving;

dcl_status dcli_serving_read_wire_terms(dcli_serving *serving);
dcl_status dcli_serving_open_wire(dcli_serving *serving);
/** Tell the parent where this process listens, or with this thread's error why it does not. */
void dcli_serving_answer(dcli_serving *serving, dcl_status status);
/** Connect to the nodes that are there, and expect the others. */
dcl_status dcli_serving_meet_all(dcli_serving *serving, const dcli_msg_setup *setup);
/** The same; those that cannot be called or expected are noted. @param apart_out  [node_count] */
void dcli_serving_meet_each(dcli_serving *serving, const dcli_msg_setup *setup, bool apart_out[]);
/** Close the authenticator, and overwrite the keys of the session. */
void dcli_serving_close_wire(dcli_serving *serving);

#endif
