/* loops.c - loop nests by dcl_loops(), against C compiled by gcc -O3 -march=native -ffp-contract=off, sequential and with OpenMP, taking
 * turns. The kernels are those of L.-N. Pouchet et al., PolyBench/C, a product of polynomials, and a Gaussian blur; in double.
 *
 *     loops [rounds] [names] [workers]
 *
 * rounds: 5 if not given. names: of some kernels, separated by commas, or all. workers: only on these, as DCL_WORKERS names them (local:2),
 * beside OpenMP.
 *
 * A kernel is written down once, with the mark PARALLEL before each loop that a person would run in parallel. The mark is nothing in the
 * sequential function and in the text for DCL, and `omp parallel for` in the other function; both functions know that arrays do not
 * overlap. `by hand` is a function that was written for speed, with the same bits; the polynomials have one. NAME_full has the
 * statements of a triangular kernel with rectangular bounds, so 2 N / (N + 1) times as many instances of the innermost statement; "per
 * instance" is the time of such an instance in the triangle and in the rectangle, as if there were no other statements, or, if there is NAME_rest,
 * without the time of those.
 *
 * An embedded node, in a process for each: "two cores": with a thread per processor, and OpenMP. "one core": with one thread, and the
 * sequential function. Timed: from the call until the nodes are done, by dcl_wait(). Plans are kept, so that is what a call costs that
 * recurs. "planned" is the time of such a call in which it does not start operations, and the part of this before the first one, by the
 * log of dcl_loops; "at first" is the time of planning in the first call, which analyses the nest; "explained" is the time of dcl_call_explain(), which counts what all operations move. Results are compared first, bit for bit. At the end: the
 * geometric mean of the ratios. */
#include <math.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common.h"

enum {
    N = 1024,       /* matrices */
    N3 = 512,       /* matrices of products of two */
    LINE = 1 << 20, /* jacobi-1d */
    FACE = 1000,    /* stencils in a plane */
    SIDE = 120,     /* heat-3d */
    R = 64,         /* doitgen: R x Q lines of N2 */
    Q = 64,
    N2 = 128,
    TERMS = 10000, /* polynomials */
    TALL = 1080,
    WIDE = 1920,
    STEPS = 20,
    V = 4096, /* matrices of products with vectors */
    MOST_ARRAYS = 8,
    MOST_ROUNDS = 31
};

/* ---- kernels --------------------------------------------------------------------------------------------------------- */

struct sizes {
    int n, m, l, steps;
    double alpha, beta;
};

typedef void run_fn(double *p[], const struct sizes *sizes);

struct kernel {
    const char *name, *text;
    run_fn *sequential, *parallel, *by_hand;
    struct sizes sizes;
    struct array {
        const char *name;
        int rank;
        int64_t extent[3];
        dcl_access access;
    } array[MOST_ARRAYS];
};

#define A1(name, k) double *restrict const name = p[k];
#define A2(name, k, columns) double(*restrict const name)[columns] = (double(*)[columns])p[k];
#define A3(name, k, rows, columns) double(*restrict const name)[rows][columns] = (double(*)[rows][columns])p[k];

#define OMP _Pragma("omp parallel for")
#define FUNCTION(name, arrays, ...)                                               \
    static void name(double *p[], const struct sizes *sizes)                      \
    {                                                                             \
        const int n = sizes->n, m = sizes->m, l = sizes->l, steps = sizes->steps; \
        const double alpha = sizes->alpha, beta = sizes->beta;                    \
        (void)n, (void)m, (void)l, (void)steps, (void)alpha, (void)beta;          \
        arrays __VA_ARGS__                                                        \
    }
