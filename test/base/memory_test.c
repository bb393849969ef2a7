/* What control groups leave a process, and memfds that cannot have their pages. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"

/* A file of a folder that is made of groups, with the folders on the way. */
static void put(const char *folder, const char *name, const char *text)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    for (char *slash = strchr(path + strlen(folder) + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(path, 0700);
        *slash = '/';
    }
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file, "%s", path);
    fputs(text, file);
    fclose(file);
}

struct group_case {
    char what[48], group[96];
    char file[5][2][80]; /* name below the mount, text */
    uint64_t limit, left;
};

#define NONE UINT64_MAX

ParameterizedTestParameters(memory, control_groups)
{
    static struct group_case cases[] = {
        {"no groups", "", {{{0}}}, NONE, NONE},
        {"version 2", "0::/a/b\n", {{"a/b/memory.max", "1000"}, {"a/b/memory.current", "400"}}, 1000, 600},
        {"no limit", "0::/a\n", {{"a/memory.max", "max"}, {"a/memory.current", "400"}}, NONE, NONE},
        {"the limit of a group above",
         "0::/a/b\n",
         {{"a/b/memory.max", "max"}, {"a/memory.max", "500"}, {"a/memory.current", "100"}},
         500,
         400},
        {"the least of two",
         "0::/a/b\n",
         {{"a/b/memory.max", "300"}, {"a/b/memory.current", "0"}, {"a/memory.max", "500"}, {"a/memory.current", "450"}},
         300,
         50},
        {"what is cached can be dropped",
         "0::/a\n",
         {{"a/memory.max", "1000"}, {"a/memory.current", "900"}, {"a/memory.stat", "anon 7\ninactive_file 300\n"}},
         1000,
         400},
        {"so can what was used lately",
         "0::/a\n",
         {{"a/memory.max", "1000"},
          {"a/memory.current", "900"},
          {"a/memory.stat", "file 500\ninactive_file 300\nactive_file 100\n"}},
         1000,
         500},
        {"a group above with less left, cached",
         "0::/a/b\n",
         {{"a/b/memory.max", "300"},
          {"a/b/memory.current", "100"},
          {"a/memory.max", "500"},
          {"a/memory.current", "450"},
          {"a/memory.stat", "active_file 30\n"}},
         300,
         80},
        {"more in use than allowed", "0::/\n", {{"memory.max", "10"}, {"memory.current", "11"}}, 10, 0},
        {"a container: the path is the host's",
         "0::/docker/1\n",
         {{"memory.max", "64"}, {"memory.current", "4"}},
         64,
         60},
        {"version 1",
         "7:cpu:/x\n8:hugetlb,memory:/a\n",
         {{"memory/a/memory.limit_in_bytes", "1000"}, {"memory/a/memory.usage_in_bytes", "250"}},
         1000,
         750},
        {"version 1, nested",
         "8:memory:/a/b\n",
         {{"memory/a/b/memory.limit_in_bytes", "9223372036854771712"},
          {"memory/a/memory.limit_in_bytes", "1000"},
          {"memory/a/memory.usage_in_bytes", "900"},
          {"memory/a/memory.stat", "inactive_file 7\ntotal_inactive_file 300\ntotal_active_file 200\n"}},
         1000,
         600},
        {"version 1, a group above with less left",
         "8:memory:/a/b\n",
         {{"memory/a/b/memory.limit_in_bytes", "500"},
          {"memory/a/b/memory.usage_in_bytes", "100"},
          {"memory/a/memory.limit_in_bytes", "1000"},
          {"memory/a/memory.usage_in_bytes", "900"}},
         500,
         100},
        {"version 1, no limit",
         "8:memory:/a\n",
         {{"memory/a/memory.limit_in_bytes", "9223372036854771712"}, {"memory/a/memory.usage_in_bytes", "250"}},
         NONE,
         NONE},
    };
    return cr_make_param_array(struct group_case, cases, sizeof cases / sizeof cases[0]);
}

