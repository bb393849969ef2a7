/* resmap/ranges.c - finds the boxes of positions with consecutive numbers (dcli_numbering), and the first multiple with
 * a given residue. */
#include "base/check.h"
#include "resmap/parts.h"

struct ranges {
    const dcli_numbering *numbering;
    dcli_range_fn *visit;
    void *user;
    int64_t lo[DCL_MAX_RANK], hi[DCL_MAX_RANK];
};

/* Visit the box in which the axes from this level on take all their positions. @return false to stop. */
static bool visit_whole(struct ranges *ranges, int level)
{
    const dcli_numbering *numbering = ranges->numbering;
    for (; level < numbering->rank; level++) {
        int d = numbering->order != NULL ? numbering->order[level] : level;
        ranges->lo[d] = 0;
        ranges->hi[d] = numbering->count[d];
    }
    return ranges->visit(ranges->user, ranges->lo, ranges->hi);
}

/* Visit the numbers first .. last - 1 of the axes from this level on, in up to three steps: the rest of one position,
 * whole positions, and the beginning of another. @return false to stop. */
static bool split(struct ranges *ranges, int level, int64_t first, int64_t last)
{
    const dcli_numbering *numbering = ranges->numbering;
    int d = numbering->order != NULL ? numbering->order[level] : level;
    int64_t weight = numbering->weight[d];
    int64_t lo = first / weight, hi = last / weight, before = first % weight, after = last % weight;
    if (before > 0) {
        ranges->lo[d] = lo;
        ranges->hi[d] = lo + 1;
        if (!split(ranges, level + 1, before, lo == hi ? after : weight))
            return false;
        if (lo++ == hi)
            return true;
    }
    if (lo < hi) {
        ranges->lo[d] = lo;
        ranges->hi[d] = hi;
        if (!visit_whole(ranges, level + 1))
            return false;
    }
    if (after == 0)
        return true;
    ranges->lo[d] = hi;
    ranges->hi[d] = hi + 1;
    return split(ranges, level + 1, 0, after);
}

bool dcli_range_boxes(const dcli_numbering *numbering, int64_t first, int64_t last, dcli_range_fn *visit, void *user)
{
    struct ranges ranges = {.numbering = numbering, .visit = visit, .user = user};
    return first >= last || split(&ranges, 0, first, last);
}

/* Find the smallest x >= 0 with lo <= (a * x) mod m <= hi, for 0 <= a < m, 0 <= lo <= hi < m. @return x; -1: there is
 * none. If no multiple of a lies between lo and hi, the answer depends only on the remainders of m's multiples by a:
 * the same question for the smaller numbers m mod a and a, as in Euclid's algorithm. */
static int64_t first_between(int64_t a, int64_t m, int64_t lo, int64_t hi)
{
    if (lo == 0)
        return 0;
    if (a == 0)
        return -1;
    if (a > m - a)
        return first_between(m - a, m, m - hi, m - lo);
    int64_t x = dcli_ceil_div(lo, a);
    if (x <= hi / a)
        return x;
    int64_t rounds = first_between(m % a, a, dcli_mod(-hi, a), dcli_mod(-lo, a));
    return rounds < 0 ? -1 : (int64_t)dcli_wide_ceil_div(lo + (dcli_wide)m * rounds, a);
}

int64_t dcli_first_below(int64_t start, int64_t a, int64_t m, int64_t width)
{
    if (start <= width)
        return 0;
    return first_between(a, m, m - start, m - start + width);
}
