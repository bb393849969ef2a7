/* kernel/source_cpu.c - generate the program for a CPU: a work-item runs the boxes of table rows as loops.
 *
 * dcl_any and dcl_checked are plain loop nests. dcl_unit knows the steps of the innermost axis. If inputs are
 * transposed, it iterates over the two axes in blocks, and transposes each input block first. dcl_streamed is for
 * results that are larger than the caches: it collects lines of output and stores them without caching. dcl_gathered
 * and dcl_straight do either for groups of rows, whose inputs they gather first.
 *
 * The loops are not marked as free of dependences (assume_safety), although they are: LLVM would then execute reads
 * that a condition of the body excludes. `restrict` is sufficient, since an array that is written is touched by one
 * access only. */
#include <stdio.h>

#include "base/check.h"
#include "kernel/block.h"
#include "kernel/bounded.h"
#include "kernel/cl.h"
#include "kernel/fold.h"
#include "kernel/gather.h"
#include "kernel/inside.h"
#include "kernel/keyed.h"
#include "kernel/lanes.h"
#include "kernel/neighbour.h"
#include "kernel/place.h"
#include "kernel/source_bundle.h"
#include "kernel/source_chain.h"
#include "kernel/stack.h"
#include "kernel/stretch.h"
#include "kernel/sweep.h"

enum {
    LINE_ELEMENTS = 1024,     /* of a line of output that is collected, if no input is transposed */
    SHORT_LINE_BYTES = 512,   /* the same where little is done for an element or at the beginning of a line: the next
                                 loads begin while the line is being stored */
    SHORT_STRIP_BYTES = 12288 /* strips of at most this many bytes are added one after the other */
};

static const char *type_of(const dcli_body *body, int a)
{
    return dcli_kernel_type(body->params[body->access[a].param].type);
}

/* Open a loop over axis m. @param first  the counter that it begins with. */
static void emit_loop_from(dcli_nest *nest, int m, const char *first)
{
    dcli_text_put(nest->out, "    for (long dcl_t%d = %s; dcl_t%d < dcl_n%d; dcl_t%d++) {\n", m, first, m, m, m);
    dcli_nest_index(nest, m);
    dcli_nest_advance(nest, m);
}

void dcli_emit_loop(dcli_nest *nest, int m) { emit_loop_from(nest, m, "0"); }

/* Whether an access is one of two that the body chooses between, as in `i > j ? A(i,j) : B(i,j)`. Both are contiguous along the
 * innermost axis. */
static bool is_alternative(const dcli_nest *nest, int a)
{
    const dcli_body *body = nest->body;
    const dcli_tokens *tokens = &body->inside->tokens;
    for (int64_t p = 0; p < body->inside->place_count; p++) {
        const dcli_place *first = &body->inside->place[p], *second = dcli_inside_place(body, first->close + 2);
        if (second != NULL && (first->access == a || second->access == a) &&
            dcli_token_is(tokens, first->name - 1, "?") && dcli_token_is(tokens, first->close + 1, ":") &&
            dcli_token_in(tokens, second->close + 1, "; ) ,") &&
            body->access[first->access].unit_axis == nest->innermost &&
            body->access[second->access].unit_axis == nest->innermost)
            return true;
    }
    return false;
}

/* Whether an input that the body may read under a condition is read in any case. dcl_unit may do that (kernel/body.h), and LLVM 17
 * otherwise reads the elements of such a vector one by one, each behind a branch. This is limited to arrays of which the body reads several
 * elements, because neighbours are probably in the caches, and to alternatives: LLVM does not vectorize a loop that chooses between two addresses. */
static bool is_read_early(const dcli_nest *nest, int a)
{
    const dcli_body *body = nest->body;
    const dcli_body_access *access = &body->access[a];
    bool others = false;
    for (int b = 0; b < body->access_count; b++)
        others |= b != a && body->access[b].param == access->param;
    return nest->variant == DCLI_VARIANT_UNIT && body->inside->has_condition && !body->inside->has_loop &&
           access->reach == DCLI_REACH_AFFINE && body->params[access->param].access == DCL_ACCESS_IN &&
           body->params[access->param].type != DCL_HALF && body->inside->access_inner_count[a] == 0 &&
           access->unit_axis == nest->innermost && (others || is_alternative(nest, a));
}

/* Emit the user's text. @param held  its comparisons of indices are held (kernel/stretch.h). */
static void emit_text(dcli_nest *nest, bool held)
{
    dcli_text *out = nest->out;
    int count = nest->body->access_count, early = 0;
    for (int a = 0; a < count; a++)
        early += is_read_early(nest, a);
    dcli_text_put(out, early > 0 ? "#ifdef __clang__\n" : "");
    for (int a = 0; a < count; a++)
        if (is_read_early(nest, a))
            dcli_text_put(out,
                          "    const %s dcl_early%d = dcl_a%d;\n#pragma push_macro(\"dcl_a%d\")\n#undef dcl_a%d\n"
                          "#define dcl_a%d dcl_early%d\n",
                          type_of(nest->body, a), a, a, a, a, a, a);
    dcli_text_put(out, early > 0 ? "#endif\n" : "");
    (held ? dcli_emit_held_text : dcli_emit_text)(out, nest->body);
    dcli_text_put(out, early > 0 ? "#ifdef __clang__\n" : "");
    for (int a = 0; a < count; a++)
        if (is_read_early(nest, a))
            dcli_text_put(out, "#pragma pop_macro(\"dcl_a%d\")\n", a);
    dcli_text_put(out, early > 0 ? "#endif\n" : "");
}

