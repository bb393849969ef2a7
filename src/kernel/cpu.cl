/* kernel/cpu.cl - the beginning of programs for CPUs: hints for Clang. */
#ifdef __clang__
#pragma clang diagnostic ignored "-Wpass-failed"
#endif
#ifdef __clang__
#define DCL_AHEAD(place) __builtin_prefetch((const void *)(ulong)(place))
#define DCL_STORE(value, place) __builtin_nontemporal_store(value, place)
#else
#define DCL_AHEAD(place)
#define DCL_STORE(value, place) (*(place) = (value))
#endif
#define DCL_UNROLL _Pragma("unroll")
