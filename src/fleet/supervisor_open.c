/* fleet/supervisor_open.c - open and close a supervisor: everything needed before it listens. */
#include "fleet/supervisor_inside.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "device/device.h"
#include "fleet/confine.h"
#include "fleet/strays.h"
#include "net/wire_address.h"

static const char domain[] = "listener";

static dcl_status find_devices(dcli_supervisor *supervisor)
{
    enum { MOST = 256 };
    dcl_device_info *all = dcli_calloc(MOST, sizeof *all);
    int count = 0;
    if (all == NULL)
        return DCL_ERR_NOMEM;
    dcl_status status = dcli_device_select(supervisor->config->devices, DCLI_MOST_DEVICES_OFFERED, supervisor->devices,
                                           &supervisor->device_count);
    if (status == DCL_OK)
        status = dcli_device_enumerate(MOST, all, &count);
    for (int d = 0; d < supervisor->device_count && status == DCL_OK; d++)
        if (supervisor->devices[d] < count)
            supervisor->info[d] = all[supervisor->devices[d]];
    dcli_free(all);
    return status;
}

static dcl_status find_files(dcli_supervisor *supervisor)
{
    const char *folder = supervisor->config->files;
    char *real = folder != NULL ? realpath(folder, NULL) : NULL;
    if (folder == NULL)
        return DCL_OK;
    snprintf(supervisor->files_name, sizeof supervisor->files_name, "%s", real != NULL ? real : folder);
    free(real);
    return dcli_files_hold(supervisor->files_name, &supervisor->files);
}

/* Choose the address for worker processes: that of the listener, at ports of their own. */
static dcl_status find_binding(dcli_supervisor *supervisor)
{
    dcli_address address;
    dcl_status status = dcli_address_parse(supervisor->config->listen, DCLI_TO_LISTEN, &address);
    dcli_resolved resolved;
    if (status == DCL_OK)
        /* Resolved here, because processes of sessions resolve no names. */
        status = dcli_address_resolve(&address, &resolved);
    if (status == DCL_OK)
        dcli_resolved_text(&resolved, 0, supervisor->bind);
    return status;
}

/* ---- containment --------------------------------------------------------------------------------------------------- */

/* Choose the port ranges. Containment rules for ports are made before it is known which ports the members of a session
 * have. So processes always have a range of their own, by default above the ports that Linux assigns automatically. */
static void find_ports(dcli_supervisor *supervisor)
{
    enum { FIRST = 61000, LAST = 61999 };
    const dcl_worker_config *config = supervisor->config;
    int(*port)[2] = supervisor->port;
    port[0][0] = config->first_port > 0 ? config->first_port : FIRST;
    port[0][1] = config->first_port > 0 ? config->last_port : LAST;
    if (config->first_peer_port > 0) {
        port[1][0] = config->first_peer_port;
        port[1][1] = config->last_peer_port;
    } else if (config->first_port > 0) {
        port[1][0] = FIRST;
        port[1][1] = LAST;
    }
}

static dcl_status find_containment(dcli_supervisor *supervisor)
{
    const char *how = supervisor->config->contain;
    char missing[1024];
    find_ports(supervisor);
    dcli_strays_adopt();
    dcli_cgroups_open(&supervisor->groups);
    dcli_confine_basics_of_parent();
    supervisor->contain = strcmp(how, "off") != 0;
    dcli_containment_missing(dcli_containment_of_system(), missing, sizeof missing);
    for (int r = 0; r < 2 && missing[0] == '\0'; r++)
        if (supervisor->port[r][1] - supervisor->port[r][0] >= DCLI_MOST_PORTS)
            snprintf(missing, sizeof missing,
                     "ports %d-%d are more than %d: a kernel that runs on a processor can connect to every port",
                     supervisor->port[r][0], supervisor->port[r][1], DCLI_MOST_PORTS);
    if (!supervisor->contain)
        DCLI_LOG(
            supervisor->log, DCLI_LOG_WARN,
            "sessions are not contained: a kernel that runs on a processor can do all that this worker's user can");
    else if (missing[0] != '\0' && strcmp(how, "strict") == 0)
        return DCLI_FAIL(DCL_ERR_UNSUPPORTED, "%s; use a newer system, or start the worker with --contain auto",
                         missing);
    else if (missing[0] != '\0')
        DCLI_LOG(supervisor->log, DCLI_LOG_WARN, "sessions are not wholly contained: %s", missing);
    return DCL_OK;
}

/* ---- admission: keys and token ------------------------------------------------------------------------------------ */

