/* store/npy_inspect.c - read the header of a .npy file and check that the file is complete. */
#include "store/npy_header.h"

#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/check.h"
#include "base/error.h"
#include "segment/box.h"
#include "store/files.h"
#include "store/npy_file.h"

enum { PREFIX_MOST = 12, PREFIX_LEAST = 10, MOST_HEADER_BYTES = 1 << 20 };

/* The fixed start of a file: magic, version and the length of the dictionary. */
struct prefix {
    int64_t start, length; /* position and length of the dictionary in the file */
};

static dcl_status fail_short(const char *path, int64_t found, int64_t expected)
{
    return DCLI_FAIL(DCL_ERR_FILE,
                     "\"%s\" has %" PRId64 " bytes; its header says %" PRId64 "; it was cut: copy or write it again",
                     path, found, expected);
}

static dcl_status read_prefix(int fd, const char *path, int64_t file_bytes, struct prefix *prefix_out)
{
    unsigned char bytes[PREFIX_MOST] = {0};
    size_t length = (size_t)dcli_min(file_bytes, PREFIX_MOST);
    dcl_status status = dcli_npy_pread(fd, path, bytes, length, 0);
    if (status != DCL_OK)
        return status;
    if (length < PREFIX_LEAST || memcmp(bytes, "\x93NUMPY", 6) != 0)
        return DCLI_FAIL(DCL_ERR_FILE,
                         "\"%s\" is not a .npy file: %s; expected \\x93NUMPY at its start; write it with numpy.save()",
                         path, file_bytes == 0 ? "it is empty" : "its first bytes are others");
    int version = bytes[6];
    if (version < 1 || version > 3 || bytes[7] != 0)
        return DCLI_FAIL(DCL_ERR_FILE, "\"%s\" is a .npy file of version %d.%d; expected 1.0, 2.0 or 3.0", path,
                         version, bytes[7]);
    if (version == 1)
        *prefix_out = (struct prefix){PREFIX_LEAST, bytes[8] | bytes[9] << 8};
    else
        *prefix_out =
            (struct prefix){PREFIX_MOST, bytes[8] | bytes[9] << 8 | bytes[10] << 16 | (int64_t)bytes[11] << 24};
    if (prefix_out->length > MOST_HEADER_BYTES)
        return DCLI_FAIL(DCL_ERR_FILE, "\"%s\": the header says it is %" PRId64 " bytes long; expected %d at most",
                         path, prefix_out->length, MOST_HEADER_BYTES);
    if (prefix_out->start + prefix_out->length > file_bytes)
        return fail_short(path, file_bytes, prefix_out->start + prefix_out->length);
    return DCL_OK;
}

static dcl_status read_header(int fd, const char *path, const struct prefix *prefix, dcl_npy_info *info_out)
{
    char *header = dcli_malloc((size_t)prefix->length);
    if (header == NULL)
        return DCL_ERR_NOMEM;
    dcl_status status = dcli_npy_pread(fd, path, header, (size_t)prefix->length, prefix->start);
    if (status == DCL_OK)
        status = dcli_npy_parse_header(path, header, (size_t)prefix->length, info_out);
    info_out->data_start = prefix->start + prefix->length;
    dcli_free(header);
    return status;
}

/* Check that the shape is valid and the file is long enough for it. */
static dcl_status check_length(const char *path, int64_t file_bytes, const dcl_npy_info *info)
{
    int64_t total = 1;
    bool fits = true;
    for (int d = 0; d < info->grid.rank; d++) /* an extent of 0 must not hide an invalid other extent */
        fits = fits && dcli_mul(total, dcli_max(info->grid.extent[d], 1), &total);
    fits = fits && dcli_mul(total, (int64_t)dcl_type_bytes(info->grid.type), &total) &&
           dcli_add(total, info->data_start, &total);
    if (!fits)
        return DCLI_FAIL(
            DCL_ERR_FILE,
            "\"%s\": the shape has more bytes than 2 to the 63rd; the header is damaged: write the file anew "
            "with numpy.save()",
            path);
    int64_t count = dcl_grid_count(&info->grid);
    total = info->data_start + count * (int64_t)dcl_type_bytes(info->grid.type);
    return file_bytes < total ? fail_short(path, file_bytes, total) : DCL_OK;
}

dcl_status dcli_npy_inspect(int fd, const char *path, dcl_npy_info *info_out)
{
    struct stat stat;
    if (fstat(fd, &stat) != 0)
        return DCLI_FAIL(DCL_ERR_FILE, "\"%s\": its length is not known; expected a .npy file", path);
    struct prefix prefix = {0};
    dcl_npy_info info = {.data_start = 0};
    dcl_status status = read_prefix(fd, path, stat.st_size, &prefix);
    if (status == DCL_OK)
        status = read_header(fd, path, &prefix, &info);
    if (status == DCL_OK)
        status = check_length(path, stat.st_size, &info);
    if (status == DCL_OK)
        *info_out = info;
    return status;
}

dcl_status dcl_npy_inspect(const char *path, dcl_npy_info *info_out)
{
    dcli_error_enter("dcl_npy_inspect");
    if (path == NULL || info_out == NULL)
        return DCLI_FAIL(DCL_ERR_INVALID, "%s is NULL; expected a path and a place for what it holds",
                         path == NULL ? "path" : "info_out");
    int fd = dcli_files_open(&dcli_files_everywhere, path, false, NULL);
    if (fd < 0)
        return DCL_ERR_FILE;
    dcl_status status = dcli_npy_inspect(fd, path, info_out);
    close(fd);
    return status;
}
