/* cli/nearest.c - edit distance. Source: Levenshtein, Soviet Physics Doklady 10 (1966). */
#include "cli/nearest.h"

#include <string.h>

enum { MOST = 32 }; /* number of letters that are compared; no option is longer */

static int smallest(int a, int b, int c)
{
    int least = a < b ? a : b;
    return least < c ? least : c;
}

static int distance(const char *a, const char *b)
{
    int a_length = (int)strnlen(a, MOST), b_length = (int)strnlen(b, MOST);
    int row[MOST + 1];
    for (int y = 0; y <= b_length; y++)
        row[y] = y;
    for (int x = 1; x <= a_length; x++) {
        int diagonal = row[0];
        row[0] = x;
        for (int y = 1; y <= b_length; y++) {
            int above = row[y];
            row[y] = smallest(above + 1, row[y - 1] + 1, diagonal + (a[x - 1] != b[y - 1]));
            diagonal = above;
        }
    }
    return row[b_length];
}

int cli_nearest(const char *word, int count, const char *const words[])
{
    int best = 0;
    for (int w = 1; w < count; w++)
        if (distance(word, words[w]) < distance(word, words[best]))
            best = w;
    return best;
}