/* Whether lines are run in stretches (kernel/stretch.h). Results must not depend on how a line is divided into strips. */
static bool has_stretches(const dcli_nest *nest)
{
    const dcli_body *body = nest->body;
    return nest->variant == DCLI_VARIANT_UNIT && body->inside->comparison_count > 0 && !body->keyed && !nest->looks &&
           !dcli_body_is_ordered(body) && !dcli_body_places(body) && !dcli_inside_is_chain(body);
}

/* Emit the counter and the index of an element of a strip; dcl_k is its number in the strip. */
static void emit_strip_index(dcli_nest *nest)
{
    dcli_text_put(nest->out, "    const long dcl_t%d = dcl_v + dcl_k;\n", nest->innermost);
    dcli_nest_index(nest, nest->innermost);
}

static void emit_line_index(dcli_nest *nest)
{
    dcli_text_put(nest->out, "    const long dcl_t%d = dcl_k;\n", nest->innermost);
    dcli_nest_index(nest, nest->innermost);
}

/* Emit the loop that runs a body without results for elements 0 .. `count` - 1 of a line or strip, in stretches. */
static void emit_stretches(dcli_nest *nest, const char *count, void (*index)(dcli_nest *))
{
    dcli_text_put(nest->out,
                  "    for (long dcl_from = 0, dcl_some; dcl_from < %s; dcl_from += dcl_some) {\n"
                  "    dcl_some = %s - dcl_from;\n",
                  count, count);
    dcli_emit_stretch(nest, "dcl_from", "dcl_some", index);
    dcli_emit_vectorize(nest->out, nest->body);
    dcli_text_put(nest->out, "    for (long dcl_k = dcl_from; dcl_k < dcl_from + dcl_some; dcl_k++) {\n");
    index(nest);
    emit_text(nest, true);
    dcli_text_put(nest->out, "    }\n    }\n");
}

/* Emit a loop that runs the body for dcl_m elements of the innermost axis, from element dcl_v on. @param held  they are a stretch. */
static void emit_strip_loop(dcli_nest *nest, dcli_fold_way way, bool held)
{
    int v = nest->innermost;
    dcli_emit_strip_begin(nest->out, nest->body, way);
    dcli_text_put(nest->out, "    const long dcl_t%d = dcl_v + dcl_k;\n", v);
    dcli_nest_index(nest, v);
    dcli_emit_neutral(nest->out, nest->body);
    emit_text(nest, held);
    for (int r = 0; r < nest->body->result_count && dcli_body_writes_beside(nest->body); r++) {
        if (!nest->body->result[r].placed)
            continue;
        dcli_text_put(nest->out, "    long dcl_l%d = LONG_MAX;\n    if (dcl_q%d)\n        dcl_l%d = ", r, r, r);
        dcli_emit_place(nest);
        dcli_text_put(nest->out, ";\n");
    }
    dcli_emit_fold(nest->out, nest->body, way);
    dcli_emit_strip_end(nest->out, nest->body, way);
}

/* Emit a loop over elements of a keyed reduction's strip, with what the statements do in it. @param head  of the
 * loop over dcl_k. */
static void emit_calls(dcli_nest *nest, dcli_keyed_calls calls, const char *head)
{
    int v = nest->innermost;
    dcli_emit_keyed_calls(nest->out, nest->body, calls);
    dcli_text_put(nest->out, "%s {\n    const long dcl_t%d = dcl_v + dcl_k;\n", head, v);
    dcli_nest_index(nest, v);
    emit_text(nest, false);
    dcli_text_put(nest->out, "    }\n");
}

/* Emit a strip of a keyed reduction that looks at some keys before it reduces their values. While it does, the next
 * keys are loaded. */
static void emit_looking_strip(dcli_nest *nest)
{
    static const char some[] = "for (long dcl_k = dcl_from; dcl_k < dcl_from + DCL_KEYED_AHEAD; dcl_k++)";
    dcli_text *out = nest->out;
    char looking[192], reducing[192];
    snprintf(looking, sizeof looking, "#pragma clang loop vectorize(enable) interleave_count(4)\n    %s", some);
    snprintf(reducing, sizeof reducing, "#pragma clang loop unroll_count(8)\n    %s", some);
    dcli_text_put(out, "    long dcl_from = 0;\n");
    dcli_emit_keyed_look(out, nest->body);
    emit_calls(nest, DCLI_KEYED_LOOKING, looking);
    dcli_emit_keyed_looked(out, nest->body);
    emit_calls(nest, DCLI_KEYED_UNCHECKED, reducing);
    dcli_text_put(out, "    }\n");
    emit_calls(nest, DCLI_KEYED_CHECKED, "    for (long dcl_k = dcl_from; dcl_k < dcl_m; dcl_k++)");
    dcli_emit_elements_end(out, nest->body);
}

