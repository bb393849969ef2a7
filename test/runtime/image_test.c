/* test/runtime/image_test.c - dcl_save_image(): files of arrays and views, and what is refused. PNG files are decoded in
 * test/cli/cli_test.py. */
#include <criterion/criterion.h>

#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "support/folder.h"
#include "support/nodes.h"

TestSuite(image_on_device, .timeout = TEST_SECONDS, .init = test_make_folder, .fini = test_remove_folder);

#define IMAGE_SIZE .struct_size = sizeof(dcl_image)

static void expect_file(const char *path, const void *expected, size_t length)
{
    char found[4096];
    FILE *file = fopen(path, "rb");
    cr_assert_not_null(file, "%s", path);
    size_t count = fread(found, 1, sizeof found, file);
    fclose(file);
    cr_expect(count == length && memcmp(found, expected, length) == 0, "%zu bytes: %.40s", count, found);
}

#define EXPECT_FILE(path, text) expect_file(path, "" text, sizeof(text) - 1)

/* An array of 3 x 2 elements 0, 1, ... 5. */
static dcl_array *counted(dcl_cluster *cluster, const char *map)
{
    dcl_array *A = test_array(cluster, map, dcl_grid_2d(DCL_INT32, 3, 2));
    test_count_up(A, 0, 1);
    return A;
}

Test(image_on_device, has_the_elements_of_all_nodes)
{
    dcl_cluster *cluster = open_nodes(3);
    char path[TEST_PATH];
    test_path(path, "a.pgm");
    const char *maps[] = {"block", "*,cyclic", "rows:cyclic(1x1)"};
    for (int m = 0; m < 3; m++) {
        dcl_array *A = counted(cluster, maps[m]);
        TEST_OK(dcl_save_image(A, path, NULL));
        EXPECT_FILE(path, "P5\n# black is 0, white is 5\n2 3\n255\n\x00\x33\x66\x99\xcc\xff");
        TEST_OK(dcl_save_image(A, path, &(dcl_image){IMAGE_SIZE, .bits = 16, .black = 3, .white = 2.5}));
        EXPECT_FILE(path,
                    "P5\n# black is 3, white is 2.5\n2 3\n65535\n\xff\xff\xff\xff\xff\xff\x00\x00\x00\x00\x00\x00");
        dcl_release(A);
    }
    cr_expect_eq(test_files_left("a.pgm"), 0);
    TEST_OK(dcl_close(cluster));
}

Test(image_on_device, of_a_view)
{
    dcl_cluster *cluster = open_nodes(2);
    char path[TEST_PATH];
    test_path(path, "picture");
    const dcl_image pgm = {IMAGE_SIZE, .format = DCL_IMAGE_PGM, .white = 255};
    dcl_array *A = counted(cluster, "block"), *T = dcl_transpose(A);
    TEST_OK(dcl_save_image(T, path, &pgm));
    EXPECT_FILE(path, "P5\n# black is 0, white is 255\n3 2\n255\n\x00\x02\x04\x01\x03\x05");
    dcl_release(T);
    dcl_release(A);
    TEST_OK(dcl_close(cluster));
}

/* Elements that are all equal, or none of which is finite, are black. */
Test(image_on_device, without_a_range_is_black)
{
    dcl_cluster *cluster = open_nodes(1);
    char path[TEST_PATH];
    test_path(path, "a.pgm");
    dcl_array *A = test_array(cluster, "block", dcl_grid_2d(DCL_DOUBLE, 1, 2));
    TEST_OK(dcl_fill(A, &(double){7}));
    TEST_OK(dcl_save_image(A, path, NULL));
    EXPECT_FILE(path, "P5\n# black is 7, white is 14\n2 1\n255\n\x00\x00");
    TEST_OK(dcl_fill(A, &(double){DBL_MAX}));
    TEST_OK(dcl_save_image(A, path, NULL));
    EXPECT_FILE(path, "P5\n# black is 1.7976931348623157e+308, white is 0\n2 1\n255\n\x00\x00");
    TEST_OK(dcl_fill(A, &(double){NAN}));
    TEST_OK(dcl_save_image(A, path, NULL));
    EXPECT_FILE(path, "P5\n# black is 0, white is 1\n2 1\n255\n\x00\x00");
    dcl_release(A);
    TEST_OK(dcl_close(cluster));
}

Test(image_on_device, of_small_whole_numbers_has_them_as_pixels)
{
    dcl_cluster *cluster = open_nodes(1);
    char path[TEST_PATH];
    test_path(path, "a.pgm");
    dcl_array *A = test_array(cluster, "block", dcl_grid_2d(DCL_UINT8, 1, 2));
    dcl_array *B = test_array(cluster, "block", dcl_grid_2d(DCL_UINT16, 1, 1));
    TEST_OK(dcl_fill(A, &(uint8_t){7}));
    TEST_OK(dcl_save_image(A, path, NULL));
    EXPECT_FILE(path, "P5\n# black is 0, white is 255\n2 1\n255\n\x07\x07");
    TEST_OK(dcl_fill(B, &(uint16_t){258}));
    TEST_OK(dcl_save_image(B, path, NULL));
    EXPECT_FILE(path, "P5\n# black is 0, white is 65535\n1 1\n65535\n\x01\x02");
    dcl_release(A);
    dcl_release(B);
    TEST_OK(dcl_close(cluster));
}

