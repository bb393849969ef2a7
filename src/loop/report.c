/* loop/report.c - print a plan, and explain it: which loop is parallel, runs in order or is a reduction, and why. */
#include <inttypes.h>
#include <isl/ilp.h>
#include <isl/val.h>
#include <string.h>

#include "base/alloc.h"
#include "loop/partition.h"

/* ---- in a line ------------------------------------------------------------------------------------------------------ */

/* Whether a step runs a loop in some statement. */
static bool runs(const dcli_loops_tree *tree, const dcli_loops_step *step, int loop)
{
    int d = tree->loop[loop].depth;
    for (int s = 0; s < tree->statement_count; s++)
        if (dcli_loops_in(step->statements, s) && dcli_loops_depth_in(tree, s, loop) >= 0 &&
            step->inside.depth[step->hosts.count][s] == d)
            return true;
    return false;
}

static void print_operation(const dcli_loops_plan *plan, int number, dcli_text *out)
{
    const dcli_loops_operation *operation = plan->operation[number];
    const dcli_loops_tree *tree = plan->tree;
    dcli_text_put(out, "operation %d:", number);
    for (int s = 0; s < tree->statement_count; s++)
        if (dcli_loops_in(operation->statements, s))
            dcli_text_put(out, " S%d", s);
    for (int k = 0; k < operation->output_count; k++)
        dcli_text_put(out, "%s%s", k == 0 ? " writes " : ", ", tree->name[operation->output[k]].name);
    for (int l = 0; l < tree->loop_count; l++) {
        bool used = false;
        for (int s = 0; s < tree->statement_count; s++)
            used |= dcli_loops_in(operation->statements, s) && dcli_loops_depth_in(tree, s, l) >= 0;
        if (!used || operation->run[l].way == DCLI_LOOPS_HOSTED)
            continue;
        dcli_text_put(out, "; %s (line %d) ", tree->loop[l].name, tree->loop[l].place.line);
        dcli_text_put(out, operation->run[l].way == DCLI_LOOPS_FREE ? "in order" : "parallel");
    }
    if (operation->along >= 0)
        dcli_text_put(out, "; lines along axis %d%s", operation->along, operation->gathered != 0 ? ", gathered" : "");
    dcli_text_put(out, "%s\n", operation->parallel ? "" : "; one thread");
}

/* Put the loops that a step runs: `program: j (line 2), k (line 3)`. */
static void print_loop(const dcli_loops_plan *plan, const dcli_loops_step *step, dcli_text *out)
{
    dcli_text_put(out, "program:");
    for (int l = 0, count = 0; l < plan->tree->loop_count; l++)
        if (runs(plan->tree, step, l))
            dcli_text_put(out, "%s %s (line %d)", count++ > 0 ? "," : "", plan->tree->loop[l].name,
                          plan->tree->loop[l].place.line);
    dcli_text_put(out, "%s\n", step->in_order ? "; nothing in parallel" : "");
}

static void print_steps(const dcli_loops_plan *plan, const dcli_loops_step *step, int indent, dcli_text *out)
{
    for (; step != NULL; step = step->next) {
        dcli_text_put(out, "%*s", indent, "");
        if (step->operation >= 0)
            print_operation(plan, step->operation, out);
        else
            print_loop(plan, step, out);
        print_steps(plan, step->first, indent + 2, out);
    }
}

void dcli_loops_plan_print(const dcli_loops_plan *plan, dcli_text *out) { print_steps(plan, plan->first, 0, out); }

/* ---- explained ------------------------------------------------------------------------------------------------------ */

static void put_element(const dcli_loops_tree *tree, int s, const dcli_loops_access *access, dcli_text *out)
{
    const dcli_loops_statement *statement = &tree->statement[s];
    dcli_text_put(out, "%s", access->is_array ? tree->name[access->symbol].name : tree->scalar[access->symbol].name);
    for (int r = 0; access->is_array && r < tree->name[access->symbol].grid.rank; r++) {
        dcli_text_put(out, "[");
        dcli_loops_linear_print(tree, &access->subscript[r], statement->depth, statement->loop, out);
        dcli_text_put(out, "]");
    }
}

