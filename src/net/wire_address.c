/* net/wire_address.c - addresses of listeners: parsing, resolving, probing. Source: RFC 3986, section 3.2;
 * getaddrinfo(3). */
#include "net/wire_address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"

/* ---- parsing ------------------------------------------------------------------------------------------------------ */

static const char scheme[] = "tcp://";
static const char digits[] = "0123456789";
static const char name_letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";

__attribute__((format(printf, 2, 3))) static dcl_status refuse(const char *text, const char *format, ...)
{
    char what[160];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    return DCLI_FAIL(DCL_ERR_INVALID,
                     "address \"%.*s\" %s; expected tcp://HOST:PORT; write it like tcp://10.0.0.3:7700, "
                     "tcp://node3:7700 or tcp://[fd00::3]:7700",
                     DCLI_MOST_ADDRESS, text, what);
}

/** Set the host to the characters in [at, end). */
static dcl_status set_host(const char *text, const char *at, const char *end, dcli_address *address)
{
    if (at == end)
        return refuse(text, "has no host");
    memcpy(address->host, at, (size_t)(end - at));
    address->host[end - at] = '\0';
    return DCL_OK;
}

static dcl_status parse_bracketed(const char *text, const char *at, dcli_address *address, const char **rest_out)
{
    const char *end = strchr(at, ']');
    struct in6_addr ignored;
    if (end == NULL)
        return refuse(text, "has no ']' behind '['");
    dcl_status status = set_host(text, at + 1, end, address);
    if (status == DCL_OK && inet_pton(AF_INET6, address->host, &ignored) != 1)
        return refuse(text, "has \"%.64s\" in brackets, which is no IPv6 address", address->host);
    *rest_out = end + 1;
    return status;
}

static dcl_status parse_host(const char *text, const char *at, dcli_address_use use, dcli_address *address,
                             const char **rest_out)
{
    if (*at == '[')
        return parse_bracketed(text, at, address, rest_out);
    size_t length = use == DCLI_TO_LISTEN && *at == '*' ? 1 : strspn(at, name_letters);
    const char *end = at + length;
    if (*end != ':' && *end != '\0')
        return refuse(text, "has the character '%c' in its host", *end);
    if (*end == ':' && strchr(end + 1, ':') != NULL)
        return refuse(text, "has several ':'; an IPv6 address stands in brackets");
    *rest_out = end;
    return set_host(text, at, end, address);
}

/** Parse the port after the host. */
static dcl_status parse_port(const char *text, const char *at, dcli_address_use use, dcli_address *address)
{
    if (*at == '\0' || (*at == ':' && at[1] == '\0'))
        return refuse(text, "has no port");
    if (*at != ':')
        return refuse(text, "has \"%.64s\" behind its host", at);
    at++;
    address->port = 0;
    if (use == DCLI_TO_LISTEN && strcmp(at, "*") == 0)
        return DCL_OK;
    size_t length = strspn(at, digits);
    if (length == 0)
        return refuse(text, "has the port \"%.64s\"", at);
    if (at[length] != '\0')
        return refuse(text, "has \"%.64s\" behind its port", at + length);
    for (size_t i = 0; i < length && address->port <= 65535; i++)
        address->port = 10 * address->port + (at[i] - '0');
    if (address->port > 65535 || (address->port == 0 && use == DCLI_TO_CALL))
        return refuse(text, "has the port %.64s, which is not in %d..65535", at, use == DCLI_TO_CALL ? 1 : 0);
    return DCL_OK;
}

dcl_status dcli_address_parse(const char *text, dcli_address_use use, dcli_address *address_out)
{
    if (text == NULL || *text == '\0')
        return refuse("", "is empty");
    if (strlen(text) > DCLI_MOST_ADDRESS)
        return refuse(text, "has %zu bytes, more than %d", strlen(text), DCLI_MOST_ADDRESS);
    if (strstr(text, "://") == NULL)
        return refuse(text, "does not begin with tcp://");
    if (strncmp(text, scheme, sizeof scheme - 1) != 0)
        return refuse(text, "begins with \"%.*s\"", (int)(strstr(text, "://") + 3 - text), text);
    dcli_address address = {.port = 0};
    snprintf(address.text, sizeof address.text, "%s", text);
    const char *rest = text;
    dcl_status status = parse_host(text, text + sizeof scheme - 1, use, &address, &rest);
    if (status == DCL_OK)
        status = parse_port(text, rest, use, &address);
    if (status == DCL_OK)
        *address_out = address;
    return status;
}

/* ---- looking up --------------------------------------------------------------------------------------------------- */

static bool leads_back(const struct sockaddr *address)
{
    if (address->sa_family == AF_INET)
        return ntohl(((const struct sockaddr_in *)(const void *)address)->sin_addr.s_addr) >> 24 == 127;
    const struct in6_addr *in6 = &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr;
    return IN6_IS_ADDR_LOOPBACK(in6) || (IN6_IS_ADDR_V4MAPPED(in6) && in6->s6_addr[12] == 127);
}

