/* remote/source_test.c - what of a client's programs reaches the compiler of a device. */
#include "remote/source.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "net/include.h"

/* ---- options ---- */

Test(source, allows_the_options_of_opencl)
{
    static const char *const rows[] = {"",
                                       "  ",
                                       "-cl-std=CL1.2",
                                       "-cl-std=CL3.0 -cl-fast-relaxed-math -cl-mad-enable",
                                       "-D N=4 -DM",
                                       "-D N",
                                       "-U X -DX=3",
                                       "-w -Werror -g -O2",
                                       "-Wno-unused -cl-nv-maxrregcount=32 -cl-ext=+cl_khr_fp64,-cl_khr_fp16",
                                       "-create-library -enable-link-options",
                                       "-DT=\"unsigned int\" -w",
                                       "-D PATH=/usr/x -cl-opt-disable\t\n-w"};
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        char why[400] = "";
        cr_expect(dcli_options_check(rows[r], why, sizeof why), "%s: %s", rows[r], why);
    }
}

Test(source, refuses_all_others_and_says_which)
{
    static const struct {
        const char *options, *why;
    } rows[] = {
        {"-I /etc", "the option -I is refused: compilers read no files of the worker"},
        {"-w -I/etc", "the option -I/etc is refused"},
        {"\"-I/etc\"", "the option \"-I/etc\" is refused"},
        {"-include /etc/passwd", "the option -include is refused: expected -D, -U"},
        {"/etc/passwd", "the option /etc/passwd is refused"},
        {"@/etc/passwd", "the option @/etc/passwd is refused"},
        {"-D -I/etc", "the option -I/etc is refused: it stands in a definition"},
        {"-D @/etc/passwd", "the option @/etc/passwd is refused: it stands in a definition"},
        {"-DX=\"a -I/etc\"", "the option -I/etc\" is refused: it stands in a definition"},
        {"-DX=\"a /etc/passwd\"", "the option /etc/passwd\" is refused: it stands in a definition"},
        {"-DX='a b'", "the option b' is refused"},
        {"-Wp,-I/etc", "the option -Wp,-I/etc is refused"},
        {"-fplugin=x", "the option -fplugin=x is refused"},
        {"-cl-std=CLC++", "the option -cl-std=CLC++ is refused"},
        {"-cl-std=c99", "the option -cl-std=c99 is refused"},
        {"-cl-std=CL", "the option -cl-std=CL is refused"},
        {"-cl-x=/etc", "the option -cl-x=/etc is refused"},
        {"-x", "the option -x is refused"},
        {"-O9", "the option -O9 is refused"},
        {"-wI", "the option -wI is refused"},
        {"-Xclang", "the option -Xclang is refused"},
    };
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        char why[400] = "";
        cr_expect(!dcli_options_check(rows[r].options, why, sizeof why), "%s is allowed", rows[r].options);
        cr_expect(strstr(why, rows[r].why) != NULL, "%s: %s; expected %s", rows[r].options, why, rows[r].why);
    }
}

/* ---- text ---- */

/* How many lines a text has. */
static int lines_of(const char *text)
{
    int count = 0;
    for (; *text != '\0'; text++)
        count += *text == '\n' || (*text == '\r' && text[1] != '\n');
    return count;
}

Test(source, lets_no_directive_read_a_file)
{
    /* Each of them makes a compiler read `secret`. */
    static const char *const rows[] = {
        "#include \"secret\"\n",
        "#include <secret>\nint x;\n",
        "  #  include \"secret\"\n",
        "/* */ # /* \n */ include /* */ \"secret\"\n",
        "#inc\\\nlude \"secret\"\n",
        "#inc\\ \t\nlude \"secret\"\n",
        "#inc\\\r\nlude \"secret\"\n",
        "%:include \"secret\"\n",
        "%\\\n:include \"secret\"\n",
        "#include_next <secret>\n",
        "#import \"secret\"\n",
        "#embed \"secret\"\n",
        "#include \\\n\"secret\"\n",
        "\xef\xbb\xbf#include \"secret\"\n",
        "int a; // '\n#include \"secret\"\n",
        "int a; /* ' \" */\n#include \"secret\"\n",
        "char a = '\"';\n#include \"secret\" // \"\n",
        "char a = '\\'';\n#include \"secret\"\n",
        "it's\n#include \"secret\"\n",
        "\"open /*\n#include \"secret\"\n",
        "#error don't /*\n#include \"secret\"\n",
        "#warning /* \" */ /*\n#include \"secret\"\n",
        "#if 0\n#error /*\n#endif\n#include \"secret\"\n",
        "int a; // \\\n b\n#include \"secret\"\n",
        "\f\v#include \"secret\"\n",
        "#include \"a\"\n#include \"secret\"",
        "#include \"dcl-include-0.h\" /* \n */\n#include \"secret\"",
    };
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        size_t length = 0;
        char *text = dcli_source_confine(rows[r], strlen(rows[r]), &length);
        cr_assert_not_null(text);
        cr_expect(strlen(text) == length && lines_of(text) == lines_of(rows[r]), "row %zu: %s", r, text);
        cr_expect(strstr(text, "#error DCL: secret is not there") != NULL && strstr(text, "\"secret\"") == NULL &&
                      strstr(text, "<secret>") == NULL,
                  "row %zu becomes %s", r, text);
        dcli_free(text);
    }
}

