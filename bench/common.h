/* common.h - what the benchmarks share: checking calls, time, medians. Every benchmark is one program and includes this
 * once. */
#ifndef BENCH_COMMON_H
#define BENCH_COMMON_H

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <dcl.h>

extern const char bench_commit[]; /* what was built; written by the build */

/* End the program if a call failed, with exit code 2. */
static inline void check(bool ok, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "%s: %s; dcl: %s", program_invocation_short_name, what, dcl_error());
    fprintf(stderr, errno != 0 ? "; errno: %s\n" : "\n", strerror(errno));
    exit(2);
}

/* Seconds, ms and us of a clock that only goes forward. */
static inline double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static inline double now_ms(void) { return 1e3 * now(); }

static inline double now_us(void) { return 1e6 * now(); }

static inline int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Sort values. @return the median: of an even count, the greater of the two in the middle. */
static inline double median(int count, double values[])
{
    qsort(values, (size_t)count, sizeof values[0], by_value);
    return values[count / 2];
}

/* How many of the sorted trials lie outside of the median's interval, at either end: the true median is in it with a probability of at
 * least 98.8 %, if trials are independent (sign test). For 11 trials it is 1: 2 * (1 + 11) / 2^11. */
static inline int outside_interval(int trials)
{
    double ways = 1, sum = 0,
           all = 1; /* to choose `count` of the trials; of all counts so far; of any number of them */
    for (int n = 0; n < trials; n++)
        all *= 2;
    for (int count = 0;; count++) {
        sum += ways;
        if (2 * sum / all > 0.012)
            return count > 0 ? count - 1 : 0;
        ways *= (double)(trials - count) / (count + 1);
    }
}

#endif
