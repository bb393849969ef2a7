/* kernel/expand.c - expand a prelude and a body as a preprocessor does.
 * Every combination of branches is expanded in a separate run from the start: runs share nothing, and most texts need
 * only one. */
#include "kernel/expand.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/hash.h"

enum {
    BUCKETS = 256,
    MOST_CHOICES = 256,
    DEEPEST = 100, /* deepest nesting of conditions, and of macro calls in arguments of macro calls */
    MOST_PARAMS = 128,
    MOST_WORDS = 400000, /* most words processed in a run: bounds its memory */
    MOST_STEPS = 2000000 /* most words processed in all runs together: some tenths of a second */
};

struct macro {
    const dcli_word *name, *param, *list; /* `param`: the words between the parentheses, with commas; `list`: the
                                             replacement */
    int param_words, params, count, next;
    bool function, variadic, defined, active; /* active: its name is being replaced now, so it is not replaced again
                                                 inside */
};

/* A condition whose outcome depends on the device: how many branches are possible, and which one this run takes. */
struct choice {
    int taken, options;
};

struct condition {
    bool outer, now; /* outer: the condition itself is in an active branch; now: the current branch is active */
    int left;        /* branches until the active one; negative: it is over, or there is none */
};

struct run {
    const dcli_expansion *expansion;
    struct macro *macro;
    int64_t macros, macro_capacity;
    int bucket[BUCKETS]; /* hash table of macros: number of the last one + 1; 0: none */
    struct choice choice[MOST_CHOICES];
    int choices, choice_count;
    struct condition condition[DEEPEST];
    int conditions;
    int64_t at; /* index of the next word, in the prelude or, with in_body, in the body */
    bool in_body;
    int64_t body; /* index in `out` of the body's first word */
    dcli_words out;
    void **block; /* memory to free after the run */
    int64_t blocks, block_capacity;
    int64_t steps, first_step; /* number of words processed in all runs, and its value before this run */
    int depth;
};

/* Words that are read before the rest of the input: the replacement of a macro. */
struct source {
    const dcli_word *word;
    int64_t count, at;
    int macro; /* the macro whose replacement it is; -1: none */
};

struct input {
    struct run *run;
    bool from_text; /* when the sources are exhausted, go on with the text */
    struct source *source;
    int64_t depth, capacity;
    dcli_word held; /* a word that was read and put back */
    bool has_held;
};

static dcl_status expand_input(struct input *in, dcli_words *out);

/* ---- macros ------------------------------------------------------------------------------------------------------- */

static int bucket_of(const dcli_word *name)
{
    return (int)(dcli_hash_bytes(DCLI_HASH_START, name->at, (size_t)name->length) % BUCKETS);
}

static bool same_word(const dcli_word *a, const dcli_word *b)
{
    return a->length == b->length && memcmp(a->at, b->at, (size_t)a->length) == 0;
}

/* Number of a macro with this name, defined or undefined again; -1: none. */
static int find_macro(const struct run *run, const dcli_word *name)
{
    int m = run->bucket[bucket_of(name)] - 1;
    while (m >= 0 && !same_word(run->macro[m].name, name))
        m = run->macro[m].next;
    return m;
}

static bool is_defined(const struct run *run, const dcli_word *name)
{
    int m = find_macro(run, name);
    return m >= 0 && run->macro[m].defined;
}

/* Parse the parameters of a macro, from the opening parenthesis. @return number of words including the closing one. */
static int read_params(struct macro *macro, const dcli_word *word, int count)
{
    int w = 1;
    while (w < count && !dcli_word_is(&word[w], ")")) {
        macro->params += word[w].kind == DCLI_WORD_NAME;
        if (dcli_word_is(&word[w], ".")) {
            /* `...`; but `rest...` has a name. */
            macro->params += !macro->variadic && word[w - 1].kind != DCLI_WORD_NAME;
            macro->variadic = true;
        }
        w++;
    }
    macro->param = word + 1;
    macro->param_words = w - 1;
    return w < count ? w + 1 : w;
}

