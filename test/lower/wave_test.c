/* test/lower/wave_test.c - waves: all lines are run once, and conflicting lines in the order of their operations. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "base/check.h"
#include "lower/wave.h"

enum { OPS = 24, ACCESSES = 4, LINES = 96, UNITS = 3, CACHE = 4096 };

typedef struct case_ops {
    int count;
    dcli_wave_op op[OPS];
    dcli_wave_access access[OPS][ACCESSES];
} case_ops;

/* When a line is run: phase, list, and place in its list. */
typedef struct moment {
    int runs, phase;
    int64_t list, place;
} moment;

static moment when[OPS][LINES];

static void add(case_ops *ops, int64_t begin, int64_t pitch, int64_t length, bool written)
{
    dcli_wave_op *op = &ops->op[ops->count - 1];
    ops->access[ops->count - 1][op->access_count++] =
        (dcli_wave_access){.begin = begin, .pitch = pitch, .length = length, .written = written};
}

static void add_op(case_ops *ops, int64_t place, int64_t lines)
{
    ops->op[ops->count] = (dcli_wave_op){.lines = lines, .place = place, .access = ops->access[ops->count]};
    ops->count++;
}

/* Steps of a stencil: V from lines x - r to x + r of U, then U from V. */
static void add_steps(case_ops *ops, int steps, int64_t lines, int64_t pitch, int64_t r)
{
    for (int n = 0; n < steps; n++) {
        int64_t from = n % 2 == 0 ? 100000 : 900000, to = n % 2 == 0 ? 900000 : 100000;
        add_op(ops, 0, lines);
        add(ops, to, pitch, pitch, true);
        add(ops, from - r * pitch, pitch, (2 * r + 1) * pitch, false);
    }
}

static bool conflict(const dcli_wave_op *x, int64_t line, const dcli_wave_op *y, int64_t other)
{
    for (int a = 0; a < x->access_count; a++)
        for (int b = 0; b < y->access_count; b++) {
            const dcli_wave_access *s = &x->access[a], *t = &y->access[b];
            int64_t begin = s->begin + line * s->pitch, at = t->begin + other * t->pitch;
            if ((s->written || t->written) && begin < at + t->length && at < begin + s->length)
                return true;
        }
    return false;
}

static void find_moments(const dcli_wave *wave)
{
    for (int t = 0; t < OPS; t++)
        for (int x = 0; x < LINES; x++)
            when[t][x] = (moment){.runs = 0};
    cr_assert_eq(wave->list_count, wave->lists[0] + wave->lists[1] + 1);
    cr_assert_eq(wave->list[wave->list_count - 1], wave->part_count);
    for (int64_t l = 0; l < wave->list_count - 1; l++)
        for (int64_t p = wave->list[l]; p < wave->list[l + 1]; p++)
            for (int64_t x = wave->part[p].first; x < wave->part[p].first + wave->part[p].count; x++) {
                moment *m = &when[wave->part[p].op][x];
                *m = (moment){.runs = m->runs + 1, .phase = l >= wave->lists[0], .list = l, .place = p};
            }
}

static bool is_before(const moment *a, const moment *b)
{
    return a->phase < b->phase || (a->phase == b->phase && a->list == b->list && a->place < b->place);
}

/* Arrange all operations in waves, and check each. @return the operations of the first wave. */
static int check(const case_ops *ops, int units, int64_t cache)
{
    dcli_wave wave = {0};
    int first = 0, begin = 0;
    while (begin < ops->count) {
        const dcli_wave_op *op = ops->op + begin;
        int taken = dcli_wave_arrange(ops->count - begin, op, units, cache, &wave);
        cr_assert(taken >= 1 && taken <= ops->count - begin);
        find_moments(&wave);
        for (int t = 0; t < taken; t++)
            for (int64_t x = 0; x < op[t].lines; x++)
                cr_assert_eq(when[t][x].runs, 1, "line %d of op %d of %d", (int)x, t, taken);
        for (int s = 0; s < taken; s++)
            for (int t = s + 1; t < taken; t++)
                for (int64_t x = 0; x < op[s].lines; x++)
                    for (int64_t y = 0; y < op[t].lines; y++)
                        cr_assert(!conflict(&op[s], x, &op[t], y) || is_before(&when[s][x], &when[t][y]),
                                  "line %d of op %d and line %d of op %d of %d", (int)x, s, (int)y, t, taken);
        first = begin == 0 ? taken : first;
        begin += taken;
    }
    dcli_wave_free(&wave);
    return first;
}

