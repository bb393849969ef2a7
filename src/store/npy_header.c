/* store/npy_header.c - the dictionary in the header of a .npy file: a Python literal with the keys descr, fortran_order
 * and shape. Source: NumPy Enhancement Proposal 1. */
#include "store/npy_header.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "base/check.h"
#include "base/error.h"

enum { WORD_BYTES = 32, ALIGN_BYTES = 64, PREFIX_BYTES = 10 };

/* The header that is being read, and the position in it. */
struct reader {
    const char *path, *start, *at, *end;
};

/* Replace unprintable characters: messages quote the file, and a terminal would obey control characters. */
static char printable(char c) { return c >= ' ' && c <= '~' ? c : '?'; }

static dcl_status fail_at(const struct reader *reader, const char *expected)
{
    char found[17];
    int shown = (int)dcli_min(reader->end - reader->at, 16);
    for (int n = 0; n < shown; n++)
        found[n] = printable(reader->at[n]);
    return DCLI_FAIL(DCL_ERR_FILE,
                     "\"%s\": the header is damaged at byte %td: found \"%.*s\"; expected %s; write the file anew with "
                     "numpy.save()",
                     reader->path, reader->at - reader->start, shown, found, expected);
}

static void skip_spaces(struct reader *reader)
{
    while (reader->at < reader->end && isspace((unsigned char)*reader->at))
        reader->at++;
}

/* Skip spaces, then accept the character `c` if it follows. */
static bool take(struct reader *reader, char c)
{
    skip_spaces(reader);
    if (reader->at == reader->end || *reader->at != c)
        return false;
    reader->at++;
    return true;
}

static bool take_word(struct reader *reader, const char *word)
{
    size_t length = strlen(word);
    skip_spaces(reader);
    if ((size_t)(reader->end - reader->at) < length || memcmp(reader->at, word, length) != 0)
        return false;
    reader->at += length;
    return true;
}

/* Read a quoted string. One of WORD_BYTES or more is refused: all words that have a meaning here are short. */
static dcl_status read_string(struct reader *reader, char word_out[WORD_BYTES])
{
    skip_spaces(reader);
    char quote = reader->at < reader->end ? *reader->at : '\0';
    if (quote != '\'' && quote != '"')
        return fail_at(reader, "a string");
    const char *start = reader->at + 1;
    const char *stop = memchr(start, quote, (size_t)(reader->end - start));
    if (stop == NULL)
        return fail_at(reader, "a string with its end");
    if (stop - start >= WORD_BYTES)
        return fail_at(reader, "a shorter string");
    for (const char *at = start; at < stop; at++)
        word_out[at - start] = printable(*at);
    word_out[stop - start] = '\0';
    reader->at = stop + 1;
    return DCL_OK;
}

static dcl_status read_extent(struct reader *reader, int64_t *extent_out)
{
    skip_spaces(reader);
    const char *start = reader->at;
    int64_t extent = 0;
    bool fits = true;
    for (; reader->at < reader->end && isdigit((unsigned char)*reader->at); reader->at++)
        fits = fits && dcli_mul(extent, 10, &extent) && dcli_add(extent, *reader->at - '0', &extent);
    if (!fits) {
        reader->at = start;
        return fail_at(reader, "an extent below 2 to the 63rd");
    }
    if (reader->at == start)
        return fail_at(reader, "an extent, 0 or more");
    take(reader, 'L'); /* Python 2 wrote long numbers with this letter */
    *extent_out = extent;
    return DCL_OK;
}