Test(source, refuses_names_made_by_macros_and_other_names_of_headers)
{
    static const struct {
        const char *text, *expected;
    } rows[] = {
        {"#define F \"secret\"\n#include F\n", "#error DCL: F is not there"},
        {"#include\n", "#error DCL: a file named by a macro"},
        {"#include \"dcl-include-1.hpp\"\n", "#error DCL: dcl-include-1.hpp is not there"},
        {"#include \"../dcl-include-1.h\"\n", "#error DCL: ../dcl-include-1.h is not there"},
        {"#include <dcl-include-1.h>\n", "#error DCL: dcl-include-1.h is not there"},
        {"#include \"a*/b'\"\n", "#error DCL: a_/b_ is not there"},
        {"int x\?\?/\n;", "#error DCL: the text has a trigraph"},
        {"\?\?=include \"secret\"\n", "#error DCL: the text has a trigraph"},
    };
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        size_t length;
        char *text = dcli_source_confine(rows[r].text, strlen(rows[r].text), &length);
        cr_assert_not_null(text);
        cr_expect(strstr(text, rows[r].expected) != NULL && strstr(text, "#include") == NULL, "row %zu becomes %s", r,
                  text);
        dcli_free(text);
    }
}

Test(source, changes_nothing_else)
{
    static const char *const rows[] = {
        "",
        "kernel void f(global int *a) { a[0] = 1; }\n",
        "#include \"dcl-include-12.h\"\nint a;\n",
        "// #include \"x\"\n/* \n#include \"x\"\n*/ int a;\n",
        "char *a = \"\\\"\\\n#include <x>\";\nint b; # include \"x\"\n",
        "#define included(x) #x\n#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n#if 1\n#endif\n",
        "int a = 3 % 2; int b = a / 2 / 3;\n#error too bad\n",
    };
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        size_t length = 1;
        char *text = dcli_source_confine(rows[r], strlen(rows[r]), &length);
        cr_assert_not_null(text);
        cr_expect(strcmp(text, rows[r]) == 0 && length == strlen(rows[r]), "row %zu becomes %s", r, text);
        dcli_free(text);
    }
}

/* Random texts of the pieces that matter: no directive is left that reads a file, and lines keep their numbers. */
Test(source, leaves_no_directive_in_random_texts)
{
    static const char *const pieces[] = {"#",  "include ", "\"a\"", "<b>", "\n",    "\\\n",
                                         "/*", "*/",       "//",    "'",   "\"",    "error",
                                         " ",  "x",        "%:",    "\\",  " \r\n", "dcl-include-1.h"};
    const char *given = getenv("TEST_SEED");
    unsigned seed = given != NULL ? (unsigned)strtoul(given, NULL, 10) : (unsigned)clock();
    for (int n = 0; n < 2000; n++) {
        char text[400] = "";
        unsigned state = seed + (unsigned)n;
        for (int p = 0; p < 24; p++) {
            state = state * 1664525u + 1013904223u;
            strcat(text, pieces[(state >> 16) % (sizeof pieces / sizeof pieces[0])]);
        }
        size_t length;
        char *once = dcli_source_confine(text, strlen(text), &length);
        dcli_include include;
        cr_expect_eq(lines_of(once), lines_of(text), "TEST_SEED=%u: %s", seed + (unsigned)n, text);
        for (size_t at = 0; dcli_include_next(once, length, at, &include); at = include.end)
            cr_expect(include.is_message || strcmp(include.name, "dcl-include-1.h") == 0, "TEST_SEED=%u: %s", seed,
                      text);
        dcli_free(once);
    }
}
