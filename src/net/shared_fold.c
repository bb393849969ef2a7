/* net/shared_fold.c - reduce an end of a link to one descriptor: the memory's descriptor travels inside the socket.
 * Source: unix(7), SCM_RIGHTS. */
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "net/shared.h"

dcl_status dcli_shared_link_fold(dcli_shared_link *end, const dcli_shared_link *other)
{
    int code = dcli_packet_send(other->socket, (char)end->side, end->memory);
    if (code != 0)
        return DCLI_FAIL(DCL_ERR_NETWORK, "sendmsg: %s; raise the limit of open descriptors with `ulimit -n`",
                         strerror(code));
    close(end->memory);
    end->memory = -1;
    return DCL_OK;
}

dcl_status dcli_shared_link_adopt(int socket, dcli_shared_link *end_out)
{
    char side = 0;
    struct iovec byte = {.iov_base = &side, .iov_len = 1};
    dcli_packet_control ancillary = {0};
    struct msghdr message = {.msg_iov = &byte,
                             .msg_iovlen = 1,
                             .msg_control = ancillary.bytes,
                             .msg_controllen = CMSG_LEN(sizeof(int))}; /* the length excludes padding, which would
                                                                          admit another descriptor */
    ssize_t length = recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    int memory = length == 1 ? dcli_packet_descriptor(&message) : -1;
    if (memory >= 0 && (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) == 0) {
        *end_out = (dcli_shared_link){.socket = socket, .memory = memory, .side = side != 0};
        return DCL_OK;
    }
    if (memory >= 0)
        close(memory);
    close(socket);
    if (memory < 0 && (message.msg_flags & MSG_CTRUNC) != 0)
        return DCLI_FAIL(DCL_ERR_NODE_LOST, "no descriptor is free for the memory of a link; raise the limit of open "
                                            "files (`ulimit -n`), or use fewer arrays");
    return DCLI_FAIL(DCL_ERR_PROTOCOL, "a link came without its memory, or with more; expected both from the host");
}
