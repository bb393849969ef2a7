/* Growing text and log lines. */
#include <criterion/criterion.h>

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "base/text.h"

Test(text, grows_over_many_appends)
{
    dcli_text text = {0};
    for (int n = 0; n < 1000; n++)
        dcli_text_put(&text, "%d,", n);
    cr_expect_eq(text.length, 10 * 2 + 90 * 3 + 900 * 4);
    cr_expect_eq(strlen(text.bytes), text.length);
    cr_expect(strncmp(text.bytes, "0,1,2,", 6) == 0);
    cr_expect_str_eq(text.bytes + text.length - 4, "999,");
    dcli_text_free(&text);
    cr_expect_null(text.bytes);
}

Test(text, append_takes_bytes_as_they_are)
{
    dcli_text text = {0};
    dcli_text_append(&text, "100 %s of it", 12);
    dcli_text_append(&text, "!?", 1);
    cr_expect_str_eq(text.bytes, "100 %s of it!");
    dcli_text_free(&text);
}

Test(text, take_hands_the_string_over)
{
    dcli_text text = {0};
    dcli_text_put(&text, "a %s", "b");
    char *bytes = dcli_text_take(&text);
    cr_expect_str_eq(bytes, "a b");
    cr_expect_null(text.bytes);
    cr_expect_eq(text.length, 0);
    dcli_free(bytes);
}

Test(text, take_of_nothing_is_an_empty_string)
{
    dcli_text text = {0};
    char *bytes = dcli_text_take(&text);
    cr_assert_not_null(bytes);
    cr_expect_str_eq(bytes, "");
    dcli_free(bytes);
}

Test(text, one_check_at_the_end_sees_a_failed_append)
{
    dcli_text text = {0};
    dcli_text_put(&text, "kept");
    dcli_alloc_fail_after(1);
    for (int n = 0; n < 100; n++)
        dcli_text_put(&text, "0123456789");
    dcli_alloc_fail_after(0);
    dcli_text_put(&text, "x");
    cr_expect(text.failed);
    cr_expect_eq(dcli_error_status(), DCL_ERR_NOMEM);
    cr_expect_null(dcli_text_take(&text));
    cr_expect_not(text.failed, "the text can be used again");
}

static int seen_level;
static char seen_line[2048];

static void remember(void *user, int level, const char *line)
{
    (*(int *)user)++;
    seen_level = level;
    snprintf(seen_line, sizeof seen_line, "%s", line);
}

Test(log, silent_below_its_level)
{
    int lines = 0;
    dcli_log log = {.level = DCLI_LOG_WARN, .fn = remember, .user = &lines};
    DCLI_LOG(&log, DCLI_LOG_INFO, "not wanted");
    DCLI_LOG((dcli_log *)NULL, DCLI_LOG_WARN, "nobody listens");
    cr_expect_eq(lines, 0);
    DCLI_LOG(&log, DCLI_LOG_WARN, "node %d: %s", 2, "slow");
    cr_expect_eq(lines, 1);
    cr_expect_eq(seen_level, DCLI_LOG_WARN);
    cr_expect_str_eq(seen_line, "node 2: slow");
}

Test(log, long_lines_are_cut)
{
    int lines = 0;
    dcli_log log = {.level = DCLI_LOG_DEBUG, .fn = remember, .user = &lines};
    DCLI_LOG(&log, DCLI_LOG_DEBUG, "%2000d", 1);
    cr_expect_eq(lines, 1);
    cr_expect_eq(strlen(seen_line), 1023);
}
