/* kernel/cpu.cl - the beginning of programs for CPUs: hints for Clang, and macros for the names of functions that exist
 * once per element type dcl_T. */
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
#define DCL_PASTE_2(x, y) x##y
#define DCL_PASTE(x, y) DCL_PASTE_2(x, y)
#define DCL_OF(name) DCL_PASTE(name, dcl_T)
#define DCL_VECTOR(lanes) DCL_PASTE(dcl_T, lanes)
