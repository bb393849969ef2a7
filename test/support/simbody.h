/* test/support/simbody.h - random loop bodies over given arrays. */
#ifndef TEST_SUPPORT_SIMBODY_H
#define TEST_SUPPORT_SIMBODY_H

#include "support/simprogram.h"

/** Make a FORALL: text, body, operands, box. @return false if the result is invalid (an array read and written at
 *  different subscripts): try again. */
bool sim_body_make(test_random *random, int count, sim_array *const arrays[], sim_step *step);

/** A random box of a grid: often all of it, seldom empty. */
dcl_box sim_random_box(test_random *random, const dcl_grid *grid);

#endif
