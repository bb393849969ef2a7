/* support/kernels.c - loop nests: kernels of linear algebra and stencils. */
#include "support/kernels.h"

#include <math.h>
#include <stdio.h>

enum { N = TEST_KERNEL_N, M = TEST_KERNEL_M, L = TEST_KERNEL_L, STEPS = TEST_KERNEL_STEPS };

/* The arrays of a kernel, in the order of its table. */
#define V(name, k) double *const name = p[k];
#define A2(name, k, columns) double(*const name)[columns] = (double(*)[columns])p[k];
#define A3(name, k, rows, columns) double(*const name)[rows][columns] = (double(*)[rows][columns])p[k];

/* Define a kernel as a C function and as a text. */
#define KERNEL(name, arrays, ...)                                                                  \
    static void name##_run(double *p[], int n, int m, int l, int steps, double alpha, double beta) \
    {                                                                                              \
        int i = 0, j = 0, k = 0, t = 0, q = 0, r = 0, s = 0;                                       \
        arrays __VA_ARGS__;                                                                        \
        (void)n, (void)m, (void)l, (void)steps, (void)alpha, (void)beta;                           \
        (void)i, (void)j, (void)k, (void)t, (void)q, (void)r, (void)s;                             \
    }                                                                                              \
    static const char name##_text[] = #__VA_ARGS__ ";";

/* clang-format off */
KERNEL(gemm, A2(C, 0, M) A2(A, 1, L) A2(B, 2, M),
    for (i = 0; i < n; i++) {
        for (j = 0; j < m; j++) C[i][j] *= beta;
        for (k = 0; k < l; k++)
            for (j = 0; j < m; j++) C[i][j] += alpha * A[i][k] * B[k][j];
    })
KERNEL(two_mm, A2(D, 0, N) A2(T, 1, M) A2(A, 2, L) A2(B, 3, M) A2(C, 4, N),
    for (i = 0; i < n; i++)
        for (j = 0; j < m; j++) {
            T[i][j] = 0.0;
            for (k = 0; k < l; ++k) T[i][j] += alpha * A[i][k] * B[k][j];
        }
    for (i = 0; i < n; i++)
        for (j = 0; j < n; j++) {
            D[i][j] *= beta;
            for (k = 0; k < m; ++k) D[i][j] += T[i][k] * C[k][j];
        })
KERNEL(mvt, V(x, 0) V(y, 1) V(u, 2) V(v, 3) A2(A, 4, N),
    for (i = 0; i < n; i++) for (j = 0; j < n; j++) x[i] = x[i] + A[i][j] * u[j];
    for (i = 0; i < n; i++) for (j = 0; j < n; j++) y[i] = y[i] + A[j][i] * v[j])
KERNEL(gesummv, V(y, 0) V(w, 1) V(x, 2) A2(A, 3, N) A2(B, 4, N),
    for (i = 0; i < n; i++) {
        w[i] = 0.0;
        y[i] = 0.0;
        for (j = 0; j < n; j++) {
            w[i] = A[i][j] * x[j] + w[i];
            y[i] = B[i][j] * x[j] + y[i];
        }
        y[i] = alpha * w[i] + beta * y[i];
    })
KERNEL(atax, V(y, 0) V(w, 1) V(x, 2) A2(A, 3, M),
    for (i = 0; i < m; i++) y[i] = 0;
    for (i = 0; i < n; i++) {
        w[i] = 0.0;
        for (j = 0; j < m; j++) w[i] = w[i] + A[i][j] * x[j];
        for (j = 0; j < m; j++) y[j] = y[j] + A[i][j] * w[i];
    })
KERNEL(bicg, V(x, 0) V(y, 1) V(u, 2) V(v, 3) A2(A, 4, M),
    for (i = 0; i < m; i++) x[i] = 0;
    for (i = 0; i < n; i++) {
        y[i] = 0.0;
        for (j = 0; j < m; j++) {
            x[j] = x[j] + u[i] * A[i][j];
            y[i] = y[i] + A[i][j] * v[j];
        }
    })
KERNEL(jacobi_1d, V(A, 0) V(B, 1),
    for (t = 0; t < steps; t++) {
        for (i = 1; i < n - 1; i++) B[i] = 0.33333 * (A[i-1] + A[i] + A[i + 1]);
        for (i = 1; i < n - 1; i++) A[i] = 0.33333 * (B[i-1] + B[i] + B[i + 1]);
    })
