/* lower/wave.c - find which lines of operations conflict, and arrange them in bands and regions. */
#include "lower/wave.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/check.h"

enum {
    MOST_OPS = 64,    /* most operations of a wave */
    MOST_ARRAYS = 64, /* most memory ranges that are distinguished when the size of a band is chosen */
    REGIONS = 2,      /* regions per unit */
    LOOK_AHEAD = 8,   /* operations after short ones among which one is sought with lines for all units */
    MOST_SPREAD = 2,  /* most positions of a wave, in lines of its longest operation: else regions have unlike shares */
    LONG_LINE = 1 << 17,    /* bytes of a line of all arrays from which on a band of one line is long enough */
    MOST_DISTANCE = 1 << 20 /* conflicts of lines that are farther apart are not considered: the cache is smaller */
};

/** Conflicting lines: line y of a later operation conflicts with lines y + least to y + most of an earlier one only. */
struct distance {
    bool any;
    int64_t least, most;
};

/** How far behind op 0 each operation runs, in positions. In a region that begins at position X, op t begins at X +
 *  low[t]; where op 0 has run lines up to E, op t runs those up to E + high[t]. low ascends from 0, high descends. */
struct lag {
    int64_t low[MOST_OPS], high[MOST_OPS];
    int64_t reach[MOST_OPS]; /* greatest distance of conflicts among the operations up to this one */
};

/* ---- conflicts ------------------------------------------------------------------------------------------------------ */

static int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b < 0); }

/* All bytes of an access, on all lines. */
static void find_range(const dcli_wave_op *op, const dcli_wave_access *access, int64_t *begin_out, int64_t *end_out)
{
    int64_t last = access->begin + (op->lines - 1) * access->pitch;
    *begin_out = dcli_min(access->begin, last);
    *end_out = dcli_max(access->begin, last) + access->length;
}

/* Whether two accesses have no byte in common on any lines. */
static bool are_disjoint(const dcli_wave_op *x, const dcli_wave_access *a, const dcli_wave_op *y,
                         const dcli_wave_access *b)
{
    int64_t begin[2], end[2];
    find_range(x, a, &begin[0], &end[0]);
    find_range(y, b, &begin[1], &end[1]);
    return end[0] <= begin[1] || end[1] <= begin[0];
}

/* Widen a distance by the conflicts between an access of an earlier operation and one of a later one. @return false:
 * these lines cannot be ordered. */
static bool add_conflict(const dcli_wave_op *earlier, const dcli_wave_access *a, const dcli_wave_op *later,
                         const dcli_wave_access *b, struct distance *distance)
{
    if (are_disjoint(earlier, a, later, b))
        return true;
    if (a->pitch <= 0 || a->pitch != b->pitch)
        return false;
    int64_t apart = b->begin - a->begin;
    int64_t least = floor_div(apart - a->length, a->pitch) + 1, most = -floor_div(-(apart + b->length), a->pitch) - 1;
    if (least > most)
        return true;
    if (least < -MOST_DISTANCE || most > MOST_DISTANCE)
        return false;
    distance->least = distance->any ? dcli_min(distance->least, least) : least;
    distance->most = distance->any ? dcli_max(distance->most, most) : most;
    distance->any = true;
    return true;
}

static bool find_distance(const dcli_wave_op *earlier, const dcli_wave_op *later, struct distance *distance_out)
{
    *distance_out = (struct distance){0};
    for (int a = 0; a < earlier->access_count; a++)
        for (int b = 0; b < later->access_count; b++)
            if ((earlier->access[a].written || later->access[b].written) &&
                !add_conflict(earlier, &earlier->access[a], later, &later->access[b], distance_out))
                return false;
    return true;
}

