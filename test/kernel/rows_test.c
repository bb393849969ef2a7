/* test/kernel/rows_test.c - table rows, launches, logs and the texts themselves. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "kernel/spec.h"

static dcli_body *parse(const char *spec, const char *text)
{
    dcli_body *body = NULL;
    cr_assert_eq(test_parse(spec, text, &body), DCL_OK, "%s", dcl_error());
    return body;
}

Test(kernel_rows, layout)
{
    dcli_body *body = parse("out C 2, in A 3, all T 1", "C(i,j) = A(i,j,0) + T(T(0));");
    cr_expect_eq(dcli_row_at(body, DCLI_ROW_OFFSET, 0), 6, "start, stride, count of two axes");
    cr_expect_eq(dcli_row_at(body, DCLI_ROW_OFFSET, 1), 9, "offset and two steps");
    cr_expect_eq(dcli_row_at(body, DCLI_ROW_OFFSET, 2), 12);
    cr_expect_eq(dcli_row_at(body, DCLI_ROW_GRID_LOW, 0), 16, "offset, step, low and extent of one axis");
    cr_expect_eq(dcli_row_at(body, DCLI_ROW_GRID_LOW, 1), 20);
    cr_expect_eq(dcli_row_at(body, DCLI_ROW_GRID_LOW, 2), 26);
    cr_expect_eq(dcli_row_length(body), 28);
    cr_expect_eq(dcli_row_at(body, DCLI_ROW_COUNT, 2), 4, "of the box, for any access");
    cr_expect_eq(dcli_row_at(body, DCLI_ROW_STEP, 1), 10);
    cr_expect_eq(dcli_row_field_length(body, DCLI_ROW_STEP, 1), 2, "of the loop's axes");
    cr_expect_eq(dcli_row_at(body, DCLI_ROW_LOW, 1), -1, "an affine access has none");
    cr_expect_eq(dcli_row_field_length(body, DCLI_ROW_LOW, 2), 1);
    cr_expect_eq(dcli_row_at(body, DCLI_ROW_WIDTH, 2), -1);
    int own[28];
    cr_expect_eq(dcli_row_own(body, own), 6, "start, three offsets, the low of T");
    cr_expect_eq(own[1], 1);
    cr_expect_eq(own[3], 9);
    cr_expect_eq(own[5], dcli_row_at(body, DCLI_ROW_LOW, 2));
    dcli_body_free(body);
}

Test(kernel_rows, unit_rows)
{
    dcli_body *body = parse("out C 2, in A 2, in B 2, in D 1", "C(i,j) = A(i,2*j) + B(j,i) + D(i);");
    int64_t row[64] = {0, 0, 1, 1, 10, 20, /* C */ 0, 50, 1, /* A */ 0, 50, 2, /* B */ 0, 1, 50, /* D */ 0, 1, 0};
    cr_expect(dcli_row_is_unit(body, row));
    row[8] = 2;
    cr_expect_not(dcli_row_is_unit(body, row), "C's columns lie apart");
    row[5] = 1;
    cr_expect(dcli_row_is_unit(body, row), "of one column nothing lies apart");
    row[5] = 20, row[8] = 1, row[13] = 4;
    cr_expect_not(dcli_row_is_unit(body, row), "B's rows lie apart");
    row[13] = 1, row[16] = 9;
    cr_expect(dcli_row_is_unit(body, row), "D is not read along the innermost axis");
    row[4] = 65535 * 32 + 1;
    cr_expect_not(dcli_row_is_unit(body, row), "more squares across than a launch can have");
    dcli_body_free(body);
}

