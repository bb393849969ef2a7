/* device/blas.c - OpenBLAS, loaded at run time. Its functions are declared here, as its header may be missing.
 *
 * OpenBLAS has threads of its own: it starts them when it is loaded, and again at the first product after a fork, because its
 * handler of pthread_atfork() ends them. That handler must not run during a product. So a handler that is registered later, and
 * therefore runs earlier, waits for the end of the product. */
#include "device/blas.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

#include "base/signals.h"

/* Constants of cblas.h: CBLAS_ORDER, CBLAS_TRANSPOSE. */
enum { ROW_MAJOR = 101, AS_STORED = 111, TRANSPOSED = 112 };

/* The functions, by type of the elements: X(name, type). Sizes are of type int in the library's usual build. */
#define FUNCTIONS(X)      \
    X(cblas_sgemm, float) \
    X(cblas_dgemm, double)

/* OpenBLAS: its functions. Written by the initializer of `loaded`, and only read afterwards. */
static struct {
    bool found;
#define X(name, type)                                                                                                  \
    void (*name)(int order, int left, int right, int rows, int columns, int depth, type scale, const type *a, int lda, \
                 const type *b, int ldb, type keep, type *c, int ldc);
    FUNCTIONS(X)
#undef X
    void (*openblas_set_num_threads)(int count);
    char *(*openblas_get_config)(void);
} blas;

static pthread_mutex_t multiplying = PTHREAD_MUTEX_INITIALIZER; /* held during products, and by fork() */
static pthread_once_t loaded = PTHREAD_ONCE_INIT;
static atomic_int threads; /* 0: OpenBLAS decides */

static void before_fork(void) { pthread_mutex_lock(&multiplying); }

static void after_fork(void) { pthread_mutex_unlock(&multiplying); }

static bool find_functions(void *library)
{
    *(void **)&blas.openblas_get_config = dlsym(library, "openblas_get_config");
    *(void **)&blas.openblas_set_num_threads = dlsym(library, "openblas_set_num_threads");
#define X(name, type)                                           \
    if ((*(void **)&blas.name = dlsym(library, #name)) == NULL) \
        return false;
    FUNCTIONS(X)
#undef X
    return blas.openblas_get_config != NULL && blas.openblas_set_num_threads != NULL;
}

/* Load the library. It is never unloaded, because its threads could not be joined. They must not handle the program's signals. */
static void load(void)
{
    sigset_t before;
    dcli_signals_block(&before);
    void *library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
    blas.found = library != NULL && find_functions(library) && pthread_atfork(before_fork, after_fork, after_fork) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

bool dcli_blas_load(const dcli_log *log)
{
    pthread_once(&loaded, load);
    if (blas.found)
        DCLI_LOG(log, DCLI_LOG_INFO, "products of matrices with DCL_FAST: %s", blas.openblas_get_config());
    else
        DCLI_LOG(log, DCLI_LOG_INFO, "products of matrices with DCL_FAST: libopenblas.so.0 cannot be loaded");
    return blas.found;
}

void dcli_blas_threads(int count) { atomic_store(&threads, count); }

/* Compute the product at one index. */
static void multiply(const dcli_matrix_product *product, void *const matrix[], const int64_t at[])
{
    const int *transposed = (const int[]){AS_STORED, TRANSPOSED};
    int left = transposed[product->transposed[DCLI_PRODUCT_LEFT]],
        right = transposed[product->transposed[DCLI_PRODUCT_RIGHT]];
    const int64_t *pitch = product->pitch;
#define CALL(name, type)                                                                                        \
    blas.name(ROW_MAJOR, left, right, (int)product->rows, (int)product->columns, (int)product->depth,           \
              (type)product->scale, (const type *)matrix[DCLI_PRODUCT_LEFT] + at[DCLI_PRODUCT_LEFT],            \
              (int)pitch[DCLI_PRODUCT_LEFT], (const type *)matrix[DCLI_PRODUCT_RIGHT] + at[DCLI_PRODUCT_RIGHT], \
              (int)pitch[DCLI_PRODUCT_RIGHT], product->added ? 1 : 0,                                           \
              (type *)matrix[DCLI_PRODUCT_RESULT] + at[DCLI_PRODUCT_RESULT], (int)pitch[DCLI_PRODUCT_RESULT])
    if (product->type == DCL_FLOAT)
        CALL(cblas_sgemm, float);
    else
        CALL(cblas_dgemm, double);
#undef CALL
}

/* Advance to the next index, the last axis fastest. @return false: there is none. */
static bool advance(const dcli_matrix_product *product, int64_t index[], int64_t at[])
{
    for (int d = product->axes - 1; d >= 0; d--) {
        bool more = ++index[d] < product->count[d];
        for (int n = 0; n < DCLI_PRODUCT_MATRICES; n++)
            at[n] += product->step[d][n] * (more ? 1 : 1 - product->count[d]);
        if (more)
            return true;
        index[d] = 0;
    }
    return false;
}

void dcli_blas_multiply(const dcli_matrix_product *product, void *const matrix[])
{
    int64_t index[DCL_MAX_RANK] = {0}, at[DCLI_PRODUCT_MATRICES];
    for (int n = 0; n < DCLI_PRODUCT_MATRICES; n++)
        at[n] = product->offset[n];
    for (int d = 0; d < product->axes; d++)
        if (product->count[d] == 0)
            return;
    sigset_t before;
    dcli_signals_block(&before); /* threads that start now must not handle signals */
    pthread_mutex_lock(&multiplying);
    if (threads > 0)
        blas.openblas_set_num_threads(threads);
    do
        multiply(product, matrix, at);
    while (advance(product, index, at));
    pthread_mutex_unlock(&multiplying);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}
