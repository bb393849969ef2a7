/* test/runtime/refusal_test.c - wrong inputs, a row each: the status, and the words of the sentence: value found, what was
 * expected, what to do. Nothing is left behind: inputs and outputs keep their contents and states, the cluster keeps the error
 * until it is cleared. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/folder.h"
#include "support/nodes.h"

TestSuite(refusal_on_device, .timeout = TEST_SECONDS);
TestSuite(refusal_planned, .timeout = TEST_SECONDS);

enum { MOST_WORDS = 3, ROWS = 8, COLUMNS = 6 };

static void expect_words(const char *what, const char *const words[MOST_WORDS])
{
    for (int w = 0; w < MOST_WORDS && words[w] != NULL; w++)
        cr_expect(strstr(dcl_error(), words[w]) != NULL, "%s: \"%s\" has not \"%s\"", what, dcl_error(), words[w]);
}

static void expect_refused(const char *what, dcl_status found, dcl_status expected, const char *const words[MOST_WORDS])
{
    cr_expect_eq(found, expected, "%s: %s; expected %s: %s", what, dcl_status_name(found), dcl_status_name(expected),
                 dcl_error());
    if (found != DCL_OK)
        expect_words(what, words);
}

/* ---- arrays for bodies -------------------------------------------------------------------------------------------- */

struct arrays {
    dcl_cluster *cluster;
    dcl_array *A, *B, *C, *v; /* 8 x 6 floats; v: 10 integers */
};

static struct arrays open_arrays(void)
{
    struct arrays a = {.cluster = open_nodes(2)};
    dcl_map *map = dcl_map_block(a.cluster);
    dcl_grid grid = dcl_grid_2d(DCL_FLOAT, ROWS, COLUMNS);
    a.A = dcl_agile(grid, map);
    a.B = dcl_agile(grid, map);
    a.C = dcl_agile(grid, map);
    a.v = dcl_agile(dcl_grid_1d(DCL_INT32, 10), map);
    dcl_release(map);
    test_count_up(a.A, 1, 1);
    test_count_up(a.B, 101, 1);
    test_count_up(a.C, 201, 1);
    return a;
}

static void expect_contents(const char *what, dcl_array *array, const char *name, float first)
{
    float elements[ROWS * COLUMNS];
    dcl_status status = dcl_read(array, NULL, elements, NULL);
    cr_expect_eq(status, DCL_OK, "%s: %s cannot be read: %s", what, name, dcl_error());
    for (int e = 0; e < ROWS * COLUMNS && status == DCL_OK; e++)
        cr_assert_eq(elements[e], first + (float)e, "%s: element %d of %s is %g", what, e, name, (double)elements[e]);
}

/* The cluster keeps this error until it is cleared; A, an input, and B and C, outputs, are as they were. */
static void expect_state(const char *what, struct arrays *a, dcl_status kept)
{
    cr_expect_eq(dcl_status_of(a->cluster), kept, "%s: the cluster keeps %s", what,
                 dcl_status_name(dcl_status_of(a->cluster)));
    dcl_clear_error(a->cluster);
    expect_contents(what, a->A, "A", 1);
    expect_contents(what, a->B, "B", 101);
    expect_contents(what, a->C, "C", 201);
}

static void close_arrays(struct arrays *a)
{
    dcl_release(a->A);
    dcl_release(a->B);
    dcl_release(a->C);
    dcl_release(a->v);
    cr_expect_eq(dcl_close(a->cluster), DCL_OK, "%s", dcl_error());
}

/* ---- bodies ------------------------------------------------------------------------------------------------------- */

struct body_case {
    const char *what, *body;
    const char *words[MOST_WORDS];
};

/* With DCL_OUT(C), DCL_IN(A), DCL_IN(B), DCL_IN(v), DCL_VALUE(alpha) and DCL_VALUE(n), a float and an int. */
static const struct body_case body_cases[] = {
    {"syntax error",
     "C(i,j) = A(i,j) + ;",
     {"line 1, column 19: expected expression", "C(i,j) = A(i,j) + ;\n", "\n                  ^"}},
    {"no semicolon", "C(i,j) = A(i,j)", {"line 1, column 16", "a semicolon is missing here"}},
    {"open parenthesis", "C(i,j = A(i,j);", {"line 1, column 2: this ( is not closed", "add the missing )"}},
    {"empty", "", {"the body is empty", "expected statements like C(i) = A(i) + B(i);"}},
    {"unknown name in line 2",
     "float x = 1;\nC(i,j) = x + beta;",
     {"line 2, column 14", "'beta'", "declare it: an array with DCL_IN"}},
    {"type error", "struct s { int x; } y; C(i,j) = y;", {"line 1, column 31", "incompatible type"}},
    {"wrong literal", "C(i,j) = A(i,j) + 1.0z;", {"line 1, column 22", "suffix 'z'"}},
    {"product of indices",
     "C(i,j) = A(i*i,j);",
     {"column 13: '*' in subscript 1 of A is not affine", "multiplies an index by an index",
      "declare DCL_IN_COLUMNS(A)"}},
    {"element as subscript",
     "C(i,j) = A(v(i),j);",
     {"'v' in subscript 1 of A is not affine", "an element of an array", "DCL_IN_COLUMNS(A)"}},
    {"variable as subscript",
     "int x = 3; C(i,j) = A(i,x);",
     {"column 25: 'x' in subscript 2 of A is not affine", "variable of the body", "DCL_IN_ROWS(A)"}},
    {"float as subscript",
     "C(i,j) = A(alpha,j);",
     {"'alpha' in subscript 1 of A is not affine", "no integer", "integer DCL_VALUEs"}},
    {"huge subscript", "C(i,j) = A(99999999999999999999*i,j);", {"'99999999999999999999'", "beyond the range of long"}},
    {"index of a higher rank", "C(i,j) = A(i,k);", {"'k' in subscript 2 of A is not affine"}},
    {"output read elsewhere",
     "C(i,j) = A(i,j) + C(j,i);",
     {"column 19: C is read here at another subscript than it is written", "write to a second array and dcl_swap"}},
    {"input written", "A(i,j) = 1; C(i,j) = 2;", {"A is DCL_IN, but written here", "declare DCL_OUT(A)"}},
    {"output not written", "int x = 1;", {"C is DCL_OUT, but the body does not assign to it", "declare DCL_IN(C)"}},
    {"index written",
     "i = 3; C(i,j) = 1;",
     {"i is an index of the body and cannot be assigned to", "a variable of your own"}},
    {"shifted output", "C(i+1,j) = 1;", {"subscript 1 is no plain index", "shift what is read instead"}},
    {"diagonal output", "C(i,i) = 1;", {"subscript 2 is an index that was used before"}},
    {"too few subscripts", "C(i,j) = A(i);", {"A has 1 subscript here", "expected 2, one per axis"}},
    {"preprocessor", "#define X 3\nC(i,j) = X;", {"line 1, column 1: # begins a preprocessor line", "DCL_PRELUDE"}},
    {"return", "if (i > 2) return; C(i,j) = 1;", {"return cannot stand in a body", "use if"}},
    {"barrier", "barrier(CLK_LOCAL_MEM_FENCE); C(i,j) = 1;", {"barrier cannot stand in a body", "write two bodies"}},
};

