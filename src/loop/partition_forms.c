/* loop/partition_forms.c - tests whether forms are linearly independent, by Gaussian elimination with integers. */
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "loop/partition_search.h"

/* Subtract a multiple of `row` from a multiple of `other`, so that other[column] becomes 0, then divide `other` by the
 * common factor. @return false: overflow */
static bool eliminate(int64_t other[], const int64_t row[], int column)
{
    int64_t factor = row[column], more = other[column], common = 0;
    for (int d = 0; d < DCLI_LOOPS_DEPTH; d++) {
        int64_t a, b;
        if (!dcli_mul(factor, other[d], &a) || !dcli_mul(more, row[d], &b) || !dcli_add(a, -b, &other[d]))
            return false;
        common = dcli_gcd(common, llabs(other[d]));
    }
    for (int d = 0; d < DCLI_LOOPS_DEPTH && common > 1; d++)
        other[d] /= common;
    return true;
}

/* Add a form's factors to a matrix only if they are independent of its rows. @return whether they were added; false
 * also on overflow. */
bool dcli_partition_add_form(dcli_partition_forms *forms, const dcli_loops_linear *form)
{
    int64_t row[DCLI_LOOPS_DEPTH];
    memcpy(row, form->coef, sizeof row);
    for (int k = 0; k < forms->count; k++)
        if (row[forms->pivot[k]] != 0 && !eliminate(row, forms->row[k], forms->pivot[k]))
            return false;
    int pivot = 0;
    while (pivot < DCLI_LOOPS_DEPTH && row[pivot] == 0)
        pivot++;
    if (pivot == DCLI_LOOPS_DEPTH || forms->count == DCLI_LOOPS_DEPTH)
        return false;
    for (int k = 0; k < forms->count; k++)
        if (forms->row[k][pivot] != 0 && !eliminate(forms->row[k], row, pivot))
            return false;
    memcpy(forms->row[forms->count], row, sizeof row);
    forms->pivot[forms->count++] = pivot;
    return true;
}

/* Form n of a statement, with 0 as the factors of the hosts' counters. */
dcli_loops_linear dcli_partition_of_counters(const dcli_partition_search *search, int s, int n)
{
    dcli_loops_linear form = search->found->number[s][n];
    for (int k = 0; k < search->hosts->count; k++)
        form.coef[search->hosts->depth[k][s]] = 0;
    return form;
}

void dcli_partition_find_forms(const dcli_partition_search *search, int s, dcli_partition_forms *forms_out)
{
    forms_out->count = 0;
    for (int n = 0; n < search->found->rank[search->found->component[s]]; n++) {
        dcli_loops_linear form = dcli_partition_of_counters(search, s, n);
        dcli_partition_add_form(forms_out, &form);
    }
}
