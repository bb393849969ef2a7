/* net/socket_owner.c - asking Linux which user a TCP socket belongs to.
 *
 * Sources: sock_diag(7), linux/inet_diag.h; proc(5): /proc/net/tcp has addresses as machine words in hexadecimal digits.
 * The table lists all connections, also those that have ended but whose port is not free yet. After many connections,
 * reading it takes seconds. A confined process may only use the table, because it has no netlink sockets. */
#include "net/socket_owner.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ESTABLISHED = 1, LISTENING = 10 /* numbers of the states, as in /proc/net/tcp */ };

/** A socket, as the system describes it. */
typedef struct described {
    struct in6_addr own, other; /* IPv4 as mapped addresses */
    int own_port, other_port;
    unsigned state, user;
    bool held; /* by a process: one that was not accepted yet, or has ended, has no user */
} described;

/** Called for each socket. @param context  the caller's. */
typedef void (*visitor)(const described *socket, void *context);

static const unsigned char mapped[12] = {[10] = 0xff, [11] = 0xff}; /* prefix of IPv4 addresses mapped to IPv6 */

/* ---- addresses ---------------------------------------------------------------------------------------------------- */

bool dcli_owner_parse(const char *host, struct in6_addr *address_out)
{
    char text[INET6_ADDRSTRLEN];
    size_t length = strlen(host), bracket = host[0] == '[';
    if (length - 2 * bracket >= sizeof text)
        return false;
    snprintf(text, sizeof text, "%.*s", (int)(length - 2 * bracket), host + bracket);
    memcpy(address_out, mapped, sizeof mapped);
    return inet_pton(AF_INET, text, &address_out->s6_addr[sizeof mapped]) == 1 ||
           inet_pton(AF_INET6, text, address_out) == 1;
}

static bool is_mapped(const struct in6_addr *address) { return memcmp(address, mapped, sizeof mapped) == 0; }

static struct in6_addr address_of_bytes(int family, const void *bytes)
{
    struct in6_addr address;
    if (family == AF_INET6) {
        memcpy(&address, bytes, sizeof address);
    } else {
        memcpy(&address, mapped, sizeof mapped);
        memcpy(&address.s6_addr[sizeof mapped], bytes, sizeof address - sizeof mapped);
    }
    return address;
}

static struct in6_addr address_of_words(const char *digits)
{
    uint32_t words[4] = {0};
    size_t count = strlen(digits) / 8;
    for (size_t w = 0; w < count && w < 4; w++)
        sscanf(digits + 8 * w, "%8" SCNx32, &words[w]);
    return address_of_bytes(count == 1 ? AF_INET : AF_INET6, words);
}

bool dcli_socket_name(int fd, bool of_peer, struct in6_addr *address_out, int *port_out)
{
    struct sockaddr_storage name;
    socklen_t length = sizeof name;
    struct sockaddr *at = (struct sockaddr *)&name;
    if ((of_peer ? getpeername(fd, at, &length) : getsockname(fd, at, &length)) != 0)
        return false;
    bool six = name.ss_family == AF_INET6;
    const struct sockaddr_in6 *wide = (const struct sockaddr_in6 *)(const void *)&name;
    const struct sockaddr_in *narrow = (const struct sockaddr_in *)(const void *)&name;
    *address_out = address_of_bytes(name.ss_family, six ? (const void *)&wide->sin6_addr : &narrow->sin_addr);
    *port_out = ntohs(six ? wide->sin6_port : narrow->sin_port);
    return six || name.ss_family == AF_INET;
}

/* ---- the table ---------------------------------------------------------------------------------------------------- */

