/* device/peer_import.c - imports memory of other devices, which kernels of this device then read over the links between
 * them.
 *
 * An import is cached as long as its owner does not free the memory: arrays that are created and released in turn lie
 * in the same memory, and importing costs more than a small kernel. */
#include "device/opencl.h"

#include <inttypes.h>

#include "base/alloc.h"
#include "base/error.h"

struct dcli_import {
    int owner;
    int64_t number; /* number of its first piece */
    dcli_pieces *pieces;
    size_t uses; /* number of memory objects that lie in it */
    bool ended;  /* its owner has freed it: end the import with its last use here */
    struct dcli_import *next;
};

static void free_import(dcli_device *device, dcli_import **at)
{
    dcli_import *import = *at;
    *at = import->next;
    dcli_pieces_leave(device, import->pieces);
    dcli_free(import);
}

static dcl_status add(dcli_device *device, const dcli_memory_place *place, dcli_import **import_out)
{
    dcli_import *import = dcli_calloc(1, sizeof *import);
    dcli_pieces *pieces = dcli_pieces_new(place->piece_count, place->piece_bytes);
    dcl_status status = import == NULL || pieces == NULL ? DCL_ERR_NOMEM : DCL_OK;
    if (status == DCL_OK)
        status = dcli_pieces_import(device, place->descriptors, pieces);
    if (status != DCL_OK) {
        dcli_pieces_free(pieces);
        dcli_free(import);
        return status;
    }
    *import = (dcli_import){.owner = place->owner, .number = place->memfd, .pieces = pieces, .next = device->imports};
    device->imports = import;
    *import_out = import;
    return DCL_OK;
}

/* Check that a place lies within the imported memory: places may come from other processes, and kernels must not read
 * beyond it. */
static dcl_status check(const dcli_memory_place *place, const dcli_pieces *pieces, size_t bytes)
{
    size_t all = (size_t)pieces->count * pieces->bytes;
    if (place->piece_count == pieces->count && place->piece_bytes == pieces->bytes && place->offset <= all &&
        bytes <= all - place->offset)
        return DCL_OK;
    return DCLI_FAIL(
        DCL_ERR_PROTOCOL,
        "node %d shows %zu bytes from byte %zu on, in %d pieces of %zu bytes; expected a part of memory %" PRId64
        ", which has %d pieces of %zu bytes",
        place->owner, bytes, place->offset, place->piece_count, place->piece_bytes, place->memfd, pieces->count,
        pieces->bytes);
}

static dcl_status find(dcli_device *device, const dcli_memory_place *place, size_t bytes, dcli_import **import_out)
{
    dcli_import *import = device->imports;
    while (import != NULL && (import->owner != place->owner || import->number != place->memfd))
        import = import->next;
    dcl_status status = import == NULL ? add(device, place, &import) : DCL_OK;
    if (status == DCL_OK)
        status = check(place, import->pieces, bytes);
    if (status == DCL_OK)
        *import_out = import;
    return status;
}

dcl_status dcli_memory_import(dcli_device *device, const dcli_memory_place *place, size_t bytes,
                              dcli_memory **memory_out)
{
    dcli_import *import;
    dcli_memory *memory = dcli_calloc(1, sizeof *memory);
    dcl_status status = memory != NULL ? find(device, place, bytes, &import) : DCL_ERR_NOMEM;
    if (status == DCL_OK)
        status = dcli_buffer_cut(device, import->pieces->buffer[0], place->offset, bytes, &memory->buffer);
    if (status != DCL_OK) {
        dcli_free(memory);
        return status;
    }
    import->uses++;
    memory->device = device;
    memory->serial = ++device->serial;
    memory->bytes = bytes;
    memory->import = import;
    memory->pieces = import->pieces->count > 1 ? import->pieces : NULL;
    memory->mapping = (dcli_mapping){.number = place->memfd, .offset = place->offset};
    *memory_out = memory;
    return DCL_OK;
}

bool dcli_memory_is_import(const dcli_memory *memory, const dcli_memory_place *place)
{
    return memory->import != NULL && memory->mapping.number == place->memfd && memory->mapping.offset == place->offset;
}

void dcli_import_give(dcli_device *device, dcli_import *import)
{
    dcli_import **at = &device->imports;
    while (*at != import)
        at = &(*at)->next;
    import->uses--;
    if (import->ended && import->uses == 0)
        free_import(device, at);
}

void dcli_device_end_imports(dcli_device *device, int owner, int64_t number)
{
    for (dcli_import **at = &device->imports; *at != NULL;) {
        dcli_import *import = *at;
        bool ends = import->owner == owner && (number == 0 || import->number == number);
        import->ended |= ends;
        if (ends && import->uses == 0)
            free_import(device, at);
        else
            at = &import->next;
    }
}

void dcli_imports_close(dcli_device *device)
{
    while (device->imports != NULL)
        free_import(device, &device->imports);
}
