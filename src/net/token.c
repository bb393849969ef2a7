/* net/token.c - random tokens in files that only their user can read. */
#include "net/token.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "net/guarded.h"

dcl_status dcli_token_make(char token_out[DCLI_TOKEN]) { return dcli_random_hex((DCLI_TOKEN - 1) / 2, token_out); }

bool dcli_token_equal(const char *given, const char *expected)
{
    size_t length = strlen(expected);
    size_t at = 0; /* stops at the end of `expected`; the rest of `given` is compared with its '\0', so the time does
                      not depend on the contents */
    volatile unsigned char differ = 0;
    for (; *given != '\0'; given++) {
        differ |= (unsigned char)*given ^ (unsigned char)expected[at];
        at += at < length;
    }
    return differ == 0 && expected[at] == '\0';
}

/* ---- where ---- */

/** Make a file name of an address: tcp://localhost:7700 -> tcp-127.0.0.1-7700; unusual characters become one '-'. */
static void name_of(const char *address, char *name_out, size_t bytes)
{
    static const char local[] = "://localhost:", number[] = "-127.0.0.1-";
    size_t length = 0;
    while (*address != '\0' && length + sizeof number < bytes) {
        if (strncmp(address, local, sizeof local - 1) == 0) {
            memcpy(name_out + length, number, sizeof number - 1);
            length += sizeof number - 1;
            address += sizeof local - 1;
            continue;
        }
        bool plain = isalnum((unsigned char)*address) || (*address == '.' && length > 0) || *address == '_';
        if (plain || (length > 0 && name_out[length - 1] != '-'))
            name_out[length++] = plain ? *address : '-';
        address++;
    }
    name_out[length] = '\0';
}

/** The folder that the system provides for a logged-in user. @return whether it exists and is this user's. */
static bool login_folder(char *folder_out, size_t bytes)
{
    struct stat found;
    char around[64];
    snprintf(around, sizeof around, "/run/user/%u", geteuid());
    snprintf(folder_out, bytes, "%s/dcl", around);
    return lstat(around, &found) == 0 && S_ISDIR(found.st_mode) && found.st_uid == geteuid() &&
           (found.st_mode & 077) == 0;
}

static void common_folder(char *folder_out, size_t bytes) { snprintf(folder_out, bytes, "/tmp/dcl-%u", geteuid()); }

static dcl_status join(const char *folder, const char *address, char *path_out, size_t bytes)
{
    char name[160];
    name_of(address, name, sizeof name);
    int length = snprintf(path_out, bytes, "%s/%s.token", folder, name);
    if (length > 0 && (size_t)length < bytes)
        return DCL_OK;
    return DCLI_FAIL(DCL_ERR_INVALID,
                     "the token's path for %s has %d characters; expected less than %zu; use a shorter "
                     "address",
                     address, length, bytes);
}

dcl_status dcli_token_path(const char *address, char *path_out, size_t bytes)
{
    char folder[80];
    if (!login_folder(folder, sizeof folder))
        common_folder(folder, sizeof folder);
    return join(folder, address, path_out, bytes);
}

/* ---- writing ---- */

/** Check the file that rename() would replace. */
static dcl_status check_old(int folder, const char *name, const char *path)
{
    struct stat found;
    if (fstatat(folder, name, &found, AT_SYMLINK_NOFOLLOW) != 0)
        return DCL_OK; /* there is no old token, or rename() will say what is wrong */
    if (S_ISREG(found.st_mode) && found.st_uid == geteuid())
        return DCL_OK;
    return DCLI_FAIL(DCL_ERR_FILE, "\"%s\" is %s; expected a token of this user or nothing; remove it", path,
                     S_ISREG(found.st_mode) ? "another user's file" : "not a regular file");
}