static dcl_status read_shape(struct reader *reader, dcl_grid *grid)
{
    if (!take(reader, '('))
        return fail_at(reader, "the shape, a tuple such as (3, 4)");
    grid->rank = 0;
    while (!take(reader, ')')) {
        int64_t extent = 0;
        dcl_status status = read_extent(reader, &extent);
        if (status != DCL_OK)
            return status;
        if (grid->rank < DCL_MAX_RANK)
            grid->extent[grid->rank] = extent;
        grid->rank++;
        if (take(reader, ','))
            continue;
        skip_spaces(reader);
        if (reader->at == reader->end || *reader->at != ')')
            return fail_at(reader, "\",\" or \")\" in the shape");
    }
    if (grid->rank == 0)
        return DCLI_FAIL(DCL_ERR_FILE,
                         "\"%s\" holds one number without axes, shape (); expected 1..%d axes; save it with "
                         "array.reshape(1)",
                         reader->path, DCL_MAX_RANK);
    if (grid->rank > DCL_MAX_RANK)
        return DCLI_FAIL(DCL_ERR_FILE, "\"%s\" has %d axes; expected 1..%d; save it with fewer, see numpy.reshape()",
                         reader->path, grid->rank, DCL_MAX_RANK);
    return DCL_OK;
}

static dcl_status refuse_type(const char *path, const char *descr)
{
    static const struct {
        char letter;
        const char *what, *remedy;
    } kinds[] = {
        {'b', "truth values (bool)", "save it with array.astype('uint8')"},
        {'O', "Python objects", "save it with array.astype('float64') or another type of numbers"},
        {'c', "complex numbers", "save array.real and array.imag apart"},
        {'U', "texts", "save numbers"},
        {'S', "byte strings", "save numbers"},
        {'a', "byte strings", "save numbers"},
        {'M', "dates", "save it with array.astype('int64')"},
        {'m', "time spans", "save it with array.astype('int64')"},
        {'V', "records or raw bytes", "save its fields apart"},
    };
    const char *letter = descr + strspn(descr, "<>=|");
    for (size_t n = 0; n < sizeof kinds / sizeof kinds[0]; n++)
        if (*letter == kinds[n].letter)
            return DCLI_FAIL(DCL_ERR_FILE,
                             "\"%s\" holds %s, type \"%s\"; expected integers or floating-point numbers of "
                             "1, 2, 4 or 8 bytes; %s",
                             path, kinds[n].what, descr, kinds[n].remedy);
    return DCLI_FAIL(
        DCL_ERR_FILE,
        "\"%s\" holds elements of type \"%s\"; expected i1, i2, i4, i8, u1, u2, u4, u8, f2, f4 or f8; save it "
        "with array.astype()",
        path, descr);
}

static const struct {
    const char *name;
    dcl_type type;
} numbers[] = {
    {"i1", DCL_INT8},  {"i2", DCL_INT16},  {"i4", DCL_INT32},  {"i8", DCL_INT64},
    {"u1", DCL_UINT8}, {"u2", DCL_UINT16}, {"u4", DCL_UINT32}, {"u8", DCL_UINT64},
    {"f2", DCL_HALF},  {"f4", DCL_FLOAT},  {"f8", DCL_DOUBLE},
};

/* Parse a type such as "<f4": byte order, letter, bytes. "=", "|" and no order mean the order of this host. */
static dcl_status understand_type(const char *path, const char *descr, dcl_npy_info *info)
{
    const char other = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? '>' : '<';
    const char *name = descr + (descr[0] != '\0' && strchr("<>=|", descr[0]) != NULL);
    for (size_t n = 0; n < sizeof numbers / sizeof numbers[0]; n++)
        if (strcmp(name, numbers[n].name) == 0) {
            info->grid.type = numbers[n].type;
            info->swapped = descr[0] == other && dcl_type_bytes(numbers[n].type) > 1;
            return DCL_OK;
        }
    return refuse_type(path, descr);
}

static dcl_status read_type(struct reader *reader, dcl_npy_info *info)
{
    skip_spaces(reader);
    if (reader->at < reader->end && (*reader->at == '[' || *reader->at == '('))
        return DCLI_FAIL(
            DCL_ERR_FILE,
            "\"%s\" holds records of several fields; expected integers or floating-point numbers; save its "
            "fields apart",
            reader->path);
    char descr[WORD_BYTES];
    dcl_status status = read_string(reader, descr);
    return status == DCL_OK ? understand_type(reader->path, descr, info) : status;
}

