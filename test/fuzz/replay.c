/* fuzz/replay.c - the inputs of a folder through a fuzz target, where there is no libFuzzer: replay FOLDER. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerInitialize(int *count, char ***arguments) __attribute__((weak));
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* In memory of its own length, so that an access behind it is seen. */
static int replay(const char *path)
{
    FILE *file = fopen(path, "rb");
    long length = file != NULL && fseek(file, 0, SEEK_END) == 0 ? ftell(file) : -1;
    uint8_t *bytes = length >= 0 ? malloc(length > 0 ? (size_t)length : 1) : NULL;
    if (bytes == NULL || fseek(file, 0, SEEK_SET) != 0 || fread(bytes, 1, (size_t)length, file) != (size_t)length) {
        perror(path);
        return 1;
    }
    fclose(file);
    printf("%s\n", path);
    fflush(stdout); /* says which one it was */
    LLVMFuzzerTestOneInput(bytes, (size_t)length);
    free(bytes);
    return 0;
}

int main(int count, char *arguments[])
{
    char path[4096];
    int inputs = 0, failed = 0;
    DIR *folder = count == 2 ? opendir(arguments[1]) : NULL;
    if (folder == NULL) {
        fprintf(stderr, "replay: expected the name of a folder with inputs\n");
        return 2;
    }
    if (LLVMFuzzerInitialize != NULL)
        LLVMFuzzerInitialize(&count, &arguments);
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "%s/%s", arguments[1], entry->d_name);
        failed += replay(path);
        inputs++;
    }
    closedir(folder);
    printf("replay: %d inputs\n", inputs);
    return failed > 0 || inputs == 0;
}
