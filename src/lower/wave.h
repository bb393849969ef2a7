/* lower/wave.h - the order in which processors with caches run several operations: a *wave*.
 *
 * Operations that run one after the other over large arrays read all of their operands from memory again and again. Here each
 * operation is cut along its outermost axis into lines, and the lines of several operations are run in an order that uses an
 * element again while it is in the cache: band after band through the arrays, and in each band all operations, each some lines
 * behind the one before it, so that it finds its operands complete and overwrites nothing that is still to be read ("time
 * skewing", Wonnacott, IPDPS 2000). For several processors, the lines are divided into regions. A region's later operations
 * leave out, at its edges, what depends on other regions; in a second phase, after the first has ended, these lines are run
 * ("split tiling", Krishnamoorthy et al., PLDI 2007).
 *
 * Dependences are found from addresses alone: two lines of different operations conflict if one writes bytes that the
 * other reads or writes. All conflicting lines are run in the order of their operations. */
#ifndef DCLI_LOWER_WAVE_H
#define DCLI_LOWER_WAVE_H

#include <stdbool.h>
#include <stdint.h>

/** What line x of an operation accesses: bytes begin + x * pitch up to begin + x * pitch + length. */
typedef struct dcli_wave_access {
    int64_t begin, pitch, length;
    bool written;
} dcli_wave_access;

typedef struct dcli_wave_op {
    int64_t lines; /* at least 1 */
    int64_t
        place; /* line x has the *position* place + x. Lines that conflict should have similar positions, for then more
                      operations can be in a wave; all places are right */
    const dcli_wave_access *access; /* [access_count]; borrowed. Lines of one operation do not conflict */
    int access_count;
} dcli_wave_op;

/** Lines [first, first + count) of an operation. */
typedef struct dcli_wave_part {
    int op;
    int64_t first, count;
} dcli_wave_part;

/** Parts in lists. The lists of a phase may run in parallel, the parts of a list run in their order. */
typedef struct dcli_wave {
    dcli_wave_part *part; /* [list[lists[0] + lists[1]]] */
    int64_t part_count, part_capacity;
    int64_t *list; /* list l has the parts from list[l] to list[l + 1] */
    int64_t list_count, list_capacity;
    int lists[2]; /* how many lists the phases have; the second one may have none */
} dcli_wave;

/** Arrange as many operations as one wave can have, from the first on.
 *  @param op           [count], count at least 1.
 *  @param units        processors, each with a cache of its own.
 *  @param cache_bytes  how much of such a cache may be used.
 *  @param wave         zeroed, or used before; dcli_wave_free().
 *  @return how many operations are in the wave: at least 1; -1: no memory. One alone is divided among the units only. */
int dcli_wave_arrange(int count, const dcli_wave_op op[], int units, int64_t cache_bytes, dcli_wave *wave);
void dcli_wave_free(dcli_wave *wave);

#endif