KERNEL(jacobi_2d, A2(A, 0, N) A2(B, 1, N),
    for (t = 0; t < steps; t++) {
        for (i = 1; i < n - 1; i++)
            for (j = 1; j < n - 1; j++) B[i][j] = 0.2 * (A[i][j] + A[i][j-1] + A[i][1+j] + A[1+i][j] + A[i-1][j]);
        for (i = 1; i < n - 1; i++)
            for (j = 1; j < n - 1; j++) A[i][j] = 0.2 * (B[i][j] + B[i][j-1] + B[i][1+j] + B[1+i][j] + B[i-1][j]);
    })
KERNEL(doitgen, A3(A, 0, 4, L) V(w, 1) A2(C, 2, L),
    for (r = 0; r < 3; r++)
        for (q = 0; q < 4; q++) {
            for (k = 0; k < l; k++) {
                w[k] = 0.0;
                for (s = 0; s < l; s++) w[k] += A[r][q][s] * C[s][k];
            }
            for (k = 0; k < l; k++) A[r][q][k] = w[k];
        })
KERNEL(trmm, A2(B, 0, M) A2(A, 1, N),
    for (i = 0; i < n; i++)
        for (j = 0; j < m; j++) {
            for (k = i + 1; k < n; k++) B[i][j] += A[k][i] * B[k][j];
            B[i][j] = alpha * B[i][j];
        })
KERNEL(syrk, A2(C, 0, N) A2(A, 1, M),
    for (i = 0; i < n; i++) {
        for (j = 0; j <= i; j++) C[i][j] *= beta;
        for (k = 0; k < m; k++)
            for (j = 0; j <= i; j++) C[i][j] += alpha * A[i][k] * A[j][k];
    })
KERNEL(syr2k, A2(C, 0, N) A2(A, 1, M) A2(B, 2, M),
    for (i = 0; i < n; i++) {
        for (j = 0; j <= i; j++) C[i][j] *= beta;
        for (k = 0; k < m; k++)
            for (j = 0; j <= i; j++) C[i][j] += A[j][k] * alpha * B[i][k] + B[j][k] * alpha * A[i][k];
    })
KERNEL(three_mm, A2(G, 0, N) A2(E, 1, M) A2(F, 2, N) A2(A, 3, L) A2(B, 4, M) A2(C, 5, L) A2(D, 6, N),
    for (i = 0; i < n; i++)
        for (j = 0; j < m; j++) {
            E[i][j] = 0.0;
            for (k = 0; k < l; ++k) E[i][j] += A[i][k] * B[k][j];
        }
    for (i = 0; i < m; i++)
        for (j = 0; j < n; j++) {
            F[i][j] = 0.0;
            for (k = 0; k < l; ++k) F[i][j] += C[i][k] * D[k][j];
        }
    for (i = 0; i < n; i++)
        for (j = 0; j < n; j++) {
            G[i][j] = 0.0;
            for (k = 0; k < m; ++k) G[i][j] += E[i][k] * F[k][j];
        })
KERNEL(gemver, A2(A, 0, N) V(u, 1) V(v, 2) V(u2, 3) V(v2, 4) V(w, 5) V(x, 6) V(y, 7) V(z, 8),
    for (i = 0; i < n; i++) for (j = 0; j < n; j++) A[i][j] = A[i][j] + u[i] * v[j] + u2[i] * v2[j];
    for (i = 0; i < n; i++) for (j = 0; j < n; j++) x[i] = x[i] + beta * A[j][i] * y[j];
    for (i = 0; i < n; i++) x[i] = x[i] + z[i];
    for (i = 0; i < n; i++) for (j = 0; j < n; j++) w[i] = w[i] + alpha * A[i][j] * x[j])
KERNEL(covariance, A2(A, 0, M) A2(C, 1, M) V(mean, 2),
    for (j = 0; j < m; j++) {
        mean[j] = 0.0;
        for (i = 0; i < n; i++) mean[j] += A[i][j];
        mean[j] /= n;
    }
    for (i = 0; i < n; i++) for (j = 0; j < m; j++) A[i][j] -= mean[j];
    for (i = 0; i < m; i++)
        for (j = i; j < m; j++) {
            C[i][j] = 0.0;
            for (k = 0; k < n; k++) C[i][j] += A[k][i] * A[k][j];
            C[i][j] /= (n - 1.0);
            C[j][i] = C[i][j];
        })
