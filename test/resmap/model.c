/* test/resmap/model.c - see model.h. */
#include "resmap/model.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "resmap/map_text.h"

void test_model_index(const test_model *model, int64_t e, int64_t index_out[])
{
    for (int d = model->grid.rank - 1; d >= 0; d--) {
        index_out[d] = model->grid.origin[d] + e % model->grid.extent[d];
        e /= model->grid.extent[d];
    }
}

int64_t test_model_element(const test_model *model, const int64_t index[])
{
    int64_t e = 0;
    for (int d = 0; d < model->grid.rank; d++)
        e = e * model->grid.extent[d] + index[d] - model->grid.origin[d];
    return e;
}

dcl_box test_model_box(test_model *model)
{
    dcl_box box = {.rank = model->grid.rank};
    for (int d = 0; d < box.rank; d++) {
        int64_t extent = model->grid.extent[d], offset = extent > 0 ? test_between(&model->random, 0, extent - 1) : 0;
        int64_t most_stride = test_between(&model->random, 0, 2) == 0 ? 9 : 1;
        box.start[d] = model->grid.origin[d] + offset;
        box.stride[d] = test_between(&model->random, 1, most_stride);
        box.count[d] = extent > 0 ? test_between(&model->random, 1, (extent - 1 - offset) / box.stride[d] + 1) : 0;
    }
    return box;
}

void test_box_index(const dcl_box *box, const int64_t at[], int64_t index_out[])
{
    for (int d = 0; d < box->rank; d++)
        index_out[d] = box->start[d] + at[d] * box->stride[d];
}

bool test_box_next(const dcl_box *box, int64_t at[])
{
    for (int d = box->rank - 1; d >= 0; d--) {
        if (++at[d] < box->count[d])
            return true;
        at[d] = 0;
    }
    return false;
}

/* Among all ways to write n as a product, not rising, the one that is first when compared number by number. */
static bool arrange(int n, int axes, int most, int nodes_out[])
{
    if (axes == 0)
        return n == 1;
    for (int first = 1; first <= most; first++) {
        nodes_out[0] = first;
        if (n % first == 0 && arrange(n / first, axes - 1, first, nodes_out + 1))
            return true;
    }
    return false;
}

/* Split points, some beyond the extent, or shares, some of them 0. */
static void draw_points(test_model *model, int d)
{
    dcli_map_rule *rule = &model->rule;
    int64_t points[16], count = model->nodes[d], sum = 0;
    if (rule->axes[d].kind == DCL_AXIS_SPLITS) {
        count = test_between(&model->random, 1, 9);
        for (int64_t k = 0, at = 0; k < count; k++)
            points[k] = at += test_between(&model->random, 1, 2 + model->grid.extent[d] / count);
    } else {
        for (int64_t k = 0; k < count; k++)
            sum += points[k] = test_between(&model->random, 0, 3);
        points[0] += sum == 0;
    }
    cr_assert_eq(dcli_map_rule_set_points(rule, d, count, points), DCL_OK);
}

static void draw_axes(test_model *model)
{
    dcli_map_rule *rule = &model->rule;
    int rank = model->grid.rank, divided = 0, factor[DCL_MAX_RANK], left = rule->node_count;
    for (int d = 0; d < rank; d++) {
        int64_t word = test_between(&model->random, 0, 6), size = test_between(&model->random, 1, 4);
        dcl_axis axes[] = {{.kind = DCL_AXIS_WHOLE},
                           {.kind = DCL_AXIS_BLOCK},
                           {.kind = DCL_AXIS_CYCLIC},
                           {.kind = DCL_AXIS_CYCLIC, .size = size},
                           {.kind = DCL_AXIS_BLOCK, .size = size},
                           {.kind = DCL_AXIS_SPLITS},
                           {.kind = DCL_AXIS_WEIGHTED}};
        rule->axes[d] = axes[d == 0 && word == 0 ? 1 : word];
        divided += rule->axes[d].kind != DCL_AXIS_WHOLE;
    }
    arrange(left, divided, left, factor);
    bool given = test_between(&model->random, 0, 1) == 0;
    for (int d = 0, next = 0; d < rank; d++) {
        bool whole = rule->axes[d].kind == DCL_AXIS_WHOLE;
        model->nodes[d] = whole ? 1 : given && next == divided - 1 ? left : factor[next];
        if (!whole && given && next < divided - 1)
            while (left % (model->nodes[d] = (int)test_between(&model->random, 1, left)) != 0)
                ;
        left /= model->nodes[d];
        next += !whole;
        rule->nodes[d] = given ? model->nodes[d] : 0;
        if (rule->axes[d].kind == DCL_AXIS_BLOCK && rule->axes[d].size > 0) /* with room for the extent, or more */
            rule->axes[d].size += (model->grid.extent[d] + model->nodes[d] - 1) / model->nodes[d] - 1;
        if (dcli_has_points(&rule->axes[d]))
            draw_points(model, d);
    }
}

