/* test/base/clean_test.c - text from elsewhere in errors and logs. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <stdio.h>
#include <string.h>

#include "base/clean.h"
#include "base/error.h"
#include "base/log.h"

struct clean_case {
    char what[32], text[48], line[64];
};

ParameterizedTestParameters(clean, lines)
{
    static struct clean_case cases[] = {
        {"plain", "C(i) = A(i) \\n \"x\";", "C(i) = A(i) \\n \"x\";"},
        {"a line", "x\ndcl info: forged", "x\\ndcl info: forged"},
        {"a return", "secret\rpublic", "secret\\rpublic"},
        {"a colour", "\033[31mred", "\\e[31mred"},
        {"a title", "\033]0;title\007", "\\e]0;title\\x07"},
        {"back", "ab\b\b\x7F", "ab\\x08\\x08\\x7f"},
        {"a tab", "a\tb", "a\\tb"},
        {"other alphabets", "\xC3\xA4 \xE6\xBC\xA2 \xF0\x9F\x98\x80", "\xC3\xA4 \xE6\xBC\xA2 \xF0\x9F\x98\x80"},
        {"a control of 8 bits",
         "\x9B"
         "31m",
         "\\x9b31m"},
        {"the same in UTF-8",
         "\xC2\x9B"
         "31m",
         "\\u{9b}31m"},
        {"too long a form", "\xC0\x8A", "\\xc0\\x8a"},
        {"a surrogate", "\xED\xA0\x80", "\\xed\\xa0\\x80"},
        {"beyond the last", "\xF4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"},
        {"cut off", "a\xE6\xBC", "a\\xe6\\xbc"},
        {"from right to left",
         "a\xE2\x80\xAE"
         "b",
         "a\\u{202e}b"},
        {"a line of Unicode",
         "a\xE2\x80\xA8"
         "b",
         "a\\u{2028}b"},
        {"nothing", "", ""},
    };
    return cr_make_param_array(struct clean_case, cases, sizeof cases / sizeof cases[0]);
}

ParameterizedTest(struct clean_case *c, clean, lines)
{
    char line[64];
    size_t length = dcli_clean(line, sizeof line, c->text, strlen(c->text), "");
    cr_expect_str_eq(line, c->line, "%s: %s", c->what, line);
    cr_expect_eq(length, strlen(line), "%s", c->what);
}

Test(clean, keeps_what_it_is_told_to)
{
    char text[64];
    dcli_clean(text, sizeof text, "a\n\tb\r\0c", 7, "\n\t");
    cr_expect_str_eq(text, "a\n\tb\\r\\x00c", "%s", text);
}

/* Never inside of a character, or of what stands for one; nothing behind the end is touched. */
Test(clean, cuts_between_characters)
{
    static const char text[] = "a\xC3\xA4\nb\xE6\xBC\xA2\001";
    for (size_t capacity = 1; capacity < 24; capacity++) {
        char cut[32];
        memset(cut, '#', sizeof cut);
        size_t length = dcli_clean(cut, capacity, text, strlen(text), "");
        cr_expect(length < capacity && cut[length] == '\0' && cut[capacity] == '#', "%zu", capacity);
        cr_expect_eq(strncmp(cut, "a\xC3\xA4\\nb\xE6\xBC\xA2\\x01", length), 0, "%zu: %s", capacity, cut);
        cr_expect(length == 1 || length == 0 || length == 3 || length == 5 || length == 6 || length == 9 ||
                      length == 13,
                  "%zu: %zu bytes", capacity, length);
    }
}

/* What a worker says, and names in what is said here, move no cursor; a quoted line stays one. */
Test(clean, errors)
{
    dcli_error_adopt(DCL_ERR_BODY, "node 3: \033[2Jgone\r\nC(i) = 1;\n^\n\xFF");
    cr_expect_str_eq(dcl_error(), "node 3: \\e[2Jgone\\r\nC(i) = 1;\n^\n\\xff", "%s", dcl_error());
    dcli_error_enter("dcl_load_npy");
    DCLI_FAIL(DCL_ERR_FILE, "%s: is no file", "a\033c");
    cr_expect_str_eq(dcl_error(), "dcl_load_npy: a\\ec: is no file", "%s", dcl_error());
    cr_expect_str_eq(dcli_error_sentence(), "a\\ec: is no file");
}

static char logged[2048];

static void keep_line(void *user, int level, const char *line)
{
    (void)user;
    (void)level;
    snprintf(logged, sizeof logged, "%s", line);
}

Test(clean, logs)
{
    dcli_log log = {.level = DCLI_LOG_INFO, .fn = keep_line};
    DCLI_LOG(&log, DCLI_LOG_WARN, "process 1 ran `%s`", "C(i) = 1;\ndcl info: session 7 is open\033[A");
    cr_expect_str_eq(logged, "process 1 ran `C(i) = 1;\\ndcl info: session 7 is open\\e[A`", "%s", logged);
}