KERNEL(correlation, A2(A, 0, M) A2(C, 1, M) V(mean, 2) V(deviation, 3),
    for (j = 0; j < m; j++) {
        mean[j] = 0.0;
        for (i = 0; i < n; i++) mean[j] += A[i][j];
        mean[j] /= n;
    }
    for (j = 0; j < m; j++) {
        deviation[j] = 0.0;
        for (i = 0; i < n; i++) deviation[j] += (A[i][j] - mean[j]) * (A[i][j] - mean[j]);
        deviation[j] /= n;
        deviation[j] = sqrt(deviation[j]);
        deviation[j] = deviation[j] <= 0.1 ? 1.0 : deviation[j];
    }
    for (i = 0; i < n; i++)
        for (j = 0; j < m; j++) {
            A[i][j] -= mean[j];
            A[i][j] /= sqrt((double)n) * deviation[j];
        }
    for (i = 0; i < m - 1; i++) {
        C[i][i] = 1.0;
        for (j = i + 1; j < m; j++) {
            C[i][j] = 0.0;
            for (k = 0; k < n; k++) C[i][j] += (A[k][i] * A[k][j]);
            C[j][i] = C[i][j];
        }
    }
    C[m - 1][m - 1] = 1.0)
KERNEL(heat_3d, A3(A, 0, L, L) A3(B, 1, L, L),
    for (t = 1; t <= steps; t++) {
        for (i = 1; i < l - 1; i++) for (j = 1; j < l - 1; j++) for (k = 1; k < l - 1; k++)
            B[i][j][k] = 0.125 * (A[i+1][j][k] - 2.0 * A[i][j][k] + A[i-1][j][k])
                       + 0.125 * (A[i][j+1][k] - 2.0 * A[i][j][k] + A[i][j-1][k])
                       + 0.125 * (A[i][j][k+1] - 2.0 * A[i][j][k] + A[i][j][k-1]) + A[i][j][k];
        for (i = 1; i < l - 1; i++) for (j = 1; j < l - 1; j++) for (k = 1; k < l - 1; k++)
            A[i][j][k] = 0.125 * (B[i+1][j][k] - 2.0 * B[i][j][k] + B[i-1][j][k])
                       + 0.125 * (B[i][j+1][k] - 2.0 * B[i][j][k] + B[i][j-1][k])
                       + 0.125 * (B[i][j][k+1] - 2.0 * B[i][j][k] + B[i][j][k-1]) + B[i][j][k];
    })
KERNEL(fdtd_2d, A2(ex, 0, M) A2(ey, 1, M) A2(hz, 2, M) V(start, 3),
    for (t = 0; t < steps; t++) {
        for (j = 0; j < m; j++) ey[0][j] = start[t];
        for (i = 1; i < n; i++) for (j = 0; j < m; j++) ey[i][j] = ey[i][j] - 0.5 * (hz[i][j] - hz[i-1][j]);
        for (i = 0; i < n; i++) for (j = 1; j < m; j++) ex[i][j] = ex[i][j] - 0.5 * (hz[i][j] - hz[i][j-1]);
        for (i = 0; i < n - 1; i++) for (j = 0; j < m - 1; j++)
            hz[i][j] = hz[i][j] - 0.7 * (ex[i][j+1] - ex[i][j] + ey[i+1][j] - ey[i][j]);
    })
KERNEL(adi, A2(u, 0, N) A2(v, 1, N) A2(P, 2, N) A2(Q, 3, N),
    double DX = 1.0 / (double)n; double DT = 1.0 / (double)steps;
    double mul = 2.0 * DT / (DX * DX); double mul2 = DT / (DX * DX);
    double a = -mul / 2.0; double b = 1.0 + mul; double d = -mul2 / 2.0; double e = 1.0 + mul2;
    for (t = 1; t <= steps; t++) {
        for (i = 1; i < n - 1; i++) {
            v[0][i] = 1.0;
            P[i][0] = 0.0;
            Q[i][0] = v[0][i];
            for (j = 1; j < n - 1; j++) {
                P[i][j] = -a / (a * P[i][j-1] + b);
                Q[i][j] = (-d * u[j][i-1] + (1.0 + 2.0 * d) * u[j][i] - d * u[j][i+1] - a * Q[i][j-1]) / (a * P[i][j-1] + b);
            }
            v[n-1][i] = 1.0;
            for (j = n - 2; j >= 1; j--) v[j][i] = P[i][j] * v[j+1][i] + Q[i][j];
        }
        for (i = 1; i < n - 1; i++) {
            u[i][0] = 1.0;
            P[i][0] = 0.0;
            Q[i][0] = u[i][0];
            for (j = 1; j < n - 1; j++) {
                P[i][j] = -d / (d * P[i][j-1] + e);
                Q[i][j] = (-a * v[i-1][j] + (1.0 + 2.0 * a) * v[i][j] - a * v[i+1][j] - d * Q[i][j-1]) / (d * P[i][j-1] + e);
            }
            u[i][n-1] = 1.0;
            for (j = n - 2; j >= 1; j--) u[i][j] = P[i][j] * u[i][j+1] + Q[i][j];
        }
    })
