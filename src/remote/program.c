/* remote/program.c - programs: their texts and binaries, and describing their kernels to the driver. build.c compiles them.
 *
 * Keys of the facts of an answer: the build's status, its log, the number of kernels, and then for kernel k, from 0, and its
 * argument a the keys of net/facts.h. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "net/facts.h"
#include "remote/inside.h"
#include "remote/source.h"

dcl_status dcli_program_append(dcli_remote *remote, const dcli_msg_command *command)
{
    dcli_object *program = dcli_object_find(remote, command->object, DCLI_OBJECT_PROGRAM);
    int64_t length = command->number_count == 1 ? command->number[0] : -1;
    if (program == NULL || program->program.text == NULL || length < 0 ||
        length > program->bytes - program->program.arrived || command->word_count != (length + 7) / 8)
        return dcli_command_broken("a text of another length than announced");
    if (length > 0)
        memcpy(program->program.text + program->program.arrived, command->word, (size_t)length);
    program->program.arrived += length;
    return DCL_OK;
}

void dcli_program_free_text(dcli_remote *remote, dcli_object *program)
{
    if (program->program.text != NULL)
        remote->text_bytes -= program->bytes;
    dcli_free(program->program.text);
    program->program.text = NULL;
}

static cl_program make_from_text(cl_context context, const char *text, size_t length, cl_int *status_out)
{
    char *confined = dcli_source_confine(text, length, &length);
    const char *strings[] = {confined};
    *status_out = CL_OUT_OF_HOST_MEMORY;
    cl_program program = confined != NULL ? clCreateProgramWithSource(context, 1, strings, &length, status_out) : NULL;
    dcli_free(confined);
    return program;
}

/* Make a program of a binary, for all devices of a context. */
static cl_program make_from_binary(const dcli_scope *scope, const void *binary, size_t length, cl_int *status_out)
{
    const unsigned char *binaries[DCLI_MOST_SUB_DEVICES];
    size_t lengths[DCLI_MOST_SUB_DEVICES];
    cl_int statuses[DCLI_MOST_SUB_DEVICES];
    for (cl_uint d = 0; d < scope->count; d++) {
        binaries[d] = binary;
        lengths[d] = length;
    }
    return clCreateProgramWithBinary(scope->context, scope->count, scope->device, lengths, binaries, statuses,
                                     status_out);
}

cl_program dcli_program_of(dcli_remote *remote, dcli_object *program)
{
    if (program->program.program != NULL || program->program.text == NULL || program->program.arrived < program->bytes)
        return program->program.program;
    const char *text = program->program.text;
    size_t length = (size_t)program->bytes;
    dcli_scope scope = dcli_scope_of(remote, program->program.context);
    program->program.program = program->program.is_binary
                                   ? make_from_binary(&scope, text, length, &program->status)
                                   : make_from_text(scope.context, text, length, &program->status);
    dcli_program_free_text(remote, program);
    return program->program.program;
}

dcl_status dcli_program_check(dcli_remote *remote, const dcli_msg_query *query)
{
    dcli_object *program = dcli_object_find(remote, query->object, DCLI_OBJECT_PROGRAM);
    if (program == NULL || !program->program.is_binary || program->program.building > 0)
        return dcli_command_broken("not a program from a binary, or one that is being built");
    cl_program made = dcli_program_of(remote, program);
    cl_program_binary_type type = CL_PROGRAM_BINARY_TYPE_NONE;
    if (made != NULL)
        clGetProgramBuildInfo(made, dcli_scope_of(remote, program->program.context).device[0], CL_PROGRAM_BINARY_TYPE,
                              sizeof type, &type, NULL);
    dcli_facts_begin(remote, query->number);
    dcli_fact_number(&remote->facts, 1, type);
    return dcli_facts_end(&remote->facts, made != NULL                    ? CL_SUCCESS
                                          : program->status != CL_SUCCESS ? program->status
                                                                          : CL_INVALID_BINARY);
}

/* ---- describing kernels ---- */

