/* icd/kernel.c - kernels and their arguments. An argument is checked when it is set, and sent with the launch. */
#include "icd/entries.h"

/* ---- making ---- */

static const icd_declaration *find_in(const icd_build *build, const char *name)
{
    for (int k = 0; k < build->count; k++)
        if (strcmp(build->declaration[k].name, name) == 0)
            return &build->declaration[k];
    return NULL;
}

/* Find a kernel in all devices for which its program was built. */
static cl_int find_declaration(const icd_program *program, const char *name, const icd_declaration **declaration_out)
{
    const icd_declaration *first = NULL;
    bool any = false;
    for (int d = 0; d < program->context->device_count; d++) {
        if (icd_program_ready(program, d) != CL_SUCCESS)
            continue;
        const icd_declaration *own = find_in(&program->build[d], name);
        if (own != NULL && first != NULL && own->count != first->count)
            return CL_INVALID_KERNEL_DEFINITION;
        first = own != NULL && first == NULL ? own : first;
        any = true;
    }
    if (!any)
        return CL_INVALID_PROGRAM_EXECUTABLE;
    *declaration_out = first;
    return first != NULL ? CL_SUCCESS : CL_INVALID_KERNEL_NAME;
}

static void free_value(icd_value *value)
{
    dcli_free(value->value);
    value->value = NULL;
}

void icd_kernel_free(icd_kernel *kernel)
{
    for (int d = 0; kernel->on != NULL && d < kernel->program->context->device_count; d++) {
        if (kernel->on[d].number != 0)
            icd_send(kernel->program->context->device[d],
                     &(dcli_msg_command){.kind = DCLI_CL_RELEASE, .object = kernel->on[d].number});
        dcli_free(kernel->on[d].sent);
    }
    for (int a = 0; kernel->value != NULL && a < kernel->declaration->count; a++)
        free_value(&kernel->value[a]);
    dcli_free(kernel->on);
    dcli_free(kernel->value);
    dcli_free(kernel->name);
    kernel->program->kernels--;
    icd_drop(kernel->program);
}

static cl_int make_kernel(icd_program *program, const char *name, icd_kernel **kernel_out)
{
    const icd_declaration *declaration;
    if (program->building > 0) /* a build replaces the declarations, to which kernels refer */
        return CL_INVALID_PROGRAM_EXECUTABLE;
    cl_int status = find_declaration(program, name, &declaration);
    if (status != CL_SUCCESS)
        return status;
    icd_kernel *kernel = icd_make(ICD_KERNEL, sizeof *kernel);
    if (kernel == NULL)
        return CL_OUT_OF_HOST_MEMORY;
    int devices = program->context->device_count;
    size_t count = (size_t)declaration->count;
    kernel->program = icd_hold(program);
    program->kernels++;
    kernel->declaration = declaration;
    kernel->name = dcli_strdup(name);
    kernel->value = dcli_calloc(count + 1, sizeof *kernel->value);
    kernel->on = dcli_calloc((size_t)devices, sizeof *kernel->on);
    bool made = kernel->name != NULL && kernel->value != NULL && kernel->on != NULL;
    for (int d = 0; d < devices && made; d++)
        made = (kernel->on[d].sent = dcli_calloc(count + 1, sizeof(uint64_t))) != NULL;
    for (size_t a = 0; a < count && made; a++)
        kernel->value[a].kind = -1;
    if (!made) {
        icd_drop(kernel);
        return CL_OUT_OF_HOST_MEMORY;
    }
    *kernel_out = kernel;
    return CL_SUCCESS;
}

cl_kernel CL_API_CALL icd_clCreateKernel(cl_program handle, const char *name, cl_int *status_out)
{
    cl_int status = CL_INVALID_PROGRAM;
    icd_kernel *kernel = NULL;
    if (icd_enter()) {
        icd_program *program = icd_find(handle, ICD_PROGRAM);
        status = program == NULL ? CL_INVALID_PROGRAM
                 : name == NULL  ? CL_INVALID_VALUE
                                 : make_kernel(program, name, &kernel);
        icd_leave();
    }
    if (status_out != NULL)
        *status_out = status;
    return status == CL_SUCCESS ? ICD_HANDLE(cl_kernel, kernel) : NULL;
}

