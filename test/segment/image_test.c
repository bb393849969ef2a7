/* test/segment/image_test.c - images of boxes that go beyond a periodic grid. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "segment/image.h"
#include "segment/random.h"

/* All images of a box as text: "box+shift". */
static void print_images(const dcl_box *box, const dcl_grid *grid, char *out, size_t capacity)
{
    dcli_image image;
    size_t at = 0;
    out[0] = '\0';
    for (int next = 0; dcli_image_next(box, grid, &next, &image);) {
        char text[64];
        dcli_box_print(&image.box, text, sizeof text);
        at += (size_t)snprintf(out + at, capacity - at, "%s%s%+d", at > 0 ? " " : "", text, (int)image.shift[0]);
    }
}

Test(image, rows)
{
    static const struct {
        int64_t origin, extent, start, count, stride;
        const char *images;
    } cases[] = {
        {0, 12, 3, 4, 1, "[3:7]+0"},
        {0, 12, -1, 1, 1, "[11:12]-12"},
        {0, 12, 12, 2, 1, "[0:2]+12"},
        {0, 12, -2, 5, 1, "[0:3]+0 [10:12]-12"},
        {0, 12, -1, 14, 1, "[0:12]+0 [11:12]-12 [0:1]+12"},
        {5, 4, 4, 6, 1, "[5:9]+0 [8:9]-4 [5:6]+4"},
        {0, 3, -2, 3, 2, "[0:4:2]+0 [1:2]-3"},
        {0, 3, -3, 9, 1, "[0:3]+0 [0:3]-3 [0:3]+3"},
    };
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        dcl_grid grid = {.type = DCL_FLOAT, .rank = 1, .origin = {cases[k].origin}, .extent = {cases[k].extent}};
        dcl_box box = {.rank = 1, .start = {cases[k].start}, .count = {cases[k].count}, .stride = {cases[k].stride}};
        char images[200];
        print_images(&box, &grid, images, sizeof images);
        cr_expect_str_eq(images, cases[k].images, "case %zu: %s", k, images);
    }
}

/* Every index of a box is in exactly one image, at the element that it wraps to. */
Test(image, every_index_once)
{
    uint64_t random = 7;
    for (int n = 0; n < 3000; n++) {
        dcl_grid grid = {.type = DCL_FLOAT, .rank = 2};
        dcl_box box = {.rank = 2};
        for (int d = 0; d < 2; d++) {
            grid.origin[d] = test_between(&random, -4, 4);
            grid.extent[d] = test_between(&random, 1, 6);
            int64_t first = grid.origin[d] - grid.extent[d], end = grid.origin[d] + 2 * grid.extent[d];
            box.start[d] = test_between(&random, first, end - 1);
            box.stride[d] = test_between(&random, 1, 3);
            box.count[d] = test_between(&random, 1, (end - 1 - box.start[d]) / box.stride[d] + 1);
            box.stride[d] = box.count[d] > 1 ? box.stride[d] : 1;
        }
        for (int64_t i = 0; i < box.count[0]; i++)
            for (int64_t j = 0; j < box.count[1]; j++) {
                int64_t at[] = {box.start[0] + i * box.stride[0], box.start[1] + j * box.stride[1]};
                int found = 0;
                dcli_image image;
                for (int next = 0; dcli_image_next(&box, &grid, &next, &image);) {
                    int64_t inside[] = {at[0] - image.shift[0], at[1] - image.shift[1]};
                    dcl_box whole = dcl_box_of(&grid);
                    found += dcli_box_contains(&image.box, inside) && dcli_box_contains(&whole, inside);
                }
                cr_assert_eq(found, 1, "case %d: index %d,%d is in %d images", n, (int)at[0], (int)at[1], found);
            }
    }
}

Test(image, meeting)
{
    dcl_grid grid = dcl_grid_1d(DCL_FLOAT, 12);
    dcl_box box = {.rank = 1, .start = {-2}, .count = {4}, .stride = {1}}; /* 10, 11, 0, 1 */
    for (int64_t i = 0; i < 12; i++) {
        dcl_box one = {.rank = 1, .start = {i}, .count = {1}, .stride = {1}};
        cr_expect_eq(dcli_images_meet(&box, &grid, &one), i < 2 || i >= 10, "index %d", (int)i);
    }
}
