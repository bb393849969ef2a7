/* icd/include.c - finding and reading files that a program includes.
 *
 * A program finds its headers in folders of its own host. The server has no such files: each file that is found becomes a
 * program of its own there, and its name in the text that is sent becomes that of net/include.h. */
#include "icd/include.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "net/include.h"

enum { MOST_FILE = 16 << 20, MOST_PATH = 4096 };

/* ---- options ---- */

/* Read one option, which ends with a space outside quotes. @return where the next one begins. */
static const char *read_option(const char *at, char *option_out)
{
    bool quoted = false;
    for (; *at != '\0' && (quoted || strchr(" \t\n", *at) == NULL); at++) {
        if (*at == '"')
            quoted = !quoted;
        else
            *option_out++ = *at;
    }
    *option_out = '\0';
    return at + strspn(at, " \t\n");
}

static bool add_folder(icd_bundle *bundle, const char *path)
{
    if (bundle->folder_count == ICD_MOST_FOLDERS) {
        bundle->too_many = true;
        return true;
    }
    char *copy = dcli_strdup(path);
    if (copy != NULL)
        bundle->folder[bundle->folder_count++] = copy;
    return copy != NULL;
}

/* Take the options -I out of the options and record their folders. Record the macros of -D and -U, which stay. */
static bool take_folders(icd_bundle *bundle, const char *options)
{
    char *option = dcli_malloc(strlen(options) + 1), *kept = bundle->options = dcli_calloc(strlen(options) + 1, 1);
    bool done = option != NULL && kept != NULL && add_folder(bundle, ".");
    for (const char *at = options + strspn(options, " \t\n"), *next; done && *at != '\0'; at = next) {
        next = read_option(at, option);
        if (strncmp(option, "-I", 2) == 0) {
            if (option[2] == '\0')
                next = read_option(next, option + 2);
            done = add_folder(bundle, option + 2);
            continue;
        }
        if (option[0] == '-' && (option[1] == 'D' || option[1] == 'U')) {
            bool defines = option[1] == 'D';
            if (option[2] == '\0')
                next = read_option(next, option + 2);
            if (defines)
                done = icd_macro_define(&bundle->macros, option + 2);
            else
                icd_macro_undefine(&bundle->macros, option + 2);
        }
        memcpy(kept, at, (size_t)(next - at));
        kept += next - at;
    }
    dcli_free(option);
    return done;
}

/* ---- files ---- */

static char *read_file(const char *path)
{
    struct stat about;
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    char *text = NULL;
    if (file < 0)
        return NULL;
    if (fstat(file, &about) == 0 && S_ISREG(about.st_mode) && about.st_size <= MOST_FILE &&
        (text = dcli_calloc((size_t)about.st_size + 2, 1)) != NULL) {
        ssize_t length = read(file, text, (size_t)about.st_size);
        if (length <= 0)
            text[0] = '\n'; /* an empty file */
    }
    close(file);
    return text;
}

/* Find a file, or add it. @return its number; -1: there is none; -2: no memory. */
static int find_file(icd_bundle *bundle, const char *folder, const char *name)
{
    char path[MOST_PATH];
    int length = snprintf(path, sizeof path, "%s%s%s", folder, folder[0] != '\0' ? "/" : "", name);
    if (length < 0 || length >= (int)sizeof path || access(path, R_OK) != 0)
        return -1;
    char *whole = realpath(path, NULL);
    for (int h = 0; whole != NULL && h < bundle->count; h++)
        if (bundle->header[h].path != NULL && strcmp(bundle->header[h].path, whole) == 0) {
            free(whole);
            return h;
        }
    char *text = whole != NULL ? read_file(whole) : NULL;
    bool full = bundle->count == ICD_MOST_HEADERS;
    bundle->too_many |= full && text != NULL;
    char *copy = text != NULL && !full ? dcli_strdup(whole) : NULL;
    free(whole);
    if (copy == NULL) {
        dcli_free(text);
        return text != NULL && !full ? -2 : -1;
    }
    bundle->header[bundle->count] = (icd_header){.path = copy, .text = text};
    return bundle->count++;
}

/* If a line defines a macro without parameters, or undefines one, find what follows its name. @param at  begin of the line.
 * @return NULL: it does not, or not this name. */
static const char *defined_on(const char *at, const char *end, const char *name, size_t length, bool *undefines_out)
{
    const char *const words[] = {"define", "undef"};
    at += strspn(at, " \t");
    if (*at != '#')
        return NULL;
    at += 1 + strspn(at + 1, " \t");
    for (int w = 0; w < 2; w++) {
        size_t word = strlen(words[w]);
        if (strncmp(at, words[w], word) != 0 || strchr(" \t", at[word]) == NULL)
            continue;
        at += word + strspn(at + word, " \t");
        *undefines_out = w == 1;
        bool same = (size_t)(end - at) >= length && strncmp(at, name, length) == 0;
        return same && (at + length == end || strchr(" \t\r", at[length]) != NULL) ? at + length : NULL;
    }
    return NULL;
}

/* Find the body of a macro that the text itself defines before a directive. If it is defined twice with different bodies, or undefined,
 * it depends on conditions that only the compiler knows. @param body_out  [ICD_MOST_EXPANSION] @return false: it is not clear. */
