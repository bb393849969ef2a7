/* kernel/claim.h - which rows of a launch on a CPU a work-item runs.
 *
 * Drivers give work-items to threads in any order, so what a thread has in its caches may be used by another one in the
 * next launch. So work-items *claim* rows: the rows are divided into as many parts as there are threads, and each thread
 * first takes the rows of its own part, from the first on, then those that are left of the others, from the last on: if a
 * thread is late in each launch, the others take the same rows again. All threads may claim at the same time.
 *
 * Claims lie in host memory, DCLI_CLAIM_LONGS longs per part after those of the head: [0] of the head is the number of
 * parts; [0] of a part tells the thread that owns it (by the address of its stack), 0: none yet; [1] the last launch that
 * took rows of it (24 bits), how many others took, and how many the owner took (20 bits each). */
#ifndef DCLI_KERNEL_CLAIM_H
#define DCLI_KERNEL_CLAIM_H

enum {
    DCLI_CLAIM_LONGS = 16, /* parts lie two cache lines apart */
    DCLI_CLAIM_TURNS = (1 << 24) - 1,
    DCLI_CLAIM_ROWS = (1 << 20) - 1 /* most rows of a launch with claims */
};

#endif