static bool read_table(const char *path, visitor visit, void *context)
{
    char line[512], digits[2][33];
    unsigned port[2];
    unsigned long inode;
    FILE *table = fopen(path, "re");
    if (table == NULL)
        return false;
    while (fgets(line, sizeof line, table) != NULL) {
        described socket = {0};
        if (sscanf(line, " %*d: %32[0-9A-Fa-f]:%x %32[0-9A-Fa-f]:%x %x %*x:%*x %*x:%*x %*x %u %*d %lu", digits[0],
                   &port[0], digits[1], &port[1], &socket.state, &socket.user, &inode) != 7)
            continue;
        socket.own = address_of_words(digits[0]);
        socket.other = address_of_words(digits[1]);
        socket.own_port = (int)port[0];
        socket.other_port = (int)port[1];
        socket.held = inode != 0;
        visit(&socket, context);
    }
    fclose(table);
    return true;
}

static bool read_tables(visitor visit, void *context)
{
    bool four = read_table("/proc/net/tcp", visit, context);
    int error = errno;
    bool six = read_table("/proc/net/tcp6", visit, context); /* it does not exist without IPv6 */
    errno = error;
    return four || six;
}

/* ---- sock_diag ---------------------------------------------------------------------------------------------------- */

static void tell_of(const struct inet_diag_msg *answer, visitor visit, void *context)
{
    described socket = {.own = address_of_bytes(answer->idiag_family, answer->id.idiag_src),
                        .other = address_of_bytes(answer->idiag_family, answer->id.idiag_dst),
                        .own_port = ntohs(answer->id.idiag_sport),
                        .other_port = ntohs(answer->id.idiag_dport),
                        .state = answer->idiag_state,
                        .user = answer->idiag_uid,
                        .held = answer->idiag_inode != 0};
    visit(&socket, context);
}

/** Error that ends an answer. @return 0: it is complete. */
static int error_in(const struct nlmsghdr *head)
{
    int error = 0;
    if (head->nlmsg_len >= NLMSG_LENGTH(sizeof error)) /* both kinds begin with a negative error number */
        memcpy(&error, NLMSG_DATA(head), sizeof error);
    return -error;
}

