/* net/facts.h - keys of the facts of an ANSWER about a program, or about sub-devices. */
#ifndef DCLI_NET_FACTS_H
#define DCLI_NET_FACTS_H

#include <stdint.h>

enum {
    DCLI_FACT_LOG = 1,     /* text: the build's log */
    DCLI_FACT_KERNELS = 2, /* number of kernels */
    DCLI_MOST_FACT_KERNELS = 4096,
    /* Of a kernel or of an argument: */
    DCLI_FACT_NAME = 1,
    DCLI_FACT_TYPE = 2,     /* of a kernel: its attributes */
    DCLI_FACT_NUMBERS = 3,  /* the numbers below */
    DCLI_KERNEL_FACTS = 8,  /* arguments; largest group, three sizes of the declared group, preferred multiple, bytes of
                              local and of private memory */
    DCLI_ARGUMENT_FACTS = 5 /* 1: known; address, access and type qualifiers; bytes of a value, 0: unknown */
};
/* Keys of kernel k begin at (k + 1) * DCLI_FACT_KERNEL, those of its argument a at (a + 1) * DCLI_FACT_ARGUMENT more. */
#define DCLI_FACT_KERNEL (INT64_C(1) << 32)
#define DCLI_FACT_ARGUMENT (INT64_C(1) << 16)

enum {
    DCLI_FACT_SUB_DEVICES = 1,  /* number of sub-devices */
    DCLI_MOST_SUB_DEVICES = 256 /* that one command makes, or that a context has */
};
/* Properties of sub-device d in which it differs from the device: their keys are the cl_device_info more than (d + 1) times: */
#define DCLI_FACT_SUB_DEVICE (INT64_C(1) << 32)

#endif
