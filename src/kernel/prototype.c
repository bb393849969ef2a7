/* kernel/prototype.c - find functions that a text declares and does not define.
 * A statement is recognised as a declaration by how it begins; outside of functions all are declarations. In a
 * declaration, a parenthesis after a name, outside of initializers, makes that name a function.
 * Source: ISO/IEC 9899:1999, 6.7.5 (declarators). */
#include "kernel/prototype.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "kernel/names.h"

enum { DEEPEST = 300, MOST_DECLARED = 1000 };

/* The state of the statement that is being parsed at one level of braces; each { opens a new level. */
struct level {
    int64_t first;    /* index of the statement's first word */
    bool starts;      /* the statement has not begun: the next word is its first */
    bool declares;    /* the statement is a declaration */
    bool initializes; /* the next words are an initializer, or part of a condition, in which no function is declared */
    bool file_scope;  /* the statement is outside of functions */
    bool fixed;       /* these braces are an initializer: nothing in them is declared */
    bool in_for;      /* inside the parentheses of a for loop */
    bool resumes;     /* after the closing brace the statement before the opening one goes on */
    int brackets;     /* number of open brackets of the statement, without those around the declared name */
    int around;       /* number of open brackets around the declared name, as in (f)(int) */
    int64_t named;    /* word that names the function that the statement declares; -1: none so far */
};

struct reader {
    const dcli_words *words;
    struct level level[DEEPEST], *now;
    dcli_words defined, declared;
};

static bool is_name(const dcli_word *word) { return word->kind == DCLI_WORD_NAME; }

static const dcli_word *word_of(const struct reader *r, int64_t w)
{
    static const dcli_word none = {.at = ";", .length = 1, .kind = DCLI_WORD_SIGN};
    return w >= 0 && w < r->words->count ? &r->words->word[w] : &none;
}

static bool is_type(const dcli_word *word)
{
    return is_name(word) && (dcli_name_is_type(word->at, (size_t)word->length) ||
                             dcli_word_in(word, " kernel __kernel _Noreturn __generic generic "));
}

/* Whether a word is one whose parentheses do not belong to the declared name, such as __attribute__. */
static bool is_beside(const dcli_word *word)
{
    return dcli_word_in(word, " __attribute__ _Pragma _Static_assert _Alignas ");
}

static bool is_statement(const dcli_word *word)
{
    return dcli_word_in(word, " return goto sizeof case default break continue if else for while do switch ");
}

static int64_t pass_brackets(const struct reader *r, int64_t w)
{
    int depth = 0;
    for (; w < r->words->count; w++) {
        depth += dcli_word_is(word_of(r, w), "(");
        depth -= dcli_word_is(word_of(r, w), ")");
        if (depth <= 0)
            return w + 1;
    }
    return w;
}

/* Whether a declaration begins at word w: with a type, or with two names, possibly with stars between them. */
static bool begins_declaration(const struct reader *r, int64_t w)
{
    const dcli_word *first = word_of(r, w);
    if (is_type(first))
        return true;
    if (!is_name(first) || is_statement(first))
        return false;
    for (w++; dcli_word_is(word_of(r, w), "*"); w++)
        ;
    return is_name(word_of(r, w)) && !is_statement(word_of(r, w));
}

static void start(struct reader *r)
{
    r->now->starts = true;
    r->now->declares = r->now->initializes = false;
    r->now->brackets = r->now->around = 0;
    r->now->named = -1;
}

/* Skip one thing that may stand before a statement: a label, else or do, an attribute. @return the word after it; w:
 * there is none. */
static int64_t pass_head(const struct reader *r, int64_t w)
{
    if (is_beside(word_of(r, w)))
        return pass_brackets(r, w + 1);
    if (r->now->file_scope || r->now->fixed)
        return w;
    if (dcli_word_in(word_of(r, w), " else do "))
        return w + 1;
    return is_name(word_of(r, w)) && dcli_word_is(word_of(r, w + 1), ":") ? w + 2 : w;
}