/* A look-up in a thread of its own, which may outlive the call that waits for it; the last of the two frees it. */
typedef struct look_up_order {
    pthread_mutex_t lock; /* guards the fields up to `list` */
    pthread_cond_t changed;
    bool done, abandoned;
    int code, saved_errno;
    struct addrinfo *list;
    char host[DCLI_MOST_ADDRESS + 1], port[8];
} look_up_order;

static void free_order(look_up_order *order)
{
    if (order->list != NULL)
        freeaddrinfo(order->list);
    pthread_mutex_destroy(&order->lock);
    pthread_cond_destroy(&order->changed);
    dcli_free(order);
}

static int ask_system(const char *host, const char *port, int flags, struct addrinfo **list_out)
{
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV | flags};
    return getaddrinfo(host, port, &hints, list_out);
}

static void *look_up_in_thread(void *argument)
{
    look_up_order *order = argument;
    struct addrinfo *list = NULL;
    int code = ask_system(order->host, order->port, 0, &list);
    int saved_errno = errno;
    pthread_mutex_lock(&order->lock);
    order->code = code;
    order->saved_errno = saved_errno;
    order->list = list;
    order->done = true;
    bool abandoned = order->abandoned;
    pthread_cond_signal(&order->changed);
    pthread_mutex_unlock(&order->lock);
    if (abandoned)
        free_order(order);
    return NULL;
}

/* Start a look-up. @return NULL (recorded). */
static look_up_order *begin_look_up(const char *host, const char *port)
{
    look_up_order *order = dcli_calloc(1, sizeof *order);
    if (order == NULL)
        return NULL;
    snprintf(order->host, sizeof order->host, "%s", host);
    snprintf(order->port, sizeof order->port, "%s", port);
    pthread_mutex_init(&order->lock, NULL);
    dcli_cond_init(&order->changed);
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    int code = pthread_create(&thread, &attributes, look_up_in_thread, order);
    pthread_attr_destroy(&attributes);
    if (code == 0)
        return order;
    free_order(order);
    DCLI_FAIL(DCL_ERR_NOMEM, "a thread that looks up a host could not be started; close other programs");
    return NULL;
}

/* Wait for a look-up. @return the code of getaddrinfo(); EAI_AGAIN at the deadline, with errno ETIMEDOUT. */
static int end_look_up(look_up_order *order, int milliseconds, struct addrinfo **list_out)
{
    struct timespec until = dcli_in_ms(milliseconds);
    pthread_mutex_lock(&order->lock);
    while (!order->done && pthread_cond_timedwait(&order->changed, &order->lock, &until) == 0)
        ;
    bool done = order->done;
    order->abandoned = !done;
    *list_out = order->list;
    order->list = NULL;
    int code = done ? order->code : EAI_AGAIN, saved_errno = done ? order->saved_errno : ETIMEDOUT;
    pthread_mutex_unlock(&order->lock);
    if (done)
        free_order(order);
    errno = saved_errno;
    return code;
}

static dcl_status look_up(const dcli_address *address, int milliseconds, struct addrinfo **list_out)
{
    char port[8];
    snprintf(port, sizeof port, "%d", address->port);
    const char *host = strcmp(address->host, "*") == 0 ? "0.0.0.0" : address->host;
    if (ask_system(host, port, AI_NUMERICHOST, list_out) == 0)
        return DCL_OK;
    if (milliseconds == 0)
        return DCLI_FAIL(
            DCL_ERR_INVALID,
            "host \"%s\" of the address %s is a name; expected the number of its address, as whoever serves "
            "others looks nothing up",
            address->host, address->text);
    look_up_order *order = begin_look_up(host, port);
    if (order == NULL)
        return DCL_ERR_NOMEM;
    int code = end_look_up(order, milliseconds, list_out);
    if (code == 0)
        return DCL_OK;
    if (code == EAI_AGAIN && errno == ETIMEDOUT)
        return DCLI_FAIL(
            DCL_ERR_TIMEOUT,
            "host \"%s\" of the address %s could not be looked up within %g s; expected the system to know "
            "it; look at its name servers (/etc/resolv.conf), or write the number of the host's address",
            address->host, address->text, milliseconds / 1e3);
    return DCLI_FAIL(DCL_ERR_NETWORK,
                     "host \"%s\" of the address %s cannot be looked up (getaddrinfo: %s); expected a name that this "
                     "machine knows; correct it, or write the number of the host's address",
                     address->host, address->text, code == EAI_SYSTEM ? strerror(errno) : gai_strerror(code));
}

static void set_numeric(const struct addrinfo *info, dcli_resolved *resolved)
{
    char host[NI_MAXHOST] = "";
    getnameinfo(info->ai_addr, info->ai_addrlen, host, sizeof host, NULL, 0, NI_NUMERICHOST);
    resolved->ipv6 = info->ai_family == AF_INET6;
    snprintf(resolved->host, sizeof resolved->host, resolved->ipv6 ? "[%.60s]" : "%.60s", host);
}