static dcl_status define(struct run *run, const dcli_word *word, int count)
{
    if (count < 1)
        return DCL_OK;
    struct macro macro = {.name = word, .defined = true};
    int w = 1;
    if (count > 1 && dcli_word_is(&word[1], "(") && !word[1].spaced) {
        macro.function = true;
        w += read_params(&macro, word + 1, count - 1);
    }
    if (macro.params > MOST_PARAMS)
        return dcli_word_fail(word, "this macro has %d parameters; expected at most %d", macro.params, MOST_PARAMS);
    macro.list = word + w;
    macro.count = count - w;
    int m = find_macro(run, word);
    if (m < 0) {
        if (dcli_grow(&run->macro, run->macros, &run->macro_capacity, sizeof *run->macro) != 0)
            return DCL_ERR_NOMEM;
        m = (int)run->macros++;
        macro.next = run->bucket[bucket_of(word)] - 1;
        run->bucket[bucket_of(word)] = m + 1;
    } else {
        macro.next = run->macro[m].next;
        macro.active = run->macro[m].active;
    }
    run->macro[m] = macro;
    return DCL_OK;
}

static void undefine(struct run *run, const dcli_word *name)
{
    int m = find_macro(run, name);
    if (m >= 0)
        run->macro[m].defined = false;
}

/* Number of the parameter that a word of a definition names; -1: none. */
static int param_of(const struct macro *macro, const dcli_word *word)
{
    int number = 0;
    if (word->kind != DCLI_WORD_NAME)
        return -1;
    for (int w = 0; w < macro->param_words; w++) {
        if (macro->param[w].kind != DCLI_WORD_NAME)
            continue;
        if (same_word(&macro->param[w], word))
            return number;
        number++;
    }
    return macro->variadic && dcli_word_is(word, "__VA_ARGS__") ? macro->params - 1 : -1;
}

/* ---- directives --------------------------------------------------------------------------------------------------- */

int64_t dcli_directive_end(const dcli_words *words, int64_t at)
{
    for (at++; at < words->count && !words->word[at].first; at++)
        ;
    return at;
}

static bool is_directive(const dcli_words *words, int64_t at)
{
    return words->word[at].first && dcli_word_is(&words->word[at], "#");
}

/* Count the branches of the condition that begins at word `at`. @param has_else  whether one is #else. */
static int count_branches(const dcli_words *words, int64_t at, bool *has_else)
{
    int depth = 0, branches = 1;
    *has_else = false;
    for (at = dcli_directive_end(words, at); at < words->count;
         at = is_directive(words, at) ? dcli_directive_end(words, at) : at + 1) {
        if (!is_directive(words, at) || at + 1 >= words->count || words->word[at + 1].first)
            continue;
        const dcli_word *name = &words->word[at + 1];
        if (dcli_word_in(name, " if ifdef ifndef "))
            depth++;
        else if (dcli_word_is(name, "endif") && depth-- == 0)
            break;
        else if (depth == 0 && dcli_word_in(name, " elif elifdef elifndef else ")) {
            branches++;
            *has_else |= dcli_word_is(name, "else");
        }
    }
    return branches;
}

/* Whether the first branch of a condition is compiled: 1 yes, 0 no, -1 depends on the device. */
static int known_condition(const struct run *run, const dcli_word *name, int count)
{
    if (count < 2)
        return -1;
    bool defined = name[1].kind == DCLI_WORD_NAME && is_defined(run, &name[1]);
    if (dcli_word_is(name, "ifdef") && defined)
        return 1;
    if (dcli_word_is(name, "ifndef") && defined)
        return 0;
    if (dcli_word_is(name, "if") && count == 2 && dcli_word_in(&name[1], " 0 1 "))
        return dcli_word_is(&name[1], "1");
    return -1;
}

static dcl_status choose(struct run *run, const dcli_word *name, int options, int *taken_out)
{
    if (options == 1) {
        *taken_out = 0;
        return DCL_OK;
    }
    if (run->choices == MOST_CHOICES)
        return dcli_word_fail(name, "the prelude has more than %d conditions that depend on the device; use fewer",
                              MOST_CHOICES);
    if (run->choices == run->choice_count)
        run->choice[run->choice_count++] = (struct choice){.options = options};
    *taken_out = run->choice[run->choices++].taken;
    return DCL_OK;
}

static dcl_status begin_condition(struct run *run, const dcli_words *words, int64_t at, int count)
{
    const dcli_word *name = &words->word[at + 1];
    if (run->conditions == DEEPEST)
        return dcli_word_fail(name, "conditions are nested deeper than %d", DEEPEST);
    struct condition *condition = &run->condition[run->conditions];
    *condition = (struct condition){.outer = run->conditions == 0 || condition[-1].now, .left = -1};
    run->conditions++;
    if (!condition->outer)
        return DCL_OK;
    bool has_else;
    int branches = count_branches(words, at, &has_else) + 1, known = known_condition(run, name, count);
    branches -= has_else; /* a condition without #else has one more outcome: no branch */
    int skipped = known == 0 ? 1 : 0, taken = 0;
    dcl_status status = known == 1 ? DCL_OK : choose(run, name, branches - skipped, &taken);
    condition->left = known == 1 ? 0 : taken + skipped;
    condition->now = condition->left == 0;
    return status;
}

