/* resmap/blocks.c - finds the blocks that a box touches. Movement is counted in blocks. */
#include <string.h>

#include "base/alloc.h"
#include "base/check.h"
#include "base/hash.h"
#include "resmap/parts.h"

static uint64_t place_of(const dcli_block_set *set, int64_t key)
{
    uint64_t mask = (uint64_t)set->capacity - 1;
    uint64_t at = dcli_hash_word(DCLI_HASH_START, (uint64_t)key) & mask;
    while (set->slots[at] != 0 && set->slots[at] != key)
        at = (at + 1) & mask;
    return at;
}

static dcl_status enlarge(dcli_block_set *set)
{
    dcli_block_set larger = {.capacity = dcli_max(64, set->capacity * 2), .count = set->count};
    larger.slots = dcli_calloc((size_t)larger.capacity, sizeof larger.slots[0]);
    if (larger.slots == NULL)
        return DCL_ERR_NOMEM;
    for (int64_t k = 0; k < set->capacity; k++)
        if (set->slots[k] != 0)
            larger.slots[place_of(&larger, set->slots[k])] = set->slots[k];
    dcli_free(set->slots);
    *set = larger;
    return DCL_OK;
}

static dcl_status insert(dcli_block_set *set, uint64_t number)
{
    int64_t key = (int64_t)(number + 1);
    if (set->count * 2 >= set->capacity && enlarge(set) != DCL_OK)
        return DCL_ERR_NOMEM;
    uint64_t at = place_of(set, key);
    set->count += set->slots[at] == 0;
    set->slots[at] = key;
    return DCL_OK;
}

void dcli_block_set_clear(dcli_block_set *set, int64_t most)
{
    if (set->capacity > most) {
        dcli_block_set_free(set);
    } else if (set->count > 0) {
        memset(set->slots, 0, (size_t)set->capacity * sizeof set->slots[0]);
        set->count = 0;
    }
}

void dcli_block_set_free(dcli_block_set *set)
{
    dcli_free(set->slots);
    *set = (dcli_block_set){0};
}

/* How an axis is cut into segments, and segments into blocks. A block of the grid has a number along each axis;
 * together they give a number that is unique in the grid. */
struct grain {
    int64_t run, more;              /* lengths of the segments, as in dcli_division */
    const dcli_division *irregular; /* an irregular division of the axis; NULL: it is regular */
    int64_t block;                  /* elements of a block along the axis */
    int64_t per_run;                /* most blocks of a segment along the axis */
    int64_t total;                  /* exceeds every block number of this axis */
};

static struct grain grain_of(const dcli_layout *layout, int d)
{
    struct grain grain = {.run = layout->rule.piece[d], .block = layout->rule.block[d]};
    if (layout->kind == DCLI_MAP_AXES) {
        grain.run = layout->division[d].run;
        grain.more = layout->division[d].more;
        grain.irregular = layout->division[d].runs > 0 ? &layout->division[d] : NULL;
    }
    grain.per_run = dcli_ceil_div(grain.run + (grain.more > 0), grain.block);
    int64_t runs = dcli_ceil_div(layout->grid.extent[d], grain.run);
    grain.total = (grain.irregular != NULL ? grain.irregular->runs : runs) * grain.per_run;
    return grain;
}

/* The number along this axis of the block that contains an index. @param end_out  the first index after that block. */
static int64_t block_at(const struct grain *grain, int64_t index, int64_t *end_out)
{
    int64_t longer = grain->more * (grain->run + 1), number, start, length = grain->run;
    if (grain->irregular != NULL) {
        number = dcli_run_of(grain->irregular, index);
        start = grain->irregular->begin[number];
        length = grain->irregular->begin[number + 1] - start;
    } else if (index < longer) {
        length = grain->run + 1;
        number = index / length;
        start = number * length;
    } else {
        number = (index - longer) / grain->run;
        start = longer + number * grain->run;
        number += grain->more;
    }
    int64_t block = (index - start) / grain->block;
    *end_out = start + dcli_min((block + 1) * grain->block, length);
    return number * grain->per_run + block;
}

dcli_layout dcli_layout_uncut(const dcli_layout *layout, dcli_layout *inner)
{
    dcli_layout uncut = *layout;
    for (int d = 0; d < layout->grid.rank; d++)
        uncut.rule.block[d] = dcli_max(1, layout->grid.extent[d]); /* at least as long as every segment */
    if (layout->inner != NULL) {
        *inner = dcli_layout_uncut(layout->inner, NULL);
        uncut.inner = inner;
    }
    return uncut;
}