Test(image_on_device, refuses_what_is_no_picture)
{
    dcl_cluster *cluster = open_nodes(1);
    char path[TEST_PATH], nowhere[TEST_PATH];
    test_path(path, "a.pgm");
    test_path(nowhere, "none/a.pgm");
    dcl_array *A = counted(cluster, "block"), *V = test_array(cluster, "block", dcl_grid_1d(DCL_FLOAT, 4));
    dcl_array *E = test_array(cluster, "block", dcl_grid_2d(DCL_FLOAT, 4, 0));
    TEST_REFUSED(dcl_save_image(NULL, path, NULL), DCL_ERR_INVALID, "array is NULL");
    TEST_REFUSED(dcl_save_image(A, NULL, NULL), DCL_ERR_INVALID, "path is NULL; expected the name of a .png or .pgm");
    TEST_REFUSED(dcl_save_image(A, "a.jpg", NULL), DCL_ERR_INVALID, "\"a.jpg\"; expected a name that ends in .png or");
    TEST_REFUSED(dcl_save_image(A, ".png", NULL), DCL_ERR_INVALID, "ends in .png");
    TEST_REFUSED(dcl_save_image(V, path, NULL), DCL_ERR_INVALID, "rank 1; expected 2");
    TEST_REFUSED(dcl_save_image(E, path, NULL), DCL_ERR_INVALID, "0 columns; expected 1..2147483647");
    TEST_REFUSED(dcl_save_image(A, path, &(dcl_image){IMAGE_SIZE, .bits = 4}), DCL_ERR_INVALID,
                 "image->bits is 4; expected 8 or 16");
    TEST_REFUSED(dcl_save_image(A, path, &(dcl_image){IMAGE_SIZE, .white = NAN}), DCL_ERR_INVALID,
                 "image->white is nan");
    TEST_REFUSED(dcl_save_image(A, path, &(dcl_image){IMAGE_SIZE, .black = -INFINITY}), DCL_ERR_INVALID,
                 "image->black is -inf");
    TEST_REFUSED(dcl_save_image(A, path, &(dcl_image){IMAGE_SIZE, .format = (dcl_image_format)3}), DCL_ERR_INVALID,
                 "image->format is 3");
    cr_expect_eq(test_files_left("none"), 0);
    TEST_REFUSED(dcl_save_image(A, nowhere, NULL), DCL_ERR_FILE, "cannot be made: No such file or directory");
    dcl_clear_error(cluster);
    test_fail(A);
    TEST_REFUSED(dcl_save_image(A, path, NULL), DCL_ERR_DEVICE, "cannot save an array whose contents have failed");
    cr_expect_eq(test_files_left("none"), 0);
    dcl_release(V);
    dcl_release(A);
    dcl_release(E);
    dcl_close(cluster);
}

/* A program that was built when dcl_image had fewer fields, or has more than the library. */
Test(image_on_device, other_sizes_of_the_struct)
{
    dcl_cluster *cluster = open_nodes(1);
    char path[TEST_PATH];
    test_path(path, "a.pgm");
    dcl_array *A = counted(cluster, "block");
    dcl_grid grid = dcl_grid_of(A);
    dcl_image image = {.struct_size = offsetof(dcl_image, black), .bits = 16, .black = NAN, .white = NAN};
    TEST_OK(dcl_image_check(&grid, path, &image));
    TEST_OK(dcl_save_image(A, path, &image));
    EXPECT_FILE(path, "P5\n# black is 0, white is 5\n2 3\n65535\n\x00\x00\x33\x33\x66\x66\x99\x99\xcc\xcc\xff\xff");
    image.struct_size = offsetof(dcl_image, bits);
    TEST_OK(dcl_save_image(A, path, &image));
    EXPECT_FILE(path, "P5\n# black is 0, white is 5\n2 3\n255\n\x00\x33\x66\x99\xcc\xff");

    static const size_t wrong[] = {0, sizeof(size_t) - 1, sizeof(dcl_image) + 1};
    for (size_t n = 0; n < sizeof wrong / sizeof wrong[0]; n++) {
        image = (dcl_image){.struct_size = wrong[n]};
        TEST_REFUSED(dcl_image_check(&grid, path, &image), DCL_ERR_INVALID, "expected sizeof(dcl_image)");
        TEST_REFUSED(dcl_save_image(A, "none.pgm", &image), DCL_ERR_INVALID, "image->struct_size is ");
    }
    cr_expect_eq(test_files_left("a.pgm"), 0);
    dcl_clear_error(cluster);
    dcl_release(A);
    TEST_OK(dcl_close(cluster));
}

Test(image_on_device, is_checked_before)
{
    dcl_grid line = dcl_grid_1d(DCL_FLOAT, 4), plane = dcl_grid_2d(DCL_FLOAT, 4, 4);
    TEST_OK(dcl_image_check(&plane, "a.pgm", NULL));
    TEST_OK(dcl_image_check(&plane, "a.PGM", NULL));
    TEST_REFUSED(dcl_image_check(&line, "a.pgm", NULL), DCL_ERR_INVALID, "rank 1");
    TEST_REFUSED(dcl_image_check(&plane, "a.gif", NULL), DCL_ERR_INVALID, ".png or .pgm");
    TEST_REFUSED(dcl_image_check(NULL, "a.pgm", NULL), DCL_ERR_INVALID, "grid is NULL");
}
