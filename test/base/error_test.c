/* The thread's last error: prefix, length, arguments that point into it, threads, names. */
#include <criterion/criterion.h>

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"

Test(error, starts_empty)
{
    cr_expect_str_eq(dcl_error(), "");
    cr_expect_eq(dcli_error_status(), DCL_OK);
}

Test(error, carries_the_call_the_status_and_the_sentence)
{
    dcli_error_enter("dcl_agile");
    cr_expect_eq(DCLI_FAIL(DCL_ERR_INVALID, "rank is %d; expected %d..%d", 9, 1, 8), DCL_ERR_INVALID);
    cr_expect_str_eq(dcl_error(), "dcl_agile: rank is 9; expected 1..8");
    cr_expect_str_eq(dcli_error_sentence(), "rank is 9; expected 1..8");
    cr_expect_eq(dcli_error_status(), DCL_ERR_INVALID);
}

Test(error, the_last_one_wins)
{
    dcli_error_enter("dcl_fill");
    DCLI_FAIL(DCL_ERR_RANGE, "first");
    dcli_error_enter("dcl_read");
    DCLI_FAIL(DCL_ERR_NOMEM, "second");
    cr_expect_str_eq(dcl_error(), "dcl_read: second");
    cr_expect_eq(dcli_error_status(), DCL_ERR_NOMEM);
}

Test(error, may_quote_the_text_it_replaces)
{
    dcli_error_enter("dcl_wait");
    DCLI_FAIL(DCL_ERR_DEVICE, "the queue is gone");
    DCLI_FAIL(DCL_ERR_DEVICE, "node 3: %s", dcli_error_sentence());
    cr_expect_str_eq(dcl_error(), "dcl_wait: node 3: the queue is gone");
}

Test(error, adopts_a_whole_sentence)
{
    dcli_error_enter("dcl_wait");
    DCLI_FAIL(DCL_ERR_DEVICE, "something");
    cr_expect_eq(dcli_error_adopt(DCL_ERR_NOMEM, "node 1: dcl_agile: 100 bytes"), DCL_ERR_NOMEM);
    cr_expect_str_eq(dcl_error(), "node 1: dcl_agile: 100 bytes");
    cr_expect_str_eq(dcli_error_sentence(), "node 1: dcl_agile: 100 bytes");
    cr_expect_eq(dcli_error_adopt(DCL_ERR_RANGE, dcl_error()), DCL_ERR_RANGE); /* its own text */
    cr_expect_str_eq(dcl_error(), "node 1: dcl_agile: 100 bytes");
}

/* A NULL that a constructor returned is followed by the constructor's error, whatever else has failed since. */
Test(error, of_a_constructor_is_what_calls_with_null_return)
{
    dcli_error_enter("dcl_fill");
    DCLI_FAIL(DCL_ERR_RANGE, "no constructor");
    dcli_error_enter("dcl_wait");
    cr_expect_eq(DCLI_FAIL_NULL("cluster is %s", "NULL"), DCL_ERR_INVALID);
    cr_expect_str_eq(dcl_error(), "dcl_wait: cluster is NULL");
    dcli_error_enter_constructor("dcl_open");
    DCLI_FAIL(DCL_ERR_DEVICE, "no device");
    dcli_error_enter("dcl_fill");
    DCLI_FAIL(DCL_ERR_RANGE, "something else");
    for (int n = 0; n < 2; n++) {
        dcli_error_enter("dcl_save_npy");
        cr_expect_eq(DCLI_FAIL_NULL("array is NULL"), DCL_ERR_DEVICE);
        cr_expect_str_eq(dcl_error(), "dcl_open: no device");
        cr_expect_str_eq(dcli_error_sentence(), "no device");
        cr_expect_eq(dcli_error_status(), DCL_ERR_DEVICE);
        dcli_error_clear();
    }
    dcli_error_forget();
    cr_expect_eq(DCLI_FAIL_NULL("array is NULL"), DCL_ERR_INVALID);
    cr_expect_str_eq(dcl_error(), "dcl_save_npy: array is NULL");
    dcli_error_enter("dcl_read");
    DCLI_FAIL(DCL_ERR_NOMEM, "made no map");
    dcli_error_made_null();
    DCLI_FAIL(DCL_ERR_RANGE, "something else");
    cr_expect_eq(DCLI_FAIL_NULL("map is NULL"), DCL_ERR_NOMEM);
    cr_expect_str_eq(dcl_error(), "dcl_read: made no map");
}

