/* runtime/keyed.c - keyed reductions; each runs as a few operations.
 *
 * The first one reduces what each node stores of the input that gives the indices into partial results of its own:
 * one row, of an array of the library, that has the axes of an output (kernel/keyed.h). Then the rows are reduced
 * into the outputs, along the first axis. For sums of floating-point numbers that takes three operations: the tops
 * of all rows are found, the bins of equal tops are added, and the sums are rounded. */
#include <string.h>

#include "base/alloc.h"
#include "base/check.h"
#include "base/text.h"
#include "kernel/keyed.h"
#include "runtime/report.h"

/* A keyed reduction in progress. */
struct keyed {
    dcl_cluster *cluster;
    const dcli_look *look; /* NULL: the operations are issued; else they are passed to it */
    int imagined;          /* number of arrays that were made without storage */
    dcl_map *rows;         /* one row per node */
    int count, output_count;
    dcl_arg args[DCLI_MAX_PARAMS]; /* arguments of the first operation: outputs are results */
    const dcl_arg *output[DCLI_MAX_RESULTS];
    dcl_array *partials[DCLI_MAX_RESULTS];
    dcli_result reduced[DCLI_MAX_RESULTS];
    int64_t longs[DCLI_MAX_RESULTS];
};

/* What is known of a keyed reduction while reports of it may arrive. */
struct dcli_keyed {
    int64_t partials; /* number of the operation that makes the partial results */
    int count;
    int64_t storage[DCLI_MAX_RESULTS], written[DCLI_MAX_RESULTS]; /* by output: storage; operation that writes it */
    char *stray;                                                  /* the report of a key outside; NULL: none */
    struct dcli_keyed *next;
};

static bool is_output(const dcl_arg *arg) { return arg->access == DCL_ACCESS_OUT || arg->access == DCL_ACCESS_INOUT; }

bool dcli_call_is_keyed(const char *text, int count, const dcl_arg args[])
{
    const char *outputs[DCLI_MAX_PARAMS], *names[DCLI_MAX_PARAMS];
    int output_count = 0, name_count = 0;
    if (text == NULL)
        return false;
    for (int k = 0; k < count; k++)
        if (dcli_arg_is_param(&args[k]) && args[k].name != NULL) {
            names[name_count++] = args[k].name;
            if (is_output(&args[k]))
                outputs[output_count++] = args[k].name;
        }
    return dcli_text_is_keyed(text, output_count, outputs, name_count, names);
}

/* ---- arguments ------------------------------------------------------------------------------------------------------- */

static dcl_status check_alias(const struct keyed *k, int count, const dcl_arg args[])
{
    for (int r = 0; r < k->output_count; r++)
        for (int other = 0; other < count; other++)
            if (&args[other] != k->output[r] && dcli_arg_has_array(&args[other]) &&
                dcli_array_base(args[other].array) == dcli_array_base(k->output[r]->array))
                return DCLI_FAIL(
                    DCL_ERR_INVALID,
                    "%s and %s are the same array; expected another one for the results of a keyed reduction; "
                    "exchange them with dcl_swap()",
                    k->output[r]->name, args[other].name);
    return DCL_OK;
}

int dcli_keyed_args(int count, const dcl_arg args[], dcl_arg args_out[])
{
    int kept = 0;
    for (int a = 0; a < count; a++) {
        if (args[a].access == DCL_ACCESS_FAST)
            continue; /* it changes nothing here */
        args_out[kept] = args[a];
        if (is_output(&args[a])) {
            const dcl_grid *grid = dcli_array_grid(args[a].array);
            args_out[kept] = dcl_arg_array(DCL_ACCESS_RESULT, args[a].name, NULL);
            args_out[kept].type = grid->type;
            args_out[kept].width_count = grid->rank;
        }
        kept++;
    }
    return kept;
}

/* Take the arguments of a call that has been checked. */
static dcl_status take_args(struct keyed *k, int count, const dcl_arg args[])
{
    for (int a = 0; a < count; a++) {
        if (is_output(&args[a])) {
            const dcl_grid *grid = dcli_array_grid(args[a].array);
            if (k->output_count == DCLI_MAX_RESULTS)
                return DCLI_FAIL(
                    DCL_ERR_INVALID,
                    "more than %d arguments are outputs; expected at most so many; reduce into the others in a "
                    "call of their own",
                    DCLI_MAX_RESULTS);
            if (grid->type == DCL_HALF)
                return DCLI_FAIL(
                    DCL_ERR_INVALID,
                    "output %s has elements of type half; expected an integer type, float or double; reduce "
                    "into floats and convert them",
                    args[a].name);
            k->output[k->output_count++] = &args[a];
        }
    }
    k->count = dcli_keyed_args(count, args, k->args);
    return check_alias(k, count, args);
}

