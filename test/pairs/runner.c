/* pairs/runner.c - arrays under two maps, all operations between them, compared with plain loops: runner < lines
 *
 * A line has, between tabs: devices (DCL_DEVICES) or workers (DCL_WORKERS; they have a colon), how to move (DCL_TRANSFER, tile, chunk and pool in bytes, 0: the
 * default, between commas), seed, path of a file that may be written, type, origins, extents, and five maps: of A, B,
 * C, D and E. A, C and D have the grid of the line, B and E have its axes permuted. `good` answers it, or `wrong`, the
 * step, and what was found, between tabs.
 *
 * Of every loop, explained movement is compared with what stats count, and its bytes with a count by owners of
 * elements. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pairs/bodies.h"
#include "pairs/copies.h"
#include "pairs/views.h"

enum { MOST_CLUSTERS = 16, FIELDS = 12 };

static struct place {
    dcl_cluster *cluster;
    char settings[256];
} places[MOST_CLUSTERS];
static int place_count;

static dcl_cluster *open_cluster(const char *nodes, char *move)
{
    dcl_config config;
    if (dcl_config_read(&config) != DCL_OK)
        return NULL;
    *(strchr(nodes, ':') != NULL ? &config.workers : &config.devices) = nodes;
    config.transfer = strsep(&move, ",");
    size_t *sizes[] = {&config.tile_bytes, &config.chunk_bytes, &config.pool_bytes};
    for (int n = 0; n < 3 && move != NULL; n++) {
        size_t size = strtoull(strsep(&move, ","), NULL, 10);
        *sizes[n] = size > 0 ? size : *sizes[n];
    }
    return dcl_open(&config);
}

static dcl_cluster *cluster_with(const char *nodes, char *move)
{
    char text[sizeof places[0].settings];
    snprintf(text, sizeof text, "%s %s", nodes, move);
    for (int n = 0; n < place_count; n++)
        if (strcmp(places[n].settings, text) == 0)
            return places[n].cluster;
    dcl_cluster *cluster = place_count < MOST_CLUSTERS ? open_cluster(nodes, move) : NULL;
    if (cluster != NULL) {
        strcpy(places[place_count].settings, text);
        places[place_count++].cluster = cluster;
    }
    return cluster;
}

/* ---- the steps ---------------------------------------------------------------------------------------------------- */

struct run {
    test_pair pair;
    const char *path;
};

static bool write_and_read(struct run *run)
{
    test_pair *pair = &run->pair;
    test_model *written[] = {&pair->a, &pair->b, &pair->d};
    bool good = test_compare(&pair->c, NULL, &pair->random); /* zeros */
    for (int n = 0; good && n < 3; n++) {
        dcl_box box = test_random_box(&written[n]->grid, &pair->random);
        dcl_box other = test_random_box(&written[n]->grid, &pair->random);
        good = (n == 0 ? test_fill(written[n], 7) : test_write(written[n], NULL, &pair->random)) &&
               test_write(written[n], &box, &pair->random) && test_compare(written[n], &other, &pair->random) &&
               test_compare(written[n], NULL, &pair->random);
    }
    return good && test_write(&pair->a, NULL, &pair->random);
}

static bool compare_box(struct run *run, const test_model *model)
{
    dcl_box box = test_random_box(&model->grid, &run->pair.random);
    return test_compare(model, &box, &run->pair.random);
}

static bool add(struct run *run)
{
    return test_run_body(&run->pair, TEST_ADD, NULL) && test_compare(&run->pair.c, NULL, &run->pair.random) &&
           compare_box(run, &run->pair.c);
}

static bool add_permuted(struct run *run)
{
    return test_run_body(&run->pair, TEST_PERMUTED, NULL) && test_compare(&run->pair.c, NULL, &run->pair.random);
}

static bool shift(struct run *run)
{
    return test_run_body(&run->pair, TEST_SHIFTED, NULL) && test_compare(&run->pair.c, NULL, &run->pair.random);
}

/* A second output of which not all is stored has to be laid out as the first. */
static bool write_to_owners(struct run *run)
{
    if (test_is_partial(&run->pair.e))
        return true;
    return test_run_body(&run->pair, TEST_SCATTERED, NULL) && test_compare(&run->pair.c, NULL, &run->pair.random) &&
           test_compare(&run->pair.e, NULL, &run->pair.random);
}

static bool add_in_box(struct run *run)
{
    dcl_box box = test_random_box(&run->pair.c.grid, &run->pair.random);
    return test_run_body(&run->pair, TEST_ADD, &box) && test_compare(&run->pair.c, NULL, &run->pair.random);
}

