/* base/config.c - settings from the environment. No other file reads DCL's variables. */
#include "base/config.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/error.h"
#include "base/log.h"
#include "base/sized.h"

extern char **environ;

enum kind { TEXT, CHOICE, SIZE, COUNT, SWITCH };

struct row {
    const char *name; /* name of the variable without DCL_ */
    enum kind kind;
    size_t field; /* offset of the field in dcl_config */
    const char *standard;
    const char *choices; /* CHOICE: the allowed values, separated by '|' */
    size_t least, most;  /* SIZE, COUNT: the smallest and the largest allowed value */
    const char *meaning;
};

#define FIELD(f) offsetof(dcl_config, f)

static const struct row rows[] = {
    {"DEVICES", TEXT, FIELD(devices), NULL, NULL, 0, 0,
     "devices that serve as nodes: all, cpu, gpu, or numbers of `dcl devices` separated by commas"},
    {"WORKERS", TEXT, FIELD(workers), NULL, NULL, 0, 0,
     "processes that serve the nodes: local:N, tcp://host:port,..., or a file of such lines; default: threads"},
    {"MAP", TEXT, FIELD(map), NULL, NULL, 0, 0, "map of arrays that are given none, e.g. rows:cyclic(1024x1024)"},
    {"TRANSFER", CHOICE, FIELD(transfer), "auto", "auto|place|slots|send", 0, 0,
     "how elements reach another node: read in place, through shared memory, in messages; or the best for each pair"},
    {"LOG", CHOICE, FIELD(log), "off", "off|warn|info|debug", 0, 0, "log lines on standard error"},
    {"TILE_BYTES", SIZE, FIELD(tile_bytes), "16M", NULL, 64, (size_t)1 << 40, "size aimed at for one tile"},
    {"BLOCK_BYTES", SIZE, FIELD(block_bytes), "4M", NULL, 1, (size_t)1 << 40,
     "size aimed at for one block, the grain in which movement is counted"},
    {"CHUNK_BYTES", SIZE, FIELD(chunk_bytes), "4M", NULL, 64, (size_t)1 << 30,
     "most bytes in one message of data; over tcp at most 1 MB"},
    {"KEPT_BYTES", SIZE, FIELD(kept_bytes), "1G", NULL, 0, (size_t)1 << 50, "maximum memory per node for replicas"},
    {"POOL_BYTES", SIZE, FIELD(pool_bytes), "1G", NULL, 4096, (size_t)1 << 50,
     "memory per node for data that arrives from other nodes"},
    {"SMALL_BYTES", SIZE, FIELD(small_bytes), "16K", NULL, 0, (size_t)1 << 50,
     "without a map, smaller arrays stay on one node"},
    {"LINES", COUNT, FIELD(lines), "32", NULL, 0, 65536,
     "most lines around its part of a large array that a node stores, for time loops; 0: none but those of maps"},
    {"WINDOW", COUNT, FIELD(window), "1024", NULL, 1, 1000000,
     "maximum number of operations that are started and not yet complete"},
    {"KEYS", TEXT, FIELD(keys), NULL, NULL, 0, 0, "folder with this program's keys, as `dcl keys` makes it"},
    {"TOKEN", TEXT, FIELD(token), NULL, NULL, 0, 0,
     "file with the token of a worker of this host that has no keys; by default where `dcl worker` puts it"},
    {"PROGRAM", TEXT, FIELD(program), NULL, NULL, 0, 0,
     "the dcl command that worker processes are started with; by default the one installed with the library"},
    {"FILES", CHOICE, FIELD(files), "auto", "auto|direct|stream", 0, 0,
     "whether nodes read and write files themselves, or this program does it for them"},
    {"SILENCE_MS", COUNT, FIELD(silence_ms), "30000", NULL, 100, 86400000,
     "milliseconds after which a process that is not heard of is lost"},
    {"BUILD_MS", COUNT, FIELD(build_ms), "600000", NULL, 1, 86400000,
     "most milliseconds one compilation may take before its node is lost"},
    {"KERNEL_MS", COUNT, FIELD(kernel_ms), "3600000", NULL, 1, 864000000,
     "most milliseconds one kernel may take before its node is lost"},
    {"PLAN_MS", COUNT, FIELD(plan_ms), "600000", NULL, 1, 86400000,
     "most milliseconds that planning one operation may take before its worker process is lost"},
    {"QUOTA_BYTES", SIZE, FIELD(quota_bytes), "0", NULL, 0, (size_t)1 << 60,
     "most bytes of arrays, replicas, stages and plans per worker process; 0: its share of device and control group"},
    {"SPARE", COUNT, FIELD(spare), "4", NULL, 0, 128, "numbers kept free for nodes that join later"},
    {"FANOUT", COUNT, FIELD(fanout), "16", NULL, 1, 256,
     "with more nodes than this, descriptors go down a tree of so many children each"},
    {"IO_THREADS", COUNT, FIELD(io_threads), "2", NULL, 1, 64, "threads per process that send between hosts"},
    {"WAIT_MS", COUNT, FIELD(wait_ms), "0", NULL, 0, 864000000,
     "most milliseconds that a call waits for operations, which then fails; 0: as long as it takes"},
    {"CHECK", CHOICE, FIELD(check), "off", "off|access", 0, 0,
     "access: kernels check everything they read and write against what was planned; for finding errors"},
    {"TRACE", TEXT, FIELD(trace), NULL, NULL, 0, 0,
     "file for a record of what every node did and when, in the format of Chrome and Perfetto; `dcl trace` reads it"},
    {"TRACE_BYTES", SIZE, FIELD(trace_bytes), "16M", NULL, 4096, (size_t)1 << 30,
     "memory per node for that record; when it is full, the oldest events are dropped"},
    {"PIN", SWITCH, FIELD(pin), "0", NULL, 0, 0, "1: each process of local:N runs on one processor, taken in turn"},
    {"STEAL", CHOICE, FIELD(steal), "pays", "never|pays|always|pays,kinds|always,kinds", 0, 0,
     "whether idle nodes run batches of other nodes; pays: between processors only; kinds: between all devices"},
    {"SYNC", SWITCH, FIELD(sync), "0", NULL, 0, 0, "1: every call waits for its end; for finding errors"},
};

