/* segment/copy.c - copying and filling regions: the workhorse of packing, staging and host access.
 *
 * The axes of a region become a nest of loops (segment/transfer.h). The
 * innermost two loops are then one of four kinds: rows of memcpy, repeated elements, strided elements, or squares where
 * the target's unit step and the source's lie on different axes. Loops count in bytes; the loops over elements are
 * written once and compiled for each size of element. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "segment/transfer.h"

#define ALWAYS_INLINE static inline __attribute__((always_inline))

typedef struct loop {
    int64_t count;
    ptrdiff_t target, source; /* steps in memory in bytes */
} loop;

/* A copy as nested loops, the outermost first. */
typedef struct nest {
    int depth;
    loop loops[DCL_MAX_RANK];
    char *target;
    const char *source;
    size_t bytes; /* bytes of one element, or of several elements that are always adjacent on both sides */
} nest;

typedef void inner_fn(const loop *rows, const loop *line, char *target, const char *source, size_t bytes);

/* ---- the innermost two loops ---- */

ALWAYS_INLINE void copy_rows_of(const loop *rows, char *target, const char *source, size_t row_bytes)
{
    for (int64_t i = 0; i < rows->count; i++)
        memcpy(target + i * rows->target, source + i * rows->source, row_bytes);
}

/* Copy rows. Rows of exactly 32, 64 or 128 bytes, which are frequent with small pieces, are copied inline: a call of
 * memcpy would take longer. */
static void copy_rows(const loop *rows, const loop *line, char *target, const char *source, size_t bytes)
{
    size_t row_bytes = (size_t)line->count * bytes;
    switch (row_bytes) {
    case 32:
        copy_rows_of(rows, target, source, 32);
        break;
    case 64:
        copy_rows_of(rows, target, source, 64);
        break;
    case 128:
        copy_rows_of(rows, target, source, 128);
        break;
    default:
        copy_rows_of(rows, target, source, row_bytes);
    }
}

#if defined(__SSE2__) && defined(__GNUC__) && !defined(__clang__)
typedef long long part __attribute__((vector_size(16)));

ALWAYS_INLINE void store_past(part *target, part value) { __builtin_ia32_movntdq(target, value); }
#elif defined(__SSE2__) && defined(__clang__)
typedef long long part __attribute__((vector_size(16)));

ALWAYS_INLINE void store_past(part *target, part value) { __builtin_nontemporal_store(value, target); }
#endif

/* Copy bytes without reading the target's lines into the caches first. */
static void stream_bytes(char *target, const char *source, size_t bytes)
{
#ifdef __SSE2__
    enum { LINE = 64, LEAST_BYTES = 4096 };
    size_t done = (LINE - (uintptr_t)target % LINE) % LINE;
    if (bytes >= LEAST_BYTES) {
        memcpy(target, source, done);
        for (; done + LINE <= bytes; done += LINE)
            for (size_t k = 0; k < LINE; k += sizeof(part)) {
                part value;
                memcpy(&value, source + done + k, sizeof value);
                store_past((part *)(void *)(target + done + k), value);
            }
        memcpy(target + done, source + done, bytes - done);
        __builtin_ia32_sfence(); /* such stores are not ordered otherwise */
        return;
    }
#endif
    memcpy(target, source, bytes);
}

static void stream_rows(const loop *rows, const loop *line, char *target, const char *source, size_t bytes)
{
    for (int64_t i = 0; i < rows->count; i++)
        stream_bytes(target + i * rows->target, source + i * rows->source, (size_t)line->count * bytes);
}

/* Fill with one element. The part that is filled is copied to the bytes after it, so that it doubles each time; but at most its
 * first 4096 bytes are copied, which stay in the first-level cache. */
static void repeat(char *target, const char *source, int64_t count, size_t bytes)
{
    size_t total = (size_t)count * bytes, most = bytes < 4096 ? 4096 / bytes * bytes : bytes;
    memcpy(target, source, bytes);
    for (size_t done = bytes, chunk; done < total; done += chunk) {
        chunk = done < most ? done : most;
        chunk = chunk < total - done ? chunk : total - done;
        memcpy(target + done, target, chunk);
    }
}

static void repeat_rows(const loop *rows, const loop *line, char *target, const char *source, size_t bytes)
{
    for (int64_t i = 0; i < rows->count; i++)
        repeat(target + i * rows->target, source + i * rows->source, line->count, bytes);
}

