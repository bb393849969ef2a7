/* fuzz/null_device.h - a device without a driver: memory is plain memory, in which the sanitizer sees every step aside;
 * kernels do nothing but look at all that they are given. It stands in for src/device where that is linked after it. */
#ifndef TEST_FUZZ_NULL_DEVICE_H
#define TEST_FUZZ_NULL_DEVICE_H

#include <stdbool.h>

/** How the devices behave that are opened from now on. */
typedef struct null_device_terms {
    bool separate;  /* memory of its own, as a GPU has */
    bool slow;      /* kernels end when null_device_end() says so, or when they are waited for */
    int fail_after; /* the n-th call that can fail does; 0: none */
} null_device_terms;
void null_device_set(const null_device_terms *terms);

/** Let all kernels end. */
void null_device_end(void);
/** From now on the n-th call that can fail does. */
void null_device_fail_after(int calls);

#endif
