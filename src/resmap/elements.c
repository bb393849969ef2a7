/* resmap/elements.c - lists of the elements of a tile, or of a node, for maps that deal single elements in hashed
 * order. */
#include "resmap/elements.h"

#include "base/alloc.h"
#include "base/check.h"
#include "resmap/parts.h"

bool dcli_layout_is_shuffled(const dcli_layout *layout)
{
    return !layout->empty && layout->inner == NULL && layout->kind == DCLI_MAP_DEALT &&
           layout->rule.deal == DCL_DEAL_HASH && layout->slot == 1;
}

enum { DIGIT_BITS = 11, DIGITS = 1 << DIGIT_BITS };

/* One pass of a radix sort, by the digit at `shift`. Source: Knuth, TAOCP 3, 5.2.5, algorithm R, with counters. */
static void sort_by_digit(const dcli_element from[], dcli_element to[], int64_t count, int shift)
{
    int64_t place[DIGITS + 1] = {0};
    for (int64_t e = 0; e < count; e++)
        place[(from[e].number >> shift & (DIGITS - 1)) + 1]++;
    for (int k = 1; k < DIGITS; k++)
        place[k] += place[k - 1];
    for (int64_t e = 0; e < count; e++)
        to[place[from[e].number >> shift & (DIGITS - 1)]++] = from[e];
}

/* Sort elements by their number. @param other  [count] scratch. @param largest  number. @return `list` or `other`: the
 * one with the sorted elements. */
static dcli_element *sort(dcli_element *list, dcli_element *other, int64_t count, int64_t largest)
{
    for (int shift = 0; shift < 63 && largest >> shift > 0; shift += DIGIT_BITS) {
        sort_by_digit(list, other, count, shift);
        dcli_element *sorted = other;
        other = list;
        list = sorted;
    }
    return list;
}

static void list_slots(const dcli_layout *layout, int place, int64_t first, int64_t last, dcli_element out[])
{
    int rank = layout->grid.rank;
    dcli_divisor by_weight[DCL_MAX_RANK];
    int64_t strides[DCL_MAX_RANK], row_major = 1;
    for (int d = rank - 1; d >= 0; d--) {
        by_weight[d] = dcli_divisor_of(layout->weight[d]);
        strides[d] = row_major;
        row_major *= layout->grid.extent[d];
    }
    for (int64_t slot = first; slot < last; slot++) {
        int64_t index[DCL_MAX_RANK], number = 0;
        dcli_piece_position(layout, by_weight, dcli_slot_piece(layout, place, slot), index);
        for (int d = 0; d < rank; d++)
            number += index[d] * strides[d];
        out[slot - first] = (dcli_element){.number = number, .offset = slot};
    }
}

dcl_status dcli_layout_stored_elements(const dcli_layout *layout, int node, dcli_element_list *out)
{
    int place = dcli_layout_place(layout, node);
    int64_t slots = place >= 0 ? dcli_dealt_slots(layout, place) : 0;
    *out = (dcli_element_list){0};
    if (slots == 0)
        return DCL_OK;
    out->element = dcli_malloc((size_t)slots * sizeof *out->element);
    if (out->element == NULL)
        return DCL_ERR_NOMEM;
    list_slots(layout, place, 0, slots, out->element);
    out->count = slots;
    dcli_element_divisors(&layout->grid, out->by_extent);
    return DCL_OK;
}

dcl_status dcli_layout_elements(const dcli_layout *layout, int node, int64_t first, int64_t count,
                                dcli_element_list *out)
{
    int place = dcli_layout_place(layout, node);
    *out = (dcli_element_list){0};
    if (place < 0)
        return DCL_OK;
    int64_t run = dcli_tile_slots(layout), slots = dcli_dealt_slots(layout, place);
    int64_t from = first * run, to = dcli_min((first + count) * run, slots);
    if (to <= from)
        return DCL_OK;
    out->element = dcli_malloc((size_t)(to - from) * sizeof *out->element);
    dcli_element *other = out->element != NULL ? dcli_malloc((size_t)(to - from) * sizeof *other) : NULL;
    if (other == NULL) {
        dcli_element_list_free(out);
        return DCL_ERR_NOMEM;
    }
    list_slots(layout, place, from, to, out->element);
    dcli_element *sorted = sort(out->element, other, to - from, layout->piece_total - 1);
    dcli_free(sorted == other ? out->element : other);
    out->element = sorted;
    out->count = to - from;
    dcli_element_divisors(&layout->grid, out->by_extent);
    return DCL_OK;
}

void dcli_element_list_free(dcli_element_list *list)
{
    dcli_free(list->element);
    *list = (dcli_element_list){0};
}
