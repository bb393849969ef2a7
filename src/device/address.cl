/* device/address.cl - where kernels find a buffer. */
__kernel void dcl_address(__global ulong *at, int n, __global char *p) { at[n] = (ulong)p; }