/* Rows cover the box, are several per unit when it is large, one when it is small. */
static void expect_costly(const char *spec, const char *text, const int64_t count[2], int units, double element_ns,
                          int64_t least, int64_t most)
{
    dcli_body *body = parse(spec, text);
    int64_t shape[DCL_MAX_RANK], rows = 1;
    dcli_body_row_shape(body, count, units, element_ns, shape);
    for (int m = 0; m < body->space_rank; m++) {
        cr_expect(shape[m] >= 1 && (shape[m] <= count[m] || count[m] == 0), "%s axis %d: %d", text, m, (int)shape[m]);
        rows *= (count[m] + shape[m] - 1) / shape[m];
    }
    cr_expect(rows >= least && rows <= most, "%s: %d rows of %d x %d", text, (int)rows, (int)shape[0], (int)shape[1]);
    dcli_body_free(body);
}

static void expect_rows(const char *spec, const char *text, const int64_t count[2], int units, int64_t least,
                        int64_t most)
{
    expect_costly(spec, text, count, units, 0, least, most);
}

Test(kernel_rows, shapes)
{
    const char *two = "out C 2, in B 2", *one = "out C 1, in B 1";
    expect_rows(two, "C(i,j) = B(i,j);", (int64_t[]){64, 64}, 2, 1, 1);
    expect_rows(two, "C(i,j) = B(i,j);", (int64_t[]){8192, 8192}, 2, 8, 64);
    expect_rows(two, "C(i,j) = B(i,j);", (int64_t[]){3, 1000000}, 4, 8, 64);
    expect_rows(two, "C(i,j) = B(i,j);", (int64_t[]){0, 10}, 2, 0, 1);
    expect_rows(two, "C(i,j) = B(j,i);", (int64_t[]){8192, 8192}, 2, 64, 1024);
    expect_rows(two, "C(i,j) = B(j,i);", (int64_t[]){200, 200}, 2, 1, 16);
    expect_rows(two, "C(i,j) = B(j,i);", (int64_t[]){1, 100000000}, 2, 16, 100000);
    expect_rows(one, "C(i) = B(i);", (int64_t[]){1 << 26, 1}, 2, 8, 64);
    expect_rows(one, "float s = 0; for (int t = 0; t < 99; t++) s += t; C(i) = s;", (int64_t[]){4096, 1}, 2, 4, 64);
}

/* Few elements are cut by what they cost: from 60 us on, rows of 8 us and more, 128 per unit at most. */
Test(kernel_rows, shapes_by_cost)
{
    const char *one = "out C 1, in B 1", *two = "out C 2, in B 2";
    expect_costly(one, "C(i) = B(i);", (int64_t[]){256, 1}, 2, 100, 1, 1);
    expect_costly(one, "C(i) = B(i);", (int64_t[]){256, 1}, 2, 10000, 256, 256);
    expect_costly(one, "C(i) = B(i);", (int64_t[]){256, 1}, 2, 2000, 64, 64);
    expect_costly(one, "C(i) = B(i);", (int64_t[]){256, 1}, 1, 10000, 1, 1);
    expect_costly(one, "C(i) = B(i);", (int64_t[]){8192, 1}, 2, 20, 16, 16);
    expect_costly(one, "C(i) = B(i);", (int64_t[]){1, 1}, 8, 1e9, 1, 1);
    expect_costly(two, "C(i,j) = B(i,j);", (int64_t[]){3, 100}, 2, 100000, 150, 256);
    expect_costly(two, "C(i,j) = B(j,i);", (int64_t[]){16, 16}, 2, 100000, 256, 256);
    expect_costly(one, "C(i) = B(i);", (int64_t[]){1 << 26, 1}, 2, 1, 16, 16);
}

/* Four lines are computed together, where enough rows are left. */
Test(kernel_rows, lines_of_sweeps_stay_together)
{
    dcli_body *body = parse("out C 2, in A 2, in B 2, value n int64",
                            "float s = 0; for (long k = 0; k < n; k++) s += A(i,k) * B(k,j); C(i,j) = s;");
    static const struct {
        int64_t count[2], lines;
        int units;
    } rows[] = {{{1000, 512}, 64, 2}, {{512, 512}, 32, 2}, {{40, 512}, 4, 2}, {{20, 512}, 2, 2}, {{1000, 512}, 8, 16}};
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        int64_t shape[DCL_MAX_RANK];
        dcli_body_row_shape(body, rows[r].count, rows[r].units, 0, shape);
        cr_expect_eq(shape[0], rows[r].lines, "%d lines, %d units: %d", (int)rows[r].count[0], rows[r].units,
                     (int)shape[0]);
    }
    dcli_body_free(body);
}