#define TEXT(...) #__VA_ARGS__
#define TEXT_OF(...) TEXT(__VA_ARGS__)
/* TEXT(PARALLEL): the loops of a kernel. */
#define KERNEL(name, arrays, LOOPS)               \
    FUNCTION(name##_sequential, arrays, LOOPS())  \
    FUNCTION(name##_parallel, arrays, LOOPS(OMP)) \
    static const char name##_text[] = TEXT_OF(LOOPS());

/* clang-format off */
#define GEMM(PARALLEL) \
    PARALLEL for (int i = 0; i < n; i++) { \
        for (int j = 0; j < m; j++) C[i][j] *= beta; \
        for (int k = 0; k < l; k++) \
            for (int j = 0; j < m; j++) C[i][j] += alpha * A[i][k] * B[k][j]; \
    }
KERNEL(gemm, A2(C, 0, N) A2(A, 1, N) A2(B, 2, N), GEMM)

#define SYRK(PARALLEL) \
    PARALLEL for (int i = 0; i < n; i++) { \
        for (int j = 0; j <= i; j++) C[i][j] *= beta; \
        for (int k = 0; k < m; k++) \
            for (int j = 0; j <= i; j++) C[i][j] += alpha * A[i][k] * A[j][k]; \
    }
KERNEL(syrk, A2(C, 0, N) A2(A, 1, N), SYRK)

#define SYRK_FULL(PARALLEL) \
    PARALLEL for (int i = 0; i < n; i++) { \
        for (int j = 0; j < n; j++) C[i][j] *= beta; \
        for (int k = 0; k < m; k++) \
            for (int j = 0; j < n; j++) C[i][j] += alpha * A[i][k] * A[j][k]; \
    }
KERNEL(syrk_full, A2(C, 0, N) A2(A, 1, N), SYRK_FULL)

#define SYR2K(PARALLEL) \
    PARALLEL for (int i = 0; i < n; i++) { \
        for (int j = 0; j <= i; j++) C[i][j] *= beta; \
        for (int k = 0; k < m; k++) \
            for (int j = 0; j <= i; j++) C[i][j] += A[j][k] * alpha * B[i][k] + B[j][k] * alpha * A[i][k]; \
    }
KERNEL(syr2k, A2(C, 0, N3) A2(A, 1, N3) A2(B, 2, N3), SYR2K)

#define SYR2K_FULL(PARALLEL) \
    PARALLEL for (int i = 0; i < n; i++) { \
        for (int j = 0; j < n; j++) C[i][j] *= beta; \
        for (int k = 0; k < m; k++) \
            for (int j = 0; j < n; j++) C[i][j] += A[j][k] * alpha * B[i][k] + B[j][k] * alpha * A[i][k]; \
    }
KERNEL(syr2k_full, A2(C, 0, N3) A2(A, 1, N3) A2(B, 2, N3), SYR2K_FULL)

#define TRMM(PARALLEL) \
    for (int i = 0; i < n; i++) \
        PARALLEL for (int j = 0; j < m; j++) { \
            for (int k = i + 1; k < n; k++) B[i][j] += A[k][i] * B[k][j]; \
            B[i][j] = alpha * B[i][j]; \
        }
KERNEL(trmm, A2(B, 0, N3) A2(A, 1, N3), TRMM)

#define TWO_MM(PARALLEL) \
    PARALLEL for (int i = 0; i < n; i++) \
        for (int j = 0; j < n; j++) { \
            T[i][j] = 0.0; \
            for (int k = 0; k < n; ++k) T[i][j] += alpha * A[i][k] * B[k][j]; \
        } \
    PARALLEL for (int i = 0; i < n; i++) \
        for (int j = 0; j < n; j++) { \
            D[i][j] *= beta; \
            for (int k = 0; k < n; ++k) D[i][j] += T[i][k] * C[k][j]; \
        }
KERNEL(two_mm, A2(D, 0, N3) A2(T, 1, N3) A2(A, 2, N3) A2(B, 3, N3) A2(C, 4, N3), TWO_MM)

#define MVT(PARALLEL) \
    PARALLEL for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) x[i] = x[i] + A[i][j] * u[j]; \
    PARALLEL for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) y[i] = y[i] + A[j][i] * v[j];
KERNEL(mvt, A1(x, 0) A1(y, 1) A1(u, 2) A1(v, 3) A2(A, 4, V), MVT)

#define GESUMMV(PARALLEL) \
    PARALLEL for (int i = 0; i < n; i++) { \
        w[i] = 0.0; \
        y[i] = 0.0; \
        for (int j = 0; j < n; j++) { \
            w[i] = A[i][j] * x[j] + w[i]; \
            y[i] = B[i][j] * x[j] + y[i]; \
        } \
        y[i] = alpha * w[i] + beta * y[i]; \
    }
KERNEL(gesummv, A1(y, 0) A1(w, 1) A1(x, 2) A2(A, 3, V) A2(B, 4, V), GESUMMV)

#define GEMVER(PARALLEL) \
    PARALLEL for (int i = 0; i < n; i++) \
        for (int j = 0; j < n; j++) A[i][j] = A[i][j] + u[i] * v[j] + s[i] * t[j]; \
    PARALLEL for (int i = 0; i < n; i++) \
        for (int j = 0; j < n; j++) x[i] = x[i] + beta * A[j][i] * y[j]; \
    PARALLEL for (int i = 0; i < n; i++) x[i] = x[i] + z[i]; \
    PARALLEL for (int i = 0; i < n; i++) \
        for (int j = 0; j < n; j++) z[i] = z[i] + alpha * A[i][j] * x[j];
KERNEL(gemver, A2(A, 0, V) A1(x, 1) A1(y, 2) A1(z, 3) A1(u, 4) A1(v, 5) A1(s, 6) A1(t, 7), GEMVER)

#define ATAX(PARALLEL) \
    for (int i = 0; i < n; i++) y[i] = 0; \
    PARALLEL for (int i = 0; i < n; i++) { \
        w[i] = 0.0; \
        for (int j = 0; j < n; j++) w[i] = w[i] + A[i][j] * x[j]; \
    } \
    PARALLEL for (int j = 0; j < n; j++) \
        for (int i = 0; i < n; i++) y[j] = y[j] + A[i][j] * w[i];
KERNEL(atax, A1(y, 0) A1(w, 1) A1(x, 2) A2(A, 3, V), ATAX)

#define BICG(PARALLEL) \
    for (int i = 0; i < n; i++) x[i] = 0; \
    PARALLEL for (int i = 0; i < n; i++) { \
        y[i] = 0.0; \
        for (int j = 0; j < n; j++) y[i] = y[i] + A[i][j] * v[j]; \
    } \
    PARALLEL for (int j = 0; j < n; j++) \
        for (int i = 0; i < n; i++) x[j] = x[j] + u[i] * A[i][j];
KERNEL(bicg, A1(x, 0) A1(y, 1) A1(u, 2) A1(v, 3) A2(A, 4, V), BICG)

#define COVARIANCE(PARALLEL) \
    PARALLEL for (int j = 0; j < m; j++) { \
        mean[j] = 0.0; \
        for (int i = 0; i < n; i++) mean[j] += D[i][j]; \
        mean[j] /= alpha; \
    } \
    PARALLEL for (int i = 0; i < n; i++) \
        for (int j = 0; j < m; j++) D[i][j] -= mean[j]; \
    PARALLEL for (int i = 0; i < m; i++) \
        for (int j = i; j < m; j++) { \
            C[i][j] = 0.0; \
            for (int k = 0; k < n; k++) C[i][j] += D[k][i] * D[k][j]; \
            C[i][j] /= (alpha - 1.0); \
        }