Test(refusal_on_device, of_bodies)
{
    struct arrays a = open_arrays();
    dcl_array *A = a.A, *B = a.B, *C = a.C, *v = a.v;
    float alpha = 1;
    int n = 3;
    for (size_t c = 0; c < sizeof body_cases / sizeof body_cases[0]; c++) {
        const struct body_case *row = &body_cases[c];
        dcl_status status = dcl_forall(a.cluster, row->body, DCL_OUT(C), DCL_IN(A), DCL_IN(B), DCL_IN(v),
                                       DCL_VALUE(alpha), DCL_VALUE(n));
        expect_refused(row->what, status, DCL_ERR_BODY, row->words);
        expect_state(row->what, &a, DCL_ERR_BODY);
    }
    TEST_OK(dcl_forall(a.cluster, "C(i,j) = A(i,j);", DCL_OUT(C), DCL_IN(A)));
    TEST_OK(dcl_wait(a.cluster));
    close_arrays(&a);
}

/* A prelude that does not compile, and a body refused before that is right the second time. */
Test(refusal_on_device, of_a_prelude)
{
    struct arrays a = open_arrays();
    dcl_array *C = a.C;
    for (int n = 0; n < 2; n++) {
        TEST_REFUSED(dcl_forall(a.cluster, "C(i,j) = f(1);", DCL_OUT(C), DCL_PRELUDE("float f(int x) { return y; }")),
                     DCL_ERR_BODY, "'y'");
        expect_state("prelude", &a, DCL_ERR_BODY);
    }
    dcl_array *A = a.A;
    TEST_REFUSED(
        dcl_forall(a.cluster, "C(i,j) = f(1);", DCL_OUT(C), DCL_IN_ALL(A), DCL_PRELUDE("#define f(x) A((x), 0)\n")),
        DCL_ERR_BODY, "'A'; A is an array of this call, which only the body names: write A(...) there");
    expect_state("an array in a prelude", &a, DCL_ERR_BODY);
    TEST_OK(dcl_forall(a.cluster, "C(i,j) = f(1);", DCL_OUT(C), DCL_PRELUDE("float f(int x) { return x; }")));
    close_arrays(&a);
}

/* ---- arguments ---------------------------------------------------------------------------------------------------- */

struct argument_case {
    const char *what, *body;
    dcl_status status;
    int count;
    dcl_arg args[3];
    const char *words[MOST_WORDS];
};

