/* net/scan.c - check the structure of a message before anything in it is used.
 * A few bytes can announce gigabytes, and nested announcements can pass a check of each one alone. So the number of
 * items that all open arrays together still need is compared with the remaining bytes. */
#include <stdarg.h>
#include <stdio.h>

#include "base/error.h"
#include "net/codec.h"

typedef struct scanner {
    const unsigned char *start, *at, *end;
    uint64_t owed;                  /* items announced and not yet seen, over all open arrays */
    uint64_t left[DCLI_MOST_DEPTH]; /* items not yet seen of each open array */
    int depth;
} scanner;

__attribute__((format(printf, 3, 4), cold)) static dcl_status refuse(const scanner *scan, const char *found,
                                                                     const char *format, ...)
{
    char expected[80];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(expected, sizeof expected, format, arguments);
    va_end(arguments);
    return DCLI_FAIL(DCL_ERR_PROTOCOL,
                     "byte %zu of a message of %zu bytes: %s; expected %s; the message was dropped: let all peers run "
                     "the same version of DCL",
                     (size_t)(scan->at - scan->start), (size_t)(scan->end - scan->start), found, expected);
}

static size_t bytes_left(const scanner *scan) { return (size_t)(scan->end - scan->at); }

static dcl_status open_array(scanner *scan, uint64_t count)
{
    scan->owed += count;
    if (scan->owed > bytes_left(scan))
        return refuse(scan, "more items are announced than bytes are left", "an item to have a byte at least");
    if (count == 0)
        return DCL_OK;
    if (scan->depth == DCLI_MOST_DEPTH)
        return refuse(scan, "arrays lie too deep in each other", "a depth of %d at most", DCLI_MOST_DEPTH);
    scan->left[scan->depth++] = count;
    return DCL_OK;
}

static dcl_status skip(scanner *scan, uint64_t bytes)
{
    if (bytes > bytes_left(scan))
        return refuse(scan, "the message ends inside an item", "the whole item");
    scan->at += bytes;
    return DCL_OK;
}

/** Check a string or array whose length follows in `bytes` bytes. */
static dcl_status scan_counted(scanner *scan, bool is_array, int bytes)
{
    if ((size_t)bytes > bytes_left(scan))
        return refuse(scan, "the message ends inside a count", "the whole count");
    uint64_t count = dcli_wire_number(scan->at, bytes);
    scan->at += bytes;
    return is_array ? open_array(scan, count) : skip(scan, count);
}

static dcl_status scan_wide(scanner *scan, int head)
{
    if (head == DCLI_WIRE_FALSE || head == DCLI_WIRE_TRUE)
        return DCL_OK;
    if (head >= DCLI_WIRE_UINT8 && head <= DCLI_WIRE_INT64)
        return skip(scan, 1u << ((head - DCLI_WIRE_UINT8) & 3));
    if (head >= DCLI_WIRE_STRING8 && head <= DCLI_WIRE_STRING32)
        return scan_counted(scan, false, 1 << (head - DCLI_WIRE_STRING8));
    if (head == DCLI_WIRE_ARRAY16 || head == DCLI_WIRE_ARRAY32)
        return scan_counted(scan, true, head == DCLI_WIRE_ARRAY16 ? 2 : 4);
    scan->at--;
    return refuse(scan, "an item of a type that no message has", "integers, booleans, strings and arrays only");
}

static dcl_status scan_item(scanner *scan)
{
    int head = *scan->at++;
    if (head < 0x80 || head >= DCLI_WIRE_NEGATIVE)
        return DCL_OK;
    if ((head & 0xf0) == DCLI_WIRE_ARRAY)
        return open_array(scan, head & 0x0f);
    if ((head & 0xe0) == DCLI_WIRE_STRING)
        return skip(scan, head & 0x1f);
    return scan_wide(scan, head);
}

dcl_status dcli_message_scan(const void *bytes, size_t length)
{
    scanner scan = {.start = bytes, .at = bytes, .end = (const unsigned char *)bytes + length, .owed = 1};
    if (length > DCLI_MOST_MESSAGE)
        return refuse(&scan, "it is too long", "%d bytes at most", DCLI_MOST_MESSAGE);
    scan.left[scan.depth++] = 1;
    for (int items = 0; scan.depth > 0; items++) {
        if (items == DCLI_MOST_ITEMS)
            return refuse(&scan, "there are too many items", "%d at most", DCLI_MOST_ITEMS);
        if (scan.at == scan.end)
            return refuse(&scan, "the message ends where an item should follow", "all items that were announced");
        scan.owed--;
        scan.left[scan.depth - 1]--;
        dcl_status status = scan_item(&scan);
        if (status != DCL_OK)
            return status;
        while (scan.depth > 0 && scan.left[scan.depth - 1] == 0)
            scan.depth--;
    }
    return scan.at == scan.end ? DCL_OK : refuse(&scan, "bytes follow", "the message to end here");
}
