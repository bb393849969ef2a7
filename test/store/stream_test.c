/* A file cut into stretches: which boxes, where; and what is read and written. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>

#include <string.h>

#include "segment/box.h"
#include "store/folder.h"
#include "store/npy_by_name.h"
#include "store/npy_stream.h"

struct cut_case {
    char what[32];
    int rank;
    int64_t extent[4], origin[4];
    bool fortran_order;
    int64_t most_bytes;
    char stretches[160]; /* box@first element, in the order of the file */
};

ParameterizedTestParameters(npy_stream, cuts)
{
    static struct cut_case cases[] = {
        {"all at once", 2, {2, 3}, {0}, false, 24, "[0:2, 0:3]@0"},
        {"one byte too few", 2, {2, 3}, {0}, false, 23, "[0:1, 0:3]@0 [1:2, 0:3]@3"},
        {"whole rows, the last cut", 2, {5, 2}, {0}, false, 16, "[0:2, 0:2]@0 [2:4, 0:2]@4 [4:5, 0:2]@8"},
        {"rows that are too long", 2, {2, 3}, {0}, false, 8, "[0:1, 0:2]@0 [0:1, 2:3]@2 [1:2, 0:2]@3 [1:2, 2:3]@5"},
        {"less than an element", 1, {3}, {0}, false, 1, "[0:1]@0 [1:2]@1 [2:3]@2"},
        {"Fortran order", 2, {2, 3}, {0}, true, 16, "[0:2, 0:2]@0 [0:2, 2:3]@4"},
        {"Fortran order, long columns", 2, {3, 2}, {0}, true, 8, "[0:2, 0:1]@0 [2:3, 0:1]@2 [0:2, 1:2]@3 [2:3, 1:2]@5"},
        {"from the array's origin", 2, {2, 2}, {-5, 7}, false, 8, "[-5:-4, 7:9]@0 [-4:-3, 7:9]@2"},
        {"axes of one index", 4, {1, 3, 1, 2}, {0}, false, 16, "[0:1, 0:2, 0:1, 0:2]@0 [0:1, 2:3, 0:1, 0:2]@4"},
        {"the middle axis is cut",
         3,
         {2, 3, 2},
         {0},
         false,
         16,
         "[0:1, 0:2, 0:2]@0 [0:1, 2:3, 0:2]@4 [1:2, 0:2, 0:2]@6 [1:2, 2:3, 0:2]@10"},
        {"no element", 2, {3, 0}, {0}, false, 64, ""},
    };
    return cr_make_param_array(struct cut_case, cases, sizeof cases / sizeof cases[0]);
}

ParameterizedTest(struct cut_case *c, npy_stream, cuts, .init = test_files, .fini = test_files_end)
{
    dcl_grid grid = dcl_grid_nd(DCL_INT32, c->rank, c->extent, NULL);
    dcl_npy_info info;
    dcli_npy_stream stream;
    dcli_npy_stretch stretch;
    char text[512] = "";
    cr_assert_eq(test_npy_create(test_path("a.npy"), &grid, c->fortran_order, &info), DCL_OK, "%s", dcl_error());
    stream = dcli_npy_stream_begin(-1, "a.npy", &info, c->origin, c->most_bytes);
    while (dcli_npy_stream_next(&stream, &stretch)) {
        char box[128];
        dcli_box_print(&stretch.box, box, sizeof box);
        cr_expect_eq(stretch.count, dcli_box_elements(&stretch.box));
        cr_expect_leq(stretch.count, stream.most);
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s@%lld", text[0] != '\0' ? " " : "", box,
                 (long long)(stretch.start_bytes - info.data_start) / 4);
    }
    cr_expect_not(dcli_npy_stream_next(&stream, &stretch));
    cr_expect_str_eq(text, c->stretches, "%s: %s; expected %s", c->what, text, c->stretches);
}

/* An axis longer than any memory is cut without passing over it. */
Test(npy_stream, cuts_files_that_are_longer_than_any_disk, .init = test_files, .fini = test_files_end)
{
    const int64_t extent[] = {(int64_t)1 << 30, (int64_t)1 << 31}, origin[] = {0, -4};
    dcl_npy_info info = {.grid = dcl_grid_nd(DCL_INT8, 2, extent, NULL), .data_start = 64};
    dcli_npy_stream stream;
    dcli_npy_stretch stretch;
    test_write_file("a.npy", "", 0);
    int fd = open(test_path("a.npy"), O_RDONLY | O_CLOEXEC);
    stream = dcli_npy_stream_begin(fd, "a.npy", &info, origin, 1 << 22);
    for (int n = 0; n < 513; n++)
        cr_assert(dcli_npy_stream_next(&stream, &stretch));
    cr_expect_eq(stretch.start_bytes, 64 + ((int64_t)1 << 31)); /* 512 stretches are a row */
    cr_expect_eq(stretch.count, 1 << 22);
    cr_expect(stretch.box.start[0] == 1 && stretch.box.start[1] == -4);
    char element;
    stretch.count = 1;
    cr_expect_eq(dcli_npy_stream_read(&stream, &stretch, &element), DCL_ERR_FILE);
    cr_expect(strstr(dcl_error(), "ends at byte 2147483712; expected 2147483713 bytes at least"), "%s", dcl_error());
    close(fd);
}

/* Elements are those of the host, whatever the file's order of bytes. */
Test(npy_stream, swaps_bytes, .init = test_files, .fini = test_files_end)
{
    dcl_grid grid = dcl_grid_1d(DCL_UINT16, 3);
    const int64_t origin[] = {0};
    dcl_npy_info info;
    dcli_npy_stream stream;
    dcli_npy_stretch stretch;
    uint16_t elements[3] = {0x0102, 0x0304, 0xFFFE};
    unsigned char bytes[6];
    cr_assert_eq(test_npy_create(test_path("a.npy"), &grid, false, &info), DCL_OK);
    info.swapped = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
    int fd = open(test_path("a.npy"), O_RDWR | O_CLOEXEC);
    stream = dcli_npy_stream_begin(fd, "a.npy", &info, origin, 64);
    cr_assert(dcli_npy_stream_next(&stream, &stretch));
    cr_expect_eq(dcli_npy_stream_write(&stream, &stretch, elements), DCL_OK, "%s", dcl_error());
    memset(elements, 0, sizeof elements);
    cr_expect_eq(dcli_npy_stream_read(&stream, &stretch, elements), DCL_OK, "%s", dcl_error());
    cr_expect(elements[0] == 0x0102 && elements[1] == 0x0304 && elements[2] == 0xFFFE);
    close(fd);
    FILE *file = fopen(test_path("a.npy"), "rb");
    fseek(file, (long)info.data_start, SEEK_SET);
    cr_assert_eq(fread(bytes, 1, 6, file), 6);
    cr_expect_eq(fgetc(file), EOF);
    fclose(file);
    cr_expect_arr_eq(bytes, ((unsigned char[]){1, 2, 3, 4, 0xFF, 0xFE}), 6);
}
