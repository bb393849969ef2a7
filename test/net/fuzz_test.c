/* net/fuzz_test.c - a short run of the fuzz target, from a fixed seed. */
#include <criterion/criterion.h>

#include "fuzz/try_message.c"

Test(fuzz, short_run_of_mutated_messages)
{
    const uint64_t seed = 2026;
    fuzz_replay(seed, 1500); /* aborts with a sentence when something does not hold */
    cr_expect(fuzz_seen.accepted >= 1500 && fuzz_seen.refused >= 1500, "seed %llu: %ld accepted, %ld refused",
              (unsigned long long)seed, fuzz_seen.accepted, fuzz_seen.refused);
}