/* Emit a strip of a keyed reduction that adds its values to neighbouring elements of a sum, if it can; otherwise one
 * by one. The innermost index is the last key, so all keys are inside if the first and the last ones are. */
static void emit_adding_strip(dcli_nest *nest)
{
    static const char all[] = "#pragma clang loop vectorize_width(8) interleave_count(1)\n"
                              "    for (long dcl_k = 0; dcl_k < dcl_m; dcl_k++)";
    dcli_text *out = nest->out;
    dcli_emit_keyed_lines(out, nest->body);
    emit_calls(nest, DCLI_KEYED_INSIDE, "    for (long dcl_k = 0; dcl_k < dcl_m; dcl_k += dcl_m - 1)");
    dcli_text_put(out, "    dcl_widen(0);\n    if ((long)dcl_outside >= 0) {\n");
    emit_calls(nest, DCLI_KEYED_FITTING, all);
    dcli_text_put(out, "    dcl_added = dcl_fits < 0;\n    }\n    if (dcl_added) {\n");
    dcli_emit_keyed_room(out);
    emit_calls(nest, DCLI_KEYED_ADDING, all);
    dcli_text_put(out, "    }\n    }\n    if (!dcl_added) {\n");
    emit_calls(nest, DCLI_KEYED_CHECKED, "    for (long dcl_k = 0; dcl_k < dcl_m; dcl_k++)");
    dcli_text_put(out, "    }\n");
    dcli_emit_elements_end(out, nest->body);
}

static void emit_strip(dcli_nest *nest, bool held)
{
    if (nest->variant == DCLI_VARIANT_UNIT && dcli_lanes_has(nest->body)) {
        dcli_emit_lanes(nest, "dcl_m", emit_strip_index);
        dcli_emit_elements_end(nest->out, nest->body);
        return;
    }
    if (nest->variant == DCLI_VARIANT_UNIT && dcli_keyed_looks_ahead(nest->body)) {
        emit_looking_strip(nest);
        return;
    }
    if (nest->variant == DCLI_VARIANT_UNIT && dcli_keyed_adds_lines(nest->body)) {
        emit_adding_strip(nest);
        return;
    }
    if (nest->body->result_count == 0 && has_stretches(nest)) {
        emit_stretches(nest, "dcl_m", emit_strip_index);
        dcli_emit_elements_end(nest->out, nest->body);
        return;
    }
    bool runs = nest->variant == DCLI_VARIANT_UNIT && dcli_fold_runs(nest->body) && !dcli_body_is_ordered(nest->body);
    bool wide = runs && dcli_fold_runs_wide(nest->body);
    bool places = dcli_body_places(nest->body) && !dcli_body_writes_beside(nest->body);
    if (places)
        dcli_text_put(nest->out, "    {\n");
    if (places)
        dcli_emit_places_begin(nest->out, nest->body);
    if (runs)
        emit_strip_loop(nest, DCLI_FOLD_RUN, held);
    if (wide)
        emit_strip_loop(nest, DCLI_FOLD_WIDE_RUN, held);
    emit_strip_loop(nest, DCLI_FOLD_BUFFERED, held);
    if (runs)
        dcli_text_put(nest->out, wide ? "    }\n    }\n" : "    }\n");
    if (places)
        dcli_emit_places_end(nest);
    if (places)
        dcli_text_put(nest->out, "    }\n");
    dcli_emit_elements_end(nest->out, nest->body);
}

/* Emit the innermost axis of a reduction, in strips that fit the buffers of its results. */
void dcli_emit_reduced_line(dcli_nest *nest)
{
    int v = nest->innermost;
    dcli_emit_nest_elements(nest);
    dcli_text_put(nest->out,
                  "    for (long dcl_v = 0, dcl_m; dcl_v < dcl_n%d; dcl_v += dcl_m) {\n"
                  "    dcl_m = dcl_min(dcl_n%d - dcl_v, (long)%d);\n",
                  v, v, DCLI_FOLD_STRIP);
    if (has_stretches(nest))
        dcli_emit_stretch(nest, "0", "dcl_m", emit_strip_index);
    emit_strip(nest, has_stretches(nest));
    dcli_text_put(nest->out, "    }\n");
}

/* Emit a line of a body with declared reads, `count` indices from counter `first` on, by `emit`: in a loop that only
 * notes violations. If there are some, or the line cannot be run so, it is run in a loop that reports violations. */
static void emit_looked_line(dcli_nest *nest, const char *first, const char *count, int number,
                             void (*emit)(dcli_nest *, int))
{
    const dcli_body *body = nest->body;
    int v = nest->innermost;
    dcli_nest looking = *nest;
    dcli_bounded bounded;
    looking.looks = true;
    dcli_bounded_find(body, &bounded);
    dcli_text_put(nest->out, "    {\n");
    dcli_emit_look_limits(nest->out, body, nest->form);
    dcli_text_put(nest->out, "    bool dcl_safe = dcl_d%d == 1", v);
    dcli_emit_look_steps(nest->out, body);
    dcli_text_put(nest->out,
                  ";\n    {\n    const long dcl_jl = dcl_i%d + %s, dcl_jh = dcl_jl + %s - 1;\n%s    }\n"
                  "    long dcl_bad = dcl_safe ? 0 : -1;\n    if (dcl_safe) {\n",
                  v, first, count, bounded.code != NULL ? bounded.code : "");
    dcli_emit_look_lows(nest->out, body);
    emit(&looking, number);
    dcli_emit_look_end(nest->out, body);
    dcli_text_put(nest->out, "    }\n    if (dcl_bad < 0) {\n");
    emit(nest, number);
    dcli_text_put(nest->out, "    }\n    }\n");
    dcli_bounded_free(&bounded);
}