Test(wave, steps_of_a_stencil_share_the_cache)
{
    for (int units = 1; units <= UNITS; units++)
        for (int64_t r = 0; r <= 3; r++) {
            case_ops ops = {0};
            add_steps(&ops, OPS, LINES, 64, r);
            int taken = check(&ops, units, CACHE);
            cr_expect(taken >= 5, "%d units, radius %d: %d operations", units, (int)r, taken);
        }
}

Test(wave, the_size_of_the_cache_limits_a_wave)
{
    case_ops ops = {0};
    add_steps(&ops, OPS, LINES, 64, 1);
    int few = check(&ops, 2, 16 * 64), more = check(&ops, 2, 64 * 64);
    cr_expect(few < more, "%d, %d", few, more);
    cr_expect_eq(check(&ops, 2, 64), 1);
}

/* Three planes of both arrays fit into the cache: a third operation runs two planes behind the first one. Of short lines, half of what fits is
 * for the band. */
Test(wave, long_lines_have_short_bands)
{
    for (int k = 0; k < 2; k++) {
        int64_t pitch = k == 0 ? 1 << 16 : 1 << 14, from = 1 << 30, to = 1LL << 31;
        case_ops ops = {0};
        for (int n = 0; n < 4; n++) {
            add_op(&ops, 0, LINES);
            add(&ops, n % 2 == 0 ? to : from, pitch, pitch, true);
            add(&ops, (n % 2 == 0 ? from : to) - pitch, pitch, 3 * pitch, false);
        }
        int taken = check(&ops, 2, 3 * 2 * pitch);
        cr_expect_eq(taken, k == 0 ? 3 : 2, "%d operations", taken);
    }
}

/* Whole arrays that each operation reads, transposed or as a vector, leave no operation to run with another. */
Test(wave, operations_that_need_all_lines_wait)
{
    case_ops ops = {0};
    add_op(&ops, 0, 64);
    add(&ops, 0, 256, 256, true);
    add_op(&ops, 0, 64);
    add(&ops, 100000, 256, 256, true);
    add(&ops, 0, 4, 63 * 256 + 4, false); /* columns of what op 0 writes */
    cr_expect_eq(check(&ops, 2, 64 * 1024), 1);
    ops.access[1][1] = (dcli_wave_access){.begin = 0, .pitch = 0, .length = 256};
    cr_expect_eq(check(&ops, 2, 64 * 1024), 1);
    ops.access[1][1] = (dcli_wave_access){.begin = 50000, .pitch = 0, .length = 256}; /* another array */
    cr_expect_eq(check(&ops, 2, 64 * 1024), 2);
}

/* Steps with boundary conditions: the first and the last row, of which each is one line, and the first column. */
Test(wave, rows_and_columns_are_part_of_a_wave)
{
    enum { PITCH = 64 };
    for (int units = 1; units <= 2; units++) {
        case_ops ops = {0};
        for (int n = 0; n < 4; n++) {
            add_steps(&ops, 2, LINES, PITCH, 1);
            for (int last = 0; last < 2; last++) {
                add_op(&ops, last * (LINES - 1), 1);
                add(&ops, 100000 + last * (LINES - 1) * PITCH, PITCH, PITCH, true);
                add(&ops, 100000 + (last ? LINES - 2 : 1) * PITCH, PITCH, PITCH, false);
            }
            add_op(&ops, 0, LINES);
            add(&ops, 100000, PITCH, 4, true);
        }
        int taken = check(&ops, units, 2 * CACHE);
        cr_expect_geq(taken, 10, "%d units: %d operations", units, taken);
    }
}