/* ---- arrays between the operations ------------------------------------------------------------------------------------ */

/* Make the map of an array with a row for each node: by blocks, a map of four nodes would divide two axes. */
static dcl_map *rows_map(const struct keyed *k, int rank)
{
    dcli_map_rule rule = k->rows->rule;
    rule.rank = rank;
    rule.nodes[0] = rule.node_count;
    for (int d = 1; d < rank; d++) {
        rule.axes[d] = (dcl_axis){.kind = DCL_AXIS_WHOLE};
        rule.nodes[d] = 1;
    }
    return dcli_map_new(k->cluster, &rule);
}

/* Make an array of longs for output r: with a row for each node, or, if `like`, one element for each of the output. */
static dcl_status make_array(struct keyed *k, int r, bool like, dcl_array **array_out)
{
    dcl_array *output = k->output[r]->array;
    dcl_grid grid = *dcli_array_grid(output);
    grid.type = DCL_INT64;
    if (!like) {
        for (int d = grid.rank; d > 0; d--) {
            grid.extent[d] = grid.extent[d - 1];
            grid.origin[d] = grid.origin[d - 1];
        }
        grid.extent[0] = k->rows->rule.node_count;
        grid.extent[grid.rank + 1] = k->longs[r];
        grid.origin[0] = grid.origin[grid.rank + 1] = 0;
        grid.rank += 2;
        for (int d = 1; d <= grid.rank - 2; d++) /* kernels need memory, though they store nothing for no elements */
            grid.extent[d] = dcli_max(grid.extent[d], 1);
    }
    dcl_map *map = like ? dcli_map_new_unfilled(output->base == NULL ? output->map : k->rows) : rows_map(k, grid.rank);
    if (map == NULL)
        return dcli_error_status();
    dcl_status status = k->look != NULL ? dcli_array_imagine(k->cluster, &grid, map, ++k->imagined, array_out)
                                        : dcli_array_make(k->cluster, &grid, map, like, array_out);
    dcl_map_release(map);
    return status;
}

static void end_arrays(const struct keyed *k, int count, dcl_array *const arrays[])
{
    for (int n = 0; n < count; n++)
        if (arrays[n] != NULL && k->look != NULL)
            dcli_array_free(arrays[n]);
        else if (arrays[n] != NULL)
            dcli_array_end(arrays[n]);
}

/* ---- keys outside ------------------------------------------------------------------------------------------------------ */

void dcli_keyed_stray(dcl_cluster *cluster, int64_t operation, const char *text)
{
    for (struct dcli_keyed *known = cluster->keyed; known != NULL; known = known->next) {
        if (known->partials != operation)
            continue;
        if (known->stray == NULL)
            known->stray = dcli_strdup(text);
        for (int r = 0; r < known->count; r++)
            for (dcl_array *array = cluster->arrays; array != NULL; array = array->after)
                if (array->state->id == known->storage[r])
                    dcli_storage_state_stray(array->state, known->written[r], text);
    }
}

/* Forget the reductions whose operations are complete. */
static void forget(dcl_cluster *cluster, int64_t complete)
{
    for (struct dcli_keyed **at = &cluster->keyed; *at != NULL;) {
        struct dcli_keyed *known = *at;
        if (known->partials > complete) {
            at = &known->next;
            continue;
        }
        *at = known->next;
        dcli_free(known->stray);
        dcli_free(known);
    }
}

void dcli_keyed_free(dcl_cluster *cluster) { forget(cluster, INT64_MAX); }

/* ---- operations ------------------------------------------------------------------------------------------------------- */

/* Find how the results are reduced, and make the arrays of partial results. */
static dcl_status prepare(struct keyed *k, const char *text)
{
    dcli_known_body *known = NULL;
    dcl_status status = dcli_body_of_call(k->cluster, text, DCLI_TEXT_BODY, k->count, k->args, &known);
    for (int r = 0; r < k->output_count && status == DCL_OK; r++) {
        k->reduced[r] = known->body->result[r];
        k->longs[r] = dcli_keyed_longs(known->body, r);
    }
    dcli_body_let_go(known);
    if (status == DCL_OK && (k->rows = dcli_map_new_block(k->cluster)) == NULL)
        status = dcli_error_status();
    for (int r = 0; r < k->output_count && status == DCL_OK; r++)
        status = make_array(k, r, false, &k->partials[r]);
    return status;
}