/* Find a statement of an operation that combines a value with its target (+=, *=) in a loop; -1: there is none. If
 * threads run all iterations of the loop, the target is the same element in all of them. */
static int find_reduction(const dcli_loops_tree *tree, dcli_loops_mask statements, int loop)
{
    for (int s = 0; s < tree->statement_count; s++) {
        const dcli_loops_statement *statement = &tree->statement[s];
        if (dcli_loops_in(statements, s) && dcli_loops_depth_in(tree, s, loop) >= 0 && statement->reads_target)
            return s;
    }
    return -1;
}

/* The number of threads along an axis, if it is the same in all iterations of the hosts; otherwise -1. */
static int64_t extent_of(const dcli_loops_operation *operation, int r)
{
    isl_pw_aff *difference = isl_pw_aff_sub(isl_pw_aff_copy(operation->high[r]), isl_pw_aff_copy(operation->low[r]));
    isl_val *least = isl_pw_aff_min_val(isl_pw_aff_copy(difference)), *most = isl_pw_aff_max_val(difference);
    bool same = isl_val_is_int(least) == isl_bool_true && isl_val_eq(least, most) == isl_bool_true;
    int64_t extent = same ? isl_val_get_num_si(least) + 1 : -1;
    isl_val_free(least);
    isl_val_free(most);
    return extent;
}

/* Print a term of a sum after `count` others. @return the number of terms then: a term with factor 0 is left out. */
static int explain_term(int count, int64_t factor, const char *name, dcli_text *out)
{
    if (factor == 0)
        return count;
    dcli_text_put(out, "%s", count == 0 ? (factor < 0 ? "-" : "") : factor < 0 ? " - " : " + ");
    uint64_t size = factor < 0 ? -(uint64_t)factor : (uint64_t)factor;
    if (name[0] == '\0' || size != 1)
        dcli_text_put(out, "%" PRIu64 "%s", size, name[0] != '\0' ? " * " : "");
    dcli_text_put(out, "%s", name);
    return count + 1;
}

/* Print the bounds of the threads' indices that depend on other indices, such as `j <= i`. */
static void explain_slants(const dcli_loops_plan *plan, const dcli_loops_operation *operation, dcli_text *out)
{
    static const char letters[] = "ijklmnop";
    for (int n = 0; n < operation->slant_count; n++) {
        const dcli_loops_slant *slant = &operation->slant[n];
        int64_t sign = slant->index[slant->axis] > 0 ? -1 : 1;
        int terms = 0;
        dcli_text_put(out, "%s%c %s ", n == 0 ? ", where " : ", ", letters[slant->axis], sign < 0 ? ">=" : "<=");
        for (int r = 0; r < operation->rank; r++)
            if (r != slant->axis)
                terms = explain_term(terms, sign * slant->index[r], (char[]){letters[r], '\0'}, out);
        for (int k = 0; k < operation->hosts.count; k++)
            terms = explain_term(terms, sign * slant->host[k], plan->tree->loop[operation->hosts.loop[k]].name, out);
        terms = explain_term(terms, sign * slant->constant, "", out);
        dcli_text_put(out, "%s", terms == 0 ? "0" : "");
    }
    if (operation->slant_count > 0)
        dcli_text_put(out, " (i, j, ...: the subscripts)");
}

/* Explain for which elements there are threads. */
static void explain_threads(const dcli_loops_plan *plan, const dcli_loops_operation *operation, int indent,
                            dcli_text *out)
{
    const dcli_loops_tree *tree = plan->tree;
    for (int s = 0; s < tree->statement_count; s++) {
        if (!dcli_loops_in(operation->statements, s) || !tree->statement[s].target.is_array)
            continue;
        dcli_text_put(out, "%*sa thread for each %s", indent, "", operation->along >= 0 ? "line of " : "");
        put_element(tree, s, &tree->statement[s].target, out);
        if (operation->along >= 0)
            dcli_text_put(out, " along axis %d", operation->along);
        dcli_text_put(out, " (line %d)", tree->statement[s].place.line);
        for (int r = 0, axes = 0; r < operation->rank; r++) {
            if (r == operation->along)
                continue;
            int64_t extent = extent_of(operation, r);
            dcli_text_put(out, "%s", axes++ == 0 ? ": " : " x ");
            if (extent >= 0)
                dcli_text_put(out, "%" PRId64, extent);
            else
                dcli_text_put(out, "as many as the counters of the program leave");
        }
        explain_slants(plan, operation, out);
        dcli_text_put(out, "\n");
        return;
    }
}

