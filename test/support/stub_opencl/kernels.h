/* support/stub_opencl/kernels.h - put before the text of a program by the stub driver: as much of OpenCL C as the
 * kernels that DCL generates for processors use, for Clang in C. There are no barriers: work-items run one after the
 * other. */
#define __kernel
#define __global
#define __constant
#define __private
#define global
#define CL_VERSION_1_2 120
#define bool _Bool
#define true 1
#define false 0

typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;
typedef unsigned long size_t;

static __thread unsigned long stub_id[3], stub_size[3];

static inline unsigned long get_global_id(uint axis) { return axis < 3 ? stub_id[axis] : 0; }
static inline unsigned long get_global_size(uint axis) { return axis < 3 ? stub_size[axis] : 1; }

#define STUB_OF __attribute__((overloadable, unused)) static inline
#define STUB_VECTOR(T, n) typedef T T##n __attribute__((ext_vector_type(n)));
#define STUB_MOVES(T, n)                                       \
    STUB_VECTOR(T, n)                                          \
    STUB_OF T##n vload##n(unsigned long at, const T *from)     \
    {                                                          \
        T##n value;                                            \
        __builtin_memcpy(&value, from + at * n, sizeof value); \
        return value;                                          \
    }                                                          \
    STUB_OF void vstore##n(T##n value, unsigned long at, T *to) { __builtin_memcpy(to + at * n, &value, sizeof value); }
#define STUB_TYPE(T)                                  \
    STUB_VECTOR(T, 2)                                 \
    STUB_MOVES(T, 4)                                  \
    STUB_MOVES(T, 8)                                  \
    STUB_MOVES(T, 16)                                 \
    STUB_OF T min(T a, T b) { return b < a ? b : a; } \
    STUB_OF T max(T a, T b) { return a < b ? b : a; }

STUB_TYPE(char)
STUB_TYPE(uchar)
STUB_TYPE(short)
STUB_TYPE(ushort)
STUB_TYPE(int)
STUB_TYPE(uint)
STUB_TYPE(long)
STUB_TYPE(ulong)
STUB_TYPE(float)
STUB_TYPE(double)

STUB_OF int atomic_cmpxchg(volatile int *at, int expected, int value)
{
    return __sync_val_compare_and_swap(at, expected, value);
}
