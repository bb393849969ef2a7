/* cli/number.h - constants of a program: defined numbers and enumerators. */
#ifndef CLI_NUMBER_H
#define CLI_NUMBER_H

#include "cli/source.h"

typedef struct cli_number {
    bool is_real;
    long long integer; /* not real */
    double real;       /* real */
} cli_number;

/** A name that stands for a number, or a macro that may not. */
typedef struct cli_constant {
    cli_token name;
    bool has_arguments; /* a macro with arguments */
    cli_token *token;   /* [count], yours: what it stands for, the last one is END; NULL: an enumerator */
    int count;
    cli_number value; /* of an enumerator */
    bool known;       /* of an enumerator: it has a value */
} cli_constant;

/** The constants that are known at some place of a program. Start with {0}. */
typedef struct cli_constants {
    int count, capacity;
    cli_constant *constant; /* the last definition of a name counts */
    /** The value of a name that is no constant, or NULL. @return false: it has none */
    bool (*variable)(void *user, const cli_token *name, cli_number *out);
    void *user;
} cli_constants;

void cli_constants_free(cli_constants *constants);
/** Note a #define or forget an #undef; other directives are skipped. */
void cli_constants_directive(cli_constants *constants, const cli_token *directive);
/** Note the enumerators of `enum ... { ... }`. @param at  the token after the word enum. */
void cli_constants_enum(cli_constants *constants, const cli_token *at);
/** @return NULL: the name is no constant. */
const cli_constant *cli_constants_find(const cli_constants *constants, const cli_token *name);
/** Compute a constant expression of numbers, constants and variables.
 *  @param token  [count]
 *  @return false: it is none. */
bool cli_number_of(const cli_constants *constants, const cli_token *token, int count, cli_number *out);
/** The value of a constant. */
bool cli_constant_value(const cli_constants *constants, const cli_constant *constant, cli_number *out);

#endif