/* Emit the innermost axis, number v, as one loop that runs the body. */
static void emit_whole_line(dcli_nest *nest, int v)
{
    bool chain = dcli_inside_is_chain(nest->body);
    char count[16];
    snprintf(count, sizeof count, "dcl_n%d", v);
    dcli_emit_nest_elements(nest);
    if (nest->variant == DCLI_VARIANT_UNIT && dcli_lanes_has(nest->body)) {
        dcli_emit_lanes(nest, count, emit_line_index);
        dcli_emit_elements_end(nest->out, nest->body);
        return;
    }
    if (has_stretches(nest)) {
        emit_stretches(nest, count, emit_line_index);
        dcli_emit_elements_end(nest->out, nest->body);
        return;
    }
    if (nest->variant == DCLI_VARIANT_UNIT && !chain)
        dcli_emit_vectorize(nest->out, nest->body);
    dcli_text_put(nest->out, "    for (long dcl_t%d = 0; dcl_t%d < dcl_n%d; dcl_t%d++) {\n", v, v, v, v);
    dcli_nest_index(nest, v);
    if (chain)
        dcli_emit_chain(nest->out, nest->body);
    else
        emit_text(nest, false);
    dcli_text_put(nest->out, "    }\n");
    dcli_emit_elements_end(nest->out, nest->body);
}

static void emit_plain_line(dcli_nest *nest, int v)
{
    if (nest->body->result_count > 0 && !dcli_inside_is_chain(nest->body))
        dcli_emit_reduced_line(nest);
    else if (nest->variant == DCLI_VARIANT_UNIT && dcli_body_looks(nest->body)) {
        char count[16];
        snprintf(count, sizeof count, "dcl_n%d", v);
        emit_looked_line(nest, "0", count, v, emit_whole_line);
    } else
        emit_whole_line(nest, v);
}

void dcli_emit_along_elements(dcli_nest *nest, void (*emit)(dcli_text *, const dcli_body *))
{
    const dcli_body *body = nest->body;
    for (int r = 0; r < body->result_count; r++) {
        int a = body->result[r].access;
        char offset[32];
        snprintf(offset, sizeof offset, "dcl_x%d_%d", a, nest->level[a]);
        dcli_emit_element(nest->out, body, nest->form, nest->variant, a, offset);
    }
    emit(nest->out, body);
    for (int r = 0; r < body->result_count; r++)
        dcli_text_put(nest->out, "#undef dcl_a%d\n", body->result[r].access);
}

void dcli_emit_plain_nest(dcli_nest *nest)
{
    const int first_inner = nest->body->along ? nest->body->space_rank : -1;
    bool narrowed[DCL_MAX_RANK];
    for (int m = 0; m <= nest->innermost; m++) {
        if (m == first_inner)
            dcli_emit_along_elements(nest, dcli_emit_along_begin);
        narrowed[m] = dcli_nest_narrow(nest, m, m, m);
        (m < nest->innermost ? dcli_emit_loop : emit_plain_line)(nest, m);
    }
    for (int m = nest->innermost; m >= 0; m--) {
        if (m < nest->innermost)
            dcli_text_put(nest->out, "    }\n");
        if (narrowed[m])
            dcli_text_put(nest->out, "    }\n");
        if (m == first_inner)
            dcli_emit_along_elements(nest, dcli_emit_along_end);
    }
}

/* Whether a kernel collects lines of an output, which it may then store without caching. */
static bool streams(const dcli_nest *nest, int a)
{
    return nest->streams != DCLI_STREAM_NEVER && dcli_is_streamed(nest->body, a);
}

/* Text that is wanted only where kernels decide by dcl_stream whether they store without caching. */
static const char *if_large(const dcli_nest *nest, const char *text)
{
    return nest->streams == DCLI_STREAM_LARGE ? text : "";
}

/* Emit dcl_stream of a kernel that gathers: whether this launch stores without caching, as dcli_rows_stream() says
 * it for others. */
static void emit_stream_test(dcli_nest *nest)
{
    const dcli_body *body = nest->body;
    int streamed = dcli_first_streamed(body);
    dcli_text_put(nest->out, "    const int dcl_stream = sizeof(%s)", type_of(body, streamed));
    for (int d = 0; d < body->space_rank; d++) {
        dcli_text_put(nest->out, " * (");
        dcli_emit_number(nest->out, body, nest->form, DCLI_ROW_GRID_END, streamed, d);
        dcli_text_put(nest->out, " - ");
        dcli_emit_number(nest->out, body, nest->form, DCLI_ROW_GRID_LOW, streamed, d);
        dcli_text_put(nest->out, ")");
    }
    dcli_text_put(nest->out, " >= %d && sizeof(%s) * dcl_table[%d] >= %d;\n", DCLI_STREAM_ARRAY_BYTES,
                  type_of(body, streamed), DCLI_GATHER_ELEMENTS, DCLI_STREAM_LAUNCH_BYTES);
}