ALWAYS_INLINE void strided_line(char *target, ptrdiff_t target_step, const char *source, ptrdiff_t source_step,
                                int64_t count, size_t bytes)
{
    for (int64_t j = 0; j < count; j++)
        memcpy(target + j * target_step, source + j * source_step, bytes);
}

/* Copy strided elements. Usually one side is contiguous; a call with a constant step there lets the compiler vectorize
 * the loop. */
ALWAYS_INLINE void strided_rows_of(const loop *rows, const loop *line, char *target, const char *source, size_t bytes)
{
    for (int64_t i = 0; i < rows->count; i++, target += rows->target, source += rows->source) {
        if (line->target == (ptrdiff_t)bytes)
            strided_line(target, (ptrdiff_t)bytes, source, line->source, line->count, bytes);
        else if (line->source == (ptrdiff_t)bytes)
            strided_line(target, line->target, source, (ptrdiff_t)bytes, line->count, bytes);
        else
            strided_line(target, line->target, source, line->source, line->count, bytes);
    }
}

static void strided_rows(const loop *rows, const loop *line, char *target, const char *source, size_t bytes)
{
    switch (bytes) {
    case 1:
        strided_rows_of(rows, line, target, source, 1);
        break;
    case 2:
        strided_rows_of(rows, line, target, source, 2);
        break;
    case 4:
        strided_rows_of(rows, line, target, source, 4);
        break;
    case 8:
        strided_rows_of(rows, line, target, source, 8);
        break;
    case 16:
        strided_rows_of(rows, line, target, source, 16);
        break;
    default:
        strided_rows_of(rows, line, target, source, bytes);
    }
}

/* ---- transposed pairs ---- */

#define LINE_BYTES 64 /* bytes of a cache line: a square has one line along each side */
#define PANEL 512 /* elements along the side of a panel, walked square by square so that its pages stay in the TLB */

#define VECTOR_BYTES 16
typedef uint8_t vector __attribute__((vector_size(VECTOR_BYTES)));

#ifdef __clang__
#define INTERLEAVE(type, a, b, ...) (vector) __builtin_shufflevector((type)(a), (type)(b), __VA_ARGS__)
#else
#define INTERLEAVE(type, a, b, ...) (vector) __builtin_shuffle((type)(a), (type)(b), (type){__VA_ARGS__})
#endif
typedef uint16_t vector_2 __attribute__((vector_size(VECTOR_BYTES)));
typedef uint32_t vector_4 __attribute__((vector_size(VECTOR_BYTES)));
typedef uint64_t vector_8 __attribute__((vector_size(VECTOR_BYTES)));

