/* test/runtime/advice_test.c - what reports advise, and that they are silent where nothing is better; how they print. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "support/nodes.h"

TestSuite(report_advice, .timeout = TEST_SECONDS);
TestSuite(report_text, .timeout = TEST_SECONDS);

static dcl_array *array_of(dcl_cluster *cluster, dcl_grid grid, const char *map)
{
    dcl_map *made = dcl_map_parse(cluster, map);
    dcl_array *array = dcl_agile(grid, made);
    cr_assert_not_null(array, "%s: %s", map, dcl_error());
    dcl_release(made);
    return array;
}

/* C and A have the first map, B the second; all are float, side x side. */
static dcl_report *report_of(dcl_cluster *cluster, int side, const char *map, const char *b, const char *body)
{
    dcl_grid grid = dcl_grid_2d(DCL_FLOAT, side, side);
    dcl_array *C = array_of(cluster, grid, map), *A = array_of(cluster, grid, map), *B = array_of(cluster, grid, b);
    dcl_report *report = dcl_explain_report(cluster, body, DCL_OUT(C), DCL_IN(A), DCL_IN(B));
    cr_assert_not_null(report, "%s: %s", body, dcl_error());
    return report;
}

struct advice_case {
    char what[48];
    int nodes, side;
    char map[40], b[40], body[56];
    char words[200]; /* of a sentence that must be there; "": there is none at all */
};

#define SUM "C(i,j) = A(i,j) + B(i,j);"
#define TRANSPOSED "C(i,j) = A(i,j) + B(j,i);"
#define BOTH_WAYS "C(i,j) = A(i,j) + B(j,i) + B(i,j);"
#define DIAGONAL "C(i,j) = A(i,j) + B(i,i);"

