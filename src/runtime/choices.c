/* runtime/choices.c - yes or no, chosen once for each kind of call and remembered. */
#include "runtime/choices.h"

#include "base/alloc.h"

enum { MAX_CHOICES = 64 };

struct dcli_choice {
    uint64_t hash;
    bool chosen;
    struct dcli_choice *next; /* the one that was used before this one */
};

bool dcli_choices_find(dcli_choices *choices, uint64_t hash, bool *chosen_out)
{
    for (struct dcli_choice **at = &choices->last; *at != NULL; at = &(*at)->next) {
        struct dcli_choice *found = *at;
        if (found->hash != hash)
            continue;
        *at = found->next;
        found->next = choices->last;
        choices->last = found;
        *chosen_out = found->chosen;
        return true;
    }
    return false;
}

void dcli_choices_add(dcli_choices *choices, uint64_t hash, bool chosen)
{
    struct dcli_choice **at = &choices->last, *added;
    for (int count = 1; *at != NULL && count < MAX_CHOICES; count++)
        at = &(*at)->next;
    added = *at != NULL ? *at : dcli_malloc(sizeof *added);
    if (added == NULL)
        return;
    *at = NULL;
    *added = (struct dcli_choice){hash, chosen, choices->last};
    choices->last = added;
}

void dcli_choices_free(dcli_choices *choices)
{
    while (choices->last != NULL) {
        struct dcli_choice *next = choices->last->next;
        dcli_free(choices->last);
        choices->last = next;
    }
}