static void draw(test_model *model)
{
    static const int64_t extents[] = {0, 1, 2, 3, 5, 6, 7, 8, 11, 12, 13, 16, 31, 64, 101};
    static const int longest[] = {14, 14, 11, 7}; /* by rank */
    static const dcl_type types[] = {DCL_INT8, DCL_HALF, DCL_FLOAT, DCL_DOUBLE};
    test_random *random = &model->random;
    int rank = (int)test_between(random, 1, 4);
    model->grid = (dcl_grid){.type = types[test_between(random, 0, 3)], .rank = rank};
    model->rule = (dcli_map_rule){.node_count = (int)test_between(random, 1, 7), .rank = rank};
    dcli_map_rule *rule = &model->rule;
    for (int d = 0; d < rank; d++) {
        model->grid.extent[d] =
            extents[test_between(random, test_between(random, 0, 30) == 0 ? 0 : 1, longest[rank - 1])];
        model->grid.origin[d] = test_between(random, -5, 5);
        rule->block[d] = test_between(random, 1, 5);
        rule->tile[d] = test_between(random, 1, 9);
    }
    rule->block_rank = test_between(random, 0, 1) * rank;
    rule->tile_rank = test_between(random, 0, 1) * rank;
    rule->tile_bytes = test_between(random, 0, 200);
    rule->block_bytes = test_between(random, 0, 60);
    rule->kind = (dcli_map_kind)(test_between(random, 0, 6) / 3);
    if (rule->kind == DCLI_MAP_AXES) {
        draw_axes(model);
        return;
    }
    if (rule->kind == DCLI_MAP_BOXES)
        return;
    int64_t largest = test_between(random, 1, 6);
    rule->order = (dcl_order)test_between(random, 0, 1);
    rule->deal = (dcl_deal)test_between(random, 0, 3);
    rule->seed = rule->deal == DCL_DEAL_HASH ? test_between(random, 0, 3) : 0;
    for (int d = 0; d < rank; d++)
        rule->piece[d] = test_between(random, 1, largest);
}

/* Owners in runs, some of them long; in half of the tables some pieces have none. */
static void draw_owners(test_model *model)
{
    static int64_t pairs[2 * TEST_MOST];
    int64_t pieces = 1, runs = 0;
    for (int d = 0; d < model->grid.rank; d++)
        pieces *= (model->grid.extent[d] + model->rule.piece[d] - 1) / model->rule.piece[d];
    int64_t longest = test_between(&model->random, 1, 1 + pieces / 2);
    bool sparse = test_between(&model->random, 0, 1) == 0;
    for (int64_t left = pieces > 0 ? pieces : 1; left > 0; runs++) {
        int64_t run = test_between(&model->random, 1, longest);
        pairs[2 * runs] = run < left ? run : left;
        bool nowhere = sparse && test_between(&model->random, 0, 2) == 0;
        pairs[2 * runs + 1] =
            nowhere ? DCL_NOWHERE : model->node_of[test_between(&model->random, 0, model->rule.node_count - 1)];
        left -= pairs[2 * runs];
    }
    cr_assert_eq(dcli_map_rule_set_owners(&model->rule, runs, pairs), DCL_OK);
}