static cl_int make_kernels(icd_program *program, cl_uint capacity, cl_kernel kernels[], cl_uint *count_out)
{
    const icd_build *build = NULL;
    if (program == NULL)
        return CL_INVALID_PROGRAM;
    for (int d = 0; d < program->context->device_count && build == NULL; d++)
        if (icd_program_ready(program, d) == CL_SUCCESS)
            build = &program->build[d];
    if (build == NULL)
        return CL_INVALID_PROGRAM_EXECUTABLE;
    if (kernels != NULL && capacity < (cl_uint)build->count)
        return CL_INVALID_VALUE;
    if (count_out != NULL)
        *count_out = (cl_uint)build->count;
    for (int k = 0; kernels != NULL && k < build->count; k++) {
        icd_kernel *kernel;
        cl_int status = make_kernel(program, build->declaration[k].name, &kernel);
        if (status != CL_SUCCESS) {
            while (k-- > 0)
                icd_drop(icd_find(kernels[k], ICD_KERNEL));
            return status;
        }
        kernels[k] = ICD_HANDLE(cl_kernel, kernel);
    }
    return CL_SUCCESS;
}

cl_int CL_API_CALL icd_clCreateKernelsInProgram(cl_program handle, cl_uint capacity, cl_kernel *kernels,
                                                cl_uint *count_out)
{
    if (!icd_enter())
        return CL_INVALID_PROGRAM;
    cl_int status = make_kernels(icd_find(handle, ICD_PROGRAM), capacity, kernels, count_out);
    icd_leave();
    return status;
}

cl_kernel CL_API_CALL icd_clCloneKernel(cl_kernel handle, cl_int *status_out)
{
    cl_int status = CL_INVALID_KERNEL;
    icd_kernel *clone = NULL;
    if (icd_enter()) {
        const icd_kernel *kernel = icd_find(handle, ICD_KERNEL);
        status = kernel == NULL ? CL_INVALID_KERNEL : make_kernel(kernel->program, kernel->name, &clone);
        for (int a = 0; status == CL_SUCCESS && a < kernel->declaration->count; a++) {
            clone->value[a] = kernel->value[a];
            if (kernel->value[a].value == NULL)
                continue;
            clone->value[a].value = dcli_malloc(kernel->value[a].bytes);
            if (clone->value[a].value != NULL)
                memcpy(clone->value[a].value, kernel->value[a].value, kernel->value[a].bytes);
            else
                status = CL_OUT_OF_HOST_MEMORY;
        }
        if (status != CL_SUCCESS)
            icd_drop(clone);
        icd_leave();
    }
    if (status_out != NULL)
        *status_out = status;
    return status == CL_SUCCESS ? ICD_HANDLE(cl_kernel, clone) : NULL;
}

/* ---- arguments ---- */

static void set(icd_value *value, const icd_value *next)
{
    static uint64_t serial;
    free_value(value);
    *value = *next;
    value->serial = ++serial;
}

static cl_int set_buffer(const icd_kernel *kernel, icd_value *value, size_t size, const void *given)
{
    icd_value next = {.kind = DCLI_ARGUMENT_BUFFER, .bytes = sizeof(cl_mem)};
    cl_mem handle = NULL;
    if (size != sizeof handle)
        return CL_INVALID_ARG_SIZE;
    if (given != NULL)
        memcpy(&handle, given, sizeof handle);
    if (handle != NULL) {
        if ((next.mem = icd_find(handle, ICD_MEM)) == NULL)
            return CL_INVALID_MEM_OBJECT;
        if (next.mem->context != kernel->program->context)
            return CL_INVALID_MEM_OBJECT;
        next.cell = next.mem->object.cell;
        next.generation = next.cell->generation;
    }
    set(value, &next);
    return CL_SUCCESS;
}