Test(refusal_on_device, of_arguments)
{
    struct arrays a = open_arrays();
    dcl_array *A = a.A, *C = a.C, *v = a.v, *none = NULL;
    dcl_cluster *other = open_nodes(1);
    dcl_map *map = dcl_map_block(other);
    dcl_array *elsewhere = dcl_agile(dcl_grid_2d(DCL_FLOAT, ROWS, COLUMNS), map);
    dcl_arg unknown = DCL_IN(A), nameless = DCL_IN(A);
    unknown.access = (dcl_access)99;
    nameless.name = NULL;
    const struct argument_case cases[] = {
        {"index as name",
         "C(i,j) = 1;",
         DCL_ERR_INVALID,
         2,
         {DCL_OUT(C), DCL_VALUE_AS("j", 1)},
         {"argument 1 is called j", "names index 1", "another name with DCL_IN_AS, DCL_VALUE_AS"}},
        {"type as name",
         "C(i,j) = 1;",
         DCL_ERR_INVALID,
         2,
         {DCL_OUT(C), DCL_VALUE_AS("float", 1)},
         {"argument 1 is called float, a reserved name"}},
        {"dcl_ as name",
         "C(i,j) = 1;",
         DCL_ERR_INVALID,
         2,
         {DCL_OUT(C), DCL_VALUE_AS("dcl_x", 1)},
         {"dcl_x, a reserved name"}},
        {"no identifier",
         "C(i,j) = 1;",
         DCL_ERR_INVALID,
         2,
         {DCL_OUT(C), DCL_IN_AS("fields[0]", A)},
         {"'fields[0]'", "expected an identifier", "DCL_IN_AS"}},
        {"no name", "C(i,j) = 1;", DCL_ERR_INVALID, 2, {DCL_OUT(C), nameless}, {"argument 1 has no name"}},
        {"one name twice",
         "C(i,j) = C(j,i);",
         DCL_ERR_INVALID,
         2,
         {DCL_OUT(C), DCL_IN(C)},
         {"arguments 0 and 1 are both called C"}},
        {"alias",
         "C(i,j) = X(i,j+1);",
         DCL_ERR_BODY,
         2,
         {DCL_OUT(C), DCL_IN_AS("X", C)},
         {"column 10: X and C are the same array", "only at the same subscript", "dcl_swap()"}},
        {"alias of all",
         "C(i,j) = X(0,0);",
         DCL_ERR_BODY,
         2,
         {DCL_OUT(C), DCL_IN_ALL_AS("X", C)},
         {"X and C are the same array"}},
        {"no output",
         "C(i,j) = A(j,i);",
         DCL_ERR_INVALID,
         2,
         {DCL_IN(C), DCL_IN(A)},
         {"no argument is an output", "at least one DCL_OUT"}},
        {"NULL array",
         "C(i,j) = none(i,j);",
         DCL_ERR_INVALID,
         2,
         {DCL_OUT(C), DCL_IN(none)},
         {"argument none is NULL", "dcl_agile()", "see the error of that call"}},
        {"array of another cluster",
         "C(i,j) = elsewhere(i,j);",
         DCL_ERR_INVALID,
         2,
         {DCL_OUT(C), DCL_IN(elsewhere)},
         {"elsewhere is an array of another cluster"}},
        {"outputs of other ranks",
         "C(i,j) = 1; v(i) = 1;",
         DCL_ERR_INVALID,
         2,
         {DCL_OUT(C), DCL_OUT(v)},
         {"v has 1 axes, the first output C has 2", "write them with two bodies"}},
        {"unknown access",
         "C(i,j) = A(i,j);",
         DCL_ERR_INVALID,
         2,
         {DCL_OUT(C), unknown},
         {"access number 99", "expected DCL_ACCESS_OUT"}},
        {"half as scalar",
         "C(i,j) = h;",
         DCL_ERR_INVALID,
         2,
         {DCL_OUT(C), dcl_arg_floating("h", DCL_HALF, 1)},
         {"type number 9", "expected an integer type, float or double"}},
        {"no body", NULL, DCL_ERR_INVALID, 1, {DCL_OUT(C)}, {"body is NULL", "expected OpenCL C statements"}},
        {"no arguments", "C(i,j) = 1;", DCL_ERR_INVALID, 0, {DCL_OUT(C)}, {"count is 0", "expected 1..64"}},
    };
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        const struct argument_case *row = &cases[c];
        dcl_status status = dcl_forall_n(a.cluster, row->body, row->count, row->args);
        expect_refused(row->what, status, row->status, row->words);
        expect_state(row->what, &a, row->status);
    }
    TEST_REFUSED(dcl_forall(NULL, "C(i,j) = 1;", DCL_OUT(C)), DCL_ERR_INVALID,
                 "cluster is NULL; expected one made by dcl_open()");
    dcl_release(elsewhere);
    dcl_release(map);
    cr_expect_eq(dcl_close(other), DCL_OK);
    close_arrays(&a);
}

Test(refusal_on_device, of_a_second_output_changes_neither)
{
    struct arrays a = open_arrays();
    dcl_array *B = a.B, *C = a.C;
    TEST_REFUSED(dcl_forall(a.cluster, "C(i,j) = 1; B(j,i) = 1;", DCL_OUT(C), DCL_OUT(B)), DCL_ERR_INVALID,
                 "axis 0 of output B runs 0..7; expected 0..5, as axis 1 of the first output C with the same index; "
                 "give both the same extent");
    expect_state("extents", &a, DCL_ERR_INVALID);
    close_arrays(&a);
}

/* The data that only the array has survives a typo, in whichever call. */
Test(refusal_on_device, of_what_is_read_and_written_keeps_it)
{
    struct arrays a = open_arrays();
    dcl_array *A = a.A, *B = a.B, *C = a.C;
    dcl_map *line = dcl_map_parse(a.cluster, "cyclic");
    TEST_REFUSED(dcl_forall(a.cluster, "C(i,j) = C(i,j) + w;", DCL_INOUT(C)), DCL_ERR_BODY, "'w'");
    expect_state("a body", &a, DCL_ERR_BODY);
    TEST_REFUSED(dcl_forall_tiles(a.cluster, "size_t t = get_global_id(0); C(t, 0) = w;", DCL_INOUT(C)), DCL_ERR_BODY,
                 "'w'");
    expect_state("a tile kernel", &a, DCL_ERR_BODY);
    TEST_REFUSED(dcl_forall(a.cluster, "C(i,j) = 1; B(i,j) = A(i,j) + w;", DCL_OUT(C), DCL_OUT(B), DCL_IN(A)),
                 DCL_ERR_BODY, "'w'");
    expect_state("two outputs", &a, DCL_ERR_BODY);
    TEST_REFUSED(dcl_copy(a.v, C), DCL_ERR_INVALID, "`from` has elements of type int32 and `to` of type float");
    expect_state("a copy", &a, DCL_ERR_INVALID);
    TEST_REFUSED(dcl_copy(NULL, C), DCL_ERR_INVALID, "`from` is NULL");
    expect_state("a copy of nothing", &a, DCL_ERR_INVALID);
    TEST_REFUSED(dcl_remap(C, NULL), DCL_ERR_INVALID, "map is NULL");
    expect_state("a map that is NULL", &a, DCL_ERR_INVALID);
    TEST_REFUSED(dcl_remap_with(C, line, 99), DCL_ERR_INVALID, "99");
    expect_state("unknown flags", &a, DCL_ERR_INVALID);
    dcl_release(line);
    close_arrays(&a);
}

/* ---- boxes and memory --------------------------------------------------------------------------------------------- */

struct box_case {
    const char *what;
    dcl_box box;
    dcl_status status;
    const char *words[MOST_WORDS];
};

