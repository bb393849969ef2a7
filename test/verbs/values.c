/* verbs/values.c - see values.h. */
#include "verbs/values.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

const char *const test_operator_text[TEST_OPERATORS] = {"+", "-", "*",   "min", "max",    "&",
                                                        "|", "^", "any", "all", "combine"};

test_operator test_operator_named(const char *text)
{
    int op = 0;
    while (op < TEST_OPERATORS && strcmp(test_operator_text[op], text) != 0)
        op++;
    return (test_operator)op;
}

bool test_is_floating(dcl_type type) { return type == DCL_FLOAT || type == DCL_DOUBLE; }

bool test_is_signed(dcl_type type)
{
    return type == DCL_INT8 || type == DCL_INT16 || type == DCL_INT32 || type == DCL_INT64;
}

/* ---- in memory ------------------------------------------------------------------------------------------------------ */

/* The low bits of an integer, extended as its type says. */
static int64_t wrap(dcl_type type, uint64_t bits)
{
    switch (type) {
    case DCL_INT8:
        return (int8_t)bits;
    case DCL_INT16:
        return (int16_t)bits;
    case DCL_INT32:
        return (int32_t)bits;
    case DCL_UINT8:
        return (uint8_t)bits;
    case DCL_UINT16:
        return (uint16_t)bits;
    case DCL_UINT32:
        return (uint32_t)bits;
    default:
        return (int64_t)bits;
    }
}

test_value test_load(dcl_type type, const void *at)
{
    test_value value = {0};
    float single;
    if (type == DCL_DOUBLE) {
        memcpy(&value.f, at, sizeof value.f);
    } else if (type == DCL_FLOAT) {
        memcpy(&single, at, sizeof single);
        value.f = single;
    } else {
        memcpy(&value.i, at, dcl_type_bytes(type)); /* little endian, as everything that OpenCL's CPU drivers run on */
        value.i = wrap(type, (uint64_t)value.i);
    }
    return value;
}

void test_store(dcl_type type, void *at, test_value value)
{
    float single = type == DCL_FLOAT ? (float)value.f : 0;
    memcpy(at, type == DCL_FLOAT ? (void *)&single : (void *)&value, dcl_type_bytes(type));
}

bool test_same(dcl_type type, test_value a, test_value b)
{
    return test_is_floating(type) ? (isnan(a.f) && isnan(b.f)) || memcmp(&a.f, &b.f, sizeof a.f) == 0 : a.i == b.i;
}

const char *test_print(dcl_type type, test_value value, char text[40])
{
    if (test_is_floating(type))
        snprintf(text, 40, "%a", value.f);
    else if (test_is_signed(type))
        snprintf(text, 40, "%" PRId64, value.i);
    else
        snprintf(text, 40, "%" PRIu64, (uint64_t)value.i);
    return text;
}

/* ---- computing ------------------------------------------------------------------------------------------------------ */

dcl_type test_promoted(dcl_type type) { return !test_is_floating(type) && dcl_type_bytes(type) < 4 ? DCL_INT32 : type; }

/* To the nearest number of a type, of one that double holds. A float rounded from the sum or product of two floats as
 * double is as if it had been rounded once, because double has more than twice as many digits. */
static test_value rounded(dcl_type type, double value)
{
    return (test_value){.f = type == DCL_FLOAT ? (double)(float)value : value};
}

test_value test_convert(test_value value, dcl_type from, dcl_type to)
{
    if (!test_is_floating(to))
        return (test_value){.i = wrap(to, (uint64_t)value.i)};
    if (test_is_floating(from))
        return rounded(to, value.f);
    bool is_signed = test_is_signed(from);
    if (to == DCL_DOUBLE)
        return (test_value){.f = is_signed ? (double)value.i : (double)(uint64_t)value.i};
    return (test_value){.f = is_signed ? (float)value.i : (float)(uint64_t)value.i};
}

static bool less(dcl_type type, test_value a, test_value b)
{
    if (test_is_floating(type))
        return a.f < b.f;
    return test_is_signed(type) ? a.i < b.i : (uint64_t)a.i < (uint64_t)b.i;
}

test_value test_compute(test_operator op, dcl_type type, test_value a, test_value b)
{
    if (op == TEST_MIN)
        return less(type, a, b) ? a : b;
    if (op == TEST_MAX)
        return less(type, b, a) ? a : b;
    if (test_is_floating(type))
        return rounded(type, op == TEST_PLUS ? a.f + b.f : op == TEST_MINUS ? a.f - b.f : a.f * b.f);
    uint64_t x = (uint64_t)a.i, y = (uint64_t)b.i;
    switch (op) {
    case TEST_PLUS:
        return (test_value){.i = wrap(type, x + y)};
    case TEST_MINUS:
        return (test_value){.i = wrap(type, x - y)};
    case TEST_TIMES:
        return (test_value){.i = wrap(type, x * y)};
    case TEST_AND:
        return (test_value){.i = wrap(type, x & y)};
    case TEST_OR:
        return (test_value){.i = wrap(type, x | y)};
    default:
        return (test_value){.i = wrap(type, x ^ y)};
    }
}

