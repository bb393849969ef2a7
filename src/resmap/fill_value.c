/* resmap/fill_value.c - the fill value of elements that are stored nowhere: as text, and as an element of any type. */
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "resmap/parts.h"

bool dcli_fill_value_equal(double a, double b)
{
    return isnan(a) || isnan(b) ? isnan(a) && isnan(b) : a == b && signbit(a) == signbit(b);
}

/* ---- text --------------------------------------------------------------------------------------------------------- */

/* The locale "C": numbers in the text of maps have a decimal point in any locale, because processes with other locales
 * read them. */
static locale_t plain_locale(void) { return newlocale(LC_ALL_MASK, "C", (locale_t)0); }

double dcli_fill_value_parse(const char *text, const char **end_out)
{
    char *end;
    locale_t plain = plain_locale();
    double fill_value = plain != (locale_t)0 ? strtod_l(text, &end, plain) : strtod(text, &end);
    if (plain != (locale_t)0)
        freelocale(plain);
    *end_out = end;
    return isnan(fill_value) ? (double)NAN : fill_value;
}

void dcli_fill_value_print(double fill_value, char text_out[32])
{
    enum { FEW_DIGITS = 15, ALL_DIGITS = 17 };
    const char *end;
    locale_t plain = plain_locale(), before = plain != (locale_t)0 ? uselocale(plain) : (locale_t)0;
    for (int digits = FEW_DIGITS; digits <= ALL_DIGITS; digits++) {
        snprintf(text_out, 32, "%.*g", digits, isnan(fill_value) ? (double)NAN : fill_value);
        if (dcli_fill_value_equal(dcli_fill_value_parse(text_out, &end), fill_value))
            break;
    }
    if (plain == (locale_t)0)
        return;
    uselocale(before);
    freelocale(plain);
}

/* ---- elements ----------------------------------------------------------------------------------------------------- */

/* Round to the nearest half, ties to even. @return false: too large. Source: IEEE 754-2019, sections 3.4 and 4.3.1. */
static bool to_half(double value, uint16_t *half_out)
{
    unsigned sign = signbit(value) ? 0x8000 : 0, exponent = 25; /* value = significand * 2^(exponent - 25) */
    double significand = fabs(value);
    if (!isfinite(value)) {
        *half_out = (uint16_t)(isnan(value) ? 0x7e00 : sign | 0x7c00);
        return true;
    }
    if (significand >= 65536)
        return false;
    for (; significand >= 2048; exponent++)
        significand /= 2;
    for (; significand < 1024 && exponent > 1; exponent--)
        significand *= 2;
    unsigned whole = (unsigned)significand;
    double beyond = significand - whole;
    whole += beyond > 0.5 || (beyond == 0.5 && whole % 2 == 1);
    unsigned magnitude = (exponent - 1) * 1024 + whole; /* a carry increments the exponent, as it should */
    *half_out = (uint16_t)(sign | magnitude);
    return magnitude < 0x7c00;
}

static bool to_float(double value, float *float_out)
{
    *float_out = (float)value;
    return isfinite(*float_out) || !isfinite(value);
}

/* Convert a value to an integer of `bits` bits. @return false: it is no such integer. */
static bool to_integer(double value, int bits, bool is_signed, uint64_t *integer_out)
{
    double half = (double)(UINT64_C(1) << (bits - 1)), least = is_signed ? -half : 0, end = is_signed ? half : 2 * half;
    if (!(value >= least && value < end))
        return false;
    *integer_out = value < 0 ? (uint64_t)(int64_t)value : (uint64_t)value;
    return value < 0 ? (double)(int64_t)value == value : (double)(uint64_t)value == value;
}

static bool convert(double fill_value, dcl_type type, void *element_out)
{
    uint64_t integer = 0;
    uint16_t half = 0;
    float single = 0;
    bool fits = false;
    switch (type) {
    case DCL_HALF:
        fits = to_half(fill_value, &half);
        memcpy(element_out, &half, sizeof half);
        return fits;
    case DCL_FLOAT:
        fits = to_float(fill_value, &single);
        memcpy(element_out, &single, sizeof single);
        return fits;
    case DCL_DOUBLE:
        memcpy(element_out, &fill_value, sizeof fill_value);
        return true;
    default:
        fits = to_integer(fill_value, 8 * (int)dcl_type_bytes(type), type <= DCL_INT64, &integer);
        memcpy(element_out, &integer, dcl_type_bytes(type)); /* the low bytes: hosts are little-endian */
        return fits;
    }
}

dcl_status dcli_fill_value_element(double fill_value, dcl_type type, void *element_out)
{
    char text[32];
    if (convert(fill_value, type, element_out))
        return DCL_OK;
    dcli_fill_value_print(fill_value, text);
    return DCLI_FAIL(DCL_ERR_INVALID,
                     "elements that are stored nowhere would read as %s (;rest=), and the elements are of type %s; "
                     "expected a number that the type has; use another rest, or another type",
                     text, dcl_type_name(type));
}
