/* fleet/confine.c - restrict files, ports and signals of a session's process, by Landlock.
 * Landlock restricts the calling thread and what it starts later. Kernels run on threads that a driver starts when its
 * device is opened, and any thread can modify any other thread of its process. Therefore the rules are set at the start
 * of the process, and permit what opening a device needs.
 * Source: landlock(7), Documentation/userspace-api/landlock.rst of Linux 6.15 (interface 7). */
#include "fleet/confine.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <inttypes.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"
#include "fleet/confine_calls.h"
#include "fleet/environment.h"

/* ---- the system interface ---------------------------------------------------------------------------------------- */

/* Declared here, because the header may be older than the running system. */

enum { CREATE_RULESET = 444, ADD_RULE = 445, RESTRICT_SELF = 446, ASK_VERSION = 1, PATH_BENEATH = 1, NET_PORT = 2 };

enum {
    EXECUTE = 1 << 0,
    WRITE_FILE = 1 << 1,
    READ_FILE = 1 << 2,
    READ_DIR = 1 << 3,
    REMOVE_DIR = 1 << 4,
    REMOVE_FILE = 1 << 5,
    MAKE_DIR = 1 << 7,
    MAKE_REG = 1 << 8,
    REFER = 1 << 13,
    TRUNCATE = 1 << 14,
    IOCTL_DEV = 1 << 15,
    ALL_OF_1 = (1 << 13) - 1, /* access rights of the first version of Landlock */
    OF_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV,

    BIND_TCP = 1 << 0,
    CONNECT_TCP = 1 << 1,

    SCOPE_ABSTRACT_SOCKETS = 1 << 0,
    SCOPE_SIGNALS = 1 << 1,

    VERSION_REFER = 2,
    VERSION_TRUNCATE = 3,
    VERSION_NETWORK = 4,
    VERSION_IOCTL = 5,
    VERSION_SCOPES = 6
};

struct ruleset_attr {
    uint64_t files, network, scopes;
};

struct path_attr {
    uint64_t allowed;
    int32_t parent_fd;
} __attribute__((packed));

struct port_attr {
    uint64_t allowed, port;
};

static const uint64_t libraries = READ_FILE | READ_DIR | EXECUTE, reading = READ_FILE | READ_DIR,
                      devices = READ_FILE | READ_DIR | WRITE_FILE | IOCTL_DEV,
                      own_folder = READ_FILE | READ_DIR | WRITE_FILE | TRUNCATE | REMOVE_DIR | REMOVE_FILE | MAKE_DIR |
                                   MAKE_REG | REFER;

typedef struct ruleset {
    int fd;
    uint64_t files; /* rights that it handles */
    bool failed;    /* a required rule could not be added */
} ruleset;

static size_t attr_bytes(int version)
{
    return version >= VERSION_SCOPES    ? sizeof(struct ruleset_attr)
           : version >= VERSION_NETWORK ? 2 * sizeof(uint64_t)
                                        : sizeof(uint64_t);
}

static ruleset make_ruleset(int version, bool with_ports)
{
    struct ruleset_attr attr = {.files = ALL_OF_1};
    if (version >= VERSION_REFER)
        attr.files |= REFER;
    if (version >= VERSION_TRUNCATE)
        attr.files |= TRUNCATE;
    if (version >= VERSION_IOCTL)
        attr.files |= IOCTL_DEV;
    if (version >= VERSION_NETWORK && with_ports)
        attr.network = BIND_TCP | CONNECT_TCP;
    if (version >= VERSION_SCOPES)
        attr.scopes = SCOPE_ABSTRACT_SOCKETS | SCOPE_SIGNALS;
    return (ruleset){.fd = (int)syscall(CREATE_RULESET, &attr, attr_bytes(version), 0), .files = attr.files};
}

/* ---- files --------------------------------------------------------------------------------------------------------- */

/* Permit access to a path. A path that does not exist needs no rule. */
static void allow(ruleset *rules, const char *path, uint64_t rights)
{
    struct stat about;
    int fd = open(path, O_PATH | O_CLOEXEC);
    if (fd < 0)
        return;
    if (fstat(fd, &about) == 0) {
        rights &= S_ISDIR(about.st_mode) ? rules->files : rules->files & OF_FILES;
        struct path_attr attr = {.allowed = rights, .parent_fd = fd};
        if (rights != 0 && syscall(ADD_RULE, rules->fd, PATH_BENEATH, &attr, 0) != 0)
            rules->failed = true;
    }
    close(fd);
}

static void allow_matching(ruleset *rules, const char *pattern, uint64_t rights)
{
    glob_t found = {0};
    if (glob(pattern, GLOB_NOSORT, NULL, &found) == 0)
        for (size_t p = 0; p < found.gl_pathc; p++)
            allow(rules, found.gl_pathv[p], rights);
    globfree(&found);
}

