/* base/alloc.c - memory allocation that records an error text for every failure. */
#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

static _Thread_local int fail_after;

static void *checked(void *memory, size_t bytes)
{
    if (memory == NULL && bytes != 0)
        DCLI_FAIL(DCL_ERR_NOMEM, "out of memory: %zu bytes were asked for; close other programs or use smaller arrays",
                  bytes);
    return memory;
}

static int provoked(void) { return fail_after > 0 && !dcli_error_is_set_aside() && --fail_after == 0; }

void *dcli_calloc(size_t count, size_t bytes)
{
    size_t total;
    if (__builtin_mul_overflow(count, bytes, &total))
        return checked(NULL, SIZE_MAX);
    if (total == 0)
        total = 1;
    return checked(provoked() ? NULL : calloc(1, total), total);
}

void *dcli_malloc(size_t bytes)
{
    if (bytes == 0)
        bytes = 1;
    return checked(provoked() ? NULL : malloc(bytes), bytes);
}

void *dcli_realloc(void *old, size_t count, size_t bytes)
{
    size_t total;
    if (__builtin_mul_overflow(count, bytes, &total))
        return checked(NULL, SIZE_MAX);
    if (total == 0)
        total = 1;
    return checked(provoked() ? NULL : realloc(old, total), total);
}

char *dcli_strdup(const char *text)
{
    size_t bytes = strlen(text) + 1;
    char *copy = dcli_malloc(bytes);
    if (copy != NULL)
        memcpy(copy, text, bytes);
    return copy;
}

void dcli_free(void *memory) { free(memory); }

int dcli_grow(void *items_in_out, int64_t count, int64_t *capacity_in_out, size_t bytes)
{
    return count < *capacity_in_out ? 0 : dcli_reserve(items_in_out, *capacity_in_out, 1, capacity_in_out, bytes);
}

int dcli_reserve(void *items_in_out, int64_t count, int64_t more, int64_t *capacity_in_out, size_t bytes)
{
    int64_t capacity;
    if (__builtin_add_overflow(count, more, &capacity)) {
        checked(NULL, SIZE_MAX);
        return -1;
    }
    if (capacity <= *capacity_in_out)
        return 0;
    int64_t least = *capacity_in_out < 8 ? 8 : *capacity_in_out * 2;
    capacity = capacity < least ? least : capacity;
    void *items;
    memcpy(&items, items_in_out, sizeof items);
    items = dcli_realloc(items, (size_t)capacity, bytes);
    if (items == NULL)
        return -1;
    memcpy(items_in_out, &items, sizeof items);
    *capacity_in_out = capacity;
    return 0;
}

void *dcli_try_malloc(size_t bytes) { return malloc(bytes); }

void dcli_fit(void *items_in_out, int64_t count, int64_t *capacity_in_out, size_t bytes)
{
    void *items;
    memcpy(&items, items_in_out, sizeof items);
    if (count == *capacity_in_out)
        return;
    if (count == 0) {
        free(items);
        items = NULL;
    } else {
        void *fitting = realloc(items, (size_t)count * bytes);
        if (fitting == NULL)
            return;
        items = fitting;
    }
    memcpy(items_in_out, &items, sizeof items);
    *capacity_in_out = count;
}

void dcli_alloc_fail_after(int n) { fail_after = n; }
