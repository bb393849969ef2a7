/* device/peer_cuda.h - the few functions of libcuda that allocate and export memory of an NVIDIA GPU for other GPUs of
 * the host.
 *
 * libcuda is the library of NVIDIA's driver. It is loaded at run time by the first call and never linked, so that DCL
 * runs on hosts without it. Source: CUDA Driver API, "Virtual Memory Management". */
#ifndef DCLI_DEVICE_PEER_CUDA_H
#define DCLI_DEVICE_PEER_CUDA_H

#include <dcl/cluster.h>

/** Get the number of GPUs that libcuda knows. The first call of the process loads the library.
 *  @return DCL_OK, or DCL_ERR_UNSUPPORTED with the reason: there is no libcuda, or it lacks a function, or it
 *          refuses. */
dcl_status dcli_cuda_count(int *count_out);
/** The number of the GPU with this UUID in libcuda's numbering; -1: libcuda does not know it. Call it after
 *  dcli_cuda_count(). */
int dcli_cuda_find(const unsigned char uuid[16]);
/** Allocate memory on a GPU. It exists until the descriptor is closed and nobody imports it any more.
 *  @param bytes  a multiple of DCLI_HUGE_BYTES.
 *  @param descriptor_out  close-on-exec, yours.
 *  @return DCL_OK, DCL_ERR_NOMEM, DCL_ERR_UNSUPPORTED: the GPU cannot export memory. */
dcl_status dcli_cuda_make(int number, size_t bytes, int *descriptor_out);

#endif
