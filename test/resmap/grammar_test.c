/* test/resmap/grammar_test.c - maps as text: what is read, how it is printed, what is refused and with which words. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <string.h>

#include <dcl/map.h>

#include "resmap/fake_cluster.h"

struct text_row {
    char text[64];
    int nodes;
    char printed[64];
};

ParameterizedTestParameters(grammar, accepted)
{
    static struct text_row rows[] = {
        {"block", 4, "block"},
        {"cyclic", 4, "cyclic"},
        {"cyclic(2048)", 3, "cyclic(2048)"},
        {"*", 1, "*"},
        {"block,*", 4, "block,*"},
        {"block(3),cyclic(2)", 6, "block(3),cyclic(2)"},
        {"block,cyclic(2),*@2x3x1", 6, "block,cyclic(2),*@2x3x1"},
        {"block,cyclic(2),*@2x3", 6, "block,cyclic(2),*@2x3x1"},
        {"*,block,*@4", 4, "*,block,*@1x4x1"},
        {"block@4", 4, "block@4"},
        {"block@2x2", 4, "block,block@2x2"},
        {"cyclic(2)@1x4", 4, "cyclic(2),cyclic(2)@1x4"},
        {"rows:cyclic", 3, "rows:cyclic"},
        {"rows:block", 3, "rows:block"},
        {"columns:cyclic(2x2)", 4, "columns:cyclic(2x2)"},
        {"columns:block(5)", 4, "columns:block(5)"},
        {"rows:cyclic(1x2x3x4x5x6x7x8)", 4, "rows:cyclic(1x2x3x4x5x6x7x8)"},
        {"block;block=1024x1024", 4, "block;block=1024x1024"},
        {"block;tile=512x512", 4, "block;tile=512x512"},
        {"rows:cyclic(2048x2048);tile=1024x1024;block=2048x1024", 4,
         "rows:cyclic(2048x2048);block=2048x1024;tile=1024x1024"},
        {" block , cyclic ( 2 ) @ 2 x 2 ; tile = 3 x 3 ", 4, "block,cyclic(2)@2x2;tile=3x3"},
        {"cyclic(9223372036854775807)", 2, "cyclic(9223372036854775807)"},
        {"block;nodes=0-1,3", 4, "block;nodes=0-1,3"},
        {"block;nodes=0,1,2-3,5", 7, "block;nodes=0-3,5"}, /* neighbours are one range */
        {"block;nodes=0-3", 4, "block"},                   /* all of them */
        {"block;nodes=0-2", 4, "block;nodes=0-2"},
        {"block;nodes=2,1", 4, "block;nodes=2,1"},
        {"block;nodes=2-3,0-1", 4, "block;nodes=2-3,0-1"},
        {"block;nodes=3,0,1,2", 4, "block;nodes=3,0-2"},
        {"*;nodes=3", 4, "*;nodes=3"},
        {"block@3;nodes=0,2,4", 6, "block@3;nodes=0,2,4"},
        {"block,*@3;nodes=1-3", 5, "block,*@3x1;nodes=1-3"},
        {"rows:cyclic(2x2) ; nodes = 0 - 1 , 3 ; tile = 2x2", 4, "rows:cyclic(2x2);tile=2x2;nodes=0-1,3"},
        {"block;nodes=999,4000-4095", 4096, "block;nodes=999,4000-4095"},
        {"splits(3,7)", 3, "splits(3,7)"},
        {"rows:hash", 3, "rows:hash"},
        {"replicated", 3, "replicated"},
        {"replicated(3)", 3, "replicated"},
        {" replicated ( 2 ) ;nodes=0,2-3", 4, "replicated(2);nodes=0,2-3"},
        {"columns:hash(2x2);seed=7;tile=4x4", 3, "columns:hash(2x2);seed=7;tile=4x4"},
        {"rows:hash;seed=0", 3, "rows:hash"},
        {"rows:table(2);owners=0,0,0,2*2,1", 3, "rows:table(2);owners=0*3,2*2,1"},
        {"rows:table;owners=3*9,1;nodes=1,3", 4, "rows:table;owners=3*9,1;nodes=1,3"},
        {"boxes:[0:4,0:6]@0,[4:8,-2:6]@1", 2, "boxes:[0:4,0:6]@0,[4:8,-2:6]@1"},
        {" boxes : [ -3 : 4 ] @ 2 ; tile = 5", 3, "boxes:[-3:4]@2;tile=5"},
        {"splits( 3 , 7 ) , block", 4, "splits(3,7),block"},
        {"splits(16),splits(16)@2x2", 4, "splits(16),splits(16)@2x2"},
        {"splits(16)@2", 2, "splits(16)@2"},
        {"splits(16)@2x1", 2, "splits(16),*@2x1"},
        {"weighted(3:0:1)", 3, "weighted(3:0:1)"},
        {"weighted(3:1),cyclic", 6, "weighted(3:1),cyclic"},
        {"*,weighted(1:1:2)@1x3", 3, "*,weighted(1:1:2)@1x3"},
        {"rows:table(2x2);owners=0*3,-*2,1", 2, "rows:table(2x2);owners=0*3,-*2,1"},
        {"rows:table;owners=-,-,0,-*1", 1, "rows:table;owners=-*2,0,-"},
        {"block ; every = 2 x 3", 4, "block;every=2x3"},
        {"cyclic;every=1x1", 4, "cyclic"},
        {"block;rest=-1.50;nodes=0-1;every=2", 4, "block;nodes=0-1;every=2;rest=-1.5"},
        {"block;rest=1e-3", 4, "block;rest=0.001"},
        {"block;rest=0.1", 4, "block;rest=0.1"},
        {"block;rest=0", 4, "block"},
        {"block;rest=-0", 4, "block;rest=-0"},
        {"block;rest=NaN", 4, "block;rest=nan"},
        {"block;rest=-inf", 4, "block;rest=-inf"},
    };
    return cr_make_param_array(struct text_row, rows, sizeof rows / sizeof rows[0]);
}