KERNEL(covariance, A2(C, 0, N3) A1(mean, 1) A2(D, 2, N3), COVARIANCE)

#define COVARIANCE_FULL(PARALLEL) \
    PARALLEL for (int j = 0; j < m; j++) { \
        mean[j] = 0.0; \
        for (int i = 0; i < n; i++) mean[j] += D[i][j]; \
        mean[j] /= alpha; \
    } \
    PARALLEL for (int i = 0; i < n; i++) \
        for (int j = 0; j < m; j++) D[i][j] -= mean[j]; \
    PARALLEL for (int i = 0; i < m; i++) \
        for (int j = 0; j < m; j++) { \
            C[i][j] = 0.0; \
            for (int k = 0; k < n; k++) C[i][j] += D[k][i] * D[k][j]; \
            C[i][j] /= (alpha - 1.0); \
        }
KERNEL(covariance_full, A2(C, 0, N3) A1(mean, 1) A2(D, 2, N3), COVARIANCE_FULL)

#define COVARIANCE_REST(PARALLEL) \
    PARALLEL for (int j = 0; j < m; j++) { \
        mean[j] = 0.0; \
        for (int i = 0; i < n; i++) mean[j] += D[i][j]; \
        mean[j] /= alpha; \
    } \
    PARALLEL for (int i = 0; i < n; i++) \
        for (int j = 0; j < m; j++) D[i][j] -= mean[j];
KERNEL(covariance_rest, A1(mean, 0) A2(D, 1, N3), COVARIANCE_REST)

#define CORRELATION(PARALLEL) \
    PARALLEL for (int j = 0; j < m; j++) { \
        mean[j] = 0.0; \
        for (int i = 0; i < n; i++) mean[j] += D[i][j]; \
        mean[j] /= alpha; \
    } \
    PARALLEL for (int j = 0; j < m; j++) { \
        dev[j] = 0.0; \
        for (int i = 0; i < n; i++) dev[j] += (D[i][j] - mean[j]) * (D[i][j] - mean[j]); \
        dev[j] /= alpha; \
        dev[j] = sqrt(dev[j]); \
        dev[j] = dev[j] <= 0.1 ? 1.0 : dev[j]; \
    } \
    PARALLEL for (int i = 0; i < n; i++) \
        for (int j = 0; j < m; j++) { \
            D[i][j] -= mean[j]; \
            D[i][j] /= sqrt(alpha) * dev[j]; \
        } \
    PARALLEL for (int i = 0; i < m - 1; i++) { \
        C[i][i] = 1.0; \
        for (int j = i + 1; j < m; j++) { \
            C[i][j] = 0.0; \
            for (int k = 0; k < n; k++) C[i][j] += D[k][i] * D[k][j]; \
            C[j][i] = C[i][j]; \
        } \
    } \
    C[m - 1][m - 1] = 1.0;
KERNEL(correlation, A2(C, 0, N3) A1(mean, 1) A1(dev, 2) A2(D, 3, N3), CORRELATION)

#define THREE_MM(PARALLEL) \
    PARALLEL for (int i = 0; i < n; i++) \
        for (int j = 0; j < n; j++) { \
            E[i][j] = 0.0; \
            for (int k = 0; k < n; ++k) E[i][j] += A[i][k] * B[k][j]; \
        } \
    PARALLEL for (int i = 0; i < n; i++) \
        for (int j = 0; j < n; j++) { \
            F[i][j] = 0.0; \
            for (int k = 0; k < n; ++k) F[i][j] += C[i][k] * D[k][j]; \
        } \
    PARALLEL for (int i = 0; i < n; i++) \
        for (int j = 0; j < n; j++) { \
            G[i][j] = 0.0; \
            for (int k = 0; k < n; ++k) G[i][j] += E[i][k] * F[k][j]; \
        }
KERNEL(three_mm, A2(A, 0, N3) A2(B, 1, N3) A2(C, 2, N3) A2(D, 3, N3) A2(E, 4, N3) A2(F, 5, N3) A2(G, 6, N3), THREE_MM)

#define DOITGEN(PARALLEL) \
    PARALLEL for (int r = 0; r < n; r++) \
        for (int q = 0; q < m; q++) \
            for (int k = 0; k < l; k++) { \
                B[r][q][k] = 0.0; \
                for (int s = 0; s < l; s++) B[r][q][k] += A[r][q][s] * C[s][k]; \
            }
KERNEL(doitgen, A3(A, 0, Q, N2) A3(B, 1, Q, N2) A2(C, 2, N2), DOITGEN)

#define JACOBI_1D(PARALLEL) \
    for (int t = 0; t < steps; t++) { \
        PARALLEL for (int i = 1; i < n - 1; i++) B[i] = 0.33333 * (A[i-1] + A[i] + A[i+1]); \
        PARALLEL for (int i = 1; i < n - 1; i++) A[i] = 0.33333 * (B[i-1] + B[i] + B[i+1]); \
    }
KERNEL(jacobi_1d, A1(A, 0) A1(B, 1), JACOBI_1D)