/* Issue the operation that makes the partial results. */
static dcl_status start_partials(struct keyed *k, const dcl_box *box, const char *text)
{
    dcl_arg added[DCLI_MAX_PARAMS];
    int count = 0, total = k->count;
    for (int r = 0; r < k->output_count; r++)
        total += 1 + 2 * dcli_array_grid(k->output[r]->array)->rank;
    if (total > DCLI_MAX_PARAMS)
        return DCLI_FAIL(
            DCL_ERR_INVALID,
            "this keyed reduction has %d arguments, of which each output counts 2 and 2 per axis; expected at "
            "most %d; reduce into fewer outputs at once",
            total, DCLI_MAX_PARAMS);
    for (int r = 0; r < k->output_count; r++)
        added[count++] = dcl_arg_array(DCL_ACCESS_INOUT, dcli_partials_name, k->partials[r]);
    for (int r = 0; r < k->output_count; r++) {
        const dcl_grid *grid = dcli_array_grid(k->output[r]->array);
        for (int d = 0; d < grid->rank; d++) {
            added[count++] = dcl_arg_signed(dcli_partials_name, DCL_INT64, grid->origin[d]);
            added[count++] = dcl_arg_signed(dcli_partials_name, DCL_INT64, grid->extent[d]);
        }
    }
    if (k->look != NULL)
        return dcli_reduction_planned(k->cluster, box, text, k->count, k->args, count, added, NULL, NULL, k->look->on,
                                      k->look->user);
    dcl_grid grid;
    return dcli_reduction_start(k->cluster, box, text, k->count, k->args, count, added, k->reduced, &grid, NULL);
}

/* Put an element of an array: `P(j,i,0)` or `H(i)`. @param before, after  subscripts before and after those of an
 * output. */
static void put_element(dcli_text *out, const char *name, int rank, const char *before, const char *after)
{
    dcli_text_put(out, "%s(%s", name, before);
    for (int d = 0; d < rank; d++)
        dcli_text_put(out, "%s%c", d > 0 ? "," : "", 'i' + d);
    dcli_text_put(out, "%s)", after);
}

static void put_partial(dcli_text *out, int rank, bool only, int word)
{
    char before[3] = {only ? '0' : (char)('i' + rank), ',', '\0'}, after[3] = {',', (char)('0' + word), '\0'};
    put_element(out, "P", rank, before, after);
}

/* Start an operation whose body the library has generated or, while a call is only looked at, pass it to the
 * caller's function instead. @param text  the body; freed. */
static dcl_status start_body(struct keyed *k, dcli_text *text, dcli_text_kind kind, int count, const dcl_arg args[])
{
    char *body = dcli_text_take(text);
    dcl_status status = DCL_ERR_NOMEM;
    if (body != NULL)
        status = k->look != NULL
                     ? dcli_forall_planned(k->cluster, NULL, body, kind, count, args, k->look->on, k->look->user)
                     : dcli_forall_start(k->cluster, NULL, body, kind, count, args);
    dcli_free(body);
    return status;
}

/* Reduce the rows of a result whose partial results are words. */
static dcl_status combine_words(struct keyed *k, int r)
{
    static const char *const operators[] = {
        [DCLI_FOLD_SUM] = "+=", [DCLI_FOLD_PRODUCT] = "*=", [DCLI_FOLD_MIN] = "min=", [DCLI_FOLD_MAX] = "max=",
        [DCLI_FOLD_AND] = "&=", [DCLI_FOLD_OR] = "|=",      [DCLI_FOLD_XOR] = "^="};
    const dcl_grid *grid = dcli_array_grid(k->output[r]->array);
    dcli_fold fold = k->reduced[r].fold;
    dcli_text text = {0};
    dcli_text_put(&text, "const long word = ");
    put_partial(&text, grid->rank, false, 0);
    dcli_text_put(&text, "; ");
    put_element(&text, "H", grid->rank, "", "");
    dcli_text_put(&text, " %s ", operators[fold]);
    dcli_keyed_put_value(&text, fold, grid->type, "word");
    dcli_text_put(&text, ";");
    const dcl_arg args[] = {dcl_arg_array(k->output[r]->access, "H", k->output[r]->array),
                            dcl_arg_array(DCL_ACCESS_IN, "P", k->partials[r])};
    return start_body(k, &text, DCLI_TEXT_ALONG, 2, args);
}

/* The words of a sum, each in an array of its own. */
enum { TOP, SEEN, HIGH, HIGH_NEXT, LOW, LOW_NEXT };
static const char *const word_names[DCLI_PARTIAL_LONGS] = {"T", "S", "A", "B", "C", "D"};

