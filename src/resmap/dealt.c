/* resmap/dealt.c - the dealt family: the pieces are numbered, and the numbers dealt to the places of the map. At its
 * owner each piece has a slot, the storage of a whole piece. If numbers are dealt in turn, those of a place are a
 * residue class: boxes of pieces at evenly spaced slots. If they are dealt in runs or by a list, consecutive numbers
 * have consecutive slots. If they are hashed, pieces are found one by one. */
#include "base/alloc.h"
#include "base/check.h"
#include "resmap/parts.h"

dcli_numbering dcli_piece_numbering(const dcli_layout *layout)
{
    return (dcli_numbering){
        .rank = layout->grid.rank, .order = layout->order, .count = layout->pieces, .weight = layout->weight};
}

int64_t dcli_dealt_slots(const dcli_layout *layout, int node)
{
    if (layout->rule.deal == DCL_DEAL_TABLE)
        return layout->owned.slots[node];
    return layout->piece_total / layout->node_count + (node < layout->piece_total % layout->node_count);
}

/* The number of a place's first piece when pieces are dealt in runs: the first `more` places have one piece more. */
static int64_t first_piece(const dcli_layout *layout, int64_t node)
{
    int64_t even = layout->piece_total / layout->node_count, more = layout->piece_total % layout->node_count;
    return node * even + dcli_min(node, more);
}

int64_t dcli_slot_piece(const dcli_layout *layout, int node, int64_t slot)
{
    switch (layout->rule.deal) {
    case DCL_DEAL_BLOCK:
        return first_piece(layout, node) + slot;
    case DCL_DEAL_HASH:
        return dcli_scatter_number(&layout->scatter, slot * layout->node_count + node);
    case DCL_DEAL_TABLE:
        return dcli_owned_piece(layout, node, slot);
    case DCL_DEAL_CYCLIC:
        break;
    }
    return slot * layout->node_count + node;
}

int dcli_piece_owner(const dcli_layout *layout, int64_t number, int64_t *slot_out)
{
    switch (layout->rule.deal) {
    case DCL_DEAL_BLOCK:
        return (int)dcli_divide_index(&layout->runs, number, slot_out);
    case DCL_DEAL_TABLE:
        return dcli_owned_owner(layout, number, slot_out);
    case DCL_DEAL_HASH:
        number = dcli_scatter_position(&layout->scatter, number);
        break;
    case DCL_DEAL_CYCLIC:
        break;
    }
    *slot_out = dcli_divided(number, layout->by_node_count);
    return (int)(number - *slot_out * layout->node_count);
}

void dcli_dealt_locate(const dcli_layout *layout, const int64_t index[], int *node_out, int64_t *offset_out)
{
    int64_t number = 0, position = layout->lead;
    for (int d = 0; d < layout->grid.rank; d++) {
        int64_t from_origin = index[d] - layout->grid.origin[d];
        int64_t piece = dcli_divided(from_origin, layout->by_piece[d]);
        number += piece * layout->weight[d];
        position += (from_origin - piece * layout->rule.piece[d]) * layout->within[d];
    }
    int64_t *slot = offset_out; /* avoids the address of a local variable, for which the compiler would add a stack
                                   check */
    *node_out = dcli_piece_owner(layout, number, slot);
    *offset_out = *slot * layout->slot + position;
}

/* A walk over a place's pieces. It emits their regions, or without `walk` only counts their elements. */
struct dealing {
    const dcli_layout *layout;
    int node;
    const int64_t *lo, *hi; /* per axis, only pieces with lo[d] <= p[d] < hi[d] are visited, where p is a piece's
                               position in the grid of pieces */
    dcli_walk *walk;        /* receives the regions; NULL: only `elements` is counted */
    int64_t elements;
    int64_t box_lo[DCL_MAX_RANK], box_hi[DCL_MAX_RANK];        /* the box of pieces that is being dealt, as positions */
    int64_t least[DCL_MAX_RANK + 1], spread[DCL_MAX_RANK + 1]; /* per level (an axis in layout->order): the axes from
                                                                  this level on together add least .. least + spread
                                                                  to a piece number */
    dcli_lane lane[DCL_MAX_RANK];
};

static int64_t elements_of(const dcli_layout *layout, const dcli_lane lane[])
{
    int64_t elements = 1;
    for (int d = 0; d < layout->grid.rank; d++) {
        int64_t last = lane[d].first + (lane[d].count - 1) * lane[d].step;
        int64_t beyond = dcli_max(0, (last + 1) * lane[d].run - layout->grid.extent[d]);
        elements *= lane[d].count * lane[d].run - beyond;
    }
    return elements;
}

/* Complete the lanes of a box of pieces, of which first, count and step are set, and emit or count their elements.
 * @param number  of their first piece. @return false to stop. */