Test(kernel_rows, rows_by_cost)
{
    dcli_body *body = parse("out C 1, in B 1", "C(i) = B(i);");
    cr_expect_eq(dcli_body_rows(body, 1000, 2, 0), 1, "not known");
    cr_expect_eq(dcli_body_rows(body, 1000, 2, 59), 1, "59 us");
    cr_expect_eq(dcli_body_rows(body, 1000, 2, 64), 8);
    cr_expect_eq(dcli_body_rows(body, 1000, 2, 1e15), 256);
    cr_expect_eq(dcli_body_rows(body, 100000, 64, 1e9), 8192);
    cr_expect_eq(dcli_body_rows(body, 16 * 16384, 2, 1e9), 16, "many elements: as many as by their number");
    cr_expect_eq(dcli_body_rows(body, INT64_MAX, 2, 1e9), 16);
    dcli_body_free(body);
}

static void expect_launch(const char *text, dcli_variant variant, const int64_t count[3], int dimension,
                          const size_t global[3], const size_t local[3])
{
    dcli_body *body = parse("out C 3, in A 3", text);
    dcli_launch_size size = dcli_body_launch_size(body, variant, count, 1, false);
    cr_expect_eq(size.dimensions, dimension);
    cr_expect_eq(size.rows, 1);
    cr_expect_eq(size.each, 0, "the row is a value");
    for (int d = 0; d < dimension; d++) {
        cr_expect_eq(size.global[d], global[d], "%s: global %d is %zu", text, d, size.global[d]);
        cr_expect_eq(size.local[d], local[d], "%s: local %d is %zu", text, d, size.local[d]);
    }
    dcli_body_free(body);
}

/* Launches of several rows of one shape. */
struct set_case {
    char what[48], spec[24], text[32];
    dcli_variant variant;
    int64_t count[3], rows;
    size_t global[3], local[3];
    int64_t launched;
    uint32_t each;
};