/* Emit the buffers for lines of output and for transposed blocks. On CPU devices all address spaces are one, so a
 * pointer to a buffer can replace that of the output. */
static void emit_buffers(dcli_nest *nest, int across, int width)
{
    const dcli_body *body = nest->body;
    int tall = nest->gathers ? -1 : dcli_tall_access(body);
    int height = across >= 0 ? dcli_block_height(body) : 0, room = height * width;
    if (tall >= 0) {
        int tall_width = DCLI_TALL_BYTES / (int)dcl_type_bytes(body->params[body->access[tall].param].type);
        dcli_text_put(nest->out,
                      "    const bool dcl_tall = dcl_s%d_%d * (long)sizeof(%s) %% %d == 0;\n"
                      "    const long dcl_height = dcl_tall ? %d : %d, dcl_width = dcl_tall ? %d : %d;\n",
                      tall, nest->innermost, type_of(body, tall), DCLI_TALL_PITCH, DCLI_TALL_HEIGHT, height, tall_width,
                      width);
        room = DCLI_TALL_HEIGHT * tall_width;
    } else if (across >= 0) {
        dcli_text_put(nest->out, "    const long dcl_height = %d, dcl_width = %d;\n", height, width);
    }
    for (int a = 0; a < body->access_count; a++) {
        if (across >= 0 && dcli_is_transposed(body, a))
            dcli_text_put(nest->out, "    %s dcl_b%d[%d] __attribute__((aligned(64)));\n", type_of(body, a), a, room);
        if (streams(nest, a))
            dcli_text_put(nest->out, "    %s dcl_o%d[%d] __attribute__((aligned(64)));\n", type_of(body, a), a, width);
    }
    if (nest->streams == DCLI_STREAM_LARGE)
        emit_stream_test(nest);
}

/* Open a loop over the innermost axis in lines: dcl_m elements from element dcl_v on. The first line is shortened so
 * that the next ones begin at a cache line of the first streamed output. */
static void open_lines(dcli_nest *nest, int across, int width)
{
    int v = nest->innermost, streamed = dcli_first_streamed(nest->body);
    dcli_text_put(nest->out, "    for (long dcl_v = 0, dcl_m; dcl_v < dcl_n%d; dcl_v += dcl_m) {\n", v);
    if (across >= 0)
        dcli_text_put(nest->out, "    dcl_m = dcl_width;\n");
    else if (nest->streams == DCLI_STREAM_NEVER)
        dcli_text_put(nest->out, "    dcl_m = dcl_n%d;\n", v);
    else if (nest->streams == DCLI_STREAM_ALWAYS)
        dcli_text_put(nest->out, "    dcl_m = %d;\n", width);
    else
        dcli_text_put(nest->out, "    dcl_m = dcl_stream ? %d : dcl_n%d;\n", width, v);
    dcli_text_put(nest->out, "    if (dcl_m > dcl_n%d - dcl_v)\n        dcl_m = dcl_n%d - dcl_v;\n", v, v);
    if (nest->streams != DCLI_STREAM_NEVER)
        dcli_text_put(nest->out,
                      "    else%s\n        dcl_m -= ((ulong)(dcl_p%d + dcl_x%d_%d + dcl_v + dcl_m) & 63) / "
                      "sizeof(%s);\n",
                      if_large(nest, " if (dcl_stream)"), streamed, streamed, nest->level[streamed],
                      type_of(nest->body, streamed));
}

/* Emit the loop over one line. */
static void emit_line_loop(dcli_nest *nest, int across)
{
    const dcli_body *body = nest->body;
    dcli_emit_nest_elements(nest);
    for (int a = 0; a < body->access_count; a++) {
        if (streams(nest, a))
            dcli_text_put(nest->out, "#undef dcl_a%d\n#define dcl_a%d dcl_%c%d[dcl_k]\n", a, a,
                          nest->streams == DCLI_STREAM_ALWAYS ? 'o' : 'w', a);
        else if (across >= 0 && dcli_is_transposed(body, a))
            dcli_text_put(nest->out, "#undef dcl_a%d\n#define dcl_a%d dcl_b%d[dcl_q * dcl_width + dcl_k]\n", a, a, a);
    }
    emit_strip(nest, false);
}

