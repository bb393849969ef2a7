/* test/kernel/use_test.c - what a body tells before its arrays are known. */
#include <criterion/criterion.h>
#include <string.h>

#include <dcl/forall.h>

static dcl_use use_of(const char *body, const char *name)
{
    static const char *const names[] = {"A", "B", "C"};
    dcl_use use = {0};
    cr_assert_eq(dcl_body_use(body, 3, names, name, &use), DCL_OK, "%s", dcl_error());
    return use;
}

static void expect_use(const char *body, const char *name, bool read, bool written, int rank)
{
    dcl_use use = use_of(body, name);
    cr_expect(use.read == read && use.written == written && use.rank == rank, "%s in '%s': read %d written %d rank %d",
              name, body, use.read, use.written, use.rank);
}

Test(kernel_use, roles_and_ranks)
{
    expect_use("C(i,j) = A(i,j) + B(j,i);", "C", false, true, 2);
    expect_use("C(i,j) = A(i,j) + B(j,i);", "B", true, false, 2);
    expect_use("C(i) += n * A(i);", "C", true, true, 1);
    expect_use("C(i) = 0; C(i) += A(i);", "C", false, true, 1);
    expect_use("if (i > 0) C(i) = 1; A(i) = C(i);", "C", true, true, 1);
    expect_use("C(i) = A(B(i) % 3, n * 2, 0);", "A", true, false, 3);
    expect_use("C(i) = A(B(i) % 3, n * 2, 0);", "B", true, false, 1);
    expect_use("C(i) = 2;", "B", false, false, 0);
}

Test(kernel_use, refusals)
{
    static const char *const names[] = {"A", "C"};
    dcl_use use;
    cr_expect_eq(dcl_body_use("C(i) = A(i", 2, names, "A", &use), DCL_ERR_BODY);
    cr_expect(strstr(dcl_error(), "dcl_body_use: line 1, column 9: this ( is not closed") != NULL, "%s", dcl_error());
    cr_expect_eq(dcl_body_use("C(i) = A(i);", 2, names, "B", &use), DCL_ERR_INVALID);
    cr_expect_eq(dcl_body_use("C(i) = A(i) + A(i,j);", 2, names, "A", &use), DCL_ERR_BODY);
    cr_expect(strstr(dcl_error(), "A has 2 subscripts here; expected 1") != NULL, "%s", dcl_error());
    cr_expect_eq(dcl_body_use("C(i) = A(0,1,2,3,4,5,6,7,8);", 2, names, "A", &use), DCL_ERR_BODY);
    cr_expect_eq(dcl_body_use(NULL, 2, names, "A", &use), DCL_ERR_INVALID);
}

static dcl_grid grid(dcl_type type, int rank, int64_t n0, int64_t n1)
{
    return (dcl_grid){.type = type, .rank = rank, .extent = {n0, n1}};
}

static const char *const names[] = {"A", "B", "C", "D"};

static void expect_grid(const dcl_grid *found, dcl_type type, int rank, int64_t n0, int64_t n1)
{
    cr_expect(found->type == type && found->rank == rank && found->extent[0] == n0 && found->extent[1] == n1,
              "type %d rank %d extents %d x %d", (int)found->type, found->rank, (int)found->extent[0],
              (int)found->extent[1]);
}

Test(kernel_use, grids_are_inferred)
{
    dcl_grid grids[4] = {grid(DCL_INT16, 2, 4, 7), grid(DCL_FLOAT, 1, 7, 0), {0}, {.type = DCL_DOUBLE}};
    grids[0].origin[1] = grids[1].origin[0] = 3;
    cr_assert_eq(dcl_body_infer("C(i,j) = A(i,j) + A(i,2*j) + B(j); D(j,i) = n * B(j);", 4, names, grids), DCL_OK, "%s",
                 dcl_error());
    expect_grid(&grids[2], DCL_INT16, 2, 4, 7);
    expect_grid(&grids[3], DCL_DOUBLE, 2, 7, 4);
    cr_expect(grids[2].origin[1] == 3 && grids[3].origin[0] == 3);
}

Test(kernel_use, a_known_output_has_the_last_word)
{
    dcl_grid grids[4] = {grid(DCL_FLOAT, 1, 12, 0), {0}, grid(DCL_FLOAT, 1, 10, 0), grid(DCL_FLOAT, 1, 5, 0)};
    cr_assert_eq(dcl_body_infer("C(i) = A(i) + D(n); B(i) = 2;", 4, names, grids), DCL_OK, "%s", dcl_error());
    expect_grid(&grids[1], DCL_FLOAT, 1, 10, 0);
}

Test(kernel_use, grids_that_cannot_be_inferred)
{
    dcl_grid grids[4] = {grid(DCL_FLOAT, 1, 12, 0), grid(DCL_FLOAT, 1, 10, 0), {0}, grid(DCL_FLOAT, 2, 5, 5)};
    cr_expect_eq(dcl_body_infer("C(i) = A(i) + B(i);", 3, names, grids), DCL_ERR_BODY);
    cr_expect(strstr(dcl_error(),
                     "index i runs over axis 0 of A (from 0, 12 elements) and over axis 0 of B (from 0, 10") != NULL,
              "%s", dcl_error());
    cr_expect_eq(dcl_body_infer("C(i,j) = A(i) + B(j+1);", 3, names, grids), DCL_ERR_BODY);
    cr_expect(strstr(dcl_error(), "line 1, column 1: index j stands alone as a subscript of no array") != NULL, "%s",
              dcl_error());
    cr_expect_eq(dcl_body_infer("C(i) = D(i);", 4, names, grids), DCL_ERR_BODY);
    cr_expect(strstr(dcl_error(), "D has 2 axes, but 1 subscripts in the body") != NULL, "%s", dcl_error());
    cr_expect_eq(dcl_body_infer("A(i) = B(i);", 3, names, grids), DCL_ERR_BODY);
    cr_expect(strstr(dcl_error(), "C does not occur in the body") != NULL, "%s", dcl_error());
    cr_expect_eq(grids[2].rank, 0, "grids are left alone on failure");
}
