/* lower/routes.h - what is copied between memory of a node and other spaces, and how. */
#ifndef DCLI_LOWER_ROUTES_H
#define DCLI_LOWER_ROUTES_H

#include "lower/lower.h"

/** How transfers between two spaces are carried out on a device. */
dcli_via dcli_via_between(const dcli_traits *traits, dcli_space to, dcli_space from);

/** The route of an operand between two spaces; a new one when there is none. NULL: DCL_ERR_NOMEM.
 *  @param like  operand, to and from count. */
dcli_route *dcli_routes_find(dcli_routes *routes, const dcli_traits *traits, const dcli_operation *operation,
                             const dcli_route *like);
/** Add a box that lies so in both spaces. @return DCL_OK or DCL_ERR_NOMEM. */
dcl_status dcli_route_add(dcli_route *route, const dcli_region *to, const dcli_region *from);
/** Fewer transfers of the same elements. Launches cost more than uneven ones: on devices with memory of their own two make an
 *  axis, too. @return DCL_OK or DCL_ERR_NOMEM. */
dcl_status dcli_routes_join(dcli_routes *routes, const dcli_traits *traits);
void dcli_routes_free(dcli_routes *routes);
/** Memory that they take. */
int64_t dcli_routes_bytes(const dcli_routes *routes);

/** Where a box of a stage, which begins at so many bytes, lies in the arena. */
dcli_region dcli_stage_region(const dcli_operation *operation, const dcli_stage *stage, int64_t at, const dcl_box *box);

/** Find what fills and empties the stages of a batch, and the replicas behind them. @return DCL_OK or DCL_ERR_NOMEM.
 *  @param stage_at  [batch->stage_count] where stages lie in the arena, bytes; -1: they are not needed. NULL: all are
 *                   replicas. */
dcl_status dcli_routes_of_batch(const dcli_operation *operation, const dcli_plan *plan, const dcli_batch *batch,
                                const dcli_traits *traits, const int64_t stage_at[], dcli_routes *routes);
/** Find the transfers between the parts of a node and a chunk, joined. @return DCL_OK or DCL_ERR_NOMEM. */
dcl_status dcli_routes_of_chunk(const dcli_operation *operation, const dcli_plan *plan, const dcli_chunk *chunk,
                                const dcli_traits *traits, dcli_routes *routes);

#endif