static bool finish_lanes(struct dealing *dealing, int64_t number)
{
    const dcli_layout *layout = dealing->layout;
    bool in_turn = layout->rule.deal == DCL_DEAL_CYCLIC;
    int64_t slot;
    dcli_piece_owner(layout, number, &slot);
    for (int d = 0; d < layout->grid.rank; d++) {
        dcli_lane *lane = &dealing->lane[d];
        lane->base = 0;
        lane->run = layout->rule.piece[d];
        lane->within = layout->within[d];
        lane->between = 0;
        if (lane->count > 1)
            lane->between = layout->weight[d] * lane->step / (in_turn ? layout->node_count : 1) * layout->slot;
    }
    if (dealing->walk != NULL)
        return dcli_lanes_emit(dealing->walk, dealing->lane, slot * layout->slot, layout->order);
    dealing->elements += elements_of(layout, dealing->lane);
    return true;
}

/* For pieces dealt in turn: choose positions axis by axis, so that the piece number is congruent to the place's number
 * modulo the number of places. @param number  what the axes before this level add to the piece number. @param residue
 * what the axes from this level on must add, modulo nodes. @return false to stop. */
static bool choose_classes(struct dealing *dealing, int level, int64_t number, int64_t residue)
{
    const dcli_layout *layout = dealing->layout;
    int64_t nodes = layout->node_count;
    int d = layout->order[level];
    int64_t lo = dealing->box_lo[d], hi = dealing->box_hi[d], weight = layout->weight[d];
    dcli_lane *lane = &dealing->lane[d];
    if (level == layout->grid.rank - 1) {
        int64_t first = lo + dcli_mod(residue - lo, nodes);
        if (first >= hi)
            return true;
        lane->first = first;
        lane->count = (hi - 1 - first) / nodes + 1;
        lane->step = nodes;
        return finish_lanes(dealing, number + first);
    }
    int64_t turn = weight % nodes, classes = nodes / dcli_gcd(weight, nodes);
    int64_t end = dcli_min(hi, lo + classes);
    for (int64_t p = lo; p < end; p++) {
        /* The axes after this level can only add least .. least + spread: skip positions after which they could not
         * reach the wanted residue. */
        int64_t wanted = dcli_mod(residue - p % nodes * turn, nodes);
        int64_t missing = dcli_mod(wanted - dealing->least[level + 1], nodes);
        if (missing > dealing->spread[level + 1]) {
            int64_t skip = dcli_first_below(missing, (nodes - turn) % nodes, nodes, dealing->spread[level + 1]);
            if (skip < 0 || p + skip >= end)
                return true;
            p += skip;
            wanted = dcli_mod(residue - p % nodes * turn, nodes);
        }
        lane->first = p;
        lane->count = (hi - 1 - p) / classes + 1;
        lane->step = classes;
        if (!choose_classes(dealing, level + 1, number + p * weight, wanted))
            return false;
    }
    return true;
}

static bool deal_in_turn(struct dealing *dealing)
{
    const dcli_layout *layout = dealing->layout;
    int rank = layout->grid.rank;
    dealing->least[rank] = dealing->spread[rank] = 0;
    for (int level = rank - 1; level >= 0; level--) {
        int d = layout->order[level];
        dealing->least[level] = dealing->least[level + 1] + dealing->box_lo[d] * layout->weight[d];
        dealing->spread[level] =
            dealing->spread[level + 1] + (dealing->box_hi[d] - 1 - dealing->box_lo[d]) * layout->weight[d];
    }
    return choose_classes(dealing, 0, 0, dealing->node);
}

static bool deal_in_runs(struct dealing *dealing)
{
    int64_t number = 0;
    for (int d = 0; d < dealing->layout->grid.rank; d++) {
        dcli_lane *lane = &dealing->lane[d];
        lane->first = dealing->box_lo[d];
        lane->count = dealing->box_hi[d] - dealing->box_lo[d];
        lane->step = 1;
        number += lane->first * dealing->layout->weight[d];
    }
    return finish_lanes(dealing, number);
}

/* Emit those pieces of a box of pieces that belong to the place and are in the walk's range. @return false to stop. */
static bool deal_box(void *user, const int64_t lo[], const int64_t hi[])
{
    struct dealing *dealing = user;
    for (int d = 0; d < dealing->layout->grid.rank; d++) {
        dealing->box_lo[d] = dcli_max(lo[d], dealing->lo[d]);
        dealing->box_hi[d] = dcli_min(hi[d], dealing->hi[d]);
        if (dealing->box_lo[d] >= dealing->box_hi[d])
            return true;
    }
    return dealing->layout->rule.deal == DCL_DEAL_CYCLIC ? deal_in_turn(dealing) : deal_in_runs(dealing);
}

