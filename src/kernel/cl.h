/* kernel/cl.h - OpenCL C that does not depend on the body: the files src/kernel/NAME.cl, embedded by the build. */
#ifndef DCLI_KERNEL_CL_H
#define DCLI_KERNEL_CL_H

extern const char dcli_cl_min[]; /* emitted before all other texts */
extern const char dcli_cl_report[];
extern const char dcli_cl_cpu[];   /* what programs for CPUs begin with */
extern const char dcli_cl_claim[]; /* emitted once, with DCL_PART_LONGS */
extern const char dcli_cl_names[]; /* emitted before the following texts, each of which is emitted once per element
                                      type, which it calls dcl_T */
extern const char dcli_cl_turn[], dcli_cl_store[];
extern const char dcli_cl_sum[];       /* emitted once, for all kinds of devices */
extern const char dcli_cl_sum_merge[]; /* after dcli_cl_sum, once */
extern const char dcli_cl_sum_cpu
    []; /* after dcli_cl_sum; for float and double; dcl_I is the unsigned integer type of the same size */
extern const char dcli_cl_sum_vector[]; /* as dcli_cl_sum_cpu, after it */
extern const char dcli_cl_sum_gpu[];    /* after dcli_cl_sum; for float and double */
extern const char dcli_cl_element[];    /* see there */
extern const char dcli_cl_group[];      /* emitted once per result, not per type */
extern const char dcli_cl_last[];  /* after dcli_cl_group and dcli_cl_fence; emitted once per result, not per type */
extern const char dcli_cl_fence[]; /* emitted once */
extern const char dcli_cl_sum_round[];   /* as dcli_cl_sum_cpu, after it */
extern const char dcli_cl_sum_one[];     /* after dcli_cl_sum */
extern const char dcli_cl_chain[];       /* for float and double, with DCL_WORDS; dcl_T stays defined */
extern const char dcli_cl_chain_gpu[];   /* as dcli_cl_chain */
extern const char dcli_cl_keyed_lock[];  /* after dcli_cl_sum_one and dcli_cl_fence, once */
extern const char dcli_cl_keyed_merge[]; /* after dcli_cl_keyed_lock and dcli_cl_sum_merge, once */
extern const char dcli_cl_keyed[],
    dcli_cl_keyed_sum[]; /* emitted once per result; the latter after dcli_cl_keyed_lock */
extern const char dcli_cl_keyed_gpu[], dcli_cl_keyed_sum_gpu[]; /* the same for GPUs */
extern const char dcli_cl_bound[];                              /* for the text of dcli_nest_narrow() */
extern const char dcli_cl_fold[];
extern const char dcli_cl_key[];    /* for float and double; dcl_I is the integer type of the same size */
extern const char dcli_cl_scan[];   /* see there */
extern const char dcli_cl_gather[]; /* emitted after dcli_cl_turn, whose functions it calls */

#endif
