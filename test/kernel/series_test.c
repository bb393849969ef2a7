/* test/kernel/series_test.c - the program of a series: accesses that share an offset, as text and on a device. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "kernel/device.h"
#include "kernel/series.h"
#include "kernel/spec.h"

/* The program of a body that writes C. @return text, freed with dcli_free() */
static char *source_of(const char *text)
{
    dcli_body *body = NULL;
    cr_assert_eq(test_parse("out C 2, in A 2, in B 2", text, &body), DCL_OK, "%s", dcl_error());
    cr_assert(dcli_series_takes(body));
    const dcli_body *bodies[] = {body};
    char *source = dcli_series_source(1, bodies);
    cr_assert_not_null(source);
    dcli_body_free(body);
    return source;
}

/* Four neighbours of A share the offset of one of them, in rows in which all lie in one memory at their distance; in others, each
 * has its own. With fewer neighbours, and with reads of other arrays, each has its own. */
Test(kernel_series, neighbours_share_an_offset)
{
    char *shared = source_of("C(i,j) = A(i,j) + A(i-1,j) + A(i+1,j) + A(i,j-1);"),
         *few = source_of("C(i,j) = A(i,j) + A(i-1,j);"), *others = source_of("C(i,j) = A(i,j) + B(i,j);");
    const char *test = strstr(shared, "    if (true"), *otherwise = test != NULL ? strstr(test, "} else {") : NULL;
    cr_assert_not_null(test);
    cr_assert_not_null(otherwise);
    int follow = 0;
    for (const char *at = test; (at = strstr(at, "\n        && dcl_p")) != NULL && at < otherwise; at++)
        follow++;
    cr_expect_eq(follow, 3, "a condition for each of three accesses: %d", follow);
    cr_expect_null(strstr(few, "    if (true"));
    cr_expect_null(strstr(others, "    if (true"));
    dcli_free(others);
    dcli_free(few);
    dcli_free(shared);
}

/* ---- on a device ----------------------------------------------------------------------------------------------------- */

enum { ROWS = 3, COLUMNS = 5, PITCH = 11, ROOM = 400, READS = 4, NO_READ = READS, LONGS = 128 };

/* A row of a series computes C(i,j) from four reads of A. One of the reads may lie elsewhere than its neighbours, as it does if a
 * node has a copy of a peer's elements. */
struct place_case {
    char what[40];
    int read;              /* the read that lies elsewhere */
    bool other;            /* in other memory */
    int64_t offset, pitch; /* of element (0,0), and from one line to the next */
};

static const struct place_case places[] = {
    {"all at their distance", NO_READ, false, 0, PITCH},
    {"upper neighbour in other memory", 1, true, 0, PITCH},
    {"upper neighbour behind the others", 1, false, 200, PITCH},
    {"lower neighbour with another pitch", 2, false, 4, PITCH - 2}, /* its first line, line 2, lies at its distance */
    {"left neighbour in other memory", 3, true, 5, PITCH - 2},
};

enum { PLACES = sizeof places / sizeof places[0] };

/* Where read number r finds its value for the result C(i,j), with i and j from 1: at A(i,j) and its upper, lower and left neighbours. */
static int64_t place_of(const struct place_case *c, int r, int64_t i, int64_t j)
{
    static const int64_t down[READS] = {0, -1, 1, 0}, right[READS] = {0, 0, 0, -1};
    return (r == c->read ? c->offset : 0) + (i + down[r]) * (r == c->read ? c->pitch : PITCH) + j + right[r];
}