/* Emit piece number `number` of the place, if it is in the walk's range. @return false to stop. */
static bool deal_piece(struct dealing *dealing, int64_t number)
{
    int64_t lo[DCL_MAX_RANK], hi[DCL_MAX_RANK];
    for (int d = 0; d < dealing->layout->grid.rank; d++) {
        lo[d] = number / dealing->layout->weight[d] % dealing->layout->pieces[d];
        hi[d] = lo[d] + 1;
    }
    return deal_box(dealing, lo, hi);
}

/* Look up the owner of every piece in the walk's range, axis by axis from `level` on, and emit the place's pieces with
 * slots first .. last - 1. @return false to stop. */
static bool deal_looked_at(struct dealing *dealing, int level, int64_t number, int64_t first, int64_t last)
{
    const dcli_layout *layout = dealing->layout;
    if (level == layout->grid.rank) {
        int64_t slot;
        if (dcli_piece_owner(layout, number, &slot) != dealing->node || slot < first || slot >= last)
            return true;
        return deal_piece(dealing, number);
    }
    int d = layout->order[level];
    for (int64_t p = dealing->lo[d]; p < dealing->hi[d]; p++)
        if (!deal_looked_at(dealing, level + 1, number + p * layout->weight[d], first, last))
            return false;
    return true;
}

/* Emit pieces of a single element that are dealt by hash, in slots first .. last - 1. There are many, so they are
 * emitted without lanes. */
static void deal_hashed_elements(struct dealing *dealing, int64_t first, int64_t last)
{
    const dcli_layout *layout = dealing->layout;
    int rank = layout->grid.rank;
    int64_t index[DCL_MAX_RANK];
    dcli_divisor by_weight[DCL_MAX_RANK];
    dcli_region_list *out = dealing->walk->out;
    if (out != NULL && dcli_box_elements(&dealing->walk->query) == layout->piece_total &&
        dcli_reserve(&out->region, out->count, last - first, &out->capacity, sizeof *out->region) != 0) {
        dealing->walk->status = DCL_ERR_NOMEM;
        return;
    }
    for (int d = 0; d < rank; d++)
        by_weight[d] = dcli_divisor_of(layout->weight[d]);
    for (int64_t slot = first; slot < last; slot++) {
        dcli_piece_position(layout, by_weight, dcli_slot_piece(layout, dealing->node, slot), index);
        if (!dcli_element_emit(dealing->walk, index, slot))
            return;
    }
}

static void deal_hashed(struct dealing *dealing, int64_t first, int64_t last)
{
    if (dealing->walk != NULL && dealing->layout->slot == 1) {
        deal_hashed_elements(dealing, first, last);
        return;
    }
    for (int64_t slot = first; slot < last; slot++)
        if (!deal_piece(dealing, dcli_slot_piece(dealing->layout, dealing->node, slot)))
            return;
}

static void deal_listed(struct dealing *dealing, int64_t first, int64_t last)
{
    const dcli_owner_runs *owned = &dealing->layout->owned;
    dcli_numbering numbering = dcli_piece_numbering(dealing->layout);
    for (int64_t j = dcli_owned_run_at(dealing->layout, dealing->node, first); j < owned->from[dealing->node + 1];
         j++) {
        int64_t run = owned->of[j], slot = owned->slot[run], pieces = owned->first[run + 1] - owned->first[run];
        int64_t from = dcli_max(first - slot, 0), to = dcli_min(last - slot, pieces);
        if (to <= 0 ||
            !dcli_range_boxes(&numbering, owned->first[run] + from, owned->first[run] + to, deal_box, dealing))
            return;
    }
}

/* Emit hashed or listed pieces in slots first .. last - 1: go through the place's pieces (listed: runs of them) or, if
 * these are fewer, through all pieces in the walk's range. */
static void deal_by_lookup(struct dealing *dealing, int64_t first, int64_t last)
{
    const dcli_layout *layout = dealing->layout;
    bool hashed = layout->rule.deal == DCL_DEAL_HASH;
    int64_t own = hashed ? last - first : layout->owned.from[dealing->node + 1] - layout->owned.from[dealing->node];
    dcli_wide looked_at = 1;
    for (int d = 0; d < layout->grid.rank; d++)
        looked_at *= dealing->hi[d] - dealing->lo[d];
    if (looked_at < own)
        deal_looked_at(dealing, 0, 0, first, last);
    else if (hashed)
        deal_hashed(dealing, first, last);
    else
        deal_listed(dealing, first, last);
}

static bool is_lookup(const dcli_layout *layout)
{
    return layout->rule.deal == DCL_DEAL_HASH || layout->rule.deal == DCL_DEAL_TABLE;
}