static dcl_status allow_keys(dcli_supervisor *supervisor)
{
    const char *folder = supervisor->config->keys;
    dcli_key_list list = {0};
    dcl_status status = dcli_keys_read(folder, &supervisor->own);
    if (status == DCL_OK)
        status = dcli_keys_allowed(folder, &list);
    if (status == DCL_OK)
        status = dcli_authenticator_add_keys(supervisor->authenticator, domain);
    for (int64_t k = 0; k < list.count && status == DCL_OK; k++)
        status = dcli_authenticator_allow(supervisor->authenticator, domain, list.key[k]);
    if (status == DCL_OK && list.count == 0)
        DCLI_LOG(supervisor->log, DCLI_LOG_WARN, "%s/allowed holds no key: nobody may come", folder);
    dcli_key_list_free(&list);
    supervisor->has_keys = true;
    return status;
}

static dcl_status allow_token(dcli_supervisor *supervisor)
{
    dcl_status status = dcli_token_make(supervisor->token);
    return status == DCL_OK ? dcli_authenticator_add_password(supervisor->authenticator, domain, supervisor->token)
                            : status;
}

/* Write the token file, once the listener listens: until then the file may belong to another worker at this address. */
static dcl_status write_token(dcli_supervisor *supervisor)
{
    if (supervisor->has_keys)
        return DCL_OK;
    dcl_status status = DCL_OK;
    if (supervisor->config->token != NULL)
        snprintf(supervisor->token_path, sizeof supervisor->token_path, "%s", supervisor->config->token);
    else
        status = dcli_token_path(dcli_listener_address(supervisor->listener), supervisor->token_path,
                                 sizeof supervisor->token_path);
    return status == DCL_OK ? dcli_token_write(supervisor->token_path, supervisor->token) : status;
}

/* ---- opening and closing ------------------------------------------------------------------------------------------- */

static dcl_status open_listener(dcli_supervisor *supervisor)
{
    enum { SILENCE_MS = 30000 };
    dcli_listener_terms terms = {.net = supervisor->net,
                                 .address = supervisor->config->listen,
                                 .authenticator = supervisor->authenticator,
                                 .domain = domain,
                                 .own = supervisor->has_keys ? &supervisor->own : NULL,
                                 .silence_ms = SILENCE_MS,
                                 .most_clients = supervisor->config->most_sessions + 32,
                                 .log = supervisor->log};
    return dcli_listener_open(&terms, &supervisor->listener);
}

dcl_status dcli_supervisor_open(dcli_supervisor *supervisor)
{
    dcli_process_raise_limit();
    dcl_status status = find_containment(supervisor);
    if (status == DCL_OK)
        status = find_binding(supervisor);
    if (status == DCL_OK)
        status = dcli_supervisor_find_cache(supervisor);
    if (status == DCL_OK)
        status = find_files(supervisor);
    if (status == DCL_OK)
        status = dcli_process_program(NULL, supervisor->program);
    if (status == DCL_OK)
        status = find_devices(supervisor);
    if (status == DCL_OK)
        status = dcli_net_open_io(1, &supervisor->net); /* one thread: net/wire_acceptor.c says why */
    if (status == DCL_OK)
        status = dcli_authenticator_open(supervisor->net, supervisor->log, &supervisor->authenticator);
    if (status == DCL_OK)
        status = supervisor->config->keys != NULL ? allow_keys(supervisor) : allow_token(supervisor);
    if (status == DCL_OK)
        status = open_listener(supervisor);
    if (status == DCL_OK)
        status = write_token(supervisor);
    if (status == DCL_OK)
        DCLI_LOG(supervisor->log, DCLI_LOG_INFO, "listening on %s", dcli_listener_address(supervisor->listener));
    return status;
}

static void await_dying(dcli_supervisor *supervisor)
{
    enum { TIME_TO_DIE_MS = 5000, STEP_MS = 5 };
    for (int waited = 0; waited < TIME_TO_DIE_MS; waited += STEP_MS) {
        dcli_supervisor_reap(supervisor);
        if (supervisor->dying_count == 0 && !supervisor->has_strays)
            break;
        poll(NULL, 0, STEP_MS);
    }
    dcli_free(supervisor->dying);
}

void dcli_supervisor_close(dcli_supervisor *supervisor)
{
    dcli_supervisor_forget_all(supervisor);
    while (supervisor->sessions != NULL)
        dcli_supervisor_end(supervisor, supervisor->sessions, "the worker stops");
    await_dying(supervisor);
    dcli_cgroups_close(&supervisor->groups);
    dcli_supervisor_drop_cache(supervisor);
    if (supervisor->token_path[0] != '\0')
        dcli_token_remove(supervisor->token_path, supervisor->token);
    dcli_listener_close(supervisor->listener);
    dcli_authenticator_close(supervisor->authenticator);
    dcli_net_close(supervisor->net);
    dcli_files_release(&supervisor->files);
    dcli_keypair_wipe(&supervisor->own);
    explicit_bzero(supervisor->token, sizeof supervisor->token);
}
