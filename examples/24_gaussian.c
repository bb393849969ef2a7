/* 24_gaussian.c - a Gaussian blur of 5 x 5 points of an image in three channels. The image is kept as programs keep it:
 * one pointer, with the channels of a point beside each other. DCL finds the axes in the subscripts. Coordinates are
 * clamped at the borders: for this, the program has two points more on each side, which repeat the border.
 * Built against an installed DCL: cc 24_gaussian.c $(pkg-config --cflags --libs dcl) */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dcl.h>

enum { WIDE = 200, TALL = 120, BORDER = 2, CHANNELS = 3 };

/* The loops, once as C and once as text. */
#define LOOPS(...)                                                                                          \
    static void by_c(int w, int h, const float *image, const float *weight, float *blurred) { __VA_ARGS__ } \
    static const char text[] = #__VA_ARGS__;

/* clang-format off */
LOOPS(
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++)
            for (int c = 0; c < 3; c++) {
                float sum = 0;
                for (int v = 0; v < 5; v++)
                    for (int u = 0; u < 5; u++)
                        sum += weight[v] * weight[u] * image[((y + v) * (w + 4) + x + u) * 3 + c];
                blurred[(y * w + x) * 3 + c] = sum / 256;
            }
)
/* clang-format on */

static int clamp(int at, int count) { return at < 0 ? 0 : at < count ? at : count - 1; }

/* The value of a point of the image. */
static float value(int x, int y, int channel) { return (float)((x * (channel + 2) ^ y) % 256); }

int main(void)
{
    const int w = WIDE, h = TALL;
    const float weight[5] = {1, 4, 6, 4, 1};
    const size_t with_border = (size_t)(h + 2 * BORDER) * (w + 2 * BORDER) * CHANNELS,
                 points = (size_t)h * w * CHANNELS;
    float *image = malloc(with_border * sizeof *image), *blurred = malloc(points * sizeof *blurred);
    float *right = malloc(points * sizeof *right);
    if (image == NULL || blurred == NULL || right == NULL)
        return EXIT_FAILURE;
    size_t at = 0;
    for (int y = -BORDER; y < h + BORDER; y++)
        for (int x = -BORDER; x < w + BORDER; x++)
            for (int c = 0; c < CHANNELS; c++)
                image[at++] = value(clamp(x, w), clamp(y, h), c);

    dcl_cluster *cluster = dcl_open(NULL);
    dcl_status status = dcl_loops(cluster, text, DCL_HOST_IN(image, with_border), DCL_HOST_IN(weight, 5),
                                  DCL_HOST_OUT(blurred, points), DCL_VALUE(w), DCL_VALUE(h));
    if (status != DCL_OK) {
        fprintf(stderr, "dcl_loops: %s: %s\n", dcl_status_name(status), dcl_error());
        return EXIT_FAILURE;
    }
    dcl_close(cluster);

    by_c(w, h, image, weight, right);
    int differ = memcmp(blurred, right, points * sizeof *right) != 0;
    printf("the blurred image %s the bits of the plain loops\n", differ ? "does not have" : "has");
    free(right);
    free(blurred);
    free(image);
    return differ ? EXIT_FAILURE : EXIT_SUCCESS;
}