ParameterizedTest(struct text_row *row, grammar, accepted)
{
    char printed[128];
    dcl_map *map = dcl_map_parse(test_cluster(row->nodes), row->text);
    cr_assert_not_null(map, "%s: %s", row->text, dcl_error());
    cr_expect_eq(dcl_map_print(map, printed, sizeof printed), strlen(row->printed));
    cr_expect_str_eq(printed, row->printed, "%s: printed as %s; expected %s", row->text, printed, row->printed);
    dcl_map *again = dcl_map_parse(test_cluster(row->nodes), printed);
    cr_expect(dcl_map_equal(map, again), "%s: %s reads back to another map", row->text, printed);
    dcl_map_release(map);
    dcl_map_release(again);
}

struct refused_row {
    char text[64];
    int nodes;
    char words[80];
};

ParameterizedTestParameters(grammar, refused)
{
    static struct refused_row rows[] = {
        {"", 4, "column 1: found the end; expected block, cyclic, splits, weighted or *"},
        {"   ", 4, "column 4: found the end"},
        {"blok", 4, "column 1: found \"blok\"; expected block"},
        {"blocks", 4, "column 1: found \"blocks\""},
        {"BLOCK", 4, "found \"BLOCK\"; expected block"},
        {"block,", 4, "column 7: found the end"},
        {"block;", 4, "column 7: found the end; expected block=, tile=, nodes=, every="},
        {"block(", 4, "column 7: found the end; expected a size of at least 1"},
        {"block()", 4, "column 7: found \")\"; expected a size"},
        {"block(0)", 4, "column 7: found \"0)\"; expected a size of at least 1"},
        {"block(-3)", 4, "column 7: found \"-3)\""},
        {"block(2", 4, "column 8: found the end; expected \")\""},
        {"block(2x2)", 4, "column 8: found \"x2)\"; expected \")\" after the one size"},
        {"block block", 4, "column 7: found \"block\"; expected \",\", \"@\", \";\" or the end"},
        {"cyclic(99999999999999999999)", 4, "column 8: found \"99999999999999999999"},
        {"cyclic(9223372036854775808)", 4, "expected a size of at least 1 element, below 2^63"},
        {"block@2147483648", 4, "found \"2147483648\"; expected a number of nodes, at least 1 and below 2^31"},
        {"*(2),block", 4, "column 2: found \"(2),block\""},
        {"block,cyclic@", 4, "column 14: found the end; expected a number of nodes"},
        {"block,cyclic@0x4", 4, "column 14: found \"0x4\"; expected a number of nodes, at least 1"},
        {"block,cyclic@4", 4, "column 14: found \"4\"; expected 2 numbers of nodes"},
        {"block,*,*@1x4", 4, "column 11: found \"1x4\"; expected 3 numbers of nodes, one for each axis (or 1,"},
        {"block,cyclic@2x2x1", 4, "found \"2x2x1\"; expected 2 numbers"},
        {"block,cyclic@2x2y", 4, "column 17: found \"y\""},
        {"block,cyclic@2x3", 4, "the arrangement has 6 nodes; expected 4"},
        {"block,*@2x2", 4, "nodes[1] is 2; expected 1, for axis 1 is whole"},
        {"block@2x3x4x5x6x7x8x99999", 4, "the arrangement has at least 1000001 nodes; expected 4"},
        {"*", 4, "every axis is whole (`*`) and there are 4 nodes"},
        {"*,*", 2, "every axis is whole"},
        {"block,block,block,block,block,block,block,block,block", 4, "expected at most 8 axes"},
        {"rows", 4, "column 5: found the end; expected \":\" after rows or columns"},
        {"rows:", 4, "column 6: found the end; expected cyclic, block, hash or table after"},
        {"rows:dealt", 4, "column 6: found \"dealt\"; expected cyclic, block, hash or table"},
        {"rows:*", 4, "column 6: found \"*\""},
        {"rows:cyclic(2x)", 4, "column 15: found \")\"; expected the elements of a piece"},
        {"rows:cyclic(2x0)", 4, "column 15: found \"0)\"; expected the elements of a piece, at least 1"},
        {"rows:cyclic(2,2)", 4, "column 14: found \",2)\"; expected \"x\" and another size"},
        {"rows:cyclic(1x1x1x1x1x1x1x1x1)", 4, "expected at most 8 numbers"},
        {"rows:cyclic(2x2)@2x2", 4, "column 17: found \"@2x2\"; expected \";\" or the end"},
        {"column:block", 4, "column 1: found \"column:block\""},
        {"rows,columns", 4, "column 5: found \",columns\""},
        {"block;grain=2", 4, "column 7: found \"grain=2\"; expected block=, tile=, nodes=, every="},
        {"block;block", 4, "column 12: found the end; expected \"=\" and sizes"},
        {"block;tile=0x2", 4, "column 12: found \"0x2\"; expected the elements of a tile"},
        {"block;tile=2x2;tile=4x4", 4, "column 20: found \"=4x4\"; expected a grain that was not given before"},
        {"block;tile=2x2;block=2", 4, "the block has 1 sizes and the tile 2"},
        {"block,block;tile=2x2x2", 4, "a tile has 3 sizes and the map divides 2 axes"},
        {"rows:cyclic(2x2);block=2", 4, "a block has 1 sizes and the map divides 2 axes"},
        {"block;tile=2x2 block=2", 4, "column 16: found \"block=2\"; expected \";\" or the end"},
        {"block;nodes", 4, "column 12: found the end; expected \"=\" and nodes such as 0-1,3"},
        {"block;nodes=", 4, "column 13: found the end; expected a node of the cluster, 0..3"},
        {"block;nodes=4", 4, "column 13: found \"4\"; expected a node of the cluster, 0..3"},
        {"block;nodes=0-4", 4, "column 15: found \"4\"; expected a node of the cluster, 0..3"},
        {"block;nodes=0-99999999999999999999", 4, "column 15: found \"99999999999999999999\""},
        {"block;nodes=1,1", 4, "column 15: found \"1\"; expected a node of the cluster, 0..3, that was not named"},
        {"block;nodes=3,0-3", 4, "column 15: found \"0-3\"; expected a node of the cluster, 0..3, that was not named"},
        {"block;nodes=2-1", 4, "column 15: found \"1\"; expected a node of the cluster, 2..3"},
        {"block;nodes=0-", 4, "column 15: found the end; expected a node of the cluster"},
        {"block;nodes=0,", 4, "column 15: found the end; expected a node of the cluster"},
        {"block;nodes=-1", 4, "column 13: found \"-1\"; expected a node of the cluster"},
        {"block;nodes=0;nodes=1", 4, "column 20: found \"=1\"; expected nodes that were not given before"},
        {"block;nodes=0 1", 4, "column 15: found \"1\"; expected \";\" or the end"},
        {"block,cyclic@2x2;nodes=0-2", 4, "the arrangement has 4 nodes; expected 3, the nodes of the map"},
        {"*;nodes=0,2", 4, "every axis is whole (`*`) and there are 2 nodes"},
        {"rows:hash;seed", 4, "column 15: found the end; expected \"=\" and a number"},
        {"rows:hash;seed=x", 4, "column 16: found \"x\"; expected a seed, 0..2147483647"},
        {"rows:hash;seed=5;seed=6", 4, "column 22: found \"=6\"; expected a seed that was not given before"},
        {"rows:cyclic;seed=3", 4, "a seed is given, 3, and the pieces are not hashed"},
        {"block;seed=3", 4, "column 7: found \"seed=3\"; expected block=, tile=, nodes=, every="},
        {"rows:table", 4, "the map is a table without owners"},
        {"rows:table;owners", 4, "column 18: found the end; expected \"=\" and the nodes of the pieces"},
        {"rows:table;owners=4", 4, "column 19: found \"4\"; expected a node of the cluster, 0..3"},
        {"rows:table;owners=1*0", 4, "column 21: found \"0\"; expected a number of pieces, at least 1"},
        {"rows:table;owners=1;owners=1", 4, "column 27: found \"=1\"; expected owners that were not given before"},
        {"rows:table;owners=1;nodes=0", 4, "the owner of piece 0 is node 1; expected one of the map's nodes: 0; "},
        {"rows:block;owners=1", 4, "owners are listed and the map is not a table"},
        {"replicated(0)", 4, "column 12: found \"0)\"; expected a number of nodes, at least 1"},
        {"replicated(2", 4, "column 13: found the end; expected \")\" after the number of nodes"},
        {"replicated(5)", 4, "the map is for copies on 5 nodes; expected 1..4"},
        {"replicated(3);nodes=1-2", 4, "the map is for copies on 3 nodes; expected 1..2"},
        {"replicated,*", 4, "column 11: found \",*\""},
        {"rows:table;owners=0*2,-*", 4, "column 25: found the end; expected a number of pieces, at least 1"},
        {"rows:table;owners=x", 4, "expected a node of the cluster, 0..3, or - for pieces that are stored"},
        {"block;every", 4, "column 12: found the end; expected \"=\" and steps such as 2x3"},
        {"block;every=0", 4, "column 13: found \"0\"; expected a step of at least 1 along each axis"},
        {"block;every=2;every=3", 4, "column 20: found \"=3\"; expected steps that were not given before"},
        {"block,block;every=2", 4, "every so many-th element of 1 axes (;every=) and divides 2"},
        {"boxes:[0:4]@0;every=2", 4, "a map of listed boxes is to store every so many-th element only"},
        {"block;rest", 4, "column 11: found the end; expected \"=\" and a number"},
        {"block;rest=", 4, "column 12: found the end; expected a number, what elements that are stored"},
        {"block;rest=1,5", 4, "column 13: found \",5\"; expected \";\" or the end"},
        {"boxes", 4, "column 6: found the end; expected \":\" after boxes"},
        {"boxes:", 4, "column 7: found the end; expected \"[\" and a box"},
        {"boxes:[0:4", 4, "column 11: found the end; expected \",\" and another axis, or \"]\""},
        {"boxes:[0:4]", 4, "column 12: found the end; expected \"@\" and the node"},
        {"boxes:[0:4]@4", 4, "column 13: found \"4\"; expected a node of the cluster, 0..3"},
        {"boxes:[4:4]@0", 4, "expected a box that is not empty"},
        {"boxes:[0 4]@0", 4, "column 10: found \"4]@0\"; expected \":\" and the index behind"},
        {"boxes:[0:4]@0,[0:4,0:4]@0", 4, "expected boxes of as many axes as the first"},
        {"rows:table;owners=2;nodes=0-1,3", 4, "is node 2; expected one of the map's nodes: 0-1,3; or DCL_NOWHERE"},
        {"boxes:[0:4]@1;nodes=0", 4, "box 0 is for node 1; expected one of the map's nodes: 0; "},
        {"splits", 4, "column 7: found the end; expected \"(\" and split points"},
        {"splits()", 4, "column 8: found \")\"; expected a split point of at least 1"},
        {"splits(0,3)", 4, "column 8: found \"0,3)\"; expected a split point of at least 1"},
        {"splits(3", 4, "column 9: found the end; expected \",\" and another split point, or \")\""},
        {"splits(3,3)", 4, "axes[0].points[1] is 3; expected 4.."},
        {"block,splits(5,4)", 4, "axes[1].points[1] is 4; expected 6.."},
        {"weighted", 4, "column 9: found the end; expected \"(\" and shares"},
        {"weighted(1,1)", 4, "column 11: found \",1)\"; expected \":\" and another share"},
        {"weighted(1:1)", 4, "the shares are for 2 nodes and the map has 4; expected as many"},
        {"weighted(1:1:1),block", 4, "the shares are for 3 nodes and the map has 4; expected a divisor"},
        {"weighted(1:1),block@4x1", 4, "nodes[0] is 4; expected 2, for axis 0 has as many shares"},
        {"weighted(1)", 4, "the shares are for 1 nodes and the map has 4; expected as many"},
        {"weighted(0:0)", 2, "the shares of axes[0] are all 0"},
        {"weighted(2147483647:1)", 2, "axes[0].points[1] is 1; expected a share of at least 0, all together at most"},
        /* what fits stands behind it */
        {"block,blok", 4, "the start; a map reads like block,cyclic(2),*@2x3x1 or rows:cyclic(2x2);block"},
        {"block,*@2y2", 4, "the end; an arrangement of nodes reads like block,cyclic(2),*@2x3x1"},
        {"rows:blok", 4, "rows: or columns:; dealt pieces read like rows:cyclic(2x2) or columns:block"},
        {"rows:cyclic(2x2)x", 4, "expected \";\" or the end; dealt pieces read like"},
        {"splits(3", 4, "or \")\"; split points read like splits(3,7)"},
        {"weighted(1,1)", 4, "or \")\"; shares read like weighted(3:1:2)"},
        {"splits(3),blok", 4, "a map reads like block"},
        {"replicated(0)", 4, "below 2^31; copies read like replicated or replicated(2)"},
        {"boxes:[0:4]", 4, "the node of the box; boxes read like boxes:[0:4,0:6]@0,[4:8,0:6]@1"},
        {"block;block", 4, "\"=\" and sizes; grains read like ;block=512x512;tile=256x256"},
        {"block;nodes=4", 4, "named before; nodes read like ;nodes=0-1,3"},
        {"block;every=0", 4, "below 2^63; steps read like ;every=2x3"},
        {"block;rest=x", 4, "nowhere read as; a rest reads like ;rest=-1.5"},
        {"block;halo=x", 4, "at most 2^40; a halo reads like ;halo=1 or ;halo=1:2,0"},
        {"block;halo=1 1", 4, "expected \";\" or the end; a halo reads like ;halo=1 or"},
        {"block;halo=1;periodic=x", 4, "* for all; periodic axes read like ;periodic=0,1 or ;periodic=*"},
        {"rows:hash;seed=x", 4, "a seed, 0..2147483647; a seed reads like ;seed=7"},
        {"rows:table;owners=x", 4, "nowhere; owners read like rows:table(2x2);owners=0*3,-,1*2"},
        {"block;halo=1;hallo", 4, "what follows a map reads like ;block=1024x1024, ;nodes=0-1,3 or ;halo=1"},
        {"a map that is much longer than what is quoted", 4, "found \"a map that is much l...\""},
    };
    return cr_make_param_array(struct refused_row, rows, sizeof rows / sizeof rows[0]);
}