ParameterizedTestParameters(report_advice, rules)
{
    static struct advice_case cases[] = {
        /* B's map. */
        {"all at home", 4, 64, "block,*", "block,*", SUM, ""},
        {"rows dealt otherwise", 4, 64, "block,*", "cyclic,*", SUM,
         "C's owners need 75 % of B from other nodes: B is laid out by 'cyclic,*', C by 'block,*'; with 'block,*' for "
         "B, 0 "
         "instead of 12288 bytes would move"},
        {"rows that should be columns", 4, 64, "block,*", "block,*", TRANSPOSED,
         "with '*,block' for B, 0 instead of 12288 bytes"},
        /* Of 2 x 2 nodes, 1 and 2 exchange what they have; of 3 x 2, node 0 1, 2 3, 4 5 row by row, B's are 2 x 3. */
        {"exchanged in squares: nodes in another order", 4, 64, "block", "block", TRANSPOSED,
         "with 'block,block;nodes=0,2,1,3' for B, 0 instead of 8192"},
        {"exchanged in oblongs", 6, 60, "block", "block", TRANSPOSED,
         "with 'block,block@2x3;nodes=0,2,4,1,3,5' for B, 0"},
        {"exchanged in squares of listed nodes", 4, 64, "block;nodes=3,0,2,1", "block", TRANSPOSED,
         "with 'block,block;nodes=3,2,0-1' for B, 0 instead of"},
        {"of 8 x 8 nodes no list says the order", 64, 64, "block", "block", TRANSPOSED, ""},
        {"dealt pieces, transposed, of three", 3, 96, "rows:cyclic(16x32)", "rows:cyclic(32x16)", TRANSPOSED,
         "with 'columns:cyclic(32x16)' for B, 0 instead of"},
        {"read both ways: no map is better", 4, 64, "block,*", "block,*", BOTH_WAYS, ""},
        {"only an edge moves", 4, 64, "block,*", "block,*", "C(i,j) = A(i,j) + B(i - 1, j);", ""},
        {"one row for all is little", 4, 64, "block,*", "block,*", "C(i,j) = A(i,j) + B(0, j);", ""},
        {"split otherwise", 3, 64, "splits(10,50),*", "block,*", SUM, "with 'splits(10,50),*' for B, 0 instead of"},
        {"columns split as rows are", 3, 64, "splits(20,44),*", "block,*", TRANSPOSED,
         "with '*,splits(20,44)' for B, 0 instead of"},
        {"shuffled otherwise", 3, 64, "rows:hash(16x16);seed=1", "rows:hash(16x16);seed=2", SUM,
         "with 'rows:hash(16x16);seed=1' for B, 0 instead of"},
        {"boxes, transposed: none is known for B", 2, 64, "boxes:[0:32,0:64]@0,[32:64,0:64]@1", "block,*", TRANSPOSED,
         "C, A are laid out by 'boxes:[0:32,0:64]@0,[32:64,0:64]@1'; with '*,block' for all of them, 0 instead of 8192 "
         "bytes would move"},
        {"boxes for B as well", 2, 64, "boxes:[0:32,0:64]@1,[32:64,0:64]@0", "block,*", SUM,
         "with 'boxes:[0:32,0:64]@1,[32:64,0:64]@0' for B, 0 instead of"},
        {"of a sparse array other elements would be lost", 2, 64, "block,*", "rows:table(32x64);owners=1,-", SUM, ""},
        {"a sparse output has no place for the rest", 2, 64, "rows:table(32x64);owners=1,-", "*,block", SUM, ""},
        {"a sparse output is computed where it is stored", 2, 64, "rows:table(32x64);owners=1,-",
         "rows:table(32x64);owners=1,-", SUM, ""},
        /* The map that several have: 63 of 64 columns are read elsewhere, twice; in squares an edge of 64 is, twice. */
        {"neighbours along what is dealt", 4, 64, "*,cyclic", "*,cyclic", "C(i,j) = A(i,j - 1) + B(i,j + 1);",
         "C, A, B are laid out by '*,cyclic'; with 'block,*' for all of them, 0 instead of 32256 bytes would move"},
        {"neighbours along both axes", 4, 64, "cyclic", "cyclic", "C(i,j) = A(i - 1,j) + B(i,j + 1);",
         "with 'block,block' for all of them, 512 instead of 32256"},
        {"neighbours beyond the edge", 4, 64, "cyclic,*;halo=1,0;periodic=0", "cyclic,*;halo=1,0;periodic=0",
         "C(i,j) = A(i - 1,j) + B(i + 1,j);", "with '*,block;halo=1,0;periodic=0' for all of them, 0 instead of 32768"},
        {"a halo stays", 4, 64, "cyclic,*;halo=1,0", "cyclic,*;halo=1,0", "C(i,j) = A(i - 1,j) + B(i + 1,j);",
         "with '*,block;halo=1,0' for all of them, 0 instead of 32256"},
        {"dealt in runs of eight: an edge moves", 4, 64, "cyclic(8),*", "cyclic(8),*",
         "C(i,j) = A(i - 1,j) + B(i + 1,j);", ""},
        /* C's balance: 9 pieces over 4 nodes, and 16. */
        {"three pieces here, two there", 4, 96, "rows:cyclic(32x32)", "rows:cyclic(32x32)", SUM,
         "node 0 computes 1.33 times the mean of the nodes: C is laid out by 'rows:cyclic(32x32)'; with 'block' the "
         "largest share would be 1.00"},
        {"four pieces each", 4, 64, "rows:cyclic(16x16)", "rows:cyclic(16x16)", SUM, ""},
        /* Slots: 2 x 2 of 65 x 65 for 96 x 96, and 4 x 4 of 25 x 25. */
        {"pieces that are cut in half", 2, 96, "columns:cyclic(65x65)", "columns:cyclic(65x65)", SUM,
         "C, A, B: pieces of 65x65 are cut at the grid's edge and keep their slots, so there is room for 16900 "
         "elements "
         "where there are 9216; pieces of 48x48 take room for 9216"},
        {"pieces that are cut a little", 2, 96, "rows:block(25x25)", "rows:block(25x25)", SUM, ""},
        /* Runs: 15 and 16 floats. */
        {"short runs", 2, 60, "rows:cyclic(2x15)", "block,*", "C(i,j) = A(i,j) + B(0,0);",
         "C, A: pieces of 2x15 make runs of 60 bytes"},
        {"runs of a cache line", 2, 64, "rows:cyclic(2x16)", "block,*", "C(i,j) = A(i,j) + B(0,0);", ""},
        {"whole short rows are one run", 2, 8, "rows:cyclic(2x8)", "rows:cyclic(2x8)", SUM, ""},
        /* Tiles of 4 and of 4096 bytes. */
        {"tiles of one element", 2, 64, "block,*;tile=1x1", "block,*", SUM,
         "4096 tasks compute 4 bytes of C each, as tiles are 1x1"},
        {"tiles of 4 KB", 2, 1024, "block,*;tile=1x1024", "block,*", SUM, ""},
        /* Blocks of 4 and of 64 bytes: half of what each of two nodes reads of B(j,i). */
        {"blocks of one element", 2, 64, "block,*;block=1x1", "block,*;block=1x1", BOTH_WAYS,
         "B: blocks of 1x1 have 4 bytes, so 2048 are counted as moved for 8192 bytes; leave ;block= out, and 2 are"},
        {"blocks of a cache line", 2, 128, "block,*;block=1x16", "block,*;block=1x16", BOTH_WAYS, ""},
        {"a few small blocks", 2, 16, "block,*;block=1x1", "block,*;block=1x1", BOTH_WAYS, ""},
        /* Boxes around a diagonal. */
        {"a diagonal elsewhere", 4, 64, "block", "cyclic,*", DIAGONAL,
         "B at line 1, column 19: the boxes around what is read have 4096 elements, of which at most 128 are read; "
         "with "
         "DCL_TILE_BYTES="},
        {"a diagonal at home", 2, 64, "block,*", "block,*", DIAGONAL, ""},
    };
    return cr_make_param_array(struct advice_case, cases, sizeof cases / sizeof cases[0]);
}

