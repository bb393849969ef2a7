/* support/pages.c - the huge pages of memfds. */
#include "support/pages.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

long test_huge_at(const void *address)
{
    FILE *file = fopen("/proc/self/smaps", "r");
    unsigned long from, to, wanted = (unsigned long)address;
    long found = -1;
    bool here = false;
    char line[512];
    while (file != NULL && found < 0 && fgets(line, sizeof line, file) != NULL) {
        if (sscanf(line, "%lx-%lx ", &from, &to) == 2)
            here = wanted >= from && wanted < to;
        if (here)
            sscanf(line, "ShmemPmdMapped: %ld kB", &found);
    }
    if (file != NULL)
        fclose(file);
    return found;
}

bool test_system_collapses(void)
{
    const size_t huge = 2 << 20;
    const int collapse = 25; /* MADV_COLLAPSE */
    int descriptor = memfd_create("test", MFD_CLOEXEC);
    cr_assert(descriptor >= 0 && ftruncate(descriptor, (off_t)huge) == 0);
    char *room = mmap(NULL, 2 * huge, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *at = room + (huge - (size_t)room % huge) % huge;
    at = mmap(at, huge, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, descriptor, 0);
    cr_assert_neq(at, MAP_FAILED);
    at[0] = 1;
    bool done = madvise(at, huge, collapse) == 0;
    munmap(room, 2 * huge);
    close(descriptor);
    return done;
}