#define JACOBI_2D(PARALLEL) \
    for (int t = 0; t < steps; t++) { \
        PARALLEL for (int i = 1; i < n - 1; i++) \
            for (int j = 1; j < n - 1; j++) B[i][j] = 0.2 * (A[i][j] + A[i][j-1] + A[i][1+j] + A[1+i][j] + A[i-1][j]); \
        PARALLEL for (int i = 1; i < n - 1; i++) \
            for (int j = 1; j < n - 1; j++) A[i][j] = 0.2 * (B[i][j] + B[i][j-1] + B[i][1+j] + B[1+i][j] + B[i-1][j]); \
    }
KERNEL(jacobi_2d, A2(A, 0, FACE) A2(B, 1, FACE), JACOBI_2D)

#define HALF_STEP(PARALLEL, B, A) \
        PARALLEL for (int i = 1; i < n - 1; i++) \
            for (int j = 1; j < n - 1; j++) \
                for (int k = 1; k < n - 1; k++) \
                    B[i][j][k] = 0.125 * (A[i+1][j][k] - 2.0 * A[i][j][k] + A[i-1][j][k]) \
                        + 0.125 * (A[i][j+1][k] - 2.0 * A[i][j][k] + A[i][j-1][k]) \
                        + 0.125 * (A[i][j][k+1] - 2.0 * A[i][j][k] + A[i][j][k-1]) + A[i][j][k];
#define HEAT_3D(PARALLEL) \
    for (int t = 1; t <= steps; t++) { \
        HALF_STEP(PARALLEL, B, A) \
        HALF_STEP(PARALLEL, A, B) \
    }
KERNEL(heat_3d, A3(A, 0, SIDE, SIDE) A3(B, 1, SIDE, SIDE), HEAT_3D)

#define FDTD_2D(PARALLEL) \
    for (int t = 0; t < steps; t++) { \
        PARALLEL for (int j = 0; j < m; j++) ey[0][j] = f[t]; \
        PARALLEL for (int i = 1; i < n; i++) \
            for (int j = 0; j < m; j++) ey[i][j] = ey[i][j] - 0.5 * (hz[i][j] - hz[i-1][j]); \
        PARALLEL for (int i = 0; i < n; i++) \
            for (int j = 1; j < m; j++) ex[i][j] = ex[i][j] - 0.5 * (hz[i][j] - hz[i][j-1]); \
        PARALLEL for (int i = 0; i < n - 1; i++) \
            for (int j = 0; j < m - 1; j++) \
                hz[i][j] = hz[i][j] - 0.7 * (ex[i][j+1] - ex[i][j] + ey[i+1][j] - ey[i][j]); \
    }
KERNEL(fdtd_2d, A2(ex, 0, FACE) A2(ey, 1, FACE) A2(hz, 2, FACE) A1(f, 3), FDTD_2D)

#define ADI(PARALLEL) \
    double mul = 2.0 * n * n / steps; \
    double mul2 = 1.0 * n * n / steps; \
    double a = -mul / 2.0; \
    double b = 1.0 + mul; \
    double d = -mul2 / 2.0; \
    double e = 1.0 + mul2; \
    for (int t = 1; t <= steps; t++) { \
        PARALLEL for (int i = 1; i < n - 1; i++) { \
            v[0][i] = 1.0; \
            P[i][0] = 0.0; \
            Q[i][0] = v[0][i]; \
            for (int j = 1; j < n - 1; j++) { \
                P[i][j] = -a / (a * P[i][j-1] + b); \
                Q[i][j] = (-d * u[j][i-1] + (1.0 + 2.0 * d) * u[j][i] - d * u[j][i+1] - a * Q[i][j-1]) / (a * P[i][j-1] + b); \
            } \
            v[n-1][i] = 1.0; \
            for (int j = n - 2; j >= 1; j--) v[j][i] = P[i][j] * v[j+1][i] + Q[i][j]; \
        } \
        PARALLEL for (int i = 1; i < n - 1; i++) { \
            u[i][0] = 1.0; \
            P[i][0] = 0.0; \
            Q[i][0] = u[i][0]; \
            for (int j = 1; j < n - 1; j++) { \
                P[i][j] = -d / (d * P[i][j-1] + e); \
                Q[i][j] = (-a * v[i-1][j] + (1.0 + 2.0 * a) * v[i][j] - a * v[i+1][j] - d * Q[i][j-1]) / (d * P[i][j-1] + e); \
            } \
            u[i][n-1] = 1.0; \
            for (int j = n - 2; j >= 1; j--) u[i][j] = P[i][j] * u[i][j+1] + Q[i][j]; \
        } \
    }
KERNEL(adi, A2(u, 0, FACE) A2(v, 1, FACE) A2(P, 2, FACE) A2(Q, 3, FACE), ADI)

