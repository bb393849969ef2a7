/* lower/routes.h - routes: the transfers between two memories, and how they are carried out. */
#ifndef DCLI_LOWER_ROUTES_H
#define DCLI_LOWER_ROUTES_H

#include "lower/lower.h"

/** Find the route of an operand between two spaces, or add it. @param like  only its operand, to and from are used.
 *  @return NULL: DCL_ERR_NOMEM. */
dcli_route *dcli_routes_find(dcli_routes *routes, const dcli_traits *traits, const dcli_operation *operation,
                             const dcli_route *like);
/** Add the transfer of a box to a route, given by its regions in both spaces. @return DCL_OK or DCL_ERR_NOMEM. */
dcl_status dcli_route_add(dcli_route *route, const dcli_region *to, const dcli_region *from);
/** Join the transfers of each route into fewer ones of the same elements. On a device with memory of its own each
 *  transfer costs a launch, so there even pairs of transfers are joined. @return DCL_OK or DCL_ERR_NOMEM. */
dcl_status dcli_routes_join(dcli_routes *routes, const dcli_traits *traits);
void dcli_routes_free(dcli_routes *routes);
/** Bytes of host memory that the routes take. */
int64_t dcli_routes_bytes(const dcli_routes *routes);

/** The region, in the arena, of a box of a stage. @param at  offset of the stage in the arena, bytes. */
dcli_region dcli_stage_region(const dcli_operation *operation, const dcli_stage *stage, int64_t at, const dcl_box *box);

/** Find the routes by which a batch's stages are filled and emptied, and its new replicas are filled. @return DCL_OK or
 *  DCL_ERR_NOMEM.
 *  @param stage_at  [batch->stage_count] offsets of the stages in the arena, bytes; -1: its elements are gathered
 *                   instead. NULL: all stages are replicas. */
dcl_status dcli_routes_of_batch(const dcli_operation *operation, const dcli_plan *plan, const dcli_batch *batch,
                                const dcli_traits *traits, const int64_t stage_at[], dcli_routes *routes);
/** Find the routes between this node's parts and a chunk. @return DCL_OK or DCL_ERR_NOMEM. */
dcl_status dcli_routes_of_chunk(const dcli_operation *operation, const dcli_plan *plan, const dcli_chunk *chunk,
                                const dcli_traits *traits, dcli_routes *routes);

#endif
