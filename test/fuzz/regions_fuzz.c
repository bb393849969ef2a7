/* fuzz/regions_fuzz.c - how `dcl loops` reads and writes programs. An input is the text of a program. */
#include <stdlib.h>
#include <string.h>

#include "cli/region.h"
#include "fuzz/input.h"

enum { MOST_REGIONS = 8 };

struct found {
    const cli_source *source;
    int count;
    cli_region region[MOST_REGIONS];
};

static void keep(void *user, const cli_region *region, const cli_constants *constants)
{
    struct found *found = user;
    cli_number number;
    for (int a = 0; a < region->array_count; a++)
        for (int d = 0; d < region->array[a].rank; d++)
            cli_number_of(constants, region->array[a].extent[d].token, region->array[a].extent[d].count, &number);
    fuzz_demand(region->text >= found->source->text && region->length >= 0 &&
                    region->text + region->length <= region->end->start,
                "the text of a region is elsewhere");
    if (found->count == MOST_REGIONS)
        free(region->clause);
    else
        found->region[found->count++] = *region;
}

/* Every token is a part of the text, behind the one before. */
static void check_tokens(const cli_source *source)
{
    const char *at = source->text;
    for (int t = 0; t < source->count; t++) {
        const cli_token *token = &source->token[t];
        fuzz_demand(token->start >= at && token->line >= 1 && token->column >= 1, "tokens overlap");
        fuzz_demand((token->length > 0) == (token->kind != CLI_TOKEN_END), "a token is empty");
        at = token->start + token->length;
    }
    fuzz_demand(at <= source->text + strlen(source->text), "a token is beyond the text");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1), *written = NULL; /* of its own length, so that an access behind it is seen */
    size_t bytes = 0;
    memcpy(text, data, size);
    text[size] = '\0';
    cli_source source;
    cli_source_cut("a \"program\".c", text, &source);
    check_tokens(&source);
    struct found found = {.source = &source};
    int regions = cli_regions_find(&source, keep, &found);
    fuzz_demand(found.count <= regions, "more regions than there are");
    fuzz_demand(found.count == regions || source.errors > 0 || regions > MOST_REGIONS,
                "a region is lost without an error");
    FILE *out = open_memstream(&written, &bytes);
    cli_regions_write(out, &source, found.count, found.region);
    fclose(out);
    fuzz_demand(bytes > strlen(text) - (found.count > 0 ? strlen(text) : 0), "a part of the program is lost");
    free(written);
    for (int r = 0; r < found.count; r++)
        free(found.region[r].clause);
    cli_source_free(&source);
    free(text);
    return 0;
}
