/* store/npy_load.c - a node reads its part of a .npy file. */
#include "store/npy_file.h"

#include "base/alloc.h"
#include "store/npy_flight.h"
#include "store/store.h"

struct load {
    const char *path;
    const dcl_npy_info *info;
    dcli_device *device;
    dcli_memory *memory;
    int fd;
    char *buffer; /* memory for a slab */
    size_t bytes; /* bytes of an element */
};

/* Load a slab by reading all of it and copying the pieces out. */
static dcl_status load_stretch(const struct load *load, const dcli_npy_slab *slab)
{
    dcl_status status = dcli_npy_pread(load->fd, load->path, load->buffer, (size_t)slab->bytes, slab->start_bytes);
    if (status == DCL_OK && load->info->swapped)
        dcli_npy_swap(load->buffer, slab->bytes / (int64_t)load->bytes, load->bytes);
    dcli_region part, file;
    for (int64_t at = slab->first_region; status == DCL_OK && dcli_npy_next_piece(slab, &at, &part, &file);)
        status = dcli_store_unpack(load->device, load->memory, &part, load->buffer, &file, load->bytes);
    return status;
}

/* Load one piece by reading each of its runs. */
static dcl_status load_piece(const struct load *load, const dcli_npy_slab *slab, const dcli_region *part,
                             const dcli_region *file)
{
    dcli_npy_runs runs = dcli_npy_runs_of(slab->walk, file);
    int64_t bytes = (int64_t)load->bytes;
    char *at = load->buffer;
    dcl_status status;
    do {
        status = dcli_npy_pread(load->fd, load->path, at, (size_t)(runs.length * bytes),
                                slab->start_bytes + runs.offset * bytes);
        at += runs.length * bytes;
    } while (status == DCL_OK && dcli_npy_next_run(&runs));
    if (status != DCL_OK)
        return status;
    if (load->info->swapped)
        dcli_npy_swap(load->buffer, dcli_box_elements(&file->box), load->bytes);
    dcli_region packed = dcli_npy_packed(slab->walk, &file->box);
    return dcli_store_unpack(load->device, load->memory, part, load->buffer, &packed, load->bytes);
}

static dcl_status load_slab(void *user, const dcli_npy_slab *slab)
{
    const struct load *load = user;
    if (slab->runs * DCLI_NPY_RUN_BYTES + slab->needed * (int64_t)load->bytes >= slab->bytes)
        return load_stretch(load, slab);
    dcl_status status = DCL_OK;
    dcli_region part, file;
    for (int64_t at = slab->first_region; status == DCL_OK && dcli_npy_next_piece(slab, &at, &part, &file);)
        status = load_piece(load, slab, &part, &file);
    return status;
}

/* Load a part into memory of a device that works in host memory: slab by slab, through a buffer. */
static dcl_status load_in_place(const dcli_npy_walk *walk, int fd, const char *path, dcli_device *device,
                                dcli_memory *memory)
{
    struct load load = {
        .fd = fd, .path = path, .info = walk->info, .device = device, .memory = memory, .bytes = walk->bytes};
    load.buffer = dcli_malloc(DCLI_NPY_SLAB_BYTES);
    dcl_status status = load.buffer == NULL ? DCL_ERR_NOMEM : DCL_OK;
    if (status == DCL_OK)
        status = dcli_npy_walk_slabs(walk, load_slab, &load);
    dcli_free(load.buffer);
    return status;
}

static dcl_status fly_slab(void *user, const dcli_npy_slab *slab) { return dcli_npy_take_off(user, slab); }

/* Load a part into memory of a device that has memory of its own: helpers read into slots. */
static dcl_status load_apart(const dcli_npy_walk *walk, int fd, const char *path, dcli_device *device,
                             dcli_memory *memory, dcli_helpers *helpers)
{
    dcli_npy_flights flights = {.fd = fd,
                                .path = path,
                                .device = device,
                                .memory = memory,
                                .helpers = helpers,
                                .swapped = walk->info->swapped,
                                .bytes = walk->bytes};
    return dcli_npy_land(&flights, dcli_npy_walk_slabs(walk, fly_slab, &flights));
}

dcl_status dcli_npy_load(int fd, const char *path, const dcl_npy_info *info, const int64_t origin[],
                         const dcli_region_list *regions, dcli_device *device, dcli_memory *memory,
                         dcli_helpers *helpers, const dcli_npy_progress *progress)
{
    dcli_npy_walk walk;
    dcl_status status = dcli_npy_walk_begin(info, origin, regions, progress, &walk);
    if (status == DCL_OK)
        status = dcli_device_in_place(device) ? load_in_place(&walk, fd, path, device, memory)
                                              : load_apart(&walk, fd, path, device, memory, helpers);
    dcli_npy_walk_end(&walk);
    return status;
}