static cl_int set_bytes(icd_value *value, size_t size, const void *given)
{
    icd_value next = {.kind = DCLI_ARGUMENT_VALUE, .bytes = size};
    if (given == NULL)
        return CL_INVALID_ARG_VALUE;
    if (size == 0 || size > 8 * DCLI_MOST_COMMAND_WORDS)
        return CL_INVALID_ARG_SIZE;
    if (value->kind == DCLI_ARGUMENT_VALUE && value->bytes == size && memcmp(value->value, given, size) == 0)
        return CL_SUCCESS; /* as it is */
    if ((next.value = dcli_malloc(size)) == NULL)
        return CL_OUT_OF_HOST_MEMORY;
    memcpy(next.value, given, size);
    set(value, &next);
    return CL_SUCCESS;
}

static cl_int set_local(icd_value *value, size_t size, const void *given)
{
    if (given != NULL)
        return CL_INVALID_ARG_VALUE;
    if (size == 0)
        return CL_INVALID_ARG_SIZE;
    if (size > INT32_MAX)
        return CL_OUT_OF_RESOURCES;
    set(value, &(icd_value){.kind = DCLI_ARGUMENT_LOCAL, .bytes = size});
    return CL_SUCCESS;
}

/* Set an argument of a type that the server does not know (the program was made from a binary): its kind is guessed
 * from the value. */
static cl_int set_unknown(const icd_kernel *kernel, icd_value *value, size_t size, const void *given)
{
    cl_mem handle;
    if (given == NULL)
        return set_local(value, size, given);
    if (size == sizeof handle) {
        memcpy(&handle, given, sizeof handle);
        if (icd_find(handle, ICD_MEM) != NULL)
            return set_buffer(kernel, value, size, given);
    }
    return set_bytes(value, size, given);
}

static cl_int set_argument(icd_kernel *kernel, cl_uint index, size_t size, const void *given)
{
    if (kernel == NULL)
        return CL_INVALID_KERNEL;
    if (index >= (cl_uint)kernel->declaration->count)
        return CL_INVALID_ARG_INDEX;
    const icd_parameter *parameter = &kernel->declaration->parameter[index];
    icd_value *value = &kernel->value[index];
    if (!parameter->known)
        return set_unknown(kernel, value, size, given);
    if (parameter->address == CL_KERNEL_ARG_ADDRESS_LOCAL)
        return set_local(value, size, given);
    if (parameter->address == CL_KERNEL_ARG_ADDRESS_GLOBAL || parameter->address == CL_KERNEL_ARG_ADDRESS_CONSTANT)
        return set_buffer(kernel, value, size, given);
    if (strcmp(parameter->type, "sampler_t") == 0)
        return CL_INVALID_SAMPLER; /* there are none */
    if (given != NULL && parameter->bytes != 0 && size != parameter->bytes)
        return CL_INVALID_ARG_SIZE;
    return set_bytes(value, size, given);
}

cl_int CL_API_CALL icd_clSetKernelArg(cl_kernel handle, cl_uint index, size_t size, const void *given)
{
    if (!icd_enter())
        return CL_INVALID_KERNEL;
    cl_int status = set_argument(icd_find(handle, ICD_KERNEL), index, size, given);
    icd_leave();
    return status;
}

static bool exists(const icd_value *value)
{
    return value->cell == NULL || (value->cell->object != NULL && value->cell->generation == value->generation);
}

static bool is_written(const icd_parameter *parameter, const icd_mem *mem)
{
    return !parameter->known ||
           (parameter->address != CL_KERNEL_ARG_ADDRESS_CONSTANT &&
            (parameter->qualifiers & CL_KERNEL_ARG_TYPE_CONST) == 0 && (mem->flags & CL_MEM_READ_ONLY) == 0);
}

static cl_int send_argument(icd_device *device, int64_t kernel, int index, const icd_value *value, int64_t buffer)
{
    int64_t word[DCLI_MOST_COMMAND_WORDS];
    int64_t number[] = {index, value->kind, (int64_t)value->bytes, buffer};
    size_t words = value->kind == DCLI_ARGUMENT_VALUE ? (value->bytes + 7) / 8 : 0;
    if (words > 0) {
        word[words - 1] = 0;
        memcpy(word, value->value, value->bytes);
    }
    return icd_send(device, &(dcli_msg_command){.kind = DCLI_CL_ARGUMENT,
                                                .object = kernel,
                                                .number_count = 4,
                                                .number = number,
                                                .word_count = (int)words,
                                                .word = word});
}

