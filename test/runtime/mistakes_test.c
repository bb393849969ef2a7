/* test/runtime/mistakes_test.c - one table of what may be wrong with a reduction, a scan or an index space, and of the sentence
 * that says so: what was found, what was expected, what to do. A row is a text for the same arguments. The suites of single
 * verbs have the wrong arguments. Nothing is computed, and afterwards the arrays are as they were. */
#include <criterion/criterion.h>
#include <string.h>

#include "support/nodes.h"

TestSuite(mistakes, .timeout = TEST_SECONDS);

enum verb { VALUE, ALONG, KEYED, SCAN, FORALL };

/* The arguments: s is a double variable, y an array of 4 floats, h one of 4 ints, q one of 4 floats; A has 4 x 5 floats, T is A transposed,
 * B has 5 x 3 floats, x 5 floats, label 4 ints; c is the long 3, f the float 0.5, big the long 2^62. */
static const struct mistake {
    const char *what;
    enum verb verb;
    const char *text, *over;
    dcl_status status;
    const char *words;
} mistakes[] = {
    /* indices and their ranges */
    {"an index whose range is unknown", ALONG, "y(i) += A(i,2*j);", NULL, DCL_ERR_BODY,
     "the range of index j is unknown, because it stands alone in no subscript; expected it alone in a subscript of a "
     "DCL_IN, such as A(j), or in DCL_OVER(\"0 <= j < n\")"},
    {"an index with two ranges", ALONG, "y(i) += A(i,j) * y2(j);", NULL, DCL_ERR_INVALID,
     "index j runs over 0..4 as axis 1 of A, and over 0..3 as axis 0 of y2; expected one range"},
    {"a kept index with two ranges", ALONG, "y(i) += B(i,j);", NULL, DCL_ERR_INVALID,
     "index i runs over 0..3 as axis 0 of y, and over 0..4 as axis 0 of B"},
    {"nothing is reduced", ALONG, "y(i) += y2(i);", NULL, DCL_ERR_BODY,
     "y has all indices of the body, so that nothing is reduced; expected an index that y does not have"},
    {"reduced and kept", ALONG, "y(i) += A(i,j); y(j) += A(i,j);", NULL, DCL_ERR_BODY,
     "y is reduced here at other subscripts than in line 1, column 1; expected the same; reduce into a second array"},
    {"no index at all", VALUE, "s += c;", NULL, DCL_ERR_BODY,
     "no array has an index as its subscript, and DCL_OVER gives no index a range; expected a reduction over indices, "
     "which are called i to p, such as s += A(i);"},
    {"an index with two ranges in one input", VALUE, "s += A(i,i);", NULL, DCL_ERR_INVALID,
     "index i runs over 0..3 as axis 0 of A, and over 0..4 as axis 1 of A; expected one range"},
    {"an index with two ranges in two inputs", VALUE, "s += A(i,j) * B(k,j);", NULL, DCL_ERR_INVALID,
     "index j runs over 0..4 as axis 1 of A, and over 0..2 as axis 1 of B; expected one range"},
    {"an index that is a sum only", VALUE, "s += x(i+j);", NULL, DCL_ERR_BODY,
     "the range of index i is unknown, because it stands alone in no subscript; expected it alone in a subscript of a "
     "DCL_IN, such as A(i), or in DCL_OVER(\"0 <= i < n\")"},
    {"keys of an index whose range is unknown", KEYED, "h(label(2*i)) += 1;", NULL, DCL_ERR_BODY,
     "the range of index i"},
    {"an unknown variable as a subscript", VALUE, "s += A(i,t);", NULL, DCL_ERR_BODY,
     "'t' in subscript 2 of A is not affine: it is a variable of the body or unknown"},
    {"subscripts that are missing", VALUE, "s += A(i);", NULL, DCL_ERR_BODY, "A has 1 subscript here; expected 2"},
    {"a subscript of an array that is missing", VALUE, "s += A + x(i);", NULL, DCL_ERR_BODY,
     "A is an array and stands without subscripts"},
    {"an output with keys that is read", ALONG, "y(i+1) += A(i,j) * y(0);", NULL, DCL_ERR_BODY,
     "y is reduced; expected a statement y(...) += ..., with += -= *= &= |= ^= min= or max=; its elements are known "
     "only "
     "after the call"},
    {"a loop whose sums are multiplied along an axis", ALONG,
     "float t = 0; for (int d = 0; d < 2; d++) t += A(i,j+d); y(i) *= t;", "0 <= j < 4", DCL_ERR_BODY,
     "column 53: 'd' in subscript 2 of A is not affine: it is the variable of a for loop, and a reduction along axes "
     "with such subscripts has += -= min= max= (of integers also *= &= |= ^=), but no DCL_OPERATOR, box, DCL_RESULT_AT "
     "or other outputs; store the sums of the loop with dcl_forall() first; use + - * of indices, integer literals and "
     "integer DCL_VALUEs, or declare DCL_IN_ALL(A)"},
    /* operators and statements */
    {"an unknown operator", ALONG, "y(i) mean= A(i,j);", NULL, DCL_ERR_BODY,
     "y is reduced; expected a statement y(i, ...) += ..., with += -= *= &= |= ^= min= max= any= all= or a "
     "DCL_OPERATOR"},
    {"an unknown operator of a value", VALUE, "s /= x(i);", NULL, DCL_ERR_BODY,
     "s is DCL_RESULT; expected a statement s += ..., with += -= *= &= |= ^= min= max= any= all= or a DCL_OPERATOR"},
    {"a reduction as a loop body", FORALL, "y(i) = y2(j);", NULL, DCL_ERR_BODY,
     "'j' in subscript 1 of y2 is not affine: it is a variable of the body or unknown, no index of the first output, "
     "no "
     "DCL_VALUE and no variable of a for loop with bounds known at the call (dcl_reduce() combines the values of all "
     "indices that the output does not have)"},
    {"an operator of reductions in a loop body", FORALL, "y(i) max= y2(i);", NULL, DCL_ERR_BODY,
     "an operator that is a word combines values of several indices, as dcl_reduce() does, and y(...) is written once "
     "at "
     "each index; write an expression such as max(y(...), ...) behind ="},
    {"a plain assignment", VALUE, "s = x(i);", NULL, DCL_ERR_BODY, "s is DCL_RESULT; expected a statement s += ..."},
    {"two operators for one result", VALUE, "s += x(i); s max= x(i);", NULL, DCL_ERR_BODY,
     "s was reduced by another operator before; expected one for all statements"},
    {"bits of floating-point numbers", VALUE, "s |= x(i);", NULL, DCL_ERR_BODY,
     "s is of a floating-point type; expected an integer for |=, or += *= min= max="},
    {"any of floating-point numbers", ALONG, "y(i) any= A(i,j);", NULL, DCL_ERR_BODY, "expected an integer for any"},
    {"a result that is read", VALUE, "s += x(i) / s;", NULL, DCL_ERR_BODY, "its value is known only after the call"},
    {"a result within an expression", VALUE, "float t = (s += x(i));", NULL, DCL_ERR_BODY,
     "its value is known only after the call"},
    {"a result that is never reduced", VALUE, "float t = x(i);", NULL, DCL_ERR_BODY,
     "s is DCL_RESULT, but the body does not reduce it; write s += ...;, or leave it out"},
    {"an output that is never reduced", ALONG, "float t = A(i,j);", NULL, DCL_ERR_BODY,
     "y is DCL_OUT, but the body does not reduce into it; write y(i, ...) += ...;, or declare DCL_IN(y)"},
    {"two expressions", VALUE, "s += x(i), x(i) + 1;", NULL, DCL_ERR_BODY,
     "the statement that reduces s has a comma; expected one expression; write two statements"},
    {"a bracket that is open", VALUE, "s += x(i;", NULL, DCL_ERR_BODY, "line 1, column 7"},
    {"an empty body", VALUE, "  /* nothing */ ", NULL, DCL_ERR_BODY, "the body is empty"},
    {"a word that is no OpenCL C", VALUE, "s += sqroot(x(i));", NULL, DCL_ERR_BODY, "sqroot"},
    {"a body that returns", VALUE, "if (x(i) > 0) return; s += x(i);", NULL, DCL_ERR_BODY,
     "a body is no function and ends at its last statement; use if"},
    {"a preprocessor line", VALUE, "#define t x\ns += t(i);", NULL, DCL_ERR_BODY, "DCL_PRELUDE"},
    /* aliases */
    {"an output that is read", ALONG, "y(i) += A(i,j) * y(i);", NULL, DCL_ERR_BODY, "its value is known only after"},
    {"the output under another name", ALONG, "y(i) += A(i,j) * same(i);", NULL, DCL_ERR_BODY,
     "same and y are the same array, which is written; give it one name, with DCL_INOUT"},
    {"the output of a keyed reduction as its input", KEYED, "h(label(i)) += same(i);", NULL, DCL_ERR_INVALID,
     "h and same are the same array; expected another one for the results of a keyed reduction; exchange them with "
     "dcl_swap()"},
    {"the output of a scan as its input", SCAN, "y(i) += same(i);", NULL, DCL_ERR_INVALID,
     "y and same are the same array; expected a second array for the results; exchange them with dcl_swap()"},
    /* keys */
    {"a key that is no integer", KEYED, "h(y2(i)) += 1;", NULL, DCL_ERR_BODY,
     "a key of h is of type float; expected an integer; convert it, as in (int)y2(...)"},
    {"keys that are missing", KEYED, "h(label(i), i) += 1;", NULL, DCL_ERR_BODY, "h has 2 subscripts here; expected 1"},
    {"any by keys", KEYED, "h(label(i)) any= label(i);", NULL, DCL_ERR_BODY,
     "h has keys and is reduced by an operator that keyed reductions do not have; expected += -= min= max=, or for "
     "integers also"},
    /* elements */
    {"an element that does not exist", ALONG, "y(4) += A(i,j);", NULL, DCL_ERR_INVALID,
     "y is reduced into an element with index 4 along axis 0; expected 0..3"},
    /* scans */
    {"a scan of two statements", SCAN, "y(i) += y2(i); y(i) += 1;", NULL, DCL_ERR_BODY,
     "a scan has one statement, and here begins another one"},
    {"a scan by an unknown operator", SCAN, "y(i) -= y2(i);", NULL, DCL_ERR_BODY,
     "there is no operator of a scan here; expected y(...) followed by one of += *= min= max= &= |= ^= or a "
     "DCL_OPERATOR"},
    {"a scan along an index that the output does not have", SCAN, "y(j) += y2(j);", NULL, DCL_ERR_BODY,
     "no subscript of y is \"i\", the index of DCL_ALONG; expected one of them"},
    {"a scan at other subscripts", SCAN, "y(i+1) += y2(i);", NULL, DCL_ERR_BODY,
     "this subscript of y is no plain index; expected one of i, j, ..., p"},
    {"a scan that reads its output", SCAN, "y(i) += y(i-1);", NULL, DCL_ERR_BODY,
     "y is the output of the scan and cannot be read; scan into another array"},
    /* ranges */
    {"a range that leaves the axis", ALONG, "y(i) += A(i,j);", "0 <= j <= i + c", DCL_ERR_BODY, "j"},
    {"a range of no index", ALONG, "y(i) += A(i,j);", "0 <= k < 2", DCL_ERR_BODY,
     "k is no index of the body: no subscript contains it"},
    {"a range that is not linear", ALONG, "y(i) += A(i,j);", "0 <= j <= i * i", DCL_ERR_BODY, "column"},
    {"a bound that is no integer", ALONG, "y(i) += A(i,j);", "0 <= j < f", DCL_ERR_BODY, "f"},
    {"overflow of a count", ALONG, "y(i) += A(i,j);", "0 <= j < big * 4", DCL_ERR_BODY,
     "this bound of j overflows 64 bits"},
    {"two ranges of an index", ALONG, "y(i) += A(i,j);", "0 <= j < 2, 1 <= j < 3", DCL_ERR_BODY, "j"},
    {"a range without an end", ALONG, "y(i) += A(i,j);", "0 <= j", DCL_ERR_BODY, "expected"},
    /* boundaries, and loops as axes */
    {"a boundary within a sum", FORALL, "y(i) = y2(clamp(i,0,3) + 1);", NULL, DCL_ERR_BODY, "subscript 1 of y2"},
    {"a limit that is an index", FORALL, "y(i) = y2(min(i,i));", NULL, DCL_ERR_BODY, "subscript 1 of y2"},
    {"a period that is not the extent", FORALL, "y(i) = y2((i+1) % c);", NULL, DCL_ERR_BODY,
     "it wraps around at 3, and the axis has the indices 0..3; expected the extent of an axis that begins at 0"},
    {"a remainder of negative numbers", FORALL, "y(i) = y2((i-1) % 4);", NULL, DCL_ERR_BODY, "negative"},
    {"a subscript that wraps", FORALL, "y(i) = y2(big * big * i);", NULL, DCL_ERR_BODY, "overflow"},
    {"a loop whose end is not known", FORALL, "float t = 0; for (int d = 0; d < i; d++) t += y2(d); y(i) = t;", NULL,
     DCL_ERR_BODY, "'d' in subscript 1 of y2"},
};
enum { COUNT = sizeof mistakes / sizeof mistakes[0] };

