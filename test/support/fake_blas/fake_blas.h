/* support/fake_blas/fake_blas.h - an OpenBLAS of plain loops, which counts its calls.
 *
 * It has the functions that DCL loads, and refuses arguments that OpenBLAS would refuse. The library is named as the real one, so a
 * process that has loaded it by its path finds it when it asks for libopenblas.so.0; a process that starts finds it by
 * LD_LIBRARY_PATH. TEST_BLAS: each product appends the number of threads as a byte to this file. */
#ifndef TEST_FAKE_BLAS_H
#define TEST_FAKE_BLAS_H

#include <dlfcn.h>

/** The functions of the library, found with dlsym() under the names behind them. */
typedef struct fake_blas {
    /** fake_blas_calls: products computed; -1: one had arguments that OpenBLAS refuses. */
    int (*calls)(void);
    /** fake_blas_transposed: how many factors of these products were stored transposed. */
    int (*transposed)(void);
    /** fake_blas_slow: each product takes so many milliseconds more. */
    void (*slow)(int milliseconds);
    /** fake_blas_runs: whether a product is being computed. */
    int (*runs)(void);
} fake_blas;

#ifdef TEST_FAKE_BLAS /* the path of the library */
/** Load the library into this process, before DCL asks for it. @return whether it is there. */
static inline int fake_blas_load(fake_blas *fake_out)
{
    void *library = dlopen(TEST_FAKE_BLAS, RTLD_NOW);
    if (library == NULL)
        return 0;
    *(void **)&fake_out->calls = dlsym(library, "fake_blas_calls");
    *(void **)&fake_out->transposed = dlsym(library, "fake_blas_transposed");
    *(void **)&fake_out->slow = dlsym(library, "fake_blas_slow");
    *(void **)&fake_out->runs = dlsym(library, "fake_blas_runs");
    return fake_out->calls != NULL && fake_out->transposed != NULL && fake_out->slow != NULL && fake_out->runs != NULL;
}
#endif

#endif
