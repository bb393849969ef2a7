/* store/new_file.c - replace a file: write a new file beside it, then rename it.
 * Source: rename(2), fsync(2): "Calling fsync() does not necessarily ensure that the entry in the directory
 * containing the file has also reached disk. For that an explicit fsync() on a file descriptor for the directory is
 * also needed." */
#include "store/new_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

/* The last component of a path. */
static const char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

/* Open the folder of a path for reading, which fsync() of the folder needs. */
static int open_folder(const char *path)
{
    char folder[DCLI_FILES_PATH];
    int length = (int)(name_of(path) - path);
    snprintf(folder, sizeof folder, "%.*s", length > 0 ? length : 1, length > 0 ? path : ".");
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        DCLI_FAIL(DCL_ERR_FILE, "\"%s\" cannot be made: %s; expected a folder that this process may read and write to",
                  path, strerror(errno));
    return fd;
}

/* Create the temporary file. Its name may be taken by a file of an equal process id, from another host or from
 * earlier. */
static dcl_status make_beside(dcli_new_file *file)
{
    enum { ATTEMPTS = 100 };
    static atomic_uint names;
    const char *name = name_of(file->path);
    for (int attempt = 0; attempt < ATTEMPTS && file->fd < 0; attempt++) {
        int length =
            snprintf(file->beside, sizeof file->beside, "%s.%ld-%u", name, (long)getpid(), atomic_fetch_add(&names, 1));
        errno = ENAMETOOLONG;
        if (length >= (int)sizeof file->beside)
            break;
        file->fd = openat(file->folder, file->beside, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
        if (file->fd < 0 && errno != EEXIST)
            break;
    }
    if (file->fd < 0)
        return DCLI_FAIL(DCL_ERR_FILE,
                         "\"%s\" cannot be made: no new file can be made beside it: %s; expected a folder that this "
                         "process may write to",
                         file->path, strerror(errno));
    snprintf(file->beside_path, sizeof file->beside_path, "%.*s%s", (int)(name - file->path), file->path, file->beside);
    return dcli_files_identify(file->fd, file->beside_path, &file->id);
}

dcl_status dcli_new_file_make(const char *path, dcli_new_file *file_out)
{
    dcli_new_file file = {.path = path, .folder = open_folder(path), .fd = -1};
    if (file.folder < 0)
        return DCL_ERR_FILE;
    dcl_status status = make_beside(&file);
    if (status != DCL_OK)
        close(file.folder);
    else
        *file_out = file;
    return status;
}

/* Whether the temporary name still refers to this file. */
static bool is_there(const dcli_new_file *file)
{
    struct stat about;
    return fstatat(file->folder, file->beside, &about, AT_SYMLINK_NOFOLLOW) == 0 && about.st_dev == file->id.device &&
           about.st_ino == file->id.inode;
}

static dcl_status check(const dcli_new_file *file, int64_t bytes)
{
    struct stat about;
    if (!is_there(file))
        return DCLI_FAIL(DCL_ERR_FILE,
                         "\"%s\" is no longer the file that was written; somebody has removed or replaced it",
                         file->beside_path);
    if (fstat(file->fd, &about) != 0 || about.st_size != bytes)
        return DCLI_FAIL(DCL_ERR_FILE,
                         "\"%s\" has %" PRId64 " bytes; expected %" PRId64
                         "; it was shortened or lengthened while it was "
                         "written",
                         file->beside_path, (int64_t)about.st_size, bytes);
    return DCL_OK;
}

/* fsync() the folder. Some file systems refuse this for folders because they have nothing to write; that is no
 * error. */
static dcl_status sync_folder(const dcli_new_file *file)
{
    if (fsync(file->folder) == 0 || errno == EINVAL || errno == ENOTSUP)
        return DCL_OK;
    return DCLI_FAIL(DCL_ERR_FILE,
                     "\"%s\" is written, but its folder is not known to be on the disk: %s; a power cut may bring back "
                     "what the name stood for before",
                     file->path, strerror(errno));
}

static dcl_status put_in_place(const dcli_new_file *file, int64_t bytes)
{
    dcl_status status = check(file, bytes);
    if (status == DCL_OK && fsync(file->fd) != 0)
        return DCLI_FAIL(DCL_ERR_FILE,
                         "\"%s\" cannot be written to the disk: %s; \"%s\" is as it was; expected a disk with room "
                         "that works; make room, or save elsewhere",
                         file->beside_path, strerror(errno), file->path);
    if (status == DCL_OK && renameat(file->folder, file->beside, file->folder, name_of(file->path)) != 0)
        return DCLI_FAIL(DCL_ERR_FILE, "%s cannot be renamed to %s: %s", file->beside_path, file->path,
                         strerror(errno));
    return status == DCL_OK ? sync_folder(file) : status;
}

dcl_status dcli_new_file_end(dcli_new_file *file, int64_t bytes, dcl_status status)
{
    if (status == DCL_OK)
        status = put_in_place(file, bytes);
    if (status != DCL_OK && is_there(file))
        unlinkat(file->folder, file->beside, 0);
    close(file->fd); /* fsync() has already reported any error */
    close(file->folder);
    return status;
}
