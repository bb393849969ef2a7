/* runtime/file_way.c - decide who reads and writes files: the nodes if all of them see the program's file, else the
 * host.
 *
 * The host makes a file with a random token beside the file, and the nodes look for it. Names alone say nothing about
 * the file systems of other hosts. */
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "runtime/cluster.h"
#include "store/files.h"

/** The nodes' answer about a folder: whether all of them see it. */
typedef struct dcli_known_folder {
    struct dcli_known_folder *next;
    bool seen;
    char path[]; /* the folder's path, with a final '/' */
} dcli_known_folder;

void dcli_cluster_choose_files(dcl_cluster *cluster, const char *files)
{
    cluster->files.way = strcmp(files, "direct") == 0   ? DCLI_FILES_DIRECT
                         : strcmp(files, "stream") == 0 ? DCLI_FILES_STREAM
                                                        : DCLI_FILES_AUTO;
}

static void forget_from(dcli_known_folder **first)
{
    while (*first != NULL) {
        dcli_known_folder *folder = *first;
        *first = folder->next;
        dcli_free(folder);
    }
}

void dcli_cluster_forget_files(dcl_cluster *cluster) { forget_from(&cluster->files.folders); }

static const dcli_known_folder *find(const dcl_cluster *cluster, const char *path, size_t length)
{
    const dcli_known_folder *folder = cluster->files.folders;
    while (folder != NULL && (strlen(folder->path) != length || memcmp(folder->path, path, length) != 0))
        folder = folder->next;
    return folder;
}

static void remember(dcl_cluster *cluster, const char *path, size_t length, bool seen)
{
    enum { MOST_FOLDERS = 32 };
    dcli_known_folder *folder = dcli_malloc(sizeof *folder + length + 1);
    if (folder == NULL)
        return; /* no memory to cache the answer: the nodes will be asked again */
    *folder = (dcli_known_folder){.next = cluster->files.folders, .seen = seen};
    memcpy(folder->path, path, length);
    folder->path[length] = '\0';
    cluster->files.folders = folder;
    for (int n = 1; n < MOST_FOLDERS && folder->next != NULL; n++)
        folder = folder->next;
    forget_from(&folder->next);
}

/* Ask the nodes about a folder. If the host cannot make a file there, the answer is no: then only the host needs to
 * read from it. */
static dcl_status ask(dcl_cluster *cluster, const char *path, bool *asked_out, bool *seen_out)
{
    char token_path[DCLI_FILES_PATH], token[DCLI_TOKEN_LENGTH + 1];
    dcli_file_id id;
    *asked_out = dcli_files_make_token(path, token_path, token, &id);
    if (!*asked_out)
        return DCL_OK;
    dcl_status status = cluster->files.sees(cluster->worker[cluster->host], token_path, token, &id, seen_out);
    unlink(token_path);
    return status;
}

/* If the answer is not known, ask the nodes; with DCLI_FILES_DIRECT, too, because they learn the file system's device
 * number from the question. */
dcl_status dcli_cluster_sees_files(dcl_cluster *cluster, const char *path, bool *direct_out, bool *named_out)
{
    size_t length = (size_t)(strrchr(path, '/') - path) + 1;
    dcli_file_way way = cluster->files.way;
    bool asked = false, seen = false;
    *named_out = true;
    *direct_out = way != DCLI_FILES_STREAM;
    if (way == DCLI_FILES_STREAM || cluster->files.sees == NULL)
        return DCL_OK;
    const dcli_known_folder *known = find(cluster, path, length);
    if (known != NULL) {
        *direct_out = known->seen || way == DCLI_FILES_DIRECT;
        return DCL_OK;
    }
    pthread_mutex_unlock(&cluster->lock);
    dcl_status status = ask(cluster, path, &asked, &seen);
    pthread_mutex_lock(&cluster->lock);
    if (status != DCL_OK && status != DCL_ERR_TIMEOUT) /* a busy node has not answered: the next call asks again */
        return status;
    if (status == DCL_OK && asked && find(cluster, path, length) == NULL)
        remember(cluster, path, length, seen);
    *direct_out = seen || way == DCLI_FILES_DIRECT;
    *named_out = asked;
    return DCL_OK;
}
