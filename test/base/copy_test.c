/* Copies past the caches. */
#include <criterion/criterion.h>
#include <stdint.h>
#include <string.h>

#include "base/copy.h"

enum { LINE = 64, MOST = 6 * LINE, ROOM = MOST + 4 * LINE };

/* Every length, from and to every place in a line: all bytes arrive, and none beside them change. */
Test(copy, all_lengths_and_places)
{
    static unsigned char source[ROOM], target[ROOM], expected[ROOM];
    for (size_t n = 0; n < sizeof source; n++)
        source[n] = (unsigned char)(n * 2654435761U >> 7);
    for (size_t from = 0; from < LINE; from += 7)
        for (size_t to = 0; to < LINE; to++)
            for (size_t length = 0; length <= MOST; length += length < 2 * LINE + 2 ? 1 : 13) {
                memset(target, 0xa5, sizeof target);
                memset(expected, 0xa5, sizeof expected);
                memcpy(expected + LINE + to, source + from, length);
                dcli_copy_streamed(target + LINE + to, source + from, length);
                cr_assert_eq(memcmp(target, expected, sizeof target), 0, "%zu bytes from %zu to %zu", length, from, to);
            }
}
