/* test/kernel/parse_test.c - bodies and the accesses found in them. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "kernel/spec.h"

struct parse_case {
    char what[48], spec[96], text[256], accesses[256];
};

ParameterizedTestParameters(kernel_parse, accesses)
{
    static struct parse_case cases[] = {
        {"plain", "out C 2, in A 2", "C(i,j) = A(i,j);", "C(x0,x1) w u1; A(x0,x1) r u1"},
        {"transposed", "out C 2, in A 2, in B 2", "C(i,j) = A(i,j) + B(j,i);",
         "C(x0,x1) w u1; A(x0,x1) r u1; B(x1,x0) r u0"},
        {"axes run as the output has them", "out C 2, in A 2", "C(j,i) = A(i,j);", "C(x0,x1) w u1; A(x1,x0) r u0"},
        {"three axes", "out C 3, in A 3", "C(k,i,j) = A(i,j,k);", "C(x0,x1,x2) w u2; A(x1,x2,x0) r u0"},
        {"equal sums are one access", "out C 1, in A 1", "C(i) = A(i+1) + A(1+i) + A(2*i - (i - 1)) + A( (1) +i);",
         "C(x0) w u0; A(1+x0) r u0"},
        {"different constants are two", "out C 1, in A 1", "C(i) = A(i+1) - A(i-1);",
         "C(x0) w u0; A(1+x0) r u0; A(-1+x0) r u0"},
        {"reversed and strided", "out C 1, in A 1", "C(i) = A(9-i) + A(2*i) + A(-(i-3)*2);",
         "C(x0) w u0; A(9-1*x0) r; A(2*x0) r; A(6-2*x0) r"},
        {"hexadecimal, octal, suffixes", "out C 1, in A 1", "C(i) = A(i+0x10) + A(i+010l) + A(i+7L);",
         "C(x0) w u0; A(16+x0) r u0; A(8+x0) r u0; A(7+x0) r u0"},
        {"broadcast of a column and a point", "out C 2, in A 1, in B 2", "C(i,j) = A(i) + B(0,3);",
         "C(x0,x1) w u1; A(x0) r u0; B(0,3) r"},
        {"a diagonal has no unit axis", "out C 2, in A 2", "C(i,j) = A(j,j) + A(i+j,0) + A(0,i+j);",
         "C(x0,x1) w u1; A(x1,x1) r; A(x0+x1,0) r; A(0,x0+x1) r u1"},
        {"an output that is read", "inout C 1, in A 1", "C(i) += A(i);", "C(x0) rw u0; A(x0) r u0"},
        {"increment", "inout C 1", "C(i)++;", "C(x0) rw u0"},
        {"decrement in front", "inout C 1", "--C(i);", "C(x0) rw u0"},
        {"assigned through parentheses", "out C 1", "(C(i)) = 3;", "C(x0) w u0"},
        {"parentheses behind if and else", "out C 1, in A 1", "if (A(i) > 0) (C(i)) = 2; else ((C(i))) = 4;",
         "A(x0) r u0; C(x0) w u0"},
        {"parentheses behind do", "inout C 1", "do (C(i))++; while (0);", "C(x0) rwc u0"},
        {"increment behind if", "inout C 1, inout D 1", "if (i > 3) ++C(i); else --(D(i));",
         "C(x0) rwc u0; D(x0) rwc u0"},
        {"parentheses that are read", "out C 1, in A 1", "int t; if ((A(i))) ++t; C(i) = (float)(A(i)) + t++ - (A(i));",
         "A(x0) r u0; C(x0) w u0"},
        {"read after it was written", "out C 1, out D 1", "C(i) = 1; D(i) = C(i) * 2; C(i) += 1;",
         "C(x0) w u0; D(x0) w u0"},
        {"INOUT not read", "inout C 1", "C(i) = 2;", "C(x0) w u0"},
        {"if", "out C 1, in A 1", "if (A(i) > 0) C(i) = 1;", "A(x0) r u0; C(x0) wc u0"},
        {"if and else", "out C 1, in A 1", "if (A(i) > 0) C(i) = 1; else { C(i) = 2; }", "A(x0) r u0; C(x0) w u0"},
        {"else if without else", "out C 1", "if (i > 0) C(i) = 1; else if (i < 5) C(i) = 2;", "C(x0) wc u0"},
        {"read where it is written on this way", "out C 1, out D 1", "D(i) = 0; if (i > 3) { C(i) = 1; D(i) = C(i); }",
         "D(x0) w u0; C(x0) wc u0"},
        {"a block", "out C 1", "{ int x = 3; C(i) = x; }", "C(x0) w u0"},
        {"loop", "out C 1, in A 1", "for (int t = 0; t < 3; t++) C(i) = A(i);", "C(x0) wc u0; A(x0) r u0"},
        {"sum in a loop", "out C 1, in A 1",
         "C(i) = 0; for (int t = 0; t < 3; t++) { if (t == 1) continue; C(i) += A(i); }", "C(x0) w u0; A(x0) r u0"},
        {"loops with attributes", "out C 1",
         "C(i) = 0; __attribute__((opencl_unroll_hint(2))) for (int t = 0; t < 3; t++) C(i) += t; "
         "__attribute__((aligned(8))) int x = 1;",
         "C(x0) w u0"},
        {"while and do", "out C 1",
         "int t = 0; while (t < 3) t++; do { t--; if (t < 0) break; } while (t > 1); C(i) = t;", "C(x0) w u0"},
        {"switch", "out C 1", "switch (i % 3) { case 0: C(i) = 1; break; case 1: { C(i) = 2; } break; default: ; }",
         "C(x0) wc u0"},
        {"behind ?", "out C 1, out D 1", "D(i) = 1; i > 2 ? (C(i) = 1) : 0;", "D(x0) w u0; C(x0) wc u0"},
        {"behind &&", "out C 1", "i > 2 && (C(i) = 1);", "C(x0) wc u0"},
        {"behind a comma again sure", "out C 1, in A 1", "float x = A(i) > 0 ? 1 : 2, y = C(i) = x;",
         "A(x0) r u0; C(x0) w u0"},
        {"behind a comma between ? and :", "out C 1, out D 1", "float x; D(i) = 1; i > 5 ? x = 1, C(i) = 2 : 0;",
         "D(x0) w u0; C(x0) wc u0"},
        {"a comma between nested ? and :", "out C 1", "int x; i > 5 ? i > 7 ? x = 1, x = 2 : 3, C(i) = x : 0;",
         "C(x0) wc u0"},
        {"behind a comma after ? and :", "out C 1", "int x; i > 5 ? i > 7 ? x = 1, 2 : 3 : 4, C(i) = 5;", "C(x0) w u0"},
        {"two outputs, one permuted", "out C 2, out D 2", "C(i,j) = 1; D(j,i) = 2;", "C(x0,x1) w u1; D(x1,x0) w u0"},
        {"read anywhere", "out C 1, all T 2, all idx 1", "C(i) = T(idx(i), i % 4) + T(0, idx(idx(0)));",
         "C(x0) w u0; T() r all; idx() r all"},
        {"rows and columns", "out C 2, rows A 2, columns B 2",
         "C(i,j) = 0; for (int k = 0; k < 9; k++) C(i,j) += A(i,k) * B(k,j);",
         "C(x0,x1) w u1; A() r rows; B() r columns"},
        {"an index beyond the rank is a name", "out C 1", "int j = 3; j += 2; C(i) = j;", "C(x0) w u0"},
        {"indices behind parentheses are used", "out C 1, value n int32",
         "float x = f(i, (n)); if (x > 2) { (i); } x = 2 * (i) + x * n, x = (i); for (; x < (n);) x *= n; C(i) = "
         "(float)(i);",
         "C(x0) w u0"},
        {"members are no names", "out C 1, value x float", "float2 v; v.x = x; v.x += v.y; C(i) = v.x;", "C(x0) w u0"},
        {"a cast is no address", "out C 1, in A 1", "C(i) = (float)A(i) * (int) i & (3) & (int)A(i);",
         "C(x0) w u0; A(x0) r u0"},
        {"lines end with two bytes", "out C 1", "// C\r\nC(i) =\r\n1;\r\n", "C(x0) w u0"},
        {"comments and lines", "out C 1, in A 1", "/* C(0) = 1; */ C(i) // A\n = A( /* x */ i\n + 1) ; // ;",
         "C(x0) w u0; A(1+x0) r u0"},
        {"an initializer with braces", "out C 1, in A 1",
         "float w[2] = {1, A(i)}; float4 v = (float4){1,2,3,4} * (i); C(i) = w[1];", "A(x0) r u0; C(x0) w u0"},
    };
    return cr_make_param_array(struct parse_case, cases, sizeof cases / sizeof cases[0]);
}