struct counting {
    struct grain grain[DCL_MAX_RANK];
    const dcl_box *box; /* the box, with indices from the grid's origin */
    dcli_block_set *set;
};

/* Insert the blocks that a box touches, axis by axis from axis d on; one step per block, because the other elements of
 * a block are skipped. @param number  of the blocks along the axes before d. */
static dcl_status count_axis(struct counting *counting, int d, uint64_t number)
{
    const dcl_box *box = counting->box;
    if (d == box->rank)
        return insert(counting->set, number);
    const struct grain *grain = &counting->grain[d];
    dcl_status status = DCL_OK;
    for (int64_t k = 0; status == DCL_OK && k < box->count[d];) {
        int64_t end, index = box->start[d] + k * box->stride[d];
        int64_t block = block_at(grain, index, &end);
        status = count_axis(counting, d + 1, number * (uint64_t)grain->total + (uint64_t)block);
        k += dcli_ceil_div(end - index, box->stride[d]);
    }
    return status;
}

struct listed {
    const dcli_layout *layout;
    const dcl_box *box;
    dcli_block_set *set;
    int64_t base;
    dcl_status status;
};

/* Insert the blocks of a listed box that a query touches, axis by axis from axis d on. Block numbers follow those of
 * the boxes earlier in the list. @param whole  the listed box. @param part  its intersection with the query.
 * @param number  of the blocks along the axes before d. */
static dcl_status count_listed(const struct listed *listed, int d, const dcl_box *whole, const dcl_box *part,
                               int64_t number)
{
    const dcli_layout *layout = listed->layout;
    if (d == part->rank)
        return insert(listed->set, (uint64_t)(listed->base + number));
    int64_t size = layout->rule.block[d], count = dcli_ceil_div(whole->count[d], size);
    dcl_status status = DCL_OK;
    for (int64_t k = 0; k < part->count[d] && status == DCL_OK;) {
        int64_t at = part->start[d] + k * part->stride[d] - whole->start[d], block = at / size;
        status = count_listed(listed, d + 1, whole, part, number * count + block);
        k += dcli_ceil_div((block + 1) * size - at, part->stride[d]);
    }
    return status;
}

static bool count_box(void *user, int64_t number)
{
    struct listed *listed = user;
    dcl_box whole = dcli_boxes_box(listed->layout, number), part;
    if (!dcli_box_intersect(&whole, listed->box, &part))
        return true;
    listed->base = listed->layout->boxes.blocks[number];
    listed->status = count_listed(listed, 0, &whole, &part, 0);
    return listed->status == DCL_OK;
}

/* Whether every node's part is one block. */
static bool is_one_block(const dcli_layout *layout)
{
    bool one = layout->kind == DCLI_MAP_AXES;
    for (int d = 0; d < layout->grid.rank && one; d++) {
        const dcli_division *division = &layout->division[d];
        one = division->runs == 0 && dcli_layout_is_dense(layout, d) &&
              (division->used > 1 || division->run >= layout->grid.extent[d]) &&
              layout->rule.block[d] >= dcli_min(division->run + (division->more > 0), layout->grid.extent[d]);
    }
    return one;
}

dcl_status dcli_layout_blocks(const dcli_layout *layout, int node, const dcl_box *box, dcli_block_set *set,
                              int64_t *extra_in_out)
{
    dcl_box inner;
    if (layout->empty || dcli_box_is_empty(box))
        return DCL_OK;
    if (layout->inner != NULL)
        return dcli_every_inward(layout, box, &inner)
                   ? dcli_layout_blocks(layout->inner, node, &inner, set, extra_in_out)
                   : DCL_OK;
    if (is_one_block(layout))
        return insert(set, (uint64_t)node);
    dcl_box moved = dcli_from_origin(layout, box);
    bool ones = true;
    for (int d = 0; d < moved.rank; d++)
        ones = ones && layout->rule.block[d] == 1;
    if (ones) {
        *extra_in_out += dcli_box_elements(&moved);
        return DCL_OK;
    }
    if (layout->kind == DCLI_MAP_BOXES) {
        struct listed listed = {.layout = layout, .box = &moved, .set = set};
        dcli_boxes_meet(layout, &moved, count_box, &listed);
        return listed.status;
    }
    struct counting counting = {.box = &moved, .set = set};
    for (int d = 0; d < moved.rank; d++)
        counting.grain[d] = grain_of(layout, d);
    return count_axis(&counting, 0, 0);
}