static void allow_system(ruleset *rules)
{
    static const char *const installed[] = {"/usr", "/lib",  "/lib32",     "/lib64",    "/libx32",
                                            "/bin", "/sbin", "/nix/store", "/gnu/store"};
    static const char *const settings[] = {
        "/etc/OpenCL",       "/etc/ld.so.cache",  "/etc/ld.so.preload", "/etc/ld.so.conf",
        "/etc/ld.so.conf.d", "/etc/alternatives", "/etc/localtime",     "/etc/nsswitch.conf",
        "/etc/host.conf",    "/etc/hosts",        "/etc/resolv.conf",   "/etc/gai.conf",
        "/etc/protocols",    "/etc/services",     "/etc/nvidia",        "/sys",
        "/proc/self",        "/proc/cpuinfo",     "/proc/meminfo",      "/proc/stat",
        "/proc/devices",     "/proc/filesystems", "/proc/version",      "/proc/modules",
        "/proc/driver",      "/proc/sys",         "/proc/loadavg",      "/proc/cgroups",
        "/proc/uptime",      "/dev/random",       "/dev/urandom",       "/run/systemd/resolve"};
    static const char *const patterns[] = {"/opt/rocm*", "/opt/intel", "/opt/cuda*", "/opt/nvidia*", "/opt/conda"};
    static const char *const nodes[] = {"/dev/null", "/dev/zero", "/dev/full", "/dev/kfd", "/dev/dri"};
    for (size_t n = 0; n < sizeof installed / sizeof installed[0]; n++)
        allow(rules, installed[n], libraries);
    for (size_t n = 0; n < sizeof patterns / sizeof patterns[0]; n++)
        allow_matching(rules, patterns[n], libraries);
    for (size_t n = 0; n < sizeof settings / sizeof settings[0]; n++)
        allow(rules, settings[n], reading);
    for (size_t n = 0; n < sizeof nodes / sizeof nodes[0]; n++)
        allow(rules, nodes[n], devices);
    allow_matching(rules, "/dev/nvidia*", devices);
    allow_matching(rules, "/dev/accel*", devices);
}

/* Permit reading a library, and its folder if that is a folder for libraries (a home folder is not). */
static void allow_library(ruleset *rules, const char *path)
{
    char folder[4096];
    const char *slash = strrchr(path, '/');
    allow(rules, path, libraries);
    if (slash == NULL || slash == path || (size_t)(slash - path) >= sizeof folder)
        return;
    snprintf(folder, sizeof folder, "%.*s", (int)(slash - path), path);
    const char *name = strrchr(folder, '/');
    if (name != NULL && strncmp(name, "/lib", 4) == 0)
        allow(rules, folder, libraries);
}

static int allow_loaded(struct dl_phdr_info *info, size_t bytes, void *rules)
{
    (void)bytes;
    if (info->dlpi_name != NULL && info->dlpi_name[0] == '/')
        allow_library(rules, info->dlpi_name);
    return 0;
}

/* Call `take` for each path of `list`, in which colons separate paths. */
static void allow_list(ruleset *rules, const char *list, void (*take)(ruleset *rules, const char *path))
{
    char path[4096];
    while (list != NULL && *list != '\0') {
        size_t length = strcspn(list, ":");
        if (length > 0 && length < sizeof path) {
            memcpy(path, list, length);
            path[length] = '\0';
            take(rules, path);
        }
        list += length + (list[length] == ':');
    }
}

static void allow_folder(ruleset *rules, const char *path) { allow(rules, path, libraries); }

/* Permit the library that a file of /etc/OpenCL/vendors names. */
static void allow_driver(ruleset *rules, const char *icd)
{
    char line[4096] = "";
    FILE *file = fopen(icd, "re");
    if (file == NULL)
        return;
    if (fgets(line, sizeof line, file) != NULL && line[0] == '/') {
        line[strcspn(line, "\r\n")] = '\0';
        allow_library(rules, line);
    }
    fclose(file);
}

static void allow_drivers(ruleset *rules, const char *folder)
{
    char pattern[4096];
    glob_t found = {0};
    snprintf(pattern, sizeof pattern, "%s/*.icd", folder);
    if (glob(pattern, GLOB_NOSORT, NULL, &found) == 0)
        for (size_t p = 0; p < found.gl_pathc; p++)
            allow_driver(rules, found.gl_pathv[p]);
    globfree(&found);
}

