/* pairs/copies.h - contents that go from one map to another. */
#ifndef TEST_PAIRS_COPIES_H
#define TEST_PAIRS_COPIES_H

#include "pairs/model.h"

/** Copy all elements between arrays of one grid. @return whether all was right */
bool test_copy(const test_model *from, test_model *to);

/** Lay an array out by the map of another one of the same grid; its contents stay.
 *  @param flags  as for dcl_remap_with(). @return whether all was right */
bool test_remap(test_model *model, const test_model *like, unsigned flags);

#endif