ParameterizedTest(struct advice_case *c, report_advice, rules)
{
    dcl_cluster *cluster = dcl_open_plan(c->nodes);
    dcl_report *report = report_of(cluster, c->side, c->map, c->b, c->body);
    bool found = c->words[0] == '\0' && report->advice_count == 0;
    for (int n = 0; n < report->advice_count; n++)
        found |= c->words[0] != '\0' && strstr(report->advice[n], c->words) != NULL;
    cr_expect(found, "%s: %d sentences, the first: %s", c->what, report->advice_count,
              report->advice_count > 0 ? report->advice[0] : "none");
    cr_expect_str_eq(dcl_error(), "", "maps that were tried left an error: %s", dcl_error());
    dcl_report_release(report);
    cr_expect_eq(dcl_close(cluster), DCL_OK);
}

/* The map that a sentence proposes, and what it says would move with it. */
static int64_t proposed(const char *sentence, char map[80])
{
    int64_t bytes = -1;
    const char *words = strstr(sentence, "with '"), *end = words != NULL ? strstr(words, "' for ") : NULL;
    cr_assert(end != NULL && end - words - 6 < 80, "%s", sentence);
    snprintf(map, 80, "%.*s", (int)(end - words - 6), words + 6);
    cr_assert_eq(sscanf(strstr(end, ", "), ", %" SCNd64 " instead of", &bytes), 1, "%s", sentence);
    return bytes;
}

/* What is said to move with another map does, with it, and then there is nothing to say. */
Test(report_advice, keeps_its_word)
{
    static const struct {
        int nodes, side;
        const char *map, *b, *body;
        bool all; /* the advice is for all arrays */
    } cases[] = {
        {3, 60, "block,*", "cyclic(7),*", TRANSPOSED, false},
        {6, 60, "block", "block", TRANSPOSED, false},
        {4, 64, "block;nodes=3,0,2,1", "block", TRANSPOSED, false},
        {4, 61, "cyclic", "cyclic", "C(i,j) = A(i - 1,j) + B(i,j + 1);", true},
        {5, 61, "cyclic,*;periodic=0;halo=1,0", "cyclic,*;periodic=0;halo=1,0", "C(i,j) = A(i - 1,j) + B(i + 1,j);",
         true},
    };
    for (size_t n = 0; n < sizeof cases / sizeof cases[0]; n++) {
        char map[80];
        dcl_cluster *cluster = dcl_open_plan(cases[n].nodes);
        dcl_report *report = report_of(cluster, cases[n].side, cases[n].map, cases[n].b, cases[n].body);
        cr_assert_eq(report->advice_count, 1);
        int64_t promised = proposed(report->advice[0], map);
        cr_expect_eq(strstr(report->advice[0], "for all of them") != NULL, cases[n].all, "%s", report->advice[0]);
        dcl_report_release(report);
        report = report_of(cluster, cases[n].side, cases[n].all ? map : cases[n].map, map, cases[n].body);
        cr_expect_eq(report->planned.bytes_moved, promised, "%s", map);
        cr_expect_eq(report->advice_count, 0, "%s: %s", map, report->advice_count > 0 ? report->advice[0] : "");
        dcl_report_release(report);
        cr_expect_eq(dcl_close(cluster), DCL_OK);
    }
}

