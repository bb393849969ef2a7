/* The way between two nodes, from what they can do. */
#include <criterion/criterion.h>

#include <stdio.h>
#include <string.h>

#include "base/ways.h"

enum { NODES = 5 };

/* Two processors and a GPU of one process or host, and a processor and a GPU that nobody shares memory with. */
static void make(const char *setting, dcli_node_ways ways_out[NODES])
{
    static const dcli_node_ways ways[NODES] = {{.can = DCLI_CAN_ALL},
                                               {.can = DCLI_CAN_ALL},
                                               {.can = DCLI_CAN_SHARE},
                                               {.can = DCLI_CAN_ALL, .group = 3},
                                               {.can = DCLI_CAN_SHARE, .group = 4}};
    for (int n = 0; n < NODES; n++) {
        ways_out[n] = ways[n];
        ways_out[n].can &= dcli_ways_allowed(setting, false);
    }
}

/* For each reader a word of letters: p, s or - for place, slots and send, by owner; itself is left out. */
static void write_ways(const dcli_node_ways ways[NODES], char text_out[64])
{
    int length = 0;
    for (int r = 0; r < NODES; r++)
        for (int o = 0; o <= NODES; o++)
            text_out[length++] = o == NODES ? ' ' : o == r ? '.' : "-sp"[dcli_way_between(&ways[r], &ways[o])];
    text_out[length - 1] = '\0';
}

Test(ways, are_chosen_for_each_pair)
{
    static const struct {
        const char *setting, *ways;
    } cases[] = {{"auto", ".ps-- p.s-- ss.-- ---.- ----."},
                 {"place", ".ps-- p.s-- ss.-- ---.- ----."},
                 {"slots", ".ss-- s.s-- ss.-- ---.- ----."},
                 {"send", ".---- -.--- --.-- ---.- ----."}};
    for (size_t n = 0; n < sizeof cases / sizeof cases[0]; n++) {
        dcli_node_ways ways[NODES];
        char text[64];
        make(cases[n].setting, ways);
        write_ways(ways, text);
        cr_expect_str_eq(text, cases[n].ways, "%s: %s", cases[n].setting, text);
    }
}

/* GPUs read parts of GPUs, processors those of processors; each is sent what it reads of the others. */
Test(ways, gpus_read_gpus)
{
    dcli_node_ways gpu = {.can = dcli_ways_of_device(false, true)}, plain = {.can = dcli_ways_of_device(false, false)},
                   processor = {.can = dcli_ways_of_device(true, false)};
    cr_expect_eq(dcli_way_between(&gpu, &gpu), DCLI_WAY_PLACE);
    cr_expect_eq(dcli_way_between(&processor, &processor), DCLI_WAY_PLACE);
    cr_expect_eq(dcli_way_between(&gpu, &processor), DCLI_WAY_SLOTS);
    cr_expect_eq(dcli_way_between(&processor, &gpu), DCLI_WAY_SLOTS);
    cr_expect_eq(dcli_way_between(&gpu, &plain), DCLI_WAY_SLOTS);
    cr_expect_eq(gpu.can & dcli_ways_allowed("place", false), gpu.can);
    cr_expect_eq(gpu.can & dcli_ways_allowed("auto", false), plain.can, "threads: only when it is asked for");
    cr_expect_eq(gpu.can & dcli_ways_allowed("auto", true), gpu.can, "processes");
    gpu.can &= dcli_ways_allowed("slots", true);
    cr_expect_eq(dcli_way_between(&gpu, &gpu), DCLI_WAY_SLOTS);
}

/* A newcomer was not shown parts that were made before: it shows its own, and is sent what it reads. */
Test(ways, a_node_may_be_read_that_does_not_read)
{
    dcli_node_ways old = {.can = DCLI_CAN_ALL}, newcomer = {.can = DCLI_CAN_SHOW | DCLI_CAN_SHARE};
    cr_expect_eq(dcli_way_between(&old, &newcomer), DCLI_WAY_PLACE);
    cr_expect_eq(dcli_way_between(&newcomer, &old), DCLI_WAY_SLOTS);
}

Test(ways, what_is_demanded_must_be_possible)
{
    static const struct {
        const char *setting;
        int nodes, reader, owner; /* reader -1: it is possible */
    } cases[] = {{"auto", 5, -1, -1}, {"send", 5, -1, -1},  {"place", 1, -1, -1}, {"place", 2, -1, -1},
                 {"place", 3, 0, 2},  {"slots", 3, -1, -1}, {"slots", 4, 0, 3}};
    for (size_t n = 0; n < sizeof cases / sizeof cases[0]; n++) {
        dcli_node_ways ways[NODES];
        int reader = -1, owner = -1;
        make(cases[n].setting, ways);
        bool unmet = dcli_ways_find_unmet(cases[n].setting, ways, cases[n].nodes, &reader, &owner);
        cr_expect(unmet == (cases[n].reader >= 0) && reader == cases[n].reader && owner == cases[n].owner,
                  "%s, %d nodes: %d reads %d", cases[n].setting, cases[n].nodes, reader, owner);
    }
}

Test(ways, have_the_names_of_the_setting)
{
    cr_expect_str_eq(dcli_way_name(DCLI_WAY_PLACE), "place");
    cr_expect_str_eq(dcli_way_name(DCLI_WAY_SLOTS), "slots");
    cr_expect_str_eq(dcli_way_name(DCLI_WAY_SEND), "send");
}