ParameterizedTestParameters(kernel_rows, sets)
{
    static struct set_case cases[] = {
        {"segments, turned",
         "out C 2, in A 2",
         "C(i,j) = A(j,i);",
         DCLI_VARIANT_UNIT,
         {1024, 1024},
         256,
         {1024, 256, 256},
         {32, 8, 1},
         256,
         1},
        {"segments as they are",
         "out C 2, in A 2",
         "C(i,j) = A(i,j);",
         DCLI_VARIANT_UNIT,
         {1024, 1024},
         256,
         {256, 1024, 256},
         {256, 1, 1},
         256,
         1},
        {"rows that are short: several indices each",
         "out C 2, in A 2",
         "C(i,j) = A(i,j);",
         DCLI_VARIANT_UNIT,
         {254, 254},
         1024,
         {64, 256, 1024},
         {64, 4, 1},
         1024,
         1},
        {"an outer axis",
         "out C 3, in A 3",
         "C(i,j,k) = A(i,j,k);",
         DCLI_VARIANT_ANY,
         {5, 100, 20},
         7,
         {32, 104, 35},
         {32, 8, 1},
         7,
         5},
        {"small rows share groups",
         "out C 2, in A 2",
         "C(i,j) = A(i,j);",
         DCLI_VARIANT_UNIT,
         {2, 8},
         1000,
         {8, 2, 1008},
         {8, 2, 16},
         1000,
         1},
        {"elements",
         "out C 1, in A 1",
         "C(i) = A(i);",
         DCLI_VARIANT_UNIT,
         {1},
         5000000,
         {1, 1, 65535 * 64},
         {1, 1, 64},
         65535 * 64,
         1},
        {"two of them", "out C 1, in A 1", "C(i) = A(i);", DCLI_VARIANT_UNIT, {1}, 2, {1, 1, 2}, {1, 1, 2}, 2, 1},
        {"as many as a launch can have",
         "out C 2, in A 2",
         "C(i,j) = A(j,i);",
         DCLI_VARIANT_UNIT,
         {64, 64},
         100000,
         {64, 16, 65535},
         {32, 8, 1},
         65535,
         1},
        {"the last of them",
         "out C 2, in A 2",
         "C(i,j) = A(j,i);",
         DCLI_VARIANT_UNIT,
         {64, 64},
         1,
         {64, 16, 1},
         {32, 8, 1},
         1,
         1},
        {"the last of some elements",
         "out C 1, in A 1",
         "C(i) = A(i);",
         DCLI_VARIANT_UNIT,
         {1},
         1,
         {1, 1, 1},
         {1, 1, 1},
         1,
         1},
        {"the last one with an outer axis",
         "out C 3, in A 3",
         "C(i,j,k) = A(i,j,k);",
         DCLI_VARIANT_ANY,
         {30000, 100, 20},
         1,
         {32, 104, 30000},
         {32, 8, 1},
         1,
         30000},
        {"with an outer axis",
         "out C 3, in A 3",
         "C(i,j,k) = A(i,j,k);",
         DCLI_VARIANT_ANY,
         {30000, 100, 20},
         7,
         {32, 104, 60000},
         {32, 8, 1},
         2,
         30000},
    };
    return cr_make_param_array(struct set_case, cases, sizeof cases / sizeof cases[0]);
}

ParameterizedTest(struct set_case *c, kernel_rows, sets)
{
    dcli_body *body = parse(c->spec, c->text);
    dcli_launch_size size = dcli_body_launch_size(body, c->variant, c->count, c->rows, true);
    cr_expect_eq(size.dimensions, 3);
    cr_expect_eq(size.rows, c->launched, "%s: %d rows", c->what, (int)size.rows);
    cr_expect_eq(size.each, c->each, "%s: %d each", c->what, (int)size.each);
    for (int d = 0; d < 3; d++) {
        cr_expect_eq(size.global[d], c->global[d], "%s: global %d is %zu", c->what, d, size.global[d]);
        cr_expect_eq(size.local[d], c->local[d], "%s: local %d is %zu", c->what, d, size.local[d]);
    }
    dcli_body_free(body);
}

Test(kernel_rows, launches)
{
    expect_launch("C(i,j,k) = A(i,j,k);", DCLI_VARIANT_UNIT, (int64_t[]){5, 100, 1000}, 3, (size_t[]){1024, 100, 5},
                  (size_t[]){256, 1, 1}); /* few indices: one each */
    expect_launch("C(i,j,k) = A(i,j,k);", DCLI_VARIANT_UNIT, (int64_t[]){50, 100, 1000}, 3, (size_t[]){256, 100, 50},
                  (size_t[]){256, 1, 1});
    expect_launch("for (int n = 0; n < 9; n++) C(i,j,k) = A(i,j,k);", DCLI_VARIANT_UNIT, (int64_t[]){50, 100, 1000}, 3,
                  (size_t[]){1024, 100, 50}, (size_t[]){256, 1, 1}); /* costly: one each */
    expect_launch("C(i,j,k) = A(i,j,k);", DCLI_VARIANT_ANY, (int64_t[]){5, 100, 20}, 3, (size_t[]){32, 104, 5},
                  (size_t[]){32, 8, 1});
    expect_launch("C(i,j,k) = A(k,j,i);", DCLI_VARIANT_UNIT, (int64_t[]){100, 5, 1000}, 3, (size_t[]){1024, 32, 5},
                  (size_t[]){32, 8, 1});
    expect_launch("C(i,j,k) = A(k,j,i);", DCLI_VARIANT_ANY, (int64_t[]){4, 100000, 5000}, 3, (size_t[]){1280, 65535, 8},
                  (size_t[]){256, 1, 1});
}

