/* dcl/image.h - arrays as pictures in shades of grey. */
#ifndef DCL_IMAGE_H
#define DCL_IMAGE_H

#include <dcl/array.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Format of a picture. */
typedef enum dcl_image_format {
    DCL_IMAGE_BY_NAME, /**< by the end of the path: .png or .pgm, in letters of either case */
    DCL_IMAGE_PNG,     /**< Portable Network Graphics, ISO/IEC 15948; only if DCL was built with libpng */
    DCL_IMAGE_PGM      /**< portable graymap, binary ("P5") */
} dcl_image_format;

/** How elements become shades of grey: `dcl_image image = {.struct_size = sizeof image, .bits = 16};`, for example. */
typedef struct dcl_image {
    size_t struct_size; /**< sizeof(dcl_image) in the program */
    dcl_image_format format;
    int bits; /**< bits of a pixel, 8 or 16; 0: 16 for elements of type uint16, else 8 */
    double black,
        white; /**< values that become black and white. Values between them become shades in proportion, values
                              beyond them are clamped, NaN is black. `black` may be above `white`. If both are equal, DCL
                              chooses them: 0 and 255 for uint8 with 8 bits, 0 and 65535 for uint16 with 16 bits (each
                              pixel then has the value of its element); otherwise the least and the greatest finite
                              element */
} dcl_image;

/** Save an array of rank 2 as a picture in shades of grey: the first axis goes down, the second to the right. Waits for the
 *  array. A comment in the file has the values of black and white. The program writes the file under another name in the same
 *  folder, and then renames it to `path`, as dcl_save_npy() does.
 *  @param image  NULL: all fields 0, except struct_size.
 *  @return DCL_OK; DCL_ERR_INVALID (rank, extents: 1..2^31-1, `image`); DCL_ERR_UNSUPPORTED (PNG without libpng);
 *          DCL_ERR_FILE, DCL_ERR_RANGE and the error of a failed array as for dcl_save_npy(). */
DCL_API dcl_status dcl_save_image(dcl_array *array, const char *path, const dcl_image *image);

/** Check that an array of this grid can be saved by dcl_save_image(), before it is computed. Does not check the path's
 *  folder. @return DCL_OK; DCL_ERR_INVALID or DCL_ERR_UNSUPPORTED, as dcl_save_image(); DCL_ERR_FILE: the path is
 *  too long. */
DCL_API dcl_status dcl_image_check(const dcl_grid *grid, const char *path, const dcl_image *image);

#ifdef __cplusplus
}
#endif
#endif