/** Write the token to a temporary file and rename it, so that readers see the whole old or the whole new one. */
static dcl_status replace(int folder, const char *name, const char *path, const char *token)
{
    char random[17], beside[64], text[DCLI_TOKEN + 1];
    dcl_status status = check_old(folder, name, path);
    if (status == DCL_OK)
        status = dcli_random_hex(8, random);
    if (status != DCL_OK)
        return status;
    snprintf(beside, sizeof beside, ".%s.new", random);
    snprintf(text, sizeof text, "%s\n", token);
    status = dcli_guarded_make(folder, beside, path, 0600, text);
    explicit_bzero(text, sizeof text);
    if (status == DCL_OK && renameat(folder, beside, folder, name) != 0) {
        status =
            DCLI_FAIL(DCL_ERR_FILE, "\"%s\" cannot be put in place: %s; expected a file's name", path, strerror(errno));
        unlinkat(folder, beside, 0);
    }
    return status;
}

dcl_status dcli_token_write(const char *path, const char token[DCLI_TOKEN])
{
    char for_folder[DCLI_GUARDED_PATH], for_name[DCLI_GUARDED_PATH];
    if (strlen(path) >= sizeof for_folder)
        return DCLI_FAIL(DCL_ERR_FILE, "the token's path has %zu characters; expected less than %zu; use a shorter one",
                         strlen(path), sizeof for_folder);
    strcpy(for_folder, path); /* dirname() and basename() modify their argument */
    strcpy(for_name, path);
    int folder;
    dcl_status status = dcli_guarded_folder_make(dirname(for_folder), DCLI_PRIVATE_HERE, &folder);
    if (status != DCL_OK)
        return status;
    status = replace(folder, basename(for_name), path, token);
    close(folder);
    return status;
}

/* ---- reading ---- */

static bool is_token(const char *text)
{
    size_t digits = strspn(text, "0123456789abcdef");
    return digits == DCLI_TOKEN - 1 && (strcmp(text + digits, "\n") == 0 || text[digits] == '\0');
}

dcl_status dcli_token_read(const char *path, char token_out[DCLI_TOKEN])
{
    char text[DCLI_GUARDED_BYTES];
    dcl_status status = dcli_guarded_read(
        path, DCLI_PRIVATE_HERE, "expected the token of a running worker; start it as this user, or use keys", text);
    if (status != DCL_OK)
        return status;
    if (is_token(text)) {
        memcpy(token_out, text, DCLI_TOKEN - 1);
        token_out[DCLI_TOKEN - 1] = '\0';
    } else {
        status = DCLI_FAIL(DCL_ERR_FILE,
                           "\"%s\" holds no token; expected one line of %d hexadecimal digits; start the "
                           "worker anew",
                           path, DCLI_TOKEN - 1);
    }
    explicit_bzero(text, sizeof text);
    return status;
}

dcl_status dcli_token_find(const char *address, char token_out[DCLI_TOKEN])
{
    char folder[2][80], path[2][DCLI_GUARDED_PATH];
    int places = 0;
    if (login_folder(folder[0], sizeof folder[0]))
        places++;
    common_folder(folder[places++], sizeof folder[0]);
    for (int i = 0; i < places; i++) {
        dcl_status status = join(folder[i], address, path[i], sizeof path[i]);
        if (status != DCL_OK)
            return status;
        if (access(path[i], F_OK) == 0)
            return dcli_token_read(path[i], token_out);
    }
    return DCLI_FAIL(DCL_ERR_FILE,
                     "there is no token for %s, neither \"%s\"%s%s%s; expected that of a running worker; "
                     "start it as this user on this machine, or use keys",
                     address, path[0], places > 1 ? " nor \"" : "", places > 1 ? path[1] : "", places > 1 ? "\"" : "");
}

/* ---- the owner of a listening socket ---- */

/* Source: proc(5), /proc/net/tcp and tcp6: addresses as machine words in hexadecimal digits, state 0A: listening. */

/** The listener that gets a connection: among those at the port, the one with the most specific address. */
typedef struct listener {
    int rank; /* how specific its address is: 0: no address yet; 1: ::, 2: 0.0.0.0, 3: the address itself */
    unsigned user;
} listener;

