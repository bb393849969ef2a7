/* device/cache.c - check the folder in which PoCL stores compiled kernels.
 *
 * PoCL compiles through files in that folder. If it is not writable, PoCL offers no device; if it is full, LLVM aborts
 * the process. So it is checked before PoCL compiles. */
#include "device/opencl.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/config.h"
#include "base/error.h"

enum { FOLDER_BYTES = 1024, LEAST_BYTES = 1 << 20 };

/* Cut a path to its existing part: PoCL makes missing folders, so the last existing one must be writable. */
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
    dcli_config_pocl_cache(folder, sizeof folder);
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