/* Find the tops of sums, and which special values they have seen. */
static dcl_status combine_tops(struct keyed *k, int r, dcl_array *const words[])
{
    int rank = dcli_array_grid(k->output[r]->array)->rank;
    dcli_text text = {0};
    put_element(&text, "T", rank, "", "");
    dcli_text_put(&text, " max= ");
    put_partial(&text, rank, false, TOP);
    dcli_text_put(&text, "; ");
    put_element(&text, "S", rank, "", "");
    dcli_text_put(&text, " |= ");
    put_partial(&text, rank, false, SEEN);
    dcli_text_put(&text, ";");
    const dcl_arg args[] = {dcl_arg_array(DCL_ACCESS_OUT, "T", words[TOP]),
                            dcl_arg_array(DCL_ACCESS_OUT, "S", words[SEEN]),
                            dcl_arg_array(DCL_ACCESS_IN, "P", k->partials[r])};
    return start_body(k, &text, DCLI_TEXT_ALONG, 3, args);
}

/* Add the bins of sums: those of a row whose top is lower by 1 are one lower, too. */
static dcl_status combine_bins(struct keyed *k, int r, dcl_array *const words[])
{
    int rank = dcli_array_grid(k->output[r]->array)->rank;
    dcli_text text = {0};
    dcl_arg args[DCLI_PARTIAL_LONGS] = {dcl_arg_array(DCL_ACCESS_IN, "T", words[TOP]),
                                        dcl_arg_array(DCL_ACCESS_IN, "P", k->partials[r])};
    dcli_text_put(&text, "const long below = ");
    put_element(&text, "T", rank, "", "");
    dcli_text_put(&text, " - ");
    put_partial(&text, rank, false, TOP);
    dcli_text_put(&text, ";\n");
    for (int w = HIGH; w <= LOW_NEXT; w++) {
        bool next = w == HIGH_NEXT || w == LOW_NEXT;
        args[w] = dcl_arg_array(DCL_ACCESS_OUT, word_names[w], words[w]);
        put_element(&text, word_names[w], rank, "", "");
        dcli_text_put(&text, " += below == 0 ? ");
        put_partial(&text, rank, false, w);
        if (next) {
            dcli_text_put(&text, " : below == 1 ? ");
            put_partial(&text, rank, false, w - 1);
        }
        dcli_text_put(&text, " : 0;\n");
    }
    return start_body(k, &text, DCLI_TEXT_ALONG, DCLI_PARTIAL_LONGS, args);
}

/* Round sums. @param words  NULL: there is only one row of partial results, which are the sums. */
static dcl_status round_sums(struct keyed *k, int r, dcl_array *const words[])
{
    const dcl_grid *grid = dcli_array_grid(k->output[r]->array);
    bool adds = k->output[r]->access == DCL_ACCESS_INOUT;
    static const char *const marks[] = {"", ", ", ", {", ", ", "}, {", ", "};
    char *functions = dcli_keyed_functions(grid->type);
    dcli_text text = {0};
    dcli_text_put(&text, "struct keyed_sum sum = {");
    for (int w = 0; w < DCLI_PARTIAL_LONGS; w++) {
        dcli_text_put(&text, "%s", marks[w]);
        if (words != NULL)
            put_element(&text, word_names[w], grid->rank, "", "");
        else
            put_partial(&text, grid->rank, true, w);
    }
    dcli_text_put(&text, "}};\nkeyed_sum_units(&sum, 0, 0);\nkeyed_sum_units(&sum, 1, 0);\n"); /* carries of low bins */
    if (adds) {
        dcli_text_put(&text, "keyed_sum_one(&sum, ");
        put_element(&text, "H", grid->rank, "", "");
        dcli_text_put(&text, ");\n");
    }
    put_element(&text, "H", grid->rank, "", "");
    dcli_text_put(&text, " = keyed_sum_round_%s(&sum);", grid->type == DCL_FLOAT ? "float" : "double");
    dcl_arg args[DCLI_PARTIAL_LONGS + 2] = {dcl_arg_array(k->output[r]->access, "H", k->output[r]->array),
                                            dcl_arg_prelude(functions != NULL ? functions : "")};
    int count = 2;
    for (int w = 0; w < DCLI_PARTIAL_LONGS && words != NULL; w++)
        args[count++] = dcl_arg_array(DCL_ACCESS_IN, word_names[w], words[w]);
    if (words == NULL)
        args[count++] = dcl_arg_array(DCL_ACCESS_IN, "P", k->partials[r]);
    dcl_status status = functions != NULL ? start_body(k, &text, DCLI_TEXT_BODY, count, args) : DCL_ERR_NOMEM;
    dcli_text_free(&text);
    dcli_free(functions);
    return status;
}

