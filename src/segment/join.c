/* segment/join.c - merge patterns into fewer, larger ones.
 *
 * Under maps of small pieces, plans have many small boxes, although their elements often form one pattern: a whole part
 * from its first to its last element. Records of equal shape at equal distances are merged into one, along an axis that
 * they continue or along an unused one, until no more can be merged. */
#include "segment/join.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"

typedef dcli_patterns patterns;

static int64_t *counts_of(const patterns *p, int64_t record[]) { return record + p->count; }

static int64_t *offset_of(const patterns *p, int64_t record[], int k) { return record + p->at[k]; }

static int64_t *steps_of(const patterns *p, int64_t record[], int k) { return record + p->at[k] + 1; }

/* Normalize a record, so that equal patterns are equal records: the step of each axis with one element is 0. */
static void settle(const patterns *p, int64_t record[])
{
    for (int m = 0; m < p->rank; m++)
        for (int k = 0; k < p->places && counts_of(p, record)[m] == 1; k++)
            steps_of(p, record, k)[m] = 0;
}

/* Whether a copy of a record at this distance continues it along axis m: the distance is the length of the axis in
 * every place. @param apart  [places] the distance. */
static bool goes_on(const patterns *p, int64_t record[], int m, const int64_t apart[])
{
    int64_t count = counts_of(p, record)[m];
    for (int k = 0; k < p->places; k++)
        if (apart[k] != count * steps_of(p, record, k)[m])
            return false;
    return count > 1;
}

/* Merge each pair of axes of which the outer one continues the inner one. */
static void fold(const patterns *p, int64_t record[])
{
    int64_t *count = counts_of(p, record);
    int64_t apart[p->places];
    for (int outer = 0; outer < p->rank; outer++)
        for (int inner = 0; inner < p->rank && count[outer] > 1; inner++) {
            for (int k = 0; k < p->places; k++)
                apart[k] = steps_of(p, record, k)[outer];
            if (inner == outer || !goes_on(p, record, inner, apart))
                continue;
            count[inner] *= count[outer];
            count[outer] = 1;
            settle(p, record);
        }
}

/* Choose an axis of one index along which to merge records at this distance. Axes along which a place with a distance
 * other than 0 must keep step 0 (`still`) are excluded. Prefer an axis that is `near` of places whose distance is 1,
 * and avoid one that is `near` of other places. @return -1: there is none. */
static int free_axis(const patterns *p, int64_t record[], const int64_t apart[])
{
    int best = -1, most = 0;
    for (int m = 0; m < p->rank; m++) {
        bool fits = counts_of(p, record)[m] == 1;
        int good = 0;
        for (int k = 0; k < p->places && fits; k++) {
            fits = apart[k] == 0 || p->still == NULL || !p->still[k * p->rank + m];
            if (p->near != NULL && p->near[k] == m)
                good += apart[k] == 1 ? 1 : -1;
        }
        if (fits && (best < 0 || good > most)) {
            best = m;
            most = good;
        }
    }
    return best;
}

/* Whether axis `along` may take over the steps of axis m: no place that has a step other than 0 along axis m must keep
 * step 0 along axis `along` (`still`). */
static bool may_step(const patterns *p, int64_t record[], int m, int along)
{
    for (int k = 0; k < p->places; k++)
        if (steps_of(p, record, k)[m] != 0 && p->still != NULL && p->still[k * p->rank + along])
            return false;
    return true;
}

/* If the leading place prefers an unused axis, and has step 1 along another one, move the steps along that other axis
 * to the preferred one. */
static void move_near(const patterns *p, int64_t record[])
{
    int64_t *count = counts_of(p, record);
    int along = p->near != NULL ? p->near[p->leading] : -1;
    if (along < 0 || count[along] > 1)
        return;
    for (int m = 0; m < p->rank; m++) {
        if (count[m] == 1 || steps_of(p, record, p->leading)[m] != 1 || !may_step(p, record, m, along))
            continue;
        count[along] = count[m];
        count[m] = 1;
        for (int k = 0; k < p->places; k++)
            steps_of(p, record, k)[along] = steps_of(p, record, k)[m];
        settle(p, record);
        return;
    }
}

/* Merge `count` records of equal shape at equal distances into the first: along an axis that they continue or, if there
 * are at least `least` of them, along an unused one. @return whether that is possible. */
static bool unite(const patterns *p, int64_t record[], const int64_t apart[], int64_t count, int least)
{
    for (int m = 0; m < p->rank; m++)
        if (goes_on(p, record, m, apart)) {
            counts_of(p, record)[m] *= count;
            return true;
        }
    int m = count >= least ? free_axis(p, record, apart) : -1;
    if (m < 0)
        return false;
    counts_of(p, record)[m] = count;
    for (int k = 0; k < p->places; k++)
        steps_of(p, record, k)[m] = apart[k];
    return true;
}

/* If y continues x along one axis, add y to x. Their counts may differ along that axis only. @return whether y was
 * added. */
static bool append(const patterns *p, int64_t x[], int64_t y[])
{
    int64_t apart[p->places];
    int along = -1;
    for (int m = 0; m < p->rank; m++)
        if (counts_of(p, x)[m] != counts_of(p, y)[m]) {
            if (along >= 0)
                return false;
            along = m;
        }
    for (int k = 0; k < p->places; k++) {
        apart[k] = *offset_of(p, y, k) - *offset_of(p, x, k);
        for (int m = 0; m < p->rank; m++)
            if (steps_of(p, x, k)[m] != steps_of(p, y, k)[m] && (m != along || counts_of(p, y)[m] != 1))
                return false;
    }
    for (int m = along < 0 ? 0 : along; m <= (along < 0 ? p->rank - 1 : along); m++)
        if (goes_on(p, x, m, apart)) {
            counts_of(p, x)[m] += counts_of(p, y)[m];
            fold(p, x);
            return true;
        }
    return false;
}

