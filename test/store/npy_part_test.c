/* Loading and saving parts of arrays on a device: several nodes, any map, both orders, against plain loops. */
#include "base/alloc.h"
#include "store/folder.h"
#include "store/layout.h"
#include "store/npy.h"
#include "store/npy_by_name.h"
#include "store/npy_file.h"

/* Node n of `nodes` owns the indices whose piece, numbered row by row, is n modulo nodes: one region per piece; or, with
 * `merged`, every nodes-th index of the last axis as one strided region. */
struct deal {
    char what[32];
    dcl_type type;
    int rank;
    int64_t extent[4], piece[4];
    int nodes;
    bool merged, fortran_order, swapped;
};

/* Where the elements of a node lie: pieces one after the other. */
static dcli_region_list regions_of(const struct deal *deal, const int64_t origin[], int node, int64_t *storage_out)
{
    dcli_region_list list = {0};
    int64_t at[4] = {0}, number = 0, storage = 0;
    dcl_box pieces = {.rank = deal->rank};
    for (int d = 0; d < deal->rank; d++)
        pieces.count[d] = (deal->extent[d] + deal->piece[d] - 1) / deal->piece[d];
    bool more = !dcli_box_is_empty(&pieces) && !deal->merged;
    for (; more; number++) {
        dcl_box box = {.rank = deal->rank};
        for (int d = 0; d < deal->rank; d++) {
            box.start[d] = origin[d] + at[d] * deal->piece[d];
            int64_t left = deal->extent[d] - at[d] * deal->piece[d];
            box.count[d] = left < deal->piece[d] ? left : deal->piece[d];
            box.stride[d] = 1;
        }
        if (number % deal->nodes == node) {
            dcli_region region = dcli_region_packed(&box, storage);
            cr_assert_eq(dcli_region_list_add(&list, &region), DCL_OK);
            storage += dcli_box_elements(&box);
        }
        more = test_next_element(at, &pieces);
    }
    if (deal->merged) {
        dcl_box box = dcl_box_nd(deal->rank, origin, deal->extent);
        int last = deal->rank - 1;
        box.start[last] += node;
        box.stride[last] = deal->nodes;
        box.count[last] = (deal->extent[last] - node + deal->nodes - 1) / deal->nodes;
        dcli_region region = dcli_region_packed(&box, 0);
        cr_assert_eq(dcli_region_list_add(&list, &region), DCL_OK);
        storage = dcli_box_elements(&box);
    }
    *storage_out = storage;
    return list;
}

/* Offset of an index in the file, in elements. */
static int64_t file_place(const struct deal *deal, const int64_t index[], const int64_t origin[])
{
    int64_t place = 0;
    for (int k = 0; k < deal->rank; k++) {
        int d = deal->fortran_order ? deal->rank - 1 - k : k;
        place = place * deal->extent[d] + index[d] - origin[d];
    }
    return place;
}

/* Compare a node's memory with the file's data (`expected`), element by element. */
static void expect_part(const struct deal *deal, const int64_t origin[], const dcli_region_list *regions,
                        const unsigned char *part, const unsigned char *expected, const char *mode)
{
    size_t bytes = dcl_type_bytes(deal->type);
    int64_t wrong = 0;
    for (int64_t n = 0; n < regions->count; n++) {
        const dcli_region *region = &regions->region[n];
        int64_t t[DCL_MAX_RANK] = {0}, index[DCL_MAX_RANK];
        if (dcli_box_is_empty(&region->box))
            continue;
        do {
            for (int d = 0; d < deal->rank; d++)
                index[d] = region->box.start[d] + t[d] * region->box.stride[d];
            unsigned char element[8];
            memcpy(element, expected + file_place(deal, index, origin) * (int64_t)bytes, bytes);
            if (deal->swapped)
                dcli_npy_swap(element, 1, bytes);
            wrong += memcmp(part + test_place(region, t) * (int64_t)bytes, element, bytes) != 0;
        } while (test_next_element(t, &region->box));
    }
    cr_expect_eq(wrong, 0, "%s, %s: %lld elements are wrong", deal->what, mode, (long long)wrong);
}

static unsigned char *read_file(const char *path, size_t bytes)
{
    unsigned char *contents = malloc(bytes);
    FILE *file = fopen(path, "rb");
    cr_assert_not_null(file);
    cr_assert_eq(fread(contents, 1, bytes, file), bytes);
    cr_assert_eq(fgetc(file), EOF);
    fclose(file);
    return contents;
}