static const unsigned char mapped[12] = {[10] = 0xff, [11] = 0xff}; /* prefix of IPv4 addresses mapped to IPv6 */

static bool parse_number(const char *host, struct in6_addr *address_out)
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

static struct in6_addr address_of_words(const char *digits)
{
    struct in6_addr address;
    size_t words = strlen(digits) / 8, at = words == 1 ? sizeof mapped : 0;
    memcpy(&address, mapped, sizeof mapped);
    for (size_t w = 0; w < words && at < sizeof address; w++, at += 4) {
        uint32_t word = 0;
        sscanf(digits + 8 * w, "%8" SCNx32, &word);
        memcpy(&address.s6_addr[at], &word, sizeof word);
    }
    return address;
}

static int rank_of(const struct in6_addr *listens, const struct in6_addr *called)
{
    static const struct in6_addr any;
    struct in6_addr any_mapped = any;
    memcpy(&any_mapped, mapped, sizeof mapped);
    if (memcmp(listens, called, sizeof *listens) == 0)
        return 3;
    if (memcmp(listens, &any_mapped, sizeof *listens) == 0 && memcmp(called, mapped, sizeof mapped) == 0)
        return 2;
    return memcmp(listens, &any, sizeof *listens) == 0;
}

/** Consider a line of the table. If several listeners have the same rank, prefer one that is neither this user's nor
 *  root's. */
static void look_at(const char *line, const struct in6_addr *called, int port, listener *found)
{
    enum { LISTENING = 0x0a };
    char digits[33];
    unsigned own_port, state, user;
    if (sscanf(line, " %*d: %32[0-9A-Fa-f]:%x %*[0-9A-Fa-f]:%*x %x %*x:%*x %*x:%*x %*x %u", digits, &own_port, &state,
               &user) != 4 ||
        state != LISTENING || own_port != (unsigned)port)
        return;
    struct in6_addr listens = address_of_words(digits);
    int rank = rank_of(&listens, called);
    if (rank > found->rank || (rank > 0 && rank == found->rank && user != 0 && user != geteuid()))
        *found = (listener){rank, user};
}

/** Read one table. @return whether it could be read. */
static bool read_table(const char *path, const struct in6_addr *called, int port, listener *found)
{
    char line[512];
    FILE *table = fopen(path, "re");
    if (table == NULL)
        return false;
    while (fgets(line, sizeof line, table) != NULL)
        look_at(line, called, port, found);
    fclose(table);
    return true;
}

static dcl_status refuse_foreign(const char *host, int port, const listener *found)
{
    if (found->user == 0 || found->user == geteuid())
        return DCL_OK;
    return DCLI_FAIL(
        DCL_ERR_NETWORK,
        "the listener at tcp://%s:%d is user %u's; expected a worker of this user, %u, or of root: to others no "
        "token is shown; start the worker as this user, or use keys",
        host, port, found->user, geteuid());
}

dcl_status dcli_token_listener_is_ours(const char *host, int port)
{
    struct in6_addr called;
    listener found = {0};
    if (!parse_number(host, &called))
        return DCLI_FAIL(DCL_ERR_NETWORK, "host \"%s\" is no number; expected an address of loopback", host);
    bool has_table = read_table("/proc/net/tcp", &called, port, &found);
    has_table = read_table("/proc/net/tcp6", &called, port, &found) || has_table; /* does not exist without IPv6 */
    if (!has_table)
        return DCLI_FAIL(
            DCL_ERR_NETWORK,
            "whose listener is at tcp://%s:%d cannot be told: /proc/net/tcp: %s; expected it to be readable; "
            "mount /proc, or use keys",
            host, port, strerror(errno));
    if (found.rank == 0)
        return DCLI_FAIL(
            DCL_ERR_NETWORK,
            "the worker at tcp://%s:%d: connection refused (ECONNREFUSED): nobody listens there; start it, or "
            "correct the address",
            host, port);
    return refuse_foreign(host, port, &found);
}

