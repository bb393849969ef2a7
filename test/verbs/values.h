/* verbs/values.h - elements of any type in host memory, and the operators of the verbs on them, one at a time. */
#ifndef TEST_VERBS_VALUES_H
#define TEST_VERBS_VALUES_H

#include <dcl.h>

/** A number of any element type: `i` holds the bits of integers, extended to 64; `f` holds floats exactly. */
typedef union test_value {
    int64_t i;
    double f;
} test_value;

/** The operators of the verbs. */
typedef enum test_operator {
    TEST_PLUS,
    TEST_MINUS,
    TEST_TIMES,
    TEST_MIN,
    TEST_MAX,
    TEST_AND,
    TEST_OR,
    TEST_XOR,
    TEST_ANY,
    TEST_ALL,
    TEST_OWN, /* an operator of the program, neither associative nor commutative: see test_combine() */
    TEST_OPERATORS
} test_operator;

/** As they stand before `=`. */
extern const char *const test_operator_text[TEST_OPERATORS];
/** @return TEST_OPERATORS: none of them */
test_operator test_operator_named(const char *text);

bool test_is_floating(dcl_type type);
bool test_is_signed(dcl_type type);

test_value test_load(dcl_type type, const void *at);
void test_store(dcl_type type, void *at, test_value value);

/** The type in which C computes with operands of this type. */
dcl_type test_promoted(dcl_type type);
test_value test_convert(test_value value, dcl_type from, dcl_type to);
/** a OP b of operands of one type, as C does: it rounds to the type, and integers wrap. TEST_MIN and TEST_MAX are a < b ? a : b
 *  and a > b ? a : b. */
test_value test_compute(test_operator op, dcl_type type, test_value a, test_value b);
/** As reductions do: a NaN wins a minimum or maximum, and -0 is less than +0. TEST_MINUS adds. TEST_OWN: 0 (+0) is
 *  neutral; else a / 2 + b of floats, and (a >> 1) ^ b of integers. */
test_value test_combine(test_operator op, dcl_type type, test_value a, test_value b);
test_value test_neutral(test_operator op, dcl_type type);

/** Equal bits, or both not a number. */
bool test_same(dcl_type type, test_value a, test_value b);
/** @return text, 40 characters */
const char *test_print(dcl_type type, test_value value, char text[40]);

/** Which numbers are drawn. */
typedef enum test_spread {
    TEST_SMALL,   /* integers: products with TEST_FACTOR fit their promoted type; floats: -1000 .. 1000 */
    TEST_FACTOR,  /* few small whole numbers; floats: as TEST_SMALL */
    TEST_WHOLE,   /* all bits of integers; floats whose exponents lie up to 80 apart */
    TEST_SPECIAL, /* as TEST_WHOLE, some of them 0, -0, infinite, not a number, or the least and largest integers */
    TEST_NEAR_ONE /* their products neither overflow nor vanish */
} test_spread;

/** Random numbers from a seed. Source: splitmix64 (Steele, Lea, Flood, OOPSLA 2014). */
uint64_t test_next(uint64_t *random);
test_value test_draw(dcl_type type, test_spread spread, uint64_t *random);

#endif
