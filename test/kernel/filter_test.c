/* test/kernel/filter_test.c - what a client's text must not ask a compiler for, and what it may. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "kernel/spec.h"
#include "kernel/tile_kernel.h"

#define PLAIN "C(i) = 2;"

/* A text is refused as a body's, and the same, but for elements, as a tile kernel's. */
struct filter_case {
    char what[48], prelude[200], text[120], words[80];
};

static dcl_status parse(const char *prelude, const char *text, bool tiles, dcli_body **body_out)
{
    dcli_param params[4];
    dcli_items items = {.group = {0}};
    int count = test_spec("out C 1, in A 1", params);
    return tiles ? dcli_tile_kernel_parse(text, prelude, count, params, &items, body_out)
                 : dcli_body_parse(text, prelude, count, params, body_out);
}

ParameterizedTestParameters(kernel_filter, refuses)
{
    static struct filter_case cases[] = {
        /* files */
        {"include", "#include \"/etc/passwd\"", PLAIN, "prelude line 1, column 2: #include reads a file"},
        {"angles", "int x;\n#include <own.secret>", PLAIN, "prelude line 2, column 2: #include reads a file"},
        {"blanks", " \t#\f include \"f\"", PLAIN, "#include reads a file"},
        {"joined lines", "#inc\\\nlude \"f\"", PLAIN, "prelude line 1, column 2: #include reads a file"},
        {"joined with \\r\\n", "#\\\r\ninclude \"f\"", PLAIN, "line 2, column 1: #include reads a file"},
        {"a comment before", "/* a\n b */ #include \"f\"", PLAIN, "#include reads a file"},
        {"a comment within", "#/**/include \"f\"", PLAIN, "#include reads a file"},
        {"a comment of two lines within", "#/*\n*/include \"f\"", PLAIN, "#include reads a file"},
        {"digraph", "%:include \"f\"", PLAIN, "#include reads a file"},
        {"digraph, joined", "%\\\n:include \"f\"", PLAIN, "#include reads a file"},
        {"trigraph", "\?\?=include \"f\"", PLAIN, "are a trigraph"},
        {"trigraph that joins", "// a \?\?/\n#include \"f\"", PLAIN, "are a trigraph"},
        {"trigraph in a string", "constant char t[] = \"\?\?/\"; /*\"", PLAIN, "are a trigraph"},
        {"joined only for some", "// a \\ \n#include \"f\"", PLAIN, "blanks stand behind the backslash"},
        {"carriage return", "// a\r#include \"f\"", PLAIN, "carriage return alone"},
        {"comment in a string", "constant char t[] = \"/*\";\n#include \"f\"\n// */", PLAIN,
         "line 2, column 2: #include"},
        {"quote in a comment", "// don't\n#include \"f\"\n// '", PLAIN, "line 2, column 2: #include"},
        {"open quote", "#if 0\ndon't /*\n#endif\n#include \"f\"\n/* */", PLAIN, "this ' is not closed"},
        {"string without escapes", "constant char t[] = R\"(/*)\";", PLAIN, "strings without escapes"},
        {"under a condition", "#ifdef X\n#include \"f\"\n#endif", PLAIN, "line 2, column 2: #include"},
        {"of a macro", "#define F \"f\"\n#include F", PLAIN, "#include reads a file"},
        {"include_next", "#include_next \"f\"", PLAIN, "#include_next reads a file"},
        {"import", "#import \"f\"", PLAIN, "#import reads a file"},
        {"embed", "constant uchar t[] = {\n#embed \"f\"\n};", PLAIN, "#embed reads a file"},
        {"__has_include", "#if __has_include(\"f\")\n#endif", PLAIN, "line 1, column 5: __has_include begins with two"},
        {"__has_embed", "#if __has_embed(\"f\")\n#endif", PLAIN, "__has_embed begins with two"},
        {"__include_macros", "#__include_macros \"f\"", PLAIN, "#__include_macros cannot stand in a prelude"},
        /* other directives */
        {"line", "#line 7 \"other\"", PLAIN, "#line cannot stand in a prelude; expected #define"},
        {"line of a preprocessor", "# 7 \"other\" 1", PLAIN, "#7 cannot stand"},
        {"error", "#error \"forged\"", PLAIN, "#error cannot stand"},
        {"warning", "#warning forged", PLAIN, "#warning cannot stand"},
        {"ident", "#ident \"x\"", PLAIN, "#ident cannot stand"},
        {"in the middle", "int x; #include \"f\"", PLAIN, "# cannot stand here"},
        {"in the middle, behind lines", "int x; /*\n*/ #include \"f\"", PLAIN, "# cannot stand here"},
        {"a name is missing", "#define", PLAIN, "the name of a macro is missing"},
        /* pragmas */
        {"dependency", "#pragma GCC dependency \"f\"", PLAIN, "this pragma is none"},
        {"clang", "#pragma clang __debug crash", PLAIN, "this pragma is none"},
        {"attributes", "#pragma clang attribute push(__attribute__((alias(\"x\"))))", PLAIN, "this pragma is none"},
        {"weak", "#pragma weak f = system", PLAIN, "this pragma is none"},
        {"redefine_extname", "#pragma redefine_extname f system", PLAIN, "this pragma is none"},
        {"function pointers", "#pragma OPENCL EXTENSION __cl_clang_function_pointers : enable", PLAIN,
         "this pragma is none"},
        {"_Pragma", "_Pragma(\"GCC dependency \\\"f\\\"\")", PLAIN, "this pragma is none"},
        {"_Pragma of a macro", "#define P(x) _Pragma(#x)\nP(weak f)", PLAIN, "this pragma is none"},
        {"_Pragma in a body", "", "_Pragma(\"clang __debug crash\") C(i) = 2;", "_Pragma"},
        {"a formed _Pragma", "#define P(a, b) a##b\nP(_Pra, gma)(\"weak f\")", PLAIN, "this pragma is none"},
        {"__pragma", "__pragma(weak f)", PLAIN, "__pragma begins with two"},
        /* assembly */
        {"asm", "void f(void) { asm(\"syscall\"); }", PLAIN, "prelude line 1, column 16: inline assembly"},
        {"__asm", "void f(void) { __asm(\"syscall\"); }", PLAIN, "inline assembly"},
        {"__asm__", "void f(void) { __asm__ volatile(\"syscall\"); }", PLAIN, "inline assembly"},
        {"of a file", "asm(\".incbin \\\"/etc/passwd\\\"\");", PLAIN, "inline assembly"},
        {"in a macro", "#define SLEEP asm(\"syscall\")", PLAIN, "inline assembly"},
        {"joined", "void f(void) { as\\\nm(\"syscall\"); }", PLAIN, "column 16: inline assembly"},
        {"in a body", "", "asm(\"syscall\"); C(i) = 2;", "asm"},
        {"name of another", "float f(float x) asm(\"system\") { return x; }", PLAIN, "inline assembly"},
        {"formed", "#define G(a, b) a##b\nvoid f(void) { G(as, m)(\"syscall\"); }", PLAIN, "inline assembly"},
        {"formed of letters", "#define G(a, b) a##b\n#define H(a, b) G(a, b)\nvoid f(void) { H(H(a, s), m)(\"x\"); }",
         PLAIN, "inline assembly"},
        {"formed through a name", "#define G(a, b) a##b\n#define E(x) x\nvoid f(void) { E(G)(as, m)(\"x\"); }", PLAIN,
         "inline assembly"},
        {"formed with an empty one", "#define G(a, b, c) a##b##c\nvoid f(void) { G(as, , m)(\"x\"); }", PLAIN,
         "inline assembly"},
        {"formed with a digraph", "#define G(a, b) a %:%: b\nvoid f(void) { G(as, m)(\"x\"); }", PLAIN,
         "inline assembly"},
        {"formed of many", "#define G(x, ...) x##__VA_ARGS__\nvoid f(void) { G(as, m)(\"x\"); }", PLAIN,
         "inline assembly"},
        {"formed in one of two ways",
         "#ifdef X\n#define A a\n#else\n#define A as\n#endif\n#define G(a, b) a##b\n"
         "#define H(a, b) G(a, b)\nvoid f(void) { H(A, m)(\"x\"); }",
         PLAIN, "inline assembly"},
        {"formed where two meet",
         "#ifdef X\n#define A as\n#else\n#define B m\n#endif\n#ifndef X\n#define A s\n#else\n"
         "#define B m\n#endif\n#define G(a, b) a##b\n#define H(a, b) G(a, b)\n"
         "void f(void) { H(A, B)(); }",
         PLAIN, "inline assembly"},
        {"formed in a body", "#define G(a, b) a##b", "G(as, m)(\"x\"); C(i) = 2;", "inline assembly"},
        {"formed behind #undef", "#define G(a, b) 0\n#undef G\n#define G(a, b) a##b\nvoid f(void) { G(as, m)(\"x\"); }",
         PLAIN, "inline assembly"},
        /* functions of the process */
        {"prototype", "int open(constant char *, int);", PLAIN, "column 5: open is declared here as a function"},
        {"second", "int a(int), open(constant char *, int); int a(int x) { return x; }", PLAIN,
         "open is declared here"},
        {"of a pointer", "global char *getenv(constant char *);", PLAIN, "getenv is declared here"},
        {"of a structure", "struct s { int a; } open(constant char *);", PLAIN, "open is declared here"},
        {"wrapped", "int (open)(constant char *, int);", PLAIN, "open is declared here"},
        {"wrapped twice", "int ((open))(constant char *, int);", PLAIN, "open is declared here"},
        {"wrapped as a whole", "int (open(constant char *, int));", PLAIN, "open is declared here"},
        {"without type", "open();", PLAIN, "open is declared here"},
        {"of a type", "typedef int f(constant char *); f open;", PLAIN, "f is declared here"},
        {"behind a variable",
         "constant int x = 3, y[] = {1, 2}; int z(void) { int a = 1, open(constant char *); return a; }", PLAIN,
         "open is declared here"},
        {"in a function", "int f(int x) { int open(constant char *, int); return x; }", PLAIN, "open is declared here"},
        {"in a block", "int f(int x) { if (x) { int open(constant char *); } return x; }", PLAIN,
         "open is declared here"},
        {"in a loop", "int f(int x) { for (int i = 0; i < 3; i++) { l: ; int open(int); } return x; }", PLAIN,
         "open is declared here"},
        {"in an expression", "int f(int x) { return ({ int open(int); open(x); }); }", PLAIN, "open is declared here"},
        {"of an own type", "typedef int t; t f(int x) { t open(int); return x; }", PLAIN, "open is declared here"},
        {"of a pointer to one", "typedef int t; int f(int x) { t *open(int); return x; }", PLAIN,
         "open is declared here"},
        {"with an attribute", "int open(int) __attribute__((pure));", PLAIN, "open is declared here"},
        {"of a macro", "#define D(n) int n(constant char *, int);\nD(open)", PLAIN, "open is declared here"},
        {"hidden name", "#define f open\nint f(constant char *); \n#undef f\nint f(int x) { return x; }", PLAIN,
         "open is declared here"},
        {"hidden end", "#define END ;\nint open(constant char *) END", PLAIN, "open is declared here"},
        {"hidden parentheses", "#define LIST (constant char *)\nint open LIST;", PLAIN, "open is declared here"},
        {"hidden beginning", "#define T int open (\nT constant char *);", PLAIN, "open is declared here"},
        {"defined under a condition", "#ifdef X\nint open(int x) { return x; }\n#endif\nint open(int);", PLAIN,
         "open is declared here"},
        {"a body under a condition", "int open(int x)\n#ifdef X\n{ return x; }\n#else\n;\n#endif", PLAIN,
         "open is declared here"},
        {"extern", "extern int errno;", PLAIN, "extern cannot stand in a kernel"},
        {"alias", "int f(int) __attribute__((alias(\"system\")));", PLAIN, "this attribute is none"},
        {"constructor", "__attribute__((constructor)) void f(void) {}", PLAIN, "this attribute is none"},
        {"section", "__attribute__((section(\".init_array\"))) constant long x = 1;", PLAIN, "this attribute is none"},
        {"second attribute", "__attribute__((aligned(8), constructor)) void f(void) {}", PLAIN,
         "this attribute is none"},
        {"attribute of a macro", "#define A(x) __attribute__((x))\nA(constructor) void f(void) {}", PLAIN,
         "this attribute is none"},
        {"double brackets", "[[gnu::constructor]] void f(void) {}", PLAIN, "double brackets"},
        {"double brackets apart", "#define B [\nB B gnu", PLAIN, "gnu cannot stand"},
        {"digraph brackets", "<:<:clang::x:>:> void f(void) {}", PLAIN, "double brackets"},
        {"builtin", "void f(void) { __builtin_printf(\"x\"); }", PLAIN, "__builtin_printf begins with two"},
        {"typeof", "__typeof__(f) open;", PLAIN, "__typeof__ begins with two"},
        /* generated code */
        {"keyword as a macro", "#define long int open(int); long", PLAIN, "long cannot be a macro"},
        {"the library's", "#define dcl_p0 x", PLAIN, "dcl_p0 cannot be a macro"},
        {"that of a reduction", "#define max(a, b) ((a) > (b) ? (a) : (b))", PLAIN, "max cannot be a macro"},
        {"number of a reduction", "#define NAN 0", PLAIN, "NAN cannot be a macro"},
        {"that of a reduction by keys", "#define atom_cmpxchg(p, a, b) 0", PLAIN, "atom_cmpxchg cannot be a macro"},
        {"fence of a reduction by keys", "#define mem_fence(f)", PLAIN, "mem_fence cannot be a macro"},
        {"that reads bits", "#undef as_long", PLAIN, "as_long cannot be a macro"},
        {"function as a macro", "#define get_global_id(d) ({int open(int);0;})", PLAIN,
         "get_global_id cannot be a macro"},
        {"open brackets", "constant int x[] = {", PLAIN, "the prelude ends before its brackets are closed"},
        {"open condition", "#if 1", PLAIN, "#if without #endif"},
        {"conditions that end", "#endif", PLAIN, "belongs to no #if"},
        /* bytes */
        {"backslash", "int \\u0061sm;", PLAIN, "'\\' has no meaning"},
        {"backslash at the end", "// x \\", PLAIN, "a backslash ends the text"},
        {"a blank of another alphabet", "#\xC2\xA0include \"f\"", PLAIN, "a byte of value 194"},
        {"dollar", "int $x;", PLAIN, "'$' has no meaning"},
    };
    return cr_make_param_array(struct filter_case, cases, sizeof cases / sizeof cases[0]);
}

