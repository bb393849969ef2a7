/* store/files.c - opening files beneath an allowed folder, and the token files by which processes find out whether they
 * see the same folder. */
#include "store/files.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/check.h"
#include "base/error.h"

#define TOKEN_BEGIN ".dcl-"
#define TOKEN_END ".token"

/* ---- the folder --------------------------------------------------------------------------------------------------- */

const dcli_files dcli_files_everywhere = {.folder = -1, .everywhere = true};

/* Open a path beneath a folder, refusing links that lead out of it. Source: openat2(2). */
static int open_beneath(int folder, const char *path, uint64_t flags)
{
    enum { ATTEMPTS = 1000 }; /* EAGAIN: something was renamed or mounted during the look-up of ".." */
    struct open_how how = {.flags = flags | O_CLOEXEC, .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS};
    int fd = -1;
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        fd = (int)syscall(SYS_openat2, folder, path, &how, sizeof how);
        if (fd >= 0 || (errno != EAGAIN && errno != EINTR))
            break;
    }
    return fd;
}

dcli_files dcli_files_adopt(int folder, const char *name)
{
    dcli_files files = {.folder = folder, .name = name};
    int self = open_beneath(folder, ".", O_PATH);
    files.walks = self < 0 && (errno == ENOSYS || errno == EPERM); /* EPERM: a container that blocks the system call */
    if (self >= 0)
        close(self);
    return files;
}

dcl_status dcli_files_hold(const char *name, dcli_files *files_out)
{
    int folder = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC); /* unlike O_PATH, this triggers automounting */
    if (folder < 0 && errno == EACCES)
        folder = open(name, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0)
        return DCLI_FAIL(DCL_ERR_FILE,
                         "files is \"%s\", which is no folder that can be used (%s); expected the folder whose files "
                         "sessions may read and write",
                         name, errno == ENOTDIR ? "not a folder" : strerror(errno));
    *files_out = dcli_files_adopt(folder, name);
    return DCL_OK;
}

void dcli_files_release(dcli_files *files)
{
    if (files->folder >= 0)
        close(files->folder);
    files->folder = -1;
}

/* ---- opening ------------------------------------------------------------------------------------------------------ */

/* The part of a path after the allowed folder, that is after the shortest prefix that names this folder. Only this
 * prefix is looked up by name; the rest is opened beneath the descriptor. @return NULL: no prefix of the path names the
 * folder. */
