/* Headers of .npy files: what is understood, what is refused and in which words. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>

#include <stdarg.h>
#include <string.h>

#include "store/folder.h"
#include "store/npy.h"
#include "store/npy_by_name.h"

struct header_case {
    char what[32];
    char words[200]; /* the dictionary */
    int data_bytes;  /* in the file */
    int major, minor;
    dcl_status status;
    char found[120]; /* "float (3,4) C" or words of the message */
};

/* A file as its parts say. */
static void write_npy(const struct header_case *c)
{
    unsigned char bytes[1024] = {0x93, 'N', 'U', 'M', 'P', 'Y', (unsigned char)c->major, (unsigned char)c->minor};
    size_t length = strlen(c->words), start = c->major == 1 ? 10 : 12;
    bytes[8] = (unsigned char)(length & 255);
    bytes[9] = (unsigned char)(length >> 8);
    memcpy(bytes + start, c->words, length);
    test_write_file("a.npy", bytes, start + length + (size_t)c->data_bytes);
}

static void print_info(const dcl_npy_info *info, char text_out[120])
{
    int at = snprintf(text_out, 120, "%s%s (", info->swapped ? "swapped " : "", dcl_type_name(info->grid.type));
    for (int d = 0; d < info->grid.rank; d++)
        at += snprintf(text_out + at, 120 - (size_t)at, "%s%lld", d > 0 ? "," : "", (long long)info->grid.extent[d]);
    snprintf(text_out + at, 120 - (size_t)at, ") %s at %lld", info->fortran_order ? "F" : "C",
             (long long)info->data_start);
}

#define F4 "{'descr': '<f4', 'fortran_order': False, 'shape': "

ParameterizedTestParameters(npy_header, is_understood)
{
    static struct header_case cases[] = {
        {"as numpy writes it", F4 "(3, 4), }", 48, 1, 0, DCL_OK, "float (3,4) C at 69"},
        {"version 2.0", F4 "(3, 4), }", 48, 2, 0, DCL_OK, "float (3,4) C at 71"},
        {"version 3.0", F4 "(3, 4), }", 48, 3, 0, DCL_OK, "float (3,4) C at 71"},
        {"longer than needed", F4 "(2,)}", 100, 1, 0, DCL_OK, "float (2) C at 65"},
        {"other order of keys", "{'shape':(2,3,4),'descr':'>i8','fortran_order':True}", 192, 1, 0, DCL_OK,
         "swapped int64 (2,3,4) F at 62"},
        {"spaces everywhere", " { \"shape\" : ( 5 , ) , \"descr\" : \"|u1\" ,\n \"fortran_order\" : False , } \n", 5, 1,
         0, DCL_OK, "uint8 (5) C at 81"},
        {"no spaces, no comma", "{'descr':'=f8','fortran_order':True,'shape':(1,1)}", 8, 1, 0, DCL_OK,
         "double (1,1) F at 60"},
        {"long numbers of Python 2", "{'descr':'<u2','fortran_order':False,'shape':(2L,3L)}", 12, 1, 0, DCL_OK,
         "uint16 (2,3) C at 63"},
        {"half", "{'descr':'<f2','fortran_order':False,'shape':(2,)}", 4, 1, 0, DCL_OK, "half (2) C at 60"},
        {"one byte has no order", "{'descr':'>i1','fortran_order':False,'shape':(2,)}", 4, 1, 0, DCL_OK,
         "int8 (2) C at 60"},
        {"no elements", F4 "(0, 1000000), }", 0, 1, 0, DCL_OK, "float (0,1000000) C at 75"},
        {"eight axes", F4 "(1,1,1,1,1,1,1,2)}", 8, 1, 0, DCL_OK, "float (1,1,1,1,1,1,1,2) C at 78"},
    };
    return cr_make_param_array(struct header_case, cases, sizeof cases / sizeof cases[0]);
}

ParameterizedTest(struct header_case *c, npy_header, is_understood, .init = test_files, .fini = test_files_end)
{
    dcl_npy_info info;
    char text[120];
    write_npy(c);
    cr_assert_eq(dcl_npy_inspect(test_path("a.npy"), &info), DCL_OK, "%s: %s", c->what, dcl_error());
    print_info(&info, text);
    cr_expect_str_eq(text, c->found, "%s: %s, expected %s", c->what, text, c->found);
    for (int d = 0; d < info.grid.rank; d++)
        cr_expect_eq(info.grid.origin[d], 0);
}

#define TYPE(T) "{'descr': " T ", 'fortran_order': False, 'shape': (2,)}"