ParameterizedTest(struct filter_case *c, kernel_filter, refuses)
{
    for (int tiles = 0; tiles < 2; tiles++) {
        dcli_body *body = NULL;
        cr_expect_eq(parse(c->prelude, c->text, tiles, &body), DCL_ERR_BODY, "%s is taken", c->what);
        cr_expect(strstr(dcl_error(), c->words) != NULL, "%s: expected '%s' in %s", c->what, c->words, dcl_error());
        dcli_body_free(body);
    }
}

struct allowed_case {
    char what[48], prelude[400], text[160];
};

ParameterizedTestParameters(kernel_filter, allows)
{
    static struct allowed_case cases[] = {
        {"nothing", "", PLAIN},
        {"functions",
         "static inline float sq(float x) { return x * x; }\nfloat two(void);\nfloat two(void) { return 2; }",
         "C(i) = sq(A(i)) + two();"},
        {"a declaration before", "float f(float);\nfloat g(float x) { return f(x); }\nfloat f(float x) { return x; }",
         PLAIN},
        {"kernels and attributes",
         "__attribute__((reqd_work_group_size(8, 8, 1))) __kernel void k(__global float *restrict p) { p[0] = 1; }\n"
         "kernel __attribute__((vec_type_hint(float4))) void l(global float *p) {}",
         PLAIN},
        {"types",
         "typedef struct { float x, y; } pair;\nstruct s { int a[3]; };\nenum { N = (1 + 2) };\n"
         "typedef float real __attribute__((aligned(8)));\npair make(float x) { pair p = {x, x}; return p; }",
         PLAIN},
        {"tables", "constant float t[] = {1, (2), 3};\n__constant float4 v = (float4)(1, 2, 3, 4), w = (float4)(0);",
         PLAIN},
        {"statements",
         "int g(int x) { return x; }\nint f(int a, int b) { int c = a * g(b), d = g(c); if (a * g(b) > 3) g(a); else "
         "g(b);\n"
         "for (int k = g(1); k * g(2) < 3; k += g(k)) g(k); do g(a); while (g(b)); switch (g(a)) { case 1: g(2); "
         "break;\n"
         "default: g(3); } l: g(4); a = (b ? g(1) : g(2)); int e[2] = {g(1), a * g(2)}; return g(e[0]) * g(d); }",
         PLAIN},
        {"pointers", "float at(global const float *p, long k) { global const float *q = p + k; return *q * *(p); }",
         PLAIN},
        {"conditions",
         "#ifndef N\n#define N 3\n#endif\n#if defined(cl_khr_fp64) && N > 2\n#define real double\n#else\n"
         "#define real float\n#endif\nreal f(real x) { return x; }",
         "C(i) = N;"},
        {"conditions around functions",
         "#ifdef X\nint f(int);\nint f(int x) { return 1; }\n#elif N\nint f(int x) { return 2; }"
         "\n#else\nint f(int x) { return 3; }\n#endif",
         "C(i) = f(2);"},
        {"macros",
         "#define SQ(x) ((x) * (x))\n#define FN(T) T sq_##T(T x) { return SQ(x); }\nFN(float)\nFN(int)\n"
         "#define STR(x) #x\nconstant char t[] = STR(open(x););",
         "C(i) = SQ(sq_float(A(i)));"},
        {"macros with many", "#define SUM(a, ...) (a + F(0, ##__VA_ARGS__))\n#define F(a, b) (b)", "C(i) = SUM(1, 2);"},
        {"letters of refused words", "#define G(a, b) a##b\nint G(f, s)(int a, int s, int m) { return a + s + m; }",
         PLAIN},
        {"pragmas",
         "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n#pragma OPENCL FP_CONTRACT ON\n"
         "void f(void) {\n#pragma unroll 4\nfor (int k = 0; k < 4; k++) ;\n_Pragma(\"unroll\") for (;;) break; }",
         PLAIN},
        {"words in strings and comments",
         "// #include \"f\"\n/* asm(\"x\") */\nconstant char t[] = \"#include asm extern\";", PLAIN},
        {"other alphabets in comments", "// \xC3\xA4\nconstant char t[] = \"\xC3\xA4\";", PLAIN},
        {"joined lines", "#define TWO \\\n  2\n", "C(i) = TWO;"},
        {"old digraphs", "%:define TWO 2\nconstant int t<::> = <%TWO%>;", PLAIN},
        {"an empty directive", "#\n# \n", PLAIN},
        {"names of the body", "#define i if (0)\n#define A(x) open", "C(i) = A(i);"},
    };
    return cr_make_param_array(struct allowed_case, cases, sizeof cases / sizeof cases[0]);
}

