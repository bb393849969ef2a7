/* 14_blur.c - a Gaussian blur of a photograph: a loop inside a body, and a boundary that repeats the pixels at the edge.
 * Blurs a picture of its own, or a binary PPM with 8 bits: DCL_WORKERS=local:4 14_blur photograph.ppm blurred.ppm
 * Built against an installed DCL: cc 14_blur.c $(pkg-config --cflags --libs dcl) -lm */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <dcl.h>

enum { RADIUS = 8, TAPS = 2 * RADIUS + 1, MOST = 1 << 14 };

#define TAPS_OF "float s = 0; for (int d = -8; d <= 8; d++) s += G(d+8) * "
static const char along_rows[] = TAPS_OF "A(i,clamp(j+d,0,columns-1)); T(i,j) = s;";
static const char along_columns[] = TAPS_OF "T(clamp(i+d,0,rows-1),j); B(i,j) = s;";

static long rows = 240, columns = 320;
static unsigned char *picture; /* [rows][columns][3] */

static void stop(const char *what, const char *why)
{
    fprintf(stderr, "%s: %s\n", what, why);
    exit(EXIT_FAILURE);
}

static void check(dcl_status status, const char *call)
{
    if (status != DCL_OK)
        stop(call, dcl_error());
}

static void *zeros(long count, size_t bytes)
{
    void *memory = calloc((size_t)count, bytes);
    if (memory == NULL)
        stop("calloc", "there is not enough memory for the picture");
    return memory;
}

static void draw(void)
{
    picture = zeros(rows * columns, 3);
    for (long e = 0; e < rows * columns; e++) {
        long y = e / columns - rows / 2, x = e % columns - columns / 2;
        picture[3 * e] = (long)sqrt((double)(x * x + y * y)) / 15 % 2 == 0 ? 230 : 20;
        picture[3 * e + 1] = x / 10 % 2 == 0 ? 200 : 60;
        picture[3 * e + 2] = (unsigned char)(e / columns);
    }
}

static void load(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL || fscanf(file, "P6 %ld %ld 255", &columns, &rows) != 2 || fgetc(file) == EOF || rows < 1 ||
        columns < 1 || rows > MOST || columns > MOST)
        stop(path, "expected a binary PPM with 8 bits per colour, without comments");
    picture = zeros(rows * columns, 3);
    if (fread(picture, 3, (size_t)(rows * columns), file) != (size_t)(rows * columns))
        stop(path, "the file ends too early");
    fclose(file);
}

static void save(const char *path)
{
    FILE *file = fopen(path, "wb");
    if (file == NULL || fprintf(file, "P6\n%ld %ld\n255\n", columns, rows) < 0 ||
        fwrite(picture, 3, (size_t)(rows * columns), file) != (size_t)(rows * columns) || fclose(file) != 0)
        stop(path, "cannot be written");
}

/* One pass of plain C along lines of `length` elements, neighbours in which are `step` elements apart. */
static void plain_pass(const float *in, float *out, const float weight[], long step, long length)
{
    for (long e = 0; e < rows * columns; e++) {
        long place = e / step % length;
        out[e] = 0;
        for (long d = -RADIUS; d <= RADIUS; d++) {
            long to = place + d < 0 ? 0 : place + d >= length ? length - 1 : place + d;
            out[e] += weight[d + RADIUS] * in[e + (to - place) * step];
        }
    }
}

int main(int count, char **arguments)
{
    (count > 1) ? load(arguments[1]) : draw();
    float *plane = zeros(rows * columns, sizeof *plane), *half = zeros(rows * columns, sizeof *half);
    float *whole = zeros(rows * columns, sizeof *whole), weight[TAPS], sum = 0, largest = 0;
    dcl_cluster *cluster = dcl_open(NULL);
    dcl_map *map = dcl_map_default(cluster);
    dcl_grid grid = dcl_grid_2d(DCL_FLOAT, rows, columns);
    dcl_array *A = dcl_agile(grid, map), *T = dcl_agile(grid, map), *B = dcl_agile(grid, map);
    dcl_array *G = dcl_agile(dcl_grid_1d(DCL_FLOAT, TAPS), map);
    for (int d = -RADIUS; d <= RADIUS; d++)
        sum += weight[d + RADIUS] = expf((float)(-d * d) / 32);
    for (int n = 0; n < TAPS; n++)
        weight[n] /= sum;
    check(dcl_write(G, NULL, weight, NULL), "dcl_write");
    for (int colour = 0; colour < 3; colour++) {
        for (long e = 0; e < rows * columns; e++)
            plane[e] = picture[3 * e + colour];
        check(dcl_write(A, NULL, plane, NULL), "dcl_write");
        /* The loops' bounds are known: of other nodes' pixels, only the 8 rows next to a node's own move to it. */
        check(dcl_forall(cluster, along_rows, DCL_OUT(T), DCL_IN(A), DCL_IN(G), DCL_VALUE(columns)), "dcl_forall");
        check(dcl_forall(cluster, along_columns, DCL_OUT(B), DCL_IN(T), DCL_IN(G), DCL_VALUE(rows)), "dcl_forall");
        plain_pass(plane, half, weight, 1, columns);
        plain_pass(half, whole, weight, columns, rows);
        check(dcl_read(B, NULL, plane, NULL), "dcl_read");
        for (long e = 0; e < rows * columns; e++) {
            largest = fmaxf(largest, fabsf(plane[e] - whole[e]));
            picture[3 * e + colour] = (unsigned char)(plane[e] + 0.5f);
        }
    }
    printf("%ld x %ld pixels: largest difference from plain loops %g of 255\n", rows, columns, largest);
    if (count > 2)
        save(arguments[2]);
    dcl_release(map);
    check(dcl_close(cluster), "dcl_close"); /* releases the arrays */
    free(plane), free(half), free(whole), free(picture);
    return largest < 0.001f ? EXIT_SUCCESS : EXIT_FAILURE;
}
