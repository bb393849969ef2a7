/* device/copy.cl - strided copies and fills along 8 axes, which device/strided.c sorts and merges. Work-item dimension
 * x covers axis 7, y axis 6, and z all other axes combined. If there are more elements than work-items, each work-item
 * continues with further elements. */
typedef struct {
    long target, source;
    long count[8], target_step[8], source_step[8];
} walk;

#define WALK(NAME, T, SOURCE, VALUE)                                                      \
    __kernel void NAME(__global T *target, SOURCE, walk w)                                \
    {                                                                                     \
        long outer = 1;                                                                   \
        for (int d = 0; d < 6; d++)                                                       \
            outer *= w.count[d];                                                          \
        for (long z = get_global_id(2); z < outer; z += get_global_size(2)) {             \
            long rest = z, t = w.target, s = w.source;                                    \
            for (int d = 5; rest > 0; d--) {                                              \
                long i = rest % w.count[d];                                               \
                rest /= w.count[d];                                                       \
                t += i * w.target_step[d];                                                \
                s += i * w.source_step[d];                                                \
            }                                                                             \
            for (long y = get_global_id(1); y < w.count[6]; y += get_global_size(1))      \
                for (long x = get_global_id(0); x < w.count[7]; x += get_global_size(0))  \
                    target[t + y * w.target_step[6] + x * w.target_step[7]] = (T)(VALUE); \
        }                                                                                 \
    }

#define AT source[s + y * w.source_step[6] + x * w.source_step[7]]
WALK(dcl_copy_1, uchar, __global const uchar *source, AT)
WALK(dcl_copy_2, ushort, __global const ushort *source, AT)
WALK(dcl_copy_4, uint, __global const uint *source, AT)
WALK(dcl_copy_8, ulong, __global const ulong *source, AT)

WALK(dcl_fill_1, uchar, ulong element, element)
WALK(dcl_fill_2, ushort, ulong element, element)
WALK(dcl_fill_4, uint, ulong element, element)
WALK(dcl_fill_8, ulong, ulong element, element)