ParameterizedTest(struct allowed_case *c, kernel_filter, allows)
{
    dcli_body *body = NULL;
    cr_expect_eq(parse(c->prelude, c->text, false, &body), DCL_OK, "%s: %s", c->what, dcl_error());
    dcli_body_free(body);
}

/* What stands for more and more words ends in an error, soon, and with little memory. */
Test(kernel_filter, preludes_that_explode, .timeout = 60)
{
    static char prelude[60000];
    dcli_body *body = NULL;
    int length = sprintf(prelude, "#define X0 x x\n");
    for (int n = 1; n < 60; n++)
        length += sprintf(prelude + length, "#define X%d X%d X%d\n", n, n - 1, n - 1);
    strcpy(prelude + length, "int f(void) { X59; }\n");
    cr_expect_eq(parse(prelude, PLAIN, false, &body), DCL_ERR_BODY);
    cr_expect(strstr(dcl_error(), "too many words") != NULL, "%s", dcl_error());

    length = 0;
    for (int n = 0; n < 60; n++)
        length += sprintf(prelude + length, "#ifdef X%d\nint a%d;\n#endif\n", n, n);
    cr_expect_eq(parse(prelude, PLAIN, false, &body), DCL_ERR_BODY);
    cr_expect(strstr(dcl_error(), "too many words") != NULL, "%s", dcl_error());

    length = sprintf(prelude, "#define F(x) x\nint a = ");
    for (int n = 0; n < 15000; n++)
        length += sprintf(prelude + length, "F(");
    cr_expect_eq(parse(prelude, PLAIN, false, &body), DCL_ERR_BODY);

    length = sprintf(prelude, "#define F(a, b) a##b\n#define G(a) F(a, a)\nint ");
    for (int n = 0; n < 40; n++)
        length += sprintf(prelude + length, "G(");
    length += sprintf(prelude + length, "x");
    for (int n = 0; n < 40; n++)
        length += sprintf(prelude + length, ")");
    strcpy(prelude + length, ";\n");
    dcl_status status = parse(prelude, PLAIN, false, &body);
    cr_expect(status == DCL_ERR_BODY || status == DCL_OK);
    if (status == DCL_OK)
        dcli_body_free(body);
}

