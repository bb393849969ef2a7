/* store/image.h - pictures in shades of grey: elements to pixels, and files in the formats PNG and PGM. */
#ifndef DCLI_STORE_IMAGE_H
#define DCLI_STORE_IMAGE_H

#include <dcl/image.h>

/** Widen a range of values so that it has the finite ones among `count` elements. Start with INFINITY, -INFINITY. */
void dcli_image_range(const void *elements, dcl_type type, int64_t count, double *least_in_out,
                      double *greatest_in_out);
/** Convert elements to pixels of 8 or 16 bits, the high byte first, as described at dcl_image. */
void dcli_image_pixels(const void *elements, dcl_type type, int64_t count, const dcl_image *image, uint8_t *pixels_out);

/** An image file that is being written. */
typedef struct dcli_image_file {
    int fd;                 /* borrowed */
    const char *path;       /* for messages; borrowed */
    int64_t columns, bytes; /* bytes: written so far */
    const dcl_image *image; /* `format` and `bits` are known; borrowed */
    struct dcli_png *png;   /* NULL: PGM */
} dcli_image_file;

/** Write the header, with a comment on black and white.
 *  @return DCL_OK, DCL_ERR_FILE or DCL_ERR_NOMEM. */
dcl_status dcli_image_begin(int fd, const char *path, int64_t rows, int64_t columns, const dcl_image *image,
                            dcli_image_file *file_out);
/** Write the next rows. */
dcl_status dcli_image_rows(dcli_image_file *file, int64_t rows, const uint8_t *pixels);
/** End the file and free what it uses. If `status` is an error, the file is not completed. @return `status`, or as
 *  dcli_image_begin(). */
dcl_status dcli_image_end(dcli_image_file *file, dcl_status status);
/** Write some bytes of the file. */
dcl_status dcli_image_write(dcli_image_file *file, const void *bytes, size_t count);

/* ---- PNG: image_png.c, if there is libpng -------------------------------------------------------------------------- */

/** Refuse PNG files if DCL was built without libpng. @param path  of the file, for the error. @return DCL_OK or
 *  DCL_ERR_UNSUPPORTED. */
dcl_status dcli_png_check(const char *path);
dcl_status dcli_png_begin(dcli_image_file *file, int64_t rows, const char *comment);
dcl_status dcli_png_rows(dcli_image_file *file, int64_t rows, const uint8_t *pixels);
dcl_status dcli_png_end(dcli_image_file *file, dcl_status status);

#endif