static void expect_one(const dcl_report *report, const char *words)
{
    cr_assert_not_null(report, "%s", dcl_error());
    cr_assert_eq(report->advice_count, 1, "%d sentences", report->advice_count);
    cr_expect_not_null(strstr(report->advice[0], words), "\"%s\" has not \"%s\"", report->advice[0], words);
}

/* Four nodes have 16 rows each. */
Test(report_advice, looks_behind_views)
{
    dcl_cluster *cluster = dcl_open_plan(4);
    dcl_grid grid = dcl_grid_2d(DCL_FLOAT, 64, 64);
    dcl_array *C = array_of(cluster, grid, "block,*"), *A = array_of(cluster, grid, "block,*");
    dcl_array *T = dcl_transpose(A), *upper = dcl_slice(C, (int64_t[]){0, 0}, (int64_t[]){32, 64}, NULL);
    dcl_report *report = dcl_explain_report(cluster, "C(i,j) = T(i,j);", DCL_OUT(C), DCL_IN(T));
    expect_one(report, "C's owners need 75 % of T from other nodes: T is laid out by 'block,*', C by 'block,*'; with "
                       "'*,block' for T, 0 instead of 12288 bytes");
    dcl_report_release(report);
    report = dcl_explain_report(cluster, "C(j,i) = T(i,j);", DCL_OUT(C), DCL_IN(T));
    cr_assert(report != NULL && report->advice_count == 0);
    dcl_report_release(report);
    report = dcl_explain_report(cluster, "upper(i,j) = 1;", DCL_OUT(upper));
    expect_one(report, "node 0 computes 2.00 times the mean of the nodes: upper is a view of an array laid out by "
                       "'block,*'; with 'cyclic(2),*' the largest share would be 1.00");
    dcl_report_release(report);
    cr_expect_eq(dcl_close(cluster), DCL_OK);
}

/* What a map of the flat grid would do is no advice for an array of two axes. */
Test(report_advice, knows_no_maps_of_other_shapes)
{
    dcl_cluster *cluster = dcl_open_plan(4);
    dcl_array *A = array_of(cluster, dcl_grid_2d(DCL_FLOAT, 64, 64), "block,*"), *F = dcl_flatten(A);
    dcl_array *C = array_of(cluster, dcl_grid_1d(DCL_FLOAT, 4096), "cyclic");
    dcl_report *report = dcl_explain_report(cluster, "C(i) = F(i);", DCL_OUT(C), DCL_IN(F));
    cr_assert_not_null(report, "%s", dcl_error());
    cr_expect_eq(report->planned.bytes_moved, 3 * 4096 * 4 / 4);
    expect_one(report, "C is laid out by 'cyclic'; with 'block' for it, 0 instead of 12288 bytes would move");
    dcl_report_release(report);
    cr_expect_eq(dcl_close(cluster), DCL_OK);
}

/* Two rows for four nodes: laid out by rows nothing would move, as two nodes would do all of it. */
Test(report_advice, leaves_no_node_idle)
{
    dcl_cluster *cluster = dcl_open_plan(4);
    dcl_grid grid = dcl_grid_2d(DCL_FLOAT, 2, 256);
    dcl_array *C = array_of(cluster, grid, "*,cyclic"), *A = array_of(cluster, grid, "*,cyclic");
    dcl_report *report = dcl_explain_report(cluster, "C(i,j) = A(i,j - 1);", DCL_OUT(C), DCL_IN(A));
    expect_one(report, "with 'block,block' for all of them, 8 instead of 2040 bytes would move");
    dcl_report_release(report);
    cr_expect_eq(dcl_close(cluster), DCL_OK);
}

