/* worker/kernels.c - bodies by number: parsed when they are received, removed when no operation can run them any
 * more. */
#include "worker/kernels.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "kernel/tile_kernel.h"

enum { BUCKETS = sizeof((dcli_kernels *)0)->kernel / sizeof((dcli_kernels *)0)->kernel[0] };

void dcli_kernels_init(dcli_kernels *kernels, dcli_parsed *common, dcli_body_ends_fn *body_ends, void *user)
{
    *kernels = (dcli_kernels){.common = common, .body_ends = body_ends, .user = user};
}

dcli_kernel *dcli_kernels_find(const dcli_kernels *kernels, int64_t number)
{
    dcli_kernel *kernel = number < 0 ? NULL : kernels->kernel[number % BUCKETS];
    while (kernel != NULL && kernel->number != number)
        kernel = kernel->next;
    return kernel;
}

static void free_kernel(dcli_kernels *kernels, dcli_kernel *kernel)
{
    dcli_parsed_end_use(kernels->common, kernel->number);
    dcli_free(kernel->build_problem);
    dcli_free(kernel->profile);
    dcli_free(kernel);
}

static dcl_status parse_kernel(const dcli_msg_kernel *message, const dcli_param params[], dcli_body **body_out)
{
    if (message->item_count == 0)
        return dcli_over_parse(message->along, message->fast, message->text, message->prelude, message->over,
                               message->parameter_count, params, body_out);
    if (message->item_count != DCLI_MSG_ITEMS)
        return DCLI_FAIL(DCL_ERR_PROTOCOL, "kernel %" PRId64 " has %d sizes; expected %d", message->kernel,
                         message->item_count, DCLI_MSG_ITEMS);
    dcli_items items;
    for (int d = 0; d < DCLI_ITEM_DIMENSIONS; d++) {
        items.group[d] = message->items[d];
        items.count[d] = message->items[DCLI_ITEM_DIMENSIONS + d];
    }
    return dcli_tile_kernel_parse(message->text, message->prelude, message->parameter_count, params, &items, body_out);
}

/* Get the parsed body of a message; another peer of this process may have parsed it already. */
static dcl_status get_body(dcli_kernels *kernels, const dcli_msg_kernel *message, const dcli_body **body_out)
{
    dcli_param params[DCLI_MAX_PARAMS];
    dcli_body *fresh;
    if ((*body_out = dcli_parsed_find(kernels->common, message->kernel)) != NULL)
        return DCL_OK;
    if (message->parameter_count > DCLI_MAX_PARAMS)
        return DCLI_FAIL(DCL_ERR_PROTOCOL, "kernel %" PRId64 " has %d parameters; expected at most %d", message->kernel,
                         message->parameter_count, DCLI_MAX_PARAMS);
    for (int k = 0; k < message->parameter_count; k++) {
        const dcli_msg_parameter *parameter = &message->parameter[k];
        params[k] = (dcli_param){.access = (dcl_access)parameter->access,
                                 .type = (dcl_type)parameter->type,
                                 .rank = parameter->rank,
                                 .turned = parameter->turned};
        strncpy(params[k].name, parameter->name, sizeof params[k].name - 1);
    }
    dcl_status status = parse_kernel(message, params, &fresh);
    if (status != DCL_OK)
        return status;
    *body_out = dcli_parsed_share(kernels->common, message->kernel, fresh);
    return *body_out != NULL ? DCL_OK : DCL_ERR_NOMEM;
}

dcl_status dcli_kernels_add(dcli_kernels *kernels, const dcli_msg_kernel *message, dcli_kernel **kernel_out)
{
    if (message->kernel < 0 || dcli_kernels_find(kernels, message->kernel) != NULL)
        return DCLI_FAIL(DCL_ERR_PROTOCOL, "kernel %" PRId64 " is there already", message->kernel);
    dcli_kernel *kernel = dcli_calloc(1, sizeof *kernel);
    if (kernel == NULL)
        return DCL_ERR_NOMEM;
    dcl_status status = get_body(kernels, message, &kernel->body);
    if (status != DCL_OK) {
        dcli_free(kernel);
        return status;
    }
    kernel->number = message->kernel;
    kernel->gathers = message->gathers;
    kernel->combines = dcli_element_recognize(kernel->body);
    for (int k = 0; k < kernel->body->param_count; k++)
        kernel->shapes[k] = dcli_body_subscripts_use(kernel->body, k);
    kernel->next = kernels->kernel[kernel->number % BUCKETS];
    kernels->kernel[kernel->number % BUCKETS] = kernel;
    *kernel_out = kernel;
    return DCL_OK;
}

static void end_kernel(dcli_kernels *kernels, dcli_kernel *kernel)
{
    dcli_kernel **at = &kernels->kernel[kernel->number % BUCKETS];
    while (*at != kernel)
        at = &(*at)->next;
    *at = kernel->next;
    kernels->body_ends(kernels->user, kernel->body);
    dcli_program_release(kernel->program);
    free_kernel(kernels, kernel);
}

void dcli_kernels_forget(dcli_kernels *kernels, const dcli_msg_kernel *message)
{
    for (int n = 0; n < message->forgotten_count; n++) {
        dcli_kernel *kernel = dcli_kernels_find(kernels, message->forgotten[n]);
        if (kernel == NULL)
            continue;
        kernel->forgotten = true;
        if (kernel->uses == 0)
            end_kernel(kernels, kernel);
    }
}

void dcli_kernels_end_use(dcli_kernels *kernels, dcli_kernel *kernel)
{
    if (--kernel->uses == 0 && kernel->forgotten)
        end_kernel(kernels, kernel);
}

dcli_kernel *dcli_kernels_oldest_program(const dcli_kernels *kernels, const dcli_kernel *but)
{
    dcli_kernel *oldest = NULL;
    for (int b = 0; b < BUCKETS; b++)
        for (dcli_kernel *kernel = kernels->kernel[b]; kernel != NULL; kernel = kernel->next)
            if (kernel->program != NULL && kernel != but && (oldest == NULL || kernel->used < oldest->used))
                oldest = kernel;
    return oldest;
}

void dcli_kernels_release_device(dcli_kernels *kernels)
{
    for (int b = 0; b < BUCKETS; b++)
        for (dcli_kernel *kernel = kernels->kernel[b]; kernel != NULL; kernel = kernel->next) {
            dcli_program_release(kernel->program);
            kernel->program = NULL;
        }
}

void dcli_kernels_free(dcli_kernels *kernels)
{
    for (int b = 0; b < BUCKETS; b++)
        while (kernels->kernel[b] != NULL) {
            dcli_kernel *kernel = kernels->kernel[b];
            kernels->kernel[b] = kernel->next;
            free_kernel(kernels, kernel);
        }
}
