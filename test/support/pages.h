/* support/pages.h - the huge pages of memfds. */
#ifndef TEST_PAGES_H
#define TEST_PAGES_H

#include <stdbool.h>

/** kB of a memfd's huge pages that are mapped at an address: a line of /proc/self/smaps. @return -1: unknown. */
long test_huge_at(const void *address);
/** Whether the system makes huge pages of memfds on request. */
bool test_system_collapses(void);

#endif
