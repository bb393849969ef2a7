/* golden/main.c - runs cases and compares counters and results with those that are on record: golden FILE [write | STEP [N] | case N]
 *
 * A line of FILE is a case: its number, a hash of what it is, the first status that was not DCL_OK, a hash of the bits of all
 * arrays at the end, then over all nodes tasks, blocks_moved, bytes_moved, approximate and, where everything is sent,
 * messages_planned, and a hash of these counters node by node. Nothing of it may depend on the machine, its load, or the
 * order of cases.
 *
 *   golden FILE           compares all
 *   golden FILE STEP [N]  compares cases N, N + STEP, N + 2 STEP, ...; N is 0 if not given
 *   golden FILE case N    runs case N, prints what it is and what came of it, and compares
 *   golden FILE write     writes FILE anew */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "golden/scene.h"

enum { CASES = 2000, LINE = 256, SKIPPED = 77, MOST_FAILURES = 20 };

static int device[GOLDEN_NODES];
static dcl_cluster *cluster[32];

static const char heading[] = "# Counters and results of generated cases: make golden-write. Columns: number, hash of "
                              "the case, status, hash of the\n"
                              "# bits, tasks, blocks_moved, bytes_moved, approximate, messages_planned (- where some "
                              "is read in place), hash per node.\n";

/* The first processors; PoCL gives as many as it is asked for. With the driver of support/fake_opencl they may call themselves
 * GPUs: results and counters must not depend on the form of kernels. */
static bool find_devices(void)
{
    dcl_device_info info[64];
    const char *plan = getenv("TEST_OPENCL"), *kind = plan != NULL && strstr(plan, "gpu") != NULL ? "gpu" : "cpu";
    int count = 0, used = 0;
    setenv("POCL_DEVICES", "pthread pthread pthread pthread", 1);
    if (dcl_device_list(64, info, &count) != DCL_OK)
        return false;
    for (int n = 0; n < count && n < 64 && used < GOLDEN_NODES; n++)
        if (strcmp(info[n].kind, kind) == 0 && info[n].has_double)
            device[used++] = info[n].number;
    return used == GOLDEN_NODES;
}

static dcl_cluster *open_cluster(const golden_settings *settings)
{
    dcl_config config;
    char devices[64];
    int length = 0;
    for (int n = 0; n < settings->nodes; n++)
        length += snprintf(devices + length, sizeof devices - (size_t)length, "%s%d", n > 0 ? "," : "", device[n]);
    if (dcl_config_read(&config) != DCL_OK)
        return NULL;
    config.devices = devices;
    config.transfer = settings->move;
    config.tile_bytes = settings->tile > 0 ? settings->tile : config.tile_bytes;
    config.chunk_bytes = settings->chunk > 0 ? settings->chunk : config.chunk_bytes;
    config.pool_bytes = settings->pool > 0 ? settings->pool : config.pool_bytes;
    config.block_bytes = settings->block > 0 ? settings->block : config.block_bytes;
    return dcl_open(&config);
}

static dcl_cluster *cluster_of(const golden_settings *settings)
{
    dcl_cluster **place = &cluster[settings - golden_setting];
    if (*place == NULL)
        *place = open_cluster(settings);
    if (*place == NULL) {
        fprintf(stderr, "golden: %s\n", dcl_error());
        exit(EXIT_FAILURE);
    }
    return *place;
}

static void print_line(const golden_case *scene, const golden_result *result, char line[LINE])
{
    static char text[4 * GOLDEN_TEXT];
    char messages[24] = "-";
    golden_case_describe(scene, text);
    uint64_t what = golden_hash(GOLDEN_HASH, text, strlen(text));
    if (strcmp(scene->settings->move, "send") == 0)
        snprintf(messages, sizeof messages, "%" PRId64, result->sum.messages_planned);
    const char *status = dcl_status_name(result->status);
    snprintf(
        line, LINE,
        "%" PRId64 " %08" PRIx32 " %s %016" PRIx64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %s %08" PRIx32,
        scene->number, (uint32_t)(what ^ what >> 32),
        status + strlen(strncmp(status, "DCL_ERR_", 8) == 0 ? "DCL_ERR_" : "DCL_"), result->bits, result->sum.tasks,
        result->sum.blocks_moved, result->sum.bytes_moved, result->sum.approximate, messages, result->per_node);
}