static const char *path_inside(const dcli_files *files, const char *path)
{
    struct stat folder, about;
    char begin[DCLI_FILES_PATH];
    size_t length = strlen(path);
    if (length >= sizeof begin || fstat(files->folder, &folder) != 0)
        return NULL;
    for (const char *slash = strchr(path, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        size_t bytes = slash == path ? 1 : (size_t)(slash - path);
        memcpy(begin, path, bytes);
        begin[bytes] = '\0';
        if (stat(begin, &about) == 0 && about.st_dev == folder.st_dev && about.st_ino == folder.st_ino)
            return slash + strspn(slash, "/");
    }
    return NULL;
}

/* Open the next component of a path, following no link and refusing "..". If the last component is a link, the link
 * itself is opened. @param path  advanced past the component. @return -1: errno says why. */
static int open_name(int at, const char **path)
{
    char name[NAME_MAX + 1];
    size_t length = strcspn(*path, "/");
    const char *rest = *path + length + strspn(*path + length, "/");
    if (length > NAME_MAX) {
        errno = ENAMETOOLONG;
        return -1;
    }
    memcpy(name, *path, length);
    name[length] = '\0';
    *path = rest;
    if (strcmp(name, "..") != 0)
        return openat(at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC | (*rest != '\0' ? O_DIRECTORY : 0));
    errno = EXDEV;
    return -1;
}

/* Open a path component by component: for kernels without openat2(). */
static int walk_beneath(int folder, const char *path)
{
    int at = folder;
    do {
        int next = open_name(at, &path), code = errno;
        if (at != folder)
            close(at);
        errno = code;
        at = next;
    } while (at >= 0 && *path != '\0');
    return at;
}

static int fail_outside(const dcli_files *files, const char *path, const char *how)
{
    DCLI_FAIL(DCL_ERR_FILE,
              "\"%s\" lies outside \"%s\", the folder this worker was given%s; use a file inside, or start the worker "
              "with another --files DIR",
              path, files->name, how);
    return -1;
}

static int find_beneath(const dcli_files *files, const char *path, int flags)
{
    const char *inside = path_inside(files, path);
    if (inside == NULL || *inside == '\0')
        return fail_outside(files, path, "");
    int fd = files->walks ? walk_beneath(files->folder, inside) : open_beneath(files->folder, inside, (uint64_t)flags);
    if (fd >= 0)
        return fd;
    if (files->walks && (errno == EXDEV || errno == ELOOP || errno == ENOTDIR))
        return fail_outside(files, path,
                            ", or is reached by a link or by \"..\", which this kernel cannot follow safely");
    if (errno == EXDEV)
        return fail_outside(files, path, ", or is reached by a link that leads out of it or is absolute");
    DCLI_FAIL(DCL_ERR_FILE, "\"%s\" is not used: nothing can be found there: %s", path, strerror(errno));
    return -1;
}

/* Get a descriptor of the file without opening it (O_PATH), so that its type can be checked first. */
static int find(const dcli_files *files, const char *path, bool follows)
{
    int flags = O_PATH | O_CLOEXEC | (follows ? 0 : O_NOFOLLOW), fd = -1;
    if (files != NULL && files->everywhere) {
        fd = open(path, flags);
        if (fd < 0)
            DCLI_FAIL(DCL_ERR_FILE, "\"%s\" cannot be opened: %s; expected a .npy file that this process may use", path,
                      strerror(errno));
    } else if (files == NULL || files->folder < 0) {
        DCLI_FAIL(DCL_ERR_FILE, "\"%s\" is not used: this worker may use no files; start it with --files DIR", path);
    } else if (path[0] != '/') {
        DCLI_FAIL(DCL_ERR_FILE, "\"%s\" is not used: it is relative; expected an absolute path", path);
    } else {
        fd = find_beneath(files, path, flags);
    }
    return fd;
}

/* Whether the device number `there` of the other process and the device number `here` mean the same file system. */
static bool is_device(const dcli_files *files, uint64_t there, uint64_t here)
{
    int64_t known = dcli_min(files->device_count, DCLI_FILES_DEVICES);
    bool listed = false;
    for (int64_t n = 0; n < known; n++) {
        if (files->device[n].there == there && files->device[n].here == here)
            return true;
        listed |= files->device[n].there == there;
    }
    return !listed && there == here; /* processes of one host see equal numbers */
}

static bool is_file(const dcli_files *files, const struct stat *about, const dcli_file_id *id)
{
    return about->st_ino == id->inode && is_device(files, id->device, about->st_dev);
}

static const char *kind_of(mode_t mode)
{
    return S_ISDIR(mode) ? "a directory" : S_ISLNK(mode) ? "a link" : "not a regular file";
}

static dcl_status check_found(const dcli_files *files, int found, const char *path, const dcli_file_id *id)
{
    struct stat about;
    if (fstat(found, &about) != 0)
        return DCLI_FAIL(DCL_ERR_FILE, "\"%s\" cannot be looked at: %s", path, strerror(errno));
    if (!S_ISREG(about.st_mode))
        return DCLI_FAIL(DCL_ERR_FILE, "\"%s\" is %s; expected a .npy file", path, kind_of(about.st_mode));
    if (id != NULL && !is_file(files, &about, id))
        return DCLI_FAIL(DCL_ERR_FILE,
                         "\"%s\" is another file here than in the program, or was replaced meanwhile (device %" PRIu64
                         " inode %" PRIu64 "; expected inode %" PRIu64 "); do not change files while they are used, or "
                         "let the program pass them on with DCL_FILES=stream",
                         path, (uint64_t)about.st_dev, (uint64_t)about.st_ino, id->inode);
    return DCL_OK;
}

static int open_found(const dcli_files *files, const char *path, bool for_writing, bool follows, const dcli_file_id *id)
{
    char again[32];
    int found = find(files, path, follows), fd = -1;
    if (found < 0)
        return -1;
    if (check_found(files, found, path, id) == DCL_OK) {
        /* Opens the same file again, even if its name was changed. */
        snprintf(again, sizeof again, "/proc/self/fd/%d", found);
        fd = open(again, (for_writing ? O_WRONLY : O_RDONLY) | O_CLOEXEC | O_NONBLOCK);
        if (fd < 0)
            DCLI_FAIL(DCL_ERR_FILE, "\"%s\" cannot be opened: %s; expected a .npy file that this process may %s", path,
                      strerror(errno), for_writing ? "write" : "read");
    }
    close(found);
    return fd;
}

int dcli_files_open(const dcli_files *files, const char *path, bool for_writing, const dcli_file_id *id)
{
    return open_found(files, path, for_writing, id == NULL, id);
}

dcl_status dcli_files_identify(int fd, const char *path, dcli_file_id *id_out)
{
    struct stat about;
    if (fstat(fd, &about) != 0)
        return DCLI_FAIL(DCL_ERR_FILE, "\"%s\" cannot be looked at: %s", path, strerror(errno));
    *id_out = (dcli_file_id){.device = about.st_dev, .inode = about.st_ino};
    return DCL_OK;
}

/* ---- tokens ------------------------------------------------------------------------------------------------------- */

static bool make_random(char *token_out)
{
    unsigned char bytes[DCLI_TOKEN_LENGTH / 2];
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return false;
    for (size_t b = 0; b < sizeof bytes; b++)
        sprintf(token_out + 2 * b, "%02x", bytes[b]);
    return true;
}

/* Create a new file in the folder. The name may be taken: other hosts may have made files there with the same process
 * id. */
static int create(int folder_length, const char *path, char *token_path_out)
{
    enum { ATTEMPTS = 100 };
    static atomic_uint number;
    int fd = -1;
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        int length = snprintf(token_path_out, DCLI_FILES_PATH, "%.*s" TOKEN_BEGIN "%ld-%u" TOKEN_END, folder_length,
                              path, (long)getpid(), atomic_fetch_add(&number, 1));
        if (length >= DCLI_FILES_PATH)
            return -1;
        fd = open(token_path_out, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (fd >= 0 || errno != EEXIST)
            break;
    }
    return fd;
}

bool dcli_files_make_token(const char *path, char *token_path_out, char *token_out, dcli_file_id *id_out)
{
    const char *slash = strrchr(path, '/');
    if (!make_random(token_out))
        return false;
    int fd = create(slash != NULL ? (int)(slash - path) + 1 : 0, path, token_path_out);
    if (fd < 0)
        return false;
    bool written = write(fd, token_out, DCLI_TOKEN_LENGTH) == DCLI_TOKEN_LENGTH &&
                   dcli_files_identify(fd, token_path_out, id_out) == DCL_OK;
    written &= close(fd) == 0;
    if (!written)
        unlink(token_path_out);
    return written;
}

static bool is_token_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    size_t length = slash != NULL ? strlen(slash + 1) : 0, begin = strlen(TOKEN_BEGIN), end = strlen(TOKEN_END);
    return length > begin + end && strncmp(slash + 1, TOKEN_BEGIN, begin) == 0 &&
           strcmp(slash + 1 + length - end, TOKEN_END) == 0;
}

bool dcli_files_sees(dcli_files *files, const char *token_path, const char *token, const dcli_file_id *id)
{
    if (files == NULL || strlen(token) != DCLI_TOKEN_LENGTH || !is_token_name(token_path))
        return false;
    int fd = open_found(files, token_path, false, false, NULL);
    if (fd < 0)
        return false;
    char found[DCLI_TOKEN_LENGTH];
    struct stat about;
    bool same = fstat(fd, &about) == 0 && about.st_size == DCLI_TOKEN_LENGTH && about.st_ino == id->inode &&
                pread(fd, found, sizeof found, 0) == (ssize_t)sizeof found && memcmp(found, token, sizeof found) == 0;
    if (same && !is_device(files, id->device, about.st_dev))
        files->device[files->device_count++ % DCLI_FILES_DEVICES] =
            (dcli_files_device){.there = id->device, .here = about.st_dev};
    close(fd);
    return same;
}
