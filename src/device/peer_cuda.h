/* device/peer_cuda.h - memory of an NVIDIA GPU that other GPUs of the host can use: the few functions of libcuda for it.
 *
 * libcuda is the library of NVIDIA's driver. It is loaded when it is first asked for and never linked, so that DCL runs on
 * hosts without it. Source: CUDA Driver API, "Virtual Memory Management". */
#ifndef DCLI_DEVICE_PEER_CUDA_H
#define DCLI_DEVICE_PEER_CUDA_H

#include <dcl/cluster.h>

/** How many GPUs libcuda knows. The first call of the process loads the library.
 *  @return DCL_OK, or DCL_ERR_UNSUPPORTED with the reason: there is no libcuda, or it lacks a function, or it refuses. */
dcl_status dcli_cuda_count(int *count_out);
/** The number that libcuda gives the GPU with this UUID; -1: it does not know it. After dcli_cuda_count(). */
int dcli_cuda_find(const unsigned char uuid[16]);
/** Make memory on a GPU: it lasts until the descriptor is closed and nobody has imported it any more.
 *  @param bytes  a multiple of DCLI_HUGE_BYTES.
 *  @param descriptor_out  close-on-exec, yours.
 *  @return DCL_OK, DCL_ERR_NOMEM, DCL_ERR_UNSUPPORTED: the GPU makes no such memory. */
dcl_status dcli_cuda_make(int number, size_t bytes, int *descriptor_out);

#endif
