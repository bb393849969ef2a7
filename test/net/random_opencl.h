/* net/random_opencl.h - messages of sessions of the OpenCL driver: the part of random_message.h that is about them. */
#ifndef TEST_NET_RANDOM_OPENCL_H
#define TEST_NET_RANDOM_OPENCL_H

#include "net/random_message.h"

/** Fill a message of one of these kinds; nothing happens to others. */
void test_fill_opencl_message(test_random *random, dcli_message *message);
/** Whether two messages of one of these kinds say the same; true for others. */
bool test_same_opencl_contents(const dcli_message *a, const dcli_message *b, const char **different_out);

#endif
