/* resmap/elements.h - elements of maps that deal single elements in hashed order, as lists of numbers: such elements
 * form no boxes, and there may be millions. */
#ifndef DCLI_RESMAP_ELEMENTS_H
#define DCLI_RESMAP_ELEMENTS_H

#include "resmap/layout.h"

/** An element: its row-major number in the grid, and where its owner stores it. */
typedef struct dcli_element {
    int64_t number, offset;
} dcli_element;

/** A list of elements, filled at once by the functions below. Start with {0}; free with dcli_element_list_free(). */
typedef struct dcli_element_list {
    dcli_element *element;
    int64_t count;
    dcli_divisor by_extent[DCL_MAX_RANK]; /* extents of the grid as divisors, for dcli_element_index() */
} dcli_element_list;

/** Whether the map deals single elements in hashed order, so that no box or pattern describes a node's elements. */
bool dcli_layout_is_shuffled(const dcli_layout *layout);

/** List the elements of tiles first .. first + count - 1 of a node, in ascending order of their numbers, for a layout
 *  with dcli_layout_is_shuffled(). Cost: O(n) for n elements, some 50 ns each. @return DCL_OK or DCL_ERR_NOMEM. */
dcl_status dcli_layout_elements(const dcli_layout *layout, int node, int64_t first, int64_t count,
                                dcli_element_list *out);
/** List all elements of a node, in the order in which they are stored, for a layout with dcli_layout_is_shuffled().
 *  @return DCL_OK or DCL_ERR_NOMEM. */
dcl_status dcli_layout_stored_elements(const dcli_layout *layout, int node, dcli_element_list *out);
void dcli_element_list_free(dcli_element_list *list);

/** The row-major number of an index of the grid. */
static inline int64_t dcli_element_number(const dcl_grid *grid, const int64_t index[])
{
    int64_t number = 0;
    for (int d = 0; d < grid->rank; d++)
        number = number * grid->extent[d] + index[d] - grid->origin[d];
    return number;
}

/** Divisors for dcli_element_index(). No extent is 0. */
static inline void dcli_element_divisors(const dcl_grid *grid, dcli_divisor by_extent_out[])
{
    for (int d = 0; d < grid->rank; d++)
        by_extent_out[d] = dcli_divisor_of(grid->extent[d]);
}

/** The index of the element with this row-major number: the inverse of dcli_element_number(). */
static inline void dcli_element_index(const dcl_grid *grid, const dcli_divisor by_extent[], int64_t number,
                                      int64_t index_out[])
{
    for (int d = grid->rank - 1; d >= 0; d--) {
        int64_t rest = dcli_divided(number, by_extent[d]);
        index_out[d] = number - rest * grid->extent[d] + grid->origin[d];
        number = rest;
    }
}

#endif
