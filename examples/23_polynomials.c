/* 23_polynomials.c - the product of two polynomials. No loop is parallel as written: many iterations add to one coefficient. But those
 * of different i + j are independent, so DCL starts a thread for each coefficient, 2 N - 1 of them. `dcl loops` says the same of the loops in a
 * file. Built against an installed DCL, without fused multiply-adds, because bits are compared:
 * cc -ffp-contract=off 23_polynomials.c $(pkg-config --cflags --libs dcl) */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dcl.h>

enum { N = 2000 };

static double x[N], y[N], z[2 * N - 1], right[2 * N - 1];

static const char product[] = "for (i = 0; i < n; i++)\n"
                              "    for (j = 0; j < n; j++)\n"
                              "        z[i + j] += x[i] * y[j];\n";

int main(void)
{
    const int n = N;
    for (int i = 0; i < N; i++) {
        x[i] = (7 * i % 100 - 50) / 7.0;
        y[i] = (3 * i % 50 - 20) / 3.0;
    }
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            right[i + j] += x[i] * y[j];

    dcl_cluster *cluster = dcl_open(NULL);
    dcl_status status =
        dcl_loops(cluster, product, DCL_HOST_INOUT(z, 2 * N - 1), DCL_HOST_IN(x, N), DCL_HOST_IN(y, N), DCL_VALUE(n));
    if (status != DCL_OK) {
        fprintf(stderr, "dcl_loops: %s: %s\n", dcl_status_name(status), dcl_error());
        return EXIT_FAILURE;
    }
    dcl_close(cluster);

    int differ = memcmp(z, right, sizeof z) != 0; /* each coefficient is added up in the order of the loops */
    printf("the coefficients %s the bits of the plain loops\n", differ ? "do not have" : "have");
    return differ ? EXIT_FAILURE : EXIT_SUCCESS;
}
