/* net/direct.c - tells whether a TCP connection leads directly from one process to the other, with nothing in between.
 * Sources: random(4): boot_id; network_namespaces(7). */
#include "net/direct.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "net/socket_owner.h"

/** Identity of the running system (its boot_id) and of the network namespace of this process. */
static struct {
    char text[160];
    size_t length; /* 0: not known */
} here;

static void find_here(void)
{
    FILE *boot = fopen("/proc/sys/kernel/random/boot_id", "re");
    size_t length = boot != NULL ? fread(here.text, 1, 64, boot) : 0;
    if (boot != NULL)
        fclose(boot);
    ssize_t space = readlink("/proc/self/ns/net", here.text + length, sizeof here.text - length);
    here.length = length > 0 && space > 0 ? length + (size_t)space : 0;
}

uint64_t dcli_direct_view(int fd, bool of_peer)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct {
        struct in6_addr own, other;
        int own_port, other_port;
    } ends;
    memset(&ends, 0, sizeof ends);
    pthread_once(&once, find_here);
    if (here.length == 0 || !dcli_socket_name(fd, of_peer, &ends.own, &ends.own_port) ||
        !dcli_socket_name(fd, !of_peer, &ends.other, &ends.other_port))
        return 0;
    return XXH3_64bits_withSeed(&ends, sizeof ends, XXH3_64bits(here.text, here.length));
}