/* Which nodes of a cluster the map uses: half of the maps use all, the others leave some out. */
static void draw_nodes(test_model *model)
{
    dcli_map_rule *rule = &model->rule;
    bool all = test_between(&model->random, 0, 1) == 0;
    int64_t widest = test_between(&model->random, 0, 2), node = all ? 0 : test_between(&model->random, 0, 2);
    for (int place = 0; place < rule->node_count; place++) {
        model->node_of[place] = (int)node;
        if (!all && (place == 0 || node > model->node_of[place - 1] + 1))
            rule->range[rule->range_count++].first = (int)node;
        if (!all)
            rule->range[rule->range_count - 1].count++;
        node += all ? 1 : 1 + test_between(&model->random, 0, widest);
    }
    bool holes = model->node_of[rule->node_count - 1] >= rule->node_count;
    model->cluster = model->node_of[rule->node_count - 1] + 1;
    model->cluster += all ? 0 : (int)test_between(&model->random, !holes, 2);
}

/* The grid, cut in two again and again, each part by itself. */
static void draw_boxes(test_model *model)
{
    enum { MOST = 40 };
    dcl_box box[MOST + 1] = {dcl_box_of(&model->grid)};
    int count = 1, nodes[MOST];
    int64_t cuts = model->elements > 0 ? test_between(&model->random, 0, MOST - 1) : 0;
    for (; cuts > 0; cuts--) {
        int k = (int)test_between(&model->random, 0, count - 1),
            d = (int)test_between(&model->random, 0, box[k].rank - 1);
        if (box[k].count[d] < 2)
            continue;
        box[count] = box[k];
        box[k].count[d] = test_between(&model->random, 1, box[k].count[d] - 1);
        box[count].start[d] += box[k].count[d];
        box[count].count[d] -= box[k].count[d];
        count++;
    }
    for (int d = 0; d < box[0].rank; d++)
        box[0].count[d] += model->elements == 0 && box[0].count[d] == 0; /* never laid over it */
    for (int k = 0; k < count; k++)
        nodes[k] = model->node_of[test_between(&model->random, 0, model->rule.node_count - 1)];
    cr_assert_eq(dcli_map_rule_set_boxes(&model->rule, count, box, nodes), DCL_OK);
}

/* One axis: whose each index is, its place among the owner's, and its run. */
struct axis_model {
    int64_t coordinate[TEST_SIDE], local[TEST_SIDE], run[TEST_SIDE], in_run[TEST_SIDE], owned[8];
};

/* Elements of run k of an axis that is divided by a list. */
static int64_t listed_run(const dcl_axis *axis, int64_t extent, int64_t k)
{
    int64_t before = 0, with = 0, all = 0;
    if (axis->kind == DCL_AXIS_SPLITS)
        return (k < axis->count ? axis->points[k] : 1000000) - (k > 0 ? axis->points[k - 1] : 0);
    for (int64_t c = 0; c < axis->count; c++) {
        before += c < k ? axis->points[c] : 0;
        with += c <= k ? axis->points[c] : 0;
        all += axis->points[c];
    }
    return extent * with / all - extent * before / all;
}

static void deal_axis(const dcl_axis *axis, int64_t extent, int nodes, struct axis_model *out)
{
    int64_t coordinate = 0, left = 0, runs = 0, dealt = 0;
    memset(out, 0, sizeof *out);
    for (int64_t x = 0; x < extent; x++) {
        if (left == 0) {
            while (dcli_has_points(axis) && listed_run(axis, extent, dealt) == 0)
                dealt++;
            bool goes_on = runs > 0 && nodes == 1; /* the next run has the same owner: it is the same run */
            coordinate = dealt++ % nodes;
            runs += !goes_on;
            if (axis->kind == DCL_AXIS_WHOLE)
                left = extent;
            else if (dcli_has_points(axis))
                left = listed_run(axis, extent, dealt - 1);
            else if (axis->size > 0)
                left = axis->size;
            else
                left = axis->kind == DCL_AXIS_CYCLIC ? 1 : extent / nodes + (coordinate < extent % nodes);
            out->in_run[x] = goes_on ? out->in_run[x - 1] + 1 : 0;
        } else {
            out->in_run[x] = out->in_run[x - 1] + 1;
        }
        left--;
        out->coordinate[x] = coordinate;
        out->run[x] = runs;
        out->local[x] = out->owned[coordinate]++;
    }
}