/* Former names of variables, for the error message. */
static const struct {
    const char *old, *now;
} renamed[] = {{"MOVE", "TRANSFER"}};

/* The variable for fault injection in tests: it is not a setting of programs, and not listed. */
static const char fault_name[] = "DCL_FAULT";

enum { ROW_COUNT = sizeof rows / sizeof rows[0] };

static void *field_of(dcl_config *config, const struct row *row) { return (char *)config + row->field; }

static bool is_one_of(const char *choices, const char *value)
{
    size_t length = strlen(value);
    for (const char *at = choices; at != NULL && length > 0;) {
        const char *end = strchr(at, '|');
        size_t word = end != NULL ? (size_t)(end - at) : strlen(at);
        if (word == length && memcmp(at, value, length) == 0)
            return true;
        at = end != NULL ? end + 1 : NULL;
    }
    return false;
}

/* A number with an optional unit K, M, G or T (powers of 1024). */
static bool parse_size(const char *text, bool units, size_t *out)
{
    if (!isdigit((unsigned char)text[0]))
        return false;
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (errno != 0)
        return false;
    static const char letters[] = "KMGT";
    const char *unit = units && *end != '\0' ? strchr(letters, toupper((unsigned char)*end)) : NULL;
    if (unit != NULL) {
        for (long n = unit - letters; n >= 0; n--)
            if (__builtin_mul_overflow(value, 1024ULL, &value))
                return false;
        end++;
    }
    *out = (size_t)value;
    return *end == '\0';
}

static dcl_status check_size(const struct row *row, size_t value)
{
    if (value < row->least || value > row->most)
        return DCLI_FAIL(DCL_ERR_INVALID, "DCL_%s is %zu; expected %zu..%zu: %s", row->name, value, row->least,
                         row->most, row->meaning);
    return DCL_OK;
}

static dcl_status set(dcl_config *config, const struct row *row, const char *value)
{
    void *field = field_of(config, row);
    size_t number;
    switch (row->kind) {
    case TEXT: /* an exported but empty variable counts as not set */
        *(const char **)field = value[0] != '\0' ? value : NULL;
        return DCL_OK;
    case CHOICE:
        if (value == NULL || !is_one_of(row->choices, value))
            return DCLI_FAIL(DCL_ERR_INVALID, "DCL_%s is \"%s\"; expected one of %s: %s", row->name,
                             value != NULL ? value : "(null)", row->choices, row->meaning);
        *(const char **)field = value;
        return DCL_OK;
    case SIZE:
    case COUNT:
        if (!parse_size(value, row->kind == SIZE, &number))
            return DCLI_FAIL(DCL_ERR_INVALID, "DCL_%s is \"%s\"; expected a whole number%s such as %s: %s", row->name,
                             value, row->kind == SIZE ? ", with K, M, G or T if you like," : "", row->standard,
                             row->meaning);
        *(size_t *)field = number;
        return check_size(row, number);
    case SWITCH:
        if (strcmp(value, "0") != 0 && strcmp(value, "1") != 0)
            return DCLI_FAIL(DCL_ERR_INVALID, "DCL_%s is \"%s\"; expected 0 or 1: %s", row->name, value, row->meaning);
        *(bool *)field = value[0] == '1';
        return DCL_OK;
    }
    return DCL_OK;
}

