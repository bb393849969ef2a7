/* runtime/image.c - dcl_save_image(). The program reads the array in stretches of whole rows and writes the file; twice, if
 * the least and the greatest element have to be found first. For other threads of the program the whole picture is one
 * exclusive call: their calls wait until it has ended. */
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/check.h"
#include "base/error.h"
#include "base/sized.h"
#include "runtime/cluster.h"
#include "segment/box.h"
#include "store/image.h"
#include "store/new_file.h"

struct picture {
    dcl_array *array;
    dcl_image image;
    int64_t rows, columns;
    int64_t rows_at_once;
    void *elements; /* [rows_at_once][columns] */
    uint8_t *pixels;
};

/* ---- format and shades -------------------------------------------------------------------------------------------- */

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text);
    return length > strlen(end) && strcasecmp(text + length - strlen(end), end) == 0;
}

static dcl_status choose_format(const char *path, dcl_image *image)
{
    if (image->format == DCL_IMAGE_BY_NAME)
        image->format = ends_with(path, ".png")   ? DCL_IMAGE_PNG
                        : ends_with(path, ".pgm") ? DCL_IMAGE_PGM
                                                  : image->format;
    if (image->format == DCL_IMAGE_PNG || image->format == DCL_IMAGE_PGM)
        return DCL_OK;
    if (image->format != DCL_IMAGE_BY_NAME)
        return DCLI_FAIL(DCL_ERR_INVALID,
                         "image->format is %d; expected DCL_IMAGE_BY_NAME, DCL_IMAGE_PNG or DCL_IMAGE_PGM",
                         (int)image->format);
    return DCLI_FAIL(DCL_ERR_INVALID, "path is \"%s\"; expected a name that ends in .png or .pgm; or set image->format",
                     path);
}

static dcl_status check_grid(const dcl_grid *grid)
{
    if (grid->rank != 2)
        return DCLI_FAIL(
            DCL_ERR_INVALID,
            "the array has rank %d; expected 2, rows and columns; take a plane of it with dcl_slice(), or give "
            "it two axes with dcl_reshape()",
            grid->rank);
    for (int d = 0; d < 2; d++)
        if (grid->extent[d] < 1 || grid->extent[d] > INT32_MAX)
            return DCLI_FAIL(DCL_ERR_INVALID, "the array has %" PRId64 " %s; expected 1..%d, the limits of pictures",
                             grid->extent[d], d == 0 ? "rows" : "columns", INT32_MAX);
    return DCL_OK;
}

/* Copy the program's struct; fields that it does not have are zero, and so are all if there is none. */
static dcl_status copy_image(const dcl_image *image, dcl_image *copy_out)
{
    dcl_image copy = {.struct_size = sizeof copy};
    if (image != NULL) {
        dcl_status status = dcli_size_check("image->struct_size", "dcl_image", image->struct_size, sizeof copy);
        if (status != DCL_OK)
            return status;
        memcpy(&copy, image, image->struct_size);
        copy.struct_size = sizeof copy;
    }
    *copy_out = copy;
    return DCL_OK;
}

/* Check the path and the program's struct, and complete a copy of it, except for values of black and white that depend on
 * the elements. */
static dcl_status complete(const dcl_grid *grid, const char *path, const dcl_image *given, dcl_image *image)
{
    dcl_status status = dcli_file_check_path(path, "a .png or .pgm file");
    if (status == DCL_OK)
        status = copy_image(given, image);
    if (status == DCL_OK)
        status = check_grid(grid);
    if (status == DCL_OK)
        status = choose_format(path, image);
    if (status == DCL_OK && image->format == DCL_IMAGE_PNG)
        status = dcli_png_check(path);
    if (status != DCL_OK)
        return status;
    if (image->bits != 0 && image->bits != 8 && image->bits != 16)
        return DCLI_FAIL(DCL_ERR_INVALID, "image->bits is %d; expected 8 or 16, or 0 for what suits the elements",
                         image->bits);
    if (!isfinite(image->black) || !isfinite(image->white))
        return DCLI_FAIL(DCL_ERR_INVALID, "image->%s is %g; expected a finite number",
                         isfinite(image->black) ? "white" : "black",
                         isfinite(image->black) ? image->white : image->black);
    if (image->bits == 0)
        image->bits = grid->type == DCL_UINT16 ? 16 : 8;
    bool same = (grid->type == DCL_UINT8 && image->bits == 8) || (grid->type == DCL_UINT16 && image->bits == 16);
    if (image->black == image->white && same) {
        image->black = 0;
        image->white = image->bits == 16 ? UINT16_MAX : UINT8_MAX;
    }
    return DCL_OK;
}

/* ---- elements ----------------------------------------------------------------------------------------------------- */

static dcl_status make_buffers(struct picture *picture)
{
    enum { STRETCH_BYTES = 4 << 20 };
    size_t row = (size_t)picture->columns * dcl_type_bytes(dcli_array_grid(picture->array)->type);
    picture->rows_at_once = dcli_min(picture->rows, dcli_max(1, (int64_t)(STRETCH_BYTES / row)));
    picture->elements = dcli_malloc((size_t)picture->rows_at_once * row);
    picture->pixels =
        dcli_malloc((size_t)(picture->rows_at_once * picture->columns) * (size_t)(picture->image.bits / 8));
    return picture->elements != NULL && picture->pixels != NULL ? DCL_OK : DCL_ERR_NOMEM;
}

