/* resmap/boxes.c - the family of listed boxes, which are found by a tree. */
#include "base/check.h"
#include "resmap/parts.h"

dcl_box dcli_boxes_box(const dcli_layout *layout, int64_t number)
{
    dcl_box box = {.rank = layout->grid.rank};
    const int64_t *at = layout->boxes.box + 2 * box.rank * number;
    for (int d = 0; d < box.rank; d++) {
        box.start[d] = at[d];
        box.count[d] = at[box.rank + d];
        box.stride[d] = 1;
    }
    return box;
}

struct meeting {
    const dcli_boxes *boxes;
    int rank;
    int64_t lo[DCL_MAX_RANK], hi[DCL_MAX_RANK]; /* bounds of the query: first and last index per axis */
    dcli_listed_fn *visit;
    void *user;
};

static bool apart(const struct meeting *meeting, const int64_t first[], const int64_t last[])
{
    for (int d = 0; d < meeting->rank; d++)
        if (first[d] > meeting->hi[d] || last[d] < meeting->lo[d])
            return true;
    return false;
}

static bool meet_part(const struct meeting *meeting, int64_t first, int64_t end)
{
    const dcli_boxes *boxes = meeting->boxes;
    int rank = meeting->rank;
    while (first < end) {
        int64_t middle = first + (end - first) / 2, number = boxes->tree[middle];
        const int64_t *bounds = boxes->bounds + 2 * rank * middle, *box = boxes->box + 2 * rank * number;
        int64_t last[DCL_MAX_RANK];
        if (apart(meeting, bounds, bounds + rank))
            return true;
        for (int d = 0; d < rank; d++)
            last[d] = box[d] + box[rank + d] - 1;
        if (!apart(meeting, box, last) && !meeting->visit(meeting->user, number))
            return false;
        if (!meet_part(meeting, first, middle))
            return false;
        first = middle + 1;
    }
    return true;
}

bool dcli_boxes_meet(const dcli_layout *layout, const dcl_box *query, dcli_listed_fn *visit, void *user)
{
    struct meeting meeting = {.boxes = &layout->boxes, .rank = query->rank, .visit = visit, .user = user};
    for (int d = 0; d < query->rank; d++) {
        meeting.lo[d] = query->start[d];
        meeting.hi[d] = query->start[d] + (query->count[d] - 1) * query->stride[d];
    }
    return meet_part(&meeting, 0, layout->boxes.count);
}

static bool is_between(const int64_t at[], const int64_t first[], const int64_t last[], int rank)
{
    bool between = true;
    for (int d = 0; d < rank; d++)
        between &= first[d] <= at[d] && at[d] <= last[d];
    return between;
}

static bool is_in_box(const int64_t at[], const int64_t box[], int rank)
{
    bool inside = true;
    for (int d = 0; d < rank; d++)
        inside &= (uint64_t)(at[d] - box[d]) < (uint64_t)box[rank + d];
    return inside;
}

/* Find the box that contains an element of the grid. Bounds of subtrees may overlap: if the left subtree's bounds
 * contain the element, the right subtree is pushed on a stack, and searched only if the left one fails. The next
 * direction is computed without a branch, because it is unpredictable. */
static inline __attribute__((always_inline)) int64_t box_at(const dcli_boxes *boxes, int rank, const int64_t at[])
{
    struct {
        int64_t first, end;
    } put_off[64]; /* the tree is balanced: at most 63 levels */
    int count = 0;
    for (int64_t first = 0, end = boxes->count;;) {
        int64_t middle = first + (end - first) / 2, left = first + (middle - first) / 2;
        const int64_t *bounds = boxes->bounds + 2 * rank * left;
        if (is_in_box(at, boxes->box + 2 * rank * boxes->tree[middle], rank))
            return boxes->tree[middle];
        bool goes_left = (first < middle) & is_between(at, bounds, bounds + rank, rank);
        put_off[count].first = middle + 1;
        put_off[count].end = end;
        count += goes_left;
        first = goes_left ? first : middle + 1;
        end = goes_left ? middle : end;
        for (; first == end; end = put_off[count].end)
            first = put_off[--count].first;
    }
}

void dcli_boxes_locate(const dcli_layout *layout, const int64_t index[], int *node_out, int64_t *offset_out)
{
    int rank = layout->grid.rank;
    int64_t at[DCL_MAX_RANK] = {0}, position = 0;
    for (int d = 0; d < rank; d++)
        at[d] = index[d] - layout->grid.origin[d];
    const dcli_boxes *boxes = &layout->boxes;
    int64_t number = rank == 1   ? box_at(boxes, 1, at) /* constant rank: the compiler unrolls the loops */
                     : rank == 2 ? box_at(boxes, 2, at)
                     : rank == 3 ? box_at(boxes, 3, at)
                                 : box_at(boxes, rank, at);
    const int64_t *box = layout->boxes.box + 2 * rank * number;
    for (int d = 0; d < rank; d++)
        position = position * box[rank + d] + at[d] - box[d];
    *node_out = (int)layout->boxes.place[number];
    *offset_out = layout->boxes.offset[number] + position;
}

/* ---- regions ------------------------------------------------------------------------------------------------------ */