KERNEL(deriche, A2(out, 0, M) A2(y1, 1, M) A2(y2, 2, M) A2(in, 3, M),
    for (i = 0; i < n; i++) {
        double ym1 = 0.0; double ym2 = 0.0; double xm1 = 0.0;
        for (j = 0; j < m; j++) {
            y1[i][j] = 0.3 * in[i][j] + 0.2 * xm1 + 0.7 * ym1 - 0.1 * ym2;
            xm1 = in[i][j];
            ym2 = ym1;
            ym1 = y1[i][j];
        }
    }
    for (i = 0; i < n; i++) {
        double yp1 = 0.0; double yp2 = 0.0; double xp1 = 0.0; double xp2 = 0.0;
        for (j = m - 1; j >= 0; j--) {
            y2[i][j] = 0.4 * xp1 - 0.3 * xp2 + 0.7 * yp1 - 0.1 * yp2;
            xp2 = xp1;
            xp1 = in[i][j];
            yp2 = yp1;
            yp1 = y2[i][j];
        }
    }
    for (i = 0; i < n; i++) for (j = 0; j < m; j++) out[i][j] = 0.9 * (y1[i][j] + y2[i][j]);
    for (j = 0; j < m; j++) {
        double tm1 = 0.0; double ym1 = 0.0; double ym2 = 0.0;
        for (i = 0; i < n; i++) {
            y1[i][j] = 0.3 * out[i][j] + 0.2 * tm1 + 0.7 * ym1 - 0.1 * ym2;
            tm1 = out[i][j];
            ym2 = ym1;
            ym1 = y1[i][j];
        }
    }
    for (j = 0; j < m; j++) {
        double tp1 = 0.0; double tp2 = 0.0; double yp1 = 0.0; double yp2 = 0.0;
        for (i = n - 1; i >= 0; i--) {
            y2[i][j] = 0.4 * tp1 - 0.3 * tp2 + 0.7 * yp1 - 0.1 * yp2;
            tp2 = tp1;
            tp1 = out[i][j];
            yp2 = yp1;
            yp1 = y2[i][j];
        }
    }
    for (i = 0; i < n; i++) for (j = 0; j < m; j++) out[i][j] = 0.8 * (y1[i][j] + y2[i][j]))
KERNEL(polynomial, V(z, 0) V(x, 1) V(y, 2),
    for (i = 0; i < n; i++) for (j = 0; j < n; j++) z[i+j] += x[i] * y[j])
KERNEL(gaussian, A3(out, 0, M, 3) A3(in, 1, M, 3) A2(weight, 2, 5),
    for (i = 2; i < n - 2; i++) for (j = 2; j < m - 2; j++) for (q = 0; q < 3; q++) {
        out[i][j][q] = 0.0;
        for (r = 0; r < 5; r++) for (s = 0; s < 5; s++) out[i][j][q] += weight[r][s] * in[i+r-2][j+s-2][q];
    })
KERNEL(symm, A2(C, 0, M) A2(A, 1, N) A2(B, 2, M),
    for (i = 0; i < n; i++)
        for (j = 0; j < m; j++) {
            double sum = 0;
            for (k = 0; k < i; k++) {
                C[k][j] += alpha * B[i][j] * A[i][k];
                sum += B[k][j] * A[i][k];
            }
            C[i][j] = beta * C[i][j] + alpha * B[i][j] * A[i][i] + alpha * sum;
        })