ParameterizedTest(struct refused_row *row, grammar, refused)
{
    dcl_map *map = dcl_map_parse(test_cluster(row->nodes), row->text);
    cr_assert_null(map, "\"%s\" was accepted", row->text);
    cr_expect_not_null(strstr(dcl_error(), row->words), "\"%s\": %s; expected the words: %s", row->text, dcl_error(),
                       row->words);
    cr_expect_eq(strncmp(dcl_error(), "dcl_map_parse: ", 15), 0, "%s", dcl_error());
}

Test(grammar, printing_is_cut_like_snprintf)
{
    char text[8] = "unused";
    dcl_map *map = dcl_map_parse(test_cluster(4), "rows:cyclic(20x30)");
    cr_expect_eq(dcl_map_print(map, NULL, 0), 18);
    cr_expect_eq(dcl_map_print(map, text, sizeof text), 18);
    cr_expect_str_eq(text, "rows:cy");
    cr_expect_eq(dcl_map_print(map, text, 1), 18);
    cr_expect_str_eq(text, "");
    cr_expect_eq(dcl_map_print(NULL, text, sizeof text), 0);
    dcl_map_release(map);
}

/* Put one letter in the place of another, before it, or take it away. */
static void mistype(char text[], uint64_t *random)
{
    static const char letters[] = "blockyi,@()x:;= *1209\n-";
    *random = *random * UINT64_C(6364136223846793005) + 1;
    size_t length = strlen(text), at = (*random >> 33) % (length + 1);
    char letter = letters[(*random >> 43) % (sizeof letters - 1)];
    switch ((*random >> 53) % 3) {
    case 0:
        memmove(text + at + 1, text + at, length + 1 - at);
        text[at] = letter;
        break;
    case 1:
        if (at < length)
            text[at] = letter;
        break;
    case 2:
        if (at < length)
            memmove(text + at, text + at + 1, length - at);
        break;
    }
}