/* Emit the region of those elements of one listed box that lie in the query. @return false to stop. */
static bool emit_box(dcli_walk *walk, int64_t number)
{
    const dcli_layout *layout = walk->layout;
    dcl_box box = dcli_boxes_box(layout, number);
    dcli_lane lane[DCL_MAX_RANK];
    int64_t within = 1;
    for (int d = box.rank - 1; d >= 0; d--) {
        lane[d] = (dcli_lane){.base = box.start[d], .run = box.count[d], .count = 1, .step = 1, .within = within};
        within *= box.count[d];
    }
    return dcli_lanes_emit(walk, lane, layout->boxes.offset[number], NULL);
}

struct own {
    dcli_walk *walk;
    int place;
};

static bool emit_own(void *user, int64_t number)
{
    struct own *own = user;
    return own->walk->layout->boxes.place[number] != own->place || emit_box(own->walk, number);
}

void dcli_boxes_walk(dcli_walk *walk, int node)
{
    struct own own = {.walk = walk, .place = node};
    dcli_boxes_meet(walk->layout, &walk->query, emit_own, &own);
}

struct listing {
    const dcli_layout *layout;
    const dcl_box *query;
    dcli_node_list *places;
    dcl_status status;
};

static bool list_owner(void *user, int64_t number)
{
    struct listing *listing = user;
    dcl_box box = dcli_boxes_box(listing->layout, number), common;
    if (dcli_box_intersect(&box, listing->query, &common))
        listing->status = dcli_places_append(listing->places, (int)listing->layout->boxes.place[number]);
    return listing->status == DCL_OK;
}

dcl_status dcli_boxes_owners(const dcli_layout *layout, const dcl_box *query, dcli_node_list *places_out)
{
    struct listing listing = {.layout = layout, .query = query, .places = places_out};
    dcli_boxes_meet(layout, query, list_owner, &listing);
    return listing.status;
}

/* ---- tiles -------------------------------------------------------------------------------------------------------- */

int64_t dcli_boxes_tile_shape(const dcli_layout *layout, const dcl_box *box, int64_t shape_out[])
{
    int64_t tiles = 1;
    if (layout->rule.tile_rank == 0)
        dcli_default_grain(box->rank, box->count, dcli_tile_elements(layout), shape_out);
    for (int d = 0; d < box->rank; d++) {
        if (layout->rule.tile_rank != 0)
            shape_out[d] = dcli_min(layout->rule.tile[d], box->count[d]);
        tiles *= dcli_ceil_div(box->count[d], shape_out[d]);
    }
    return tiles;
}

struct tiles {
    dcli_walk *walk;
    int64_t number;
    dcl_box box;
    int64_t shape[DCL_MAX_RANK];
};

static bool emit_tiles(void *user, const int64_t lo[], const int64_t hi[])
{
    struct tiles *tiles = user;
    dcl_box whole = tiles->walk->query;
    for (int d = 0; d < tiles->box.rank; d++) {
        int64_t first = lo[d] * tiles->shape[d], end = dcli_min(hi[d] * tiles->shape[d], tiles->box.count[d]);
        tiles->walk->query.start[d] = tiles->box.start[d] + first;
        tiles->walk->query.count[d] = end - first;
    }
    bool goes_on = emit_box(tiles->walk, tiles->number);
    tiles->walk->query = whole;
    return goes_on;
}

/* Emit tiles first .. last - 1 of one listed box, counted within the box. @return false to stop. */
static bool emit_some(dcli_walk *walk, int64_t number, int64_t first, int64_t last)
{
    struct tiles tiles = {.walk = walk, .number = number, .box = dcli_boxes_box(walk->layout, number)};
    int64_t total = dcli_boxes_tile_shape(walk->layout, &tiles.box, tiles.shape);
    int64_t count[DCL_MAX_RANK], weight[DCL_MAX_RANK], next = 1;
    for (int d = tiles.box.rank - 1; d >= 0; d--) {
        count[d] = dcli_ceil_div(tiles.box.count[d], tiles.shape[d]);
        weight[d] = next;
        next *= count[d];
    }
    dcli_numbering numbering = {.rank = tiles.box.rank, .count = count, .weight = weight};
    return dcli_range_boxes(&numbering, dcli_max(first, 0), dcli_min(last, total), emit_tiles, &tiles);
}

void dcli_boxes_tiles(dcli_walk *walk, int node, int64_t first, int64_t last)
{
    const dcli_boxes *boxes = &walk->layout->boxes;
    int64_t low = boxes->from[node], end = boxes->from[node + 1];
    for (int64_t n = end - low; n > 0;) { /* binary search: the first box whose tiles begin at or after `first` */
        int64_t half = n / 2;
        bool before = boxes->tile[boxes->of[low + half]] < first;
        low += before ? half + 1 : 0;
        n = before ? n - half - 1 : half;
    }
    if (low > boxes->from[node])
        low--; /* the last tiles of the box before may be in the range */
    for (; low < end && boxes->tile[boxes->of[low]] < last; low++) {
        int64_t number = boxes->of[low], tile = boxes->tile[number];
        if (!emit_some(walk, number, first - tile, last - tile))
            return;
    }
}