/** Receive the answer to a request. @param dump  it has several parts. @return 0, or an error number. */
static int receive_answer(int fd, bool dump, visitor visit, void *context)
{
    union {
        struct nlmsghdr head;
        char bytes[32768];
    } part;
    for (;;) {
        ssize_t got = recv(fd, &part, sizeof part, 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got < 0 ? errno : EPROTO;
        int left = (int)got;
        for (struct nlmsghdr *head = &part.head; NLMSG_OK(head, left); head = NLMSG_NEXT(head, left)) {
            if (head->nlmsg_type == NLMSG_DONE || head->nlmsg_type == NLMSG_ERROR)
                return error_in(head);
            if (head->nlmsg_type == SOCK_DIAG_BY_FAMILY &&
                head->nlmsg_len >= NLMSG_LENGTH(sizeof(struct inet_diag_msg)))
                tell_of(NLMSG_DATA(head), visit, context);
        }
        if (!dump)
            return 0;
    }
}

/** Ask for sockets of a family. @param id  one connection, seen from the end in question; NULL: all listeners.
 *  @return 0, or an error number. */
static int ask(int fd, int family, const struct inet_diag_sockid *id, visitor visit, void *context)
{
    struct {
        struct nlmsghdr head;
        struct inet_diag_req_v2 body;
    } request = {.head = {.nlmsg_len = sizeof request,
                          .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                          .nlmsg_flags = (uint16_t)(id == NULL ? NLM_F_REQUEST | NLM_F_DUMP : NLM_F_REQUEST)},
                 .body = {.sdiag_family = (uint8_t)family, .sdiag_protocol = IPPROTO_TCP}};
    request.body.idiag_states = id == NULL ? 1U << LISTENING : ~0U;
    if (id != NULL)
        request.body.id = *id;
    if (send(fd, &request, sizeof request, 0) != (ssize_t)sizeof request)
        return errno;
    return receive_answer(fd, id == NULL, visit, context);
}

/** @return a descriptor, or -1. */
static int open_diag(void)
{
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    struct timeval patience = {.tv_sec = 2};
    if (fd >= 0)
        (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    return fd;
}

/** End asking. @return whether the answer was complete; otherwise errno says why. */
static bool finish(int fd, int error)
{
    close(fd);
    errno = error;
    return error == 0;
}

static bool ask_for_listeners(visitor visit, void *context)
{
    int fd = open_diag();
    if (fd < 0)
        return false;
    int error = ask(fd, AF_INET, NULL, visit, context);
    if (error == 0)
        error = ask(fd, AF_INET6, NULL, visit, context);
    return finish(fd, error);
}

/** Ask for one connection. If there is none, the system says the same as if it could not tell: ENOENT. */
static bool ask_for_connection(const described *wanted, visitor visit, void *context)
{
    struct inet_diag_sockid id = {.idiag_sport = htons((uint16_t)wanted->own_port),
                                  .idiag_dport = htons((uint16_t)wanted->other_port),
                                  .idiag_cookie = {INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE}};
    bool four = is_mapped(&wanted->own) && is_mapped(&wanted->other);
    size_t from = four ? sizeof mapped : 0;
    memcpy(id.idiag_src, &wanted->own.s6_addr[from], sizeof wanted->own - from);
    memcpy(id.idiag_dst, &wanted->other.s6_addr[from], sizeof wanted->other - from);
    int fd = open_diag();
    return fd >= 0 && finish(fd, ask(fd, four ? AF_INET : AF_INET6, &id, visit, context));
}

/* ---- listeners ---------------------------------------------------------------------------------------------------- */

/** The listener that gets a connection: among those at the port, the one with the most specific address. */
typedef struct listener {
    struct in6_addr called;
    int port;
    int rank; /* how specific its address is: 0: no listener yet; 1: ::, 2: 0.0.0.0, 3: the address itself */
    unsigned user;
} listener;

static int rank_of(const struct in6_addr *listens, const struct in6_addr *called)
{
    static const struct in6_addr any;
    struct in6_addr any_mapped = any;
    memcpy(&any_mapped, mapped, sizeof mapped);
    if (memcmp(listens, called, sizeof *listens) == 0)
        return 3;
    if (memcmp(listens, &any_mapped, sizeof *listens) == 0 && is_mapped(called))
        return 2;
    return memcmp(listens, &any, sizeof *listens) == 0;
}

static void consider(const described *socket, void *context)
{
    listener *found = context;
    if (socket->state != LISTENING || socket->own_port != found->port)
        return;
    int rank = rank_of(&socket->own, &found->called);
    if (rank > found->rank || (rank > 0 && rank == found->rank && socket->user != 0 && socket->user != geteuid())) {
        found->rank = rank;
        found->user = socket->user;
    }
}

int dcli_owner_of_listener(dcli_owner_way way, const struct in6_addr *called, int port, unsigned *user_out)
{
    listener found = {.called = *called, .port = port};
    bool told = way == DCLI_OWNER_DIAG ? ask_for_listeners(consider, &found) : read_tables(consider, &found);
    *user_out = found.user;
    return told ? found.rank > 0 : -1;
}

/* ---- connections -------------------------------------------------------------------------------------------------- */

typedef struct other_end {
    described wanted; /* its addresses and ports */
    bool found;
    unsigned user;
} other_end;

static void compare(const described *socket, void *context)
{
    other_end *end = context;
    const described *wanted = &end->wanted;
    if (!socket->held || socket->state == LISTENING || socket->own_port != wanted->own_port ||
        socket->other_port != wanted->other_port || memcmp(&socket->own, &wanted->own, sizeof wanted->own) != 0 ||
        memcmp(&socket->other, &wanted->other, sizeof wanted->other) != 0)
        return;
    end->found = true;
    end->user = socket->user;
}

int dcli_owner_of_other_end(dcli_owner_way way, int fd, unsigned *user_out)
{
    other_end end = {0};
    described *wanted = &end.wanted;
    if (!dcli_socket_name(fd, false, &wanted->other, &wanted->other_port) ||
        !dcli_socket_name(fd, true, &wanted->own, &wanted->own_port))
        return 0; /* the connection has ended */
    bool told = way == DCLI_OWNER_DIAG ? ask_for_connection(wanted, compare, &end) : read_tables(compare, &end);
    *user_out = end.user;
    return told ? end.found : -1;
}