ParameterizedTest(struct parse_case *c, kernel_parse, accesses)
{
    dcli_body *body;
    cr_assert_eq(test_parse(c->spec, c->text, &body), DCL_OK, "%s: %s", c->what, dcl_error());
    char *accesses = test_accesses(body, NULL);
    cr_expect_str_eq(accesses, c->accesses, "%s: found %s, expected %s", c->what, accesses, c->accesses);
    free(accesses);
    dcli_body_free(body);
}

struct refusal_case {
    char what[48], spec[96], text[160];
    int line, column;
    char words[96], more[64];
};

ParameterizedTestParameters(kernel_parse, refusals)
{
    static struct refusal_case cases[] = {
        {"open parenthesis", "out C 1, in A 1", "C(i) = (A(i) + 1;", 1, 8,
         "this ( is not closed before the statement ends", ""},
        {"open parenthesis at the end", "out C 1", "C(i) = (1", 1, 8, "this ( is not closed", ""},
        {"stray parenthesis", "out C 1", "C(i) = 1);", 1, 9, "this ) closes nothing", ""},
        {"open brace", "out C 1", "if (i > 0) {\n  C(i) = 1;\n", 1, 12, "this { is not closed", ""},
        {"stray brace", "out C 1", "C(i) = 1; } {", 1, 11, "this } closes nothing", ""},
        {"crossed brackets", "out C 1", "float w[(3];", 1, 11, "found ], expected ) to close the ( of line 1, column 9",
         ""},
        {"no semicolon at the end", "out C 1", "C(i) = 1", 1, 9, "a semicolon is missing here", ""},
        {"no semicolon before a statement", "out C 1", "C(i) = 1\nif (i) C(i) = 2;", 1, 9,
         "a semicolon is missing here", ""},
        {"no semicolon behind an element", "out C 1, in A 1, out D 1", "C(i) = A(i)\nD(i) = 2;", 1, 12,
         "an operator or a semicolon is missing", "A(...)"},
        {"no semicolon in a block", "out C 1", "{ C(i) = 1 }", 1, 11, "a semicolon is missing here", ""},
        {"else alone", "out C 1", "C(i) = 1; else C(i) = 2;", 1, 11, "belongs to no if", ""},
        {"for with two parts", "out C 1", "for (int t = 0; t < 3) C(i) = 1;", 1, 1, "three parts", "found 1"},
        {"if without a condition", "out C 1", "if () C(i) = 1;", 1, 5, "expected a condition", ""},
        {"nothing behind if", "out C 1", "C(i) = 1; if (i > 0)", 1, 21, "a statement is missing here", ""},
        {"open comment", "out C 1", "C(i) = 1; /* no end", 1, 11, "comment is not closed", ""},
        {"open string", "out C 1", "C(i) = \"x;", 1, 8, "not closed on its line", ""},
        {"strange byte", "out C 1", "C(i) = 1 @ 2;", 1, 10, "'@' has no meaning", ""},
        {"preprocessor line", "out C 1", "C(i) = 1;\n#define X 1", 2, 1, "# begins a preprocessor line", "DCL_PRELUDE"},
        {"digraph", "out C 1", "C(i) = w<:1:>;", 1, 9, "<: is a digraph", ""},
        {"joined lines", "out C 1", "C(i) = 1; // x\\\nC(i) = 2;", 1, 15, "a backslash at the end of a line", ""},
        {"no subscripts", "out C 1, in A 1", "C(i) = A;", 1, 8, "A is an array and stands without subscripts",
         "A(i, ...)"},
        {"too few subscripts", "out C 2, in A 2", "C(i,j) = A(i);", 1, 10, "A has 1 subscript here; expected 2", ""},
        {"too many subscripts", "out C 1, in A 1", "C(i) = A(i,0,0);", 1, 8, "A has 3 subscripts here; expected 1", ""},
        {"no subscript at all", "out C 1, in A 1", "C(i) = A();", 1, 8, "A has 0 subscripts here; expected 1", ""},
        {"a variable as subscript", "out C 1, in A 1", "int t = 2; C(i) = A(t);", 1, 21,
         "'t' in subscript 1 of A is not affine", "declare DCL_IN_ALL(A)"},
        {"a call as subscript", "out C 1, in A 1", "C(i) = A(f(i));", 1, 10,
         "'f' in subscript 1 of A is not affine: it is a "
         "function call",
         "DCL_IN_ALL(A)"},
        {"an array as subscript", "out C 2, in A 2, in X 1", "C(i,j) =\n  A(i, X(j));", 2, 8,
         "'X' in subscript 2 of A is not affine: "
         "it is an element of an array",
         "declare DCL_IN_ROWS(A), which never moves more than DCL_IN_ALL"},
        {"a sum over columns", "out C 2, in A 2", "C(i,j) = 0; for (int t = 0; t*t < 9; t++) C(i,j) += A(t,j);", 1, 55,
         "'t' in subscript 1 of A is not affine", "declare DCL_IN_COLUMNS(A)"},
        {"rows of a turned output", "out C 2, in A 2", "int t = 2; C(j,i) = A(j,t);", 1, 25, "is not affine",
         "declare DCL_IN_ROWS(A)"},
        {"other rows", "out C 2, in A 2", "int t = 2; C(i,j) = A(j,t);", 1, 25, "is not affine",
         "declare DCL_IN_ALL(A)"},
        {"a loop from an index on", "out C 1, in A 1", "C(i) = 0; for (int t = i; t < 4; t++) C(i) += A(t);", 1, 49,
         "no variable of a for loop with bounds known at the call", ""},
        {"a loop whose variable changes", "out C 1, in A 1", "C(i) = 0; for (int t = 0; t < 4; t++) C(i) += A(t++);", 1,
         49, "subscript 1 of A", ""},
        {"a loop whose variable is set", "out C 1, in A 1",
         "C(i) = 0; for (int t = 0; t < 4; t++) { t = 7; C(i) += A(t); }", 1, 58, "it is a variable of the body", ""},
        {"a loop whose variable has a pointer to it", "out C 1, in A 1",
         "C(i) = 0; for (int t = 0; t < 4; t++) { int *p = &t; C(i) += A(t); }", 1, 64, "it is a variable of the body",
         ""},
        {"a loop whose variable is hidden", "out C 1, in A 1",
         "C(i) = 0; for (int t = 0; t < 4; t++) { int t = 7; C(i) += A(t); }", 1, 62, "it is a variable of the body",
         ""},
        {"a loop that rises the wrong way", "out C 1, in A 1", "C(i) = 0; for (int t = 0; t < 4; t--) C(i) += A(t);", 1,
         49, "it is a variable of the body", ""},
        {"behind the loop", "out C 1, in A 1", "int t = 2; for (int t = 0; t < 4; t++) C(i) = 0; C(i) += A(t);", 1, 60,
         "it is a variable of the body", ""},
        {"a loop of a variable that counts on", "out C 1, in A 1",
         "int t; C(i) = 0; for (t = 0; t < 4; t++) C(i) += A(t);", 1, 52, "it is a variable of the body", ""},
        {"an output at a loop's variable", "out C 2", "for (int t = 0; t < 4; t++) C(i,t) = 0;", 1, 29, "", ""},
        {"more loops than axes", "out C 5, in A 1",
         "C(i,j,k,l,m) = 0; for (int a = 0; a < 2; a++) for (int b = 0; b < 2; b++)\n"
         "for (int c = 0; c < 2; c++) for (int d = 0; d < 2; d++) C(i,j,k,l,m) += A(a+b+c+d);",
         2, 73, "use too many loop variables; expected at most 8 axes", "declare DCL_IN_ALL(A)"},
        {"min of two indices", "out C 2, in A 1", "C(i,j) = A(min(i,j));", 1, 12,
         "a limit of min, max or clamp contains an index", ""},
        {"a limit with an index", "out C 1, in A 1", "C(i) = A(clamp(i,0,9-i));", 1, 10, "contains an index", ""},
        {"clamp of two", "out C 1, in A 1", "C(i) = A(clamp(i,0));", 1, 10, "clamp has three arguments", ""},
        {"reflect of two", "out C 1, in A 1", "C(i) = A(reflect(i,0));", 1, 10,
         "reflect and symmetric have three arguments: a sum, the lowest and the highest index", ""},
        {"constant without a value", "out C 1, in A 1", "C(i) = A(constant(i,0,9));", 1, 10,
         "constant has four arguments: a sum, the lowest and the highest index, and the value beyond them", ""},
        {"constant of an element", "out C 1, in A 1", "C(i) = A(constant(i,0,9,A(0)));", 1, 25,
         "the value of constant is a number or a DCL_VALUE", ""},
        {"two constants", "out C 1, in A 2", "C(i) = A(constant(i,0,9,1),constant(i,0,9,2));", 1, 8,
         "write the same value in each constant(...)", ""},
        {"reflect of a clamp", "out C 1, in A 1", "C(i) = A(reflect(clamp(i,0,9),0,9));", 1, 10,
         "take a sum of indices, without another boundary", ""},
        {"a limit of reflect", "out C 1, in A 1", "C(i) = A(max(reflect(i,0,9),0));", 1, 10,
         "are not applied to the result of reflect, symmetric or constant", ""},
        {"a mirror at an index", "out C 1, in A 1", "C(i) = A(symmetric(i,0,i));", 1, 10,
         "contains an index or a boundary; limits are made of integers", ""},
        {"max of three", "out C 1, in A 1", "C(i) = A(max(i,0,1));", 1, 10, "min and max have two arguments", ""},
        {"a sum with a limit", "out C 1, in A 1", "C(i) = A(1 + max(i,0));", 1, 12, "are the last operations", ""},
        {"a multiple of a limit", "out C 1, in A 1", "C(i) = A(2 * max(i,0));", 1, 12, "are the last operations", ""},
        {"minus a limit", "out C 1, in A 1", "C(i) = A(-max(i,0));", 1, 10, "are the last operations", ""},
        {"a period of a limit", "out C 1, in A 1", "C(i) = A(max(i,0) % 9);", 1, 19, "are the last operations", ""},
        {"a limit of a period", "out C 1, in A 1", "C(i) = A(max(i % 9, 0));", 1, 10,
         "are not applied to the result of %", ""},
        {"modulo an index", "out C 2, in A 1", "C(i,j) = A(i % j);", 1, 14,
         "on its right, integers and integer DCL_VALUEs without an index", ""},
        {"five limits", "out C 1, in A 1", "C(i) = A(max(max(max(max(max(i,0),1),2),3),4));", 1, 10,
         "it has more than 4 limits", ""},
        {"a limited output", "out C 1", "C(max(i,0)) = 1;", 1, 1, "C is written where subscript 1 is no plain index",
         ""},
        {"a loop up to a limit", "out C 1, in A 1", "C(i) = 0; for (int t = 0; t < min(4,5); t++) C(i) += A(t);", 1, 56,
         "it is a variable of the body", ""},
        {"division", "out C 1, in A 1", "C(i) = A(i/2);", 1, 11, "'/' in subscript 1 of A is not affine: only + - *",
         ""},
        {"index times index", "out C 2, in A 2", "C(i,j) = A(i*j,0);", 1, 13, "it multiplies an index by an index", ""},
        {"a fraction", "out C 1, in A 1", "C(i) = A(i+1.5);", 1, 12,
         "'1.5' in subscript 1 of A is not affine: it is no integer", ""},
        {"an unsigned literal", "out C 1, in A 1", "C(i) = A(i + (0u - 1u));", 1, 15,
         "'0u' in subscript 1 of A is not affine: it is unsigned", "leave out u"},
        {"another unsigned literal", "out C 1, in A 1", "C(i) = A(i + 7LU);", 1, 14, "it is unsigned", ""},
        {"a real scalar", "out C 1, in A 1, value x float", "C(i) = A(i+x);", 1, 12, "it is a scalar, but no integer",
         ""},
        {"coefficients too large", "out C 1, in A 1", "C(i) = A(4000000000 * i * 4000000000);", 1, 25,
         "its coefficients overflow", ""},
        {"a literal too large", "out C 1, in A 1", "C(i) = A(i + 9223372036854775808);", 1, 14,
         "beyond the range of long", ""},
        {"a subscript that ends", "out C 1, in A 1", "C(i) = A(i + );", 1, 14, "subscript 1 of A ends too early", ""},
        {"assignment to an index", "out C 1", "i = 3; C(i) = 1;", 1, 1,
         "i is an index of the body and cannot be assigned to", ""},
        {"increment of an index", "out C 1", "C(i) = i++;", 1, 8, "i is an index of the body and cannot be assigned to",
         ""},
        {"an index declared", "out C 2", "for (int j = 0; j < 3; j++) C(i,j) = 1;", 1, 10,
         "j is an index of the body and cannot be "
         "declared anew",
         ""},
        {"an index declared second", "out C 2", "int a, j; C(i,j) = 1;", 1, 8, "cannot be declared anew", ""},
        {"an index declared in parentheses", "out C 1", "long (i) = 5; C(i) = i;", 1, 7, "cannot be declared anew", ""},
        {"as a pointer in parentheses", "out C 1, value n int32", "real (*n); C(i) = 1;", 1, 8,
         "n is a DCL_VALUE and cannot be declared", ""},
        {"as a pointer of a type unknown", "out C 1, value n int32", "real *n; C(i) = 1;", 1, 7, "declared anew", ""},
        {"with a type unknown", "out C 1", "real ((i)); C(i) = i;", 1, 8, "declared anew", ""},
        {"with a value and a type unknown", "out C 1", "const real (i) = 3; C(i) = i;", 1, 13, "declared anew", ""},
        {"second in parentheses", "out C 1", "float a, (i); C(i) = i;", 1, 11, "declared anew", ""},
        {"behind a declarator", "out C 1", "real (a), i; C(i) = i;", 1, 11, "declared anew", ""},
        {"behind an attribute", "out C 1", "long __attribute__((aligned(8))) i; C(i) = i;", 1, 34, "declared anew", ""},
        {"behind a struct", "out C 1", "struct { int a; } i; C(i) = 1;", 1, 19, "declared anew", ""},
        {"in a for loop", "out C 1", "for (real (i) = 0; ;) ; C(i) = 1;", 1, 12, "declared anew", ""},
        {"as a constant", "out C 1", "enum { i }; C(i) = i;", 1, 1, "enum cannot stand in a body", "DCL_PRELUDE"},
        {"typeof", "out C 1", "typeof(C(i)) (i); C(i) = i;", 1, 1, "typeof cannot stand in a body", ""},
        {"assignment to a scalar", "out C 1, value n int32", "n += 1; C(i) = n;", 1, 1,
         "n is a DCL_VALUE and cannot be assigned to", ""},
        {"address of an index", "out C 1", "C(i) = *(&i);", 1, 10, "i is an index of the body and has no address", ""},
        {"IN written", "out C 1, in A 1", "C(i) = 1; A(i) = 2;", 1, 11, "A is DCL_IN, but written here",
         "DCL_INOUT(A)"},
        {"IN_ALL written", "out C 1, all A 1", "C(i) = 1; A(i)++;", 1, 11, "A is DCL_IN_ALL, but written here", ""},
        {"OUT read first", "out C 1", "C(i) = C(i) + 1;", 1, 8,
         "C is DCL_OUT, but read here before it is surely written", "DCL_INOUT(C)"},
        {"OUT updated", "out C 1, in A 1", "C(i) += A(i);", 1, 1, "C is DCL_OUT, but read here", "DCL_INOUT(C)"},
        {"OUT read after a maybe", "out C 1, out D 1", "if (i > 0) C(i) = 1;\nD(i) = C(i);", 2, 8,
         "before it is surely written", ""},
        {"OUT read after a comma behind ?", "out C 1, out D 1", "int x; i > 5 ? x = 1, C(i) = 2 : 0; D(i) = C(i);", 1,
         44, "before it is surely written", ""},
        {"OUT read past a case", "out C 1, out D 1", "switch (i) { case 0: C(i) = 1; case 1: D(i) = C(i); }", 1, 47,
         "before it is surely written", ""},
        {"alias", "inout C 1", "C(i) = C(i-1) + 1;", 1, 8,
         "C is read here at another subscript than it is written at in line 1, "
         "column 1",
         "dcl_swap(C"},
        {"alias before the write", "inout C 2", "float t = C(j,i); C(i,j) = t;", 1, 11,
         "C is read here at another subscript", "dcl_swap"},
        {"written twice", "out C 2", "C(i,j) = 1; C(j,i) = 2;", 1, 13, "C is written here at another subscript",
         "second array"},
        {"written at a shift", "out C 1", "C(i+1) = 1;", 1, 1, "C is written where subscript 1 is no plain index", ""},
        {"a sum", "out S 1, in A 1", "S(0) += A(i);", 1, 1, "S is summed up where subscript 1 is no plain index",
         "dcl_reduce() sums over elements"},
        {"written at a scalar", "out C 1, value n int32", "C(n) = 1;", 1, 1, "subscript 1 is no plain index", ""},
        {"written at a variable", "out C 1", "int t = 0; C(t) = 1;", 1, 14, "'t' in subscript 1 of C", "plain indices"},
        {"an index twice", "out C 2", "C(i,i) = 1;", 1, 1, "subscript 2 is an index that was used before", ""},
        {"address of an element", "out C 1, in A 1", "C(i) = f(&A(i));", 1, 10,
         "the address of an element of A is taken", ""},
        {"return", "out C 1", "C(i) = 1; return;", 1, 11, "return cannot stand in a body", "use if"},
        {"goto", "out C 1", "again: C(i) = 1; goto again;", 1, 18, "goto cannot stand in a body", "use if"},
        {"barrier", "out C 1", "C(i) = 1; barrier(CLK_LOCAL_MEM_FENCE);", 1, 11, "barrier cannot stand in a body", ""},
        {"work-item functions", "out C 1", "C(i) = get_global_id(0);", 1, 8, "get_global_id cannot stand in a body",
         "use i, j"},
        {"work-groups", "out C 1", "C(i) = work_group_reduce_add(i);", 1, 8, "work_group_reduce_add cannot stand", ""},
        {"subgroups", "out C 1", "C(i) = sub_group_all(1);", 1, 8, "sub_group_all cannot stand in a body", ""},
        {"fences", "out C 1", "C(i) = 1; mem_fence(1);", 1, 11, "mem_fence cannot stand in a body", ""},
        {"enqueued sizes", "out C 1", "C(i) = get_enqueued_local_size(0);", 1, 8, "cannot stand in a body", "use i, j"},
        {"local memory", "out C 1", "__local int x; C(i) = 1;", 1, 1, "__local cannot stand in a body", ""},
        {"the library's names", "out C 1", "int dcl_t0 = 1; C(i) = 1;", 1, 5, "dcl_t0 cannot stand in a body",
         "choose another"},
        {"break outside", "out C 1", "C(i) = 1; if (i > 3) break;", 1, 22,
         "break stands outside of the body's own loops", ""},
        {"continue in a switch", "out C 1", "switch (i) { case 0: continue; } C(i) = 1;", 1, 22,
         "continue stands outside", ""},
        {"a case in a nested block", "out C 1", "switch (i) { case 0: { case 1: C(i) = 1; } }", 1, 24,
         "directly in the braces", ""},
        {"statements in an expression", "out C 1", "C(i) = ({ 3; });", 1, 9, "statements inside an expression", ""},
        {"tabs stay under the caret", "out C 1", "\tC(i)\t= q @ 1;", 1, 11, "'@' has no meaning", ""},
    };
    return cr_make_param_array(struct refusal_case, cases, sizeof cases / sizeof cases[0]);
}

