/* kernel/names.cl - macros for the names of functions that exist once per element type dcl_T. */
#define DCL_PASTE_2(x, y) x##y
#define DCL_PASTE(x, y) DCL_PASTE_2(x, y)
#define DCL_OF(name) DCL_PASTE(name, dcl_T)
#define DCL_VECTOR(lanes) DCL_PASTE(dcl_T, lanes)