/* Emit the code for one line: run the body over it, then store the collected output. */
static void emit_line(dcli_nest *nest, int across)
{
    const dcli_body *body = nest->body;
    if (across < 0 && nest->streams == DCLI_STREAM_ALWAYS && dcli_stacks(body) == DCLI_STACK_NEVER)
        dcli_emit_leading_lines(nest, 1);
    for (int a = 0; a < body->access_count; a++)
        if (nest->streams == DCLI_STREAM_LARGE && dcli_is_streamed(body, a))
            dcli_text_put(nest->out,
                          "    __global %s *const dcl_w%d = dcl_stream ? (__global %s *)(ulong)dcl_o%d : dcl_p%d + "
                          "dcl_x%d_%d + dcl_v;\n",
                          type_of(body, a), a, type_of(body, a), a, a, a, nest->level[a]);
    if (nest->variant == DCLI_VARIANT_UNIT && dcli_body_looks(body))
        emit_looked_line(nest, "dcl_v", "dcl_m", across, emit_line_loop);
    else
        emit_line_loop(nest, across);
    for (int a = 0; a < body->access_count; a++)
        if (streams(nest, a))
            dcli_text_put(nest->out, "    %sdcl_store_%s(dcl_p%d + dcl_x%d_%d + dcl_v, dcl_o%d, dcl_m);\n",
                          if_large(nest, "if (dcl_stream)\n        "), type_of(body, a), a, a, nest->level[a], a);
}

/* Emit the code that transposes the inputs of a block. */
static void emit_turns(dcli_nest *nest)
{
    const dcli_body *body = nest->body;
    for (int a = 0; a < body->access_count; a++)
        if (dcli_is_transposed(body, a))
            dcli_text_put(nest->out,
                          "    dcl_turn_%s(dcl_p%d + dcl_x%d_%d + dcl_u + dcl_v * dcl_s%d_%d, dcl_s%d_%d, dcl_b%d, "
                          "dcl_width, dcl_h, dcl_m);\n",
                          type_of(body, a), a, a, nest->level[a], a, nest->innermost, a, nest->innermost, a);
}

/* Emit a loop over blocks, each of dcl_h indices of axis `across` times one line: transpose the inputs of the block,
 * then process it line by line. */
static void emit_blocks(dcli_nest *nest, int across)
{
    dcli_text_put(nest->out,
                  "    for (long dcl_u = 0; dcl_u < dcl_n%d; dcl_u += dcl_height) {\n"
                  "    const long dcl_h = dcl_min(dcl_n%d - dcl_u, dcl_height);\n",
                  across, across);
    emit_turns(nest);
    dcli_text_put(nest->out,
                  "    for (long dcl_q = 0; dcl_q < dcl_h; dcl_q++) {\n    const long dcl_t%d = dcl_u + dcl_q;\n",
                  across);
    dcli_nest_index(nest, across);
    dcli_nest_advance(nest, across);
    emit_line(nest, across);
    dcli_text_put(nest->out, "    }\n    }\n");
}

/* Open a loop over the elements of a block along axis `across`. */
static dcli_nest open_column(const dcli_nest *nest, int across)
{
    dcli_nest column = *nest;
    dcli_text_put(nest->out,
                  "    for (long dcl_q = 0; dcl_q < dcl_h; dcl_q++) {\n    const long dcl_t%d = dcl_u + dcl_q;\n",
                  across);
    dcli_nest_index(&column, across);
    dcli_nest_advance(&column, across);
    return column;
}

/* Fetch line dcl_q of the next block into the second-level cache while this block is reduced. A block has short pieces
 * of many lines, which processors do not recognize as streams. */
static void emit_next_block(dcli_nest *nest)
{
    const dcli_body *body = nest->body;
    int v = nest->innermost;
    for (int a = 0; a < body->access_count; a++)
        if (dcli_is_transposed(body, a))
            dcli_text_put(nest->out,
                          "    for (long dcl_f = 0; dcl_q < dcl_m && dcl_f < dcl_h && dcl_v + dcl_m + dcl_q < dcl_n%d; "
                          "dcl_f += 64 / "
                          "(long)sizeof(%s))\n"
                          "        DCL_FAR_AHEAD(dcl_p%d + dcl_x%d_%d + dcl_u + dcl_f + (dcl_v + dcl_m + dcl_q) * "
                          "dcl_s%d_%d);\n",
                          v, type_of(body, a), a, a, nest->level[a], a, v);
}

/* Emit a reduction along an axis whose inputs are contiguous along a loop axis, `across`: blocks of inputs are
 * transposed, and each element of the outputs is reduced over one block after the other. */
static void emit_columns(dcli_nest *nest, int across, int width)
{
    const dcli_body *body = nest->body;
    int height = dcli_block_height(body), v = nest->innermost;
    emit_buffers(nest, across, width);
    dcli_emit_along_room(nest->out, body, height);
    for (int m = 0; m < body->space_rank; m++)
        if (m != across)
            dcli_emit_loop(nest, m);
    dcli_text_put(nest->out,
                  "    for (long dcl_u = 0; dcl_u < dcl_n%d; dcl_u += %d) {\n"
                  "    const long dcl_h = dcl_min(dcl_n%d - dcl_u, (long)%d);\n",
                  across, height, across, height);
    dcli_nest column = open_column(nest, across);
    dcli_emit_along_elements(&column, dcli_emit_along_begin);
    dcli_emit_along_keep(nest->out, body);
    dcli_text_put(nest->out,
                  "    }\n    for (long dcl_v = 0, dcl_m; dcl_v < dcl_n%d; dcl_v += dcl_m) {\n"
                  "    dcl_m = dcl_min(dcl_n%d - dcl_v, (long)%d);\n",
                  v, v, width);
    emit_turns(nest);
    column = open_column(nest, across);
    emit_next_block(nest);
    dcli_emit_along_continue(nest->out, body);
    dcli_emit_nest_elements(&column);
    for (int a = 0; a < body->access_count; a++)
        if (dcli_is_transposed(body, a))
            dcli_text_put(nest->out, "#undef dcl_a%d\n#define dcl_a%d dcl_b%d[dcl_q * dcl_width + dcl_k]\n", a, a, a);
    emit_strip(&column, false);
    dcli_emit_along_keep(nest->out, body);
    dcli_text_put(nest->out, "    }\n    }\n");
    column = open_column(nest, across);
    dcli_emit_along_continue(nest->out, body);
    dcli_emit_along_elements(&column, dcli_emit_along_end);
    dcli_text_put(nest->out, "    }\n    }\n");
    for (int m = 0; m < body->space_rank; m++)
        if (m != across)
            dcli_text_put(nest->out, "    }\n");
}

