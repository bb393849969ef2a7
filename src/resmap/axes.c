/* resmap/axes.c - the per-axis family: each axis has its own rule, and a node stores one rectangular local array.
 * Source: HPF 2.0, DISTRIBUTE; block-cyclic distribution, ScaLAPACK Users' Guide (SIAM, 1997), chapter 4. */
#include "base/check.h"
#include "resmap/parts.h"

int64_t dcli_division_extent(const dcli_division *division, int64_t coordinate)
{
    if (division->runs > 0)
        return division->length[coordinate];
    if (coordinate >= division->used)
        return 0;
    if (division->more > 0)
        return division->run + (coordinate < division->more);
    return division->even + dcli_max(0, dcli_min(division->remainder - coordinate * division->run, division->run));
}

int64_t dcli_row_pitch(const dcli_layout *layout, int64_t row)
{
    return layout->grid.rank == 1 ? row : dcli_padded_row(row, layout->bytes, layout->line);
}

static int64_t run_start(const dcli_division *division, int64_t coordinate)
{
    return coordinate * division->run + dcli_min(coordinate, division->more);
}

int64_t dcli_division_index(const dcli_division *division, int64_t coordinate, int64_t local)
{
    if (division->runs > 0)
        return dcli_irregular_index(division, coordinate, local);
    if (division->more > 0)
        return run_start(division, coordinate) + local;
    return (local / division->run * division->used + coordinate) * division->run + local % division->run;
}

/* Find the coordinate of an index on an axis whose first `more` runs have run + 1 elements, and the others `run`.
 * Both cases are computed, because a branch would be mispredicted for random indices. `longer` assumes runs of run +
 * 1 elements: it is right for an index in a longer run, and not too large otherwise. `other` first drops one element
 * per longer run: it is right in the shorter runs, and not too large in the longer ones. So the maximum of both is
 * right. */
static int64_t divide_uneven(const dcli_division *division, int64_t index, int64_t *local_out)
{
    int64_t longer = dcli_divided(index, division->by_longer);
    int64_t other = dcli_divided(dcli_max(index - division->more, 0), division->by_run);
    int64_t coordinate = dcli_max(longer, other);
    *local_out = index - run_start(division, coordinate);
    return coordinate;
}

int64_t dcli_divide_index(const dcli_division *division, int64_t index, int64_t *local_out)
{
    if (division->runs > 0) {
        int64_t run = dcli_run_of(division, index);
        *local_out = division->place[run] + index - division->begin[run];
        return run < division->nodes ? run : run % division->nodes;
    }
    if (division->used == 1) {
        *local_out = index;
        return 0;
    }
    if (division->more > 0)
        return divide_uneven(division, index, local_out);
    int64_t number = dcli_divided(index, division->by_run);
    int64_t turn = division->even == 0 ? 0 : dcli_divided(number, division->by_used);
    *local_out = turn * division->run + index - number * division->run;
    return number - turn * division->used;
}

bool dcli_axes_local(const dcli_layout *layout, int node, int64_t coordinate_out[], int64_t extent_out[])
{
    int64_t rest = node;
    for (int d = layout->grid.rank - 1; d >= 0; d--) {
        const dcli_division *division = &layout->division[d];
        coordinate_out[d] = division->nodes == 1 ? 0 : rest % division->nodes;
        rest = division->nodes == 1 ? rest : rest / division->nodes;
        extent_out[d] = dcli_division_extent(division, coordinate_out[d]);
        if (extent_out[d] == 0)
            return false;
    }
    return rest == 0; /* nodes beyond the product of the axes' node counts own nothing */
}

void dcli_axes_locate(const dcli_layout *layout, const int64_t index[], int *node_out, int64_t *offset_out)
{
    int last = layout->grid.rank - 1;
    int64_t node = 0, offset = 0;
    for (int d = 0; d <= last; d++) {
        const dcli_division *division = &layout->division[d];
        int64_t local, coordinate = dcli_divide_index(division, index[d] - layout->grid.origin[d], &local);
        node = node * division->nodes + coordinate;
        if (d > 0) { /* row-major order within the local array: one step along axis d - 1 is the local extent of axis
                        d, or the row pitch */
            int64_t extent = dcli_division_extent(division, coordinate);
            offset *= d == last ? dcli_row_pitch(layout, extent) : extent;
        }
        offset += local;
    }
    *node_out = (int)node;
    *offset_out = offset + layout->lead;
}

