/* device/copy.cl - strided copies and fills along 8 axes, which device/strided.c sorts and merges. Work-item dimension
 * x covers axis 7, y axis 6, and z all other axes combined. A work-item handles `each` units, 1 or 4, at equal distances
 * along x or y, so that the distances in memory are equal, too. If there are more units than that, it continues with
 * further ones.
 *
 * The four reads of a work-item are issued before its first write. All indices into `walk` are constant, because some
 * compilers copy a structure with variable indices into the private memory of each work-item. */
typedef struct {
    long target, source; /* offsets and steps in units */
    long count[8], target_step[8], source_step[8];
    long outer;                  /* product of counts 0 to 5 */
    long each, x_apart, y_apart; /* units of a work-item, and their distance along x and y: one is 0, or both */
} walk;

/* Split off the index of an outer axis. Axis 0 gets the rest, without a division. */
#define SPLIT(D)                                            \
    if (w.count[D] > 1) {                                   \
        const ulong next = rest / (ulong)w.count[D];        \
        const long i = (long)(rest - next * w.count[D]);    \
        t += i * w.target_step[D];                          \
        s += i * w.source_step[D];                          \
        rest = next;                                        \
    }

#define WALK(NAME, T, SOURCE, VALUE)                                                                                  \
    __kernel void NAME(__global T *target, SOURCE, walk w)                                                            \
    {                                                                                                                 \
        const long more_x = (w.each - 1) * w.x_apart, more_y = (w.each - 1) * w.y_apart;                              \
        const long wide = get_local_size(0) + more_x, high = get_local_size(1) + more_y;                              \
        const long t_apart = w.x_apart * w.target_step[7] + w.y_apart * w.target_step[6];                             \
        const long s_apart = w.x_apart * w.source_step[7] + w.y_apart * w.source_step[6];                             \
        const long x0 = get_group_id(0) * wide + get_local_id(0), y0 = get_group_id(1) * high + get_local_id(1);      \
        for (long z = get_global_id(2); z < w.outer; z += get_global_size(2)) {                                       \
            ulong rest = z;                                                                                           \
            long t = w.target, s = w.source;                                                                          \
            SPLIT(5) SPLIT(4) SPLIT(3) SPLIT(2) SPLIT(1)                                                              \
            t += (long)rest * w.target_step[0];                                                                       \
            s += (long)rest * w.source_step[0];                                                                       \
            for (long y = y0; y < w.count[6]; y += get_num_groups(1) * high)                                          \
                for (long x = x0; x < w.count[7]; x += get_num_groups(0) * wide) {                                    \
                    long at = t + y * w.target_step[6] + x * w.target_step[7];                                        \
                    long from = s + y * w.source_step[6] + x * w.source_step[7];                                      \
                    if (w.each == 4 && x + more_x < w.count[7] && y + more_y < w.count[6]) {                          \
                        const T a = (T)(VALUE(from)), b = (T)(VALUE(from + s_apart));                                 \
                        const T c = (T)(VALUE(from + 2 * s_apart)), d = (T)(VALUE(from + 3 * s_apart));               \
                        target[at] = a;                                                                               \
                        target[at + t_apart] = b;                                                                     \
                        target[at + 2 * t_apart] = c;                                                                 \
                        target[at + 3 * t_apart] = d;                                                                 \
                    } else {                                                                                          \
                        const long left_x = w.count[7] - x, left_y = w.count[6] - y;                                  \
                        for (long k = 0; k < w.each && k * w.x_apart < left_x && k * w.y_apart < left_y; k++)         \
                            target[at + k * t_apart] = (T)(VALUE(from + k * s_apart));                                \
                    }                                                                                                 \
                }                                                                                                     \
        }                                                                                                             \
    }

#define READ(AT) source[AT]
WALK(dcl_copy_1, uchar, __global const uchar *source, READ)
WALK(dcl_copy_2, ushort, __global const ushort *source, READ)
WALK(dcl_copy_4, uint, __global const uint *source, READ)
WALK(dcl_copy_8, ulong, __global const ulong *source, READ)
WALK(dcl_copy_16, ulong2, __global const ulong2 *source, READ)

#define ELEMENT(AT) element
WALK(dcl_fill_1, uchar, ulong element, ELEMENT)
WALK(dcl_fill_2, ushort, ulong element, ELEMENT)
WALK(dcl_fill_4, uint, ulong element, ELEMENT)
WALK(dcl_fill_8, ulong, ulong element, ELEMENT)
WALK(dcl_fill_16, ulong2, ulong element, ELEMENT)
