/* kernel/source_scan.c - generate the tile kernels of a scan: loops around the functions of scan.cl.
 *
 * A work-item computes runs of leaves. If the scanned axis is the contiguous one, the values of a chunk of a line are
 * computed, then combined in vectors. Otherwise those of 16 rows of a strip of lines, which the compiler vectorizes. */
#include <string.h>

#include "base/text.h"
#include "kernel/cl.h"
#include "kernel/emit.h"
#include "kernel/fold.h"
#include "kernel/names.h"
#include "kernel/scan.h"

enum {
    CHUNK = 256, /* elements at once along the contiguous axis: scan_total() takes 16 blocks */
    STRIP = DCLI_SCAN_STRIP,
    BLOCK = 16
};

typedef struct writer {
    dcli_text out;
    const dcli_scan *scan;
    const dcli_scan_form *form;
    const char *target; /* the first output: the totals, or P */
    const char *input;  /* an input; all have the same box */
    const char *neutral;
    bool copied; /* the value is the input's element, of P's type */
} writer;

#define PUT(w, ...) dcli_text_put(&(w)->out, __VA_ARGS__)

/* Put a statement that computes the value at an element of the line, scan_k elements after its begin along the scanned axis.
 * @param across  added along the inner axis, "" for none. */
static void put_value(writer *w, const char *place, const char *across)
{
    const dcli_scan *scan = w->scan;
    PUT(w, "const long ");
    for (int d = 0; d < scan->rank; d++)
        PUT(w, "%s%s = scan_b%d%s", d > 0 ? ", " : "", dcli_index_name(scan->index[d]), d,
            d == scan->axis       ? " + scan_k"
            : d == w->form->inner ? across
                                  : "");
    PUT(w, "; %s = (scan_T)(%s); ", place, scan->value);
}

/* Declare the position of a line in the tile, scan_x<d>, and in the inputs, scan_b<d>, along all axes but the scanned one and
 * `left`. @param unit  the line's number among those of the tile. */
static void put_place(writer *w, int left, const char *unit)
{
    PUT(w, "    long scan_q = %s;\n", unit);
    for (int d = w->scan->rank - 1; d >= 0; d--)
        if (d != w->scan->axis && d != left)
            PUT(w,
                "    const long scan_x%d = scan_q %% %s_count(%d); scan_q /= %s_count(%d);\n"
                "    const long scan_b%d = %s_at(%d, scan_x%d) - %s_first(%d);\n",
                d, w->target, d, w->target, d, d, w->target, d, d, w->input, d);
}

/* Put an element of the target on the line. @param at  its index along the scanned axis. @param across  as put_value(). */
static void put_target(writer *w, const char *at, const char *across)
{
    PUT(w, "%s(", w->target);
    for (int d = 0; d < w->scan->rank; d++) {
        PUT(w, "%s", d > 0 ? ", " : "");
        if (d == w->scan->axis)
            PUT(w, "%s", at);
        else
            PUT(w, "scan_x%d%s", d, d == w->form->inner ? across : "");
    }
    PUT(w, ")");
}

/* Put the total of leaf scan_t on the line. */
static void put_total(writer *w, const char *across)
{
    PUT(w, DCLI_SCAN_TOTALS "(");
    for (int d = 0; d < w->scan->rank; d++) {
        PUT(w, "%s", d > 0 ? ", " : "");
        if (d == w->scan->axis)
            PUT(w, "scan_t");
        else
            PUT(w, "%s_at(%d, scan_x%d%s)", w->target, d, d, d == w->form->inner ? across : "");
        PUT(w, " - " DCLI_SCAN_TOTALS "_first(%d)", d);
    }
    PUT(w, ")");
}

/* Declare the leaves of the line that this work-item computes now, scan_l0..scan_stop, and advance scan_at. */
static void put_run(writer *w)
{
    if (w->form->known)
        PUT(w, "    const long scan_l0 = scan_lo + scan_at %% scan_m;\n"
               "    const long scan_stop = scan_min(scan_hi, scan_l0 + scan_end - scan_at);\n"
               "    scan_at += scan_stop - scan_l0;\n");
    else
        PUT(w, "    const long scan_l0 = scan_lo, scan_stop = scan_hi;\n    scan_at++;\n");
}