static void expect_log(const char *text, const char *log, const char *expected)
{
    dcli_param params[3];
    dcli_body *body;
    int count = test_spec("out C 2, in Temperature 2, all T 1", params);
    cr_assert_eq(dcli_body_parse(text, "int f(int x)\n{ return y; }", count, params, &body), DCL_OK, "%s", dcl_error());
    char *found = dcli_body_log(body, DCLI_FORM_GPU, false, true, log);
    cr_expect_str_eq(found, expected, "found: %s", found);
    dcli_free(found);
    dcli_body_free(body);
}

#define REMEDY "; declare it: an array with DCL_IN or DCL_OUT, a scalar with DCL_VALUE, a function in a DCL_PRELUDE"

Test(kernel_rows, logs)
{
    /* The compiler sees `dcl_a0 = dcl_a1 + x;`. */
    const char *text = "C(i,j) = Temperature(i,j) + x;";
    expect_log(text, "file:1:19: error: use of undeclared identifier 'x'\nsource\n  ^\n",
               "line 1, column 29: use of undeclared identifier 'x'" REMEDY
               "\nC(i,j) = Temperature(i,j) + x;\n                            ^");
    expect_log(text, "warning: body:1:2: unused\n<kernel>:1:19: error: wrong",
               "line 1, column 29: wrong\n"
               "C(i,j) = Temperature(i,j) + x;\n                            ^");
    expect_log(text, "error: body:1:10: wrong type\nerror: body:1:1: more",
               "line 1, column 10: wrong type\nC(i,j) = Temperature(i,j) + x;\n         ^");
    expect_log(text, "error: body:1:10 <Spelling=/usr/include/renames.h:126:24>: no match\n",
               "line 1, column 10: no match\nC(i,j) = Temperature(i,j) + x;\n         ^");
    expect_log(text, "body:1:10 <Spelling=<scratch space>:2:1>: error: no match\n",
               "line 1, column 10: no match\nC(i,j) = Temperature(i,j) + x;\n         ^");
    expect_log(text, "body:1:10 <Spelling=",
               "the compiler of the device refused the body and named no line; its log begins: body:1:10 <Spelling=");
    expect_log(text, "error: body:1:13: inside a name",
               "line 1, column 10: inside a name\nC(i,j) = Temperature(i,j) + x;\n         ^");
    /* `dcl_a0 = dcl_a2(dcl_a2(q)); ` */
    expect_log("\nC(i,j) =\n T(T(q));", "body:3:16: fatal error: use of undeclared identifier 'q'",
               "line 3, column 6: use of undeclared identifier 'q'" REMEDY "\n T(T(q));\n     ^");
    expect_log(
        "C(i,j) = temperature(i,j);", "body:1:10: error: implicit declaration of function 'temperature' is invalid",
        "line 1, column 10: implicit declaration of function 'temperature' is invalid; this call has Temperature: "
        "capital letters count\nC(i,j) = temperature(i,j);\n         ^");
    expect_log("C(i,j) = 3.0f^2;", "body:1:14: error: invalid operands",
               "line 1, column 14: invalid operands; ^ is the exclusive or of integers: for a power write x * x, or "
               "pow(x, y)\nC(i,j) = 3.0f^2;\n             ^");
    expect_log(
        "C(i,j) = 3.0f**2;", "body:1:15: error: indirection requires pointer operand",
        "line 1, column 15: indirection requires pointer operand; OpenCL C has no **: for a power write x * x, or "
        "pow(x, y)\nC(i,j) = 3.0f**2;\n              ^");
    expect_log(text, "error: prelude:2:10: use of undeclared identifier 'y'",
               "prelude line 2, column 10: use of undeclared identifier 'y'\n{ return y; }\n         ^");
    expect_log(text, "error: generated:20:1: odd",
               "the compiler of the device refused what was generated around the body: odd; this is a mistake of the "
               "library, or the prelude redefines a word of OpenCL C");
    expect_log(
        text, "<kernel>:2:1: warning: implicit declaration of function 'Q' is invalid in OpenCL\nptxas fatal: no Q",
        "the compiler of the device refused what was generated around the body: implicit declaration of function "
        "'Q' is invalid in OpenCL; this is a mistake of the library, or the prelude redefines a word of OpenCL C");
    expect_log(text, "out of memory",
               "the compiler of the device refused the body and named no line; its log begins: out of memory");
}

