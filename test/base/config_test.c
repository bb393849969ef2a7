/* Settings: the environment, units, refusals, programs built against older headers. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>

#include <stdlib.h>
#include <string.h>

#include "base/config.h"
#include "base/log.h"

extern char **environ;

/* A case starts without any DCL_ variable of the caller's. */
static void clear_environment(void)
{
    for (char **entry = environ; *entry != NULL;)
        if (strncmp(*entry, "DCL_", 4) == 0) {
            char name[128] = "";
            memcpy(name, *entry, strcspn(*entry, "="));
            unsetenv(name);
            entry = environ;
        } else {
            entry++;
        }
}

static void set_environment(const char *variable, const char *value)
{
    clear_environment();
    setenv(variable, value, 1);
}

struct size_case {
    char variable[32], value[32];
    size_t expected;
};

static size_t size_of(const dcl_config *config, const char *variable)
{
    if (strcmp(variable, "DCL_TILE_BYTES") == 0)
        return config->tile_bytes;
    if (strcmp(variable, "DCL_POOL_BYTES") == 0)
        return config->pool_bytes;
    if (strcmp(variable, "DCL_SMALL_BYTES") == 0)
        return config->small_bytes;
    return config->window;
}

/* clang-format off */
ParameterizedTestParameters(config, sizes)
{
    static struct size_case cases[] = {
        {"DCL_TILE_BYTES",  "4096",                4096},
        {"DCL_TILE_BYTES",  "64",                    64}, /* the least */
        {"DCL_TILE_BYTES",  "3K",                  3072},
        {"DCL_TILE_BYTES",  "2m",               2097152},
        {"DCL_TILE_BYTES",  "1T",         1099511627776}, /* the most */
        {"DCL_POOL_BYTES",  "1G",            1073741824},
        {"DCL_SMALL_BYTES", "0",                      0},
        {"DCL_WINDOW",      "1",                      1},
        {"DCL_WINDOW",      "0012",                  12},
    };
    return cr_make_param_array(struct size_case, cases, sizeof cases / sizeof cases[0]);
}
/* clang-format on */

ParameterizedTest(struct size_case *c, config, sizes)
{
    set_environment(c->variable, c->value);
    dcl_config config;
    cr_assert_eq(dcl_config_read(&config), DCL_OK, "%s=%s: %s", c->variable, c->value, dcl_error());
    cr_expect_eq(size_of(&config, c->variable), c->expected, "%s=%s: %zu, expected %zu", c->variable, c->value,
                 size_of(&config, c->variable), c->expected);
}

struct refusal_case {
    char variable[32], value[40], words[3][48];
};

/* clang-format off */
ParameterizedTestParameters(config, refusals)
{
    static struct refusal_case cases[] = {
        /* a number that is none, or does not fit */
        {"DCL_TILE_BYTES", "",           {"DCL_TILE_BYTES is \"\"",     "whole number", "such as 16M"}},
        {"DCL_TILE_BYTES", "large",      {"is \"large\"",               "K, M, G or T", "16M"}},
        {"DCL_TILE_BYTES", "-1",         {"is \"-1\"",                  "whole number", "16M"}},
        {"DCL_TILE_BYTES", " 64",        {"is \" 64\"",                 "whole number", "16M"}},
        {"DCL_TILE_BYTES", "4KB",        {"is \"4KB\"",                 "K, M, G or T", "16M"}},
        {"DCL_TILE_BYTES", "1.5M",       {"is \"1.5M\"",                "whole number", "16M"}},
        {"DCL_TILE_BYTES", "0x40",       {"is \"0x40\"",                "whole number", "16M"}},
        {"DCL_TILE_BYTES", "99999999999999999999", {"is \"9999999999",  "whole number", "16M"}},
        {"DCL_TILE_BYTES", "20000000T",  {"is \"20000000T\"",           "whole number", "16M"}},
        {"DCL_TILE_BYTES", "63",         {"DCL_TILE_BYTES is 63",       "expected 64..1099511627776", "tile"}},
        {"DCL_TILE_BYTES", "2T",         {"is 2199023255552",           "expected 64..", "tile"}},
        {"DCL_WINDOW",     "0",          {"DCL_WINDOW is 0",            "expected 1..1000000", "operations"}},
        {"DCL_LINES",      "65537",      {"DCL_LINES is 65537",         "expected 0..65536", "time loops"}},
        {"DCL_WINDOW",     "1K",         {"is \"1K\"",                  "a whole number such as 1024", "operations"}},
        /* a word that is none of the choices */
        {"DCL_TRANSFER",   "teleport",   {"DCL_TRANSFER is \"teleport\"", "auto|place|slots|send", "in messages"}},
        {"DCL_TRANSFER",   "",           {"DCL_TRANSFER is \"\"",         "auto|place|slots|send", "in messages"}},
        {"DCL_TRANSFER",   "auto|place", {"is \"auto|place\"",          "one of auto|place|slots|send", "in messages"}},
        {"DCL_LOG",        "Warn",       {"DCL_LOG is \"Warn\"",        "off|warn|info|debug", "log"}},
        {"DCL_SYNC",       "yes",        {"DCL_SYNC is \"yes\"",        "expected 0 or 1", "waits"}},
        /* a variable that is none: the nearest is named */
        {"DCL_TILE_BYTE",  "4M",         {"DCL_TILE_BYTE is not known", "nearest is DCL_TILE_BYTES", "unset"}},
        {"DCL_TILES_BYTE", "4M",         {"DCL_TILES_BYTE is not",      "nearest is DCL_TILE_BYTES", "correct"}},
        {"DCL_BLOCKBYTES", "4M",         {"DCL_BLOCKBYTES is not",      "nearest is DCL_BLOCK_BYTES", "grain"}},
        {"DCL_DEVICE",     "0",          {"DCL_DEVICE is not known",    "nearest is DCL_DEVICES", "nodes"}},
        {"DCL_MOVE",       "send",       {"DCL_MOVE is now",            "now DCL_TRANSFER", "rename or unset"}},
        {"DCL_map",        "block",      {"DCL_map is not known",       "nearest is DCL_MAP", "unset"}},
        {"DCL_",           "1",          {"DCL_ is not known",          "nearest is DCL_", "unset"}},
    };
    return cr_make_param_array(struct refusal_case, cases, sizeof cases / sizeof cases[0]);
}
/* clang-format on */

