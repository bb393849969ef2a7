/* runtime/serve.c - public functions to offer devices, and to ask workers what they offer. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <dcl/worker.h>

#include "base/alloc.h"
#include "base/check.h"
#include "base/config.h"
#include "base/error.h"
#include "base/handle.h"
#include "base/sized.h"
#include "fleet/serve.h"
#include "fleet/supervisor.h"
#include "fleet/worker_pool.h"
#include "net/keys.h"
#include "runtime/entrance.h"

/* ---- running ------------------------------------------------------------------------------------------------------ */

static atomic_bool stop_wanted;
static atomic_int stop_fd = -1;

void dcl_worker_stop(void)
{
    if (dcli_handle_is_forked())
        return; /* a forked child must not stop the parent's worker */
    int before = errno;
    atomic_store(&stop_wanted, true);
    int fd = atomic_load(&stop_fd);
    if (fd >= 0)
        eventfd_write(fd, 1);
    errno = before;
}

void dcl_worker_defaults_sized(dcl_worker_config *config_out, size_t config_bytes)
{
    const dcl_worker_config defaults = {.struct_size = config_bytes,
                                        .log = "warn",
                                        .most_sessions = 64,
                                        .io_threads = 2,
                                        .contain = "auto",
                                        .most_kernel_ms = 86400000,
                                        .grace_ms = 5000};
    memset(config_out, 0, config_bytes); /* an unknown size is refused later, by dcl_worker_run() */
    memcpy(config_out, &defaults, config_bytes < sizeof defaults ? config_bytes : sizeof defaults);
}

static dcl_status check_ports(const char *what, int first, int last)
{
    enum { LAST_PORT = 65535 };
    if ((first == 0 && last == 0) || (first >= 1 && last <= LAST_PORT && first <= last))
        return DCL_OK;
    return DCLI_FAIL(DCL_ERR_INVALID,
                     "%s are %d-%d; expected two of 1..%d, the smaller one first, or 0 and 0 for the usual ones", what,
                     first, last, LAST_PORT);
}

static dcl_status check_numbers(const dcl_worker_config *config)
{
    enum { MOST_SESSIONS = 1024, MOST_IO_THREADS = 64, MOST_KERNEL_MS = 864000000 };
    if (config->most_sessions < 1 || config->most_sessions > MOST_SESSIONS)
        return DCLI_FAIL(DCL_ERR_INVALID, "most_sessions is %d; expected 1..%d", config->most_sessions, MOST_SESSIONS);
    if (config->most_sessions_per_key < 0 || config->most_sessions_per_key > config->most_sessions)
        return DCLI_FAIL(DCL_ERR_INVALID, "most_sessions_per_key is %d; expected 0..%d, which is most_sessions",
                         config->most_sessions_per_key, config->most_sessions);
    if (config->most_kernel_ms < 1 || config->most_kernel_ms > MOST_KERNEL_MS)
        return DCLI_FAIL(DCL_ERR_INVALID, "most_kernel_ms is %zu; expected 1..%d", config->most_kernel_ms,
                         MOST_KERNEL_MS);
    if (config->io_threads < 1 || config->io_threads > MOST_IO_THREADS)
        return DCLI_FAIL(DCL_ERR_INVALID, "io_threads is %zu; expected 1..%d", config->io_threads, MOST_IO_THREADS);
    dcl_status status = check_ports("ports", config->first_port, config->last_port);
    return status == DCL_OK ? check_ports("peer ports", config->first_peer_port, config->last_peer_port) : status;
}

static dcl_status check_containment(const dcl_worker_config *config)
{
    const char *how = config->contain;
    if (how != NULL && (strcmp(how, "auto") == 0 || strcmp(how, "strict") == 0 || strcmp(how, "off") == 0))
        return DCL_OK;
    return DCLI_FAIL(DCL_ERR_INVALID, "contain is \"%s\"; expected auto, strict or off", how != NULL ? how : "NULL");
}

static dcl_status check(const dcl_worker_config *config, dcl_worker_config *complete_out, dcli_log *log_out)
{
    if (config == NULL)
        return DCLI_FAIL(DCL_ERR_INVALID, "config is NULL; expected one filled by dcl_worker_defaults()");
    if (config->struct_size < sizeof config->struct_size || config->struct_size > sizeof *config)
        return DCLI_FAIL(
            DCL_ERR_INVALID,
            "config.struct_size is %zu; expected at most %zu; fill the struct with dcl_worker_defaults() and "
            "build against the headers of the library that is loaded (%s)",
            config->struct_size, sizeof *config, DCL_VERSION);
    dcl_worker_defaults(complete_out);
    memcpy(complete_out, config, config->struct_size);
    if (complete_out->listen == NULL)
        return DCLI_FAIL(DCL_ERR_INVALID, "listen is NULL; expected an address such as tcp://127.0.0.1:7700");
    dcl_config levels = {.struct_size = sizeof levels, .log = complete_out->log}, checked;
    dcli_config_defaults(&levels);
    if (complete_out->log != NULL)
        levels.log = complete_out->log;
    dcl_status status = dcli_config_check(&levels, &checked);
    if (status != DCL_OK)
        return status;
    *log_out = (dcli_log){.level = dcli_config_log_level(&checked)};
    status = check_numbers(complete_out);
    return status == DCL_OK ? check_containment(complete_out) : status;
}

