/* Pictures: elements to pixels, and the files. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>

#include <float.h>
#include <math.h>
#include <string.h>

#include "store/image.h"

struct pixel_case {
    char what[40];
    double value, black, white;
    int bits, pixel;
};

ParameterizedTestParameters(image, pixels)
{
    static struct pixel_case cases[] = {
        /* what                      value     black     white   bits  pixel */
        {"black", -1, -1, 1, 8, 0},
        {"white", 1, -1, 1, 8, 255},
        {"between, rounded", 0, -1, 1, 8, 128},
        {"a fifth", 0.2, 0, 1, 16, 13107},
        {"below black", -7, -1, 1, 8, 0},
        {"above white", 7, -1, 1, 16, 65535},
        {"turned: above black", 7, 1, -1, 8, 0},
        {"turned: a quarter", 0.75, 1, 0, 8, 64},
        {"NaN", NAN, -1, 1, 8, 0},
        {"infinite", INFINITY, 0, 1, 8, 255},
        {"infinitely little", -INFINITY, 0, 1, 8, 0},
        {"infinite, turned", INFINITY, 1, 0, 8, 0},
        {"range beyond a double", DBL_MAX, -DBL_MAX, DBL_MAX, 8, 255},
        {"its middle", 0, -DBL_MAX, DBL_MAX, 8, 128},
        {"the least range", 0x1p-1074, 0, 0x1p-1074, 8, 255},
        {"far below black", -DBL_MAX, DBL_MAX / 2, DBL_MAX, 8, 0},
    };
    return cr_make_param_array(struct pixel_case, cases, sizeof cases / sizeof cases[0]);
}

ParameterizedTest(struct pixel_case *c, image, pixels)
{
    dcl_image image = {.bits = c->bits, .black = c->black, .white = c->white};
    uint8_t found[2] = {0, 0};
    dcli_image_pixels(&c->value, DCL_DOUBLE, 1, &image, found);
    int pixel = c->bits == 16 ? found[0] << 8 | found[1] : found[0];
    cr_expect_eq(pixel, c->pixel, "%s: %d; expected %d", c->what, pixel, c->pixel);
}

/* Each value of an 8-bit and a 16-bit element is its own pixel. */
Test(image, whole_numbers_are_kept)
{
    dcl_image image = {.bits = 8, .black = 0, .white = 255};
    uint8_t small[256], pixels[2 * 65536];
    static uint16_t large[65536];
    for (int n = 0; n < 65536; n++) {
        small[n & 255] = (uint8_t)n;
        large[n] = (uint16_t)n;
    }
    dcli_image_pixels(small, DCL_UINT8, 256, &image, pixels);
    cr_expect_arr_eq(pixels, small, 256);
    image = (dcl_image){.bits = 16, .black = 0, .white = 65535};
    dcli_image_pixels(large, DCL_UINT16, 65536, &image, pixels);
    for (int n = 0; n < 65536; n++)
        cr_assert_eq(pixels[2 * n] << 8 | pixels[2 * n + 1], n);
}

/* Every type is read as what it is: 3 is a third of 9. */
Test(image, types)
{
    const struct {
        dcl_type type;
        const void *element;
    } rows[] = {{DCL_INT8, &(int8_t){3}},     {DCL_INT16, &(int16_t){3}},   {DCL_INT32, &(int32_t){3}},
                {DCL_INT64, &(int64_t){3}},   {DCL_UINT8, &(uint8_t){3}},   {DCL_UINT16, &(uint16_t){3}},
                {DCL_UINT32, &(uint32_t){3}}, {DCL_UINT64, &(uint64_t){3}}, {DCL_HALF, &(uint16_t){0x4200}},
                {DCL_FLOAT, &(float){3}},     {DCL_DOUBLE, &(double){3}}};
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        uint8_t pixel = 0;
        dcli_image_pixels(rows[r].element, rows[r].type, 1, &(dcl_image){.bits = 8, .white = 9}, &pixel);
        cr_expect_eq(pixel, 85, "%s: %d; expected 85", dcl_type_name(rows[r].type), pixel);
    }
}

Test(image, halves)
{
    /* 1, -2, the least above 0 (2^-24), the greatest (65504), infinite, NaN. Source: IEEE 754-2019, table 3.5 */
    const uint16_t halves[] = {0x3c00, 0xc000, 0x0001, 0x7bff, 0x7c00, 0x7e00};
    const double least[] = {1, -2, 0x1p-24, 65504, INFINITY, INFINITY};
    for (int n = 0; n < 6; n++) {
        double from = INFINITY, to = -INFINITY;
        dcli_image_range(&halves[n], DCL_HALF, 1, &from, &to);
        cr_expect_eq(from, least[n], "%04x: %g; expected %g", (unsigned)halves[n], from, least[n]);
    }
}

Test(image, range_has_finite_elements_only)
{
    double from = INFINITY, to = -INFINITY;
    dcli_image_range((double[]){NAN, 3, -INFINITY, -2, INFINITY}, DCL_DOUBLE, 5, &from, &to);
    cr_expect(from == -2 && to == 3, "%g to %g; expected -2 to 3", from, to);
}
