/* lower/routes.c - find the transfers that fill a batch's stages and empty them. Stages of small boxes are adjacent in
 * memory, and often their sources are, too; joined, they are copied in a few long loops. */
#include "lower/routes.h"

#include "base/alloc.h"
#include "base/check.h"

/* How transfers between two spaces are carried out on a device. */
static dcli_via via_between(const dcli_traits *traits, dcli_space to, dcli_space from)
{
    if (to.kind == DCLI_SPACE_CHUNK || from.kind == DCLI_SPACE_CHUNK)
        return DCLI_VIA_WIRE;
    return traits->in_place || (from.kind == DCLI_SPACE_PEER && !traits->reads_peers) ? DCLI_VIA_HOST : DCLI_VIA_KERNEL;
}

/* ---- routes ------------------------------------------------------------------------------------------------------- */

/* Axes of transfers in addition to those of the array: with joining, pieces at equal distances become one more axis. A
 * device with memory of its own has more, for blocks of such pieces, because each launch costs time. */
enum { SPARE_AXES = 2, SPARE_AXES_SEPARATE = 4 };

static int rank_for(const dcli_traits *traits, const dcli_operation *operation, int operand)
{
    int spare = traits->in_place ? SPARE_AXES : SPARE_AXES_SEPARATE;
    return (int)dcli_min(operation->operand[operand].layout->grid.rank + spare, DCL_MAX_RANK);
}

static bool is_same(dcli_space a, dcli_space b) { return a.kind == b.kind && a.number == b.number; }

dcli_route *dcli_routes_find(dcli_routes *routes, const dcli_traits *traits, const dcli_operation *operation,
                             const dcli_route *like)
{
    for (int64_t r = routes->count - 1; r >= 0; r--) {
        dcli_route *route = &routes->route[r];
        if (route->operand == like->operand && is_same(route->to, like->to) && is_same(route->from, like->from))
            return route;
    }
    if (dcli_grow(&routes->route, routes->count, &routes->capacity, sizeof *routes->route) != 0)
        return NULL;
    dcli_route *route = &routes->route[routes->count++];
    *route = (dcli_route){.via = via_between(traits, like->to, like->from),
                          .operand = like->operand,
                          .to = like->to,
                          .from = like->from,
                          .transfers.rank = rank_for(traits, operation, like->operand),
                          .low = INT64_MAX};
    return route;
}

dcl_status dcli_route_add(dcli_route *route, const dcli_region *to, const dcli_region *from)
{
    dcli_transfer transfer = dcli_transfer_between(to, from);
    if (dcli_transfers_add(&route->transfers, &transfer) != DCL_OK)
        return DCL_ERR_NOMEM;
    int64_t low, end;
    const dcli_side *chunk = route->to.kind == DCLI_SPACE_CHUNK ? &transfer.to : &transfer.from;
    dcli_side_reach(transfer.rank, transfer.count, chunk, &low, &end);
    route->low = dcli_min(route->low, low);
    route->end = dcli_max(route->end, end);
    route->elements += dcli_box_elements(&to->box);
    return DCL_OK;
}

static bool is_packed(dcli_space space) { return space.kind == DCLI_SPACE_STAGE || space.kind == DCLI_SPACE_REPLICA; }

/* Whether transfers of a route are joined by the order of their `from` side. That side must contain no element twice:
 * it is a stage or replica, or if neither side is one, a chunk. */
static bool leads_from(const dcli_route *route)
{
    return !is_packed(route->to) && (is_packed(route->from) || route->from.kind == DCLI_SPACE_CHUNK);
}

dcl_status dcli_routes_join(dcli_routes *routes, const dcli_traits *traits)
{
    dcl_status status = DCL_OK;
    for (int64_t r = 0; r < routes->count && status == DCL_OK; r++)
        status = dcli_transfers_join(&routes->route[r].transfers,
                                     (traits->in_place ? 0 : DCLI_JOIN_PAIRS) |
                                         (leads_from(&routes->route[r]) ? DCLI_JOIN_BY_FROM : 0));
    return status;
}

void dcli_routes_free(dcli_routes *routes)
{
    for (int64_t r = 0; r < routes->count; r++)
        dcli_transfers_free(&routes->route[r].transfers);
    dcli_free(routes->route);
    *routes = (dcli_routes){0};
}

int64_t dcli_routes_bytes(const dcli_routes *routes)
{
    int64_t bytes = routes->capacity * (int64_t)sizeof *routes->route;
    for (int64_t r = 0; r < routes->count; r++)
        bytes += dcli_transfers_bytes(&routes->route[r].transfers);
    return bytes;
}

/* ---- of a batch --------------------------------------------------------------------------------------------------- */