/* Declare where leaf scan_l begins in the tile, scan_f, its elements up to the tile's end, scan_w, and its begin in the inputs. */
static void put_leaf_place(writer *w)
{
    int a = w->scan->axis;
    PUT(w,
        "    const long scan_f = scan_l * scan_leaf - scan_p0, scan_w = scan_min(scan_leaf, scan_p1 - scan_l * "
        "scan_leaf);\n"
        "    const long scan_b%d = scan_l * scan_leaf + scan_origin - %s_first(%d);\n",
        a, w->input, a);
}

/* Put the number of lines of a tile along all axes but the scanned one and `left`. */
static void put_units(writer *w, int left)
{
    PUT(w, "1");
    for (int d = 0; d < w->scan->rank; d++)
        if (d != w->scan->axis && d != left)
            PUT(w, " * %s_count(%d)", w->target, d);
}

/* Put the beginning of the kernels. It declares scan_units, the number of lines or, if `left` is not -1, of strips of
 * at most STRIP lines that are adjacent along axis `left`; scan_lo..scan_hi, the leaves that the tile touches; and
 * scan_at..scan_end, this work-item's share: of all pairs of a unit and a leaf if leaves are independent (the kernel of
 * the totals, or totals known), otherwise of all units. */
static void put_opening(writer *w, int left)
{
    int a = w->scan->axis, last = w->scan->rank - 1;
    const char *t = w->target;
    PUT(w, "    const long scan_units = ");
    put_units(w, left);
    if (left >= 0)
        PUT(w, " * ((%s_count(%d) + %d) / %d)", t, left, STRIP - 1, STRIP);
    PUT(w, ";\n");
    if (w->form->totals)
        PUT(w, "    const long scan_lo = 0, scan_hi = %s_count(%d);\n", t, a);
    else
        PUT(w,
            "    const long scan_p0 = %s_first(%d) - scan_origin, scan_ps = %s_step(%d);\n"
            "    const long scan_p1 = scan_p0 + (%s_count(%d) - 1) * scan_ps + 1;\n"
            "    const long scan_lo = scan_p0 / scan_leaf, scan_hi = (scan_p1 - 1) / scan_leaf + 1;\n",
            t, a, t, a, t, a);
    bool cut = w->form->totals || w->form->known;
    PUT(w,
        "    const long scan_m = %s, scan_n = scan_units * scan_m;\n"
        "    long scan_at = scan_n * dcl_item(%d) / %d;\n"
        "    const long scan_end = scan_n * (dcl_item(%d) + 1) / %d;\n",
        cut ? "scan_hi - scan_lo" : "1", last, w->form->items, last, w->form->items);
}

/* ---- the contiguous axis ------------------------------------------------------------------------------------------- */

/* Whether the value is an element of the input, and nothing else. */
static bool is_copied(const dcli_scan *scan, const dcli_param *input)
{
    char element[DCL_MAX_RANK * 2 + 4] = "(", *to = element + 1;
    const char *value = scan->value;
    size_t length = strlen(input->name);
    for (int d = 0; d < scan->rank; d++) {
        *to++ = *dcli_index_name(scan->index[d]);
        *to++ = d < scan->rank - 1 ? ',' : ')';
    }
    *to = '\0';
    value += strspn(value, " ");
    if (input->type != scan->type || strncmp(value, input->name, length) != 0)
        return false;
    value += length;
    for (to = element; *to != '\0'; to++) {
        value += strspn(value, " ");
        if (*value++ != *to)
            return false;
    }
    return value[strspn(value, " ")] == '\0';
}

/* Put the address of element scan_g of the leaf in the input. */
static void put_source(writer *w)
{
    PUT(w, "%s_data", w->input);
    for (int d = 0; d < w->scan->rank; d++)
        PUT(w, " + (scan_b%d%s) * %s_stride(%d)", d, d == w->scan->axis ? " + scan_g" : "", w->input, d);
}

