/* test/support/sweep_bodies.h - bodies that kernels for CPUs run in sweeps: rows of a name, a text, and true. Arrays: C, A, B of rank 2;
 * values n and m. */
#ifndef TEST_SUPPORT_SWEEP_BODIES_H
#define TEST_SUPPORT_SWEEP_BODIES_H

/* clang-format off */
#define TEST_SWEEP_BODIES \
    {"a product", "double s = C(i,j); for (long k = 0; k < n; k++) s += A(i,k) * B(k,j); C(i,j) = s;", true}, \
    {"a product without a variable", "for (int k = 0; k <= n; k++) C(i,j) += A(i,k) * B(k,j);", true}, \
    {"limits", "double s = 0; for (long k = 0; k < n; k++) { if (k < i - 2) continue; if (k > j + m) break; s += B(k,j); } C(i,j) = s;", true}, \
    {"a condition around a loop", "double s = 0; if (j <= i && i > 2) { for (long k = 0; k < n; k++) s += B(k,j); } C(i,j) = s;", true}, \
    {"loops in each other", "double s = 0; for (long k = 0; k < n; k++) { double t = k; for (long x = 0; x < m; x++) { if (x > k) break; t += B(x,j); } s += t * A(i,k); } C(i,j) = s;", true}, \
    {"a short loop in a long one", "double s = 0; for (long k = 0; k < n; k++) { for (int x = 0; x < 3; x++) s += B(k+x,j); } C(i,j) = s;", true}, \
    {"neighbours", "double s = 0; for (long k = 0; k < n; k++) { s += A(i,j+k); } C(i,j) = s;", true}, \
    {"a name used again after the loop", "double s = 0; for (long k = 0; k < n; k++) { double t = B(k,j); s += t * t; } if (s > 1) { double t = s; C(i,j) = t; }", true}, \
    {"a sum changed in parentheses", "double s = 0, t = 0; for (long k = 0; k < n; k++) { t = ((s) += B(k,j)) * 0; } C(i,j) = s + t;", true}, \
    {"remainders of literals", "double s = 0; if (i % 3 > 0) { for (long k = 0; k < n; k++) { if (k > j % 7) break; s += B(k,j); } } C(i,j) = s;", true}, \
    {"a real condition", "double s = 0; if (i > 2.5f) { for (long k = 0; k < n; k++) s += B(k,j); } C(i,j) = s;", true},
/* clang-format on */

#endif