/* Whatever operation is the first one, each region has its share of the lines. */
Test(wave, regions_have_shares_of_the_longest_operation)
{
    case_ops ops = {0};
    dcli_wave wave = {0};
    add_op(&ops, 0, 8);
    add(&ops, 900000, 64, 64, true);
    add(&ops, 100000, 64, 64, false);
    add_steps(&ops, 2, LINES, 64, 0);
    cr_expect_eq(dcli_wave_arrange(3, ops.op, 2, CACHE, &wave), 3);
    for (int l = 0; l < wave.lists[0]; l++) {
        int64_t lines = 0;
        for (int64_t p = wave.list[l]; p < wave.list[l + 1]; p++)
            lines += wave.part[p].count;
        cr_expect_leq(lines, (2 * LINES + 8) / 3, "%d of %d lines are in list %d", (int)lines, 2 * LINES + 8, l);
    }
    dcli_wave_free(&wave);
}

/* Before, 16 units got 20 regions where more did not fit, and took as long as for 32. */
Test(wave, all_units_get_as_many_regions)
{
    for (int units = 2; units <= 8; units++)
        for (int steps = 2; steps <= OPS; steps++) {
            case_ops ops = {0};
            dcli_wave wave = {0};
            add_steps(&ops, steps, 100 * units, 64, 1);
            cr_expect_gt(dcli_wave_arrange(steps, ops.op, units, 1 << 20, &wave), 1);
            cr_expect_eq(wave.lists[0] % units, 0, "%d regions for %d units, %d steps", wave.lists[0], units, steps);
            dcli_wave_free(&wave);
        }
}

Test(wave, one_operation_is_divided_among_the_units)
{
    case_ops ops = {0};
    dcli_wave wave = {0};
    add_steps(&ops, 1, LINES, 64, 1);
    cr_expect_eq(dcli_wave_arrange(1, ops.op, 2, CACHE, &wave), 1);
    cr_expect_geq(wave.lists[0], 2);
    cr_expect_eq(wave.lists[1], 0);
    cr_expect_eq(wave.part_count, wave.lists[0]);
    dcli_wave_free(&wave);
}

/* Operations of any lengths over a few arrays with one pitch, shifted, overlapping, in place, and with short rows. */
Test(wave, conflicting_lines_run_in_order, .timeout = 60)
{
    srand(19);
    int together = 0;
    for (int n = 0; n < 400; n++) {
        case_ops ops = {0};
        int count = 2 + rand() % 9, pitch = 32;
        for (int t = 0; t < count; t++) {
            bool edge = n % 5 == 0 && rand() % 2 == 0; /* a few lines, anywhere */
            int accesses = 1 + rand() % (ACCESSES - 1), at = edge ? rand() % (LINES - 4) : 0;
            add_op(&ops, n % 4 == 0 ? rand() % 9 - 4 : at,
                   edge         ? 1 + rand() % 3
                   : n % 3 == 0 ? 1 + rand() % LINES
                                : 80 + rand() % 16);
            for (int a = 0; a < accesses; a++)
                add(&ops, 100000 * (rand() % 3) + pitch * (at + rand() % 7) + (n % 2 == 0 ? 0 : rand() % pitch),
                    rand() % 40 == 0 ? 2 * pitch : pitch, n % 2 == 0 ? pitch * (1 + rand() % 2) : 1 + rand() % pitch,
                    a == 0);
        }
        together += check(&ops, 1 + n % UNITS, CACHE) > 1;
    }
    cr_expect_gt(together, 100, "%d of 400 cases have waves of several operations", together);
}
