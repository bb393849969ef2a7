/* test/support/mount.h - in-memory file systems for a test: only its process sees them, and they end with it. */
#ifndef TEST_SUPPORT_MOUNT_H
#define TEST_SUPPORT_MOUNT_H

#include <criterion/criterion.h>

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

static inline void test_write_line(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    if (file != NULL) {
        fputs(text, file);
        fclose(file);
    }
}

/* Enter a mount namespace; also a user namespace if only root may mount. */
static inline int test_unshare(void)
{
    char map[64];
    uid_t user = getuid();
    gid_t group = getgid();
    if (user == 0 && unshare(CLONE_NEWNS) == 0)
        return 0;
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0)
        return -1;
    test_write_line("/proc/self/setgroups", "deny");
    snprintf(map, sizeof map, "%u %u 1", (unsigned)user, (unsigned)user);
    test_write_line("/proc/self/uid_map", map);
    snprintf(map, sizeof map, "%u %u 1", (unsigned)group, (unsigned)group);
    test_write_line("/proc/self/gid_map", map);
    return 0;
}

/** Mount such a file system at a folder; skips the test if that is not allowed. @param options  "size=1m" */
static inline void test_mount(const char *folder, const char *options)
{
    static bool unshared;
    if ((!unshared && (test_unshare() != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)) ||
        mount("tmpfs", folder, "tmpfs", 0, options) != 0)
        cr_skip_test("no file system can be mounted here: %s", strerror(errno));
    unshared = true;
}

#endif