static dcl_status pass_branch(struct run *run, const dcli_word *name, bool ends)
{
    if (run->conditions == 0)
        return dcli_word_fail(name, "this #%.*s belongs to no #if", name->length, name->at);
    struct condition *condition = &run->condition[run->conditions - 1];
    condition->left--;
    condition->now = condition->outer && condition->left == 0;
    run->conditions -= ends;
    return DCL_OK;
}

static dcl_status obey(struct run *run, const dcli_words *words, int64_t at, int64_t end)
{
    const dcli_word *name = &words->word[at + 1];
    int count = (int)(end - at - 1);
    bool now = run->conditions == 0 || run->condition[run->conditions - 1].now;
    if (count == 0)
        return DCL_OK;
    if (dcli_word_in(name, " if ifdef ifndef "))
        return begin_condition(run, words, at, count);
    if (dcli_word_in(name, " elif elifdef elifndef else endif "))
        return pass_branch(run, name, dcli_word_is(name, "endif"));
    if (now && dcli_word_is(name, "define"))
        return define(run, name + 1, count - 1);
    if (now && dcli_word_is(name, "undef") && count > 1)
        undefine(run, name + 1);
    return DCL_OK;
}

/* ---- words -------------------------------------------------------------------------------------------------------- */

static dcl_status count_step(struct run *run, const dcli_word *word)
{
    if (++run->steps <= MOST_STEPS && run->steps - run->first_step <= MOST_WORDS)
        return DCL_OK;
    return dcli_word_fail(word,
                          "the macros and conditions of the prelude stand for too many words; use fewer: at most %d "
                          "are looked at, in all combinations of conditions together at most %d",
                          MOST_WORDS, MOST_STEPS);
}

static void enter_body(struct run *run)
{
    run->in_body = true;
    run->at = 0;
    for (int64_t m = 0; m < run->macros; m++)
        if (run->expansion->is_own(run->expansion->user, run->macro[m].name))
            run->macro[m].defined = false;
}

/* Take the next word of the text that is in no inactive branch, obeying directives before it. *found_out false: the
 * prelude, or later the body, has ended. */
static dcl_status take_from_text(struct run *run, dcli_word *word_out, bool *found_out)
{
    const dcli_words *words = run->in_body ? run->expansion->body : run->expansion->prelude;
    dcl_status status = DCL_OK;
    *found_out = false;
    while (status == DCL_OK && run->at < words->count && !*found_out) {
        const dcli_word *word = &words->word[run->at];
        status = count_step(run, word);
        if (status != DCL_OK)
            break;
        if (is_directive(words, run->at)) {
            int64_t end = dcli_directive_end(words, run->at);
            status = obey(run, words, run->at, end);
            run->at = end;
            continue;
        }
        run->at++;
        *found_out = run->conditions == 0 || run->condition[run->conditions - 1].now;
        *word_out = *word;
    }
    if (status == DCL_OK && !*found_out && run->conditions > 0)
        return DCLI_FAIL(DCL_ERR_BODY, "the prelude has an #if without #endif; add it");
    return status;
}

static dcl_status take(struct input *in, dcli_word *word_out, bool *found_out)
{
    *found_out = true;
    if (in->has_held) {
        *word_out = in->held;
        in->has_held = false;
        return DCL_OK;
    }
    while (in->depth > 0) {
        struct source *source = &in->source[in->depth - 1];
        if (source->at < source->count) {
            *word_out = source->word[source->at++];
            return count_step(in->run, word_out);
        }
        if (source->macro >= 0)
            in->run->macro[source->macro].active = false;
        in->depth--;
    }
    if (in->from_text)
        return take_from_text(in->run, word_out, found_out);
    *found_out = false;
    return DCL_OK;
}

static dcl_status push(struct input *in, const dcli_words *words, int macro)
{
    if (dcli_grow(&in->source, in->depth, &in->capacity, sizeof *in->source) != 0)
        return DCL_ERR_NOMEM;
    in->source[in->depth++] = (struct source){.word = words->word, .count = words->count, .macro = macro};
    if (macro >= 0)
        in->run->macro[macro].active = true;
    return DCL_OK;
}