/* Run the row of a case. @param memory  [2][ROOM] in which the reads lie. @param found_out  [ROWS * COLUMNS] */
static void run_place(test_device *device, const dcli_body *body, const char *source, const struct place_case *c,
                      float memory[2][ROOM], float found_out[])
{
    int64_t row[LONGS] = {0}, step[DCLI_STEP_HEAD + 1 + READS] = {0}, list[2] = {(int64_t)(intptr_t)step, 1};
    int64_t lists_at = (int64_t)(intptr_t)list;
    cr_assert_leq(dcli_row_length(body), LONGS);
    for (int m = 0; m < 2; m++) {
        row[dcli_row_at(body, DCLI_ROW_START, 0) + m] = 1;
        row[dcli_row_at(body, DCLI_ROW_STRIDE, 0) + m] = 1;
        row[dcli_row_at(body, DCLI_ROW_COUNT, 0) + m] = m == 0 ? ROWS : COLUMNS;
    }
    for (int a = 0, r = 0; a < body->access_count; a++) {
        bool written = body->access[a].written;
        int64_t *offset = &row[dcli_row_at(body, DCLI_ROW_OFFSET, a)],
                *pitch = &row[dcli_row_at(body, DCLI_ROW_STEP, a)];
        offset[0] = written ? 0 : place_of(c, r, 1, 1);
        pitch[0] = written ? COLUMNS : r == c->read ? c->pitch : PITCH;
        pitch[1] = 1;
        step[DCLI_STEP_HEAD + a] = (int64_t)(intptr_t)(written ? found_out : memory[r == c->read && c->other]);
        r += !written;
    }
    cr_assert(dcli_row_is_unit(body, row));
    step[DCLI_STEP_LENGTH] = DCLI_STEP_HEAD + body->access_count;
    step[DCLI_STEP_CODE] = dcli_step_code(0, DCLI_VARIANT_UNIT);
    step[DCLI_STEP_TABLE] = (int64_t)(intptr_t)row;
    step[DCLI_STEP_ROWS] = 1;
    test_device_run(device, source, "test_series", 1, &(test_buffer){.data = &lists_at, .bytes = sizeof lists_at});
}

/* Run the row of a case and compare its results with those of a plain loop. */
static void check_place(test_device *device, const dcli_body *body, const char *source, const struct place_case *c)
{
    static float memory[2][ROOM], found[ROWS * COLUMNS];
    for (int k = 0; k < 2 * ROOM; k++)
        memory[k / ROOM][k % ROOM] = (float)k;
    memset(found, 0, sizeof found);
    run_place(device, body, source, c, memory, found);
    for (int64_t i = 0; i < ROWS; i++)
        for (int64_t j = 0; j < COLUMNS; j++) {
            float expected = 0;
            for (int r = 0; r < READS; r++)
                expected += (float)(r + 1) * memory[r == c->read && c->other][place_of(c, r, i + 1, j + 1)];
            cr_expect_eq(found[i * COLUMNS + j], expected, "%s: C(%d,%d) is %g; expected %g", c->what, (int)i + 1,
                         (int)j + 1, (double)found[i * COLUMNS + j], (double)expected);
        }
}

/* Rows of a series in which a read lies elsewhere than its neighbours: then the others must not lend it their offset. */
Test(kernel_device_series, reads_away_from_their_neighbours)
{
    test_device *device = test_device_open();
    dcli_body *body = NULL;
    if (device == NULL || test_device_is_gpu(device))
        cr_skip_test("no processor as an OpenCL device");
    cr_assert_eq(test_parse("out C 2, in A 2", "C(i,j) = A(i,j) + 2 * A(i-1,j) + 3 * A(i+1,j) + 4 * A(i,j-1);", &body),
                 DCL_OK, "%s", dcl_error());
    char *program = dcli_series_source(1, (const dcli_body *[]){body});
    cr_assert_not_null(program);
    cr_assert_not_null(strstr(program, "    if (true"), "no read shares an offset");
    static const char run[] = "__kernel void test_series(__global ulong *lists_at)\n{\n"
                              "    dcl_series(lists_at[0], 0, 0, 0);\n}\n";
    size_t bytes = strlen(program) + sizeof run;
    char *source = dcli_malloc(bytes);
    cr_assert_not_null(source);
    snprintf(source, bytes, "%s%s", program, run);
    for (int p = 0; p < PLACES; p++)
        check_place(device, body, source, &places[p]);
    dcli_free(source);
    dcli_free(program);
    dcli_body_free(body);
    test_device_close(device);
}