static void explain_loop(const dcli_loops_plan *plan, const dcli_loops_operation *operation, int loop, int indent,
                         dcli_text *out)
{
    const dcli_loops_tree *tree = plan->tree;
    int sum = find_reduction(tree, operation->statements, loop);
    dcli_text_put(out, "%*sloop %s (line %d): ", indent, "", tree->loop[loop].name, tree->loop[loop].place.line);
    if (operation->run[loop].way == DCLI_LOOPS_FIXED) {
        dcli_text_put(out, "parallel: its counter follows from the %s, so each thread has one iteration\n",
                      operation->along >= 0 ? "line" : "element");
    } else if (sum >= 0 && operation->along < 0) {
        dcli_text_put(out, "a reduction: each thread adds up ");
        put_element(tree, sum, &tree->statement[sum].target, out);
        dcli_text_put(out, " in the order of the loop\n");
    } else if (operation->along >= 0) {
        dcli_text_put(out, "in order: each thread runs all iterations that concern its line\n");
    } else {
        dcli_text_put(out, "in order: all its iterations in a thread concern the same element\n");
    }
}

/* How many numbers the threads of all components have together. */
static int rank_of(const dcli_loops_plan *plan, const dcli_loops_partition *partition)
{
    int rank = 0;
    for (int s = 0; s < plan->tree->statement_count && partition != NULL; s++)
        if (dcli_loops_in(partition->statements, s) && partition->component[s] == s)
            rank += partition->rank[s];
    return rank;
}

static void put_numbers(const dcli_loops_plan *plan, const dcli_loops_partition *partition, int s,
                        const dcli_loops_hosts *hosts, dcli_text *out)
{
    const dcli_loops_tree *tree = plan->tree;
    int rank = partition->rank[s];
    dcli_text_put(out, "thread number %s", rank > 1 ? "(" : "");
    for (int n = 0; n < rank; n++) {
        dcli_text_put(out, "%s", n > 0 ? ", " : "");
        dcli_loops_linear_print(tree, &partition->number[s][n], tree->statement[s].depth, tree->statement[s].loop, out);
    }
    dcli_text_put(out, "%s (line %d): ", rank > 1 ? ")" : "", tree->statement[s].place.line);
    for (int n = 0; n < rank; n++) {
        int64_t threads = dcli_loops_partition_threads(plan->sets, partition, s, n, hosts);
        if (threads >= 0)
            dcli_text_put(out, "%s%" PRId64, n > 0 ? " x " : "", threads);
        else
            dcli_text_put(out, "%sas many as the counters of the program leave", n > 0 ? " x " : "");
    }
}

/* Explain which iterations need not wait for each other, by the numbers of their threads. Of partitions with equally
 * many numbers, that in the loops as written is shown.
 * @param operation  NULL: the statements are those in a loop that the program runs. */
static void explain_partition(const dcli_loops_plan *plan, dcli_loops_mask statements, const dcli_loops_hosts *hosts,
                              const dcli_loops_operation *operation, int indent, dcli_text *out)
{
    static const char *const ways[] = {"in the loops as written", "by Farkas' lemma", "by isl's scheduler"};
    dcli_loops_partition *found[3];
    for (int path = 0; path < 3; path++)
        found[path] = dcli_loops_partition_find(plan->sets, statements, hosts, operation, (dcli_loops_path)path);
    int best = 0;
    for (int path = 1; path < 3; path++)
        best = rank_of(plan, found[path]) > rank_of(plan, found[best]) ? path : best;
    for (int s = 0; s < plan->tree->statement_count && found[best] != NULL; s++) {
        if (!dcli_loops_in(statements, s) || found[best]->component[s] != s || found[best]->rank[s] == 0)
            continue;
        dcli_text_put(out, "%*s", indent, "");
        put_numbers(plan, found[best], s, hosts, out);
        dcli_text_put(out, "; found %s", ways[best]);
        for (int path = best + 1; path < 3; path++)
            if (found[path] != NULL && dcli_loops_partition_refines(plan->sets, found[path], found[best], hosts))
                dcli_text_put(out, ", %s", ways[path]);
        dcli_text_put(out, "; verified\n");
    }
    for (int path = 0; path < 3; path++)
        dcli_free(found[path]);
}