/* Every node loads its part of a.npy, which is compared, and saves it into b.npy, which must then equal a.npy. */
static void load_and_save(const struct deal *deal, dcli_device *device, const char *mode)
{
    const int64_t origin[4] = {-3, 5, 100, 0};
    dcl_grid grid = dcl_grid_nd(deal->type, deal->rank, deal->extent, origin);
    size_t bytes = dcl_type_bytes(deal->type), data = (size_t)dcl_grid_count(&grid) * bytes;
    dcl_npy_info info, other;
    cr_assert_eq(test_npy_create(test_path("a.npy"), &grid, deal->fortran_order, &info), DCL_OK, "%s", dcl_error());
    cr_assert_eq(test_npy_create(test_path("b.npy"), &grid, deal->fortran_order, &other), DCL_OK, "%s", dcl_error());
    info.swapped = other.swapped = deal->swapped;
    test_random random = 77;
    unsigned char *expected = test_bytes(&random, data);
    FILE *file = fopen(test_path("a.npy"), "r+b");
    fseek(file, (long)info.data_start, SEEK_SET);
    cr_assert_eq(fwrite(expected, 1, data, file), data);
    fclose(file);
    for (int node = 0; node < deal->nodes; node++) {
        int64_t storage;
        dcli_region_list regions = regions_of(deal, origin, node, &storage);
        dcli_memory *memory;
        unsigned char *part = malloc((size_t)storage * bytes + 1);
        cr_assert_eq(dcli_memory_create(device, (size_t)storage * bytes, &memory), DCL_OK, "%s", dcl_error());
        cr_assert_eq(test_npy_load(test_path("a.npy"), &info, origin, &regions, device, memory), DCL_OK, "%s",
                     dcl_error());
        cr_assert_eq(dcli_memory_get(memory, 0, part, (size_t)storage * bytes), DCL_OK);
        expect_part(deal, origin, &regions, part, expected, mode);
        cr_assert_eq(test_npy_save(test_path("b.npy"), &other, origin, &regions, device, memory), DCL_OK, "%s",
                     dcl_error());
        dcli_memory_release(memory);
        dcli_region_list_free(&regions);
        free(part);
    }
    unsigned char *saved = read_file(test_path("b.npy"), data + (size_t)other.data_start);
    cr_expect(memcmp(saved + other.data_start, expected, data) == 0, "%s, %s: the saved file differs", deal->what,
              mode);
    free(saved);
    free(expected);
    remove(test_path("a.npy"));
    remove(test_path("b.npy"));
}

static const struct deal deals[] = {
    /* what                 type        rank extent            piece             nodes merged F      swapped */
    {"one node, a vector", DCL_INT8, 1, {1003}, {1003}, 1, false, false, false},
    {"rows", DCL_FLOAT, 2, {50, 41}, {20, 41}, 3, false, false, false},
    {"rows of a swapped file", DCL_FLOAT, 2, {50, 41}, {20, 41}, 3, false, false, true},
    {"columns", DCL_INT16, 2, {33, 100}, {33, 30}, 2, false, false, false},
    {"columns, Fortran", DCL_DOUBLE, 2, {33, 100}, {33, 30}, 2, false, true, false},
    {"pieces", DCL_INT32, 2, {37, 53}, {5, 7}, 3, false, false, false},
    {"pieces, Fortran, swapped", DCL_UINT64, 3, {11, 13, 9}, {2, 5, 3}, 4, false, true, true},
    {"every element dealt", DCL_UINT16, 2, {21, 31}, {1, 1}, 4, false, false, false},
    {"strided", DCL_FLOAT, 2, {40, 1001}, {1, 1}, 3, true, false, false},
    {"strided, swapped", DCL_HALF, 2, {40, 1001}, {1, 1}, 3, true, false, true},
    {"strided, Fortran", DCL_DOUBLE, 3, {40, 11, 29}, {1, 1, 1}, 2, true, true, false},
    {"a node without elements", DCL_FLOAT, 1, {2}, {1}, 3, false, false, false},
    {"no elements", DCL_FLOAT, 2, {0, 5}, {1, 5}, 2, false, false, false},
    {"rank 4", DCL_UINT8, 4, {3, 4, 5, 6}, {2, 4, 3, 6}, 2, false, false, false},
};

Test(device_npy, parts_are_loaded_and_saved, .init = test_files, .fini = test_files_end)
{
    for (int mode = 0; mode < TEST_MODE_COUNT; mode++) {
        dcli_device *device = test_open(TEST_MODES[mode]);
        for (size_t n = 0; n < sizeof deals / sizeof deals[0]; n++)
            load_and_save(&deals[n], device, test_mode_name(TEST_MODES[mode]));
        dcli_device_close(device);
    }
}