static bool argument_text(cl_kernel kernel, cl_uint index, cl_kernel_arg_info what, char *text_out, size_t capacity)
{
    text_out[0] = '\0';
    bool known = clGetKernelArgInfo(kernel, index, what, capacity, text_out, NULL) == CL_SUCCESS;
    text_out[capacity - 1] = '\0';
    return known;
}

/* Find the size of an argument that is passed by value: the one that the device's driver accepts. PoCL accepts two sizes of
 * vectors, of which the larger is right, and all sizes of structs. @return 0: unknown. */
static int64_t probe_size(cl_kernel kernel, cl_uint index)
{
    enum { MOST = 1024, MOST_ACCEPTED = 2 };
    static const char zeros[MOST];
    int accepted = 0;
    int64_t largest = 0;
    for (size_t bytes = 1; bytes <= MOST && accepted <= MOST_ACCEPTED; bytes++)
        if (clSetKernelArg(kernel, index, bytes, zeros) == CL_SUCCESS) {
            accepted++;
            largest = (int64_t)bytes;
        }
    return accepted <= MOST_ACCEPTED ? largest : 0;
}

static void describe_argument(dcli_facts *facts, cl_kernel kernel, int64_t key, cl_uint index)
{
    enum { MOST_NAME = 1024 };
    char name[MOST_NAME], type[MOST_NAME];
    cl_kernel_arg_address_qualifier address = 0;
    cl_kernel_arg_access_qualifier access = CL_KERNEL_ARG_ACCESS_NONE;
    cl_kernel_arg_type_qualifier qualifiers = 0;
    bool known = clGetKernelArgInfo(kernel, index, CL_KERNEL_ARG_ADDRESS_QUALIFIER, sizeof address, &address, NULL) ==
                 CL_SUCCESS;
    clGetKernelArgInfo(kernel, index, CL_KERNEL_ARG_ACCESS_QUALIFIER, sizeof access, &access, NULL);
    clGetKernelArgInfo(kernel, index, CL_KERNEL_ARG_TYPE_QUALIFIER, sizeof qualifiers, &qualifiers, NULL);
    argument_text(kernel, index, CL_KERNEL_ARG_NAME, name, sizeof name);
    known = argument_text(kernel, index, CL_KERNEL_ARG_TYPE_NAME, type, sizeof type) && known;
    int64_t number[DCLI_ARGUMENT_FACTS] = {known, known ? (int64_t)address : 0, (int64_t)access, (int64_t)qualifiers,
                                           known && address == CL_KERNEL_ARG_ADDRESS_PRIVATE ? probe_size(kernel, index)
                                                                                             : 0};
    key += (int64_t)(index + 1) * DCLI_FACT_ARGUMENT;
    dcli_fact_text(facts, key + DCLI_FACT_NAME, name);
    dcli_fact_text(facts, key + DCLI_FACT_TYPE, type);
    dcli_fact_bytes(facts, key + DCLI_FACT_NUMBERS, number, sizeof number);
}