KERNEL(trisolv, V(x, 0) A2(A, 1, N) V(b, 2),
    for (i = 0; i < n; i++) {
        x[i] = b[i];
        for (j = 0; j < i; j++) x[i] -= A[i][j] * x[j];
        x[i] = x[i] / A[i][i];
    })
KERNEL(gramschmidt, A2(A, 0, L) A2(R, 1, L) A2(Q, 2, L),
    for (k = 0; k < l; k++) {
        double norm = 0.0;
        for (i = 0; i < n; i++) norm += A[i][k] * A[i][k];
        R[k][k] = sqrt(norm);
        for (i = 0; i < n; i++) Q[i][k] = A[i][k] / R[k][k];
        for (j = k + 1; j < l; j++) {
            R[k][j] = 0.0;
            for (i = 0; i < n; i++) R[k][j] += Q[i][k] * A[i][j];
            for (i = 0; i < n; i++) A[i][j] = A[i][j] - Q[i][k] * R[k][j];
        }
    })
KERNEL(cholesky, A2(A, 0, L),
    for (i = 0; i < l; i++) {
        for (j = 0; j < i; j++) {
            for (k = 0; k < j; k++) A[i][j] -= A[i][k] * A[j][k];
            A[i][j] /= A[j][j];
        }
        for (k = 0; k < i; k++) A[i][i] -= A[i][k] * A[i][k];
        A[i][i] = sqrt(fabs(A[i][i]));
    })
KERNEL(lu, A2(A, 0, L),
    for (i = 0; i < l; i++) {
        for (j = 0; j < i; j++) {
            for (k = 0; k < j; k++) A[i][j] -= A[i][k] * A[k][j];
            A[i][j] /= A[j][j];
        }
        for (j = i; j < l; j++)
            for (k = 0; k < i; k++) A[i][j] -= A[i][k] * A[k][j];
    })
KERNEL(ludcmp, A2(A, 0, L) V(b, 1) V(x, 2) V(y, 3),
    double w;
    for (i = 0; i < l; i++) {
        for (j = 0; j < i; j++) {
            w = A[i][j];
            for (k = 0; k < j; k++) w -= A[i][k] * A[k][j];
            A[i][j] = w / A[j][j];
        }
        for (j = i; j < l; j++) {
            w = A[i][j];
            for (k = 0; k < i; k++) w -= A[i][k] * A[k][j];
            A[i][j] = w;
        }
    }
    for (i = 0; i < l; i++) {
        w = b[i];
        for (j = 0; j < i; j++) w -= A[i][j] * y[j];
        y[i] = w;
    }
    for (i = l - 1; i >= 0; i--) {
        w = y[i];
        for (j = i + 1; j < l; j++) w -= A[i][j] * x[j];
        x[i] = w / A[i][i];
    })
KERNEL(durbin, V(y, 0) V(z, 1) V(x, 2),
    double last; double b; double sum;
    y[0] = -x[0];
    b = 1.0;
    last = -x[0];
    for (k = 1; k < n; k++) {
        b = (1 - last * last) * b;
        sum = 0.0;
        for (i = 0; i < k; i++) sum += x[k-i-1] * y[i];
        last = -(x[k] + sum) / b;
        for (i = 0; i < k; i++) z[i] = y[i] + last * y[k-i-1];
        for (i = 0; i < k; i++) y[i] = z[i];
        y[k] = last;
    })
KERNEL(seidel_2d, A2(A, 0, L),
    for (t = 0; t < steps; t++) for (i = 1; i < l - 1; i++) for (j = 1; j < l - 1; j++)
        A[i][j] = (A[i-1][j-1] + A[i-1][j] + A[i-1][j+1] + A[i][j-1] + A[i][j] + A[i][j+1] + A[i+1][j-1] + A[i+1][j]
                   + A[i+1][j+1]) / 9.0)
KERNEL(nussinov, A2(T, 0, L) V(x, 1),
    for (i = l - 1; i >= 0; i--)
        for (j = i + 1; j < l; j++) {
            if (j - 1 >= 0) T[i][j] = T[i][j] >= T[i][j-1] ? T[i][j] : T[i][j-1];
            if (i + 1 < l) T[i][j] = T[i][j] >= T[i+1][j] ? T[i][j] : T[i+1][j];
            if (j - 1 >= 0 && i + 1 < l) {
                if (i < j - 1)
                    T[i][j] = T[i][j] >= T[i+1][j-1] + (x[i] + x[j] > 0 ? 1 : 0) ? T[i][j]
                                                                                   : T[i+1][j-1] + (x[i] + x[j] > 0 ? 1 : 0);
                else
                    T[i][j] = T[i][j] >= T[i+1][j-1] ? T[i][j] : T[i+1][j-1];
            }
            for (k = i + 1; k < j; k++)
                T[i][j] = T[i][j] >= T[i][k] + T[k+1][j] ? T[i][j] : T[i][k] + T[k+1][j];
        })
