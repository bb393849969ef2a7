/* support/fake_blas/fake_blas.c - see fake_blas.h. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define EXPORT __attribute__((visibility("default")))

enum { ROW_MAJOR = 101, AS_STORED = 111, TRANSPOSED = 112 };

static atomic_int calls, transposed, running, refused, threads, slow_ms;

EXPORT int fake_blas_calls(void);
EXPORT int fake_blas_transposed(void);
EXPORT void fake_blas_slow(int milliseconds);
EXPORT int fake_blas_runs(void);
EXPORT void openblas_set_num_threads(int count);
EXPORT char *openblas_get_config(void);

int fake_blas_calls(void) { return refused != 0 ? -1 : calls; }

int fake_blas_transposed(void) { return transposed; }

void fake_blas_slow(int milliseconds) { slow_ms = milliseconds; }

int fake_blas_runs(void) { return running; }

void openblas_set_num_threads(int count) { threads = count; }

char *openblas_get_config(void)
{
    static char text[] = "OpenBLAS of tests";
    return text;
}

static void note(void)
{
    const char *name = getenv("TEST_BLAS");
    FILE *file = name != NULL ? fopen(name, "a") : NULL;
    if (file == NULL)
        return;
    fputc('0' + threads, file);
    fclose(file);
}

/* Begin a product: check its arguments. @return whether OpenBLAS takes them. */
static int begin(int order, int left, int right, int rows, int columns, int depth, int lda, int ldb, int ldc)
{
    running++;
    if (order != ROW_MAJOR || (left != AS_STORED && left != TRANSPOSED) ||
        (right != AS_STORED && right != TRANSPOSED) || rows < 0 || columns < 0 || depth < 0 ||
        lda < (left == AS_STORED ? depth : rows) || ldb < (right == AS_STORED ? columns : depth) || ldc < columns)
        refused++;
    calls++;
    transposed += (left == TRANSPOSED) + (right == TRANSPOSED);
    note();
    nanosleep(&(struct timespec){.tv_nsec = (long)slow_ms * 1000000}, NULL);
    return refused == 0;
}

/* k descends, so that bits differ from those of a chain. */
#define PRODUCT(name, type)                                                                                         \
    EXPORT void name(int order, int left, int right, int rows, int columns, int depth, type alpha, const type *a,   \
                     int lda, const type *b, int ldb, type beta, type *c, int ldc);                                 \
    void name(int order, int left, int right, int rows, int columns, int depth, type alpha, const type *a, int lda, \
              const type *b, int ldb, type beta, type *c, int ldc)                                                  \
    {                                                                                                               \
        int fits = begin(order, left, right, rows, columns, depth, lda, ldb, ldc);                                  \
        for (int i = 0; i < rows && fits; i++)                                                                      \
            for (int j = 0; j < columns; j++) {                                                                     \
                type sum = 0;                                                                                       \
                for (int k = depth - 1; k >= 0; k--)                                                                \
                    sum += a[left == AS_STORED ? (long)i * lda + k : (long)k * lda + i] *                           \
                           b[right == AS_STORED ? (long)k * ldb + j : (long)j * ldb + k];                           \
                c[(long)i * ldc + j] = alpha * sum + (beta == 0 ? 0 : beta * c[(long)i * ldc + j]);                 \
            }                                                                                                       \
        running--;                                                                                                  \
    }

PRODUCT(cblas_sgemm, float)
PRODUCT(cblas_dgemm, double)