/* The message is "line L, column C: ...", the line of the text, and a caret under the column. */
static void expect_marked(const struct refusal_case *c, const char *message)
{
    char prefix[48];
    snprintf(prefix, sizeof prefix, "line %d, column %d: ", c->line, c->column);
    cr_expect_eq(strncmp(message, prefix, strlen(prefix)), 0, "%s: expected %s, found %s", c->what, prefix, message);
    const char *line = c->text;
    for (int l = 1; l < c->line; l++)
        line = strchr(line, '\n') + 1;
    int length = (int)strcspn(line, "\n");
    const char *caret = strrchr(message, '\n'), *quoted = caret - length - 1;
    cr_assert(caret != NULL && quoted > message, "%s: %s", c->what, message);
    cr_expect(*quoted == '\n' && strncmp(quoted + 1, line, (size_t)length) == 0, "%s: %s", c->what, message);
    cr_expect_eq((int)strlen(caret + 1), c->column, "%s: the caret is misplaced: %s", c->what, message);
}

ParameterizedTest(struct refusal_case *c, kernel_parse, refusals)
{
    dcli_body *body = NULL;
    cr_expect_eq(test_parse(c->spec, c->text, &body), DCL_ERR_BODY, "%s", c->what);
    cr_assert_null(body, "%s: parsed", c->what);
    expect_marked(c, dcli_error_sentence());
    cr_expect(strstr(dcl_error(), c->words) != NULL, "%s: expected '%s' in %s", c->what, c->words, dcl_error());
    cr_expect(strstr(dcl_error(), c->more) != NULL, "%s: expected '%s' in %s", c->what, c->more, dcl_error());
}

