/* segment/preimage.h - the loop indices that may read some given elements: the inverse of a footprint. Pure
 * functions. */
#ifndef DCLI_SEGMENT_PREIMAGE_H
#define DCLI_SEGMENT_PREIMAGE_H

#include "segment/footprint.h"

/** Find the loop indices whose footprints may meet `part`: append boxes, so that every box of indices whose footprint
 *  meets `part` has an index in one of them. In particular, no index outside of them reads an element of `part`. For
 *  exact subscripts without inner axes there is at most one box, and every box of indices that meets it has such a
 *  footprint. Otherwise the boxes may be larger than needed: a subscript that uses several indices does not narrow the
 *  box; if an index is used on several axes, only the first of them narrows it; with inner axes, strides of `part` are
 *  ignored. DCLI_REACH_ALL reads everything, and so do portions if there are many, or some have indices in common.
 *  @param space  all indices of the operation.
 *  @param part   elements of the array, with indices as in the subscripts; on a periodic axis possibly beyond the grid.
 *  @param gaps   [space->rank] whether boxes of indices that are computed together may have a stride along an axis:
 *                then the footprints of declared halos and of inner axes cover the elements in between, and do not
 *                narrow the box along this axis.
 *  @return DCL_OK or DCL_ERR_NOMEM. */
dcl_status dcli_preimage(const dcli_subscripts *subscripts, const dcl_box *space, const dcl_box *part,
                         const bool gaps[], dcli_box_list *out);

#endif
