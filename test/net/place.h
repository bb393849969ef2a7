/* test/net/place.h - a folder of a test's own, with folders in it. */
#ifndef TEST_NET_PLACE_H
#define TEST_NET_PLACE_H

#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/** The folder, made by place_make(), mode 0700. */
static char place[64];

static inline void place_make(void)
{
    snprintf(place, sizeof place, "/tmp/dcl-test-XXXXXX");
    cr_assert_not_null(mkdtemp(place));
}

static inline int place_remove_one(const char *path, const struct stat *found, int type, struct FTW *where)
{
    (void)found, (void)type, (void)where;
    return remove(path);
}

static inline void place_remove(void)
{
    cr_expect_eq(nftw(place, place_remove_one, 8, FTW_DEPTH | FTW_PHYS), 0, "%s cannot be removed", place);
}

/** A path in it; the last eight stay valid. */
static inline const char *at(const char *name)
{
    static char path[8][512];
    static int next;
    char *text = path[next++ % 8];
    snprintf(text, sizeof path[0], "%s/%s", place, name);
    return text;
}

static inline void write_text(const char *path, mode_t mode, const char *text)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    cr_assert(fd >= 0, "%s", path);
    cr_assert_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    cr_assert_eq(fchmod(fd, mode), 0);
    close(fd);
}

static inline mode_t mode_of(const char *path)
{
    struct stat found;
    return lstat(path, &found) == 0 ? found.st_mode & 07777 : 0;
}

static inline bool is_there(const char *path)
{
    struct stat found;
    return lstat(path, &found) == 0;
}

static inline int entries_of(const char *folder)
{
    struct dirent **entry;
    int count = scandir(folder, &entry, NULL, NULL);
    for (int i = 0; i < count; i++)
        free(entry[i]);
    free(entry);
    return count - 2; /* . and .. */
}

#endif
