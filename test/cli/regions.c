/* cli/regions.c - regions of many forms, for loops_test.py: this program, and what `dcl loops` makes of it, print the same.
 * regions wrong, regions streamed: regions that must run as written; regions lost: one that fails midway. */
#define _FILE_OFFSET_BITS 64
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N 40
#define HALF (N / 2) /* half of them */
#define LONG (500 * N)
#define SHIFT -3
#define SCALE 0.125
enum { FIRST, SECOND = 7, THIRD, WIDTH = (SECOND << 2) + 2 };

static double A[N][N], B[N][N];
static float f[N], g[3][4][WIDTH];
static int32_t counts[N];

static double sum(size_t count, const double *of)
{
    double total = 0;
    for (size_t i = 0; i < count; i++)
        total += (double)(i % 7 + 1) * of[i];
    return total;
}

static void fill(void)
{
    for (int i = 0; i < N; i++) {
        f[i] = (float)(i * i % 11);
        counts[i] = i;
        for (int j = 0; j < N; j++) {
            A[i][j] = (i * 7 + j * 3) % 13 / 3.0;
            B[i][j] = i - j;
        }
    }
}

/* Counters that are declared outside, of loops of all forms: with steps, down, triangles, conditions, no iterations. */
static void counters(int n, int none)
{
    int i = -1, j = -2, k = -3, l = -4, m = -5, p = -6, q = -7;
    long r = -8, v = -9;
#pragma dcl loops inout(double A[N][N], double B[N][N]) value(int n, int none)
    for (i = 0; i < n; i++)
        for (j = i + 1; j < n; j++)
            A[i][j] += 1;
    for (k = n - 1; k >= 3; k -= 3)
        B[k][0] = k;
    for (l = 1; l <= n - 2; l = l + 4) {
        for (m = 0; m < none; m++)
            B[l][m] = 0;
        if (l > 5) {
            for (p = l; p > 2; --p)
                B[l][p] *= 2;
        } else
            for (int s = 0; s < 2; s++)
                for (q = s; q < 3; ++q)
                    B[l][q + s] = SCALE;
    }
    for (r = 2; r < n; r += 5)
        A[r][r] = r;
    {
        int t, u = 0;
        for (t = 1; t < 4; t++)
            for (v = t; v < 2 * t; v++)
                B[t][v] -= v;
        for (u = 2; u < 4; u++)
            A[u][0] = 3 * u;
    }
#pragma dcl end
    printf("counters %d %d %d %d %d %d %d %ld %ld: %.17g %.17g\n", i, j, k, l, m, p, q, r, v, sum(N * N, A[0]),
           sum(N * N, B[0]));
}

/* Clauses over several lines, types, names of constants, and text in comments: "*\/ // ?\?/ */
static void constants(const float *from, int n)
{
#pragma dcl loops in(const float from[N])out(float g[3][4][WIDTH], int32_t counts[N]), /* a comment \
    over lines */ \
    value(int n)
    for (int a = 0; a < 3; a++) // "a string"
        for (int b = 0; b < 4; b++)
            for (int c = FIRST; c < WIDTH; c++)
                g[a][b][c] = (float)(a + THIRD) * from[c + n - N] + b; /* \ */

    for (int i = HALF; i < N + SHIFT; i++)
        counts[i] = i * SECOND;
#pragma dcl end
    double total = 0;
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 4; b++)
            for (int c = 0; c < WIDTH; c++)
                total += (a + 1) * (b + 1) * c * (double)g[a][b][c];
    for (int i = 0; i < N; i++)
        total += i * counts[i];
    printf("constants %.17g\n", total);
}

