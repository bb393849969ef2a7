/* net/direct.h - tells whether a TCP connection leads directly from one process to the other: no relay, tunnel or
 * network lies between. */
#ifndef DCLI_NET_DIRECT_H
#define DCLI_NET_DIRECT_H

#include <stdbool.h>
#include <stdint.h>

/** Describe a connection in 64 bits: a hash of the running system, its network namespace, and the addresses and ports
 *  of both ends. Each end sends the other its own view. If an end receives what it computes itself with `of_peer`, the
 *  system connects the two directly, because a relay has connections of its own, with other ports.
 *  @param of_peer  describe it as seen from the other end.
 *  @return 0: not known. */
uint64_t dcli_direct_view(int fd, bool of_peer);

#endif
