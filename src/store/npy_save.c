/* store/npy_save.c - a .npy file made, and a node's part written into it.
 *
 * Nodes write at the same time and no node touches a byte that is not its own: long runs are written by pwrite, and
 * elements that interleave with those of other nodes are stored through a shared mapping of the file. The file's blocks
 * are reserved when it is made, so a full disk is an error there and not a signal here. */
#include "store/npy_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/check.h"
#include "base/error.h"
#include "segment/box.h"
#include "store/npy_header.h"
#include "store/store.h"

enum { FEW_RUNS = 16 };

struct save {
    const char *path;
    const dcl_npy_info *info;
    dcli_device *device;
    dcli_memory *memory;
    int fd;
    char *buffer; /* a slab */
    size_t bytes; /* of an element */
};

/* Bring a piece into the buffer, packed in the order of the file, in its byte order. */
static dcl_status fetch_piece(const struct save *save, const dcli_region *part, const dcli_region *packed)
{
    dcl_status status = dcli_store_pack(save->device, save->memory, part, save->buffer, packed, save->bytes);
    if (status == DCL_OK && save->info->swapped)
        dcli_npy_swap(save->buffer, dcli_box_elements(&part->box), save->bytes);
    return status;
}

static dcl_status write_piece(const struct save *save, const dcli_npy_slab *slab, const dcli_region *part,
                              const dcli_region *file)
{
    dcli_region packed = dcli_npy_packed(slab->walk, &file->box);
    dcli_npy_runs runs = dcli_npy_runs_of(slab->walk, file);
    int64_t bytes = (int64_t)save->bytes;
    const char *at = save->buffer;
    dcl_status status = fetch_piece(save, part, &packed);
    bool more = true;
    while (status == DCL_OK && more) {
        status = dcli_npy_pwrite(save->fd, save->path, at, (size_t)(runs.length * bytes),
                                 slab->start_bytes + runs.offset * bytes);
        at += runs.length * bytes;
        more = dcli_npy_next_run(&runs);
    }
    return status;
}

/* Store a piece into the mapped stretch. */
static dcl_status place_piece(const struct save *save, const dcli_npy_slab *slab, const dcli_region *part,
                              const dcli_region *file, char *stretch)
{
    if (!save->info->swapped)
        return dcli_store_pack(save->device, save->memory, part, stretch, file, save->bytes);
    dcli_region packed = dcli_npy_packed(slab->walk, &file->box);
    dcl_status status = fetch_piece(save, part, &packed);
    if (status == DCL_OK)
        dcli_region_copy(stretch, file, save->buffer, &packed, save->bytes);
    return status;
}

/* What is stored behind the end of a mapped file is a signal. */
static dcl_status check_length(const struct save *save, int64_t end)
{
    struct stat about = {0};
    if (fstat(save->fd, &about) == 0 && about.st_size >= end)
        return DCL_OK;
    return DCLI_FAIL(DCL_ERR_FILE,
                     "\"%s\" ends at byte %" PRId64 "; expected %" PRId64
                     " bytes at least; it was shortened while it was "
                     "written",
                     save->path, (int64_t)about.st_size, end);
}

static dcl_status save_mapped(const struct save *save, const dcli_npy_slab *slab)
{
    if (check_length(save, slab->start_bytes + slab->bytes) != DCL_OK)
        return DCL_ERR_FILE;
    int64_t before = slab->start_bytes % sysconf(_SC_PAGESIZE);
    size_t length = (size_t)(slab->bytes + before);
    char *at = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, save->fd, slab->start_bytes - before);
    if (at == MAP_FAILED)
        return DCLI_FAIL(DCL_ERR_FILE, "%zu bytes of \"%s\" cannot be mapped: %s; expected a file system that can",
                         length, save->path, strerror(errno));
    dcl_status status = DCL_OK;
    dcli_region part, file;
    for (int64_t n = slab->first_region; status == DCL_OK && dcli_npy_next_piece(slab, &n, &part, &file);)
        status = place_piece(save, slab, &part, &file, at + before);
    munmap(at, length);
    return status;
}

static dcl_status save_slab(void *user, const dcli_npy_slab *slab)
{
    const struct save *save = user;
    if (slab->runs > FEW_RUNS && slab->needed * (int64_t)save->bytes < slab->runs * DCLI_NPY_RUN_BYTES)
        return save_mapped(save, slab);
    dcl_status status = DCL_OK;
    dcli_region part, file;
    for (int64_t at = slab->first_region; status == DCL_OK && dcli_npy_next_piece(slab, &at, &part, &file);)
        status = write_piece(save, slab, &part, &file);
    return status;
}

dcl_status dcli_npy_save(const char *path, const dcl_npy_info *info, const int64_t origin[],
                         const dcli_region_list *regions, dcli_device *device, dcli_memory *memory)
{
    struct save save = {.path = path, .info = info, .device = device, .memory = memory};
    save.bytes = dcl_type_bytes(info->grid.type);
    save.fd = dcli_npy_open(path, true);
    if (save.fd < 0)
        return DCL_ERR_FILE;
    save.buffer = dcli_malloc(DCLI_NPY_SLAB_BYTES);
    dcl_status status = save.buffer == NULL ? DCL_ERR_NOMEM : DCL_OK;
    if (status == DCL_OK)
        status = dcli_npy_walk_slabs(info, origin, regions, save_slab, &save);
    dcli_free(save.buffer);
    return dcli_npy_close(save.fd, path, status);
}

static dcl_status write_new(int fd, const char *path, const char *header, int64_t header_bytes, int64_t total)
{
    int code;
    do
        code = posix_fallocate(fd, 0, total);
    while (code == EINTR);
    if (code != 0)
        return DCLI_FAIL(DCL_ERR_FILE, "%" PRId64 " bytes for \"%s\" cannot be reserved: %s; free some space there",
                         total, path, strerror(code));
    return dcli_npy_pwrite(fd, path, header, (size_t)header_bytes, 0);
}

dcl_status dcli_npy_create(const char *path, const dcl_grid *grid, bool fortran_order, dcl_npy_info *info_out)
{
    dcl_status status = dcli_grid_check(grid);
    if (status != DCL_OK)
        return status;
    dcl_npy_info info = {.grid = dcl_grid_nd(grid->type, grid->rank, grid->extent, NULL),
                         .fortran_order = fortran_order,
                         .swapped = __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__};
    dcli_text header = {0};
    dcli_npy_print_header(&info, &header);
    if (header.failed) {
        dcli_text_free(&header);
        return DCL_ERR_NOMEM;
    }
    info.data_start = (int64_t)header.length;
    int64_t total;
    if (!dcli_add(info.data_start, dcl_grid_count(&info.grid) * (int64_t)dcl_type_bytes(grid->type), &total))
        total = INT64_MAX; /* more than any disk has */
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0) {
        dcli_text_free(&header);
        return DCLI_FAIL(DCL_ERR_FILE, "\"%s\" cannot be made: %s; expected a folder that this process may write to",
                         path, strerror(errno));
    }
    status = write_new(fd, path, header.bytes, info.data_start, total);
    status = dcli_npy_close(fd, path, status);
    dcli_text_free(&header);
    if (status != DCL_OK)
        unlink(path);
    else
        *info_out = info;
    return status;
}