Test(kernel_filter, allocations_that_fail)
{
    dcl_status status = DCL_ERR_NOMEM;
    for (int n = 1; n < 300 && status == DCL_ERR_NOMEM; n++) {
        dcli_body *body = NULL;
        dcli_alloc_fail_after(n);
        status = parse("#define G(a, b) a##b\n#ifdef X\n#define T int\n#else\n#define T float\n#endif\n"
                       "T G(f, 1)(T x);\nT f1(T x) { return x; }\n_Pragma(\"unroll\")\n",
                       PLAIN, false, &body);
        dcli_alloc_fail_after(0);
        dcli_body_free(body);
    }
    cr_expect_eq(status, DCL_OK, "%s", dcl_error());
}

/* Whatever stands around an #include, an assembly statement or a prototype, no text with one is taken where a compiler
 * would see it. A compiler is asked in test/security; here the parts are such that it always sees it. */
Test(kernel_filter, random_texts)
{
    static const char *const hostile[] = {"\n#include \"f\"\n", "\n%:include \"f\"\n", "asm(\"x\");",
                                          "int open(int);",     "G(as, m)(\"x\");",    "D(open)"};
    static const char *const parts[] = {"#define X(a) a\n",
                                        "int f(int x) { return X(x); }",
                                        "/* c */",
                                        "// c\n",
                                        "\n#if 0\n",
                                        "\n#else\n",
                                        "\n#endif\n",
                                        "\\\n",
                                        "\"t\"",
                                        "X",
                                        "(",
                                        ")",
                                        "{",
                                        "}",
                                        ";",
                                        "=",
                                        ",",
                                        "#undef X\n",
                                        "\n#ifdef Y\n",
                                        "int",
                                        "x"};
    unsigned state = 98765;
    for (int round = 0; round < 20000; round++) {
        char prelude[1024] = "#define G(a, b) a##b\n#define D(n) int n(int);\n";
        for (int p = 0; p < 8; p++) {
            state = state * 1664525u + 1013904223u;
            strcat(prelude, parts[(state >> 16) % (sizeof parts / sizeof parts[0])]);
            strcat(prelude, " ");
        }
        bool certain = strpbrk(prelude + 45, "\"/(){}=,") == NULL && strstr(prelude, "#if") == NULL &&
                       strstr(prelude, "X ") == NULL && strstr(prelude, "\\") == NULL;
        strcat(prelude, ";\n");
        strcat(prelude, hostile[(state >> 20) % 6]);
        dcli_body *body = NULL;
        dcl_status status = parse(prelude, PLAIN, false, &body);
        cr_assert(status == DCL_OK || status == DCL_ERR_BODY, "round %d: %s", round, prelude);
        cr_assert(!certain || status == DCL_ERR_BODY, "round %d: %s", round, prelude);
        dcli_body_free(body);
    }
}
