/* lower/sets.c - divide rows into sets of rows that differ only in their own numbers (dcli_row_own()); each set is one
 * launch. Used on GPUs, where a launch costs as much as moving megabytes. The segments of a dealt map form few sets:
 * only those at the edges have other shapes. */
#include "lower/sets.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"

/* A row for sorting: by the hash of its numbers that are not own numbers, then by its number in the launch. */
struct entry {
    uint64_t hash;
    int64_t number;
};

static int by_hash(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    if (x->hash != y->hash)
        return x->hash < y->hash ? -1 : 1;
    return (x->number > y->number) - (x->number < y->number);
}

/* The division of a launch's rows into sets. */
struct division {
    const dcli_body *body;
    dcli_launch *launch;
    const int *own; /* [own_count] positions of a row's own numbers */
    int own_count, length;
    struct entry *entry; /* [row_count] the rows in sorted order */
    int64_t *shared;     /* [row_count][length] rows without their own numbers, normalized */
};

/* Normalize a row for comparing: steps and strides along axes with one index are never used, so they are set to fixed
 * values. */
static void settle(const dcli_body *body, int64_t row[])
{
    for (int m = 0; m < body->space_rank; m++) {
        if (row[dcli_row_at(body, DCLI_ROW_COUNT, 0) + m] > 1)
            continue;
        row[dcli_row_at(body, DCLI_ROW_STRIDE, 0) + m] = 1;
        for (int a = 0; a < body->access_count; a++)
            if (body->access[a].reach == DCLI_REACH_AFFINE)
                row[dcli_row_at(body, DCLI_ROW_STEP, a) + m] = 0;
    }
}

static void sort_rows(struct division *division)
{
    int64_t count = division->launch->row_count;
    for (int64_t r = 0; r < count; r++) {
        int64_t *shared = division->shared + r * division->length;
        uint64_t hash = DCLI_HASH_START;
        memcpy(shared, division->launch->row + r * division->length, (size_t)division->length * sizeof *shared);
        settle(division->body, shared);
        for (int n = 0; n < division->own_count; n++)
            shared[division->own[n]] = 0;
        for (int n = 0; n < division->length; n++)
            hash = dcli_hash_word(hash, (uint64_t)shared[n]);
        division->entry[r] = (struct entry){hash, r};
    }
    qsort(division->entry, (size_t)count, sizeof division->entry[0], by_hash);
}

static bool are_alike(const struct division *division, int64_t x, int64_t y)
{
    return memcmp(division->shared + division->entry[x].number * division->length,
                  division->shared + division->entry[y].number * division->length,
                  (size_t)division->length * sizeof division->shared[0]) == 0;
}

/* Add row r, in sorted order, to the last set if the previous row differs from it only in own numbers; otherwise begin
 * a set with it. */
static dcl_status add_row(struct division *division, int64_t r)
{
    dcli_launch *launch = division->launch;
    if (r > 0 && are_alike(division, r - 1, r)) {
        launch->set[launch->set_count - 1].count++;
        return DCL_OK;
    }
    if (dcli_grow(&launch->set, launch->set_count, &launch->set_capacity, sizeof *launch->set) != 0)
        return DCL_ERR_NOMEM;
    launch->set[launch->set_count++] = (dcli_row_set){.first = r, .count = 1};
    return DCL_OK;
}

static dcl_status divide(struct division *division)
{
    dcli_launch *launch = division->launch;
    dcl_status status = DCL_OK;
    sort_rows(division);
    for (int64_t r = 0; r < launch->row_count && status == DCL_OK; r++) {
        const int64_t *row = launch->row + division->entry[r].number * division->length;
        for (int n = 0; n < division->own_count; n++)
            launch->own[r * division->own_count + n] = row[division->own[n]];
        status = add_row(division, r);
    }
    return status;
}

/* Reduce the launch's rows to the first row of each set. */
static dcl_status keep_first(struct division *division)
{
    dcli_launch *launch = division->launch;
    int64_t *kept = dcli_malloc((size_t)(launch->set_count * division->length) * sizeof *kept);
    if (kept == NULL)
        return DCL_ERR_NOMEM;
    for (int64_t s = 0; s < launch->set_count; s++)
        memcpy(kept + s * division->length,
               launch->row + division->entry[launch->set[s].first].number * division->length,
               (size_t)division->length * sizeof *kept);
    dcli_free(launch->row);
    launch->row = kept;
    launch->row_capacity = launch->set_count;
    return DCL_OK;
}

dcl_status dcli_rows_divide(const dcli_body *body, dcli_launch *launch)
{
    int length = dcli_row_length(body), own[length];
    struct division division = {
        .body = body, .launch = launch, .own = own, .own_count = dcli_row_own(body, own), .length = length};
    size_t rows = (size_t)launch->row_count;
    division.entry = dcli_malloc(rows * sizeof *division.entry);
    division.shared = dcli_malloc(rows * (size_t)length * sizeof *division.shared);
    launch->own = dcli_malloc(rows * (size_t)division.own_count * sizeof *launch->own);
    bool enough = division.entry != NULL && division.shared != NULL && launch->own != NULL;
    dcl_status status = enough ? divide(&division) : DCL_ERR_NOMEM;
    if (status == DCL_OK)
        status = keep_first(&division);
    dcli_free(division.entry);
    dcli_free(division.shared);
    return status;
}