/* Find the lags of op t from those of the operations before it. @return false: it cannot be in a wave with these. */
static bool find_lag(const dcli_wave_op op[], int t, struct lag *lag)
{
    lag->low[t] = t > 0 ? lag->low[t - 1] : 0;
    lag->high[t] = t > 0 ? lag->high[t - 1] : 0;
    lag->reach[t] = t > 0 ? lag->reach[t - 1] : 0;
    for (int s = 0; s < t; s++) {
        struct distance distance;
        if (!find_distance(&op[s], &op[t], &distance))
            return false;
        if (!distance.any)
            continue;
        int64_t apart = op[s].place - op[t].place, least = distance.least + apart, most = distance.most + apart;
        lag->low[t] = dcli_max(lag->low[t], lag->low[s] - least);
        lag->high[t] = dcli_min(lag->high[t], lag->high[s] - most);
        lag->reach[t] = dcli_max(lag->reach[t], dcli_max(-least, most));
    }
    return true;
}

/* ---- sizes ---------------------------------------------------------------------------------------------------------- */

/** The memory ranges that operations access, and how many bytes each further line adds to what is accessed. */
struct arrays {
    int count;
    int64_t begin[MOST_ARRAYS], end[MOST_ARRAYS], line[MOST_ARRAYS];
    int64_t bytes; /* of all lines */
};

/* Add the accesses of an operation. @return false: there are too many. */
static bool add_arrays(const dcli_wave_op *op, struct arrays *arrays)
{
    for (int a = 0; a < op->access_count; a++) {
        const dcli_wave_access *access = &op->access[a];
        int64_t first, end;
        int n = 0;
        find_range(op, access, &first, &end);
        while (n < arrays->count && (end <= arrays->begin[n] || first >= arrays->end[n]))
            n++;
        if (n == MOST_ARRAYS)
            return false;
        if (n == arrays->count) {
            arrays->begin[arrays->count] = first;
            arrays->end[arrays->count] = end;
            arrays->line[arrays->count++] = 0;
        }
        arrays->begin[n] = dcli_min(arrays->begin[n], first);
        arrays->end[n] = dcli_max(arrays->end[n], end);
        int64_t line = access->pitch != 0 ? dcli_min(access->length, llabs(access->pitch)) : access->length;
        arrays->bytes += dcli_max(0, line - arrays->line[n]);
        arrays->line[n] = dcli_max(arrays->line[n], line);
    }
    return true;
}

/** A wave's dimensions. */
struct plan {
    int ops, regions;
    int64_t first, end; /* positions of all lines */
    int64_t band;       /* lines */
};

/* Choose the number of operations, regions, and lines of a band. A band and the lines by which operations lag behind
 * must be in the cache together; each half of them, if lines are not long. */
static struct plan choose(int count, const dcli_wave_op op[], int units, int64_t cache_bytes, struct lag *lag)
{
    int64_t first = op[0].place, end = first + op[0].lines, longest = 0;
    struct plan best = {.ops = 1, .regions = REGIONS * units, .first = first, .end = end, .band = op[0].lines};
    struct arrays arrays = {0};
    for (int t = 0; t < dcli_min(count, MOST_OPS) && find_lag(op, t, lag) && add_arrays(&op[t], &arrays); t++) {
        int64_t lines = cache_bytes / dcli_max(1, arrays.bytes), late = lag->low[t] - lag->high[t];
        int regions = units > 1 ? REGIONS * units : 1;
        first = dcli_min(first, op[t].place);
        end = dcli_max(end, op[t].place + op[t].lines);
        longest = dcli_max(longest, op[t].lines);
        while (regions > 1 && regions >= units && (end - first) / regions <= late + lag->reach[t] + 1)
            regions -= units; /* all units get as many regions */
        if (t == 0)
            continue;
        if (-lag->high[t] > (arrays.bytes < LONG_LINE ? lines / 2 : lines - 1) || lines + lag->high[t] < 1)
            break;
        if (regions < units || end - first > MOST_SPREAD * longest) {
            if (best.ops > 1 || t == LOOK_AHEAD)
                break;
            continue; /* a longer operation may follow */
        }
        best =
            (struct plan){.ops = t + 1, .regions = regions, .first = first, .end = end, .band = lines + lag->high[t]};
    }
    return best;
}

