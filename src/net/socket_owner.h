/* net/socket_owner.h - which user a TCP socket of this host belongs to. */
#ifndef DCLI_NET_SOCKET_OWNER_H
#define DCLI_NET_SOCKET_OWNER_H

#include <netinet/in.h>
#include <stdbool.h>

/** A way to ask the system. */
typedef enum dcli_owner_way {
    DCLI_OWNER_DIAG, /* sock_diag(7); what it takes does not grow with the number of connections */
    DCLI_OWNER_TABLE /* /proc/net/tcp and tcp6, proc(5), which list every connection */
} dcli_owner_way;

/** Parse a numeric address: 127.0.0.1, ::1, or [::1]. @param address_out  IPv4 as a mapped address. */
bool dcli_owner_parse(const char *host, struct in6_addr *address_out);

/** Get the address and port of a TCP socket, or of its other end. @param address_out  IPv4 as a mapped address.
 *  @return false: it has none. */
bool dcli_socket_name(int fd, bool of_peer, struct in6_addr *address_out, int *port_out);

/** Find the listener that gets a connection to an address of this host. If several get it equally, prefer one that is
 *  neither this user's nor root's.
 *  @return 1: *user_out is its user; 0: nobody listens, as far as this way tells; -1: this way cannot be used here
 *          (errno). */
int dcli_owner_of_listener(dcli_owner_way way, const struct in6_addr *called, int port, unsigned *user_out);

/** Find the other end of a connection within this host.
 *  @return 1: *user_out is its user; 0: there is none, as far as this way tells; -1: this way cannot be used here. */
int dcli_owner_of_other_end(dcli_owner_way way, int fd, unsigned *user_out);

#endif