static void explain_operation(const dcli_loops_plan *plan, int number, int indent, dcli_text *out)
{
    const dcli_loops_operation *operation = plan->operation[number];
    const dcli_loops_tree *tree = plan->tree;
    dcli_text_put(out, "%*soperation %d%s\n", indent, "", number,
                  operation->parallel ? "" : ": one thread, nothing in parallel");
    explain_threads(plan, operation, indent + 2, out);
    explain_partition(plan, operation->statements, &operation->hosts, operation, indent + 2, out);
    for (int l = 0; l < tree->loop_count; l++) {
        bool used = false;
        for (int s = 0; s < tree->statement_count; s++)
            used |= dcli_loops_in(operation->statements, s) && dcli_loops_depth_in(tree, s, l) >= 0;
        if (used && operation->run[l].way != DCLI_LOOPS_HOSTED)
            explain_loop(plan, operation, l, indent + 2, out);
    }
    for (int a = 0; a < tree->name_count; a++) {
        dcli_loops_excess excess;
        if (tree->name[a].access != DCL_ACCESS_VALUE && dcli_loops_find_excess(plan->sets, operation, a, &excess))
            dcli_text_put(out, "%*sreads %s%.0f elements of %s, in a box of %.0f\n", indent + 2, "",
                          excess.estimated ? "about " : "", excess.read, tree->name[a].name, excess.box);
    }
    for (int k = 0; k < operation->copy_count; k++)
        if (operation->copy[k].way == DCLI_LOOPS_ASIDE)
            dcli_text_put(out, "%*sbefore it, elements of %s that other threads write are copied\n", indent + 2, "",
                          tree->name[operation->copy[k].array].name);
    for (int k = 0; k < operation->output_count; k++)
        if ((operation->gathered >> k & 1) != 0)
            dcli_text_put(out, "%*sruns in a copy of %s, each of whose tiles has whole lines\n", indent + 2, "",
                          tree->name[operation->output[k]].name);
}

/* Put the sentence, without its code, and the notes of the reason why a step is run by the program. */
static void put_reason(const dcli_loops_plan *plan, const dcli_loops_step *step, int indent, dcli_text *out)
{
    dcli_loops_complaints why = {.text = plan->tree->text};
    dcli_loops_blame(plan->sets, &(dcli_loops_failure){true, step->statements, step->hosts, step->why}, &why);
    const char *said = why.count > 0 && why.said[0].bytes != NULL ? why.said[0].bytes : "";
    int length = (int)strcspn(said, "\n"), code = length;
    while (code > 0 && said[code] != '[')
        code--;
    dcli_text_put(out, "%*sbecause %.*s\n", indent, "", code > 1 ? code - 1 : length, said);
    if (said[length] == '\n') { /* the first note has the iterations */
        const char *note = said + length + 1 + strspn(said + length + 1, " ");
        dcli_text_put(out, "%*s%.*s\n", indent, "", (int)strcspn(note, "\n"), note);
    }
    dcli_loops_complaints_free(&why);
}

static void explain_steps(const dcli_loops_plan *plan, const dcli_loops_step *step, int indent, dcli_text *out)
{
    for (; step != NULL; step = step->next) {
        if (step->operation >= 0) {
            explain_operation(plan, step->operation, indent, out);
            continue;
        }
        const dcli_loops_loop *loop = &plan->tree->loop[step->loop];
        dcli_text_put(out, "%*sloop %s (line %d): in order, run by the program", indent, "", loop->name,
                      loop->place.line);
        for (int l = 0; l < plan->tree->loop_count; l++)
            if (l != step->loop && runs(plan->tree, step, l))
                dcli_text_put(out, ", with loop %s (line %d) beside it", plan->tree->loop[l].name,
                              plan->tree->loop[l].place.line);
        dcli_text_put(out, "%s\n", step->in_order ? "; nothing in it is parallel" : "");
        put_reason(plan, step, indent + 2, out);
        explain_partition(plan, step->statements, &step->hosts, NULL, indent + 2, out);
        explain_steps(plan, step->first, indent + 2, out);
    }
}

