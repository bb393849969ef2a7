/* test/base/slice_test.c - short time slices of threads. */
#include <criterion/criterion.h>
#include <pthread.h>

#include "base/slice.h"

static void *slice_of_thread(void *slice_out)
{
    *(uint64_t *)slice_out = dcli_slice_of_thread();
    return NULL;
}

static uint64_t slice_of_new_thread(void)
{
    pthread_t thread;
    uint64_t slice = 0;
    cr_assert_eq(pthread_create(&thread, NULL, slice_of_thread, &slice), 0);
    pthread_join(thread, NULL);
    return slice;
}

Test(slice, is_short_for_one_thread)
{
    uint64_t before = dcli_slice_of_thread();
    if (!dcli_slice_shorten()) {
        cr_expect_eq(dcli_slice_of_thread(), before, "nothing changes where it is not possible");
        cr_skip_test("this kernel, or the policy of this thread, has no slices to set");
    }
    cr_expect_eq(dcli_slice_of_thread(), DCLI_SHORT_SLICE_NS);
    cr_expect_gt(slice_of_new_thread(), DCLI_SHORT_SLICE_NS, "it is not inherited");
}