/* Emit a reduction that can be done in bundles (kernel/source_bundle.h). Strips of DCLI_FOLD_LEAST_RUN elements up
 * to SHORT_STRIP_BYTES are added one after the other instead: what neighbouring strips read in common stays in the
 * first-level cache anyway, and memory is read fastest one row after the other. */
static void emit_bundled(dcli_nest *nest)
{
    const dcli_body *body = nest->body;
    dcli_nest plain = *nest;
    int bytes = 4, v = nest->innermost;
    for (int a = 0; a < body->access_count; a++)
        bytes = dcli_max(bytes, (int)dcl_type_bytes(body->params[body->access[a].param].type));
    dcli_text_put(nest->out, "    if (dcl_n%d >= %d && dcl_n%d <= %d) {\n", v, DCLI_FOLD_LEAST_RUN, v,
                  SHORT_STRIP_BYTES / bytes);
    dcli_emit_plain_nest(&plain);
    dcli_text_put(nest->out, "    } else {\n");
    dcli_emit_bundles(nest);
    dcli_text_put(nest->out, "    }\n");
}

/* How many elements of output are collected before they are stored, if no input is transposed. */
static int line_elements(const dcli_nest *nest)
{
    const dcli_body *body = nest->body;
    int streamed = dcli_first_streamed(body);
    if (nest->streams != DCLI_STREAM_ALWAYS || body->inside->has_loop || dcli_body_looks(body) || has_stretches(nest) ||
        dcli_stacks(body) == DCLI_STACK_LOOPS)
        return LINE_ELEMENTS;
    return SHORT_LINE_BYTES / (int)dcl_type_bytes(body->params[body->access[streamed].param].type);
}

static void emit_unit_kernel(dcli_nest *nest)
{
    int across = nest->straight ? -1 : dcli_transposed_axis(nest->body);
    int width = across >= 0 ? dcli_block_width(nest->body) : line_elements(nest);
    if (nest->body->along && across >= 0) {
        emit_columns(nest, across, width);
        return;
    }
    if (dcli_is_bundled(nest->body)) {
        emit_bundled(nest);
        return;
    }
    dcli_stacking stacking = dcli_stacks(nest->body);
    bool stacks = across < 0 && !nest->gathers &&
                  stacking >= (nest->streams == DCLI_STREAM_ALWAYS ? DCLI_STACK_NAMED : DCLI_STACK_LOOPS);
    if (across < 0 && nest->streams == DCLI_STREAM_NEVER && !stacks) {
        dcli_emit_plain_nest(nest);
        return;
    }
    emit_buffers(nest, across, width);
    for (int m = 0; m < nest->innermost; m++) {
        if (stacks && m == nest->innermost - 1)
            dcli_emit_stacks(nest);
        if (m != across)
            emit_loop_from(nest, m, stacks && m == nest->innermost - 1 ? "dcl_u" : "0");
    }
    open_lines(nest, across, width);
    if (across >= 0)
        emit_blocks(nest, across);
    else
        emit_line(nest, across);
    for (int m = 0; m < nest->innermost; m++)
        if (m != across)
            dcli_text_put(nest->out, "    }\n");
    dcli_text_put(nest->out, "    }\n");
}

void dcli_emit_either_nest(dcli_nest *holds, dcli_nest *otherwise)
{
    dcli_text_put(holds->out, ") {\n");
    dcli_emit_plain_nest(holds);
    dcli_text_put(otherwise->out, "    } else {\n");
    dcli_emit_plain_nest(otherwise);
    dcli_text_put(otherwise->out, "    }\n");
}

/* Emit the nest twice: for rows whose reads stay inside, and with checks. */
static void emit_edges(dcli_nest *nest)
{
    dcli_nest plain = *nest;
    plain.plain = true;
    dcli_emit_edges_test(nest);
    dcli_text_put(nest->out, "    if (dcl_plain");
    dcli_emit_either_nest(&plain, nest);
}