#define DERICHE(PARALLEL) \
    PARALLEL for (int i = 0; i < n; i++) { \
        double ym1 = 0.0; double ym2 = 0.0; double xm1 = 0.0; \
        for (int j = 0; j < m; j++) { \
            y1[i][j] = 0.3 * in[i][j] + 0.2 * xm1 + 0.7 * ym1 - 0.1 * ym2; \
            xm1 = in[i][j]; ym2 = ym1; ym1 = y1[i][j]; \
        } \
    } \
    PARALLEL for (int i = 0; i < n; i++) { \
        double yp1 = 0.0; double yp2 = 0.0; double xp1 = 0.0; double xp2 = 0.0; \
        for (int j = m - 1; j >= 0; j--) { \
            y2[i][j] = 0.4 * xp1 - 0.3 * xp2 + 0.7 * yp1 - 0.1 * yp2; \
            xp2 = xp1; xp1 = in[i][j]; yp2 = yp1; yp1 = y2[i][j]; \
        } \
    } \
    PARALLEL for (int i = 0; i < n; i++) \
        for (int j = 0; j < m; j++) out[i][j] = 0.9 * (y1[i][j] + y2[i][j]); \
    PARALLEL for (int j = 0; j < m; j++) { \
        double tm1 = 0.0; double ym1 = 0.0; double ym2 = 0.0; \
        for (int i = 0; i < n; i++) { \
            y1[i][j] = 0.3 * out[i][j] + 0.2 * tm1 + 0.7 * ym1 - 0.1 * ym2; \
            tm1 = out[i][j]; ym2 = ym1; ym1 = y1[i][j]; \
        } \
    } \
    PARALLEL for (int j = 0; j < m; j++) { \
        double tp1 = 0.0; double tp2 = 0.0; double yp1 = 0.0; double yp2 = 0.0; \
        for (int i = n - 1; i >= 0; i--) { \
            y2[i][j] = 0.4 * tp1 - 0.3 * tp2 + 0.7 * yp1 - 0.1 * yp2; \
            tp2 = tp1; tp1 = out[i][j]; yp2 = yp1; yp1 = y2[i][j]; \
        } \
    } \
    PARALLEL for (int i = 0; i < n; i++) \
        for (int j = 0; j < m; j++) out[i][j] = 0.8 * (y1[i][j] + y2[i][j]);
KERNEL(deriche, A2(out, 0, WIDE) A2(y1, 1, WIDE) A2(y2, 2, WIDE) A2(in, 3, WIDE), DERICHE)

#define POLYNOMIAL(PARALLEL) \
    for (int i = 0; i < n; i++) \
        for (int j = 0; j < n; j++) z[i + j] += x[i] * y[j];
KERNEL(polynomial, A1(z, 0) A1(x, 1) A1(y, 2), POLYNOMIAL)

#define GAUSSIAN(PARALLEL) \
    PARALLEL for (int i = 2; i < n - 2; i++) \
        for (int j = 2; j < m - 2; j++) { \
            double s = 0.0; \
            for (int y = -2; y <= 2; y++) \
                for (int x = -2; x <= 2; x++) s += G[y+2][x+2] * A[i+y][j+x]; \
            B[i][j] = s; \
        }
KERNEL(gaussian, A2(B, 0, WIDE) A2(A, 1, WIDE) A2(G, 2, 5), GAUSSIAN)
/* clang-format on */

/* A product of polynomials in blocks of the result: 32 coefficients in registers, which the terms are added to in order. */
static void polynomial_by_hand(double *p[], const struct sizes *sizes)
{
    enum { BLOCK = 32 };
    const long n = sizes->n;
    double *restrict const z = p[0], *restrict const x = p[1], *restrict const y = p[2];
#pragma omp parallel for schedule(dynamic, 8)
    for (long b = 0; b < 2 * n - 1; b += BLOCK) {
        const long end = b + BLOCK < 2 * n - 1 ? b + BLOCK : 2 * n - 1;
        double sum[BLOCK] = {0};
        for (long t = b; t < end; t++)
            sum[t - b] = z[t];
        const long low = b - n + 1 > 0 ? b - n + 1 : 0, high = end - 1 < n - 1 ? end - 1 : n - 1;
        const long full_low = end - n > low ? end - n : low, full_high = b < high ? b : high;
        for (long i = low; i < full_low && i <= high; i++)
            for (long t = b; t < end; t++)
                if (t - i >= 0 && t - i < n)
                    sum[t - b] += x[i] * y[t - i];
        if (end - b == BLOCK)
            for (long i = full_low; i <= full_high; i++)
                for (int t = 0; t < BLOCK; t++)
                    sum[t] += x[i] * y[b - i + t];
        else
            for (long i = full_low; i <= full_high; i++)
                for (long t = b; t < end; t++)
                    sum[t - b] += x[i] * y[t - i];
        for (long i = full_high + 1 > full_low ? full_high + 1 : full_low; i <= high; i++)
            for (long t = b; t < end; t++)
                if (t - i >= 0 && t - i < n)
                    sum[t - b] += x[i] * y[t - i];
        for (long t = b; t < end; t++)
            z[t] = sum[t - b];
    }
}

