/* test/runtime/open_test.c - opening clusters: settings of the environment and of the program, devices, and none at all. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/folder.h"
#include "support/nodes.h"

TestSuite(open_on_device, .timeout = TEST_SECONDS);
TestSuite(open_without_device, .timeout = TEST_SECONDS);

enum { MOST_WORDS = 3 };

/* ---- the environment ---------------------------------------------------------------------------------------------- */

struct variable_case {
    const char *name, *value;
    const char *words[MOST_WORDS];
};

static const struct variable_case variable_cases[] = {
    {"DCL_TILE_SIZE", "3", {"DCL_TILE_SIZE is not known", "the nearest is DCL_TILE_BYTES", "correct or unset it"}},
    {"DCL_TRANFSER", "send", {"DCL_TRANFSER is not known", "the nearest is DCL_TRANSFER"}},
    {"DCL_", "1", {"DCL_ is not known"}},
    {"DCL_TILE_BYTES", "many", {"DCL_TILE_BYTES is \"many\"", "expected a whole number", "16M"}},
    {"DCL_TILE_BYTES", "1", {"DCL_TILE_BYTES is 1", "expected 64.."}},
    {"DCL_CHUNK_BYTES", "-4", {"DCL_CHUNK_BYTES is \"-4\"", "expected a whole number"}},
    {"DCL_POOL_BYTES",
     "99999999999999999999",
     {"DCL_POOL_BYTES is \"99999999999999999999\"", "expected a whole number"}},
    {"DCL_WINDOW", "0", {"DCL_WINDOW is 0", "expected 1..1000000"}},
    {"DCL_TRANSFER", "fly", {"DCL_TRANSFER is \"fly\"", "expected one of auto|place|slots|send"}},
    {"DCL_LOG", "loud", {"DCL_LOG is \"loud\"", "expected one of off|warn|info|debug"}},
    {"DCL_SYNC", "yes", {"DCL_SYNC is \"yes\"", "expected 0 or 1"}},
    {"DCL_MAP", "blocks", {"DCL_MAP: ", "found \"blocks\"", "expected block, cyclic, splits, weighted or *"}},
    {"DCL_MAP", "block@9", {"DCL_MAP: ", "9 nodes; expected 2"}},
    {"DCL_FAULT", "boom", {"DCL_FAULT is \"boom\"", "expected \"alloc node=N count=N\"", "unset it"}},
    {"DCL_FAULT", "together 2 x 0", {"DCL_FAULT is \"together 2 x 0\"", "\"together N x N\", N from 1", "unset it"}},
    {"DCL_FAULT", "parts 2 y", {"DCL_FAULT is \"parts 2 y\"", "\"parts N x N\"", "unset it"}},
    {"DCL_FAULT", "parts 2 x 3 x 4 x 5", {"DCL_FAULT is \"parts 2 x 3 x 4 x 5\"", "unset it"}},
    {"DCL_FAULT", "parts 2 x 0", {"DCL_FAULT is \"parts 2 x 0\"", "\"parts N x N\"", "unset it"}},
    {"DCL_FAULT", "slow node=0 times=1000001", {"times=1000001\"", "from 1 to 1000000", "unset it"}},
    {"DCL_DEVICES", "7", {"there is no device 7", "expected 0..1", "see \"dcl devices\""}},
    {"DCL_DEVICES", "0,x", {"\"0,x\": found \"x\"", "expected \"all\", \"cpu\", \"gpu\", or numbers"}},
    {"DCL_DEVICES", "0,0", {"device 0 is named twice", "expected each number once"}},
};

Test(open_on_device, refuses_wrong_variables)
{
    dcl_config config = test_config(2);
    int count;
    TEST_OK(dcl_device_list(0, NULL, &count));
    for (size_t c = 0; c < sizeof variable_cases / sizeof variable_cases[0]; c++) {
        const struct variable_case *row = &variable_cases[c];
        if (count != 2 && strcmp(row->name, "DCL_DEVICES") == 0)
            continue; /* the sentence names how many there are */
        setenv("DCL_DEVICES", config.devices, 1);
        setenv(row->name, row->value, 1);
        dcl_clear_error(NULL);
        cr_expect_null(dcl_open(NULL), "%s=%s is taken", row->name, row->value);
        unsetenv(row->name);
        cr_expect_eq(dcl_status_of(NULL), DCL_ERR_INVALID, "%s=%s: %s", row->name, row->value,
                     dcl_status_name(dcl_status_of(NULL)));
        cr_expect_eq(strncmp(dcl_error(), "dcl_open: ", 10), 0, "%s", dcl_error());
        for (int w = 0; w < MOST_WORDS && row->words[w] != NULL; w++)
            cr_expect(strstr(dcl_error(), row->words[w]) != NULL, "%s=%s: \"%s\" has not \"%s\"", row->name, row->value,
                      dcl_error(), row->words[w]);
    }
    unsetenv("DCL_DEVICES");
    dcl_cluster *cluster = test_open(&config); /* nothing is left behind */
    cr_expect_eq(dcl_close(cluster), DCL_OK);
}

Test(open_on_device, takes_settings_from_the_environment)
{
    dcl_config config = test_config(2);
    setenv("DCL_DEVICES", config.devices, 1);
    setenv("DCL_MAP", "rows:cyclic(3x3)", 1);
    setenv("DCL_CHUNK_BYTES", "1K", 1);
    dcl_cluster *cluster = dcl_open(NULL);
    cr_assert_not_null(cluster, "%s", dcl_error());
    cr_expect_eq(dcl_node_count(cluster), 2);
    unsetenv("DCL_MAP");
    dcl_map *map = dcl_map_default(cluster);
    char text[64];
    dcl_map_print(map, text, sizeof text);
    cr_expect_str_eq(text, "rows:cyclic(3x3)");
    dcl_release(map);
    cr_expect_eq(dcl_close(cluster), DCL_OK);
}