static const struct box_case box_cases[] = {
    {"beyond the end",
     {2, {0, 0}, {9, 6}, {1, 1}},
     DCL_ERR_RANGE,
     {"axis 0 runs from 0 to 8", "expected indices from 0 to below 8", "cut the box"}},
    {"before the start", {2, {0, -1}, {8, 6}, {1, 1}}, DCL_ERR_RANGE, {"axis 1 runs from -1 to 4", "to below 6"}},
    {"strided beyond", {2, {1, 0}, {4, 6}, {3, 1}}, DCL_ERR_RANGE, {"axis 0 runs from 1 to 10 (count 4, stride 3)"}},
    {"overflowing", {2, {0, 0}, {INT64_MAX, 6}, {INT64_MAX, 1}}, DCL_ERR_RANGE, {"axis 0"}},
    {"other rank", {1, {0}, {8}, {1}}, DCL_ERR_INVALID, {"rank 1", "expected the grid's rank 2"}},
    {"stride 0", {2, {0, 0}, {1, 1}, {1, 0}}, DCL_ERR_INVALID, {"stride[1] is 0", "expected 1 or more"}},
    {"negative count", {2, {0, 0}, {-1, 1}, {1, 1}}, DCL_ERR_INVALID, {"count[0] is -1", "expected 0 or more"}},
};

Test(refusal_on_device, of_boxes)
{
    struct arrays a = open_arrays();
    dcl_array *C = a.C;
    float memory[ROWS * COLUMNS] = {0};
    for (size_t c = 0; c < sizeof box_cases / sizeof box_cases[0]; c++) {
        const struct box_case *row = &box_cases[c];
        expect_refused(row->what, dcl_read(C, &row->box, memory, NULL), row->status, row->words);
        expect_state(row->what, &a, row->status); /* reading fails nothing */
        expect_refused(row->what, dcl_write(C, &row->box, memory, NULL), row->status, row->words);
        expect_state(row->what, &a, row->status);
        expect_refused(row->what, dcl_forall_over(a.cluster, &row->box, "C(i,j) = 1;", DCL_OUT(C)), row->status,
                       row->words);
        expect_state(row->what, &a, row->status);
    }
    close_arrays(&a);
}

Test(refusal_on_device, of_null)
{
    struct arrays a = open_arrays();
    dcl_array *C = a.C;
    dcl_counters counters;
    TEST_REFUSED(dcl_read(C, NULL, NULL, NULL), DCL_ERR_INVALID, "target is NULL; expected the address");
    expect_state("read", &a, DCL_ERR_INVALID);
    TEST_REFUSED(dcl_write(C, NULL, NULL, NULL), DCL_ERR_INVALID, "source is NULL; expected the address");
    expect_state("write", &a, DCL_ERR_INVALID);
    TEST_REFUSED(dcl_fill(C, NULL), DCL_ERR_INVALID, "element is NULL; expected the address of one float");
    expect_state("fill", &a, DCL_ERR_INVALID);
    TEST_REFUSED(dcl_load_npy(C, NULL), DCL_ERR_INVALID, "path is NULL; expected the name of a .npy file");
    expect_state("load", &a, DCL_ERR_INVALID);
    TEST_REFUSED(dcl_save_npy(C, NULL), DCL_ERR_INVALID, "path is NULL");
    expect_state("save", &a, DCL_ERR_INVALID);
    TEST_REFUSED(dcl_swap(C, NULL), DCL_ERR_INVALID, "b is NULL; expected an array");
    TEST_REFUSED(dcl_swap(NULL, C), DCL_ERR_INVALID, "a is NULL; expected an array");
    TEST_REFUSED(dcl_fill(NULL, "1234"), DCL_ERR_INVALID,
                 "array is NULL; expected one made by dcl_agile(); see the error of that call");
    TEST_REFUSED(dcl_read(NULL, NULL, NULL, NULL), DCL_ERR_INVALID, "array is NULL");
    TEST_REFUSED(dcl_write(NULL, NULL, NULL, NULL), DCL_ERR_INVALID, "array is NULL");
    TEST_REFUSED(dcl_load_npy(NULL, "a.npy"), DCL_ERR_INVALID, "array is NULL");
    TEST_REFUSED(dcl_save_npy(NULL, "a.npy"), DCL_ERR_INVALID, "array is NULL");
    TEST_REFUSED(dcl_wait_for(NULL, 1), DCL_ERR_INVALID, "array is NULL");
    TEST_REFUSED(dcl_wait(NULL), DCL_ERR_INVALID, "cluster is NULL");
    TEST_REFUSED(dcl_stats(NULL, 0, &counters), DCL_ERR_INVALID, "cluster is NULL");
    TEST_REFUSED(dcl_stats(a.cluster, 0, NULL), DCL_ERR_INVALID, "counters_out is NULL");
    TEST_REFUSED(dcl_stats(a.cluster, 2, &counters), DCL_ERR_INVALID,
                 "node is 2; expected 0..1, DCL_ALL_NODES or DCL_HOST");
    TEST_REFUSED(dcl_stats(a.cluster, DCL_NOWHERE, &counters), DCL_ERR_INVALID, "node is -1");
    TEST_REFUSED(dcl_explain(a.cluster, NULL, "C(i,j) = 1;", DCL_OUT(C)), DCL_ERR_INVALID, "counters_out is NULL");
    dcl_clear_error(a.cluster);
    expect_state("questions", &a, DCL_OK);
    close_arrays(&a);
}

