/* device/cache.c - the folder in which PoCL keeps compiled kernels.
 *
 * PoCL compiles through files in that folder: where it cannot be written PoCL offers no device, and where it is full LLVM
 * ends the process. So it is looked at before PoCL is asked to compile. The names are those of pocl_cache.c in PoCL 1.4 to
 * 6.0. */
#include "device/opencl.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/error.h"

enum { FOLDER_BYTES = 1024, LEAST_BYTES = 1 << 20 };

static void name_folder(char folder[FOLDER_BYTES])
{
    const char *own = getenv("POCL_CACHE_DIR"), *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (own != NULL && own[0] != '\0')
        snprintf(folder, FOLDER_BYTES, "%s", own);
    else if (cache != NULL && cache[0] != '\0')
        snprintf(folder, FOLDER_BYTES, "%s/pocl/kcache", cache);
    else if (home != NULL && home[0] != '\0')
        snprintf(folder, FOLDER_BYTES, "%s/.cache/pocl/kcache", home);
    else
        snprintf(folder, FOLDER_BYTES, "/tmp/pocl/kcache");
}

/* PoCL makes the folders that are missing: the one in which it begins has to be writable. */
static void cut_to_existing(char *folder)
{
    char *slash;
    while (access(folder, F_OK) != 0 && errno == ENOENT && (slash = strrchr(folder, '/')) != NULL && slash != folder)
        *slash = '\0';
}

dcl_status dcli_cache_check(void)
{
    static const char remedy[] = "make it writable, or set POCL_CACHE_DIR to a folder that is";
    char folder[FOLDER_BYTES], existing[FOLDER_BYTES];
    struct statvfs room;
    name_folder(folder);
    strcpy(existing, folder);
    cut_to_existing(existing);
    if (access(existing, W_OK | X_OK) != 0)
        return DCLI_FAIL(DCL_ERR_DEVICE, "PoCL's kernel cache %s cannot be written: %s; %s", folder, strerror(errno),
                         remedy);
    if (statvfs(existing, &room) != 0 || room.f_blocks == 0 || room.f_bavail * room.f_frsize >= LEAST_BYTES)
        return DCL_OK;
    return DCLI_FAIL(
        DCL_ERR_DEVICE,
        "PoCL's kernel cache %s has %llu bytes left on its file system; expected at least %d, as a full one "
        "ends the process; make room, or set POCL_CACHE_DIR to a folder with more",
        folder, (unsigned long long)room.f_bavail * room.f_frsize, LEAST_BYTES);
}
