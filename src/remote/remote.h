/* remote/remote.h - the server of an OpenCL driver: one device of this host runs the OpenCL commands that the driver
 * (src/icd) of a program sends. The process serves one session; docs/remote-opencl.md describes both sides. */
#ifndef DCLI_REMOTE_REMOTE_H
#define DCLI_REMOTE_REMOTE_H

#include "base/log.h"
#include "net/buffers.h"
#include "net/net.h"
#include "worker/watch.h"

enum { DCLI_REMOTE_CHUNK = 1 << 20 }; /* largest chunk of a transfer, in bytes */

typedef struct dcli_remote dcli_remote;

/** Open a device and make its context.
 *  @param number  as dcli_device_enumerate() numbers devices. @param watch  records progress; outlives the server.
 *  @return DCL_OK, DCL_ERR_DEVICE, DCL_ERR_NOMEM. */
dcl_status dcli_remote_open(int number, const dcli_log *log, dcli_watch *watch, dcli_remote **remote_out);
/** Describe the device; valid as long as the server. */
const dcl_device_info *dcli_remote_about(const dcli_remote *remote);
/** Whether the device works in host memory. */
bool dcli_remote_in_place(const dcli_remote *remote);

typedef struct dcli_remote_terms {
    dcli_endpoint *endpoint; /* borrowed */
    int client;              /* number of the driver as a peer */
    uint64_t session;
    dcli_buffers *buffers; /* for data to the driver; borrowed */
    int64_t chunk_bytes;   /* largest chunk of a transfer */
    int64_t quota_bytes;   /* limit on the bytes of all buffers; 0: none */
    bool shares;           /* the driver is on this host, and can map memory of `buffers` */
    bool prints;           /* the standard output of this process is sent to the driver: what kernels print */
    int self;             /* number of this server as a peer; the other servers have the other numbers below `client` */
    const bool *apart;    /* [client] servers that cannot be reached, read once; NULL: none */
    dcli_received *early; /* [early_count] messages of other servers, which have come before this call; taken over */
    int64_t early_count;
} dcli_remote_terms;

/** Serve until the driver ends the session. Messages are checked before use; one that breaks the protocol ends the
 *  session. @return DCL_OK: the session has ended; DCL_ERR_PROTOCOL, DCL_ERR_NODE_LOST, DCL_ERR_DEVICE, DCL_ERR_NOMEM. */
dcl_status dcli_remote_serve(dcli_remote *remote, const dcli_remote_terms *terms);
/** Free everything. NULL is accepted. */
void dcli_remote_close(dcli_remote *remote);

#endif
