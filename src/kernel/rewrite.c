/* kernel/rewrite.c - replace the accesses of a body by macro names. */
#include "kernel/rewrite.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

struct writer {
    const char *text;
    dcli_text *out;
    dcli_shift_list *shifts;
    int line, column; /* position, in the rewritten text, of the next byte to be written */
    int user_column;  /* column, in the user's text, of the next byte to be read */
    int at;           /* index of the next byte to be read */
};

static void note(struct writer *w, int length)
{
    if (w->shifts == NULL || w->out->failed)
        return;
    if (dcli_grow(&w->shifts->shift, w->shifts->count, &w->shifts->capacity, sizeof *w->shifts->shift) != 0)
        w->out->failed = true;
    else
        w->shifts->shift[w->shifts->count++] =
            (dcli_shift){.line = w->line, .column = w->column, .length = length, .user_column = w->user_column};
}

static void step_user(struct writer *w)
{
    w->user_column++;
    if (w->text[w->at++] == '\n')
        w->user_column = 1;
}

static void copy_until(struct writer *w, int end)
{
    note(w, 0);
    while (w->at < end) {
        dcli_text_append(w->out, &w->text[w->at], 1);
        bool new_line = w->text[w->at] == '\n';
        step_user(w);
        w->column = new_line ? 1 : w->column + 1;
        w->line += new_line;
    }
}

/* Write a name in place of the user's bytes up to `end`. Line breaks among them are kept, so that line numbers do not
 * change. */
static void replace_until(struct writer *w, int end, const char *name)
{
    note(w, (int)strlen(name));
    dcli_text_put(w->out, "%s", name);
    w->column += (int)strlen(name);
    while (w->at < end) {
        if (w->text[w->at] == '\n') {
            dcli_text_append(w->out, "\n", 1);
            w->line++;
            w->column = 1;
        }
        step_user(w);
    }
}

/* Apply the edits, from number *edit_in_out on, that come before token `end`. */
static void write_edits(struct writer *w, const struct dcli_body_inside *inside, int end, int64_t *edit_in_out)
{
    for (; *edit_in_out < inside->edit_count && inside->edit[*edit_in_out].first < end; (*edit_in_out)++) {
        const dcli_edit *edit = &inside->edit[*edit_in_out];
        const dcli_token *first = &inside->tokens.token[edit->first], *last = &inside->tokens.token[edit->last];
        copy_until(w, first->start);
        replace_until(w, edit->last < edit->first ? first->start : last->start + last->length, edit->text);
    }
}

/* Rewrite the tokens [first, end). The writer is where the text begins. */
static void rewrite(struct writer *w, const dcli_body *body, int first, int end)
{
    const struct dcli_body_inside *inside = body->inside;
    int64_t edit = 0;
    while (edit < inside->edit_count && inside->edit[edit].first < first)
        edit++;
    for (int64_t p = 0; p < inside->place_count; p++) {
        const dcli_place *place = &inside->place[p];
        bool affine = body->access[place->access].reach == DCLI_REACH_AFFINE;
        if (place->name < first || place->name >= end || (body->along && body->access[place->access].written))
            continue; /* edits replace outputs of reductions along axes */
        const dcli_token *last = &inside->tokens.token[affine ? place->close : place->name];
        char name[24];
        write_edits(w, inside, place->name, &edit);
        snprintf(name, sizeof name, "dcl_a%d", place->access);
        copy_until(w, inside->tokens.token[place->name].start);
        replace_until(w, last->start + last->length, name);
    }
    write_edits(w, inside, end, &edit);
}

void dcli_rewrite(const dcli_body *body, dcli_text *out, dcli_shift_list *shifts)
{
    struct writer w = {.text = body->text, .out = out, .shifts = shifts, .line = 1, .column = 1, .user_column = 1};
    rewrite(&w, body, 0, (int)body->inside->tokens.count);
    copy_until(&w, (int)strlen(body->text));
}

void dcli_rewrite_range(const dcli_body *body, dcli_text *out, int first, int end)
{
    if (first >= end)
        return;
    const dcli_token *token = body->inside->tokens.token;
    struct writer w = {.text = body->text, .out = out, .line = 1, .column = 1, .at = token[first].start};
    rewrite(&w, body, first, end);
    copy_until(&w, token[end - 1].start + token[end - 1].length);
}

int dcli_shift_back(const dcli_shift_list *shifts, int line, int column)
{
    const dcli_shift *found = NULL;
    for (int64_t s = 0; s < shifts->count; s++)
        if (shifts->shift[s].line == line && shifts->shift[s].column <= column)
            found = &shifts->shift[s];
    if (found == NULL)
        return column; /* nothing on this line was replaced */
    return found->length > 0 ? found->user_column : found->user_column + column - found->column;
}