static bool find_definition(const char *text, size_t upto, const char *name, char *body_out)
{
    bool found = false, undefines = false;
    for (const char *line = text, *end; line < text + upto; line = end + 1) {
        if ((end = memchr(line, '\n', (size_t)(text + upto - line))) == NULL)
            break;
        const char *body = defined_on(line, end, name, strlen(name), &undefines);
        if (body == NULL)
            continue;
        while (body < end && strchr(" \t\r", *body) != NULL)
            body++;
        size_t length = (size_t)(end - body);
        while (length > 0 && strchr(" \t\r", body[length - 1]) != NULL)
            length--;
        bool plain = !undefines && length > 0 && length < ICD_MOST_EXPANSION && body[length - 1] != '\\' &&
                     memmem(body, length, "//", 2) == NULL && memmem(body, length, "/*", 2) == NULL;
        if (!plain || (found && (strlen(body_out) != length || strncmp(body_out, body, length) != 0)))
            return false;
        memcpy(body_out, body, length);
        body_out[length] = '\0';
        found = true;
    }
    return found;
}

/* Expand macros in `#include NAME`, to find the file's name: those of the options, or NAME as the text before the directive defines it. */
static void expand_name(const icd_bundle *bundle, const char *source, dcli_include *include)
{
    char text[ICD_MOST_EXPANSION], body[ICD_MOST_EXPANSION];
    if (!icd_macros_expand(&bundle->macros, include->name, text))
        return;
    if (text[0] != '\0' && strcmp(text, include->name) == 0 &&
        find_definition(source, include->begin, include->name, body) && !icd_macros_expand(&bundle->macros, body, text))
        return;
    size_t length = strlen(text);
    char open = text[0], close = open == '<' ? '>' : '"';
    if ((open != '"' && open != '<') || length < 3 || length > DCLI_MOST_INCLUDE || text[length - 1] != close)
        return;
    include->form = open;
    memcpy(include->name, text + 1, length - 2);
    include->name[length - 2] = '\0';
}

/* Find what a directive names: a header that was given, or a file. @param folder  of the file with it; NULL: none. */
static int resolve(icd_bundle *bundle, const char *folder, const char *source, dcli_include *include)
{
    int found = -1;
    if (include->form == 0)
        expand_name(bundle, source, include);
    if (include->form == 0 || include->name[0] == '\0')
        return -1;
    for (int h = 0; h < bundle->count; h++)
        if (bundle->header[h].name != NULL && strcmp(bundle->header[h].name, include->name) == 0)
            return h;
    if (include->name[0] == '/')
        return find_file(bundle, "", include->name);
    if (folder != NULL && include->form == '"')
        found = find_file(bundle, folder, include->name);
    for (int f = 0; f < bundle->folder_count && found == -1; f++)
        found = find_file(bundle, bundle->folder[f], include->name);
    return found;
}

/* Rename what a text includes. @return the new text; NULL: no memory. */
static char *rename_all(icd_bundle *bundle, const char *folder, const char *text)
{
    enum { LONGEST = 64 };
    size_t length = strlen(text), done = 0, at = 0, capacity = length + 1;
    dcli_include include;
    for (size_t from = 0; dcli_include_next(text, length, from, &include); from = include.end)
        capacity += LONGEST;
    char *out = dcli_malloc(capacity);
    while (out != NULL && dcli_include_next(text, length, done, &include)) {
        int found = include.is_message ? -1 : resolve(bundle, folder, text, &include);
        if (found == -2) {
            dcli_free(out);
            return NULL;
        }
        size_t upto = found >= 0 ? include.begin : include.end;
        memcpy(out + at, text + done, upto - done);
        at += upto - done;
        if (found >= 0)
            at += (size_t)snprintf(out + at, LONGEST, "#include \"" DCLI_INCLUDE_NAME "\"", found);
        for (size_t c = include.begin; found >= 0 && c < include.end; c++)
            if (text[c] == '\n') /* lines keep their numbers */
                out[at++] = '\n';
        done = include.end;
    }
    if (out != NULL)
        memcpy(out + at, text + done, length - done + 1);
    return out;
}

static bool rename_header(icd_bundle *bundle, icd_header *header)
{
    char *folder = header->path != NULL ? dcli_strdup(header->path) : NULL;
    if (folder == NULL && header->path != NULL)
        return false;
    if (folder != NULL) { /* realpath() has made it */
        char *end = strrchr(folder, '/');
        end[end == folder] = '\0';
    }
    char *text = rename_all(bundle, folder, header->text);
    dcli_free(folder);
    if (text == NULL)
        return false;
    dcli_free(header->text);
    header->text = text;
    return true;
}

cl_int icd_bundle_open(const char *source, const char *options, cl_uint given_count, icd_program *const given[],
                       const char *const names[], icd_bundle *bundle_out)
{
    *bundle_out = (icd_bundle){0};
    bool done = take_folders(bundle_out, options);
    for (cl_uint g = 0; g < given_count && done; g++) {
        char *text = dcli_strdup(given[g]->source[0] != '\0' ? given[g]->source : "\n");
        bundle_out->header[bundle_out->count++] = (icd_header){.text = text, .name = names[g]};
        done = text != NULL;
    }
    if (source != NULL && done)
        done = (bundle_out->text = rename_all(bundle_out, NULL, source)) != NULL;
    for (int h = 0; h < bundle_out->count && done; h++) /* others may be added meanwhile */
        done = rename_header(bundle_out, &bundle_out->header[h]);
    return done ? CL_SUCCESS : CL_OUT_OF_HOST_MEMORY;
}

void icd_bundle_close(icd_bundle *bundle)
{
    for (int h = 0; h < bundle->count; h++) {
        dcli_free(bundle->header[h].path);
        dcli_free(bundle->header[h].text);
    }
    for (int f = 0; f < bundle->folder_count; f++)
        dcli_free(bundle->folder[f]);
    icd_macros_free(&bundle->macros);
    dcli_free(bundle->text);
    dcli_free(bundle->options);
}