dcli_region dcli_stage_region(const dcli_operation *operation, const dcli_stage *stage, int64_t at, const dcl_box *box)
{
    int64_t bytes = (int64_t)dcli_element_bytes(operation, stage->operand);
    dcli_region whole = dcli_region_padded(&stage->box, at / bytes, bytes), part;
    dcli_region_cut(&whole, box, &part);
    return part;
}

/* The region of a piece in the memory that it comes from, or goes to. */
static dcli_region region_of(const dcli_operation *operation, const dcli_stage *stage, const dcli_piece *piece)
{
    dcli_region region = piece->region;
    if (piece->kind == DCLI_SPACE_CHUNK) /* the division is exact, because items of a chunk are aligned to 8 bytes */
        region.offset += piece->byte_offset / (int64_t)dcli_element_bytes(operation, stage->operand);
    return region;
}

static dcl_status add_piece(const dcli_operation *operation, const dcli_traits *traits, const dcli_stage *stage,
                            dcli_space space, int64_t at, const dcli_piece *piece, bool out, dcli_routes *routes)
{
    dcli_space other = {piece->kind, piece->kind == DCLI_SPACE_OWN ? 0 : piece->where};
    dcli_route *route = dcli_routes_find(
        routes, traits, operation,
        &(dcli_route){.operand = stage->operand, .to = out ? other : space, .from = out ? space : other});
    if (route == NULL)
        return DCL_ERR_NOMEM;
    dcli_region packed = dcli_stage_region(operation, stage, at, &piece->region.box);
    dcli_region elsewhere = region_of(operation, stage, piece);
    return out ? dcli_route_add(route, &elsewhere, &packed) : dcli_route_add(route, &packed, &elsewhere);
}

dcl_status dcli_routes_of_batch(const dcli_operation *operation, const dcli_plan *plan, const dcli_batch *batch,
                                const dcli_traits *traits, const int64_t stage_at[], dcli_routes *routes)
{
    dcl_status status = DCL_OK;
    for (int64_t s = batch->first_stage; s < batch->first_stage + batch->stage_count; s++) {
        const dcli_stage *stage = &plan->stage[s];
        dcli_space space = {DCLI_SPACE_STAGE, 0};
        int64_t at = stage_at != NULL ? stage_at[s - batch->first_stage] : 0;
        if (stage->kind == DCLI_STAGE_AROUND)
            space = (dcli_space){DCLI_SPACE_OWN, 0};
        else if (stage->kind != DCLI_STAGE_TEMPORARY)
            space = (dcli_space){DCLI_SPACE_REPLICA, (int)s};
        if (at < 0)
            continue; /* its elements are gathered by the work-items that use them */
        for (int64_t p = stage->first_in; p < stage->first_in + stage->in_count && status == DCL_OK; p++)
            status = add_piece(operation, traits, stage, space, at, &plan->piece[p], false, routes);
        for (int64_t p = stage->first_out; p < stage->first_out + stage->out_count && status == DCL_OK; p++)
            status = add_piece(operation, traits, stage, space, at, &plan->piece[p], true, routes);
    }
    /* the routes of a move are used once: if the host copies, joining takes more time than it saves */
    bool once = operation->kind == DCLI_OP_MOVE && traits->in_place;
    return status == DCL_OK && !once ? dcli_routes_join(routes, traits) : status;
}

dcl_status dcli_routes_of_chunk(const dcli_operation *operation, const dcli_plan *plan, const dcli_chunk *chunk,
                                const dcli_traits *traits, dcli_routes *routes)
{
    const dcli_space own = {DCLI_SPACE_OWN, 0}, there = {DCLI_SPACE_CHUNK, (int)(chunk - plan->chunk)};
    dcl_status status = DCL_OK;
    for (int64_t i = chunk->first_item; i < chunk->first_item + chunk->item_count && status == DCL_OK; i++) {
        const dcli_item found = dcli_plan_item(plan, i), *item = &found;
        /* the division is exact, because items of a chunk are aligned to 8 bytes */
        int64_t at = item->byte_offset / (int64_t)dcli_element_bytes(operation, item->operand);
        dcli_region packed = dcli_region_packed(&item->region.box, at);
        dcli_route *route = dcli_routes_find(routes, traits, operation,
                                             &(dcli_route){.operand = item->operand,
                                                           .to = chunk->written ? own : there,
                                                           .from = chunk->written ? there : own});
        if (route == NULL)
            status = DCL_ERR_NOMEM;
        else
            status = chunk->written ? dcli_route_add(route, &item->region, &packed)
                                    : dcli_route_add(route, &packed, &item->region);
    }
    return status == DCL_OK ? dcli_routes_join(routes, traits) : status;
}