/* A tile of a local array, or of a slot: number of the place, axis by axis. */
static int64_t tile_of(const dcli_map_rule *rule, const int64_t place[], const int64_t extent[])
{
    int64_t number = 0;
    for (int d = 0; d < rule->rank; d++) {
        int64_t shape = rule->tile[d] < extent[d] ? rule->tile[d] : extent[d];
        number = number * ((extent[d] + shape - 1) / shape) + place[d] / shape;
    }
    return number;
}

static void lay_axes(test_model *model)
{
    static struct axis_model axis[4];
    const dcli_map_rule *rule = &model->rule;
    int rank = model->grid.rank;
    for (int d = 0; d < rank; d++)
        deal_axis(&rule->axes[d], model->grid.extent[d], model->nodes[d], &axis[d]);
    for (int64_t e = 0; e < model->elements; e++) {
        int64_t index[DCL_MAX_RANK], place[DCL_MAX_RANK] = {0}, extent[DCL_MAX_RANK] = {0}, block = 0;
        test_model_index(model, e, index);
        model->owner[e] = 0;
        model->offset[e] = 0;
        for (int d = 0; d < rank; d++) {
            int64_t x = index[d] - model->grid.origin[d];
            place[d] = axis[d].local[x];
            extent[d] = axis[d].owned[axis[d].coordinate[x]];
            model->owner[e] = model->owner[e] * model->nodes[d] + (int)axis[d].coordinate[x];
            model->offset[e] = model->offset[e] * extent[d] + place[d];
            block = block * 65536 + axis[d].run[x] * 256 + axis[d].in_run[x] / model->layout.rule.block[d];
        }
        model->block[e] = block;
        model->tile[e] = rule->tile_rank > 0 ? tile_of(rule, place, extent) : -1;
    }
}

/* A round of the shuffle, as dcl_map_hash() has it. */
static uint64_t half_round(uint64_t x, uint64_t by, uint64_t r, uint64_t m, int64_t seed)
{
    uint64_t golden = UINT64_C(0x9E3779B97F4A7C15), z = (4 * (uint64_t)seed + r + 1) * golden;
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    z ^= z >> 31;
    return (x + (((by + z) * golden >> 32) * m >> 32)) % m;
}

static int64_t shuffled(int64_t number, int64_t total, int64_t seed)
{
    uint64_t x = (uint64_t)number, p = (uint64_t)total, a = 1;
    while (a * a < p)
        a++;
    uint64_t b = (p + a - 1) / a;
    do {
        uint64_t l = x / b, r = x % b;
        l = half_round(l, r, 0, a, seed);
        r = half_round(r, l, 1, b, seed);
        l = half_round(l, r, 2, a, seed);
        r = half_round(r, l, 3, b, seed);
        x = l * b + r;
    } while (x >= p);
    return (int64_t)x;
}

static int listed_owner(const test_model *model, int64_t number)
{
    const int64_t *pair = model->rule.list->value;
    while (number >= pair[0]) {
        number -= pair[0];
        pair += 2;
    }
    int place = 0;
    if (pair[1] == DCL_NOWHERE)
        return -1;
    while (model->node_of[place] != pair[1])
        place++;
    return place;
}