static bool subtract_by_tiles(struct run *run)
{
    dcl_box box = test_random_box(&run->pair.c.grid, &run->pair.random);
    return test_write(&run->pair.d, NULL, &run->pair.random) && test_run_body(&run->pair, TEST_TILES, &box) &&
           test_compare(&run->pair.c, NULL, &run->pair.random) && test_run_body(&run->pair, TEST_TILES, NULL) &&
           test_compare(&run->pair.c, NULL, &run->pair.random);
}

static bool through_files(struct run *run)
{
    test_pair *pair = &run->pair;
    return test_save(&pair->a, run->path) && test_load(&pair->d, &pair->a, run->path) &&
           test_compare(&pair->d, NULL, &pair->random) && test_save(&pair->c, run->path) &&
           test_load(&pair->a, &pair->c, run->path) && test_compare(&pair->a, NULL, &pair->random);
}

static bool swap(struct run *run)
{
    test_pair *pair = &run->pair;
    test_model other;
    bool good = test_model_make(&other, "other", &pair->a.grid, dcl_map_of(pair->a.array), pair->a.fill_value) &&
                test_write(&other, NULL, &pair->random) && test_done("dcl_swap", dcl_swap(pair->a.array, other.array));
    int64_t *values = other.value;
    other.value = pair->a.value;
    pair->a.value = values;
    good = good && test_compare(&pair->a, NULL, &pair->random) && test_compare(&other, NULL, &pair->random);
    test_model_end(&other);
    return good;
}

static bool copy(struct run *run)
{
    test_pair *pair = &run->pair;
    return test_write(&pair->a, NULL, &pair->random) && test_copy(&pair->a, &pair->d) &&
           test_compare(&pair->d, NULL, &pair->random) && test_copy(&pair->c, &pair->a) &&
           test_compare(&pair->a, NULL, &pair->random);
}

static bool remap(struct run *run)
{
    test_pair *pair = &run->pair;
    return test_remap(&pair->d, &pair->a, 0) && test_compare(&pair->d, NULL, &pair->random) &&
           test_remap(&pair->a, &pair->c, 0) && test_compare(&pair->a, NULL, &pair->random) &&
           test_run_body(pair, TEST_ADD, NULL) && test_compare(&pair->c, NULL, &pair->random) &&
           test_remap(&pair->c, &pair->d, DCL_REMAP_RELABEL) && test_compare(&pair->c, NULL, &pair->random);
}

static bool views(struct run *run) { return test_views(&run->pair, run->path); }

/* Whether a node may compute so many boxes that copies of all they read are more than an operation keeps: elements of
 * pieces that are dealt, each of which reads two arrays. */
static bool are_too_many(const test_model *c)
{
    enum { MOST_KEPT = 256 };
    dcl_map_properties properties;
    return test_done("dcl_map_describe", dcl_map_describe(dcl_map_of(c->array), &c->grid, &properties)) &&
           !properties.per_axis && 2 * c->total > MOST_KEPT;
}

static bool add_kept(test_pair *pair, bool a_kept, bool d_kept)
{
    bool replicated[] = {test_is_replicated(dcl_map_of(pair->a.array)), test_is_replicated(dcl_map_of(pair->d.array))};
    bool some = are_too_many(&pair->c);
    pair->a.kept = a_kept && !replicated[0] && !some; /* not every node has a copy of these */
    pair->d.kept = d_kept && !replicated[1] && !some;
    bool good = test_run_body(pair, TEST_ADD, NULL) && test_compare(&pair->c, NULL, &pair->random);
    pair->a.kept = pair->d.kept = false;
    return good;
}

/* What nodes have read once is not moved again until it is written. */
static bool keep(struct run *run)
{
    test_pair *pair = &run->pair;
    dcl_box box = test_random_box(&pair->a.grid, &pair->random);
    pair->a.copied = pair->d.copied = true;
    return test_done("dcl_keep", dcl_keep(pair->a.array, true)) &&
           test_done("dcl_keep", dcl_keep(pair->d.array, true)) && add_kept(pair, false, false) &&
           add_kept(pair, true, true) && test_write(&pair->a, &box, &pair->random) && add_kept(pair, false, true) &&
           add_kept(pair, true, true) && test_fill(&pair->d, 9) && add_kept(pair, true, false);
}

