/* support/fake_opencl/registered.c - a list of registered memory, and the tally of what crosses there and elsewhere. */
#include "support/fake_opencl/registered.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "support/fake_opencl/fake_opencl.h"

enum { MOST = 1024 };

static struct {
    pthread_mutex_t lock;
    struct {
        cl_context context;
        cl_mem memory;
        const char *host;
        size_t bytes;
    } of[MOST];
    int count;
} registered = {.lock = PTHREAD_MUTEX_INITIALIZER};

static fake_tally none, *tally = &none;
static pthread_once_t found = PTHREAD_ONCE_INIT;

static void find_tally(void)
{
    const char *path = getenv("TEST_OPENCL_TALLY");
    int fd = path != NULL ? open(path, O_RDWR | O_CLOEXEC) : -1;
    void *at = fd >= 0 ? mmap(NULL, sizeof *tally, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;
    if (fd >= 0)
        close(fd);
    if (at != MAP_FAILED)
        tally = at;
}

static fake_tally *the_tally(void)
{
    pthread_once(&found, find_tally);
    return tally;
}

void fake_registered_add(cl_context context, cl_mem memory, void *host, size_t bytes)
{
    atomic_fetch_or((atomic_char *)host, 0); /* a crash here: it is not mapped for writing, so drivers do not pin it */
    pthread_mutex_lock(&registered.lock);
    if (registered.count == MOST) {
        fprintf(stderr, "fake OpenCL: more than %d buffers in host memory\n", MOST);
        abort();
    }
    registered.of[registered.count].context = context;
    registered.of[registered.count].memory = memory;
    registered.of[registered.count].host = host;
    registered.of[registered.count++].bytes = bytes;
    pthread_mutex_unlock(&registered.lock);
    atomic_fetch_add(&the_tally()->registered, (long)bytes);
    atomic_fetch_add(&the_tally()->registrations, 1);
}

void fake_registered_end(cl_mem memory)
{
    pthread_mutex_lock(&registered.lock);
    for (int n = 0; n < registered.count; n++)
        if (registered.of[n].memory == memory) {
            atomic_fetch_sub(&the_tally()->registered, (long)registered.of[n].bytes);
            registered.of[n--] = registered.of[--registered.count];
        }
    pthread_mutex_unlock(&registered.lock);
}

void fake_registered_cross(cl_context context, const void *host, size_t bytes, int enters)
{
    int there = 0;
    pthread_mutex_lock(&registered.lock);
    for (int n = 0; n < registered.count && !there; n++) {
        uintptr_t at = (uintptr_t)host - (uintptr_t)registered.of[n].host;
        there =
            registered.of[n].context == context && at < registered.of[n].bytes && bytes <= registered.of[n].bytes - at;
    }
    pthread_mutex_unlock(&registered.lock);
    fake_tally *sums = the_tally();
    atomic_fetch_add(there ? (enters ? &sums->entered : &sums->left)
                           : (enters ? &sums->entered_elsewhere : &sums->left_elsewhere),
                     (long)bytes);
}
