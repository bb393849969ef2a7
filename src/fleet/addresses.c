/* fleet/addresses.c - parsing DCL_WORKERS and host files. */
#include "fleet/addresses.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "net/wire_address.h"

static const char form[] = "expected local:N, addresses such as tcp://host:7700,tcp://other:7700, or a file with one "
                           "address per line";

static int add(const char *text, size_t length, int count, dcli_worker_address list[])
{
    dcli_address address;
    if (count == DCLI_MOST_CALLS) {
        DCLI_FAIL(DCL_ERR_INVALID, "more than %d workers are named; expected at most so many", DCLI_MOST_CALLS);
        return -1;
    }
    if (length > DCLI_MOST_ADDRESS) {
        DCLI_FAIL(DCL_ERR_INVALID, "an address of %zu bytes is named; expected at most %d", length, DCLI_MOST_ADDRESS);
        return -1;
    }
    dcli_worker_address *entry = &list[count];
    memcpy(entry->text, text, length);
    entry->text[length] = '\0';
    entry->key[0] = '\0';
    if (dcli_address_parse(entry->text, DCLI_TO_CALL, &address) != DCL_OK)
        return -1;
    for (int n = 0; n < count; n++)
        if (strcmp(list[n].text, entry->text) == 0) {
            DCLI_FAIL(DCL_ERR_INVALID, "%s is named twice; expected each worker once", entry->text);
            return -1;
        }
    return count + 1;
}

static int read_list(const char *workers, dcli_worker_address list[])
{
    int count = 0;
    for (const char *at = workers; count >= 0;) {
        size_t length = strcspn(at, ",");
        count = add(at, length, count, list);
        if (at[length] == '\0')
            break;
        at += length + 1;
    }
    return count;
}

/* Prefix an error of a host file with the file's name and line. */
static int fail_at(const char *path, int line)
{
    char sentence[DCLI_ERROR_BYTES];
    snprintf(sentence, sizeof sentence, "%s", dcli_error_sentence());
    DCLI_FAIL(dcli_error_status(), "%s, line %d: %s", path, line, sentence);
    return -1;
}

static char *trim(char *text)
{
    while (isspace((unsigned char)*text))
        text++;
    size_t length = strlen(text);
    while (length > 0 && isspace((unsigned char)text[length - 1]))
        text[--length] = '\0';
    return text;
}

static int read_line(char *line, int count, dcli_worker_address list[])
{
    char key[DCLI_KEY_Z85];
    line[strcspn(line, "#")] = '\0';
    line = trim(line);
    if (*line == '\0')
        return count;
    size_t length = strcspn(line, " \t");
    count = add(line, length, count, list);
    char *rest = trim(line + length);
    if (count < 0 || *rest == '\0')
        return count;
    if (strncmp(rest, "key=", 4) != 0) {
        DCLI_FAIL(DCL_ERR_FILE, "\"%s\" stands behind an address; expected key= and 64 hexadecimal digits, or nothing",
                  rest);
        return -1;
    }
    if (dcli_key_parse(rest + 4, key) != DCL_OK)
        return -1;
    snprintf(list[count - 1].key, sizeof list[count - 1].key, "%s", rest + 4);
    return count;
}

static int read_file(const char *path, dcli_worker_address list[])
{
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        DCLI_FAIL(DCL_ERR_FILE, "DCL_WORKERS is \"%s\", which is no file that can be read (%s); %s", path,
                  strerror(errno), form);
        return -1;
    }
    char *line = NULL; /* allocated and grown by getline() */
    size_t bytes = 0;
    int count = 0, number = 0;
    while (count >= 0 && getline(&line, &bytes, file) >= 0) {
        number++;
        count = read_line(line, count, list);
        if (count < 0)
            count = fail_at(path, number);
    }
    bool failed = ferror(file) != 0;
    free(line);
    fclose(file);
    if (count > 0 && !failed)
        return count;
    if (count == 0 || failed)
        DCLI_FAIL(DCL_ERR_FILE, "%s %s; expected a file with one address such as tcp://host:7700 per line", path,
                  failed ? "cannot be read" : "names no worker");
    return -1;
}

int dcli_addresses_read(const char *workers, dcli_worker_address list_out[])
{
    if (strncmp(workers, "tcp://", 6) == 0)
        return read_list(workers, list_out);
    if (strstr(workers, "://") != NULL || workers[0] == '\0') {
        DCLI_FAIL(DCL_ERR_INVALID, "DCL_WORKERS is \"%s\"; %s", workers, form);
        return -1;
    }
    return read_file(workers, list_out);
}