static const struct {
    const char *name;
    bool (*take)(struct run *run);
} steps[] = {
    {"write and read", write_and_read},
    {"C = A + D", add},
    {"C = D - B permuted", add_permuted},
    {"C = A shifted", shift},
    {"C = A + 1, E permuted = 2 A", write_to_owners},
    {"C = A + D in a box", add_in_box},
    {"C = A - D, a tile kernel", subtract_by_tiles},
    {"save and load", through_files},
    {"swap", swap},
    {"copy", copy},
    {"views", views},
    {"remap", remap},
    {"keep", keep},
};

/* ---- a line ------------------------------------------------------------------------------------------------------- */

static int numbers(char *text, int64_t out[DCL_MAX_RANK])
{
    int count = 0;
    for (char *end; count < DCL_MAX_RANK && *text != '\0'; text = *end == ',' ? end + 1 : end)
        out[count++] = strtoll(text, &end, 10);
    return count;
}

static bool make_array(struct run *run, const char *name, const dcl_grid *grid, const char *map_text, test_model *model)
{
    dcl_map *map = dcl_map_parse(run->pair.cluster, map_text);
    const char *rest = strstr(map_text, ";rest=");
    bool good = map != NULL ? test_model_make(model, name, grid, map, rest != NULL ? strtoll(rest + 6, NULL, 10) : 0)
                            : test_failed("map of %s, %.300s: %s", name, map_text, dcl_error());
    dcl_release(map);
    return good;
}

static bool make_arrays(struct run *run, char *field[])
{
    int64_t origin[DCL_MAX_RANK], extent[DCL_MAX_RANK];
    numbers(field[5], origin);
    dcl_grid grid = dcl_grid_nd(dcl_type_named(field[4]), numbers(field[6], extent), extent, origin);
    dcl_grid permuted = test_permuted_grid(&grid);
    test_pair *pair = &run->pair;
    return make_array(run, "A", &grid, field[7], &pair->a) && make_array(run, "B", &permuted, field[8], &pair->b) &&
           make_array(run, "C", &grid, field[9], &pair->c) && make_array(run, "D", &grid, field[10], &pair->d) &&
           make_array(run, "E", &permuted, field[11], &pair->e);
}

static void end_arrays(struct run *run)
{
    test_model *models[] = {&run->pair.a, &run->pair.b, &run->pair.c, &run->pair.d, &run->pair.e};
    for (int n = 0; n < 5; n++)
        test_model_end(models[n]);
    dcl_wait(run->pair.cluster);
    dcl_clear_error(run->pair.cluster);
}

/* @return the step that failed; NULL: none did */
static const char *take_steps(struct run *run, char *field[])
{
    run->pair.cluster = cluster_with(field[0], field[1]);
    if (run->pair.cluster == NULL) {
        test_failed("%s", dcl_error());
        return "open";
    }
    if (!make_arrays(run, field))
        return "arrays";
    for (size_t n = 0; n < sizeof steps / sizeof steps[0]; n++)
        if (!steps[n].take(run))
            return steps[n].name;
    return test_done("dcl_wait", dcl_wait(run->pair.cluster)) ? NULL : "wait";
}

static void print_plain(const char *text)
{
    for (; *text != '\0'; text++)
        putchar(*text == '\n' || *text == '\t' ? ' ' : *text);
}

static bool take_line(char *line)
{
    char *field[FIELDS], *rest = line;
    for (int n = 0; n < FIELDS; n++)
        if ((field[n] = strsep(&rest, "\t")) == NULL)
            return false;
    struct run run = {.path = field[3], .pair.random = strtoull(field[2], NULL, 10)};
    test_wrong[0] = '\0';
    const char *step = take_steps(&run, field);
    if (step == NULL)
        printf("good");
    else
        printf("wrong\t%s\t", step);
    print_plain(step != NULL ? test_wrong : "");
    end_arrays(&run);
    putchar('\n');
    return true;
}

int main(void)
{
    char *line = NULL;
    size_t capacity = 0;
    int code = EXIT_SUCCESS;
    for (ssize_t length; code == EXIT_SUCCESS && (length = getline(&line, &capacity, stdin)) > 0;) {
        line[length - 1] = '\0';
        if (!take_line(line)) {
            fprintf(stderr, "runner: a line is not as it should be\n");
            code = EXIT_FAILURE;
        }
        fflush(stdout);
    }
    free(line);
    for (int n = 0; n < place_count; n++)
        if (dcl_close(places[n].cluster) != DCL_OK)
            code = EXIT_FAILURE;
    return code;
}