/* Without a cluster everything else is NULL: each call returns the error that made it so, and says it again. */
Test(refusal_on_device, of_null_keeps_what_made_it_null)
{
    setenv("OCL_ICD_VENDORS", "/nonexistent", 1);
    float element = 1;
    dcl_cluster *cluster = dcl_open(NULL);
    char said[512];
    snprintf(said, sizeof said, "%s", dcl_error());
    cr_assert(cluster == NULL && strncmp(said, "dcl_open: ", 10) == 0, "%s", said);
    dcl_map *map = dcl_map_block(cluster), *cyclic = dcl_map_parse(cluster, "cyclic");
    dcl_array *A = dcl_agile(dcl_grid_1d(DCL_FLOAT, 8), map), *T = dcl_transpose(A);
    dcl_counters counters;
    dcl_map_properties properties;
    cr_assert(map == NULL && A == NULL && T == NULL);
    const dcl_status found[] = {
        dcl_fill(A, &element),
        dcl_read(A, NULL, &element, NULL),
        dcl_write(A, NULL, &element, NULL),
        dcl_load_npy(A, "a.npy"),
        dcl_save_npy(A, "a.npy"),
        dcl_forall(cluster, "A(i) = 1;", DCL_OUT(A)),
        dcl_forall_tiles(cluster, "A(0) = 1;", DCL_OUT(A)),
        dcl_copy(A, T),
        dcl_swap(A, T),
        dcl_remap(A, cyclic),
        dcl_keep(A, true),
        dcl_move(A, NULL, 0),
        dcl_wait_for(A, -1),
        dcl_wait(cluster),
        dcl_stats(cluster, 0, &counters),
        dcl_add_workers(cluster, "local:1"),
        dcl_map_describe(map, NULL, &properties),
        dcl_status_of(cluster),
    };
    for (size_t n = 0; n < sizeof found / sizeof found[0]; n++)
        cr_expect_eq(found[n], DCL_ERR_DEVICE, "call %zu: %s", n, dcl_status_name(found[n]));
    cr_expect_str_eq(dcl_error(), said);
    dcl_clear_error(cluster);
    TEST_REFUSED(dcl_fill(A, &element), DCL_ERR_INVALID, "array is NULL; expected one made by dcl_agile()");
}

/* The array that could not be made is named, whatever failed in between; the cluster's first error stays the first. */
Test(refusal_on_device, of_null_keeps_the_first_error)
{
    struct arrays a = open_arrays();
    dcl_array *A = a.A, *C = a.C;
    dcl_map *map = dcl_map_parse(a.cluster, "block");
    dcl_array *none = dcl_agile(dcl_grid_1d(DCL_FLOAT, -8), map);
    char said[512];
    snprintf(said, sizeof said, "%s", dcl_error());
    cr_assert(none == NULL && strncmp(said, "dcl_agile: ", 11) == 0, "%s", said);
    dcl_status made = dcl_status_of(a.cluster);
    TEST_REFUSED(dcl_forall(a.cluster, "C(i,j) = w;", DCL_OUT(C)), DCL_ERR_BODY, "'w'");
    TEST_REFUSED(dcl_forall(a.cluster, "C(i,j) = A(i,j) + none(i);", DCL_OUT(C), DCL_IN(A), DCL_IN(none)), made, said);
    TEST_REFUSED(dcl_save_npy(none, "none.npy"), made, said);
    cr_expect_str_eq(dcl_error(), said);
    cr_expect_eq(dcl_status_of(a.cluster), made);
    cr_expect_str_eq(dcl_error(), said);
    expect_state("NULL", &a, made);
    dcl_release(map);
    close_arrays(&a);
}

Test(refusal_on_device, of_a_swap)
{
    struct arrays a = open_arrays();
    dcl_map *cyclic = dcl_map_parse(a.cluster, "cyclic");
    dcl_array *other = dcl_agile(dcl_grid_2d(DCL_FLOAT, ROWS, COLUMNS), cyclic);
    TEST_REFUSED(dcl_swap(a.C, a.v), DCL_ERR_INVALID,
                 "the arrays differ in grid, type or map; expected equal ones; copy with dcl_copy() instead, or "
                 "dcl_remap() one of them");
    TEST_REFUSED(dcl_swap(a.A, other), DCL_ERR_INVALID, "differ in grid, type or map");
    expect_state("swap", &a, DCL_ERR_INVALID);
    dcl_release(other);
    dcl_release(cyclic);
    close_arrays(&a);
}

/* ---- grids and maps ----------------------------------------------------------------------------------------------- */

struct grid_case {
    const char *what, *map;
    dcl_grid grid;
    dcl_status status;
    const char *words[MOST_WORDS];
};

static const struct grid_case grid_cases[] = {
    {"negative extent",
     "block",
     {DCL_FLOAT, 2, {0}, {4, -1}},
     DCL_ERR_INVALID,
     {"extent[1] is -1", "expected 0 or more"}},
    {"too many elements",
     "block",
     {DCL_INT8, 2, {0}, {INT64_MAX, 3}},
     DCL_ERR_INVALID,
     {"extent[1] is 3: with it the grid of int8 exceeds", "use smaller extents"}},
    {"too many bytes",
     "block",
     {DCL_DOUBLE, 1, {0}, {INT64_MAX / 4}},
     DCL_ERR_INVALID,
     {"the grid of double exceeds 9223372036854775807 bytes"}},
    {"hidden behind 0",
     "block",
     {DCL_FLOAT, 3, {0}, {0, INT64_MAX, 3}},
     DCL_ERR_INVALID,
     {"extent[1]", "extents of 0 not counted"}},
    {"origin too far",
     "block",
     {DCL_FLOAT, 1, {INT64_MAX - 3}, {10}},
     DCL_ERR_INVALID,
     {"origin[0] is 9223372036854775804", "move the origin"}},
    {"rank 0", "block", {DCL_FLOAT, 0, {0}, {0}}, DCL_ERR_INVALID, {"rank is 0", "expected 1..8"}},
    {"rank 9", "block", {DCL_FLOAT, 9, {0}, {0}}, DCL_ERR_INVALID, {"rank is 9", "expected 1..8"}},
    {"no type", "block", {(dcl_type)77, 1, {0}, {4}}, DCL_ERR_INVALID, {"number 77", "expected 1..11", "use DCL_INT8"}},
    {"map of rank 1",
     "block@2",
     {DCL_FLOAT, 2, {0}, {4, 4}},
     DCL_ERR_INVALID,
     {"the map serves grids of rank 1; the grid has rank 2", "use a map of that rank"}},
    {"map of rank 3",
     "rows:cyclic(2x2x2)",
     {DCL_FLOAT, 2, {0}, {4, 4}},
     DCL_ERR_INVALID,
     {"rank 3; the grid has rank 2"}},
    {"blocks too small",
     "block(2),*",
     {DCL_FLOAT, 2, {0}, {8, 4}},
     DCL_ERR_INVALID,
     {"block(2) over 2 nodes, room for 4 elements", "at least the extent, 8", "use block(4) or more"}},
    {"tile of rank 1",
     "block;tile=4",
     {DCL_FLOAT, 2, {0}, {4, 4}},
     DCL_ERR_INVALID,
     {"grains have 1 sizes; the grid has rank 2", "one size for each axis"}},
};