ParameterizedTest(struct group_case *c, memory, control_groups)
{
    char folder[] = "/tmp/dcl-groups-XXXXXX", path[128];
    cr_assert_not_null(mkdtemp(folder));
    put(folder, "own", c->group);
    for (int f = 0; f < 5 && c->file[f][0][0] != '\0'; f++)
        put(folder, c->file[f][0], c->file[f][1]);
    snprintf(path, sizeof path, "%s/own", folder);
    dcli_group_memory memory = dcli_group_memory_of(path, folder);
    cr_expect_eq(memory.limit, c->limit, "%s: limit %" PRIu64, c->what, memory.limit);
    cr_expect_eq(memory.left, c->left, "%s: left %" PRIu64, c->what, memory.left);
    snprintf(path, sizeof path, "rm -r %s", folder);
    cr_expect_eq(system(path), 0);
}

Test(memory, there_is_some)
{
    cr_expect_gt(dcli_memory_left(), 0);
    cr_expect_lt(dcli_memory_limit(), UINT64_MAX, "nobody says how much there is");
    cr_expect_leq(dcli_memory_left(), dcli_memory_limit());
}

static int no_pages; /* the next fallocate() fails: memory is as full as it gets */
static int signals;  /* a signal comes while pages are reserved */
static sigset_t blocked_then;

int fallocate(int fd, int mode, off_t offset, off_t length)
{
    (void)mode;
    pthread_sigmask(SIG_BLOCK, NULL, &blocked_then);
    if (signals)
        kill(getpid(), SIGUSR1);
    if (no_pages) {
        errno = ENOSPC;
        return -1;
    }
    errno = posix_fallocate(fd, offset, length);
    return errno == 0 ? 0 : -1;
}

Test(memory, pages_are_there_or_it_is_an_error)
{
    struct stat made;
    int memfd = memfd_create("test", MFD_CLOEXEC);
    cr_assert_geq(memfd, 0);
    cr_expect_null(dcli_memory_back(memfd, 1 << 20));
    cr_assert_eq(fstat(memfd, &made), 0);
    cr_expect_eq(made.st_size, 1 << 20);
    cr_expect_geq(made.st_blocks, (1 << 20) / 512, "%ld blocks", (long)made.st_blocks);
    no_pages = 1;
    cr_expect_str_eq(dcli_memory_back(memfd, 2 << 20), "fallocate");
    cr_expect_eq(errno, ENOSPC);
    close(memfd);
}

static volatile sig_atomic_t caught;

static void catch_signal(int number) { caught = number; }

/* The system gives back what it has reserved, and says EINTR, when a signal comes. */
Test(memory, pages_are_reserved_without_signals)
{
    int memfd = memfd_create("test", MFD_CLOEXEC);
    cr_assert_geq(memfd, 0);
    cr_assert_eq(sigaction(SIGUSR1, &(struct sigaction){.sa_handler = catch_signal}, NULL), 0);
    signals = 1;
    cr_expect_null(dcli_memory_back(memfd, 1 << 20));
    cr_expect_eq(sigismember(&blocked_then, SIGUSR1), 1);
    cr_expect_eq(caught, SIGUSR1, "it comes afterwards");
    sigset_t after;
    pthread_sigmask(SIG_BLOCK, NULL, &after);
    cr_expect_eq(sigismember(&after, SIGUSR1), 0);
    close(memfd);
}

/* Such a file would end the process by SIGXFSZ. */
Test(memory, a_limit_of_file_sizes_is_an_error)
{
    struct rlimit limit = {4096, 4096};
    int memfd = memfd_create("test", MFD_CLOEXEC);
    cr_assert_geq(memfd, 0);
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    cr_expect_str_eq(dcli_memory_back(memfd, 1 << 20), "ftruncate");
    cr_expect_eq(errno, EFBIG);
    cr_expect_null(dcli_memory_back(memfd, 4096));
    close(memfd);
}
