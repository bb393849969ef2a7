/* store/image_png.c - PNG files, by libpng. Without libpng they are refused.
 * Source of the format: ISO/IEC 15948. */
#include "store/image.h"

#include "base/alloc.h"
#include "base/error.h"

#ifdef DCLI_HAS_PNG

#include <png.h>
#include <setjmp.h>
#include <string.h>

dcl_status dcli_png_check(const char *path)
{
    (void)path;
    return DCL_OK;
}

struct dcli_png {
    png_structp writer;
    png_infop info;
    dcl_status status; /* not DCL_OK: what a write has returned */
};

/* libpng calls these, and expects that errors do not return. */

static void write_bytes(png_structp writer, png_bytep bytes, size_t count)
{
    dcli_image_file *file = png_get_io_ptr(writer);
    file->png->status = dcli_image_write(file, bytes, count);
    if (file->png->status != DCL_OK)
        longjmp(png_jmpbuf(writer), 1);
}

static void flush_bytes(png_structp writer) { (void)writer; }

static void end_by_error(png_structp writer, const char *message)
{
    dcli_image_file *file = png_get_error_ptr(writer);
    file->png->status = DCLI_FAIL(DCL_ERR_FILE, "%s cannot be written: libpng says: %s", file->path, message);
    longjmp(png_jmpbuf(writer), 1);
}

static void pass_over(png_structp writer, const char *message)
{
    (void)writer;
    (void)message;
}

static void free_png(dcli_image_file *file)
{
    png_destroy_write_struct(&file->png->writer, &file->png->info);
    dcli_free(file->png);
    file->png = NULL;
}

static void write_header(dcli_image_file *file, int64_t rows, const char *comment)
{
    enum { MOST_EXTENT = 0x7fffffff };
    png_structp writer = file->png->writer;
    char text[96];
    strncpy(text, comment, sizeof text - 1);
    text[sizeof text - 1] = '\0';
    png_set_write_fn(writer, file, write_bytes, flush_bytes);
    png_set_user_limits(writer, MOST_EXTENT, MOST_EXTENT); /* libpng's own: a million */
    png_set_IHDR(writer, file->png->info, (png_uint_32)file->columns, (png_uint_32)rows, file->image->bits,
                 PNG_COLOR_TYPE_GRAY, PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_set_text(writer, file->png->info,
                 &(png_text){.compression = PNG_TEXT_COMPRESSION_NONE, .key = (char[]){"Comment"}, .text = text}, 1);
    png_write_info(writer, file->png->info);
}

dcl_status dcli_png_begin(dcli_image_file *file, int64_t rows, const char *comment)
{
    file->png = dcli_calloc(1, sizeof *file->png);
    if (file->png == NULL)
        return DCL_ERR_NOMEM;
    file->png->writer = png_create_write_struct(PNG_LIBPNG_VER_STRING, file, end_by_error, pass_over);
    file->png->info = file->png->writer != NULL ? png_create_info_struct(file->png->writer) : NULL;
    dcl_status status = DCL_OK;
    if (file->png->info == NULL)
        status = DCLI_FAIL(DCL_ERR_NOMEM, "%s cannot be written: libpng cannot be started", file->path);
    else if (setjmp(png_jmpbuf(file->png->writer)) == 0)
        write_header(file, rows, comment);
    else
        status = file->png->status;
    if (status != DCL_OK)
        free_png(file);
    return status;
}

dcl_status dcli_png_rows(dcli_image_file *file, int64_t rows, const uint8_t *pixels)
{
    size_t pitch = (size_t)(file->columns * (file->image->bits / 8));
    if (setjmp(png_jmpbuf(file->png->writer)) != 0)
        return file->png->status;
    for (int64_t r = 0; r < rows; r++)
        png_write_row(file->png->writer, pixels + (size_t)r * pitch);
    return DCL_OK;
}

static dcl_status write_end(dcli_image_file *file)
{
    if (setjmp(png_jmpbuf(file->png->writer)) != 0)
        return file->png->status;
    png_write_end(file->png->writer, file->png->info);
    return DCL_OK;
}

dcl_status dcli_png_end(dcli_image_file *file, dcl_status status)
{
    if (status == DCL_OK)
        status = write_end(file);
    free_png(file);
    return status;
}

#else

dcl_status dcli_png_check(const char *path)
{
    return DCLI_FAIL(
        DCL_ERR_UNSUPPORTED,
        "%s cannot be written as PNG, because DCL was built without libpng; save it as .pgm, or install libpng "
        "and build DCL again",
        path);
}

/* Not called: every caller has asked dcli_png_check(). */

dcl_status dcli_png_begin(dcli_image_file *file, int64_t rows, const char *comment)
{
    (void)rows;
    (void)comment;
    return dcli_png_check(file->path);
}

dcl_status dcli_png_rows(dcli_image_file *file, int64_t rows, const uint8_t *pixels)
{
    (void)rows;
    (void)pixels;
    return dcli_png_check(file->path);
}

dcl_status dcli_png_end(dcli_image_file *file, dcl_status status)
{
    (void)file;
    return status;
}

#endif
