/* net/facts.h - keys of the facts of an ANSWER about a program. */
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

#endif
