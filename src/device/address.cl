/* device/address.cl - where kernels find a buffer. */
__kernel void dcl_address(__global ulong *at, __global char *p) { at[0] = (ulong)p; }