static cl_int make_on(icd_kernel *kernel, icd_device *device, int place)
{
    if (kernel->on[place].number != 0)
        return CL_SUCCESS;
    int64_t number = icd_number(), program = kernel->program->build[place].number;
    cl_int status = icd_send(
        device,
        &(dcli_msg_command){
            .kind = DCLI_CL_KERNEL, .object = number, .number_count = 1, .number = &program, .text = kernel->name});
    if (status == CL_SUCCESS)
        kernel->on[place].number = number;
    return status;
}

cl_int icd_kernel_prepare(icd_kernel *kernel, icd_queue *queue, icd_event *event, int64_t *number_out)
{
    int place = queue->place;
    cl_int status = make_on(kernel, queue->device, place);
    for (int a = 0; a < kernel->declaration->count && status == CL_SUCCESS; a++) {
        icd_value *value = &kernel->value[a];
        int64_t buffer = 0;
        if (value->mem != NULL)
            status = icd_mem_use(value->mem, queue, event, true,
                                 is_written(&kernel->declaration->parameter[a], value->mem), &buffer);
        if (status != CL_SUCCESS || kernel->on[place].sent[a] == value->serial)
            continue;
        status = send_argument(queue->device, kernel->on[place].number, a, value, buffer);
        if (status == CL_SUCCESS)
            kernel->on[place].sent[a] = value->serial;
    }
    *number_out = kernel->on[place].number;
    return status;
}

cl_int icd_kernel_complete(const icd_kernel *kernel)
{
    for (int a = 0; a < kernel->declaration->count; a++)
        if (kernel->value[a].kind < 0 || !exists(&kernel->value[a]))
            return CL_INVALID_KERNEL_ARGS;
    return CL_SUCCESS;
}

/* ---- queries ---- */

cl_int CL_API_CALL icd_clGetKernelInfo(cl_kernel handle, cl_kernel_info what, size_t size, void *value,
                                       size_t *size_out)
{
    if (!icd_enter())
        return CL_INVALID_KERNEL;
    const icd_kernel *kernel = icd_find(handle, ICD_KERNEL);
    cl_int result = CL_INVALID_KERNEL;
    if (kernel != NULL)
        switch (what) {
        case CL_KERNEL_FUNCTION_NAME:
            result = icd_answer_text(kernel->name, size, value, size_out);
            break;
        case CL_KERNEL_NUM_ARGS:
            result = ICD_ANSWER(cl_uint, (cl_uint)kernel->declaration->count);
            break;
        case CL_KERNEL_REFERENCE_COUNT:
            result = ICD_ANSWER(cl_uint, (cl_uint)kernel->object.refs);
            break;
        case CL_KERNEL_CONTEXT:
            result = ICD_ANSWER(cl_context, ICD_HANDLE(cl_context, kernel->program->context));
            break;
        case CL_KERNEL_PROGRAM:
            result = ICD_ANSWER(cl_program, ICD_HANDLE(cl_program, kernel->program));
            break;
        case CL_KERNEL_ATTRIBUTES:
            result = icd_answer_text(kernel->declaration->attributes, size, value, size_out);
            break;
        default:
            result = CL_INVALID_VALUE;
        }
    icd_leave();
    return result;
}

static cl_int answer_parameter(const icd_parameter *parameter, cl_kernel_arg_info what, size_t size, void *value,
                               size_t *size_out)
{
    if (!parameter->known)
        return CL_KERNEL_ARG_INFO_NOT_AVAILABLE;
    switch (what) {
    case CL_KERNEL_ARG_ADDRESS_QUALIFIER:
        return ICD_ANSWER(cl_kernel_arg_address_qualifier, parameter->address);
    case CL_KERNEL_ARG_ACCESS_QUALIFIER:
        return ICD_ANSWER(cl_kernel_arg_access_qualifier, parameter->access);
    case CL_KERNEL_ARG_TYPE_NAME:
        return icd_answer_text(parameter->type, size, value, size_out);
    case CL_KERNEL_ARG_TYPE_QUALIFIER:
        return ICD_ANSWER(cl_kernel_arg_type_qualifier, parameter->qualifiers);
    case CL_KERNEL_ARG_NAME:
        return icd_answer_text(parameter->name, size, value, size_out);
    default:
        return CL_INVALID_VALUE;
    }
}

