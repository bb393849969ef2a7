/* test/net/stranger.h - a connection over which a test says itself what libzmq would: the beginning of a handshake. */
#ifndef TEST_NET_STRANGER_H
#define TEST_NET_STRANGER_H

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { TEST_MOST_OCCUPIED = 256 };

/** Occupy all descriptors below a free one, so that this is the next to be given: the system gives the lowest one.
 *  @param occupied_out  [TEST_MOST_OCCUPIED] for the caller to close. @return how many there are. */
static inline int test_occupy_below(int fd, int occupied_out[])
{
    int count = 0, next;
    while ((next = open("/dev/null", O_RDONLY | O_CLOEXEC)) < fd) {
        cr_assert(next >= 0 && count < TEST_MOST_OCCUPIED);
        occupied_out[count++] = next;
    }
    close(next);
    return count;
}

/** Make a socket whose descriptor is above `fd`. */
static inline int test_socket_above(int fd)
{
    int low = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), high = fcntl(low, F_DUPFD_CLOEXEC, fd + 1);
    close(low);
    return high;
}

/** Connect a socket. @param address  tcp://127.0.0.1:PORT */
static inline void test_stranger_call(int fd, const char *address)
{
    struct sockaddr_in name = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    name.sin_port = htons((uint16_t)atoi(strrchr(address, ':') + 1));
    cr_assert(fd >= 0 && connect(fd, (struct sockaddr *)&name, sizeof name) == 0);
}

/** @param address  tcp://127.0.0.1:PORT */
static inline int test_stranger_connect(const char *address)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    test_stranger_call(fd, address);
    return fd;
}

/** A greeting that offers PLAIN, the header of a first command that wants 60001 bytes, and so many of them, which are
 *  fewer (RFC 37/ZMTP). */
static inline void test_stranger_say(int fd, size_t bytes)
{
    enum { GREETING = 64, HEADER = 9, WANTED = 60001 };
    static unsigned char text[GREETING + HEADER + WANTED];
    memset(text, 0, sizeof text);
    text[0] = 0xff;
    text[9] = 0x7f;
    text[10] = 3;
    memcpy(text + 12, "PLAIN", 5);
    text[GREETING] = 6; /* a long command; its length has 8 bytes */
    text[GREETING + HEADER - 2] = WANTED >> 8;
    text[GREETING + HEADER - 1] = WANTED & 255;
    cr_assert_eq(send(fd, text, GREETING + HEADER + bytes, MSG_NOSIGNAL), (ssize_t)(GREETING + HEADER + bytes));
}

/** Whether the other side has ended it; what has come is thrown away. */
static inline bool test_stranger_is_cut(int fd)
{
    char bytes[256];
    ssize_t got = recv(fd, bytes, sizeof bytes, MSG_DONTWAIT);
    while (got > 0)
        got = recv(fd, bytes, sizeof bytes, MSG_DONTWAIT);
    return got == 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
}

#endif
