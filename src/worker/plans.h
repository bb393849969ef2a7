/* worker/plans.h - the cache of plans. Used by the catalog. */
#ifndef DCLI_WORKER_PLANS_H
#define DCLI_WORKER_PLANS_H

#include "worker/catalog.h"

/** Whether this node has planned an operation of this shape before: then it was checked, too. */
bool dcli_plans_known(dcli_catalog *catalog, const dcli_entry *entry);
/** Give back what was prepared for a batch: as if it had never run. */
void dcli_prepared_clear(dcli_prepared *prepared);
/** Count memory that was prepared for a kept plan. */
void dcli_plans_add(dcli_catalog *catalog, dcli_kept_plan *kept, int64_t bytes);
/** Forget plans that no open operation uses, those that were used longest ago first, until all have at most `bytes`. */
void dcli_plans_trim(dcli_catalog *catalog, int64_t bytes);
/** Forget plans that name a layout, which is about to end; none of them is in use. */
void dcli_plans_forget(dcli_catalog *catalog, const dcli_layout *layout);
/** Forget plans of a body, which is about to end; none of them is in use. */
void dcli_plans_forget_body(dcli_catalog *catalog, const dcli_body *body);
/** Give back what plans hold on the device. */
void dcli_plans_release_device(dcli_catalog *catalog);
void dcli_plans_free(dcli_catalog *catalog);

#endif