cl_int CL_API_CALL icd_clGetKernelArgInfo(cl_kernel handle, cl_uint index, cl_kernel_arg_info what, size_t size,
                                          void *value, size_t *size_out)
{
    if (!icd_enter())
        return CL_INVALID_KERNEL;
    const icd_kernel *kernel = icd_find(handle, ICD_KERNEL);
    cl_int result = kernel == NULL ? CL_INVALID_KERNEL
                    : index >= (cl_uint)kernel->declaration->count
                        ? CL_INVALID_ARG_INDEX
                        : answer_parameter(&kernel->declaration->parameter[index], what, size, value, size_out);
    icd_leave();
    return result;
}

/* The place of a device in the kernel's context; NULL stands for the only one. */
static int place_of(const icd_kernel *kernel, cl_device_id handle)
{
    const icd_context *context = kernel->program->context;
    return handle != NULL ? icd_place_of(context, handle) : context->shown_count == 1 ? 0 : -1;
}

/* Bytes of the local memory that arguments of a kernel have been set to. */
static cl_ulong local_arguments(const icd_kernel *kernel)
{
    cl_ulong bytes = 0;
    for (int a = 0; a < kernel->declaration->count; a++)
        bytes += kernel->value[a].kind == DCLI_ARGUMENT_LOCAL ? kernel->value[a].bytes : 0;
    return bytes;
}

static cl_int answer_group(const icd_kernel *kernel, cl_device_id device, cl_kernel_work_group_info what, size_t size,
                           void *value, size_t *size_out)
{
    int place = kernel != NULL ? place_of(kernel, device) : -1;
    if (kernel == NULL)
        return CL_INVALID_KERNEL;
    if (place < 0 || icd_program_ready(kernel->program, place) != CL_SUCCESS)
        return CL_INVALID_DEVICE;
    const icd_declaration *declaration = find_in(&kernel->program->build[place], kernel->name);
    if (declaration == NULL)
        return CL_INVALID_DEVICE;
    switch (what) {
    case CL_KERNEL_WORK_GROUP_SIZE:
        return ICD_ANSWER(size_t, declaration->group);
    case CL_KERNEL_COMPILE_WORK_GROUP_SIZE:
        return icd_answer(declaration->fixed, sizeof declaration->fixed, size, value, size_out);
    case CL_KERNEL_LOCAL_MEM_SIZE:
        return ICD_ANSWER(cl_ulong, declaration->local_bytes + local_arguments(kernel));
    case CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE:
        return ICD_ANSWER(size_t, declaration->multiple);
    case CL_KERNEL_PRIVATE_MEM_SIZE:
        return ICD_ANSWER(cl_ulong, declaration->private_bytes);
    default: /* CL_KERNEL_GLOBAL_WORK_SIZE is for custom devices and built-in kernels */
        return CL_INVALID_VALUE;
    }
}

cl_int CL_API_CALL icd_clGetKernelWorkGroupInfo(cl_kernel handle, cl_device_id device, cl_kernel_work_group_info what,
                                                size_t size, void *value, size_t *size_out)
{
    if (!icd_enter())
        return CL_INVALID_KERNEL;
    cl_int result = answer_group(icd_find(handle, ICD_KERNEL), device, what, size, value, size_out);
    icd_leave();
    return result;
}

cl_int CL_API_CALL icd_clGetKernelSubGroupInfo(cl_kernel handle, cl_device_id device, cl_kernel_sub_group_info what,
                                               size_t input_size, const void *input, size_t size, void *value,
                                               size_t *size_out)
{
    (void)what;
    (void)input_size;
    (void)input;
    (void)size;
    (void)value;
    (void)size_out;
    if (!icd_enter())
        return CL_INVALID_KERNEL;
    const icd_kernel *kernel = icd_find(handle, ICD_KERNEL);
    cl_int result = kernel == NULL                 ? CL_INVALID_KERNEL
                    : place_of(kernel, device) < 0 ? CL_INVALID_DEVICE
                                                   : CL_INVALID_OPERATION; /* there are no sub-groups */
    icd_leave();
    return result;
}