static void put_contiguous_totals(writer *w)
{
    int a = w->scan->axis;
    put_opening(w, -1);
    PUT(w, "    scan_T scan_v[%d];\n    for (; scan_at < scan_end; scan_at++) {\n", CHUNK);
    put_place(w, -1, "scan_at / scan_m");
    PUT(w,
        "    const long scan_l = scan_at %% scan_m;\n"
        "    const long scan_b%d = %s_at(%d, scan_l) * scan_leaf + scan_origin - %s_first(%d);\n"
        "    scan_T scan_s = scan_none;\n"
        "    for (long scan_g = 0; scan_g < scan_leaf; scan_g += %d) {\n",
        a, w->target, a, w->input, a, CHUNK);
    if (w->copied) {
        PUT(w, "    if (%s_stride(%d) == 1) {\n        scan_s = scan_total_there(", w->input, a);
        put_source(w);
        PUT(w, ", scan_s);\n        continue;\n    }\n");
    }
    PUT(w, "    for (int scan_h = 0; scan_h < %d; scan_h++) {\n    const long scan_k = scan_g + scan_h; ", CHUNK);
    put_value(w, "scan_v[scan_h]", "");
    PUT(w, "    }\n    scan_s = scan_total(scan_v, scan_s);\n    }\n    ");
    put_target(w, "scan_l", "");
    PUT(w, " = scan_s;\n    }\n");
}

/* Put the scan of leaf scan_l, of which the tile may have a part. */
static void put_leaf(writer *w)
{
    PUT(w,
        "    for (long scan_g = 0; scan_g < scan_w; scan_g += %d) {\n"
        "    const int scan_c = (int)scan_min((long)%d, scan_w - scan_g);\n    const long scan_y = scan_f + scan_g;\n",
        CHUNK, CHUNK);
    if (w->copied) {
        PUT(w,
            "    if (scan_c == %d && scan_ps == 1 && scan_y >= 0 && %s_stride(%d) == 1 && %s_stride(%d) == 1 && "
            "SCAN_FITS(&",
            CHUNK, w->input, w->scan->axis, w->target, w->scan->axis);
        put_target(w, "scan_y", "");
        PUT(w, ")) {\n        scan_through(");
        put_source(w);
        PUT(w, ", &");
        put_target(w, "scan_y", "");
        PUT(w, ", scan_o, &scan_s, &scan_e);\n        continue;\n    }\n");
    }
    PUT(w, "    for (int scan_h = 0; scan_h < scan_c; scan_h++) {\n    const long scan_k = scan_g + scan_h; ");
    put_value(w, "scan_v[scan_h]", "");
    PUT(w,
        "    }\n    for (int scan_h = scan_c; scan_h %% %d != 0; scan_h++) scan_v[scan_h] = scan_none;\n"
        "    scan_blocks(scan_v, scan_c, scan_o, &scan_s, &scan_e);\n"
        "    if (scan_ps == 1 && scan_y >= 0)\n        scan_store(&",
        BLOCK);
    put_target(w, "scan_y", "");
    PUT(w,
        ", %s_stride(%d), scan_v, scan_c);\n"
        "    else for (long scan_h = scan_max(-scan_y, 0L); scan_h < scan_c; scan_h++)\n"
        "        if ((scan_y + scan_h) %% scan_ps == 0)\n            ",
        w->target, w->scan->axis);
    put_target(w, "(scan_y + scan_h) / scan_ps", "");
    PUT(w, " = scan_v[scan_h];\n    }\n");
}

static void put_contiguous_scan(writer *w)
{
    put_opening(w, -1);
    PUT(w, "    scan_T scan_v[%d];\n    while (scan_at < scan_end) {\n", CHUNK);
    put_place(w, -1, w->form->known ? "scan_at / scan_m" : "scan_at");
    put_run(w);
    PUT(w, "    scan_T scan_o = (scan_T)%s;\n", w->neutral);
    if (w->form->known) {
        PUT(w, "    for (long scan_t = 0; scan_t < scan_l0; scan_t++)\n    scan_o = scan_join(scan_o, ");
        put_total(w, "");
        PUT(w, ");\n");
    }
    PUT(w, "    for (long scan_l = scan_l0; scan_l < scan_stop; scan_l++) {\n");
    put_leaf_place(w);
    PUT(w, "    scan_T scan_s = scan_none, scan_e = scan_o;\n");
    put_leaf(w);
    PUT(w, "    scan_o = scan_join(scan_o, scan_s);\n    }\n    }\n");
}