dcl_status dcl_worker_run(const dcl_worker_config *config)
{
    dcl_worker_config complete;
    dcli_log log;
    dcli_error_enter(__func__);
    dcl_status status = dcli_handle_process();
    if (status == DCL_OK)
        status = check(config, &complete, &log);
    if (status != DCL_OK)
        return status;
    int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), none = -1;
    if (fd < 0 || !atomic_compare_exchange_strong(&stop_fd, &none, fd)) {
        status = fd < 0
                     ? DCLI_FAIL(DCL_ERR_NETWORK, "eventfd: %s; raise the limit of open descriptors", strerror(errno))
                     : DCLI_FAIL(DCL_ERR_INVALID, "dcl_worker_run() runs already in this process; expected once");
        if (fd >= 0)
            close(fd);
        return status;
    }
    if (atomic_load(&stop_wanted))
        eventfd_write(fd, 1);
    status = dcli_supervise(&complete, &log, fd);
    atomic_store(&stop_fd, -1);
    atomic_store(&stop_wanted, false);
    close(fd);
    return status;
}

dcl_status dcl_worker_process(const char *terms)
{
    dcli_error_enter(__func__);
    if (terms == NULL)
        return DCLI_FAIL(DCL_ERR_INVALID, "terms is NULL; expected those of the library that starts the process");
    return dcli_serve_process(terms);
}

/* ---- asking ------------------------------------------------------------------------------------------------------- */

/* Copy a row to the program's struct size, where the devices have the program's size, too: the fields before, the
 * devices, and the fields after. */
static void copy_row(const dcl_worker_info *info, char *row, size_t info_bytes, size_t device_bytes)
{
    enum { DEVICES = sizeof info->device / sizeof info->device[0] };
    const size_t before = offsetof(dcl_worker_info, device), after = before + sizeof info->device;
    memcpy(row, info, before);
    for (size_t d = 0; d < DEVICES; d++)
        memcpy(row + before + d * device_bytes, &info->device[d], device_bytes);
    memcpy(row + before + DEVICES * device_bytes, (const char *)info + after,
           info_bytes - before - DEVICES * device_bytes);
}

static dcl_status list(const dcl_config *config, int capacity, char *rows, size_t info_bytes, size_t device_bytes,
                       int *count_out)
{
    dcl_worker_info *info = dcli_calloc((size_t)dcli_max(capacity, 1), sizeof *info);
    if (info == NULL)
        return DCL_ERR_NOMEM;
    dcl_status status = dcli_workers_ask(config, capacity, info, count_out);
    for (int w = 0; status == DCL_OK && w < capacity && w < *count_out; w++)
        copy_row(&info[w], rows + (size_t)w * info_bytes, info_bytes, device_bytes);
    dcli_free(info);
    return status;
}

/* Check the sizes that the program's headers give a row and a device. */
static dcl_status check_rows(size_t info_bytes, size_t device_bytes)
{
    enum { DEVICES = sizeof((dcl_worker_info *)NULL)->device / sizeof(dcl_device_info) };
    const size_t beside = sizeof(dcl_worker_info) - DEVICES * sizeof(dcl_device_info);
    dcl_status status = dcli_size_check("device_bytes", "dcl_device_info", device_bytes, sizeof(dcl_device_info));
    if (status != DCL_OK)
        return status;
    size_t least = offsetof(dcl_worker_info, device) + DEVICES * device_bytes;
    return info_bytes < least
               ? dcli_size_check("info_bytes", "dcl_worker_info", 0, sizeof(dcl_worker_info))
               : dcli_size_check("info_bytes", "dcl_worker_info", info_bytes, beside + DEVICES * device_bytes);
}

dcl_status dcl_worker_list_sized(const dcl_config *config, int capacity, dcl_worker_info info_out[], size_t info_bytes,
                                 size_t device_bytes, int *count_out)
{
    dcl_config settings, complete;
    static const char name[] = "dcl_worker_list";
    dcli_error_enter(name);
    dcl_status status = dcli_handle_process();
    if (status == DCL_OK && config == NULL)
        status = dcl_config_read(&settings);
    dcli_error_enter(name);
    if (status != DCL_OK)
        return DCLI_FAIL(status, "%s", dcli_error_sentence());
    status = dcli_config_check(config != NULL ? config : &settings, &complete);
    if (status == DCL_OK && (count_out == NULL || (info_out == NULL && capacity > 0)))
        status = DCLI_FAIL(DCL_ERR_INVALID, "%s is NULL; expected memory to fill",
                           count_out == NULL ? "count_out" : "info_out");
    if (status == DCL_OK)
        status = check_rows(info_bytes, device_bytes);
    return status == DCL_OK ? list(&complete, capacity, (char *)info_out, info_bytes, device_bytes, count_out) : status;
}

dcl_status dcl_keys_make(const char *folder, char *public_out)
{
    dcli_keypair pair;
    dcli_error_enter(__func__);
    if (folder == NULL || folder[0] == '\0')
        return DCLI_FAIL(DCL_ERR_INVALID, "folder is %s; expected the name of the folder to put the keys into",
                         folder == NULL ? "NULL" : "empty");
    dcl_status status = dcli_keys_make(folder, &pair);
    if (status == DCL_OK && public_out != NULL)
        dcli_key_text(pair.public_key, public_out);
    if (status == DCL_OK)
        dcli_keypair_wipe(&pair);
    return status;
}
