/* resmap/halo.c - the halo of a map: the elements near a node's own of which it retains replicas. Also periodic axes.
 * Owners and offsets of elements depend on neither. */
#include <inttypes.h>
#include <string.h>

#include "base/check.h"
#include "base/error.h"
#include "resmap/parts.h"
#include "segment/declared.h"
#include "segment/wide.h"

/* ---- a rule's halo ------------------------------------------------------------------------------------------------ */

/* Turn a halo given as one width for all axes into widths per axis. */
static void spread(dcli_map_rule *rule, int rank)
{
    for (int d = 1; rule->halo_rank == 1 && d < rank; d++) {
        rule->halo_low[d] = rule->halo_low[0];
        rule->halo_high[d] = rule->halo_high[0];
    }
    if (rule->halo_rank == 1)
        rule->halo_rank = rank;
    if (rule->periodic == DCLI_ALL_PERIODIC)
        rule->periodic = (1U << rank) - 1;
}

void dcli_halo_settle(dcli_map_rule *rule)
{
    bool any = rule->periodic != 0;
    for (int d = 0; d < rule->halo_rank; d++)
        any = any || rule->halo_low[d] != 0 || rule->halo_high[d] != 0; /* checked later */
    if (!any)
        rule->halo_rank = 0;
    else if (rule->rank > 0)
        spread(rule, rule->rank);
    else if (rule->halo_rank > 1) /* a halo of several widths makes a rule for all ranks one for grids of this rank */
        spread(rule, rule->halo_rank);
}

static bool has_width(const dcli_map_rule *rule, int d)
{
    int at = rule->halo_rank == 1 ? 0 : d;
    return at < rule->halo_rank && (rule->halo_low[at] > 0 || rule->halo_high[at] > 0);
}

static dcl_status check_periodic(const dcli_map_rule *rule)
{
    int rank = rule->rank > 0 ? rule->rank : rule->halo_rank > 1 ? rule->halo_rank : DCL_MAX_RANK;
    for (int d = 0; d < DCL_MAX_RANK; d++) {
        if ((rule->periodic >> d & 1) == 0 || (d >= rank && rule->periodic == DCLI_ALL_PERIODIC))
            continue;
        if (d >= rank)
            return DCLI_FAIL(DCL_ERR_INVALID, "axis %d is periodic and the map is for %d axes; expected 0..%d", d, rank,
                             rank - 1);
        if (!has_width(rule, d))
            return DCLI_FAIL(DCL_ERR_INVALID,
                             "axis %d is periodic and has no halo; expected a width of at least 1, for what is read "
                             "beyond the edge lies in the halo; give one, as in ;halo=1",
                             d);
    }
    return DCL_OK;
}

dcl_status dcli_halo_check(const dcli_map_rule *rule)
{
    int rank = rule->halo_rank;
    if (rank < 0 || rank > DCL_MAX_RANK || (rank > 1 && rule->rank > 0 && rank != rule->rank))
        return DCLI_FAIL(
            DCL_ERR_INVALID,
            "the halo has %d widths and the map is for %d axes; expected one for each axis, or one for all", rank,
            rule->rank);
    for (int d = 0; d < rank; d++) {
        bool low = rule->halo_low[d] < 0 || rule->halo_low[d] > DCLI_MOST_WIDTH;
        if (low || rule->halo_high[d] < 0 || rule->halo_high[d] > DCLI_MOST_WIDTH)
            return DCLI_FAIL(
                DCL_ERR_INVALID, "the halo has width %" PRId64 " %s axis %d; expected 0..%" PRId64 " elements",
                low ? rule->halo_low[d] : rule->halo_high[d], low ? "before" : "behind", d, DCLI_MOST_WIDTH);
    }
    if (rank > 0 && rule->copies > 0)
        return DCLI_FAIL(DCL_ERR_INVALID,
                         "a replicated map is to have a halo; expected one or the other: its nodes keep all "
                         "that they read anyway");
    if (rank > 0 && rule->every_rank > 0)
        return DCLI_FAIL(
            DCL_ERR_INVALID,
            "a map that stores every so many-th element only (;every=) is to have a halo; expected one or the "
            "other: use dcl_keep() for arrays of strided maps");
    return check_periodic(rule);
}

