/* 21_ported.c - a program for one processor that runs on all devices: two pragmas around its loops are all that was added.
 * A plate is hot at one edge; its heat spreads, and what is left is drawn.
 *
 *      cc 21_ported.c                                    compilers ignore the pragmas: the program as it was before
 *      dcl loops 21_ported.c -o ported.c                 writes it with calls of DCL in place of the loops
 *      cc ported.c $(pkg-config --cflags --libs dcl)     runs them on all devices, with the same results
 *      dcl loops 21_ported.c --report                    says what runs in parallel, and why */
#include <stdio.h>
#include <stdlib.h>

#define ROWS 96
#define COLUMNS (2 * ROWS)
enum { STEPS = 100 };

static double heat[ROWS][COLUMNS], next[ROWS][COLUMNS];

/* Let the heat spread: an element goes towards the mean of its neighbours. */
static void spread(double rate)
{
#pragma dcl loops inout(double heat[ROWS][COLUMNS], double next[ROWS][COLUMNS]) value(double rate)
    for (int t = 0; t < STEPS; t++) {
        for (int i = 1; i < ROWS - 1; i++)
            for (int j = 1; j < COLUMNS - 1; j++)
                next[i][j] = heat[i][j] + rate * (heat[i - 1][j] + heat[i + 1][j] + heat[i][j - 1] + heat[i][j + 1] -
                                                  4.0 * heat[i][j]);
        for (int i = 1; i < ROWS - 1; i++)
            for (int j = 1; j < COLUMNS - 1; j++)
                heat[i][j] = next[i][j];
    }
#pragma dcl end
}

/* Mean of each column: the sums are added in the order of the loop. */
static void find_means(int rows, int columns, double (*of)[columns], double *mean)
{
    int i = 0, j;
#pragma dcl loops in(double of[rows][columns])out(double mean[columns])
    for (j = 0; j < columns; j++) {
        mean[j] = 0.0;
        for (i = 0; i < rows; i++)
            mean[j] += of[i][j];
        mean[j] /= rows;
    }
#pragma dcl end
    printf("%d rows, %d columns\n", i, j); /* the counters have the values that C gives them */
}

int main(void)
{
    static const char shades[] = " .:-=+*#%@";
    double *mean = malloc(COLUMNS * sizeof *mean);
    if (mean == NULL)
        return EXIT_FAILURE;
    for (int i = 0; i < ROWS; i++)
        heat[i][0] = i < ROWS / 2 ? 100.0 : 20.0;
    spread(0.2);
    find_means(ROWS, COLUMNS, heat, mean);
    for (int i = 0; i < ROWS; i += 8) {
        for (int j = 0; j < COLUMNS / 4; j++)
            putchar(shades[(int)(heat[i][j] / 100.0 * 9.99)]);
        putchar('\n');
    }
    for (int j = 0; j < COLUMNS; j += 24)
        printf("mean of column %3d: %.17g\n", j, mean[j]);
    free(mean);
    return EXIT_SUCCESS;
}