static void emit_kernel(dcli_text *out, const dcli_body *body, dcli_variant variant)
{
    bool blocked = dcli_chain_is_blocked(body) && (variant == DCLI_VARIANT_UNIT || variant == DCLI_VARIANT_ANY);
    bool unit = variant == DCLI_VARIANT_UNIT || variant == DCLI_VARIANT_STREAMED;
    dcli_nest nest = dcli_nest_start(out, body, DCLI_FORM_CPU,
                                     blocked ? DCLI_VARIANT_ANY
                                     : unit  ? DCLI_VARIANT_UNIT
                                             : variant);
    nest.streams = variant == DCLI_VARIANT_STREAMED ? DCLI_STREAM_ALWAYS : DCLI_STREAM_NEVER;
    dcli_emit_signature(out, body, DCLI_FORM_CPU, variant);
    dcli_text_put(out, "__global const long *dcl_rows_in, const ulong dcl_rows_at, const long dcl_rows, "
                       "const ulong dcl_claims_at, const ulong dcl_turn, __global long *dcl_report)\n{\n"
                       "    __global const long *restrict const dcl_table =\n"
                       "        dcl_rows_at != 0 ? (__global const long *)dcl_rows_at : dcl_rows_in;\n"
                       "    const long dcl_item = get_global_id(0);\n"
                       "    dcl_share dcl_s = DCL_SHARE(dcl_claims_at, dcl_turn, dcl_rows);\n");
    dcli_emit_partials_begin(out, body, unit && dcli_keyed_folds(body));
    dcli_text_put(out,
                  "    for (long dcl_at; (dcl_at = dcl_share_next(&dcl_s)) >= 0;) {\n"
                  "    __global const long *const dcl_r = dcl_table + dcl_at * %d;\n",
                  dcli_row_length(body));
    dcli_nest_row(&nest);
    if (blocked)
        dcli_emit_chain_blocks(&nest);
    else if ((variant == DCLI_VARIANT_UNIT || variant == DCLI_VARIANT_CHECKED) && dcli_sweeps(body))
        dcli_emit_sweeps(&nest);
    else if (unit && dcli_keyed_folds(body))
        dcli_emit_kept(&nest);
    else if (unit)
        emit_unit_kernel(&nest);
    else if (variant == DCLI_VARIANT_CHECKED && dcli_edges_may_be_plain(body))
        emit_edges(&nest);
    else
        dcli_emit_plain_nest(&nest);
    dcli_text_put(out, "    }\n");
    dcli_emit_partials_end(out, body);
    dcli_text_put(out, "}\n");
}

/* Emit the kernel in which a work-item processes its share of the launch's groups: it gathers a group's inputs, then
 * runs the group's rows. */
static void emit_gathering_kernel(dcli_text *out, const dcli_body *body, bool straight)
{
    dcli_nest nest = dcli_nest_start(out, body, DCLI_FORM_CPU, DCLI_VARIANT_UNIT);
    nest.gathers = true;
    nest.straight = straight;
    nest.streams = dcli_body_streams(body) ? DCLI_STREAM_LARGE : DCLI_STREAM_NEVER;
    dcli_emit_signature(out, body, DCLI_FORM_CPU, straight ? DCLI_VARIANT_STRAIGHT : DCLI_VARIANT_GATHERED);
    dcli_text_put(out, "__global const long *restrict dcl_table, const long dcl_groups, const ulong dcl_claims_at, "
                       "const ulong dcl_turn, __global long *dcl_report)\n{\n"
                       "    const long dcl_item = get_global_id(0);\n"
                       "    dcl_share dcl_s = DCL_SHARE(dcl_claims_at, dcl_turn, dcl_groups);\n");
    dcli_emit_places(out, body);
    dcli_text_put(out,
                  "    for (long dcl_at; (dcl_at = dcl_share_next(&dcl_s)) >= 0;) {\n"
                  "    __global const long *const dcl_g = dcl_table + %d + dcl_at * %d;\n",
                  DCLI_GATHER_HEAD, DCLI_GROUP_LONGS);
    dcli_emit_gathering(out, body);
    dcli_text_put(out,
                  "    for (long dcl_f = 0; dcl_f < dcl_g[1]; dcl_f++) {\n"
                  "    __global const long *const dcl_r = dcl_table + dcl_g[0] + dcl_f * %d;\n",
                  dcli_row_length(body));
    dcli_nest_row(&nest);
    emit_unit_kernel(&nest);
    dcli_text_put(out, "    }\n    }\n}\n");
}

void dcli_emit_cpu(dcli_text *out, const dcli_body *body, dcli_variant checked,
                   const char *const names[DCLI_VARIANT_MOST])
{
    dcli_emit_cpu_opening(out);
    dcli_emit_fold_functions(out, body, DCLI_FORM_CPU);
    dcli_text_put(out, "%s", body->slanted ? dcli_cl_bound : "");
    dcli_emit_block_functions(out, body, names);
    dcli_emit_chain_functions(out, body);
    emit_kernel(out, body, DCLI_VARIANT_UNIT);
    emit_kernel(out, body, DCLI_VARIANT_ANY);
    emit_kernel(out, body, checked);
    if (names[DCLI_VARIANT_STREAMED] != NULL)
        emit_kernel(out, body, DCLI_VARIANT_STREAMED);
    if (names[DCLI_VARIANT_GATHERED] != NULL) {
        dcli_emit_gather_functions(out, body);
        emit_gathering_kernel(out, body, false);
    }
    if (names[DCLI_VARIANT_STRAIGHT] != NULL)
        emit_gathering_kernel(out, body, true);
}
