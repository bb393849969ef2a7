/* device/address.cl - a kernel that writes the device address of a buffer to at[n]. */
__kernel void dcl_address(__global ulong *at, int n, __global char *p) { at[n] = (ulong)p; }