/* NVIDIA's compiler counts the lines of the whole program, in which the body stands several times. */
Test(kernel_rows, logs_without_parts)
{
    dcli_body *body = parse("out C 1, in A 1", "float t = 0;\nC(i) = A(i) + t;");
    for (dcli_form form = DCLI_FORM_CPU; form <= DCLI_FORM_GPU; form++) {
        char *source = dcli_body_source(body, form, false), log[64];
        int copies = 0;
        for (const char *at = source; (at = strstr(at + 1, "dcl_a0 = dcl_a1 + t;")) != NULL; copies++) {
            int line = 1;
            for (const char *c = source; c < at; c++)
                line += *c == '\n';
            snprintf(log, sizeof log, "<kernel>:%d:19: error: bad\n", line);
            char *found = dcli_body_log(body, form, false, true, log);
            cr_expect_str_eq(found, "line 2, column 15: bad\nC(i) = A(i) + t;\n              ^", "form %d copy %d: %s",
                             form, copies, found);
            dcli_free(found);
        }
        cr_expect_eq(copies, form == DCLI_FORM_GPU ? 14 : 5, "form %d: %d copies", form, copies);
        dcli_free(source);
    }
    dcli_body_free(body);
}

static bool contains_if(const dcli_body *body, dcli_form form, bool watched, const char *words)
{
    char *text = dcli_body_source(body, form, watched);
    bool found = strstr(text, words) != NULL;
    dcli_free(text);
    return found;
}

static bool contains(const dcli_body *body, dcli_form form, const char *words)
{
    return contains_if(body, form, false, words);
}

Test(kernel_rows, texts)
{
    dcli_body *body = parse("out C 2 half, in A 2 half", "C(i,j) = 2 * A(j,i);");
    for (dcli_form form = DCLI_FORM_CPU; form <= DCLI_FORM_GPU; form++) {
        cr_expect(contains(body, form, "#pragma OPENCL FP_CONTRACT OFF"));
        cr_expect(contains(body, form, "cl_khr_fp16 : enable"));
        cr_expect_not(contains(body, form, "cl_khr_fp64"), "no double occurs");
        cr_expect(contains(body, form, "__global const half *restrict dcl_p1"));
        cr_expect(contains(body, form, "#line 1 \"body\"\ndcl_a0 = 2 * dcl_a1;\n"));
        for (int variant = 0; variant < DCLI_VARIANT_COUNT; variant++)
            cr_expect(contains(body, form, dcli_variant_kernel(form, (dcli_variant)variant)));
    }
    cr_expect_not(contains(body, DCLI_FORM_GPU, "dcl_one"), "an input is transposed");
    cr_expect(contains(body, DCLI_FORM_GPU, "__local half dcl_b1[32][33];"));
    cr_expect(contains(body, DCLI_FORM_GPU, "typedef struct { long dcl_v[20]; } dcl_row;"));
    cr_expect_not(contains(body, DCLI_FORM_CPU, "barrier"));
    dcli_body_free(body);
    body = parse("out C 2 half, in A 2 half", "C(i,j) = 2 * A(i,j);");
    cr_expect(contains(body, DCLI_FORM_GPU, "__kernel void dcl_one("));
    cr_expect_not(contains(body, DCLI_FORM_CPU, "dcl_one"));
    cr_expect_not(contains_if(body, DCLI_FORM_GPU, true, "dcl_one"), "only dcl_checked is launched");
    dcli_body_free(body);
}