void dcli_config_defaults(dcl_config *config_out)
{
    *config_out = (dcl_config){.struct_size = sizeof *config_out};
    for (int r = 0; r < ROW_COUNT; r++)
        if (rows[r].standard != NULL)
            set(config_out, &rows[r], rows[r].standard);
}

/* Levenshtein distance between two short words, for "did you mean". */
static int distance(const char *a, size_t a_length, const char *b)
{
    enum { MOST = 40 };
    size_t b_length = strlen(b);
    if (a_length > MOST || b_length > MOST)
        return MOST;
    int row[MOST + 1];
    for (size_t y = 0; y <= b_length; y++)
        row[y] = (int)y;
    for (size_t x = 1; x <= a_length; x++) {
        int diagonal = row[0];
        row[0] = (int)x;
        for (size_t y = 1; y <= b_length; y++) {
            int substituted = diagonal + (a[x - 1] != b[y - 1]);
            diagonal = row[y];
            int shorter = row[y] < row[y - 1] ? row[y] + 1 : row[y - 1] + 1;
            row[y] = substituted < shorter ? substituted : shorter;
        }
    }
    return row[b_length];
}

static dcl_status read_variable(dcl_config *config, const char *entry)
{
    const char *name = entry + 4, *equals = strchr(entry, '=');
    size_t length = (size_t)(equals - name);
    int nearest = 0;
    for (size_t r = 0; r < sizeof renamed / sizeof renamed[0]; r++)
        if (strlen(renamed[r].old) == length && memcmp(renamed[r].old, name, length) == 0)
            return DCLI_FAIL(DCL_ERR_INVALID,
                             "environment variable DCL_%s is now DCL_%s, with the same values; rename or unset it",
                             renamed[r].old, renamed[r].now);
    for (int r = 0; r < ROW_COUNT; r++) {
        if (strlen(rows[r].name) == length && memcmp(rows[r].name, name, length) == 0)
            return set(config, &rows[r], equals + 1);
        if (distance(name, length, rows[r].name) < distance(name, length, rows[nearest].name))
            nearest = r;
    }
    return DCLI_FAIL(DCL_ERR_INVALID,
                     "environment variable DCL_%.*s is not known; the nearest is DCL_%s (%s); correct or unset it",
                     (int)length, name, rows[nearest].name, rows[nearest].meaning);
}

static bool is_variable(const char *entry, const char *name)
{
    size_t length = strlen(name);
    return strncmp(entry, name, length) == 0 && entry[length] == '=';
}

dcl_status dcl_config_read_sized(dcl_config *config_out, size_t config_bytes)
{
    dcli_error_enter("dcl_config_read");
    if (config_out == NULL)
        return DCLI_FAIL(DCL_ERR_INVALID, "config_out is NULL; expected a dcl_config to fill");
    dcl_status fits = dcli_size_check("config_bytes", "dcl_config", config_bytes, sizeof *config_out);
    if (fits != DCL_OK)
        return fits;
    dcl_config config;
    dcli_config_defaults(&config);
    for (char **entry = environ; entry != NULL && *entry != NULL; entry++)
        if (strncmp(*entry, "DCL_", 4) == 0 && strchr(*entry, '=') != NULL && !is_variable(*entry, fault_name)) {
            dcl_status status = read_variable(&config, *entry);
            if (status != DCL_OK)
                return status;
        }
    config.struct_size = config_bytes;
    memcpy(config_out, &config, config_bytes);
    return DCL_OK;
}

dcl_status dcl_config_print(const dcl_config *config, FILE *file)
{
    dcli_error_enter(__func__);
    dcl_config complete;
    dcl_status status = dcli_config_check(config, &complete);
    if (status != DCL_OK)
        return status;
    if (file == NULL)
        return DCLI_FAIL(DCL_ERR_INVALID, "file is NULL; expected an open file such as stdout");
    for (int r = 0; r < ROW_COUNT; r++) {
        const struct row *row = &rows[r];
        const void *field = field_of(&complete, row);
        fprintf(file, "DCL_%-12s = ", row->name);
        if (row->kind == TEXT || row->kind == CHOICE)
            fprintf(file, "%-10s", *(const char *const *)field != NULL ? *(const char *const *)field : "-");
        else if (row->kind == SWITCH)
            fprintf(file, "%-10d", *(const bool *)field);
        else
            fprintf(file, "%-10zu", *(const size_t *)field);
        fprintf(file, "  # %s\n", row->meaning);
    }
    return DCL_OK;
}