/* Slabs that are cut: rows of several slabs, columns read run by run, stretches read whole. */
Test(device_npy, large_files_are_walked_in_slabs, .init = test_files, .fini = test_files_end)
{
    static const struct deal large[] = {
        {"two rows of 6 MB", DCL_DOUBLE, 2, {2, 800000}, {1, 300000}, 2, false, false, false},
        {"two columns of 6 MB", DCL_DOUBLE, 2, {800000, 2}, {300000, 1}, 2, false, true, false},
        {"half rows of 8 KB", DCL_FLOAT, 2, {600, 4096}, {600, 2048}, 2, false, false, false},
        {"narrow columns", DCL_FLOAT, 2, {1500, 1600}, {1500, 40}, 8, false, false, false},
    };
    for (int mode = 0; mode < TEST_MODE_COUNT; mode++) {
        dcli_device *device = test_open(TEST_MODES[mode]);
        for (size_t n = 0; n < sizeof large / sizeof large[0]; n++)
            load_and_save(&large[n], device, test_mode_name(TEST_MODES[mode]));
        dcli_device_close(device);
    }
}

Test(device_npy, nodes_keep_to_their_own_bytes, .init = test_files, .fini = test_files_end)
{
    const int64_t origin[1] = {0};
    dcl_grid grid = dcl_grid_1d(DCL_UINT8, 10000);
    dcl_npy_info info;
    cr_assert_eq(test_npy_create(test_path("a.npy"), &grid, false, &info), DCL_OK);
    dcli_device *device = test_open(0);
    dcl_box odd = {.rank = 1, .start = {1}, .count = {5000}, .stride = {2}};
    dcli_region region = dcli_region_packed(&odd, 0);
    dcli_region_list list = {.region = &region, .count = 1};
    dcli_memory *memory;
    unsigned char one = 1;
    cr_assert_eq(dcli_memory_create(device, 5000, &memory), DCL_OK);
    cr_assert_eq(dcli_device_fill(device, memory, 0, (int64_t[]){1}, &one, 1, (int64_t[]){5000}, 1), DCL_OK);
    cr_assert_eq(test_npy_save(test_path("a.npy"), &info, origin, &list, device, memory), DCL_OK, "%s", dcl_error());
    unsigned char *saved = read_file(test_path("a.npy"), (size_t)info.data_start + 10000);
    int wrong = 0;
    for (int n = 0; n < 10000; n++)
        wrong += saved[info.data_start + n] != n % 2;
    cr_expect_eq(wrong, 0, "%d bytes are wrong", wrong);
    free(saved);
    cr_assert_eq(truncate(test_path("a.npy"), 5000), 0);
    cr_expect_eq(test_npy_save(test_path("a.npy"), &info, origin, &list, device, memory), DCL_OK, "no signal either");
    info.data_start = INT64_MAX - 10;
    cr_expect_eq(test_npy_save(test_path("a.npy"), &info, origin, &list, device, memory), DCL_ERR_FILE);
    cr_expect(strstr(dcl_error(), "the elements begin at byte 9223372036854775797"), "%s", dcl_error());
    dcli_memory_release(memory);
    dcli_device_close(device);
}

static void refuse(int flags)
{
    const int64_t origin[1] = {0};
    dcl_grid grid = dcl_grid_1d(DCL_FLOAT, 1000);
    dcl_npy_info info;
    cr_assert_eq(test_npy_create(test_path("a.npy"), &grid, false, &info), DCL_OK);
    dcli_device *device = test_open(flags);
    dcl_box all = dcl_box_of(&grid);
    dcli_region region = dcli_region_packed(&all, 0);
    dcli_region_list list = {.region = &region, .count = 1};
    dcli_memory *memory;
    cr_assert_eq(dcli_memory_create(device, 4000, &memory), DCL_OK);
    for (int n = 1; n <= 2; n++) {
        dcli_alloc_fail_after(n);
        cr_expect_eq(test_npy_load(test_path("a.npy"), &info, origin, &list, device, memory), DCL_ERR_NOMEM);
        dcli_alloc_fail_after(n);
        cr_expect_eq(test_npy_save(test_path("a.npy"), &info, origin, &list, device, memory), DCL_ERR_NOMEM);
    }
    dcli_alloc_fail_after(0);
    cr_assert_eq(truncate(test_path("a.npy"), 1000), 0);
    cr_expect_eq(test_npy_load(test_path("a.npy"), &info, origin, &list, device, memory), DCL_ERR_FILE);
    cr_expect(strstr(dcl_error(), "a.npy\" ends at byte 1000; expected 4128 bytes at least; it was shortened"), "%s",
              dcl_error());
    cr_expect_eq(test_npy_load(test_path("b.npy"), &info, origin, &list, device, memory), DCL_ERR_FILE);
    cr_expect(strstr(dcl_error(), "b.npy\" cannot be opened: No such file or directory"), "%s", dcl_error());
    cr_expect_eq(test_npy_save(test_path("b.npy"), &info, origin, &list, device, memory), DCL_ERR_FILE);
    dcli_memory_release(memory);
    dcli_device_close(device);
}

Test(device_npy, refusals, .init = test_files, .fini = test_files_end)
{
    for (int mode = 0; mode < TEST_MODE_COUNT; mode++)
        refuse(TEST_MODES[mode]);
}