static bool is_zero(dcl_type type, test_value value)
{
    return test_is_floating(type) ? value.f == 0 && signbit(value.f) == 0 : value.i == 0;
}

static test_value combine_own(dcl_type type, test_value a, test_value b)
{
    if (is_zero(type, a) || is_zero(type, b))
        return is_zero(type, a) ? b : a;
    if (test_is_floating(type))
        return rounded(type, rounded(type, a.f * 0.5).f + b.f);
    uint64_t half = test_is_signed(type) ? (uint64_t)(a.i >> 1) : (uint64_t)a.i >> 1;
    return (test_value){.i = wrap(type, half ^ (uint64_t)b.i)};
}

test_value test_combine(test_operator op, dcl_type type, test_value a, test_value b)
{
    if (test_is_floating(type) && (op == TEST_MIN || op == TEST_MAX)) {
        if (isnan(a.f) || isnan(b.f))
            return (test_value){.f = NAN};
        if (a.f == b.f)
            return (signbit(a.f) != 0) == (op == TEST_MIN) ? a : b;
    }
    if (op == TEST_OWN)
        return combine_own(type, a, b);
    if (op == TEST_ANY || op == TEST_ALL)
        return (test_value){.i = op == TEST_ANY ? a.i != 0 || b.i != 0 : a.i != 0 && b.i != 0};
    return test_compute(op == TEST_MINUS ? TEST_PLUS : op, type, a, b);
}

test_value test_neutral(test_operator op, dcl_type type)
{
    unsigned bits = 8 * (unsigned)dcl_type_bytes(type);
    bool low = op == TEST_MAX; /* the least number, not the largest */
    switch (op) {
    case TEST_TIMES:
    case TEST_ALL:
        return test_convert((test_value){.i = 1}, DCL_INT64, type);
    case TEST_AND:
        return (test_value){.i = wrap(type, UINT64_MAX)};
    case TEST_MIN:
    case TEST_MAX:
        if (test_is_floating(type))
            return (test_value){.f = low ? -INFINITY : INFINITY};
        if (!test_is_signed(type))
            return (test_value){.i = low ? 0 : wrap(type, UINT64_MAX)};
        return (test_value){.i = wrap(type, (UINT64_C(1) << (bits - 1)) - !low)};
    default:
        return (test_value){0};
    }
}

/* ---- drawing -------------------------------------------------------------------------------------------------------- */

uint64_t test_next(uint64_t *random)
{
    uint64_t z = *random += 0x9E3779B97F4A7C15;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return z ^ (z >> 31);
}

static test_value draw_integer(dcl_type type, test_spread spread, uint64_t *random)
{
    uint64_t bits = test_next(random);
    int width = 8 * (int)dcl_type_bytes(test_promoted(type));
    if (spread == TEST_SPECIAL && bits % 8 == 0)
        return test_neutral(bits & 8 ? TEST_MIN : TEST_MAX, type);
    if (spread == TEST_WHOLE || spread == TEST_SPECIAL)
        return (test_value){.i = wrap(type, bits)};
    int kept = spread == TEST_FACTOR || spread == TEST_NEAR_ONE ? 5 : width - 8;
    int64_t value = (int64_t)bits >> (64 - kept); /* -2^(kept - 1) .. 2^(kept - 1) - 1 */
    return (test_value){.i = wrap(type, test_is_signed(type) || value >= 0 ? (uint64_t)value : (uint64_t)-value)};
}

static double draw_special(uint64_t bits)
{
    static const double list[] = {0.0, -0.0, 0.0, -0.0, INFINITY, -INFINITY, NAN, 1.0};
    return list[bits % 8];
}

test_value test_draw(dcl_type type, test_spread spread, uint64_t *random)
{
    if (!test_is_floating(type))
        return draw_integer(type, spread, random);
    uint64_t bits = test_next(random), more = test_next(random);
    double fraction = (double)(int64_t)bits * 0x1p-63; /* -1 .. 1 */
    if (spread == TEST_NEAR_ONE)
        return rounded(type, copysign(1 + fabs(fraction) / 4 - (double)(more & 1) / 4, fraction));
    if (spread == TEST_SMALL || spread == TEST_FACTOR)
        return rounded(type, 1000 * fraction);
    if (spread == TEST_SPECIAL && more % 200 == 0)
        return (test_value){.f = draw_special(more / 256)};
    return rounded(type, ldexp(fraction, (int)(more % 81) - 40));
}