static void check_grids(dcl_cluster *cluster)
{
    for (size_t c = 0; c < sizeof grid_cases / sizeof grid_cases[0]; c++) {
        const struct grid_case *row = &grid_cases[c];
        dcl_map *map = dcl_map_parse(cluster, row->map);
        cr_assert_not_null(map, "%s: %s", row->what, dcl_error());
        dcl_clear_error(cluster);
        dcl_array *array = dcl_agile(row->grid, map);
        cr_expect_null(array, "%s: an array was made", row->what);
        expect_refused(row->what, dcl_status_of(NULL), row->status, row->words);
        cr_expect_eq(dcl_status_of(cluster), row->status, "%s: the cluster keeps %s", row->what,
                     dcl_status_name(dcl_status_of(cluster)));
        dcl_release(map);
    }
    dcl_clear_error(cluster);
}

struct map_case {
    const char *what, *map;
    const char *words[MOST_WORDS];
};

static const struct map_case map_cases[] = {
    {"misspelt",
     "blok",
     {"column 1: found \"blok\"", "expected block, cyclic, splits, weighted or *", "a map reads like"}},
    {"empty", "", {"column 1: found the end", "expected block"}},
    {"no text", NULL, {"text is NULL", "expected a map such as block"}},
    {"cut off", "rows:cyclic(2x", {"column 15: found the end", "expected the elements of a piece"}},
    {"grain", "block;tile=2y2", {"column 13: found \"y2\"", "expected \";\" or the end"}},
    {"size 0", "cyclic(0)", {"column 8", "expected a size of at least 1"}},
    {"huge size", "cyclic(99999999999999999999)", {"column 8", "expected a size"}},
    {"other nodes", "block@3", {"the arrangement has 3 nodes", "expected 2", "leave it out"}},
    {"nothing divided",
     "*,*",
     {"every axis is whole", "expected an axis that is divided", "lay the map over one node"}},
};

static void check_maps(dcl_cluster *cluster)
{
    for (size_t c = 0; c < sizeof map_cases / sizeof map_cases[0]; c++) {
        const struct map_case *row = &map_cases[c];
        dcl_clear_error(cluster);
        dcl_map *map = dcl_map_parse(cluster, row->map);
        cr_expect_null(map, "%s: a map was made", row->what);
        expect_refused(row->what, dcl_status_of(NULL), DCL_ERR_INVALID, row->words);
        cr_expect_eq(dcl_status_of(cluster), DCL_OK, "%s stays in the cluster", row->what);
        dcl_array *array = dcl_agile(dcl_grid_2d(DCL_FLOAT, 4, 4), map);
        cr_expect_null(array);
        expect_words(row->what, row->words); /* passing NULL on keeps the cause */
        cr_expect_eq(dcl_status_of(cluster), DCL_ERR_INVALID, "%s: the cluster has no error", row->what);
        expect_words(row->what, row->words);
    }
    dcl_clear_error(cluster);
    cr_expect_null(dcl_map_block_cyclic(cluster, 2, (int64_t[]){4, 0}));
    cr_expect(strstr(dcl_error(),
                     "piece[1] is 0; expected at least 1 element; to leave axis 1 uncut, give its full extent") != NULL,
              "%s", dcl_error());
    cr_expect_null(dcl_map_axes(cluster, 2, (dcl_axis[2]){{.kind = DCL_AXIS_BLOCK}, {.kind = (dcl_axis_kind)9}}, NULL));
    cr_expect(strstr(dcl_error(), "axes[1].kind is 9") != NULL, "%s", dcl_error());
    cr_expect(strstr(dcl_error(), "dcl_map_axes: ") == dcl_error(), "the call is not named: %s", dcl_error());
    cr_expect_eq(dcl_status_of(cluster), DCL_OK, "%s", dcl_error());
    dcl_clear_error(cluster);
}

Test(refusal_on_device, of_grids_and_maps)
{
    dcl_cluster *cluster = open_nodes(2);
    check_grids(cluster);
    check_maps(cluster);
    dcl_counters counters = test_counters(cluster, DCL_ALL_NODES);
    cr_expect_eq(counters.storage_bytes, 0);
    cr_expect_eq(dcl_close(cluster), DCL_OK, "%s", dcl_error());
}

static void expect_too_long(dcl_map *map, const char *what, int64_t extent, const char *words)
{
    cr_assert_not_null(map, "%s: %s", what, dcl_error());
    cr_expect_null(dcl_agile(dcl_grid_1d(DCL_FLOAT, extent), map), "%s: an array was made", what);
    expect_refused(what, dcl_status_of(NULL), DCL_ERR_INVALID,
                   (const char *const[MOST_WORDS]){"bytes as text", "expected at most 262143 for arrays", words});
    dcl_release(map);
}

