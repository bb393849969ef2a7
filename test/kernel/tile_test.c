/* test/kernel/tile_test.c - tile kernels: accesses, sizes of launches, texts. test/runtime runs them. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "kernel/spec.h"
#include "kernel/tile_kernel.h"

static dcli_body *parse(const char *spec, const char *text, const dcli_items *items)
{
    dcli_param params[DCLI_MAX_PARAMS];
    int count = test_spec(spec, params);
    dcli_body *body;
    cr_assert_eq(dcli_tile_kernel_parse(text, "", count, params, items, &body), DCL_OK, "%s", dcl_error());
    return body;
}

Test(tile_kernel, has_an_access_per_array)
{
    dcli_items items = {.group = {0}};
    dcli_scalar values[8] = {{0}};
    dcli_body *body = parse("in A 2, value n int32, out C 2, inout D 2, rows B 3", "D(0, 0) = n;", &items);
    char *found = test_accesses(body, values);
    cr_expect_str_eq(found, "A(x0,x1) r; C(x0,x1) wc; D(x0,x1) rwc; B() r rows", "%s", found);
    cr_expect(body->tile_kernel);
    cr_expect_eq(body->owner, 2);
    cr_expect_eq(dcli_row_length(body), 3 * 2 + 3 * (1 + 5 * 2) + (1 + 5 * 3));
    cr_expect_eq(dcli_row_at(body, DCLI_ROW_LOW, 1), 3 * 2 + (1 + 5 * 2) + 1 + 2);
    cr_expect_eq(dcli_row_at(body, DCLI_ROW_GRID_LOW, 1), -1, "nothing is checked against a grid");
    cr_expect_eq(body->access[2].line, 1);
    for (int watched = 0; watched < 2; watched++) {
        const char *names[DCLI_VARIANT_MOST];
        dcli_free(dcli_body_program(body, DCLI_FORM_CPU, watched, true, names));
        cr_expect(names[DCLI_VARIANT_UNIT] != NULL && names[DCLI_VARIANT_ANY] != NULL);
        cr_expect_eq(names[DCLI_VARIANT_CHECKED] != NULL, watched);
        cr_expect_null(names[DCLI_VARIANT_STREAMED]);
    }
    free(found);
    dcli_body_free(body);
}

struct launch_case {
    char what[40], spec[16];
    dcli_form form;
    dcli_items items;
    int64_t count[4];
    size_t global[3], local[3];
};

ParameterizedTestParameters(tile_kernel, launch)
{
    static struct launch_case cases[] = {
        /* what  array  form  sizes  tile  global  local */
        {"a loop of 64 on a processor", "out C 2", DCLI_FORM_CPU, {{0}, {0}}, {5, 70}, {128, 5, 1}, {64, 1, 1}},
        {"a row each", "out C 2", DCLI_FORM_CPU, {{0}, {1, 0, 1}}, {5, 70}, {1, 5, 1}, {1, 1, 1}},
        {"all of a tile", "out C 3", DCLI_FORM_CPU, {{0}, {1, 1, 1}}, {5, 6, 7}, {1, 1, 1}, {1, 1, 1}},
        {"leading axes folded", "out C 4", DCLI_FORM_CPU, {{0}, {0}}, {2, 3, 4, 5}, {64, 4, 6}, {64, 1, 1}},
        {"rounded up", "out C 2", DCLI_FORM_CPU, {{4, 8, 1}, {0}}, {9, 5}, {8, 16, 1}, {4, 8, 1}},
        {"both given", "out C 1", DCLI_FORM_GPU, {{32, 1, 1}, {100, 1, 1}}, {7}, {128, 1, 1}, {32, 1, 1}},
        {"rows as wide as groups on a GPU", "out C 2", DCLI_FORM_GPU, {{0}, {0}}, {9, 500}, {512, 9, 1}, {256, 1, 1}},
        {"narrow rows", "out C 2", DCLI_FORM_GPU, {{0}, {0}}, {100, 3}, {4, 128, 1}, {4, 64, 1}},
        {"too many rows for groups of one",
         "out C 2",
         DCLI_FORM_GPU,
         {{0}, {0}},
         {100000, 300},
         {384, 100000, 1},
         {128, 2, 1}},
        {"deep", "out C 3", DCLI_FORM_GPU, {{0}, {0}}, {64, 2, 4}, {4, 2, 64}, {4, 2, 32}},
        {"many small images", "out C 3", DCLI_FORM_GPU, {{0}, {0}}, {65536, 16, 16}, {16, 16, 65536}, {16, 16, 2}},
        {"a short line", "out C 1", DCLI_FORM_GPU, {{0}, {0}}, {5}, {8, 1, 1}, {8, 1, 1}},
    };
    return cr_make_param_array(struct launch_case, cases, sizeof cases / sizeof cases[0]);
}

ParameterizedTest(struct launch_case *c, tile_kernel, launch)
{
    size_t global[3], local[3];
    dcli_body *body = parse(c->spec, "C_data[0] = 1;", &c->items);
    dcli_tile_launch_size(body, c->form, c->count, global, local);
    for (int d = 0; d < 3; d++) {
        cr_expect_eq(global[d], c->global[d], "%s: global %d is %zu", c->what, d, global[d]);
        cr_expect_eq(local[d], c->local[d], "%s: local %d is %zu", c->what, d, local[d]);
    }
    dcli_body_free(body);
}

static bool has(const char *source, const char *words)
{
    if (strstr(source, words) != NULL)
        return true;
    fprintf(stderr, "%s\n", source);
    return false;
}

Test(tile_kernel, source)
{
    dcli_items items = {.group = {8, 4, 1}};
    dcli_body *body = parse("out C 2 double, columns A 2", "__local int t[4];\nC(0, 1) = A(1, 0);", &items);
    char *source = dcli_body_source(body, DCLI_FORM_CPU, false), *again = dcli_body_source(body, DCLI_FORM_GPU, false);
    cr_expect_str_eq(source, again);
    cr_expect(has(source, "#pragma OPENCL FP_CONTRACT OFF\n"));
    cr_expect(has(source, "__attribute__((reqd_work_group_size(8, 4, 1)))\n"));
    cr_expect(has(source, "#define C(dcl_e0, dcl_e1) C_data[(long)(dcl_e0) * dcl_s0_0 + (long)(dcl_e1)]\n"), "unit");
    cr_expect(has(source, "#line 1 \"body\"\n__local int t[4];\nC(0, 1) = A(1, 0);\n#line"));
    cr_expect(strstr(source, "dcl_checked") == NULL);
    dcli_free(again);
    dcli_free(source);
    source = dcli_body_source(body, DCLI_FORM_CPU, true);
    cr_expect(has(source, "dcl_checked"));
    dcli_free(source);
    dcli_body_free(body);
}