/* The arrays that a text may name. */
struct arrays {
    dcl_array *y, *h, *y2, *A, *B, *x, *label;
};

static dcl_status call(dcl_cluster *cluster, const struct mistake *m, const struct arrays *a, double *s)
{
    bool same = strstr(m->text, "same") != NULL;
    dcl_arg args[16] = {{.access = DCL_ACCESS_OUT}};
    int count = 0;
    args[count++] = m->verb == VALUE   ? dcl_arg_result("s", DCL_DOUBLE, s)
                    : m->verb == KEYED ? DCL_OUT_AS("h", a->h)
                                       : DCL_OUT_AS("y", a->y);
    args[count++] = DCL_IN_AS("y2", a->y2);
    if (m->verb != SCAN && m->verb != FORALL) {
        args[count++] = DCL_IN_AS("A", a->A);
        args[count++] = DCL_IN_AS("B", a->B);
        args[count++] = DCL_IN_AS("x", a->x);
    }
    if (same)
        args[count++] = DCL_IN_AS("same", m->verb == KEYED ? a->h : a->y);
    if (m->verb == KEYED)
        args[count++] = DCL_IN_AS("label", a->label);
    args[count++] = dcl_arg_signed("c", DCL_INT64, 3);
    args[count++] = DCL_VALUE_AS("f", 0.5F);
    args[count++] = dcl_arg_signed("big", DCL_INT64, INT64_C(1) << 62);
    if (m->verb == SCAN)
        args[count++] = DCL_ALONG("i");
    if (m->over != NULL)
        args[count++] = DCL_OVER(m->over);
    const dcl_call description = m->verb == SCAN     ? dcl_call_scan(cluster, m->text, count, args)
                                 : m->verb == FORALL ? dcl_call_body(cluster, NULL, m->text, count, args)
                                                     : dcl_call_reduction(cluster, NULL, m->text, count, args);
    return dcl_call_run(&description);
}