static void expect_refused(const char *spec, const char *text, dcl_status status, const char *words)
{
    dcli_body *body = NULL;
    cr_expect_eq(test_parse(spec, text, &body), status, "%s: %s", spec, dcl_error());
    cr_expect(strstr(dcl_error(), words) != NULL, "expected '%s' in %s", words, dcl_error());
    dcli_body_free(body);
}

Test(kernel_parse, bodies_refused_as_a_whole)
{
    expect_refused("out C 1", "", DCL_ERR_BODY, "the body is empty");
    expect_refused("out C 1", " /* nothing */ ", DCL_ERR_BODY, "the body is empty");
    expect_refused("out C 1, in A 1", "float x = A(i);", DCL_ERR_BODY,
                   "C is DCL_OUT, but the body does not assign to it");
    expect_refused("out C 1", "C(i) = 1; // x\\\r\nC(i) = 2;", DCL_ERR_BODY, "line 1, column 15: a backslash at");
    expect_refused("out C 1", "C(i) = 1; // c \r } } x", DCL_ERR_BODY,
                   "line 1, column 16: a carriage return alone ends a line");
    expect_refused("out C 1", "C(i) = 1;\n\r", DCL_ERR_BODY, "line 2, column 1: a carriage return");
    expect_refused("out C 1, inout D 1", "C(i) = D(i);", DCL_ERR_BODY, "D is DCL_INOUT, but the body does not assign");
}