static bool are_alike(const patterns *p, int64_t x[], int64_t y[])
{
    size_t bytes = (size_t)p->rank * sizeof x[0];
    bool alike = memcmp(counts_of(p, x), counts_of(p, y), bytes) == 0;
    for (int k = 0; k < p->places && alike; k++)
        alike = memcmp(steps_of(p, x, k), steps_of(p, y, k), bytes) == 0;
    return alike;
}

/* An entry for sorting a record by numbers, because there may be millions. `shape` is a hash: are_alike() distinguishes
 * shapes with the same hash. */
struct entry {
    uint64_t shape;
    int64_t place;
    int64_t *record;
};

static uint64_t number_shape(const patterns *p, int64_t record[])
{
    uint64_t hash = DCLI_HASH_START;
    for (int m = 0; m < p->rank; m++)
        hash = dcli_hash_word(hash, (uint64_t)counts_of(p, record)[m]);
    for (int k = 0; k < p->places; k++)
        for (int m = 0; m < p->rank; m++)
            hash = dcli_hash_word(hash, (uint64_t)steps_of(p, record, k)[m]);
    return hash;
}

static int by_place(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    return (x->place > y->place) - (x->place < y->place);
}

static int by_shape_and_place(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    return x->shape != y->shape ? (x->shape > y->shape) - (x->shape < y->shape) : by_place(a, b);
}

/* Sort entries. @param place  number of the place by whose offsets `compare` compares. */
static void sort(const patterns *p, struct entry at[], int64_t count, int place,
                 int (*compare)(const void *, const void *))
{
    for (int64_t r = 0; r < count; r++)
        at[r].place = *offset_of(p, at[r].record, place);
    qsort(at, (size_t)count, sizeof at[0], compare);
}

/* Number of records, from this one on, that have equal shapes and equal distances. @param apart_out  [places] the
 * distance, if there are at least two. */
static int64_t series(const patterns *p, const struct entry at[], int64_t count, int64_t apart_out[])
{
    int64_t n = 1;
    for (; n < count && at[0].shape == at[n].shape && are_alike(p, at[0].record, at[n].record); n++)
        for (int k = 0; k < p->places; k++) {
            int64_t apart = *offset_of(p, at[n].record, k) - *offset_of(p, at[n - 1].record, k);
            if (n == 1)
                apart_out[k] = apart;
            else if (apart != apart_out[k])
                return n;
        }
    return n;
}

/* Merge series of sorted records in one pass. @param least  number of records needed for a new axis. @return number of
 * records left, at the front. */
static int64_t unite_series(const patterns *p, struct entry at[], int64_t count, int least)
{
    int64_t left = 0, apart[p->places];
    for (int64_t r = 0; r < count;) {
        int64_t n = series(p, at + r, count - r, apart);
        struct entry entry = at[r];
        bool united = n > 1 && unite(p, entry.record, apart, n, least);
        if (united) {
            fold(p, entry.record);
            entry.shape = number_shape(p, entry.record);
        }
        at[left++] = entry;
        r += united ? n : 1;
    }
    return left;
}

/* Merge records of equal shape, sorted by one place after the other, until nothing changes. Pairs may belong to
 * different patterns, so they are merged only when nothing else can be. @return number of records left. */
static int64_t unite_all(const patterns *p, struct entry at[], int64_t count)
{
    enum { WORTH = 3 };
    int places = p->by_all ? p->places : 1;
    for (int n = 0, idle = 0; idle < (p->pairs ? 2 : 1) * places; n++) {
        sort(p, at, count, (p->leading + n % places) % p->places, by_shape_and_place);
        int64_t left = unite_series(p, at, count, idle < places ? WORTH : 2);
        idle = left < count ? 0 : idle + 1;
        count = left;
    }
    return count;
}

/* Merge neighbours that have different counts along one axis. @return number of records left. */
static int64_t append_all(const patterns *p, struct entry at[], int64_t count)
{
    int64_t left = 0;
    sort(p, at, count, p->leading, by_place);
    for (int64_t r = 0; r < count; r++)
        if (left == 0 || !append(p, at[left - 1].record, at[r].record))
            at[left++] = at[r];
    return left;
}

dcl_status dcli_patterns_join(const dcli_patterns *patterns, int64_t records[], int64_t *count_in_out)
{
    int64_t count = *count_in_out;
    size_t bytes = (size_t)patterns->length * sizeof records[0];
    struct entry *at = dcli_malloc((size_t)count * sizeof *at);
    char *joined = at != NULL ? dcli_malloc((size_t)count * bytes) : NULL;
    if (joined == NULL) {
        dcli_free(at);
        return DCL_ERR_NOMEM;
    }
    for (int64_t r = 0; r < count; r++) {
        int64_t *record = records + r * patterns->length;
        for (int m = 0; m < patterns->rank; m++)
            assert(counts_of(patterns, record)[m] >= 1);
        settle(patterns, record);
        fold(patterns, record);
        at[r] = (struct entry){.shape = number_shape(patterns, record), .record = record};
    }
    count = append_all(patterns, at, unite_all(patterns, at, count));
    for (int64_t r = 0; r < count; r++) {
        move_near(patterns, at[r].record);
        memcpy(joined + (size_t)r * bytes, at[r].record, bytes);
    }
    memcpy(records, joined, (size_t)count * bytes);
    dcli_free(at);
    dcli_free(joined);
    *count_in_out = count;
    return DCL_OK;
}