ParameterizedTest(struct refusal_case *c, config, refusals)
{
    set_environment(c->variable, c->value);
    dcl_config config = {.tile_bytes = 77};
    cr_expect_eq(dcl_config_read(&config), DCL_ERR_INVALID, "%s=%s was accepted", c->variable, c->value);
    cr_expect_eq(config.tile_bytes, 77, "%s=%s: the output was touched", c->variable, c->value);
    cr_expect(strstr(dcl_error(), "dcl_config_read: ") == dcl_error(), "no prefix: %s", dcl_error());
    for (int w = 0; w < 3; w++)
        cr_expect_not_null(strstr(dcl_error(), c->words[w]), "%s=%s: \"%s\" is not in: %s", c->variable, c->value,
                           c->words[w], dcl_error());
}

Test(config, defaults)
{
    clear_environment();
    dcl_config config;
    cr_assert_eq(dcl_config_read(&config), DCL_OK, "%s", dcl_error());
    cr_expect_eq(config.struct_size, sizeof config);
    cr_expect_str_eq(config.transfer, "auto");
    cr_expect_str_eq(config.log, "off");
    cr_expect_null(config.devices);
    cr_expect_null(config.map);
    cr_expect_eq(config.tile_bytes, 16777216);
    cr_expect_eq(config.window, 1024);
    cr_expect_not(config.sync);
    cr_expect_eq(dcli_config_log_level(&config), DCLI_LOG_OFF);
}

Test(config, words_and_switches)
{
    clear_environment();
    setenv("DCL_DEVICES", "0,2", 1);
    setenv("DCL_MAP", "rows:cyclic(2x2)", 1);
    setenv("DCL_TRANSFER", "send", 1);
    setenv("DCL_LOG", "debug", 1);
    setenv("DCL_SYNC", "1", 1);
    setenv("NOT_DCL_TILES", "of no concern", 1);
    dcl_config config;
    cr_assert_eq(dcl_config_read(&config), DCL_OK, "%s", dcl_error());
    cr_expect_str_eq(config.devices, "0,2");
    cr_expect_str_eq(config.map, "rows:cyclic(2x2)");
    cr_expect_str_eq(config.transfer, "send");
    cr_expect_eq(dcli_config_log_level(&config), DCLI_LOG_DEBUG);
    cr_expect(config.sync);
}

Test(config, null_arguments_are_refused)
{
    clear_environment();
    dcl_config config;
    cr_expect_eq(dcl_config_read(NULL), DCL_ERR_INVALID);
    cr_expect_not_null(strstr(dcl_error(), "config_out is NULL"), "%s", dcl_error());
    cr_expect_eq(dcl_config_print(NULL, stdout), DCL_ERR_INVALID);
    cr_expect_not_null(strstr(dcl_error(), "config is NULL"), "%s", dcl_error());
    cr_assert_eq(dcl_config_read(&config), DCL_OK);
    cr_expect_eq(dcl_config_print(&config, NULL), DCL_ERR_INVALID);
    cr_expect_not_null(strstr(dcl_error(), "file is NULL"), "%s", dcl_error());
}

