/* net/shared_fold.c - reduce an end of a link to one descriptor: the memory's descriptor travels inside the socket.
 * Source: unix(7), SCM_RIGHTS. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "net/net.h"

/* Room for the one descriptor of a message, whose one byte is the side. */
union ancillary {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(sizeof(int))];
};

dcl_status dcli_shared_link_fold(dcli_shared_link *end, const dcli_shared_link *other)
{
    char side = (char)end->side;
    struct iovec byte = {.iov_base = &side, .iov_len = 1};
    union ancillary ancillary = {0};
    struct msghdr message = {
        .msg_iov = &byte, .msg_iovlen = 1, .msg_control = ancillary.bytes, .msg_controllen = sizeof ancillary.bytes};
    struct cmsghdr *control = CMSG_FIRSTHDR(&message);
    control->cmsg_level = SOL_SOCKET;
    control->cmsg_type = SCM_RIGHTS;
    control->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(control), &end->memory, sizeof(int));
    if (sendmsg(other->socket, &message, MSG_NOSIGNAL) != 1)
        return DCLI_FAIL(DCL_ERR_NETWORK, "sendmsg: %s; raise the limit of open descriptors with `ulimit -n`",
                         strerror(errno));
    close(end->memory);
    end->memory = -1;
    return DCL_OK;
}

dcl_status dcli_shared_link_adopt(int socket, dcli_shared_link *end_out)
{
    char side = 0;
    struct iovec byte = {.iov_base = &side, .iov_len = 1};
    union ancillary ancillary = {0};
    struct msghdr message = {.msg_iov = &byte,
                             .msg_iovlen = 1,
                             .msg_control = ancillary.bytes,
                             .msg_controllen = CMSG_LEN(sizeof(int))}; /* the length excludes padding, which would
                                                                          admit another descriptor */
    int memory = -1;
    if (recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) == 1) {
        const struct cmsghdr *control = CMSG_FIRSTHDR(&message);
        if (control != NULL && control->cmsg_level == SOL_SOCKET && control->cmsg_type == SCM_RIGHTS &&
            control->cmsg_len == CMSG_LEN(sizeof(int)))
            memcpy(&memory, CMSG_DATA(control), sizeof memory);
    }
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