/* Per axis, the range from the first to the last piece with elements of a box: positions lo_out .. hi_out - 1. */
static void touched_pieces(const dcli_layout *layout, const dcl_box *box, int64_t lo_out[], int64_t hi_out[])
{
    for (int d = 0; d < layout->grid.rank; d++) {
        lo_out[d] = box->start[d] / layout->rule.piece[d];
        hi_out[d] = (box->start[d] + (box->count[d] - 1) * box->stride[d]) / layout->rule.piece[d] + 1;
    }
}

void dcli_dealt_walk(dcli_walk *walk, int node, int64_t first, int64_t last)
{
    const dcli_layout *layout = walk->layout;
    int64_t lo[DCL_MAX_RANK], hi[DCL_MAX_RANK];
    struct dealing dealing;
    dealing.layout = layout;
    dealing.node = node;
    dealing.walk = walk;
    dealing.lo = lo;
    dealing.hi = hi;
    if (first >= last)
        return;
    touched_pieces(layout, &walk->query, lo, hi);
    if (is_lookup(layout)) {
        deal_by_lookup(&dealing, first, last);
        return;
    }
    if (layout->rule.deal == DCL_DEAL_CYCLIC && first == 0 && last == dcli_dealt_slots(layout, node)) {
        const int64_t none[DCL_MAX_RANK] = {0};
        deal_box(&dealing, none, layout->pieces);
        return;
    }
    dcli_numbering numbering = dcli_piece_numbering(layout);
    dcli_range_boxes(&numbering, dcli_slot_piece(layout, node, first), dcli_slot_piece(layout, node, last - 1) + 1,
                     deal_box, &dealing);
}

int64_t dcli_dealt_owned(const dcli_layout *layout, int node)
{
    bool cut = false;
    for (int d = 0; d < layout->grid.rank; d++)
        cut = cut || layout->grid.extent[d] % layout->rule.piece[d] != 0;
    int64_t slots = dcli_dealt_slots(layout, node);
    if (!cut || slots == 0)
        return slots * layout->slot;
    const int64_t none[DCL_MAX_RANK] = {0};
    struct dealing dealing = {.layout = layout, .node = node, .lo = none, .hi = layout->pieces};
    if (is_lookup(layout)) {
        deal_by_lookup(&dealing, 0, slots);
        return dealing.elements;
    }
    dcli_numbering numbering = dcli_piece_numbering(layout);
    dcli_range_boxes(&numbering, dcli_slot_piece(layout, node, 0), dcli_slot_piece(layout, node, slots - 1) + 1,
                     deal_box, &dealing);
    return dealing.elements;
}

/* List the owner of each piece that the query touches, axis by axis from axis d on. @param number  what the axes before
 * d add to the piece number. */
static dcl_status list_pieces(const dcli_layout *layout, const dcl_box *query, int d, int64_t number,
                              dcli_node_list *places)
{
    if (d == layout->grid.rank) {
        int64_t slot;
        int owner = dcli_piece_owner(layout, number, &slot);
        return owner >= 0 ? dcli_places_append(places, owner) : DCL_OK;
    }
    int64_t piece = layout->rule.piece[d], stride = query->stride[d];
    int64_t last = query->start[d] + (query->count[d] - 1) * stride;
    dcl_status status = DCL_OK;
    for (int64_t index = query->start[d]; index <= last && status == DCL_OK;) {
        int64_t p = index / piece;
        status = list_pieces(layout, query, d + 1, number + p * layout->weight[d], places);
        index += stride == 1 ? (p + 1) * piece - index : dcli_ceil_div((p + 1) * piece - index, stride) * stride;
    }
    return status;
}

dcl_status dcli_dealt_owners(const dcli_layout *layout, const dcl_box *query, dcli_node_list *places_out)
{
    /* Finding the owners of this many pieces takes about as long as walking over one place's pieces. */
    enum { WORTH = 8 };
    int64_t lo[DCL_MAX_RANK], hi[DCL_MAX_RANK];
    dcli_wide touched = 1;
    dcl_status status = DCL_OK;
    touched_pieces(layout, query, lo, hi);
    for (int d = 0; d < layout->grid.rank; d++)
        touched *= dcli_min(hi[d] - lo[d], query->count[d]);
    if (touched <= (dcli_wide)WORTH * layout->node_count)
        return list_pieces(layout, query, 0, 0, places_out);
    for (int place = 0; place < layout->node_count && status == DCL_OK; place++) {
        dcli_walk walk = {.layout = layout, .query = *query};
        dcli_dealt_walk(&walk, place, 0, dcli_dealt_slots(layout, place));
        if (walk.found)
            status = dcli_places_append(places_out, place);
    }
    return status;
}