dcl_status dcli_address_resolve_within(const dcli_address *address, int milliseconds, dcli_resolved *resolved_out)
{
    struct addrinfo *list = NULL;
    dcl_status status = look_up(address, milliseconds, &list);
    if (status != DCL_OK)
        return status;
    dcli_resolved resolved = {.port = address->port, .loopback = true};
    const struct addrinfo *chosen = list;
    for (const struct addrinfo *at = list; at != NULL; at = at->ai_next) {
        resolved.loopback = resolved.loopback && leads_back(at->ai_addr);
        if (at->ai_family == AF_INET && chosen->ai_family != AF_INET)
            chosen = at;
    }
    set_numeric(chosen, &resolved);
    freeaddrinfo(list);
    *resolved_out = resolved;
    return DCL_OK;
}

dcl_status dcli_address_resolve(const dcli_address *address, dcli_resolved *resolved_out)
{
    enum { LOOK_UP_MS = 10000 }; /* long enough for a second name server, which is asked after 5 s: resolv.conf(5) */
    return dcli_address_resolve_within(address, LOOK_UP_MS, resolved_out);
}

void dcli_resolved_text(const dcli_resolved *resolved, int port, char text_out[DCLI_MOST_ADDRESS + 1])
{
    if (port > 0)
        snprintf(text_out, DCLI_MOST_ADDRESS + 1, "tcp://%s:%d", resolved->host, port);
    else
        snprintf(text_out, DCLI_MOST_ADDRESS + 1, "tcp://%s:*", resolved->host);
}

dcl_status dcli_address_check_listener(const dcli_address *address, const dcli_resolved *resolved, bool has_keys)
{
    if (resolved->loopback || has_keys)
        return DCL_OK;
    return DCLI_FAIL(
        DCL_ERR_INVALID,
        "address %s can be reached from other machines, and there are no keys; expected keys wherever others "
        "can call; make them with `dcl keys`, or listen on tcp://127.0.0.1:PORT",
        address->text);
}

dcl_status dcli_address_check_call(const dcli_address *address, const dcli_resolved *resolved, bool has_keys)
{
    if (resolved->loopback || has_keys)
        return DCL_OK;
    return DCLI_FAIL(
        DCL_ERR_INVALID,
        "address %s is of another machine, and there are no keys; expected keys wherever others can listen in; "
        "make them with `dcl keys` on both machines, and exchange own.public",
        address->text);
}

/* ---- trying ------------------------------------------------------------------------------------------------------- */

static int wait_for_connection(int fd, int milliseconds)
{
    struct pollfd polled = {.fd = fd, .events = POLLOUT};
    int code = ETIMEDOUT;
    socklen_t length = sizeof code;
    if (poll(&polled, 1, milliseconds) > 0 && getsockopt(fd, SOL_SOCKET, SO_ERROR, &code, &length) != 0)
        code = errno;
    return code;
}

int dcli_address_probe(const dcli_resolved *resolved, int milliseconds)
{
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons((uint16_t)resolved->port)};
    struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)resolved->port)};
    char host[sizeof resolved->host];
    snprintf(host, sizeof host, "%s", resolved->host + (resolved->ipv6 ? 1 : 0));
    host[strcspn(host, "]%")] = '\0';
    if ((resolved->ipv6 ? inet_pton(AF_INET6, host, &in6.sin6_addr) : inet_pton(AF_INET, host, &in.sin_addr)) != 1)
        return EINVAL;
    int fd = socket(resolved->ipv6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return errno;
    const struct sockaddr *name = resolved->ipv6 ? (const void *)&in6 : (const void *)&in;
    int code = connect(fd, name, resolved->ipv6 ? sizeof in6 : sizeof in) == 0 ? 0 : errno;
    if (code == EINPROGRESS)
        code = wait_for_connection(fd, milliseconds);
    close(fd);
    return code;
}

/* Find this machine's address on the route to another one: connecting a datagram socket sends nothing but selects the
 * route. */
bool dcli_address_on_way_to(const dcli_resolved *other, dcli_resolved *own_out)
{
    struct addrinfo *list = NULL, own;
    struct sockaddr_storage name;
    socklen_t length = sizeof name;
    char host[sizeof other->host];
    snprintf(host, sizeof host, "%s", other->host + (other->ipv6 ? 1 : 0));
    host[strcspn(host, "]")] = '\0';
    if (ask_system(host, "9", AI_NUMERICHOST, &list) != 0) /* any port */
        return false;
    int fd = socket(list->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool found = fd >= 0 && connect(fd, list->ai_addr, list->ai_addrlen) == 0 &&
                 getsockname(fd, (struct sockaddr *)&name, &length) == 0;
    own = (struct addrinfo){.ai_family = list->ai_family, .ai_addr = (struct sockaddr *)&name, .ai_addrlen = length};
    freeaddrinfo(list);
    if (fd >= 0)
        close(fd);
    if (!found)
        return false;
    *own_out = (dcli_resolved){.loopback = leads_back(own.ai_addr)};
    set_numeric(&own, own_out);
    return true;
}