dcl_status dcli_config_check(const dcl_config *config, dcl_config *complete_out)
{
    if (config == NULL)
        return DCLI_FAIL(DCL_ERR_INVALID, "config is NULL; expected one filled by dcl_config_read()");
    if (config->struct_size < sizeof config->struct_size || config->struct_size > sizeof *config)
        return DCLI_FAIL(DCL_ERR_INVALID,
                         "config.struct_size is %zu; expected at most %zu; fill the struct with dcl_config_read() and "
                         "build against the headers of the library that is loaded (%s)",
                         config->struct_size, sizeof *config, DCL_VERSION);
    dcl_config complete;
    dcli_config_defaults(&complete);
    memcpy(&complete, config, config->struct_size);
    complete.struct_size = sizeof complete;
    for (int r = 0; r < ROW_COUNT; r++) {
        const struct row *row = &rows[r];
        dcl_status status = DCL_OK;
        if (row->kind == CHOICE && *(const char **)field_of(&complete, row) == NULL)
            status = set(&complete, row, row->standard);
        else if (row->kind == CHOICE)
            status = set(&complete, row, *(const char **)field_of(&complete, row));
        else if (row->kind == SIZE || row->kind == COUNT)
            status = check_size(row, *(const size_t *)field_of(&complete, row));
        if (status != DCL_OK)
            return status;
    }
    *complete_out = complete;
    return DCL_OK;
}

int dcli_config_log_level(const dcl_config *config)
{
    static const char *const names[] = {"off", "warn", "info", "debug"};
    for (int level = 0; level < 4; level++)
        if (config->log != NULL && strcmp(config->log, names[level]) == 0)
            return level;
    return DCLI_LOG_OFF;
}

static const char *variable(const char *name)
{
    for (char **entry = environ; entry != NULL && *entry != NULL; entry++)
        if (is_variable(*entry, name))
            return *entry + strlen(name) + 1;
    return NULL;
}

const char *dcli_config_fault(void)
{
    const char *fault = variable(fault_name);
    return fault != NULL && fault[0] != '\0' ? fault : NULL;
}

void dcli_config_hints_of_drivers(char *text_out, size_t capacity)
{
    static const char *const names[] = {"OCL_ICD_VENDORS", "OCL_ICD_FILENAMES", "POCL_DEVICES", "POCL_CACHE_DIR",
                                        "CUDA_VISIBLE_DEVICES"};
    size_t used = 0;
    text_out[0] = '\0';
    for (size_t n = 0; n < sizeof names / sizeof names[0] && used < capacity; n++)
        if (variable(names[n]) != NULL)
            used += (size_t)snprintf(text_out + used, capacity - used, "%s%s is \"%.100s\"", used > 0 ? " and " : "; ",
                                     names[n], variable(names[n]));
    if (used > 0 && used < capacity)
        snprintf(text_out + used, capacity - used, ", which may hide it: correct or unset");
}

void dcli_config_pocl_cache(char *folder_out, size_t capacity)
{
    const char *own = variable("POCL_CACHE_DIR"), *cache = variable("XDG_CACHE_HOME"), *home = variable("HOME");
    if (own != NULL && own[0] != '\0')
        snprintf(folder_out, capacity, "%s", own);
    else if (cache != NULL && cache[0] != '\0')
        snprintf(folder_out, capacity, "%s/pocl/kcache", cache);
    else if (home != NULL && home[0] != '\0')
        snprintf(folder_out, capacity, "%s/.cache/pocl/kcache", home);
    else
        snprintf(folder_out, capacity, "/tmp/pocl/kcache");
}

dcli_steal dcli_config_steal(const dcl_config *config)
{
    const char *value = config->steal != NULL ? config->steal : "pays";
    dcli_steal steal = {.policy = strncmp(value, "pays", 4) == 0     ? DCL_STEAL_PAYS
                                  : strncmp(value, "always", 6) == 0 ? DCL_STEAL_ALWAYS
                                                                     : DCL_STEAL_NEVER,
                        .kinds = strstr(value, ",kinds") != NULL};
    return steal;
}

const char *dcli_steal_name(dcli_steal steal)
{
    if (!dcli_steal_lends(steal))
        return "never";
    if (steal.policy == DCL_STEAL_PAYS)
        return steal.kinds ? "pays,kinds" : "pays";
    return steal.kinds ? "always,kinds" : "always";
}

bool dcli_config_checks_access(const dcl_config *config)
{
    return config->check != NULL && strcmp(config->check, "access") == 0;
}