Test(error, clear_forgets_it)
{
    DCLI_FAIL(DCL_ERR_FILE, "a.npy is missing");
    dcli_error_clear();
    cr_expect_str_eq(dcl_error(), "");
    cr_expect_str_eq(dcli_error_sentence(), "");
    cr_expect_eq(dcli_error_status(), DCL_OK);
}

Test(error, long_text_is_cut_and_ended)
{
    char text[2 * DCLI_ERROR_BYTES];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    dcli_error_enter("dcl_forall");
    DCLI_FAIL(DCL_ERR_BODY, "%s", text);
    cr_expect_eq(strlen(dcl_error()), DCLI_ERROR_BYTES - 1);
    cr_expect_eq(strlen(dcli_error_sentence()), DCLI_ERROR_BYTES - 1 - strlen("dcl_forall: "));
    dcli_error_adopt(DCL_ERR_BODY, text);
    cr_expect_eq(strlen(dcl_error()), DCLI_ERROR_BYTES - 1);
}

static void *look_and_fail(void *seen)
{
    memcpy(seen, dcl_error(), strlen(dcl_error()) + 1);
    DCLI_FAIL(DCL_ERR_TIMEOUT, "of the other thread");
    return NULL;
}

Test(error, belongs_to_the_thread)
{
    char seen[64] = "?";
    DCLI_FAIL(DCL_ERR_INVALID, "of this thread");
    pthread_t thread;
    cr_assert_eq(pthread_create(&thread, NULL, look_and_fail, seen), 0);
    pthread_join(thread, NULL);
    cr_expect_str_eq(seen, "");
    cr_expect_str_eq(dcli_error_sentence(), "of this thread");
}

Test(error, every_status_has_its_name)
{
    cr_expect_str_eq(dcl_status_name(DCL_OK), "DCL_OK");
    cr_expect_str_eq(dcl_status_name(DCL_ERR_BODY), "DCL_ERR_BODY");
    cr_expect_str_eq(dcl_status_name(DCL_ERR_NODE_LOST), "DCL_ERR_NODE_LOST");
    cr_expect_str_eq(dcl_status_name(DCL_ERR_INTERNAL), "DCL_ERR_INTERNAL");
    cr_expect_str_eq(dcl_status_name((dcl_status)(DCL_ERR_INTERNAL + 1)), "DCL_ERR_?");
    cr_expect_str_eq(dcl_status_name((dcl_status)-1), "DCL_ERR_?");
}

Test(error, version_of_header_and_library_agree)
{
    char version[32];
    snprintf(version, sizeof version, "%d.%d.%d", DCL_VERSION_MAJOR, DCL_VERSION_MINOR, DCL_VERSION_PATCH);
    cr_expect_str_eq(DCL_VERSION, version);
    cr_expect_str_eq(dcl_version(), DCL_VERSION);
}

Test(error, what_is_set_aside_is_forgotten)
{
    dcli_error_enter("dcl_one");
    DCLI_FAIL(DCL_ERR_INVALID, "own");
    dcli_error_set_aside(true);
    cr_expect_str_eq(dcl_error(), "dcl_one: own");
    DCLI_FAIL(DCL_ERR_NETWORK, "of another thread's work");
    cr_expect_str_eq(dcl_error(), "of another thread's work");
    dcli_error_set_aside(false);
    cr_expect_str_eq(dcl_error(), "dcl_one: own");
    cr_expect_eq(dcli_error_status(), DCL_ERR_INVALID);
    DCLI_FAIL(DCL_ERR_RANGE, "later");
    cr_expect_str_eq(dcl_error(), "dcl_one: later");
}
