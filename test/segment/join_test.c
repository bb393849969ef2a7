/* Patterns of elements in two places: what becomes one, and that no element is lost. */
#include <criterion/criterion.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "segment/join.h"
#include "segment/random.h"

enum { RANK = 4, LENGTH = RANK + 2 * (1 + RANK), MOST_RECORDS = 64, MOST_ELEMENTS = 4096 };

static const dcli_patterns patterns = {
    .rank = RANK, .places = 2, .length = LENGTH, .at = (const int[]){RANK, RANK + 1 + RANK}};
static const dcli_patterns paired = {.rank = RANK,
                                     .places = 2,
                                     .length = LENGTH,
                                     .at = (const int[]){RANK, RANK + 1 + RANK},
                                     .by_all = true,
                                     .pairs = true};

/* Two loops, in a record of four axes. */
static void put(int64_t record[], const int64_t count[2], const int64_t to[3], const int64_t from[3])
{
    int64_t filled[LENGTH] = {count[0], count[1], 1, 1, to[0], to[1], to[2], 0, 0, from[0], from[1], from[2], 0, 0};
    memcpy(record, filled, sizeof filled);
}

/* Strips of 2 x 4, three side by side in five rows of them; they come from one behind the other. */
Test(join, a_chessboard_of_pieces_is_one_pattern)
{
    int64_t records[15][LENGTH], count = 15;
    for (int r = 0; r < 5; r++)
        for (int c = 0; c < 3; c++)
            put(records[14 - (3 * r + c)], (int64_t[]){2, 4}, (int64_t[]){50 * r + 8 * c, 25, 1},
                (int64_t[]){8 * (3 * r + c), 4, 1});
    cr_assert_eq(dcli_patterns_join(&patterns, records[0], &count), DCL_OK);
    cr_assert_eq(count, 1);
    cr_expect_eq(records[0][0] * records[0][1] * records[0][2] * records[0][3], 15 * 8);
    cr_expect_eq(records[0][RANK], 0);
    cr_expect_eq(records[0][RANK + 1 + RANK], 0);
}

Test(join, two_of_a_kind_stay_two)
{
    int64_t records[2][LENGTH], count = 2;
    put(records[0], (int64_t[]){2, 4}, (int64_t[]){0, 10, 1}, (int64_t[]){0, 4, 1});
    put(records[1], (int64_t[]){2, 4}, (int64_t[]){100, 10, 1}, (int64_t[]){8, 4, 1});
    cr_assert_eq(dcli_patterns_join(&patterns, records[0], &count), DCL_OK);
    cr_expect_eq(count, 2);
}

/* Columns of 8 that alternate between two rows of squares: in one place they lie close together, in the other far apart. */
Test(join, what_alternates_is_sorted_by_the_other_place)
{
    int64_t records[12][LENGTH], count = 12, copy[12][LENGTH];
    for (int k = 0; k < 12; k++)
        put(records[k], (int64_t[]){2, 8}, (int64_t[]){8 * k, 1000, 1}, (int64_t[]){k % 2 * 4096 + k / 2, 500, 16});
    memcpy(copy, records, sizeof copy);
    cr_assert_eq(dcli_patterns_join(&patterns, records[0], &count), DCL_OK);
    cr_expect_eq(count, 12, "no three of them follow each other evenly");
    count = 12;
    cr_assert_eq(dcli_patterns_join(&paired, copy[0], &count), DCL_OK);
    cr_expect_eq(count, 1);
}

Test(join, pairs_are_made_where_that_is_asked_for)
{
    int64_t records[2][LENGTH], count = 2;
    put(records[0], (int64_t[]){2, 4}, (int64_t[]){0, 10, 1}, (int64_t[]){0, 4, 1});
    put(records[1], (int64_t[]){2, 4}, (int64_t[]){100, 10, 1}, (int64_t[]){8, 4, 1});
    cr_assert_eq(dcli_patterns_join(&paired, records[0], &count), DCL_OK);
    cr_expect_eq(count, 1);
}