KERNEL(floyd_warshall, A2(A, 0, L),
    for (k = 0; k < l; k++) for (i = 0; i < l; i++) for (j = 0; j < l; j++)
        A[i][j] = A[i][j] < A[i][k] + A[k][j] ? A[i][j] : A[i][k] + A[k][j])
/* clang-format on */

#define IN DCL_ACCESS_IN
#define OUT DCL_ACCESS_OUT
#define INOUT DCL_ACCESS_INOUT
#define OF(kernel) .name = #kernel, .text = kernel##_text, .run = kernel##_run
const struct test_kernel test_kernels[] = {
    {OF(gemm), .array = {{"C", 2, {N, M}, INOUT}, {"A", 2, {N, L}, IN}, {"B", 2, {L, M}, IN}}},
    {OF(two_mm), .array = {{"D", 2, {N, N}, INOUT},
                           {"T", 2, {N, M}, OUT},
                           {"A", 2, {N, L}, IN},
                           {"B", 2, {L, M}, IN},
                           {"C", 2, {M, N}, IN}}},
    {OF(mvt),
     .array = {{"x", 1, {N}, INOUT}, {"y", 1, {N}, INOUT}, {"u", 1, {N}, IN}, {"v", 1, {N}, IN}, {"A", 2, {N, N}, IN}}},
    {OF(gesummv),
     .array = {{"y", 1, {N}, OUT}, {"w", 1, {N}, OUT}, {"x", 1, {N}, IN}, {"A", 2, {N, N}, IN}, {"B", 2, {N, N}, IN}}},
    {OF(atax), .array = {{"y", 1, {M}, OUT}, {"w", 1, {N}, OUT}, {"x", 1, {M}, IN}, {"A", 2, {N, M}, IN}}},
    {OF(bicg),
     .array = {{"x", 1, {M}, OUT}, {"y", 1, {N}, OUT}, {"u", 1, {N}, IN}, {"v", 1, {M}, IN}, {"A", 2, {N, M}, IN}}},
    {OF(jacobi_1d), .array = {{"A", 1, {N}, INOUT}, {"B", 1, {N}, INOUT}}},
    {OF(jacobi_2d), .array = {{"A", 2, {N, N}, INOUT}, {"B", 2, {N, N}, INOUT}}},
    {OF(doitgen), .array = {{"A", 3, {3, 4, L}, INOUT}, {"w", 1, {L}, OUT}, {"C", 2, {L, L}, IN}}},
    {OF(trmm), .array = {{"B", 2, {N, M}, INOUT}, {"A", 2, {N, N}, IN}}},
    {OF(syrk), .array = {{"C", 2, {N, N}, INOUT}, {"A", 2, {N, M}, IN}}},
    {OF(syr2k), .array = {{"C", 2, {N, N}, INOUT}, {"A", 2, {N, M}, IN}, {"B", 2, {N, M}, IN}}},
    {OF(three_mm), .array = {{"G", 2, {N, N}, OUT},
                             {"E", 2, {N, M}, OUT},
                             {"F", 2, {M, N}, OUT},
                             {"A", 2, {N, L}, IN},
                             {"B", 2, {L, M}, IN},
                             {"C", 2, {M, L}, IN},
                             {"D", 2, {L, N}, IN}}},
    {OF(gemver), .array = {{"A", 2, {N, N}, INOUT},
                           {"u", 1, {N}, IN},
                           {"v", 1, {N}, IN},
                           {"u2", 1, {N}, IN},
                           {"v2", 1, {N}, IN},
                           {"w", 1, {N}, INOUT},
                           {"x", 1, {N}, INOUT},
                           {"y", 1, {N}, IN},
                           {"z", 1, {N}, IN}}},
    {OF(covariance), .array = {{"A", 2, {N, M}, INOUT}, {"C", 2, {M, M}, OUT}, {"mean", 1, {M}, OUT}}},
    {OF(correlation),
     .array = {{"A", 2, {N, M}, INOUT}, {"C", 2, {M, M}, OUT}, {"mean", 1, {M}, OUT}, {"deviation", 1, {M}, OUT}}},
    {OF(heat_3d), .array = {{"A", 3, {L, L, L}, INOUT}, {"B", 3, {L, L, L}, INOUT}}},
    {OF(fdtd_2d), .array = {{"ex", 2, {N, M}, INOUT},
                            {"ey", 2, {N, M}, INOUT},
                            {"hz", 2, {N, M}, INOUT},
                            {"start", 1, {STEPS}, IN}}},
    {OF(adi),
     .array = {{"u", 2, {N, N}, INOUT}, {"v", 2, {N, N}, INOUT}, {"P", 2, {N, N}, INOUT}, {"Q", 2, {N, N}, INOUT}}},
    {OF(deriche),
     .array = {{"out", 2, {N, M}, OUT}, {"y1", 2, {N, M}, OUT}, {"y2", 2, {N, M}, OUT}, {"in", 2, {N, M}, IN}}},
    {OF(polynomial), .array = {{"z", 1, {2 * N - 1}, INOUT}, {"x", 1, {N}, IN}, {"y", 1, {N}, IN}}},
    {OF(gaussian), .array = {{"out", 3, {N, M, 3}, INOUT}, {"in", 3, {N, M, 3}, IN}, {"weight", 2, {5, 5}, IN}}},
    {OF(symm), .array = {{"C", 2, {N, M}, INOUT}, {"A", 2, {N, N}, IN}, {"B", 2, {N, M}, IN}}},
    {OF(trisolv), .array = {{"x", 1, {N}, OUT}, {"A", 2, {N, N}, IN}, {"b", 1, {N}, IN}}},
    {OF(gramschmidt), .array = {{"A", 2, {N, L}, INOUT}, {"R", 2, {L, L}, INOUT}, {"Q", 2, {N, L}, INOUT}},
     .warned = true},
    {OF(cholesky), .array = {{"A", 2, {L, L}, INOUT}}},
    {OF(lu), .array = {{"A", 2, {L, L}, INOUT}}},
    {OF(ludcmp), .array = {{"A", 2, {L, L}, INOUT}, {"b", 1, {L}, IN}, {"x", 1, {L}, INOUT}, {"y", 1, {L}, INOUT}},
     .warned = true},
    {OF(durbin), .array = {{"y", 1, {N}, INOUT}, {"z", 1, {N}, INOUT}, {"x", 1, {N}, IN}}, .warned = true},
    {OF(seidel_2d), .array = {{"A", 2, {L, L}, INOUT}}, .warned = true},
    {OF(nussinov), .array = {{"T", 2, {L, L}, INOUT}, {"x", 1, {L}, IN}}, .warned = true},
    {OF(floyd_warshall), .array = {{"A", 2, {L, L}, INOUT}}},
};