ParameterizedTestParameters(npy_header, is_refused)
{
    static struct header_case cases[] = {
        {"objects", TYPE("'|O'"), 16, 1, 0, DCL_ERR_FILE, "holds Python objects, type \"|O\""},
        {"truth values", TYPE("'|b1'"), 16, 1, 0, DCL_ERR_FILE, "array.astype('uint8')"},
        {"complex", TYPE("'<c16'"), 32, 1, 0, DCL_ERR_FILE, "holds complex numbers"},
        {"texts", TYPE("'<U5'"), 40, 1, 0, DCL_ERR_FILE, "holds texts"},
        {"byte strings", TYPE("'|S5'"), 10, 1, 0, DCL_ERR_FILE, "holds byte strings"},
        {"dates", TYPE("'<M8[ns]'"), 16, 1, 0, DCL_ERR_FILE, "holds dates"},
        {"records", TYPE("[('x', '<f4'), ('y', '<f4')]"), 16, 1, 0, DCL_ERR_FILE, "holds records of several fields"},
        {"long double", TYPE("'<f16'"), 32, 1, 0, DCL_ERR_FILE, "elements of type \"<f16\"; expected i1"},
        {"type without bytes", TYPE("'<f'"), 8, 1, 0, DCL_ERR_FILE, "elements of type \"<f\""},
        {"a number as type", TYPE("4"), 8, 1, 0, DCL_ERR_FILE, "found \"4, 'fortran_orde\"; expected a string"},
        {"a terminal's commands", TYPE("'\033[2J'"), 8, 1, 0, DCL_ERR_FILE, "elements of type \"?[2J\""},
        {"a single number", F4 "()}", 4, 1, 0, DCL_ERR_FILE, "one number without axes, shape ()"},
        {"nine axes", F4 "(1,1,1,1,1,1,1,1,1)}", 4, 1, 0, DCL_ERR_FILE, "has 9 axes; expected 1..8"},
        {"negative extent", F4 "(-1,)}", 4, 1, 0, DCL_ERR_FILE, "found \"-1,)}\"; expected an extent"},
        {"fraction", F4 "(1.5,)}", 4, 1, 0, DCL_ERR_FILE, "found \".5,)}\"; expected \",\" or \")\""},
        {"extent of 2 to the 63rd", F4 "(9223372036854775808,)}", 4, 1, 0, DCL_ERR_FILE,
         "an extent below 2 to the 63rd"},
        {"shape overflows", F4 "(4294967296,4294967296)}", 4, 1, 0, DCL_ERR_FILE, "more bytes than 2 to the 63rd"},
        {"0 times too many", F4 "(0,9223372036854775807)}", 4, 1, 0, DCL_ERR_FILE, "more bytes than 2 to the 63rd"},
        {"shape is no tuple", F4 "[3]}", 12, 1, 0, DCL_ERR_FILE, "expected the shape, a tuple"},
        {"shape does not end", F4 "(3,", 12, 1, 0, DCL_ERR_FILE, "found \"\"; expected an extent"},
        {"order is a number", "{'descr': '<f4', 'fortran_order': 0, 'shape': (1,)}", 4, 1, 0, DCL_ERR_FILE,
         "expected True or False"},
        {"no shape", "{'descr': '<f4', 'fortran_order': False}", 4, 1, 0, DCL_ERR_FILE, "the header lacks 'shape'"},
        {"a key twice", "{'descr': '<f4', 'descr': '<f4'}", 4, 1, 0, DCL_ERR_FILE, "'descr': '<f4'}\"; expected each"},
        {"unknown key", "{'colour': '<f4'}", 4, 1, 0, DCL_ERR_FILE,
         "found \"'colour': '<f4'}\"; expected each of the keys"},
        {"no dictionary", "descr", 4, 1, 0, DCL_ERR_FILE, "found \"descr\"; expected \"{\""},
        {"no end", "{'descr': '<f4'", 4, 1, 0, DCL_ERR_FILE, "expected \",\" or \"}\""},
        {"more after the end", F4 "(1,)} 7", 4, 1, 0, DCL_ERR_FILE, "expected nothing after"},
        {"empty", "", 4, 1, 0, DCL_ERR_FILE, "expected \"{\""},
        {"version 4.0", F4 "(1,)}", 4, 4, 0, DCL_ERR_FILE, "of version 4.0; expected 1.0, 2.0 or 3.0"},
        {"version 1.1", F4 "(1,)}", 4, 1, 1, DCL_ERR_FILE, "of version 1.1"},
        {"data cut", F4 "(3, 4), }", 47, 1, 0, DCL_ERR_FILE, "has 116 bytes; its header says 117"},
    };
    return cr_make_param_array(struct header_case, cases, sizeof cases / sizeof cases[0]);
}