Test(kernel_parse, arguments_are_checked)
{
    expect_refused("in A 1", "float x = A(i);", DCL_ERR_INVALID, "none of the 1 arguments is an output");
    expect_refused("out C 2, in j 2", "C(i,j) = 1;", DCL_ERR_INVALID, "argument 1 is called j, which names index 1");
    expect_refused("out C 2, in float4 2", "C(i,j) = 1;", DCL_ERR_INVALID, "float4, a reserved name");
    expect_refused("out C 2, value dcl_n int32", "C(i,j) = 1;", DCL_ERR_INVALID, "dcl_n, a reserved name");
    expect_refused("out C 2, value __LINE__ int32", "C(i,j) = 1;", DCL_ERR_INVALID, "__LINE__, a reserved name");
    expect_refused("out C 2, value vload8 int32", "C(i,j) = 1;", DCL_ERR_INVALID, "vload8, a reserved name");
    expect_refused("out C 2, in while 2", "C(i,j) = 1;", DCL_ERR_INVALID, "while, a reserved name");
    expect_refused("out C 2, in A 2, in A 2", "C(i,j) = 1;", DCL_ERR_INVALID, "arguments 1 and 2 are both called A");
    expect_refused("out fields[0] 2", "C(i,j) = 1;", DCL_ERR_INVALID, "expected an identifier");
    expect_refused("out C 2, in A 9", "C(i,j) = 1;", DCL_ERR_INVALID, "argument 1 (A) has rank 9; expected 1 to 8");
    expect_refused("out C 2, in A 2 complex", "C(i,j) = 1;", DCL_ERR_INVALID, "argument 1 (A) has type 0");
    expect_refused("out C 2, out D 1", "C(i,j) = 1; D(i) = 2;", DCL_ERR_INVALID,
                   "output D has 1 axes, the first output C has 2");
}

