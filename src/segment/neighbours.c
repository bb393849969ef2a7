/* segment/neighbours.c - joins neighbouring boxes of a list. */
#include <stdlib.h>

#include "segment/box.h"

static int compare(int64_t x, int64_t y) { return (x > y) - (x < y); }

static int compare_axes(const dcl_box *x, const dcl_box *y, int d)
{
    int order = compare(x->start[d], y->start[d]);
    if (order == 0)
        order = compare(x->count[d], y->count[d]);
    return order == 0 ? compare(x->stride[d], y->stride[d]) : order;
}

/* Order boxes so that neighbours along axis `user` follow each other: by the other axes first, then by this one. */
static int by_line(const void *a, const void *b, void *user)
{
    const dcl_box *x = a, *y = b;
    int along = *(const int *)user, order = 0;
    for (int d = 0; d < x->rank && order == 0; d++)
        order = d == along ? 0 : compare_axes(x, y, d);
    return order == 0 ? compare_axes(x, y, along) : order;
}

static bool goes_on(const dcl_box *x, const dcl_box *y, int along)
{
    for (int d = 0; d < x->rank; d++)
        if (d != along && compare_axes(x, y, d) != 0)
            return false;
    bool dense = (x->count[along] == 1 || x->stride[along] == 1) && (y->count[along] == 1 || y->stride[along] == 1);
    return dense && x->start[along] + x->count[along] == y->start[along];
}

void dcli_box_list_join(dcli_box_list *list)
{
    int rank = list->count > 0 ? list->box[0].rank : 0;
    for (int along = 0; along < rank; along++) {
        int64_t last = 0;
        qsort_r(list->box, (size_t)list->count, sizeof list->box[0], by_line, &along);
        for (int64_t b = 1; b < list->count; b++) {
            dcl_box *box = &list->box[last], next = list->box[b];
            if (goes_on(box, &next, along)) {
                box->count[along] += next.count[along];
                box->stride[along] = 1;
            } else {
                list->box[++last] = next;
            }
        }
        list->count = last + 1;
    }
}