Test(mistakes, have_sentences)
{
    cr_expect(COUNT >= 40, "%d rows", COUNT);
    dcl_config config = test_config(1);
    dcl_cluster *cluster = test_open(&config);
    struct arrays a = {test_array(cluster, "block", dcl_grid_1d(DCL_FLOAT, 4)),
                       test_array(cluster, "block", dcl_grid_1d(DCL_INT32, 4)),
                       test_array(cluster, "block", dcl_grid_1d(DCL_FLOAT, 4)),
                       test_array(cluster, "block", dcl_grid_2d(DCL_FLOAT, 4, 5)),
                       test_array(cluster, "block", dcl_grid_2d(DCL_FLOAT, 5, 3)),
                       test_array(cluster, "block", dcl_grid_1d(DCL_FLOAT, 5)),
                       test_array(cluster, "block", dcl_grid_1d(DCL_INT32, 4))};
    const float nine = 9;
    TEST_OK(dcl_fill(a.y, &nine));
    for (int n = 0; n < COUNT; n++) {
        const struct mistake *m = &mistakes[n];
        double s = 7;
        dcl_status status = call(cluster, m, &a, &s);
        cr_expect_eq(status, m->status, "%s: %s: %s", m->what, dcl_status_name(status), dcl_error());
        cr_expect(strstr(dcl_error(), m->words) != NULL, "%s: %s; expected: %s", m->what, dcl_error(), m->words);
        cr_expect_eq(s, 7, "%s: the variable has changed", m->what);
        dcl_clear_error(cluster);
    }
    float found[4];
    TEST_OK(dcl_read(a.y, NULL, found, NULL));
    cr_expect(found[0] == nine && found[1] == nine && found[2] == nine && found[3] == nine);
    dcl_array *made[] = {a.label, a.x, a.B, a.A, a.y2, a.h, a.y};
    for (size_t k = 0; k < sizeof made / sizeof made[0]; k++)
        dcl_release(made[k]);
    TEST_OK(dcl_close(cluster));
}