/* Pieces are dealt in the order of their numbers, or as they are shuffled; slots are filled as they come. */
static void deal_pieces(const test_model *model, int64_t total, int owner_out[], int64_t slot_out[])
{
    int nodes = model->rule.node_count, node = 0;
    int64_t given[8] = {0};
    for (int64_t number = 0; number < total; number++) {
        int64_t quota = total / nodes + (node < total % nodes);
        if (model->rule.deal == DCL_DEAL_CYCLIC)
            node = (int)(number % nodes);
        else if (model->rule.deal == DCL_DEAL_TABLE)
            node = listed_owner(model, number);
        else if (model->rule.deal == DCL_DEAL_HASH)
            node = (int)(shuffled(number, total, model->rule.seed) % nodes);
        else if (given[node] == quota) /* the next has its share to come; nodes without any stay behind */
            node++;
        owner_out[number] = node;
        slot_out[number] = node >= 0 ? given[node]++ : -1;
        if (model->rule.deal == DCL_DEAL_HASH)
            slot_out[number] = shuffled(number, total, model->rule.seed) / nodes;
    }
}

static void lay_dealt(test_model *model)
{
    static int owner[TEST_MOST];
    static int64_t slot_of[TEST_MOST];
    const dcli_map_rule *rule = &model->rule;
    int rank = model->grid.rank;
    int64_t piece[DCL_MAX_RANK], pieces[DCL_MAX_RANK], weight[DCL_MAX_RANK], total = 1, slot = 1, tile = 1;
    bool cut = false;
    for (int k = 0; k < rank; k++) {
        int d = rule->order == DCL_ROWS ? rank - 1 - k : k;
        int64_t extent = model->grid.extent[d];
        piece[d] = rule->piece[d] < extent ? rule->piece[d] : extent;
        pieces[d] = (extent + piece[d] - 1) / piece[d];
        weight[d] = total;
        total *= pieces[d];
        slot *= piece[d];
        tile *= rule->tile[d] < extent ? rule->tile[d] : extent;
        cut = cut || rule->tile[d] < piece[d];
    }
    deal_pieces(model, total, owner, slot_of);
    for (int64_t e = 0; e < model->elements; e++) {
        int64_t index[DCL_MAX_RANK], place[DCL_MAX_RANK], number = 0, position = 0, block = 0;
        test_model_index(model, e, index);
        for (int d = 0; d < rank; d++) {
            int64_t x = index[d] - model->grid.origin[d];
            place[d] = x % piece[d];
            number += x / piece[d] * weight[d];
            position = position * piece[d] + place[d];
            block = block * 65536 + x / piece[d] * 256 + place[d] / model->layout.rule.block[d];
        }
        model->owner[e] = owner[number];
        model->offset[e] = owner[number] >= 0 ? slot_of[number] * slot + position : -1;
        model->block[e] = block;
        model->tile[e] = -1;
        if (rule->tile_rank > 0 && cut) {
            int64_t last[DCL_MAX_RANK];
            for (int d = 0; d < rank; d++)
                last[d] = piece[d] - 1;
            model->tile[e] = slot_of[number] * (tile_of(rule, last, piece) + 1) + tile_of(rule, place, piece);
        } else if (rule->tile_rank > 0) {
            model->tile[e] = slot_of[number] / (tile / slot);
        }
    }
}

static void lay_boxes(test_model *model)
{
    int rank = model->grid.rank, length = 1 + 2 * rank;
    int64_t stored[64] = {0};
    for (int64_t k = 0; k < model->rule.list->count / length; k++) {
        const int64_t *record = model->rule.list->value + k * length;
        for (int64_t e = 0; e < model->elements; e++) {
            int64_t index[DCL_MAX_RANK], block = k;
            bool inside = true;
            test_model_index(model, e, index);
            for (int d = 0; d < rank; d++) {
                int64_t at = index[d] - record[1 + d];
                inside = inside && at >= 0 && at < record[1 + rank + d];
                block = block * 128 + at / model->layout.rule.block[d];
            }
            if (!inside)
                continue;
            model->owner[e] = 0;
            while (model->node_of[model->owner[e]] != record[0])
                model->owner[e]++;
            model->offset[e] = stored[record[0]]++;
            model->block[e] = block;
            model->tile[e] = -1;
        }
    }
}