bool dcli_halo_equal(const dcli_map_rule *a, const dcli_map_rule *b)
{
    size_t bytes = (size_t)a->halo_rank * sizeof a->halo_low[0];
    return a->halo_rank == b->halo_rank && a->periodic == b->periodic && memcmp(a->halo_low, b->halo_low, bytes) == 0 &&
           memcmp(a->halo_high, b->halo_high, bytes) == 0;
}

static dcl_status bind_axis(const dcli_map_rule *rule, const dcl_grid *grid, int d)
{
    int64_t width = dcli_max(rule->halo_low[d], rule->halo_high[d]), first, end;
    if (width > grid->extent[d])
        return DCLI_FAIL(DCL_ERR_INVALID,
                         "the halo has width %" PRId64 " along axis %d, which is periodic and has extent %" PRId64
                         "; expected at most the extent; use a narrower halo",
                         width, d, grid->extent[d]);
    if (!dcli_add(grid->origin[d], -width, &first) || !dcli_add(grid->origin[d] + grid->extent[d], width, &end))
        return DCLI_FAIL(DCL_ERR_INVALID,
                         "axis %d is periodic and begins at %" PRId64
                         ": what lies beyond its edges has no index in 64 bits; use another origin",
                         d, grid->origin[d]);
    return DCL_OK;
}

dcl_status dcli_halo_bind(dcli_map_rule *rule, const dcl_grid *grid)
{
    if (rule->halo_rank == 0)
        return DCL_OK;
    if (rule->halo_rank != 1 && rule->halo_rank != grid->rank)
        return DCLI_FAIL(DCL_ERR_INVALID,
                         "the map's halo has %d widths; the grid has rank %d; give one width for each axis, or one for "
                         "all",
                         rule->halo_rank, grid->rank);
    spread(rule, grid->rank);
    for (int d = grid->rank; d < DCL_MAX_RANK; d++)
        if ((rule->periodic >> d & 1) != 0)
            return DCLI_FAIL(DCL_ERR_INVALID,
                             "axis %d is periodic and the grid has rank %d; expected axes 0..%d; leave it out of "
                             ";periodic=",
                             d, grid->rank, grid->rank - 1);
    dcl_status status = DCL_OK;
    for (int d = 0; d < grid->rank && status == DCL_OK && dcl_grid_count(grid) > 0; d++)
        if ((rule->periodic >> d & 1) != 0)
            status = bind_axis(rule, grid, d);
    return status;
}

dcl_map *dcl_map_halo(const dcl_map *map, int rank, const int64_t low[], const int64_t high[], const bool periodic[])
{
    dcli_error_enter_constructor(__func__);
    if (map == NULL)
        return NULL;
    dcl_status status = dcli_map_check_rank(rank);
    if (status == DCL_OK && low == NULL)
        status = DCLI_FAIL(DCL_ERR_INVALID, "low is NULL; expected %d width%s of a halo", rank, rank == 1 ? "" : "s");
    dcli_map_rule rule = map->rule;
    rule.halo_rank = status == DCL_OK ? rank : 0;
    rule.periodic = 0;
    for (int d = 0; d < rule.halo_rank; d++) {
        rule.halo_low[d] = low[d];
        rule.halo_high[d] = high != NULL ? high[d] : low[d];
        if (periodic != NULL && periodic[d])
            rule.periodic |= rank == 1 ? DCLI_ALL_PERIODIC : 1U << d;
    }
    dcli_halo_settle(&rule);
    return status == DCL_OK ? dcli_map_new(map->cluster, &rule) : NULL;
}

/* ---- the halo of a node ------------------------------------------------------------------------------------------- */

/* Find the smallest box that contains every element whose halo can reach `box`. @return false: the grid has no such
 * element. */
static bool around(const dcli_layout *layout, const dcl_box *box, dcl_box *query_out)
{
    dcl_box query = dcl_box_of(&layout->grid);
    for (int d = 0; d < box->rank; d++) {
        dcli_wide first = query.start[d], last = first + query.count[d] - 1;
        first = dcli_wide_max(first, (dcli_wide)box->start[d] - layout->rule.halo_high[d]);
        last =
            dcli_wide_min(last, dcli_run_last(box->start[d], box->count[d], box->stride[d]) + layout->rule.halo_low[d]);
        if (first > last)
            return false;
        query.start[d] = (int64_t)first;
        query.count[d] = (int64_t)(last - first + 1);
    }
    *query_out = query;
    return true;
}

