/* store/image.c - elements to pixels, and PGM files. Source of the format: pgm(5) of Netpbm. */
#include "store/image.h"

#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "store/npy_file.h"

/* ---- elements to pixels ------------------------------------------------------------------------------------------- */

/* Source: IEEE 754-2019, section 3.4. */
static double of_half(uint16_t bits)
{
    int exponent = bits >> 10 & 31, fraction = bits & 1023;
    double value = exponent == 0   ? ldexp(fraction, -24)
                   : exponent < 31 ? ldexp(1024 + fraction, exponent - 25)
                   : fraction == 0 ? INFINITY
                                   : NAN;
    return bits >> 15 ? -value : value;
}

static double value_of(const void *elements, dcl_type type, int64_t n)
{
    switch (type) {
    case DCL_INT8:
        return ((const int8_t *)elements)[n];
    case DCL_INT16:
        return ((const int16_t *)elements)[n];
    case DCL_INT32:
        return ((const int32_t *)elements)[n];
    case DCL_INT64:
        return (double)((const int64_t *)elements)[n];
    case DCL_UINT8:
        return ((const uint8_t *)elements)[n];
    case DCL_UINT16:
        return ((const uint16_t *)elements)[n];
    case DCL_UINT32:
        return ((const uint32_t *)elements)[n];
    case DCL_UINT64:
        return (double)((const uint64_t *)elements)[n];
    case DCL_HALF:
        return of_half(((const uint16_t *)elements)[n]);
    case DCL_FLOAT:
        return (double)((const float *)elements)[n];
    case DCL_DOUBLE:
        return ((const double *)elements)[n];
    }
    return NAN;
}

void dcli_image_range(const void *elements, dcl_type type, int64_t count, double *least_in_out, double *greatest_in_out)
{
    for (int64_t n = 0; n < count; n++) {
        double value = value_of(elements, type, n);
        if (isfinite(value)) {
            *least_in_out = fmin(*least_in_out, value);
            *greatest_in_out = fmax(*greatest_in_out, value);
        }
    }
}

void dcli_image_pixels(const void *elements, dcl_type type, int64_t count, const dcl_image *image, uint8_t *pixels_out)
{
    int most = image->bits == 16 ? 65535 : 255;
    /* halves where the difference of two doubles may be too large for one; half of the least double is 0 */
    double part = isfinite(image->white - image->black) ? 1 : 0.5;
    double black = part * image->black, range = part * image->white - black;
    for (int64_t n = 0; n < count; n++) {
        double share = (part * value_of(elements, type, n) - black) / range;
        int pixel = share >= 1 ? most : share > 0 ? (int)(share * most + 0.5) : 0; /* NaN: 0 */
        if (image->bits == 16)
            *pixels_out++ = (uint8_t)(pixel >> 8);
        *pixels_out++ = (uint8_t)pixel;
    }
}

/* ---- files -------------------------------------------------------------------------------------------------------- */

dcl_status dcli_image_write(dcli_image_file *file, const void *bytes, size_t count)
{
    dcl_status status = dcli_npy_pwrite(file->fd, file->path, bytes, count, file->bytes);
    if (status == DCL_OK)
        file->bytes += (int64_t)count;
    return status;
}

/* Print a number with a point, whatever the program's locale. */
static void print_number(char text_out[32], double value)
{
    snprintf(text_out, 32, "%.17g", value);
    for (int digits = 1; digits < 17; digits++) {
        char shorter[32];
        double read = 0;
        snprintf(shorter, sizeof shorter, "%.*g", digits, value);
        if (sscanf(shorter, "%lf", &read) == 1 && read == value) {
            strcpy(text_out, shorter);
            break;
        }
    }
    const char *point = localeconv()->decimal_point;
    char *at = strcmp(point, ".") != 0 ? strstr(text_out, point) : NULL;
    if (at != NULL) {
        *at = '.';
        memmove(at + 1, at + strlen(point), strlen(at + strlen(point)) + 1);
    }
}

dcl_status dcli_image_begin(int fd, const char *path, int64_t rows, int64_t columns, const dcl_image *image,
                            dcli_image_file *file_out)
{
    char black[32], white[32], comment[96], header[192];
    print_number(black, image->black);
    print_number(white, image->white);
    snprintf(comment, sizeof comment, "black is %s, white is %s", black, white);
    *file_out = (dcli_image_file){.fd = fd, .path = path, .columns = columns, .image = image};
    if (image->format == DCL_IMAGE_PNG)
        return dcli_png_begin(file_out, rows, comment);
    int length = snprintf(header, sizeof header, "P5\n# %s\n%" PRId64 " %" PRId64 "\n%d\n", comment, columns, rows,
                          image->bits == 16 ? 65535 : 255);
    return dcli_image_write(file_out, header, (size_t)length);
}

dcl_status dcli_image_rows(dcli_image_file *file, int64_t rows, const uint8_t *pixels)
{
    if (file->png != NULL)
        return dcli_png_rows(file, rows, pixels);
    return dcli_image_write(file, pixels, (size_t)(rows * file->columns * (file->image->bits / 8)));
}

dcl_status dcli_image_end(dcli_image_file *file, dcl_status status)
{
    return file->png != NULL ? dcli_png_end(file, status) : status;
}