static dcl_status combine_sums(struct keyed *k, int r)
{
    dcl_array *words[DCLI_PARTIAL_LONGS] = {NULL};
    dcl_status status = DCL_OK;
    if (k->rows->rule.node_count == 1)
        return round_sums(k, r, NULL);
    for (int w = 0; w < DCLI_PARTIAL_LONGS && status == DCL_OK; w++)
        status = make_array(k, r, true, &words[w]);
    if (status == DCL_OK)
        status = combine_tops(k, r, words);
    if (status == DCL_OK)
        status = combine_bins(k, r, words);
    if (status == DCL_OK)
        status = round_sums(k, r, words);
    end_arrays(k, DCLI_PARTIAL_LONGS, words);
    return status;
}

/* Record a reduction of which reports may arrive from now on. */
static struct dcli_keyed *remember(dcl_cluster *cluster)
{
    forget(cluster, cluster->complete);
    struct dcli_keyed *known = dcli_calloc(1, sizeof *known);
    if (known == NULL)
        return NULL;
    known->partials = cluster->operations;
    known->next = cluster->keyed;
    cluster->keyed = known;
    return known;
}

/* Reduce the rows of result r into the output. */
static dcl_status combine(struct keyed *k, int r, struct dcli_keyed *known)
{
    if (dcl_grid_count(dcli_array_grid(k->output[r]->array)) == 0)
        return DCL_OK;
    dcl_status status = k->longs[r] == 1 ? combine_words(k, r) : combine_sums(k, r);
    if (known == NULL || status != DCL_OK)
        return status;
    dcli_storage_state *state = dcli_array_state(k->output[r]->array);
    known->storage[known->count] = state->id;
    known->written[known->count++] = k->cluster->operations;
    if (known->stray != NULL) /* reported before the output's operation was issued */
        dcli_storage_state_stray(state, k->cluster->operations, known->stray);
    return DCL_OK;
}

/* Run a call whose arguments have been taken. The lock is held. */
static dcl_status run(struct keyed *k, const dcl_box *box, const char *text)
{
    struct dcli_keyed *known = NULL;
    if (k->cluster->plan_only && k->look == NULL)
        return DCLI_FAIL(DCL_ERR_UNSUPPORTED, "this cluster only plans (dcl_open_plan()); use dcl_open() for data");
    dcl_status status = prepare(k, text);
    if (status == DCL_OK)
        status = start_partials(k, box, text);
    if (status == DCL_OK && k->look == NULL && (known = remember(k->cluster)) == NULL)
        status = DCL_ERR_NOMEM;
    for (int r = 0; r < k->output_count && status == DCL_OK; r++)
        status = combine(k, r, known);
    end_arrays(k, k->output_count, k->partials);
    dcl_map_release(k->rows);
    return status;
}

dcl_status dcli_keyed_start(dcl_cluster *cluster, const dcl_box *box, const char *text, int count, const dcl_arg args[],
                            const dcli_look *look, int imagined)
{
    struct keyed *k = dcli_calloc(1, sizeof *k);
    if (k == NULL)
        return DCL_ERR_NOMEM;
    k->cluster = cluster;
    k->look = look;
    k->imagined = imagined;
    dcl_status status = take_args(k, count, args);
    if (status == DCL_OK)
        status = run(k, box, text);
    dcli_free(k);
    return status;
}

/* Check a call, and run it or pass it to `look`. */
static dcl_status reduce(dcl_cluster *cluster, const dcl_box *box, const char *text, int count, const dcl_arg args[],
                         const dcli_look *look)
{
    dcl_status status = dcli_args_check(cluster, text, DCLI_TEXT_ALONG, false, count, args);
    if (cluster == NULL)
        return status;
    pthread_mutex_lock(&cluster->lock);
    if (status == DCL_OK)
        status = dcli_keyed_start(cluster, box, text, count, args, look, 0);
    if (look == NULL)
        return dcli_cluster_end_call(cluster, status);
    pthread_mutex_unlock(&cluster->lock);
    return status;
}

dcl_status dcli_keyed_run(dcl_cluster *cluster, const dcl_box *box, const char *text, int count, const dcl_arg args[])
{
    return reduce(cluster, box, text, count, args, NULL);
}

dcl_status dcli_keyed_look(dcl_cluster *cluster, const dcl_box *box, const char *text, int count, const dcl_arg args[],
                           const dcli_look *look)
{
    dcl_status status = cluster != NULL ? look->check(cluster, look->user) : DCL_OK;
    return status == DCL_OK ? reduce(cluster, box, text, count, args, look) : status;
}