/* Keep memory until the run ends. */
static dcl_status keep(struct run *run, void *memory)
{
    if (memory == NULL)
        return DCL_OK;
    if (dcli_grow(&run->block, run->blocks, &run->block_capacity, sizeof *run->block) != 0) {
        dcli_free(memory);
        return DCL_ERR_NOMEM;
    }
    run->block[run->blocks++] = memory;
    return DCL_OK;
}

/* ---- calls of macros ------------------------------------------------------------------------------------------------ */

struct argument {
    dcli_words raw, full; /* the argument's words as written, and with macros replaced */
};

/* Parse the arguments of a macro call, after its opening parenthesis. Surplus arguments are dropped. */
static dcl_status read_arguments(struct input *in, const struct macro *macro, const dcli_word *name,
                                 struct argument arguments[])
{
    int number = 0, depth = 0;
    for (;;) {
        dcli_word word;
        bool found;
        dcl_status status = take(in, &word, &found);
        if (status == DCL_OK && !found)
            status = dcli_word_fail(name, "this call of the macro %.*s is not closed; add the missing )", name->length,
                                    name->at);
        if (status != DCL_OK)
            return status;
        if (dcli_word_is(&word, ")") && depth-- == 0)
            return DCL_OK;
        depth += dcli_word_is(&word, "(");
        bool parts = dcli_word_is(&word, ",") && depth == 0 && !(macro->variadic && number == macro->params - 1);
        if (parts)
            number++;
        else if (number < macro->params)
            status = dcli_words_add(&arguments[number].raw, &word);
        if (status != DCL_OK)
            return status;
    }
}

static dcl_status expand_argument(struct run *run, struct argument *argument)
{
    if (run->depth == DEEPEST)
        return dcli_word_fail(&argument->raw.word[0], "calls of macros are nested deeper than %d", DEEPEST);
    run->depth++;
    struct input in = {.run = run};
    dcl_status status = push(&in, &argument->raw, -1);
    if (status == DCL_OK)
        status = expand_input(&in, &argument->full);
    dcli_free(in.source);
    run->depth--;
    return status;
}

static dcl_status join_words(struct run *run, dcli_word *left, const dcli_word *right)
{
    size_t length = (size_t)left->length + (size_t)right->length;
    char *joined = dcli_malloc(length);
    if (joined == NULL)
        return DCL_ERR_NOMEM;
    memcpy(joined, left->at, (size_t)left->length);
    memcpy(joined + left->length, right->at, (size_t)right->length);
    left->at = joined;
    left->length = (int)length;
    left->painted = false;
    run->steps += (int64_t)(length / 64); /* long words count more, because a word that ## doubles again and again
                                             becomes costly */
    return keep(run, joined);
}

/* Append the words of one operand of a replacement. @param paste  its first word is joined to the last word before
 * (##). */
static dcl_status put_operand(struct run *run, dcli_words *out, const dcli_words *operand, bool paste)
{
    dcl_status status = DCL_OK;
    int64_t w = 0;
    if (paste && operand->count > 0)
        status = join_words(run, &out->word[out->count - 1], &operand->word[w++]);
    for (; w < operand->count && status == DCL_OK; w++) {
        status = count_step(run, &operand->word[w]);
        if (status == DCL_OK)
            status = dcli_words_add(out, &operand->word[w]);
    }
    return status;
}

/* Find the replacement of a macro call: substitute parameters, apply # and ##. */
static dcl_status substitute(struct run *run, const struct macro *macro, struct argument arguments[], dcli_words *out)
{
    dcl_status status = DCL_OK;
    bool paste = false, empty = true; /* empty: the left operand of the current ## has no words */
    for (int k = 0; k < macro->count && status == DCL_OK; k++) {
        dcli_word single = macro->list[k];
        bool pasted_next = k + 1 < macro->count && dcli_word_is(&macro->list[k + 1], "##");
        int p = param_of(macro, &single);
        if (macro->function && dcli_word_is(&single, "#") && k + 1 < macro->count) {
            single.kind = DCLI_WORD_TEXT;
            single.at = "\"\"";
            single.length = 2;
            k++;
            pasted_next = k + 1 < macro->count && dcli_word_is(&macro->list[k + 1], "##");
            p = -1;
        }
        dcli_words one = {.word = &single, .count = 1};
        const dcli_words *operand = p < 0 ? &one : paste || pasted_next ? &arguments[p].raw : &arguments[p].full;
        bool comma = paste && p >= 0 && p == macro->params - 1 && macro->variadic && out->count > 0 &&
                     dcli_word_is(&out->word[out->count - 1], ","); /* compiler extension `, ## __VA_ARGS__`: nothing
                                                                       is joined */
        if (comma && operand->count == 0)
            out->count--;
        int64_t before = out->count;
        status = put_operand(run, out, operand, paste && !empty && !comma && before > 0);
        empty = paste ? empty && operand->count == 0 : operand->count == 0;
        paste = pasted_next;
        k += pasted_next;
    }
    return status;
}