/* Where no map is given, small arrays stay on one node, others are divided. */
Test(open_on_device, keeps_small_arrays_on_one_node_by_default)
{
    dcl_config config = test_config(2);
    config.small_bytes = 4000;
    dcl_cluster *cluster = test_open(&config);
    dcl_map *map = dcl_map_default(cluster);
    dcl_array *small = dcl_agile(dcl_grid_1d(DCL_INT32, 999), map);
    cr_expect_eq(test_counters(cluster, 1).storage_bytes, 0);
    dcl_array *large = dcl_agile(dcl_grid_1d(DCL_INT32, 1000), map);
    cr_expect_geq(test_counters(cluster, 1).storage_bytes, 2000);
    TEST_OK(test_shift(small, large, -1, 998, 1));
    dcl_release(map);
    dcl_map *block = dcl_map_block(cluster); /* a map that is given is obeyed */
    dcl_release(large);
    int64_t before = test_counters(cluster, 1).storage_bytes;
    dcl_array *tiny = dcl_agile(dcl_grid_1d(DCL_FLOAT, 2), block);
    cr_expect_gt(test_counters(cluster, 1).storage_bytes, before);
    dcl_release(tiny);
    dcl_release(small);
    dcl_release(block);
    cr_expect_eq(dcl_close(cluster), DCL_OK, "%s", dcl_error());
}

/* ---- the program's configuration ---------------------------------------------------------------------------------- */

static void expect_no_cluster(const dcl_config *config, const char *words)
{
    dcl_clear_error(NULL);
    cr_expect_null(dcl_open(config));
    cr_expect_eq(dcl_status_of(NULL), DCL_ERR_INVALID);
    cr_expect(strstr(dcl_error(), words) != NULL, "\"%s\" has not \"%s\"", dcl_error(), words);
}

Test(open_on_device, refuses_wrong_configurations)
{
    dcl_config config = test_config(1), wrong = config;
    wrong.struct_size = 0;
    expect_no_cluster(&wrong, "config.struct_size is 0; expected at most");
    wrong.struct_size = sizeof wrong + 8;
    expect_no_cluster(&wrong, "fill the struct with dcl_config_read() and build against the headers of the library");
    wrong = config;
    wrong.tile_bytes = 0;
    expect_no_cluster(&wrong, "DCL_TILE_BYTES is 0; expected 64..");
    wrong = config;
    wrong.transfer = "slow";
    expect_no_cluster(&wrong, "DCL_TRANSFER is \"slow\"");
    TEST_REFUSED(dcl_config_read(NULL), DCL_ERR_INVALID, "config_out is NULL; expected a dcl_config to fill");
}

/* A program built when the structure was shorter. */
Test(open_on_device, fills_what_an_older_program_does_not_know)
{
    dcl_config config = test_config(1);
    config.struct_size = offsetof(dcl_config, tile_bytes);
    memset((char *)&config + config.struct_size, 0x7F, sizeof config - config.struct_size);
    dcl_cluster *cluster = test_open(&config);
    cr_expect_eq(dcl_node_count(cluster), 1);
    cr_expect_eq(dcl_close(cluster), DCL_OK);
}

struct lines {
    int count;
    bool node; /* one of them is about node 1 */
};

static void take_line(void *user, int level, const char *line)
{
    struct lines *lines = user;
    cr_expect(level >= 1 && level <= 2);
    __atomic_fetch_add(&lines->count, 1, __ATOMIC_RELAXED);
    if (strstr(line, "node 1 ") != NULL)
        __atomic_store_n(&lines->node, true, __ATOMIC_RELAXED);
}

Test(open_on_device, is_silent_until_asked)
{
    struct lines lines = {0};
    dcl_config config = test_config(2);
    config.log_fn = take_line;
    config.log_user = &lines;
    dcl_cluster *cluster = test_open(&config);
    cr_expect_eq(dcl_close(cluster), DCL_OK);
    cr_expect_eq(lines.count, 0);
    config.log = "info";
    cluster = test_open(&config);
    cr_expect_eq(dcl_close(cluster), DCL_OK);
    cr_expect_geq(lines.count, 2);
    cr_expect(lines.node, "no line tells what node 1 is");
}

/* ---- no device ---------------------------------------------------------------------------------------------------- */

/* The loader reads this once, before anything else in this process. */
Test(open_without_device, says_what_to_do)
{
    char folder[TEST_PATH];
    test_make_folder();
    test_path(folder, "");
    setenv("OCL_ICD_VENDORS", folder, 1);
    int count = -1;
    dcl_device_info info;
    dcl_cluster *cluster = dcl_open(NULL);
    cr_expect_null(cluster);
    cr_expect_eq(dcl_status_of(NULL), DCL_ERR_DEVICE, "%s: %s", dcl_status_name(dcl_status_of(NULL)), dcl_error());
    cr_expect(strstr(dcl_error(), "no OpenCL device") != NULL && strstr(dcl_error(), "install") != NULL, "%s",
              dcl_error());
    TEST_OK(dcl_device_list(1, &info, &count));
    cr_expect_eq(count, 0);
    cluster = dcl_open_plan(4); /* planning needs none */
    cr_expect_not_null(cluster);
    cr_expect_eq(dcl_close(cluster), DCL_OK);
    test_remove_folder();
}