static void begin(struct reader *r, int64_t w)
{
    struct level *now = r->now;
    now->starts = false;
    now->first = w;
    now->declares = !now->fixed && (now->file_scope || begins_declaration(r, w));
    now->initializes = now->fixed;
}

/* End a declarator. If it declared a function without a body, list the function; dcli_prototypes_check() refuses it if
 * the text does not define it. */
static dcl_status end_declarator(struct reader *r)
{
    int64_t named = r->now->named;
    r->now->named = -1;
    if (named < 0)
        return DCL_OK;
    if (r->declared.count == MOST_DECLARED)
        return dcli_word_fail(word_of(r, named), "more than %d functions are declared without their bodies",
                              MOST_DECLARED);
    return dcli_words_add(&r->declared, word_of(r, named));
}

/* The name before the parenthesis at word w, as in f( or (f)(; -1: there is none. */
static int64_t name_before(const struct reader *r, int64_t w)
{
    int64_t name = w - 1, first;
    while (dcli_word_is(word_of(r, name), ")"))
        name--;
    first = name;
    for (int64_t last = name; last < w - 1; last++)
        if (!dcli_word_is(word_of(r, --first), "("))
            return -1;
    const dcli_word *word = word_of(r, name);
    return name >= r->now->first && is_name(word) && !is_type(word) && !is_statement(word) ? name : -1;
}

/* Process an opening parenthesis at word w of a declaration. @return the word to continue with. */
static int64_t open_in_declarator(struct reader *r, int64_t w)
{
    struct level *now = r->now;
    if (is_beside(word_of(r, w - 1)))
        return pass_brackets(r, w);
    int64_t name = name_before(r, w);
    if (name >= 0 && now->named < 0)
        now->named = name;
    if (name < 0 && !dcli_word_in(word_of(r, w - 1), " ) ] "))
        now->around++;
    else
        now->brackets++;
    return w + 1;
}

static int64_t open_bracket(struct reader *r, int64_t w)
{
    struct level *now = r->now;
    if (now->declares && !now->initializes && now->brackets == 0 && dcli_word_is(word_of(r, w), "("))
        return open_in_declarator(r, w);
    if (dcli_word_is(word_of(r, w - 1), "for") && w - 1 == now->first) {
        now->in_for = true;
        start(r);
    } else {
        now->brackets++;
    }
    return w + 1;
}

static void close_bracket(struct reader *r)
{
    struct level *now = r->now;
    if (now->brackets > 0) {
        now->brackets--;
        if (now->brackets == 0 && dcli_word_in(word_of(r, now->first), " if while switch "))
            start(r);
    } else if (now->around > 0) {
        now->around--;
    } else if (now->in_for) {
        now->in_for = false;
        start(r);
    }
}

static dcl_status open_brace(struct reader *r, int64_t w)
{
    struct level *now = r->now;
    bool of_function = now->named >= 0 && now->brackets == 0 && now->around == 0;
    bool block = of_function || w == now->first;
    bool aggregate = dcli_word_in(word_of(r, w - 1), " struct union enum ") ||
                     dcli_word_in(word_of(r, w - 2), " struct union enum ");
    dcl_status status = of_function ? dcli_words_add(&r->defined, word_of(r, now->named)) : DCL_OK;
    if (status == DCL_OK && now == &r->level[DEEPEST - 1])
        status = dcli_word_fail(word_of(r, w), "braces are nested deeper than %d", DEEPEST);
    if (status != DCL_OK)
        return status;
    now->named = of_function ? -1 : now->named;
    *++r->now = (struct level){
        .resumes = !block,
        .fixed = now->fixed || (!block && !aggregate && !dcli_word_is(word_of(r, w - 1), "(")),
    };
    start(r);
    return DCL_OK;
}

