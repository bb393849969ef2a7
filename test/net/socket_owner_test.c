/* test/net/socket_owner_test.c - both ways of asking whose a socket is find the same. */
#include "net/socket_owner.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ANOTHER_USER = 65534 };

/** Way of asking, address that is listened at, address that is called, and whether another user listens. */
struct owner_case {
    dcli_owner_way way;
    char listens[16], called[16];
    bool others;
};

ParameterizedTestParameters(socket_owner, ends)
{
    static struct owner_case cases[] = {
        {DCLI_OWNER_DIAG, "127.0.0.1", "127.0.0.1", false},  {DCLI_OWNER_DIAG, "127.0.0.1", "127.0.0.1", true},
        {DCLI_OWNER_DIAG, "::", "127.0.0.1", true},          {DCLI_OWNER_DIAG, "::1", "::1", true},
        {DCLI_OWNER_TABLE, "127.0.0.1", "127.0.0.1", false}, {DCLI_OWNER_TABLE, "127.0.0.1", "127.0.0.1", true},
        {DCLI_OWNER_TABLE, "::", "127.0.0.1", true},         {DCLI_OWNER_TABLE, "::1", "::1", true},
    };
    return cr_make_param_array(struct owner_case, cases, sizeof cases / sizeof cases[0]);
}

static socklen_t name_at(const char *host, int port, struct sockaddr_storage *name_out)
{
    *name_out = (struct sockaddr_storage){0};
    struct sockaddr_in6 *wide = (void *)name_out;
    struct sockaddr_in *narrow = (void *)name_out;
    bool six = inet_pton(AF_INET6, host, &wide->sin6_addr) == 1;
    if (!six)
        cr_assert_eq(inet_pton(AF_INET, host, &narrow->sin_addr), 1);
    name_out->ss_family = six ? AF_INET6 : AF_INET;
    narrow->sin_port = htons((uint16_t)port); /* at the same place in both families */
    return six ? sizeof *wide : sizeof *narrow;
}

static int listen_at(const char *host, int *port_out)
{
    struct sockaddr_storage name;
    socklen_t length = name_at(host, 0, &name);
    int fd = socket(name.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&name, length) != 0 || listen(fd, 1) != 0 ||
        getsockname(fd, (struct sockaddr *)&name, &length) != 0)
        cr_skip("%s is not to be had here", host);
    *port_out = ntohs(((struct sockaddr_in *)(void *)&name)->sin_port);
    return fd;
}

static int call(const char *host, int port)
{
    struct sockaddr_storage name;
    socklen_t length = name_at(host, port, &name);
    int fd = socket(name.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    cr_assert(fd >= 0 && connect(fd, (struct sockaddr *)&name, length) == 0);
    return fd;
}

/** What is answered if there is nothing: sock_diag tells that of a connection as if it could not tell. */
static int none(const struct owner_case *c) { return c->way == DCLI_OWNER_DIAG ? -1 : 0; }

ParameterizedTest(struct owner_case *c, socket_owner, ends)
{
    int port;
    unsigned user = 1, wanted = c->others ? ANOTHER_USER : geteuid();
    struct in6_addr called;
    if (c->others && geteuid() != 0)
        cr_skip("becoming another user takes root");
    if (c->others)
        cr_assert_eq(seteuid(ANOTHER_USER), 0);
    int listener = listen_at(c->listens, &port);
    if (c->others)
        cr_assert_eq(seteuid(0), 0);
    cr_assert(dcli_owner_parse(c->called, &called));
    int found = dcli_owner_of_listener(c->way, &called, port, &user);
    if (found < 0 && c->way == DCLI_OWNER_DIAG)
        cr_skip("sock_diag is not to be had here: %s", strerror(errno));
    cr_expect_eq(found, 1);
    cr_expect_eq(user, wanted, "user %u", user);

    int client = call(c->called, port);
    cr_expect_eq(dcli_owner_of_other_end(c->way, client, &user), 0, "it is not accepted yet");
    if (c->others)
        cr_assert_eq(seteuid(ANOTHER_USER), 0);
    int server = accept(listener, NULL, NULL);
    if (c->others)
        cr_assert_eq(seteuid(0), 0);
    cr_expect_eq(dcli_owner_of_other_end(c->way, client, &user), 1);
    cr_expect_eq(user, wanted, "user %u", user);
    cr_expect_eq(dcli_owner_of_other_end(c->way, server, &user), 1);
    cr_expect_eq(user, geteuid(), "user %u", user);

    close(listener);
    cr_expect_eq(dcli_owner_of_listener(c->way, &called, port, &user), 0, "nobody listens any more");
    close(client);
    (void)shutdown(server, SHUT_RDWR);
    found = dcli_owner_of_other_end(c->way, server, &user);
    cr_expect(found == 0 || found == none(c), "%d", found);
    close(server);
}

Test(socket_owner, addresses)
{
    struct in6_addr address;
    cr_expect(dcli_owner_parse("[::1]", &address) && address.s6_addr[15] == 1 && address.s6_addr[10] == 0);
    cr_expect(dcli_owner_parse("127.0.0.2", &address) && address.s6_addr[15] == 2 && address.s6_addr[10] == 0xff);
    cr_expect_not(dcli_owner_parse("localhost", &address));
    cr_expect_not(dcli_owner_parse("", &address));
}
