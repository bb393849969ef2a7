/* Memory for other processes: huge pages on both sides. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "net/shared_memory.h"
#include "support/pages.h"

enum { HUGE_KB = 2 << 10, SMALL_BYTES = 4096, ATTEMPTS = 20 };

/* Whole ranges of 2 MB lie in huge pages, for the process that makes the memory and for one that maps it. All else is as with small
 * pages: zeros that both see, and a size that stays. */
Test(shared_memory, large_ones_have_huge_pages)
{
    const size_t length = (5 << 20) + 300, last = length - 1;
    bool can = test_system_collapses();
    dcli_sealed made = {0}, mapped;
    for (int attempt = 0; attempt < ATTEMPTS && (attempt == 0 || (can && test_huge_at(made.bytes) == 0)); attempt++) {
        dcli_sealed_close(&made); /* there may have been no free huge page just then */
        cr_assert_eq(dcli_sealed_make(length, DCLI_SEALED_WRITABLE, &made), DCL_OK, "%s", dcl_error());
        made.bytes[0] = 0;
    }
    cr_assert_eq(dcli_sealed_map(made.descriptor, length, DCLI_SEALED_READABLE, &mapped), DCL_OK, "%s", dcl_error());
    for (size_t at = 0; at < length; at += SMALL_BYTES)
        cr_assert_eq(mapped.bytes[at], 0);
    cr_assert_eq(mapped.bytes[last], 0);
    made.bytes[0] = 1;
    made.bytes[last] = 2;
    cr_expect_eq(mapped.bytes[0], 1);
    cr_expect_eq(mapped.bytes[last], 2);
    if (can && test_huge_at(made.bytes) >= 0) { /* else the system has none, or does not tell */
        cr_expect_gt(test_huge_at(made.bytes), 0);
        cr_expect_eq(test_huge_at(made.bytes) % HUGE_KB, 0, "%ld kB", test_huge_at(made.bytes));
        cr_expect_eq(test_huge_at(mapped.bytes), test_huge_at(made.bytes), "%ld kB", test_huge_at(mapped.bytes));
    }
    cr_expect_lt(ftruncate(made.descriptor, SMALL_BYTES), 0);
    dcli_sealed_close(&mapped);
    dcli_sealed_close(&made);
}