/* Lines of 3, 5 and 2, one behind the other in both places, and one of 4 that is so in one of them only. */
Test(join, lines_of_different_lengths_are_one)
{
    int64_t records[4][LENGTH], count = 4;
    put(records[0], (int64_t[]){1, 5}, (int64_t[]){3, 0, 1}, (int64_t[]){23, 0, 1});
    put(records[1], (int64_t[]){1, 4}, (int64_t[]){10, 0, 1}, (int64_t[]){31, 0, 1});
    put(records[2], (int64_t[]){1, 3}, (int64_t[]){0, 0, 1}, (int64_t[]){20, 0, 1});
    put(records[3], (int64_t[]){1, 2}, (int64_t[]){8, 0, 1}, (int64_t[]){28, 0, 1});
    cr_assert_eq(dcli_patterns_join(&patterns, records[0], &count), DCL_OK);
    cr_assert_eq(count, 2);
    cr_expect_eq(records[0][1], 10);
    cr_expect_eq(records[1][1], 4);
}

static int64_t list(int64_t records[][LENGTH], int64_t count, int64_t at[][2])
{
    int64_t elements = 0;
    for (int64_t r = 0; r < count; r++) {
        const int64_t *n = records[r], *to = n + RANK, *from = to + 1 + RANK;
        for (int64_t e = 0; e < n[0] * n[1] * n[2] * n[3]; e++, elements++) {
            cr_assert(elements < MOST_ELEMENTS);
            at[elements][0] = to[0];
            at[elements][1] = from[0];
            for (int64_t m = RANK - 1, rest = e; m >= 0; rest /= n[m--]) {
                at[elements][0] += rest % n[m] * to[1 + m];
                at[elements][1] += rest % n[m] * from[1 + m];
            }
        }
    }
    return elements;
}

static int by_place(const void *a, const void *b) { return memcmp(a, b, 2 * sizeof(int64_t)); }

/* Pieces of a grid of pieces, some of which are missing, from places in another order. */
static int64_t draw(test_random *random, int64_t records[][LENGTH])
{
    int64_t side[2] = {test_between(random, 1, 4), test_between(random, 1, 4)}, count = 0;
    int64_t rows = test_between(random, 1, 5), columns = test_between(random, 1, 5);
    bool turned = test_between(random, 0, 1);
    int64_t slot = side[0] * side[1] + test_between(random, 0, 1),
            pitch = columns * side[1] + test_between(random, 0, 2);
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < columns; c++)
            if (test_between(random, 0, 9) > 0)
                put(records[count++], side, (int64_t[]){(r * side[0]) * pitch + c * side[1], pitch, 1},
                    (int64_t[]){slot * (turned ? c * rows + r : r * columns + c), turned ? 1 : side[1],
                                turned ? side[0] : 1});
    return count;
}

static void elements_stay_the_same(const dcli_patterns *how)
{
    static int64_t records[MOST_RECORDS][LENGTH], before[MOST_ELEMENTS][2], after[MOST_ELEMENTS][2];
    int64_t fewer = 0;
    for (uint64_t seed = 1; seed <= 2000; seed++) {
        test_random random = seed;
        int64_t drawn = draw(&random, records), count = drawn;
        int64_t elements = list(records, count, before);
        cr_assert_eq(dcli_patterns_join(how, records[0], &count), DCL_OK);
        cr_assert_eq(list(records, count, after), elements, "seed %" PRIu64, seed);
        qsort(before, (size_t)elements, sizeof before[0], by_place);
        qsort(after, (size_t)elements, sizeof after[0], by_place);
        cr_assert(memcmp(before, after, (size_t)elements * sizeof before[0]) == 0, "seed %" PRIu64, seed);
        fewer += count < drawn;
    }
    cr_expect_gt(fewer, 1200, "%" PRId64 " of 2000 have a pattern", fewer);
}

Test(join, elements_stay_the_same) { elements_stay_the_same(&patterns); }

Test(join, elements_stay_the_same_in_pairs) { elements_stay_the_same(&paired); }