/* The kernels of a program as text: their first letters. */
static const char *kernels_of(const char *text, dcli_form form, bool watched, bool gathers)
{
    static char letters[DCLI_VARIANT_MOST + 1];
    const char *names[DCLI_VARIANT_MOST], *prefix = "__kernel void ";
    dcli_body *body = parse("out C 2, in A 2", text);
    char *source = dcli_body_program(body, form, watched, gathers, names);
    int count = 0;
    for (int v = 0; v < DCLI_VARIANT_MOST; v++) {
        char start[64];
        snprintf(start, sizeof start, "%s%s(", prefix, dcli_variant_kernel(form, (dcli_variant)v));
        cr_expect_eq(strstr(source, start) != NULL, names[v] != NULL, "%s: %s", text, start);
        if (names[v] != NULL)
            letters[count++] = names[v][4];
    }
    letters[count] = '\0';
    dcli_free(source);
    dcli_body_free(body);
    return letters;
}

Test(kernel_rows, kernels)
{
    cr_expect_str_eq(kernels_of("C(i,j) = A(i,j);", DCLI_FORM_CPU, false, false), "uacs");
    cr_expect_str_eq(kernels_of("C(i,j) = A(i,j);", DCLI_FORM_CPU, false, true), "uacsg");
    cr_expect_str_eq(kernels_of("C(i,j) = A(j,i);", DCLI_FORM_CPU, false, true), "uacsgs", "with dcl_straight");
    cr_expect_str_eq(kernels_of("C(i,j) = i + A(j,i);", DCLI_FORM_CPU, false, true), "uacs", "it uses an index");
    cr_expect_str_eq(kernels_of("if (A(i,j) > 0) C(i,j) = 1;", DCLI_FORM_CPU, false, false), "uac");
    cr_expect_str_eq(kernels_of("C(j,i) = A(i,j);", DCLI_FORM_CPU, true, true), "uac", "watched");
    cr_expect_str_eq(kernels_of("C(i,j) = A(i,j);", DCLI_FORM_GPU, false, false), "uaco");
    cr_expect_str_eq(kernels_of("C(i,j) = A(j,i);", DCLI_FORM_GPU, false, false), "uac");
    cr_expect_str_eq(kernels_of("C(i,j) = A(i,j);", DCLI_FORM_GPU, false, true), "uacom", "with dcl_mixed");
    cr_expect_str_eq(kernels_of("C(i,j) = A(j,i);", DCLI_FORM_GPU, false, true), "uacm");
    cr_expect_str_eq(kernels_of("C(i,j) = i + j;", DCLI_FORM_GPU, false, true), "uaco", "it reads nothing");
    cr_expect_str_eq(kernels_of("C(i,j) = A(i,j);", DCLI_FORM_GPU, true, true), "uac", "watched");
}

/* Whether launches of `rows` rows of `wide` elements of an array of `edge` x `edge` floats store without caching. */
static bool stream(int64_t edge, int64_t rows, int64_t wide)
{
    dcli_body *body = parse("out C 2, in A 2", "C(i,j) = A(i,j);");
    int length = dcli_row_length(body);
    int64_t *row = calloc((size_t)rows + 1, (size_t)length * sizeof *row);
    for (int64_t r = 0; r < rows; r++)
        for (int d = 0; d < 2; d++) {
            row[r * length + dcli_row_at(body, DCLI_ROW_COUNT, 0) + d] = d == 0 ? 1 : wide;
            row[r * length + dcli_row_at(body, DCLI_ROW_GRID_LOW, 0) + d] = -7;
            row[r * length + dcli_row_at(body, DCLI_ROW_GRID_END, 0) + d] = edge - 7;
        }
    bool result = dcli_rows_stream(body, row, rows);
    free(row);
    dcli_body_free(body);
    return result;
}