/* A region in a loop, of memory from malloc, behind a label and in a branch; braces of its own. */
static void repeated(int rows, int columns)
{
    double(*u)[columns] = malloc(sizeof(double[rows][columns])), *v = malloc(columns * sizeof *v);
    if (u == NULL || v == NULL)
        exit(EXIT_FAILURE);
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j++)
            u[i][j] = i + j;
    for (int round = 0; round < 3; round++) {
        switch (round % 2) {
        default:
#pragma dcl loops in(double u[rows][columns])out(double v[columns])
        {
            for (int j = 0; j < columns; j++) {
                double s = 0;
                for (int i = 0; i < rows; i++)
                    s += u[i][j];
                v[j] = s / rows;
            }
        }
#pragma dcl end
        }
#pragma dcl loops inout(double u[rows][columns], double v[columns]) value(int round)
        for (int i = 0; i < rows; i++)
            for (int j = 0; j < columns; j++)
                u[i][j] = u[i][j] * (round + 2) - v[j] / 3;
#pragma dcl end
    }
    printf("repeated %.17g\n", sum((size_t)rows * columns, u[0]));
    free(v);
    free(u);
}

/* Matrices behind pointers to their elements, with one subscript that counts elements; the clause says one axis, or two. */
static void flat(int rows, int columns)
{
    double *u = malloc(sizeof(double[rows][columns])), *v = calloc((size_t)rows * columns, sizeof *v);
    int i = -1, j = -1;
    if (u == NULL || v == NULL)
        exit(EXIT_FAILURE);
    for (int k = 0; k < rows * columns; k++)
        u[k] = k % 11 / 7.0;
#pragma dcl loops in(double u[rows * columns]) inout(double v[rows * columns])
    for (i = 1; i < rows - 1; i++)
        for (j = columns - 2; j > 0; j--)
            v[i * columns + j] = u[(i - 1) * columns + j] + 2 * u[i * columns + j - 1] - u[i * columns + columns - 1];
#pragma dcl end
#pragma dcl loops in(double u[rows][columns])inout(double v[rows][columns])
    for (i = 0; i < rows; ++i)
        for (j = 0; j < columns; ++j)
            v[i * columns + j] += u[i * columns + 3] * u[j];
#pragma dcl end
    printf("flat %d %d %.17g\n", i, j, sum((size_t)rows * columns, v));
    free(v);
    free(u);
}

/* What DCL refuses when the program runs, each in a loop: it is told once. */
static void wrong(int n)
{
    static double u[N][N + 2], w[LONG];
    for (int round = 0; round < 2; round++) {
#pragma dcl loops inout(double w[500 * n])
        for (int i = 1; i < 500 * n; i++)
            w[i] = w[i - 1] + i;
#pragma dcl end
#pragma dcl loops inout(double u[n][n])
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++)
                u[i][j] += i - j;
#pragma dcl end
    }
    printf("wrong %.17g %.17g: all runs as it would without DCL, with its reasons on the standard error\n", w[LONG - 1],
           sum(N * (N + 2), u[0]));
}

static double row[LONG], next[LONG];

/* The second operation needs a copy of an array, which is refused if the arrays do not fit the nodes. */
static void streamed(int n)
{
#pragma dcl loops inout(double row[LONG], double next[LONG]) value(int n)
    for (int i = 0; i < n; i++)
        row[i] += 1;
    for (int i = 0; i < n - 1; i++)
        next[i] = next[i] + next[i + 1];
#pragma dcl end
    printf("streamed %.17g %.17g\n", row[0], sum(LONG, row));
}

/* Another function than the one of OpenCL C, which has no version for numbers of type long. */
static long mul24(long a, long b) { return a < b ? a : b; }

/* Loops whose second operation the compilers of devices refuse. */
static void lost(int n)
{
#pragma dcl loops inout(double row[LONG], double next[LONG]) value(int n)
    for (int i = 0; i < n; i++)
        row[i] += 1;
    for (int i = 0; i < n; i++)
        next[i] = next[i] + mul24((long)row[i], (long)2);
#pragma dcl end
    printf("lost %.17g\n", sum(LONG, next));
}

int main(int count, char **list)
{
    fill();
    if (count > 1 && strcmp(list[1], "wrong") == 0) {
        wrong(N);
        return EXIT_SUCCESS;
    }
    if (count > 1 && strcmp(list[1], "streamed") == 0) {
        streamed(LONG);
        return EXIT_SUCCESS;
    }
    if (count > 1 && strcmp(list[1], "lost") == 0) {
        lost(LONG);
        return EXIT_SUCCESS;
    }
    counters(N, 0);
    constants(f, N);
    repeated(30, 17);
    flat(30, 17);
    return EXIT_SUCCESS;
}
