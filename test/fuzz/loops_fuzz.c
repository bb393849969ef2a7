/* fuzz/loops_fuzz.c - the parser of loop nests. An input is the text of a nest over a few arrays and scalars. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "fuzz/input.h"
#include "loop/sets.h"
#include "support/loop_arrays.h"

static const dcli_loops_name names[] = {
    ARRAY("A", DCL_ACCESS_IN, 2, 10, 20),
    ARRAY("C", DCL_ACCESS_INOUT, 2, 10, 20),
    ARRAY("D", DCL_ACCESS_INOUT, 3, 4, 5, 6),
    ARRAY("x", DCL_ACCESS_INOUT, 1, 20),
    ARRAY("y", DCL_ACCESS_OUT, 1, 10),
    {.name = "z",
     .access = DCL_ACCESS_INOUT,
     .type = DCL_DOUBLE,
     .any_shape = true,
     .grid = {.rank = 1, .type = DCL_DOUBLE, .extent = {720}}},
    {.name = "n", .access = DCL_ACCESS_VALUE, .type = DCL_INT32, .is_integer = true, .value = 10},
    {.name = "huge", .access = DCL_ACCESS_VALUE, .type = DCL_INT64, .is_integer = true, .value = INT64_MAX},
    {.name = "alpha", .access = DCL_ACCESS_VALUE, .type = DCL_DOUBLE},
};
enum { NAMES = sizeof names / sizeof names[0] };

/* Every error stands in the text: its column is at most one byte beyond its line. */
static void check_places(const char *text, const dcli_loops_complaints *complaints)
{
    for (int n = 0; n < complaints->count && n < DCLI_LOOPS_COMPLAINTS; n++) {
        const char *at = text;
        fuzz_demand(complaints->place[n].line > complaints->shift && complaints->place[n].column >= 1,
                    "an error has no place");
        for (int line = 1 + complaints->shift; line < complaints->place[n].line; line++) {
            at = strchr(at, '\n');
            fuzz_demand(at != NULL, "an error is beyond the text");
            at++;
        }
        fuzz_demand((size_t)complaints->place[n].column <= strcspn(at, "\n") + 1, "an error is beyond its line");
    }
}

/* What the analysis relies on. */
static void check_tree(const dcli_loops_tree *tree)
{
    fuzz_demand(tree->statement_count > 0, "a nest without an assignment is accepted");
    for (int s = 0; s < tree->statement_count; s++) {
        const dcli_loops_statement *statement = &tree->statement[s];
        fuzz_demand(statement->node != NULL && statement->value != NULL, "a statement lacks its value");
        for (int d = 0; d < statement->depth; d++)
            fuzz_demand(tree->loop[statement->loop[d]].depth == d,
                        "a loop is at another depth than its statement says");
        for (int r = 0; r < statement->read_count; r++)
            fuzz_demand(statement->read[r].symbol >= 0 &&
                            statement->read[r].symbol <
                                (statement->read[r].is_array ? tree->name_count : tree->scalar_count),
                        "an access names nothing");
    }
    for (int l = 0; l < tree->loop_count; l++)
        fuzz_demand(tree->loop[l].step != 0 && tree->loop[l].low_count > 0 && tree->loop[l].high_count > 0,
                    "a loop lacks a bound");
}

/* Divide subscripts that count elements: none is left, or there is an error. */
static void divide(dcli_loops_tree *tree, dcli_loops_complaints *complaints)
{
    if (!dcli_loops_has_flat(tree))
        return;
    dcli_loops_sets *sets = dcli_loops_sets_begin(tree, 100000);
    fuzz_demand(sets != NULL, "no memory");
    fuzz_demand(dcli_loops_divide_flat(tree, sets, complaints) == DCL_OK, "no memory");
    for (int s = 0; s < tree->statement_count && complaints->count == 0 && !sets->failed; s++)
        fuzz_demand(!tree->statement[s].target.is_flat, "a subscript is left that counts elements");
    dcli_loops_sets_free(sets);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1); /* of its own length, so that an access behind it is seen */
    memcpy(text, data, size);
    text[size] = '\0';
    dcli_loops_complaints complaints = {.text = text};
    dcli_loops_tree *tree = dcli_loops_parse(text, NAMES, names, &complaints);
    fuzz_demand(tree != NULL, "no memory");
    check_places(text, &complaints);
    if (complaints.count == 0) {
        dcli_text printed = {0};
        check_tree(tree);
        divide(tree, &complaints);
        dcli_loops_tree_print(tree, &printed);
        dcli_text_free(&printed);
    }
    if (complaints.count > 0) {
        fuzz_demand(dcli_loops_complaints_end(&complaints) == DCL_ERR_BODY, "errors are not reported");
    }
    dcli_loops_complaints_free(&complaints);
    dcli_loops_tree_free(tree);
    free(text);
    return 0;
}