Test(kernel_rows, large_results_are_stored_without_caching)
{
    cr_expect(stream(2896 + 1, 1, 1 << 20), "32 MB, of which 4 MB are written");
    cr_expect_not(stream(2896 - 1, 1, 1 << 20), "an array that caches may hold");
    cr_expect_not(stream(4096, 255, 4096), "few elements are written");
    cr_expect(stream(4096, 256, 4096));
    cr_expect_not(stream(4096, 0, 1));
    cr_expect(stream(INT64_C(1) << 40, 1, INT64_C(1) << 40), "sizes beyond 64 bits");
}

/* Whether the words of one compiler stand only where the text has asked for it. */
static bool asks_for_builtins(char *text)
{
    bool asked = false;
    for (char *rest = NULL, *line = strtok_r(text, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest)) {
        if (line[0] == '#' && strstr(line, "define") == NULL)
            asked = strcmp(line, "#ifdef __clang__") == 0;
        if (!asked && strstr(line, "__builtin_") != NULL)
            return false;
    }
    return true;
}

Test(kernel_rows, builtins)
{
    static const char *const texts[] = {"C(i,j) = A(i,j);", "C(i,j) = A(j,i);", "C(i,j) = i * A(j,i);"};
    for (int n = 0; n < 3; n++) {
        dcli_body *body = parse("out C 2, in A 2", texts[n]);
        char *text = dcli_body_source(body, DCLI_FORM_CPU, false);
        cr_expect(asks_for_builtins(text), "%s: compilers other than clang refuse it", texts[n]);
        dcli_free(text);
        dcli_body_free(body);
    }
}

/* Every allocation that fails is an error of that kind, and nothing leaks (the sanitizers watch). */
Test(kernel_rows, allocations_that_fail)
{
    for (int n = 1; n < 200; n++) {
        dcli_alloc_fail_after(n);
        dcli_body *body = NULL;
        dcl_status status = test_parse("out C 2, in A 2, all T 1", "C(i,j) = A(j,i) + T(T(i));", &body);
        char *text = status == DCL_OK ? dcli_body_source(body, DCLI_FORM_CPU, false) : NULL;
        char *log = text != NULL ? dcli_body_log(body, DCLI_FORM_CPU, false, true, "error: body:1:1: x") : NULL;
        dcli_alloc_fail_after(0);
        cr_expect(status == DCL_OK || status == DCL_ERR_NOMEM);
        bool all = log != NULL;
        dcli_free(log);
        dcli_free(text);
        dcli_body_free(body);
        if (all)
            return;
    }
    cr_assert_fail("200 allocations are more than expected");
}

/* Keyed reductions on GPUs: tables in local memory, and a second round for sums of floating-point numbers only. */
Test(kernel_rows, texts_of_keyed_reductions)
{
    dcli_body *body = parse("keyed H 1 int32, in b 1 int32", "H(b(i)) += 1;");
    cr_expect(contains(body, DCLI_FORM_GPU, "__local uint dcl_room0[8192];"));
    cr_expect(contains(body, DCLI_FORM_GPU, "#define DCL_NATIVE(p, x) atomic_add(p, x)"));
    cr_expect_not(contains(body, DCLI_FORM_GPU, "dcl_again"));
    cr_expect_not(contains(body, DCLI_FORM_CPU, "__local"));
    dcli_body_free(body);
    body = parse("keyed H 1 float, keyed L 1 int64, in b 1 int32", "H(b(i)) += 1; L(b(i)) *= 3;");
    cr_expect(contains(body, DCLI_FORM_GPU, "__local struct dcl_slot dcl_room0[512];"));
    cr_expect(contains(body, DCLI_FORM_GPU, "__local ulong dcl_room1[2048];"));
    cr_expect(contains(body, DCLI_FORM_GPU, "dcl_again = dcl_tile;"));
    cr_expect_not(contains(body, DCLI_FORM_GPU, "DCL_NATIVE(p, x) atom"), "products need an exchange");
    dcli_body_free(body);
}