/* Read `count` rows from number `first` on. */
static dcl_status read_rows(const struct picture *picture, int64_t first, int64_t count)
{
    const dcl_grid *grid = dcli_array_grid(picture->array);
    dcl_box box = dcl_box_of(grid);
    box.start[0] += first;
    box.count[0] = count;
    return dcli_array_read(picture->array, &box, picture->elements, (int64_t[]){picture->columns, 1});
}

static dcl_status find_range(struct picture *picture)
{
    double least = INFINITY, greatest = -INFINITY;
    dcl_status status = DCL_OK;
    for (int64_t first = 0, count; status == DCL_OK && first < picture->rows; first += count) {
        count = dcli_min(picture->rows_at_once, picture->rows - first);
        status = read_rows(picture, first, count);
        if (status == DCL_OK)
            dcli_image_range(picture->elements, dcli_array_grid(picture->array)->type, count * picture->columns, &least,
                             &greatest);
    }
    double black = least <= greatest ? least : 0, above = black + fmax(1, fabs(black));
    picture->image.black = black;
    if (least < greatest)
        picture->image.white = greatest;
    else /* any other finite value: all elements are black */
        picture->image.white = isfinite(above) ? above : 0;
    return status;
}

/* Convert and write rows without the lock, so that the nodes' messages are served. */
static dcl_status write_rows(const struct picture *picture, dcli_image_file *file, int64_t count)
{
    dcl_cluster *cluster = picture->array->cluster;
    pthread_mutex_unlock(&cluster->lock);
    dcli_image_pixels(picture->elements, dcli_array_grid(picture->array)->type, count * picture->columns,
                      &picture->image, picture->pixels);
    dcl_status status = dcli_image_rows(file, count, picture->pixels);
    pthread_mutex_lock(&cluster->lock);
    return status;
}

static dcl_status write_file(const struct picture *picture, const dcli_new_file *new_file, int64_t *bytes_out)
{
    dcli_image_file file;
    dcl_status status =
        dcli_image_begin(new_file->fd, new_file->beside_path, picture->rows, picture->columns, &picture->image, &file);
    if (status != DCL_OK)
        return status;
    for (int64_t first = 0, count; status == DCL_OK && first < picture->rows; first += count) {
        count = dcli_min(picture->rows_at_once, picture->rows - first);
        status = read_rows(picture, first, count);
        if (status == DCL_OK)
            status = write_rows(picture, &file, count);
    }
    status = dcli_image_end(&file, status);
    *bytes_out = file.bytes;
    return status;
}

/* ---- the call ----------------------------------------------------------------------------------------------------- */

static dcl_status save_picture(struct picture *picture, const char *path)
{
    dcl_array *array = picture->array;
    dcli_new_file file;
    int64_t bytes = 0;
    dcl_status status = make_buffers(picture);
    if (status == DCL_OK && picture->image.black == picture->image.white)
        status = find_range(picture);
    if (status == DCL_OK)
        status = dcli_new_file_make(path, &file);
    if (status != DCL_OK)
        return status;
    status = write_file(picture, &file, &bytes);
    if (status == DCL_OK)
        status = dcli_array_whole(array, "save");
    return dcli_file_end(array->cluster, &file, bytes, status);
}

static dcl_status save(dcl_array *array, const char *path, const dcl_image *image)
{
    struct picture picture = {.array = array};
    dcl_status status = complete(dcli_array_grid(array), path, image, &picture.image);
    if (status != DCL_OK)
        return status;
    picture.rows = dcli_array_grid(array)->extent[0];
    picture.columns = dcli_array_grid(array)->extent[1];
    dcli_cluster_begin_turn(array->cluster);
    /* wait until the array is written: if that fails, no file is changed */
    status = dcli_cluster_wait(array->cluster, dcli_array_state(array)->last_use, false, -1);
    if (status == DCL_OK)
        status = dcli_array_usable(array, "save");
    if (status == DCL_OK)
        status = save_picture(&picture, path);
    dcli_cluster_end_turn(array->cluster);
    dcli_free(picture.elements);
    dcli_free(picture.pixels);
    return status == DCL_OK ? dcli_storage_state_strayed(dcli_array_state(array), "the file was written") : status;
}

dcl_status dcl_save_image(dcl_array *array, const char *path, const dcl_image *image)
{
    dcli_error_enter(__func__);
    dcl_status status = dcli_array_check(array);
    if (status != DCL_OK)
        return status;
    pthread_mutex_lock(&array->cluster->lock);
    return dcli_cluster_end_call(array->cluster, save(array, path, image));
}

dcl_status dcl_image_check(const dcl_grid *grid, const char *path, const dcl_image *image)
{
    dcli_error_enter(__func__);
    if (grid == NULL)
        return DCLI_FAIL(DCL_ERR_INVALID, "grid is NULL; expected the address of a dcl_grid");
    dcl_image copy;
    dcl_status status = dcli_grid_check(grid);
    return status == DCL_OK ? complete(grid, path, image, &copy) : status;
}