/* Any text is read or refused, and what is read prints as what is read again. */
Test(grammar, mistyped_maps)
{
    static const char *const maps[] = {"block",
                                       "cyclic(12),*@4x1;tile=2x9",
                                       "rows:cyclic(2x2)",
                                       "columns:block",
                                       "*,block(3),cyclic@1x2x2;block=1x1x1",
                                       "cyclic;nodes=0-1,3;block=2",
                                       "splits(1,20),*@4x1",
                                       "weighted(2:1:0:9)",
                                       "rows:hash(3);seed=1",
                                       "rows:table;owners=0*2,1",
                                       "boxes:[0:2,-1:2]@1,[2:9,1:2]@0"};
    uint64_t random = 7;
    int accepted = 0;
    for (int k = 0; k < 20000; k++) {
        char text[96], printed[128];
        strcpy(text, maps[k % 11]);
        for (int times = 0; times <= k % 3; times++)
            mistype(text, &random);
        dcl_map *map = dcl_map_parse(test_cluster(4), text);
        if (map == NULL) {
            cr_assert_not_null(strstr(dcl_error(), "expected"), "seed 7, text %d \"%s\": %s", k, text, dcl_error());
            continue;
        }
        accepted++;
        dcl_map_print(map, printed, sizeof printed);
        dcl_map *again = dcl_map_parse(test_cluster(4), printed);
        cr_assert(dcl_map_equal(map, again), "seed 7, text %d \"%s\" prints as \"%s\"", k, text, printed);
        dcl_map_release(map);
        dcl_map_release(again);
    }
    cr_expect_gt(accepted, 200);
}
