/* fuzz/expected.h - what a peer waits for now: so that the fuzzer can send what is right. */
#ifndef TEST_FUZZ_EXPECTED_H
#define TEST_FUZZ_EXPECTED_H

#include "fuzz/input.h"
#include "workqueue/node.h"

/** A chunk that may come now, of the input's choice. @param node  NULL: none is there yet.
 *  @return false: there is none. */
bool fuzz_expected_chunk(const dcli_node *node, fuzz_input *input, int *from_out, dcli_msg_chunk *chunk_out,
                         size_t *bytes_out);
/** A grant that may come now. */
bool fuzz_expected_grant(const dcli_node *node, fuzz_input *input, int *from_out, dcli_msg_grant *grant_out);
/** A credit that may come now. */
bool fuzz_expected_credit(const dcli_node *node, fuzz_input *input, int *from_out, dcli_msg_credit *credit_out);

/** That one of `nodes` nodes has reported up to two times, or nobody has. It points into static memory. */
void fuzz_say_notices(int nodes, fuzz_input *input, dcli_msg_risen *risen);

#endif
