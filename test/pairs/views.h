/* pairs/views.h - the same operations on views of arrays. */
#ifndef TEST_PAIRS_VIEWS_H
#define TEST_PAIRS_VIEWS_H

#include "pairs/bodies.h"

/** Read, write, fill, copy, save, load and compute with views of A (backwards), B and E (axes as A has them): C = their sum,
 *  and E's view = the sum. @param path  of a file that may be written. @return whether all was right */
bool test_views(test_pair *pair, const char *path);

#endif