/* A view and its array are laid out together; of another shape there is no map for both. */
Test(report_advice, takes_an_array_and_its_view_together)
{
    dcl_cluster *cluster = dcl_open_plan(4);
    dcl_grid grid = dcl_grid_2d(DCL_FLOAT, 64, 64);
    dcl_array *C = array_of(cluster, grid, "cyclic,*"), *A = array_of(cluster, grid, "cyclic,*");
    dcl_array *S = dcl_shift(A, (int64_t[]){0, 0}), *F = dcl_flatten(A);
    dcl_report *report =
        dcl_explain_report(cluster, "C(i,j) = A(i - 1,j) + S(i + 1,j);", DCL_OUT(C), DCL_IN(A), DCL_IN(S));
    expect_one(report, "C, A, S are laid out by 'cyclic,*'; with '*,block' for all of them, 0 instead of");
    dcl_report_release(report);
    report = dcl_explain_report(cluster, "C(i,j) = A(i - 1,j) + F(0);", DCL_OUT(C), DCL_IN(A), DCL_IN(F));
    cr_assert(report != NULL && report->planned.bytes_moved > 16000, "%s", dcl_error());
    cr_expect_eq(report->advice_count, 0, "%s", report->advice_count > 0 ? report->advice[0] : "");
    dcl_report_release(report);
    cr_expect_eq(dcl_close(cluster), DCL_OK);
}

Test(report_advice, looks_at_the_part_that_is_computed)
{
    dcl_cluster *cluster = dcl_open_plan(4);
    dcl_grid grid = dcl_grid_2d(DCL_FLOAT, 64, 64);
    dcl_array *C = array_of(cluster, grid, "block,*");
    dcl_box part = dcl_box_of(&grid);
    dcl_arg args[] = {DCL_OUT(C)};
    part.start[0] = 32;
    part.count[0] = 32;
    dcl_report *report = dcl_call_report(DCL_CALL_BODY_N(cluster, &part, "C(i,j) = 1;", 1, args), DCL_ALL_NODES);
    expect_one(report,
               "node 2 computes 2.00 times the mean of the nodes: C is computed in a part that lies unevenly by "
               "'block,*'; with 'cyclic(2),*' the largest share would be 1.00");
    dcl_report_release(report);
    part.start[0] = 0;
    part.stride[0] = 2; /* half of everybody's rows */
    report = dcl_call_report(DCL_CALL_BODY_N(cluster, &part, "C(i,j) = 1;", 1, args), DCL_ALL_NODES);
    cr_assert(report != NULL && report->advice_count == 0);
    dcl_report_release(report);
    cr_expect_eq(dcl_close(cluster), DCL_OK);
}

/* The default map keeps small arrays on one node on purpose. */
Test(report_advice, small_arrays_are_left_alone)
{
    dcl_cluster *cluster = dcl_open_plan(4);
    dcl_map *map = dcl_map_default(cluster);
    dcl_array *C = dcl_agile(dcl_grid_1d(DCL_FLOAT, 1000), map);
    dcl_report *report = dcl_explain_report(cluster, "C(i) = i;", DCL_OUT(C));
    cr_assert_not_null(report, "%s", dcl_error());
    cr_expect(report->imbalance_elements == 4 && report->advice_count == 0);
    dcl_report_release(report);
    dcl_release(map);
    cr_expect_eq(dcl_close(cluster), DCL_OK);
}

/* ---- printing ----------------------------------------------------------------------------------------------------- */

static char *print(const dcl_report *report, dcl_report_format format)
{
    size_t length = dcl_report_print(report, format, NULL, 0);
    char *text = malloc(length + 1), few[8];
    cr_assert_not_null(text);
    cr_expect_eq(dcl_report_print(report, format, text, length + 1), length);
    cr_expect_eq(strlen(text), length);
    cr_expect_eq(dcl_report_print(report, format, few, sizeof few), length);
    cr_expect(strncmp(few, text, sizeof few - 1) == 0 && few[sizeof few - 1] == '\0');
    return text;
}

