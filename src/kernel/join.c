/* kernel/join.c - boxes become fewer and larger ones where only the places of elements count.
 *
 * What a map deals in small pieces is planned as many small boxes, though their elements often lie in one pattern: all of
 * a part, one behind the other. A body that uses its indices in subscripts alone does not see which element it computes,
 * so its rows are taken for what they are to memory, counts and steps, and joined where these go on. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "kernel/inside.h"

struct join {
    const dcli_body *body;
    int rank, length, accesses;
    int output; /* access whose offsets differ from row to row: what the body writes first */
};

static int64_t *counts_of(const struct join *join, int64_t row[]) { return row + 2 * join->rank; }

/* Offset, then the steps. */
static int64_t *places_of(const struct join *join, int64_t row[], int a)
{
    return row + dcli_row_access(join->body, a);
}

/* One spelling: no steps where nothing is stepped over, and the same indices for all. */
static void settle(const struct join *join, int64_t row[])
{
    for (int m = 0; m < join->rank; m++) {
        row[m] = 0;
        row[join->rank + m] = 1;
        for (int a = 0; a < join->accesses && counts_of(join, row)[m] == 1; a++)
            places_of(join, row, a)[1 + m] = 0;
    }
}

/* Whether what lies `apart` goes on along an axis. @param apart  [accesses] */
static bool goes_on(const struct join *join, int64_t row[], int m, const int64_t apart[])
{
    int64_t count = counts_of(join, row)[m];
    for (int a = 0; a < join->accesses; a++)
        if (apart[a] != count * places_of(join, row, a)[1 + m])
            return false;
    return count > 1;
}

/* Make one axis of two where the outer goes on where the inner ends. */
static void fold(const struct join *join, int64_t row[])
{
    int64_t apart[DCLI_MAX_ACCESSES], *count = counts_of(join, row);
    for (int outer = 0; outer < join->rank; outer++)
        for (int inner = 0; inner < join->rank && count[outer] > 1; inner++) {
            for (int a = 0; a < join->accesses; a++)
                apart[a] = places_of(join, row, a)[1 + outer];
            if (inner == outer || !goes_on(join, row, inner, apart))
                continue;
            count[inner] *= count[outer];
            count[outer] = 1;
            settle(join, row);
        }
}

/* An axis of one index along which rows that lie `apart` can stand, or -1: kernels step only where subscripts do. The best is
 * where an access has its neighbours, the worst where it would have others. */
static int free_axis(const struct join *join, int64_t row[], const int64_t apart[])
{
    int best = -1, most = 0;
    for (int m = 0; m < join->rank; m++) {
        bool fits = counts_of(join, row)[m] == 1;
        int good = 0;
        for (int a = 0; a < join->accesses && fits; a++) {
            fits = apart[a] == 0 || dcli_inside_depends(join->body, a, m);
            if (join->body->access[a].unit_axis == m)
                good += apart[a] == 1 ? 1 : -1;
        }
        if (fits && (best < 0 || good > most)) {
            best = m;
            most = good;
        }
    }
    return best;
}

/* Join `count` rows, alike and evenly apart, into the first. @return whether that is possible. */
static bool unite(const struct join *join, int64_t row[], const int64_t apart[], int64_t count)
{
    enum { WORTH = 3 }; /* two may be neighbours by chance, and belong into other patterns */
    for (int m = 0; m < join->rank; m++)
        if (goes_on(join, row, m, apart)) {
            counts_of(join, row)[m] *= count;
            return true;
        }
    int m = count >= WORTH ? free_axis(join, row, apart) : -1;
    if (m < 0)
        return false;
    counts_of(join, row)[m] = count;
    for (int a = 0; a < join->accesses; a++)
        places_of(join, row, a)[1 + m] = apart[a];
    return true;
}

/* By shape, then by place. */
static int compare(const void *a, const void *b, void *user)
{
    const struct join *join = user;
    int64_t *x = *(int64_t *const *)a, *y = *(int64_t *const *)b;
    int order = memcmp(counts_of(join, x), counts_of(join, y), (size_t)join->rank * sizeof x[0]);
    for (int k = 0; k < join->accesses && order == 0; k++)
        order = memcmp(places_of(join, x, k) + 1, places_of(join, y, k) + 1, (size_t)join->rank * sizeof x[0]);
    int64_t p = *places_of(join, x, join->output), q = *places_of(join, y, join->output);
    return order != 0 ? order : (p > q) - (p < q);
}

static bool same_shape(const struct join *join, int64_t x[], int64_t y[])
{
    bool same = memcmp(counts_of(join, x), counts_of(join, y), (size_t)join->rank * sizeof x[0]) == 0;
    for (int k = 0; k < join->accesses && same; k++)
        same = memcmp(places_of(join, x, k) + 1, places_of(join, y, k) + 1, (size_t)join->rank * sizeof x[0]) == 0;
    return same;
}

/* How many rows from this one on are alike and evenly apart. @param apart_out  [accesses], when there are two or more. */
static int64_t series(const struct join *join, int64_t *rows[], int64_t count, int64_t apart_out[])
{
    int64_t n = 1;
    for (; n < count && same_shape(join, rows[0], rows[n]); n++)
        for (int a = 0; a < join->accesses; a++) {
            int64_t apart = *places_of(join, rows[n], a) - *places_of(join, rows[n - 1], a);
            if (n == 1)
                apart_out[a] = apart;
            else if (apart != apart_out[a])
                return n;
        }
    return n;
}

/* One pass over sorted rows. @return how many are left, at the front. */
static int64_t unite_series(const struct join *join, int64_t *rows[], int64_t count)
{
    int64_t left = 0, apart[DCLI_MAX_ACCESSES];
    for (int64_t r = 0; r < count;) {
        int64_t n = series(join, rows + r, count - r, apart);
        int64_t *row = rows[r];
        bool united = n > 1 && unite(join, row, apart, n);
        if (united)
            fold(join, row);
        rows[left++] = row;
        r += united ? n : 1;
    }
    return left;
}

static int written_access(const dcli_body *body)
{
    int a = 0;
    while (body->access[a].param != body->first_output || !body->access[a].written)
        a++;
    return a;
}

dcl_status dcli_rows_join(const dcli_body *body, int64_t rows[], int64_t *count_in_out)
{
    struct join join = {.body = body,
                        .rank = body->space_rank,
                        .length = dcli_row_length(body),
                        .accesses = body->access_count,
                        .output = written_access(body)};
    int64_t count = *count_in_out, before = count + 1;
    int64_t **at = dcli_malloc((size_t)count * sizeof *at);
    int64_t *joined = dcli_malloc((size_t)count * (size_t)join.length * sizeof *joined);
    if (at == NULL || joined == NULL) {
        dcli_free(at);
        dcli_free(joined);
        return DCL_ERR_NOMEM;
    }
    for (int64_t r = 0; r < count; r++) {
        at[r] = rows + r * join.length;
        settle(&join, at[r]);
        fold(&join, at[r]);
    }
    while (count < before) {
        before = count;
        qsort_r(at, (size_t)count, sizeof at[0], compare, &join);
        count = unite_series(&join, at, count);
    }
    for (int64_t r = 0; r < count; r++)
        memcpy(joined + r * join.length, at[r], (size_t)join.length * sizeof *joined);
    memcpy(rows, joined, (size_t)(count * join.length) * sizeof *joined);
    dcli_free(at);
    dcli_free(joined);
    *count_in_out = count;
    return DCL_OK;
}
