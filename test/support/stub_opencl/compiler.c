/* support/stub_opencl/compiler.c - programs as shared libraries. After its kernels, a library has for each kernel K a
 * function stub_run_K, which takes arguments by address and runs all work-items, and a text stub_kinds_K with a letter
 * for each argument: p for a pointer, v for a value. Processes that compile the same text share the library in memory. */
#include "support/stub_opencl/compiler.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static uint64_t hash_of(const char *text)
{
    uint64_t hash = UINT64_C(14695981039346656037); /* FNV-1a */
    for (; *text != '\0'; text++)
        hash = (hash ^ (unsigned char)*text) * UINT64_C(1099511628211);
    return hash;
}

/* Length of a parameter without the name at its end. */
static int type_length(const char *parameter, int length)
{
    while (length > 0 && strchr(" \n", parameter[length - 1]) != NULL)
        length--;
    while (length > 0 &&
           (parameter[length - 1] == '_' || (parameter[length - 1] >= '0' && parameter[length - 1] <= '9') ||
            (parameter[length - 1] >= 'a' && parameter[length - 1] <= 'z') ||
            (parameter[length - 1] >= 'A' && parameter[length - 1] <= 'Z')))
        length--;
    return length;
}

/* Write the function that runs a kernel. @param at  the text after "__kernel void ". */
static void write_runner(FILE *file, const char *at)
{
    int name = (int)strcspn(at, "("), count = 0;
    char kinds[STUB_MOST_ARGUMENTS + 1] = "";
    fprintf(file,
            "\nvoid stub_run_%.*s(void *const a[], const unsigned long n[3])\n{\n"
            "    for (int d = 0; d < 3; d++)\n        stub_size[d] = n[d];\n"
            "    for (stub_id[2] = 0; stub_id[2] < n[2]; stub_id[2]++)\n"
            "        for (stub_id[1] = 0; stub_id[1] < n[1]; stub_id[1]++)\n"
            "            for (stub_id[0] = 0; stub_id[0] < n[0]; stub_id[0]++)\n                %.*s(",
            name, at, name, at);
    for (const char *parameter = at + name + 1; *parameter != '\0';) {
        int length = (int)strcspn(parameter, ",)");
        fprintf(file, "%s*(%.*s *)a[%d]", count > 0 ? ", " : "", type_length(parameter, length), parameter, count);
        kinds[count++] = memchr(parameter, '*', (size_t)length) != NULL ? 'p' : 'v';
        if (parameter[length] != ',' || count == STUB_MOST_ARGUMENTS)
            break;
        parameter += length + 1;
    }
    fprintf(file, ");\n}\nconst char stub_kinds_%.*s[] = \"%s\";\n", name, at, kinds);
}

static bool write_source(const char *path, const char *source)
{
    static const char word[] = "__kernel void ";
    FILE *file = fopen(path, "we");
    if (file == NULL)
        return false;
    fprintf(file, "#include \"%s\"\n#line 1\n%s\n#line 1 \"runners\"\n", STUB_KERNELS_H, source);
    for (const char *at = strstr(source, word); at != NULL; at = strstr(at, word))
        write_runner(file, at += strlen(word));
    return fclose(file) == 0;
}

/* Run the compiler. Its messages go to `log`. */
static bool run_compiler(const char *input, const char *output, const char *log)
{
    char *arguments[] = {"clang",
                         "-x",
                         "c",
                         "-std=gnu11",
                         "-O1",
                         "-w",
                         "-ffp-contract=off",
                         "-shared",
                         "-fPIC",
                         "-nostdlib",
                         "-o",
                         (char *)(uintptr_t)output,
                         (char *)(uintptr_t)input,
                         NULL};
    posix_spawn_file_actions_t actions;
    pid_t pid;
    int state = -1;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 2, log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (posix_spawn(&pid, STUB_COMPILER, &actions, NULL, arguments, environ) == 0)
        while (waitpid(pid, &state, 0) < 0 && errno == EINTR)
            ;
    posix_spawn_file_actions_destroy(&actions);
    return state == 0;
}

static void read_log(const char *path, char log_out[], size_t capacity)
{
    FILE *file = fopen(path, "re");
    size_t length = file != NULL ? fread(log_out, 1, capacity - 1, file) : 0;
    log_out[length] = '\0';
    if (file != NULL)
        fclose(file);
}

/* Compile one program at a time, in all processes. */
static bool make_library(const char *path, const char *source, char log_out[], size_t capacity)
{
    char input[512], output[512], log[512];
    snprintf(input, sizeof input, "%s.c", path);
    snprintf(output, sizeof output, "%s.part", path);
    snprintf(log, sizeof log, "%s.log", path);
    char lock[512];
    snprintf(lock, sizeof lock, "%s/lock", getenv("STUB_OPENCL_CACHE"));
    int fd = open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        return false;
    flock(fd, LOCK_EX);
    bool made = access(path, R_OK) == 0; /* by another process, meanwhile */
    if (!made) {
        made = write_source(input, source) && run_compiler(input, output, log) && rename(output, path) == 0;
        if (!made)
            read_log(log, log_out, capacity);
    }
    close(fd);
    return made;
}

void *stub_compile(const char *source, char log_out[], size_t capacity)
{
    char path[480];
    const char *folder = getenv("STUB_OPENCL_CACHE");
    snprintf(log_out, capacity, "STUB_OPENCL_CACHE is not set; expected a folder for compiled programs");
    if (folder == NULL)
        return NULL;
    snprintf(log_out, capacity, "the compiler %s cannot be run", STUB_COMPILER);
    snprintf(path, sizeof path, "%s/%016" PRIx64 ".so", folder, hash_of(source));
    if (access(path, R_OK) != 0 && !make_library(path, source, log_out, capacity))
        return NULL;
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    snprintf(log_out, capacity, "%s", library == NULL ? dlerror() : "");
    return library;
}

stub_kernel *stub_find(void *library, const char *name, const char **kinds_out)
{
    char symbol[256];
    stub_kernel *kernel = NULL;
    snprintf(symbol, sizeof symbol, "stub_run_%s", name);
    *(void **)&kernel = dlsym(library, symbol);
    snprintf(symbol, sizeof symbol, "stub_kinds_%s", name);
    *kinds_out = dlsym(library, symbol);
    return *kinds_out != NULL ? kernel : NULL;
}
