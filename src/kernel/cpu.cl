/* kernel/cpu.cl - the beginning of programs for CPUs: hints for Clang. */
#ifdef __clang__
#pragma clang diagnostic ignored "-Wpass-failed"
#endif
#ifdef __clang__
#define DCL_AHEAD(place) __builtin_prefetch((const void *)(ulong)(place))
#define DCL_FAR_AHEAD(place) __builtin_prefetch((const void *)(ulong)(place), 0, 2) /* into the second-level cache */
#define DCL_STORE(value, place) __builtin_nontemporal_store(value, place)
#else
#define DCL_AHEAD(place)
#define DCL_FAR_AHEAD(place)
#define DCL_STORE(value, place) (*(place) = (value))
#endif
/* LLVM prefers vectors of 32 bytes to those of 64, except in functions that have wide vectors as parameters, or call such functions. */
#ifdef __clang__
static inline __attribute__((always_inline)) void dcl_widen(const int16 dcl_x) { (void)dcl_x; }
#else
#define dcl_widen(x)
#endif
#define DCL_UNROLL _Pragma("unroll")