/* A map may be a longer list than arrays can have: it is told what to have less of. */
Test(refusal_on_device, of_lists_that_are_too_long_for_arrays)
{
    enum { COUNT = 140000, BOXES = 20000, POINTS = 50000 };
    static int nodes[COUNT];
    static int64_t points[POINTS];
    static dcl_box boxes[BOXES];
    for (int k = 0; k < COUNT; k++)
        nodes[k] = k % 2;
    for (int k = 0; k < BOXES; k++)
        boxes[k] = dcl_box_nd(1, (int64_t[]){k}, (int64_t[]){1});
    for (int k = 0; k < POINTS; k++)
        points[k] = k + 1;
    dcl_axis axis = {.kind = DCL_AXIS_SPLITS, .points = points, .count = POINTS};
    dcl_cluster *cluster = open_nodes(2);
    expect_too_long(dcl_map_listed(cluster, BOXES, boxes, nodes), "boxes", BOXES, "use fewer and larger boxes");
    expect_too_long(dcl_map_table(cluster, DCL_ROWS, 1, NULL, COUNT, nodes), "pieces", COUNT,
                    "use fewer and larger pieces, or pieces whose neighbours have one owner");
    expect_too_long(dcl_map_axes(cluster, 1, &axis, NULL), "points", POINTS, "use fewer and larger runs");
    dcl_clear_error(cluster);
    TEST_OK(dcl_close(cluster));
}

/* The same where there are no devices; and data is refused there. */
Test(refusal_planned, of_grids_maps_and_data)
{
    dcl_cluster *cluster = dcl_open_plan(2);
    check_grids(cluster);
    check_maps(cluster);
    dcl_map *map = dcl_map_block(cluster);
    dcl_array *A = dcl_agile(dcl_grid_1d(DCL_FLOAT, 4), map);
    float elements[4] = {0};
    TEST_REFUSED(dcl_fill(A, elements), DCL_ERR_UNSUPPORTED,
                 "this cluster only plans (dcl_open_plan()); use dcl_open() for data");
    TEST_REFUSED(dcl_read(A, NULL, elements, NULL), DCL_ERR_UNSUPPORTED, "only plans");
    TEST_REFUSED(dcl_write(A, NULL, elements, NULL), DCL_ERR_UNSUPPORTED, "only plans");
    TEST_REFUSED(dcl_save_npy(A, "/nowhere/a.npy"), DCL_ERR_UNSUPPORTED, "only plans");
    TEST_REFUSED(dcl_forall(cluster, "A(i) = 1;", DCL_OUT(A)), DCL_ERR_UNSUPPORTED, "use dcl_explain()");
    cr_expect_str_eq(dcl_node_name(cluster, 1), "planned");
    dcl_release(A);
    dcl_release(map);
    dcl_close(cluster);
    cr_expect_null(dcl_open_plan(0));
    cr_expect(strstr(dcl_error(), "nodes is 0; expected 1..1000000") != NULL, "%s", dcl_error());
    cr_expect_null(dcl_open_plan(1000001));
}

/* Half is right in itself, but not on a device that has none. */
Test(refusal_on_device, of_half_where_there_is_none)
{
    dcl_cluster *cluster = open_nodes(1);
    dcl_map *map = dcl_map_block(cluster);
    dcl_device_info info[64];
    int count;
    TEST_OK(dcl_device_list(64, info, &count));
    for (int d = 0; d < count; d++)
        if (info[d].has_half)
            cr_skip_test("device %d has half", d);
    cr_expect_null(dcl_agile(dcl_grid_1d(DCL_HALF, 4), map));
    cr_expect_eq(dcl_status_of(cluster), DCL_ERR_UNSUPPORTED);
    cr_expect(strstr(dcl_error(), "has no half; use another element type, or choose devices that have it") != NULL,
              "%s", dcl_error());
    dcl_release(map);
    cr_expect_eq(dcl_close(cluster), DCL_ERR_UNSUPPORTED);
}

/* ---- files -------------------------------------------------------------------------------------------------------- */

struct file_case {
    const char *what, *header; /* NULL: `data` is the whole file; NULL, too: there is none */
    const char *data;
    int data_bytes; /* more than the text: zeros follow */
    const char *words[MOST_WORDS];
};

/* For an array of 8 x 6 floats: 192 bytes. */
static const struct file_case file_cases[] = {
    {"missing", NULL, NULL, 0, {"cannot be opened: No such file", "expected a .npy file"}},
    {"empty", NULL, "", 0, {"is not a .npy file: it is empty", "expected \\x93NUMPY", "numpy.save()"}},
    {"text", NULL, "1 2 3 4 5 6 7 8\n", 16, {".npy"}},
    {"only magic", NULL, "\x93NUMPY", 6, {"expected"}},
    {"truncated",
     "{'descr': '<f4', 'fortran_order': False, 'shape': (8, 6), }",
     "",
     191,
     {"has 319 bytes; its header says 320", "copy or write it again"}},
    {"objects", "{'descr': '|O', 'fortran_order': False, 'shape': (8, 6), }", "", 384, {"|O", "expected"}},
    {"structure", "{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (8, 6), }", "", 192, {"expected"}},
    {"complex", "{'descr': '<c8', 'fortran_order': False, 'shape': (8, 6), }", "", 384, {"<c8", "expected"}},
    {"other type",
     "{'descr': '<f8', 'fortran_order': False, 'shape': (8, 6), }",
     "",
     384,
     {"type double; expected float", "convert the file"}},
    {"other shape",
     "{'descr': '<f4', 'fortran_order': False, 'shape': (6, 8), }",
     "",
     192,
     {"holds 6 x 8 elements", "expected 8 x 6", "dcl_npy_inspect()"}},
    {"other rank",
     "{'descr': '<f4', 'fortran_order': False, 'shape': (48,), }",
     "",
     192,
     {"holds 48 elements", "expected 8 x 6"}},
    {"negative shape", "{'descr': '<f4', 'fortran_order': False, 'shape': (-8, 6), }", "", 192, {"expected"}},
    {"huge shape", "{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775807, 6), }", "", 192, {NULL}},
    {"no shape", "{'descr': '<f4', 'fortran_order': False, }", "", 192, {"shape"}},
    {"no dictionary", "hello", "", 192, {"expected"}},
};