#define IN DCL_ACCESS_IN
#define OUT DCL_ACCESS_OUT
#define INOUT DCL_ACCESS_INOUT
#define OF(name) #name, name##_text, name##_sequential, name##_parallel
static const struct kernel kernels[] = {
    {OF(gemm), NULL, {.n = N, .m = N, .l = N}, {{"C", 2, {N, N}, INOUT}, {"A", 2, {N, N}, IN}, {"B", 2, {N, N}, IN}}},
    {OF(syrk), NULL, {.n = N, .m = N}, {{"C", 2, {N, N}, INOUT}, {"A", 2, {N, N}, IN}}},
    {OF(syrk_full), NULL, {.n = N, .m = N}, {{"C", 2, {N, N}, INOUT}, {"A", 2, {N, N}, IN}}},
    {OF(syr2k), NULL, {.n = N3, .m = N3}, {{"C", 2, {N3, N3}, INOUT}, {"A", 2, {N3, N3}, IN}, {"B", 2, {N3, N3}, IN}}},
    {OF(syr2k_full),
     NULL,
     {.n = N3, .m = N3},
     {{"C", 2, {N3, N3}, INOUT}, {"A", 2, {N3, N3}, IN}, {"B", 2, {N3, N3}, IN}}},
    {OF(trmm), NULL, {.n = N3, .m = N3}, {{"B", 2, {N3, N3}, INOUT}, {"A", 2, {N3, N3}, IN}}},
    {OF(two_mm),
     NULL,
     {.n = N3},
     {{"D", 2, {N3, N3}, INOUT},
      {"T", 2, {N3, N3}, OUT},
      {"A", 2, {N3, N3}, IN},
      {"B", 2, {N3, N3}, IN},
      {"C", 2, {N3, N3}, IN}}},
    {OF(mvt),
     NULL,
     {.n = V},
     {{"x", 1, {V}, INOUT}, {"y", 1, {V}, INOUT}, {"u", 1, {V}, IN}, {"v", 1, {V}, IN}, {"A", 2, {V, V}, IN}}},
    {OF(gesummv),
     NULL,
     {.n = V},
     {{"y", 1, {V}, OUT}, {"w", 1, {V}, OUT}, {"x", 1, {V}, IN}, {"A", 2, {V, V}, IN}, {"B", 2, {V, V}, IN}}},
    {OF(gemver),
     NULL,
     {.n = V},
     {{"A", 2, {V, V}, INOUT},
      {"x", 1, {V}, INOUT},
      {"y", 1, {V}, IN},
      {"z", 1, {V}, INOUT},
      {"u", 1, {V}, IN},
      {"v", 1, {V}, IN},
      {"s", 1, {V}, IN},
      {"t", 1, {V}, IN}}},
    {OF(atax), NULL, {.n = V}, {{"y", 1, {V}, OUT}, {"w", 1, {V}, OUT}, {"x", 1, {V}, IN}, {"A", 2, {V, V}, IN}}},
    {OF(bicg),
     NULL,
     {.n = V},
     {{"x", 1, {V}, OUT}, {"y", 1, {V}, OUT}, {"u", 1, {V}, IN}, {"v", 1, {V}, IN}, {"A", 2, {V, V}, IN}}},
    {OF(covariance_rest), NULL, {.n = N3, .m = N3}, {{"mean", 1, {N3}, OUT}, {"D", 2, {N3, N3}, INOUT}}},
    {OF(covariance),
     NULL,
     {.n = N3, .m = N3},
     {{"C", 2, {N3, N3}, INOUT}, {"mean", 1, {N3}, OUT}, {"D", 2, {N3, N3}, INOUT}}},
    {OF(covariance_full),
     NULL,
     {.n = N3, .m = N3},
     {{"C", 2, {N3, N3}, INOUT}, {"mean", 1, {N3}, OUT}, {"D", 2, {N3, N3}, INOUT}}},
    {OF(correlation),
     NULL,
     {.n = N3, .m = N3},
     {{"C", 2, {N3, N3}, INOUT}, {"mean", 1, {N3}, OUT}, {"dev", 1, {N3}, OUT}, {"D", 2, {N3, N3}, INOUT}}},
    {OF(three_mm),
     NULL,
     {.n = N3},
     {{"A", 2, {N3, N3}, IN},
      {"B", 2, {N3, N3}, IN},
      {"C", 2, {N3, N3}, IN},
      {"D", 2, {N3, N3}, IN},
      {"E", 2, {N3, N3}, OUT},
      {"F", 2, {N3, N3}, OUT},
      {"G", 2, {N3, N3}, OUT}}},
    {OF(doitgen),
     NULL,
     {.n = R, .m = Q, .l = N2},
     {{"A", 3, {R, Q, N2}, IN}, {"B", 3, {R, Q, N2}, OUT}, {"C", 2, {N2, N2}, IN}}},
    {OF(jacobi_1d), NULL, {.n = LINE, .steps = STEPS}, {{"A", 1, {LINE}, INOUT}, {"B", 1, {LINE}, INOUT}}},
    {OF(jacobi_2d), NULL, {.n = FACE, .steps = STEPS}, {{"A", 2, {FACE, FACE}, INOUT}, {"B", 2, {FACE, FACE}, INOUT}}},
    {OF(heat_3d),
     NULL,
     {.n = SIDE, .steps = STEPS},
     {{"A", 3, {SIDE, SIDE, SIDE}, INOUT}, {"B", 3, {SIDE, SIDE, SIDE}, INOUT}}},
    {OF(fdtd_2d),
     NULL,
     {.n = FACE, .m = FACE, .steps = STEPS},
     {{"ex", 2, {FACE, FACE}, INOUT},
      {"ey", 2, {FACE, FACE}, INOUT},
      {"hz", 2, {FACE, FACE}, INOUT},
      {"f", 1, {STEPS}, IN}}},
    {OF(adi),
     NULL,
     {.n = FACE, .steps = 2},
     {{"u", 2, {FACE, FACE}, INOUT},
      {"v", 2, {FACE, FACE}, INOUT},
      {"P", 2, {FACE, FACE}, INOUT},
      {"Q", 2, {FACE, FACE}, INOUT}}},
    {OF(deriche),
     NULL,
     {.n = TALL, .m = WIDE},
     {{"out", 2, {TALL, WIDE}, OUT},
      {"y1", 2, {TALL, WIDE}, OUT},
      {"y2", 2, {TALL, WIDE}, OUT},
      {"in", 2, {TALL, WIDE}, IN}}},
    {OF(polynomial),
     polynomial_by_hand,
     {.n = TERMS},
     {{"z", 1, {2 * TERMS - 1}, INOUT}, {"x", 1, {TERMS}, IN}, {"y", 1, {TERMS}, IN}}},
    {OF(gaussian),
     NULL,
     {.n = TALL, .m = WIDE},
     {{"B", 2, {TALL, WIDE}, INOUT}, {"A", 2, {TALL, WIDE}, IN}, {"G", 2, {5, 5}, IN}}},
};