int64_t dcli_axes_storage(const dcli_layout *layout, int node)
{
    int last = layout->grid.rank - 1;
    int64_t coordinate[DCL_MAX_RANK], extent[DCL_MAX_RANK];
    if (!dcli_axes_local(layout, node, coordinate, extent))
        return 0;
    int64_t elements = dcli_row_pitch(layout, extent[last]);
    for (int d = 0; d < last; d++)
        elements *= extent[d];
    return elements + 2 * layout->lead;
}

static dcli_lane make_lane(const dcli_division *division, int64_t extent, int64_t coordinate, int64_t within)
{
    dcli_lane lane = {.run = division->run, .first = coordinate, .count = 1, .step = division->used, .within = within};
    if (division->more > 0) {
        lane.base = run_start(division, coordinate);
        lane.run += coordinate < division->more;
        lane.first = 0;
        return lane;
    }
    int64_t runs = dcli_ceil_div(extent, division->run);
    lane.count = (runs - coordinate - 1) / division->used + 1;
    lane.between = lane.count > 1 ? lane.run * within : 0;
    return lane;
}

/* A walk over a node's part that emits its regions. A regular axis is one lane; an irregular axis is walked run by
 * run. */
struct part {
    dcli_walk *walk;
    int64_t coordinate[DCL_MAX_RANK], extent[DCL_MAX_RANK], within[DCL_MAX_RANK];
    dcli_lane lane[DCL_MAX_RANK];
};

static bool walk_axis(struct part *part, int d, int64_t offset)
{
    const dcli_layout *layout = part->walk->layout;
    while (d < layout->grid.rank && layout->division[d].runs == 0)
        d++;
    if (d == layout->grid.rank)
        return dcli_lanes_emit(part->walk, part->lane, offset, NULL);
    const dcli_division *division = &layout->division[d];
    const dcl_box *query = &part->walk->query;
    int64_t end = query->start[d] + (query->count[d] - 1) * query->stride[d];
    int64_t run = dcli_run_of(division, query->start[d]), last = dcli_run_of(division, end);
    run += dcli_mod(part->coordinate[d] - run, division->nodes);
    for (; run <= last; run += division->nodes) {
        int64_t length = division->begin[run + 1] - division->begin[run];
        if (length == 0)
            continue;
        part->lane[d] =
            (dcli_lane){.base = division->begin[run], .run = length, .count = 1, .step = 1, .within = part->within[d]};
        if (!walk_axis(part, d + 1, offset + division->place[run] * part->within[d]))
            return false;
    }
    return true;
}

/* Whether no part has more than one region, and a query without strides cuts it to one region. */
static bool has_plain_parts(const dcli_walk *walk)
{
    const dcli_layout *layout = walk->layout;
    bool plain = true;
    for (int d = 0; d < layout->grid.rank && plain; d++)
        plain = layout->division[d].runs == 0 && dcli_layout_is_dense(layout, d) && walk->query.stride[d] == 1;
    return plain;
}

/* Emit what the query has of a part of one region. A path of its own, because planning asks for it many times. */
static void emit_plain(struct part *part)
{
    const dcli_layout *layout = part->walk->layout;
    const dcl_box *query = &part->walk->query;
    dcli_region region = {.box = {.rank = query->rank}, .offset = layout->lead};
    for (int d = 0; d < query->rank; d++) {
        int64_t first = run_start(&layout->division[d], part->coordinate[d]);
        int64_t start = dcli_max(first, query->start[d]);
        int64_t end = dcli_min(first + part->extent[d], query->start[d] + query->count[d]);
        if (start >= end)
            return;
        region.box.start[d] = start;
        region.box.count[d] = end - start;
        region.box.stride[d] = 1;
        region.step[d] = part->within[d];
        region.offset += (start - first) * part->within[d];
    }
    dcli_region_emit(part->walk, &region);
}