static void make_file(const char *path, const struct file_case *row)
{
    unlink(path);
    if (row->data == NULL)
        return;
    FILE *file = fopen(path, "wb");
    cr_assert_not_null(file);
    if (row->header != NULL) {
        fwrite("\x93NUMPY\x01\x00\x76\x00", 1, 10, file);
        fprintf(file, "%-117s\n", row->header);
    }
    size_t length = strlen(row->data);
    fwrite(row->data, 1, length, file);
    for (size_t b = length; b < (size_t)row->data_bytes; b++)
        fputc(0, file);
    fclose(file);
}

Test(refusal_on_device, of_files)
{
    char path[TEST_PATH];
    struct arrays a = open_arrays();
    test_make_folder();
    test_path(path, "a.npy");
    for (size_t c = 0; c < sizeof file_cases / sizeof file_cases[0]; c++) {
        const struct file_case *row = &file_cases[c];
        make_file(path, row);
        expect_refused(row->what, dcl_load_npy(a.C, path), DCL_ERR_FILE, row->words);
        cr_expect(strstr(dcl_error(), path) != NULL, "%s: the file is not named: %s", row->what, dcl_error());
        expect_state(row->what, &a, DCL_ERR_FILE);
    }
    TEST_REFUSED(dcl_load_npy(a.C, "/tmp"), DCL_ERR_FILE, "\"/tmp\" is a directory; expected a .npy file");
    expect_state("folder", &a, DCL_ERR_FILE);
    cr_expect_eq(test_files_left("a.npy"), 0, "files are left behind");
    close_arrays(&a);
    test_remove_folder();
}

/* Calls of a body that was found right before, now with other arrays, another scalar, or part of the grid. */
Test(refusal_on_device, a_body_that_was_right_before)
{
    struct arrays a = open_arrays();
    const char *turned = "C(i,j) = A(7-i,j);", *scaled = "C(i,j) = A(s*i,j);";
    int64_t s = 1;
    dcl_box beyond = dcl_box_nd(2, (int64_t[]){0, 0}, (int64_t[]){ROWS + 1, COLUMNS});
    for (int n = 0; n < 3; n++) {
        cr_expect_eq(dcl_forall(a.cluster, turned, DCL_OUT_AS("C", a.C), DCL_IN_AS("A", n == 1 ? a.B : a.A)), DCL_OK,
                     "%s", dcl_error());
        cr_expect_eq(dcl_forall(a.cluster, scaled, DCL_OUT_AS("C", a.B), DCL_IN_AS("A", a.A), DCL_VALUE(s)), DCL_OK,
                     "%s", dcl_error());
    }
    expect_refused("one array", dcl_forall(a.cluster, turned, DCL_OUT_AS("C", a.C), DCL_IN_AS("A", a.C)), DCL_ERR_BODY,
                   (const char *const[MOST_WORDS]){"the same array"});
    expect_refused("part of the grid",
                   dcl_forall_over(a.cluster, &beyond, turned, DCL_OUT_AS("C", a.C), DCL_IN_AS("A", a.A)),
                   DCL_ERR_RANGE, (const char *const[MOST_WORDS]){"0"});
    s = INT64_MAX / 2;
    expect_refused("another scalar",
                   dcl_forall(a.cluster, scaled, DCL_OUT_AS("C", a.B), DCL_IN_AS("A", a.A), DCL_VALUE(s)), DCL_ERR_BODY,
                   (const char *const[MOST_WORDS]){"does not fit 64 bits"});
    dcl_clear_error(a.cluster);
    cr_expect_eq(dcl_forall(a.cluster, turned, DCL_OUT_AS("C", a.C), DCL_IN_AS("A", a.A)), DCL_OK, "%s", dcl_error());
    close_arrays(&a);
}

/* What was found right for views, or for a part of the grid, says nothing about other views and other parts: the storages are
 * the same each time. */
Test(refusal_on_device, views_and_parts_that_were_right_before)
{
    struct arrays a = open_arrays();
    const char *copied = "C(i,j) = A(i,j);", *turned = "C(i,j) = A(7-i,j);";
    const int64_t half[] = {ROWS / 2, COLUMNS}, ones[] = {1, 1};
    dcl_array *top = dcl_slice(a.A, (int64_t[]){0, 0}, half, ones);
    dcl_array *bottom = dcl_slice(a.A, (int64_t[]){ROWS / 2, 0}, half, ones);
    dcl_array *middle = dcl_slice(a.A, (int64_t[]){ROWS / 4, 0}, half, ones);
    dcl_box upper = dcl_box_nd(2, (int64_t[]){0, 0}, half);
    const char *const words[MOST_WORDS] = {"the same array"};
    for (int n = 0; n < 2; n++) {
        cr_expect_eq(dcl_forall(a.cluster, copied, DCL_OUT_AS("C", top), DCL_IN_AS("A", bottom)), DCL_OK, "%s",
                     dcl_error());
        cr_expect_eq(dcl_forall_over(a.cluster, &upper, turned, DCL_OUT_AS("C", a.B), DCL_IN_AS("A", a.B)), DCL_OK,
                     "%s", dcl_error());
    }
    expect_refused("another view", dcl_forall(a.cluster, copied, DCL_OUT_AS("C", top), DCL_IN_AS("A", middle)),
                   DCL_ERR_BODY, words);
    expect_refused("the whole grid", dcl_forall(a.cluster, turned, DCL_OUT_AS("C", a.B), DCL_IN_AS("A", a.B)),
                   DCL_ERR_BODY, words);
    dcl_clear_error(a.cluster);
    dcl_release(top);
    dcl_release(bottom);
    dcl_release(middle);
    close_arrays(&a);
}