/* Interleave the first halves of two vectors, element by element. */
ALWAYS_INLINE vector interleave_low(vector a, vector b, size_t bytes)
{
    switch (bytes) {
    case 1:
        return INTERLEAVE(vector, a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    case 2:
        return INTERLEAVE(vector_2, a, b, 0, 8, 1, 9, 2, 10, 3, 11);
    case 4:
        return INTERLEAVE(vector_4, a, b, 0, 4, 1, 5);
    default:
        return INTERLEAVE(vector_8, a, b, 0, 2);
    }
}

/* Interleave the second halves of two vectors, element by element. */
ALWAYS_INLINE vector interleave_high(vector a, vector b, size_t bytes)
{
    switch (bytes) {
    case 1:
        return INTERLEAVE(vector, a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
    case 2:
        return INTERLEAVE(vector_2, a, b, 4, 12, 5, 13, 6, 14, 7, 15);
    case 4:
        return INTERLEAVE(vector_4, a, b, 2, 6, 3, 7);
    default:
        return INTERLEAVE(vector_8, a, b, 1, 3);
    }
}

/* One perfect shuffle of `count` vectors, regarded as one sequence of elements. */
ALWAYS_INLINE void shuffle(const vector from[], vector to[], int count, size_t bytes)
{
#pragma GCC unroll 8
    for (int k = 0; k < count / 2; k++) {
        to[2 * k] = interleave_low(from[k], from[k + count / 2], bytes);
        to[2 * k + 1] = interleave_high(from[k], from[k + count / 2], bytes);
    }
}

/* Transpose as many vectors as a vector has elements, in registers: log2 of that number of perfect shuffles.
 * Source: H. S. Stone, "Parallel Processing with the Perfect Shuffle", IEEE Trans. Computers C-20, 1971. */
ALWAYS_INLINE void transpose_vectors(char *target, ptrdiff_t target_step, const char *source, ptrdiff_t source_step,
                                     size_t bytes)
{
    enum { MOST = VECTOR_BYTES };
    const int count = (int)(VECTOR_BYTES / bytes);
    vector a[MOST], b[MOST];
#pragma GCC unroll 16
    for (int k = 0; k < count; k++)
        memcpy(&a[k], source + k * source_step, VECTOR_BYTES);
    if (count >= 4) {
        shuffle(a, b, count, bytes);
        shuffle(b, a, count, bytes);
    }
    if (count == 16) {
        shuffle(a, b, count, bytes);
        shuffle(b, a, count, bytes);
    }
    if (count == 2 || count == 8)
        shuffle(a, b, count, bytes);
    const vector *done = count == 2 || count == 8 ? b : a;
#pragma GCC unroll 16
    for (int k = 0; k < count; k++)
        memcpy(target + k * target_step, &done[k], VECTOR_BYTES);
}

/* Transpose a square, or a part of one, of whole vectors; `rows` has unit step in the source, `line` in the target. */
ALWAYS_INLINE void packed_square(const loop *rows, const loop *line, char *target, const char *source, size_t bytes)
{
    const int part = (int)(VECTOR_BYTES / bytes);
    for (int i = 0; i < (int)rows->count; i += part)
        for (int j = 0; j < (int)line->count; j += part)
            transpose_vectors(target + i * rows->target + (size_t)j * bytes, rows->target,
                              source + j * line->source + (size_t)i * bytes, line->source, bytes);
}

/* Prefetch the cache lines of a square, because the hardware does not recognise either side's access pattern. They go
 * to the second-level cache: with steps of a power of two they would evict each other from the first. */
ALWAYS_INLINE void prefetch_square(const loop *rows, const loop *line, const char *target, const char *source,
                                   size_t bytes)
{
    for (int k = 0; k < (int)(LINE_BYTES / bytes); k++) {
        __builtin_prefetch(source + k * line->source, 0, 2);
        __builtin_prefetch(target + k * rows->target, 1, 2);
    }
}

ALWAYS_INLINE void squares_of(const loop *rows, const loop *line, char *target, const char *source, size_t bytes)
{
    const int64_t side = (int64_t)(LINE_BYTES / bytes), part = (int64_t)(VECTOR_BYTES / bytes);
    bool packed = rows->source == (ptrdiff_t)bytes && line->target == (ptrdiff_t)bytes;
    for (int64_t i = 0; i < rows->count; i += side)
        for (int64_t j = 0; j < line->count; j += side) {
            loop part_rows = *rows, part_line = *line;
            part_rows.count = rows->count - i < side ? rows->count - i : side;
            part_line.count = line->count - j < side ? line->count - j : side;
            char *to = target + i * rows->target + j * line->target;
            const char *from = source + i * rows->source + j * line->source;
            if (packed && part_rows.count == side && part_line.count == side) {
                if (line->count - j >= 2 * side)
                    prefetch_square(rows, line, to + LINE_BYTES, from + side * line->source, bytes);
                part_rows.count = part_line.count = side; /* constants, so that the compiler unrolls the loops */
                packed_square(&part_rows, &part_line, to, from, bytes);
            } else if (packed && part_rows.count % part == 0 && part_line.count % part == 0)
                packed_square(&part_rows, &part_line, to, from, bytes);
            else
                strided_rows_of(&part_rows, &part_line, to, from, bytes);
        }
}

static void panel(const loop *rows, const loop *line, char *target, const char *source, size_t bytes)
{
    switch (bytes) {
    case 1:
        squares_of(rows, line, target, source, 1);
        break;
    case 2:
        squares_of(rows, line, target, source, 2);
        break;
    case 4:
        squares_of(rows, line, target, source, 4);
        break;
    case 8:
        squares_of(rows, line, target, source, 8);
        break;
    case 16:
        squares_of(rows, line, target, source, 16);
        break;
    default:
        strided_rows(rows, line, target, source, bytes);
    }
}

static void transpose(const loop *rows, const loop *line, char *target, const char *source, size_t bytes)
{
    for (int64_t i = 0; i < rows->count; i += PANEL)
        for (int64_t j = 0; j < line->count; j += PANEL) {
            loop part_rows = *rows, part_line = *line;
            part_rows.count = rows->count - i < PANEL ? rows->count - i : PANEL;
            part_line.count = line->count - j < PANEL ? line->count - j : PANEL;
            panel(&part_rows, &part_line, target + i * rows->target + j * line->target,
                  source + i * rows->source + j * line->source, bytes);
        }
}

/* ---- from regions to nests ---- */

/* Treat a line of a few elements that are adjacent on both sides as one larger element. */
static void widen(nest *nest)
{
    if (nest->depth == 0)
        return;
    const loop *line = &nest->loops[nest->depth - 1];
    if (line->target != (ptrdiff_t)nest->bytes || line->source != (ptrdiff_t)nest->bytes)
        return;
    size_t total = (size_t)line->count * nest->bytes;
    if (line->count <= 16 && (total == 2 || total == 4 || total == 8 || total == 16)) {
        nest->bytes = total;
        nest->depth--;
    }
}

/* Ensure that there are at least two loops, by adding loops of one iteration. */
static void complete(nest *nest)
{
    if (nest->depth == 0)
        nest->loops[nest->depth++] = (loop){1, (ptrdiff_t)nest->bytes, (ptrdiff_t)nest->bytes};
    if (nest->depth == 1) {
        nest->loops[1] = nest->loops[0];
        nest->loops[0] = (loop){1, 0, 0};
        nest->depth = 2;
    }
}

/* Choose the function for the innermost two loops. For squares, first move the loop with the source's smallest step
 * next to that with the target's. */
static inner_fn *choose(nest *nest)
{
    loop *line = &nest->loops[nest->depth - 1];
    if (line->target == (ptrdiff_t)nest->bytes && line->source == (ptrdiff_t)nest->bytes)
        return copy_rows;
    if (line->source == 0)
        return line->target == (ptrdiff_t)nest->bytes ? repeat_rows : strided_rows;
    int rows = -1;
    ptrdiff_t least = line->source < 0 ? -line->source : line->source;
    for (int k = 0; k < nest->depth - 1; k++) {
        ptrdiff_t step = nest->loops[k].source < 0 ? -nest->loops[k].source : nest->loops[k].source;
        if (step != 0 && step < least) {
            rows = k;
            least = step;
        }
    }
    if (rows < 0)
        return strided_rows;
    loop chosen = nest->loops[rows];
    for (int k = rows; k < nest->depth - 2; k++)
        nest->loops[k] = nest->loops[k + 1];
    nest->loops[nest->depth - 2] = chosen;
    return transpose;
}

static void walk(const nest *nest, int level, inner_fn *inner, char *target, const char *source)
{
    const loop *axis = &nest->loops[level];
    if (level == nest->depth - 2) {
        inner(axis, axis + 1, target, source, nest->bytes);
        return;
    }
    for (int64_t i = 0; i < axis->count; i++)
        walk(nest, level + 1, inner, target + i * axis->target, source + i * axis->source);
}

/* Copy elements to a region. @param source_step  [rank] in elements; NULL: every element of the region becomes
 * *source. @param streams  as dcli_region_stream(). */
static void run(const dcli_region *target_region, void *target, const void *source, int64_t source_offset,
                const int64_t source_step[], size_t bytes, bool streams)
{
    const dcl_box *box = &target_region->box;
    ptrdiff_t size = (ptrdiff_t)bytes;
    if (dcli_box_is_empty(box))
        return;
    dcli_loop loops[DCL_MAX_RANK];
    int64_t to = target_region->offset, from = source_offset;
    nest nest;
    nest.depth = dcli_transfer_loops(box->rank, box->count, target_region->step, source_step, &to, &from, loops);
    nest.target = (char *)target + to * size;
    nest.source = (const char *)source + from * size;
    nest.bytes = bytes;
    for (int k = 0; k < nest.depth; k++)
        nest.loops[k] = (loop){loops[k].count, loops[k].to * size, loops[k].from * size};
    widen(&nest);
    complete(&nest);
    inner_fn *inner = choose(&nest);
    walk(&nest, 0, streams && inner == copy_rows ? stream_rows : inner, nest.target, nest.source);
}

void dcli_region_copy(void *target, const dcli_region *target_region, const void *source,
                      const dcli_region *source_region, size_t bytes)
{
    run(target_region, target, source, source_region->offset, source_region->step, bytes, false);
}

void dcli_region_stream(void *target, const dcli_region *target_region, const void *source,
                        const dcli_region *source_region, size_t bytes)
{
    run(target_region, target, source, source_region->offset, source_region->step, bytes, true);
}

void dcli_region_fill(void *target, const dcli_region *region, const void *element, size_t bytes)
{
    run(region, target, element, 0, NULL, bytes, false);
}