/* Permit libraries named in variables of the dynamic loader and of the OpenCL loader. */
static void allow_named_libraries(ruleset *rules)
{
    const char *vendors = dcli_environment_find("OCL_ICD_VENDORS");
    dl_iterate_phdr(allow_loaded, rules);
    allow_list(rules, dcli_environment_find("LD_LIBRARY_PATH"), allow_folder);
    allow_list(rules, dcli_environment_find("OCL_ICD_FILENAMES"), allow_library);
    allow_list(rules, dcli_environment_find("OPENCL_LAYERS"), allow_library);
    /* The driver that the driver of the tests wraps. */
    allow_list(rules, dcli_environment_find("TEST_OPENCL_DRIVER"), allow_library);
    allow_drivers(rules, "/etc/OpenCL/vendors");
    if (vendors != NULL) {
        allow(rules, vendors, libraries);
        allow_drivers(rules, vendors);
        allow_driver(rules, vendors);
    }
}

/* ---- ports --------------------------------------------------------------------------------------------------------- */

static bool has_ports(const dcli_confine_terms *terms)
{
    int64_t count = 0;
    for (int r = 0; r < 2; r++)
        count += terms->port[r][0] > 0 ? terms->port[r][1] - terms->port[r][0] + 1 : 0;
    return count > 0 && count <= 2 * DCLI_MOST_PORTS;
}

static void allow_ports(ruleset *rules, const dcli_confine_terms *terms)
{
    for (int r = 0; r < 2; r++)
        for (int port = terms->port[r][0]; port > 0 && port <= terms->port[r][1]; port++) {
            struct port_attr attr = {.allowed = BIND_TCP | CONNECT_TCP, .port = (uint64_t)port};
            if (syscall(ADD_RULE, rules->fd, NET_PORT, &attr, 0) != 0)
                rules->failed = true;
        }
}

/* ---- the whole ----------------------------------------------------------------------------------------------------- */

dcli_containment dcli_containment_of_system(void)
{
    long version = syscall(CREATE_RULESET, NULL, 0, ASK_VERSION);
    return (dcli_containment){.landlock = version > 0 ? (int)version : 0, .calls = dcli_calls_can_be_filtered()};
}

void dcli_containment_missing(dcli_containment system, char *text_out, size_t capacity)
{
    text_out[0] = '\0';
    if (system.landlock == 0)
        snprintf(
            text_out, capacity,
            "this system has no Landlock (Linux 5.13 or newer, switched on): a kernel that runs on a processor can "
            "read and write what this worker's user can, and connect to every port");
    else if (system.landlock < VERSION_NETWORK)
        snprintf(text_out, capacity,
                 "Landlock of this system has no network rules (Linux 6.7 or newer has them): a kernel that runs on a "
                 "processor can connect to every port");
    size_t length = strlen(text_out);
    if (!system.calls)
        snprintf(text_out + length, capacity - length, "%sthis system does not filter system calls (seccomp): %s",
                 length > 0 ? "; " : "",
                 system.landlock < VERSION_SCOPES ? "a kernel that runs on a processor can signal other processes of "
                                                    "this user, and use sockets of every kind"
                                                  : "a kernel that runs on a processor can use sockets of every kind");
}

void dcli_confine_basics_of_parent(void)
{
    const struct rlimit none = {0, 0};
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    prctl(PR_SET_DUMPABLE, 0); /* sanitizers trace their own process when they look for leaks */
#endif
    setrlimit(RLIMIT_CORE, &none);
}

void dcli_confine_basics(void)
{
    const struct rlimit none = {0, 0};
    dcli_confine_basics_of_parent();
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    setrlimit(RLIMIT_MSGQUEUE, &none);
    setrlimit(RLIMIT_RTPRIO, &none);
}

static dcl_status restrict_self(ruleset *rules)
{
    if (rules->fd >= 0 && !rules->failed && syscall(RESTRICT_SELF, rules->fd, 0) == 0)
        return DCL_OK;
    return DCLI_FAIL(DCL_ERR_UNSUPPORTED,
                     "a process of a session cannot be contained: %s; see \"Containment\" in docs/workers.md, or start "
                     "the worker with --contain off",
                     rules->failed ? "the system refuses a rule of Landlock" : strerror(errno));
}

dcl_status dcli_confine(const dcli_confine_terms *terms)
{
    dcli_containment system = dcli_containment_of_system();
    dcl_status status = DCL_OK;
    if (system.landlock > 0) {
        ruleset rules = make_ruleset(system.landlock, has_ports(terms));
        if (rules.fd >= 0) {
            allow_system(&rules);
            allow_named_libraries(&rules);
            if (terms->files != NULL)
                allow(&rules, terms->files, own_folder);
            if (terms->cache != NULL)
                allow(&rules, terms->cache, own_folder);
            if (system.landlock >= VERSION_NETWORK && has_ports(terms))
                allow_ports(&rules, terms);
        }
        status = restrict_self(&rules);
        if (rules.fd >= 0)
            close(rules.fd);
    }
    return status;
}

dcl_status dcli_confine_calls(void) { return dcli_calls_can_be_filtered() ? dcli_calls_filter() : DCL_OK; }