Test(config, print_says_every_setting_once)
{
    set_environment("DCL_TILE_BYTES", "1M");
    dcl_config config;
    cr_assert_eq(dcl_config_read(&config), DCL_OK, "%s", dcl_error());
    char *text = NULL;
    size_t length = 0;
    FILE *file = open_memstream(&text, &length);
    cr_assert_eq(dcl_config_print(&config, file), DCL_OK, "%s", dcl_error());
    fclose(file);
    int lines = 0;
    for (const char *at = text; (at = strchr(at, '\n')) != NULL; at++)
        lines++;
    cr_expect_eq(lines, 32, "%d lines:\n%s", lines, text);
    cr_expect_not_null(strstr(text, "DCL_TILE_BYTES   = 1048576"), "%s", text);
    cr_expect_not_null(strstr(text, "DCL_MAP          = -"), "%s", text);
    cr_expect_not_null(strstr(text, "DCL_TRANSFER     = auto"), "%s", text);
    free(text);
}

Test(config, an_older_program_gets_defaults_for_what_it_lacks)
{
    dcl_config config, complete;
    dcli_config_defaults(&config);
    config.tile_bytes = 4096;
    config.window = 5; /* beyond the older struct: must not be looked at */
    config.struct_size = offsetof(dcl_config, window);
    cr_assert_eq(dcli_config_check(&config, &complete), DCL_OK, "%s", dcl_error());
    cr_expect_eq(complete.struct_size, sizeof complete);
    cr_expect_eq(complete.tile_bytes, 4096);
    cr_expect_eq(complete.window, 1024, "%zu", complete.window);
}

Test(config, a_struct_of_no_known_size_is_refused)
{
    static const size_t sizes[] = {0, sizeof(size_t) - 1, sizeof(dcl_config) + 1, SIZE_MAX};
    for (int s = 0; s < 4; s++) {
        dcl_config config, complete = {.window = 77};
        dcli_config_defaults(&config);
        config.struct_size = sizes[s];
        cr_expect_eq(dcli_config_check(&config, &complete), DCL_ERR_INVALID, "size %zu was accepted", sizes[s]);
        cr_expect_not_null(strstr(dcl_error(), "struct_size is "), "%s", dcl_error());
        cr_expect_not_null(strstr(dcl_error(), "dcl_config_read()"), "%s", dcl_error());
        cr_expect_eq(complete.window, 77);
    }
}

Test(config, what_a_program_sets_is_checked_like_the_environment)
{
    dcl_config config, complete;
    dcli_config_defaults(&config);
    config.window = 0;
    cr_expect_eq(dcli_config_check(&config, &complete), DCL_ERR_INVALID);
    cr_expect_not_null(strstr(dcl_error(), "DCL_WINDOW is 0; expected 1..1000000"), "%s", dcl_error());
    dcli_config_defaults(&config);
    config.transfer = "sideways";
    cr_expect_eq(dcli_config_check(&config, &complete), DCL_ERR_INVALID);
    cr_expect_not_null(strstr(dcl_error(), "\"sideways\""), "%s", dcl_error());
    dcli_config_defaults(&config);
    config.transfer = NULL; /* the default */
    cr_expect_eq(dcli_config_check(&config, &complete), DCL_OK, "%s", dcl_error());
    cr_expect_str_eq(complete.transfer, "auto");
}

Test(config, log_levels_have_names)
{
    static const char *const names[] = {"off", "warn", "info", "debug"};
    for (int level = 0; level < 4; level++) {
        dcl_config config = {.log = names[level]};
        cr_expect_eq(dcli_config_log_level(&config), level, "%s", names[level]);
    }
    dcl_config config = {.log = NULL};
    cr_expect_eq(dcli_config_log_level(&config), DCLI_LOG_OFF);
}

Test(config, an_empty_text_is_as_if_it_were_not_set)
{
    set_environment("DCL_WORKERS", "");
    dcl_config config;
    cr_assert_eq(dcl_config_read(&config), DCL_OK, "%s", dcl_error());
    cr_expect_null(config.workers);
    set_environment("DCL_WORKERS", "local:2");
    cr_assert_eq(dcl_config_read(&config), DCL_OK, "%s", dcl_error());
    cr_expect_str_eq(config.workers, "local:2");
}
