/* net/wire_text.c - messages written as text, for tests. */
#include "net/wire_text.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include <msgpack.h>

static msgpack_sbuffer buffer;
static msgpack_packer packer;

static const char *put_item(const char *at);

/** Items up to the closing bracket. */
static int count_items(const char *at)
{
    int depth = 0, commas = 0;
    bool quoted = false, any = false;
    for (; quoted || depth > 0 || *at != ']'; at++) {
        any = true;
        if (*at == '\'')
            quoted = !quoted;
        else if (!quoted && *at == '[')
            depth++;
        else if (!quoted && *at == ']')
            depth--;
        else if (!quoted && depth == 0 && *at == ',')
            commas++;
    }
    return any ? commas + 1 : 0;
}

static const char *end_of_array(const char *at)
{
    for (int depth = 0; depth > 0 || *at != ']'; at++)
        depth += (*at == '[') - (*at == ']');
    return at;
}

static const char *put_array(const char *at)
{
    const char *end = end_of_array(at);
    int times = end[1] == '*' ? atoi(end + 2) : 1;
    msgpack_pack_array(&packer, (size_t)(count_items(at) * times));
    for (int i = 0; i < times; i++)
        for (const char *item = at; item < end;)
            item = put_item(item) + 1;
    end++;
    return times == 1 ? end : end + 1 + strspn(end + 1, "0123456789");
}

static const char *put_string(const char *at)
{
    size_t length = strcspn(at, "'");
    const char *end = at + length + 1;
    char text[300000];
    int times = *end == '*' ? atoi(end + 1) : 1;
    assert(length * (size_t)times < sizeof text);
    for (int i = 0; i < times; i++)
        memcpy(text + (size_t)i * length, at, length);
    for (size_t i = 0; i < length * (size_t)times; i++)
        if (text[i] == '\\')
            text[i] = '\0';
    msgpack_pack_str_with_body(&packer, text, length * (size_t)times);
    return times == 1 ? end : end + 1 + strspn(end + 1, "0123456789");
}

static const char *put_item(const char *at)
{
    char *end;
    if (*at == '[')
        return put_array(at + 1);
    if (*at == '\'')
        return put_string(at + 1);
    if (strncmp(at, "true", 4) == 0)
        return msgpack_pack_true(&packer), at + 4;
    if (strncmp(at, "false", 5) == 0)
        return msgpack_pack_false(&packer), at + 5;
    if (strncmp(at, "nil", 3) == 0)
        return msgpack_pack_nil(&packer), at + 3;
    if (*at == 'v')
        return msgpack_pack_int(&packer, DCLI_PROTOCOL), at + 1;
    if (*at == '-')
        msgpack_pack_int64(&packer, strtoll(at, &end, 10));
    else
        msgpack_pack_uint64(&packer, strtoull(at, &end, 10));
    assert(end != at && "a number");
    return end;
}

size_t test_wire(const char *text, const unsigned char **bytes_out)
{
    if (buffer.data == NULL)
        msgpack_sbuffer_init(&buffer);
    msgpack_sbuffer_clear(&buffer);
    msgpack_packer_init(&packer, &buffer, msgpack_sbuffer_write);
    const char *end = put_item(text);
    assert(*end == '\0');
    (void)end;
    *bytes_out = (const unsigned char *)buffer.data;
    return buffer.size;
}
