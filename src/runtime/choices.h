/* runtime/choices.h - yes or no, chosen once for each kind of call and remembered. */
#ifndef DCLI_RUNTIME_CHOICES_H
#define DCLI_RUNTIME_CHOICES_H

#include <stdbool.h>
#include <stdint.h>

/** A list of choices, the one used last first. All zero: there are none. The caller serializes access to it. */
typedef struct dcli_choices {
    struct dcli_choice *last;
} dcli_choices;

/** Look up the choice for calls with this hash, and mark it as the most recently used one. @return false: there is none. */
bool dcli_choices_find(dcli_choices *choices, uint64_t hash, bool *chosen_out);
/** Remember a choice. It replaces the least recently used one if there are 64. Without memory it is not remembered. */
void dcli_choices_add(dcli_choices *choices, uint64_t hash, bool chosen);
void dcli_choices_free(dcli_choices *choices);

#endif
