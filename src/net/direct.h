/* net/direct.h - whether nothing lies between the two ends of a TCP connection: no relay, tunnel or network. */
#ifndef DCLI_NET_DIRECT_H
#define DCLI_NET_DIRECT_H

#include <stdbool.h>
#include <stdint.h>

/** Describe a connection in 64 bits: a hash of the running system, its network namespace, and the addresses and ports of both ends. The
 *  ends tell each other their own views. If what an end hears is what it computes with `of_peer`, the system connects the two directly:
 *  what lies between has connections of its own, with other ports.
 *  @param of_peer  as the other end describes it.
 *  @return 0: it cannot be told. */
uint64_t dcli_direct_view(int fd, bool of_peer);

#endif