dcl_status dcli_token_listener_is_not_foreign(const char *host, int port)
{
    struct in6_addr called;
    listener found = {0};
    if (!parse_number(host, &called))
        return DCL_OK;
    read_table("/proc/net/tcp", &called, port, &found);
    read_table("/proc/net/tcp6", &called, port, &found);
    return found.rank > 0 ? refuse_foreign(host, port, &found) : DCL_OK;
}

/** Find the other end of a connection of this host. @return false: it is not there. */
static bool find_other_end(const char *path, const struct sockaddr_in6 *own, const struct sockaddr_in6 *other,
                           unsigned *user_out)
{
    char line[512], digits[2][33];
    bool found = false;
    FILE *table = fopen(path, "re");
    while (table != NULL && !found && fgets(line, sizeof line, table) != NULL) {
        unsigned port[2], user;
        unsigned long inode; /* 0: not accepted yet, or ended; then it has no user either */
        if (sscanf(line, " %*d: %32[0-9A-Fa-f]:%x %32[0-9A-Fa-f]:%x %*x %*x:%*x %*x:%*x %*x %u %*d %lu", digits[0],
                   &port[0], digits[1], &port[1], &user, &inode) != 6 ||
            inode == 0 || port[0] != ntohs(other->sin6_port) || port[1] != ntohs(own->sin6_port))
            continue;
        struct in6_addr at = address_of_words(digits[0]), from = address_of_words(digits[1]);
        found = memcmp(&at, &other->sin6_addr, sizeof at) == 0 && memcmp(&from, &own->sin6_addr, sizeof from) == 0;
        *user_out = user;
    }
    if (table != NULL)
        fclose(table);
    return found;
}

/** Get the address of a socket, or of its peer, as an IPv6 address. @return false: there is none. */
static bool name_of_socket(int fd, bool of_peer, struct sockaddr_in6 *name_out)
{
    struct sockaddr_storage name;
    socklen_t length = sizeof name;
    struct sockaddr *at = (struct sockaddr *)&name;
    if ((of_peer ? getpeername(fd, at, &length) : getsockname(fd, at, &length)) != 0)
        return false;
    if (name.ss_family == AF_INET6) {
        memcpy(name_out, &name, sizeof *name_out);
        return true;
    }
    const struct sockaddr_in *old = (const struct sockaddr_in *)(const void *)&name;
    *name_out = (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_port = old->sin_port};
    memcpy(name_out->sin6_addr.s6_addr, mapped, sizeof mapped);
    memcpy(&name_out->sin6_addr.s6_addr[sizeof mapped], &old->sin_addr, sizeof old->sin_addr);
    return name.ss_family == AF_INET;
}

dcl_status dcli_token_connection_is_ours(int fd)
{
    struct sockaddr_in6 own, other;
    unsigned user = 0;
    if (!name_of_socket(fd, false, &own) || !name_of_socket(fd, true, &other))
        return DCL_OK; /* the connection has ended, so nothing can be sent over it */
    bool found =
        find_other_end("/proc/net/tcp", &own, &other, &user) || find_other_end("/proc/net/tcp6", &own, &other, &user);
    if (!found || user == 0 || user == geteuid())
        return DCL_OK;
    return DCLI_FAIL(
        DCL_ERR_NETWORK,
        "the other end of the connection to port %d is user %u's; expected a process of this user, %u, or of "
        "root: others are told nothing without keys; find out who takes the ports of workers here, or use keys",
        ntohs(other.sin6_port), user, geteuid());
}

/* ---- removing ---- */

void dcli_token_remove(const char *path, const char token[DCLI_TOKEN])
{
    char found[DCLI_TOKEN];
    if (access(path, F_OK) != 0 || dcli_token_read(path, found) != DCL_OK)
        return;
    if (dcli_token_equal(found, token))
        unlink(path);
    explicit_bzero(found, sizeof found);
}