/* ---- arranging ------------------------------------------------------------------------------------------------------ */

static bool begin_list(dcli_wave *wave)
{
    if (dcli_grow(&wave->list, wave->list_count, &wave->list_capacity, sizeof *wave->list) != 0)
        return false;
    wave->list[wave->list_count++] = wave->part_count;
    return true;
}

static bool add_part(dcli_wave *wave, int op, int64_t first, int64_t end)
{
    if (first >= end)
        return true;
    if (dcli_grow(&wave->part, wave->part_count, &wave->part_capacity, sizeof *wave->part) != 0)
        return false;
    wave->part[wave->part_count++] = (dcli_wave_part){.op = op, .first = first, .count = end - first};
    return true;
}

static int64_t between(int64_t low, int64_t x, int64_t high) { return dcli_max(low, dcli_min(x, high)); }

/* The position at which region r begins. */
static int64_t begin_of(const struct plan *plan, int r)
{
    return plan->first + (plan->end - plan->first) * r / plan->regions;
}

/* The first line of op t in region r, and the end of its lines there. */
static int64_t low_of(const struct plan *plan, const dcli_wave_op op[], const struct lag *lag, int r, int t)
{
    return r == 0 ? 0 : between(0, begin_of(plan, r) + lag->low[t] - op[t].place, op[t].lines);
}

static int64_t high_of(const struct plan *plan, const dcli_wave_op op[], const struct lag *lag, int r, int t)
{
    int64_t lines = op[t].lines;
    return r == plan->regions - 1 ? lines : between(0, begin_of(plan, r + 1) + lag->high[t] - op[t].place, lines);
}

static bool add_region(dcli_wave *wave, const struct plan *plan, const dcli_wave_op op[], const struct lag *lag, int r)
{
    int64_t done[MOST_OPS];
    bool ok = begin_list(wave), more = true;
    for (int t = 0; t < plan->ops; t++)
        done[t] = low_of(plan, op, lag, r, t);
    for (int64_t end = begin_of(plan, r) + plan->band; ok && more; end += plan->band) {
        more = false;
        for (int t = 0; t < plan->ops && ok; t++) {
            int64_t high = high_of(plan, op, lag, r, t),
                    next = between(done[t], end + lag->high[t] - op[t].place, high);
            ok = add_part(wave, t, done[t], next);
            done[t] = next;
            more |= next < high;
        }
    }
    return ok;
}

/* Add the lines that regions r - 1 and r leave out. */
static bool add_gap(dcli_wave *wave, const struct plan *plan, const dcli_wave_op op[], const struct lag *lag, int r)
{
    bool ok = begin_list(wave);
    for (int t = 0; t < plan->ops && ok; t++)
        ok = add_part(wave, t, high_of(plan, op, lag, r - 1, t), low_of(plan, op, lag, r, t));
    return ok;
}

int dcli_wave_arrange(int count, const dcli_wave_op op[], int units, int64_t cache_bytes, dcli_wave *wave)
{
    struct lag lag;
    const struct plan plan = choose(count, op, units, cache_bytes, &lag);
    wave->part_count = wave->list_count = 0;
    bool ok = true;
    for (int r = 0; r < plan.regions && ok; r++)
        ok = add_region(wave, &plan, op, &lag, r);
    wave->lists[0] = plan.regions;
    wave->lists[1] = plan.ops > 1 ? plan.regions - 1 : 0;
    for (int r = 1; r <= wave->lists[1] && ok; r++)
        ok = add_gap(wave, &plan, op, &lag, r);
    ok = ok && begin_list(wave); /* the end of the last one */
    return ok ? plan.ops : -1;
}

void dcli_wave_free(dcli_wave *wave)
{
    dcli_free(wave->part);
    dcli_free(wave->list);
    *wave = (dcli_wave){0};
}
