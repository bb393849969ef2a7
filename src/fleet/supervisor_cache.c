/* fleet/supervisor_cache.c - folders for compiled kernels. Drivers load files from their cache as code. So each client
 * key has a folder of its own, separate from the user's, and no client runs what another has written. All clients of a
 * worker without keys count as one. */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "fleet/environment.h"
#include "fleet/supervisor_inside.h"

/* Make a folder and its missing parents. */
static int make_path(const char *path)
{
    char part[4096];
    for (const char *slash = strchr(path + 1, '/');; slash = strchr(slash + 1, '/')) {
        snprintf(part, sizeof part, "%.*s", slash != NULL ? (int)(slash - path) : (int)sizeof part - 1, path);
        if (mkdir(part, 0700) != 0 && errno != EEXIST)
            return -1;
        if (slash == NULL)
            return 0;
    }
}

/* Whether only this user can write to a folder. */
static bool is_own_folder(const char *path)
{
    struct stat about;
    return lstat(path, &about) == 0 && S_ISDIR(about.st_mode) && about.st_uid == geteuid() &&
           (about.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/* The default place of the cache. @return false: no variable names a place. */
static bool usual_place(char *path_out, size_t capacity)
{
    const char *unit = dcli_environment_find("CACHE_DIRECTORY"), *cache = dcli_environment_find("XDG_CACHE_HOME"),
               *home = dcli_environment_find("HOME");
    if (unit != NULL && unit[0] == '/')
        /* systemd sets a list of paths: take the first. */
        snprintf(path_out, capacity, "%.*s", (int)strcspn(unit, ":"), unit);
    else if (cache != NULL && cache[0] == '/')
        snprintf(path_out, capacity, "%s/dcl", cache);
    else if (home != NULL && home[0] == '/' && home[1] != '\0')
        snprintf(path_out, capacity, "%s/.cache/dcl", home);
    return path_out[0] != '\0';
}

static dcl_status temporary_place(dcli_supervisor *supervisor)
{
    snprintf(supervisor->cache, sizeof supervisor->cache, "/tmp/dcl-cache-XXXXXX");
    if (mkdtemp(supervisor->cache) == NULL) {
        supervisor->cache[0] = '\0';
        return DCLI_FAIL(DCL_ERR_FILE,
                         "no folder for compiled kernels can be made in /tmp: %s; name one with --cache DIR",
                         strerror(errno));
    }
    supervisor->cache_is_temporary = true;
    return DCL_OK;
}

dcl_status dcli_supervisor_find_cache(dcli_supervisor *supervisor)
{
    enum { ROOM = 128 }; /* bytes for the names of folders in the cache */
    const char *given = supervisor->config->cache;
    char place[sizeof supervisor->cache] = "";
    if (given != NULL)
        snprintf(place, sizeof place, "%s", given);
    else if (!usual_place(place, sizeof place))
        return temporary_place(supervisor);
    bool made = place[0] != '\0' && strlen(place) + ROOM < sizeof place && make_path(place) == 0;
    char *real = made && is_own_folder(place) ? realpath(place, NULL) : NULL;
    if (real != NULL && strlen(real) + ROOM < sizeof supervisor->cache && access(real, W_OK | X_OK) == 0) {
        strcpy(supervisor->cache, real);
        free(real);
        return DCL_OK;
    }
    free(real);
    if (given == NULL)
        return temporary_place(supervisor);
    return DCLI_FAIL(DCL_ERR_FILE,
                     "cache is \"%s\", which is no folder of this user's alone that can be written (%s); expected the "
                     "folder for compiled kernels; correct --cache, or leave it out",
                     given, made ? "another user can write there" : strerror(errno));
}

dcl_status dcli_supervisor_cache_of(const dcli_supervisor *supervisor, uint32_t client, char *path_out, size_t capacity)
{
    static const char *const parts[] = {"", "/pocl", "/cuda", "/tmp"};
    const char *key = supervisor->has_keys ? dcli_listener_key(supervisor->listener, client) : "token";
    path_out[0] = '\0';
    if (supervisor->cache[0] == '\0' || key[0] == '\0')
        return DCL_OK;
    size_t length = strlen(supervisor->cache) + 1 + strlen(key);
    for (size_t p = 0; p < sizeof parts / sizeof parts[0]; p++) {
        snprintf(path_out, capacity, "%s/%s%s", supervisor->cache, key, parts[p]);
        if (mkdir(path_out, 0700) != 0 && errno != EEXIST) {
            DCLI_FAIL(DCL_ERR_FILE,
                      "\"%s\" for compiled kernels cannot be made: %s; free space, or name another folder "
                      "with --cache DIR",
                      path_out, strerror(errno));
            path_out[0] = '\0';
            return DCL_ERR_FILE;
        }
    }
    path_out[length] = '\0';
    if (is_own_folder(path_out))
        return DCL_OK;
    dcl_status status =
        DCLI_FAIL(DCL_ERR_FILE, "\"%s\" for compiled kernels is no folder of this user's alone; remove it", path_out);
    path_out[0] = '\0';
    return status;
}

static int remove_one(const char *path, const struct stat *about, int kind, struct FTW *place)
{
    (void)about;
    (void)kind;
    (void)place;
    return remove(path);
}

void dcli_supervisor_drop_cache(dcli_supervisor *supervisor)
{
    enum { DESCRIPTORS = 16 };
    if (supervisor->cache_is_temporary)
        nftw(supervisor->cache, remove_one, DESCRIPTORS, FTW_DEPTH | FTW_PHYS);
    supervisor->cache_is_temporary = false;
}
