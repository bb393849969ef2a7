/* device/select.c - parse a selection of devices: "all", "cpu", "gpu" or "0,2". */
#include "device/device.h"
#include "device/opencl.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/config.h"
#include "base/error.h"

enum { MOST = 256, WORD_BYTES = 24 };

/* The devices found and the numbers chosen so far. */
struct choice {
    dcl_device_info info[MOST];
    int device_count;
    int number[MOST];
    int count;
};

static bool is_of_kind(const dcl_device_info *info, const char *kind)
{
    if (strcmp(kind, "all") == 0)
        return true;
    if (strcmp(kind, "default") == 0)
        return info->is_default;
    bool gpu = strcmp(info->kind, "gpu") == 0 || strcmp(info->kind, "accelerator") == 0;
    return strcmp(kind, "gpu") == 0 ? gpu : strcmp(info->kind, kind) == 0;
}

static dcl_status choose_kind(struct choice *choice, const char *kind)
{
    for (int n = 0; n < choice->device_count; n++)
        if (is_of_kind(&choice->info[n], kind))
            choice->number[choice->count++] = n;
    if (choice->count > 0)
        return DCL_OK;
    if (strcmp(kind, "default") == 0)
        return DCLI_FAIL(DCL_ERR_DEVICE,
                         "none of the %d OpenCL devices of this host is a GPU, an accelerator or a CPU; expected one; "
                         "name devices by number (DCL_DEVICES=0), see \"dcl devices\"",
                         choice->device_count);
    return DCLI_FAIL(DCL_ERR_INVALID,
                     "devices is \"%s\", but none of the %d devices of this host is of that kind; expected a kind that "
                     "\"dcl devices\" lists, \"all\", or numbers separated by commas",
                     kind, choice->device_count);
}

static dcl_status choose_number(struct choice *choice, const char *word, const char *selection)
{
    size_t digits = strspn(word, "0123456789");
    if (digits == 0 || word[digits] != '\0')
        return DCLI_FAIL(DCL_ERR_INVALID,
                         "devices is \"%s\": found \"%s\"; expected \"all\", \"cpu\", \"gpu\", or numbers as \"dcl "
                         "devices\" lists them, separated by commas, such as \"0,2\"",
                         selection, word);
    long number = digits > 6 ? MOST : strtol(word, NULL, 10);
    if (number >= choice->device_count)
        return DCLI_FAIL(
            DCL_ERR_INVALID,
            "devices is \"%s\": there is no device %s; expected 0..%d, the devices of this host; see \"dcl "
            "devices\"",
            selection, word, choice->device_count - 1);
    for (int n = 0; n < choice->count; n++)
        if (choice->number[n] == number)
            return DCLI_FAIL(DCL_ERR_INVALID,
                             "devices is \"%s\": device %ld is named twice; expected each number once; a device serves "
                             "as one node",
                             selection, number);
    choice->number[choice->count++] = (int)number;
    return DCL_OK;
}

/* The next word between commas, without spaces around it; cut if it is too long for a number. */
static const char *next_word(const char *at, char word_out[WORD_BYTES])
{
    size_t whole = strcspn(at, ","), length = whole;
    const char *end = at + whole;
    while (length > 0 && isspace((unsigned char)*at)) {
        at++;
        length--;
    }
    while (length > 0 && isspace((unsigned char)at[length - 1]))
        length--;
    snprintf(word_out, WORD_BYTES, "%.*s", (int)(length < WORD_BYTES ? length : WORD_BYTES - 1), at);
    return *end == ',' ? end + 1 : NULL;
}

static dcl_status choose(struct choice *choice, const char *selection)
{
    char word[WORD_BYTES];
    const char *rest = selection == NULL ? NULL : next_word(selection, word);
    if (selection == NULL)
        return choose_kind(choice, "default");
    if (rest == NULL && (strcmp(word, "all") == 0 || strcmp(word, "cpu") == 0 || strcmp(word, "gpu") == 0))
        return choose_kind(choice, word);
    dcl_status status = choose_number(choice, word, selection);
    while (status == DCL_OK && rest != NULL) {
        rest = next_word(rest, word);
        status = choose_number(choice, word, selection);
    }
    return status;
}

/* Report that there are no devices; PoCL has none if it cannot write its cache. */
static dcl_status fail_without_devices(void)
{
    char hints[512], cache[512] = "";
    if (dcli_cache_check() != DCL_OK)
        snprintf(cache, sizeof cache, "%s; ", dcli_error_sentence());
    dcli_config_hints_of_drivers(hints, sizeof hints);
    return DCLI_FAIL(
        DCL_ERR_DEVICE,
        "%sno OpenCL device on this host%s; install a driver (for CPUs: the package pocl-opencl-icd) and see "
        "\"dcl devices\"",
        cache, hints);
}

dcl_status dcli_device_select(const char *selection, int capacity, int numbers_out[], int *count_out)
{
    struct choice *choice = dcli_calloc(1, sizeof *choice);
    if (choice == NULL)
        return DCL_ERR_NOMEM;
    dcl_status status = dcli_device_enumerate(MOST, choice->info, &choice->device_count);
    if (status == DCL_OK && choice->device_count == 0)
        status = fail_without_devices();
    if (status == DCL_OK)
        status = choose(choice, selection);
    if (status == DCL_OK) {
        for (int n = 0; n < choice->count && n < capacity; n++)
            numbers_out[n] = choice->number[n];
        *count_out = choice->count;
    }
    dcli_free(choice);
    return status;
}