/* ---- other axes ------------------------------------------------------------------------------------------------------ */

/* Declare the place of a strip: the first scan_c lines from line scan_x<inner> on, in steps of scan_cs. */
static void put_strip_place(writer *w, const char *unit)
{
    int c = w->form->inner;
    char rest[96];
    PUT(w, "    const long scan_r = (%s_count(%d) + %d) / %d;\n", w->target, c, STRIP - 1, STRIP);
    PUT(w,
        "    const long scan_x%d = (%s) %% scan_r * %d, scan_cs = %s_step(%d);\n"
        "    const long scan_b%d = %s_at(%d, scan_x%d) - %s_first(%d);\n"
        "    const int scan_c = (int)scan_min((long)%d, %s_count(%d) - scan_x%d);\n",
        c, unit, STRIP, w->target, c, c, w->target, c, c, w->input, c, STRIP, w->target, c, c);
    snprintf(rest, sizeof rest, "(%s) / scan_r", unit);
    put_place(w, c, rest);
}

/* Put the loops that compute the values of 16 rows from element scan_g of the leaf on. Rows from scan_w on get the
 * neutral element. The compiler vectorizes the loop over inputs that are contiguous. */
static void put_rows(writer *w)
{
    PUT(w, "    for (int scan_h = 0; scan_h < %d; scan_h++) {\n    const long scan_k = scan_g + scan_h;\n", BLOCK);
    PUT(w,
        "    if (scan_k >= scan_w)\n    for (int scan_j = 0; scan_j < scan_c; scan_j++) scan_v[scan_h * %d + scan_j] = "
        "scan_none;\n",
        STRIP);
    for (int other = 0; other < 2; other++) {
        char place[48];
        snprintf(place, sizeof place, "scan_v[scan_h * %d + scan_j]", STRIP);
        PUT(w, "    else %sfor (int scan_j = 0; scan_j < scan_c; scan_j++) { ", other ? "" : "if (scan_cs == 1) ");
        put_value(w, place, other ? " + scan_j * scan_cs" : " + scan_j");
        PUT(w, "    }\n");
    }
    PUT(w, "    }\n");
}

static void put_cleared(writer *w, const char *name, const char *value)
{
    PUT(w, "    for (int scan_j = 0; scan_j < scan_c; scan_j++) %s[scan_j] = %s;\n", name, value);
}

static void put_strip_totals(writer *w)
{
    int a = w->scan->axis, last = (BLOCK - 1) * STRIP;
    put_opening(w, w->form->inner);
    PUT(w, "    scan_T scan_v[%d], scan_s[%d];\n    for (; scan_at < scan_end; scan_at++) {\n", BLOCK * STRIP, STRIP);
    put_strip_place(w, "scan_at / scan_m");
    PUT(w,
        "    const long scan_l = scan_at %% scan_m, scan_w = scan_leaf;\n"
        "    const long scan_b%d = %s_at(%d, scan_l) * scan_leaf + scan_origin - %s_first(%d);\n",
        a, w->target, a, w->input, a);
    put_cleared(w, "scan_s", "scan_none");
    PUT(w, "    for (long scan_g = 0; scan_g < scan_leaf; scan_g += %d) {\n", BLOCK);
    put_rows(w);
    PUT(w, "    scan_column_totals(scan_v, scan_c);\n");
    PUT(w,
        "    for (int scan_j = 0; scan_j < scan_c; scan_j++) scan_s[scan_j] = scan_join(scan_s[scan_j], scan_v[%d + "
        "scan_j]);\n    }\n    for (int scan_j = 0; scan_j < scan_c; scan_j++)\n        ",
        last);
    put_target(w, "scan_l", " + scan_j");
    PUT(w, " = scan_s[scan_j];\n    }\n");
}