static dcl_status close_brace(struct reader *r, int64_t w)
{
    if (r->now == r->level)
        return dcli_word_fail(word_of(r, w), "this } closes nothing; take it away or add what it closes");
    dcl_status status = end_declarator(r);
    bool resumes = r->now->resumes;
    r->now--;
    if (!resumes)
        start(r);
    return status;
}

static dcl_status end_statement(struct reader *r)
{
    dcl_status status = end_declarator(r);
    start(r);
    if (r->now->in_for) { /* the other parts of a for loop's head are expressions */
        r->now->starts = false;
        r->now->initializes = true;
    }
    return status;
}

static dcl_status read_sign(struct reader *r, int64_t w, int64_t *next_out)
{
    const dcli_word *word = word_of(r, w);
    struct level *now = r->now;
    bool outside = now->brackets == 0;
    *next_out = w + 1;
    if (dcli_word_in(word, " ( [ "))
        *next_out = open_bracket(r, w);
    else if (dcli_word_in(word, " ) ] "))
        close_bracket(r);
    else if (dcli_word_is(word, "{"))
        return open_brace(r, w);
    else if (dcli_word_is(word, "}"))
        return close_brace(r, w);
    else if (dcli_word_is(word, ";"))
        return end_statement(r);
    else if (dcli_word_is(word, ":") && outside && dcli_word_in(word_of(r, now->first), " case "))
        start(r);
    else if (dcli_word_is(word, ",") && outside && now->declares) {
        now->initializes = now->fixed;
        return end_declarator(r);
    } else if (dcli_word_is(word, "=") && outside && now->declares) {
        now->initializes = true;
        return end_declarator(r);
    }
    return DCL_OK;
}

static dcl_status enter_body(struct reader *r, int64_t body)
{
    if (r->now != r->level || r->now->brackets > 0)
        return dcli_word_fail(word_of(r, body - 1), "the prelude ends before its brackets are closed; add what is "
                                                    "missing");
    dcl_status status = end_declarator(r);
    r->now->file_scope = false;
    start(r);
    return status;
}

static dcl_status read_words(struct reader *r, int64_t body)
{
    dcl_status status = DCL_OK;
    for (int64_t w = 0; w < r->words->count && status == DCL_OK;) {
        if (w == body && (status = enter_body(r, body)) != DCL_OK)
            break;
        int64_t next = r->now->starts ? pass_head(r, w) : w;
        if (r->now->starts && next == w)
            begin(r, w);
        if (next == w && word_of(r, w)->kind == DCLI_WORD_SIGN)
            status = read_sign(r, w, &next);
        w = next > w ? next : w + 1;
    }
    return status == DCL_OK ? end_declarator(r) : status;
}

static bool is_defined(const struct reader *r, const dcli_word *name)
{
    for (int64_t d = 0; d < r->defined.count; d++)
        if (r->defined.word[d].length == name->length &&
            memcmp(r->defined.word[d].at, name->at, (size_t)name->length) == 0)
            return true;
    return false;
}

dcl_status dcli_prototypes_check(const dcli_words *words, int64_t body)
{
    struct reader *r = dcli_calloc(1, sizeof *r);
    if (r == NULL)
        return DCL_ERR_NOMEM;
    r->words = words;
    r->now = r->level;
    r->now->file_scope = true;
    start(r);
    dcl_status status = read_words(r, body);
    for (int64_t d = 0; d < r->declared.count && status == DCL_OK; d++)
        if (!is_defined(r, &r->declared.word[d]))
            status = dcli_word_fail(&r->declared.word[d],
                                    "%.*s is declared here as a function and defined nowhere; give its body, or take "
                                    "the declaration away: functions of OpenCL C need none, others cannot be called",
                                    r->declared.word[d].length, r->declared.word[d].at);
    dcli_words_free(&r->defined);
    dcli_words_free(&r->declared);
    dcli_free(r);
    return status;
}