static void describe_kernel(dcli_facts *facts, cl_kernel kernel, cl_device_id device, int64_t place)
{
    enum { MOST_TEXT = 4096 };
    char text[MOST_TEXT] = "";
    cl_uint arguments = 0;
    size_t group = 0, fixed[3] = {0}, multiple = 0;
    cl_ulong local = 0, private_bytes = 0;
    int64_t key = (place + 1) * DCLI_FACT_KERNEL;
    clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, sizeof text - 1, text, NULL);
    dcli_fact_text(facts, key + DCLI_FACT_NAME, text);
    text[0] = '\0';
    clGetKernelInfo(kernel, CL_KERNEL_ATTRIBUTES, sizeof text - 1, text, NULL);
    dcli_fact_text(facts, key + DCLI_FACT_TYPE, text);
    clGetKernelInfo(kernel, CL_KERNEL_NUM_ARGS, sizeof arguments, &arguments, NULL);
    if (arguments > DCLI_MOST_REMOTE_ARGUMENTS)
        arguments = DCLI_MOST_REMOTE_ARGUMENTS;
    clGetKernelWorkGroupInfo(kernel, device, CL_KERNEL_WORK_GROUP_SIZE, sizeof group, &group, NULL);
    clGetKernelWorkGroupInfo(kernel, device, CL_KERNEL_COMPILE_WORK_GROUP_SIZE, sizeof fixed, fixed, NULL);
    clGetKernelWorkGroupInfo(kernel, device, CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE, sizeof multiple, &multiple,
                             NULL);
    clGetKernelWorkGroupInfo(kernel, device, CL_KERNEL_LOCAL_MEM_SIZE, sizeof local, &local, NULL);
    clGetKernelWorkGroupInfo(kernel, device, CL_KERNEL_PRIVATE_MEM_SIZE, sizeof private_bytes, &private_bytes, NULL);
    int64_t number[DCLI_KERNEL_FACTS] = {(int64_t)arguments, (int64_t)group,        (int64_t)fixed[0],
                                         (int64_t)fixed[1],  (int64_t)fixed[2],     (int64_t)multiple,
                                         (int64_t)local,     (int64_t)private_bytes};
    dcli_fact_bytes(facts, key + DCLI_FACT_NUMBERS, number, sizeof number);
    for (cl_uint a = 0; a < arguments; a++)
        describe_argument(facts, kernel, key, a);
}

static void describe_kernels(dcli_facts *facts, cl_program program, cl_device_id device)
{
    cl_uint count = 0;
    if (clCreateKernelsInProgram(program, 0, NULL, &count) != CL_SUCCESS || count == 0)
        return;
    count = count > DCLI_MOST_FACT_KERNELS ? DCLI_MOST_FACT_KERNELS : count;
    cl_kernel *kernels = dcli_calloc(count, sizeof(cl_kernel));
    if (kernels == NULL || clCreateKernelsInProgram(program, count, kernels, NULL) != CL_SUCCESS) {
        dcli_free(kernels);
        return;
    }
    dcli_fact_number(facts, DCLI_FACT_KERNELS, count);
    for (cl_uint k = 0; k < count; k++) {
        describe_kernel(facts, kernels[k], device, k);
        clReleaseKernel(kernels[k]);
    }
    dcli_free(kernels);
}

static void describe_log(dcli_facts *facts, cl_program program, cl_device_id device)
{
    size_t length = 0;
    if (clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, 0, NULL, &length) != CL_SUCCESS || length == 0)
        return;
    char *text = dcli_calloc(length + 1, 1);
    if (text != NULL && clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, length, text, NULL) == CL_SUCCESS)
        dcli_fact_text(facts, DCLI_FACT_LOG, text);
    dcli_free(text);
}

void dcli_program_describe(dcli_facts *facts, cl_program program, cl_device_id device, bool has_kernels)
{
    describe_log(facts, program, device);
    if (has_kernels)
        describe_kernels(facts, program, device);
}

/* ---- binaries ---- */

dcl_status dcli_program_send_binary(dcli_remote *remote, int64_t transfer, const unsigned char *binary, size_t length)
{
    size_t most = (size_t)remote->terms.chunk_bytes;
    dcl_status status = DCL_OK;
    for (size_t at = 0; at < length && status == DCL_OK; at += most) {
        size_t part = length - at < most ? length - at : most;
        void *bytes = dcli_buffers_take(remote->terms.buffers, part);
        if (bytes == NULL)
            return DCL_ERR_NOMEM;
        memcpy(bytes, binary + at, part);
        dcli_message message = {.kind = DCLI_MSG_DATA,
                                .epoch = remote->terms.session,
                                .data = {.transfer = transfer, .offset = (int64_t)at}};
        dcli_payload payload = {.bytes = bytes, .length = part, .release = dcli_payload_give};
        status = dcli_endpoint_send(remote->terms.endpoint, remote->terms.client, &message, &payload);
    }
    return status;
}