/* Put the loops that turn 16 rows into results, and store those that the tile has. */
static void put_row_results(writer *w)
{
    char value[96];
    snprintf(value, sizeof value, "scan_join(scan_o[scan_j], scan_join(scan_s[scan_j], scan_v[scan_h * %d + scan_j]))",
             STRIP);
    PUT(w,
        "    for (int scan_h = 0; scan_h < %d && scan_g + scan_h < scan_w; scan_h++) {\n"
        "    const long scan_y = scan_f + scan_g + scan_h, scan_y0 = scan_ps == 1 ? scan_y : scan_y / scan_ps;\n"
        "    if (scan_y >= 0 && (scan_ps == 1 || scan_y %% scan_ps == 0))\n"
        "    for (int scan_j = 0; scan_j < scan_c; scan_j++)\n        ",
        BLOCK);
    put_target(w, "scan_y0", " + scan_j");
    PUT(w, " = %s;\n", w->scan->exclusive ? "scan_e[scan_j]" : value);
    if (w->scan->exclusive)
        PUT(w, "    for (int scan_j = 0; scan_j < scan_c; scan_j++) scan_e[scan_j] = %s;\n", value);
    PUT(w, "    }\n");
}

static void put_strip_scan(writer *w)
{
    put_opening(w, w->form->inner);
    PUT(w, "    scan_T scan_v[%d], scan_s[%d], scan_o[%d], scan_e[%d];\n    while (scan_at < scan_end) {\n",
        BLOCK * STRIP, STRIP, STRIP, STRIP);
    put_strip_place(w, w->form->known ? "scan_at / scan_m" : "scan_at");
    put_run(w);
    PUT(w, "    for (int scan_j = 0; scan_j < scan_c; scan_j++) scan_o[scan_j] = (scan_T)%s;\n", w->neutral);
    if (w->form->known) {
        PUT(w, "    for (long scan_t = 0; scan_t < scan_l0; scan_t++)\n"
               "    for (int scan_j = 0; scan_j < scan_c; scan_j++) scan_o[scan_j] = scan_join(scan_o[scan_j], ");
        put_total(w, " + scan_j");
        PUT(w, ");\n");
    }
    PUT(w, "    for (long scan_l = scan_l0; scan_l < scan_stop; scan_l++) {\n");
    put_leaf_place(w);
    put_cleared(w, "scan_s", "scan_none");
    put_cleared(w, "scan_e", "scan_o[scan_j]");
    PUT(w, "    for (long scan_g = 0; scan_g < scan_w; scan_g += %d) {\n", BLOCK);
    put_rows(w);
    PUT(w, "    scan_columns(scan_v, scan_c);\n");
    put_row_results(w);
    PUT(w,
        "    for (int scan_j = 0; scan_j < scan_c; scan_j++) scan_s[scan_j] = scan_join(scan_s[scan_j], scan_v[%d + "
        "scan_j]);\n    }\n"
        "    for (int scan_j = 0; scan_j < scan_c; scan_j++) scan_o[scan_j] = scan_join(scan_o[scan_j], "
        "scan_s[scan_j]);\n    }\n    }\n",
        (BLOCK - 1) * STRIP);
}

static const char *neutral_of(const dcli_scan *scan)
{
    return scan->fold == DCLI_FOLD_OWN ? scan->neutral : dcli_fold_neutral(scan->fold, scan->type);
}

char *dcli_scan_source(const dcli_scan *scan, const dcli_param params[], const dcli_scan_form *form)
{
    bool contiguous = form->inner == scan->axis;
    writer w = {.scan = scan,
                .form = form,
                .target = form->totals ? DCLI_SCAN_TOTALS : params[scan->output].name,
                .input = params[scan->input].name,
                .neutral = neutral_of(scan),
                .copied = is_copied(scan, &params[scan->input])};
    if (form->totals)
        (contiguous ? put_contiguous_totals : put_strip_totals)(&w);
    else
        (contiguous ? put_contiguous_scan : put_strip_scan)(&w);
    return dcli_text_take(&w.out);
}