Test(kernel_parse, lengths_and_counts_have_limits)
{
    enum { LENGTH = DCLI_MAX_BODY_BYTES + 2 };
    char *text = malloc(LENGTH);
    memset(text, ' ', LENGTH);
    text[LENGTH - 1] = '\0';
    expect_refused("out C 1", text, DCL_ERR_BODY, "the body is 65537 bytes long; expected at most 65536");
    strcpy(text, "C(i) = 0");
    for (int a = 0; a < DCLI_MAX_ACCESSES; a++)
        snprintf(text + strlen(text), 32, " + A(i + %d)", a);
    strcat(text, ";");
    expect_refused("out C 1, in A 1", text, DCL_ERR_BODY, "this is access number 65 to arrays; expected at most 64");
    memset(text, '(', 300);
    text[300] = '\0';
    expect_refused("out C 1", text, DCL_ERR_BODY, "brackets are nested deeper than 200");
    for (int d = 0; d < 300; d++)
        memcpy(text + 5 * d, "if(i)", 5);
    strcpy(text + 1500, "C(i)=1;");
    expect_refused("out C 1", text, DCL_ERR_BODY, "statements are nested deeper than 200");
    free(text);
}

/* Mutations of good bodies end in DCL_OK or DCL_ERR_BODY, never in a crash (the sanitizers watch). */
Test(kernel_parse, random_texts)
{
    static const char *const parts[] = {"C(i,j)", "A(i,j)", "T(A(i,j), 1)",
                                        "=",      "+",      ";",
                                        "(",      ")",      "{",
                                        "}",      "if",     "else",
                                        "for",    "int",    "t",
                                        "i",      "n",      "?",
                                        ":",      ",",      "switch",
                                        "case",   "0",      "1.5f",
                                        "&",      "++",     "do",
                                        "while",  "break",  "[",
                                        "]",      "A",      "*",
                                        "-",      "return", "default",
                                        "\n",     "float4"};
    unsigned seed = 12345;
    int good = 0;
    for (int round = 0; round < 20000; round++) {
        char text[512] = "";
        seed = seed * 1664525u + 1013904223u;
        unsigned state = seed;
        int count = (int)(state >> 24) % 14 + 1;
        strcpy(text, (state >> 20) % 2 ? "C(i,j) = " : "");
        for (int p = 0; p < count; p++) {
            state = state * 1664525u + 1013904223u;
            strcat(text, parts[(state >> 16) % (sizeof parts / sizeof parts[0])]);
            strcat(text, " ");
        }
        strcat(text, ";");
        dcli_body *body = NULL;
        dcl_status status = test_parse("out C 2, in A 2, all T 2, value n int32", text, &body);
        cr_assert(status == DCL_OK || status == DCL_ERR_BODY, "seed 12345 round %d: %s", round, text);
        cr_assert((status == DCL_OK) == (body != NULL));
        good += status == DCL_OK;
        dcli_body_free(body);
    }
    cr_expect(good > 50, "only %d of 20000 texts parse: the generator is of no use", good);
}