/* Of some maps, a grid with elements between those that are stored, which are the grid drawn so far. */
static dcl_grid draw_steps(test_model *model)
{
    dcl_grid grid = model->grid;
    if (model->rule.kind == DCLI_MAP_BOXES || test_between(&model->random, 0, 2) != 0)
        return grid;
    for (int d = 0; d < grid.rank; d++) {
        int64_t step = model->rule.every[d] = test_between(&model->random, 1, 4);
        if (grid.extent[d] > 0)
            grid.extent[d] = (grid.extent[d] - 1) * step + 1 + test_between(&model->random, 0, step - 1);
    }
    if (dcl_grid_count(&grid) > TEST_MOST || dcl_grid_count(&grid) == model->elements)
        return model->grid;
    model->rule.every_rank = grid.rank;
    return grid;
}

/* What was laid out becomes every so many-th element of the grid. */
static void spread(test_model *model, const dcl_grid *grid)
{
    static test_model thin;
    thin = *model;
    model->grid = *grid;
    model->elements = dcl_grid_count(grid);
    for (int64_t e = 0; e < model->elements; e++) {
        int64_t index[DCL_MAX_RANK], from = 0;
        bool stored = true;
        test_model_index(model, e, index);
        for (int d = 0; d < grid->rank; d++) {
            int64_t at = index[d] - grid->origin[d];
            stored = stored && at % model->rule.every[d] == 0;
            from = from * thin.grid.extent[d] + at / model->rule.every[d];
        }
        model->owner[e] = stored ? thin.owner[from] : -1;
        model->offset[e] = stored ? thin.offset[from] : -1;
        model->tile[e] = stored ? thin.tile[from] : -1;
        model->block[e] = stored ? thin.block[from] : -1;
    }
}

static void describe(test_model *model)
{
    int length = sprintf(model->text, "seed %" PRIu64 ": ", model->seed);
    dcli_map_rule_print(&model->rule, model->text + length, 300); /* lists of owners are cut */
    length = (int)strlen(model->text);
    length += sprintf(model->text + length, " on %d of %d nodes, grid", model->rule.node_count, model->cluster);
    for (int d = 0; d < model->grid.rank; d++)
        length += sprintf(model->text + length, "%s%" PRId64, d == 0 ? " " : "x", model->grid.extent[d]);
}

void test_model_free(test_model *model)
{
    dcli_layout_release(&model->layout);
    dcli_map_rule_release(&model->rule);
    memset(&model->layout, 0, sizeof model->layout);
    memset(&model->rule, 0, sizeof model->rule);
}

void test_model_make(test_model *model, uint64_t seed)
{
    model->seed = model->random = seed;
    test_model_free(model);
    do {
        memset(model->nodes, 0, sizeof model->nodes);
        dcli_map_rule_release(&model->rule);
        draw(model);
        draw_nodes(model);
        model->elements = dcl_grid_count(&model->grid);
    } while (model->elements > TEST_MOST);
    if (model->rule.kind == DCLI_MAP_DEALT && model->rule.deal == DCL_DEAL_TABLE)
        draw_owners(model);
    if (model->rule.kind == DCLI_MAP_BOXES)
        draw_boxes(model);
    model->rule.fill_value = (double)test_between(&model->random, -8, 8) / (model->grid.type == DCL_INT8 ? 1 : 16);
    dcl_grid grid = draw_steps(model);
    describe(model);
    cr_assert_eq(dcli_map_rule_check(&model->rule), DCL_OK, "%s: %s", model->text, dcl_error());
    cr_assert_eq(dcli_layout_bind(&model->rule, &grid, &model->layout), DCL_OK, "%s: %s", model->text, dcl_error());
    if (model->elements == 0) {
        model->grid = grid;
        return;
    }
    if (model->rule.kind == DCLI_MAP_AXES)
        lay_axes(model);
    else if (model->rule.kind == DCLI_MAP_BOXES)
        lay_boxes(model);
    else
        lay_dealt(model);
    for (int64_t e = 0; e < model->elements; e++) /* families deal to places */
        model->owner[e] = model->owner[e] >= 0 ? model->node_of[model->owner[e]] : -1;
    if (model->rule.every_rank != 0)
        spread(model, &grid);
}