void dcli_loops_plan_explain(const dcli_loops_plan *plan, dcli_text *out)
{
    explain_steps(plan, plan->first, 0, out);
    dcli_text_put(out,
                  "verified: %" PRId64 " dependence%s, each within a thread or from an earlier step to a later one\n",
                  plan->sets->dependence_count, plan->sets->dependence_count == 1 ? "" : "s");
}

/* ---- warnings ------------------------------------------------------------------------------------------------------- */

/* Warn of boxes that are far larger than what is read of an array. */
static void warn_of_excess(const dcli_loops_plan *plan, const dcli_loops_operation *operation,
                           dcli_loops_complaints *warnings)
{
    enum { FAR = 8, BYTES = 64 * 1024 }; /* smaller boxes cost little */
    for (int a = 0; a < plan->tree->name_count; a++) {
        const dcli_loops_name *name = &plan->tree->name[a];
        dcli_loops_excess excess;
        if (name->access == DCL_ACCESS_VALUE || !dcli_loops_find_excess(plan->sets, operation, a, &excess) ||
            excess.box < FAR * excess.read || excess.box * (double)dcl_type_bytes(name->type) < BYTES)
            continue;
        dcli_loops_complain(warnings, excess.place, "footprint",
                            "nodes get the box around what is read of %s: %.0f elements, of which %s%.0f are read",
                            name->name, excess.box, excess.estimated ? "about " : "", excess.read);
        dcli_loops_note(warnings,
                        "keep what is read in an array of its own, as a[i] in place of A[i][i], or a[i][k] in "
                        "place of A[i][i+k]");
    }
}

static void warn_steps(const dcli_loops_plan *plan, const dcli_loops_step *step, bool moves,
                       dcli_loops_complaints *warnings)
{
    for (; step != NULL; step = step->next) {
        const dcli_loops_operation *operation = step->operation >= 0 ? plan->operation[step->operation] : NULL;
        int before = warnings->count;
        if (step->in_order)
            dcli_loops_blame(plan->sets, &(dcli_loops_failure){true, step->statements, step->hosts, step->why},
                             warnings);
        else if (operation == NULL)
            warn_steps(plan, step->first, moves, warnings);
        if (operation != NULL && operation->parallel && moves)
            warn_of_excess(plan, operation, warnings);
        for (int s = 0; operation != NULL && !operation->parallel && s < plan->tree->statement_count; s++)
            if (dcli_loops_in(operation->statements, s) && plan->tree->statement[s].depth > operation->hosts.count) {
                dcli_loops_complain(warnings, plan->tree->statement[s].place, "nothing-parallel",
                                    "one thread runs the loops around this statement, which write a single element");
                dcli_loops_note(warnings, "for sums and other reductions to single values, use dcl_reduce()");
                break;
            }
        if (step->in_order && warnings->count > before)
            dcli_loops_note(warnings,
                            "so nothing is parallel here, and the program starts one operation after the other");
    }
}

bool dcli_loops_plan_warn(dcli_loops_plan *plan, bool moves, dcli_text *out)
{
    if (plan->warned)
        return false;
    plan->warned = true;
    dcli_loops_complaints warnings = {.text = plan->tree->text, .shift = plan->shift};
    memcpy(warnings.file, plan->file, sizeof warnings.file);
    isl_ctx_set_max_operations(plan->sets->ctx, 0); /* the plan was made within its limit */
    warn_steps(plan, plan->first, moves, &warnings);
    dcli_loops_complaints_put(&warnings, "warning", out);
    bool any = warnings.count > 0;
    dcli_loops_complaints_free(&warnings);
    return any;
}