/* Whether, along axis d, every index of `box` lies within `low` before or `high` after an index of `own`. */
static bool is_within(const dcl_box *box, const dcl_box *own, int d, int64_t low, int64_t high)
{
    dcli_wide first = (dcli_wide)box->start[d] - own->start[d]; /* relative to the first index of `own` */
    int64_t apart = own->stride[d], step = box->stride[d];
    if (apart <= low + high + 1)
        return first >= -low &&
               first + (dcli_wide)(box->count[d] - 1) * step <= (dcli_wide)(own->count[d] - 1) * apart + high;
    dcli_wide at = dcli_wide_floor_div(first + low, apart); /* number of the own index whose halo has `first` */
    bool with = first + low - at * apart <= low + high && (box->count[d] == 1 || step % apart == 0);
    return with && at >= 0 && at + (dcli_wide)(box->count[d] - 1) * (step / apart) < own->count[d];
}

static bool in_halo_of(const dcli_layout *layout, const dcl_box *box, const dcl_box *own)
{
    for (int d = 0; d < box->rank; d++)
        if (!is_within(box, own, d, layout->rule.halo_low[d], layout->rule.halo_high[d]))
            return false;
    return true;
}

/* Limits the cost: a footprint that intersects more boxes of a part counts as outside of the halo. */
enum { MOST_BOXES = 64 };

/* Whether there are gaps between the halos of a box's elements along an axis. */
static bool has_gaps(const dcli_layout *layout, const dcl_box *own, int d)
{
    return own->stride[d] > layout->rule.halo_low[d] + layout->rule.halo_high[d] + 1;
}

/* Get box number `number` of the halo of `own`, a box of the node's elements. Along an axis without gaps the halo is
 * one run; along an axis with gaps it is one strided box per offset within the widths. @return false: there are no more
 * boxes. */
static bool next_halo(const dcli_layout *layout, const dcl_box *own, int64_t number, dcl_box *out)
{
    *out = *own;
    for (int d = own->rank - 1; d >= 0; d--) {
        int64_t low = layout->rule.halo_low[d], places = low + layout->rule.halo_high[d] + 1;
        dcli_wide first = (dcli_wide)own->start[d] - low;
        if (has_gaps(layout, own, d)) {
            out->start[d] = dcli_wide_clip(first + number % places);
            number /= places;
            continue;
        }
        dcli_wide end = dcli_run_last(own->start[d], own->count[d], own->stride[d]) + places - low;
        out->start[d] = dcli_wide_clip(first);
        out->count[d] = dcli_wide_clip(end - out->start[d]);
        out->stride[d] = 1;
    }
    return number == 0;
}

static dcl_status take_out(const dcl_box *box, dcli_box_list *list)
{
    dcli_box_list left = {0};
    dcl_status status = DCL_OK;
    for (int64_t b = 0; b < list->count && status == DCL_OK; b++)
        status = dcli_box_subtract(&list->box[b], box, &left);
    dcli_box_list_free(list);
    *list = left;
    return status;
}

static dcl_status take_halo(const dcli_layout *layout, const dcl_box *own, dcli_box_list *list)
{
    dcl_box halo;
    dcl_status status = DCL_OK;
    for (int64_t n = 0; n < MOST_BOXES && list->count > 0 && status == DCL_OK && next_halo(layout, own, n, &halo); n++)
        status = take_out(&halo, list);
    return status;
}

dcl_status dcli_layout_near(const dcli_layout *layout, int node, const dcl_box *box, dcli_region_list *scratch,
                            bool *near_out)
{
    dcl_box query;
    dcli_box_list left = {0};
    scratch->count = 0;
    *near_out = false;
    if (layout->rule.halo_rank == 0 || dcli_layout_place(layout, node) < 0 || !around(layout, box, &query))
        return DCL_OK;
    dcl_status status = dcli_layout_regions(layout, node, &query, scratch);
    for (int64_t r = 0; r < scratch->count && !*near_out; r++)
        *near_out = in_halo_of(layout, box, &scratch->region[r].box);
    if (status != DCL_OK || *near_out || scratch->count == 0 || scratch->count > MOST_BOXES)
        return status;
    status = dcli_box_list_add(&left, box);
    for (int64_t r = 0; r < scratch->count && left.count > 0 && status == DCL_OK; r++)
        status = take_halo(layout, &scratch->region[r].box, &left);
    *near_out = status == DCL_OK && left.count == 0;
    dcli_box_list_free(&left);
    return status;
}
