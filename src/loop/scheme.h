/* loop/scheme.h - a nest as a scheme: sentences of an algebra of algorithms (sequence, alternative, loop, parallel loop, wait),
 * in English, Ukrainian or Russian. What varies stands in quotes, in C: `Add "x[i]" to "y[i]".`
 * Source: V. M. Glushkov, G. E. Tseitlin, E. L. Yushchenko, "Algebra. Languages. Programming" (1974), whose systems of
 * algorithmic algebras have these operations; A. Doroshenko, K. Zhereb, O. Yatsenko use them for parallel programs. */
#ifndef DCLI_LOOP_SCHEME_H
#define DCLI_LOOP_SCHEME_H

#include "loop/tree.h"

/** How a loop runs, as far as a scheme says. */
typedef enum dcli_scheme_way { DCLI_SCHEME_ANY, DCLI_SCHEME_PARALLEL, DCLI_SCHEME_IN_ORDER } dcli_scheme_way;

/** @return the number of a language by its name, "en", "uk" or "ru"; -1: there is none. */
int dcli_scheme_language(const char *name);
/** Print a tree without errors as a scheme.
 *  @param way   [tree->loop_count]; NULL: it does not say how loops run.
 *  @param wait  [tree->statement_count] whether all threads end before a statement begins; NULL: nowhere. */
void dcli_scheme_print(const dcli_loops_tree *tree, int language, const dcli_scheme_way way[], const bool wait[],
                       dcli_text *out);
/** Write the nest that a scheme of any of the languages says, in C: one line for each of its lines.
 *  @return false: some line is no sentence; it is in line_out. */
bool dcli_scheme_read(const char *scheme, dcli_text *out, int *line_out);

#endif
