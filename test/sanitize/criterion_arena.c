/* Criterion keeps the parameters of its tests in memory at a random fixed address, anywhere between 0x2000'0000'0000 and
 * 0x6000'0000'0000. Most of that is shadow memory of ThreadSanitizer, which refuses it: no test runs. This rand_r(),
 * found before the C library's, leads Criterion into a stretch that both accept: 128 GiB of the sanitizer's middle
 * range, above where the kernel puts programs. Linked into runners of the thread sanitizer only; DCL calls no rand_r().
 * Source: BoxFort, src/arena.c; compiler-rt, lib/tsan/rtl/tsan_platform.h (x86_64). */
__attribute__((visibility("default"))) int rand_r(unsigned *seed);

int rand_r(unsigned *seed)
{
    enum { FIRST = 0x366000, COUNT = 0x2000 }; /* in steps of 16 MiB from 0x2000'0000'0000: 0x5660... to 0x5680... */
    *seed = *seed * 1103515245u + 12345u;
    return FIRST + (int)((*seed >> 16) % COUNT);
}