static dcl_status read_order(struct reader *reader, dcl_npy_info *info)
{
    info->fortran_order = take_word(reader, "True");
    if (info->fortran_order || take_word(reader, "False"))
        return DCL_OK;
    return fail_at(reader, "True or False as fortran_order");
}

static const char *const keys[] = {"descr", "fortran_order", "shape"};
enum { KEY_COUNT = 3 };

/* Read one `key: value`. */
static dcl_status read_entry(struct reader *reader, bool seen[], dcl_npy_info *info)
{
    char key[WORD_BYTES];
    struct reader before = *reader;
    dcl_status status = read_string(reader, key);
    if (status != DCL_OK)
        return status;
    int number = 0;
    while (number < KEY_COUNT && strcmp(key, keys[number]) != 0)
        number++;
    skip_spaces(&before);
    if (number == KEY_COUNT || seen[number])
        return fail_at(&before, "each of the keys 'descr', 'fortran_order' and 'shape' once");
    seen[number] = true;
    if (!take(reader, ':'))
        return fail_at(reader, "\":\" after a key");
    if (number == 0)
        return read_type(reader, info);
    return number == 1 ? read_order(reader, info) : read_shape(reader, &info->grid);
}

static dcl_status read_dictionary(struct reader *reader, dcl_npy_info *info)
{
    bool seen[KEY_COUNT] = {false};
    if (!take(reader, '{'))
        return fail_at(reader, "\"{\"");
    while (!take(reader, '}')) {
        dcl_status status = read_entry(reader, seen, info);
        if (status != DCL_OK)
            return status;
        if (take(reader, ','))
            continue;
        skip_spaces(reader);
        if (reader->at == reader->end || *reader->at != '}')
            return fail_at(reader, "\",\" or \"}\"");
    }
    for (int n = 0; n < KEY_COUNT; n++)
        if (!seen[n])
            return DCLI_FAIL(
                DCL_ERR_FILE,
                "\"%s\": the header lacks '%s'; expected 'descr', 'fortran_order' and 'shape'; write the file "
                "anew with numpy.save()",
                reader->path, keys[n]);
    skip_spaces(reader);
    return reader->at == reader->end ? DCL_OK : fail_at(reader, "nothing after \"}\"");
}

dcl_status dcli_npy_parse_header(const char *path, const char *header, size_t length, dcl_npy_info *info_out)
{
    struct reader reader = {.path = path, .start = header, .at = header, .end = header + length};
    dcl_npy_info info = {.data_start = 0};
    dcl_status status = read_dictionary(&reader, &info);
    if (status == DCL_OK)
        *info_out = info;
    return status;
}

void dcli_npy_print_header(const dcl_npy_info *info, dcli_text *text)
{
    dcli_text words = {0};
    const char *name = "";
    for (size_t n = 0; n < sizeof numbers / sizeof numbers[0]; n++)
        if (numbers[n].type == info->grid.type)
            name = numbers[n].name;
    dcli_text_put(&words, "{'descr': '%c%s', 'fortran_order': %s, 'shape': (",
                  dcl_type_bytes(info->grid.type) == 1 ? '|' : '<', name, info->fortran_order ? "True" : "False");
    for (int d = 0; d < info->grid.rank; d++)
        dcli_text_put(&words, "%s%" PRId64 "%s", d > 0 ? " " : "", info->grid.extent[d],
                      d + 1 < info->grid.rank || info->grid.rank == 1 ? "," : "");
    dcli_text_put(&words, "), }");
    size_t total = (PREFIX_BYTES + words.length + 1 + ALIGN_BYTES - 1) / ALIGN_BYTES * ALIGN_BYTES;
    size_t length = total - PREFIX_BYTES; /* below 65536, so version 1.0 is sufficient */
    const char prefix[PREFIX_BYTES] = {
        '\x93', 'N', 'U', 'M', 'P', 'Y', 1, 0, (char)(length & 255), (char)(length >> 8)};
    dcli_text_append(text, prefix, sizeof prefix);
    dcli_text_put(text, "%-*s\n", (int)length - 1, words.failed ? "" : words.bytes);
    text->failed = text->failed || words.failed;
    dcli_text_free(&words);
}
