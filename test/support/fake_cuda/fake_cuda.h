/* support/fake_cuda/fake_cuda.h - a libcuda whose memory is memfds, and whose functions fail when they are told to.
 *
 * It knows the functions that DCL loads, and as many GPUs as there are devices of the fake OpenCL driver under its rule
 * "peers", which imports what this library exports: both give a GPU the same UUID. The library is named as NVIDIA's, so a
 * process that has loaded it by its path finds it when it asks for libcuda.so.1; a process that starts finds it by
 * LD_LIBRARY_PATH.
 *
 * The plan is a text of rules separated by ';'; TEST_CUDA holds it at the start.
 *
 *   gpus 4               there are four GPUs; 2 without this rule
 *   fail cuMemCreate 3 2  the third call returns this code and does nothing; "3+": and all after it
 *   plain                GPUs make no memory that can be passed on as a descriptor
 *   grain 4194304        memory is made in multiples of so many bytes; 2 MB without this rule
 *   strangers            GPUs have other UUIDs than devices of OpenCL
 *
 * A plan with a mistake ends the process, as it would test nothing. */
#ifndef TEST_FAKE_CUDA_H
#define TEST_FAKE_CUDA_H

#include <dlfcn.h>
#include <stddef.h>

/** The functions of the library, found with dlsym() under the names behind them. */
typedef struct fake_cuda {
    /** fake_cuda_plan: set a plan (NULL or "": none), and count from 0. */
    void (*plan)(const char *plan);
    /** fake_cuda_calls: calls of a function since then; -1: one that the library does not have. */
    int (*calls)(const char *function);
    /** fake_cuda_function: the names of all functions, by number; NULL behind the last. */
    const char *(*function)(int number);
    /** fake_cuda_left: memories made and not released. */
    int (*left)(void);
} fake_cuda;

#ifdef TEST_FAKE_CUDA /* the path of the library, defined where it can be built */
/** Load the library into this process, before DCL asks for libcuda. @return whether it is there. */
static inline int fake_cuda_load(fake_cuda *fake_out)
{
    void *library = dlopen(TEST_FAKE_CUDA, RTLD_NOW);
    if (library == NULL)
        return 0;
    *(void **)&fake_out->plan = dlsym(library, "fake_cuda_plan");
    *(void **)&fake_out->calls = dlsym(library, "fake_cuda_calls");
    *(void **)&fake_out->function = dlsym(library, "fake_cuda_function");
    *(void **)&fake_out->left = dlsym(library, "fake_cuda_left");
    return fake_out->plan != NULL && fake_out->calls != NULL && fake_out->function != NULL && fake_out->left != NULL;
}
#endif

#endif