void dcli_axes_walk(dcli_walk *walk, int node)
{
    const dcli_layout *layout = walk->layout;
    int last = layout->grid.rank - 1;
    struct part part;
    int64_t within = 1;
    part.walk = walk;
    if (!dcli_axes_local(layout, node, part.coordinate, part.extent))
        return;
    bool plain = has_plain_parts(walk);
    for (int d = last; d >= 0; d--) {
        part.within[d] = within;
        if (!plain && layout->division[d].runs == 0)
            part.lane[d] = make_lane(&layout->division[d], layout->grid.extent[d], part.coordinate[d], within);
        within *= d == last ? dcli_row_pitch(layout, part.extent[d]) : part.extent[d];
    }
    if (plain)
        emit_plain(&part);
    else
        walk_axis(&part, 0, 0);
}

/* Whether a coordinate owns one of the `count` indices start, start + stride, ..., all inside the grid. With cyclic
 * rules it owns those whose remainder modulo a round (a run of every coordinate) lies in its run; the first such index
 * is computed. */
static bool meets(const dcli_division *division, int64_t coordinate, int64_t start, int64_t count, int64_t stride)
{
    if (division->more > 0) {
        int64_t from = dcli_max(run_start(division, coordinate) - start, 0);
        int64_t to = run_start(division, coordinate) + division->run + (coordinate < division->more) - start;
        return dcli_ceil_div(from, stride) < count && dcli_ceil_div(from, stride) * stride < to;
    }
    int64_t round = division->run * division->used;
    int64_t from = dcli_mod(start - coordinate * division->run, round);
    int64_t first = dcli_first_below(from, stride % round, round, division->run - 1);
    return first >= 0 && first < count;
}

static dcl_status list_places(const dcli_layout *layout, const dcl_box *query, int d, int64_t place,
                              dcli_node_list *places);

/* On an irregular axis, list the places of every run that contains an index of the query. */
static dcl_status list_runs(const dcli_layout *layout, const dcl_box *query, int d, int64_t place,
                            dcli_node_list *places)
{
    const dcli_division *division = &layout->division[d];
    dcl_status status = DCL_OK;
    for (int64_t k = 0; k < query->count[d] && status == DCL_OK;) {
        int64_t index = query->start[d] + k * query->stride[d], run = dcli_run_of(division, index);
        status = list_places(layout, query, d + 1, place * division->nodes + run % division->nodes, places);
        k += dcli_ceil_div(division->begin[run + 1] - index, query->stride[d]);
    }
    return status;
}

/* List the places whose coordinates along axes d and later own an index of the query, in ascending order on regular
 * axes. @param place  what the coordinates of the axes before d give. */
static dcl_status list_places(const dcli_layout *layout, const dcl_box *query, int d, int64_t place,
                              dcli_node_list *places)
{
    if (d == layout->grid.rank)
        return dcli_places_append(places, (int)place);
    const dcli_division *division = &layout->division[d];
    if (division->runs > 0)
        return list_runs(layout, query, d, place, places);
    int64_t local, first = dcli_divide_index(division, query->start[d], &local);
    int64_t count = division->used;
    bool all = count == 1 || query->count[d] == 1; /* every coordinate that the loop below visits owns an index of
                                                      the query */
    if (query->count[d] == 1) {
        count = 1;
    } else if (count > 1 && query->stride[d] <= division->run) { /* the query has an index in every run between its
                                                                    first and its last */
        int64_t end = query->start[d] + (query->count[d] - 1) * query->stride[d];
        int64_t last = dcli_divide_index(division, end, &local);
        int64_t runs = division->more > 0 ? last - first : end / division->run - query->start[d] / division->run;
        count = dcli_min(count, runs + 1);
        all = true;
    }
    int64_t wrapped =
        dcli_max(0, first + count - division->used); /* coordinates 0 .. wrapped - 1 follow the last one */
    dcl_status status = DCL_OK;
    for (int64_t k = 0; k < count && status == DCL_OK; k++) {
        int64_t coordinate = k < wrapped ? k : first + k - wrapped;
        if (all || meets(division, coordinate, query->start[d], query->count[d], query->stride[d]))
            status = list_places(layout, query, d + 1, place * division->nodes + coordinate, places);
    }
    return status;
}

dcl_status dcli_axes_owners(const dcli_layout *layout, const dcl_box *query, dcli_node_list *places_out)
{
    return list_places(layout, query, 0, 0, places_out);
}