Test(report_text, is_tables_and_sentences)
{
    dcl_cluster *cluster = dcl_open_plan(2);
    dcl_report *report = report_of(cluster, 8, "block,*", "cyclic,*", SUM);
    char *text = print(report, DCL_REPORT_TEXT);
    static const char expected[] =
        "node  tasks  blocks_moved  bytes_moved  messages_planned  approximate  elements  staged_bytes  arrived_bytes  "
        "copied_bytes  name\n"
        "   0      1             2           64                 1            0        32           128             64  "
        "           0  planned\n"
        "   1      1             2           64                 1            0        32           128             64  "
        "           0  planned\n"
        " all      2             4          128                 2            0\n"
        "Largest share of a node / mean: 1.00 of the elements, 1.00 of the bytes moved.\n"
        "\n"
        "Between nodes, by owner of the elements:\n"
        "owner  user  blocks  bytes  messages  bytes_read  bytes_written  way\n"
        "    1     0       2     64         1          64              0  send\n"
        "    0     1       2     64         1          64              0  send\n"
        "\n"
        "Arrays:\n"
        "name  read  written  elements  stored  bytes_moved  map\n"
        "C     no    yes            64      64            0  block,*\n"
        "A     yes   no             64      64            0  block,*\n"
        "B     yes   no             64      64          128  cyclic,*\n"
        "\n"
        "Advice:\n"
        "- C's owners need 50 % of B from other nodes: B is laid out by 'cyclic,*', C by 'block,*'; with 'block,*' for "
        "B, "
        "0 instead of 128 bytes would move\n";
    cr_expect_str_eq(text, expected, "%s", text);
    free(text);
    dcl_report_release(report);
    cr_expect_eq(dcl_close(cluster), DCL_OK);
}

Test(report_text, is_json)
{
    dcl_cluster *cluster = dcl_open_plan(2);
    dcl_array *C = array_of(cluster, dcl_grid_1d(DCL_FLOAT, 4), "block"),
              *A = array_of(cluster, dcl_grid_2d(DCL_FLOAT, 4, 4), "block,*");
    dcl_arg args[] = {DCL_OUT(C), DCL_IN(A)};
    dcl_report *report = dcl_call_report(DCL_CALL_BODY_N(cluster, NULL, "C(i) = A(3 - i, 3 - i);", 2, args), 1);
    cr_assert_not_null(report, "%s", dcl_error());
    char *text = print(report, DCL_REPORT_JSON);
    static const char expected[] =
        "{\"nodes\": 2, \"node\": 1, \"tasks\": 1, \"blocks_moved\": 1, \"bytes_moved\": 16, \"messages_planned\": 1, "
        "\"approximate\": 1, \"per_node\": [{\"node\": 1, \"tasks\": 1, \"blocks_moved\": 1, \"bytes_moved\": 16, "
        "\"messages_planned\": 1, \"approximate\": 1, \"elements\": 2, \"staged_bytes\": 16, \"arrived_bytes\": 16, "
        "\"copied_bytes\": 0, \"name\": \"planned\"}], \"pairs\": [{\"owner\": 0, \"user\": 1, \"blocks\": 1, "
        "\"bytes\": 16, \"messages\": "
        "1, "
        "\"bytes_read\": 16, \"bytes_written\": 0, \"way\": \"send\"}], \"arrays\": [{\"name\": \"C\", \"read\": "
        "false, \"written\": "
        "true, "
        "\"elements\": 4, \"stored\": 4, \"bytes_moved\": 0, \"map\": \"block\"}, {\"name\": \"A\", \"read\": true, "
        "\"written\": false, \"elements\": 16, \"stored\": 16, \"bytes_moved\": 16, \"map\": \"block,*\"}], "
        "\"footprints\": [{\"name\": \"A\", \"line\": 1, \"column\": 8, \"elements\": 4, \"read_at_most\": 2}], "
        "\"indices\": [], \"method\": null, \"all_to_all\": null, \"balanced_map\": null, \"balanced_ns\": 0, "
        "\"unbalanced_ns\": 0, "
        "\"advice\": []}\n";
    cr_expect_str_eq(text, expected, "%s", text);
    free(text);
    dcl_report_release(report);
    cr_expect_eq(dcl_report_print(NULL, DCL_REPORT_JSON, NULL, 0), 0);
    cr_expect_eq(dcl_close(cluster), DCL_OK);
}

/* Of long tables the rows that matter, and how many more there are. */
Test(report_text, of_many_pairs_has_the_largest)
{
    dcl_cluster *cluster = dcl_open_plan(12);
    dcl_report *report = report_of(cluster, 96, "block,*", "block,*", TRANSPOSED);
    char *text = print(report, DCL_REPORT_TEXT);
    cr_expect_eq(report->pair_count, 12 * 11);
    cr_expect_not_null(strstr(text, "Between nodes, the pairs with the most bytes first:"), "%s", text);
    cr_expect_not_null(strstr(text, "... and 92 more\n"), "%s", text);
    free(text);
    dcl_report_release(report);
    cr_expect_eq(dcl_close(cluster), DCL_OK);
}