/* ---- functions ----------------------------------------------------------------------------------------------------- */

/* Put what scan_join() and scan_join16() contain for an operator of the program. */
static void put_own(dcli_text *out, const dcli_scan *scan, bool vector)
{
    if (!vector) {
        dcli_text_put(out, "    return %s(scan_a, scan_b);\n}\n", scan->combine);
        return;
    }
    dcli_text_put(out, "    scan_T scan_x[16], scan_y[16];\n    vstore16(scan_a, 0, scan_x);\n"
                       "    vstore16(scan_b, 0, scan_y);\n"
                       "    for (int scan_n = 0; scan_n < 16; scan_n++)\n");
    dcli_text_put(out,
                  "        scan_x[scan_n] = %s(scan_x[scan_n], scan_y[scan_n]);\n    return vload16(0, scan_x);\n}\n",
                  scan->combine);
}

/* Put the definition of scan_join() or scan_join16(). */
static void put_join(dcli_text *out, const dcli_scan *scan, bool vector)
{
    static const char *const unsigned_type[] = {
        [DCL_INT8] = "uchar",  [DCL_INT16] = "ushort",  [DCL_INT32] = "uint",  [DCL_INT64] = "ulong",
        [DCL_UINT8] = "uchar", [DCL_UINT16] = "ushort", [DCL_UINT32] = "uint", [DCL_UINT64] = "ulong"};
    bool less = scan->fold == DCLI_FOLD_MIN, floating = scan->type >= DCL_HALF;
    const char *type = vector ? "scan_T16" : "scan_T", *wide = vector ? "16" : "";
    dcli_text_put(out, "static %s scan_join%s(const %s scan_a, const %s scan_b)\n{\n", type, wide, type, type);
    if (scan->fold == DCLI_FOLD_OWN) {
        put_own(out, scan, vector);
        return;
    }
    dcli_text_put(out, "    return ");
    if ((less || scan->fold == DCLI_FOLD_MAX) && floating) /* a NaN wins, then the least or greatest, then -0 or +0 */
        dcli_text_put(out,
                      "(scan_b %s scan_a) || (scan_b != scan_b) || ((scan_a == scan_b) && signbit(%s)) ? scan_b : "
                      "scan_a;\n}\n",
                      less ? "<" : ">", less ? "scan_b" : "scan_a");
    else if (less || scan->fold == DCLI_FOLD_MAX)
        dcli_text_put(out, "%s(scan_a, scan_b);\n}\n", less ? "min" : "max");
    else if (floating)
        dcli_text_put(out, "scan_a %s scan_b;\n}\n", dcli_fold_sign(scan->fold));
    else if (vector) /* unsigned, because it wraps */
        dcli_text_put(out, "as_%s16(as_%s16(scan_a) %s as_%s16(scan_b));\n}\n", dcli_kernel_type(scan->type),
                      unsigned_type[scan->type], dcli_fold_sign(scan->fold), unsigned_type[scan->type]);
    else
        dcli_text_put(out, "(scan_T)((ulong)scan_a %s (ulong)scan_b);\n}\n", dcli_fold_sign(scan->fold));
}

char *dcli_scan_functions(const dcli_scan *scan, bool streams)
{
    dcli_text out = {0};
    const char *type = dcli_kernel_type(scan->type), *none = neutral_of(scan);
    if (scan->type >= DCL_HALF && scan->fold == DCLI_FOLD_SUM)
        none = "-0.0f"; /* +0 would turn -0 into +0 */
    dcli_text_put(&out,
                  "#define scan_T %s\n#define scan_T16 %s16\n#define scan_none (scan_T)(%s)\n#define scan_chunk %d\n"
                  "#define scan_strip %d\n#define scan_exclusive %d\n#define scan_streams %d\n",
                  type, type, none, CHUNK, STRIP, scan->exclusive, streams);
    put_join(&out, scan, false);
    put_join(&out, scan, true);
    dcli_text_put(&out, "%s", dcli_cl_scan);
    return dcli_text_take(&out);
}