/* ---- measuring ------------------------------------------------------------------------------------------------------- */

/* A kernel with its arrays: the nodes', and copies in the program's memory. */
struct run {
    dcl_cluster *cluster;
    const struct kernel *kernel;
    int arrays, count;
    dcl_array *array[MOST_ARRAYS];
    double *first[MOST_ARRAYS], *plain[MOST_ARRAYS]; /* values before the run, and those of the peers */
    size_t bytes[MOST_ARRAYS];
    dcl_arg arg[MOST_ARRAYS + 6];
};

static double *new_values(size_t bytes)
{
    double *values = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
    check(values != NULL, "aligned_alloc");
    memset(values, 0, bytes);
    return values;
}

static void make_run(struct run *run, dcl_cluster *cluster, const struct kernel *kernel)
{
    static const double alpha = 1.5, beta = 0.75;
    dcl_map *map = dcl_map_default(cluster);
    *run = (struct run){.cluster = cluster, .kernel = kernel};
    uint32_t state = 1;
    for (const struct array *a = kernel->array; a < kernel->array + MOST_ARRAYS && a->name != NULL; a++) {
        int k = run->arrays++;
        dcl_grid grid = {.rank = a->rank, .type = DCL_DOUBLE};
        memcpy(grid.extent, a->extent, sizeof a->extent);
        run->bytes[k] = (size_t)dcl_grid_count(&grid) * sizeof(double);
        run->first[k] = new_values(run->bytes[k]);
        run->plain[k] = new_values(run->bytes[k]);
        for (size_t e = 0; e < run->bytes[k] / sizeof(double); e++) {
            state = state * 1664525 + 1013904223;
            run->first[k][e] = (double)(state >> 8) * 0x1p-24;
        }
        run->array[k] = dcl_agile(grid, map);
        run->arg[k] = dcl_arg_array(a->access, a->name, run->array[k]);
    }
    run->count = run->arrays;
    run->arg[run->count++] = dcl_arg_signed("n", DCL_INT32, kernel->sizes.n);
    run->arg[run->count++] = dcl_arg_signed("m", DCL_INT32, kernel->sizes.m);
    run->arg[run->count++] = dcl_arg_signed("l", DCL_INT32, kernel->sizes.l);
    run->arg[run->count++] = dcl_arg_signed("steps", DCL_INT32, kernel->sizes.steps);
    run->arg[run->count++] = DCL_VALUE(alpha);
    run->arg[run->count++] = DCL_VALUE(beta);
    dcl_map_release(map);
}

static void end_run(struct run *run)
{
    for (int k = 0; k < run->arrays; k++) {
        free(run->first[k]);
        free(run->plain[k]);
        dcl_release(run->array[k]);
    }
}

/* Give the outputs their first values again, because values grow from call to call. */
static void begin(struct run *run)
{
    for (int k = 0; k < run->arrays; k++) {
        check(dcl_write(run->array[k], NULL, run->first[k], NULL) == DCL_OK, "dcl_write");
        memcpy(run->plain[k], run->first[k], run->bytes[k]);
    }
}

static double by_dcl(struct run *run)
{
    const dcl_call call = dcl_call_loops(run->cluster, run->kernel->text, run->count, run->arg);
    double began = now_ms();
    check(dcl_call_run(&call) == DCL_OK, run->kernel->name);
    check(dcl_wait(run->cluster) == DCL_OK, run->kernel->name);
    return now_ms() - began;
}

static double by_c(struct run *run, run_fn *function)
{
    struct sizes sizes = run->kernel->sizes;
    sizes.alpha = 1.5;
    sizes.beta = 0.75;
    double began = now_ms();
    function(run->plain, &sizes);
    double took = now_ms() - began;
    nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL); /* until OpenMP's threads sleep */
    return took;
}

static void compare_results(struct run *run)
{
    double *found = new_values(run->bytes[0]);
    for (int k = 0; k < run->arrays; k++) {
        found = realloc(found, run->bytes[k]);
        check(found != NULL, "realloc");
        check(dcl_read(run->array[k], NULL, found, NULL) == DCL_OK, "dcl_read");
        if (memcmp(found, run->plain[k], run->bytes[k]) != 0) {
            fprintf(stderr, "%s: %s differs\n", run->kernel->name, run->kernel->array[k].name);
            exit(1);
        }
    }
    free(found);
}

static double explained_ms(struct run *run)
{
    const dcl_call call = dcl_call_loops(run->cluster, run->kernel->text, run->count, run->arg);
    dcl_counters counters;
    double began = now_ms();
    check(dcl_call_explain(&call, 0, &counters) == DCL_OK, "dcl_call_explain");
    return now_ms() - began;
}

static double planned_us, before_us; /* of the last call of dcl_loops() */

static void read_log(void *user, int level, const char *line)
{
    (void)user;
    double started, planned, before;
    const char *said = strstr(line, "dcl_loops: started ");
    said = said != NULL ? strstr(said, " in ") : NULL;
    if (said != NULL &&
        sscanf(said, " in %lf ms; %lf ms of these to plan them, %lf", &started, &planned, &before) == 3) {
        planned_us = planned * 1e3;
        before_us = before * 1e3;
    } else if (level <= 1) {
        fprintf(stderr, "%s\n", line);
    }
}

static double logarithms; /* of the ratios of a place, summed */
static int ratios;
static double triangle_ms, rest_ms; /* of the kernel before, and of its statements without a triangle */