ParameterizedTest(struct header_case *c, npy_header, is_refused, .init = test_files, .fini = test_files_end)
{
    dcl_npy_info info = {.data_start = -1};
    write_npy(c);
    cr_expect_eq(dcl_npy_inspect(test_path("a.npy"), &info), DCL_ERR_FILE, "%s", c->what);
    cr_expect(strstr(dcl_error(), c->found), "%s: \"%s\" is not in: %s", c->what, c->found, dcl_error());
    cr_expect(strstr(dcl_error(), test_path("a.npy")), "%s: no path in: %s", c->what, dcl_error());
    cr_expect_eq(info.data_start, -1, "%s: the output was touched", c->what);
}

Test(npy_header, other_files_are_refused, .init = test_files, .fini = test_files_end)
{
    dcl_npy_info info;
    const struct {
        const char *what, *bytes, *words;
        size_t length;
    } rows[] = {
        {"empty", "", "is not a .npy file: it is empty", 0},
        {"short", "\x93NUMPY", "is not a .npy file", 6},
        {"text", "hello, world\n", "is not a .npy file: its first bytes are others; expected \\x93NUMPY", 13},
        {"header cut", "\x93NUMPY\x01\x00\x76\x00{'descr'", "has 18 bytes; its header says 128", 18},
        {"huge header", "\x93NUMPY\x02\x00\xff\xff\xff\xff{", "the header says it is 4294967295 bytes long", 13},
    };
    for (size_t n = 0; n < sizeof rows / sizeof rows[0]; n++) {
        test_write_file("a.npy", rows[n].bytes, rows[n].length);
        cr_expect_eq(dcl_npy_inspect(test_path("a.npy"), &info), DCL_ERR_FILE, "%s", rows[n].what);
        cr_expect(strstr(dcl_error(), rows[n].words), "%s: %s", rows[n].what, dcl_error());
    }
    cr_expect_eq(dcl_npy_inspect(test_path("b.npy"), &info), DCL_ERR_FILE);
    cr_expect(strstr(dcl_error(), "b.npy\" cannot be opened: No such file or directory"), "%s", dcl_error());
    cr_assert_eq(mkdir(test_path("folder"), 0700), 0);
    cr_expect_eq(dcl_npy_inspect(test_path("folder"), &info), DCL_ERR_FILE);
    cr_expect(strstr(dcl_error(), "folder\" is a directory"), "%s", dcl_error());
    cr_assert_eq(mkfifo(test_path("c.npy"), 0600), 0);
    cr_expect_eq(dcl_npy_inspect(test_path("c.npy"), &info), DCL_ERR_FILE);
    cr_expect(strstr(dcl_error(), "c.npy\" is not a regular file"), "%s", dcl_error());
    cr_expect_eq(dcl_npy_inspect(NULL, &info), DCL_ERR_INVALID);
    cr_expect(strstr(dcl_error(), "dcl_npy_inspect: path is NULL"), "%s", dcl_error());
    cr_expect_eq(dcl_npy_inspect("a.npy", NULL), DCL_ERR_INVALID);
}

Test(npy_header, what_is_made_is_read_back, .init = test_files, .fini = test_files_end)
{
    for (int type = DCL_INT8; type <= DCL_DOUBLE; type++)
        for (int rank = 1; rank <= DCL_MAX_RANK; rank++) {
            int64_t extent[DCL_MAX_RANK] = {3, 1, 2, 1, 1, 4, 0, 1}, origin[DCL_MAX_RANK] = {7, -7};
            dcl_grid grid = dcl_grid_nd((dcl_type)type, rank, extent, origin);
            dcl_npy_info made, found;
            cr_assert_eq(test_npy_create(test_path("a.npy"), &grid, rank % 2 == 0, &made), DCL_OK, "%s", dcl_error());
            cr_assert_eq(test_npy_inspect(test_path("a.npy"), &found), DCL_OK, "%s", dcl_error());
            char text[120], again[120];
            print_info(&made, text);
            print_info(&found, again);
            cr_expect_str_eq(text, again);
            cr_expect_eq(made.data_start % 64, 0);
            cr_expect_not(found.swapped);
            cr_assert_eq(remove(test_path("a.npy")), 0);
        }
}

Test(npy_header, what_cannot_be_begun_says_nothing_of_it, .init = test_files, .fini = test_files_end)
{
    dcl_npy_info info = {.data_start = -1};
    dcl_grid grid = dcl_grid_1d(DCL_INT8, INT64_MAX - 10);
    cr_expect_eq(test_npy_create(test_path("a.npy"), &grid, false, &info), DCL_ERR_FILE);
    cr_expect(strstr(dcl_error(), "a.npy\" cannot be reserved: "), "%s", dcl_error());
    grid = dcl_grid_1d(DCL_FLOAT, -1);
    cr_expect_eq(test_npy_create(test_path("a.npy"), &grid, false, &info), DCL_ERR_INVALID);
    cr_expect_eq(info.data_start, -1);
}