static dcl_status call(struct input *in, int m, const dcli_word *name)
{
    struct run *run = in->run;
    /* A copy: parsing the arguments may define macros, which moves the array. */
    const struct macro copy = run->macro[m], *macro = &copy;
    int params = macro->params;
    struct argument *arguments = dcli_calloc((size_t)(params > 0 ? params : 1), sizeof *arguments);
    if (arguments == NULL)
        return DCL_ERR_NOMEM;
    dcl_status status = macro->function ? read_arguments(in, macro, name, arguments) : DCL_OK;
    for (int p = 0; p < params && status == DCL_OK; p++)
        if (arguments[p].raw.count > 0)
            status = expand_argument(run, &arguments[p]);
    dcli_words result = {0};
    if (status == DCL_OK)
        status = substitute(run, macro, arguments, &result);
    for (int p = 0; p < params; p++) {
        dcli_words_free(&arguments[p].raw);
        dcli_words_free(&arguments[p].full);
    }
    dcli_free(arguments);
    dcl_status kept = keep(run, result.word);
    if (status == DCL_OK)
        status = kept;
    return status == DCL_OK ? push(in, &result, m) : status;
}

/* Replace a macro's name, together with its arguments if it has any; a name without the arguments it needs stays.
 * @param replaced_out  whether it was replaced. */
static dcl_status replace(struct input *in, int m, dcli_word *word, bool *replaced_out)
{
    *replaced_out = false;
    if (in->run->macro[m].active) {
        word->painted = true;
        return DCL_OK;
    }
    if (in->run->macro[m].function) {
        dcli_word next;
        bool found;
        dcl_status status = take(in, &next, &found);
        if (status != DCL_OK || !found)
            return status;
        if (!dcli_word_is(&next, "(")) {
            in->held = next;
            in->has_held = true;
            return DCL_OK;
        }
    }
    *replaced_out = true;
    return call(in, m, word);
}

static dcl_status expand_input(struct input *in, dcli_words *out)
{
    for (;;) {
        dcli_word word;
        bool found, replaced = false;
        dcl_status status = take(in, &word, &found);
        if (status != DCL_OK || !found)
            return status;
        int m = word.kind == DCLI_WORD_NAME && !word.painted ? find_macro(in->run, &word) : -1;
        if (m >= 0 && in->run->macro[m].defined)
            status = replace(in, m, &word, &replaced);
        if (status == DCL_OK && !replaced)
            status = dcli_words_add(out, &word);
        if (status != DCL_OK)
            return status;
    }
}

/* ---- runs --------------------------------------------------------------------------------------------------------- */

static void reset(struct run *run)
{
    for (int64_t b = 0; b < run->blocks; b++)
        dcli_free(run->block[b]);
    run->blocks = run->macros = run->at = run->out.count = 0;
    memset(run->bucket, 0, sizeof run->bucket);
    run->choices = run->conditions = run->depth = 0;
    run->first_step = run->steps;
    run->in_body = false;
}

static dcl_status expand_once(struct run *run)
{
    struct input in = {.run = run, .from_text = true};
    reset(run);
    dcl_status status = expand_input(&in, &run->out);
    run->body = run->out.count;
    if (status == DCL_OK) {
        enter_body(run);
        status = expand_input(&in, &run->out);
    }
    dcli_free(in.source);
    return status == DCL_OK ? run->expansion->check(run->expansion->user, &run->out, run->body) : status;
}

/* Choose the next combination of branches, the last choice changing fastest. @return false: all have been tried. */
static bool choose_next(struct run *run)
{
    while (run->choice_count > 0) {
        struct choice *last = &run->choice[run->choice_count - 1];
        if (++last->taken < last->options)
            return true;
        run->choice_count--;
    }
    return false;
}

dcl_status dcli_expand(const dcli_expansion *expansion)
{
    struct run *run = dcli_calloc(1, sizeof *run);
    if (run == NULL)
        return DCL_ERR_NOMEM;
    run->expansion = expansion;
    dcl_status status = DCL_OK;
    do
        status = expand_once(run);
    while (status == DCL_OK && choose_next(run));
    reset(run);
    dcli_words_free(&run->out);
    dcli_free(run->macro);
    dcli_free(run->block);
    dcli_free(run);
    return status;
}