/* Compare a rectangular kernel with the triangular one that was measured before it. */
static void print_instances(const struct kernel *kernel, double ms)
{
    int64_t n = kernel->sizes.n, m = kernel->sizes.m;
    if (strstr(kernel->name, "_rest") != NULL) {
        rest_ms = ms;
        return;
    }
    if (strstr(kernel->name, "_full") != NULL && triangle_ms > 0) {
        double triangle = (triangle_ms - rest_ms) * 2e9 / (double)(n * (n + 1) * m);
        double rectangle = (ms - rest_ms) * 1e9 / (double)(n * n * m);
        printf("%-11s per instance: triangle %.3f ps, rectangle %.3f ps, ratio %.2f\n", kernel->name, triangle,
               rectangle, triangle / rectangle);
        rest_ms = 0;
    }
    triangle_ms = ms;
}

static void measure(dcl_cluster *cluster, const char *where, bool one, int rounds, const struct kernel *kernel)
{
    double dcl[MOST_ROUNDS], plain[MOST_ROUNDS], hand[MOST_ROUNDS], explained[MOST_ROUNDS], planned[MOST_ROUNDS],
        before[MOST_ROUNDS], first_us = 0;
    struct run run;
    make_run(&run, cluster, kernel);
    for (int r = -2; r < rounds; r++) {
        int at = r < 0 ? 0 : r;
        begin(&run);
        check(dcl_wait(cluster) == DCL_OK, "dcl_wait");
        dcl[at] = by_dcl(&run);
        planned[at] = planned_us;
        before[at] = before_us;
        first_us = r == -2 ? planned_us : first_us;
        plain[at] = by_c(&run, one ? kernel->sequential : kernel->parallel);
        if (r == -2)
            compare_results(&run);
        if (kernel->by_hand != NULL && !one) {
            for (int k = 0; k < run.arrays; k++)
                memcpy(run.plain[k], run.first[k], run.bytes[k]);
            hand[at] = by_c(&run, kernel->by_hand);
            if (r == -2)
                compare_results(&run);
        }
        explained[at] = explained_ms(&run);
    }
    double mine = median(rounds, dcl), theirs = median(rounds, plain);
    printf("%-11s %s: dcl %8.2f ms, planned %3.0f us, %3.0f before, at first %5.1f ms, explained %6.2f ms, %s %8.2f "
           "ms, %s / dcl %.2f",
           kernel->name, where, mine, median(rounds, planned), median(rounds, before), first_us / 1e3,
           median(rounds, explained), one ? "gcc" : "OpenMP", theirs, one ? "gcc" : "OpenMP", theirs / mine);
    if (kernel->by_hand != NULL && !one) {
        double by_hand = median(rounds, hand);
        printf(", by hand %.2f ms, dcl / by hand %.2f", by_hand, mine / by_hand);
    }
    printf("\n");
    print_instances(kernel, mine);
    fflush(stdout);
    bool counts = strstr(kernel->name, "_rest") == NULL;
    logarithms += counts ? log(theirs / mine) : 0;
    ratios += counts;
    end_run(&run);
}

/* Whether a name is among those in a list, separated by commas. */
static bool is_listed(const char *list, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = strstr(list, name); at != NULL; at = strstr(at + 1, name))
        if ((at == list || at[-1] == ',') && (at[length] == ',' || at[length] == '\0'))
            return true;
    return false;
}

/* @param names    of some kernels, separated by commas; NULL or "all": all
 * @param workers  NULL: an embedded node */
static void run_place(bool one, int rounds, const char *names, const char *workers)
{
    const char *where = workers != NULL ? workers : one ? "one core " : "two cores";
    dcl_config config;
    check(dcl_config_read(&config) == DCL_OK, "dcl_config_read");
    config.workers = workers;
    config.log = "info";
    config.log_fn = read_log;
    dcl_cluster *cluster = dcl_open(&config);
    check(cluster != NULL, "dcl_open");
    for (size_t k = 0; k < sizeof kernels / sizeof kernels[0]; k++)
        if (names == NULL || strcmp(names, "all") == 0 || is_listed(names, kernels[k].name))
            measure(cluster, where, one, rounds, &kernels[k]);
    check(ratios > 0, "no such kernel");
    printf("geometric mean of %d, %s, %s / dcl: %.2f\n", ratios, where, one ? "gcc" : "OpenMP",
           exp(logarithms / ratios));
    check(dcl_close(cluster) == DCL_OK, "dcl_close");
}

int main(int count, char *arguments[])
{
    int rounds = count > 1 ? atoi(arguments[1]) : 5;
    check(rounds > 0 && rounds <= MOST_ROUNDS, "rounds");
    printf("DCL %s, commit %s, loops\n", dcl_version(), bench_commit);
    fflush(stdout);
    if (count > 3) {
        run_place(false, rounds, arguments[2], arguments[3]);
        return EXIT_SUCCESS;
    }
    pid_t child = fork(); /* before PoCL is started: it reads the number of threads then */
    check(child >= 0, "fork");
    if (child == 0) {
        run_place(false, rounds, count > 2 ? arguments[2] : NULL, NULL);
        return EXIT_SUCCESS;
    }
    int status;
    check(waitpid(child, &status, 0) == child, "waitpid");
    if (status != 0)
        return EXIT_FAILURE;
    setenv("POCL_MAX_PTHREAD_COUNT", "1", 1);
    run_place(true, rounds, count > 2 ? arguments[2] : NULL, NULL);
    return EXIT_SUCCESS;
}