/* @return whether explain and stats agree; the line is that of the case */
static bool run_case(int64_t number, bool aloud, const char *path, char line[LINE])
{
    static golden_case scene;
    static char text[4 * GOLDEN_TEXT];
    golden_result result;
    golden_case_draw(number, &scene);
    golden_case_describe(&scene, text);
    golden_case_run(&scene, cluster_of(scene.settings), &result);
    print_line(&scene, &result, line);
    if (aloud) {
        printf("%s%s%s%s", text, result.sentence[0] != '\0' ? "  " : "", result.sentence,
               result.sentence[0] != '\0' ? "\n" : "");
        for (int n = 0; n < scene.settings->nodes; n++)
            printf("  node %d: %" PRId64 " tasks, %" PRId64 " blocks, %" PRId64 " bytes, %" PRId64 " messages, %" PRId64
                   " approximate\n",
                   n, result.node[n].tasks, result.node[n].blocks_moved, result.node[n].bytes_moved,
                   result.node[n].messages_planned, result.node[n].approximate);
    }
    if (result.wrong[0] != '\0')
        printf("case %" PRId64 ": %s\n%s  alone: golden %s case %" PRId64 "\n", number, result.wrong, text, path,
               number);
    return result.wrong[0] == '\0';
}

/* ---- the file ----------------------------------------------------------------------------------------------------- */

static char (*read_lines(const char *path))[LINE]
{
    char(*lines)[LINE] = calloc(CASES, sizeof *lines), line[LINE];
    FILE *file = fopen(path, "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        long number = line[0] == '#' ? -1 : strtol(line, NULL, 10);
        if (number >= 0 && number < CASES)
            memcpy(lines[number], line, LINE);
    }
    if (file == NULL) {
        perror(path);
        exit(EXIT_FAILURE);
    }
    fclose(file);
    return lines;
}

static bool check_case(int64_t number, bool aloud, const char *path, const char *expected)
{
    static char text[4 * GOLDEN_TEXT];
    char line[LINE];
    bool good = run_case(number, aloud, path, line);
    if (strcmp(line, expected) == 0)
        return good;
    golden_case scene;
    golden_case_draw(number, &scene);
    golden_case_describe(&scene, text);
    printf("case %" PRId64 ": (number, case, status, bits, tasks, blocks, bytes, approximate, messages, per node)\n"
           "  found    %s\n  on record %s\n%s  alone: golden %s case %" PRId64 "\n",
           number, line, expected, text, path, number);
    return false;
}

static int check_all(const char *path, int64_t first, int64_t step)
{
    char(*lines)[LINE] = read_lines(path);
    int failed = 0, passed = 0;
    for (int64_t n = first; n < CASES && failed < MOST_FAILURES; n += step) {
        bool good = check_case(n, false, path, lines[n]);
        passed += good;
        failed += !good;
        fflush(stdout);
    }
    free(lines);
    printf("%d passed, %d failed\n", passed, failed);
    return failed;
}

static int write_all(const char *path)
{
    int failed = 0;
    FILE *file = fopen(path, "w");
    if (file == NULL) {
        perror(path);
        return 1;
    }
    fputs(heading, file);
    for (int64_t n = 0; n < CASES; n++) {
        char line[LINE];
        failed += !run_case(n, false, path, line);
        fprintf(file, "%s\n", line);
    }
    return failed + (fclose(file) != 0);
}

static int check_one(const char *path, int64_t number)
{
    char(*lines)[LINE] = read_lines(path);
    bool good = number >= 0 && number < CASES && check_case(number, true, path, lines[number]);
    if (good)
        printf("%s\nas on record\n", lines[number]);
    free(lines);
    return !good;
}

int main(int count, char **words)
{
    const char *path = count > 1 ? words[1] : "", *what = count > 2 ? words[2] : "1";
    if (count < 2 || count > 4) {
        fprintf(stderr, "golden FILE [STEP [N] | case N | write]\n");
        return EXIT_FAILURE;
    }
    if (!find_devices()) {
        printf("skipped: fewer than %d processors serve as nodes\n", GOLDEN_NODES);
        return SKIPPED;
    }
    int failed = strcmp(what, "write") == 0 ? write_all(path)
                 : strcmp(what, "case") == 0
                     ? check_one(path, count > 3 ? strtoll(words[3], NULL, 10) : -1)
                     : check_all(path, count > 3 && strtoll(words[3], NULL, 10) > 0 ? strtoll(words[3], NULL, 10) : 0,
                                 strtoll(what, NULL, 10) > 0 ? strtoll(what, NULL, 10) : 1);
    for (int n = 0; n < golden_setting_count; n++)
        if (cluster[n] != NULL)
            failed += dcl_close(cluster[n]) != DCL_OK;
    return failed > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