const int test_kernel_count = (int)(sizeof test_kernels / sizeof test_kernels[0]);

int test_kernel_elements(const struct test_kernel_array *array)
{
    int count = 1;
    for (int d = 0; d < array->rank; d++)
        count *= array->extent[d];
    return count;
}

int test_kernel_names(const struct test_kernel *kernel, dcli_loops_name names_out[])
{
    static const char *const scalars[] = {"n", "m", "l", "steps", "alpha", "beta"};
    static const int values[] = {N, M, L, STEPS};
    int count = 0;
    for (const struct test_kernel_array *a = kernel->array; a < kernel->array + TEST_KERNEL_ARRAYS && a->name != NULL;
         a++) {
        dcli_loops_name *name = &names_out[count++];
        *name =
            (dcli_loops_name){.access = a->access, .type = DCL_DOUBLE, .grid = {.rank = a->rank, .type = DCL_DOUBLE}};
        snprintf(name->name, sizeof name->name, "%s", a->name);
        for (int d = 0; d < a->rank; d++)
            name->grid.extent[d] = a->extent[d];
    }
    for (int k = 0; k < 6; k++) {
        dcli_loops_name *name = &names_out[count++];
        *name =
            (dcli_loops_name){.access = DCL_ACCESS_VALUE, .type = k < 4 ? DCL_INT32 : DCL_DOUBLE, .is_integer = k < 4};
        snprintf(name->name, sizeof name->name, "%s", scalars[k]);
        name->value = k < 4 ? values[k] : 0;
    }
    return count;
}
