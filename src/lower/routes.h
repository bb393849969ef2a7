/* lower/routes.h - routes: the transfers between two memories, and how the device carries them out. */
#ifndef DCLI_LOWER_ROUTES_H
#define DCLI_LOWER_ROUTES_H

#include "lower/lower.h"

/** Find or make the route of an operand between two spaces. NULL: DCL_ERR_NOMEM. @param like  its operand, to and from
 *  are used. */
dcli_route *dcli_routes_find(dcli_routes *routes, const dcli_traits *traits, const dcli_operation *operation,
                             const dcli_route *like);
/** Add the transfer of a box, given by its regions in both spaces. @return DCL_OK or DCL_ERR_NOMEM. */
dcl_status dcli_route_add(dcli_route *route, const dcli_region *to, const dcli_region *from);
/** Join transfers into fewer ones of the same elements. On devices with memory of their own a launch costs more than an
 *  uneven loop, so there even two transfers form an axis. @return DCL_OK or DCL_ERR_NOMEM. */
dcl_status dcli_routes_join(dcli_routes *routes, const dcli_traits *traits);
void dcli_routes_free(dcli_routes *routes);
/** Memory that they take. */
int64_t dcli_routes_bytes(const dcli_routes *routes);

/** The region of a box of a stage in the arena. @param at  offset of the stage, bytes. */
dcli_region dcli_stage_region(const dcli_operation *operation, const dcli_stage *stage, int64_t at, const dcl_box *box);

/** Find the transfers that fill and empty the stages of a batch, and the replicas behind them. @return DCL_OK or
 *  DCL_ERR_NOMEM.
 *  @param stage_at  [batch->stage_count] offsets of the stages in the arena, bytes; -1: not needed. NULL: all are
 *                   replicas. */
dcl_status dcli_routes_of_batch(const dcli_operation *operation, const dcli_plan *plan, const dcli_batch *batch,
                                const dcli_traits *traits, const int64_t stage_at[], dcli_routes *routes);
/** Find the joined transfers between the parts of a node and a chunk. @return DCL_OK or DCL_ERR_NOMEM. */
dcl_status dcli_routes_of_chunk(const dcli_operation *operation, const dcli_plan *plan, const dcli_chunk *chunk,
                                const dcli_traits *traits, dcli_routes *routes);

#endif
